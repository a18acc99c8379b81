//! Ranges of an LSM table, and what is asked of them.

use std::ops::{Bound, RangeBounds};

use huon::{AnyTxn, Codec, KeyCodec, KeyPrefix, Result, Scratch, Txn};

use crate::manifest::Shared;
use crate::merge::Bounds;
use crate::pending::Pending;
use crate::range::{LsmRange, count, in_prefix, in_range};
use crate::table::LsmTable;

impl<K: KeyCodec, V: Codec> LsmTable<K, V> {
    /// All records, in key order. A dump of the merged records is this.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "bob", 47))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// let txn = env.read()?;
    /// let all: Result<Vec<_>, _> = ages.iter(&txn)?.collect();
    /// assert_eq!(all?, [("ann", 31), ("bob", 47)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn iter<'t>(&self, txn: &'t impl Txn) -> Result<LsmRange<'t, K, V>> {
        LsmRange::new(self.shared(), txn.any(), (Bound::Unbounded, Bound::Unbounded))
    }

    /// The records of a range of keys, in key order; `.rev()` goes the other way. An upper bound
    /// below the lower one gives nothing.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| {
    ///     let all = [("ann", 31), ("bob", 47), ("cid", 5)];
    ///     all.iter().try_for_each(|(name, age)| ages.put(txn, name, *age))
    /// })?;
    /// let txn = env.read()?;
    /// let late: Result<Vec<_>, _> = ages.range(&txn, "b"..)?.rev().collect();
    /// assert_eq!(late?, [("cid", 5), ("bob", 47)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::get`]; [`huon::Error::Encode`] from the codec.
    pub fn range<'t, 'k>(
        &self,
        txn: &'t impl Txn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<LsmRange<'t, K, V>> {
        in_range::<K, _, _>(&range, |bounds| LsmRange::new(self.shared(), txn.any(), bounds))
    }

    /// The records whose keys begin with the bytes of `prefix`.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// let names = ["ann", "anton", "bob"];
    /// env.update(|txn| names.iter().try_for_each(|name| ages.put(txn, name, 0)))?;
    /// assert_eq!(ages.prefix(&env.read()?, "an")?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::range`].
    pub fn prefix<'t>(
        &self,
        txn: &'t impl Txn,
        prefix: impl KeyPrefix<K>,
    ) -> Result<LsmRange<'t, K, V>> {
        let mut scratch = Scratch::default();
        let prefix = prefix.encode(&mut scratch)?;
        in_prefix(prefix, |bounds| LsmRange::new(self.shared(), txn.any(), bounds))
    }

    /// The record with the lowest key.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "bob", 47).and_then(|()| ages.put(txn, "ann", 31)))?;
    /// let txn = env.read()?;
    /// assert_eq!(ages.first(&txn)?, Some(("ann", 31)));
    /// assert_eq!(ages.last(&txn)?, Some(("bob", 47)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn first<'t>(&self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// The record with the highest key; see [`LsmTable::first`].
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn last<'t>(&self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// The record with the lowest key that is not below `key`.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31).and_then(|()| ages.put(txn, "cid", 5)))?;
    /// let txn = env.read()?;
    /// assert_eq!(ages.at_or_above(&txn, "bob")?, Some(("cid", 5)));
    /// assert_eq!(ages.at_or_below(&txn, "bob")?, Some(("ann", 31)));
    /// assert_eq!(ages.at_or_above(&txn, "dan")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::range`].
    pub fn at_or_above<'t>(
        &self,
        txn: &'t impl Txn,
        key: K::In<'_>,
    ) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.range(txn, (Bound::Included(key), Bound::Unbounded))?.next().transpose()
    }

    /// The record with the highest key that is not above `key`; see [`LsmTable::at_or_above`].
    ///
    /// # Errors
    /// As there.
    pub fn at_or_below<'t>(
        &self,
        txn: &'t impl Txn,
        key: K::In<'_>,
    ) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.range(txn, (Bound::Unbounded, Bound::Included(key)))?.next_back().transpose()
    }

    /// How many records a range of keys has.
    ///
    /// ```
    /// # use huon::{Env, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let t = Lsm::open(&env)?.table(&LsmDef::<U64, U64>::new("t"))?;
    /// env.update(|txn| (0..1000).try_for_each(|n| t.put(txn, n, n)))?;
    /// env.update(|txn| (0..1000).try_for_each(|n| t.put(txn, n, n + 1)))?;
    /// let txn = env.read()?;
    /// assert_eq!(t.count(&txn, 100..200)?, 100);
    /// assert_eq!(t.estimate(&txn, ..)?, 2000, "both runs are counted");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A scan of the range; an LSM table knows only what its runs hold.
    /// [`LsmTable::estimate`] costs little.
    ///
    /// # Errors
    /// As [`LsmTable::range`], but keys and values are not decoded.
    pub fn count<'k>(&self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        in_range::<K, _, _>(&range, |bounds| count(self.shared(), txn.any(), bounds, u64::MAX))
    }

    /// About how many records of all runs lie in a range of keys, and of what the transaction has
    /// collected: that are more than the range has where a key lies in several runs or is deleted.
    /// See [`LsmTable::count`] for an example.
    ///
    /// # Cost
    /// Two descents in each run.
    ///
    /// # Errors
    /// As [`LsmTable::range`].
    pub fn estimate<'k>(&self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        in_range::<K, _, _>(&range, |bounds| estimate(self.shared(), txn, bounds))
    }

    /// Whether the table has no record.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// assert!(ages.is_empty(&env.read()?)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of the first step of a range, which passes over tombstones.
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn is_empty(&self, txn: &impl Txn) -> Result<bool> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Ok(count(self.shared(), txn.any(), all, 1)? == 0)
    }
}

fn estimate(shared: &Shared, txn: &impl Txn, bounds: Bounds<'_>) -> Result<u64> {
    let pending = match txn.any() {
        AnyTxn::Read(_) => None,
        AnyTxn::Write(write) => Pending::of(write, shared).map(|pending| (write, pending)),
    };
    let view = match pending {
        Some((write, pending)) => pending.view(write)?,
        None => shared.view(txn)?,
    };
    let mut records = match pending {
        Some((_, pending)) => pending.batch.sorted()?.within(bounds).len(),
        None => 0,
    };
    for run in &view.runs {
        records += run.table.estimate(txn, bounds)? as usize;
    }
    Ok(records as u64)
}
