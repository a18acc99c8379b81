//! A place between two pairs of a multimap, and the pairs between two places.

use std::ops::Bound;

use crate::error::Result;
use crate::page::{BytesOrder, KeyOrder, Reason, SlottedLeaf, Tree};
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::cursor::Ends;
use crate::tree::frames::Frame;
use crate::tree::path::{InLeaf, Passed, Path};
use crate::tree::values::{KeyValues, Orders, Pair};
use crate::tree::view::TreeView;

/// A place between two pairs of a multimap, as paths: see [`Path`].
///
/// V5. `keys` stands on the key whose values are next, or at the end. `inner` is the place among
///     its values: before one of the few, by number, or a path in their tree. `None`: before the
///     first of them.
#[derive(Clone)]
pub(crate) struct PairPath {
    pub(crate) keys: Path,
    inner: Option<ValuePlace>,
}

#[derive(Clone)]
enum ValuePlace {
    Few(usize),
    Tree(Box<(Tree, Path)>),
}

impl PairPath {
    pub(crate) fn new() -> PairPath {
        PairPath { keys: Path::new(), inner: None }
    }

    /// Before the first pair.
    pub(crate) fn first<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, BytesOrder>,
    ) -> Result<()> {
        self.inner = None;
        self.keys.first(view)?;
        self.keys.settle(view)
    }

    /// Behind the last pair.
    pub(crate) fn end<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, BytesOrder>,
    ) -> Result<()> {
        self.inner = None;
        self.keys.end(view)
    }

    /// Before the values of a key, or behind them.
    pub(crate) fn seek_key<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, Orders<'_>>,
        key: &[u8],
        behind: bool,
    ) -> Result<()> {
        self.inner = None;
        if self.keys.seek(view.keys(), key)? && behind {
            self.keys.last_mut().index += 1;
        }
        self.keys.settle(view.keys())
    }

    /// Before a pair, or behind it, whether it is there or not.
    pub(crate) fn seek<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, Orders<'_>>,
        (key, value): Pair<'_>,
        behind: bool,
    ) -> Result<()> {
        self.inner = None;
        if !self.keys.seek(view.keys(), key)? {
            return self.keys.settle(view.keys());
        }
        let (_, held) = self.held(view.source, view.tree)?;
        self.inner = Some(match held {
            KeyValues::Few(set) => ValuePlace::Few(match set.search(view.order.values, value) {
                Ok(at) => at + usize::from(behind),
                Err(at) => at,
            }),
            KeyValues::Tree(values) => {
                let mut path = Path::new();
                if path.seek(view.values(&values), value)? && behind {
                    path.last_mut().index += 1;
                }
                path.settle(view.values(&values))?;
                ValuePlace::Tree(Box::new((values, path)))
            }
        });
        Ok(())
    }

    /// Steps over the next pair, or the one before.
    pub(crate) fn step<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
        forward: bool,
    ) -> Result<Option<Pair<'s>>> {
        loop {
            if self.keys.on_item() {
                let (key, held) = self.held(view.source, view.tree)?;
                if let Some(value) = self.step_inside(view.source, held, forward)? {
                    return Ok(Some((key, value)));
                }
            }
            // V5: the values of this key have ended on this side.
            if !forward {
                if !self.keys.step_back(view)? {
                    return Ok(None);
                }
                self.inner = Some(self.behind_all(view)?);
            } else if self.keys.on_item() {
                self.inner = None;
                self.keys.step();
                self.keys.settle(view)?;
            } else {
                return Ok(None);
            }
        }
    }

    /// The same over `most` pairs at most whose values lie with their keys in the leaf at hand.
    /// Stops before what lies elsewhere, or cannot be read. How many it passed; where that is some,
    /// and not `most`, they end with the last value of a key.
    #[inline(always)]
    pub(crate) fn pass_in_leaf<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
        forward: bool,
        most: usize,
        mut each: impl FnMut(&'s [u8], &'s [u8], Passed),
    ) -> usize {
        let frame = *self.keys.last();
        let Some(page) = view.source.bytes_again(frame.ptr) else { return 0 };
        let Ok(leaf) = SlottedLeaf::view(page, frame.count) else { return 0 };
        let set = |at: usize| {
            let cell = if at < frame.count { leaf.cell(at).ok()? } else { return None };
            match KeyValues::of(view.tree, &cell) {
                Ok(KeyValues::Few(set)) => Some((cell.key, set)),
                _ => None,
            }
        };
        let (mut left, mut key_index) = (most, frame.index);
        let Some((mut key, mut values)) = set(key_index) else { return 0 };
        let inner = self.inner.get_or_insert(ValuePlace::Few(0));
        let ValuePlace::Few(index) = inner else { return 0 };
        let mut is_same = if forward { *index > 0 } else { *index < values.count() };
        loop {
            let at = (*index).min(values.count());
            let count = left.min(if forward { values.count() - at } else { at });
            for step in 0..count {
                let (at, next) = if forward {
                    (at + step, at + step + 1)
                } else {
                    (at - step - 1, at - step - 1)
                };
                let place = InLeaf::new(key_index, next);
                let (count, is_same_key) =
                    (most - left + step, std::mem::replace(&mut is_same, true));
                each(key, values.value(at), Passed { count, place: Some(place), is_same_key });
            }
            *index = if forward { at + count } else { at - count };
            left -= count;
            if left == 0 {
                return most;
            }
            let beside = if forward { key_index + 1 } else { key_index.wrapping_sub(1) };
            let Some(next) = set(beside) else { return most - left };
            ((key, values), is_same, key_index) = (next, false, beside);
            *index = if forward { 0 } else { values.count() };
            self.keys.last_mut().index = key_index;
            self.keys.ahead.ask_on();
        }
    }

    /// As [`Path::leave_leaf`], behind the last value in a leaf, of a key with few.
    pub(crate) fn leave_leaf<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, BytesOrder>,
        forward: bool,
    ) -> Result<()> {
        let Frame { index, count, .. } = *self.keys.last();
        let is_last = if forward { index + 1 == count } else { index == 0 };
        if !is_last || !self.has_passed_key(view, forward)? {
            return Ok(());
        }
        if forward {
            self.inner = None;
            self.keys.step();
            self.keys.settle(view)?;
        } else if self.keys.step_back(view)? {
            self.inner = Some(self.behind_all(view)?);
        }
        Ok(())
    }

    /// Where it stands in the leaf at hand.
    pub(crate) fn in_leaf(&self) -> InLeaf {
        let value = if let Some(ValuePlace::Few(index)) = self.inner { index } else { 0 };
        InLeaf::new(self.keys.last().index, value)
    }

    /// Goes to a place of [`PairPath::pass_in_leaf`] in the same leaf.
    pub(crate) fn go_in_leaf(&mut self, place: InLeaf) {
        self.keys.go_in_leaf(place);
        if let Some(ValuePlace::Few(index)) = &mut self.inner {
            *index = place.value();
        }
    }

    /// The same within the values of the key at hand; `None`, and nothing has moved: it has no more
    /// on that side.
    pub(crate) fn step_value<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
        forward: bool,
    ) -> Result<Option<Pair<'s>>> {
        if !self.keys.on_item() {
            // Behind the last key: the pair passed last was the last one.
            return Ok(None);
        }
        let (key, held) = self.held(view.source, view.tree)?;
        let value = self.step_inside(view.source, held, forward)?;
        Ok(value.map(|value| (key, value)))
    }

    /// Whether the pair passed last, that way, was the last one of its key; `false` also where the
    /// key has more than few values.
    pub(crate) fn has_passed_key<S: PageSource + ?Sized>(
        &self,
        view: TreeView<'_, '_, S, BytesOrder>,
        forward: bool,
    ) -> Result<bool> {
        let Some(ValuePlace::Few(index)) = self.inner else { return Ok(false) };
        if !forward || !self.keys.on_item() {
            return Ok(!forward && index == 0);
        }
        let (_, held) = self.held(view.source, view.tree)?;
        Ok(matches!(held, KeyValues::Few(set) if index >= set.count()))
    }

    /// Steps over a value of the key at hand. `None`: there are no more on that side.
    fn step_inside<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        held: KeyValues<'s>,
        forward: bool,
    ) -> Result<Option<&'s [u8]>> {
        let inner = match (&mut self.inner, &held) {
            // Before its first value.
            (None, _) if !forward => return Ok(None),
            (Some(inner), _) => inner,
            (place @ None, KeyValues::Few(_)) => place.insert(ValuePlace::Few(0)),
            (place @ None, KeyValues::Tree(values)) => {
                let mut path = Path::new();
                path.first(TreeView::unordered(source, values))?;
                place.insert(ValuePlace::Tree(Box::new((*values, path))))
            }
        };
        match (inner, held) {
            (ValuePlace::Few(index), KeyValues::Few(set)) => {
                let at = if forward { Some(*index) } else { index.checked_sub(1) };
                let Some(at) = at.filter(|&at| at < set.count()) else { return Ok(None) };
                *index = if forward { at + 1 } else { at };
                Ok(Some(set.value(at)))
            }
            (ValuePlace::Tree(inner), _) => {
                let (values, path) = &mut **inner;
                step_values(TreeView::unordered(source, values), path, forward)
            }
            // The same version of the tree holds the same.
            (ValuePlace::Few(_), KeyValues::Tree(values)) => {
                Err(damaged(values.root, Reason::Tree))
            }
        }
    }

    /// Leaves the end of a key's values for the next key, so that a place has one path only.
    fn settle<S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'_, '_, S, BytesOrder>,
    ) -> Result<()> {
        let is_behind_all = match &mut self.inner {
            None => false,
            Some(ValuePlace::Few(index)) => {
                let cell = self.keys.cell(view.source)?;
                let held = KeyValues::of(view.tree, &cell).on(self.keys.last().ptr)?;
                *index as u64 >= held.count()
            }
            Some(ValuePlace::Tree(inner)) => {
                let (values, path) = &mut **inner;
                path.settle(TreeView::unordered(view.source, values))?;
                !path.on_item()
            }
        };
        if is_behind_all {
            self.inner = None;
            self.keys.step();
            self.keys.settle(view)?;
        }
        Ok(())
    }

    /// Whether two settled paths of one multimap lead to the same place.
    fn same_place(&self, other: &PairPath) -> bool {
        self.keys.same_place(&other.keys)
            && match (&self.inner, &other.inner) {
                (Some(ValuePlace::Few(one)), Some(ValuePlace::Few(other))) => one == other,
                (Some(ValuePlace::Tree(one)), Some(ValuePlace::Tree(other))) => {
                    one.1.same_place(&other.1)
                }
                _ => self.is_before_all() && other.is_before_all(),
            }
    }

    /// Whether the place is before all values of the key at hand.
    fn is_before_all(&self) -> bool {
        match &self.inner {
            None => true,
            Some(ValuePlace::Few(index)) => *index == 0,
            Some(ValuePlace::Tree(inner)) => inner.1.on_left_edge() && inner.1.last().index == 0,
        }
    }

    /// The place behind all values of the key at hand.
    fn behind_all<S: PageSource + ?Sized>(
        &self,
        view: TreeView<'_, '_, S, BytesOrder>,
    ) -> Result<ValuePlace> {
        Ok(match self.held(view.source, view.tree)?.1 {
            KeyValues::Few(set) => ValuePlace::Few(set.count()),
            KeyValues::Tree(values) => {
                let mut path = Path::new();
                path.end(TreeView::unordered(view.source, &values))?;
                ValuePlace::Tree(Box::new((values, path)))
            }
        })
    }

    /// The key at hand, and what it holds.
    fn held<'s, S: PageSource + ?Sized>(
        &self,
        source: &'s S,
        tree: &Tree,
    ) -> Result<(&'s [u8], KeyValues<'s>)> {
        let cell = self.keys.cell(source)?;
        Ok((cell.key, KeyValues::of(tree, &cell).on(self.keys.last().ptr)?))
    }
}

/// The two places that bound a part of a multimap, to be moved towards each other pair by pair; as
/// [`Ends`].
pub(crate) struct PairEnds {
    front: PairPath,
    back: PairPath,
    done: bool,
}

impl PairEnds {
    /// The pairs whose keys lie between two bounds; costs what [`Ends::new`] does.
    pub(crate) fn new<S: PageSource + ?Sized, O: KeyOrder>(
        view: TreeView<'_, '_, S, O>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<PairEnds> {
        let Ends { front, back, done } = Ends::new(view, from, to)?;
        let at = |keys| PairPath { keys, inner: None };
        Ok(PairEnds { front: at(front), back: at(back), done })
    }

    /// The next pair from the front, or from the back. After an error there are no more.
    pub(crate) fn step<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
        forward: bool,
    ) -> Result<Option<Pair<'s>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        view.source.check_alive()?;
        // An open end begins when it is first asked.
        if forward && self.front.keys.is_nowhere() {
            self.front.first(view)?;
        }
        if !forward && self.back.keys.is_nowhere() {
            self.back.end(view)?;
        }
        self.front.settle(view)?;
        if self.front.same_place(&self.back) {
            return Ok(None);
        }
        let end = if forward { &mut self.front } else { &mut self.back };
        let pair = end.step(view, forward)?;
        self.done = pair.is_none();
        Ok(pair)
    }
}

/// Steps over the next key of a tree of values, or the one before.
fn step_values<'s, S: PageSource + ?Sized>(
    values: TreeView<'s, '_, S, BytesOrder>,
    path: &mut Path,
    forward: bool,
) -> Result<Option<&'s [u8]>> {
    if forward {
        path.settle(values)?;
    }
    let steps = if forward { path.on_item() } else { path.step_back(values)? };
    if !steps {
        return Ok(None);
    }
    let frame = *path.last();
    let value = values.leaf(frame.ptr)?.key(frame.index);
    if forward {
        path.step();
    }
    value.map(Some).on(frame.ptr)
}
