//! Checksums: xxh3 of 64 bits, seeded with the file's uuid, so that pages of another file do not
//! pass.

use super::types::Reason;
use crate::planted::{self, Bug};
use twox_hash::XxHash3_64;

/// Seals pages of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seal {
    pub(crate) seed: u64,
}

impl Seal {
    /// The seal of the file with that uuid.
    pub(crate) fn new(uuid: &[u8; 16]) -> Seal {
        Seal { seed: XxHash3_64::oneshot(uuid) }
    }

    /// The checksum that the page should carry: over all bytes behind it.
    pub(crate) fn compute(self, page: &[u8]) -> u64 {
        let end = if planted::is(Bug::ChecksumTail) { page.len() - 8 } else { page.len() };
        XxHash3_64::oneshot_with_seed(self.seed, page.get(8..end).unwrap_or(&[]))
    }

    /// Writes the checksum into the page; any later change of the page breaks it.
    pub(crate) fn stamp(self, page: &mut [u8]) {
        let sum = self.compute(page);
        page[..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Whether the page carries its checksum.
    pub(crate) fn verify(self, page: &[u8]) -> Result<(), Reason> {
        match page.first_chunk::<8>() {
            Some(sum) if u64::from_le_bytes(*sum) == self.compute(page) => Ok(()),
            _ => Err(Reason::Checksum),
        }
    }

    /// The checksum of a large value: over its bytes, not over the padding of its last page.
    pub(crate) fn run(self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, bytes)
    }
}

/// Sets the checksums of a file right again that a test has edited: the file is then hostile rather
/// than damaged, and its contents are looked at.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.huon");
/// # drop(huon::Env::open(&path)?);
/// # let mut file = std::fs::read(&path)?;
/// let meta: &mut [u8; 4096] = file.first_chunk_mut().expect("a file begins with a meta");
/// meta[76..80].copy_from_slice(&u32::MAX.to_le_bytes());
/// huon::sim::Sealer::meta(meta);
/// # std::fs::write(&path, &file)?;
/// assert!(huon::Env::open(&path)?.info()?.max_bytes > 1 << 43);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(any(test, feature = "simulation"))]
#[derive(Clone, Copy, Debug)]
pub struct Sealer(Seal);

#[cfg(any(test, feature = "simulation"))]
impl Sealer {
    /// For the file with that uuid.
    pub fn new(uuid: &[u8; 16]) -> Sealer {
        Sealer(Seal::new(uuid))
    }

    /// Sets the checksum of a branch, leaf or chunk.
    pub fn page(self, page: &mut [u8]) {
        self.0.stamp(page);
    }

    /// The checksum of a large value, which its reference holds.
    pub fn value(self, bytes: &[u8]) -> u64 {
        self.0.run(bytes)
    }
}
