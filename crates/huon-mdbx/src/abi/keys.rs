//! Numbers as keys, and back.

use super::{MDBX_val, bytes_or_none};
use crate::keys;

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_key_from_jsonInteger(number: i64) -> u64 {
    keys::of_json(number)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_key_from_double(number: f64) -> u64 {
    keys::of_f64(number)
}

/// # Safety
/// The pointer is null, or good for reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_key_from_ptrdouble(number: *const f64) -> u64 {
    // SAFETY: the caller's promise; the number may lie at any address.
    keys::of_f64(if number.is_null() { 0.0 } else { unsafe { number.read_unaligned() } })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_key_from_float(number: f32) -> u32 {
    keys::of_f32(number)
}

/// # Safety
/// The pointer is null, or good for reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_key_from_ptrfloat(number: *const f32) -> u32 {
    // SAFETY: the caller's promise; the number may lie at any address.
    keys::of_f32(if number.is_null() { 0.0 } else { unsafe { number.read_unaligned() } })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_key_from_int64(number: i64) -> u64 {
    keys::of_i64(number)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_key_from_int32(number: i32) -> u32 {
    keys::of_i32(number)
}

/// # Safety
/// The value's pointer is good for reading its length; so for those below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_jsonInteger_from_key(key: MDBX_val) -> i64 {
    // SAFETY: the caller's promise.
    keys::to_json(unsafe { bytes_or_none(&key) })
}

/// # Safety
/// See [`mdbx_jsonInteger_from_key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_double_from_key(key: MDBX_val) -> f64 {
    // SAFETY: the caller's promise.
    keys::to_f64(unsafe { bytes_or_none(&key) })
}

/// # Safety
/// See [`mdbx_jsonInteger_from_key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_float_from_key(key: MDBX_val) -> f32 {
    // SAFETY: the caller's promise.
    keys::to_f32(unsafe { bytes_or_none(&key) })
}

/// # Safety
/// See [`mdbx_jsonInteger_from_key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_int32_from_key(key: MDBX_val) -> i32 {
    // SAFETY: the caller's promise.
    keys::to_i32(unsafe { bytes_or_none(&key) })
}

/// # Safety
/// See [`mdbx_jsonInteger_from_key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_int64_from_key(key: MDBX_val) -> i64 {
    // SAFETY: the caller's promise.
    keys::to_i64(unsafe { bytes_or_none(&key) })
}
