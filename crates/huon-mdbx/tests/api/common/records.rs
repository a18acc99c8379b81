//! Tables, records and cursors as bytes.

use std::ffi::{CString, c_void};
use std::ptr;

use super::*;
pub(crate) use huon_testkit::c_calls::names::{go::*, kind::*, put::*};

pub(crate) type Cur = *mut MDBX_cursor;
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

pub(crate) fn val(bytes: &[u8]) -> MDBX_val {
    MDBX_val { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() }
}

pub(crate) fn bytes(val: MDBX_val) -> Vec<u8> {
    match val.iov_len {
        0 => Vec::new(),
        // SAFETY: what the library shows is there until the next change.
        n => unsafe { std::slice::from_raw_parts(val.iov_base.cast::<u8>(), n) }.to_vec(),
    }
}

pub(crate) fn pair(key: &str, value: &str) -> Result<Pair, i32> {
    Ok((key.into(), value.into()))
}

pub(crate) fn open(txn: Txn, name: Option<&str>, flags: u32) -> Result<u32, i32> {
    let name = name.map(|name| CString::new(name).unwrap());
    let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
    let mut dbi = 0;
    // SAFETY: a text or null; the pointer is good for writing.
    match unsafe { mdbx_dbi_open(txn, name, flags, &mut dbi) } {
        0 => Ok(dbi),
        code => Err(code),
    }
}

/// A table that all transactions share.
pub(crate) fn table(env: &Env, name: &str, flags: u32) -> u32 {
    let txn = env.write();
    let dbi = open(txn, Some(name), CREATE | flags).unwrap();
    assert_eq!(mdbx_txn_commit(txn), 0);
    dbi
}

/// A write transaction in a new table with these records.
pub(crate) fn filled(env: &Env, flags: u32, records: &[(&str, &str)]) -> (Txn, u32) {
    let dbi = table(env, "t", flags);
    let txn = env.write();
    for (key, value) in records {
        assert_eq!(put(txn, dbi, key.as_bytes(), value.as_bytes(), 0), 0);
    }
    (txn, dbi)
}

pub(crate) fn put(txn: Txn, dbi: u32, key: &[u8], value: &[u8], flags: u32) -> i32 {
    // SAFETY: the values live.
    unsafe { mdbx_put(txn, dbi, &val(key), &mut val(value), flags) }
}

pub(crate) fn get(txn: Txn, dbi: u32, key: &[u8]) -> Result<Vec<u8>, i32> {
    let mut found = val(b"");
    // SAFETY: the values live.
    match unsafe { mdbx_get(txn, dbi, &val(key), &mut found) } {
        0 => Ok(bytes(found)),
        code => Err(code),
    }
}

/// All values of a key.
pub(crate) fn values(txn: Txn, dbi: u32, key: &[u8]) -> Vec<Vec<u8>> {
    let cur = cursor(txn, dbi);
    let mut all = Vec::new();
    let mut found = seek(cur, SET, key, b"");
    while let Ok((_, value)) = found {
        all.push(value);
        found = go(cur, NEXT_DUP);
    }
    mdbx_cursor_close(cur);
    all
}

pub(crate) fn del(txn: Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> i32 {
    let value = value.map(val);
    let value = value.as_ref().map_or(ptr::null(), |value| value as *const MDBX_val);
    // SAFETY: the values live.
    unsafe { mdbx_del(txn, dbi, &val(key), value) }
}

pub(crate) fn cursor(txn: Txn, dbi: u32) -> Cur {
    let mut cursor = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_cursor_open(txn, dbi, &mut cursor) }, 0);
    cursor
}

pub(crate) fn go(cursor: Cur, op: u32) -> Result<Pair, i32> {
    seek(cursor, op, b"", b"")
}

/// A look for something that is found as it is.
pub(crate) fn seek(cursor: Cur, op: u32, key: &[u8], value: &[u8]) -> Result<Pair, i32> {
    match look(cursor, op, key, value) {
        (0, found) => Ok(found),
        (code, _) => Err(code),
    }
}

/// A look for something, with what it says.
pub(crate) fn look(cursor: Cur, op: u32, key: &[u8], value: &[u8]) -> (i32, Pair) {
    let (mut key, mut value) = (val(key), val(value));
    // SAFETY: the values live.
    let code = unsafe { mdbx_cursor_get(cursor, &mut key, &mut value, op) };
    (code, (bytes(key), bytes(value)))
}

pub(crate) fn cursor_put(cursor: Cur, key: &[u8], value: &[u8], flags: u32) -> i32 {
    // SAFETY: the values live.
    unsafe { mdbx_cursor_put(cursor, &val(key), &mut val(value), flags) }
}

pub(crate) fn stat(txn: Txn, dbi: u32) -> Result<MDBX_stat, i32> {
    let mut stat = MDBX_stat::default();
    // SAFETY: the pointer is good for writing.
    match unsafe { mdbx_dbi_stat(txn, dbi, &mut stat, size_of::<MDBX_stat>()) } {
        0 => Ok(stat),
        code => Err(code),
    }
}

/// The flags of a table, and what it is to the transaction.
pub(crate) fn flags(txn: Txn, dbi: u32) -> Result<(u32, u32), i32> {
    let (mut flags, mut state) = (0, 0);
    // SAFETY: the pointers are good for writing.
    match unsafe { mdbx_dbi_flags_ex(txn, dbi, &mut flags, &mut state) } {
        0 => Ok((flags, state)),
        code => Err(code),
    }
}
