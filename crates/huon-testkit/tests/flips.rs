//! Every bit of a file that holds every kind of page is wrong once: wrong data is never returned,
//! nothing panics, and each flip in what is in use is found by opening or by a check.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use huon::sim::SimDisk;
use huon::{Env, Error, RawTable, ReadTxn, Recovery, Txn};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::history::program;
use huon_testkit::hostile::file::{Kind, META_BYTES};
use huon_testkit::hostile::fixture::{Fixture, RESERVE_BYTES, State, options};
use huon_testkit::hostile::pairs::MULTIS;
use huon_testkit::model::{Model, Record, TableId};
use huon_testkit::scale;

/// What came of one flip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    /// The open refused, or said that it stepped back.
    Opening,
    /// The check found it.
    Check,
    /// Not found, and all data is right.
    Unnoticed,
}

/// What may show: a state, and the same after [`write_some`].
struct States {
    now: State,
    written: State,
}

impl States {
    fn of(now: &State, page_bytes: usize) -> States {
        let disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
        let env = options(page_bytes).open_simulated(&disk).unwrap();
        let mut written = now.clone();
        write_some(&env, page_bytes, Some(&mut written)).unwrap();
        States { now: now.clone(), written }
    }
}

/// A record as it was read.
type Found<'a> = Result<(&'a [u8], &'a [u8]), Error>;

/// A record is what it was, or an error; whether the walk goes on.
fn compare(found: Option<Found<'_>>, expected: Option<&Record>) -> bool {
    match (found, expected) {
        (Some(Err(error)), _) => {
            damage(&error);
            false
        }
        (Some(Ok((key, value))), Some((k, v))) => {
            assert!(*key == **k && *value == **v, "wrong data");
            true
        }
        (None, None) => false,
        (found, _) => {
            panic!("{} records than there are", if found.is_some() { "more" } else { "fewer" })
        }
    }
}

fn damage(error: &Error) {
    assert!(matches!(error, Error::Corrupt(_)), "another error: {error}");
}

fn read_table(txn: &ReadTxn, table: RawTable, model: &Model, id: TableId) {
    let records = model.table(id).unwrap();
    for (key, value) in records.iter() {
        match table.get(txn, key) {
            Ok(found) => assert_eq!(found, Some(&value[..]), "wrong data by key"),
            Err(error) => damage(&error),
        }
    }
    both_ways(txn, table, model, id);
    many(txn, table, model, id);
    leaves(txn, table, model, id);
    let hidden = if id.is_main() { model.named().count() + MULTIS.len() } else { 0 };
    let count = table.len(txn).unwrap();
    assert_eq!(count, (records.count() + hidden) as u64, "wrong count");
}

fn both_ways(txn: &impl Txn, table: RawTable, model: &Model, id: TableId) {
    let records = model.table(id).unwrap();
    if let Ok(mut range) = table.iter(txn) {
        let mut expected = records.iter();
        while compare(range.next(), expected.next()) {}
    }
    if let Ok(mut range) = table.iter(txn) {
        let mut expected = records.iter().rev();
        while compare(range.next_back(), expected.next()) {}
    }
}

fn many(txn: &impl Txn, table: RawTable, model: &Model, id: TableId) {
    let all: Vec<&Record> = model.table(id).unwrap().iter().collect();
    for records in all.chunks(24) {
        let keys: Vec<&[u8]> = records.iter().map(|record| &record.0[..]).collect();
        let mut given = 0;
        let done = table.get_many(txn, &keys, |i, value| {
            assert_eq!((i, value), (given, Some(&records[i].1[..])), "wrong data by keys");
            given += 1;
        });
        match done {
            Ok(()) => assert_eq!(given, keys.len()),
            Err(error) => damage(&error),
        }
    }
}

fn leaves(txn: &impl Txn, table: RawTable, model: &Model, id: TableId) {
    let Ok(range) = table.iter(txn) else { return };
    let mut expected = model.table(id).unwrap().iter();
    for leaf in range.leaves() {
        match leaf {
            Ok(leaf) => leaf.iter().for_each(|found| {
                let error = found.is_err();
                assert_eq!(compare(Some(found), expected.next()), !error);
            }),
            Err(error) => return damage(&error),
        }
    }
    assert!(expected.next().is_none(), "fewer records than there are");
}

/// Every table and every record that can be read is what the model says.
fn read_all(env: &Env, State { model, pairs }: &State) {
    let txn = env.read().expect("begin");
    match txn.table_names() {
        Ok(names) => {
            let tables = model.named().map(TableId::name);
            let mut wanted: Vec<Vec<u8>> = tables.chain(pairs.names()).collect();
            wanted.sort();
            assert_eq!(names, wanted);
        }
        Err(error) => damage(&error),
    }
    for id in model.named().chain([TableId::MAIN]) {
        match txn.open_table(&id.def()) {
            Ok(Some(table)) => read_table(&txn, table, model, id),
            Ok(None) => panic!("{id:?} is gone"),
            Err(error) => damage(&error),
        }
    }
    pairs
        .compare(&txn, &mut |error| damage(error))
        .unwrap_or_else(|difference| panic!("{difference}"));
}

/// One transaction that touches every table; `model` is to be changed alike.
fn write_some(env: &Env, page_bytes: usize, state: Option<&mut State>) -> Result<(), Error> {
    let mut txn = env.write()?;
    let mut shadow = State::default();
    let State { model, pairs } = state.unwrap_or(&mut shadow);
    pairs.change(&mut txn, 4, page_bytes)?;
    for id in [2, 4, 6, 8, 10] {
        model.create(TableId(id));
        let table = txn.create_table(&TableId(id).def())?;
        for (n, bytes) in [(1, 25), (1000, 2 * page_bytes), (1001, 25)] {
            let key = program::key(TableId(id).order(), page_bytes, n);
            let value = program::Value { bytes, seed: n }.make();
            table.put(&mut txn, &key, &value)?;
            let records = model.table_mut(TableId(id)).expect("it was created");
            records.put(TableId(id).order().sort_key(&key), &key, &value);
        }
        let key = program::key(TableId(id).order(), page_bytes, 2);
        table.remove(&mut txn, &key)?;
        let records = model.table_mut(TableId(id)).expect("it was created");
        records.delete(&TableId(id).order().sort_key(&key));
    }
    txn.commit().map(drop)
}

/// Opens, checks, reads, writes, and reads what was written.
fn fate(disk: &mut SimDisk, image: &[u8], slot: Option<usize>, fixture: &Known) -> Fate {
    disk.rewind(image);
    let Ok(env) = options(fixture.file.page_bytes).open_simulated(disk) else {
        return Fate::Opening;
    };
    let stepped_back = env.recovery() == Recovery::SteppedBack;
    let newest = fixture.file.newest_meta();
    let states = if stepped_back || slot == Some(newest) { &fixture.before } else { &fixture.now };
    let report = env.check().expect("damage is no error of a check");
    let named = |note: &String| slot.is_some_and(|slot| note.contains(&format!("slot {slot}:")));
    let found = !report.is_clean() || report.notes.iter().any(named);
    read_all(&env, &states.now);
    let written = write_some(&env, fixture.file.page_bytes, None);
    match &written {
        Ok(()) => read_all(&env, &states.written),
        Err(error) => damage(error),
    }
    match (stepped_back, found) {
        (true, _) => Fate::Opening,
        (false, true) => Fate::Check,
        (false, false) => Fate::Unnoticed,
    }
}

/// A fixture, and what it may show.
struct Known {
    file: huon_testkit::hostile::file::File,
    now: States,
    before: States,
    /// What each byte of the file belongs to.
    parts: Vec<&'static str>,
}

impl Known {
    fn new(page_bytes: usize, keys: u64, tail: bool) -> Known {
        let Fixture { mut file, now, before, .. } = Fixture::new(page_bytes, keys, tail);
        let mut parts = vec![UNUSED; file.bytes.len()];
        for slot in 0..3 {
            assert!(file.bytes[slot * META_BYTES..].starts_with(b"HUON"), "three metas");
            parts[slot * META_BYTES..][..META_BYTES].fill("meta");
        }
        for page in file.pages() {
            let name = match page.kind {
                Kind::Branch => "branch",
                Kind::Leaf => "leaf",
                Kind::Fixed => "fixed leaf",
                Kind::Run => "large value",
                Kind::Chunk => "chunk",
            };
            parts[file.at(page.pgno)..][..page.used_bytes].fill(name);
        }
        // Pages that are not in use are never read: what is in them does not matter.
        let mut random = huon_testkit::random::Random::new(7);
        for (byte, part) in file.bytes.iter_mut().zip(&parts) {
            if *part == UNUSED && !tail {
                *byte = random.next() as u8;
            }
        }
        let states = |state| States::of(state, page_bytes);
        Known { now: states(&now), before: states(&before), file, parts }
    }
}

const UNUSED: &str = "not in use";

/// Flips and fates, by what the bytes belong to.
type Tally = BTreeMap<(&'static str, Fate), u64>;

/// Flips the bits of one byte that are to be flipped.
fn byte(disk: &mut SimDisk, image: &mut [u8], at: usize, bits: &[u32], known: &Known) -> Tally {
    let mut tally = Tally::new();
    let slot = (at < 3 * META_BYTES).then_some(at / META_BYTES);
    for &bit in bits {
        image[at] ^= 1 << bit;
        let tried = catch_unwind(AssertUnwindSafe(|| fate(disk, image, slot, known)));
        image[at] ^= 1 << bit;
        let fate = tried.unwrap_or_else(|panic| {
            let page_bytes = known.file.page_bytes;
            panic!(
                "pages of {page_bytes}, bit {bit} of byte {at} (page {}, {}): {}",
                at / page_bytes,
                known.parts[at],
                panic_text(&*panic)
            )
        });
        *tally.entry((known.parts[at], fate)).or_default() += 1;
    }
    tally
}

/// Flips all bits, or each tenth one: on as many threads as there are cores.
fn flip_all(known: &Known) -> Tally {
    let step = scale::step() as usize;
    let start = scale::seed("flips", known.file.page_bytes as u64) as usize % step;
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Tally::new());
    let work = || {
        let mut disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
        let mut image = known.file.bytes.clone();
        loop {
            let first = next.fetch_add(256, Ordering::Relaxed);
            if first >= image.len() {
                break;
            }
            for at in first..image.len().min(first + 256) {
                // What is not in use is all alike: a tenth of it will do.
                let step = if known.parts[at] == UNUSED { 10 * step } else { step };
                let wanted = |bit: &u32| (at * 8 + *bit as usize) % step == start;
                let bits: Vec<u32> = (0..8).filter(wanted).collect();
                for (key, count) in byte(&mut disk, &mut image, at, &bits, known) {
                    *total.lock().unwrap().entry(key).or_default() += count;
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    total.into_inner().unwrap()
}

fn rows(name: &str, tally: &Tally, table: &mut String) -> [u64; 3] {
    let mut sums = [0; 3];
    let parts: std::collections::BTreeSet<&str> = tally.keys().map(|(part, _)| *part).collect();
    for part in parts {
        let of = |fate| tally.get(&(part, fate)).copied().unwrap_or(0);
        let (opening, check, missed) = (of(Fate::Opening), of(Fate::Check), of(Fate::Unnoticed));
        let all = opening + check + missed;
        let rate = 100.0 * (opening + check) as f64 / all as f64;
        writeln!(table, "| {name} | {part} | {all} | {opening} | {check} | {rate:.2} % |").unwrap();
        if part != UNUSED {
            assert_eq!(missed, 0, "flips in a {part} of {name} that are not found");
            sums = [sums[0] + all, sums[1] + all, sums[2] + opening + check];
        } else {
            sums[0] += all;
        }
    }
    sums
}

#[test]
fn every_bit() {
    let mut table = String::from(
        "| file | in | flips | found by opening | found by check | found |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    let mut sums = [0; 3];
    for (name, page_bytes, keys, tail) in [
        ("pages of 512 bytes", 512, 60, false),
        ("the same, its newest commit in one flush", 512, 20, true),
        ("pages of 4096 bytes", 4096, 15, false),
    ] {
        let known = Known::new(page_bytes, keys, tail);
        let mut disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
        let sound = fate(&mut disk, &known.file.bytes, None, &known);
        assert_eq!(sound, Fate::Unnoticed, "the file is sound");
        let these = rows(name, &flip_all(&known), &mut table);
        sums = std::array::from_fn(|i| sums[i] + these[i]);
    }
    figures::table("flips found, by page kind", &table);
    for (name, count) in ["flips.total", "flips.used", "flips.found"].into_iter().zip(sums) {
        figures::named(name, count);
    }
    let enough = sums[1] >= scale::share(1_100_000) || !scale::has_minimums();
    assert!(enough, "flips in bytes in use: {}", sums[1]);
    figures::add("flip", sums[0]);
}
