//! Building a packed tree bottom-up from input in key order.
//!
//! Pages are filled completely and left behind; only the right edge is kept in memory. Compaction,
//! `load` and conversions use it.

use crate::alloc::{Reserved, TryGrow, copied};
use crate::error::{Error, Result};
use crate::page::{
    self, AnyLeaf, BranchMut, FixedMut, KeyOrder, LeafFill, LeafItems, LeafMut, MAX_DEPTH,
    PayloadKind, Ptr, Reason, Tree,
};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::edit::check_key;

/// A tree under construction.
pub(crate) struct Builder<O> {
    order: O,
    tree: Tree,
    /// The page being filled on each level, leaf first.
    edge: Vec<Ptr>,
    /// What the leaf is to hold, unless all its keys have one length: the page itself is empty, or
    /// what it was, until it is finished.
    leaf: LeafFill,
    last_key: Vec<u8>,
}

impl<O: KeyOrder> Builder<O> {
    /// Starts from an empty tree, whose kind and flags the new one keeps.
    pub(crate) fn new(empty: Tree, order: O) -> Builder<O> {
        assert_eq!(empty.depth, 0, "a tree is built from nothing");
        let leaf = LeafFill::default();
        Builder { order, tree: empty, edge: Vec::new(), leaf, last_key: Vec::new() }
    }

    /// Goes on behind the records of a tree, whose right edge is edited for it: that tree is gone.
    pub(crate) fn behind(tree: Tree, order: O, pages: &mut Pages) -> Result<Builder<O>> {
        let (edge, last_key) = (Vec::new(), Vec::new());
        let mut builder = Builder { order, tree, edge, leaf: LeafFill::default(), last_key };
        if tree.depth == 0 {
            return Ok(builder);
        }
        let mut ptr = tree.root;
        for level in (1..tree.depth).rev() {
            builder.edge.try_push(ptr)?;
            let branch = pages.branch(ptr, level)?;
            ptr = branch.child(branch.count() - 1);
        }
        builder.edge.try_push(ptr)?;
        builder.edge.reverse();
        let leaf = pages.any_leaf(&tree, ptr)?;
        let last = leaf.count().checked_sub(1).ok_or_else(|| damaged(ptr, Reason::Count))?;
        builder.last_key.try_set(leaf.key(last).on(ptr)?)?;
        if let AnyLeaf::Slotted(leaf) = leaf {
            builder.leaf.begin(pages.page_bytes())?;
            for i in 0..leaf.count() {
                let cell = leaf.cell(i).on(ptr)?;
                if !builder.leaf.push(cell.key, cell.kind, cell.payload)? {
                    return Err(damaged(ptr, Reason::Cell));
                }
            }
        }
        builder.touch_edge(pages, 0)?;
        Ok(builder)
    }

    /// Adds the next record; its key must be above the last one.
    pub(crate) fn push(&mut self, pages: &mut Pages, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(pages, key)?;
        if page::fits_inline(pages.page_bytes(), key.len(), value.len()) {
            self.push_cell(pages, key, PayloadKind::Inline, value)?;
        } else {
            if value.len() > page::MAX_VALUE_BYTES {
                return Err(Error::ValueTooLong);
            }
            let run = pages.write_run(value)?;
            self.tree.overflow_pages += run.pages(pages.page_bytes());
            self.push_cell(pages, key, PayloadKind::Run, &run.encode())?;
        }
        self.last_key.try_set(key)?;
        self.tree.entries += 1;
        Ok(())
    }

    /// Adds the next key of a multimap with all its `count` values, as a cell holds them. The pages
    /// of a tree of values are counted by the caller: see [`Builder::count_values`].
    pub(crate) fn push_values(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
        count: u64,
    ) -> Result<()> {
        self.check(pages, key)?;
        // Building a tree of values in between may have spilled.
        self.go_on(pages)?;
        self.push_cell(pages, key, kind, payload)?;
        self.last_key.try_set(key)?;
        self.tree.entries += count;
        Ok(())
    }

    /// Counts the pages of a tree of values with the table's.
    pub(crate) fn count_values(&mut self, values: &Tree) {
        self.tree.branch_pages += values.branch_pages;
        self.tree.leaf_pages += values.leaf_pages;
    }

    /// The pages may have been settled since the last record was added: what is spilled is edited
    /// again.
    pub(crate) fn go_on(&mut self, pages: &mut Pages) -> Result<()> {
        if !self.edge.is_empty() {
            self.touch_edge(pages, 0)?;
        }
        Ok(())
    }

    fn check(&self, pages: &Pages, key: &[u8]) -> Result<()> {
        check_key(pages, &self.tree, key)?;
        if self.tree.entries > 0 && self.order.compare(key, &self.last_key).is_le() {
            return Err(Error::KeyOutOfOrder);
        }
        Ok(())
    }

    fn push_cell(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<()> {
        if self.edge.is_empty() {
            let leaf = self.new_leaf(pages)?;
            self.edge.push(leaf);
            (self.tree.root, self.tree.depth) = (leaf, 1);
        }
        if self.append(pages, key, kind, payload)? {
            return Ok(());
        }
        let separator = self.separator(key)?;
        let leaf = self.new_leaf(pages)?;
        self.edge[0] = leaf;
        let fits = self.append(pages, key, kind, payload)?;
        assert!(fits, "a page holds any single cell");
        self.link(pages, 1, &separator, leaf)
    }

    /// The shortest key that divides the last record from the next one.
    fn separator(&self, key: &[u8]) -> Reserved<Vec<u8>> {
        copied(self.order.separator(&self.last_key, key))
    }

    fn new_leaf(&mut self, pages: &mut Pages) -> Result<Ptr> {
        if let Some(full) = self.edge.first().copied() {
            self.write_leaf(pages);
            pages.note_finished(full)?;
        }
        // Nothing is held between two pages but numbers: a page that was spilled is touched again.
        pages.spill()?;
        let leaf = pages.allocate()?;
        if self.tree.has_fixed_leaves() {
            FixedMut::init(pages.edit(leaf), leaf, self.tree.fixed_bytes as usize);
        } else {
            LeafMut::init(pages.edit(leaf), leaf);
            self.leaf.begin(pages.page_bytes())?;
        }
        self.tree.leaf_pages += 1;
        Ok(leaf)
    }

    /// Brings what the leaf is to hold to its page, which is editable.
    fn write_leaf(&self, pages: &mut Pages) {
        if let Some(leaf) = self.edge.first()
            && !self.tree.has_fixed_leaves()
        {
            self.leaf.write(self.order, pages.edit(*leaf));
        }
    }

    fn append(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<bool> {
        if !self.tree.has_fixed_leaves() {
            return Ok(self.leaf.push(key, kind, payload)?);
        }
        let leaf = self.edge[0];
        let page = pages.edit(leaf);
        let at = page::header::count(page);
        let fits = FixedMut::view(page, self.tree.fixed_bytes as usize);
        fits.map(|mut leaf| leaf.insert(at, key)).on(leaf)
    }

    /// Links a new page of `level - 1` at the right edge of `level`.
    fn link(
        &mut self,
        pages: &mut Pages,
        level: usize,
        separator: &[u8],
        child: Ptr,
    ) -> Result<()> {
        if level == self.edge.len() {
            return self.grow(pages, level, separator, child);
        }
        let branch = self.touch_edge(pages, level)?;
        let at = pages.branch(branch, level as u8)?.count();
        let fits = BranchMut::view(pages.edit(branch))
            .and_then(|mut page| page.insert(self.order, at, separator, child))
            .on(branch)?;
        if fits {
            return Ok(());
        }
        let fresh = pages.allocate()?;
        BranchMut::init(pages.edit(fresh), fresh, level as u8, child);
        self.tree.branch_pages += 1;
        pages.note_finished(branch)?;
        self.edge[level] = fresh;
        self.link(pages, level + 1, separator, fresh)
    }

    fn grow(
        &mut self,
        pages: &mut Pages,
        level: usize,
        separator: &[u8],
        child: Ptr,
    ) -> Result<()> {
        if level == usize::from(MAX_DEPTH) {
            return Err(Error::corrupt(child.pgno.0, Reason::Depth.text()));
        }
        let root = pages.allocate()?;
        let first = self.tree.root;
        BranchMut::init(pages.edit(root), root, level as u8, first);
        self.tree.branch_pages += 1;
        self.edge.push(root);
        (self.tree.root, self.tree.depth) = (root, level as u8 + 1);
        self.link(pages, level, separator, child)
    }

    /// Makes the edge from the root down to `level` editable again after a spill.
    fn touch_edge(&mut self, pages: &mut Pages, level: usize) -> Result<Ptr> {
        for at in (level..self.edge.len()).rev() {
            let fresh = pages.touch(self.edge[at])?;
            if fresh == self.edge[at] {
                continue;
            }
            match self.edge.get(at + 1).copied() {
                None => self.tree.root = fresh,
                Some(parent) => {
                    let last = pages.branch(parent, at as u8 + 1)?.count() - 1;
                    BranchMut::view(pages.edit(parent)).on(parent)?.set_child(last, fresh);
                }
            }
            self.edge[at] = fresh;
        }
        Ok(self.edge[level])
    }

    /// The finished tree. As for [`Builder::go_on`], the pages may have been settled.
    pub(crate) fn finish(mut self, pages: &mut Pages) -> Result<Tree> {
        self.go_on(pages)?;
        self.write_leaf(pages);
        Ok(self.tree)
    }
}
