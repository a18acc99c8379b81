//! Effects of a `fork` on open environments (P5; C6 to C8 of "A forked child goes on" in
//! docs/INVARIANTS.md).
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
//! 5. (C6) No fork comes between the opening of a file and its registration: the opening thread
//!    holds the [`latch`](hold_off), for which the handler before a fork waits.
//! 6. (C7) The generation lies on a page that children find zeroed, where the kernel offers that:
//!    raw `clone` and `_Fork` run no handler. A child that finds it zeroed does what the
//!    handler does.

use std::cell::Cell;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::files::inode_of;
use super::system;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::planted::{self, Bug};

/// Most descriptors that one process can have registered.
const DESCRIPTORS_MAX: usize = 1 << 16;
/// Of each environment: the data file, the lock file and its gate.
const DESCRIPTORS_EACH: usize = 3;
const VACANT: i32 = 0;
/// Being filled or emptied; the handler leaves it alone.
const TAKEN: i32 = -1;

/// Marks lie above what a file that is read from its start comes to soon, and below what any file
/// system refuses.
const MARKS_FIRST: u64 = 1 << 30;
const MARKS_COUNT: u64 = 1 << 30;

/// Zeros while vacant, so that the table costs memory only where it was used.
struct DescriptorEntry {
    /// One more than the descriptor's number.
    descriptor: AtomicI32,
    mark: AtomicU64,
}

static ENTRIES: [DescriptorEntry; DESCRIPTORS_MAX] =
    [const { DescriptorEntry { descriptor: AtomicI32::new(VACANT), mark: AtomicU64::new(0) } };
        DESCRIPTORS_MAX];
/// Entries from here on were never used.
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// How many generations there were, this one counted.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The generation, on a page of its own that children find zeroed.
static PAGE: Page = Page { generation: AtomicU32::new(0), _rest: [0; PAGE_BYTES - 4] };
/// A thread of a child that found no generation is closing what was inherited. Like 0, it is none.
const RENEWING: u32 = 1 << 31;

/// At least a page of the kernel, where that wipes pages.
const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct Page {
    generation: AtomicU32,
    _rest: [u8; PAGE_BYTES - 4],
}

/// A number that differs between a process and its forked children, and is never 0.
#[inline]
pub fn generation() -> u32 {
    let found = PAGE.generation.load(Ordering::Relaxed);
    if found as i32 > 0 { found } else { renewed() }
}

/// Whether this is the process of that generation, as far as a load tells: if not, ask
/// [`is_inherited`].
#[inline(always)]
pub fn is_generation(made_in: u32) -> bool {
    PAGE.generation.load(Ordering::Relaxed) == made_in
}

/// Whether what was made in that generation is of a process that this one was forked from.
#[inline]
pub fn is_inherited(made_in: u32) -> bool {
    PAGE.generation.load(Ordering::Relaxed) != made_in && generation() != made_in
}

/// C7: in a child that no handler was run in, does what it does. (In the first process there is
/// nothing to do.)
#[cold]
fn renewed() -> u32 {
    let word = &PAGE.generation;
    loop {
        match word.compare_exchange(0, RENEWING, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let before = COUNT.fetch_add(1, Ordering::Relaxed);
                if before > 0 {
                    LATCH.store(own_hold(), Ordering::Relaxed);
                    close_inherited();
                }
                word.store(before + 1, Ordering::Release);
            }
            Err(RENEWING) => std::thread::yield_now(),
            Err(generation) => return generation,
        }
    }
}

// ---- the latch (C6)

/// How many threads hold forks off, and in the upper half how many are about to fork.
static LATCH: AtomicU32 = AtomicU32::new(0);
const FORKING: u32 = 1 << 16;
/// How long a thread that waits for the latch sleeps before it looks again.
const LATCH_PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// How often this thread holds forks off.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// While it lives no other thread forks. For what is done in microseconds, and calls nothing of the
/// user's.
pub struct HeldOff(());

/// Holds forks off; nests.
pub fn hold_off() -> HeldOff {
    // A child that no handler was run in has a latch of its own first.
    generation();
    // Noted first: the thread may be interrupted by a signal whose handler forks.
    if HELD.replace(HELD.get() + 1) == 0 {
        take_latch();
    }
    HeldOff(())
}

fn take_latch() {
    loop {
        let now = LATCH.load(Ordering::Relaxed);
        if now >= FORKING {
            std::thread::sleep(LATCH_PAUSE);
            continue;
        }
        if LATCH.compare_exchange(now, now + 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

impl Drop for HeldOff {
    fn drop(&mut self) {
        if HELD.get() == 1 {
            LATCH.fetch_sub(1, Ordering::Release);
        }
        HELD.set(HELD.get() - 1);
    }
}

/// How often the calling thread holds the latch.
fn own_hold() -> u32 {
    u32::from(HELD.get() > 0)
}

// ---- descriptors

/// An open file whose descriptor, and the locks on it, are this process's alone.
pub(crate) struct OwnFile {
    file: ManuallyDrop<File>,
    inode: (u64, u64),
    mark: u64,
    generation: u32,
}

impl OwnFile {
    /// Opens a file and has it closed in forked children. The file's offset must not be used: it
    /// becomes the mark.
    pub(crate) fn open(open: impl FnOnce() -> Result<File>) -> Result<OwnFile> {
        match OwnFile::open_if(|| open().map(Some))? {
            Some(file) => Ok(file),
            None => unreachable!("there is a file where opening gives one"),
        }
    }

    /// The same where there may be none.
    pub(crate) fn open_if(open: impl FnOnce() -> Result<Option<File>>) -> Result<Option<OwnFile>> {
        install()?;
        let held_off = hold_off();
        let Some(file) = open()? else { return Ok(None) };
        reach(Point::FileOpened);
        let descriptor = file.as_raw_fd();
        let failed = |what| Error::io(what, "a descriptor", std::io::Error::last_os_error());
        let inode = inode_of(descriptor).ok_or_else(|| failed("stat"))?;
        let mark = MARKS_FIRST + RandomState::new().hash_one(descriptor) % MARKS_COUNT;
        seek(descriptor, mark, libc::SEEK_SET).ok_or_else(|| failed("seek in"))?;
        register(descriptor, mark)?;
        let generation = generation();
        drop(held_off);
        Ok(Some(OwnFile { file: ManuallyDrop::new(file), inode, mark, generation }))
    }

    /// Device and inode.
    pub(crate) fn inode(&self) -> (u64, u64) {
        self.inode
    }

    /// Whether this process is a forked child of the one that opened the file.
    #[inline]
    pub(crate) fn inherited(&self) -> bool {
        is_inherited(self.generation)
    }

    /// Whether the descriptor still is what it was: not closed by a fork or by other code, after
    /// which its number may be another file's. Costs a system call.
    pub(crate) fn intact(&self) -> bool {
        !self.inherited()
            && (planted::is(Bug::LockDescriptor)
                || mark_of(self.file.as_raw_fd()) == Some(self.mark))
    }

    /// Whether locks on the descriptor, and the descriptor itself, are this process's to give up:
    /// unless it is known that they are not. Where the kernel does not say, as a file system that
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
        !self.inherited() && (planted::is(Bug::LockDescriptor) || !known_lost())
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
        let _held_off = hold_off();
        unregister(self.file.as_raw_fd());
        if self.may_give_up() {
            // SAFETY: dropped here only, and nothing uses the file after.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// Makes forked children close their copies of `descriptor`.
fn register(descriptor: i32, mark: u64) -> Result<()> {
    if planted::is(Bug::ForkUnregistered) && COUNT.load(Ordering::Relaxed) > 1 {
        return Ok(());
    }
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

/// Closes this child's copies of what its parent had registered.
fn close_inherited() {
    for entry in &ENTRIES[..HIGH.load(Ordering::Relaxed)] {
        let descriptor = entry.descriptor.swap(VACANT, Ordering::Acquire) - 1;
        if descriptor >= 0 && mark_of(descriptor) == Some(entry.mark.load(Ordering::Relaxed)) {
            // SAFETY: the descriptor is this process's copy of one that an environment owns; its
            // handles see the new generation and use it no more.
            unsafe { libc::close(descriptor) };
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

// ---- the handlers

/// How long a thread waits for another one that installs the handlers. In a child that was forked
/// meanwhile it waits in vain; then they are installed twice, which does no harm.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(1);

fn install() -> Result<()> {
    const NOT_YET: u32 = 0;
    const AT_IT: u32 = 1;
    const DONE: u32 = 2;
    static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
    let start = Instant::now();
    loop {
        match STATE.compare_exchange(NOT_YET, AT_IT, Ordering::Acquire, Ordering::Acquire) {
            Err(DONE) => return Ok(()),
            Err(_) if start.elapsed() < INSTALL_TIMEOUT => std::thread::yield_now(),
            _ => break,
        }
    }
    // SAFETY: the handlers are plain functions that live for ever; that of the child is
    // async-signal-safe (invariant 1).
    let failed =
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    if failed != 0 {
        STATE.store(NOT_YET, Ordering::Release);
        let source = std::io::Error::from_raw_os_error(failed);
        return Err(Error::io("register a fork handler", "", source));
    }
    wipe_in_children();
    STATE.store(DONE, Ordering::Release);
    Ok(())
}

/// Makes the kernel zero the page in children, where it can.
fn wipe_in_children() {
    if !planted::is(Bug::ZeroedPage) {
        // Whole pages of a static that is zero at first, with nothing else on them; a child finds a
        // valid value there. If the kernel refuses, the handler alone counts.
        system::wipe_in_children((&raw const PAGE).cast_mut().cast(), PAGE_BYTES);
    }
}

/// C6: waits until no other thread is between opening a file and registering it.
extern "C" fn before_fork() {
    if planted::is(Bug::ForkUnwaited) {
        return;
    }
    LATCH.fetch_add(FORKING, Ordering::Acquire);
    while LATCH.load(Ordering::Acquire) % FORKING > own_hold() {
        std::thread::sleep(LATCH_PAUSE);
    }
}

extern "C" fn in_parent() {
    if planted::is(Bug::ForkUnwaited) {
        return;
    }
    LATCH.fetch_sub(FORKING, Ordering::Release);
}

extern "C" fn in_child() {
    if planted::is(Bug::ForkHandler) {
        return;
    }
    LATCH.store(own_hold(), Ordering::Relaxed);
    let generation = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    close_inherited();
    PAGE.generation.store(generation, Ordering::Relaxed);
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
            let full = crate::Env::open(&path).unwrap_err();
            assert!(matches!(full, Error::EnvironmentsFull { max: 21_845 }), "{full}");
            assert!(!path.exists(), "nothing is left behind");
            (0..9).for_each(|n| unregister(i32::MAX - 1 - n));
            crate::Env::open(&path).unwrap();
        });
    }
}
