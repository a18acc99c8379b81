//! The tables of a snapshot, from its catalog.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::ops::pinned::Verified;
use crate::page::{AnyOrder, BytesOrder, Cell, PayloadKind, Tree, leaf_cell_bytes};
use crate::tree::cursor::Span;

/// Any order will do to walk from end to end.
pub(crate) const ANY: AnyOrder<'static> = AnyOrder::Bytes(BytesOrder);

/// The smallest record takes so many bytes.
const CELL_BYTES_MIN: u64 = leaf_cell_bytes(0, 0) as u64;

/// All records of a tree, in its order.
pub(crate) struct Records<'s> {
    span: Span<'s, Verified<'s>, AnyOrder<'static>>,
    /// How many may still come: a hostile tree may lead to the same pages again and again.
    left: u64,
}

impl<'s> Records<'s> {
    pub(crate) fn of(source: &'s Verified<'s>, tree: &Tree) -> Result<Records<'s>> {
        let span = Span::new(source, tree, ANY, Bound::Unbounded, Bound::Unbounded)?;
        let file_bytes = u64::from(source.used) * source.store.page_bytes as u64;
        Ok(Records { span, left: tree.entries.min(file_bytes / CELL_BYTES_MIN) })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Cell<'s>>> {
        let Some(cell) = self.span.next()? else { return Ok(None) };
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return Err(Error::corrupt_file("a table has more records than it says")),
        }
        Ok(Some(cell))
    }
}

/// Name and record of every named table, in the order of their names.
pub(crate) fn named(source: &Verified<'_>, main: &Tree) -> Result<Vec<(Vec<u8>, Tree)>> {
    let mut tables = Vec::new();
    let mut records = Records::of(source, main)?;
    while let Some(cell) = records.next()? {
        if cell.kind == PayloadKind::Table {
            let tree =
                Tree::decode(cell.payload).map_err(|reason| Error::corrupt_file(reason.text()))?;
            tables.push((cell.key.to_vec(), tree));
        }
    }
    Ok(tables)
}
