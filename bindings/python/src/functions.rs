//! Python functions that the engine calls: about slow readers, to compare keys, to merge values.
//!
//! 1. The environment's object and what it has opened hold them, and the engine does not: so the
//!    garbage collector finds them where they lead back to the environment.
//! 2. What the engine calls takes the interpreter lock, and holds none of ours meanwhile. It is
//!    called under no lock of the engine's that another thread waits for with that of the
//!    interpreter.

use std::sync::{Arc, Mutex, Weak};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// The functions of an environment, by what they are for.
#[derive(Default)]
pub(crate) struct Functions(Mutex<Vec<(Vec<u8>, Py<PyAny>)>>);

/// One of them, as the engine has it.
#[derive(Clone)]
pub(crate) struct Function {
    of: Weak<Functions>,
    at: usize,
}

impl Functions {
    /// The function for something: the first one that was given for that.
    pub(crate) fn first(
        self: &Arc<Functions>,
        py: Python<'_>,
        what: &[u8],
        function: &Py<PyAny>,
    ) -> Function {
        // Only while the interpreter lock is held, so nothing waits for it; and nothing of Python's
        // is called meanwhile, as it would be if `function` were the last to hold its object.
        let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = known.iter().position(|(name, _)| name == what);
        let at = found.unwrap_or(known.len());
        if found.is_none() {
            known.push((what.to_vec(), function.clone_ref(py)));
        }
        drop(known);
        Function { of: Arc::downgrade(self), at }
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock().as_deref() {
            Ok(known) => known.iter().try_for_each(|(_, function)| visit.call(function)),
            _ => Ok(()),
        }
    }

    pub(crate) fn clear(&self) {
        let taken = self.0.try_lock().ok().map(|mut known| std::mem::take(&mut *known));
        drop(taken);
    }
}

impl Function {
    /// The function; `None` once its environment is gone.
    pub(crate) fn get(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let functions = self.of.upgrade()?;
        let known = functions.0.try_lock().ok()?;
        known.get(self.at).map(|(_, function)| function.clone_ref(py))
    }

    /// Does something with it. While the interpreter ends, no function can be called.
    pub(crate) fn with<R>(
        &self,
        work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<R>,
    ) -> PyResult<R> {
        let gone =
            || PyRuntimeError::new_err("the environment of a function that it needs is gone");
        Python::try_attach(|py| work(py, self.get(py).ok_or_else(gone)?.bind(py)))
            .unwrap_or_else(|| Err(PyRuntimeError::new_err("the interpreter ends")))
    }
}
