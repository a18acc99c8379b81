//! Leaves: editing a page that this transaction level buffers.
//!
//! 1. After every call the page is a valid leaf, unless the page was damaged before (`Err`).
//! 2. The prefix only shrinks while a page is edited; packing makes it as long as it can be.
//! 3. `heap_bytes` and `dead_bytes` stay exact, so whether something fits is known without a walk.
//! 4. A page that is not marked as edited is packed, and stays so as long as records come and go in
//!    its middle: a page that a transaction changes once need not be packed for that. A writer that
//!    appends adds many, and packs once. (The flag is never trusted that a page is packed: see
//!    `parts_at`.)
//!
//! Nothing here knows of splits: what does not fit is refused, and the page is unchanged.

use std::ops::Range;

use super::header::{self, HEADER_BYTES};
use super::leaf::{
    Cell, PayloadKind, SLOT_BYTES, SlottedLeaf, TAG_BYTES, audit_heap, leaf_cell_bytes, tag,
};
use super::limits::key_bytes_max;
use super::order::KeyOrder;
use super::probe::{SlotBytes, slot};
use super::types::{Kind, Ptr, Reason};
use crate::alloc::copied;
use crate::planted::{self, Bug};

/// Which half of a slot says where its cell begins.
const OFFSET_HALF: usize = 2;

/// A leaf that may be edited.
pub(crate) struct LeafMut<'p> {
    page: &'p mut [u8],
}

impl<'p> LeafMut<'p> {
    /// Makes the page an empty leaf.
    pub(crate) fn init(page: &'p mut [u8], ptr: Ptr) -> LeafMut<'p> {
        header::init(page, ptr, Kind::Leaf, 0);
        LeafMut { page }
    }

    /// A leaf whose header was admitted when it was read.
    #[inline]
    pub(crate) fn view(page: &'p mut [u8]) -> Result<LeafMut<'p>, Reason> {
        audit_heap(page, SLOT_BYTES * header::count(page))?;
        Ok(LeafMut { page })
    }

    #[inline]
    pub(crate) fn as_leaf(&self) -> SlottedLeaf<'_> {
        SlottedLeaf::view(self.page, header::count(self.page)).expect("slots were bounded by view")
    }

    /// Inserts a record before slot `index`. False: it does not fit, and nothing changed.
    pub(crate) fn insert<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<bool, Reason> {
        let place = self.insert_reserve(order, index, key, kind, payload.len())?;
        Ok(place.map(|place| place.copy_from_slice(payload)).is_some())
    }

    /// As [`LeafMut::insert`]; the payload holds arbitrary bytes until the caller fills it.
    pub(crate) fn insert_reserve<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        key: &[u8],
        kind: PayloadKind,
        payload_bytes: usize,
    ) -> Result<Option<&mut [u8]>, Reason> {
        let count = header::count(self.page);
        assert!(index <= count, "insert: no such place");
        assert!(key.len() <= key_bytes_max(self.page.len()), "insert: key too long");
        if payload_bytes >= self.page.len() {
            return Ok(None);
        }
        if !self.make_gap(order, leaf_cell_bytes(key.len(), payload_bytes))? {
            return Ok(None);
        }
        self.share_prefix(order, index, key)?;
        let bytes = TAG_BYTES + key.len() + payload_bytes;
        let offset = match self.parts_at(index) {
            Some(end) => self.open(index, end, bytes),
            None => self.new_cell(bytes),
        };
        if index < count {
            let ((at, next), (table_end, _)) = (self.slot_place(index), self.slot_place(count));
            self.page.copy_within(at..table_end, next);
        }
        header::set_count(self.page, count + 1);
        header::note_insert(self.page, index);
        let head = order.head(key, header::prefix_bytes(self.page));
        self.set_slot(index, head, offset, key.len());
        self.page[offset + TAG_BYTES..][..key.len()].copy_from_slice(key);
        Ok(Some(self.set_tag(offset, key.len(), kind, payload_bytes)))
    }

    /// Adds a record behind all others; its slot. `None`, and nothing changed: its key is not above
    /// theirs, or there is more to do, since it lacks their prefix, or the gap is too small.
    #[inline]
    pub(crate) fn push<O: KeyOrder>(
        &mut self,
        order: O,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<Option<usize>, Reason> {
        let bytes = leaf_cell_bytes(key.len(), payload.len());
        if bytes > self.gap() || !self.as_leaf().goes_on_with(order, key)? {
            return Ok(None);
        }
        let (count, prefix_bytes) = (header::count(self.page), header::prefix_bytes(self.page));
        let offset = self.new_cell(bytes - SLOT_BYTES);
        header::set_count(self.page, count + 1);
        header::note_insert(self.page, count);
        self.set_slot(count, order.head(key, prefix_bytes), offset, key.len());
        let cell = &mut self.page[offset + TAG_BYTES..][..key.len() + payload.len()];
        cell[..key.len()].copy_from_slice(key);
        cell[key.len()..].copy_from_slice(payload);
        self.set_tag(offset, key.len(), kind, payload.len());
        Ok(Some(count))
    }

    /// Removes the record of slot `index`.
    pub(crate) fn remove(&mut self, index: usize) -> Result<(), Reason> {
        let count = header::count(self.page);
        assert!(index < count, "remove: no such slot");
        let (offset, cell) = self.cell(index)?;
        let bytes = cell.bytes();
        match self.parts_at(index) {
            Some(end) => self.close(index, end, bytes),
            None => self.kill(offset, bytes)?,
        }
        let (at, next) = self.slot_place(index);
        let (table_end, _) = self.slot_place(count);
        self.page.copy_within(next..table_end, at);
        self.page[table_end - SLOT_BYTES..table_end].fill(0);
        header::set_count(self.page, count - 1);
        header::forget_inserts_from(self.page, index);
        if count == 1 {
            header::set_heap_bytes(self.page, 0);
            header::set_dead_bytes(self.page, 0);
            header::set_prefix_bytes(self.page, 0);
        }
        Ok(())
    }

    /// Removes the records of several slots.
    pub(crate) fn remove_range(&mut self, slots: Range<usize>) -> Result<(), Reason> {
        if slots.len() > 1 {
            // Else all that lies before would be moved for each of them.
            header::set_edited(self.page, true);
        }
        slots.rev().try_for_each(|index| self.remove(index))
    }

    /// Gives the record another payload. False: it does not fit, and nothing changed.
    pub(crate) fn replace<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<bool, Reason> {
        let place = self.replace_reserve(order, index, kind, payload.len())?;
        Ok(place.map(|place| place.copy_from_slice(payload)).is_some())
    }

    /// As [`LeafMut::replace`]; the payload holds arbitrary bytes until the caller fills it.
    pub(crate) fn replace_reserve<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        kind: PayloadKind,
        payload_bytes: usize,
    ) -> Result<Option<&mut [u8]>, Reason> {
        let (offset, cell) = self.cell(index)?;
        let (key_bytes, old_bytes, old_payload) =
            (cell.key.len(), cell.bytes(), cell.payload.len());
        if payload_bytes <= old_payload {
            let shorter = old_payload - payload_bytes;
            if shorter != 0 {
                self.bury(shorter)?;
            }
            return Ok(Some(self.set_tag(offset, key_bytes, kind, payload_bytes)));
        }
        if payload_bytes >= self.page.len() {
            return Ok(None);
        }
        let bytes = TAG_BYTES + key_bytes + payload_bytes;
        let gap = self.gap();
        if bytes <= gap {
            self.bury(old_bytes)?;
            let fresh = self.new_cell(bytes);
            let from = offset + TAG_BYTES;
            self.page.copy_within(from..from + key_bytes, fresh + TAG_BYTES);
            let (at, _) = self.slot_place(index);
            self.page[at + 4..at + 6].copy_from_slice(&(fresh as u16).to_le_bytes());
            return Ok(Some(self.set_tag(fresh, key_bytes, kind, payload_bytes)));
        }
        if bytes > gap + header::dead_bytes(self.page) + old_bytes {
            return Ok(None);
        }
        let key = copied(cell.key)?;
        self.remove(index)?;
        match self.insert_reserve(order, index, &key, kind, payload_bytes)? {
            None => Err(Reason::Cell),
            place => Ok(place),
        }
    }

    /// Opens `bytes` bytes in the payload of slot `index` before its byte `at`, which hold anything
    /// until the caller fills them; the payload. `None`: they do not fit, and nothing changed.
    ///
    /// The rest of the payload stays where it is; all that lies before it in the heap moves, so
    /// that nothing is left dead and a packed page stays packed.
    pub(crate) fn widen<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        kind: PayloadKind,
        (at, bytes): (usize, usize),
    ) -> Result<Option<&mut [u8]>, Reason> {
        if !self.make_gap(order, bytes)? {
            return Ok(None);
        }
        let (offset, cell) = self.cell(index)?;
        let (key_bytes, payload_bytes) = (cell.key.len(), cell.payload.len());
        if at > payload_bytes {
            return Err(Reason::Cell);
        }
        let start = self.page.len() - header::heap_bytes(self.page);
        let place = offset + TAG_BYTES + key_bytes + at;
        self.page.copy_within(start..place, start - bytes);
        self.move_cells(start, offset, bytes);
        header::set_heap_bytes(self.page, header::heap_bytes(self.page) + bytes);
        Ok(Some(self.set_tag(offset - bytes, key_bytes, kind, payload_bytes + bytes)))
    }

    /// The payload of slot `index`, to be changed in place.
    pub(crate) fn payload_mut(&mut self, index: usize) -> Result<&mut [u8], Reason> {
        let (offset, cell) = self.cell(index)?;
        let (key_bytes, bytes) = (cell.key.len(), cell.payload.len());
        Ok(&mut self.page[offset + TAG_BYTES + key_bytes..][..bytes])
    }

    /// A cell that may be edited: one inside the heap, with its offset.
    fn cell(&self, index: usize) -> Result<(usize, Cell<'_>), Reason> {
        let leaf = self.as_leaf();
        let (offset, cell) = (leaf.offset(index), leaf.cell(index)?);
        if offset < self.page.len() - header::heap_bytes(self.page) {
            return Err(Reason::Cell);
        }
        Ok((offset, cell))
    }

    /// Makes the gap between slots and heap hold so many bytes; whether they fit the page.
    fn make_gap<O: KeyOrder>(&mut self, order: O, bytes: usize) -> Result<bool, Reason> {
        if bytes <= self.gap() {
            return Ok(true);
        }
        if bytes > self.gap() + header::dead_bytes(self.page) {
            return Ok(false);
        }
        self.compact(order)?;
        if bytes <= self.gap() { Ok(true) } else { Err(Reason::Cell) }
    }

    /// Bytes between slots and heap.
    #[inline]
    fn gap(&self) -> usize {
        let table = HEADER_BYTES + SLOT_BYTES * header::count(self.page);
        self.page.len() - table - header::heap_bytes(self.page)
    }

    /// Where slot `index` begins and ends.
    #[inline]
    fn slot_place(&self, index: usize) -> (usize, usize) {
        let at = HEADER_BYTES + SLOT_BYTES * index;
        (at, at + SLOT_BYTES)
    }

    #[inline]
    fn set_slot(&mut self, index: usize, head: u32, offset: usize, key_bytes: usize) {
        let (at, end) = self.slot_place(index);
        self.page[at..end].copy_from_slice(&slot(head, offset, key_bytes));
    }

    /// Writes the tag of a cell; returns its payload.
    #[inline]
    fn set_tag(
        &mut self,
        offset: usize,
        key_bytes: usize,
        kind: PayloadKind,
        payload_bytes: usize,
    ) -> &mut [u8] {
        let (front, rest) = self.page[offset..].split_at_mut(TAG_BYTES);
        front.copy_from_slice(&tag(kind, payload_bytes));
        &mut rest[key_bytes..key_bytes + payload_bytes]
    }

    /// Where the cell of slot `index` begins, if the page is marked as packed and the cells of the
    /// slots before are those that lie before. Costs a look at each slot.
    fn parts_at(&self, index: usize) -> Option<usize> {
        if header::is_edited(self.page) || index >= header::count(self.page) {
            return None;
        }
        let leaf = self.as_leaf();
        let (start, end) = (self.page.len() - header::heap_bytes(self.page), leaf.offset(index));
        let table_end = HEADER_BYTES + SLOT_BYTES * leaf.count();
        let slots = self.page[HEADER_BYTES..table_end].as_chunks().0;
        let (before, after) = slots.split_at(index);
        let is_inside = (start..self.page.len()).contains(&end);
        let is_packed = || {
            lie_between(before, start, end) && lie_between(after, end, self.page.len())
                || planted::is(Bug::PackedUnchecked)
        };
        (is_inside && is_packed()).then_some(end)
    }

    /// Room for a cell in its place before that of slot `index`, which begins at `end`; where it
    /// begins.
    fn open(&mut self, index: usize, end: usize, bytes: usize) -> usize {
        let start = self.page.len() - header::heap_bytes(self.page);
        self.page.copy_within(start..end, start - bytes);
        self.move_offsets(index, |offset| offset - bytes);
        header::set_heap_bytes(self.page, header::heap_bytes(self.page) + bytes);
        end - bytes
    }

    /// The cell of slot `index`, which begins at `end`, has left.
    fn close(&mut self, index: usize, end: usize, bytes: usize) {
        let start = self.page.len() - header::heap_bytes(self.page);
        self.page.copy_within(start..end, start + bytes);
        self.page[start..start + bytes].fill(0);
        self.move_offsets(index, |offset| offset + bytes);
        header::set_heap_bytes(self.page, header::heap_bytes(self.page) - bytes);
    }

    /// Changes the offsets of all slots before `index`.
    fn move_offsets(&mut self, index: usize, moved: impl Fn(usize) -> usize) {
        let slots = &mut self.page[HEADER_BYTES..HEADER_BYTES + SLOT_BYTES * index];
        for slot in slots.chunks_exact_mut(SLOT_BYTES) {
            let offset = moved(usize::from(u16::from_le_bytes([slot[4], slot[5]])));
            slot[4..6].copy_from_slice(&(offset as u16).to_le_bytes());
        }
    }

    /// The cells from `first` to the one at `last` have moved so many bytes forward. Costs a look
    /// at each slot, with neither branch nor comparison, so that compilers take several at once.
    fn move_cells(&mut self, first: usize, last: usize, bytes: usize) {
        const OFFSET_SHIFT: u32 = 32;
        let table_end = HEADER_BYTES + SLOT_BYTES * header::count(self.page);
        let (first, span, step) = (first as u64, (last - first) as u64, bytes as u64);
        for slot in self.page[HEADER_BYTES..table_end].as_chunks_mut::<SLOT_BYTES>().0 {
            let word = u64::from_le_bytes(*slot);
            let above_first = (word >> OFFSET_SHIFT & 0xFFFF).wrapping_sub(first);
            // The highest bit says that one of the differences is negative.
            let stays = (above_first | span.wrapping_sub(above_first)) >> 63;
            let moved = stays.wrapping_sub(1) & step << OFFSET_SHIFT;
            *slot = (word - moved).to_le_bytes();
        }
    }

    /// Takes bytes from the gap for a cell; returns where it begins.
    #[inline]
    fn new_cell(&mut self, bytes: usize) -> usize {
        let heap = header::heap_bytes(self.page) + bytes;
        header::set_heap_bytes(self.page, heap);
        header::set_edited(self.page, true);
        self.page.len() - heap
    }

    /// Gives the bytes of a cell back: to the gap if it is the lowest, else as dead bytes.
    fn kill(&mut self, offset: usize, bytes: usize) -> Result<(), Reason> {
        let heap = header::heap_bytes(self.page);
        let lowest = offset == self.page.len() - heap;
        if lowest && header::dead_bytes(self.page) + bytes <= heap {
            header::set_heap_bytes(self.page, heap - bytes);
            header::set_edited(self.page, true);
            return Ok(());
        }
        self.bury(bytes)
    }

    /// Counts bytes of the heap as dead.
    fn bury(&mut self, bytes: usize) -> Result<(), Reason> {
        let dead = header::dead_bytes(self.page) + bytes;
        if dead > header::heap_bytes(self.page) {
            return Err(Reason::Cell);
        }
        header::set_dead_bytes(self.page, dead);
        header::set_edited(self.page, true);
        Ok(())
    }

    /// Makes the page's prefix one that `key` has, too, which goes before slot `index`. Any record
    /// shows the prefix: the search for the place has looked at the one there.
    fn share_prefix<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        key: &[u8],
    ) -> Result<(), Reason> {
        let count = header::count(self.page);
        if count == 0 {
            let prefix_bytes = if order.has_heads() { key.len() } else { 0 };
            header::set_prefix_bytes(self.page, prefix_bytes);
            return Ok(());
        }
        let prefix_bytes = header::prefix_bytes(self.page);
        let leaf = self.as_leaf();
        let shared = order.lead(leaf.key(index.min(count - 1))?, prefix_bytes);
        if order.lead(key, prefix_bytes) == shared {
            return Ok(());
        }
        let common = order.common(key, shared);
        header::set_prefix_bytes(self.page, common);
        for i in 0..count {
            let head = order.head(self.as_leaf().key(i)?, common);
            let (at, _) = self.slot_place(i);
            self.page[at..at + 4].copy_from_slice(&head.to_le_bytes());
        }
        Ok(())
    }

    fn compact<O: KeyOrder>(&mut self, order: O) -> Result<(), Reason> {
        let copy = copied(self.page)?;
        let leaf = SlottedLeaf::view(&copy, header::count(&copy))?;
        pack_cells(order, self.page, &[leaf])?;
        header::set_edited(self.page, true);
        Ok(())
    }
}

/// Whether the cells of these slots begin between two places, of which the second is not the lower
/// one. All four halves of a slot are looked at, at once, and what the others give is not.
fn lie_between(slots: &[SlotBytes], from: usize, until: usize) -> bool {
    let Some(last) = (until - from).checked_sub(1) else { return slots.is_empty() };
    let (from, last) = (from as u16, last as u16);
    let mut beyond = [0; 4];
    for slot in slots {
        for (beyond, half) in beyond.iter_mut().zip(slot.as_chunks().0) {
            *beyond |= u16::from_le_bytes(*half).wrapping_sub(from).saturating_sub(last);
        }
    }
    beyond[OFFSET_HALF] == 0
}

/// Fills a leaf whose header names it with the records of `parts`, in their order: packed, with the
/// best prefix, free bytes zero. The caller knows that they fit; if not, the page they came from is
/// damaged.
pub(super) fn pack_cells<O: KeyOrder>(
    order: O,
    out: &mut [u8],
    parts: &[SlottedLeaf<'_>],
) -> Result<(), Reason> {
    let count = parts.iter().map(SlottedLeaf::count).sum();
    let prefix_bytes = best_prefix(order, parts)?;
    let table_end = HEADER_BYTES + SLOT_BYTES * count;
    let (mut top, mut slot_at) = (out.len(), table_end);
    for part in parts.iter().rev() {
        for i in (0..part.count()).rev() {
            let cell = part.cell(i)?;
            let bytes = cell.bytes();
            match top.checked_sub(bytes) {
                Some(below) if below >= table_end => top = below,
                _ => return Err(Reason::Cell),
            }
            out[top..top + bytes].copy_from_slice(part.cell_bytes(i, bytes));
            slot_at -= SLOT_BYTES;
            let head = order.head(cell.key, prefix_bytes);
            out[slot_at..slot_at + SLOT_BYTES].copy_from_slice(&slot(head, top, cell.key.len()));
        }
    }
    out[table_end..top].fill(0);
    header::set_count(out, count);
    header::set_heap_bytes(out, out.len() - top);
    header::set_dead_bytes(out, 0);
    header::set_prefix_bytes(out, prefix_bytes);
    header::set_edited(out, false);
    Ok(())
}

/// What the first and the last key share, all keys between share.
fn best_prefix<O: KeyOrder>(order: O, parts: &[SlottedLeaf<'_>]) -> Result<usize, Reason> {
    let mut filled = parts.iter().filter(|part| part.count() != 0);
    let Some(first) = filled.next() else { return Ok(0) };
    let last = filled.next_back().unwrap_or(first);
    Ok(order.common(first.key(0)?, last.key(last.count() - 1)?))
}
