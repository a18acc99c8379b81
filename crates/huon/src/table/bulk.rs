//! Filling a table from records in key order.

use std::marker::PhantomData;

use crate::alloc::{Reserved, TryGrow};
use crate::error::{Error, Result};
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::tree::build::Builder;
use crate::txn::order::built_in;
use crate::txn::write::{How, WriteTxn};

/// A [`BulkChunk`] is full when it holds so many bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// What [`Table::bulk_load`] and [`Multi::bulk_load`](crate::Multi::bulk_load) hand to the caller:
/// adds the next record, or pair.
///
/// It has a name so that a function can take one: `fn feed(append: &mut Append<'_, K, V>)`.
pub type Append<'a, K, V> =
    dyn for<'k, 'v> FnMut(<K as Codec>::In<'k>, <V as Codec>::In<'v>) -> Result<()> + 'a;

/// Records on their way into a table that [`Table::bulk_load_from`] fills.
pub struct BulkChunk<K, V> {
    bytes: Vec<u8>,
    /// Where each key ends, and its value.
    ends: Vec<(usize, usize)>,
    /// The last key of the chunks before.
    after: Option<Vec<u8>>,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: Codec> BulkChunk<K, V> {
    fn new() -> BulkChunk<K, V> {
        BulkChunk { bytes: Vec::new(), ends: Vec::new(), after: None, types: PhantomData }
    }

    /// Adds the next record; whether there is room for more in this chunk. There always is for one
    /// record.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and those of the codecs.
    pub fn append(&mut self, key: K::In<'_>, value: V::In<'_>) -> Result<bool> {
        let mut scratch = Scratch::default();
        self.add(K::encode(&key, &mut scratch)?)?;
        let key_end = self.bytes.len();
        self.add(V::encode(&value, &mut scratch)?)?;
        self.ends.try_push((key_end, self.bytes.len()))?;
        Ok(self.bytes.len() < CHUNK_BYTES)
    }

    fn add(&mut self, bytes: &[u8]) -> Reserved<()> {
        self.bytes.try_reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The last key of the chunks before: this one goes on above it. `None` in the first.
    ///
    /// # Errors
    /// [`Error::Decode`] from the codec.
    pub fn after(&self) -> Result<Option<K::Out<'_>>> {
        self.after.as_deref().map(K::decode).transpose()
    }

    fn records(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut from = 0;
        self.ends.iter().map(move |&(key_end, end)| {
            let record = (&self.bytes[from..key_end], &self.bytes[key_end..end]);
            from = end;
            record
        })
    }

    /// Makes it the next chunk; whether it held anything.
    fn turn(&mut self) -> Result<bool> {
        let Some((key_end, _)) = self.ends.last() else { return Ok(false) };
        let from = self.ends.iter().rev().nth(1).map_or(0, |(_, end)| *end);
        self.after.get_or_insert_default().try_set(&self.bytes[from..*key_end])?;
        self.bytes.clear();
        self.ends.clear();
        Ok(true)
    }
}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// Fills an empty table from records in key order, into full pages and bottom-up: many times
    /// faster than putting them.
    ///
    /// # Errors
    /// [`Error::KeyOutOfOrder`] breaks the transaction, as any error after the first record does;
    /// [`Error::Invalid`] if the table is not empty.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("t"))?;
    /// t.bulk_load(&mut txn, |append| (0..1000).try_for_each(|n| append(n, "a value")))?;
    /// assert_eq!(t.len(&txn)?, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load(
        self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        if self.len(txn)? != 0 {
            return Err(Error::Invalid("only an empty table can be built"));
        }
        self.bulk_append(txn, feed)
    }

    /// As [`Table::bulk_load`], behind the records that are there: their keys are below those of
    /// `feed`. Pages that are there stay, but for the last one of each level.
    ///
    /// # Errors
    /// As [`Table::bulk_load`].
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("t"))?;
    /// t.bulk_append(&mut txn, |append| (0..1000).try_for_each(|n| append(n, "a value")))?;
    /// t.bulk_append(&mut txn, |append| (1000..2000).try_for_each(|n| append(n, "another")))?;
    /// assert_eq!(t.len(&txn)?, 2000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_append(
        self,
        txn: &mut WriteTxn,
        feed: impl FnOnce(&mut Append<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        let core = txn.core.clone();
        txn.edit(self.number_in(txn)?, How::AllOrNothing, |tree| {
            let mut builder = Builder::behind(*tree.tree, tree.order, tree.pages)?;
            let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
            feed(&mut |key, value| {
                // A child that `feed` forked would build on the parent's pages.
                core.check_forked()?;
                let key = K::encode(&key, &mut key_room)?;
                builder.push(tree.pages, key, V::encode(&value, &mut value_room)?)
            })?;
            *tree.tree = builder.finish(tree.pages)?;
            Ok(())
        })
    }

    /// As [`Table::bulk_load`], from what the transaction itself shows: `fill` is called with it,
    /// again and again, and adds the next records to a chunk until it adds none. What it adds is
    /// copied, so it may read tables that this transaction has changed. The table itself shows
    /// nothing until it is full.
    ///
    /// An error undoes all of it, and nothing else of the transaction.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    /// let all = txn.create_table(&huon::TableDef::<huon::U64, huon::U64>::new("all"))?;
    /// let odd = txn.create_table(&huon::TableDef::<huon::U64, huon::U64>::new("odd"))?;
    /// (0..10_000).try_for_each(|n| all.put(&mut txn, n, n * n).map(drop))?;
    /// odd.bulk_load_from(&mut txn, |txn, chunk| {
    ///     let from = chunk.after()?.map_or(Unbounded, Excluded);
    ///     for record in all.range(txn, (from, Unbounded))? {
    ///         let (n, square) = record?;
    ///         if n % 2 == 1 && !chunk.append(n, square)? {
    ///             break;
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(odd.len(&txn)?, 5000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`Table::bulk_load`], a copy of each record, and memory for a chunk: 1 MiB, or one
    /// record if that is longer.
    ///
    /// # Errors
    /// As [`Table::bulk_load`], and those of `fill`.
    pub fn bulk_load_from(
        self,
        txn: &mut WriteTxn,
        mut fill: impl FnMut(&WriteTxn, &mut BulkChunk<K, V>) -> Result<()>,
    ) -> Result<()> {
        if self.len(txn)? != 0 {
            return Err(Error::Invalid("only an empty table can be built"));
        }
        let number = self.number_in(txn)?;
        // Pages that no table names yet are lost unless they are undone.
        txn.nested(|txn| {
            let tree = txn.tree(number)?.ok_or(Error::TableNotFound)?;
            let info = txn.info(number)?.clone();
            let order = match built_in(tree.order) {
                Some(order) => order,
                None => info.order.resolve(tree.order).ok_or(Error::OrderUnknown)?,
            };
            let mut builder = Builder::new(tree, order);
            let mut chunk = BulkChunk::new();
            loop {
                fill(txn, &mut chunk)?;
                txn.guarded(How::AllOrNothing, |txn| {
                    let pages = txn.pages_mut();
                    builder.go_on(pages)?;
                    chunk.records().try_for_each(|(key, value)| builder.push(pages, key, value))
                })?;
                if !chunk.turn()? {
                    break;
                }
            }
            txn.edit(number, How::AllOrNothing, |tree| {
                *tree.tree = builder.finish(tree.pages)?;
                Ok(())
            })
        })
    }
}
