//! The catalog: the main table holds a record for each named table.

use std::ops::Bound;

use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::page::{BytesOrder, Labels, PayloadKind, Reason, Tree, fingerprint, key_bytes_max};
use crate::store::pages::Pages;
use crate::store::source::PageSource;
use crate::tree::cursor::Span;
use crate::tree::read;
use crate::tree::write::{self, NewValue, Put, PutMode};

/// Main-table order: names compare as bytes.
const NAMES: BytesOrder = BytesOrder;

/// The record of a table. `None`: no such table. An ordinary record of that name is an error.
pub(crate) fn find<S: PageSource>(source: &S, main: &Tree, name: &[u8]) -> Result<Option<Tree>> {
    let Some(cell) = read::get(source, main, NAMES, name)? else { return Ok(None) };
    if cell.kind != PayloadKind::Table {
        return Err(Error::NameTaken);
    }
    Tree::decode(cell.payload)
        .map(Some)
        .map_err(|reason: Reason| Error::corrupt_file(reason.text()))
}

/// The names of a table's comparators, which lie behind its record.
pub(crate) fn comparators<'s, S: PageSource>(
    source: &'s S,
    main: &Tree,
    name: &[u8],
) -> Result<Labels<'s>> {
    let stored = Labels::decode(labels(source, main, name)?);
    stored.map_err(|reason| Error::corrupt_file(reason.text()))
}

/// The same as bytes.
pub(crate) fn labels<'s, S: PageSource>(
    source: &'s S,
    main: &Tree,
    name: &[u8],
) -> Result<&'s [u8]> {
    let cell = read::get(source, main, NAMES, name)?.ok_or(Error::TableNotFound)?;
    match Tree::split(cell.payload) {
        Ok((_, labels)) => Ok(labels),
        Err(reason) => Err(Error::corrupt_file(reason.text())),
    }
}

/// Fails if the table is ordered by a comparator of another name than the caller's.
pub(crate) fn check_labels<S: PageSource>(
    source: &S,
    main: &Tree,
    name: &[u8],
    wanted: &Labels<'_>,
) -> Result<()> {
    match wanted.conflict(&comparators(source, main, name)?) {
        Some((wanted, stored)) => Err(Error::wrong_order(stored, wanted)),
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
    pages: &mut Pages,
    main: &mut Tree,
    name: &[u8],
    mut tree: Tree,
    labels: &[u8],
) -> Result<Tree> {
    tree.changed = pages.txnid();
    tree.labels = fingerprint(labels);
    let mut record = tree.encode().to_vec();
    record.try_extend(labels.iter().copied())?;
    check_length(pages, name, labels)?;
    match write::put(pages, main, NAMES, name, NewValue::Table(&record), PutMode::InsertNew)? {
        Put::Inserted => Ok(tree),
        _ => Err(Error::TableExists),
    }
}

/// Writes a table's record back.
pub(crate) fn store(pages: &mut Pages, main: &mut Tree, name: &[u8], tree: &Tree) -> Result<()> {
    let mut record = tree.encode().to_vec();
    if tree.labels != 0 {
        record.try_extend(labels(pages, main, name)?.iter().copied())?;
    }
    let put = write::put(pages, main, NAMES, name, NewValue::Table(&record), PutMode::Update)?;
    match put {
        Put::Overwritten => Ok(()),
        // T2: it was found when it was opened. In a catalog out of order other ways lead elsewhere.
        _ => Err(Error::corrupt(main.root.pgno.0, Reason::Order.text())),
    }
}

/// Takes the record of a table out of the catalog.
pub(crate) fn remove(pages: &mut Pages, main: &mut Tree, name: &[u8]) -> Result<bool> {
    write::delete(pages, main, NAMES, name, write::Whose::Engine)
}

/// The names of all tables, in order.
pub(crate) fn names<S: PageSource>(source: &S, main: &Tree) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut room = source.bytes_max();
    let mut span: Span<'_, S, _> =
        Span::new(source, main, NAMES, Bound::Unbounded, Bound::Unbounded)?;
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
