//! Keys and pairs that come from iterables. What these do to produce them is done while no
//! transaction is held: so they may look into it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMapping};

use crate::bytes::{Data, pair};
use crate::fault::Res;

/// How many pairs are taken before they are handed on; fewer if they have many bytes.
pub(crate) struct Chunk {
    pairs: usize,
}

impl Chunk {
    pub(crate) const PUT: Chunk = Chunk { pairs: 256 };
    /// A chunk of a bulk load begins at the end of the table, which costs a descent.
    pub(crate) const LOAD: Chunk = Chunk { pairs: 16 << 10 };
}

const CHUNK_BYTES: usize = 4 << 20;

/// Takes pairs from a mapping or an iterable, and hands them on, a chunk at a time.
pub(crate) fn in_chunks(
    given: &Bound<'_, PyAny>,
    mut work: impl FnMut(&[(Data<'_>, Data<'_>)]) -> Res<()>,
    chunk: Chunk,
) -> Res<()> {
    let mut objects = Vec::new();
    let mut pairs = pairs(given)?;
    let mut more = true;
    while more {
        objects.clear();
        let mut bytes = 0;
        while objects.len() < chunk.pairs && bytes < CHUNK_BYTES {
            let Some(given) = pairs.next() else {
                more = false;
                break;
            };
            let taken = pair(&given?)?;
            bytes += weight(&taken.0) + weight(&taken.1);
            objects.push(taken);
        }
        given.py().check_signals()?;
        let mut records = Vec::with_capacity(objects.len());
        for (key, value) in &objects {
            records.push((key.extract::<Data<'_>>()?, value.extract::<Data<'_>>()?));
        }
        if !records.is_empty() {
            work(&records)?;
        }
    }
    Ok(())
}

/// About how many bytes an object takes while it waits.
fn weight(object: &Bound<'_, PyAny>) -> usize {
    64 + object.cast::<PyBytes>().map_or(64, |bytes| bytes.as_bytes().len())
}

/// An iterator over the pairs of a mapping, or of an iterable.
fn pairs<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.call_method0("items")?.try_iter(),
        Err(_) => given.try_iter(),
    }
}

/// Keys from any iterable, and their bytes.
pub(crate) fn with_keys<R>(
    keys: &Bound<'_, PyAny>,
    work: impl FnOnce(&[&[u8]]) -> Res<R>,
) -> Res<R> {
    let objects: Vec<Bound<'_, PyAny>> = match keys.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => keys.try_iter()?.collect::<PyResult<_>>()?,
    };
    let mut data = Vec::with_capacity(objects.len());
    for object in &objects {
        data.push(object.extract::<Data<'_>>()?);
    }
    let keys: Vec<&[u8]> = data.iter().map(|key| &**key).collect();
    work(&keys)
}
