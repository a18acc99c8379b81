//! What C points to. What a pointer leads to is the caller's to get right; a null one where
//! something is needed is [`Fault::Invalid`].

use std::ffi::CStr;

use libc::{c_char, c_void};

use crate::data::{Outcome, Shown, Value};
use crate::fault::{Fault, Res};
use crate::flags::put::RESERVE;

/// Bytes as an interface lays them out: where they are, and how many.
pub trait Val: Copy {
    /// These.
    fn of(first: *mut c_void, bytes: usize) -> Self;

    /// Where, and how many.
    fn parts(&self) -> (*mut c_void, usize);
}

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
    if first.is_null() {
        Err(Fault::Invalid)
    } else {
        // SAFETY: the caller's promise.
        Ok(unsafe { CStr::from_ptr(first) })
    }
}

/// Gives an answer through a pointer, which must be one.
///
/// # Safety
/// `to` is null, or good for writing.
pub unsafe fn answer<T>(to: *mut T, value: T) -> Res<()> {
    if to.is_null() {
        Err(Fault::Invalid)
    } else {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) };
        Ok(())
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

/// The bytes that a value of the caller's names; `None` for a null pointer.
///
/// # Safety
/// `val` is null, or points to a value, whose pointer is good for reading its bytes until the
/// function that was given it returns.
#[inline]
pub unsafe fn bytes_of<'v>(val: *const impl Val) -> Res<Option<&'v [u8]>> {
    // SAFETY: the caller's promise.
    let Some(val) = (unsafe { val.as_ref() }) else { return Ok(None) };
    let (first, bytes) = val.parts();
    // SAFETY: the caller's promise.
    unsafe { slice(first, bytes) }.map(Some)
}

/// Tells the caller where bytes are, unless `val` is null.
///
/// # Safety
/// `val` is null, or good for writing.
#[inline]
pub unsafe fn show<V: Val>(val: *mut V, shown: Shown) {
    // SAFETY: the caller's promise.
    unsafe { tell(val, V::of(shown.first as *mut c_void, shown.bytes)) };
}

/// What is to be stored.
///
/// # Safety
/// As [`bytes_of`]; with [`RESERVE`] only how many bytes there will be is read.
pub unsafe fn value_of<'v>(data: *const impl Val, flags: u32) -> Res<Value<'v>> {
    if flags & RESERVE == 0 {
        // SAFETY: the caller's promise.
        return unsafe { bytes_of(data) }?.map(Value::Bytes).ok_or(Fault::Invalid);
    }
    // SAFETY: the caller's promise.
    let data = unsafe { data.as_ref() }.ok_or(Fault::Invalid)?;
    Ok(Value::Room(data.parts().1))
}

/// Tells what came of a put.
///
/// # Safety
/// `data` is a value.
pub unsafe fn told<V: Val>(data: *mut V, outcome: Outcome) -> Res<()> {
    match outcome {
        Outcome::Stored => Ok(()),
        Outcome::Room(place) => {
            // SAFETY: the caller's promise.
            unsafe { *data = V::of(place.cast(), (*data).parts().1) };
            Ok(())
        }
        Outcome::Exists(found) => {
            // SAFETY: the caller's promise.
            unsafe { show(data, found) };
            Err(Fault::Exists)
        }
    }
}
