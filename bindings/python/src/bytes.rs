//! Bytes that a caller gives.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

/// A key or a value: `bytes` as they are, anything else with a buffer (`bytearray`, `memoryview`,
/// arrays) copied, since another thread may change it.
pub(crate) struct Data<'a>(Cow<'a, [u8]>);

impl Data<'_> {
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl Deref for Data<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Data<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Data<'a>> {
        match <&'a [u8]>::extract(given) {
            Ok(bytes) => Ok(Data(Cow::Borrowed(bytes))),
            Err(_) => copied(&given).map(|bytes| Data(Cow::Owned(bytes))),
        }
    }
}

#[cold]
fn copied(given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if PyUntypedBuffer::get(given).is_ok() {
        return Ok(PyByteArray::from(given)?.to_vec());
    }
    let kind = given.get_type().name()?;
    let hint = if given.is_instance_of::<PyString>() { ": encode it first" } else { "" };
    Err(PyTypeError::new_err(format!("a bytes-like object is required, not '{kind}'{hint}")))
}

/// A path in the file system: text, bytes, or what has `__fspath__`.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<FilePath> {
        let text = given.py().import("os")?.call_method1("fsdecode", (given,))?;
        text.extract().map(FilePath)
    }
}

/// The name of a table: text, or bytes.
pub(crate) struct Name<'a>(Cow<'a, [u8]>);

impl Deref for Name<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Name<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Name<'a>> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Name(Cow::Owned(text.to_str()?.as_bytes().to_vec()))),
            Err(_) => given.extract::<Data<'a>>().map(|data| Name(data.0)),
        }
    }
}

/// A name as Python shows it: text if it is UTF-8, else bytes.
pub(crate) fn shown<'py>(py: Python<'py>, name: &[u8]) -> Bound<'py, PyAny> {
    match std::str::from_utf8(name) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, name).into_any(),
    }
}

/// A pair of key and value: a tuple or a list of two.
pub(crate) fn pair<'py>(
    given: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if let Ok(tuple) = given.cast::<PyTuple>()
        && tuple.len() == 2
    {
        return Ok((tuple.get_item(0)?, tuple.get_item(1)?));
    }
    if let Ok(list) = given.cast::<PyList>()
        && list.len() == 2
    {
        return Ok((list.get_item(0)?, list.get_item(1)?));
    }
    Err(PyTypeError::new_err("a pair (key, value) is required"))
}
