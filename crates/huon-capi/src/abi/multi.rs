//! Multimaps.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use huon::RawMulti;

use super::batch::in_pieces;
use super::def::{huon_multi, huon_table_options, multi_def};
use super::env::answer;
use super::range::{OfValues, huon_range, within};
use super::txn::{huon_txn, in_view, inside, write};
use crate::border::{Fault, Res, border, done, fill, found, give, wanted};
use crate::bytes::{Out, huon_bytes, huon_pair, items, options, room, shown, shown_pair};
use crate::callback::{Feed, STOPPED, huon_next_fn, huon_value_fn};

/// Opens the multimap of that name, if it exists in what the transaction shows: see
/// huon_table_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_open(
    txn: *mut huon_txn,
    name: huon_bytes<'_>,
    with: *const huon_table_options<'_>,
    multi: Option<&mut MaybeUninit<huon_multi>>,
) -> c_int {
    border("huon_multi_open", || {
        fill(multi, huon_multi::NONE, || {
            // SAFETY: A2, and all zero are options.
            let def = multi_def(name.get()?, unsafe { options(with) }?)?;
            let opened = in_view!(txn, txn => Ok(txn.open_table(&def)?))?;
            Ok(huon_multi::of(opened.ok_or(huon::Error::TableNotFound)?))
        })
    })
}

/// Opens the multimap of that name, and creates it if it does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_create(
    txn: *mut huon_txn,
    name: huon_bytes<'_>,
    with: *const huon_table_options<'_>,
    multi: Option<&mut MaybeUninit<huon_multi>>,
) -> c_int {
    border("huon_multi_create", || {
        fill(multi, huon_multi::NONE, || {
            // SAFETY: A2, and all zero are options.
            let def = multi_def(name.get()?, unsafe { options(with) }?)?;
            write(txn, |txn| Ok(huon_multi::of(txn.create_table(&def)?)))
        })
    })
}

/// Deletes a multimap with all its pairs. HUON_NOT_FOUND if it is not there.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_drop(txn: *mut huon_txn, multi: huon_multi) -> c_int {
    border("huon_multi_drop", || {
        let multi = multi.get()?;
        done(write(txn, |txn| Ok(multi.drop_table(txn)?))?, Fault::NOT_FOUND)
    })
}

/// Deletes all pairs of a multimap.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_clear(txn: *mut huon_txn, multi: huon_multi) -> c_int {
    border("huon_multi_clear", || {
        let multi = multi.get()?;
        write(txn, |txn| Ok(multi.clear(txn)?))
    })
}

/// Gives a multimap another name. HUON_TABLE_EXISTS if there is a table of that name. Open
/// it by that one: what was opened before does not find it any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_rename(
    txn: *mut huon_txn,
    multi: huon_multi,
    name: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_rename", || {
        let (multi, name) = (multi.get()?, name.get()?.to_vec());
        write(txn, |txn| Ok(multi.rename(txn, name)?))
    })
}

/// The first value of a key. HUON_NOT_FOUND if it has none. Its others: huon_multi_values_open.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_get(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_multi_get", || {
        let (multi, key) = (multi.get()?, key.get()?);
        in_view!(txn, txn => {
            let found = found(multi.get(txn, key)?)?;
            if let Some(value) = value {
                *value = shown(found);
            }
            Ok(())
        })
    })
}

/// Whether a key has that value: HUON_OK or HUON_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_contains(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_contains", || {
        let (multi, key, value) = (multi.get()?, key.get()?, value.get()?);
        done(in_view!(txn, txn => Ok(multi.contains(txn, key, value)?))?, Fault::NOT_FOUND)
    })
}

/// The first pair; HUON_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_first(
    txn: *mut huon_txn,
    multi: huon_multi,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_multi_first", || {
        let (multi, pair) = (multi.get()?, wanted(pair)?);
        in_view!(txn, txn => {
            *pair = shown_pair(found(multi.first(txn)?)?);
            Ok(())
        })
    })
}

/// The last pair; HUON_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_last(
    txn: *mut huon_txn,
    multi: huon_multi,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_multi_last", || {
        let (multi, pair) = (multi.get()?, wanted(pair)?);
        in_view!(txn, txn => {
            *pair = shown_pair(found(multi.last(txn)?)?);
            Ok(())
        })
    })
}

/// A change of one pair.
fn change<R>(
    txn: *mut huon_txn,
    (key, value): (huon_bytes<'_>, huon_bytes<'_>),
    work: impl FnOnce(&mut huon::WriteTxn, &[u8], &[u8]) -> huon::Result<R>,
) -> Res<R> {
    let pair = (key.get()?, value.get()?);
    inside(txn, |inside| inside.change(pair, work))
}

/// Adds a value to those of a key. `is_new`, which may be NULL, tells whether it was not among
/// them.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_put(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    is_new: Option<&mut MaybeUninit<bool>>,
) -> c_int {
    border("huon_multi_put", || {
        let multi = multi.get()?;
        give(is_new, change(txn, (key, value), |txn, key, value| multi.put(txn, key, value))?);
        Ok(())
    })
}

/// Adds values to those of a key with one descent: all of them, or none. `added`, which may be
/// NULL, tells how many were not among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_put_many(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    values: *const huon_bytes<'_>,
    count: usize,
    added: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_put_many", || {
        let (multi, key) = (multi.get()?, key.get()?.to_vec());
        // SAFETY: A2.
        let values = unsafe { items(values, count) }?.iter();
        // They may lie on pages that the change moves.
        let values: Vec<Vec<u8>> =
            values.map(|value| value.get().map(<[u8]>::to_vec)).collect::<Res<_>>()?;
        let put =
            write(txn, |txn| Ok(multi.put_many(txn, &key, values.iter().map(Vec::as_slice))?));
        give(added, put?);
        Ok(())
    })
}

/// Adds a value to a key that has none; HUON_EXISTS, and nothing is changed, if it has one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_put_if_absent(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_put_if_absent", || {
        let multi = multi.get()?;
        let put = |txn: &mut _, key: &_, value: &_| multi.put_if_absent(txn, key, value);
        done(change(txn, (key, value), put)?, Fault::EXISTS)
    })
}

/// Adds a pair behind all that are there; HUON_KEY_OUT_OF_ORDER if it does not come last.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_append(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_append", || {
        let multi = multi.get()?;
        change(txn, (key, value), |txn, key, value| multi.append(txn, key, value))
    })
}

/// Fills an empty multimap from pairs in the order of keys and of the values of each: into full
/// pages, many times cheaper than putting them. HUON_INVALID if it has pairs.
/// HUON_KEY_OUT_OF_ORDER, or any error behind the first pair, breaks the transaction.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_bulk_load(
    txn: *mut huon_txn,
    multi: huon_multi,
    next: huon_next_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_multi_bulk_load", || {
        let (multi, mut feed) = (multi.get()?, Feed::new(next, context)?);
        let built = write(txn, |txn| Ok(multi.bulk_load(txn, |append| feed.all(append))?));
        feed.fed.and(built)
    })
}

/// Has a key have this value alone. `before`, which may be NULL, tells how many it had.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_set(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    before: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_set", || {
        let multi = multi.get()?;
        give(before, change(txn, (key, value), |txn, key, value| multi.set(txn, key, value))?);
        Ok(())
    })
}

/// Puts one value in the place of another one of a key. HUON_NOT_FOUND, and nothing is changed, if
/// that is not there.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_update(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    old: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_update", || {
        let (multi, old) = (multi.get()?, old.get()?.to_vec());
        let put = |txn: &mut _, key: &_, value: &_| multi.update(txn, key, &old, value);
        done(change(txn, (key, value), put)?, Fault::NOT_FOUND)
    })
}

/// Removes one value of a key. HUON_NOT_FOUND if it is not there.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_remove(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_multi_remove", || {
        let multi = multi.get()?;
        let remove = |txn: &mut _, key: &_, value: &_| multi.remove(txn, key, value);
        done(change(txn, (key, value), remove)?, Fault::NOT_FOUND)
    })
}

/// Removes all values of a key. HUON_NOT_FOUND if it has none; `count`, which may be NULL, tells
/// how many it had.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_remove_key(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_remove_key", || {
        let (multi, key) = (multi.get()?, key.get()?);
        let removed = inside(txn, |inside| {
            inside.change((key, &[]), |txn, key, _| multi.remove_key(txn, key))
        })?;
        give(count, removed);
        done(removed > 0, Fault::NOT_FOUND)
    })
}

/// Removes the values of a key that lie in a range; NULL: all of them. `count`, which may be NULL,
/// tells how many there were. HUON_PREFIX is not for values. Costs a descent for each value that is
/// removed, and one alone for all of them.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_remove_values(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    values: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_remove_values", || {
        let (multi, key) = (multi.get()?, key.get()?);
        let values = within(txn, values, OfValues)?;
        let removed = inside(txn, |inside| {
            inside.change((key, &[]), |txn, key, _| {
                if values.is_all() {
                    multi.remove_key(txn, key)
                } else {
                    multi.remove_values(txn, key, values.bounds())
                }
            })
        })?;
        give(count, removed);
        Ok(())
    })
}

/// Removes all pairs of a range of keys; NULL: all there are. `count`, which may be NULL, tells how
/// many there were.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_remove_range(
    txn: *mut huon_txn,
    multi: huon_multi,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_remove_range", || {
        let multi = multi.get()?;
        let range = within(txn, range, multi)?;
        give(count, write(txn, |txn| Ok(multi.remove_range(txn, range.bounds())?))?);
        Ok(())
    })
}

/// How many values a key has. Costs a descent, however many they are.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_count_values(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_count_values", || {
        let (multi, key) = (multi.get()?, key.get()?);
        answer(count, in_view!(txn, txn => Ok(multi.count_values(txn, key)?))?)
    })
}

/// How many pairs a range of keys has; NULL: the whole multimap. The whole costs nothing, else it
/// is a walk over its leaves.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_count(
    txn: *mut huon_txn,
    multi: huon_multi,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_count", || {
        let multi = multi.get()?;
        let range = match range {
            None => return answer(count, in_view!(txn, txn => Ok(multi.len(txn)?))?),
            range => within(txn, range, multi)?,
        };
        answer(count, in_view!(txn, txn => Ok(multi.count(txn, range.bounds())?))?)
    })
}

/// About how many pairs a range of keys has. Costs two descents.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_estimate(
    txn: *mut huon_txn,
    multi: huon_multi,
    range: Option<&huon_range<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_multi_estimate", || {
        let multi = multi.get()?;
        let range = within(txn, range, multi)?;
        answer(count, in_view!(txn, txn => Ok(multi.estimate(txn, range.bounds())?))?)
    })
}

/// Shows all values of many keys: those of each key in their order, one key after another. Several
/// times cheaper than one key after another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_get_many(
    txn: *mut huon_txn,
    multi: huon_multi,
    keys: *const huon_bytes<'_>,
    count: usize,
    each: huon_value_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_multi_get_many", || {
        let (multi, each) = (multi.get()?, wanted(each)?);
        // SAFETY: A2.
        let keys = unsafe { items(keys, count) }?.iter().map(|key| key.get());
        in_view!(txn, txn => in_pieces(keys, |first, keys| {
            let mut shown = Ok(());
            multi.get_many(txn, keys, |at, values| {
                if shown.is_ok() {
                    shown = show_values(values, |value| each(context, first + at, value));
                }
            })?;
            shown
        }))
    })
}

/// Shows values until one is the last, or the caller asks to stop.
fn show_values<'t>(
    mut values: impl Iterator<Item = huon::Result<&'t [u8]>>,
    each: impl Fn(huon_bytes<'_>) -> c_int,
) -> Res<()> {
    values.try_for_each(|value| match each(huon_bytes::of(value?)) {
        0 => Ok(()),
        _ => Err(STOPPED),
    })
}

/// Has a key have this value alone, and shows those before, as many as there is room for, until the
/// next huon_replace, huon_take, huon_pop_* or their like of multimaps. `count`, which may be NULL,
/// tells how many there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_replace(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    before: *mut huon_bytes<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_multi_replace", || {
        // SAFETY: A2.
        let room = unsafe { room(before, capacity) }?;
        let (multi, pair) = (multi.get()?, (key.get()?, value.get()?));
        let before = inside(txn, |inside| {
            let before = inside.change(pair, |txn, key, value| multi.replace(txn, key, value))?;
            Ok(inside.keep_all(before, room))
        })?;
        give(count, before);
        Ok(())
    })
}

/// Removes all values of a key, and shows them, as huon_multi_replace does. HUON_NOT_FOUND if it
/// has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_multi_take(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    before: *mut huon_bytes<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_multi_take", || {
        // SAFETY: A2.
        let room = unsafe { room(before, capacity) }?;
        let (multi, key) = (multi.get()?, key.get()?);
        let before = inside(txn, |inside| {
            let before = inside.change((key, &[]), |txn, key, _| multi.take(txn, key))?;
            Ok(inside.keep_all(before, room))
        })?;
        give(count, before);
        done(before > 0, Fault::NOT_FOUND)
    })
}

/// Removes the first pair (`last`: the last one), and shows it.
fn pop(txn: *mut huon_txn, multi: RawMulti, last: bool, pair: Out<'_, huon_pair<'_>>) -> Res<()> {
    inside(txn, |inside| {
        let txn = inside.writer()?;
        let popped = if last { multi.pop_last(txn)? } else { multi.pop_first(txn)? };
        let (key, value) = found(popped)?;
        if let Some(pair) = pair {
            *pair = inside.keep_pair(key.bytes(), value.bytes());
        }
        Ok(())
    })
}

/// Removes the first pair, and shows it, as huon_replace does. HUON_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_pop_first(
    txn: *mut huon_txn,
    multi: huon_multi,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_multi_pop_first", || pop(txn, multi.get()?, false, pair))
}

/// Removes the last pair, and shows it, as huon_replace does.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_pop_last(
    txn: *mut huon_txn,
    multi: huon_multi,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_multi_pop_last", || pop(txn, multi.get()?, true, pair))
}
