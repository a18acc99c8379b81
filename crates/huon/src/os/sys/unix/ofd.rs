//! OFD locks: on bytes of a file, of the open file description instead of the process.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;

use super::locks::{Hold, OfdCall, retried};
use super::wide::{Flock, fcntl_lock};

/// The call; which of the bytes the lock covers that is in the way, if the call asks.
// The types of kinds and offsets differ between systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
pub(super) fn ofd(
    file: &File,
    call: OfdCall,
    hold: Hold,
    bytes: RangeInclusive<i64>,
) -> io::Result<Option<RangeInclusive<i64>>> {
    let command = match call {
        OfdCall::Set => libc::F_OFD_SETLK,
        OfdCall::Ask => libc::F_OFD_GETLK,
    };
    // SAFETY: a `flock` is numbers, for which zeros are values.
    let mut lock: Flock = unsafe { std::mem::zeroed() };
    lock.l_type = match hold {
        Hold::Nothing => libc::F_UNLCK as _,
        Hold::Shared => libc::F_RDLCK as _,
        Hold::Alone => libc::F_WRLCK as _,
    };
    lock.l_whence = libc::SEEK_SET as _;
    let (first, last) = (*bytes.start(), *bytes.end());
    lock.l_start = first;
    lock.l_len = last - first + 1;
    // SAFETY: the descriptor is open and `lock` outlives the call.
    retried(|| unsafe { fcntl_lock(file.as_raw_fd(), command, &raw mut lock) })?;
    if matches!(call, OfdCall::Set) || i32::from(lock.l_type) == libc::F_UNLCK as i32 {
        return Ok(None);
    }
    let end = match lock.l_len {
        0 => last,
        len => lock.l_start.saturating_add(len - 1).min(last),
    };
    Ok(Some(lock.l_start.max(first)..=end))
}
