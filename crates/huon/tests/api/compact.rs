//! Compaction in place: what it moves, what it leaves, and what goes on beside it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use huon::{
    Bytes, CompactEnd, CompactOptions, CompactReport, Durability, Env, MultiDef, Options,
    RetainedBy, TableDef, U64,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const M: MultiDef<U64, Bytes> = MultiDef::new("m");
const F: MultiDef<U64, U64> = MultiDef::new("f");

fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let dir = dir.unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

fn value(n: u64, large: bool, page_bytes: usize) -> Vec<u8> {
    let len =
        if large { page_bytes + (n % 7) as usize * page_bytes } else { 20 + (n % 60) as usize };
    vec![n as u8; len]
}

/// Everything that an environment holds, as text; not how long the file is.
fn content(env: &Env) -> Vec<Vec<u8>> {
    let mut dump = Vec::new();
    huon_text::dump(env, &mut dump, huon_text::DumpOptions::new()).unwrap();
    let lines = dump.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"mapsize="));
    lines.map(<[u8]>::to_vec).collect()
}

/// Tables of all kinds; of each, what came last is left after a retention.
fn fill(env: &Env, page_bytes: usize, records: u64) {
    for part in 0..10 {
        env.update(|txn| {
            let (t, m, f) = (txn.create_table(&T)?, txn.create_table(&M)?, txn.create_table(&F)?);
            for n in part * records / 10..(part + 1) * records / 10 {
                t.put(txn, n, &value(n, n % 20 == 0, page_bytes))?;
                m.put(txn, n / 200, &value(n, false, page_bytes)[..20.min(page_bytes / 8)])?;
                m.put(txn, n / 200, &n.to_be_bytes())?;
                f.put(txn, n / 400, n)?;
            }
            let small = TableDef::<U64, U64>::named(format!("part {part}"));
            let small = txn.create_table(&small)?;
            (0..records / 10).try_for_each(|n| small.put(txn, n, n).map(drop))
        })
        .unwrap();
    }
    let kept = records - records / 6;
    env.update(|txn| {
        let (t, m, f) = (txn.create_table(&T)?, txn.create_table(&M)?, txn.create_table(&F)?);
        (0..kept).try_for_each(|n| t.remove(txn, n).map(drop))?;
        (0..kept / 200).try_for_each(|n| m.remove_key(txn, n).map(drop))?;
        (0..kept / 400).try_for_each(|n| f.remove_key(txn, n).map(drop))?;
        for part in 0..8 {
            let small = TableDef::<U64, U64>::named(format!("part {part}"));
            txn.open_table(&small)?.expect("it is there").drop_table(txn)?;
        }
        Ok(())
    })
    .unwrap();
}

fn options(page_bytes: usize) -> Options {
    let mut options = Env::options();
    options.page_bytes(page_bytes);
    options
}

fn compacted(env: &Env) -> CompactReport {
    env.compact(CompactOptions::new()).unwrap()
}

#[test]
fn what_lives_is_moved_and_the_rest_given_back() {
    for page_bytes in [256, 4096, 16384] {
        for durability in [Durability::Durable, Durability::Lazy] {
            let (_dir, path) = place();
            let env = options(page_bytes).durability(durability).open(&path).unwrap();
            fill(&env, page_bytes, if page_bytes > 4096 { 3000 } else { 12_000 });
            let before = content(&env);
            let report = compacted(&env);
            assert_eq!(report.end, CompactEnd::Target, "{page_bytes}: {report:?}");
            let target = report.live_bytes as f64 * 1.1 + 16.0 * page_bytes as f64 + 16384.0;
            assert!((report.after_bytes as f64) < target, "{page_bytes}: {report:?}");
            assert!(report.after_bytes < report.before_bytes / 3, "{page_bytes}: {report:?}");
            assert!(report.moved_bytes > 0 && report.commits > 2, "{report:?}");
            assert_eq!(env.info().unwrap().file_bytes, report.after_bytes);
            assert!(content(&env) == before, "{page_bytes}: other records than before");
            let check = env.check().unwrap();
            assert!(check.is_clean(), "{page_bytes}: {:?}", check.problems);
            // Nothing is left to do.
            let again = compacted(&env);
            assert_eq!((again.end, again.moved_bytes), (CompactEnd::Target, 0));
            drop(env);
            let env = options(page_bytes).open(&path).unwrap();
            assert!(content(&env) == before, "{page_bytes}: other records after opening");
            fill(&env, page_bytes, 2000);
            assert!(env.check().unwrap().is_clean());
        }
    }
}

#[test]
fn an_empty_environment_becomes_short() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 4096, 6000);
    env.update(|txn| {
        txn.create_table(&T)?.drop_table(txn)?;
        txn.create_table(&M)?.drop_table(txn)?;
        txn.create_table(&F)?.drop_table(txn)?;
        for part in 8..10 {
            let small = TableDef::<U64, U64>::named(format!("part {part}"));
            txn.create_table(&small)?.drop_table(txn)?;
        }
        assert!(txn.table_names()?.is_empty());
        Ok(())
    })
    .unwrap();
    let report = compacted(&env);
    assert_eq!((&report.end, report.live_bytes), (&CompactEnd::Target, 0));
    assert!(report.after_bytes <= 1 << 20, "{report:?}");
}

#[test]
fn a_reader_is_named_and_sees_what_it_saw() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 4096, 6000);
    let reader = env.read().unwrap();
    let t = reader.open_table(&T).unwrap().unwrap();
    let seen: Vec<(u64, Vec<u8>)> =
        t.iter(&reader).unwrap().map(|r| r.map(|(k, v)| (k, v.to_vec())).unwrap()).collect();
    let report = compacted(&env);
    let CompactEnd::Retained(snapshots) = &report.end else { panic!("{report:?}") };
    let me = |snapshot: &huon::RetainedSnapshot| match snapshot.by {
        RetainedBy::Reader(info) => info.pid == std::process::id() && snapshot.txnid == reader.id(),
        _ => false,
    };
    assert!(snapshots.iter().any(me), "{snapshots:?}");
    let now: Vec<(u64, Vec<u8>)> =
        t.iter(&reader).unwrap().map(|r| r.map(|(k, v)| (k, v.to_vec())).unwrap()).collect();
    assert!(now == seen, "the reader sees something else");
    drop(reader);
    let report = compacted(&env);
    assert_eq!(report.end, CompactEnd::Target, "{report:?}");
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn it_ends_when_it_is_told_to() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 4096, 8000);
    let before = content(&env);
    let mut calls = 0;
    let mut tell = |_: &huon::Progress| {
        calls += 1;
        if calls < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let some = CompactOptions::new().step_bytes(100_000).progress(&mut tell);
    let report = env.compact(some).unwrap();
    assert_eq!(report.end, CompactEnd::Stopped);
    assert!(report.moved_bytes > 0, "{report:?}");
    let none = CompactOptions::new().time_limit(Duration::ZERO);
    let report = env.compact(none).unwrap();
    assert_eq!((&report.end, report.moved_bytes), (&CompactEnd::TimeLimit, 0));
    assert!(content(&env) == before && env.check().unwrap().is_clean());
    let senseless = CompactOptions::new().target(0.9);
    assert!(matches!(env.compact(senseless), Err(huon::Error::Invalid(_))));
    assert_eq!(compacted(&env).end, CompactEnd::Target);
}

#[test]
fn no_step_is_much_longer_than_was_said() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 4096, 8000);
    let written = || env.info().unwrap().io.pages_written;
    let (mut last, mut most) = (written(), 0);
    let mut tell = |_: &huon::Progress| {
        most = most.max(written() - last);
        last = written();
        ControlFlow::Continue(())
    };
    let options = CompactOptions::new().step_bytes(40 * 4096).step_time(Duration::MAX);
    env.compact(options.progress(&mut tell)).unwrap();
    // The path of the last page, its length, and what the list of free space takes.
    assert!((20..40 + 250).contains(&most), "{most} pages in one transaction");
}

#[test]
fn a_step_ends_by_its_time_or_by_its_bytes() {
    let compacted = |time: Duration| {
        let (_dir, path) = place();
        let env = options(256).open(&path).unwrap();
        fill(&env, 256, 6000);
        let before = content(&env);
        let report = env.compact(CompactOptions::new().step_time(time)).unwrap();
        assert_eq!(report.end, CompactEnd::Target, "{report:?}");
        assert!(content(&env) == before, "other records than before");
        report.commits
    };
    let by_bytes = compacted(Duration::MAX);
    assert_eq!(compacted(Duration::MAX), by_bytes, "the steps depend on the clock");
    let by_time = compacted(Duration::ZERO);
    assert!(by_time > 2 * by_bytes, "{by_time} commits without time, {by_bytes} with all of it");
}

#[test]
fn others_write_meanwhile() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 4096, 60_000);
    let other = Env::options().open(&path).unwrap();
    let (over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let (report, commits) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut commits = 0;
            while !over.load(Ordering::Relaxed) {
                let def = TableDef::<U64, U64>::new("others");
                let put = |txn: &mut huon::WriteTxn| {
                    txn.create_table(&def)?.put(txn, commits % 500, commits).map(drop)
                };
                other.update(put).unwrap();
                commits += 1;
                turns.store(commits, Ordering::Relaxed);
            }
            commits
        });
        // Between the first steps the writer has a turn each; later it has them as they come.
        let mut seen = 0;
        let mut wait = |_: &huon::Progress| {
            let until = Instant::now() + Duration::from_secs(60);
            while seen < 20 && turns.load(Ordering::Relaxed) <= seen {
                assert!(Instant::now() < until, "the writer waits for the whole compaction");
                std::thread::yield_now();
            }
            seen += 1;
            ControlFlow::Continue(())
        };
        let options = CompactOptions::new().step_bytes(32_768).progress(&mut wait);
        let report = env.compact(options).unwrap();
        over.store(true, Ordering::Relaxed);
        (report, writer.join().unwrap())
    });
    assert!(report.after_bytes < report.before_bytes / 2, "{report:?}");
    assert!(report.commits > 20 && commits >= 20, "{commits} turns in {} steps", report.commits);
    assert_eq!(compacted(&env).end, CompactEnd::Target);
    let def = TableDef::<U64, U64>::new("others");
    let others = env.view(|txn| Ok(txn.open_table(&def)?.unwrap().iter(txn)?.count()));
    assert_eq!(others.unwrap() as u64, commits.min(500));
    assert!(env.check().unwrap().is_clean());
}
