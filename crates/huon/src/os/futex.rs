//! Sleeping on a shared word until it changes, across processes.
//!
//! A wait is a hint: it may end early, and callers look again. Only the low half of the word is
//! watched. Who waits may carry marks, and who wakes may mean only some of them.

use std::time::Duration;

use super::Wake;
use super::word::Word;

/// Sleeps while the low half of `word` is that of `expected`, at most `timeout`. `marks` is not 0.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, marks: u32) {
    // The time when it ends: this call, unlike the one without marks, takes no duration.
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec += timeout.as_secs().min(3600) as libc::time_t;
    time.tv_nsec += timeout.subsec_nanos() as libc::c_long;
    if time.tv_nsec >= NANOS {
        time.tv_sec += 1;
        time.tv_nsec -= NANOS;
    }
    // SAFETY: the address is that of a live, aligned word, and the kernel only reads it; `time`
    // outlives the call. Not FUTEX_PRIVATE: other processes wake us through their own mapping.
    unsafe {
        let (time, none): (*const libc::timespec, *const u32) = (&time, std::ptr::null());
        let operation = libc::FUTEX_WAIT_BITSET;
        libc::syscall(
            libc::SYS_futex,
            low_half(word),
            operation,
            expected as u32,
            time,
            none,
            marks,
        );
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const NANOS: libc::c_long = 1_000_000_000;

/// Wakes those who wait on `word` and are meant; whether there was anybody.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn wake(word: &Word, who: Wake) -> bool {
    let most = if who.is_for_one() { 1 } else { i32::MAX };
    let none: *const u32 = std::ptr::null();
    // SAFETY: the address is that of a live, aligned word; waking reads and writes no memory of
    // ours.
    unsafe {
        let operation = libc::FUTEX_WAKE_BITSET;
        let word = low_half(word);
        libc::syscall(libc::SYS_futex, word, operation, most, none, none, who.marks()) > 0
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn low_half(word: &Word) -> *const u32 {
    let halves = word.as_ptr().cast::<u32>().cast_const();
    if cfg!(target_endian = "big") { halves.wrapping_add(1) } else { halves }
}

/// Sleeps a little: there is nothing to be woken by.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, _: u32) {
    if word.load(super::word::Ordering::Relaxed) as u32 == expected as u32 {
        std::thread::sleep(timeout.min(Duration::from_millis(1)));
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn wake(_: &Word, _: Wake) -> bool {
    // Nobody knows; whoever waits looks again by itself.
    true
}
