//! What a `fork` does to open environments (P5).
//!
//! A forked child shares the parent's open file descriptions, and with them its OFD locks: the
//! parent's byte would stay held until the child is gone too. So the child closes its copies of all
//! registered descriptors, first thing. It unlocks nothing and touches no shared word: both belong
//! to the parent. A mapping keeps its open file description alive as well, so what is mapped is
//! opened apart from what is locked (but for a page that children do not inherit: `keeper`).
//!
//! Invariants:
//! 1. The child handler is async-signal-safe: atomics, `lseek` and `close`; no lock, no allocation.
//! 2. The handler closes a descriptor only if it still is the one that was registered.
//! 3. Every handle remembers [`generation`] and is dead once it differs: its memory is the
//!    parent's.
//! 4. A descriptor that is still its own carries a mark: its offset, which nothing else uses, is a
//!    number that no other descriptor has. To look at it costs half of what `fstat` does, and tells
//!    two descriptors of one file apart.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::planted;

/// Most descriptors that one process can have registered.
const DESCRIPTORS_MAX: usize = 1 << 16;
/// Of each environment: the data file, the lock file and its gate.
const DESCRIPTORS_EACH: usize = 3;
const VACANT: i32 = 0;
/// Being filled; the handler leaves it alone.
const TAKEN: i32 = -1;

/// Marks lie above what a file that is read from its start comes to soon, and below what any file
/// system refuses.
const MARKS_FIRST: u64 = 1 << 30;
const MARKS_COUNT: u64 = 1 << 30;

/// Zeros while vacant, so that the table costs memory only where it was used.
struct Entry {
    /// One more than the descriptor's number.
    descriptor: AtomicI32,
    mark: AtomicU64,
}

static GENERATION: AtomicU32 = AtomicU32::new(0);
static ENTRIES: [Entry; DESCRIPTORS_MAX] =
    [const { Entry { descriptor: AtomicI32::new(VACANT), mark: AtomicU64::new(0) } };
        DESCRIPTORS_MAX];
/// Entries from here on were never used.
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// A number that differs between a process and its forked children.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// An open file whose descriptor, and the locks on it, are this process's alone.
pub(crate) struct OwnFile {
    file: ManuallyDrop<File>,
    inode: (u64, u64),
    mark: u64,
    generation: u32,
}

impl OwnFile {
    /// The file's offset must not be used: it becomes the mark.
    pub(crate) fn new(file: File) -> Result<OwnFile> {
        let descriptor = file.as_raw_fd();
        let failed = |what| Error::io(what, "a descriptor", std::io::Error::last_os_error());
        let inode = inode_of(descriptor).ok_or_else(|| failed("stat"))?;
        let mark = MARKS_FIRST + RandomState::new().hash_one(descriptor) % MARKS_COUNT;
        seek(descriptor, mark, libc::SEEK_SET).ok_or_else(|| failed("seek in"))?;
        register(descriptor, mark)?;
        Ok(OwnFile { file: ManuallyDrop::new(file), inode, mark, generation: generation() })
    }

    /// Device and inode.
    pub(crate) fn inode(&self) -> (u64, u64) {
        self.inode
    }

    /// Whether this process is a forked child of the one that opened the file.
    #[inline]
    pub(crate) fn inherited(&self) -> bool {
        generation() != self.generation
    }

    /// Whether the descriptor still is what it was: not closed by a fork or by someone else, who
    /// might have given its number to another file. Costs a system call.
    pub(crate) fn intact(&self) -> bool {
        !self.inherited() && (planted::is(105) || mark_of(self.file.as_raw_fd()) == Some(self.mark))
    }

    /// Whether locks on the descriptor, and the descriptor itself, are this process's to give up:
    /// unless it is known that they are not. Where the system does not say, as a file system that
    /// is in trouble may not, a lock that is kept would outlive its client.
    pub(crate) fn may_give_up(&self) -> bool {
        let known_lost = || match mark_of(self.file.as_raw_fd()) {
            Some(mark) => mark != self.mark,
            // Closed, or a pipe by now.
            None => {
                let error = std::io::Error::last_os_error().raw_os_error();
                matches!(error, Some(libc::EBADF | libc::ESPIPE))
            }
        };
        !self.inherited() && (planted::is(105) || !known_lost())
    }
}

impl Deref for OwnFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if self.inherited() {
            return;
        }
        unregister(self.file.as_raw_fd());
        if self.may_give_up() {
            // SAFETY: dropped here only, and nothing uses the file after.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// Has forked children close their copies of `descriptor`.
fn register(descriptor: i32, mark: u64) -> Result<()> {
    install()?;
    for (n, entry) in ENTRIES.iter().enumerate() {
        if entry.descriptor.load(Ordering::Relaxed) != VACANT {
            continue;
        }
        let free =
            entry.descriptor.compare_exchange(VACANT, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if free.is_ok() {
            HIGH.fetch_max(n + 1, Ordering::Relaxed);
            entry.mark.store(mark, Ordering::Relaxed);
            entry.descriptor.store(descriptor + 1, Ordering::Release);
            return Ok(());
        }
    }
    Err(Error::EnvironmentsFull { max: (DESCRIPTORS_MAX / DESCRIPTORS_EACH) as u32 })
}

/// Undoes [`register`]; call it before the descriptor is closed.
fn unregister(descriptor: i32) {
    for entry in &ENTRIES[..HIGH.load(Ordering::Relaxed)] {
        let ours = entry.descriptor.compare_exchange(
            descriptor + 1,
            VACANT,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if ours.is_ok() {
            return;
        }
    }
}

/// The offset of a descriptor; `None` if it is not open, or has none. Async-signal-safe.
fn mark_of(descriptor: i32) -> Option<u64> {
    seek(descriptor, 0, libc::SEEK_CUR)
}

fn seek(descriptor: i32, offset: u64, whence: i32) -> Option<u64> {
    // SAFETY: `lseek` reads and writes no memory of ours.
    let now = unsafe { libc::lseek(descriptor, offset as libc::off_t, whence) };
    u64::try_from(now).ok()
}

/// Device and inode behind a descriptor; `None` if it is not open, or the system's error number
/// says why it could not be asked.
pub(super) fn inode_of(descriptor: i32) -> Option<(u64, u64)> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `fstat` writes a whole `stat` into the buffer, or fails.
    if unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: `fstat` returned 0, so the buffer is filled.
    let stat = unsafe { stat.assume_init() };
    // The types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

fn install() -> Result<()> {
    static DONE: OnceLock<()> = OnceLock::new();
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if DONE.get().is_some() {
        return Ok(());
    }
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if DONE.get().is_none() {
        // SAFETY: `in_child` is a plain function that lives for ever and is async-signal-safe
        // (invariant 1).
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if failed != 0 {
            let source = std::io::Error::from_raw_os_error(failed);
            return Err(Error::io("register a fork handler", "", source));
        }
        let _ = DONE.set(());
    }
    Ok(())
}

extern "C" fn in_child() {
    if planted::is(21) {
        return;
    }
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for entry in &ENTRIES[..HIGH.load(Ordering::Relaxed)] {
        let held = entry.descriptor.load(Ordering::Acquire);
        if held <= VACANT {
            continue;
        }
        let descriptor = held - 1;
        if mark_of(descriptor) == Some(entry.mark.load(Ordering::Relaxed)) {
            // SAFETY: the descriptor is this process's copy of one that an environment owns; its
            // handles see the new generation and use it no more.
            unsafe { libc::close(descriptor) };
        }
        entry.descriptor.store(VACANT, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::os::testing::in_child as in_process;

    #[test]
    fn one_environment_too_many_is_said_to_be_that() {
        let name = concat!(module_path!(), "::one_environment_too_many_is_said_to_be_that");
        in_process(name, || {
            for n in 0..DESCRIPTORS_MAX as i32 {
                register(i32::MAX - 1 - n, 0).unwrap();
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.huon");
            let full = crate::Env::options().open(&path).unwrap_err();
            assert!(matches!(full, Error::EnvironmentsFull { max: 21_845 }), "{full}");
            assert!(!path.exists(), "nothing is left behind");
            (0..9).for_each(|n| unregister(i32::MAX - 1 - n));
            crate::Env::options().open(&path).unwrap();
        });
    }
}
