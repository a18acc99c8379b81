//! Records by key.

use libc::{c_int, c_uint};

use super::dbi::MDB_dbi;
use super::{MDB_txn, MDB_val, bytes_of, code, show};
use huon_c::Fault;
use huon_c::data;
use huon_c::dbi::MAIN;
use huon_c::objects::with_txn;
use huon_c::pointers::{told, value_of};

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
        unsafe { told(data, outcome) }
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
