//! libmdbx through its C interface.
//!
//! 1. `env` is open and `dbi` belongs to it from `open` to `close` or `drop`.
//! 2. A transaction borrows the environment, and ends when its owner is dropped at the latest.
//! 3. A cursor belongs to the transaction of its owner and is closed before that ends.

use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use mdbx_sys as ffi;

use super::walk::{Step, walk};
use super::{Engine, Mode, Read, Result, Setup, Way, Write};

const MAP_BYTES: isize = 64 << 30;
const GROW_BYTES: isize = 64 << 20;
const PAGE_BYTES: isize = 4096;

/// One libmdbx environment; with a writable map or without.
pub(crate) struct Mdbx<const WRITEMAP: bool> {
    env: *mut ffi::MDBX_env,
    dbi: ffi::MDBX_dbi,
}

// SAFETY: an environment is made for use by many threads; with NOSTICKYTHREADS transactions may
// move.
unsafe impl<const WRITEMAP: bool> Sync for Mdbx<WRITEMAP> {}

impl<const WRITEMAP: bool> Mdbx<WRITEMAP> {
    fn begin(&self, flags: ffi::MDBX_txn_flags) -> Result<Txn<'_>> {
        let (mut txn, none) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment is open (1).
        let code =
            unsafe { ffi::mdbx_txn_begin_ex(self.env, ptr::null_mut(), flags, &mut txn, none) };
        check(code)?;
        Ok(Txn { txn, dbi: self.dbi, of: PhantomData })
    }
}

impl<const WRITEMAP: bool> Drop for Mdbx<WRITEMAP> {
    fn drop(&mut self) {
        // SAFETY: created in `open`, closed only here, no transaction is left (2). What it answers
        // is of no use here.
        unsafe { ffi::mdbx_env_close_ex(self.env, false) };
    }
}

impl<const WRITEMAP: bool> Engine for Mdbx<WRITEMAP> {
    const NAME: &'static str = if WRITEMAP { "mdbx-wm" } else { "mdbx" };
    const SHARED: bool = true;

    type Read<'e> = MdbxRead<'e>;
    type Write<'e> = Txn<'e>;

    fn version() -> String {
        // SAFETY: a constant of the library, with a static string.
        let text = unsafe { CStr::from_ptr(ffi::mdbx_version.git.describe) };
        text.to_string_lossy().into_owned()
    }

    fn options(setup: &Setup) -> String {
        let map = if WRITEMAP { ", WRITEMAP" } else { "" };
        let sync = match setup.mode {
            Mode::Durable => "SYNC_DURABLE",
            Mode::Lazy => "SAFE_NOSYNC",
            Mode::Unsynced => "UTTERLY_NOSYNC (a crash of the system may break the file)",
        };
        format!("4 KiB pages, growth step 64 MiB, NOSTICKYTHREADS, NORDAHEAD{map}, {sync}")
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Self> {
        let path = CString::new(dir.as_os_str().as_bytes())?;
        let mut flags = ffi::MDBX_NORDAHEAD | ffi::MDBX_NOSTICKYTHREADS;
        if WRITEMAP {
            flags |= ffi::MDBX_WRITEMAP;
        }
        flags |= match setup.mode {
            Mode::Durable => ffi::MDBX_SYNC_DURABLE,
            Mode::Lazy => ffi::MDBX_SAFE_NOSYNC,
            Mode::Unsynced => ffi::MDBX_UTTERLY_NOSYNC,
        };
        let mut env = ptr::null_mut();
        // SAFETY: `env` is a valid place for the result.
        check(unsafe { ffi::mdbx_env_create(&mut env) })?;
        let mut mdbx = Mdbx { env, dbi: 0 };
        // SAFETY: `env` was created above and is not open yet; `path` ends with a zero byte.
        unsafe {
            check(ffi::mdbx_env_set_geometry(env, -1, -1, MAP_BYTES, GROW_BYTES, -1, PAGE_BYTES))?;
            check(ffi::mdbx_env_open(env, path.as_ptr(), flags, 0o600))?;
        }
        let txn = mdbx.begin(ffi::MDBX_TXN_RDONLY)?;
        let mut dbi = 0;
        // SAFETY: the transaction is live; a null name is the main table.
        check(unsafe { ffi::mdbx_dbi_open(txn.txn, ptr::null(), 0, &mut dbi) })?;
        txn.commit()?;
        mdbx.dbi = dbi;
        Ok(mdbx)
    }

    fn read(&self) -> Result<MdbxRead<'_>> {
        Ok(MdbxRead { cursor: None, txn: self.begin(ffi::MDBX_TXN_RDONLY)? })
    }

    fn write(&self) -> Result<Txn<'_>> {
        self.begin(ffi::MDBX_TXN_READWRITE)
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open (1).
        found(unsafe { ffi::mdbx_env_sync_ex(self.env, true, false) }).map(drop)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// A transaction; aborted when dropped.
pub(crate) struct Txn<'e> {
    txn: *mut ffi::MDBX_txn,
    dbi: ffi::MDBX_dbi,
    of: PhantomData<&'e ()>,
}

impl Txn<'_> {
    #[inline]
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let (k, mut v) = (val(key), NO_VAL);
        // SAFETY: the transaction is live (2), and libmdbx only reads what `k` points to.
        if !found(unsafe { ffi::mdbx_get(self.txn, self.dbi, &k, &mut v) })? {
            return Ok(None);
        }
        // SAFETY: the value stays until the next change, and `look` makes none.
        Ok(Some(look(unsafe { bytes(&v) })))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8], flags: ffi::MDBX_put_flags) -> Result<()> {
        let (k, mut v) = (val(key), val(value));
        // SAFETY: the transaction is live (2); libmdbx only reads what `k` and `v` point to, and
        // both live until the call returns.
        check(unsafe { ffi::mdbx_put(self.txn, self.dbi, &k, &mut v, flags) })
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is live: `commit` forgets it. What it answers is of no use here.
        unsafe { ffi::mdbx_txn_abort_ex(self.txn, ptr::null_mut()) };
    }
}

impl Write for Txn<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Txn::put(self, key, value, ffi::MDBX_UPSERT)
    }

    #[inline]
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Txn::put(self, key, value, ffi::MDBX_APPEND)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let k = val(key);
        // SAFETY: the transaction is live (2), and libmdbx only reads what `k` points to.
        found(unsafe { ffi::mdbx_del(self.txn, self.dbi, &k, ptr::null()) })
    }

    #[inline]
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Txn::get(self, key, look)
    }

    fn commit(self) -> Result<()> {
        let txn = self.txn;
        std::mem::forget(self);
        // SAFETY: the transaction is live; whatever the answer, it is gone afterwards, and `drop`
        // does not run.
        check(unsafe { ffi::mdbx_txn_commit_ex(txn, ptr::null_mut()) })
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

/// A read transaction, with the cursor that it keeps once it has one.
pub(crate) struct MdbxRead<'e> {
    // Dropped first (3).
    cursor: Option<Cursor>,
    txn: Txn<'e>,
}

struct Cursor(*mut ffi::MDBX_cursor);

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: opened in `MdbxRead::cursor`, closed only here, its transaction is live (3).
        unsafe { ffi::mdbx_cursor_close(self.0) };
    }
}

impl MdbxRead<'_> {
    fn cursor(&mut self) -> Result<*mut ffi::MDBX_cursor> {
        if let Some(cursor) = &self.cursor {
            return Ok(cursor.0);
        }
        let mut cursor = ptr::null_mut();
        // SAFETY: the transaction is live (2).
        check(unsafe { ffi::mdbx_cursor_open(self.txn.txn, self.txn.dbi, &mut cursor) })?;
        self.cursor = Some(Cursor(cursor));
        Ok(cursor)
    }
}

impl Read for MdbxRead<'_> {
    #[inline]
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.txn.get(key, look)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let cursor = self.cursor()?;
        let go = |step, key: Option<&[u8]>| {
            let op = match step {
                Step::First => ffi::MDBX_FIRST,
                Step::Last => ffi::MDBX_LAST,
                Step::Next => ffi::MDBX_NEXT,
                Step::Prev => ffi::MDBX_PREV,
                Step::Seek => ffi::MDBX_SET_RANGE,
            };
            let (mut k, mut v) = (key.map_or(NO_VAL, val), NO_VAL);
            // SAFETY: the cursor is open; libmdbx reads what `k` points to when it seeks, and says
            // in `k` and `v` where the record lies, which stays until the read transaction ends.
            unsafe {
                let found = found(ffi::mdbx_cursor_get(cursor, &mut k, &mut v, op))?;
                Ok(found.then(|| (bytes(&k), bytes(&v))))
            }
        };
        walk(from, way, limit, go, look)
    }

    const RENEWS: bool = true;

    fn renew(&mut self) -> Result<()> {
        self.cursor = None;
        // SAFETY: the transaction is live and reads; it is reset, and live again after the renewal.
        unsafe {
            check(ffi::mdbx_txn_reset(self.txn.txn))?;
            check(ffi::mdbx_txn_renew(self.txn.txn))
        }
    }
}

const NO_VAL: ffi::MDBX_val = ffi::MDBX_val { iov_base: ptr::null_mut(), iov_len: 0 };

fn val(bytes: &[u8]) -> ffi::MDBX_val {
    ffi::MDBX_val { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// # Safety
/// libmdbx has filled `val`, and what it points to must stay for as long as the answer is used.
#[inline]
unsafe fn bytes<'a>(val: &ffi::MDBX_val) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(val.iov_base.cast(), val.iov_len) }
}

fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: libmdbx answers every code with a string that stays.
    let text = unsafe { CStr::from_ptr(ffi::mdbx_strerror(code)) };
    Err(format!("libmdbx: {}", text.to_string_lossy()).into())
}

/// Whether the answer is anything; not found, or nothing to be done, is none.
#[inline]
fn found(code: c_int) -> Result<bool> {
    match code {
        0 => Ok(true),
        ffi::MDBX_NOTFOUND | ffi::MDBX_RESULT_TRUE => Ok(false),
        code => check(code).map(|()| true),
    }
}
