//! A shipper with a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use huon::{Env, SnapshotName};

use crate::error::{Error, Result};
use crate::pump::{Pump, Shipped};
use crate::remote::Remote;

/// Options of a [`Shipper`].
#[derive(Debug, Clone)]
#[must_use = "options do nothing until they are started"]
pub struct ShipOptions {
    every: Duration,
    rebase: bool,
}

impl Default for ShipOptions {
    fn default() -> ShipOptions {
        ShipOptions { every: Duration::from_secs(1), rebase: false }
    }
}

impl ShipOptions {
    /// Ships each second what has changed.
    pub fn new() -> ShipOptions {
        ShipOptions::default()
    }

    /// How often to look for changes: as much as this is lost if the machine is. Default: 1 second.
    /// A commit that is [waited for](Shipper::wait) is shipped at once.
    pub fn every(mut self, every: Duration) -> ShipOptions {
        self.every = every;
        self
    }

    /// Begins the log anew from this file, if the log is at a snapshot that the file does not know.
    /// What was shipped stays, and can be restored by its time; followers must be made anew.
    pub fn rebase(mut self, rebase: bool) -> ShipOptions {
        self.rebase = rebase;
        self
    }

    /// Takes the log over, and ships in a thread of its own until the shipper is stopped.
    ///
    /// A shipper that did so before, in this process or any other, is fenced off: it ships nothing
    /// more. The first time, the whole file is shipped before this returns.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the file does not know the snapshot that the log is at, and names
    /// both; [`Error::Huon`] if it cannot be read, or written: the shipper names the snapshots in
    /// it that it has shipped; [`Error::Bucket`].
    pub fn start(&self, remote: Arc<Remote>, env: &Env) -> Result<Shipper> {
        let stop = Arc::new(AtomicBool::new(false));
        let pump = Pump::start(remote.clone(), env, self.rebase, stop.clone())?;
        let (n, snapshot) = pump.at();
        let progress = ShipProgress { n, snapshot, covered: snapshot.id, ..START };
        let shared = Arc::new(Shared {
            state: Mutex::new(State { progress, asked: false, stopping: false, ended: None }),
            changed: Condvar::new(),
            stop,
        });
        let patience = remote.raw.patience;
        let (here, every) = (shared.clone(), self.every);
        let thread = thread::Builder::new().name("huon-ship".into());
        let run = thread.spawn(move || here.run(pump, every));
        let thread = run.map_err(|_| Error::Ended("its thread could not be started".into()))?;
        Ok(Shipper { shared, thread: Some(thread), patience })
    }
}

/// How far a shipper is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ShipProgress {
    /// Number of the next record of the log.
    pub n: u64,
    /// The snapshot that the log is at.
    #[serde(skip)]
    pub snapshot: SnapshotName,
    /// All commits up to this id are in the log.
    pub covered: u64,
    /// Segments that this shipper has made.
    pub segments: u64,
    /// Bytes that it has sent in them.
    pub bytes: u64,
}

const START: ShipProgress = ShipProgress {
    n: 0,
    snapshot: SnapshotName { id: 0, checksum: 0 },
    covered: 0,
    segments: 0,
    bytes: 0,
};

struct State {
    progress: ShipProgress,
    /// Whether a caller waits for a commit.
    asked: bool,
    /// Whether the next round is the last one.
    stopping: bool,
    /// Why nothing more is shipped.
    ended: Option<Result<(), Error>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: Arc<AtomicBool>,
}

/// Ships what a file's commits change, as long as it lives.
///
/// The program that commits need not know of it: it may run in any process that can write the file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Str, TableDef, U64};
/// use huon_ship::{Directory, RemoteOptions, ShipOptions};
/// use std::sync::Arc;
/// use std::time::Duration;
/// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
///
/// let env = Env::open(dir.path().join("shop.huon"))?;
/// let bucket = Arc::new(Directory::open(dir.path().join("shipped"))?);
/// let remote = Arc::new(RemoteOptions::new().open_for(bucket, &env)?);
/// let shipper = ShipOptions::new().start(remote, &env)?;
///
/// let id = env.update(|txn| {
///     txn.create_table(&STOCK)?.put(txn, "apple", 12)?;
///     Ok(txn.id())
/// })?;
/// shipper.wait(id, Duration::from_secs(10))?; // Durable on two disks.
/// shipper.stop()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shipper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    patience: Duration,
}

impl Shipper {
    /// Waits until a commit is in the log. Those that wait at the same time share a segment.
    ///
    /// # Errors
    /// [`Error::Timeout`]: it may be shipped later; [`Error::Fenced`]: it was not shipped; others:
    /// the shipper has ended, and it is not known whether its last request will still arrive.
    pub fn wait(&self, id: u64, timeout: Duration) -> Result<()> {
        let end = Instant::now().checked_add(timeout);
        let mut state = self.shared.state();
        if state.progress.covered < id {
            state.asked = true;
            self.shared.changed.notify_all();
        }
        while state.progress.covered < id {
            if let Some(ended) = &state.ended {
                return Err(again(ended));
            }
            state = self.shared.wait(state, end).ok_or(Error::Timeout)?;
        }
        Ok(())
    }

    /// How far it is.
    ///
    /// # Errors
    /// Why it has ended, if it has.
    pub fn progress(&self) -> Result<ShipProgress> {
        let state = self.shared.state();
        match &state.ended {
            Some(Err(error)) => Err(error_again(error)),
            _ => Ok(state.progress),
        }
    }

    /// Ships what was committed by now, and ends: after [`RemoteOptions::patience`] at the latest.
    ///
    /// [`RemoteOptions::patience`]: crate::RemoteOptions::patience
    ///
    /// # Errors
    /// Why not all of it was shipped.
    pub fn stop(mut self) -> Result<ShipProgress> {
        self.shared.end_within(self.patience);
        self.join();
        self.progress()
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It does not panic; what it has to say is in the state.
            let _ = thread.join();
        }
    }
}

impl Drop for Shipper {
    /// Ends it without shipping more.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.changed.notify_all();
        self.join();
    }
}

impl std::fmt::Debug for Shipper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shipper").field("progress", &self.shared.state().progress).finish()
    }
}

/// What those are told that ask after the end.
fn again(ended: &Result<(), Error>) -> Error {
    match ended {
        Ok(()) => Error::Ended("it was stopped".into()),
        Err(error) => error_again(error),
    }
}

fn error_again(error: &Error) -> Error {
    match error {
        Error::Fenced { at, by } => Error::Fenced { at: *at, by: by.clone() },
        other => Error::Ended(other.to_string()),
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change; `None`: the time is over.
    fn wait<'s>(
        &self,
        state: MutexGuard<'s, State>,
        end: Option<Instant>,
    ) -> Option<MutexGuard<'s, State>> {
        const LONG: Duration = Duration::from_secs(3600);
        let left = end.map_or(LONG, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return None;
        }
        let waited = self.changed.wait_timeout(state, left);
        Some(waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Asks the thread for a last round, and for an end when the time is over.
    fn end_within(&self, time: Duration) {
        let end = Instant::now().checked_add(time);
        let mut state = self.state();
        state.stopping = true;
        self.changed.notify_all();
        while state.ended.is_none() {
            let Some(next) = self.wait(state, end) else { break };
            state = next;
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The thread.
    fn run(&self, mut pump: Pump, every: Duration) {
        let ended = loop {
            let is_last = self.pause(every);
            if self.stop.load(Ordering::Relaxed) {
                break Ok(());
            }
            match pump.step() {
                Ok(shipped) => self.tell(&pump, &shipped),
                // A writer holds the lock for long: the next round finds more.
                Err(Error::Huon(huon::Error::Busy(_))) if !is_last => continue,
                Err(error) => break Err(error),
            }
            if is_last {
                break Ok(());
            }
        };
        if matches!(ended, Err(Error::Fenced { .. })) {
            // That it was fenced off says more than that its names are still there.
            let _ = pump.leave();
        }
        self.state().ended = Some(ended);
        self.changed.notify_all();
    }

    fn tell(&self, pump: &Pump, shipped: &Shipped) {
        let progress = &mut self.state().progress;
        (progress.n, progress.snapshot) = pump.at();
        progress.covered = shipped.id;
        progress.segments += u64::from(shipped.is_new);
        progress.bytes += shipped.bytes;
        self.changed.notify_all();
    }

    /// Waits until it is time, or a commit is waited for. Whether it is the last round.
    fn pause(&self, every: Duration) -> bool {
        let end = Instant::now().checked_add(every);
        let mut state = self.state();
        while !state.asked && !state.stopping && !self.stop.load(Ordering::Relaxed) {
            match self.wait(state, end) {
                Some(next) => state = next,
                None => {
                    state = self.state();
                    break;
                }
            }
        }
        // What asks from here on is for the round after.
        state.asked = false;
        state.stopping
    }
}
