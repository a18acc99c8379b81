//! Multimaps: tables in which a key may have many values, in order and none twice.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use huon::{Error, RawMulti};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::bytes::{Data, Name, shown};
use crate::fault::{Res, key_error};
use crate::given::{Chunk, in_chunks, with_keys};
use crate::order;
use crate::part::Part;
use crate::scan::{Items, Keys, Scan, Shows, Source, Values};
use crate::seat::{Seat, look, look_detached};
use crate::table::{Pair, RELEASE_KEYS, change_many, level, shown_pair};

/// A multimap in a transaction: each key has one or more values, in order.
#[pyclass(frozen, module = "huon")]
pub(crate) struct MultiTable {
    pub(crate) seat: Seat,
    pub(crate) raw: RawMulti,
    pub(crate) name: Box<[u8]>,
    /// See `Scan::new`.
    pub(crate) prefixes: AtomicBool,
    /// A function of the caller's compares keys, or values.
    pub(crate) is_compared: bool,
}

impl MultiTable {
    fn change<R>(&self, work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R>) -> Res<R> {
        let mut opened = level(&self.seat)?.changing()?;
        order::change(&mut opened, self.is_compared, work)
    }

    fn change_long<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R> + Send,
    ) -> Res<R> {
        let mut opened = level(&self.seat)?.changing()?;
        let txn: &mut huon::WriteTxn = &mut opened;
        py.detach(move || order::change(txn, self.is_compared, work))
    }

    /// The values of so many keys that the interpreter lock is given up meanwhile.
    fn copied(&self, py: Python<'_>, keys: &[&[u8]]) -> Res<Copied> {
        let (multi, mut copied) = (self.raw, Copied::default());
        let out = &mut copied;
        look_detached!(&self.seat, py, |txn| {
            let mut wrong = None;
            multi.get_many(txn, keys, |_, values| {
                let added: huon::Result<()> = out.add(values);
                wrong = wrong.take().or(added.err());
            })?;
            wrong.map_or(Ok(()), Err)
        });
        Ok(copied)
    }

    fn scan(&self, source: Source, part: Part, shows: Shows) -> Res<Arc<Scan>> {
        Scan::new(self.seat.clone(), source, (part, shows), &self.prefixes)
    }
}

/// The values of many keys, one behind the other.
#[derive(Default)]
struct Copied {
    bytes: Vec<u8>,
    /// How many bytes each value has, and how many values each key.
    lengths: Vec<usize>,
    counts: Vec<usize>,
}

impl Copied {
    fn add<'v>(
        &mut self,
        values: impl Iterator<Item = huon::Result<&'v [u8]>>,
    ) -> huon::Result<()> {
        let before = self.lengths.len();
        for value in values {
            let value = value?;
            self.bytes.extend_from_slice(value);
            self.lengths.push(value.len());
        }
        self.counts.push(self.lengths.len() - before);
        Ok(())
    }

    /// A list for each key.
    fn lists(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        let (mut rest, mut lengths) = (&self.bytes[..], self.lengths.into_iter());
        let lists = self.counts.into_iter().map(|count| {
            let values = lengths.by_ref().take(count).map(|length| {
                let (value, behind) = rest.split_at(length);
                rest = behind;
                PyBytes::new(py, value)
            });
            PyList::new(py, values.collect::<Vec<_>>())
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }
}

#[pymethods]
impl MultiTable {
    /// The name of the table: `str`, or `bytes` that are not UTF-8.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        shown(py, &self.name)
    }

    /// The values of a key, in order: an empty list if it has none.
    fn get<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Vec<Bound<'py, PyBytes>>> {
        look!(&self.seat, |txn| {
            let mut values = Vec::new();
            for value in self.raw.values(txn, &key)? {
                values.push(PyBytes::new(py, value?));
            }
            Ok(values)
        })
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Vec<Bound<'py, PyBytes>>> {
        self.get(py, key)
    }

    /// The values of many keys, a list for each.
    fn get_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> Res<Bound<'py, PyList>> {
        with_keys(keys, |keys| {
            if keys.len() >= RELEASE_KEYS || self.seat.releases() {
                return Ok(self.copied(py, keys)?.lists(py)?);
            }
            let mut found = Vec::with_capacity(keys.len());
            look!(&self.seat, |txn| {
                self.raw.get_many(txn, keys, |_, values| {
                    let values = values.map(|value| value.map(|value| PyBytes::new(py, value)));
                    found.push(values.collect::<huon::Result<Vec<_>>>());
                })?;
            });
            let lists = found.into_iter().map(|values| Ok(PyList::new(py, values?)?));
            Ok(PyList::new(py, lists.collect::<Res<Vec<_>>>()?)?)
        })
    }

    /// The values of a key, one after another, however many there are: from `start` (with it) to
    /// `stop` (without it). Without a key those of a range of keys.
    #[pyo3(signature = (
        key=None, *, prefix=None, start=None, stop=None, reverse=false, limit=None,
    ))]
    fn values(
        &self,
        key: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Res<Values> {
        let part = Part::new(prefix, start, stop, reverse, limit);
        let source = match key {
            Some(key) => Source::MultiValues(self.raw, key.into_vec()),
            None => Source::Multi(self.raw),
        };
        Ok(Values { scan: self.scan(source, part, Shows::Values)? })
    }

    /// Each key once that begins with `prefix`, from `start` (with it) to `stop` (without it), at
    /// most `limit` of them; `reverse`: from the last one on.
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
        Ok(Keys { scan: self.scan(Source::MultiKeys(self.raw), part, Shows::Keys)? })
    }

    /// The pairs of these keys; see `keys`.
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
        Ok(Items { scan: self.scan(Source::Multi(self.raw), part, Shows::Items)? })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        self.scan(Source::MultiKeys(self.raw), Part::default(), Shows::Keys)?.iter(py)
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> Res<Bound<'py, PyAny>> {
        self.scan(Source::MultiKeys(self.raw), Part::default(), Shows::Keys)?.iter_back(py)
    }

    fn __contains__(&self, key: Data<'_>) -> Res<bool> {
        look!(&self.seat, |txn| Ok(self.raw.count_values(txn, &key)? > 0))
    }

    /// Whether a key has this value.
    fn has(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        look!(&self.seat, |txn| Ok(self.raw.contains(txn, &key, &value)?))
    }

    /// How many pairs there are.
    fn __len__(&self) -> Res<usize> {
        let count = look!(&self.seat, |txn| self.raw.len(txn))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// How many values a key has.
    fn count_values(&self, key: Data<'_>) -> Res<u64> {
        look!(&self.seat, |txn| Ok(self.raw.count_values(txn, &key)?))
    }

    /// How many pairs lie in a range of keys.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(Source::Multi(self.raw), part.clone(), Shows::Keys)?;
        let (multi, bounds) = (self.raw, part.bounds());
        Ok(look_detached!(&self.seat, py, |txn| multi.count(txn, bounds)))
    }

    /// About how many pairs lie in a range of keys, by a look at its ends.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn estimate(
        &self,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(Source::Multi(self.raw), part.clone(), Shows::Keys)?;
        look!(&self.seat, |txn| Ok(self.raw.estimate(txn, part.bounds())?))
    }

    /// The first pair, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.first(txn)?)))
    }

    /// The last pair, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> Res<Option<Pair<'py>>> {
        look!(&self.seat, |txn| Ok(shown_pair(py, self.raw.last(txn)?)))
    }

    // ---- changes

    /// Adds a value to a key; `False` if the key has it already.
    fn add(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        self.change(|txn| self.raw.put(txn, &key, &value))
    }

    /// Adds many values to one key; returns how many it had not.
    fn add_values(&self, key: Data<'_>, values: &Bound<'_, PyAny>) -> Res<u64> {
        let py = values.py();
        with_keys(values, |values| {
            let (multi, key) = (self.raw, &*key);
            change_many(py, (&self.seat, self.is_compared), values.len(), |txn| {
                multi.put_many(txn, key, values.iter().copied())
            })
        })
    }

    /// Adds the pairs of a mapping, or of an iterable.
    fn put_many(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        level(&self.seat)?;
        let put = |records: &[(Data<'_>, Data<'_>)]| {
            self.change(|txn| {
                records.iter().try_for_each(|(key, value)| self.raw.put(txn, key, value).map(drop))
            })
        };
        in_chunks(pairs, put, Chunk::PUT)
    }

    /// Fills a multimap from pairs above those that are there, in order; faster than `put_many`.
    /// All of it happens, or nothing.
    fn bulk_append(&self, pairs: &Bound<'_, PyAny>) -> Res<()> {
        let (multi, py) = (self.raw, pairs.py());
        level(&self.seat)?.load(py, |change| {
            let append = |records: &[(Data<'_>, Data<'_>)]| {
                change(&mut |txn| {
                    py.detach(|| {
                        records.iter().try_for_each(|(key, value)| multi.append(txn, key, value))
                    })
                })
            };
            in_chunks(pairs, append, Chunk::LOAD)
        })
    }

    /// Gives a key this value and no other; returns how many others it had.
    fn set(&self, key: Data<'_>, value: Data<'_>) -> Res<u64> {
        self.change(|txn| self.raw.set(txn, &key, &value))
    }

    /// Takes a value from a key; `False` if the key does not have it.
    fn remove(&self, key: Data<'_>, value: Data<'_>) -> Res<bool> {
        self.change(|txn| self.raw.remove(txn, &key, &value))
    }

    /// Removes a key with all its values; returns how many there were.
    fn remove_all(&self, key: Data<'_>) -> Res<u64> {
        self.change(|txn| self.raw.remove_key(txn, &key))
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Res<()> {
        let count = self.remove_all(key.extract()?)?;
        if count > 0 { Ok(()) } else { Err(key_error(key)) }
    }

    /// Removes a key with all its values, and returns them.
    fn pop<'py>(&self, py: Python<'py>, key: Data<'_>) -> Res<Vec<Bound<'py, PyBytes>>> {
        let values = self.change(|txn| self.raw.take(txn, &key))?;
        Ok(values.iter().map(|value| PyBytes::new(py, value.bytes())).collect())
    }

    /// Removes all pairs of a range of keys; returns how many there were.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<u64> {
        let part = Part::new(prefix, start, stop, false, None);
        self.scan(Source::Multi(self.raw), part.clone(), Shows::Keys)?;
        let multi = self.raw;
        self.change_long(py, |txn| multi.remove_range(txn, part.bounds()))
    }

    /// Deletes all pairs; the table stays.
    fn clear(&self, py: Python<'_>) -> Res<()> {
        let multi = self.raw;
        self.change_long(py, |txn| multi.clear(txn))
    }

    /// Deletes the table with all that is in it.
    fn drop(&self, py: Python<'_>) -> Res<()> {
        let multi = self.raw;
        let dropped = self.change_long(py, |txn| multi.drop_table(txn))?;
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

    fn __repr__(&self, py: Python<'_>) -> Res<String> {
        Ok(format!("<huon.MultiTable {}>", shown(py, &self.name).repr()?))
    }
}
