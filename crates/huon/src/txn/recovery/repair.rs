//! The third act: the repair, made by the first write transaction after an unclean opening, or by
//! the first close that has something to flush (P16).
//!
//! Before anything is allocated or reused, the writer
//!
//! 1. writes the verified tail again, the same bytes, and flushes: pages that were verified in
//!    memory may not be on the disk, and a flush that failed before may never be tried again;
//! 2. writes a two-flush meta with the chosen roots, an id above every ceiling in any whole meta,
//!    and a new ceiling, and flushes: pages of the timeline that is given up can never pass for
//!    pages of the next.
//!
//! Both flushes are those of an ordinary two-flush commit. Only then may free space be used.

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Flag, FlushPlan, Place};
use crate::page::{CommitKind, META_SLOTS, Meta, Txnid};
use crate::planted::{self, Bug};
use crate::tell;
use crate::txn::Core;
use crate::txn::commit::taken_over;
use crate::txn::recovery::{known_metas, tail};

impl Core {
    /// Repairs if it is due. The caller holds the writer lock.
    pub(crate) fn repair_if_due(&self) -> Result<()> {
        if !self.is_repair_due() {
            return Ok(());
        }
        let _role = self.wait_for_flusher()?;
        self.repair()
    }

    /// The caller holds both locks.
    fn repair(&self) -> Result<()> {
        let board = &self.store.board;
        // P4: what a dead client left, of a repair or of a snapshot that it took over (A4), comes
        // first. It had written the tail again by then.
        if let Some(plan) = board.unfinished_flush()? {
            self.carry_out(&plan)?;
        }
        let (base_mark, chosen) = self.newest_sealed()?;
        let durable = self.durable_info()?;
        tail::write_again(&self.store, &chosen, self.durable_start()?)?;
        reach(Point::TailRewritten);
        let issued = board.issued();
        let known =
            if planted::is(Bug::RepairId) { 0 } else { self.highest_ceiling()?.max(issued) };
        let top = known.max(chosen.ceiling);
        let id = Core::usable_id(top.saturating_add(1))?;
        if issued < id && !board.raise_issued(issued, id) {
            return Err(taken_over());
        }
        let ceiling = Core::ceiling_after(id);
        let meta = Meta { txnid: Txnid(id), ..chosen.as_image() };
        let meta = meta.as_image();
        let mark = board
            .seal(base_mark, meta.txnid.0, &meta.try_encode()?)
            .ok_or_else(|| Error::Busy("another writer sealed during the repair (P3)".into()))?;
        reach(Point::RepairSealed);
        // No other client flushes or seals now, so the newest sealed snapshot is ours.
        if board.nominate()? != Some(mark) {
            let text = "the lock file names another snapshot than the repair has sealed (P16)";
            return Err(Error::corrupt_file(text));
        }
        let plan = FlushPlan {
            mark,
            meta_slot: self.slot_for_repair(durable.meta_slot, chosen.txnid)?,
            two_flush: true,
            meta_written: false,
            predecessor: chosen.txnid.0,
            ceiling,
            place: self.place_of_repair(durable.meta_slot)?,
        };
        board.set_candidate_plan(&plan)?;
        self.carry_out(&plan)?;
        reach(Point::RepairFlushed);
        board.set_flag(Flag::RepairDue, false);
        tell::repaired(meta.txnid.0);
        Ok(())
    }

    /// J5.3: none, whatever the meta in `slot` names that the chosen snapshot builds on.
    fn place_of_repair(&self, slot: u8) -> Result<Place> {
        if !planted::is(Bug::RepairNamesJournal) {
            return Ok(Place::default());
        }
        let named = &self.metas_on_disk()?[usize::from(slot)];
        Ok(named.as_ref().map_or(Place::default(), |meta| meta.place))
    }

    /// Pages born after this snapshot are the tail, as far back as the opening verified it: they
    /// may never have been flushed. The durable meta is that of the chosen snapshot, or the one it
    /// builds on; younger metas were rejected, or their flush never ended.
    pub(in crate::txn) fn durable_start(&self) -> Result<Txnid> {
        let slot = self.durable_info()?.meta_slot;
        match &self.metas_on_disk()?[usize::from(slot)] {
            Some(meta) if meta.commit == CommitKind::TwoFlush => Ok(meta.txnid),
            Some(meta) => Ok(meta.before),
            None => {
                Err(Error::corrupt_file("the meta that the opening chose is not whole any more"))
            }
        }
    }

    /// The three metas as the file holds them; `None` where there is no whole one.
    pub(crate) fn metas_on_disk(&self) -> Result<[Option<Meta>; META_SLOTS]> {
        known_metas(&*self.store.storage).map(|metas| metas.map(|meta| meta.ok()))
    }

    fn highest_ceiling(&self) -> Result<u64> {
        Ok(self.metas_on_disk()?.iter().flatten().map(|meta| meta.ceiling).max().unwrap_or(0))
    }

    /// A slot other than `base`, where the meta lies that the chosen snapshot is or builds on: best
    /// that of a rejected meta, above the chosen snapshot; then one that holds nothing whole; then
    /// the oldest. A meta between the two may be all that a power loss leaves of what was durable:
    /// an older lock file, put back, does not know of it.
    fn slot_for_repair(&self, base: u8, chosen: Txnid) -> Result<u8> {
        let metas = self.metas_on_disk()?;
        let others = (0..META_SLOTS as u8).filter(|&slot| slot != base);
        Ok(others
            .max_by_key(|&slot| match &metas[usize::from(slot)] {
                Some(meta) if meta.txnid > chosen => (2, u64::MAX),
                None => (1, 0),
                Some(meta) => (0, u64::MAX - meta.txnid.0),
            })
            .expect("there are two other slots"))
    }
}
