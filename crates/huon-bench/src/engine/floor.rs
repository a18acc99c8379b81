//! What no engine can be faster than. `null` does nothing but hand out the same value, so what it
//! costs is the harness. `raw` writes what it is given to a file and, where durable, flushes once:
//! what the disk costs.
//!
//! Neither keeps anything.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::{Engine, Mode, Read, Result, Setup, Way, Write};

/// What every key of `null` has.
const VALUE: [u8; 100] = [0x5A; 100];

/// The harness alone.
pub(crate) struct Null {
    /// How many records it would hold if it held any.
    count: Arc<AtomicU64>,
}

/// The numbers of records by directory, for as long as the process lives: a database that is opened
/// anew has as many as when it was closed.
static COUNTS: LazyLock<Mutex<HashMap<PathBuf, Arc<AtomicU64>>>> = LazyLock::new(Mutex::default);

impl Engine for Null {
    const NAME: &'static str = "null";
    const KEEPS: bool = false;

    type Read<'e> = NullTxn<'e>;
    type Write<'e> = NullTxn<'e>;

    fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn options(_setup: &Setup) -> String {
        "does nothing".to_owned()
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, _setup: &Setup) -> Result<Null> {
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Null { count: Arc::clone(counts.entry(dir.to_owned()).or_default()) })
    }

    fn read(&self) -> Result<NullTxn<'_>> {
        Ok(NullTxn(black_box(self)))
    }

    fn write(&self) -> Result<NullTxn<'_>> {
        Ok(NullTxn(black_box(self)))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

pub(crate) struct NullTxn<'e>(&'e Null);

// What it is given and what it hands out the compiler may not know, or nothing would be left of the
// harness to be measured.
impl Read for NullTxn<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        black_box(key);
        Ok(Some(look(black_box(&VALUE))))
    }

    fn scan(
        &mut self,
        _from: Option<&[u8]>,
        _way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let count = limit.min(self.0.count.load(Ordering::Relaxed));
        (0..count).for_each(|_| look(&[], black_box(&VALUE)));
        Ok(count)
    }

    const RENEWS: bool = true;

    fn renew(&mut self) -> Result<()> {
        black_box(&mut *self);
        Ok(())
    }
}

impl Write for NullTxn<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        black_box((key, value));
        self.0.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        black_box(key);
        Ok(true)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Read::get(self, key, look)
    }

    fn commit(self) -> Result<()> {
        Ok(())
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

/// Blocks that a commit fills.
const BLOCK_BYTES: usize = 4096;
/// Space that is made beforehand and written over and over.
const ROUND_BYTES: u64 = 64 << 20;

/// The disk alone.
pub(crate) struct Raw {
    file: File,
    mode: Mode,
    /// Where the next commit goes.
    end: Mutex<u64>,
}

impl Engine for Raw {
    const NAME: &'static str = "raw";
    const KEEPS: bool = false;
    const READS: bool = false;

    type Read<'e> = NullTxn<'e>;
    type Write<'e> = RawWrite<'e>;

    fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn options(setup: &Setup) -> String {
        match setup.mode {
            Mode::Durable => "one pwrite of whole blocks and one fdatasync a commit".to_owned(),
            _ => "one pwrite of whole blocks a commit".to_owned(),
        }
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Raw> {
        let path = dir.join("data");
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < ROUND_BYTES {
            let zeros = vec![0; 1 << 20];
            for at in (0..ROUND_BYTES).step_by(zeros.len()) {
                file.write_all_at(&zeros, at)?;
            }
            file.sync_all()?;
        }
        Ok(Raw { file, mode: setup.mode, end: Mutex::new(0) })
    }

    fn read(&self) -> Result<NullTxn<'_>> {
        Err("raw cannot be read from".into())
    }

    fn write(&self) -> Result<RawWrite<'_>> {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(RawWrite { raw: self, end, bytes: Vec::new() })
    }

    fn sync(&self) -> Result<()> {
        Ok(self.file.sync_data()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

pub(crate) struct RawWrite<'e> {
    raw: &'e Raw,
    end: MutexGuard<'e, u64>,
    bytes: Vec<u8>,
}

impl Write for RawWrite<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.bytes.extend_from_slice(key);
        Ok(true)
    }

    const SEES_ITSELF: bool = false;

    fn get<T>(&mut self, _key: &[u8], _look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(None)
    }

    fn commit(mut self) -> Result<()> {
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        if *self.end + self.bytes.len() as u64 > ROUND_BYTES {
            *self.end = 0;
        }
        self.raw.file.write_all_at(&self.bytes, *self.end)?;
        *self.end += self.bytes.len() as u64;
        // Others may write meanwhile, and share the disk's flush.
        drop(self.end);
        if self.raw.mode == Mode::Durable {
            self.raw.file.sync_data()?;
        }
        Ok(())
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}
