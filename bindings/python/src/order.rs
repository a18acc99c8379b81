//! How keys compare, and values of multimaps: as bytes, as numbers, or as a Python function says.
//!
//! 1. A function that raises cannot end what the engine does in the middle. Its exception waits,
//!    and bytes are compared instead, so the engine ends soon, with a wrong answer or in a wrong
//!    place. Whatever called the engine asks for the exception then, and drops the answer.
//! 2. Each change of a table that a function compares is a nested transaction, undone if the
//!    function has raised: the transaction stays as it was before the call.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

use huon::Order;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::fault::{Fault, Res, value_error};
use crate::functions::{Function, Functions};

const INSIDE: Fault =
    Fault::Misuse("a function that compares keys may not use a table that a function compares");

/// Whether a function compares anything in this process: most never ask further.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What a function has raised in this thread, and was not asked for yet (1).
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    static COMPARING: Cell<bool> = const { Cell::new(false) };
}

/// An order as a caller names it: a word, or a name with a function.
pub(crate) fn order(given: &Bound<'_, PyAny>, functions: &Arc<Functions>) -> Res<Order> {
    if let Ok(word) = given.cast::<PyString>() {
        return Ok(match word.to_str()? {
            "bytes" => Order::Bytes,
            "reversed" => Order::Reversed,
            "u32" => Order::NativeU32,
            "u64" => Order::NativeU64,
            other => {
                let known =
                    "an order is one of bytes, reversed, u32, u64, or a name and a function";
                return Err(value_error(format!("{known}, and not {other}")));
            }
        });
    }
    let (name, function) = given.extract::<(String, Bound<'_, PyAny>)>()?;
    if !function.is_callable() {
        let text = "an order is a name and a function of two keys";
        return Err(Fault::Raised(PyTypeError::new_err(text)));
    }
    let what = [b"order\0", name.as_bytes()].concat();
    let function = functions.first(given.py(), &what, function.as_unbound());
    ANY.store(true, atomic::Ordering::Relaxed);
    Ok(Order::custom(name, move |a, b| compare(&function, a, b)))
}

/// Whether a function says how keys compare.
pub(crate) fn is_function(order: Option<&Order>) -> bool {
    matches!(order, Some(Order::Custom(_)))
}

fn compare(function: &Function, a: &[u8], b: &[u8]) -> Ordering {
    if a == b || RAISED.with_borrow(Option::is_some) {
        return a.cmp(b);
    }
    let before = COMPARING.replace(true);
    let compared = if before { Err(INSIDE.into()) } else { asked(function, a, b) };
    COMPARING.set(before);
    compared.unwrap_or_else(|raised| {
        RAISED.set(Some(raised));
        a.cmp(b)
    })
}

/// What the function says: a number below 0, 0, or above.
fn asked(function: &Function, a: &[u8], b: &[u8]) -> PyResult<Ordering> {
    function.with(|py, function| {
        let answer = function.call1((PyBytes::new(py, a), PyBytes::new(py, b)))?;
        if let Ok(number) = answer.extract::<i64>() {
            return Ok(number.cmp(&0));
        }
        let (less, greater) = (answer.lt(0)?, answer.gt(0)?);
        Ok(greater.cmp(&less))
    })
}

/// Fails if a function has raised since it was asked last: what the engine has answered is wrong.
#[inline]
pub(crate) fn raised() -> Res<()> {
    if ANY.load(atomic::Ordering::Relaxed) { taken() } else { Ok(()) }
}

#[cold]
fn taken() -> Res<()> {
    RAISED.take().map_or(Ok(()), |raised| Err(Fault::Raised(raised)))
}

/// A change of a table, which a function compares or not (2).
#[inline]
pub(crate) fn change<R>(
    txn: &mut huon::WriteTxn,
    is_compared: bool,
    work: impl FnOnce(&mut huon::WriteTxn) -> huon::Result<R>,
) -> Res<R> {
    if !is_compared {
        return Ok(work(txn)?);
    }
    txn.try_nested(|txn| {
        let done = work(txn);
        raised()?;
        Ok(done?)
    })
}
