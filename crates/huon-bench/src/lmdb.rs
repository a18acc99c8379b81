//! LMDB through its C interface, without a wrapper whose cost would be counted as LMDB's.
//!
//! 1. `env` is open and `dbi` belongs to it from `open` to `drop`.
//! 2. No transaction outlives the call that begins it.

use std::ffi::{CStr, CString, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use lmdb_master_sys as ffi;

use crate::store::{Key, Result, Store, touched, value};

const MAP_BYTES: usize = 64 << 30;

/// One LMDB file.
pub(crate) struct Lmdb {
    env: *mut ffi::MDB_env,
    dbi: ffi::MDB_dbi,
}

impl Lmdb {
    /// Creates a file at `path`, without flushes and without read-ahead.
    pub(crate) fn create(path: &Path) -> Result<Lmdb> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let flags = ffi::MDB_NOSUBDIR | ffi::MDB_NOSYNC | ffi::MDB_NORDAHEAD | ffi::MDB_NOTLS;
        let mut env = ptr::null_mut();
        // SAFETY: `env` is a valid place for the result.
        check(unsafe { ffi::mdb_env_create(&mut env) })?;
        let mut lmdb = Lmdb { env, dbi: 0 };
        // SAFETY: `env` was created above and is not open yet; `path` ends with a zero byte.
        unsafe {
            check(ffi::mdb_env_set_mapsize(env, MAP_BYTES))?;
            check(ffi::mdb_env_open(env, path.as_ptr(), flags as c_uint, 0o600))?;
        }
        let txn = Txn::begin(&lmdb, 0)?;
        let mut dbi = 0;
        // SAFETY: the transaction is live; a null name is the main table.
        check(unsafe { ffi::mdb_dbi_open(txn.0, ptr::null(), 0, &mut dbi) })?;
        txn.commit()?;
        lmdb.dbi = dbi;
        Ok(lmdb)
    }
}

impl Drop for Lmdb {
    fn drop(&mut self) {
        // SAFETY: created in `create`, closed only here, no transaction is left (2).
        unsafe { ffi::mdb_env_close(self.env) }
    }
}

impl Store for Lmdb {
    fn name(&self) -> &'static str {
        "LMDB"
    }

    fn put_all(&mut self, keys: &[Key]) -> Result<()> {
        let txn = Txn::begin(self, 0)?;
        for key in keys {
            let value = value(key);
            let (mut k, mut v) = (val(key), val(&value));
            // SAFETY: the transaction is live; LMDB only reads what `k` and `v` point to, and both
            // live until the call returns.
            check(unsafe { ffi::mdb_put(txn.0, self.dbi, &mut k, &mut v, 0) })?;
        }
        txn.commit()
    }

    fn get_all(&self, keys: &[Key]) -> Result<u64> {
        let txn = Txn::begin(self, ffi::MDB_RDONLY as c_uint)?;
        let mut sum = 0;
        for key in keys {
            let mut k = val(key);
            let mut v = ffi::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };
            // SAFETY: the transaction is live and LMDB only reads what `k` points to.
            check(unsafe { ffi::mdb_get(txn.0, self.dbi, &mut k, &mut v) })?;
            // SAFETY: LMDB says where the value lies in its map, and it stays until the read
            // transaction ends, which is after the last use.
            sum += touched(unsafe { std::slice::from_raw_parts(v.mv_data.cast(), v.mv_size) });
        }
        Ok(sum)
    }
}

/// A transaction; aborted when dropped.
struct Txn(*mut ffi::MDB_txn);

impl Txn {
    fn begin(lmdb: &Lmdb, flags: c_uint) -> Result<Txn> {
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::mdb_txn_begin(lmdb.env, ptr::null_mut(), flags, &mut txn) })?;
        Ok(Txn(txn))
    }

    fn commit(self) -> Result<()> {
        let txn = self.0;
        std::mem::forget(self);
        // SAFETY: the transaction is live; whatever the answer, it is gone afterwards, and `drop`
        // does not run.
        check(unsafe { ffi::mdb_txn_commit(txn) })
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        // SAFETY: the transaction is live: `commit` forgets it.
        unsafe { ffi::mdb_txn_abort(self.0) }
    }
}

fn val(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr().cast_mut().cast() }
}

fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: LMDB answers every code with a static string.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    Err(format!("LMDB: {}", text.to_string_lossy()).into())
}
