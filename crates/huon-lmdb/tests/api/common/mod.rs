//! The C interface in the hands of Rust tests: what goes in and comes out as bytes.

#![allow(dead_code, unused_imports)]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr;

pub(crate) use huon_testkit::c_calls::names::{code::*, env::*, go::*, kind::*, put::*};
pub(crate) use lmdb::abi::*;

pub(crate) type Txn = *mut MDB_txn;
pub(crate) type Cur = *mut MDB_cursor;
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

pub(crate) fn val(bytes: &[u8]) -> MDB_val {
    MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr() as *mut c_void }
}

pub(crate) fn bytes(val: MDB_val) -> Vec<u8> {
    match val.mv_size {
        0 => Vec::new(),
        // SAFETY: what the library shows is there until the next change.
        n => unsafe { std::slice::from_raw_parts(val.mv_data.cast::<u8>(), n) }.to_vec(),
    }
}

/// An environment in a directory of its own, or in one that is there.
pub(crate) struct Env {
    pub(crate) env: *mut MDB_env,
    pub(crate) dir: Option<tempfile::TempDir>,
}

pub(crate) fn create() -> *mut MDB_env {
    let mut env = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdb_env_create(&mut env) }, 0);
    env
}

pub(crate) fn open_at(env: *mut MDB_env, path: &Path, flags: u32) -> i32 {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a text that ends with a zero byte.
    unsafe { mdb_env_open(env, path.as_ptr(), flags, 0o644) }
}

impl Env {
    pub(crate) fn new() -> Env {
        Env::with(NOTLS)
    }

    pub(crate) fn with(flags: u32) -> Env {
        let dir = tempfile::tempdir().unwrap();
        let mut env = Env::at(dir.path(), flags);
        env.dir = Some(dir);
        env
    }

    pub(crate) fn at(path: &Path, flags: u32) -> Env {
        let env = create();
        assert_eq!(mdb_env_set_maxdbs(env, 8), 0);
        assert_eq!(mdb_env_set_mapsize(env, 16 << 20), 0);
        assert_eq!(open_at(env, path, flags), 0);
        Env { env, dir: None }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    pub(crate) fn begin(&self) -> Txn {
        self.begin_as(ptr::null_mut(), 0).unwrap()
    }

    pub(crate) fn read(&self) -> Txn {
        self.begin_as(ptr::null_mut(), RDONLY).unwrap()
    }

    pub(crate) fn begin_as(&self, parent: Txn, flags: u32) -> Result<Txn, i32> {
        let mut txn = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        match unsafe { mdb_txn_begin(self.env, parent, flags, &mut txn) } {
            0 => Ok(txn),
            code => Err(code),
        }
    }

    /// A database that all transactions share.
    pub(crate) fn dbi(&self, name: &str, flags: u32) -> u32 {
        let txn = self.begin();
        let dbi = dbi_open(txn, Some(name), CREATE | flags).unwrap();
        assert_eq!(mdb_txn_commit(txn), 0);
        dbi
    }

    pub(crate) fn info(&self) -> MDB_envinfo {
        // SAFETY: numbers and a null pointer may be zero.
        let mut info: MDB_envinfo = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is good for writing.
        assert_eq!(unsafe { mdb_env_info(self.env, &mut info) }, 0);
        info
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        mdb_env_close(self.env);
    }
}

pub(crate) fn dbi_open(txn: Txn, name: Option<&str>, flags: u32) -> Result<u32, i32> {
    let name = name.map(|name| CString::new(name).unwrap());
    let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
    let mut dbi = 0;
    // SAFETY: a text or null; the pointer is good for writing.
    match unsafe { mdb_dbi_open(txn, name, flags, &mut dbi) } {
        0 => Ok(dbi),
        code => Err(code),
    }
}

pub(crate) fn put(txn: Txn, dbi: u32, key: &[u8], value: &[u8], flags: u32) -> i32 {
    // SAFETY: the values live.
    unsafe { mdb_put(txn, dbi, &mut val(key), &mut val(value), flags) }
}

pub(crate) fn get(txn: Txn, dbi: u32, key: &[u8]) -> Result<Vec<u8>, i32> {
    let mut found = val(b"");
    // SAFETY: the values live.
    match unsafe { mdb_get(txn, dbi, &mut val(key), &mut found) } {
        0 => Ok(bytes(found)),
        code => Err(code),
    }
}

pub(crate) fn del(txn: Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> i32 {
    let mut value = value.map(val);
    let value = value.as_mut().map_or(ptr::null_mut(), |value| value as *mut MDB_val);
    // SAFETY: the values live.
    unsafe { mdb_del(txn, dbi, &mut val(key), value) }
}

pub(crate) fn cursor(txn: Txn, dbi: u32) -> Cur {
    let mut cursor = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdb_cursor_open(txn, dbi, &mut cursor) }, 0);
    cursor
}

pub(crate) fn go(cursor: Cur, op: u32) -> Result<Pair, i32> {
    seek(cursor, op, b"", b"")
}

/// A look for something.
pub(crate) fn seek(cursor: Cur, op: u32, key: &[u8], value: &[u8]) -> Result<Pair, i32> {
    let (mut key, mut value) = (val(key), val(value));
    // SAFETY: the values live.
    match unsafe { mdb_cursor_get(cursor, &mut key, &mut value, op) } {
        0 => Ok((bytes(key), bytes(value))),
        code => Err(code),
    }
}

pub(crate) fn cursor_put(cursor: Cur, key: &[u8], value: &[u8], flags: u32) -> i32 {
    // SAFETY: the values live.
    unsafe { mdb_cursor_put(cursor, &mut val(key), &mut val(value), flags) }
}

pub(crate) fn pair(key: &str, value: &str) -> Result<Pair, i32> {
    Ok((key.into(), value.into()))
}

pub(crate) fn stat(txn: Txn, dbi: u32) -> Result<MDB_stat, i32> {
    let mut stat = MDB_stat::default();
    // SAFETY: the pointer is good for writing.
    match unsafe { mdb_stat(txn, dbi, &mut stat) } {
        0 => Ok(stat),
        code => Err(code),
    }
}
