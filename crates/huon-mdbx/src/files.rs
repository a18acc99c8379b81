//! The files of an environment: where they lie, and how they come and go.

use std::ffi::{CStr, OsStr};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use huon_c::{Fault, Res};

use crate::flags::delete::*;

/// The data file of an environment that is a directory.
const DATA: &str = "mdbx.dat";
/// As long as it takes.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86400);

/// Where an environment lies.
pub(crate) struct Place {
    /// The directory, or the data file.
    pub(crate) path: PathBuf,
    /// The data file.
    pub(crate) file: PathBuf,
    /// The path is that of the data file.
    pub(crate) is_file: bool,
}

impl Place {
    /// What a path means. One that leads to a file is that of the data file, whatever the flags
    /// say.
    pub(crate) fn find(path: &CStr, is_file: bool) -> Place {
        let path = path_of(path);
        let is_file = is_file || path.metadata().is_ok_and(|found| !found.is_dir());
        let file = if is_file { path.clone() } else { path.join(DATA) };
        Place { path, file, is_file }
    }

    /// Makes the directory, if the path means one and it is missing: users with read permission may
    /// search it.
    pub(crate) fn make_directory(&self, mode: u32) -> Res<()> {
        if self.is_file {
            return Ok(());
        }
        let mode = mode & 0o777 | (mode & 0o444) >> 2;
        match DirBuilder::new().mode(mode).create(&self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// A path that C gave.
pub(crate) fn path_of(path: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

/// Deletes an environment; whether there was none.
pub(crate) fn delete(path: &CStr, mode: u32) -> Res<bool> {
    let place = Place::find(path, false);
    let deleted = match mode {
        ENV_JUST_DELETE => remove(&place.file)? | remove(&huon::Env::lock_path(&place.file))?,
        ENV_ENSURE_UNUSED => huon::Env::delete(&place.file)?,
        ENV_WAIT_FOR_UNUSED => huon::Env::delete_within(&place.file, FOR_EVER)?,
        _ => return Err(Fault::Invalid),
    };
    if !place.is_file {
        // It stays if there is anything else in it.
        let _ = fs::remove_dir(&place.path);
    }
    Ok(!deleted)
}

/// Removes a file, even if it is open; whether there was one.
fn remove(file: &Path) -> Res<bool> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        removed => Ok(removed.map(|()| true)?),
    }
}
