//! Ranges that are deleted, and the pages that this takes.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::sim::SimDisk;
use crate::{Bytes, Env, TableDef, U64, Unit};

const T: TableDef<U64, Bytes> = TableDef::new("t");

type Range = (Bound<u64>, Bound<u64>);

fn env() -> Env {
    let disk = SimDisk::new(8 << 20).unwrap();
    Env::options().page_bytes(256).open_simulated(&disk).unwrap()
}

/// Leaves between the ends of a range leave the tree without a copy.
#[test]
fn whole_leaves_of_a_range_are_not_copied() {
    let env = env();
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    env.update(|txn| (0..6000).try_for_each(|n| t.put(txn, n, b"value").map(drop))).unwrap();
    let before = env.read().unwrap().table_stat("t").unwrap().unwrap();
    let mut txn = env.write().unwrap();
    let pages = txn.pages_mut().shape();
    assert_eq!(t.remove_range(&mut txn, 500..5500).unwrap(), 5000);
    // Each page that comes or goes counts.
    let pages = txn.pages_mut().shape() - pages;
    let after = txn.table_stat("t").unwrap().unwrap();
    let gone = u64::from(before.leaf_pages - after.leaf_pages);
    assert!(gone > 300, "{gone} leaves");
    // Else each leaf would come and go.
    assert!(pages < 2 * gone, "{pages} for {gone} leaves");
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

/// Ranges with all kinds of ends, of tables with values in pages of their own and without.
#[test]
fn a_range_is_deleted_whatever_its_ends_are() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % below
    };
    for round in 0..60 {
        let env = env();
        let t = env.update(|txn| txn.create_table(&T)).unwrap();
        let fixed = TableDef::<U64, Unit>::new("fixed");
        let fixed = env.update(|txn| txn.create_table(&fixed)).unwrap();
        let count = 1 + random(1500);
        let bytes =
            |n: u64| if round % 2 == 0 && n.is_multiple_of(50) { 600 } else { n as usize % 9 };
        let mut model: BTreeMap<u64, Vec<u8>> =
            (0..count).map(|n| (n * 3, vec![n as u8; bytes(n)])).collect();
        let mut txn = env.write().unwrap();
        for (key, value) in &model {
            t.put(&mut txn, *key, value).unwrap();
            fixed.put(&mut txn, *key, ()).unwrap();
        }
        for _ in 0..4 {
            let mut bound = || match random(6) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(random(3 * count + 3)),
                _ => Bound::Excluded(random(3 * count + 3)),
            };
            let range: Range = (bound(), bound());
            let before = model.len();
            model.retain(|key, _| !std::ops::RangeBounds::contains(&range, key));
            let gone = (before - model.len()) as u64;
            assert_eq!(t.remove_range(&mut txn, range).unwrap(), gone, "{range:?}");
            assert_eq!(fixed.remove_range(&mut txn, range).unwrap(), gone, "{range:?}");
            let records = t.iter(&txn).unwrap().map(|record| record.unwrap());
            assert!(records.eq(model.iter().map(|(key, value)| (*key, &value[..]))));
            assert!(fixed.iter(&txn).unwrap().map(|it| it.unwrap().0).eq(model.keys().copied()));
        }
        txn.commit().unwrap();
        assert!(env.check().unwrap().is_clean());
    }
}
