//! Ranges: views of a part of a table, and batches of its records.
//!
//! 1. A batch of records becomes Python objects in one call: a crossing costs more than a record.
//!    The next batch begins behind the last record.
//! 2. The first batch is short, since many iterations are.
//! 3. While the transaction is held, no object is made that the garbage collector tracks: it would
//!    run, and with it finalizers that use the transaction.

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use huon::{RawMulti, RawTable};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyDict, PyMapping, PySet};

use crate::bytes::{Data, pair};
use crate::fault::{Res, value_error};
use crate::lsm::Handle;
use crate::part::{Ends, Part, behind};
use crate::seat::{Seat, look, look_detached};

/// Records in the first batch, and in the largest one.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 256;
/// A batch ends once its records have so many bytes.
const BATCH_BYTES: usize = 256 << 10;
/// To count more than so many gives the interpreter lock up.
const COUNTED_AT_ONCE: u64 = 4096;

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
    /// A write-optimised table.
    Lsm(Handle),
}

/// What is shown of a record.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Shows {
    Keys,
    Values,
    Items,
}

/// A part of a table, in a transaction.
pub(crate) struct Scan {
    pub(crate) seat: Seat,
    pub(crate) source: Source,
    pub(crate) part: Part,
    pub(crate) shows: Shows,
}

/// How far an iteration is.
pub(crate) struct Place {
    /// The last record that was passed.
    pub(crate) after: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) left: u64,
    pub(crate) batch: usize,
    pub(crate) ended: bool,
}

/// The records of a batch.
struct Batch<'py> {
    py: Python<'py>,
    shows: Shows,
    room: usize,
    bytes: usize,
    /// The keys, the values, or a key and its value in turns.
    made: Vec<Bound<'py, PyBytes>>,
    /// The last one, if more may follow.
    last: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether the value is a part of its place.
    is_pairs: bool,
}

impl Batch<'_> {
    /// Adds a record; `false`: it was the last one.
    #[inline]
    fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.shows != Shows::Values {
            self.made.push(PyBytes::new(self.py, key));
            self.bytes += key.len();
        }
        if self.shows != Shows::Keys {
            self.made.push(PyBytes::new(self.py, value));
            self.bytes += value.len();
        }
        self.room -= 1;
        let more = self.room > 0 && self.bytes < BATCH_BYTES;
        if !more {
            let value = if self.is_pairs { value.to_vec() } else { Vec::new() };
            self.last = Some((key.to_vec(), value));
        }
        more
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
                if !$batch.push(key, value) {
                    return Ok(());
                }
            }
        } else {
            for record in records {
                let $record = record?;
                let (key, value) = $parts;
                if !$batch.push(key, value) {
                    return Ok(());
                }
            }
        }
    }};
}

impl Scan {
    /// `prefixes`: whether it is known that keys that begin alike lie together: that is asked once.
    pub(crate) fn new(
        seat: Seat,
        source: Source,
        (part, shows): (Part, Shows),
        prefixes: &AtomicBool,
    ) -> Res<Arc<Scan>> {
        let scan = Scan { seat, source, part, shows };
        let is_of_keys = !matches!(scan.source, Source::MultiValues(..));
        if scan.part.prefix.is_some() && !(is_of_keys && prefixes.load(Ordering::Relaxed)) {
            scan.check_prefix()?;
            prefixes.store(true, Ordering::Relaxed);
        }
        Ok(Arc::new(scan))
    }

    /// Only tables in the order of bytes have keys that begin alike together.
    fn check_prefix(&self) -> Res<()> {
        let Some(prefix) = self.part.prefix.as_deref() else { return Ok(()) };
        look!(&self.seat, |txn| match &self.source {
            Source::Table(table) => table.prefix(txn, prefix).map(drop),
            Source::Multi(multi) | Source::MultiKeys(multi) => multi.prefix(txn, prefix).map(drop),
            Source::MultiValues(..) =>
                return Err(value_error(
                    "a prefix is one of keys: the values of one key are bounded by start and stop",
                )),
            Source::Lsm(_) => Ok(()),
        })?;
        Ok(())
    }

    pub(crate) fn place(&self) -> Place {
        let left = self.part.limit.unwrap_or(u64::MAX);
        Place { after: None, left, batch: BATCH_MIN, ended: left == 0 }
    }

    /// Whether the place of a record is that of its key and its value.
    pub(crate) fn is_pairs(&self) -> bool {
        matches!(self.source, Source::Multi(_) | Source::MultiValues(..))
    }

    /// The next batch, and none after the last: keys, values, or both in turns.
    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        place: &mut Place,
        shows: Shows,
    ) -> Res<Vec<Bound<'py, PyBytes>>> {
        if place.ended {
            // The end of the transaction is an error also there.
            look!(&self.seat, |_txn| ());
            return Ok(Vec::new());
        }
        let room = usize::try_from(place.left).unwrap_or(usize::MAX).min(place.batch);
        let (made, is_pairs) = (Vec::with_capacity(2 * room), self.is_pairs());
        let mut batch = Batch { py, shows, room, bytes: 0, made, last: None, is_pairs };
        look!(&self.seat, |txn| self.fill(txn, place.after.as_ref(), &mut batch))?;
        place.batch = (place.batch * 4).min(BATCH_MAX);
        place.left -= (room - batch.room) as u64;
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
            let ends = behind((from, to), after, reverse);
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
            Source::Lsm(lsm) => {
                let lsm = lsm.raw()?;
                fill!(batch, reverse, lsm.range(txn, (from, to))?, |(key, value)| (key, value));
            }
            Source::MultiValues(..) => unreachable!("they are of one key"),
        }
        Ok(())
    }

    /// How many it shows, counted up to `most`.
    fn count(&self, py: Python<'_>, most: u64) -> Res<u64> {
        let most = most.min(self.part.limit.unwrap_or(u64::MAX));
        let bounds = self.part.bounds();
        let is_known = self.part.is_all() && !matches!(self.source, Source::Lsm(_));
        let count = if is_known || most <= COUNTED_AT_ONCE {
            look!(&self.seat, |txn| self.source.count(txn, bounds, most))?
        } else {
            look_detached!(&self.seat, py, |txn| self.source.count(txn, bounds, most))
        };
        Ok(count.min(most))
    }

    /// Whether it shows this key, or pair.
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
        look!(&self.seat, |txn| self.shows(txn, &key, value.as_deref()))
    }

    fn shows(&self, txn: &impl huon::Txn, key: &[u8], value: Option<&[u8]>) -> Res<bool> {
        let is_there = match (&self.source, value) {
            (Source::Table(table), None) => table.contains(txn, key)?,
            (Source::Table(table), value) => table.get(txn, key)? == value,
            (Source::Lsm(lsm), None) => lsm.raw()?.contains(txn, key)?,
            (Source::Lsm(lsm), value) => lsm.raw()?.get(txn, key)? == value,
            (Source::MultiValues(..), _) => false,
            (Source::Multi(multi), Some(value)) => multi.contains(txn, key, value)?,
            (Source::Multi(multi) | Source::MultiKeys(multi), _) => {
                multi.count_values(txn, key)? > 0
            }
        };
        if !is_there || !self.is_between(txn, key)? {
            return Ok(false);
        }
        let Some(limit) = self.part.limit else { return Ok(true) };
        Ok(self.count_before(txn, key, value, limit)? < limit)
    }

    /// Whether a key that is there lies between the ends, as the table's order says.
    fn is_between(&self, txn: &impl huon::Txn, key: &[u8]) -> Res<bool> {
        let (from, to) = self.part.bounds();
        let behind = from == Unbounded || self.source.count(txn, (from, Included(key)), 1)? > 0;
        Ok(behind && (to == Unbounded || self.source.count(txn, (Included(key), to), 1)? > 0))
    }

    /// How many it shows before this key, or pair, counted up to `most`.
    fn count_before(
        &self,
        txn: &impl huon::Txn,
        key: &[u8],
        value: Option<&[u8]>,
        most: u64,
    ) -> Res<u64> {
        let up_to = |(from, to), end| {
            if self.part.reverse { (Excluded(end), to) } else { (from, Excluded(end)) }
        };
        let mut count = self.source.count(txn, up_to(self.part.bounds(), key), most)?;
        if let (Source::Multi(multi), Some(value)) = (&self.source, value) {
            let values = Source::MultiValues(*multi, key.to_vec());
            count += values.count(txn, up_to((Unbounded, Unbounded), value), most)?;
        }
        Ok(count)
    }
}

impl Source {
    /// How many records lie between these ends. From `most` on it may stop.
    fn count(&self, txn: &impl huon::Txn, ends: Ends<'_>, most: u64) -> Res<u64> {
        let is_all = ends == (Unbounded, Unbounded);
        Ok(match self {
            Source::Lsm(lsm) if most == u64::MAX => lsm.raw()?.count(txn, ends),
            Source::Lsm(lsm) => sum(lsm.raw()?.range(txn, ends)?.map(|it| it.map(|_| 1)), most),
            Source::Table(table) if is_all => table.len(txn),
            Source::Table(table) => {
                let leaves = table.range(txn, ends)?.leaves();
                sum(leaves.map(|leaf| leaf.map(|leaf| leaf.len() as u64)), most)
            }
            Source::Multi(multi) if is_all => multi.len(txn),
            Source::Multi(multi) => {
                sum(multi.keys_range(txn, ends)?.map(|key| key.map(|(_, count)| count)), most)
            }
            Source::MultiKeys(multi) => {
                sum(multi.keys_range(txn, ends)?.map(|key| key.map(|_| 1)), most)
            }
            Source::MultiValues(multi, key) if is_all => multi.count_values(txn, key),
            Source::MultiValues(multi, key) => {
                sum(multi.values_range(txn, key, ends)?.map(|value| value.map(|_| 1)), most)
            }
        }?)
    }
}

/// The sum of these counts; no more are asked for once it has reached `most`.
fn sum(mut counts: impl Iterator<Item = huon::Result<u64>>, most: u64) -> huon::Result<u64> {
    let mut sum = 0;
    while sum < most {
        let Some(count) = counts.next() else { break };
        sum += count?;
    }
    Ok(sum)
}

/// The three kinds of views.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident, $($sets:tt)*) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "huon")]
        pub(crate) struct $name {
            pub(crate) scan: Arc<Scan>,
        }

        #[pymethods]
        impl $name {
            fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
                self.scan.iter(py)
            }

            fn __reversed__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
                self.scan.iter_back(py)
            }

            fn __len__(&self, py: Python<'_>) -> Res<usize> {
                let count = self.scan.count(py, u64::MAX)?;
                Ok(usize::try_from(count).unwrap_or(usize::MAX))
            }

            fn __bool__(&self, py: Python<'_>) -> Res<bool> {
                Ok(self.scan.count(py, 1)? > 0)
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

            fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                self.__and__(other)
            }

            fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                self.__or__(other)
            }

            fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                let other = PySet::empty(other.py())?.call_method1("union", (other,))?;
                Ok(other.call_method1("difference", (self.scan.set(other.py())?,))?)
            }

            fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> Res<Bound<'py, PyAny>> {
                self.__xor__(other)
            }

            fn isdisjoint(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> Res<bool> {
                Ok(self.scan.set(py)?.call_method1("isdisjoint", (other,))?.extract()?)
            }

            fn __richcmp__<'py>(
                &self,
                other: &Bound<'py, PyAny>,
                op: CompareOp,
            ) -> Res<Bound<'py, PyAny>> {
                self.scan.compare(other, op, As::Set)
            }
        }
    };
}

fn is_set(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(&object.py().import("collections.abc")?.getattr("Set")?)
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

/// What of Python's a part of a table compares as.
#[derive(Clone, Copy)]
pub(crate) enum As {
    Set,
    Mapping,
}

impl Scan {
    /// Compares what it shows with something else of its kind, in whatever order that has it.
    pub(crate) fn compare<'py>(
        self: &Arc<Scan>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
        kind: As,
    ) -> Res<Bound<'py, PyAny>> {
        let py = other.py();
        let is_equality = matches!(op, CompareOp::Eq | CompareOp::Ne);
        let (own, other) = match (kind, other.cast::<PyMapping>()) {
            (As::Set, _) if is_set(other)? => {
                (self.set(py)?, PySet::empty(py)?.call_method1("union", (other,))?)
            }
            (As::Mapping, Ok(other)) if is_equality => {
                let own = self.dict(py)?.into_any();
                (own, PyDict::from_sequence(other.items()?.as_any())?.into_any())
            }
            _ => return Ok(py.NotImplemented().into_bound(py)),
        };
        Ok(own.rich_compare(other, op)?)
    }

    fn set<'py>(self: &Arc<Scan>, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        Ok(PySet::empty(py)?.call_method1("union", (self.iter(py)?,))?)
    }

    /// As `dict` does, with all in it.
    fn dict<'py>(self: &Arc<Scan>, py: Python<'py>) -> Res<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for record in self.iter(py)?.try_iter()? {
            let (key, value) = pair(&record?)?;
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }

    /// Hands `work` the keys and values, as they lie there, until it returns `false`; without the
    /// interpreter lock.
    pub(crate) fn walk(
        &self,
        py: Python<'_>,
        mut work: impl FnMut(&[u8], &[u8]) -> bool + Send,
    ) -> Res<()> {
        let Source::Table(table) = &self.source else { return Ok(()) };
        let (bounds, reverse) = (self.part.bounds(), self.part.reverse);
        let mut left = self.part.limit.unwrap_or(u64::MAX);
        look_detached!(&self.seat, py, |txn| {
            let mut range = table.range(txn, bounds)?;
            while left > 0 {
                let next = if reverse { range.next_back() } else { range.next() };
                let Some(record) = next else { break };
                let (key, value) = record?;
                if !work(key, value) {
                    break;
                }
                left -= 1;
            }
            huon::Result::Ok(())
        });
        Ok(())
    }
}
