//! Pages that are not in memory: when they are read from the disk, and on whose behalf.
//!
//! The kernel's fault-around and read-ahead load the neighbours of a page. In a file that fits
//! memory, all of them are needed sooner or later. In one that does not, pages that were loaded in
//! vain evict those that are needed, and a lookup may cost megabytes. There read-ahead is turned
//! off (`MADV_RANDOM`), and code that knows its next pages, as a walk or a batch of keys does,
//! prefetches them.
//!
//! A prefetch costs a system call for each page, also if it is in memory. So it is made only as
//! long as it pays: by a thread that had to wait for the disk lately ([`Disk::is_slow`]).

use super::map_pages::MapPages;
use super::reading::Reading;

/// No more than this is prefetched at once: the pages behind it are read on access.
const REQUEST_BYTES_MAX: u64 = 16 << 20;

impl MapPages {
    /// The file, if code that knows its next pages should prefetch them.
    #[inline(always)]
    pub(crate) fn disk(&self) -> Option<Disk<'_>> {
        let reading = self.reading();
        reading.is_alone().then_some(Disk { pages: self, reading })
    }
}

/// A file whose pages are prefetched by code that knows its next ones.
#[derive(Clone, Copy)]
pub(crate) struct Disk<'p> {
    pub(super) pages: &'p MapPages,
    pub(super) reading: &'p Reading,
}

impl Disk<'_> {
    /// Whether to ask for pages: this thread had to wait for the disk since it last asked here, or
    /// some thread had to not long ago. Costs a read of the clock, and a system call every ten
    /// microseconds.
    pub(crate) fn is_slow(&self) -> bool {
        self.reading.is_slow()
    }

    /// Starts reading these pages in the kernel, and does not wait. The numbers may be any;
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
            self.reading.note_request(bytes);
        }
    }

    /// As if a thread had had to wait, or none for long.
    #[cfg(test)]
    pub(crate) fn set_slow(&self, slow: bool) {
        self.reading.set_slow(slow);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::os::map::Map;
    use crate::os::reading::{ASKS_AFTER_WAIT, ReadAhead};

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
    fn prefetching_ends_when_no_thread_waits() {
        let pages = pages(ReadAhead::Never, 1);
        let disk = pages.disk().unwrap();
        disk.set_slow(true);
        // The thread may really have to wait meanwhile, and then begins anew.
        let asked = (0..1_000_000).take_while(|_| disk.is_slow()).count();
        assert!((ASKS_AFTER_WAIT as usize..1_000_000).contains(&asked), "{asked}");
    }
}
