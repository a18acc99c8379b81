//! Scans, cursors and ranges beside changes, against positions kept as keys.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use huon::{Bytes, Cursor, Error, KeyCodec, Order, RawTable, TableDef, WriteTxn};
use huon_testkit::figures;

use super::{Bounds, Model, Place, assert_clean, assert_same, def, is_between, small};

type RawScan = Cursor<Bytes, Bytes>;

/// Where a scan should stand.
#[derive(Clone, Debug, PartialEq)]
enum Gap {
    Start,
    End,
    Before(Vec<u8>),
    After(Vec<u8>),
}

impl Gap {
    /// The records on both sides of it.
    fn sides<'m>(&self, model: &'m Model) -> (Option<&'m Vec<u8>>, Option<&'m Vec<u8>>) {
        let keys = |bounds: (Bound<&Vec<u8>>, Bound<&Vec<u8>>)| {
            model.range::<Vec<u8>, _>(bounds).map(|(key, _)| key)
        };
        match self {
            Gap::Start => (None, model.keys().next()),
            Gap::End => (model.keys().next_back(), None),
            Gap::Before(key) => (
                keys((Unbounded, Excluded(key))).next_back(),
                keys((Included(key), Unbounded)).next(),
            ),
            Gap::After(key) => (
                keys((Unbounded, Included(key))).next_back(),
                keys((Excluded(key), Unbounded)).next(),
            ),
        }
    }
}

fn key(n: u8) -> Vec<u8> {
    vec![b'k', n]
}

/// Every gap of a table of the even keys below 30, each reached by a seek and by walking.
fn scans(txn: &WriteTxn, t: RawTable) -> Vec<(RawScan, Gap)> {
    let mut all = vec![(t.cursor(), Gap::Start)];
    let mut end = t.cursor();
    end.to_end();
    all.push((end, Gap::End));
    for n in 0..31 {
        let (mut before, mut after) = (t.cursor(), t.cursor());
        before.seek(&key(n)).unwrap();
        after.seek_after(&key(n)).unwrap();
        all.push((before, Gap::Before(key(n))));
        all.push((after, Gap::After(key(n))));
    }
    for n in (0..30).step_by(2) {
        let (mut forward, mut back) = (t.cursor(), t.cursor());
        while forward.next(txn).unwrap().unwrap().0 != key(n) {}
        all.push((forward, Gap::After(key(n))));
        back.to_end();
        while back.prev(txn).unwrap().unwrap().0 != key(n) {}
        all.push((back, Gap::Before(key(n))));
    }
    // At the end by walking, and turned round once: a scan stays behind the last record it gave.
    let mut walked = t.cursor();
    while walked.next(txn).unwrap().is_some() {}
    all.push((walked, Gap::After(key(28))));
    all
}

type Act = (&'static str, fn(&mut WriteTxn, RawTable, &mut Model));

fn set(txn: &mut WriteTxn, t: RawTable, model: &mut Model, n: u8, bytes: usize) {
    super::put(txn, t, model, &key(n), &vec![n; bytes]);
}

fn unset(txn: &mut WriteTxn, t: RawTable, model: &mut Model, n: u8) {
    t.remove(txn, &key(n)).unwrap();
    model.remove(&key(n));
}

const ACTS: [Act; 12] = [
    ("nothing", |_, _, _| ()),
    ("values grow, leaves split", |txn, t, model| {
        (0..30).step_by(2).for_each(|n| set(txn, t, model, n, 95))
    }),
    ("keys between", |txn, t, model| (1..30).step_by(2).for_each(|n| set(txn, t, model, n, 20))),
    ("one key between", |txn, t, model| set(txn, t, model, 15, 60)),
    ("keys at both ends", |txn, t, model| {
        [b"a", b"b", b"y", b"z"].iter().for_each(|key| super::put(txn, t, model, *key, &[1; 90]));
    }),
    ("every second deleted", |txn, t, model| {
        (0..30).step_by(4).for_each(|n| unset(txn, t, model, n))
    }),
    ("deleted from the front", |txn, t, model| (0..20).for_each(|n| unset(txn, t, model, n))),
    ("deleted from the back", |txn, t, model| (10..30).rev().for_each(|n| unset(txn, t, model, n))),
    ("a range deleted", |txn, t, model| {
        t.remove_range(txn, &key(9)[..]..&key(21)[..]).unwrap();
        model.retain(|have, _| !(key(9)..key(21)).contains(have));
    }),
    ("cleared", |txn, t, model| {
        t.clear(txn).unwrap();
        model.clear();
    }),
    ("cleared and built anew", |txn, t, model| {
        t.clear(txn).unwrap();
        model.clear();
        let new: Vec<u8> = (0..60).step_by(3).collect();
        t.bulk_load(txn, |append| new.iter().try_for_each(|&n| append(&key(n), &[n; 40]))).unwrap();
        model.extend(new.iter().map(|&n| (key(n), vec![n; 40])));
    }),
    ("all of it undone", |txn, t, model| {
        let undone = txn.nested(|child| {
            t.clear(child)?;
            (0..60).try_for_each(|n| t.put(child, &key(n), &[1; 95]).map(drop))?;
            Err::<(), _>(Error::Invalid("undone"))
        });
        assert!(undone.is_err());
        assert_same(txn, t, model, "undone");
    }),
];

/// LMDB moved cursors wrongly when another one changed the page they stood on (2015 to 2020), and
/// py-lmdb and libmdbx skipped records or stopped early. Here scans stand at every place of a
/// table, two changes are made one after the other, and each scan looks both ways after each.
#[test]
fn scans_at_every_place_beside_every_change() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut looks = 0;
    for first in ACTS {
        for second in ACTS {
            let mut txn = env.write().unwrap();
            let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
            (0..30).step_by(2).for_each(|n| set(&mut txn, t, &mut model, n, 60));
            let mut scans = scans(&txn, t);
            for (what, act) in [first, second] {
                act(&mut txn, t, &mut model);
                for (scan, gap) in &mut scans {
                    let what = format!("{gap:?} after {} and {what}", first.0);
                    look_both_ways(&txn, scan, gap, &model, &what);
                    looks += 1;
                }
            }
        }
    }
    figures::add("exhaustive", looks);
}

/// Forward, back over the same record, back over the one before, and forward again.
fn look_both_ways(txn: &WriteTxn, scan: &mut RawScan, gap: &mut Gap, model: &Model, what: &str) {
    let (before, after) = gap.sides(model);
    let found = scan.next(txn).unwrap().map(|(key, _)| key.to_vec());
    assert_eq!(found.as_ref(), after, "{what}: next");
    if let Some(after) = after {
        *gap = Gap::Before(after.clone());
        let again = scan.prev(txn).unwrap().map(|(key, _)| key.to_vec());
        assert_eq!(again.as_ref(), Some(after), "{what}: back over it");
    }
    let found = scan.prev(txn).unwrap().map(|(key, _)| key.to_vec());
    assert_eq!(found.as_ref(), before, "{what}: prev");
    if let Some(before) = before {
        let again = scan.next(txn).unwrap().map(|(key, _)| key.to_vec());
        assert_eq!(again.as_ref(), Some(before), "{what}: forward over it");
        *gap = Gap::After(before.clone());
    }
}

type Walk = fn(&mut WriteTxn, RawTable, u16) -> Vec<Vec<u8>>;

fn number(n: u16) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

fn step(txn: &WriteTxn, scan: &mut RawScan, forward: bool) -> Option<Vec<u8>> {
    let found = if forward { scan.next(txn) } else { scan.prev(txn) };
    found.unwrap().map(|(key, _)| key.to_vec())
}

/// Deletes what the scan gives until it gives nothing; in which order that was.
fn delete_all(txn: &mut WriteTxn, t: RawTable, mut scan: RawScan, forward: bool) -> Vec<Vec<u8>> {
    let mut deleted = Vec::new();
    while let Some(key) = step(txn, &mut scan, forward) {
        assert!(t.remove(txn, &key).unwrap());
        deleted.push(key);
    }
    deleted
}

/// libmdbx and LMDB (2020) crashed or called the file damaged when a loop deleted what its cursor
/// stood on.
#[test]
fn a_loop_that_deletes_what_it_meets() {
    let walks: [Walk; 6] = [
        |txn, t, _| delete_all(txn, t, t.cursor(), true),
        |txn, t, _| {
            let mut scan = t.cursor();
            scan.to_end();
            delete_all(txn, t, scan, false)
        },
        // From the middle to the end, then back to the start.
        |txn, t, count| {
            let mut scan = t.cursor();
            scan.seek(&number(count / 2)).unwrap();
            let mut deleted = delete_all(txn, t, scan, true);
            let mut scan = t.cursor();
            scan.seek(&number(count / 2)).unwrap();
            deleted.extend(delete_all(txn, t, scan, false));
            deleted
        },
        // The first again and again.
        |txn, t, _| {
            let mut deleted = Vec::new();
            while let Some((key, _)) = t.first(txn).unwrap() {
                let key = key.to_vec();
                t.remove(txn, &key).unwrap();
                deleted.push(key);
            }
            deleted
        },
        // The record before the last one met, so that the scan stands beside what goes.
        |txn, t, _| {
            let (mut scan, mut deleted, mut before) = (t.cursor(), Vec::new(), None);
            while let Some(key) = step(txn, &mut scan, true) {
                if let Some(before) = before.replace(key) {
                    t.remove(txn, &before).unwrap();
                    deleted.push(before);
                }
            }
            let last = before.inspect(|last| {
                t.remove(txn, last).unwrap();
            });
            deleted.extend(last);
            deleted
        },
        // From both sides in turn.
        |txn, t, _| {
            let (mut front, mut back, mut deleted) = (t.cursor(), t.cursor(), Vec::new());
            back.to_end();
            loop {
                let turn = deleted.len() % 2 == 0;
                let scan = if turn { &mut front } else { &mut back };
                let Some(key) = step(txn, scan, turn) else { return deleted };
                t.remove(txn, &key).unwrap();
                deleted.push(key);
            }
        },
    ];
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    for count in [1u16, 2, 3, 4, 30, 255, 256, 1000] {
        for (number_of_walk, walk) in walks.iter().enumerate() {
            for bytes in [0, 40, 300] {
                let what = format!("walk {number_of_walk} over {count} values of {bytes}");
                let mut txn = env.write().unwrap();
                let t = txn.create_table(&def()).unwrap();
                for n in 0..count {
                    t.put(&mut txn, &number(n), &vec![1; bytes]).unwrap();
                }
                let mut deleted = walk(&mut txn, t, count);
                assert_eq!(t.len(&txn).unwrap(), 0, "{what}");
                assert_eq!(t.first(&txn).unwrap(), None, "{what}");
                deleted.sort_unstable();
                assert!(deleted.into_iter().eq((0..count).map(number)), "{what}: each one once");
                txn.commit().unwrap();
                assert_clean(&env, &what);
            }
        }
    }
    figures::add("exhaustive", 8 * 6 * 3);
}

/// A table with a gap of deleted pages in its middle, and every bound that differs in it.
fn holey(txn: &mut WriteTxn, t: RawTable) -> (Model, Vec<Bound<Vec<u8>>>) {
    let mut model = Model::new();
    for n in 0..40 {
        set(txn, t, &mut model, n, 60);
    }
    (8..12).chain(20..33).for_each(|n| unset(txn, t, &mut model, n));
    let keys = (0..42).map(key).chain([vec![], b"k".to_vec(), vec![0xFF]]);
    let bounds = keys.flat_map(|key| [Included(key.clone()), Excluded(key)]);
    (model, std::iter::once(Unbounded).chain(bounds).collect())
}

fn slices((from, to): &Bounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice))
}

/// redb (2025) took a range whose start lies behind its end for one without an end; bbolt found no
/// last record behind pages that had been emptied, and stepped back from the first.
#[test]
fn every_range_of_a_table_with_gaps() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    let (model, bounds) = holey(&mut txn, t);
    let mut count = 0;
    for from in &bounds {
        for to in &bounds {
            let range: Bounds = (from.clone(), to.clone());
            let expected: Vec<&Vec<u8>> =
                model.keys().filter(|key| is_between(key, &range)).collect();
            let what = format!("{range:?}");
            let keys = |record: huon::Result<(&[u8], &[u8])>| record.unwrap().0.to_vec();
            let found = t.range(&txn, slices(&range)).unwrap().map(keys);
            assert!(found.eq(expected.iter().copied().cloned()), "{what}");
            let found = t.range(&txn, slices(&range)).unwrap().rev().map(keys);
            assert!(found.eq(expected.iter().rev().copied().cloned()), "{what}, backwards");
            // From both ends in turn until they meet: nothing twice, nothing left out.
            let mut found = t.range(&txn, slices(&range)).unwrap();
            let mut met = Vec::new();
            loop {
                let turn = met.len() % 3 == 0;
                let next = if turn { found.next_back() } else { found.next() };
                let Some(next) = next else { break };
                met.push(keys(next));
            }
            assert!(found.next().is_none() && found.next_back().is_none(), "{what}: it has ended");
            met.sort_unstable();
            assert!(met.iter().eq(expected), "{what}, from both ends");
            count += 1;
        }
    }
    assert!(count > 5000, "{count}");
    figures::add("exhaustive", count);
}

/// The same bounds, and what lies between them is deleted.
#[test]
fn every_range_can_be_deleted() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    let (model, bounds) = holey(&mut txn, t);
    let mut count = 0;
    for from in &bounds {
        for to in &bounds {
            let range: Bounds = (from.clone(), to.clone());
            let undone = txn.nested(|child| {
                let mut rest = model.clone();
                rest.retain(|key, _| !is_between(key, &range));
                let deleted = t.remove_range(child, slices(&range))?;
                assert_eq!(deleted, (model.len() - rest.len()) as u64, "{range:?}");
                assert_same(child, t, &rest, &format!("{range:?}"));
                Err::<(), _>(Error::Invalid("undone"))
            });
            assert!(matches!(undone, Err(Error::Invalid(_))));
            count += 1;
        }
    }
    assert_same(&txn, t, &model, "all was undone");
    figures::add("exhaustive", count);
}

/// Integers of the machine, reversed bytes and a caller's order: ranges go by the table's order,
/// not by the bytes.
#[test]
fn ranges_of_every_order() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let by_last = Order::custom("by-last", |a, b| a.last().cmp(&b.last()).then(a.cmp(b)));
    let orders = [Order::NativeU32, Order::NativeU64, Order::Reversed, by_last];
    for (which, order) in orders.into_iter().enumerate() {
        let bytes = if which == 1 { 8 } else { 4 };
        let name = format!("order {which}");
        let t = txn.create_table(&TableDef::<Bytes, Bytes>::named(name).ordered(order)).unwrap();
        let key = |n: u64| (n * 0x0101_0001).to_le_bytes()[..bytes].to_vec();
        let rank = |key: &[u8]| -> Vec<u8> {
            match which {
                3 => [&key[key.len() - 1..], key].concat(),
                _ => key.iter().rev().copied().collect(),
            }
        };
        let numbers = (0..80).map(|n| n * 37 % 80);
        numbers.clone().for_each(|n| t.put(&mut txn, &key(n), &[1; 30]).map(drop).unwrap());
        let mut keys: Vec<Vec<u8>> = numbers.map(key).collect();
        keys.sort_by_key(|key| rank(key));
        for from in (0..80).step_by(3) {
            for to in 0..80 {
                let found = t.range(&txn, &key(from)[..]..=&key(to)[..]).unwrap();
                let expected = keys
                    .iter()
                    .filter(|have| (rank(&key(from))..=rank(&key(to))).contains(&rank(have)));
                let found: Vec<Vec<u8>> = found.map(|record| record.unwrap().0.to_vec()).collect();
                assert!(found.iter().eq(expected), "order {which}: {from} to {to}");
            }
        }
    }
    figures::add("exhaustive", 4 * 27 * 80);
    assert!(matches!(<huon::NativeU32 as KeyCodec>::ORDER, Order::NativeU32));
}
