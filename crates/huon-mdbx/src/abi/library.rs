//! The library itself: what results mean, what is logged, and which library it is.

use huon::{ForkGuard, ForkLock};
use std::ffi::CStr;
use std::fmt::Write;
use std::sync::atomic::{AtomicI32, Ordering};

use huon_c::guarded;
use libc::{c_char, c_int, c_uint, c_void, size_t};

use super::env::assert_function;
use super::{
    MDBX_build_info, MDBX_debug_func, MDBX_debug_func_nofmt, MDBX_env, MDBX_val, MDBX_version_git,
    MDBX_version_info, bytes_or_none,
};
use crate::codes;
use crate::flags::{debug, log};

/// Data that never changes, and that any thread may read.
#[repr(transparent)]
pub struct Constant<T>(T);

// SAFETY: it cannot be changed, and the pointers in it are to literals.
unsafe impl<T> Sync for Constant<T> {}

/// A literal as C has it.
macro_rules! literal {
    ($($part:expr),*) => { concat!($($part,)* "\0").as_ptr().cast() };
}

/// The interface and the library behind it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mdbx_version: Constant<MDBX_version_info> = Constant(MDBX_version_info {
    major: 0,
    minor: 11,
    release: 8,
    revision: 0,
    git: MDBX_version_git {
        datetime: literal!(""),
        tree: literal!(""),
        commit: literal!(""),
        describe: literal!("Huon ", env!("CARGO_PKG_VERSION")),
    },
    sourcery: literal!("Huon ", env!("CARGO_PKG_VERSION"), " behind the interface of libmdbx 0.11"),
});

/// How the library was built.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mdbx_build: Constant<MDBX_build_info> = Constant(MDBX_build_info {
    datetime: literal!(""),
    target: literal!(env!("HUON_TARGET")),
    options: literal!("Huon ", env!("CARGO_PKG_VERSION")),
    compiler: literal!("Huon, by ", env!("HUON_COMPILER")),
    flags: literal!(env!("HUON_FLAGS")),
});

const TEXT_BYTES: usize = 256;

/// Writes a text and its end, as much of it as there is room for.
///
/// # Safety
/// `to` is good for writing `size` bytes, at least one.
unsafe fn write_text(text: &[u8], to: *mut c_char, size: usize) {
    let count = text.len().min(size - 1);
    // SAFETY: the caller's promise; its buffer is not the text.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, count);
        to.add(count).write(0);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_liberr2str(code: c_int) -> *const c_char {
    codes::text(code).map_or(std::ptr::null(), CStr::as_ptr)
}

/// # Safety
/// `buf` is null, or good for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_strerror_r(
    code: c_int,
    buf: *mut c_char,
    size: size_t,
) -> *const c_char {
    if let Some(text) = codes::text(code) {
        return text.as_ptr();
    }
    if buf.is_null() || size == 0 {
        return std::ptr::null();
    }
    let mut text = [0_u8; TEXT_BYTES];
    // SAFETY: a place of ours, one byte of which stays 0; any number may be asked about.
    unsafe { libc::strerror_r(code, text.as_mut_ptr().cast(), TEXT_BYTES - 1) };
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
    let none = format!("error {code}");
    let text = if code > 0 && end > 0 { &text[..end] } else { none.as_bytes() };
    // SAFETY: the caller's promise.
    unsafe { write_text(text, buf, size) };
    buf
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_strerror(code: c_int) -> *const c_char {
    thread_local! {
        static TEXT: std::cell::UnsafeCell<[c_char; TEXT_BYTES]> =
            const { std::cell::UnsafeCell::new([0; TEXT_BYTES]) };
    }
    // SAFETY: no other thread writes to this one's text.
    TEXT.with(|text| unsafe { mdbx_strerror_r(code, text.get().cast(), TEXT_BYTES) })
}

/// # Safety
/// `key` is null, or points to a value that can be read; `buf` is good for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_dump_val(
    key: *const MDBX_val,
    buf: *mut c_char,
    size: size_t,
) -> *const c_char {
    if buf.is_null() || size < 4 {
        return std::ptr::null();
    }
    if key.is_null() {
        return c"<null>".as_ptr();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes_or_none(key) };
    if bytes.is_empty() {
        return c"<empty>".as_ptr();
    }
    let text = if bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        bytes[..bytes.len().min(size)].to_vec()
    } else {
        hexadecimal(&bytes[..bytes.len().min((size - 3) / 2)]).into_bytes()
    };
    // SAFETY: the caller's promise.
    unsafe { write_text(&text, buf, size) };
    buf
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::from("<");
    for byte in bytes {
        // A text takes what is written to it.
        let _ = write!(text, "{byte:02x}");
    }
    text + ">"
}

/// What `mdbx_setup_debug` sets.
struct Setup {
    level: c_int,
    flags: c_int,
    logger: Logger,
}

#[derive(Clone, Copy)]
enum Logger {
    Formats(MDBX_debug_func),
    Takes(MDBX_debug_func_nofmt, usize, usize),
}

static SETUP: ForkLock<Setup> =
    ForkLock::new(Setup { level: log::LOG_FATAL, flags: 0, logger: Logger::Formats(None) });

fn setup() -> ForkGuard<'static, Setup> {
    SETUP.lock()
}

/// Its flags, to be read without the lock.
static FLAGS: AtomicI32 = AtomicI32::new(0);

/// The flags of `mdbx_setup_debug` that are set.
pub(crate) fn debug_flags() -> c_int {
    FLAGS.load(Ordering::Relaxed)
}

/// Changes what is to be changed, and gives what was before.
fn change(level: c_int, flags: c_int, logger: Option<Logger>) -> c_int {
    const FLAGS_ALL: c_int = 2 * debug::DBG_DONT_UPGRADE - 1;
    let mut setup = setup();
    let before = setup.flags | setup.level << 16;
    if level != log::LOG_DONTCHANGE {
        setup.level = level.clamp(log::LOG_FATAL, log::LOG_EXTRA);
    }
    if flags != debug::DBG_DONTCHANGE {
        setup.flags = flags & FLAGS_ALL;
        FLAGS.store(setup.flags, Ordering::Relaxed);
    }
    if let Some(logger) = logger {
        setup.logger = logger;
    }
    before
}

/// Whether a logger is none, but stands for the one that is there.
fn stays<F: Copy>(logger: Option<F>) -> bool {
    // SAFETY: a function's pointer has the size of a number, and none is 0.
    let address = unsafe { std::mem::transmute_copy::<Option<F>, usize>(&logger) };
    address == usize::MAX
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_setup_debug(level: c_int, flags: c_int, logger: MDBX_debug_func) -> c_int {
    change(level, flags, (!stays(logger)).then_some(Logger::Formats(logger)))
}

/// # Safety
/// `buffer` is good for writing `size` bytes as long as this logger is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_setup_debug_nofmt(
    level: c_int,
    flags: c_int,
    logger: MDBX_debug_func_nofmt,
    buffer: *mut c_char,
    size: size_t,
) -> c_int {
    let usable = if buffer.is_null() || size == 0 { None } else { logger };
    let takes = Logger::Takes(usable, buffer as usize, size);
    change(level, flags, (!stays(logger)).then_some(takes))
}

/// Tells the logger, or all the world, why the process ends.
fn log_fatal(function: &CStr, line: c_uint, text: &[u8]) {
    // It may ask for another one.
    let logger = setup().logger;
    match logger {
        Logger::Formats(Some(logger)) => {
            // What looks like a mark for an argument is none, so no argument is taken.
            let mut format: Vec<u8> = Vec::new();
            for byte in text {
                format.extend(if *byte == b'%' { b"%%" } else { std::slice::from_ref(byte) });
            }
            format.push(0);
            let mut no_arguments = [0_usize; 4];
            let arguments = no_arguments.as_mut_ptr().cast::<c_void>();
            let line = line as c_int;
            // SAFETY: a function that the program gave for this. A `va_list` is passed as a pointer
            // to no more words than these.
            unsafe {
                logger(log::LOG_FATAL, function.as_ptr(), line, format.as_ptr().cast(), arguments);
            }
        }
        Logger::Takes(Some(logger), buffer, size) => {
            let (buffer, count) = (buffer as *mut c_char, text.len().min(size - 1));
            // SAFETY: what the program promised when it set both.
            unsafe {
                write_text(text, buffer, size);
                logger(log::LOG_FATAL, function.as_ptr(), line as c_int, buffer, count as c_uint);
            }
        }
        _ => eprintln!("huon: {}", String::from_utf8_lossy(text)),
    }
}

/// # Safety
/// `text` is null, or a text of C's.
unsafe fn text_of<'t>(text: *const c_char) -> &'t CStr {
    // SAFETY: the caller's promise.
    if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } }
}

/// The arguments stay where they are: the text is logged as it was given.
///
/// # Safety
/// `text` is null, or a text of C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_panic(text: *const c_char) {
    // SAFETY: the caller's promise.
    let text = unsafe { text_of(text) };
    guarded((), || log_fatal(c"mdbx_panic", 0, text.to_bytes()));
    std::process::abort();
}

/// # Safety
/// The pointers are null, or texts of C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_assert_fail(
    env: *const MDBX_env,
    text: *const c_char,
    function: *const c_char,
    line: c_uint,
) {
    // SAFETY: the caller's promise.
    let (text, function) = unsafe { (text_of(text), text_of(function)) };
    if let Some(told) = guarded(None, || assert_function(env)) {
        // SAFETY: what was promised when it was set.
        unsafe { told(env, text.as_ptr(), function.as_ptr(), line) };
    }
    guarded((), || log_fatal(function, line, text.to_bytes()));
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: *const c_char) -> String {
        // SAFETY: what the functions under test give are texts.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn results_have_texts() {
        assert!(said(mdbx_liberr2str(-30798)).starts_with("MDBX_NOTFOUND: "));
        assert!(mdbx_liberr2str(libc::ENOENT).is_null() && mdbx_liberr2str(-30789).is_null());
        assert_eq!(said(mdbx_strerror(libc::ENOENT)), "No such file or directory");
        assert!(said(mdbx_strerror(-30780)).starts_with("MDBX_BAD_DBI: "));
        assert_eq!(said(mdbx_strerror(-77)), "error -77");
        let mut buf = [1; 8];
        // SAFETY: a place of ours.
        let text = unsafe { mdbx_strerror_r(libc::ENOENT, buf.as_mut_ptr(), buf.len()) };
        assert_eq!(said(text), "No such");
        // SAFETY: no place.
        assert!(unsafe { mdbx_strerror_r(libc::ENOENT, std::ptr::null_mut(), 0) }.is_null());
    }

    #[test]
    fn values_are_shown() {
        let show = |bytes: &[u8], size: usize| {
            let val = MDBX_val { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() };
            let mut buf = vec![0x55; size + 1];
            // SAFETY: a value and a place of ours.
            let text = unsafe { mdbx_dump_val(&val, buf.as_mut_ptr(), size) };
            assert_eq!(buf[size], 0x55, "written behind the end");
            if text.is_null() { "nothing".to_owned() } else { said(text) }
        };
        assert_eq!(show(b"hello", 64), "hello");
        assert_eq!([show(b"hello", 6), show(b"hello", 5)], ["hello", "hell"]);
        assert_eq!(show(b"\x01\x02\xff", 64), "<0102ff>");
        assert_eq!([show(b"\x01\x02\xff", 9), show(b"\x01\x02\xff", 8)], ["<0102ff>", "<0102>"]);
        assert_eq!(show(b"\x01\x02\xff", 4), "<>");
        assert_eq!([show(b"", 64), show(b"hello", 3)], ["<empty>", "nothing"]);
        let mut buf = [0; 8];
        // SAFETY: no value, and a place of ours.
        assert_eq!(said(unsafe { mdbx_dump_val(std::ptr::null(), buf.as_mut_ptr(), 8) }), "<null>");
    }

    #[test]
    fn what_is_set_is_told_by_the_next() {
        let same = (log::LOG_DONTCHANGE, debug::DBG_DONTCHANGE);
        // SAFETY: the number stands for no change, and is never called.
        let keep = unsafe { std::mem::transmute::<usize, MDBX_debug_func>(usize::MAX) };
        assert_eq!(mdbx_setup_debug(same.0, same.1, None), 0);
        assert_eq!(mdbx_setup_debug(2, debug::DBG_LEGACY_OVERLAP, keep), 0);
        assert_eq!(debug_flags(), 32);
        assert_eq!(mdbx_setup_debug(99, same.1, keep), 2 << 16 | 32);
        assert_eq!(mdbx_setup_debug(0, 0, None), 7 << 16 | 32);
        assert_eq!(mdbx_setup_debug(same.0, same.1, None), 0);
    }
}
