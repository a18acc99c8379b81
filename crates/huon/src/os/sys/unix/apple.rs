//! macOS, iOS and their kin: locks on bytes and sleeping on a word as on Linux, flushes of their
//! own. It compiles, but was never run.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::time::Duration;

pub(super) use super::ofd::ofd;
use super::plain;
pub(super) use super::plain::{
    PAST_CACHE, access_list, allocate, barrier, disk_waits, forget_cache, has_barrier, is_steady,
    keep_from_children, memory_file, memory_limit, nameless, random, start_writing,
    wipe_in_children,
};
use crate::os::Wake;
use crate::os::word::Word;

/// A mapping keeps the file, and not its description.
pub(super) const MAPS_KEEP_LOCKS: bool = false;
pub(super) const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
pub(super) const IS_LINK: libc::c_int = libc::ELOOP;
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW_APPROX;

/// Bytes of a word that sleepers watch: its low half, as these machines are little-endian.
const WATCHED_BYTES: usize = 4;
/// Other processes wake and sleep on the same word.
const SHARED: u32 = 1;
/// The clock that the time-out counts on: `OS_CLOCK_MACH_ABSOLUTE_TIME`.
const MACH_TIME: u32 = 32;

type WaitCall = unsafe extern "C" fn(*mut libc::c_void, u64, usize, u32, u32, u64) -> libc::c_int;
type WakeCall = unsafe extern "C" fn(*mut libc::c_void, usize, u32) -> libc::c_int;

/// Calls that the system has since macOS 14.4 and iOS 17.4.
struct Calls {
    wait: WaitCall,
    wake: WakeCall,
}

fn calls() -> Option<&'static Calls> {
    static CALLS: OnceLock<Option<Calls>> = OnceLock::new();
    let find = || {
        let wait = find(c"os_sync_wait_on_address_with_timeout")?;
        let wake = find(c"os_sync_wake_by_address_all")?;
        // SAFETY: these are functions of the system's, with the types that its headers give them.
        unsafe {
            Some(Calls {
                wait: std::mem::transmute::<*mut libc::c_void, WaitCall>(wait),
                wake: std::mem::transmute::<*mut libc::c_void, WakeCall>(wake),
            })
        }
    };
    CALLS.get_or_init(find).as_ref()
}

fn find(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// There are no marks: `wake` wakes all.
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, marks: u32) {
    let Some(calls) = calls() else { return plain::wait(word, expected, timeout, marks) };
    let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    if nanoseconds > 0 {
        let (address, half) = (word.as_ptr().cast(), expected & u64::from(u32::MAX));
        // SAFETY: the word lies in a live mapping.
        unsafe { (calls.wait)(address, half, WATCHED_BYTES, SHARED, MACH_TIME, nanoseconds) };
    }
}

pub(super) fn wake(word: &Word, which: Wake) -> bool {
    let Some(calls) = calls() else { return plain::wake(word, which) };
    // SAFETY: the word lies in a live mapping.
    unsafe { (calls.wake)(word.as_ptr().cast(), WATCHED_BYTES, SHARED) == 0 }
}

#[cold]
pub(super) fn thread_id() -> u32 {
    let mut id = 0;
    // SAFETY: 0 is the calling thread, and `id` is valid and outlives the call.
    unsafe { libc::pthread_threadid_np(0, &mut id) };
    id as u32
}

/// The UUID of this boot.
pub(super) fn boot_id() -> [u8; 16] {
    let mut text = [0u8; 64];
    let mut bytes = text.len();
    let name = c"kern.bootsessionuuid";
    // SAFETY: the name ends with a zero; the kernel writes at most `bytes` bytes into `text`, and
    // their number into `bytes`.
    let asked = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            text.as_mut_ptr().cast(),
            &mut bytes,
            std::ptr::null_mut(),
            0,
        )
    };
    let told = if asked == 0 { &text[..bytes.min(text.len())] } else { &[] };
    super::machine::hexadecimal(&String::from_utf8_lossy(told))
}

/// `F_FULLFSYNC`, which the standard library asks for; some file systems have only `fsync`.
pub(super) fn flush(file: &File) -> io::Result<()> {
    let Err(error) = file.sync_data() else { return Ok(()) };
    if !matches!(error.raw_os_error(), Some(libc::ENOTSUP | libc::ENOTTY | libc::EINVAL)) {
        return Err(error);
    }
    // SAFETY: the descriptor is open.
    super::locks::retried(|| unsafe { libc::fsync(file.as_raw_fd()) })
}
