//! Processes that share a file: names for it, numbers of processes, snapshots held elsewhere.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use huon::{Durability, Env, Error, Options, RawTable, ReadTxn};
use huon_testkit::figures;

use super::child::{self, Child, listen, say};
use super::{Place, assert_clean, def, lock_of, small};

const RECORDS: u32 = 400;

/// Every record says which version of the table it is of.
fn write_version(env: &Env, version: u32, count: u32) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    t.clear(&mut txn).unwrap();
    for n in 0..count {
        let bytes = if n % 40 == 7 { 3000 } else { 60 };
        t.put(&mut txn, &n.to_be_bytes(), &vec![version as u8; bytes]).unwrap();
    }
    t.put(&mut txn, b"version", &version.to_le_bytes()).unwrap();
    txn.commit().unwrap();
}

/// The version of a snapshot, all of which must be of it.
fn version_of(txn: &ReadTxn, t: RawTable) -> u32 {
    let version = t.get(txn, b"version").unwrap().expect("there is always a version");
    let version = u32::from_le_bytes(version.try_into().unwrap());
    for record in t.iter(txn).unwrap() {
        let (key, value) = record.unwrap();
        if key.len() == 4 {
            assert!(value.iter().all(|&byte| byte == version as u8), "another version's record");
        }
    }
    version
}

/// A child that holds snapshots as it is told, `pin`, `check`, `drop`, and the writer lock: `lock`
/// takes it, `unlock` gives it up, `try` says what keeps it away.
fn hold_snapshots(options: &Options) {
    let env = options.open(child::path()).unwrap();
    let mut held: Vec<(ReadTxn, u32)> = Vec::new();
    let mut writing = Vec::new();
    say(&format!("ready {}", std::process::id()));
    while let Some(order) = listen() {
        match order.as_str() {
            "pin" => {
                let txn = env.read().unwrap();
                let t = txn.open_table(&def()).unwrap().unwrap();
                let version = version_of(&txn, t);
                held.push((txn, version));
                say(&format!("pinned {version}"));
            }
            "check" => {
                for (txn, version) in &held {
                    let t = txn.open_table(&def()).unwrap().unwrap();
                    assert_eq!(version_of(txn, t), *version);
                }
                say("the same");
            }
            "lock" => {
                writing.push(env.write().unwrap());
                say("locked");
            }
            "unlock" => {
                writing.clear();
                say("unlocked");
            }
            "try" => match env.write_within(Duration::from_millis(20)) {
                Err(Error::Busy(text)) => say(&text),
                other => say(&format!("not busy: {}", other.is_ok())),
            },
            _ => {
                held.clear();
                say("dropped");
            }
        }
    }
}

/// A program that starts another one in a PID namespace of its own, where the kernel allows it.
const UNSHARE: [&str; 5] = ["unshare", "-Urpf", "--kill-child", "--mount-proc", "--"];

/// LMDB's readers are named by the number of their process: in containers, where each counts from
/// one, it took the slot of a live reader for its own, or kept that of a dead one.
#[test]
fn two_processes_of_one_number() {
    let name = "processes::two_processes_of_one_number";
    if child::part().is_some() {
        return hold_snapshots(&small());
    }
    let can = Command::new(UNSHARE[0]).args(&UNSHARE[1..]).arg("true").output();
    if !can.is_ok_and(|ran| ran.status.success()) {
        return figures::skip("two_processes_of_one_number", "no PID namespaces can be had here");
    }
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    write_version(&env, 1, RECORDS);
    let mut old = Child::start_under(&UNSHARE, name, "hold", &place.path);
    assert_eq!(old.hear(), "ready 1", "the first process of its namespace");
    assert_eq!(old.ask("pin"), "pinned 1");
    write_version(&env, 2, RECORDS);
    let mut new = Child::start_under(&UNSHARE, name, "hold", &place.path);
    assert_eq!(new.hear(), "ready 1", "the first one of another namespace");
    assert_eq!(new.ask("pin"), "pinned 2");
    // Their numbers are equal and mean two processes.
    assert_eq!(old.ask("lock"), "locked");
    let busy = new.ask("try");
    assert!(busy.contains("process 1 of another container"), "{busy}");
    let Err(Error::Busy(busy)) = env.write_within(Duration::from_millis(20)) else {
        panic!("it is locked");
    };
    assert!(busy.contains("process 1 of another container"), "{busy}");
    assert_eq!(old.ask("unlock"), "unlocked");
    // A reader that ends gives up its own snapshot, and no other one's.
    assert_eq!(new.ask("drop"), "dropped");
    assert_eq!(new.ask("pin"), "pinned 2");
    let readers = env.info().unwrap().readers;
    assert_eq!(readers.iter().map(|reader| reader.pid).collect::<Vec<_>>(), [1, 1]);
    (3..30).for_each(|version| write_version(&env, version, RECORDS));
    assert_eq!(old.ask("check"), "the same");
    assert_eq!(new.ask("check"), "the same");
    // One of them is killed: only what it alone held is free.
    old.kill();
    (30..60).for_each(|version| write_version(&env, version, RECORDS));
    assert_eq!(new.ask("check"), "the same");
    let readers = env.info().unwrap().readers;
    assert_eq!(readers.len(), 1, "the dead one holds nothing: {readers:?}");
    // A third one of that number comes and goes.
    let mut third = Child::start_under(&UNSHARE, name, "hold", &place.path);
    assert_eq!(third.hear(), "ready 1");
    assert_eq!(third.ask("pin"), "pinned 59");
    third.finish();
    (60..90).for_each(|version| write_version(&env, version, RECORDS));
    assert_eq!(new.ask("check"), "the same");
    new.finish();
    assert_clean(&env, "after all of them");
}

/// py-lmdb's users (2014, 2016) opened a file a second time in one process; closing it took the
/// first one's readers away. Here by every name that a file can have.
#[test]
fn one_file_by_several_names() {
    let name = "processes::one_file_by_several_names";
    if let Some(part) = child::part() {
        return by_another_mount(&part);
    }
    let place = Place::new();
    let first = small().open(&place.path).unwrap();
    write_version(&first, 1, RECORDS);
    let reader = first.read().unwrap();
    let t = reader.open_table(&def()).unwrap().unwrap();

    // A link to the directory, and a roundabout path: the same file and the same lock file.
    let link = place.dir().join("link");
    std::os::unix::fs::symlink(place.dir(), &link).unwrap();
    let around = place.dir().join("link/../").join(place.dir().file_name().unwrap());
    for (round, dir) in [link.as_path(), around.as_path(), place.dir()].into_iter().enumerate() {
        let second = small().open(dir.join("a.huon")).unwrap();
        assert_eq!(second.info().unwrap().clients, 2);
        let own = second.read().unwrap();
        (0..5).for_each(|n| write_version(&second, 10 + n, RECORDS));
        (0..5).for_each(|n| write_version(&first, 20 + n, RECORDS));
        assert_eq!(version_of(&reader, t), 1, "round {round}");
        assert_eq!(first.info().unwrap().readers.len(), 2);
        drop((own, second));
        assert_eq!(first.info().unwrap().readers.len(), 1, "the first one's reader stays");
        (0..5).for_each(|n| write_version(&first, 30 + n, RECORDS));
        assert_eq!(version_of(&reader, t), 1, "round {round}: after the second one was closed");
    }

    // A link in the file's place leads to the same lock file. Another name of the file has another
    // one: a client that opens by it while others are there is refused, and opens when they are
    // gone.
    let symbolic = place.dir().join("symbolic.huon");
    std::os::unix::fs::symlink(&place.path, &symbolic).unwrap();
    let second = small().open(&symbolic).unwrap();
    assert_eq!(second.info().unwrap().clients, 2);
    write_version(&second, 40, RECORDS);
    assert_eq!(version_of(&reader, t), 1);
    drop(second);
    let hard = place.dir().join("hard.huon");
    fs::hard_link(&place.path, &hard).unwrap();
    let error = small().open(&hard).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert!(error.to_string().contains("lock file"), "{error}");
    assert_eq!(version_of(&reader, t), 1);
    write_version(&first, 50, RECORDS);
    drop((reader, first));
    let by_hard = small().open(&hard).unwrap();
    write_version(&by_hard, 51, RECORDS);
    let error = small().open(&place.path).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "the other way round: {error}");
    drop(by_hard);
    // The first lock file is of an older state: it must not be believed.
    let again = small().open(&place.path).unwrap();
    let txn = again.read().unwrap();
    assert_eq!(version_of(&txn, txn.open_table(&def()).unwrap().unwrap()), 51);
    write_version(&again, 52, RECORDS);
    assert_clean(&again, "by all its names");
    drop(txn);

    let mount = ["unshare", "-Urm", "--"];
    let can = Command::new(mount[0]).args(&mount[1..]).arg("true").output();
    if can.is_ok_and(|ran| ran.status.success()) {
        let mut child = Child::start_under(&mount, name, "mount", &place.path);
        assert_eq!(child.hear(), "ready");
        write_version(&again, 61, RECORDS);
        assert_eq!(child.ask("look"), "61");
        assert_eq!(child.ask("write"), "62");
        child.finish();
        let txn = again.read().unwrap();
        assert_eq!(version_of(&txn, txn.open_table(&def()).unwrap().unwrap()), 62);
    } else {
        figures::skip("one_file_by_several_names", "no mounts can be made here");
    }
}

/// The directory mounted a second time, in a mount namespace of its own.
fn by_another_mount(part: &str) {
    assert_eq!(part, "mount");
    let path = child::path();
    let mounted = tempfile::tempdir().unwrap();
    let mut mount = Command::new("mount");
    mount.arg("--bind").arg(path.parent().unwrap()).arg(mounted.path());
    assert!(mount.status().unwrap().success());
    let env = small().open(mounted.path().join("a.huon")).unwrap();
    assert_eq!(env.info().unwrap().clients, 2);
    say("ready");
    while let Some(order) = listen() {
        if order == "write" {
            write_version(&env, 62, RECORDS);
        }
        let txn = env.read().unwrap();
        say(&version_of(&txn, txn.open_table(&def()).unwrap().unwrap()).to_string());
    }
    drop(env);
    assert!(Command::new("umount").arg(mounted.path()).status().unwrap().success());
}

/// py-lmdb's users (2021 to 2025) met damage, deadlocks and old maps when one process made the file
/// longer while others read it.
#[test]
fn snapshots_outlive_growth_and_shrinking() {
    let name = "processes::snapshots_outlive_growth_and_shrinking";
    let mut options = small();
    options.shrink_bytes(32 << 10).grow_bytes(4 << 10);
    if child::part().is_some() {
        return hold_snapshots(&options);
    }
    let place = Place::new();
    let env = options.open(&place.path).unwrap();
    write_version(&env, 0, 10);
    let mut children: Vec<Child> =
        (0..3).map(|_| Child::start(name, "hold", &place.path)).collect();
    children.iter_mut().for_each(|child| assert!(child.hear().starts_with("ready")));
    let (mut grew, mut shrank, mut last) = (0, 0, 0);
    for round in 1..40u32 {
        // Each of them takes a snapshot at another time, and gives all of them up at another.
        let turn = round as usize % 3;
        let version = (round - 1).to_string();
        assert_eq!(children[turn].ask("pin"), format!("pinned {version}"));
        let count = if round % 6 < 3 { 3000 } else { 10 };
        write_version(&env, round, count);
        (0..4).for_each(|_| tiny_commit(&env));
        for child in &mut children {
            assert_eq!(child.ask("check"), "the same");
        }
        if round % 6 == 5 {
            let turns = if round % 12 == 11 { 0..3 } else { turn..turn + 1 };
            turns.for_each(|turn| assert_eq!(children[turn].ask("drop"), "dropped"));
            // Rewritten, it leaves the end of the file.
            for _ in 0..4 {
                write_version(&env, round, count);
                env.sync().unwrap();
                tiny_commit(&env);
            }
        }
        let bytes = env.info().unwrap().file_bytes;
        grew += u32::from(bytes > last);
        shrank += u32::from(bytes < last);
        last = bytes;
    }
    assert!(grew >= 5 && shrank >= 2, "it grew {grew} times and shrank {shrank} times");
    children.into_iter().for_each(Child::finish);
    assert_clean(&env, "after all of it");
}

fn tiny_commit(env: &Env) {
    let tiny = huon::TableDef::<huon::U64, huon::U64>::new("tiny");
    let id = env.info().unwrap().newest;
    env.update(|txn| txn.create_table(&tiny)?.put(txn, 0, id).map(drop)).unwrap();
}

/// LMDB (2013 to 2019) left locks behind, or a lock file that no process could use, when several
/// were first at once or an open had failed. Here four processes come at once, again and again, and
/// find the data file and the lock file in every state.
#[test]
fn one_process_is_first_when_all_open_at_once() {
    let name = "processes::one_process_is_first_when_all_open_at_once";
    if child::part().is_some() {
        return open_when_told(&child::path());
    }
    let place = Place::new();
    let mut children: Vec<Child> =
        (0..4).map(|_| Child::start(name, "open", place.dir())).collect();
    children.iter_mut().for_each(|child| assert_eq!(child.hear(), "ready"));
    // What is there when they come: data and lock file of one environment, closed and killed.
    let old = place.dir().join("old.huon");
    let env = small().open(&old).unwrap();
    let mut txn = env.write().unwrap();
    txn.create_table(&def()).unwrap().put(&mut txn, b"first", b"").unwrap();
    txn.commit_with(Durability::Durable).unwrap();
    let killed = (fs::read(&old).unwrap(), fs::read(lock_of(&old)).unwrap());
    env.close().unwrap();
    let closed = (fs::read(&old).unwrap(), fs::read(lock_of(&old)).unwrap());
    let changed = |at: usize| {
        let mut lock = closed.1.clone();
        lock[at] ^= 0x55;
        Some(lock)
    };
    // Missing, empty, short, cut, whole, of another layout, of another boot, and only zeros.
    let locks: [Option<Vec<u8>>; 9] = [
        None,
        Some(vec![]),
        Some(closed.1[..8].to_vec()),
        Some(closed.1[..5000].to_vec()),
        Some(closed.1.clone()),
        Some(killed.1.clone()),
        changed(8),
        changed(64),
        Some(vec![0; 300_000]),
    ];
    let mut count = 0;
    for lock in &locks {
        for data in [None, Some(&[][..]), Some(&closed.0), Some(&killed.0)] {
            for round in 0..2 {
                // Written over in place: the lock file knows its data file by device and inode.
                let path = match data {
                    None => place.dir().join(format!("new {count} {round}")),
                    Some(_) => old.clone(),
                };
                if let Some(lock) = lock {
                    fs::write(lock_of(&path), lock).unwrap();
                }
                if let Some(data) = data {
                    fs::write(&path, data).unwrap();
                }
                all_at_once(&mut children, &path, data.is_some_and(|data| !data.is_empty()));
                let _ = fs::remove_file(lock_of(&path));
                count += 1;
            }
        }
    }
    children.into_iter().for_each(Child::finish);
    figures::add("exhaustive", count);
}

fn all_at_once(children: &mut [Child], path: &Path, had: bool) {
    let file = path.file_name().unwrap().to_str().unwrap();
    children.iter_mut().for_each(|child| child.tell(file));
    for child in children.iter_mut() {
        assert_eq!(child.hear(), "done", "{file}");
    }
    let env = small().open(path).unwrap();
    assert_clean(&env, file);
    let txn = env.read().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    let wanted = children.len() as u64 + u64::from(had);
    assert_eq!(t.len(&txn).unwrap(), wanted, "{file}: a record of each");
}

fn open_when_told(dir: &Path) {
    let mine = std::process::id().to_le_bytes();
    say("ready");
    while let Some(file) = listen() {
        let env = small().open(dir.join(file)).unwrap();
        env.update(|txn| txn.create_table(&def())?.put(txn, &mine, b"").map(drop)).unwrap();
        let txn = env.read().unwrap();
        let t = txn.open_table(&def()).unwrap().unwrap();
        assert!(t.contains(&txn, &mine).unwrap());
        drop((txn, env));
        say("done");
    }
}

/// Two processes take turns: each waits for the other's commit, and answers with one of its own.
#[test]
fn commits_of_another_process_are_heard_of() {
    const TURNS: u32 = 200;
    const EVER: Duration = Duration::from_secs(60);
    let play = |env: &Env, own: u32| {
        let mut known = 0;
        loop {
            let txn = env.read().unwrap();
            let turn = txn.open_table(&def()).unwrap().map_or(0, |t| version_of(&txn, t));
            known = known.max(txn.id());
            drop(txn);
            if turn >= TURNS {
                return;
            }
            if turn % 2 == own {
                write_version(env, turn + 1, 1);
            } else {
                let newest = env.wait_for_commit(known, EVER).unwrap();
                known = newest.expect("the other process answers in time");
            }
        }
    };
    if let Some(part) = child::part() {
        let env = small().durability(Durability::Lazy).open(child::path()).unwrap();
        say("ready");
        if part == "play" {
            play(&env, 1);
            return say("done");
        }
        env.wait_for_commit(u64::MAX, Duration::MAX).unwrap();
        return;
    }
    let place = Place::new();
    let env = small().durability(Durability::Lazy).open(&place.path).unwrap();
    let name = "processes::commits_of_another_process_are_heard_of";
    let mut other = Child::start(name, "play", &place.path);
    assert_eq!(other.hear(), "ready");
    play(&env, 0);
    assert_eq!(other.hear(), "done");
    other.finish();
    // One that was killed while it waited leaves a note, and nothing else.
    let mut other = Child::start(name, "wait", &place.path);
    assert_eq!(other.hear(), "ready");
    write_version(&env, TURNS + 1, 1);
    other.kill();
    write_version(&env, TURNS + 2, 1);
    assert_clean(&env, "after a waiter was killed");
}
