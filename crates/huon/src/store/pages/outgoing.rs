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

use super::{Body, Dirty, EditPlace, Pages, PagesCounts, ROOM_KEPT};
use crate::alloc::{Reserved, TryGrow, collected};
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::os::prefetch_start;
use crate::page::{self, CEILING_AHEAD, ID_MAX, Pgno, Ptr, Txnid};
use crate::planted::{self, Bug};
use crate::store::Buffer;
use crate::store::space::{SealedSpace, Shrink};

/// Bytes that a single write call carries at most.
const WRITE_BYTES_MAX: usize = 1 << 20;

/// Bytes of large values that are buffered at most: as many as a processor's caches hold. So a
/// value that is put and not replaced is written while it lies there, and its memory serves the
/// next.
const VALUE_BYTES_MAX: usize = 16 << 20;

impl Pages {
    /// W4, W5.
    pub(super) fn before_write(&mut self) -> Result<()> {
        let ours = self.store.writer.check_ours();
        self.lost |= ours.is_err();
        ours?;
        self.raise_id()
    }

    /// I2, W4.
    pub(super) fn raise_id(&mut self) -> Result<()> {
        if self.raised {
            return Ok(());
        }
        let left_out =
            planted::is(Bug::IdReused) || planted::is(Bug::IdsUnraised) && self.txnid > self.first;
        if !left_out && !self.store.board.raise_issued(self.issued, self.txnid.0) {
            self.lost = true;
            return Err(self.lost_role());
        }
        (self.issued, self.raised) = (self.txnid.0, true);
        Ok(())
    }

    /// The error for a last id that is not the one that this transaction raised.
    #[cold]
    fn lost_role(&self) -> Error {
        if self.store.board.issued() < self.issued {
            Error::corrupt_file("the lock file's last id has been lowered (P7)")
        } else {
            Error::Busy("another writer has raised the last id (I2)".into())
        }
    }

    /// Ends an operation, or rests between two: spills if the write buffer is full, and goes on
    /// under the next id where that lets dead pages serve again.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.spill()?;
        if self.fixed || !self.space.has_dead() {
            return Ok(());
        }
        if self.space.wants_rise(&*self.store, self.dirty_count())? {
            self.spill_all()?;
        }
        if self.wrote && self.nothing_buffered() {
            self.rise()?;
        }
        Ok(())
    }

    /// Before a large value of so many pages is written, and before the operation has changed
    /// anything: makes dead pages reusable for it if no other pages can be used.
    pub(crate) fn make_room(&mut self, pages: u32) -> Result<()> {
        if !self.fixed && self.space.lacks_run(&*self.store, pages) {
            self.spill_all()?;
            self.rise()?;
        }
        Ok(())
    }

    /// I3, I4: takes the next id, if it may.
    fn rise(&mut self) -> Result<()> {
        assert!(self.nothing_buffered(), "I4: the id rises while pages are buffered");
        let next = self.txnid.0 + 1;
        let durable = self.store.board.durable_info();
        let ceiling = durable.map_or(0, |durable| durable.ceiling);
        if next >= ceiling.min(ID_MAX - CEILING_AHEAD) && !planted::is(Bug::CeilingUnread) {
            return Ok(());
        }
        self.shape += 1;
        (self.raised, self.wrote) = (false, false);
        self.txnid = Txnid(next);
        self.counts.rises += 1;
        self.space.rise(self.txnid)
    }

    /// Writes out every buffered page if there are more than the limit, or some of them if they are
    /// worth it. Call it only where no page is held, so none needs a mark that keeps it.
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.dirty_count() > self.spill_pages {
            return self.spill_all();
        }
        if self.finished.len() >= WRITE_BYTES_MAX / self.page_bytes() {
            let finished = std::mem::take(&mut self.finished);
            let buffered = finished.into_iter().filter(|pgno| self.dirty.contains_key(pgno));
            let out = collected(buffered)?;
            self.spill_these(out)?;
        }
        if self.values.pages() > VALUE_BYTES_MAX / self.page_bytes() {
            let out = collected(self.values.firsts())?;
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
        self.finished.clear();
        let mut out = self.all_buffered()?;
        if planted::is(Bug::HalfWritten) {
            out.truncate(out.len() / 2);
        }
        self.spill_these(out)
    }

    fn all_buffered(&self) -> Reserved<Vec<u32>> {
        collected(self.dirty.keys().copied().chain(self.values.firsts()))
    }

    /// The page is full, and puts in order come back to it no more: it leaves while the processor's
    /// caches still have it, and its buffer serves the next one. A put that does come back copies
    /// it.
    pub(crate) fn note_finished(&mut self, ptr: Ptr) -> Result<()> {
        Ok(self.finished.try_push(ptr.pgno.0)?)
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
        let mut out = std::mem::take(&mut self.out);
        out.try_reserve_exact(order.len())?;
        let mut scratch = self.store.buffer()?;
        match self.place {
            // W5: there is no successor, and what is there already needs no descriptor.
            EditPlace::File if self.is_all_in_views() => {
                self.raise_id()?;
            }
            _ => self.before_write()?,
        }
        for pgno in order {
            let page = self.take_buffered(pgno).expect("it is in the maps' own list");
            if on {
                let ptr = Ptr { pgno: Pgno(pgno), birth: self.txnid };
                self.note_written(ptr, self.pages_of(&page), page.level, page.what);
            }
            out.push((pgno, page));
        }
        self.finish(&mut out, &mut scratch);
        self.store.recycle(scratch);
        self.counts.written_bytes +=
            out.iter().map(|(_, page)| page.buffer.len() as u64).sum::<u64>();
        let written = self.write_sorted(&out);
        self.lost |= written.is_err();
        for (pgno, page) in out.drain(..) {
            if page.what == Body::Node {
                self.store.note_verified(Ptr { pgno: Pgno(pgno), birth: self.txnid });
                if planted::is(Bug::SpilledInPlace) {
                    self.dirty.insert(pgno, page);
                    continue;
                }
            }
            self.store.recycle(page.buffer);
        }
        if out.capacity() <= ROOM_KEPT {
            self.out = out;
        }
        written
    }

    fn is_all_in_views(&self) -> bool {
        self.values.is_empty() && self.dirty.values().all(|page| page.buffer.is_view())
    }

    fn pages_of(&self, dirty: &Dirty) -> u32 {
        (dirty.buffer.len() / self.page_bytes()) as u32
    }

    /// Packs the nodes, and stamps them with their checksums.
    fn finish(&self, pages: &mut [(u32, Dirty)], scratch: &mut [u8]) {
        for i in 0..pages.len() {
            if let Some((_, next)) = pages.get(i + 1) {
                prefetch_start(&next.buffer);
            }
            let Dirty { buffer, what: Body::Node, .. } = &mut pages[i].1 else { continue };
            page::pack_for_writing(buffer, scratch);
            self.store.seal.stamp(buffer);
        }
    }

    fn write_sorted(&self, pages: &[(u32, Dirty)]) -> Result<()> {
        // P7: the id is raised before its first page is written, and never lowered.
        if self.store.board.issued() < self.txnid.0 {
            return Err(Error::corrupt_file("the lock file's last id has been lowered (P7)"));
        }
        let mut rest = pages;
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
                end += self.pages_of(page);
                bytes += page.buffer.len();
                follows
            };
            let consecutive = rest.iter().take_while(follows).count();
            let (now, later) = rest.split_at(consecutive);
            let parts = collected(now.iter().map(|page| &*page.1.buffer))?;
            self.store.storage.write_at(&parts, u64::from(*first) * self.page_bytes() as u64)?;
            rest = later;
        }
        Ok(())
    }

    /// Writes all that is left and closes the free space: the pages' part of a seal. After an error
    /// they can only be dropped.
    pub(crate) fn seal(&mut self, shrink: Shrink) -> Result<(SealedSpace, PagesCounts)> {
        assert_eq!(self.level(), 0, "W3: sealed inside a nested level");
        let mut sealed = self.space.seal(&*self.store, self.page_bytes(), shrink)?;
        self.dirty.try_reserve(sealed.chunks.len())?;
        for (ptr, page) in std::mem::take(&mut sealed.chunks) {
            self.check_unbuffered(ptr.pgno, 1)?;
            let buffer = Buffer::Own(page.into_boxed_slice());
            self.dirty.insert(ptr.pgno.0, Dirty { buffer, level: 0, what: Body::Node });
        }
        let all = self.all_buffered()?;
        self.write_dirty(all, false)?;
        if self.is_lost() { Err(Error::OutOfMemory) } else { Ok((sealed, self.counts())) }
    }
}
