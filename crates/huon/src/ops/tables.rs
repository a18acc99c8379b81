//! The tables of a snapshot, from its catalog, and their records.

use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::page::{Cell, PayloadKind, Ptr, Reason, RunRef, Tree, Txnid, first_data_page};
use crate::store::source::{OnPage, damaged};
use crate::store::verified::Verified;
use crate::tree::read;
use crate::tree::values::KeyValues;
use crate::tree::view::TreeView;
use crate::tree::walk::{Spot, Visit, Visitor};

/// A named table: its name, its record, and the birth of the leaf that holds the record.
pub(crate) type NamedTable = (Vec<u8>, Tree, Txnid);

/// Calls `each` for every record of a tree, in its order, and stops at the first damage.
///
/// `visited` holds the pages visited so far, large values included: none may be visited again, in
/// this tree or another, so a hostile file cannot lead to the same pages for ever.
pub(crate) fn each_record<'s>(
    source: &'s Verified<'s>,
    tree: &Tree,
    visited: &mut Bitmap,
    each: &mut EachRecord<'_, 's>,
) -> Result<()> {
    let first = first_data_page(source.store.page_bytes);
    let page_bytes = source.store.page_bytes;
    let mut visitor = Each { page_bytes, first, visited, each };
    TreeView::unordered(source, tree).walk(Txnid(u64::MAX), &mut visitor)
}

/// What is done with each record. It walks on, with `visited`, where the record is the root of a
/// tree of values: see [`each_value`].
pub(crate) type EachRecord<'f, 's> = dyn FnMut(Cell<'s>, &mut Bitmap) -> Result<()> + 'f;

struct Each<'f, 'e, 's> {
    page_bytes: usize,
    first: u32,
    visited: &'f mut Bitmap,
    each: &'f mut EachRecord<'e, 's>,
}

/// Calls `each` for every value that the cell of a key of the multimap `tree` holds.
pub(crate) fn each_value<'s>(
    source: &'s Verified<'s>,
    tree: &Tree,
    cell: &Cell<'s>,
    visited: &mut Bitmap,
    each: &mut dyn FnMut(&'s [u8]) -> Result<()>,
) -> Result<()> {
    match KeyValues::of(tree, cell).on(tree.root)? {
        KeyValues::Few(set) => {
            let mut items = set.items();
            while let Some(value) = items.next() {
                each(value)?;
            }
            Ok(())
        }
        KeyValues::Tree(values) => {
            let first = first_data_page(source.store.page_bytes);
            let mut visitor = EachValue { first, visited, each };
            TreeView::unordered(source, &values).walk(Txnid(u64::MAX), &mut visitor)
        }
    }
}

struct EachValue<'f, 's> {
    first: u32,
    visited: &'f mut Bitmap,
    each: &'f mut dyn FnMut(&'s [u8]) -> Result<()>,
}

/// Notes a page, which must lie in the file and not have been visited before.
fn enter_once(visited: &mut Bitmap, first: u32, spot: &Spot<'_>) -> Result<bool> {
    let pgno = spot.ptr.pgno.0;
    if pgno < first || pgno >= visited.limit() {
        return Err(damaged(spot.ptr, Reason::OutOfRange));
    }
    if visited.put(pgno) { Err(damaged(spot.ptr, Reason::Cycle)) } else { Ok(true) }
}

impl<'s> Visitor<'s> for EachValue<'_, 's> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        enter_once(self.visited, self.first, spot)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'s [u8], page: Visit<'s>) -> Result<()> {
        page.values().try_for_each(|value| (self.each)(value.on(spot.ptr)?))
    }

    fn trouble(&mut self, _: &Spot<'_>, error: Error) -> Result<()> {
        Err(error)
    }
}

impl Each<'_, '_, '_> {
    /// The pages of a large value are its own.
    fn run(&mut self, run: &RunRef) -> Result<()> {
        let ptr = Ptr { pgno: run.pgno, birth: run.birth };
        let end = run.pgno.0.checked_add(run.pages(self.page_bytes));
        match end.filter(|&end| run.pgno.0 >= self.first && end <= self.visited.limit()) {
            None => Err(damaged(ptr, Reason::OutOfRange)),
            Some(end) if (run.pgno.0..end).any(|pgno| self.visited.put(pgno)) => {
                Err(damaged(ptr, Reason::Cycle))
            }
            Some(_) => Ok(()),
        }
    }
}

impl<'s> Visitor<'s> for Each<'_, '_, 's> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        enter_once(self.visited, self.first, spot)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'s [u8], page: Visit<'s>) -> Result<()> {
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        for cell in leaf.cells() {
            let cell = cell.on(spot.ptr)?;
            if cell.kind == PayloadKind::Run {
                self.run(&read::run_ref(&cell)?)?;
            }
            (self.each)(cell, self.visited)?;
        }
        Ok(())
    }

    fn trouble(&mut self, _: &Spot<'_>, error: Error) -> Result<()> {
        Err(error)
    }
}

/// An empty set of the pages that a source can have.
pub(crate) fn no_pages(source: &Verified<'_>) -> Result<Bitmap> {
    Ok(Bitmap::new(source.used.min(source.store.measure()?))?)
}

/// Name and record of every named table, in the order of their names.
pub(crate) fn named(source: &Verified<'_>, main: &Tree) -> Result<Vec<(Vec<u8>, Tree)>> {
    let mut tables = Vec::new();
    each_record(source, main, &mut no_pages(source)?, &mut |cell, _| {
        if cell.kind == PayloadKind::Table {
            let tree = Tree::decode(cell.payload).in_file()?;
            tables.try_push((copied(cell.key)?, tree))?;
        }
        Ok(())
    })?;
    Ok(tables)
}
