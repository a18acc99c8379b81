//! Changes that ask the caller as they go: what to store, and what stays.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use huon::WriteTxn;

use super::def::{huon_multi, huon_table};
use super::range::{huon_range, within};
use super::txn::{huon_txn, inside, write};
use crate::border::{Res, border, give, wanted};
use crate::bytes::huon_bytes;
use crate::callback::{Changes, Keep, STOPPED, huon_change_fn, huon_fill_fn, huon_keep_fn};

/// Stores a value of `len` bytes that `fill` writes where it is to lie, without a copy: once,
/// before the call returns. The bytes are zero at first.
#[unsafe(no_mangle)]
pub extern "C" fn huon_reserve(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    len: usize,
    fill: huon_fill_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_reserve", || {
        let (table, key, fill) = (table.get()?, key.get()?, wanted(fill)?);
        let write = |place: &mut [u8]| fill(context, place.as_mut_ptr().cast(), place.len());
        inside(txn, |inside| {
            inside.change((key, &[]), |txn, key, _| table.reserve(txn, key, len, write))
        })
    })
}

/// Has a function of the caller's say what becomes of the value of a key.
fn update_with(
    txn: *mut huon_txn,
    key: huon_bytes<'_>,
    (change, context): (huon_change_fn, *mut c_void),
    was_there: Option<&mut MaybeUninit<bool>>,
    work: impl FnOnce(&mut WriteTxn, &[u8], &mut Changes) -> huon::Result<bool>,
) -> Res<()> {
    let (key, mut changes) = (key.get()?, Changes::new(change, context)?);
    let changed =
        inside(txn, |inside| inside.change((key, &[]), |txn, key, _| work(txn, key, &mut changes)));
    changes.refused?;
    give(was_there, changed?);
    Ok(())
}

/// Has `change` say what becomes of the value of a key, with one descent: it is called once, before
/// the call returns, with the value that is there or none. `was_there`, which may be NULL, tells
/// whether there was one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_update_with(
    txn: *mut huon_txn,
    table: huon_table,
    key: huon_bytes<'_>,
    change: huon_change_fn,
    context: *mut c_void,
    was_there: Option<&mut MaybeUninit<bool>>,
) -> c_int {
    border("huon_update_with", || {
        let table = table.get()?;
        update_with(txn, key, (change, context), was_there, |txn, key, changes| {
            table.update_with(txn, key, |old, to| changes.ask(old, to))
        })
    })
}

/// The same in a multimap, for a key that has one value or none; HUON_MANY_VALUES, and `change` is
/// not called, if it has more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_update_with(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    change: huon_change_fn,
    context: *mut c_void,
    was_there: Option<&mut MaybeUninit<bool>>,
) -> c_int {
    border("huon_multi_update_with", || {
        let multi = multi.get()?;
        update_with(txn, key, (change, context), was_there, |txn, key, changes| {
            multi.update_with(txn, key, |old, to| changes.ask(old, to))
        })
    })
}

/// Removes what a function of the caller's does not keep.
fn retain(
    txn: *mut huon_txn,
    (keep, context): (huon_keep_fn, *mut c_void),
    count: Option<&mut MaybeUninit<u64>>,
    work: impl FnOnce(&mut WriteTxn, &mut Keep) -> huon::Result<u64>,
) -> Res<()> {
    let mut keep = Keep::new(wanted(keep)?, context);
    let removed = write(txn, |txn| Ok(work(txn, &mut keep)?))?;
    give(count, removed);
    if keep.has_stopped { Err(STOPPED) } else { Ok(()) }
}

/// Removes the records of a range that `keep` does not keep; NULL for `range`: it sees all there
/// are. `count`, which may be NULL, tells how many were removed. What was removed before an error
/// or a stop stays removed.
#[unsafe(no_mangle)]
pub extern "C" fn huon_retain(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    keep: huon_keep_fn,
    context: *mut c_void,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_retain", || {
        let table = table.get()?;
        let range = within(txn, range, table)?;
        retain(txn, (keep, context), count, |txn, keep| {
            table.retain(txn, range.bounds(), |key, value| keep.asks(key, value))
        })
    })
}

/// Removes the pairs of a range of keys that `keep` does not keep: see huon_retain.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_retain(
    txn: *mut huon_txn,
    multi: huon_multi,
    range: Option<&huon_range<'_>>,
    keep: huon_keep_fn,
    context: *mut c_void,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_retain", || {
        let multi = multi.get()?;
        let range = within(txn, range, multi)?;
        retain(txn, (keep, context), count, |txn, keep| {
            multi.retain(txn, range.bounds(), |key, value| keep.asks(key, value))
        })
    })
}
