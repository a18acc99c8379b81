//! Where an environment lies: which file a path leads to, and which names are not for data.
//!
//! 1. A data file is opened where a symbolic link leads, and its lock file lies beside it there:
//!    all names of one file lead to one lock file. The lock file itself is never followed.
//! 2. Nothing is made at the name of an environment's lock file or journal: it would pass for that
//!    once it is missed, or be one to refuse.
//! 3. Nothing is made whose lock file would be something else that is there.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lock::{LOCK_BYTES, RealShared};
use crate::os::{self, Create, FileOptions, RealFile, Storage};
use crate::txn::recovery;

/// How many symbolic links are followed to a name that does not exist yet: as many as Linux
/// follows.
const LINKS_MAX: usize = 40;

/// The path of the data file itself: `path`, or where it leads if it is a symbolic link. The last
/// name may be missing.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    if !is_link(path) {
        return Ok(path.to_owned());
    }
    let failed = |e| Error::io("follow the link", path.display().to_string(), e);
    // The kernel follows first: it has rules of its own for links in world-writable directories.
    match std::fs::metadata(path) {
        Ok(_) => path.canonicalize().map_err(failed),
        Err(e) if e.kind() == ErrorKind::NotFound => end_of_links(path).map_err(failed),
        Err(e) => Err(failed(e)),
    }
}

/// The missing name that a chain of links ends with.
fn end_of_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if !is_link(&path) {
            return Ok(path);
        }
        let target = std::fs::read_link(&path)?;
        // An absolute target takes the place of the whole path.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(os::too_many_links())
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Refuses to make an environment at `path` (2, 3).
pub(crate) fn check_new(path: &Path) -> Result<()> {
    if let Some(data) = served_environment(path) {
        let text = format!("this is the name of the lock file or journal of {}", data.display());
        return Err(Error::NotADatabase(text.into()));
    }
    // Without a lock file nothing can be done with it.
    let allowed = os::check_size(LOCK_BYTES);
    allowed.map_err(|e| Error::io("make a lock file for", path.display().to_string(), e))?;
    match RealShared::open(&lock_path(path), None) {
        Err(error @ Error::NotADatabase(_)) => Err(error),
        // The open that uses the file reports what else is wrong with it.
        _ => Ok(()),
    }
}

/// The environment beside `path` whose lock file, client's file (P6) or journal has that name.
pub(crate) fn served_environment(path: &Path) -> Option<PathBuf> {
    let data = served_by(path)?;
    let is_ours = |storage: &dyn Storage| {
        matches!(recovery::check_ours(storage), Ok(()) | Err(Error::Version(_)))
    };
    look_at(&data).is_ok_and(|storage| is_ours(&*storage)).then_some(data)
}

/// The data file whose lock file, client's file (P6) or journal would have the name `path`.
fn served_by(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if let Some(data) = name.strip_suffix(JOURNAL_SUFFIX).filter(|data| !data.is_empty()) {
        return Some(path.with_file_name(data));
    }
    let lock = match name.rsplit_once('-') {
        Some((lock, number)) if !number.is_empty() && is_number(number) => lock,
        _ => name,
    };
    let data = match lock {
        "lock.mdb" => "data.mdb",
        "mdbx.lck" => "mdbx.dat",
        lock => lock.strip_suffix("-lock")?,
    };
    let data = path.with_file_name((!data.is_empty()).then_some(data)?);
    (lock_path(&data) == path.with_file_name(lock)).then_some(data)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lock file of a data file. All clients must go by one rule, or they would not see each other.
/// Data files named as LMDB and libmdbx name theirs have the lock files of those libraries.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let known = [("data.mdb", "lock.mdb"), ("mdbx.dat", "mdbx.lck")];
    for (data, lock) in known {
        if path.file_name().is_some_and(|name| name == data) {
            return path.with_file_name(lock);
        }
    }
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    PathBuf::from(name)
}

/// What the name of a data file's journal ends with.
const JOURNAL_SUFFIX: &str = "-journal";

/// The journal of a data file.
pub(crate) fn journal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(JOURNAL_SUFFIX);
    PathBuf::from(name)
}

/// Whether a file is called as journals are.
pub(crate) fn has_name_of_journal(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(JOURNAL_SUFFIX.as_bytes())
}

/// The data file, for a caller that takes no lock and only reads.
pub(crate) fn look_at(path: &Path) -> Result<Box<dyn Storage>> {
    let file = FileOptions {
        read_only: true,
        create: Create::Never,
        mode: 0,
        reserve_bytes: 1 << 20,
        inherited: None,
    };
    Ok(Box::new(RealFile::open(path, &file)?))
}
