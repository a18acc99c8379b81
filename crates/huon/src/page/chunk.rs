//! Free-space chunk pages.
use super::types::{Ptr, Reason};

pub(crate) const ITEM_BYTES: usize = 24;

/// A retired run of pages, or (pages == 0) a chain of chunk pages that begins at (pgno, birth) and
/// belongs to the snapshot `freed` (0: none).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Item {
    pub(crate) pgno: u32,
    pub(crate) pages: u32,
    pub(crate) birth: u64,
    pub(crate) freed: u64,
}

impl Item {
    pub(crate) fn is_chain(&self) -> bool {
        self.pages == 0
    }
    pub(crate) fn encode(&self) -> [u8; ITEM_BYTES] {
        todo!()
    }
    pub(crate) fn decode(bytes: &[u8; ITEM_BYTES]) -> Result<Item, Reason> {
        todo!()
    }
}

pub(crate) const fn chunk_capacity(page_bytes: usize) -> usize {
    let fit = (page_bytes - 48) / ITEM_BYTES;
    if fit < 78 { fit } else { 78 }
}

/// Writes a whole chunk page (not its checksum).
pub(crate) fn write_chunk(page: &mut [u8], ptr: Ptr, next: Ptr, items: &[Item]) {
    todo!()
}

#[derive(Clone, Copy)]
pub(crate) struct Chunk<'p> {
    next: Ptr,
    items: &'p [[u8; ITEM_BYTES]],
}

impl<'p> Chunk<'p> {
    /// `count` is what `header::admit` returned (kind Chunk, level 0).
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<Chunk<'p>, Reason> {
        todo!()
    }
    pub(crate) fn next(&self) -> Ptr {
        self.next
    }
    pub(crate) fn count(&self) -> usize {
        self.items.len()
    }
    pub(crate) fn item(&self, i: usize) -> Result<Item, Reason> {
        Item::decode(self.items.get(i).ok_or(Reason::Count)?)
    }
    pub(crate) fn items(self) -> impl Iterator<Item = Result<Item, Reason>> + 'p {
        self.items.iter().map(Item::decode)
    }
}
