//! A walk over all pages of a snapshot: where each is and what it holds.
//!
//! V1. Each page of the file that the snapshot spans is shown once: as one of the metas', as a
//!     tree's, a large value's or the free-space list's, or as free. Where that cannot be, the walk
//!     ends with an error that names the page.
//! V2. Pages with headers are verified before they are shown.

use std::ops::ControlFlow;

use crate::alloc::{TryGrow, copied};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::pinned;
use crate::ops::tables::NamedTable;
use crate::page::{
    Cell, Chunk, HEADER_BYTES, Item, Kind, META_BYTES, META_SLOTS, Meta, PayloadKind, Pgno, Ptr,
    Reason, RunRef, Tree, Txnid, admit, first_data_page,
};
use crate::store::source::{OnPage, damaged};
use crate::store::space::{Backend, Protected};
use crate::store::verified::Verified;
use crate::tree::read;
use crate::tree::values::KeyValues;
use crate::tree::view::TreeView;
use crate::tree::walk::{Spot, Visit, Visitor};

/// What a page is for.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageKind {
    /// The three metas, in as many pages as they take.
    Meta,
    /// A branch of a tree: it leads to pages a level below.
    Branch,
    /// A leaf: it holds records, or values of one key of a multimap.
    Leaf,
    /// A leaf of values of one length, packed without slots.
    FixedLeaf,
    /// A large value, in consecutive pages.
    LargeValue,
    /// A page of the free list.
    FreeList,
    /// Free, in consecutive pages: the next write transaction may use them.
    Free,
    /// Free, in consecutive pages that some older snapshot still sees.
    Retained,
}

/// A page, or consecutive pages that belong together; see [`Env::visit_pages`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageInfo<'t> {
    /// Number of the (first) page: it lies at this number times the page size.
    pub pgno: u32,
    /// How many pages these are. Only metas, large values and free pages can be more than one.
    pub page_count: u32,
    /// The transaction that wrote it; of a free page the one that wrote its old contents, or 0
    /// where that does not matter any more.
    pub birth: u64,
    /// What it is for.
    pub kind: PageKind,
    /// The table it belongs to, the unnamed main table being empty; `None` if it is no table's.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::name_if_any"))]
    pub table: Option<&'t [u8]>,
    /// Whether it belongs to the values of one key of a multimap, which have a tree of their own.
    pub of_values: bool,
    /// Levels between it and the leaves of its tree: 0 for leaves and all that is in no tree.
    pub level: u8,
    /// Records or values of a leaf, children of a branch, items of a part of the free-space list.
    pub count: u32,
    /// Bytes that hold something, headers included.
    pub used_bytes: u64,
    /// The other bytes of the page, or pages.
    pub unused_bytes: u64,
}

/// What is done with each page.
type EachPage<'f> = dyn FnMut(&PageInfo<'_>) -> ControlFlow<()> + 'f;

impl Env {
    /// Shows all pages of the newest visible snapshot, each once, and returns the snapshot's id.
    /// Ends early, without an error, when `each` breaks.
    ///
    /// First the metas, then the free space, then the tables in the order of their names, each from
    /// its root downwards: not in the order of page numbers. The snapshot is pinned meanwhile, and
    /// no writer is blocked.
    ///
    /// Reads every page that has a header; of large values it shows the length, without reading
    /// them. Memory: a bit for each page of the file, and the tables' names.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names the page that is damaged, in two places, or in none. [`Env::check`]
    /// looks closer, goes on after damage, and reads large values.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use huon::{PageKind, Str, TableDef};
    /// const T: TableDef<Str, Str> = TableDef::new("t");
    /// env.update(|txn| txn.create_table(&T)?.put(txn, "key", "value"))?;
    /// let (mut pages, mut leaves) = (0, 0);
    /// env.visit_pages(&mut |page| {
    ///     pages += u64::from(page.page_count);
    ///     leaves += u64::from(page.kind == PageKind::Leaf && page.table == Some(b"t"));
    ///     std::ops::ControlFlow::Continue(())
    /// })?;
    /// let info = env.info()?;
    /// assert_eq!(pages * u64::from(info.page_bytes), info.used_bytes);
    /// assert_eq!(leaves, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_pages(
        &self,
        each: &mut dyn FnMut(&PageInfo<'_>) -> ControlFlow<()>,
    ) -> Result<u64> {
        let (_pin, meta) = pinned::pin(self)?;
        let store = &self.core()?.store;
        let mut pages = PageWalk {
            source: Verified { store, used: meta.used },
            first: first_data_page(store.page_bytes),
            visited: Bitmap::new(meta.used.min(store.measure()?))?,
            protected: store.protected(&self.core()?.named_ids(&meta)?)?,
            each,
            stopped: false,
        };
        pages.metas();
        pages.space(&meta)?;
        pages.tables(&meta)?;
        pages.lost()?;
        Ok(meta.txnid.0)
    }
}

/// A walk under way.
struct PageWalk<'s, 'f> {
    source: Verified<'s>,
    first: u32,
    visited: Bitmap,
    protected: Protected,
    each: &'f mut EachPage<'f>,
    stopped: bool,
}

impl PageWalk<'_, '_> {
    fn page_bytes(&self) -> usize {
        self.source.store.page_bytes
    }

    /// Shows a page, whose unused bytes follow from the used ones.
    fn show(&mut self, page: PageInfo<'_>) {
        if !self.stopped {
            let bytes = u64::from(page.page_count) * self.page_bytes() as u64;
            let unused_bytes = bytes.saturating_sub(page.used_bytes);
            self.stopped = (self.each)(&PageInfo { unused_bytes, ..page }).is_break();
        }
    }

    /// V1: these pages lie in the file and were not visited before.
    fn enter_once(&mut self, ptr: Ptr, page_count: u32) -> Result<()> {
        let end = ptr.pgno.0.checked_add(page_count).filter(|&end| end <= self.visited.limit());
        let Some(end) = end.filter(|_| ptr.pgno.0 >= self.first) else {
            return Err(damaged(ptr, Reason::OutOfRange));
        };
        match (ptr.pgno.0..end).find(|&pgno| self.visited.put(pgno)) {
            None => Ok(()),
            Some(twice) => Err(Error::corrupt(twice, Reason::Cycle.text())),
        }
    }

    fn metas(&mut self) {
        let used_bytes = (META_SLOTS * META_BYTES) as u64;
        let page = PageInfo { page_count: self.first, used_bytes, ..PageInfo::new(Ptr::NONE) };
        self.show(PageInfo { kind: PageKind::Meta, ..page });
    }

    fn space(&mut self, meta: &Meta) -> Result<()> {
        let mut chains = Vec::new();
        meta.items.iter().try_for_each(|item| self.item(item, meta.txnid, &mut chains))?;
        while let Some((ptr, above)) = chains.pop().filter(|_| !self.stopped) {
            self.chunk(ptr, above, &mut chains)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, above: Txnid, chains: &mut Vec<(Ptr, Txnid)>) -> Result<()> {
        if item.is_chain() {
            return Ok(chains.try_push((item.ptr(), above))?);
        }
        // The free end of the file may have been cut off.
        let end = item.pgno.saturating_add(item.page_count()).min(self.visited.limit());
        let page_count = end.saturating_sub(item.pgno);
        if page_count > 0 && !self.stopped {
            let ptr = Ptr { pgno: Pgno(item.pgno), birth: Txnid(item.birth) };
            self.enter_once(ptr, page_count)?;
            let kind = if self.protected.retains(item.birth, item.freed) {
                PageKind::Retained
            } else {
                PageKind::Free
            };
            self.show(PageInfo { kind, page_count, ..PageInfo::new(ptr) });
        }
        Ok(())
    }

    fn chunk(&mut self, ptr: Ptr, above: Txnid, chains: &mut Vec<(Ptr, Txnid)>) -> Result<()> {
        if ptr.birth > above {
            return Err(damaged(ptr, Reason::Header));
        }
        self.enter_once(ptr, 1)?;
        let Verified { store, used } = self.source;
        let page = store.page_verified(ptr, used)?;
        let chunk = admit(page, ptr, Kind::Chunk, 0).and_then(|count| Chunk::view(page, count));
        let chunk = chunk.on(ptr)?;
        let count = chunk.count() as u32;
        let used_bytes = (HEADER_BYTES + chunk.live_bytes()) as u64;
        self.show(PageInfo { kind: PageKind::FreeList, count, used_bytes, ..PageInfo::new(ptr) });
        if !chunk.next().is_none() {
            chains.try_push((chunk.next(), ptr.birth))?;
        }
        for item in chunk.items() {
            let item = item.on(ptr)?;
            self.item(&item, ptr.birth, chains)?;
        }
        Ok(())
    }

    /// The main table, then every named one.
    fn tables(&mut self, meta: &Meta) -> Result<()> {
        let mut records = Vec::new();
        self.table(b"", &meta.main, meta.txnid, Some(&mut records))?;
        for (name, tree, above) in records {
            self.table(&name, &tree, above, None)?;
        }
        Ok(())
    }

    fn table(
        &mut self,
        name: &[u8],
        tree: &Tree,
        above: Txnid,
        records: Option<&mut Vec<NamedTable>>,
    ) -> Result<()> {
        let Verified { store, used } = self.source;
        let source = Verified { store, used };
        let mut table = TablePages { pages: self, name, tree, records, of_values: false };
        TreeView::unordered(&source, tree).walk(above, &mut table)
    }

    /// Pages that are nowhere.
    fn lost(&self) -> Result<()> {
        let none = Bitmap::new(0)?;
        match self.visited.gaps(&none, self.first).next() {
            Some((pgno, _)) if !self.stopped => {
                Err(Error::corrupt(pgno, "the page is neither in use nor listed as free"))
            }
            _ => Ok(()),
        }
    }
}

impl PageInfo<'_> {
    /// One page, of no table and with nothing in it.
    fn new(ptr: Ptr) -> PageInfo<'static> {
        PageInfo {
            pgno: ptr.pgno.0,
            page_count: 1,
            birth: ptr.birth.0,
            kind: PageKind::Free,
            table: None,
            of_values: false,
            level: 0,
            count: 0,
            used_bytes: 0,
            unused_bytes: 0,
        }
    }
}

/// One table under way.
struct TablePages<'w, 's, 'f, 't> {
    pages: &'w mut PageWalk<'s, 'f>,
    name: &'t [u8],
    tree: &'t Tree,
    /// The main table: where the records of named ones go.
    records: Option<&'t mut Vec<NamedTable>>,
    of_values: bool,
}

impl<'p> Visitor<'p> for TablePages<'_, '_, '_, '_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        if self.pages.stopped {
            return Ok(false);
        }
        if spot.ptr.birth > spot.above {
            return Err(damaged(spot.ptr, Reason::Header));
        }
        self.pages.enter_once(spot.ptr, 1).map(|()| true)
    }

    fn visit(&mut self, spot: &Spot<'_>, _: &'p [u8], page: Visit<'p>) -> Result<()> {
        let (kind, count, bytes) = match page {
            Visit::Branch(branch) => (PageKind::Branch, branch.count(), branch.live_bytes()),
            Visit::Leaf(leaf) => (PageKind::Leaf, leaf.count(), leaf.live_bytes()),
            Visit::Fixed(leaf) => (PageKind::FixedLeaf, leaf.count(), leaf.bytes().len()),
        };
        self.pages.show(PageInfo {
            kind,
            count: count as u32,
            table: Some(self.name),
            of_values: self.of_values,
            level: spot.level,
            used_bytes: (HEADER_BYTES + bytes) as u64,
            ..PageInfo::new(spot.ptr)
        });
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        for cell in leaf.cells() {
            if self.pages.stopped {
                break;
            }
            let cell = cell.on(spot.ptr)?;
            self.cell(spot, &cell)?;
        }
        Ok(())
    }

    fn trouble(&mut self, _: &Spot<'_>, error: Error) -> Result<()> {
        Err(error)
    }
}

impl TablePages<'_, '_, '_, '_> {
    /// What a record leads to.
    fn cell(&mut self, spot: &Spot<'_>, cell: &Cell<'_>) -> Result<()> {
        if self.of_values {
            return match cell.kind {
                PayloadKind::Inline => Ok(()),
                _ => Err(damaged(spot.ptr, Reason::CellKind)),
            };
        }
        if self.tree.many.is_some() {
            return match KeyValues::of(self.tree, cell).on(spot.ptr)? {
                KeyValues::Few(_) => Ok(()),
                KeyValues::Tree(values) => self.values(&values, spot.ptr.birth),
            };
        }
        match (cell.kind, &mut self.records) {
            (PayloadKind::Inline, _) => Ok(()),
            (PayloadKind::Run, _) => self.large_value(&read::run_ref(cell)?, spot.ptr.birth),
            (PayloadKind::Table, Some(records)) => {
                let tree = Tree::decode(cell.payload).on(spot.ptr)?;
                Ok(records.try_push((copied(cell.key)?, tree, spot.ptr.birth))?)
            }
            _ => Err(damaged(spot.ptr, Reason::CellKind)),
        }
    }

    /// The tree of the values of a key.
    fn values(&mut self, values: &Tree, above: Txnid) -> Result<()> {
        let Verified { store, used } = self.pages.source;
        let source = Verified { store, used };
        self.of_values = true;
        TreeView::unordered(&source, values).walk(above, self)?;
        self.of_values = false;
        Ok(())
    }

    fn large_value(&mut self, run: &RunRef, above: Txnid) -> Result<()> {
        let ptr = Ptr { pgno: run.pgno, birth: run.birth };
        if ptr.birth > above {
            return Err(damaged(ptr, Reason::Header));
        }
        let page_count = run.pages(self.pages.page_bytes());
        self.pages.enter_once(ptr, page_count)?;
        self.pages.show(PageInfo {
            kind: PageKind::LargeValue,
            page_count,
            table: Some(self.name),
            used_bytes: u64::from(run.bytes),
            ..PageInfo::new(ptr)
        });
        Ok(())
    }
}
