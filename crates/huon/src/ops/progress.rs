//! Telling the caller how far a long operation is.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// How far a long operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes dealt with so far.
    pub done_bytes: u64,
    /// Bytes there are to deal with; 0 where that is not known beforehand.
    pub total_bytes: u64,
    /// Records dealt with so far, where records are counted.
    pub records: u64,
}

/// What a caller does with it: it may also ask to stop.
pub(crate) type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + 'a);

/// Work between two reports, in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Reports now and then.
#[derive(Default)]
pub(crate) struct Meter<'a> {
    pub(crate) now: Progress,
    /// The caller asked to stop.
    pub(crate) stopped: bool,
    reported_bytes: u64,
    report: Option<OnProgress<'a>>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(report: Option<OnProgress<'a>>, total_bytes: u64) -> Meter<'a> {
        let now = Progress { total_bytes, ..Progress::default() };
        Meter { now, stopped: false, reported_bytes: 0, report }
    }

    /// So many bytes more are done.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: u64) -> Result<()> {
        self.now.done_bytes += bytes;
        if self.now.done_bytes - self.reported_bytes >= STEP_BYTES { self.tell() } else { Ok(()) }
    }

    /// Reports, and stops the operation if the caller wants that.
    pub(crate) fn tell(&mut self) -> Result<()> {
        self.reported_bytes = self.now.done_bytes;
        match self.report.as_mut().map(|report| report(&self.now)) {
            Some(ControlFlow::Break(())) => {
                self.stopped = true;
                Err(stopped())
            }
            _ => Ok(()),
        }
    }
}

/// The error of an operation that its caller stopped.
#[cold]
pub(crate) fn stopped() -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::Interrupted, "stopped by the caller");
    Error::io("go on", "", source)
}
