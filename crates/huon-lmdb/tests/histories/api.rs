//! The functions of a library: Huon's own, or those of another one that is loaded.

use std::ffi::{c_char, c_int, c_uint, c_void};

use lmdb::abi::{self, *};

type Env = *mut MDB_env;
type Txn = *mut MDB_txn;
type Cursor = *mut MDB_cursor;
type Val = *mut MDB_val;
type Look = *const MDB_val;

huon_testkit::functions! {
    abi;
    mdb_version: fn(*mut c_int, *mut c_int, *mut c_int) -> *mut c_char;
    mdb_env_create: fn(*mut Env) -> c_int;
    mdb_env_open: fn(Env, *const c_char, c_uint, libc::mode_t) -> c_int;
    mdb_env_close: fn(Env);
    mdb_env_copy2: fn(Env, *const c_char, c_uint) -> c_int;
    mdb_env_stat: fn(Env, *mut MDB_stat) -> c_int;
    mdb_env_sync: fn(Env, c_int) -> c_int;
    mdb_env_set_flags: fn(Env, c_uint, c_int) -> c_int;
    mdb_env_get_flags: fn(Env, *mut c_uint) -> c_int;
    mdb_env_set_mapsize: fn(Env, usize) -> c_int;
    mdb_env_set_maxreaders: fn(Env, c_uint) -> c_int;
    mdb_env_set_maxdbs: fn(Env, c_uint) -> c_int;
    mdb_reader_check: fn(Env, *mut c_int) -> c_int;
    mdb_txn_begin: fn(Env, Txn, c_uint, *mut Txn) -> c_int;
    mdb_txn_id: fn(Txn) -> usize;
    mdb_txn_commit: fn(Txn) -> c_int;
    mdb_txn_abort: fn(Txn);
    mdb_txn_reset: fn(Txn);
    mdb_txn_renew: fn(Txn) -> c_int;
    mdb_dbi_open: fn(Txn, *const c_char, c_uint, *mut MDB_dbi) -> c_int;
    mdb_dbi_close: fn(Env, MDB_dbi);
    mdb_dbi_flags: fn(Txn, MDB_dbi, *mut c_uint) -> c_int;
    mdb_stat: fn(Txn, MDB_dbi, *mut MDB_stat) -> c_int;
    mdb_drop: fn(Txn, MDB_dbi, c_int) -> c_int;
    mdb_set_compare: fn(Txn, MDB_dbi, Option<MDB_cmp_func>) -> c_int;
    mdb_set_dupsort: fn(Txn, MDB_dbi, Option<MDB_cmp_func>) -> c_int;
    mdb_cmp: fn(Txn, MDB_dbi, Look, Look) -> c_int;
    mdb_dcmp: fn(Txn, MDB_dbi, Look, Look) -> c_int;
    mdb_get: fn(Txn, MDB_dbi, Val, Val) -> c_int;
    mdb_put: fn(Txn, MDB_dbi, Val, Val, c_uint) -> c_int;
    mdb_del: fn(Txn, MDB_dbi, Val, Val) -> c_int;
    mdb_cursor_open: fn(Txn, MDB_dbi, *mut Cursor) -> c_int;
    mdb_cursor_close: fn(Cursor);
    mdb_cursor_renew: fn(Txn, Cursor) -> c_int;
    mdb_cursor_txn: fn(Cursor) -> Txn;
    mdb_cursor_dbi: fn(Cursor) -> MDB_dbi;
    mdb_cursor_get: fn(Cursor, Val, Val, c_uint) -> c_int;
    mdb_cursor_put: fn(Cursor, Val, Val, c_uint) -> c_int;
    mdb_cursor_del: fn(Cursor, c_uint) -> c_int;
    mdb_cursor_count: fn(Cursor, *mut usize) -> c_int;
}

/// Orders keys: shorter ones first.
pub(crate) unsafe extern "C" fn by_length(a: *const MDB_val, b: *const MDB_val) -> c_int {
    // SAFETY: the library gives two values that live.
    let (a, b) = unsafe { (bytes(&*a), bytes(&*b)) };
    huon_testkit::c_calls::shorter_first(a, b) as c_int
}

/// Orders values backwards.
pub(crate) unsafe extern "C" fn backwards(a: *const MDB_val, b: *const MDB_val) -> c_int {
    // SAFETY: the library gives two values that live.
    unsafe { bytes(&*b).cmp(bytes(&*a)) as c_int }
}

/// What a value of the library's names.
///
/// # Safety
/// It is there as long as the slice is used.
pub(crate) unsafe fn bytes<'b>(val: &MDB_val) -> &'b [u8] {
    match val.mv_size {
        0 => &[],
        // SAFETY: the caller's promise.
        n => unsafe { std::slice::from_raw_parts(val.mv_data.cast::<u8>(), n) },
    }
}

/// A value for the library.
pub(crate) fn val(bytes: &[u8]) -> MDB_val {
    MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr() as *mut c_void }
}
