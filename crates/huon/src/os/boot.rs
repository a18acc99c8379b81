//! Which boot of the system this is: a lock file of another boot knows nothing of what the disk
//! kept.

use std::sync::OnceLock;

use super::fork;

/// A number that changes with each boot; zeros where the system does not tell.
pub(super) fn boot_id() -> [u8; 16] {
    static BOOT: OnceLock<[u8; 16]> = OnceLock::new();
    // A child that is forked meanwhile would wait for ever.
    let _held_off = fork::hold_off();
    *BOOT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut id = [0; 16];
        let mut digits = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8);
        for byte in &mut id {
            *byte = digits.next().unwrap_or(0) << 4 | digits.next().unwrap_or(0);
        }
        id
    })
}
