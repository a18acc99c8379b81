//! FreeBSD, DragonFly and NetBSD: locks on whole files. It compiles, but was never run.

#[cfg(target_os = "freebsd")]
use std::time::Duration;

pub(super) use super::plain::no_ofd::ofd;
pub(super) use super::plain::{
    PAST_CACHE, access_list, allocate, barrier, boot_id, disk_waits, flush, forget_cache,
    has_barrier, is_steady, keep_from_children, memory_file, memory_limit, nameless, random,
    start_writing, wipe_in_children,
};
#[cfg(not(target_os = "freebsd"))]
pub(super) use super::plain::{thread_id, wait, wake};
#[cfg(target_os = "freebsd")]
use crate::os::Wake;
#[cfg(target_os = "freebsd")]
use crate::os::word::Word;

pub(super) const MAPS_KEEP_LOCKS: bool = false;
/// Nothing is reserved for a mapping of a file anyway, nor for memory before it is touched.
#[cfg(not(target_os = "netbsd"))]
pub(super) const NO_RESERVE: libc::c_int = 0;
#[cfg(target_os = "netbsd")]
pub(super) const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
#[cfg(not(target_os = "netbsd"))]
pub(super) const IS_LINK: libc::c_int = libc::EMLINK;
#[cfg(target_os = "netbsd")]
pub(super) const IS_LINK: libc::c_int = libc::EFTYPE;
#[cfg(not(target_os = "netbsd"))]
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_FAST;
#[cfg(target_os = "netbsd")]
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// There are no marks: `wake` wakes all. A word in a shared mapping is known by its file.
#[cfg(target_os = "freebsd")]
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, _: u32) {
    let mut time = libc::timespec {
        tv_sec: timeout.as_secs().min(3600) as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    let bytes = std::ptr::without_provenance_mut(size_of::<libc::timespec>());
    // SAFETY: the word lies in a live mapping, and `time` outlives the call.
    unsafe {
        libc::_umtx_op(
            low_half(word),
            libc::UMTX_OP_WAIT_UINT,
            expected as u32 as libc::c_ulong,
            bytes,
            (&raw mut time).cast(),
        )
    };
}

#[cfg(target_os = "freebsd")]
pub(super) fn wake(word: &Word, _: Wake) -> bool {
    let (all, none) = (i32::MAX as libc::c_ulong, std::ptr::null_mut());
    // SAFETY: the word lies in a live mapping; this kind of call uses no other pointer.
    unsafe { libc::_umtx_op(low_half(word), libc::UMTX_OP_WAKE, all, none, none) == 0 }
}

/// The half of the word that is watched.
#[cfg(target_os = "freebsd")]
fn low_half(word: &Word) -> *mut libc::c_void {
    let halves = word.as_ptr().cast::<u32>();
    if cfg!(target_endian = "big") { halves.wrapping_add(1).cast() } else { halves.cast() }
}

#[cfg(target_os = "freebsd")]
#[cold]
pub(super) fn thread_id() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::pthread_getthreadid_np() as u32 }
}
