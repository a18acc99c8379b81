//! Telling the caller how far a long operation is.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// How far a long operation is.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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

/// The caller's callback, which may also ask to stop.
type Report<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// The caller's callback, if there is one.
#[derive(Default)]
pub(crate) struct OnProgress<'a>(Option<Box<Report<'a>>>);

impl<'a> OnProgress<'a> {
    pub(crate) fn call(report: impl FnMut(&Progress) -> ControlFlow<()> + 'a) -> OnProgress<'a> {
        OnProgress(Some(Box::new(report)))
    }

    /// A meter of `total_bytes` that tells the callback.
    pub(crate) fn meter(&mut self, total_bytes: u64) -> Meter<'_> {
        let report: Option<&mut Report<'_>> = match &mut self.0 {
            Some(report) => Some(&mut **report),
            None => None,
        };
        let now = Progress { total_bytes, ..Progress::default() };
        Meter { now, stopped: false, reported_bytes: 0, report }
    }
}

/// Work between two reports, in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Reports now and then.
pub(crate) struct Meter<'a> {
    pub(crate) now: Progress,
    /// The caller asked to stop.
    pub(crate) stopped: bool,
    reported_bytes: u64,
    report: Option<&'a mut Report<'a>>,
}

impl Meter<'_> {
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
