//! Changing a multimap: pairs of a key and a value.
//!
//! V2. The values of a key lie in its cell as long as the cell takes no more than half a page, or
//!     they take no more bytes than the record of a tree; else in a tree of their own. They come
//!     back into the cell when they fill less than half of it: not at the border, where a value
//!     that comes and goes would move all of them.
//! V3. `entries` counts pairs. The pages of a tree of values are counted with the table's.
//!     A damaged record may name pages of the path to its own cell: a path is looked at again
//!     when the values have changed. Not so where all that has changed is fixed leaves, and no page
//!     came or went: a path to a key has branches and a slotted leaf, and their kind was seen when
//!     they were read.
//! V4. Where all values have one length, the record of the table knows it from the first value on.

use crate::alloc::{Reserved, TryGrow};
use crate::error::{Error, Result};
use crate::page::{
    self, AnyOrder, Growth, KeyOrder, PayloadKind, Reason, TREE_BYTES, Tree, ValueSet, write_values,
};
use crate::planted::{self, Bug};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::build::Builder;
use crate::tree::cursor::Span;
use crate::tree::edit::{TreeMut, check_key, check_native};
use crate::tree::path::Path;
use crate::tree::put::{NewCell, NewValue, PutMode};
use crate::tree::shrink::Whose;
use crate::tree::values::{KeyValues, Orders, Pair, ValueIter};
use crate::tree::view::TreeView;
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

impl<'o> TreeMut<'_, Orders<'o>> {
    /// The tree of the keys.
    #[inline]
    pub(super) fn keys(&mut self) -> TreeMut<'_, AnyOrder<'o>> {
        self.ordered_by(self.order.keys)
    }

    /// Edits a tree of values, whose `record` lies in a cell of this tree: its pages are counted
    /// here, and the record says when it has changed.
    fn values<R>(
        &mut self,
        record: &mut Tree,
        edit: impl FnOnce(&mut TreeMut<'_, AnyOrder<'o>>) -> Result<R>,
    ) -> Result<R> {
        let before = *record;
        let (order, finger) = (self.order.values, self.finger.of_values());
        let done = edit(&mut TreeMut { pages: self.pages, tree: record, order, finger })?;
        if *record != before {
            record.changed = self.pages.txnid();
            self.count_values(&before, record);
        }
        Ok(done)
    }

    /// Leads the finger to the first key that is not below this one; whether it is there.
    fn seek_key(&mut self, key: &[u8]) -> Result<bool> {
        let is_on = self.finger.is_on(TreeView::new(&*self.pages, self.tree, ()), key)?;
        if is_on { Ok(true) } else { self.keys().seek(key) }
    }

    /// Adds a value to those of a key; whether it was not there.
    pub(crate) fn put_pair(&mut self, pair: Pair<'_>, mode: PairMode) -> Result<bool> {
        self.check_pair(pair)?;
        let (key, value) = pair;
        let found = self.seek_key(key)?;
        if mode == PairMode::Append && !self.is_last(found) {
            return Err(Error::KeyOutOfOrder);
        }
        if !found {
            return self.put_first(pair, false).map(|()| true);
        }
        if mode == PairMode::NewKey {
            return Ok(false);
        }
        let growth = match self.held_here()? {
            KeyValues::Tree(values) => {
                return Ok(self.grow_tree(values, key, &[value], mode)? != 0);
            }
            KeyValues::Few(set) => match set.place(self.order.values, value) {
                Err(at) if mode != PairMode::Append || at == set.count() => {
                    set.growth(at, value.len())
                }
                Ok(_) if mode != PairMode::Append => return Ok(false),
                _ => return Err(Error::KeyOutOfOrder),
            },
        };
        if !self.grow_few(pair, &growth)? {
            self.put_row(key, &mut [value])?;
        }
        Ok(true)
    }

    /// Adds values to those of a key, in any order; how many were not there. Costs one descent, and
    /// one rewriting of the cell where the values lie in one; or as many puts as there are values
    /// where they come in no order and a caller's comparator says which.
    pub(crate) fn put_row(&mut self, key: &[u8], row: &mut [&[u8]]) -> Result<u64> {
        self.check_row(key, row)?;
        let order = self.order.values;
        if !row.is_sorted_by(|a, b| order.compare(a, b).is_lt()) {
            if !order.has_heads() {
                return self.put_each(key, row);
            }
            row.sort_unstable_by(|a, b| order.compare(a, b));
        }
        let found = self.seek_key(key)?;
        let set = match if found { Some(self.held_here()?) } else { None } {
            Some(KeyValues::Tree(values)) => {
                return self.grow_tree(values, key, row, PairMode::Insert);
            }
            Some(KeyValues::Few(set)) => Some(set),
            None => None,
        };
        let all = merged(set, row, order)?;
        let more = all.len() - set.map_or(0, |set| set.count());
        if more == 0 {
            return Ok(0);
        }
        let is_equal = self.tree.many.is_some_and(|many| many.equal);
        let fixed_bytes = if is_equal { row[0].len() } else { 0 };
        let (mut payload, max) = (Vec::new(), cell_bytes_max(self.pages, key));
        let values = all.iter().copied();
        let few = write_values(&mut payload, values.clone(), fixed_bytes, max);
        let few = few.on(self.tree.root)?.ok_or_else(|| Flat::of(values));
        self.count_more(more as u64, row[0])?;
        let kind = match few {
            Ok(kind) => kind,
            Err(all) => {
                payload.try_set(&self.plant_tree(&all?)?.encode())?;
                PayloadKind::DuplicateTree
            }
        };
        self.put_values(&NewCell { key, kind, payload: &payload }, found)?;
        Ok(more as u64)
    }

    /// Adds values one after another, which were checked: a sort may panic where a caller's
    /// comparator is no total order.
    fn put_each(&mut self, key: &[u8], row: &[&[u8]]) -> Result<u64> {
        let mut more = 0;
        for value in row {
            more += u64::from(self.put_pair((key, value), PairMode::Insert)?);
        }
        Ok(more)
    }

    /// Puts a key where the finger points, with this value and no other; in the place of the one
    /// that was `found` there, with one value.
    fn put_first(&mut self, (key, value): Pair<'_>, found: bool) -> Result<()> {
        self.count_more(u64::from(!found), value)?;
        if value.len() > cell_bytes_max(self.pages, key) {
            let (kind, all) = (PayloadKind::DuplicateTree, Flat::of([value].into_iter())?);
            let payload = &self.plant_tree(&all)?.encode();
            return self.put_values(&NewCell { key, kind, payload }, found);
        }
        self.put_values(&NewCell { key, kind: PayloadKind::Inline, payload: value }, found)
    }

    /// Adds a value to the few in the cell that the finger points to. False: it does not fit the
    /// cell or its page, and nothing changed.
    fn grow_few(&mut self, (key, value): Pair<'_>, growth: &Growth) -> Result<bool> {
        if growth.bytes > cell_bytes_max(self.pages, key) {
            return Ok(false);
        }
        self.keys().touch()?;
        let (place, order) = (*self.finger.path().last(), self.order.keys);
        let fits = self.leaf(place.ptr, |mut leaf| {
            let set = PayloadKind::DuplicateSet;
            let payload = leaf.widen(order, place.index, set, growth.room())?;
            Ok(payload.map(|payload| growth.fill(payload, value)).transpose()?.is_some())
        })?;
        if fits {
            self.count_more(1, value)?;
            self.finger.keep(self.pages, self.tree);
        }
        Ok(fits)
    }

    /// There are so many values more, of which this is one (V3, V4).
    fn count_more(&mut self, more: u64, value: &[u8]) -> Result<()> {
        if self.tree.many.is_some_and(|many| many.equal) {
            self.tree.fixed_bytes = value.len() as u32;
        }
        let entries = self.tree.entries.checked_add(more);
        self.tree.entries = entries.ok_or_else(|| self.false_count())?;
        Ok(())
    }

    /// Puts the cell of a key where the finger points.
    fn put_values(&mut self, cell: &NewCell<'_>, found: bool) -> Result<()> {
        let mut keys = self.keys();
        keys.prepare(cell.key)?;
        keys.store_cell(cell, found)
    }

    /// Refuses what cannot be a pair of this table.
    fn check_pair(&self, pair: Pair<'_>) -> Result<()> {
        check_pair(self.pages, self.tree, pair)
    }

    /// Refuses what cannot be values of a key of this table.
    fn check_row(&self, key: &[u8], row: &[&[u8]]) -> Result<()> {
        let mut tree = *self.tree;
        for value in row {
            check_pair(self.pages, &tree, (key, value))?;
            if tree.many.is_some_and(|many| many.equal) {
                tree.fixed_bytes = value.len() as u32;
            }
        }
        Ok(())
    }

    /// Whether the finger points where a pair above all others goes.
    fn is_last(&mut self, found: bool) -> bool {
        if !found {
            return self.keys().is_at_end();
        }
        let path = self.finger.path();
        path.on_right_edge() && path.last().index + 1 == path.last().count
    }

    /// What the cell holds that the finger points to.
    fn held_here(&self) -> Result<KeyValues<'_>> {
        let path = self.finger.path();
        KeyValues::of(self.tree, &path.cell(self.pages)?).on(path.last().ptr)
    }

    /// The value of the key that the finger points to.
    ///
    /// # Errors
    /// [`Error::ManyValues`] if it has another one.
    pub(super) fn only_value(&self) -> Result<&[u8]> {
        let held = self.held_here()?;
        if held.count() != 1 {
            return Err(Error::ManyValues);
        }
        let (any, all) = (AnyOrder::UNORDERED, Bound::Unbounded);
        let only = ValueIter::new(&*self.pages, held, any, all, all)?.next()?;
        only.ok_or_else(|| self.false_count())
    }

    /// Gives a key this value and no other. The finger points to it; it has one value where it was
    /// `found`, and else none.
    pub(super) fn put_only(&mut self, (key, value): Pair<'_>, found: bool) -> Result<()> {
        self.check_pair((key, value))?;
        if found {
            let there = self.finger.path().cell(self.pages)?;
            // A long value of a long key lies in a tree of its own, which goes.
            if there.kind != PayloadKind::Inline {
                return self.set_values((key, value)).map(drop);
            }
            if there.payload == value {
                return Ok(());
            }
        }
        self.put_first((key, value), found)
    }

    /// Adds values, which rise, to a tree of them, whose record lies where the finger points; how
    /// many were not there.
    fn grow_tree(
        &mut self,
        mut values: Tree,
        key: &[u8],
        row: &[&[u8]],
        mode: PairMode,
    ) -> Result<u64> {
        let mode = match mode {
            PairMode::Append => PutMode::Append,
            PairMode::Insert | PairMode::NewKey => PutMode::InsertNew,
        };
        let (before, shape) = (values.entries, self.pages.shape());
        self.values(&mut values, |tree| {
            let mut put = |value| tree.put(value, NewValue::Bytes(&[]), mode).map(drop);
            row.iter().try_for_each(|value| put(value))
        })?;
        let more = values.entries - before;
        if more != 0 {
            // V3: without a page that came or went, no page but leaves of values was edited.
            if self.pages.shape() != shape || !values.has_fixed_leaves() {
                check_path(self.pages, self.finger.path(), key)?;
            }
            self.count_more(more, row[0])?;
            let (kind, payload) = (PayloadKind::DuplicateTree, &values.encode());
            self.put_values(&NewCell { key, kind, payload }, true)?;
        }
        Ok(more)
    }

    /// Gives values a tree of their own. They rise, unless the file is damaged or a caller's
    /// comparator is no total order: no refusal, since the cell is changed already, or pages were
    /// taken.
    fn plant_tree(&mut self, all: &Flat) -> Result<Tree> {
        let mut values = self.tree.of_values();
        let count = all.count() - usize::from(planted::is(Bug::LastValueLost));
        let root = self.tree.root;
        self.values(&mut values, |tree| {
            let mut builder = Builder::new(*tree.tree, tree.order);
            let mut push = |value| match builder.push(tree.pages, value, &[]) {
                Err(Error::KeyOutOfOrder) => Err(damaged(root, Reason::Order)),
                pushed => pushed,
            };
            all.iter().take(count).try_for_each(&mut push)?;
            *tree.tree = builder.finish(tree.pages)?;
            Ok(())
        })?;
        Ok(values)
    }

    /// Takes a value from those of a key; whether it was there. A key without values is gone.
    pub(crate) fn delete_pair(&mut self, (key, value): Pair<'_>) -> Result<bool> {
        check_native(self.tree, key)?;
        if !self.keys().seek(key)? {
            return Ok(false);
        }
        let held = self.held_here()?;
        if !held.holds(self.pages, self.order.values, value)? {
            return Ok(false);
        }
        if held.count() == 1 {
            return self.keys().delete(key, Whose::Engine);
        }
        let mut payload = Vec::new();
        let kind = match held {
            KeyValues::Few(set) => self.take_from_few(set, value, &mut payload)?,
            KeyValues::Tree(values) => {
                let kind = self.take_from_tree(values, (key, value), &mut payload)?;
                check_path(self.pages, self.finger.path(), key)?;
                kind
            }
        };
        self.tree.entries = self.tree.entries.checked_sub(1).ok_or_else(|| self.false_count())?;
        self.put_values(&NewCell { key, kind, payload: &payload }, true)?;
        Ok(true)
    }

    fn take_from_few(
        &self,
        set: ValueSet<'_>,
        value: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<PayloadKind> {
        let at = set.search(self.order.values, value).unwrap_or_else(|at| at);
        let rest = (0..set.count() - 1).map(|i| set.value(if i < at { i } else { i + 1 }));
        let kind = write_values(payload, rest, self.tree.fixed_bytes as usize, usize::MAX);
        // Less than there was always fits.
        kind.on(self.tree.root)?.ok_or_else(|| self.false_count())
    }

    fn take_from_tree(
        &mut self,
        mut values: Tree,
        (key, value): Pair<'_>,
        payload: &mut Vec<u8>,
    ) -> Result<PayloadKind> {
        let max = cell_bytes_max(self.pages, key) / 2;
        let few = self.values(&mut values, |tree| {
            tree.delete(value, Whose::Engine)?;
            let few = match tree.tree.depth {
                1 => few_of_tree(tree, max, payload)?,
                _ => None,
            };
            if few.is_some() {
                tree.clear()?;
            }
            Ok(few)
        })?;
        if let Some(kind) = few {
            return Ok(kind);
        }
        payload.try_set(&values.encode())?;
        Ok(PayloadKind::DuplicateTree)
    }

    /// Puts the value of the pair in the place of `old` among those of its key; whether `old` was
    /// there.
    pub(crate) fn replace_pair(&mut self, (key, value): Pair<'_>, old: &[u8]) -> Result<bool> {
        self.check_pair((key, value))?;
        if !self.view().holds((key, old))? {
            return Ok(false);
        }
        if old != value {
            self.delete_pair((key, old))?;
            self.put_pair((key, value), PairMode::Insert)?;
        }
        Ok(true)
    }

    /// Gives a key this value and no other; how many others there were.
    pub(crate) fn set_values(&mut self, (key, value): Pair<'_>) -> Result<u64> {
        self.check_pair((key, value))?;
        let others = match self.view().keys().held(key)? {
            None => 0,
            Some(held) => {
                let count = held.count();
                let there = held.holds(self.pages, self.order.values, value)?;
                if there && count == 1 {
                    return Ok(0);
                }
                count - u64::from(there)
            }
        };
        self.keys().delete_values(key)?;
        self.put_pair((key, value), PairMode::Insert)?;
        Ok(others)
    }
}

impl<O: KeyOrder> TreeMut<'_, O> {
    /// Takes a key of a multimap with all its values; how many there were.
    pub(crate) fn delete_values(&mut self, key: &[u8]) -> Result<u64> {
        let before = self.tree.entries;
        self.delete(key, Whose::Engine)?;
        Ok(before - self.tree.entries)
    }
}

/// Refuses what cannot be a pair of the multimap `tree`.
pub(super) fn check_pair(pages: &Pages, tree: &Tree, (key, value): Pair<'_>) -> Result<()> {
    check_key(pages, tree, key)?;
    let Some(many) = tree.many else { return Err(Error::TableKind) };
    let (bytes, max) = (value.len(), page::key_bytes_max(pages.page_bytes()));
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
                leaf.count() == frame.count && leaf.key(frame.index).on(frame.ptr)? == key
            }
        };
        if !stands {
            return Err(damaged(frame.ptr, Reason::Cycle));
        }
    }
    Ok(())
}

/// Values that were copied: their bytes, and where each ends.
#[derive(Default)]
pub(crate) struct Flat {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Flat {
    fn of<'v>(values: impl Iterator<Item = &'v [u8]>) -> Reserved<Flat> {
        let mut flat = Flat::default();
        for value in values {
            flat.push(value)?;
        }
        Ok(flat)
    }

    /// Makes room for so many values that have so many bytes each.
    pub(crate) fn reserve(&mut self, count: usize, value_bytes: usize) -> Reserved<()> {
        self.ends.try_reserve(count)?;
        self.bytes.try_reserve(count.saturating_mul(value_bytes))
    }

    pub(crate) fn push(&mut self, value: &[u8]) -> Reserved<()> {
        self.bytes.try_reserve(value.len())?;
        self.bytes.extend_from_slice(value);
        self.ends.try_push(self.bytes.len())
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes they have together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn last(&self) -> Option<&[u8]> {
        let start = self.ends.iter().nth_back(1).copied().unwrap_or(0);
        self.ends.last().map(|&end| &self.bytes[start..end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        (0..self.ends.len()).map(move |i| &self.bytes[start(i)..self.ends[i]])
    }
}

/// The values of a set and those of a row, which rise: what is in both, or twice, once.
fn merged<'v>(
    set: Option<ValueSet<'v>>,
    row: &[&'v [u8]],
    order: AnyOrder<'_>,
) -> Reserved<Vec<&'v [u8]>> {
    let mut all: Vec<&[u8]> = Vec::new();
    all.try_reserve(row.len() + set.map_or(0, |set| set.count()))?;
    let mut held = set.map(ValueSet::items);
    let mut next = || held.as_mut()?.next();
    let mut low = next();
    for &value in row {
        while let Some(lower) = low.filter(|low| order.compare(low, value).is_lt()) {
            all.push(lower);
            low = next();
        }
        let is_there =
            |there: Option<&[u8]>| there.is_some_and(|there| order.compare(there, value).is_eq());
        if !is_there(low) && !is_there(all.last().copied()) {
            all.push(value);
        }
    }
    all.extend(low);
    all.extend(std::iter::from_fn(next));
    Ok(all)
}

/// Bytes of values that fit the cell of a key.
pub(super) fn cell_bytes_max(pages: &Pages, key: &[u8]) -> usize {
    let half = (pages.page_bytes() - page::HEADER_BYTES) / 2;
    half.saturating_sub(page::leaf_cell_bytes(key.len(), 0)).max(TREE_BYTES)
}

/// Writes the values of a tree of a single leaf as a cell holds them, if they take no more than
/// `max` bytes.
fn few_of_tree<O: Copy>(
    values: &TreeMut<'_, O>,
    max: usize,
    payload: &mut Vec<u8>,
) -> Result<Option<PayloadKind>> {
    let all = Bound::Unbounded;
    let view = TreeView::unordered(&*values.pages, values.tree);
    let mut span: Span<'_, _, page::AnyLeaf<'_>> = Span::new(view, all, all)?;
    let mut flat = Flat::default();
    while let Some(value) = span.next()? {
        if flat.bytes() + value.len() > max {
            return Ok(None);
        }
        flat.push(value)?;
    }
    let fixed_bytes = values.tree.fixed_bytes as usize;
    write_values(payload, flat.iter(), fixed_bytes, max).on(values.tree.root)
}
