//! Forked children that go on with the environment of their parent, whatever other threads of the
//! parent were doing at that moment.
//!
//! Each of these runs in a process of its own, which forks the parent, which forks the child. All
//! of them say what went wrong by how they end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use huon::sim::{Point, on_points};
use huon::{Durability, Env, Error};
use huon_testkit::figures;

use super::child::{self, Child};
use super::followers::follow;
use super::{Place, assert_clean, def, small};

/// The point at which the worker stops; none: no point's number.
static STOP_AT: AtomicU32 = AtomicU32::new(u32::MAX);
/// How often it passes that point before.
static SKIP: AtomicU32 = AtomicU32::new(0);
static STOPPED: AtomicBool = AtomicBool::new(false);
static GO_ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_WORKER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// How long the worker waits where it must not for ever, as the fork may wait for it.
const SHORT: Duration = Duration::from_millis(20);
pub(super) const LONG: Duration = Duration::from_secs(20);
/// How a process ends that never came to where it was to stop.
const NO_SUCH_STEP: i32 = 77;
/// A child that hangs is ended after so many seconds.
const SECONDS_MAX: u32 = 30;

fn stop_there(point: Point) {
    if !IS_WORKER.get() || STOP_AT.load(Ordering::Acquire) != point as u32 {
        return;
    }
    if SKIP.load(Ordering::Acquire) > 0 {
        SKIP.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    STOP_AT.store(u32::MAX, Ordering::Release);
    STOPPED.store(true, Ordering::Release);
    // There the fork waits for the worker.
    let timeout = if point == Point::FileOpened { SHORT } else { LONG };
    wait_for(&GO_ON, timeout);
}

fn wait_for(flag: &AtomicBool, timeout: Duration) -> bool {
    let start = Instant::now();
    while !flag.load(Ordering::Acquire) {
        if start.elapsed() > timeout {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

/// A forked process; what it returns is how it ends: 0 if all was well.
pub(super) fn forked(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls this library and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: ends a process that hangs.
        unsafe { libc::alarm(SECONDS_MAX) };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(99);
        // SAFETY: leaves at once.
        unsafe { libc::_exit(ended) };
    }
    pid
}

/// How a process ended: 0 if well, 200 and more by a signal.
pub(super) fn end_of(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 200 + libc::WTERMSIG(status) }
}

/// Runs a test's body in a process of its own.
pub(super) fn apart(test: &str, body: impl FnOnce(&Path)) {
    if child::part().is_some() {
        body(Path::new(&child::path()));
        return child::say("done");
    }
    let place = Place::new();
    let mut child = Child::start(test, "heirs", place.dir());
    assert_eq!(child.hear(), "done");
    child.finish();
}

pub(super) const RECORDS: u8 = 150;

pub(super) fn fill(env: &Env) -> huon::Result<()> {
    env.update(|txn| {
        let t = txn.create_table(&def())?;
        (0..RECORDS).try_for_each(|n| t.put(txn, &[n], &[n; 70]).map(drop))
    })
}

/// Whether everything is there that was there at first.
pub(super) fn is_whole(env: &Env) -> Result<bool, Error> {
    env.view(|txn| {
        let t = txn.open_table(&def())?.ok_or(Error::TableNotFound)?;
        for n in 0..RECORDS {
            if t.get(txn, &[n])? != Some(&[n; 70][..]) {
                return Ok(false);
            }
        }
        let count = t.iter(txn)?.try_fold(0_u64, |count, record| record.map(|_| count + 1))?;
        Ok(count >= RECORDS.into())
    })
}

pub(super) fn put(env: &Env, key: &[u8], durability: Durability) -> huon::Result<()> {
    let mut txn = env.write_within(LONG)?;
    txn.create_table(&def())?.put(&mut txn, key, &[7; 300])?;
    txn.commit_with(durability).map(drop)
}

pub(super) fn has(env: &Env, key: &[u8]) -> bool {
    let there = env.view(|txn| txn.open_table(&def())?.expect("it is there").contains(txn, key));
    there.unwrap()
}

/// A durable commit that the journal holds: its value is no large one.
fn put_recorded(env: &Env, key: &[u8]) -> huon::Result<()> {
    let mut txn = env.write_within(LONG)?;
    txn.create_table(&def())?.put(&mut txn, key, &[7; 30])?;
    txn.commit_with(Durability::Durable).map(drop)
}

fn with_journal() -> huon::Options {
    small().journal(64 << 10).clone()
}

/// A file beside `dirty` whose newest commits are in its journal.
fn journaled(dirty: &Path) -> PathBuf {
    dirty.with_extension("journaled")
}

fn leave_a_journal(dirty: &Path) {
    let path = journaled(dirty);
    let env = with_journal().open(&path).unwrap();
    fill(&env).unwrap();
    // The first one begins the journal.
    put_recorded(&env, b"in the file").unwrap();
    put_recorded(&env, b"in the journal").unwrap();
    std::mem::forget(env);
    // As after a restart: nothing but the journal knows of the last commit.
    let mut lock = path.into_os_string();
    lock.push("-lock");
    std::fs::remove_file(lock).unwrap();
}

/// What the other thread of the parent does: passes every point that one thread can pass.
fn work(env: &Env, path: &Path, dirty: &Path) -> huon::Result<()> {
    IS_WORKER.set(true);
    // First, after an unclean end.
    let first = small().open(dirty)?;
    put(&first, b"after the repair", Durability::Durable)?;
    // After a replay; the first commit begins the journal.
    let journaled = with_journal().open(journaled(dirty))?;
    (0..3u8).try_for_each(|n| put_recorded(&journaled, &[n, 201]))?;
    // Among others.
    let other = small().open(path)?;
    drop(env.read()?);
    let mut txn = env.write_within(LONG)?;
    let t = txn.create_table(&def())?;
    (0..250u8).try_for_each(|n| t.put(&mut txn, &[n, 200], &[n; 40]).map(drop))?;
    (0..200u8).try_for_each(|n| t.put(&mut txn, &[200, n], &[n; 900]).map(drop))?;
    txn.commit_with(Durability::Durable)?;
    put(env, b"lazily", Durability::Lazy)?;
    let mut txn = env.write_within(LONG)?;
    let t = txn.create_table(&def())?;
    (0..200u8).try_for_each(|n| t.put(&mut txn, &[201, n], &[n; 9000]).map(drop))?;
    txn.commit_with(Durability::NoMetaSync)?;
    env.sync()?;
    drop(env.write_within(LONG)?);
    follow(path)?;
    put(&other, b"by another", Durability::Lazy)?;
    other.close().map(drop)
}

/// Points that this worker does not come to: another thread would have to.
const ELSEWHERE: [Point; 1] = [Point::FlushAwaited];

#[test]
fn children_forked_at_every_step_of_another_thread_go_on() {
    apart("heirs::children_forked_at_every_step_of_another_thread_go_on", |dir| {
        on_points(stop_there);
        let points = Point::ALL.iter().filter(|point| !ELSEWHERE.contains(point));
        let mut count = 0;
        for &point in points {
            let (path, dirty) = (dir.join(format!("{count}")), dir.join(format!("{count}-dirty")));
            // The first process leaves one file unclean, and has the other one ready.
            let made = end_of(forked(|| {
                fill(&small().open(&path).unwrap()).unwrap();
                let env = small().durability(Durability::Lazy).open(&dirty).unwrap();
                fill(&env).unwrap();
                env.close_without_flush();
                leave_a_journal(&dirty);
                0
            }));
            assert_eq!(made, 0);
            let mut pipe = [0; 2];
            // SAFETY: the array has room for two descriptors.
            assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
            let parent = forked(|| be_the_parent(point, &path, &dirty, pipe[1]));
            let mut grandchild = [0; 4];
            // SAFETY: closes what is the parent's; the buffer is as long as is said.
            let heard = unsafe {
                libc::close(pipe[1]);
                libc::read(pipe[0], grandchild.as_mut_ptr().cast(), 4)
            };
            assert_eq!(end_of(parent), 200 + libc::SIGKILL, "{}", point.name());
            assert_eq!(heard, 4, "{}", point.name());
            judge(&path, point);
            // SAFETY: ends the child of the parent, which waits for that; closes the pipe.
            unsafe {
                libc::kill(i32::from_ne_bytes(grandchild), libc::SIGKILL);
                libc::close(pipe[0]);
            }
            let env = small().open(&dirty).unwrap();
            assert_clean(&env, point.name());
            assert!(is_whole(&env).unwrap() && has(&env, b"after the repair"), "{}", point.name());
            let env = with_journal().open(journaled(&dirty)).unwrap();
            assert_clean(&env, point.name());
            assert!(is_whole(&env).unwrap() && has(&env, b"in the journal"), "{}", point.name());
            count += 1;
        }
        assert!(count > 30, "{count} points");
        figures::add("exhaustive", count);
    });
}

/// The parent has died, and the child lives on as the only client there is.
fn judge(path: &Path, point: Point) {
    let what = point.name();
    let env = small().open(path).unwrap();
    assert_eq!(env.info().unwrap().clients, 2, "{what}: a child keeps its dead parent alive");
    assert_clean(&env, what);
    assert!(is_whole(&env).unwrap(), "{what}");
    for key in [&b"of the child"[..], b"of the parent", b"lazily", b"by another"] {
        assert!(has(&env, key), "{what}: {}", key.escape_ascii());
    }
    put(&env, b"afterwards", Durability::Durable).unwrap();
    assert_clean(&env, what);
}

/// Stops a worker at the point, forks there, goes on, and dies.
fn be_the_parent(point: Point, path: &Path, dirty: &Path, says: i32) -> i32 {
    let env = small().write_buffer_bytes(2 << 10).open(path).unwrap();
    let reader = env.read().unwrap();
    STOP_AT.store(point as u32, Ordering::Release);
    let worker = {
        let (env, path, dirty) = (env.clone(), path.to_owned(), dirty.to_owned());
        std::thread::spawn(move || work(&env, &path, &dirty))
    };
    if !wait_for(&STOPPED, LONG) {
        return 1;
    }
    let mut ready = [0; 2];
    // SAFETY: the array has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ready.as_mut_ptr()) }, 0);
    let child = forked(|| {
        let dead = matches!(reader.open_table(&def()), Err(Error::Forked));
        let whole = is_whole(&env);
        let written = put(&env, b"of the child", Durability::Durable);
        let clean = env.check().is_ok_and(|check| check.is_clean());
        let wrong = [!dead, !matches!(whole, Ok(true)), written.is_err(), !clean];
        let wrong: u8 = (0..).zip(wrong).map(|(bit, wrong)| u8::from(wrong) << bit).sum();
        if wrong != 0 {
            eprintln!("{}: {whole:?} {written:?}", point.name());
        }
        // SAFETY: a byte is there; then it waits for its end.
        unsafe {
            libc::write(ready[1], [wrong].as_ptr().cast(), 1);
            libc::close(ready[1]);
            loop {
                libc::pause();
            }
        }
    });
    GO_ON.store(true, Ordering::Release);
    let mut wrong = [99_u8];
    // SAFETY: closes what is the child's, and hears from it.
    let heard = unsafe {
        libc::close(ready[1]);
        libc::read(ready[0], wrong.as_mut_ptr().cast(), 1)
    };
    if heard != 1 || wrong[0] != 0 {
        // SAFETY: ends the child, which this process has made.
        unsafe { libc::kill(child, libc::SIGKILL) };
        return 10 + i32::from(wrong[0]);
    }
    if let Err(error) = worker.join().expect("no panic") {
        eprintln!("{}: the parent's thread: {error}", point.name());
        return 2;
    }
    if reader.open_table(&def()).is_err()
        || put(&env, b"of the parent", Durability::Durable).is_err()
    {
        return 3;
    }
    // SAFETY: says which child there is, and dies as by an accident.
    unsafe {
        libc::write(says, child.to_ne_bytes().as_ptr().cast(), 4);
        libc::kill(libc::getpid(), libc::SIGKILL);
    }
    4
}

/// C6: a child that is forked between the opening of a file and its registration would keep a copy
/// of the descriptor, and with it the locks that its parent takes by it later.
#[test]
fn a_child_forked_while_another_thread_opens_keeps_nothing_of_that() {
    const NAME: &str = "heirs::a_child_forked_while_another_thread_opens_keeps_nothing_of_that";
    apart(NAME, |dir| {
        on_points(stop_there);
        for nth in 0.. {
            let path = dir.join(format!("{nth}"));
            fill(&small().open(&path).unwrap()).unwrap();
            let mut pipe = [0; 2];
            // SAFETY: the array has room for two descriptors.
            assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
            let parent = forked(|| {
                SKIP.store(nth, Ordering::Release);
                STOP_AT.store(Point::FileOpened as u32, Ordering::Release);
                let path = path.clone();
                let worker = std::thread::spawn(move || {
                    IS_WORKER.set(true);
                    small().open(&path).unwrap()
                });
                while !STOPPED.load(Ordering::Acquire) && !worker.is_finished() {
                    std::thread::yield_now();
                }
                if !STOPPED.load(Ordering::Acquire) {
                    return NO_SUCH_STEP;
                }
                let idle = forked(|| {
                    loop {
                        // SAFETY: waits for its end.
                        unsafe { libc::pause() };
                    }
                });
                GO_ON.store(true, Ordering::Release);
                put(&worker.join().unwrap(), b"of the parent", Durability::Durable).unwrap();
                // SAFETY: says which child there is, and dies as by an accident.
                unsafe {
                    libc::write(pipe[1], idle.to_ne_bytes().as_ptr().cast(), 4);
                    libc::kill(libc::getpid(), libc::SIGKILL);
                }
                4
            });
            let ended = end_of(parent);
            let mut idle = [0; 4];
            // SAFETY: closes what was opened here; the buffer is as long as is said.
            let heard = unsafe {
                libc::close(pipe[1]);
                libc::read(pipe[0], idle.as_mut_ptr().cast(), 4)
            };
            // The idle process is no client: this one is alone.
            let alone = small().lock_timeout(SHORT).open(&path).map(|env| {
                let others = env.info().unwrap().clients - 1;
                (others, is_whole(&env).unwrap(), put(&env, b"k", Durability::Lazy).is_ok())
            });
            // SAFETY: ends the idle process, if there is one; closes the pipe.
            unsafe {
                if heard == 4 {
                    libc::kill(i32::from_ne_bytes(idle), libc::SIGKILL);
                }
                libc::close(pipe[0]);
            }
            if ended == NO_SUCH_STEP {
                assert!(nth >= 3, "an opening opens the data file, the lock file and its gate");
                return;
            }
            assert_eq!(ended, 200 + libc::SIGKILL, "file {nth}");
            assert_eq!(alone.ok(), Some((0, true, true)), "file {nth}");
        }
    });
}

/// Locks that other threads hold for moments are free in a child.
#[test]
fn children_forked_while_others_look_and_set_go_on() {
    apart("heirs::children_forked_while_others_look_and_set_go_on", |dir| {
        let path = dir.join("a");
        let env = small().open(&path).unwrap();
        fill(&env).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let settings = env.settings();
                        env.set_settings(settings);
                        (0..50).for_each(|_| _ = env.settings());
                    }
                });
            }
            scope.spawn(|| {
                for n in 0_u64.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    put(&env, b"changing", Durability::Lazy).unwrap();
                    let name = format!("table {}", n % 100);
                    let def = huon::TableDef::<huon::Bytes, huon::Bytes>::named(name);
                    let _ = env.view(|txn| txn.open_table(&def)).unwrap();
                }
            });
            for round in 0..60 {
                let child = forked(|| {
                    let settings = env.settings();
                    env.set_settings(settings);
                    let whole = matches!(is_whole(&env), Ok(true));
                    let written = put(&env, &[250, round], Durability::Lazy);
                    i32::from(!whole) + 2 * i32::from(written.is_err())
                });
                let end = end_of(child);
                if end != 0 {
                    over.store(true, Ordering::Relaxed);
                }
                assert_eq!(end, 0, "round {round}");
            }
            over.store(true, Ordering::Relaxed);
        });
        assert!((0..60).all(|round| has(&env, &[250, round])));
        assert_clean(&env, "in the end");
    });
}

/// C4: the names lead elsewhere.
#[test]
fn a_child_finds_its_parents_files_or_none() {
    type Deed = (&'static str, fn(&Path));
    let deeds: [Deed; 5] = [
        ("renamed", |path| std::fs::rename(path, path.with_extension("moved")).unwrap()),
        ("deleted", |path| std::fs::remove_file(path).unwrap()),
        ("replaced", |path| {
            std::fs::rename(path, path.with_extension("moved")).unwrap();
            let lock = Env::lock_path(path);
            std::fs::rename(&lock, lock.with_extension("moved")).unwrap();
            fill(&small().open(path).unwrap()).unwrap();
        }),
        ("lock file deleted", |path| std::fs::remove_file(Env::lock_path(path)).unwrap()),
        ("lock file replaced", |path| {
            let lock = Env::lock_path(path);
            std::fs::copy(&lock, lock.with_extension("copy")).unwrap();
            std::fs::rename(lock.with_extension("copy"), lock).unwrap();
        }),
    ];
    for (what, deed) in deeds {
        let place = Place::new();
        let env = small().open(&place.path).unwrap();
        fill(&env).unwrap();
        let child = forked(|| {
            deed(&place.path);
            let read = matches!(env.read(), Err(Error::Forked));
            let written = matches!(env.write_within(SHORT), Err(Error::Forked));
            i32::from(!read) + 2 * i32::from(!written)
        });
        assert_eq!(end_of(child), 0, "{what}");
        assert!(is_whole(&env).unwrap(), "{what}: the parent goes on");
    }
}

/// Slices that a dead transaction gave out stay mapped, whatever is dropped.
#[test]
fn what_a_dead_transaction_gave_out_stays_mapped() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    fill(&env).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    let value = t.get(&txn, &[7]).unwrap().unwrap().as_ptr();
    let child = forked(|| {
        let whole = matches!(is_whole(&env), Ok(true));
        drop((txn, env));
        // SAFETY: a page of a file that is mapped still: this is what is looked at.
        let byte = unsafe { value.read_volatile() };
        i32::from(!whole) + i32::from(byte != 7)
    });
    assert_eq!(end_of(child), 0);
}

/// C7: no handler is run in these.
#[test]
#[cfg(target_os = "linux")]
fn a_child_of_a_raw_clone_goes_on() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    fill(&env).unwrap();
    let reader = env.read().unwrap();
    let flags = libc::SIGCHLD as libc::c_long;
    // SAFETY: as a fork; the child calls this library and leaves without unwinding.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as i32;
    if pid == 0 {
        let dead = matches!(reader.open_table(&def()), Err(Error::Forked));
        let whole = matches!(is_whole(&env), Ok(true));
        let written = put(&env, b"of the child", Durability::Durable).is_ok();
        let clients = env.info().is_ok_and(|info| info.clients == 2);
        drop((reader, env));
        let wrong = [!dead, !whole, !written, !clients];
        let wrong: i32 = (0..).zip(wrong).map(|(bit, wrong)| i32::from(wrong) << bit).sum();
        // SAFETY: leaves at once.
        unsafe { libc::_exit(wrong) };
    }
    assert_eq!(end_of(pid), 0);
    assert_eq!(env.info().unwrap().clients, 1);
    assert!(reader.open_table(&def()).is_ok() && has(&env, b"of the child"));
}

/// A process that another thread is about to start has copies of all descriptors for a moment.
#[test]
#[cfg(target_os = "linux")]
fn what_is_closed_is_free_beside_a_child_that_has_not_begun() {
    let place = Place::new();
    for exclusive in [false, true] {
        let env = small().exclusive(exclusive).open(&place.path).unwrap();
        let flags = libc::SIGCHLD as libc::c_long;
        // SAFETY: as a fork; the child only waits, until it is killed.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as i32;
        if pid == 0 {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
        drop(env);
        let alone = small().exclusive(true).open(&place.path);
        // SAFETY: the child is ours, and has not been waited for.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        end_of(pid);
        assert!(alone.is_ok(), "{exclusive}: {:?}", alone.err());
    }
}

/// C8: the thread between was about to attach.
#[test]
fn a_child_forked_while_another_thread_attaches_goes_on() {
    apart("heirs::a_child_forked_while_another_thread_attaches_goes_on", |dir| {
        on_points(stop_there);
        let env = small().open(dir.join("a")).unwrap();
        fill(&env).unwrap();
        let child = forked(|| {
            STOP_AT.store(Point::OpenJoined as u32, Ordering::Release);
            let worker = {
                let env = env.clone();
                std::thread::spawn(move || {
                    IS_WORKER.set(true);
                    is_whole(&env).is_ok_and(|whole| whole)
                })
            };
            assert!(wait_for(&STOPPED, LONG));
            let grandchild = forked(|| {
                // It waits for the gate, which the thread holds.
                let whole = is_whole(&env).is_ok_and(|whole| whole);
                i32::from(!whole || put(&env, b"grandchild", Durability::Durable).is_err())
            });
            std::thread::sleep(SHORT);
            GO_ON.store(true, Ordering::Release);
            let good = worker.join().unwrap() && end_of(grandchild) == 0;
            i32::from(!good || put(&env, b"child", Durability::Durable).is_err())
        });
        assert_eq!(end_of(child), 0);
        assert!(has(&env, b"child") && has(&env, b"grandchild"));
        assert_eq!(env.info().unwrap().clients, 1);
        assert_clean(&env, "in the end");
    });
}
