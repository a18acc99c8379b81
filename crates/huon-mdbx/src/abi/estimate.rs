//! About how many records lie between two places.

use std::ptr;

use huon_c::estimate::{self, Spot};
use huon_c::pointers::answer;
use huon_c::steps::Op;
use huon_c::{Fault, Res, Txn};
use libc::{c_int, c_uint};

use super::cursor::{wanted, with};
use super::{MDBX_cursor, MDBX_dbi, MDBX_txn, MDBX_val, bytes_of, code, show, txn_of};

/// # Safety
/// `distance` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_estimate_distance(
    first: *const MDBX_cursor,
    last: *const MDBX_cursor,
    distance: *mut isize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(distance, 0) }?;
        let of = |cursor| with(cursor, |cursor| Ok((cursor.txn(), cursor.dbi())));
        let ((first_txn, first_dbi), (last_txn, last_dbi)) = (of(first)?, of(last)?);
        let (Some(txn), Some(dbi)) = (first_txn, first_dbi) else { return Err(Fault::Invalid) };
        let same = last_txn.is_some_and(|last| last.handle() == txn.handle());
        if !same || last_dbi != Some(dbi) {
            return Err(Fault::Invalid);
        }
        let spot = |cursor| with(cursor, |cursor| cursor.spot());
        let found = estimate::between(&txn, dbi, Some(&spot(first)?), &spot(last)?)?;
        // SAFETY: the caller's promise.
        unsafe { answer(distance, found as isize) }
    })
}

/// # Safety
/// As [`super::cursor::mdbx_cursor_get`]; `distance` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_estimate_move(
    cursor: *const MDBX_cursor,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
    op: c_uint,
    distance: *mut isize,
) -> c_int {
    code(|| {
        let op = Op::of(op).ok_or(Fault::Invalid)?;
        if distance.is_null() || matches!(op, Op::GetCurrent | Op::GetMultiple) {
            return Err(Fault::Invalid);
        }
        // SAFETY: the caller's promise.
        let (wanted, value) = unsafe { wanted(cursor, op, key, data) }?;
        let (found, ahead) = with(cursor, |cursor| {
            let (txn, dbi) = cursor.txn().zip(cursor.dbi()).ok_or(Fault::Invalid)?;
            let from = cursor.spot()?;
            let (given, to) = cursor.ahead(op, wanted, value)?;
            Ok((estimate::between(&txn, dbi, Some(&from), &to)?, given))
        })?;
        let (shown_key, shown_value) = ahead.map_or((None, None), |given| (given.key, given.value));
        if let Some(shown) = shown_key {
            // SAFETY: the caller's promise.
            unsafe { show(key, shown) };
        }
        if let Some(shown) = shown_value {
            // SAFETY: the caller's promise.
            unsafe { show(data, shown) };
        }
        // SAFETY: the caller's promise.
        unsafe { answer(distance, found as isize) }
    })
}

/// One end of a range, as a program gives it.
enum End<'v> {
    /// That of the table.
    Table,
    /// The other end is the only record.
    Other,
    /// A key, and one of its values.
    At(&'v [u8], Option<&'v [u8]>),
}

/// # Safety
/// Both are null, the address that means the other end, or as [`bytes_of`] needs them.
unsafe fn end_of<'v>(key: *const MDBX_val, data: *const MDBX_val) -> Res<End<'v>> {
    let epsilon = ptr::without_provenance::<MDBX_val>(usize::MAX);
    match (key, data) {
        (key, data) if data == epsilon || key == epsilon && !data.is_null() => Err(Fault::Invalid),
        (key, _) if key == epsilon => Ok(End::Other),
        (key, data) => {
            // SAFETY: the caller's promise.
            let (key, data) = unsafe { (bytes_of(key)?, bytes_of(data)?) };
            match (key, data) {
                (Some(key), value) => Ok(End::At(key, value)),
                (None, None) => Ok(End::Table),
                (None, Some(_)) => Err(Fault::Invalid),
            }
        }
    }
}

/// # Safety
/// The values are null, the address that means the other end, or as [`bytes_of`] needs them;
/// `distance` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_estimate_range(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    begin_key: *const MDBX_val,
    begin_data: *const MDBX_val,
    end_key: *const MDBX_val,
    end_data: *const MDBX_val,
    distance: *mut isize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let begin = unsafe { end_of(begin_key, begin_data) }?;
        // SAFETY: the caller's promise.
        let end = unsafe { end_of(end_key, end_data) }?;
        let found = range(&*txn_of(txn)?, dbi, begin, end)?;
        // SAFETY: the caller's promise.
        unsafe { answer(distance, found as isize) }
    })
}

fn range(txn: &Txn, dbi: u32, begin: End<'_>, end: End<'_>) -> Res<i64> {
    use End::*;
    let spot = |key: &[u8], value: Option<&[u8]>| Spot::Before(key.to_vec(), value.map(Vec::from));
    for side in [&begin, &end] {
        if let At(key, value) = side {
            huon_c::data::check_pair(txn, dbi, key, *value)?;
        }
    }
    match (begin, end) {
        (Other, Other) => Err(Fault::Invalid),
        (Other, At(key, None)) | (At(key, None), Other) => {
            Ok(estimate::values_of(txn, dbi, key)? as i64)
        }
        (Other, At(..)) | (At(..), Other) => Ok(1),
        (Other, Table) => edge(txn, dbi, true),
        (Table, Other) => edge(txn, dbi, false),
        (At(a, None), At(b, None)) if a == b => Ok(estimate::values_of(txn, dbi, a)? as i64),
        (begin, end) => {
            let from = match begin {
                At(key, value) => Some(spot(key, value)),
                _ => None,
            };
            let to = match end {
                At(key, value) => spot(key, value),
                _ => Spot::End,
            };
            estimate::between(txn, dbi, from.as_ref(), &to)
        }
    }
}

/// How many values the first key has, or the last.
fn edge(txn: &Txn, dbi: u32, last: bool) -> Res<i64> {
    match estimate::edge(txn, dbi, last)? {
        Some(Spot::Before(key, _)) => Ok(estimate::values_of(txn, dbi, &key)? as i64),
        _ => Ok(0),
    }
}
