//! Iterating a tree: a borrowing cursor with two ends.
//!
//! A [`Span`] is the part of a tree between two places. Its places are items (T1), so both ends can
//! move until they meet, and no key is compared on the way.

use std::ops::Bound;

use crate::error::Result;
use crate::page::{Cell, KeyOrder, Leaf, Tree};
use crate::store::source::{PageSource, damaged};
use crate::tree::path::Path;

/// The items of a tree between two bounds, from both ends.
pub(crate) struct Span<'s, S, O> {
    source: &'s S,
    tree: Tree,
    order: O,
    front: Path,
    /// The leaf under `front`, kept so that a step within it costs no lookup.
    front_leaf: Option<Leaf<'s>>,
    /// The first item that is not part of the span.
    back: Path,
    back_leaf: Option<Leaf<'s>>,
    done: bool,
}

impl<'s, S: PageSource, O: KeyOrder> Span<'s, S, O> {
    /// The items from `from` to `to`. An upper bound below the lower one gives nothing.
    pub(crate) fn new(
        source: &'s S,
        tree: &Tree,
        order: O,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Span<'s, S, O>> {
        let mut span = Span {
            source,
            tree: *tree,
            front: Path::new(),
            front_leaf: None,
            back: Path::new(),
            back_leaf: None,
            done: tree.depth == 0 || is_reversed(order, from, to),
            order,
        };
        if !span.done {
            place(source, tree, order, &mut span.front, from, Edge::Lower)?;
            place(source, tree, order, &mut span.back, to, Edge::Upper)?;
            span.done = span.front.same_place(&span.back);
        }
        Ok(span)
    }

    /// The next item from the front.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Cell<'s>>> {
        if self.done {
            return Ok(None);
        }
        let frame = *self.front.last();
        let leaf = match self.front_leaf {
            Some(leaf) => leaf,
            None => *self.front_leaf.insert(self.source.leaf(frame.ptr)?),
        };
        let cell = leaf.cell(frame.index).map_err(|reason| damaged(frame.ptr, reason))?;
        self.front.last_mut().index += 1;
        if frame.index + 1 == frame.count {
            self.front.settle(self.source, &self.tree, self.order)?;
            self.front_leaf = None;
        }
        self.done = self.front.same_place(&self.back);
        Ok(Some(cell))
    }

    /// The next item from the back.
    #[inline]
    pub(crate) fn next_back(&mut self) -> Result<Option<Cell<'s>>> {
        if self.done {
            return Ok(None);
        }
        if self.back.last().index == 0 {
            self.back_leaf = None;
        }
        if !self.back.step_back(self.source, &self.tree, self.order)? {
            self.done = true;
            return Ok(None);
        }
        let frame = *self.back.last();
        let leaf = match self.back_leaf {
            Some(leaf) => leaf,
            None => *self.back_leaf.insert(self.source.leaf(frame.ptr)?),
        };
        self.done = self.front.same_place(&self.back);
        leaf.cell(frame.index).map(Some).map_err(|reason| damaged(frame.ptr, reason))
    }
}

/// Which end of a span a bound is.
#[derive(Clone, Copy)]
pub(crate) enum Edge {
    Lower,
    Upper,
}

/// Puts the path on the first item inside a lower bound, or the first one past an upper bound.
pub(crate) fn place<S: PageSource, O: KeyOrder>(
    source: &S,
    tree: &Tree,
    order: O,
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
            Edge::Lower => path.first(source, tree, order)?,
            Edge::Upper => path.end(source, tree, order)?,
        },
        Bound::Included(key) | Bound::Excluded(key) => {
            if path.seek(source, tree, order, key)? && past(bound) {
                path.last_mut().index += 1;
            }
        }
    }
    path.settle(source, tree, order)
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
