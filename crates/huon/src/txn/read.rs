//! Read transactions.

use std::any::Any;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::os::is_inherited;
use crate::page::{META_HEAD_WORDS, Meta, MetaHead, Tree, Txnid};
use crate::planted::{self, Bug};
use crate::txn::meaning::{TableInfo, TableSpec};
use crate::txn::names::TableNo;
use crate::txn::notes::Markers;
use crate::txn::once_list::Attachments;
use crate::txn::seen::Seen;
use crate::txn::snapshot::Snapshot;
use crate::txn::{Core, KeptInfos, Pin, catalog};

/// A snapshot of all tables at one commit.
///
/// It sees nothing of later commits, holds no lock, and never waits for a writer. Keys and values
/// read from it lie in the file's map and live as long as it does. It is not bound to a thread.
///
/// While it lives, the pages that only it can see are kept: a forgotten one costs at most one copy
/// of what it sees, however long it sleeps.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let env = huon::Env::open(dir.path().join("a.huon"))?;
/// let before = env.read()?;
/// let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
/// env.update(|txn| txn.create_table(&def).map(drop))?;
/// assert!(env.read()?.id() > before.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a read transaction that is dropped has ended"]
pub struct ReadTxn {
    pub(crate) snapshot: Snapshot,
    pub(super) pin: Option<Pin>,
    txnid: u64,
    main: Tree,
    markers: Markers,
    tables: Seen,
    attachments: Attachments,
}

/// A transaction is moved to where its owner wants it, so what few of them need lies elsewhere.
const _: () = assert!(size_of::<ReadTxn>() <= 528);

impl ReadTxn {
    pub(crate) fn begin(core: &Arc<Core>) -> Result<ReadTxn> {
        let mut words = [0; META_HEAD_WORDS];
        let (pin, mark) = core.pin(&mut words)?;
        let head = MetaHead::decode(&words).ok().filter(|head| head.txnid.0 == mark.txnid());
        match head {
            // From the words right to their places: fields that are moved together, just after each
            // was stored by itself, have to be waited for.
            Some(head) if head.used <= core.store.map_pages() => Ok(ReadTxn {
                snapshot: Snapshot { core: core.clone(), used: head.used },
                pin: Some(pin),
                txnid: head.txnid.0,
                main: head.main,
                markers: Markers { values: head.markers, txnid: head.markers_txnid },
                tables: Seen::default(),
                attachments: Attachments::default(),
            }),
            head => {
                core.unpin(pin);
                Err(refused(core, head.map(|head| head.used)))
            }
        }
    }

    /// Reads the snapshot of an image, which is pinned.
    pub(crate) fn of(core: &Arc<Core>, pin: Pin, meta: &Meta) -> Result<ReadTxn> {
        if meta.used > core.store.map_pages() {
            core.unpin(pin);
            return Err(refused(core, Some(meta.used)));
        }
        Ok(ReadTxn {
            snapshot: Snapshot { core: core.clone(), used: meta.used },
            pin: Some(pin),
            txnid: meta.txnid.0,
            main: meta.main,
            markers: Markers { values: meta.markers, txnid: meta.markers_txnid },
            tables: Seen::default(),
            attachments: Attachments::default(),
        })
    }

    #[inline]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.snapshot.core
    }

    /// Whether it is this process's, and not of one that this was forked from (C1).
    #[inline(always)]
    pub(crate) fn is_own(&self) -> bool {
        !is_inherited(self.core().fork_generation)
    }

    /// The id of the snapshot: the id of the write transaction that made it.
    #[inline]
    pub fn id(&self) -> u64 {
        self.txnid
    }

    /// The application's markers, as this snapshot has them; see [`WriteTxn::set_markers`].
    ///
    /// [`WriteTxn::set_markers`]: crate::WriteTxn::set_markers
    pub fn markers(&self) -> Markers {
        self.markers
    }

    /// How many ids were used since this snapshot's: one for each commit, more for one that
    /// spilled.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let txn = env.read()?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("t");
    /// env.update(|txn| txn.create_table(&def).map(drop))?;
    /// assert!(txn.ids_behind() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids_behind(&self) -> u64 {
        self.core().store.board.sealed().txnid().saturating_sub(self.txnid)
    }

    /// Bytes of the file that were in use at this snapshot.
    pub fn used_bytes(&self) -> u64 {
        self.core().store.offset(self.snapshot.used)
    }

    /// Moves on to the newest snapshot, lets go of its own, and returns whether there was a newer
    /// one.
    ///
    /// Costs a few nanoseconds if there was none, and otherwise as much as beginning a new one.
    /// Slices that were read before cannot be held across it. On an error the transaction stays
    /// where it is.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// # let t = env.update(|txn| txn.create_table(&T))?;
    /// let mut txn = env.read()?;
    /// assert!(!txn.renew()?);
    /// env.update(|txn| t.put(txn, "n", 1).map(drop))?;
    /// assert_eq!(t.get(&txn, "n")?, None);
    /// assert!(txn.renew()?);
    /// assert_eq!(t.get(&txn, "n")?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Env::read`](crate::Env::read).
    pub fn renew(&mut self) -> Result<bool> {
        self.core().check_usable()?;
        if self.core().store.board.published().txnid() == self.txnid {
            return Ok(false);
        }
        *self = ReadTxn::begin(self.core())?;
        Ok(true)
    }

    /// What a layer on top of Huon keeps with this transaction, one item of each type: `make` makes
    /// it the first time. A layer can read something once in a snapshot, then, and keep it as long
    /// as the snapshot lives; [`ReadTxn::renew`] lets go of it.
    ///
    /// Costs a few nanoseconds where few types are attached.
    ///
    /// ```
    /// use huon::{ReadTxn, Str, TableDef};
    /// # let env = huon::Env::in_memory()?;
    /// const SETTINGS: TableDef<Str, Str> = TableDef::new("settings");
    /// # env.update(|txn| txn.create_table(&SETTINGS)?.put(txn, "currency", "XAU"))?;
    /// struct Currency(String);
    ///
    /// fn currency(txn: &ReadTxn) -> huon::Result<&str> {
    ///     let read = || {
    ///         let settings = txn.open_table(&SETTINGS)?;
    ///         let found = settings.map(|table| table.get(txn, "currency")).transpose()?.flatten();
    ///         Ok(Currency(found.unwrap_or("EUR").to_owned()))
    ///     };
    ///     Ok(&txn.attach(read)?.0)
    /// }
    /// let txn = env.read()?;
    /// assert_eq!((currency(&txn)?, currency(&txn)?), ("XAU", "XAU"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn attach<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        self.attachments.get_or_make(make)
    }

    /// Whether the bytes lie in the file's map, that is, were never copied.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
    /// # env.update(|txn| txn.create_table(&def)?.put(txn,
    /// "k", "v"))?;
    /// let txn = env.read()?;
    /// let t = txn.open_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?.unwrap();
    /// assert!(txn.is_mapped(t.get(&txn, "k")?.unwrap().as_bytes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn is_mapped(&self, bytes: &[u8]) -> bool {
        self.core().store.storage.map().contains(bytes)
    }

    /// An image of this snapshot, with what it shares with another.
    pub(crate) fn shown_in(&self, image: Meta) -> Meta {
        Meta {
            txnid: Txnid(self.txnid),
            used: self.snapshot.used,
            main: self.main,
            markers: self.markers.values,
            markers_txnid: self.markers.txnid,
            ..image
        }
    }

    /// Only for a planted bug: the transaction goes on without its pin.
    pub(crate) fn forget_pin(&self) {
        if let Some(Pin::Slot(slot)) = &self.pin {
            self.core().store.board.forget_pin(slot);
        }
    }

    /// The main table.
    pub(crate) fn main(&self) -> &Tree {
        &self.main
    }

    /// The table behind a handle as this snapshot has it. `None`: it does not exist here.
    pub(crate) fn tree(&self, no: TableNo) -> Result<Option<Tree>> {
        match self.tree_at_hand(no) {
            Some(tree) => Ok(tree.copied()),
            None => self.find(no),
        }
    }

    /// As [`ReadTxn::tree`], for the tables that were asked for first; `None` for others.
    #[inline]
    pub(crate) fn tree_at_hand(&self, no: TableNo) -> Option<Option<&Tree>> {
        if self.core().check_forked().is_err() && !planted::is(Bug::InheritedAtHand) {
            return None;
        }
        if no == TableNo::MAIN {
            return Some(Some(&self.main));
        }
        self.tables.at_hand(no)
    }

    #[cold]
    fn find(&self, no: TableNo) -> Result<Option<Tree>> {
        self.core().check_forked()?;
        if let Some(tree) = self.tables.among_rest(no) {
            return Ok(tree);
        }
        let (name, shape) = self.core().names.read(no).ok_or(Error::TableNotFound)?;
        let tree = catalog::find(&self.snapshot, &self.main, &name)?;
        if let Some(tree) = &tree {
            shape.check(tree)?;
            if shape.names_differ(tree) {
                let labels = self.info(no)?.labels()?;
                catalog::check_labels(&self.snapshot, &self.main, &name, &labels)?;
            }
        }
        self.tables.note(no, tree);
        Ok(tree)
    }

    /// The number of a table, if it exists in this snapshot. One that does not leaves nothing
    /// behind, in the environment or in the transaction.
    pub(crate) fn open_spec(&self, wanted: &TableSpec<'_>) -> Result<Option<TableNo>> {
        self.core().check_forked()?;
        if wanted.name.is_empty() {
            return Ok(Some(TableNo::MAIN));
        }
        let shape = wanted.shape()?;
        let known = self.core().names.find(wanted.name, &shape);
        if let Some(no) = known
            && let Some(Some(_)) = self.tree_at_hand(no)
        {
            return Ok(Some(no));
        }
        let Some(tree) = catalog::find(&self.snapshot, &self.main, wanted.name)? else {
            return Ok(None);
        };
        shape.check(&tree)?;
        if shape.names_differ(&tree) {
            let labels = wanted.labels()?;
            catalog::check_labels(&self.snapshot, &self.main, wanted.name, &labels)?;
        }
        let no = match known {
            Some(no) => no,
            None => self.core().intern(wanted, &shape, None)?,
        };
        self.tables.note(no, Some(tree));
        Ok(Some(no))
    }

    /// What a handle means, functions included.
    pub(crate) fn info(&self, no: TableNo) -> Result<&Arc<TableInfo>> {
        let kept = self.attachments.get_or_make(|| Ok(KeptInfos::default()))?;
        self.core().info(kept, no)
    }
}

/// Why no transaction begins on the published snapshot, of so many pages if its image is sound.
#[cold]
fn refused(core: &Core, used: Option<u32>) -> Error {
    match used {
        Some(used) => core.store.map_too_small(used),
        None => Error::corrupt_file("the lock file's image of the published snapshot is damaged"),
    }
}

impl Drop for ReadTxn {
    fn drop(&mut self) {
        if self.core().check_forked().is_err() {
            self.tables.forget_more();
            return;
        }
        if let Some(pin) = self.pin.take() {
            self.core().unpin(pin);
        }
    }
}

impl std::fmt::Debug for ReadTxn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadTxn").field("id", &self.txnid).finish_non_exhaustive()
    }
}
