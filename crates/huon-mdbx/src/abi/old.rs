//! Names of 2017 that became others.

use libc::{c_char, c_int, size_t};

use super::{
    MDBX_dbi, MDBX_txn, MDBX_val, mdbx_dump_val, mdbx_get_equal_or_great, mdbx_limits_keysize_max,
};

/// # Safety
/// As [`mdbx_get_equal_or_great`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_get_nearest(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_get_equal_or_great(txn, dbi, key, data) }
}

/// # Safety
/// As [`mdbx_dump_val`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dkey(
    key: *const MDBX_val,
    buf: *mut c_char,
    size: size_t,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { mdbx_dump_val(key, buf, size) }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_get_maxkeysize(page_bytes: size_t) -> c_int {
    let page_bytes = isize::try_from(page_bytes).unwrap_or(-1);
    mdbx_limits_keysize_max(page_bytes, 0) as c_int
}
