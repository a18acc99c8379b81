//! Recognising files that are no environments: files of other stores are named, with the way in.
//!
//! Heads and names only: nothing else of another's file is read, and nothing is written.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::env::place::look_at;
use crate::env::{Env, place};
use crate::error::{Error, Result};
use crate::os;
use crate::txn::recovery;

/// So much of a file tells what it is.
const HEAD_BYTES: usize = 64;

/// What a file is; see [`Env::kind_of`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// An environment, be it a damaged one or one of a newer version.
    Environment,
    /// The lock file of an environment; or the name of one, beside its environment, where nothing
    /// else is.
    LockFile,
    /// The journal of an environment, or the name of one as above.
    Journal,
    /// A file or directory of another program that is known.
    Known(&'static str),
    /// Anything else, or nothing.
    Other,
}

impl Env {
    /// What kind of file `path` is or leads to: an environment, its lock file or journal, a file of
    /// another store, or none of these. Reads its first bytes, takes no lock, and makes nothing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, FileKind};
    /// let path = dir.path().join("a.huon");
    /// Env::open(&path)?;
    /// assert_eq!(Env::kind_of(&path)?, FileKind::Environment);
    /// assert_eq!(Env::kind_of(Env::lock_path(&path))?, FileKind::LockFile);
    /// assert_eq!(Env::kind_of(dir.path().join("nothing"))?, FileKind::Other);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn kind_of(path: impl AsRef<Path>) -> Result<FileKind> {
        let path = &place::resolve(path.as_ref())?;
        match std::fs::metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return kind_of_name(path),
            Err(e) => return Err(Error::io("look at", path.display().to_string(), e)),
            Ok(found) if found.is_file() && found.len() == 0 => return kind_of_name(path),
            Ok(_) => {}
        }
        match look_at(path).and_then(|storage| recovery::check_ours(&*storage)) {
            Ok(()) | Err(Error::Version(_)) => return Ok(FileKind::Environment),
            Err(Error::NotADatabase(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(match known(path) {
            Some(Known { what: LOCK_FILE, .. }) => FileKind::LockFile,
            Some(Known { what: JOURNAL, .. }) => FileKind::Journal,
            Some(known) => FileKind::Known(known.what),
            None => FileKind::Other,
        })
    }
}

fn kind_of_name(path: &Path) -> Result<FileKind> {
    Ok(match place::served_environment(path) {
        Some(_) if place::has_name_of_journal(path) => FileKind::Journal,
        Some(_) => FileKind::LockFile,
        None => FileKind::Other,
    })
}

/// The kind of another program's file, and how to convert it.
struct Known {
    what: &'static str,
    /// With `FILE` for its path.
    advice: &'static str,
}

const LOCK_FILE: &str = "a lock file of Huon's";
const JOURNAL: &str = "a journal of Huon's";

const fn known_as(what: &'static str, advice: &'static str) -> Option<Known> {
    Some(Known { what, advice })
}

/// The error for a path that leads to no environment: it names the kind of file, if that is known.
#[cold]
pub(crate) fn named(path: &Path, error: Error) -> Error {
    let Error::NotADatabase(_) = &error else { return error };
    let Some(Known { what, advice }) = known(path) else { return error };
    let advice = advice.replace("FILE", &shell_word(path));
    Error::NotADatabase(format!("it is {what}; {advice}").into())
}

/// A path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:=@%".contains(&byte);
    if text.bytes().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn known(path: &Path) -> Option<Known> {
    let found = std::fs::metadata(path).ok()?;
    if found.is_dir() {
        return known_directory(path);
    }
    if !found.is_file() {
        return None;
    }
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    (&file).take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    let has_name = || place::has_name_of_journal(path) && place::served_environment(path).is_some();
    let is_journal = || has_name() && os::may_be_journal(&file, found.len()).unwrap_or(false);
    known_head(&head).or_else(|| is_journal().then_some(Known { what: JOURNAL, advice: NOT_DATA }))
}

/// LMDB and libmdbx keep their two files in a directory by default, LevelDB and RocksDB many.
fn known_directory(path: &Path) -> Option<Known> {
    let has = |name: &str| path.join(name).is_file();
    if has("data.mdb") {
        let kind = Env::kind_of(path.join("data.mdb")).ok();
        return match kind {
            Some(FileKind::Environment) => known_as(DIRECTORY, "name the file FILE/data.mdb"),
            _ => known_as("a directory of LMDB's", LMDB_DIRECTORY),
        };
    }
    if has("mdbx.dat") {
        let kind = Env::kind_of(path.join("mdbx.dat")).ok();
        return match kind {
            Some(FileKind::Environment) => known_as(DIRECTORY, "name the file FILE/mdbx.dat"),
            _ => known_as("a directory of libmdbx's", MDBX),
        };
    }
    if has("CURRENT") && (has("IDENTITY") || has("LOG")) {
        let what =
            if has("IDENTITY") { "a directory of RocksDB's" } else { "a directory of LevelDB's" };
        return known_as(what, LINES);
    }
    None
}

const DIRECTORY: &str = "a directory with an environment in it";
const LMDB: &str = "`mdb_dump -n -a FILE | huon load NEW` takes its named tables over into a new \
                    file, and the same without -a its main table";
const LMDB_DIRECTORY: &str = "`mdb_dump -a FILE | huon load NEW` takes its named tables over into \
                              a new file, and the same without -a its main table";
const MDBX: &str = "`mdbx_dump -a FILE | huon load NEW` takes its tables over into a new file";
const BDB: &str = "`db_dump FILE | huon load NEW` takes it over into a new file";
const SQLITE: &str = "`sqlite3 FILE 'SELECT key || char(10) || value FROM a_table' | huon load NEW \
                      --pairs` takes over a table, as long as its texts are of one line";
const LINES: &str = "have its own program write each key and its value as two lines, for `huon \
                     load NEW --pairs`";
const NOT_DATA: &str = "name the data file beside it";
const TEXT: &str = "`huon load NEW FILE` makes an environment of it";

/// By the first bytes. Sources: lmdb.h and mdb.c (MDB_MAGIC, behind a page header of 12, 16 or 24
/// bytes, and first in the lock file), libmdbx's internals (MDBX_MAGIC with a version below it,
/// behind 20 bytes, and first in the lock file), SQLite's and redb's format documents, Berkeley
/// DB's dbinc/db_page.h and gdbm's gdbmdefs.h, bbolt's db.go.
fn known_head(head: &[u8]) -> Option<Known> {
    let at =
        |offset: usize, bytes: &[u8]| head.get(offset..).is_some_and(|it| it.starts_with(bytes));
    let either = |offset: usize, number: u32| {
        at(offset, &number.to_le_bytes()) || at(offset, &number.to_be_bytes())
    };
    const MDBX_MAGIC: [u8; 7] = [0x11, 0x4C, 0xEF, 0xBD, 0x9D, 0x65, 0x59];
    if head.starts_with(&os::LOCK_MAGIC) {
        return known_as(LOCK_FILE, NOT_DATA);
    }
    if head.starts_with(&os::JOURNAL_MAGIC) {
        return known_as(JOURNAL, NOT_DATA);
    }
    if either(0, 0xBEEF_C0DE) {
        return known_as("a lock file of LMDB's", NOT_DATA);
    }
    if [12, 16, 20, 24].iter().any(|&offset| either(offset, 0xBEEF_C0DE)) {
        return known_as("an LMDB file", LMDB);
    }
    if at(1, &MDBX_MAGIC) {
        return known_as("a lock file of libmdbx's", NOT_DATA);
    }
    if [16, 20, 24].iter().any(|&offset| at(offset + 1, &MDBX_MAGIC)) {
        return known_as("a libmdbx file", MDBX);
    }
    if at(0, b"SQLite format 3\0") {
        return known_as("an SQLite file", SQLITE);
    }
    if at(0, b"redb\x1A\x0A\xA9\x0D\x0A") {
        return known_as("a redb file", LINES);
    }
    // B-tree, hash, queue, heap; before version 2 a B-tree had its magic first.
    if [0x05_3162, 0x06_1561, 0x04_2253, 0x07_4582].iter().any(|&magic| either(12, magic))
        || either(0, 0x05_3162)
    {
        return known_as("a Berkeley DB file", BDB);
    }
    if [0x1357_9ACD, 0x1357_9ACE, 0x1357_9ACF].iter().any(|&magic| either(0, magic)) {
        return known_as("a GDBM file", LINES);
    }
    if at(0, b"TDB file\n") {
        return known_as("a TDB file", LINES);
    }
    if either(16, 0xED0C_DAED) {
        return known_as("a bbolt file", LINES);
    }
    if at(0, b"VERSION=3\n") {
        return known_as("the text of a dump", TEXT);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each store's first bytes, cut short at every place: nothing is read past them.
    #[test]
    fn short_heads_are_of_no_kind() {
        let mut lmdb = vec![0; 16];
        lmdb.extend(0xBEEF_C0DE_u32.to_le_bytes());
        for end in 0..lmdb.len() {
            assert!(known_head(&lmdb[..end]).is_none());
        }
        assert_eq!(known_head(&lmdb).unwrap().what, "an LMDB file");
        assert!(known_head(&[0; HEAD_BYTES]).is_none());
    }

    #[test]
    fn paths_are_words_for_a_shell() {
        assert_eq!(shell_word(Path::new("/a/b-c.mdb")), "/a/b-c.mdb");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
    }
}
