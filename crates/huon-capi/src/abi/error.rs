//! The last error of a thread.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use huon::Error;

use super::codes::*;
use crate::border::Fault;

/// No page.
const NO_PAGE: u32 = u32::MAX;

/// What went wrong in this thread last.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_error {
    /// What the function returned; 0: nothing has gone wrong yet.
    pub code: c_int,
    /// The number of errno.h where the system refused something, or 0.
    pub system: c_int,
    /// The damaged page, or UINT32_MAX.
    pub page: u32,
    /// The function, and a sentence or two: what, where, and what to do. UTF-8, ends with a zero
    /// byte, and stays until the next error of this thread.
    pub message: *const c_char,
}

struct Last {
    code: c_int,
    system: c_int,
    page: u32,
    message: Vec<u8>,
}

thread_local! {
    static LAST: RefCell<Last> =
        const { RefCell::new(Last { code: 0, system: 0, page: NO_PAGE, message: Vec::new() }) };
}

/// Keeps what went wrong in a function, and returns its code. Out of line: most calls need it not.
#[cold]
#[inline(never)]
pub(crate) fn keep(function: &str, fault: Fault) -> c_int {
    let (code, system, page, text) = match fault {
        Fault::Answer(code) => return code,
        Fault::Misuse(code, text) => (code, 0, NO_PAGE, text.to_owned()),
        Fault::Engine(error) => {
            (code_of(&error), system_of(&error), page_of(&error), error.to_string())
        }
    };
    let message = format!("{function}: {}\0", text.replace('\0', "\\0")).into_bytes();
    // A thread that is about to end keeps nothing.
    let _ = LAST.try_with(|last| last.replace(Last { code, system, page, message }));
    code
}

fn code_of(error: &Error) -> c_int {
    match error {
        Error::Io(io) if io.source.kind() == std::io::ErrorKind::Interrupted => HUON_STOPPED,
        error => error.code(),
    }
}

fn system_of(error: &Error) -> c_int {
    match error {
        // What a callback has stopped is no failure of the system.
        Error::Io(io) if io.source.kind() == std::io::ErrorKind::Interrupted => 0,
        Error::Io(io) => huon_c::system_number(&io.source),
        _ => 0,
    }
}

fn page_of(error: &Error) -> u32 {
    match error {
        Error::Corrupt(damage) => damage.pgno.unwrap_or(NO_PAGE),
        _ => NO_PAGE,
    }
}

/// Tells what went wrong in this thread last. Errors have numbers above 0; answers, below 0, leave
/// no message. A call that succeeds changes nothing here, so ask only after one that failed, in the
/// same thread; one that is about to end, and runs destructors, keeps nothing more. A binding whose
/// language moves a call's code between threads of the system (Go, virtual threads) asks in one
/// piece with the call, in C.
#[unsafe(no_mangle)]
pub extern "C" fn huon_last_error(error: Option<&mut MaybeUninit<huon_error>>) {
    let Some(error) = error else { return };
    error.write(NOTHING);
    let _ = huon_c::guarded(None, || LAST.try_with(|last| tell(&last.borrow(), error)).ok());
}

const NOTHING: huon_error = huon_error { code: 0, system: 0, page: NO_PAGE, message: c"".as_ptr() };

fn tell(last: &Last, error: &mut MaybeUninit<huon_error>) {
    let message = if last.message.is_empty() { c"".as_ptr() } else { last.message.as_ptr().cast() };
    let Last { code, system, page, .. } = *last;
    error.write(huon_error { code, system, page, message });
}

/// The message of huon_last_error alone; an empty text if nothing has gone wrong.
#[unsafe(no_mangle)]
pub extern "C" fn huon_error_message() -> *const c_char {
    let mut error = MaybeUninit::new(NOTHING);
    huon_last_error(Some(&mut error));
    // SAFETY: it was written above.
    unsafe { error.assume_init() }.message
}

/// What a code means, in a few words; NULL for a number that is none. It stays for ever.
#[unsafe(no_mangle)]
pub extern "C" fn huon_strerror(code: c_int) -> *const c_char {
    text(code).map_or(std::ptr::null(), CStr::as_ptr)
}

fn text(code: c_int) -> Option<&'static CStr> {
    Some(match code {
        HUON_OK => c"done",
        HUON_NOT_FOUND => c"not found",
        HUON_EXISTS => c"the key exists",
        HUON_TIMED_OUT => c"timed out",
        HUON_STILL_SHARED => c"still open elsewhere in this process",
        HUON_CONFLICT => c"the value is another one",
        HUON_KEY_TOO_LONG => c"key too long",
        HUON_VALUE_TOO_LONG => c"value too long",
        HUON_KEY_LENGTH => c"key of a wrong length",
        HUON_KEY_OUT_OF_ORDER => c"key out of order",
        HUON_TABLE_NOT_FOUND => c"table not found",
        HUON_TABLE_KIND => c"table of another kind",
        HUON_TABLE_EXISTS => c"table exists",
        HUON_DECODE => c"stored bytes do not decode",
        HUON_READ_ONLY => c"read-only",
        HUON_INVALID => c"invalid option or argument",
        HUON_MAP_FULL => c"the file has reached its maximum size",
        HUON_TXN_BROKEN => c"transaction broken by an earlier failure",
        HUON_BUSY => c"a lock was not free in time",
        HUON_NOT_A_DATABASE => c"not a Huon environment",
        HUON_VERSION_UNKNOWN => c"format of another version",
        HUON_PAGE_SIZE => c"another page size",
        HUON_POISONED => c"a flush failed",
        HUON_FORKED => c"opened before fork",
        HUON_IO => c"system error",
        HUON_CORRUPT => c"damaged file",
        HUON_ENVIRONMENTS_FULL => c"too many environments",
        HUON_OUT_OF_MEMORY => c"out of memory",
        HUON_SORTED_VALUE_TOO_LONG => c"value too long for a multimap",
        HUON_VALUE_LENGTH => c"value of a wrong length",
        HUON_MANY_VALUES => c"the key has several values",
        HUON_MAP_TOO_SMALL => c"address space too small",
        HUON_EVICTED => c"parked transaction evicted",
        HUON_WRONG_ORDER => c"another comparator orders the table",
        HUON_THREAD_WRITES => c"this thread writes already",
        HUON_NAME_TAKEN => c"name taken",
        HUON_ORDER_UNKNOWN => c"comparator not given",
        HUON_PREFIX_ORDER => c"no prefixes in this order",
        HUON_TABLES_INSIDE => c"named tables inside",
        HUON_ENCODE => c"not encoded",
        HUON_TABLE_TYPE => c"table of other types",
        HUON_JOURNAL => c"the journal is another one, or not there",
        HUON_DIVERGED => c"changes that do not follow",
        HUON_BAD_HANDLE => c"bad handle",
        HUON_IN_USE => c"handle in use",
        HUON_BAD_TXN => c"not with this transaction",
        HUON_BAD_ARGUMENT => c"bad argument",
        HUON_PANIC => c"a bug in Huon",
        HUON_STOPPED => c"stopped by a callback",
        HUON_TOO_MANY => c"too many handles",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_texts_and_those_of_the_engine_have_none_missing() {
        for code in (-5..=37).chain(101..=107) {
            assert!(text(code).is_some_and(|text| !text.is_empty()), "{code}");
        }
        assert!(text(-6).is_none() && text(38).is_none() && text(108).is_none());
        assert_eq!(Error::ThreadWrites.code(), HUON_THREAD_WRITES);
        assert_eq!(Error::ValueTooLong.code(), HUON_VALUE_TOO_LONG);
        assert_eq!(Error::Diverged("".into()).code(), HUON_DIVERGED);
    }

    #[test]
    fn the_last_error_says_what_where_and_what_to_do() {
        assert_eq!(keep("huon_put", Fault::Engine(Error::TablesInside)), HUON_TABLES_INSIDE);
        let mut error = MaybeUninit::uninit();
        huon_last_error(Some(&mut error));
        // SAFETY: it was written, and its message ends with a zero byte.
        let (error, text) = unsafe {
            let error = error.assume_init();
            (error, CStr::from_ptr(error.message).to_str().unwrap())
        };
        assert_eq!((error.code, error.system, error.page), (HUON_TABLES_INSIDE, 0, NO_PAGE));
        assert!(text.starts_with("huon_put: the main table holds named tables"), "{text}");
        assert!(text.contains("drop those first"), "{text}");
    }
}
