//! A barrier that one thread has all threads of its process pass, so that they need none of their
//! own where this matters seldom (`os::biased_lock`).

use std::sync::atomic::{AtomicU8, Ordering};

use super::system;

const UNKNOWN: u8 = 0;
const THERE: u8 = 1;
const NOT_THERE: u8 = 2;

static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether the system has it. Asked for once.
#[inline]
pub(crate) fn is_there() -> bool {
    match FOUND.load(Ordering::Relaxed) {
        UNKNOWN => {
            // A model, or Miri, has no threads that the kernel knows.
            let found = !cfg!(any(loom, shuttle, miri)) && system::has_barrier();
            FOUND.store(if found { THERE } else { NOT_THERE }, Ordering::Relaxed);
            found
        }
        found => found == THERE,
    }
}

/// Has every thread of this process pass a full barrier before this returns; `false`: the system
/// refuses, and is not relied on again.
pub(crate) fn pass_everywhere() -> bool {
    let passed = system::barrier();
    if !passed {
        FOUND.store(NOT_THERE, Ordering::Relaxed);
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_works() {
        assert!(!is_there() || pass_everywhere());
        assert_eq!(is_there(), is_there());
    }
}
