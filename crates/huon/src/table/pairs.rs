//! Iterating a multimap: values of a key, pairs, and keys.

use std::marker::PhantomData;
use std::ops::Bound;

use crate::error::Result;
use crate::store::pages::Pages;
use crate::table::codec::{Bytes, Codec};
use crate::table::plain::UNORDERED;
use crate::table::txn::SeatKind;
use crate::tree::estimate;
use crate::tree::values::{self, Held, Orders};
use crate::txn::names::TableId;
use crate::txn::snapshot::Snapshot;

/// The values of a key, from both ends; see [`Multi::values`](crate::Multi::values).
pub struct Values<'t, V> {
    values: AnyValues<'t>,
    left: u64,
    types: PhantomData<fn() -> V>,
}

enum AnyValues<'t> {
    None,
    Read(values::Values<'t, Snapshot>),
    Write(values::Values<'t, Pages>),
}

impl<'t> SeatKind<'t> {
    /// What the multimap holds under a key.
    fn held(self, id: TableId, key: &[u8]) -> Result<Option<Held<'t>>> {
        let tree = self.tree(id)?;
        let order = self.order(id, &tree)?;
        match self {
            SeatKind::Read(txn) => values::find(&txn.snapshot, &tree, order, key),
            SeatKind::Write(txn) => values::find(txn.pages(), &tree, order, key),
        }
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
        let Some(Held::Tree(values)) = self.held(id, key)? else {
            let few = Values::<Bytes>::new(self, id, key, from, to)?;
            return few.map(|value| value.map(|_| 1)).sum();
        };
        let order = self.value_order(id, &self.tree(id)?)?;
        match self {
            SeatKind::Read(txn) => estimate::count(&txn.snapshot, &values, order, from, to),
            SeatKind::Write(txn) => estimate::count(txn.pages(), &values, order, from, to),
        }
    }

    /// Whether the multimap holds a pair.
    pub(super) fn holds_pair(self, id: TableId, key: &[u8], value: &[u8]) -> Result<bool> {
        let Some(held) = self.held(id, key)? else { return Ok(false) };
        let order = self.value_order(id, &self.tree(id)?)?;
        match self {
            SeatKind::Read(txn) => values::holds(&txn.snapshot, &held, order, value),
            SeatKind::Write(txn) => values::holds(txn.pages(), &held, order, value),
        }
    }
}

impl<'t, V: Codec> Values<'t, V> {
    pub(super) fn new(
        seat: SeatKind<'t>,
        id: TableId,
        key: &[u8],
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Values<'t, V>> {
        let of = |values, left| Values { values, left, types: PhantomData };
        let Some(held) = seat.held(id, key)? else { return Ok(of(AnyValues::None, 0)) };
        let order = match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => UNORDERED,
            _ => seat.value_order(id, &seat.tree(id)?)?,
        };
        let count = held.count();
        let values = match seat {
            SeatKind::Read(txn) => {
                AnyValues::Read(values::Values::new(&txn.snapshot, held, order, from, to)?)
            }
            SeatKind::Write(txn) => {
                AnyValues::Write(values::Values::new(txn.pages(), held, order, from, to)?)
            }
        };
        Ok(of(values, count))
    }

    /// The same values a page at a time, as the bytes of as many of them as lie together: the
    /// fastest way through many values of one length. See
    /// [`Multi::value_bytes`](crate::Multi::value_bytes).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// use huon::{MultiDef, NativeU64, Str};
    /// let t = txn.create_table(&MultiDef::<Str, NativeU64>::new("t"))?;
    /// t.insert_many(&mut txn, "ann", 0..10_000)?;
    /// let mut sum = 0;
    /// for batch in t.values_range(&txn, "ann", 100..)?.batches() {
    ///     for value in batch?.as_chunks().0 {
    ///         sum += u64::from_le_bytes(*value);
    ///     }
    /// }
    /// assert_eq!(sum, (100..10_000).sum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Where values have not one length there are no batches.
    pub fn batches(self) -> Batches<'t> {
        Batches { values: self.values }
    }

    fn step(&mut self, forward: bool) -> Result<Option<V::Out<'t>>> {
        let value = match (&mut self.values, forward) {
            (AnyValues::None, _) => None,
            (AnyValues::Read(values), true) => values.next()?,
            (AnyValues::Read(values), false) => values.next_back()?,
            (AnyValues::Write(values), true) => values.next()?,
            (AnyValues::Write(values), false) => values.next_back()?,
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

/// Values of a key, a page at a time; see [`Values::batches`].
pub struct Batches<'t> {
    values: AnyValues<'t>,
}

impl<'t> Iterator for Batches<'t> {
    type Item = Result<&'t [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.values {
            AnyValues::None => None,
            AnyValues::Read(values) => values.next_packed().transpose(),
            AnyValues::Write(values) => values.next_packed().transpose(),
        }
    }
}

/// Pairs of a range of keys, from both ends; see [`Multi::range`](crate::Multi::range).
pub struct Pairs<'t, K, V> {
    pairs: AnyPairs<'t>,
    types: PhantomData<fn(K) -> V>,
}

enum AnyPairs<'t> {
    Read(values::Pairs<'t, Snapshot>),
    Write(values::Pairs<'t, Pages>),
}

impl<'t, K: Codec, V: Codec> Pairs<'t, K, V> {
    pub(super) fn new(
        seat: SeatKind<'t>,
        id: TableId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Pairs<'t, K, V>> {
        let tree = seat.tree(id)?;
        let keys = match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => UNORDERED,
            _ => seat.order(id, &tree)?,
        };
        let orders = Orders { keys, values: UNORDERED };
        let pairs = match seat {
            SeatKind::Read(txn) => {
                AnyPairs::Read(values::Pairs::new(&txn.snapshot, &tree, orders, from, to)?)
            }
            SeatKind::Write(txn) => {
                AnyPairs::Write(values::Pairs::new(txn.pages(), &tree, orders, from, to)?)
            }
        };
        Ok(Pairs { pairs, types: PhantomData })
    }

    fn step(&mut self, forward: bool) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        let pair = match (&mut self.pairs, forward) {
            (AnyPairs::Read(pairs), true) => pairs.next()?,
            (AnyPairs::Read(pairs), false) => pairs.next_back()?,
            (AnyPairs::Write(pairs), true) => pairs.next()?,
            (AnyPairs::Write(pairs), false) => pairs.next_back()?,
        };
        pair.map(|(key, value)| Ok((K::decode(key)?, V::decode(value)?))).transpose()
    }

    /// How many levels the values of the next key have: 0 for a single one.
    pub(super) fn next_depth(&mut self) -> Result<Option<u32>> {
        match &mut self.pairs {
            AnyPairs::Read(pairs) => pairs.next_depth(),
            AnyPairs::Write(pairs) => pairs.next_depth(),
        }
    }

    fn step_key(&mut self, forward: bool) -> Result<Option<(K::Out<'t>, u64)>> {
        let key = match (&mut self.pairs, forward) {
            (AnyPairs::Read(pairs), true) => pairs.next_key()?,
            (AnyPairs::Read(pairs), false) => pairs.next_key_back()?,
            (AnyPairs::Write(pairs), true) => pairs.next_key()?,
            (AnyPairs::Write(pairs), false) => pairs.next_key_back()?,
        };
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

/// Every key of a multimap, with how many values it has, from both ends; see
/// [`Multi::keys`](crate::Multi::keys).
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
