//! The functions that C calls: each checks what it was given, converts it, calls, and turns the
//! answer into a code.
//!
//! A1. A handle is looked up, never followed. A null one is `EINVAL`, a closed one, or one of
//!     another kind, is `EBADSIGN`.
//! A2. A pointer to memory of the caller's is his to get right, as with libmdbx; a null one where
//!     something is needed is `EINVAL`.
//! A3. Nothing unwinds into C.
//! A4. Bytes are read before the call that was given them returns, and written in two cases: what a
//!     pointer for an answer points to, and nothing else.

mod keys;
mod library;
mod limits;
mod orders;
mod types;

pub use keys::*;
pub use library::*;
pub use limits::*;
pub use orders::*;
pub use types::*;

/// The bytes of a value, none for a null pointer.
///
/// # Safety
/// `val` is null, or points to a value whose pointer is null or good for reading its length, until
/// the function that was given it returns.
unsafe fn bytes_or_none<'v>(val: *const MDBX_val) -> &'v [u8] {
    // SAFETY: the caller's promise.
    let Some(val) = (unsafe { val.as_ref() }) else { return &[] };
    if val.iov_base.is_null() || val.iov_len == 0 || val.iov_len > isize::MAX as usize {
        return &[];
    }
    // SAFETY: the caller's promise; the length is one that a slice may have.
    unsafe { std::slice::from_raw_parts(val.iov_base.cast::<u8>(), val.iov_len) }
}
