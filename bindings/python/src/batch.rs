//! Batches of changes of write-optimised tables.

use std::sync::Mutex;

use huon_lsm::WriteBatch;
use pyo3::prelude::*;

use crate::bytes::Data;
use crate::fault::{Fault, Res};
use crate::given::{Chunk, in_chunks};
use crate::lsm::LsmTable;
use crate::lsm_mapping::time;
use crate::part::Part;

/// Changes of write-optimised tables, collected without a transaction; see `Lsm.batch`. Later
/// changes of a key count.
#[pyclass(frozen, module = "huon")]
pub(crate) struct LsmBatch {
    batch: Mutex<WriteBatch>,
}

impl LsmBatch {
    pub(crate) fn new(batch: WriteBatch) -> LsmBatch {
        LsmBatch { batch: Mutex::new(batch) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut WriteBatch) -> huon::Result<R>) -> Res<R> {
        let mut batch = self.batch.try_lock().map_err(|_| Fault::InUse)?;
        Ok(work(&mut batch)?)
    }

    /// All of it: it is empty then.
    pub(crate) fn taken(&self) -> Res<WriteBatch> {
        self.with(|batch| Ok(std::mem::take(batch)))
    }
}

#[pymethods]
impl LsmBatch {
    /// How many bytes of keys and values were added.
    #[getter]
    fn bytes(&self) -> Res<usize> {
        self.with(|batch| Ok(batch.bytes()))
    }

    /// Whether it changes anything.
    fn __bool__(&self) -> Res<bool> {
        self.with(|batch| Ok(!batch.is_empty()))
    }

    /// Puts a record.
    fn put(&self, table: &Bound<'_, LsmTable>, key: Data<'_>, value: Data<'_>) -> Res<()> {
        let raw = table.get().handle.raw()?;
        self.with(|batch| batch.put(&raw, &key, &value))
    }

    /// Puts a record that is absent from a time on, in seconds since 1970 as of `time.time()`.
    fn put_until(
        &self,
        table: &Bound<'_, LsmTable>,
        key: Data<'_>,
        value: Data<'_>,
        until: f64,
    ) -> Res<()> {
        let (raw, until) = (table.get().handle.raw()?, time(until)?);
        self.with(|batch| batch.put_until(&raw, &key, &value, until))
    }

    /// Puts the records of a mapping, or of an iterable of pairs.
    fn put_many(&self, table: &Bound<'_, LsmTable>, pairs: &Bound<'_, PyAny>) -> Res<()> {
        let raw = table.get().handle.raw()?;
        let put = |records: &[(Data<'_>, Data<'_>)]| {
            self.with(|batch| {
                records.iter().try_for_each(|(key, value)| batch.put(&raw, key, value))
            })
        };
        in_chunks(pairs, put, Chunk::PUT)
    }

    /// Merges an operand onto what a key has, as the table's function says.
    fn merge(&self, table: &Bound<'_, LsmTable>, key: Data<'_>, operand: Data<'_>) -> Res<()> {
        let raw = table.get().handle.raw()?;
        self.with(|batch| batch.merge(&raw, &key, &operand))
    }

    /// Deletes a key, without looking whether it is there.
    fn delete(&self, table: &Bound<'_, LsmTable>, key: Data<'_>) -> Res<()> {
        let raw = table.get().handle.raw()?;
        self.with(|batch| batch.delete(&raw, &key))
    }

    /// Deletes all keys from `start` (with it) to `stop` (without it), or all that begin with
    /// `prefix`, also of those that were added to the batch before.
    #[pyo3(signature = (table, start=None, stop=None, *, prefix=None))]
    fn delete_range(
        &self,
        table: &Bound<'_, LsmTable>,
        start: Option<Data<'_>>,
        stop: Option<Data<'_>>,
        prefix: Option<Data<'_>>,
    ) -> Res<()> {
        let (raw, part) = (table.get().handle.raw()?, Part::new(prefix, start, stop, false, None));
        self.with(|batch| batch.delete_range(&raw, part.bounds()))
    }

    fn __repr__(&self) -> Res<String> {
        Ok(format!("<huon.LsmBatch of {} bytes>", self.bytes()?))
    }
}
