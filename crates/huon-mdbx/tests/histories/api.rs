//! The functions that histories call, and the orders that they give to tables.

use std::ffi::{c_char, c_int, c_uint, c_void};

use huon_mdbx::abi::{self, *};

type Env = *mut MDBX_env;
type Txn = *mut MDBX_txn;
type Cursor = *mut MDBX_cursor;
type Val = *mut MDBX_val;
type Look = *const MDBX_val;
type Size = libc::intptr_t;

huon_testkit::functions! {
    abi;
    mdbx_env_create: fn(*mut Env) -> c_int;
    mdbx_env_open: fn(Env, *const c_char, c_uint, libc::mode_t) -> c_int;
    mdbx_env_close: fn(Env) -> c_int;
    mdbx_env_copy: fn(Env, *const c_char, c_uint) -> c_int;
    mdbx_env_stat_ex: fn(*const MDBX_env, *const MDBX_txn, *mut MDBX_stat, usize) -> c_int;
    mdbx_env_sync_ex: fn(Env, bool, bool) -> c_int;
    mdbx_env_set_flags: fn(Env, c_uint, bool) -> c_int;
    mdbx_env_get_flags: fn(*const MDBX_env, *mut c_uint) -> c_int;
    mdbx_env_set_geometry: fn(Env, Size, Size, Size, Size, Size, Size) -> c_int;
    mdbx_env_set_maxreaders: fn(Env, c_uint) -> c_int;
    mdbx_env_set_maxdbs: fn(Env, MDBX_dbi) -> c_int;
    mdbx_reader_check: fn(Env, *mut c_int) -> c_int;
    mdbx_txn_begin: fn(Env, Txn, c_uint, *mut Txn) -> c_int;
    mdbx_txn_id: fn(*const MDBX_txn) -> u64;
    mdbx_txn_flags: fn(*const MDBX_txn) -> c_int;
    mdbx_txn_commit: fn(Txn) -> c_int;
    mdbx_txn_abort: fn(Txn) -> c_int;
    mdbx_txn_break: fn(Txn) -> c_int;
    mdbx_txn_reset: fn(Txn) -> c_int;
    mdbx_txn_renew: fn(Txn) -> c_int;
    mdbx_canary_put: fn(Txn, *const MDBX_canary) -> c_int;
    mdbx_canary_get: fn(*const MDBX_txn, *mut MDBX_canary) -> c_int;
    mdbx_dbi_open_ex: fn(
        Txn, *const c_char, c_uint, *mut MDBX_dbi, MDBX_cmp_func, MDBX_cmp_func
    ) -> c_int;
    mdbx_dbi_close: fn(Env, MDBX_dbi) -> c_int;
    mdbx_dbi_flags: fn(Txn, MDBX_dbi, *mut c_uint) -> c_int;
    mdbx_dbi_stat: fn(Txn, MDBX_dbi, *mut MDBX_stat, usize) -> c_int;
    mdbx_dbi_sequence: fn(Txn, MDBX_dbi, *mut u64, u64) -> c_int;
    mdbx_dbi_rename2: fn(Txn, MDBX_dbi, Look) -> c_int;
    mdbx_drop: fn(Txn, MDBX_dbi, bool) -> c_int;
    mdbx_cmp: fn(*const MDBX_txn, MDBX_dbi, Look, Look) -> c_int;
    mdbx_dcmp: fn(*const MDBX_txn, MDBX_dbi, Look, Look) -> c_int;
    mdbx_get: fn(Txn, MDBX_dbi, Look, Val) -> c_int;
    mdbx_get_ex: fn(Txn, MDBX_dbi, Val, Val, *mut usize) -> c_int;
    mdbx_get_equal_or_great: fn(Txn, MDBX_dbi, Val, Val) -> c_int;
    mdbx_put: fn(Txn, MDBX_dbi, Look, Val, c_uint) -> c_int;
    mdbx_replace: fn(Txn, MDBX_dbi, Look, Val, Val, c_uint) -> c_int;
    mdbx_del: fn(Txn, MDBX_dbi, Look, Look) -> c_int;
    mdbx_cursor_create: fn(*mut c_void) -> Cursor;
    mdbx_cursor_open: fn(Txn, MDBX_dbi, *mut Cursor) -> c_int;
    mdbx_cursor_close: fn(Cursor);
    mdbx_cursor_bind: fn(Txn, Cursor, MDBX_dbi) -> c_int;
    mdbx_cursor_unbind: fn(Cursor) -> c_int;
    mdbx_cursor_reset: fn(Cursor) -> c_int;
    mdbx_cursor_copy: fn(*const MDBX_cursor, Cursor) -> c_int;
    mdbx_cursor_renew: fn(Txn, Cursor) -> c_int;
    mdbx_cursor_txn: fn(*const MDBX_cursor) -> Txn;
    mdbx_cursor_dbi: fn(*const MDBX_cursor) -> MDBX_dbi;
    mdbx_cursor_get: fn(Cursor, Val, Val, c_uint) -> c_int;
    mdbx_cursor_put: fn(Cursor, Look, Val, c_uint) -> c_int;
    mdbx_cursor_del: fn(Cursor, c_uint) -> c_int;
    mdbx_cursor_count: fn(*const MDBX_cursor, *mut usize) -> c_int;
    mdbx_cursor_eof: fn(*const MDBX_cursor) -> c_int;
    mdbx_cursor_on_first: fn(*const MDBX_cursor) -> c_int;
    mdbx_cursor_on_last: fn(*const MDBX_cursor) -> c_int;
    mdbx_cursor_on_first_dup: fn(*const MDBX_cursor) -> c_int;
    mdbx_cursor_on_last_dup: fn(*const MDBX_cursor) -> c_int;
}

/// Orders keys: shorter ones first.
pub(crate) unsafe extern "C" fn by_length(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
    // SAFETY: the library gives two values that live.
    let (a, b) = unsafe { (bytes(&*a), bytes(&*b)) };
    huon_testkit::c_calls::shorter_first(a, b) as c_int
}

/// Orders values backwards.
pub(crate) unsafe extern "C" fn backwards(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
    // SAFETY: the library gives two values that live.
    unsafe { bytes(&*b).cmp(bytes(&*a)) as c_int }
}

/// What a value of the library's names.
///
/// # Safety
/// It is there as long as the slice is used.
pub(crate) unsafe fn bytes<'b>(val: &MDBX_val) -> &'b [u8] {
    match val.iov_len {
        0 => &[],
        // SAFETY: the caller's promise.
        n => unsafe { std::slice::from_raw_parts(val.iov_base.cast::<u8>(), n) },
    }
}

/// A value for the library.
pub(crate) fn val(bytes: &[u8]) -> MDBX_val {
    MDBX_val { iov_len: bytes.len(), iov_base: bytes.as_ptr() as *mut c_void }
}
