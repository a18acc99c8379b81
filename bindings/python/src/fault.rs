//! Errors: those of the engine as exceptions of the package, each kind with a class of its own.

use std::io::ErrorKind;

use huon::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::order;

/// What goes wrong in a method: an error of the engine, a wrong call, or an exception.
pub(crate) enum Fault {
    Engine(Box<Error>),
    /// A call that makes no sense at this moment: after the end, or in the middle of another one.
    Misuse(&'static str),
    /// Another call uses the transaction, in this thread or another.
    InUse,
    Raised(PyErr),
}

pub(crate) type Res<T> = Result<T, Fault>;

pub(crate) const ENDED: Fault = Fault::Misuse("the transaction has ended");

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Fault {
        if let Err(raised) = order::raised() {
            return raised;
        }
        match error {
            // Of a function of the caller's: see `of_function`.
            Error::Decode(inner) => match inner.downcast::<PyErr>() {
                Ok(raised) => Fault::Raised(*raised),
                Err(inner) => Fault::Engine(Box::new(Error::Decode(inner))),
            },
            error => Fault::Engine(Box::new(error)),
        }
    }
}

/// An exception on its way through the engine, from a function of the caller's.
#[cold]
pub(crate) fn of_function(raised: PyErr) -> Error {
    Error::Decode(Box::new(raised))
}

impl From<PyErr> for Fault {
    #[cold]
    fn from(error: PyErr) -> Fault {
        Fault::Raised(error)
    }
}

impl From<Fault> for PyErr {
    #[cold]
    fn from(fault: Fault) -> PyErr {
        let made = Python::attach(|py| match &fault {
            Fault::Engine(error) => raised(py, error),
            Fault::Misuse(text) => class(py, "misuse", (*text,)),
            Fault::InUse => class(py, "misuse", ("another call uses it at this moment",)),
            Fault::Raised(error) => Ok(error.clone_ref(py)),
        });
        made.unwrap_or_else(|error| error)
    }
}

/// `huon._errors.<function>(..)`: an exception.
fn class<'py>(
    py: Python<'py>,
    function: &str,
    args: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<PyErr> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let import = || PyModule::import(py, "huon._errors").map(Bound::unbind);
    let made = MODULE.get_or_try_init(py, import)?.bind(py).call_method1(function, args)?;
    Ok(PyErr::from_value(made))
}

fn raised(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let page = match error {
        Error::Corrupt(found) => found.pgno,
        _ => None,
    };
    let system = match error {
        Error::Io(found) => found.source.raw_os_error().or(number_of(found.source.kind())),
        _ => None,
    };
    class(py, "engine", (error.code(), error.to_string(), page, system))
}

/// The system's number for what the engine found out itself.
fn number_of(kind: ErrorKind) -> Option<i32> {
    match kind {
        ErrorKind::NotFound => Some(libc::ENOENT),
        ErrorKind::AlreadyExists => Some(libc::EEXIST),
        ErrorKind::PermissionDenied => Some(libc::EACCES),
        _ => None,
    }
}

/// A bad argument, in Python's own way.
#[cold]
pub(crate) fn value_error(text: impl Into<String>) -> Fault {
    Fault::Raised(pyo3::exceptions::PyValueError::new_err(text.into()))
}

/// The `KeyError` of a mapping.
#[cold]
pub(crate) fn key_error(key: &Bound<'_, PyAny>) -> Fault {
    Fault::Raised(pyo3::exceptions::PyKeyError::new_err(key.clone().unbind()))
}
