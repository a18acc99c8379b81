//! Replacements for functions that a system does not have.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::os::word::{Ordering, Word};
use crate::os::{Wake, unique_number};

/// Sleeps for a moment; no wake ends it.
pub(super) fn wait(word: &Word, expected: u64, timeout: Duration, _: u32) {
    if word.load(Ordering::Relaxed) as u32 == expected as u32 {
        std::thread::sleep(timeout.min(Duration::from_millis(1)));
    }
}

/// Sleepers look again by themselves: as far as can be told there is one.
pub(super) fn wake(_: &Word, _: Wake) -> bool {
    true
}

/// A number that no other thread of the process has.
pub(super) fn thread_id() -> u32 {
    use std::sync::atomic::AtomicU32;
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Boots cannot be told from each other.
pub(super) fn boot_id() -> [u8; 16] {
    [0; 16]
}

/// How often this process had to wait for a page from the disk.
pub(super) fn disk_waits() -> i64 {
    super::machine::waits_of(libc::RUSAGE_SELF)
}

/// Nothing limits the memory of this process below that of the machine, as far as can be told.
pub(super) fn memory_limit() -> Option<u64> {
    None
}

/// No blocks can be allocated ahead.
pub(super) fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

pub(super) fn flush(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(super) fn start_writing(_: &File) {}

/// There is no flag for that.
pub(super) const PAST_CACHE: libc::c_int = 0;

pub(super) fn forget_cache(_: &File) {}

/// No file system is known to be steady.
pub(super) fn is_steady(_: &File) -> bool {
    false
}

/// A file of the directory for temporary ones that loses its name as soon as it has it. (A process
/// that is killed in between leaves it behind, empty.)
pub(super) fn memory_file() -> io::Result<File> {
    let name = format!("huon-memory-{}-{}", std::process::id(), unique_number());
    let path = std::env::temp_dir().join(name);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// No locks on bytes.
#[cfg(not(target_vendor = "apple"))]
pub(super) mod no_ofd {
    use std::fs::File;
    use std::io;
    use std::ops::RangeInclusive;

    use crate::os::sys::locks::{Hold, OfdCall};

    pub(in crate::os::sys) fn ofd(
        _: &File,
        _: OfdCall,
        _: Hold,
        _: RangeInclusive<i64>,
    ) -> io::Result<Option<RangeInclusive<i64>>> {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }
}

/// No files without a name.
pub(super) mod nameless {
    use super::*;

    pub(in crate::os::sys) fn create(_: &Path) -> Option<File> {
        None
    }

    pub(in crate::os::sys) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

/// No access lists that are handed on.
pub(super) mod access_list {
    use super::*;

    pub(in crate::os::sys) fn of(_: &File) -> Option<Vec<u8>> {
        None
    }

    pub(in crate::os::sys) fn set(_: &File, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Children cannot be given zeros instead of a page.
pub(super) fn wipe_in_children(_: *mut libc::c_void, _: usize) {}

/// A mapping keeps no lock alive, so there is none to keep from children.
pub(super) fn keep_from_children(_: *mut libc::c_void, _: usize) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Threads pass barriers of their own only.
pub(super) fn has_barrier() -> bool {
    false
}

pub(super) fn barrier() -> bool {
    false
}

/// Random bytes.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the buffer has the length that is passed with it.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use crate::os::sys::files::{read_exact_at, write_all_at};

    #[test]
    fn a_file_without_a_name_is_one_like_others() {
        let file = super::memory_file().unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        write_all_at(&file, b"kept", 5000).unwrap();
        let mut found = [0; 4];
        read_exact_at(&file, &mut found, 5000).unwrap();
        assert_eq!(&found, b"kept");
    }
}
