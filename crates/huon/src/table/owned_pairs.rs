//! Pairs and values of a multimap that keep their transaction.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::Result;
use crate::page::Tree;
use crate::table::codec::{Bytes, Codec, KeyCodec, KeyPrefix, Scratch};
use crate::table::iter::Record;
use crate::table::multi::Multi;
use crate::table::txn::{AnyTxn, in_range};
use crate::tree::pair_path::PairEnds;
use crate::tree::view::TreeView;
use crate::txn::names::TableId;
use crate::txn::read::ReadTxn;

/// The pairs of a part of a multimap, from both ends, with the transaction that shows them; see
/// [`Multi::into_range`].
///
/// As [`OwnedRange`](crate::OwnedRange) it borrows nothing, retains the pages of its snapshot as
/// long as it lives, and is no [`Iterator`], since what it returns borrows it.
///
/// A step reads the leaf of the key, and another one where the values have a tree of their own. It
/// makes no system call, and an allocation only where it comes to such a tree. It costs several
/// times what a step of [`Pairs`](crate::Pairs) does, which stays with a key.
#[must_use = "pairs are read when they are asked for"]
pub struct OwnedPairs<K, V> {
    txn: ReadTxn,
    tree: Tree,
    ends: Box<PairEnds>,
    types: PhantomData<fn(K) -> V>,
}

/// The values of a key of a multimap, from both ends, with the transaction that shows them; see
/// [`Multi::into_values`] and [`OwnedPairs`].
#[must_use = "values are read when they are asked for"]
pub struct OwnedValues<V> {
    pairs: OwnedPairs<Bytes, V>,
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// As [`Multi::range`], with a transaction that the pairs keep.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let t = env.update(|txn| {
    /// #     let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// #     for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    /// #         t.put(txn, name, n)?;
    /// #     }
    /// #     Ok(t)
    /// # })?;
    /// let mut pairs = t.into_range(env.read()?, "a"..)?;
    /// assert_eq!(pairs.next_back()?, Some(("bob", 2)));
    /// assert_eq!(pairs.next()?, Some(("ann", 1)));
    /// assert_eq!(pairs.next()?, Some(("ann", 3)));
    /// assert_eq!(pairs.next()?, None);
    /// assert_eq!(t.len(pairs.txn())?, 3, "the transaction is there as before");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of all methods of a table; the transaction has ended then.
    pub fn into_range<'k>(
        self,
        txn: ReadTxn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<OwnedPairs<K, V>> {
        let found = in_range::<K, _, _>(range, |from, to| between(&txn, self.id, from, to))?;
        Ok(OwnedPairs::of(txn, found))
    }

    /// As [`Multi::prefix`], with a transaction that the pairs keep.
    ///
    /// # Errors
    /// As [`Multi::into_range`], and [`Error::PrefixOrder`](crate::Error::PrefixOrder) unless keys
    /// are ordered as byte strings.
    pub fn into_prefix(self, txn: ReadTxn, prefix: impl KeyPrefix<K>) -> Result<OwnedPairs<K, V>> {
        let any = AnyTxn::Read(&txn);
        let found =
            any.in_prefix::<K, _>(self.id, &prefix, |from, to| between(&txn, self.id, from, to))?;
        Ok(OwnedPairs::of(txn, found))
    }

    /// As [`Multi::iter`], with a transaction that the pairs keep: all of them.
    ///
    /// # Errors
    /// As [`Multi::into_range`].
    pub fn into_iter(self, txn: ReadTxn) -> Result<OwnedPairs<K, V>> {
        let found = between(&txn, self.id, Bound::Unbounded, Bound::Unbounded)?;
        Ok(OwnedPairs::of(txn, found))
    }

    /// As [`Multi::values`], with a transaction that the values keep. Costs two descents.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let t = env.update(|txn| {
    /// #     let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// #     (0..5).try_for_each(|n| t.put(txn, "ann", n).map(drop))?;
    /// #     Ok(t)
    /// # })?;
    /// let mut values = t.into_values(env.read()?, "ann")?;
    /// assert_eq!((values.next()?, values.next_back()?), (Some(0), Some(4)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::into_range`].
    pub fn into_values(self, txn: ReadTxn, key: K::In<'_>) -> Result<OwnedValues<V>> {
        let mut scratch = Scratch::default();
        let key = Bound::Included(K::encode(&key, &mut scratch)?);
        let found = between(&txn, self.id, key, key)?;
        Ok(OwnedValues { pairs: OwnedPairs::of(txn, found) })
    }
}

/// A multimap's record, and the ends of a range in it.
fn between(
    txn: &ReadTxn,
    id: TableId,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> Result<(Tree, PairEnds)> {
    let any = AnyTxn::Read(txn);
    let tree = any.tree(id)?;
    let order = any.order_in(id, &tree, (from, to))?;
    Ok((tree, PairEnds::new(TreeView::new(&txn.snapshot, &tree, order), from, to)?))
}

impl<K: Codec, V: Codec> OwnedPairs<K, V> {
    fn of(txn: ReadTxn, (tree, ends): (Tree, PairEnds)) -> OwnedPairs<K, V> {
        OwnedPairs { txn, tree, ends: Box::new(ends), types: PhantomData }
    }

    /// The next pair from the front. After an error there are no more.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_, K, V>>> {
        self.step(true)
    }

    /// The next pair from the back.
    pub fn next_back(&mut self) -> Result<Option<Record<'_, K, V>>> {
        self.step(false)
    }

    fn step(&mut self, forward: bool) -> Result<Option<Record<'_, K, V>>> {
        let OwnedPairs { txn, tree, ends, .. } = self;
        // As all that walks multimaps but cursors, whose code is their own this way: shared with
        // this, a step of a cursor takes 8 % more instructions.
        let source = AnyTxn::Read(txn).source();
        let pair = ends.step(TreeView::unordered(source, tree), forward)?;
        pair.map(|(key, value)| Ok((K::decode(key)?, V::decode(value)?))).transpose()
    }

    /// The transaction.
    pub fn txn(&self) -> &ReadTxn {
        &self.txn
    }

    /// Ends the range and gives its transaction back.
    pub fn into_txn(self) -> ReadTxn {
        self.txn
    }
}

impl<V: Codec> OwnedValues<V> {
    /// The next value from the front. After an error there are no more.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<V::Out<'_>>> {
        Ok(self.pairs.next()?.map(|(_, value)| value))
    }

    /// The next value from the back.
    pub fn next_back(&mut self) -> Result<Option<V::Out<'_>>> {
        Ok(self.pairs.next_back()?.map(|(_, value)| value))
    }

    /// The transaction.
    pub fn txn(&self) -> &ReadTxn {
        self.pairs.txn()
    }

    /// Ends the iteration and gives its transaction back.
    pub fn into_txn(self) -> ReadTxn {
        self.pairs.into_txn()
    }
}
