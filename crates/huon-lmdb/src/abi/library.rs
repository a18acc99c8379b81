//! The library itself.

use libc::{c_char, c_int};

use crate::codes;

/// What it is as good as.
const VERSION: [c_int; 3] = [0, 9, 36];

/// # Safety
/// The pointers are null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_version(
    major: *mut c_int,
    minor: *mut c_int,
    patch: *mut c_int,
) -> *mut c_char {
    for (to, number) in [major, minor, patch].into_iter().zip(VERSION) {
        if !to.is_null() {
            // SAFETY: the caller's promise.
            unsafe { to.write(number) };
        }
    }
    const TEXT: &str = concat!("LMDB 0.9.36: (Huon ", env!("CARGO_PKG_VERSION"), ")\0");
    TEXT.as_ptr().cast_mut().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_strerror(code: c_int) -> *mut c_char {
    match codes::text(code) {
        Some(text) => text.as_ptr().cast_mut(),
        None if code < 0 => c"Invalid error code".as_ptr().cast_mut(),
        // SAFETY: any number may be asked about.
        None => unsafe { libc::strerror(code) },
    }
}
