//! The environment: one open file, and the way in to everything else.

mod close;
#[cfg(test)]
mod damage_tests;
mod delete;
#[cfg(test)]
mod guest_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod ids_tests;
mod in_memory;
mod info;
#[cfg(test)]
mod journal_crash_tests;
#[cfg(test)]
mod journal_option_tests;
#[cfg(test)]
mod journal_tests;
mod keep;
mod kinds;
pub mod limits;
mod living;
mod modes;
#[cfg(test)]
mod named_tests;
mod open;
mod options;
mod place;
#[cfg(test)]
mod rise_tests;
mod settings;
#[cfg(all(test, shuttle))]
mod shuttle_models;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unchanged_tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::living::Lives;
use crate::error::{Error, Result};
use crate::table::def::{Definition, Id};
use crate::tell;
use crate::txn::Core;
use crate::txn::flush::MetaFlush;
use crate::txn::geometry::Geometry;
use crate::txn::read::ReadTxn;
use crate::txn::recovery::Recovery;
use crate::txn::write::WriteTxn;

pub(crate) use kinds::named;
pub(crate) use place::{check_new, look_at, resolve};

pub use close::Closed;
pub use info::{EnvInfo, IoInfo, JournalInfo, JournalState, ReaderInfo};
pub use kinds::FileKind;
pub use options::Options;
pub use settings::Settings;

/// An open environment. Clones share it; it is closed when the last clone and transaction are gone.
///
/// Opening the same file twice in one process is fine: the two are clients like any others.
///
/// ```
/// use huon::{Env, Str, TableDef, U64};
/// const AGES: TableDef<Str, U64> = TableDef::new("ages");
/// # let dir = tempfile::tempdir()?;
/// let env = Env::open(dir.path().join("people.huon"))?;
/// env.update(|txn| txn.create_table(&AGES)?.put(txn, "ada", 36).map(drop))?;
/// let age = env.view(|txn| match txn.open_table(&AGES)? {
///     Some(ages) => ages.get(txn, "ada"),
///     None => Ok(None),
/// })?;
/// assert_eq!(age, Some(36));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Env {
    inner: Arc<Inner>,
}

/// The state that all clones of a handle share: it outlives a fork, except for the part that each
/// process has of its own.
struct Inner {
    lives: Lives,
    recovery: Recovery,
    path: PathBuf,
}

/// How often a file is opened anew that was deleted or replaced while it was opened.
const OPENS_MAX: usize = 100;

impl Env {
    /// Opens the environment at `path`, and creates it if it is missing: durable commits, readable
    /// by its owner alone, at most 1 TiB. [`Env::options`] has all that may be chosen.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("shop.huon"))?;
    /// assert!(env.view(|txn| txn.table_names())?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Env> {
        Env::options().open(path)
    }

    /// The options to open an environment with; see [`Options::open`].
    pub fn options() -> Options {
        Options::default()
    }

    pub(crate) fn open_at(given: &Path, options: &Options) -> Result<Env> {
        let path = &place::resolve(given)?;
        let attempt = || open::open(open::real_files(path, options)?, options);
        for _ in 0..OPENS_MAX {
            let opened = attempt().map_err(|error| kinds::named(path, error))?;
            // A client that opened while it was deleted would go on with a file that has no name.
            if open::is_named(path, &*opened.core.store.storage)? {
                return Env::from_opened(opened, given, path, options);
            }
        }
        Err(Error::Busy("the file is replaced again and again while it is opened".into()))
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn open_sim(
        disk: &crate::sim::SimDisk,
        plan: Option<&crate::sim::FaultPlan>,
        guest: bool,
        options: &Options,
    ) -> Result<Env> {
        use crate::os::Shared;
        use crate::sim::{Faulty, FaultyJournal, FaultyShared};
        let found: Option<Arc<dyn Shared>> = if options.stays_apart() {
            None
        } else if guest {
            disk.shared_to_read().map(|shared| Arc::new(shared) as _)
        } else {
            Some(Arc::new(disk.shared()))
        };
        let private = found.is_none();
        let mut shared = found.map_or_else(open::private_lock_file, Ok)?;
        let mut storage = if guest { disk.storage_read_only() } else { disk.storage() };
        let mut journal = (!private).then(|| disk.journal());
        if let Some(plan) = plan {
            shared = Arc::new(FaultyShared::new(shared, plan.clone()));
            storage = Box::new(Faulty::new(disk, storage, plan.clone()));
            journal = journal.map(|_| Box::new(FaultyJournal::new(disk, plan.clone())) as _);
        }
        let files = open::OpenFiles { storage, shared, private, journal };
        let nowhere = Path::new("");
        Env::from_opened(open::open(files, options)?, nowhere, nowhere, options)
    }

    /// `path`: where `given` leads.
    fn from_opened(
        opened: open::Opened,
        given: &Path,
        path: &Path,
        options: &Options,
    ) -> Result<Env> {
        let inner = Inner {
            lives: Lives::new(opened.core, path, options)?,
            recovery: opened.recovery,
            path: given.to_owned(),
        };
        tell::opened(given, &inner.recovery);
        Ok(Env { inner: Arc::new(inner) })
    }

    /// This process's share of the environment: a forked child attaches first.
    #[inline]
    pub(crate) fn core(&self) -> Result<&Arc<Core>> {
        self.inner.lives.core()
    }

    /// The same for a look at what needs no files: a forked child need not have attached.
    pub(crate) fn last_core(&self) -> &Arc<Core> {
        self.inner.lives.last()
    }

    /// The core that a change of settings goes to: in a forked child that cannot attach, its
    /// parent's.
    pub(crate) fn core_or_last(&self) -> &Arc<Core> {
        self.core().unwrap_or_else(|_| self.last_core())
    }

    /// Where the lock file of the environment at `path` lies: beside it, with `-lock` appended; for
    /// a file that is called `data.mdb`, as LMDB's users call it, `lock.mdb`, and for libmdbx's
    /// `mdbx.dat` it is `mdbx.lck`. Where `path` is a symbolic link, that is beside the file that
    /// it leads to.
    ///
    /// ```
    /// use huon::Env;
    /// assert_eq!(Env::lock_path("shop.huon"), std::path::Path::new("shop.huon-lock"));
    /// assert_eq!(Env::lock_path("shop/data.mdb"), std::path::Path::new("shop/lock.mdb"));
    /// assert_eq!(Env::lock_path("shop/mdbx.dat"), std::path::Path::new("shop/mdbx.lck"));
    /// ```
    pub fn lock_path(path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        place::lock_path(&place::resolve(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Where the journal of the environment at `path` lies, if it has one: beside it, with
    /// `-journal` appended to its name, or to that of the file that a symbolic link leads to. See
    /// [`Options::journal`].
    ///
    /// ```
    /// use huon::Env;
    /// assert_eq!(Env::journal_path("shop.huon"), std::path::Path::new("shop.huon-journal"));
    /// ```
    pub fn journal_path(path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        place::journal_path(&place::resolve(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// How the snapshot that this process started from was found.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("a.huon");
    /// let env = huon::Env::open(&path)?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("t");
    /// env.update(|txn| txn.create_table(&def).map(drop))?;
    /// drop(env);
    /// assert_eq!(huon::Env::open(&path)?.recovery(), huon::Recovery::Clean);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery(&self) -> Recovery {
        self.inner.recovery
    }

    /// A handle of a table, made without a transaction, whether or not the table exists: for a
    /// program that keeps its handles beside the environment.
    ///
    /// While the table is missing, a read through this handle finds no records, and a change fails
    /// with [`Error::TableNotFound`]. A table of that name that is of another kind or order fails
    /// when the handle is used. A handle from [`ReadTxn::open_table`] is stricter: it fails
    /// wherever its table is missing.
    ///
    /// The environment keeps the name until it is closed. Names that come from outside belong to
    /// [`ReadTxn::open_table`], which keeps none that does not exist.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// const AGES: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("ages");
    /// let ages = env.table(&AGES)?;
    /// assert_eq!(ages.get(&env.read()?, "ada")?, None);
    /// let refused = env.update(|txn| ages.put(txn, "ada", 36));
    /// assert!(matches!(refused, Err(huon::Error::TableNotFound)));
    /// env.update(|txn| {
    ///     txn.create_table(&AGES)?;
    ///     ages.put(txn, "ada", 36)
    /// })?;
    /// assert_eq!(ages.get(&env.read()?, "ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Invalid`] if the definition makes no sense.
    pub fn table<D: Definition>(&self, def: &D) -> Result<D::Handle> {
        Ok(D::opened(Id(self.core()?.names.unfounded(&def.asked()?.0)?)))
    }

    /// Begins a read transaction on the newest visible commit. Never waits for a writer.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let txn = env.read()?;
    /// assert!(txn.table_names()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MapTooSmall`] if the snapshot is larger than the address space reserved at open:
    /// open again. In a forked child at its first use also those of [`Env::attach`].
    #[inline]
    pub fn read(&self) -> Result<ReadTxn> {
        ReadTxn::begin(self.core()?)
    }

    /// Begins the one write transaction; waits for another writer as long as the options say.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let mut txn = env.write()?;
    /// txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
    /// txn.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] names the client that holds the writer lock, after
    /// [`Options::lock_timeout`]; [`Error::ReadOnly`], [`Error::Poisoned`].
    ///
    /// [`Error::ThreadWrites`] if this thread has the write transaction itself, through this
    /// environment or another one of the same file: at once within [`Env::update`] and
    /// [`WriteTxn::nested`]. A transaction that is a value of its own may have been moved to
    /// another thread, which then ends it. So this waits for half a second first, and goes on
    /// waiting if another thread has used the transaction by then.
    pub fn write(&self) -> Result<WriteTxn> {
        let core = self.core()?;
        WriteTxn::begin(core, core.lock_timeout())
    }

    /// The same, with its own limit to the wait.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let first = env.write()?;
    /// let refused = env.write_within(std::time::Duration::from_millis(10)).unwrap_err();
    /// assert!(matches!(refused, huon::Error::Busy(_)), "{refused}");
    /// assert!(matches!(env.write(), Err(huon::Error::ThreadWrites)));
    /// drop(first);
    /// assert!(env.write_within(std::time::Duration::ZERO).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_within(&self, timeout: Duration) -> Result<WriteTxn> {
        WriteTxn::begin(self.core()?, timeout)
    }

    /// Runs `work` in a read transaction.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let tables = env.view(|txn| txn.table_names())?;
    /// assert!(tables.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view<R>(&self, work: impl FnOnce(&ReadTxn) -> Result<R>) -> Result<R> {
        self.try_view(work)
    }

    /// As [`Env::view`], with an error of the caller's.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let refused = env.try_view(|txn| -> Result<(), Box<dyn std::error::Error>> {
    ///     if txn.table_names()?.is_empty() { Err("there are no tables".into()) } else { Ok(()) }
    /// });
    /// assert_eq!(refused.unwrap_err().to_string(), "there are no tables");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_view<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&ReadTxn) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        work(&self.read()?)
    }

    /// Runs `work` in a write transaction: commits if it returns `Ok`, undoes everything if not.
    /// ([`Table::update`](crate::Table::update) changes the value of a single key.)
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// env.update(|txn| txn.create_table(&T)?.put(txn, "kept", 1))?;
    /// let undone = env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     t.put(txn, "lost", 2)?;
    ///     t.append(txn, "above lost", 3)
    /// });
    /// assert!(matches!(undone, Err(huon::Error::KeyOutOfOrder)));
    /// assert_eq!(env.view(|txn| txn.open_table(&T)?.expect("there").len(txn))?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<R>(&self, work: impl FnOnce(&mut WriteTxn) -> Result<R>) -> Result<R> {
        self.try_update(work)
    }

    /// As [`Env::update`], with an error of the caller's, which undoes everything, too.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use huon::{Str, TableDef, U64};
    ///
    /// #[derive(Debug)]
    /// enum BuyError {
    ///     SoldOut,
    ///     Store(huon::Error),
    /// }
    /// impl From<huon::Error> for BuyError {
    ///     fn from(error: huon::Error) -> BuyError {
    ///         BuyError::Store(error)
    ///     }
    /// }
    ///
    /// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
    /// let buy = || {
    ///     env.try_update(|txn| {
    ///         let stock = txn.create_table(&STOCK)?;
    ///         let left = stock.get(txn, "apple")?.unwrap_or(0);
    ///         stock.put(txn, "apple", left.checked_sub(1).ok_or(BuyError::SoldOut)?)?;
    ///         Ok(left - 1)
    ///     })
    /// };
    /// assert!(matches!(buy(), Err(BuyError::SoldOut)));
    /// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 2))?;
    /// assert_eq!(buy().expect("there were two"), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_update<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&mut WriteTxn) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let mut txn = self.write()?;
        let bound = self.core()?.store.writer.bind();
        let result = work(&mut txn);
        drop(bound);
        let result = result?;
        txn.commit()?;
        Ok(result)
    }

    /// Waits until there is a visible commit after the snapshot `after`, by any thread or process,
    /// and returns the id of the newest one. `None`: there was none within `timeout`
    /// ([`Duration::MAX`]: no end). For queues, caches and followers, which would poll otherwise:
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use std::time::Duration;
    /// const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// let seen = env.read()?.id();
    /// let other = env.clone();
    /// let writer =
    ///     std::thread::spawn(move || other.update(|txn| txn.create_table(&T)?.put(txn, "k", 1)));
    /// let newest = env.wait_for_commit(seen, Duration::from_secs(30))?;
    /// assert!(newest.is_some_and(|id| id > seen && env.read().unwrap().id() >= id));
    /// writer.join().expect("it does not panic")?;
    /// assert_eq!(env.wait_for_commit(env.read()?.id(), Duration::ZERO)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A durable commit counts once it is durable, a lazy one at once; one that changes nothing
    /// does not count. Hold no read transaction while you wait: it would keep its snapshot.
    ///
    /// # Cost
    /// A sleep of the thread, and some loads about once a second; a committer makes one more system
    /// call if a client waits. A reader that may not write the lock file checks every 5
    /// milliseconds. On systems other than Linux and Android, which have no futex between processes
    /// here, every client checks each millisecond.
    ///
    /// # Errors
    /// [`Error::Poisoned`] once a flush has failed: no commit follows until the environment is
    /// opened anew. In a forked child at its first use also those of [`Env::attach`].
    pub fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<Option<u64>> {
        let core = self.core()?;
        let end = Instant::now().checked_add(timeout);
        loop {
            let newest = core.store.board.published().txnid();
            if newest > after {
                return Ok(Some(newest));
            }
            core.check_poisoned()?;
            let left =
                end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            core.store.board.wait_published(after, left);
        }
    }

    /// Changes the limits of the file's length, in a transaction of its own; see
    /// [`WriteTxn::set_geometry`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::options().max_bytes(1 << 20).open(dir.path().join("a.huon"))?;
    /// let mut geometry = env.info()?.geometry;
    /// geometry.min_bytes = 256 << 10;
    /// env.set_geometry(geometry)?;
    /// assert!(env.info()?.file_bytes >= 256 << 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::set_geometry`], [`Env::write`] and [`WriteTxn::commit`].
    pub fn set_geometry(&self, geometry: Geometry) -> Result<()> {
        self.update(|txn| txn.set_geometry(geometry))
    }

    /// Makes everything that has been committed durable; returns the id of the newest durable
    /// snapshot.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// const T: huon::TableDef<huon::U64, huon::Unit> = huon::TableDef::new("t");
    /// let mut txn = env.write()?;
    /// txn.create_table(&T)?.put(&mut txn, 1, ())?;
    /// let id = txn.commit_with(huon::Durability::Lazy)?;
    /// assert!(env.durable_id() < id);
    /// assert_eq!(env.sync()?, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self) -> Result<u64> {
        let core = self.core()?;
        core.check_writable()?;
        if core.is_repair_due() {
            drop(self.write()?);
        }
        core.flush_up_to(core.store.board.sealed().txnid(), MetaFlush::Now)?;
        Ok(core.store.board.durable_id())
    }

    /// Makes a checkpoint if [`Options::flush_after_bytes`] or [`Options::flush_after`] ask for one
    /// and no other client is making it already; says whether it did. Costs some loads if not, so
    /// it can be called from any loop or timer.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Durability, Env};
    /// let env = Env::options()
    ///     .durability(Durability::Lazy)
    ///     .flush_after(std::time::Duration::from_millis(1))
    ///     .open(dir.path().join("a.huon"))?;
    /// assert!(!env.flush_if_due()?, "nothing is unflushed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush_if_due(&self) -> Result<bool> {
        self.core()?.flush_if_due()
    }

    /// The newest durable snapshot's id: everything up to it survives a power loss.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let id = env.update(|txn| {
    ///     txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
    ///     Ok(txn.id())
    /// })?;
    /// assert_eq!(env.durable_id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durable_id(&self) -> u64 {
        self.last_core().store.board.durable_id()
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("recovery", &self.inner.recovery).finish_non_exhaustive()
    }
}
