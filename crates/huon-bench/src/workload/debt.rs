//! Random writes with all that they leave to be done: the sync of lazy commits, and the merges of
//! LSM trees. Each has two cells: one ends with the sync, the other when nothing is owed any more.

use std::time::{Duration, Instant};

use super::beside::check_mixed;
use super::{BATCH, NO_READS, VALUE_BYTES, check, check_all, put_all_timed};
use crate::cage::Cage;
use crate::data::{Data, Keys, Order, touched};
use crate::engine::{Debt, Engine, Result, Write};
use crate::measure::{Probe, Session, Stretch, Timed};

/// Records of the load.
const LOADED: u32 = 10_000_000;
/// Records that are written over in little memory: five times as much as that.
const OVERWRITTEN: u32 = 2_930_000;
const OVERWRITTEN_VALUE_BYTES: usize = 900;
const MEMORY_BYTES: u64 = 512 << 20;
/// No less, however small the scale: the process itself needs some.
const MEMORY_BYTES_MIN: u64 = 64 << 20;
/// Seconds that the overwriting may take. B+trees do not get through all records.
const SECONDS: f64 = 60.0;
const SECONDS_MIN: f64 = 5.0;
const LOOKUPS: u32 = 5000;

/// Why the cell with the debt is left out of some.
const UNKNOWN: &str = "its driver cannot tell when nothing is owed any more";

/// Measures how long it takes until the writes since `stretch` began owe nothing, together with
/// them, and then, for an engine that does more while it is idle, until that is done, too.
pub(super) fn pay<E: Engine>(
    session: &mut Session,
    stretch: &Stretch,
    db: &E,
    cell: &str,
    puts: u64,
) -> Result<()> {
    if E::DEBT == Debt::Unknown {
        return session.left_out(cell, UNKNOWN);
    }
    session.measure_since(stretch, cell, "put", |probe| {
        if E::DEBT == Debt::Known {
            db.work_off()?;
            db.sync()?;
        }
        probe.remarks = db.remarks()?;
        Ok(puts)
    })?;
    if !E::SHORTENS {
        return Ok(());
    }
    session.measure_since(stretch, &format!("{cell}, then idle"), "put", |probe| {
        db.settle()?;
        db.shorten()?;
        db.sync()?;
        probe.remarks = db.remarks()?;
        Ok(puts)
    })
}

/// Ten million records in random order.
pub(super) fn load<E: Engine>(session: &mut Session) -> Result<()> {
    let data = Data::new(Keys::Random16, session.scaled(LOADED), VALUE_BYTES);
    session.describe(&data);
    let order = data.shuffled(1);
    let db = session.open::<E>("load")?;
    let stretch = session.begin()?;
    session.measure("load, synced", "put", |probe| {
        let puts = put_all_timed(&db, &data, &order, 0, BATCH, probe)?;
        db.sync()?;
        probe.remarks = db.remarks()?;
        Ok(puts)
    })?;
    pay(session, &stretch, &db, "load, with all debt", data.count.into())?;
    if E::READS {
        check_all(&db, data.count.into(), data.sum(0..data.count, 0))?;
    }
    db.close()
}

/// All records, of which there are five times as many as memory holds, written over in random
/// order.
pub(super) fn overwrite<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let count = session.scaled(OVERWRITTEN);
    let data = Data::new(Keys::Random16, count, OVERWRITTEN_VALUE_BYTES);
    session.describe(&data);
    let memory = ((MEMORY_BYTES as f64 * session.order.scale) as u64).max(MEMORY_BYTES_MIN);
    session.limit_cache::<E>(memory as usize / 16);
    let _cage = match Cage::enter(memory) {
        Ok(cage) => cage,
        Err(reason) => return session.left_out("", &reason),
    };
    let db = session.open::<E>("overwrite")?;
    load_in_order(&db, &data)?;
    let order = data.shuffled(1);
    let seconds = (SECONDS * session.order.scale).max(SECONDS_MIN);
    let mut done = 0;
    let stretch = session.begin()?;
    session.measure("overwrite, synced", "put", |probe| {
        done = put_until(&db, &data, &order, Duration::from_secs_f64(seconds), probe)?;
        db.sync()?;
        probe.remarks = db.remarks()?;
        Ok(done)
    })?;
    pay(session, &stretch, &db, "overwrite, with all debt", done)?;
    gets(session, &db, &data, &order.numbers[..done as usize])?;
    check_mixed(&db, &data, &order.numbers, done)?;
    db.close()
}

/// Leaves nothing to be done: what is measured afterwards is the debt of the overwriting.
fn load_in_order<E: Engine>(db: &E, data: &Data) -> Result<()> {
    for records in data.sorted().batches(BATCH) {
        let mut txn = db.write()?;
        for (number, key) in records {
            txn.append(key, data.value(number, 0))?;
        }
        txn.commit()?;
    }
    db.sync()?;
    db.work_off()
}

/// Puts the records of the next round until all are or the time is up; how many.
fn put_until<E: Engine>(
    db: &E,
    data: &Data,
    order: &Order,
    limit: Duration,
    probe: &mut Probe,
) -> Result<u64> {
    let (started, mut timed, mut count) = (Instant::now(), Timed::new()?, 0);
    for records in order.batches(BATCH) {
        if started.elapsed() > limit {
            break;
        }
        count += timed.time(|| super::put_batch(db, data, records, 1))?;
    }
    probe.add(&timed)?;
    Ok(count)
}

/// Lookups after it; `new` has the records that were written over.
fn gets<E: Engine>(session: &mut Session, db: &E, data: &Data, new: &[u32]) -> Result<()> {
    let order = data.picks(2, session.scaled(LOOKUPS));
    let mut rounds = vec![0; data.count as usize];
    new.iter().for_each(|&number| rounds[number as usize] = 1);
    let value = |&number: &u32| touched(data.value(number, rounds[number as usize]));
    let expected = order.numbers.iter().map(value).sum();
    session.measure("get, overwritten", "get", |_| {
        check::<E>(super::get_all(&mut db.read()?, &order)?, expected)?;
        Ok(order.len() as u64)
    })
}
