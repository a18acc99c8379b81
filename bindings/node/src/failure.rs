//! What went wrong, as JavaScript sees it: a code, which is the name of the engine's error or one
//! of ours, and a sentence.

use huon::Error;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Failure {
    /// The program did what it must not: it used what has ended, for one.
    pub(crate) fn misuse(text: impl Into<String>) -> Failure {
        Failure { code: "Misuse", text: text.into() }
    }

    /// The program has let go of a stream of bytes, or has closed its environment.
    pub(crate) fn cut() -> Failure {
        Failure::misuse("the stream has ended, or its environment was closed")
    }

    /// A program wanted the end of what another thread did.
    pub(crate) fn stopped() -> Failure {
        Failure { code: "Io", text: "cannot go on: stopped by the caller".to_owned() }
    }

    /// No snapshot has the name.
    pub(crate) fn no_snapshot(name: &str) -> Failure {
        Failure { code: "SnapshotNotFound", text: format!("no snapshot is named {name:?}") }
    }

    /// Of a panic, which is a bug of Huon.
    pub(crate) fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Failure { code: "Internal", text: format!("a bug in Huon: {text}") }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { code: code(&error), text: error.to_string() }
    }
}

impl From<Failure> for napi::Error<String> {
    fn from(failure: Failure) -> napi::Error<String> {
        napi::Error::new(failure.code.to_owned(), failure.text)
    }
}

fn code(error: &Error) -> &'static str {
    match error {
        Error::KeyTooLong { .. } => "KeyTooLong",
        Error::ValueTooLong => "ValueTooLong",
        Error::KeyLength => "KeyLength",
        Error::KeyOutOfOrder => "KeyOutOfOrder",
        Error::TableNotFound => "TableNotFound",
        Error::TableKind => "TableKind",
        Error::TableExists => "TableExists",
        Error::Decode(_) => "Decode",
        Error::ReadOnly => "ReadOnly",
        Error::Invalid(_) => "Invalid",
        Error::MapFull(_) => "MapFull",
        Error::TxnBroken => "TxnBroken",
        // The writer is taken, be it by this thread.
        Error::Busy(_) | Error::ThreadWrites => "Busy",
        Error::NotADatabase(_) => "NotADatabase",
        Error::Version(_) => "Version",
        Error::PageSize { .. } => "PageSize",
        Error::Journal(_) => "Journal",
        Error::Poisoned => "Poisoned",
        Error::Forked => "Forked",
        Error::Io(_) => "Io",
        Error::Corrupt(_) => "Corrupt",
        Error::SortedValueTooLong { .. } => "SortedValueTooLong",
        Error::ValueLength => "ValueLength",
        Error::ManyValues => "ManyValues",
        Error::OutOfMemory => "OutOfMemory",
        Error::MapTooSmall { .. } => "MapTooSmall",
        Error::Evicted => "Evicted",
        Error::WrongOrder(_) => "WrongOrder",
        Error::EnvironmentsFull { .. } => "EnvironmentsFull",
        Error::NameTaken => "NameTaken",
        Error::OrderUnknown => "OrderUnknown",
        Error::PrefixOrder => "PrefixOrder",
        Error::TablesInside => "TablesInside",
        Error::TableType(_) => "TableType",
        Error::Encode(_) => "Encode",
        Error::Diverged(_) => "Diverged",
        _ => "Other",
    }
}
