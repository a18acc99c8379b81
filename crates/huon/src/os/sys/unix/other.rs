//! illumos: locks on whole files, and nothing else beyond POSIX. It compiles, but was never run.

pub(super) use super::plain::no_ofd::ofd;
pub(super) use super::plain::{
    PAST_CACHE, access_list, allocate, barrier, boot_id, disk_waits, flush, forget_cache,
    has_barrier, is_steady, keep_from_children, memory_file, memory_limit, nameless, random,
    start_writing, thread_id, wait, wake, wipe_in_children,
};

pub(super) const MAPS_KEEP_LOCKS: bool = false;
#[cfg(not(target_os = "openbsd"))]
pub(super) const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
#[cfg(target_os = "openbsd")]
pub(super) const NO_RESERVE: libc::c_int = 0;
pub(super) const IS_LINK: libc::c_int = libc::ELOOP;
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
