//! The tables of a snapshot, from its catalog.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::page::{AnyOrder, BytesOrder, PayloadKind, Tree};
use crate::store::source::PageSource;
use crate::tree::cursor::Span;

/// Any order will do to walk from end to end.
pub(crate) const ANY: AnyOrder<'static> = AnyOrder::Bytes(BytesOrder);

/// All records of a tree, in its order.
pub(crate) fn records<'s, S: PageSource>(
    source: &'s S,
    tree: &Tree,
) -> Result<Span<'s, S, AnyOrder<'static>>> {
    Span::new(source, tree, ANY, Bound::Unbounded, Bound::Unbounded)
}

/// Name and record of every named table, in the order of their names.
pub(crate) fn named<S: PageSource>(source: &S, main: &Tree) -> Result<Vec<(Vec<u8>, Tree)>> {
    let mut tables = Vec::new();
    let mut span = records(source, main)?;
    while let Some(cell) = span.next()? {
        if cell.kind == PayloadKind::Table {
            let tree =
                Tree::decode(cell.payload).map_err(|reason| Error::corrupt_file(reason.text()))?;
            tables.push((cell.key.to_vec(), tree));
        }
    }
    Ok(tables)
}
