//! How much address space one environment may reserve.
//!
//! A reservation costs nothing but addresses. They run out all the same: a process has 128 TiB of
//! them on most 64-bit machines, or as many as `ulimit -v` says. A process that took all that is
//! left would leave none for its next environment, the stack of a thread, or the next allocation.
//! So some of it is kept, and of that no environment takes more than a small share. Room to raise a
//! limit later, which is not needed now, comes out of the first quarter.

use std::sync::atomic::{AtomicU64, Ordering};

use super::sys::memory::{address_limit, addresses_used};

/// The address space of a process where no limit says less, in bytes: half of what 32 bits name, or
/// more, is the process's.
const SPACE_BYTES: u64 = if usize::BITS < 64 { 2 << 30 } else { 1 << 47 };
/// So much of it is kept, or half of what there was for environments where that is less.
const KEPT_BYTES: u64 = if usize::BITS < 64 { SPACE_BYTES / 2 } else { 8 << 40 };
/// The part of what is kept that one reservation takes at most.
const SHARE: u64 = 64;

/// What this process's environments have reserved.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Counts a reservation.
pub(super) fn note_reserved(bytes: u64) {
    RESERVED.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts a reservation that is given back.
pub(super) fn note_given_back(bytes: u64) {
    RESERVED.fetch_sub(bytes, Ordering::Relaxed);
}

/// The most that one reservation may take now; no bound where the kernel does not tell what is in
/// use.
pub(super) fn fair_bytes() -> u64 {
    left_bytes().map_or(u64::MAX, |left| fair(left, RESERVED.load(Ordering::Relaxed)))
}

/// Whether there is room for so much more than what is needed.
pub(crate) fn has_plenty(bytes: u64) -> bool {
    let quarter = address_limit().min(SPACE_BYTES) / 4;
    left_bytes().is_none_or(|left| left.saturating_sub(3 * quarter) >= bytes)
}

fn fair(left: u64, reserved: u64) -> u64 {
    let kept = KEPT_BYTES.min(left.saturating_add(reserved) / 2);
    left.saturating_sub(kept).max(left / SHARE)
}

/// The addresses that are left to the process.
fn left_bytes() -> Option<u64> {
    let space = address_limit().min(SPACE_BYTES);
    Some(space.saturating_sub(addresses_used()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many large ones, one after another.
    #[test]
    fn some_addresses_are_left_for_every_environment() {
        let (mut left, mut last) = (SPACE_BYTES, u64::MAX);
        let wanted = SPACE_BYTES >> 7;
        let first = (SPACE_BYTES - KEPT_BYTES) / wanted;
        for number in 0..1000 {
            let bytes = fair(left, SPACE_BYTES - left).min(wanted);
            assert!(bytes <= last, "later ones get less");
            assert!(bytes == wanted || number >= first - 1, "the first get all they want");
            left -= bytes;
            last = bytes;
        }
        assert!(last > SPACE_BYTES >> 31 && left > SPACE_BYTES >> 27, "{last} {left}");
        assert_eq!(fair(1 << 30, 0), 512 << 20, "half of a limit");
        assert_eq!(fair(512 << 20, 512 << 20), 8 << 20, "and then a share");
        assert_eq!(fair(0, 1 << 30), 0);
    }
}
