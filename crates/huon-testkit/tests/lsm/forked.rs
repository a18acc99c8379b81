//! Forked children that go on with the LSM tables of their parent, whatever its other threads were
//! doing at that moment. Each of these runs in a process of its own, which forks.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use huon::{Durability, Env, Error, Result, U64};
use huon_lsm::{CompactorThread, Lsm, LsmDef, LsmOptions, LsmTable};
use huon_testkit::figures;

const DIR: &str = "HUON_LSM_FORKED";

/// A child that hangs is ended after so many seconds.
const SECONDS_MAX: u32 = 20;

/// An operand with which the operator stands still in the parent.
const STANDS: u64 = 1 << 32;
static PARENT: AtomicU32 = AtomicU32::new(0);
/// Threads that stand there, and whether they go on.
static STANDING: AtomicU64 = AtomicU64::new(0);
static GO_ON: AtomicBool = AtomicBool::new(false);

fn sum(a: u64, b: u64) -> u64 {
    if b == STANDS && std::process::id() == PARENT.load(Ordering::Relaxed) {
        STANDING.fetch_add(1, Ordering::Relaxed);
        while !GO_ON.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    a.wrapping_add(b)
}

/// Runs the rest of a test in another process, in a new directory. `false`: this is that one.
fn elsewhere(test: &str) -> bool {
    if std::env::var_os(DIR).is_some() {
        PARENT.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: a signal ends it if it hangs.
        unsafe { libc::alarm(3 * SECONDS_MAX) };
        return false;
    }
    let dir = tempfile::tempdir().unwrap();
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new(exe);
    command.args([&format!("forked::{test}"), "--exact", "--nocapture"]).env(DIR, dir.path());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    true
}

struct World {
    env: Env,
    lsm: Lsm,
    table: LsmTable<U64, U64>,
}

fn sums() -> LsmDef<U64, U64> {
    LsmDef::new("t").merged_by("sum", |a, b, both| both.set(sum(a, b)))
}

impl World {
    /// Nothing is merged but by compactors.
    fn open() -> World {
        let dir = std::env::var_os(DIR).unwrap();
        let path = Path::new(&dir).join("a.huon");
        let env = Env::options().durability(Durability::Lazy).open(path).unwrap();
        let options = LsmOptions { slack: 1000, runs_max: 2000, small: 2, ..LsmOptions::default() };
        let lsm = Lsm::with_options(&env, options).unwrap();
        let table = lsm.table(&sums()).unwrap();
        World { env, lsm, table }
    }

    /// Merges operands onto a key in a batch.
    fn write(&self, key: u64, operands: &[u64]) -> Result<u64> {
        let mut batch = self.lsm.batch();
        operands.iter().try_for_each(|operand| batch.merge(&self.table, key, *operand))?;
        self.lsm.write(batch)
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.table.get(&self.env.read().unwrap(), key).unwrap()
    }
}

/// Forks; the child ends with 0 if `deed` returns.
fn fork(deed: impl FnOnce()) -> i32 {
    // SAFETY: the child calls libraries and leaves without unwinding past this.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a signal ends it if it hangs.
            unsafe { libc::alarm(SECONDS_MAX) };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(deed));
            // SAFETY: leaves at once.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        pid => pid,
    }
}

/// Waits for a child; whether it has ended well.
fn join(pid: i32) -> bool {
    let mut status = -1;
    // SAFETY: waits for a child of this process.
    let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
    (waited, status) == (pid, 0)
}

#[test]
fn a_child_goes_on_while_its_parent_leads_waits_and_merges() {
    if elsewhere("a_child_goes_on_while_its_parent_leads_waits_and_merges") {
        return figures::add("exhaustive", 1);
    }
    let world = &World::open();
    world.env.update(|txn| (0..9).try_for_each(|key| world.table.put(txn, key, 100))).unwrap();
    world.env.update(|txn| (5..8).try_for_each(|key| world.table.merge(txn, key, 1))).unwrap();
    world.env.update(|txn| (6..9).try_for_each(|key| world.table.merge(txn, key, STANDS))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| world.write(1, &[1, STANDS]).unwrap());
        scope.spawn(|| world.lsm.compactor().merge_all().unwrap());
        while STANDING.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        // It waits for the leader, at most a moment after it was started.
        scope.spawn(|| world.write(2, &[1]).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        let child = fork(|| {
            world.write(3, &[1]).unwrap();
            assert_eq!(
                (world.get(1), world.get(2), world.get(3)),
                (Some(100), Some(100), Some(101))
            );
            // Another handle, and one of another table.
            let again = world.lsm.table(&sums()).unwrap();
            world.env.update(|txn| again.put(txn, 4, 7)).unwrap();
            let other = world.lsm.raw_table("other").unwrap();
            world.env.update(|txn| other.put(txn, b"key", b"value")).unwrap();
            assert!(world.lsm.compactor().merge_all().unwrap() > 0, "no thread of it merges");
            let txn = world.env.read().unwrap();
            assert_eq!(world.table.stat(&txn).unwrap().runs(), 1);
            assert_eq!(world.table.check(&txn).unwrap().problems, Vec::<String>::new());
        });
        let ended_well = join(child);
        GO_ON.store(true, Ordering::Relaxed);
        assert!(ended_well);
    });
    // Each batch was written once, by the process whose it is.
    let wanted = [100, 101 + STANDS, 101, 101, 7, 101, 101 + STANDS, 101 + STANDS, 100 + STANDS];
    for (key, wanted) in (0..).zip(wanted) {
        assert_eq!(world.get(key), Some(wanted), "{key}");
    }
    assert!(world.env.check().unwrap().is_clean());
}

#[test]
fn children_forked_beside_busy_threads_go_on() {
    if elsewhere("children_forked_beside_busy_threads_go_on") {
        return figures::add("exhaustive", 1);
    }
    let world = &World::open();
    let (is_over, forks) = (&AtomicBool::new(false), 60);
    let written: u64 = std::thread::scope(|scope| {
        let busy = [0, 1].map(|key| {
            scope.spawn(move || {
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    world.write(key, &[1]).unwrap();
                    world.lsm.raw_table(format!("other {}", count % 50)).unwrap();
                    count += 1;
                }
                count
            })
        });
        let merging = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                world.lsm.compactor().merge_all().unwrap();
            }
        });
        let child = |n| {
            join(fork(|| {
                world.write(2, &[1]).unwrap();
                world.lsm.raw_table(format!("child {n}")).unwrap();
                assert_eq!(world.get(2), Some(n + 1));
                world.lsm.compactor().run_once().unwrap();
            }))
        };
        let failed = (0..forks).find(|n| !child(*n));
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(failed, None);
        merging.join().unwrap();
        busy.map(|thread| thread.join().unwrap()).iter().sum()
    });
    let got = [0, 1, 2].map(|key| world.get(key).unwrap_or(0));
    assert_eq!((got[0] + got[1], got[2]), (written, forks));
    let txn = world.env.read().unwrap();
    assert_eq!(world.table.check(&txn).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_child_has_no_threads_that_merge() {
    if elsewhere("a_child_has_no_threads_that_merge") {
        return figures::add("exhaustive", 1);
    }
    let world = &World::open();
    static THREADS: OnceLock<std::sync::Mutex<Vec<CompactorThread>>> = OnceLock::new();
    let spawn = || world.lsm.compactor().spawn().unwrap();
    let threads = THREADS.get_or_init(|| vec![spawn(), spawn()].into());
    let take = || threads.lock().unwrap().pop().unwrap();
    world.write(1, &[1]).unwrap();
    let child = fork(|| {
        let stopped = take();
        assert!(stopped.has_failed());
        assert!(matches!(stopped.stop(), Err(Error::Forked)));
        drop(take());
        // It can have its own.
        let own = spawn();
        world.write(1, &[1]).unwrap();
        own.stop().unwrap();
    });
    assert!(join(child));
    let (one, two) = (take(), take());
    assert!(!one.has_failed() && !two.has_failed());
    one.stop().unwrap();
    two.stop().unwrap();
    assert_eq!(world.get(1), Some(2));
}

#[test]
fn a_thread_that_the_system_does_not_start_is_its_error() {
    if elsewhere("a_thread_that_the_system_does_not_start_is_its_error") {
        return figures::add("exhaustive", 1);
    }
    let compactor = World::open().lsm.compactor();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: there is room for the limits.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) }, 0);
    let none = libc::rlimit { rlim_cur: 1, ..limit };
    // SAFETY: changes what this process can have; nothing is mapped from now on, as a stack is.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &none) }, 0);
    let spawned = compactor.spawn();
    // SAFETY: as above, back to what it was.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    assert!(matches!(spawned, Err(Error::Io(_))), "{spawned:?}");
}
