//! Copies as streams, backups, and files that are made of backups.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::mpsc::channel;

use huon::{BackupOptions, Capture, CopyOptions, Env, IoError, Progress, Restore, SnapshotName};
use napi_derive::napi;
use serde_json::json;

use crate::care::{Link, apart};
use crate::failure::{Failure, Result as Res};
use crate::jobs::{self, Answer, Handed, NO_ENV, Watch};
use crate::named::{capture, shown};
use crate::pipe::{Inlet, Outlet, PIECE_BYTES};
use crate::rare::{Result, json, with};

/// Which snapshot, as JavaScript says it.
#[napi(object)]
pub struct SnapshotGiven {
    pub id: f64,
    pub checksum: String,
}

impl SnapshotGiven {
    fn name(&self) -> Res<SnapshotName> {
        let wrong = |_| Failure {
            code: "Invalid",
            text: "the checksum of a snapshot is hexadecimal digits".to_owned(),
        };
        let checksum = u64::from_str_radix(&self.checksum, 16).map_err(wrong)?;
        Ok(SnapshotName { id: self.id as u64, checksum })
    }
}

/// What a backup is to have.
#[napi(object)]
pub struct BackupGiven {
    /// The name of its snapshot; the newest without one.
    pub snapshot: Option<String>,
    /// Only what changed since this one.
    pub since: Option<SnapshotGiven>,
}

impl BackupGiven {
    fn capture(&self, env: &Env) -> Res<Capture> {
        capture(env, self.snapshot.as_deref())
    }

    /// Writes the backup; a report as JSON.
    fn write(
        &self,
        capture: &Capture,
        out: &mut dyn Write,
        progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Res<Answer> {
        let mut options = BackupOptions::new().progress(progress);
        if let Some(since) = &self.since {
            options = options.since(since.name()?);
        }
        let report = capture.backup_to(out, options)?;
        let mut told = json!({
            "snapshot": shown(report.snapshot), "pages": report.pages, "bytes": report.bytes,
        });
        // One that has everything says nothing of another.
        if let Some(since) = report.since {
            told["since"] = shown(since);
        }
        Ok(Answer::Text(told.to_string()))
    }
}

/// Begins a copy of the newest snapshot, of which `next_piece` fetches one piece after another. The
/// job answers when it has ended: as JSON, after the last piece.
#[napi(catch_unwind)]
pub fn copy_stream(env: f64, job: f64, compact: bool) -> Result<()> {
    streamed(env, job, move |env, watch, out| {
        let options = CopyOptions::new().compact(compact).progress(|_| watch.go_on());
        Ok(Answer::Text(json(&env.copy_to_writer(out, options)?)?))
    })
}

/// Begins a backup in the same way.
#[napi(catch_unwind)]
pub fn backup_stream(env: f64, job: f64, given: BackupGiven) -> Result<()> {
    streamed(env, job, move |env, watch, out| {
        given.write(&given.capture(env)?, out, |_| watch.go_on())
    })
}

fn streamed(
    env: f64,
    job: f64,
    work: impl FnOnce(&Env, &Watch, &mut dyn Write) -> Res<Answer> + Send + 'static,
) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let engine = state.env(env)?.env.clone();
        let (stepper, steps) = channel();
        let watch = state.running.begin(job, env, Some(stepper));
        let outlet = Outlet::new(mailbox.clone(), steps);
        let begun =
            jobs::apart(mailbox, job, move || outlet.fill(|out| work(&engine, &watch, out)));
        begun.inspect_err(|_| state.running.end(job))
    })
}

/// Has a stream answer `job` with its next piece of bytes; with nothing behind the last one.
#[napi(catch_unwind)]
pub fn next_piece(stream: f64, job: f64) -> Result<()> {
    step(stream, job, Handed::Nothing)
}

fn step(stepped: f64, job: f64, handed: Handed) -> Result<()> {
    with(|state| state.running.step(stepped, job, handed))
}

/// Writes a backup to a new file: the job answers as JSON.
#[napi(catch_unwind)]
pub fn backup_to(
    env: f64,
    job: f64,
    path: String,
    given: BackupGiven,
    is_told: bool,
) -> Result<()> {
    apart(env, job, move |env, link| {
        // Before there is a file.
        let capture = given.capture(&env)?;
        to_new_file(&path, |out| given.write(&capture, out, link.reporting(is_told)))
    })
}

/// Makes and flushes a file, which is removed if it does not become whole.
fn to_new_file<R>(path: &str, write: impl FnOnce(&mut dyn Write) -> Res<R>) -> Res<R> {
    // As readable as the file that it is made of.
    let opened = File::options().write(true).create_new(true).mode(0o600).open(path);
    let file = opened.map_err(|error| failed("create", path, error))?;
    let written = write(&mut BufWriter::with_capacity(PIECE_BYTES, &file)).and_then(|done| {
        file.sync_all().map_err(|error| failed("flush", path, error))?;
        Ok(done)
    });
    if written.is_err() {
        // What went wrong before says more than an error of this could.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn failed(operation: &'static str, path: &str, source: io::Error) -> Failure {
    huon::Error::Io(Box::new(IoError { operation, place: path.to_owned(), source })).into()
}

/// Begins to make an environment at a path of backups, which are handed to it one after another.
/// The job answers as JSON when it is there, after a step that hands nothing.
#[napi(catch_unwind)]
pub fn restore(job: f64, path: String, is_told: bool) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let (stepper, steps) = channel();
        let watch = state.running.begin(job, NO_ENV, Some(stepper));
        let mut inlet = Inlet::new(mailbox.clone(), steps);
        let meter = Meter { link: Link::new(job, mailbox.clone(), watch), is_told, done_bytes: 0 };
        let begun = jobs::apart(mailbox, job, move || {
            let restored = make(&path, &mut inlet, meter);
            restored.inspect_err(|failure| inlet.refuse(failure.clone()))
        });
        begun.inspect_err(|_| state.running.end(job))
    })
}

/// Hands a restore all of a file, by its path: `job` is answered when it was read.
#[napi(catch_unwind)]
pub fn hand_file(restore: f64, job: f64, path: String) -> Result<()> {
    step(restore, job, Handed::File(path))
}

/// The same with a piece of a stream, which the first one begins.
#[napi(catch_unwind)]
pub fn hand_piece(restore: f64, job: f64, bytes: &[u8]) -> Result<()> {
    step(restore, job, Handed::Piece(bytes.to_vec()))
}

/// Hands nothing: in a stream that is its end, and else that of all.
#[napi(catch_unwind)]
pub fn hand_nothing(restore: f64, job: f64) -> Result<()> {
    step(restore, job, Handed::Nothing)
}

fn make(path: &str, inlet: &mut Inlet, mut meter: Meter) -> Res<Answer> {
    let mut restore = Restore::begin(path)?;
    loop {
        match inlet.next()? {
            Handed::Nothing => break,
            Handed::Piece(_) => add(&mut restore, inlet, &mut meter)?,
            Handed::File(backup) => {
                let file = File::open(&backup).map_err(|error| failed("open", &backup, error))?;
                let mut file = BufReader::with_capacity(PIECE_BYTES, file);
                add(&mut restore, &mut file, &mut meter)?;
            }
        }
    }
    let report = restore.finish()?;
    let told = json!({ "snapshot": shown(report.snapshot), "bytes": report.bytes });
    Ok(Answer::Text(told.to_string()))
}

/// Adds the backups that come one after another from `input`: most often it is one.
fn add(restore: &mut Restore, input: &mut dyn BufRead, meter: &mut Meter) -> Res<()> {
    loop {
        restore.add(&mut Metered { input, meter })?;
        let rest = input.fill_buf().map_err(|error| failed("read", "the backup", error))?;
        if rest.is_empty() {
            return meter.tell().is_continue().then_some(()).ok_or_else(Failure::stopped);
        }
    }
}

/// Counts what is read, and ends it when the program wants that.
struct Meter {
    link: Link,
    is_told: bool,
    done_bytes: u64,
}

impl Meter {
    fn tell(&self) -> ControlFlow<()> {
        if self.is_told { self.link.tell(self.done_bytes, 0) } else { self.link.go_on() }
    }
}

struct Metered<'m> {
    input: &'m mut dyn BufRead,
    meter: &'m mut Meter,
}

impl Read for Metered<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.meter.link.is_stopped() {
            return Err(io::Error::other("stopped by the caller"));
        }
        let count = self.input.read(bytes)?;
        let megabytes = self.meter.done_bytes >> 20;
        self.meter.done_bytes += count as u64;
        // A stop is seen above.
        if self.meter.done_bytes >> 20 > megabytes {
            let _ = self.meter.tell();
        }
        Ok(count)
    }
}
