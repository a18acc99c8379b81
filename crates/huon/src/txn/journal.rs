//! Journaling: a durable commit by one append (J2 to J4).
//!
//! A commit that is to be durable has left a record in the ring before its seal. The client that
//! gets the journaller's role writes the records of all that is sealed as one batch, flushes the
//! journal alone, and has made all of them durable. Where that cannot be (a commit without a record
//! between, no room, a journal that failed) all clients go by pages, as without a journal: a flush
//! of the data file, which is a checkpoint, after which the journal serves again.

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::journal::{
    self, BATCH_HEADER_BYTES, BLOCK_BYTES, BaseName, BatchHead, blocks_of, seal_batch,
};
use crate::lock::{Gate, JournalFlag, Journaled, Mark, Place, RecordMark};
use crate::os;
use crate::page::{META_BYTES, Txnid, meta_checksum};
use crate::planted::{self, Bug};
use crate::store::pages::Pages;
use crate::tell;
use crate::txn::{Core, Release};

/// What a commit that waits is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByJournal {
    /// Look again: a flush of the journal has ended.
    Flushed,
    /// Another client or thread flushes the journal.
    Awaited,
    /// It cannot be had from the journal.
    No,
}

impl Core {
    /// Whether commits that will be durable make records.
    pub(crate) fn makes_records(&self) -> bool {
        self.store.board.journal_blocks() != 0
    }

    /// J2.1: puts the record of a transaction into the ring, if it has one: before its seal.
    /// `pages`: those of a transaction that may have one.
    pub(super) fn put_record(
        &self,
        base: Mark,
        txnid: Txnid,
        image: &[u8; META_BYTES],
        pages: Option<&mut Pages>,
    ) -> Result<RecordMark> {
        let board = &self.store.board;
        let lost = || Error::corrupt_file("the lock file has lost the newest snapshot");
        let before = board.record_of(base).ok_or_else(lost)?;
        let floor = if planted::is(Bug::FloorKept) { before.floor } else { txnid.0 };
        let none = RecordMark { end: before.end, floor };
        let Some(pages) = pages else { return Ok(none) };
        let mut old = [0; META_BYTES];
        if !board.copy_image(base, &mut old) {
            return Err(lost());
        }
        let name = BaseName { txnid: Txnid(base.txnid()), checksum: meta_checksum(&old) };
        let Some(record) = pages.end_record(txnid, name, (&old, image))? else { return Ok(none) };
        let end = board.put_record(before.end, record)?;
        let end = end.filter(|_| !planted::is(Bug::RecordEndKept));
        Ok(end.map_or(none, |end| RecordMark { end, floor: before.floor }))
    }

    /// Flushes the journal for whatever is sealed, if that makes it durable.
    pub(super) fn flush_by_journal(&self) -> Result<ByJournal> {
        let board = &self.store.board;
        if !self.makes_records() || !self.may_journal() {
            return Ok(ByJournal::No);
        }
        let Some(journaled) = board.journaled() else { return Ok(ByJournal::No) };
        if self.journaller.try_acquire()?.is_none() {
            return Ok(ByJournal::Awaited);
        }
        let _role = Release(&self.journaller);
        reach(Point::JournallerTaken);
        self.check_poisoned()?;
        // No page has to be on the disk for it (J4.6).
        self.delay_flush(journaled.txnid, || ());
        let mark = board.nominate_for_journal();
        let flushed = self.flush_journal(mark);
        if !matches!(flushed, Ok(true)) {
            board.end_journal_flight();
        }
        Ok(if flushed? { ByJournal::Flushed } else { ByJournal::No })
    }

    fn may_journal(&self) -> bool {
        let board = &self.store.board;
        !board.journal_flag(JournalFlag::Off) && !board.journal_flag(JournalFlag::Ended)
    }

    /// Writes a batch of all records up to `mark`, the candidate, and flushes it. `false`: this one
    /// cannot be had from the journal. The caller holds the journaller's role.
    fn flush_journal(&self, mark: Mark) -> Result<bool> {
        let board = &self.store.board;
        // Under the role: nothing moves them now.
        let (Some(journaled), true) = (board.journaled(), self.may_journal()) else {
            return Ok(false);
        };
        let lost = || Error::corrupt_file("the lock file has lost the journal's candidate (J2.4)");
        let record = board.record_of(mark).ok_or_else(lost)?;
        let durable = self.durable_info()?;
        // J3.1.
        if record.floor > durable.mark.txnid() && !planted::is(Bug::FloorUnchecked) {
            return Ok(false);
        }
        if mark.txnid() <= journaled.txnid {
            return Ok(true);
        }
        let mut batch = vec![0; BATCH_HEADER_BYTES];
        board.take_records(journaled.tail, record.end, &mut batch)?;
        let blocks = blocks_of(batch.len());
        // J4.2.
        let kept = journaled.place.next.saturating_add(blocks).saturating_sub(durable.place.anchor);
        let fits = kept <= board.journal_blocks() || planted::is(Bug::AnchorOverwritten);
        if durable.place.is_none() || !fits {
            return Ok(false);
        }
        let head = BatchHead {
            uuid: self.store.uuid,
            at: journaled.place.next,
            chain: journaled.place.chain,
            txnid: Txnid(mark.txnid()),
            records: journal::count_records(&batch[BATCH_HEADER_BYTES..])?,
        };
        let place = seal_batch(&head, &mut batch)?;
        if let Err(error) = self.write_batch(head.at, &batch) {
            self.give_journal_up(&error);
            return Ok(false);
        }
        let done = Journaled { txnid: mark.txnid(), tail: record.end, place };
        board.finish_journal_flush(mark, &done);
        tell::flushed(mark.txnid());
        Ok(true)
    }

    /// J4.7: no commit is acknowledged by the journal any more until a client is alone.
    fn give_journal_up(&self, error: &Error) {
        if !planted::is(Bug::JournalNotGivenUp) {
            self.store.board.set_journal_flag(JournalFlag::Off, true);
        }
        tell::journal_given_up(error);
    }

    /// J2.6: writes the blocks from a place on, around the end of the file, and flushes them.
    fn write_batch(&self, at: u64, batch: &[u8]) -> Result<()> {
        let blocks = self.store.board.journal_blocks();
        let first = at % blocks;
        let fit = ((blocks - first) as usize * BLOCK_BYTES).min(batch.len());
        let (now, around) = batch.split_at(fit);
        let journal = self.journal()?;
        journal.write_at(now, first * BLOCK_BYTES as u64)?;
        if !around.is_empty() && !planted::is(Bug::BatchCut) {
            journal.write_at(around, 0)?;
        }
        reach(Point::JournalWritten);
        let unflushed =
            planted::is(Bug::JournalUnflushed) || at == 0 && planted::is(Bug::BeginUnflushed);
        if planted::is(Bug::JournalNotGivenUp) {
            journal.sync().or_else(|_| journal.sync())?;
        } else if !unflushed {
            journal.sync()?;
        }
        reach(Point::JournalFlushed);
        Ok(())
    }

    fn journal(&self) -> Result<&dyn os::JournalFile> {
        let missing = || Error::Invalid("this environment has no journal");
        self.journal.as_deref().ok_or_else(missing)
    }

    /// J4.4: if clients make records and no flush of the journal can begin, begins the journal; the
    /// place that the next meta is to name. The caller holds the flusher lock.
    pub(super) fn begin_journal(&self) -> Result<Place> {
        let board = &self.store.board;
        if !self.makes_records() || !self.may_journal() || board.journaled().is_some() {
            return Ok(Place::default());
        }
        // J4.5: what lies behind a place that is named may be all that there is of a commit.
        if !self.durable_info()?.place.is_none() {
            return Ok(Place::default());
        }
        let mut batch = vec![0; BATCH_HEADER_BYTES];
        let [low, _] = seed(&os::random_bytes()?);
        let txnid = Txnid(board.durable().txnid());
        let head = BatchHead { uuid: self.store.uuid, at: 0, chain: low, txnid, records: 0 };
        let place = seal_batch(&head, &mut batch)?;
        match self.write_batch(0, &batch) {
            Ok(()) => Ok(place),
            Err(error) => {
                self.give_journal_up(&error);
                Ok(Place::default())
            }
        }
    }

    /// Flushes of the journal may begin, behind a place that a durable meta names.
    fn go_on_from(&self, place: Place) -> Result<()> {
        let board = &self.store.board;
        loop {
            let sealed = board.sealed();
            if let Some(RecordMark { end, .. }) = board.record_of(sealed) {
                board.set_journaled(Some(&Journaled { txnid: 0, tail: end, place }));
                return Ok(());
            }
            // Its image may be given away meanwhile, since a newer one is sealed.
            if board.sealed() == sealed {
                return Err(Error::corrupt_file("the lock file has lost the newest snapshot"));
            }
        }
    }

    /// A flush of the data file has ended, whose meta names `place`.
    pub(super) fn note_checkpoint(&self, mark: Mark, place: Place) -> Result<()> {
        let board = &self.store.board;
        if place.is_none() || !self.may_journal() {
            return Ok(());
        }
        if board.journaled().is_none() {
            return self.go_on_from(place);
        }
        // J2.2: what the meta covers needs no place in the ring any more.
        if self.journaller.try_acquire()?.is_none() {
            return Ok(());
        }
        let _role = Release(&self.journaller);
        let (Some(journaled), Some(record)) = (board.journaled(), board.record_of(mark)) else {
            return Ok(());
        };
        if record.end > journaled.tail && !planted::is(Bug::RingTail) {
            let txnid = journaled.txnid.max(mark.txnid());
            board.set_journaled(Some(&Journaled { txnid, tail: record.end, ..journaled }));
        }
        Ok(())
    }

    /// The journal is used from now on, if the options give it a size and no client has begun it.
    pub(crate) fn use_journal(&self, gate: &Gate, wanted_bytes: u64) -> Result<()> {
        let board = &self.store.board;
        let Some(journal) = self.journal.as_deref() else { return Ok(()) };
        if wanted_bytes == 0 || self.read_only || board.journal_blocks() != 0 {
            return Ok(());
        }
        let wanted = wanted_bytes.div_ceil(BLOCK_BYTES as u64);
        let mut blocks = journal.bytes()? / BLOCK_BYTES as u64;
        // J5.1: one that the durable meta names stays as it is.
        if blocks != wanted && self.durable_info()?.place.is_none() {
            journal.make(wanted * BLOCK_BYTES as u64)?;
            blocks = wanted;
        }
        board.use_journal(gate, blocks)
    }
}

fn seed(bytes: &[u8; 16]) -> [u64; 2] {
    let (halves, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
}
