//! Deleting: touch the path, take records out of the leaf, carry empty and underfull pages upward.

use std::collections::HashSet;
use std::ops::{Bound, Range};

use crate::alloc::collected;
use crate::error::{Error, Result};
use crate::page::{self, KeyOrder, LeafItems, PayloadKind, Ptr, Reason, Tree};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::cursor::{Edge, is_reversed, place};
use crate::tree::edit::TreeMut;
use crate::tree::frames::Frame;
use crate::tree::path::Path;

/// Whose records a delete is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    /// The caller's: a table's record is not one of them.
    Caller,
    /// The engine's own: names of tables, values of a key.
    Engine,
}

impl<O: KeyOrder> TreeMut<'_, O> {
    /// Deletes `key`; whether it was there.
    pub(crate) fn delete(&mut self, key: &[u8], whose: Whose) -> Result<bool> {
        let mut path = Path::new();
        if !path.seek(self.view(), key)? {
            return Ok(false);
        }
        if whose == Whose::Caller && path.cell(self.pages)?.kind == PayloadKind::Table {
            return Err(Error::NameTaken);
        }
        self.delete_at(&mut path)?;
        Ok(true)
    }

    /// Deletes the record that the finger points to.
    pub(super) fn delete_here(&mut self) -> Result<()> {
        let mut path = self.finger.path().clone();
        self.delete_at(&mut path)
    }

    /// Deletes the record that the path stands on.
    fn delete_at(&mut self, path: &mut Path) -> Result<()> {
        path.touch(self.pages, self.tree)?;
        let index = path.last().index;
        self.remove_cells(path, index..index + 1, &mut HashSet::new())?;
        self.carry_shrinking(path)
    }

    /// Deletes the keys between two bounds; how many there were. Leaves that lie between them whole
    /// are only read: for their counts, and for what they hold elsewhere.
    pub(crate) fn delete_range(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<u64> {
        let before = self.tree.entries;
        let mut path = Path::new();
        // Each round empties a leaf or is the last.
        let mut leaves_left = self.pages.pages_max();
        let mut seen = HashSet::new();
        while !is_reversed(self.order, from, to) {
            place(self.view(), &mut path, from, Edge::Lower)?;
            if !path.on_item() {
                break;
            }
            let frame = *path.last();
            let leaf = self.view().leaf(frame.ptr)?;
            let until = match to {
                Bound::Unbounded => frame.count,
                Bound::Included(to) => match leaf.search(self.order, to).on(frame.ptr)? {
                    Ok(index) => index + 1,
                    Err(index) => index,
                },
                Bound::Excluded(to) => match leaf.search(self.order, to).on(frame.ptr)? {
                    Ok(index) | Err(index) => index,
                },
            };
            if until <= frame.index {
                break;
            }
            leaves_left = leaves_left.checked_sub(1).ok_or_else(|| self.false_count())?;
            if !self.delete_leaves(&mut path, to, &mut seen)? {
                path.touch(self.pages, self.tree)?;
                self.remove_cells(&mut path, frame.index..until, &mut seen)?;
            }
            self.carry_shrinking(&mut path)?;
            self.pages.spill()?;
        }
        Ok(before - self.tree.entries)
    }

    /// Takes the leaves from that of the path on that end below a bound out of the branch above
    /// them, where they need not be copied; whether there are any. The path ends at that branch
    /// then. It stands on a record that is to go, and if that is the first of its leaf, all are.
    fn delete_leaves(
        &mut self,
        path: &mut Path,
        to: Bound<&[u8]>,
        seen: &mut HashSet<u32>,
    ) -> Result<bool> {
        let [.., branch, leaf] = path.frames() else { return Ok(false) };
        let (ptr, first) = (branch.ptr, branch.index);
        let view = self.pages.branch(ptr, 1)?;
        let end = match to {
            Bound::Unbounded => view.count(),
            // The leaf that may have the bound itself is another matter.
            Bound::Included(to) | Bound::Excluded(to) => view.find(self.order, to).on(ptr)?,
        };
        if leaf.index > 0 || end <= first {
            return Ok(false);
        }
        let leaves = collected((first..end).map(|index| view.child(index)))?;
        path.rise();
        path.touch(self.pages, self.tree)?;
        for leaf in &leaves {
            self.release_leaf(*leaf, seen)?;
            self.pages.free(*leaf)?;
            count_page_gone(self.tree, 0);
        }
        self.check_editable(path)?;
        let frame = path.last_mut();
        frame.count -= leaves.len();
        // A branch that loses all children leaves the tree itself.
        if frame.count > 0 {
            self.branch(frame.ptr, |mut branch| {
                leaves.iter().try_for_each(|_| branch.remove(first))
            })?;
        }
        Ok(true)
    }

    /// Counts the records of a leaf as gone, and frees what they hold outside of it.
    fn release_leaf(&mut self, ptr: Ptr, seen: &mut HashSet<u32>) -> Result<()> {
        let count = self.pages.any_leaf(self.tree, ptr)?.count();
        let mut gone = count as u64;
        if self.tree.overflow_pages > 0 || self.tree.many.is_some() {
            gone = 0;
            for index in 0..count {
                let values = self.release(ptr, index, seen)?;
                gone = gone.checked_add(values).ok_or_else(|| self.false_count())?;
            }
        }
        self.count_gone(gone)
    }

    /// Removes these cells of the leaf of a touched path. `seen`: see [`TreeMut::release`].
    fn remove_cells(
        &mut self,
        path: &mut Path,
        cells: Range<usize>,
        seen: &mut HashSet<u32>,
    ) -> Result<()> {
        let (ptr, count) = (path.last().ptr, cells.len());
        let mut gone = 0u64;
        if self.tree.has_fixed_leaves() {
            gone = count as u64;
            self.fixed(ptr, |mut leaf| leaf.remove_range(cells))?;
        } else {
            for index in cells.clone() {
                let values = self.release(ptr, index, seen)?;
                gone = gone.checked_add(values).ok_or_else(|| self.false_count())?;
            }
            self.check_editable(path)?;
            self.leaf(ptr, |mut leaf| leaf.remove_range(cells))?;
        }
        path.last_mut().count -= count;
        self.count_gone(gone)
    }

    /// A damaged tree of values may have named pages of the path.
    fn check_editable(&self, path: &Path) -> Result<()> {
        match path.frames().iter().find(|frame| !self.pages.is_editable(frame.ptr)) {
            Some(frame) => Err(damaged(frame.ptr, Reason::Cycle)),
            None => Ok(()),
        }
    }

    fn count_gone(&mut self, records: u64) -> Result<()> {
        let left = self.tree.entries.checked_sub(records);
        self.tree.entries = left.ok_or_else(|| self.false_count())?;
        Ok(())
    }

    /// Carries empty and underfull pages upward from the leaf of a touched path, and takes a root
    /// away that has become needless. Neighbours are merged when they fit one page; nothing is ever
    /// shifted between them.
    fn carry_shrinking(&mut self, path: &mut Path) -> Result<()> {
        for at in (1..path.frames().len()).rev() {
            let frame = path.frames()[at];
            let level = path.level(at);
            let parent = path.frames()[at - 1];
            let gone = if frame.count == 0 {
                count_page_gone(self.tree, level);
                self.pages.free(frame.ptr)?;
                Some(parent.index)
            } else {
                self.merge_with_neighbour(parent, frame.ptr, level)?
            };
            let Some(gone) = gone else { break };
            // A branch that loses its only child is empty, and leaves the tree in the next round.
            if parent.count > 1 {
                self.branch(parent.ptr, |mut branch| branch.remove(gone))?;
            }
            path.frames_mut()[at - 1].count -= 1;
        }
        self.lower_root(path.frames()[0].count)
    }

    /// Takes the root away while it has one child, and the last leaf once it is empty.
    fn lower_root(&mut self, mut count: usize) -> Result<()> {
        let (pages, tree) = (&mut *self.pages, &mut *self.tree);
        if count == 0 {
            if tree.entries != 0 {
                return Err(self.false_count());
            }
            count_page_gone(tree, tree.depth - 1);
            pages.free(tree.root)?;
            (tree.root, tree.depth) = (Ptr::NONE, 0);
            return Ok(());
        }
        while tree.depth > 1 && count == 1 {
            let child = pages.branch(tree.root, tree.depth - 1)?.child(0);
            count_page_gone(tree, tree.depth - 1);
            pages.free(tree.root)?;
            (tree.root, tree.depth) = (child, tree.depth - 1);
            pages.counts.roots_lowered += 1;
            count = match tree.depth {
                1 => pages.any_leaf(tree, child)?.count(),
                depth => pages.branch(child, depth - 1)?.count(),
            };
        }
        Ok(())
    }

    /// Merges a sparsely filled page with the neighbour right of it, else left of it, under the
    /// same parent. The answer is the parent's slot that has lost its page.
    fn merge_with_neighbour(
        &mut self,
        parent: Frame,
        ptr: Ptr,
        level: u8,
    ) -> Result<Option<usize>> {
        // Less than two fifths full: merging leaves room for the next inserts.
        if live_bytes(self.pages, self.tree, ptr, level)? * 5 >= self.pages.page_bytes() * 2 {
            return Ok(None);
        }
        let pairs = [parent.index, parent.index.wrapping_sub(1)];
        for left in pairs.into_iter().filter(|&left| left < parent.count && left + 1 < parent.count)
        {
            if self.merge_pair(parent.ptr, left, level)? {
                count_page_gone(self.tree, level);
                return Ok(Some(left + 1));
            }
        }
        Ok(None)
    }

    /// Merges children `left` and `left + 1` of a touched branch into the left one if they fit one
    /// page.
    fn merge_pair(&mut self, parent: Ptr, left: usize, level: u8) -> Result<bool> {
        let (left_ptr, right_ptr, separator) = {
            let branch = self.pages.branch(parent, level + 1)?;
            let separator = branch.separator(left + 1).on(parent)?.whole(self.order)?;
            (branch.child(left), branch.child(left + 1), separator)
        };
        let live = live_bytes(self.pages, self.tree, left_ptr, level)?
            + live_bytes(self.pages, self.tree, right_ptr, level)?;
        if live > self.pages.page_bytes() - page::HEADER_BYTES {
            return Ok(false);
        }
        let fresh = self.pages.touch(left_ptr)?;
        self.branch(parent, |mut branch| {
            branch.set_child(left, fresh);
            Ok(())
        })?;
        let (page, other) = self.pages.edit_beside(fresh, right_ptr)?;
        let merged = match level {
            0 if self.tree.has_fixed_leaves() => {
                page::merge_fixed(page, &other, self.tree.fixed_bytes as usize)
            }
            0 => page::merge_leaf(self.order, page, &other),
            _ => page::merge_branch(self.order, page, &separator, &other),
        };
        self.pages.recycle(other);
        let merged = merged.on(fresh)?;
        if merged {
            self.pages.free(right_ptr)?;
            match level {
                0 => self.pages.counts.leaf_merges += 1,
                _ => self.pages.counts.branch_merges += 1,
            }
        }
        Ok(merged)
    }
}

fn live_bytes(pages: &Pages, tree: &Tree, ptr: Ptr, level: u8) -> Result<usize> {
    match level {
        0 => Ok(pages.any_leaf(tree, ptr)?.live_bytes()),
        _ => Ok(pages.branch(ptr, level)?.live_bytes()),
    }
}

fn count_page_gone(tree: &mut Tree, level: u8) {
    match level {
        0 => tree.leaf_pages = tree.leaf_pages.saturating_sub(1),
        _ => tree.branch_pages = tree.branch_pages.saturating_sub(1),
    }
}
