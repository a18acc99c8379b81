//! Threads that merge the runs of write-optimised tables.
//!
//! 1. They are waited for without the interpreter lock, which a function that merges takes.
//! 2. They end before the interpreter does: a thread that takes the interpreter lock of one that
//!    ends is stopped in the middle of whatever it does.

use std::sync::{Arc, Mutex, Weak};

use huon::Error;
use huon_lsm::CompactorThread;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::fault::Res;

/// Threads, until they are stopped.
pub(crate) struct Threads(Mutex<Option<CompactorThread>>);

/// All that run.
static ALL: Mutex<Vec<Weak<Threads>>> = Mutex::new(Vec::new());

impl Threads {
    pub(crate) fn new(threads: CompactorThread) -> Arc<Threads> {
        let threads = Arc::new(Threads(Mutex::new(Some(threads))));
        let mut all = locked(&ALL);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&threads));
        threads
    }

    /// Stops them and waits for them; what went wrong in them is returned once.
    pub(crate) fn stop(&self, py: Python<'_>) -> Res<()> {
        let Some(threads) = locked(&self.0).take() else { return Ok(()) };
        match py.detach(|| threads.stop()) {
            // They are those of the process that has forked this one.
            Err(Error::Forked) => Ok(()),
            stopped => Ok(stopped?),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(threads) = locked(&self.0).take() else { return };
        let mut threads = Some(threads);
        Python::try_attach(|py| py.detach(|| drop(threads.take())));
        // They were begun while the interpreter ended, and may wait for its lock for ever.
        std::mem::forget(threads);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Only for moments in which the interpreter lock is held.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Stops all threads that merge: before the interpreter ends.
#[pyfunction]
pub(crate) fn _stop_compactors(py: Python<'_>) {
    let all = std::mem::take(&mut *locked(&ALL));
    for threads in all.iter().filter_map(Weak::upgrade) {
        let _ = threads.stop(py);
    }
}

/// Threads that merge runs until `stop`, or the end of a `with` block; see `Lsm.compactor`.
#[pyclass(frozen, module = "huon")]
pub(crate) struct Compactor {
    threads: Arc<Threads>,
}

impl Compactor {
    pub(crate) fn new(py: Python<'_>, threads: Arc<Threads>) -> Res<Compactor> {
        static AT_EXIT: PyOnceLock<()> = PyOnceLock::new();
        AT_EXIT.get_or_try_init(py, || {
            let stop = py.import("huon._huon")?.getattr("_stop_compactors")?;
            py.import("atexit")?.call_method1("register", (stop,)).map(drop)
        })?;
        Ok(Compactor { threads })
    }
}

#[pymethods]
impl Compactor {
    /// Whether a thread has ended by itself: by an error, which `stop` raises.
    #[getter]
    fn failed(&self) -> bool {
        locked(&self.threads.0).as_ref().is_some_and(CompactorThread::has_failed)
    }

    /// Whether it was stopped.
    #[getter]
    fn stopped(&self) -> bool {
        locked(&self.threads.0).is_none()
    }

    /// Stops the threads after the step that they are in, and waits for that; again is fine. What
    /// has ended one of them is raised. In a forked child, which has none, it does nothing.
    fn stop(&self, py: Python<'_>) -> Res<()> {
        self.threads.stop(py)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyType>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> Res<()> {
        let stopped = self.stop(py);
        // The exception that is on its way is the one that matters.
        if kind.is_some() { Ok(()) } else { stopped }
    }

    fn __repr__(&self) -> &'static str {
        if self.stopped() { "<huon.Compactor, stopped>" } else { "<huon.Compactor>" }
    }
}
