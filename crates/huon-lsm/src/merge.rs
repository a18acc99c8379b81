//! Merging sorted sources, the newest first among equal keys.

use huon::{AnyTxn, Bytes, LeafIter, Leaves, RawTable, Result};

use crate::batch::{Sorted, prefix_of};
use crate::format::DeleteRecord;

/// A record as a run has it: a key, and a value with its tag.
pub(crate) type Record<'t> = (&'t [u8], &'t [u8]);

/// Bounds of keys.
pub(crate) type Bounds<'b> = (std::ops::Bound<&'b [u8]>, std::ops::Bound<&'b [u8]>);

/// Where records come from, a leaf at a time or from a batch.
enum Records<'t> {
    Run { leaves: Leaves<'t, Bytes, Bytes>, leaf: Option<LeafIter<'t, Bytes, Bytes>> },
    Batch { sorted: Sorted<'t>, from: usize, to: usize },
}

impl<'t> Records<'t> {
    #[inline]
    fn next(&mut self, back: bool) -> Result<Option<Record<'t>>> {
        let (leaves, current) = match self {
            Records::Run { leaves, leaf } => (leaves, leaf),
            Records::Batch { sorted, from, to } => {
                if from == to {
                    return Ok(None);
                }
                let at = if back { *to - 1 } else { *from };
                (*from, *to) = if back { (*from, at) } else { (at + 1, *to) };
                return Ok(Some(sorted.get(at)));
            }
        };
        loop {
            if let Some(leaf) = current {
                let record = if back { leaf.next_back() } else { leaf.next() };
                if let Some(record) = record {
                    return record.map(Some);
                }
            }
            let leaf = if back { leaves.next_back() } else { leaves.next() };
            match leaf {
                Some(leaf) => *current = Some(leaf?.iter()),
                None => return Ok(None),
            }
        }
    }
}

/// One of the sorted inputs of a merge.
pub(crate) struct Source<'t> {
    records: Records<'t>,
    /// Ranges that were deleted since.
    deleted: Vec<DeleteRecord>,
    current: Option<Record<'t>>,
    prefix: u64,
}

impl<'t> Source<'t> {
    /// The records of a run, without those that the deletes cover.
    pub(crate) fn run(
        table: RawTable,
        txn: AnyTxn<'t>,
        bounds: Bounds<'_>,
        deleted: Vec<DeleteRecord>,
    ) -> Result<Source<'t>> {
        let range = match txn {
            AnyTxn::Read(txn) => table.range(txn, bounds),
            AnyTxn::Write(txn) => table.range(txn, bounds),
        };
        let records = Records::Run { leaves: range?.leaves(), leaf: None };
        Ok(Source { records, deleted, current: None, prefix: 0 })
    }

    pub(crate) fn batch(sorted: Sorted<'t>, bounds: Bounds<'_>) -> Source<'t> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let from = match bounds.0 {
            Included(key) => sorted.lower_bound(key, true),
            Excluded(key) => sorted.lower_bound(key, false),
            Unbounded => 0,
        };
        let to = match bounds.1 {
            Included(key) => sorted.lower_bound(key, false),
            Excluded(key) => sorted.lower_bound(key, true),
            Unbounded => sorted.len(),
        };
        let records = Records::Batch { sorted, from, to: to.max(from) };
        Source { records, deleted: Vec::new(), current: None, prefix: 0 }
    }

    #[inline]
    fn step(&mut self, back: bool) -> Result<()> {
        loop {
            self.current = self.records.next(back)?;
            let Some((key, _)) = self.current else { return Ok(()) };
            if self.deleted.is_empty() || !self.deleted.iter().any(|range| range.covers(key)) {
                self.prefix = prefix_of(key);
                return Ok(());
            }
        }
    }
}

/// A loser tree (Knuth, The Art of Computer Programming, volume 3, 5.4.1) over sources: a record
/// costs one comparison on each level of the tree.
pub(crate) struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// The first is the winner, the others are losers.
    tree: Vec<u32>,
    back: bool,
    last: Option<(u64, &'t [u8])>,
}

impl<'t> Merge<'t> {
    /// The newest source first.
    pub(crate) fn new(mut sources: Vec<Source<'t>>, back: bool) -> Result<Merge<'t>> {
        sources.iter_mut().try_for_each(|source| source.step(back))?;
        sources.retain(|source| source.current.is_some());
        let count = sources.len();
        let mut merge = Merge { sources, tree: vec![0; count.max(1)], back, last: None };
        // Winners of each match, from the bottom up.
        let mut winners: Vec<u32> = vec![0; 2 * count];
        for leaf in 0..count {
            winners[count + leaf] = leaf as u32;
        }
        for node in (1..count).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if merge.is_before(a, b) { (a, b) } else { (b, a) };
            (winners[node], merge.tree[node]) = (winner, loser);
        }
        if count > 1 {
            merge.tree[0] = winners[1];
        }
        Ok(merge)
    }

    /// Whether source `a` gives its record before `b`.
    #[inline]
    fn is_before(&self, a: u32, b: u32) -> bool {
        let (x, y) = (&self.sources[a as usize], &self.sources[b as usize]);
        let (Some((left, _)), Some((right, _))) = (x.current, y.current) else {
            return x.current.is_some();
        };
        let order = x.prefix.cmp(&y.prefix).then_with(|| left.cmp(right));
        let order = if self.back { order.reverse() } else { order };
        order.then(a.cmp(&b)).is_lt()
    }

    /// The next record: the newest of its key.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'t>>> {
        let count = self.sources.len();
        if count == 0 {
            return Ok(None);
        }
        loop {
            let winner = self.tree[0];
            let source = &mut self.sources[winner as usize];
            let Some(record) = source.current else { return Ok(None) };
            let prefix = source.prefix;
            source.step(self.back)?;
            if count == 1 {
                return Ok(Some(record));
            }
            let (mut best, mut node) = (winner, (winner as usize + count) / 2);
            while node > 0 {
                if self.is_before(self.tree[node], best) {
                    std::mem::swap(&mut self.tree[node], &mut best);
                }
                node /= 2;
            }
            self.tree[0] = best;
            if self.last.is_some_and(|(last, key)| last == prefix && key == record.0) {
                continue;
            }
            self.last = Some((prefix, record.0));
            return Ok(Some(record));
        }
    }
}
