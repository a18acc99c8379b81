//! Pages that are not in memory: who reads them from the disk, and when.
//!
//! The system takes it that who meets a page will soon want its neighbours in the file, and reads
//! them too. In a file that fits memory that is true of all of them sooner or later. In one that
//! does not, what was read in vain has pushed out what was needed, and a lookup may cost megabytes.
//! There the system is told to read nothing but what is met, and whoever knows which pages come
//! next, as a walk or a batch of keys does, asks for them by name.
//!
//! Asking costs a system call for each page, also if it is in memory. So it is done only as long
//! as it pays: a thread that had to wait for the disk lately asks ([`Disk::is_met`]).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::map::Map;
use super::map_pages::MapPages;

/// Whether the system reads more of the file than is asked for.
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
    /// Always: who meets a page has the system read its neighbours too, some hundred KiB mostly.
    Always,
    /// Never: a lookup reads no more than the pages it needs. Scans, [`get_many`] and large values
    /// ask for what they will need next, a short while before they do.
    ///
    /// [`get_many`]: crate::Table::get_many
    Never,
}

/// No file below this is too large for any memory: what there is need not be asked for.
const SMALL_BYTES: u64 = 16 << 20;
/// How often is asked for pages after one had to be waited for.
const PATIENCE: u32 = 256;
/// No disk gives a page sooner.
const WAIT_MIN: Duration = Duration::from_micros(10);
/// More than this is not asked for at once: what lies behind it is read when it is met.
const REQUEST_BYTES_MAX: u64 = 16 << 20;

/// What is known about how a mapped file is read.
#[derive(Default)]
pub(super) struct Reading {
    /// A [`ReadAhead`].
    wish: AtomicU8,
    /// Whether the system reads only what is met.
    alone: AtomicBool,
    /// How often more is asked for pages though nobody had to wait.
    patience: AtomicU32,
    memory_bytes: OnceLock<u64>,
    /// Requests, and their bytes.
    requests: AtomicU64,
    requested_bytes: AtomicU64,
}

impl Reading {
    pub(super) fn wish(&self, wish: ReadAhead) {
        self.wish.store(wish as u8, Ordering::Relaxed);
    }

    /// Whether the system reads only what is met.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// Has the system read a file of this length as is wished. One at a time.
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

    fn fits(&self, file_bytes: u64) -> bool {
        file_bytes <= SMALL_BYTES
            || file_bytes <= *self.memory_bytes.get_or_init(super::ram::usable_bytes) / 2
    }
}

/// A file whose pages are asked for by those who know what they will need.
#[derive(Clone, Copy)]
pub(crate) struct Disk<'p> {
    pub(super) pages: &'p MapPages,
    pub(super) reading: &'p Reading,
}

impl Disk<'_> {
    /// Whether to ask for pages: this thread had to wait for the disk since it last asked here, or
    /// somebody had to not long ago. Costs a look at the clock, and a system call every ten
    /// microseconds.
    pub(crate) fn is_met(&self) -> bool {
        let patience = &self.reading.patience;
        if has_waited() {
            patience.store(PATIENCE, Ordering::Relaxed);
            return true;
        }
        // Lost counts do not matter.
        let left = patience.load(Ordering::Relaxed);
        patience.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }

    /// Has the system begin to read these pages, and waits for nothing. The numbers may be any;
    /// neighbours in the file that follow each other, up or down, are one request.
    pub(crate) fn ask(&self, numbers: impl IntoIterator<Item = u32>) {
        let mut run: Option<(u32, u32)> = None;
        for number in numbers {
            run = match run {
                Some((first, last)) if last.checked_add(1) == Some(number) => Some((first, number)),
                Some((first, last)) if number.checked_add(1) == Some(first) => Some((number, last)),
                other => {
                    self.ask_for_pages(other);
                    Some((number, number))
                }
            };
        }
        self.ask_for_pages(run);
    }

    fn ask_for_pages(&self, run: Option<(u32, u32)>) {
        if let Some((first, last)) = run {
            let pages = u64::from(last - first) + 1;
            self.ask_for(first, pages * self.pages.page_bytes() as u64);
        }
    }

    /// The same for so many bytes from the beginning of a page on, or for the first of them.
    pub(crate) fn ask_for(&self, number: u32, bytes: u64) {
        let in_file = u64::from(self.pages.in_file()) * self.pages.page_bytes() as u64;
        let start = u64::from(number) * self.pages.page_bytes() as u64;
        let bytes = bytes.min(REQUEST_BYTES_MAX).min(in_file.saturating_sub(start));
        if bytes > 0 {
            self.pages.map().ask_for(start, bytes);
            self.reading.requests.fetch_add(1, Ordering::Relaxed);
            self.reading.requested_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// As if somebody had had to wait, or nobody for long.
    #[cfg(test)]
    pub(crate) fn set_met(&self, met: bool) {
        has_waited();
        self.reading.patience.store(if met { PATIENCE } else { 0 }, Ordering::Relaxed);
    }
}

/// What a thread last knew of its waits for the disk.
#[derive(Clone, Copy)]
struct Looked {
    at: Option<Instant>,
    waits: libc::c_long,
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
    let waits = waits();
    LOOKED.set(Looked { at: Some(now), waits });
    waits != last.waits
}

/// How often this thread had to wait so far.
fn waits() -> libc::c_long {
    #[cfg(target_os = "linux")]
    let who = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    // SAFETY: an `rusage` is numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` has room for what is written.
    unsafe { libc::getrusage(who, &mut usage) };
    usage.ru_majflt
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const PAGE_BYTES: u64 = 4096;

    /// A file of `file_pages` pages in a map of twice as many.
    fn pages(wish: ReadAhead, file_pages: u64) -> MapPages {
        let map = Arc::new(Map::memory(2 * file_pages * PAGE_BYTES).unwrap());
        let pages = MapPages::new(&map, PAGE_BYTES as usize).unwrap();
        pages.set_read_ahead(wish);
        pages.measure(|| Ok(file_pages * PAGE_BYTES)).unwrap();
        pages
    }

    #[test]
    fn a_file_is_read_as_is_wished() {
        assert!(pages(ReadAhead::Never, 1).disk().is_some());
        assert!(pages(ReadAhead::Always, 1).disk().is_none());
        assert!(pages(ReadAhead::IfItFits, 1).disk().is_none());
    }

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

    #[test]
    fn neighbours_are_one_request() {
        let pages = pages(ReadAhead::Never, 64);
        let disk = pages.disk().unwrap();
        let mut before = (0, 0);
        let mut requests_of = |numbers: &[u32]| {
            disk.ask(numbers.iter().copied());
            let (now, last) = (pages.requests(), before);
            before = now;
            (now.0 - last.0, (now.1 - last.1) / PAGE_BYTES)
        };
        assert_eq!(requests_of(&[]), (0, 0));
        assert_eq!(requests_of(&[7]), (1, 1));
        assert_eq!(requests_of(&[7, 8, 9]), (1, 3));
        assert_eq!(requests_of(&[9, 8, 7]), (1, 3));
        assert_eq!(requests_of(&[9, 11, 12, 2, 1, 0]), (3, 6));
        assert_eq!(requests_of(&[5, 5]), (2, 2));
    }

    #[test]
    fn nothing_past_the_end_of_the_file_is_asked_for() {
        let pages = pages(ReadAhead::Never, 64);
        let disk = pages.disk().unwrap();
        disk.ask([64, 65, u32::MAX - 1, u32::MAX, 0, u32::MAX]);
        assert_eq!(pages.requests(), (1, PAGE_BYTES));
        disk.ask([62, 63, 64]);
        assert_eq!(pages.requests(), (2, 3 * PAGE_BYTES));
        disk.ask_for(63, u64::MAX);
        assert_eq!(pages.requests(), (3, 4 * PAGE_BYTES));
    }

    #[test]
    fn what_is_asked_for_at_once_has_a_limit() {
        let pages = pages(ReadAhead::Never, 2 * REQUEST_BYTES_MAX / PAGE_BYTES);
        pages.disk().unwrap().ask_for(0, u64::MAX);
        assert_eq!(pages.requests(), (1, REQUEST_BYTES_MAX));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no getrusage")]
    fn patience_ends_when_nobody_waits() {
        let pages = pages(ReadAhead::Never, 1);
        let disk = pages.disk().unwrap();
        disk.set_met(true);
        // The thread may really have to wait meanwhile, and then begins anew.
        let asked = (0..1_000_000).take_while(|_| disk.is_met()).count();
        assert!((PATIENCE as usize..1_000_000).contains(&asked), "{asked}");
    }
}
