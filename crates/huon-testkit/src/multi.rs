//! Operations on multimaps, with what the model expects of them.

use std::ops::Bound;

use huon::{RawMulti, Txn, WriteTxn};

use crate::changes::{Got, MISSING};
use crate::handle::Handle;
use crate::history::{History, Step, Stop, fail};
use crate::looks::Openable;
use crate::model::{self, Model, Record, TableId};
use crate::pairs::{self, Pairs};
use crate::program::{self, Op, PairHow};
use crate::random::digest;

/// The least that a cell holds of values: as much as the record of a tree.
const TREE_BYTES: usize = 64;
/// Both ends in turns, for [`both_ends`].
const IN_TURNS: u64 = 0x9E37_79B9_7F4C;

impl History {
    /// Performs a change of a multimap on both sides. Other operations are passed over.
    pub(crate) fn change_pairs(&mut self, op: &Op, txn: &mut WriteTxn) -> Step {
        match op {
            Op::Pair { how, table, key, value } => self.change_pair(txn, *how, *table, key, value),
            Op::Pour { .. } => self.pour(op, txn),
            Op::RemoveAll { table: id, key } => {
                let alias = digest(key).is_multiple_of(9);
                let Some(multi) = self.multi_handle(txn, *id, alias)? else { return Ok(()) };
                let found = Got::of(multi.remove_all(txn, key), Got::Count)?;
                let expected = match self.work.multi_mut(*id) {
                    None => Got::Refused(MISSING),
                    Some(pairs) => Got::Count(pairs.remove_all(key)),
                };
                self.expect("remove all", *id, found, expected)
            }
            _ => Ok(()),
        }
    }

    fn pour(&mut self, op: &Op, txn: &mut WriteTxn) -> Step {
        let Op::Pour { table: id, key, first, count, step, take } = op else { return Ok(()) };
        let Some(values) = id.values() else { return Ok(()) };
        let bytes = |model: &Model| model.multi(*id).map_or(0, |pairs| pairs.bytes_of(key));
        let had = bytes(&self.work);
        let how = if *take { PairHow::Remove } else { PairHow::Insert };
        for i in 0..*count {
            let value = program::value(values, self.page_bytes(), first + i * step);
            self.change_pair(txn, how, *id, key, &value)?;
        }
        self.counts.add("pour", 1);
        // What is surely more than a cell holds, and what is surely brought back into one.
        let left = self.work.multi(*id).map_or(0, |pairs| pairs.count_of(key));
        let is_back = had > self.page_bytes() / 2
            && left > 0
            && bytes(&self.work) + 2 * (1 + left) <= TREE_BYTES / 2;
        self.counts.add("values back in a cell", u64::from(is_back));
        Ok(())
    }

    fn multi_handle(
        &mut self,
        txn: &WriteTxn,
        id: TableId,
        alias: bool,
    ) -> Result<Option<RawMulti>, Stop> {
        Ok(self.handle(txn, id, alias)?.and_then(Handle::multi))
    }

    fn change_pair(
        &mut self,
        txn: &mut WriteTxn,
        how: PairHow,
        id: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Step {
        let alias = digest(value).is_multiple_of(9);
        let Some(multi) = self.multi_handle(txn, id, alias)? else { return Ok(()) };
        let (what, found) = match how {
            PairHow::Insert => ("insert", Got::of(multi.insert(txn, key, value), Got::Flag)),
            PairHow::InsertNew => {
                ("insert new key", Got::of(multi.insert_new(txn, key, value), Got::Flag))
            }
            PairHow::Append => {
                ("append pair", Got::of(multi.append(txn, key, value), |()| Got::Nothing))
            }
            PairHow::Set => ("set", Got::of(multi.set(txn, key, value), Got::Count)),
            PairHow::Remove => ("remove", Got::of(multi.remove(txn, key, value), Got::Flag)),
        };
        let max = (self.page_bytes() - 32) / 2 - 10;
        let expected = match self.work.multi_mut(id) {
            None => Got::Refused(MISSING),
            Some(pairs) => expect_pair(pairs, max, how, id, key, value),
        };
        self.expect(what, id, found?, expected)
    }

    /// Performs an operation that looks at a multimap; others are passed over.
    pub(crate) fn look_at_pairs<T: Openable>(&mut self, op: &Op, txn: &T, model: &Model) -> Step {
        match op {
            Op::Held { table: id, key, value } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                held(txn, multi, pairs, key, value)?;
                self.counts.add("held", 1);
            }
            Op::Values { table: id, key, from, to, ends } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                let bounds = (from.clone(), to.clone());
                let found = match (from, to) {
                    (Bound::Unbounded, Bound::Unbounded) => multi.values(txn, key)?,
                    _ => multi.values_range(txn, key, bounds)?,
                };
                let found = found.map(|value| value.map(|value| (&key[..], value)));
                both_ends(found, pairs.values_between(key, from, to), *ends, "values")?;
                self.counts.add("values", 1);
            }
            Op::Range { table: id, from, to, ends } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                let found = multi.range(txn, (from.clone(), to.clone()))?;
                both_ends(found, pairs.between(from, to), *ends, "pairs")?;
                self.counts.add("pair range", 1);
            }
            Op::Whole { table: id } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                pairs::compare(txn, multi, pairs).map_err(|mismatch| mismatch.to_string())?;
                whole(txn, multi, pairs)?;
                self.counts.add("whole multimap", 1);
            }
            _ => {}
        }
        Ok(())
    }
}

/// What a change of a pair should answer; the model follows.
fn expect_pair(
    pairs: &mut Pairs,
    max: usize,
    how: PairHow,
    id: TableId,
    key: &[u8],
    value: &[u8],
) -> Got {
    if id.order().key_bytes().is_some_and(|bytes| bytes != key.len()) {
        return Got::Refused(3);
    }
    if how == PairHow::Remove {
        return Got::Flag(pairs.remove(key, value));
    }
    if key.len() > max {
        return Got::Refused(1);
    }
    if value.len() > max {
        return Got::Refused(23);
    }
    if !pairs.takes(value) {
        return Got::Refused(24);
    }
    match how {
        PairHow::InsertNew if pairs.held(key).is_some() => Got::Flag(false),
        PairHow::Append => match pairs.is_above(key, value) {
            true => {
                pairs.insert(key, value);
                Got::Nothing
            }
            false => Got::Refused(4),
        },
        PairHow::Set => {
            let others = pairs.count_of(key) - usize::from(pairs.contains(key, value));
            pairs.remove_all(key);
            pairs.insert(key, value);
            Got::Count(others as u64)
        }
        _ => Got::Flag(pairs.insert(key, value)),
    }
}

/// A multimap and its model, if it exists.
fn open<'m, T: Openable>(
    txn: &T,
    id: TableId,
    model: &'m Model,
) -> Result<Option<(RawMulti, &'m Pairs)>, Stop> {
    match (txn.open_pairs(&id.multi_def()), model.multi(id)) {
        (Ok(Some(multi)), Some(pairs)) => {
            // What it is not is told from what it is.
            let plain = huon::TableDef::named(id.name()).ordered(id.order().order());
            match txn.open_table(&plain) {
                Err(huon::Error::TableKind) => Ok(Some((multi, pairs))),
                _ => Err(Stop::Fail(format!("{id:?} opens as an ordinary table"))),
            }
        }
        (Ok(None), None) => Ok(None),
        (Err(huon::Error::TableKind), None) if model.hides(id) => Ok(None),
        (Err(error), _) => Err(fail(error)),
        (Ok(multi), _) => Err(Stop::Fail(format!("{id:?} exists: {}", multi.is_some()))),
    }
}

/// Everything that is asked of one key.
fn held<T: Txn>(txn: &T, multi: RawMulti, pairs: &Pairs, key: &[u8], value: &[u8]) -> Step {
    let first = pairs.held(key).and_then(|held| held.values().next()).map(|pair| &pair.1[..]);
    let what = |what| Stop::Fail(format!("{what} {} {}", model::short(key), model::short(value)));
    if multi.get(txn, key)? != first {
        return Err(what("get"));
    }
    if multi.contains(txn, key, value)? != pairs.contains(key, value) {
        return Err(what("contains"));
    }
    if multi.count_of(txn, key)? != pairs.count_of(key) as u64 {
        return Err(what("count of"));
    }
    Ok(())
}

/// Takes pairs from both ends, as the bits of `ends` say.
fn both_ends<'p>(
    mut found: impl DoubleEndedIterator<Item = huon::Result<(&'p [u8], &'p [u8])>>,
    mut expected: impl DoubleEndedIterator<Item = &'p Record>,
    ends: u64,
    what: &str,
) -> Step {
    for step in 0.. {
        // Mostly one way, sometimes in turns.
        let back = match ends % 3 {
            0 => false,
            1 => true,
            _ => ends >> (step % 60) & 4 != 0,
        };
        let (next, wanted) = match back {
            true => (found.next_back(), expected.next_back()),
            false => (found.next(), expected.next()),
        };
        let next = next.transpose()?;
        model::same(next, wanted, what)?;
        if next.is_none() {
            break;
        }
    }
    Ok(())
}

/// The ends of a multimap, its keys from behind, and each key's values in turns.
fn whole<T: Txn>(txn: &T, multi: RawMulti, pairs: &Pairs) -> Step {
    model::same(multi.first(txn)?, pairs.iter().next(), "first")?;
    model::same(multi.last(txn)?, pairs.iter().next_back(), "last")?;
    let mut keys = multi.keys(txn)?;
    for ((key, _), count) in pairs.keys().rev() {
        if keys.next_back().transpose()? != Some((key, count)) {
            return Err(Stop::Fail(format!("keys from behind at {}", model::short(key))));
        }
        let all = (&Bound::Unbounded, &Bound::Unbounded);
        let found = multi.values(txn, key)?.map(|value| value.map(|value| (&key[..], value)));
        both_ends(found, pairs.values_between(key, all.0, all.1), IN_TURNS, "values")?;
    }
    if keys.next_back().is_some() {
        return Err(Stop::Fail("more keys from behind".into()));
    }
    both_ends(multi.iter(txn)?, pairs.iter(), IN_TURNS, "pairs")
}
