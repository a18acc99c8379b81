//! A hint to the processor that bytes will be read soon. Reads nothing, cannot fault, and does
//! nothing but on x86-64.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Lines of a page that are asked for: the header and the slots where most searches start.
const LINE_COUNT: usize = 4;

/// Asks for the lines of `bytes`.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE_BYTES) {
        ask(line.as_ptr());
    }
}

/// Asks for the first lines of the page at any address whatever.
#[inline(always)]
pub(super) fn lines(first: *const u8) {
    for line in 0..LINE_COUNT {
        ask(first.wrapping_add(line * LINE_BYTES));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn ask(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 processor has SSE, and a prefetch cannot fault, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn ask(_line: *const u8) {}

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

    #[test]
    fn any_address_is_fine() {
        lines(std::ptr::null());
        lines(std::ptr::null::<u8>().wrapping_sub(1));
        lines([1; 4].as_ptr());
    }
}
