//! Many keys at once, and ranges a leaf at a time: the edges.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use huon::{
    Bytes, Env, Error, Leaf, NativeU32, NativeU64, Order, Str, Table, TableDef, Txn, U64, Unit,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const SIZES: [usize; 5] = [256, 512, 4096, 16384, 65536];

type Records = BTreeMap<u64, Vec<u8>>;

struct Place {
    dir: tempfile::TempDir,
    env: Env,
}

fn place(page_bytes: usize) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
    Place { dir, env }
}

/// Inline, empty, and in pages of their own.
fn value(n: u64) -> Vec<u8> {
    let bytes = if n % 194 == 10 { 70_000 } else { n as usize * 13 % 60 };
    vec![n as u8; bytes]
}

/// Even numbers, put out of order.
fn fill(env: &Env, count: u64) -> (Table<U64, Bytes>, Records) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..count {
        let n = 2 * (n * 7919 % count);
        t.put(&mut txn, n, &value(n)).unwrap();
    }
    txn.commit().unwrap();
    (t, (0..count).map(|n| (2 * n, value(2 * n))).collect())
}

fn many(txn: &impl Txn, t: Table<U64, Bytes>, keys: &[u64]) -> Vec<Option<Vec<u8>>> {
    let mut found = Vec::new();
    t.get_many(txn, keys, |i, value| {
        assert_eq!(i, found.len(), "in the order of the keys");
        found.push(value.map(<[u8]>::to_vec));
    })
    .unwrap();
    found
}

fn assert_many(txn: &impl Txn, t: Table<U64, Bytes>, records: &Records, keys: &[u64]) {
    let expected: Vec<_> = keys.iter().map(|key| records.get(key).cloned()).collect();
    assert!(many(txn, t, keys) == expected, "keys {keys:?}");
}

#[test]
fn any_number_of_keys_in_any_order() {
    for page_bytes in SIZES {
        for count in [0, 1, 3, 40, 2000] {
            let place = place(page_bytes);
            let (t, records) = fill(&place.env, count);
            let txn = place.env.read().unwrap();
            for keys_count in [0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 100] {
                let step = 2 * count / keys_count.max(1) + 1;
                let rising: Vec<u64> = (0..keys_count).map(|n| n * step).collect();
                assert_many(&txn, t, &records, &rising);
                let falling: Vec<u64> = rising.iter().rev().copied().collect();
                assert_many(&txn, t, &records, &falling);
                let mixed: Vec<u64> = (0..keys_count).map(|n| n * 7919 % (2 * count + 3)).collect();
                assert_many(&txn, t, &records, &mixed);
            }
            let same = vec![count; 50];
            assert_many(&txn, t, &records, &same);
            let all: Vec<u64> = (0..2 * count + 2).collect();
            assert_many(&txn, t, &records, &all);
            let ends = [0, u64::MAX, 2 * count, (2 * count).saturating_sub(2), 0, u64::MAX];
            assert_many(&txn, t, &records, &ends);
        }
    }
}

#[test]
fn a_write_transaction_shows_what_it_did() {
    for page_bytes in SIZES {
        let place = place(page_bytes);
        let (t, mut records) = fill(&place.env, 500);
        let before = place.env.read().unwrap();
        let old = records.clone();
        let mut txn = place.env.write().unwrap();
        for n in (0..1000).step_by(3) {
            assert_eq!(t.remove(&mut txn, n).unwrap(), records.remove(&n).is_some());
        }
        for n in (1..1200).step_by(7) {
            t.put(&mut txn, n, &value(n + 1)).unwrap();
            records.insert(n, value(n + 1));
        }
        let keys: Vec<u64> = (0..1300).rev().collect();
        assert_many(&txn, t, &records, &keys);
        assert_leaves(&txn, t, &records, ..);
        let undone = txn.nested(|txn| {
            t.clear(txn)?;
            assert_many(txn, t, &Records::new(), &keys);
            assert_eq!(t.iter(txn)?.leaves().count(), 0);
            Err::<(), _>(Error::Invalid("undo"))
        });
        assert!(undone.is_err());
        assert_many(&txn, t, &records, &keys);
        assert_leaves(&txn, t, &records, ..);
        assert_many(&before, t, &old, &keys);
        assert_leaves(&before, t, &old, ..);
        txn.commit().unwrap();
        let after = place.env.read().unwrap();
        assert_many(&after, t, &records, &keys);
        assert_leaves(&after, t, &records, ..);
    }
}

#[test]
fn every_order_and_kind_of_key() {
    let place = place(256);
    let mut txn = place.env.write().unwrap();
    let four = txn.create_table(&TableDef::<NativeU32, U64>::new("four")).unwrap();
    let eight = txn.create_table(&TableDef::<NativeU64, U64>::new("eight")).unwrap();
    let by_end = TableDef::<Str, U64>::new("reversed").ordered(Order::Reversed);
    let by_end = txn.create_table(&by_end).unwrap();
    let down = Order::custom("backwards", |a, b| b.cmp(a));
    let down = txn.create_table(&TableDef::<Str, U64>::new("custom").ordered(down)).unwrap();
    let text = txn.create_table(&TableDef::<Str, U64>::new("text")).unwrap();
    let name = |n: u64| format!("a/prefix/that/all/of/them/share/{}/{}", n % 7, n);
    for n in 0..300 {
        four.put(&mut txn, n as u32 * 77, n).unwrap();
        eight.put(&mut txn, n << 30, n).unwrap();
        by_end.put(&mut txn, &name(n), n).unwrap();
        down.put(&mut txn, &name(n), n).unwrap();
        text.put(&mut txn, &name(n), n).unwrap();
    }
    txn.commit().unwrap();
    let txn = place.env.read().unwrap();
    let wanted: Vec<u64> = (0..400).rev().collect();
    let expected: Vec<Option<u64>> = wanted.iter().map(|n| Some(*n).filter(|n| *n < 300)).collect();
    let mut found = Vec::new();
    let keys: Vec<u32> = wanted.iter().map(|n| *n as u32 * 77).collect();
    four.get_many(&txn, &keys, |_, n| found.push(n)).unwrap();
    assert_eq!(std::mem::take(&mut found), expected);
    let keys: Vec<u64> = wanted.iter().map(|n| n << 30).collect();
    eight.get_many(&txn, &keys, |_, n| found.push(n)).unwrap();
    assert_eq!(std::mem::take(&mut found), expected);
    let keys: Vec<String> = wanted.iter().map(|n| name(*n)).collect();
    for table in [by_end, down, text] {
        table.get_many(&txn, &slices(&keys), |_, n| found.push(n)).unwrap();
        assert_eq!(std::mem::take(&mut found), expected);
        let leaves = table.iter(&txn).unwrap().leaves();
        let given: Vec<_> =
            leaves.flat_map(|leaf| leaf.unwrap().iter()).map(Result::unwrap).collect();
        let one_by_one: Vec<_> = table.iter(&txn).unwrap().map(Result::unwrap).collect();
        assert_eq!(given, one_by_one);
        assert_eq!(given.len(), 300);
    }
}

#[test]
fn refusals_are_those_of_get() {
    let place = place(4096);
    let mut txn = place.env.write().unwrap();
    let t = txn.create_table(&TableDef::<Str, U64>::new("t")).unwrap();
    for name in ["ann", "bob", "cid", "dan"] {
        t.put(&mut txn, name, 1).unwrap();
    }
    t.raw().put(&mut txn, b"cid", b"no number").unwrap();
    let mut found = Vec::new();
    let error = t.get_many(&txn, &["dan", "ann", "cid", "bob"], |i, _| found.push(i)).unwrap_err();
    assert!(matches!(error, Error::Decode(_)), "{error}");
    assert_eq!(found, [0, 1], "what came before it was given");
    assert!(t.drop_table(&mut txn).unwrap());
    let gone = t.get_many(&txn, &["ann"], |_, _| panic!("there is none"));
    assert!(matches!(gone, Err(Error::TableNotFound)));
    // No key is looked up in no table, but the table must be there.
    assert!(matches!(t.get_many(&txn, &[""; 0], |_, _| ()), Err(Error::TableNotFound)));
}

/// The leaves of a range hold its records, in order, both ways and from both ends in turn.
fn assert_leaves(
    txn: &impl Txn,
    t: Table<U64, Bytes>,
    records: &Records,
    range: impl RangeBounds<u64> + Clone,
) -> usize {
    let expected: Vec<(u64, &[u8])> = if is_empty(&range) {
        Vec::new()
    } else {
        records.range(range.clone()).map(|(key, value)| (*key, &value[..])).collect()
    };
    let whole = |leaf: &Leaf<'_, U64, Bytes>| -> Vec<(u64, Vec<u8>)> {
        assert!(!leaf.is_empty());
        leaf.iter().map(|record| record.unwrap()).map(|(k, v)| (k, v.to_vec())).collect()
    };
    let same = |found: &[(u64, Vec<u8>)]| {
        found.len() == expected.len()
            && found.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && a.1 == b.1)
    };
    let leaves = || t.range(txn, range.clone()).unwrap().leaves();
    let mut found = Vec::new();
    let mut count = 0;
    for leaf in leaves() {
        found.extend(whole(&leaf.unwrap()));
        count += 1;
    }
    assert!(same(&found), "forward");
    let backward: Vec<_> = leaves().rev().map(|leaf| whole(&leaf.unwrap())).collect();
    assert_eq!(backward.len(), count);
    assert!(same(&backward.into_iter().rev().flatten().collect::<Vec<_>>()), "backward");
    let (mut front, mut back, mut both) = (Vec::new(), Vec::new(), leaves());
    for turn in 0.. {
        let leaf = if turn % 3 == 0 { both.next_back() } else { both.next() };
        let Some(leaf) = leaf else { break };
        match turn % 3 {
            0 => back.push(whole(&leaf.unwrap())),
            _ => front.push(whole(&leaf.unwrap())),
        }
    }
    assert_eq!(front.len() + back.len(), count);
    let all = front.into_iter().chain(back.into_iter().rev()).flatten();
    assert!(same(&all.collect::<Vec<_>>()), "from both ends");
    count
}

/// What a map of the standard library panics at.
fn is_empty(range: &impl RangeBounds<u64>) -> bool {
    use Bound::{Excluded, Included};
    match (range.start_bound(), range.end_bound()) {
        (Included(from), Included(to)) => from > to,
        (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
        _ => false,
    }
}

#[test]
fn ranges_that_begin_and_end_anywhere() {
    for page_bytes in SIZES {
        for count in [0, 1, 2, 5, 60, 400] {
            let place = place(page_bytes);
            let (t, records) = fill(&place.env, count);
            let txn = place.env.read().unwrap();
            assert_leaves(&txn, t, &records, ..);
            let top = 2 * count + 2;
            let step = (top / 40).max(1) as usize;
            for from in (0..top).step_by(step) {
                assert_leaves(&txn, t, &records, from..);
                assert_leaves(&txn, t, &records, ..from);
                assert_leaves(&txn, t, &records, ..=from);
                assert_leaves(&txn, t, &records, (Bound::Excluded(from), Bound::Unbounded));
                for to in (0..top).step_by(step * 3 + 1) {
                    assert_leaves(&txn, t, &records, from..to);
                    let open = (Bound::Excluded(from), Bound::Included(to));
                    assert_leaves(&txn, t, &records, open);
                }
            }
        }
    }
}

#[test]
fn one_leaf_the_first_and_the_last() {
    let place = place(4096);
    let (t, records) = fill(&place.env, 4);
    let txn = place.env.read().unwrap();
    assert_eq!(assert_leaves(&txn, t, &records, ..), 1);
    assert_eq!(assert_leaves(&txn, t, &records, 1..5), 1);
    assert_eq!(assert_leaves(&txn, t, &records, 3..4), 0);
    let leaf = t.range(&txn, 2..).unwrap().leaves().next().unwrap().unwrap();
    assert_eq!(leaf.len(), 3);
    assert_eq!(leaf.get(0).unwrap().unwrap().0, 2);
    assert_eq!(leaf.get(2).unwrap().unwrap().0, 6);
    assert!(leaf.get(3).unwrap().is_none() && leaf.get(usize::MAX).unwrap().is_none());
    let copy = leaf;
    assert!(copy.into_iter().rev().map(|record| record.unwrap().0).eq([6, 4, 2]));

    let (t, records) = fill(&place.env, 1000);
    let txn = place.env.read().unwrap();
    let leaves: Vec<_> = t.iter(&txn).unwrap().leaves().map(Result::unwrap).collect();
    assert!(leaves.len() > 10 && leaves.len() == assert_leaves(&txn, t, &records, ..));
    let key = |leaf: &Leaf<'_, U64, Bytes>, i| leaf.get(i).unwrap().unwrap().0;
    let first = &leaves[0];
    assert_eq!(key(first, 0), 0);
    let last = leaves.last().unwrap();
    assert_eq!(key(last, last.len() - 1), 1998);
    // From the first record of a leaf, and up to it, and from the last of the one before.
    let at = key(&leaves[5], 0);
    assert_eq!(assert_leaves(&txn, t, &records, at..), leaves.len() - 5);
    assert_eq!(assert_leaves(&txn, t, &records, ..at), 5);
    assert_eq!(assert_leaves(&txn, t, &records, ..=at), 6);
    let before = key(&leaves[4], leaves[4].len() - 1);
    assert_eq!(assert_leaves(&txn, t, &records, before..), leaves.len() - 4);
    assert_eq!(assert_leaves(&txn, t, &records, before + 1..), leaves.len() - 5);
    assert_eq!(assert_leaves(&txn, t, &records, before + 1..at), 0);
}

#[test]
fn what_a_range_gave_before_is_not_in_its_leaves() {
    let place = place(512);
    let (t, records) = fill(&place.env, 300);
    let txn = place.env.read().unwrap();
    for (front, back) in [(0, 1), (1, 0), (3, 5), (40, 70), (150, 150), (300, 0), (0, 300)] {
        let mut range = t.iter(&txn).unwrap();
        for n in 0..front {
            assert_eq!(range.next().unwrap().unwrap().0, 2 * n);
        }
        for n in 0..back {
            assert_eq!(range.next_back().unwrap().unwrap().0, 598 - 2 * n);
        }
        let expected: Vec<u64> = records.keys().copied().collect();
        let expected = &expected[front as usize..(300 - back) as usize];
        let leaves: Vec<_> = range.leaves().map(Result::unwrap).collect();
        let keys = leaves.iter().flat_map(|leaf| leaf.iter()).map(|record| record.unwrap().0);
        assert_eq!(keys.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn tables_stay_hidden_in_the_main_table() {
    for page_bytes in [256, 4096] {
        let place = place(page_bytes);
        let mut txn = place.env.write().unwrap();
        let main = txn.create_table(&TableDef::<Str, Unit>::main()).unwrap();
        let mut names = Vec::new();
        for n in 0..120 {
            let name = format!("{n:03}");
            // In ones, in twos, and many of a kind in a row.
            if n % 5 == 0 || n % 7 < 2 || (40..60).contains(&n) || n > 110 {
                txn.create_table(&TableDef::<Str, Unit>::named(name)).unwrap();
            } else {
                main.put(&mut txn, &name, ()).unwrap();
                names.push(name);
            }
        }
        txn.commit().unwrap();
        let txn = place.env.read().unwrap();
        let given = |leaf: huon::Result<Leaf<'_, Str, Unit>>| -> Vec<String> {
            let leaf = leaf.unwrap();
            assert!(!leaf.is_empty() && leaf.len() == leaf.iter().count());
            (0..leaf.len()).map(|i| leaf.get(i).unwrap().unwrap().0.to_string()).collect()
        };
        let forward: Vec<_> = main.iter(&txn).unwrap().leaves().flat_map(given).collect();
        assert_eq!(forward, names);
        let mut leaves: Vec<_> = main.iter(&txn).unwrap().leaves().rev().map(given).collect();
        leaves.reverse();
        assert_eq!(leaves.concat(), names);
        let keys: Vec<String> = (0..130).map(|n| format!("{n:03}")).collect();
        let mut found = Vec::new();
        main.get_many(&txn, &slices(&keys), |i, unit| found.extend(unit.map(|()| keys[i].clone())))
            .unwrap();
        assert_eq!(found, names);
    }
}

/// A leaf is damaged: its keys give an error that names it, all others are as they were, whichever
/// way they are read.
#[test]
fn damage_is_named_and_withholds_nothing_else() {
    let place = place(4096);
    let count = 2000;
    let (_, records) = fill(&place.env, count);
    let path = place.dir.path().join("a.huon");
    drop(place.env);
    let mut bytes = std::fs::read(&path).unwrap();
    let mark: Vec<u8> = (2 * 777u64).to_be_bytes().to_vec();
    // The key stands once in a leaf; a branch may hold it as a separator.
    let in_leaf = |at: &usize| bytes[at / 4096 * 4096 + 12] == 2;
    let mut places = (0..bytes.len() - 8).filter(|&at| bytes[at..].starts_with(&mark));
    let at = places.find(in_leaf).expect("the key lies in a leaf");
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let page = (at / 4096) as u32;

    let env = Env::options().open(&path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    let keys: Vec<u64> = records.keys().copied().collect();
    let lost: Vec<u64> = keys.iter().copied().filter(|key| t.get(&txn, *key).is_err()).collect();
    assert!(lost.len() > 5 && lost.contains(&(2 * 777)), "{lost:?}");
    let names_it = |error: Error| match error {
        Error::Corrupt(what) => assert_eq!(what.pgno, Some(page), "{what:?}"),
        error => panic!("{error}"),
    };
    let first_lost = keys.iter().position(|key| *key == lost[0]).unwrap();
    let mut given = 0;
    let error = t.get_many(&txn, &keys, |i, value| {
        assert_eq!((i, value), (given, Some(&records[&keys[i]][..])));
        given += 1;
    });
    names_it(error.unwrap_err());
    assert_eq!(given, first_lost, "everything before it");
    let behind = &keys[first_lost + lost.len()..];
    assert_many(&txn, t, &records, behind);

    let mut found = Vec::new();
    let mut range = t.iter(&txn).unwrap();
    let error = loop {
        match range.next().unwrap() {
            Ok((key, _)) => found.push(key),
            Err(error) => break error,
        }
    };
    names_it(error);
    assert_eq!(found, keys[..first_lost]);
    assert!(range.next().is_none() && range.next_back().is_none(), "an error is the last");
    let mut found = Vec::new();
    let mut leaves = t.iter(&txn).unwrap().leaves();
    let error = loop {
        match leaves.next_back().unwrap() {
            Ok(leaf) => found.extend(leaf.iter().rev().map(|record| record.unwrap().0)),
            Err(error) => break error,
        }
    };
    names_it(error);
    assert!(found.iter().rev().eq(behind));
    assert!(leaves.next().is_none() && leaves.next_back().is_none());
}

fn slices(keys: &[String]) -> Vec<&str> {
    keys.iter().map(String::as_str).collect()
}
