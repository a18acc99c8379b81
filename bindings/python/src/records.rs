//! The iterators over parts of tables: in read transactions lists of records strung together, in
//! write transactions records that are looked at one after another.
//!
//! 1. An iterator in a write transaction shows what is there when it is asked: a change in between
//!    makes it look its place up again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList};

use crate::fault::{Fault, Res};
use crate::scan::{Parts, Place, Scan, Shows};
use crate::seat::{Seat, look};

impl Scan {
    /// An iterator over what it shows.
    pub(crate) fn iter<'py>(self: &Arc<Scan>, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        let (scan, place) = (self.clone(), self.place());
        if let Seat::Write(_) = &self.seat {
            let (stamp, waiting) = (self.seat.changes(), VecDeque::new());
            let walk = Walk { place, waiting, stamp, last: None, ended: false };
            return Ok(Bound::new(py, Records { scan, walk: Mutex::new(walk) })?.into_any());
        }
        static CHAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let chain = || -> PyResult<Py<PyAny>> {
            Ok(py.import("itertools")?.getattr("chain")?.getattr("from_iterable")?.unbind())
        };
        let batches = Batches { scan, place: Mutex::new(place) };
        Ok(CHAIN.get_or_try_init(py, chain)?.bind(py).call1((batches,))?)
    }

    /// An iterator over what it shows, from the last to the first.
    pub(crate) fn iter_back<'py>(self: &Arc<Scan>, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        if self.part.limit.is_some() {
            // The last ones of the range are not those that it shows.
            let shown = self.iter(py)?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, shown.iter().rev())?.try_iter()?.into_any());
        }
        let part = self.part.reversed();
        let (seat, source, shows) = (self.seat.clone(), self.source.clone(), self.shows);
        Arc::new(Scan { seat, source, part, shows }).iter(py)
    }
}

/// Lists of records, which `itertools.chain` strings together: a step within one costs no call.
#[pyclass(frozen)]
struct Batches {
    scan: Arc<Scan>,
    place: Mutex<Place>,
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Res<Option<Bound<'py, PyList>>> {
        let mut place = self.place.try_lock().map_err(|_| Fault::InUse)?;
        let shows = self.scan.shows;
        let wanted = (shows != Shows::Values, shows != Shows::Keys);
        let batch = self.scan.batch(py, &mut place, wanted)?;
        if batch.is_empty() {
            return Ok(None);
        }
        let shown = batch.into_iter().map(|parts| shows.object(py, parts));
        Ok(Some(PyList::new(py, shown.collect::<PyResult<Vec<_>>>()?)?))
    }
}

/// An iterator in a write transaction, which sees its changes.
#[pyclass(frozen, module = "huon")]
pub(crate) struct Records {
    scan: Arc<Scan>,
    walk: Mutex<Walk>,
}

struct Walk {
    place: Place,
    /// Records that were read, and not shown yet.
    waiting: VecDeque<Kept>,
    /// The state of the transaction in which they were read.
    stamp: u64,
    last: Option<Kept>,
    ended: bool,
}

/// A record, with as much of it as its place is made of and is shown.
type Kept = (Option<Py<PyBytes>>, Option<Py<PyBytes>>);

fn bytes_of(py: Python<'_>, part: Option<&Py<PyBytes>>) -> Vec<u8> {
    part.map_or(Vec::new(), |bytes| bytes.bind(py).as_bytes().to_vec())
}

#[pymethods]
impl Records {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Res<Option<Bound<'py, PyAny>>> {
        let scan = &*self.scan;
        let mut walk = self.walk.try_lock().map_err(|_| Fault::InUse)?;
        let walk = &mut *walk;
        let stamp = scan.seat.changes();
        if stamp != walk.stamp && !walk.ended {
            // What waits may not be there any more, and other records may be.
            walk.place.left += walk.waiting.drain(..).count() as u64;
            walk.stamp = stamp;
            if let Some((key, value)) = &walk.last {
                let value = value.as_ref().filter(|_| scan.is_pairs());
                walk.place.after = Some((bytes_of(py, key.as_ref()), bytes_of(py, value)));
            }
            walk.place.ended = walk.place.left == 0;
            // A loop that changes something at each step would read them for nothing.
            walk.place.batch = 1;
        }
        if walk.waiting.is_empty() {
            let wanted = (true, scan.shows != Shows::Keys || scan.is_pairs());
            let batch = scan.batch(py, &mut walk.place, wanted)?;
            let kept = |(key, value): Parts<'_>| (key.map(Bound::unbind), value.map(Bound::unbind));
            walk.waiting.extend(batch.into_iter().map(kept));
        } else {
            // Used after its end it must say so, though records wait.
            look!(&scan.seat, |_txn| ());
        }
        walk.last = walk.waiting.pop_front();
        let Some((key, value)) = &walk.last else {
            walk.ended = true;
            return Ok(None);
        };
        let part = |part: &Option<Py<PyBytes>>| part.as_ref().map(|part| part.bind(py).clone());
        Ok(Some(scan.shows.object(py, (part(key), part(value)))?))
    }
}
