//! The catalog: the main table holds a record for each named table.

use std::ops::Bound;

use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::page::{
    BytesOrder, Conflict, Labels, PayloadKind, Reason, Tree, fingerprint, key_bytes_max,
};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource};
use crate::tree::cursor::Span;
use crate::tree::edit::TreeMut;
use crate::tree::put::{NewValue, Put, PutMode};
use crate::tree::shrink::Whose;
use crate::tree::view::TreeView;

/// Main-table order: names compare as bytes.
pub(super) const NAMES: BytesOrder = BytesOrder;

/// The main table under edit.
pub(super) type Catalog<'m> = TreeMut<'m, BytesOrder>;

/// The record of a table. `None`: no such table. An ordinary record of that name is an error.
pub(crate) fn find<S: PageSource>(source: &S, main: &Tree, name: &[u8]) -> Result<Option<Tree>> {
    let Some(cell) = TreeView::new(source, main, NAMES).get(name)? else { return Ok(None) };
    if cell.kind != PayloadKind::Table {
        return Err(Error::NameTaken);
    }
    Tree::decode(cell.payload).map(Some).in_file()
}

/// The names of a table's comparators and types, which lie behind its record.
pub(crate) fn names_behind<'s, S: PageSource>(
    source: &'s S,
    main: &Tree,
    name: &[u8],
) -> Result<Labels<'s>> {
    Labels::decode(labels(source, main, name)?).in_file()
}

/// The same as bytes.
pub(crate) fn labels<'s, S: PageSource>(
    source: &'s S,
    main: &Tree,
    name: &[u8],
) -> Result<&'s [u8]> {
    let cell = TreeView::new(source, main, NAMES).get(name)?.ok_or(Error::TableNotFound)?;
    Tree::split(cell.payload).map(|(_, labels)| labels).in_file()
}

/// The types of keys and values, for an error.
fn types(labels: &Labels<'_>) -> String {
    let name = |name: Option<&str>| name.unwrap_or("bytes").to_owned();
    format!("<{}, {}>", name(labels.key_type), name(labels.value_type))
}

/// Fails if the table has a comparator or a type of another name than the caller's.
pub(crate) fn check_labels<S: PageSource>(
    source: &S,
    main: &Tree,
    name: &[u8],
    wanted: &Labels<'_>,
) -> Result<()> {
    let stored = names_behind(source, main, name)?;
    match wanted.conflict(&stored) {
        Some(Conflict::Order { wanted, stored }) => Err(Error::wrong_order(stored, wanted)),
        Some(Conflict::Types) => Err(Error::table_type(&types(&stored), &types(wanted))),
        None => Ok(()),
    }
}

/// The cell of a table is no larger than that of a longest key.
pub(crate) fn check_length(pages: &Pages, name: &[u8], labels: &[u8]) -> Result<()> {
    let (bytes, max) = (name.len() + labels.len(), key_bytes_max(pages.page_bytes()));
    if bytes <= max {
        return Ok(());
    }
    Err(Error::KeyTooLong { bytes: bytes as u32, max: max as u32 })
}

/// Adds a table, empty or whole, with the names of its comparators. The table's name must be free.
pub(crate) fn create(
    main: &mut Catalog<'_>,
    name: &[u8],
    mut tree: Tree,
    labels: &[u8],
) -> Result<Tree> {
    tree.changed = main.pages.txnid();
    tree.labels = fingerprint(labels);
    let mut record = tree.encode().to_vec();
    record.try_extend(labels.iter().copied())?;
    check_length(main.pages, name, labels)?;
    match main.put(name, NewValue::Table(&record), PutMode::InsertNew)? {
        Put::Inserted => Ok(tree),
        _ => Err(Error::TableExists),
    }
}

/// Writes a table's record back.
pub(crate) fn store(main: &mut Catalog<'_>, name: &[u8], tree: &Tree) -> Result<()> {
    let mut record = tree.encode().to_vec();
    if tree.labels != 0 {
        record.try_extend(labels(main.pages, main.tree, name)?.iter().copied())?;
    }
    match main.put(name, NewValue::Table(&record), PutMode::Update)? {
        Put::Overwritten => Ok(()),
        // T2: it was found when it was opened. In a catalog out of order other ways lead elsewhere.
        _ => Err(Error::corrupt(main.tree.root.pgno.0, Reason::Order.text())),
    }
}

/// Takes the record of a table out of the catalog.
pub(crate) fn remove(main: &mut Catalog<'_>, name: &[u8]) -> Result<bool> {
    main.delete(name, Whose::Engine)
}

/// The names of all tables, in order.
pub(crate) fn names<S: PageSource>(source: &S, main: &Tree) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut room = source.bytes_max();
    let (view, open) = (TreeView::new(source, main, NAMES), Bound::Unbounded);
    let mut span: Span<'_, S> = Span::new(view, open, open)?;
    while let Some(cell) = span.next()? {
        if cell.kind == PayloadKind::Table {
            // A hostile file shows the same bytes as many names.
            room = room
                .checked_sub(cell.key.len() as u64 + 1)
                .ok_or_else(|| Error::corrupt(main.root.pgno.0, Reason::Cell.text()))?;
            names.try_push(copied(cell.key)?)?;
        }
    }
    Ok(names)
}
