//! Reading the values of a multimap's key, and its pairs.
//!
//! V1. The cell of a key holds at least one value: few of them in the cell itself, more in a tree
//!     of their own, whose keys they are.

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
pub(crate) enum KeyValues<'p> {
    Few(ValueSet<'p>),
    Tree(Tree),
}

impl<'p> KeyValues<'p> {
    /// What the cell of a key of the multimap `tree` holds.
    pub(crate) fn of(tree: &Tree, cell: &Cell<'p>) -> std::result::Result<KeyValues<'p>, Reason> {
        let fixed_bytes = tree.fixed_bytes as usize;
        match cell.kind {
            PayloadKind::Inline if fixed_bytes != 0 && cell.payload.len() != fixed_bytes => {
                Err(Reason::Cell)
            }
            PayloadKind::Inline => Ok(KeyValues::Few(ValueSet::single(cell.payload, fixed_bytes))),
            PayloadKind::DuplicateSet => {
                ValueSet::view(cell.payload, fixed_bytes).map(KeyValues::Few)
            }
            PayloadKind::DuplicateTree => tree.decode_values(cell.payload).map(KeyValues::Tree),
            PayloadKind::Run | PayloadKind::Table => Err(Reason::CellKind),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            KeyValues::Few(set) => set.count() as u64,
            KeyValues::Tree(values) => values.entries,
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
            KeyValues::Few(set) => Ok(set.search(order, value).is_ok()),
            KeyValues::Tree(values) => {
                Path::new().seek(TreeView::new(source, values, order), value)
            }
        }
    }

    /// How many levels they have: 0, if there is only one.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            KeyValues::Few(set) => u32::from(set.count() > 1),
            KeyValues::Tree(values) => values.depth.into(),
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
    pub(crate) fn held(&self, key: &[u8]) -> Result<Option<KeyValues<'s>>> {
        let Some(cell) = self.get(key)? else { return Ok(None) };
        KeyValues::of(self.tree, &cell).map(Some).on(self.tree.root)
    }
}

/// Values of one key, from both ends.
pub(crate) enum ValueIter<'s, S: ?Sized> {
    Few(SetItems<'s>),
    Tree(Box<Span<'s, S, AnyLeaf<'s>>>),
}

impl<'s, S: PageSource + ?Sized> ValueIter<'s, S> {
    /// Those between two bounds of what a cell holds.
    pub(crate) fn new(
        source: &'s S,
        held: KeyValues<'s>,
        order: AnyOrder<'s>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<ValueIter<'s, S>> {
        let set = match held {
            KeyValues::Tree(tree) => {
                let view = TreeView::new(source, &tree, order);
                return Ok(ValueIter::Tree(Box::new(Span::new(view, from, to)?)));
            }
            KeyValues::Few(set) => set,
        };
        if is_reversed(order, from, to) {
            return Ok(ValueIter::Few(set.items().between(0, 0)));
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
        Ok(ValueIter::Few(set.items().between(from, until)))
    }

    pub(crate) fn next(&mut self) -> Result<Option<&'s [u8]>> {
        match self {
            ValueIter::Few(items) => Ok(items.next()),
            ValueIter::Tree(span) => span.next(),
        }
    }

    /// All values of a page that are next from the front, one behind the other. `None`: there are
    /// no more, or they have not one length.
    pub(crate) fn next_packed(&mut self) -> Result<Option<&'s [u8]>> {
        let packed = match self {
            ValueIter::Few(items) => items.take_packed(),
            ValueIter::Tree(span) => span.next_leaf()?.and_then(|leaf| leaf.packed()),
        };
        Ok(packed.filter(|packed| !packed.is_empty()))
    }

    pub(crate) fn next_back(&mut self) -> Result<Option<&'s [u8]>> {
        match self {
            ValueIter::Few(items) => Ok(items.next_back()),
            ValueIter::Tree(span) => span.next_back(),
        }
    }
}

/// A key and a value of it.
pub(crate) type Pair<'s> = (&'s [u8], &'s [u8]);

/// The values of a key on the way to be handed out.
type CurrentKey<'s, S> = Option<(&'s [u8], ValueIter<'s, S>)>;

/// The pairs of a range of keys, from both ends.
pub(crate) struct PairIter<'s, S: ?Sized> {
    source: &'s S,
    tree: Tree,
    order: AnyOrder<'s>,
    keys: Span<'s, S>,
    front: CurrentKey<'s, S>,
    back: CurrentKey<'s, S>,
}

impl<'s, S: PageSource + ?Sized> PairIter<'s, S> {
    pub(crate) fn new(
        view: TreeView<'s, '_, S, Orders<'s>>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<PairIter<'s, S>> {
        let (source, tree, order) = (view.source, *view.tree, view.order.values);
        let keys = Span::new(view.keys(), from, to)?;
        Ok(PairIter { source, tree, order, keys, front: None, back: None })
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

    fn values_of(&self, cell: &Cell<'s>) -> Result<(&'s [u8], ValueIter<'s, S>)> {
        let (held, all) = (self.held(cell)?, Bound::Unbounded);
        Ok((cell.key, ValueIter::new(self.source, held, self.order, all, all)?))
    }

    fn held(&self, cell: &Cell<'s>) -> Result<KeyValues<'s>> {
        KeyValues::of(&self.tree, cell).on(self.tree.root)
    }
}
