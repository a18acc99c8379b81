//! Multimaps: tables in which a key may have many values, in order and none twice.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Result};
use crate::table::codec::{Bytes, KeyCodec, KeyPrefix, Scratch};
use crate::table::def::{Asked, Definition, Id, Sealed};
use crate::table::pairs::{Keys, Pairs, Values};
use crate::table::txn::{Txn, in_range};
use crate::txn::meaning::{Lengths, MultiSpec, TableSpec, TypeNames};
use crate::txn::names::{TableId, TableNo};
use crate::txn::order::Order;
use crate::txn::write::WriteTxn;

/// The name of a multimap, and the types of its keys and values.
///
/// Values of a type with one length ([`KeyCodec::BYTES`]) take no more room than their bytes where
/// a key has many.
///
/// ```
/// use huon::{MultiDef, Order, Str, U64};
/// const TAGS: MultiDef<Str, U64> = MultiDef::new("tags");
/// let by_end = MultiDef::<Str, Str>::new("hosts").values_ordered(Order::Reversed);
/// # let _ = (TAGS, by_end);
/// ```
#[must_use = "a definition opens nothing until it is passed to `open_table` or `create_table`"]
pub struct MultiDef<K, V> {
    pub(crate) name: Cow<'static, [u8]>,
    order: Order,
    many: MultiSpec,
    names: TypeNames,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: KeyCodec> MultiDef<K, V> {
    const NAMES: TypeNames =
        TypeNames { key: Cow::Borrowed(K::NAME), value: Cow::Borrowed(V::NAME) };

    const MANY: MultiSpec = MultiSpec {
        order: V::ORDER,
        lengths: match V::BYTES {
            Some(bytes) => Lengths::Equal(bytes),
            None => Lengths::Any,
        },
    };

    /// The multimap called `name`.
    pub const fn new(name: &'static str) -> MultiDef<K, V> {
        let name = Cow::Borrowed(name.as_bytes());
        MultiDef { name, order: K::ORDER, many: Self::MANY, names: Self::NAMES, types: PhantomData }
    }

    /// The same, with a name made at run time; any bytes but none at all.
    ///
    /// ```
    /// let year = huon::MultiDef::<huon::U64, huon::Str>::named(format!("events-{}", 2024));
    /// assert_eq!(year.name(), b"events-2024");
    /// ```
    pub fn named(name: impl AsRef<[u8]>) -> MultiDef<K, V> {
        let name = Cow::Owned(name.as_ref().to_vec());
        MultiDef { name, order: K::ORDER, many: Self::MANY, names: Self::NAMES, types: PhantomData }
    }

    /// With another order of keys than the key type has.
    pub fn ordered(mut self, order: Order) -> MultiDef<K, V> {
        self.order = order;
        self
    }

    /// With another order of values than the value type has. [`Order::Stored`] also takes values of
    /// one length or any, as the multimap was created.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use huon::{MultiDef, Order, Str};
    /// let hosts = MultiDef::<Str, Str>::new("hosts").values_ordered(Order::Reversed);
    /// let hosts = txn.create_table(&hosts)?;
    /// for host in ["a.org", "b.com", "c.org"] {
    ///     hosts.put(&mut txn, "all", host)?;
    /// }
    /// let by_end: Result<Vec<_>, _> = hosts.values(&txn, "all")?.collect();
    /// assert_eq!(by_end?, ["a.org", "c.org", "b.com"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values_ordered(mut self, order: Order) -> MultiDef<K, V> {
        if matches!(order, Order::Stored) {
            self.many.lengths = Lengths::Stored;
        }
        self.many.order = order;
        self
    }

    /// All values have one length: `bytes`, or that of the first one where this is 0. Needed for
    /// value types whose length is not known when a program is compiled.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let hashes = huon::MultiDef::<huon::Str, huon::Bytes>::new("hashes").values_of_bytes(32);
    /// let hashes = txn.create_table(&hashes)?;
    /// hashes.put(&mut txn, "ann", &[7; 32])?;
    /// let refused = hashes.put(&mut txn, "ann", b"short");
    /// assert!(matches!(refused, Err(huon::Error::ValueLength)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values_of_bytes(mut self, bytes: u32) -> MultiDef<K, V> {
        self.many.lengths = Lengths::Equal(bytes);
        self
    }

    /// As [`TableDef::type_names`](crate::TableDef::type_names).
    #[doc(hidden)]
    pub fn type_names(mut self, key: &str, value: &str) -> MultiDef<K, V> {
        let (key, value) = (key.to_owned().into(), value.to_owned().into());
        self.names = TypeNames { key, value };
        self
    }

    /// The name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

impl<K, V> fmt::Debug for MultiDef<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiDef")
            .field("name", &self.name.escape_ascii().to_string())
            .field("order", &self.order)
            .field("values", &self.many)
            .finish()
    }
}

/// A handle of a multimap; see
/// [`ReadTxn::open_table`](crate::ReadTxn::open_table) and [`WriteTxn::create_table`].
///
/// Like [`Table`](crate::Table) it is a small `Copy` value, good for every transaction of its
/// environment, and its methods can fail with the errors named there.
///
/// A key's values lie in the leaf with their key as long as both take no more than half a page, and
/// else in a tree of their own: so one value costs as much as in a [`Table`](crate::Table), and a
/// million of them are found as fast as a million keys. A value is at most as long as a key may be.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use huon::{MultiDef, Str, U64};
/// const BY_CITY: MultiDef<Str, U64> = MultiDef::new("people-by-city");
/// env.update(|txn| {
///     let by_city = txn.create_table(&BY_CITY)?;
///     by_city.put(txn, "Hobart", 12)?;
///     by_city.put(txn, "Huonville", 3)?;
///     by_city.put(txn, "Hobart", 7)
/// })?;
/// let txn = env.read()?;
/// let by_city = txn.open_table(&BY_CITY)?.expect("it was created above");
/// let people: Result<Vec<_>, _> = by_city.values(&txn, "Hobart")?.collect();
/// assert_eq!(people?, [7, 12]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Multi<K, V> {
    pub(crate) id: TableId,
    types: PhantomData<fn(K) -> V>,
}

/// A multimap of plain bytes.
pub type RawMulti = Multi<Bytes, Bytes>;

impl<K, V> Clone for Multi<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Multi<K, V> {}

impl<K, V> fmt::Debug for Multi<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl<K: KeyCodec, V: KeyCodec> Sealed for MultiDef<K, V> {
    type Opened = Multi<K, V>;

    fn asked(&self) -> Result<Asked<'_>> {
        if self.name.is_empty() {
            return Err(Error::Invalid("the main table cannot be a multimap; name one"));
        }
        let MultiDef { name, order, many, names, .. } = self;
        Ok(Asked(TableSpec { name, order, many: Some(many), types: names }))
    }

    fn opened(id: Id) -> Multi<K, V> {
        Multi::of(id.0)
    }
}

impl<K: KeyCodec, V: KeyCodec> Definition for MultiDef<K, V> {
    type Handle = Multi<K, V>;
}

impl<K, V> Multi<K, V> {
    pub(crate) fn of(id: TableId) -> Multi<K, V> {
        Multi { id, types: PhantomData }
    }

    /// The same multimap seen as bytes.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// assert_eq!(t.raw().get(&txn, b"ann")?, Some(&1u64.to_be_bytes()[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw(self) -> RawMulti {
        Multi::of(self.id)
    }

    pub(super) fn number_in(self, txn: &WriteTxn) -> Result<TableNo> {
        txn.core.names.number(self.id)
    }
}

impl RawMulti {
    /// As [`RawTable::words`](crate::RawTable::words).
    #[doc(hidden)]
    pub fn words(self) -> [u64; 2] {
        self.id.words()
    }

    /// The handle of which these are the words: of a multimap, not of a table.
    #[doc(hidden)]
    pub fn of_words(words: [u64; 2]) -> RawMulti {
        Multi::of(TableId::of_words(words))
    }
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// The first value of `key`.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.put(&mut txn, "ann", 5)?;
    /// assert_eq!(t.get(&txn, "ann")?, Some(5));
    /// assert_eq!(t.get(&txn, "bob")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<'t>(self, txn: &'t impl Txn, key: K::In<'_>) -> Result<Option<V::Out<'t>>> {
        self.values(txn, key)?.next().transpose()
    }

    /// Whether `value` is one of `key`'s.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.contains(&txn, "ann", 7)? && !t.contains(&txn, "ann", 8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(self, txn: &impl Txn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let (key, value) = (K::encode(&key, &mut key_room)?, V::encode(&value, &mut value_room)?);
        txn.any().holds_pair(self.id, key, value)
    }

    /// How many values `key` has. Costs one descent, however many there are.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..1000).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!((t.count_values(&txn, "ann")?, t.count_values(&txn, "bob")?), (1000, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_values(self, txn: &impl Txn, key: K::In<'_>) -> Result<u64> {
        let mut scratch = Scratch::default();
        txn.any().count_values(self.id, K::encode(&key, &mut scratch)?)
    }

    /// How many values all keys have together. Costs nothing.
    pub fn len(self, txn: &impl Txn) -> Result<u64> {
        Ok(txn.any().tree(self.id)?.entries)
    }

    /// Whether no key has a value. Costs nothing.
    pub fn is_empty(self, txn: &impl Txn) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// How many values the keys of a range have together, exactly. Reads the leaves of keys, but no
    /// values that lie apart from them.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// assert_eq!(t.count(&txn, .."b")?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count<'k>(self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        self.keys_range(txn, range)?.map(|key| key.map(|(_, count)| count)).sum()
    }

    /// About how many values all keys of a range have: from where its ends lie in the tree, as if
    /// all pages were equally full and all keys had as many. Costs two descents, however many
    /// there are.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::MultiDef::<huon::U64, huon::U64>::new("t"))?;
    /// (0..100_000).try_for_each(|n| t.append(&mut txn, n, n))?;
    /// let about = t.estimate(&txn, 20_000..40_000)?;
    /// assert!((15_000..25_000).contains(&about), "{about}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate<'k>(self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        txn.any().estimate::<K>(self.id, range)
    }

    /// About how many values of `key` lie in a range, from the ends of the range alone; exactly
    /// where they are few.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..10_000).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// let about = t.estimate_values(&txn, "ann", 2_000..7_000)?;
    /// assert!((4_000..6_000).contains(&about), "{about}");
    /// (0..5).try_for_each(|n| t.put(&mut txn, "bob", n).map(drop))?;
    /// assert_eq!(t.estimate_values(&txn, "bob", 1..)?, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate_values<'k>(
        self,
        txn: &impl Txn,
        key: K::In<'_>,
        range: impl RangeBounds<V::In<'k>>,
    ) -> Result<u64> {
        let mut scratch = Scratch::default();
        let (txn, key) = (txn.any(), K::encode(&key, &mut scratch)?);
        in_range::<V, _, _>(range, |from, to| txn.estimate_values(self.id, key, from, to))
    }

    /// In which ways the values of keys lie, a bit for each that there is: bit 0, a single one; bit
    /// 1, a few with their key or in a page; bit n, in a tree of n levels of pages. Reads every
    /// leaf.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert_eq!(t.value_depths(&txn)?, 0b1);
    /// (0..1000).try_for_each(|n| t.put(&mut txn, "bob", n).map(drop))?;
    /// assert_eq!(t.value_depths(&txn)?, 0b101);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn value_depths(self, txn: &impl Txn) -> Result<u32> {
        let all = Bound::Unbounded;
        let mut pairs = Pairs::<Bytes, Bytes>::new(txn.any(), self.id, all, all)?;
        let mut ways = 0;
        while let Some(levels) = pairs.next_depth()? {
            ways |= 1 << levels.min(31);
        }
        Ok(ways)
    }

    /// The length of every value in bytes, if all have one and it is known: from the beginning for
    /// integers, from the first value on otherwise.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert_eq!(t.value_bytes(&txn)?, Some(8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn value_bytes(self, txn: &impl Txn) -> Result<Option<u32>> {
        Ok(Some(txn.any().tree(self.id)?.fixed_bytes).filter(|&bytes| bytes != 0))
    }

    /// The values of `key`, in order; `.rev()` goes the other way. Costs a descent, and one more
    /// where the values have a tree of their own.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..5).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// let last: Result<Vec<_>, _> = t.values(&txn, "ann")?.rev().take(2).collect();
    /// assert_eq!(last?, [4, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values<'t>(self, txn: &'t impl Txn, key: K::In<'_>) -> Result<Values<'t, V>> {
        let mut scratch = Scratch::default();
        let (key, all) = (K::encode(&key, &mut scratch)?, Bound::Unbounded);
        Values::new(txn.any(), self.id, key, all, all)
    }

    /// The values of `key` that lie in a range.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..100).step_by(10).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.values_range(&txn, "ann", 35..)?.next().transpose()?, Some(40));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values_range<'t, 'k>(
        self,
        txn: &'t impl Txn,
        key: K::In<'_>,
        range: impl RangeBounds<V::In<'k>>,
    ) -> Result<Values<'t, V>> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        in_range::<V, _, _>(range, |from, to| Values::new(txn.any(), self.id, key, from, to))
    }

    /// All pairs of a key and a value, in the order of keys, and of values in each.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// let all: Result<Vec<_>, _> = t.iter(&txn)?.collect();
    /// assert_eq!(all?, [("ann", 1), ("ann", 3), ("bob", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter<'t>(self, txn: &'t impl Txn) -> Result<Pairs<'t, K, V>> {
        Pairs::new(txn.any(), self.id, Bound::Unbounded, Bound::Unbounded)
    }

    /// The pairs of a range of keys; `.rev()` goes the other way.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// let early: Result<Vec<_>, _> = t.range(&txn, .."b")?.rev().collect();
    /// assert_eq!(early?, [("ann", 3), ("ann", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<'t, 'k>(
        self,
        txn: &'t impl Txn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<Pairs<'t, K, V>> {
        in_range::<K, _, _>(range, |from, to| Pairs::new(txn.any(), self.id, from, to))
    }

    /// The pairs whose keys begin with the bytes of `prefix`.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// assert_eq!(t.prefix(&txn, "a")?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PrefixOrder`] unless keys are ordered as byte strings: elsewhere they do not lie
    /// together.
    pub fn prefix<'t>(
        self,
        txn: &'t impl Txn,
        prefix: impl KeyPrefix<K>,
    ) -> Result<Pairs<'t, K, V>> {
        let txn = txn.any();
        txn.in_prefix::<K, _>(self.id, &prefix, |from, to| Pairs::new(txn, self.id, from, to))
    }

    /// Every key once, with how many values it has.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// let keys: Result<Vec<_>, _> = t.keys(&txn)?.collect();
    /// assert_eq!(keys?, [("ann", 2), ("bob", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys<'t>(self, txn: &'t impl Txn) -> Result<Keys<'t, K>> {
        let all = Bound::Unbounded;
        Pairs::<Bytes, Bytes>::new(txn.any(), self.id, all, all).map(Keys::of)
    }

    /// Every key of a range once, with how many values it has. The values are not walked.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (name, n) in [("bob", 2), ("ann", 3), ("ann", 1)] {
    ///     t.put(&mut txn, name, n)?;
    /// }
    /// assert_eq!(t.keys_range(&txn, "b"..)?.next().transpose()?, Some(("bob", 1)));
    /// assert_eq!(t.keys_prefix(&txn, "a")?.next().transpose()?, Some(("ann", 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_range<'t, 'k>(
        self,
        txn: &'t impl Txn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<Keys<'t, K>> {
        in_range::<K, _, _>(range, |from, to| {
            Pairs::<Bytes, Bytes>::new(txn.any(), self.id, from, to).map(Keys::of)
        })
    }

    /// Every key that begins with `prefix` once, with how many values it has; see
    /// [`Multi::keys_range`] and [`Multi::prefix`].
    pub fn keys_prefix<'t>(
        self,
        txn: &'t impl Txn,
        prefix: impl KeyPrefix<K>,
    ) -> Result<Keys<'t, K>> {
        let txn = txn.any();
        txn.in_prefix::<K, _>(self.id, &prefix, |from, to| {
            Pairs::<Bytes, Bytes>::new(txn, self.id, from, to).map(Keys::of)
        })
    }

    /// The first pair.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 2)?;
    /// t.put(&mut txn, "ann", 1)?;
    /// assert_eq!((t.first(&txn)?, t.last(&txn)?), (Some(("ann", 1)), Some(("ann", 2))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first<'t>(self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// The last pair; see [`Multi::first`].
    pub fn last<'t>(self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }
}
