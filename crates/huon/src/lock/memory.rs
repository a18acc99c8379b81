//! A lock file in memory: shared by any number of handles of one process, each as if it were a
//! client in a process of its own.
//!
//! It serves the simulation (many clients of one simulated machine, killed at will) and the client
//! that may not use the real lock file and opens on a private image.
//!
//! Invariants: as of the real one. A killed handle loses its bytes and the gate and leaves the
//! words alone.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64 as StdU64, AtomicUsize};
use std::time::{Duration, Instant};

use super::layout;
use crate::error::{Error, Result};
use crate::os::word::{Condvar, Mutex, MutexGuard, Ordering, Word, pause};
use crate::os::{Shared, Wake, Way, ZeroedWords, even_if_poisoned, no_room_for_locks};

/// Words that a memory lock file can grow to by default: room for about 65,000 reader slots.
const CAPACITY_WORDS: usize = match (layout::MODEL, layout::FEW) {
    (true, _) => layout::RING + layout::RING_WORDS,
    (_, true) => layout::WORDS_FIRST + 128,
    _ => 1 << 20,
};

/// Pins that guests can have at once.
const PINS_MAX: usize = match (cfg!(loom), cfg!(shuttle)) {
    (true, _) => 1,
    // Each is looked at by each question, and a model may switch threads there.
    (_, true) => 4,
    _ => 256,
};

/// The lock file itself. It lives as long as a handle or its maker keeps it.
pub(crate) struct MemoryFile {
    words: ZeroedWords,
    allocated: AtomicUsize,
    boot: [u8; 16],
    next_handle: StdU64,
    /// The snapshots that guests pin, 0 for none; which guest, is in the state. They are looked at
    /// as the kernel looks at its list: nothing is ordered by it (R10).
    pins: Box<[Word]>,
    state: Mutex<MemoryState>,
    woken: Condvar,
    /// Its contents when it was flushed last.
    #[cfg(any(test, feature = "simulation"))]
    flushed: std::sync::Mutex<Option<Vec<u64>>>,
}

struct MemoryState {
    /// Byte number to the handle that holds it.
    bytes: HashMap<u32, u64>,
    gate: Option<u64>,
    /// Handles of guests that show themselves.
    guests: Vec<u64>,
    /// The owner of each pin (0 for none), and its snapshot. A model switches threads where a word
    /// is touched: so none is while the state is locked.
    pin_owners: [(u64, u64); PINS_MAX],
    /// The threads that wait on a word, in the order in which they came.
    sleepers: Vec<Sleeper>,
    sleepers_ever: u64,
    /// A handle is gone. From then on no thread sleeps: Shuttle has no time-outs, after which
    /// waiting threads would look at the holder again.
    #[cfg(shuttle)]
    looks_again: bool,
}

impl Default for MemoryState {
    fn default() -> MemoryState {
        MemoryState {
            bytes: HashMap::new(),
            gate: None,
            guests: Vec::new(),
            pin_owners: [(0, 0); PINS_MAX],
            sleepers: Vec::new(),
            sleepers_ever: 0,
            #[cfg(shuttle)]
            looks_again: false,
        }
    }
}

struct Sleeper {
    number: u64,
    word: usize,
    marks: u32,
}

#[cfg(not(loom))]
impl MemoryState {
    fn lie_down(&mut self, word: usize, marks: u32) -> u64 {
        self.sleepers_ever += 1;
        let number = self.sleepers_ever;
        self.sleepers.push(Sleeper { number, word, marks });
        number
    }

    fn sleeps(&self, number: u64) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.number == number)
    }
}

/// One client's handle of a [`MemoryFile`].
pub(crate) struct MemoryShared {
    file: Arc<MemoryFile>,
    handle: u64,
    writable: bool,
    killed: AtomicBool,
    /// Words that this handle knows to be there: others may have grown the file.
    shown: AtomicUsize,
}

impl MemoryFile {
    /// An empty lock file on a machine whose boot is called `boot`, if there is memory for it.
    pub(crate) fn try_new(boot: [u8; 16]) -> Result<Arc<MemoryFile>> {
        MemoryFile::build(&[], boot, CAPACITY_WORDS)
    }

    fn build(image: &[u64], boot: [u8; 16], capacity: usize) -> Result<Arc<MemoryFile>> {
        let words = ZeroedWords::new(capacity.max(image.len()))?;
        for (word, value) in words.iter().zip(image) {
            word.store(*value, Ordering::Relaxed);
        }
        Ok(Arc::new(MemoryFile {
            words,
            allocated: AtomicUsize::new(image.len()),
            boot,
            next_handle: StdU64::new(1),
            pins: (0..PINS_MAX).map(|_| Word::new(0)).collect(),
            state: Mutex::new(MemoryState::default()),
            woken: Condvar::new(),
            #[cfg(any(test, feature = "simulation"))]
            flushed: std::sync::Mutex::default(),
        }))
    }

    /// Makes it hold `image` on a machine whose boot is called `boot`, as a new one would.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn reset(&mut self, image: &[u64], boot: [u8; 16]) {
        assert!(image.len() <= self.words.len(), "an image that the lock file has room for");
        let used = self.allocated.swap(image.len(), Ordering::AcqRel).max(image.len());
        let values = image.iter().copied().chain(std::iter::repeat(0));
        for (word, value) in self.words[..used].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.boot = boot;
        *self.state() = MemoryState::default();
        *self.flushed() = None;
    }

    /// A handle of its own, as a process that opens the file gets it.
    pub(crate) fn open(self: &Arc<Self>) -> MemoryShared {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        let shown = AtomicUsize::new(self.allocated.load(Ordering::Acquire));
        let killed = AtomicBool::new(false);
        MemoryShared { file: self.clone(), handle, writable: true, killed, shown }
    }

    /// A handle of a guest.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn visit(self: &Arc<Self>) -> MemoryShared {
        let mut guest = self.open();
        guest.writable = false;
        guest
    }

    /// A copy of all words. Take it while no thread stores, or accept a mixture.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn words_image(&self) -> Vec<u64> {
        let allocated = self.allocated.load(Ordering::Acquire);
        self.words[..allocated].iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Its contents when it was flushed last, if it ever was.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn flushed_image(&self) -> Option<Vec<u64>> {
        self.flushed().clone()
    }

    #[cfg(any(test, feature = "simulation"))]
    fn flushed(&self) -> std::sync::MutexGuard<'_, Option<Vec<u64>>> {
        even_if_poisoned(self.flushed.lock())
    }

    /// Changes a word behind the back of the file's users.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn poke(&self, word: usize, value: u64) {
        if let Some(word) = self.words[..self.allocated.load(Ordering::Acquire)].get(word) {
            word.store(value, Ordering::Release);
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        even_if_poisoned(self.state.lock())
    }
}

#[cfg(any(test, feature = "simulation"))]
impl MemoryFile {
    /// As [`MemoryFile::try_new`].
    pub(crate) fn new(boot: [u8; 16]) -> Arc<MemoryFile> {
        MemoryFile::from_image(&[], boot)
    }

    /// A lock file that holds `image`, as [`MemoryFile::words_image`] gave it.
    pub(crate) fn from_image(image: &[u64], boot: [u8; 16]) -> Arc<MemoryFile> {
        MemoryFile::with_capacity(image, boot, CAPACITY_WORDS)
    }

    /// As [`MemoryFile::from_image`]; growth past `capacity` words fails as on a full disk.
    pub(crate) fn with_capacity(image: &[u64], boot: [u8; 16], capacity: usize) -> Arc<MemoryFile> {
        MemoryFile::build(image, boot, capacity).expect("memory for a lock file of a test")
    }
}

impl MemoryShared {
    /// Ends this client as SIGKILL ends a process: its bytes and the gate are free, the words stay.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        let mut state = self.file.state();
        state.bytes.retain(|_, holder| *holder != self.handle);
        if state.gate == Some(self.handle) {
            state.gate = None;
        }
        state.guests.retain(|guest| *guest != self.handle);
        let pins = state.pin_owners;
        #[cfg(shuttle)]
        {
            state.looks_again = true;
            state.sleepers.clear();
            self.file.woken.notify_all();
        }
        drop(state);
        for (_, txnid) in pins.iter().filter(|(owner, _)| *owner == self.handle) {
            self.unpin(*txnid);
        }
    }

    fn check(&self) -> Result<()> {
        if self.killed.load(Ordering::Acquire) {
            let source = std::io::Error::other("this simulated client was killed");
            return Err(Error::io("use the lock file", "memory", source));
        }
        Ok(())
    }
}

/// In models it stands for the real lock file, so that all of the engine compiles.
#[cfg(any(loom, shuttle))]
impl MemoryShared {
    pub(crate) fn visit(_: &std::path::Path) -> Result<Option<MemoryShared>> {
        Err(Error::Invalid("a model has no files"))
    }

    pub(crate) fn open(
        _: &std::path::Path,
        _: Option<&crate::os::Beside>,
    ) -> Result<Option<MemoryShared>> {
        Err(Error::Invalid("a model has no files"))
    }
}

impl Shared for MemoryShared {
    #[inline]
    fn words(&self) -> &[Word] {
        &self.file.words[..self.shown.load(Ordering::Acquire)]
    }

    fn first_word(&self) -> Result<u64> {
        Ok(self.words().first().map_or(0, |word| word.load(Ordering::Acquire)))
    }

    fn grow(&self, words: usize) -> Result<()> {
        self.check()?;
        if words > self.file.words.len() {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Error::io("grow the lock file", "memory", source));
        }
        self.file.allocated.fetch_max(words, Ordering::Release);
        self.refresh()
    }

    fn refresh(&self) -> Result<()> {
        self.check()?;
        self.shown.fetch_max(self.file.allocated.load(Ordering::Acquire), Ordering::Release);
        Ok(())
    }

    fn lock_gate(&self, timeout: Duration) -> Result<bool> {
        let start = Instant::now();
        loop {
            self.check()?;
            {
                let mut state = self.file.state();
                if state.gate.is_none() {
                    state.gate = Some(self.handle);
                    return Ok(true);
                }
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            pause(left.min(Duration::from_micros(50)));
        }
    }

    fn unlock_gate(&self) {
        let mut state = self.file.state();
        if state.gate == Some(self.handle) {
            state.gate = None;
        }
    }

    fn claim(&self, number: u32) -> Result<bool> {
        self.check()?;
        let mut state = self.file.state();
        Ok(*state.bytes.entry(number).or_insert(self.handle) == self.handle)
    }

    fn release(&self, number: u32) {
        let mut state = self.file.state();
        if state.bytes.get(&number) == Some(&self.handle) {
            state.bytes.remove(&number);
        }
    }

    fn held(&self, number: u32) -> Result<bool> {
        let state = self.file.state();
        Ok(state.bytes.get(&number).is_some_and(|holder| *holder != self.handle))
    }

    fn way(&self) -> Way {
        Way::Bytes
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn attend(&self) -> Result<()> {
        self.check()?;
        self.file.state().guests.push(self.handle);
        Ok(())
    }

    fn attended(&self) -> Result<bool> {
        self.check()?;
        Ok(self.file.state().guests.iter().any(|guest| *guest != self.handle))
    }

    fn pin(&self, txnid: u64) -> Result<()> {
        self.check()?;
        let mut state = self.file.state();
        let Some(at) = state.pin_owners.iter().position(|(owner, _)| *owner == 0) else {
            return Err(Error::io("lock", "memory", no_room_for_locks()));
        };
        state.pin_owners[at] = (self.handle, txnid);
        drop(state);
        self.file.pins[at].store(txnid, Ordering::Relaxed);
        Ok(())
    }

    fn unpin(&self, txnid: u64) {
        let owners = self.file.state().pin_owners;
        if let Some(at) = owners.iter().position(|owner| *owner == (self.handle, txnid)) {
            self.file.pins[at].store(0, Ordering::Relaxed);
            self.file.state().pin_owners[at] = (0, 0);
        }
    }

    /// Of several the one that came first, as the kernel does where each is of another descriptor.
    fn pinned(&self, range: &RangeInclusive<u64>) -> Result<Option<RangeInclusive<u64>>> {
        self.check()?;
        let owners = self.file.state().pin_owners;
        let found = self.file.pins.iter().zip(owners).find_map(|(pin, (owner, _))| {
            let txnid = pin.load(Ordering::Relaxed);
            (txnid != 0 && owner != self.handle && range.contains(&txnid)).then_some(txnid)
        });
        Ok(found.map(|txnid| txnid..=txnid))
    }

    #[cfg(not(loom))]
    fn wait(&self, word: usize, expected: u64, timeout: Duration, marks: u32) {
        let mut state = self.file.state();
        #[cfg(shuttle)]
        if state.looks_again {
            drop(state);
            return pause(timeout);
        }
        if self.words()[word].load(Ordering::Acquire) as u32 != expected as u32 {
            return;
        }
        let start = Instant::now();
        let number = state.lie_down(word, marks);
        while state.sleeps(number) {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() && !cfg!(shuttle) {
                state.sleepers.retain(|sleeper| sleeper.number != number);
                return;
            }
            let woken = self.file.woken.wait_timeout(state, left);
            state = even_if_poisoned(woken).0;
        }
    }

    #[cfg(loom)]
    fn wait(&self, _: usize, _: u64, timeout: Duration, _: u32) {
        pause(timeout);
    }

    fn wake(&self, word: usize, which: Wake) -> bool {
        // Under the lock that sleepers hold while they look at the word: none can miss it.
        let mut state = self.file.state();
        let before = state.sleepers.len();
        let mut most = if which.is_for_one() { 1 } else { usize::MAX };
        state.sleepers.retain(|sleeper| {
            let is_meant = most > 0 && sleeper.word == word && sleeper.marks & which.marks() != 0;
            most -= usize::from(is_meant);
            !is_meant
        });
        self.file.woken.notify_all();
        state.sleepers.len() < before
    }

    fn intact(&self) -> bool {
        !self.killed.load(Ordering::Acquire)
    }

    fn boot(&self) -> [u8; 16] {
        self.file.boot
    }

    fn sync(&self) -> Result<()> {
        self.check()?;
        #[cfg(any(test, feature = "simulation"))]
        {
            *self.file.flushed() = Some(self.file.words_image());
        }
        Ok(())
    }
}

impl Drop for MemoryShared {
    fn drop(&mut self) {
        self.kill();
    }
}
