//! Operations that only look, in any transaction: gets, ranges, prefixes and detached scans.

use std::ops::Bound;

use huon::{Error, RawTable, Txn};

use crate::history::multimap;
use crate::history::program::Op;
use crate::history::{History, Step, Stop, fail};
use crate::model::handle::slices;
use crate::model::{self, KeyOrder, Model, Record, Records, TableId};

impl History {
    /// Performs an operation that looks; others are passed over.
    pub(crate) fn look<T: Txn>(&mut self, op: &Op, txn: &T, model: &Model) -> Step {
        match op {
            Op::Get { table: id, key } => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                let found = table.get(txn, key)?;
                let expected = records.get(&id.order().sort_key(key));
                if found != expected.map(|value| &value[..]) {
                    return Err(Stop::Fail(format!("get {id:?} {}", model::short(key))));
                }
                if table.contains(txn, key)? != expected.is_some() {
                    return Err(Stop::Fail(format!("contains {id:?} {}", model::short(key))));
                }
                beside(txn, *id, table, records, key)?;
                self.counts.add("get", 1);
            }
            Op::Range { table: id, from, to, ends } if id.values().is_none() => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                range(txn, *id, table, records, (from, to), *ends)?;
                self.counts.add("range", 1);
            }
            Op::GetMany { table: id, keys } => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                get_many(txn, *id, table, records, keys)?;
                self.counts.add("get many", 1);
                self.counts.add("many keys", keys.len() as u64);
            }
            Op::Leaves { table: id, from, to, ends } => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                let given = leaves(txn, *id, table, records, (from, to), *ends)?;
                self.counts.add("leaves", 1);
                self.counts.add("several leaves", u64::from(given > 2));
            }
            Op::Prefix { table: id, key, back } if id.values().is_none() => {
                self.prefix(txn, model, *id, key, *back)?;
            }
            Op::Whole { table: id } if id.values().is_none() => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                let hidden = if id.is_main() { model.hidden() } else { 0 };
                model::compare_table(txn, table, records, hidden)?;
                ends_of(txn, table, records)?;
                whole(txn, *id, table, records)?;
                self.counts.add("whole table", 1);
            }
            Op::Estimate { table: id, from, to } => self.estimate(txn, model, *id, (from, to))?,
            Op::ScanOpen { .. } | Op::ScanMove { .. } | Op::ScanStep { .. } => {
                self.scan(op, txn, model)?;
            }
            _ => self.look_at_pairs(op, txn, model)?,
        }
        Ok(())
    }

    fn prefix<T: Txn>(
        &mut self,
        txn: &T,
        model: &Model,
        id: TableId,
        prefix: &[u8],
        back: bool,
    ) -> Step {
        let Some((table, records)) = open(txn, id, model)? else { return Ok(()) };
        let found = table.prefix(txn, prefix);
        if id.order() != KeyOrder::Bytes {
            return match found {
                Err(Error::PrefixOrder) => Ok(()),
                _ => Err(Stop::Fail(format!("prefix of {id:?} was not refused"))),
            };
        }
        let mut found = found?;
        let expected: Vec<&Record> =
            records.iter().filter(|record| record.0.starts_with(prefix)).collect();
        for i in 0..=expected.len() {
            let (next, wanted) = if !back {
                (found.next(), expected.get(i).copied())
            } else {
                (found.next_back(), expected.iter().rev().nth(i).copied())
            };
            model::same(next.transpose()?, wanted, "prefix")?;
        }
        self.counts.add("prefix", 1);
        Ok(())
    }

    /// An estimate promises no more than its limits: nothing outside of what there is, nothing of
    /// what is empty.
    fn estimate<T: Txn>(
        &mut self,
        txn: &T,
        model: &Model,
        id: TableId,
        (from, to): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    ) -> Step {
        let (sorted_from, sorted_to) =
            [from, to].map(|bound| bound.clone().map(|key| id.order().sort_key(&key))).into();
        let range = slices(from, to);
        let hidden = if id.is_main() { model.hidden() } else { 0 };
        let about = match id.values() {
            None => match open(txn, id, model)? {
                Some((table, _)) => table.estimate(txn, range)?,
                None => return Ok(()),
            },
            Some(_) => match multimap::open(txn, id, model)? {
                Some((multi, _)) => multi.estimate(txn, range)?,
                None => return Ok(()),
            },
        };
        let most = if model::is_reversed(&sorted_from, &sorted_to) {
            0
        } else {
            (model.count_in(id) + hidden) as u64
        };
        let is_all = matches!((from, to), (Bound::Unbounded, Bound::Unbounded));
        if about > most || is_all && (about == 0) != (most == 0) {
            return Err(Stop::Fail(format!("estimate of {id:?} is {about} of {most}")));
        }
        self.counts.add("estimate", 1);
        Ok(())
    }
}

/// A table and its model, if it exists.
pub(crate) fn open<'m, T: Txn>(
    txn: &T,
    id: TableId,
    model: &'m Model,
) -> Result<Option<(RawTable, &'m Records)>, Stop> {
    match (txn.open_table(&id.def()), model.table(id)) {
        (Ok(Some(table)), Some(records)) => Ok(Some((table, records))),
        (Ok(None), None) => Ok(None),
        (Err(Error::NameTaken), None) if model.hides(id) => Ok(None),
        (Err(error), _) => Err(fail(error)),
        (Ok(table), _) => Err(Stop::Fail(format!("{id:?} exists: {}", table.is_some()))),
    }
}

/// The records at a key, or next to it.
fn beside<T: Txn>(txn: &T, id: TableId, table: RawTable, records: &Records, key: &[u8]) -> Step {
    let at = || Bound::Included(id.order().sort_key(key));
    let above = records.between(at(), Bound::Unbounded).next().map(|(_, record)| record);
    let below = records.between(Bound::Unbounded, at()).next_back().map(|(_, record)| record);
    model::same(table.at_or_above(txn, key)?, above, "at or above")?;
    model::same(table.at_or_below(txn, key)?, below, "at or below")?;
    Ok(())
}

/// Takes a range from both ends, as the bits of `ends` say.
fn range<T: Txn>(
    txn: &T,
    id: TableId,
    table: RawTable,
    records: &Records,
    (from, to): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    ends: u64,
) -> Step {
    let mut found = table.range(txn, slices(from, to))?;
    let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| id.order().sort_key(&key));
    let mut expected = records.between(sorted(from), sorted(to)).map(|(_, record)| record);
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
        model::same(next, wanted, "range")?;
        if next.is_none() {
            break;
        }
    }
    Ok(())
}

/// Gets many keys, each of which must be what the model says, in their order.
fn get_many<T: Txn>(
    txn: &T,
    id: TableId,
    table: RawTable,
    records: &Records,
    keys: &[Vec<u8>],
) -> Step {
    let mut found = Vec::new();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    table.get_many(txn, &slices, |i, value| found.push((i, value)))?;
    if found.len() != keys.len() {
        return Err(Stop::Fail(format!("get_many gave {} of {}", found.len(), keys.len())));
    }
    for (n, (key, (i, value))) in keys.iter().zip(found).enumerate() {
        let expected = records.get(&id.order().sort_key(key));
        if i != n || value != expected.map(|value| &value[..]) {
            return Err(Stop::Fail(format!("get_many {id:?}: key {n}, {}", model::short(key))));
        }
    }
    Ok(())
}

/// Takes a range a leaf at a time from both ends, as the bits of `ends` say, some records of it one
/// by one before; how many leaves there were.
fn leaves<T: Txn>(
    txn: &T,
    id: TableId,
    table: RawTable,
    records: &Records,
    (from, to): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    ends: u64,
) -> Result<usize, Stop> {
    let mut range = table.range(txn, slices(from, to))?;
    let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| id.order().sort_key(&key));
    let mut expected = records.between(sorted(from), sorted(to)).map(|(_, record)| record);
    let is_back = |step: usize| match ends % 3 {
        0 => false,
        1 => true,
        _ => ends >> (step % 60) & 4 != 0,
    };
    for step in 0..(ends >> 8) as usize % 4 {
        if is_back(step) {
            model::same(range.next_back().transpose()?, expected.next_back(), "before")?;
        } else {
            model::same(range.next().transpose()?, expected.next(), "before")?;
        }
    }
    let mut leaves = range.leaves();
    for step in 0.. {
        let back = is_back(step + 7);
        let leaf = if back { leaves.next_back() } else { leaves.next() };
        let Some(leaf) = leaf.transpose()? else {
            model::same(None, expected.next(), "leaves")?;
            return Ok(step);
        };
        if leaf.is_empty() || leaf.get(leaf.len())?.is_some() || leaf.iter().len() != leaf.len() {
            return Err(Stop::Fail(format!("a leaf of {:?} of {} records", id, leaf.len())));
        }
        let by_number = (0..leaf.len()).map(|i| leaf.get(i).transpose().expect("it has as many"));
        let mut found: Vec<_> = by_number.collect::<huon::Result<_>>()?;
        let mut walked: Vec<_> = match ends >> 12 & 1 {
            0 => leaf.iter().collect::<huon::Result<_>>()?,
            _ => leaf.iter().rev().collect::<huon::Result<_>>()?,
        };
        if ends >> 12 & 1 == 1 {
            walked.reverse();
        }
        if walked != found {
            return Err(Stop::Fail(format!("a leaf of {id:?} is not what it was")));
        }
        if back {
            found.reverse();
        }
        for record in found {
            let wanted = if back { expected.next_back() } else { expected.next() };
            model::same(Some(record), wanted, "leaves")?;
        }
    }
    Ok(0)
}

/// All records again, side by side and a leaf at a time.
fn whole<T: Txn>(txn: &T, id: TableId, table: RawTable, records: &Records) -> Step {
    let keys: Vec<Vec<u8>> = records.iter().map(|(key, _)| key.to_vec()).collect();
    get_many(txn, id, table, records, &keys)?;
    let all = (&Bound::Unbounded, &Bound::Unbounded);
    (0..2).try_for_each(|ends| leaves(txn, id, table, records, all, ends).map(drop))
}

fn ends_of<T: Txn>(txn: &T, table: RawTable, records: &Records) -> Step {
    model::same(table.first(txn)?, records.iter().next(), "first")?;
    model::same(table.last(txn)?, records.iter().next_back(), "last")?;
    let (mut cursor, mut other) = (table.cursor(), table.cursor());
    other.to_end();
    for (record, last) in records.iter().zip(records.iter().rev()).take(5) {
        model::same(other.prev(txn)?, Some(last), "another cursor")?;
        model::same(cursor.next(txn)?, Some(record), "cursor")?;
        model::same(cursor.clone().prev(txn)?, Some(record), "a copy of a cursor")?;
        let mut copy = other.clone();
        copy.seek(&record.0)?;
        model::same(copy.next(txn)?, Some(record), "a copy of a cursor")?;
        model::same(other.clone().next(txn)?, Some(last), "another cursor")?;
    }
    Ok(())
}
