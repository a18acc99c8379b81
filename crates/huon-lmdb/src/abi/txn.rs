//! Transactions.

use std::ptr;
use std::sync::Arc;

use libc::{c_int, c_uint};

use super::{CURSORS, MDB_env, MDB_txn, TXNS, answer, code, env_of, txn_of};
use crate::env::id_of;
use crate::flags::env::RDONLY;
use huon_c::dbi;
use huon_c::{Begin, Fault, Res, Txn};

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
        let parent = match parent.is_null() {
            true => None,
            false => Some((parent as usize, txn_of(parent)?)),
        };
        let how = Begin { read_only: flags & RDONLY != 0, wait: true };
        let begun = Arc::new(Txn::begin(&inside.shared, env as usize, parent, how)?);
        let Some(handle) = TXNS.insert(begun.clone()) else {
            begun.end(false);
            return Err(Fault::NoMemory);
        };
        begun.set_handle(handle);
        if let Err(code) = dbi::main_is_open(&begun) {
            end(handle as *mut MDB_txn, false)?;
            return Err(code);
        }
        // SAFETY: as before.
        unsafe { answer(txn, handle as *mut MDB_txn) }
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
    code(|| end(txn, true))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_abort(txn: *mut MDB_txn) {
    code(|| end(txn, false));
}

fn end(txn: *mut MDB_txn, commit: bool) -> Res<()> {
    let ending = TXNS.remove(txn as usize).ok_or(Fault::Invalid)?;
    let ended = ending.end(commit);
    ended.txns.into_iter().for_each(|txn| drop(TXNS.remove(txn)));
    ended.cursors.into_iter().for_each(|cursor| drop(CURSORS.remove(cursor)));
    ended.result
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_reset(txn: *mut MDB_txn) {
    code(|| txn_of(txn)?.reset());
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_txn_renew(txn: *mut MDB_txn) -> c_int {
    code(|| txn_of(txn)?.renew())
}
