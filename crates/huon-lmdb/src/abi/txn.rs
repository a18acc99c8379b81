//! Transactions.

use std::ptr;

use libc::{c_int, c_uint};

use super::{MDB_env, MDB_txn, code, env_of, txn_of};
use crate::env::id_of;
use crate::flags::env::RDONLY;
use huon_c::objects::with_txn;
use huon_c::pointers::answer;
use huon_c::{Begin, Fault, objects};

/// # Safety
/// `txn` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_begin(
    env: *mut MDB_env,
    parent: *mut MDB_txn,
    flags: c_uint,
    txn: *mut *mut MDB_txn,
) -> c_int {
    code(|| {
        let inside = env_of(env)?;
        // SAFETY: the caller's promise.
        unsafe { answer(txn, ptr::null_mut()) }?;
        let read_only = flags & RDONLY != 0;
        if !parent.is_null() && !txn_of(parent)?.is_write() {
            return Err(Fault::Invalid);
        }
        let how = Begin { read_only, wait: true, overlaps: true, durability: None };
        let begun = objects::begin(&inside.shared, env as usize, parent as usize, how)?;
        // SAFETY: as before.
        unsafe { answer(txn, begun as *mut MDB_txn) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_env(txn: *mut MDB_txn) -> *mut MDB_env {
    txn_of(txn).map_or(ptr::null_mut(), |txn| txn.env_handle as *mut MDB_env)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_id(txn: *mut MDB_txn) -> usize {
    huon_c::guarded(0, || txn_of(txn).and_then(|txn| txn.id()).map_or(0, id_of) as usize)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_commit(txn: *mut MDB_txn) -> c_int {
    code(|| objects::end(txn as usize, true))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_abort(txn: *mut MDB_txn) {
    code(|| objects::end(txn as usize, false));
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_reset(txn: *mut MDB_txn) {
    code(|| with_txn(txn as usize, |txn| txn.reset()));
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_renew(txn: *mut MDB_txn) -> c_int {
    code(|| with_txn(txn as usize, |txn| txn.renew()))
}
