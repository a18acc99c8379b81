//! The same verbs for tables and multimaps, and what they say.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use huon::{Bytes, Env, Error, Multi, MultiDef, Order, Str, Table, TableDef, U64, WriteTxn};

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

/// A change looks and stores on one way down: keys are compared as often as in one lookup, while
/// two would take twice as many.
#[test]
fn a_change_of_a_value_is_one_descent_in_both_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let comparisons = Arc::new(AtomicU64::new(0));
    let counter = comparisons.clone();
    let order = Order::custom("counted", move |a, b| {
        counter.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    });
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&TableDef::<U64, U64>::new("t").ordered(order.clone())).unwrap();
    let m = txn.create_table(&MultiDef::<U64, U64>::new("m").ordered(order)).unwrap();
    for n in 0..10_000 {
        assert!(t.put(&mut txn, 2 * n, n).unwrap() && m.put(&mut txn, 2 * n, n).unwrap());
    }
    let count = || comparisons.swap(0, Ordering::Relaxed);
    for key in [2, 4_000, 11_112, 19_000, 7_778] {
        count();
        t.get(&txn, key).unwrap();
        let lookup = count();
        // Its place is free where the key is put again: no page is split.
        for round in 0..4 {
            let change = |old: Option<u64>, new: &mut huon::Change<U64>| match round {
                2 => new.remove(),
                _ => new.set(old.unwrap_or(0) + 1),
            };
            t.update_with(&mut txn, key, change).unwrap();
            let (in_table, what) = (count(), format!("{key}, round {round}"));
            assert!(in_table < 2 * lookup, "{what}: {in_table} for {lookup}");
            m.update_with(&mut txn, key, change).unwrap();
            let in_multi = count();
            assert!(in_multi < 2 * lookup, "{what}: {in_multi} for {lookup}");
        }
    }
    assert_eq!((t.len(&txn).unwrap(), m.len(&txn).unwrap()), (10_000, 10_000));
    txn.commit().unwrap();
}

/// Where values were put last leads nowhere in the next transaction, however many pages that one
/// has touched before it comes to the same key.
#[test]
fn no_transaction_goes_on_where_the_one_before_put_values() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let (t, m) = both(&mut txn, 20_000);
    (0..2000).try_for_each(|n| m.put(&mut txn, 7, 10 * n).map(drop)).unwrap();
    txn.commit().unwrap();
    let mut next = 0;
    for touched in 0..60 {
        for pages in [0, touched] {
            let mut txn = env.write().unwrap();
            (0..pages).try_for_each(|n| t.put(&mut txn, 300 * n, touched).map(drop)).unwrap();
            for _ in 0..3 {
                next += 1;
                m.put(&mut txn, 7, next).unwrap();
            }
            txn.commit().unwrap();
        }
    }
    assert!(env.check().unwrap().is_clean());
}

/// Many values are one descent and, where they lie with their key, one rewriting, whether they are
/// the first, the next or so many that they get a tree.
#[test]
fn many_values_are_put_with_one_descent() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let compared = Arc::new(AtomicU64::new(0));
    let counter = compared.clone();
    let order = Order::custom("counted", move |a, b| {
        counter.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    });
    let mut txn = env.write().unwrap();
    let def = MultiDef::<U64, U64>::new("m").ordered(order);
    let table = txn.create_table(&def).unwrap();
    (0..10_000).try_for_each(|n| table.put(&mut txn, 2 * n, n).map(drop)).unwrap();
    let count = || compared.swap(0, Ordering::Relaxed);
    for key in [2, 11_112, 7_778, 7_779] {
        count();
        table.contains(&txn, key, 0).unwrap();
        let lookup = count();
        for row in [10_000..10_020, 10_010..10_040, 20_000..22_000, 20_000..22_010] {
            table.put_many(&mut txn, key, row.clone()).unwrap();
            let (put, what) = (count(), format!("{key}, {row:?}"));
            // Where its page is divided it is sought a few times more.
            assert!(put <= 5 * lookup + 20, "{what}: {put} for {lookup}");
        }
        let there = 2_050 + u64::from(key % 2 == 0);
        assert_eq!(table.count_values(&txn, key).unwrap(), there, "{key}");
    }
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

/// Of a long key a long value lies in a tree of its own, even alone.
#[test]
fn an_only_value_is_changed_wherever_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let long = vec![7; huon::limits::key_bytes_max(4096).unwrap()];
    let m = txn.create_table(&MultiDef::<Bytes, Bytes>::new("m")).unwrap();
    let steps: [&[u8]; 6] = [&long, b"short", b"brief", &long, &long[1..], b""];
    let mut last: Option<&[u8]> = None;
    for next in steps {
        let had = m.update_with(&mut txn, &long, |old, new| {
            assert_eq!(old, last);
            new.set(next)
        });
        assert_eq!(had.unwrap(), last.is_some());
        assert_eq!((m.get(&txn, &long).unwrap(), m.len(&txn).unwrap()), (Some(next), 1));
        let ways = if next.len() > 100 { 0b10 } else { 0b1 };
        assert_eq!(m.value_depths(&txn).unwrap(), ways, "{} bytes", next.len());
        last = Some(next);
    }
    m.update_with(&mut txn, &long, |_, new| new.set(&long)).unwrap();
    m.put(&mut txn, &long, b"another").unwrap();
    let two = m.update_with(&mut txn, &long, |_, new| new.remove());
    assert!(matches!(two, Err(Error::ManyValues)));
    assert!(m.remove(&mut txn, &long, b"another").unwrap());
    assert!(m.update_with(&mut txn, &long, |_, new| new.remove()).unwrap());
    assert!(m.is_empty(&txn).unwrap());
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

/// What the closure of a change refuses is the caller's affair: the transaction goes on.
#[test]
fn a_refusal_of_the_caller_leaves_the_transaction_whole() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let (t, m) = both(&mut txn, 3);
    let refused = || Error::OutOfMemory;
    assert!(t.update_with(&mut txn, 1, |_, _| Err(refused())).is_err());
    assert!(m.update_with(&mut txn, 1, |_, _| Err(refused())).is_err());
    assert_eq!((t.get(&txn, 1).unwrap(), m.get(&txn, 1).unwrap()), (Some(1), Some(1)));
    assert!(t.update_with(&mut txn, 1, |_, new| new.set(5)).unwrap());
    assert!(m.update_with(&mut txn, 1, |_, new| new.remove()).unwrap());
    assert!(!m.update_with(&mut txn, 9, |old, new| new.set(old.unwrap_or(9))).unwrap());
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    assert_eq!((t.get(&txn, 1).unwrap(), m.get(&txn, 9).unwrap()), (Some(5), Some(9)));
    assert_eq!(m.len(&txn).unwrap(), 3);
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn all_values_of_a_key_are_taken_and_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&MultiDef::<Str, U64>::new("m")).unwrap();
    let numbers = |old: Vec<huon::Owned<U64>>| -> Vec<u64> {
        old.iter().map(|value| value.get().unwrap()).collect()
    };
    for count in [0, 1, 2, 3000] {
        (0..count).for_each(|n| {
            m.put(&mut txn, "key", n).unwrap();
        });
        let old = numbers(m.replace(&mut txn, "key", 7).unwrap());
        assert!(old.into_iter().eq(0..count), "{count}");
        (10..10 + count).for_each(|n| {
            m.put(&mut txn, "key", n).unwrap();
        });
        let old = numbers(m.take(&mut txn, "key").unwrap());
        assert!(old.into_iter().eq(std::iter::once(7).chain(10..10 + count)), "{count}");
        assert!(m.is_empty(&txn).unwrap() && m.take(&mut txn, "key").unwrap().is_empty());
    }
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

/// Bulk load builds what puts build, whatever the values: none apart from their key, some in trees
/// of their own.
#[test]
fn a_multimap_is_loaded_in_bulk() {
    for page_bytes in [256, 4096] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
        let mut txn = env.write().unwrap();
        let counts = [1, 2, 5, 30, 700, 1, 1, 2000, 3];
        let pairs = || {
            let keys = (0..300u64).map(|key| (key, counts[key as usize % counts.len()]));
            keys.flat_map(|(key, count)| (0..count).map(move |n: u64| (key, n)))
        };
        let text = |n: u64| format!("{n:04}{}", "-".repeat(n as usize % 9));
        let put = txn.create_table(&MultiDef::<U64, U64>::new("put")).unwrap();
        let built = txn.create_table(&MultiDef::<U64, U64>::new("built")).unwrap();
        let texts = txn.create_table(&MultiDef::<U64, Str>::new("texts")).unwrap();
        pairs().for_each(|(key, n)| {
            put.put(&mut txn, key, n).unwrap();
        });
        built
            .bulk_load(&mut txn, |append| pairs().try_for_each(|(key, n)| append(key, n)))
            .unwrap();
        texts
            .bulk_load(&mut txn, |append| pairs().try_for_each(|(key, n)| append(key, &text(n))))
            .unwrap();
        let refused = built.bulk_load(&mut txn, |_| Ok(()));
        assert!(matches!(refused, Err(Error::Invalid(_))), "it is not empty");
        txn.commit().unwrap();
        let mut txn = env.write().unwrap();
        let all = put.iter(&txn).unwrap().map(Result::unwrap);
        assert!(all.eq(built.iter(&txn).unwrap().map(Result::unwrap)), "{page_bytes}");
        let mut found = texts.iter(&txn).unwrap().map(Result::unwrap);
        assert!(pairs().all(|(key, n)| found.next() == Some((key, &text(n)))));
        assert!(found.next().is_none());
        assert_eq!(built.len(&txn).unwrap(), put.len(&txn).unwrap());
        assert_eq!(built.count_values(&txn, 7).unwrap(), 2000);
        // What was built can be changed.
        assert!(built.remove(&mut txn, 7, 1000).unwrap() && built.put(&mut txn, 7, 2000).unwrap());
        assert!(texts.put(&mut txn, 0, "first").unwrap());
        txn.commit().unwrap();
        let check = env.check().unwrap();
        assert!(check.is_clean(), "{:?}", check.problems);
    }
}

#[test]
fn a_bulk_load_out_of_order_is_refused() {
    let wrong: [&[(u64, u64)]; 4] =
        [&[(1, 1), (1, 1)], &[(1, 2), (1, 1)], &[(2, 1), (1, 9)], &[(1, 1), (2, 1), (1, 2)]];
    for pairs in wrong {
        let dir = tempfile::tempdir().unwrap();
        let env = env(&dir);
        let mut txn = env.write().unwrap();
        let m = txn.create_table(&MultiDef::<U64, U64>::new("m")).unwrap();
        let load = m.bulk_load(&mut txn, |append| {
            pairs.iter().try_for_each(|&(key, value)| append(key, value))
        });
        assert!(matches!(load, Err(Error::KeyOutOfOrder)), "{pairs:?}: {load:?}");
        assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
        // Inside a tree of values, too.
        let mut txn = env.write().unwrap();
        let m = txn.create_table(&MultiDef::<U64, U64>::new("m")).unwrap();
        let load = m.bulk_load(&mut txn, |append| {
            (0..2000).try_for_each(|n| append(0, n))?;
            append(0, 1999)
        });
        assert!(matches!(load, Err(Error::KeyOutOfOrder)), "{load:?}");
    }
}

#[test]
fn many_keys_of_a_multimap_are_got_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&MultiDef::<U64, U64>::new("m")).unwrap();
    for key in 0..200u64 {
        (0..key * key % 97).for_each(|n| {
            m.put(&mut txn, key, n).unwrap();
        });
    }
    (0..3000).for_each(|n| {
        m.put(&mut txn, 50, n).unwrap();
    });
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let keys: Vec<u64> = (0..300).map(|n| n * 7 % 250).collect();
    let mut seen = 0;
    m.get_many(&txn, &keys, |i, values| {
        assert_eq!(i, seen, "in order");
        let expected = m.values(&txn, keys[i]).unwrap().map(Result::unwrap);
        assert!(values.map(Result::unwrap).eq(expected), "{}", keys[i]);
        seen += 1;
    })
    .unwrap();
    assert_eq!(seen, keys.len());
}

/// More values of one key go than are kept in memory at a time.
#[test]
fn retain_goes_on_within_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir);
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&MultiDef::<U64, U64>::new("m")).unwrap();
    let counts = [3, 2000, 1, 700, 256];
    for (key, count) in (0..).zip(counts) {
        (0..count).for_each(|n| {
            m.put(&mut txn, key, n).unwrap();
        });
    }
    let mut seen = Vec::new();
    let removed = m.retain(&mut txn, 1.., |key, value| {
        seen.push((key, value));
        key == 3 && value % 2 == 0
    });
    assert_eq!(removed.unwrap(), 2000 + 1 + 350 + 256);
    let all = (1..).zip(&counts[1..]).flat_map(|(key, &count)| (0..count).map(move |n| (key, n)));
    assert!(seen.into_iter().eq(all), "each once, in order");
    let left: Vec<u64> = m.keys(&txn).unwrap().map(|key| key.unwrap().1).collect();
    assert_eq!(left, [3, 350]);
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}
