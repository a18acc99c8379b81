//! Changes: one at a time in a transaction, or many that lie one behind another.
//!
//! G1. A packed change is six numbers of 32 bits in the order of the machine (what, table, flags,
//!     and the lengths of key, value and expected value, `NONE` where there is none), and the
//!     bytes of these three. It makes a group with the next one if `what` says `TOGETHER`.
//! G2. Of a group all changes are done, or none: one that is refused takes back no other group.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use huon::{Env, RawMulti, RawTable, WriteTxn};
use huon_lsm::RawLsmTable;

use crate::failure::{Failure, Result};
use crate::reading::{Bounds, Span};
use crate::state::{Handle, Slot, Writing};

/// A length that says that there is nothing.
pub(crate) const NONE: u32 = u32::MAX;
const HEAD_WORDS: usize = 6;

/// What became of a change: what it answers, or why it was refused, with its table if it was plain.
pub(crate) type Answered = std::result::Result<f64, (Failure, Option<u32>)>;

/// A change, with its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Change<'b> {
    pub(crate) what: u32,
    /// [`Bounds`] of a range of keys, where the change is of one: from `key` to `value`.
    pub(crate) flags: u32,
    pub(crate) key: &'b [u8],
    pub(crate) value: Option<&'b [u8]>,
    /// What the value must be for the change to happen.
    pub(crate) expected: Option<&'b [u8]>,
}

/// The lengths of a change's bytes.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) key: u32,
    pub(crate) value: u32,
    pub(crate) expected: u32,
}

impl Lengths {
    pub(crate) fn total(self) -> usize {
        [self.key, self.value, self.expected]
            .into_iter()
            .map(|bytes| if bytes == NONE { 0 } else { bytes as usize })
            .sum()
    }
}

impl<'b> Change<'b> {
    /// Of bytes that lie one behind another.
    pub(crate) fn of(what: u32, flags: u32, lengths: Lengths, bytes: &'b [u8]) -> Change<'b> {
        let mut rest = bytes;
        let mut part = |length: u32| {
            (length != NONE).then(|| rest.split_off(..length as usize).unwrap_or_default())
        };
        let key = part(lengths.key).unwrap_or_default();
        Change { what, flags, key, value: part(lengths.value), expected: part(lengths.expected) }
    }

    /// Does it. What the answer says depends on what it is.
    ///
    /// # Errors
    /// Those of the engine: refusals leave the transaction as it was.
    pub(crate) fn apply(&self, writing: &mut Writing, no: usize, slot: &Slot) -> Result<f64> {
        writing.table(no, slot)?;
        let answer = match &slot.handle {
            Handle::Table(table) => self.apply_to_table(&mut writing.txn, *table),
            Handle::Multi(multi) => self.apply_to_multi(&mut writing.txn, *multi),
            Handle::Lsm(table) => self.apply_to_lsm(&mut writing.txn, table),
        };
        if self.what == what::DROP {
            writing.made.clear();
        }
        answer
    }

    fn apply_to_table(&self, txn: &mut WriteTxn, table: RawTable) -> Result<f64> {
        let (key, value) = (self.key, self.value.unwrap_or_default());
        if self.expected.is_some() && table.get(txn, key)? != self.expected {
            return Ok(0.0);
        }
        let is_done = match self.what {
            what::PUT => table.put(txn, key, value).map(|_| true)?,
            what::PUT_NEW => table.put_if_absent(txn, key, value)?,
            what::UPDATE => table.update(txn, key, value)?,
            what::APPEND => table.append(txn, key, value).map(|()| true)?,
            what::REMOVE => table.remove(txn, key)?,
            what::CREATE => true,
            what::CLEAR => table.clear(txn).map(|()| true)?,
            what::DROP => table.drop_table(txn)?,
            what::REMOVE_RANGE => return Ok(table.remove_range(txn, self.span().bounds())? as f64),
            what::SEQUENCE => return Ok(table.take_sequence(txn, self.count()?)? as f64),
            _ => return Err(unknown()),
        };
        Ok(f64::from(u8::from(is_done)))
    }

    fn apply_to_multi(&self, txn: &mut WriteTxn, multi: RawMulti) -> Result<f64> {
        let (key, value) = (self.key, self.value.unwrap_or_default());
        let is_done = match self.what {
            what::PUT => multi.put(txn, key, value)?,
            what::PUT_NEW => multi.put_if_absent(txn, key, value)?,
            what::APPEND => multi.append(txn, key, value).map(|()| true)?,
            what::REMOVE if self.value.is_none() => return Ok(multi.remove_key(txn, key)? as f64),
            what::REMOVE => multi.remove(txn, key, value)?,
            what::CREATE => true,
            what::CLEAR => multi.clear(txn).map(|()| true)?,
            what::DROP => multi.drop_table(txn)?,
            what::REMOVE_RANGE => return Ok(multi.remove_range(txn, self.span().bounds())? as f64),
            what::SEQUENCE => return Ok(multi.take_sequence(txn, self.count()?)? as f64),
            _ => return Err(unknown()),
        };
        Ok(f64::from(u8::from(is_done)))
    }

    fn apply_to_lsm(&self, txn: &mut WriteTxn, table: &RawLsmTable) -> Result<f64> {
        let (key, value) = (self.key, self.value.unwrap_or_default());
        if self.what == what::PUT_UNTIL {
            let until = UNIX_EPOCH.checked_add(Duration::from_millis(number(self.expected)?));
            let until = until.ok_or_else(|| Failure::misuse("there is no such time"))?;
            table.put_until(txn, key, value, until)?;
            return Ok(1.0);
        }
        if self.expected.is_some() && table.get(txn, key)? != self.expected {
            return Ok(0.0);
        }
        let is_done = match self.what {
            what::PUT => table.put(txn, key, value).map(|()| true)?,
            what::PUT_NEW => table.put_if_absent(txn, key, value)?,
            what::UPDATE => table.update(txn, key, value)?,
            what::REMOVE => table.delete(txn, key).map(|()| true)?,
            what::REMOVE_RANGE => table.delete_range(txn, self.span().bounds()).map(|()| true)?,
            what::CLEAR => table.clear(txn).map(|()| true)?,
            what::DROP => table.drop_table(txn).map(|()| true)?,
            _ => return Err(unknown()),
        };
        Ok(f64::from(u8::from(is_done)))
    }

    fn span(&self) -> Span<'b> {
        Span::new(Bounds(self.flags), self.key, self.value.unwrap_or_default(), 0)
    }

    /// The value as a number.
    fn count(&self) -> Result<u64> {
        number(self.value)
    }
}

/// What a change is, by the numbers that JavaScript has for it.
pub(crate) mod what {
    pub(crate) const PUT: u32 = 0;
    pub(crate) const PUT_NEW: u32 = 1;
    pub(crate) const UPDATE: u32 = 2;
    pub(crate) const APPEND: u32 = 3;
    pub(crate) const REMOVE: u32 = 4;
    pub(crate) const REMOVE_RANGE: u32 = 5;
    pub(crate) const CLEAR: u32 = 6;
    pub(crate) const DROP: u32 = 7;
    pub(crate) const SEQUENCE: u32 = 8;
    pub(crate) const CREATE: u32 = 9;
    /// What is expected is the time, in milliseconds since 1970.
    pub(crate) const PUT_UNTIL: u32 = 10;

    /// Added to these: the next change belongs to the same group.
    pub(crate) const TOGETHER: u32 = 1 << 31;
    /// Added to these: its answer is wanted only if it is refused.
    pub(crate) const PLAIN: u32 = 1 << 30;
}

fn number(bytes: Option<&[u8]>) -> Result<u64> {
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_le_bytes).ok_or_else(|| Failure::misuse("a number has eight bytes"))
}

fn unknown() -> Failure {
    Failure::misuse("there is no such change")
}

/// Does packed changes (G1) in a transaction of their own.
///
/// # Errors
/// What fails all of them: nothing was done then.
pub(crate) fn commit_all(env: &Env, tables: &[Arc<Slot>], packed: &[u8]) -> Result<Vec<Answered>> {
    let mut refused = BTreeMap::new();
    loop {
        let mut writing = Writing::new(Box::new(env.write()?));
        if let Some(answers) = apply_all(&mut writing, tables, packed, &mut refused)? {
            writing.txn.commit()?;
            return Ok(answers);
        }
    }
}

/// Does packed changes one after another, but for groups that were `refused`, by the place of their
/// first change. Nothing if another group was refused in its midst: it is added to these, and the
/// transaction is to begin anew (G2).
fn apply_all(
    writing: &mut Writing,
    tables: &[Arc<Slot>],
    mut packed: &[u8],
    refused: &mut BTreeMap<usize, Failure>,
) -> Result<Option<Vec<Answered>>> {
    let (mut answers, mut group) = (Vec::new(), 0);
    while !packed.is_empty() {
        let (no, mut change) = next(&mut packed).ok_or_else(unknown)?;
        let slot = tables.get(no).ok_or_else(unknown)?;
        let plain = (change.what & what::PLAIN != 0).then_some(no as u32);
        let is_last = change.what & what::TOGETHER == 0;
        change.what &= !(what::PLAIN | what::TOGETHER);
        let answer = match refused.get(&group) {
            Some(failure) => Err(failure.clone()),
            None => change.apply(writing, no, slot),
        };
        if let Err(failure) = &answer
            && !refused.contains_key(&group)
        {
            if writing.is_broken() {
                return Err(failure.clone());
            }
            if group < answers.len() || !is_last {
                refused.insert(group, failure.clone());
                return Ok(None);
            }
        }
        answers.push(answer.map_err(|failure| (failure, plain)));
        if is_last {
            group = answers.len();
        }
    }
    Ok(Some(answers))
}

/// Splits off the first change, and the number of its table.
fn next<'b>(packed: &mut &'b [u8]) -> Option<(usize, Change<'b>)> {
    let mut words = [0; HEAD_WORDS];
    for word in &mut words {
        *word = u32::from_ne_bytes(packed.split_off(..4)?.try_into().ok()?);
    }
    let [what, table, flags, key, value, expected] = words;
    let lengths = Lengths { key, value, expected };
    let bytes = packed.split_off(..lengths.total())?;
    Some((table as usize, Change::of(what, flags, lengths, bytes)))
}

/// Puts records behind those of a table, in the order of their keys: pairs of lengths of 32 bits,
/// and the bytes of key and value.
pub(crate) fn load(writing: &mut Writing, no: usize, slot: &Slot, packed: &[u8]) -> Result<f64> {
    writing.table(no, slot)?;
    let Handle::Table(table) = slot.handle else {
        return Err(Failure::from(huon::Error::TableKind));
    };
    let (mut rest, mut count) = (packed, 0);
    table.bulk_append(&mut writing.txn, |append| {
        while let Some((key, value)) = record(&mut rest) {
            append(key, value)?;
            count += 1;
        }
        Ok(())
    })?;
    Ok(f64::from(count))
}

fn record<'b>(packed: &mut &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
    let mut length = || Some(u32::from_ne_bytes(packed.split_off(..4)?.try_into().ok()?) as usize);
    let (key, value) = (length()?, length()?);
    Some((packed.split_off(..key)?, packed.split_off(..value)?))
}
