//! Objects as files of a directory.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Bucket, Listed, Object, Version};
use crate::cipher::{hex, random};

/// Under this an object is written before it has its name.
const UNNAMED: &str = ".unnamed";
/// The process that replaces an object holds the lock of this file.
const LOCK: &str = ".lock";

/// A directory as a bucket: on another disk, or on a file server.
///
/// An object is a file that gets its name by a hard link once it is whole and flushed, so that two
/// processes never make the same one. Only the user that has made it can read it, as with the file
/// that is shipped. On NFS, which was not tried, all machines need version 4: the replacement of an
/// object takes the lock of a file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon_ship::{Bucket, Directory};
/// let bucket = Directory::open(dir.path().join("shipped"))?;
/// assert!(bucket.create("log/0001", b"first")?);
/// assert_eq!(bucket.get_range("log/0001", 1..3)?.expect("an object"), b"ir");
/// assert_eq!(bucket.list("log/")?.len(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The bucket in the directory at `path`, which is made if it is missing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Directory> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(path.join(UNNAMED))?;
        Ok(Directory { path })
    }

    /// The file of an object. A name has small letters, digits, `-`, `.` and `/`, and no part of
    /// it begins with a dot.
    fn file(&self, name: &str) -> io::Result<PathBuf> {
        let fits = |part: &str| {
            let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(|byte| known(byte) || byte == b'-' || byte == b'.')
        };
        if !name.split('/').all(fits) {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("no name: {name:?}")));
        }
        Ok(self.path.join(name))
    }

    /// A file without a name that has these bytes, flushed.
    fn unnamed(&self, bytes: &[u8]) -> io::Result<Unnamed> {
        // Processes of two machines may have the same number.
        let unnamed = Unnamed(self.path.join(UNNAMED).join(hex(&random::<16>())));
        // As private as the file that is shipped.
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&unnamed.0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(unnamed)
    }
}

/// Deleted when it is dropped.
struct Unnamed(PathBuf);

impl Drop for Unnamed {
    fn drop(&mut self) {
        // It is none of an object's names; what is left of a killed process harms nothing.
        let _ = fs::remove_file(&self.0);
    }
}

fn version(bytes: &[u8]) -> Version {
    Version(blake3::hash(bytes).to_hex().to_string())
}

/// `None` where there is no file.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the names in the directory of a file durable.
fn flush_names(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    File::open(parent)?.sync_all()
}

impl Bucket for Directory {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        let bytes = found(fs::read(self.file(name)?))?;
        Ok(bytes.map(|bytes| Object { version: version(&bytes), bytes }))
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = found(File::open(self.file(name)?))? else { return Ok(None) };
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let path = self.file(name)?;
        let unnamed = self.unnamed(bytes)?;
        let parent = path.parent().unwrap_or(&self.path);
        if !parent.exists() {
            fs::create_dir_all(parent)?;
            flush_names(parent)?;
        }
        match fs::hard_link(&unnamed.0, &path) {
            Ok(()) => flush_names(&path).map(|()| true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn swap(&self, name: &str, was: &Version, bytes: &[u8]) -> io::Result<bool> {
        let path = self.file(name)?;
        let lock = File::create(self.path.join(LOCK))?;
        lock.lock()?;
        if self.get(name)?.is_none_or(|now| now.version != *was) {
            return Ok(false);
        }
        let unnamed = self.unnamed(bytes)?;
        fs::rename(&unnamed.0, &path)?;
        flush_names(&path)?;
        Ok(true)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        found(fs::remove_file(self.file(name)?)).map(|_| ())
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let start = if folder.is_empty() { self.path.clone() } else { self.file(folder)? };
        let mut folders = vec![start];
        while let Some(folder) = folders.pop() {
            let Some(entries) = found(fs::read_dir(&folder))? else { continue };
            for entry in entries {
                let entry = entry?;
                let path = entry.path();
                let name = path.strip_prefix(&self.path).unwrap_or(&path);
                let name = name.to_string_lossy().into_owned();
                let Some(about) = found(entry.metadata())? else { continue };
                if entry.file_name().as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                if about.is_dir() {
                    folders.push(path);
                } else if name.starts_with(prefix) {
                    listed.push(Listed { name, bytes: about.len() });
                }
            }
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }
}
