//! How much address space one environment may reserve.
//!
//! A reservation costs nothing but addresses. They run out all the same: a process has 128 TiB of
//! them on most 64-bit machines, or as many as `ulimit -v` says. A process that took all that is
//! left would leave none for its next environment, the stack of a thread, or the next allocation.
//! So some of it is kept, and of that no environment takes more than a small share. What is only
//! wished for, room to raise a limit later, comes out of the first quarter.

use std::sync::atomic::{AtomicU64, Ordering};

use super::anon::system_page;

/// What a process has where no limit says less, in bytes.
const SPACE_BYTES: u64 = 1 << 47;
/// So much of it is kept, or half of what there was for environments where that is less.
const KEPT_BYTES: u64 = 8 << 40;
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

/// The most that one reservation may take now; no bound where the system does not tell what is in
/// use.
pub(super) fn fair_bytes() -> u64 {
    left_bytes().map_or(u64::MAX, |left| fair(left, RESERVED.load(Ordering::Relaxed)))
}

/// Whether there is room for so much more than what is needed.
pub(crate) fn has_plenty(bytes: u64) -> bool {
    let quarter = limit_bytes().min(SPACE_BYTES) / 4;
    left_bytes().is_none_or(|left| left.saturating_sub(3 * quarter) >= bytes)
}

fn fair(left: u64, reserved: u64) -> u64 {
    let kept = KEPT_BYTES.min(left.saturating_add(reserved) / 2);
    left.saturating_sub(kept).max(left / SHARE)
}

/// The addresses that are left to the process.
fn left_bytes() -> Option<u64> {
    let space = limit_bytes().min(SPACE_BYTES);
    Some(space.saturating_sub(used_bytes()?))
}

/// The soft limit of the process's address space.
fn limit_bytes() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for one `rlimit`.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

/// The addresses that the process has in use, reservations included.
fn used_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').next()?.parse().ok()?;
    pages.checked_mul(system_page() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many large ones, one after another.
    #[test]
    fn there_is_something_left_for_everybody() {
        let (mut left, mut last) = (SPACE_BYTES, u64::MAX);
        for number in 0..1000 {
            let bytes = fair(left, SPACE_BYTES - left).min(1 << 40);
            assert!(bytes <= last, "later ones get less");
            assert!(bytes == 1 << 40 || number >= 119, "the first get all they want");
            left -= bytes;
            last = bytes;
        }
        assert!(last > 1 << 16 && left > 1 << 20, "{last} {left}");
        assert_eq!(fair(4 << 30, 0), 2 << 30, "half of a limit");
        assert_eq!(fair(2 << 30, 2 << 30), 32 << 20, "and then a share");
        assert_eq!(fair(0, 1 << 30), 0);
    }
}
