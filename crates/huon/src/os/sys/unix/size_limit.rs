//! The process's limit of file sizes: `RLIMIT_FSIZE`, which `ulimit -f` sets.
//!
//! A write past the limit is not only refused: the kernel sends `SIGXFSZ`, which ends a process
//! that neither catches nor ignores it. The library asks before it writes or grows a file, and
//! gives the error that the kernel would (`EFBIG`), so that no signal is sent. Files of the
//! caller's own, which copies are written to, are written to quietly instead (`quiet`). Two cases
//! are left: a limit that is lowered below the length of a file that is open (`setrlimit`,
//! `prlimit`), and writes of the caller's own writer (`Env::copy_to_writer`).

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a file may become by the limit at present, in bytes.
// The type of limits differs between systems.
#[allow(clippy::unnecessary_cast)]
fn limit_bytes() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid and outlives the call.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 if limit.rlim_cur != libc::RLIM_INFINITY => limit.rlim_cur as u64,
        _ => u64::MAX,
    }
}

/// Refuses a file that would become `end` bytes long.
pub(crate) fn check(end: u64) -> io::Result<()> {
    if end > limit_bytes() { Err(io::Error::from_raw_os_error(libc::EFBIG)) } else { Ok(()) }
}

/// The limit as it was seen last: it saves a system call a write.
pub(crate) struct SizeLimit(AtomicU64);

impl SizeLimit {
    pub(crate) fn new() -> SizeLimit {
        SizeLimit(AtomicU64::new(limit_bytes()))
    }

    /// As [`check`], before bytes up to `end` are written.
    #[inline]
    pub(crate) fn check(&self, end: u64) -> io::Result<()> {
        if end <= self.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.0.store(limit_bytes(), Ordering::Relaxed);
        check(end)
    }
}
