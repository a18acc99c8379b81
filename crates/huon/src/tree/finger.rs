//! Where the last put of a transaction was made: puts in key order need not search from the root
//! each time. (Fingers into search trees: Guibas, McCreight, Plass and Roberts, 1977.)

use crate::error::Result;
use crate::page::{KeyOrder, Ptr, Tree};
use crate::store::pages::Pages;
use crate::tree::path::Path;
use crate::tree::view::TreeView;

/// The path of the last put.
pub(crate) struct Finger {
    path: Path,
    /// [`Pages::shape`] after that put: as long as it is the same, every page of the path is where
    /// it was, and may be edited. 0 for none.
    shape: u64,
    root: Ptr,
    depth: u8,
    /// [`Path::on_right_edge`] then, which is as true as long.
    ends_tree: bool,
    /// The last two puts went to one leaf; else it is not worth looking there for the next one.
    warm: bool,
    /// The same for trees of values, where the tree is one of keys that have many.
    values: Option<Box<Finger>>,
}

impl Finger {
    pub(crate) fn new() -> Finger {
        Finger {
            path: Path::new(),
            shape: 0,
            root: Ptr::NONE,
            depth: 0,
            ends_tree: false,
            warm: false,
            values: None,
        }
    }

    /// Goes to the first item whose key is not below `key`; whether the key is there.
    pub(crate) fn seek<O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, Pages, O>,
        key: &[u8],
    ) -> Result<bool> {
        let leaf = self.path.frames().last().map(|frame| frame.ptr);
        if self.warm
            && self.is_touched(view.source, view.tree)
            && let Some(found) = self.path.seek_in_leaf(view, key, self.ends_tree)?
        {
            return Ok(found);
        }
        self.shape = 0;
        let found = self.path.seek(view, key)?;
        self.warm = leaf.is_some() && leaf == self.path.frames().last().map(|frame| frame.ptr);
        Ok(found)
    }

    /// Whether it is on `key`, as it is where a value of the same key was put last.
    pub(crate) fn is_on<O>(
        &mut self,
        view: TreeView<'_, '_, Pages, O>,
        key: &[u8],
    ) -> Result<bool> {
        let is_near = self.warm && self.is_touched(view.source, view.tree);
        Ok(is_near && self.path.is_on(view.source, key)?)
    }

    /// Whether it points behind all records.
    pub(crate) fn is_at_end(&self) -> bool {
        // Before a put the path is the last one's, or has been led elsewhere.
        let ends_tree = || if self.shape == 0 { self.path.on_right_edge() } else { self.ends_tree };
        self.path.is_nowhere() || !self.path.on_item() && ends_tree()
    }

    /// The leaf of the last put, if the tree ends with it, and it is worth looking there for the
    /// next one. It may be edited.
    #[inline]
    pub(crate) fn last_leaf(&self, pages: &Pages, tree: &Tree) -> Option<Ptr> {
        let leads_there = self.warm && self.ends_tree && self.is_touched(pages, tree);
        self.path.frames().last().filter(|_| leads_there).map(|frame| frame.ptr)
    }

    /// The last put was made in its leaf, as the record of this slot.
    #[inline]
    pub(crate) fn note_push(&mut self, index: usize) {
        self.path.last_mut().index = index;
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The finger for trees of values.
    pub(crate) fn of_values(&mut self) -> &mut Finger {
        self.values.get_or_insert_with(|| Box::new(Finger::new()))
    }

    /// The path, which will lead elsewhere: the finger is forgotten unless [`Finger::keep`] sets it
    /// again.
    pub(crate) fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Makes every page of the path editable.
    pub(crate) fn touch(&mut self, pages: &mut Pages, tree: &mut Tree) -> Result<()> {
        if self.is_touched(pages, tree) { Ok(()) } else { self.path.touch(pages, tree) }
    }

    #[inline]
    fn is_touched(&self, pages: &Pages, tree: &Tree) -> bool {
        self.shape == pages.shape() && (self.root, self.depth) == (tree.root, tree.depth)
    }

    /// The put has ended well where the path stands.
    pub(crate) fn keep(&mut self, pages: &Pages, tree: &Tree) {
        if self.shape != pages.shape() {
            self.shape = pages.shape();
            self.ends_tree = self.path.on_right_edge();
        }
        (self.root, self.depth) = (tree.root, tree.depth);
    }
}
