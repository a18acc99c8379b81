//! FORMAT.md describes manifests and runs: a small reader that knows nothing but its tables reads
//! what the crate writes.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use huon::{Bytes, Env, RawTable, ReadTxn, Str, TableDef, U64};
use huon_lsm::{Lsm, LsmDef, LsmOptions};
use twox_hash::XxHash3_64;

/// The tables of fields, by heading: name, offset, bytes.
struct Format {
    fields: HashMap<String, Vec<(String, usize, usize)>>,
    /// Of filters.
    salts: Vec<u32>,
}

impl Format {
    fn read() -> Format {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../FORMAT.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, text) = text.split_once("\n## LSM tables\n").expect("the section is there");
        let (text, _) = text.split_once("\n## ").unwrap();
        let mut fields: HashMap<String, Vec<_>> = HashMap::new();
        let mut heading = String::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("### ") {
                heading = title.to_owned();
            }
            let cells: Vec<&str> =
                line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            if let [_, at, bytes, name, ..] = cells[..]
                && let (Ok(at), Ok(bytes)) = (at.parse(), bytes.parse())
            {
                fields.entry(heading.clone()).or_default().push((name.to_owned(), at, bytes));
            }
        }
        let words = text.split('`').filter(|word| word.len() == 8);
        let salts = words.filter_map(|word| u32::from_str_radix(word, 16).ok()).collect();
        Format { fields, salts }
    }

    /// The fields of a record by name, and the strings behind them.
    fn parse(&self, heading: &str, record: &[u8]) -> Record {
        let (mut numbers, mut end) = (HashMap::new(), 0);
        for (name, at, bytes) in &self.fields[heading] {
            assert_eq!(*at, end, "`{name}` in `{heading}` does not follow the field before");
            end = at + bytes;
            let mut number = [0; 8];
            number[..*bytes].copy_from_slice(&record[*at..end]);
            numbers.insert(name.clone(), u64::from_le_bytes(number));
        }
        Record { numbers, rest: record[end..].to_vec() }
    }

    /// Whether a filter has a key.
    fn may_hold(&self, filter: &[u8], key: &[u8]) -> bool {
        let (hash, blocks) = (XxHash3_64::oneshot(key), filter.len() as u64 / 32);
        let block = (((hash >> 32) * blocks) >> 32) as usize * 32;
        self.salts.iter().enumerate().all(|(i, salt)| {
            let word = u32::from_le_bytes(filter[block + 4 * i..][..4].try_into().unwrap());
            word & 1 << ((hash as u32).wrapping_mul(*salt) >> 27) != 0
        })
    }
}

struct Record {
    numbers: HashMap<String, u64>,
    rest: Vec<u8>,
}

impl Record {
    fn of(&self, name: &str) -> u64 {
        self.numbers[name]
    }

    fn strings(&self) -> Vec<Vec<u8>> {
        let (mut rest, mut strings) = (&self.rest[..], Vec::new());
        while let Some((bytes, tail)) = rest.split_first_chunk::<4>() {
            let (string, tail) = tail.split_at(u32::from_le_bytes(*bytes) as usize);
            strings.push(string.to_vec());
            rest = tail;
        }
        assert!(rest.is_empty());
        strings
    }
}

fn table(txn: &ReadTxn, name: &str) -> RawTable {
    txn.open_table(&TableDef::<Bytes, Bytes>::named(name)).unwrap().expect(name)
}

fn key_of(kind: u8, number: u64) -> Vec<u8> {
    [&[kind][..], &number.to_be_bytes()].concat()
}

/// The records of a kind, by their numbers.
fn records(txn: &ReadTxn, manifest: RawTable, kind: u8) -> Vec<(u64, Vec<u8>)> {
    let found = manifest.prefix(txn, &[kind]).unwrap().map(|record| record.unwrap());
    let number = |key: &[u8]| u64::from_be_bytes(key[1..].try_into().unwrap());
    found.map(|(key, value)| (number(key), value.to_vec())).collect()
}

/// What the record of a run says, and what its table has.
fn assert_run(
    format: &Format,
    txn: &ReadTxn,
    manifest: RawTable,
    (number, record): &(u64, Vec<u8>),
    (is_merged, inputs): (bool, &[u64]),
) {
    let run = format.parse("Run record", record);
    let name = format!("\0lsm/t/r/{:03}", run.of("slot"));
    let (mut keys, mut tombstones, mut bytes) = (Vec::new(), 0, 0);
    for record in table(txn, &name).iter(txn).unwrap() {
        let (key, value) = record.unwrap();
        match value.split_last().expect("a tag") {
            (0, value) => assert_eq!(value.len(), 8),
            (1, []) => tombstones += 1,
            (2, value) if is_merged => assert_eq!(value.len(), 8),
            // Value, operand, length, time.
            (4, value) if is_merged => assert_eq!(value[16..20], 8u32.to_le_bytes()),
            _ => panic!("no tag: {value:?}"),
        }
        bytes += (key.len() + value.len() + 12) as u64;
        keys.push(key.to_vec());
    }
    assert!(run.of("id") < manifest.sequence(txn).unwrap() && *number <= run.of("id"));
    let filter = manifest.get(txn, &key_of(1, *number)).unwrap();
    let is_input = inputs.contains(&run.of("id"));
    if run.of("state") == 0 {
        assert!(filter.is_none() && run.of("records") == 0);
        assert_eq!(table(txn, &name).sequence(txn).unwrap(), bytes);
        return;
    }
    assert_eq!(run.of("state"), 1);
    assert_eq!(run.of("records"), keys.len() as u64);
    if !is_input {
        assert_eq!((run.of("tombstones"), run.of("bytes")), (tombstones, bytes));
    }
    let cut = |key: &Vec<u8>| key[..key.len().min(64)].to_vec();
    let strings = run.strings();
    assert_eq!(strings[..2], [cut(&keys[0]), cut(keys.last().unwrap())]);
    if number % 2 == 1 {
        assert!(filter.is_none());
        return;
    }
    let (filter, filtered) = (filter.expect("it has a filter"), &strings[2]);
    assert_eq!((filter.len() % 32, strings.len()), (0, 3));
    for key in keys.iter().filter(|key| filtered.is_empty() || *key <= filtered) {
        assert!(format.may_hold(filter, key));
    }
}

#[test]
fn the_document_describes_what_is_written() {
    let format = Format::read();
    assert_eq!(format.salts.len(), 8);
    let env = Env::in_memory().unwrap();
    let (base_bytes, step_bytes) = (16 << 10, 10_000);
    let options = LsmOptions { base_bytes, step_bytes, slack: 1000, ..LsmOptions::default() };
    let lsm = Lsm::with_options(&env, options).unwrap();
    let t = lsm.table(&LsmDef::<Str, U64>::new("t")).unwrap();
    for round in 0..9u64 {
        env.update(|txn| {
            t.delete(txn, &format!("{round}"))?;
            (0..300).try_for_each(|n| t.put(txn, &format!("{}{n:03}", "k".repeat(70)), round))
        })
        .unwrap();
    }
    env.update(|txn| t.delete_range(txn, "3".."5")).unwrap();
    let last = format!("{}290", "k".repeat(70));
    env.update(|txn| t.delete_range(txn, &last[..]..)).unwrap();
    env.update(|txn| t.put(txn, "open", 1)).unwrap();
    assert!(lsm.compactor().run_once().unwrap());

    let txn = env.read().unwrap();
    let manifest = table(&txn, "\0lsm/t/m");
    let header = format.parse("LSM header", manifest.get(&txn, &[0xFF]).unwrap().unwrap());
    let told = ["version", "fan", "filter_bits", "small", "open_bytes"].map(|name| header.of(name));
    assert_eq!(told, [1, 8, 12, 128, 256 << 10]);
    assert_eq!(header.strings(), [b"str", b"u64"]);
    let written = format.parse("Written record", manifest.get(&txn, &[0xFE]).unwrap().unwrap());
    let stat = t.stat(&txn).unwrap();
    assert_eq!(written.of("merged"), stat.total_merged_bytes);
    let open = "open".len() as u64 + 8 + 1 + 12;
    assert_eq!(written.of("put") + open, stat.total_put_bytes);
    let runs = records(&txn, manifest, 0);
    assert!(runs.len() > 2, "{}", runs.len());
    let merges = records(&txn, manifest, 2);
    let [(_, merge)] = &merges[..] else { panic!("{} merges have begun", merges.len()) };
    let merge = format.parse("Merge record", merge);
    let ids: Vec<u64> =
        merge.rest.as_chunks::<8>().0.iter().map(|id| u64::from_le_bytes(*id)).collect();
    assert_eq!(ids.len() as u64, merge.of("inputs"));
    let place = |id: u64| {
        let is_it =
            |(_, record): &&(u64, Vec<u8>)| format.parse("Run record", record).of("id") == id;
        runs.iter().find(is_it).expect("the run is there").0
    };
    assert_eq!(place(merge.of("output")), place(ids[0]) + 1);
    assert!(ids.iter().all(|id| place(*id) % 2 == 0));
    runs.iter().for_each(|run| assert_run(&format, &txn, manifest, run, (false, &ids)));
    let deletes = records(&txn, manifest, 3);
    let delete = |at: usize| format.parse("Range record", &deletes[at].1);
    assert_eq!(
        (delete(0).of("has_end"), delete(0).strings()),
        (1, vec![b"3".to_vec(), b"5".to_vec()])
    );
    assert_eq!(
        (delete(1).of("has_end"), delete(1).strings()),
        (0, vec![last.into_bytes(), Vec::new()])
    );
}

#[test]
fn the_document_describes_operands() {
    let format = Format::read();
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, LsmOptions { small: 10, ..LsmOptions::default() }).unwrap();
    let t = LsmDef::<Str, U64>::new("t").merged_by("sum", |a, b, sum| sum.set(a + b));
    let t = lsm.table(&t).unwrap();
    let hour = SystemTime::now() + Duration::from_secs(3600);
    let key = |n: u64| format!("{n:02}");
    env.update(|txn| (0..40).try_for_each(|n| t.put(txn, &key(n), 1))).unwrap();
    env.update(|txn| (20..60).try_for_each(|n| t.merge(txn, &key(n), 1))).unwrap();
    env.update(|txn| {
        (30..50).try_for_each(|n| {
            t.put_until(txn, &key(n), 1, hour)?;
            t.merge(txn, &key(n), 2)
        })
    })
    .unwrap();
    env.update(|txn| t.merge(txn, &key(1), 5)).unwrap();
    let txn = env.read().unwrap();
    let manifest = table(&txn, "\0lsm/t/m");
    let header = format.parse("LSM header", manifest.get(&txn, &[0xFF]).unwrap().unwrap());
    assert_eq!(
        (header.of("version"), header.strings()),
        (2, [&b"str"[..], b"u64", b"sum"].map(Vec::from).into())
    );
    let runs = records(&txn, manifest, 0);
    assert_eq!(runs.len(), 4);
    runs.iter().for_each(|run| assert_run(&format, &txn, manifest, run, (true, &[])));
    let tag = |slot: usize, key: &str| {
        let run = table(&txn, &format!("\0lsm/t/r/{slot:03}"));
        run.get(&txn, key.as_bytes()).unwrap().and_then(<[u8]>::last).copied()
    };
    assert_eq!([tag(0, "01"), tag(1, "25"), tag(2, "35"), tag(3, "01")], [0, 2, 4, 2].map(Some));
}
