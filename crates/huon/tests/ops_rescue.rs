//! Rescue: what a damaged file still gives.

use huon::{Bytes, CheckReport, CopyOptions, DumpOptions, Env, Error, LoadOptions, TableDef};
use std::path::PathBuf;

const PAGE: usize = 512;
const RECORDS: u32 = 2000;

type Def = TableDef<Bytes, Bytes>;

/// A closed file with a table of many leaves, and another one.
fn sample(dir: &tempfile::TempDir) -> (PathBuf, CheckReport) {
    let path = dir.path().join("a.huon");
    let env = Env::options().page_bytes(PAGE).open(&path).unwrap();
    env.update(|txn| {
        let big = txn.create(&Def::new("big"))?;
        let small = txn.create(&Def::new("small"))?;
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

fn rescue(path: &PathBuf) -> (String, huon::DumpReport) {
    let env = Env::options().open(path).unwrap();
    assert!(!env.check().unwrap().is_clean());
    let mut text = Vec::new();
    let error = env.dump(&mut text, &mut DumpOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)));
    let error = env.copy_to(path.with_extension("copy"), &mut CopyOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)));
    text.clear();
    let report = env.dump(&mut text, &mut DumpOptions::new().rescue(true)).unwrap();
    (String::from_utf8(text).unwrap(), report)
}

fn count_after_loading(text: &str) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("b.huon")).unwrap();
    env.load(&mut text.as_bytes(), &mut LoadOptions::new()).unwrap();
    let txn = env.read().unwrap();
    let big = txn.open(&Def::new("big")).unwrap().unwrap();
    for record in big.iter(&txn).unwrap() {
        let (key, value) = record.unwrap();
        let n = u32::from_be_bytes(key.try_into().unwrap());
        assert_eq!(value, n.to_le_bytes().repeat(5));
    }
    let small = txn.open(&Def::new("small")).unwrap().unwrap();
    assert_eq!(small.get(&txn, b"key").unwrap(), Some(&b"value"[..]));
    big.count(&txn).unwrap()
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
