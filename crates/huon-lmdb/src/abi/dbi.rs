//! Databases.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::sync::Arc;

use huon::Compare;
use libc::{c_char, c_int, c_uint, c_void};

use super::env::numbers;
use super::{MDB_env, MDB_stat, MDB_txn, MDB_val, code, env_of, in_reset, txn_of};
use huon_c::dbi;
use huon_c::pointers::answer;
use huon_c::table::Dbi;
use huon_c::{Fault, Res};

/// A database's handle.
pub type MDB_dbi = c_uint;

/// A comparator of the program's: below 0, 0, or above.
pub type MDB_cmp_func = unsafe extern "C" fn(a: *const MDB_val, b: *const MDB_val) -> c_int;

/// A function for items that are moved, which LMDB never calls either.
pub type MDB_rel_func = unsafe extern "C" fn(
    item: *mut MDB_val,
    from: *mut c_void,
    to: *mut c_void,
    context: *mut c_void,
);

/// # Safety
/// `name` is null, or a text that ends with a zero byte; `dbi` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dbi_open(
    txn: *mut MDB_txn,
    name: *const c_char,
    flags: c_uint,
    dbi: *mut MDB_dbi,
) -> c_int {
    code(|| {
        let name = if name.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(unsafe { CStr::from_ptr(name) }.to_bytes())
        };
        let opened = dbi::open(&*txn_of(txn)?, name, flags).map_err(in_reset)?;
        // SAFETY: the caller's promise.
        unsafe { answer(dbi, opened) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_dbi_close(env: *mut MDB_env, dbi: MDB_dbi) {
    code(|| {
        env_of(env)?.shared.dbis_mut().close(dbi);
        Ok(())
    });
}

/// # Safety
/// `flags` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dbi_flags(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    flags: *mut c_uint,
) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        if txn.access().and_then(|access| access.view().map(drop)) == Err(Fault::Reset) {
            // No table is open in it.
            return Err(Fault::Reset);
        }
        let found = txn.env.dbis().get(dbi, &txn)?.flags;
        // SAFETY: the caller's promise.
        unsafe { answer(flags, found) }
    })
}

/// # Safety
/// `stat` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_stat(txn: *mut MDB_txn, dbi: MDB_dbi, stat: *mut MDB_stat) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        let found = dbi::stat_of(&txn, dbi)?;
        // SAFETY: the caller's promise.
        unsafe { answer(stat, numbers(&txn.env, &found)?) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_drop(txn: *mut MDB_txn, dbi: MDB_dbi, delete: c_int) -> c_int {
    code(|| match delete {
        0 | 1 => dbi::drop_dbi(&*txn_of(txn)?, dbi, delete == 1),
        _ => Err(Fault::Invalid),
    })
}

/// # Safety
/// `compare` may be called with any two values, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_compare(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    compare: Option<MDB_cmp_func>,
) -> c_int {
    code(|| set_comparator(txn, dbi, compare, false))
}

/// # Safety
/// As [`mdb_set_compare`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_dupsort(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    compare: Option<MDB_cmp_func>,
) -> c_int {
    code(|| set_comparator(txn, dbi, compare, true))
}

fn set_comparator(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    compare: Option<MDB_cmp_func>,
    of_values: bool,
) -> Res<()> {
    let (txn, compare) = (txn_of(txn)?, compare.ok_or(Fault::Invalid)?);
    let made = txn.env.comparator(compare as usize, || comparator(compare));
    let known = txn.env.dbis().get(dbi, &txn)?.clone();
    dbi::set_comparator(&txn, (dbi, known), made, of_values)
}

fn comparator(compare: MDB_cmp_func) -> Arc<Compare> {
    Arc::new(move |a: &[u8], b: &[u8]| {
        let val =
            |bytes: &[u8]| MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr() as *mut c_void };
        let (a, b) = (val(a), val(b));
        // SAFETY: the caller that set it promised that it may be called; it gets two values that
        // live.
        huon_c::comparing(|| unsafe { compare(&a, &b) }).cmp(&0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_set_relfunc(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    _: Option<MDB_rel_func>,
) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        txn.env.dbis().get(dbi, &txn).map(drop)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_set_relctx(txn: *mut MDB_txn, dbi: MDB_dbi, _: *mut c_void) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        txn.env.dbis().get(dbi, &txn).map(drop)
    })
}

/// # Safety
/// The values are null, or as [`super::bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cmp(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    a: *const MDB_val,
    b: *const MDB_val,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compare(txn, dbi, a, b, Dbi::compare_keys) }
}

/// # Safety
/// As [`mdb_cmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dcmp(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    a: *const MDB_val,
    b: *const MDB_val,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compare(txn, dbi, a, b, Dbi::compare_values) }
}

/// # Safety
/// As [`mdb_cmp`].
unsafe fn compare(
    txn: *mut MDB_txn,
    dbi: MDB_dbi,
    a: *const MDB_val,
    b: *const MDB_val,
    how: impl FnOnce(&Dbi, &[u8], &[u8]) -> Ordering,
) -> c_int {
    huon_c::guarded(0, || {
        let Ok(txn) = txn_of(txn) else { return 0 };
        let Ok(dbi) = txn.env.dbis().get(dbi, &txn).cloned() else { return 0 };
        // SAFETY: the caller's promise.
        match unsafe { (super::bytes_of(a), super::bytes_of(b)) } {
            (Ok(Some(a)), Ok(Some(b))) => how(&dbi, a, b) as c_int,
            _ => 0,
        }
    })
}
