//! Places in a table: estimates, where a cursor stands, and records next to a key.

use std::ops::Bound;

use huon::{Bytes, Env, MultiDef, Order, TableDef};

use crate::multi::Random;

/// Exact in small ranges, within a factor of two in large ones, whatever way the tree grew.
#[test]
fn estimates_are_near() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(512).open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let def = huon::TableDef::<huon::U64, huon::U64>::named;
    let rising = txn.create_table(&def("rising")).unwrap();
    let random = txn.create_table(&def("random")).unwrap();
    let multi = txn.create_table(&MultiDef::<huon::U64, huon::U64>::new("m")).unwrap();
    let mut seed = Random(1);
    for n in 0..20_000u64 {
        rising.append(&mut txn, n, n).unwrap();
        random.put(&mut txn, seed.next(), n).unwrap();
        multi.put(&mut txn, n / 10, n).unwrap();
    }
    assert_eq!(rising.estimate(&txn, ..).unwrap(), 20_000);
    assert_eq!(rising.estimate(&txn, 30_000..).unwrap(), 0);
    let (above, below) = (9, 3);
    assert_eq!(rising.estimate(&txn, above..=below).unwrap(), 0);
    for n in [0, 777, 19_990] {
        assert_eq!(rising.estimate(&txn, n..n + 3).unwrap(), 3, "in one leaf or two");
    }
    let near = |about: u64, exact: u64| {
        assert!(about * 2 >= exact && about <= exact * 2, "{about} where there are {exact}");
    };
    for (from, to) in [(0, 10_000), (100, 5_100), (2_000, 18_000), (15_000, 19_000)] {
        near(rising.estimate(&txn, from..to).unwrap(), to - from);
        near(multi.estimate(&txn, from / 10..to / 10).unwrap(), to - from);
        let share = |n: u64| (u64::MAX / 20_000) * n;
        let exact = random.range(&txn, share(from)..share(to)).unwrap().count() as u64;
        near(random.estimate(&txn, share(from)..share(to)).unwrap(), exact);
    }
    for n in 0..20_000 {
        multi.put(&mut txn, 7, n).unwrap();
    }
    for (from, to) in [(0, 10_000), (100, 5_100), (15_000, 19_000)] {
        near(multi.estimate_values(&txn, 7, from..to).unwrap(), to - from);
    }
    for n in [0, 777, 19_990] {
        assert_eq!(multi.estimate_values(&txn, 7, n..n + 3).unwrap(), 3);
    }
    let (few, none) = (multi.estimate_values(&txn, 8, 82..), multi.estimate_values(&txn, 1, ..5));
    assert_eq!((few.unwrap(), none.unwrap()), (8, 0));
    let empty = txn.create_table(&def("empty")).unwrap();
    assert_eq!(empty.estimate(&txn, ..).unwrap(), 0);
}

#[test]
fn cursors_know_where_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(256).open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t")).unwrap();
    let m = txn.create_table(&MultiDef::<huon::U64, huon::U64>::new("m")).unwrap();
    let (mut scan, mut pairs) = (t.cursor(), m.cursor());
    assert!(
        scan.prev(&txn).unwrap().is_none() && scan.next(&txn).unwrap().is_none(),
        "it is empty"
    );
    assert!(pairs.prev(&txn).unwrap().is_none() && pairs.next(&txn).unwrap().is_none());
    assert_eq!((scan.position(), pairs.position()), (None, None));
    for n in 0..60 {
        t.put(&mut txn, n, ()).unwrap();
        m.put(&mut txn, n / 30, n).unwrap();
    }
    for n in 0..=60u64 {
        assert_eq!(scan.clone().prev(&txn).unwrap().is_none(), n == 0);
        assert_eq!(scan.clone().next(&txn).unwrap().is_none(), n == 60);
        assert_eq!(pairs.clone().prev(&txn).unwrap().is_none(), n == 0);
        assert_eq!(pairs.clone().next(&txn).unwrap().is_none(), n == 60);
        let last = n.checked_sub(1).map(u64::to_be_bytes);
        assert_eq!(scan.position(), last.as_ref().map(|key| &key[..]), "where it came from");
        assert_eq!(pairs.position().map(|pair| pair.1), last.as_ref().map(|value| &value[..]));
        // A copy goes its own way.
        let (mut other, mut others) = (scan.clone(), pairs.clone());
        other.to_end();
        others.to_end();
        assert_eq!(scan.next(&txn).unwrap(), (n < 60).then_some((n, ())));
        assert_eq!(pairs.next(&txn).unwrap(), (n < 60).then_some((n / 30, n)));
    }
}

#[test]
fn records_next_to_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(256).open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&huon::TableDef::<huon::I64, huon::Unit>::new("t")).unwrap();
    assert_eq!(t.at_or_above(&txn, 0).unwrap(), None);
    assert_eq!(t.at_or_below(&txn, 0).unwrap(), None);
    (-50..50).try_for_each(|n| t.put(&mut txn, n * 10, ()).map(drop)).unwrap();
    for n in -520..520i64 {
        let (above, below) = (n.div_euclid(10) + i64::from(n % 10 != 0), n.div_euclid(10));
        let above = Some((above.max(-50) * 10, ())).filter(|(n, ())| *n < 500);
        let below = Some((below.min(49) * 10, ())).filter(|(n, ())| *n >= -500);
        assert_eq!(t.at_or_above(&txn, n).unwrap(), above, "{n}");
        assert_eq!(t.at_or_below(&txn, n).unwrap(), below, "{n}");
    }
}

/// Steps end at a bound where ranges do, in every order of keys, and go on from there.
#[test]
fn steps_end_at_bounds() {
    let env = Env::in_memory().unwrap();
    let keys: Vec<Vec<u8>> = (0..40_u8).map(|n| vec![n / 7, n % 7, n]).collect();
    let orders = [
        Order::Bytes,
        Order::Reversed,
        Order::custom("by-last", |a, b| a.last().cmp(&b.last()).then(a.cmp(b))),
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let mut txn = env.write().unwrap();
        let table = TableDef::<Bytes, Bytes>::named(format!("t{number}")).ordered(order.clone());
        let multi = MultiDef::<Bytes, Bytes>::named(format!("m{number}")).ordered(order);
        let table = txn.create_table(&table).unwrap();
        let multi = txn.create_table(&multi).unwrap();
        for key in &keys {
            table.put(&mut txn, key, b"").unwrap();
            multi.put_many(&mut txn, key, [&b"1"[..], b"2"]).unwrap();
        }
        for at in [&keys[11][..], &keys[0], &keys[39], b"\x02\x02", b"", b"\xff"] {
            for to in [Bound::Included(at), Bound::Excluded(at), Bound::Unbounded] {
                let wanted = table.range(&txn, (Bound::Unbounded, to)).unwrap();
                let wanted: Vec<_> = wanted.map(|record| record.unwrap().0).collect();
                let (mut cursor, mut pairs) = (table.cursor(), multi.cursor());
                for &key in &wanted {
                    assert_eq!(cursor.next_until(&txn, to).unwrap(), Some((key, &b""[..])));
                    for value in [&b"1"[..], b"2"] {
                        assert_eq!(pairs.next_until(&txn, to).unwrap(), Some((key, value)));
                    }
                }
                assert_eq!(cursor.next_until(&txn, to).unwrap(), None);
                assert_eq!(pairs.next_until(&txn, to).unwrap(), None);
                let next = cursor.clone().next(&txn).unwrap().map(|record| record.0);
                assert_eq!(pairs.clone().next(&txn).unwrap().map(|pair| pair.0), next);
                assert_eq!(cursor.prev(&txn).unwrap().map(|r| r.0), wanted.last().copied());

                let rest = table.range(&txn, (to, Bound::Unbounded)).unwrap();
                let rest: Vec<_> = rest.map(|record| record.unwrap().0).collect();
                cursor.to_end();
                for &key in rest.iter().rev() {
                    assert_eq!(cursor.prev_until(&txn, to).unwrap(), Some((key, &b""[..])));
                }
                assert_eq!(cursor.prev_until(&txn, to).unwrap(), None);
                assert_eq!(cursor.next(&txn).unwrap().map(|r| r.0), rest.first().copied());
            }
        }
        txn.commit().unwrap();
    }
}
