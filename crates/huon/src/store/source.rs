//! Where pages come from: a pinned snapshot, or the writer's own pages.
//!
//! Readers of a tree are generic over [`PageSource`], so that searching, walking and iterating
//! exist once and cost nothing extra in a read transaction.
//!
//! S1. A page handed out carries the pair its pointer asks for, and its checksum has been verified
//!     on this client's first access to that pair (unless the environment verifies never).

use crate::error::{Error, Result};
use crate::os::{Ahead, Disk};
use crate::page::{
    AnyLeaf, Branch, FixedLeaf, Kind, Ptr, Reason, RunRef, SlottedLeaf, Tree, admit,
};

pub(crate) trait PageSource {
    /// The bytes of the page that `ptr` names; range and checksum are checked, the header is not.
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]>;

    /// The fast path of lookups: as [`PageSource::bytes`], without the reason where it fails. After
    /// `None` the caller takes the slow path for the reason.
    #[inline(always)]
    fn fast_bytes(&self, ptr: Ptr) -> Option<&[u8]> {
        self.bytes(ptr).ok()
    }

    /// The bytes of a page that a path leads to, which was checked when the path was led there. A
    /// snapshot's pages stay as they are, so there they are not checked again.
    #[inline(always)]
    fn bytes_again(&self, ptr: Ptr) -> Option<&[u8]> {
        self.fast_bytes(ptr)
    }

    /// The bytes of a large value.
    fn run(&self, run: &RunRef) -> Result<&[u8]>;

    /// How many pages there are: no tree has more, and no walk through one visits more.
    fn pages_max(&self) -> u32;

    /// Bytes of all of them: values collected from a tree are never more.
    fn bytes_max(&self) -> u64;

    /// Refuses to go on in a forked child, where the transaction is dead (C1).
    #[inline]
    fn check_alive(&self) -> Result<()> {
        Ok(())
    }

    /// Starts loading the page into the cache; only a hint.
    #[inline]
    fn prefetch(&self, _ptr: Ptr) {}

    /// The page, to be asked for little by little.
    #[inline]
    fn ahead(&self, _ptr: Ptr) -> Ahead {
        Ahead::NONE
    }

    /// The file, if code that knows its next pages should prefetch them.
    #[inline(always)]
    fn disk(&self) -> Option<Disk<'_>> {
        None
    }

    /// The leaf that `ptr` names; see [`PageSource::fast_bytes`].
    #[inline(always)]
    fn fast_leaf(&self, ptr: Ptr) -> Option<SlottedLeaf<'_>> {
        let page = self.fast_bytes(ptr)?;
        let count = admit(page, ptr, Kind::Leaf, 0).ok()?;
        SlottedLeaf::view(page, count).ok()
    }

    /// The branch that `ptr` names, `level` levels above the leaves; see
    /// [`PageSource::fast_bytes`].
    #[inline(always)]
    fn fast_branch(&self, ptr: Ptr, level: u8) -> Option<Branch<'_>> {
        let page = self.fast_bytes(ptr)?;
        let count = admit(page, ptr, Kind::Branch, level).ok()?;
        Branch::view(page, count).ok()
    }

    /// The leaf that `ptr` names.
    #[inline]
    fn leaf(&self, ptr: Ptr) -> Result<SlottedLeaf<'_>> {
        let page = self.bytes(ptr)?;
        admit(page, ptr, Kind::Leaf, 0).and_then(|count| SlottedLeaf::view(page, count)).on(ptr)
    }

    /// The same of a leaf that was read before, with so many records, and has not changed since;
    /// see [`PageSource::bytes_again`].
    #[inline(always)]
    fn leaf_again(&self, ptr: Ptr, count: usize) -> Result<SlottedLeaf<'_>> {
        match self.bytes_again(ptr) {
            Some(page) => SlottedLeaf::view(page, count).on(ptr),
            None => self.leaf(ptr),
        }
    }

    /// The leaf of `tree` that `ptr` names, of the kind that its leaves have.
    #[inline]
    fn any_leaf(&self, tree: &Tree, ptr: Ptr) -> Result<AnyLeaf<'_>> {
        if !tree.has_fixed_leaves() {
            return self.leaf(ptr).map(AnyLeaf::Slotted);
        }
        let page = self.bytes(ptr)?;
        admit(page, ptr, Kind::Fixed, 0)
            .and_then(|count| FixedLeaf::view(page, count, tree.fixed_bytes as usize))
            .map(AnyLeaf::Fixed)
            .on(ptr)
    }

    /// The branch that `ptr` names, `level` levels above the leaves.
    #[inline(always)]
    fn branch(&self, ptr: Ptr, level: u8) -> Result<Branch<'_>> {
        let page = self.bytes(ptr)?;
        admit(page, ptr, Kind::Branch, level).and_then(|count| Branch::view(page, count)).on(ptr)
    }
}

/// The error for damage found on the page that `ptr` names.
#[cold]
pub(crate) fn damaged(ptr: Ptr, reason: Reason) -> Error {
    match reason {
        Reason::Memory => Error::OutOfMemory,
        reason => Error::corrupt(ptr.pgno.0, reason.text()),
    }
}

/// Says where something is wrong.
pub(crate) trait OnPage<T> {
    /// On the page that `ptr` names.
    fn on(self, ptr: Ptr) -> Result<T>;
    /// In the file, on a page that is not known any more.
    fn in_file(self) -> Result<T>;
}

impl<T> OnPage<T> for std::result::Result<T, Reason> {
    #[inline(always)]
    fn on(self, ptr: Ptr) -> Result<T> {
        self.map_err(|reason| damaged(ptr, reason))
    }

    #[inline(always)]
    fn in_file(self) -> Result<T> {
        self.map_err(|reason| Error::corrupt_file(reason.text()))
    }
}
