//! Files: what goes beyond the standard library.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::descriptor::{kept, open_kept};
use super::{size_limit, system, wide};

/// Makes opening follow no link, and not wait: a FIFO would wait for its other end.
pub(crate) fn open_plainly(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
}

/// Whether what is written past the page cache needs no flush.
pub(crate) const IS_FLUSHED_PAST_CACHE: bool = system::PAST_CACHE != 0;

/// The same, past the page cache (where the system has that for one file).
pub(crate) fn open_past_cache(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | system::PAST_CACHE)
}

/// Creates files with these permissions, less those of the process's umask.
pub(crate) fn set_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    options.mode(mode)
}

/// Makes a file that is not there yet, to be written and kept, with these permissions less those of
/// the process's umask.
pub(crate) fn create_kept(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_kept(set_mode(options.write(true).create_new(true), mode), path)
}

/// A new, empty file that no path leads to, to be kept: it is gone with its last descriptor and
/// mapping. In memory where the system has such files, else in its directory for temporary files.
pub(crate) fn memory_file() -> io::Result<File> {
    kept(system::memory_file)
}

/// Whether opening failed since the path names a symbolic link.
pub(crate) fn was_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(system::IS_LINK)
}

/// The kind of a file that is not a regular one.
pub(crate) fn not_regular(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        return None;
    }
    Some(if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() {
        "a block device"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "of an unknown kind"
    })
}

/// Device and inode: they name a file whatever its path.
pub(crate) fn names_of(stat: &Metadata) -> (u64, u64) {
    (stat.dev(), stat.ino())
}

/// The same of an open file; `None`: the kernel's error number says why it could not be asked.
pub(crate) fn names(file: &File) -> Option<(u64, u64)> {
    inode_of(file.as_raw_fd())
}

/// Device and inode behind a descriptor; `None` if it is not open, or the kernel's error number
/// says why it could not be asked.
pub(super) fn inode_of(descriptor: i32) -> Option<(u64, u64)> {
    let mut stat = std::mem::MaybeUninit::<wide::Stat>::uninit();
    // SAFETY: `fstat` writes a whole `stat` into the buffer, or fails.
    if unsafe { wide::fstat(descriptor, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: `fstat` returned 0, so the buffer is filled.
    let stat = unsafe { stat.assume_init() };
    // The types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

/// When the file was written last, in nanoseconds; a number, not a time.
pub(crate) fn modified(stat: &Metadata) -> u64 {
    (i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec())) as u64
}

/// How many bytes of the file have blocks under them.
pub(crate) fn bytes_in_blocks(stat: &Metadata) -> u64 {
    stat.blocks().saturating_mul(512)
}

/// How many bytes were read at `offset`; 0 at the end of the file.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Fills the buffer from `offset` on.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// Writes all of it at `offset`.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Writes the parts one after another from `at` on, or the first of their bytes; returns how many.
pub(crate) fn write_at(file: &File, parts: &[IoSlice<'_>], at: u64) -> io::Result<usize> {
    let at = offset(at)?;
    let count = parts.len() as libc::c_int;
    // SAFETY: `IoSlice` has the layout of `iovec` on Unix, and the slices outlive the call.
    let written = unsafe { wide::pwritev(file.as_raw_fd(), parts.as_ptr().cast(), count, at) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

pub(super) fn offset(bytes: u64) -> io::Result<wide::Offset> {
    wide::Offset::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Allocates blocks for `bytes` from `from`, and extends the file over them.
pub(crate) fn allocate(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    system::allocate(file, from, bytes)
}

/// Whether the file system cannot allocate at all, as against: not now.
pub(crate) fn cannot_allocate(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS))
}

/// Writes zeros over all from `from` to `until`, in small pieces: a disk that fills up is noticed
/// before much is written in vain.
pub(crate) fn write_zeros(file: &File, from: u64, until: u64) -> io::Result<()> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let mut at = from;
    while at < until {
        let piece = &ZEROS[..ZEROS.len().min((until - at) as usize)];
        write_all_at(file, piece, at)?;
        at += piece.len() as u64;
    }
    Ok(())
}

/// Real blocks under the first `bytes` of a file that is `old` long; new ones are zero.
pub(crate) fn fill(file: &File, old: u64, bytes: u64) -> io::Result<()> {
    if bytes > old {
        size_limit::check(bytes)?;
    }
    if bytes == 0 {
        return Ok(());
    }
    match allocate(file, 0, bytes) {
        // Never over anything that is there already.
        Err(e) if cannot_allocate(&e) => write_zeros(file, old, bytes),
        done => done,
    }
}

/// Flushes contents and length to the disk.
pub(crate) fn flush(file: &File) -> io::Result<()> {
    system::flush(file)
}

/// Flushes the names in a directory. Some file systems keep none to flush.
pub(crate) fn flush_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        other => other,
    }
}

/// Begins to write out what is not yet, and waits for nothing. A hint.
pub(crate) fn start_writing(file: &File) {
    system::start_writing(file);
}

/// Drops clean cached pages. A hint.
pub(crate) fn forget_cache(file: &File) {
    system::forget_cache(file);
}

/// Whether a store into an allocated block of the file, through a mapping, needs nothing that could
/// be refused.
pub(crate) fn is_steady(file: &File) -> bool {
    system::is_steady(file)
}
