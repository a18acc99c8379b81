//! The map as pages, each with a tag that says what was verified of it.
//!
//! All that a lookup needs of the map lies in this one struct, so that it does not call the
//! storage.
//!
//! 1. Address and length of a map never change, and every owner keeps it mapped.
//! 2. There are as many tags as whole pages in the map, and never more pages in the file: one bound
//!    is enough for all three.
//!
//! How long the file is, and what a tag means, is left to others.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::anon::Anon;
use super::map::Map;
use super::mutex::even_if_poisoned;
use super::prefetch::Ahead;
use super::reading::{ReadAhead, Reading};
use super::word::Mutex;
use crate::error::Result;

/// The pages of a map. All tags are zero at first, and cost memory only where they are touched.
pub(crate) struct MapPages {
    /// Keeps `base` mapped.
    map: Arc<Map>,
    /// Keeps `tags` mapped.
    tags_owner: Arc<Anon>,
    base: NonNull<u8>,
    tags: NonNull<AtomicU16>,
    page_bytes: usize,
    count: u32,
    /// How many of them lie in the file, as far as is known; at most `count`.
    in_file: AtomicU32,
    reading: Reading,
    measuring: Mutex<()>,
}

// SAFETY: an address and a length of a map that is shared here, as in `Map`.
unsafe impl Send for MapPages {}
// SAFETY: as above; tags are seen as atomics only.
unsafe impl Sync for MapPages {}

impl MapPages {
    /// The map in pages of `page_bytes`; none of them is known to lie in the file.
    pub(crate) fn new(map: &Arc<Map>, page_bytes: usize) -> Result<MapPages> {
        assert!(page_bytes > 0, "pages have bytes");
        let count = u32::try_from(map.bytes() / page_bytes as u64).unwrap_or(u32::MAX);
        let tags = Anon::reserve(u64::from(count) * size_of::<AtomicU16>() as u64)?;
        Ok(MapPages {
            map: map.clone(),
            tags: tags.base().cast(),
            tags_owner: Arc::new(tags),
            base: map.first(),
            page_bytes,
            count,
            in_file: AtomicU32::new(0),
            reading: Reading::default(),
            measuring: Mutex::default(),
        })
    }

    /// Takes over the tags of pages in the same map (C5): verified pages stay so.
    pub(crate) fn take_over(&mut self, other: &MapPages) {
        if Arc::ptr_eq(&self.map, &other.map) && self.count == other.count {
            (self.tags, self.tags_owner) = (other.tags, other.tags_owner.clone());
        }
    }

    /// The map itself.
    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    /// How many pages lie in the map.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// How many pages lie in the file, as far as is known: it may have grown.
    #[inline(always)]
    pub(crate) fn in_file(&self) -> u32 {
        self.in_file.load(Ordering::Relaxed)
    }

    /// Notes how long the file is, which `length` asks or changes; returns how many pages of the
    /// map lie in it. One at a time: a length that was read before a cut must not be noted after
    /// it.
    pub(crate) fn measure(&self, length: impl FnOnce() -> Result<u64>) -> Result<u32> {
        let _one = even_if_poisoned(self.measuring.lock());
        let file_bytes = length()?;
        self.reading.follow(&self.map, file_bytes);
        let pages = u32::try_from(file_bytes / self.page_bytes as u64).unwrap_or(u32::MAX);
        let pages = pages.min(self.count);
        self.in_file.store(pages, Ordering::Relaxed);
        Ok(pages)
    }

    /// How the kernel reads the file from the disk, from when it is next measured on.
    pub(crate) fn set_read_ahead(&self, wish: ReadAhead) {
        self.reading.wish(wish);
    }

    /// How the file is read.
    #[inline(always)]
    pub(super) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// How often was asked for pages, and for how many bytes.
    pub(crate) fn requests(&self) -> (u64, u64) {
        self.reading.requests()
    }

    /// Bytes of a page.
    pub(super) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// A page and its tag, if it is known to lie in the file. The caller reads only what its
    /// pinned snapshot (or its write transaction) reaches.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<(&[u8], &AtomicU16)> {
        if number >= self.in_file() {
            return None;
        }
        let number = number as usize;
        // SAFETY: the map holds `count` pages, of which no more than these lie in the file, so the
        // range lies in the map; that lives as long as `self`, and is not written while the slice
        // lives: the argument of `map.rs`.
        let page = unsafe {
            let first = self.base.as_ptr().add(number * self.page_bytes);
            std::slice::from_raw_parts(first, self.page_bytes)
        };
        // SAFETY: the reservation holds as many tags, zeroed (a valid AtomicU16), aligned to a
        // system page, and lives as long as `self`; it is accessed as atomics only.
        let tag = unsafe { self.tags.add(number).as_ref() };
        Some((page, tag))
    }

    /// Hints that the page will be read soon: its header, and the slots where most searches start.
    /// The number may be any.
    #[inline(always)]
    pub(crate) fn prefetch(&self, number: u32) {
        let offset = (number as usize).wrapping_mul(self.page_bytes);
        super::prefetch::lines(self.base.as_ptr().wrapping_add(offset));
    }

    /// The page, to be asked for little by little. The number may be any.
    #[inline]
    pub(crate) fn ahead(&self, number: u32) -> Ahead {
        let offset = (number as usize).wrapping_mul(self.page_bytes);
        Ahead::page(self.base.as_ptr().wrapping_add(offset), self.page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(map_bytes: u64, page_bytes: usize) -> MapPages {
        let map = Arc::new(Map::memory(map_bytes).unwrap());
        let pages = MapPages::new(&map, page_bytes).unwrap();
        pages.measure(|| Ok(map_bytes)).unwrap();
        pages
    }

    #[test]
    fn pages_lie_one_after_another_and_end_with_the_map() {
        let pages = pages(1 << 16, 256);
        assert_eq!(pages.count(), 256);
        for number in [0, 1, 7, 255] {
            let (page, _) = pages.get(number).unwrap();
            assert_eq!(page.as_ptr() as usize, pages.map().base() + 256 * number as usize);
            assert_eq!(page.len(), 256);
            assert!(pages.map().contains(page));
        }
        assert!(pages.get(256).is_none());
        assert!(pages.get(u32::MAX).is_none());
    }

    /// A thread that asks for the length, and is held up before noting it, does not undo a cut.
    #[test]
    #[cfg(not(shuttle))]
    fn a_length_from_before_a_cut_is_forgotten() {
        let pages = pages(1 << 16, 256);
        let (asked, has_asked) = std::sync::mpsc::channel();
        let (cut, is_cut) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let held_up = |is_cut: std::sync::mpsc::Receiver<()>| {
                    asked.send(()).unwrap();
                    let _ = is_cut.recv_timeout(std::time::Duration::from_millis(100));
                    Ok(1 << 16)
                };
                pages.measure(|| held_up(is_cut)).unwrap();
            });
            has_asked.recv().unwrap();
            let cut_to = |bytes| {
                let _ = cut.send(());
                Ok(bytes)
            };
            pages.measure(|| cut_to(1 << 12)).unwrap();
        });
        assert_eq!(pages.in_file(), 16);
    }

    #[test]
    fn no_page_past_the_end_of_the_file_or_the_map_is_handed_out() {
        let pages = pages(1 << 16, 256);
        for (file_bytes, known) in [(0, 0), (255, 0), (256, 1), (1000, 3), (u64::MAX, 256)] {
            assert_eq!(pages.measure(|| Ok(file_bytes)).unwrap(), known);
            assert_eq!(pages.in_file(), known);
            assert!((0..300).all(|number| pages.get(number).is_some() == (number < known)));
        }
    }

    #[test]
    fn tags_start_at_zero_and_keep_what_is_stored() {
        let pages = pages(1 << 16, 256);
        let tag = |number| pages.get(number).unwrap().1;
        assert!((0..256).all(|number| tag(number).load(Ordering::Relaxed) == 0));
        tag(255).store(7, Ordering::Relaxed);
        tag(0).store(8, Ordering::Relaxed);
        assert_eq!(tag(255).load(Ordering::Relaxed), 7);
        assert_eq!(tag(0).load(Ordering::Relaxed), 8);
        assert_eq!(tag(1).load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_map_lives_as_long_as_its_pages() {
        let map = Arc::new(Map::memory(1 << 16).unwrap());
        map.write(512, b"kept");
        let pages = MapPages::new(&map, 256).unwrap();
        pages.measure(|| Ok(map.bytes())).unwrap();
        drop(map);
        assert_eq!(&pages.get(2).unwrap().0[..4], b"kept");
    }

    #[test]
    fn any_number_may_be_prefetched() {
        let pages = pages(1 << 16, 4096);
        for number in [0, 15, 16, u32::MAX] {
            pages.prefetch(number);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lazy reservation")]
    fn tags_of_a_huge_map_are_cheap() {
        // As huge as addresses allow.
        let count = if usize::BITS < 64 { 1 << 20 } else { 1 << 28 };
        let pages = pages(u64::from(count) * 256, 256);
        assert_eq!(pages.count(), count);
        pages.get(count - 1).unwrap().1.store(1, Ordering::Relaxed);
    }
}
