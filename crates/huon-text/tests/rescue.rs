//! Rescue: what a damaged file still gives.

use huon::{Bytes, CheckReport, CopyOptions, Env, Error, MultiDef, Order, TableDef};
use huon_text::{DumpOptions, DumpReport, LoadOptions, dump as dump_to, load as load_from};
use std::path::PathBuf;

const PAGE: usize = 512;
const RECORDS: u32 = 2000;

type Def = TableDef<Bytes, Bytes>;

/// A closed file with a table of many leaves, and another one.
fn sample(dir: &tempfile::TempDir) -> (PathBuf, CheckReport) {
    let path = dir.path().join("a.huon");
    let env = Env::options().page_bytes(PAGE).open(&path).unwrap();
    env.update(|txn| {
        let big = txn.create_table(&Def::new("big"))?;
        let small = txn.create_table(&Def::new("small"))?;
        for n in 0..RECORDS {
            big.put(txn, &n.to_be_bytes(), &n.to_le_bytes().repeat(5))?;
        }
        small.put(txn, b"key", b"value").map(drop)
    })
    .unwrap();
    let report = env.check().unwrap();
    assert!(report.is_clean());
    (path, report)
}

/// Pages of a kind (2: leaf, 1: branch) and level in the file.
fn pages(path: &PathBuf, kind: u8, level: u8) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap();
    let page = |n: usize| &bytes[n * PAGE..(n + 1) * PAGE];
    let is = |n: &usize| {
        let page = page(*n);
        page[12] == kind && page[13] == level && page[8..12] == (*n as u32).to_le_bytes()
    };
    (24..bytes.len() / PAGE).filter(is).collect()
}

fn damage(path: &PathBuf, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[page * PAGE + 100] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn rescue(path: &PathBuf) -> (String, DumpReport) {
    let env = Env::options().open(path).unwrap();
    assert!(!env.check().unwrap().is_clean());
    let mut text = Vec::new();
    let error = dump_to(&env, &mut text, DumpOptions::new()).unwrap_err();
    assert!(matches!(error, huon_text::Error::Store(Error::Corrupt(_))));
    let error = env.copy_to(path.with_extension("copy"), CopyOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)));
    text.clear();
    let report = dump_to(&env, &mut text, DumpOptions::new().rescue(true)).unwrap();
    (String::from_utf8(text).unwrap(), report)
}

fn count_after_loading(text: &str) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("b.huon")).unwrap();
    load_from(&env, &mut text.as_bytes(), LoadOptions::new()).unwrap();
    let txn = env.read().unwrap();
    let big = txn.open_table(&Def::new("big")).unwrap().unwrap();
    for record in big.iter(&txn).unwrap() {
        let (key, value) = record.unwrap();
        let n = u32::from_be_bytes(key.try_into().unwrap());
        assert_eq!(value, n.to_le_bytes().repeat(5));
    }
    let small = txn.open_table(&Def::new("small")).unwrap().unwrap();
    assert_eq!(small.get(&txn, b"key").unwrap(), Some(&b"value"[..]));
    big.len(&txn).unwrap()
}

#[test]
fn a_damaged_leaf_costs_its_own_records() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = sample(&dir);
    let leaves = pages(&path, 2, 0);
    damage(&path, leaves[leaves.len() / 2]);
    let (text, report) = rescue(&path);
    assert_eq!(report.skipped_count, 1);
    assert_eq!(report.skipped[0].pgno, Some(leaves[leaves.len() / 2] as u32));
    let count = count_after_loading(&text);
    assert!(count < RECORDS.into() && count > u64::from(RECORDS) - 30, "{count}");
}

#[test]
fn a_damaged_branch_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = sample(&dir);
    let branches = pages(&path, 1, 1);
    damage(&path, branches[branches.len() / 2]);
    let (text, report) = rescue(&path);
    assert_eq!(report.skipped_count, 1);
    // Its leaves are found again, since only one table can have lost them.
    assert_eq!(text.matches("database=big\n").count(), 2);
    assert_eq!(count_after_loading(&text), u64::from(RECORDS));
}

/// A closed file with a multimap: one key with a tree of values, others with a single one.
fn multimap(dir: &tempfile::TempDir) -> PathBuf {
    let path = dir.path().join("a.huon");
    let env = Env::options().page_bytes(PAGE).open(&path).unwrap();
    env.update(|txn| {
        let index = txn.create_table(&MultiDef::<huon::Str, huon::U64>::new("index"))?;
        (0..u64::from(RECORDS)).try_for_each(|n| index.put(txn, "all", n).map(drop))?;
        (0..50).try_for_each(|n| index.put(txn, &format!("key-{n}"), n).map(drop))
    })
    .unwrap();
    path
}

/// How many values of the one key and of others come back.
fn values_after_loading(text: &str) -> [u64; 2] {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("b.huon")).unwrap();
    load_from(&env, &mut text.as_bytes(), LoadOptions::new()).unwrap();
    assert!(env.check().unwrap().is_clean());
    let txn = env.read().unwrap();
    let def = MultiDef::<huon::Str, Bytes>::new("index").values_ordered(Order::Stored);
    let index = txn.open_table(&def).unwrap().unwrap();
    let all = index.count_values(&txn, "all").unwrap();
    [all, index.len(&txn).unwrap() - all]
}

#[test]
fn a_damaged_leaf_of_values_costs_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = multimap(&dir);
    let leaves = pages(&path, 3, 0);
    let hit = leaves[leaves.len() / 2];
    damage(&path, hit);
    let (text, report) = rescue(&path);
    assert_eq!((report.skipped_count, report.skipped[0].pgno), (1, Some(hit as u32)));
    let [all, others] = values_after_loading(&text);
    assert!(all < RECORDS.into() && all >= u64::from(RECORDS) - 60, "{all}");
    assert_eq!(others, 50);
}

/// What lies below a damaged branch of a tree of values has lost its key: it is counted.
#[test]
fn values_below_a_damaged_branch_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = multimap(&dir);
    let fixed = pages(&path, 3, 0);
    let bytes = std::fs::read(&path).unwrap();
    let leads_to_values = |page: &usize| {
        let page = &bytes[page * PAGE..][..PAGE];
        let count = usize::from(u16::from_le_bytes([page[14], page[15]]));
        let child = &page[32 + 8 * count..][..4];
        fixed.contains(&(u32::from_le_bytes(child.try_into().unwrap()) as usize))
    };
    let branches = pages(&path, 1, 1);
    let branch = *branches.iter().find(|page| leads_to_values(page)).unwrap();
    let below = usize::from(u16::from_le_bytes([bytes[branch * PAGE + 14], 0]));
    damage(&path, branch);
    let (text, report) = rescue(&path);
    assert_eq!(report.skipped_count, 1 + below as u64);
    let [all, others] = values_after_loading(&text);
    assert!(all < RECORDS.into(), "{all}");
    assert_eq!(others, 50);
}
