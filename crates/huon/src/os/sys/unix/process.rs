//! Other processes, as the kernel numbers them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::fork;

/// The space in which this process's id counts, as a number: containers have their own. 0 where the
/// system does not tell. Asked of the kernel once: a process stays in its space, though a forked
/// child may be in another.
pub(crate) fn pid_space() -> u64 {
    static KNOWN_IN: AtomicU32 = AtomicU32::new(0);
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let generation = fork::generation();
    if KNOWN_IN.load(Ordering::Acquire) != generation {
        KNOWN.store(ask_pid_space(), Ordering::Relaxed);
        KNOWN_IN.store(generation, Ordering::Release);
    }
    KNOWN.load(Ordering::Relaxed)
}

fn ask_pid_space() -> u64 {
    use std::os::unix::fs::MetadataExt;
    // Models and interpreted code see no such file.
    if cfg!(any(loom, shuttle, miri)) {
        0
    } else {
        std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
    }
}

/// Whether a process of that number can be seen from here; only words of an error depend on it.
pub(crate) fn is_process(pid: u32) -> bool {
    // SAFETY: signal 0 is never delivered, the call only asks.
    let sent = unsafe { libc::kill(pid as libc::pid_t, 0) };
    sent == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}
