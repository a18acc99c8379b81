//! Environments: open files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock, TryLockError, Weak};
use std::time::{Duration, Instant};

use huon::Error;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::care;
use crate::fault::{Fault, Res, value_error};
use crate::functions::Functions;
use crate::lsm::{Lsm, Tables};
use crate::options;
use crate::read::{ReadTxn, Reading};
use crate::write::{WriteTxn, Writer};

const CLOSED: Fault = Fault::Misuse("the environment is closed");

/// So long signals have to wait while a lock is waited for.
const SLICE: Duration = Duration::from_millis(50);
/// A wait for the writer lock has a slice as long as the engine takes to find that the thread waits
/// for itself, after so many short ones, and again and again: the process may have been stopped.
const LONG_SLICE: Duration = Duration::from_millis(700);
const SHORT_SLICES: u32 = 4;

/// Seconds, as a duration.
pub(crate) fn seconds(count: f64) -> Res<Duration> {
    options::duration(count)
        .ok_or_else(|| value_error("a time is a number of seconds, and not below 0"))
}

/// A wait in slices, without the interpreter lock, and with a look at signals between them.
pub(crate) struct Wait {
    end: Option<Instant>,
    long: bool,
}

impl Wait {
    pub(crate) fn new(timeout: Duration) -> Wait {
        Wait { end: Instant::now().checked_add(timeout), long: false }
    }

    /// Tries until there is an answer, or the time is over.
    pub(crate) fn slices<T: Send>(
        &self,
        py: Python<'_>,
        mut attempt: impl FnMut(Duration) -> huon::Result<Option<T>> + Send,
    ) -> Res<Option<T>> {
        for number in 0_u32.. {
            py.check_signals()?;
            let now = Instant::now();
            let left = self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(now));
            let is_long = self.long && number % (SHORT_SLICES + 1) == SHORT_SLICES;
            let slice = if is_long { LONG_SLICE } else { SLICE };
            if let Some(answer) = py.detach(|| attempt(slice.min(left)))? {
                return Ok(Some(answer));
            }
            if left <= slice {
                break;
            }
        }
        Ok(None)
    }
}

/// An open environment. Threads and forked children share it.
#[pyclass(frozen, weakref, module = "huon")]
pub(crate) struct Env {
    env: RwLock<Option<huon::Env>>,
    path: Option<PathBuf>,
    /// The write transaction that was begun last, and the process that did.
    writer: Mutex<(Weak<Writer>, u32)>,
    functions: Arc<Functions>,
    /// What is closed with it.
    lsms: Mutex<Vec<Weak<Tables>>>,
    releases: bool,
}

impl Env {
    pub(crate) fn new(
        env: huon::Env,
        path: Option<PathBuf>,
        functions: Arc<Functions>,
        releases: bool,
    ) -> Env {
        let (env, writer) = (RwLock::new(Some(env)), Mutex::new((Weak::new(), 0)));
        Env { env, path, writer, functions, lsms: Mutex::default(), releases }
    }

    /// The engine's handle, for one call.
    pub(crate) fn env(&self) -> Res<huon::Env> {
        let env = match self.env.try_read() {
            Ok(env) => env,
            Err(TryLockError::Poisoned(env)) => env.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Fault::InUse),
        };
        env.clone().ok_or(CLOSED)
    }

    /// The same for a write transaction of its own, which must not wait for this thread's.
    fn env_to_write(&self) -> Res<huon::Env> {
        if self.thread_writes() == Some(true) {
            return Err(Error::ThreadWrites.into());
        }
        self.env()
    }

    /// Whether this thread has the write transaction: a wait for it would have no end. `None`: no
    /// thread has it, as far as is known here.
    pub(crate) fn thread_writes(&self) -> Option<bool> {
        let writer = self.writer.try_lock().ok()?;
        let (writer, process) = &*writer;
        let writer = writer.upgrade().filter(|_| *process == std::process::id())?;
        writer.is_open().then(|| writer.is_of_this_thread())
    }
}

#[pymethods]
impl Env {
    /// Where its file lies; `None` for one in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.env.try_read().is_ok_and(|env| env.is_none())
    }

    /// Begins a read transaction: a snapshot of the newest commit, or the one named `snapshot`
    /// (`KeyError` if there is none). Never waits.
    #[pyo3(signature = (*, snapshot=None))]
    fn read(&self, snapshot: Option<&str>) -> Res<ReadTxn> {
        let env = self.env()?;
        let txn = match snapshot {
            Some(name) => care::named(&env, name)?.into_txn(),
            None => env.read()?,
        };
        Ok(ReadTxn { reading: Reading::new(txn, self.functions.clone(), self.releases) })
    }

    /// Gives the newest snapshot a name, and so keeps it in the file, over restarts, until
    /// `drop_snapshot`; returns which it is. One that has the name so far is dropped.
    fn name_snapshot<'py>(&self, py: Python<'py>, name: &str) -> Res<Bound<'py, PyAny>> {
        let env = self.env_to_write()?;
        let named = py.detach(|| {
            let capture = env.capture()?;
            env.update(|txn| txn.name_snapshot(name, &capture))?;
            huon::Result::Ok(capture.image().name())
        })?;
        care::shown(py, &named)
    }

    /// Takes its name away from a snapshot; says whether there was one.
    fn drop_snapshot(&self, py: Python<'_>, name: &str) -> Res<bool> {
        let env = self.env_to_write()?;
        Ok(py.detach(|| env.update(|txn| txn.drop_snapshot(name)))?)
    }

    /// The named snapshots, the oldest first.
    fn named_snapshots<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        care::shown(py, &self.env()?.named_snapshots()?)
    }

    /// Begins the one write transaction, and waits for another one at most `timeout` seconds
    /// (default: the `lock_timeout` of the environment). `durability`: what its commit waits for.
    #[pyo3(signature = (*, timeout=None, durability=None))]
    fn write(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        durability: Option<&str>,
    ) -> Res<WriteTxn> {
        if self.thread_writes() == Some(true) {
            return Err(Error::ThreadWrites.into());
        }
        self.begin(py, timeout, durability, true)
    }

    /// The same for a transaction that moves between threads: `huon.aio`.
    #[pyo3(signature = (*, timeout=None, durability=None))]
    fn _write_moving(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        durability: Option<&str>,
    ) -> Res<WriteTxn> {
        self.begin(py, timeout, durability, false)
    }

    /// Sleeps until there is a commit after the snapshot `after`, by any thread or process, and
    /// returns the number of the newest one; `None` after `timeout` seconds.
    #[pyo3(signature = (after, timeout=None))]
    fn wait_for_commit(
        &self,
        py: Python<'_>,
        after: u64,
        timeout: Option<f64>,
    ) -> Res<Option<u64>> {
        let (env, timeout) = (self.env()?, timeout.map(seconds).transpose()?);
        Wait::new(timeout.unwrap_or(Duration::MAX))
            .slices(py, |slice| env.wait_for_commit(after, slice))
    }

    /// Makes everything that was committed durable; returns the number of the newest durable
    /// snapshot.
    fn sync(&self, py: Python<'_>) -> Res<u64> {
        let env = self.env()?;
        Ok(py.detach(|| env.sync())?)
    }

    /// Makes a checkpoint if `flush_after_bytes` or `flush_after` ask for one; says whether it did.
    fn flush_if_due(&self, py: Python<'_>) -> Res<bool> {
        let env = self.env()?;
        Ok(py.detach(|| env.flush_if_due())?)
    }

    /// The number of the newest durable snapshot.
    #[getter]
    fn durable_id(&self) -> Res<u64> {
        Ok(self.env()?.durable_id())
    }

    /// How the snapshot that this process started from was found: `new`, `clean`, `newest`,
    /// `flushed`, `stepped_back`, `by_hand`, `replayed`, `journal_given_up`.
    #[getter]
    fn recovery<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        care::shown(py, &self.env()?.recovery())
    }

    /// What a commit waits for.
    #[getter]
    fn durability(&self) -> Res<&'static str> {
        Ok(options::durability_word(self.env()?.durability()))
    }

    /// Changes settings of this opening of the environment; what is not named stays.
    #[pyo3(signature = (
        *, durability=None, flush_after_bytes=None, flush_after=None, lock_timeout=None,
    ))]
    fn configure(
        &self,
        durability: Option<&str>,
        flush_after_bytes: Option<u64>,
        flush_after: Option<f64>,
        lock_timeout: Option<f64>,
    ) -> Res<()> {
        let env = self.env()?;
        let mut settings = env.settings();
        options::change_settings(
            &mut settings,
            durability,
            flush_after_bytes,
            flush_after,
            lock_timeout,
        )?;
        env.set_settings(settings);
        Ok(())
    }

    /// Flushes and closes it; again is fine. Transactions that are open go on until they end, and
    /// the file is closed with the last of them.
    fn close(&self, py: Python<'_>) -> Res<()> {
        let env = match self.env.try_write() {
            Ok(mut env) => env.take(),
            Err(TryLockError::Poisoned(env)) => env.into_inner().take(),
            Err(TryLockError::WouldBlock) => return Err(Fault::InUse),
        };
        let Some(env) = env else { return Ok(()) };
        let lsms = self.lsms.try_lock().map(|mut lsms| std::mem::take(&mut *lsms));
        // What went wrong in their threads must not keep the environment open.
        let lsms = lsms.into_iter().flatten().filter_map(|lsm| lsm.upgrade());
        let ended = lsms.map(|lsm| lsm.close(py)).fold(Ok(()), Result::and);
        py.detach(|| env.close())?;
        ended
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Option<Bound<'_, PyType>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> Res<()> {
        self.close(py)
    }

    /// Its write-optimised tables, with options of how they are kept. The first four are stored
    /// with a table when it is made. They are closed with the environment.
    #[pyo3(signature = (
        *, fan=None, filter_bits=None, small=None, open_bytes=None, base_bytes=None,
        step_bytes=None, batch_bytes=None, filter_memory=None, slack=None, runs_max=None,
        lease=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn lsm(
        slf: &Bound<'_, Self>,
        fan: Option<u16>,
        filter_bits: Option<u16>,
        small: Option<u32>,
        open_bytes: Option<u32>,
        base_bytes: Option<u64>,
        step_bytes: Option<usize>,
        batch_bytes: Option<usize>,
        filter_memory: Option<usize>,
        slack: Option<usize>,
        runs_max: Option<usize>,
        lease: Option<f64>,
    ) -> Res<Lsm> {
        let base = huon_lsm::LsmOptions::default();
        let options = huon_lsm::LsmOptions {
            fan: fan.unwrap_or(base.fan),
            filter_bits: filter_bits.unwrap_or(base.filter_bits),
            small: small.unwrap_or(base.small),
            open_bytes: open_bytes.unwrap_or(base.open_bytes),
            base_bytes: base_bytes.unwrap_or(base.base_bytes),
            step_bytes: step_bytes.unwrap_or(base.step_bytes),
            batch_bytes: batch_bytes.unwrap_or(base.batch_bytes),
            filter_memory: filter_memory.unwrap_or(base.filter_memory),
            slack: slack.unwrap_or(base.slack),
            runs_max: runs_max.unwrap_or(base.runs_max),
            lease: lease.map(seconds).transpose()?.unwrap_or(base.lease),
        };
        let env = slf.get();
        let lsm = huon_lsm::Lsm::with_options(&env.env()?, options)?;
        let tables = Tables::new(lsm, env.functions.clone());
        let mut lsms = env.lsms.try_lock().map_err(|_| Fault::InUse)?;
        lsms.retain(|lsm| lsm.strong_count() > 0);
        lsms.push(Arc::downgrade(&tables));
        Ok(Lsm { tables, env: slf.clone().unbind() })
    }

    // ---- care

    /// The state of the environment: sizes, snapshots, readers, counts of what was written.
    fn info<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        care::shown(py, &self.env()?.info()?)
    }

    /// Where the space is: what is live, free, retained and by which readers, and each table.
    fn stat<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        let env = self.env()?;
        care::shown(py, &py.detach(|| env.stat())?)
    }

    /// Verifies every page of the newest snapshot; the report's `problems` are what was found.
    /// `progress` is called with the bytes done and those in all.
    #[pyo3(signature = (*, progress=None))]
    fn check<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> Res<Bound<'py, PyAny>> {
        care::check(py, &self.env()?, progress)
    }

    /// Copies a snapshot while writers go on: to a path where there is no file yet, to an open
    /// file descriptor, or to an object with `write`. `compact` builds it anew, without free
    /// space; `snapshot` is the one to copy, and else the newest. Returns `{"txnid", "bytes"}`.
    #[pyo3(signature = (target, *, compact=false, snapshot=None, mode=0o600, progress=None))]
    fn copy<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'py, PyAny>,
        compact: bool,
        snapshot: Option<&Bound<'py, ReadTxn>>,
        mode: u32,
        progress: Option<Py<PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        let reading = snapshot.map(|txn| txn.get().reading.clone());
        care::copy(py, &self.env()?, target, (compact, mode), reading, progress)
    }

    /// Writes the pages of the newest snapshot, or of the one named `snapshot`, to a new file, an
    /// open file descriptor or an object with `write`: a backup. With `since`, the `snapshot` of
    /// another backup's report, only what changed after it. Returns a report.
    #[pyo3(signature = (target, *, since=None, snapshot=None, progress=None))]
    fn backup<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'py, PyAny>,
        since: Option<&Bound<'py, PyDict>>,
        snapshot: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        let env = self.env()?;
        let capture = match snapshot {
            Some(name) => care::named(&env, name)?,
            None => env.capture()?,
        };
        care::backup(py, &capture, target, since, progress)
    }

    /// Makes the file shorter, in short transactions beside others, until it has at most `target`
    /// times its live pages, or `time_limit` seconds are over. Returns a report.
    #[pyo3(signature = (*, target=1.1, time_limit=None, durability=None, progress=None))]
    fn compact<'py>(
        &self,
        py: Python<'py>,
        target: f64,
        time_limit: Option<f64>,
        durability: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        let time = time_limit.map(seconds).transpose()?;
        let durability = durability.map(options::durability).transpose()?;
        care::compact(py, &self.env()?, (target, time, durability), progress)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.functions.traverse(&visit)
    }

    fn __clear__(&self) {
        self.functions.clear();
    }

    fn __repr__(&self) -> String {
        let state = if self.closed() { ", closed" } else { "" };
        match &self.path {
            Some(path) => format!("<huon.Env {}{state}>", path.display()),
            None => format!("<huon.Env in memory{state}>"),
        }
    }
}

impl Env {
    fn begin(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        durability: Option<&str>,
        stays: bool,
    ) -> Res<WriteTxn> {
        let env = self.env()?;
        let durability = durability.map(options::durability).transpose()?;
        let timeout = match timeout {
            Some(timeout) => seconds(timeout)?,
            None => env.settings().lock_timeout,
        };
        let mut busy = None;
        let wait = Wait { long: stays, ..Wait::new(timeout) };
        let begun = wait.slices(py, |slice| match env.write_within(slice) {
            Ok(txn) => Ok(Some(txn)),
            Err(error @ Error::Busy(_)) => {
                busy = Some(error);
                Ok(None)
            }
            // It moves, or has moved, so another thread ends it.
            Err(error @ Error::ThreadWrites) if !stays || self.thread_writes() == Some(false) => {
                busy = Some(error);
                Ok(None)
            }
            Err(error) => Err(error),
        })?;
        let Some(txn) = begun else {
            return Err(busy
                .unwrap_or_else(|| Error::Busy("another transaction writes".into()))
                .into());
        };
        let txn = WriteTxn::begin(txn, durability, self.releases, self.functions.clone());
        if let Ok(mut writer) = self.writer.try_lock() {
            *writer = (Arc::downgrade(txn.writer()), std::process::id());
        }
        Ok(txn)
    }
}
