//! RocksDB through its C interface.
//!
//! A write transaction is a batch, which cannot be read from, and nothing looks for conflicts; that
//! is its fastest way. A read transaction is a snapshot.
//!
//! 1. `db` is open from `open` to `drop`, and what `_options` holds is freed after it.
//! 2. Snapshots and iterators are gone before it: they borrow the engine.

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uchar};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use super::{Debt, Engine, Mode, Read, Result, Setup, Way, Write};

/// Bytes of each of the buffers in memory, and how many there may be.
const WRITE_BUFFER_BYTES: usize = 64 << 20;
const WRITE_BUFFERS_COUNT: c_int = 4;
const BLOOM_BITS: c_double = 10.0;
const BACKGROUND_THREADS_COUNT: c_int = 2;

mod ffi {
    use super::{c_char, c_double, c_int, c_uchar};

    macro_rules! opaque {
        ($($name:ident)*) => { $(#[repr(C)] pub(super) struct $name { _private: [u8; 0] })* };
    }
    opaque!(Db Options TableOptions Cache FilterPolicy WriteOptions ReadOptions Batch Snapshot);
    opaque!(Iterator Pinned);

    unsafe extern "C" {
        pub(super) fn rocksdb_free(ptr: *mut std::ffi::c_void);

        pub(super) fn rocksdb_options_create() -> *mut Options;
        pub(super) fn rocksdb_options_destroy(options: *mut Options);
        pub(super) fn rocksdb_options_set_create_if_missing(options: *mut Options, yes: c_uchar);
        pub(super) fn rocksdb_options_set_write_buffer_size(options: *mut Options, bytes: usize);
        pub(super) fn rocksdb_options_set_max_write_buffer_number(
            options: *mut Options,
            count: c_int,
        );
        pub(super) fn rocksdb_options_set_level_compaction_dynamic_level_bytes(
            options: *mut Options,
            yes: c_uchar,
        );
        pub(super) fn rocksdb_options_set_max_background_jobs(options: *mut Options, count: c_int);
        pub(super) fn rocksdb_options_set_compression(options: *mut Options, kind: c_int);
        pub(super) fn rocksdb_options_set_block_based_table_factory(
            options: *mut Options,
            table: *mut TableOptions,
        );
        pub(super) fn rocksdb_block_based_options_create() -> *mut TableOptions;
        pub(super) fn rocksdb_block_based_options_destroy(table: *mut TableOptions);
        pub(super) fn rocksdb_block_based_options_set_block_cache(
            table: *mut TableOptions,
            cache: *mut Cache,
        );
        /// The filter belongs to the options from then on.
        pub(super) fn rocksdb_block_based_options_set_filter_policy(
            table: *mut TableOptions,
            filter: *mut FilterPolicy,
        );
        pub(super) fn rocksdb_cache_create_lru(capacity_bytes: usize) -> *mut Cache;
        pub(super) fn rocksdb_cache_destroy(cache: *mut Cache);
        pub(super) fn rocksdb_filterpolicy_create_bloom(
            bits_per_key: c_double,
        ) -> *mut FilterPolicy;

        pub(super) fn rocksdb_open(
            options: *const Options,
            name: *const c_char,
            error: *mut *mut c_char,
        ) -> *mut Db;
        pub(super) fn rocksdb_close(db: *mut Db);
        pub(super) fn rocksdb_flush_wal(db: *mut Db, sync: c_uchar, error: *mut *mut c_char);
        pub(super) fn rocksdb_compact_range(
            db: *mut Db,
            start: *const c_char,
            start_bytes: usize,
            limit: *const c_char,
            limit_bytes: usize,
        );
        pub(super) fn rocksdb_property_int(
            db: *mut Db,
            name: *const c_char,
            value: *mut u64,
        ) -> c_int;

        pub(super) fn rocksdb_writeoptions_create() -> *mut WriteOptions;
        pub(super) fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
        pub(super) fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, yes: c_uchar);
        pub(super) fn rocksdb_writebatch_create() -> *mut Batch;
        pub(super) fn rocksdb_writebatch_destroy(batch: *mut Batch);
        pub(super) fn rocksdb_writebatch_put(
            batch: *mut Batch,
            key: *const c_char,
            key_bytes: usize,
            value: *const c_char,
            value_bytes: usize,
        );
        pub(super) fn rocksdb_writebatch_delete(
            batch: *mut Batch,
            key: *const c_char,
            key_bytes: usize,
        );
        pub(super) fn rocksdb_write(
            db: *mut Db,
            options: *const WriteOptions,
            batch: *mut Batch,
            error: *mut *mut c_char,
        );

        pub(super) fn rocksdb_readoptions_create() -> *mut ReadOptions;
        pub(super) fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
        pub(super) fn rocksdb_readoptions_set_snapshot(
            options: *mut ReadOptions,
            snapshot: *const Snapshot,
        );
        pub(super) fn rocksdb_create_snapshot(db: *mut Db) -> *const Snapshot;
        pub(super) fn rocksdb_release_snapshot(db: *mut Db, snapshot: *const Snapshot);
        pub(super) fn rocksdb_get_pinned(
            db: *mut Db,
            options: *const ReadOptions,
            key: *const c_char,
            key_bytes: usize,
            error: *mut *mut c_char,
        ) -> *mut Pinned;
        pub(super) fn rocksdb_pinnableslice_value(
            pinned: *const Pinned,
            bytes: *mut usize,
        ) -> *const c_char;
        pub(super) fn rocksdb_pinnableslice_destroy(pinned: *mut Pinned);
        pub(super) fn rocksdb_multi_get(
            db: *mut Db,
            options: *const ReadOptions,
            keys_count: usize,
            keys: *const *const c_char,
            keys_bytes: *const usize,
            values: *mut *mut c_char,
            values_bytes: *mut usize,
            errors: *mut *mut c_char,
        );

        pub(super) fn rocksdb_create_iterator(
            db: *mut Db,
            options: *const ReadOptions,
        ) -> *mut Iterator;
        pub(super) fn rocksdb_iter_destroy(iterator: *mut Iterator);
        pub(super) fn rocksdb_iter_valid(iterator: *const Iterator) -> c_uchar;
        pub(super) fn rocksdb_iter_seek_to_first(iterator: *mut Iterator);
        pub(super) fn rocksdb_iter_seek_to_last(iterator: *mut Iterator);
        pub(super) fn rocksdb_iter_seek(
            iterator: *mut Iterator,
            key: *const c_char,
            key_bytes: usize,
        );
        pub(super) fn rocksdb_iter_seek_for_prev(
            iterator: *mut Iterator,
            key: *const c_char,
            key_bytes: usize,
        );
        pub(super) fn rocksdb_iter_next(iterator: *mut Iterator);
        pub(super) fn rocksdb_iter_prev(iterator: *mut Iterator);
        pub(super) fn rocksdb_iter_key(
            iterator: *const Iterator,
            bytes: *mut usize,
        ) -> *const c_char;
        pub(super) fn rocksdb_iter_value(
            iterator: *const Iterator,
            bytes: *mut usize,
        ) -> *const c_char;
        pub(super) fn rocksdb_iter_get_error(iterator: *const Iterator, error: *mut *mut c_char);
    }
}

/// One RocksDB database.
pub(crate) struct RocksDb {
    db: *mut ffi::Db,
    _options: Options,
    write: *mut ffi::WriteOptions,
    /// For reads of the newest state.
    newest: *mut ffi::ReadOptions,
}

// SAFETY: RocksDB's calls on one database may be made from any thread, several at a time; the
// options are only read after `open`.
unsafe impl Send for RocksDb {}
// SAFETY: as above.
unsafe impl Sync for RocksDb {}

/// Options of an open database, and what they point to.
struct Options {
    options: *mut ffi::Options,
    table: *mut ffi::TableOptions,
    cache: *mut ffi::Cache,
}

impl Options {
    fn new(setup: &Setup) -> Options {
        // SAFETY: these make objects of their own, and set what was just made. The filter belongs
        // to the options of tables then.
        unsafe {
            let options = ffi::rocksdb_options_create();
            let table = ffi::rocksdb_block_based_options_create();
            let cache = ffi::rocksdb_cache_create_lru(setup.cache_bytes);
            let filter = ffi::rocksdb_filterpolicy_create_bloom(BLOOM_BITS);
            ffi::rocksdb_block_based_options_set_block_cache(table, cache);
            ffi::rocksdb_block_based_options_set_filter_policy(table, filter);
            ffi::rocksdb_options_set_block_based_table_factory(options, table);
            ffi::rocksdb_options_set_create_if_missing(options, 1);
            ffi::rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
            ffi::rocksdb_options_set_max_write_buffer_number(options, WRITE_BUFFERS_COUNT);
            ffi::rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
            ffi::rocksdb_options_set_max_background_jobs(options, BACKGROUND_THREADS_COUNT);
            ffi::rocksdb_options_set_compression(options, 0);
            Options { options, table, cache }
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the database that used them is closed (1).
        unsafe {
            ffi::rocksdb_options_destroy(self.options);
            ffi::rocksdb_block_based_options_destroy(self.table);
            ffi::rocksdb_cache_destroy(self.cache);
        }
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: open since `open`, and nothing that uses it is left (2). `_options` is dropped
        // after this.
        unsafe {
            ffi::rocksdb_close(self.db);
            ffi::rocksdb_writeoptions_destroy(self.write);
            ffi::rocksdb_readoptions_destroy(self.newest);
        }
    }
}

impl Engine for RocksDb {
    const NAME: &'static str = "rocksdb";
    const DEBT: Debt = Debt::Unknown;
    type Read<'e> = Snapshot<'e>;
    type Write<'e> = Batch<'e>;

    fn version() -> String {
        super::system::library_version(ffi::rocksdb_open as *const std::ffi::c_void)
    }

    fn options(setup: &Setup) -> String {
        format!(
            "write batches and snapshots; bloom filter of {BLOOM_BITS} bits, {} MiB x \
             {WRITE_BUFFERS_COUNT} write buffers, dynamic levels, {BACKGROUND_THREADS_COUNT} \
             background threads, {} MiB cache, no compression; sync = {}",
            WRITE_BUFFER_BYTES >> 20,
            setup.cache_bytes >> 20,
            setup.mode == Mode::Durable
        )
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<RocksDb> {
        let options = Options::new(setup);
        let name = CString::new(dir.as_os_str().as_bytes())?;
        let mut error = ptr::null_mut();
        // SAFETY: the options are live, and the name ends with a zero byte.
        let db = unsafe { ffi::rocksdb_open(options.options, name.as_ptr(), &mut error) };
        check(error)?;
        // SAFETY: these make objects of their own, and set what was just made.
        unsafe {
            let write = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(write, c_uchar::from(setup.mode == Mode::Durable));
            let newest = ffi::rocksdb_readoptions_create();
            Ok(RocksDb { db, _options: options, write, newest })
        }
    }

    fn read(&self) -> Result<Snapshot<'_>> {
        // SAFETY: the database is open (1); the options get a snapshot that lives as long.
        unsafe {
            let snapshot = ffi::rocksdb_create_snapshot(self.db);
            let options = ffi::rocksdb_readoptions_create();
            ffi::rocksdb_readoptions_set_snapshot(options, snapshot);
            Ok(Snapshot { engine: self, snapshot, options })
        }
    }

    fn write(&self) -> Result<Batch<'_>> {
        // SAFETY: this makes an object of its own.
        Ok(Batch { engine: self, batch: unsafe { ffi::rocksdb_writebatch_create() } })
    }

    fn sync(&self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the database is open (1).
        unsafe { ffi::rocksdb_flush_wal(self.db, 1, &mut error) };
        check(error)
    }

    /// Compacts everything, and waits for what goes on besides.
    fn settle(&self) -> Result<()> {
        // SAFETY: the database is open (1); null is the begin and the end of all keys.
        unsafe { ffi::rocksdb_compact_range(self.db, ptr::null(), 0, ptr::null(), 0) };
        let busy = [
            c"rocksdb.mem-table-flush-pending",
            c"rocksdb.num-running-flushes",
            c"rocksdb.compaction-pending",
            c"rocksdb.num-running-compactions",
        ];
        for name in busy {
            while self.number(name)? > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

impl RocksDb {
    fn get<T>(
        &self,
        options: *const ffi::ReadOptions,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let mut error = ptr::null_mut();
        // SAFETY: the database is open (1), the options are live, the key is as long as said.
        let pinned = unsafe {
            ffi::rocksdb_get_pinned(self.db, options, key.as_ptr().cast(), key.len(), &mut error)
        };
        check(error)?;
        if pinned.is_null() {
            return Ok(None);
        }
        let mut bytes = 0;
        // SAFETY: the value stays as long as `pinned` is not destroyed, which is done below.
        let result = look(unsafe {
            let value = ffi::rocksdb_pinnableslice_value(pinned, &mut bytes);
            std::slice::from_raw_parts(value.cast(), bytes)
        });
        // SAFETY: as above; the value is not used any more.
        unsafe { ffi::rocksdb_pinnableslice_destroy(pinned) };
        Ok(Some(result))
    }

    fn number(&self, name: &CStr) -> Result<u64> {
        let mut value = 0;
        // SAFETY: the database is open (1), and the name ends with a zero byte.
        match unsafe { ffi::rocksdb_property_int(self.db, name.as_ptr(), &mut value) } {
            0 => Ok(value),
            _ => Err(format!("RocksDB: no property {}", name.to_string_lossy()).into()),
        }
    }
}

/// A snapshot.
pub(crate) struct Snapshot<'e> {
    engine: &'e RocksDb,
    snapshot: *const ffi::Snapshot,
    options: *mut ffi::ReadOptions,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `read`, and released only here; the database is open (1).
        unsafe {
            ffi::rocksdb_readoptions_destroy(self.options);
            ffi::rocksdb_release_snapshot(self.engine.db, self.snapshot);
        }
    }
}

impl Read for Snapshot<'_> {
    const GETS_MANY: bool = true;

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.engine.get(self.options, key, look)
    }

    fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let starts: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lengths: Vec<usize> = keys.iter().map(|key| key.len()).collect();
        let mut values = vec![ptr::null_mut(); keys.len()];
        let mut values_bytes = vec![0; keys.len()];
        let mut errors = vec![ptr::null_mut(); keys.len()];
        // SAFETY: the database is open (1), the options are live, and there is a place in each
        // array for each of the keys.
        unsafe {
            ffi::rocksdb_multi_get(
                self.engine.db,
                self.options,
                keys.len(),
                starts.as_ptr(),
                lengths.as_ptr(),
                values.as_mut_ptr(),
                values_bytes.as_mut_ptr(),
                errors.as_mut_ptr(),
            );
        }
        let mut result = Ok(());
        for (at, value) in values.into_iter().enumerate() {
            if let Err(error) = check(errors[at]) {
                result = Err(error);
            } else if value.is_null() {
                look(at, None);
            } else {
                // SAFETY: RocksDB gives a copy of so many bytes, which is ours until it is freed
                // here.
                unsafe {
                    look(at, Some(std::slice::from_raw_parts(value.cast(), values_bytes[at])));
                    ffi::rocksdb_free(value.cast());
                }
            }
        }
        result
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

/// An iterator of a snapshot.
struct Cursor<'s> {
    iterator: *mut ffi::Iterator,
    _snapshot: &'s Snapshot<'s>,
}

impl<'s> Cursor<'s> {
    fn new(snapshot: &'s Snapshot) -> Cursor<'s> {
        // SAFETY: the database is open (1) and the options are live.
        let iterator =
            unsafe { ffi::rocksdb_create_iterator(snapshot.engine.db, snapshot.options) };
        Cursor { iterator, _snapshot: snapshot }
    }

    /// Goes to where a scan begins.
    fn place(&mut self, from: Option<&[u8]>, way: Way) {
        // SAFETY: the iterator is live, the key as long as said.
        unsafe {
            match (from, way) {
                (None, Way::Up) => ffi::rocksdb_iter_seek_to_first(self.iterator),
                (None, Way::Down) => ffi::rocksdb_iter_seek_to_last(self.iterator),
                (Some(key), Way::Up) => {
                    ffi::rocksdb_iter_seek(self.iterator, key.as_ptr().cast(), key.len());
                }
                (Some(key), Way::Down) => {
                    ffi::rocksdb_iter_seek_for_prev(self.iterator, key.as_ptr().cast(), key.len());
                }
            }
        }
    }

    fn is_at_a_record(&self) -> bool {
        // SAFETY: the iterator is live.
        unsafe { ffi::rocksdb_iter_valid(self.iterator) != 0 }
    }

    /// Key and value; there is a record.
    fn record(&self) -> (&[u8], &[u8]) {
        let (mut key_bytes, mut value_bytes) = (0, 0);
        // SAFETY: the iterator is at a record, whose bytes stay until it moves; moving borrows it
        // mutably.
        unsafe {
            let key = ffi::rocksdb_iter_key(self.iterator, &mut key_bytes);
            let value = ffi::rocksdb_iter_value(self.iterator, &mut value_bytes);
            let key = std::slice::from_raw_parts(key.cast(), key_bytes);
            (key, std::slice::from_raw_parts(value.cast(), value_bytes))
        }
    }

    /// One record on; there is one now.
    fn step(&mut self, way: Way) {
        // SAFETY: the iterator is live, and at a record.
        unsafe {
            match way {
                Way::Up => ffi::rocksdb_iter_next(self.iterator),
                Way::Down => ffi::rocksdb_iter_prev(self.iterator),
            }
        }
    }

    /// Whether it ended for want of records.
    fn check(&self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the iterator is live.
        unsafe { ffi::rocksdb_iter_get_error(self.iterator, &mut error) };
        check(error)
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed only here.
        unsafe { ffi::rocksdb_iter_destroy(self.iterator) }
    }
}

/// A batch of writes.
pub(crate) struct Batch<'e> {
    engine: &'e RocksDb,
    batch: *mut ffi::Batch,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `write`, destroyed only here.
        unsafe { ffi::rocksdb_writebatch_destroy(self.batch) }
    }
}

impl Write for Batch<'_> {
    const SEES_ITSELF: bool = false;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key, key_bytes) = (key.as_ptr().cast(), key.len());
        let (value, value_bytes) = (value.as_ptr().cast(), value.len());
        // SAFETY: the batch is live and copies key and value, which are as long as said.
        unsafe { ffi::rocksdb_writebatch_put(self.batch, key, key_bytes, value, value_bytes) };
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        // SAFETY: the batch is live and copies the key, which is as long as said.
        unsafe { ffi::rocksdb_writebatch_delete(self.batch, key.as_ptr().cast(), key.len()) };
        Ok(true)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.engine.get(self.engine.newest, key, look)
    }

    fn commit(self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the database is open (1), the batch and the options are live.
        unsafe {
            ffi::rocksdb_write(self.engine.db, self.engine.write, self.batch, &mut error);
        }
        check(error)
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

/// Turns RocksDB's text into an error, and frees it.
fn check(error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a text that RocksDB made for us; it is freed once, after it was copied.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        text
    };
    Err(format!("RocksDB: {text}").into())
}
