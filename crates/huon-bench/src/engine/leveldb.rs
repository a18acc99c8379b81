//! LevelDB through its C interface.
//!
//! It has no transactions: a write transaction is a batch, which cannot be read from, and nothing
//! looks for conflicts. A read transaction is a snapshot.
//!
//! 1. `db` is open from `open` to `drop`, and what `_options` holds is freed after it.
//! 2. Snapshots and iterators are gone before it: they borrow the engine.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use super::{Debt, Engine, Mode, Read, Result, Setup, Way, Write};

/// Bytes that are collected in memory before they go to a table.
const WRITE_BUFFER_BYTES: usize = 64 << 20;
const BLOOM_BITS: c_int = 10;

mod ffi {
    use super::{c_char, c_int, c_uchar};

    macro_rules! opaque {
        ($($name:ident)*) => { $(#[repr(C)] pub(super) struct $name { _private: [u8; 0] })* };
    }
    opaque!(Db Options Cache FilterPolicy WriteOptions ReadOptions Batch Snapshot Iterator);

    unsafe extern "C" {
        pub(super) fn leveldb_major_version() -> c_int;
        pub(super) fn leveldb_minor_version() -> c_int;
        pub(super) fn leveldb_free(ptr: *mut std::ffi::c_void);

        pub(super) fn leveldb_options_create() -> *mut Options;
        pub(super) fn leveldb_options_destroy(options: *mut Options);
        pub(super) fn leveldb_options_set_create_if_missing(options: *mut Options, yes: c_uchar);
        pub(super) fn leveldb_options_set_write_buffer_size(options: *mut Options, bytes: usize);
        pub(super) fn leveldb_options_set_compression(options: *mut Options, kind: c_int);
        pub(super) fn leveldb_options_set_cache(options: *mut Options, cache: *mut Cache);
        pub(super) fn leveldb_options_set_filter_policy(
            options: *mut Options,
            filter: *mut FilterPolicy,
        );
        pub(super) fn leveldb_cache_create_lru(capacity_bytes: usize) -> *mut Cache;
        pub(super) fn leveldb_cache_destroy(cache: *mut Cache);
        pub(super) fn leveldb_filterpolicy_create_bloom(bits_per_key: c_int) -> *mut FilterPolicy;
        pub(super) fn leveldb_filterpolicy_destroy(filter: *mut FilterPolicy);

        pub(super) fn leveldb_open(
            options: *const Options,
            name: *const c_char,
            error: *mut *mut c_char,
        ) -> *mut Db;
        pub(super) fn leveldb_close(db: *mut Db);
        pub(super) fn leveldb_compact_range(
            db: *mut Db,
            start: *const c_char,
            start_bytes: usize,
            limit: *const c_char,
            limit_bytes: usize,
        );

        pub(super) fn leveldb_writeoptions_create() -> *mut WriteOptions;
        pub(super) fn leveldb_writeoptions_destroy(options: *mut WriteOptions);
        pub(super) fn leveldb_writeoptions_set_sync(options: *mut WriteOptions, yes: c_uchar);
        pub(super) fn leveldb_writebatch_create() -> *mut Batch;
        pub(super) fn leveldb_writebatch_destroy(batch: *mut Batch);
        pub(super) fn leveldb_writebatch_put(
            batch: *mut Batch,
            key: *const c_char,
            key_bytes: usize,
            value: *const c_char,
            value_bytes: usize,
        );
        pub(super) fn leveldb_writebatch_delete(
            batch: *mut Batch,
            key: *const c_char,
            key_bytes: usize,
        );
        pub(super) fn leveldb_write(
            db: *mut Db,
            options: *const WriteOptions,
            batch: *mut Batch,
            error: *mut *mut c_char,
        );

        pub(super) fn leveldb_readoptions_create() -> *mut ReadOptions;
        pub(super) fn leveldb_readoptions_destroy(options: *mut ReadOptions);
        pub(super) fn leveldb_readoptions_set_snapshot(
            options: *mut ReadOptions,
            snapshot: *const Snapshot,
        );
        pub(super) fn leveldb_create_snapshot(db: *mut Db) -> *const Snapshot;
        pub(super) fn leveldb_release_snapshot(db: *mut Db, snapshot: *const Snapshot);
        pub(super) fn leveldb_get(
            db: *mut Db,
            options: *const ReadOptions,
            key: *const c_char,
            key_bytes: usize,
            value_bytes: *mut usize,
            error: *mut *mut c_char,
        ) -> *mut c_char;

        pub(super) fn leveldb_create_iterator(
            db: *mut Db,
            options: *const ReadOptions,
        ) -> *mut Iterator;
        pub(super) fn leveldb_iter_destroy(iterator: *mut Iterator);
        pub(super) fn leveldb_iter_valid(iterator: *const Iterator) -> c_uchar;
        pub(super) fn leveldb_iter_seek_to_first(iterator: *mut Iterator);
        pub(super) fn leveldb_iter_seek_to_last(iterator: *mut Iterator);
        pub(super) fn leveldb_iter_seek(
            iterator: *mut Iterator,
            key: *const c_char,
            key_bytes: usize,
        );
        pub(super) fn leveldb_iter_next(iterator: *mut Iterator);
        pub(super) fn leveldb_iter_prev(iterator: *mut Iterator);
        pub(super) fn leveldb_iter_key(
            iterator: *const Iterator,
            bytes: *mut usize,
        ) -> *const c_char;
        pub(super) fn leveldb_iter_value(
            iterator: *const Iterator,
            bytes: *mut usize,
        ) -> *const c_char;
        pub(super) fn leveldb_iter_get_error(iterator: *const Iterator, error: *mut *mut c_char);
    }
}

/// One LevelDB database.
pub(crate) struct LevelDb {
    db: *mut ffi::Db,
    _options: Options,
    write: *mut ffi::WriteOptions,
    /// For reads of the newest state.
    newest: *mut ffi::ReadOptions,
}

// SAFETY: LevelDB's calls on one database may be made from any thread, several at a time; the
// options are only read after `open`.
unsafe impl Send for LevelDb {}
// SAFETY: as above.
unsafe impl Sync for LevelDb {}

/// Options of an open database, and what they point to.
struct Options {
    options: *mut ffi::Options,
    cache: *mut ffi::Cache,
    filter: *mut ffi::FilterPolicy,
}

impl Options {
    fn new(setup: &Setup) -> Options {
        // SAFETY: these make objects of their own, and set what was just made.
        unsafe {
            let options = ffi::leveldb_options_create();
            let cache = ffi::leveldb_cache_create_lru(setup.cache_bytes);
            let filter = ffi::leveldb_filterpolicy_create_bloom(BLOOM_BITS);
            ffi::leveldb_options_set_create_if_missing(options, 1);
            ffi::leveldb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
            ffi::leveldb_options_set_compression(options, 0);
            ffi::leveldb_options_set_cache(options, cache);
            ffi::leveldb_options_set_filter_policy(options, filter);
            Options { options, cache, filter }
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the database that used them is closed (1).
        unsafe {
            ffi::leveldb_options_destroy(self.options);
            ffi::leveldb_cache_destroy(self.cache);
            ffi::leveldb_filterpolicy_destroy(self.filter);
        }
    }
}

impl Drop for LevelDb {
    fn drop(&mut self) {
        // SAFETY: open since `open`, and nothing that uses it is left (2). `_options` is dropped
        // after this.
        unsafe {
            ffi::leveldb_close(self.db);
            ffi::leveldb_writeoptions_destroy(self.write);
            ffi::leveldb_readoptions_destroy(self.newest);
        }
    }
}

impl Engine for LevelDb {
    const NAME: &'static str = "leveldb";
    const DEBT: Debt = Debt::Unknown;
    type Read<'e> = Snapshot<'e>;
    type Write<'e> = Batch<'e>;

    fn version() -> String {
        // SAFETY: two numbers, nothing else.
        let (major, minor) =
            unsafe { (ffi::leveldb_major_version(), ffi::leveldb_minor_version()) };
        format!("{major}.{minor}")
    }

    fn options(setup: &Setup) -> String {
        format!(
            "write batches and snapshots; bloom filter of {BLOOM_BITS} bits, {} MiB write buffer, \
             {} MiB cache, no compression; sync = {}",
            WRITE_BUFFER_BYTES >> 20,
            setup.cache_bytes >> 20,
            setup.mode == Mode::Durable
        )
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<LevelDb> {
        let options = Options::new(setup);
        let name = CString::new(dir.as_os_str().as_bytes())?;
        let mut error = ptr::null_mut();
        // SAFETY: the options are live, and the name ends with a zero byte.
        let db = unsafe { ffi::leveldb_open(options.options, name.as_ptr(), &mut error) };
        check(error)?;
        // SAFETY: these make objects of their own, and set what was just made.
        unsafe {
            let write = ffi::leveldb_writeoptions_create();
            ffi::leveldb_writeoptions_set_sync(write, c_uchar::from(setup.mode == Mode::Durable));
            Ok(LevelDb { db, _options: options, write, newest: ffi::leveldb_readoptions_create() })
        }
    }

    fn read(&self) -> Result<Snapshot<'_>> {
        // SAFETY: the database is open (1); the options get a snapshot that lives as long.
        unsafe {
            let snapshot = ffi::leveldb_create_snapshot(self.db);
            let options = ffi::leveldb_readoptions_create();
            ffi::leveldb_readoptions_set_snapshot(options, snapshot);
            Ok(Snapshot { engine: self, snapshot, options })
        }
    }

    fn write(&self) -> Result<Batch<'_>> {
        // SAFETY: this makes an object of its own.
        Ok(Batch { engine: self, batch: unsafe { ffi::leveldb_writebatch_create() } })
    }

    /// Writes an empty batch with a flush, which makes the log durable that all newer batches are
    /// in. Older ones are in tables, which are flushed when they are made, or on their way there.
    fn sync(&self) -> Result<()> {
        let batch = self.write()?;
        let mut error = ptr::null_mut();
        // SAFETY: the database is open (1), the batch and the options are live.
        unsafe {
            let options = ffi::leveldb_writeoptions_create();
            ffi::leveldb_writeoptions_set_sync(options, 1);
            ffi::leveldb_write(self.db, options, batch.batch, &mut error);
            ffi::leveldb_writeoptions_destroy(options);
        }
        check(error)
    }

    /// Compacts everything.
    fn settle(&self) -> Result<()> {
        // SAFETY: the database is open (1); null is the begin and the end of all keys.
        unsafe { ffi::leveldb_compact_range(self.db, ptr::null(), 0, ptr::null(), 0) };
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// A snapshot.
pub(crate) struct Snapshot<'e> {
    engine: &'e LevelDb,
    snapshot: *const ffi::Snapshot,
    options: *mut ffi::ReadOptions,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `read`, and released only here; the database is open (1).
        unsafe {
            ffi::leveldb_readoptions_destroy(self.options);
            ffi::leveldb_release_snapshot(self.engine.db, self.snapshot);
        }
    }
}

impl Read for Snapshot<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.engine.get(self.options, key, look)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let mut cursor = Cursor::new(self);
        cursor.place(from, way);
        let mut count = 0;
        while count < limit && cursor.is_at_a_record() {
            let (key, value) = cursor.record();
            look(key, value);
            count += 1;
            cursor.step(way);
        }
        cursor.check()?;
        Ok(count)
    }
}

impl LevelDb {
    fn get<T>(
        &self,
        options: *const ffi::ReadOptions,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let (mut bytes, mut error) = (0, ptr::null_mut());
        // SAFETY: the database is open (1), the options are live, the key is as long as said.
        let value = unsafe {
            ffi::leveldb_get(
                self.db,
                options,
                key.as_ptr().cast(),
                key.len(),
                &mut bytes,
                &mut error,
            )
        };
        check(error)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: LevelDB gives a copy of so many bytes, which is ours until it is freed below.
        let result = look(unsafe { std::slice::from_raw_parts(value.cast(), bytes) });
        // SAFETY: as above; it is not used any more.
        unsafe { ffi::leveldb_free(value.cast()) };
        Ok(Some(result))
    }
}

/// An iterator of a snapshot.
struct Cursor<'s> {
    iterator: *mut ffi::Iterator,
    _snapshot: &'s Snapshot<'s>,
}

impl<'s> Cursor<'s> {
    fn new(snapshot: &'s Snapshot) -> Cursor<'s> {
        // SAFETY: the database is open (1) and the options are live.
        let iterator =
            unsafe { ffi::leveldb_create_iterator(snapshot.engine.db, snapshot.options) };
        Cursor { iterator, _snapshot: snapshot }
    }

    /// Goes to where a scan begins.
    fn place(&mut self, from: Option<&[u8]>, way: Way) {
        // SAFETY: the iterator is live, the key as long as said.
        unsafe {
            match (from, way) {
                (None, Way::Up) => ffi::leveldb_iter_seek_to_first(self.iterator),
                (None, Way::Down) => ffi::leveldb_iter_seek_to_last(self.iterator),
                (Some(key), _) => {
                    ffi::leveldb_iter_seek(self.iterator, key.as_ptr().cast(), key.len());
                }
            }
        }
        // A seek goes to the first key that is not below; downwards it has to be not above.
        if let (Some(key), Way::Down) = (from, way) {
            if !self.is_at_a_record() {
                // SAFETY: the iterator is live.
                unsafe { ffi::leveldb_iter_seek_to_last(self.iterator) };
            } else if self.record().0 != key {
                self.step(Way::Down);
            }
        }
    }

    fn is_at_a_record(&self) -> bool {
        // SAFETY: the iterator is live.
        unsafe { ffi::leveldb_iter_valid(self.iterator) != 0 }
    }

    /// Key and value; there is a record.
    fn record(&self) -> (&[u8], &[u8]) {
        let (mut key_bytes, mut value_bytes) = (0, 0);
        // SAFETY: the iterator is at a record, whose bytes stay until it moves; moving borrows it
        // mutably.
        unsafe {
            let key = ffi::leveldb_iter_key(self.iterator, &mut key_bytes);
            let value = ffi::leveldb_iter_value(self.iterator, &mut value_bytes);
            let key = std::slice::from_raw_parts(key.cast(), key_bytes);
            (key, std::slice::from_raw_parts(value.cast(), value_bytes))
        }
    }

    /// One record on; there is one now.
    fn step(&mut self, way: Way) {
        // SAFETY: the iterator is live, and at a record.
        unsafe {
            match way {
                Way::Up => ffi::leveldb_iter_next(self.iterator),
                Way::Down => ffi::leveldb_iter_prev(self.iterator),
            }
        }
    }

    /// Whether it ended for want of records.
    fn check(&self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the iterator is live.
        unsafe { ffi::leveldb_iter_get_error(self.iterator, &mut error) };
        check(error)
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed only here.
        unsafe { ffi::leveldb_iter_destroy(self.iterator) }
    }
}

/// A batch of writes.
pub(crate) struct Batch<'e> {
    engine: &'e LevelDb,
    batch: *mut ffi::Batch,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `write`, destroyed only here.
        unsafe { ffi::leveldb_writebatch_destroy(self.batch) }
    }
}

impl Write for Batch<'_> {
    const SEES_ITSELF: bool = false;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key, key_bytes) = (key.as_ptr().cast(), key.len());
        let (value, value_bytes) = (value.as_ptr().cast(), value.len());
        // SAFETY: the batch is live and copies key and value, which are as long as said.
        unsafe { ffi::leveldb_writebatch_put(self.batch, key, key_bytes, value, value_bytes) };
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        // SAFETY: the batch is live and copies the key, which is as long as said.
        unsafe { ffi::leveldb_writebatch_delete(self.batch, key.as_ptr().cast(), key.len()) };
        Ok(true)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.engine.get(self.engine.newest, key, look)
    }

    fn commit(self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the database is open (1), the batch and the options are live.
        unsafe {
            ffi::leveldb_write(self.engine.db, self.engine.write, self.batch, &mut error);
        }
        check(error)
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

/// Turns LevelDB's text into an error, and frees it.
fn check(error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a text that LevelDB made for us; it is freed once, after it was copied.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::leveldb_free(error.cast());
        text
    };
    Err(format!("LevelDB: {text}").into())
}
