//! Free-space chunk pages: older parts of the queue of retired pages, sealed like any page.
//!
//! ```text
//! header | 12 bytes pointer to the next chunk, 4 zero | items, 24 bytes each
//! item:  u32 pgno, u32 pages (bit 31: pages without headers), u64 birth, u64 freed
//! ```
//!
//! 1. An item with `pages == 0` is a chain: `(pgno, birth)` is its first chunk page and `freed` the
//!    snapshot that owns it (0: none). Every other item is a run of pages of one birth, freed
//!    together; birth and freed are 0 if no snapshot lies between them.
//! 2. No item names page 0, and no run passes the largest page number.
//!
//! Which items may be reused is decided above.

use super::header::{self, HEADER_BYTES};
use super::types::{Kind, Pgno, Ptr, Reason, Txnid};

/// Bytes of an encoded [`Item`].
pub(crate) const ITEM_BYTES: usize = 24;

/// Where the items begin.
pub(super) const ITEMS_START: usize = HEADER_BYTES + 16;
const ITEMS_MAX: usize = 78;

/// Retired pages, or a chain of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Item {
    pub(crate) pgno: u32,
    pub(crate) pages: u32,
    pub(crate) birth: u64,
    pub(crate) freed: u64,
}

/// Marks an item whose pages carry no headers: a large value.
const HEADERLESS: u32 = 1 << 31;

impl Item {
    /// Whether the item stands for chunk pages, not for retired ones.
    pub(crate) fn is_chain(&self) -> bool {
        self.pages == 0
    }

    /// The first page, with its birth.
    pub(crate) fn ptr(&self) -> Ptr {
        Ptr { pgno: Pgno(self.pgno), birth: Txnid(self.birth) }
    }

    pub(crate) fn encode(&self) -> [u8; ITEM_BYTES] {
        let mut out = [0; ITEM_BYTES];
        out[..4].copy_from_slice(&self.pgno.to_le_bytes());
        out[4..8].copy_from_slice(&self.pages.to_le_bytes());
        out[8..16].copy_from_slice(&self.birth.to_le_bytes());
        out[16..].copy_from_slice(&self.freed.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; ITEM_BYTES]) -> Result<Item, Reason> {
        let words = bytes.as_chunks::<8>().0;
        let [first, birth, freed] = [0, 1, 2].map(|i| u64::from_le_bytes(words[i]));
        let item = Item { pgno: first as u32, pages: (first >> 32) as u32, birth, freed };
        if item.is_sound() { Ok(item) } else { Err(Reason::Space) }
    }

    pub(super) fn is_sound(&self) -> bool {
        let bounded = self.pgno.checked_add(self.page_count()).is_some();
        (self.pgno != 0) & bounded & (self.pages != HEADERLESS)
    }

    pub(crate) fn run(pgno: Pgno, pages: u32, birth: Txnid, freed: Txnid, node: bool) -> Item {
        let mark = if node { 0 } else { HEADERLESS };
        Item { pgno: pgno.0, pages: pages | mark, birth: birth.0, freed: freed.0 }
    }

    /// Pages that any writer may take: no snapshot lies between birth and end.
    pub(crate) fn free(pgno: Pgno, pages: u32) -> Item {
        Item { pgno: pgno.0, pages, birth: 0, freed: 0 }
    }

    /// Whether it says just that: no reader can retain it.
    pub(crate) fn is_free(&self) -> bool {
        self.freed == 0 && !self.is_chain()
    }

    pub(crate) fn chain(first: Ptr, owner: Txnid) -> Item {
        Item { pgno: first.pgno.0, pages: 0, birth: first.birth.0, freed: owner.0 }
    }

    /// How many pages the item itself stands for; a chain stands for its first chunk page.
    pub(crate) fn page_count(&self) -> u32 {
        (self.pages & !HEADERLESS).max(1)
    }

    /// Whether the pages carry headers that still name the transaction that wrote them.
    pub(crate) fn has_headers(&self) -> bool {
        self.pages & HEADERLESS == 0 && self.birth != 0
    }

    /// Leaves only the first `pages` pages.
    pub(crate) fn cut_to(&mut self, pages: u32) {
        self.pages = pages | self.pages & HEADERLESS;
    }

    /// Takes in the item that follows if the two share one life and lie side by side.
    pub(crate) fn absorb(&mut self, next: &Item) -> bool {
        let alike = |item: &Item| (item.birth, item.freed, item.pages & HEADERLESS);
        let joins = !self.is_chain()
            && !next.is_chain()
            && alike(self) == alike(next)
            && self.pgno + self.page_count() == next.pgno
            && self.page_count() + next.page_count() < HEADERLESS;
        self.pages += if joins { next.page_count() } else { 0 };
        joins
    }
}

/// How many items a chunk page holds at most.
pub(crate) const fn chunk_capacity(page_bytes: usize) -> usize {
    let fit = (page_bytes - ITEMS_START) / ITEM_BYTES;
    if fit < ITEMS_MAX { fit } else { ITEMS_MAX }
}

/// Makes the page a chunk. The checksum is not set.
pub(crate) fn write_chunk(page: &mut [u8], ptr: Ptr, next: Ptr, items: &[Item]) {
    assert!(items.len() <= chunk_capacity(page.len()), "write_chunk: too many items");
    header::init(page, ptr, Kind::Chunk, 0);
    header::set_count(page, items.len());
    page[HEADER_BYTES..HEADER_BYTES + Ptr::BYTES].copy_from_slice(&next.encode());
    let places = page[ITEMS_START..].as_chunks_mut::<ITEM_BYTES>().0;
    for (item, place) in items.iter().zip(places) {
        assert!(item.is_sound(), "write_chunk: an item that would not be believed");
        *place = item.encode();
    }
}

/// A chunk page.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'p> {
    next: Ptr,
    items: &'p [[u8; ITEM_BYTES]],
}

impl<'p> Chunk<'p> {
    /// The chunk in `page`; `count` is what [`header::admit`] returned.
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<Chunk<'p>, Reason> {
        let next = page.get(HEADER_BYTES..).and_then(|rest| rest.first_chunk());
        let items = page.get(ITEMS_START..).and_then(|rest| rest.as_chunks().0.get(..count));
        match (next, items) {
            (Some(next), Some(items)) if count <= ITEMS_MAX => {
                Ok(Chunk { next: Ptr::decode(next), items })
            }
            _ => Err(Reason::Count),
        }
    }

    /// The chunk that follows, or none.
    pub(crate) fn next(&self) -> Ptr {
        self.next
    }

    /// Items of the chunk.
    pub(crate) fn count(&self) -> usize {
        self.items.len()
    }

    /// Bytes of the pointer and the items.
    pub(crate) fn live_bytes(&self) -> usize {
        ITEMS_START - HEADER_BYTES + self.items.len() * ITEM_BYTES
    }

    #[cfg(test)]
    pub(crate) fn item(&self, i: usize) -> Result<Item, Reason> {
        Item::decode(self.items.get(i).ok_or(Reason::Count)?)
    }

    pub(crate) fn items(self) -> impl Iterator<Item = Result<Item, Reason>> + 'p {
        self.items.iter().map(Item::decode)
    }
}
