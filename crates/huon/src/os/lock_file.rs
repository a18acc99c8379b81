//! Opening the file of a lock file, or of one client (P6), and nothing else that has its name.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::sys::beside::Beside;
use super::sys::descriptor::open_kept;
use super::sys::files;
use crate::error::{Error, Result};

/// The first word of a lock file, in the machine's own order: `LOCKHUON` on little-endian machines;
/// another machine's lock file is a foreign one. It differs from the data file's magic in the first
/// byte: neither ever passes for the other.
pub(crate) const LOCK_MAGIC: [u8; 8] = *b"LOCKHUON";
const MAGIC_VALUE: u64 = u64::from_le_bytes(LOCK_MAGIC);
/// A lock file is empty or says whose it is, in its first word.
const WORD_BYTES: usize = 8;
const TOO_SHORT: u64 = WORD_BYTES as u64 - 1;

/// Opens without following links and without waiting (a FIFO would). `None`: missing, not to be
/// created.
pub(super) fn open_file(path: &Path, write: bool, create: Option<&Beside>) -> Result<Option<File>> {
    let failed = |e| Error::io("open", path.display().to_string(), e);
    let mut options = OpenOptions::new();
    files::open_plainly(options.read(true).write(write));
    loop {
        let error = match open_kept(&options, path) {
            Ok(file) => {
                let found = file.metadata().map_err(failed)?;
                return match (found.is_file(), found.len()) {
                    (false, _) => Err(not_a_file(path, "not a regular file")),
                    (true, 0) => Ok(Some(file)),
                    // Whose it is could not be seen any more once it has grown.
                    (true, 1..=TOO_SHORT) => Err(not_a_file(path, "too short to be one")),
                    _ if begins_as_ours(&file).map_err(failed)? => Ok(Some(file)),
                    _ => Err(not_a_file(path, "something else")),
                };
            }
            Err(error) => error,
        };
        if files::was_link(&error) {
            return Err(not_a_file(path, "a symbolic link"));
        }
        match (error.kind(), create) {
            (io::ErrorKind::IsADirectory, _) => return Err(not_a_file(path, "a directory")),
            (io::ErrorKind::NotFound, None) => return Ok(None),
            (io::ErrorKind::NotFound, Some(beside)) => {
                let made = beside.make(path);
                if !made.map_err(|e| Error::io("create", path.display().to_string(), e))? {
                    return Ok(None);
                }
            }
            _ => return Err(failed(error)),
        }
    }
}

fn not_a_file(path: &Path, what: &str) -> Error {
    let text = format!(
        "{} has the name of the lock file and is {what}; move it away, or give the environment \
         another name",
        path.display()
    );
    Error::NotADatabase(text.into())
}

/// Whether it begins as a lock file does. One whose maker died, or whose disk lost power, may show
/// zeros.
fn begins_as_ours(file: &File) -> io::Result<bool> {
    let mut word = [0; WORD_BYTES];
    files::read_exact_at(file, &mut word, 0)?;
    Ok(matches!(u64::from_ne_bytes(word), 0 | MAGIC_VALUE))
}

/// Another open file description of the file.
pub(super) fn open_again(path: &Path, inode: (u64, u64), write: bool) -> Result<File> {
    match open_file(path, write, None)? {
        Some(file) if files::names(&file) == Some(inode) => Ok(file),
        _ => Err(Error::Busy("the lock file was replaced while it was opened".into())),
    }
}
