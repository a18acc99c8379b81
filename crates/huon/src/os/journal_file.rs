//! The real journal: a file beside the data file, of whole blocks.
//!
//! 1. It has its name once it has all its blocks, and zeros in them: a flush after a write has
//!    nothing to do but that write. (Blocks that are only allocated are converted at their first
//!    write, which a flush waits for, and so does a file that grows.)
//! 2. Writes go past the page cache where the file system can do that (`O_DIRECT`), from memory
//!    that begins at a block; elsewhere through it. Reads go through it, which the kernel keeps in
//!    step. A write past the cache returns when it is on the disk (`O_DSYNC`), and a flush has
//!    nothing to do then: that is one request of disks that flush single writes (FUA).
//! 3. No link is followed, and what has the name and is no journal is left as it is.
//! 4. A write never extends the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::counts::{Counters, IoCounts};
use super::mutex::locked;
use super::sys::beside::Beside;
use super::sys::descriptor::open_kept;
use super::sys::files;
use super::sys::fork::{self, OwnFile};
use super::{JOURNAL_BATCH_BYTES_MAX, JOURNAL_BLOCK_BYTES, JOURNAL_MAGIC, JournalFile, past_end};
use crate::error::{Error, Result};

/// The journal beside a data file, if it is there.
pub(crate) struct RealJournal {
    path: PathBuf,
    /// What a new one takes from the data file, but for its length.
    like: Beside,
    opened: Mutex<Option<OpenJournal>>,
    counters: Counters,
}

/// An open journal.
struct OpenJournal {
    file: OwnFile,
    /// Another description, past the page cache; `None` where that is not possible.
    direct: Option<OwnFile>,
    bytes: u64,
    /// Something was written that is not on the disk yet.
    owed: bool,
    /// What is written next, where it begins at a block of memory.
    aligned: Vec<u8>,
}

impl RealJournal {
    /// The journal at `path`, which may not be there; a new one is made `like` the data file.
    pub(crate) fn at(path: &Path, like: Beside) -> RealJournal {
        let (opened, counters) = (Mutex::default(), Counters::default());
        RealJournal { path: path.to_owned(), like, opened, counters }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Error {
        Error::io(what, self.path.display().to_string(), source)
    }

    fn failed_at(&self, what: &'static str, offset: u64, source: io::Error) -> Error {
        Error::io(what, format!("offset {offset} of {}", self.path.display()), source)
    }

    fn opened(&self) -> MutexGuard<'_, Option<OpenJournal>> {
        locked(&self.opened)
    }

    /// Opens it, if it is there.
    fn look(&self, opened: &mut Option<OpenJournal>) -> Result<u64> {
        if let Some(opened) = opened {
            return Ok(opened.bytes);
        }
        let _held_off = fork::hold_off();
        let Some(file) = OwnFile::open_if(|| self.open(files::open_plainly))? else { return Ok(0) };
        let bytes = file.metadata().map_err(|e| self.failed("stat", e))?.len();
        if !may_be_journal(&file, bytes).map_err(|e| self.failed("read", e))? {
            return Err(self.not_ours("something else"));
        }
        let direct = OwnFile::open_if(|| self.open(files::open_past_cache)).ok().flatten();
        let direct = direct.filter(|direct| direct.inode() == file.inode());
        *opened = Some(OpenJournal { file, direct, bytes, owed: false, aligned: Vec::new() });
        Ok(bytes)
    }

    /// `None`: it is not there, or cannot be opened so.
    fn open(&self, how: impl Fn(&mut OpenOptions) -> &mut OpenOptions) -> Result<Option<File>> {
        let mut options = OpenOptions::new();
        let options = how(options.read(true).write(true));
        let file = match open_kept(options, &self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) if files::was_link(&e) => return Err(self.not_ours("a symbolic link")),
            opened => opened.map_err(|e| self.failed("open", e))?,
        };
        let stat = file.metadata().map_err(|e| self.failed("stat", e))?;
        match files::not_regular(stat.file_type()) {
            Some(what) => Err(self.not_ours(what)),
            None => Ok(Some(file)),
        }
    }

    fn not_ours(&self, what: &str) -> Error {
        let text = format!(
            "{} has the name of the journal and is {what}; move it away, or give the environment \
             another name",
            self.path.display()
        );
        Error::NotADatabase(text.into())
    }

    fn missing(&self) -> Error {
        self.failed("use the journal", io::ErrorKind::NotFound.into())
    }
}

/// Whether a batch begins in a file, or it has never been written. The first blocks of a journal
/// may be the rest of a batch that goes around its end.
pub(crate) fn may_be_journal(file: &File, bytes: u64) -> io::Result<bool> {
    let looked_at = bytes.clamp(1, JOURNAL_BATCH_BYTES_MAX as u64);
    for at in (0..looked_at).step_by(JOURNAL_BLOCK_BYTES) {
        let mut magic = [0; JOURNAL_MAGIC.len()];
        let begin = &mut magic[..(bytes - at).min(JOURNAL_MAGIC.len() as u64) as usize];
        files::read_exact_at(file, begin, at)?;
        if magic == JOURNAL_MAGIC || at == 0 && magic == [0; 8] {
            return Ok(true);
        }
    }
    Ok(false)
}

impl JournalFile for RealJournal {
    fn bytes(&self) -> Result<u64> {
        self.look(&mut self.opened())
    }

    fn make(&self, bytes: u64) -> Result<()> {
        self.delete()?;
        let mut opened = self.opened();
        let journal = self.like.clone().journal(bytes);
        journal.make(&self.path).map_err(|e| self.failed("make", e))?;
        super::sync_directory(&self.path)?;
        self.look(&mut opened).map(drop)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let mut opened = self.opened();
        self.look(&mut opened)?;
        let Some(opened) = &*opened else { return Err(self.missing()) };
        let read = files::read_exact_at(&opened.file, buffer, offset);
        read.map_err(|e| self.failed_at("read", offset, e))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let mut opened = self.opened();
        self.look(&mut opened)?;
        let Some(opened) = &mut *opened else { return Err(self.missing()) };
        let count = bytes.len() as u64;
        if offset.checked_add(count).is_none_or(|end| end > opened.bytes) {
            return Err(past_end(offset, count, opened.bytes));
        }
        opened.write(bytes, offset).map_err(|e| self.failed_at("write", offset, e))?;
        self.counters.wrote(count);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let mut opened = self.opened();
        let Some(opened) = &mut *opened else { return Err(self.missing()) };
        if opened.owed {
            files::flush(&opened.file).map_err(|e| self.failed("flush", e))?;
            opened.owed = false;
        }
        self.counters.synced();
        Ok(())
    }

    fn delete(&self) -> Result<()> {
        let mut opened = self.opened();
        self.look(&mut opened)?;
        *opened = None;
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed("delete", e)),
            _ => Ok(()),
        }
    }

    fn counts(&self) -> IoCounts {
        self.counters.get()
    }
}

impl OpenJournal {
    fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(direct) = &self.direct else { return self.write_cached(bytes, offset) };
        let room = bytes.len() + JOURNAL_BLOCK_BYTES;
        if self.aligned.len() < room {
            self.aligned.try_reserve_exact(room - self.aligned.len())?;
            self.aligned.resize(room, 0);
        }
        let start = self.aligned.as_ptr().align_offset(JOURNAL_BLOCK_BYTES);
        let aligned = &mut self.aligned[start..start + bytes.len()];
        aligned.copy_from_slice(bytes);
        match files::write_all_at(direct, aligned, offset) {
            // Some file systems open a file so, and then cannot write it.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                self.direct = None;
                self.write_cached(bytes, offset)
            }
            written => {
                self.owed |= !files::IS_FLUSHED_PAST_CACHE;
                written
            }
        }
    }

    fn write_cached(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.owed = true;
        files::write_all_at(&self.file, bytes, offset)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::os::testing::ScratchDir;

    const BLOCK: usize = JOURNAL_BLOCK_BYTES;

    fn journal(scratch: &ScratchDir) -> RealJournal {
        RealJournal::at(&scratch.join("data-journal"), Beside::of_mode(0o600, 0))
    }

    #[test]
    fn blocks_come_back_and_never_extend_the_file() {
        let scratch = ScratchDir::new();
        let made = journal(&scratch);
        assert_eq!(made.bytes().unwrap(), 0);
        assert!(made.write_at(&[1; BLOCK], 0).is_err() && made.sync().is_err());
        made.make(8 * BLOCK as u64).unwrap();
        let stat = std::fs::metadata(scratch.join("data-journal")).unwrap();
        assert_eq!((stat.len(), stat.mode() & 0o777), (8 * BLOCK as u64, 0o600));
        assert!(stat.blocks() * 512 >= stat.len(), "blocks are there");
        made.write_at(&[7; 3 * BLOCK], 2 * BLOCK as u64).unwrap();
        made.write_at(&[8; BLOCK], 7 * BLOCK as u64).unwrap();
        let is_owed = made.opened().as_ref().map(|it| (it.owed, it.direct.is_none())).unwrap();
        assert_eq!(is_owed.0, is_owed.1, "past the cache it is flushed already");
        assert!(made.write_at(&[9; 2 * BLOCK], 7 * BLOCK as u64).is_err());
        made.sync().unwrap();
        let counts = made.counts();
        assert_eq!((counts.written_bytes, counts.syncs), (4 * BLOCK as u64, 1));
        // Another handle sees what was written past the cache.
        let other = journal(&scratch);
        let mut all = vec![1; 8 * BLOCK];
        other.read_at(&mut all, 0).unwrap();
        let blocks: Vec<u8> = all.chunks(BLOCK).map(|block| block[9]).collect();
        assert_eq!(blocks, [0, 0, 7, 7, 7, 0, 0, 8]);
        assert!(other.read_at(&mut all, 1).is_err(), "there is less");
        other.make(2 * BLOCK as u64).unwrap();
        assert_eq!(other.bytes().unwrap(), 2 * BLOCK as u64);
        other.delete().unwrap();
        other.delete().unwrap();
        assert_eq!(other.bytes().unwrap(), 0);
    }

    /// Batches go around the end of the file, so any block may lie where it begins.
    #[test]
    fn a_journal_is_known_by_any_batch() {
        let scratch = ScratchDir::new();
        let made = journal(&scratch);
        made.make(4 * BLOCK as u64).unwrap();
        made.write_at(&[7; 4 * BLOCK], 0).unwrap();
        assert!(journal(&scratch).bytes().is_err(), "no batch begins in it");
        made.write_at(&[&JOURNAL_MAGIC[..], &[7; BLOCK - 8]].concat(), 3 * BLOCK as u64).unwrap();
        assert_eq!(journal(&scratch).bytes().unwrap(), 4 * BLOCK as u64);
    }

    #[test]
    fn what_is_no_file_is_refused_by_name() {
        let scratch = ScratchDir::new();
        let path = scratch.join("data-journal");
        let refused = |what: &str| match journal(&scratch).bytes() {
            Err(Error::NotADatabase(text)) => assert!(text.contains(what), "{text}"),
            other => panic!("{other:?}"),
        };
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        refused("a symbolic link");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(journal(&scratch).bytes().is_err());
        std::fs::remove_dir(&path).unwrap();
        for text in ["a note", "notes of a day, and more than a word"] {
            std::fs::write(&path, text).unwrap();
            refused("something else");
            assert!(journal(&scratch).make(2 * BLOCK as u64).is_err());
            assert!(journal(&scratch).delete().is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "it is left alone");
        }
    }
}
