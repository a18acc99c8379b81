//! A simulated machine: one data file in memory, and a record of all that happened to it.
//!
//! 1. The map and the file are the same memory, as with a real page cache: a write is seen at once.
//! 2. While recording, every call that changes the file is one [`Event`], in order, with all its
//!    bytes: every image that a power loss could leave follows from a base image and the events.
//! 3. Every handle of [`SimDisk::storage`] is one open file with a lock of its own, given up on
//!    drop.
//! 4. With [`SimDisk::lossy`], a failed flush loses what was not flushed, as real systems do: the
//!    cache goes on showing it, later flushes succeed without it, and it is gone once the cache is
//!    dropped.
//!
//! Which images to make of the events is left to the test kit; failures on demand are in
//! `faulty.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use twox_hash::XxHash3_64;

use super::loss::Loss;
use crate::error::{Error, Result};
use crate::lock::{IMAGE_WORDS, IMAGES, IMAGES_COUNT, MemoryFile, MemoryShared, SEALED};
use crate::os::{Identity, JournalFile, Map, Storage, locked};

mod file;
mod journal;

use file::SimFile;
use journal::{Blocks, SimJournal};

/// The device that all simulated files are on.
const DEVICE: u64 = 0x51D;

/// The byte that fills a page while it is edited.
const SCRIBBLE: u8 = 0xA5;

/// A number that no other simulated file, handle or boot has.
fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Something that happened to a simulated data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Bytes were written over existing ones; they reach the disk in any order, whole or in part,
    /// until the next [`Event::Sync`].
    Write {
        /// Where in the file.
        offset: u64,
        /// All bytes of the write.
        bytes: Arc<[u8]>,
    },
    /// A flush ended: everything before it is on the disk.
    Sync,
    /// A flush failed, and lost what was written since the last one; only with [`SimDisk::lossy`].
    SyncLost,
    /// The file was extended by zeros.
    Grow {
        /// Length before.
        from: u64,
        /// Length after.
        to: u64,
    },
    /// The file was cut.
    Shrink {
        /// Length before.
        from: u64,
        /// Length after.
        to: u64,
    },
    /// A journal of so many zeros was made, and flushed.
    JournalMade {
        /// Its length.
        bytes: u64,
    },
    /// Blocks of the journal were written; they reach the disk in any order, whole or torn, until
    /// the next [`Event::JournalSync`].
    JournalWrite {
        /// Where in the journal.
        offset: u64,
        /// All bytes of the write.
        bytes: Arc<[u8]>,
    },
    /// A flush of the journal ended.
    JournalSync,
}

/// A simulated machine with one data file, and the lock file beside it.
///
/// A clone is the same machine.
///
/// ```
/// use huon::sim::SimDisk;
///
/// let disk = SimDisk::new(1 << 20)?;
/// assert!(disk.image().is_empty());
/// let after_power_loss = disk.after_crash(&disk.image(), false)?;
/// assert_ne!(after_power_loss.boot(), disk.boot());
/// # Ok::<(), huon::Error>(())
/// ```
#[derive(Clone)]
pub struct SimDisk {
    machine: Arc<Machine>,
}

struct Machine {
    map: Arc<Map>,
    /// Plays the inode.
    inode: u64,
    state: Mutex<DiskState>,
    /// The lock file; `None` until it is first opened.
    lock_file: Mutex<Option<Arc<MemoryFile>>>,
    journal: Mutex<Blocks>,
}

struct DiskState {
    file_bytes: u64,
    recording: bool,
    events: Vec<Event>,
    boot: [u8; 16],
    /// Handles that hold the lock, and whether alone.
    holders: Vec<(u64, bool)>,
    loss: Option<Loss>,
    watch: Option<Arc<Watch>>,
    /// Plays the time of the last write.
    modified: u64,
}

type Watch = dyn Fn(&SimDisk) + Send + Sync;

impl SimDisk {
    /// A machine with an empty file, which can grow to `reserve_bytes`.
    pub fn new(reserve_bytes: u64) -> Result<SimDisk> {
        SimDisk::from_image(&[], reserve_bytes)
    }

    /// A machine of its own whose file holds `image`, and can grow to `reserve_bytes`.
    pub fn from_image(image: &[u8], reserve_bytes: u64) -> Result<SimDisk> {
        SimDisk::build(image, reserve_bytes, unique(), boot_number(), 1)
    }

    /// The same machine later: the same file by identity, now holding `image`, and open nowhere.
    ///
    /// `same_boot`: only the processes died. Otherwise the machine was started anew, with another
    /// [`SimDisk::boot`]. There is no lock file and no journal; it records, as a new machine does.
    pub fn after_crash(&self, image: &[u8], same_boot: bool) -> Result<SimDisk> {
        let boot = if same_boot { self.boot() } else { boot_number() };
        let Machine { map, inode, .. } = &*self.machine;
        let modified = self.modified_with(image);
        SimDisk::build(image, map.bytes(), *inode, boot, modified)
    }

    fn build(
        image: &[u8],
        reserve_bytes: u64,
        inode: u64,
        boot: [u8; 16],
        modified: u64,
    ) -> Result<SimDisk> {
        let map = Arc::new(Map::memory(reserve_bytes.max(image.len() as u64))?);
        map.write(0, image);
        let state = DiskState {
            file_bytes: image.len() as u64,
            recording: true,
            events: Vec::new(),
            boot,
            holders: Vec::new(),
            loss: None,
            watch: None,
            modified,
        };
        let lock_file = Mutex::new(None);
        let (state, journal) = (Mutex::new(state), Mutex::default());
        let machine = Machine { map, inode, state, lock_file, journal };
        Ok(SimDisk { machine: Arc::new(machine) })
    }

    /// Deletes the lock file: clients that open from now on get a new one, and those that have the
    /// old one open keep it.
    pub fn lose_lock_file(&self) {
        *self.machine.lock_file() = None;
    }

    /// Starts this machine again: as [`SimDisk::after_crash`], in the memory that it has already.
    /// The file holds `image`; the lock file holds `lock`, or is missing; the boot is `boot`, or a
    /// new one. There is no journal. Events, watcher and losses are forgotten.
    ///
    /// # Panics
    ///
    /// If the machine's files are open, or `image` is longer than the file can become.
    pub fn restart(&self, image: &[u8], boot: Option<[u8; 16]>, lock: Option<&[u64]>) {
        let boot = boot.unwrap_or_else(boot_number);
        let modified = self.modified_with(image);
        let mut state = self.state();
        state.modified = modified;
        assert!(state.holders.is_empty(), "no client has a machine's file open while it starts");
        let (old, new) = (state.file_bytes, image.len() as u64);
        // Past the end of the file the memory is zero, as `grow` wants it.
        self.machine.map.write(0, image);
        self.machine.map.zero(new..old.max(new));
        state.file_bytes = new;
        state.events.clear();
        state.boot = boot;
        state.loss = None;
        state.watch = None;
        *locked(&self.machine.journal) = Blocks::default();
        if let Some(file) = &mut *self.machine.lock_file() {
            let file = Arc::get_mut(file).expect("no client has a lock file open while it starts");
            file.reset(lock.unwrap_or_default(), boot);
        } else if let Some(lock) = lock {
            drop(state);
            self.clone().with_lock_image(lock);
        }
    }

    /// The time of the last write, as the kernel notes it: another number after each.
    pub fn modified(&self) -> u64 {
        self.state().modified
    }

    /// Puts the time of the last write back: a disk that is mounted anew may hold written data, and
    /// not yet the time of the write.
    pub fn set_modified(&self, modified: u64) {
        self.state().modified = modified;
    }

    /// The time of the last write if the file comes to hold `image`.
    fn modified_with(&self, image: &[u8]) -> u64 {
        let now = self.modified();
        if image == self.image() { now } else { next_time(now ^ XxHash3_64::oneshot(image)) }
    }

    /// Turns recording off: no more events, and no memory for them.
    pub fn quiet(self) -> SimDisk {
        self.record(false);
        self
    }

    /// Turns recording on or off. Events so far stay.
    pub fn record(&self, on: bool) {
        self.state().recording = on;
    }

    /// Makes flushes lose data when they fail, which [`SimDisk::fail_syncs`] makes them do. Call it
    /// before the first write: the machine keeps the disk's contents beside the cache's from then
    /// on.
    pub fn lossy(self) -> SimDisk {
        self.state().loss.get_or_insert_default();
        self
    }

    /// Makes the next `count` flushes fail with EIO and lose what they should have written.
    ///
    /// # Panics
    ///
    /// If the machine is not [`SimDisk::lossy`]. (A `FaultPlan` fails the flushes of any, and loses
    /// nothing.)
    pub fn fail_syncs(&self, count: u64) {
        self.loss(|loss| loss.fail(0, count, |_| true));
    }

    /// Makes one flush fail with EIO, after so many that succeed. Of the blocks of 4096 bytes that
    /// it should have written, those for whose number `loses` returns `true` are lost; the others
    /// are on the disk.
    ///
    /// # Panics
    ///
    /// If the machine is not [`SimDisk::lossy`].
    pub fn fail_sync(&self, after: u64, loses: impl FnMut(u64) -> bool + Send + 'static) {
        self.loss(|loss| loss.fail(after, 1, loses));
    }

    /// How many flushes are still to fail.
    ///
    /// # Panics
    ///
    /// If the machine is not [`SimDisk::lossy`].
    pub fn failing_syncs(&self) -> u64 {
        self.loss(|loss| loss.failing())
    }

    fn loss<R>(&self, act: impl FnOnce(&mut Loss) -> R) -> R {
        act(self.state().loss.as_mut().expect("flushes fail on a lossy machine only"))
    }

    /// The same machine after all its processes were killed: cache, disk and boot are as they were.
    /// So are the journal, and the lock file unless `lock` gives its words. Flushes that are to
    /// fail do so there, and not here any more.
    pub fn after_kill(&self, lock: Option<&[u64]>) -> Result<SimDisk> {
        let next = self.after_crash(&self.image(), true)?;
        next.state().loss = self.state().loss.as_mut().map(Loss::after_kill);
        let next = next.with_journal_image(&self.journal_image());
        match lock {
            Some(lock) => Ok(next.with_lock_image(lock)),
            None => Ok(next.with_lock_image(&self.lock_image())),
        }
    }

    /// All events recorded so far, in order.
    pub fn events(&self) -> Vec<Event> {
        self.state().events.clone()
    }

    /// How many events were recorded so far.
    pub fn event_count(&self) -> usize {
        self.state().events.len()
    }

    /// Forgets the events.
    pub fn clear_events(&self) {
        self.state().events.clear();
    }

    /// The file as programs see it now, flushed or not.
    pub fn image(&self) -> Vec<u8> {
        let state = self.state();
        let mut image = vec![0; state.file_bytes as usize];
        self.machine.map.copy_out(0, &mut image);
        image
    }

    /// The file as a power loss would leave it that took everything that is not flushed; the same
    /// as [`SimDisk::image`] on a machine that is not [`SimDisk::lossy`].
    pub fn flushed_image(&self) -> Vec<u8> {
        self.disk_image(|_| false)
    }

    /// The same, but of the blocks that were written since the last flush, those for whose number
    /// `keeps` returns `true` had reached the disk.
    pub fn disk_image(&self, keeps: impl FnMut(u64) -> bool) -> Vec<u8> {
        let mut image = self.image();
        if let Some(loss) = &self.state().loss {
            loss.uncache(&mut image, keeps);
        }
        image
    }

    /// What a failed flush does on a lossy machine.
    pub(super) fn lose(&self) {
        let mut state = self.state();
        if let Some(loss) = &mut state.loss {
            loss.lose_all();
            state.note(|| Event::SyncLost);
        }
    }

    /// The words of the lock file as they are now; none if it was never opened.
    pub fn lock_image(&self) -> Vec<u64> {
        self.machine.lock_file().as_ref().map(|file| file.words_image()).unwrap_or_default()
    }

    /// The words of the lock file when it was flushed last, if it ever was: the part of it that a
    /// power loss leaves may be older than [`SimDisk::lock_image`], and no older than this.
    pub fn flushed_lock_image(&self) -> Option<Vec<u64>> {
        self.machine.lock_file().as_ref().and_then(|file| file.flushed_image())
    }

    /// Puts a lock file that holds `words`, as [`SimDisk::lock_image`] gave them, beside the data
    /// file, unless there is one. It is open nowhere.
    pub fn with_lock_image(self, words: &[u64]) -> SimDisk {
        let boot = self.boot();
        self.machine.lock_file().get_or_insert_with(|| MemoryFile::from_image(words, boot));
        self
    }

    /// Changes a word of the lock file behind the back of its users, as a stray or hostile process
    /// would. Nothing happens where there is no such word.
    pub fn poke_lock(&self, word: usize, value: u64) {
        if let Some(file) = &*self.machine.lock_file() {
            file.poke(word, value);
        }
    }

    /// Makes the file hold `image`, as if it had never held anything else, after a reboot and
    /// without a lock file: [`SimDisk::restart`].
    pub fn rewind(&mut self, image: &[u8]) {
        self.restart(image, None, None);
    }

    /// Calls `watch` after each recorded event, on the thread that caused it.
    pub fn watch(&self, watch: impl Fn(&SimDisk) + Send + Sync + 'static) {
        self.state().watch = Some(Arc::new(watch));
    }

    /// The number of this boot.
    pub fn boot(&self) -> [u8; 16] {
        self.state().boot
    }

    /// Changes the number of this boot, for example to one carried over with an image of the lock
    /// file.
    pub fn set_boot(&self, boot: [u8; 16]) {
        self.state().boot = boot;
    }

    /// Opens the file for reading and writing.
    pub(crate) fn storage(&self) -> Box<dyn Storage> {
        self.open(true)
    }

    /// Opens the file for reading.
    pub(crate) fn storage_read_only(&self) -> Box<dyn Storage> {
        self.open(false)
    }

    fn open(&self, writable: bool) -> Box<dyn Storage> {
        let machine = Arc::clone(&self.machine);
        Box::new(SimFile::new(machine, writable))
    }

    /// Opens the journal of this machine.
    pub(crate) fn journal(&self) -> Box<dyn JournalFile> {
        Box::new(SimJournal::new(Arc::clone(&self.machine)))
    }

    /// The journal as programs see it now; empty if there is none.
    pub fn journal_image(&self) -> Vec<u8> {
        locked(&self.machine.journal).seen.clone()
    }

    /// The journal as a power loss would leave it that took everything that is not flushed.
    pub fn flushed_journal_image(&self) -> Vec<u8> {
        locked(&self.machine.journal).flushed.clone()
    }

    /// What a failed flush of the journal does.
    pub(super) fn lose_journal(&self) {
        locked(&self.machine.journal).lose();
    }

    /// Puts a journal that holds `image` beside the data file.
    pub fn with_journal_image(self, image: &[u8]) -> SimDisk {
        *locked(&self.machine.journal) = Blocks::of(image.to_vec());
        self
    }

    /// Opens the lock file of this machine, as a client of its own.
    pub(crate) fn shared(&self) -> MemoryShared {
        let boot = self.boot();
        self.machine.lock_file().get_or_insert_with(|| MemoryFile::new(boot)).open()
    }

    /// Opens the lock file of this machine as a guest; `None` if there is none.
    pub(crate) fn shared_to_read(&self) -> Option<MemoryShared> {
        self.machine.lock_file().as_ref().map(MemoryFile::visit)
    }

    #[cfg(test)]
    /// Names the data file.
    pub(crate) fn identity(&self) -> Identity {
        self.machine.identity()
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.machine.state()
    }
}

/// What a data file would hold as the meta of the newest sealed snapshot, from the words of a lock
/// file; `None` where nothing is sealed.
pub fn sealed_image(lock: &[u64]) -> Option<Vec<u8>> {
    let mark = *lock.get(SEALED)?;
    let start = IMAGES + mark as usize % IMAGES_COUNT * IMAGE_WORDS;
    let words = lock.get(start..start + IMAGE_WORDS).filter(|_| mark != 0)?;
    Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// A time of the last write that is another one.
fn next_time(time: u64) -> u64 {
    time.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407).max(1)
}

/// A boot number that differs from all others of this process.
fn boot_number() -> [u8; 16] {
    let mut boot = *b"simulated boot\0\0";
    boot[8..].copy_from_slice(&unique().to_le_bytes());
    boot
}

impl Machine {
    fn state(&self) -> MutexGuard<'_, DiskState> {
        locked(&self.state)
    }

    fn lock_file(&self) -> MutexGuard<'_, Option<Arc<MemoryFile>>> {
        locked(&self.lock_file)
    }

    fn identity(&self) -> Identity {
        Identity { device: DEVICE, inode: self.inode }
    }
}

impl DiskState {
    fn note(&mut self, event: impl FnOnce() -> Event) {
        if self.recording {
            self.events.push(event());
        }
    }
}

impl Machine {
    /// Changes the file, within its length.
    fn put(&self, state: &mut DiskState, bytes: &[u8], offset: u64) {
        if let Some(loss) = &mut state.loss {
            loss.note_dirty(&self.map, offset..offset + bytes.len() as u64);
        }
        self.map.write(offset, bytes);
        state.modified = next_time(state.modified);
        state.note(|| Event::Write { offset, bytes: bytes.into() });
    }
}
