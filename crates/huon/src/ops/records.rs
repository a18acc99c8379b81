//! All records of a snapshot, table by table: for dumps, conversions and rescue.
//!
//! R1. Every checksum is verified, whatever was verified before.
//! R2. A page is entered once, so a hostile file cannot show the same records for ever.
//! R3. No comparator is needed: tables are walked from end to end, as they lie in the file.
//!
//! [`Env::visit_records`] ends at the first damage; [`Env::salvage`], in `salvage.rs`, goes on.

use std::ops::ControlFlow;

use crate::alloc::TryGrow;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::check::Problem;
use crate::ops::pinned;
use crate::ops::progress::stopped;
use crate::ops::stat::TableStat;
use crate::ops::tables::{self, each_record, each_value};
use crate::page::{Meta, PayloadKind, Tree};
use crate::store::verified::Verified;
use crate::tree::read;
use crate::txn::notes::Markers;

/// What a snapshot holds; shown before its records.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Contents {
    /// The snapshot.
    pub txnid: u64,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Bytes of the file that the snapshot spans.
    pub used_bytes: u64,
    /// The application's markers.
    pub markers: Markers,
    /// The main table, then the named ones in the order of their names; those that can be found.
    pub tables: Vec<TableStat>,
    /// Whether the main table has records of its own beside those that name tables, or lost some.
    pub has_main_records: bool,
}

/// Sees the records of an environment; see [`Env::visit_records`] and [`Env::salvage`]. A method
/// that breaks ends the walk, which is no error.
pub trait RecordVisitor {
    /// The walk begins.
    fn begin(&mut self, contents: &Contents) -> ControlFlow<()> {
        let _ = contents;
        ControlFlow::Continue(())
    }

    /// A table begins; `false` passes over its records.
    fn table(&mut self, table: &TableStat) -> ControlFlow<(), bool>;

    /// A record of the table, or a key of a multimap with one of its values.
    fn record(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()>;

    /// The end of a table that was not passed over.
    fn table_end(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Something that [`Env::salvage`] cannot read, and leaves out.
    fn lost(&mut self, problem: &Problem) -> ControlFlow<()> {
        let _ = problem;
        ControlFlow::Continue(())
    }
}

impl Env {
    /// Shows every record of the newest visible snapshot to `visitor`, the main table's first, and
    /// returns the snapshot's id. Records that name tables are not shown.
    ///
    /// Every checksum is verified, and no comparator is needed. The snapshot is pinned meanwhile;
    /// writers go on.
    ///
    /// # Errors
    /// [`Error::Corrupt`] at the first damage: [`Env::salvage`] goes on.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use huon::{RecordVisitor, TableStat};
    ///
    /// #[derive(Default)]
    /// struct Longest(Vec<u8>);
    ///
    /// impl RecordVisitor for Longest {
    ///     fn table(&mut self, table: &TableStat) -> ControlFlow<(), bool> {
    ///         ControlFlow::Continue(table.name == b"t")
    ///     }
    ///     fn record(&mut self, _: &[u8], value: &[u8]) -> ControlFlow<()> {
    ///         if value.len() > self.0.len() {
    ///             self.0 = value.to_vec();
    ///         }
    ///         ControlFlow::Continue(())
    ///     }
    /// }
    ///
    /// # let env = huon::Env::in_memory()?;
    /// env.update(|txn| {
    ///     let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
    ///     t.put(txn, "ann", "in Hobart")?;
    ///     t.put(txn, "bob", "at sea")
    /// })?;
    /// let mut longest = Longest::default();
    /// env.visit_records(&mut longest)?;
    /// assert_eq!(longest.0, b"in Hobart");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_records(&self, visitor: &mut dyn RecordVisitor) -> Result<u64> {
        walked(self, visitor, |records| records.all())
    }
}

/// Pins the newest snapshot, and runs a walk over its records.
pub(super) fn walked(
    env: &Env,
    visitor: &mut dyn RecordVisitor,
    walk: impl FnOnce(&mut Records<'_, '_>) -> Result<()>,
) -> Result<u64> {
    let (_pin, meta) = pinned::pin(env)?;
    let source = Verified { store: &env.core()?.store, used: meta.used };
    let mut records =
        Records { source, meta: &meta, visitor, is_wanted: false, has_stopped: false };
    match walk(&mut records) {
        Err(_) if records.has_stopped => Ok(meta.txnid.0),
        outcome => outcome.map(|()| meta.txnid.0),
    }
}

/// A walk under way.
pub(super) struct Records<'s, 'v> {
    pub(super) source: Verified<'s>,
    pub(super) meta: &'s Meta,
    visitor: &'v mut dyn RecordVisitor,
    /// The records of the present table are shown.
    pub(super) is_wanted: bool,
    /// The visitor asked for no more; the error that ends the walk says nothing else.
    has_stopped: bool,
}

impl<'s> Records<'s, '_> {
    /// The same source, for a walk that shows what it sees to this one.
    pub(super) fn source(&self) -> Verified<'s> {
        Verified { store: self.source.store, used: self.source.used }
    }

    /// Every table, up to the first damage.
    fn all(&mut self) -> Result<()> {
        let main = self.meta.main;
        let named = tables::named(&self.source, &main)?;
        let has_main_records = main.entries > named.len() as u64;
        let mut trees = vec![(Vec::new(), main)];
        trees.try_extend(named.into_iter())?;
        let mut stats = Vec::new();
        for (name, tree) in &trees {
            stats.try_push(TableStat::of(&self.source, &main, name, tree)?)?;
        }
        let contents = self.contents(stats, has_main_records);
        self.begin(&contents)?;
        let mut visited = tables::no_pages(&self.source)?;
        let tables = trees.iter().zip(&contents.tables);
        for ((_, tree), stat) in tables {
            if self.table(stat)? {
                self.records_of(tree, stat.name.is_empty(), &mut visited)?;
                self.table_end()?;
            }
        }
        Ok(())
    }

    fn records_of(&mut self, tree: &Tree, is_main: bool, visited: &mut Bitmap) -> Result<()> {
        let source = self.source();
        each_record(&source, tree, visited, &mut |cell, visited| {
            if cell.kind == PayloadKind::Table && is_main {
                return Ok(());
            }
            if tree.many.is_some() {
                return each_value(&source, tree, &cell, visited, &mut |value| {
                    self.record(cell.key, value)
                });
            }
            match read::value(&source, &cell)? {
                Some(value) => self.record(cell.key, value),
                None => Err(Error::corrupt_file("a named table holds a table's record")),
            }
        })
    }

    /// What the snapshot holds, in these tables.
    pub(super) fn contents(&self, tables: Vec<TableStat>, has_main_records: bool) -> Contents {
        let Meta { txnid, page_bytes, used, markers, markers_txnid, .. } = *self.meta;
        Contents {
            txnid: txnid.0,
            page_bytes,
            used_bytes: u64::from(used) * u64::from(page_bytes),
            markers: Markers { values: markers, txnid: markers_txnid },
            tables,
            has_main_records,
        }
    }

    pub(super) fn begin(&mut self, contents: &Contents) -> Result<()> {
        let flow = self.visitor.begin(contents);
        self.go_on(flow)
    }

    /// Begins a table; whether its records are to be shown.
    pub(super) fn table(&mut self, table: &TableStat) -> Result<bool> {
        self.is_wanted = match self.visitor.table(table) {
            ControlFlow::Continue(is_wanted) => is_wanted,
            ControlFlow::Break(()) => return self.go_on(ControlFlow::Break(())).map(|()| false),
        };
        Ok(self.is_wanted)
    }

    pub(super) fn table_end(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_wanted) {
            return Ok(());
        }
        let flow = self.visitor.table_end();
        self.go_on(flow)
    }

    /// Shows a record, if those of its table are wanted.
    pub(super) fn record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.is_wanted {
            return Ok(());
        }
        let flow = self.visitor.record(key, value);
        self.go_on(flow)
    }

    pub(super) fn lost(&mut self, problem: &Problem) -> Result<()> {
        let flow = self.visitor.lost(problem);
        self.go_on(flow)
    }

    fn go_on(&mut self, flow: ControlFlow<()>) -> Result<()> {
        if flow.is_break() {
            self.has_stopped = true;
            return Err(stopped());
        }
        Ok(())
    }
}
