//! The files that an opening works on: found or made, and refused if they are not ours.

use std::path::Path;
use std::sync::Arc;

use super::create::create_file;
use crate::env::options::Options;
use crate::env::place::{self, journal_path, lock_path};
use crate::error::{Error, Result};
use crate::lock::{LOCK_BYTES, MemoryFile, RealShared};
use crate::os::{
    self, Create, FileOptions, Identity, JournalFile, Map, RealFile, RealJournal, Shared, Storage,
};
use crate::planted::{self, Bug};
use crate::txn::recovery;

/// The files that an opening works on.
pub(crate) struct OpenFiles {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) shared: Arc<dyn Shared>,
    /// The lock file is this client's own memory: no other client can see it, so no other may
    /// write.
    pub(crate) private: bool,
    /// The journal beside the data file, where there can be one.
    pub(crate) journal: Option<Box<dyn JournalFile>>,
}

impl OpenFiles {
    /// Whether this process may only read the lock file.
    pub(super) fn is_guest(&self) -> bool {
        !self.shared.writable()
    }

    /// Whether this process can do without a lock file that others see.
    pub(super) fn may_be_private(&self, options: &Options) -> bool {
        !self.private && (options.read_only || !self.storage.writable())
    }

    /// The data file alone.
    pub(super) fn of_data(storage: Box<dyn Storage>) -> Result<OpenFiles> {
        Ok(OpenFiles { storage, shared: private_lock_file()?, private: true, journal: None })
    }

    /// The lock file cannot be used, or no client uses it: a private image, with the data file
    /// locked against writers.
    pub(super) fn make_private(&mut self) -> Result<()> {
        self.shared = private_lock_file()?;
        self.private = true;
        Ok(())
    }
}

/// What a forked child has of its parent's files (C4, C5).
pub(crate) struct Inherited {
    pub(crate) data: Identity,
    /// `None`: the parent's lock file is its own memory.
    pub(crate) lock: Option<Identity>,
    pub(crate) map: Arc<Map>,
}

/// The real files behind `path`, created if need be.
pub(crate) fn real_files(path: &Path, options: &Options) -> Result<OpenFiles> {
    files_of(path, options, None)
}

/// The same in a forked child, which wants the very files of its parent.
pub(crate) fn inherited_files(path: &Path, options: &Options, of: Inherited) -> Result<OpenFiles> {
    match files_of(path, options, Some(of)) {
        Err(Error::Io(e)) if e.source.kind() == std::io::ErrorKind::NotFound => Err(Error::Forked),
        found => found,
    }
}

fn files_of(path: &Path, options: &Options, inherited: Option<Inherited>) -> Result<OpenFiles> {
    let mut file = FileOptions {
        // A reader opens for writing too where it may: then it can be first, and writers can join
        // it.
        read_only: false,
        create: Create::Never,
        mode: options.mode,
        reserve_bytes: options.reservation(),
        inherited: inherited.as_ref().map(|of| (of.data, of.map.clone())),
    };
    if options.create && !options.read_only {
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                place::check_new(path)?;
                create_file(path, options)?;
            }
            Ok(found) if found.is_file() && found.len() == 0 => place::check_new(path)?,
            _ => {}
        }
    }
    let opened = match RealFile::open(path, &file) {
        Err(Error::Io(e)) if may_be_read(&e.source) => {
            file.read_only = true;
            RealFile::open(path, &file)?
        }
        opened => opened?,
    };
    let lock = lock_path(path);
    refuse_foreign(&opened, &lock, options)?;
    // A child makes none: it would be another one than its parent's.
    let makes = opened.writable() && inherited.is_none();
    let create = makes.then(|| opened.lock_file(LOCK_BYTES, options.read_only)).transpose()?;
    let found =
        if options.stays_apart() { Ok(None) } else { RealShared::open(&lock, create.as_ref()) };
    let found = match found {
        Err(Error::Io(e))
            if os::is_unavailable(&e.source) && (options.read_only || !opened.writable()) =>
        {
            visit(&lock)?
        }
        found => found?,
    };
    let shared = found.map(|shared| Arc::new(shared) as Arc<dyn Shared>);
    if let Some(Inherited { lock: Some(lock), .. }) = inherited
        && shared.as_ref().and_then(|shared| shared.identity()) != Some(lock)
        && !planted::is(Bug::ParentFiles)
    {
        return Err(Error::Forked);
    }
    let private = shared.is_none();
    let shared = match shared {
        Some(shared) => shared,
        None => private_lock_file()?,
    };
    let mut journal: Option<Box<dyn JournalFile>> = None;
    if opened.writable() {
        journal = Some(Box::new(RealJournal::at(&journal_path(path), opened.beside()?)));
    }
    Ok(OpenFiles { storage: Box::new(opened), shared, private, journal })
}

/// The lock file for a guest. `None`: it cannot be had, or not be used so.
fn visit(lock: &Path) -> Result<Option<RealShared>> {
    match RealShared::visit(lock) {
        Err(Error::Io(e)) if os::is_unavailable(&e.source) => Ok(None),
        found => found,
    }
}

/// No lock file is made or opened beside a file that is no environment. An empty file, or one that
/// another client is just making one of, may have a lock file: see [`refuse_foreign_alone`].
fn refuse_foreign(storage: &dyn Storage, lock: &Path, options: &Options) -> Result<()> {
    match refuse_foreign_alone(storage, options) {
        Err(Error::NotADatabase(_)) if lock.symlink_metadata().is_ok() => {
            // It may have become one since it was looked at.
            if recovery::is_unwritten(storage)? {
                Ok(())
            } else {
                refuse_foreign_alone(storage, options)
            }
        }
        checked => checked,
    }
}

/// Nothing is written to a file that is no environment, or to its lock file. An empty file becomes
/// one. Under the gate, where nothing is half made.
pub(super) fn refuse_foreign_alone(storage: &dyn Storage, options: &Options) -> Result<()> {
    if options.create && !options.read_only && storage.file_bytes()? == 0 {
        Ok(())
    } else {
        recovery::check_ours(storage)
    }
}

/// A lock file that no other client sees.
pub(crate) fn private_lock_file() -> Result<Arc<dyn Shared>> {
    Ok(Arc::new(MemoryFile::try_new([0; 16])?.open()))
}

/// Errors that leave the hope that a file can at least be read.
fn may_be_read(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}
