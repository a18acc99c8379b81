//! A hint to the processor that bytes will be read soon. Reads nothing, cannot fault, and does
//! nothing but on x86-64.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Lines of a page that are asked for: the header and the slots where most searches start.
const LINE_COUNT: usize = 4;
/// Lines that [`prefetch_start`] asks for: most cells have no more.
const START_LINES: usize = 3;
/// Lines that [`prefetch_page`] asks for. A fourth of them helps puts half as much; twice as many
/// help those of small records no more, and cost others what they gain.
const EDIT_LINES: usize = 16;
/// Lines that a step asks for, [`Ahead::ask_on`] or [`Ahead::ask_at`]: so a page of 4 KiB has come
/// after sixteen records of another.
const LINES_A_STEP: usize = 4;
const BYTES_A_STEP: usize = LINES_A_STEP * LINE_BYTES;

/// Asks for the first lines of `bytes`, of a whole cell mostly.
#[inline(always)]
pub(crate) fn prefetch_start(bytes: &[u8]) {
    for line in 0..START_LINES {
        ask(bytes.as_ptr().wrapping_add(line * LINE_BYTES));
    }
}

/// Asks for the header of a page that is about to be edited, and for the slots of a leaf of small
/// records: a search asks for them one after another.
#[inline(always)]
pub(crate) fn prefetch_page(page: &[u8]) {
    for line in 0..EDIT_LINES {
        ask(page.as_ptr().wrapping_add(line * LINE_BYTES));
    }
}

/// Asks for the first lines of the page at any address whatever.
#[inline(always)]
pub(super) fn lines(first: *const u8) {
    for line in 0..LINE_COUNT {
        ask(first.wrapping_add(line * LINE_BYTES));
    }
}

/// A page that will be read soon, asked for little by little while another one is read: a processor
/// that is asked for all of it at once does nothing else until most of it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// Addresses: what was not asked for yet.
    next: usize,
    end: usize,
}

impl Ahead {
    pub(crate) const NONE: Ahead = Ahead { next: 0, end: 0 };

    /// Nothing is asked for yet. The address may be any.
    pub(super) fn page(first: *const u8, bytes: usize) -> Ahead {
        Ahead { next: first.addr(), end: first.addr().wrapping_add(bytes) }
    }

    /// Asks for the next lines, if any are left.
    #[inline(always)]
    pub(crate) fn ask_on(&mut self) {
        if self.next < self.end {
            self.ask_at(0);
            self.next = self.next.saturating_add(BYTES_A_STEP);
        }
    }

    /// The same for so many steps.
    #[inline(always)]
    pub(crate) fn ask_many(&mut self, steps: usize) {
        let mut left = *self;
        let until = left.next.saturating_add(steps.saturating_mul(BYTES_A_STEP)).min(left.end);
        while left.next < until {
            left.ask_on();
        }
        *self = left;
    }

    /// Asks for the lines whose turn is so many steps from here, if there are such, for a reader
    /// that keeps no count of its steps.
    #[inline(always)]
    pub(crate) fn ask_at(self, steps: usize) {
        let first = self.next.saturating_add(steps.saturating_mul(BYTES_A_STEP));
        if first < self.end {
            for line in 0..LINES_A_STEP {
                ask(std::ptr::without_provenance(first.wrapping_add(line * LINE_BYTES)));
            }
        }
    }

    /// Asks for all that is left at once, for a caller that has nothing better to do meanwhile.
    pub(crate) fn ask_all(mut self) {
        while self.next < self.end {
            self.ask_on();
        }
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
            prefetch_start(&bytes[..len]);
        }
    }

    #[test]
    fn a_page_ahead_is_asked_for_once() {
        let page = [1; 4096];
        let mut ahead = Ahead::page(page.as_ptr(), page.len());
        let steps = std::iter::from_fn(|| {
            let left = ahead.end.saturating_sub(ahead.next);
            ahead.ask_on();
            (left > 0).then_some(left)
        });
        let steps: Vec<usize> = steps.collect();
        assert_eq!(steps.len(), page.len().div_ceil(BYTES_A_STEP));
        assert!(steps.is_sorted_by(|a, b| a > b), "{steps:?}");
        let mut none = Ahead::NONE;
        none.ask_on();
        [0, 1, 1 << 20, usize::MAX].into_iter().for_each(|steps| {
            none.ask_at(steps);
            Ahead::page(page.as_ptr(), page.len()).ask_at(steps);
        });
        Ahead::page(std::ptr::null::<u8>().wrapping_sub(100), 4096).ask_all();
        Ahead::page(page.as_ptr(), page.len()).ask_all();
    }

    #[test]
    fn any_address_is_fine() {
        lines(std::ptr::null());
        lines(std::ptr::null::<u8>().wrapping_sub(1));
        lines([1; 4].as_ptr());
    }
}
