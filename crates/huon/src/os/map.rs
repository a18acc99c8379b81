//! The read-only view of the data file: address space reserved once, never moved.
//!
//! The mapping reaches far past the end of the file, so that growth needs no new mapping and moves
//! no pointer. Reading a page past the end of the file is a SIGBUS: callers compare with the size
//! of the file first. [`Map::page`] checks only against the reservation.
//!
//! Why handing out `&[u8]` of memory that other processes share is sound:
//!
//! 1. A page reachable from a pinned snapshot never changes, so a shared slice of that page may
//!    live as long as the pin. (The repair writes such pages again, with the bytes they have.)
//! 2. No slice of the whole map is ever formed, only of single pages and runs.
//! 3. Metas change under us, so they are never looked at through the map: they are copied out with
//!    `Storage::read_at`, and only the copy is read.
//! 4. Only this library writes the file. Its locks enforce that among its users; a process that
//!    writes the file by other means while it is open breaks this argument, as in every store that
//!    maps its file.
//!
//! Sizes of files and snapshots, and what a page means, are left to others.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
#[cfg(any(test, feature = "simulation"))]
use std::sync::{Mutex, MutexGuard};

use super::addresses::{fair_bytes, note_given_back, note_reserved};
#[cfg(any(test, feature = "simulation"))]
use super::anon::Anon;
use super::anon::whole_pages;
#[cfg(any(test, feature = "simulation"))]
use super::mutex::locked;
use super::sys::memory::{Access, Advice, advise, map_file, page_bytes, unmap};
use crate::error::{Error, Result};

/// No reservation is smaller than this, so that a new file has room to grow.
const RESERVE_BYTES_MIN: u64 = 1 << 20;

/// A reserved range of addresses, with a file (or the memory that plays one) at its start.
pub(crate) struct Map {
    base: NonNull<u8>,
    bytes: u64,
    backing: Backing,
}

enum Backing {
    /// A mapping of a file, ours to unmap.
    File,
    /// Memory of the simulation, which gives itself back.
    #[cfg(any(test, feature = "simulation"))]
    Memory { _memory: Anon, writing: Mutex<()> },
}

// SAFETY: a `Map` is an address and a length. It hands out shared slices of bytes that do not
// change (see the module's argument), which any thread may read.
unsafe impl Send for Map {}
// SAFETY: as above; writing goes through `unsafe` functions whose callers answer for it.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `file`, now `file_bytes` long, into `max_bytes` of reserved addresses.
    ///
    /// Less is reserved where addresses are scarce (`addresses`), and where the kernel refuses the
    /// reservation is halved, down to the size of the file; [`Map::bytes`] tells what it became.
    pub(crate) fn reserve(file: &File, max_bytes: u64, file_bytes: u64) -> Result<Map> {
        let least = file_bytes.max(RESERVE_BYTES_MIN);
        let mut wanted = max_bytes.min(fair_bytes()).max(least);
        loop {
            let tried = whole_pages(wanted)
                .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
                .and_then(|bytes| Ok((map_file(file, bytes, Access::Read)?, bytes)));
            match tried {
                Ok((base, bytes)) => {
                    note_reserved(bytes as u64);
                    return Ok(Map { base, bytes: bytes as u64, backing: Backing::File });
                }
                Err(source) if wanted == least => {
                    let place = format!(
                        "{least} bytes of address space, the least this file needs \
                         (a limit such as `ulimit -v` may be too low)"
                    );
                    return Err(Error::io("map", place, source));
                }
                Err(_) => wanted = (wanted / 2).max(least),
            }
        }
    }

    /// Length of the reservation, in bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The `len` bytes at `offset`; `None` past the reservation.
    ///
    /// The caller has compared with the size of the file, and reads only what its pinned snapshot
    /// (or its write transaction) reaches.
    #[inline]
    pub(crate) fn page(&self, offset: u64, len: usize) -> Option<&[u8]> {
        if offset.checked_add(len as u64)? > self.bytes {
            return None;
        }
        // SAFETY: the range lies in the reservation, which lives as long as `self`; it is not
        // written while the slice lives: the module's argument.
        Some(unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset as usize), len) })
    }

    /// The first byte. It stays there as long as the map does.
    pub(super) fn first(&self) -> NonNull<u8> {
        self.base
    }

    /// The first address.
    pub(crate) fn base(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Whether `bytes` lie inside the map: they were not copied.
    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        let (start, address) = (self.base(), bytes.as_ptr() as usize);
        // Differences, so that nothing overflows near the end of the address space.
        address >= start
            && (address - start) as u64 <= self.bytes
            && bytes.len() as u64 <= self.bytes - (address - start) as u64
    }

    /// Where in the file the first of these bytes lies, if it is one of the map's.
    pub(crate) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let offset = (bytes.as_ptr() as usize).checked_sub(self.base())? as u64;
        (offset < self.bytes).then_some(offset)
    }

    /// Drops this process's page-table entries for the first `bytes`: a page that a process maps
    /// stays in the page cache whatever is asked of it. Contents stay as they are. Best effort.
    pub(super) fn unhold(&self, bytes: u64) {
        if !matches!(self.backing, Backing::File) {
            return;
        }
        let bytes = bytes.min(self.bytes) as usize;
        // SAFETY: the range is ours; on a shared file mapping the next access reads the file again,
        // so no slice of it changes.
        unsafe { advise(self.base, bytes, Advice::Unhold) };
    }
}

/// Hints to the kernel about how the file is read. Their failures are ignored.
impl Map {
    /// Whether the kernel reads nothing but the pages that are accessed.
    pub(super) fn read_alone(&self, alone: bool) {
        let advice = if alone { Advice::Random } else { Advice::Normal };
        self.advise(0, self.bytes, advice);
    }

    /// Starts reading the range in the kernel, and does not wait.
    pub(super) fn ask_for(&self, offset: u64, bytes: u64) {
        // Advice is for whole pages of the kernel.
        let start = offset - offset % page_bytes() as u64;
        self.advise(start, bytes + (offset - start), Advice::Read);
    }

    fn advise(&self, offset: u64, bytes: u64, advice: Advice) {
        if matches!(self.backing, Backing::File) && offset < self.bytes {
            let bytes = bytes.min(self.bytes - offset) as usize;
            // SAFETY: the range is ours, and none of these hints changes what it holds.
            unsafe { advise(self.base.add(offset as usize), bytes, advice) };
        }
    }
}

/// For the simulation: the file behind the map is its memory.
#[cfg(any(test, feature = "simulation"))]
impl Map {
    /// Zeroed memory that plays the file in the simulation.
    pub(crate) fn memory(bytes: u64) -> Result<Map> {
        let memory = Anon::reserve(bytes)?;
        let (base, bytes) = (memory.base(), memory.bytes() as u64);
        Ok(Map {
            base,
            bytes,
            backing: Backing::Memory { _memory: memory, writing: Mutex::default() },
        })
    }

    /// The first byte of a range of the memory that plays a file.
    fn memory_at(&self, offset: u64, len: usize) -> *mut u8 {
        let end = offset.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.bytes), "access past the simulated file");
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// The first byte of such a range, and the lock under which it is written and copied.
    fn memory_locked(&self, offset: u64, len: usize) -> (*mut u8, MutexGuard<'_, ()>) {
        let Backing::Memory { writing, .. } = &self.backing else {
            panic!("a mapped file is read-only")
        };
        (self.memory_at(offset, len), locked(writing))
    }

    /// Writes `bytes` at `offset`, as a write to a file does; touches nothing if they are there
    /// already. The caller writes no page that a reader can reach: the argument of this module.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let (to, _one) = self.memory_locked(offset, bytes.len());
        // SAFETY: the range was checked, and the lock keeps writers away.
        if unsafe { std::slice::from_raw_parts(to, bytes.len()) } == bytes {
            return;
        }
        // SAFETY: `to` has room (checked), the lock is held, and the caller writes nothing that a
        // reader can reach, as for a file that is mapped.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Zeroes `range`, as a cut of the file does. The caller cuts off no page that a reader can
    /// reach.
    pub(crate) fn zero(&self, range: std::ops::Range<u64>) {
        let len = range.end.saturating_sub(range.start) as usize;
        let (to, _one) = self.memory_locked(range.start, len);
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(to, 0, len) };
    }

    /// Copies the bytes at `offset` into `buffer`.
    pub(crate) fn copy_out(&self, offset: u64, buffer: &mut [u8]) {
        let (from, _one) = self.memory_locked(offset, buffer.len());
        // SAFETY: `from` holds that much (checked), the lock keeps writers away, and a slice that
        // is borrowed mutably is not part of the map.
        unsafe { std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), buffer.len()) };
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if matches!(self.backing, Backing::File) {
            note_given_back(self.bytes);
            // SAFETY: the mapping is ours, and every slice of it borrowed `self`.
            unsafe { unmap(self.base, self.bytes as usize) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded_by_the_reservation_only() {
        let map = Map::memory(1 << 20).unwrap();
        let end = map.bytes();
        assert_eq!(map.page(0, 4096).map(<[u8]>::len), Some(4096));
        assert_eq!(map.page(end - 256, 256).map(<[u8]>::len), Some(256));
        assert_eq!(map.page(end, 0).map(<[u8]>::len), Some(0));
        assert!(map.page(end - 255, 256).is_none());
        assert!(map.page(end + 1, 0).is_none());
        assert!(map.page(u64::MAX, 256).is_none());
        assert!(map.page(u64::MAX - 255, 256).is_none());
        assert!(map.page(0, usize::MAX).is_none());
    }

    #[test]
    fn memory_keeps_what_is_written() {
        let map = Map::memory(1 << 16).unwrap();
        let mut out = [9; 4];
        map.write(300, b"abcd");
        map.zero(301..303);
        map.copy_out(300, &mut out);
        assert_eq!(&out, b"a\0\0d");
        assert_eq!(map.page(299, 6), Some(&b"\0a\0\0d\0"[..]));
    }

    #[test]
    fn contains_tells_borrowed_from_copied() {
        let map = Map::memory(1 << 16).unwrap();
        let page = map.page(4096, 256).unwrap();
        assert!(map.contains(page));
        assert!(map.contains(&page[256..]));
        let copy = page.to_vec();
        assert!(!map.contains(&copy));
        assert!(map.contains(map.page(map.bytes() - 1, 1).unwrap()));
        assert_eq!(page.as_ptr() as usize, map.base() + 4096);
    }

    #[test]
    #[should_panic(expected = "past the simulated file")]
    fn a_write_past_the_memory_is_a_bug() {
        let map = Map::memory(4096).unwrap();
        map.write(map.bytes(), b"x");
    }
}
