//! What changes an LSM table.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::time::SystemTime;

use huon::{AnyTxn, Append, Codec, Error, KeyCodec, Owned, Result, Scratch, WriteTxn};

use crate::batch::Batch;
use crate::edit::{Content, record_bytes};
use crate::filter;
use crate::format::DeleteRecord;
use crate::manifest::Shared;
use crate::merge::Bounds;
use crate::operator::no_operator;
use crate::pending::Pending;
use crate::range::in_range;
use crate::read::{get, has};
use crate::record::{ms_of, tag};
use crate::table::LsmTable;

impl<K: KeyCodec, V: Codec> LsmTable<K, V> {
    /// Stores `value` under `key`, whether that is there or not.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// env.update(|txn| ages.put(txn, "ann", 32))?;
    /// assert_eq!(ages.get(&env.read()?, "ann")?, Some(32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A copy of key and value into memory: some nanoseconds. The commit sorts what was collected
    /// and builds a run of it, about 100 nanoseconds for each record; merges do about as much again
    /// for each class of runs. A transaction that has collected
    /// [`LsmOptions::batch_bytes`](crate::LsmOptions::batch_bytes) makes a run of them before it
    /// goes on; not in a nested transaction, unless nothing was collected outside of it.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`], [`Error::Encode`], [`Error::OutOfMemory`]:
    /// nothing has happened then. What the file has no room for fails the commit.
    pub fn put(&self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<()> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let key = K::encode(&key, &mut key_room)?;
        put(self.shared(), txn, key, V::encode(&value, &mut value_room)?)
    }

    /// Stores `value` under `key` until a time. From then on the key counts as absent, in every
    /// snapshot, and merges drop it.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// use std::time::{Duration, SystemTime};
    /// let sessions = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("sessions"))?;
    /// let now = SystemTime::now();
    /// env.update(|txn| {
    ///     sessions.put_until(txn, "ann", 1, now + Duration::from_secs(3600))?;
    ///     sessions.put_until(txn, "bob", 2, now - Duration::from_secs(1))
    /// })?;
    /// let txn = env.read()?;
    /// assert_eq!(sessions.get(&txn, "ann")?, Some(1));
    /// assert_eq!(sessions.get(&txn, "bob")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`LsmTable::put`], 8 bytes, and a look at the clock for each such record that is
    /// read.
    ///
    /// # Errors
    /// As [`LsmTable::put`]; values are no longer than operands ([`LsmTable::merge`]).
    pub fn put_until(
        &self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
        until: SystemTime,
    ) -> Result<()> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let key = K::encode(&key, &mut key_room)?;
        check_key(self.shared(), key)?;
        let batch = &mut Pending::of_mut(txn, self.shared())?.batch;
        batch.put_until(key, V::encode(&value, &mut value_room)?, ms_of(until))
    }

    /// Merges `operand` onto the value of `key`, by the operator that the table's definition names;
    /// where the key has no value, `operand` becomes its value. See
    /// [`LsmDef::merged_by`](crate::LsmDef::merged_by).
    ///
    /// A value that ends at a time ends then, and what was merged onto it is left.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let hits = LsmDef::<Str, U64>::new("hits").merged_by("sum", |a, b, sum| sum.set(a + b));
    /// let hits = Lsm::open(&env)?.table(&hits)?;
    /// env.update(|txn| hits.merge(txn, "index", 1))?;
    /// env.update(|txn| hits.merge(txn, "index", 2))?;
    /// assert_eq!(hits.get(&env.read()?, "index")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`LsmTable::put`]: nothing is looked for, but in the open run, to which a small
    /// transaction adds. Reads fold what lies in several runs, with a copy that the transaction
    /// keeps until it ends; merges of runs fold for good.
    ///
    /// # Errors
    /// As [`LsmTable::put`], but [`Error::ValueTooLong`] for an operand of half as many bytes as a
    /// value can have: there is a record of a value with a time and of an operand.
    /// [`Error::Invalid`] if no definition has named an operator; [`Error::Decode`] if the
    /// transaction has merged by another one. An operator that fails has the commit fail, or what
    /// else needs its result.
    pub fn merge(&self, txn: &mut WriteTxn, key: K::In<'_>, operand: V::In<'_>) -> Result<()> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let operator = self.shared().operator().ok_or_else(no_operator)?;
        let key = K::encode(&key, &mut key_room)?;
        check_key(self.shared(), key)?;
        let batch = &mut Pending::of_mut(txn, self.shared())?.batch;
        batch.merge(operator, key, V::encode(&operand, &mut value_room)?)
    }

    /// Deletes `key`, whether it is there or not.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// env.update(|txn| ages.delete(txn, "ann"))?;
    /// assert_eq!(ages.get(&env.read()?, "ann")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`LsmTable::put`]: a record that says so (a tombstone) is stored until a merge
    /// reaches the oldest run.
    ///
    /// # Errors
    /// As [`LsmTable::put`].
    pub fn delete(&self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<()> {
        let mut scratch = Scratch::default();
        delete(self.shared(), txn, K::encode(&key, &mut scratch)?)
    }

    /// Deletes all records of a range of keys.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ["ann", "bob", "cid"].iter().try_for_each(|name| ages.put(txn, name, 7)))?;
    /// env.update(|txn| ages.delete_range(txn, "b".."c"))?;
    /// let txn = env.read()?;
    /// let left: Result<Vec<_>, _> = ages.iter(&txn)?.map(|r| r.map(|r| r.0)).collect();
    /// assert_eq!(left?, ["ann", "cid"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A small record at the commit, whatever the range holds. Runs that lie inside are dropped at
    /// once; others keep their records until merges have applied it, and are read past the range.
    /// Every lookup compares its key with the ranges that are deleted and not yet applied.
    ///
    /// # Errors
    /// As [`LsmTable::put`].
    pub fn delete_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<()> {
        in_range::<K, _, _>(&range, |bounds| match range_of(bounds) {
            Some(range) => {
                Pending::of_mut(txn, self.shared())?.batch.delete_range(range);
                Ok(())
            }
            None => Ok(()),
        })
    }

    /// Deletes all records.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// env.update(|txn| ages.clear(txn))?;
    /// assert!(ages.first(&env.read()?)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of dropping the tables of all runs, at the commit.
    ///
    /// # Errors
    /// As [`LsmTable::put`].
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<()> {
        let all = DeleteRecord { from: Vec::new(), to: None };
        Pending::of_mut(txn, self.shared())?.batch.delete_range(all);
        Ok(())
    }

    /// Deletes the table with all its records and options, at the commit. If the transaction puts
    /// into it later, it is emptied only.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let lsm = Lsm::open(&env)?;
    /// let ages = lsm.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// env.update(|txn| ages.drop_table(txn))?;
    /// let txn = env.read()?;
    /// assert!(lsm.table_names(&txn)?.is_empty() && txn.table_names()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LsmTable::put`].
    pub fn drop_table(&self, txn: &mut WriteTxn) -> Result<()> {
        Pending::of_mut(txn, self.shared())?.batch.drop_table();
        Ok(())
    }

    /// Stores `value` under `key` if that is not there, and returns whether it did.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| {
    ///     assert!(ages.put_if_absent(txn, "ann", 31)?);
    ///     assert!(!ages.put_if_absent(txn, "ann", 32)?);
    ///     assert!(ages.update(txn, "ann", 33)? && !ages.update(txn, "bob", 47)?);
    ///     Ok(())
    /// })?;
    /// assert_eq!(ages.get(&env.read()?, "ann")?, Some(33));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`LsmTable::get`] and [`LsmTable::put`]: not a blind write, and ten times as dear as
    /// one where the key is there. An absent key is mostly told by the filters alone.
    ///
    /// # Errors
    /// As those two, but the value that is there is not decoded.
    pub fn put_if_absent(
        &self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<bool> {
        self.put_if(txn, key, value, false)
    }

    /// Stores `value` under `key` if that is there, and returns whether it did; see
    /// [`LsmTable::put_if_absent`] for an example and the cost.
    ///
    /// # Errors
    /// As there.
    pub fn update(&self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.put_if(txn, key, value, true)
    }

    fn put_if(
        &self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
        is_there: bool,
    ) -> Result<bool> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let key = K::encode(&key, &mut key_room)?;
        let value = V::encode(&value, &mut value_room)?;
        if has(self.shared(), AnyTxn::Write(txn), key)? != is_there {
            return Ok(false);
        }
        put(self.shared(), txn, key, value).map(|()| true)
    }

    /// Stores `value` under `key` and returns the value that was there before.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| {
    ///     assert!(ages.replace(txn, "ann", 31)?.is_none());
    ///     assert_eq!(ages.replace(txn, "ann", 32)?.expect("it was there").get()?, 31);
    ///     assert_eq!(ages.take(txn, "ann")?.expect("it was there").get()?, 32);
    ///     assert!(ages.take(txn, "ann")?.is_none());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// As [`LsmTable::put_if_absent`], and a copy of the value.
    ///
    /// # Errors
    /// As there.
    pub fn replace(
        &self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<Option<Owned<V>>> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let key = K::encode(&key, &mut key_room)?;
        let value = V::encode(&value, &mut value_room)?;
        let old = get(self.shared(), AnyTxn::Write(txn), key)?.map(<[u8]>::to_vec);
        put(self.shared(), txn, key, value)?;
        Ok(old.map(Owned::from_bytes))
    }

    /// Deletes `key` and returns the value that was there; see [`LsmTable::replace`] for an example
    /// and the cost. Nothing is stored if nothing was there.
    ///
    /// # Errors
    /// As there.
    pub fn take(&self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<Option<Owned<V>>> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let Some(old) = get(self.shared(), AnyTxn::Write(txn), key)?.map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        delete(self.shared(), txn, key)?;
        Ok(Some(Owned::from_bytes(old)))
    }

    /// Makes a run straight of records in key order, which are neither collected nor sorted. They
    /// are newer than all that are there.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let squares = Lsm::open(&env)?.table(&LsmDef::<U64, U64>::new("squares"))?;
    /// env.update(|txn| {
    ///     squares.bulk_load(txn, |append| (0..10_000).try_for_each(|n| append(n, n * n)))
    /// })?;
    /// assert_eq!(squares.get(&env.read()?, 12)?, Some(144));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// 50 to 100 nanoseconds a record, and 8 bytes of memory for each for the filter. In a nested
    /// transaction, where something was collected outside of it, they are collected in memory as if
    /// they were put.
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`]; any error undoes all of it, and nothing else of the transaction.
    pub fn bulk_load(
        &self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        let shared = self.shared();
        let mut feed = Some(feed);
        let mut put_bytes = 0;
        let at_once = Pending::edit_now(txn, shared, |edit| {
            let written = edit.add_whole(|edit, table| {
                let (mut content, mut hashes) = (Content::new(None), Vec::new());
                let Some(feed) = feed.take() else { return Ok(content) };
                let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
                let has_filter = edit.filter_maker(0)?.is_some();
                let mut tagged = Vec::new();
                table.bulk_load(edit.txn, |append| {
                    feed(&mut |key, value| {
                        let key = K::encode(&key, &mut key_room)?;
                        tagged.clear();
                        tagged.extend_from_slice(V::encode(&value, &mut value_room)?);
                        tagged.push(tag::PUT);
                        content.note(key, &tagged);
                        if has_filter {
                            hashes.push(filter::hash(key));
                        }
                        put_bytes += record_bytes(key, &tagged);
                        append(key, &tagged)
                    })
                })?;
                content.filter = edit.filter_maker(content.records)?;
                if let Some(filter) = &mut content.filter {
                    hashes.into_iter().for_each(|hash| filter.add(hash));
                }
                Ok(content)
            })?;
            edit.count(written, 0)?;
            Ok(put_bytes)
        })?;
        match (at_once, feed) {
            (false, Some(feed)) => self.collect(txn, feed),
            _ => Ok(()),
        }
    }

    /// Collects records in key order.
    fn collect(
        &self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        txn.nested(|txn| {
            let mut last: Option<Vec<u8>> = None;
            feed(&mut |key, value| {
                let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
                let key = K::encode(&key, &mut key_room)?;
                if last.as_deref().is_some_and(|last| last >= key) {
                    return Err(Error::KeyOutOfOrder);
                }
                put(self.shared(), txn, key, V::encode(&value, &mut value_room)?)?;
                last.get_or_insert_default().clear();
                last.get_or_insert_default().extend_from_slice(key);
                Ok(())
            })
        })
    }

    /// Puts what an iterator gives, in any order: the other half of a dump, which is
    /// [`LsmTable::iter`].
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// # let other = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// let copy = Lsm::open(&other)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// # env.update(|txn| ages.put(txn, "ann", 31))?;
    /// let txn = env.read()?;
    /// other.update(|into| copy.load(into, ages.iter(&txn)?))?;
    /// assert_eq!(copy.get(&other.read()?, "ann")?, Some(31));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the iterator, and as [`LsmTable::put`]. What was put before the error stays.
    pub fn load<'a>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = Result<(K::In<'a>, V::In<'a>)>>,
    ) -> Result<()> {
        records.into_iter().try_for_each(|record| {
            let (key, value) = record?;
            self.put(txn, key, value)
        })
    }
}

/// Refuses a key that no page holds.
#[inline]
pub(crate) fn check_key(shared: &Shared, key: &[u8]) -> Result<()> {
    let max = shared.key_bytes_max;
    if key.len() <= max as usize {
        return Ok(());
    }
    Err(Error::KeyTooLong { bytes: u32::try_from(key.len()).unwrap_or(u32::MAX), max })
}

#[inline]
fn put(shared: &Arc<Shared>, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
    check_key(shared, key)?;
    Pending::of_mut(txn, shared)?.batch.put(key, value)
}

#[inline]
fn delete(shared: &Arc<Shared>, txn: &mut WriteTxn, key: &[u8]) -> Result<()> {
    check_key(shared, key)?;
    Pending::of_mut(txn, shared)?.batch.delete(key)
}

/// A range of keys as it is deleted; `None`: it holds none.
pub(crate) fn range_of((from, to): Bounds<'_>) -> Option<DeleteRecord> {
    // The lowest key above another one is that one and a zero byte.
    let above = |key: &[u8]| [key, &[0]].concat();
    let from = match from {
        Bound::Included(key) => key.to_vec(),
        Bound::Excluded(key) => above(key),
        Bound::Unbounded => Vec::new(),
    };
    let to = match to {
        Bound::Included(key) => Some(above(key)),
        Bound::Excluded(key) => Some(key.to_vec()),
        Bound::Unbounded => None,
    };
    to.as_ref().is_none_or(|to| from < *to).then_some(DeleteRecord { from, to })
}

/// Adds a record to a batch that no transaction has yet.
pub(crate) fn encode_into<K: KeyCodec, V: Codec>(
    shared: &Shared,
    batch: &mut Batch,
    key: K::In<'_>,
    value: V::In<'_>,
    add: impl FnOnce(&mut Batch, &[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
    let key = K::encode(&key, &mut key_room)?;
    check_key(shared, key)?;
    add(batch, key, V::encode(&value, &mut value_room)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_deleted_from_its_first_key_to_the_one_above_its_last() {
        use Bound::{Excluded, Included, Unbounded};
        let of = |from, to| range_of((from, to)).map(|range| (range.from, range.to));
        assert_eq!(of(Unbounded, Unbounded), Some((vec![], None)));
        assert_eq!(
            of(Included(b"a"), Included(b"a")),
            Some((b"a".to_vec(), Some(b"a\0".to_vec())))
        );
        assert_eq!(of(Included(b"a"), Excluded(b"a")), None);
        assert_eq!(of(Excluded(b"a"), Included(b"a")), None);
        assert_eq!(
            of(Excluded(b"a"), Excluded(b"b")),
            Some((b"a\0".to_vec(), Some(b"b".to_vec())))
        );
        assert_eq!(of(Included(b"b"), Included(b"a")), None);
    }
}
