//! Results as C sees them: libmdbx's numbers, and the system's.

use huon_c::Fault;
use libc::c_int;

huon_c::codes! { "MDBX_", "MDBX_SUCCESS: all is well";
    RESULT_TRUE = -1, "no error, and the answer is yes";
    KEYEXIST = -30799, "the key, or the key with the value, is there already";
    NOTFOUND = -30798, "there is no such key, value or table";
    PAGE_NOTFOUND = -30797, "a page that is referred to is missing";
    CORRUPTED = -30796, "the file is damaged";
    PANIC = -30795, "the environment can be used no more; close it and open it again";
    VERSION_MISMATCH = -30794, "the file has another version of the format";
    INVALID = -30793, "the file is not an environment of Huon's";
    MAP_FULL = -30792, "the size that the file may have is reached";
    DBS_FULL = -30791, "more named tables than were allowed for";
    READERS_FULL = -30790, "more readers than were allowed for";
    TXN_FULL = -30788, "the transaction has become too large";
    CURSOR_FULL = -30787, "the tree is too deep";
    PAGE_FULL = -30786, "there is no room in a page";
    UNABLE_EXTEND_MAPSIZE = -30785, "others have made the file larger than this process can map";
    INCOMPATIBLE = -30784, "the operation does not fit the kind of the table, or the flags in use";
    BAD_RSLOT = -30783, "the thread has a read transaction already";
    BAD_TXN = -30782, "the transaction was reset, has failed, or has a child";
    BAD_VALSIZE = -30781, "a key, value or name has a length that is not allowed";
    BAD_DBI = -30780, "there is no table of this handle";
    PROBLEM = -30779, "something happened that should not";
    BUSY = -30778, "others use it, or this thread writes already";
    EMULTIVAL = -30421, "the key has many values, and it was not said which";
    EBADSIGN = -30420, "the handle was closed, or never was one";
    WANNA_RECOVERY = -30419, "the file was not closed cleanly; open it to write";
    EKEYMISMATCH = -30418, "the key is another than the cursor's, or out of order";
    TOO_LARGE = -30417, "more bytes than there can be";
    THREAD_MISMATCH = -30416, "the transaction belongs to another thread";
    TXN_OVERLAPPING = -30415, "the thread has another transaction that this one would disturb";
}

/// The number of a fault.
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
        Fault::ThreadReads => BAD_RSLOT,
        Fault::Overlap => TXN_OVERLAPPING,
        Fault::ThreadWrites | Fault::Busy => BUSY,
        Fault::WrongThread => THREAD_MISMATCH,
        Fault::BadTxn | Fault::Reset | Fault::Ousted => BAD_TXN,
        Fault::Failed => RESULT_TRUE,
        Fault::ReadOnly => libc::EACCES,
        Fault::MapFull => MAP_FULL,
        Fault::MapTooSmall => UNABLE_EXTEND_MAPSIZE,
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
    fn every_code_of_the_header_has_a_text_that_names_it() {
        let of_the_header: Vec<_> = crate::numbers::of_the_header()
            .into_iter()
            .filter(|(name, number)| (-30799..0).contains(number) && !name.contains("_ERRCODE"))
            .filter(|(name, _)| name != "TXN_INVALID" && !name.ends_with("_DONTCHANGE"))
            .collect();
        assert_eq!(of_the_header.len(), 29);
        for (name, number) in of_the_header {
            let said = text(number as c_int).unwrap_or_else(|| panic!("{name} says nothing"));
            assert!(said.to_str().unwrap().starts_with(&format!("MDBX_{name}: ")), "{said:?}");
        }
        assert!(text(0).unwrap().to_str().unwrap().starts_with("MDBX_SUCCESS: "));
        for foreign in [-2, -30789, -30777, -30422, -30414, libc::EINVAL] {
            assert!(text(foreign).is_none(), "{foreign}");
        }
    }
}
