//! Errors that the engine makes as the kernel would.

use std::io;

/// That of a descriptor that was closed behind the library's back.
#[cold]
pub(crate) fn closed() -> io::Error {
    io::Error::from_raw_os_error(libc::EBADF)
}

/// That of a path that leads from link to link.
#[cold]
pub(crate) fn too_many_links() -> io::Error {
    io::Error::from_raw_os_error(libc::ELOOP)
}

/// That of a lock for which the kernel has no room.
#[cold]
pub(crate) fn no_room_for_locks() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOLCK)
}

/// That of a device that lost what was written to it.
#[cfg(any(test, feature = "simulation"))]
#[cold]
pub(crate) fn device_failed() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
