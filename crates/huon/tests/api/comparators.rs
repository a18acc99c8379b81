//! Comparators have names: the file holds them, and one of another name is refused.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use huon::{
    Bytes, CopyOptions, Env, Error, Multi, MultiDef, Order, ReadTxn, Result, TableDef, Unit,
    WriteTxn,
};

type Def = TableDef<Bytes, Unit>;
type Many = MultiDef<Bytes, Bytes>;

fn open(path: &Path) -> Env {
    Env::options().open(path).unwrap()
}

fn by_length() -> Order {
    Order::custom("by-length", |a, b| a.len().cmp(&b.len()).then(a.cmp(b)))
}

fn backwards() -> Order {
    Order::custom("backwards", |a, b| b.cmp(a))
}

fn unnamed(compare: fn(&[u8], &[u8]) -> Ordering) -> Order {
    Order::unnamed(Arc::new(compare))
}

fn def(order: Order) -> Def {
    Def::new("t").ordered(order)
}

/// Both names, that of the file first.
fn refused<T: std::fmt::Debug>(result: huon::Result<T>) -> (String, String) {
    match result {
        Err(Error::WrongOrder(wrong)) => {
            let text = Error::WrongOrder(wrong.clone()).to_string();
            assert!(text.contains(&*wrong.stored) && text.contains(&*wrong.wanted), "{text}");
            (wrong.stored.to_string(), wrong.wanted.to_string())
        }
        other => panic!("{other:?}"),
    }
}

fn make(env: &Env) {
    env.update(|txn| {
        let t = txn.create_table(&def(by_length()))?;
        [&b"ccc"[..], b"a", b"bb"].into_iter().try_for_each(|key| t.put(txn, key, ()).map(drop))
    })
    .unwrap();
}

fn keys(txn: &ReadTxn, order: Order) -> Vec<Vec<u8>> {
    let t = txn.open_table(&def(order)).unwrap().unwrap();
    t.iter(txn).unwrap().map(|record| record.unwrap().0.to_vec()).collect()
}

#[test]
fn another_name_is_refused_with_both() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    make(&open(&path));
    // Nothing is known of it here but what the file says.
    let env = open(&path);
    let wrong = ("by-length".to_string(), "backwards".to_string());
    assert_eq!(refused(env.read().unwrap().open_table(&def(backwards()))), wrong);
    let mut txn = env.write().unwrap();
    assert_eq!(refused(txn.open_table(&def(backwards()))), wrong);
    assert_eq!(refused(txn.create_table(&def(backwards()))), wrong);
    // A refusal breaks nothing.
    let t = txn.create_table(&def(by_length())).unwrap();
    t.put(&mut txn, b"dddd", ()).unwrap();
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    assert_eq!(keys(&txn, by_length()), [&b"a"[..], b"bb", b"ccc", b"dddd"]);
    // A handle that names none reads the table from end to end.
    assert_eq!(keys(&txn, Order::Stored).len(), 4);
    assert!(matches!(txn.open_table(&def(Order::Bytes)), Err(Error::TableKind)));
}

#[test]
fn a_name_stays_with_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    make(&env);
    // Commits, a rename, a clear, and copies of both kinds.
    for n in 0..100u32 {
        env.update(|txn| {
            let t = txn.create_table(&def(by_length()))?;
            t.put(txn, &n.to_be_bytes(), ()).map(drop)
        })
        .unwrap();
    }
    env.update(|txn| {
        let t = txn.create_table(&def(by_length()))?;
        t.rename(txn, b"u")?;
        assert_eq!(txn.table_stat(b"u")?.unwrap().comparator.as_deref(), Some("by-length"));
        txn.create_table(&Def::new("plain")).map(drop)
    })
    .unwrap();
    let tables = env.stat().unwrap().tables;
    let names: Vec<_> = tables.iter().map(|table| table.comparator.as_deref()).collect();
    assert_eq!(names, [None, None, Some("by-length")], "of the main table, plain and u");
    assert!(tables.iter().all(|table| table.value_comparator.is_none()));
    let renamed = |order| Def::new("u").ordered(order);
    let wrong = ("by-length".to_string(), "backwards".to_string());
    assert_eq!(refused(env.read().unwrap().open_table(&renamed(backwards()))), wrong);
    for compact in [false, true] {
        let path = dir.path().join(format!("copy-{compact}"));
        env.copy_to(&path, CopyOptions::new().compact(compact)).unwrap();
        let copy = open(&path);
        assert_eq!(refused(copy.read().unwrap().open_table(&renamed(backwards()))), wrong);
        let txn = copy.read().unwrap();
        assert_eq!(txn.open_table(&renamed(by_length())).unwrap().unwrap().len(&txn).unwrap(), 103);
        assert!(copy.check().unwrap().is_clean());
    }
    env.update(|txn| txn.create_table(&renamed(by_length()))?.clear(txn)).unwrap();
    assert_eq!(refused(env.read().unwrap().open_table(&renamed(backwards()))), wrong);
    // A table that is dropped takes its name along.
    env.update(|txn| {
        txn.create_table(&renamed(by_length()))?.drop_table(txn)?;
        txn.create_table(&renamed(backwards())).map(drop)
    })
    .unwrap();
    let wrong = ("backwards".to_string(), "by-length".to_string());
    assert_eq!(refused(env.read().unwrap().open_table(&renamed(by_length()))), wrong);
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_handle_notices_that_the_comparator_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    make(&env);
    let old = env.read().unwrap().open_table(&def(by_length())).unwrap().unwrap();
    let mut txn = env.write().unwrap();
    old.drop_table(&mut txn).unwrap();
    let new = txn.create_table(&def(backwards())).unwrap();
    let wrong = ("backwards".to_string(), "by-length".to_string());
    assert_eq!(refused(old.get(&txn, b"a")), wrong);
    assert_eq!(refused(old.put(&mut txn, b"a", ())), wrong);
    new.put(&mut txn, b"a", ()).unwrap();
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    assert_eq!(refused(old.get(&txn, b"a")), wrong);
    assert_eq!(new.get(&txn, b"a").unwrap(), Some(()));
}

#[test]
fn values_have_comparators_with_names_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let many = |keys, values| Many::new("m").ordered(keys).values_ordered(values);
    open(&path)
        .update(|txn| {
            let m = txn.create_table(&many(by_length(), backwards()))?;
            (0..100u8).try_for_each(|n| m.put(txn, b"k", &[n; 50]).map(drop))
        })
        .unwrap();
    let env = open(&path);
    let txn = env.read().unwrap();
    let wrong = |stored: &str, wanted: &str| (stored.to_string(), wanted.to_string());
    let other = txn.open_table(&many(backwards(), backwards()));
    assert_eq!(refused(other), wrong("by-length", "backwards"));
    let other = txn.open_table(&many(by_length(), by_length()));
    assert_eq!(refused(other), wrong("backwards", "by-length"));
    // One of them alone may be named.
    for (keys, values) in [
        (by_length(), backwards()),
        (Order::Stored, backwards()),
        (by_length(), Order::Stored),
        (Order::Stored, Order::Stored),
    ] {
        let m = txn.open_table(&many(keys, values)).unwrap().unwrap();
        assert_eq!(m.len(&txn).unwrap(), 100);
    }
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&many(by_length(), backwards())).unwrap();
    m.put(&mut txn, b"k", b"zz").unwrap();
    let first = m.values(&txn, b"k").unwrap().next().unwrap().unwrap().to_vec();
    assert_eq!(first, b"zz");
}

/// Programs in C have comparators without names: they open all tables, and all open theirs.
#[test]
fn without_a_name_nothing_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    make(&env);
    let same = |a: &[u8], b: &[u8]| a.len().cmp(&b.len()).then(a.cmp(b));
    assert_eq!(keys(&env.read().unwrap(), unnamed(same)), [&b"a"[..], b"bb", b"ccc"]);
    let theirs = |order| Def::new("theirs").ordered(order);
    env.update(|txn| {
        let t = txn.create_table(&theirs(unnamed(|a, b| b.cmp(a))))?;
        t.put(txn, b"a", ())
    })
    .unwrap();
    let txn = env.read().unwrap();
    assert!(txn.open_table(&theirs(backwards())).unwrap().is_some());
    assert!(txn.open_table(&theirs(by_length())).unwrap().is_some());
}

/// One that is made anew at each opening costs nothing that stays, with a name or without.
#[test]
fn comparators_are_made_anew_without_end() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    make(&env);
    let first = env.read().unwrap().open_table(&def(by_length())).unwrap().unwrap();
    let counted = Arc::new(());
    for n in 0..100_000u32 {
        let txn = env.read().unwrap();
        let held = counted.clone();
        let named = Order::custom("by-length", move |a, b| {
            let _ = &held;
            a.len().cmp(&b.len()).then(a.cmp(b))
        });
        let again = txn.open_table(&def(named)).unwrap().unwrap();
        assert_eq!(format!("{again:?}"), format!("{first:?}"), "it is the same order");
        let held = counted.clone();
        let fresh = Order::unnamed(Arc::new(move |a: &[u8], b: &[u8]| {
            let _ = &held;
            a.len().cmp(&b.len()).then(a.cmp(b))
        }));
        let t = txn.open_table(&def(fresh)).unwrap().unwrap();
        assert_eq!(t.get(&txn, b"a").unwrap(), Some(()), "{n}");
    }
    assert!(Arc::strong_count(&counted) < 20, "functions are let go of");
    assert_eq!(first.get(&env.read().unwrap(), b"bb").unwrap(), Some(()));
}

#[test]
fn names_have_a_length() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(256).open(dir.path().join("a.huon")).unwrap();
    let named = |bytes| Order::custom("n".repeat(bytes), |a, b| b.cmp(a));
    let mut txn = env.write().unwrap();
    for bytes in [0, 256, 1000] {
        assert!(matches!(txn.create_table(&def(named(bytes))), Err(Error::Invalid(_))), "{bytes}");
    }
    // In small pages less fits: with the names of the table and of its type as much as a key.
    let max = env.info().unwrap().key_bytes_max as usize;
    let longest = max - b"t".len() - 2 - ("unit".len() + 2);
    assert!(matches!(txn.create_table(&def(named(longest + 1))), Err(Error::KeyTooLong { .. })));
    let t = txn.create_table(&def(named(longest))).unwrap();
    for n in 0..200u8 {
        t.put(&mut txn, &[n; 40], ()).unwrap();
        // Others as long beside it, so that the catalog splits.
        let name = [&[b'a' + n % 26; 60][..], &[n]].concat();
        txn.create_table(&Def::named(name).ordered(named(30))).unwrap();
    }
    assert!(matches!(t.rename(&mut txn, b"longer"), Err(Error::KeyTooLong { .. })));
    let plain = txn.create_table(&Def::new("plain")).unwrap();
    plain.put(&mut txn, b"k", ()).unwrap();
    let too_long = plain.rename(&mut txn, vec![b'n'; max + 1]);
    assert!(matches!(too_long, Err(Error::KeyTooLong { .. })));
    assert_eq!(plain.get(&txn, b"k").unwrap(), Some(()), "a refusal changes nothing");
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_table_with_a_named_comparator_is_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(512).open(dir.path().join("a.huon")).unwrap();
    let filler = huon::TableDef::<huon::U64, Bytes>::new("filler");
    let count = 2000u64;
    env.update(|txn| {
        let filler = txn.create_table(&filler)?;
        (0..count).try_for_each(|n| filler.put(txn, n, &[7; 100]).map(drop))
    })
    .unwrap();
    env.update(|txn| {
        let t = txn.create_table(&def(by_length()))?;
        (0..count).try_for_each(|n| t.put(txn, &n.to_be_bytes(), ()).map(drop))
    })
    .unwrap();
    env.update(|txn| {
        let filler = txn.open_table(&filler)?.expect("it is there");
        (0..count).try_for_each(|n| filler.remove(txn, n).map(drop))
    })
    .unwrap();
    let report = env.compact(huon::CompactOptions::new()).unwrap();
    assert!(report.moved_bytes > 0, "{report:?}");
    let txn = env.read().unwrap();
    let t = txn.open_table(&def(by_length())).unwrap().expect("it is there");
    assert_eq!(t.len(&txn).unwrap(), count);
    let wrong = ("by-length".to_string(), "backwards".to_string());
    assert_eq!(refused(txn.open_table(&def(backwards()))), wrong, "the name is still there");
    drop(txn);
    assert!(env.check().unwrap().is_clean());
}

/// Comparators that are no total orders: they contradict themselves in every way there is.
fn disorders() -> Vec<Order> {
    let sum = |bytes: &[u8]| bytes.iter().fold(7u32, |sum, b| sum * 31 + u32::from(*b));
    let calls = AtomicU32::new(0);
    vec![
        Order::custom("below", |_, _| Ordering::Less),
        Order::custom("above", |_, _| Ordering::Greater),
        Order::custom("in a circle", move |a, b| (sum(b) % 3).cmp(&((sum(a) + 1) % 3))),
        Order::custom("any", move |a, b| (sum(a) ^ sum(b).rotate_left(9) & 64).cmp(&(sum(b) | 9))),
        Order::custom("another each time", move |a, b| {
            let call = calls.fetch_add(0x9E37_79B9, Relaxed);
            if call & 1 << 20 == 0 { a.cmp(b) } else { b.cmp(a) }
        }),
    ]
}

/// Puts many values of some keys, at once and one by one.
fn put_in_disorder(txn: &mut WriteTxn, table: Multi<Bytes, Bytes>, seed: u32) -> Result<()> {
    let value = |n: u32| (n.wrapping_mul(0x9E37_79B9) ^ seed).to_be_bytes();
    for count in [2, 30, 60, 400] {
        let values: Vec<_> = (0..count).map(value).collect();
        let key = [count as u8];
        table.put_many(txn, &key, values.iter().map(|value| &value[..]))?;
        (0..count).try_for_each(|n| table.put(txn, &key, &value(n + 1000)).map(drop))?;
        (0..count / 2).try_for_each(|n| table.remove(txn, &key, &value(n)).map(drop))?;
    }
    Ok(())
}

#[test]
fn a_comparator_that_is_no_total_order_does_no_harm_but_to_its_table() {
    for (order, seed) in
        disorders().into_iter().flat_map(|order| (0..8).map(move |n| (order.clone(), n)))
    {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.huon");
        let env = Env::options().page_bytes(512).open(&path).unwrap();
        let mut txn = env.write().unwrap();
        let plain = txn.create_table(&Def::new("plain")).unwrap();
        plain.put(&mut txn, b"k", ()).unwrap();
        let table = txn.create_table(&Many::new("t").values_ordered(order.clone())).unwrap();
        let done = put_in_disorder(&mut txn, table, seed);
        // What was refused has changed nothing; after any other error nothing can be committed.
        let is_committed = txn.commit().is_ok();
        assert!(is_committed || done.is_err());
        assert!(
            env.read().unwrap().open_table(&Def::new("plain")).unwrap().is_some() == is_committed
        );
        assert!(env.close().is_ok());
        // Where the comparator is not known, all but the order is checked.
        let report = Env::options().open(&path).unwrap().check().unwrap();
        assert!(report.is_clean(), "{order:?} {done:?} {report:?}");
    }
}
