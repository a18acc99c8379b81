//! Files longer than 2 GiB, and bytes far past their end: the C library's calls with offsets of 64
//! bits. On 32-bit Linux with glibc the plain ones have 32, and cut off what is larger; but not on
//! x86-64 with addresses of 32 bits (x32), whose calls are those of 64 bits.

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "32",
    not(target_arch = "x86_64")
))]
mod calls {
    pub(in crate::os::sys) use libc::{
        fallocate64 as fallocate, flock64 as Flock, fstat64 as fstat, fstatfs64 as fstatfs,
        off64_t as Offset, posix_fadvise64 as posix_fadvise, pwritev64 as pwritev, stat64 as Stat,
        statfs64 as Statfs,
    };

    /// glibc's own `fcntl` takes the lock for one with offsets of 32 bits.
    ///
    /// # Safety
    /// As `fcntl`.
    pub(in crate::os::sys) unsafe fn fcntl_lock(
        descriptor: libc::c_int,
        command: libc::c_int,
        lock: *mut Flock,
    ) -> libc::c_int {
        // SAFETY: the caller's.
        unsafe { libc::syscall(libc::SYS_fcntl64, descriptor, command, lock) as libc::c_int }
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "32",
    not(target_arch = "x86_64")
)))]
mod calls {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(in crate::os::sys) use libc::{fallocate, fstatfs, posix_fadvise, statfs as Statfs};
    pub(in crate::os::sys) use libc::{fstat, off_t as Offset, pwritev, stat as Stat};

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(in crate::os::sys) use libc::flock as Flock;

    /// # Safety
    /// As `fcntl`.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(in crate::os::sys) unsafe fn fcntl_lock(
        descriptor: libc::c_int,
        command: libc::c_int,
        lock: *mut Flock,
    ) -> libc::c_int {
        // SAFETY: the caller's.
        unsafe { libc::fcntl(descriptor, command, lock) }
    }
}

pub(in crate::os::sys) use calls::*;

const _: () = assert!(size_of::<Offset>() == 8, "bytes are locked far past 2 GiB");
