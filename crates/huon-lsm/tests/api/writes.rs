//! Batches that are written without a transaction, by several threads.

use std::sync::Barrier;
use std::time::{Duration, SystemTime};

use huon::{Durability, Env, Error, Str, U64};
use huon_lsm::{Lsm, LsmDef};

use crate::small_options;

const A: LsmDef<U64, U64> = LsmDef::new("a");
const B: LsmDef<Str, Str> = LsmDef::new("b");

#[test]
fn batches_of_threads_that_wait_share_a_commit() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::open(&env).unwrap();
    let (a, b) = (lsm.table(&A).unwrap(), lsm.table(&B).unwrap());
    let (threads, rounds) = (4, 300);
    let first = env.read().unwrap().id();
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (env, lsm, a, b, barrier) = (&env, &lsm, &a, &b, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let mut last = 0;
                for round in 0..rounds {
                    let mut batch = lsm.batch();
                    batch.put(a, thread * rounds + round, round).unwrap();
                    batch.put(b, &format!("last of {thread}"), &round.to_string()).unwrap();
                    let id = lsm.write(batch).unwrap();
                    assert!(id > last, "each has a commit of its own, or one with others");
                    last = id;
                    // What was written is seen.
                    let txn = env.read().unwrap();
                    assert_eq!(a.get(&txn, thread * rounds + round).unwrap(), Some(round));
                    let own = b.get(&txn, &format!("last of {thread}")).unwrap();
                    assert_eq!(own, Some(&round.to_string()[..]));
                }
            });
        }
    });
    let txn = env.read().unwrap();
    assert_eq!(a.iter(&txn).unwrap().count() as u64, threads as u64 * rounds);
    let commits = txn.id() - first;
    assert!(commits <= threads as u64 * rounds, "{commits}");
    for table in [a.raw(), b.raw()] {
        assert_eq!(table.check(&txn).unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn later_changes_of_a_batch_count() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, small_options()).unwrap();
    let a = lsm.table(&A).unwrap();
    let mut batch = lsm.batch();
    assert!(batch.is_empty());
    assert_eq!(lsm.write(lsm.batch()).unwrap(), env.read().unwrap().id(), "it changes nothing");
    (0..100).for_each(|n| batch.put(&a, n, 1).unwrap());
    batch.delete_range(&a, 20..40).unwrap();
    batch.delete(&a, 50).unwrap();
    batch.put(&a, 30, 3).unwrap();
    batch.put(&a, 31, 3).unwrap();
    batch.delete(&a, 31).unwrap();
    let hour = Duration::from_secs(3600);
    batch.put_until(&a, 32, 4, SystemTime::now() + hour).unwrap();
    batch.put_until(&a, 33, 4, SystemTime::now() - hour).unwrap();
    assert!(batch.bytes() > 100 * 16);
    lsm.write(batch).unwrap();
    let txn = env.read().unwrap();
    let keys: Vec<u64> = a.iter(&txn).unwrap().map(|record| record.unwrap().0).collect();
    let wanted = (0..20).chain([30, 32]).chain(40..50).chain(51..100);
    assert!(keys.into_iter().eq(wanted));
}

/// Handles of one table with other types, or of another `Lsm`, collect into one batch in the order
/// of the calls.
#[test]
fn later_changes_count_whichever_handle_made_them() {
    let env = Env::in_memory().unwrap();
    let (lsm, other) = (Lsm::open(&env).unwrap(), Lsm::open(&env).unwrap());
    let sum = || LsmDef::<U64, U64>::new("a").merged_by("sum", |a, b, sum| sum.set(a + b));
    let (raw, a) = (lsm.raw_table("a").unwrap(), other.table(&sum()).unwrap());
    let get = |key| a.get(&env.read().unwrap(), key).unwrap();
    let key = 7u64.to_be_bytes();
    let mut batch = lsm.batch();
    batch.put(&a, 7, 1).unwrap();
    batch.delete(&raw, &key).unwrap();
    batch.put(&a, 7, 2).unwrap();
    lsm.write(batch).unwrap();
    assert_eq!(get(7), Some(2));
    let mut batch = lsm.batch();
    batch.delete(&raw, &key).unwrap();
    batch.put(&a, 7, 3).unwrap();
    batch.delete_range(&raw, &key[..]..).unwrap();
    batch.merge(&a, 7, 4).unwrap();
    lsm.write(batch).unwrap();
    assert_eq!(get(7), Some(4));
    // The table is made by a batch that the handle without the operator has begun.
    env.update(|txn| a.drop_table(txn)).unwrap();
    let mut batch = lsm.batch();
    batch.delete(&raw, &key).unwrap();
    batch.merge(&a, 7, 5).unwrap();
    lsm.write(batch).unwrap();
    assert!(Lsm::open(&env).unwrap().table(&sum()).is_ok(), "it is made with the operator");
    assert_eq!(get(7), Some(5));
    // Tables of one name in two environments are two.
    let elsewhere = Env::in_memory().unwrap();
    let foreign = Lsm::open(&elsewhere).unwrap().table(&A).unwrap();
    let mut batch = lsm.batch();
    batch.put(&a, 7, 6).unwrap();
    batch.put(&foreign, 7, 6).unwrap();
    assert!(lsm.write(batch).is_err());
    assert_eq!(get(7), Some(5));
}

#[test]
fn a_batch_that_does_not_fit_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = Env::options().durability(Durability::Lazy).max_bytes(4 << 20).open(path).unwrap();
    let lsm = Lsm::open(&env).unwrap();
    let a = lsm.table(&LsmDef::<U64, huon::Bytes>::new("a")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (lsm, a) = (&lsm, &a);
            scope.spawn(move || {
                for n in 0..20 {
                    let mut batch = lsm.batch();
                    let is_large = thread == 0 && n % 5 == 0;
                    let value = vec![7; if is_large { 900 << 10 } else { 10 }];
                    let count = if is_large { 8 } else { 1 };
                    for i in 0..count {
                        batch.put(a, thread * 10_000 + n * 100 + i, &value).unwrap();
                    }
                    let written = lsm.write(batch);
                    match written {
                        Ok(_) => assert!(!is_large),
                        Err(Error::MapFull(_)) => assert!(is_large),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let txn = env.read().unwrap();
    assert_eq!(a.iter(&txn).unwrap().count(), 76);
    assert_eq!(a.check(&txn).unwrap().problems, Vec::<String>::new());
}

#[test]
fn keys_and_values_that_are_too_long_are_refused_at_once() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::open(&env).unwrap();
    let b = lsm.table(&B).unwrap();
    let (long, longest) = ("k".repeat(2023), "k".repeat(2022));
    let mut batch = lsm.batch();
    assert!(matches!(batch.put(&b, &long, ""), Err(Error::KeyTooLong { bytes: 2023, max: 2022 })));
    assert!(batch.delete(&b, &long).is_err() && batch.is_empty());
    batch.put(&b, &longest, "value").unwrap();
    lsm.write(batch).unwrap();
    let mut txn = env.write().unwrap();
    assert!(matches!(b.put(&mut txn, &long, ""), Err(Error::KeyTooLong { .. })));
    assert_eq!(b.get(&txn, &longest).unwrap(), Some("value"));
    assert_eq!(b.get(&txn, &long).unwrap(), None);
    assert_eq!(b.range(&txn, &long[..]..).unwrap().count(), 0);
}

#[test]
fn a_record_is_gone_when_its_time_is_over() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, small_options()).unwrap();
    let a = lsm.table(&A).unwrap();
    // An older value below, which must not come back.
    env.update(|txn| (0..100).try_for_each(|n| a.put(txn, n, 1))).unwrap();
    let until = SystemTime::now() + Duration::from_millis(400);
    env.update(|txn| (20..60).try_for_each(|n| a.put_until(txn, n, 2, until))).unwrap();
    let txn = env.read().unwrap();
    if SystemTime::now() < until - Duration::from_millis(200) {
        assert_eq!((a.get(&txn, 30).unwrap(), a.count(&txn, ..).unwrap()), (Some(2), 100));
    }
    while SystemTime::now() <= until {
        std::thread::sleep(Duration::from_millis(20));
    }
    for round in 0..3 {
        let txn = env.read().unwrap();
        assert_eq!((a.get(&txn, 30).unwrap(), a.get(&txn, 60).unwrap()), (None, Some(1)));
        assert_eq!(a.iter(&txn).unwrap().count(), 60);
        assert_eq!(a.iter(&txn).unwrap().rev().count(), 60);
        let stat = a.stat(&txn).unwrap();
        match round {
            0 => drop(lsm.compactor().merge_all().unwrap()),
            1 => {
                assert_eq!((stat.runs(), stat.records), (1, 60), "they are merged away");
                let took = env.update(|txn| a.put_if_absent(txn, 30, 3)).unwrap();
                assert!(took);
                env.update(|txn| a.delete(txn, 30)).unwrap();
            }
            _ => {}
        }
    }
}
