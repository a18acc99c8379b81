//! Locks that outlive their descriptor.
//!
//! The kernel drops an OFD lock with the last reference to its open file description, and a mapping
//! is such a reference. So a client that has a page of its lock file mapped through the locked
//! description keeps its byte when all descriptors are closed, as a daemon does: no other client
//! takes it for dead while it goes on.
//!
//! 1. Forked children do not inherit the page: they would keep the byte of a client that is gone.
//!    The memory at its address in a child is not ours.
//! 2. It is tried before it is relied on: a file system on top of another (overlayfs) maps the
//!    other one's file instead.

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use super::locks::{self, Hold, Way};
use super::memory::{self, Access};
use super::{fork, system};
use crate::planted::{self, Bug};

/// A page of a file that no code reads.
pub(crate) struct LockKeeper {
    base: NonNull<u8>,
    fork_generation: u32,
}

// SAFETY: an address that is only ever unmapped.
unsafe impl Send for LockKeeper {}
// SAFETY: as above.
unsafe impl Sync for LockKeeper {}

/// Any length does; the kernel rounds it up.
const BYTES: usize = 1;

impl LockKeeper {
    /// Keeps the locks of `file`. `another` is a description of the same file, on which it is tried
    /// with a lock of that kind on `byte`, which no other client uses. `None`: not possible here.
    pub(crate) fn new(
        file: &File,
        another: File,
        byte: i64,
        hold: Hold,
    ) -> io::Result<Option<LockKeeper>> {
        if !locks::change(&another, Way::Bytes, byte, hold)? {
            return Ok(None);
        }
        let trial = LockKeeper::map(&another)?;
        drop(another);
        let kept = !locks::is_free(file, byte)?;
        drop(trial);
        let ends = locks::is_free(file, byte)?;
        if kept && ends || planted::is(Bug::LockOutlivesDescriptor) {
            LockKeeper::map(file)
        } else {
            Ok(None)
        }
    }

    /// Keeps them where it is known to do so; `None`: the kernel has nothing of the kind.
    pub(crate) fn map(file: &File) -> io::Result<Option<LockKeeper>> {
        if !system::MAPS_KEEP_LOCKS {
            return Ok(None);
        }
        let base = memory::map_file(file, BYTES, Access::None)?;
        let keeper = LockKeeper { base, fork_generation: fork::generation() };
        system::keep_from_children(base.as_ptr().cast(), BYTES)?;
        Ok(Some(keeper))
    }
}

impl Drop for LockKeeper {
    fn drop(&mut self) {
        if !fork::is_inherited(self.fork_generation) {
            // SAFETY: the mapping is ours (invariant 1), and no code reads it.
            unsafe { memory::unmap(self.base, BYTES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::*;

    #[test]
    fn a_lock_lasts_as_long_as_the_page() {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        std::fs::write(&path, [0; 16]).unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (mine, other) = (open(), open());
        if !locks::is_free(&other, 7).is_ok_and(|free| free) {
            return skip("os::keeper::tests", "no OFD locks on this system");
        }
        assert!(locks::change(&mine, Way::Bytes, 7, Hold::Alone).unwrap());
        let Some(keeper) = LockKeeper::new(&mine, open(), 8, Hold::Alone).unwrap() else {
            return skip("os::keeper::tests", "no lock outlives its descriptor here");
        };
        assert!(locks::is_free(&other, 8).unwrap(), "the trial is over");
        drop(mine);
        assert!(!locks::is_free(&other, 7).unwrap());
        drop(keeper);
        assert!(locks::is_free(&other, 7).unwrap());

        assert!(locks::change(&other, Way::Bytes, 8, Hold::Alone).unwrap());
        assert!(
            LockKeeper::new(&open(), open(), 8, Hold::Alone).unwrap().is_none(),
            "the byte is held"
        );
    }

    /// As on a file system that maps another file than the one that is locked.
    #[test]
    fn a_lock_that_ends_with_its_descriptor_is_not_relied_on() {
        let scratch = ScratchDir::new();
        let open = |name| {
            let path = scratch.join(name);
            std::fs::write(&path, [0; 16]).unwrap();
            File::options().read(true).write(true).open(&path).unwrap()
        };
        let (mine, below) = (open("lock"), open("below"));
        if !locks::is_free(&mine, 8).is_ok_and(|free| free) {
            return skip("os::keeper::tests", "no OFD locks on this system");
        }
        assert!(LockKeeper::new(&mine, below, 8, Hold::Alone).unwrap().is_none());
        assert!(locks::is_free(&mine, 8).unwrap());
    }
}
