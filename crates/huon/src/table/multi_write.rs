//! Changing a multimap.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, Tree};
use crate::store::pages::Pages;
use crate::table::codec::{Bytes, KeyCodec, Scratch};
use crate::table::multi::Multi;
use crate::table::pairs::Values;
use crate::table::plain::check_key;
use crate::table::txn::{Txn, in_range};
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
    /// assert!(t.insert(&mut txn, "ann", &7)?);
    /// assert!(!t.insert(&mut txn, "ann", &7)?);
    /// assert!(t.insert(&mut txn, "ann", &8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::SortedValueTooLong`], [`Error::KeyLength`],
    /// [`Error::ValueLength`] leave the transaction as it was.
    pub fn insert(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.put(txn, key, value, PairMode::Insert)
    }

    /// Adds `value` only if `key` has none yet; whether it had none.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.insert_new(&mut txn, "ann", &7)?);
    /// assert!(!t.insert_new(&mut txn, "ann", &8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_new(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.put(txn, key, value, PairMode::NewKey)
    }

    /// Adds a pair that is above all others: fills pages to the brim.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.append(&mut txn, "ann", &7)?;
    /// t.append(&mut txn, "ann", &8)?;
    /// assert!(matches!(t.append(&mut txn, "ann", &8), Err(huon::Error::KeyOutOfOrder)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] if it is not.
    pub fn append(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<()> {
        self.put(txn, key, value, PairMode::Append).map(drop)
    }

    /// Gives `key` this value and no other; how many others it had.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.insert(&mut txn, "ann", &n).map(drop))?;
    /// assert_eq!(t.set(&mut txn, "ann", &1)?, 2);
    /// assert_eq!(t.count_of(&txn, "ann")?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<u64> {
        self.change_pair(txn, key, value, false, |pages, tree, orders, pair, _| {
            multi::set(pages, tree, orders, pair)
        })
    }

    /// Adds several values to those of `key`; how many were not there. Those before one that is
    /// refused are added.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.insert(&mut txn, "ann", &7)?;
    /// assert_eq!(t.insert_many(&mut txn, "ann", 5..10)?, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::insert`].
    pub fn insert_many<Q: Borrow<V::In>>(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        values: impl IntoIterator<Item = Q>,
    ) -> Result<u64> {
        let mut new = 0;
        for value in values {
            new += u64::from(self.insert(txn, key, value.borrow())?);
        }
        Ok(new)
    }

    /// Puts `new` in the place of `old` among the values of `key`; whether `old` was there. Where
    /// `new` is there already, `old` goes all the same.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.insert_many(&mut txn, "ann", 1..=3)?;
    /// assert!(t.replace(&mut txn, "ann", &2, &9)?);
    /// assert!(!t.replace(&mut txn, "ann", &2, &8)?);
    /// let values: Result<Vec<_>, _> = t.values(&txn, "ann")?.collect();
    /// assert_eq!(values?, [1, 3, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Multi::insert`].
    pub fn replace(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        old: &V::In,
        new: &V::In,
    ) -> Result<bool> {
        let mut scratch = Scratch::default();
        let old = V::encode(old, &mut scratch);
        self.change_pair(txn, key, new, false, |pages, tree, orders, pair, _| {
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
    /// assert_eq!(t.replace_only(&mut txn, "ann", &1)?, None);
    /// t.insert(&mut txn, "ann", &1)?;
    /// assert_eq!(t.replace_only(&mut txn, "ann", &2)?, Some(1u64.to_be_bytes().to_vec()));
    /// t.insert(&mut txn, "ann", &3)?;
    /// let ambiguous = t.replace_only(&mut txn, "ann", &4);
    /// assert!(matches!(ambiguous, Err(huon::Error::ManyValues)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ManyValues`] if it has more than one, and as [`Multi::insert`].
    pub fn replace_only(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        value: &V::In,
    ) -> Result<Option<Vec<u8>>> {
        let mut values = self.raw_values(txn, key)?;
        let only = values.next().transpose()?.map(copied).transpose()?;
        if values.next().is_some() {
            return Err(Error::ManyValues);
        }
        if only.is_some() {
            self.set(txn, key, value)?;
        }
        Ok(only)
    }

    fn raw_values<'t>(self, txn: &'t WriteTxn, key: &K::In) -> Result<Values<'t, Bytes>> {
        let mut scratch = Scratch::default();
        self.raw().values(txn, K::encode(key, &mut scratch))
    }

    /// Takes `value` from those of `key`; whether it was there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.insert(&mut txn, "ann", &7)?;
    /// assert!(t.remove(&mut txn, "ann", &7)?);
    /// assert!(!t.remove(&mut txn, "ann", &7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.change_pair(txn, key, value, true, |pages, tree, orders, pair, _| {
            multi::delete(pages, tree, orders, pair)
        })
    }

    /// Takes `key` with all its values; how many there were.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// (0..3).try_for_each(|n| t.insert(&mut txn, "ann", &n).map(drop))?;
    /// assert_eq!(t.remove_all(&mut txn, "ann")?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_all(self, txn: &mut WriteTxn, key: &K::In) -> Result<u64> {
        let mut scratch = Scratch::default();
        let key = K::encode(key, &mut scratch);
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
    /// (0..30).try_for_each(|n| t.insert(&mut txn, &(n / 3), &n).map(drop))?;
    /// assert_eq!(t.remove_range(&mut txn, 2..=5)?, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range<Q: Borrow<K::In>>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<Q>,
    ) -> Result<u64> {
        let number = self.number_in(txn)?;
        in_range::<K, Q, _>(range, |from, to| {
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
    /// t.insert(&mut txn, "ann", &7)?;
    /// t.clear(&mut txn)?;
    /// assert_eq!(t.count(&txn)?, 0);
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
    pub fn rename(self, txn: &mut WriteTxn, name: &[u8]) -> Result<()> {
        txn.rename_table(self.number_in(txn)?, name)
    }

    fn put(self, txn: &mut WriteTxn, key: &K::In, value: &V::In, mode: PairMode) -> Result<bool> {
        self.change_pair(txn, key, value, false, |pages, tree, orders, pair, finger| {
            multi::put(pages, tree, orders, pair, mode, finger)
        })
    }

    fn change_pair<R>(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        value: &V::In,
        frugal: bool,
        edit: impl FnOnce(&mut Pages, &mut Tree, Orders<'_>, NewPair<'_>, &mut Finger) -> Result<R>,
    ) -> Result<R> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let (key, value) = (K::encode(key, &mut key_room), V::encode(value, &mut value_room));
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
    ///     jobs.insert(&mut txn, &number, job)?;
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
