//! Write transactions, and those nested in them.
//!
//! 1. Levels: the outermost transaction and the open nested ones, the newest of which alone can be
//!    used. A nested one is a savepoint of the engine's, named by the number of its level.
//! 2. A level that no handle leads to any more is undone, with those above it.
//! 3. While a bulk load takes records from an iterator, that may read, but change nothing.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use huon::Durability;
use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::bytes::{Name, shown};
use crate::catalog::{self, Types, Wanted};
use crate::fault::{ENDED, Fault, Res};
use crate::functions::Functions;
use crate::options;
use crate::order;
use crate::seat::Seat;
use crate::ticket::Ticket;

const NESTED: Fault =
    Fault::Misuse("a nested transaction is open: end it before its parent is used");
const LOADING: Fault = Fault::Misuse("a bulk load is running: its records may only read");
/// The number of the outermost level.
const OUTERMOST: u64 = 0;
/// How long a bulk load waits before it asks again for what another thread uses.
const PAUSE: Duration = Duration::from_micros(50);

/// The number of this thread; no two threads have the same, one after the other neither.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local!(static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

/// What the handles of a write transaction share.
pub(crate) struct Writer {
    state: Mutex<Option<State>>,
    changes: AtomicU64,
    /// The number of the thread that used it last, and the process that it belongs to.
    thread: AtomicU64,
    process: u32,
    /// They are kept as long as they may be called.
    functions: Arc<Functions>,
    durability: Option<Durability>,
    pub(crate) releases: bool,
}

struct State {
    txn: huon::WriteTxn,
    levels: Vec<u64>,
    levels_made: u64,
    loading: bool,
}

/// The engine's transaction, and no other call uses it.
pub(crate) struct Opened<'a>(MutexGuard<'a, Option<State>>);

impl Opened<'_> {
    fn state(&mut self) -> &mut State {
        self.0.as_mut().expect("it was looked at when it was opened")
    }
}

impl Deref for Opened<'_> {
    type Target = huon::WriteTxn;

    #[inline]
    fn deref(&self) -> &huon::WriteTxn {
        &self.0.as_ref().expect("it was looked at when it was opened").txn
    }
}

impl DerefMut for Opened<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut huon::WriteTxn {
        &mut self.state().txn
    }
}

impl Writer {
    fn lock(&self) -> Res<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Fault::InUse),
        }
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.lock().as_deref(), Ok(None))
    }

    /// Whether this thread used it last: it would wait for itself if it waited for its end.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.thread.load(Ordering::Relaxed) == this_thread()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let is_open = self.state.get_mut().is_ok_and(|state| state.is_some());
        if is_open && self.changes() > 0 && self.process == std::process::id() {
            // As for files that were not closed: here it is a change that is lost.
            Python::try_attach(|py| {
                // It may end on the way of an exception, which goes on after it.
                let on_its_way = PyErr::take(py);
                let kind = py.get_type::<PyResourceWarning>();
                let text = c"a write transaction with changes was neither committed nor aborted";
                if let Err(raised) = PyErr::warn(py, &kind, text, 1) {
                    raised.write_unraisable(py, None);
                }
                if let Some(error) = on_its_way {
                    error.restore(py);
                }
            });
        }
    }
}

/// A handle of a transaction: of the outermost one, or of a nested one.
pub(crate) struct Level {
    writer: Arc<Writer>,
    number: u64,
}

impl Level {
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The transaction, to read it or to change it.
    #[inline]
    pub(crate) fn opened(&self) -> Res<Opened<'_>> {
        let state = self.writer.lock()?;
        self.writer.thread.store(this_thread(), Ordering::Relaxed);
        match &*state {
            Some(open) if open.levels.last() == Some(&self.number) => Ok(Opened(state)),
            Some(open) if open.levels.contains(&self.number) => Err(NESTED),
            _ => Err(ENDED),
        }
    }

    /// The same to change it.
    #[inline]
    pub(crate) fn changing(&self) -> Res<Opened<'_>> {
        let mut opened = self.opened()?;
        if opened.state().loading {
            return Err(LOADING);
        }
        self.writer.changes.fetch_add(1, Ordering::Relaxed);
        Ok(opened)
    }

    /// Runs a bulk load (3): `work` gets a function that changes the transaction, and all is undone
    /// if it fails.
    pub(crate) fn load<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn FnMut(&mut Change<'_>) -> Res<()>) -> Res<R>,
    ) -> Res<R> {
        const NAME: &str = "huon-python: bulk load";
        let mut opened = self.changing()?;
        opened.savepoint(NAME)?;
        opened.state().loading = true;
        drop(opened);
        let done = work(&mut |change| {
            let mut opened = self.waited(py)?;
            self.writer.changes.fetch_add(1, Ordering::Relaxed);
            change(&mut opened)?;
            order::raised()
        });
        let mut opened = self.waited(py)?;
        opened.state().loading = false;
        self.writer.changes.fetch_add(1, Ordering::Relaxed);
        if done.is_err() {
            opened.roll_back_to(NAME)?;
        }
        opened.release(NAME)?;
        done
    }

    /// The transaction, after other threads, which may read it meanwhile.
    fn waited(&self, py: Python<'_>) -> Res<Opened<'_>> {
        loop {
            match self.opened() {
                Err(Fault::InUse) => py.detach(|| thread::sleep(PAUSE)),
                opened => return opened,
            }
        }
    }

    fn is_outermost(&self) -> bool {
        self.number == OUTERMOST
    }

    /// Takes the outermost transaction to commit it.
    fn taken(&self) -> Res<huon::WriteTxn> {
        let mut opened = self.changing()?;
        match opened.0.take() {
            Some(state) => Ok(state.txn),
            None => Err(ENDED),
        }
    }

    /// Undoes the level and those above it.
    fn undo(&self) -> Res<()> {
        let mut state = self.writer.lock()?;
        let Some(open) = &mut *state else { return Ok(()) };
        let Some(depth) = open.levels.iter().position(|level| *level == self.number) else {
            return Ok(());
        };
        self.writer.changes.fetch_add(1, Ordering::Relaxed);
        if self.is_outermost() {
            *state = None;
            return Ok(());
        }
        if open.loading {
            return Err(LOADING);
        }
        open.levels.truncate(depth);
        open.txn.roll_back_to(self.number.to_le_bytes())?;
        Ok(open.txn.release(self.number.to_le_bytes())?)
    }
}

type Change<'a> = dyn FnMut(&mut huon::WriteTxn) -> huon::Result<()> + 'a;

impl Drop for Level {
    fn drop(&mut self) {
        // The outermost one ends with its writer.
        if !self.is_outermost() {
            let _ = self.undo();
        }
    }
}

/// The one transaction that changes things: a mapping of the names of all tables.
#[pyclass(frozen, module = "huon")]
pub(crate) struct WriteTxn {
    pub(crate) level: Arc<Level>,
}

impl WriteTxn {
    pub(crate) fn begin(
        txn: huon::WriteTxn,
        durability: Option<Durability>,
        releases: bool,
        functions: Arc<Functions>,
    ) -> WriteTxn {
        let state = State { txn, levels: vec![OUTERMOST], levels_made: OUTERMOST, loading: false };
        let writer = Arc::new(Writer {
            state: Mutex::new(Some(state)),
            changes: AtomicU64::new(0),
            thread: AtomicU64::new(this_thread()),
            process: std::process::id(),
            functions,
            durability,
            releases,
        });
        WriteTxn { level: Arc::new(Level { writer, number: OUTERMOST }) }
    }

    pub(crate) fn writer(&self) -> &Arc<Writer> {
        &self.level.writer
    }

    pub(crate) fn seat(&self) -> Seat {
        Seat::Write(self.level.clone())
    }
}

#[pymethods]
impl WriteTxn {
    /// The number of the snapshot that it makes if it commits now.
    #[getter]
    fn id(&self) -> Res<u64> {
        Ok(self.level.opened()?.id())
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        match self.level.writer.lock().as_deref() {
            Ok(Some(open)) => !open.levels.contains(&self.level.number),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Opens a table; `create` makes it if it is missing, `multi` says of which kind it must be.
    /// `key_type` and `value_type` name the types of what it holds, which other programs check.
    /// `value_bytes`: all values of a multimap that is made have so many. `order`: how keys
    /// compare, and `value_order` the values of a key in a multimap: `bytes`, `reversed`, `u32`,
    /// `u64`, or a name, which the table keeps, and a function of two of them that returns a number
    /// below 0, 0, or above. It must be a total order, and the same in every program.
    #[pyo3(signature = (
        name, *, multi=None, create=false, key_type="", value_type="", value_bytes=None,
        order=None, value_order=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn table<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        multi: Option<bool>,
        create: bool,
        key_type: &str,
        value_type: &str,
        value_bytes: Option<u32>,
        order: Option<Bound<'py, PyAny>>,
        value_order: Option<Bound<'py, PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        let functions = &self.level.writer.functions;
        let [keys, values] = [order, value_order]
            .map(|given| given.map(|given| order::order(&given, functions)).transpose());
        let (keys, values) = (keys?, values?);
        let wanted = Wanted::of(multi);
        let orders = (keys.as_ref(), values.as_ref());
        let types = Types { names: (key_type, value_type), value_bytes, orders };
        if create {
            let many = wanted.is_multi(&self.seat(), &name)?;
            catalog::created(py, &self.level, &name, many, types)
        } else {
            catalog::opened(py, self.seat(), &name, wanted, types)
        }
    }

    /// The table of that name, which is made if it is missing.
    fn __getitem__<'py>(&self, py: Python<'py>, name: Name<'_>) -> Res<Bound<'py, PyAny>> {
        match catalog::opened(py, self.seat(), &name, Wanted::Any, catalog::ANY) {
            Err(Fault::Engine(error)) if matches!(*error, huon::Error::TableNotFound) => {
                catalog::created(py, &self.level, &name, false, catalog::ANY)
            }
            opened => opened,
        }
    }

    /// The table of that name; `default` if it is missing. It makes none.
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Res<Option<Bound<'py, PyAny>>> {
        Ok(catalog::found_table(py, self.seat(), &name)?.or(default))
    }

    /// Deletes a table with all that is in it.
    fn __delitem__(&self, py: Python<'_>, name: Name<'_>) -> Res<()> {
        catalog::dropped(py, &self.level, &name)
    }

    fn __contains__(&self, name: Name<'_>) -> Res<bool> {
        catalog::exists(&self.seat(), &name)
    }

    /// The names of all tables, in order.
    fn tables<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyList>> {
        let names = self.level.opened()?.table_names()?;
        Ok(PyList::new(py, names.iter().map(|name| shown(py, name)))?)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        Ok(self.tables(py)?.try_iter()?.into_any())
    }

    fn __len__(&self) -> Res<usize> {
        Ok(self.level.opened()?.table_names()?.len())
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

    /// A part of the transaction that can be undone by itself. Until it ends, this one cannot be
    /// used.
    fn nested(&self) -> Res<WriteTxn> {
        let mut opened = self.level.changing()?;
        let state = opened.state();
        let number = state.levels_made + 1;
        state.txn.savepoint(number.to_le_bytes())?;
        state.levels_made = number;
        state.levels.push(number);
        Ok(WriteTxn { level: Arc::new(Level { writer: self.level.writer.clone(), number }) })
    }

    /// Makes the changes permanent and visible, and waits as `durability` says (`durable`,
    /// `no_meta_sync`, `lazy`, `unsynced`); returns the number of the snapshot. A nested one adds
    /// its changes to its parent's.
    #[pyo3(signature = (durability=None))]
    fn commit(&self, py: Python<'_>, durability: Option<&str>) -> Res<u64> {
        let wanted = durability.map(options::durability).transpose()?;
        if !self.level.is_outermost() {
            if wanted.is_some() {
                return Err(Fault::Misuse("a nested transaction is as durable as its parent"));
            }
            let mut opened = self.level.changing()?;
            let id = opened.id();
            let state = opened.state();
            state.levels.pop();
            state.txn.release(self.level.number.to_le_bytes())?;
            return Ok(id);
        }
        let txn = self.level.taken()?;
        Ok(match wanted.or(self.level.writer.durability) {
            Some(durability) => py.detach(|| txn.commit_with(durability))?,
            None => py.detach(|| txn.commit())?,
        })
    }

    /// Commits without waiting; the ticket says when the commit is durable.
    fn commit_ticket(&self, py: Python<'_>) -> Res<Ticket> {
        if !self.level.is_outermost() {
            return Err(Fault::Misuse("a nested transaction has no commit of its own to wait for"));
        }
        let txn = self.level.taken()?;
        Ok(Ticket::new(py.detach(|| txn.commit_ticket())?))
    }

    /// Undoes everything, and ends the transaction; after its end it does nothing.
    fn abort(&self) -> Res<()> {
        self.level.undo()
    }

    /// The same: so `contextlib.closing` undoes.
    fn close(&self) -> Res<()> {
        self.level.undo()
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
        if kind.is_some() {
            return self.level.undo();
        }
        if self.closed() {
            return Ok(());
        }
        match self.commit(py, None) {
            Ok(_) => Ok(()),
            Err(fault) => {
                // It must not stay open behind a block that is over.
                let _ = self.level.undo();
                Err(fault)
            }
        }
    }

    fn __repr__(&self) -> String {
        match self.level.opened() {
            Ok(txn) => format!("<huon.WriteTxn {}>", txn.id()),
            Err(_) if self.closed() => "<huon.WriteTxn, ended>".into(),
            Err(_) => "<huon.WriteTxn, in use>".into(),
        }
    }
}
