//! How a command ends: its exit code, and the one sentence that explains it.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use huon::Error;

use crate::paint::{BAD, painted_error};

/// Exit codes, the same for all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// Everything is fine.
    Fine = 0,
    /// Problems were found, or what was asked for is not there.
    Problems = 1,
    /// The command line, or what it asks for, makes no sense.
    Usage = 2,
    /// Another process has the file.
    Busy = 3,
    /// The file is damaged, or not one that this version reads.
    Corrupt = 4,
    /// The operating system returned an error.
    Io = 5,
    /// Ctrl-C, as shells count it.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

pub(crate) type Outcome = Result<Code, Failure>;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine's error, about the file that the command names.
    Engine(Error),
    /// The reader of our output has closed it.
    ClosedPipe,
    /// A code and its sentence.
    Told(Code, String),
}

impl Failure {
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure::Told(Code::Usage, text.into())
    }

    /// A system error that is not about the environment itself.
    pub(crate) fn io(what: &str, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Told(Code::Io, format!("{what}: {}.", without_number(error.to_string()))),
        }
    }

    /// What the engine said is about the file at `path`, and not the first that a command names.
    pub(crate) fn about(self, path: &Path) -> Failure {
        match self {
            Failure::Engine(error) => Failure::Told(code_of(&error), sentence(&error, path)),
            other => other,
        }
    }

    /// Says on standard error what happened to `path`, and gives the code.
    pub(crate) fn report(self, program: &str, path: &Path) -> Code {
        let program = painted_error(BAD, program);
        match self {
            Failure::ClosedPipe => Code::Fine,
            Failure::Told(code, text) => {
                tell!("{program}: {text}");
                code
            }
            Failure::Engine(error) => {
                tell!("{program}: {}", sentence(&error, path));
                code_of(&error)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            // A closed pipe under a copy or a dump.
            Error::Io(io) if io.source.kind() == io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            error => Failure::Engine(error),
        }
    }
}

impl From<huon_text::Error> for Failure {
    fn from(error: huon_text::Error) -> Failure {
        match error {
            huon_text::Error::Store(error) => error.into(),
            huon_text::Error::Io { operation, source } => {
                Failure::io(&format!("cannot {operation}"), &source)
            }
            error => Failure::usage(format!("{error}.")),
        }
    }
}

/// The arguments of this process; or how it ends, after help, a version, or what is wrong was told.
pub(crate) fn parsed<T: Parser>(program: &str) -> Result<T, Code> {
    T::try_parse().map_err(|error| {
        let printed = error.print().and_then(|()| io::stdout().flush());
        match (error.use_stderr(), printed) {
            (true, _) => Code::Usage,
            (false, Ok(())) => Code::Fine,
            (false, Err(error)) => Failure::from(error).report(program, Path::new("")),
        }
    })
}

/// Only writes to standard output give plain system errors.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::io("cannot write to standard output", &error)
    }
}

/// What an error of the engine means to a shell.
fn code_of(error: &Error) -> Code {
    match error {
        Error::TableNotFound => Code::Problems,
        Error::KeyTooLong { .. }
        | Error::ValueTooLong
        | Error::SortedValueTooLong { .. }
        | Error::KeyLength
        | Error::ValueLength
        | Error::KeyOutOfOrder
        | Error::TableKind
        | Error::NameTaken
        | Error::OrderUnknown
        | Error::PrefixOrder
        | Error::TablesInside
        | Error::WrongOrder(_)
        | Error::TableType(_)
        | Error::Encode(_)
        | Error::TableExists
        | Error::Diverged(_)
        | Error::Invalid(_)
        | Error::PageSize { .. } => Code::Usage,
        Error::Busy(_) => Code::Busy,
        Error::Decode(_)
        | Error::NotADatabase(_)
        | Error::Version(_)
        | Error::Corrupt(_)
        | Error::Journal(_) => Code::Corrupt,
        _ => Code::Io,
    }
}

/// What, where, and what to do.
fn sentence(error: &Error, path: &Path) -> String {
    let text = match error {
        Error::OrderUnknown => {
            "the order of this table is its program's own, and not known here".into()
        }
        error => without_number(error.to_string()),
    };
    let path = path.display();
    let place = if text.contains(&path.to_string()) { String::new() } else { format!("{path}: ") };
    let text = text.trim_end_matches('.');
    match advice(error) {
        "" => format!("{place}{text}."),
        advice => format!("{place}{text}; {advice}."),
    }
}

/// The system's texts end with a number that says the same again.
fn without_number(text: String) -> String {
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::Busy(_) => "try again when it is free",
        Error::PageSize { .. } => "leave the option out to take the file as it is",
        Error::Corrupt(_) => {
            "see `huon check`, `huon metas` for older snapshots, and `huon dump --rescue` to save \
             what can be read"
        }
        Error::Journal(_) => {
            "if it is lost for good, `huon metas` and `huon switch-meta` go back to the last \
             checkpoint"
        }
        Error::TableNotFound => "`huon tables` lists them",
        Error::OrderUnknown => "`huon ls` and `huon dump` without bounds show it from end to end",
        Error::KeyLength => "use --hex to give exactly so many bytes",
        Error::ValueLength => "`huon tables` shows it, and --hex gives exactly so many bytes",
        Error::KeyTooLong { .. } => "only a file with larger pages holds such keys",
        Error::SortedValueTooLong { .. } => "only a file with larger pages holds such values",
        Error::ReadOnly => "check the permissions of the file and its directory",
        Error::Io(io) => match io.source.kind() {
            io::ErrorKind::NotFound => {
                "check the name, or make the file with `huon put` or `huon load`"
            }
            io::ErrorKind::PermissionDenied => "check the permissions",
            io::ErrorKind::FileTooLarge => {
                "raise the limit on the length of files (`ulimit -f`); what was committed is safe"
            }
            io::ErrorKind::StorageFull => "free some space; what was committed is safe",
            _ => "",
        },
        _ => "",
    }
}
