//! Reading the values of a multimap's key, and its pairs.
//!
//! V1. What the cell of a key holds is at least one value: few of them in the cell itself, more in
//!     a tree of their own, whose keys they are.

use std::ops::Bound;

use crate::error::Result;
use crate::page::{
    AnyLeaf, AnyOrder, Cell, KeyOrder, PayloadKind, Reason, SetItems, Tree, ValueSet,
};
use crate::store::source::{PageSource, damaged};
use crate::tree::cursor::{Span, is_reversed};

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
            PayloadKind::Inline => Ok(Held::Few(ValueSet::single(cell.payload))),
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
}

/// How the keys of a multimap compare, and the values of one.
#[derive(Clone, Copy)]
pub(crate) struct Orders<'o> {
    pub(crate) keys: AnyOrder<'o>,
    pub(crate) values: AnyOrder<'o>,
}

/// Values of one key, from both ends.
pub(crate) enum Values<'s, S> {
    Few(SetItems<'s>),
    Tree(Box<Span<'s, S, AnyOrder<'s>, AnyLeaf<'s>>>),
}

impl<'s, S: PageSource> Values<'s, S> {
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
                return Ok(Values::Tree(Box::new(Span::new(source, &tree, order, from, to)?)));
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
pub(crate) struct Pairs<'s, S> {
    source: &'s S,
    tree: Tree,
    order: AnyOrder<'s>,
    keys: Span<'s, S, AnyOrder<'s>>,
    front: Ahead<'s, S>,
    back: Ahead<'s, S>,
}

impl<'s, S: PageSource> Pairs<'s, S> {
    pub(crate) fn new(
        source: &'s S,
        tree: &Tree,
        orders: Orders<'s>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Pairs<'s, S>> {
        let keys = Span::new(source, tree, orders.keys, from, to)?;
        Ok(Pairs { source, tree: *tree, order: orders.values, keys, front: None, back: None })
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

    fn values_of(&self, cell: &Cell<'s>) -> Result<(&'s [u8], Values<'s, S>)> {
        let (held, all) = (self.held(cell)?, Bound::Unbounded);
        Ok((cell.key, Values::new(self.source, held, self.order, all, all)?))
    }

    fn held(&self, cell: &Cell<'s>) -> Result<Held<'s>> {
        Held::of(&self.tree, cell).map_err(|reason| damaged(self.tree.root, reason))
    }
}

/// The values of `key` that the multimap `tree` holds.
pub(crate) fn find<'s, S: PageSource>(
    source: &'s S,
    tree: &Tree,
    order: impl KeyOrder,
    key: &[u8],
) -> Result<Option<Held<'s>>> {
    let Some(cell) = super::read::get(source, tree, order, key)? else { return Ok(None) };
    Held::of(tree, &cell).map(Some).map_err(|reason| damaged(tree.root, reason))
}

/// Whether `value` is one of what a cell holds.
pub(crate) fn holds<'s, S: PageSource>(
    source: &'s S,
    held: &Held<'s>,
    order: AnyOrder<'_>,
    value: &[u8],
) -> Result<bool> {
    match held {
        Held::Few(set) => Ok(set.search(order, value).is_ok()),
        Held::Tree(values) => {
            let mut path = super::path::Path::new();
            path.seek(source, values, order, value)
        }
    }
}
