//! Files that take the place of others when they are whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::fail::Failure;

/// The file that is meant where `path` is a symbolic link: the link stays.
pub(crate) fn meant(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Where the new content of `path` is written: beside it, under a name of this process.
pub(crate) fn of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".draft-{}", std::process::id()));
    name.into()
}

/// Puts a whole and flushed draft in its place, durably.
pub(crate) fn put(draft: &Path, path: &Path) -> io::Result<()> {
    fs::rename(draft, path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// That a file is there which was not to be replaced.
pub(crate) fn in_the_way(path: &Path) -> Failure {
    let path = path.display();
    Failure::usage(format!("{path} exists already; choose another name, or add -f."))
}
