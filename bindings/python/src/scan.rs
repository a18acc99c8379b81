//! Ranges: views of a part of a table, and the iterators over them.
//!
//! 1. A batch of records becomes Python objects in one call: a crossing costs more than a record.
//!    The next batch begins behind the last record.
//! 2. An iterator in a write transaction shows what is there when it is asked: a change in between
//!    makes it look its place up again.
//! 3. The first batch is short, since many iterations are.

use std::collections::VecDeque;
use std::ops::Bound as End;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex};

use huon::{RawMulti, RawTable};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PySet, PyTuple};

use crate::bytes::{Data, pair};
use crate::fault::{Fault, Res};
use crate::seat::{Seat, look};

/// Records in the first batch, and in the largest one.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 256;
/// A batch ends once its records have so many bytes.
const BATCH_BYTES: usize = 256 << 10;

/// What is walked.
#[derive(Clone)]
pub(crate) enum Source {
    Table(RawTable),
    /// Pairs of a key and one value.
    Multi(RawMulti),
    /// Each key once.
    MultiKeys(RawMulti),
    /// The values of one key.
    MultiValues(RawMulti, Vec<u8>),
}

/// What is shown of a record.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Shows {
    Keys,
    Values,
    Items,
}

/// Which records, and in which order.
#[derive(Clone, Default)]
pub(crate) struct Part {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    prefix: Option<Vec<u8>>,
    reverse: bool,
    limit: Option<u64>,
}

impl Part {
    pub(crate) fn new(
        prefix: Option<Data<'_>>,
        from: Option<Data<'_>>,
        to: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Part {
        let [prefix, mut from, mut to] = [prefix, from, to].map(|end| end.map(Data::into_vec));
        if let Some(prefix) = &prefix {
            from = from.max(Some(prefix.clone()));
            let end = successor(prefix);
            to = if to.is_none() || end.is_some() && end < to { end } else { to };
        }
        Part { from, to, prefix, reverse, limit }
    }

    pub(crate) fn bounds(&self) -> (End<&[u8]>, End<&[u8]>) {
        let from = self.from.as_deref().map_or(Unbounded, Included);
        (from, self.to.as_deref().map_or(Unbounded, Excluded))
    }

    fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| from <= key)
            && self.to.as_deref().is_none_or(|to| key < to)
    }
}

/// The first byte string above all that begin with `prefix`, if there is one.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.len() - prefix.iter().rev().take_while(|byte| **byte == 0xFF).count();
    let mut end = prefix[..kept].to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

/// A part of a table, in a transaction.
#[derive(Clone)]
pub(crate) struct Scan {
    seat: Seat,
    source: Source,
    part: Part,
    shows: Shows,
}

/// How far an iteration is.
struct Place {
    /// The last record that was passed.
    after: Option<(Vec<u8>, Vec<u8>)>,
    left: u64,
    batch: usize,
    ended: bool,
}

/// The records of a batch, as Python objects.
struct Batch<'py> {
    py: Python<'py>,
    shows: Shows,
    room: usize,
    bytes: usize,
    made: Vec<Bound<'py, PyAny>>,
    last: Option<(Vec<u8>, Vec<u8>)>,
}

impl Batch<'_> {
    /// Adds a record; `false`: it was the last one.
    #[inline]
    fn push(&mut self, key: &[u8], value: &[u8]) -> PyResult<bool> {
        let py = self.py;
        self.made.push(match self.shows {
            Shows::Keys => PyBytes::new(py, key).into_any(),
            Shows::Values => PyBytes::new(py, value).into_any(),
            Shows::Items => {
                PyTuple::new(py, [PyBytes::new(py, key), PyBytes::new(py, value)])?.into_any()
            }
        });
        self.bytes += key.len() + value.len();
        let more = self.made.len() < self.room && self.bytes < BATCH_BYTES;
        if !more {
            self.last = Some((key.to_vec(), value.to_vec()));
        }
        Ok(more)
    }
}

/// Fills a batch from an iterator, from either end of it.
macro_rules! fill {
    ($batch:expr, $reverse:expr, $records:expr, |$record:pat_param| $parts:expr) => {{
        let records = $records;
        if $reverse {
            for record in records.rev() {
                let $record = record?;
                let (key, value) = $parts;
                if !$batch.push(key, value)? {
                    return Ok(());
                }
            }
        } else {
            for record in records {
                let $record = record?;
                let (key, value) = $parts;
                if !$batch.push(key, value)? {
                    return Ok(());
                }
            }
        }
    }};
}

impl Scan {
    pub(crate) fn new(seat: Seat, source: Source, part: Part, shows: Shows) -> Res<Scan> {
        let scan = Scan { seat, source, part, shows };
        scan.check_prefix()?;
        Ok(scan)
    }

    /// Only tables in the order of bytes have keys that begin alike together.
    fn check_prefix(&self) -> Res<()> {
        let Some(prefix) = self.part.prefix.as_deref() else { return Ok(()) };
        look!(&self.seat, |txn| match &self.source {
            Source::Table(table) => table.prefix(txn, prefix).map(drop),
            Source::Multi(multi) | Source::MultiKeys(multi) | Source::MultiValues(multi, _) =>
                multi.prefix(txn, prefix).map(drop),
        })?;
        Ok(())
    }

    fn place(&self) -> Place {
        let left = self.part.limit.unwrap_or(u64::MAX);
        Place { after: None, left, batch: BATCH_MIN, ended: left == 0 }
    }

    /// The next batch, and none after the last.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        place: &mut Place,
        shows: Shows,
    ) -> Res<Vec<Bound<'py, PyAny>>> {
        if place.ended {
            return Ok(Vec::new());
        }
        let room = usize::try_from(place.left).unwrap_or(usize::MAX).min(place.batch);
        let made = Vec::with_capacity(room);
        let mut batch = Batch { py, shows, room, bytes: 0, made, last: None };
        look!(&self.seat, |txn| self.fill(txn, place.after.as_ref(), &mut batch))?;
        place.batch = (place.batch * 4).min(BATCH_MAX);
        place.left -= batch.made.len() as u64;
        place.ended = batch.last.is_none() || place.left == 0;
        place.after = batch.last;
        Ok(batch.made)
    }

    /// Fills a batch with what comes behind `after`.
    fn fill(
        &self,
        txn: &impl huon::Txn,
        after: Option<&(Vec<u8>, Vec<u8>)>,
        batch: &mut Batch<'_>,
    ) -> Res<()> {
        let reverse = self.part.reverse;
        let (mut from, mut to) = self.part.bounds();
        if let Source::MultiValues(multi, key) = &self.source {
            let after = after.map(|(_, value)| Excluded(value.as_slice()));
            let ends = behind((Unbounded, Unbounded), after, reverse);
            let values = multi.values_range(txn, key, ends)?;
            fill!(batch, reverse, values, |value| (key, value));
            return Ok(());
        }
        if let (Source::Multi(multi), Some((key, value))) = (&self.source, after) {
            let ends = behind((Unbounded, Unbounded), Some(Excluded(value.as_slice())), reverse);
            let values = multi.values_range(txn, key, ends)?;
            fill!(batch, reverse, values, |value| (key, value));
        }
        (from, to) = behind((from, to), after.map(|(key, _)| Excluded(key.as_slice())), reverse);
        match &self.source {
            Source::Table(table) => {
                let leaves = table.range(txn, (from, to))?.leaves();
                if reverse {
                    for leaf in leaves.rev() {
                        fill!(batch, true, leaf?.iter(), |(key, value)| (key, value));
                    }
                } else {
                    for leaf in leaves {
                        fill!(batch, false, leaf?.iter(), |(key, value)| (key, value));
                    }
                }
            }
            Source::Multi(multi) => {
                fill!(batch, reverse, multi.range(txn, (from, to))?, |(key, value)| (key, value));
            }
            Source::MultiKeys(multi) => {
                let keys = multi.keys_range(txn, (from, to))?;
                fill!(batch, reverse, keys, |(key, _)| (key, &[]));
            }
            Source::MultiValues(..) => unreachable!("they are of one key"),
        }
        Ok(())
    }

    fn count(&self) -> Res<u64> {
        let all = self.part.is_all();
        let bounds = self.part.bounds();
        let count = look!(&self.seat, |txn| match &self.source {
            Source::Table(table) if all => table.len(txn),
            Source::Table(table) => table.count(txn, bounds),
            Source::Multi(multi) if all => multi.len(txn),
            Source::Multi(multi) => multi.count(txn, bounds),
            Source::MultiKeys(multi) =>
                multi.keys_range(txn, bounds)?.map(|key| key.map(|_| 1)).sum(),
            Source::MultiValues(multi, key) => multi.count_values(txn, key),
        })?;
        Ok(count.min(self.part.limit.unwrap_or(u64::MAX)))
    }

    /// An iterator over what it shows.
    pub(crate) fn iter<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        let place = self.place();
        if let Seat::Write(_) = &self.seat {
            let (stamp, waiting) = (self.seat.changes(), VecDeque::new());
            let walk = Walk { place, waiting, stamp, last: None, ended: false };
            let records = Records { scan: Arc::new(self.clone()), walk: Mutex::new(walk) };
            return Ok(Bound::new(py, records)?.into_any());
        }
        static CHAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let chain = || -> PyResult<Py<PyAny>> {
            Ok(py.import("itertools")?.getattr("chain")?.getattr("from_iterable")?.unbind())
        };
        let batches = Batches { scan: self.clone(), place: Mutex::new(place) };
        Ok(CHAIN.get_or_try_init(py, chain)?.bind(py).call1((batches,))?)
    }

    pub(crate) fn reversed(&self) -> Scan {
        let part = Part { reverse: !self.part.reverse, ..self.part.clone() };
        Scan { part, ..self.clone() }
    }

    /// Whether it shows this key, or pair: with a limit, whether it would without one.
    fn contains(&self, item: &Bound<'_, PyAny>) -> Res<bool> {
        let (key, value) = match self.shows {
            Shows::Keys => (item.clone(), None),
            _ => match pair(item) {
                Ok((key, value)) => (key, Some(value)),
                Err(_) => return Ok(false),
            },
        };
        let (Ok(key), Ok(value)) =
            (key.extract::<Data<'_>>(), value.as_ref().map(|value| value.extract()).transpose())
        else {
            return Ok(false);
        };
        let value: Option<Data<'_>> = value;
        if !self.part.contains(&key) {
            return Ok(false);
        }
        look!(&self.seat, |txn| Ok(match (&self.source, value) {
            (Source::Table(table), None) => table.contains(txn, &key)?,
            (Source::Table(table), Some(value)) => table.get(txn, &key)? == Some(&value),
            (Source::MultiValues(..), _) => false,
            (Source::Multi(multi), Some(value)) => multi.contains(txn, &key, &value)?,
            (Source::Multi(multi) | Source::MultiKeys(multi), _) =>
                multi.count_values(txn, &key)? > 0,
        }))
    }
}

/// The part of a range that lies behind a bound, in the direction of the walk.
fn behind<'b>(
    (from, to): (End<&'b [u8]>, End<&'b [u8]>),
    after: Option<End<&'b [u8]>>,
    reverse: bool,
) -> (End<&'b [u8]>, End<&'b [u8]>) {
    match after {
        None => (from, to),
        Some(after) if reverse => (from, after),
        Some(after) => (after, to),
    }
}

/// Lists of records, which `itertools.chain` strings together: a step within one costs no call.
#[pyclass(frozen)]
struct Batches {
    scan: Scan,
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
        Ok(if batch.is_empty() { None } else { Some(PyList::new(py, batch)?) })
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
    /// Pairs that were read, and not shown yet.
    waiting: VecDeque<Py<PyAny>>,
    /// The state of the transaction in which they were read.
    stamp: u64,
    last: Option<Py<PyAny>>,
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
        let stamp = scan.seat.changes();
        if stamp != walk.stamp && !walk.ended {
            // What waits may not be there any more, and other records may be.
            walk.place.left += walk.waiting.drain(..).count() as u64;
            walk.stamp = stamp;
            if let Some(last) = &walk.last {
                let (key, value): (Data<'_>, Data<'_>) = last.bind(py).extract()?;
                walk.place.after = Some((key.to_vec(), value.to_vec()));
            }
            walk.place.ended = walk.place.left == 0;
            // A loop that changes something at each step would read them for nothing.
            walk.place.batch = 1;
        }
        if walk.waiting.is_empty() {
            let batch = scan.batch(py, &mut walk.place, Shows::Items)?;
            walk.waiting.extend(batch.into_iter().map(Bound::unbind));
        } else {
            // Used after its end it must say so, though records wait.
            look!(&scan.seat, |_txn| ());
        }
        let Some(next) = walk.waiting.pop_front() else {
            walk.ended = true;
            walk.last = None;
            return Ok(None);
        };
        let pair = next.bind(py).clone();
        walk.last = Some(next);
        Ok(Some(match scan.shows {
            Shows::Items => pair,
            Shows::Keys => pair.get_item(0)?,
            Shows::Values => pair.get_item(1)?,
        }))
    }
}

/// The three kinds of views.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident, $($sets:tt)*) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "huon")]
        pub(crate) struct $name {
            pub(crate) scan: Scan,
        }

        #[pymethods]
        impl $name {
            fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
                self.scan.iter(py)
            }

            fn __reversed__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
                self.scan.reversed().iter(py)
            }

            fn __len__(&self) -> Res<usize> {
                Ok(usize::try_from(self.scan.count()?).unwrap_or(usize::MAX))
            }

            fn __repr__(&self) -> String {
                format!("<huon.{}>", stringify!($name))
            }

            $($sets)*
        }
    };
}

/// The sets that keys and items are.
macro_rules! set_view {
    ($(#[$doc:meta])* $name:ident) => {
        view! {
            $(#[$doc])*
            $name,

            fn __contains__(&self, item: &Bound<'_, PyAny>) -> Res<bool> {
                self.scan.contains(item)
            }

            fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                Ok(self.scan.set(other.py())?.call_method1("intersection", (other,))?)
            }

            fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                Ok(self.scan.set(other.py())?.call_method1("union", (other,))?)
            }

            fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                Ok(self.scan.set(other.py())?.call_method1("difference", (other,))?)
            }

            fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                Ok(self.scan.set(other.py())?.call_method1("symmetric_difference", (other,))?)
            }

            fn isdisjoint(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> Res<bool> {
                Ok(self.scan.set(py)?.call_method1("isdisjoint", (other,))?.extract()?)
            }

            fn __richcmp__<'py>(
                &self,
                py: Python<'py>,
                other: &Bound<'py, PyAny>,
                op: CompareOp,
            ) -> Res<Bound<'py, PyAny>> {
                let set = py.import("collections.abc")?.getattr("Set")?;
                if !other.is_instance(&set)? {
                    return Ok(py.NotImplemented().into_bound(py));
                }
                let other = PySet::empty(py)?.call_method1("union", (other,))?;
                Ok(self.scan.set(py)?.rich_compare(other, op)?)
            }
        }
    };
}

set_view! {
    /// The keys of a part of a table, in order: a set.
    Keys
}

set_view! {
    /// The records of a part of a table, as pairs, in the order of keys: a set.
    Items
}

view! {
    /// The values of a part of a table, in the order of their keys.
    Values,
}

impl Scan {
    fn set<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        Ok(PySet::empty(py)?.call_method1("union", (self.iter(py)?,))?)
    }

    /// As `dict` does, with all in it.
    pub(crate) fn dict<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for record in self.iter(py)?.try_iter()? {
            let (key, value) = pair(&record?)?;
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }

    /// Hands `work` the keys and values, as they lie there.
    pub(crate) fn walk(&self, mut work: impl FnMut(&[u8], &[u8]) -> Res<()>) -> Res<()> {
        let Source::Table(table) = &self.source else { return Ok(()) };
        let (bounds, reverse) = (self.part.bounds(), self.part.reverse);
        let mut left = self.part.limit.unwrap_or(u64::MAX);
        look!(&self.seat, |txn| {
            let mut range = table.range(txn, bounds)?;
            while left > 0 {
                let next = if reverse { range.next_back() } else { range.next() };
                let Some(record) = next else { break };
                let (key, value) = record?;
                work(key, value)?;
                left -= 1;
            }
        });
        Ok(())
    }
}

impl Values {
    /// The values of one key of a multimap.
    pub(crate) fn of_key(seat: Seat, multi: RawMulti, key: Vec<u8>, part: Part) -> Values {
        let source = Source::MultiValues(multi, key);
        Values { scan: Scan { seat, source, part, shows: Shows::Values } }
    }
}
