//! The search that leaves and branches share: over the heads alone, whole keys only where heads
//! tie.
//!
//! [`seek`] branches on every comparison on purpose: for single lookups the predictor lets the core
//! run ahead past the missing line, which a branchless search cannot. [`seek_steadily`] is the
//! other way, for lookups side by side.

use super::order::{KeyOrder, lead_of};
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// A slot: head (u32), offset of the cell in the page (u16), key_bytes (u16).
pub(crate) type SlotBytes = [u8; 8];

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
        // A short key is all in `first`.
        if skip <= 4 || skip < 8 && self.key.len() <= 8 {
            ((self.first << (8 * skip)) >> 32) as u32
        } else {
            self.order.head(self.key, skip)
        }
    }

    /// How the leading `bytes` of the key compare with the last ones of `tail`, if they can be
    /// compared as numbers.
    #[inline(always)]
    pub(crate) fn compare_lead(&self, tail: &[u8; 8], bytes: usize) -> Option<Ordering> {
        if !self.order.has_heads() || !(1..=8).contains(&bytes) || self.key.len() < bytes {
            return None;
        }
        Some(lead_of(self.first, bytes).cmp(&self.order.first_of_last(tail, bytes)))
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
pub(crate) fn slot_head(slot: &SlotBytes) -> u32 {
    u64::from_le_bytes(*slot) as u32
}

#[inline(always)]
pub(crate) fn slot_offset(slot: &SlotBytes) -> usize {
    (u64::from_le_bytes(*slot) >> 32) as usize & 0xFFFF
}

#[inline(always)]
pub(crate) fn slot_key_bytes(slot: &SlotBytes) -> usize {
    (u64::from_le_bytes(*slot) >> 48) as usize
}

#[inline]
pub(crate) fn slot(head: u32, offset: usize, key_bytes: usize) -> SlotBytes {
    let offset = u16::try_from(offset).expect("cells begin inside the page");
    let key_bytes = u16::try_from(key_bytes).expect("keys are bounded");
    (u64::from(head) | u64::from(offset) << 32 | u64::from(key_bytes) << 48).to_le_bytes()
}

/// Searches `slots[first..]`: `Err` is the first slot whose head is above; `Ok` is an equal head.
#[inline(always)]
pub(crate) fn seek(slots: &[SlotBytes], first: usize, head: u32) -> Result<Tie, usize> {
    seek_below(slots, first, head)
}

/// As [`seek`], but branches on nothing that it reads: a step for each halving, none of them
/// mispredicted. For lookups side by side, where the misses overlap already. Of equal heads it
/// finds the last.
#[inline(always)]
pub(crate) fn seek_steadily(slots: &[SlotBytes], first: usize, head: u32) -> Result<Tie, usize> {
    let above = first + slots[first..].partition_point(|slot| slot_head(slot) <= head);
    match slots[first..above].last() {
        Some(slot) if slot_head(slot) == head => Ok(Tie { lo: first, mid: above - 1, hi: above }),
        _ => Err(above),
    }
}

/// Searches `slots[lo..hi]`.
#[inline(always)]
pub(crate) fn seek_between(
    slots: &[SlotBytes],
    lo: usize,
    hi: usize,
    head: u32,
) -> Result<Tie, usize> {
    seek_below(&slots[..hi], lo, head)
}

/// Searches `below[lo..]`: a load and two compares for each halving, the second of them
/// mispredicted half the time. Nothing but slots is looked at, eight to a cache line. Both ends
/// meet where `mid` is none of the slots any more, so that the bounds check ends the search and
/// costs nothing.
#[inline(always)]
fn seek_below(mut below: &[SlotBytes], mut lo: usize, head: u32) -> Result<Tie, usize> {
    loop {
        let mid = (lo + below.len()) / 2;
        let Some(slot) = below.get(mid) else { return Err(lo) };
        let found = slot_head(slot);
        if head < found {
            below = &below[..mid];
        } else if head > found {
            lo = mid + 1;
        } else {
            return Ok(Tie { lo, mid, hi: below.len() });
        }
    }
}

/// Where among `count` keys without slots, which rise, one is (`Ok`), or where it would be inserted
/// (`Err`). First words decide, whole keys only where they tie. One above all others, as keys come
/// that come in order, is found at once; for those in any order nothing else is branched on, since
/// half of such branches would be mispredicted.
pub(super) fn search_keys<'k, O: KeyOrder>(
    order: O,
    key: &[u8],
    count: usize,
    key_at: impl Fn(usize) -> &'k [u8],
) -> Result<usize, usize> {
    let first = order.first(key);
    let compare = |at| {
        let other = key_at(at);
        first.cmp(&order.first(other)).then_with(|| order.compare(key, other))
    };
    if count == 0 || compare(count - 1).is_gt() {
        return Err(count);
    }
    let (mut lo, mut left) = (0, count);
    while left > 1 {
        let half = left / 2;
        lo = select_unpredictable(compare(lo + half).is_lt(), lo, lo + half);
        left -= half;
    }
    match compare(lo) {
        Ordering::Less => Err(lo),
        Ordering::Equal => Ok(lo),
        Ordering::Greater => Err(lo + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::{AnyOrder, BytesOrder, CustomOrder, ReversedOrder};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Keys of zero to ten bytes, which differ behind their first eight bytes, before, or nowhere.
    fn keys() -> Vec<Vec<u8>> {
        let lengths = (0..=10usize).flat_map(|bytes| (0..3).map(move |n| (bytes, n)));
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for (bytes, n) in lengths {
            keys.extend((0..bytes).map(|at| {
                let mut key = vec![1; bytes];
                key[at] = n;
                key
            }));
        }
        keys
    }

    #[test]
    fn every_key_is_found_in_every_order_with_few_comparisons() {
        let compared = AtomicUsize::new(0);
        let counted = |a: &[u8], b: &[u8]| {
            compared.fetch_add(1, Relaxed);
            b.cmp(a)
        };
        let orders = [
            AnyOrder::Bytes(BytesOrder),
            AnyOrder::Reversed(ReversedOrder),
            AnyOrder::Custom(CustomOrder(&counted)),
        ];
        for order in orders {
            let mut all = keys();
            all.sort_by(|a, b| order.compare(a, b));
            all.dedup();
            for count in 0..=all.len() {
                let some = &all[..count];
                for (at, key) in all.iter().enumerate() {
                    compared.store(0, Relaxed);
                    let found = search_keys(order, key, count, |at| &some[at]);
                    assert!(
                        compared.load(Relaxed)
                            <= count.checked_ilog2().map_or(0, |n| n as usize + 3)
                    );
                    assert_eq!(found, if at < count { Ok(at) } else { Err(count) }, "{key:x?}");
                }
            }
            let (odd, even): (Vec<_>, Vec<_>) =
                all.iter().enumerate().partition(|(at, _)| at % 2 == 1);
            for (at, key) in even {
                assert_eq!(search_keys(order, key, odd.len(), |at| odd[at].1), Err(at / 2));
            }
        }
    }
}
