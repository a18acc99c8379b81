//! What merges runs on its own: by hand, or in threads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use huon::{
    CompactOptions, Durability, Error, IoError, Progress, Result, fork_generation, is_inherited,
};

use crate::compact::{Step, Wanted};
use crate::lsm::Lsm;
use crate::manifest::Shared;
use crate::operator::no_operator;
use crate::policy::Lane;

/// Between two looks for something to merge the threads sleep so long after a commit, and longer
/// and longer if none follows.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// After so long without a commit, runs are merged although none has to be.
const IDLE: Duration = Duration::from_secs(1);

/// A file is made shorter when it is at least half as long again as what lives in it, to so many
/// times that.
const LENGTH: f64 = 1.25;

/// Merges the runs of all LSM tables of an environment; see [`Lsm::compactor`].
///
/// Any number of them may run, in any processes; each merge is made by one of them. One may be
/// stopped or killed at any time: what it has merged stays, and others go on after ten seconds.
/// Where there is none, programs that commit merge a little after their commits.
///
/// ```
/// use huon::{Env, U64};
/// use huon_lsm::{Lsm, LsmDef};
/// # let env = Env::in_memory()?;
/// let lsm = Lsm::open(&env)?;
/// let t = lsm.table(&LsmDef::<U64, U64>::new("t"))?;
/// for round in 0..20 {
///     env.update(|txn| (0..1000).try_for_each(|n| t.put(txn, n * 7919 % 1009, round)))?;
/// }
/// lsm.compactor().run_until_idle()?;
/// assert!(t.stat(&env.read()?)?.runs() < 10);
/// lsm.compactor().merge_all()?;
/// assert_eq!(t.stat(&env.read()?)?.runs(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a compactor merges nothing until it is run"]
pub struct Compactor {
    lsm: Lsm,
    /// The only table that it merges.
    table: Option<Vec<u8>>,
}

impl Compactor {
    pub(crate) fn new(lsm: Lsm) -> Compactor {
        Compactor { lsm, table: None }
    }

    /// The same for one table only. If that has a merge operator that no definition has given to
    /// this [`Lsm`], its methods fail with [`Error::Invalid`]; a compactor of all tables leaves
    /// the runs of such a table as they are.
    pub fn for_table(mut self, name: impl AsRef<[u8]>) -> Compactor {
        self.table = Some(name.as_ref().to_vec());
        self
    }

    /// Makes one step of one merge that is due; `false`: none is, or others make it.
    ///
    /// # Cost
    /// [`LsmOptions::step_bytes`](crate::LsmOptions::step_bytes) are read, merged and written, some
    /// 100 nanoseconds a record. The writer lock is held for about half of that. Where commits are
    /// durable it waits for a flush, so that later commits need not.
    ///
    /// # Errors
    /// Those of reading and writing; the merge can be gone on with.
    pub fn run_once(&self) -> Result<bool> {
        for shared in self.tables()? {
            for lane in Lane::ALL {
                let step = self.steps(&shared, lane, Wanted::ANY_DUE, &mut || false)?;
                if let Step::Made(_) = step {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Merges until no merge is due, and waits for those that others make; returns how many steps
    /// it has made itself.
    ///
    /// The space that runs take is then at most about 1.5 times that of the records.
    ///
    /// # Errors
    /// As [`Compactor::run_once`].
    pub fn run_until_idle(&self) -> Result<u64> {
        self.run_until_idle_with(&mut |_| ControlFlow::Continue(()))
    }

    /// The same, and calls `on_step` with the number of steps after each of them, and while it
    /// waits for others; it ends when that breaks.
    ///
    /// # Errors
    /// As [`Compactor::run_once`].
    pub fn run_until_idle_with(
        &self,
        on_step: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.run(Wanted::ANY_DUE, on_step)
    }

    /// Merges all runs of each table to one, whatever the policy says; returns how many steps it
    /// has made.
    ///
    /// Ranges and scans are then as fast as those of an ordinary table.
    ///
    /// # Errors
    /// As [`Compactor::run_once`].
    pub fn merge_all(&self) -> Result<u64> {
        self.merge_all_with(&mut |_| ControlFlow::Continue(()))
    }

    /// The same, and calls `on_step` as [`Compactor::run_until_idle_with`] does.
    ///
    /// # Errors
    /// As [`Compactor::run_once`].
    pub fn merge_all_with(&self, on_step: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<u64> {
        for shared in self.tables()? {
            shared.freeze()?;
        }
        self.run(Wanted::All, on_step)
    }

    /// Makes the file shorter if it is at least half as long again as what lives in it, to one and
    /// a quarter times that: merges leave it as long as it had to be when there was most to merge.
    /// It does nothing to a file that is never to shrink, nor to one of which
    /// [`Geometry::shrink_bytes`](huon::Geometry::shrink_bytes) is more than it would give back.
    ///
    /// ```
    /// # use huon::{Env, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// # let lsm = Lsm::open(&env)?;
    /// # let t = lsm.table(&LsmDef::<U64, U64>::new("t"))?;
    /// # env.update(|txn| t.put(txn, 1, 1))?;
    /// let compactor = lsm.compactor();
    /// compactor.merge_all()?;
    /// compactor.shorten()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of [`huon::Env::compact`], which moves what lies at the end, in steps.
    ///
    /// # Errors
    /// Those of reading and writing; nothing is lost.
    pub fn shorten(&self) -> Result<()> {
        self.shorten_with(&mut || ControlFlow::Continue(()))
    }

    /// The same, and calls `on_step` after each step; it ends when that breaks.
    ///
    /// # Errors
    /// As [`Compactor::shorten`].
    pub fn shorten_with(&self, on_step: &mut dyn FnMut() -> ControlFlow<()>) -> Result<()> {
        let env = self.lsm.env();
        let (stat, shrink_bytes) = (env.stat()?, env.info()?.geometry.shrink_bytes);
        let live_bytes = stat.live_pages * u64::from(stat.page_bytes);
        let other_bytes = stat.file_bytes.saturating_sub(live_bytes);
        if shrink_bytes == 0 || other_bytes < shrink_bytes.max(live_bytes / 2) {
            return Ok(());
        }
        let progress = |_: &Progress| on_step();
        env.compact(CompactOptions::new().target(LENGTH).progress(progress)).map(drop)
    }

    /// Starts threads that merge until the returned object is dropped: one for small merges and one
    /// for large ones. When nothing was committed for a second, they merge further than they must,
    /// in the end to one run, and then make the file shorter, as [`Compactor::shorten`] does. They
    /// try again where another writer has the lock for longer than
    /// [`Options::lock_timeout`](huon::Options::lock_timeout).
    ///
    /// ```
    /// # use huon::{Env, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let lsm = Lsm::open(&env)?;
    /// let compactor = lsm.compactor().spawn()?;
    /// let t = lsm.table(&LsmDef::<U64, U64>::new("t"))?;
    /// for n in 0..20_000 {
    ///     env.update(|txn| t.put(txn, n * 7919 % 20_011, n))?;
    /// }
    /// compactor.stop()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if the system starts no thread.
    pub fn spawn(self) -> Result<CompactorThread> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (generation, threads) = (fork_generation(), Vec::new());
        let mut threads = CompactorThread { is_over: is_over.clone(), threads, generation };
        for lane in Lane::ALL {
            let (compactor, is_over) = (self.clone(), is_over.clone());
            let work = move || compactor.work(lane, &is_over);
            let builder = std::thread::Builder::new().name("huon-lsm".to_owned());
            let no_thread = |source| {
                let (operation, place) = ("start a thread", String::new());
                Error::Io(Box::new(IoError { operation, place, source }))
            };
            threads.threads.push(builder.spawn(work).map_err(no_thread)?);
        }
        Ok(threads)
    }

    fn tables(&self) -> Result<Vec<Arc<Shared>>> {
        let txn = self.lsm.env().read()?;
        let mut names = self.lsm.table_names(&txn)?;
        names.retain(|name| self.table.as_ref().is_none_or(|table| table == name));
        let tables = names.iter().map(|name| self.lsm.any_shared(name));
        let tables = tables.collect::<Result<Vec<Arc<Shared>>>>()?;
        // Of all tables those are merged that can be; one that is named is.
        for shared in tables.iter().filter(|_| self.table.is_some()) {
            if !shared.can_fold(&*shared.view(&txn)?) {
                return Err(no_operator());
            }
        }
        Ok(tables)
    }

    /// Makes steps of a merge, until `go_on` says that it is enough.
    fn steps(
        &self,
        shared: &Shared,
        lane: Lane,
        wanted: Wanted,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Step> {
        shared.steps(lane, wanted, None, &mut |_| {
            if self.is_durable() {
                self.lsm.env().sync()?;
            }
            Ok(go_on())
        })
    }

    fn is_durable(&self) -> bool {
        matches!(self.lsm.env().settings().durability, Durability::Durable | Durability::NoMetaSync)
    }

    fn run(&self, wanted: Wanted, on_step: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<u64> {
        let mut steps = 0;
        loop {
            let (mut is_made, mut is_busy) = (false, false);
            for shared in self.tables()? {
                for lane in Lane::ALL {
                    let mut is_over = false;
                    let step = self.steps(&shared, lane, wanted, &mut || {
                        steps += 1;
                        is_over = on_step(steps).is_break();
                        !is_over
                    })?;
                    is_made |= matches!(step, Step::Made(_));
                    is_busy |= step == Step::Busy;
                    if is_over || step == Step::Busy && on_step(steps).is_break() {
                        return Ok(steps);
                    }
                }
            }
            if !is_made && !is_busy {
                return Ok(steps);
            }
            if !is_made {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// What a thread does.
    fn work(&self, lane: Lane, is_over: &AtomicBool) -> Result<()> {
        let env = self.lsm.env();
        let (mut seen, mut pause, mut idle_since) = (0, PAUSE_MIN, Instant::now());
        let mut tables = (self.tables()?, Instant::now());
        let mut is_short = true;
        while !is_over.load(Ordering::Relaxed) {
            // Looking costs committers nothing; if this thread waited for them, each would wake it.
            if let Some(newest) = env.wait_for_commit(seen, Duration::ZERO)? {
                (seen, pause, idle_since) = (newest, PAUSE_MIN, Instant::now());
                is_short = lane == Lane::Small;
            }
            if tables.1.elapsed() >= IDLE {
                tables = (self.tables()?, Instant::now());
            }
            let is_idle = idle_since.elapsed() >= IDLE;
            let shortens = is_idle && !is_short;
            let made = match self.round(lane, &tables.0, is_idle, shortens, is_over) {
                // Another writer has the lock for long: that is none of this thread's end.
                Err(Error::Busy(_)) => Made::Nothing,
                made => made?,
            };
            if made == Made::Shorter {
                // Its commits are no reason to do it again.
                seen = env.wait_for_commit(seen, Duration::ZERO)?.unwrap_or(seen);
                is_short = true;
            }
            let is_made = made == Made::Merges;
            if !is_made {
                std::thread::sleep(pause);
                pause = (2 * pause).min(PAUSE_MAX);
            }
        }
        Ok(())
    }

    /// Merges what is there to merge; if nothing is, and it `shortens`, makes the file shorter.
    fn round(
        &self,
        lane: Lane,
        tables: &[Arc<Shared>],
        is_idle: bool,
        shortens: bool,
        is_over: &AtomicBool,
    ) -> Result<Made> {
        let mut is_made = false;
        for shared in tables {
            is_made |= self.merge_while(shared, lane, Wanted::AS_RUNS_COME, is_over)?;
            if is_idle && shared.is_worth_merging()? {
                is_made |= self.merge_while(shared, lane, Wanted::All, is_over)?;
            }
        }
        if is_made {
            return Ok(Made::Merges);
        }
        if !shortens {
            return Ok(Made::Nothing);
        }
        self.shorten_with(&mut || {
            let is_over = is_over.load(Ordering::Relaxed);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Made::Shorter)
    }

    /// Merges in a lane as long as there is something to merge; whether there was.
    fn merge_while(
        &self,
        shared: &Shared,
        lane: Lane,
        wanted: Wanted,
        is_over: &AtomicBool,
    ) -> Result<bool> {
        let mut is_made = false;
        while !is_over.load(Ordering::Relaxed) {
            let mut go_on = || !is_over.load(Ordering::Relaxed);
            match self.steps(shared, lane, wanted, &mut go_on)? {
                Step::Made(_) => is_made = true,
                Step::Busy | Step::Idle => break,
            }
        }
        Ok(is_made)
    }
}

/// What a thread has made in a round.
#[derive(PartialEq, Eq)]
enum Made {
    Nothing,
    Merges,
    /// A shorter file, if it was to be made shorter.
    Shorter,
}

/// Threads that merge; see [`Compactor::spawn`]. They stop when it is dropped, after the step that
/// they are in.
#[derive(Debug)]
#[must_use = "the threads stop when this is dropped"]
pub struct CompactorThread {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
    /// Of the process that has them.
    generation: u32,
}

impl CompactorThread {
    /// Whether a thread has ended by itself: by an error, which [`CompactorThread::stop`] returns.
    /// A forked child has none of its parent's threads.
    pub fn has_failed(&self) -> bool {
        is_inherited(self.generation) || self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the threads and waits for them.
    ///
    /// # Errors
    /// The one that has ended a thread; [`Error::Forked`] in a forked child, which stops nothing.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if is_inherited(self.generation) {
            // The threads are the parent's, and would be waited for without end.
            std::mem::forget(std::mem::take(&mut self.threads));
            return Err(Error::Forked);
        }
        self.is_over.store(true, Ordering::Relaxed);
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(ended);
        }
        result
    }
}

impl Drop for CompactorThread {
    fn drop(&mut self) {
        // The error is for those that ask.
        let _ = self.end();
    }
}
