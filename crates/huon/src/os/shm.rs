//! The real lock file: words shared between processes through a mapping, locks held by descriptors.
//!
//! Invariants:
//! 1. The words never move: the mapping covers a reservation that growth fills in.
//! 2. Every word that `words` shows has a real block under it (P14): a full disk is an error of
//!    `grow`.
//! 3. Locks are OFD locks. The kernel drops them with the last copy of the descriptor, and a
//!    descriptor never conflicts with itself, so the gate has a flag in front of it for the threads
//!    of one client.
//! 4. The mapping belongs to another open file description than the locks: a mapping keeps its
//!    description, and the locks with it, alive in a forked child that has closed the descriptor.
//! 5. The descriptor is closed only while it still names the lock file (a daemon may have closed it
//!    and something else may have got its number).
//!
//! What the words mean is told by `layout`.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use super::word::{Ordering, Word};
use super::{Identity, Shared, fork, futex};
use crate::error::{Error, Result};

/// Address space kept for the lock file: some four million reader slots.
const RESERVED_BYTES: usize = 256 << 20;
const RESERVED_BYTES_MIN: usize = 4 << 20;
/// Locks lie far beyond the contents. This byte is the gate, the next ones belong to the clients.
const GATE_BYTE: i64 = 1 << 62;
const CLIENT_BYTES: i64 = GATE_BYTE + 1;
const ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A lock file of the file system.
pub(crate) struct RealShared {
    path: PathBuf,
    descriptor: i32,
    identity: Identity,
    base: *mut Word,
    reserved_bytes: usize,
    allocated_words: AtomicUsize,
    gate_taken: AtomicBool,
    fork_generation: u32,
}

// SAFETY: `base` points to a mapping that lives as long as the value and is only seen as atomics;
// the rest is plain data, atomics and a descriptor, which threads may share.
unsafe impl Send for RealShared {}
// SAFETY: as above.
unsafe impl Sync for RealShared {}

impl RealShared {
    /// Opens the lock file at `path`. With `create` a missing one is made, with that file mode.
    /// `Ok(None)`: it is missing and was not to be made.
    pub(crate) fn open(path: &Path, create: Option<u32>) -> Result<Option<RealShared>> {
        let Some(descriptor) = open_descriptor(path, create)? else { return Ok(None) };
        let opened = RealShared::of_descriptor(path, descriptor);
        if opened.is_err() {
            fork::unregister(descriptor);
            // SAFETY: the descriptor was opened above and nobody else knows it.
            unsafe { libc::close(descriptor) };
        }
        opened.map(Some)
    }

    fn of_descriptor(path: &Path, descriptor: i32) -> Result<RealShared> {
        require_regular(path, descriptor)?;
        fork::register(descriptor)?;
        let failed = |e| Error::io("stat", path.display().to_string(), e);
        let (device, inode) =
            fork::inode_of(descriptor).ok_or_else(|| failed(io::Error::last_os_error()))?;
        let bytes = file_bytes(descriptor).map_err(failed)? as usize;
        let (base, reserved_bytes) = map_apart(path, (device, inode), bytes)?;
        Ok(RealShared {
            path: path.to_path_buf(),
            descriptor,
            identity: Identity { device, inode },
            base,
            reserved_bytes,
            allocated_words: AtomicUsize::new(bytes.min(reserved_bytes) / 8),
            gate_taken: AtomicBool::new(false),
            fork_generation: fork::generation(),
        })
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Error {
        Error::io(what, self.path.display().to_string(), source)
    }

    /// Refuses a handle that was inherited through a fork, or whose descriptor somebody closed: its
    /// number may be another file's by now (P5).
    fn check(&self) -> Result<()> {
        if fork::generation() != self.fork_generation {
            return Err(Error::Forked);
        }
        if !self.intact() {
            return Err(self.failed("use", io::Error::from_raw_os_error(libc::EBADF)));
        }
        Ok(())
    }

    /// One operation on one byte. `false`: somebody else's lock is in the way.
    fn lock_byte(&self, operation: Operation, byte: i64) -> Result<bool> {
        self.check()?;
        ofd(self.descriptor, operation, byte).map_err(|e| self.failed("lock", e))
    }

    /// Puts real blocks under the first `bytes`, which may lie past the end of the file.
    fn allocate(&self, bytes: usize) -> io::Result<()> {
        let old = file_bytes(self.descriptor)?;
        let done = allocate(self.descriptor, old, bytes as u64);
        if done.is_err() && file_bytes(self.descriptor)? > old {
            // SAFETY: cutting our own file; nobody looks past `old` before the gate is left.
            unsafe { libc::ftruncate(self.descriptor, old as libc::off_t) };
        }
        done
    }
}

impl Shared for RealShared {
    #[inline]
    fn words(&self) -> &[Word] {
        let count = self.allocated_words.load(Ordering::Acquire);
        // SAFETY: the mapping starts on a page boundary, lives as long as `self`, has blocks under
        // its first `count` words (invariant 2), and is only ever seen as atomics.
        unsafe { std::slice::from_raw_parts(self.base, count) }
    }

    fn grow(&self, words: usize) -> Result<()> {
        self.check()?;
        if words * 8 > self.reserved_bytes {
            let source = io::Error::from(io::ErrorKind::OutOfMemory);
            return Err(self.failed("grow the lock file past its reservation", source));
        }
        // Also below the present length: whoever made the file may have died half-way.
        self.allocate(words * 8).map_err(|e| self.failed("grow the lock file", e))?;
        self.allocated_words.fetch_max(words, Ordering::Release);
        Ok(())
    }

    fn refresh(&self) -> Result<()> {
        self.check()?;
        let bytes = file_bytes(self.descriptor).map_err(|e| self.failed("stat", e))?;
        let words = (bytes as usize).min(self.reserved_bytes) / 8;
        self.allocated_words.fetch_max(words, Ordering::Release);
        Ok(())
    }

    fn lock_gate(&self, timeout: Duration) -> Result<bool> {
        self.check()?;
        let start = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            // Other threads of this client first: the descriptor would not stop them (invariant 3).
            if !self.gate_taken.swap(true, Ordering::Acquire) {
                match self.lock_byte(Operation::Take, GATE_BYTE) {
                    Ok(true) => return Ok(true),
                    Ok(false) => self.gate_taken.store(false, Ordering::Release),
                    Err(e) => {
                        self.gate_taken.store(false, Ordering::Release);
                        return Err(e);
                    }
                }
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    fn unlock_gate(&self) {
        // In a forked child the gate is the parent's.
        let _ = self.lock_byte(Operation::Drop, GATE_BYTE);
        self.gate_taken.store(false, Ordering::Release);
    }

    fn claim(&self, number: u32) -> Result<bool> {
        let byte = CLIENT_BYTES + i64::from(number);
        self.lock_byte(Operation::Take, byte)
    }

    fn release(&self, number: u32) {
        let byte = CLIENT_BYTES + i64::from(number);
        let _ = self.lock_byte(Operation::Drop, byte);
    }

    fn held(&self, number: u32) -> Result<bool> {
        let byte = CLIENT_BYTES + i64::from(number);
        let free = ofd(self.descriptor, Operation::Ask, byte);
        let free = free.map_err(|e| self.failed("lock", e))?;
        if free {
            // Only this answer does harm if it was about another file.
            self.check()?;
        }
        Ok(!free)
    }

    fn wait(&self, word: usize, expected: u64, timeout: Duration) {
        futex::wait(&self.words()[word], expected, timeout);
    }

    fn wake(&self, word: usize) {
        futex::wake(&self.words()[word]);
    }

    fn intact(&self) -> bool {
        fork::generation() == self.fork_generation
            && fork::inode_of(self.descriptor) == Some((self.identity.device, self.identity.inode))
    }

    fn identity(&self) -> Result<Identity> {
        Ok(self.identity)
    }

    fn boot(&self) -> [u8; 16] {
        super::boot::boot_id()
    }
}

impl Drop for RealShared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length, and nothing borrows the words
        // any more.
        unsafe { libc::munmap(self.base.cast(), self.reserved_bytes) };
        if self.intact() {
            fork::unregister(self.descriptor);
            // SAFETY: the descriptor is ours (invariant 5).
            unsafe { libc::close(self.descriptor) };
        }
    }
}

/// Opens without following links and without waiting (a FIFO would). `None`: missing, not to be
/// created.
fn open_descriptor(path: &Path, create: Option<u32>) -> Result<Option<i32>> {
    let failed = |source| Error::io("open", path.display().to_string(), source);
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Invalid("a path cannot hold a zero byte"))?;
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    loop {
        // SAFETY: `name` ends with a zero byte and outlives the call.
        let found = unsafe { libc::open(name.as_ptr(), flags) };
        if found >= 0 {
            return Ok(Some(found));
        }
        let error = io::Error::last_os_error();
        match (error.raw_os_error(), create) {
            (Some(libc::EINTR), _) => continue,
            (Some(libc::ELOOP), _) => return Err(not_a_file(path, "a symbolic link")),
            (Some(libc::EISDIR), _) => return Err(not_a_file(path, "a directory")),
            (Some(libc::ENOENT), Some(mode)) => {
                let flags = flags | libc::O_CREAT | libc::O_EXCL;
                // SAFETY: as above.
                let made = unsafe { libc::open(name.as_ptr(), flags, mode as libc::c_uint) };
                if made >= 0 {
                    // The umask may have taken bits away that the data file has.
                    // SAFETY: a descriptor that was just opened.
                    unsafe { libc::fchmod(made, mode as libc::mode_t) };
                    return Ok(Some(made));
                }
                let error = io::Error::last_os_error();
                // Somebody else made it in between, or removed it.
                if !matches!(error.raw_os_error(), Some(libc::EEXIST | libc::EINTR)) {
                    return Err(failed(error));
                }
            }
            (Some(libc::ENOENT), None) => return Ok(None),
            _ => return Err(failed(error)),
        }
    }
}

/// Maps the file through an open file description of its own (invariant 4).
fn map_apart(path: &Path, expected: (u64, u64), bytes: usize) -> Result<(*mut Word, usize)> {
    let descriptor = open_descriptor(path, None)?;
    // Closed again in any case: the mapping needs it no more.
    let descriptor = descriptor.map(|number| {
        // SAFETY: the descriptor was opened above and nobody else knows it.
        unsafe { OwnedFd::from_raw_fd(number) }
    });
    match descriptor {
        Some(descriptor) if fork::inode_of(descriptor.as_raw_fd()) == Some(expected) => {
            map(path, descriptor.as_raw_fd(), bytes)
        }
        _ => Err(Error::Busy("the lock file was replaced while it was opened".into())),
    }
}

/// Reserves address space and maps the file to its beginning; returns where, and how many bytes.
fn map(path: &Path, descriptor: i32, bytes: usize) -> Result<(*mut Word, usize)> {
    let mut reserved_bytes = RESERVED_BYTES;
    loop {
        // SAFETY: a new mapping at an address of the system's choice; it may reach past the end of
        // the file, where nothing touches it before the file has grown (invariant 2).
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                reserved_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                descriptor,
                0,
            )
        };
        if base != libc::MAP_FAILED {
            return Ok((base.cast(), reserved_bytes));
        }
        if reserved_bytes / 2 < RESERVED_BYTES_MIN.max(bytes) {
            let source = io::Error::last_os_error();
            return Err(Error::io("map", path.display().to_string(), source));
        }
        reserved_bytes /= 2;
    }
}

fn not_a_file(path: &Path, what: &str) -> Error {
    Error::NotOurs(format!("the lock file {} is {what}", path.display()).into())
}

fn require_regular(path: &Path, descriptor: i32) -> Result<()> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `fstat` writes a whole `stat` into the buffer, or fails.
    if unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) } != 0 {
        let source = io::Error::last_os_error();
        return Err(Error::io("stat", path.display().to_string(), source));
    }
    // SAFETY: `fstat` returned 0, so the buffer is filled.
    let mode = unsafe { stat.assume_init() }.st_mode & libc::S_IFMT;
    if mode != libc::S_IFREG {
        return Err(not_a_file(path, "not a regular file"));
    }
    Ok(())
}

fn file_bytes(descriptor: i32) -> io::Result<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `fstat` writes a whole `stat` into the buffer, or fails.
    if unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fstat` returned 0, so the buffer is filled.
    Ok(unsafe { stat.assume_init() }.st_size as u64)
}

/// Real blocks under the first `bytes` of a file that is `old` long; new ones are zero.
fn allocate(descriptor: i32, old: u64, bytes: u64) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    loop {
        // SAFETY: `fallocate` touches no memory of ours.
        if unsafe { libc::fallocate(descriptor, 0, 0, bytes as libc::off_t) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => continue,
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => break,
            _ => return Err(error),
        }
    }
    // The system cannot: write zeros, never over anything that is there already.
    let mut at = old;
    while at < bytes {
        let piece = &ZEROS[..ZEROS.len().min((bytes - at) as usize)];
        // SAFETY: the buffer is a live slice of that length.
        let wrote = unsafe {
            libc::pwrite(descriptor, piece.as_ptr().cast(), piece.len(), at as libc::off_t)
        };
        if wrote <= 0 {
            let error = io::Error::last_os_error();
            if wrote < 0 && error.raw_os_error() == Some(libc::EINTR) {
                continue;
            }
            return Err(error);
        }
        at += wrote as u64;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Take,
    Drop,
    /// Whether it could be taken.
    Ask,
}

/// An OFD lock operation on one byte. `false`: somebody else's lock is in the way.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn ofd(descriptor: i32, operation: Operation, byte: i64) -> io::Result<bool> {
    let (command, kind) = match operation {
        Operation::Take => (libc::F_OFD_SETLK, libc::F_WRLCK),
        Operation::Drop => (libc::F_OFD_SETLK, libc::F_UNLCK),
        Operation::Ask => (libc::F_OFD_GETLK, libc::F_WRLCK),
    };
    // SAFETY: `flock` is plain data, for which zeros are valid; OFD locks want `l_pid` to be 0.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = byte as libc::off_t;
    lock.l_len = 1;
    loop {
        // SAFETY: `lock` is a valid `flock` that outlives the call.
        if unsafe { libc::fcntl(descriptor, command, &mut lock) } == 0 {
            return Ok(operation != Operation::Ask || lock.l_type == libc::F_UNLCK as _);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN | libc::EACCES) => return Ok(false),
            _ => return Err(error),
        }
    }
}

/// Without OFD locks nobody can tell who is alive (P6).
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn ofd(_: i32, _: Operation, _: i64) -> io::Result<bool> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no OFD locks"))
}
