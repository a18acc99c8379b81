//! Compaction in place: live pages move from the end of the file into free places before it, and
//! the free end is given back, while others read and write.
//!
//! 1. It is made of ordinary write transactions, each bounded in pages and in time. Between two of
//!    them the writer lock is free. So whatever ends it leaves a file that is whole.
//! 2. A pass goes through all trees once, large values first, which need gaps of their length.
//!    Pages that others change meanwhile are left to the next pass.
//! 3. Nothing is moved for which there is no room before the line, and the line lies as far back as
//!    the target allows.
//!
//! Costs reading all branches, the leaves of tables that have large values or are multimaps, and
//! the pages that are moved; and writing these with the pages above them.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::ops::stat::RetainedSnapshot;
use crate::ops::tables;
use crate::page::{Reason, Tree, first_data_page};
use crate::store::verified::Verified;
use crate::tree::compact::{Step, What};
use crate::txn::commit::Durability;

/// Default of the bytes that a step moves: a durable commit of so much needs one flush.
const STEP_BYTES: u64 = 768 << 10;
/// Default of how long a step looks for pages that it may move.
const STEP_TIME: Duration = Duration::from_millis(20);
/// Pages that the target leaves in any case.
const SPARE_PAGES: u64 = 8;
/// Passes at most: others may write as fast as this moves.
const PASSES_MAX: u32 = 12;
/// Commits in a row that may give nothing back before that counts as the end.
const VAIN_COMMITS_MAX: u32 = 6;

/// Options of a compaction in place; see [`Env::compact`].
#[must_use = "options do nothing until they are passed to `Env::compact`"]
pub struct CompactOptions<'a> {
    target: f64,
    time: Option<Duration>,
    step_bytes: u64,
    step_time: Duration,
    durability: Option<Durability>,
    progress: OnProgress<'a>,
}

impl Default for CompactOptions<'_> {
    fn default() -> Self {
        CompactOptions {
            target: 1.1,
            time: None,
            step_bytes: STEP_BYTES,
            step_time: STEP_TIME,
            durability: None,
            progress: OnProgress::default(),
        }
    }
}

impl<'a> CompactOptions<'a> {
    /// A compaction to 1.1 times the live pages, however long it takes.
    pub fn new() -> CompactOptions<'a> {
        CompactOptions::default()
    }

    /// Ends when the file is at most so many times as long as its live pages (default 1.1, at least
    /// 1), plus eight pages.
    pub fn target(mut self, times: f64) -> CompactOptions<'a> {
        self.target = times;
        self
    }

    /// Ends after so much time, with what has been done by then.
    pub fn time_limit(mut self, time: Duration) -> CompactOptions<'a> {
        self.time = Some(time);
        self
    }

    /// About how many bytes one transaction moves; default 768 KiB. Other writers wait for one
    /// transaction at most. A single large value is moved at once, however long it is.
    pub fn step_bytes(mut self, bytes: u64) -> CompactOptions<'a> {
        self.step_bytes = bytes;
        self
    }

    /// About how long one transaction looks for pages that it may move; default 20 ms. Other
    /// writers wait at most so long, and for the commit. `Duration::MAX`: until it has its
    /// [`step_bytes`](CompactOptions::step_bytes), so that the same file takes the same steps on
    /// every machine.
    pub fn step_time(mut self, time: Duration) -> CompactOptions<'a> {
        self.step_time = time;
        self
    }

    /// How its transactions are committed; default as the environment's. [`Durability::Unsynced`]
    /// moves pages but cuts nothing off the file: after a power loss the old pages would be needed.
    pub fn durability(mut self, durability: Durability) -> CompactOptions<'a> {
        self.durability = Some(durability);
        self
    }

    /// Calls `report` before each transaction, with the bytes that were moved so far; how many
    /// there are to move is not known beforehand. The compaction ends in order if it breaks.
    pub fn progress(
        mut self,
        report: impl FnMut(&Progress) -> ControlFlow<()> + 'a,
    ) -> CompactOptions<'a> {
        self.progress = OnProgress::call(report);
        self
    }
}

impl std::fmt::Debug for CompactOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompactOptions")
            .field("target", &self.target)
            .field("time", &self.time)
            .field("step_bytes", &self.step_bytes)
            .field("step_time", &self.step_time)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

/// Why a compaction ended.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompactEnd {
    /// The file is as short as was asked for.
    Target,
    /// The time is over.
    TimeLimit,
    /// The progress callback asked for it.
    Stopped,
    /// Older snapshots still see pages at the end, or places that are needed. The pages that could
    /// be moved were moved: once these snapshots are gone, later commits cut the end off the file,
    /// as far as the threshold of the geometry lets them.
    Retained(Vec<RetainedSnapshot>),
    /// No free place fits the pages that are left: large values find no gap of their length, or
    /// others write as fast as this moves.
    NoRoom,
}

/// The result of a compaction.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Why it ended.
    pub end: CompactEnd,
    /// Length of the file before.
    pub before_bytes: u64,
    /// Length of the file after it.
    pub after_bytes: u64,
    /// The live pages of the file: all pages of all tables.
    pub live_bytes: u64,
    /// Bytes of the pages and large values that were moved, without the pages above them.
    pub moved_bytes: u64,
    /// Transactions that were committed for it.
    pub commits: u64,
}

impl Env {
    /// Makes the file shorter where it is: moves live pages from its end into free places before
    /// it, in many small transactions, and cuts the end off. Readers and writers of all processes
    /// go on meanwhile; a writer waits for one of these transactions at most.
    ///
    /// For a file that has become much longer than its live pages. It is of no use where the free
    /// pages will be needed again: they are reused anyway. [`CopyOptions::compact`] makes a copy
    /// that is smaller still, as it packs pages anew, and needs the room for it.
    ///
    /// Whatever ends it, also a crash, leaves an environment that is whole, as after any commit.
    ///
    /// [`CopyOptions::compact`]: crate::CopyOptions::compact
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Bytes, CompactEnd, CompactOptions, Env, TableDef, U64};
    /// const T: TableDef<U64, Bytes> = TableDef::new("t");
    /// let env = Env::open(dir.path().join("a.huon"))?;
    /// let t = env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     (0..20_000).try_for_each(|n| t.put(txn, n, &[7; 200]).map(drop))?;
    ///     Ok(t)
    /// })?;
    /// env.update(|txn| t.remove_range(txn, ..18_000))?;
    /// let report = env.compact(CompactOptions::new())?;
    /// assert_eq!(report.end, CompactEnd::Target);
    /// assert!(report.after_bytes < report.before_bytes / 4);
    /// assert!(env.check()?.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A pass over all branches, and the leaves of multimaps and of tables with large values; two
    /// as a rule, more if others write meanwhile. Each page that moves is read and written once,
    /// and the pages above it once in each transaction. Memory for one transaction.
    ///
    /// # Errors
    /// Those of a write transaction. [`Error::Invalid`] for a target below 1.
    pub fn compact(&self, mut options: CompactOptions<'_>) -> Result<CompactReport> {
        if !options.target.is_finite() || options.target < 1.0 {
            return Err(Error::Invalid("a file is never shorter than what lives in it"));
        }
        let store = &self.core()?.store;
        let before_bytes = store.storage.file_bytes()?;
        let mut work = Work {
            env: self,
            durability: options.durability.unwrap_or_else(|| self.durability()),
            target: options.target,
            page_bytes: store.page_bytes,
            step_pages: (options.step_bytes / store.page_bytes as u64).clamp(8, 1 << 20) as usize,
            step_time: options.step_time,
            ends_at: options.time.and_then(|time| Instant::now().checked_add(time)),
            meter: options.progress.meter(0),
            moved_pages: 0,
            commits: 0,
        };
        let end = work.passes()?;
        work.flush()?;
        let plan = work.plan()?;
        let page_bytes = store.page_bytes as u64;
        Ok(CompactReport {
            end,
            before_bytes,
            after_bytes: store.storage.file_bytes()?,
            live_bytes: plan.live * page_bytes,
            moved_bytes: work.moved_pages * page_bytes,
            commits: work.commits,
        })
    }
}

/// Where a pass moves things.
#[derive(Clone, Copy)]
struct MovePlan {
    /// Pages of all tables.
    live: u64,
    /// Pages in use, and pages of the file.
    used: u32,
    file: u32,
    /// As many may be left.
    target: u32,
    /// Pages from here on are moved.
    line: u32,
}

impl MovePlan {
    fn is_reached(&self, page_bytes: usize) -> bool {
        // Files are cut at whole pages of the kernel.
        let system_pages = (crate::os::system_page() / page_bytes) as u32;
        self.used <= self.target && self.file <= self.target.saturating_add(system_pages)
    }
}

/// A compaction under way.
struct Work<'e, 'p> {
    env: &'e Env,
    durability: Durability,
    target: f64,
    page_bytes: usize,
    step_pages: usize,
    step_time: Duration,
    ends_at: Option<Instant>,
    meter: Meter<'p>,
    moved_pages: u64,
    commits: u64,
}

impl Work<'_, '_> {
    fn passes(&mut self) -> Result<CompactEnd> {
        for _ in 0..PASSES_MAX {
            let plan = self.plan()?;
            if plan.is_reached(self.page_bytes) {
                return Ok(CompactEnd::Target);
            }
            let mut moved = 0;
            for what in [What::Runs, What::All] {
                match self.pass(plan, what)? {
                    ControlFlow::Continue(pages) => moved += pages,
                    ControlFlow::Break(end) => return Ok(end),
                }
            }
            if let Some(end) = self.settle(plan)? {
                return Ok(end);
            }
            if moved == 0 {
                break;
            }
        }
        let mut snapshots = self.env.retained_snapshots()?;
        snapshots.retain(|snapshot| snapshot.pages > 0);
        Ok(if snapshots.is_empty() { CompactEnd::NoRoom } else { CompactEnd::Retained(snapshots) })
    }

    /// Goes through all trees once; how many pages were moved.
    fn pass(&mut self, plan: MovePlan, what: What) -> Result<ControlFlow<CompactEnd, u64>> {
        let (mut place, mut moved, mut looks) = (Vec::new(), 0, 0);
        loop {
            if let Some(end) = self.is_over() {
                return Ok(ControlFlow::Break(end));
            }
            let mut step = Step {
                what,
                line: plan.line,
                pages_max: self.step_pages,
                deadline: Instant::now().checked_add(self.step_time),
                place,
                moved_pages: 0,
                looks: 0,
            };
            let mut txn = self.env.write()?;
            txn.compact(&mut step)?;
            self.commits += u64::from(txn.is_changed());
            txn.commit_with(self.durability)?;
            moved += step.moved_pages;
            self.moved_pages += step.moved_pages;
            looks += step.looks;
            place = step.place;
            if place.is_empty() {
                return Ok(ControlFlow::Continue(moved));
            }
            // Others may make trees longer meanwhile, but a damaged one has no end.
            if looks > 64 * (u64::from(plan.used) + 1024) {
                return Err(Error::corrupt_file(Reason::Cycle.text()));
            }
        }
    }

    /// Commits until nothing more comes free at the end of the file.
    fn settle(&mut self, plan: MovePlan) -> Result<Option<CompactEnd>> {
        let (mut vain, mut last) = (0, (u32::MAX, u32::MAX));
        while vain < VAIN_COMMITS_MAX {
            if let Some(end) = self.is_over() {
                return Ok(Some(end));
            }
            let mut txn = self.env.write()?;
            txn.give_back_all(plan.target)?;
            txn.commit_with(self.durability)?;
            self.commits += 1;
            self.flush()?;
            // The file is cut by the transaction after the one that says so.
            self.env.write()?.cut_file()?;
            let now = self.plan()?;
            if now.is_reached(self.page_bytes) {
                return Ok(Some(CompactEnd::Target));
            }
            let state = (now.used, now.file);
            vain = if state < last { 0 } else { vain + 1 };
            last = last.min(state);
        }
        Ok(None)
    }

    fn flush(&self) -> Result<()> {
        match self.durability {
            Durability::Unsynced => Ok(()),
            _ => self.env.sync().map(drop),
        }
    }

    /// Tells how far it is; why it ends here, if it does.
    fn is_over(&mut self) -> Option<CompactEnd> {
        self.meter.now.done_bytes = self.moved_pages * self.page_bytes as u64;
        if self.meter.tell().is_err() {
            return Some(CompactEnd::Stopped);
        }
        let late = self.ends_at.is_some_and(|end| Instant::now() >= end);
        late.then_some(CompactEnd::TimeLimit)
    }

    fn plan(&mut self) -> Result<MovePlan> {
        let (_pin, meta) = crate::ops::pinned::pin(self.env)?;
        let store = &self.env.core()?.store;
        let source = Verified { store, used: meta.used };
        let named = tables::named(&source, &meta.main)?;
        let trees = named.iter().map(|(_, tree)| tree).chain([&meta.main]);
        let pages = |tree: &Tree| {
            [tree.branch_pages, tree.leaf_pages, tree.overflow_pages]
                .map(u64::from)
                .iter()
                .sum::<u64>()
        };
        // No sum of what records claim is more than the pages there are.
        let live = trees.map(pages).fold(0, u64::saturating_add).min(meta.used.into());
        let first = u64::from(first_data_page(store.page_bytes));
        let target = first + (live as f64 * self.target).ceil() as u64 + SPARE_PAGES;
        let target = target.max(meta.geometry.min_pages.into());
        let slack = (target / 16).min(256);
        let line = (target - slack.min(target)).max(first + live + SPARE_PAGES / 2).min(target);
        let pages = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(MovePlan {
            live,
            used: meta.used,
            file: pages(store.storage.file_bytes()? / store.page_bytes as u64),
            target: pages(target),
            line: pages(line),
        })
    }
}
