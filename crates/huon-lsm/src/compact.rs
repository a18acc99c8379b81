//! Merging runs, step by step and outside the writer lock.
//!
//! A step reads a fresh snapshot, merges some megabytes of the inputs into memory, and hands them
//! over to the output in a short transaction, which takes the same keys out of the inputs
//! ([`crate::hand_over`]). A merge that is not done in one step leaves a claim in the manifest: its
//! inputs, its output, and until when it is left to its compactor. What is left of the inputs says
//! where to go on, so any process can, once that time is over. Each step looks first whether the
//! claim is as it was, and all inputs there by their ids: two compactors that make the same merge
//! waste work and nothing else.

use std::hash::{BuildHasher, RandomState};
use std::ops::{Bound, Range};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use huon::{AnyTxn, ReadTxn, Result};

use crate::edit::{Edit, RECORD_BYTES};
use crate::filter::{self, Maker};
use crate::format::{Claim, RunRecord, damaged};
use crate::hand_over::Merged;
use crate::manifest::{Run, Shared, View};
use crate::merge::{Buffer, Merge, Source};
use crate::options::LEASE_MAX;
use crate::planted::{self, Bug};
use crate::policy::{Lane, Pace};
use crate::record::{now_ms, settled};

/// A committer merges up to so many bytes for each that it has put. A record is merged about once
/// for each class of runs, so that is more than there is to merge in the long run.
const CREDIT: u64 = 16;

/// Merges flush when they have given back one part in so many of the table, and so many steps.
const RETAINED_PART: u64 = 16;
pub(crate) const RETAINED_STEPS: u64 = 2;

/// A committer that merges waits no longer for the writer lock: its holder may wait for what the
/// committer does next.
const PATIENCE: Duration = Duration::from_secs(1);

/// A committer waits no longer for merges of others.
const STALL_MAX: Duration = Duration::from_secs(1);

/// What a process keeps of the merges of a table that it makes.
pub(crate) struct Lanes {
    /// A number that no other has: the owner of claims.
    owner: u64,
    lanes: [Mutex<Option<Progress>>; 2],
    /// The number of the newest run when each lane last looked for something to merge.
    newest: [AtomicU64; 2],
    /// Bytes that committers may merge; below zero they have merged ahead.
    credit: AtomicI64,
    /// In this version there was nothing for committers to merge.
    quiet_version: AtomicU64,
    retained: Mutex<Retained>,
}

/// What merges have given back and the disk still has. Its pages are reused after the next flush.
#[derive(Default)]
struct Retained {
    /// The durable snapshot, and the version of the table when it was first seen: runs of lower
    /// numbers are in it.
    durable: u64,
    version: u64,
    bytes: u64,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            owner: RandomState::new().hash_one(std::process::id()),
            lanes: Default::default(),
            newest: Default::default(),
            credit: AtomicI64::new(0),
            quiet_version: AtomicU64::new(0),
            retained: Mutex::default(),
        }
    }
}

/// How far a merge of this process is.
pub(crate) struct Progress {
    /// As the last step left it.
    claim: Claim,
    /// Has the keys of the output so far.
    filter: Option<Maker>,
    /// The last step has flushed what the steps before it have given back.
    is_flushed: bool,
}

/// Which merges are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those that the policy says, if it bears so many runs more than the fan; `None`: at the pace
    /// that the lane finds.
    Due { slack: usize, pace: Option<Pace> },
    /// One of all runs that are frozen.
    All,
}

impl Wanted {
    /// Whatever the policy says once no runs come.
    pub(crate) const ANY_DUE: Wanted = Wanted::Due { slack: 0, pace: Some(Pace::Quiet) };
    /// What it says while others put.
    pub(crate) const AS_RUNS_COME: Wanted = Wanted::Due { slack: 0, pace: None };
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing is to be merged in the lane.
    Idle,
    /// Another thread or process merges in the lane.
    Busy,
    /// So many bytes were merged.
    Made(u64),
}

/// A merge as a step finds it.
pub(crate) struct Job {
    lane: Lane,
    /// As it is in the manifest; `None`: the merge begins.
    before: Option<Claim>,
    pub(crate) claim: Claim,
}

/// What there is to do in a lane.
pub(crate) enum Found {
    Idle,
    Busy,
    Job(Job),
}

/// Whether a claim is to be left to its owner. One that lasts longer than any lease does is of a
/// clock that was put back.
fn is_live(claim: &Claim) -> bool {
    let now = now_ms();
    (now + 1..=now + LEASE_MAX.as_millis() as u64).contains(&claim.until)
}

impl Shared {
    /// Makes steps of a merge in a lane, one at least, from one snapshot: cursors that go on have
    /// asked the disk for what comes next. It ends when the merge is done, when what the steps give
    /// back is to be reused, which the snapshot would hinder, or once `go_on`, which gets the bytes
    /// of each step, says so. `patience`: it waits no longer for the writer lock.
    pub(crate) fn steps(
        &self,
        lane: Lane,
        wanted: Wanted,
        patience: Option<Duration>,
        go_on: &mut dyn FnMut(u64) -> Result<bool>,
    ) -> Result<Step> {
        let mut progress = match self.lanes.lanes[lane as usize].try_lock() {
            Ok(progress) => progress,
            Err(TryLockError::Poisoned(progress)) => progress.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(Step::Busy),
        };
        let txn = self.env.read()?;
        let view = self.view(&txn)?;
        let mut job = match self.find(&view, lane, wanted)? {
            Found::Idle => return Ok(Step::Idle),
            Found::Busy => return Ok(Step::Busy),
            Found::Job(job) => job,
        };
        let mut filter = self.filter_so_far(&txn, &view, &job, progress.take())?;
        let mut merge = self.merge(&txn, &view, &job)?;
        let most = self.retained_max(&view);
        let mut made = 0;
        loop {
            let merged = self.merge_step(&mut merge, &job.claim, filter)?;
            let bytes = (merged.buffer.bytes() as u64).max(1);
            made += bytes;
            let Some(rest) = self.hand_over(job, merged, patience)? else {
                go_on(bytes)?;
                break;
            };
            if !go_on(bytes)? || made >= most || rest.is_flushed {
                *progress = Some(rest);
                break;
            }
            let claim = rest.claim;
            (job, filter) = (Job { lane, before: Some(claim.clone()), claim }, rest.filter);
        }
        Ok(Step::Made(made))
    }

    /// What is to be merged next in a lane.
    pub(crate) fn find(&self, view: &View, lane: Lane, wanted: Wanted) -> Result<Found> {
        if !self.can_fold(view) {
            return Ok(Found::Idle);
        }
        match view.claims[lane as usize].clone() {
            Some(claim) if claim.owner != self.lanes.owner && is_live(&claim) => Ok(Found::Busy),
            Some(claim) => Ok(Found::Job(Job { lane, before: Some(claim.clone()), claim })),
            None => Ok(match self.pick(view, lane, wanted) {
                Some(inputs) => Found::Job(self.new_job(view, lane, inputs)),
                None => Found::Idle,
            }),
        }
    }

    /// A merge of frozen runs that begins.
    fn new_job(&self, view: &View, lane: Lane, inputs: Range<usize>) -> Job {
        let runs = &view.frozen()[inputs.clone()];
        let is_oldest = inputs.end == view.frozen().len();
        let claim = Claim {
            owner: self.lanes.owner,
            until: 0,
            inputs: runs.iter().map(|run| run.record.id).collect(),
            drops_tombstones: is_oldest || planted::is(Bug::TombstoneEarly),
            deletes_made: view.newest_delete(),
            output: 0,
        };
        Job { lane, before: None, claim }
    }

    /// The runs of a merge that is to begin.
    fn pick(&self, view: &View, lane: Lane, wanted: Wanted) -> Option<Range<usize>> {
        let (slack, pace) = match wanted {
            Wanted::Due { slack, pace } => (slack, pace),
            Wanted::All => {
                let frozen = view.frozen();
                let bytes = frozen.iter().map(|run| run.record.bytes).sum();
                let others = view.claims.iter().any(Option::is_some);
                return (view.is_mergeable() && !others && self.policy(view).lane(bytes) == lane)
                    .then_some(0..frozen.len());
            }
        };
        let pace = pace.unwrap_or_else(|| self.pace(view, lane));
        self.policy(view).pick(&view.sizes(), slack, pace, lane)
    }

    /// Whether runs have come since a lane last looked.
    fn pace(&self, view: &View, lane: Lane) -> Pace {
        // L2: the output of a merge is as new as the newest of its inputs.
        let newest = view.runs.first().map_or(0, |run| run.number & !1);
        let is_new = self.lanes.newest[lane as usize].swap(newest, Ordering::Relaxed) != newest;
        if is_new { Pace::Coming } else { Pace::Quiet }
    }

    /// The filter of the output so far: the one that the last step left, or a new one.
    pub(crate) fn filter_so_far(
        &self,
        txn: &ReadTxn,
        view: &View,
        job: &Job,
        progress: Option<Progress>,
    ) -> Result<Option<Maker>> {
        if let Some(progress) = progress
            && job.before.as_ref() == Some(&progress.claim)
        {
            return Ok(progress.filter);
        }
        let parts = view.frozen().iter().filter(|run| job.claim.has(run.record.id));
        let keys = parts.map(|run| run.record.records).sum();
        let header = view.header.as_deref().unwrap_or(&self.header);
        let Some(mut filter) = Maker::of_table(header, keys)? else { return Ok(None) };
        if let Some((output, _)) = view.parts_of(&job.claim) {
            for record in output.table.iter(txn)? {
                filter.add(filter::hash(record?.0));
            }
        }
        Ok(Some(filter))
    }

    /// The records that the inputs have left.
    pub(crate) fn merge<'t>(&self, txn: &'t ReadTxn, view: &View, job: &Job) -> Result<Merge<'t>> {
        let claim = &job.claim;
        let inputs = view.inputs_of(claim).ok_or_else(|| damaged("a merge (L8)"))?;
        let bounds = (Bound::Unbounded, Bound::Unbounded);
        let mut sources = Vec::new();
        for run in &view.frozen()[inputs] {
            let deletes = view.deletes.iter();
            // Later ones are made by the merges that come.
            let made = deletes.filter(|delete| delete.number <= claim.deletes_made);
            let meets =
                made.filter(|delete| delete.hides(run) && delete.range.meets(&run.record.bounds));
            let deleted = meets.map(|delete| delete.range.clone()).collect();
            sources.push(Source::run(run.table, AnyTxn::Read(txn), bounds, deleted)?);
        }
        let folder = self.folder(AnyTxn::Read(txn))?;
        let mut merge = Merge::new(sources, false, Some(folder))?;
        if job.before.is_some() && planted::is(Bug::ResumedLate) {
            merge.next()?;
        }
        Ok(merge)
    }

    /// The part of a step that needs no lock: merges records into memory.
    pub(crate) fn merge_step(
        &self,
        merge: &mut Merge<'_>,
        claim: &Claim,
        mut filter: Option<Maker>,
    ) -> Result<Merged> {
        let mut buffer = Buffer::default();
        while buffer.bytes() < self.options.step_bytes {
            let Some((key, tagged)) = merge.next()? else {
                return Ok(Merged { buffer, filter, is_last: true });
            };
            let Some(tagged) = settled(tagged, claim.drops_tombstones) else { continue };
            if let Some(filter) = &mut filter {
                filter.add(filter::hash(key));
            }
            buffer.add(key, &tagged)?;
        }
        Ok(Merged { buffer, filter, is_last: false })
    }

    /// Hands over what a step has merged, if the merge is still where it was.
    pub(crate) fn hand_over(
        &self,
        job: Job,
        merged: Merged,
        patience: Option<Duration>,
    ) -> Result<Option<Progress>> {
        let Job { lane, before, mut claim, .. } = job;
        let mut txn = match patience {
            Some(patience) => self.env.write_within(patience)?,
            None => self.env.write()?,
        };
        let view = self.view(&txn)?;
        let is_here = view.claims[lane as usize] == before || planted::is(Bug::ClaimUnchecked);
        let inputs = view.inputs_of(&claim).filter(|_| is_here);
        let mut edit = Edit::new(self, &mut txn, View::clone(&view))?;
        // The other lane may have begun with some of the inputs meanwhile.
        let is_taken = before.is_none() && edit.is_any_merged(&claim.inputs);
        let Some(inputs) = inputs.filter(|_| !is_taken) else {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        let (bytes, records) = (merged.buffer.bytes() as u64, merged.buffer.records());
        edit.count(0, bytes + records * RECORD_BYTES)?;
        let until = now_ms() + self.options.lease.as_millis() as u64;
        (claim.owner, claim.until) = (self.lanes.owner, until);
        let rest = edit.hand_over(lane, (before.as_ref(), claim), inputs.clone(), merged)?;
        let after = Arc::new(edit.view);
        self.publish(txn)?;
        // L6.
        self.keep(&after);
        let is_flushed = self.flush_for_space(&view.frozen()[inputs], &after)?;
        if planted::is(Bug::TrimmedApart) {
            let mut txn = self.env.write()?;
            let view = self.view(&txn)?;
            Edit::new(self, &mut txn, View::clone(&view))?.trim_after(lane)?;
            self.publish(txn)?;
        }
        self.counts.steps.fetch_add(1, Ordering::Relaxed);
        self.counts.merges.fetch_add(u64::from(rest.is_none()), Ordering::Relaxed);
        self.counts.merged_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(rest.map(|(claim, filter)| Progress { claim, filter, is_flushed }))
    }

    /// Commits what a compactor has changed, without a flush. (By a ticket: a commit with a
    /// durability of its own would have the engine expect more of that kind.)
    fn publish(&self, txn: huon::WriteTxn) -> Result<()> {
        let _ = txn.commit_ticket()?;
        if self.env.settings().durability == huon::Durability::Lazy {
            self.env.flush_if_due()?;
        }
        Ok(())
    }

    /// Flushes where the space that merges have given back would else be there twice: lazy commits
    /// may come long before a flush that lets it be reused. Whether it has.
    fn flush_for_space(&self, inputs: &[Arc<Run>], after: &View) -> Result<bool> {
        if self.env.settings().durability != huon::Durability::Lazy {
            return Ok(false);
        }
        let (durable, runs) = (self.env.info()?.durable, after.frozen());
        let bytes = |id: u64| {
            let left = runs.iter().find(|run| run.record.id == id);
            left.map_or(0, |run| run.record.bytes)
        };
        let most = self.retained_max(after);
        let mut retained = self.lanes.retained.lock().unwrap_or_else(PoisonError::into_inner);
        if retained.durable != durable {
            *retained = Retained { durable, version: after.version, bytes: 0 };
        }
        let old = inputs.iter().filter(|run| run.number < retained.version);
        retained.bytes += old.map(|run| run.record.bytes - bytes(run.record.id)).sum::<u64>();
        let is_due = retained.bytes >= most;
        if is_due {
            retained.bytes = 0;
            drop(retained);
            self.env.sync()?;
        }
        Ok(is_due)
    }

    /// So much of what merges have given back may wait to be reused.
    fn retained_max(&self, view: &View) -> u64 {
        let all: u64 = view.frozen().iter().map(|run| run.record.bytes).sum();
        (all / RETAINED_PART).max(RETAINED_STEPS * self.options.step_bytes as u64)
    }

    /// Freezes the open run, so that a merge can take it.
    pub(crate) fn freeze(&self) -> Result<()> {
        let mut txn = self.env.write()?;
        let view = self.view(&txn)?;
        if view.open_run().is_none() || !self.can_fold(&view) {
            return Ok(());
        }
        let mut edit = Edit::new(self, &mut txn, View::clone(&view))?;
        edit.freeze()?;
        let view = edit.view;
        self.publish(txn)?;
        self.keep(&view.into());
        Ok(())
    }

    /// Whether a merge of all runs is worth its cost where no other is due: it is a small one, or
    /// joins to the oldest run as much as a tenth of it. The open run is frozen for it.
    pub(crate) fn is_worth_merging(&self) -> Result<bool> {
        let txn = self.env.read()?;
        let view = self.view(&txn)?;
        let open = view.open_run().map_or(Ok(0), |run| run.table.sequence(&txn))?;
        drop(txn);
        let Some((oldest, others)) = view.frozen().split_last() else { return Ok(false) };
        if !self.can_fold(&view) {
            return Ok(false);
        }
        let gain = match others {
            [] if open == 0 && view.is_mergeable() => {
                let RunRecord { bytes, records, tombstones, .. } = oldest.record;
                bytes / records.max(1) * tombstones
            }
            [] if open == 0 => return Ok(false),
            _ => others.iter().map(|run| run.record.bytes).sum::<u64>() + open,
        };
        let lane = self.policy(&view).lane(oldest.record.bytes + gain);
        let is_worth = lane == Lane::Small || gain >= oldest.record.bytes / 10;
        if is_worth && open > 0 {
            self.freeze()?;
        }
        Ok(is_worth)
    }

    /// Merges a little after a commit that has put so many bytes, where there are more runs than a
    /// compactor would leave: there is none then, or it does not keep up. An error is only counted,
    /// since the commit has succeeded.
    pub(crate) fn maintain(&self, put_bytes: u64) {
        let view = self.newest();
        let version = view.version;
        if self.lanes.quiet_version.load(Ordering::Relaxed) == version || !self.can_fold(&view) {
            return;
        }
        let credit = i64::try_from(put_bytes.saturating_mul(CREDIT)).unwrap_or(i64::MAX);
        let most = i64::try_from(self.options.step_bytes).unwrap_or(i64::MAX).saturating_mul(4);
        let credit = self.lanes.credit.load(Ordering::Relaxed).saturating_add(credit).min(most);
        self.lanes.credit.store(credit, Ordering::Relaxed);
        // So is a panic of a merge operator.
        let helped = std::panic::catch_unwind(AssertUnwindSafe(|| self.help(version)));
        if !matches!(helped, Ok(Ok(()))) {
            self.counts.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn help(&self, version: u64) -> Result<()> {
        let wanted = Wanted::Due { slack: self.options.slack, pace: Some(Pace::Coming) };
        let credit = &self.lanes.credit;
        let mut pay = |bytes| {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            Ok(credit.fetch_sub(bytes, Ordering::Relaxed) > bytes)
        };
        let mut is_idle = true;
        for lane in Lane::ALL {
            let mut step = Step::Made(0);
            while matches!(step, Step::Made(_)) && credit.load(Ordering::Relaxed) > 0 {
                step = self.steps(lane, wanted, Some(PATIENCE), &mut pay)?;
                is_idle &= step == Step::Idle;
            }
        }
        if is_idle && self.lanes.credit.load(Ordering::Relaxed) > 0 {
            self.lanes.quiet_version.store(version, Ordering::Relaxed);
        }
        if self.newest().is_overloaded(&self.options) {
            self.stall()?;
        }
        Ok(())
    }

    /// There is too much to merge: merges it, or waits until others have.
    fn stall(&self) -> Result<()> {
        let started = Instant::now();
        self.counts.stalls.fetch_add(1, Ordering::Relaxed);
        while self.newest().is_overloaded(&self.options) && started.elapsed() < STALL_MAX {
            let due = Wanted::Due { slack: 0, pace: Some(Pace::Coming) };
            let step = |lane| self.steps(lane, due, Some(PATIENCE), &mut |_| Ok(false));
            let steps = [step(Lane::Small)?, step(Lane::Large)?];
            if steps == [Step::Idle; 2] {
                // The policy bears so many.
                break;
            }
            if !steps.iter().any(|step| matches!(step, Step::Made(_))) {
                std::thread::sleep(Duration::from_millis(1));
                // Another process may have merged.
                self.view(&self.env.read()?)?;
            }
        }
        let nanos = started.elapsed().as_nanos() as u64;
        self.counts.stall_nanos.fetch_add(nanos, Ordering::Relaxed);
        Ok(())
    }
}
