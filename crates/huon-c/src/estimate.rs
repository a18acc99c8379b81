//! How many records lie between two places of a table, roughly.
//!
//! Few are counted; of many the engine says about how many there are, without reading them.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use huon::RawMulti;

use crate::cursor::Cursor;
use crate::fault::{Fault, Res};
use crate::in_txn;
use crate::inside::View;
use crate::place::Place;
use crate::steps::{self, Given, Op};
use crate::table::{Dbi, Table};
use crate::txn::Txn;

/// So many records are counted one by one where a key may have many values.
const COUNTED_MAX: u64 = 256;

/// A place in a table: before a record, whether it is there or not, or behind all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Before the first value of a key, or before one of them.
    Before(Vec<u8>, Option<Vec<u8>>),
    /// Behind the last record.
    End,
}

/// Says about how many records lie from one place to another; less than none, if the second one is
/// before the first. `None`: the beginning of the table.
pub fn between(txn: &Txn, dbi: u32, from: Option<&Spot>, to: &Spot) -> Res<i64> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    let count = match from {
        Some(from) if compare(known, from, to).is_gt() => -upwards(known, view, Some(to), from)?,
        from => upwards(known, view, from, to)?,
    };
    Ok(count)
}

/// How many values a key has.
pub fn values_of(txn: &Txn, dbi: u32, key: &[u8]) -> Res<u64> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    in_txn!(view, txn => Ok(match known.table {
        Table::Main(table) | Table::Plain(table) => u64::from(table.get(txn, key)?.is_some()),
        Table::Multi(table) => table.count_values(txn, key)?,
    }))
}

/// The place of the first record, or the last one; `None` if there is none.
pub fn edge(txn: &Txn, dbi: u32, last: bool) -> Res<Option<Spot>> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    let mut place = Place::new(known.table);
    in_txn!(view, txn => match place.edge(txn, last) {
        Ok(_) => spot(&mut place, txn).map(Some),
        Err(Fault::NotFound) => Ok(None),
        Err(fault) => Err(fault),
    })
}

impl Cursor {
    /// Where it stands.
    pub fn spot(&self) -> Res<Spot> {
        self.look(|place, _, view| {
            let mut place = place.clone();
            in_txn!(view, txn => spot(&mut place, txn))
        })
    }

    /// What a step would find, and where it would lead.
    pub fn ahead(
        &self,
        op: Op,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Res<(Option<Given>, Spot)> {
        self.look(|_, known, _| steps::check(op, known))?;
        // Several values would be a copy of the cursor's that goes ahead; the first one is no
        // further away, and lies in the file.
        let op = match op {
            Op::NextMultiple => Op::NextDup,
            Op::PrevMultiple => Op::PrevDup,
            op => op,
        };
        let ahead = Arc::new(Cursor::new());
        Cursor::copy(self, &ahead)?;
        match ahead.get(op, key, value) {
            Ok(given) => Ok((Some(given), ahead.spot()?)),
            Err(Fault::NotFound) => Ok((None, ahead.spot()?)),
            Err(fault) => Err(fault),
        }
    }
}

fn spot(place: &mut Place, txn: &impl huon::Txn) -> Res<Spot> {
    match place.current(txn) {
        Ok((key, value)) => Ok(Spot::Before(key.to_vec(), value.map(<[u8]>::to_vec))),
        Err(Fault::NotFound) => match place.beside(txn, true) {
            // Behind the values of a key.
            Ok((key, value)) => Ok(Spot::Before(key.to_vec(), value.map(<[u8]>::to_vec))),
            Err(Fault::NotFound) => Ok(Spot::End),
            Err(fault) => Err(fault),
        },
        Err(fault) => Err(fault),
    }
}

fn compare(dbi: &Dbi, a: &Spot, b: &Spot) -> Ordering {
    match (a, b) {
        (Spot::End, Spot::End) => Ordering::Equal,
        (Spot::End, _) => Ordering::Greater,
        (_, Spot::End) => Ordering::Less,
        (Spot::Before(a_key, a), Spot::Before(b_key, b)) => {
            dbi.compare_keys(a_key, b_key).then_with(|| match (a, b) {
                (Some(a), Some(b)) if dbi.is_multi() => dbi.compare_values(a, b),
                _ => Ordering::Equal,
            })
        }
    }
}

fn upwards(dbi: &Dbi, view: View<'_>, from: Option<&Spot>, to: &Spot) -> Res<i64> {
    let key = |spot: &Spot| match spot {
        Spot::Before(key, _) => Some(key.clone()),
        Spot::End => None,
    };
    if from == Some(&Spot::End) {
        return Ok(0);
    }
    let (first, end) = (from.and_then(key), key(to));
    in_txn!(view, txn => {
        let count = match dbi.table {
            Table::Multi(table) => match counted(dbi, txn, from, to)? {
                Some(count) => count,
                None => pairs(table, dbi, txn, from, to)?.max(COUNTED_MAX),
            },
            Table::Main(table) | Table::Plain(table) => match (first, end) {
                (None, None) => table.len(txn)?,
                (first, end) => {
                    let (first, end) = (first.as_deref(), end.as_deref());
                    table.estimate(txn, between_keys(first, end, Bound::Included))?
                }
            },
        };
        Ok(count as i64)
    })
}

type Keys<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// The keys from one on, in a way, up to another one.
fn between_keys<'k>(
    first: Option<&'k [u8]>,
    end: Option<&'k [u8]>,
    from: impl FnOnce(&'k [u8]) -> Bound<&'k [u8]>,
) -> Keys<'k> {
    (first.map_or(Bound::Unbounded, from), end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// A key, and perhaps a value.
fn parts(spot: &Spot) -> Option<(&[u8], Option<&[u8]>)> {
    match spot {
        Spot::Before(key, value) => Some((key, value.as_deref())),
        Spot::End => None,
    }
}

fn lower(value: Option<&[u8]>) -> Bound<&[u8]> {
    value.map_or(Bound::Unbounded, Bound::Included)
}

/// About how many pairs there are: of the first key, of the keys between, and of the last key.
fn pairs(
    table: RawMulti,
    dbi: &Dbi,
    txn: &impl huon::Txn,
    from: Option<&Spot>,
    to: &Spot,
) -> Res<u64> {
    let (first, end) = (from.and_then(parts), parts(to));
    match (first, end) {
        (None, None) => Ok(table.len(txn)?),
        (Some((key, value)), Some((last, of))) if dbi.compare_keys(key, last).is_eq() => {
            let Some(of) = of else { return Ok(0) };
            Ok(table.estimate_values(txn, key, (lower(value), Bound::Excluded(of)))?)
        }
        (first, end) => {
            let keys =
                between_keys(first.map(|first| first.0), end.map(|end| end.0), Bound::Excluded);
            let mut count = table.estimate(txn, keys)?;
            if let Some((key, value)) = first {
                count += table.estimate_values(txn, key, (lower(value), Bound::Unbounded))?;
            }
            if let Some((key, Some(value))) = end {
                count +=
                    table.estimate_values(txn, key, (Bound::Unbounded, Bound::Excluded(value)))?;
            }
            Ok(count)
        }
    }
}

/// How many there are, unless they are many.
fn counted(dbi: &Dbi, txn: &impl huon::Txn, from: Option<&Spot>, to: &Spot) -> Res<Option<u64>> {
    let mut place = Place::new(dbi.table);
    let mut found = match from {
        None => place.edge(txn, false),
        Some(Spot::Before(key, Some(value))) => place.pair_at_or_above(txn, key, value),
        Some(Spot::Before(key, None)) => place.at_or_above(txn, key),
        Some(Spot::End) => return Ok(Some(0)),
    };
    for count in 0..COUNTED_MAX {
        let reached = match (found, to) {
            (Err(Fault::NotFound), _) => true,
            (Err(fault), _) => return Err(fault),
            (Ok(_), Spot::End) => false,
            (Ok((key, value)), Spot::Before(end, of)) => {
                let values = || match (value, of) {
                    (Some(value), Some(of)) => dbi.compare_values(value, of),
                    _ => Ordering::Equal,
                };
                dbi.compare_keys(key, end).then_with(values).is_ge()
            }
        };
        if reached {
            return Ok(Some(count));
        }
        found = place.beside(txn, true);
    }
    Ok(None)
}
