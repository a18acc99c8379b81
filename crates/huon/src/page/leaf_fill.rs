//! Leaves: filling one with records that come in key order.
//!
//! The cells are collected as a packed page has them, one behind the other, and go to the page all
//! at once. What the keys share, and so the heads of the slots, is known only then. ([`LeafMut`]
//! finds the heads of all slots anew whenever a record makes the prefix shorter, and what it
//! appends is packed when the page is written.)
//!
//! [`LeafMut`]: super::LeafMut

use super::header::{self, HEADER_BYTES};
use super::leaf::{PayloadKind, SLOT_BYTES, TAG_BYTES, leaf_cell_bytes, tag};
use super::order::KeyOrder;
use super::probe::slot;
use crate::alloc::{Reserved, TryGrow};

/// The records of a leaf that is being filled.
#[derive(Default)]
pub(crate) struct LeafFill {
    page_bytes: usize,
    cells: Vec<u8>,
    /// Where each cell begins, and the length of its key.
    slots: Vec<(usize, usize)>,
}

impl LeafFill {
    /// Begins a leaf.
    pub(crate) fn begin(&mut self, page_bytes: usize) -> Reserved<()> {
        self.cells.clear();
        self.slots.clear();
        self.page_bytes = page_bytes;
        self.cells.try_reserve_exact(page_bytes)
    }

    /// Adds the next record. False: it does not fit.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], kind: PayloadKind, payload: &[u8]) -> Reserved<bool> {
        let begins = self.cells.len();
        let taken = HEADER_BYTES + SLOT_BYTES * self.slots.len() + begins;
        if taken + leaf_cell_bytes(key.len(), payload.len()) > self.page_bytes {
            return Ok(false);
        }
        self.slots.try_push((begins, key.len()))?;
        self.cells.extend_from_slice(&tag(kind, payload.len()));
        self.cells.extend_from_slice(key);
        self.cells.extend_from_slice(payload);
        Ok(true)
    }

    /// Makes the leaf in `page` hold these records and no others.
    pub(crate) fn write<O: KeyOrder>(&self, order: O, page: &mut [u8]) {
        let key =
            |&(begins, key_bytes): &(usize, usize)| &self.cells[begins + TAG_BYTES..][..key_bytes];
        let (Some(first), Some(last)) = (self.slots.first(), self.slots.last()) else { return };
        let prefix_bytes = order.common(key(first), key(last));
        let heap_from = page.len() - self.cells.len();
        let (front, heap) = page.split_at_mut(heap_from);
        heap.copy_from_slice(&self.cells);
        let (table, free) = front[HEADER_BYTES..].split_at_mut(SLOT_BYTES * self.slots.len());
        for (to, from) in table.as_chunks_mut().0.iter_mut().zip(&self.slots) {
            *to = slot(order.head(key(from), prefix_bytes), heap_from + from.0, from.1);
        }
        free.fill(0);
        header::set_count(page, self.slots.len());
        header::set_heap_bytes(page, self.cells.len());
        header::set_dead_bytes(page, 0);
        header::set_prefix_bytes(page, prefix_bytes);
        header::set_edited(page, false);
        header::note_row(page, self.slots.len());
    }
}
