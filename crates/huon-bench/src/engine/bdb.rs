//! Berkeley DB, whose calls go through pointers in structures: `c/bdb.c` makes functions of them.
//!
//! Read transactions are snapshots; the snapshot is that of the first read. Writers would run into
//! each other's page locks, and have to begin anew, so they wait for their turn here.
//!
//! 1. `bdb` is open from `open` to `drop` or `close`.
//! 2. Transactions and cursors are gone before it: they borrow the engine. A cursor is closed
//!    before its transaction ends.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Engine, Mode, Read, Result, Setup, Way, Write};

/// Room for keys and values at first.
const ROOM_BYTES: usize = 4096;

mod ffi {
    use super::{c_char, c_int, c_void};

    macro_rules! opaque {
        ($($name:ident)*) => { $(#[repr(C)] pub(super) struct $name { _private: [u8; 0] })* };
    }
    opaque!(Bdb Txn Cursor);

    /// The places of `enum step`.
    pub(super) const FIRST: c_int = 0;
    pub(super) const LAST: c_int = 1;
    pub(super) const NEXT: c_int = 2;
    pub(super) const PREVIOUS: c_int = 3;
    pub(super) const RANGE: c_int = 4;

    unsafe extern "C" {
        pub(super) fn bdb_open(
            dir: *const c_char,
            cache_bytes: u64,
            durable: c_int,
            result: *mut *mut Bdb,
        ) -> c_int;
        pub(super) fn bdb_close(bdb: *mut Bdb) -> c_int;
        pub(super) fn bdb_checkpoint(bdb: *mut Bdb) -> c_int;
        pub(super) fn bdb_begin_read(bdb: *mut Bdb, txn: *mut *mut Txn) -> c_int;
        pub(super) fn bdb_begin_write(bdb: *mut Bdb, txn: *mut *mut Txn) -> c_int;
        pub(super) fn bdb_commit(bdb: *mut Bdb, txn: *mut Txn) -> c_int;
        pub(super) fn bdb_end_read(txn: *mut Txn) -> c_int;
        pub(super) fn bdb_abort(txn: *mut Txn) -> c_int;
        pub(super) fn bdb_get(
            bdb: *mut Bdb,
            txn: *mut Txn,
            key: *const c_void,
            key_bytes: u32,
            value: *mut c_void,
            value_room: u32,
            value_bytes: *mut u32,
        ) -> c_int;
        pub(super) fn bdb_put(
            bdb: *mut Bdb,
            txn: *mut Txn,
            key: *const c_void,
            key_bytes: u32,
            value: *const c_void,
            value_bytes: u32,
        ) -> c_int;
        pub(super) fn bdb_delete(
            bdb: *mut Bdb,
            txn: *mut Txn,
            key: *const c_void,
            key_bytes: u32,
        ) -> c_int;
        pub(super) fn bdb_cursor(bdb: *mut Bdb, txn: *mut Txn, cursor: *mut *mut Cursor) -> c_int;
        pub(super) fn bdb_cursor_close(cursor: *mut Cursor) -> c_int;
        pub(super) fn bdb_step(
            cursor: *mut Cursor,
            step: c_int,
            key: *mut c_void,
            key_room: u32,
            key_bytes: *mut u32,
            value: *mut c_void,
            value_room: u32,
            value_bytes: *mut u32,
        ) -> c_int;
        pub(super) fn bdb_not_found() -> c_int;
        pub(super) fn bdb_buffer_small() -> c_int;
        pub(super) fn bdb_version() -> *const c_char;
        pub(super) fn bdb_error(code: c_int) -> *const c_char;
    }
}

/// One Berkeley DB environment with one B-tree.
pub(crate) struct Bdb {
    bdb: *mut ffi::Bdb,
    turn: Mutex<()>,
}

// SAFETY: environment and database are opened for use by many threads (`DB_THREAD`).
unsafe impl Send for Bdb {}
// SAFETY: as above.
unsafe impl Sync for Bdb {}

impl Drop for Bdb {
    fn drop(&mut self) {
        // SAFETY: open since `open`; `close` forgets the engine; nothing that uses it is left (2).
        unsafe { ffi::bdb_close(self.bdb) };
    }
}

impl Engine for Bdb {
    const NAME: &'static str = "bdb";
    type Read<'e> = ReadTxn<'e>;
    type Write<'e> = WriteTxn<'e>;

    fn version() -> String {
        // SAFETY: a static string.
        let text = unsafe { CStr::from_ptr(ffi::bdb_version()) }.to_string_lossy();
        // As `Berkeley DB 5.3.28: (September  9, 2013)`.
        text.split_whitespace().nth(2).unwrap_or("unknown").trim_end_matches(':').to_string()
    }

    fn options(setup: &Setup) -> String {
        let flag = if setup.mode == Mode::Durable { "TXN_SYNC" } else { "TXN_WRITE_NOSYNC" };
        format!(
            "transactions, snapshot reads (MULTIVERSION), private environment, {} MiB cache, 4 KiB \
             pages, checkpoint each 64 MiB of log, log removed; writers one after another; {flag}",
            setup.cache_bytes >> 20
        )
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Bdb> {
        let dir = CString::new(dir.as_os_str().as_bytes())?;
        let (cache_bytes, durable) = (setup.cache_bytes as u64, setup.mode == Mode::Durable);
        let mut bdb = ptr::null_mut();
        // SAFETY: the name ends with a zero byte, and the result has a place.
        let code =
            unsafe { ffi::bdb_open(dir.as_ptr(), cache_bytes, c_int::from(durable), &mut bdb) };
        check(code)?;
        Ok(Bdb { bdb, turn: Mutex::new(()) })
    }

    fn read(&self) -> Result<ReadTxn<'_>> {
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::bdb_begin_read(self.bdb, &mut txn) })?;
        Ok(ReadTxn { bdb: self.bdb, txn, key: Vec::new(), value: Vec::new(), _engine: self })
    }

    fn write(&self) -> Result<WriteTxn<'_>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::bdb_begin_write(self.bdb, &mut txn) })?;
        Ok(WriteTxn { bdb: self.bdb, txn, value: Vec::new(), _turn: turn })
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::bdb_checkpoint(self.bdb) })
    }

    fn close(self) -> Result<()> {
        let bdb = self.bdb;
        std::mem::forget(self);
        // SAFETY: as in `drop`, which does not run any more.
        check(unsafe { ffi::bdb_close(bdb) })
    }
}

/// Gets a value into `room`, which grows as needed, and gives it to `look`.
fn get<T>(
    bdb: *mut ffi::Bdb,
    txn: *mut ffi::Txn,
    key: &[u8],
    room: &mut Vec<u8>,
    look: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>> {
    room.resize(room.len().max(ROOM_BYTES), 0);
    let (key_bytes, mut bytes) = (u32::try_from(key.len())?, 0);
    loop {
        let room_bytes = u32::try_from(room.len())?;
        // SAFETY: the transaction is live (2), the key as long as said, and `room` has room for so
        // many bytes.
        let code = unsafe {
            let room = room.as_mut_ptr().cast();
            ffi::bdb_get(bdb, txn, key.as_ptr().cast(), key_bytes, room, room_bytes, &mut bytes)
        };
        if is_small(code) && bytes > room_bytes {
            room.resize(bytes as usize, 0);
            continue;
        }
        let value = room.get(..bytes as usize);
        return if found(code)? {
            Ok(Some(look(value.ok_or("Berkeley DB: a value longer than its room")?)))
        } else {
            Ok(None)
        };
    }
}

/// A read transaction with a snapshot.
pub(crate) struct ReadTxn<'e> {
    bdb: *mut ffi::Bdb,
    txn: *mut ffi::Txn,
    /// Room for a key and a value.
    key: Vec<u8>,
    value: Vec<u8>,
    _engine: &'e Bdb,
}

impl Drop for ReadTxn<'_> {
    fn drop(&mut self) {
        // SAFETY: begun in `read`, ended only here, its cursors are closed (2).
        unsafe { ffi::bdb_end_read(self.txn) };
    }
}

impl Read for ReadTxn<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        get(self.bdb, self.txn, key, &mut self.value, look)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let (bdb, txn) = (self.bdb, self.txn);
        let mut cursor = Cursor::open(bdb, txn, &mut self.key, &mut self.value)?;
        let (first, next) = match way {
            Way::Up => (ffi::FIRST, ffi::NEXT),
            Way::Down => (ffi::LAST, ffi::PREVIOUS),
        };
        let mut at_record = match from {
            None => cursor.step(first, None)?,
            Some(from) => cursor.step(ffi::RANGE, Some(from))?,
        };
        if let (Some(from), Way::Down) = (from, way) {
            // The cursor is at the first key that is not below; it has to be not above.
            if !at_record {
                at_record = cursor.step(ffi::LAST, None)?;
            } else if cursor.record().0 != from {
                at_record = cursor.step(ffi::PREVIOUS, None)?;
            }
        }
        let mut count = 0;
        while count < limit && at_record {
            let (key, value) = cursor.record();
            look(key, value);
            count += 1;
            at_record = count < limit && cursor.step(next, None)?;
        }
        cursor.close()?;
        Ok(count)
    }
}

/// A cursor, and the room it copies to.
struct Cursor<'r> {
    cursor: *mut ffi::Cursor,
    key: &'r mut Vec<u8>,
    key_bytes: u32,
    value: &'r mut Vec<u8>,
    value_bytes: u32,
}

impl<'r> Cursor<'r> {
    fn open(
        bdb: *mut ffi::Bdb,
        txn: *mut ffi::Txn,
        key: &'r mut Vec<u8>,
        value: &'r mut Vec<u8>,
    ) -> Result<Cursor<'r>> {
        key.resize(key.len().max(ROOM_BYTES), 0);
        value.resize(value.len().max(ROOM_BYTES), 0);
        let mut cursor = ptr::null_mut();
        // SAFETY: the transaction is live (2).
        check(unsafe { ffi::bdb_cursor(bdb, txn, &mut cursor) })?;
        Ok(Cursor { cursor, key, key_bytes: 0, value, value_bytes: 0 })
    }

    /// Moves; whether there is a record.
    fn step(&mut self, step: c_int, bound: Option<&[u8]>) -> Result<bool> {
        loop {
            if let Some(bound) = bound {
                self.key.resize(self.key.len().max(bound.len()), 0);
                self.key[..bound.len()].copy_from_slice(bound);
                self.key_bytes = u32::try_from(bound.len())?;
            }
            let key_room = u32::try_from(self.key.len())?;
            let value_room = u32::try_from(self.value.len())?;
            // SAFETY: the cursor is open, and there is as much room for key and value as said.
            let code = unsafe {
                ffi::bdb_step(
                    self.cursor,
                    step,
                    self.key.as_mut_ptr().cast(),
                    key_room,
                    &mut self.key_bytes,
                    self.value.as_mut_ptr().cast(),
                    value_room,
                    &mut self.value_bytes,
                )
            };
            let fits = self.key_bytes <= key_room && self.value_bytes <= value_room;
            if !is_small(code) || fits {
                return found(code);
            }
            self.key.resize(self.key.len().max(self.key_bytes as usize), 0);
            self.value.resize(self.value.len().max(self.value_bytes as usize), 0);
        }
    }

    /// Key and value that the last step found.
    fn record(&self) -> (&[u8], &[u8]) {
        let room = |bytes: &'_ [u8], count: u32| bytes.len().min(count as usize);
        let (key, value) = (room(self.key, self.key_bytes), room(self.value, self.value_bytes));
        (&self.key[..key], &self.value[..value])
    }

    fn close(self) -> Result<()> {
        let cursor = self.cursor;
        std::mem::forget(self);
        // SAFETY: opened in `open`; `drop` does not run any more.
        check(unsafe { ffi::bdb_cursor_close(cursor) })
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, not closed in `close`.
        unsafe { ffi::bdb_cursor_close(self.cursor) };
    }
}

/// The writer's transaction.
pub(crate) struct WriteTxn<'e> {
    bdb: *mut ffi::Bdb,
    txn: *mut ffi::Txn,
    /// Room for a value.
    value: Vec<u8>,
    _turn: MutexGuard<'e, ()>,
}

impl Drop for WriteTxn<'_> {
    fn drop(&mut self) {
        // SAFETY: begun in `write`; `end` sets it to null when it ends.
        if !self.txn.is_null() {
            // SAFETY: as above.
            unsafe { ffi::bdb_abort(self.txn) };
        }
    }
}

impl WriteTxn<'_> {
    /// The transaction, which the caller ends.
    fn end(&mut self) -> *mut ffi::Txn {
        std::mem::replace(&mut self.txn, ptr::null_mut())
    }
}

impl Write for WriteTxn<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key_bytes, value_bytes) = (u32::try_from(key.len())?, u32::try_from(value.len())?);
        let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the transaction is live (2); key and value are as long as said, and only read.
        check(unsafe { ffi::bdb_put(self.bdb, self.txn, key, key_bytes, value, value_bytes) })
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let key_bytes = u32::try_from(key.len())?;
        // SAFETY: the transaction is live (2); the key is as long as said, and only read.
        found(unsafe { ffi::bdb_delete(self.bdb, self.txn, key.as_ptr().cast(), key_bytes) })
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        get(self.bdb, self.txn, key, &mut self.value, look)
    }

    fn commit(mut self) -> Result<()> {
        let txn = self.end();
        // SAFETY: the transaction is live (2), and gone afterwards, whatever the answer.
        check(unsafe { ffi::bdb_commit(self.bdb, txn) })
    }

    fn abort(mut self) -> Result<()> {
        let txn = self.end();
        // SAFETY: as in `commit`.
        check(unsafe { ffi::bdb_abort(txn) })
    }
}

fn is_small(code: c_int) -> bool {
    // SAFETY: a constant.
    code == unsafe { ffi::bdb_buffer_small() }
}

/// Whether the answer is anything; not found is none.
fn found(code: c_int) -> Result<bool> {
    // SAFETY: a constant.
    if code == unsafe { ffi::bdb_not_found() } {
        return Ok(false);
    }
    check(code).map(|()| true)
}

fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: Berkeley DB answers every code with a string that stays until its next call.
    let text = unsafe { CStr::from_ptr(ffi::bdb_error(code)) };
    Err(format!("Berkeley DB: {}", text.to_string_lossy()).into())
}
