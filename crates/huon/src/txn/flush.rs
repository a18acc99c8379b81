//! Flushing: the newest sealed snapshot becomes durable, for everybody who waits.
//!
//! One flusher at a time over all processes. Small tails go out together with their meta in one
//! flush, and are verified after an unclean end; large ones are flushed first, then the meta. The
//! plan of a flush is stored before its meta is written, so that a successor of a dead flusher
//! writes the same bytes to the same slot (P4). A failed flush poisons the environment for
//! everybody: it is never tried again.

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::os::{Durable, Plan};
use crate::page::{CommitKind, META_BYTES, META_SLOTS, Txnid, meta_checksum};
use crate::planted;
use crate::txn::commit::FLUSH_LOOK;
use crate::txn::{Core, Release};

/// At most so many bytes since the durable snapshot go out with their meta in one flush.
pub(crate) const ONE_FLUSH_BYTES_MAX: u64 = 1 << 20;

impl Core {
    /// Returns once snapshot `txnid` is durable, flushing it if nobody else does.
    pub(crate) fn flush_up_to(&self, txnid: u64) -> Result<()> {
        let board = &self.store.board;
        loop {
            let bell = board.bell();
            if board.durable().txnid() >= txnid {
                return Ok(());
            }
            self.check_writable()?;
            match self.flusher.try_acquire()? {
                Some(_) => {
                    let _role = Release(&self.flusher);
                    reach(Point::FlusherTaken);
                    self.flush_newest()?;
                }
                None => {
                    reach(Point::FlushAwaited);
                    board.wait_bell(bell, FLUSH_LOOK);
                }
            }
        }
    }

    /// Flushes the newest sealed snapshot. The caller holds the flusher's role.
    fn flush_newest(&self) -> Result<()> {
        let board = &self.store.board;
        if let Some(plan) = board.unfinished_flush() {
            self.carry_out(&plan)?;
        }
        let Some(mark) = board.nominate() else { return Ok(()) };
        let durable = self.durable_info()?;
        let plan = Plan {
            mark,
            // P4, P9: neither the durable meta's slot nor, since nothing else is in flight,
            // anybody's.
            meta_slot: (durable.meta_slot + 1) % META_SLOTS as u8,
            two_flush: board.written_since_durable() > ONE_FLUSH_BYTES_MAX,
            predecessor: durable.mark.txnid(),
            ceiling: Core::ceiling_after(mark.txnid()),
        };
        board.set_candidate_plan(&plan);
        self.carry_out(&plan)
    }

    /// Writes the meta that a plan describes and flushes; the same plan gives the same bytes.
    pub(crate) fn carry_out(&self, plan: &Plan) -> Result<()> {
        let mut meta = self.image(plan.mark)?;
        meta.commit = if plan.two_flush { CommitKind::TwoFlush } else { CommitKind::OneFlush };
        meta.before = Txnid(plan.predecessor);
        meta.ceiling = plan.ceiling;
        if let Some(flaw) = meta.flaw() {
            return Err(Error::corrupt_file(flaw));
        }
        let block = meta.encode();
        let offset = u64::from(plan.meta_slot) * META_BYTES as u64;
        if planted::is(3) {
            self.store.storage.write_at(&[&block], offset)?;
        }
        if plan.two_flush && !planted::is(1) {
            self.sync_or_poison()?;
            reach(Point::FirstFlushed);
        }
        self.store.storage.write_at(&[&block], offset).map_err(|error| self.poisoned_by(error))?;
        reach(Point::MetaWritten);
        if !planted::is(2) {
            self.sync_or_poison()?;
        }
        reach(Point::Flushed);
        self.store.board.finish_flush(&Durable {
            mark: plan.mark,
            meta_slot: plan.meta_slot,
            checksum: meta_checksum(&block),
            ceiling: plan.ceiling,
        });
        Ok(())
    }

    /// A failed flush is final: what reached the disk is unknown, and the next flush would succeed
    /// without it.
    pub(crate) fn sync_or_poison(&self) -> Result<()> {
        self.count(&self.counts.flushes, 1);
        if planted::is(9) {
            return self.store.storage.sync().or_else(|_| self.store.storage.sync());
        }
        self.store.storage.sync().map_err(|error| self.poisoned_by(error))
    }

    fn poisoned_by(&self, error: Error) -> Error {
        self.store.board.poison();
        error
    }
}
