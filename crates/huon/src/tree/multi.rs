//! Changing a multimap: pairs of a key and a value.
//!
//! V2. The values of a key lie in its cell as long as the cell takes no more than half a page, or
//!     they take no more bytes than the record of a tree; else in a tree of their own. They come
//!     back into the cell when they fill less than half of it: not at the border, where a value
//!     that comes and goes would move all of them.
//! V3. `entries` counts pairs. The pages of a tree of values are counted with the table's.
//!     A damaged record may name pages of the path to its own cell: a path is looked at again
//!     when the values have changed.
//! V4. Where all values have one length, the record of the table knows it from the first value on.

use crate::alloc::{Reserved, TryGrow, copied};
use crate::error::{Error, Result};
use crate::page::{self, AnyOrder, PayloadKind, Reason, TREE_BYTES, Tree, ValueSet, write_values};
use crate::planted;
use crate::store::pages::Pages;
use crate::store::source::{PageSource, damaged};
use crate::tree::build::Builder;
use crate::tree::cursor::Span;
use crate::tree::finger::Finger;
use crate::tree::path::Path;
use crate::tree::values::{Held, Orders, find, holds};
use crate::tree::write::{self, NewCell, NewValue, Put, PutMode, Whose, on};
use std::ops::Bound;

/// What to do about a key that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PairMode {
    /// Add the value to the others.
    Insert,
    /// Leave it alone.
    NewKey,
    /// The pair must be above all others, or it is an error.
    Append,
}

/// A pair on its way into a table.
#[derive(Clone, Copy)]
pub(crate) struct NewPair<'p> {
    pub(crate) key: &'p [u8],
    pub(crate) value: &'p [u8],
}

/// Adds a value to those of a key; whether it was not there.
pub(crate) fn put(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    pair: NewPair<'_>,
    mode: PairMode,
    finger: &mut Finger,
) -> Result<bool> {
    check_pair(pages, tree, pair)?;
    let found = finger.seek(pages, tree, orders.keys, pair.key)?;
    if mode == PairMode::Append && !is_last(finger.path(), found) {
        return Err(Error::KeyOutOfOrder);
    }
    if found && mode == PairMode::NewKey {
        return Ok(false);
    }
    let mut payload = Vec::new();
    let held = if found { Some(held_at(pages, tree, finger.path())?) } else { None };
    let added = match held {
        Some(Held::Tree(values)) => {
            grow_tree(pages, tree, orders, values, pair.value, mode, &mut payload)?
        }
        Some(Held::Few(set)) => {
            add_to_few(pages, tree, orders, Some(set), pair, mode, &mut payload)?
        }
        None => add_to_few(pages, tree, orders, None, pair, mode, &mut payload)?,
    };
    if tree.many.is_some_and(|many| many.equal) {
        tree.fixed_bytes = pair.value.len() as u32;
    }
    let kind = match added {
        Added::Nothing => return Ok(false),
        Added::Cell(PayloadKind::DuplicateTree) => {
            check_path(pages, finger.path(), pair.key)?;
            PayloadKind::DuplicateTree
        }
        Added::Cell(kind) => kind,
        Added::TooMany(all) => plant_tree(pages, tree, orders, &all, &mut payload)?,
    };
    tree.entries = tree.entries.checked_add(1).ok_or_else(|| write::false_count(tree))?;
    let cell = NewCell { key: pair.key, kind, payload: &payload };
    write::prepare(pages, tree, orders.keys, pair.key, finger)?;
    write::store_cell(pages, tree, orders.keys, &cell, found, finger)?;
    Ok(true)
}

/// What a new value makes of the cell of its key.
enum Added {
    /// The value is there already.
    Nothing,
    /// The payload was written.
    Cell(PayloadKind),
    /// These values do not fit a cell.
    TooMany(Flat),
}

/// Refuses what cannot be a pair of this table.
fn check_pair(pages: &Pages, tree: &Tree, pair: NewPair<'_>) -> Result<()> {
    write::check_lengths(pages, pair.key, &[])?;
    let many = tree.many.ok_or(Error::TableKind)?;
    let (bytes, max) = (pair.value.len(), page::key_bytes_max(pages.page_bytes()));
    if bytes > max {
        return Err(Error::SortedValueTooLong {
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            max: max as u32,
        });
    }
    let fits = match tree.fixed_bytes as usize {
        0 => !many.equal || bytes != 0,
        fixed_bytes => bytes == fixed_bytes,
    };
    let fits = fits && many.order.key_bytes().is_none_or(|fixed_bytes| fixed_bytes == bytes);
    if fits { Ok(()) } else { Err(Error::ValueLength) }
}

/// Whether the path stands where a pair above all others goes.
fn is_last(path: &Path, found: bool) -> bool {
    if found {
        path.on_right_edge() && path.last().index + 1 == path.last().count
    } else {
        write::at_end(path)
    }
}

/// Whether a path to `key` still leads there after a change of its tree of values. In a damaged
/// file that tree may share pages with the path.
fn check_path(pages: &Pages, path: &Path, key: &[u8]) -> Result<()> {
    let frames = path.frames();
    for (at, frame) in frames.iter().enumerate() {
        let stands = match frames.get(at + 1) {
            Some(below) => {
                let branch = pages.branch(frame.ptr, path.level(at))?;
                branch.count() == frame.count && branch.child(frame.index) == below.ptr
            }
            None => {
                let leaf = pages.leaf(frame.ptr)?;
                leaf.count() == frame.count && on(frame.ptr, leaf.key(frame.index))? == key
            }
        };
        if !stands {
            return Err(damaged(frame.ptr, Reason::Cycle));
        }
    }
    Ok(())
}

/// What the cell holds that a path stands on.
fn held_at<'p>(pages: &'p Pages, tree: &Tree, path: &Path) -> Result<Held<'p>> {
    on(path.last().ptr, Held::of(tree, &write::cell_at(pages, path)?))
}

/// Adds a value to a tree of values, and writes its record.
fn grow_tree(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    mut values: Tree,
    value: &[u8],
    mode: PairMode,
    record: &mut Vec<u8>,
) -> Result<Added> {
    let before = values;
    let mode = match mode {
        PairMode::Append => PutMode::Append,
        PairMode::Insert | PairMode::NewKey => PutMode::InsertNew,
    };
    let none = NewValue::Bytes(&[]);
    if write::put(pages, &mut values, orders.values, value, none, mode)? != Put::Inserted {
        return Ok(Added::Nothing);
    }
    values.changed = pages.txnid();
    write::count_value_pages(tree, &before, &values);
    record.try_set(&values.encode())?;
    Ok(Added::Cell(PayloadKind::DuplicateTree))
}

/// Adds a value to the few that lie in a cell, and writes what the cell holds then.
fn add_to_few(
    pages: &Pages,
    tree: &Tree,
    orders: Orders<'_>,
    set: Option<ValueSet<'_>>,
    pair: NewPair<'_>,
    mode: PairMode,
    payload: &mut Vec<u8>,
) -> Result<Added> {
    let count = set.map_or(0, |set| set.count());
    let at = match set.map_or(Err(0), |set| set.search(orders.values, pair.value)) {
        Err(at) if mode != PairMode::Append || at == count => at,
        Ok(_) if mode != PairMode::Append => return Ok(Added::Nothing),
        _ => return Err(Error::KeyOutOfOrder),
    };
    let value_at = |i: usize| match (set, i == at) {
        (Some(set), false) => set.value(if i < at { i } else { i - 1 }),
        _ => pair.value,
    };
    let all = (0..=count).map(value_at);
    let fixed_bytes = if tree.many.is_some_and(|many| many.equal) { pair.value.len() } else { 0 };
    let max = cell_bytes_max(pages, pair.key);
    let few = write_values(payload, all.clone(), fixed_bytes, max);
    match few.map_err(|reason| damaged(tree.root, reason))? {
        Some(kind) => Ok(Added::Cell(kind)),
        None => Ok(Added::TooMany(Flat::of(all)?)),
    }
}

/// Values that were copied: their bytes, and where each ends.
struct Flat {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Flat {
    fn of<'v>(values: impl Iterator<Item = &'v [u8]>) -> Reserved<Flat> {
        let mut flat = Flat { bytes: Vec::new(), ends: Vec::new() };
        for value in values {
            flat.bytes.try_extend(value.iter().copied())?;
            flat.ends.try_push(flat.bytes.len())?;
        }
        Ok(flat)
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        (0..self.ends.len()).map(move |i| &self.bytes[start(i)..self.ends[i]])
    }
}

/// Gives values a tree of their own, and writes its record.
fn plant_tree(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    all: &Flat,
    record: &mut Vec<u8>,
) -> Result<PayloadKind> {
    let mut builder = Builder::new(tree.of_values(), orders.values);
    let count = all.ends.len() - usize::from(planted::is(33));
    all.iter().take(count).try_for_each(|value| builder.push(pages, value, &[]))?;
    let values = Tree { changed: pages.txnid(), ..builder.finish() };
    let none = tree.of_values();
    write::count_value_pages(tree, &none, &values);
    record.try_set(&values.encode())?;
    Ok(PayloadKind::DuplicateTree)
}

/// Bytes of values that fit the cell of a key.
fn cell_bytes_max(pages: &Pages, key: &[u8]) -> usize {
    let half = (pages.page_bytes() - page::HEADER_BYTES) / 2;
    half.saturating_sub(page::leaf_cell_bytes(key.len(), 0)).max(TREE_BYTES)
}

/// Takes a value from those of a key; whether it was there. A key without values is gone.
pub(crate) fn delete(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    pair: NewPair<'_>,
) -> Result<bool> {
    let mut finger = Finger::new();
    if !finger.seek(pages, tree, orders.keys, pair.key)? {
        return Ok(false);
    }
    let held = held_at(pages, tree, finger.path())?;
    if !holds(pages, &held, orders.values, pair.value)? {
        return Ok(false);
    }
    if held.count() == 1 {
        return write::delete(pages, tree, orders.keys, pair.key, Whose::Engine);
    }
    let mut payload = Vec::new();
    let kind = match held {
        Held::Few(set) => take_from_few(tree, orders, set, pair.value, &mut payload)?,
        Held::Tree(values) => {
            let kind = take_from_tree(pages, tree, orders, values, pair, &mut payload)?;
            check_path(pages, finger.path(), pair.key)?;
            kind
        }
    };
    tree.entries = tree.entries.checked_sub(1).ok_or_else(|| write::false_count(tree))?;
    let cell = NewCell { key: pair.key, kind, payload: &payload };
    write::prepare(pages, tree, orders.keys, pair.key, &mut finger)?;
    write::store_cell(pages, tree, orders.keys, &cell, true, &mut finger)?;
    Ok(true)
}

fn take_from_few(
    tree: &Tree,
    orders: Orders<'_>,
    set: ValueSet<'_>,
    value: &[u8],
    payload: &mut Vec<u8>,
) -> Result<PayloadKind> {
    let at = set.search(orders.values, value).unwrap_or_else(|at| at);
    let rest = (0..set.count() - 1).map(|i| set.value(if i < at { i } else { i + 1 }));
    let kind = write_values(payload, rest, tree.fixed_bytes as usize, usize::MAX);
    // Less than there was always fits.
    kind.map_err(|reason| damaged(tree.root, reason))?.ok_or_else(|| write::false_count(tree))
}

fn take_from_tree(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    mut values: Tree,
    pair: NewPair<'_>,
    payload: &mut Vec<u8>,
) -> Result<PayloadKind> {
    let before = values;
    write::delete(pages, &mut values, orders.values, pair.value, Whose::Engine)?;
    values.changed = pages.txnid();
    let few = match values.depth {
        1 => few_of_tree(pages, tree, &values, pair.key, payload)?,
        _ => None,
    };
    let kind = match few {
        Some(kind) => {
            write::clear(pages, &mut values)?;
            kind
        }
        None => {
            payload.try_set(&values.encode())?;
            PayloadKind::DuplicateTree
        }
    };
    write::count_value_pages(tree, &before, &values);
    Ok(kind)
}

/// Writes the values of a tree of a single leaf as a cell holds them, if they fill less than half
/// of it.
fn few_of_tree(
    pages: &Pages,
    tree: &Tree,
    values: &Tree,
    key: &[u8],
    payload: &mut Vec<u8>,
) -> Result<Option<PayloadKind>> {
    let max = cell_bytes_max(pages, key) / 2;
    let all = Bound::Unbounded;
    let order = page::BytesOrder;
    let mut span: Span<'_, _, _, page::AnyLeaf<'_>> = Span::new(pages, values, order, all, all)?;
    let (mut flat, mut bytes) = (Flat { bytes: Vec::new(), ends: Vec::new() }, 0);
    while let Some(value) = span.next()? {
        bytes += value.len();
        if bytes > max {
            return Ok(None);
        }
        flat.bytes.try_extend(value.iter().copied())?;
        flat.ends.try_push(flat.bytes.len())?;
    }
    write_values(payload, flat.iter(), tree.fixed_bytes as usize, max)
        .map_err(|reason| damaged(values.root, reason))
}

/// Takes a key with all its values; how many there were.
pub(crate) fn delete_key(
    pages: &mut Pages,
    tree: &mut Tree,
    order: AnyOrder<'_>,
    key: &[u8],
) -> Result<u64> {
    let before = tree.entries;
    write::delete(pages, tree, order, key, Whose::Engine)?;
    Ok(before - tree.entries)
}

/// Puts the value of the pair in the place of `old` among those of its key; whether `old` was
/// there.
pub(crate) fn replace(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    pair: NewPair<'_>,
    old: &[u8],
) -> Result<bool> {
    check_pair(pages, tree, pair)?;
    if !holds_pair(pages, tree, orders, NewPair { value: old, ..pair })? {
        return Ok(false);
    }
    if old != pair.value {
        delete(pages, tree, orders, NewPair { value: old, ..pair })?;
        put(pages, tree, orders, pair, PairMode::Insert, &mut Finger::new())?;
    }
    Ok(true)
}

fn holds_pair(pages: &Pages, tree: &Tree, orders: Orders<'_>, pair: NewPair<'_>) -> Result<bool> {
    match find(pages, tree, orders.keys, pair.key)? {
        Some(held) => holds(pages, &held, orders.values, pair.value),
        None => Ok(false),
    }
}

/// Gives a key this value and no other; how many others there were.
pub(crate) fn set(
    pages: &mut Pages,
    tree: &mut Tree,
    orders: Orders<'_>,
    pair: NewPair<'_>,
) -> Result<u64> {
    check_pair(pages, tree, pair)?;
    let held = find(pages, tree, orders.keys, pair.key)?;
    let others = match held {
        None => 0,
        Some(held) => {
            let count = held.count();
            let there = holds(pages, &held, orders.values, pair.value)?;
            if there && count == 1 {
                return Ok(0);
            }
            count - u64::from(there)
        }
    };
    let key = copied(pair.key)?;
    delete_key(pages, tree, orders.keys, &key)?;
    put(pages, tree, orders, pair, PairMode::Insert, &mut Finger::new())?;
    Ok(others)
}
