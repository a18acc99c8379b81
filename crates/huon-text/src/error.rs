//! What can go wrong with text.

use std::collections::TryReserveError;
use std::fmt;

/// The result of dumps and loads.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a dump or a load failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The environment says so.
    Store(huon::Error),
    /// The text that was to be loaded is not as it should be.
    Input(InputError),
    /// The text could not be read or written.
    Io {
        /// What was tried: `"read the input"` or `"write the dump"`.
        operation: &'static str,
        /// The system's own error.
        source: std::io::Error,
    },
}

/// Where a text that was to be loaded is wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub what: String,
}

impl From<huon::Error> for Error {
    fn from(error: huon::Error) -> Error {
        Error::Store(error)
    }
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Error {
        Error::Store(huon::Error::OutOfMemory)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Input(error) => error.fmt(f),
            Error::Io { operation, source } => write!(f, "cannot {operation}: {source}"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the input: {}", self.line, self.what)
    }
}

impl std::error::Error for Error {
    /// What `Display` has not said itself.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(error) => error.source(),
            Error::Input(_) => None,
            Error::Io { source, .. } => source.source(),
        }
    }
}

impl std::error::Error for InputError {}
