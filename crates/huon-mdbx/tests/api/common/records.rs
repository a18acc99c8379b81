//! Tables, records and cursors as bytes.

use std::ffi::{CString, c_void};
use std::ptr;

use super::*;

pub(crate) const KEYEXIST: i32 = -30799;
pub(crate) const NOTFOUND: i32 = -30798;
pub(crate) const DBS_FULL: i32 = -30791;
pub(crate) const BAD_VALSIZE: i32 = -30781;
pub(crate) const BAD_DBI: i32 = -30780;
pub(crate) const EMULTIVAL: i32 = -30421;
pub(crate) const EKEYMISMATCH: i32 = -30418;

pub(crate) const CREATE: u32 = 0x4_0000;
pub(crate) const DB_ACCEDE: u32 = 0x4000_0000;
pub(crate) const REVERSEKEY: u32 = 0x02;
pub(crate) const DUPSORT: u32 = 0x04;
pub(crate) const INTEGERKEY: u32 = 0x08;
pub(crate) const DUPFIXED: u32 = 0x10;
pub(crate) const INTEGERDUP: u32 = 0x20;

pub(crate) const NOOVERWRITE: u32 = 0x10;
pub(crate) const NODUPDATA: u32 = 0x20;
pub(crate) const CURRENT: u32 = 0x40;
pub(crate) const ALLDUPS: u32 = 0x80;
pub(crate) const RESERVE: u32 = 0x1_0000;
pub(crate) const APPEND: u32 = 0x2_0000;
pub(crate) const APPENDDUP: u32 = 0x4_0000;
pub(crate) const MULTIPLE: u32 = 0x8_0000;

pub(crate) const FIRST: u32 = 0;
pub(crate) const GET_BOTH: u32 = 2;
pub(crate) const GET_BOTH_RANGE: u32 = 3;
pub(crate) const GET_CURRENT: u32 = 4;
pub(crate) const GET_MULTIPLE: u32 = 5;
pub(crate) const LAST: u32 = 6;
pub(crate) const LAST_DUP: u32 = 7;
pub(crate) const NEXT: u32 = 8;
pub(crate) const NEXT_DUP: u32 = 9;
pub(crate) const NEXT_MULTIPLE: u32 = 10;
pub(crate) const PREV: u32 = 12;
pub(crate) const PREV_DUP: u32 = 13;
pub(crate) const SET: u32 = 15;
pub(crate) const SET_KEY: u32 = 16;
pub(crate) const SET_RANGE: u32 = 17;
pub(crate) const PREV_MULTIPLE: u32 = 18;
pub(crate) const SET_LOWERBOUND: u32 = 19;
pub(crate) const SET_UPPERBOUND: u32 = 20;

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
