//! The list of names, and a transaction with many open tables.

use crate::sim::SimDisk;
use crate::{Env, Error, ReadTxn, Str, Table, TableDef, U64};

fn env(disk: &SimDisk) -> Env {
    Env::options().page_bytes(512).max_bytes(64 << 20).open_simulated(disk).unwrap()
}

fn disk() -> SimDisk {
    SimDisk::new(64 << 20).unwrap()
}

fn def(n: u64) -> TableDef<Str, U64> {
    TableDef::named(format!("t{n}"))
}

fn make(env: &Env, n: u64) -> Table<Str, U64> {
    env.update(|txn| {
        let t = txn.create_table(&def(n))?;
        t.put(txn, "n", n)?;
        Ok(t)
    })
    .unwrap()
}

/// Names with numbers, and places that ever had one.
fn counts(env: &Env) -> (usize, usize) {
    env.core().unwrap().names.counts()
}

/// How often the book is locked while `act` runs.
fn locks(txn: &ReadTxn, act: impl FnOnce(&ReadTxn)) -> usize {
    let before = txn.core().names.locks();
    act(txn);
    txn.core().names.locks() - before
}

#[test]
fn what_is_missing_takes_no_number() {
    let disk = disk();
    let env = env(&disk);
    let (reader, writer) = (env.read().unwrap(), env.write().unwrap());
    for n in 0..1000 {
        assert!(reader.open_table(&def(n)).unwrap().is_none());
        assert!(writer.open_table(&def(n)).unwrap().is_none());
    }
    assert_eq!(counts(&env), (0, 0));
}

#[test]
fn numbers_of_dropped_tables_are_given_out_again() {
    let disk = disk();
    let env = env(&disk);
    for n in 0..5000 {
        let t = make(&env, n);
        env.update(|txn| t.drop_table(txn)).unwrap();
        // A nested transaction that is undone makes no table, and neither does an abort.
        let mut txn = env.write().unwrap();
        let undone = txn.nested(|child| {
            child.create_table(&def(n + 1_000_000))?;
            Err::<(), _>(Error::Invalid("undone"))
        });
        assert!(undone.is_err());
        txn.create_table(&def(n + 2_000_000)).unwrap();
    }
    let (names, places) = counts(&env);
    assert!(names < 300 && places < 400, "{names} names, {places} places");
}

#[test]
fn a_name_that_is_made_again_keeps_its_number() {
    let disk = disk();
    let env = env(&disk);
    let first = make(&env, 7);
    for _ in 0..1000 {
        env.update(|txn| first.drop_table(txn)).unwrap();
        assert_eq!(make(&env, 7).id, first.id);
    }
    assert_eq!(counts(&env), (1, 1));
}

/// While a transaction can show a table, its handle finds it there.
#[test]
fn what_an_open_snapshot_shows_keeps_its_number() {
    let disk = disk();
    let env = env(&disk);
    let tables: Vec<_> = (0..300).map(|n| make(&env, n)).collect();
    let reader = env.read().unwrap();
    for t in &tables {
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    for n in 1000..3000 {
        let t = make(&env, n);
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    for (n, t) in tables.iter().enumerate() {
        assert_eq!(t.get(&reader, "n").unwrap(), Some(n as u64));
    }
    // Numbers of tables that the reader could never see were released all the same.
    assert!(counts(&env).1 < 300 + 2 * 300 + 300, "{:?}", counts(&env));
    drop(reader);
    for n in 3000..5000 {
        let t = make(&env, n);
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    assert!(counts(&env).0 < 300, "{:?}", counts(&env));
    let txn = env.read().unwrap();
    assert!(tables.iter().all(|t| matches!(t.get(&txn, "n"), Err(Error::TableNotFound))));
}

#[test]
fn a_writer_keeps_the_number_of_a_table_that_it_makes_again() {
    let disk = disk();
    let env = env(&disk);
    let gone: Vec<_> = (0..1000).map(|n| make(&env, n)).collect();
    for t in &gone {
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    let mut txn = env.write().unwrap();
    let made: Vec<_> = (0..1000).map(|n| txn.create_table(&def(n)).unwrap()).collect();
    for n in 0..1000 {
        // New names make it look for numbers to give back, in a nested transaction too.
        txn.nested(|child| child.create_table(&def(10_000 + n)).map(drop)).unwrap();
        made[n as usize].put(&mut txn, "n", n).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    for (n, t) in made.iter().enumerate() {
        assert_eq!(t.get(&txn, "n").unwrap(), Some(n as u64));
    }
}

#[test]
fn an_open_table_is_opened_again_without_a_lock() {
    let disk = disk();
    let env = env(&disk);
    let defs: Vec<_> = (0..2000).map(def).collect();
    env.update(|txn| defs.iter().try_for_each(|def| txn.create_table(def).map(drop))).unwrap();
    // Once more, for the hints that grew meanwhile.
    for def in &defs {
        assert!(env.read().unwrap().open_table(def).unwrap().is_some());
    }
    let txn = env.read().unwrap();
    let is_there = |txn: &ReadTxn, def| txn.open_table(def).unwrap().is_some();
    let all = locks(&txn, |txn| assert!(defs.iter().all(|def| is_there(txn, def))));
    assert!(all < 40, "{all} of 2000: names that lie too close to each other");
    let few = &defs[..4];
    assert!(few.iter().all(|def| is_there(&txn, def)));
    let hits = locks(&txn, |txn| {
        for _ in 0..1000 {
            let t = txn.open_table(&few[3]).unwrap().unwrap();
            assert_eq!(t.get(txn, "n").unwrap(), None);
        }
    });
    assert_eq!(hits, 0);
}

/// A handle finds its table in each new transaction without a lock.
#[test]
fn a_handle_is_used_without_a_lock() {
    let disk = disk();
    let env = env(&disk);
    let tables: Vec<_> = (0..100).map(|n| make(&env, n)).collect();
    let before = env.core().unwrap().names.locks();
    for _ in 0..10 {
        let txn = env.read().unwrap();
        for (n, t) in tables.iter().enumerate() {
            assert_eq!(t.get(&txn, "n").unwrap(), Some(n as u64));
        }
        env.update(|txn| tables[1].put(txn, "n", 1).map(drop)).unwrap();
    }
    assert_eq!(env.core().unwrap().names.locks(), before);
}

/// The work of a transaction follows the tables that it touched, however many are open.
#[test]
fn a_transaction_knows_of_the_tables_that_it_touched() {
    let disk = disk();
    let env = env(&disk);
    let tables: Vec<_> = (0..2000).map(|n| make(&env, n)).collect();
    let mut txn = env.write().unwrap();
    let last = tables[1999];
    last.put(&mut txn, "n", 1).unwrap();
    assert_eq!(txn.tables_touched(), (1, 0));
    for n in 0..100 {
        // A nested transaction saves what it changes, once, and nothing stays of it.
        txn.nested(|child| {
            (0..10).try_for_each(|n| last.put(child, "m", n).map(drop))?;
            child.nested(|inner| last.put(inner, "m", 7).map(drop))?;
            last.put(child, "m", n)?;
            assert_eq!(child.tables_touched(), (1, 1));
            Ok(())
        })
        .unwrap();
        assert_eq!(txn.tables_touched(), (1, 0));
    }
    let undone = txn.nested(|child| {
        tables.iter().try_for_each(|t| t.put(child, "n", 0).map(drop))?;
        tables[3].drop_table(child)?;
        Err::<(), _>(Error::Invalid("undone"))
    });
    assert!(undone.is_err());
    assert_eq!(last.get(&txn, "m").unwrap(), Some(99));
    assert_eq!(tables[3].get(&txn, "n").unwrap(), Some(3));
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    for (n, t) in tables[..1999].iter().enumerate() {
        assert_eq!(t.get(&txn, "n").unwrap(), Some(n as u64));
    }
}

#[test]
fn a_name_that_the_program_gave_keeps_its_place() {
    let disk = disk();
    let env = env(&disk);
    let early = env.table(&def(0)).unwrap();
    for n in 1..1000 {
        let t = make(&env, n);
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    let t = make(&env, 0);
    env.update(|txn| t.drop_table(txn)).unwrap();
    for n in 1..1000 {
        let t = make(&env, n);
        env.update(|txn| t.drop_table(txn)).unwrap();
    }
    make(&env, 0);
    assert_eq!(early.get(&env.read().unwrap(), "n").unwrap(), Some(0));
    let child = crate::txn::names::Names::inherited(&env.core().unwrap().names).unwrap();
    assert_eq!(child.pinned(), 1, "in a forked child, too");
}
