//! How the kernel reads a mapped file from the disk, and which waits for it a thread has noticed.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::map::Map;
use super::sys::machine::{disk_waits, memory_bytes};

/// Whether the kernel reads more of the file than is asked for.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, ReadAhead};
/// // Lookups all over a file that others keep out of memory.
/// let env = Env::options().read_ahead(ReadAhead::Never).open(dir.path().join("a.huon"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAhead {
    /// As long as the file is no longer than half of the memory that this process may use: of the
    /// machine's, or of its control group's on Linux. Beyond that as [`ReadAhead::Never`].
    #[default]
    IfItFits,
    /// Always: an access to a page makes the kernel read its neighbours too, mostly some hundred
    /// KiB.
    Always,
    /// Never: a lookup reads no more than the pages it needs. Scans, [`get_many`] and large values
    /// ask for what they will need next, a short while before they do.
    ///
    /// [`get_many`]: crate::Table::get_many
    Never,
}

/// No file below this is too large for any memory: the size of the memory need not be read.
const SMALL_BYTES: u64 = 16 << 20;
/// How often a thread prefetches after it had to wait for a page.
pub(super) const ASKS_AFTER_WAIT: u32 = 256;
/// No disk gives a page sooner.
const WAIT_MIN: Duration = Duration::from_micros(10);

/// The state of how a mapped file is read.
#[derive(Default)]
pub(super) struct Reading {
    /// A [`ReadAhead`].
    wish: AtomicU8,
    /// Whether the kernel reads only the pages that are accessed.
    alone: AtomicBool,
    /// How many more times pages are asked for though no thread had to wait.
    asks_left: AtomicU32,
    memory_bytes: OnceLock<u64>,
    /// Requests, and their bytes.
    requests: AtomicU64,
    requested_bytes: AtomicU64,
}

impl Reading {
    pub(super) fn wish(&self, wish: ReadAhead) {
        self.wish.store(wish as u8, Ordering::Relaxed);
    }

    /// Whether the kernel reads only the pages that are accessed.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// Sets the kernel's read-ahead for a file of this length. One thread at a time.
    pub(super) fn follow(&self, map: &Map, file_bytes: u64) {
        let wish = self.wish.load(Ordering::Relaxed);
        let alone = wish == ReadAhead::Never as u8
            || wish == ReadAhead::IfItFits as u8 && !self.fits(file_bytes);
        if alone != self.is_alone() {
            map.read_alone(alone);
            self.alone.store(alone, Ordering::Relaxed);
        }
    }

    /// How often was asked for pages, and for how many bytes.
    pub(super) fn requests(&self) -> (u64, u64) {
        let [count, bytes] = [&self.requests, &self.requested_bytes];
        (count.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }

    pub(super) fn note_request(&self, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.requested_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether this thread had to wait for the disk since it last asked, or some thread had to not
    /// long ago.
    pub(super) fn is_slow(&self) -> bool {
        if has_waited() {
            self.asks_left.store(ASKS_AFTER_WAIT, Ordering::Relaxed);
            return true;
        }
        // Lost counts do not matter.
        let left = self.asks_left.load(Ordering::Relaxed);
        self.asks_left.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }

    /// As if a thread had had to wait, or none for long.
    #[cfg(test)]
    pub(super) fn set_slow(&self, slow: bool) {
        has_waited();
        self.asks_left.store(if slow { ASKS_AFTER_WAIT } else { 0 }, Ordering::Relaxed);
    }

    fn fits(&self, file_bytes: u64) -> bool {
        file_bytes <= SMALL_BYTES || file_bytes <= *self.memory_bytes.get_or_init(memory_bytes) / 2
    }
}

/// A thread's waits for the disk, as last counted.
#[derive(Clone, Copy)]
struct Looked {
    at: Option<Instant>,
    waits: i64,
}

thread_local! {
    static LOOKED: Cell<Looked> = const { Cell::new(Looked { at: None, waits: 0 }) };
}

/// Whether this thread had to wait for a page from the disk since it last looked. It looks when so
/// much time has passed that it may have had to: a clock is cheaper than a system call.
fn has_waited() -> bool {
    let (last, now) = (LOOKED.get(), Instant::now());
    if last.at.is_some_and(|at| now.saturating_duration_since(at) < WAIT_MIN) {
        return false;
    }
    let waits = disk_waits();
    LOOKED.set(Looked { at: Some(now), waits });
    waits != last.waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_memory_is_the_limit_and_a_file_may_come_back() {
        let map = Map::memory(1 << 20).unwrap();
        let reading = Reading::default();
        reading.memory_bytes.set(100 << 20).unwrap();
        let alone_at = |file_bytes| {
            reading.follow(&map, file_bytes);
            reading.is_alone()
        };
        assert!(!alone_at(50 << 20));
        assert!(alone_at((50 << 20) + 1));
        assert!(alone_at(u64::MAX));
        assert!(!alone_at(1 << 20));
        let tiny = Reading::default();
        tiny.memory_bytes.set(1 << 20).unwrap();
        tiny.follow(&map, SMALL_BYTES);
        assert!(!tiny.is_alone(), "a small file fits any memory");
    }
}
