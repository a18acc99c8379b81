//! What can go wrong, before an interface has given it a number.

use std::io::ErrorKind;

use huon::Error;
use libc::c_int;

/// Why a call did not do what was asked. Each interface maps it to its own codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The key is there already, or the value.
    Exists,
    /// There is no such key, value, table, or next record.
    NotFound,
    /// What is appended does not come last.
    Order,
    /// A cursor was not put anywhere yet.
    Unpositioned,
    /// The key has several values.
    ManyValues,
    /// A key, value or name has a length that is not allowed.
    Size,
    /// More bytes are asked for than any value may have.
    TooLarge,
    /// The operation does not fit the kind of the table.
    Incompatible,
    /// An argument or order of calls that makes no sense.
    Invalid,
    /// The handle was closed, or never was one of its kind.
    Handle,
    /// The handle of a table is not open.
    Closed,
    /// The transaction does not show the table of a handle.
    TableMissing,
    /// More tables than were allowed for.
    TablesFull,
    /// More readers than were allowed for.
    ReadersFull,
    /// The thread reads the environment already.
    ThreadReads,
    /// The thread has a transaction beside which this one must not begin.
    Overlap,
    /// The thread has the write transaction already: it would wait for itself.
    ThreadWrites,
    /// The transaction belongs to another thread.
    WrongThread,
    /// Another thread or process is at work, and the caller does not wait.
    Busy,
    /// The transaction has ended, has failed, has another nested in it, or is in use elsewhere.
    BadTxn,
    /// It had failed before, and was aborted instead of committed.
    Failed,
    /// The transaction was reset, and not renewed.
    Reset,
    /// The transaction was parked and lost its snapshot.
    Evicted,
    /// A change in a read transaction.
    ReadOnly,
    /// The file may not become longer.
    MapFull,
    /// The process has as many environments open as it can have.
    EnvironmentsFull,
    /// Others have made the file longer than this process has addresses for.
    MapTooSmall,
    /// The file is damaged.
    Corrupt,
    /// The file is none of Huon's.
    NotADatabase,
    /// The file's newest commits are in a journal that is lost, or cannot be gone through now.
    Journal,
    /// The file has another version of the format.
    Version,
    /// The environment can be used no more.
    Panic,
    /// No memory.
    NoMemory,
    /// An error number of the system.
    System(c_int),
}

/// The result of nearly everything here.
pub type Res<T> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        match error {
            Error::KeyTooLong { .. }
            | Error::ValueTooLong
            | Error::KeyLength
            | Error::SortedValueTooLong { .. }
            | Error::ValueLength => Fault::Size,
            Error::KeyOutOfOrder => Fault::Order,
            Error::TableNotFound => Fault::TableMissing,
            Error::TableKind
            | Error::TableExists
            | Error::NameTaken
            | Error::OrderUnknown
            | Error::PrefixOrder
            | Error::TablesInside
            | Error::WrongOrder(_) => Fault::Incompatible,
            Error::ManyValues => Fault::ManyValues,
            Error::ReadOnly => Fault::ReadOnly,
            Error::MapFull(_) => Fault::MapFull,
            Error::MapTooSmall { .. } => Fault::MapTooSmall,
            Error::TxnBroken => Fault::BadTxn,
            Error::Evicted => Fault::Evicted,
            Error::Busy(_) => Fault::Busy,
            Error::ThreadWrites => Fault::ThreadWrites,
            Error::EnvironmentsFull { .. } => Fault::EnvironmentsFull,
            Error::NotADatabase(_) | Error::PageSize { .. } => Fault::NotADatabase,
            Error::Version(_) => Fault::Version,
            Error::Journal(_) => Fault::Journal,
            Error::Poisoned | Error::Forked => Fault::Panic,
            Error::Io(error) => error.source.into(),
            Error::Corrupt(_) | Error::Decode(_) => Fault::Corrupt,
            Error::OutOfMemory => Fault::NoMemory,
            Error::Invalid(_) | Error::Encode(_) => Fault::Invalid,
            _ => Fault::Panic,
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::System(system_number(&error))
    }
}

/// The number of `errno.h` that says what an error is, also of one that the engine has found before
/// the system was asked, and which has none of its own.
pub fn system_number(error: &std::io::Error) -> c_int {
    error.raw_os_error().unwrap_or_else(|| match error.kind() {
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::StorageFull => libc::ENOSPC,
        ErrorKind::OutOfMemory => libc::ENOMEM,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::IsADirectory => libc::EISDIR,
        ErrorKind::PermissionDenied => libc::EACCES,
        _ => libc::EIO,
    })
}

/// An interface's own codes: what 0 says, and a row for each, with its name, its number, and what
/// it says. Programs compare the texts, so they are those of the interface, letter for letter.
#[macro_export]
macro_rules! codes {
    ($good:literal; $($name:ident = $number:literal, $text:literal;)*) => {
        $(#[allow(dead_code)] pub(crate) const $name: std::ffi::c_int = $number;)*

        /// What a code means; `None`: it is none of the interface's own.
        pub(crate) fn text(code: std::ffi::c_int) -> Option<&'static std::ffi::CStr> {
            let text = match code {
                0 => concat!($good, "\0"),
                $($number => concat!($text, "\0"),)*
                _ => return None,
            };
            std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).ok()
        }
    };
}
