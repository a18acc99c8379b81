//! Linux, with glibc, musl or Android's Bionic. The functions here are the contract that the other
//! systems' modules keep as far as they can.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

use super::files::offset;
pub(super) use super::ofd::ofd;
use super::wide;
use crate::os::Wake;
use crate::os::word::Word;

/// Whether a lock lasts as long as the page that maps its description, once the descriptor is
/// closed (`keeper`).
pub(super) const MAPS_KEEP_LOCKS: bool = true;
/// A mapping that costs no memory and no promise of any before it is touched.
pub(super) const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
/// What opening says of a symbolic link that is not to be followed.
pub(super) const IS_LINK: libc::c_int = libc::ELOOP;
/// It costs no system call.
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_COARSE;

// ---- sleeping on a word

/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;

/// Sleeps while the low half of `word` is that of `expected`, at most `timeout`. `marks` is not 0.
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, marks: u32) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid and outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    // The types of the fields differ between machines.
    let nanos = time.tv_nsec as u64 + u64::from(timeout.subsec_nanos());
    let seconds = timeout.as_secs().min(3600) + nanos / NANOS;
    time.tv_sec = time.tv_sec.saturating_add(seconds as _);
    time.tv_nsec = (nanos % NANOS) as _;
    // SAFETY: the futex word lies in a live mapping and `time` outlives the call. No FUTEX_PRIVATE:
    // other processes wake us. This kind of wait ends at a point in time.
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

/// Wakes the sleepers on the word that are meant; whether there were any.
pub(super) fn wake(word: &Word, which: Wake) -> bool {
    let most = if which.is_for_one() { 1 } else { i32::MAX };
    let none: *const u32 = std::ptr::null();
    // SAFETY: the futex word lies in a live mapping; this kind of call uses no other pointer.
    unsafe {
        let operation = libc::FUTEX_WAKE_BITSET;
        let word = low_half(word);
        libc::syscall(libc::SYS_futex, word, operation, most, none, none, which.marks()) > 0
    }
}

/// A model sleeps on no word of the kernel's.
#[cfg(any(loom, shuttle))]
fn low_half(_: &Word) -> *const u32 {
    std::ptr::null()
}

/// The half of the word that a futex is about.
#[cfg(not(any(loom, shuttle)))]
fn low_half(word: &Word) -> *const u32 {
    let halves = word.as_ptr().cast::<u32>().cast_const();
    if cfg!(target_endian = "big") { halves.wrapping_add(1) } else { halves }
}

// ---- the machine

/// The id of this thread as the system's tools show it.
#[cold]
pub(super) fn thread_id() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::gettid() as u32 }
}

/// A number that changes with each boot; zeros where the kernel does not tell.
pub(super) fn boot_id() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    super::machine::hexadecimal(&text)
}

/// Random bytes.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the buffer has the length that is passed with it.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(filled) == Ok(bytes.len()) {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// How often this thread had to wait for a page from the disk.
pub(super) fn disk_waits() -> i64 {
    /// The kernel's number; the libc crate does not have it for Android.
    const RUSAGE_THREAD: libc::c_int = 1;
    super::machine::waits_of(RUSAGE_THREAD)
}

/// The memory that a control group leaves this process.
pub(super) fn memory_limit() -> Option<u64> {
    super::group_limit::of_this_process()
}

// ---- files

/// Allocates blocks for `bytes` from `from`, and extends the file over them.
///
/// Not `posix_fallocate`: where the file system cannot, some C libraries write one byte a block
/// instead.
pub(super) fn allocate(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let (from, bytes) = (offset(from)?, offset(bytes)?);
    loop {
        // SAFETY: the descriptor is open; the call touches no memory of ours.
        if unsafe { wide::fallocate(file.as_raw_fd(), 0, from, bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Opens a file whose writes go past the page cache, and wait until they are on the disk: one
/// request of a disk that flushes single writes (FUA), else two.
pub(super) const PAST_CACHE: libc::c_int = libc::O_DIRECT | libc::O_DSYNC;

/// Flushes contents and length; only an interrupted call is made again.
pub(super) fn flush(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Begins to write out what is not yet, and waits for nothing. A hint.
pub(super) fn start_writing(file: &File) {
    #[cfg(target_os = "linux")]
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
    }
    #[cfg(not(target_os = "linux"))]
    super::plain::start_writing(file);
}

/// Drops clean cached pages. A hint.
pub(super) fn forget_cache(file: &File) {
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    unsafe { wide::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// What `statfs` calls file systems in which a block stays where it is.
const EXT4: i64 = 0xEF53;
const TMPFS: i64 = 0x0102_1994;

/// Whether a store into an allocated block of the file needs nothing that could be refused.
pub(super) fn is_steady(file: &File) -> bool {
    // SAFETY: a `statfs` is numbers, for which zeros are values.
    let mut stat: wide::Statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `stat` has room for what is written.
    let asked = unsafe { wide::fstatfs(file.as_raw_fd(), &mut stat) };
    #[allow(clippy::unnecessary_cast)] // The type differs between architectures.
    let kind = stat.f_type as i64;
    asked == 0 && [EXT4, TMPFS].contains(&kind)
}

/// A new file in memory, or, where the kernel makes none, one whose name is gone.
pub(super) fn memory_file() -> io::Result<File> {
    // No process runs it as a program, which some systems want to be promised; older kernels do not
    // know the promise.
    in_memory(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL)
        .or_else(|_| in_memory(libc::MFD_CLOEXEC))
        .or_else(|_| super::plain::memory_file())
}

/// Not through the C library, which may be older than the kernel.
fn in_memory(flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name ends with a zero and outlives the call.
    let made = unsafe { libc::syscall(libc::SYS_memfd_create, c"huon".as_ptr(), flags) };
    match libc::c_int::try_from(made) {
        // SAFETY: the descriptor was made for this value alone.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Files without a name, which vanish with the process that makes them unless they get one.
pub(super) mod nameless {
    use std::ffi::CString;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::{Path, PathBuf};

    use crate::os::sys::descriptor::open_kept;

    /// One in the directory of `path`; `None` where there are none, or no way to give them a name.
    pub(in crate::os::sys) fn create(path: &Path) -> Option<File> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
        let file = open_kept(&options, directory.unwrap_or(Path::new("."))).ok()?;
        place(&file).exists().then_some(file)
    }

    /// The kernel's name of what a descriptor has open.
    fn place(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    pub(in crate::os::sys) fn link(file: &File, path: &Path) -> io::Result<()> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
        let (from, to) = (text(&place(file))?, text(path)?);
        let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: both are texts that end with a zero and outlive the call.
        let linked = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) };
        if linked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Access lists, as the kernel hands them out: it knows what they mean.
pub(super) mod access_list {
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    const NAME: &CStr = c"system.posix_acl_access";
    /// The longest that the kernel keeps.
    const BYTES_MAX: usize = 64 << 10;

    /// That of the file; `None` if it has none that goes beyond its mode.
    pub(in crate::os::sys) fn of(file: &File) -> Option<Vec<u8>> {
        let descriptor = file.as_raw_fd();
        // SAFETY: asks for the length only; `NAME` ends with a zero.
        let bytes = unsafe { libc::fgetxattr(descriptor, NAME.as_ptr(), std::ptr::null_mut(), 0) };
        let bytes = usize::try_from(bytes).ok().filter(|bytes| (1..=BYTES_MAX).contains(bytes))?;
        let mut list = vec![0u8; bytes];
        // SAFETY: the kernel writes at most `bytes` bytes into `list`, which has so many.
        let found =
            unsafe { libc::fgetxattr(descriptor, NAME.as_ptr(), list.as_mut_ptr().cast(), bytes) };
        list.truncate(usize::try_from(found).ok()?);
        Some(list)
    }

    pub(in crate::os::sys) fn set(file: &File, list: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads `list.len()` bytes of `list`; `NAME` ends with a zero.
        let set = unsafe {
            libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), list.as_ptr().cast(), list.len(), 0)
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

// ---- barriers

/// Commands of `membarrier`, of which the libc crate has no names here.
const BARRIER_QUERY: libc::c_int = 0;
const BARRIER: libc::c_int = 1 << 3;
const BARRIER_REGISTER: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Whether [`barrier`] can be had: this process says that it will ask for it, before it relies on
/// it. Android kills programs for calls that it does not know.
pub(super) fn has_barrier() -> bool {
    let wanted = libc::c_long::from(BARRIER | BARRIER_REGISTER);
    let known = || membarrier(BARRIER_QUERY);
    !cfg!(target_os = "android") && known() & wanted == wanted && membarrier(BARRIER_REGISTER) == 0
}

/// Has all threads of this process pass a full barrier.
pub(super) fn barrier() -> bool {
    // A process that was restored from a checkpoint has to say again that it asks.
    membarrier(BARRIER) == 0 || membarrier(BARRIER_REGISTER) == 0 && membarrier(BARRIER) == 0
}

// ---- forks

/// Makes the kernel zero whole pages of this process in children. If it refuses, only that is lost.
pub(super) fn wipe_in_children(pages: *mut libc::c_void, bytes: usize) {
    // SAFETY: the caller's pages are its own, and zeros are a value of what lies there.
    unsafe { libc::madvise(pages, bytes, libc::MADV_WIPEONFORK) };
}

/// Keeps this mapping from children.
pub(super) fn keep_from_children(pages: *mut libc::c_void, bytes: usize) -> io::Result<()> {
    // SAFETY: the mapping is the caller's, and nothing in this process changes.
    match unsafe { libc::madvise(pages, bytes, libc::MADV_DONTFORK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
