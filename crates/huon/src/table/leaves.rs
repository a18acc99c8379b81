//! A range a leaf at a time.

use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::error::Result;
use crate::page::{Cell, PayloadKind, Reason};
use crate::table::codec::{Codec, KeyCodec};
use crate::table::iter::{Range, Record};
use crate::table::txn::{AnySource, value};
use crate::tree::cursor::Cells;

/// The records of a range, a leaf's at a time, from both ends; see [`Range::leaves`].
#[must_use = "leaves are read when they are asked for"]
pub struct Leaves<'t, K, V> {
    range: Range<'t, K, V>,
}

/// Records that lie in one leaf, in key order; see [`Range::leaves`].
///
/// It is a view of the page and borrows the transaction: making one reads no record; a record is
/// read on request.
pub struct Leaf<'t, K, V> {
    source: &'t AnySource,
    items: Cells<'t>,
    types: PhantomData<fn(K) -> V>,
}

/// The records of a [`Leaf`], from both ends.
#[must_use = "records are read when they are asked for"]
pub struct LeafIter<'t, K, V> {
    leaf: Leaf<'t, K, V>,
}

impl<'t, K: KeyCodec, V: Codec> Range<'t, K, V> {
    /// The same records a leaf at a time: the fastest way through many of them.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let squares = txn.create_table(&huon::TableDef::<huon::U64, huon::U64>::new("squares"))?;
    /// (0..1000).try_for_each(|n| squares.put(&mut txn, n, n * n).map(drop))?;
    /// let (mut count, mut sum) = (0, 0);
    /// for leaf in squares.range(&txn, 10..)?.leaves() {
    ///     let leaf = leaf?;
    ///     count += leaf.len();
    ///     for record in &leaf {
    ///         sum += record?.1;
    ///     }
    /// }
    /// assert_eq!((count, sum), (990, (10..1000).map(|n| n * n).sum::<u64>()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Records that were taken from the range before are not returned again, and `.rev()` goes from
    /// the last leaf to the first:
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..1000).try_for_each(|n| t.put(&mut txn, n, ()).map(drop))?;
    /// let mut range = t.iter(&txn)?;
    /// assert_eq!(range.next_back().transpose()?, Some((999, ())));
    /// let last = range.leaves().rev().next().expect("there are more")?;
    /// assert_eq!(last.iter().next_back().transpose()?, Some((998, ())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leaves(self) -> Leaves<'t, K, V> {
        Leaves { range: self }
    }

    fn next_leaf(&mut self) -> Result<Option<Leaf<'t, K, V>>> {
        while let Some(items) = self.items.next_leaf(|out| self.leaves.next(out))? {
            let (from, until) = self.shown(&items, true);
            let (items, rest) = items.split_at(until);
            self.items.put_back_front(rest);
            if from < until {
                return Ok(Some(Leaf::new(self.source, items.split_at(from).1)));
            }
        }
        Ok(None)
    }

    fn next_leaf_back(&mut self) -> Result<Option<Leaf<'t, K, V>>> {
        while let Some(items) = self.items.next_leaf_back(|out| self.leaves.next_back(out))? {
            let (from, until) = self.shown(&items, false);
            let (rest, items) = items.split_at(from);
            self.items.put_back_back(rest);
            if from < until {
                return Ok(Some(Leaf::new(self.source, items.split_at(until - from).0)));
            }
        }
        Ok(None)
    }

    /// Which of the items are to be shown first: all, but in the main table those that lie together
    /// between the hidden records of named tables.
    fn shown(&self, items: &Cells<'t>, forward: bool) -> (usize, usize) {
        let count = items.count();
        if !self.is_main {
            return (0, count);
        }
        let hidden = |i: &usize| items.is_table(*i);
        let shown = |i: &usize| !hidden(i);
        if forward {
            let from = (0..count).take_while(hidden).count();
            (from, from + (from..count).take_while(shown).count())
        } else {
            let until = count - (0..count).rev().take_while(hidden).count();
            (until - (0..until).rev().take_while(shown).count(), until)
        }
    }
}

impl<'t, K: KeyCodec, V: Codec> Iterator for Leaves<'t, K, V> {
    type Item = Result<Leaf<'t, K, V>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next_leaf().transpose()
    }
}

impl<K: KeyCodec, V: Codec> DoubleEndedIterator for Leaves<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_leaf_back().transpose()
    }
}

impl<K: KeyCodec, V: Codec> FusedIterator for Leaves<'_, K, V> {}

impl<'t, K: KeyCodec, V: Codec> Leaf<'t, K, V> {
    fn new(source: &'t AnySource, items: Cells<'t>) -> Leaf<'t, K, V> {
        Leaf { source, items, types: PhantomData }
    }

    /// How many records there are; a leaf that a range gives has at least one.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.count()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Record `i`, counted from the lowest key; `None` from [`Leaf::len`] on.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// t.put(&mut txn, "bob", 2)?;
    /// let leaf = t.iter(&txn)?.leaves().next().expect("there are records")?;
    /// assert_eq!(leaf.get(1)?, Some(("bob", 2)));
    /// assert_eq!(leaf.get(leaf.len())?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the record is damaged,
    /// [`Error::Decode`](crate::Error::Decode) from the codec.
    #[inline]
    pub fn get(&self, i: usize) -> Result<Option<Record<'t, K, V>>> {
        if i < self.items.count() { self.record(self.items.cell(i)?).map(Some) } else { Ok(None) }
    }

    /// The records in key order; `.rev()` goes the other way.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// t.put(&mut txn, "bob", 2)?;
    /// let leaf = t.iter(&txn)?.leaves().next().expect("there are records")?;
    /// let backwards: Result<Vec<_>, _> = leaf.iter().rev().collect();
    /// assert_eq!(backwards?, [("bob", 2), ("ann", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn iter(&self) -> LeafIter<'t, K, V> {
        LeafIter { leaf: *self }
    }

    /// The record in a cell. One look at its kind where the value lies in the leaf.
    #[inline]
    fn record(&self, cell: Cell<'t>) -> Result<Record<'t, K, V>> {
        let value = match cell.kind {
            PayloadKind::Inline => cell.payload,
            _ => match value(self.source, &cell)? {
                Some(value) => value,
                // Only the main table holds tables, and they are not shown.
                None => return Err(self.items.damaged(Reason::CellKind)),
            },
        };
        Ok((K::decode(cell.key)?, V::decode(value)?))
    }
}

impl<K, V> Clone for Leaf<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Leaf<'_, K, V> {}

impl<'t, K: KeyCodec, V: Codec> IntoIterator for Leaf<'t, K, V> {
    type Item = Result<Record<'t, K, V>>;
    type IntoIter = LeafIter<'t, K, V>;

    #[inline]
    fn into_iter(self) -> LeafIter<'t, K, V> {
        self.iter()
    }
}

impl<'t, K: KeyCodec, V: Codec> IntoIterator for &Leaf<'t, K, V> {
    type Item = Result<Record<'t, K, V>>;
    type IntoIter = LeafIter<'t, K, V>;

    #[inline]
    fn into_iter(self) -> LeafIter<'t, K, V> {
        self.iter()
    }
}

impl<'t, K: KeyCodec, V: Codec> Iterator for LeafIter<'t, K, V> {
    type Item = Result<Record<'t, K, V>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.leaf.items.take_first()?;
        Some(cell.and_then(|cell| self.leaf.record(cell)))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.leaf.len(), Some(self.leaf.len()))
    }
}

impl<K: KeyCodec, V: Codec> DoubleEndedIterator for LeafIter<'_, K, V> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        let cell = self.leaf.items.take_last()?;
        Some(cell.and_then(|cell| self.leaf.record(cell)))
    }
}

impl<K: KeyCodec, V: Codec> ExactSizeIterator for LeafIter<'_, K, V> {}

impl<K: KeyCodec, V: Codec> FusedIterator for LeafIter<'_, K, V> {}
