//! What can go wrong.

use std::fmt;
use std::io;

/// A result of this crate's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a bucket, beside what can with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file; see [`huon::Error`].
    Huon(huon::Error),
    /// A request of the bucket failed, again and again.
    Bucket {
        /// What was asked for: `get`, `create`, `swap`, `delete`, `list`.
        request: &'static str,
        /// The name of the object.
        name: String,
        /// What the bucket said last.
        source: io::Error,
    },
    /// The bucket does not keep the promises of [`Bucket`](crate::Bucket); says which.
    Unfit(&'static str),
    /// Another shipper has taken over: this one ships nothing more.
    Fenced {
        /// The number of its record in the log.
        at: u64,
        /// Where it runs, as it says itself.
        by: String,
    },
    /// An object is damaged, or missing.
    Damaged {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The file and the log have different histories, or it lags too far behind; says both places.
    Diverged(String),
    /// Nothing was shipped under this prefix, or not by the point that was asked for.
    NothingShipped(String),
    /// The prefix needs a key, another one, or none.
    Key(&'static str),
    /// The time to wait is over.
    Timeout,
    /// The shipper has ended; says why.
    Ended(String),
    /// A wrong argument.
    Invalid(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Huon(error) => error.fmt(f),
            Error::Bucket { request, name, source } => {
                write!(f, "the bucket does not answer to {request} {name}: {source}")
            }
            Error::Unfit(what) => write!(f, "the bucket cannot be used: {what}"),
            Error::Fenced { at, by } => {
                write!(f, "another shipper has taken over with record {at}: {by}")
            }
            Error::Damaged { name, reason } => write!(f, "the object {name} is damaged: {reason}"),
            Error::Diverged(text) | Error::NothingShipped(text) => f.write_str(text),
            Error::Key(what) => f.write_str(what),
            Error::Timeout => f.write_str("the time to wait is over"),
            Error::Ended(why) => write!(f, "the shipper has ended: {why}"),
            Error::Invalid(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Huon(error) => Some(error),
            Error::Bucket { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<huon::Error> for Error {
    fn from(error: huon::Error) -> Error {
        Error::Huon(error)
    }
}
