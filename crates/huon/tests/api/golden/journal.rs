//! The journal has its description in FORMAT.md too, and its golden file: `v1-journal.huon` and
//! `v1-journal.huon-journal` are what a power loss left of [`make`].
//!
//! `HUON_GOLDEN_JOURNAL_OUT=path` in the environment keeps those that are made now.

use std::path::{Path, PathBuf};
use std::{env, fs};

use huon::{Bytes, Env, Multi, MultiDef, Recovery, TableDef, U64, limits};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::format::Format;
use super::{crate_file, format};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const M: MultiDef<U64, U64> = MultiDef::new("m");
const COMMITS: u64 = 6;
/// Records of each table before them.
const FIRST: u64 = 100;

fn value(n: u64) -> Vec<u8> {
    (0..20 + n * 7 % 90).map(|i| (n * 31 + i) as u8).collect()
}

/// Durable commits, of which the first is a checkpoint; what is on the disk then, at `path`.
fn make(path: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut options = Env::options();
    options.page_bytes(512).max_bytes(1 << 20).grow_bytes(4096);
    let env = options.journal(2 * limits::JOURNAL_BYTES_MIN).open(&data).unwrap();
    let put = |records: std::ops::Range<u64>| {
        env.update(|txn| {
            let (t, m) = (txn.create_table(&T)?, txn.create_table(&M)?);
            for n in records.clone() {
                t.put(txn, n * 7, &value(n))?;
                m.put(txn, n % 2, n)?;
            }
            Ok(())
        })
        .unwrap();
    };
    put(0..FIRST);
    // Each of them changes what was there, and adds to it.
    (0..COMMITS).for_each(|n| put(FIRST + n - 1..FIRST + n + 2));
    fs::copy(&data, path).unwrap();
    fs::copy(Env::journal_path(&data), Env::journal_path(path)).unwrap();
}

fn assert_engine_reads(path: &Path) {
    let env = Env::open(path).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    assert!(env.check().unwrap().is_clean());
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().expect("it is there");
    let m: Multi<U64, U64> = txn.open_table(&M).unwrap().expect("it is there");
    let records = FIRST + COMMITS + 1;
    assert_eq!((t.len(&txn).unwrap(), m.len(&txn).unwrap()), (records, records));
    for n in 0..records {
        let found = t.get(&txn, n * 7).unwrap().expect("it is there").to_vec();
        assert_eq!(found, value(n), "{n}");
        assert!(m.contains(&txn, n % 2, n).unwrap(), "{n}");
    }
}

/// Follows the batches from the place that the newest meta names, and takes the records apart; how
/// many pages of each form of difference there are.
fn assert_reader_reads(format: &Format, data: &[u8], journal: &[u8]) -> Vec<usize> {
    let meta = |name: &str, meta: &[u8]| format.get(meta, "meta block", name);
    let metas = data.chunks(format.block_bytes("meta block")).take(3);
    let newest = metas.max_by_key(|block| meta("txnid", block)).unwrap();
    assert_eq!(meta("features", newest), 1);
    let uuid = format.bytes(newest, "meta block", "uuid");
    let (mut chain, mut snapshot) = (meta("journal_chain", newest), meta("txnid", newest));
    let mut place = meta("journal_anchor", newest) as usize;
    let (mut batches, mut forms) = (0, vec![0; 6]);
    loop {
        let batch = &journal[place * 4096 % journal.len()..];
        let get = |name: &str| format.get(batch, "batch", name);
        if format.bytes(batch, "batch", "magic") != b"JRNLHUON" || get("place") != place as u64 {
            break;
        }
        let end = format.block_bytes("batch") + get("record_bytes") as usize;
        let checksum = xxh3_64_with_seed(&batch[16..end], xxh3_64_with_seed(uuid, 0));
        assert_eq!((get("version"), get("checksum")), (1, checksum));
        assert!(format.bytes(batch, "batch", "zero").iter().all(|byte| *byte == 0));
        assert_eq!(format.bytes(batch, "batch", "uuid"), uuid);
        if batches == 0 {
            assert_eq!(checksum, chain, "the anchor");
        } else {
            assert_eq!(get("chain"), chain, "batch {batches}");
        }
        let mut records = &batch[format.block_bytes("batch")..end];
        for _ in 0..get("records") {
            let bytes = format.get(records, "record", "bytes") as usize;
            assert_eq!(format.get(records, "record", "base"), snapshot);
            snapshot = format.get(records, "record", "txnid");
            record(format, &records[..bytes], &mut forms);
            records = &records[bytes..];
        }
        assert!(records.is_empty());
        assert_eq!(get("txnid"), if batches == 0 { get("txnid") } else { snapshot });
        (place, chain, batches) = (place + end.div_ceil(4096), checksum, batches + 1);
    }
    assert_eq!(batches, 1 + COMMITS, "the anchor, and a batch for each later commit");
    forms
}

fn record(format: &Format, record: &[u8], forms: &mut [usize]) {
    let mut rest = &record[format.block_bytes("record")..];
    for _ in 0..format.get(record, "record", "pages") {
        let get = |name: &str| format.get(rest, "page of a record", name);
        assert!(get("pgno") > 0 && get("before_birth") < format.get(record, "record", "txnid"));
        let (from, bytes) = (format.block_bytes("page of a record"), get("difference_bytes"));
        forms[format.get(&rest[from..], "difference", "form") as usize] += 1;
        rest = &rest[from + bytes as usize..];
    }
    let bytes = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
    assert_eq!(format.name("forms", rest[4].into()), "meta");
    forms[usize::from(rest[4])] += 1;
    let padding = &rest[4 + bytes..];
    assert!(padding.len() < 8 && padding.iter().all(|byte| *byte == 0));
}

/// Of each kind of page there are some.
fn assert_kinds(forms: &[usize]) {
    for form in ["leaf", "branch", "fixed", "meta"] {
        let number = format().number("forms", form) as usize;
        assert!(forms[number] > 0, "no {form}: {forms:?}");
    }
}

fn golden(name: &str) -> PathBuf {
    crate_file(&format!("tests/api/golden/{name}"))
}

fn read_by_the_document(path: &Path) {
    let (data, journal) = (fs::read(path).unwrap(), fs::read(Env::journal_path(path)).unwrap());
    assert_kinds(&assert_reader_reads(&format(), &data, &journal));
}

#[test]
fn the_golden_journal_stays_readable() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["v1-journal.huon", "v1-journal.huon-journal"] {
        fs::copy(golden(name), dir.path().join(name)).unwrap();
    }
    assert_engine_reads(&dir.path().join("v1-journal.huon"));
}

#[test]
fn the_document_describes_the_golden_journal() {
    read_by_the_document(&golden("v1-journal.huon"));
}

#[test]
fn the_document_describes_the_journal_that_is_written_now() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("now");
    make(&path);
    read_by_the_document(&path);
    if let Some(out) = env::var_os("HUON_GOLDEN_JOURNAL_OUT") {
        fs::copy(&path, &out).unwrap();
        fs::copy(Env::journal_path(&path), Env::journal_path(&out)).unwrap();
    }
    assert_engine_reads(&path);
}
