//! Time since boot in milliseconds, the same for all processes of a machine, and cheap.
//!
//! It is for people to read (how old is that reader, how long is the lock held), and says when an
//! automatic flush is due; nothing that must be right is decided by it.

use super::system;

#[inline]
pub(crate) fn now_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one `timespec`.
    unsafe { libc::clock_gettime(system::CLOCK, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// The id of this thread as the system's tools show it; asked for once per thread, and again in a
/// forked child.
#[inline]
pub(crate) fn thread_id() -> u32 {
    use std::cell::Cell;
    thread_local! { static ID: Cell<(u32, u32)> = const { Cell::new((0, 0)) } }
    ID.with(|known| {
        let generation = super::fork::generation();
        if known.get().0 != generation {
            known.set((generation, system::thread_id()));
        }
        known.get().1
    })
}
