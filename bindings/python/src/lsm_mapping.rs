//! Write-optimised tables in a transaction: mappings of `bytes` to `bytes`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use huon_lsm::RawLsmTable;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::bytes::{Data, shown};
use crate::fault::{Fault, Res, key_error, value_error};
use crate::given::{Chunk, in_chunks, with_keys};
use crate::lsm::Handle;
use crate::part::Part;
use crate::scan::{As, Items, Keys, Scan, Shows, Source, Values};
use crate::seat::{Seat, look, look_detached};
use crate::table::{Pair, RELEASE_KEYS, change_many, level, shown_pair};
use crate::view;

/// A time that Python counts in seconds since 1970.
pub(crate) fn time(seconds: f64) -> Res<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds).ok();
    let time = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    time.ok_or_else(|| value_error("a time is a number of seconds since 1970"))
}

/// A write-optimised table in a transaction: a mapping of `bytes` to `bytes`, in the order of keys.
/// Puts and deletes look for nothing, and are collected in memory until the commit.
#[pyclass(frozen, module = "huon")]
pub(crate) struct LsmMapping {
    seat: Seat,
    handle: Handle,
    name: Box<[u8]>,
}

impl LsmMapping {
    pub(crate) fn new(seat: Seat, handle: Handle, name: Box<[u8]>) -> LsmMapping {
        LsmMapping { seat, handle, name }
    }

    fn change<R>(
        &self,
        work: impl FnOnce(&RawLsmTable, &mut huon::WriteTxn) -> huon::Result<R>,
    ) -> Res<R> {
        let raw = self.handle.raw()?;
        let mut opened = level(&self.seat)?.changing()?;
        Ok(work(&raw, &mut opened)?)
    }

    fn found<'py>(&self, py: Python<'py>, key: &[u8]) -> Res<Option<Bound<'py, PyBytes>>> {
        let table = self.handle.raw()?;
        if self.seat.releases() {
            let found = look_detached!(&self.seat, py, |txn| {
                table.get(txn, key).map(|value| value.map(<[u8]>::to_vec))
            });
            return Ok(found.map(|value| PyBytes::new(py, &value)));
        }
        look!(&self.seat, |txn| Ok(table.get(txn, key)?.map(|value| PyBytes::new(py, value))))
    }

    fn has(&self, key: &[u8]) -> Res<bool> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(table.contains(txn, key)?))
    }

    fn scan(&self, part: Part, shows: Shows) -> Res<Arc<Scan>> {
        let (source, prefixes) = (Source::Lsm(self.handle.clone()), AtomicBool::new(true));
        Scan::new(self.seat.clone(), source, (part, shows), &prefixes)
    }
}

#[pymethods]
impl LsmMapping {
    /// The name of the table: `str`, or `bytes` that are not UTF-8.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        shown(py, &self.name)
    }

    /// The value of a key, as `bytes`; `default` if the key is not there. Costs a question to the
    /// filter of each run, and a lookup in about one of them.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Data<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Res<Option<Bound<'py, PyAny>>> {
        Ok(self.found(py, &key)?.map(Bound::into_any).or(default))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> Res<Bound<'py, PyBytes>> {
        self.found(py, &key.extract::<Data<'_>>()?)?.ok_or_else(|| key_error(key))
    }

    /// The value of a key where it lies, as a read-only memory view, or `None`; as `Table.view`.
    fn view<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Bound<'py, PyAny>>> {
        match &self.seat {
            Seat::Read(reading) => {
                let table = self.handle.raw()?;
                view::of(py, reading, |txn| table.get(txn, &key))
            }
            Seat::Write(_) => {
                self.found(py, &key)?.map(|value| Ok(view::memory(&value)?)).transpose()
            }
        }
    }

    fn __contains__(&self, key: Data<'_>) -> Res<bool> {
        self.has(&key)
    }

    /// The values of many keys, in their order, `None` for each that is not there: faster than one
    /// after another.
    fn get_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> Res<Bound<'py, PyList>> {
        let table = self.handle.raw()?;
        with_keys(keys, |keys| {
            let mut values = Vec::with_capacity(keys.len());
            if keys.len() < RELEASE_KEYS && !self.seat.releases() {
                look!(&self.seat, |txn| {
                    table.get_many(txn, keys, |_, value| {
                        values.push(value.map(|value| PyBytes::new(py, value)));
                    })?;
                });
                return Ok(PyList::new(py, values)?);
            }
            let mut copied = Vec::with_capacity(keys.len());
            let out = &mut copied;
            look_detached!(&self.seat, py, |txn| {
                table.get_many(txn, keys, |_, value| out.push(value.map(<[u8]>::to_vec)))
            });
            let values = copied.iter().map(|value| value.as_ref().map(|it| PyBytes::new(py, it)));
            Ok(PyList::new(py, values)?)
        })
    }

    /// The first record, as a pair, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(shown_pair(py, table.first(txn)?)))
    }

    /// The last record, as a pair, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(shown_pair(py, table.last(txn)?)))
    }

    /// The record of the key, or of the next one above it.
    fn at_or_above<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Pair<'py>>> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(shown_pair(py, table.at_or_above(txn, &key)?)))
    }

    /// The record of the key, or of the next one below it.
    fn at_or_below<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Pair<'py>>> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(shown_pair(py, table.at_or_below(txn, &key)?)))
    }

    /// How many records there are: all of them are read.
    fn __len__(&self, py: Python<'_>) -> Res<usize> {
        let count = self.count(py, None, None, None)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Whether there is a record, without reading all.
    fn __bool__(&self) -> Res<bool> {
        let table = self.handle.raw()?;
        look!(&self.seat, |txn| Ok(!table.is_empty(txn)?))
    }

    /// How many records lie in a range, from `start` (with it) to `stop` (without it): all of them
    /// are read.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let (table, part) = (self.handle.raw()?, Part::new(prefix, start, stop, false, None));
        Ok(look_detached!(&self.seat, py, |txn| table.count(txn, part.bounds())))
    }

    /// About how many records lie in a range, by a look at its ends in each run: a key that is in
    /// several of them counts in each, and what was deleted counts until it is merged.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn estimate(
        &self,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let (table, part) = (self.handle.raw()?, Part::new(prefix, start, stop, false, None));
        look!(&self.seat, |txn| Ok(table.estimate(txn, part.bounds())?))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        self.scan(Part::default(), Shows::Keys)?.iter(py)
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        self.scan(Part::default(), Shows::Keys)?.iter_back(py)
    }

    /// The keys that begin with `prefix`, from `start` (with it) to `stop` (without it), at most
    /// `limit` of them; `reverse`: from the last one on.
    #[pyo3(signature = (*, prefix=None, start=None, stop=None, reverse=false, limit=None))]
    fn keys(
        &self,
        prefix: Option<Data<'_>>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Res<Keys> {
        let part = Part::new(prefix, start, stop, reverse, limit);
        Ok(Keys { scan: self.scan(part, Shows::Keys)? })
    }

    /// The values of these keys; see `keys`.
    #[pyo3(signature = (*, prefix=None, start=None, stop=None, reverse=false, limit=None))]
    fn values(
        &self,
        prefix: Option<Data<'_>>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Res<Values> {
        let part = Part::new(prefix, start, stop, reverse, limit);
        Ok(Values { scan: self.scan(part, Shows::Values)? })
    }

    /// The records of these keys, as pairs; see `keys`.
    #[pyo3(signature = (*, prefix=None, start=None, stop=None, reverse=false, limit=None))]
    fn items(
        &self,
        prefix: Option<Data<'_>>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Res<Items> {
        let part = Part::new(prefix, start, stop, reverse, limit);
        Ok(Items { scan: self.scan(part, Shows::Items)? })
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> Res<Bound<'py, PyAny>> {
        self.scan(Part::default(), Shows::Items)?.compare(other, op, As::Mapping)
    }

    /// What the table consists of, as the transaction shows it without what it has only collected,
    /// and what it has cost.
    fn stat<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyDict>> {
        let table = self.handle.raw()?;
        let stat = look!(&self.seat, |txn| table.stat(txn))?;
        crate::lsm_reports::stat(py, &stat)
    }

    /// Reads every run, and verifies them; the report's `problems` are what was found.
    fn check<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyDict>> {
        let table = self.handle.raw()?;
        let check = look_detached!(&self.seat, py, |txn| table.check(txn));
        crate::lsm_reports::check(py, &check)
    }

    // ---- changes

    /// Puts a record, whether the key has one or not, without looking.
    fn put(&self, key: Data<'_>, value: Data<'_>) -> Res<()> {
        self.change(|table, txn| table.put(txn, &key, &value))
    }

    fn __setitem__(&self, key: Data<'_>, value: Data<'_>) -> Res<()> {
        self.put(key, value)
    }

    /// Puts a record that is absent from a time on, in every snapshot; `until` is in seconds since
    /// 1970, as of `time.time()`.
    fn put_until(&self, key: Data<'_>, value: Data<'_>, until: f64) -> Res<()> {
        let until = time(until)?;
        self.change(|table, txn| table.put_until(txn, &key, &value, until))
    }

    /// Puts a record if the key has none, which takes a lookup; `False` if it has one, which stays.
    fn insert(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        self.change(|table, txn| table.put_if_absent(txn, &key, &value))
    }

    /// Puts a record if the key has one, which takes a lookup; `False` if it has none.
    fn put_if_present(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        self.change(|table, txn| table.update(txn, &key, &value))
    }

    /// Puts a record, and returns the value that the key had, or `None`, which takes a lookup.
    fn replace<'py>(
        &self,
        py: Python<'py>,
        key: Data<'_>,
        value: Data<'_>,
    ) -> Res<Option<Bound<'py, PyBytes>>> {
        let old = self.change(|table, txn| table.replace(txn, &key, &value))?;
        Ok(old.map(|old| PyBytes::new(py, old.bytes())))
    }

    /// Merges an operand onto the value of a key without looking at it, as the function says that
    /// the table was opened with; a key without a value gets the operand as its value.
    fn merge(&self, key: Data<'_>, operand: Data<'_>) -> Res<()> {
        self.change(|table, txn| table.merge(txn, &key, &operand))
    }

    /// Puts the records of a mapping, or of an iterable of pairs.
    fn put_many(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        level(&self.seat)?;
        let put = |records: &[(Data<'_>, Data<'_>)]| {
            self.change(|table, txn| {
                records.iter().try_for_each(|(key, value)| table.put(txn, key, value))
            })
        };
        in_chunks(pairs, put, Chunk::PUT)
    }

    /// As that of `dict`.
    #[pyo3(signature = (other=None, /, **more))]
    fn update(
        &self,
        other: Option<&Bound<'_, PyAny>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> Res<()> {
        if more.is_some_and(|more| !more.is_empty()) {
            let text = "keys are bytes, and those of keyword arguments are text";
            return Err(Fault::Raised(PyTypeError::new_err(text)));
        }
        other.map_or(Ok(()), |other| self.put_many(other))
    }

    /// Deletes a key, without looking whether it is there.
    fn delete(&self, key: Data<'_>) -> Res<()> {
        self.change(|table, txn| table.delete(txn, &key))
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Res<()> {
        let data = key.extract::<Data<'_>>()?;
        let deleted = self.change(|table, txn| {
            let is_there = table.contains(txn, &data)?;
            if is_there { table.delete(txn, &data).map(|()| true) } else { Ok(false) }
        })?;
        if deleted { Ok(()) } else { Err(key_error(key)) }
    }

    /// Deletes many keys, without looking whether they are there.
    fn delete_many(&self, keys: &Bound<'_, PyAny>) -> Res<()> {
        let (table, py) = (self.handle.raw()?, keys.py());
        with_keys(keys, |keys| {
            change_many(py, (&self.seat, false), keys.len(), |txn| {
                keys.iter().try_for_each(|key| table.delete(txn, key))
            })
        })
    }

    /// Deletes all keys of a range, from `start` (with it) to `stop` (without it), or all that
    /// begin with `prefix`: costs as much as one delete.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn delete_range(
        &self,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<()> {
        let part = Part::new(prefix, start, stop, false, None);
        self.change(|table, txn| table.delete_range(txn, part.bounds()))
    }

    /// Removes a key and returns its value, which takes a lookup; `default`, or else `KeyError`, if
    /// it is not there.
    #[pyo3(signature = (key, *default), text_signature = "($self, key, default=..., /)")]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> Res<Bound<'py, PyAny>> {
        if default.len() > 1 {
            let text = format!("pop expected at most 2 arguments, got {}", default.len() + 1);
            return Err(Fault::Raised(PyTypeError::new_err(text)));
        }
        let data = key.extract::<Data<'_>>()?;
        match self.change(|table, txn| table.take(txn, &data))? {
            Some(value) => Ok(PyBytes::new(py, value.bytes()).into_any()),
            None => default.iter().next().ok_or_else(|| key_error(key)),
        }
    }

    /// Removes the last record, or with `last=False` the first, and returns it.
    #[pyo3(signature = (last=true))]
    fn popitem<'py>(&self, py: Python<'py>, last: bool) -> Res<Pair<'py>> {
        let popped = self.change(|table, txn| {
            let found = if last { table.last(txn)? } else { table.first(txn)? };
            let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
            found.as_ref().map_or(Ok(()), |(key, _)| table.delete(txn, key))?;
            Ok(found)
        })?;
        let record = popped.as_ref().map(|(key, value)| (&key[..], &value[..]));
        let empty = || Fault::Raised(PyKeyError::new_err("popitem(): the table is empty"));
        shown_pair(py, record).ok_or_else(empty)
    }

    /// The value of a key, which gets `default` first if it is not there.
    #[pyo3(signature = (key, default=None))]
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: Data<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Res<Bound<'py, PyAny>> {
        level(&self.seat)?;
        if let Some(value) = self.found(py, &key)? {
            return Ok(value.into_any());
        }
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        self.put(key, default.extract()?)?;
        Ok(default)
    }

    /// Deletes all records.
    fn clear(&self) -> Res<()> {
        self.change(|table, txn| table.clear(txn))
    }

    /// Deletes the table with its options. The next put makes it anew.
    fn drop(&self) -> Res<()> {
        self.change(|table, txn| table.drop_table(txn))
    }

    fn __repr__(&self, py: Python<'_>) -> Res<String> {
        Ok(format!("<huon.LsmMapping {}>", shown(py, &self.name).repr()?))
    }
}
