//! Records by key.

use libc::{c_int, c_uint};

use super::dbi::MDB_dbi;
use super::{MDB_txn, MDB_val, bytes_of, code, show};
use huon_c::data::{self, Outcome, Value};
use huon_c::dbi::MAIN;
use huon_c::flags::put::RESERVE;
use huon_c::objects::with_txn;
use huon_c::{Fault, Res};

/// # Safety
/// `key` is null, or as [`bytes_of`] needs it; `data` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_get(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    key: *mut MDB_val,
    data: *mut MDB_val,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        if data.is_null() {
            return Err(Fault::Invalid);
        }
        let found = with_txn(txn as usize, |txn| data::get(txn, dbi, key))?;
        // SAFETY: the caller's promise.
        unsafe { show(data, found) };
        Ok(())
    })
}

/// # Safety
/// As [`mdb_get`], and `data` is as [`bytes_of`] needs it, unless its bytes are to come.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_put(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    key: *mut MDB_val,
    data: *mut MDB_val,
    flags: c_uint,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        // SAFETY: the caller's promise.
        let value = unsafe { value_of(data, flags) }?;
        let outcome = with_txn(txn as usize, |txn| data::put(txn, dbi, key, value, flags))?;
        // SAFETY: the caller's promise.
        unsafe { tell(data, outcome) }
    })
}

/// # Safety
/// Both are null, or as [`bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_del(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    key: *mut MDB_val,
    data: *mut MDB_val,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let (key, value) = unsafe { (bytes_of(key)?, bytes_of(data)?) };
        with_txn(txn as usize, |txn| {
            let deleted = data::delete(txn, dbi, key.ok_or(Fault::Invalid)?, value);
            if deleted == Err(Fault::Incompatible) && dbi == MAIN {
                // A database's name: LMDB ends the transaction for that.
                txn.fail()?;
            }
            deleted
        })
    })
}

/// What is to be stored.
///
/// # Safety
/// As [`mdb_put`].
pub(super) unsafe fn value_of<'v>(data: *const MDB_val, flags: c_uint) -> Res<Value<'v>> {
    if data.is_null() {
        return Err(Fault::Invalid);
    }
    match flags & RESERVE != 0 {
        // SAFETY: it is not null, hence a value.
        true => Ok(Value::Room(unsafe { (*data).mv_size })),
        // SAFETY: the caller's promise.
        false => unsafe { bytes_of(data) }?.map(Value::Bytes).ok_or(Fault::Invalid),
    }
}

/// Tells what came of a put.
///
/// # Safety
/// `data` is a value.
pub(super) unsafe fn tell(data: *mut MDB_val, outcome: Outcome) -> Res<()> {
    match outcome {
        Outcome::Stored => Ok(()),
        Outcome::Room(place) => {
            // SAFETY: the caller's promise.
            unsafe { (*data).mv_data = place.cast() };
            Ok(())
        }
        Outcome::Exists(found) => {
            // SAFETY: the caller's promise.
            unsafe { show(data, found) };
            Err(Fault::Exists)
        }
    }
}
