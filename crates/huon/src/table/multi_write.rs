//! Changing a multimap.

use std::ops::{Bound, RangeBounds};

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, Tree};
use crate::store::pages::Pages;
use crate::table::codec::{Bytes, KeyCodec, Scratch};
use crate::table::multi::Multi;
use crate::table::owned::Owned;
use crate::table::pairs::Values;
use crate::table::plain::check_key;
use crate::table::txn::{Txn, in_range};
use crate::table::verbs::{DOOMED, own, owned};
use crate::tree::finger::Finger;
use crate::tree::multi::{self, NewPair, PairMode};
use crate::tree::values::Orders;
use crate::tree::write;
use crate::txn::meaning::{has_own_values, value_order};
use crate::txn::write::WriteTxn;

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// Adds `value` to those of `key`; whether it was not there. What is there already costs no
    /// write.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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

    /// Adds `value` only if `key` has none yet; whether it had none.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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

    /// Adds a pair that is above all others: fills pages to the brim.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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

    /// Gives `key` this value and no other; how many others it had.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.set(&mut txn, "ann", 1)?, 2);
    /// assert_eq!(t.count_values(&txn, "ann")?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<u64> {
        self.change_pair(txn, &key, &value, false, |pages, tree, orders, pair, _| {
            multi::set(pages, tree, orders, pair)
        })
    }

    /// Puts `new` in the place of `old` among the values of `key`; whether `old` was there. Where
    /// `new` is there already, `old` goes all the same.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (1..=3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert!(t.replace_value(&mut txn, "ann", 2, 9)?);
    /// assert!(!t.replace_value(&mut txn, "ann", 2, 8)?);
    /// let values: Result<Vec<_>, _> = t.values(&txn, "ann")?.collect();
    /// assert_eq!(values?, [1, 3, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::put`].
    pub fn replace_value(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        old: V::In<'_>,
        new: V::In<'_>,
    ) -> Result<bool> {
        let mut scratch = Scratch::default();
        let old = V::encode(&old, &mut scratch)?;
        self.change_pair(txn, &key, &new, false, |pages, tree, orders, pair, _| {
            multi::replace(pages, tree, orders, pair, old)
        })
    }

    /// Gives `key` another value in the place of its only one; `None` if it has none.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert_eq!(t.replace_only(&mut txn, "ann", 1)?, None);
    /// t.put(&mut txn, "ann", 1)?;
    /// assert_eq!(t.replace_only(&mut txn, "ann", 2)?, Some(1u64.to_be_bytes().to_vec()));
    /// t.put(&mut txn, "ann", 3)?;
    /// let ambiguous = t.replace_only(&mut txn, "ann", 4);
    /// assert!(matches!(ambiguous, Err(huon::Error::ManyValues)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ManyValues`] if it has more than one, and as [`Multi::put`].
    pub fn replace_only(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let mut values = self.raw_values(txn, &key)?;
        let only = values.next().transpose()?.map(copied).transpose()?;
        if values.next().is_some() {
            return Err(Error::ManyValues);
        }
        if only.is_some() {
            self.set(txn, key, value)?;
        }
        Ok(only)
    }

    fn raw_values<'t>(self, txn: &'t WriteTxn, key: &K::In<'_>) -> Result<Values<'t, Bytes>> {
        let mut scratch = Scratch::default();
        self.raw().values(txn, K::encode(key, &mut scratch)?)
    }

    /// Takes `value` from those of `key`; whether it was there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.remove(&mut txn, "ann", 7)?);
    /// assert!(!t.remove(&mut txn, "ann", 7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.change_pair(txn, &key, &value, true, |pages, tree, orders, pair, _| {
            multi::delete(pages, tree, orders, pair)
        })
    }

    /// Removes the values of `key` that lie in a range; how many there were.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.put(&mut txn, "ann", 5)?;
    /// let (key, value) = t.pop_first(&mut txn)?.expect("there are two");
    /// assert_eq!((key.get()?, value.get()?), ("ann", 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_first(self, txn: &mut WriteTxn) -> Result<Option<(Owned<K>, Owned<V>)>> {
        let first = self.raw().first(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, first)
    }

    /// Takes the last pair out of the multimap; see [`Multi::pop_first`].
    pub fn pop_last(self, txn: &mut WriteTxn) -> Result<Option<(Owned<K>, Owned<V>)>> {
        let last = self.raw().last(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, last)
    }

    fn pop(
        self,
        txn: &mut WriteTxn,
        pair: Option<(Owned<K>, Owned<V>)>,
    ) -> Result<Option<(Owned<K>, Owned<V>)>> {
        if let Some((key, value)) = &pair {
            self.raw().remove(txn, key.bytes(), value.bytes())?;
        }
        Ok(pair)
    }

    /// Removes the pairs of a range of keys that `keep` does not want to keep; how many there were.
    /// `keep` sees them in order.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..10).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.retain(&mut txn, .., |_, value| value % 3 == 0)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What was removed before an error stays removed.
    pub fn retain<'k>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
        mut keep: impl FnMut(K::Out<'_>, V::Out<'_>) -> bool,
    ) -> Result<u64> {
        let multi = self.raw();
        in_range::<K, _, _>(range, |from, to| {
            let (mut removed, mut start) = (0, own(from)?);
            loop {
                // Whole keys at a time, so that the next round begins behind one.
                let mut doomed: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
                let mut next = None;
                let mut last: Vec<u8> = Vec::new();
                for pair in multi.range(txn, (start.as_ref().map(Vec::as_slice), to))? {
                    let (key, value) = pair?;
                    if doomed.len() >= DOOMED && key != last {
                        next = Some(Bound::Excluded(copied(&last)?));
                        break;
                    }
                    if key != last {
                        last = copied(key)?;
                    }
                    if !keep(K::decode(key)?, V::decode(value)?) {
                        doomed.push((copied(key)?, copied(value)?));
                    }
                }
                for (key, value) in &doomed {
                    removed += u64::from(multi.remove(txn, key, value)?);
                }
                match next {
                    Some(next) => start = next,
                    None => return Ok(removed),
                }
            }
        })
    }

    /// Takes `key` with all its values; how many there were.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// assert_eq!(t.remove_key(&mut txn, "ann")?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_key(self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<u64> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        txn.change(self.number_in(txn)?, true, |pages, tree, order| {
            multi::delete_key(pages, tree, order, key)
        })
    }

    /// Takes all keys of a range with all their values; how many values there were.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
            txn.change(number, true, |pages, tree, order| {
                write::delete_range(pages, tree, order, from, to)
            })
        })
    }

    /// Takes everything; the multimap stays.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.clear(&mut txn)?;
    /// assert_eq!(t.len(&txn)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(self, txn: &mut WriteTxn) -> Result<()> {
        txn.change_unordered(self.number_in(txn)?, true, write::clear)
    }

    /// Deletes the multimap and everything in it; whether it existed.
    pub fn drop_table(self, txn: &mut WriteTxn) -> Result<bool> {
        txn.drop_table(self.number_in(txn)?)
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
        self.change_pair(txn, key, value, false, |pages, tree, orders, pair, finger| {
            multi::put(pages, tree, orders, pair, mode, finger)
        })
    }

    fn change_pair<R>(
        self,
        txn: &mut WriteTxn,
        key: &K::In<'_>,
        value: &V::In<'_>,
        frugal: bool,
        edit: impl FnOnce(&mut Pages, &mut Tree, Orders<'_>, NewPair<'_>, &mut Finger) -> Result<R>,
    ) -> Result<R> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let (key, value) = (K::encode(key, &mut key_room)?, V::encode(value, &mut value_room)?);
        let number = self.number_in(txn)?;
        let own = match txn.tree(number)? {
            Some(tree) if has_own_values(&tree) => Some(txn.info(number)?.clone()),
            _ => None,
        };
        let act = |pages: &mut Pages, tree: &mut Tree, keys: AnyOrder<'_>, finger: &mut Finger| {
            check_key(tree, key)?;
            let orders = Orders { keys, values: value_order(tree, own.as_deref())? };
            edit(pages, tree, orders, NewPair { key, value }, finger)
        };
        if !frugal {
            txn.change_near(number, act)
        } else {
            txn.change(number, true, |pages, tree, order| {
                act(pages, tree, order, &mut Finger::new())
            })
        }
    }
}

impl<K, V> Multi<K, V> {
    /// The sequence of the table: a number that is stored with it, 0 at first.
    pub fn sequence(self, txn: &impl Txn) -> Result<u64> {
        Ok(txn.seat().0.tree(self.id)?.sequence)
    }

    /// Adds to the sequence; the number that it had before, which nobody else is given if all who
    /// take numbers do it so. An abort gives them back.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
