//! Helpers of this layer's tests: scratch directories, and child processes.

#[cfg(not(any(loom, shuttle)))]
pub(crate) mod process;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Codes of errors that the kernel may give: those of a full disk, of a quota, of a medium that is
/// not to be written, and of a broken device.
pub(crate) use libc::{EDQUOT, EIO, ENOSPC, EROFS};

/// Set in a child: the full name of the test whose body it runs.
const CHILD: &str = "HUON_TEST_CHILD";
/// The way to lock: see `locks::way_of`.
const LOCKS: &str = "HUON_LOCKS";
/// How to wait: see `sys::wait`.
const WAIT: &str = "HUON_WAIT";

/// A directory that is removed, with all that is in it, when it is dropped.
pub(crate) struct ScratchDir(PathBuf);

impl ScratchDir {
    pub(crate) fn new() -> ScratchDir {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("huon-os-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a scratch directory");
        ScratchDir(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether this process is a child that runs the test of that name.
pub(crate) fn is_child(test: &str) -> bool {
    std::env::var_os(CHILD).is_some_and(|name| name == test)
}

/// The arguments that make this test binary run one test (its name begins with the crate's) and no
/// other.
pub(crate) fn child_command(mut command: Command, test: &str) -> Command {
    let short = test.split_once("::").map_or(test, |(_, rest)| rest);
    command.args([short, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, test);
    command
}

/// Runs `body` in a child process, so that limits and signals of the whole process can be changed
/// in it.
///
/// `test` is the full name of the calling test, crate and all: the child is this binary, told to
/// run only that.
pub(crate) fn in_child(test: &str, body: impl FnOnce()) {
    in_children(test, &[("", "")], body);
}

/// The same in two children: one as the kernel has it, the other as on one that locks whole files
/// only (P6) and has no sleeping on a word.
pub(crate) fn in_both_ways(test: &str, body: impl FnOnce()) {
    in_children(test, &[("", ""), ("files", "poll")], body);
}

/// The same in three: in the third, wakes know no marks.
pub(crate) fn in_all_ways(test: &str, body: impl FnOnce()) {
    in_children(test, &[("", ""), ("files", "poll"), ("", "all")], body);
}

fn in_children(test: &str, ways: &[(&str, &str)], body: impl FnOnce()) {
    if is_child(test) {
        body();
        // The parent looks for this: a name that matches no test would succeed as well.
        println!("child of {test} is done");
        return;
    }
    let exe = std::env::current_exe().expect("this test binary has a path");
    for (locks, wait) in ways {
        let mut command = child_command(Command::new(&exe), test);
        let output = command.env(LOCKS, locks).env(WAIT, wait).output().expect("a child process");
        let text = String::from_utf8_lossy(&output.stdout);
        let done = text.contains(&format!("child of {test} is done"));
        let errors = String::from_utf8_lossy(&output.stderr);
        let good = output.status.success() && done;
        assert!(good, "locks {locks:?}, waits {wait:?}: {}\n{text}\n{errors}", output.status);
    }
}

/// Sets a limit of this process, soft and hard.
pub(crate) fn limit(resource: libc::__rlimit_resource_t, value: u64) {
    let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    // SAFETY: `limit` is valid and outlives the call.
    assert_eq!(unsafe { libc::setrlimit64(resource, &limit) }, 0, "setrlimit");
}

/// Notes for the summary of the test run why a test could not do its work here.
pub(crate) fn skip(test: &str, reason: &str) {
    use std::io::Write;
    println!("skip {test}: {reason}");
    if let Some(path) = std::env::var_os("HUON_FIGURES") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "skip {test}: {reason}"));
    }
}
