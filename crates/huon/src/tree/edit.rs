//! A tree under edit.
//!
//! T2. After each method that changes a tree every page of it that was changed is this level's own,
//!     all separators bound their children, and `entries` and the page counts are right.

use crate::error::{Error, Result};
use crate::page::{
    self, BranchMut, FixedMut, KeyOrder, LeafMut, MAX_VALUE_BYTES, Ptr, Reason, Tree,
};
use crate::store::pages::Pages;
use crate::store::source::OnPage;
use crate::tree::finger::Finger;
use crate::tree::view::TreeView;

/// A tree under edit: its record, the writer's pages, how its keys compare, and where the last put
/// was made.
///
/// What changes a tree is a method of this: `put` and `reserve` in `put`, `delete` in `shrink`,
/// `clear` in `clear`, and all of multimaps in `multi`.
pub(crate) struct TreeMut<'t, O> {
    pub(crate) pages: &'t mut Pages,
    pub(crate) tree: &'t mut Tree,
    pub(crate) order: O,
    pub(crate) finger: &'t mut Finger,
}

impl<O: Copy> TreeMut<'_, O> {
    /// The same tree to be read.
    #[inline]
    pub(crate) fn view(&self) -> TreeView<'_, '_, Pages, O> {
        TreeView::new(self.pages, self.tree, self.order)
    }

    /// The same tree in another order.
    #[inline]
    pub(crate) fn ordered_by<P>(&mut self, order: P) -> TreeMut<'_, P> {
        TreeMut { pages: self.pages, tree: self.tree, order, finger: self.finger }
    }

    /// Another tree of the same pages. The finger leads nowhere in it.
    pub(crate) fn beside<'b>(&'b mut self, tree: &'b mut Tree) -> TreeMut<'b, O> {
        TreeMut { pages: self.pages, tree, order: self.order, finger: self.finger }
    }

    /// Edits a leaf that this level owns. Errors name its page.
    #[inline]
    pub(super) fn leaf<R>(
        &mut self,
        ptr: Ptr,
        edit: impl FnOnce(LeafMut<'_>) -> std::result::Result<R, Reason>,
    ) -> Result<R> {
        LeafMut::view(self.pages.edit(ptr)).and_then(edit).on(ptr)
    }

    /// The same for a leaf of keys of one length.
    #[inline]
    pub(super) fn fixed<R>(&mut self, ptr: Ptr, edit: impl FnOnce(FixedMut<'_>) -> R) -> Result<R> {
        let key_bytes = self.tree.fixed_bytes as usize;
        FixedMut::view(self.pages.edit(ptr), key_bytes).map(edit).on(ptr)
    }

    /// The same for a branch.
    #[inline]
    pub(super) fn branch<R>(
        &mut self,
        ptr: Ptr,
        edit: impl FnOnce(BranchMut<'_>) -> std::result::Result<R, Reason>,
    ) -> Result<R> {
        BranchMut::view(self.pages.edit(ptr)).and_then(edit).on(ptr)
    }

    /// The error for a tree whose record counts its items wrongly.
    #[cold]
    pub(super) fn false_count(&self) -> Error {
        Error::corrupt(self.tree.root.pgno.0, Reason::Tree.text())
    }

    /// A tree of values has changed: its pages are counted with the table's.
    pub(super) fn count_values(&mut self, before: &Tree, after: &Tree) {
        let moved = |all: u32, from: u32, to: u32| all.saturating_sub(from).saturating_add(to);
        let tree = &mut *self.tree;
        tree.branch_pages = moved(tree.branch_pages, before.branch_pages, after.branch_pages);
        tree.leaf_pages = moved(tree.leaf_pages, before.leaf_pages, after.leaf_pages);
    }

    /// Refuses what cannot be a key of this tree.
    pub(super) fn check_key(&self, key: &[u8]) -> Result<()> {
        check_key(self.pages, self.tree, key)
    }

    /// Refuses what cannot be a record of this tree.
    pub(super) fn check_record(&self, key: &[u8], value_bytes: usize) -> Result<()> {
        self.check_key(key)?;
        if value_bytes > MAX_VALUE_BYTES { Err(Error::ValueTooLong) } else { Ok(()) }
    }
}

/// Refuses keys of another length where native integers are the keys.
pub(super) fn check_native(tree: &Tree, key: &[u8]) -> Result<()> {
    match tree.order.key_bytes() {
        Some(bytes) if bytes != key.len() => Err(Error::KeyLength),
        _ => Ok(()),
    }
}

/// Refuses what cannot be a key of `tree`.
pub(super) fn check_key(pages: &Pages, tree: &Tree, key: &[u8]) -> Result<()> {
    check_native(tree, key)?;
    let max = page::key_bytes_max(pages.page_bytes());
    if key.len() > max {
        return Err(Error::KeyTooLong { bytes: key.len() as u32, max: max as u32 });
    }
    Ok(())
}

impl<O: KeyOrder> TreeMut<'_, O> {
    /// Leads the finger to the first item whose key is not below `key`; whether the key is there.
    #[inline]
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.finger.seek(TreeView::new(self.pages, self.tree, self.order), key)
    }

    /// Makes every page of the finger's path editable.
    #[inline]
    pub(super) fn touch(&mut self) -> Result<()> {
        self.finger.touch(self.pages, self.tree)
    }
}
