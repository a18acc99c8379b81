//! Tables of one value a key: everything but iterating.

use std::ops::RangeBounds;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::Tree;
use crate::store::pages::Pages;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::txn::{Txn, in_range};
use crate::table::value::Owned;
use crate::tree::put::{NewValue, Put, PutMode};
use crate::tree::shrink::Whose;
use crate::txn::write::{How, WriteTxn};

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The value of `key`.
    ///
    /// Costs one descent: no allocation, no system call. The answer borrows the transaction; in a
    /// read transaction it lies in the file's map.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert_eq!(t.get(&txn, "ann")?, Some(7));
    /// assert_eq!(t.get(&txn, "bob")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a page on the way is damaged, [`Error::Decode`] from the codec.
    #[inline]
    pub fn get<'t>(self, txn: &'t impl Txn, key: K::In<'_>) -> Result<Option<V::Out<'t>>> {
        let mut scratch = Scratch::default();
        let value = txn.any().get(self.id, K::encode(&key, &mut scratch)?)?;
        value.map(V::decode).transpose()
    }

    /// Whether `key` is there.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.contains(&txn, "ann")? && !t.contains(&txn, "bob")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(self, txn: &impl Txn, key: K::In<'_>) -> Result<bool> {
        let mut scratch = Scratch::default();
        Ok(txn.any().get(self.id, K::encode(&key, &mut scratch)?)?.is_some())
    }

    /// How many records the table holds; for the main table, named tables count too. Costs nothing.
    pub fn len(self, txn: &impl Txn) -> Result<u64> {
        Ok(txn.any().tree(self.id)?.entries)
    }

    /// Whether the table holds no record. Costs nothing.
    pub fn is_empty(self, txn: &impl Txn) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// About how many records a range of keys has: exactly where it lies in one page or two, and
    /// otherwise from where its ends lie in the tree, as if all pages were equally full. Costs two
    /// descents, however many there are.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..100_000).try_for_each(|n| t.append(&mut txn, n, ()))?;
    /// let about = t.estimate(&txn, 20_000..40_000)?;
    /// assert!((15_000..25_000).contains(&about), "{about}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate<'k>(self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        txn.any().estimate::<K>(self.id, range)
    }

    /// Stores `value` under `key`, and returns whether the key is new. An identical value costs no
    /// write.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.put(&mut txn, "ann", 7)?);
    /// assert!(!t.put(&mut txn, "ann", 8)?, "the key is not new");
    /// assert_eq!(t.get(&txn, "ann")?, Some(8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`], [`Error::KeyLength`], [`Error::NameTaken`]
    /// leave the transaction as it was; [`Error::MapFull`] and [`Error::Io`] leave it broken.
    pub fn put(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.put_item(txn, key, value, PutMode::Upsert).map(|put| put == Put::Inserted)
    }

    /// Stores `value` only if `key` is new, and returns whether it was.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.put_if_absent(&mut txn, "ann", 7)?);
    /// assert!(!t.put_if_absent(&mut txn, "ann", 8)?);
    /// assert_eq!(t.get(&txn, "ann")?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_if_absent(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<bool> {
        self.put_item(txn, key, value, PutMode::InsertNew).map(|put| put == Put::Inserted)
    }

    /// Stores `value` only if `key` exists, and returns whether it did. (A value that depends on
    /// the one before is for [`Table::update_with`]; [`Env::update`](crate::Env::update) runs a
    /// transaction.)
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(!t.update(&mut txn, "ann", 7)?);
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.update(&mut txn, "ann", 8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        self.put_item(txn, key, value, PutMode::Update).map(|put| put == Put::Overwritten)
    }

    /// Stores `value` under a `key` that is above all others: cheaper than [`Table::put`], and
    /// fills pages completely.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.append(&mut txn, "ann", 7)?;
    /// t.append(&mut txn, "bob", 8)?;
    /// assert!(matches!(t.append(&mut txn, "abe", 9), Err(huon::Error::KeyOutOfOrder)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] if it is not.
    pub fn append(self, txn: &mut WriteTxn, key: K::In<'_>, value: V::In<'_>) -> Result<()> {
        self.put_item(txn, key, value, PutMode::Append).map(drop)
    }

    /// Stores `value` under `key` and returns the value that was there before.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.replace(&mut txn, "ann", 7)?.is_none());
    /// let old = t.replace(&mut txn, "ann", 8)?.expect("it was there");
    /// assert_eq!(old.get()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<Option<Owned<V>>> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let old = self.get_owned(txn, key)?;
        self.put_as(txn, key, value, PutMode::Upsert)?;
        Ok(old)
    }

    /// Deletes `key` and returns the value that was there.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert_eq!(t.take(&mut txn, "ann")?.expect("it was there").get()?, 7);
    /// assert!(t.take(&mut txn, "ann")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<Option<Owned<V>>> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let old = self.get_owned(txn, key)?;
        if old.is_some() {
            self.raw().remove(txn, key)?;
        }
        Ok(old)
    }

    fn get_owned(self, txn: &WriteTxn, key: &[u8]) -> Result<Option<Owned<V>>> {
        let old = txn.any().get(self.id, key)?;
        Ok(old.map(copied).transpose()?.map(Owned::of))
    }

    fn put_item(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        value: V::In<'_>,
        mode: PutMode,
    ) -> Result<Put> {
        let mut scratch = Scratch::default();
        self.put_as(txn, K::encode(&key, &mut scratch)?, value, mode)
    }

    fn put_as(
        self,
        txn: &mut WriteTxn,
        key: &[u8],
        value: V::In<'_>,
        mode: PutMode,
    ) -> Result<Put> {
        let mut scratch = Scratch::default();
        let value = NewValue::Bytes(V::encode(&value, &mut scratch)?);
        txn.edit(self.number_in(txn)?, How::Grow, |tree| tree.put(key, value, mode))
    }

    /// Stores a value of `bytes` bytes that `fill` writes in place, without a copy of its own:
    /// inline values in their page, large ones in the buffer that goes to the file. The bytes are
    /// zero at first. A child that `fill` forks must not go on filling: the place is its parent's.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Bytes>::new("t"))?;
    /// t.reserve(&mut txn, "ramp", 256, |place| {
    ///     (0..=255).zip(place).for_each(|(n, byte)| *byte = n);
    /// })?;
    /// assert_eq!(t.get(&txn, "ramp")?.map(|ramp| ramp[17]), Some(17));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        txn.edit(self.number_in(txn)?, How::Grow, |tree| tree.reserve(key, bytes, fill))
    }

    /// Removes `key`, and returns whether it was there.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// assert!(t.remove(&mut txn, "ann")?);
    /// assert!(!t.remove(&mut txn, "ann")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(self, txn: &mut WriteTxn, key: K::In<'_>) -> Result<bool> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        txn.edit(self.number_in(txn)?, How::Shrink, |tree| tree.delete(key, Whose::Caller))
    }

    /// Removes all keys of a range, and returns how many there were. Costs in proportion to the
    /// pages they fill.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..10).try_for_each(|n| t.put(&mut txn, n, ()).map(drop))?;
    /// assert_eq!(t.remove_range(&mut txn, 3..=5)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range<'k>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<u64> {
        let (number, is_main) = (self.number_in(txn)?, self.is_main());
        in_range::<K, _, _>(range, |from, to| {
            txn.edit(number, How::Shrink, |tree| {
                refuse_catalog(is_main, tree.pages, tree.tree)?;
                tree.delete_range(from, to)
            })
        })
    }

    /// Deletes everything in the table; the table stays. Reads its branches, and its leaves only
    /// where it has large values.
    ///
    /// For the main table this is [`Error::TablesInside`] while there are named tables.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.clear(&mut txn)?;
    /// assert_eq!(t.len(&txn)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(self, txn: &mut WriteTxn) -> Result<()> {
        let is_main = self.is_main();
        txn.edit(self.number_in(txn)?, How::Unordered, |tree| {
            refuse_catalog(is_main, tree.pages, tree.tree)?;
            tree.clear()
        })
    }

    /// Deletes the table and everything in it, and returns whether it existed.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.drop_table(&mut txn)?);
    /// assert!(matches!(t.len(&txn), Err(huon::Error::TableNotFound)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_table(self, txn: &mut WriteTxn) -> Result<bool> {
        txn.drop_table(self.number_in(txn)?)
    }

    /// Gives the table another name. This handle stands for a missing table from then on.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 7)?;
    /// t.rename(&mut txn, "people")?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("people");
    /// let people = txn.open_table(&def)?.unwrap();
    /// assert_eq!(people.get(&txn, "ann")?, Some(7));
    /// assert!(t.get(&txn, "ann").is_err(), "the old handle");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TableExists`] if the name is taken, by a table or a record.
    pub fn rename(self, txn: &mut WriteTxn, name: impl AsRef<[u8]>) -> Result<()> {
        txn.rename_table(self.number_in(txn)?, name.as_ref())
    }
}

impl<K, V> Table<K, V> {
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
    /// let jobs = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("jobs"))?;
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

/// The records of named tables cannot be swept away with the main table's own.
fn refuse_catalog(is_main: bool, pages: &Pages, tree: &Tree) -> Result<()> {
    if is_main && !crate::txn::catalog::names(pages, tree)?.is_empty() {
        return Err(Error::TablesInside);
    }
    Ok(())
}
