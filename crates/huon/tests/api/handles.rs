//! Handles of tables that come and go, by the hundred thousand.

use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use huon::{Bytes, Durability, Env, Error, MultiDef, Order, ReadTxn, Str, Table, TableDef, U64};

/// More than any environment gave numbers to before they were given back.
const CYCLES: u64 = 100_000;

fn env(dir: &tempfile::TempDir) -> Env {
    Env::options().durability(Durability::Unsynced).open(dir.path().join("a.huon")).unwrap()
}

fn def(n: u64) -> TableDef<Str, U64> {
    TableDef::named(format!("table-{n}"))
}

/// Makes a table that holds its own number.
fn make(env: &Env, n: u64) -> Table<Str, U64> {
    env.update(|txn| {
        let t = txn.create_table(&def(n))?;
        t.put(txn, "n", n)?;
        Ok(t)
    })
    .unwrap()
}

fn drop_table(env: &Env, t: Table<Str, U64>) {
    assert!(env.update(|txn| t.drop_table(txn)).unwrap());
}

/// What a handle reads: the number in its table, or that the table is missing.
fn found(t: Table<Str, U64>, txn: &ReadTxn) -> Option<u64> {
    match t.get(txn, "n") {
        Ok(found) => Some(found.expect("each table holds its number")),
        Err(Error::TableNotFound) => None,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn names_that_do_not_exist_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let reader = env.read().unwrap();
    for n in 0..CYCLES {
        assert!(reader.open_table(&def(n)).unwrap().is_none());
    }
    let many = MultiDef::<Bytes, U64>::new("many");
    for n in 0..1000 {
        assert!(env.read().unwrap().open_table(&many).unwrap().is_none());
        let txn = env.write().unwrap();
        assert!(
            txn.open_table(&def(n)).unwrap().is_none() && txn.open_table(&many).unwrap().is_none()
        );
    }
    let t = make(&env, 7);
    assert_eq!(found(t, &env.read().unwrap()), Some(7));
    assert_eq!(found(t, &reader), None);
}

#[test]
fn tables_are_made_and_dropped_without_end() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let kept = make(&env, u64::MAX);
    // A snapshot that is read for all that time.
    let early = make(&env, 0);
    let reader = env.read().unwrap();
    drop_table(&env, early);
    let mut stale = Vec::new();
    for n in 1..=CYCLES {
        let t = make(&env, n);
        drop_table(&env, t);
        if n % 1000 == 1 {
            stale.push(t);
        }
        if n % 1000 == 0 {
            let txn = env.read().unwrap();
            assert!(stale.iter().all(|t| found(*t, &txn).is_none()));
            assert_eq!(found(kept, &txn), Some(u64::MAX));
        }
    }
    // The handle is used there for the first time.
    assert_eq!(found(early, &reader), Some(0));
    assert_eq!(found(kept, &reader), Some(u64::MAX));
    // Other tables under other names do not answer for those that are gone.
    let others: Vec<_> = (0..1000).map(|n| make(&env, CYCLES + 1 + n)).collect();
    let txn = env.read().unwrap();
    assert!(stale.iter().all(|t| found(*t, &txn).is_none()));
    for (n, t) in others.iter().enumerate() {
        assert_eq!(found(*t, &txn), Some(CYCLES + 1 + n as u64));
    }
    let mut txn = env.write().unwrap();
    for t in stale {
        assert!(matches!(t.put(&mut txn, "n", 1), Err(Error::TableNotFound)));
        assert!(!t.drop_table(&mut txn).is_ok_and(|dropped| dropped));
    }
    txn.commit().unwrap();
}

#[test]
fn tables_that_were_never_committed_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let kept = make(&env, u64::MAX);
    for n in 0..CYCLES / 100 {
        let mut txn = env.write().unwrap();
        for of_txn in 0..100 {
            let n = 100 * n + of_txn;
            let failed = txn.nested(|child| {
                let t = child.create_table(&def(n))?;
                t.put(child, "n", n)?;
                Err::<(), _>(Error::Invalid("undone"))
            });
            assert!(failed.is_err());
            txn.create_table(&def(n)).unwrap().put(&mut txn, "n", n).unwrap();
        }
        txn.abort();
    }
    assert_eq!(found(kept, &env.read().unwrap()), Some(u64::MAX));
    assert_eq!(env.read().unwrap().table_names().unwrap().len(), 1);
}

/// Another environment, as another process is, makes the tables and drops them.
#[test]
fn tables_that_others_drop_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (env, other) = (env(&dir), env(&dir));
    let kept = make(&other, u64::MAX);
    let seen = env.read().unwrap().open_table(&def(u64::MAX)).unwrap().unwrap();
    let mut stale = Vec::new();
    for n in 0..CYCLES / 2 {
        let made = make(&other, n);
        let t = env.read().unwrap().open_table(&def(n)).unwrap().unwrap();
        assert_eq!(found(t, &env.read().unwrap()), Some(n));
        drop_table(&other, made);
        if n % 1000 == 0 {
            stale.push(t);
        }
    }
    let txn = env.read().unwrap();
    assert!(stale.iter().all(|t| found(*t, &txn).is_none()));
    assert_eq!(found(seen, &txn), Some(u64::MAX));
    assert_eq!(found(kept, &other.read().unwrap()), Some(u64::MAX));
}

#[test]
fn a_handle_never_shows_another_table() {
    const TABLES: u64 = 400;
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (env, done) = (&env, &done);
            scope.spawn(move || {
                let mut handles: Vec<(u64, Table<Str, U64>)> = Vec::new();
                let mut n = thread;
                while !done.load(Atomic::Relaxed) {
                    n = (n * 5 + 7 + thread) % TABLES;
                    let txn = env.read().unwrap();
                    if let Some(t) = txn.open_table(&def(n)).unwrap() {
                        assert_eq!(found(t, &txn), Some(n), "it was found in this snapshot");
                        handles.push((n, t));
                    }
                    for (n, t) in &handles {
                        let found = found(*t, &txn);
                        assert!(found.is_none_or(|found| found == *n), "{n} shows {found:?}");
                    }
                    if handles.len() > 100 {
                        handles.drain(..50);
                    }
                }
            });
        }
        for round in 0..40 {
            let made: Vec<_> = (0..TABLES).filter(|n| n % 3 == round % 3).collect();
            let made: Vec<_> = made.into_iter().map(|n| make(&env, n)).collect();
            made.into_iter().for_each(|t| drop_table(&env, t));
        }
        done.store(true, Atomic::Relaxed);
    });
}

#[test]
fn names_of_any_length_are_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let lengths = [1, 7, 8, 9, 63, 64, 65, 66, 200, 1000];
    let name = |len: usize, last: u8| [vec![b'n'; len - 1], vec![last]].concat();
    for round in 0..3 {
        for len in lengths {
            for last in *b"ab" {
                let def = TableDef::<Str, U64>::named(name(len, last));
                let n = len as u64 * 256 + u64::from(last);
                let t = env
                    .update(|txn| {
                        let t = txn.create_table(&def)?;
                        t.put(txn, "n", n)?;
                        Ok(t)
                    })
                    .unwrap();
                assert_eq!(found(t, &env.read().unwrap()), Some(n));
                let again = env.read().unwrap().open_table(&def).unwrap().unwrap();
                assert_eq!(format!("{again:?}"), format!("{t:?}"), "round {round}: one number");
            }
        }
    }
}

#[test]
fn a_handle_made_before_its_table_finds_it_empty_until_it_is_there() {
    const EARLY: TableDef<Str, U64> = TableDef::new("early");
    const TAGS: MultiDef<Str, U64> = MultiDef::new("tags");
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let (early, tags) = (env.table(&EARLY).unwrap(), env.table(&TAGS).unwrap());
    let before = env.read().unwrap();
    assert_eq!(early.get(&before, "a").unwrap(), None);
    assert_eq!(early.iter(&before).unwrap().count(), 0);
    assert_eq!(early.range(&before, "a"..).unwrap().count(), 0);
    assert_eq!(early.len(&before).unwrap() + tags.len(&before).unwrap(), 0);
    assert_eq!(tags.values(&before, "a").unwrap().count(), 0);
    let refused = env.update(|txn| early.put(txn, "a", 1));
    assert!(matches!(refused, Err(Error::TableNotFound)));

    for round in 0..3 {
        env.update(|txn| {
            txn.create_table(&EARLY)?;
            txn.create_table(&TAGS)?;
            early.put(txn, "a", round)?;
            tags.put(txn, "a", round)
        })
        .unwrap();
        let txn = env.read().unwrap();
        assert_eq!(early.get(&txn, "a").unwrap(), Some(round));
        assert_eq!(tags.get(&txn, "a").unwrap(), Some(round));
        assert_eq!(early.get(&before, "a").unwrap(), None, "the old snapshot");
        // Whatever other tables come and go, the name keeps its place.
        drop(txn);
        env.update(|txn| {
            early.drop_table(txn)?;
            tags.drop_table(txn)
        })
        .unwrap();
        for n in 0..300 {
            let def = TableDef::<Str, U64>::named(format!("other {n}"));
            env.update(|txn| txn.create_table(&def).map(drop)).unwrap();
            env.update(|txn| txn.open_table(&def)?.expect("it is there").drop_table(txn)).unwrap();
        }
        assert_eq!(early.get(&env.read().unwrap(), "a").unwrap(), None);
    }
}

#[test]
fn a_handle_made_before_its_table_refuses_one_of_another_kind() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let early = env.table(&TableDef::<Str, U64>::new("t")).unwrap();
    env.update(|txn| txn.create_table(&MultiDef::<Str, U64>::new("t")).map(drop)).unwrap();
    assert!(matches!(early.get(&env.read().unwrap(), "a"), Err(Error::TableKind)));
    env.update(|txn| {
        let main = txn.create_table(&TableDef::<Str, Str>::main())?;
        main.put(txn, "record", "not a table").map(drop)
    })
    .unwrap();
    let record = env.table(&TableDef::<Str, U64>::new("record")).unwrap();
    assert!(matches!(record.get(&env.read().unwrap(), "a"), Err(Error::NameTaken)));
}

#[test]
fn each_refusal_of_a_name_or_an_order_has_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let main = txn.create_table(&TableDef::<Str, Str>::main()).unwrap();
    main.put(&mut txn, "record", "1").unwrap();
    let record = TableDef::<Str, Str>::new("record");
    assert!(matches!(txn.open_table(&record), Err(Error::NameTaken)));
    assert!(matches!(txn.create_table(&record), Err(Error::NameTaken)));

    let order = Order::custom("by-length", |a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    let def = TableDef::<Str, Str>::new("t");
    let t = txn.create_table(&TableDef::<Str, Str>::new("t").ordered(order)).unwrap();
    t.put(&mut txn, "key", "value").unwrap();
    assert!(matches!(main.put(&mut txn, "t", "1"), Err(Error::NameTaken)));
    assert!(matches!(main.remove(&mut txn, "t"), Err(Error::NameTaken)));
    assert!(matches!(main.clear(&mut txn), Err(Error::TablesInside)));
    assert!(matches!(main.remove_range(&mut txn, ..), Err(Error::TablesInside)));
    assert!(matches!(txn.open_table(&def), Err(Error::TableKind)));
    assert!(matches!(t.prefix(&txn, "k"), Err(Error::PrefixOrder)));
    let stored = txn.open_table(&def.ordered(Order::Stored)).unwrap().unwrap();
    assert_eq!(stored.iter(&txn).unwrap().count(), 1);
    assert!(matches!(stored.get(&txn, "key"), Err(Error::OrderUnknown)));
    assert!(matches!(stored.put(&mut txn, "key", "2"), Err(Error::OrderUnknown)));
    txn.commit().unwrap();
}

/// A record of the main table may take the name of a table that the transaction has dropped, or has
/// looked for in vain.
#[test]
fn a_record_takes_the_name_of_a_table_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let def = TableDef::<Bytes, Bytes>::new("t");
    for there in [true, false] {
        let mut txn = env.write().unwrap();
        let main = txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap();
        if there {
            let t = txn.create_table(&def).unwrap();
            assert!(t.drop_table(&mut txn).unwrap());
        } else {
            assert!(txn.open_table(&def).unwrap().is_none());
        }
        main.put(&mut txn, b"t", b"a record").unwrap();
        assert!(matches!(txn.open_table(&def), Err(Error::NameTaken)), "there: {there}");
        assert!(matches!(txn.table_stat(b"t"), Err(Error::NameTaken)));
        assert!(matches!(txn.create_table(&def), Err(Error::NameTaken)));
        assert!(main.remove(&mut txn, b"t").unwrap());
        assert!(txn.open_table(&def).unwrap().is_none());
        txn.create_table(&def).unwrap();
        txn.abort();
    }
}
