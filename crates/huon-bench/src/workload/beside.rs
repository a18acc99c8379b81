//! Readers and a writer beside each other: one of each at work, and a reader that sleeps while
//! everything is written over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{
    BATCH, NO_READS, NO_TRANSACTIONS, RECORDS, VALUE_BYTES, check, check_all, loaded, put_all,
};
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Write};
use crate::measure::{Probe, Session};

/// Seconds that writer and reader work beside each other.
const SECONDS: f64 = 10.0;
const SECONDS_MIN: f64 = 0.05;
/// Puts, or gets, in a transaction there.
const SMALL_BATCH: usize = 100;
/// Records that are overwritten beside a sleeping reader, and how often.
const PARKED_RECORDS: u32 = 100_000;
const TURNOVERS: u32 = 5;

/// One writer beside one reader.
pub(super) fn mixed<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    let db = loaded::<E>(session, &data)?;
    let seconds = Duration::from_secs_f64((SECONDS * session.order.scale).max(SECONDS_MIN));
    let (puts, gets) = (data.shuffled(2), data.picks(3, data.count));
    let stop = AtomicBool::new(false);
    let mut done = Vec::new();
    session.measure("puts beside a reader", "put", |probe| {
        let until = Instant::now() + seconds;
        done = probe.in_threads(2, |thread| match thread {
            0 => {
                let count = write_until(&db, &data, &puts, until);
                stop.store(true, Ordering::Relaxed);
                count
            }
            _ => read_until(&db, &gets, &stop),
        })?;
        Ok(done[0])
    })?;
    session.also("gets beside a writer", "get", done[1])?;
    check_mixed(&db, &data, &puts.numbers, done[0])?;
    db.close()
}

/// Puts in rounds, a hundred in a transaction; how many.
fn write_until<E: Engine>(
    db: &E,
    data: &Data,
    order: &crate::data::Order,
    until: Instant,
) -> Result<u64> {
    let mut count = 0;
    for round in 1.. {
        for records in order.batches(SMALL_BATCH) {
            if Instant::now() > until {
                return Ok(count);
            }
            let mut txn = db.write()?;
            for (number, key) in records {
                txn.put(key, data.value(number, round))?;
                count += 1;
            }
            txn.commit()?;
        }
    }
    Ok(count)
}

fn read_until<E: Engine>(db: &E, order: &crate::data::Order, stop: &AtomicBool) -> Result<u64> {
    let mut count = 0;
    loop {
        for records in order.batches(SMALL_BATCH) {
            if stop.load(Ordering::Relaxed) {
                return Ok(count);
            }
            let (mut read, mut sum) = (db.read()?, 0);
            for (_, key) in records {
                sum += read.get(key, touched)?.ok_or("a key is missing")?;
                count += 1;
            }
            std::hint::black_box(sum);
        }
    }
}

/// Each record is as of the last round that reached it, if so many were put in this order.
pub(super) fn check_mixed<E: Engine>(db: &E, data: &Data, order: &[u32], count: u64) -> Result<()> {
    let (rounds, rest) = (count / u64::from(data.count), count % u64::from(data.count));
    let (new, old) = order.split_at(rest as usize);
    let round = rounds as u32;
    let sum = data.sum(new.iter().copied(), round + 1) + data.sum(old.iter().copied(), round);
    check_all(db, data.count.into(), sum)
}

/// Turnovers without, with and after a reader that keeps one snapshot; each with the size of the
/// file as it goes.
pub(super) fn parked<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    if !E::TRANSACTS {
        return session.left_out("", NO_TRANSACTIONS);
    }
    let data = Data::new(Keys::Random16, session.scaled(PARKED_RECORDS), VALUE_BYTES);
    let db = loaded::<E>(session, &data)?;
    let mut round = 1;
    overwrite(session, &db, &data, "overwrite, nobody parked", &mut round)?;
    let seen = round - 1;
    let mut reader = db.read()?;
    // A snapshot begins with the first look.
    let key = data.order(vec![0]);
    check::<E>(look(&mut reader, key.key(0))?, touched(data.value(0, seen)))?;
    overwrite(session, &db, &data, "overwrite, a reader parked", &mut round)?;
    check::<E>(look(&mut reader, key.key(0))?, touched(data.value(0, seen)))?;
    drop(reader);
    overwrite(session, &db, &data, "overwrite, the reader gone", &mut round)?;
    check_all(&db, data.count.into(), data.sum(0..data.count, round - 1))?;
    db.close()
}

fn look<R: Read>(reader: &mut R, key: &[u8]) -> Result<u64> {
    Ok(reader.get(key, touched)?.ok_or("a key is missing")?)
}

/// Writes everything over several times; `round` is the first of its rounds, then the next.
fn overwrite<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    cell: &str,
    round: &mut u32,
) -> Result<()> {
    let orders: Vec<_> = (0..TURNOVERS).map(|at| data.shuffled((*round + at).into())).collect();
    let dir = session.order.dir.join("loaded");
    session.measure(cell, "put", |probe: &mut Probe| {
        let (started, mut count) = (Instant::now(), 0);
        for order in &orders {
            count += put_all(db, data, order, *round, BATCH)?;
            *round += 1;
            let bytes = crate::measure::disk_bytes(&dir)?;
            probe.series.push((started.elapsed().as_secs_f64(), bytes as f64));
        }
        Ok(count)
    })
}
