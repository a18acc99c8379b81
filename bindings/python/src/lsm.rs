//! The write-optimised tables of an environment.
//!
//! 1. They are closed with the environment, and then no object of theirs keeps the file open: all
//!    ask here for the engine's handle at each call.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use huon_lsm::{Combined, LsmDef, RawLsmTable};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyType};

use crate::batch::LsmBatch;
use crate::bytes::{Data, Name, shown};
use crate::compactor::{Compactor, Threads};
use crate::env::Env;
use crate::fault::{Fault, Res, of_function, value_error};
use crate::functions::{Function, Functions};
use crate::lsm_mapping::LsmMapping;
use crate::read::ReadTxn;
use crate::seat::{Seat, look};
use crate::write::WriteTxn;

const CLOSED: Fault = Fault::Misuse("the write-optimised tables are closed, or their environment");

/// What the objects of the write-optimised tables share.
pub(crate) struct Tables {
    state: Mutex<Option<State>>,
    functions: Arc<Functions>,
}

struct State {
    lsm: huon_lsm::Lsm,
    tables: Vec<RawLsmTable>,
    threads: Vec<Weak<Threads>>,
}

impl Tables {
    pub(crate) fn new(lsm: huon_lsm::Lsm, functions: Arc<Functions>) -> Arc<Tables> {
        let state = State { lsm, tables: Vec::new(), threads: Vec::new() };
        Arc::new(Tables { state: Mutex::new(Some(state)), functions })
    }

    /// Only for moments in which the interpreter lock is held.
    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn lsm(&self) -> Res<huon_lsm::Lsm> {
        self.state().as_ref().map(|state| state.lsm.clone()).ok_or(CLOSED)
    }

    /// Closes them, and ends their threads; returns what went wrong in those.
    pub(crate) fn close(&self, py: Python<'_>) -> Res<()> {
        let Some(state) = self.state().take() else { return Ok(()) };
        let threads = state.threads.iter().filter_map(Weak::upgrade);
        let ended = threads.map(|threads| threads.stop(py)).fold(Ok(()), Result::and);
        py.detach(|| drop(state));
        ended
    }
}

/// A write-optimised table, as long as it can be used.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) tables: Arc<Tables>,
    at: usize,
}

impl Handle {
    /// The engine's handle, for one call.
    pub(crate) fn raw(&self) -> Res<RawLsmTable> {
        let state = self.tables.state();
        state.as_ref().map(|state| state.tables[self.at].clone()).ok_or(CLOSED)
    }
}

/// A transaction, of either kind.
pub(crate) fn seat(txn: &Bound<'_, PyAny>) -> Res<Seat> {
    if let Ok(read) = txn.cast::<ReadTxn>() {
        return Ok(read.get().seat());
    }
    if let Ok(write) = txn.cast::<WriteTxn>() {
        return Ok(write.get().seat());
    }
    let text = format!("a transaction is required, not '{}'", txn.get_type().name()?);
    Err(Fault::Raised(PyTypeError::new_err(text)))
}

/// The write-optimised tables of an environment; see `Env.lsm`.
#[pyclass(frozen, weakref, module = "huon")]
pub(crate) struct Lsm {
    pub(crate) tables: Arc<Tables>,
    pub(crate) env: Py<Env>,
}

#[pymethods]
impl Lsm {
    /// The environment.
    #[getter]
    fn env(&self, py: Python<'_>) -> Py<Env> {
        self.env.clone_ref(py)
    }

    /// Whether they were closed, by themselves or with the environment.
    #[getter]
    fn closed(&self) -> bool {
        self.tables.state().is_none()
    }

    /// A table, which need not exist: it is made by the first record that is put into it. `merge`
    /// says how `LsmMapping.merge` works: a name, which the table keeps, and a function of the
    /// older and the newer of two values that returns the one that they come to.
    #[pyo3(signature = (name, *, merge=None))]
    fn table(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        merge: Option<(String, Bound<'_, PyAny>)>,
    ) -> Res<LsmTable> {
        let lsm = self.tables.lsm()?;
        let mut def = LsmDef::named(&*name);
        if let Some((operator, function)) = merge {
            if !function.is_callable() {
                return Err(Fault::Raised(PyTypeError::new_err("merge is a name and a function")));
            }
            let what = [b"merge\0", &*name, b"\0", operator.as_bytes()].concat();
            let function = self.tables.functions.first(py, &what, function.as_unbound());
            def = def.merged_by(&operator, move |older, newer, both| {
                merged(&function, older, newer, both)
            });
        }
        let raw = py.detach(|| lsm.table(&def))?;
        let mut state = self.tables.state();
        let tables = &mut state.as_mut().ok_or(CLOSED)?.tables;
        let at = tables.iter().position(|known| known.name() == raw.name());
        let at = at.unwrap_or_else(|| {
            tables.push(raw);
            tables.len() - 1
        });
        let handle = Handle { tables: self.tables.clone(), at };
        Ok(LsmTable { handle, name: (*name).into() })
    }

    /// The names of the tables that a transaction shows, in order. What a transaction that writes
    /// has only collected is not among them.
    fn names<'py>(&self, py: Python<'py>, txn: &Bound<'py, PyAny>) -> Res<Bound<'py, PyList>> {
        let lsm = self.tables.lsm()?;
        let names = look!(&seat(txn)?, |txn| lsm.table_names(txn))?;
        Ok(PyList::new(py, names.iter().map(|name| shown(py, name)))?)
    }

    /// A batch of changes that are collected without a transaction; see `write`.
    fn batch(&self) -> Res<LsmBatch> {
        Ok(LsmBatch::new(self.tables.lsm()?.batch()))
    }

    /// Writes a batch in a transaction of its own, or in one with those of other threads that wait
    /// meanwhile, and empties it; returns the number of the snapshot. It waits for other
    /// transactions as long as the `lock_timeout` of the environment says.
    fn write(&self, py: Python<'_>, batch: &Bound<'_, LsmBatch>) -> Res<u64> {
        let lsm = self.tables.lsm()?;
        if self.env.get().thread_writes() == Some(true) {
            return Err(huon::Error::ThreadWrites.into());
        }
        let taken = batch.get().taken()?;
        Ok(py.detach(move || lsm.write(taken))?)
    }

    /// Merges runs in this thread, of one table or of all, beside others that read and write.
    /// `work`: `due`, what is due; `all`, all runs of each table to one; `shorten`, no runs: the
    /// file becomes shorter. `progress` is called with the number of steps after each, and while it
    /// waits for merges of others. Returns how many steps it has made.
    #[pyo3(signature = (table=None, *, work="due", progress=None))]
    fn compact(
        &self,
        py: Python<'_>,
        table: Option<Name<'_>>,
        work: &str,
        progress: Option<Py<PyAny>>,
    ) -> Res<u64> {
        let mut compactor = self.tables.lsm()?.compactor();
        if let Some(name) = table {
            compactor = compactor.for_table(&*name);
        }
        let mut steps = Steps { function: progress, count: 0, raised: None };
        let tell = &mut steps;
        let done = match work {
            "due" => py.detach(|| compactor.run_until_idle_with(&mut |count| tell.tell(count))),
            "all" => py.detach(|| compactor.merge_all_with(&mut |count| tell.tell(count))),
            "shorten" => py.detach(|| {
                compactor.shorten_with(&mut || tell.tell(tell.count + 1)).map(|()| tell.count)
            }),
            _ => {
                let text = format!("work is one of due, all, shorten, and not {work}");
                return Err(value_error(text));
            }
        };
        match steps.raised {
            Some(raised) => Err(Fault::Raised(raised)),
            None => Ok(done?),
        }
    }

    /// Starts threads that merge what is due, and when nothing is committed for a second all there
    /// is, until what this returns is stopped, or forgotten.
    fn compactor(&self, py: Python<'_>) -> Res<Compactor> {
        let compactor = self.tables.lsm()?.compactor();
        let threads = Threads::new(py.detach(|| compactor.spawn())?);
        let mut state = self.tables.state();
        let known = &mut state.as_mut().ok_or(CLOSED)?.threads;
        known.retain(|threads| threads.strong_count() > 0);
        known.push(Arc::downgrade(&threads));
        drop(state);
        Compactor::new(py, threads)
    }

    /// Closes them, and stops their threads; again is fine. Transactions keep what they have
    /// collected.
    fn close(&self, py: Python<'_>) -> Res<()> {
        self.tables.close(py)
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

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.env)
    }

    fn __repr__(&self) -> &'static str {
        if self.closed() { "<huon.Lsm, closed>" } else { "<huon.Lsm>" }
    }
}

/// What a function of the caller's makes of two values.
fn merged(
    function: &Function,
    older: &[u8],
    newer: &[u8],
    both: &mut Combined<huon::Bytes>,
) -> huon::Result<()> {
    let made = function.with(|py, function| {
        let made = function.call1((PyBytes::new(py, older), PyBytes::new(py, newer)))?;
        Ok(made.extract::<Data<'_>>()?.into_vec())
    });
    both.set(&made.map_err(of_function)?)
}

/// What is told of the steps of a compaction, and asked after each: signals, and a function.
struct Steps {
    function: Option<Py<PyAny>>,
    count: u64,
    raised: Option<PyErr>,
}

impl Steps {
    fn tell(&mut self, count: u64) -> ControlFlow<()> {
        self.count = count;
        let asked = Python::try_attach(|py| {
            py.check_signals()?;
            self.function.as_ref().map_or(Ok(()), |tell| tell.call1(py, (count,)).map(drop))
        });
        match asked {
            Some(Ok(())) | None => ControlFlow::Continue(()),
            Some(Err(raised)) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

/// A write-optimised table. It belongs to no transaction: `open` shows what one has of it.
#[pyclass(frozen, module = "huon")]
pub(crate) struct LsmTable {
    pub(crate) handle: Handle,
    name: Box<[u8]>,
}

#[pymethods]
impl LsmTable {
    /// The name of the table: `str`, or `bytes` that are not UTF-8.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        shown(py, &self.name)
    }

    /// The table in a transaction of its environment: a mapping of `bytes` to `bytes`.
    fn open(&self, txn: &Bound<'_, PyAny>) -> Res<LsmMapping> {
        self.handle.raw()?;
        let seat = seat(txn)?;
        look!(&seat, |_txn| ());
        Ok(LsmMapping::new(seat, self.handle.clone(), self.name.clone()))
    }

    fn __repr__(&self, py: Python<'_>) -> Res<String> {
        Ok(format!("<huon.LsmTable {}>", shown(py, &self.name).repr()?))
    }
}
