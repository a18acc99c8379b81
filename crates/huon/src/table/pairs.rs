//! Iterating a multimap: values of a key, pairs, and keys.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Bound;

use crate::error::Result;
use crate::page::AnyOrder;
use crate::table::codec::{Bytes, Codec};
use crate::table::txn::{AnySource, AnyTxn};
use crate::tree::values::{self, KeyValues, Orders};
use crate::tree::view::TreeView;
use crate::txn::names::TableId;

/// The values of a key, from both ends; see [`Multi::values`](crate::Multi::values).
///
/// As [`Range`](crate::Range) it can be held across an `.await`.
#[must_use = "values are read when they are asked for"]
pub struct Values<'t, V> {
    /// `None`: the key has none.
    values: Option<values::ValueIter<'t, AnySource>>,
    left: u64,
    types: PhantomData<fn() -> V>,
}

impl<'t> AnyTxn<'t> {
    /// The values of a key of the multimap.
    fn held(self, id: TableId, key: &[u8]) -> Result<Option<KeyValues<'t>>> {
        let tree = self.tree(id)?;
        TreeView::new(self.source(), &tree, self.order(id, &tree)?).held(key)
    }

    /// How many values a key of the multimap has.
    pub(super) fn count_values(self, id: TableId, key: &[u8]) -> Result<u64> {
        Ok(self.held(id, key)?.map_or(0, |held| held.count()))
    }

    /// About how many values of a key lie in a range; exactly, where they are few.
    pub(super) fn estimate_values(
        self,
        id: TableId,
        key: &[u8],
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<u64> {
        let Some(KeyValues::Tree(values)) = self.held(id, key)? else {
            let few = Values::<Bytes>::new(self, id, key, from, to)?;
            return few.map(|value| value.map(|_| 1)).sum();
        };
        let order = self.value_order(id, &self.tree(id)?)?;
        TreeView::new(self.source(), &values, order).estimate(from, to)
    }

    /// Whether the multimap holds a pair.
    pub(super) fn holds_pair(self, id: TableId, key: &[u8], value: &[u8]) -> Result<bool> {
        let Some(held) = self.held(id, key)? else { return Ok(false) };
        let order = self.value_order(id, &self.tree(id)?)?;
        held.holds(self.source(), order, value)
    }
}

impl<'t, V: Codec> Values<'t, V> {
    pub(super) fn new(
        txn: AnyTxn<'t>,
        id: TableId,
        key: &[u8],
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Values<'t, V>> {
        let held = txn.held(id, key)?;
        let order = match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => AnyOrder::UNORDERED,
            _ => txn.value_order(id, &txn.tree(id)?)?,
        };
        Values::of(txn, held, order, (from, to))
    }

    /// All values of what a cell holds.
    pub(super) fn all(txn: AnyTxn<'t>, held: Option<KeyValues<'t>>) -> Result<Values<'t, V>> {
        Values::of(txn, held, AnyOrder::UNORDERED, (Bound::Unbounded, Bound::Unbounded))
    }

    fn of(
        txn: AnyTxn<'t>,
        held: Option<KeyValues<'t>>,
        order: AnyOrder<'t>,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<Values<'t, V>> {
        let left = held.as_ref().map_or(0, KeyValues::count);
        let of = |held| values::ValueIter::new(txn.source(), held, order, from, to);
        Ok(Values { values: held.map(of).transpose()?, left, types: PhantomData })
    }

    /// The same values a page at a time, as the bytes of as many of them as lie together: the
    /// fastest way through many values of one length. See
    /// [`Multi::value_bytes`](crate::Multi::value_bytes).
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use huon::{MultiDef, NativeU64, Str};
    /// let t = txn.create_table(&MultiDef::<Str, NativeU64>::new("t"))?;
    /// (0..10_000).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// let mut sum = 0;
    /// for batch in t.values_range(&txn, "ann", 100..)?.batches() {
    ///     for value in batch?.as_chunks().0 {
    ///         sum += u64::from_le_bytes(*value);
    ///     }
    /// }
    /// assert_eq!(sum, (100..10_000).sum::<u64>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Where values have not one length there are no batches.
    pub fn batches(self) -> Batches<'t> {
        Batches { values: self.values }
    }

    fn step(&mut self, forward: bool) -> Result<Option<V::Out<'t>>> {
        let value = match &mut self.values {
            Some(values) if forward => values.next()?,
            Some(values) => values.next_back()?,
            None => None,
        };
        self.left = if value.is_some() { self.left.saturating_sub(1) } else { 0 };
        value.map(V::decode).transpose()
    }
}

impl<'t, V: Codec> Iterator for Values<'t, V> {
    type Item = Result<V::Out<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true).transpose()
    }

    /// At most as many as the key has.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.left).ok())
    }
}

impl<V: Codec> DoubleEndedIterator for Values<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false).transpose()
    }
}

impl<V: Codec> FusedIterator for Values<'_, V> {}

/// Values of a key, a page at a time; see [`Values::batches`].
#[must_use = "values are read when they are asked for"]
pub struct Batches<'t> {
    values: Option<values::ValueIter<'t, AnySource>>,
}

impl<'t> Iterator for Batches<'t> {
    type Item = Result<&'t [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.values.as_mut()?.next_packed().transpose()
    }
}

impl FusedIterator for Batches<'_> {}

/// Pairs of a range of keys, from both ends; see [`Multi::range`](crate::Multi::range).
///
/// As [`Range`](crate::Range) it can be held across an `.await`.
#[must_use = "pairs are read when they are asked for"]
pub struct Pairs<'t, K, V> {
    pairs: values::PairIter<'t, AnySource>,
    types: PhantomData<fn(K) -> V>,
}

impl<'t, K: Codec, V: Codec> Pairs<'t, K, V> {
    pub(super) fn new(
        txn: AnyTxn<'t>,
        id: TableId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Pairs<'t, K, V>> {
        let tree = txn.tree(id)?;
        let keys = txn.order_in(id, &tree, (from, to))?;
        let orders = Orders { keys, values: AnyOrder::UNORDERED };
        let pairs = values::PairIter::new(TreeView::new(txn.source(), &tree, orders), from, to)?;
        Ok(Pairs { pairs, types: PhantomData })
    }

    fn step(&mut self, forward: bool) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        let pair = if forward { self.pairs.next()? } else { self.pairs.next_back()? };
        pair.map(|(key, value)| Ok((K::decode(key)?, V::decode(value)?))).transpose()
    }

    /// How many levels the values of the next key have: 0 for a single one.
    pub(super) fn next_depth(&mut self) -> Result<Option<u32>> {
        self.pairs.next_depth()
    }

    fn step_key(&mut self, forward: bool) -> Result<Option<(K::Out<'t>, u64)>> {
        let key = if forward { self.pairs.next_key()? } else { self.pairs.next_key_back()? };
        key.map(|(key, count)| Ok((K::decode(key)?, count))).transpose()
    }
}

impl<'t, K: Codec, V: Codec> Iterator for Pairs<'t, K, V> {
    type Item = Result<(K::Out<'t>, V::Out<'t>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true).transpose()
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for Pairs<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false).transpose()
    }
}

impl<K: Codec, V: Codec> FusedIterator for Pairs<'_, K, V> {}

/// Every key of a multimap, with how many values it has, from both ends; see
/// [`Multi::keys`](crate::Multi::keys).
#[must_use = "keys are read when they are asked for"]
pub struct Keys<'t, K> {
    pairs: Pairs<'t, K, Bytes>,
}

impl<'t, K: Codec> Keys<'t, K> {
    pub(super) fn of(pairs: Pairs<'t, Bytes, Bytes>) -> Keys<'t, K> {
        Keys { pairs: Pairs { pairs: pairs.pairs, types: PhantomData } }
    }
}

impl<'t, K: Codec> Iterator for Keys<'t, K> {
    type Item = Result<(K::Out<'t>, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pairs.step_key(true).transpose()
    }
}

impl<K: Codec> DoubleEndedIterator for Keys<'_, K> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.pairs.step_key(false).transpose()
    }
}

impl<K: Codec> FusedIterator for Keys<'_, K> {}
