//! The way out: pages are finished, and written.
//!
//! I1. Only the last id of a transaction is sealed: its snapshot bears it, and what the seal
//!     writes.
//! I2. Each id is raised in the lock file before anything is written under it, by a
//!     compare-and-swap from the one that was raised before, under the writer lock. A writer whose
//!     swap fails has lost the lock, and writes no more.
//! I3. An id that would reach the ceiling is not taken: the transaction goes on under the one that
//!     it has. It never waits for a flush in the middle.
//! I4. The id rises between operations only, only when no page is buffered, and only if something
//!     was written under it. So buffered pages bear the current id, and no page is younger than the
//!     one that points to it. A rise is a change of shape: kept paths are sought anew.

use super::{Body, Dirty, EditPlace, NextId, Pages, PagesCounts, ROOM_KEPT};
use crate::alloc::{TryGrow, collected, filled};
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::journal::{BaseName, RecordWriter};
use crate::lock::Board;
use crate::os::prefetch_start;
use crate::page::{self, CEILING_AHEAD, ID_MAX, Pgno, Ptr, Txnid};
use crate::planted::{self, Bug};
use crate::store::space::{SealedSpace, Shrink};
use crate::store::{Buffer, Store};

/// Bytes that a single write call carries at most.
const WRITE_BYTES_MAX: usize = 1 << 20;

/// Bytes of large values that are buffered at most: as many as a processor's caches hold. So a
/// value that is put and not replaced is written while it lies there, and its memory serves the
/// next.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// The ids of a transaction, and what is on its way out under them.
#[derive(Default)]
pub(super) struct Outgoing {
    /// The id that the transaction began with.
    first: Txnid,
    /// The id that it has now.
    txnid: Txnid,
    /// The last id that is raised in the lock file.
    issued: u64,
    /// W4 is done for the current id.
    raised: bool,
    /// Something was written under the current id.
    wrote: bool,
    /// The caller was promised that the id stays.
    fixed: bool,
    /// Buffered pages above which [`Pages::spill`] writes them out.
    pub(super) spill_pages: usize,
    /// Pages of which no other change is expected; some may not be buffered any more.
    finished: Vec<u32>,
    /// Room for pages on their way out.
    pages: Vec<(u32, Dirty)>,
    /// Room for their numbers.
    order: Vec<u32>,
    /// Room for a page that is packed.
    scratch: Vec<u8>,
    /// What the journal is told of the transaction (J1).
    record: RecordWriter,
}

impl Outgoing {
    pub(super) fn begin(&mut self, id: NextId, spill_pages: usize) {
        (self.first, self.txnid, self.issued) = (id.txnid, id.txnid, id.issued);
        (self.raised, self.wrote, self.fixed) = (false, false, false);
        self.spill_pages = spill_pages;
        self.finished.clear();
    }

    pub(super) fn first(&self) -> Txnid {
        self.first
    }

    #[inline(always)]
    pub(super) fn txnid(&self) -> Txnid {
        self.txnid
    }

    /// I12.
    pub(super) fn fix_id(&mut self) -> Txnid {
        self.fixed = true;
        self.txnid
    }

    pub(super) fn note_written(&mut self) {
        self.wrote = true;
    }

    /// I2, W4.
    fn raise(&mut self, board: &Board) -> Result<()> {
        if self.raised {
            return Ok(());
        }
        let left_out =
            planted::is(Bug::IdReused) || planted::is(Bug::IdsUnraised) && self.txnid > self.first;
        if !left_out && !board.raise_issued(self.issued, self.txnid.0) {
            return Err(self.lost_role(board));
        }
        (self.issued, self.raised) = (self.txnid.0, true);
        Ok(())
    }

    /// The error for a last id that is not the one that this transaction raised.
    #[cold]
    fn lost_role(&self, board: &Board) -> Error {
        if board.issued() < self.issued {
            Error::corrupt_file("the lock file's last id has been lowered (P7)")
        } else {
            Error::Busy("another writer has raised the last id (I2)".into())
        }
    }

    /// I3: takes the next id; whether it may.
    fn rise(&mut self, board: &Board) -> bool {
        let next = self.txnid.0 + 1;
        let ceiling = board.durable_info().map_or(0, |durable| durable.ceiling);
        if next >= ceiling.min(ID_MAX - CEILING_AHEAD) && !planted::is(Bug::CeilingUnread) {
            return false;
        }
        (self.txnid, self.raised, self.wrote) = (Txnid(next), false, false);
        true
    }

    /// Packs the nodes, and stamps them with their checksums.
    fn finish(&mut self, store: &Store) {
        for i in 0..self.pages.len() {
            if let Some((_, next)) = self.pages.get(i + 1) {
                prefetch_start(&next.buffer);
            }
            let Dirty { buffer, what: Body::Node, .. } = &mut self.pages[i].1 else { continue };
            page::pack_for_writing(buffer, &mut self.scratch);
            store.seal.stamp(buffer);
        }
    }

    /// J1.1: notes the pages in the record of the transaction, unless that cannot hold all of it.
    fn note_record(&mut self, store: &Store, used: u32) -> Result<()> {
        let Outgoing { pages, record, .. } = self;
        if (self.wrote || self.txnid != self.first) && !planted::is(Bug::RecordPartly) {
            record.give_up();
        }
        for (pgno, page) in pages.iter() {
            if page.what == Body::Value {
                record.give_up();
            }
            // What a page was copied from may be one of the transaction's own, which is gone.
            if !record.is_wanted() {
                return Ok(());
            }
            let before = if page.from.is_none() {
                None
            } else {
                Some((page.from, store.page(page.from, used)?))
            };
            let unchanged = before.filter(|_| planted::is(Bug::RecordOfBefore));
            let page = unchanged.map_or(&page.buffer[..], |(_, old)| old);
            record.page((Pgno(*pgno), page), before)?;
        }
        Ok(())
    }

    /// Makes room for so many pages.
    fn make_room(&mut self, pages: usize, page_bytes: usize) -> Result<()> {
        self.pages.try_reserve_exact(pages)?;
        if self.scratch.is_empty() {
            self.scratch = filled(0, page_bytes)?;
        }
        Ok(())
    }

    /// The pages are out. Little of the room for them is kept.
    fn clear(&mut self, order: Vec<u32>) {
        if self.pages.capacity() > ROOM_KEPT {
            self.pages = Vec::new();
        }
        if order.capacity() <= ROOM_KEPT {
            self.order = order;
        }
    }

    /// Writes the pages, which are in order.
    fn write(&self, store: &Store) -> Result<()> {
        // P7: the id is raised before its first page is written, and never lowered.
        if store.board.issued() < self.txnid.0 {
            return Err(Error::corrupt_file("the lock file's last id has been lowered (P7)"));
        }
        let mut rest = &self.pages[..];
        while let Some((first, page)) = rest.first() {
            if page.buffer.is_view() {
                // There already.
                rest = &rest[1..];
                continue;
            }
            let (mut end, mut bytes) = (*first, 0);
            let follows = |(pgno, page): &&(u32, Dirty)| {
                let fits = bytes == 0 || bytes + page.buffer.len() <= WRITE_BYTES_MAX;
                let follows = *pgno == end && fits && !page.buffer.is_view();
                end += page.pages(store.page_bytes);
                bytes += page.buffer.len();
                follows
            };
            let consecutive = rest.iter().take_while(follows).count();
            let (now, later) = rest.split_at(consecutive);
            let parts = collected(now.iter().map(|page| &*page.1.buffer))?;
            store.storage.write_at(&parts, u64::from(*first) * store.page_bytes as u64)?;
            rest = later;
        }
        Ok(())
    }
}

impl Pages {
    /// W4, W5.
    pub(super) fn before_write(&mut self) -> Result<()> {
        let ours = self.store.writer.check_ours();
        self.lost |= ours.is_err();
        ours.and_then(|()| self.raise_id())
    }

    /// W4.
    pub(super) fn raise_id(&mut self) -> Result<()> {
        let raised = self.outgoing.raise(&self.store.board);
        self.lost |= raised.is_err();
        raised
    }

    /// Ends an operation, or rests between two: spills if the write buffer is full, and goes on
    /// under the next id where that lets dead pages serve again, or makes a nested level sure of
    /// what it writes (I6).
    #[inline(always)]
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.spill()?;
        let txnid = self.txnid();
        let doubtful = self.buffers.current().doubtful_pages(txnid);
        if self.outgoing.fixed || doubtful.is_none() && !self.space.has_dead() {
            return Ok(());
        }
        self.reuse_dead(doubtful.unwrap_or(0))
    }

    /// Goes on under the next id, if that is worth it.
    #[cold]
    fn reuse_dead(&mut self, doubtful: u64) -> Result<()> {
        if self.space.wants_rise(&*self.store, self.buffers.pages(), doubtful)? {
            self.spill_all()?;
        }
        if self.outgoing.wrote && self.buffers.is_empty() {
            self.rise()?;
        }
        Ok(())
    }

    /// Before a large value of so many pages is written, and before the operation has changed
    /// anything: makes dead pages reusable for it if no other pages can be used.
    pub(crate) fn make_room(&mut self, pages: u32) -> Result<()> {
        if !self.outgoing.fixed && self.space.lacks_run(&*self.store, pages) {
            self.spill_all()?;
            self.rise()?;
        }
        Ok(())
    }

    /// I4: the transaction goes on under the next id, if it may.
    fn rise(&mut self) -> Result<()> {
        assert!(self.buffers.is_empty(), "I4: the id rises while pages are buffered");
        if !self.outgoing.rise(&self.store.board) {
            return Ok(());
        }
        self.shape += 1;
        self.counts.rises += 1;
        self.space.rise(self.txnid())
    }

    /// Writes out every buffered page if there are more than the limit, or some of them if they are
    /// worth it. Call it only where no page is held, so none needs a mark that keeps it.
    #[inline(always)]
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.buffers.pages() > self.outgoing.spill_pages {
            return self.spill_all();
        }
        let page_bytes = self.page_bytes();
        let has_finished = self.outgoing.finished.len() * page_bytes >= WRITE_BYTES_MAX;
        let has_values = self.buffers.value_pages() * page_bytes > VALUE_BYTES_MAX;
        if has_finished || has_values { self.spill_some(has_finished) } else { Ok(()) }
    }

    #[cold]
    fn spill_some(&mut self, finished: bool) -> Result<()> {
        if finished {
            let mut out = std::mem::take(&mut self.outgoing.finished);
            out.retain(|pgno| self.buffers.get(Pgno(*pgno), Body::Node).is_some());
            self.spill_these(out)?;
        }
        if self.buffers.value_pages() * self.page_bytes() > VALUE_BYTES_MAX {
            let out = collected(self.buffers.value_numbers())?;
            self.spill_these(out)?;
        }
        Ok(())
    }

    fn spill_these(&mut self, out: Vec<u32>) -> Result<()> {
        self.write_dirty(out, true)?;
        reach(Point::Spilled);
        Ok(())
    }

    /// Writes out every buffered page.
    fn spill_all(&mut self) -> Result<()> {
        self.counts.spills += 1;
        self.outgoing.finished.clear();
        let mut out = collected(self.buffers.numbers())?;
        if planted::is(Bug::HalfWritten) {
            out.truncate(out.len() / 2);
        }
        self.spill_these(out)
    }

    /// The page is full, and puts in order come back to it no more: it leaves while the processor's
    /// caches still have it, and its buffer serves the next one. A put that does come back copies
    /// it.
    pub(crate) fn note_finished(&mut self, ptr: Ptr) -> Result<()> {
        Ok(self.outgoing.finished.try_push(ptr.pgno.0)?)
    }

    /// Finishes these buffered pages and writes them, in page order and coalesced. The one way out
    /// for pages. `on`: the transaction goes on after it.
    ///
    /// Costs sorting the numbers, and for each page its checksum (2200 instructions for 4 KiB), and
    /// packing it if it is not packed still; a write call for each stretch that is not in the file.
    fn write_dirty(&mut self, mut order: Vec<u32>, on: bool) -> Result<()> {
        self.shape += 1;
        // Numbers are sorted faster than what they stand for.
        order.sort_unstable();
        order.dedup();
        self.outgoing.make_room(order.len(), self.page_bytes())?;
        match self.place {
            // W5: there is no successor, and what is there already needs no descriptor.
            EditPlace::File if self.buffers.all().all(|page| page.buffer.is_view()) => {
                self.raise_id()?;
            }
            _ => self.before_write()?,
        }
        for &pgno in &order {
            let page = self.buffers.take(pgno).expect("it is in the maps' own list");
            if on {
                let ptr = Ptr { pgno: Pgno(pgno), birth: self.txnid() };
                let pages = page.pages(self.page_bytes());
                self.note_written(ptr, pages, page.level, page.what);
            }
            self.counts.written_bytes += page.buffer.len() as u64;
            self.outgoing.pages.push((pgno, page));
        }
        self.outgoing.finish(&self.store);
        if !on && self.outgoing.record.is_wanted() {
            self.outgoing.note_record(&self.store, self.space.used())?;
        }
        let written = self.outgoing.write(&self.store);
        self.lost |= written.is_err();
        let birth = self.txnid();
        for (pgno, page) in self.outgoing.pages.drain(..) {
            let pgno = Pgno(pgno);
            if page.what == Body::Node {
                self.store.note_verified(Ptr { pgno, birth });
                if planted::is(Bug::SpilledInPlace) {
                    self.buffers.insert(pgno, page.buffer, page.from);
                    continue;
                }
            }
            self.store.recycle(page.buffer);
        }
        self.outgoing.clear(order);
        written
    }

    /// Writes all that is left and closes the free space: the pages' part of a seal. After an error
    /// they can only be dropped.
    ///
    /// `records`: for a record in the journal, too.
    pub(crate) fn seal(
        &mut self,
        shrink: Shrink,
        records: bool,
    ) -> Result<(SealedSpace, PagesCounts)> {
        self.outgoing.record.begin(records)?;
        assert_eq!(self.buffers.level(), 0, "W3: sealed inside a nested level");
        let mut sealed = self.space.seal(&*self.store, self.page_bytes(), shrink)?;
        self.buffers.reserve(sealed.chunks.len())?;
        for (ptr, page) in std::mem::take(&mut sealed.chunks) {
            self.buffers.check_free(ptr.pgno, 1)?;
            self.buffers.insert(ptr.pgno, Buffer::Own(page.into_boxed_slice()), Ptr::NONE);
        }
        let mut all = std::mem::take(&mut self.outgoing.order);
        all.clear();
        all.try_extend(self.buffers.numbers())?;
        self.write_dirty(all, false)?;
        if self.is_lost() { Err(Error::OutOfMemory) } else { Ok((sealed, self.counts())) }
    }

    /// The record of what was sealed, once the image is known; see [`RecordWriter::end`].
    pub(crate) fn end_record(
        &mut self,
        txnid: Txnid,
        base: BaseName,
        images: (&[u8], &[u8]),
    ) -> Result<Option<&[u8]>> {
        Ok(self.outgoing.record.end(txnid, base, images)?)
    }
}
