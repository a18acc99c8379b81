//! Anonymous zeroed memory that is reserved at once and costs real memory only where it is touched.
//!
//! 1. A reservation never moves and is given back when its owner is dropped.
//! 2. Its bytes are zero until they are written.
//!
//! Under Miri, which has no `mmap` of this kind, it is a zeroed allocation.

use std::io;
use std::ptr::NonNull;

use super::sys::memory::page_bytes as system_page;
#[cfg(not(miri))]
use super::sys::memory::{unmap as release, zeroed as allocate};
use crate::error::{Error, Result};

/// `bytes` rounded up to whole system pages; `None` where that is no address any more.
pub(super) fn whole_pages(bytes: u64) -> Option<usize> {
    let page = system_page() as u64;
    let rounded = bytes.max(1).checked_next_multiple_of(page)?;
    // A slice, and so a reservation that slices are cut from, has at most isize::MAX bytes.
    isize::try_from(rounded).ok().map(|bytes| bytes as usize)
}

/// A private reservation, readable and writable.
pub(super) struct Anon {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: `Anon` is only an address and a length; the code that reads and writes through it answers
// for the rest.
unsafe impl Send for Anon {}
// SAFETY: as above.
unsafe impl Sync for Anon {}

impl Anon {
    /// Reserves `bytes`, rounded up to whole system pages.
    pub(super) fn reserve(bytes: u64) -> Result<Anon> {
        let refused = |source| Error::io("reserve memory", format!("{bytes} bytes"), source);
        let size = whole_pages(bytes).ok_or_else(|| refused(io::ErrorKind::OutOfMemory.into()))?;
        match allocate(size) {
            Ok(base) => Ok(Anon { base, bytes: size }),
            Err(source) => Err(refused(source)),
        }
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Anon {
    fn drop(&mut self) {
        // SAFETY: base and bytes are what `allocate` gave, and no user of them outlives the owner.
        unsafe { release(self.base, self.bytes) }
    }
}

#[cfg(miri)]
fn layout(bytes: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(bytes, system_page()).expect("checked by whole_pages")
}

#[cfg(miri)]
fn allocate(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: whole_pages never gives zero bytes.
    let base = unsafe { std::alloc::alloc_zeroed(layout(bytes)) };
    NonNull::new(base).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// # Safety
/// The range came from `allocate` and is not used afterwards.
#[cfg(miri)]
unsafe fn release(base: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(base.as_ptr(), layout(bytes)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_reservation_is_an_error() {
        assert!(matches!(Anon::reserve(u64::MAX), Err(Error::Io(_))));
    }

    #[test]
    fn whole_pages_rounds_up() {
        let page = system_page();
        assert_eq!(whole_pages(0), Some(page));
        assert_eq!(whole_pages(page as u64), Some(page));
        assert_eq!(whole_pages(page as u64 + 1), Some(2 * page));
        assert_eq!(whole_pages(u64::MAX), None);
    }
}
