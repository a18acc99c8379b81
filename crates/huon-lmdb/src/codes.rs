//! Results as C sees them: LMDB's numbers, and `errno`'s.

use huon_c::Fault;
use libc::c_int;

huon_c::codes! { "Successful return: 0";
    KEYEXIST = -30799, "MDB_KEYEXIST: Key/data pair already exists";
    NOTFOUND = -30798, "MDB_NOTFOUND: No matching key/data pair found";
    PAGE_NOTFOUND = -30797, "MDB_PAGE_NOTFOUND: Requested page not found";
    CORRUPTED = -30796, "MDB_CORRUPTED: Located page was wrong type";
    PANIC = -30795, "MDB_PANIC: Update of meta page failed or environment had fatal error";
    VERSION_MISMATCH = -30794, "MDB_VERSION_MISMATCH: Database environment version mismatch";
    INVALID = -30793, "MDB_INVALID: File is not an LMDB file";
    MAP_FULL = -30792, "MDB_MAP_FULL: Environment mapsize limit reached";
    DBS_FULL = -30791, "MDB_DBS_FULL: Environment maxdbs limit reached";
    READERS_FULL = -30790, "MDB_READERS_FULL: Environment maxreaders limit reached";
    TLS_FULL = -30789, "MDB_TLS_FULL: Thread-local storage keys full - too many environments open";
    TXN_FULL = -30788, "MDB_TXN_FULL: Transaction has too many dirty pages - transaction too big";
    CURSOR_FULL = -30787, "MDB_CURSOR_FULL: Internal error - cursor stack limit reached";
    PAGE_FULL = -30786, "MDB_PAGE_FULL: Internal error - page has no more space";
    MAP_RESIZED = -30785, "MDB_MAP_RESIZED: Database contents grew beyond environment mapsize";
    INCOMPATIBLE = -30784, "MDB_INCOMPATIBLE: Operation and DB incompatible, or DB flags changed";
    BAD_RSLOT = -30783, "MDB_BAD_RSLOT: Invalid reuse of reader locktable slot";
    BAD_TXN = -30782, "MDB_BAD_TXN: Transaction must abort, has a child, or is invalid";
    BAD_VALSIZE = -30781,
        "MDB_BAD_VALSIZE: Unsupported size of key/DB name/data, or wrong DUPFIXED size";
    BAD_DBI = -30780, "MDB_BAD_DBI: The specified DBI handle was closed/changed unexpectedly";
    PROBLEM = -30779, "MDB_PROBLEM: Unexpected problem - txn should abort";
}

/// The number of a fault. Out of line: most calls have none.
#[cold]
#[inline(never)]
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
        Fault::EnvironmentsFull => TLS_FULL,
        Fault::ThreadReads | Fault::Overlap => BAD_RSLOT,
        Fault::ThreadWrites => libc::EDEADLK,
        Fault::Busy => libc::EBUSY,
        Fault::BadTxn | Fault::Failed | Fault::WrongThread | Fault::Evicted => BAD_TXN,
        Fault::ReadOnly => libc::EACCES,
        Fault::MapFull => MAP_FULL,
        Fault::MapTooSmall => MAP_RESIZED,
        Fault::Corrupt | Fault::Journal => CORRUPTED,
        Fault::NotADatabase => INVALID,
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
        for code in -30799..=-30779 {
            assert!(text(code).unwrap().to_str().unwrap().starts_with("MDB_"), "{code}");
        }
        assert_eq!(text(0).unwrap(), c"Successful return: 0");
        assert!(text(-30778).is_none() && text(libc::EINVAL).is_none());
        assert_eq!(text(-30798).unwrap(), c"MDB_NOTFOUND: No matching key/data pair found");
    }

    #[test]
    fn one_environment_too_many_has_a_code() {
        let full = huon::Error::EnvironmentsFull { max: 21_845 };
        assert_eq!(number(full.into()), TLS_FULL);
    }
}
