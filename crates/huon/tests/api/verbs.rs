//! The same verbs for tables and multimaps, and what they say.

use std::ops::Bound;

use huon::{Env, Error, Multi, MultiDef, Str, Table, TableDef, U64, WriteTxn};

fn env(dir: &tempfile::TempDir) -> Env {
    Env::options().open(dir.path().join("a.huon")).unwrap()
}

/// A table and a multimap with the same records.
fn both(txn: &mut WriteTxn, records: u64) -> (Table<U64, U64>, Multi<U64, U64>) {
    let t = txn.create_table(&TableDef::new("t")).unwrap();
    let m = txn.create_table(&MultiDef::new("m")).unwrap();
    for n in 0..records {
        assert!(t.put(txn, n, n * n).unwrap() && m.put(txn, n, n * n).unwrap());
    }
    (t, m)
}

#[test]
fn both_kinds_say_the_same_of_single_records() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let (t, m) = both(&mut txn, 0);
    assert!(t.is_empty(&txn).unwrap() && m.is_empty(&txn).unwrap());
    assert!(t.put_if_absent(&mut txn, 1, 7).unwrap());
    assert!(m.put_if_absent(&mut txn, 1, 7).unwrap());
    assert!(!t.put_if_absent(&mut txn, 1, 8).unwrap());
    assert!(!m.put_if_absent(&mut txn, 1, 8).unwrap());
    assert!(!t.put(&mut txn, 1, 7).unwrap() && !m.put(&mut txn, 1, 7).unwrap());
    assert_eq!((t.get(&txn, 1).unwrap(), m.get(&txn, 1).unwrap()), (Some(7), Some(7)));
    assert_eq!((t.len(&txn).unwrap(), m.len(&txn).unwrap()), (1, 1));
    assert!(t.remove(&mut txn, 1).unwrap() && m.remove(&mut txn, 1, 7).unwrap());
    assert!(!t.remove(&mut txn, 1).unwrap() && !m.remove(&mut txn, 1, 7).unwrap());
    assert!(t.pop_first(&mut txn).unwrap().is_none() && m.pop_last(&mut txn).unwrap().is_none());
}

#[test]
fn both_kinds_count_pop_and_retain() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let (t, m) = both(&mut txn, 2000);
    for (from, to) in [(0, 2000), (5, 5), (700, 1900), (1999, 3000), (9, 3)] {
        let right = (0..2000).filter(|n| (from..to).contains(n)).count() as u64;
        assert_eq!(t.count(&txn, from..to).unwrap(), right, "{from}..{to}");
        assert_eq!(m.count(&txn, from..to).unwrap(), right, "{from}..{to}");
    }
    let all = (Bound::Unbounded, Bound::<u64>::Unbounded);
    assert_eq!((t.count(&txn, all).unwrap(), m.count(&txn, ..).unwrap()), (2000, 2000));

    let (key, value) = t.pop_first(&mut txn).unwrap().unwrap();
    assert_eq!((key.get().unwrap(), value.get().unwrap()), (0, 0));
    let (key, value) = m.pop_last(&mut txn).unwrap().unwrap();
    assert_eq!((key.get().unwrap(), value.get().unwrap()), (1999, 1999 * 1999));
    assert_eq!(t.pop_last(&mut txn).unwrap().unwrap().0.get().unwrap(), 1999);
    assert_eq!(m.pop_first(&mut txn).unwrap().unwrap().0.get().unwrap(), 0);

    // More than are kept in memory at a time, and all of a range.
    let mut seen = Vec::new();
    let keep = |key: u64, value: u64| {
        seen.push(key);
        assert_eq!(value, key * key);
        key.is_multiple_of(3)
    };
    assert_eq!(t.retain(&mut txn, 100..1900, keep).unwrap(), 1200);
    assert!(seen.iter().copied().eq(100..1900), "each once, in order");
    assert_eq!(m.retain(&mut txn, 100..1900, |key, _| key % 3 == 0).unwrap(), 1200);
    assert!(
        t.iter(&txn).unwrap().map(Result::unwrap).eq(m.iter(&txn).unwrap().map(Result::unwrap))
    );
    assert_eq!(t.retain(&mut txn, .., |_, _| false).unwrap(), 798);
    assert_eq!(m.retain(&mut txn, .., |_, _| false).unwrap(), 798);
    assert!(t.is_empty(&txn).unwrap() && m.is_empty(&txn).unwrap());
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn keys_of_a_multimap_in_a_range_and_ranges_of_values() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&MultiDef::<Str, U64>::new("m")).unwrap();
    for (key, count) in [("a", 1), ("ab", 3000), ("b", 20), ("ba", 2)] {
        (0..count).try_for_each(|n| m.put(&mut txn, key, n).map(drop)).unwrap();
    }
    let keys: Result<Vec<_>, _> = m.keys_range(&txn, "ab".."ba").unwrap().collect();
    assert_eq!(keys.unwrap(), [("ab", 3000), ("b", 20)]);
    let keys: Result<Vec<_>, _> = m.keys_prefix(&txn, "b").unwrap().rev().collect();
    assert_eq!(keys.unwrap(), [("ba", 2), ("b", 20)]);
    assert_eq!(m.count(&txn, "a"..="ab").unwrap(), 3001);

    assert_eq!(m.remove_values(&mut txn, "ab", 1000..2500).unwrap(), 1500);
    assert_eq!(m.remove_values(&mut txn, "b", ..).unwrap(), 20);
    assert_eq!(m.remove_values(&mut txn, "none", ..).unwrap(), 0);
    let left: Vec<u64> = m.values(&txn, "ab").unwrap().map(Result::unwrap).collect();
    assert!(left.into_iter().eq((0..1000).chain(2500..3000)));
    assert_eq!(m.keys(&txn).unwrap().count(), 3);
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_change_sees_the_old_value_and_says_what_becomes_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&TableDef::<Str, Str>::new("t")).unwrap();
    let more = |old: Option<&str>, new: &mut huon::Change<Str>| {
        new.set(&format!("{}x", old.unwrap_or_default()))
    };
    for round in 0..3000 {
        assert_eq!(t.update_with(&mut txn, "key", more).unwrap(), round > 0);
    }
    assert_eq!(t.get(&txn, "key").unwrap().map(str::len), Some(3000), "a large value, too");
    assert!(t.update_with(&mut txn, "key", |_, _| Ok(())).unwrap());
    assert_eq!(t.len(&txn).unwrap(), 1);
    let refused = t.update_with(&mut txn, "key", |old, _| {
        assert_eq!(old.map(str::len), Some(3000));
        Err(Error::Invalid("not so"))
    });
    assert!(matches!(refused, Err(Error::Invalid("not so"))));
    assert!(t.update_with(&mut txn, "key", |_, new| new.remove()).unwrap());
    assert!(!t.update_with(&mut txn, "key", |_, new| new.remove()).unwrap());
    assert!(t.is_empty(&txn).unwrap());

    let main = txn.create_table(&TableDef::<Str, Str>::main()).unwrap();
    let refused = main.update_with(&mut txn, "t", |_, new| new.set("a record"));
    assert!(matches!(refused, Err(Error::NameTaken)));
    t.put(&mut txn, "the transaction", "goes on").unwrap();
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}
