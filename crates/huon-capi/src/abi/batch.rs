//! Many records in one call: a binding pays for each crossing.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use huon::{Error, WriteTxn};

use super::def::huon_table;
use super::range::{huon_range, within};
use super::txn::{COPIED_BYTES_MAX, huon_txn, in_view, write};
use crate::border::{Fault, Res, border, done, give, wanted};
use crate::bytes::{copy, huon_bytes, huon_pair, items, nothing, room, shown, shown_pair};

/// The values of many keys, several times cheaper than one after another: their ways through memory
/// overlap. `values` has room for as many as there are keys; `data` of one is NULL where its key is
/// not there. `found`, which may be NULL, tells how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_many(
    txn: *mut huon_txn,
    table: huon_table,
    keys: *const huon_bytes<'_>,
    count: usize,
    values: *mut huon_bytes<'static>,
    found: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_get_many", || {
        // SAFETY: A2.
        let (keys, values) = unsafe { (items(keys, count)?, room(values, count)?) };
        give(found, get_many(txn, table, keys.iter().map(|key| key.get()), values)?);
        Ok(())
    })
}

/// The same for keys that lie one behind another, from `keys` on: `ends` has for each the number of
/// bytes up to its end. For languages that cannot hand out addresses of their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_many_packed(
    txn: *mut huon_txn,
    table: huon_table,
    keys: *const u8,
    ends: *const u32,
    count: usize,
    values: *mut huon_bytes<'static>,
    found: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_get_many_packed", || {
        // SAFETY: A2.
        let (ends, values) = unsafe { (items(ends, count)?, room(values, count)?) };
        let all = ends.last().map_or(0, |&end| end as usize);
        // SAFETY: A2.
        let bytes = unsafe { items(keys, all) }?;
        let starts = std::iter::once(&0).chain(ends);
        let keys = starts
            .zip(ends)
            .map(|(&from, &to)| bytes.get(from as usize..to as usize).ok_or(FALLING));
        give(found, get_many(txn, table, keys, values)?);
        Ok(())
    })
}

const FALLING: Fault = Fault::argument("the ends of the keys do not rise");

fn get_many<'k>(
    txn: *mut huon_txn,
    table: huon_table,
    keys: impl Iterator<Item = Res<&'k [u8]>> + Clone,
    values: &mut [MaybeUninit<huon_bytes<'static>>],
) -> Res<usize> {
    let table = table.get()?;
    let mut found = 0;
    in_view!(txn, txn => in_pieces(keys, |first, keys| {
        Ok(table.get_many(txn, keys, |at, value| {
            found += usize::from(value.is_some());
            values[first + at] = value.map_or_else(nothing, shown);
        })?)
    }))?;
    Ok(found)
}

/// So many keys are handed on together: a multiple of those that the engine looks up side by side,
/// and few enough to lie on the stack.
const PIECE: usize = 64;

/// Hands keys on, some dozens at a time, each time with the number of the first: so a call with
/// many needs no memory for them. All are looked at before.
pub(super) fn in_pieces<'k>(
    mut keys: impl Iterator<Item = Res<&'k [u8]>> + Clone,
    mut work: impl FnMut(usize, &[&'k [u8]]) -> Res<()>,
) -> Res<()> {
    keys.clone().try_for_each(|key| key.map(drop))?;
    for first in (0..).step_by(PIECE) {
        let (mut piece, mut count): ([&[u8]; PIECE], _) = ([&[]; PIECE], 0);
        for (to, key) in piece.iter_mut().zip(keys.by_ref().take(PIECE)) {
            *to = key?;
            count += 1;
        }
        // Without any key, too, it is asked whether there is such a table.
        if count > 0 || first == 0 {
            work(first, &piece[..count])?;
        }
        if count < PIECE {
            break;
        }
    }
    Ok(())
}

/// The first records of a range, or its last ones if `backwards`, the outermost first: as many as
/// there is room for; `count` tells how many there are. HUON_NOT_FOUND if there are none; NULL for
/// `range`: the whole table. For programs that keep no cursor: what follows is the range behind the
/// last key (HUON_AFTER, or HUON_BEFORE if `backwards`). The fastest way through many records: a
/// descent, and then a leaf at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_range_many(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    backwards: bool,
    pairs: *mut huon_pair<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_range_many", || {
        let count = wanted(count)?;
        count.write(0);
        // SAFETY: A2.
        let room = unsafe { room(pairs, capacity) }?;
        let table = table.get()?;
        let range = within(txn, range, table)?;
        let filled = in_view!(txn, txn => {
            let leaves = table.range(txn, range.bounds())?.leaves();
            if backwards {
                fill(room, leaves.rev().map(|leaf| Ok(leaf?.iter().rev())))
            } else {
                fill(room, leaves.map(|leaf| Ok(leaf?.iter())))
            }
        })?;
        count.write(filled);
        done(filled > 0 || capacity == 0, Fault::NOT_FOUND)
    })
}

/// Shows the records of leaves, as many as there is room for.
fn fill<'t, L>(
    room: &mut [MaybeUninit<huon_pair<'static>>],
    mut leaves: impl Iterator<Item = Res<L>>,
) -> Res<usize>
where
    L: Iterator<Item = huon::Result<Pair<'t>>>,
{
    let mut filled = 0;
    while filled < room.len()
        && let Some(leaf) = leaves.next()
    {
        for (to, record) in room[filled..].iter_mut().zip(leaf?) {
            *to = shown_pair(record?);
            filled += 1;
        }
    }
    Ok(filled)
}

/// Stores many records, in the order in which they are given. `done`, which may be NULL, tells how
/// many were stored before one was refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_put_many(
    txn: *mut huon_txn,
    table: huon_table,
    pairs: *const huon_pair<'_>,
    count: usize,
    done: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_put_many", || {
        let (table, mut stored) = (table.get()?, 0);
        // SAFETY: A2.
        let pairs = unsafe { items(pairs, count) }?;
        let put = write(txn, |txn| {
            Copied::of(pairs, txn)?.each(|key, value| {
                table.put(txn, key, value)?;
                stored += 1;
                Ok(())
            })
        });
        give(done, stored);
        put
    })
}

/// The same for records that are packed as huon_cursor_next_packed packs them, into `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_put_packed(
    txn: *mut huon_txn,
    table: huon_table,
    records: *const u8,
    len: usize,
    done: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_put_packed", || {
        let (table, mut stored) = (table.get()?, 0);
        // SAFETY: A2.
        let records = unsafe { items(records, len) }?;
        let put = write(txn, |txn| {
            let own = (len <= COPIED_BYTES_MAX || txn.is_dirty(records)).then(|| records.to_vec());
            let mut rest = own.as_deref().unwrap_or(records);
            while !rest.is_empty() {
                let ((key, value), behind) = unpacked(rest).ok_or(SHORT)?;
                table.put(txn, key, value)?;
                stored += 1;
                rest = behind;
            }
            Ok(())
        });
        give(done, stored);
        put
    })
}

const SHORT: Fault = Fault::argument("the packed records end within one");

/// Keys and values of the caller's, copied where a change may move them (X3).
struct Copied<'p> {
    pairs: &'p [huon_pair<'p>],
    room: Vec<u8>,
    /// The numbers of the values that are used where they lie.
    left: Vec<usize>,
}

impl<'p> Copied<'p> {
    fn of(pairs: &'p [huon_pair<'p>], txn: &WriteTxn) -> Res<Copied<'p>> {
        let (mut room, mut left) = (Vec::new(), Vec::new());
        for (number, pair) in pairs.iter().enumerate() {
            let (key, value) = pair.get()?;
            let is_copied = value.len() <= COPIED_BYTES_MAX || txn.is_dirty(value);
            let value = if is_copied { value } else { b"" };
            room.try_reserve(key.len() + value.len()).map_err(|_| Error::OutOfMemory)?;
            room.extend_from_slice(key);
            room.extend_from_slice(value);
            if !is_copied {
                left.push(number);
            }
        }
        Ok(Copied { pairs, room, left })
    }

    fn each(&self, mut work: impl FnMut(&[u8], &[u8]) -> Res<()>) -> Res<()> {
        let (mut rest, mut left) = (&self.room[..], self.left.iter().peekable());
        for (number, pair) in self.pairs.iter().enumerate() {
            let (key, value) = pair.get()?;
            let (key, behind) = rest.split_at(key.len());
            let is_copied = left.next_if_eq(&&number).is_none();
            let (own, behind) = behind.split_at(if is_copied { value.len() } else { 0 });
            work(key, if is_copied { own } else { value })?;
            rest = behind;
        }
        Ok(())
    }
}

type Pair<'p> = (&'p [u8], &'p [u8]);

/// The first of packed records, and what follows.
fn unpacked(bytes: &[u8]) -> Option<(Pair<'_>, &[u8])> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let [key, value] = [key, value].map(|len| u32::from_ne_bytes(*len) as usize);
    let (key, rest) = rest.split_at_checked(key)?;
    let (value, rest) = rest.split_at_checked(value)?;
    Some(((key, value), rest))
}

/// Packs records one behind another.
pub(super) struct Packer<'r> {
    room: &'r mut [MaybeUninit<u8>],
    /// Bytes that are taken.
    pub(super) used: usize,
    /// Records that were packed.
    pub(super) count: usize,
}

impl<'r> Packer<'r> {
    pub(super) fn new(room: &'r mut [MaybeUninit<u8>]) -> Packer<'r> {
        Packer { room, used: 0, count: 0 }
    }

    /// Adds a record, and returns how many there are; else how many bytes it takes.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<usize, usize> {
        let bytes = 8 + key.len() + value.len();
        let Some(room) = self.room.get_mut(self.used..self.used + bytes) else {
            return Err(bytes);
        };
        let lens = [key.len(), value.len()].map(|len| (len as u32).to_ne_bytes());
        let parts = [&lens[0][..], &lens[1][..], key, value];
        let mut at = 0;
        for part in parts {
            copy(&mut room[at..at + part.len()], part);
            at += part.len();
        }
        self.used += bytes;
        self.count += 1;
        Ok(self.count)
    }
}
