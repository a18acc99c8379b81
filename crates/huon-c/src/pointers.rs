//! What C points to. What a pointer leads to is the caller's to get right; a null one where
//! something is needed is [`Fault::Invalid`].

use std::ffi::CStr;

use libc::{c_char, c_void};

use crate::fault::{Fault, Res};

/// So many bytes from an address on. Nothing may be anywhere.
///
/// # Safety
/// `first` is null, or good for reading so many bytes until the function that was given it returns.
pub unsafe fn slice<'v>(first: *const c_void, bytes: usize) -> Res<&'v [u8]> {
    match (first.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Fault::Invalid),
        (false, bytes) if bytes > isize::MAX as usize => Err(Fault::Size),
        (false, bytes) => {
            // SAFETY: the caller's promise; the length is one that a slice may have.
            Ok(unsafe { std::slice::from_raw_parts(first.cast::<u8>(), bytes) })
        }
    }
}

/// A text.
///
/// # Safety
/// `first` is null, or leads to a text that ends with a zero byte and stays until the function that
/// was given it returns.
pub unsafe fn text<'t>(first: *const c_char) -> Res<&'t CStr> {
    match first.is_null() {
        true => Err(Fault::Invalid),
        // SAFETY: the caller's promise.
        false => Ok(unsafe { CStr::from_ptr(first) }),
    }
}

/// Gives an answer through a pointer, which must be one.
///
/// # Safety
/// `to` is null, or good for writing.
pub unsafe fn answer<T>(to: *mut T, value: T) -> Res<()> {
    match to.is_null() {
        true => Err(Fault::Invalid),
        false => {
            // SAFETY: the caller's promise.
            unsafe { to.write(value) };
            Ok(())
        }
    }
}

/// The same for an answer that the caller may not want.
///
/// # Safety
/// As [`answer`].
pub unsafe fn tell<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) };
    }
}
