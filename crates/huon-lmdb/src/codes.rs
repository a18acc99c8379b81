//! Results as C sees them: LMDB's numbers, and the system's.

use huon::Error;
use libc::c_int;

/// A result other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) c_int);

pub(crate) type Res<T> = Result<T, Code>;

/// One row for each of LMDB's own codes: name, number, what it says.
macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Code {
            $(#[allow(dead_code)] pub(crate) const $name: Code = Code($number);)*
        }

        /// What a code means; `None`: it is not one of LMDB's.
        pub(crate) fn text(code: c_int) -> Option<&'static std::ffi::CStr> {
            match code {
                0 => Some(c"Successful return: 0"),
                $($number => {
                    const TEXT: &str = concat!("MDB_", stringify!($name), ": ", $text, "\0");
                    std::ffi::CStr::from_bytes_with_nul(TEXT.as_bytes()).ok()
                })*
                _ => None,
            }
        }
    };
}

codes! {
    KEYEXIST = -30799, "the key is there already, or out of order";
    NOTFOUND = -30798, "there is no such key, value or database";
    PAGE_NOTFOUND = -30797, "a page that is referred to is missing";
    CORRUPTED = -30796, "the file is damaged";
    PANIC = -30795, "the environment can be used no more; close it and open it again";
    VERSION_MISMATCH = -30794, "the file has another version of the format";
    INVALID = -30793, "the file is not an environment of Huon's";
    MAP_FULL = -30792, "the map size that was set is reached";
    DBS_FULL = -30791, "more named databases than were allowed for";
    READERS_FULL = -30790, "more readers than were allowed for";
    TLS_FULL = -30789, "no more thread-local storage";
    TXN_FULL = -30788, "the transaction has become too large";
    CURSOR_FULL = -30787, "the tree is too deep";
    PAGE_FULL = -30786, "there is no room in a page";
    MAP_RESIZED = -30785, "others have made the file larger than this process mapped it";
    INCOMPATIBLE = -30784, "the operation does not fit the kind of the database";
    BAD_RSLOT = -30783, "the thread has a read transaction already";
    BAD_TXN = -30782, "the transaction has ended, has failed, or has a child";
    BAD_VALSIZE = -30781, "a key, value or name has a length that is not allowed";
    BAD_DBI = -30780, "the database of the handle is not there in this transaction";
}

impl Code {
    pub(crate) const EINVAL: Code = Code(libc::EINVAL);
    pub(crate) const EACCES: Code = Code(libc::EACCES);
    pub(crate) const ENOMEM: Code = Code(libc::ENOMEM);
    pub(crate) const EDEADLK: Code = Code(libc::EDEADLK);
}

impl From<Error> for Code {
    fn from(error: Error) -> Code {
        match error {
            Error::KeyTooLong { .. }
            | Error::ValueTooLong
            | Error::KeyLength
            | Error::SortedValueTooLong { .. }
            | Error::ValueLength => Code::BAD_VALSIZE,
            Error::KeyOutOfOrder => Code::KEYEXIST,
            Error::TableMissing => Code::BAD_DBI,
            Error::TableKind | Error::TableExists | Error::ManyValues => Code::INCOMPATIBLE,
            Error::ReadOnly => Code::EACCES,
            Error::MapFull(_) => Code::MAP_FULL,
            Error::MapTooSmall { .. } => Code::MAP_RESIZED,
            Error::TxnBroken | Error::Ousted => Code::BAD_TXN,
            Error::Busy(_) => Code(libc::EBUSY),
            Error::NotOurs(_) | Error::PageSize { .. } => Code::INVALID,
            Error::Version(_) => Code::VERSION_MISMATCH,
            Error::Poisoned | Error::Forked => Code::PANIC,
            Error::Io(error) => {
                Code(error.source.raw_os_error().unwrap_or_else(|| match error.source.kind() {
                    std::io::ErrorKind::AlreadyExists => libc::EEXIST,
                    std::io::ErrorKind::NotFound => libc::ENOENT,
                    _ => libc::EIO,
                }))
            }
            Error::Corrupt(_) | Error::Decode(_) => Code::CORRUPTED,
            Error::OutOfMemory => Code::ENOMEM,
            Error::Invalid(_) | Error::Input(_) => Code::EINVAL,
            _ => Code::PANIC,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_text_that_names_it() {
        for code in -30799..=-30780 {
            assert!(text(code).unwrap().to_str().unwrap().starts_with("MDB_"), "{code}");
        }
        assert_eq!(text(0).unwrap(), c"Successful return: 0");
        assert!(text(-30779).is_none() && text(libc::EINVAL).is_none());
        assert_eq!(text(-30798).unwrap().to_str().unwrap().split(':').next(), Some("MDB_NOTFOUND"));
    }
}
