//! Merges: several compactors, ones that go away in the middle, and readers that stay.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use huon::{Durability, Env, U64};
use huon_lsm::{Lsm, LsmDef, LsmOptions, LsmTable};

use crate::{Random, small_options};

const T: LsmDef<U64, U64> = LsmDef::new("t");

type Model = BTreeMap<u64, u64>;

/// Nothing is merged but by compactors, and claims last no longer than the step.
fn passive_options() -> LsmOptions {
    LsmOptions { slack: 1000, runs_max: 2000, lease: Duration::ZERO, ..small_options() }
}

fn open(path: &Path) -> Env {
    Env::options().durability(Durability::Lazy).open(path).unwrap()
}

fn table(env: &Env, options: &LsmOptions) -> (Lsm, LsmTable<U64, U64>) {
    let lsm = Lsm::with_options(env, options.clone()).unwrap();
    let table = lsm.table(&T).unwrap();
    (lsm, table)
}

/// Commits that make a run each.
fn put_runs(
    env: &Env,
    t: &LsmTable<U64, U64>,
    model: &mut Model,
    random: &mut Random,
    runs: usize,
) {
    for _ in 0..runs {
        env.update(|txn| {
            for _ in 0..60 {
                let (key, value) = (random.below(2000), random.below(1 << 30));
                if value % 5 == 0 {
                    t.delete(txn, key)?;
                    model.remove(&key);
                } else {
                    t.put(txn, key, value)?;
                    model.insert(key, value);
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[track_caller]
fn assert_is(env: &Env, t: &LsmTable<U64, U64>, model: &Model) {
    let txn = env.read().unwrap();
    let found = t.iter(&txn).unwrap().map(|record| record.unwrap());
    assert!(found.eq(model.iter().map(|(key, value)| (*key, *value))));
    assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
    for key in (0..2000).step_by(37) {
        assert_eq!(t.get(&txn, key).unwrap(), model.get(&key).copied());
    }
}

fn runs(env: &Env, t: &LsmTable<U64, U64>) -> u64 {
    t.stat(&env.read().unwrap()).unwrap().runs()
}

#[test]
fn another_handle_goes_on_after_each_step_of_one_that_is_gone() {
    let options = passive_options();
    for steps in 1.. {
        let env = Env::in_memory().unwrap();
        let (first, t) = table(&env, &options);
        let (mut model, mut random) = (Model::new(), Random(steps));
        put_runs(&env, &t, &mut model, &mut random, 14);
        let mut was_merging = false;
        for _ in 0..steps {
            assert!(first.compactor().run_once().unwrap());
            was_merging = t.stat(&env.read().unwrap()).unwrap().merging_bytes > 0;
            assert_is(&env, &t, &model);
        }
        drop((first, t));
        let (second, t) = table(&env, &options);
        let stat = t.stat(&env.read().unwrap()).unwrap();
        assert_eq!(stat.merging_bytes > 0, was_merging);
        let rest = second.compactor().run_until_idle().unwrap();
        let stat = t.stat(&env.read().unwrap()).unwrap();
        assert_eq!((stat.merging_bytes, stat.debt_bytes, stat.lost_steps), (0, 0, 0));
        assert_is(&env, &t, &model);
        if rest == 0 {
            assert!(steps >= 5, "merges of several steps were meant");
            return;
        }
    }
}

#[test]
fn a_claim_is_left_to_its_owner_until_its_lease_is_over() {
    let env = Env::in_memory().unwrap();
    let lease = Duration::from_millis(300);
    let options = LsmOptions { lease, ..passive_options() };
    let (first, t) = table(&env, &options);
    let (mut model, mut random) = (Model::new(), Random(1));
    put_runs(&env, &t, &mut model, &mut random, 9);
    let began = Instant::now();
    assert!(first.compactor().run_once().unwrap());
    assert!(t.stat(&env.read().unwrap()).unwrap().merging_bytes > 0);
    let (second, _) = table(&env, &options);
    let others = second.compactor().run_once().unwrap();
    assert!(!others || began.elapsed() >= lease, "it was left to the first");
    // It waits for the lease, and goes on then.
    second.compactor().run_until_idle().unwrap();
    // It is counted in whole milliseconds.
    assert!(began.elapsed() >= lease - Duration::from_millis(1));
    assert_eq!(t.stat(&env.read().unwrap()).unwrap().merging_bytes, 0);
    assert_is(&env, &t, &model);
}

#[test]
fn two_handles_take_turns_at_each_step() {
    let env = Env::in_memory().unwrap();
    let (first, t) = table(&env, &passive_options());
    let (second, other) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(11));
    for _ in 0..6 {
        put_runs(&env, &t, &mut model, &mut random, 9);
        while first.compactor().run_once().unwrap() {
            assert_is(&env, &other, &model);
            second.compactor().run_once().unwrap();
            assert_is(&env, &t, &model);
        }
    }
    for t in [&t, &other] {
        let stat = t.stat(&env.read().unwrap()).unwrap();
        assert!(stat.steps > 10 && stat.lost_steps == 0 && stat.debt_bytes == 0, "{stat:?}");
    }
}

/// One commit of many records, or of a range that is deleted.
fn change_much(
    env: &Env,
    t: &LsmTable<U64, U64>,
    model: &mut Model,
    random: &mut Random,
    next: &mut u64,
) {
    let mut txn = env.write().unwrap();
    match random.below(12) {
        0 => {
            let from = random.below(2000);
            let to = from + random.below(400);
            t.delete_range(&mut txn, from..to).unwrap();
            model.retain(|key, _| !(from..to).contains(key));
        }
        1 if random.below(4) == 0 => {
            t.clear(&mut txn).unwrap();
            model.clear();
        }
        2..=4 => {
            // Above all that are there.
            for _ in 0..200 {
                *next += 1;
                t.put(&mut txn, *next, 1).unwrap();
                model.insert(*next, 1);
            }
        }
        _ => {
            // A few hundred records of a part of the keys, so that some runs lie in deleted ranges.
            let from = random.below(1800);
            for n in 0..300 {
                let key = from + random.below(300);
                t.put(&mut txn, key, n).unwrap();
                model.insert(key, n);
            }
        }
    }
    txn.commit().unwrap();
}

#[test]
fn compactors_on_one_lane_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    // Steps that take longer than a commit.
    let options = LsmOptions { step_bytes: 20_000, base_bytes: 4000, ..passive_options() };
    let (_, t) = table(&env, &options);
    let (mut model, mut random, mut next) = (Model::new(), Random(5), 10_000);
    let (is_over, lost) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for n in 0..3 {
            // Each has an owner of its own, and leases that are over at once: they all want the
            // same merges.
            let (env, options, is_over, lost) = (&env, &options, &is_over, &lost);
            scope.spawn(move || {
                let (lsm, t) = table(env, options);
                while !is_over.load(Ordering::Relaxed) {
                    if n == 0 {
                        lsm.compactor().merge_all().unwrap();
                    } else {
                        lsm.compactor().run_once().unwrap();
                    }
                    let stat = t.stat(&env.read().unwrap()).unwrap();
                    lost.fetch_max(stat.lost_steps, Ordering::Relaxed);
                }
            });
        }
        // How the threads meet is a matter of time.
        for round in 0.. {
            if round >= 150 && (lost.load(Ordering::Relaxed) > 0 || round >= 1500) {
                break;
            }
            (0..4).for_each(|_| change_much(&env, &t, &mut model, &mut random, &mut next));
            assert_is(&env, &t, &model);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(lost.into_inner() > 0, "they were meant to collide");
    let (lsm, t) = table(&env, &options);
    lsm.compactor().run_until_idle().unwrap();
    assert_is(&env, &t, &model);
    lsm.compactor().merge_all().unwrap();
    assert_eq!(runs(&env, &t), 1);
    assert_is(&env, &t, &model);
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn readers_keep_what_they_see_while_runs_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(9));
    put_runs(&env, &t, &mut model, &mut random, 6);
    let txn = env.read().unwrap();
    let seen = model.clone();
    let mut range = t.iter(&txn).unwrap();
    let mut wanted = seen.iter().map(|(key, value)| (*key, *value));
    loop {
        // A few records from each end, and merges and more commits between them.
        for _ in 0..20 {
            assert_eq!(range.next().transpose().unwrap(), wanted.next());
            assert_eq!(range.next_back().transpose().unwrap(), wanted.next_back());
        }
        if wanted.len() == 0 {
            break;
        }
        put_runs(&env, &t, &mut model, &mut random, 4);
        lsm.compactor().merge_all().unwrap();
        env.sync().unwrap();
        for key in (0..2000).step_by(97) {
            assert_eq!(t.get(&txn, key).unwrap(), seen.get(&key).copied());
        }
    }
    drop(range);
    assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
    drop(txn);
    assert_is(&env, &t, &model);
}

#[test]
fn a_parked_reader_keeps_what_it_sees() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(10));
    put_runs(&env, &t, &mut model, &mut random, 6);
    let (parked, seen) = (env.read().unwrap().park().unwrap(), model.clone());
    put_runs(&env, &t, &mut model, &mut random, 6);
    lsm.compactor().merge_all().unwrap();
    let txn = parked.unpark().unwrap();
    let found = t.iter(&txn).unwrap().map(|record| record.unwrap());
    assert!(found.eq(seen.iter().map(|(key, value)| (*key, *value))));
}

#[test]
fn what_is_deleted_while_it_is_merged_stays_deleted() {
    let env = Env::in_memory().unwrap();
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(2));
    let is_merging = || t.stat(&env.read().unwrap()).unwrap().merging_bytes > 0;
    for round in 0..6 {
        put_runs(&env, &t, &mut model, &mut random, 9);
        assert!(lsm.compactor().run_once().unwrap());
        assert!(is_merging());
        let (from, to) = (random.below(2000), random.below(2000));
        env.update(|txn| t.delete_range(txn, from..to)).unwrap();
        model.retain(|key, _| !(from..to).contains(key));
        assert_is(&env, &t, &model);
        if round % 2 == 0 {
            put_runs(&env, &t, &mut model, &mut random, 1);
        }
        lsm.compactor().run_until_idle().unwrap();
        assert_is(&env, &t, &model);
    }
    lsm.compactor().merge_all().unwrap();
    assert_is(&env, &t, &model);
    assert_eq!(t.stat(&env.read().unwrap()).unwrap().range_deletes, 0);
    // A table that is emptied or dropped takes its merges with it.
    for drops in [false, true] {
        put_runs(&env, &t, &mut model, &mut random, 9);
        assert!(lsm.compactor().run_once().unwrap());
        assert!(is_merging());
        env.update(|txn| if drops { t.drop_table(txn) } else { t.clear(txn) }).unwrap();
        model.clear();
        assert!(!is_merging());
        assert_is(&env, &t, &model);
        assert!(!lsm.compactor().run_once().unwrap());
    }
    assert_eq!(env.read().unwrap().table_names().unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn commits_merge_where_no_compactor_does() {
    let env = Env::in_memory().unwrap();
    let (_, t) = table(&env, &small_options());
    let (mut model, mut random) = (Model::new(), Random(3));
    let mut most = 0;
    for _ in 0..150 {
        put_runs(&env, &t, &mut model, &mut random, 1);
        most = most.max(runs(&env, &t));
    }
    let stat = t.stat(&env.read().unwrap()).unwrap();
    assert!(most <= 20, "{most} runs");
    assert!(stat.merges > 20 && stat.failures == 0, "{stat:?}");
    assert!(stat.write_amplification().unwrap() < 8.0, "{stat:?}");
    assert_is(&env, &t, &model);
}

#[test]
fn commits_wait_where_there_are_too_many_runs() {
    let env = Env::in_memory().unwrap();
    let options = LsmOptions { slack: 1000, runs_max: 10, ..small_options() };
    let (_, t) = table(&env, &options);
    let (mut model, mut random) = (Model::new(), Random(4));
    for _ in 0..40 {
        put_runs(&env, &t, &mut model, &mut random, 1);
        assert!(runs(&env, &t) < 10);
    }
    let stat = t.stat(&env.read().unwrap()).unwrap();
    assert!(stat.stalls > 1 && stat.stall_time > Duration::ZERO, "{stat:?}");
    assert_is(&env, &t, &model);
}

#[test]
fn a_content_table_takes_little_more_than_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(6));
    for _ in 0..20 {
        put_runs(&env, &t, &mut model, &mut random, 7);
        lsm.compactor().run_until_idle().unwrap();
        let stat = t.stat(&env.read().unwrap()).unwrap();
        assert_eq!(stat.debt_bytes, 0);
        // Records of 8 + 8 bytes, a tag, and twelve for their place in a page.
        let least = model.len() as u64 * 29;
        let lowest_class = 3 * 1024;
        assert!(stat.bytes * 10 <= least * 16 + lowest_class * 10, "{stat:?} {least}");
    }
    let stat = t.stat(&env.read().unwrap()).unwrap();
    assert!(stat.write_amplification().unwrap() < 8.0, "{stat:?}");
}

#[test]
fn input_in_order_is_never_merged() {
    let env = Env::in_memory().unwrap();
    let (lsm, t) = table(&env, &small_options());
    let mut model = Model::new();
    for round in 0..50 {
        // Batches large and small.
        let count = if round % 3 == 0 { 3 } else { 70 };
        env.update(|txn| {
            for _ in 0..count {
                let n = model.len() as u64;
                t.put(txn, n, n * n)?;
                model.insert(n, n * n);
            }
            Ok(())
        })
        .unwrap();
        assert_is(&env, &t, &model);
    }
    lsm.compactor().run_until_idle().unwrap();
    let stat = t.stat(&env.read().unwrap()).unwrap();
    assert_eq!(stat.merged_bytes, 0);
    assert!(stat.runs() <= 2, "{stat:?}");
    // Then something below, which is a run of its own.
    env.update(|txn| (0..20).try_for_each(|n| t.put(txn, n * 3, 7))).unwrap();
    model.extend((0..20).map(|n| (n * 3, 7)));
    assert_is(&env, &t, &model);
    lsm.compactor().merge_all().unwrap();
    assert_is(&env, &t, &model);
}

#[test]
fn threads_merge_to_one_run_when_nothing_happens() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    let (lsm, t) = table(&env, &LsmOptions { step_bytes: 10_000, ..passive_options() });
    let compactor = lsm.compactor().spawn().unwrap();
    let (mut model, mut random) = (Model::new(), Random(7));
    put_runs(&env, &t, &mut model, &mut random, 40);
    env.update(|txn| t.put(txn, 1, 1)).unwrap();
    model.insert(1, 1);
    let end = Instant::now() + Duration::from_secs(60);
    while runs(&env, &t) > 1 {
        assert!(Instant::now() < end && !compactor.has_failed());
        std::thread::sleep(Duration::from_millis(20));
    }
    compactor.stop().unwrap();
    assert_is(&env, &t, &model);
}

/// A writer that has the lock for longer than others wait ends no thread that merges.
#[test]
fn threads_that_merge_outlast_a_slow_writer() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Env::options();
    options.durability(Durability::Lazy).lock_timeout(Duration::from_millis(5));
    let env = options.open(dir.path().join("a.huon")).unwrap();
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(9));
    put_runs(&env, &t, &mut model, &mut random, 40);
    let slow = env.write().unwrap();
    let compactor = lsm.compactor().spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(!compactor.has_failed());
    slow.abort();
    let end = Instant::now() + Duration::from_secs(60);
    while runs(&env, &t) > 10 {
        assert!(Instant::now() < end && !compactor.has_failed());
        std::thread::sleep(Duration::from_millis(20));
    }
    compactor.stop().unwrap();
    assert_is(&env, &t, &model);
}

const CHILD: &str = "HUON_LSM_TEST_COMPACTOR";

/// What the next test starts as a process of its own; it does nothing else.
#[test]
fn a_process_that_merges_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let env = open(Path::new(&path));
    let (lsm, _) = table(&env, &passive_options());
    loop {
        lsm.compactor().run_once().unwrap();
    }
}

#[test]
fn a_compactor_that_is_killed_again_and_again_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    let (lsm, t) = table(&env, &passive_options());
    let (mut model, mut random) = (Model::new(), Random(8));
    put_runs(&env, &t, &mut model, &mut random, 1);
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compaction::a_process_that_merges_until_it_is_killed"])
            .env(CHILD, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_millis(100 + 37 * round);
        while Instant::now() < end {
            put_runs(&env, &t, &mut model, &mut random, 3);
            assert_is(&env, &t, &model);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_is(&env, &t, &model);
    }
    lsm.compactor().run_until_idle().unwrap();
    assert_is(&env, &t, &model);
    lsm.compactor().merge_all().unwrap();
    assert_eq!(runs(&env, &t), 1);
    assert_is(&env, &t, &model);
    assert!(env.check().unwrap().is_clean());
}

const WRITER: &str = "HUON_LSM_TEST_WRITER";

/// What the next test starts as a process of its own; it does nothing else.
#[test]
fn a_process_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let env = open(Path::new(&path));
    let (_, t) = table(&env, &small_options());
    let own = u64::from(std::process::id()) << 32;
    for round in 1u64.. {
        env.update(|txn| {
            // All of its records have one value in every snapshot, and some are deleted in each.
            for n in 0..40 {
                t.put(txn, own + n * 7919 % 97, round)?;
            }
            t.delete_range(txn, own + 97..own + 200)?;
            t.delete(txn, own + round % 97)?;
            t.put(txn, own + 1000, round)
        })
        .unwrap();
    }
}

#[test]
fn processes_write_and_merge_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    let (lsm, t) = table(&env, &small_options());
    let start = |role: &str, test: &str| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(role, &path)
            .stdout(std::process::Stdio::null())
            .spawn();
        child.unwrap()
    };
    let writer = || start(WRITER, "compaction::a_process_that_writes_until_it_is_killed");
    let mut writers = vec![writer(), writer()];
    let mut seen = Model::new();
    let mut snapshots = 0;
    for round in 0..12 {
        let mut merger = start(CHILD, "compaction::a_process_that_merges_until_it_is_killed");
        let end = Instant::now() + Duration::from_millis(150);
        while Instant::now() < end {
            let txn = env.read().unwrap();
            assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
            let records: Model = t.iter(&txn).unwrap().map(|record| record.unwrap()).collect();
            for (key, value) in &records {
                let newest = records[&((key >> 32 << 32) + 1000)];
                assert!(*value <= newest, "{key} is newer than its transaction");
                // The first forty of them are put in each round, but for the one deleted.
                let index = (0..40).any(|n| n * 7919 % 97 == key & 0xFFFF_FFFF);
                assert!(!index || *value == newest, "{key}: {value}, not {newest}");
                assert_eq!(t.get(&txn, *key).unwrap(), Some(*value));
            }
            for (key, value) in records.iter().filter(|(key, _)| **key & 0xFFFF_FFFF == 1000) {
                let before = seen.insert(*key, *value).unwrap_or(0);
                assert!(before <= *value, "a process goes back");
            }
            snapshots += 1;
        }
        merger.kill().unwrap();
        merger.wait().unwrap();
        if round % 4 == 3 {
            writers[0].kill().unwrap();
            writers[0].wait().unwrap();
            writers[0] = writer();
        }
    }
    for writer in &mut writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    assert!(snapshots > 20 && seen.len() > 2, "{snapshots} snapshots of {} processes", seen.len());
    lsm.compactor().merge_all().unwrap();
    assert_eq!(t.check(&env.read().unwrap()).unwrap().problems, Vec::<String>::new());
    assert!(env.check().unwrap().is_clean());
}

/// A third of the records are written over: too little for a merge while runs come.
#[test]
fn a_compactor_that_is_run_by_hand_leaves_no_debt() {
    let env = Env::in_memory().unwrap();
    let options = LsmOptions { fan: 8, base_bytes: 1024, ..LsmOptions::default() };
    let t = Lsm::with_options(&env, options.clone()).unwrap().table(&T).unwrap();
    for run in [0..6000u64, 0..2000, 2000..4000] {
        env.update(|txn| run.clone().try_for_each(|n| t.put(txn, n, n))).unwrap();
    }
    let stat = || t.stat(&env.read().unwrap()).unwrap();
    assert!(stat().debt_bytes > 0);
    // By one that has never looked before, and knows nothing of the pace.
    let lsm = Lsm::with_options(&env, options).unwrap();
    lsm.compactor().run_until_idle().unwrap();
    assert_eq!((stat().debt_bytes, stat().runs()), (0, 1));
}
