//! Locks that the kernel drops however their holder ends, in two ways.
//!
//! Where the kernel has OFD locks, each is on one byte of a file. Elsewhere (P6) they are made with
//! `flock`, which locks whole files: the gate is the lock on the lock file itself, and each client
//! has a small file of its own beside it, which stays when the client is gone.
//!
//! Invariants:
//! 1. All clients of a file lock in the same way: neither sees the locks of the other. The kernel's
//!    offer decides; the board notes it, and refuses a client that locks in the other way (P6).
//! 2. `flock` gives up a lock before it tries for another kind: a client that was refused takes
//!    back the lock it had. No other comes between, since all locks change under the gate.
//!
//! The clients' own files are in `client_files`.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;

use super::system::ofd;
use crate::planted::{self, Bug};

/// How clients lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// OFD locks, on single bytes.
    Bytes,
    /// `flock`, on whole files.
    Files,
}

/// How a client holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    Shared,
    Alone,
}

/// The way in which this file can be locked.
pub(crate) fn way_of(file: &File) -> io::Result<Way> {
    #[cfg(any(test, feature = "simulation"))]
    if std::env::var_os("HUON_LOCKS").is_some_and(|way| way == "files") {
        return Ok(Way::Files);
    }
    way_by(is_free(file, 0))
}

/// `asked`: what came of asking for an OFD lock.
fn way_by(asked: io::Result<bool>) -> io::Result<Way> {
    match asked {
        Ok(_) => Ok(Way::Bytes),
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(Way::Files),
        Err(e) => Err(e),
    }
}

/// Changes the lock that is held on `byte`, without waiting. `false`: another client's lock is in
/// the way; with `flock` nothing is held then.
pub(crate) fn change(file: &File, way: Way, byte: i64, hold: Hold) -> io::Result<bool> {
    let changed = match way {
        Way::Bytes => ofd(file, OfdCall::Set, hold, byte..=byte).map(drop),
        Way::Files => {
            let operation = match hold {
                Hold::Nothing => libc::LOCK_UN,
                Hold::Shared => libc::LOCK_SH,
                Hold::Alone => libc::LOCK_EX,
            };
            // SAFETY: `flock` touches no memory of ours.
            retried(|| unsafe { libc::flock(file.as_raw_fd(), operation | libc::LOCK_NB) })
        }
    };
    match changed {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether no other client holds the OFD lock on `byte`, alone or shared. The kernel answers this
/// for descriptors that may only read, too.
pub(crate) fn is_free(file: &File, byte: i64) -> io::Result<bool> {
    first_of(file, byte..=byte).map(|found| found.is_none())
}

/// Whether another descriptor has the OFD lock on `byte` alone, for which it must be allowed to
/// write (R9).
pub(crate) fn is_held_alone(file: &File, byte: i64) -> io::Result<bool> {
    let kind = if planted::is(Bug::ReadLockIsLife) { Hold::Alone } else { Hold::Shared };
    ofd(file, OfdCall::Ask, kind, byte..=byte).map(|found| found.is_some())
}

/// An OFD lock of others within `bytes`: which of them it covers. Of several the kernel names any.
pub(crate) fn first_of(
    file: &File,
    bytes: RangeInclusive<i64>,
) -> io::Result<Option<RangeInclusive<i64>>> {
    ofd(file, OfdCall::Ask, Hold::Alone, bytes)
}

pub(super) enum OfdCall {
    Set,
    Ask,
}

pub(super) fn retried(mut call: impl FnMut() -> libc::c_int) -> io::Result<()> {
    while call() != 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_decides_on_the_way() {
        let error = |code| Err(io::Error::from_raw_os_error(code));
        assert_eq!(way_by(Ok(true)).unwrap(), Way::Bytes);
        assert_eq!(way_by(Ok(false)).unwrap(), Way::Bytes);
        assert_eq!(way_by(error(libc::EINVAL)).unwrap(), Way::Files);
        assert_eq!(way_by(error(libc::EBADF)).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }
}
