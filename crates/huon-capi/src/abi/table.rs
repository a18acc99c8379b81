//! Tables: opening them, and their records by key.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use huon::RawTable;

use super::codes::HUON_CONFLICT;
use super::def::{huon_table, huon_table_options, table_def};
use super::env::answer;
use super::range::{huon_range, within};
use super::txn::{huon_txn, in_view, inside, write};
use crate::border::{Fault, Res, border, done, fill, found, give, wanted};
use crate::bytes::{Out, huon_bytes, huon_pair, nothing, options, shown, shown_pair};
use crate::callback::{Feed, huon_next_fn};

/// Opens the table of that name, if it exists in what the transaction shows; an empty name: the
/// main table, which always does. HUON_TABLE_NOT_FOUND; HUON_TABLE_KIND if it is a multimap or of
/// another order. Costs a descent into the list of tables, the first time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_table_open(
    txn: *mut huon_txn,
    name: huon_bytes<'_>,
    with: *const huon_table_options<'_>,
    table: Option<&mut MaybeUninit<huon_table>>,
) -> c_int {
    border("huon_table_open", || {
        fill(table, huon_table::NONE, || {
            // SAFETY: A2, and all zero are options.
            let def = table_def(name.get()?, unsafe { options(with) }?)?;
            let opened = in_view!(txn, txn => Ok(txn.open_table(&def)?))?;
            Ok(huon_table::of(opened.ok_or(huon::Error::TableNotFound)?))
        })
    })
}

/// Opens the table of that name, and creates it if it does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_table_create(
    txn: *mut huon_txn,
    name: huon_bytes<'_>,
    with: *const huon_table_options<'_>,
    table: Option<&mut MaybeUninit<huon_table>>,
) -> c_int {
    border("huon_table_create", || {
        fill(table, huon_table::NONE, || {
            // SAFETY: A2, and all zero are options.
            let def = table_def(name.get()?, unsafe { options(with) }?)?;
            write(txn, |txn| Ok(huon_table::of(txn.create_table(&def)?)))
        })
    })
}

/// Deletes a table with all its records. HUON_NOT_FOUND if it is not there. Costs a look at all its
/// pages.
#[unsafe(no_mangle)]
pub extern "C" fn huon_table_drop(txn: *mut huon_txn, table: huon_table) -> c_int {
    border("huon_table_drop", || {
        let table = table.get()?;
        done(write(txn, |txn| Ok(table.drop_table(txn)?))?, Fault::NOT_FOUND)
    })
}

/// Deletes all records of a table.
#[unsafe(no_mangle)]
pub extern "C" fn huon_table_clear(txn: *mut huon_txn, table: huon_table) -> c_int {
    border("huon_table_clear", || {
        let table = table.get()?;
        write(txn, |txn| Ok(table.clear(txn)?))
    })
}

/// Gives a table another name. HUON_TABLE_EXISTS if there is one of that name. Open
/// it by that one: what was opened before does not find it any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_table_rename(
    txn: *mut huon_txn,
    table: huon_table,
    name: huon_bytes<'_>,
) -> c_int {
    border("huon_table_rename", || {
        let (table, name) = (table.get()?, name.get()?.to_vec());
        write(txn, |txn| Ok(table.rename(txn, name)?))
    })
}

/// The value of a key. HUON_NOT_FOUND if there is none; `value` may be NULL, to ask only that.
/// Costs one descent: no allocation, no copy, no system call.
#[unsafe(no_mangle)]
pub extern "C" fn huon_get(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_get", || {
        let (table, key) = (table.get()?, key.get()?);
        in_view!(txn, txn => {
            let found = found(table.get(txn, key)?)?;
            if let Some(value) = value {
                *value = shown(found);
            }
            Ok(())
        })
    })
}

/// Copies the value of a key into `room`, as much of it as fits; `len` tells how long it is.
/// HUON_NOT_FOUND if there is none. For bindings that copy anyway.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_copy(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    room: *mut u8,
    capacity: usize,
    len: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_get_copy", || {
        // SAFETY: A2.
        let room = unsafe { crate::bytes::room(room, capacity) }?;
        let (table, key, len) = (table.get()?, key.get()?, wanted(len)?);
        in_view!(txn, txn => {
            let value = found(table.get(txn, key)?)?;
            let copied = value.len().min(room.len());
            crate::bytes::copy(&mut room[..copied], &value[..copied]);
            len.write(value.len());
            Ok(())
        })
    })
}

type Record<'t> = Option<(&'t [u8], &'t [u8])>;

/// Shows a record next to which something was looked for.
fn record(record: Record<'_>, pair: Out<'_, huon_pair<'_>>) -> Res<()> {
    *wanted(pair)? = shown_pair(found(record)?);
    Ok(())
}

/// The record with the lowest key; HUON_NOT_FOUND if there is none. Costs as much as huon_get.
#[unsafe(no_mangle)]
pub extern "C" fn huon_first(
    txn: *mut huon_txn,
    table: huon_table,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_first", || {
        let table = table.get()?;
        in_view!(txn, txn => record(table.first(txn)?, pair))
    })
}

/// The record with the highest key.
#[unsafe(no_mangle)]
pub extern "C" fn huon_last(
    txn: *mut huon_txn,
    table: huon_table,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_last", || {
        let table = table.get()?;
        in_view!(txn, txn => record(table.last(txn)?, pair))
    })
}

/// The record with the lowest key that is not below `key`.
#[unsafe(no_mangle)]
pub extern "C" fn huon_at_or_above(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_at_or_above", || {
        let (table, key) = (table.get()?, key.get()?);
        in_view!(txn, txn => record(table.at_or_above(txn, key)?, pair))
    })
}

/// The record with the highest key that is not above `key`.
#[unsafe(no_mangle)]
pub extern "C" fn huon_at_or_below(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_at_or_below", || {
        let (table, key) = (table.get()?, key.get()?);
        in_view!(txn, txn => record(table.at_or_below(txn, key)?, pair))
    })
}

/// A change of one record.
fn change<R>(
    txn: *mut huon_txn,
    (key, value): (huon_bytes<'_>, huon_bytes<'_>),
    work: impl FnOnce(&mut huon::WriteTxn, &[u8], &[u8]) -> huon::Result<R>,
) -> Res<R> {
    let pair = (key.get()?, value.get()?);
    inside(txn, |inside| inside.change(pair, work))
}

/// Stores a value under a key, over the one that is there. `is_new`, which may be NULL, tells
/// whether there was none. Costs one descent, and copies the pages on the way once in a
/// transaction.
#[unsafe(no_mangle)]
pub extern "C" fn huon_put(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    is_new: Option<&mut MaybeUninit<bool>>,
) -> c_int {
    border("huon_put", || {
        let table = table.get()?;
        give(is_new, change(txn, (key, value), |txn, key, value| table.put(txn, key, value))?);
        Ok(())
    })
}

/// Stores a value under a key that has none; HUON_EXISTS, and nothing is changed, if it has one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_put_if_absent(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_put_if_absent", || {
        let table = table.get()?;
        let put = |txn: &mut _, key: &_, value: &_| table.put_if_absent(txn, key, value);
        done(change(txn, (key, value), put)?, Fault::EXISTS)
    })
}

/// Stores a value under a key that has one; HUON_NOT_FOUND, and nothing is changed, if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_update(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_update", || {
        let table = table.get()?;
        let put = |txn: &mut _, key: &_, value: &_| table.update(txn, key, value);
        done(change(txn, (key, value), put)?, Fault::NOT_FOUND)
    })
}

/// Stores a value behind all that are there: several times cheaper than huon_put where keys rise.
/// HUON_KEY_OUT_OF_ORDER if the key is not above the last one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_append(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_append", || {
        let table = table.get()?;
        change(txn, (key, value), |txn, key, value| table.append(txn, key, value))
    })
}

/// Shows a value that is in no page any more, until the next call that shows one so.
fn show_old(
    txn: *mut huon_txn,
    value: Out<'_, huon_bytes<'_>>,
    work: impl FnOnce(&mut super::txn::Inside) -> Res<Option<Vec<u8>>>,
) -> Res<bool> {
    inside(txn, |inside| {
        let old = work(inside)?;
        let is_there = old.is_some();
        if let Some(value) = value {
            *value = old.map_or_else(nothing, |old| inside.keep(old));
        }
        Ok(is_there)
    })
}

/// As huon_put, and shows the value before, until the next huon_replace, huon_take or huon_pop_* of
/// the transaction; `data` of it is NULL if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_replace(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    old: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_replace", || {
        let (table, pair) = (table.get()?, (key.get()?, value.get()?));
        show_old(txn, old, |inside| {
            let old = inside.change(pair, |txn, key, value| table.replace(txn, key, value))?;
            Ok(old.map(huon::Owned::into_bytes))
        })?;
        Ok(())
    })
}

/// Removes a key, and shows its value, as huon_replace does. HUON_NOT_FOUND if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_take(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    old: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_take", || {
        let (table, key) = (table.get()?, key.get()?);
        let is_taken = show_old(txn, old, |inside| {
            let old = inside.change((key, &[]), |txn, key, _| table.take(txn, key))?;
            Ok(old.map(huon::Owned::into_bytes))
        })?;
        done(is_taken, Fault::NOT_FOUND)
    })
}

/// Removes a key. HUON_NOT_FOUND if it is not there.
#[unsafe(no_mangle)]
pub extern "C" fn huon_remove(txn: *mut huon_txn, table: huon_table, key: huon_bytes<'_>) -> c_int {
    border("huon_remove", || {
        let (table, key) = (table.get()?, key.get()?);
        let removed =
            inside(txn, |inside| inside.change((key, &[]), |txn, key, _| table.remove(txn, key)))?;
        done(removed, Fault::NOT_FOUND)
    })
}

/// Stores `value` under a key if it has the value `expected` now; HUON_CONFLICT, and nothing is
/// changed, if it has another one. NULL for `expected`: the key must not be there; NULL for
/// `value`: it is removed.
#[unsafe(no_mangle)]
pub extern "C" fn huon_compare_and_set(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    expected: Option<&huon_bytes<'_>>,
    value: Option<&huon_bytes<'_>>,
) -> c_int {
    border("huon_compare_and_set", || {
        let (table, key) = (table.get()?, key.get()?);
        let expected = expected.map(|bytes| bytes.get()).transpose()?;
        let value = value.map(|bytes| bytes.get()).transpose()?;
        let mut is_same = false;
        inside(txn, |inside| {
            inside.change((key, &[]), |txn, key, _| {
                table.update_with(txn, key, |now, change| {
                    is_same = now == expected;
                    match value {
                        _ if !is_same => Ok(()),
                        Some(value) => change.set(value),
                        None => change.remove(),
                    }
                })
            })
        })?;
        done(is_same, Fault::Answer(HUON_CONFLICT))
    })
}

/// Removes the record with the lowest key (`last`: the highest), and shows it, as huon_replace
/// does.
fn pop(txn: *mut huon_txn, table: RawTable, last: bool, pair: Out<'_, huon_pair<'_>>) -> Res<()> {
    inside(txn, |inside| {
        let txn = inside.writer()?;
        let popped = if last { table.pop_last(txn)? } else { table.pop_first(txn)? };
        let (key, value) = found(popped)?;
        if let Some(pair) = pair {
            *pair = inside.keep_pair(key.bytes(), value.bytes());
        }
        Ok(())
    })
}

/// Removes the record with the lowest key, and shows it, as huon_replace does. HUON_NOT_FOUND if
/// there is none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_pop_first(
    txn: *mut huon_txn,
    table: huon_table,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_pop_first", || pop(txn, table.get()?, false, pair))
}

/// Removes the record with the highest key, and shows it, as huon_replace does.
#[unsafe(no_mangle)]
pub extern "C" fn huon_pop_last(
    txn: *mut huon_txn,
    table: huon_table,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_pop_last", || pop(txn, table.get()?, true, pair))
}

/// Removes all records of a range; NULL: all there are. `count`, which may be NULL, tells how many
/// there were. Whole leaves go at once.
#[unsafe(no_mangle)]
pub extern "C" fn huon_remove_range(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_remove_range", || {
        let table = table.get()?;
        let range = within(txn, range, table)?;
        give(count, write(txn, |txn| Ok(table.remove_range(txn, range.bounds())?))?);
        Ok(())
    })
}

/// How many records a range has; NULL: the whole table. The whole table costs nothing, else it is
/// a walk over its leaves.
#[unsafe(no_mangle)]
pub extern "C" fn huon_count(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_count", || {
        let table = table.get()?;
        let range = match range {
            None => return answer(count, in_view!(txn, txn => Ok(table.len(txn)?))?),
            range => within(txn, range, table)?,
        };
        answer(count, in_view!(txn, txn => Ok(table.count(txn, range.bounds())?))?)
    })
}

/// About how many records a range has. Costs two descents.
#[unsafe(no_mangle)]
pub extern "C" fn huon_estimate(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_estimate", || {
        let table = table.get()?;
        let range = within(txn, range, table)?;
        answer(count, in_view!(txn, txn => Ok(table.estimate(txn, range.bounds())?))?)
    })
}

/// Takes `count` numbers of the table's sequence, and tells the first of them; 0 only looks. They
/// are taken with the commit.
#[unsafe(no_mangle)]
pub extern "C" fn huon_sequence(
    txn: *mut huon_txn,
    table: huon_table,
    count: u64,
    first: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_sequence", || {
        let table = table.get()?;
        let taken = match count {
            0 => in_view!(txn, txn => Ok(table.sequence(txn)?)),
            count => write(txn, |txn| Ok(table.take_sequence(txn, count)?)),
        };
        answer(first, taken?)
    })
}

/// Fills a table from records in the order of keys, behind those that are there: into full pages,
/// many times cheaper than putting them. HUON_KEY_OUT_OF_ORDER, or any error behind the first
/// record, breaks the transaction.
#[unsafe(no_mangle)]
pub extern "C" fn huon_bulk_append(
    txn: *mut huon_txn,
    table: huon_table,
    next: huon_next_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_bulk_append", || {
        let (table, mut feed) = (table.get()?, Feed::new(next, context)?);
        let built = write(txn, |txn| Ok(table.bulk_append(txn, |append| feed.all(append))?));
        feed.fed.and(built)
    })
}
