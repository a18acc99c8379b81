//! Writes to files of the caller's, without the signals that they may send.
//!
//! A write to a pipe or socket whose reader has gone sends `SIGPIPE`, one past the limit of file
//! sizes `SIGXFSZ`. Either ends a process that neither catches nor ignores it, and a library has no
//! say in that. Both go to the thread that writes, besides an error.
//!
//! 1. The thread blocks both while it writes, and a signal that came of the write is taken before
//!    they are let through again: the error is all that is left.
//! 2. A signal that waited before stays, and the thread's mask is as it was.

use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::ptr;

const SIGNALS: [(libc::c_int, libc::c_int); 2] =
    [(libc::EPIPE, libc::SIGPIPE), (libc::EFBIG, libc::SIGXFSZ)];

/// A file whose writes give errors alone.
pub(crate) struct QuietFile<'f>(pub(crate) &'f File);

impl Write for QuietFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        without_signals(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn without_signals<R>(write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let both = set(SIGNALS.map(|(_, signal)| signal));
    let waited = pending();
    let before = mask(libc::SIG_BLOCK, &both)?;
    let written = write();
    if let Err(error) = &written
        && let Some((_, signal)) = SIGNALS.iter().find(|(e, _)| error.raw_os_error() == Some(*e))
        && !has(&waited, *signal)
    {
        take(*signal);
    }
    mask(libc::SIG_SETMASK, &before)?;
    written
}

fn set(signals: impl IntoIterator<Item = libc::c_int>) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` fills the set, and cannot fail.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in signals {
        // SAFETY: the set is filled, and the numbers are those of signals.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}

fn has(set: &libc::sigset_t, signal: libc::c_int) -> bool {
    // SAFETY: the set is filled.
    unsafe { libc::sigismember(set, signal) == 1 }
}

/// Changes the thread's mask, and gives back what it was.
fn mask(how: libc::c_int, change: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    let mut before = set([]);
    // SAFETY: both sets are valid for the length of the call.
    match unsafe { libc::pthread_sigmask(how, change, &mut before) } {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The blocked signals that wait for the thread or the process.
fn pending() -> libc::sigset_t {
    let mut waiting = set([]);
    // SAFETY: the set is valid for the length of the call, which changes nothing if it fails.
    unsafe { libc::sigpending(&mut waiting) };
    waiting
}

/// Takes a blocked signal, if it waits: one that the process ignores was never kept.
fn take(signal: libc::c_int) {
    if has(&pending(), signal) {
        let mut taken = 0;
        // SAFETY: both are valid for the length of the call, and the signal waits: it returns.
        unsafe { libc::sigwait(&set([signal]), ptr::from_mut(&mut taken)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::{in_child, limit};

    /// The full name of a test of this module.
    macro_rules! this {
        ($name:literal) => {
            concat!(module_path!(), "::", $name)
        };
    }

    /// Rust's programs ignore `SIGPIPE`; here neither signal is ignored, as in a program in C.
    fn with_default_actions() {
        for (_, signal) in SIGNALS {
            // SAFETY: an action of the kernel's changes no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }

    fn pipe_without_reader() -> File {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        File::from(std::os::fd::OwnedFd::from(writer))
    }

    #[test]
    fn a_reader_that_has_gone_and_a_limit_are_errors_alone() {
        in_child(this!("a_reader_that_has_gone_and_a_limit_are_errors_alone"), || {
            with_default_actions();
            for _ in 0..2 {
                let gone = QuietFile(&pipe_without_reader()).write(b"bytes");
                assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::EPIPE));
            }
            let file = tempfile::tempfile().unwrap();
            limit(libc::RLIMIT_FSIZE, 3);
            assert_eq!(QuietFile(&file).write(b"bytes").unwrap(), 3);
            let beyond = QuietFile(&file).write(b"es");
            assert_eq!(beyond.unwrap_err().raw_os_error(), Some(libc::EFBIG));
            let mask = mask(libc::SIG_BLOCK, &set([])).unwrap();
            assert!(SIGNALS.iter().all(|(_, signal)| !has(&mask, *signal)), "as it was");
        });
    }

    #[test]
    fn a_signal_that_waited_before_stays() {
        in_child(this!("a_signal_that_waited_before_stays"), || {
            with_default_actions();
            mask(libc::SIG_BLOCK, &set([libc::SIGPIPE])).unwrap();
            let gone = pipe_without_reader();
            (&gone).write(b"bytes").unwrap_err();
            assert!(has(&pending(), libc::SIGPIPE));
            QuietFile(&gone).write(b"bytes").unwrap_err();
            assert!(has(&pending(), libc::SIGPIPE));
            take(libc::SIGPIPE);
            QuietFile(&gone).write(b"bytes").unwrap_err();
            assert!(!has(&pending(), libc::SIGPIPE), "its own is taken");
        });
    }
}
