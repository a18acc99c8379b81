//! How long the file of an LSM table is.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use huon::{Bytes, Durability, Env, U64, WriteTxn};
use huon_lsm::{Lsm, LsmDef, LsmOptions, LsmTable};

const T: LsmDef<U64, Bytes> = LsmDef::new("t");
/// Of [`long_file`].
const LIVE_RECORDS: u64 = 20_000;
const LIVE_BYTES: u64 = LIVE_RECORDS * 108;

/// Each step of a merge gives back what it has merged, so the file need not hold it twice.
#[test]
fn a_merge_of_everything_takes_little_more_space_than_the_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Env::options();
    let settings = settings.durability(Durability::Lazy).grow_bytes(64 << 10);
    let env = settings.open(dir.path().join("a.huon")).unwrap();
    let options = LsmOptions {
        base_bytes: 64 << 10,
        step_bytes: 64 << 10,
        runs_max: 2000,
        ..LsmOptions::default()
    };
    let lsm = Lsm::with_options(&env, options).unwrap();
    let t = lsm.table(&T).unwrap();
    const RECORDS: u64 = 60_000;
    let key = |n: u64| (n * 7919 % RECORDS).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let file = |env: &Env| {
        let bytes = env.info().unwrap().file_bytes;
        bytes as f64 / (RECORDS * 108) as f64
    };
    let put = |from: u64, to: u64| {
        for at in (from..to).step_by(300) {
            let mut records = at..(at + 300).min(to);
            env.update(|txn| records.try_for_each(|n| t.put(txn, key(n), &[n as u8; 100])))
                .unwrap();
        }
        env.sync().unwrap();
    };
    put(0, RECORDS);
    lsm.compactor().run_until_idle().unwrap();
    let loaded = file(&env);
    lsm.compactor().merge_all().unwrap();
    let merged = file(&env);
    // Half of them written over: the policy bears as much.
    put(0, RECORDS / 2);
    lsm.compactor().run_until_idle().unwrap();
    let again = file(&env);
    lsm.compactor().merge_all().unwrap();
    let last = file(&env);
    let all = [loaded, merged, again, last];
    assert!(loaded <= 1.6 && merged <= 1.6, "{all:.2?}");
    assert!(again <= 2.1 && last <= 2.1, "{all:.2?}");
    assert!(t.check(&env.read().unwrap()).unwrap().is_clean());
}

/// A table whose records live in a small part of a long file.
fn long_file(dir: &Path) -> (Env, Lsm, LsmTable<U64, Bytes>) {
    let mut settings = Env::options();
    let settings = settings.durability(Durability::Lazy).grow_bytes(64 << 10).shrink_bytes(1 << 20);
    let env = settings.open(dir.join("a.huon")).unwrap();
    let lsm = Lsm::open(&env).unwrap();
    let t = lsm.table(&T).unwrap();
    for round in 0..5u8 {
        let put = |txn: &mut WriteTxn| {
            (0..LIVE_RECORDS).try_for_each(|n| t.put(txn, n * 7919 % LIVE_RECORDS, &[round; 100]))
        };
        env.update(put).unwrap();
        env.sync().unwrap();
    }
    assert!(env.info().unwrap().file_bytes > 4 * LIVE_BYTES);
    (env, lsm, t)
}

fn check_all(env: &Env, t: &LsmTable<U64, Bytes>) {
    let txn = env.read().unwrap();
    assert!(t.iter(&txn).unwrap().all(|record| record.unwrap().1 == [4; 100]));
    assert!(t.check(&txn).unwrap().is_clean() && env.check().unwrap().is_clean());
}

#[test]
fn threads_make_the_file_shorter_when_nothing_happens() {
    let dir = tempfile::tempdir().unwrap();
    let (env, lsm, t) = long_file(dir.path());
    let compactor = lsm.compactor().spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while env.info().unwrap().file_bytes * 10 > LIVE_BYTES * 16 {
        let file_bytes = env.info().unwrap().file_bytes;
        assert!(Instant::now() < end && !compactor.has_failed(), "{file_bytes}");
        std::thread::sleep(Duration::from_millis(20));
    }
    compactor.stop().unwrap();
    check_all(&env, &t);
}

#[test]
fn a_compactor_makes_the_file_shorter_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let (env, lsm, t) = long_file(dir.path());
    let compactor = lsm.compactor();
    compactor.merge_all().unwrap();
    let long = env.info().unwrap().file_bytes;
    let mut steps = 0;
    let mut once = || {
        steps += 1;
        ControlFlow::Break(())
    };
    compactor.shorten_with(&mut once).unwrap();
    assert_eq!(steps, 1);
    assert!(env.info().unwrap().file_bytes > long / 2, "it was to end");
    compactor.shorten().unwrap();
    let file_bytes = env.info().unwrap().file_bytes;
    assert!(file_bytes * 10 <= LIVE_BYTES * 16, "{file_bytes}");
    // It is short enough.
    compactor.shorten().unwrap();
    assert_eq!(env.info().unwrap().file_bytes, file_bytes);
    check_all(&env, &t);
}
