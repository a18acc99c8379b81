//! A disk that is full: a small tmpfs of its own, on which a workload finds so many free pages and
//! not one more; and files that the kernel lets grow so far and not further, which cuts writes
//! short. Here the kernel itself refuses, not a stand-in for it.
//!
//! Data file and lock file share the space. What is refused must be an error, never SIGBUS; once
//! there is space again, everything that was promised is there.
//!
//! Each test runs this binary again: a mount and a limit are for a process of their own.

use std::cell::Cell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use huon::{Env, Options};
use huon_testkit::faults::real::{Files, Trigger};
use huon_testkit::faults::workloads;
use huon_testkit::faults::{Manner, Run, Switch, SystemErrors};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::scale;

/// In a child: the directory to work in.
const PLACE: &str = "HUON_FULL_PLACE";
const PAGE_BYTES: usize = 4096;
const DISK_BYTES: u64 = 64 << 20;

/// A way to run out of space, and to learn how much there is to run out of.
trait Scarce: Trigger {
    /// `None`: there is space for everything.
    fn at(place: &Path, level: Option<u64>) -> Self;
    /// The first level at which nothing is refused any more, after a run with space for everything.
    fn levels(&self) -> u64;
}

fn options() -> Options {
    let mut options = Env::options();
    options
        .page_bytes(PAGE_BYTES)
        .max_bytes(32 << 20)
        .grow_bytes(4 * PAGE_BYTES as u64)
        .shrink_bytes(8 * PAGE_BYTES as u64)
        .write_buffer_bytes(8 * PAGE_BYTES);
    options
}

/// Runs a workload at a level; how many levels there are, and what was refused.
fn run<S: Scarce>(place: &Path, workload: usize, level: Option<u64>) -> (u64, SystemErrors) {
    let workload = &workloads::ALL[workload];
    let manner = Manner::of(level.unwrap_or(0));
    let files = Files::within(place, S::at(place, level));
    let mut run = Run::new(&files, PAGE_BYTES, &options());
    let ran = catch_unwind(AssertUnwindSafe(|| run.whole(workload, manner)));
    files.arm(false);
    if let Err(panic) = ran {
        let (what, errors) = (panic_text(&*panic), run.errors());
        panic!("{}/level {level:?}/{manner}: {what}\nerrors: {errors:#?}", workload.name);
    }
    (files.trigger().levels(), run.system_errors().clone())
}

/// Runs all workloads at all levels, or a part of them, and notes how often something was refused.
fn run_all<S: Scarce>(place: &Path, name: &str, expected: &[(&'static str, i32)]) {
    let mut all = Vec::new();
    for workload in 0..workloads::ALL.len() {
        let (levels, errors) = run::<S>(place, workload, None);
        assert!(errors.is_empty(), "there is space for everything: {errors:?}");
        all.extend((0..levels).map(|level| (workload, level)));
    }
    let count = all.len() as u64;
    let step = count.div_ceil(scale::share(count)).max(1);
    let first = scale::seed("full", 0) % step;
    let (mut refused, mut met) = (0, SystemErrors::new());
    for (workload, level) in all.into_iter().skip(first as usize).step_by(step as usize) {
        let (_, errors) = run::<S>(place, workload, Some(level));
        refused += u64::from(!errors.is_empty());
        errors.iter().for_each(|(what, times)| *met.entry(*what).or_default() += times);
    }
    for what in expected {
        let was_refused = met.contains_key(what) || !scale::has_minimums();
        assert!(was_refused, "{what:?} was never refused: {met:?}");
    }
    let mut text = "| call | error | times |\n|---|---|---|\n".to_string();
    for ((operation, number), times) in &met {
        let error = std::io::Error::from_raw_os_error(*number);
        text += &format!("| {operation} | {error} | {times} |\n");
    }
    figures::table(&format!("what {name} refused"), &text);
    figures::named(&format!("faults.{}", name.replace(' ', "_")), refused);
    figures::add("fault", refused);
}

/// A tmpfs whose size is what is used and so many pages more.
struct SmallDisk {
    place: PathBuf,
    armed: Cell<bool>,
    left: Cell<Option<i64>>,
    used: Cell<i64>,
    needed: Cell<i64>,
    fired: Cell<u64>,
}

impl SmallDisk {
    /// Pages in use.
    fn used(&self) -> i64 {
        let path = CString::new(self.place.as_os_str().as_bytes()).unwrap();
        // SAFETY: a plain structure that the call fills in, and a string that ends with a zero.
        let stat = unsafe {
            let mut stat: libc::statvfs = std::mem::zeroed();
            assert_eq!(libc::statvfs(path.as_ptr(), &raw mut stat), 0);
            stat
        };
        assert_eq!(stat.f_frsize as usize, PAGE_BYTES);
        (stat.f_blocks - stat.f_bfree) as i64
    }

    fn resize(&self, bytes: u64) {
        mount(&self.place, bytes, libc::MS_REMOUNT);
    }
}

fn mount(place: &Path, bytes: u64, flags: libc::c_ulong) {
    let path = CString::new(place.as_os_str().as_bytes()).unwrap();
    let size = CString::new(format!("size={bytes}")).unwrap();
    // SAFETY: strings that end with a zero; the call keeps none of them.
    let mounted = unsafe {
        let (none, kind) = (c"none".as_ptr(), c"tmpfs".as_ptr());
        libc::mount(none, path.as_ptr(), kind, flags, size.as_ptr().cast())
    };
    assert_eq!(mounted, 0, "mount: {}", std::io::Error::last_os_error());
}

impl Trigger for SmallDisk {
    fn arm(&self, on: bool) {
        if self.armed.replace(on) == on {
            return;
        }
        let used = self.used();
        if on {
            self.used.set(used);
            if let Some(left) = self.left.get() {
                self.fired.set(self.fired.get() + 1);
                // Size 0 would be no limit at all.
                self.resize((used + left).max(1) as u64 * PAGE_BYTES as u64);
            }
        } else {
            let more = used - self.used.get();
            self.needed.set(self.needed.get() + more.max(0));
            if let Some(left) = self.left.get() {
                self.left.set(Some((left - more).max(0)));
                self.resize(DISK_BYTES);
            }
        }
    }

    /// How often it could have run out.
    fn fired(&self) -> u64 {
        self.fired.get()
    }

    fn reads_fail(&self) -> bool {
        true
    }
}

impl Scarce for SmallDisk {
    fn at(place: &Path, level: Option<u64>) -> SmallDisk {
        SmallDisk {
            place: place.to_owned(),
            armed: Cell::new(false),
            left: Cell::new(level.map(|level| level as i64)),
            used: Cell::new(0),
            needed: Cell::new(0),
            fired: Cell::new(0),
        }
    }

    fn levels(&self) -> u64 {
        self.needed.get() as u64
    }
}

/// No file may grow past a limit; a write that would is cut short, and refused where none of it
/// lies below.
struct SmallFiles {
    place: PathBuf,
    armed: Cell<bool>,
    limit: Option<u64>,
    longest: Cell<u64>,
    fired: Cell<u64>,
}

/// Levels of the limit are so far apart, and none is where a page ends.
const LIMIT_STEP: u64 = 4000;

impl Trigger for SmallFiles {
    fn arm(&self, on: bool) {
        if self.armed.replace(on) == on {
            return;
        }
        if let Some(limit) = self.limit {
            self.fired.set(self.fired.get() + u64::from(on));
            set_limit(if on { limit } else { libc::RLIM_INFINITY });
        } else if !on {
            self.longest.set(self.longest.get().max(longest_file(&self.place)));
        }
    }

    /// How often it could have been met.
    fn fired(&self) -> u64 {
        self.fired.get()
    }

    fn reads_fail(&self) -> bool {
        true
    }
}

impl Scarce for SmallFiles {
    fn at(place: &Path, level: Option<u64>) -> SmallFiles {
        SmallFiles {
            place: place.to_owned(),
            armed: Cell::new(false),
            limit: level.map(|level| level * LIMIT_STEP),
            longest: Cell::new(0),
            fired: Cell::new(0),
        }
    }

    fn levels(&self) -> u64 {
        self.longest.get().div_ceil(LIMIT_STEP)
    }
}

fn set_limit(bytes: libc::rlim_t) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is the call's own, for as long as it runs.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

/// How long the longest file in the directories below `place` is.
fn longest_file(place: &Path) -> u64 {
    let directories = std::fs::read_dir(place).unwrap();
    let files = directories.flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
    files.map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap_or(0)
}

/// Runs the test `name` of this binary once more, with a directory to work in, under `program`.
fn child(name: &str, program: &[&str], place: &Path) -> std::process::Output {
    let exe = std::env::current_exe().unwrap();
    let words = program.iter().map(std::ffi::OsStr::new).chain([exe.as_os_str()]);
    let words: Vec<_> = words.collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PLACE, place).output().unwrap()
}

fn ended_well(child: &std::process::Output) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&child.stdout), text(&child.stderr));
    assert!(child.status.success(), "{}\n{out}\n{err}", child.status);
}

/// Commands that give a program mounts of its own, the one that needs no root first.
const OWN_MOUNTS: [&[&str]; 2] = [&["unshare", "-Urm", "--"], &["unshare", "-m", "--"]];

#[test]
fn every_page_of_a_small_disk_is_the_last_one() {
    const NAME: &str = "full::every_page_of_a_small_disk_is_the_last_one";
    if let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) {
        mount(&place, DISK_BYTES, 0);
        let calls = ["grow", "grow the lock file"].map(|call| (call, libc::ENOSPC));
        return run_all::<SmallDisk>(&place, "a small disk", &calls);
    }
    let place = tempfile::tempdir().unwrap();
    let can_mount = |program: &&&[&str]| {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(["mount", "-t", "tmpfs", "none"]).arg(place.path());
        command.output().is_ok_and(|ran| ran.status.success())
    };
    match OWN_MOUNTS.iter().find(can_mount) {
        Some(program) => ended_well(&child(NAME, program, place.path())),
        None => figures::skip(NAME, "no tmpfs can be mounted in a namespace of its own"),
    }
}

#[test]
fn every_length_of_a_file_is_the_last_one() {
    const NAME: &str = "full::every_length_of_a_file_is_the_last_one";
    if let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) {
        // SAFETY: without the signal the refused call gives an error, here and nowhere else.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let calls = ["grow", "grow the lock file", "write"].map(|call| (call, libc::EFBIG));
        return run_all::<SmallFiles>(&place, "a limit to files", &calls);
    }
    let memory = Path::new("/dev/shm");
    let place = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
    ended_well(&child(NAME, &[], place.path()));
}
