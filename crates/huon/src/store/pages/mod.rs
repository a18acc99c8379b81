//! The writer's pages: touch, edit, free, spill, and levels.
//!
//! One rule: a page may be edited only if the current level allocated it and still buffers it.
//! Otherwise [`Pages::touch`] copies it to a fresh number and frees the old one. Copy-on-write,
//! spilling, nested transactions and savepoints all follow from it.
//!
//! A transaction may have several ids: it begins under *F*, goes on under its current one, *T*, and
//! its snapshot bears the last. (`space/own.rs` says what for.)
//!
//! W1. A buffered page was allocated by the level it is marked with, under the current id, and was
//!     never written with a checksum that is right. (The buffer may be the page of the file itself:
//!     half-edited it is what no snapshot names, and its number may serve again.)
//! W2. A page that was written is never edited again: a later touch copies it. Nor is a large
//!     value, written or buffered (`values`).
//! W3. A level's abort leaves exactly the pages and free space that were there when it began, but
//!     for numbers that were written in between, which serve again under a later id (P8, I7).
//! W4. Before the first page is written under an id, the id is raised in the lock file (P7, I2);
//!     where pages are edited in the file, before the first is allocated.
//! W5. Before pages are written the writer lock is seen to be this client's still (P5): its
//!     successor takes the same free pages. They are edited in the file only where a writer that
//!     lives has no successor (`Shared::lasts`).

mod levels;
mod outgoing;
mod values;

use std::sync::Arc;

use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::os::Disk;
use crate::page::{self, Item, Pgno, Ptr, Reason, RunRef, Txnid};
use crate::planted::{self, Bug};
use crate::store::by_pgno::ByPgno;
use crate::store::source::{PageSource, damaged};
use crate::store::space::{Space, SpaceCounts, Stay};
use crate::store::{Buffer, Store};
use levels::{Gone, Level};
use values::Values;

/// A page that was last written fewer transactions ago will soon be written again, if the workload
/// goes on as it did. Counted in ids, of which a transaction before may have had several.
const SHORT_LIFE: u64 = 32;

/// A page, or the pages of a large value, that the transaction has not written yet.
struct Dirty {
    buffer: Buffer,
    level: usize,
    what: Body,
}

/// What is in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// One page of a tree or of the free list: it carries a header.
    Node,
    /// A large value.
    Value,
}

/// Of what a transaction has needed room for, the next one is left no more than so many places.
const ROOM_KEPT: usize = 256;

/// All pages of one write transaction, and then those of the next.
pub(crate) struct Pages {
    store: Arc<Store>,
    /// The id that the transaction began with.
    first: Txnid,
    /// The id that it has now.
    txnid: Txnid,
    /// The last id that is raised in the lock file.
    issued: u64,
    /// Pages born under this id or later will soon be written again.
    young_from: Txnid,
    dirty: ByPgno<Dirty>,
    values: Values,
    /// Level 0 is the transaction itself.
    levels: Vec<Level>,
    space: Space,
    /// Buffered pages above which [`Pages::spill`] writes them out.
    spill_pages: usize,
    /// Pages of which no other change is expected; some may not be buffered any more.
    finished: Vec<u32>,
    /// Room for pages on their way out.
    out: Vec<(u32, Dirty)>,
    /// What was done so far, but for the free space. Trees count what they do themselves.
    pub(crate) counts: PagesCounts,
    /// A write failed, and the buffers with it; or there was no memory to note what was done.
    lost: bool,
    shape: u64,
    place: EditPlace,
    /// W4 is done for the current id.
    raised: bool,
    /// Something was written under the current id.
    wrote: bool,
    /// The caller was promised that the id stays.
    fixed: bool,
}

/// The id of a transaction that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextId {
    pub(crate) txnid: Txnid,
    /// The last one that was raised in the lock file before it.
    pub(crate) issued: u64,
}

/// Where a transaction edits its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditPlace {
    /// In memory of its own, written when it commits: the best way to a flush that comes soon.
    Memory,
    /// In the file, through a view of it, where that is possible and the page was in memory before:
    /// saves a copy where no flush follows.
    File,
}

/// The counters of a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PagesCounts {
    pub(crate) written_bytes: u64,
    pub(crate) spills: u64,
    pub(crate) rises: u64,
    pub(crate) leaf_splits: u64,
    pub(crate) branch_splits: u64,
    pub(crate) leaf_merges: u64,
    pub(crate) branch_merges: u64,
    pub(crate) roots_raised: u64,
    pub(crate) roots_lowered: u64,
    pub(crate) space: SpaceCounts,
}

impl PageSource for Pages {
    #[inline]
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
        if ptr.birth == self.txnid
            && let Some(dirty) = self.dirty.get(&ptr.pgno.0)
        {
            return Ok(&dirty.buffer);
        }
        self.store.page(ptr, self.space.used())
    }

    #[inline]
    fn glance(&self, ptr: Ptr) -> Option<&[u8]> {
        if ptr.birth == self.txnid
            && let Some(dirty) = self.dirty.get(&ptr.pgno.0)
        {
            return Some(&dirty.buffer);
        }
        self.store.glance(ptr, self.space.used())
    }

    #[inline]
    fn prefetch(&self, ptr: Ptr) {
        self.store.prefetch(ptr);
    }

    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        match self.buffered_value(run) {
            Some(bytes) => Ok(bytes),
            None => self.store.run(run, self.space.used()),
        }
    }

    #[inline]
    fn check_alive(&self) -> Result<()> {
        if self.store.slots.inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    fn pages_max(&self) -> u32 {
        self.store.pages_max(self.space.used())
    }

    fn bytes_max(&self) -> u64 {
        u64::from(self.pages_max()) * self.store.page_bytes as u64
    }

    #[inline(always)]
    fn disk(&self) -> Option<Disk<'_>> {
        self.store.disk()
    }
}

impl Pages {
    /// Those of a client that starts from a snapshot of `used` pages, with this list of free space.
    pub(crate) fn new(store: Arc<Store>, used: u32, items: Vec<Item>) -> Pages {
        let first = page::first_data_page(store.page_bytes);
        Pages {
            store,
            first: Txnid::default(),
            txnid: Txnid::default(),
            issued: 0,
            young_from: Txnid::default(),
            dirty: ByPgno::default(),
            values: Values::default(),
            levels: vec![Level::new(Txnid::default(), 0)],
            space: Space::new(first, used, items),
            spill_pages: 0,
            finished: Vec::new(),
            out: Vec::new(),
            counts: PagesCounts::default(),
            lost: false,
            shape: 1,
            place: EditPlace::Memory,
            raised: false,
            wrote: false,
            fixed: false,
        }
    }

    /// A transaction starts from the snapshot that these were made for, or that was sealed with
    /// them.
    pub(crate) fn begin(&mut self, id: NextId, place: EditPlace) {
        debug_assert!(self.nothing_buffered() && !self.lost, "what is kept was sealed");
        let lasts = self.store.board.shared().lasts();
        // What the transaction before took of ids makes no page older.
        let taken = self.txnid.0 - self.first.0;
        let txnid = id.txnid;
        (self.first, self.txnid, self.issued) = (txnid, txnid, id.issued);
        self.young_from = Txnid(txnid.0.saturating_sub(SHORT_LIFE - 1 + taken));
        if self.dirty.capacity() > ROOM_KEPT {
            self.dirty = ByPgno::default();
        }
        self.values = Values::default();
        self.levels[0] = Level::new(txnid, 0);
        self.space.begin(txnid);
        self.spill_pages = self.store.spill_pages();
        self.finished.clear();
        self.counts = PagesCounts::default();
        self.shape = 1;
        self.place = if lasts { place } else { EditPlace::Memory };
        (self.raised, self.wrote, self.fixed) = (false, false, false);
    }

    /// The id that the transaction began with.
    pub(crate) fn first(&self) -> Txnid {
        self.first
    }

    /// The id that the transaction has now; a rise may give it another one.
    pub(crate) fn txnid(&self) -> Txnid {
        self.txnid
    }

    /// I12: the id rises no more.
    pub(crate) fn fix_id(&mut self) -> Txnid {
        self.fixed = true;
        self.txnid
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.store.page_bytes
    }

    pub(crate) fn counts(&self) -> PagesCounts {
        PagesCounts { space: self.space.counts, ..self.counts }
    }

    /// Changes whenever a page comes, goes, or is not editable any more. As long as it stays, pages
    /// that could be edited still can, and all trees have the branches that they had.
    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    /// Deletes may use the last pages of a full file, since they give back more.
    pub(crate) fn set_frugal(&mut self, frugal: bool) {
        self.space.frugal = frugal;
    }

    /// Whether something is gone that no level's abort brings back: the transaction can only be
    /// dropped.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost || self.space.lost
    }

    /// Whether the transaction has changed nothing yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.nothing_buffered() && self.counts.written_bytes == 0 && self.space.mark() == 0
    }

    fn nothing_buffered(&self) -> bool {
        self.dirty.is_empty() && self.values.is_empty()
    }

    /// Whether another transaction can begin with them: nothing was changed, nor looked for.
    pub(crate) fn are_as_they_began(&self) -> bool {
        self.is_untouched() && self.levels.len() == 1 && !self.lost && self.space.is_untouched()
    }

    fn level(&self) -> usize {
        self.levels.len() - 1
    }

    /// A fresh page of this level, with stale contents: the caller initialises it (`header::init`).
    pub(crate) fn allocate(&mut self) -> Result<Ptr> {
        let (ptr, mut buffer) = self.fresh(Stay::Short)?;
        if cfg!(debug_assertions) {
            buffer.fill(0xA5);
        }
        self.dirty.insert(ptr.pgno.0, Dirty { buffer, level: self.level(), what: Body::Node });
        Ok(ptr)
    }

    /// A fresh number, a buffer, and room to note them.
    fn fresh(&mut self, stay: Stay) -> Result<(Ptr, Buffer)> {
        self.shape += 1;
        self.dirty.try_reserve(1)?;
        if self.place == EditPlace::File {
            self.raise_id()?;
        }
        let pgno = self.space.take(&*self.store, stay)?;
        self.check_unbuffered(pgno, 1)?;
        let view = match self.place {
            EditPlace::Memory => None,
            EditPlace::File => self.store.view(pgno.0),
        };
        let buffer = view.map_or_else(|| self.store.buffer(), Ok);
        let buffer = buffer.inspect_err(|_| self.space.give_back(pgno, 1))?;
        Ok((Ptr { pgno, birth: self.txnid }, buffer))
    }

    /// Makes the page editable by this level; the answer is where it lives now. Costs a look into a
    /// map if it is already, else a copy of the page, a free number, and an item of free space.
    pub(crate) fn touch(&mut self, ptr: Ptr) -> Result<Ptr> {
        let stay = if ptr.birth >= self.young_from { Stay::Short } else { Stay::Long };
        self.touch_to(ptr, stay)
    }

    /// The same; if it is copied, then to the first free place, as long as that lies before `line`.
    pub(crate) fn touch_below(&mut self, ptr: Ptr, line: u32) -> Result<Ptr> {
        self.touch_to(ptr, Stay::Before(line))
    }

    /// Whether so many pages are free before `line`; looks for them within bounds.
    pub(crate) fn has_room_below(&mut self, pages: u32, line: u32) -> Result<bool> {
        self.space.has_below(&*self.store, pages, line)
    }

    fn touch_to(&mut self, ptr: Ptr, stay: Stay) -> Result<Ptr> {
        if self.is_editable(ptr) {
            return Ok(ptr);
        }
        // All of it is copied once there is a place for it.
        self.store.ahead(ptr).ask_all();
        let (fresh, mut buffer) = self.fresh(stay)?;
        let copied = self.bytes(ptr).map(|page| buffer.copy_from_slice(page));
        if let Err(error) = copied {
            self.space.give_back(fresh.pgno, 1);
            return Err(error);
        }
        page::header::set_ptr(&mut buffer, fresh);
        if let Err(error) = self.free(ptr) {
            self.space.give_back(fresh.pgno, 1);
            return Err(error);
        }
        self.dirty.insert(fresh.pgno.0, Dirty { buffer, level: self.level(), what: Body::Node });
        Ok(fresh)
    }

    /// Whether the page is this level's own already.
    pub(crate) fn is_editable(&self, ptr: Ptr) -> bool {
        ptr.birth == self.txnid
            && self.dirty.get(&ptr.pgno.0).is_some_and(|dirty| dirty.level == self.level())
    }

    /// The bytes of a page that [`Pages::touch`] or [`Pages::allocate`] made editable.
    pub(crate) fn edit(&mut self, ptr: Ptr) -> &mut [u8] {
        debug_assert!(self.is_editable(ptr), "W1: edited without touch");
        &mut self.dirty.get_mut(&ptr.pgno.0).expect("W1: edited without touch").buffer
    }

    /// I11: whether the bytes lie on a page that this transaction has written, or will: its next
    /// change may write something else there. Costs a look at each buffered page.
    pub(crate) fn may_change_at(&self, bytes: &[u8]) -> bool {
        let at = bytes.as_ptr();
        let holds = |dirty: &Dirty| dirty.buffer.as_ptr_range().contains(&at);
        let in_file = self.store.storage.map().offset_of(bytes);
        let pgno = in_file.map(|offset| (offset / self.page_bytes() as u64) as u32);
        pgno.is_some_and(|pgno| {
            self.space.was_written(Pgno(pgno)) && !planted::is(Bug::WrittenForgotten)
        }) || self.dirty.values().chain(self.values.all()).any(holds)
    }

    /// Two editable pages at once, for splits and merges.
    pub(crate) fn edit_two(&mut self, a: Ptr, b: Ptr) -> (&mut [u8], &mut [u8]) {
        debug_assert!(self.is_editable(a) && self.is_editable(b), "W1: edited without touch");
        let [a, b] = self.dirty.get_disjoint_mut([&a.pgno.0, &b.pgno.0]);
        let (a, b) = (a.expect("W1: edited without touch"), b.expect("W1: edited without touch"));
        (&mut a.buffer, &mut b.buffer)
    }

    /// An editable page together with the bytes of another, for merging into it.
    pub(crate) fn edit_beside(&mut self, edited: Ptr, other: Ptr) -> Result<(&mut [u8], Buffer)> {
        let mut copy = self.store.buffer()?;
        copy.copy_from_slice(self.bytes(other)?);
        Ok((self.edit(edited), copy))
    }

    /// Returns a buffer that [`Pages::edit_beside`] lent.
    pub(crate) fn recycle(&self, buffer: Buffer) {
        self.store.recycle(buffer);
    }

    /// Whether the pages may have been part of the tree at all: a damaged pointer names others.
    fn check_freed(&self, ptr: Ptr, pages: u32) -> Result<()> {
        let end = u64::from(ptr.pgno.0) + u64::from(pages);
        let first = page::first_data_page(self.page_bytes());
        if ptr.pgno.0 < first || end > u64::from(self.space.used()) {
            return Err(damaged(ptr, Reason::OutOfRange));
        }
        if ptr.birth > self.txnid {
            return Err(damaged(ptr, Reason::Header));
        }
        Ok(())
    }

    /// The page has left the tree.
    pub(crate) fn free(&mut self, ptr: Ptr) -> Result<()> {
        self.check_freed(ptr, 1)?;
        self.shape += 1;
        self.drop_pages(Gone { first: ptr, pages: 1, what: Body::Node })
    }

    /// The large value has left the tree.
    pub(crate) fn free_run(&mut self, run: &RunRef) -> Result<()> {
        let (first, pages) = (run.ptr(), run.pages(self.page_bytes()));
        self.check_freed(first, pages)?;
        self.drop_pages(Gone { first, pages, what: Body::Value })
    }

    fn drop_pages(&mut self, gone: Gone) -> Result<()> {
        let current = self.level();
        match self.buffered_by(gone) {
            Some(level) if level == current => self.drop_buffer(gone),
            Some(_) => self.levels[current].shadowed.try_push(gone)?,
            None => self.drop_written(gone)?,
        }
        Ok(())
    }

    /// The level that buffers the pages, if any does.
    fn buffered_by(&self, gone: Gone) -> Option<usize> {
        let pgno = gone.first.pgno.0;
        match gone.what {
            _ if gone.first.birth != self.txnid => None,
            Body::Node => self.dirty.get(&pgno).map(|dirty| dirty.level),
            Body::Value => self.values.get(pgno).map(|dirty| dirty.level),
        }
    }

    /// W1: never written, so the numbers are free at once.
    fn drop_buffer(&mut self, gone: Gone) {
        let pgno = gone.first.pgno;
        let dirty = self.take_buffered(pgno.0).expect("W1: only buffered pages are dropped");
        self.store.recycle(dirty.buffer);
        self.space.give_back(pgno, gone.pages);
    }

    /// Takes the page of this number out of the buffer.
    fn take_buffered(&mut self, pgno: u32) -> Option<Dirty> {
        self.dirty.remove(&pgno).or_else(|| self.values.remove(pgno, self.page_bytes()))
    }

    /// F1: only a free-space list that names a page twice leads to one that is buffered.
    fn check_unbuffered(&self, pgno: Pgno, pages: u32) -> Result<()> {
        let twice = (pgno.0..pgno.0.saturating_add(pages))
            .find(|pgno| self.dirty.contains_key(pgno) || self.values.meets(Pgno(*pgno)));
        match twice {
            Some(pgno) => Err(Error::corrupt(pgno, Reason::Space.text())),
            None => Ok(()),
        }
    }

    /// Makes the transaction use no page behind `max_pages`; whether that was possible.
    pub(crate) fn cut_to(&mut self, max_pages: u32) -> Result<bool> {
        self.shape += 1;
        self.space.cut_to(&*self.store, max_pages)
    }

    /// How many pages may be buffered.
    pub(crate) fn spill_limit(&self) -> usize {
        self.spill_pages
    }

    /// How many pages are buffered.
    pub(crate) fn dirty_count(&self) -> usize {
        self.dirty.len() + self.values.pages()
    }

    /// How many pages have left the trees, but for those that were only buffered.
    pub(crate) fn retired_pages(&self) -> u64 {
        self.space.retired_pages()
    }

    /// First page number past the part of the file that the transaction uses.
    pub(crate) fn used(&self) -> u32 {
        self.space.used()
    }

    /// Fills in the free space that the snapshot records which was sealed just now.
    pub(crate) fn record_space(&self, into: &mut Vec<Item>) -> Result<()> {
        Ok(self.space.record(into)?)
    }
}
