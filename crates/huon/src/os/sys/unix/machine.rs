//! Facts about the machine, and unique numbers.

use std::io;
use std::sync::OnceLock;

use super::{fork, system};

/// The number of this boot of the system: a lock file of another boot knows nothing of what the
/// disk kept. Zeros where the kernel does not tell one boot from another.
pub(crate) fn boot_id() -> [u8; 16] {
    static BOOT: OnceLock<[u8; 16]> = OnceLock::new();
    // A child would wait for ever for another thread that asks.
    let _held_off = fork::hold_off();
    *BOOT.get_or_init(system::boot_id)
}

/// The first 32 hexadecimal digits of a text, whatever lies between them; zeros for missing ones.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn hexadecimal(text: &str) -> [u8; 16] {
    let mut id = [0; 16];
    let mut digits = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8);
    for byte in &mut id {
        *byte = digits.next().unwrap_or(0) << 4 | digits.next().unwrap_or(0);
    }
    id
}

/// Fills `bytes`, at most 256 of them, with random ones from the kernel.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    system::random(bytes)
}

/// Bytes of memory that files and processes here may take: those of the machine, or fewer where
/// this process is limited.
pub(crate) fn memory_bytes() -> u64 {
    machine_bytes().min(system::memory_limit().unwrap_or(u64::MAX))
}

fn machine_bytes() -> u64 {
    // SAFETY: the call touches no memory of ours.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    let pages = u64::try_from(pages).unwrap_or(u64::MAX);
    pages.saturating_mul(super::memory::page_bytes() as u64)
}

/// How often this thread (on Linux, elsewhere the process) had to wait for a page from the disk.
pub(crate) fn disk_waits() -> i64 {
    system::disk_waits()
}

/// The same, of `who` as `getrusage` names it.
// The type of the figure differs between systems.
#[allow(clippy::unnecessary_cast)]
pub(super) fn waits_of(who: libc::c_int) -> i64 {
    // SAFETY: an `rusage` is numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` has room for what is written.
    unsafe { libc::getrusage(who, &mut usage) };
    usage.ru_majflt as i64
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files of the system")]
    fn there_is_memory_and_no_more_than_the_machine_has() {
        assert!(memory_bytes() > 1 << 20);
        assert!(memory_bytes() <= machine_bytes());
        assert!(machine_bytes() < 1 << 60);
    }
}
