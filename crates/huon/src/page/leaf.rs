//! Leaves: reading.
//!
//! ```text
//! header | slots, 8 bytes each | free | heap of cells, to the end of the page
//! slot:  u32 head, u16 offset of the cell in the page, u16 key_bytes
//! cell:  u32 tag = kind << 28 | payload_bytes, key, payload
//! ```
//!
//! 1. Slots are in key order; the cell of slot 0 lies lowest in a packed page.
//! 2. All keys share their first `prefix_bytes` bytes in key order (perhaps more), and the head of
//!    a slot holds the four bytes behind them. Keys stay whole in their cells.
//! 3. Every offset and length is checked before use; [`SlottedLeaf::audit`] checks what reading can
//!    do without.
//!
//! The layers above know what a payload means (a run, a tree record).

use super::compare::are_same;
use super::header::{self, HEADER_BYTES};
use super::limits::key_bytes_max;
use super::order::KeyOrder;
use super::probe::{
    Probe, SlotBytes, Tie, seek, seek_between, seek_steadily, slot_head, slot_key_bytes,
    slot_offset,
};
use super::types::Reason;
use crate::planted::{self, Bug};
use std::cmp::Ordering;

/// What the payload of a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum PayloadKind {
    /// The value itself.
    Inline = 0,
    /// A tree record: a table.
    Table = 1,
    /// The reference to a large value.
    Run = 2,
    /// Several values of a multimap's key.
    DuplicateSet = 3,
    /// The record of a tree of such values.
    DuplicateTree = 4,
}

impl PayloadKind {
    #[inline(always)]
    fn decode(number: u32) -> Option<PayloadKind> {
        Some(match number {
            0 => PayloadKind::Inline,
            1 => PayloadKind::Table,
            2 => PayloadKind::Run,
            3 => PayloadKind::DuplicateSet,
            4 => PayloadKind::DuplicateTree,
            _ => return None,
        })
    }
}

/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = 8;
/// Bytes of the tag before the key.
pub(super) const TAG_BYTES: usize = 4;
const KIND_SHIFT: u32 = 28;

/// Bytes that a record takes in a leaf: its slot and its cell.
pub(crate) const fn leaf_cell_bytes(key_bytes: usize, payload_bytes: usize) -> usize {
    SLOT_BYTES + TAG_BYTES + key_bytes + payload_bytes
}

#[inline]
pub(super) fn tag(kind: PayloadKind, payload_bytes: usize) -> [u8; TAG_BYTES] {
    debug_assert!(payload_bytes < 1 << KIND_SHIFT);
    ((kind as u32) << KIND_SHIFT | payload_bytes as u32).to_le_bytes()
}

/// Bytes of the payload of a cell with this tag.
#[inline(always)]
pub(super) fn payload_bytes_of(tag: [u8; TAG_BYTES]) -> usize {
    (u32::from_le_bytes(tag) & ((1 << KIND_SHIFT) - 1)) as usize
}

/// A record of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell<'p> {
    pub(crate) key: &'p [u8],
    pub(crate) kind: PayloadKind,
    pub(crate) payload: &'p [u8],
}

impl Cell<'_> {
    /// Bytes of the cell in the heap.
    pub(super) fn bytes(&self) -> usize {
        TAG_BYTES + self.key.len() + self.payload.len()
    }
}

/// A leaf, or some consecutive slots of one.
#[derive(Clone, Copy)]
pub(crate) struct SlottedLeaf<'p> {
    page: &'p [u8],
    slots: &'p [SlotBytes],
}

impl<'p> SlottedLeaf<'p> {
    /// No slots of no page.
    pub(crate) const NONE: SlottedLeaf<'static> = SlottedLeaf { page: &[], slots: &[] };

    /// The leaf in `page`; `count` is what [`header::admit`] returned.
    #[inline(always)]
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<SlottedLeaf<'p>, Reason> {
        match page.get(HEADER_BYTES..).and_then(|rest| rest.as_chunks().0.get(..count)) {
            Some(slots) => Ok(SlottedLeaf { page, slots }),
            None => Err(Reason::Count),
        }
    }

    /// Records of the leaf.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    pub(crate) fn prefix_bytes(&self) -> usize {
        header::prefix_bytes(self.page)
    }

    /// Whether a record for slot `index` would go on with a row of inserts; see
    /// [`header::goes_on_at`].
    pub(super) fn goes_on_at(&self, index: usize) -> bool {
        header::goes_on_at(self.page, index)
    }

    /// Bytes that slots and cells may take.
    pub(super) fn room(&self) -> usize {
        self.page.len() - HEADER_BYTES
    }

    /// The same leaf without the slots before `from` and from `to` on.
    pub(super) fn part(self, from: usize, to: usize) -> SlottedLeaf<'p> {
        SlottedLeaf { page: self.page, slots: &self.slots[from..to] }
    }

    /// As [`SlottedLeaf::part`]; `None` if there are no such slots.
    #[inline]
    pub(crate) fn slice(self, from: usize, until: usize) -> Option<SlottedLeaf<'p>> {
        Some(SlottedLeaf { page: self.page, slots: self.slots.get(from..until)? })
    }

    /// The slots before `i`, and those from `i` on.
    pub(crate) fn split_at(self, i: usize) -> (SlottedLeaf<'p>, SlottedLeaf<'p>) {
        (self.part(0, i), self.part(i, self.slots.len()))
    }

    /// Takes off the first slot; its record.
    #[inline(always)]
    pub(crate) fn take_first(&mut self) -> Option<Result<Cell<'p>, Reason>> {
        let (slot, rest) = self.slots.split_first()?;
        self.slots = rest;
        Some(self.cell_of(slot))
    }

    /// Takes off the last slot; its record.
    #[inline(always)]
    pub(crate) fn take_last(&mut self) -> Option<Result<Cell<'p>, Reason>> {
        let (slot, rest) = self.slots.split_last()?;
        self.slots = rest;
        Some(self.cell_of(slot))
    }

    /// Panics if there is no such slot: an internal mistake.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> Result<&'p [u8], Reason> {
        self.key_of(&self.slots[i])
    }

    #[inline(always)]
    fn key_of(&self, slot: &SlotBytes) -> Result<&'p [u8], Reason> {
        let key = self.page.get(slot_offset(slot) + TAG_BYTES..);
        key.and_then(|rest| rest.get(..slot_key_bytes(slot))).ok_or(Reason::Cell)
    }

    /// Whether there are records, all of them below this key, which shares their prefix. Costs a
    /// look at the prefix of the last one, and at the rest of it only where heads are equal.
    #[inline(always)]
    pub(super) fn goes_on_with<O: KeyOrder>(&self, order: O, key: &[u8]) -> Result<bool, Reason> {
        let Some(slot) = self.slots.last() else { return Ok(false) };
        let (last, prefix_bytes) = (self.key_of(slot)?, self.prefix_bytes());
        if !are_same(order.lead(key, prefix_bytes), order.lead(last, prefix_bytes)) {
            return Ok(false);
        }
        Ok(match order.head(key, prefix_bytes).cmp(&slot_head(slot)) {
            Ordering::Equal => order.compare(last, key) == Ordering::Less,
            heads => heads == Ordering::Greater,
        })
    }

    /// Panics if there is no such slot: an internal mistake.
    #[inline]
    pub(crate) fn cell(&self, i: usize) -> Result<Cell<'p>, Reason> {
        self.cell_of(&self.slots[i])
    }

    /// Whether record `i` is a table's; one that is damaged is not. Panics if there is no such
    /// slot: an internal mistake. Costs a look at the record's tag unless it is.
    #[inline]
    pub(crate) fn is_table(&self, i: usize) -> bool {
        let tag = self.page.get(slot_offset(&self.slots[i])..).and_then(|cell| cell.first_chunk());
        tag.is_some_and(|tag| u32::from_le_bytes(*tag) >> KIND_SHIFT == PayloadKind::Table as u32)
            && self.cell(i).is_ok()
    }

    #[inline(always)]
    fn cell_of(&self, slot: &SlotBytes) -> Result<Cell<'p>, Reason> {
        let key_at = slot_offset(slot) + TAG_BYTES;
        let payload_at = key_at + slot_key_bytes(slot);
        let tag = self.page.get(key_at - TAG_BYTES..key_at).and_then(|tag| tag.first_chunk());
        let Some(tag) = tag else { return Err(Reason::Cell) };
        let mut end = payload_at + payload_bytes_of(*tag);
        if planted::is(Bug::ValueLength) {
            end = end.min(self.page.len());
        }
        // The end first: what lies before it need not be compared then.
        let Some(payload) = self.page.get(payload_at..end) else { return Err(Reason::Cell) };
        let Some(key) = self.page.get(key_at..payload_at) else { return Err(Reason::Cell) };
        let Some(kind) = PayloadKind::decode(u32::from_le_bytes(*tag) >> KIND_SHIFT) else {
            return Err(Reason::CellKind);
        };
        Ok(Cell { key, kind, payload })
    }

    /// All records. Cells of a sound leaf lie apart, so together they have no more bytes than it;
    /// where a hostile one overlaps them until they do, an error is the last item.
    pub(crate) fn cells(self) -> impl Iterator<Item = Result<Cell<'p>, Reason>> {
        let mut room = Some(self.page.len());
        (0..self.count()).map_while(move |i| {
            let left = room?;
            let cell = self.cell(i);
            room = left.checked_sub(cell.map_or(0, |cell| cell.bytes()));
            Some(room.ok_or(Reason::Cell).and(cell))
        })
    }

    /// Where the cell of slot `i` begins.
    pub(super) fn offset(&self, i: usize) -> usize {
        slot_offset(&self.slots[i])
    }

    /// The cell of slot `i`, whose length was checked by [`SlottedLeaf::cell`].
    pub(super) fn cell_bytes(&self, i: usize, bytes: usize) -> &'p [u8] {
        &self.page[self.offset(i)..][..bytes]
    }

    /// The record with exactly that key. An equal key proves that the prefix is shared, so the
    /// prefix is not compared; a key that does not share it finds an arbitrary slot, and is not
    /// equal. Costs a search over the slots and a look at one cell, unless heads are equal.
    #[inline(always)]
    pub(crate) fn get<O: KeyOrder>(
        &self,
        probe: &Probe<'_, O>,
    ) -> Result<Option<Cell<'p>>, Reason> {
        match self.guess(probe) {
            Some(tie) => self.get_at(probe, tie),
            None => Ok(None),
        }
    }

    /// The first half of [`SlottedLeaf::get`]: a slot whose head is the key's.
    #[inline(always)]
    pub(crate) fn guess<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Option<Tie> {
        seek(self.slots, 0, probe.head(self.prefix_bytes())).ok()
    }

    /// The same for lookups side by side: see [`seek_steadily`].
    #[inline]
    pub(crate) fn guess_steadily<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Option<Tie> {
        seek_steadily(self.slots, 0, probe.head(self.prefix_bytes())).ok()
    }

    /// The bytes from where the cell of slot `i` begins. Panics if there is no such slot: an
    /// internal mistake.
    #[inline]
    pub(crate) fn bytes_from(&self, i: usize) -> &'p [u8] {
        self.page.get(slot_offset(&self.slots[i])..).unwrap_or(&[])
    }

    /// The second half of [`SlottedLeaf::get`].
    #[inline(always)]
    pub(crate) fn get_at<O: KeyOrder>(
        &self,
        probe: &Probe<'_, O>,
        tie: Tie,
    ) -> Result<Option<Cell<'p>>, Reason> {
        let cell = self.cell(tie.mid)?;
        if are_same(cell.key, probe.key) {
            return Ok(Some(cell));
        }
        Self::get_tie(self.page, self.slots, probe.order, probe.key, tie)
    }

    #[inline(never)]
    fn get_tie<O: KeyOrder>(
        page: &'p [u8],
        slots: &'p [SlotBytes],
        order: O,
        key: &[u8],
        tie: Tie,
    ) -> Result<Option<Cell<'p>>, Reason> {
        match Self::search_tie(page, slots, order, key, tie)? {
            Ok(i) => SlottedLeaf { page, slots }.cell(i).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Where the key is (`Ok`), or where it would be inserted (`Err`).
    #[inline]
    pub(crate) fn search<O: KeyOrder>(
        &self,
        order: O,
        key: &[u8],
    ) -> Result<Result<usize, usize>, Reason> {
        self.search_probe(&Probe::new(order, key))
    }

    /// As [`SlottedLeaf::search`].
    #[inline]
    pub(crate) fn search_probe<O: KeyOrder>(
        &self,
        probe: &Probe<'_, O>,
    ) -> Result<Result<usize, usize>, Reason> {
        let prefix_bytes = self.prefix_bytes();
        let found = seek(self.slots, 0, probe.head(prefix_bytes));
        if prefix_bytes != 0
            && let Some(last) = self.slots.len().checked_sub(1)
        {
            // Any record shows the prefix: the one that was found is mostly looked at anyway.
            let near = found.map_or_else(|place| place.min(last), |tie| tie.mid);
            let (order, key) = (probe.order, probe.key);
            let shared = order.lead(self.key(near)?, prefix_bytes);
            match order.compare(order.lead(key, prefix_bytes), shared) {
                Ordering::Less => return Ok(Err(0)),
                Ordering::Greater => return Ok(Err(self.slots.len())),
                Ordering::Equal => {}
            }
        }
        match found {
            Err(place) => Ok(Err(place)),
            Ok(tie) => Self::search_tie(self.page, self.slots, probe.order, probe.key, tie),
        }
    }

    /// Goes on from an equal head, with whole keys where heads are equal. Takes the parts of the
    /// view and of the probe, so that those of the fast path stay in registers.
    #[inline(never)]
    fn search_tie<O: KeyOrder>(
        page: &'p [u8],
        slots: &'p [SlotBytes],
        order: O,
        key: &[u8],
        mut tie: Tie,
    ) -> Result<Result<usize, usize>, Reason> {
        let leaf = SlottedLeaf { page, slots };
        let head = order.head(key, leaf.prefix_bytes());
        loop {
            let (lo, hi) = match order.compare(key, leaf.key(tie.mid)?) {
                Ordering::Less => (tie.lo, tie.mid),
                Ordering::Greater => (tie.mid + 1, tie.hi),
                Ordering::Equal => return Ok(Ok(tie.mid)),
            };
            match seek_between(slots, lo, hi, head) {
                Ok(next) => tie = next,
                Err(place) => return Ok(Err(place)),
            }
        }
    }

    /// Bytes of the page's slots and cells, from its header.
    #[inline]
    pub(crate) fn live_bytes(&self) -> usize {
        let heap = header::heap_bytes(self.page).saturating_sub(header::dead_bytes(self.page));
        self.slots.len() * SLOT_BYTES + heap
    }

    #[cfg(test)]
    /// Bytes that more slots and cells may take, once the page is packed.
    #[inline]
    pub(crate) fn free_bytes(&self) -> usize {
        (self.page.len() - HEADER_BYTES).saturating_sub(self.live_bytes())
    }

    /// Whether the page is all that it should be: cells inside the heap and apart, sums right, keys
    /// in order and not too long, heads and prefix true.
    pub(crate) fn audit<O: KeyOrder>(&self, order: O) -> Result<(), Reason> {
        let heap_start = audit_heap(self.page, SLOT_BYTES * self.count())?;
        let prefix_bytes = self.prefix_bytes();
        let mut places = Vec::new();
        places.try_reserve_exact(self.count())?;
        let mut before: Option<&[u8]> = None;
        for (i, slot) in self.slots.iter().enumerate() {
            let cell = self.cell(i)?;
            places.push((self.offset(i), cell.bytes()));
            if cell.key.len() > key_bytes_max(self.page.len()) {
                return Err(Reason::Cell);
            }
            let first = before.unwrap_or(cell.key);
            let shares = cell.key.len() >= prefix_bytes
                && order.lead(first, prefix_bytes) == order.lead(cell.key, prefix_bytes);
            let rises = before.is_none_or(|key| order.compare(key, cell.key) == Ordering::Less);
            if !shares || !rises || slot_head(slot) != order.head(cell.key, prefix_bytes) {
                return Err(Reason::Order);
            }
            before = Some(cell.key);
        }
        if prefix_bytes != 0 && (!order.has_heads() || self.count() == 0) {
            return Err(Reason::Order);
        }
        audit_places(self.page, heap_start, places)
    }
}

/// Checks the heap's bounds in the header; returns where the heap starts.
#[inline]
pub(super) fn audit_heap(page: &[u8], table_bytes: usize) -> Result<usize, Reason> {
    let (heap, dead) = (header::heap_bytes(page), header::dead_bytes(page));
    if HEADER_BYTES + table_bytes + heap > page.len() || dead > heap {
        return Err(Reason::Count);
    }
    Ok(page.len() - heap)
}

/// Checks that the places `(offset, bytes)` lie in the heap, apart, and make up its live bytes.
pub(super) fn audit_places(
    page: &[u8],
    heap_start: usize,
    mut places: Vec<(usize, usize)>,
) -> Result<(), Reason> {
    places.sort_unstable();
    let (mut end, mut live) = (heap_start, 0);
    for (offset, bytes) in places {
        if offset < end || offset + bytes > page.len() {
            return Err(Reason::Cell);
        }
        (end, live) = (offset + bytes, live + bytes);
    }
    if live + header::dead_bytes(page) == header::heap_bytes(page) {
        Ok(())
    } else {
        Err(Reason::Cell)
    }
}
