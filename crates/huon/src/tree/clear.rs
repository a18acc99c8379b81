//! Freeing what a tree holds: all its pages, or what one of its cells points to.

use std::collections::HashSet;

use crate::alloc::{TryGrow, inserted};
use crate::error::Result;
use crate::page::{PayloadKind, Ptr, Reason, RunRef, SlottedLeaf, Tree};
use crate::planted::{self, Bug};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::edit::TreeMut;
use crate::tree::read;
use crate::tree::values::KeyValues;

impl<O: Copy> TreeMut<'_, O> {
    /// Frees every page of the tree; it becomes an empty tree of the same kind.
    pub(crate) fn clear(&mut self) -> Result<()> {
        clear(self.pages, self.tree, &mut HashSet::new())
    }

    /// Frees what a cell that is about to go holds outside its leaf; how many values it has.
    /// `seen`: as for [`free_below`], of all cells that go with it.
    pub(super) fn release(
        &mut self,
        ptr: Ptr,
        index: usize,
        seen: &mut HashSet<u32>,
    ) -> Result<u64> {
        let cell = self.pages.leaf(ptr)?.cell(index).on(ptr)?;
        match cell.kind {
            PayloadKind::Run => {
                let run = read::run_ref(&cell)?;
                let overflow_pages = run.pages(self.pages.page_bytes());
                self.tree.overflow_pages = self.tree.overflow_pages.saturating_sub(overflow_pages);
                self.pages.free_run(&run)?;
            }
            PayloadKind::DuplicateSet | PayloadKind::DuplicateTree => {
                let held = KeyValues::of(self.tree, &cell).on(ptr)?;
                let count = held.count();
                if let KeyValues::Tree(mut values) = held
                    && !planted::is(Bug::ValuesTreeLeaked)
                {
                    let before = values;
                    clear(self.pages, &mut values, seen)?;
                    if planted::is(Bug::ValuesTreeRetiredTwice) {
                        clear(self.pages, &mut before.clone(), &mut HashSet::new())?;
                    }
                    self.count_values(&before, &values);
                }
                return Ok(count);
            }
            PayloadKind::Inline | PayloadKind::Table => {}
        }
        Ok(1)
    }
}

/// Frees every page of one of several trees that must not share pages.
fn clear(pages: &mut Pages, tree: &mut Tree, seen: &mut HashSet<u32>) -> Result<()> {
    if tree.depth > 0 {
        free_below(pages, tree, tree.root, tree.depth - 1, seen)?;
    }
    (tree.root, tree.depth, tree.entries) = (Ptr::NONE, 0, 0);
    (tree.branch_pages, tree.leaf_pages, tree.overflow_pages) = (0, 0, 0);
    Ok(())
}

/// Frees a subtree. Leaves need not be read where nothing lies outside them.
/// `seen`: the pages read so far. A damaged tree that names one twice would take for ever.
fn free_below(
    pages: &mut Pages,
    tree: &Tree,
    ptr: Ptr,
    level: u8,
    seen: &mut HashSet<u32>,
) -> Result<()> {
    let looks = tree.overflow_pages > 0 || tree.many.is_some();
    if (level > 0 || looks) && !inserted(seen, ptr.pgno.0)? {
        return Err(damaged(ptr, Reason::Cycle));
    }
    if level > 0 {
        let count = pages.branch(ptr, level)?.count();
        for index in 0..count {
            let child = pages.branch(ptr, level)?.child(index);
            free_below(pages, tree, child, level - 1, seen)?;
        }
    } else if looks {
        let (runs, trees) = outside(tree, &pages.leaf(ptr)?, ptr)?;
        runs.iter().try_for_each(|run| pages.free_run(run))?;
        for values in trees {
            free_below(pages, &values, values.root, values.depth - 1, seen)?;
        }
    }
    pages.free(ptr)
}

/// The large values and the trees of values that a leaf points to.
fn outside(tree: &Tree, leaf: &SlottedLeaf<'_>, ptr: Ptr) -> Result<(Vec<RunRef>, Vec<Tree>)> {
    let (mut runs, mut trees) = (Vec::new(), Vec::new());
    for cell in leaf.cells() {
        let cell = cell.on(ptr)?;
        match cell.kind {
            PayloadKind::Run => runs.try_push(read::run_ref(&cell)?)?,
            PayloadKind::DuplicateTree => {
                trees.try_push(tree.decode_values(cell.payload).on(ptr)?)?;
            }
            _ => {}
        }
    }
    Ok((runs, trees))
}
