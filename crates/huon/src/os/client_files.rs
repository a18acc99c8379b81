//! A file for each client, locked for as long as the client lives: for systems whose locks are on
//! whole files only (P6).
//!
//! 1. The files stay when their clients are gone: if they were removed, a client could lock a file
//!    that no other finds.
//! 2. A client does not see its own lock (P2). It asks through another description of the file, so
//!    its own files are remembered.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::lock_file::open_file;
use super::mutex::locked;
use super::sys::beside::Beside;
use super::sys::fork::{self, OwnFile};
use super::sys::locks::{Hold, Way, change};
use crate::error::{Error, Result};

/// The clients' files, as one client sees them.
pub(super) struct ClientFiles {
    lock_file: PathBuf,
    beside: Beside,
    own: Mutex<Vec<(u32, OwnFile)>>,
}

impl ClientFiles {
    /// Beside `lock_file`.
    pub(super) fn new(lock_file: &Path, beside: Beside) -> ClientFiles {
        ClientFiles { lock_file: lock_file.to_path_buf(), beside, own: Mutex::default() }
    }

    fn file(&self, number: u32, create: bool) -> Result<Option<File>> {
        let mut name = self.lock_file.clone().into_os_string();
        name.push(format!("-{number}"));
        open_file(Path::new(&name), true, create.then_some(&self.beside))
    }

    fn own(&self) -> MutexGuard<'_, Vec<(u32, OwnFile)>> {
        locked(&self.own)
    }

    /// Tries to take the file of client `number`. A client that asks about it at this moment may
    /// prevent that; there are other numbers.
    pub(super) fn claim(&self, number: u32) -> Result<bool> {
        let mut own = self.own();
        let file = OwnFile::open_if(|| self.file(number, true))?;
        let Some(file) = file else { return Ok(false) };
        let free = change(&file, Way::Files, 0, Hold::Alone);
        if !free.map_err(|e| self.failed(e))? {
            return Ok(false);
        }
        assert!(own.iter().all(|(own, _)| *own != number), "P6: a client's file is locked once");
        own.push((number, file));
        Ok(true)
    }

    pub(super) fn release(&self, number: u32) {
        self.own().retain(|(own, _)| *own != number);
    }

    /// Whether another client has the file of client `number`.
    pub(super) fn held(&self, number: u32) -> Result<bool> {
        if self.own().iter().any(|(own, _)| *own == number) {
            return Ok(false);
        }
        // A child would keep the lock that is taken for a moment.
        let _held_off = fork::hold_off();
        // Shared, so that several may ask at once.
        let Some(file) = self.file(number, false)? else { return Ok(false) };
        change(&file, Way::Files, 0, Hold::Shared).map(|free| !free).map_err(|e| self.failed(e))
    }

    /// Whether own files are still locked by this client: no descriptor was closed (P5).
    pub(super) fn intact(&self) -> bool {
        self.own().iter().all(|(_, file)| file.intact())
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::io("lock", self.lock_file.display().to_string(), source)
    }
}
