//! Cursors.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use huon_c::cursor::Cursor;
use huon_c::flags::put::{ALLDUPS, CURRENT, MULTIPLE, NODUPDATA};
use huon_c::objects::{self, with_cursor, with_txn};
use huon_c::pointers::{answer, told, value_of};
use huon_c::steps::Op;
use huon_c::{Fault, Res, guarded};
use libc::{c_int, c_uint, c_void};

use super::data::{check_put, many};
use super::{MDBX_cursor, MDBX_dbi, MDBX_txn, MDBX_val, bytes_of, code, show, txn_of, verdict};
use crate::tables;

/// The table of a cursor that has none.
const NO_TABLE: MDBX_dbi = MDBX_dbi::MAX;
/// So many bytes of records lie together in a page, as programs expect it that read them at once.
const BATCH_BYTES: usize = 4076;
/// What a record takes there beside its bytes.
const RECORD_BYTES: usize = 10;

/// Does something with a cursor. One whose transaction is over belongs to none.
pub(super) fn with<R>(
    cursor: *const MDBX_cursor,
    work: impl FnOnce(&Arc<Cursor>) -> Res<R>,
) -> Res<R> {
    with_cursor(cursor as usize, |cursor| {
        work(cursor).map_err(|fault| match fault {
            Fault::BadTxn if is_left(cursor) => Fault::Invalid,
            Fault::Reset => Fault::Invalid,
            fault => fault,
        })
    })
}

/// The faults of a cursor call's own arguments, of which a missing cursor comes first.
fn wrong(cursor: *const MDBX_cursor, fault: Fault) -> Fault {
    objects::cursor(cursor as usize).err().unwrap_or(fault)
}

/// Whether the transaction of a cursor is over.
fn is_left(cursor: &Cursor) -> bool {
    cursor.txn().is_some_and(|txn| objects::txn(txn.handle()).is_err())
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_create(context: *mut c_void) -> *mut MDBX_cursor {
    guarded(0, || objects::create_cursor(context as usize).unwrap_or(0)) as *mut MDBX_cursor
}

/// # Safety
/// `cursor` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cursor_open(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    cursor: *mut *mut MDBX_cursor,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(cursor, ptr::null_mut()) }?;
        let handle = with_txn(txn as usize, |txn| {
            tables::check_cursor(txn, dbi)?;
            objects::open_cursor(txn, dbi)
        })?;
        // SAFETY: as before.
        unsafe { answer(cursor, handle as *mut MDBX_cursor) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_close(cursor: *mut MDBX_cursor) {
    if !cursor.is_null() {
        code(|| objects::close_cursor(cursor as usize));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_bind(
    txn: *mut MDBX_txn,
    cursor: *mut MDBX_cursor,
    dbi: MDBX_dbi,
) -> c_int {
    code(|| {
        let (txn, cursor) = (txn_of(txn)?, objects::cursor(cursor as usize)?);
        tables::check_cursor(&txn, dbi)?;
        Cursor::bind(&cursor, &txn, dbi)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_renew(txn: *mut MDBX_txn, cursor: *mut MDBX_cursor) -> c_int {
    code(|| {
        with_txn(txn as usize, |txn| {
            with_cursor(cursor as usize, |cursor| {
                let dbi = cursor.dbi().ok_or(Fault::Closed)?;
                tables::check_cursor(txn, dbi)?;
                Cursor::bind(cursor, txn, dbi)
            })
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_unbind(cursor: *mut MDBX_cursor) -> c_int {
    code(|| Cursor::unbind(&objects::cursor(cursor as usize)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_reset(cursor: *mut MDBX_cursor) -> c_int {
    code(|| with(cursor, |cursor| cursor.reset()))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_copy(from: *const MDBX_cursor, to: *mut MDBX_cursor) -> c_int {
    code(|| {
        let to = objects::cursor(to as usize)?;
        with(from, |from| Cursor::copy(from, &to))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_txn(cursor: *const MDBX_cursor) -> *mut MDBX_txn {
    let txn = guarded(None, || {
        let cursor = objects::cursor(cursor as usize).ok()?;
        cursor.txn().filter(|_| !is_left(&cursor))
    });
    txn.map_or(ptr::null_mut(), |txn| txn.handle() as *mut MDBX_txn)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_dbi(cursor: *const MDBX_cursor) -> MDBX_dbi {
    let dbi = guarded(None, || {
        let cursor = objects::cursor(cursor as usize).ok()?;
        cursor.dbi().filter(|_| !is_left(&cursor))
    });
    dbi.unwrap_or(NO_TABLE)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_set_userctx(cursor: *mut MDBX_cursor, context: *mut c_void) -> c_int {
    code(|| {
        let cursor = objects::cursor(cursor as usize)?;
        cursor.context.store(context as usize, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_get_userctx(cursor: *const MDBX_cursor) -> *mut c_void {
    let context = guarded(0, || {
        objects::cursor(cursor as usize).map_or(0, |cursor| cursor.context.load(Ordering::Acquire))
    });
    context as *mut c_void
}

/// # Safety
/// Both values are null, or good for writing; where the operation looks for a key or a value, they
/// are as [`bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cursor_get(
    cursor: *mut MDBX_cursor,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
    op: c_uint,
) -> c_int {
    let tell = |shown, value| {
        // SAFETY: the caller's promise.
        unsafe { show(key, shown) };
        // SAFETY: the caller's promise.
        unsafe { show(data, value) };
    };
    if objects::step_in_row(cursor as usize, op, tell) {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { get(cursor, key, data, op) }
}

/// The same for what is more than a step in a row. Out of line, and nothing unwinds out of it: so
/// a step in a row needs no frame.
///
/// # Safety
/// As [`mdbx_cursor_get`].
#[inline(never)]
unsafe extern "C" fn get(
    cursor: *mut MDBX_cursor,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
    op: c_uint,
) -> c_int {
    verdict(|| {
        let op = Op::of(op).ok_or(Fault::Invalid)?;
        if let Some(step) = objects::step(cursor as usize, op) {
            let (shown, value) = step?;
            // SAFETY: the caller's promise.
            unsafe { show(key, shown) };
            if let Some(value) = value {
                // SAFETY: the caller's promise.
                unsafe { show(data, value) };
            }
            return Ok(false);
        }
        // SAFETY: the caller's promise.
        let (wanted, value) = unsafe { wanted(cursor, op, key, data) }?;
        let given = with(cursor, |cursor| {
            // From nowhere any step back leads to the last record.
            let op = if op == Op::PrevDup && cursor.is_unset()? { Op::Prev } else { op };
            cursor.get(op, wanted, value).map_err(|fault| fault_of(op, fault))
        })?;
        if let Some(shown) = given.key {
            // SAFETY: the caller's promise.
            unsafe { show(key, shown) };
        }
        if let Some(shown) = given.value {
            // SAFETY: the caller's promise.
            unsafe { show(data, shown) };
        }
        Ok(given.is_other)
    })
}

/// What a step says of a cursor that stands on no record.
fn fault_of(op: Op, fault: Fault) -> Fault {
    match (op, fault) {
        (Op::GetCurrent, Fault::NotFound) => Fault::Unpositioned,
        (Op::FirstDup | Op::LastDup | Op::GetMultiple, Fault::Unpositioned) => Fault::Invalid,
        _ => fault,
    }
}

type Wanted<'v> = (Option<&'v [u8]>, Option<&'v [u8]>);

/// What an operation looks for. Others only write what the pointers point to.
///
/// # Safety
/// As [`mdbx_cursor_get`].
pub(super) unsafe fn wanted<'v>(
    cursor: *const MDBX_cursor,
    op: Op,
    key: *const MDBX_val,
    data: *const MDBX_val,
) -> Res<Wanted<'v>> {
    let needs_value = match op {
        Op::Set | Op::SetKey | Op::SetRange => false,
        Op::GetBoth | Op::GetBothRange => true,
        Op::SetLowerbound | Op::SetUpperbound if data.is_null() => return Err(Fault::Invalid),
        // With one value for a key it is only written.
        Op::SetLowerbound | Op::SetUpperbound => with(cursor, |cursor| cursor.has_many())?,
        Op::FirstDup | Op::LastDup if data.is_null() => return Err(Fault::Invalid),
        _ => return Ok((None, None)),
    };
    // SAFETY: the caller's promise.
    let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
    if !needs_value {
        return Ok((Some(key), None));
    }
    // SAFETY: the caller's promise.
    let value = unsafe { bytes_of(data) }?.ok_or(Fault::Invalid)?;
    Ok((Some(key), Some(value)))
}

/// # Safety
/// `pairs` is null, or good for writing so many values; `count` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cursor_get_batch(
    cursor: *mut MDBX_cursor,
    count: *mut usize,
    pairs: *mut MDBX_val,
    limit: usize,
    op: c_uint,
) -> c_int {
    verdict(|| {
        if count.is_null() || pairs.is_null() || limit < 4 {
            return Err(Fault::Invalid);
        }
        let op = Op::of(op).filter(|op| matches!(op, Op::First | Op::Next | Op::GetCurrent));
        with(cursor, |cursor| {
            if cursor.has_many()? {
                return Err(Fault::Incompatible);
            }
            // SAFETY: the caller's promise.
            unsafe { answer(count, 0) }?;
            let op = op.ok_or(Fault::Invalid)?;
            let mut given = cursor.get(op, None, None).map_err(|fault| fault_of(op, fault))?;
            let (mut done, mut bytes) = (0, 0);
            loop {
                let (Some(key), Some(value)) = (given.key, given.value) else {
                    return Err(Fault::Invalid);
                };
                // SAFETY: the caller's promise; there is room for two more.
                unsafe { show(pairs.add(done), key) };
                // SAFETY: as before.
                unsafe { show(pairs.add(done + 1), value) };
                done += 2;
                // SAFETY: the caller's promise.
                unsafe { answer(count, done) }?;
                bytes += RECORD_BYTES + key.bytes + value.bytes;
                if bytes >= BATCH_BYTES {
                    return Ok(false);
                }
                given = match cursor.get(Op::Next, None, None) {
                    Ok(_) if done + 2 > limit => return Ok(true),
                    Ok(given) => given,
                    Err(Fault::NotFound) => return Ok(false),
                    Err(fault) => return Err(fault),
                };
            }
        })
    })
}

/// # Safety
/// As [`super::data::mdbx_put`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cursor_put(
    cursor: *mut MDBX_cursor,
    key: *const MDBX_val,
    data: *mut MDBX_val,
    flags: c_uint,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        check_put(flags).map_err(|fault| wrong(cursor, fault))?;
        if flags & MULTIPLE != 0 {
            let put = |values: &[u8], bytes| {
                with(cursor, |cursor| Ok(cursor.put_many(key, values, bytes, flags)))
            };
            // SAFETY: the caller's promise.
            return unsafe { many(data, put) };
        }
        // SAFETY: the caller's promise.
        let value = unsafe { value_of(data, flags) }?;
        let outcome = with(cursor, |cursor| cursor.put(key, value, flags));
        let outcome = outcome.map_err(|fault| match fault {
            Fault::NotFound => Fault::Unpositioned,
            fault => fault,
        })?;
        // SAFETY: the caller's promise.
        unsafe { told(data, outcome) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_del(cursor: *mut MDBX_cursor, flags: c_uint) -> c_int {
    code(|| {
        if flags & !(CURRENT | NODUPDATA | ALLDUPS) != 0 {
            return Err(wrong(cursor, Fault::Invalid));
        }
        with(cursor, |cursor| cursor.delete(flags & (NODUPDATA | ALLDUPS) != 0))
    })
}

/// # Safety
/// `count` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cursor_count(cursor: *const MDBX_cursor, count: *mut usize) -> c_int {
    code(|| {
        let found = with(cursor, |cursor| cursor.count()).map_err(|fault| match fault {
            Fault::Unpositioned => Fault::Invalid,
            fault => fault,
        });
        if found == Err(Fault::NotFound) {
            // SAFETY: the caller's promise.
            unsafe { answer(count, 0) }?;
        }
        // SAFETY: the caller's promise.
        unsafe { answer(count, found? as usize) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_eof(cursor: *const MDBX_cursor) -> c_int {
    verdict(|| with(cursor, |cursor| cursor.at_end()))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_on_first(cursor: *const MDBX_cursor) -> c_int {
    verdict(|| with(cursor, |cursor| cursor.at_edge(false)))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_on_last(cursor: *const MDBX_cursor) -> c_int {
    verdict(|| with(cursor, |cursor| cursor.at_edge(true)))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_on_first_dup(cursor: *const MDBX_cursor) -> c_int {
    verdict(|| with(cursor, |cursor| cursor.at_edge_value(false)))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_cursor_on_last_dup(cursor: *const MDBX_cursor) -> c_int {
    verdict(|| with(cursor, |cursor| cursor.at_edge_value(true)))
}
