//! LMDB through its C interface, without a wrapper whose cost would be counted as LMDB's.
//!
//! 1. `env` is open and `dbi` belongs to it from `open` to `drop`.
//! 2. A transaction borrows the environment, and ends when its owner is dropped at the latest.
//! 3. A cursor belongs to the transaction of its owner and is closed before that ends.

use std::ffi::{CStr, CString, c_int, c_uint};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use lmdb_master_sys as ffi;

use super::walk::{Step, walk};
use super::{Engine, Mode, Pair, Pairs, Read, Result, Setup, Way, Write};

const MAP_BYTES: usize = 64 << 30;

/// One LMDB environment; with a writable map or without.
pub(crate) struct Lmdb<const WRITEMAP: bool> {
    env: *mut ffi::MDB_env,
    dbi: ffi::MDB_dbi,
}

// SAFETY: LMDB's environment is made for use by many threads; with NOTLS transactions may move.
unsafe impl<const WRITEMAP: bool> Sync for Lmdb<WRITEMAP> {}

impl<const WRITEMAP: bool> Lmdb<WRITEMAP> {
    fn begin(&self, flags: c_uint) -> Result<Txn<'_>> {
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::mdb_txn_begin(self.env, ptr::null_mut(), flags, &mut txn) })?;
        Ok(Txn { txn, dbi: self.dbi, of: PhantomData })
    }
}

impl<const WRITEMAP: bool> Drop for Lmdb<WRITEMAP> {
    fn drop(&mut self) {
        // SAFETY: created in `open`, closed only here, no transaction is left (2).
        unsafe { ffi::mdb_env_close(self.env) }
    }
}

impl<const WRITEMAP: bool> Engine for Lmdb<WRITEMAP> {
    const NAME: &'static str = if WRITEMAP { "lmdb-wm" } else { "lmdb" };
    const SHARED: bool = true;

    type Read<'e> = LmdbRead<'e>;
    type Write<'e> = Txn<'e>;

    fn version() -> String {
        // SAFETY: LMDB takes null pointers for numbers that are not wanted, and answers with a
        // static string.
        let text = unsafe {
            CStr::from_ptr(ffi::mdb_version(ptr::null_mut(), ptr::null_mut(), ptr::null_mut()))
        };
        text.to_string_lossy().into_owned()
    }

    fn options(setup: &Setup) -> String {
        let map = if WRITEMAP { ", WRITEMAP" } else { "" };
        let sync = match setup.mode {
            Mode::Durable => "",
            Mode::Lazy | Mode::Unsynced => ", NOSYNC (a crash of the system may break the file)",
        };
        format!("64 GiB map, NOTLS, NORDAHEAD{map}{sync}")
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Self> {
        let path = CString::new(dir.as_os_str().as_bytes())?;
        let mut flags = ffi::MDB_NORDAHEAD | ffi::MDB_NOTLS;
        if WRITEMAP {
            flags |= ffi::MDB_WRITEMAP;
        }
        if setup.mode != Mode::Durable {
            flags |= ffi::MDB_NOSYNC;
        }
        let mut env = ptr::null_mut();
        // SAFETY: `env` is a valid place for the result.
        check(unsafe { ffi::mdb_env_create(&mut env) })?;
        let mut lmdb = Lmdb { env, dbi: 0 };
        // SAFETY: `env` was created above and is not open yet; `path` ends with a zero byte.
        unsafe {
            check(ffi::mdb_env_set_mapsize(env, MAP_BYTES))?;
            check(ffi::mdb_env_set_maxdbs(env, 1))?;
            check(ffi::mdb_env_open(env, path.as_ptr(), flags, 0o600))?;
        }
        let txn = lmdb.begin(ffi::MDB_RDONLY)?;
        let mut dbi = 0;
        // SAFETY: the transaction is live; a null name is the main table.
        check(unsafe { ffi::mdb_dbi_open(txn.txn, ptr::null(), 0, &mut dbi) })?;
        txn.commit()?;
        lmdb.dbi = dbi;
        Ok(lmdb)
    }

    fn read(&self) -> Result<LmdbRead<'_>> {
        Ok(LmdbRead { cursor: None, txn: self.begin(ffi::MDB_RDONLY)? })
    }

    fn write(&self) -> Result<Txn<'_>> {
        self.begin(0)
    }

    fn pairs(&self) -> Result<Option<impl Pairs>> {
        let (txn, mut dbi) = (self.begin(0)?, 0);
        let flags = ffi::MDB_CREATE | ffi::MDB_DUPSORT | ffi::MDB_DUPFIXED;
        // SAFETY: the transaction is live (2), and the name ends with a zero byte.
        check(unsafe { ffi::mdb_dbi_open(txn.txn, c"pairs".as_ptr(), flags, &mut dbi) })?;
        txn.commit()?;
        Ok(Some(LmdbPairs { lmdb: self, dbi }))
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open (1).
        check(unsafe { ffi::mdb_env_sync(self.env, 1) })
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// A transaction; aborted when dropped.
pub(crate) struct Txn<'e> {
    txn: *mut ffi::MDB_txn,
    dbi: ffi::MDB_dbi,
    of: PhantomData<&'e ()>,
}

impl Txn<'_> {
    #[inline]
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let (mut k, mut v) = (val(key), NO_VAL);
        // SAFETY: the transaction is live (2), and LMDB only reads what `k` points to.
        if !found(unsafe { ffi::mdb_get(self.txn, self.dbi, &mut k, &mut v) })? {
            return Ok(None);
        }
        // SAFETY: the value stays until the next change, and `look` makes none.
        Ok(Some(look(unsafe { bytes(&v) })))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8], flags: c_uint) -> Result<()> {
        let (mut k, mut v) = (val(key), val(value));
        // SAFETY: the transaction is live (2); LMDB only reads what `k` and `v` point to, and both
        // live until the call returns.
        check(unsafe { ffi::mdb_put(self.txn, self.dbi, &mut k, &mut v, flags) })
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is live: `commit` forgets it.
        unsafe { ffi::mdb_txn_abort(self.txn) }
    }
}

impl Write for Txn<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Txn::put(self, key, value, 0)
    }

    #[inline]
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Txn::put(self, key, value, ffi::MDB_APPEND)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let mut k = val(key);
        // SAFETY: the transaction is live (2), and LMDB only reads what `k` points to.
        found(unsafe { ffi::mdb_del(self.txn, self.dbi, &mut k, ptr::null_mut()) })
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
        check(unsafe { ffi::mdb_txn_commit(txn) })
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

/// A database whose keys have many values of one length.
struct LmdbPairs<'e, const WRITEMAP: bool> {
    lmdb: &'e Lmdb<WRITEMAP>,
    dbi: ffi::MDB_dbi,
}

impl<const WRITEMAP: bool> LmdbPairs<'_, WRITEMAP> {
    fn begin(&self, flags: c_uint) -> Result<Txn<'_>> {
        let mut txn = self.lmdb.begin(flags)?;
        txn.dbi = self.dbi;
        Ok(txn)
    }
}

impl<const WRITEMAP: bool> Pairs for LmdbPairs<'_, WRITEMAP> {
    fn put(&self, pairs: &[Pair]) -> Result<()> {
        let mut txn = self.begin(0)?;
        pairs.iter().try_for_each(|(key, value)| Txn::put(&mut txn, key, value, 0))?;
        txn.commit()
    }

    fn put_rows(&self, pairs: &[Pair], row: usize) -> Result<()> {
        let (txn, mut cursor) = (self.begin(0)?, ptr::null_mut());
        // SAFETY: the transaction is live (2).
        check(unsafe { ffi::mdb_cursor_open(txn.txn, self.dbi, &mut cursor) })?;
        // Dropped before the transaction ends (3).
        let cursor = Cursor(cursor);
        for row in pairs.chunks(row) {
            let values: Vec<u8> = row.iter().flat_map(|(_, value)| value).copied().collect();
            let count = ffi::MDB_val { mv_size: row.len(), mv_data: ptr::null_mut() };
            let (mut k, mut v) =
                (val(&row[0].0), [ffi::MDB_val { mv_size: 8, ..val(&values) }, count]);
            // SAFETY: the cursor is open; LMDB reads a key, and so many values of eight bytes as
            // the second `v` says, and writes there how many it has put.
            check(unsafe {
                ffi::mdb_cursor_put(cursor.0, &mut k, v.as_mut_ptr(), ffi::MDB_MULTIPLE)
            })?;
        }
        drop(cursor);
        txn.commit()
    }

    fn count(&self) -> Result<u64> {
        let txn = self.begin(ffi::MDB_RDONLY)?;
        // SAFETY: a statistic of zeros is one; the transaction is live (2).
        let stat = unsafe {
            let mut stat = std::mem::zeroed::<ffi::MDB_stat>();
            check(ffi::mdb_stat(txn.txn, self.dbi, &mut stat))?;
            stat
        };
        Ok(stat.ms_entries as u64)
    }
}

/// A read transaction, with the cursor that it keeps once it has one.
pub(crate) struct LmdbRead<'e> {
    // Dropped first (3).
    cursor: Option<Cursor>,
    txn: Txn<'e>,
}

struct Cursor(*mut ffi::MDB_cursor);

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: opened in `LmdbRead::cursor`, closed only here, its transaction is live (3).
        unsafe { ffi::mdb_cursor_close(self.0) }
    }
}

impl LmdbRead<'_> {
    fn cursor(&mut self) -> Result<*mut ffi::MDB_cursor> {
        if let Some(cursor) = &self.cursor {
            return Ok(cursor.0);
        }
        let mut cursor = ptr::null_mut();
        // SAFETY: the transaction is live (2).
        check(unsafe { ffi::mdb_cursor_open(self.txn.txn, self.txn.dbi, &mut cursor) })?;
        self.cursor = Some(Cursor(cursor));
        Ok(cursor)
    }
}

impl Read for LmdbRead<'_> {
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
                Step::First => ffi::MDB_FIRST,
                Step::Last => ffi::MDB_LAST,
                Step::Next => ffi::MDB_NEXT,
                Step::Prev => ffi::MDB_PREV,
                Step::Seek => ffi::MDB_SET_RANGE,
            };
            let (mut k, mut v) = (key.map_or(NO_VAL, val), NO_VAL);
            // SAFETY: the cursor is open; LMDB reads what `k` points to when it seeks, and says in
            // `k` and `v` where the record lies, which stays until the read transaction ends.
            unsafe {
                let found = found(ffi::mdb_cursor_get(cursor, &mut k, &mut v, op))?;
                Ok(found.then(|| (bytes(&k), bytes(&v))))
            }
        };
        walk(from, way, limit, go, look)
    }

    const STEPS: bool = true;

    fn steps(&mut self, look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        self.scan(None, Way::Up, u64::MAX, look)
    }

    const RENEWS: bool = true;

    fn renew(&mut self) -> Result<()> {
        self.cursor = None;
        // SAFETY: the transaction is live and reads; it is reset, and live again after the renewal.
        check(unsafe {
            ffi::mdb_txn_reset(self.txn.txn);
            ffi::mdb_txn_renew(self.txn.txn)
        })
    }
}

const NO_VAL: ffi::MDB_val = ffi::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };

fn val(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr().cast_mut().cast() }
}

/// # Safety
/// LMDB has filled `val`, and what it points to must stay for as long as the answer is used.
#[inline]
unsafe fn bytes<'a>(val: &ffi::MDB_val) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(val.mv_data.cast(), val.mv_size) }
}

fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: LMDB answers every code with a static string.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    Err(format!("LMDB: {}", text.to_string_lossy()).into())
}

/// Whether the answer is anything; not found is none.
#[inline]
fn found(code: c_int) -> Result<bool> {
    match code {
        0 => Ok(true),
        ffi::MDB_NOTFOUND => Ok(false),
        code => check(code).map(|()| true),
    }
}
