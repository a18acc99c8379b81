//! Numbers that nobody else has.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Sixteen random bytes from the system.
pub(crate) fn random_bytes() -> Result<[u8; 16]> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer has the length that is passed with it.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if filled == bytes.len() as isize {
        return Ok(bytes);
    }
    Err(Error::io("read random bytes", "", std::io::Error::last_os_error()))
}

/// A number that no other call in this process has got.
pub(crate) fn unique_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
