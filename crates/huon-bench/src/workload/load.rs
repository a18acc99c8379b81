//! Loading in order, in bulk and at random; overwriting and deleting all of it at random.

use super::reads::scans;
use super::{BATCH, RECORDS, VALUE_BYTES, check, check_all, put_all};
use crate::data::{Data, Keys, Order};
use crate::engine::{Engine, Result, Write};
use crate::measure::Session;

/// Records in a transaction of the sequential load.
const SEQUENTIAL_BATCH: usize = 100_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    in_order::<E>(session, &data)?;
    in_bulk::<E>(session, &data)?;
    at_random::<E>(session, &data)
}

fn in_order<E: Engine>(session: &mut Session, data: &Data) -> Result<()> {
    let sorted = data.sorted();
    let db = session.open::<E>("in order")?;
    session.measure("load sequential", "put", |_| {
        for records in sorted.batches(SEQUENTIAL_BATCH) {
            let mut txn = db.write()?;
            for (number, key) in records {
                txn.append(key, data.value(number, 0))?;
            }
            txn.commit()?;
        }
        Ok(sorted.len() as u64)
    })?;
    if E::READS {
        scans(session, &db, data, ", packed")?;
    }
    finish(session, db, data, "sync after a sequential load", Some(0))
}

fn in_bulk<E: Engine>(session: &mut Session, data: &Data) -> Result<()> {
    let cell = "load in bulk";
    if !<E::Write<'_> as Write>::BUILDS {
        return session.left_out(cell, "there is no bulk build");
    }
    let sorted = data.sorted();
    let db = session.open::<E>("in bulk")?;
    session.measure(cell, "put", |_| {
        let mut txn = db.write()?;
        txn.build(sorted.iter().map(|(number, key)| (key, data.value(number, 0))))?;
        txn.commit()?;
        Ok(sorted.len() as u64)
    })?;
    finish(session, db, data, "sync after a bulk load", Some(0))
}

fn at_random<E: Engine>(session: &mut Session, data: &Data) -> Result<()> {
    let mut order = data.shuffled(1);
    let db = session.open::<E>("at random")?;
    for (round, cell) in ["load random", "overwrite random"].into_iter().enumerate() {
        let round = round as u32;
        session.measure(cell, "put", |_| put_all(&db, data, &order, round, BATCH))?;
        check_all(&db, data.count.into(), data.sum(0..data.count, round))?;
        order = data.shuffled(2 + u64::from(round));
    }
    session.measure("delete random", "delete", |_| delete_all::<E>(&db, &order))?;
    finish(session, db, data, "sync after deletes", None)
}

fn delete_all<E: Engine>(db: &E, order: &Order) -> Result<u64> {
    let mut missing = 0;
    for records in order.batches(BATCH) {
        let mut txn = db.write()?;
        for (_, key) in records {
            missing += u64::from(!txn.delete(key)?);
        }
        txn.commit()?;
    }
    check::<E>(missing, 0)?;
    Ok(order.len() as u64)
}

/// Measures the sync that a lazy load owes, and checks that all records are there as of `round`, or
/// none.
fn finish<E: Engine>(
    session: &mut Session,
    db: E,
    data: &Data,
    cell: &str,
    round: Option<u32>,
) -> Result<()> {
    session.measure(cell, "sync", |_| db.sync().map(|()| 1))?;
    match round {
        Some(round) => check_all(&db, data.count.into(), data.sum(0..data.count, round))?,
        None => check_all(&db, 0, 0)?,
    }
    db.close()
}
