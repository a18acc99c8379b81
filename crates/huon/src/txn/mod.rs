//! Transactions: the catalog, reading, writing, sealing, publishing, flushing.
//!
//! [`Core`] is one client's share of an open environment, below the public face: the store, the
//! writer lock and the flusher lock, reader slots, and the names of tables.

pub(crate) mod adopt;
pub(crate) mod catalog;
mod checkpoint;
pub(crate) mod commit;
pub(crate) mod compact;
pub(crate) mod costs;
pub(crate) mod flush;
pub(crate) mod geometry;
pub(crate) mod image;
mod journal;
mod markers;
pub(crate) mod meaning;
pub(crate) mod named;
pub(crate) mod names;
#[cfg(test)]
mod names_tests;
pub(crate) mod notes;
mod once_list;
mod open_tables;
pub(crate) mod order;
pub(crate) mod park;
pub(crate) mod read;
mod reclaim;
pub(crate) mod recovery;
pub(crate) mod rest;
mod seen;
pub(crate) mod snapshot;
mod tables;
pub(crate) mod ticket;
pub(crate) mod write;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::alloc::filled;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Clients, Durable, Flag, GATE_TIMEOUT, Gate, Mark, Role, Slot};
use crate::os::{self, Handover};
use crate::page::{self, ID_MAX, META_BYTES, META_HEAD_WORDS, Meta, PageGeometry, Txnid};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::store::pages::{EditPlace, NextId, Pages, PagesCounts};
use crate::tree::finger::Finger;
use crate::txn::commit::Durability;
use crate::txn::flush::MetaFlush;
use crate::txn::meaning::TableInfo;
use crate::txn::named::NamedIds;
use crate::txn::names::{Names, TableNo};
use crate::txn::once_list::OnceList;

/// So many stamps a write transaction takes at a time.
const STAMPS: u64 = 1024;

/// The counters of a client; never reset.
#[derive(Debug, Default)]
pub(crate) struct CoreCounts {
    pub(crate) commits: AtomicU64,
    pub(crate) flushes: AtomicU64,
    /// Write-outs of pages that were begun between checkpoints of a journal.
    pub(crate) write_outs: AtomicU64,
    pub(crate) chunks_opened: AtomicU64,
    pub(crate) chunks_written: AtomicU64,
    pub(crate) items_judged: AtomicU64,
    pub(crate) pages_written: AtomicU64,
    pub(crate) spills: AtomicU64,
    pub(crate) leaf_splits: AtomicU64,
    pub(crate) branch_splits: AtomicU64,
    pub(crate) leaf_merges: AtomicU64,
    pub(crate) branch_merges: AtomicU64,
    pub(crate) roots_raised: AtomicU64,
    pub(crate) roots_lowered: AtomicU64,
    /// Stamps given out to write transactions, aborted ones too.
    pub(crate) stamps: AtomicU64,
}

/// A file was written over, in the main, when so many times the bytes in use were written. It is
/// more than once, since many of them are the few pages that each commit writes anew.
const WRITTEN_OVER: u64 = 2;

/// One client's share of an open environment.
pub(crate) struct Core {
    pub(crate) store: Arc<Store>,
    pub(crate) flusher: Role,
    pub(crate) journaller: Role,
    /// The journal beside the data file, where there can be one.
    pub(crate) journal: Option<Box<dyn os::JournalFile>>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) names: Arc<Names>,
    /// The process's fork generation when the environment was opened.
    pub(crate) fork_generation: u32,
    /// A [`Durability`].
    pub(crate) durability: AtomicU8,
    /// Whether the last commit was lazy, as the next one will be.
    pub(crate) edits_in_place: AtomicBool,
    /// A lazy commit flushes when so much is unflushed.
    pub(crate) flush_bytes: AtomicU64,
    /// The same, when a commit has been unflushed for so long.
    pub(crate) flush_ms: AtomicU64,
    /// How long this client waits for the writer lock, in nanoseconds.
    pub(crate) lock_timeout_ns: AtomicU64,
    /// Closing leaves unflushed commits to the next client that opens.
    pub(crate) close_without_flush: AtomicBool,
    /// It has been closed, and dropping it has nothing left to do.
    pub(crate) closed: bool,
    /// Why nothing may be written, if so.
    pub(crate) read_only: bool,
    pub(crate) counts: CoreCounts,
    /// What was sealed last, as far as this client knows: the next write transaction starts from
    /// it, if no other client has written since.
    pub(crate) last_sealed: Handover<Base>,
    /// The snapshots that have names, as they were read last.
    pub(crate) named: NamedIds,
}

/// What a write transaction starts from: the newest sealed snapshot, and what the transaction
/// before has left it to work with.
pub(crate) struct Base {
    pub(crate) mark: Mark,
    /// Without the list of its free space, which is with the pages.
    pub(crate) meta: Meta,
    /// Room for the image of the next snapshot: zero, or that of one before.
    pub(crate) image: Box<[u8; META_BYTES]>,
    pub(crate) pages: Pages,
    /// Where the last put was made.
    pub(crate) finger: Finger,
    /// Numbers for the states that transactions show, which no other was given; the first is that
    /// of the present state.
    pub(crate) stamps: Range<u64>,
}

impl Base {
    /// Another state is shown. A counter that others share is touched only once in many changes.
    #[inline]
    fn renew_stamp(&mut self, core: &Core) {
        self.stamps.start += 1;
        if self.stamps.is_empty() {
            self.stamps = core.take_stamps();
        }
    }
}

/// What keeps the pages of a snapshot while a reader is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Of a client.
    Slot(Slot),
    /// The byte of the snapshot, of a guest (`lock/guests.rs`).
    Byte(u64),
}

/// Releases a lock when dropped, also when a panic ends the work: half-done work is then what a
/// dead holder leaves, and no other client waits for ever.
pub(crate) struct Release<'r>(pub(crate) &'r Role);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// What a transaction keeps of the tables that functions of the caller's order, for as long as it
/// lives: iterators borrow the functions from it, also if a table's number is given back meanwhile.
type KeptInfos = OnceList<(TableNo, Arc<TableInfo>)>;

impl Core {
    /// What a handle means, functions included.
    fn info<'k>(&self, kept: &'k KeptInfos, no: TableNo) -> Result<&'k Arc<TableInfo>> {
        let find = || self.names.info(no).ok_or(Error::TableNotFound);
        let (_, info) = kept.get_or_add(|(known, _)| *known == no, || Ok((no, find()?)))?;
        Ok(info)
    }

    #[inline]
    pub(crate) fn check_forked(&self) -> Result<()> {
        if os::is_inherited(self.fork_generation) { Err(Error::Forked) } else { Ok(()) }
    }

    /// Whether transactions may begin at all.
    pub(crate) fn check_usable(&self) -> Result<()> {
        self.check_forked()
    }

    /// Whether this client may write now.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        self.check_poisoned()
    }

    pub(crate) fn check_poisoned(&self) -> Result<()> {
        if self.store.board.is_poisoned() { Err(Error::Poisoned) } else { Ok(()) }
    }

    /// What a commit waits for unless it says so itself.
    pub(crate) fn durability(&self) -> Durability {
        let kept = self.durability.load(Ordering::Relaxed);
        let known = Durability::ALL.into_iter().find(|durability| *durability as u8 == kept);
        known.expect("only a durability is kept there")
    }

    pub(crate) fn set_durability(&self, durability: Durability) {
        self.durability.store(durability as u8, Ordering::Relaxed);
        self.edits_in_place.store(durability.is_lazy(), Ordering::Relaxed);
    }

    /// How long this client waits for the writer lock: five centuries at most.
    pub(crate) fn lock_timeout(&self) -> Duration {
        Duration::from_nanos(self.lock_timeout_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn set_lock_timeout(&self, timeout: Duration) {
        let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        self.lock_timeout_ns.store(nanos, Ordering::Relaxed);
    }

    /// Where the next write transaction edits its pages, of a file of which `used` are in use.
    ///
    /// In the file if the commit will be lazy, and if the next flush writes no more for it: since
    /// the last one enough was written to have changed most of the file, or only what was stored
    /// into is written. The first store into a page makes a flush write the whole folio that the
    /// kernel keeps it in, where a write call makes it write that page.
    pub(crate) fn place_to_edit(&self, used: u32) -> EditPlace {
        let over = WRITTEN_OVER.saturating_mul(self.store.offset(used));
        let is_dirty = || self.store.board.written_since_durable() >= over;
        let is_lazy = self.edits_in_place.load(Ordering::Relaxed);
        if is_lazy && (!self.store.storage.flushes_folios() || is_dirty()) {
            EditPlace::File
        } else {
            EditPlace::Memory
        }
    }

    /// P14: pins the published snapshot, and copies the first words of its image.
    #[inline(always)]
    pub(crate) fn pin(&self, words: &mut [u64; META_HEAD_WORDS]) -> Result<(Pin, Mark)> {
        let pinned = match &self.store.guest {
            None => self.pin_in_slot(words)?,
            Some(guest) => {
                let mark = guest.pin_published(words)?;
                (Pin::Byte(mark.txnid()), mark)
            }
        };
        reach(Point::Pinned);
        Ok(pinned)
    }

    #[inline(always)]
    fn pin_in_slot(&self, words: &mut [u64; META_HEAD_WORDS]) -> Result<(Pin, Mark)> {
        let slot = self.store.slots.claim()?;
        reach(Point::SlotClaimed);
        let mark = self.store.board.read_published(&slot, words);
        if planted::is(Bug::PinDropped) {
            self.store.board.forget_pin(&slot);
        }
        Ok((Pin::Slot(slot), mark))
    }

    #[inline(always)]
    pub(crate) fn unpin(&self, pin: Pin) {
        match pin {
            Pin::Slot(slot) => self.store.slots.release(slot),
            Pin::Byte(txnid) => {
                if let Some(guest) = &self.store.guest {
                    guest.unpin(txnid);
                }
            }
        }
    }

    /// Takes the writer lock. A dead writer's unsealed work is dropped with it: no reader can have
    /// seen it. `true`: no other client has been the writer since this one was.
    pub(crate) fn take_writer(&self, timeout: Duration) -> Result<bool> {
        self.store.writer.acquire(timeout).map(|acquired| acquired.again)
    }

    /// The snapshot that the next write transaction starts from; remembered from the last one, if
    /// no other client has written since. The caller holds the writer lock.
    pub(crate) fn base(&self) -> Result<Box<Base>> {
        let last = self.last_sealed.take();
        let sealed = self.store.board.sealed();
        if let Some(base) = last.filter(|base| base.mark == sealed) {
            return Ok(base);
        }
        let (mark, mut meta) = self.newest_sealed()?;
        let items = std::mem::take(&mut meta.items);
        let image = filled(0, META_BYTES)?.into_boxed_slice();
        let image = image.try_into().expect("as long as was asked");
        Ok(Box::new(Base {
            mark,
            pages: Pages::new(self.store.clone(), meta.used, items),
            meta,
            image,
            finger: Finger::new(),
            stamps: self.take_stamps(),
        }))
    }

    /// Remembers where the next write transaction may start. The caller holds the writer lock.
    pub(crate) fn remember(&self, base: Box<Base>) {
        self.last_sealed.leave(base);
    }

    /// The newest sealed snapshot.
    pub(crate) fn newest_sealed(&self) -> Result<(Mark, Meta)> {
        let mut bytes = [0; META_BYTES];
        let board = &self.store.board;
        let copied = board.copy_named(|| board.sealed(), &mut bytes);
        let mark = copied.ok_or_else(no_image)?;
        Ok((mark, self.decode_image(mark, &bytes)?))
    }

    /// The snapshot that `mark` names.
    pub(crate) fn image(&self, mark: Mark) -> Result<Meta> {
        let mut bytes = [0; META_BYTES];
        if self.store.board.copy_image(mark, &mut bytes) {
            self.decode_image(mark, &bytes)
        } else {
            Err(no_image())
        }
    }

    /// Verifies the checksum: the lock file is as little trusted as the data.
    fn decode_image(&self, mark: Mark, bytes: &[u8; META_BYTES]) -> Result<Meta> {
        let meta = Meta::decode(bytes).map_err(|fault| {
            if fault.is_unknown() {
                fault.refuse(format_args!("an image in the lock file"))
            } else {
                Error::corrupt_file("an image in the lock file is damaged")
            }
        })?;
        if meta.txnid.0 == mark.txnid() && meta.uuid == self.store.uuid {
            Ok(meta)
        } else {
            Err(Error::corrupt_file("an image in the lock file is not what its name says"))
        }
    }

    /// P7, P16: the id of the next write transaction. It stays below the durable ceiling: a writer
    /// that would pass that makes a checkpoint first, which sets a new one.
    pub(crate) fn next_id(&self, base: &Meta) -> Result<NextId> {
        let issued = self.store.board.issued();
        let id = Core::usable_id(self.store.board.next_id(issued))?;
        if id <= base.txnid.0 {
            return Err(Error::corrupt_file("the lock file's last id has been lowered (P7)"));
        }
        if id >= self.durable_info()?.ceiling {
            self.raise_ceiling_above(id)?;
        }
        Ok(NextId { txnid: Txnid(id), issued })
    }

    #[cold]
    fn raise_ceiling_above(&self, id: u64) -> Result<()> {
        self.flush_up_to(self.store.board.sealed().txnid(), MetaFlush::Now)?;
        if id < self.durable_info()?.ceiling {
            return Ok(());
        }
        Err(Error::Invalid(
            "ids have run past their ceiling; close the environment everywhere and open it",
        ))
    }

    /// The durable snapshot and where its meta lies.
    pub(crate) fn durable_info(&self) -> Result<Durable> {
        let info = self.store.board.durable_info();
        info.ok_or_else(|| {
            Error::corrupt_file("the lock file does not say where the durable meta lies")
        })
    }

    /// M10: cuts the free tail off the file. The writer calls it when the minimum size of its base
    /// has been published, so that no new reader can take an older snapshot; pages past that size
    /// were reusable when it was sealed, hence no protected snapshot sees them (P12).
    pub(crate) fn shrink_file(&self, base: &Meta) -> Result<()> {
        let PageGeometry { min_pages, max_pages, .. } = base.geometry;
        let keep = base.used.max(min_pages);
        let cut = self.store.least_cut(keep);
        let too_long = self.store.file_pages() > max_pages;
        if cut == 0 && !too_long || self.store.board.published().txnid() < base.txnid.0 {
            return Ok(());
        }
        if cut != 0 {
            self.store.shrink(keep, cut)?;
        }
        // The maximum size was lowered since the file grew.
        if too_long { self.store.shrink(max_pages, 1) } else { Ok(()) }
    }

    /// The same whatever the threshold is, down to the minimum size.
    pub(crate) fn cut_file(&self, base: &Meta) -> Result<()> {
        if self.store.board.published().txnid() < base.txnid.0 {
            Ok(())
        } else {
            self.store.shrink(base.used.max(base.geometry.min_pages), 1)
        }
    }

    /// The writer lock is released.
    pub(crate) fn end_writing(&self) {
        self.store.writer.release();
    }

    /// Whether the repair of P16 is due.
    pub(crate) fn is_repair_due(&self) -> bool {
        self.store.board.flag(Flag::RepairDue)
    }

    /// Refuses ids that a meta could not hold, ceiling included: only damage leads there.
    pub(crate) fn usable_id(id: u64) -> Result<u64> {
        if Core::ceiling_after(id) < ID_MAX {
            Ok(id)
        } else {
            Err(Error::corrupt_file("the ids of the metas leave none for a commit"))
        }
    }

    /// The ceiling that a checkpoint sets for ids after `txnid`.
    pub(crate) fn ceiling_after(txnid: u64) -> u64 {
        page::ceiling_after(txnid)
    }

    /// Numbers for the states of a write transaction, which no other transaction is given. An id
    /// alone does not tell them apart: a transaction that aborts without having written leaves its
    /// id to the next one.
    pub(crate) fn take_stamps(&self) -> Range<u64> {
        let first = self.counts.stamps.fetch_add(STAMPS, Ordering::Relaxed);
        first..first + STAMPS
    }

    /// Most that a transaction counts is nothing: then no other processor is disturbed.
    pub(crate) fn count(&self, counter: &AtomicU64, by: u64) {
        if by != 0 {
            counter.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// Takes over what a transaction did to its trees, whether it ended well or not.
    pub(crate) fn count_shapes(&self, done: &PagesCounts) {
        let counts = &self.counts;
        self.count(&counts.spills, done.spills);
        self.count(&counts.leaf_splits, done.leaf_splits);
        self.count(&counts.branch_splits, done.branch_splits);
        self.count(&counts.leaf_merges, done.leaf_merges);
        self.count(&counts.branch_merges, done.branch_merges);
        self.count(&counts.roots_raised, done.roots_raised);
        self.count(&counts.roots_lowered, done.roots_lowered);
    }

    /// Whether closing would flush: some client's commit is not durable, and this one may flush it
    /// and should.
    pub(crate) fn owes_flush_at_close(&self) -> bool {
        let board = &self.store.board;
        board.sealed() != board.durable()
            && !self.read_only
            && self.durability() != Durability::Unsynced
    }

    /// Makes the repair that the opening is to make itself (J5.3).
    pub(crate) fn repair_now(&self) -> Result<()> {
        self.store.writer.acquire(GATE_TIMEOUT)?;
        let _role = Release(&self.store.writer);
        self.repair_if_due()
    }

    /// Flushes what a close owes, after the repair if one is due. If another client holds the
    /// writer lock then, it makes the repair itself, and flushes when it closes.
    fn settle(&self) -> Result<()> {
        if self.is_repair_due() {
            if self.store.writer.try_acquire()?.is_none() {
                return Ok(());
            }
            let _role = Release(&self.store.writer);
            self.repair_if_due()?;
        }
        self.flush_up_to(self.store.board.sealed().txnid(), MetaFlush::Now)
    }

    /// Takes over what a forked child keeps of its parent's share: the numbers of tables, what was
    /// verified in the map, and the numbers of states that were given out. Before any other thread
    /// has the core.
    pub(crate) fn inherit(&mut self, parent: &Core) -> Result<()> {
        self.names = Arc::new(Names::inherited(&parent.names)?);
        *self.counts.stamps.get_mut() = parent.counts.stamps.load(Ordering::Relaxed);
        if let Some(store) = Arc::get_mut(&mut self.store) {
            store.take_over(&parent.store);
        }
        Ok(())
    }

    /// Closes now, and says what went wrong.
    pub(crate) fn close_and_tell(mut self) -> Result<()> {
        self.closed = true;
        self.close()
    }

    /// Leaves without a close: an opening failed.
    pub(crate) fn leave(mut self, gate: &Gate) {
        self.closed = true;
        self.clients.leave(gate);
    }

    /// Every close flushes what is sealed, unless dirty; the last client to leave notes a clean
    /// close.
    fn close(&self) -> Result<()> {
        self.check_forked()?;
        if self.store.guest.is_some() {
            // R2: other clients see a guest only by its locks, which go with it.
            return Ok(());
        }
        let board = &self.store.board;
        let dirty = self.close_without_flush.load(Ordering::Relaxed);
        let flushed = if self.owes_flush_at_close() && !dirty && !board.is_poisoned() {
            self.settle()
        } else {
            Ok(())
        };
        reach(Point::CloseFlushed);
        let sound = !board.is_poisoned() && !self.is_repair_due();
        let writes = sound && !self.read_only && !dirty;
        let unsynced = self.durability() == Durability::Unsynced;
        let gate = Gate::lock(board.shared(), GATE_TIMEOUT)?;
        let last = !self.clients.others_alive(&gate)?;
        let noted = if writes && unsynced && last { self.note_newest() } else { Ok(()) };
        let ended = if writes && last { self.end_journal() } else { Ok(()) };
        let in_flight = !board.in_flight().is_none();
        let flushed_all = board.sealed() == board.durable() && !in_flight;
        // If no client wrote, an earlier clean close that was left unflushed on purpose still
        // holds.
        let as_found = board.flag(Flag::NotedOnDisk) && !in_flight;
        // J4.5: a meta that names no journal may lie behind one that does, and is not flushed.
        let in_order =
            ended.is_ok() && (flushed_all || as_found || writes && unsynced && noted.is_ok());
        let modified = self.store.storage.modified();
        self.clients.leave(&gate);
        reach(Point::CloseLeft);
        if last
            && in_order
            && sound
            && !board.is_poisoned()
            && let Ok(modified) = modified
        {
            board.note_close(modified, flushed_all);
        }
        flushed.and(noted).and(ended)
    }
}

#[cold]
fn no_image() -> Error {
    Error::corrupt_file("the lock file names an image that it does not hold")
}

impl Drop for Core {
    fn drop(&mut self) {
        // If a flush or a note fails, the next first open finds the state as after a crash.
        if !self.closed {
            let _ = self.close();
        }
    }
}
