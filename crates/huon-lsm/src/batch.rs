//! What a transaction has put and deleted and not yet made a run of.
//!
//! A log in memory: records in an arena, in the order in which they were put, so that what a nested
//! transaction added can be cut off again. It is sorted once, when a run is built of it or a range
//! is read in the transaction; a key is looked up by its hash.

use std::ops::{Bound, Range};
use std::sync::OnceLock;

use huon::{Error, Result};

use crate::filter;
use crate::format::{DeleteRecord, damaged};
use crate::index::{Index, NONE};
use crate::operator::{Operator, merged_otherwise};
use crate::record::{check_part, is_operand, tag, timed};

/// A record. Its key lies at `at` in the arena, and its value with the tag behind it.
#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key, as a number that compares as they do.
    prefix: u64,
    at: u64,
    value: u32,
    key: u16,
}

/// A delete of a range: of all entries before it, and of all runs.
struct Deleted {
    /// How many entries there were.
    after: usize,
    range: DeleteRecord,
    /// The table itself goes, too.
    drops_table: bool,
}

/// What a batch held at some time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark {
    entries: usize,
    arena: usize,
    deletes: usize,
}

impl Mark {
    /// Whether the batch was empty then.
    pub(crate) fn is_empty(self) -> bool {
        self.entries == 0 && self.deletes == 0
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Batch {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    deletes: Vec<Deleted>,
    /// The newest entry of each key that no later delete of a range covers, in key order. Numbers
    /// behind those of all entries are of what was folded.
    sorted: OnceLock<Vec<u32>>,
    /// Once there are operands.
    folding: Option<Box<Folding>>,
    /// The newest entry of each hash, once a key has been looked up.
    index: OnceLock<Index>,
}

/// What a batch with operands has beside its entries.
struct Folding {
    operator: Operator,
    folded: OnceLock<Vec<Folded>>,
}

/// An entry of a key, and what its operands come to with what they were merged onto.
type Folded = (u32, Vec<u8>);

/// The first eight bytes of a key, as a number that compares as they do.
#[inline]
pub(crate) fn prefix_of(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

impl Batch {
    /// Adds a record at the end of the log.
    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, value, tag::PUT)
    }

    /// Adds a record that counts until a time, in milliseconds since 1970.
    pub(crate) fn put_until(&mut self, key: &[u8], value: &[u8], until: u64) -> Result<()> {
        check_part(value)?;
        self.add(key, &timed(value, until), tag::PUT_UNTIL)
    }

    /// Adds what is merged onto the value that the key has.
    pub(crate) fn merge(&mut self, operator: &Operator, key: &[u8], operand: &[u8]) -> Result<()> {
        check_part(operand)?;
        self.fold_by(Some(operator))?;
        self.add(key, operand, tag::OPERAND)
    }

    fn fold_by(&mut self, operator: Option<&Operator>) -> Result<()> {
        match (self.operator(), operator) {
            (Some(known), Some(operator)) if known.name() != operator.name() => {
                return Err(merged_otherwise(known.name(), operator.name()));
            }
            (None, Some(operator)) => {
                let (operator, folded) = (operator.clone(), OnceLock::new());
                self.folding = Some(Box::new(Folding { operator, folded }));
            }
            _ => {}
        }
        Ok(())
    }

    /// What folds the operands.
    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.folding.as_ref().map(|folding| &folding.operator)
    }

    /// The order is another one.
    #[inline]
    fn unsort(&mut self) {
        if self.sorted.get().is_some() {
            self.forget_order();
        }
    }

    #[cold]
    fn forget_order(&mut self) {
        self.sorted.take();
        if let Some(folding) = &mut self.folding {
            folding.folded.take();
        }
    }

    /// Adds the delete of a key.
    #[inline]
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(key, &[], tag::DELETE)
    }

    fn add(&mut self, key: &[u8], value: &[u8], tag: u8) -> Result<()> {
        // An entry has 16 bits for the length of a key; no page has longer ones.
        let key_bytes = u16::try_from(key.len()).map_err(|_| key_too_long(key))?;
        if value.len() >= huon::limits::VALUE_BYTES_MAX {
            return Err(Error::ValueTooLong);
        }
        let number = self.entries.len();
        if number as u64 >= u64::from(NONE) {
            return Err(Error::Invalid("a batch holds at most 4294967294 records"));
        }
        let at = self.arena.len() as u64;
        self.arena.try_reserve(key.len() + value.len() + 1)?;
        self.entries.try_reserve(1)?;
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        self.arena.push(tag);
        let value = value.len() as u32 + 1;
        self.entries.push(Entry { prefix: prefix_of(key), at, value, key: key_bytes });
        self.unsort();
        if let Some(index) = self.index.get_mut() {
            index.add(filter::hash(key), number as u32);
        }
        Ok(())
    }

    /// Adds a record as a run has it.
    pub(crate) fn add_tagged(&mut self, key: &[u8], tagged: &[u8]) -> Result<()> {
        match tagged.split_last() {
            Some((tag, value)) => self.add(key, value, *tag),
            None => Err(damaged("a value without a tag")),
        }
    }

    /// Deletes a range of keys.
    pub(crate) fn delete_range(&mut self, range: DeleteRecord) {
        self.add_deleted(range, false);
    }

    /// Deletes all keys and the table.
    pub(crate) fn drop_table(&mut self) {
        self.add_deleted(DeleteRecord { from: Vec::new(), to: None }, true);
    }

    fn add_deleted(&mut self, range: DeleteRecord, drops_table: bool) {
        self.unsort();
        self.deletes.push(Deleted { after: self.entries.len(), range, drops_table });
    }

    /// Whether the table was dropped and nothing was put since.
    pub(crate) fn drops_table(&self) -> bool {
        let last = self.deletes.last();
        last.is_some_and(|last| last.drops_table && last.after == self.entries.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.deletes.is_empty()
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len()
    }

    pub(crate) fn mark(&self) -> Mark {
        let (entries, arena) = (self.entries.len(), self.arena.len());
        Mark { entries, arena, deletes: self.deletes.len() }
    }

    /// Forgets what was added since.
    pub(crate) fn cut_back(&mut self, mark: Mark) {
        if let Some(index) = self.index.get_mut() {
            for number in (mark.entries..self.entries.len()).rev() {
                let entry = &self.entries[number];
                let key = &self.arena[entry.at as usize..][..usize::from(entry.key)];
                index.remove_newest(filter::hash(key));
            }
        }
        self.unsort();
        self.entries.truncate(mark.entries);
        self.arena.truncate(mark.arena);
        self.deletes.truncate(mark.deletes);
    }

    /// Adds what another batch holds, behind what is there.
    pub(crate) fn append(&mut self, other: &Batch) -> Result<()> {
        self.fold_by(other.operator())?;
        let mut deletes = other.deletes.iter().peekable();
        for number in 0..=other.entries.len() {
            while let Some(deleted) = deletes.next_if(|deleted| deleted.after == number) {
                self.add_deleted(deleted.range.clone(), deleted.drops_table);
            }
            let Some(entry) = other.entries.get(number) else { break };
            let (key, tagged) = other.parts(entry);
            self.add_tagged(key, tagged)?;
        }
        Ok(())
    }

    #[inline]
    fn parts(&self, entry: &Entry) -> (&[u8], &[u8]) {
        let record = &self.arena[entry.at as usize..];
        record[..usize::from(entry.key) + entry.value as usize].split_at(usize::from(entry.key))
    }

    fn key(&self, number: u32) -> &[u8] {
        self.parts(&self.entries[number as usize]).0
    }

    fn tagged(&self, number: u32) -> &[u8] {
        self.parts(&self.entries[number as usize]).1
    }

    /// Deletes of ranges, in their order.
    pub(crate) fn deletes(&self) -> impl ExactSizeIterator<Item = &DeleteRecord> {
        self.deletes.iter().map(|deleted| &deleted.range)
    }

    /// Whether a range was deleted that covers the key, after entry `number` was added.
    fn is_deleted_after(&self, key: &[u8], number: usize) -> bool {
        let mut later = self.deletes.iter().rev().take_while(|deleted| deleted.after > number);
        later.any(|deleted| deleted.range.covers(key))
    }

    /// Whether the batch has deleted the key in a range: runs do not count for it.
    pub(crate) fn hides(&self, key: &[u8]) -> bool {
        self.deletes.iter().any(|deleted| deleted.range.covers(key))
    }

    /// Hands the records of a key to `found`, from the newest on, until it wants no older ones.
    /// Whether those of runs are wanted.
    pub(crate) fn visit<'b>(
        &'b self,
        key: &[u8],
        hash: u64,
        mut found: impl FnMut(&'b [u8]) -> bool,
    ) -> bool {
        let index = self.index.get_or_init(|| self.indexed());
        for number in index.of(hash).filter(|number| self.key(*number) == key) {
            if self.is_deleted_after(key, number as usize)
                || !found(self.parts(&self.entries[number as usize]).1)
            {
                return false;
            }
        }
        !self.hides(key)
    }

    fn indexed(&self) -> Index {
        let mut index = Index::default();
        for number in 0..self.entries.len() as u32 {
            index.add(filter::hash(self.key(number)), number);
        }
        index
    }

    /// The records that count, in key order, one of each key.
    pub(crate) fn sorted(&self) -> Result<Sorted<'_>> {
        let numbers = match (self.sorted.get(), &self.folding) {
            (Some(numbers), _) => numbers,
            (None, None) => self.sorted.get_or_init(|| self.in_key_order()),
            (None, Some(folding)) => {
                let (numbers, folded) = self.folded(&folding.operator)?;
                folding.folded.get_or_init(|| folded);
                self.sorted.get_or_init(|| numbers)
            }
        };
        Ok(Sorted { batch: self, numbers })
    }

    /// Entries in key order, with the first bytes of their keys; the newest first of a key.
    fn all_in_key_order(&self) -> Vec<(u64, u32)> {
        // Plain numbers are sorted without a branch on what they are.
        let number = |(n, entry): (usize, &Entry)| {
            u128::from(entry.prefix) << u32::BITS | u128::from(!(n as u32))
        };
        let mut all: Vec<u128> = self.entries.iter().enumerate().map(number).collect();
        all.sort_unstable();
        let parts = |both: u128| ((both >> u32::BITS) as u64, !(both as u32));
        let mut numbers: Vec<(u64, u32)> = all.into_iter().map(parts).collect();
        for alike in numbers.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            let keys = |a: u32, b: u32| self.key(a).cmp(self.key(b)).then(b.cmp(&a));
            alike.sort_unstable_by(|a, b| keys(a.1, b.1));
        }
        numbers
    }

    fn is_same_key(&self, a: &(u64, u32), b: &(u64, u32)) -> bool {
        a.0 == b.0 && self.key(a.1) == self.key(b.1)
    }

    fn in_key_order(&self) -> Vec<u32> {
        let mut numbers = self.all_in_key_order();
        numbers.dedup_by(|b, a| self.is_same_key(a, b));
        let numbers = numbers.into_iter().map(|(_, number)| number);
        if self.deletes.is_empty() {
            return numbers.collect();
        }
        numbers.filter(|n| !self.is_deleted_after(self.key(*n), *n as usize)).collect()
    }

    /// The same where there are operands, and what was folded.
    fn folded(&self, operator: &Operator) -> Result<(Vec<u32>, Vec<Folded>)> {
        let all = self.all_in_key_order();
        let (mut numbers, mut folded, mut chain) = (Vec::new(), Vec::new(), Vec::new());
        for entries in all.chunk_by(|a, b| self.is_same_key(a, b)) {
            let key = self.key(entries[0].1);
            chain.clear();
            for &(_, number) in entries {
                if self.is_deleted_after(key, number as usize) {
                    break;
                }
                chain.push(number);
                if !is_operand(self.tagged(number)) {
                    break;
                }
            }
            let Some((oldest, operands)) = chain.split_last() else { continue };
            if operands.is_empty() {
                numbers.push(*oldest);
                continue;
            }
            let mut value = self.tagged(*oldest).to_vec();
            for operand in operands.iter().rev() {
                value = operator.fold(&value, self.tagged(*operand))?;
            }
            numbers.push((self.entries.len() + folded.len()) as u32);
            folded.push((*oldest, value));
        }
        Ok((numbers, folded))
    }
}

/// The records of a batch in key order: one of each key, with tagged values.
#[derive(Clone, Copy)]
pub(crate) struct Sorted<'b> {
    batch: &'b Batch,
    numbers: &'b [u32],
}

impl<'b> Sorted<'b> {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// What folds the operands among the records.
    pub(crate) fn operator(&self) -> Option<&'b Operator> {
        self.batch.operator()
    }

    /// The lowest and the highest key.
    pub(crate) fn ends(&self) -> Option<(&'b [u8], &'b [u8])> {
        let last = self.len().checked_sub(1)?;
        Some((self.get(0).0, self.get(last).0))
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> (&'b [u8], &'b [u8]) {
        self.record(self.numbers[i])
    }

    #[inline]
    fn record(&self, number: u32) -> (&'b [u8], &'b [u8]) {
        match self.batch.entries.get(number as usize) {
            Some(entry) => self.batch.parts(entry),
            None => self.folded(number),
        }
    }

    #[cold]
    fn folded(&self, number: u32) -> (&'b [u8], &'b [u8]) {
        let folded = self.batch.folding.as_ref().and_then(|folding| folding.folded.get());
        let folded = folded.map_or(&[][..], Vec::as_slice);
        let (entry, tagged) = &folded[number as usize - self.batch.entries.len()];
        (self.batch.key(*entry), tagged)
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = (&'b [u8], &'b [u8])> {
        (0..self.len()).map(move |i| self.get(i))
    }

    /// The places of the records between bounds.
    pub(crate) fn within(&self, (from, to): (Bound<&[u8]>, Bound<&[u8]>)) -> Range<usize> {
        let from = match from {
            Bound::Included(key) => self.lower_bound(key, true),
            Bound::Excluded(key) => self.lower_bound(key, false),
            Bound::Unbounded => 0,
        };
        let to = match to {
            Bound::Included(key) => self.lower_bound(key, false),
            Bound::Excluded(key) => self.lower_bound(key, true),
            Bound::Unbounded => self.len(),
        };
        from..to.max(from)
    }

    /// The first record whose key is not below `key`, or above it.
    pub(crate) fn lower_bound(&self, key: &[u8], or_equal: bool) -> usize {
        self.numbers.partition_point(|number| {
            let known = self.record(*number).0;
            known < key || !or_equal && known == key
        })
    }
}

#[cold]
fn key_too_long(key: &[u8]) -> Error {
    let bytes = u32::try_from(key.len()).unwrap_or(u32::MAX);
    Error::KeyTooLong { bytes, max: u16::MAX.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use huon::Bytes;

    use super::*;
    use crate::operator::{Chain, Folder, Kept};
    use crate::record::tagged;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 =
                self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (self.0 >> 33) % n
        }
    }

    /// What is known of keys: a value with its tag.
    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    #[derive(Clone, Default)]
    struct State {
        keys: Model,
        ranges: Vec<DeleteRecord>,
    }

    fn append() -> Operator {
        Operator::new::<Bytes, _>("append", |a, b, both| both.set(&[a, b].concat()))
    }

    fn check(batch: &Batch, state: &State) {
        let sorted: Vec<_> = batch.sorted().unwrap().iter().collect();
        let model = state.keys.iter().map(|(key, tagged)| (&key[..], &tagged[..]));
        assert!(sorted.iter().copied().eq(model));
        let (append, kept) = (append(), Kept::default());
        let folder = Folder::new(Some(&append), &kept);
        for n in 0..300u64 {
            let key = key_of(n);
            let mut chain = Chain::default();
            let wanted = batch.visit(&key, filter::hash(&key), |tagged| chain.add(tagged));
            let known = state.keys.get(&key).map(Vec::as_slice);
            assert_eq!(folder.fold(&chain).unwrap(), known);
            let is_deleted = state.ranges.iter().any(|range| range.covers(&key));
            assert_eq!(wanted, known.is_none_or(is_operand) && !is_deleted);
            let sorted = batch.sorted().unwrap();
            let at = sorted.lower_bound(&key, true);
            assert_eq!(at, state.keys.range(..key.clone()).count());
            assert_eq!(sorted.lower_bound(&key, false), at + usize::from(known.is_some()));
        }
    }

    fn key_of(n: u64) -> Vec<u8> {
        // Some share their first eight bytes, some are shorter.
        let long = format!("common-prefix-{n:03}").into_bytes();
        if n.is_multiple_of(3) { n.to_be_bytes()[5..].to_vec() } else { long }
    }

    #[test]
    fn a_batch_does_what_the_model_does() {
        for seed in 0..20 {
            let mut random = Random(seed);
            let (mut batch, mut state) = (Batch::default(), State::default());
            let mut levels: Vec<(Mark, State)> = Vec::new();
            for step in 0..400 {
                let key = key_of(random.below(300));
                let value = vec![step as u8; random.below(30) as usize];
                match random.below(20) {
                    // In some histories nothing is merged.
                    0..=4 if seed % 4 > 0 => {
                        batch.merge(&append(), &key, &value).unwrap();
                        let operand = tagged(value, tag::OPERAND);
                        let fold = |older: &Vec<u8>| append().fold(older, &operand).unwrap();
                        let folded = state.keys.get(&key).map(fold);
                        state.keys.insert(key, folded.unwrap_or(operand));
                    }
                    0..=9 => {
                        batch.put(&key, &value).unwrap();
                        state.keys.insert(key, tagged(value, tag::PUT));
                    }
                    10..=13 => {
                        batch.delete(&key).unwrap();
                        state.keys.insert(key, vec![tag::DELETE]);
                    }
                    14 => {
                        let to = (random.below(3) > 0).then(|| key_of(random.below(300)));
                        let range = DeleteRecord { from: key, to };
                        state.keys.retain(|key, _| !range.covers(key));
                        state.ranges.push(range.clone());
                        batch.delete_range(range);
                    }
                    15 | 16 => levels.push((batch.mark(), state.clone())),
                    17 => {
                        if let Some((mark, before)) = levels.pop() {
                            batch.cut_back(mark);
                            state = before;
                        }
                    }
                    18 => drop(levels.pop()),
                    _ => check(&batch, &state),
                }
            }
            check(&batch, &state);
            let mut joined = Batch::default();
            joined.put(b"older", b"").unwrap();
            joined.append(&batch).unwrap();
            if !joined.hides(b"older") {
                state.keys.entry(b"older".to_vec()).or_insert(vec![tag::PUT]);
            }
            check(&joined, &state);
        }
    }

    #[test]
    fn prefixes_compare_as_keys_do() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"a", b"aaaaaaaa", b"aaaaaaaaa", b"b"];
        assert!(keys.windows(2).all(|pair| prefix_of(pair[0]) <= prefix_of(pair[1])));
    }
}
