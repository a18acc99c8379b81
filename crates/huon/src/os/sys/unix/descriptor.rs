//! Opening files whose descriptors are kept.
//!
//! 1. No descriptor that is kept is 0, 1 or 2. A process may run without standard streams, and
//!    still print; and a program that goes to the background puts other files there later.
//! 2. Nor is one of them there for a moment while it is opened, unless another thread closes a
//!    standard stream right then.
//!
//! A descriptor is moved by a duplicate, which shares the open file description, and with it the
//! offset, OFD locks and `flock` locks. (Locks of the old kind, by process, would be lost.) It is
//! moved before anything is locked on it all the same.

use std::fs::{File, OpenOptions};
use std::io;
pub(crate) use std::os::fd::AsFd;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// The first descriptor that belongs to no standard stream.
const FIRST: libc::c_int = 3;

/// Opens a file as `options` say, to be kept (1, 2).
pub fn open_kept(options: &OpenOptions, path: &Path) -> io::Result<File> {
    kept(|| options.open(path))
}

/// Opens a file in any other way, to be kept.
pub(super) fn kept(open: impl FnOnce() -> io::Result<File>) -> io::Result<File> {
    let places = take_standard_places();
    let file = open()?;
    drop(places);
    moved_up(file)
}

/// What the descriptor has open, under another one: the caller's stays open.
pub(crate) fn same_under_another(descriptor: impl AsFd) -> io::Result<File> {
    descriptor.as_fd().try_clone_to_owned().map(File::from)
}

/// Fills the places of standard streams that are closed, with a directory: what is printed
/// meanwhile fails, as it did.
fn take_standard_places() -> Vec<File> {
    let mut taken = Vec::new();
    while (0..FIRST).any(|descriptor| !is_open(descriptor)) {
        match File::open("/") {
            Ok(place) if place.as_raw_fd() < FIRST => taken.push(place),
            // Another thread was faster, or it cannot be done: `moved_up` remains.
            _ => break,
        }
    }
    taken
}

fn is_open(descriptor: libc::c_int) -> bool {
    // SAFETY: the call touches no memory of ours.
    unsafe { libc::fcntl(descriptor, libc::F_GETFD) != -1 }
}

/// The same file under a descriptor above those of the standard streams.
fn moved_up(file: File) -> io::Result<File> {
    if file.as_raw_fd() >= FIRST {
        return Ok(file);
    }
    // SAFETY: the call touches no memory of ours; `file` is open.
    let moved = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) };
    if moved == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the duplicate was made for this value alone.
    Ok(unsafe { File::from_raw_fd(moved) })
}
