//! Cursors.

use std::ptr;

use libc::{c_int, c_uint};

use super::dbi::MDB_dbi;
use super::{MDB_cursor, MDB_txn, MDB_val, bytes_of, code, in_reset, show};
use huon_c::cursor::Cursor;
use huon_c::dbi::MAIN;
use huon_c::flags::put::{MULTIPLE, NODUPDATA};
use huon_c::objects::{self, with_cursor, with_txn};
use huon_c::pointers::{answer, told, value_of};
use huon_c::steps::Op;
use huon_c::{Fault, Res};

/// # Safety
/// `cursor` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_open(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    cursor: *mut *mut MDB_cursor,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(cursor, ptr::null_mut()) }?;
        let handle = with_txn(txn as usize, |txn| objects::open_cursor(txn, dbi))?;
        // SAFETY: as before.
        unsafe { answer(cursor, handle as *mut MDB_cursor) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_close(cursor: *mut MDB_cursor) {
    code(|| objects::close_cursor(cursor as usize));
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_renew(txn: *mut MDB_txn, cursor: *mut MDB_cursor) -> c_int {
    code(|| with_cursor(cursor as usize, |cursor| with_txn(txn as usize, |txn| cursor.renew(txn))))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_txn(cursor: *mut MDB_cursor) -> *mut MDB_txn {
    let txn = objects::cursor(cursor as usize).ok().and_then(|cursor| cursor.txn());
    txn.map_or(ptr::null_mut(), |txn| txn.handle() as *mut MDB_txn)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_dbi(cursor: *mut MDB_cursor) -> MDB_dbi {
    objects::cursor(cursor as usize).ok().and_then(|cursor| cursor.dbi()).unwrap_or(0)
}

/// # Safety
/// Both values are null, or good for writing; where the operation looks for a key or a value, they
/// are as [`bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_get(
    cursor: *mut MDB_cursor,
    key: *mut MDB_val,
    data: *mut MDB_val,
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
/// As [`mdb_cursor_get`].
#[inline(never)]
unsafe extern "C" fn get(
    cursor: *mut MDB_cursor,
    key: *mut MDB_val,
    data: *mut MDB_val,
    op: c_uint,
) -> c_int {
    code(|| {
        let op = Op::of(op).filter(|op| *op <= Op::PrevMultiple).ok_or(Fault::Invalid)?;
        if let Some(step) = objects::step(cursor as usize, op) {
            let (shown, value) = step?;
            // SAFETY: the caller's promise.
            unsafe { show(key, shown) };
            if let Some(value) = value {
                // SAFETY: the caller's promise.
                unsafe { show(data, value) };
            }
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let (wanted, value) = unsafe { wanted(op, key, data) }?;
        let given = with_cursor(cursor as usize, |cursor| cursor.get(op, wanted, value));
        let given = given.map_err(in_reset)?;
        if let Some(shown) = given.key {
            // SAFETY: the caller's promise.
            unsafe { show(key, shown) };
        }
        if let Some(shown) = given.value {
            // SAFETY: the caller's promise.
            unsafe { show(data, shown) };
        }
        Ok(())
    })
}

type Wanted<'v> = (Option<&'v [u8]>, Option<&'v [u8]>);

/// What an operation looks for. Others only write what the pointers point to.
///
/// # Safety
/// As [`mdb_cursor_get`].
unsafe fn wanted<'v>(op: Op, key: *mut MDB_val, data: *mut MDB_val) -> Res<Wanted<'v>> {
    let needs_value = match op {
        Op::Set | Op::SetKey | Op::SetRange => false,
        Op::GetBoth | Op::GetBothRange => true,
        Op::FirstDup | Op::LastDup if data.is_null() => return Err(Fault::Invalid),
        _ => return Ok((None, None)),
    };
    // SAFETY: the caller's promise.
    let key = unsafe { bytes_of(key) }?;
    // SAFETY: the caller's promise.
    let value = if needs_value { unsafe { bytes_of(data) }? } else { None };
    Ok((key, value))
}

/// # Safety
/// As [`super::data::mdb_put`]; with several values at once `data` points to two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_put(
    cursor: *mut MDB_cursor,
    key: *mut MDB_val,
    data: *mut MDB_val,
    flags: c_uint,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        with_cursor(cursor as usize, |cursor| {
            if flags & MULTIPLE != 0 && !data.is_null() {
                // SAFETY: the caller's promise.
                return unsafe { put_many(cursor, key, data, flags) };
            }
            // SAFETY: the caller's promise.
            let value = unsafe { value_of(data, flags) }?;
            let outcome = cursor.put(key, value, flags)?;
            // SAFETY: the caller's promise.
            unsafe { told(data, outcome) }
        })
    })
}

/// # Safety
/// `data` points to two values: the first says how long each one is and where they begin, the
/// second how many there are.
unsafe fn put_many(cursor: &Cursor, key: &[u8], data: *mut MDB_val, flags: c_uint) -> Res<()> {
    // SAFETY: the caller's promise.
    let (first, count) = unsafe { (*data, (*data.add(1)).mv_size) };
    let mv_size = first.mv_size.checked_mul(count).ok_or(Fault::Size)?;
    // SAFETY: the caller's promise.
    let values = unsafe { bytes_of(&MDB_val { mv_size, ..first }) }?.unwrap_or_default();
    let (done, result) = cursor.put_many(key, values, first.mv_size, flags);
    // SAFETY: the caller's promise.
    unsafe { (*data.add(1)).mv_size = done };
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_del(cursor: *mut MDB_cursor, flags: c_uint) -> c_int {
    code(|| {
        if flags & !NODUPDATA != 0 {
            return Err(Fault::Invalid);
        }
        let cursor = objects::cursor(cursor as usize)?;
        let deleted = cursor.delete(flags != 0);
        if deleted == Err(Fault::Incompatible)
            && cursor.dbi() == Some(MAIN)
            && let Some(txn) = cursor.txn()
        {
            // A database's name: LMDB ends the transaction for that.
            txn.fail()?;
        }
        deleted
    })
}

/// Whether the cursor stands on the name of a database, in the main one: 1, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_cursor_is_db(cursor: *mut MDB_cursor) -> c_int {
    huon_c::guarded(0, || {
        let is_name = objects::cursor(cursor as usize).and_then(|cursor| cursor.is_on_name());
        is_name.unwrap_or(false).into()
    })
}

/// # Safety
/// `count` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_count(cursor: *mut MDB_cursor, count: *mut usize) -> c_int {
    code(|| {
        let cursor = objects::cursor(cursor as usize)?;
        if count.is_null() {
            return Err(Fault::Invalid);
        }
        if !cursor.has_many().map_err(in_reset)? {
            return Err(Fault::Incompatible);
        }
        // SAFETY: the caller's promise.
        unsafe { answer(count, cursor.count()? as usize) }
    })
}
