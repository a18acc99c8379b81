//! A hint to the processor that a page will be read soon.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// How many lines are asked for: the header and the slots where most searches start.
const LINE_COUNT: usize = 4;

/// Asks for the first lines of `bytes`. Reads nothing, cannot fault; does nothing but on x86-64.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in bytes.chunks(LINE_BYTES).take(LINE_COUNT) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has SSE, and a prefetch cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (bytes, LINE_BYTES, LINE_COUNT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_is_fine() {
        let bytes = [1; 4096];
        for len in [0, 1, 63, 64, 65, 255, 256, 257, 4096] {
            prefetch(&bytes[..len]);
        }
    }
}
