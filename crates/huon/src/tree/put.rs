//! Putting: touch the path, edit the leaf, carry what is left over upward.
//!
//! A split that does not make room enough (keys near the maximum) is followed by another; a new
//! page is linked by seeking its separator from the root. So no path is ever repaired, and no case
//! is special.

use std::collections::HashSet;

use crate::alloc::filled;
use crate::error::{Error, Result};
use crate::page::{
    self, BranchMut, Cell, FixedMut, KeyOrder, LeafMut, MAX_DEPTH, NewChild, PayloadKind, Ptr,
    Reason, RunRef,
};
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::edit::TreeMut;
use crate::tree::path::Path;
use crate::tree::view::TreeView;

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
    /// `InsertNew` found the key, or `Update` did not.
    LeftAlone,
}

/// What a put stores: bytes of the caller, or a table's record.
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

/// The contents of a reserved value until it is filled; no inline value is longer.
static ZEROS: [u8; 1 << 15] = [0; 1 << 15];

/// A cell on its way into a leaf.
pub(super) struct NewCell<'c> {
    pub(super) key: &'c [u8],
    pub(super) kind: PayloadKind,
    pub(super) payload: &'c [u8],
}

impl<O: KeyOrder> TreeMut<'_, O> {
    /// Stores `value` under `key` as `mode` says.
    pub(crate) fn put(&mut self, key: &[u8], value: NewValue<'_>, mode: PutMode) -> Result<Put> {
        self.check_record(key, value.bytes().len())?;
        if mode != PutMode::Update && self.push(key, &value)? {
            return Ok(Put::Inserted);
        }
        let found = self.seek(key)?;
        match mode {
            PutMode::InsertNew if found => return Ok(Put::LeftAlone),
            PutMode::Update if !found => return Ok(Put::LeftAlone),
            PutMode::Append if found || !self.is_at_end() => return Err(Error::KeyOutOfOrder),
            _ => {}
        }
        self.put_found(key, value, found)
    }

    /// Stores a record behind all others, if the last put ended there and its leaf has room: costs
    /// one look at the leaf. `false`: nothing has changed.
    #[inline]
    fn push(&mut self, key: &[u8], value: &NewValue<'_>) -> Result<bool> {
        let NewValue::Bytes(bytes) = value else { return Ok(false) };
        let is_inline = page::fits_inline(self.pages.page_bytes(), key.len(), bytes.len());
        if !is_inline || self.tree.has_fixed_leaves() {
            return Ok(false);
        }
        let Some(leaf) = self.finger.last_leaf(self.pages, self.tree) else { return Ok(false) };
        let order = self.order;
        let pushed =
            self.leaf(leaf, |mut leaf| leaf.push(order, key, PayloadKind::Inline, bytes))?;
        let Some(index) = pushed else { return Ok(false) };
        self.finger.note_push(index);
        self.count_entry()?;
        Ok(true)
    }

    /// There is one record more.
    #[inline]
    fn count_entry(&mut self) -> Result<()> {
        self.tree.entries = self.tree.entries.checked_add(1).ok_or_else(|| self.false_count())?;
        Ok(())
    }

    /// Stores `value` where the finger points: in the place of what was `found` there, or before
    /// it.
    pub(super) fn put_found(
        &mut self,
        key: &[u8],
        value: NewValue<'_>,
        found: bool,
    ) -> Result<Put> {
        if found {
            let there = self.finger.path().cell(self.pages)?;
            if there.kind == PayloadKind::Table && matches!(value, NewValue::Bytes(_)) {
                return Err(Error::NameTaken);
            }
            if holds_already(&there, &value) {
                return Ok(Put::Overwritten);
            }
        }
        let run = self.store_large(key, &value)?;
        let encoded = run.map(|run| run.encode());
        let cell = match (&value, &encoded) {
            (NewValue::Table(record), _) => {
                NewCell { key, kind: PayloadKind::Table, payload: record }
            }
            (_, Some(run)) => NewCell { key, kind: PayloadKind::Run, payload: run },
            (NewValue::Bytes(bytes), None) => {
                NewCell { key, kind: PayloadKind::Inline, payload: bytes }
            }
        };
        self.put_cell(&cell, found)?;
        Ok(if found { Put::Overwritten } else { Put::Inserted })
    }

    /// Stores a value of `bytes` bytes under `key` that `fill` writes in place.
    pub(crate) fn reserve(
        &mut self,
        key: &[u8],
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        self.check_record(key, bytes)?;
        if !page::fits_inline(self.pages.page_bytes(), key.len(), bytes) {
            let mut value = filled(0, bytes)?;
            fill(&mut value);
            return self.put(key, NewValue::Bytes(&value), PutMode::Upsert).map(drop);
        }
        let found = self.seek(key)?;
        if found && self.finger.path().cell(self.pages)?.kind == PayloadKind::Table {
            return Err(Error::NameTaken);
        }
        let cell = NewCell { key, kind: PayloadKind::Inline, payload: &ZEROS[..bytes] };
        self.put_cell(&cell, found)?;
        let place = *self.finger.path().last();
        self.leaf(place.ptr, |mut leaf| leaf.payload_mut(place.index).map(fill))
    }

    /// Puts the cell of a record where the finger points: in the place of the one that was `found`
    /// there, or before it.
    fn put_cell(&mut self, cell: &NewCell<'_>, found: bool) -> Result<()> {
        self.prepare(cell.key)?;
        if found {
            let frame = *self.finger.path().last();
            self.release(frame.ptr, frame.index, &mut HashSet::new())?;
        } else {
            self.count_entry()?;
        }
        self.store_cell(cell, found)
    }

    /// Makes the place editable that the finger points to; an empty tree gets its first leaf.
    pub(super) fn prepare(&mut self, key: &[u8]) -> Result<()> {
        if self.tree.depth == 0 {
            self.plant()?;
            self.seek(key)?;
        }
        self.touch()
    }

    /// Puts a cell into the place that was made editable: instead of the one that was `found`
    /// there, or before it. The finger points to it then.
    pub(super) fn store_cell(&mut self, cell: &NewCell<'_>, found: bool) -> Result<()> {
        if found {
            self.overwrite(cell)?
        } else {
            self.insert(cell)?
        }
        self.finger.keep(self.pages, self.tree);
        Ok(())
    }

    /// Whether the finger points behind all records.
    pub(super) fn is_at_end(&self) -> bool {
        self.finger.is_at_end()
    }

    /// Writes a value that does not fit a leaf beside the tree.
    fn store_large(&mut self, key: &[u8], value: &NewValue<'_>) -> Result<Option<RunRef>> {
        let NewValue::Bytes(bytes) = value else { return Ok(None) };
        let page_bytes = self.pages.page_bytes();
        if page::fits_inline(page_bytes, key.len(), bytes.len()) {
            return Ok(None);
        }
        self.pages.make_room(page::overflow_pages(bytes.len() as u64, page_bytes))?;
        let run = self.pages.write_run(bytes)?;
        self.tree.overflow_pages = self.tree.overflow_pages.saturating_add(run.pages(page_bytes));
        Ok(Some(run))
    }

    /// Gives an empty tree its first leaf.
    fn plant(&mut self) -> Result<()> {
        let root = self.pages.allocate()?;
        if self.tree.has_fixed_leaves() {
            FixedMut::init(self.pages.edit(root), root, self.tree.fixed_bytes as usize);
        } else {
            LeafMut::init(self.pages.edit(root), root);
        }
        self.tree.root = root;
        self.tree.depth = 1;
        self.tree.leaf_pages = self.tree.leaf_pages.saturating_add(1);
        Ok(())
    }

    fn overwrite(&mut self, cell: &NewCell<'_>) -> Result<()> {
        let (frame, order) = (*self.finger.path().last(), self.order);
        let fits = self.leaf(frame.ptr, |mut leaf| {
            leaf.replace(order, frame.index, cell.kind, cell.payload)
        })?;
        if !fits {
            self.leaf(frame.ptr, |mut leaf| leaf.remove(frame.index))?;
            self.insert(cell)?;
        }
        Ok(())
    }

    /// Puts the cell at the end of the finger's path, which was touched, splitting while it does
    /// not fit.
    fn insert(&mut self, cell: &NewCell<'_>) -> Result<()> {
        let order = self.order;
        for _ in 0..SPLITS_MAX {
            let frame = *self.finger.path().last();
            let fits = if self.tree.has_fixed_leaves() {
                self.fixed(frame.ptr, |mut leaf| leaf.insert(frame.index, cell.key))?
            } else {
                self.leaf(frame.ptr, |mut leaf| {
                    leaf.insert(order, frame.index, cell.key, cell.kind, cell.payload)
                })?
            };
            if fits {
                return Ok(());
            }
            self.split_leaf(cell)?;
            let TreeMut { pages, tree, finger, .. } = self;
            let path = finger.path_mut();
            path.seek(TreeView::new(*pages, tree, order), cell.key)?;
            // In a sound tree the key's leaf is one of the two halves; a damaged one may lead
            // elsewhere.
            path.touch(pages, tree)?;
        }
        Err(damaged(self.finger.path().last().ptr, Reason::Order))
    }

    /// Divides the leaf that the finger points to, to make room for the cell, and links the new
    /// right part.
    fn split_leaf(&mut self, cell: &NewCell<'_>) -> Result<()> {
        let path = self.finger.path();
        let (frame, order) = (*path.last(), self.order);
        let (rightmost, leftmost) = (path.on_right_edge(), path.on_left_edge());
        let pages = &mut *self.pages;
        let right = pages.allocate()?;
        let split = if self.tree.has_fixed_leaves() {
            let (left_page, right_page) = pages.edit_two(frame.ptr, right);
            let new = (frame.index, cell.key);
            page::split_fixed(order, left_page, right_page, right, new, (rightmost, leftmost))
        } else {
            let cell_bytes = page::leaf_cell_bytes(cell.key.len(), cell.payload.len());
            let leaf = pages.leaf(frame.ptr)?;
            let place = page::choose_split(&leaf, frame.index, cell_bytes, rightmost, leftmost);
            let place = place.on(frame.ptr)?;
            let (left_page, right_page) = pages.edit_two(frame.ptr, right);
            page::split_leaf(order, left_page, right_page, right, place, frame.index, cell.key)
        };
        let separator = split.on(frame.ptr)?;
        if page::header::count(pages.edit(right)) == 0 {
            // The left one stays as full as it is, and the right one begins with the cell.
            pages.note_finished(frame.ptr)?;
        }
        self.tree.leaf_pages = self.tree.leaf_pages.saturating_add(1);
        self.pages.counts.leaf_splits += 1;
        self.link(1, &separator, right)
    }

    /// Links `child`, whose keys start at `separator`, into the branch of `level` that the
    /// separator leads to.
    fn link(&mut self, level: u8, separator: &[u8], child: Ptr) -> Result<()> {
        if level == self.tree.depth {
            self.grow_root()?;
        }
        let order = self.order;
        let mut path = Path::new();
        path.seek_branch(self.view(), separator, level)?;
        path.touch(self.pages, self.tree)?;
        let frame = *path.last();
        let new = NewChild { index: frame.index + 1, separator, child };
        let fits =
            self.branch(frame.ptr, |mut branch| branch.insert(order, new.index, separator, child))?;
        if fits { Ok(()) } else { self.split_branch(&path, new) }
    }

    /// Divides the last branch of a touched path with the new child in it, and links the right part
    /// one level up.
    fn split_branch(&mut self, path: &Path, new: NewChild<'_>) -> Result<()> {
        let ptr = path.last().ptr;
        let level = path.level(path.frames().len() - 1);
        let right = self.pages.allocate()?;
        let (left_page, right_page) = self.pages.edit_two(ptr, right);
        let split = page::split_branch_insert(
            self.order,
            left_page,
            right_page,
            right,
            new,
            path.on_right_edge(),
            path.on_left_edge(),
        );
        let (separator, _) = split.on(ptr)?;
        self.tree.branch_pages = self.tree.branch_pages.saturating_add(1);
        self.pages.counts.branch_splits += 1;
        self.link(level + 1, &separator, right)
    }

    fn grow_root(&mut self) -> Result<()> {
        let (old, depth) = (self.tree.root, self.tree.depth);
        if depth == MAX_DEPTH {
            return Err(Error::corrupt(old.pgno.0, Reason::Depth.text()));
        }
        let root = self.pages.allocate()?;
        BranchMut::init(self.pages.edit(root), root, depth, old);
        self.tree.root = root;
        self.tree.depth += 1;
        self.tree.branch_pages = self.tree.branch_pages.saturating_add(1);
        self.pages.counts.roots_raised += 1;
        Ok(())
    }
}

/// An identical value needs no copy of the path. Large values are not compared.
fn holds_already(cell: &Cell<'_>, value: &NewValue<'_>) -> bool {
    let kind = match value {
        NewValue::Bytes(_) => PayloadKind::Inline,
        NewValue::Table(_) => PayloadKind::Table,
    };
    cell.kind == kind && cell.payload == value.bytes()
}
