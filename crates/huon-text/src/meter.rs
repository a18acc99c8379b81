//! Telling the caller how far a dump or a load is.

use std::ops::ControlFlow;

use huon::Progress;

/// What a caller does with it: it may also ask to stop.
pub(crate) type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + 'a);

/// Work between two reports, in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Reports about once a megabyte.
#[derive(Default)]
pub(crate) struct Meter<'a> {
    pub(crate) now: Progress,
    reported_bytes: u64,
    report: Option<OnProgress<'a>>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(report: Option<OnProgress<'a>>) -> Meter<'a> {
        Meter { report, ..Meter::default() }
    }

    /// So many bytes more are done.
    pub(crate) fn advance(&mut self, bytes: u64) -> ControlFlow<()> {
        self.now.done_bytes += bytes;
        if self.now.done_bytes - self.reported_bytes < STEP_BYTES {
            return ControlFlow::Continue(());
        }
        self.tell()
    }

    /// Reports; breaks if the caller wants no more.
    pub(crate) fn tell(&mut self) -> ControlFlow<()> {
        self.reported_bytes = self.now.done_bytes;
        match &mut self.report {
            Some(report) => report(&self.now),
            None => ControlFlow::Continue(()),
        }
    }
}
