//! The search that leaves and branches share: over the heads alone, whole keys only where heads
//! tie.
//!
//! [`seek`] branches on every comparison on purpose: for single lookups the predictor lets the core
//! run ahead past the missing line, which a branchless search cannot. [`seek_steadily`] is the
//! other way, for lookups side by side.

use super::order::KeyOrder;

/// A slot: head (u32), offset of the cell in the page (u16), key_bytes (u16).
pub(crate) type Slot = [u8; 8];

/// A key on its way down a tree, its first bytes loaded once.
#[derive(Clone, Copy)]
pub(crate) struct Probe<'k, O> {
    pub(crate) order: O,
    pub(crate) key: &'k [u8],
    first: u64,
}

impl<'k, O: KeyOrder> Probe<'k, O> {
    #[inline(always)]
    pub(crate) fn new(order: O, key: &'k [u8]) -> Self {
        Probe { order, key, first: order.first(key) }
    }

    /// Four bytes behind the `skip` leading ones, as the slots of a page with that prefix hold
    /// them.
    #[inline(always)]
    pub(crate) fn head(&self, skip: usize) -> u32 {
        if skip <= 4 {
            ((self.first << (8 * skip)) >> 32) as u32
        } else {
            self.order.head(self.key, skip)
        }
    }
}

/// Where a search over heads stopped at an equal one: all of `..lo` is below, all of `hi..` above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tie {
    pub(crate) lo: usize,
    pub(crate) mid: usize,
    pub(crate) hi: usize,
}

#[inline(always)]
pub(crate) fn slot_head(slot: &Slot) -> u32 {
    u64::from_le_bytes(*slot) as u32
}

#[inline(always)]
pub(crate) fn slot_offset(slot: &Slot) -> usize {
    (u64::from_le_bytes(*slot) >> 32) as usize & 0xFFFF
}

#[inline(always)]
pub(crate) fn slot_key_bytes(slot: &Slot) -> usize {
    (u64::from_le_bytes(*slot) >> 48) as usize
}

pub(crate) fn slot(head: u32, offset: usize, key_bytes: usize) -> Slot {
    let offset = u16::try_from(offset).expect("cells begin inside the page");
    let key_bytes = u16::try_from(key_bytes).expect("keys are bounded");
    (u64::from(head) | u64::from(offset) << 32 | u64::from(key_bytes) << 48).to_le_bytes()
}

/// Searches `slots[first..]`: `Err` is the first slot whose head is above; `Ok` is an equal head.
#[inline(always)]
pub(crate) fn seek(slots: &[Slot], first: usize, head: u32) -> Result<Tie, usize> {
    seek_between(slots, first, slots.len(), head)
}

/// As [`seek`], but branches on nothing that it reads: a step for each halving, none of them
/// mispredicted. For lookups side by side, where the misses are covered already; whichever head is
/// equal, it is the last of its kind.
#[inline(always)]
pub(crate) fn seek_steadily(slots: &[Slot], first: usize, head: u32) -> Result<Tie, usize> {
    let above = first + slots[first..].partition_point(|slot| slot_head(slot) <= head);
    match slots[first..above].last() {
        Some(slot) if slot_head(slot) == head => Ok(Tie { lo: first, mid: above - 1, hi: above }),
        _ => Err(above),
    }
}

/// Searches `slots[lo..hi]`.
#[inline(always)]
pub(crate) fn seek_between(
    slots: &[Slot],
    mut lo: usize,
    mut hi: usize,
    head: u32,
) -> Result<Tie, usize> {
    while lo < hi {
        let mid = (lo + hi) / 2;
        let found = slot_head(&slots[mid]);
        if head < found {
            hi = mid;
        } else if head > found {
            lo = mid + 1;
        } else {
            return Ok(Tie { lo, mid, hi });
        }
    }
    Err(lo)
}
