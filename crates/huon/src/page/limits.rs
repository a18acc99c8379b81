//! How long keys and values may be, and which values lie in the leaf itself.

use super::header::HEADER_BYTES;

/// The longest value, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 0x7FF0_0000;

/// Bytes of an encoded [`RunRef`](super::RunRef): the payload of its cell.
pub(crate) const RUN_REF_BYTES: usize = 28;

/// The longest key, in bytes: 2022 at pages of 4 KiB, 32742 at 64 KiB.
pub(crate) const fn key_bytes_max(page_bytes: usize) -> usize {
    (page_bytes - HEADER_BYTES) / 2 - 10
}

/// Whether a value lies in the leaf. Others go to a run, unless the reference to it is no shorter.
#[inline]
pub(crate) const fn fits_inline(page_bytes: usize, key_bytes: usize, value_bytes: usize) -> bool {
    value_bytes <= RUN_REF_BYTES
        || (value_bytes < page_bytes
            && 8 + 4 + key_bytes + value_bytes <= (page_bytes - HEADER_BYTES) / 2)
}

const _: () = {
    assert!(key_bytes_max(4096) == 2022);
    assert!(key_bytes_max(65536) == 32742);
};
