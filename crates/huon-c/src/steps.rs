//! Steps of a cursor: what it may be asked for, and how it finds that.

use crate::data::Shown;
use crate::fault::{Fault, Res};
use crate::flags::dbi::{DUPFIXED, DUPSORT};
use crate::place::{Item, Place};
use crate::table::{Dbi, Table};

/// So many bytes of values a call gives at once.
const BATCH_BYTES: usize = 4096;

/// An operation for each line: what a cursor is asked for, and its number in C.
macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What is asked of a cursor; the numbers are those of LMDB, up to 18, and libmdbx.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Op { $($(#[$doc])* $name,)* }

        impl Op {
            /// The operation of a number.
            pub fn of(number: u32) -> Option<Op> {
                match number {
                    $($number => Some(Op::$name),)*
                    _ => None,
                }
            }
        }
    };
}

ops! {
    /// The first record.
    First = 0,
    /// The first value of the cursor's key.
    FirstDup = 1,
    /// A key and value.
    GetBoth = 2,
    /// A key, and its first value that is not below the given one.
    GetBothRange = 3,
    /// The cursor's record.
    GetCurrent = 4,
    /// Many values of the cursor's key.
    GetMultiple = 5,
    /// The last record.
    Last = 6,
    /// The last value of the cursor's key.
    LastDup = 7,
    /// The next record.
    Next = 8,
    /// The next value of the cursor's key.
    NextDup = 9,
    /// Many values after the cursor's.
    NextMultiple = 10,
    /// The first record of the next key.
    NextNodup = 11,
    /// The record before the cursor's.
    Prev = 12,
    /// The value before the cursor's.
    PrevDup = 13,
    /// The last record of the key before the cursor's.
    PrevNodup = 14,
    /// A key, whose bytes the caller has.
    Set = 15,
    /// A key.
    SetKey = 16,
    /// The first key that is not below the given one.
    SetRange = 17,
    /// Many values before the cursor's.
    PrevMultiple = 18,
    /// The first record that is not below the given key, or key and value.
    SetLowerbound = 19,
    /// The first record that is above the given key, or key and value.
    SetUpperbound = 20,
}

/// What a step from a record may lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stride {
    /// Another value of its key.
    Values,
    /// Another key.
    Keys,
    /// Whatever comes next.
    All,
}

/// The steps one way, each by its [`Op::bit`].
pub(crate) struct Way {
    /// All of them.
    pub(crate) all: u16,
    /// Those that may lead to another value of the key.
    pub(crate) to_value: u16,
    /// Those that may lead to another key.
    pub(crate) to_key: u16,
}

impl Way {
    const fn of(any: Op, value: Op, key: Op) -> Way {
        let (any, value, key) = (any.bit() as u16, value.bit() as u16, key.bit() as u16);
        Way { all: any | value | key, to_value: any | value, to_key: any | key }
    }

    pub(crate) const fn towards(forward: bool) -> Way {
        if forward { FORWARD } else { BACK }
    }
}

pub(crate) const FORWARD: Way = Way::of(Op::Next, Op::NextDup, Op::NextNodup);
/// The step to the record that the cursor stands on.
pub(crate) const HERE: u16 = Op::GetCurrent.bit() as u16;
pub(crate) const BACK: Way = Way::of(Op::Prev, Op::PrevDup, Op::PrevNodup);

impl Op {
    /// Its place in a set.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it is a step forward or back, and to what; `None`: it is none.
    #[inline(always)]
    pub(crate) fn direction(self) -> Option<(bool, Stride)> {
        match self {
            Op::Next => Some((true, Stride::All)),
            Op::Prev => Some((false, Stride::All)),
            Op::NextDup => Some((true, Stride::Values)),
            Op::PrevDup => Some((false, Stride::Values)),
            Op::NextNodup => Some((true, Stride::Keys)),
            Op::PrevNodup => Some((false, Stride::Keys)),
            _ => None,
        }
    }
}

/// What a step shows: a key, and a value unless the caller's own stays as it is.
pub type Step = (Shown, Option<Shown>);

/// What a look at a cursor gives to the caller; `None` leaves the caller's own as it is.
pub struct Given {
    /// The record's key.
    pub key: Option<Shown>,
    /// Its value, or many.
    pub value: Option<Shown>,
    /// It is not what was looked for, but what comes next.
    pub is_other: bool,
}

/// Refuses what the kind of the database has no answer to.
pub(crate) fn check(op: Op, dbi: &Dbi) -> Res<()> {
    use Op::*;
    let dup = matches!(op, FirstDup | LastDup | GetBoth | GetBothRange);
    let fixed = matches!(op, GetMultiple | NextMultiple | PrevMultiple);
    if dup && dbi.flags & DUPSORT == 0 || fixed && dbi.flags & DUPFIXED == 0 {
        Err(Fault::Incompatible)
    } else {
        Ok(())
    }
}

/// What is looked for: a key, or a key and a value.
type Wanted<'w> = (Option<&'w [u8]>, Option<&'w [u8]>);

pub(crate) fn look<'t>(
    place: &mut Place,
    txn: &'t impl huon::Txn,
    dbi: &Dbi,
    op: Op,
    (key, value): Wanted<'_>,
) -> Res<Item<'t>> {
    match op {
        Op::First | Op::Last => place.edge(txn, op == Op::Last),
        Op::GetCurrent => place.current(txn),
        Op::Next | Op::Prev => place.beside(txn, op == Op::Next),
        Op::NextNodup | Op::PrevNodup => place.beside_key(txn, op == Op::NextNodup),
        Op::NextDup | Op::PrevDup => place.beside_value(txn, op == Op::NextDup),
        Op::FirstDup | Op::LastDup => place.edge_value(txn, op == Op::LastDup),
        Op::Set | Op::SetKey => {
            let key = key_of(key)?;
            let found = place.at_or_above(txn, key)?;
            let found = exact(dbi, key, found);
            if found.is_err() {
                place.miss(txn, key)?;
            }
            found
        }
        Op::SetRange => place.at_or_above(txn, key_of(key)?),
        Op::GetBoth | Op::GetBothRange => {
            let (key, value) = (key_of(key)?, value.ok_or(Fault::Invalid)?);
            let found = place.pair_at_or_above(txn, key, value);
            let found = found.and_then(|found| exact(dbi, key, found));
            if found == Err(Fault::NotFound) {
                place.behind_values(txn, key, |found| dbi.compare_keys(key, found).is_eq())?;
            }
            let found = found?;
            let same = |found: &[u8]| dbi.compare_values(value, found).is_eq();
            if op == Op::GetBothRange || found.1.is_some_and(same) {
                Ok(found)
            } else {
                Err(Fault::NotFound)
            }
        }
        Op::SetLowerbound => match value.filter(|_| place.is_multi()) {
            Some(value) => {
                let found = place.pair_at_or_above(txn, key_of(key)?, value);
                if found == Err(Fault::NotFound) {
                    let same =
                        |found: &[u8]| key.is_some_and(|key| dbi.compare_keys(key, found).is_eq());
                    place.behind_values(txn, key_of(key)?, same)?;
                }
                found
            }
            None => place.at_or_above(txn, key_of(key)?),
        },
        Op::SetUpperbound => {
            let value = value.filter(|_| place.is_multi());
            place.above(txn, key_of(key)?, value)
        }
        Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => Err(Fault::Invalid),
    }
}

/// Whether what a step found is not what it looked for, where it may be what comes next.
pub(crate) fn is_other(op: Op, dbi: &Dbi, found: Item<'_>, wanted: Wanted<'_>) -> bool {
    let (Op::SetLowerbound, Some(key)) = (op, wanted.0) else { return false };
    let other_value = || match (found.1, wanted.1) {
        (Some(found), Some(wanted)) if dbi.flags & DUPSORT != 0 => {
            dbi.compare_values(wanted, found).is_ne()
        }
        _ => false,
    };
    dbi.compare_keys(key, found.0).is_ne() || other_value()
}

/// Whether the caller gets the key that a step found. A search for a key knows it, and so does a
/// step among its values; the latter returns the key of a single value all the same.
pub(crate) fn shows_key(op: Op, dbi: &Dbi, txn: &impl huon::Txn, key: &[u8]) -> Res<bool> {
    match (op, dbi.table) {
        (Op::Set | Op::GetBoth | Op::GetBothRange, _) => Ok(false),
        (Op::FirstDup | Op::LastDup, Table::Multi(table)) => Ok(table.count_values(txn, key)? == 1),
        _ => Ok(true),
    }
}

fn key_of(key: Option<&[u8]>) -> Res<&[u8]> {
    key.ok_or(Fault::Invalid)
}

fn exact<'t>(dbi: &Dbi, key: &[u8], found: Item<'t>) -> Res<Item<'t>> {
    if dbi.compare_keys(key, found.0).is_eq() { Ok(found) } else { Err(Fault::NotFound) }
}

/// Values of the cursor's key, as many as fit, one behind the other.
pub(crate) fn multiple(
    place: &mut Place,
    batch: &mut Vec<u8>,
    txn: &impl huon::Txn,
    op: Op,
) -> Res<Given> {
    let first = match op {
        Op::NextMultiple => place.next_values(txn)?,
        Op::PrevMultiple => place.beside_value(txn, false)?,
        _ => place.current(txn)?,
    };
    let (key, value) = (Shown::of(first.0), first.1.ok_or(Fault::Invalid)?);
    batch.clear();
    batch.extend_from_slice(value);
    let forward = op != Op::PrevMultiple;
    while batch.len() + value.len() <= BATCH_BYTES {
        match place.beside_value(txn, forward) {
            Ok((_, Some(value))) => batch.extend_from_slice(value),
            Ok(_) | Err(Fault::NotFound) => break,
            Err(fault) => return Err(fault),
        }
    }
    place.is_given = true;
    if !forward {
        // They came last first.
        let mut ordered = Vec::with_capacity(batch.len());
        batch.chunks_exact(value.len()).rev().for_each(|v| ordered.extend_from_slice(v));
        *batch = ordered;
    }
    let key = (op != Op::GetMultiple).then_some(key);
    Ok(Given { key, value: Some(Shown::of(batch)), is_other: false })
}
