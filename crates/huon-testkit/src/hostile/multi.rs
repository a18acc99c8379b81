//! Everything that can be done with a multimap, whatever is in it; see [`super::attempt`].

use std::ops::Bound;

use huon::{Bytes, Error, MultiDef, Order, RawMulti, ReadTxn, Txn, WriteTxn};

use super::attempt::{Outcome, kept_and_undone};
use super::pairs::{KEYS, MULTIS, value};

/// A walk of a hostile multimap goes through one tree of values as often as it is named: so each is
/// left after so many steps.
const STEPS_MAX: usize = 3000;

type Found<'t> = Result<(&'t [u8], &'t [u8]), Error>;

/// A multimap as it is stored, whatever its values are.
fn stored(name: &[u8]) -> MultiDef<Bytes, Bytes> {
    MultiDef::named(name).ordered(Order::Stored).values_ordered(Order::Stored)
}

/// Opens a multimap of a write transaction.
pub(super) fn open(txn: &WriteTxn, multi: usize) -> Result<Option<RawMulti>, Error> {
    txn.open_table(&stored(MULTIS[multi].as_bytes()))
}

impl Outcome {
    /// Reads the multimap called `name` in every way.
    pub(super) fn multi(&mut self, txn: &ReadTxn, name: &[u8]) {
        if let Some(Some(table)) = self.of(txn.open_table(&stored(name))) {
            self.pairs(txn, table);
        }
    }

    fn pairs(&mut self, txn: &impl Txn, table: RawMulti) {
        let mut met: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        if let Some(pairs) = self.of(table.iter(txn)) {
            let noted = pairs.inspect(|pair| {
                if let (Ok((key, value)), true) = (pair, met.len() < 30) {
                    met.push((key.to_vec(), value.to_vec()));
                }
            });
            self.walk(noted);
        }
        let back = self.of(table.iter(txn));
        back.into_iter().for_each(|pairs| self.walk(pairs.rev()));
        let mut keys: Vec<Vec<u8>> = KEYS.map(<[u8]>::to_vec).into();
        if let Some(all) = self.of(table.keys(txn)) {
            for key in all.take(STEPS_MAX) {
                let Some((key, _)) = self.of(key) else { break };
                keys.push(key.to_vec());
            }
        }
        if let Some(all) = self.of(table.keys(txn)) {
            self.walk(all.rev().map(|key| key.map(|(key, _)| (key, key))));
        }
        self.of(table.first(txn));
        self.of(table.last(txn));
        self.of(table.len(txn));
        for (key, value) in &met {
            self.of(table.contains(txn, key, value));
            let half = self.of(table.values_range(txn, key, &value[..]..));
            half.into_iter().for_each(|values| self.values(values));
            let bounds = (Bound::Unbounded, Bound::Excluded(&value[..]));
            let half = self.of(table.values_range(txn, key, bounds));
            half.into_iter().for_each(|values| self.values(values.rev()));
            let half = self.of(table.range(txn, &key[..]..));
            half.into_iter().for_each(|pairs| self.walk(pairs.take(50)));
        }
        for key in keys.iter().take(40) {
            self.of(table.get(txn, key));
            self.of(table.count_values(txn, key));
            let values = self.of(table.values(txn, key));
            values.into_iter().for_each(|values| self.values(values));
        }
    }

    fn values<'t>(&mut self, values: impl Iterator<Item = Result<&'t [u8], Error>>) {
        self.walk(values.map(|value| value.map(|value| (value, value))));
    }

    fn walk<'t>(&mut self, pairs: impl Iterator<Item = Found<'t>>) {
        self.drain(pairs.take(STEPS_MAX), STEPS_MAX);
    }
}

pub(super) type Act = fn(RawMulti, &mut WriteTxn, usize) -> Result<(), Error>;

pub(super) const ACTS: [Act; 9] =
    [insert, look, remove, set, append, nested, remove_all, remove_range, drop_table];

fn values(multi: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..60).map(move |n| value(multi, n * 3, 512))
}

pub(super) fn insert(table: RawMulti, txn: &mut WriteTxn, multi: usize) -> Result<(), Error> {
    for key in KEYS.into_iter().chain([&b"another"[..]]) {
        values(multi).try_for_each(|value| table.put(txn, key, &value).map(drop))?;
    }
    let long = if multi == 0 { vec![b'z'; 60] } else { vec![0xFF; 4] };
    table.put_if_absent(txn, b"new", &long).map(drop)
}

/// Everything again, among pages that the transaction has written.
fn look(table: RawMulti, txn: &mut WriteTxn, _: usize) -> Result<(), Error> {
    let mut outcome = Outcome::default();
    outcome.pairs(txn, table);
    if outcome.errors > 0 { Err(Error::Invalid("damage")) } else { Ok(()) }
}

pub(super) fn remove(table: RawMulti, txn: &mut WriteTxn, multi: usize) -> Result<(), Error> {
    for key in KEYS {
        values(multi).step_by(2).try_for_each(|value| table.remove(txn, key, &value).map(drop))?;
        // From the front until none is left, or the transaction has had enough.
        for _ in 0..300 {
            let Some(first) = table.get(txn, key)?.map(<[u8]>::to_vec) else { break };
            table.remove(txn, key, &first)?;
        }
    }
    Ok(())
}

fn set(table: RawMulti, txn: &mut WriteTxn, multi: usize) -> Result<(), Error> {
    KEYS.into_iter().try_for_each(|key| table.set(txn, key, &value(multi, 3, 512)).map(drop))
}

fn append(table: RawMulti, txn: &mut WriteTxn, multi: usize) -> Result<(), Error> {
    let (key, mut last) = ([0xFF; 100], vec![0xFF; 4]);
    for byte in 0xF0..0xFF {
        last[3] = byte;
        table.append(txn, &key, &last)?;
    }
    table.append(txn, &key, &if multi == 0 { vec![0xFF; 40] } else { vec![0xFF; 4] })
}

fn nested(table: RawMulti, txn: &mut WriteTxn, multi: usize) -> Result<(), Error> {
    kept_and_undone(
        txn,
        |txn| insert(table, txn, multi),
        |txn| table.remove_range(txn, ..).map(drop),
    )
}

pub(super) fn remove_all(table: RawMulti, txn: &mut WriteTxn, _: usize) -> Result<(), Error> {
    KEYS.into_iter().try_for_each(|key| table.remove_key(txn, key).map(drop))
}

pub(super) fn remove_range(table: RawMulti, txn: &mut WriteTxn, _: usize) -> Result<(), Error> {
    table.remove_range(txn, &b"b"[..]..&b"g"[..])?;
    table.remove_range(txn, ..).map(drop)
}

pub(super) fn clear(table: RawMulti, txn: &mut WriteTxn, _: usize) -> Result<(), Error> {
    table.clear(txn)
}

pub(super) fn drop_table(table: RawMulti, txn: &mut WriteTxn, _: usize) -> Result<(), Error> {
    table.drop_table(txn).map(drop)
}
