//! Stat: where the space is, and which snapshots retain how much of it.

use crate::alloc::{TryGrow, copied};
use crate::env::{Env, ReaderInfo};
use crate::error::Result;
use crate::journal::BLOCK_BYTES;
use crate::ops::check::order_name;
use crate::ops::free::free_items;
use crate::ops::pinned;
use crate::ops::tables;
use crate::page::{Item, Labels, Meta, Tree, first_data_page};
use crate::store::source::PageSource;
use crate::store::space::Backend;
use crate::store::verified::Verified;
use crate::txn::catalog;
use crate::txn::read::ReadTxn;
use crate::txn::write::WriteTxn;

/// Where the space of an environment is; see [`Env::stat`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stat {
    /// The snapshot that was looked at.
    pub txnid: u64,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Length of the file. The sum of the next five, in pages, and of the tail.
    pub file_bytes: u64,
    /// Pages that the three metas take.
    pub meta_pages: u64,
    /// Pages of all tables.
    pub live_pages: u64,
    /// Pages of the free-space list itself.
    pub free_list_pages: u64,
    /// Free pages that the next write transaction may use.
    pub reusable_pages: u64,
    /// Free pages that some older snapshot still sees.
    pub retained_pages: u64,
    /// Bytes behind the last page in use: the file grows in steps.
    pub tail_bytes: u64,
    /// Length of the journal that is in use beside the file, which none of the above counts; 0:
    /// there is none. See [`Options::journal`](crate::Options::journal).
    pub journal_bytes: u64,
    /// The snapshots that retain freed pages. A page that several retain is counted for each.
    pub retained_snapshots: Vec<RetainedSnapshot>,
    /// The main table, then the named ones in the order of their names.
    pub tables: Vec<TableStat>,
}

/// The size of a table.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStat {
    /// The table's name; empty for the unnamed main table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::name"))]
    pub name: Vec<u8>,
    /// How its keys are ordered: `bytes`, `reversed`, `native-u32`, `native-u64` or `custom`.
    pub order: &'static str,
    /// How the values of a key are ordered, in the same words; `None` if it has one value only.
    pub values: Option<&'static str>,
    /// The name of the comparator that orders its keys, as given to
    /// [`Order::custom`](crate::Order::custom). `None`: the order is none of a caller's, or has no
    /// name, as those of C programs.
    pub comparator: Option<String>,
    /// The name of the comparator that orders the values of a key.
    pub value_comparator: Option<String>,
    /// The name of the type of its keys: see [`Codec::NAME`](crate::Codec::NAME). `None`: bytes, as
    /// for C programs.
    pub key_type: Option<String>,
    /// The name of the type of its values.
    pub value_type: Option<String>,
    /// Length in bytes of each value, if it is a multimap whose values have one length: 0 until it
    /// has the first one.
    pub value_bytes: Option<u32>,
    /// Records, or values of all keys; for the main table, the records of named tables too.
    pub entries: u64,
    /// Levels of pages: 0 if it is empty.
    pub depth: u8,
    /// Pages of branches.
    pub branch_pages: u32,
    /// Pages of leaves.
    pub leaf_pages: u32,
    /// Pages of large values.
    pub overflow_pages: u32,
    /// The table's sequence: see [`Table::sequence`](crate::Table::sequence).
    pub sequence: u64,
    /// The transaction that changed it last.
    pub changed: u64,
}

impl TableStat {
    /// The statistics of a table of the catalog `main`, or of that itself.
    pub(super) fn of<S: PageSource>(
        source: &S,
        main: &Tree,
        name: &[u8],
        tree: &Tree,
    ) -> Result<TableStat> {
        if tree.labels == 0 || name.is_empty() {
            return TableStat::with(name, tree, Labels::default());
        }
        TableStat::with(name, tree, catalog::names_behind(source, main, name)?)
    }

    /// What a table's record says, and the names behind it.
    pub(super) fn with(name: &[u8], tree: &Tree, labels: Labels<'_>) -> Result<TableStat> {
        Ok(TableStat {
            name: copied(name)?,
            order: order_name(tree.order),
            values: tree.many.map(|many| order_name(many.order)),
            comparator: labels.keys.map(str::to_owned),
            value_comparator: labels.values.map(str::to_owned),
            key_type: labels.key_type.map(str::to_owned),
            value_type: labels.value_type.map(str::to_owned),
            value_bytes: tree.many.filter(|many| many.equal).map(|_| tree.fixed_bytes),
            entries: tree.entries,
            depth: tree.depth,
            branch_pages: tree.branch_pages,
            leaf_pages: tree.leaf_pages,
            overflow_pages: tree.overflow_pages,
            sequence: tree.sequence,
            changed: tree.changed.0,
        })
    }

    /// All its pages.
    pub fn pages(&self) -> u64 {
        [self.branch_pages, self.leaf_pages, self.overflow_pages].map(u64::from).iter().sum()
    }
}

/// What retains an old snapshot.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetainedBy {
    /// A power loss would fall back to it.
    Durable,
    /// A flush that is under way.
    Flush,
    /// A read transaction.
    Reader(ReaderInfo),
    /// A name: see [`WriteTxn::name_snapshot`](crate::WriteTxn::name_snapshot).
    Name,
}

/// A snapshot that is retained, and the free pages it still sees.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetainedSnapshot {
    /// What retains it.
    pub by: RetainedBy,
    /// The snapshot.
    pub txnid: u64,
    /// Free pages that it sees.
    pub pages: u64,
    /// Those that no other snapshot retains: they become reusable when this one ends.
    pub alone_pages: u64,
}

impl RetainedSnapshot {
    fn without_pages(by: RetainedBy, txnid: u64) -> RetainedSnapshot {
        RetainedSnapshot { by, txnid, pages: 0, alone_pages: 0 }
    }
}

impl ReadTxn {
    /// The statistics of a table; of the main table, if the name is empty. `None`: there is no such
    /// table. Costs a lookup.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// env.update(|txn| {
    ///     txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?.put(txn, "k", "v")
    /// })?;
    /// let txn = env.read()?;
    /// assert_eq!(txn.table_stat("t")?.map(|stat| stat.entries), Some(1));
    /// assert!(txn.table_stat("u")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NameTaken`](crate::Error::NameTaken) if the name is that of an ordinary record.
    pub fn table_stat(&self, name: impl AsRef<[u8]>) -> Result<Option<TableStat>> {
        let name = name.as_ref();
        let tree = if name.is_empty() {
            Some(*self.main())
        } else {
            catalog::find(&self.snapshot, self.main(), name)?
        };
        tree.map(|tree| TableStat::of(&self.snapshot, self.main(), name, &tree)).transpose()
    }
}

impl WriteTxn {
    /// The same as [`ReadTxn::table_stat`], with this transaction's changes.
    ///
    /// # Errors
    /// As there.
    pub fn table_stat(&self, name: impl AsRef<[u8]>) -> Result<Option<TableStat>> {
        let name = name.as_ref();
        let Some(tree) = self.tree_named(name)? else { return Ok(None) };
        TableStat::of(self.pages(), &self.main, name, &tree).map(Some)
    }
}

impl Env {
    /// Where the space is: by table, by state, and by the snapshot that retains it.
    ///
    /// Reads the catalog and the list of free space, in proportion to the number of tables and of
    /// free runs. Blocks no writer.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) for a damaged catalog or list: [`Env::check`] says
    /// more.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// let stat = env.stat()?;
    /// let pages = stat.meta_pages
    ///     + stat.live_pages
    ///     + stat.free_list_pages
    ///     + stat.reusable_pages
    ///     + stat.retained_pages;
    /// assert_eq!(pages * u64::from(stat.page_bytes) + stat.tail_bytes, stat.file_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stat(&self) -> Result<Stat> {
        let mut snapshots = self.retaining()?;
        let (_pin, meta) = pinned::pin(self)?;
        self.add_named(&meta, &mut snapshots)?;
        let store = &self.core()?.store;
        let file_bytes = store.storage.file_bytes()?;
        let page_bytes = store.page_bytes as u64;
        let source = Verified { store, used: meta.used };
        let mut tables = Vec::new();
        tables.try_push(TableStat::of(&source, &meta.main, b"", &meta.main)?)?;
        for (name, tree) in tables::named(&source, &meta.main)? {
            tables.try_push(TableStat::of(&source, &meta.main, &name, &tree)?)?;
        }
        let mut stat = Stat {
            txnid: meta.txnid.0,
            page_bytes: page_bytes as u32,
            file_bytes,
            meta_pages: u64::from(first_data_page(store.page_bytes)),
            live_pages: tables.iter().map(TableStat::pages).sum(),
            tail_bytes: file_bytes.saturating_sub(u64::from(meta.used) * page_bytes),
            journal_bytes: store.board.journal_blocks() * BLOCK_BYTES as u64,
            tables,
            ..Stat::default()
        };
        let file_pages = file_bytes / page_bytes;
        stat.free_list_pages = free_items(store, &meta, |item| {
            // Pages that were cut off the file while the snapshot was pinned are in no sum.
            let end = (u64::from(item.pgno) + u64::from(item.page_count())).min(file_pages);
            let pages = end.saturating_sub(u64::from(item.pgno));
            if count_retained(&mut snapshots, item, pages) {
                stat.retained_pages += pages;
            } else {
                stat.reusable_pages += pages;
            }
        })?;
        stat.retained_snapshots = snapshots;
        Ok(stat)
    }

    /// What retains old snapshots, and how much space each retains: the durable snapshot, names,
    /// and the readers of all processes.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let reader = env.read()?;
    /// let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
    /// env.update(|txn| txn.create_table(&def).map(drop))?;
    /// for snapshot in env.retained_snapshots()? {
    ///     if let huon::RetainedBy::Reader(info) = snapshot.by {
    ///         println!("process {} retains {} pages", info.pid, snapshot.pages);
    ///     }
    /// }
    /// # drop(reader);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retained_snapshots(&self) -> Result<Vec<RetainedSnapshot>> {
        let mut snapshots = self.retaining()?;
        let (_pin, meta) = pinned::pin(self)?;
        self.add_named(&meta, &mut snapshots)?;
        free_items(&self.core()?.store, &meta, |item| {
            count_retained(&mut snapshots, item, u64::from(item.page_count()));
        })?;
        Ok(snapshots)
    }

    /// All retained snapshots, without the pages that they see.
    fn retaining(&self) -> Result<Vec<RetainedSnapshot>> {
        let board = &self.core()?.store.board;
        // Clears up after dead readers, so that they are not listed.
        self.core()?.store.protected(&[])?;
        let retained = RetainedSnapshot::without_pages;
        let mut snapshots = vec![retained(RetainedBy::Durable, board.durable().txnid())];
        let in_flight = board.in_flight();
        if !in_flight.is_none() {
            snapshots.push(retained(RetainedBy::Flush, in_flight.txnid()));
        }
        let readers = self.info()?.readers;
        let readers = readers.into_iter();
        snapshots.try_extend(readers.map(|info| retained(RetainedBy::Reader(info), info.txnid)))?;
        Ok(snapshots)
    }

    /// Those that a snapshot names, too.
    fn add_named(&self, meta: &Meta, snapshots: &mut Vec<RetainedSnapshot>) -> Result<()> {
        let named = self.core()?.named_ids(meta)?.into_iter();
        let by_name = |id| RetainedSnapshot::without_pages(RetainedBy::Name, id);
        Ok(snapshots.try_extend(named.map(by_name))?)
    }
}

/// Counts freed pages for each snapshot that retains them; whether any does.
fn count_retained(snapshots: &mut [RetainedSnapshot], item: &Item, pages: u64) -> bool {
    let sees =
        |snapshot: &RetainedSnapshot| item.birth <= snapshot.txnid && snapshot.txnid < item.freed;
    let alone = snapshots.iter().filter(|snapshot| sees(snapshot)).count() == 1;
    let mut is_retained = false;
    for snapshot in snapshots.iter_mut().filter(|snapshot| sees(snapshot)) {
        is_retained = true;
        snapshot.pages += pages;
        snapshot.alone_pages += if alone { pages } else { 0 };
    }
    is_retained
}
