//! Sleeping on a shared word until it changes, across processes.
//!
//! A wait is a hint: it may end early, and callers look again. Only the low half of the word is
//! watched.

use std::time::Duration;

use super::word::Word;

/// Sleeps while the low half of `word` is that of `expected`, at most `timeout`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs().min(3600) as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as _,
    };
    // SAFETY: the address is that of a live, aligned word, and the kernel only reads it; `time`
    // outlives the call. Not FUTEX_PRIVATE: other processes wake us through their own mapping.
    unsafe {
        let time: *const libc::timespec = &time;
        libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAIT, expected as u32, time);
    }
}

/// Wakes everybody who waits on `word`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn wake(word: &Word) {
    // SAFETY: the address is that of a live, aligned word; waking reads and writes no memory of
    // ours.
    unsafe {
        libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAKE, i32::MAX);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn low_half(word: &Word) -> *const u32 {
    let halves = word.as_ptr().cast::<u32>().cast_const();
    if cfg!(target_endian = "big") { halves.wrapping_add(1) } else { halves }
}

/// Sleeps a little: there is nothing to be woken by.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration) {
    if word.load(super::word::Ordering::Relaxed) as u32 == expected as u32 {
        std::thread::sleep(timeout.min(Duration::from_millis(1)));
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn wake(_: &Word) {}
