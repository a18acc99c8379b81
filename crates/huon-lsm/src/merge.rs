//! Merging sorted sources, the newest first among equal keys, whose operands are folded (L9).

use std::ops::Bound;

use huon::{AnyTxn, Bytes, LeafIter, Leaves, RawTable, ReadTxn, Result};

use crate::batch::{Sorted, prefix_of};
use crate::format::DeleteRecord;
use crate::operator::{Chain, Folder, Kept, no_operator};
use crate::planted::{self, Bug};
use crate::record::{Says, is_operand, says, tag};

/// A record as a run has it: a key, and a value with its tag.
pub(crate) type Record<'t> = (&'t [u8], &'t [u8]);

/// Bounds of keys.
pub(crate) type Bounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Where records come from, a leaf at a time or from a batch.
enum Records<'t> {
    Run { leaves: Box<Leaves<'t, Bytes, Bytes>>, leaf: Option<LeafIter<'t, Bytes, Bytes>> },
    Batch { sorted: Sorted<'t>, from: usize, to: usize },
    Nothing,
}

impl<'t> Records<'t> {
    #[inline]
    fn next(&mut self, back: bool) -> Result<Option<Record<'t>>> {
        let (leaves, current) = match self {
            Records::Run { leaves, leaf } => (leaves, leaf),
            Records::Nothing => return Ok(None),
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

/// So many records of a deleted range are passed over one after another before the rest is jumped
/// over, which costs a descent.
const PASSED_MAX: u32 = 16;

/// What a source needs to jump over a range: only a snapshot can be asked from any thread.
struct Jump<'t> {
    table: RawTable,
    txn: &'t ReadTxn,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
}

/// One of the sorted inputs of a merge.
pub(crate) struct Source<'t> {
    records: Records<'t>,
    /// Ranges that were deleted since.
    deleted: Vec<DeleteRecord>,
    jump: Option<Box<Jump<'t>>>,
    current: Option<Record<'t>>,
    rank: u64,
}

/// A number that rises in the order in which records are given: the first bytes of the key, turned
/// round if the merge goes backwards.
#[inline]
fn rank_of(key: &[u8], back: bool) -> u64 {
    let prefix = prefix_of(key);
    if back { !prefix } else { prefix }
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
        let records = Records::Run { leaves: Box::new(range?.leaves()), leaf: None };
        let jump = match txn {
            AnyTxn::Read(txn) if !deleted.is_empty() => {
                let bounds = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
                Some(Box::new(Jump { table, txn, bounds }))
            }
            _ => None,
        };
        Ok(Source { records, deleted, jump, current: None, rank: 0 })
    }

    pub(crate) fn batch(sorted: Sorted<'t>, bounds: Bounds<'_>) -> Source<'t> {
        let std::ops::Range { start: from, end: to } = sorted.within(bounds);
        let records = Records::Batch { sorted, from, to };
        Source { records, deleted: Vec::new(), jump: None, current: None, rank: 0 }
    }

    #[inline]
    fn step(&mut self, back: bool) -> Result<()> {
        let mut passed = 0;
        loop {
            self.current = self.records.next(back)?;
            let Some((key, _)) = self.current else {
                self.rank = u64::MAX;
                return Ok(());
            };
            let Some(range) = self.deleted.iter().find(|range| range.covers(key)) else {
                self.rank = rank_of(key, back);
                return Ok(());
            };
            passed += 1;
            if passed % PASSED_MAX == 0
                && let Some(jump) = &mut self.jump
            {
                self.records = jump.over(range, back)?;
            }
        }
    }
}

impl<'t> Jump<'t> {
    /// The records beyond a range, in the direction that they are read.
    fn over(&mut self, range: &DeleteRecord, back: bool) -> Result<Records<'t>> {
        if back {
            self.bounds.1 = Bound::Excluded(range.from.clone());
        } else {
            match &range.to {
                Some(to) => self.bounds.0 = Bound::Included(to.clone()),
                None => return Ok(Records::Nothing),
            }
        }
        let (from, to) = &self.bounds;
        let bounds = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let leaves = Box::new(self.table.range(self.txn, bounds)?.leaves());
        Ok(Records::Run { leaves, leaf: None })
    }
}

/// The rank of a source's record, and the number of the source.
type Player = (u64, u32);

/// A loser tree (Knuth, The Art of Computer Programming, volume 3, 5.4.1) over sources: a record
/// costs one comparison on each level of the tree.
pub(crate) struct Merge<'t> {
    sources: Vec<Source<'t>>,
    /// The first is the winner, the others are losers.
    tree: Vec<Player>,
    back: bool,
    last: Option<(u64, &'t [u8])>,
    /// `None`: operands stay what they are, and hide what lies below.
    folder: Option<Folder<'t>>,
}

impl<'t> Merge<'t> {
    /// The newest source first.
    pub(crate) fn new(
        mut sources: Vec<Source<'t>>,
        back: bool,
        folder: Option<Folder<'t>>,
    ) -> Result<Merge<'t>> {
        sources.iter_mut().try_for_each(|source| source.step(back))?;
        sources.retain(|source| source.current.is_some());
        let count = sources.len();
        let tree = vec![(0, 0); count.max(1)];
        let mut merge = Merge { sources, tree, back, last: None, folder };
        // Winners of each match, from the bottom up.
        let mut winners: Vec<Player> = vec![(0, 0); 2 * count];
        for (number, source) in merge.sources.iter().enumerate() {
            winners[count + number] = (source.rank, number as u32);
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

    /// All records of batches, the newest batch first.
    pub(crate) fn of_batches(batches: &[Sorted<'t>], kept: &'t Kept) -> Result<Merge<'t>> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let sources = batches.iter().map(|batch| Source::batch(*batch, all)).collect();
        // A batch without an operator has no operands that would be folded onto older records.
        let folder = Folder::new(batches.iter().find_map(Sorted::operator), kept);
        Merge::new(sources, false, Some(folder))
    }

    /// Whether `a` gives its record before `b`.
    #[inline]
    fn is_before(&self, a: Player, b: Player) -> bool {
        if a.0 == b.0 { self.is_before_by_key(a.1, b.1) } else { a.0 < b.0 }
    }

    /// The same where the ranks do not say. What has no record comes last.
    #[inline(never)]
    fn is_before_by_key(&self, a: u32, b: u32) -> bool {
        let (x, y) = (&self.sources[a as usize], &self.sources[b as usize]);
        let (Some((left, _)), Some((right, _))) = (x.current, y.current) else {
            return x.current.is_some();
        };
        let order = if self.back { right.cmp(left) } else { left.cmp(right) };
        let (a, b) = if planted::is(Bug::OldestCounts) { (b, a) } else { (a, b) };
        order.then(a.cmp(&b)).is_lt()
    }

    /// The next record: the one that counts of its key.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'t>>> {
        if self.sources.len() == 1 {
            return self.next_of_one();
        }
        while let Some((rank, record)) = self.pop()? {
            if self.last.is_some_and(|(last, key)| last == rank && key == record.0) {
                continue;
            }
            self.last = Some((rank, record.0));
            if is_operand(record.1) {
                return self.folded(record).map(Some);
            }
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// The next record, if there is only one source.
    fn next_of_one(&mut self) -> Result<Option<Record<'t>>> {
        let source = &mut self.sources[0];
        let record = source.current;
        if record.is_some() {
            source.step(self.back)?;
        }
        Ok(record)
    }

    /// The next record of all.
    #[inline]
    fn pop(&mut self) -> Result<Option<(u64, Record<'t>)>> {
        let (count, (rank, winner)) = (self.sources.len(), self.tree[0]);
        let Some(source) = self.sources.get_mut(winner as usize) else { return Ok(None) };
        let Some(record) = source.current else { return Ok(None) };
        source.step(self.back)?;
        let mut best = (source.rank, winner);
        let mut node = (winner as usize + count) / 2;
        while node > 0 {
            if self.is_before(self.tree[node], best) {
                std::mem::swap(&mut self.tree[node], &mut best);
            }
            node /= 2;
        }
        self.tree[0] = best;
        Ok(Some((rank, record)))
    }

    /// What an operand and the older records of its key come to, which are passed.
    #[cold]
    fn folded(&mut self, (key, operand): Record<'t>) -> Result<Record<'t>> {
        let mut chain = Chain::default();
        let mut is_wanted = chain.add(operand);
        while is_wanted && self.comes(key) {
            let Some((_, (_, older))) = self.pop()? else { break };
            is_wanted = chain.add(older);
        }
        let folded = self.folder.as_ref().map(|folder| folder.fold(&chain)).transpose()?;
        Ok((key, folded.flatten().unwrap_or(operand)))
    }

    /// Whether the next record of all is one of this key.
    fn comes(&self, key: &[u8]) -> bool {
        let next = self.sources.get(self.tree[0].1 as usize).and_then(|source| source.current);
        next.is_some_and(|(next, _)| next == key)
    }

    /// The value of a record that it has given.
    #[inline]
    pub(crate) fn value(&self, tagged: &'t [u8]) -> Result<Option<&'t [u8]>> {
        match (says(tagged)?, &self.folder) {
            (Says::Nothing, _) => Ok(None),
            (Says::Value(value), _) => Ok(Some(value)),
            (_, Some(folder)) => folder.value(tagged),
            (_, None) => Err(no_operator()),
        }
    }
}

/// Records in order, on their way from a merge into a table.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    /// Bytes of each key and of its value.
    lengths: Vec<(u32, u32)>,
    tombstones: u64,
}

impl Buffer {
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], tagged: &[u8]) -> Result<()> {
        self.bytes.try_reserve(key.len() + tagged.len())?;
        self.lengths.try_reserve(1)?;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(tagged);
        self.lengths.push((key.len() as u32, tagged.len() as u32));
        self.tombstones += u64::from(tagged == [tag::DELETE]);
        Ok(())
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn records(&self) -> u64 {
        self.lengths.len() as u64
    }

    pub(crate) fn tombstones(&self) -> u64 {
        self.tombstones
    }

    /// The first and the last key.
    pub(crate) fn ends(&self) -> Option<(&[u8], &[u8])> {
        let (first, last) = (self.lengths.first()?, self.lengths.last()?);
        let from = self.bytes.len() - (last.0 + last.1) as usize;
        Some((&self.bytes[..first.0 as usize], &self.bytes[from..][..last.0 as usize]))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.bytes[..];
        self.lengths.iter().map(move |&(key, value)| {
            let (record, behind) = rest.split_at((key + value) as usize);
            rest = behind;
            record.split_at(key as usize)
        })
    }
}
