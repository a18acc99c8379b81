//! The writer's pages: touch, edit, free, spill, and levels.
//!
//! What is buffered, by which level, is in [`Buffers`]; the ids and the way out are [`Outgoing`];
//! numbers come from the free space, [`Space`]. `Pages` has the steps that need several of them.
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

mod buffers;
mod levels;
mod outgoing;
mod values;

use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::os::{Disk, prefetch_page};
use crate::page::{self, Item, Pgno, Ptr, Reason, RunRef, Txnid};
use crate::planted::{self, Bug};
use crate::store::source::{PageSource, damaged};
use crate::store::space::{Space, SpaceCounts, Stay};
use crate::store::{Buffer, Store};
use buffers::Buffers;
use levels::Gone;
use outgoing::Outgoing;

/// A page that was last written fewer transactions ago will soon be written again, if the workload
/// goes on as it did. Counted in ids, of which a transaction before may have had several.
const SHORT_LIFE: u64 = 32;

/// A page, or the pages of a large value, that the transaction has not written yet.
struct Dirty {
    buffer: Buffer,
    level: usize,
    what: Body,
    /// The page of the base that it was copied from, or none.
    from: Ptr,
}

impl Dirty {
    fn pages(&self, page_bytes: usize) -> u32 {
        (self.buffer.len() / page_bytes) as u32
    }
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
    buffers: Buffers,
    outgoing: Outgoing,
    space: Space,
    /// Pages born under this id or later will soon be written again.
    young_from: Txnid,
    /// What was done so far, but for the free space. Trees count what they do themselves.
    pub(crate) counts: PagesCounts,
    /// A write failed, and the buffers with it; or there was no memory to note what was done.
    lost: bool,
    shape: u64,
    place: EditPlace,
    /// How often a page of a tree was looked for.
    #[cfg(test)]
    looks: AtomicU64,
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
    /// saves a copy and a call, and may cost a flush more (`Core::place_to_edit`).
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
        self.count_look();
        match self.buffered(ptr, Body::Node) {
            Some(dirty) => Ok(&dirty.buffer),
            None => self.store.page(ptr, self.space.used()),
        }
    }

    #[inline]
    fn fast_bytes(&self, ptr: Ptr) -> Option<&[u8]> {
        self.count_look();
        match self.buffered(ptr, Body::Node) {
            Some(dirty) => Some(&dirty.buffer),
            None => self.store.fast_page(ptr, self.space.used()),
        }
    }

    #[inline]
    fn prefetch(&self, ptr: Ptr) {
        match self.buffered(ptr, Body::Node) {
            Some(dirty) => prefetch_page(&dirty.buffer),
            None => self.store.prefetch(ptr),
        }
    }

    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        let buffered = self.buffered(run.ptr(), Body::Value);
        match buffered.and_then(|dirty| dirty.buffer.get(..run.bytes as usize)) {
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
            buffers: Buffers::new(store.page_bytes),
            store,
            outgoing: Outgoing::default(),
            space: Space::new(first, used, items),
            young_from: Txnid::default(),
            counts: PagesCounts::default(),
            lost: false,
            shape: 1,
            place: EditPlace::Memory,
            #[cfg(test)]
            looks: AtomicU64::new(0),
        }
    }

    /// A transaction starts from the snapshot that these were made for, or that was sealed with
    /// them.
    pub(crate) fn begin(&mut self, id: NextId, place: EditPlace, named: Vec<u64>) {
        debug_assert!(!self.lost, "what is kept was sealed");
        // What the transaction before took of ids makes no page older.
        let taken = self.txnid().0 - self.first().0;
        self.young_from = Txnid(id.txnid.0.saturating_sub(SHORT_LIFE - 1 + taken));
        self.buffers.begin(id.txnid);
        self.outgoing.begin(id, self.store.spill_pages());
        self.space.begin(id.txnid, named);
        self.counts = PagesCounts::default();
        // Never one that another transaction had: what is kept from it leads nowhere.
        self.shape += 1;
        let lasts = self.store.board.shared().lasts();
        self.place = if lasts { place } else { EditPlace::Memory };
    }

    /// As [`Space::retain`].
    pub(crate) fn retain(&mut self, named: u64) -> Result<()> {
        Ok(self.space.retain(named)?)
    }

    /// The id that the transaction began with.
    pub(crate) fn first(&self) -> Txnid {
        self.outgoing.first()
    }

    /// The id that the transaction has now; a rise may give it another one.
    #[inline(always)]
    pub(crate) fn txnid(&self) -> Txnid {
        self.outgoing.txnid()
    }

    /// I12: the id rises no more.
    pub(crate) fn fix_id(&mut self) -> Txnid {
        self.outgoing.fix_id()
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
        self.buffers.is_empty() && self.counts.written_bytes == 0 && self.space.mark() == 0
    }

    /// Whether another transaction can begin with them: nothing was changed, nor looked for.
    pub(crate) fn are_as_they_began(&self) -> bool {
        self.is_untouched() && self.buffers.level() == 0 && !self.lost && self.space.is_untouched()
    }

    /// What is buffered of this birth: I4, nothing else than under the current id.
    #[inline(always)]
    fn buffered(&self, first: Ptr, what: Body) -> Option<&Dirty> {
        if first.birth == self.txnid() { self.buffers.get(first.pgno, what) } else { None }
    }

    /// A fresh page of this level, with stale contents: the caller initialises it (`header::init`).
    ///
    /// Always in memory of its own. A page that is written whole need not be in memory before; seen
    /// through a view, one that the system has evicted would be read to be overwritten.
    pub(crate) fn allocate(&mut self) -> Result<Ptr> {
        let (ptr, mut buffer) = self.fresh(Stay::Short, EditPlace::Memory)?;
        if cfg!(debug_assertions) {
            buffer.fill(0xA5);
        }
        self.buffers.insert(ptr.pgno, buffer, Ptr::NONE);
        Ok(ptr)
    }

    /// A fresh number, a buffer, and room to note them.
    fn fresh(&mut self, stay: Stay, place: EditPlace) -> Result<(Ptr, Buffer)> {
        self.shape += 1;
        self.buffers.reserve(1)?;
        if place == EditPlace::File {
            self.raise_id()?;
        }
        let pgno = self.space.take(&*self.store, stay)?;
        self.buffers.check_free(pgno, 1)?;
        let view = match place {
            EditPlace::Memory => None,
            EditPlace::File => self.store.view(pgno.0),
        };
        let buffer = view.map_or_else(|| self.store.buffer(), Ok);
        let buffer = buffer.inspect_err(|_| self.space.give_back(pgno, 1))?;
        Ok((Ptr { pgno, birth: self.txnid() }, buffer))
    }

    /// Makes the page editable by this level; the answer is where it lives now. Costs a look into a
    /// map if it is already, else a copy of the page, a free number, and an item of free space.
    #[inline]
    pub(crate) fn touch(&mut self, ptr: Ptr) -> Result<Ptr> {
        if self.is_editable(ptr) {
            return Ok(ptr);
        }
        let stay = if ptr.birth >= self.young_from { Stay::Short } else { Stay::Long };
        self.copy_to(ptr, stay)
    }

    /// The same; if it is copied, then to the first free place, as long as that lies before `line`.
    pub(crate) fn touch_below(&mut self, ptr: Ptr, line: u32) -> Result<Ptr> {
        if self.is_editable(ptr) { Ok(ptr) } else { self.copy_to(ptr, Stay::Before(line)) }
    }

    /// Whether so many pages are free before `line`; looks for them within bounds.
    pub(crate) fn has_room_below(&mut self, pages: u32, line: u32) -> Result<bool> {
        self.space.has_below(&*self.store, pages, line)
    }

    /// Makes a page editable that is not.
    fn copy_to(&mut self, ptr: Ptr, stay: Stay) -> Result<Ptr> {
        // All of it is copied once there is a place for it.
        self.store.ahead(ptr).ask_all();
        let place = match stay {
            // Moved for a compaction, and not changed.
            Stay::Before(_) => EditPlace::Memory,
            Stay::Short | Stay::Long => self.place,
        };
        let (fresh, mut buffer) = self.fresh(stay, place)?;
        let copied = self.bytes(ptr).map(|page| buffer.copy_from_slice(page));
        if let Err(error) = copied {
            self.space.give_back(fresh.pgno, 1);
            return Err(error);
        }
        page::header::set_ptr(&mut buffer, fresh);
        let from = self.buffered(ptr, Body::Node).map_or(ptr, |dirty| dirty.from);
        if let Err(error) = self.free(ptr) {
            self.space.give_back(fresh.pgno, 1);
            return Err(error);
        }
        self.buffers.insert(fresh.pgno, buffer, from);
        Ok(fresh)
    }

    #[inline(always)]
    fn count_look(&self) {
        #[cfg(test)]
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a page of a tree was looked for.
    #[cfg(test)]
    pub(crate) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Whether the page is this level's own already.
    pub(crate) fn is_editable(&self, ptr: Ptr) -> bool {
        self.buffered(ptr, Body::Node).is_some_and(|dirty| dirty.level == self.buffers.level())
    }

    /// The bytes of a page that [`Pages::touch`] or [`Pages::allocate`] made editable.
    #[inline]
    pub(crate) fn edit(&mut self, ptr: Ptr) -> &mut [u8] {
        self.count_look();
        debug_assert!(self.is_editable(ptr), "W1: edited without touch");
        self.buffers.edit(ptr.pgno)
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
        }) || self.buffers.all().any(holds)
    }

    /// Two editable pages at once, for splits and merges.
    pub(crate) fn edit_two(&mut self, a: Ptr, b: Ptr) -> (&mut [u8], &mut [u8]) {
        debug_assert!(self.is_editable(a) && self.is_editable(b), "W1: edited without touch");
        self.buffers.edit_two(a.pgno, b.pgno)
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
        if ptr.birth > self.txnid() {
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
        match self.buffered(gone.first, gone.what).map(|dirty| dirty.level) {
            Some(level) if level == self.buffers.level() => self.drop_buffer(gone),
            Some(_) => self.buffers.current().shadowed.try_push(gone)?,
            None => self.drop_written(gone)?,
        }
        Ok(())
    }

    /// W1: never written, so the numbers are free at once.
    fn drop_buffer(&mut self, gone: Gone) {
        let pgno = gone.first.pgno;
        let dirty = self.buffers.take(pgno.0).expect("W1: only buffered pages are dropped");
        self.store.recycle(dirty.buffer);
        self.space.give_back(pgno, gone.pages);
    }

    /// Makes the transaction use no page behind `max_pages`; whether that was possible.
    pub(crate) fn cut_to(&mut self, max_pages: u32) -> Result<bool> {
        self.shape += 1;
        self.space.cut_to(&*self.store, max_pages)
    }

    /// How many pages may be buffered.
    pub(crate) fn spill_limit(&self) -> usize {
        self.outgoing.spill_pages
    }

    /// How many pages are buffered.
    pub(crate) fn dirty_count(&self) -> usize {
        self.buffers.pages()
    }

    /// How many pages have left the trees, but for those that were only buffered.
    pub(crate) fn retired_pages(&self) -> u64 {
        self.space.retired_pages()
    }

    /// First page number past the part of the file that the transaction uses.
    pub(crate) fn used(&self) -> u32 {
        self.space.used()
    }

    /// The free space that the snapshot records which was sealed just now.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = Item> + Clone + '_ {
        self.space.recorded()
    }
}
