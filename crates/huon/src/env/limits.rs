//! How large things may be, as far as that is known without opening a file.
//!
//! Sizes are in bytes. Tables have no limit but the size of the file; their names are keys of the
//! main table.
//!
//! ```
//! use huon::limits;
//! assert_eq!(limits::key_bytes_max(4096)?, 2022);
//! assert_eq!(limits::file_bytes_max(4096)?, ((1 << 32) - 1) * 4096);
//! assert!(limits::key_bytes_max(1000).is_err(), "no page has 1000 bytes");
//! # Ok::<(), huon::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::page;

/// The smallest page.
pub const PAGE_BYTES_MIN: usize = page::PAGE_BYTES_MIN;
/// The largest page.
pub const PAGE_BYTES_MAX: usize = page::PAGE_BYTES_MAX;
/// The longest value of a plain table, whatever the page size.
pub const VALUE_BYTES_MAX: usize = page::MAX_VALUE_BYTES;
/// The smallest journal: see [`Options::journal`](crate::Options::journal).
pub const JOURNAL_BYTES_MIN: u64 = crate::journal::JOURNAL_BYTES_MIN;
/// The largest journal.
pub const JOURNAL_BYTES_MAX: u64 = crate::journal::JOURNAL_BYTES_MAX;
/// A journal that serves most programs: 16 MiB.
pub const JOURNAL_BYTES_USUAL: u64 = crate::journal::JOURNAL_BYTES_USUAL;
/// How many clients, of all processes together, may have a file open at the same time.
pub const CLIENTS_MAX: u32 = crate::lock::CLIENTS_MAX;

/// The longest key, and the longest name of a table, with pages of so many bytes.
///
/// ```
/// assert_eq!(huon::limits::key_bytes_max(65536)?, 32742);
/// # Ok::<(), huon::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] if there are no such pages; so for all functions here.
pub fn key_bytes_max(page_bytes: usize) -> Result<usize> {
    check_page_bytes(page_bytes).map(|()| page::key_bytes_max(page_bytes))
}

/// The longest value of a multimap: as long as the longest key.
///
/// ```
/// assert_eq!(huon::limits::many_value_bytes_max(4096)?, 2022);
/// # Ok::<(), huon::Error>(())
/// ```
pub fn many_value_bytes_max(page_bytes: usize) -> Result<usize> {
    key_bytes_max(page_bytes)
}

/// The longest file: how much of it a process can use is a matter of its address space, too.
///
/// ```
/// assert_eq!(huon::limits::file_bytes_max(256)? >> 30, 1023);
/// # Ok::<(), huon::Error>(())
/// ```
pub fn file_bytes_max(page_bytes: usize) -> Result<u64> {
    check_page_bytes(page_bytes).map(|()| u64::from(u32::MAX) * page_bytes as u64)
}

/// The length of an empty file.
///
/// ```
/// assert_eq!(huon::limits::file_bytes_min(4096)?, 4 * 4096);
/// # Ok::<(), huon::Error>(())
/// ```
pub fn file_bytes_min(page_bytes: usize) -> Result<u64> {
    let pages = |()| u64::from(page::first_data_page(page_bytes)) + 1;
    check_page_bytes(page_bytes).map(pages).map(|pages| pages * page_bytes as u64)
}

/// Refuses what is no page size.
pub(crate) fn check_page_bytes(bytes: usize) -> Result<()> {
    if bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&bytes) {
        Ok(())
    } else {
        Err(Error::Invalid("page size must be a power of two from 256 to 65536 bytes"))
    }
}
