//! A snapshot, or what changed since another, as a file to be put away: `backup` and `restore`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use huon::{BackupOptions, BackupReport, Error, Progress, Restore, RestoreReport, SnapshotName};
use serde_json::{Value, json};

use crate::args::{Backup, RestoreArgs};
use crate::commands::remote;
use crate::draft;
use crate::fail::{Code, Failure, Outcome};
use crate::guard;
use crate::open;
use crate::out::Out;
use crate::progress::Bar;
use crate::stop::Stop;
use crate::text::{number, size};

/// `huon backup`.
pub(crate) fn backup(args: &Backup) -> Outcome {
    let to_pipe = args.target.as_os_str() == "-";
    if to_pipe && (args.json || io::stdout().is_terminal()) {
        let text = "a backup is no text; redirect it, or name the new file.";
        return Err(Failure::usage(text));
    }
    let since = args.after.as_deref().map(snapshot_of).transpose()?;
    let env = open::look(&args.file)?;
    let capture = match args.at.snapshot.as_deref() {
        Some(name) => open::named(&env, name)?,
        None => env.capture()?,
    };
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("saving");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        stop.go_on()
    };
    let mut options = BackupOptions::new().progress(&mut report);
    if let Some(since) = since {
        options = options.since(since);
    }
    if to_pipe {
        let done = capture.backup_to(&mut io::stdout().lock(), options);
        drop(bar);
        return done.map(|_| Code::Fine).map_err(|error| interrupted(error, &stop));
    }
    guard::output(&args.file, &args.target)?;
    if args.target.exists() && !args.force {
        return Err(draft::in_the_way(&args.target));
    }
    let draft = draft::of(&args.target);
    let done = write_to(&draft, |out| capture.backup_to(out, options));
    drop(bar);
    let done = done.and_then(|report| {
        let placed = draft::put(&draft, &args.target);
        placed.map_err(|error| Error::Io(Box::new(huon_io(error, &args.target))))?;
        Ok(report)
    });
    let report = done.map_err(|error| {
        // The error that is reported says more than one of this could.
        let _ = std::fs::remove_file(&draft);
        interrupted(error, &stop)
    })?;
    tell(&report, args.json)?;
    Ok(Code::Fine)
}

/// Makes and flushes the file.
fn write_to<R>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> huon::Result<R>,
) -> huon::Result<R> {
    let failed = |error| Error::Io(Box::new(huon_io(error, path)));
    // As private as the file that it is one of.
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut out = BufWriter::with_capacity(1 << 20, file.map_err(failed)?);
    let report = write(&mut out)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(report)
}

fn huon_io(source: io::Error, path: &Path) -> huon::IoError {
    huon::IoError { operation: "write", place: path.display().to_string(), source }
}

fn interrupted(error: Error, stop: &Stop) -> Failure {
    if stop.is_asked() {
        Failure::Told(Code::Interrupted, "interrupted; nothing was left behind.".into())
    } else {
        error.into()
    }
}

/// The snapshot of a backup.
fn snapshot_of(path: &Path) -> Result<SnapshotName, Failure> {
    let look = || Restore::look_at(&mut File::open(path)?).map_err(io::Error::other);
    let found = look().map_err(|e| Failure::io(&format!("cannot read {}", path.display()), &e))?;
    Ok(found.1)
}

fn tell(report: &BackupReport, as_json: bool) -> Result<(), Failure> {
    let mut out = Out::new();
    if as_json {
        out.json(&json!({
            "snapshot": named(&report.snapshot),
            "since": report.since.as_ref().map(named),
            "pages": report.pages,
            "bytes": report.bytes,
        }))?;
    } else {
        let (pages, bytes) = (number(report.pages), size(report.bytes));
        let what = match report.since {
            Some(since) => format!("changes from snapshot {since} to {}", report.snapshot),
            None => format!("snapshot {}", report.snapshot),
        };
        out.line(format!("{what}: {pages} pages, {bytes}"))?;
    }
    out.finish()?;
    Ok(())
}

fn named(name: &SnapshotName) -> Value {
    json!({ "id": name.id, "checksum": format!("{:016x}", name.checksum) })
}

/// `huon restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Outcome {
    if args.file.symlink_metadata().is_ok() {
        let text = format!("{} exists already; choose another name.", args.file.display());
        return Err(Failure::usage(text));
    }
    if let [from] = &args.backups[..]
        && from.is_dir()
    {
        return told(&remote::restore(&args.file, from, &args.secret, args.at.at)?, args.json);
    }
    if args.at.at.is_some() || args.secret.key_file.is_some() {
        let text = "--at and --key-file are for a directory that a file is shipped to.";
        return Err(Failure::usage(text));
    }
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("restoring");
    let mut restore = Restore::begin(&args.file)?;
    let mut read = 0;
    for path in &args.backups {
        let mut watched = |input: &mut dyn Read| {
            let input = BufReader::with_capacity(1 << 20, input);
            restore.add(&mut Watched { input, read: &mut read, bar: &bar, stop: &stop })
        };
        let added = if path.as_os_str() == "-" {
            watched(&mut io::stdin().lock())
        } else {
            let opened = File::open(path);
            let mut file =
                opened.map_err(|e| Failure::io(&format!("cannot read {}", path.display()), &e))?;
            watched(&mut file)
        };
        added.map_err(|error| match error {
            _ if stop.is_asked() => interrupted(error, &stop),
            Error::Io(_) | Error::Diverged(_) | Error::NotADatabase(_) | Error::Version(_) => {
                Failure::Told(Code::Corrupt, format!("{}: {error}.", path.display()))
            }
            error => error.into(),
        })?;
    }
    let report = restore.finish()?;
    drop(bar);
    told(&report, args.json)
}

fn told(report: &RestoreReport, as_json: bool) -> Outcome {
    let mut out = Out::new();
    if as_json {
        out.json(&json!({ "snapshot": named(&report.snapshot), "bytes": report.bytes }))?;
    } else {
        out.line(format!("snapshot {}: {}", report.snapshot, size(report.bytes)))?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// A backup that shows how far it is read, and ends when the user asks for it.
struct Watched<'w, R> {
    input: R,
    read: &'w mut u64,
    bar: &'w Bar,
    stop: &'w Stop,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.stop.go_on().is_break() {
            return Err(io::Error::other("interrupted"));
        }
        let count = self.input.read(bytes)?;
        *self.read += count as u64;
        self.bar.at(*self.read, 0);
        Ok(count)
    }
}
