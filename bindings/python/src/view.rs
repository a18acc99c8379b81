//! Memory views of values where they lie, in the file's map. The one module with unsafe code.
//!
//! 1. A view holds the transaction's state, and is counted in it while a memory view is exported:
//!    with a count above zero the transaction is neither ended nor changed, nor moved, so the bytes
//!    stay where they are.
//! 2. No process writes to the bytes: pages that a snapshot shows are never written.

use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::{Res, value_error};
use crate::order;
use crate::read::Reading;

/// What a memory view of a value is a view of: its `obj`.
#[pyclass(frozen, module = "huon")]
pub(crate) struct View {
    reading: Arc<Reading>,
    address: usize,
    len: usize,
    exports: AtomicUsize,
    /// Its last memory view is gone: the bytes may have gone since.
    spent: AtomicBool,
}

/// A memory view of what `find` finds in the transaction.
pub(crate) fn of<'py>(
    py: Python<'py>,
    reading: &Arc<Reading>,
    find: impl FnOnce(&huon::ReadTxn) -> huon::Result<Option<&[u8]>>,
) -> Res<Option<Bound<'py, PyAny>>> {
    let opened = reading.opened()?;
    let found = find(&opened)?;
    order::raised()?;
    let Some(value) = found else { return Ok(None) };
    if value.is_empty() {
        return Ok(Some(memory(&PyBytes::new(py, b""))?));
    }
    let view = View {
        reading: reading.clone(),
        address: value.as_ptr() as usize,
        len: value.len(),
        exports: AtomicUsize::new(0),
        spent: AtomicBool::new(false),
    };
    // The transaction is held until the memory view is counted (1).
    let shown = memory(Bound::new(py, view)?.as_any())?;
    drop(opened);
    Ok(Some(shown))
}

/// `memoryview(object)`
pub(crate) fn memory<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(pyo3::types::PyMemoryView::from(object)?.into_any())
}

#[pymethods]
impl View {
    /// # Safety
    /// Called by the interpreter alone, with a buffer to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        buffer: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let view = slf.get();
        if view.spent.load(Ordering::Acquire) {
            return Err(PyBufferError::new_err("the view was released"));
        }
        let (address, len) = (view.address as *mut c_void, view.len as ffi::Py_ssize_t);
        // SAFETY: the interpreter gave the buffer; the bytes are valid as long as the export is
        // counted (1), and are only read, as the buffer is filled as read-only.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(buffer, slf.as_ptr(), address, len, 1, flags) };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        view.exports.fetch_add(1, Ordering::AcqRel);
        view.reading.add_view();
        Ok(())
    }

    /// # Safety
    /// Called by the interpreter alone, once for each buffer that was filled.
    unsafe fn __releasebuffer__(&self, _buffer: *mut ffi::Py_buffer) {
        if self.exports.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.spent.store(true, Ordering::Release);
        }
        self.reading.drop_view();
    }
}

/// Borrows a descriptor that the caller named.
pub(crate) fn descriptor(number: c_int) -> Res<BorrowedFd<'static>> {
    // SAFETY: no function of the system is called with it but `fcntl`.
    if number < 0 || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(value_error("that is no open file descriptor"));
    }
    // SAFETY: it is open, and the caller keeps it so during the call, as with Python's own.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}
