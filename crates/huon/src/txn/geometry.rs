//! The limits of the file's length, as users see and set them.

use crate::error::{Error, Result};
use crate::page::{self, first_data_page};
use crate::txn::write::{How, WriteTxn};

/// How long the file may be, and in which steps it changes. All sizes are in bytes; they are kept
/// as whole pages. (libmdbx has the word for the same four; others have only a maximum.)
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let env = huon::Env::options().max_bytes(1 << 30).open(dir.path().join("a.huon"))?;
/// let geometry = env.info()?.geometry;
/// assert_eq!(geometry.max_bytes, 1 << 30);
/// assert_eq!(geometry.grow_bytes, 0, "growth follows the size");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// Below this the file never shrinks. Rounded up to whole pages; never less than the empty
    /// environment needs.
    pub min_bytes: u64,
    /// Above this the file never grows. Rounded down to whole pages; at most 4294967295 of them.
    pub max_bytes: u64,
    /// The file grows by so much; 0 lets the growth follow the size. Rounded up.
    pub grow_bytes: u64,
    /// A free tail is cut off the file when it is at least this long; 0: never. Rounded up.
    pub shrink_bytes: u64,
}

impl Geometry {
    /// The same in pages.
    pub(crate) fn in_pages(&self, page_bytes: usize) -> page::PageGeometry {
        let size = page_bytes as u64;
        let pages = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let min_pages = pages(self.min_bytes.div_ceil(size)).max(first_data_page(page_bytes) + 1);
        page::PageGeometry {
            min_pages,
            max_pages: pages(self.max_bytes / size).max(min_pages),
            grow: pages(self.grow_bytes.div_ceil(size)),
            shrink: pages(self.shrink_bytes.div_ceil(size)),
        }
    }

    pub(crate) fn of_pages(geometry: &page::PageGeometry, page_bytes: usize) -> Geometry {
        let bytes = |pages: u32| u64::from(pages) * page_bytes as u64;
        Geometry {
            min_bytes: bytes(geometry.min_pages),
            max_bytes: bytes(geometry.max_pages),
            grow_bytes: bytes(geometry.grow),
            shrink_bytes: bytes(geometry.shrink),
        }
    }
}

impl WriteTxn {
    /// The limits of the file's length as this transaction has them.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::options().max_bytes(1 << 30).open(dir.path().join("a.huon"))?;
    /// assert_eq!(env.write()?.geometry(), env.info()?.geometry);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn geometry(&self) -> Geometry {
        Geometry::of_pages(&self.geometry, self.pages().page_bytes())
    }

    /// Changes the limits of the file's length. They hold for this transaction at once, and for all
    /// others, those of other processes included, from its commit on; an abort, also of a nested
    /// transaction, brings the old ones back.
    ///
    /// A higher minimum size makes the file grow now; after an abort that is given back by a later
    /// transaction. A lower maximum size cuts the file at the next write transaction. Nothing that
    /// readers see moves, whatever is set.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::options().max_bytes(1 << 20).open(dir.path().join("a.huon"))?;
    /// let mut txn = env.write()?;
    /// let mut geometry = txn.geometry();
    /// geometry.max_bytes = 512 << 10;
    /// geometry.shrink_bytes = 64 << 10;
    /// txn.set_geometry(geometry)?;
    /// txn.commit()?;
    /// assert_eq!(env.info()?.geometry, geometry);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The address space for the file is reserved when it is opened, and is not extended:
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, Error};
    /// let env = Env::options().max_bytes(4 << 20).open(dir.path().join("a.huon"))?;
    /// let mut geometry = env.info()?.geometry;
    /// geometry.max_bytes = 64 << 20;
    /// assert!(matches!(env.set_geometry(geometry), Err(Error::MapTooSmall { .. })));
    /// drop(env);
    /// // An existing file keeps its limit; this only reserves more.
    /// let env = Env::options().max_bytes(64 << 20).open(dir.path().join("a.huon"))?;
    /// assert_eq!(env.info()?.max_bytes, 4 << 20);
    /// env.set_geometry(geometry)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the maximum size lies below the minimum; [`Error::MapFull`] if it lies
    /// below the pages in use or retained for readers; [`Error::MapTooSmall`] if it is raised above
    /// the address space that this process has reserved. These leave the transaction as it was.
    /// (Another process that has reserved less goes on until the file is longer than that, and gets
    /// [`Error::MapTooSmall`] at its next transaction then.) [`Error::Io`] if the file cannot grow,
    /// which breaks the transaction.
    pub fn set_geometry(&mut self, geometry: Geometry) -> Result<()> {
        self.check_usable()?;
        let core = self.core.clone();
        let store = &core.store;
        let wanted = geometry.in_pages(store.page_bytes);
        if geometry.max_bytes < geometry.min_bytes {
            return Err(Error::Invalid("the maximum size lies below the minimum size"));
        }
        if wanted == self.geometry {
            return Ok(());
        }
        let most = self.geometry.max_pages.max(store.map_pages());
        if wanted.max_pages > most || wanted.min_pages > store.map_pages() {
            return Err(store.map_too_small(wanted.max_pages));
        }
        let fits = self.guarded(How::Shrink, |txn| {
            // Pages that an undone level left behind the old size do not prevent a higher one.
            if wanted.max_pages < txn.geometry.max_pages
                && !txn.pages_mut().cut_to(wanted.max_pages)?
            {
                return Ok(false);
            }
            store.cover(wanted.min_pages)?;
            store.set_geometry(&wanted);
            txn.geometry = wanted;
            Ok(true)
        })?;
        if fits {
            Ok(())
        } else {
            let used = self.pages().used();
            Err(Error::map_full(store.offset(wanted.max_pages), store.offset(used)))
        }
    }
}
