//! One bit of a file that holds every kind of page is wrong: nothing panics, wrong data is never
//! returned, and a check finds every flip in a page that is in use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use huon::sim::SimDisk;
use huon::{Durability, Env, Error, Options, RawTable, ReadTxn, Txn, Verify};
use huon_testkit::audit::{Audit, audit};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::model::{Model, Record, TableId};
use huon_testkit::program::{self, Value};
use huon_testkit::random::Random;

const RESERVE_BYTES: u64 = 8 << 20;

fn options(page_bytes: usize) -> Options {
    let mut options = Env::options();
    options
        .page_bytes(page_bytes)
        .upper_bytes(RESERVE_BYTES)
        .grow_bytes(4096)
        .verify(Verify::PagesAndValues);
    options
}

struct Fixture {
    page_bytes: usize,
    image: Vec<u8>,
    /// The states of all commits; the last one is the newest.
    models: Vec<Model>,
    audit: Audit,
}

fn put(txn: &mut huon::WriteTxn, model: &mut Model, id: u8, n: u64, bytes: usize, page: usize) {
    let id = TableId(id);
    let table = txn.create(&id.def()).unwrap();
    let key = program::key(id.order(), page, n);
    let value = Value { bytes, seed: n + bytes as u64 }.make();
    table.put(txn, &key, &value).unwrap();
    model.create(id);
    model.table_mut(id).unwrap().put(id.order().sort_key(&key), &key, &value);
}

/// Keys whose pages are freed in pieces, large values, several tables; closed, and repaired once on
/// another machine, so that the newest meta stands on its own.
fn fixture(page_bytes: usize, keys: u64) -> Fixture {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap();
    let env = options(page_bytes).open_simulated(&disk).unwrap();
    let mut models = vec![Model::default()];
    let mut commit = |work: &mut dyn FnMut(&mut huon::WriteTxn, &mut Model)| {
        let mut model = models.last().unwrap().clone();
        let mut txn = env.write().unwrap();
        work(&mut txn, &mut model);
        txn.commit_with(Durability::Durable).unwrap();
        models.push(model);
    };
    commit(&mut |txn, model| (0..keys).for_each(|n| put(txn, model, 2, n, 20, page_bytes)));
    let parked = env.read().unwrap();
    for round in 0..3 {
        commit(&mut |txn, model| {
            (0..keys / 8).for_each(|n| put(txn, model, 2, n * 8 + round, 21, page_bytes));
            (0..3).for_each(|n| put(txn, model, 4, n + round, 2 * page_bytes, page_bytes));
            (0..20).for_each(|n| put(txn, model, 6 + 2 * (round as u8), n, 9, page_bytes));
        });
    }
    // The free pages that the reader holds are too many for the meta.
    commit(&mut |txn, model| put(txn, model, 12, 1, 3 * page_bytes, page_bytes));
    drop(parked);
    let report = audit(&env).unwrap();
    drop(env);
    let disk = SimDisk::from_image(&disk.image(), RESERVE_BYTES).unwrap();
    let env = options(page_bytes).open_simulated(&disk).unwrap();
    drop(env.write().unwrap());
    drop(env);
    Fixture { page_bytes, image: disk.image(), models, audit: report }
}

/// What came of one flip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    /// The open refused.
    Refused,
    /// The check found it.
    Found,
    /// Nobody noticed, and all data is right.
    Harmless,
}

/// A key and its value, as the file has them.
type Pair<'t> = (&'t [u8], &'t [u8]);

/// A record is what it was in one of the states, or an error.
fn compare<'t>(found: Option<Result<Pair<'t>, Error>>, expected: Option<&Record>) -> bool {
    match (found, expected) {
        (Some(Err(error)), _) => {
            assert!(matches!(error, Error::Corrupt(_)), "another error: {error}");
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

fn read_table(txn: &ReadTxn, table: RawTable, model: &Model, id: TableId) {
    let records = model.table(id).unwrap();
    for (key, value) in records.iter() {
        match table.get(txn, key) {
            Ok(found) => assert_eq!(found, Some(&value[..]), "wrong data by key"),
            Err(error) => assert!(matches!(error, Error::Corrupt(_)), "another error: {error}"),
        }
    }
    both_ways(txn, table, model, id);
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

/// Which state the main table's records, the tables, show; they all have the newest one's here.
fn read_all(env: &Env, models: &[Model]) {
    let txn = env.read().expect("begin");
    let names = match txn.table_names() {
        Ok(names) => names,
        Err(error) => return assert!(matches!(error, Error::Corrupt(_)), "{error}"),
    };
    let shows = |model: &&Model| {
        let mut wanted: Vec<Vec<u8>> = model.named().map(TableId::name).collect();
        wanted.sort();
        let same = |id: TableId| match txn.open(&id.def()) {
            Ok(Some(table)) => {
                table.count(&txn).ok() == Some(model.table(id).unwrap().count() as u64)
            }
            _ => true,
        };
        wanted == names && model.named().all(same)
    };
    let model = models.iter().rev().find(shows).expect("the tables of one of the states");
    for id in model.named() {
        match txn.open(&id.def()) {
            Ok(Some(table)) => read_table(&txn, table, model, id),
            Ok(None) => panic!("{id:?} is gone"),
            Err(error) => assert!(matches!(error, Error::Corrupt(_)), "{error}"),
        }
    }
}

fn write_some(env: &Env, page_bytes: usize) {
    let Ok(mut txn) = env.write() else { return };
    let done = (|| {
        for id in [2, 4, 12].map(TableId) {
            let table = txn.create(&id.def())?;
            let key = program::key(id.order(), page_bytes, 5);
            table.put(&mut txn, &key, &[1; 30])?;
            table.delete(&mut txn, &program::key(id.order(), page_bytes, 9))?;
        }
        Ok::<(), Error>(())
    })();
    if done.is_ok() {
        let _ = txn.commit_with(Durability::Durable);
    }
}

/// Opens, checks, reads and writes. `models`: the states that may show.
fn fate(image: &[u8], page_bytes: usize, models: &[Model]) -> Fate {
    let disk = SimDisk::from_image(image, RESERVE_BYTES).unwrap().quiet();
    let Ok(env) = options(page_bytes).open_simulated(&disk) else { return Fate::Refused };
    let found = match env.check() {
        Ok(report) => !report.is_clean(),
        Err(_) => true,
    };
    read_all(&env, models);
    write_some(&env, page_bytes);
    if found { Fate::Found } else { Fate::Harmless }
}

fn kind_of(fixture: &Fixture, pgno: usize) -> &'static str {
    let page = &fixture.image[pgno * fixture.page_bytes..][..fixture.page_bytes];
    let own = u32::from_le_bytes(page[8..12].try_into().unwrap()) as usize == pgno;
    match page[12] {
        1 if own => "branch",
        2 if own => "leaf",
        4 if own => "chunk",
        _ => "run",
    }
}

fn flip(fixture: &Fixture, image: &mut [u8], bit: usize, models: &[Model]) -> Fate {
    image[bit / 8] ^= 1 << (bit % 8);
    let tried = catch_unwind(AssertUnwindSafe(|| fate(image, fixture.page_bytes, models)));
    image[bit / 8] ^= 1 << (bit % 8);
    tried.unwrap_or_else(|panic| {
        panic!(
            "pages of {}, bit {} of byte {} (page {}, a {}): {}",
            fixture.page_bytes,
            bit % 8,
            bit / 8,
            bit / 8 / fixture.page_bytes,
            kind_of(fixture, bit / 8 / fixture.page_bytes),
            panic_text(&*panic)
        )
    })
}

fn run(page_bytes: usize, keys: u64, flips_count: usize) {
    let fixture = fixture(page_bytes, keys);
    let mut image = fixture.image.clone();
    let newest = &fixture.models[fixture.models.len() - 1..];
    assert_eq!(fate(&image, page_bytes, newest), Fate::Harmless, "the file is sound");
    let first = 12288usize.div_ceil(page_bytes);
    let pages = image.len() / page_bytes;
    // A page is in use if its first bit matters.
    let live: Vec<usize> = (first..pages)
        .filter(|pgno| {
            let fate = flip(&fixture, &mut image, pgno * page_bytes * 8, newest);
            fate != Fate::Harmless
        })
        .collect();
    let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &pgno in &live {
        kinds.entry(kind_of(&fixture, pgno)).or_default().push(pgno);
    }
    let count = |kind: &str| kinds.get(kind).map_or(0, |pages| pages.len() as u64);
    let found = [count("branch"), count("leaf"), count("run"), count("chunk")];
    let a = fixture.audit;
    assert_eq!(found, [a.branch_pages, a.leaf_pages, a.run_pages, a.chunk_pages]);
    assert!(found.iter().all(|&pages| pages > 0), "every kind of page: {found:?}");
    let mut random = Random::new(page_bytes as u64);
    let mut total = live.len();
    for (kind, pages) in &kinds {
        let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
        for _ in 0..flips_count {
            let bit = random.pick(pages) * page_bytes * 8 + random.index(page_bytes * 8);
            *fates.entry(flip(&fixture, &mut image, bit, newest)).or_default() += 1;
        }
        println!("pages of {page_bytes}, {kind}: {} pages, {fates:?}", pages.len());
        assert_eq!(fates.get(&Fate::Harmless), None, "flips in {kind} pages that a check misses");
        total += flips_count;
    }
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    for _ in 0..flips_count {
        let bit = random.index(12288 * 8);
        *fates.entry(flip(&fixture, &mut image, bit, &fixture.models)).or_default() += 1;
    }
    println!("pages of {page_bytes}, metas: {fates:?}");
    total += flips_count;
    figures::add("flip", total as u64);
}

#[test]
fn small_pages() {
    run(512, 1400, 800);
}

#[test]
fn usual_pages() {
    run(4096, 1400, 100);
}
