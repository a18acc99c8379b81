//! Results as C sees them: LMDB's numbers, and the system's.

use huon_c::Fault;
use libc::c_int;

huon_c::codes! { "MDB_", "Successful return: 0";
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

/// The number of a fault.
pub(crate) fn number(fault: Fault) -> c_int {
    match fault {
        Fault::Exists | Fault::Order => KEYEXIST,
        Fault::NotFound => NOTFOUND,
        Fault::Size | Fault::TooLarge => BAD_VALSIZE,
        Fault::Incompatible | Fault::ManyValues => INCOMPATIBLE,
        Fault::Unpositioned | Fault::Invalid | Fault::Handle | Fault::Closed | Fault::Reset => {
            libc::EINVAL
        }
        Fault::TableMissing => BAD_DBI,
        Fault::TablesFull => DBS_FULL,
        Fault::ReadersFull => READERS_FULL,
        Fault::ThreadReads | Fault::Overlap => BAD_RSLOT,
        Fault::ThreadWrites => libc::EDEADLK,
        Fault::Busy => libc::EBUSY,
        Fault::BadTxn | Fault::Failed | Fault::WrongThread | Fault::Ousted => BAD_TXN,
        Fault::ReadOnly => libc::EACCES,
        Fault::MapFull => MAP_FULL,
        Fault::MapTooSmall => MAP_RESIZED,
        Fault::Corrupt => CORRUPTED,
        Fault::NotOurs => INVALID,
        Fault::Version => VERSION_MISMATCH,
        Fault::Panic => PANIC,
        Fault::NoMemory => libc::ENOMEM,
        Fault::System(number) => number,
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
