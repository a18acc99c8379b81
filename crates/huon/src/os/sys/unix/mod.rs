//! Unix systems: what they have in common, and a module for each kind of them.

pub(crate) mod barrier;
pub(crate) mod beside;
pub(crate) mod clock;
pub(crate) mod descriptor;
pub(crate) mod errors;
pub(crate) mod files;
pub(crate) mod fork;
pub(crate) mod keeper;
pub(crate) mod locks;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod quiet;
pub(crate) mod size_limit;
pub(crate) mod thread;
pub(crate) mod wait;

#[allow(dead_code, reason = "each system takes what it lacks")]
mod plain;
mod wide;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod group_limit;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod ofd;
#[cfg(any(target_os = "linux", target_os = "android"))]
use linux as system;

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(target_vendor = "apple")]
use apple as system;

#[cfg(any(target_os = "freebsd", target_os = "dragonfly", target_os = "netbsd"))]
mod bsd;
#[cfg(any(target_os = "freebsd", target_os = "dragonfly", target_os = "netbsd"))]
use bsd as system;

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly",
    target_os = "netbsd"
)))]
mod other;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly",
    target_os = "netbsd"
)))]
use other as system;

#[cfg(target_os = "openbsd")]
compile_error!(
    "OpenBSD shows what is written to a file in a mapping of it only after msync, and Huon reads \
     through a mapping: it would give old pages, so it is not built"
);

#[cfg(all(target_os = "android", target_pointer_width = "32"))]
compile_error!(
    "the C library of 32-bit Android has offsets of 32 bits, and Huon locks bytes far past them: \
     use a 64-bit target"
);

#[cfg(target_os = "solaris")]
compile_error!(
    "Solaris has neither `flock` nor `pwritev` in the libc crate, and Huon needs a lock that \
     belongs to an open file: use illumos"
);

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "illumos",
    target_os = "solaris"
)))]
compile_error!("Huon does not know this Unix: see `os::sys` for what a system must have");
