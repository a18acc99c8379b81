//! Iterating a tree from both ends, a leaf at a time, and record by record from what is at hand.
//!
//! A [`LeafSpan`] is the part of a tree between two places, and hands out its leaves. Its places
//! are items (T1), so both ends can move until they meet, and no key is compared on the way.
//!
//! 1. The records that an end has handed out lie behind its path. Where both ends stand in one
//!    leaf, the rest of it goes to the end that asks first.
//! 2. A leaf is read when its items are asked for, not before, so that damage withholds nothing of
//!    the leaves before it. After an error there are no more leaves.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::os::Ahead;
use crate::page::{AnyLeaf, BytesOrder, Cell, KeyOrder, LeafItems, Ptr, Reason, SlottedLeaf, Tree};
use crate::store::source::{PageSource, damaged};
use crate::tree::path::Path;
use crate::tree::view::TreeView;

/// Consecutive items of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<L> {
    ptr: Ptr,
    items: L,
    /// The leaf that comes after this one, if that is known.
    ahead: Ahead,
}

/// Records.
pub(crate) type Cells<'s> = Stretch<SlottedLeaf<'s>>;

impl<'s, L: LeafItems<'s>> Stretch<L> {
    pub(super) const NONE: Stretch<L> =
        Stretch { ptr: Ptr::NONE, items: L::NONE, ahead: Ahead::NONE };

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.items.count()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.count() == 0
    }

    /// Takes the first item off.
    #[inline(always)]
    pub(crate) fn take_first(&mut self) -> Option<Result<L::Item>> {
        self.ahead.ask_on();
        let item = self.items.take_first()?;
        Some(item.map_err(|reason| self.damaged(reason)))
    }

    /// Takes the last item off.
    #[inline(always)]
    pub(crate) fn take_last(&mut self) -> Option<Result<L::Item>> {
        self.ahead.ask_on();
        let item = self.items.take_last()?;
        Some(item.map_err(|reason| self.damaged(reason)))
    }

    #[cfg(test)]
    pub(crate) fn ptr(&self) -> Ptr {
        self.ptr
    }

    #[cold]
    pub(crate) fn damaged(&self, reason: Reason) -> Error {
        damaged(self.ptr, reason)
    }
}

impl<'s> Cells<'s> {
    /// Record `i`; some of the next leaf is asked for with it, as by [`Stretch::take_first`].
    /// Panics if there is none: an internal mistake.
    #[inline(always)]
    pub(crate) fn cell(&self, i: usize) -> Result<Cell<'s>> {
        self.ahead.ask_at(i);
        self.items.cell(i).map_err(|reason| self.damaged(reason))
    }

    /// Whether record `i` is a table's. Panics if there is none: an internal mistake.
    #[inline]
    pub(crate) fn is_table(&self, i: usize) -> bool {
        self.items.is_table(i)
    }

    /// The records before `i`, and those from `i` on.
    pub(crate) fn split_at(self, i: usize) -> (Cells<'s>, Cells<'s>) {
        let (before, after) = self.items.split_at(i);
        (Stretch { items: before, ..self }, Stretch { items: after, ..self })
    }
}

impl<'s> Stretch<AnyLeaf<'s>> {
    /// The keys one behind the other, if all have one length.
    pub(crate) fn packed(&self) -> Option<&'s [u8]> {
        self.items.packed()
    }
}

/// How a tree's leaves are read.
pub(crate) trait ReadLeaf<'s>: LeafItems<'s> {
    fn read<S: PageSource + ?Sized>(source: &'s S, tree: &Tree, ptr: Ptr) -> Result<Self>;
}

impl<'s> ReadLeaf<'s> for SlottedLeaf<'s> {
    #[inline(always)]
    fn read<S: PageSource + ?Sized>(source: &'s S, _: &Tree, ptr: Ptr) -> Result<Self> {
        source.leaf(ptr)
    }
}

impl<'s> ReadLeaf<'s> for AnyLeaf<'s> {
    fn read<S: PageSource + ?Sized>(source: &'s S, tree: &Tree, ptr: Ptr) -> Result<Self> {
        source.any_leaf(tree, ptr)
    }
}

/// The leaves of a tree between two bounds, from both ends.
pub(crate) struct LeafSpan<'s, S: ?Sized> {
    source: &'s S,
    tree: Tree,
    /// The first item that was not handed out from the front; nowhere until the front has begun.
    front: Path,
    /// The first item that is not part of the span, or was handed out from the back; nowhere until
    /// the back has begun where the span goes on to the end.
    back: Path,
    done: bool,
}

impl<'s, S: PageSource + ?Sized> LeafSpan<'s, S> {
    /// The leaves from `from` to `to`. An upper bound below the lower one gives nothing. Costs a
    /// descent for each bound; an open end costs one when it is first asked.
    pub(crate) fn new<O: KeyOrder>(
        view: TreeView<'s, '_, S, O>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<LeafSpan<'s, S>> {
        let mut span = LeafSpan::all(view.source, view.tree);
        span.bound(view.order, from, to)?;
        Ok(span)
    }

    /// All leaves.
    #[inline(always)]
    pub(crate) fn all(source: &'s S, tree: &Tree) -> LeafSpan<'s, S> {
        LeafSpan {
            source,
            tree: *tree,
            front: Path::new(),
            back: Path::new(),
            done: tree.depth == 0,
        }
    }

    /// Makes a span of all leaves, of which none was handed out, that of [`LeafSpan::new`]. In
    /// place: a span is too large to be moved for nothing.
    pub(crate) fn bound<O: KeyOrder>(
        &mut self,
        order: O,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<()> {
        self.done |= is_reversed(order, from, to);
        let view = TreeView::new(self.source, &self.tree, order);
        if !self.done && from != Bound::Unbounded {
            place(view, &mut self.front, from, Edge::Lower)?;
        }
        if !self.done && to != Bound::Unbounded {
            place(view, &mut self.back, to, Edge::Upper)?;
        }
        Ok(())
    }

    /// Puts the items of the next leaf from the front into `out`; there are none of them if there
    /// are no more leaves. In place: they are too large to be moved for nothing.
    pub(crate) fn next<L: ReadLeaf<'s>>(&mut self, out: &mut Stretch<L>) -> Result<()> {
        *out = Stretch::NONE;
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        self.source.check_alive()?;
        if self.front.is_nowhere() {
            self.front.first(TreeView::unordered(self.source, &self.tree))?;
        }
        self.front.settle(TreeView::unordered(self.source, &self.tree))?;
        if !self.front.on_item() || self.front.same_place(&self.back) {
            return Ok(());
        }
        let frame = *self.front.last();
        let met = self.back.index_in(frame.ptr);
        let until = met.unwrap_or(frame.count);
        let items = self.items(frame.ptr, frame.index, until)?;
        *out = Stretch { ptr: frame.ptr, items, ahead: self.front.ahead };
        self.front.last_mut().index = until;
        self.done = met.is_some();
        Ok(())
    }

    /// As [`LeafSpan::next`], from the back.
    pub(crate) fn next_back<L: ReadLeaf<'s>>(&mut self, out: &mut Stretch<L>) -> Result<()> {
        *out = Stretch::NONE;
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        self.source.check_alive()?;
        if self.back.is_nowhere() {
            self.back.end(TreeView::unordered(self.source, &self.tree))?;
        }
        if !self.front.same_place(&self.back) {
            self.back.settle_back(TreeView::unordered(self.source, &self.tree))?;
        }
        if self.back.last().index == 0 || self.front.same_place(&self.back) {
            return Ok(());
        }
        let frame = *self.back.last();
        let met = self.front.index_in(frame.ptr);
        let from = met.unwrap_or(0);
        let items = self.items(frame.ptr, from, frame.index)?;
        *out = Stretch { ptr: frame.ptr, items, ahead: self.back.ahead };
        self.back.last_mut().index = from;
        self.done = met.is_some();
        Ok(())
    }

    #[inline(always)]
    fn items<L: ReadLeaf<'s>>(&self, ptr: Ptr, from: usize, until: usize) -> Result<L> {
        // In a damaged tree the ends may meet the wrong way round.
        let items = L::read(self.source, &self.tree, ptr)?.slice(from, until);
        items.ok_or_else(|| damaged(ptr, Reason::Cycle))
    }
}

/// The items that both ends of a span have at hand.
pub(crate) struct Items<L> {
    front: Stretch<L>,
    back: Stretch<L>,
}

impl<'s, L: LeafItems<'s>> Items<L> {
    pub(crate) fn new() -> Items<L> {
        Items { front: Stretch::NONE, back: Stretch::NONE }
    }

    /// The next item from the front; `more` puts the items of the next leaf somewhere. Costs a look
    /// at one slot and one cell, and once in a leaf the step to it.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
    ) -> Result<Option<L::Item>> {
        if self.front.is_empty() {
            fill(&mut self.front, &mut self.back, more)?;
        }
        self.front.take_first().transpose()
    }

    /// The next item from the back; `more` gives the items of the next leaf.
    #[inline(always)]
    pub(crate) fn next_back(
        &mut self,
        more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
    ) -> Result<Option<L::Item>> {
        if self.back.is_empty() {
            fill(&mut self.back, &mut self.front, more)?;
        }
        self.back.take_last().transpose()
    }

    /// All items of a leaf that are next from the front.
    pub(crate) fn next_leaf(
        &mut self,
        more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
    ) -> Result<Option<Stretch<L>>> {
        take_leaf(&mut self.front, &mut self.back, more)
    }

    /// All items of a leaf that are next from the back.
    pub(crate) fn next_leaf_back(
        &mut self,
        more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
    ) -> Result<Option<Stretch<L>>> {
        take_leaf(&mut self.back, &mut self.front, more)
    }

    /// Gives items back that [`Items::next_leaf`] took.
    pub(crate) fn put_back_front(&mut self, rest: Stretch<L>) {
        self.front = rest;
    }

    /// Gives items back that [`Items::next_leaf_back`] took.
    pub(crate) fn put_back_back(&mut self, rest: Stretch<L>) {
        self.back = rest;
    }
}

/// Puts the next leaf at hand for an end that has nothing at hand, else what the other end has
/// left.
#[inline(never)]
fn fill<'s, L: LeafItems<'s>>(
    this: &mut Stretch<L>,
    other: &mut Stretch<L>,
    more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
) -> Result<()> {
    let done = more(this);
    if done.is_err() {
        *other = Stretch::NONE;
    } else if this.is_empty() {
        std::mem::swap(this, other);
    }
    done
}

/// Takes all that this end has at hand, or would have next.
fn take_leaf<'s, L: LeafItems<'s>>(
    this: &mut Stretch<L>,
    other: &mut Stretch<L>,
    more: impl FnOnce(&mut Stretch<L>) -> Result<()>,
) -> Result<Option<Stretch<L>>> {
    if this.is_empty() {
        fill(this, other, more)?;
    }
    Ok(Some(std::mem::replace(this, Stretch::NONE)).filter(|taken| !taken.is_empty()))
}

/// The items of a tree between two bounds, from both ends.
pub(crate) struct Span<'s, S: ?Sized, L = SlottedLeaf<'s>> {
    leaves: LeafSpan<'s, S>,
    items: Items<L>,
}

impl<'s, S: PageSource + ?Sized, L: ReadLeaf<'s>> Span<'s, S, L> {
    /// As [`LeafSpan::new`].
    pub(crate) fn new<O: KeyOrder>(
        view: TreeView<'s, '_, S, O>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Span<'s, S, L>> {
        let leaves = LeafSpan::new(view, from, to)?;
        Ok(Span { leaves, items: Items::new() })
    }

    /// The next item from the front.
    pub(crate) fn next(&mut self) -> Result<Option<L::Item>> {
        let leaves = &mut self.leaves;
        self.items.next(|out| leaves.next(out))
    }

    /// The next item from the back.
    pub(crate) fn next_back(&mut self) -> Result<Option<L::Item>> {
        let leaves = &mut self.leaves;
        self.items.next_back(|out| leaves.next_back(out))
    }

    /// All items of a leaf that are next from the front.
    pub(crate) fn next_leaf(&mut self) -> Result<Option<Stretch<L>>> {
        let leaves = &mut self.leaves;
        self.items.next_leaf(|out| leaves.next(out))
    }
}

/// The two places that bound a part of a tree, to be moved towards each other record by record. The
/// holder of the places keeps the pages and the tree's record, so it may be the owner of both.
pub(crate) struct Ends {
    pub(super) front: Path,
    pub(super) back: Path,
    pub(super) done: bool,
}

impl Ends {
    /// As [`LeafSpan::new`].
    pub(crate) fn new<S: PageSource + ?Sized, O: KeyOrder>(
        view: TreeView<'_, '_, S, O>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Ends> {
        let LeafSpan { front, back, done, .. } = LeafSpan::new(view, from, to)?;
        Ok(Ends { front, back, done })
    }

    /// The next record from the front. After an error there are no more.
    pub(crate) fn next<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
    ) -> Result<Option<Cell<'s>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        view.source.check_alive()?;
        if self.front.is_nowhere() {
            self.front.first(view)?;
        }
        self.front.settle(view)?;
        if !self.front.on_item() || self.front.same_place(&self.back) {
            return Ok(None);
        }
        let cell = self.front.cell(view.source)?;
        self.front.step();
        self.done = false;
        Ok(Some(cell))
    }

    /// The next record from the back.
    pub(crate) fn next_back<'s, S: PageSource + ?Sized>(
        &mut self,
        view: TreeView<'s, '_, S, BytesOrder>,
    ) -> Result<Option<Cell<'s>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        view.source.check_alive()?;
        if self.back.is_nowhere() {
            self.back.end(view)?;
        }
        if self.front.same_place(&self.back) || !self.back.step_back(view)? {
            return Ok(None);
        }
        let cell = self.back.cell(view.source)?;
        self.done = false;
        Ok(Some(cell))
    }
}

/// Which end of a span a bound is.
#[derive(Clone, Copy)]
pub(crate) enum Edge {
    Lower,
    Upper,
}

/// Puts the path on the first item inside a lower bound, or the first one past an upper bound.
pub(crate) fn place<S: PageSource + ?Sized, O: KeyOrder>(
    view: TreeView<'_, '_, S, O>,
    path: &mut Path,
    bound: Bound<&[u8]>,
    edge: Edge,
) -> Result<()> {
    let past = |bound| {
        matches!(
            (bound, edge),
            (Bound::Excluded(_), Edge::Lower) | (Bound::Included(_), Edge::Upper)
        )
    };
    match bound {
        Bound::Unbounded => match edge {
            Edge::Lower => path.first(view)?,
            Edge::Upper => path.end(view)?,
        },
        Bound::Included(key) | Bound::Excluded(key) => {
            if path.seek(view, key)? && past(bound) {
                path.last_mut().index += 1;
            }
        }
    }
    path.settle(view)
}

/// Whether no key can lie between the bounds because the upper one is below the lower one.
pub(crate) fn is_reversed<O: KeyOrder>(order: O, from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(from), Bound::Included(to)) => order.compare(from, to).is_gt(),
        (
            Bound::Included(from) | Bound::Excluded(from),
            Bound::Included(to) | Bound::Excluded(to),
        ) => order.compare(from, to).is_ge(),
    }
}
