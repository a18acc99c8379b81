//! Records of one length, packed: for arrays of NumPy, and all else that has a buffer.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::fault::{Res, value_error};
use crate::scan::Scan;
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
    let bytes = count.checked_mul(value_bytes).filter(|bytes| isize::try_from(*bytes).is_ok());
    let Some(bytes) = bytes else { return Err(value_error("these are too many bytes")) };
    let keys: Vec<&[u8]> = keys.chunks_exact(key_bytes).collect();
    let (mut there, mut other) = (vec![0; count], None);
    // Straight into the object, since a second copy of so much may not fit.
    let mut found = Ok(());
    let values = PyByteArray::new_with(py, bytes, |values| {
        found = table.look_up(py, &keys, |i, value| {
            let Some(value) = value else { return };
            there[i] = 1;
            match values.get_mut(i * value_bytes..(i + 1) * value_bytes) {
                Some(room) if room.len() == value.len() => room.copy_from_slice(value),
                _ => other = Some(value.len()),
            }
        });
        Ok(())
    })?;
    found?;
    if let Some(found) = other {
        return Err(length("value", found, value_bytes));
    }
    Ok((values.into_any(), PyByteArray::new(py, &there).into_any()))
}

/// See `Table._scan_packed`.
pub(crate) fn scan<'py>(
    py: Python<'py>,
    scan: &Scan,
    key_bytes: usize,
    value_bytes: usize,
) -> Res<Packed<'py>> {
    let (mut keys, mut values, mut wrong) = (Vec::new(), Vec::new(), None);
    scan.walk(py, |key, value| {
        if key.len() != key_bytes {
            wrong = Some(("key", key.len(), key_bytes));
        } else if value.len() != value_bytes {
            wrong = Some(("value", value.len(), value_bytes));
        } else {
            keys.extend_from_slice(key);
            values.extend_from_slice(value);
        }
        wrong.is_none()
    })?;
    if let Some((what, found, wanted)) = wrong {
        return Err(length(what, found, wanted));
    }
    let pack = |bytes: &[u8]| PyByteArray::new(py, bytes).into_any();
    Ok((pack(&keys), pack(&values)))
}

fn length(what: &str, found: usize, wanted: usize) -> crate::fault::Fault {
    value_error(format!("a {what} has {found} bytes, and {wanted} were expected"))
}
