//! Deleting an environment's files.
//!
//! 1. Files are removed only while no client has the environment open and none can open it: under
//!    the gate of the lock file, alone with the data file.
//! 2. A file that does not begin as an environment of this format is left as it is, and so is a
//!    file under the name of the lock file, or of the journal, that is neither.
//! 3. A client that waited for the gate meanwhile finds that the name no longer leads to the file
//!    it opened: see `open::is_named`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::place::{lock_path, look_at};
use crate::env::{Env, Options, kinds, open};
use crate::error::{Error, Result};
use crate::lock::{Board, Gate};
use crate::os::{self, Storage};
use crate::planted::{self, Bug};
use crate::txn::recovery;

/// How long it sleeps before it looks again.
const PAUSE: Duration = Duration::from_millis(2);
/// How long it waits at the gate at a time.
const GATE_WAIT: Duration = Duration::from_millis(50);

impl Env {
    /// Deletes the environment at `path`: the data file, its lock file and its journal, and nothing
    /// else.
    /// `false`: there is no such file. A symbolic link is refused: name the file itself.
    ///
    /// It must not be open anywhere, in this process or another. No process can open it meanwhile:
    /// one that tries finds no file, or makes a new one. Takes as long as the file system takes to
    /// remove the files.
    ///
    /// # Errors
    /// [`Error::Busy`] if it is open anywhere. [`Error::NotADatabase`] and [`Error::Version`] if it
    /// is no environment of this format, or the file with `-lock` appended to the name is no lock
    /// file, or that with `-journal` no journal: then all of them stay. A damaged environment is
    /// deleted as long as one of its metas begins as a meta does. [`Error::ReadOnly`] if it may not
    /// be written, [`Error::Io`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, Error};
    /// let path = dir.path().join("a.huon");
    /// let env = Env::open(&path)?;
    /// assert!(matches!(Env::delete(&path), Err(Error::Busy(_))));
    /// env.close()?;
    /// assert!(Env::delete(&path)?);
    /// assert_eq!(std::fs::read_dir(&dir)?.count(), 0);
    /// assert!(!Env::delete(&path)?, "it is gone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(path: impl AsRef<Path>) -> Result<bool> {
        Env::delete_within(path, Duration::ZERO)
    }

    /// The same, waiting up to `timeout` for others to close it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// # huon::Env::open(&path)?.close()?;
    /// assert!(huon::Env::delete_within(&path, std::time::Duration::from_secs(5))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_within(path: impl AsRef<Path>, timeout: Duration) -> Result<bool> {
        let path = path.as_ref();
        let start = Instant::now();
        loop {
            match delete_if_deserted(path, |_, _| Ok(true)) {
                Err(Error::Io(e)) if e.source.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(false);
                }
                Err(error) => return Err(kinds::named(path, error)),
                Ok(true) => return Ok(true),
                Ok(false) if start.elapsed() >= timeout => {
                    return Err(Error::Busy(
                        "the environment is open, here or in another process; close it first"
                            .into(),
                    ));
                }
                Ok(false) => os::pause(PAUSE),
            }
        }
    }

    /// Deletes the environment at `path` if nothing was ever committed to it: for programs that
    /// made one and cannot go on. `false`: it stays, since something was committed or it is open
    /// somewhere, or there is no such file.
    ///
    /// # Errors
    /// Those of [`Env::delete`], but never [`Error::Busy`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, TableDef, U64};
    /// # const T: TableDef<U64, U64> = TableDef::new("t");
    /// let path = dir.path().join("a.huon");
    /// Env::open(&path)?.close()?;
    /// assert!(Env::delete_unused(&path)?);
    /// let env = Env::open(&path)?;
    /// env.update(|txn| txn.create_table(&T).map(drop))?;
    /// env.close()?;
    /// assert!(!Env::delete_unused(&path)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_unused(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        match delete_if_deserted(path, is_unused) {
            Err(Error::Io(e)) if e.source.kind() == std::io::ErrorKind::NotFound => Ok(false),
            deleted => deleted.map_err(|error| kinds::named(path, error)),
        }
    }
}

/// Whether neither the file nor the lock file knows of a commit.
fn is_unused(board: &Board, storage: &dyn Storage) -> Result<bool> {
    let flushed = recovery::newest(&recovery::known_metas(storage)?)?.txnid;
    Ok(flushed == recovery::FIRST_ID && board.sealed().txnid() <= recovery::FIRST_ID.0)
}

/// Deletes the files if no client has them open and they are `wanted` gone; whether it did.
fn delete_if_deserted(
    path: &Path,
    wanted: impl Fn(&Board, &dyn Storage) -> Result<bool>,
) -> Result<bool> {
    // Before a lock file is made beside what is no environment.
    recovery::check_ours(&*look_at(path)?)?;
    let files = open::real_files(path, Options::default().create(false))?;
    if !files.storage.writable() {
        return Err(Error::ReadOnly);
    }
    let Some(gate) = Gate::try_lock(&files.shared, GATE_WAIT)? else { return Ok(false) };
    if !files.storage.try_alone()? {
        return Ok(false);
    }
    let board = Arc::new(Board::attach(files.shared.clone(), &gate)?);
    if open::serves_another(&board, &*files.storage, &gate)? {
        return Ok(false);
    }
    if !open::is_named(path, &*files.storage)? {
        return Ok(false);
    }
    recovery::check_ours(&*files.storage)?;
    if !wanted(&board, &*files.storage)? {
        return Ok(false);
    }
    // Before anything is gone (2).
    files.journal.as_ref().map_or(Ok(0), |journal| journal.bytes())?;
    let remove = |path: &Path| {
        let removed = std::fs::remove_file(path);
        removed.map_err(|e| Error::io("delete", path.display().to_string(), e))
    };
    remove(path)?;
    remove(&lock_path(path))?;
    let journal = files.journal.filter(|_| !planted::is(Bug::JournalKept));
    journal.map_or(Ok(()), |journal| journal.delete())?;
    remove_client_files(path)?;
    os::sync_directory(path)?;
    Ok(true)
}

/// Where each client locks a file of its own (P6), it stays when the client is gone: `-lock-N`, and
/// empty.
fn remove_client_files(path: &Path) -> Result<()> {
    let lock = lock_path(path);
    let (Some(name), Some(directory)) = (lock.file_name(), lock.parent()) else { return Ok(()) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let failed = |e| Error::io("list", directory.display().to_string(), e);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let found = entry.file_name();
        let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        let is_number = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit);
        if rest.and_then(|rest| rest.strip_prefix(b"-")).is_some_and(is_number)
            && entry.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
        {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}
