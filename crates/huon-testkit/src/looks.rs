//! Operations that only look, in any transaction: gets, ranges, prefixes and detached scans.

use std::ops::Bound;

use huon::{Bytes, Error, MultiDef, RawMulti, RawTable, Scan, TableDef, Txn};

use crate::history::{History, Step, Stop, fail};
use crate::model::{self, KeyOrder, Model, Record, Records, TableId};
use crate::program::{Goal, Op};

/// Where a scan stands, in sort keys: always between two records.
#[derive(Clone, Debug)]
enum Gap {
    Start,
    End,
    Before(Vec<u8>),
    After(Vec<u8>),
}

/// A detached scan and where it should stand.
pub(crate) struct ScanState {
    pub(crate) client: usize,
    id: TableId,
    scan: Scan<Bytes, Bytes>,
    gap: Gap,
}

impl Gap {
    /// The next record in a direction, and the gap beyond it.
    fn step<'r>(&self, records: &'r Records, back: bool) -> (Option<&'r Record>, Gap) {
        use Bound::{Excluded, Included, Unbounded};
        let mut range = match (self, back) {
            (Gap::Start, false) | (Gap::End, true) => records.between(Unbounded, Unbounded),
            (Gap::Start, true) => return (None, Gap::Start),
            (Gap::End, false) => return (None, Gap::End),
            (Gap::Before(key), false) => records.between(Included(key.clone()), Unbounded),
            (Gap::Before(key), true) => records.between(Unbounded, Excluded(key.clone())),
            (Gap::After(key), false) => records.between(Excluded(key.clone()), Unbounded),
            (Gap::After(key), true) => records.between(Unbounded, Included(key.clone())),
        };
        match if back { range.next_back() } else { range.next() } {
            Some((key, record)) if back => (Some(record), Gap::Before(key.clone())),
            Some((key, record)) => (Some(record), Gap::After(key.clone())),
            None => (None, self.clone()),
        }
    }
}

impl History {
    /// Performs an operation that looks; others are passed over.
    pub(crate) fn look<T: Openable>(&mut self, op: &Op, txn: &T, model: &Model) -> Step {
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
            Op::Prefix { table: id, key, back } => self.prefix(txn, model, *id, key, *back)?,
            Op::Whole { table: id } if id.values().is_none() => {
                let Some((table, records)) = open(txn, *id, model)? else { return Ok(()) };
                let hidden = if id.is_main() { model.named().count() } else { 0 };
                model::compare_table(txn, table, records, hidden)?;
                ends_of(txn, table, records)?;
                whole(txn, *id, table, records)?;
                self.counts.add("whole table", 1);
            }
            Op::ScanOpen { scan, table: id } => {
                if let Some((table, _)) = open(txn, *id, model)? {
                    let state = ScanState {
                        client: self.client,
                        id: *id,
                        scan: table.scan(),
                        gap: Gap::Start,
                    };
                    self.scans[usize::from(*scan)] = Some(state);
                    self.counts.add("scan open", 1);
                }
            }
            Op::ScanMove { scan, goal } => self.scan_move(usize::from(*scan), goal),
            Op::ScanStep { scan, back, steps, reader } => {
                let index = usize::from(*scan);
                let mine = self.scans[index].as_ref().is_some_and(|s| s.client == self.client);
                if *reader {
                    let walked = self.with_reader(index, |history, txn, model| {
                        history.scan_step(index, txn, model, *back, *steps)
                    })?;
                    self.counts.add("scan by reader", u64::from(walked));
                } else if mine {
                    self.scan_step(index, txn, model, *back, *steps)?;
                }
            }
            _ => self.look_at_pairs(op, txn, model)?,
        }
        Ok(())
    }

    fn prefix<T: Openable>(
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
                Err(Error::TableKind) => Ok(()),
                _ => Err(Stop::Fail(format!("prefix of {id:?} was not refused"))),
            };
        }
        let mut found = found?;
        let expected: Vec<&Record> =
            records.iter().filter(|record| record.0.starts_with(prefix)).collect();
        for i in 0..=expected.len() {
            let (next, wanted) = match back {
                false => (found.next(), expected.get(i).copied()),
                true => (found.next_back(), expected.iter().rev().nth(i).copied()),
            };
            model::same(next.transpose()?, wanted, "prefix")?;
        }
        self.counts.add("prefix", 1);
        Ok(())
    }

    fn scan_move(&mut self, scan: usize, goal: &Goal) {
        let Some(state) = &mut self.scans[scan] else { return };
        let order = state.id.order();
        match goal {
            Goal::Start => {
                state.scan.to_start();
                state.gap = Gap::Start;
            }
            Goal::End => {
                state.scan.to_end();
                state.gap = Gap::End;
            }
            Goal::Before(key) => {
                state.scan.seek(key);
                state.gap = Gap::Before(order.sort_key(key));
            }
            Goal::After(key) => {
                state.scan.seek_after(key);
                state.gap = Gap::After(order.sort_key(key));
            }
        }
        self.counts.add("scan move", 1);
    }

    fn scan_step<T: Txn>(
        &mut self,
        scan: usize,
        txn: &T,
        model: &Model,
        back: bool,
        steps: u8,
    ) -> Step {
        let Some(state) = &mut self.scans[scan] else { return Ok(()) };
        for _ in 0..steps {
            let found = if back { state.scan.prev(txn) } else { state.scan.next(txn) };
            let Some(records) = model.table(state.id) else {
                return match found {
                    Err(Error::TableMissing) => Ok(()),
                    Err(Error::TableKind) if model.hides(state.id) => Ok(()),
                    Err(error) => Err(fail(error)),
                    Ok(_) => Err(Stop::Fail("a scan found something in no table".into())),
                };
            };
            let (expected, gap) = state.gap.step(records, back);
            let what = if back { "scan back" } else { "scan" };
            let what = format!("{what} {scan} of {:?} from {:?}", state.id, short_gap(&state.gap));
            model::same(found?, expected, &what)?;
            state.gap = gap;
        }
        self.counts.add(if back { "scan back" } else { "scan forward" }, u64::from(steps));
        Ok(())
    }
}

fn short_gap(gap: &Gap) -> String {
    match gap {
        Gap::Start => "start".into(),
        Gap::End => "end".into(),
        Gap::Before(key) => format!("before {}", model::short(key)),
        Gap::After(key) => format!("after {}", model::short(key)),
    }
}

/// A transaction that opens tables.
pub(crate) trait Openable: Txn {
    fn open_table(&self, def: &TableDef<Bytes, Bytes>) -> huon::Result<Option<RawTable>>;
    fn open_pairs(&self, def: &MultiDef<Bytes, Bytes>) -> huon::Result<Option<RawMulti>>;
}

impl Openable for huon::ReadTxn {
    fn open_table(&self, def: &TableDef<Bytes, Bytes>) -> huon::Result<Option<RawTable>> {
        self.open(def)
    }

    fn open_pairs(&self, def: &MultiDef<Bytes, Bytes>) -> huon::Result<Option<RawMulti>> {
        self.open_multi(def)
    }
}

impl Openable for huon::WriteTxn {
    fn open_table(&self, def: &TableDef<Bytes, Bytes>) -> huon::Result<Option<RawTable>> {
        self.open(def)
    }

    fn open_pairs(&self, def: &MultiDef<Bytes, Bytes>) -> huon::Result<Option<RawMulti>> {
        self.open_multi(def)
    }
}

/// A table and its model, if it exists.
fn open<'m, T: Openable>(
    txn: &T,
    id: TableId,
    model: &'m Model,
) -> Result<Option<(RawTable, &'m Records)>, Stop> {
    match (txn.open_table(&id.def()), model.table(id)) {
        (Ok(Some(table)), Some(records)) => Ok(Some((table, records))),
        (Ok(None), None) => Ok(None),
        (Err(Error::TableKind), None) if model.hides(id) => Ok(None),
        (Err(error), _) => Err(fail(error)),
        (Ok(table), _) => Err(Stop::Fail(format!("{id:?} exists: {}", table.is_some()))),
    }
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
    let mut found = table.range(txn, (from.clone(), to.clone()))?;
    let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| id.order().sort_key(&key));
    let mut expected = records.between(sorted(from), sorted(to)).map(|(_, record)| record);
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
    table.get_many(txn, keys, |i, value| found.push((i, value)))?;
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
    let mut range = table.range(txn, (from.clone(), to.clone()))?;
    let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| id.order().sort_key(&key));
    let mut expected = records.between(sorted(from), sorted(to)).map(|(_, record)| record);
    let is_back = |step: usize| match ends % 3 {
        0 => false,
        1 => true,
        _ => ends >> (step % 60) & 4 != 0,
    };
    for step in 0..(ends >> 8) as usize % 4 {
        match is_back(step) {
            true => model::same(range.next_back().transpose()?, expected.next_back(), "before")?,
            false => model::same(range.next().transpose()?, expected.next(), "before")?,
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
    let mut cursor = table.cursor(txn)?;
    for record in records.iter().take(5) {
        model::same(cursor.peek_next()?, Some(record), "cursor")?;
        model::same(cursor.next()?, Some(record), "cursor")?;
        model::same(cursor.peek_prev()?, Some(record), "cursor")?;
    }
    Ok(())
}
