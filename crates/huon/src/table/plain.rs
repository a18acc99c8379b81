//! Tables of one value a key: everything but iterating.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, Tree};
use crate::store::pages::Pages;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::txn::{Sealed, Txn, in_range};
use crate::tree::build::Builder;
use crate::tree::write::{self, NewValue, Put, PutMode, Whose};
use crate::txn::write::WriteTxn;

/// What [`Table::build`] hands to the caller: adds the next record.
pub type Append<'a, K, V> = dyn FnMut(&<K as Codec>::In, &<V as Codec>::In) -> Result<()> + 'a;

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The value of `key`.
    ///
    /// Costs one descent: no allocation, no system call. The answer borrows the transaction; in a
    /// read transaction it lies in the file's map.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert_eq!(t.get(&txn, "ann")?, Some(7));
    /// assert_eq!(t.get(&txn, "bob")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a page on the way is damaged, [`Error::Decode`] from the codec.
    #[inline]
    pub fn get<'t>(self, txn: &'t impl Txn, key: &K::In) -> Result<Option<V::Out<'t>>> {
        let mut scratch = Scratch::default();
        let value = txn.seat().0.get(self.id, K::encode(key, &mut scratch))?;
        value.map(V::decode).transpose()
    }

    /// Whether `key` is there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert!(t.contains(&txn, "ann")? && !t.contains(&txn, "bob")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(self, txn: &impl Txn, key: &K::In) -> Result<bool> {
        let mut scratch = Scratch::default();
        Ok(txn.seat().0.get(self.id, K::encode(key, &mut scratch))?.is_some())
    }

    /// How many records the table holds; for the main table, named tables count too. Costs nothing.
    pub fn count(self, txn: &impl Txn) -> Result<u64> {
        Ok(txn.seat().0.tree(self.id)?.entries)
    }

    /// About how many records a range of keys has: exactly where it lies in one page or two, and
    /// otherwise from where its ends lie in the tree, as if all pages were equally full. Costs two
    /// descents, however many there are.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..100_000).try_for_each(|n| t.append(&mut txn, &n, &()))?;
    /// let about = t.estimate(&txn, 20_000..40_000)?;
    /// assert!((15_000..25_000).contains(&about), "{about}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate<Q: Borrow<K::In>>(
        self,
        txn: &impl Txn,
        range: impl RangeBounds<Q>,
    ) -> Result<u64> {
        txn.seat().0.estimate::<K, Q>(self.id, range)
    }

    /// Stores `value` under `key`; whether the key is new. An identical value costs no write.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.put(&mut txn, "ann", &7)?);
    /// assert!(!t.put(&mut txn, "ann", &8)?, "the key is not new");
    /// assert_eq!(t.get(&txn, "ann")?, Some(8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`], [`Error::KeyLength`], [`Error::NameTaken`]
    /// leave the transaction as it was; [`Error::MapFull`] and [`Error::Io`] leave it broken.
    pub fn put(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.put_as(txn, key, value, PutMode::Upsert).map(|put| put == Put::Inserted)
    }

    /// Stores `value` only if `key` is new; whether it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.insert_new(&mut txn, "ann", &7)?);
    /// assert!(!t.insert_new(&mut txn, "ann", &8)?);
    /// assert_eq!(t.get(&txn, "ann")?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_new(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.put_as(txn, key, value, PutMode::InsertNew).map(|put| put == Put::Inserted)
    }

    /// Stores `value` only if `key` exists; whether it did.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(!t.update(&mut txn, "ann", &7)?);
    /// t.put(&mut txn, "ann", &7)?;
    /// assert!(t.update(&mut txn, "ann", &8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        self.put_as(txn, key, value, PutMode::Update).map(|put| put == Put::Overwritten)
    }

    /// Stores `value` under a `key` that is above all others: cheaper than [`Table::put`], and
    /// fills pages to the brim.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.append(&mut txn, "ann", &7)?;
    /// t.append(&mut txn, "bob", &8)?;
    /// assert!(matches!(t.append(&mut txn, "abe", &9), Err(huon::Error::KeyOutOfOrder)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] if it is not.
    pub fn append(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<()> {
        self.put_as(txn, key, value, PutMode::Append).map(drop)
    }

    /// Stores `value` under `key` and returns the bytes that were there before.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert_eq!(t.replace(&mut txn, "ann", &7)?, None);
    /// assert_eq!(t.replace(&mut txn, "ann", &8)?, Some(7u64.to_be_bytes().to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        value: &V::In,
    ) -> Result<Option<Vec<u8>>> {
        let old = self.get_bytes(txn, key)?;
        self.put(txn, key, value)?;
        Ok(old)
    }

    /// Deletes `key` and returns the bytes that were there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert_eq!(t.take(&mut txn, "ann")?, Some(7u64.to_be_bytes().to_vec()));
    /// assert_eq!(t.take(&mut txn, "ann")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(self, txn: &mut WriteTxn, key: &K::In) -> Result<Option<Vec<u8>>> {
        let old = self.get_bytes(txn, key)?;
        if old.is_some() {
            self.delete(txn, key)?;
        }
        Ok(old)
    }

    fn get_bytes(self, txn: &WriteTxn, key: &K::In) -> Result<Option<Vec<u8>>> {
        let mut scratch = Scratch::default();
        let old = txn.seat().0.get(self.id, K::encode(key, &mut scratch))?;
        Ok(old.map(copied).transpose()?)
    }

    fn put_as(self, txn: &mut WriteTxn, key: &K::In, value: &V::In, mode: PutMode) -> Result<Put> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let key = K::encode(key, &mut key_room);
        let value = NewValue::Bytes(V::encode(value, &mut value_room));
        txn.change_near(self.number_in(txn)?, |pages, tree, order, finger| {
            check_key(tree, key)?;
            write::put_near(pages, tree, order, key, value, mode, finger)
        })
    }

    /// Stores a value of `bytes` bytes that `fill` writes in place, without a copy of its own:
    /// inline values in their page, large ones in the buffer that goes to the file. The bytes are
    /// zero at first. A child that `fill` forks must not go on filling: the place is its parent's.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
        key: &K::In,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        let key = K::encode(key, &mut scratch);
        let mut fill = Some(fill);
        let mut fill_once = |place: &mut [u8]| {
            if let Some(fill) = fill.take() {
                fill(place);
            }
        };
        txn.change(self.number_in(txn)?, false, |pages, tree, order| {
            check_key(tree, key)?;
            write::reserve(pages, tree, order, key, bytes, &mut fill_once)
        })
    }

    /// Deletes `key`; whether it was there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert!(t.delete(&mut txn, "ann")?);
    /// assert!(!t.delete(&mut txn, "ann")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(self, txn: &mut WriteTxn, key: &K::In) -> Result<bool> {
        let mut scratch = Scratch::default();
        let key = K::encode(key, &mut scratch);
        txn.change(self.number_in(txn)?, true, |pages, tree, order| {
            write::delete(pages, tree, order, key, Whose::Caller)
        })
    }

    /// Deletes `key` if its value is `value`; whether it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert!(!t.delete_if(&mut txn, "ann", &8)?);
    /// assert!(t.delete_if(&mut txn, "ann", &7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_if(self, txn: &mut WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        Ok(self.holds(txn, key, value)? && self.delete(txn, key)?)
    }

    /// Puts `new` in the place of the value of `key` if that is `old`; whether it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// assert!(t.update_if(&mut txn, "ann", &7, &8)?);
    /// assert!(!t.update_if(&mut txn, "ann", &7, &9)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_if(
        self,
        txn: &mut WriteTxn,
        key: &K::In,
        old: &V::In,
        new: &V::In,
    ) -> Result<bool> {
        Ok(self.holds(txn, key, old)? && self.update(txn, key, new)?)
    }

    fn holds(self, txn: &WriteTxn, key: &K::In, value: &V::In) -> Result<bool> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let found = txn.seat().0.get(self.id, K::encode(key, &mut key_room))?;
        Ok(found == Some(V::encode(value, &mut value_room)))
    }

    /// Deletes all keys of a range; how many there were. Costs in proportion to the pages they
    /// fill.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..10).try_for_each(|n| t.put(&mut txn, &n, &()).map(drop))?;
    /// assert_eq!(t.delete_range(&mut txn, 3..=5)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_range<Q: Borrow<K::In>>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<Q>,
    ) -> Result<u64> {
        let (number, is_main) = (self.number_in(txn)?, self.is_main());
        in_range::<K, Q, _>(range, |from, to| {
            txn.change(number, true, |pages, tree, order| {
                refuse_catalog(is_main, pages, tree)?;
                write::delete_range(pages, tree, order, from, to)
            })
        })
    }

    /// Deletes everything in the table; the table stays. Reads its branches, and its leaves only
    /// where it has large values.
    ///
    /// For the main table this is [`Error::TablesInside`] while there are named tables.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// t.clear(&mut txn)?;
    /// assert_eq!(t.count(&txn)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(self, txn: &mut WriteTxn) -> Result<()> {
        let is_main = self.is_main();
        txn.change_unordered(self.number_in(txn)?, true, |pages, tree| {
            refuse_catalog(is_main, pages, tree)?;
            write::clear(pages, tree)
        })
    }

    /// Deletes the table and everything in it; whether it existed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(t.drop_table(&mut txn)?);
    /// assert!(matches!(t.count(&txn), Err(huon::Error::TableNotFound)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_table(self, txn: &mut WriteTxn) -> Result<bool> {
        txn.drop_table(self.number_in(txn)?)
    }

    /// Gives the table another name. This handle stands for a missing table from then on.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &7)?;
    /// t.rename(&mut txn, b"people")?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("people");
    /// let people = txn.open_table(&def)?.unwrap();
    /// assert_eq!(people.get(&txn, "ann")?, Some(7));
    /// assert!(t.get(&txn, "ann").is_err(), "the old handle");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TableExists`] if the name is taken, by a table or a record.
    pub fn rename(self, txn: &mut WriteTxn, name: &[u8]) -> Result<()> {
        txn.rename_table(self.number_in(txn)?, name)
    }

    /// Fills an empty table from records in key order, packed to the brim and bottom-up: many times
    /// faster than putting them.
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] breaks the transaction, as any error after the first record does;
    /// [`Error::Invalid`] if the table is not empty.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("t"))?;
    /// t.build(&mut txn, |append| (0..1000).try_for_each(|n| append(&n, "a value")))?;
    /// assert_eq!(t.count(&txn)?, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(
        self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        if self.count(txn)? != 0 {
            return Err(Error::Invalid("only an empty table can be built"));
        }
        let core = txn.core.clone();
        txn.change_firmly(self.number_in(txn)?, |pages, tree, order| {
            let mut builder = Builder::new(*tree, order);
            let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
            feed(&mut |key, value| {
                // A child that `feed` forked would build on the parent's pages.
                core.check_forked()?;
                let key = K::encode(key, &mut key_room);
                check_key(builder.tree(), key)?;
                builder.push(pages, key, V::encode(value, &mut value_room))
            })?;
            *tree = builder.finish();
            Ok(())
        })
    }
}

impl<K, V> Table<K, V> {
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
    /// let jobs = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("jobs"))?;
    /// for job in ["sweep", "mop"] {
    ///     let number = jobs.take_sequence(&mut txn, 1)?;
    ///     jobs.put(&mut txn, &number, job)?;
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

/// Native integers have one length.
pub(super) fn check_key(tree: &Tree, key: &[u8]) -> Result<()> {
    match tree.order.key_bytes() {
        Some(bytes) if bytes != key.len() => Err(Error::KeyLength),
        _ => Ok(()),
    }
}

/// The records of named tables cannot be swept away with the main table's own.
fn refuse_catalog(is_main: bool, pages: &Pages, tree: &Tree) -> Result<()> {
    if is_main && !crate::txn::catalog::names(pages, tree)?.is_empty() {
        return Err(Error::TablesInside);
    }
    Ok(())
}

/// Any order will do where no key is compared.
pub(crate) const UNORDERED: AnyOrder<'static> = AnyOrder::Bytes(crate::page::BytesOrder);
