//! Addresses: pages of memory, and mappings of files.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use super::system;

/// The size of a page of this system's memory, in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf only reads its argument.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

/// What may be done with a mapping of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing: it only keeps the file's description.
    None,
    Read,
    Write,
}

/// Maps `bytes` from the start of the file on, at an address of the kernel's choice; they may reach
/// past the end of the file, where nothing must touch them before the file has grown. The mapping
/// is the caller's, to be given to [`unmap`].
pub(crate) fn map_file(file: &File, bytes: usize, access: Access) -> io::Result<NonNull<u8>> {
    let protection = match access {
        Access::None => libc::PROT_NONE,
        Access::Read => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    map(bytes, protection, libc::MAP_SHARED, file.as_raw_fd())
}

/// Zeroed memory of this process, of which only those pages cost anything that are touched. The
/// caller's, to be given to [`unmap`].
#[cfg(not(miri))]
pub(crate) fn zeroed(bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    map(bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANON, -1)
}

fn map(
    bytes: usize,
    protection: libc::c_int,
    kind: libc::c_int,
    descriptor: libc::c_int,
) -> io::Result<NonNull<u8>> {
    let flags = kind | system::NO_RESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Gives a mapping back.
///
/// # Safety
/// The range is a mapping that was made here, or whole pages of one, and it is not used any more.
pub(crate) unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}

/// Hints to the kernel about a mapping of a file. Their failures are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// It reads the neighbours of a page that is touched, too.
    Normal,
    /// It reads nothing but the pages that are touched.
    Random,
    /// It begins to read the range.
    Read,
    /// It forgets where the pages of the range are in memory: a page that a process maps stays in
    /// the page cache whatever is asked of it. The next access finds or reads them again.
    Unhold,
}

/// # Safety
/// The range lies in a mapping of a file that was made here with [`Access::Read`] or
/// [`Access::Write`].
pub(crate) unsafe fn advise(base: NonNull<u8>, bytes: usize, advice: Advice) {
    let advice = match advice {
        Advice::Normal => libc::MADV_NORMAL,
        Advice::Random => libc::MADV_RANDOM,
        Advice::Read => libc::MADV_WILLNEED,
        Advice::Unhold => libc::MADV_DONTNEED,
    };
    // SAFETY: the range is the caller's, and none of these hints changes what a shared mapping of a
    // file holds.
    unsafe { libc::madvise(base.as_ptr().cast(), bytes, advice) };
}

/// How many bytes of addresses a limit leaves this process, used ones counted.
// The type of limits differs between systems.
#[allow(clippy::unnecessary_cast)]
pub(crate) fn address_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid and outlives the call.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } {
        0 if limit.rlim_cur != libc::RLIM_INFINITY => limit.rlim_cur as u64,
        _ => u64::MAX,
    }
}

/// How many bytes of addresses this process uses, if the kernel tells.
pub(crate) fn addresses_used() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').next()?.parse().ok()?;
    pages.checked_mul(page_bytes() as u64)
}
