//! Tables: mappings of `bytes` to `bytes`, in order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use huon::{Error, RawTable};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::bytes::{Data, Name, shown};
use crate::fault::{Fault, Res, key_error, value_error};
use crate::given::{Chunk, in_chunks, with_keys};
use crate::order;
use crate::part::Part;
use crate::scan::{As, Items, Keys, Scan, Shows, Source, Values};
use crate::seat::{Seat, look, look_detached};
use crate::view;
use crate::write::Level;

/// From so many keys on a lookup of many gives the interpreter lock up: below, to take it again
/// may cost more than the lookup.
pub(crate) const RELEASE_KEYS: usize = 256;

const READS_ONLY: Fault =
    Fault::Misuse("the transaction only reads: begin one that writes with Env.write");

/// The level of a table that is to be changed.
pub(crate) fn level(seat: &Seat) -> Res<&Arc<Level>> {
    match seat {
        Seat::Write(level) => Ok(level),
        Seat::Read(reading) => {
            reading.opened()?;
            Err(READS_ONLY)
        }
    }
}

/// A change of `count` records: many of them are made without the interpreter lock.
pub(crate) fn change_many<R: Send>(
    py: Python<'_>,
    (seat, is_compared): (&Seat, bool),
    count: usize,
    work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R> + Send,
) -> Res<R> {
    let mut opened = level(seat)?.changing()?;
    let txn: &mut huon::WriteTxn = &mut opened;
    let change = move || order::change(txn, is_compared, work);
    if count < RELEASE_KEYS { change() } else { py.detach(change) }
}

/// A record as Python shows it: a pair.
pub(crate) type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub(crate) fn shown_pair<'py>(
    py: Python<'py>,
    record: Option<(&[u8], &[u8])>,
) -> Option<Pair<'py>> {
    record.map(|(key, value)| (PyBytes::new(py, key), PyBytes::new(py, value)))
}

/// A table in a transaction: a mapping of `bytes` to `bytes`, in the order of keys.
#[pyclass(frozen, module = "huon")]
pub(crate) struct Table {
    pub(crate) seat: Seat,
    pub(crate) raw: RawTable,
    pub(crate) name: Box<[u8]>,
    /// See `Scan::new`.
    pub(crate) prefixes: AtomicBool,
    /// A function of the caller's compares keys, or values.
    pub(crate) is_compared: bool,
}

impl Table {
    /// A change, made with the interpreter lock kept.
    #[inline]
    fn change<R>(&self, work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R>) -> Res<R> {
        let mut opened = level(&self.seat)?.changing()?;
        order::change(&mut opened, self.is_compared, work)
    }

    /// The same without it, for what may take long.
    fn change_long<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R> + Send,
    ) -> Res<R> {
        let mut opened = level(&self.seat)?.changing()?;
        let txn: &mut huon::WriteTxn = &mut opened;
        py.detach(move || order::change(txn, self.is_compared, work))
    }

    #[inline]
    fn found<'py>(&self, py: Python<'py>, key: &[u8]) -> Res<Option<Bound<'py, PyBytes>>> {
        if self.seat.releases() {
            return self.found_detached(py, key);
        }
        look!(&self.seat, |txn| Ok(self.raw.get(txn, key)?.map(|value| PyBytes::new(py, value))))
    }

    /// Apart, so that the usual lookup stays short.
    #[cold]
    #[inline(never)]
    fn found_detached<'py>(&self, py: Python<'py>, key: &[u8]) -> Res<Option<Bound<'py, PyBytes>>> {
        let table = self.raw;
        let found = look_detached!(&self.seat, py, |txn| {
            table.get(txn, key).map(|value| value.map(<[u8]>::to_vec))
        });
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    /// Looks many keys up, without the interpreter lock.
    pub(crate) fn look_up(
        &self,
        py: Python<'_>,
        keys: &[&[u8]],
        found: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Res<()> {
        let table = self.raw;
        look_detached!(&self.seat, py, |txn| table.get_many(txn, keys, found));
        Ok(())
    }

    pub(crate) fn scan(&self, part: Part, shows: Shows) -> Res<Arc<Scan>> {
        Scan::new(self.seat.clone(), Source::Table(self.raw), (part, shows), &self.prefixes)
    }
}

#[pymethods]
impl Table {
    /// The name of the table: `str`, or `bytes` that are not UTF-8.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        shown(py, &self.name)
    }

    /// The value of a key, as `bytes`; `default` if the key is not there.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> Res<Option<Bound<'py, PyAny>>> {
        let found = self.found(py, &key.extract::<Data<'_>>()?)?;
        Ok(found.map(Bound::into_any).or_else(|| default.cloned()))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> Res<Bound<'py, PyBytes>> {
        self.found(py, &key.extract::<Data<'_>>()?)?.ok_or_else(|| key_error(key))
    }

    /// The value of a key where it lies, as a read-only memory view, and `None` if the key is not
    /// there. The transaction cannot be closed while views live. In a write transaction it is a
    /// view of a copy.
    fn view<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Bound<'py, PyAny>>> {
        match &self.seat {
            Seat::Read(reading) => view::of(py, reading, |txn| self.raw.get(txn, &key)),
            Seat::Write(_) => {
                self.found(py, &key)?.map(|value| Ok(view::memory(&value)?)).transpose()
            }
        }
    }

    fn __contains__(&self, key: Data<'_>) -> Res<bool> {
        look!(&self.seat, |txn| Ok(self.raw.contains(txn, &key)?))
    }

    /// The values of many keys, in their order, `None` for each that is not there: several times
    /// as fast as one after another.
    fn get_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> Res<Bound<'py, PyList>> {
        let table = self.raw;
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
            // In two steps: what was found lies in the map as long as the transaction is held.
            match &self.seat {
                Seat::Read(reading) => {
                    let opened = reading.opened()?;
                    let txn: &huon::ReadTxn = &opened;
                    let mut shown = Vec::with_capacity(keys.len());
                    py.detach(|| table.get_many(txn, keys, |_, value| shown.push(value)))?;
                    order::raised()?;
                    let values =
                        shown.iter().map(|value| value.map(|value| PyBytes::new(py, value)));
                    Ok(PyList::new(py, values)?)
                }
                Seat::Write(_) => {
                    let mut shown = Vec::with_capacity(keys.len());
                    self.look_up(py, keys, |_, value| shown.push(value.map(<[u8]>::to_vec)))?;
                    let values = shown
                        .iter()
                        .map(|value| value.as_ref().map(|value| PyBytes::new(py, value)));
                    Ok(PyList::new(py, values)?)
                }
            }
        })
    }

    /// The first record, as a pair, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.first(txn)?)))
    }

    /// The last record, as a pair, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.last(txn)?)))
    }

    /// The record of the key, or of the next one above it.
    fn at_or_above<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.at_or_above(txn, &key)?)))
    }

    /// The record of the key, or of the next one below it.
    fn at_or_below<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.at_or_below(txn, &key)?)))
    }

    fn __len__(&self) -> Res<usize> {
        let count = look!(&self.seat, |txn| self.raw.len(txn))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// How many records lie in a range, from `start` (with it) to `stop` (without it).
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(part.clone(), Shows::Keys)?;
        let (table, bounds) = (self.raw, part.bounds());
        Ok(look_detached!(&self.seat, py, |txn| table.count(txn, bounds)))
    }

    /// About how many records lie in a range, by a look at its ends.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn estimate(
        &self,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(part.clone(), Shows::Keys)?;
        look!(&self.seat, |txn| Ok(self.raw.estimate(txn, part.bounds())?))
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

    // ---- changes

    /// Puts a record, in the place of the one that the key may have.
    fn put(&self, key: Data<'_>, value: Data<'_>) -> Res<()> {
        self.change(|txn| self.raw.put(txn, &key, &value).map(drop))
    }

    fn __setitem__(&self, key: Data<'_>, value: Data<'_>) -> Res<()> {
        self.change(|txn| self.raw.put(txn, &key, &value).map(drop))
    }

    /// Puts a record if the key has none; `False` if it has one, which stays.
    fn insert(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        self.change(|txn| self.raw.put_if_absent(txn, &key, &value))
    }

    /// Puts a record, and returns the value that the key had, or `None`.
    fn replace<'py>(
        &self,
        py: Python<'py>,
        key: Data<'_>,
        value: Data<'_>,
    ) -> Res<Option<Bound<'py, PyBytes>>> {
        let old = self.change(|txn| self.raw.replace(txn, &key, &value))?;
        Ok(old.map(|old| PyBytes::new(py, old.bytes())))
    }

    /// Puts a record above all others, into full pages; `KeyOrderError` if it is not above.
    fn append(&self, key: Data<'_>, value: Data<'_>) -> Res<()> {
        self.change(|txn| self.raw.append(txn, &key, &value))
    }

    /// Puts the records of a mapping, or of an iterable of pairs.
    fn put_many(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        level(&self.seat)?;
        let put = |records: &[(Data<'_>, Data<'_>)]| {
            self.change(|txn| {
                records.iter().try_for_each(|(key, value)| self.raw.put(txn, key, value).map(drop))
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
            return Err(Fault::Raised(pyo3::exceptions::PyTypeError::new_err(text)));
        }
        other.map_or(Ok(()), |other| self.put_many(other))
    }

    /// Fills an empty table from records in the order of keys (a mapping, or an iterable of
    /// pairs), many times as fast as `put_many`. All of it happens, or nothing.
    fn bulk_load(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        let table = self.raw;
        if !look!(&self.seat, |txn| table.is_empty(txn))? {
            level(&self.seat)?;
            return Err(Error::Invalid("only an empty table can be built").into());
        }
        self.bulk_append(pairs)
    }

    /// The same behind the records that are there, whose keys must be below.
    fn bulk_append(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        let (table, py) = (self.raw, pairs.py());
        level(&self.seat)?.load(py, |change| {
            let append = |records: &[(Data<'_>, Data<'_>)]| {
                change(&mut |txn| {
                    py.detach(|| {
                        table.bulk_append(txn, |append| {
                            records.iter().try_for_each(|(key, value)| append(key, value))
                        })
                    })
                })
            };
            in_chunks(pairs, append, Chunk::LOAD)
        })
    }

    /// Deletes a record; `False` if there is none.
    fn delete(&self, key: Data<'_>) -> Res<bool> {
        self.change(|txn| self.raw.remove(txn, &key))
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Res<()> {
        let data = key.extract::<Data<'_>>()?;
        let deleted = self.change(|txn| self.raw.remove(txn, &data))?;
        if deleted { Ok(()) } else { Err(key_error(key)) }
    }

    /// Deletes the records of many keys; returns how many there were.
    fn delete_many(&self, keys: &Bound<'_, PyAny>) -> Res<u64> {
        let py = keys.py();
        with_keys(keys, |keys| {
            let table = self.raw;
            change_many(py, (&self.seat, self.is_compared), keys.len(), |txn| {
                keys.iter().map(|key| table.remove(txn, key).map(u64::from)).sum()
            })
        })
    }

    /// Deletes the records of a range, from `start` (with it) to `stop` (without it), or of all
    /// keys that begin with `prefix`; returns how many there were.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(part.clone(), Shows::Keys)?;
        let table = self.raw;
        self.change_long(py, |txn| table.remove_range(txn, part.bounds()))
    }

    /// Removes a key and returns its value; `default`, or else `KeyError`, if it is not there.
    #[pyo3(signature = (key, *default), text_signature = "($self, key, default=..., /)")]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> Res<Bound<'py, PyAny>> {
        if default.len() > 1 {
            let text = format!("pop expected at most 2 arguments, got {}", default.len() + 1);
            return Err(Fault::Raised(pyo3::exceptions::PyTypeError::new_err(text)));
        }
        let data = key.extract::<Data<'_>>()?;
        match self.change(|txn| self.raw.take(txn, &data))? {
            Some(value) => Ok(PyBytes::new(py, value.bytes()).into_any()),
            None => default.iter().next().ok_or_else(|| key_error(key)),
        }
    }

    /// Removes the last record, or with `last=False` the first, and returns it.
    #[pyo3(signature = (last=true))]
    fn popitem<'py>(&self, py: Python<'py>, last: bool) -> Res<Pair<'py>> {
        let popped =
            self.change(|txn| if last { self.raw.pop_last(txn) } else { self.raw.pop_first(txn) })?;
        let record = popped.as_ref().map(|(key, value)| (key.bytes(), value.bytes()));
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

    /// Deletes all records; the table stays.
    fn clear(&self, py: Python<'_>) -> Res<()> {
        let table = self.raw;
        self.change_long(py, |txn| table.clear(txn))
    }

    /// Deletes the table with all that is in it.
    fn drop(&self, py: Python<'_>) -> Res<()> {
        let table = self.raw;
        let dropped = self.change_long(py, |txn| table.drop_table(txn))?;
        if dropped { Ok(()) } else { Err(Error::TableNotFound.into()) }
    }

    /// Gives the table another name. This object stands for a missing table then.
    fn rename(&self, name: Name<'_>) -> Res<()> {
        self.change(|txn| self.raw.rename(txn, &*name))
    }

    /// The sequence of the table: a number that is stored with it, 0 at first.
    #[getter]
    fn sequence(&self) -> Res<u64> {
        look!(&self.seat, |txn| Ok(self.raw.sequence(txn)?))
    }

    /// Raises the sequence by `count`, and returns what it was before.
    #[pyo3(signature = (count=1))]
    fn take_sequence(&self, count: u64) -> Res<u64> {
        self.change(|txn| self.raw.take_sequence(txn, count))
    }

    // ---- packed records, for arrays

    /// The values of packed keys, each of `key_bytes`: all must have `value_bytes`, and come
    /// packed, with a byte for each that says whether the key is there.
    fn _get_packed<'py>(
        &self,
        py: Python<'py>,
        keys: Data<'_>,
        key_bytes: usize,
        value_bytes: usize,
    ) -> Res<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        crate::array::get(py, self, &keys, key_bytes, value_bytes)
    }

    /// The records of a range, packed: all keys have `key_bytes`, and all values `value_bytes`.
    #[pyo3(signature = (key_bytes, value_bytes, *, prefix, start, stop, reverse, limit))]
    #[allow(clippy::too_many_arguments)]
    fn _scan_packed<'py>(
        &self,
        py: Python<'py>,
        key_bytes: usize,
        value_bytes: usize,
        prefix: Option<Data<'_>>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Res<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let part = Part::new(prefix, start, stop, reverse, limit);
        crate::array::scan(py, &*self.scan(part, Shows::Items)?, key_bytes, value_bytes)
    }

    /// Puts packed records.
    fn _put_packed(
        &self,
        py: Python<'_>,
        keys: Data<'_>,
        key_bytes: usize,
        values: Data<'_>,
        value_bytes: usize,
    ) -> Res<()> {
        let count = crate::array::count(&keys, key_bytes)?;
        if Some(values.len()) != value_bytes.checked_mul(count) {
            return Err(value_error("there must be as many values as keys"));
        }
        let (table, keys, values) = (self.raw, &*keys, &*values);
        change_many(py, (&self.seat, self.is_compared), count, |txn| {
            (0..count).try_for_each(|i| {
                let key = &keys[i * key_bytes..][..key_bytes];
                table.put(txn, key, &values[i * value_bytes..][..value_bytes]).map(drop)
            })
        })
    }

    fn __repr__(&self, py: Python<'_>) -> Res<String> {
        Ok(format!("<huon.Table {}>", shown(py, &self.name).repr()?))
    }
}
