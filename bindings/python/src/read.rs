//! Read transactions.
//!
//! 1. A transaction with views neither ends nor changes its snapshot; `__exit__` is the exception:
//!    it ends for its user at once, and lets the snapshot go with the last view.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::bytes::{Name, shown};
use crate::catalog::{self, Types, Wanted};
use crate::fault::{ENDED, Fault, Res};
use crate::functions::Functions;
use crate::order;
use crate::seat::Seat;

const PARKED: Fault = Fault::Misuse("the transaction is parked: unpark it first");

pub(crate) enum Stage {
    Open(huon::ReadTxn),
    Parked(huon::Parked),
    Ended,
}

/// What the handles of a read transaction share.
pub(crate) struct Reading {
    stage: RwLock<Stage>,
    /// Memory views that show bytes of it.
    views: AtomicUsize,
    /// It ends with its last view.
    leaving: AtomicBool,
    pub(crate) functions: Arc<Functions>,
    pub(crate) releases: bool,
}

/// The engine's transaction, kept open.
pub(crate) struct Opened<'a>(RwLockReadGuard<'a, Stage>);

impl Deref for Opened<'_> {
    type Target = huon::ReadTxn;

    #[inline]
    fn deref(&self) -> &huon::ReadTxn {
        match &*self.0 {
            Stage::Open(txn) => txn,
            _ => unreachable!("it was looked at when it was opened"),
        }
    }
}

impl Reading {
    pub(crate) fn new(
        txn: huon::ReadTxn,
        functions: Arc<Functions>,
        releases: bool,
    ) -> Arc<Reading> {
        Arc::new(Reading {
            stage: RwLock::new(Stage::Open(txn)),
            views: AtomicUsize::new(0),
            leaving: AtomicBool::new(false),
            functions,
            releases,
        })
    }

    #[inline]
    pub(crate) fn opened(&self) -> Res<Opened<'_>> {
        let stage = match self.stage.try_read() {
            Ok(stage) => stage,
            Err(TryLockError::Poisoned(stage)) => stage.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Fault::InUse),
        };
        match &*stage {
            Stage::Open(_) if !self.leaving.load(Ordering::Relaxed) => Ok(Opened(stage)),
            Stage::Parked(_) => Err(PARKED),
            _ => Err(ENDED),
        }
    }

    /// Alone with it, and with no view that shows it.
    fn alone(&self) -> Res<RwLockWriteGuard<'_, Stage>> {
        let stage = match self.stage.try_write() {
            Ok(stage) => stage,
            Err(TryLockError::Poisoned(stage)) => stage.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Fault::InUse),
        };
        if self.views.load(Ordering::Acquire) > 0 {
            let text = "memory views show bytes of the transaction: release them first";
            return Err(Fault::Raised(PyBufferError::new_err(text)));
        }
        Ok(stage)
    }

    fn end(&self) -> Res<()> {
        *self.alone()? = Stage::Ended;
        Ok(())
    }

    pub(crate) fn add_view(&self) {
        self.views.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn drop_view(&self) {
        if self.views.fetch_sub(1, Ordering::AcqRel) == 1 && self.leaving.load(Ordering::Acquire) {
            // Where another thread uses it at this moment, it ends when it is forgotten.
            let _ = self.end();
        }
    }

    /// Changes the stage from the open one, which is gone if `change` fails.
    fn turn(&self, change: impl FnOnce(Stage) -> Res<Stage>) -> Res<()> {
        let mut stage = self.alone()?;
        *stage = change(std::mem::replace(&mut *stage, Stage::Ended))?;
        Ok(())
    }
}

/// A snapshot of all tables: a mapping of their names.
#[pyclass(frozen, module = "huon")]
pub(crate) struct ReadTxn {
    pub(crate) reading: Arc<Reading>,
}

impl ReadTxn {
    pub(crate) fn seat(&self) -> Seat {
        Seat::Read(self.reading.clone())
    }
}

#[pymethods]
impl ReadTxn {
    /// The number of the snapshot.
    #[getter]
    fn id(&self) -> Res<u64> {
        Ok(self.reading.opened()?.id())
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        let leaving = self.reading.leaving.load(Ordering::Relaxed);
        leaving || matches!(self.reading.stage.try_read().as_deref(), Ok(Stage::Ended))
    }

    /// How many commits, or more, came after the snapshot.
    #[getter]
    fn ids_behind(&self) -> Res<u64> {
        Ok(self.reading.opened()?.ids_behind())
    }

    /// Opens a table; `multi` says of which kind it must be.
    /// `key_type` and `value_type` name the types of what it holds, which are checked. `order`, and
    /// `value_order` of a multimap, are those that it was made with: see `WriteTxn.table`.
    #[pyo3(signature = (
        name, *, multi=None, key_type="", value_type="", order=None, value_order=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn table<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        multi: Option<bool>,
        key_type: &str,
        value_type: &str,
        order: Option<Bound<'py, PyAny>>,
        value_order: Option<Bound<'py, PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        let functions = &self.reading.functions;
        let [keys, values] = [order, value_order]
            .map(|given| given.map(|given| order::order(&given, functions)).transpose());
        let (keys, values) = (keys?, values?);
        let orders = (keys.as_ref(), values.as_ref());
        let types = Types { names: (key_type, value_type), value_bytes: None, orders };
        catalog::opened(py, self.seat(), &name, Wanted::of(multi), types)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: Name<'_>) -> Res<Bound<'py, PyAny>> {
        catalog::opened(py, self.seat(), &name, Wanted::Any, catalog::ANY)
    }

    /// The table of that name; `default` if it is missing.
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Res<Option<Bound<'py, PyAny>>> {
        Ok(catalog::found_table(py, self.seat(), &name)?.or(default))
    }

    fn __contains__(&self, name: Name<'_>) -> Res<bool> {
        catalog::exists(&self.seat(), &name)
    }

    /// The names of all tables, in order.
    fn tables<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyList>> {
        let names = self.reading.opened()?.table_names()?;
        Ok(PyList::new(py, names.iter().map(|name| shown(py, name)))?)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        Ok(self.tables(py)?.try_iter()?.into_any())
    }

    fn __len__(&self) -> Res<usize> {
        Ok(self.reading.opened()?.table_names()?.len())
    }

    /// A view of the names of all tables.
    fn keys<'py>(slf: &Bound<'py, Self>) -> Res<Bound<'py, PyAny>> {
        catalog::view(slf, "KeysView")
    }

    /// A view of all tables.
    fn values<'py>(slf: &Bound<'py, Self>) -> Res<Bound<'py, PyAny>> {
        catalog::view(slf, "ValuesView")
    }

    /// A view of all names with their tables.
    fn items<'py>(slf: &Bound<'py, Self>) -> Res<Bound<'py, PyAny>> {
        catalog::view(slf, "ItemsView")
    }

    /// Moves on to the newest snapshot; says whether there was a newer one.
    fn renew(&self) -> Res<bool> {
        match &mut *self.reading.alone()? {
            Stage::Open(txn) => Ok(txn.renew()?),
            Stage::Parked(_) => Err(PARKED),
            Stage::Ended => Err(ENDED),
        }
    }

    /// Puts the transaction aside: a writer that needs its pages may evict it.
    fn park(&self) -> Res<()> {
        self.reading.turn(|stage| match stage {
            Stage::Open(txn) => Ok(Stage::Parked(txn.park()?)),
            Stage::Parked(parked) => Ok(Stage::Parked(parked)),
            Stage::Ended => Err(ENDED),
        })
    }

    /// Goes on with a parked transaction; `EvictedError` if a writer evicted it.
    fn unpark(&self) -> Res<()> {
        self.reading.turn(|stage| match stage {
            Stage::Parked(parked) => Ok(Stage::Open(parked.unpark()?)),
            Stage::Open(txn) => Ok(Stage::Open(txn)),
            Stage::Ended => Err(ENDED),
        })
    }

    /// Whether it is parked.
    #[getter]
    fn parked(&self) -> bool {
        matches!(self.reading.stage.try_read().as_deref(), Ok(Stage::Parked(_)))
    }

    /// Ends the transaction; again is fine. `BufferError` while memory views show its bytes.
    fn close(&self) -> Res<()> {
        self.reading.end()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        kind: Option<Bound<'_, PyType>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> Res<()> {
        self.reading.end().or_else(|fault| {
            self.reading.leaving.store(true, Ordering::Release);
            // The exception that is on its way is the one that matters.
            if kind.is_some() { Ok(()) } else { Err(fault) }
        })
    }

    fn __repr__(&self) -> String {
        match self.reading.opened() {
            Ok(txn) => format!("<huon.ReadTxn of snapshot {}>", txn.id()),
            Err(_) if self.parked() => "<huon.ReadTxn, parked>".into(),
            Err(_) => "<huon.ReadTxn, ended>".into(),
        }
    }
}
