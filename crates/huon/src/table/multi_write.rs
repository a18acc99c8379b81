//! Changing a multimap.

use std::ops::{Bound, RangeBounds};

use crate::alloc::{TryGrow, collected, copied};
use crate::error::{Error, Result};
use crate::table::bulk::Append;
use crate::table::codec::{KeyCodec, Scratch};
use crate::table::multi::Multi;
use crate::table::txn::{Txn, in_range};
use crate::table::value::Owned;
use crate::table::verbs::{Change, DOOMED, OwnedRecord, owned};
use crate::tree::build_pairs::PairBuilder;
use crate::tree::edit::TreeMut;
use crate::tree::multi::{Flat, PairMode};
use crate::tree::values::{Orders, Pair};
use crate::txn::write::{How, WriteTxn};

/// A copy of a pair.
type RawPair = (Vec<u8>, Vec<u8>);

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// Adds `value` to those of `key`, and returns whether it was new. A value that is there
    /// already costs no write.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.put(&mut txn, "ann", 7)?);
    /// assert!(!t.put(&mut txn, "ann", 7)?);
    /// assert!(t.put(&mut txn, "ann", 8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::SortedValueTooLong`], [`Error::KeyLength`],
    /// [`Error::ValueLength`] leave the transaction as it was.
    pub fn put(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.put_as(txn, &key, &value, PairMode::Insert)
    }

    /// Adds many values to those of `key`, in any order, and returns how many were new.
    ///
    /// The key is looked up once, and where its values lie with it, they are written once: that is
    /// several times faster than as many [`Multi::put`]. The new values are copied meanwhile. Where
    /// a comparator of the caller's orders them and they come in no order, it is as many puts.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert_eq!(t.put_many(&mut txn, "ann", [7, 5, 7])?, 2);
    /// assert_eq!(t.put_many(&mut txn, "ann", 1..=5)?, 4);
    /// assert_eq!(t.count_values(&txn, "ann")?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::put`]: none of them is added then.
    pub fn put_many<'v>(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        values: impl IntoIterator<Item = V::In<'v>>,
    ) -> Result<u64> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let (values, mut all) = (values.into_iter(), Flat::default());
        all.reserve(values.size_hint().0, V::BYTES.unwrap_or(0) as usize)?;
        for value in values {
            all.push(V::encode(&value, &mut value_room)?)?;
        }
        let (key, mut row) = (K::encode(&key, &mut key_room)?, collected(all.iter())?);
        self.edit_pairs(txn, How::Grow, |tree| tree.put_row(key, &mut row))
    }

    /// Adds `value` only if `key` has none yet, and returns whether it had none.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.put_if_absent(&mut txn, "ann", 7)?);
    /// assert!(!t.put_if_absent(&mut txn, "ann", 8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_if_absent(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<bool> {
        self.put_as(txn, &key, &value, PairMode::NewKey)
    }

    /// Adds a pair that is above all others: fills pages completely.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.append(&mut txn, "ann", 7)?;
    /// t.append(&mut txn, "ann", 8)?;
    /// assert!(matches!(t.append(&mut txn, "ann", 8), Err(huon::Error::KeyOutOfOrder)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] if it is not.
    pub fn append(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<()> {
        self.put_as(txn, &key, &value, PairMode::Append).map(drop)
    }

    /// Gives `key` this value and no other; how many others it had. As [`Multi::replace`] where the
    /// old values are not wanted.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.set(&mut txn, "ann", 1)?, 2);
    /// assert_eq!(t.count_values(&txn, "ann")?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn set(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<u64> {
        self.edit_pair(txn, &key, &value, How::Grow, |tree, pair| tree.set_values(pair))
    }

    /// Gives `key` this value and no other, and returns those it had before, in order.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (1..=3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// let old: Result<Vec<_>, _> =
    ///     t.replace(&mut txn, "ann", 9)?.iter().map(huon::Owned::get).collect();
    /// assert_eq!(old?, [1, 2, 3]);
    /// assert_eq!(t.get(&txn, "ann")?, Some(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::put`].
    pub fn replace(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<Vec<Owned<V>>> {
        let mut scratch = Scratch::default();
        let old = self.all_owned(txn, K::encode(&key, &mut scratch)?)?;
        self.set(txn, key, value)?;
        Ok(old)
    }

    /// Removes `key` with all its values, and returns those, in order. [`Multi::remove_key`] does
    /// not copy them.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (1..=3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.take(&mut txn, "ann")?.len(), 3);
    /// assert!(t.take(&mut txn, "ann")?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<Vec<Owned<V>>> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let old = self.all_owned(txn, key)?;
        if !old.is_empty() {
            self.raw().remove_key(txn, key)?;
        }
        Ok(old)
    }

    fn all_owned(self, txn: &WriteTxn, key: &[u8]) -> Result<Vec<Owned<V>>> {
        let values = self.raw().values(txn, key)?;
        values.map(|value| Ok(Owned::of(copied(value?)?))).collect()
    }

    /// Puts `new` in the place of `old` among the values of `key`, and returns whether `old` was
    /// there. Where `new` is there already, `old` goes all the same. (In a table, where a key has
    /// one value, [`Table::update`](crate::Table::update) needs no `old`.)
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (1..=3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert!(t.update(&mut txn, "ann", 2, 9)?);
    /// assert!(!t.update(&mut txn, "ann", 2, 8)?);
    /// let values: Result<Vec<_>, _> = t.values(&txn, "ann")?.collect();
    /// assert_eq!(values?, [1, 3, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::put`].
    pub fn update(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        old: V::In<'_>,
        new: V::In<'_>,
    ) -> Result<bool> {
        let mut scratch = Scratch::default();
        let old = V::encode(&old, &mut scratch)?;
        self.edit_pair(txn, &key, &new, How::Grow, |tree, pair| tree.replace_pair(pair, old))
    }

    /// Hands the value of a key that has one or none to `change`, which says what becomes of it:
    /// another value, none, or the same if it says nothing. Whether the key had one.
    ///
    /// One descent, where a get and a change would make two or more. (A key of many bytes whose
    /// value has many, too, costs a few: the value lies in a tree of its own.)
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// for _ in 0..3 {
    ///     t.update_with(&mut txn, "ann", |old, new| new.set(old.unwrap_or(0) + 1))?;
    /// }
    /// assert_eq!(t.get(&txn, "ann")?, Some(3));
    /// t.put(&mut txn, "ann", 4)?;
    /// let ambiguous = t.update_with(&mut txn, "ann", |_, new| new.remove());
    /// assert!(matches!(ambiguous, Err(huon::Error::ManyValues)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ManyValues`] if it has more than one; what `change` returns, and as
    /// [`Multi::put`]. Nothing has changed then.
    pub fn update_with(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        change: impl FnOnce(Option<V::Out<'_>>, &mut Change<V>) -> Result<()>,
    ) -> Result<bool> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let mut refused = Ok(());
        let wanted = |old: Option<&[u8]>| Change::ask(old, change, &mut refused);
        let found = self.edit_pairs(txn, How::Grow, |tree| tree.change_only(key, wanted))?;
        refused.map(|()| found)
    }

    /// Removes `value` from those of `key`, and returns whether it was there.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.remove(&mut txn, "ann", 7)?);
    /// assert!(!t.remove(&mut txn, "ann", 7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.edit_pair(txn, &key, &value, How::Shrink, |tree, pair| tree.delete_pair(pair))
    }

    /// Removes the values of `key` that lie in a range, and returns how many there were.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..1000).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.remove_values(&mut txn, "ann", 100..)?, 900);
    /// assert_eq!(t.count_values(&txn, "ann")?, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_values<'v>(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        range: impl RangeBounds<V::In<'v>>,
    ) -> Result<u64> {
        let mut scratch = Scratch::default();
        let (key, multi) = (K::encode(&key, &mut scratch)?, self.raw());
        in_range::<V, _, _>(range, |from, to| {
            let mut removed = 0;
            loop {
                let values = multi.values_range(txn, key, (from, to))?.take(DOOMED);
                let doomed = values.map(|value| Ok(copied(value?)?)).collect::<Result<Vec<_>>>()?;
                for value in &doomed {
                    removed += u64::from(multi.remove(txn, key, value)?);
                }
                if doomed.len() < DOOMED {
                    return Ok(removed);
                }
            }
        })
    }

    /// Takes the first pair out of the multimap.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.put(&mut txn, "ann", 5)?;
    /// let (key, value) = t.pop_first(&mut txn)?.expect("there are two");
    /// assert_eq!((key.get()?, value.get()?), ("ann", 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_first(self, txn: &mut WriteTxn) -> Result<Option<OwnedRecord<K, V>>> {
        let first = self.raw().first(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, first)
    }

    /// Takes the last pair out of the multimap; see [`Multi::pop_first`].
    pub fn pop_last(self, txn: &mut WriteTxn) -> Result<Option<OwnedRecord<K, V>>> {
        let last = self.raw().last(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, last)
    }

    fn pop(
        self,
        txn: &mut WriteTxn,
        pair: Option<OwnedRecord<K, V>>,
    ) -> Result<Option<OwnedRecord<K, V>>> {
        if let Some((key, value)) = &pair {
            self.raw().remove(txn, key.bytes(), value.bytes())?;
        }
        Ok(pair)
    }

    /// Removes the pairs of a range of keys that `keep` refuses, and returns how many there were.
    /// `keep` sees the pairs in order.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..10).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.retain(&mut txn, .., |_, value| value % 3 == 0)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Records that were removed before an error stay removed.
    pub fn retain<'k>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
        mut keep: impl FnMut(K::Out<'_>, V::Out<'_>) -> bool,
    ) -> Result<u64> {
        let multi = self.raw();
        in_range::<K, _, _>(range, |from, to| {
            let (mut removed, mut last) = (0, None);
            loop {
                let (doomed, rest) = self.doomed(txn, last.as_ref(), (from, to), &mut keep)?;
                for (key, value) in &doomed {
                    removed += u64::from(multi.remove(txn, key, value)?);
                }
                if !rest {
                    return Ok(removed);
                }
                last = doomed.into_iter().next_back();
            }
        })
    }

    /// The next pairs of a range of keys, behind the `last` that was looked at, that are not to be
    /// kept; whether there may be more.
    fn doomed(
        self,
        txn: &WriteTxn,
        last: Option<&RawPair>,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        keep: &mut impl FnMut(K::Out<'_>, V::Out<'_>) -> bool,
    ) -> Result<(Vec<RawPair>, bool)> {
        let (multi, mut doomed) = (self.raw(), Vec::new());
        let mut look = |key: &[u8], value: &[u8]| -> Result<bool> {
            if !keep(K::decode(key)?, V::decode(value)?) {
                doomed.try_push((copied(key)?, copied(value)?))?;
            }
            Ok(doomed.len() == DOOMED)
        };
        let mut start = from;
        if let Some((key, value)) = last {
            start = Bound::Excluded(&key[..]);
            let after = (Bound::Excluded(&value[..]), Bound::Unbounded);
            for value in multi.values_range(txn, key, after)? {
                if look(key, value?)? {
                    return Ok((doomed, true));
                }
            }
        }
        for pair in multi.range(txn, (start, to))? {
            let (key, value) = pair?;
            if look(key, value)? {
                return Ok((doomed, true));
            }
        }
        Ok((doomed, false))
    }

    /// Removes `key` with all its values, and returns how many there were.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.remove_key(&mut txn, "ann")?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_key(self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<u64> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        txn.edit(self.number_in(txn)?, How::Shrink, |tree| tree.delete_values(key))
    }

    /// Removes all keys of a range with all their values, and returns how many values there were.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::U64, huon::U64>::new("t"))?;
    /// (0..30).try_for_each(|n| t.put(&mut txn, n / 3, n).map(drop))?;
    /// assert_eq!(t.remove_range(&mut txn, 2..=5)?, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range<'k>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<u64> {
        let number = self.number_in(txn)?;
        in_range::<K, _, _>(range, |from, to| {
            txn.edit(number, How::Shrink, |tree| tree.delete_range(from, to))
        })
    }

    /// Takes everything; the multimap stays.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.clear(&mut txn)?;
    /// assert_eq!(t.len(&txn)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(self, txn: &mut WriteTxn) -> Result<()> {
        txn.edit(self.number_in(txn)?, How::Unordered, |tree| tree.clear())
    }

    /// Deletes the multimap and everything in it, and returns whether it existed.
    pub fn drop_table(self, txn: &mut WriteTxn) -> Result<bool> {
        txn.drop_table(self.number_in(txn)?)
    }

    /// Fills an empty multimap from pairs in order, of keys and of the values of each, into full
    /// pages and bottom-up: many times faster than putting them.
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] breaks the transaction, as any error after the first pair does;
    /// [`Error::Invalid`] if the multimap is not empty.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.bulk_load(&mut txn, |append| {
    ///     (0..1000).try_for_each(|n| append("ann", n))?;
    ///     append("bob", 7)
    /// })?;
    /// assert_eq!((t.len(&txn)?, t.count_values(&txn, "ann")?), (1001, 1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load(
        self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        if self.len(txn)? != 0 {
            return Err(Error::Invalid("only an empty multimap can be built"));
        }
        let core = txn.core.clone();
        self.edit_pairs(txn, How::AllOrNothing, |tree| {
            let mut builder = PairBuilder::new(*tree.tree, tree.order);
            let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
            feed(&mut |key, value| {
                // A child that `feed` forked would build on the parent's pages.
                core.check_forked()?;
                let key = K::encode(&key, &mut key_room)?;
                builder.push(tree.pages, (key, V::encode(&value, &mut value_room)?))
            })?;
            *tree.tree = builder.finish(tree.pages)?;
            Ok(())
        })
    }

    /// Gives the multimap another name; see [`Table::rename`](crate::Table::rename).
    pub fn rename(self, txn: &mut WriteTxn, name: impl AsRef<[u8]>) -> Result<()> {
        txn.rename_table(self.number_in(txn)?, name.as_ref())
    }

    fn put_as(
        self,
        txn: &mut WriteTxn,
        key: &K::In<'_>,
        value: &V::In<'_>,
        mode: PairMode,
    ) -> Result<bool> {
        self.edit_pair(txn, key, value, How::Grow, |tree, pair| tree.put_pair(pair, mode))
    }

    fn edit_pair<R>(
        self,
        txn: &mut WriteTxn,
        key: &K::In<'_>,
        value: &V::In<'_>,
        how: How,
        act: impl FnOnce(&mut TreeMut<'_, Orders<'_>>, Pair<'_>) -> Result<R>,
    ) -> Result<R> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let (key, value) = (K::encode(key, &mut key_room)?, V::encode(value, &mut value_room)?);
        self.edit_pairs(txn, how, |tree| act(tree, (key, value)))
    }

    fn edit_pairs<R>(
        self,
        txn: &mut WriteTxn,
        how: How,
        act: impl FnOnce(&mut TreeMut<'_, Orders<'_>>) -> Result<R>,
    ) -> Result<R> {
        txn.edit_pairs(self.number_in(txn)?, how, act)
    }
}

impl<K, V> Multi<K, V> {
    /// The sequence of the table: a number that is stored with it, 0 at first.
    pub fn sequence(self, txn: &impl Txn) -> Result<u64> {
        Ok(txn.any().tree(self.id)?.sequence)
    }

    /// Adds to the sequence, and returns the number that it had before, which no other caller gets
    /// if all take their numbers this way. An abort returns them.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let jobs = txn.create_table(&huon::MultiDef::<huon::U64, huon::Str>::new("jobs"))?;
    /// for job in ["sweep", "mop"] {
    ///     let number = jobs.take_sequence(&mut txn, 1)?;
    ///     jobs.put(&mut txn, number, job)?;
    /// }
    /// assert_eq!(jobs.sequence(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no more numbers: nothing has changed then.
    pub fn take_sequence(self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        txn.take_sequence(self.id, count)
    }
}
