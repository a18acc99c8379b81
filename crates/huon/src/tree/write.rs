//! Changing a tree: touch the path, edit the leaf, carry what is left over upward.
//!
//! A split that does not make room enough (keys near the maximum) is followed by another; a new
//! page is linked by seeking its separator from the root. So no path is ever repaired, and no case
//! is special.
//!
//! T2. After each function of this module every page of the tree that was changed is this level's
//!     own, all separators bound their children, and `entries` and the page counts are right.

use std::collections::HashSet;
use std::ops::{Bound, Range};

use crate::alloc::{TryGrow, filled, inserted};
use crate::error::{Error, Result};
use crate::page::{
    self, BranchMut, Cell, FixedMut, KeyOrder, Leaf, LeafItems, LeafMut, MAX_DEPTH,
    MAX_VALUE_BYTES, NewChild, PayloadKind, Ptr, Reason, RunRef, Tree,
};
use crate::planted;
use crate::store::pages::Pages;
use crate::store::source::{PageSource, damaged};
use crate::tree::finger::Finger;
use crate::tree::path::Path;
use crate::tree::values::Held;
use crate::tree::{cursor, read};

/// More splits than any key needs to find room; a damaged tree may lead to full leaves for ever.
const SPLITS_MAX: usize = 16;

/// What to do about a key that exists, or does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PutMode {
    /// Insert or overwrite.
    Upsert,
    /// Insert only; an existing key is left alone.
    InsertNew,
    /// Overwrite only; an absent key is left absent.
    Update,
    /// Insert above all keys; anything else is an error.
    Append,
}

/// What a put found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    Inserted,
    Overwritten,
    /// `InsertNew` met the key, or `Update` did not.
    LeftAlone,
}

/// What a put stores: bytes of the caller, a table's record, or a place to be filled.
#[derive(Clone, Copy)]
pub(crate) enum NewValue<'v> {
    Bytes(&'v [u8]),
    Table(&'v [u8]),
}

impl<'v> NewValue<'v> {
    fn bytes(&self) -> &'v [u8] {
        match self {
            NewValue::Bytes(bytes) | NewValue::Table(bytes) => bytes,
        }
    }
}

/// What a reserved value holds until it is filled; no inline value is longer.
static ZEROS: [u8; 1 << 15] = [0; 1 << 15];

/// A cell on its way into a leaf.
pub(super) struct NewCell<'c> {
    pub(super) key: &'c [u8],
    pub(super) kind: PayloadKind,
    pub(super) payload: &'c [u8],
}

/// Errors of page-level edits, named by page.
pub(super) fn on<T>(ptr: Ptr, result: std::result::Result<T, Reason>) -> Result<T> {
    result.map_err(|reason| damaged(ptr, reason))
}

/// Stores `value` under `key` as `mode` says.
pub(crate) fn put<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    value: NewValue<'_>,
    mode: PutMode,
) -> Result<Put> {
    put_near(pages, tree, order, key, value, mode, &mut Finger::new())
}

/// The same, with a finger where the last put of the transaction was made.
pub(crate) fn put_near<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    value: NewValue<'_>,
    mode: PutMode,
    finger: &mut Finger,
) -> Result<Put> {
    check_lengths(pages, key, value.bytes())?;
    let found = finger.seek(pages, tree, order, key)?;
    match mode {
        PutMode::InsertNew if found => return Ok(Put::LeftAlone),
        PutMode::Update if !found => return Ok(Put::LeftAlone),
        PutMode::Append if found || !at_end(finger.path()) => return Err(Error::KeyOutOfOrder),
        _ => {}
    }
    if found {
        let there = cell_at(pages, finger.path())?;
        if there.kind == PayloadKind::Table && matches!(value, NewValue::Bytes(_)) {
            return Err(Error::NameTaken);
        }
        if holds_already(&there, &value) {
            return Ok(Put::Overwritten);
        }
    }
    let run = store_large(pages, tree, key, &value)?;
    let encoded = run.map(|run| run.encode());
    let cell = match (&value, &encoded) {
        (NewValue::Table(record), _) => NewCell { key, kind: PayloadKind::Table, payload: record },
        (_, Some(run)) => NewCell { key, kind: PayloadKind::Run, payload: run },
        (NewValue::Bytes(bytes), None) => {
            NewCell { key, kind: PayloadKind::Inline, payload: bytes }
        }
    };
    prepare(pages, tree, order, key, finger)?;
    if found {
        let frame = *finger.path().last();
        release(pages, tree, frame.ptr, frame.index, &mut HashSet::new())?;
    } else {
        tree.entries = tree.entries.checked_add(1).ok_or_else(|| false_count(tree))?;
    }
    store_cell(pages, tree, order, &cell, found, finger)?;
    Ok(if found { Put::Overwritten } else { Put::Inserted })
}

/// Makes the place editable that the finger points to; an empty tree gets its first leaf.
pub(super) fn prepare<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    finger: &mut Finger,
) -> Result<()> {
    if tree.depth == 0 {
        plant(pages, tree)?;
        finger.seek(pages, tree, order, key)?;
    }
    finger.touch(pages, tree)
}

/// Puts a cell into the place that was made editable: instead of the one that was `found` there, or
/// before it.
pub(super) fn store_cell<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    cell: &NewCell<'_>,
    found: bool,
    finger: &mut Finger,
) -> Result<()> {
    if found {
        replace(pages, tree, order, finger.path(), cell)?;
    } else {
        insert(pages, tree, order, finger.path(), cell)?;
    }
    finger.keep(pages, tree);
    Ok(())
}

pub(super) fn check_lengths(pages: &Pages, key: &[u8], value: &[u8]) -> Result<()> {
    let max = page::key_bytes_max(pages.page_bytes());
    if key.len() > max {
        return Err(Error::KeyTooLong { bytes: key.len() as u32, max: max as u32 });
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLong);
    }
    Ok(())
}

pub(super) fn at_end(path: &Path) -> bool {
    path.is_nowhere() || (path.on_right_edge() && !path.on_item())
}

/// The cell that a path stands on.
pub(crate) fn cell_at<'p>(pages: &'p Pages, path: &Path) -> Result<Cell<'p>> {
    let frame = path.last();
    on(frame.ptr, pages.leaf(frame.ptr)?.cell(frame.index))
}

/// An identical value needs no copy of the path. Large values are not compared.
fn holds_already(cell: &Cell<'_>, value: &NewValue<'_>) -> bool {
    let kind = match value {
        NewValue::Bytes(_) => PayloadKind::Inline,
        NewValue::Table(_) => PayloadKind::Table,
    };
    cell.kind == kind && cell.payload == value.bytes()
}

fn store_large(
    pages: &mut Pages,
    tree: &mut Tree,
    key: &[u8],
    value: &NewValue<'_>,
) -> Result<Option<RunRef>> {
    let NewValue::Bytes(bytes) = value else { return Ok(None) };
    if page::fits_inline(pages.page_bytes(), key.len(), bytes.len()) {
        return Ok(None);
    }
    pages.make_room(page::run_pages(bytes.len() as u64, pages.page_bytes()))?;
    let run = pages.write_run(bytes)?;
    tree.run_pages = tree.run_pages.saturating_add(run.pages(pages.page_bytes()));
    Ok(Some(run))
}

/// Gives an empty tree its first leaf.
fn plant(pages: &mut Pages, tree: &mut Tree) -> Result<()> {
    let root = pages.allocate()?;
    if tree.has_fixed_leaves() {
        FixedMut::init(pages.edit(root), root, tree.fixed_bytes as usize);
    } else {
        LeafMut::init(pages.edit(root), root);
    }
    tree.root = root;
    tree.depth = 1;
    tree.leaf_pages = tree.leaf_pages.saturating_add(1);
    Ok(())
}

/// Makes every page of the path this level's own, top down: each parent learns where its child
/// went.
pub(crate) fn touch_path(pages: &mut Pages, tree: &mut Tree, path: &mut Path) -> Result<()> {
    let mut parent: Option<(Ptr, usize)> = None;
    for frame in path.frames_mut() {
        let fresh = pages.touch(frame.ptr)?;
        if fresh != frame.ptr {
            match parent {
                None => tree.root = fresh,
                Some((ptr, index)) => {
                    on(ptr, BranchMut::view(pages.edit(ptr)))?.set_child(index, fresh);
                }
            }
            frame.ptr = fresh;
        }
        parent = Some((fresh, frame.index));
    }
    Ok(())
}

fn replace<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    path: &mut Path,
    cell: &NewCell<'_>,
) -> Result<()> {
    let frame = *path.last();
    let leaf = LeafMut::view(pages.edit(frame.ptr));
    let fits = leaf.and_then(|mut leaf| leaf.replace(order, frame.index, cell.kind, cell.payload));
    if !on(frame.ptr, fits)? {
        on(
            frame.ptr,
            LeafMut::view(pages.edit(frame.ptr)).and_then(|mut l| l.remove(frame.index)),
        )?;
        insert(pages, tree, order, path, cell)?;
    }
    Ok(())
}

/// Frees what a cell that is about to go holds outside its leaf; how many values it has. `seen`: as
/// for [`free_below`], of all cells that go with it.
fn release(
    pages: &mut Pages,
    tree: &mut Tree,
    ptr: Ptr,
    index: usize,
    seen: &mut HashSet<u32>,
) -> Result<u64> {
    let cell = on(ptr, pages.leaf(ptr)?.cell(index))?;
    match cell.kind {
        PayloadKind::Run => {
            let run = read::run_ref(&cell)?;
            tree.run_pages = tree.run_pages.saturating_sub(run.pages(pages.page_bytes()));
            pages.free_run(&run)?;
        }
        PayloadKind::DuplicateSet | PayloadKind::DuplicateTree => {
            let held = on(ptr, Held::of(tree, &cell))?;
            let count = held.count();
            if let Held::Tree(before) = held
                && !planted::is(29)
            {
                let mut values = before;
                clear_once(pages, &mut values, seen)?;
                if planted::is(30) {
                    clear_once(pages, &mut before.clone(), &mut HashSet::new())?;
                }
                count_value_pages(tree, &before, &values);
            }
            return Ok(count);
        }
        PayloadKind::Inline | PayloadKind::Table => {}
    }
    Ok(1)
}

/// A tree of values has changed: its pages are counted with the table's.
pub(crate) fn count_value_pages(tree: &mut Tree, before: &Tree, after: &Tree) {
    let moved = |all: u32, from: u32, to: u32| all.saturating_sub(from).saturating_add(to);
    tree.branch_pages = moved(tree.branch_pages, before.branch_pages, after.branch_pages);
    tree.leaf_pages = moved(tree.leaf_pages, before.leaf_pages, after.leaf_pages);
}

/// Puts the cell at the end of a touched path, splitting while it does not fit.
fn insert<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    path: &mut Path,
    cell: &NewCell<'_>,
) -> Result<()> {
    for _ in 0..SPLITS_MAX {
        let frame = *path.last();
        let page = pages.edit(frame.ptr);
        let fits = if tree.has_fixed_leaves() {
            FixedMut::view(page, tree.fixed_bytes as usize)
                .map(|mut leaf| leaf.insert(frame.index, cell.key))
        } else {
            LeafMut::view(page).and_then(|mut leaf| {
                leaf.insert(order, frame.index, cell.key, cell.kind, cell.payload)
            })
        };
        if on(frame.ptr, fits)? {
            return Ok(());
        }
        split_leaf(pages, tree, order, path, cell)?;
        path.seek(pages, tree, order, cell.key)?;
        // In a sound tree the key's leaf is one of the two halves; a damaged one may lead
        // elsewhere.
        touch_path(pages, tree, path)?;
    }
    Err(damaged(path.last().ptr, Reason::Order))
}

/// Divides the leaf of a touched path to make room for the cell, and links the new right part.
fn split_leaf<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    path: &Path,
    cell: &NewCell<'_>,
) -> Result<()> {
    let frame = *path.last();
    let (rightmost, leftmost) = (path.on_right_edge(), path.on_left_edge());
    if rightmost && frame.index == page::header::count(pages.edit(frame.ptr)) {
        // It stays as full as it is, and the right one begins with the cell.
        pages.note_finished(frame.ptr)?;
    }
    let right = pages.allocate()?;
    let split = if tree.has_fixed_leaves() {
        let (left_page, right_page) = pages.edit_two(frame.ptr, right);
        let new = (frame.index, cell.key);
        page::split_fixed(order, left_page, right_page, right, new, (rightmost, leftmost))
    } else {
        let cell_bytes = page::leaf_cell_bytes(cell.key.len(), cell.payload.len());
        let leaf = pages.leaf(frame.ptr)?;
        let place = page::choose_split(&leaf, frame.index, cell_bytes, rightmost, leftmost);
        let place = on(frame.ptr, place)?;
        let (left_page, right_page) = pages.edit_two(frame.ptr, right);
        page::split_leaf(order, left_page, right_page, right, place, frame.index, cell.key)
    };
    let separator = on(frame.ptr, split)?;
    tree.leaf_pages = tree.leaf_pages.saturating_add(1);
    pages.counts.leaf_splits += 1;
    link(pages, tree, order, 1, &separator, right)
}

/// Links `child`, whose keys start at `separator`, into the branch of `level` that the separator
/// leads to.
fn link<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    level: u8,
    separator: &[u8],
    child: Ptr,
) -> Result<()> {
    if level == tree.depth {
        grow_root(pages, tree)?;
    }
    let mut path = Path::new();
    path.seek_branch(pages, tree, order, separator, level)?;
    touch_path(pages, tree, &mut path)?;
    let frame = *path.last();
    let new = NewChild { index: frame.index + 1, separator, child };
    let branch = BranchMut::view(pages.edit(frame.ptr));
    let fits = branch.and_then(|mut b| b.insert(order, new.index, separator, child));
    if on(frame.ptr, fits)? { Ok(()) } else { split_branch(pages, tree, order, &path, new) }
}

/// Divides the last branch of a touched path with the new child in it, and links the right part one
/// level up.
fn split_branch<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    path: &Path,
    new: NewChild<'_>,
) -> Result<()> {
    let ptr = path.last().ptr;
    let level = path.level(path.frames().len() - 1);
    let right = pages.allocate()?;
    let (left_page, right_page) = pages.edit_two(ptr, right);
    let split = page::split_branch_insert(
        order,
        left_page,
        right_page,
        right,
        new,
        path.on_right_edge(),
        path.on_left_edge(),
    );
    let (separator, _) = on(ptr, split)?;
    tree.branch_pages = tree.branch_pages.saturating_add(1);
    pages.counts.branch_splits += 1;
    link(pages, tree, order, level + 1, &separator, right)
}

fn grow_root(pages: &mut Pages, tree: &mut Tree) -> Result<()> {
    if tree.depth == MAX_DEPTH {
        return Err(Error::corrupt(tree.root.pgno.0, Reason::Depth.text()));
    }
    let root = pages.allocate()?;
    BranchMut::init(pages.edit(root), root, tree.depth, tree.root);
    tree.root = root;
    tree.depth += 1;
    tree.branch_pages = tree.branch_pages.saturating_add(1);
    pages.counts.roots_raised += 1;
    Ok(())
}

/// Stores a value of `bytes` bytes under `key` that `fill` writes in place.
pub(crate) fn reserve<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    bytes: usize,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<()> {
    if page::fits_inline(pages.page_bytes(), key.len(), bytes) {
        put(pages, tree, order, key, NewValue::Bytes(&ZEROS[..bytes]), PutMode::Upsert)?;
        let mut path = Path::new();
        path.seek(pages, tree, order, key)?;
        touch_path(pages, tree, &mut path)?;
        let frame = *path.last();
        let mut leaf = on(frame.ptr, LeafMut::view(pages.edit(frame.ptr)))?;
        fill(on(frame.ptr, leaf.payload_mut(frame.index))?);
        return Ok(());
    }
    check_lengths(pages, key, &[])?;
    if bytes > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLong);
    }
    let mut value = filled(0, bytes)?;
    fill(&mut value);
    put(pages, tree, order, key, NewValue::Bytes(&value), PutMode::Upsert).map(drop)
}

/// Whose records a delete is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    /// The caller's: a table's record is not one of them.
    Caller,
    /// The engine's own: names of tables, values of a key.
    Engine,
}

/// Deletes `key`; whether it was there.
pub(crate) fn delete<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    key: &[u8],
    whose: Whose,
) -> Result<bool> {
    let mut path = Path::new();
    if !path.seek(pages, tree, order, key)? {
        return Ok(false);
    }
    if whose == Whose::Caller && cell_at(pages, &path)?.kind == PayloadKind::Table {
        return Err(Error::NameTaken);
    }
    touch_path(pages, tree, &mut path)?;
    let frame = *path.last();
    let cell = frame.index..frame.index + 1;
    remove_cells(pages, tree, &mut path, cell, &mut HashSet::new())?;
    carry_shrinking(pages, tree, order, &mut path)?;
    Ok(true)
}

/// Deletes the keys between two bounds; how many there were.
pub(crate) fn delete_range<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> Result<u64> {
    let before = tree.entries;
    let mut path = Path::new();
    // Each round empties a leaf or is the last.
    let mut leaves_left = pages.pages_max();
    let mut seen = HashSet::new();
    while !cursor::is_reversed(order, from, to) {
        cursor::place(pages, tree, order, &mut path, from, cursor::Edge::Lower)?;
        if !path.on_item() {
            break;
        }
        let frame = *path.last();
        let leaf = pages.any_leaf(tree, frame.ptr)?;
        let until = match to {
            Bound::Unbounded => frame.count,
            Bound::Included(to) => match on(frame.ptr, leaf.search(order, to))? {
                Ok(index) => index + 1,
                Err(index) => index,
            },
            Bound::Excluded(to) => match on(frame.ptr, leaf.search(order, to))? {
                Ok(index) | Err(index) => index,
            },
        };
        if until <= frame.index {
            break;
        }
        leaves_left = leaves_left.checked_sub(1).ok_or_else(|| false_count(tree))?;
        touch_path(pages, tree, &mut path)?;
        remove_cells(pages, tree, &mut path, frame.index..until, &mut seen)?;
        carry_shrinking(pages, tree, order, &mut path)?;
        pages.spill()?;
    }
    Ok(before - tree.entries)
}

/// Removes these cells of the leaf of a touched path. `seen`: see [`release`].
fn remove_cells(
    pages: &mut Pages,
    tree: &mut Tree,
    path: &mut Path,
    cells: Range<usize>,
    seen: &mut HashSet<u32>,
) -> Result<()> {
    let (ptr, count) = (path.last().ptr, cells.len());
    let mut gone = 0u64;
    if tree.has_fixed_leaves() {
        gone = count as u64;
        on(ptr, FixedMut::view(pages.edit(ptr), tree.fixed_bytes as usize))?.remove_range(cells);
    } else {
        for index in cells.clone() {
            let values = release(pages, tree, ptr, index, seen)?;
            gone = gone.checked_add(values).ok_or_else(|| false_count(tree))?;
        }
        // A damaged tree of values may have named these very pages.
        let lost = path.frames().iter().find(|frame| !pages.is_editable(frame.ptr));
        if let Some(frame) = lost {
            return Err(damaged(frame.ptr, Reason::Cycle));
        }
        on(ptr, LeafMut::view(pages.edit(ptr)).and_then(|mut leaf| leaf.remove_range(cells)))?;
    }
    path.last_mut().count -= count;
    tree.entries = tree.entries.checked_sub(gone).ok_or_else(|| false_count(tree))?;
    Ok(())
}

/// Carries empty and underfull pages upward from the leaf of a touched path, and takes a root away
/// that has become needless. Neighbours are merged when they fit one page; nothing is ever shifted
/// between them.
fn carry_shrinking<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    path: &mut Path,
) -> Result<()> {
    for at in (1..path.frames().len()).rev() {
        let frame = path.frames()[at];
        let level = path.level(at);
        let parent = path.frames()[at - 1];
        let gone = if frame.count == 0 {
            count_page_gone(tree, level);
            pages.free(frame.ptr)?;
            Some(parent.index)
        } else {
            merge_with_neighbour(pages, tree, order, parent, frame.ptr, level)?
        };
        let Some(gone) = gone else { break };
        // A branch that loses its only child is empty, and leaves the tree in the next round.
        if parent.count > 1 {
            let edited = BranchMut::view(pages.edit(parent.ptr));
            on(parent.ptr, edited.and_then(|mut branch| branch.remove(gone)))?;
        }
        path.frames_mut()[at - 1].count -= 1;
    }
    lower_root(pages, tree, path.frames()[0].count)
}

/// The error for a tree whose record counts its items wrongly.
#[cold]
pub(super) fn false_count(tree: &Tree) -> Error {
    Error::corrupt(tree.root.pgno.0, Reason::Tree.text())
}

fn count_page_gone(tree: &mut Tree, level: u8) {
    match level {
        0 => tree.leaf_pages = tree.leaf_pages.saturating_sub(1),
        _ => tree.branch_pages = tree.branch_pages.saturating_sub(1),
    }
}

fn lower_root(pages: &mut Pages, tree: &mut Tree, mut count: usize) -> Result<()> {
    if count == 0 {
        if tree.entries != 0 {
            return Err(false_count(tree));
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

/// Merges a sparsely filled page with the neighbour right of it, else left of it, under the same
/// parent. The answer is the parent's slot that has lost its page.
fn merge_with_neighbour<O: KeyOrder>(
    pages: &mut Pages,
    tree: &mut Tree,
    order: O,
    parent: crate::tree::path::Frame,
    ptr: Ptr,
    level: u8,
) -> Result<Option<usize>> {
    if !is_sparse(pages, tree, ptr, level)? {
        return Ok(None);
    }
    let pairs = [parent.index, parent.index.wrapping_sub(1)];
    for left in pairs.into_iter().filter(|&left| left < parent.count && left + 1 < parent.count) {
        if merge_pair(pages, tree, order, parent.ptr, left, level)? {
            count_page_gone(tree, level);
            return Ok(Some(left + 1));
        }
    }
    Ok(None)
}

/// Less than two fifths full: merging such a page with a neighbour leaves room for the next
/// inserts.
fn is_sparse(pages: &Pages, tree: &Tree, ptr: Ptr, level: u8) -> Result<bool> {
    Ok(live_bytes(pages, tree, ptr, level)? * 5 < pages.page_bytes() * 2)
}

fn live_bytes(pages: &Pages, tree: &Tree, ptr: Ptr, level: u8) -> Result<usize> {
    match level {
        0 => Ok(pages.any_leaf(tree, ptr)?.live_bytes()),
        _ => Ok(pages.branch(ptr, level)?.live_bytes()),
    }
}

/// Merges children `left` and `left + 1` of a touched branch into the left one if they fit one
/// page.
fn merge_pair<O: KeyOrder>(
    pages: &mut Pages,
    tree: &Tree,
    order: O,
    parent: Ptr,
    left: usize,
    level: u8,
) -> Result<bool> {
    let (left_ptr, right_ptr, separator) = {
        let branch = pages.branch(parent, level + 1)?;
        let separator = on(parent, branch.separator(left + 1))?.whole(order)?;
        (branch.child(left), branch.child(left + 1), separator)
    };
    let live =
        live_bytes(pages, tree, left_ptr, level)? + live_bytes(pages, tree, right_ptr, level)?;
    if live > pages.page_bytes() - page::HEADER_BYTES {
        return Ok(false);
    }
    let fresh = pages.touch(left_ptr)?;
    on(parent, BranchMut::view(pages.edit(parent)))?.set_child(left, fresh);
    let (page, other) = pages.edit_beside(fresh, right_ptr)?;
    let merged = match level {
        0 if tree.has_fixed_leaves() => page::merge_fixed(page, &other, tree.fixed_bytes as usize),
        0 => page::merge_leaf(order, page, &other),
        _ => page::merge_branch(order, page, &separator, &other),
    };
    pages.recycle(other);
    let merged = on(fresh, merged)?;
    if merged {
        pages.free(right_ptr)?;
        match level {
            0 => pages.counts.leaf_merges += 1,
            _ => pages.counts.branch_merges += 1,
        }
    }
    Ok(merged)
}

/// Frees every page of the tree; what is left is an empty tree of the same kind.
pub(crate) fn clear(pages: &mut Pages, tree: &mut Tree) -> Result<()> {
    clear_once(pages, tree, &mut HashSet::new())
}

/// The same for one of several trees that must not share pages.
fn clear_once(pages: &mut Pages, tree: &mut Tree, seen: &mut HashSet<u32>) -> Result<()> {
    if tree.depth > 0 {
        free_below(pages, tree, tree.root, tree.depth - 1, seen)?;
    }
    (tree.root, tree.depth, tree.entries) = (Ptr::NONE, 0, 0);
    (tree.branch_pages, tree.leaf_pages, tree.run_pages) = (0, 0, 0);
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
    let looks = tree.run_pages > 0 || tree.many.is_some();
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
fn outside(tree: &Tree, leaf: &Leaf<'_>, ptr: Ptr) -> Result<(Vec<RunRef>, Vec<Tree>)> {
    let (mut runs, mut trees) = (Vec::new(), Vec::new());
    for cell in leaf.cells() {
        let cell = on(ptr, cell)?;
        match cell.kind {
            PayloadKind::Run => runs.try_push(read::run_ref(&cell)?)?,
            PayloadKind::DuplicateTree => {
                trees.try_push(on(ptr, tree.decode_values(cell.payload))?)?;
            }
            _ => {}
        }
    }
    Ok((runs, trees))
}
