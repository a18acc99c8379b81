//! The file format has one description, FORMAT.md, and files of version 1 stay readable.
//!
//! `golden/v1.huon` was made by [`make`], as its content is by a rule ([`expected`]). Here
//!
//! 1. the engine opens a copy of it, finds it clean, reads what the rule says, and writes to it;
//! 2. a small reader that knows only the tables of FORMAT.md reads the same from the same bytes;
//! 3. both do so with a file that is made now: today's writer follows the document.
//!
//! The journal's golden file is in `journal`. `HUON_GOLDEN_OUT=path` in the environment keeps the
//! file that is made now.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use huon::{
    Bytes, Durability, Env, Error, MultiDef, Order, RawMulti, RawTable, ReadTxn, Recovery,
    TableDef, WriteTxn,
};

mod format;
mod journal;
mod reader;

use format::Format;
use reader::{Found, Records};

const PAGE_BYTES: usize = 512;
/// Large values that are there at first, and in no later snapshot: they fill the free-space list.
const PASSING: u64 = 50;
/// The names of the named tables and their orders, as FORMAT.md calls them.
const TABLES: [(&str, &str); 8] = [
    ("bytes", "bytes"),
    ("custom", "custom"),
    ("empty", "bytes"),
    ("large", "bytes"),
    ("long", "bytes"),
    ("native4", "native4"),
    ("native8", "native8"),
    ("reversed", "reversed"),
];

/// The names of the multimaps, and what FORMAT.md calls the orders of their keys and values. Where
/// all values have one length, the name ends with it.
const MULTIS: [(&str, &str, &str); 8] = [
    ("m-any", "bytes", "bytes"),
    ("m-custom", "bytes", "custom"),
    ("m-empty-9", "bytes", "bytes"),
    ("m-hash-20", "reversed", "bytes"),
    ("m-native-4", "bytes", "native4"),
    ("m-native-8", "native4", "native8"),
    ("m-reversed", "bytes", "reversed"),
    ("m-reversed-6", "custom", "reversed"),
];

fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn format() -> Format {
    Format::parse(&fs::read_to_string(crate_file("../../FORMAT.md")).unwrap())
}

// ---- the rule

/// How many records each table gets at first.
fn first_count(table: &str) -> u64 {
    match table {
        "" => 30,
        "bytes" => 260,
        "empty" => 0,
        "large" => 9,
        "long" => 20,
        _ => 90,
    }
}

/// The key of record `n`.
fn key(table: &str, n: u64) -> Vec<u8> {
    match table {
        "bytes" if n == 1 => vec![],
        "bytes" => format!("key/{n:05}/{}", "x".repeat(n as usize % 20)).into_bytes(),
        // As long as keys of this page size may be, and alike almost to the end.
        "long" => format!("{}{n:03}", "long".repeat(57)).into_bytes()[1..].to_vec(),
        "reversed" => format!("{n}.host-{}.example.org", n % 10).into_bytes(),
        "native4" => (n as u32).wrapping_mul(2_654_435_761).to_le_bytes().to_vec(),
        "native8" => n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().to_vec(),
        _ => format!("{}-{n:04}", if table.is_empty() { "main" } else { table }).into_bytes(),
    }
}

/// The value of record `n` in its first or second version.
fn value(table: &str, n: u64, version: u64) -> Vec<u8> {
    let bytes = match table {
        "" if n == 7 => 1500,
        "large" => [229, 300, 511, 512, 513, 1024, 1025, 2000, 3000][n as usize],
        _ => (n * 3 + version) % 40,
    };
    (0..bytes).map(|i| (n * 31 + i * 7 + version * 101) as u8).collect()
}

/// What happens to a record after it was put.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Rewritten,
    Deleted,
}

fn fate(n: u64) -> Fate {
    match n % 11 {
        3 => Fate::Deleted,
        5 | 8 => Fate::Rewritten,
        _ => Fate::Stays,
    }
}

/// Descending byte strings: the order of the table `custom`.
fn descending(a: &[u8], b: &[u8]) -> Ordering {
    b.cmp(a)
}

fn compare(order: &str, a: &[u8], b: &[u8]) -> Ordering {
    match order {
        "bytes" => a.cmp(b),
        "custom" => descending(a, b),
        _ => a.iter().rev().cmp(b.iter().rev()),
    }
}

/// How many pairs each multimap gets at first.
fn first_pairs(multi: &str) -> u64 {
    match multi {
        "m-empty-9" => 0,
        "m-hash-20" => 90,
        _ => 140,
    }
}

/// The length of each value of a multimap, where all have one.
fn one_length(multi: &str) -> Option<u32> {
    multi.rsplit_once('-').and_then(|(_, bytes)| bytes.parse().ok())
}

/// Pair `n` of a multimap. Most pairs are of one key, some of one with a few values, and some keys
/// have a single one.
fn pair(multi: &str, n: u64, version: u64) -> (Vec<u8>, Vec<u8>) {
    let of = match n {
        0..5 => n,
        5..14 => 5,
        _ => 6,
    };
    let key = match multi {
        "m-native-8" => (of as u32).wrapping_mul(2_654_435_761).to_le_bytes().to_vec(),
        _ => format!("{of}-of-{multi}").into_bytes(),
    };
    let n = n + 1000 * (version - 1);
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let value = match multi {
        "m-native-4" => (n as u32).wrapping_mul(2_654_435_761).to_le_bytes().to_vec(),
        "m-native-8" => mixed.to_le_bytes().to_vec(),
        _ => match one_length(multi) {
            // The first ones begin alike, and end alike.
            Some(bytes) => {
                let number = format!("{n:05}");
                let fill = "=".repeat(bytes as usize - number.len());
                if n.is_multiple_of(2) { fill + &number } else { number + &fill }.into_bytes()
            }
            None if n == 7 => vec![],
            None => format!("{n}/{}/{n}", "v".repeat((mixed % 17) as usize)).into_bytes(),
        },
    };
    (key, value)
}

/// Every table and multimap of the finished file, by name, with its records in order.
fn expected() -> BTreeMap<Vec<u8>, Records> {
    let kept = |count: u64| (0..count).filter(|&n| fate(n) != Fate::Deleted);
    let version = |n| if fate(n) == Fate::Rewritten { 2 } else { 1 };
    let mut all = BTreeMap::new();
    for (table, order) in TABLES.into_iter().chain([("", "bytes")]) {
        let records =
            kept(first_count(table)).map(|n| (key(table, n), value(table, n, version(n))));
        let mut records: Records = records.collect();
        records.sort_by(|(a, _), (b, _)| compare(order, a, b));
        all.insert(table.as_bytes().to_vec(), records);
    }
    for (multi, keys, values) in MULTIS {
        let pairs = kept(first_pairs(multi)).map(|n| pair(multi, n, version(n)));
        let mut pairs: Records = pairs.collect();
        pairs.sort_by(|a, b| compare(keys, &a.0, &b.0).then(compare(values, &a.1, &b.1)));
        all.insert(multi.as_bytes().to_vec(), pairs);
    }
    all
}

// ---- the file

fn order(name: &str) -> Order {
    match name {
        "reversed" => Order::Reversed,
        "native4" => Order::NativeU32,
        "native8" => Order::NativeU64,
        "custom" => Order::custom("descending", descending),
        _ => Order::Bytes,
    }
}

fn def(table: &'static str, keys: &str) -> TableDef<Bytes, Bytes> {
    match table {
        "" => TableDef::main(),
        name => {
            let def = TableDef::new(name).ordered(order(keys));
            if is_typed(name) { def.type_names(TYPES[0], TYPES[1]) } else { def }
        }
    }
}

fn multi_def(multi: &'static str, keys: &str, values: &str) -> MultiDef<Bytes, Bytes> {
    let def = MultiDef::new(multi).ordered(order(keys)).values_ordered(order(values));
    let def = if is_typed(multi) { def.type_names(TYPES[0], TYPES[1]) } else { def };
    match one_length(multi) {
        Some(bytes) => def.values_of_bytes(bytes),
        None => def,
    }
}

/// Numbers below `count` in an order that is none.
fn scrambled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |n| n * 7919 % count)
}

/// Makes the file. Later versions may make another one, but must read the golden one.
fn make(path: &Path) {
    let mut options = Env::options();
    options.page_bytes(PAGE_BYTES).max_bytes(512 << 10).grow_bytes(4096).shrink_bytes(0);
    let env = options.open(path).unwrap();
    let all: Vec<(&str, TableDef<Bytes, Bytes>)> =
        TABLES.into_iter().chain([("", "bytes")]).map(|(t, order)| (t, def(t, order))).collect();
    let mut txn = env.write().unwrap();
    let mut tables: Vec<(&str, RawTable)> = Vec::new();
    for (name, def) in &all {
        let table = txn.create_table(def).unwrap();
        tables.push((name, table));
        for n in scrambled(first_count(name)) {
            table.put(&mut txn, &key(name, n), &value(name, n, 1)).unwrap();
        }
    }
    let multis = make_multis(&mut txn);
    let main = tables[TABLES.len()].1;
    let passing = |n: u64| format!("passing-{n:02}").into_bytes();
    for n in 0..PASSING {
        main.put(&mut txn, &passing(n), &[n as u8; 300]).unwrap();
    }
    txn.commit().unwrap();
    // Each change in a commit of its own, with the first snapshot kept: many free-space items.
    let first = env.read().unwrap();
    let change = |work: &dyn Fn(&mut WriteTxn) -> huon::Result<bool>| {
        let mut txn = env.write().unwrap();
        work(&mut txn).unwrap();
        txn.commit_with(Durability::Lazy).unwrap();
    };
    for (name, table) in &tables {
        for n in 0..first_count(name) {
            match fate(n) {
                Fate::Stays => {}
                Fate::Rewritten => {
                    change(&|txn| table.put(txn, &key(name, n), &value(name, n, 2)));
                }
                Fate::Deleted => change(&|txn| table.remove(txn, &key(name, n))),
            }
        }
    }
    for (multi, table) in multis {
        let first = |n| pair(multi, n, 1);
        let changed = (0..first_pairs(multi)).filter(|&n| fate(n) != Fate::Stays);
        for n in changed {
            let ((key, old), (_, new)) = (first(n), pair(multi, n, 2));
            change(&|txn| table.remove(txn, &key, &old));
            if fate(n) == Fate::Rewritten {
                change(&|txn| table.put(txn, &key, &new));
            }
        }
    }
    (0..PASSING).for_each(|n| change(&|txn| main.remove(txn, &passing(n))));
    drop(first);
    // Pages born and freed since the durable snapshot are free for all.
    change(&|txn| main.put(txn, &passing(0), &[7; 4000]));
    change(&|txn| main.remove(txn, &passing(0)));
    let mut txn = env.write().unwrap();
    main.put(&mut txn, &passing(0), b"by").unwrap();
    main.remove(&mut txn, &passing(0)).unwrap();
    txn.commit().unwrap();
}

fn make_multis(txn: &mut WriteTxn) -> Vec<(&'static str, RawMulti)> {
    MULTIS
        .into_iter()
        .map(|(multi, keys, values)| {
            let table = txn.create_table(&multi_def(multi, keys, values)).unwrap();
            for n in scrambled(first_pairs(multi)) {
                let (key, value) = pair(multi, n, 1);
                assert!(table.put(txn, &key, &value).unwrap());
            }
            (multi, table)
        })
        .collect()
}

// ---- what is compared

fn engine_reads(txn: &ReadTxn, table: &'static str, order: &str) -> Records {
    let table = txn.open_table(&def(table, order)).unwrap().expect("the table is there");
    let records: huon::Result<Vec<_>> = table.iter(txn).unwrap().collect();
    let records: Records =
        records.unwrap().into_iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    for (key, value) in &records {
        assert_eq!(table.get(txn, key).unwrap(), Some(&value[..]));
    }
    let mut back: Records = table
        .iter(txn)
        .unwrap()
        .rev()
        .map(|r| r.unwrap())
        .map(|(k, v)| (k.into(), v.into()))
        .collect();
    back.reverse();
    assert_eq!(back, records);
    records
}

fn engine_reads_pairs(txn: &ReadTxn, multi: &'static str, keys: &str, values: &str) -> Records {
    let table = txn.open_table(&multi_def(multi, keys, values)).unwrap().expect("it is there");
    let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let pairs: Records = table.iter(txn).unwrap().map(|pair| owned(pair.unwrap())).collect();
    let back = table.iter(txn).unwrap().rev().map(|pair| owned(pair.unwrap()));
    let mut back: Records = back.collect();
    back.reverse();
    assert_eq!(back, pairs);
    for (key, value) in &pairs {
        assert!(table.contains(txn, key, value).unwrap());
    }
    assert_eq!(table.len(txn).unwrap(), pairs.len() as u64);
    pairs
}

/// The engine's view of the file: opened as after a crash, since it comes without a lock file.
fn assert_engine_reads(path: &Path) {
    let env = Env::options().open(path).unwrap();
    assert_eq!(env.recovery(), Recovery::Flushed);
    for round in 0..2 {
        let txn = env.read().unwrap();
        for (table, order) in TABLES.into_iter().chain([("", "bytes")]) {
            assert!(engine_reads(&txn, table, order) == expected()[table.as_bytes()], "{table}");
        }
        for (multi, keys, values) in MULTIS {
            let pairs = engine_reads_pairs(&txn, multi, keys, values);
            assert!(pairs == expected()[multi.as_bytes()], "{multi}");
        }
        let names = TABLES.iter().map(|table| table.0).chain(MULTIS.iter().map(|multi| multi.0));
        let mut names: Vec<_> = names.map(|name| name.as_bytes().to_vec()).collect();
        names.sort();
        assert_eq!(txn.table_names().unwrap(), names);
        let report = env.check().unwrap();
        assert!(report.is_clean(), "round {round}: {:#?}", report.problems);
        // The second round reads what was written to the file now.
        let mut txn = env.write().unwrap();
        let table = txn.create_table(&def("bytes", "bytes")).unwrap();
        table.put(&mut txn, b"new", &[1; 2000]).unwrap();
        txn.commit().unwrap();
        env.update(|txn| table.remove(txn, b"new")).unwrap();
        for (multi, keys, values) in MULTIS {
            let (key, value) = pair(multi, 20, 3);
            let edited: huon::Result<bool> = env.update(|txn| {
                let table = txn.create_table(&multi_def(multi, keys, values))?;
                Ok(table.put(txn, &key, &value)? && table.remove(txn, &key, &value)?)
            });
            assert!(edited.unwrap(), "{multi}");
        }
    }
}

/// The names behind the record of a table, with their roles.
fn names(table: &str, keys: &str, values: &str) -> Vec<(u64, String)> {
    let roles = [(1, keys), (2, values)].into_iter().filter(|(_, order)| *order == "custom");
    let comparators = roles.map(|(role, _)| (role, "descending"));
    let types = [(3, TYPES[0]), (4, TYPES[1])];
    let types = types.into_iter().filter(|_| is_typed(table));
    comparators.chain(types).map(|(role, name)| (role, name.to_string())).collect()
}

/// The names of the types of keys and values, where a table has some.
const TYPES: [&str; 2] = ["bytes of a key", "bytes of a value"];

/// Whether the table has names of types.
fn is_typed(table: &str) -> bool {
    matches!(table, "custom" | "empty" | "m-any" | "m-custom")
}

fn assert_reader_reads(found: &Found) {
    for (table, records) in expected() {
        let name = String::from_utf8(table.clone()).unwrap();
        assert!(found.tables[&table] == records, "`{name}` reads differently by the document");
    }
    assert_eq!(found.tables.len(), TABLES.len() + 1 + MULTIS.len());
    for (table, order) in TABLES {
        assert_eq!(found.orders[table.as_bytes()], order);
        assert_eq!(found.names[table.as_bytes()], names(table, order, ""));
    }
    assert_eq!(found.values.len(), MULTIS.len());
    for (multi, keys, values) in MULTIS {
        assert_eq!(found.orders[multi.as_bytes()], keys);
        assert_eq!(found.names[multi.as_bytes()], names(multi, keys, values));
        let wanted = (values.to_string(), one_length(multi).unwrap_or(0).into());
        assert_eq!(found.values[multi.as_bytes()], wanted, "{multi}");
    }
    let pages =
        ["branch", "leaf", "fixed", "free-list", "overflow pages", "separators with a prefix"];
    let cells = [
        "inline",
        "overflow",
        "table",
        "duplicate-set",
        "sets of one length",
        "sets of any length",
        "duplicate-tree",
        "trees of values with branches",
        "values in slotted leaves",
    ];
    let items = ["chains", "free entries", "entries of pages", "entries of overflow pages"];
    for kind in pages.iter().chain(&cells).chain(&items).chain(&["one-flush", "two-flush"]) {
        assert!(found.kinds.get(*kind).is_some_and(|count| *count > 0), "no {kind} in the file");
    }
    assert!(found.depth_max >= 3);
}

fn copy_of_golden(dir: &tempfile::TempDir) -> PathBuf {
    let path = dir.path().join("v1.huon");
    fs::copy(crate_file("tests/api/golden/v1.huon"), &path).unwrap();
    path
}

#[test]
fn the_golden_file_stays_readable() {
    let dir = tempfile::tempdir().unwrap();
    assert_engine_reads(&copy_of_golden(&dir));
}

#[test]
fn the_document_describes_the_golden_file() {
    let bytes = fs::read(crate_file("tests/api/golden/v1.huon")).unwrap();
    assert!(bytes.len() <= 300 << 10, "{} bytes", bytes.len());
    assert_reader_reads(&reader::read(&format(), &bytes));
}

#[test]
fn the_document_describes_what_is_written_now() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("now.huon");
    make(&path);
    let found = reader::read(&format(), &fs::read(&path).unwrap());
    println!("depth {}, {:?}", found.depth_max, found.kinds);
    assert_reader_reads(&found);
    if let Some(out) = std::env::var_os("HUON_GOLDEN_OUT") {
        fs::copy(&path, out).unwrap();
    }
    fs::remove_file(dir.path().join("now.huon-lock")).unwrap();
    assert_engine_reads(&path);
}

#[test]
fn blocks_are_as_long_as_the_document_says() {
    let format = format();
    let sizes = [
        ("pointer", 12),
        ("meta block", 4096),
        ("tree record", 64),
        ("name behind a record", 2),
        ("page header", 32),
        ("leaf slot", 8),
        ("leaf cell", 4),
        ("branch slot", 8),
        ("overflow reference", 28),
        ("free-list entry", 24),
        ("free-list page", 48),
        ("set of values", 2),
        ("batch", 80),
        ("record", 32),
        ("page of a record", 20),
        ("difference", 1),
        ("snapshot key", 8),
        ("snapshot record", 8),
        ("backup header", 32),
        ("backup frame", 16),
        ("head of an object", 160),
    ];
    for (block, bytes) in sizes {
        assert_eq!(format.block_bytes(block), bytes, "{block}");
    }
    assert!(format.blocks().all(|block| sizes.iter().any(|(known, _)| *known == block)));
    assert_eq!(format.field("meta block", "main").bytes, format.block_bytes("tree record"));
    let items = format.field("meta block", "free_entries").bytes;
    assert_eq!(items, 160 * format.block_bytes("free-list entry"));
    assert_eq!(format.number("commit kinds", "two-flush"), 2);
}

/// A flipped byte of a field that is outside all other checks is refused as the document says.
#[test]
fn first_fields_of_metas_are_checked_first() {
    let format = format();
    let refused = |field: &str, is_right: fn(&Error) -> bool| {
        let dir = tempfile::tempdir().unwrap();
        let path = copy_of_golden(&dir);
        let mut bytes = fs::read(&path).unwrap();
        let at = format.field("meta block", field).at;
        (0..3).for_each(|slot| bytes[slot * format.block_bytes("meta block") + at] ^= 0x10);
        fs::write(&path, bytes).unwrap();
        let error = Env::options().open(&path).expect_err(field);
        assert!(is_right(&error), "{field}: {error}");
    };
    refused("magic", |error| matches!(error, Error::NotADatabase(_)));
    refused("version", |error| matches!(error, Error::Version(_)));
    refused("features", |error| matches!(error, Error::Version(_)));
    for field in ["checksum", "uuid", "page_bytes", "txnid", "used", "main", "zero", "free_entries"]
    {
        refused(field, |error| matches!(error, Error::Corrupt(_)));
    }
}

#[test]
fn limits_are_those_of_the_document() {
    let format = format();
    let (from, to) = format.limit("page size, bytes").split_once(" to ").unwrap();
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    for page_bytes in [from / 2, to * 2, 3000] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Env::options();
        let opened = options.page_bytes(page_bytes).open(dir.path().join("a.huon"));
        assert!(matches!(opened, Err(Error::Invalid(_))), "{page_bytes}");
    }
    for page_bytes in [256, 4096, 65536] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
        let max = env.info().unwrap().key_bytes_max;
        assert_eq!(format.limit(&format!("key at P = {page_bytes}")), max.to_string());
        assert_eq!(max as usize, (page_bytes - 32) / 2 - 10);
    }
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let table = txn.create_table(&def("bytes", "bytes")).unwrap();
    let max: usize = format.limit("value, bytes").parse().unwrap();
    let over = table.reserve(&mut txn, b"k", max + 1, |_| ());
    assert!(matches!(over, Err(Error::ValueTooLong)));
}

/// The picture of a leaf in FORMAT.md: a leaf with two records, as it is written, byte by byte.
#[test]
fn the_picture_of_a_leaf_is_true() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = Env::options().page_bytes(256).open(&path).unwrap();
    env.update(|txn| {
        let main = txn.create_table(&TableDef::<Bytes, Bytes>::main())?;
        main.put(txn, b"apple", b"red")?;
        main.put(txn, b"apricot", b"orange")
    })
    .unwrap();
    let mut leaf = None;
    env.visit_pages(&mut |page| {
        if page.kind == huon::PageKind::Leaf {
            leaf = Some(page.pgno as usize);
        }
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    drop(env);
    let file = fs::read(&path).unwrap();
    let page = &file[leaf.unwrap() * 256..][..256];
    let document = fs::read_to_string(crate_file("../../FORMAT.md")).unwrap();
    let picture = document.split("### A leaf, byte by byte").nth(1).expect("there is a picture");
    let picture = picture.split("```").nth(1).expect("it is in a block");
    let mut drawn = Vec::new();
    for line in picture.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let (at, rest) = line.split_once(' ').unwrap();
        let at: usize = at.parse().unwrap();
        drawn.resize(at, 0);
        let bytes = rest.trim_start().split("  ").next().unwrap().split(' ');
        drawn.extend(bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    assert_eq!(drawn[8..], page[8..], "the page is\n{page:02x?}");
}
