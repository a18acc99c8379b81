//! Operations on multimaps, with what the model expects of them.

use std::ops::Bound;

use huon::{Error, RawMulti, Txn, WriteTxn};

use crate::history::program::{self, Op, PairHow};
use crate::history::writes::{Got, MISSING};
use crate::history::{History, Step, Stop, fail};
use crate::model::handle::{Handle, slices};
use crate::model::pairs::{self, Pairs};
use crate::model::{self, KeyOrder, Model, Record, TableId};
use crate::support::random::digest;

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
                let found = Got::of(multi.remove_key(txn, key), Got::Count)?;
                let expected = match self.work.multi_mut(*id) {
                    None => Got::Refused(MISSING),
                    Some(pairs) => Got::Count(pairs.remove_all(key)),
                };
                self.expect("remove all", *id, found, expected)
            }
            Op::InsertMany { table, key, values } => self.insert_many(txn, *table, key, values),
            Op::Exchange { table, key, old, new } => {
                self.exchange(txn, *table, key, old.as_deref(), new)
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
        let left = self.work.multi(*id).map_or(0, |pairs| pairs.count_values(key));
        let is_back = had > self.page_bytes() / 2
            && left > 0
            && bytes(&self.work) + 2 * (1 + left) <= TREE_BYTES / 2;
        self.counts.add("values back in a cell", u64::from(is_back));
        Ok(())
    }

    /// One after another, where those before one that is refused are added; or all at once, where
    /// none is.
    fn insert_many(
        &mut self,
        txn: &mut WriteTxn,
        id: TableId,
        key: &[u8],
        values: &[Vec<u8>],
    ) -> Step {
        let alias = digest(key).is_multiple_of(9);
        let Some(multi) = self.multi_handle(txn, id, alias)? else { return Ok(()) };
        let at_once = !values.is_empty() && digest(key) % 5 < 3;
        let found = if at_once {
            multi.put_many(txn, key, values.iter().map(Vec::as_slice))
        } else {
            insert_all(multi, txn, key, values)
        };
        let (found, max) = (Got::of(found, Got::Count), self.value_bytes_max());
        let before = self.work.clone();
        let mut expected = Got::Count(0);
        for value in values {
            let added = match self.work.multi_mut(id) {
                None => Got::Refused(MISSING),
                Some(pairs) => expect_pair(pairs, max, PairHow::Insert, id, key, value),
            };
            match (&mut expected, added) {
                (Got::Count(count), Got::Flag(new)) => *count += u64::from(new),
                (_, refused) => {
                    self.counts.add("insert many in part", u64::from(!at_once));
                    expected = refused;
                    if at_once {
                        self.work = before;
                    }
                    break;
                }
            }
        }
        self.expect("insert many", id, found?, expected)
    }

    /// One value in the place of another, or of the only one.
    fn exchange(
        &mut self,
        txn: &mut WriteTxn,
        id: TableId,
        key: &[u8],
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Step {
        let Some(multi) = self.multi_handle(txn, id, digest(new).is_multiple_of(9))? else {
            return Ok(());
        };
        let (what, found) = match old {
            Some(old) => ("update pair", Got::of(multi.update(txn, key, old, new), Got::Flag)),
            None => {
                let change = |old: Option<&[u8]>, change: &mut huon::Change<huon::Bytes>| {
                    if old.is_some() { change.set(new) } else { Ok(()) }
                };
                ("update with", Got::of(multi.update_with(txn, key, change), Got::Flag))
            }
        };
        let max = self.value_bytes_max();
        let expected = match self.work.multi_mut(id) {
            None => Got::Refused(MISSING),
            Some(pairs) => expect_exchange(pairs, max, id, key, old, new),
        };
        if matches!(expected, Got::Flag(true)) {
            self.counts.add("exchanged", 1);
        }
        self.expect(what, id, found?, expected)
    }

    fn value_bytes_max(&self) -> usize {
        (self.page_bytes() - 32) / 2 - 10
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
            PairHow::Insert => ("insert", Got::of(multi.put(txn, key, value), Got::Flag)),
            PairHow::InsertNew => {
                ("insert new key", Got::of(multi.put_if_absent(txn, key, value), Got::Flag))
            }
            PairHow::Append => {
                ("append pair", Got::of(multi.append(txn, key, value), |()| Got::Nothing))
            }
            PairHow::Set => ("set", Got::of(multi.set(txn, key, value), Got::Count)),
            PairHow::Remove => ("remove", Got::of(multi.remove(txn, key, value), Got::Flag)),
        };
        let max = self.value_bytes_max();
        let expected = match self.work.multi_mut(id) {
            None => Got::Refused(MISSING),
            Some(pairs) => expect_pair(pairs, max, how, id, key, value),
        };
        self.expect(what, id, found?, expected)
    }

    /// Performs an operation that looks at a multimap; others are passed over.
    pub(crate) fn look_at_pairs<T: Txn>(&mut self, op: &Op, txn: &T, model: &Model) -> Step {
        match op {
            Op::Held { table: id, key, value } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                held(txn, multi, pairs, key, value)?;
                self.counts.add("held", 1);
            }
            Op::Values { table: id, key, from, to, ends } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                let bounds = slices(from, to);
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
                let found = multi.range(txn, slices(from, to))?;
                both_ends(found, pairs.between(from, to), *ends, "pairs")?;
                self.counts.add("pair range", 1);
            }
            Op::Batches { table: id, .. } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                let count = batches(txn, multi, pairs, op)?;
                self.counts.add("batches", count);
            }
            Op::Prefix { table: id, key, back } => {
                let Some((multi, pairs)) = open(txn, *id, model)? else { return Ok(()) };
                let found = multi.prefix(txn, key);
                if id.order() != KeyOrder::Bytes {
                    return match found {
                        Err(Error::PrefixOrder) => Ok(()),
                        _ => Err(Stop::Fail(format!("prefix of {id:?} was not refused"))),
                    };
                }
                let expected = pairs.iter().filter(|pair| pair.0.starts_with(key));
                both_ends(found?, expected, u64::from(*back), "prefix")?;
                self.counts.add("pair prefix", 1);
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
    if how == PairHow::Remove {
        return if id.order().key_bytes().is_some_and(|bytes| bytes != key.len()) {
            Got::Refused(3)
        } else {
            Got::Flag(pairs.remove(key, value))
        };
    }
    if let Some(refused) = refusal(pairs, max, id, key, value) {
        return refused;
    }
    match how {
        PairHow::InsertNew if pairs.held(key).is_some() => Got::Flag(false),
        PairHow::Append => {
            if pairs.is_above(key, value) {
                pairs.insert(key, value);
                Got::Nothing
            } else {
                Got::Refused(4)
            }
        }
        PairHow::Set => {
            let others = pairs.count_values(key) - usize::from(pairs.contains(key, value));
            pairs.remove_all(key);
            pairs.insert(key, value);
            Got::Count(others as u64)
        }
        _ => Got::Flag(pairs.insert(key, value)),
    }
}

/// What an exchange should answer; the model follows.
fn expect_exchange(
    pairs: &mut Pairs,
    max: usize,
    id: TableId,
    key: &[u8],
    old: Option<&[u8]>,
    new: &[u8],
) -> Got {
    let only = match (old, pairs.count_values(key)) {
        (Some(_), _) => None,
        // How many there are decides before the value is looked at.
        (None, 0) => return refused_key(max, id, key).unwrap_or(Got::Flag(false)),
        (None, 1) => pairs.held(key).and_then(|held| held.values().next()).map(|pair| &pair.1),
        (None, _) => return Got::Refused(25),
    };
    let only = only.map(|only| only.to_vec());
    let old = only.as_deref().or(old).unwrap_or_default().to_vec();
    if let Some(refused) = refusal(pairs, max, id, key, new) {
        return refused;
    }
    let there = pairs.contains(key, &old);
    if there {
        pairs.remove(key, &old);
        pairs.insert(key, new);
    }
    Got::Flag(there)
}

/// Why a pair cannot be one of this multimap, if it cannot.
fn refusal(pairs: &Pairs, max: usize, id: TableId, key: &[u8], value: &[u8]) -> Option<Got> {
    refused_key(max, id, key).or_else(|| {
        if value.len() > max {
            return Some(Got::Refused(23));
        }
        (!pairs.takes(value)).then_some(Got::Refused(24))
    })
}

/// Why a key cannot be one of this table, if it cannot.
fn refused_key(max: usize, id: TableId, key: &[u8]) -> Option<Got> {
    if id.order().key_bytes().is_some_and(|bytes| bytes != key.len()) {
        return Some(Got::Refused(3));
    }
    (key.len() > max).then_some(Got::Refused(1))
}

/// A multimap and its model, if it exists.
pub(crate) fn open<'m, T: Txn>(
    txn: &T,
    id: TableId,
    model: &'m Model,
) -> Result<Option<(RawMulti, &'m Pairs)>, Stop> {
    match (txn.open_table(&id.multi_def()), model.multi(id)) {
        (Ok(Some(multi)), Some(pairs)) => {
            // It does not open as an ordinary table.
            let def = huon::TableDef::<huon::Bytes, huon::Bytes>::named(id.name());
            let plain = def.ordered(id.order().order());
            match txn.open_table(&plain) {
                Err(huon::Error::TableKind) => Ok(Some((multi, pairs))),
                _ => Err(Stop::Fail(format!("{id:?} opens as an ordinary table"))),
            }
        }
        (Ok(None), None) => Ok(None),
        (Err(huon::Error::NameTaken), None) if model.hides(id) => Ok(None),
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
    if multi.count_values(txn, key)? != pairs.count_values(key) as u64 {
        return Err(what("count of"));
    }
    Ok(())
}

/// Takes the values of a key a page at a time, some of them one by one before; how many pages.
fn batches<T: Txn>(txn: &T, multi: RawMulti, pairs: &Pairs, op: &Op) -> Result<u64, Stop> {
    let Op::Batches { key, from, to, ends, .. } = op else { return Ok(0) };
    let mut found = multi.values_range(txn, key, slices(from, to))?;
    let mut expected = pairs.values_between(key, from, to);
    for step in 0..ends % 4 {
        let back = ends >> (8 + step) & 1 != 0;
        let (next, wanted) = if back {
            (found.next_back(), expected.next_back())
        } else {
            (found.next(), expected.next())
        };
        if next.transpose()? != wanted.map(|pair| &pair.1[..]) {
            return Err(Stop::Fail(format!("before batches of {}", model::short(key))));
        }
    }
    let most = pairs.count_values(key) + 1;
    let batches: Vec<&[u8]> = found.batches().take(most).collect::<huon::Result<_>>()?;
    let bytes = multi.value_bytes(txn)?.map(|bytes| bytes as usize);
    if bytes != pairs.value_bytes() {
        return Err(Stop::Fail(format!("values have {bytes:?}, not {:?}", pairs.value_bytes())));
    }
    let expected: Vec<&[u8]> = expected.map(|pair| &pair.1[..]).collect();
    let same = match bytes {
        None => batches.is_empty(),
        Some(bytes) => {
            let whole = |batch: &&[u8]| !batch.is_empty() && batch.len().is_multiple_of(bytes);
            batches.iter().all(whole) && batches.concat() == expected.concat()
        }
    };
    if same {
        Ok(batches.len() as u64)
    } else {
        Err(Stop::Fail(format!("batches of {}", model::short(key))))
    }
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
        let (next, wanted) = if back {
            (found.next_back(), expected.next_back())
        } else {
            (found.next(), expected.next())
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

/// Adds several values to those of a key; how many were not there.
fn insert_all(
    multi: RawMulti,
    txn: &mut WriteTxn,
    key: &[u8],
    values: &[Vec<u8>],
) -> huon::Result<u64> {
    values.iter().try_fold(0, |new, value| Ok(new + u64::from(multi.put(txn, key, value)?)))
}
