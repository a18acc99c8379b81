//! Microsoft's bf-tree through its public interface: a B+tree whose leaves have small pages in
//! memory in front of them, which take writes and records that are read often.
//!
//! It is an index and no transactional store. Each put is seen at once, nothing can be given up,
//! and a reader has no snapshot. What outlasts the process is a copy of the whole tree (it calls
//! that a snapshot, too): one is made by `sync`, and by `close` if there is something newer. It has
//! a log, but no file of it is ever flushed, and recovery from it is not finished (0.5.7: "internal
//! use only"), so the engine offers no durable mode.
//!
//! Deletes do not outlast the process either: in a tree that was made from a copy, keys come back
//! that were deleted, before the copy or since, or the engine fails an assertion of its own
//! (`!value.is_empty()`; seen with 0.5.7 and its default options, too). No workload deletes and
//! then opens anew.
//!
//! 1. The tree works on the file `tree`; a copy is called `copy`. A tree that is made from a copy
//!    goes on in that file, which is therefore renamed when it is opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ::bf_tree::{Config, LeafInsertResult, LeafReadResult, ScanReturnField};

use super::{Engine, Limits, Mode, Read, Result, Setup, Way, Write};

/// The longest key and record. The sizes of small pages follow from them: with pages of 4 KiB the
/// longest record can hardly be longer.
const KEY_BYTES_MAX: usize = 256;
const RECORD_BYTES_MAX: usize = 1700;
/// The most records that a page may have room for, which limits how short they may be.
const PAGE_RECORDS_MAX: usize = 4096;
const RECORD_BYTES_MIN: usize = 2;
/// No less memory, however little a workload allows.
const CACHE_BYTES_MIN: usize = 1 << 20;

/// One tree.
pub(crate) struct BfTree {
    tree: ::bf_tree::BfTree,
    dir: PathBuf,
    /// Whether there is something that the newest copy does not have.
    has_changed: AtomicBool,
}

impl Engine for BfTree {
    const NAME: &'static str = "bf-tree";
    const TRANSACTS: bool = false;
    const SHRINKS: bool = false;
    #[cfg(test)]
    const KEEPS_DELETES: bool = false;
    const LIMITS: Limits = Limits {
        key_bytes_max: KEY_BYTES_MAX,
        value_bytes_min: 1,
        record_bytes_max: RECORD_BYTES_MAX,
    };

    type Read<'e> = Reader<'e>;
    type Write<'e> = Writer<'e>;

    fn version() -> String {
        env!("VERSION_bf_tree").to_owned()
    }

    fn options(setup: &Setup) -> String {
        format!(
            "not transactional: each put is seen at once, and reads have no snapshot; no log: a \
             crash of the process loses all that is newer than the last copy of the whole tree, \
             which a sync makes, and deletes do not outlast it; {} MiB cache, keys of at most \
             {KEY_BYTES_MAX} and records of at most {RECORD_BYTES_MAX} bytes{}",
            cache_bytes(setup) >> 20,
            setup.page_bytes.map_or(String::new(), |bytes| format!(", {bytes}-byte pages"))
        )
    }

    fn offers(mode: Mode) -> bool {
        mode == Mode::Lazy
    }

    fn open(dir: &Path, setup: &Setup) -> Result<BfTree> {
        let (path, cache_bytes) = (dir.join("tree"), cache_bytes(setup));
        let copy = dir.join("copy");
        let is_new = !copy.exists();
        let made = if is_new {
            let mut config = Config::new(&path, cache_bytes);
            config
                .use_snapshot(true)
                .cb_min_record_size(RECORD_BYTES_MIN)
                .cb_max_key_len(KEY_BYTES_MAX)
                .cb_max_record_size(RECORD_BYTES_MAX);
            if let Some(bytes) = setup.page_bytes {
                let record_bytes_min = RECORD_BYTES_MIN.max(bytes / PAGE_RECORDS_MAX);
                config.leaf_page_size(bytes).cb_min_record_size(record_bytes_min);
            }
            ::bf_tree::BfTree::with_config(config, None)
        } else {
            // (1)
            std::fs::rename(copy, &path)?;
            ::bf_tree::BfTree::new_from_cpr_snapshot(&path, true, None, Some(cache_bytes), None)
        };
        let tree = made.map_err(|error| format!("bf-tree: {error:?}"))?;
        Ok(BfTree { tree, dir: dir.to_owned(), has_changed: AtomicBool::new(true) })
    }

    fn read(&self) -> Result<Reader<'_>> {
        Ok(Reader { tree: &self.tree, room: [0; RECORD_BYTES_MAX] })
    }

    fn write(&self) -> Result<Writer<'_>> {
        Ok(Writer { engine: self })
    }

    /// Copies the whole tree.
    fn sync(&self) -> Result<()> {
        self.has_changed.store(false, Ordering::Relaxed);
        self.tree.cpr_snapshot(self.dir.join("copy"));
        Ok(())
    }

    fn close(self) -> Result<()> {
        if self.has_changed.load(Ordering::Relaxed) {
            self.sync()?;
        }
        let BfTree { tree, dir, .. } = self;
        drop(tree);
        Ok(std::fs::remove_file(dir.join("tree"))?)
    }
}

/// A power of two, as it has to be.
fn cache_bytes(setup: &Setup) -> usize {
    1 << setup.cache_bytes.max(CACHE_BYTES_MIN).ilog2()
}

/// Reads what is there at the moment.
pub(crate) struct Reader<'e> {
    tree: &'e ::bf_tree::BfTree,
    /// Where the engine copies records to.
    room: [u8; RECORD_BYTES_MAX],
}

impl Read for Reader<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        get(self.tree, key, &mut self.room, look)
    }

    const SCANS_DOWN: bool = false;

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        if way == Way::Down {
            return Err("this engine has no scan downwards".into());
        }
        if limit == 0 {
            return Ok(0);
        }
        // No key is shorter.
        let from = from.unwrap_or(&[0]);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let scan = self.tree.scan_with_count(from, limit, ScanReturnField::KeyAndValue);
        let mut scan = scan.map_err(|error| format!("scan: {error:?}"))?;
        let mut count = 0;
        while let Some((key_bytes, value_bytes)) = scan.next(&mut self.room) {
            let (key, rest) = self.room.split_at(key_bytes);
            look(key, &rest[..value_bytes]);
            count += 1;
        }
        Ok(count)
    }
}

fn get<T>(
    tree: &::bf_tree::BfTree,
    key: &[u8],
    room: &mut [u8],
    look: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>> {
    match tree.read(key, room) {
        LeafReadResult::Found(bytes) => Ok(Some(look(&room[..bytes as usize]))),
        LeafReadResult::NotFound | LeafReadResult::Deleted => Ok(None),
        LeafReadResult::InvalidKey => Err("get: bf-tree does not take the key".into()),
    }
}

/// Writes at once.
pub(crate) struct Writer<'e> {
    engine: &'e BfTree,
}

impl Writer<'_> {
    #[inline]
    fn note_change(&self) {
        self.engine.has_changed.store(true, Ordering::Relaxed);
    }
}

impl Write for Writer<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.note_change();
        match self.engine.tree.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(why) => Err(format!("put: {why}").into()),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.note_change();
        self.engine.tree.delete(key);
        Ok(true)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        get(&self.engine.tree, key, &mut [0; RECORD_BYTES_MAX], look)
    }

    fn commit(self) -> Result<()> {
        Ok(())
    }

    fn abort(self) -> Result<()> {
        Err("this engine cannot give up what was put".into())
    }
}
