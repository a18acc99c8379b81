//! What is measured. A workload is one run of one process: it makes its records and orders before
//! the clock, shares one load between several cells, and checks every answer, so that neither a
//! wrong engine nor a wrong driver can be fast.

mod ageing;
mod beside;
mod cold;
mod commits;
mod counters;
mod crud;
mod dbbench;
mod debt;
mod fixed;
mod load;
mod lsmdb;
mod multimap;
mod places;
pub(crate) mod processes;
mod reads;
mod series;
mod void;

use crate::data::{Data, Order, touched};
use crate::engine::{Engine, Mode, Read, Result, Way, Write};
use crate::measure::{Probe, Session, Timed};

/// Length of a value, unless a workload says otherwise.
const VALUE_BYTES: usize = 100;
/// Records of a workload, unless it says otherwise.
const RECORDS: u32 = 1_000_000;
/// Changes in a transaction that makes many.
const BATCH: usize = 1000;

/// A line of the list.
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// How the database is opened; a run for each.
    pub(crate) modes: &'static [Mode],
    /// Part of a full run only.
    pub(crate) full_only: bool,
    /// Seconds after which a run at full scale is given up.
    pub(crate) limit_seconds: u64,
}

const DURABLE: &[Mode] = &[Mode::Durable];
const LAZY: &[Mode] = &[Mode::Lazy];
const ALL_MODES: &[Mode] = &[Mode::Durable, Mode::Lazy, Mode::Unsynced];

const fn listed(
    name: &'static str,
    about: &'static str,
    modes: &'static [Mode],
    limit_seconds: u64,
) -> Listed {
    Listed { name, about, modes, full_only: false, limit_seconds }
}

const fn full(
    name: &'static str,
    about: &'static str,
    modes: &'static [Mode],
    limit_seconds: u64,
) -> Listed {
    Listed { full_only: true, ..listed(name, about, modes, limit_seconds) }
}

/// Every workload, in the order in which they are run.
pub(crate) const WORKLOADS: &[Listed] = &[
    listed("reads", "lookups, scans and ranges in 1 M records", LAZY, 300),
    listed("load", "load, overwrite and delete 1 M records", LAZY, 300),
    listed("commits", "a put in a transaction, in 1 to 8 threads", ALL_MODES, 120),
    listed("crud", "put, put, delete, get in a transaction: ioarena", ALL_MODES, 120),
    listed("fixed", "what begins and ends cost, with 1 M records", LAZY, 120),
    listed(
        "reads-text",
        "lookups, scans and ranges, keys of 40 bytes with long prefixes",
        LAZY,
        300,
    ),
    listed("places", "records at the ends and next to keys, by cursor and by number", LAZY, 120),
    listed("mixed", "one writer beside one reader, 10 s", LAZY, 120),
    listed("parked", "everything written over beside a reader that sleeps", LAZY, 300),
    listed("series", "5 M points of 200 series side by side", LAZY, 120),
    listed("voiddb-256k", "4096 values of 256 KiB, keys of 511 bytes: voidDB", DURABLE, 300),
    listed("voiddb-16k", "65,536 values of 16 KiB: voidDB", DURABLE, 300),
    listed("lsmdb", "2 M small records, 1000 in a durable transaction: LSMDB", DURABLE, 300),
    listed("multimap", "1 M pairs by values a key, and an index of 18,000 documents", LAZY, 300),
    listed("counters", "1 M times something is added to one of 500 k numbers", LAZY, 120),
    full("dbbench", "the twelve of db_bench", &[Mode::Lazy, Mode::Durable], 600),
    full("voiddb-1k", "1,048,576 values of 1 KiB: voidDB", DURABLE, 600),
    full("ageing", "before and after ten turnovers of 1 M records", LAZY, 1200),
    full("cold", "4 GiB of records with 1 GiB of memory", LAZY, 600),
    full("reads-10m", "lookups, scans and ranges in 10 M records", LAZY, 1800),
    full("reads-loaded", "the same in 1 M records that are as they were loaded", LAZY, 300),
    full("load-10m", "load 10 M records, with the sync and all merges", LAZY, 1800),
    full("overwrite", "write 2.7 GB over with 512 MiB of memory, for a minute", LAZY, 900),
    full("processes", "three processes put 3 M records", LAZY, 300),
];

/// Runs one of them.
pub(crate) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::offers(session.mode()) {
        return session.left_out("", "this engine has no such mode");
    }
    match session.order.workload.as_str() {
        "reads" => reads::run::<E>(session, RECORDS, Form::Settled),
        "load" => load::run::<E>(session),
        "commits" => commits::run::<E>(session),
        "crud" => crud::run::<E>(session),
        "fixed" => fixed::run::<E>(session),
        "reads-text" => reads::text::<E>(session),
        "places" => places::run::<E>(session),
        "mixed" => beside::mixed::<E>(session),
        "parked" => beside::parked::<E>(session),
        "series" => series::run::<E>(session),
        "voiddb-256k" => void::run::<E>(session, 256 << 10, 4096),
        "voiddb-16k" => void::run::<E>(session, 16 << 10, 65_536),
        "voiddb-1k" => void::run::<E>(session, 1 << 10, 1 << 20),
        "lsmdb" => lsmdb::run::<E>(session),
        "multimap" => multimap::run::<E>(session),
        "counters" => counters::run::<E>(session),
        "dbbench" => dbbench::run::<E>(session),
        "ageing" => ageing::run::<E>(session),
        "cold" => cold::run::<E>(session),
        "reads-10m" => reads::run::<E>(session, 10 * RECORDS, Form::Settled),
        "reads-loaded" => reads::run::<E>(session, RECORDS, Form::Loaded),
        "load-10m" => debt::load::<E>(session),
        "overwrite" => debt::overwrite::<E>(session),
        "processes" => processes::run::<E>(session),
        other => Err(format!("there is no workload called {other}").into()),
    }
}

/// What form a database is in when it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it was left by the load.
    Loaded,
    /// In the form that is read fastest.
    Settled,
}

/// Why an engine is left out of what rests on transactions.
const NO_TRANSACTIONS: &str = "it has no transactions";

/// Why a floor is left out of what reads.
const NO_READS: &str = "this floor has no reads";

/// Puts the records, so many a transaction, with the values they have in `round`.
pub(crate) fn put_all<E: Engine>(
    db: &E,
    data: &Data,
    order: &Order,
    round: u32,
    batch: usize,
) -> Result<u64> {
    for records in order.batches(batch) {
        put_batch(db, data, records, round)?;
    }
    Ok(order.len() as u64)
}

/// The same, with each transaction timed from its beginning to the end of its commit.
fn put_all_timed<E: Engine>(
    db: &E,
    data: &Data,
    order: &Order,
    round: u32,
    batch: usize,
    probe: &mut Probe,
) -> Result<u64> {
    let mut timed = Timed::new()?;
    for records in order.batches(batch) {
        timed.time(|| put_batch(db, data, records, round))?;
    }
    probe.add(&timed)?;
    Ok(order.len() as u64)
}

/// Puts records in one transaction; how many.
#[inline]
fn put_batch<'k, E: Engine>(
    db: &E,
    data: &Data,
    records: impl Iterator<Item = (u32, &'k [u8])>,
    round: u32,
) -> Result<u64> {
    let (mut txn, mut count) = (db.write()?, 0);
    for (number, key) in records {
        txn.put(key, data.value(number, round))?;
        count += 1;
    }
    txn.commit()?;
    Ok(count)
}

/// A database that holds all records in their first round, loaded at random, and is at rest.
fn loaded<E: Engine>(session: &mut Session, data: &Data) -> Result<E> {
    session.describe(data);
    let db = session.open::<E>("loaded")?;
    load_all(&db, data, Form::Settled)?;
    Ok(db)
}

/// Loads all records at random, and brings the database into a form.
fn load_all<E: Engine>(db: &E, data: &Data, form: Form) -> Result<()> {
    put_all(db, data, &data.shuffled(1), 0, BATCH)?;
    db.sync()?;
    if form == Form::Settled {
        db.settle()?;
    }
    Ok(())
}

/// Gets each key in one transaction; what [`touched`] adds up to.
#[inline]
pub(crate) fn get_all<R: Read>(read: &mut R, order: &Order) -> Result<u64> {
    let mut sum = 0;
    for (_, key) in order.iter() {
        sum += read.get(key, touched)?.ok_or("a key is missing")?;
    }
    Ok(sum)
}

/// Fails unless an engine that keeps what it is given gave the right values.
fn check<E: Engine>(got: u64, expected: u64) -> Result<()> {
    if E::KEEPS && got != expected {
        return Err(format!("wrong answers: {got} instead of {expected}").into());
    }
    Ok(())
}

/// Fails unless the whole database is so many records whose values add up to `sum`, in order.
fn check_all<E: Engine>(db: &E, count: u64, sum: u64) -> Result<()> {
    if !E::KEEPS {
        return Ok(());
    }
    let (mut got, mut last, mut ordered) = (0, Vec::new(), true);
    let found = db.read()?.scan(None, Way::Up, u64::MAX, |key, value| {
        got += touched(value);
        ordered &= last.is_empty() || last.as_slice() < key;
        last.clear();
        last.extend_from_slice(key);
    })?;
    if found != count || !ordered {
        return Err(format!("{found} records instead of {count}, in order: {ordered}").into());
    }
    check::<E>(got, sum)
}
