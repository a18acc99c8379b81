//! Reading the values of a multimap's key, and its pairs.
//!
//! V1. What the cell of a key holds is at least one value: few of them in the cell itself, more in
//!     a tree of their own, whose keys they are.

use std::ops::Bound;

use crate::error::Result;
use crate::page::{
    AnyLeaf, AnyOrder, BytesOrder, Cell, KeyOrder, PayloadKind, Reason, SetItems, Tree, ValueSet,
};
use crate::store::source::{PageSource, damaged};
use crate::tree::cursor::{Span, is_reversed};
use crate::tree::path::Path;

/// Any order will do where no key is compared.
const ANY: BytesOrder = BytesOrder;

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
        Held::of(&self.tree, cell).map_err(|reason| damaged(self.tree.root, reason))
    }
}

/// A place between two pairs of a multimap, as paths: see [`Path`].
///
/// V5. `keys` stands on the key whose values are next, or at the end. `inner` is the place among
///     its values: before value `index`, of `count`; in a tree of values `path` says where that is.
///     `None`: before its first value.
#[derive(Clone)]
pub(crate) struct PairPath {
    keys: Path,
    inner: Option<Inner>,
}

#[derive(Clone)]
enum Inner {
    Few(usize),
    Tree(Box<(Tree, Path)>),
}

impl PairPath {
    pub(crate) fn new() -> PairPath {
        PairPath { keys: Path::new(), inner: None }
    }

    /// Before the first pair.
    pub(crate) fn first<S: PageSource>(&mut self, source: &S, tree: &Tree) -> Result<()> {
        self.inner = None;
        self.keys.first(source, tree, ANY)?;
        self.keys.settle(source, tree, ANY)
    }

    /// Behind the last pair.
    pub(crate) fn end<S: PageSource>(&mut self, source: &S, tree: &Tree) -> Result<()> {
        self.inner = None;
        self.keys.end(source, tree, ANY)
    }

    /// Before the values of a key, or behind them.
    pub(crate) fn seek_key<S: PageSource>(
        &mut self,
        source: &S,
        tree: &Tree,
        orders: Orders<'_>,
        key: &[u8],
        behind: bool,
    ) -> Result<()> {
        self.inner = None;
        if self.keys.seek(source, tree, orders.keys, key)? && behind {
            self.keys.last_mut().index += 1;
        }
        self.keys.settle(source, tree, orders.keys)
    }

    /// Before a pair, or behind it, whether it is there or not.
    pub(crate) fn seek<S: PageSource>(
        &mut self,
        source: &S,
        tree: &Tree,
        orders: Orders<'_>,
        (key, value): Pair<'_>,
        behind: bool,
    ) -> Result<()> {
        self.inner = None;
        if !self.keys.seek(source, tree, orders.keys, key)? {
            return self.keys.settle(source, tree, orders.keys);
        }
        let (_, held) = self.held(source, tree)?;
        self.inner = Some(match held {
            Held::Few(set) => Inner::Few(match set.search(orders.values, value) {
                Ok(at) => at + usize::from(behind),
                Err(at) => at,
            }),
            Held::Tree(values) => {
                let mut path = Path::new();
                if path.seek(source, &values, orders.values, value)? && behind {
                    path.last_mut().index += 1;
                }
                path.settle(source, &values, orders.values)?;
                Inner::Tree(Box::new((values, path)))
            }
        });
        Ok(())
    }

    /// Steps over the next pair, or the one before.
    pub(crate) fn step<'s, S: PageSource>(
        &mut self,
        source: &'s S,
        tree: &Tree,
        forward: bool,
    ) -> Result<Option<Pair<'s>>> {
        loop {
            if self.keys.on_item() {
                let (key, held) = self.held(source, tree)?;
                if let Some(value) = self.step_inside(source, held, forward)? {
                    return Ok(Some((key, value)));
                }
            }
            // V5: the values of this key have ended on this side.
            if !forward {
                if !self.keys.step_back(source, tree, ANY)? {
                    return Ok(None);
                }
                self.inner = Some(self.behind_all(source, tree)?);
            } else if self.keys.on_item() {
                self.inner = None;
                self.keys.step();
                self.keys.settle(source, tree, ANY)?;
            } else {
                return Ok(None);
            }
        }
    }

    /// Steps over a value of the key at hand. `None`: there are no more on that side.
    fn step_inside<'s, S: PageSource>(
        &mut self,
        source: &'s S,
        held: Held<'s>,
        forward: bool,
    ) -> Result<Option<&'s [u8]>> {
        let inner = match (&mut self.inner, &held) {
            // Before its first value.
            (None, _) if !forward => return Ok(None),
            (Some(inner), _) => inner,
            (place @ None, Held::Few(_)) => place.insert(Inner::Few(0)),
            (place @ None, Held::Tree(values)) => {
                let mut path = Path::new();
                path.first(source, values, ANY)?;
                place.insert(Inner::Tree(Box::new((*values, path))))
            }
        };
        match (inner, held) {
            (Inner::Few(index), Held::Few(set)) => {
                let at = if forward { Some(*index) } else { index.checked_sub(1) };
                let Some(at) = at.filter(|&at| at < set.count()) else { return Ok(None) };
                *index = if forward { at + 1 } else { at };
                Ok(Some(set.value(at)))
            }
            (Inner::Tree(inner), _) => {
                let (values, path) = &mut **inner;
                step_values(source, values, path, forward)
            }
            // The same version of the tree holds the same.
            (Inner::Few(_), Held::Tree(values)) => Err(damaged(values.root, Reason::Tree)),
        }
    }

    /// The place behind all values of the key at hand.
    fn behind_all<S: PageSource>(&self, source: &S, tree: &Tree) -> Result<Inner> {
        Ok(match self.held(source, tree)?.1 {
            Held::Few(set) => Inner::Few(set.count()),
            Held::Tree(values) => {
                let mut path = Path::new();
                path.end(source, &values, ANY)?;
                Inner::Tree(Box::new((values, path)))
            }
        })
    }

    /// The key at hand, and what it holds.
    fn held<'s, S: PageSource>(&self, source: &'s S, tree: &Tree) -> Result<(&'s [u8], Held<'s>)> {
        let frame = self.keys.last();
        let cell = source.leaf(frame.ptr)?.cell(frame.index);
        let cell = cell.map_err(|reason| damaged(frame.ptr, reason))?;
        let held = Held::of(tree, &cell).map_err(|reason| damaged(frame.ptr, reason))?;
        Ok((cell.key, held))
    }
}

/// Steps over the next key of a tree of values, or the one before.
fn step_values<'s, S: PageSource>(
    source: &'s S,
    values: &Tree,
    path: &mut Path,
    forward: bool,
) -> Result<Option<&'s [u8]>> {
    if forward {
        path.settle(source, values, ANY)?;
    }
    let steps = if forward { path.on_item() } else { path.step_back(source, values, ANY)? };
    if !steps {
        return Ok(None);
    }
    let frame = *path.last();
    let value = source.any_leaf(values, frame.ptr)?.key(frame.index);
    if forward {
        path.step();
    }
    value.map(Some).map_err(|reason| damaged(frame.ptr, reason))
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
            let mut path = Path::new();
            path.seek(source, values, order, value)
        }
    }
}
