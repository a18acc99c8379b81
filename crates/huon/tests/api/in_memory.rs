//! Environments in memory: all of the interface, and nothing of them outside of the process.

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use huon::{
    Bytes, Closed, CompactOptions, CopyOptions, Durability, Env, Error, Recovery, Str, TableDef,
    U64,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn put(env: &Env, n: u64, value: &[u8]) {
    env.update(|txn| txn.create_table(&T)?.put(txn, n, value).map(drop)).unwrap();
}

fn get(env: &Env, n: u64) -> Option<Vec<u8>> {
    env.view(|txn| match txn.open_table(&T)? {
        Some(t) => Ok(t.get(txn, n)?.map(<[u8]>::to_vec)),
        None => Ok(None),
    })
    .unwrap()
}

/// It has all that it has in a file: tables, nested transactions, snapshots, reports.
#[test]
fn it_is_an_environment_like_any_other() {
    let env = Env::in_memory().unwrap();
    assert_eq!((env.recovery(), env.path()), (Recovery::New, Path::new("")));
    for n in 0..200 {
        put(&env, n, &[n as u8; 3000]);
    }
    let before = env.read().unwrap();
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        let undone = txn.nested(|txn| {
            t.clear(txn)?;
            Err::<(), _>(Error::Invalid("undo it"))
        });
        assert!(undone.is_err());
        for n in 0..100 {
            t.remove(txn, n)?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(get(&env, 7), None);
    assert_eq!(get(&env, 107), Some(vec![107; 3000]));
    let t = before.open_table(&T).unwrap().unwrap();
    assert_eq!(t.get(&before, 7).unwrap(), Some(&[7; 3000][..]));
    assert_eq!(env.info().unwrap().readers.len(), 1);
    drop(before);
    let records: Vec<_> = env.stat().unwrap().tables.iter().map(|table| table.entries).collect();
    assert_eq!(records, [1, 100], "the table in the main one, and its records");
    let report = env.compact(CompactOptions::new()).unwrap();
    assert!(report.after_bytes < report.before_bytes, "{report:?}");
    assert_eq!(env.info().unwrap().file_bytes, report.after_bytes);
    assert!(env.check().unwrap().is_clean());
    assert_eq!(get(&env, 107), Some(vec![107; 3000]));
    assert_eq!(env.close().unwrap(), Closed::Fully);
}

#[test]
fn each_call_makes_another_one() {
    let (one, two) = (Env::in_memory().unwrap(), Env::in_memory().unwrap());
    put(&one, 1, b"one");
    assert_eq!(get(&two, 1), None);
    put(&two, 1, b"two");
    assert_eq!((get(&one, 1), get(&two, 1)), (Some(b"one".to_vec()), Some(b"two".to_vec())));
    assert_ne!(one.info().unwrap().uuid, two.info().unwrap().uuid);
}

/// A clone keeps it, and so does a transaction.
#[test]
fn it_lives_as_long_as_the_last_clone_and_transaction() {
    let env = Env::in_memory().unwrap();
    let clone = env.clone();
    put(&env, 1, b"one");
    assert_eq!(env.close().unwrap(), Closed::StillShared);
    put(&clone, 2, b"two");
    let txn = clone.read().unwrap();
    assert_eq!(clone.close().unwrap(), Closed::StillShared);
    let t = txn.open_table(&T).unwrap().unwrap();
    assert_eq!(t.get(&txn, 1).unwrap(), Some(&b"one"[..]));
    assert_eq!(t.get(&txn, 2).unwrap(), Some(&b"two"[..]));
}

/// Writers wait for each other, readers see whole commits, and commits are waited for.
#[test]
fn threads_share_it() {
    const THREADS: u64 = 4;
    const COMMITS: u64 = 100;
    let env = Env::in_memory().unwrap();
    let start = env.read().unwrap().id();
    let ready = Barrier::new(THREADS as usize + 2);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (env, ready) = (&env, &ready);
            scope.spawn(move || {
                ready.wait();
                for n in 0..COMMITS {
                    let key = n * THREADS + thread;
                    let durability =
                        if n % 2 == 0 { Durability::Durable } else { Durability::Lazy };
                    let mut txn = env.write().unwrap();
                    let t = txn.create_table(&T).unwrap();
                    // Two records that are always equal.
                    t.put(&mut txn, key, &key.to_be_bytes()).unwrap();
                    t.put(&mut txn, u64::MAX, &key.to_be_bytes()).unwrap();
                    t.put(&mut txn, u64::MAX - 1, &key.to_be_bytes()).unwrap();
                    txn.commit_with(durability).unwrap();
                }
            });
        }
        let (env, ready) = (&env, &ready);
        scope.spawn(move || {
            ready.wait();
            let mut seen = start;
            loop {
                let newest = env.wait_for_commit(seen, Duration::from_secs(60)).unwrap();
                seen = newest.expect("a commit within a minute");
                let txn = env.read().unwrap();
                let t = txn.open_table(&T).unwrap().expect("it is there since the first commit");
                let last = t.get(&txn, u64::MAX).unwrap();
                assert_eq!(last, t.get(&txn, u64::MAX - 1).unwrap());
                if t.len(&txn).unwrap() == THREADS * COMMITS + 2 {
                    return;
                }
            }
        });
        ready.wait();
    });
    assert!(env.check().unwrap().is_clean());
    let info = env.info().unwrap();
    assert_eq!((info.io.commits, info.clients), (THREADS * COMMITS, 1));
}

/// A commit means to others what it always means; only the disk is not waited for.
#[test]
fn a_durable_commit_is_durable_without_a_flush() {
    let env = Env::in_memory().unwrap();
    let commit = |durability: Durability| {
        let mut txn = env.write().unwrap();
        txn.create_table(&T).unwrap().put(&mut txn, 1, &[durability as u8; 100]).unwrap();
        txn.commit_with(durability).unwrap()
    };
    let id = commit(Durability::Durable);
    assert_eq!(env.durable_id(), id);
    let lazy = commit(Durability::Lazy);
    assert!(env.durable_id() < lazy);
    assert_eq!(env.sync().unwrap(), lazy);
    // One that is too large for a single flush.
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..500).try_for_each(|n| t.put(txn, n, &[2; 6000]).map(drop))
    })
    .unwrap();
    let info = env.info().unwrap();
    assert_eq!((info.durable, info.io.flushes), (info.newest, 0));
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_copy_of_it_is_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::in_memory().unwrap();
    (0..300).for_each(|n| put(&env, n, &[n as u8; 500]));
    for compact in [false, true] {
        let path = dir.path().join(format!("{compact}.huon"));
        env.copy_to(&path, CopyOptions::new().compact(compact)).unwrap();
        let copy = Env::open(&path).unwrap();
        (0..300).for_each(|n| assert_eq!(get(&copy, n), Some(vec![n as u8; 500])));
        assert!(copy.check().unwrap().is_clean());
    }
    let mut bytes = Vec::new();
    env.copy_to_writer(&mut bytes, CopyOptions::new()).unwrap();
    let path = dir.path().join("written.huon");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(get(&Env::open(&path).unwrap(), 299), Some(vec![43; 500]));
    let file = std::fs::File::create(dir.path().join("descriptor.huon")).unwrap();
    env.copy_to_fd(&file, CopyOptions::new()).unwrap();
    assert_eq!(get(&Env::open(dir.path().join("descriptor.huon")).unwrap(), 0), Some(vec![0; 500]));
}

/// A full one refuses, undoes the transaction, and goes on.
#[test]
fn max_bytes_is_its_limit() {
    let env = Env::options().max_bytes(1 << 20).open_in_memory().unwrap();
    put(&env, 0, b"there before");
    let fill = || {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            (1..1000).try_for_each(|n| t.put(txn, n, &[1; 2000]).map(drop))
        })
    };
    for _ in 0..3 {
        assert!(matches!(fill(), Err(Error::MapFull(_))));
    }
    assert_eq!((get(&env, 0), get(&env, 1)), (Some(b"there before".to_vec()), None));
    put(&env, 1, &[1; 2000]);
    let info = env.info().unwrap();
    assert!(info.file_bytes <= 1 << 20 && info.max_bytes == 1 << 20, "{info:?}");
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn other_options_hold_and_those_of_files_that_are_there_are_refused() {
    let env = Env::options()
        .page_bytes(1024)
        .min_bytes(256 << 10)
        .durability(Durability::Lazy)
        .exclusive(true)
        .open_in_memory()
        .unwrap();
    let info = env.info().unwrap();
    assert_eq!((info.page_bytes, env.durability()), (1024, Durability::Lazy));
    assert!(info.file_bytes >= 256 << 10);
    put(&env, 1, b"lazily");
    assert!(env.durable_id() < env.info().unwrap().newest);
    let refused = [
        Env::options().read_only(true).open_in_memory(),
        Env::options().create(false).open_in_memory(),
        Env::options().meta_slot(0).open_in_memory(),
        Env::options().page_bytes(1000).open_in_memory(),
    ];
    for refused in refused {
        assert!(matches!(refused.unwrap_err(), Error::Invalid(_)));
    }
}

#[test]
fn typed_tables_take_and_give_what_they_say() {
    const STOCK: TableDef<Str, U64> = TableDef::new("stock");
    let env = Env::in_memory().unwrap();
    let stock = env.table(&STOCK).unwrap();
    env.update(|txn| {
        txn.create_table(&STOCK)?;
        stock.put(txn, "apple", 3)
    })
    .unwrap();
    assert_eq!(stock.get(&env.read().unwrap(), "apple").unwrap(), Some(3));
}
