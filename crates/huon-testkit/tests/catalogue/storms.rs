//! Many at once: opening and closing, reading while others write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use huon::{Durability, TableDef, U64};
use huon_testkit::random::Random;
use huon_testkit::{figures, scale};

use super::child::{self, Child, say};
use super::{Place, assert_clean, small};

const COUNTS: TableDef<U64, U64> = TableDef::new("counts");

/// One more for this process, in an environment opened for it.
fn open_count_close(path: &std::path::Path, me: u64, ending: u64) -> u64 {
    let env = small().open(path).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&COUNTS).unwrap();
    let count = t.get(&txn, me).unwrap().unwrap_or(0) + 1;
    t.put(&mut txn, me, count).unwrap();
    txn.commit_with(if ending.is_multiple_of(3) { Durability::Durable } else { Durability::Lazy })
        .unwrap();
    let reader = env.read().unwrap();
    assert_eq!(t.get(&reader, me).unwrap(), Some(count));
    match ending % 4 {
        0 => drop(env.close().unwrap()),
        1 => env.close_without_flush(),
        2 => drop((env, reader)),
        // The reader outlives the handle, and ends in another thread.
        _ => {
            drop(env);
            std::thread::spawn(move || drop(reader)).join().unwrap();
        }
    }
    count
}

/// OpenLDAP's LMDB (2020 to 2023) had races between the last process that closes a file and the
/// next that opens it, in the change and in the change back. Here processes do nothing but open,
/// write one record and close, in all ways, and some are killed.
#[test]
fn opening_and_closing_by_many_processes() {
    let name = "storms::opening_and_closing_by_many_processes";
    if let Some(part) = child::part() {
        let me: u64 = part.parse().unwrap();
        let mut random = Random::new(me);
        say("begun");
        while child::listen().is_some() {
            let mut count = 0;
            for _ in 0..20 {
                count = open_count_close(&child::path(), me, random.next());
            }
            say(&count.to_string());
        }
        return;
    }
    let place = Place::new();
    let rounds = scale::share(80);
    let (mut random, mut kills, mut next) = (Random::new(7), 0, 0);
    let start = |next: &mut u64| {
        *next += 1;
        let mut child = Child::start(name, &next.to_string(), &place.path);
        assert_eq!(child.hear(), "begun");
        (child, *next, 0)
    };
    let mut children: Vec<(Child, u64, u64)> = (0..6).map(|_| start(&mut next)).collect();
    let mut ended = Vec::new();
    for _ in 0..rounds {
        children.iter_mut().for_each(|(child, ..)| child.tell("go"));
        let victim = random.index(children.len() * 2);
        for (n, (child, _, count)) in children.iter_mut().enumerate() {
            if n != victim {
                *count += 20;
                assert_eq!(child.hear(), count.to_string(), "no record was lost");
            }
        }
        if victim < children.len() {
            let (child, me, count) = children.remove(victim);
            child.kill();
            ended.push((me, count, true));
            kills += 1;
            children.push(start(&mut next));
        }
    }
    for (child, me, count) in children {
        child.finish();
        ended.push((me, count, false));
    }
    let env = small().open(&place.path).unwrap();
    assert_clean(&env, "after the storm");
    let txn = env.read().unwrap();
    let t = txn.open_table(&COUNTS).unwrap().unwrap();
    for (me, count, killed) in ended {
        let found = t.get(&txn, me).unwrap().unwrap_or(0);
        let most = if killed { count + 20 } else { count };
        assert!((count..=most).contains(&found), "{me}: {found} of {count}, killed: {killed}");
    }
    assert!(kills > 0);
    assert_eq!(env.info().unwrap().clients, 1, "the dead are no clients");
    assert_eq!(env.info().unwrap().readers.len(), 1);
}

/// The same with threads of one process, where descriptors are given out again at once.
#[test]
fn opening_and_closing_by_many_threads() {
    let place = Place::new();
    let rounds = scale::share(1500);
    std::thread::scope(|scope| {
        for me in 0..6 {
            let path = &place.path;
            scope.spawn(move || {
                let mut random = Random::new(me);
                for round in 1..=rounds {
                    assert_eq!(open_count_close(path, me, random.next()), round);
                }
            });
        }
    });
    let env = small().open(&place.path).unwrap();
    assert_clean(&env, "after the storm");
    assert_eq!(env.info().unwrap().clients, 1);
}

/// bbolt (2025) read its meta page through the map while another thread was writing it. Here
/// readers look at nothing but whole snapshots while a writer commits, and see each one whole and
/// in order.
#[test]
fn readers_look_while_a_writer_commits() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let table = TableDef::<U64, U64>::new("equal");
    let t = env.update(|txn| txn.create_table(&table)).unwrap();
    let (done, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    let commits = scale::share(300_000);
    std::thread::scope(|scope| {
        for second in [false, true] {
            let (done, looks, path) = (&done, &looks, &place.path);
            let own = if second { small().open(path).unwrap() } else { env.clone() };
            scope.spawn(move || {
                let (mut last, mut seen) = (0, 0);
                while !done.load(Relaxed) || seen == 0 {
                    let txn = own.read().unwrap();
                    let Some(t) = txn.open_table(&table_of()).unwrap() else { continue };
                    let values: Vec<u64> =
                        t.iter(&txn).unwrap().map(|record| record.unwrap().1).collect();
                    assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "{values:?}");
                    let now = values.first().copied().unwrap_or(0);
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                    seen += 1;
                }
                looks.fetch_add(seen, Relaxed);
            });
        }
        for commit in 1..=commits {
            let mut txn = env.write().unwrap();
            (0..12).for_each(|n| t.put(&mut txn, n, commit).map(drop).unwrap());
            txn.commit().unwrap();
        }
        done.store(true, Relaxed);
    });
    assert_clean(&env, "after the commits");
    assert!(looks.load(Relaxed) > 100);
    figures::add("model", commits + looks.load(Relaxed));
}

fn table_of() -> TableDef<U64, U64> {
    TableDef::new("equal")
}
