//! Results as C sees them: libmdbx's numbers, and `errno`'s.

use huon_c::Fault;
use libc::c_int;

/// Of what reads as no error at all.
pub(crate) const RESULT_TRUE: c_int = -1;

huon_c::codes! { "MDBX_SUCCESS: Successful";
    KEYEXIST = -30799, "MDBX_KEYEXIST: Key/data pair already exists";
    NOTFOUND = -30798, "MDBX_NOTFOUND: No matching key/data pair found";
    PAGE_NOTFOUND = -30797, "MDBX_PAGE_NOTFOUND: Requested page not found";
    CORRUPTED = -30796, "MDBX_CORRUPTED: Database is corrupted";
    PANIC = -30795, "MDBX_PANIC: Environment had fatal error";
    VERSION_MISMATCH = -30794, "MDBX_VERSION_MISMATCH: DB version mismatch libmdbx";
    INVALID = -30793, "MDBX_INVALID: File is not an MDBX file";
    MAP_FULL = -30792, "MDBX_MAP_FULL: Environment mapsize limit reached";
    DBS_FULL = -30791, "MDBX_DBS_FULL: Too many DBI-handles (maxdbs reached)";
    READERS_FULL = -30790, "MDBX_READERS_FULL: Too many readers (maxreaders reached)";
    TXN_FULL = -30788,
        "MDBX_TXN_FULL: Transaction has too many dirty pages, i.e transaction is too big";
    CURSOR_FULL = -30787,
        "MDBX_CURSOR_FULL: Cursor stack limit reachedn - this usually indicates corruption, \
         i.e branch-pages loop";
    PAGE_FULL = -30786, "MDBX_PAGE_FULL: Internal error - Page has no more space";
    UNABLE_EXTEND_MAPSIZE = -30785,
        "MDBX_UNABLE_EXTEND_MAPSIZE: Database engine was unable to extend mapping, e.g. \
         since address space is unavailable or busy, or Operation system not supported such \
         operations";
    INCOMPATIBLE = -30784,
        "MDBX_INCOMPATIBLE: Environment or database is not compatible with the requested \
         operation or the specified flags";
    BAD_RSLOT = -30783,
        "MDBX_BAD_RSLOT: Invalid reuse of reader locktable slot, e.g. read-transaction \
         already run for current thread";
    BAD_TXN = -30782,
        "MDBX_BAD_TXN: Transaction is not valid for requested operation, e.g. had errored \
         and be must aborted, has a child, or is invalid";
    BAD_VALSIZE = -30781,
        "MDBX_BAD_VALSIZE: Invalid size or alignment of key or data for target database, \
         either invalid subDB name";
    BAD_DBI = -30780,
        "MDBX_BAD_DBI: The specified DBI-handle is invalid or changed by another \
         thread/transaction";
    PROBLEM = -30779, "MDBX_PROBLEM: Unexpected internal error, transaction should be aborted";
    BUSY = -30778,
        "MDBX_BUSY: Another write transaction is running, or environment is already used \
         while opening with MDBX_EXCLUSIVE flag";
    EMULTIVAL = -30421, "MDBX_EMULTIVAL: The specified key has more than one associated value";
    EBADSIGN = -30420,
        "MDBX_EBADSIGN: Wrong signature of a runtime object(s), e.g. memory corruption or \
         double-free";
    WANNA_RECOVERY = -30419,
        "MDBX_WANNA_RECOVERY: Database should be recovered, but this could NOT be done \
         automatically for now since it opened in read-only mode";
    EKEYMISMATCH = -30418,
        "MDBX_EKEYMISMATCH: The given key value is mismatched to the current cursor position";
    TOO_LARGE = -30417,
        "MDBX_TOO_LARGE: Database is too large for current system, e.g. could NOT be mapped \
         into RAM";
    THREAD_MISMATCH = -30416,
        "MDBX_THREAD_MISMATCH: A thread has attempted to use a not owned object, e.g. a \
         transaction that started by another thread";
    TXN_OVERLAPPING = -30415,
        "MDBX_TXN_OVERLAPPING: Overlapping read and write transactions for the current thread";
    DUPLICATED_CLK = -30413,
        "MDBX_DUPLICATED_CLK: Alternative/Duplicate LCK-file is exists, please keep one and \
         remove unused other";
    DANGLING_DBI = -30412,
        "MDBX_DANGLING_DBI: Some cursors and/or other resources should be closed before \
         table or corresponding DBI-handle could be (re)used";
    OUSTED = -30411,
        "MDBX_OUSTED: The parked read transaction was outed for the sake of recycling old \
         MVCC snapshots";
    MVCC_RETARDED = -30410,
        "MDBX_MVCC_RETARDED: MVCC snapshot used by parked transaction was bygone";
    LAGGARD_READER = -30409,
        "An operation cannot continue because a lagging reader is interfering with the \
         reclaiming of GC and old MVCC-snapshots";
}

/// The number of a fault. Out of line: most calls have none.
#[cold]
#[inline(never)]
pub(crate) fn number(fault: Fault) -> c_int {
    match fault {
        Fault::Exists => KEYEXIST,
        Fault::NotFound => NOTFOUND,
        Fault::Order => EKEYMISMATCH,
        Fault::Unpositioned => libc::ENODATA,
        Fault::ManyValues => EMULTIVAL,
        Fault::Size => BAD_VALSIZE,
        Fault::TooLarge => TOO_LARGE,
        Fault::Incompatible => INCOMPATIBLE,
        Fault::Invalid => libc::EINVAL,
        Fault::Handle => EBADSIGN,
        Fault::Closed | Fault::TableMissing => BAD_DBI,
        Fault::TablesFull => DBS_FULL,
        Fault::ReadersFull => READERS_FULL,
        Fault::EnvironmentsFull => libc::EMFILE,
        Fault::ThreadReads => BAD_RSLOT,
        Fault::Overlap => TXN_OVERLAPPING,
        Fault::ThreadWrites | Fault::Busy => BUSY,
        Fault::WrongThread => THREAD_MISMATCH,
        Fault::BadTxn | Fault::Reset | Fault::Evicted => BAD_TXN,
        Fault::Failed => RESULT_TRUE,
        Fault::ReadOnly => libc::EACCES,
        Fault::MapFull => MAP_FULL,
        Fault::MapTooSmall => UNABLE_EXTEND_MAPSIZE,
        Fault::Corrupt => CORRUPTED,
        Fault::Journal => WANNA_RECOVERY,
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
    fn every_code_of_the_header_has_a_text_that_names_it() {
        let of_the_header: Vec<_> = crate::numbers::of_the_header()
            .into_iter()
            .filter(|(name, number)| (-30799..-1).contains(number) && !name.contains("_ERRCODE"))
            .filter(|(name, _)| name != "TXN_INVALID")
            .collect();
        assert_eq!(of_the_header.len(), 35);
        for (name, number) in of_the_header {
            let Some(said) = text(number as c_int) else {
                // No version of libmdbx has a text for it.
                assert_eq!(name, "BACKLOG_DEPLETED");
                continue;
            };
            // The one says another name, and the other none.
            let is_named = !matches!(&name[..], "DUPLICATED_LCK" | "LAGGARD_READER");
            let begins = said.to_str().unwrap().starts_with(&format!("MDBX_{name}: "));
            assert!(begins || !is_named, "{name}: {said:?}");
        }
        assert_eq!(text(0).unwrap(), c"MDBX_SUCCESS: Successful");
        for foreign in [-1, -2, -30789, -30777, -30422, -30414, libc::EINVAL] {
            assert!(text(foreign).is_none(), "{foreign}");
        }
    }

    #[test]
    fn one_environment_too_many_has_a_code() {
        let full = huon::Error::EnvironmentsFull { max: 21_845 };
        assert_eq!(number(full.into()), libc::EMFILE);
    }
}
