//! Where a copy is made before it gets its name.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::os;

/// A file that vanishes, its lock file with it, unless it is finished.
pub(in crate::ops) struct Draft {
    path: PathBuf,
}

impl Draft {
    /// A draft in the directory of `target`, which must not exist.
    pub(in crate::ops) fn beside(target: &Path) -> Result<Draft> {
        if std::fs::symlink_metadata(target).is_ok() {
            return Err(exists(target));
        }
        crate::env::check_new(target)?;
        let mut name = target.as_os_str().to_owned();
        name.push(format!("-copy-{}-{}", std::process::id(), os::unique_number()));
        Ok(Draft { path: PathBuf::from(name) })
    }

    /// A draft that only this copy reads back.
    pub(in crate::ops) fn temporary() -> Draft {
        let name = format!("huon-copy-{}-{}", std::process::id(), os::unique_number());
        Draft { path: std::env::temp_dir().join(name) }
    }

    pub(in crate::ops) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::ops) fn create(&self, mode: u32) -> Result<File> {
        os::create_kept(&self.path, mode).map_err(|error| self.error("create", error))
    }

    pub(in crate::ops) fn reopen(&self) -> Result<File> {
        let opened = os::open_kept(OpenOptions::new().read(true), &self.path);
        opened.map_err(|error| self.error("open", error))
    }

    pub(in crate::ops) fn flush(&self, file: &File) -> Result<()> {
        file.sync_all().map_err(|error| self.error("flush", error))
    }

    /// Gives the draft its name; returns its length.
    pub(in crate::ops) fn finish(self, target: &Path) -> Result<u64> {
        let length = std::fs::metadata(&self.path).map_err(|error| self.error("look at", error))?;
        // Unlike a rename, a link never replaces what appeared there meanwhile.
        match std::fs::hard_link(&self.path, target) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(exists(target));
            }
            linked => linked.map_err(|error| self.error("give a name to", error))?,
        }
        drop(self);
        os::sync_directory(target)?;
        Ok(length.len())
    }

    fn error(&self, operation: &'static str, error: std::io::Error) -> Error {
        Error::io(operation, self.path.display().to_string(), error)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Either may be missing; the name of a finished copy is another one.
        let _ = std::fs::remove_file(&self.path);
        let mut lock = self.path.clone().into_os_string();
        lock.push("-lock");
        let _ = std::fs::remove_file(lock);
    }
}

fn exists(target: &Path) -> Error {
    let what = "there is a file of that name, which a copy does not replace";
    let error = std::io::Error::new(std::io::ErrorKind::AlreadyExists, what);
    Error::io("copy", target.display().to_string(), error)
}
