//! Branches: reading.
//!
//! ```text
//! header | slots, 8 bytes a child | pointers, 12 bytes a child | free | heap | prefix
//! slot:  u32 head, u16 offset in the page, u16 bytes of the rest of the separator; slot 0 is zero
//! ```
//!
//! 1. Child `i` holds the keys from separator `i` (included) to separator `i + 1` (excluded). Child
//!    0 has none: it begins below every key.
//! 2. All separators share the prefix, which lies in the last `prefix_bytes` of the page and counts
//!    as part of the heap; the heap holds what follows it of each. [`Branch::find`] compares the
//!    prefix, so it is right for any key.
//! 3. A branch has at least one child.

use super::compare::are_same;
use super::header::{self, HEADER_BYTES};
use super::leaf::{SLOT_BYTES, audit_heap, audit_places};
use super::limits::key_bytes_max;
use super::order::KeyOrder;
use super::probe::{
    Probe, SlotBytes, Tie, seek, seek_between, seek_steadily, slot_head, slot_key_bytes,
    slot_offset,
};
use super::types::{Ptr, Reason};
use crate::alloc::{Reserved, filled};
use std::cmp::Ordering;

/// Bytes that a child takes beside its separator: slot and pointer.
pub(super) const CHILD_BYTES: usize = SLOT_BYTES + Ptr::BYTES;

/// A separator in its two parts, the lead and the rest of it; [`KeyOrder::join`] puts them
/// together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeparatorRef<'p> {
    pub(crate) prefix: &'p [u8],
    pub(crate) rest: &'p [u8],
}

impl SeparatorRef<'_> {
    pub(crate) fn bytes(&self) -> usize {
        self.prefix.len() + self.rest.len()
    }

    /// The whole separator.
    pub(crate) fn whole<O: KeyOrder>(self, order: O) -> Reserved<Vec<u8>> {
        let mut out = filled(0, self.bytes())?;
        order.join(self.prefix, self.rest, &mut out);
        Ok(out)
    }
}

/// A branch.
#[derive(Clone, Copy)]
pub(crate) struct Branch<'p> {
    page: &'p [u8],
    slots: &'p [SlotBytes],
}

impl<'p> Branch<'p> {
    /// The branch in `page`; `count` is what [`header::admit`] returned.
    #[inline(always)]
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<Branch<'p>, Reason> {
        if count == 0 || HEADER_BYTES + CHILD_BYTES * count > page.len() {
            return Err(Reason::Count);
        }
        match page.get(HEADER_BYTES..HEADER_BYTES + SLOT_BYTES * count) {
            Some(slots) => Ok(Branch { page, slots: slots.as_chunks().0 }),
            None => Err(Reason::Count),
        }
    }

    /// Children of the branch.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    pub(crate) fn prefix_bytes(&self) -> usize {
        header::prefix_bytes(self.page)
    }

    #[inline]
    fn prefix(&self) -> Result<&'p [u8], Reason> {
        let start = self.page.len().checked_sub(self.prefix_bytes());
        start.and_then(|start| self.page.get(start..)).ok_or(Reason::Cell)
    }

    /// Panics if there is no such child: an internal mistake.
    #[inline(always)]
    pub(crate) fn child(&self, i: usize) -> Ptr {
        assert!(i < self.slots.len(), "no such child");
        let at = HEADER_BYTES + SLOT_BYTES * self.slots.len() + Ptr::BYTES * i;
        match self.page.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => Ptr::decode(bytes),
            None => unreachable!("pointers were bounded by view"),
        }
    }

    /// The separator of child `i` without the prefix.
    #[inline]
    fn rest(&self, i: usize) -> Result<&'p [u8], Reason> {
        let slot = &self.slots[i];
        let rest = self.page.get(slot_offset(slot)..);
        rest.and_then(|rest| rest.get(..slot_key_bytes(slot))).ok_or(Reason::Cell)
    }

    /// Where the separator of child `i` lies, without the prefix: offset and bytes.
    pub(super) fn rest_place(&self, i: usize) -> Result<(usize, usize), Reason> {
        Ok((slot_offset(&self.slots[i]), self.rest(i)?.len()))
    }

    /// The separator at which child `i` begins; empty for child 0.
    pub(crate) fn separator(&self, i: usize) -> Result<SeparatorRef<'p>, Reason> {
        if i == 0 {
            return Ok(SeparatorRef { prefix: &[], rest: &[] });
        }
        Ok(SeparatorRef { prefix: self.prefix()?, rest: self.rest(i)? })
    }

    /// The child that holds the key if any does.
    #[inline]
    pub(crate) fn find<O: KeyOrder>(&self, order: O, key: &[u8]) -> Result<usize, Reason> {
        self.find_probe(&Probe::new(order, key))
    }

    /// As [`Branch::find`]. Costs a search over the slots, and a look at the end of the page if the
    /// separators share a prefix; cells are looked at where heads are equal only.
    #[inline(always)]
    pub(crate) fn find_probe<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Result<usize, Reason> {
        self.find_by(probe, seek)
    }

    /// As [`Branch::find`], for lookups side by side: see [`seek_steadily`].
    #[inline(always)]
    pub(crate) fn find_steadily<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Result<usize, Reason> {
        self.find_by(probe, seek_steadily)
    }

    #[inline(always)]
    fn find_by<O: KeyOrder>(
        &self,
        probe: &Probe<'_, O>,
        seek: impl Fn(&[SlotBytes], usize, u32) -> Result<Tie, usize>,
    ) -> Result<usize, Reason> {
        let prefix_bytes = self.prefix_bytes();
        if prefix_bytes != 0 {
            let tail = self.page.last_chunk();
            let lead = match tail.and_then(|tail| probe.compare_lead(tail, prefix_bytes)) {
                Some(lead) => lead,
                None => Self::compare_lead(self.page, probe.order, probe.key)?,
            };
            match lead {
                Ordering::Less => return Ok(0),
                Ordering::Equal => {}
                Ordering::Greater => return Ok(self.slots.len() - 1),
            }
        }
        match seek(self.slots, 1, probe.head(prefix_bytes)) {
            Err(above) => Ok(above - 1),
            Ok(tie) => Self::find_tie(self.page, self.slots, probe.order, probe.key, tie),
        }
    }

    /// How the leading bytes of the key compare with the prefix.
    #[inline(never)]
    fn compare_lead<O: KeyOrder>(page: &[u8], order: O, key: &[u8]) -> Result<Ordering, Reason> {
        let prefix = Branch { page, slots: &[] }.prefix()?;
        let lead = order.lead(key, prefix.len());
        Ok(if are_same(lead, prefix) { Ordering::Equal } else { order.compare(lead, prefix) })
    }

    /// Goes on from an equal head, with whole separators where heads are equal. Takes the parts of
    /// the view and of the probe, so that those of the fast path stay in registers.
    #[inline(never)]
    fn find_tie<O: KeyOrder>(
        page: &'p [u8],
        slots: &'p [SlotBytes],
        order: O,
        key: &[u8],
        mut tie: Tie,
    ) -> Result<usize, Reason> {
        let branch = Branch { page, slots };
        let prefix_bytes = branch.prefix_bytes();
        let (head, rest) = (order.head(key, prefix_bytes), order.rest(key, prefix_bytes));
        loop {
            let (lo, hi) = match order.compare(rest, branch.rest(tie.mid)?) {
                Ordering::Less => (tie.lo, tie.mid),
                Ordering::Greater => (tie.mid + 1, tie.hi),
                Ordering::Equal => return Ok(tie.mid),
            };
            match seek_between(slots, lo, hi, head) {
                Ok(next) => tie = next,
                Err(above) => return Ok(above - 1),
            }
        }
    }

    /// Bytes of slots, pointers and heap, from the header.
    #[inline]
    pub(crate) fn live_bytes(&self) -> usize {
        let heap = header::heap_bytes(self.page).saturating_sub(header::dead_bytes(self.page));
        self.slots.len() * CHILD_BYTES + heap
    }

    #[cfg(test)]
    /// Bytes that more children may take, once the page is packed.
    #[inline]
    pub(crate) fn free_bytes(&self) -> usize {
        (self.page.len() - HEADER_BYTES).saturating_sub(self.live_bytes())
    }

    /// Whether the page is all that it should be: separators inside the heap and apart, sums right,
    /// in order and not too long, heads true, slot 0 empty, no child that is no page.
    pub(crate) fn audit<O: KeyOrder>(&self, order: O) -> Result<(), Reason> {
        let heap_start = audit_heap(self.page, CHILD_BYTES * self.count())?;
        let prefix_bytes = self.prefix_bytes();
        if prefix_bytes != 0 && (!order.has_heads() || self.count() == 1) {
            return Err(Reason::Order);
        }
        let prefix = self.prefix()?;
        let mut places = Vec::new();
        places.try_reserve_exact(self.count())?;
        places.push((self.page.len() - prefix_bytes, prefix.len()));
        for i in 1..self.count() {
            let rest = self.rest(i)?;
            places.push(self.rest_place(i)?);
            if prefix_bytes + rest.len() > key_bytes_max(self.page.len()) {
                return Err(Reason::Cell);
            }
            let rises = i == 1 || order.compare(self.rest(i - 1)?, rest) == Ordering::Less;
            if !rises || slot_head(&self.slots[i]) != order.head(rest, 0) {
                return Err(Reason::Order);
            }
        }
        if self.slots[0] != [0; SLOT_BYTES] {
            return Err(Reason::Cell);
        }
        if (0..self.count()).any(|i| self.child(i).is_none()) {
            return Err(Reason::OutOfRange);
        }
        // A place without bytes may lie anywhere.
        places.retain(|(_, bytes)| *bytes != 0);
        audit_places(self.page, heap_start, places)
    }
}
