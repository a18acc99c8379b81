//! Rescuing: a dump that goes on where a plain one stops.
//!
//! First every table is walked from its root, and what cannot be read is left out. Below a damaged
//! branch there are leaves that nothing reaches any more. Since every page is either reachable or
//! listed as free, a whole leaf that is neither must be one of them. If only one table lost pages,
//! they are its leaves, and follow as a second section of it. If not, or if the list of free pages
//! is damaged itself, they go to a table of their own, where old versions of a record may be among
//! them, the youngest last. Leaves of a multimap's
//! trees of values have no keys any more: what they hold is only counted.

use super::Dump;
use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::free::free_items;
use crate::ops::pinned::Verified;
use crate::ops::tables::ANY;
use crate::page::{
    Cell, Kind, Leaf, PayloadKind, Ptr, Reason, Tree, Txnid, admit, first_data_page, header,
};
use crate::store::source::damaged;
use crate::tree::read;
use crate::tree::values::Held;
use crate::tree::walk::{Spot, Visit, Visitor, walk};

/// Where leaves go that cannot be told to a table.
const LOST: &[u8] = b"huon_rescued";

/// What is said of values that have lost their key.
const KEYLESS: &str = "values of a multimap, whose key is lost";

/// A named table: its name, its record, and the birth of the leaf that holds the record.
type Record = (Vec<u8>, Tree, Txnid);

impl<'s> Dump<'s, '_, '_> {
    /// Every wanted table, as much of it as can be read.
    pub(super) fn rescue(&mut self, wanted: Option<&[u8]>) -> Result<()> {
        let limit = self.meta.used.min(self.source.store.measure()?);
        let mut met = Bitmap::new(limit)?;
        let (main, top) = (self.meta.main, self.meta.txnid);
        let mut records: Vec<Record> = Vec::new();
        let mut damaged: Vec<(Vec<u8>, Tree)> = Vec::new();
        let main_lost = self.catalog(&mut records)?;
        let own = main.entries > records.len() as u64 || records.is_empty() || main_lost;
        let all = [(Vec::new(), main, top)].into_iter().chain(records);
        for (name, tree, above) in all {
            let shown = wanted.map_or(own || !name.is_empty(), |wanted| *wanted == name);
            let lost = self.walk(&name, &tree, above, &mut met, shown)?;
            if lost {
                damaged.try_push((name, tree))?;
            }
        }
        if damaged.is_empty() {
            return Ok(());
        }
        let listed = self.list_free(&mut met)?;
        match &damaged[..] {
            [(name, tree)] if listed && !name.is_empty() => {
                let shown = wanted.is_none_or(|wanted| wanted == name);
                if shown { self.orphans(name, tree, &mut met) } else { Ok(()) }
            }
            _ if wanted.is_none() => self.orphans(LOST, &Tree::default(), &mut met),
            _ => Ok(()),
        }
    }

    /// Reads the records of named tables; whether anything of the main table is lost.
    fn catalog(&mut self, records: &mut Vec<Record>) -> Result<bool> {
        let main = self.meta.main;
        let mut met = Bitmap::new(self.source.used.min(self.source.store.measure()?))?;
        let mut catalog = Catalog { records, met: &mut met, lost: false };
        let source = Verified { store: self.source.store, used: self.source.used };
        walk(&source, &main, self.meta.txnid, ANY, &mut catalog)?;
        Ok(catalog.lost)
    }

    /// Walks a table, and writes it if it is to be `shown`; whether anything is lost.
    fn walk(
        &mut self,
        name: &[u8],
        tree: &Tree,
        above: Txnid,
        met: &mut Bitmap,
        shown: bool,
    ) -> Result<bool> {
        if shown {
            self.header(name, tree)?;
        }
        let source = Verified { store: self.source.store, used: self.source.used };
        let mut salvage = Salvage { dump: self, name, tree, key: None, met, shown, lost: false };
        walk(&source, tree, above, ANY, &mut salvage)?;
        let lost = salvage.lost;
        if shown {
            self.text.header("DATA=END")?;
        }
        Ok(lost)
    }

    /// Adds all free pages to `met`; whether all are known.
    fn list_free(&mut self, met: &mut Bitmap) -> Result<bool> {
        let mut pages_left = u64::from(met.limit()) * 2;
        let listed = free_items(self.source.store, self.meta, |item| {
            let end = item.pgno.saturating_add(item.page_count()).min(met.limit());
            for pgno in item.pgno..end {
                if pages_left == 0 {
                    break;
                }
                pages_left -= 1;
                met.put(pgno);
            }
        });
        match listed {
            Err(error) if error.is_damage() => {
                self.report.skip(None, LOST, || format!("the list of free pages: {error}"));
                Ok(false)
            }
            listed => listed.map(|_| true),
        }
    }

    /// Writes all whole leaves that were not met, the oldest first.
    fn orphans(&mut self, name: &[u8], tree: &Tree, met: &mut Bitmap) -> Result<()> {
        let store = self.source.store;
        let none = Bitmap::new(met.limit())?;
        let mut leaves: Vec<Ptr> = Vec::new();
        for (start, pages) in met.gaps(&none, first_data_page(store.page_bytes)) {
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
                    Some(Kind::Fixed) => self.report.skip(Some(pgno), name, || KEYLESS.into()),
                    _ => {}
                }
            }
        }
        if leaves.is_empty() {
            return Ok(());
        }
        leaves.sort_unstable_by_key(|ptr| (ptr.birth, ptr.pgno));
        self.header(name, tree)?;
        for ptr in leaves {
            let page = store.page_verified(ptr, self.source.used)?;
            let leaf = admit(page, ptr, Kind::Leaf, 0).and_then(|count| Leaf::view(page, count));
            match leaf {
                Ok(leaf) if tree.many.is_some() && may_hold_values(leaf) => {
                    self.report.skip(Some(ptr.pgno.0), name, || KEYLESS.into());
                }
                Ok(leaf) => drop(self.leaf(name, tree, ptr, leaf, met, true)?),
                Err(reason) => {
                    self.report.skip(Some(ptr.pgno.0), name, || reason.text().to_string());
                }
            }
        }
        self.text.header("DATA=END")
    }

    /// Writes the records of a leaf that can be read, if they are to be `shown`; whether that is
    /// all
    /// of them.
    fn leaf(
        &mut self,
        name: &[u8],
        tree: &Tree,
        ptr: Ptr,
        leaf: Leaf<'_>,
        met: &mut Bitmap,
        shown: bool,
    ) -> Result<bool> {
        let mut whole = true;
        for (index, cell) in leaf.cells().enumerate() {
            let cell = cell.map_err(|reason| damaged(ptr, reason));
            let found = cell.and_then(|cell| match tree.many {
                Some(_) => self.values(name, tree, (ptr, &cell), met, shown),
                None => {
                    if let Some(value) = self.value(&cell, met, shown)?.filter(|_| shown) {
                        self.record(cell.key, value)?;
                    }
                    Ok(true)
                }
            });
            match found {
                Ok(all) => whole &= all,
                Err(error) if !error.is_damage() => return Err(error),
                Err(error) => {
                    whole = false;
                    let text = || format!("record {index}: {error}");
                    self.report.skip(Some(ptr.pgno.0), name, text);
                }
            }
        }
        Ok(whole)
    }

    /// Writes the values of a key of a multimap; whether that is all of them.
    fn values(
        &mut self,
        name: &[u8],
        tree: &Tree,
        (ptr, cell): (Ptr, &Cell<'_>),
        met: &mut Bitmap,
        shown: bool,
    ) -> Result<bool> {
        match Held::of(tree, cell).map_err(|reason| damaged(ptr, reason))? {
            Held::Few(set) => {
                let mut items = set.items();
                while let Some(value) = items.next().filter(|_| shown) {
                    self.record(cell.key, value)?;
                }
                Ok(true)
            }
            Held::Tree(values) => {
                let source = Verified { store: self.source.store, used: self.source.used };
                let key = Some(cell.key);
                let mut salvage = Salvage { dump: self, name, tree, key, met, shown, lost: false };
                walk(&source, &values, ptr.birth, ANY, &mut salvage)?;
                Ok(!salvage.lost)
            }
        }
    }

    /// The value of a cell, verified if it is to be `shown`. `None`: it is a table's record.
    fn value<'c>(&self, cell: &Cell<'c>, met: &mut Bitmap, shown: bool) -> Result<Option<&'c [u8]>>
    where
        's: 'c,
    {
        match cell.kind {
            PayloadKind::Inline => Ok(Some(cell.payload)),
            PayloadKind::Table => Ok(None),
            PayloadKind::Run => {
                let (store, run) = (self.source.store, read::run_ref(cell)?);
                let end = run.pgno.0.saturating_add(run.pages(store.page_bytes));
                if end > met.limit() {
                    return Err(Error::corrupt(run.pgno.0, Reason::OutOfRange.text()));
                }
                // Values have their pages for themselves, so none is written twice.
                if (run.pgno.0..end).any(|pgno| met.put(pgno)) {
                    return Err(Error::corrupt(run.pgno.0, Reason::Cycle.text()));
                }
                if shown { store.run_verified(&run, self.source.used).map(Some) } else { Ok(None) }
            }
            _ => Err(Error::corrupt_file("a plain table holds duplicate values")),
        }
    }
}

/// Whether a leaf may be one of a tree of values: their cells have no payload.
fn may_hold_values(leaf: Leaf<'_>) -> bool {
    leaf.cells().all(|cell| cell.is_ok_and(|cell| cell.payload.is_empty()))
}

/// Whether a page may be entered, and was not before.
fn may_enter(met: &mut Bitmap, spot: &Spot<'_>, page_bytes: usize) -> bool {
    let pgno = spot.ptr.pgno.0;
    pgno >= first_data_page(page_bytes) && pgno < met.limit() && !met.put(pgno)
}

/// Collects the records of named tables.
struct Catalog<'c> {
    records: &'c mut Vec<Record>,
    met: &'c mut Bitmap,
    lost: bool,
}

impl<'p> Visitor<'p> for Catalog<'_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        let enters = spot.ptr.pgno.0 < self.met.limit() && !self.met.put(spot.ptr.pgno.0);
        self.lost |= !enters;
        Ok(enters)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'p [u8], page: Visit<'p>) -> Result<()> {
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        for cell in leaf.cells().filter_map(|cell| cell.ok()) {
            match Tree::decode(cell.payload) {
                Ok(tree) if cell.kind == PayloadKind::Table && !cell.key.is_empty() => {
                    self.records.try_push((copied(cell.key)?, tree, spot.ptr.birth))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn trouble(&mut self, _: &Spot<'_>, _: Error) -> Result<()> {
        self.lost = true;
        Ok(())
    }
}

/// Writes what can be read of a table.
struct Salvage<'d, 's, 'o, 'a> {
    dump: &'d mut Dump<'s, 'o, 'a>,
    name: &'d [u8],
    tree: &'d Tree,
    /// The tree is that of the values of this key.
    key: Option<&'d [u8]>,
    met: &'d mut Bitmap,
    shown: bool,
    lost: bool,
}

impl Salvage<'_, '_, '_, '_> {
    fn skip(&mut self, spot: &Spot<'_>, text: String) {
        self.lost = true;
        if self.shown {
            self.dump.report.skip(Some(spot.ptr.pgno.0), self.name, || text);
        }
    }
}

impl<'p> Visitor<'p> for Salvage<'_, '_, '_, '_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        let enters = may_enter(self.met, spot, self.dump.source.store.page_bytes);
        if !enters {
            self.skip(spot, "a pointer leads outside the file, or to a page met before".into());
        }
        Ok(enters)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'p [u8], page: Visit<'p>) -> Result<()> {
        if let Some(key) = self.key {
            for value in page.values() {
                match value {
                    Ok(value) if self.shown => self.dump.record(key, value)?,
                    Ok(_) => {}
                    Err(reason) => self.skip(spot, format!("a value: {}", reason.text())),
                }
            }
            return Ok(());
        }
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        let (name, tree) = (self.name, self.tree);
        let whole = self.dump.leaf(name, tree, spot.ptr, leaf, self.met, self.shown)?;
        self.lost |= !whole;
        Ok(())
    }

    fn trouble(&mut self, spot: &Spot<'_>, error: Error) -> Result<()> {
        self.skip(spot, format!("left out: {error}"));
        Ok(())
    }
}
