//! A tree to be read.

use crate::error::Result;
use crate::page::{AnyLeaf, BytesOrder, Ptr, Tree};
use crate::store::source::PageSource;

/// A tree to be read: its record, where its pages come from, and how its keys compare.
///
/// All reading of a tree is a method of this, wherever it is written down: `get` in `read`, `range`
/// in `cursor`, `walk`, `estimate`. A place in one is a [`Path`](crate::tree::path::Path).
pub(crate) struct TreeView<'s, 't, S: ?Sized, O> {
    pub(crate) source: &'s S,
    pub(crate) tree: &'t Tree,
    pub(crate) order: O,
}

impl<S: ?Sized, O: Copy> Clone for TreeView<'_, '_, S, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized, O: Copy> Copy for TreeView<'_, '_, S, O> {}

impl<'s, 't, S: ?Sized> TreeView<'s, 't, S, BytesOrder> {
    /// A tree of which no key is compared: any order will do.
    #[inline(always)]
    pub(crate) fn unordered(source: &'s S, tree: &'t Tree) -> TreeView<'s, 't, S, BytesOrder> {
        TreeView::new(source, tree, BytesOrder)
    }
}

impl<'s, 't, S: ?Sized, O> TreeView<'s, 't, S, O> {
    #[inline(always)]
    pub(crate) fn new(source: &'s S, tree: &'t Tree, order: O) -> TreeView<'s, 't, S, O> {
        TreeView { source, tree, order }
    }

    /// The same tree in another order.
    #[inline(always)]
    pub(crate) fn ordered_by<P>(&self, order: P) -> TreeView<'s, 't, S, P> {
        TreeView::new(self.source, self.tree, order)
    }
}

impl<'s, S: PageSource + ?Sized, O> TreeView<'s, '_, S, O> {
    /// The leaf that `ptr` names, of the kind that the tree's leaves have.
    #[inline(always)]
    pub(crate) fn leaf(&self, ptr: Ptr) -> Result<AnyLeaf<'s>> {
        self.source.any_leaf(self.tree, ptr)
    }
}
