//! Records of one length, packed: for arrays of NumPy, and all else that has a buffer.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::fault::{Res, value_error};
use crate::scan::Scan;
use crate::seat::Seat;
use crate::table::Table;

/// How many keys these bytes are.
pub(crate) fn count(keys: &[u8], key_bytes: usize) -> Res<usize> {
    if key_bytes == 0 || !keys.len().is_multiple_of(key_bytes) {
        return Err(value_error("keys must have at least one byte, and all the same length"));
    }
    Ok(keys.len() / key_bytes)
}

type Packed<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// See `Table._get_packed`.
pub(crate) fn get<'py>(
    py: Python<'py>,
    table: &Table,
    keys: &[u8],
    key_bytes: usize,
    value_bytes: usize,
) -> Res<Packed<'py>> {
    let count = count(keys, key_bytes)?;
    let Some(bytes) = count.checked_mul(value_bytes) else {
        return Err(value_error("these are too many bytes"));
    };
    let keys: Vec<&[u8]> = keys.chunks_exact(key_bytes).collect();
    let (mut values, mut there) = (vec![0; bytes], vec![0; count]);
    let mut other = None;
    let raw = table.raw;
    let take = |i: usize, value: Option<&[u8]>| {
        if let Some(value) = value {
            there[i] = 1;
            match values.get_mut(i * value_bytes..(i + 1) * value_bytes) {
                Some(room) if room.len() == value.len() => room.copy_from_slice(value),
                _ => other = Some(value.len()),
            }
        }
    };
    match &table.seat {
        Seat::Read(reading) => {
            let opened = reading.opened()?;
            let txn: &huon::ReadTxn = &opened;
            py.detach(|| raw.get_many(txn, &keys, take))?;
        }
        Seat::Write(level) => {
            let mut opened = level.opened()?;
            let alone: &mut huon::WriteTxn = &mut opened;
            let keys = &keys;
            py.detach(move || {
                let txn: &huon::WriteTxn = alone;
                raw.get_many(txn, keys, take)
            })?;
        }
    }
    if let Some(found) = other {
        return Err(length("value", found, value_bytes));
    }
    let pack = |bytes: &[u8]| PyByteArray::new(py, bytes).into_any();
    Ok((pack(&values), pack(&there)))
}

/// See `Table._scan_packed`.
pub(crate) fn scan<'py>(
    py: Python<'py>,
    scan: &Scan,
    key_bytes: usize,
    value_bytes: usize,
) -> Res<Packed<'py>> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    scan.walk(|key, value| {
        if key.len() != key_bytes {
            return Err(length("key", key.len(), key_bytes));
        }
        if value.len() != value_bytes {
            return Err(length("value", value.len(), value_bytes));
        }
        keys.extend_from_slice(key);
        values.extend_from_slice(value);
        Ok(())
    })?;
    let pack = |bytes: &[u8]| PyByteArray::new(py, bytes).into_any();
    Ok((pack(&keys), pack(&values)))
}

fn length(what: &str, found: usize, wanted: usize) -> crate::fault::Fault {
    value_error(format!("a {what} has {found} bytes, and {wanted} were expected"))
}
