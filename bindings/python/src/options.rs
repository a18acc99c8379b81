//! Opening: what may be chosen, in Python's words.

use std::sync::Arc;
use std::time::Duration;

use huon::{Durability, ReadAhead, RetainingReader, SlowReader, SlowReaderAnswer, Verify};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bytes::FilePath;
use crate::care;
use crate::env::{Env, seconds};
use crate::fault::{Fault, Res, value_error};
use crate::functions::Functions;

pub(crate) fn durability(text: &str) -> Res<Durability> {
    Ok(match text {
        "durable" => Durability::Durable,
        "no_meta_sync" => Durability::NoMetaSync,
        "lazy" => Durability::Lazy,
        "unsynced" => Durability::Unsynced,
        _ => return Err(unknown("durability", text, "durable, no_meta_sync, lazy, unsynced")),
    })
}

fn verify(text: &str) -> Res<Verify> {
    Ok(match text {
        "pages" => Verify::Pages,
        "pages_and_values" => Verify::PagesAndValues,
        "never" => Verify::Never,
        _ => return Err(unknown("verify", text, "pages, pages_and_values, never")),
    })
}

fn read_ahead(text: &str) -> Res<ReadAhead> {
    Ok(match text {
        "if_it_fits" => ReadAhead::IfItFits,
        "always" => ReadAhead::Always,
        "never" => ReadAhead::Never,
        _ => return Err(unknown("read_ahead", text, "if_it_fits, always, never")),
    })
}

fn unknown(what: &str, found: &str, known: &str) -> Fault {
    value_error(format!("{what} is one of {known}, and not {found}"))
}

/// Opens the environment at `path`, and creates it if it is missing; with `None` as the path one
/// in memory, which leaves no file behind.
#[pyfunction]
#[pyo3(signature = (
    path, *, read_only=false, create=true, exclusive=false, durability="durable",
    flush_after_bytes=None, flush_after=None, lock_timeout=30.0, page_bytes=None, max_bytes=None,
    min_bytes=None, map_bytes=None, write_buffer_bytes=None, journal_bytes=None, mode=0o600,
    verify="pages", read_ahead="if_it_fits", on_slow_reader=None, release_gil=false,
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<FilePath>,
    read_only: bool,
    create: bool,
    exclusive: bool,
    durability: &str,
    flush_after_bytes: Option<u64>,
    flush_after: Option<f64>,
    lock_timeout: f64,
    page_bytes: Option<usize>,
    max_bytes: Option<u64>,
    min_bytes: Option<u64>,
    map_bytes: Option<u64>,
    write_buffer_bytes: Option<usize>,
    journal_bytes: Option<u64>,
    mode: u32,
    verify: &str,
    read_ahead: &str,
    on_slow_reader: Option<Py<PyAny>>,
    release_gil: bool,
) -> Res<Env> {
    let mut options = huon::Env::options();
    options
        .read_only(read_only)
        .create(create)
        .exclusive(exclusive)
        .durability(self::durability(durability)?)
        .lock_timeout(seconds(lock_timeout)?)
        .mode(mode)
        .verify(self::verify(verify)?)
        .read_ahead(self::read_ahead(read_ahead)?);
    flush_after_bytes.map(|bytes| options.flush_after_bytes(bytes));
    if let Some(period) = flush_after {
        options.flush_after(seconds(period)?);
    }
    page_bytes.map(|bytes| options.page_bytes(bytes));
    max_bytes.map(|bytes| options.max_bytes(bytes));
    min_bytes.map(|bytes| options.min_bytes(bytes));
    map_bytes.map(|bytes| options.map_bytes(bytes));
    write_buffer_bytes.map(|bytes| options.write_buffer_bytes(bytes));
    journal_bytes.map(|bytes| options.journal(bytes));
    let functions = Arc::<Functions>::default();
    if let Some(function) = on_slow_reader {
        let function = functions.first(py, b"slow readers", &function);
        options.on_slow_reader(move |slow| {
            let asked = function.with(|py, function| Ok(answer(py, function, slow)));
            asked.unwrap_or(SlowReaderAnswer::GiveUp)
        });
    }
    let path = path.map(|path| path.0);
    let env = py.detach(|| match &path {
        Some(path) => options.open(path),
        None => options.open_in_memory(),
    })?;
    Ok(Env::new(env, path, functions, release_gil))
}

/// Asks the callback; an exception is reported, and gives up. Ctrl-C gives up, and comes later.
fn answer(py: Python<'_>, callback: &Bound<'_, PyAny>, slow: &SlowReader) -> SlowReaderAnswer {
    let asked = asked(py, callback, slow);
    asked.unwrap_or_else(|fault| {
        let error = PyErr::from(fault);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // No report may swallow it: it is raised when the call is over.
            let interrupt = || py.import("_thread")?.call_method0("interrupt_main");
            drop(interrupt());
        } else {
            error.write_unraisable(py, Some(callback));
        }
        SlowReaderAnswer::GiveUp
    })
}

fn asked(py: Python<'_>, callback: &Bound<'_, PyAny>, slow: &SlowReader) -> Res<SlowReaderAnswer> {
    let SlowReader { reader, own, retries, full, .. } = slow;
    let about = care::shown(py, reader as &RetainingReader)?;
    let about = about.cast_into::<PyDict>().map_err(PyErr::from)?;
    about.set_item("own", own)?;
    about.set_item("retries", retries)?;
    about.set_item("full", full)?;
    let answer = callback.call1((about,))?;
    Ok(match answer.extract::<Option<&str>>()? {
        Some("retry") => SlowReaderAnswer::Retry,
        Some("evict") => SlowReaderAnswer::Evict,
        Some("give_up") | None => SlowReaderAnswer::GiveUp,
        Some(other) => return Err(unknown("the answer", other, "retry, evict, give_up")),
    })
}

/// What a change of settings names.
pub(crate) fn change_settings(
    settings: &mut huon::Settings,
    durability: Option<&str>,
    flush_after_bytes: Option<u64>,
    flush_after: Option<f64>,
    lock_timeout: Option<f64>,
) -> Res<()> {
    if let Some(text) = durability {
        settings.durability = self::durability(text)?;
    }
    if let Some(bytes) = flush_after_bytes {
        settings.flush_after_bytes = bytes;
    }
    if let Some(period) = flush_after {
        settings.flush_after = seconds(period)?;
    }
    if let Some(timeout) = lock_timeout {
        settings.lock_timeout = seconds(timeout)?;
    }
    Ok(())
}

/// The word for a durability.
pub(crate) fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::NoMetaSync => "no_meta_sync",
        Durability::Lazy => "lazy",
        Durability::Unsynced => "unsynced",
        _ => "durable",
    }
}

/// Seconds that a caller counts: any number from 0 on; what is too long has no end.
pub(crate) fn duration(count: f64) -> Option<Duration> {
    if count.is_nan() || count < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(count).unwrap_or(Duration::MAX))
}
