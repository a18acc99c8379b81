//! The iterators over parts of tables: in read transactions lists of records strung together, in
//! write transactions records that are looked at one after another.
//!
//! 1. An iterator in a write transaction shows what is there when it is asked: a change in between
//!    makes it look its place up again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::vec;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::fault::{Fault, Res};
use crate::scan::{Place, Scan, Shows};
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
        let batch = self.scan.batch(py, &mut place, self.scan.shows)?;
        if batch.is_empty() {
            return Ok(None);
        }
        if self.scan.shows != Shows::Items {
            return Ok(Some(PyList::new(py, batch)?));
        }
        Ok(Some(PyList::new(py, Pairs(batch.into_iter()))?))
    }
}

/// Keys and values in turns, as pairs.
struct Pairs<'py>(vec::IntoIter<Bound<'py, PyBytes>>);

impl<'py> Iterator for Pairs<'py> {
    type Item = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len() / 2, Some(self.0.len() / 2))
    }
}

impl ExactSizeIterator for Pairs<'_> {}

/// An iterator in a write transaction, which sees its changes.
#[pyclass(frozen, module = "huon")]
pub(crate) struct Records {
    scan: Arc<Scan>,
    walk: Mutex<Walk>,
}

struct Walk {
    place: Place,
    /// What was read, and not shown yet: keys, or a key and its value in turns.
    waiting: VecDeque<Py<PyBytes>>,
    /// The state of the transaction in which they were read.
    stamp: u64,
    /// The place of the record that was shown last: its key, and its value if that is a part of it.
    last: Option<(Py<PyBytes>, Option<Py<PyBytes>>)>,
    ended: bool,
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
        let only_keys = scan.shows == Shows::Keys && !scan.is_pairs();
        let stamp = scan.seat.changes();
        if stamp != walk.stamp && !walk.ended {
            // What waits may not be there any more, and other records may be.
            let parts = walk.waiting.drain(..).count() as u64;
            walk.place.left += if only_keys { parts } else { parts / 2 };
            walk.stamp = stamp;
            if let Some((key, value)) = &walk.last {
                let value = value.as_ref().map_or(&[][..], |value| value.as_bytes(py));
                walk.place.after = Some((key.as_bytes(py).to_vec(), value.to_vec()));
            }
            walk.place.ended = walk.place.left == 0;
            // A loop that changes something at each step would read them for nothing.
            walk.place.batch = 1;
        }
        if walk.waiting.is_empty() {
            let shows = if only_keys { Shows::Keys } else { Shows::Items };
            let batch = scan.batch(py, &mut walk.place, shows)?;
            walk.waiting.extend(batch.into_iter().map(Bound::unbind));
        } else {
            // Used after its end it must say so, though records wait.
            look!(&scan.seat, |_txn| ());
        }
        let Some(key) = walk.waiting.pop_front() else {
            (walk.ended, walk.last) = (true, None);
            return Ok(None);
        };
        let value = if only_keys { None } else { walk.waiting.pop_front() };
        let of_place = value.as_ref().filter(|_| scan.is_pairs());
        walk.last = Some((key.clone_ref(py), of_place.map(|value| value.clone_ref(py))));
        Ok(Some(match (scan.shows, value) {
            (Shows::Items, Some(value)) => PyTuple::new(py, [key, value])?.into_any(),
            (Shows::Values, Some(value)) => value.into_bound(py).into_any(),
            _ => key.into_bound(py).into_any(),
        }))
    }
}
