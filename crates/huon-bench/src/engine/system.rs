//! What the drivers of the distribution's libraries share.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;

/// Version of the library that a function is in, for those that do not say it themselves: what
/// stands behind `.so.` in the name of its file, links followed.
pub(super) fn library_version(function: *const c_void) -> String {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the loader only compares the address with those of what it has loaded.
    let known = unsafe { libc::dladdr(function, &mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return "unknown".to_string();
    }
    // SAFETY: the loader keeps the name, which ends with a zero byte, as long as the library.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).unwrap_or_default();
    let name = path.to_string_lossy();
    name.rsplit_once(".so.").map_or("unknown", |(_, version)| version).to_string()
}
