//! The board's part in flushing: what is in flight, how it is flushed, and waking the committers
//! (P4, P9).

use super::events::marks_of;
use super::{Board, Durable, FlushPlan, JournalFlag, Mark, Place, damaged};
use crate::error::Result;
use crate::failpoint::{Point, reach};
use crate::lock::layout::*;
use crate::os::word::{Ordering, fence};
use crate::os::{Wake, clock};
use crate::planted::{self, Bug};

impl Board {
    /// Cleans up after the flusher before, dead or failed; call it first under the flusher lock.
    /// `Some`: its candidate's meta may be in its slot already, so the same flush is to be done
    /// again (P4).
    pub(crate) fn unfinished_flush(&self) -> Result<Option<FlushPlan>> {
        let candidate = self.in_flight();
        if candidate.is_none() {
            return Ok(None);
        }
        if candidate != self.durable()
            && !planted::is(Bug::CandidateUnfinished)
            && let Some(plan) = self.candidate_plan()
        {
            return self.check_plan(&plan).map(|()| Some(plan));
        }
        // It ended except for the last store, or never had a plan.
        self.store(IN_FLIGHT, 0);
        self.notify(Wake::All);
        Ok(None)
    }

    /// How many ids the last flush of either file made durable, and how many were sealed while it
    /// went on: a hint of how many commit at the same time.
    pub(crate) fn committed_together(&self) -> u64 {
        self.load(TOGETHER)
    }

    /// The same, at the end of a flush, where `before` was durable.
    pub(super) fn note_committed_together(&self, before: u64) {
        self.store(TOGETHER, self.sealed().txnid().saturating_sub(before));
    }

    /// P4: the meta of a candidate never goes where the durable one lies, nor does an older one.
    fn check_plan(&self, plan: &FlushPlan) -> Result<()> {
        let durable = self.durable_info();
        let apart = durable.is_some_and(|d| d.meta_slot != plan.meta_slot && d.mark < plan.mark);
        if plan.mark != self.in_flight() {
            return Err(damaged("the lock file has lost the snapshot in flight (P4)"));
        }
        if apart && usize::from(plan.meta_slot) < META_SLOTS {
            Ok(())
        } else {
            Err(damaged("the lock file plans a flush over the durable meta (P4)"))
        }
    }

    /// Puts the newest sealed snapshot in flight; after [`Board::unfinished_flush`]. `None`: it is
    /// durable already.
    pub(crate) fn nominate(&self) -> Result<Option<Mark>> {
        Ok(self.nominate_with(Place::default())?.map(|(mark, _)| mark))
    }

    /// The same, with the place in the journal that the meta is to name (J4.1): the one that the
    /// journal has come to; `begun` if none is acknowledged by it yet.
    pub(crate) fn nominate_with(&self, begun: Place) -> Result<Option<(Mark, Place)>> {
        if !self.in_flight().is_none() {
            return Err(damaged(
                "the lock file names a snapshot in flight without a flush of it (P4)",
            ));
        }
        if self.sealed() == self.durable() {
            return Ok(None);
        }
        self.store(PLAN_MARK, 0);
        self.store(PLAN_WRITTEN, self.load(WRITTEN));
        // Before `sealed` is read: what is sealed later notes its own time.
        self.store(UNFLUSHED_SINCE, 0);
        loop {
            let candidate = self.sealed();
            self.store(IN_FLIGHT, candidate.0);
            // Pairs with the fence of `protected_marks`: either the writer sees the candidate, or
            // we see what it sealed.
            fence(Ordering::SeqCst);
            reach(Point::CandidateStored);
            let batches = self.load(BATCHES);
            let place = match self.journaled() {
                _ if self.journal_flag(JournalFlag::Ended) => Place::default(),
                Some(journaled) => journaled.place,
                None => begun,
            };
            if self.sealed() == candidate {
                self.store(PLAN_BATCHES, batches);
                return Ok(Some((candidate, place)));
            }
        }
    }

    /// Stores how the candidate in flight will be flushed; before its meta is written (P4).
    pub(crate) fn set_candidate_plan(&self, plan: &FlushPlan) -> Result<()> {
        self.check_plan(plan)?;
        self.store(PLAN_MARK, 0);
        fence(Ordering::Release);
        self.store(PLAN_HOW, plan.how());
        self.store(PLAN_PREDECESSOR, plan.predecessor);
        self.store(PLAN_CEILING, plan.ceiling);
        self.set_place_at(PLAN_PLACE, plan.place);
        self.store(PLAN_MARK, plan.mark.0);
        reach(Point::PlanStored);
        Ok(())
    }

    /// Notes that the candidate's pages are on the disk and its meta is in its slot: only a flush
    /// is missing, which the next flusher makes. Until then it stays in flight, and protected.
    pub(crate) fn postpone_meta_flush(&self, plan: &FlushPlan) -> Result<()> {
        self.check_plan(plan)?;
        assert!(plan.two_flush, "P4: a one-flush meta has nothing without its flush");
        self.store(PLAN_HOW, FlushPlan { meta_written: true, ..*plan }.how());
        reach(Point::FlushPostponed);
        self.notify(Wake::All);
        Ok(())
    }

    /// The snapshot in flight if its pages are on the disk and its meta is written.
    pub(crate) fn postponed(&self) -> Option<Mark> {
        self.candidate_plan().filter(|plan| plan.meta_written).map(|plan| plan.mark)
    }

    /// The plan of the candidate in flight, if it has one.
    pub(crate) fn candidate_plan(&self) -> Option<FlushPlan> {
        let mark = Mark(self.load(PLAN_MARK));
        if mark.is_none() || mark != self.in_flight() {
            return None;
        }
        let how = self.load(PLAN_HOW);
        Some(FlushPlan {
            mark,
            meta_slot: u8::try_from(how >> 2).unwrap_or(u8::MAX),
            two_flush: how & 1 != 0,
            meta_written: how & 2 != 0,
            predecessor: self.load(PLAN_PREDECESSOR),
            ceiling: self.load(PLAN_CEILING),
            place: self.place_at(PLAN_PLACE),
        })
    }

    /// The candidate's flush has ended well: hands over in the order of P9, and wakes the
    /// committers that waited for it.
    pub(crate) fn finish_flush(&self, done: &Durable) -> Result<()> {
        let before = self.durable();
        let durable_before = self.durable_id();
        if done.mark != self.in_flight() || done.mark <= before {
            return Err(damaged("the lock file has lost the snapshot that was flushed (P9)"));
        }
        let meta = METAS + usize::from(done.meta_slot) * META_WORDS;
        self.store(meta + META_MARK, 0);
        fence(Ordering::Release);
        self.store(meta + META_CHECKSUM, done.checksum);
        self.store(meta + META_CEILING, done.ceiling);
        self.set_place_at(META_PLACES + usize::from(done.meta_slot) * LINE, done.place);
        self.store(meta + META_MARK, done.mark.0);
        self.store(WRITTEN_DURABLE, self.load(PLAN_WRITTEN));
        self.store(DURABLE_BATCHES, self.load(PLAN_BATCHES));
        if planted::is(Bug::PublishedFirst) {
            self.store(DURABLE, done.mark.0);
            self.notify(Wake::All);
        }
        self.publish(done.mark);
        reach(Point::FlushPublished);
        self.store(DURABLE, done.mark.0);
        reach(Point::DurableMoved);
        self.store(IN_FLIGHT, 0);
        reach(Point::FlightEnded);
        self.note_committed_together(durable_before);
        // They commit again while the next flusher comes, and so many of them share its flush: that
        // was measured to be better than the other way round.
        self.notify(Wake::Marked(marks_of(before.txnid() + 1, done.mark.txnid())));
        Ok(())
    }

    /// The durable snapshot and its meta. `None` only from a damaged lock file.
    pub(crate) fn durable_info(&self) -> Option<Durable> {
        loop {
            let mark = self.durable();
            if mark.is_none() {
                return None;
            }
            for meta_slot in 0..META_SLOTS {
                let meta = METAS + meta_slot * META_WORDS;
                if self.load(meta + META_MARK) != mark.0 {
                    continue;
                }
                let (checksum, ceiling) =
                    (self.load(meta + META_CHECKSUM), self.load(meta + META_CEILING));
                let place = self.place_at(META_PLACES + meta_slot * LINE);
                // While `durable` names it no client writes there (invariant 4).
                if self.durable() == mark {
                    let meta_slot = meta_slot as u8;
                    return Some(Durable { mark, meta_slot, checksum, ceiling, place });
                }
            }
            if self.durable() == mark {
                return None;
            }
        }
    }

    /// Counts bytes written for commits. Choices rest on it: between one flush and two, whether one
    /// is due, and where pages are edited.
    pub(crate) fn add_written(&self, bytes: u64) {
        self.fixed()[WRITTEN].fetch_add(bytes, Ordering::Relaxed);
    }

    /// For how many milliseconds something sealed has not been flushed; 0 if nothing is owed.
    pub(crate) fn unflushed_ms(&self) -> u64 {
        match self.load(UNFLUSHED_SINCE) {
            since if since != 0 && self.sealed() != self.durable() => {
                clock::now_ms().saturating_sub(since)
            }
            _ => 0,
        }
    }

    /// Bytes written since the durable snapshot's flush began.
    pub(crate) fn written_since_durable(&self) -> u64 {
        self.load(WRITTEN).wrapping_sub(self.load(WRITTEN_DURABLE))
    }
}
