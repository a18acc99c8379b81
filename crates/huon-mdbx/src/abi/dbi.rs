//! Tables.

use std::cmp::Ordering;
use std::ffi::CString;
use std::sync::Arc;

use huon::Compare;
use huon_c::pointers::{answer, tell, text};
use huon_c::table::Dbi;
use huon_c::{Fault, Res, Txn, dbi, guarded};
use libc::{c_char, c_int, c_uint, c_void};

use super::info::{STAT_BYTES, check_size, give};
use super::{
    MDBX_cmp_func, MDBX_dbi, MDBX_env, MDBX_stat, MDBX_table_enum_func, MDBX_txn, MDBX_val,
    bytes_of, code, env_of, mdbx_get_datacmp, mdbx_get_keycmp, txn_of, verdict,
};
use crate::flags::dbi::INTEGERKEY;
use crate::flags::state::*;
use crate::info::stat_of;
use crate::{codes, orders, tables};

/// # Safety
/// `name` is null, or a text that ends with a zero byte; `dbi` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_open(
    txn: *mut MDBX_txn,
    name: *const c_char,
    flags: c_uint,
    dbi: *mut MDBX_dbi,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_dbi_open_ex(txn, name, flags, dbi, None, None) }
}

/// # Safety
/// As [`mdbx_dbi_open`]; the functions may be called with any two values, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_open_ex(
    txn: *mut MDBX_txn,
    name: *const c_char,
    flags: c_uint,
    dbi: *mut MDBX_dbi,
    keys: MDBX_cmp_func,
    values: MDBX_cmp_func,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let name = if name.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(unsafe { text(name) }?.to_bytes())
        };
        // SAFETY: the caller's promise.
        unsafe { open(txn, name, flags, dbi, [keys, values]) }
    })
}

/// # Safety
/// `name` is null, or as [`bytes_of`] needs it; `dbi` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_open2(
    txn: *mut MDBX_txn,
    name: *const MDBX_val,
    flags: c_uint,
    dbi: *mut MDBX_dbi,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_dbi_open_ex2(txn, name, flags, dbi, None, None) }
}

/// # Safety
/// As [`mdbx_dbi_open2`] and [`mdbx_dbi_open_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_open_ex2(
    txn: *mut MDBX_txn,
    name: *const MDBX_val,
    flags: c_uint,
    dbi: *mut MDBX_dbi,
    keys: MDBX_cmp_func,
    values: MDBX_cmp_func,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { bytes_of(name) }?;
        // SAFETY: the caller's promise.
        unsafe { open(txn, name, flags, dbi, [keys, values]) }
    })
}

/// # Safety
/// `dbi` is null, or good for writing.
unsafe fn open(
    txn: *mut MDBX_txn,
    name: Option<&[u8]>,
    flags: u32,
    dbi: *mut MDBX_dbi,
    custom: [MDBX_cmp_func; 2],
) -> Res<()> {
    // SAFETY: the caller's promise.
    unsafe { answer(dbi, 0) }?;
    let txn = txn_of(txn)?;
    let opened = tables::open(&txn, name, flags)?;
    for (compare, of_values) in custom.into_iter().zip([false, true]) {
        if compare.is_some() {
            let known = txn.env.dbis().opened(opened, &txn)?.clone();
            set_comparator(&txn, (opened, known), compare, of_values)?;
        }
    }
    // SAFETY: as before.
    unsafe { answer(dbi, opened) }
}

fn comparator(
    txn: &Txn,
    compare: unsafe extern "C" fn(*const MDBX_val, *const MDBX_val) -> c_int,
) -> Arc<Compare> {
    let val = |bytes: &[u8]| MDBX_val {
        iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(),
        iov_len: bytes.len(),
    };
    let make = || -> Arc<Compare> {
        Arc::new(move |a: &[u8], b: &[u8]| {
            let (a, b) = (val(a), val(b));
            // SAFETY: the caller that gave it promised that it may be called; it gets two values
            // that live.
            huon_c::comparing(|| unsafe { compare(&a, &b) }).cmp(&0)
        })
    };
    txn.env.comparator(compare as usize, make)
}

/// # Safety
/// `compare` may be called with any two values, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_set_compare(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    compare: MDBX_cmp_func,
) -> c_int {
    code(|| set_comparator_of(&*txn_of(txn)?, dbi, compare, false))
}

/// # Safety
/// As [`mdbx_set_compare`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_set_dupsort(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    compare: MDBX_cmp_func,
) -> c_int {
    code(|| set_comparator_of(&*txn_of(txn)?, dbi, compare, true))
}

fn set_comparator_of(txn: &Txn, dbi: MDBX_dbi, compare: MDBX_cmp_func, of_values: bool) -> Res<()> {
    let known = txn.env.dbis().get(dbi, txn)?.clone();
    set_comparator(txn, (dbi, known), compare, of_values)
}

/// Sets the program's comparator for keys or values, unless it names the order that the table has
/// by itself.
fn set_comparator(
    txn: &Txn,
    (dbi, known): (MDBX_dbi, Dbi),
    compare: MDBX_cmp_func,
    of_values: bool,
) -> Res<()> {
    let kind = known.flags;
    let own = if of_values { mdbx_get_datacmp(kind) } else { mdbx_get_keycmp(kind) };
    let compare = compare.ok_or(Fault::Invalid)?;
    let is_own = own.is_some_and(|own| std::ptr::fn_addr_eq(own, compare));
    tables::set_order(txn, (dbi, known), (!is_own).then(|| comparator(txn, compare)), of_values)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_dbi_close(env: *mut MDBX_env, dbi: MDBX_dbi) -> c_int {
    code(|| {
        let env = env_of(env)?;
        let mut dbis = env.shared.dbis_mut();
        if !dbis.is_shared(dbi) {
            return Err(Fault::Closed);
        }
        dbis.close(dbi);
        Ok(())
    })
}

/// # Safety
/// `stat` is null, or good for writing so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_stat(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    stat: *mut MDBX_stat,
    bytes: usize,
) -> c_int {
    code(|| {
        check_size(stat, bytes, &STAT_BYTES)?;
        let txn = txn_of(txn)?;
        let page_bytes = txn.env.huon()?.info()?.page_bytes;
        let found = match dbi {
            dbi::FREE => {
                txn.access()?.view()?;
                MDBX_stat { ms_psize: page_bytes, ..MDBX_stat::default() }
            }
            _ => stat_of(&dbi::stat_of(&txn, dbi)?, page_bytes),
        };
        // SAFETY: the caller's promise, and the size is one of those.
        unsafe { give(&found, stat, bytes) };
        Ok(())
    })
}

/// # Safety
/// `mask` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_dupsort_depthmask(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    mask: *mut u32,
) -> c_int {
    verdict(|| {
        let found = tables::depths(&*txn_of(txn)?, dbi)?;
        // SAFETY: the caller's promise.
        unsafe { answer(mask, found.unwrap_or(0)) }?;
        Ok(found.is_none())
    })
}

/// # Safety
/// `flags` and `state` are null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_flags_ex(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    flags: *mut c_uint,
    state: *mut c_uint,
) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        let (kind, bits) = match dbi {
            dbi::FREE => {
                // A transaction that has failed gets that error here, too.
                txn.access()?.view()?;
                (INTEGERKEY, 0)
            }
            _ => {
                let found = dbi::state_of(&txn, dbi)?;
                let fresh = if found.is_new { DBI_FRESH | DBI_CREAT } else { 0 };
                (found.flags, fresh | if found.is_dirty { DBI_DIRTY } else { 0 })
            }
        };
        // SAFETY: the caller's promise.
        unsafe { answer(flags, kind) }?;
        // SAFETY: the caller's promise.
        unsafe { answer(state, bits) }
    })
}

/// # Safety
/// `flags` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_flags(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    flags: *mut c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_dbi_flags_ex(txn, dbi, flags, &mut 0) }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_drop(txn: *mut MDBX_txn, dbi: MDBX_dbi, delete: bool) -> c_int {
    code(|| tables::drop(&*txn_of(txn)?, dbi, delete))
}

/// # Safety
/// `name` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_rename(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| dbi::rename(&*txn_of(txn)?, dbi, unsafe { text(name) }?.to_bytes()))
}

/// # Safety
/// `name` is null, or as [`bytes_of`] needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_rename2(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    name: *const MDBX_val,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { bytes_of(name) }?.ok_or(Fault::Invalid)?;
        dbi::rename(&*txn_of(txn)?, dbi, name)
    })
}

/// # Safety
/// `func` may be called, and uses `context` as its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_enumerate_tables(
    txn: *const MDBX_txn,
    func: MDBX_table_enum_func,
    context: *mut c_void,
) -> c_int {
    guarded(codes::PANIC, || {
        let tables = || -> Res<_> {
            let (inside, func) = (txn_of(txn)?, func.ok_or(Fault::Invalid)?);
            let page_bytes = inside.env.huon()?.info()?.page_bytes;
            Ok((func, tables::all(&inside)?, page_bytes))
        };
        let (func, tables, page_bytes) = match tables() {
            Ok(tables) => tables,
            Err(fault) => return codes::number(fault),
        };
        for table in tables {
            let told = stat_of(&table.stat, page_bytes);
            // Programs may read beyond the length, up to a zero.
            let name = CString::new(table.stat.name.clone()).unwrap_or_default();
            let name = MDBX_val {
                iov_base: name.as_ptr().cast_mut().cast(),
                iov_len: table.stat.name.len(),
            };
            // SAFETY: the caller's promise; what it is given lives until it returns.
            let end = unsafe { func(context, txn, &name, table.flags, &told, table.dbi) };
            if end != 0 {
                return end;
            }
        }
        0
    })
}

/// # Safety
/// `result` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dbi_sequence(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    result: *mut u64,
    increment: u64,
) -> c_int {
    verdict(|| {
        let txn = txn_of(txn)?;
        let now = dbi::take_sequence(&txn, dbi, 0)?.ok_or(Fault::Invalid)?;
        // SAFETY: the caller's promise.
        unsafe { tell(result, now) };
        Ok(dbi::take_sequence(&txn, dbi, increment)?.is_none())
    })
}

/// # Safety
/// The values are null, or as [`bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_cmp(
    txn: *const MDBX_txn,
    dbi: MDBX_dbi,
    a: *const MDBX_val,
    b: *const MDBX_val,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compare(txn, dbi, a, b, Dbi::compare_keys) }
}

/// # Safety
/// As [`mdbx_cmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dcmp(
    txn: *const MDBX_txn,
    dbi: MDBX_dbi,
    a: *const MDBX_val,
    b: *const MDBX_val,
) -> c_int {
    let how = |dbi: &Dbi, a: &[u8], b: &[u8]| {
        if dbi.is_multi() { dbi.compare_values(a, b) } else { orders::shorter_first(a, b) }
    };
    // SAFETY: the caller's promise.
    unsafe { compare(txn, dbi, a, b, how) }
}

/// # Safety
/// As [`mdbx_cmp`].
unsafe fn compare(
    txn: *const MDBX_txn,
    dbi: MDBX_dbi,
    a: *const MDBX_val,
    b: *const MDBX_val,
    how: impl FnOnce(&Dbi, &[u8], &[u8]) -> Ordering,
) -> c_int {
    guarded(0, || {
        let Ok(txn) = txn_of(txn) else { return 0 };
        let Ok(dbi) = txn.env.dbis().get(dbi, &txn).cloned() else { return 0 };
        // SAFETY: the caller's promise.
        match unsafe { (bytes_of(a), bytes_of(b)) } {
            (Ok(Some(a)), Ok(Some(b))) => how(&dbi, a, b) as c_int,
            _ => 0,
        }
    })
}
