//! Salvage: a walk over records that goes on where [`Env::visit_records`] stops.
//!
//! First every table is walked from its root, and pages that cannot be read are left out. Below a
//! damaged branch there are leaves that nothing reaches any more. Since every page is either
//! reachable or listed as free, a whole leaf that is neither must be one of them. If only one table
//! lost pages, they are its leaves, and the table is shown a second time with them. If not, or if
//! the free list is damaged itself, they are shown as a table of their own, where old versions of a
//! record may be among them, the youngest last. Leaves of a multimap's trees of values have no keys
//! any more: their values are only counted.

use crate::alloc::{TryGrow, copied};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::check::Problem;
use crate::ops::free::free_items;
use crate::ops::records::{RecordVisitor, Records, walked};
use crate::ops::stat::TableStat;
use crate::page::{
    Cell, Kind, Labels, PayloadKind, Ptr, Reason, SlottedLeaf, Tree, Txnid, admit, first_data_page,
    header,
};
use crate::store::source::OnPage;
use crate::tree::read;
use crate::tree::values::KeyValues;
use crate::tree::view::TreeView;
use crate::tree::walk::{Spot, Visit, Visitor};

/// The table for leaves whose own table is not known.
const LOST: &[u8] = b"huon_rescued";

/// The reason given for values that have lost their key.
const KEYLESS: &str = "values of a multimap, whose key is lost";

/// A table that can be found.
struct Found {
    stat: TableStat,
    tree: Tree,
    /// The birth of the leaf that holds its record.
    above: Txnid,
}

impl Env {
    /// Shows every record of the newest visible snapshot that can be read, and returns the
    /// snapshot's id. Damaged parts are left out, and reported to [`RecordVisitor::lost`].
    ///
    /// Whole leaves below a damaged branch are shown, too. Where only one table lost pages they are
    /// its own, and [`RecordVisitor::table`] is called for it a second time; else they come as a
    /// table called `huon_rescued`, where old versions of a record may be among them, the youngest
    /// last.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::OutOfMemory`]; damage is none.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # #[derive(Default)]
    /// # struct Count { records: u64, lost: u64 }
    /// impl huon::RecordVisitor for Count {
    ///     fn table(&mut self, _: &huon::TableStat) -> ControlFlow<(), bool> {
    ///         ControlFlow::Continue(true)
    ///     }
    ///     fn record(&mut self, _: &[u8], _: &[u8]) -> ControlFlow<()> {
    ///         self.records += 1;
    ///         ControlFlow::Continue(())
    ///     }
    ///     fn lost(&mut self, problem: &huon::Problem) -> ControlFlow<()> {
    ///         eprintln!("left out: {problem}");
    ///         self.lost += 1;
    ///         ControlFlow::Continue(())
    ///     }
    /// }
    /// # let env = huon::Env::in_memory()?;
    /// let mut count = Count::default();
    /// env.salvage(&mut count)?;
    /// assert_eq!((count.records, count.lost), (0, 0), "it is empty, and whole");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn salvage(&self, visitor: &mut dyn RecordVisitor) -> Result<u64> {
        walked(self, visitor, |records| records.salvage())
    }
}

impl<'s> Records<'s, '_> {
    /// Every table, as much of it as can be read.
    fn salvage(&mut self) -> Result<()> {
        let limit = self.meta.used.min(self.source.store.measure()?);
        let (main, above) = (self.meta.main, self.meta.txnid);
        let stat = TableStat::with(b"", &main, Labels::default())?;
        let mut tables = vec![Found { stat, tree: main, above }];
        let lost_names = self.catalog(&mut tables)?;
        let named = tables.len() as u64 - 1;
        let has_main_records = main.entries > named || named == 0 || lost_names;
        let mut stats = Vec::new();
        stats.try_extend(tables.iter().map(|table| table.stat.clone()))?;
        let contents = self.contents(stats, has_main_records);
        self.begin(&contents)?;
        drop(contents);
        let mut visited = Bitmap::new(limit)?;
        let mut damaged: Vec<Found> = Vec::new();
        for table in tables {
            if self.walk(&table, &mut visited)? {
                damaged.try_push(table)?;
            }
        }
        if damaged.is_empty() {
            return Ok(());
        }
        let is_listed = self.list_free(&mut visited)?;
        match &damaged[..] {
            [Found { stat, tree, .. }] if is_listed && !stat.name.is_empty() => {
                self.orphans(stat, tree, &mut visited)
            }
            _ => {
                let tree = Tree::default();
                let stat = TableStat::with(LOST, &tree, Labels::default())?;
                self.orphans(&stat, &tree, &mut visited)
            }
        }
    }

    /// Something that is left out.
    fn skip(&mut self, pgno: Option<u32>, table: Option<&[u8]>, text: String) -> Result<()> {
        let table = table.map(copied).transpose()?;
        self.lost(&Problem { pgno, table, text })
    }

    /// Adds the named tables whose records can be read; whether anything of the main table is lost.
    fn catalog(&mut self, tables: &mut Vec<Found>) -> Result<bool> {
        let main = self.meta.main;
        let mut visited = Bitmap::new(self.source.used.min(self.source.store.measure()?))?;
        let mut catalog = TableCollector { tables, visited: &mut visited, lost: false };
        TreeView::unordered(&self.source(), &main).walk(self.meta.txnid, &mut catalog)?;
        Ok(catalog.lost)
    }

    /// Walks a table, and shows it if it is wanted; whether anything is lost.
    fn walk(&mut self, table: &Found, visited: &mut Bitmap) -> Result<bool> {
        self.table(&table.stat)?;
        let source = self.source();
        let name = &table.stat.name;
        let mut salvage =
            Salvage { records: self, name, tree: &table.tree, key: None, visited, lost: false };
        TreeView::unordered(&source, &table.tree).walk(table.above, &mut salvage)?;
        let lost = salvage.lost;
        self.table_end()?;
        Ok(lost)
    }

    /// Adds all free pages to `visited`; whether all are known.
    fn list_free(&mut self, visited: &mut Bitmap) -> Result<bool> {
        let mut pages_left = u64::from(visited.limit()) * 2;
        let listed = free_items(self.source.store, self.meta, |item| {
            let end = item.pgno.saturating_add(item.page_count()).min(visited.limit());
            for pgno in item.pgno..end {
                if pages_left == 0 {
                    break;
                }
                pages_left -= 1;
                visited.put(pgno);
            }
        });
        match listed {
            Err(error) if error.is_damage() => {
                self.skip(None, None, format!("the free list: {error}"))?;
                Ok(false)
            }
            listed => listed.map(|_| true),
        }
    }

    /// Shows all whole leaves that no walk reached, the oldest first.
    fn orphans(&mut self, stat: &TableStat, tree: &Tree, visited: &mut Bitmap) -> Result<()> {
        let name = &stat.name;
        let store = self.source.store;
        let none = Bitmap::new(visited.limit())?;
        let mut leaves: Vec<Ptr> = Vec::new();
        for (start, pages) in visited.gaps(&none, first_data_page(store.page_bytes)) {
            for pgno in start..start + pages {
                let offset = u64::from(pgno) * store.page_bytes as u64;
                let Some(page) = store.storage.map().page(offset, store.page_bytes) else { break };
                let ptr = header::ptr(page);
                let ours = ptr.pgno.0 == pgno && ptr.birth <= self.meta.txnid && ptr.birth.0 != 0;
                if !ours || store.seal.verify(page).is_err() {
                    continue;
                }
                match header::kind(page) {
                    Some(Kind::Leaf) => leaves.try_push(ptr)?,
                    Some(Kind::Fixed) => self.skip(Some(pgno), Some(name), KEYLESS.into())?,
                    _ => {}
                }
            }
        }
        if leaves.is_empty() || !self.table(stat)? {
            return Ok(());
        }
        leaves.sort_unstable_by_key(|ptr| (ptr.birth, ptr.pgno));
        for ptr in leaves {
            let page = store.page_verified(ptr, self.source.used)?;
            let leaf =
                admit(page, ptr, Kind::Leaf, 0).and_then(|count| SlottedLeaf::view(page, count));
            match leaf {
                Ok(leaf) if tree.many.is_some() && may_hold_values(leaf) => {
                    self.skip(Some(ptr.pgno.0), Some(name), KEYLESS.into())?;
                }
                Ok(leaf) => drop(self.leaf(name, tree, ptr, leaf, visited)?),
                Err(reason) => self.skip(Some(ptr.pgno.0), Some(name), reason.text().into())?,
            }
        }
        self.table_end()
    }

    /// Shows the records of a leaf that can be read; whether that is all of them.
    fn leaf(
        &mut self,
        name: &[u8],
        tree: &Tree,
        ptr: Ptr,
        leaf: SlottedLeaf<'_>,
        visited: &mut Bitmap,
    ) -> Result<bool> {
        let mut whole = true;
        for (index, cell) in leaf.cells().enumerate() {
            let cell = cell.on(ptr);
            let found = cell.and_then(|cell| {
                if tree.many.is_some() {
                    return self.values(name, tree, (ptr, &cell), visited);
                }
                if let Some(value) = self.value(&cell, visited)? {
                    self.record(cell.key, value)?;
                }
                Ok(true)
            });
            match found {
                Ok(all) => whole &= all,
                Err(error) if !error.is_damage() => return Err(error),
                Err(error) => {
                    whole = false;
                    self.skip(Some(ptr.pgno.0), Some(name), format!("record {index}: {error}"))?;
                }
            }
        }
        Ok(whole)
    }

    /// Shows the values of a key of a multimap; whether that is all of them.
    fn values(
        &mut self,
        name: &[u8],
        tree: &Tree,
        (ptr, cell): (Ptr, &Cell<'_>),
        visited: &mut Bitmap,
    ) -> Result<bool> {
        match KeyValues::of(tree, cell).on(ptr)? {
            KeyValues::Few(set) => {
                let mut items = set.items();
                while let Some(value) = items.next() {
                    self.record(cell.key, value)?;
                }
                Ok(true)
            }
            KeyValues::Tree(values) => {
                let source = self.source();
                let key = Some(cell.key);
                let mut salvage = Salvage { records: self, name, tree, key, visited, lost: false };
                TreeView::unordered(&source, &values).walk(ptr.birth, &mut salvage)?;
                Ok(!salvage.lost)
            }
        }
    }

    /// The value of a cell, verified if it is wanted. `None`: it is a table's record, or a large
    /// value that is not wanted.
    fn value<'c>(&self, cell: &Cell<'c>, visited: &mut Bitmap) -> Result<Option<&'c [u8]>>
    where
        's: 'c,
    {
        match cell.kind {
            PayloadKind::Inline => Ok(Some(cell.payload)),
            PayloadKind::Table => Ok(None),
            PayloadKind::Run => {
                let (store, run) = (self.source.store, read::run_ref(cell)?);
                let end = run.pgno.0.saturating_add(run.pages(store.page_bytes));
                if end > visited.limit() {
                    return Err(Error::corrupt(run.pgno.0, Reason::OutOfRange.text()));
                }
                // Values have their pages for themselves, so none is shown twice.
                if (run.pgno.0..end).any(|pgno| visited.put(pgno)) {
                    return Err(Error::corrupt(run.pgno.0, Reason::Cycle.text()));
                }
                if !self.is_wanted {
                    return Ok(None);
                }
                store.run_verified(&run, self.source.used).map(Some)
            }
            _ => Err(Error::corrupt_file("a plain table holds duplicate values")),
        }
    }
}

/// Whether a leaf may be one of a tree of values: their cells have no payload.
fn may_hold_values(leaf: SlottedLeaf<'_>) -> bool {
    leaf.cells().all(|cell| cell.is_ok_and(|cell| cell.payload.is_empty()))
}

/// Whether a page may be entered, and was not before.
fn may_enter(visited: &mut Bitmap, spot: &Spot<'_>, page_bytes: usize) -> bool {
    let pgno = spot.ptr.pgno.0;
    pgno >= first_data_page(page_bytes) && pgno < visited.limit() && !visited.put(pgno)
}

/// Collects the records of named tables.
struct TableCollector<'c> {
    tables: &'c mut Vec<Found>,
    visited: &'c mut Bitmap,
    lost: bool,
}

impl<'p> Visitor<'p> for TableCollector<'_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        let enters = spot.ptr.pgno.0 < self.visited.limit() && !self.visited.put(spot.ptr.pgno.0);
        self.lost |= !enters;
        Ok(enters)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'p [u8], page: Visit<'p>) -> Result<()> {
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        for cell in leaf.cells().filter_map(|cell| cell.ok()) {
            if cell.kind != PayloadKind::Table || cell.key.is_empty() {
                continue;
            }
            if let Ok(tree) = Tree::decode(cell.payload) {
                let labels = Tree::split(cell.payload).and_then(|(_, names)| Labels::decode(names));
                let labels = labels.unwrap_or_default();
                let stat = TableStat::with(cell.key, &tree, labels)?;
                self.tables.try_push(Found { stat, tree, above: spot.ptr.birth })?;
            }
        }
        Ok(())
    }

    fn trouble(&mut self, _: &Spot<'_>, _: Error) -> Result<()> {
        self.lost = true;
        Ok(())
    }
}

/// Shows what can be read of a table.
struct Salvage<'d, 's, 'v> {
    records: &'d mut Records<'s, 'v>,
    name: &'d [u8],
    tree: &'d Tree,
    /// The tree is that of the values of this key.
    key: Option<&'d [u8]>,
    visited: &'d mut Bitmap,
    lost: bool,
}

impl Salvage<'_, '_, '_> {
    fn skip(&mut self, spot: &Spot<'_>, text: String) -> Result<()> {
        self.lost = true;
        self.records.skip(Some(spot.ptr.pgno.0), Some(self.name), text)
    }
}

impl<'p> Visitor<'p> for Salvage<'_, '_, '_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        let enters = may_enter(self.visited, spot, self.records.source.store.page_bytes);
        if !enters {
            self.skip(spot, "a pointer leads outside the file, or to a page seen before".into())?;
        }
        Ok(enters)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'p [u8], page: Visit<'p>) -> Result<()> {
        if let Some(key) = self.key {
            for value in page.values() {
                match value {
                    Ok(value) => self.records.record(key, value)?,
                    Err(reason) => self.skip(spot, format!("a value: {}", reason.text()))?,
                }
            }
            return Ok(());
        }
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        let whole = self.records.leaf(self.name, self.tree, spot.ptr, leaf, self.visited)?;
        self.lost |= !whole;
        Ok(())
    }

    fn trouble(&mut self, spot: &Spot<'_>, error: Error) -> Result<()> {
        self.skip(spot, format!("left out: {error}"))
    }
}
