//! Reports, checks, copies and compactions.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use huon::{
    BackupOptions, BackupReport, Capture, CheckOptions, CompactOptions, CopyOptions, Durability,
    Error, Progress, Restore, SnapshotName,
};
use pyo3::exceptions::{PyBlockingIOError, PyKeyError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt};
use serde::Serialize;

use crate::bytes::FilePath;
use crate::env::{Wait, seconds};
use crate::fault::{Fault, Res};
use crate::order;
use crate::read::Reading;
use crate::view;

/// A report as dictionaries and lists.
pub(crate) fn shown<'py>(py: Python<'py>, report: &impl Serialize) -> Res<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let import = || -> PyResult<_> { Ok(py.import("json")?.getattr("loads")?.unbind()) };
    let text = serde_json::to_string(report)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    Ok(LOADS.get_or_try_init(py, import)?.bind(py).call1((text,))?)
}

/// What is asked while a long operation runs: whether signals came, and the caller's function. An
/// exception ends the operation, and is raised in the end.
struct Asked {
    function: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Asked {
    fn report(&mut self, progress: &Progress) -> ControlFlow<()> {
        let went = Python::try_attach(|py| {
            py.check_signals()?;
            match &self.function {
                Some(function) => {
                    function.call1(py, (progress.done_bytes, progress.total_bytes)).map(drop)
                }
                None => Ok(()),
            }
        });
        match went {
            Some(Ok(())) | None => ControlFlow::Continue(()),
            Some(Err(error)) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// What came of it: an exception that was raised meanwhile comes first.
    fn answer<'py, T: Serialize>(
        self,
        py: Python<'py>,
        done: huon::Result<T>,
    ) -> Res<Bound<'py, PyAny>> {
        match self.raised {
            Some(error) => Err(Fault::Raised(error)),
            None => {
                order::raised()?;
                shown(py, &done?)
            }
        }
    }
}

pub(crate) fn check<'py>(
    py: Python<'py>,
    env: &huon::Env,
    function: Option<Py<PyAny>>,
) -> Res<Bound<'py, PyAny>> {
    let mut asked = Asked { function, raised: None };
    let done = py
        .detach(|| env.check_with(CheckOptions::new().progress(|progress| asked.report(progress))));
    asked.answer(py, done)
}

pub(crate) fn compact<'py>(
    py: Python<'py>,
    env: &huon::Env,
    (target, time, durability): (f64, Option<Duration>, Option<Durability>),
    function: Option<Py<PyAny>>,
) -> Res<Bound<'py, PyAny>> {
    let mut asked = Asked { function, raised: None };
    let done = py.detach(|| {
        let mut options = CompactOptions::new().target(target);
        if let Some(time) = time {
            options = options.time_limit(time);
        }
        if let Some(durability) = durability {
            options = options.durability(durability);
        }
        env.compact(options.progress(|progress| asked.report(progress)))
    });
    asked.answer(py, done)
}

/// Where a copy goes, or a backup.
enum Target {
    Path(PathBuf),
    Descriptor(i32),
    Writer(Py<PyAny>),
}

impl Target {
    fn of(target: &Bound<'_, PyAny>) -> Res<Target> {
        Ok(if target.is_instance_of::<PyInt>() {
            Target::Descriptor(target.extract()?)
        } else if target.hasattr("write")? {
            Target::Writer(target.clone().unbind())
        } else {
            Target::Path(target.extract::<FilePath>()?.0)
        })
    }
}

pub(crate) fn copy<'py>(
    py: Python<'py>,
    env: &huon::Env,
    target: &Bound<'py, PyAny>,
    (compact, mode): (bool, u32),
    reading: Option<Arc<Reading>>,
    function: Option<Py<PyAny>>,
) -> Res<Bound<'py, PyAny>> {
    let target = Target::of(target)?;
    let opened = reading.as_ref().map(|reading| reading.opened()).transpose()?;
    let snapshot: Option<&huon::ReadTxn> = opened.as_deref();
    let mut asked = Asked { function, raised: None };
    let mut writing = None;
    let done = py.detach(|| {
        let mut options = CopyOptions::new().compact(compact).mode(mode);
        if let Some(snapshot) = snapshot {
            options = options.snapshot(snapshot);
        }
        let options = options.progress(|progress| asked.report(progress));
        match target {
            Target::Path(path) => Ok(env.copy_to(path, options)),
            Target::Descriptor(number) => Ok(env.copy_to_fd(view::descriptor(number)?, options)),
            Target::Writer(object) => {
                let mut out = Out { object, raised: None };
                let done = env.copy_to_writer(&mut out, options);
                writing = out.raised;
                Ok(done)
            }
        }
    });
    if let Some(error) = writing {
        return Err(Fault::Raised(error));
    }
    asked.answer(py, done.map_err(|fault: Fault| fault)?)
}

/// The snapshot of a name.
pub(crate) fn named(env: &huon::Env, name: &str) -> Res<Capture> {
    let missing = || Fault::Raised(PyKeyError::new_err(name.to_owned()));
    env.named_snapshot(name)?.ok_or_else(missing)
}

pub(crate) fn backup<'py>(
    py: Python<'py>,
    capture: &Capture,
    target: &Bound<'py, PyAny>,
    since: Option<&Bound<'py, PyDict>>,
    function: Option<Py<PyAny>>,
) -> Res<Bound<'py, PyAny>> {
    let target = Target::of(target)?;
    let since = since.map(|since| -> PyResult<_> {
        let number = |name: &str| since.as_any().get_item(name)?.extract::<u64>();
        Ok(SnapshotName { id: number("id")?, checksum: number("checksum")? })
    });
    let since = since.transpose()?;
    let mut asked = Asked { function, raised: None };
    let mut writing = None;
    let done = py.detach(|| {
        let mut options = BackupOptions::new();
        if let Some(since) = since {
            options = options.since(since);
        }
        let options = options.progress(|progress| asked.report(progress));
        match target {
            Target::Path(path) => Ok(backup_to_file(capture, &path, options)),
            Target::Descriptor(number) => {
                let file = view::descriptor(number)?.try_clone_to_owned().map_err(PyErr::from)?;
                Ok(capture.backup_to(&mut File::from(file), options))
            }
            Target::Writer(object) => {
                let mut out = Out { object, raised: None };
                let done = capture.backup_to(&mut out, options);
                writing = out.raised;
                Ok(done)
            }
        }
    });
    if let Some(error) = writing {
        return Err(Fault::Raised(error));
    }
    asked.answer(py, done.map_err(|fault: Fault| fault)?)
}

/// Makes and flushes a new file, which is removed if it does not become whole.
fn backup_to_file(
    capture: &Capture,
    path: &Path,
    options: BackupOptions<'_>,
) -> huon::Result<BackupReport> {
    let failed = |source| {
        let (operation, place) = ("write", path.display().to_string());
        Error::Io(Box::new(huon::IoError { operation, place, source }))
    };
    // As private as the file that it is one of.
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(failed)?;
    let done = capture.backup_to(&mut file, options);
    let done = done.and_then(|report| file.sync_all().map_err(failed).map(|()| report));
    if done.is_err() {
        // The error that is raised says more than one of this could.
        let _ = std::fs::remove_file(path);
    }
    done
}

/// Makes an environment at `path` of a whole backup and those that follow it, in their order, each
/// a path. It has its name once every page was verified. Returns a report.
#[pyfunction]
pub(crate) fn restore<'py>(
    py: Python<'py>,
    path: FilePath,
    backups: Vec<FilePath>,
) -> Res<Bound<'py, PyAny>> {
    let done = py.detach(|| {
        let mut restore = Restore::begin(&path.0)?;
        for FilePath(backup) in &backups {
            let failed = |source| {
                let (operation, place) = ("open", backup.display().to_string());
                Error::Io(Box::new(huon::IoError { operation, place, source }))
            };
            let backup = File::open(backup).map_err(failed)?;
            restore.add(&mut BufReader::with_capacity(1 << 20, backup))?;
        }
        restore.finish()
    });
    shown(py, &done?)
}

/// A Python object to write to.
struct Out {
    object: Py<PyAny>,
    raised: Option<PyErr>,
}

impl Out {
    fn call(
        &mut self,
        work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<usize>,
    ) -> io::Result<usize> {
        let done = Python::try_attach(|py| work(py, self.object.bind(py)));
        match done {
            Some(Ok(count)) => Ok(count),
            Some(Err(error)) => {
                self.raised = Some(error);
                Err(io::Error::other("the object that is written to raised an exception"))
            }
            None => Err(io::Error::other("the interpreter ends")),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(|py, object| {
            let written = object.call_method1("write", (PyBytes::new(py, bytes),))?;
            let raw =
                || -> PyResult<_> { object.is_instance(&py.import("io")?.getattr("RawIOBase")?) };
            if written.is_none() && raw()? {
                // That is how a raw file says that it would block.
                return Err(PyBlockingIOError::new_err("the file took nothing: it does not block"));
            }
            // Raw files say how much they took, others may say nothing, and took all.
            let count = written.extract::<Option<usize>>().ok().flatten();
            Ok(count.unwrap_or(bytes.len()).min(bytes.len()))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(|_, object| {
            if object.hasattr("flush")? {
                object.call_method0("flush")?;
            }
            Ok(0)
        })
        .map(drop)
    }
}

/// Deletes the environment at `path` with its lock file, unless it is open anywhere after
/// `timeout` seconds; `False` if there is none.
#[pyfunction]
#[pyo3(signature = (path, *, timeout=0.0))]
pub(crate) fn delete(py: Python<'_>, path: FilePath, timeout: f64) -> Res<bool> {
    let mut busy = None;
    let deleted =
        Wait::new(seconds(timeout)?).slices(py, |slice| {
            match huon::Env::delete_within(&path.0, slice) {
                Err(error @ Error::Busy(_)) => {
                    busy = Some(error);
                    Ok(None)
                }
                deleted => deleted.map(Some),
            }
        })?;
    deleted.ok_or_else(|| busy.expect("a wait that ends without an answer was refused").into())
}
