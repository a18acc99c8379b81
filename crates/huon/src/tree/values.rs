//! Reading the values of a multimap's key, and its pairs.
//!
//! V1. What the cell of a key holds is at least one value: few of them in the cell itself, more in
//!     a tree of their own, whose keys they are.

use std::ops::Bound;

use crate::error::Result;
use crate::page::{
    AnyLeaf, AnyOrder, Cell, KeyOrder, PayloadKind, Reason, SetItems, Tree, ValueSet,
};
use crate::store::source::{OnPage, PageSource};
use crate::tree::cursor::{Span, is_reversed};
use crate::tree::path::Path;
use crate::tree::view::TreeView;

/// The values of a key.
pub(crate) enum Held<'p> {
    Few(ValueSet<'p>),
    Tree(Tree),
}

impl<'p> Held<'p> {
    /// What the cell of a key of the multimap `tree` holds.
    pub(crate) fn of(tree: &Tree, cell: &Cell<'p>) -> std::result::Result<Held<'p>, Reason> {
        let fixed_bytes = tree.fixed_bytes as usize;
        match cell.kind {
            PayloadKind::Inline if fixed_bytes != 0 && cell.payload.len() != fixed_bytes => {
                Err(Reason::Cell)
            }
            PayloadKind::Inline => Ok(Held::Few(ValueSet::single(cell.payload, fixed_bytes))),
            PayloadKind::DuplicateSet => ValueSet::view(cell.payload, fixed_bytes).map(Held::Few),
            PayloadKind::DuplicateTree => tree.decode_values(cell.payload).map(Held::Tree),
            PayloadKind::Run | PayloadKind::Table => Err(Reason::CellKind),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Held::Few(set) => set.count() as u64,
            Held::Tree(values) => values.entries,
        }
    }

    /// Whether `value` is one of them.
    pub(crate) fn holds<S: PageSource + ?Sized>(
        &self,
        source: &S,
        order: AnyOrder<'_>,
        value: &[u8],
    ) -> Result<bool> {
        match self {
            Held::Few(set) => Ok(set.search(order, value).is_ok()),
            Held::Tree(values) => Path::new().seek(TreeView::new(source, values, order), value),
        }
    }

    /// How many levels they have: 0, if there is only one.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Held::Few(set) => u32::from(set.count() > 1),
            Held::Tree(values) => values.depth.into(),
        }
    }
}

/// How the keys of a multimap compare, and the values of one.
#[derive(Clone, Copy)]
pub(crate) struct Orders<'o> {
    pub(crate) keys: AnyOrder<'o>,
    pub(crate) values: AnyOrder<'o>,
}

impl<'s, 't, 'o, S: ?Sized> TreeView<'s, 't, S, Orders<'o>> {
    /// The tree of the keys.
    #[inline]
    pub(crate) fn keys(&self) -> TreeView<'s, 't, S, AnyOrder<'o>> {
        self.ordered_by(self.order.keys)
    }

    /// A tree of values.
    #[inline]
    pub(crate) fn values<'v>(&self, values: &'v Tree) -> TreeView<'s, 'v, S, AnyOrder<'o>> {
        TreeView::new(self.source, values, self.order.values)
    }
}

impl<'s, S: PageSource + ?Sized> TreeView<'s, '_, S, Orders<'_>> {
    /// Whether a pair is there.
    pub(crate) fn holds(&self, (key, value): Pair<'_>) -> Result<bool> {
        match self.keys().held(key)? {
            Some(held) => held.holds(self.source, self.order.values, value),
            None => Ok(false),
        }
    }
}

impl<'s, S: PageSource + ?Sized, O: KeyOrder> TreeView<'s, '_, S, O> {
    /// The values of a key of a multimap.
    pub(crate) fn held(&self, key: &[u8]) -> Result<Option<Held<'s>>> {
        let Some(cell) = self.get(key)? else { return Ok(None) };
        Held::of(self.tree, &cell).map(Some).on(self.tree.root)
    }
}

/// Values of one key, from both ends.
pub(crate) enum Values<'s, S: ?Sized> {
    Few(SetItems<'s>),
    Tree(Box<Span<'s, S, AnyOrder<'s>, AnyLeaf<'s>>>),
}

impl<'s, S: PageSource + ?Sized> Values<'s, S> {
    /// Those between two bounds of what a cell holds.
    pub(crate) fn new(
        source: &'s S,
        held: Held<'s>,
        order: AnyOrder<'s>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Values<'s, S>> {
        let set = match held {
            Held::Tree(tree) => {
                let view = TreeView::new(source, &tree, order);
                return Ok(Values::Tree(Box::new(Span::new(view, from, to)?)));
            }
            Held::Few(set) => set,
        };
        if is_reversed(order, from, to) {
            return Ok(Values::Few(set.items().between(0, 0)));
        }
        let from = match from {
            Bound::Unbounded => 0,
            Bound::Included(from) => set.search(order, from).unwrap_or_else(|at| at),
            Bound::Excluded(from) => set.search(order, from).map_or_else(|at| at, |at| at + 1),
        };
        let until = match to {
            Bound::Unbounded => set.count(),
            Bound::Included(to) => set.search(order, to).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(to) => set.search(order, to).unwrap_or_else(|at| at),
        };
        Ok(Values::Few(set.items().between(from, until)))
    }

    pub(crate) fn next(&mut self) -> Result<Option<&'s [u8]>> {
        match self {
            Values::Few(items) => Ok(items.next()),
            Values::Tree(span) => span.next(),
        }
    }

    /// All values of a page that are next from the front, one behind the other. `None`: there are
    /// no more, or they have not one length.
    pub(crate) fn next_packed(&mut self) -> Result<Option<&'s [u8]>> {
        let packed = match self {
            Values::Few(items) => items.take_packed(),
            Values::Tree(span) => span.next_leaf()?.and_then(|leaf| leaf.packed()),
        };
        Ok(packed.filter(|packed| !packed.is_empty()))
    }

    pub(crate) fn next_back(&mut self) -> Result<Option<&'s [u8]>> {
        match self {
            Values::Few(items) => Ok(items.next_back()),
            Values::Tree(span) => span.next_back(),
        }
    }
}

/// A key and a value of it.
pub(crate) type Pair<'s> = (&'s [u8], &'s [u8]);

/// The values of a key on the way to be handed out.
type Ahead<'s, S> = Option<(&'s [u8], Values<'s, S>)>;

/// The pairs of a range of keys, from both ends.
pub(crate) struct Pairs<'s, S: ?Sized> {
    source: &'s S,
    tree: Tree,
    order: AnyOrder<'s>,
    keys: Span<'s, S, AnyOrder<'s>>,
    front: Ahead<'s, S>,
    back: Ahead<'s, S>,
}

impl<'s, S: PageSource + ?Sized> Pairs<'s, S> {
    pub(crate) fn new(
        view: TreeView<'s, '_, S, Orders<'s>>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Pairs<'s, S>> {
        let (source, tree, order) = (view.source, *view.tree, view.order.values);
        let keys = Span::new(view.keys(), from, to)?;
        Ok(Pairs { source, tree, order, keys, front: None, back: None })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Pair<'s>>> {
        loop {
            if let Some((key, values)) = &mut self.front
                && let Some(value) = values.next()?
            {
                return Ok(Some((key, value)));
            }
            // Where keys have run out, the rest is with the other end.
            self.front = match self.keys.next()? {
                Some(cell) => Some(self.values_of(&cell)?),
                None => match self.back.take() {
                    None => return Ok(None),
                    back => back,
                },
            };
        }
    }

    pub(crate) fn next_back(&mut self) -> Result<Option<Pair<'s>>> {
        loop {
            if let Some((key, values)) = &mut self.back
                && let Some(value) = values.next_back()?
            {
                return Ok(Some((key, value)));
            }
            self.back = match self.keys.next_back()? {
                Some(cell) => Some(self.values_of(&cell)?),
                None => match self.front.take() {
                    None => return Ok(None),
                    front => front,
                },
            };
        }
    }

    /// The next key from the front, with how many values it has. Not to be mixed with pairs.
    pub(crate) fn next_key(&mut self) -> Result<Option<(&'s [u8], u64)>> {
        let cell = self.keys.next()?;
        cell.map(|cell| Ok((cell.key, self.held(&cell)?.count()))).transpose()
    }

    /// The next key from the back, with how many values it has. Not to be mixed with pairs.
    pub(crate) fn next_key_back(&mut self) -> Result<Option<(&'s [u8], u64)>> {
        let cell = self.keys.next_back()?;
        cell.map(|cell| Ok((cell.key, self.held(&cell)?.count()))).transpose()
    }

    /// How many levels the values of the next key have. Not to be mixed with pairs.
    pub(crate) fn next_depth(&mut self) -> Result<Option<u32>> {
        let cell = self.keys.next()?;
        cell.map(|cell| Ok(self.held(&cell)?.depth())).transpose()
    }

    fn values_of(&self, cell: &Cell<'s>) -> Result<(&'s [u8], Values<'s, S>)> {
        let (held, all) = (self.held(cell)?, Bound::Unbounded);
        Ok((cell.key, Values::new(self.source, held, self.order, all, all)?))
    }

    fn held(&self, cell: &Cell<'s>) -> Result<Held<'s>> {
        Held::of(&self.tree, cell).on(self.tree.root)
    }
}
