//! Taking over a snapshot that was made in another file: its pages and its image come from there
//! (`ops/changes`), and its readers are here.
//!
//! A1. A page is written only where the snapshot before has none, and only once no reader here sees
//!     an older one. So readers are never disturbed, and a crash leaves the snapshot before whole.
//! A2. Nothing is sealed before everything born since the snapshot before has been verified as the
//!     file shows it: a wrong, missing or damaged page is an error, and changes nothing.
//! A3. The snapshot is flushed by two flushes, whatever its size: its meta needs no snapshot before
//!     it, which only the other file may have had.
//! A4. While a file follows another, the repair of P16 is due in it, and is not made: the first
//!     write transaction that begins here leaves all ids of the other file behind.
//! A5. A file with named snapshots follows none: the other one may have dropped them, and their
//!     pages are written over as soon as the first changes arrive.
//!
//! The caller holds the writer lock.

use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Flag, Mark, Place, ReaderEntry};
use crate::page::{META_BYTES, Meta, Pgno, Reason, Txnid, first_data_page};
use crate::planted::{self, Bug};
use crate::store::source::{OnPage, damaged};
use crate::store::space::{Backend, PageSet};
use crate::txn::Core;
use crate::txn::commit::taken_over;
use crate::txn::recovery::tail;

/// A snapshot on its way into the file.
pub(crate) struct Adoption {
    base: Mark,
    base_used: u32,
    /// Pages that the base does not have, below `base_used`.
    absent: PageSet,
    /// Only what is born later is given.
    since: Txnid,
    meta: Meta,
}

impl Core {
    /// Makes a file one that can follow another: what is sealed is flushed, and the repair stays
    /// due (A4).
    pub(crate) fn begin_following(&self) -> Result<()> {
        self.check_writable()?;
        let board = &self.store.board;
        if board.journal_blocks() != 0 {
            return Err(Error::Invalid("a file with a journal cannot follow another one"));
        }
        self.store.measure()?;
        self.store.board.forget_close()?;
        let _role = self.wait_for_flusher()?;
        if let Some(plan) = board.unfinished_flush()? {
            self.carry_out(&plan)?;
        }
        if board.sealed() != board.durable() {
            let (mark, sealed) = self.newest_sealed()?;
            tail::write_again(&self.store, &sealed, self.durable_start()?)?;
            self.flush_adopted(mark)?;
        }
        let (_, newest) = self.newest_sealed()?;
        if newest.names && !planted::is(Bug::NamesFollow) {
            return Err(Error::Invalid(
                "a file with named snapshots cannot follow another one: begin with a backup, \
                 which has none",
            ));
        }
        if !planted::is(Bug::RepairForgotten) {
            board.set_flag(Flag::RepairDue, true);
        }
        Ok(())
    }

    /// The first reader that sees a snapshot older than the newest (A1).
    pub(crate) fn older_reader(&self) -> Result<Option<ReaderEntry>> {
        let newest = self.store.board.sealed().txnid();
        // A5: nothing is protected for a name's sake.
        let protected = self.store.protected(&[])?;
        let oldest = protected.all.first().copied().filter(|&id| id < newest);
        let span = protected.spans.first().map(|span| *span.start()).filter(|&id| id < newest);
        let Some(oldest) = oldest.into_iter().chain(span).min() else { return Ok(None) };
        if planted::is(Bug::OlderReaderUnawaited) {
            return Ok(None);
        }
        let readers = self.store.readers()?;
        let named = readers.into_iter().find(|reader| reader.txnid == oldest && !reader.evicted);
        Ok(Some(named.unwrap_or_else(|| ReaderEntry::of_guest(oldest))))
    }

    /// Begins to take over the snapshot of `meta`, of which all pages born after `since` will be
    /// given.
    pub(crate) fn adopt(&self, since: Txnid, meta: &Meta) -> Result<Adoption> {
        self.check_writable()?;
        let (base, base_meta) = self.newest_sealed()?;
        self.store.set_geometry(&meta.geometry);
        if meta.used > self.store.map_pages() {
            return Err(self.store.map_too_small(meta.used));
        }
        self.shrink_file(&base_meta)?;
        self.store.cover(meta.used)?;
        Ok(Adoption {
            base,
            base_used: base_meta.used,
            absent: self.absent_pages(&base_meta)?,
            since,
            meta: meta.as_image(),
        })
    }

    /// The pages that a snapshot does not have: those that its free list names.
    fn absent_pages(&self, meta: &Meta) -> Result<PageSet> {
        let mut absent = PageSet::default();
        let mut items = meta.items.clone();
        let mut chunks = PageSet::default();
        while let Some(item) = items.pop() {
            if !item.is_chain() {
                absent.insert(Pgno(item.pgno), item.page_count())?;
                continue;
            }
            let mut next = item.ptr();
            while !next.is_none() {
                if chunks.meets(next.pgno, 1) {
                    return Err(damaged(next, Reason::Cycle));
                }
                chunks.insert(next.pgno, 1)?;
                let chunk = self.store.chunk(next, meta.used)?;
                for item in chunk.items() {
                    items.try_push(item.on(next)?)?;
                }
                next = chunk.next();
            }
        }
        Ok(absent)
    }

    /// Writes whole pages of the snapshot to their places.
    pub(crate) fn adopt_pages(&self, adoption: &Adoption, pgno: u32, bytes: &[u8]) -> Result<()> {
        self.check_forked()?;
        let page_bytes = self.store.page_bytes;
        let count = u32::try_from(bytes.len() / page_bytes).unwrap_or(u32::MAX);
        let end = pgno.checked_add(count).filter(|&end| end <= adoption.meta.used);
        let is_inside = end.is_some() && pgno >= first_data_page(page_bytes);
        if count == 0 || !bytes.len().is_multiple_of(page_bytes) || !is_inside {
            return Err(Error::Invalid("what is written are whole pages of the snapshot's"));
        }
        let below = adoption.base_used.saturating_sub(pgno).min(count);
        let is_free = below == 0 || adoption.absent.holds(Pgno(pgno), below);
        if !is_free && !planted::is(Bug::AdoptedOverBase) {
            let text = format!(
                "page {pgno} would be written over what snapshot {} has there: the changes were \
                 not taken while that one was pinned",
                adoption.base.txnid()
            );
            return Err(Error::Diverged(text.into()));
        }
        // W5.
        self.store.writer.check_ours()?;
        self.store.storage.write_at(&[bytes], self.store.offset(pgno))
    }

    /// Makes the snapshot the newest: A2, A3.
    pub(crate) fn publish_adopted(&self, adoption: &Adoption) -> Result<()> {
        let Adoption { base, meta, since, .. } = adoption;
        self.check_writable()?;
        reach(Point::AdoptedWritten);
        if !planted::is(Bug::AdoptedUnverified) {
            tail::verify(&self.store, meta, *since)?;
        }
        let _role = self.wait_for_flusher()?;
        let board = &self.store.board;
        let (issued, id) = (board.issued(), meta.txnid.0);
        if issued < id && !board.raise_issued(issued, id) || !self.store.writer.still_ours() {
            return Err(taken_over());
        }
        let image: [u8; META_BYTES] = meta.try_encode()?;
        let mark = board.seal(*base, id, &image).ok_or_else(taken_over)?;
        reach(Point::AdoptedSealed);
        self.flush_adopted(mark)?;
        reach(Point::AdoptedFlushed);
        Ok(())
    }

    /// Flushes the newest sealed snapshot, the pages before the meta. The caller holds the
    /// flusher lock, too.
    fn flush_adopted(&self, mark: Mark) -> Result<()> {
        let board = &self.store.board;
        if board.nominate()? != Some(mark) {
            return Err(taken_over());
        }
        let plan = self.plan(mark, Place::default(), true)?;
        board.set_candidate_plan(&plan)?;
        self.carry_out(&plan)
    }
}
