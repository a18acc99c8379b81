//! Objects in memory, for tests.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Bucket, Listed, Object, Version, cut};

/// A bucket in the memory of this process, for tests.
///
/// ```
/// use huon_ship::{Bucket, Memory};
/// let bucket = Memory::default();
/// bucket.create("floor", b"1")?;
/// let seen = bucket.get("floor")?.expect("an object");
/// assert!(bucket.swap("floor", &seen.version, b"2")?);
/// assert!(!bucket.swap("floor", &seen.version, b"3")?, "it has changed meanwhile");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    objects: Mutex<BTreeMap<String, (u64, Vec<u8>)>>,
}

impl Memory {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, (u64, Vec<u8>)>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version(count: u64) -> Version {
    Version(count.to_string())
}

impl Bucket for Memory {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        let objects = self.objects();
        let found = objects.get(name);
        Ok(found.map(|(count, bytes)| Object { bytes: bytes.clone(), version: version(*count) }))
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        Ok(self.objects().get(name).map(|(_, bytes)| cut(bytes, range)))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let mut objects = self.objects();
        let is_new = !objects.contains_key(name);
        if is_new {
            objects.insert(name.into(), (0, bytes.to_vec()));
        }
        Ok(is_new)
    }

    fn swap(&self, name: &str, was: &Version, bytes: &[u8]) -> io::Result<bool> {
        let mut objects = self.objects();
        let Some((count, now)) = objects.get_mut(name).filter(|(count, _)| version(*count) == *was)
        else {
            return Ok(false);
        };
        *count += 1;
        *now = bytes.to_vec();
        Ok(true)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.objects().remove(name);
        Ok(())
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        let objects = self.objects();
        let found = objects.iter().filter(|(name, _)| name.starts_with(prefix));
        let listed = found
            .map(|(name, (_, bytes))| Listed { name: name.clone(), bytes: bytes.len() as u64 });
        Ok(listed.collect())
    }
}
