//! What tests of other layers do to processes: fork them, limit them, close their descriptors, and
//! look at their files.

use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::limit;

pub(crate) use std::os::unix::fs::symlink;

/// A forked process; it is killed when the test is done with it, also by a failure.
pub(crate) struct Child(i32);

impl Child {
    pub(crate) fn pid(&self) -> i32 {
        self.0
    }

    pub(crate) fn kill(self) {}

    /// Waits for its end; whether it was a good one.
    pub(crate) fn wait(self) -> bool {
        let good = self.status() == 0;
        std::mem::forget(self);
        good
    }

    fn status(&self) -> i32 {
        let mut status = 0;
        // SAFETY: the pid is that of our own child, `status` is a valid place.
        assert_eq!(unsafe { libc::waitpid(self.0, &mut status, 0) }, self.0);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the pid is that of our own child, which was not waited for yet.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        self.status();
    }
}

/// Runs `body` in a forked process.
pub(crate) fn fork_and(body: impl FnOnce()) -> Child {
    // SAFETY: the calling process has no other thread that holds a lock the body needs.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork");
    if pid == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
        // SAFETY: ends the process at once, without running what the parent has set up.
        unsafe { libc::_exit(if good { 0 } else { 101 }) };
    }
    Child(pid)
}

/// Runs `body` in a forked process, up to the point where it calls what it is given.
pub(crate) fn fork_until(body: impl FnOnce(&mut dyn FnMut())) -> Child {
    let (mut ready, mut done) = std::io::pipe().unwrap();
    let child = fork_and(|| body(&mut || done.write_all(b"!").unwrap()));
    drop(done);
    ready.read_exact(&mut [0]).expect("the process got that far");
    child
}

/// Limits how long files of this process may become, without a signal beyond that.
pub(crate) fn limit_files(bytes: u64) {
    // SAFETY: ignoring a signal; nothing runs on it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    limit(libc::RLIMIT_FSIZE, bytes);
}

/// Limits the addresses of this process.
pub(crate) fn limit_addresses(bytes: u64) {
    limit(libc::RLIMIT_AS, bytes);
}

/// Closes descriptors of a process that runs nothing else, and is prepared for it.
pub(crate) fn close(descriptors: impl IntoIterator<Item = i32>) {
    for descriptor in descriptors {
        // SAFETY: the caller's process is prepared for it.
        unsafe { libc::close(descriptor) };
    }
}

/// Does `work` while the standard streams are closed, in a process that runs nothing else; and
/// which of them were open at the end of it.
pub(crate) fn without_streams<R>(work: impl FnOnce() -> R) -> (R, [bool; 3]) {
    // SAFETY: the call only makes duplicates, to be put back below.
    let kept = [0, 1, 2].map(|stream| unsafe { libc::fcntl(stream, libc::F_DUPFD, 10) });
    close(0..3);
    let result = work();
    // SAFETY: the call only asks.
    let open = [0, 1, 2].map(|stream| unsafe { libc::fcntl(stream, libc::F_GETFD) } != -1);
    for (stream, kept) in (0..).zip(kept) {
        // SAFETY: both are descriptors of this process, and nothing else uses them.
        unsafe { libc::dup2(kept, stream) };
    }
    (result, open)
}

/// The permission bits of a file.
pub(crate) fn mode_of(stat: &Metadata) -> u32 {
    stat.permissions().mode() & 0o777
}

/// How many bytes of the file have blocks under them.
pub(crate) fn block_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("a file").blocks() * 512
}
