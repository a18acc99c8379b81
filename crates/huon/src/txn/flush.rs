//! Flushing: the newest sealed snapshot becomes durable, for all committers that wait.
//!
//! One flusher at a time over all processes. Small tails go out together with their meta in one
//! flush, and are verified after an unclean end; large ones are flushed first, then the meta. The
//! plan of a flush is stored before its meta is written, so that a successor of a dead flusher
//! writes the same bytes to the same slot (P4). A failed flush poisons the environment for all
//! clients: it is never tried again.
//!
//! A flush may also be left unfinished on purpose, its meta written and not flushed (no-meta-sync):
//! it stays in flight and protected as a dead flusher's would, and the next flush, which has to
//! finish it first, carries its own pages along. So such commits cost one flush each.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Durable, FlushPlan, Mark, Place};
use crate::os;
use crate::page::{CommitKind, META_BYTES, META_SLOTS, Txnid, meta_checksum};
use crate::planted::{self, Bug};
use crate::tell;
use crate::txn::journal::ByJournal;
use crate::txn::{Core, Release};

/// How long a committer waits for the flush of another process before it looks again.
const FLUSH_WAIT: Duration = Duration::from_millis(50);

/// At most so many bytes since the durable snapshot are flushed together with their meta, in one
/// flush. (Models have both kinds of flushes with few pages.)
pub(crate) const ONE_FLUSH_BYTES_MAX: u64 = if cfg!(shuttle) { 1 << 11 } else { 1 << 20 };

/// The commit delay: how long a flusher waits for one more commit. To be woken and to commit takes
/// about as long.
const COMMIT_DELAY: Duration = Duration::from_micros(60);
/// How long a committer that waits for a flush spins before it sleeps. Some of the committers that
/// the flush releases are then awake when it ends, and have committed again when the others come. A
/// processor that has gone to sleep takes longer to wake than a small commit takes.
const FLUSH_SPIN: Duration = Duration::from_micros(100);
/// The most commits that a flusher waits for: lazy writers may commit all the time.
const DELAY_COMMITS_MAX: u64 = 8;

/// Whether a checkpoint ends with the flush of its meta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaFlush {
    Now,
    /// Where the pages were flushed on their own, the meta's flush is left to the next flusher.
    Later,
}

impl Core {
    /// Returns once snapshot `txnid` is durable, or all but its meta is on the disk; flushes it if
    /// no other client does.
    pub(crate) fn flush_up_to(&self, txnid: u64, meta: MetaFlush) -> Result<()> {
        self.flush_within(txnid, meta, None).map(drop)
    }

    /// The same, waiting for others no longer than until `deadline`. `false`: it was not reached.
    pub(crate) fn flush_within(
        &self,
        txnid: u64,
        meta: MetaFlush,
        deadline: Option<Instant>,
    ) -> Result<bool> {
        let has_reached = self.wait_flushed(txnid, meta, deadline)?;
        if has_reached {
            self.checkpoint_if_due(txnid)?;
        }
        Ok(has_reached)
    }

    fn wait_flushed(&self, txnid: u64, meta: MetaFlush, deadline: Option<Instant>) -> Result<bool> {
        let board = &self.store.board;
        loop {
            let events = board.events();
            if self.is_flushed(txnid, meta) {
                return Ok(true);
            }
            self.check_writable()?;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let has_flushed = match self.flush_by_journal()? {
                ByJournal::Flushed => true,
                ByJournal::Awaited => false,
                ByJournal::No => self.flush_by_pages(meta)?,
            };
            if has_flushed && self.is_flushed(txnid, meta) {
                return Ok(true);
            }
            if has_flushed {
                // Trying again would lead here for ever.
                return Err(Error::corrupt_file("the lock file has lost a sealed snapshot"));
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            reach(Point::FlushAwaited);
            let nap = left.map_or(FLUSH_WAIT, |left| left.min(FLUSH_WAIT));
            if !os::spin(nap.min(FLUSH_SPIN), || board.events() != events) {
                board.wait_events(events, nap, Some(txnid));
            }
        }
    }

    /// Flushes the data file, unless another client does; says whether it did.
    fn flush_by_pages(&self, meta: MetaFlush) -> Result<bool> {
        let board = &self.store.board;
        let Some(role) = self.try_flusher()? else { return Ok(false) };
        // Where the last flush was left unfinished, it does not tell how many commit together.
        if board.postponed().is_none() {
            // The flush waits less for pages whose write-out has begun.
            let write_out = || self.store.storage.start_writing();
            self.delay_flush(board.durable().txnid(), write_out);
        }
        self.flush_newest(meta)?;
        drop(role);
        tell::flushed(board.durable().txnid());
        Ok(true)
    }

    /// Group commit: waits until as many have committed as did during the last flush and before it,
    /// so that they share the next one, or until no more come. The committers that the last flush
    /// released are about to commit again; those that came while it went on wait already, and
    /// would be served alone. A flusher that was alone last time waits for none, nor does one of a
    /// file in memory. Does what is to be done `meanwhile`, so that the other committers, which
    /// need the processors, do not have to.
    pub(super) fn delay_flush(&self, flushed: u64, meanwhile: impl Fn()) {
        let board = &self.store.board;
        if self.store.storage.flushes_at_once() {
            return;
        }
        let expected = board.committed_together().min(DELAY_COMMITS_MAX);
        let enough = flushed.saturating_add(expected);
        let mut seen = board.sealed();
        while seen.txnid() < enough {
            meanwhile();
            if !os::spin(COMMIT_DELAY, || board.sealed() != seen) {
                return;
            }
            seen = board.sealed();
        }
    }

    /// Returns once the durable meta is that of snapshot `txnid`, or of a newer one: a place in the
    /// journal is not enough.
    pub(super) fn checkpoint_up_to(&self, txnid: u64) -> Result<()> {
        let has_come = || self.store.board.durable().txnid() >= txnid;
        if has_come() {
            return Ok(());
        }
        self.check_writable()?;
        let _role = self.wait_for_flusher()?;
        if !has_come() {
            self.flush_newest(MetaFlush::Now)?;
        }
        let lost = || Error::corrupt_file("the lock file has lost a sealed snapshot");
        has_come().then_some(()).ok_or_else(lost)
    }

    /// Whether nothing of snapshot `txnid` is owed to the disk.
    pub(crate) fn is_flushed(&self, txnid: u64, meta: MetaFlush) -> bool {
        let board = &self.store.board;
        let is_durable = || board.durable_id() >= txnid;
        let is_postponed = || board.postponed().is_some_and(|mark| mark.txnid() >= txnid);
        // The second look: the postponed snapshot may have become durable after the first one.
        is_durable() || meta == MetaFlush::Later && (is_postponed() || is_durable())
    }

    /// Flushes if the options say that it is due and no other client does already; says whether it
    /// did.
    pub(crate) fn flush_if_due(&self) -> Result<bool> {
        let board = &self.store.board;
        let due = board.sealed() != board.durable()
            && (board.written_since_durable() >= self.flush_bytes.load(Relaxed)
                || board.unflushed_ms() >= self.flush_ms.load(Relaxed));
        if !due || self.is_repair_due() {
            return Ok(false);
        }
        self.check_writable()?;
        let Some(role) = self.try_flusher()? else { return Ok(false) };
        self.flush_newest(MetaFlush::Now)?;
        drop(role);
        tell::flushed(board.durable().txnid());
        Ok(true)
    }

    /// Takes the flusher lock if no living client holds it, and only then checks whether the
    /// environment is poisoned: the last holder's flush may have failed while this client was
    /// asking, and the next flush would succeed without what that one lost.
    pub(crate) fn try_flusher(&self) -> Result<Option<Release<'_>>> {
        if self.flusher.try_acquire()?.is_none() {
            return Ok(None);
        }
        let role = Release(&self.flusher);
        reach(Point::FlusherTaken);
        self.check_poisoned()?;
        Ok(Some(role))
    }

    /// The same, waiting for the flush of another client to end.
    pub(super) fn wait_for_flusher(&self) -> Result<Release<'_>> {
        loop {
            // Read before the try: a client that releases the lock after the try changes the
            // number.
            let events = self.store.board.events();
            if let Some(role) = self.try_flusher()? {
                return Ok(role);
            }
            self.store.board.wait_events(events, FLUSH_WAIT, None);
        }
    }

    /// Flushes the newest sealed snapshot. The caller holds the flusher lock.
    pub(super) fn flush_newest(&self, meta: MetaFlush) -> Result<()> {
        let board = &self.store.board;
        let sealed = board.sealed();
        let unfinished = board.unfinished_flush()?;
        if let Some(plan) = &unfinished {
            self.carry_out(plan)?;
        }
        let begun = self.begin_journal()?;
        let Some((mark, place)) = board.nominate_with(begun)? else { return Ok(()) };
        // The flush that just ended took along all that was sealed before it.
        let on_disk = unfinished.is_some() && mark == sealed;
        let large = board.written_since_durable() > ONE_FLUSH_BYTES_MAX;
        let plan = self.plan(mark, place, on_disk || large)?;
        board.set_candidate_plan(&plan)?;
        let late = board.journaled().filter(|_| planted::is(Bug::PlaceReadLate));
        let plan = FlushPlan { place: late.map_or(plan.place, |late| late.place), ..plan };
        let block = self.meta_of(&plan)?;
        self.write_meta(&plan, &block, on_disk)?;
        match meta {
            MetaFlush::Later if plan.two_flush => board.postpone_meta_flush(&plan)?,
            _ => self.end_flush(&plan, &block)?,
        }
        Ok(())
    }

    /// Writes the meta of the newest sealed snapshot and leaves everything else to the kernel: for
    /// the last client of an environment that is never to wait for the disk. The snapshot stays in
    /// flight; the durable one is what it was.
    pub(crate) fn note_newest(&self) -> Result<()> {
        let board = &self.store.board;
        if board.sealed() == board.durable() {
            return Ok(());
        }
        let Some(_role) = self.try_flusher()? else { return Ok(()) };
        // P4: a snapshot that is in flight already comes first, and needs a flush.
        if let Some(plan) = board.unfinished_flush()? {
            self.carry_out(&plan)?;
        }
        let Some(mark) = board.nominate()? else { return Ok(()) };
        let plan = self.plan(mark, Place::default(), false)?;
        board.set_candidate_plan(&plan)?;
        let block = self.meta_of(&plan)?;
        self.write_meta(&plan, &block, false)
    }

    pub(super) fn plan(&self, mark: Mark, place: Place, two_flush: bool) -> Result<FlushPlan> {
        let durable = self.durable_info()?;
        Ok(FlushPlan {
            mark,
            // P4, P9: neither the durable meta's slot nor, since nothing else is in flight, that of
            // another.
            meta_slot: (durable.meta_slot + 1) % META_SLOTS as u8,
            two_flush,
            meta_written: false,
            predecessor: durable.mark.txnid(),
            ceiling: Core::ceiling_after(mark.txnid()),
            place,
        })
    }

    /// Does all that a plan says and is not done yet; the same plan gives the same bytes.
    pub(crate) fn carry_out(&self, plan: &FlushPlan) -> Result<()> {
        let block = self.meta_of(plan)?;
        if !plan.meta_written {
            self.write_meta(plan, &block, false)?;
        }
        self.end_flush(plan, &block)
    }

    fn meta_of(&self, plan: &FlushPlan) -> Result<[u8; META_BYTES]> {
        let mut meta = self.image(plan.mark)?;
        meta.commit = if plan.two_flush { CommitKind::TwoFlush } else { CommitKind::OneFlush };
        meta.before = Txnid(plan.predecessor);
        meta.ceiling = plan.ceiling;
        meta.place = plan.place;
        Ok(meta.try_encode()?)
    }

    /// The first half of a flush. A two-flush meta is written when its pages are on the disk, which
    /// they may be already.
    fn write_meta(&self, plan: &FlushPlan, block: &[u8; META_BYTES], on_disk: bool) -> Result<()> {
        let offset = u64::from(plan.meta_slot) * META_BYTES as u64;
        if planted::is(Bug::FlushOrder) {
            self.store.storage.write_at(&[block], offset)?;
        }
        if plan.two_flush && !on_disk && !planted::is(Bug::FirstFlush) {
            self.sync_or_poison()?;
            reach(Point::FirstFlushed);
        }
        self.store.storage.write_at(&[block], offset).map_err(|error| self.poisoned_by(error))?;
        reach(Point::MetaWritten);
        Ok(())
    }

    /// The second half: flushes the meta, and hands over.
    fn end_flush(&self, plan: &FlushPlan, block: &[u8; META_BYTES]) -> Result<()> {
        if !planted::is(Bug::MetaFlush) {
            self.sync_or_poison()?;
        }
        reach(Point::Flushed);
        self.store.board.finish_flush(&Durable {
            mark: plan.mark,
            meta_slot: plan.meta_slot,
            checksum: meta_checksum(block),
            ceiling: plan.ceiling,
            place: plan.place,
        })?;
        self.note_checkpoint(plan.mark, plan.place)
    }

    /// A failed flush is final: what reached the disk is unknown, and the next flush would succeed
    /// without it.
    pub(crate) fn sync_or_poison(&self) -> Result<()> {
        self.count(&self.counts.flushes, 1);
        if planted::is(Bug::PoisonLifted) {
            return self.store.storage.sync().or_else(|_| self.store.storage.sync());
        }
        self.store.storage.sync().map_err(|error| self.poisoned_by(error))
    }

    fn poisoned_by(&self, error: Error) -> Error {
        self.store.board.poison();
        tell::flush_failed(&error);
        error
    }
}
