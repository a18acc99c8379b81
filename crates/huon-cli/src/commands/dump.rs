//! Tables as text: `dump`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use huon::Progress;
use huon_text::{DumpOptions, DumpReport};

use crate::args::Dump;
use crate::draft;
use crate::fail::{Code, Failure, Outcome};
use crate::guard;
use crate::open;
use crate::progress::{self, Bar};
use crate::stop::Stop;
use crate::text::number;

/// What a rescue left out is listed up to this number.
const SHOWN_MAX: usize = 20;

/// `huon dump`.
pub(crate) fn dump(args: &Dump) -> Outcome {
    guard::output(&args.file, &args.output)?;
    let env = open::look_from(&args.file, args.start.meta_slot)?;
    // Waits for the reader of a pipe; until one is there any signal ends this.
    let special = special(&args.output)?;
    let stop = Stop::on_signals()?;
    if args.output.as_os_str() == "-" && io::stdout().is_terminal() {
        // The text itself shows how it goes on.
        progress::be_quiet();
    }
    let bar = Bar::bytes("dumping");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        stop.go_on()
    };
    let mut options = DumpOptions::new().print(args.print).rescue(args.rescue);
    if let Some(table) = &args.table {
        options = options.table(open::name(Some(table))?);
    }
    let options = options.progress(&mut report);
    let write = |out: &mut dyn Write| Ok(huon_text::dump(&env, out, options)?);
    let dumped = to_output(&args.file, &args.output, args.force, special, write);
    drop(bar);
    match dumped {
        Ok(report) => Ok(tell(&report)),
        Err(_) if stop.is_asked() => Err(interrupted()),
        Err(failure) => Err(failure),
    }
}

pub(super) type Dumped = Result<DumpReport, Failure>;

/// Writes a dump of `env` to where it is wanted.
pub(super) fn to_output(
    env: &Path,
    output: &Path,
    force: bool,
    special: Option<File>,
    write: impl FnOnce(&mut dyn Write) -> Dumped,
) -> Dumped {
    match special {
        Some(pipe) => through(pipe, write),
        None if output.as_os_str() == "-" => through(io::stdout().lock(), write),
        None => to_file(env, output, force, write),
    }
}

/// What is no file, a terminal or a pipe: it is written to as it is.
pub(super) fn special(path: &Path) -> Result<Option<File>, Failure> {
    let is_special = path.metadata().is_ok_and(|stat| !stat.is_file() && !stat.is_dir());
    if !is_special {
        return Ok(None);
    }
    let opened = OpenOptions::new().write(true).open(path);
    opened.map(Some).map_err(|e| failed(path, &e))
}

fn through(out: impl Write, write: impl FnOnce(&mut dyn Write) -> Dumped) -> Dumped {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let report = whole(write(&mut out)?)?;
    out.flush()?;
    Ok(report)
}

/// A dump that was stopped is none.
fn whole(report: DumpReport) -> Dumped {
    if report.stopped { Err(interrupted()) } else { Ok(report) }
}

fn interrupted() -> Failure {
    Failure::Told(Code::Interrupted, "interrupted; the dump is not whole.".into())
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AlreadyExists => draft::in_the_way(path),
        _ => Failure::io(&format!("cannot write {}", path.display()), error),
    }
}

/// A file of that name is made, and only kept if the dump in it is whole. With `force` it is
/// written under another name, and takes the place of what is there.
fn to_file(
    env: &Path,
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Dumped,
) -> Dumped {
    let failed = |e: io::Error| failed(path, &e);
    let meant = draft::meant(path);
    let draft = if force { draft::of(&meant) } else { path.to_owned() };
    let file = OpenOptions::new().write(true).create_new(true).open(&draft).map_err(failed)?;
    let mut out = BufWriter::with_capacity(64 << 10, &file);
    let dumped = write(&mut out).and_then(whole).and_then(|report| {
        out.flush().map_err(failed)?;
        file.sync_all().map_err(failed)?;
        if force {
            // It may have come to be one meanwhile.
            guard::output(env, &meant)?;
            draft::put(&draft, &meant).map_err(failed)?;
        }
        Ok(report)
    });
    if dumped.is_err() {
        // The failure that is reported says more than this one could.
        let _ = std::fs::remove_file(&draft);
    }
    dumped
}

/// What a rescue could not save.
fn tell(report: &DumpReport) -> Code {
    if report.skipped_count == 0 {
        return Code::Fine;
    }
    for problem in report.skipped.iter().take(SHOWN_MAX) {
        tell!("left out: {problem}");
    }
    let shown = report.skipped.len().min(SHOWN_MAX) as u64;
    if report.skipped_count > shown {
        tell!("left out: {} more", number(report.skipped_count - shown));
    }
    tell!("huon: saved {} records; not all could be read.", number(report.records));
    Code::Problems
}
