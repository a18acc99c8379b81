//! Splits, merges and roots that come and go: every short sequence of changes, and every page size.

use huon::{Error, RawTable, WriteTxn};
use huon_testkit::figures;

use super::{Model, Place, assert_clean, assert_holds, assert_same, def, small};

/// A change of one record of a small table.
#[derive(Clone, Copy, Debug)]
enum Change {
    Put(u8, usize),
    Delete(u8),
}

impl Change {
    fn apply(self, txn: &mut WriteTxn, t: RawTable, model: &mut Model) {
        match self {
            Change::Put(key, bytes) => {
                let value = vec![key ^ bytes as u8; bytes];
                let is_new = t.put(txn, &[key], &value).unwrap();
                assert_eq!(is_new, model.insert(vec![key], value).is_none());
            }
            Change::Delete(key) => {
                let was_there = t.remove(txn, &[key]).unwrap();
                assert_eq!(was_there, model.remove(&[key][..]).is_some());
            }
        }
    }
}

/// All changes of these keys: values of each size, and a delete.
fn changes(keys: &[u8], sizes: &[usize]) -> Vec<Change> {
    let puts = keys.iter().flat_map(|&key| sizes.iter().map(move |&size| Change::Put(key, size)));
    puts.chain(keys.iter().map(|&key| Change::Delete(key))).collect()
}

/// Tables to start from, at pages of 256 bytes: nothing; one leaf; leaves below a root, each about
/// to be split or merged; two levels of branches.
fn starts() -> [Vec<(u8, usize)>; 4] {
    [
        vec![],
        vec![(10, 90), (30, 90)],
        (0..12u8).map(|n| (n * 5, if n % 3 == 0 { 95 } else { 60 })).collect(),
        (0..60u8).map(|n| (n, 95)).collect(),
    ]
}

fn begin_with(txn: &mut WriteTxn, start: &[(u8, usize)]) -> (RawTable, Model) {
    let mut model = Model::new();
    let t = txn.create_table(&def()).unwrap();
    t.clear(txn).unwrap();
    for &(key, size) in start {
        Change::Put(key, size).apply(txn, t, &mut model);
    }
    (t, model)
}

/// LMDB mended splitting, merging and the root's end again and again (2015 to 2020): each time a
/// short sequence of changes that no test had tried. Each step here is a nested transaction that is
/// undone, so all sequences with a common beginning share it.
#[test]
fn every_short_sequence_of_changes() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut count = 0;
    for (start, length) in starts().iter().zip([5, 5, 4, 4]) {
        let mut txn = env.write().unwrap();
        let (t, model) = begin_with(&mut txn, start);
        // The middle of the table, so that changes reach neighbours on both sides.
        let keys = if start.len() > 50 { [20, 21, 22, 23] } else { [10, 11, 20, 30] };
        let sizes: &[usize] = if start.is_empty() { &[0, 96] } else { &[0, 50, 96] };
        count += sequences(&mut txn, t, &model, &changes(&keys, sizes), length);
        assert_same(&txn, t, &model, "all was undone");
        txn.commit().unwrap();
        assert_clean(&env, "all was undone");
        assert_holds(&env, &model, "all was undone");
    }
    assert!(count > 500_000, "{count}");
    figures::add("exhaustive", count);
}

fn sequences(
    txn: &mut WriteTxn,
    t: RawTable,
    model: &Model,
    changes: &[Change],
    length: u32,
) -> u64 {
    let mut count = 0;
    for change in changes {
        let undone: Result<(), Error> = txn.nested(|child| {
            let mut model = model.clone();
            change.apply(child, t, &mut model);
            assert_equal(child, t, &model, change);
            count += 1;
            if length > 1 {
                count += sequences(child, t, &model, changes, length - 1);
            }
            Err(Error::Invalid("undone"))
        });
        assert!(undone.is_err());
    }
    count
}

/// As `assert_same`, made for being called a million times.
fn assert_equal(txn: &WriteTxn, t: RawTable, model: &Model, last: &Change) {
    let found = t.iter(txn).unwrap().map(Result::unwrap);
    let expected = model.iter().map(|(key, value)| (&key[..], &value[..]));
    assert!(found.eq(expected), "after {last:?}: {model:?}");
}

/// The same with a commit after each change, and large values among them.
#[test]
fn every_short_sequence_of_commits() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut count = 0;
    for start in starts() {
        let keys: &[u8] = if start.len() > 50 { &[20, 21] } else { &[10, 11, 30] };
        let changes = changes(keys, &[0, 96, 300]);
        for sequence in 0..changes.len().pow(3) {
            let mut txn = env.write().unwrap();
            let (t, mut model) = begin_with(&mut txn, &start);
            txn.commit().unwrap();
            let mut rest = sequence;
            for _ in 0..3 {
                let change = changes[rest % changes.len()];
                rest /= changes.len();
                let mut txn = env.write().unwrap();
                change.apply(&mut txn, t, &mut model);
                txn.commit().unwrap();
            }
            assert_holds(&env, &model, &format!("sequence {sequence}"));
            if sequence % 4 == 0 {
                assert_clean(&env, &format!("sequence {sequence}"));
            }
            count += 1;
        }
    }
    figures::add("exhaustive", count);
}

/// LMDB chose where to split by a number that fitted one page size only (2021), and redb could not
/// hold 65536 records in one leaf.
#[test]
fn as_many_records_as_a_page_can_hold_at_every_size() {
    for page_bytes in (8..=16).map(|bits| 1usize << bits) {
        let place = Place::new();
        let env = small().page_bytes(page_bytes).open(&place.path).unwrap();
        let mut txn = env.write().unwrap();
        let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
        // The smallest records there are, more than a page of them.
        for n in 0..(page_bytes / 4).max(300) as u16 {
            t.append(&mut txn, &n.to_be_bytes(), b"").unwrap();
            model.insert(n.to_be_bytes().to_vec(), Vec::new());
        }
        txn.commit().unwrap();
        let what = format!("pages of {page_bytes}");
        assert_clean(&env, &what);
        assert_holds(&env, &model, &what);
        let leaves = env.stat().unwrap().tables[1].leaf_pages;
        let per_leaf = model.len() / leaves as usize;
        assert!(per_leaf >= page_bytes / 20, "{what}: {per_leaf} records to a leaf");
        tiny_and_huge(&env, t, page_bytes);
    }
}

/// The shortest and the longest keys and values in turn, from both ends and from the middle.
fn tiny_and_huge(env: &huon::Env, t: RawTable, page_bytes: usize) {
    let longest = env.info().unwrap().key_bytes_max as usize;
    let key = |n: u64| {
        let bytes = if n.is_multiple_of(2) { 2 } else { longest };
        let mut key = vec![n as u8; bytes];
        key[..2].copy_from_slice(&(n as u16).to_be_bytes());
        key
    };
    let inline_max = (page_bytes - 32) / 2 - 12 - 2;
    let orders: [fn(u64) -> u64; 4] =
        [|n| n, |n| 63 - n, |n| if n % 2 == 0 { n / 2 } else { 63 - n / 2 }, |n| n * 23 % 64];
    for (number, order) in orders.iter().enumerate() {
        let what = format!("pages of {page_bytes}, order {number}");
        let (mut txn, mut model) = (env.write().unwrap(), Model::new());
        t.clear(&mut txn).unwrap();
        for n in (0..64).map(order) {
            let bytes = if n % 3 == 0 { 0 } else { inline_max };
            super::put(&mut txn, t, &mut model, &key(n), &vec![n as u8; bytes]);
        }
        assert_same(&txn, t, &model, &what);
        txn.commit().unwrap();
        assert_clean(env, &what);
        let mut txn = env.write().unwrap();
        for n in (0..60).map(order) {
            assert!(t.remove(&mut txn, &key(n)).unwrap());
            model.remove(&key(n));
            assert_same(&txn, t, &model, &what);
        }
        txn.commit().unwrap();
        assert_clean(env, &what);
    }
}
