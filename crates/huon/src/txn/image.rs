//! The name and the image of a snapshot, to be kept and sent outside of a file.

use crate::error::{Error, Result};
use crate::page::{META_BYTES, Meta, meta_checksum};
use crate::planted::{self, Bug};

/// Which snapshot of which file: its id, and a checksum of its image.
///
/// Two processes that write copies of one file give the same id to different snapshots; their
/// checksums differ.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// let before = env.capture()?.image().name();
/// let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
/// env.update(|txn| txn.create_table(&def).map(drop))?;
/// let after = env.capture()?.image().name();
/// assert!(before.id < after.id);
/// assert_ne!(before.checksum, after.checksum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotName {
    /// The id of the transaction that made it.
    pub id: u64,
    /// XXH3 of its image, without what each file has of its own.
    pub checksum: u64,
}

impl std::fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:016x})", self.id, self.checksum)
    }
}

/// All that a snapshot is besides its pages, in 4096 bytes: a meta of it, as every file has it that
/// holds the snapshot.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use huon::Image;
/// let image = env.capture()?.image().clone();
/// let read = Image::from_bytes(image.as_bytes())?;
/// assert_eq!((read.name(), read.uuid()), (image.name(), image.uuid()));
/// assert!(Image::from_bytes(&[0; 4096]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    pub(crate) meta: Meta,
    bytes: Box<[u8; META_BYTES]>,
}

impl Image {
    /// Length of an image in bytes.
    pub const BYTES: usize = META_BYTES;

    pub(crate) fn of(meta: &Meta) -> Result<Image> {
        let travels = planted::is(Bug::NamesTravel) && meta.names;
        let meta = Meta { names: travels, ..meta.as_image() };
        let bytes = Box::new(meta.try_encode()?);
        Ok(Image { meta, bytes })
    }

    /// The image in these bytes, 4096 of them.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] or [`Error::Corrupt`] if they are none, [`Error::Version`] if they
    /// are one of a newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Image> {
        let block = bytes.try_into().map_err(|_| Error::Invalid("an image has 4096 bytes"))?;
        let meta = Meta::decode(block)?;
        let image = Image::of(&meta)?;
        if *image.bytes == *block {
            Ok(image)
        } else {
            Err(Error::corrupt_file("an image has what only the meta of a file may have"))
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; META_BYTES] {
        &self.bytes
    }

    /// The id of its snapshot.
    pub fn id(&self) -> u64 {
        self.meta.txnid.0
    }

    /// Which snapshot it is.
    pub fn name(&self) -> SnapshotName {
        SnapshotName { id: self.id(), checksum: meta_checksum(&self.bytes) }
    }

    /// The id of the file and all its copies, chosen by chance when it was made.
    pub fn uuid(&self) -> [u8; 16] {
        self.meta.uuid
    }

    /// Page size in bytes.
    pub fn page_bytes(&self) -> u32 {
        self.meta.page_bytes
    }

    /// Bytes of a file that holds the snapshot: where the last page in use ends.
    pub fn used_bytes(&self) -> u64 {
        u64::from(self.meta.used) * u64::from(self.meta.page_bytes)
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("name", &self.name()).finish_non_exhaustive()
    }
}
