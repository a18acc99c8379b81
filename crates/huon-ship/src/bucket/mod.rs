//! Where objects are kept.

mod directory;
mod memory;

use std::io;
use std::ops::Range;

pub use directory::Directory;
pub use memory::Memory;

/// Which content of an object was read: what object stores call an entity tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(pub String);

/// A whole object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// For [`Bucket::swap`].
    pub version: Version,
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A place for objects: a directory, or a prefix of an object store's bucket.
///
/// The two conditions, of [`Bucket::create`] and [`Bucket::swap`], are what fences a shipper off
/// whose place another one has taken. A store that ignores them, or lets two win, loses data: a
/// [`Remote`](crate::Remote) tries them before it ships anything.
///
/// An error means that the answer is not known: the request may have been carried out, or may still
/// be.
///
/// ```
/// use huon_ship::{Bucket, Memory};
/// let bucket = Memory::default();
/// assert!(bucket.create("log/1", b"first")?);
/// assert!(!bucket.create("log/1", b"second")?, "it is there");
/// assert_eq!(bucket.get("log/1")?.expect("an object").bytes, b"first");
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Bucket: Send + Sync {
    /// An object; `None`: there is none of the name.
    ///
    /// # Errors
    /// If the bucket cannot be asked, or fails.
    fn get(&self, name: &str) -> io::Result<Option<Object>>;

    /// Bytes of an object, fewer where it ends before; `None`: there is none of the name.
    ///
    /// # Errors
    /// If the bucket cannot be asked, or fails.
    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>>;

    /// Makes an object, durably and whole; `false`: there is one of the name, and it stays.
    ///
    /// # Errors
    /// If it is not known whether it was made.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool>;

    /// Replaces an object that has this version; `false`: it has another one, and stays.
    ///
    /// # Errors
    /// If it is not known whether it was replaced.
    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool>;

    /// Deletes an object, if it is there.
    ///
    /// # Errors
    /// If it is not known whether it was deleted.
    fn delete(&self, name: &str) -> io::Result<()>;

    /// All objects whose names begin with this, in the order of their names.
    ///
    /// # Errors
    /// If the bucket cannot be asked, or fails.
    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>>;
}

/// The part of an object's bytes that a range means.
fn cut(bytes: &[u8], range: Range<u64>) -> Vec<u8> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes[place(range.start).min(place(range.end))..place(range.end)].to_vec()
}
