//! The LSM tables of an environment, and batches that are written without a transaction.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use huon::{Codec, Env, Error, ForkLock, KeyCodec, Result, Scratch, Txn, hold_off};

use crate::batch::Batch;
use crate::combine::Queue;
use crate::compactor::Compactor;
use crate::def::LsmDef;
use crate::format::{DeleteRecord, name_of_manifest};
use crate::manifest::Shared;
use crate::operator::no_operator;
use crate::options::LsmOptions;
use crate::per_process::PerProcess;
use crate::range::in_range;
use crate::record::ms_of;
use crate::table::{LsmTable, RawLsmTable};
use crate::verbs::{check_key, encode_into, range_of};

/// Opens the LSM tables of an environment.
///
/// Clones are the same. Several may be opened of one environment, in this process or others: they
/// all see the same tables, but only what uses one shares its memory for filters and its
/// [`Lsm::write`]. A forked child goes on with what its parent had.
///
/// ```
/// use huon::{Env, Str, U64};
/// use huon_lsm::{Lsm, LsmDef};
/// # let env = Env::in_memory()?;
/// let lsm = Lsm::open(&env)?;
/// let hits = lsm.table(&LsmDef::<Str, U64>::new("hits"))?;
/// env.update(|txn| hits.put(txn, "index", 1))?;
/// assert_eq!(hits.get(&env.read()?, "index")?, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Lsm(Arc<Inner>);

struct Inner {
    env: Env,
    options: LsmOptions,
    /// Changed while forks are held off.
    tables: ForkLock<HashMap<TableKey, Arc<Shared>>>,
    queue: PerProcess<Queue>,
}

/// A table's name, and the names of the types of its keys and values.
type TableKey = (Vec<u8>, &'static str, &'static str);

impl Lsm {
    /// With the options that are usual. Costs nothing; nothing is read or written.
    ///
    /// # Errors
    /// None so far; those of [`Lsm::with_options`].
    pub fn open(env: &Env) -> Result<Lsm> {
        Lsm::with_options(env, LsmOptions::default())
    }

    /// With options.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they make no sense.
    pub fn with_options(env: &Env, options: LsmOptions) -> Result<Lsm> {
        options.check()?;
        let (env, queue) = (env.clone(), PerProcess::default());
        Ok(Lsm(Arc::new(Inner { env, options, tables: ForkLock::default(), queue })))
    }

    /// The environment.
    pub fn env(&self) -> &Env {
        &self.0.env
    }

    /// The handle of a table, which need not exist: it is made by the first record that is put into
    /// it.
    ///
    /// # Cost
    /// A read transaction; the first time for a table also that its manifest is read, if it exists.
    /// Keep the handle.
    ///
    /// # Errors
    /// [`Error::Decode`] if the table exists and its types are others, or its merge operator;
    /// [`Error::Invalid`] if it has no name; [`Error::Corrupt`].
    pub fn table<K: KeyCodec, V: Codec>(&self, def: &LsmDef<K, V>) -> Result<LsmTable<K, V>> {
        let shared = self.shared(def.name(), K::NAME, V::NAME)?;
        let opened = self.0.env.read().and_then(|txn| shared.open(&txn, def.operator()));
        if opened.is_err() {
            // No compactor takes it for one that it can use.
            self.forget(&(def.name().to_vec(), K::NAME, V::NAME));
        }
        opened.map(|()| LsmTable::of(shared))
    }

    /// The handle of a table whatever its types are, for tools.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// # let lsm = Lsm::open(&env)?;
    /// let hits = lsm.table(&LsmDef::<Str, U64>::new("hits"))?;
    /// env.update(|txn| hits.put(txn, "index", 1))?;
    /// let txn = env.read()?;
    /// for name in lsm.table_names(&txn)? {
    ///     assert_eq!(lsm.raw_table(&name)?.iter(&txn)?.count(), 1);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Lsm::table`].
    pub fn raw_table(&self, name: impl AsRef<[u8]>) -> Result<RawLsmTable> {
        self.table(&LsmDef::named(name))
    }

    /// The names of the LSM tables that the transaction shows, in order. What it has only collected
    /// is not among them.
    ///
    /// # Cost
    /// The names of all tables of the environment are read.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn table_names(&self, txn: &impl Txn) -> Result<Vec<Vec<u8>>> {
        let all = match txn.any() {
            huon::AnyTxn::Read(txn) => txn.table_names(),
            huon::AnyTxn::Write(txn) => txn.table_names(),
        };
        Ok(all?.iter().filter_map(|name| name_of_manifest(name)).map(<[u8]>::to_vec).collect())
    }

    /// What a process keeps of a table.
    pub(crate) fn shared(
        &self,
        name: &[u8],
        key: &'static str,
        value: &'static str,
    ) -> Result<Arc<Shared>> {
        if name.is_empty() {
            return Err(Error::Invalid("an LSM table has a name"));
        }
        let of = (name.to_vec(), key, value);
        let mut tables = self.0.tables.lock();
        if let Some(shared) = tables.get(&of) {
            return Ok(shared.clone());
        }
        let types = (key.to_owned(), value.to_owned());
        let other = tables.values().find(|shared| *shared.name == *name);
        let other = other.map(|other| &**other);
        let shared = Shared::new(&self.0.env, name, self.0.options.clone(), types, other)?;
        let shared = Arc::new(shared);
        let _held_off = hold_off();
        tables.insert(of, shared.clone());
        Ok(shared)
    }

    fn forget(&self, table: &TableKey) {
        let remove = || {
            let mut tables = self.0.tables.lock();
            let _held_off = hold_off();
            tables.remove(table)
        };
        // What belongs to its operator is the program's, and goes without the lock.
        drop(remove());
    }

    /// Any of those that a process keeps of a table, or one of no types.
    pub(crate) fn any_shared(&self, name: &[u8]) -> Result<Arc<Shared>> {
        let tables = self.0.tables.lock();
        let known = tables.values().find(|shared| *shared.name == *name).cloned();
        drop(tables);
        known.map_or_else(|| self.shared(name, "", ""), Ok)
    }

    /// A batch of changes that is collected without a transaction.
    pub fn batch(&self) -> WriteBatch {
        WriteBatch { tables: Vec::new() }
    }

    /// Writes a batch in a transaction of its own, or in one with batches of other threads that
    /// wait meanwhile; returns the id of its snapshot.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let lsm = Lsm::open(&env)?;
    /// let hits = lsm.table(&LsmDef::<Str, U64>::new("hits"))?;
    /// std::thread::scope(|scope| {
    ///     for n in 0..4 {
    ///         let (lsm, hits) = (&lsm, &hits);
    ///         scope.spawn(move || {
    ///             let mut batch = lsm.batch();
    ///             batch.put(hits, &format!("page {n}"), n).expect("it is short");
    ///             lsm.write(batch).expect("it is written");
    ///         });
    ///     }
    /// });
    /// assert_eq!(hits.iter(&env.read()?)?.count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// The batch is sorted before the writer lock is taken. Where threads write small batches at a
    /// time, the first of them commits for all that came until it had the lock: they share the cost
    /// of a commit, and its flush.
    ///
    /// # Errors
    /// Those of [`huon::Env::write`] and [`huon::WriteTxn::commit`]. A transaction for several that
    /// cannot be because of what one of them has in its batch is made again for each, so that none
    /// suffers from another. A panic of a merge operator goes on in the thread whose batch it is.
    pub fn write(&self, batch: WriteBatch) -> Result<u64> {
        if batch.is_empty() {
            return Ok(self.0.env.read()?.id());
        }
        self.0.queue.write(&self.0.env, batch)
    }

    /// What merges the runs of all LSM tables of the environment.
    pub fn compactor(&self) -> Compactor {
        Compactor::new(self.clone())
    }
}

impl fmt::Debug for Lsm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lsm").field("env", &self.0.env).finish_non_exhaustive()
    }
}

/// Changes of LSM tables that [`Lsm::write`] makes in one transaction; see there for an example.
///
/// Later changes of a key count. A batch can be collected by any thread and be sent to another.
#[derive(Default)]
#[must_use = "a batch changes nothing until it is written"]
pub struct WriteBatch {
    pub(crate) tables: Vec<TableBatch>,
}

/// What a batch holds of one table.
#[derive(Default)]
pub(crate) struct TableBatch {
    /// The handles that it came by, of all types. One at least.
    pub(crate) handles: Vec<Arc<Shared>>,
    pub(crate) batch: Batch,
}

impl WriteBatch {
    /// Stores `value` under `key`.
    ///
    /// # Errors
    /// As [`LsmTable::put`]; nothing was added then.
    pub fn put<K: KeyCodec, V: Codec>(
        &mut self,
        table: &LsmTable<K, V>,
        key: K::In<'_>,
        value: V::In<'_>,
    ) -> Result<()> {
        let put = |batch: &mut Batch, key: &[u8], value: &[u8]| batch.put(key, value);
        encode_into::<K, V>(table.shared(), self.of(table.shared()), key, value, put)
    }

    /// Stores `value` under `key` until a time.
    ///
    /// # Errors
    /// As [`LsmTable::put_until`]; nothing was added then.
    pub fn put_until<K: KeyCodec, V: Codec>(
        &mut self,
        table: &LsmTable<K, V>,
        key: K::In<'_>,
        value: V::In<'_>,
        until: SystemTime,
    ) -> Result<()> {
        let put =
            |batch: &mut Batch, key: &[u8], value: &[u8]| batch.put_until(key, value, ms_of(until));
        encode_into::<K, V>(table.shared(), self.of(table.shared()), key, value, put)
    }

    /// Merges `operand` onto the value of `key`.
    ///
    /// # Errors
    /// As [`LsmTable::merge`]; nothing was added then.
    pub fn merge<K: KeyCodec, V: Codec>(
        &mut self,
        table: &LsmTable<K, V>,
        key: K::In<'_>,
        operand: V::In<'_>,
    ) -> Result<()> {
        let operator = table.shared().operator().ok_or_else(no_operator)?;
        let merge = |batch: &mut Batch, key: &[u8], value: &[u8]| batch.merge(operator, key, value);
        encode_into::<K, V>(table.shared(), self.of(table.shared()), key, operand, merge)
    }

    /// Deletes `key`.
    ///
    /// # Errors
    /// As [`LsmTable::put`]; nothing was added then.
    pub fn delete<K: KeyCodec, V: Codec>(
        &mut self,
        table: &LsmTable<K, V>,
        key: K::In<'_>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        check_key(table.shared(), key)?;
        self.of(table.shared()).delete(key)
    }

    /// Deletes all records of a range of keys, of those that are there and of those that were added
    /// to the batch before.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// # let lsm = Lsm::open(&env)?;
    /// let hits = lsm.table(&LsmDef::<Str, U64>::new("hits"))?;
    /// let mut batch = lsm.batch();
    /// batch.put(&hits, "index", 1)?;
    /// batch.delete_range(&hits, "i"..)?;
    /// batch.put(&hits, "index", 2)?;
    /// batch.delete(&hits, "about")?;
    /// lsm.write(batch)?;
    /// assert_eq!(hits.get(&env.read()?, "index")?, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`] from the codec.
    pub fn delete_range<'k, K: KeyCodec, V: Codec>(
        &mut self,
        table: &LsmTable<K, V>,
        range: impl std::ops::RangeBounds<K::In<'k>>,
    ) -> Result<()> {
        in_range::<K, _, _>(&range, |bounds| {
            let range: Option<DeleteRecord> = range_of(bounds);
            range.into_iter().for_each(|range| self.of(table.shared()).delete_range(range));
            Ok(())
        })
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.batch.is_empty())
    }

    /// Bytes of keys and values that were added.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.batch.bytes()).sum()
    }

    fn of(&mut self, shared: &Arc<Shared>) -> &mut Batch {
        let is_known = |known: &Arc<Shared>| known.unique == shared.unique;
        let at = self.tables.iter().position(|table| table.handles.iter().any(is_known));
        let at = at.unwrap_or_else(|| self.add_handle(shared));
        &mut self.tables[at].batch
    }

    /// Handles of one name are of one table: when the batch is written, it is seen whether they are
    /// of that environment.
    #[cold]
    fn add_handle(&mut self, shared: &Arc<Shared>) -> usize {
        let at = self.tables.iter().position(|table| table.handles[0].name == shared.name);
        let at = at.unwrap_or_else(|| {
            self.tables.push(TableBatch::default());
            self.tables.len() - 1
        });
        self.tables[at].handles.push(shared.clone());
        at
    }

    /// Brings what was added into the order in which it is written.
    pub(crate) fn sort(&self) -> Result<()> {
        self.tables.iter().try_for_each(|table| table.batch.sorted().map(drop))
    }

    /// Adds what a later batch holds.
    pub(crate) fn join(&mut self, later: &WriteBatch) -> Result<()> {
        for TableBatch { handles, batch } in &later.tables {
            for shared in handles {
                self.of(shared);
            }
            self.of(&handles[0]).append(batch)?;
        }
        Ok(())
    }
}

impl fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBatch").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
