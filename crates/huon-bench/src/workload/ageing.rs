//! What a database that everything was written over in, ten times, has lost.

use super::{BATCH, NO_READS, RECORDS, VALUE_BYTES, check, get_all, loaded, put_all};
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

const TURNOVERS: u32 = 10;
const LOOKUPS: u32 = 1_000_000;
/// Puts with a transaction each.
const APART: u32 = 50_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    let db = loaded::<E>(session, &data)?;
    look(session, &db, &data, "fresh", 0)?;
    for round in 1..=TURNOVERS {
        let order = data.shuffled(round.into());
        let cell = match round {
            1 => "overwrite, fresh",
            TURNOVERS => "overwrite, aged",
            _ => {
                put_all(&db, &data, &order, round, BATCH)?;
                continue;
            }
        };
        session.measure(cell, "put", |_| put_all(&db, &data, &order, round, BATCH))?;
    }
    db.sync()?;
    db.settle()?;
    look(session, &db, &data, "aged", TURNOVERS)?;
    db.close()
}

/// Gets, a scan and commits; everything is as of `round`, and is so again at the end.
fn look<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    when: &str,
    round: u32,
) -> Result<()> {
    let order = data.picks(2, session.scaled(LOOKUPS));
    let expected = data.sum(order.numbers.iter().copied(), round);
    // The first pass is not counted: a mapped file is looked at for the first time.
    check::<E>(get_all(&mut db.read()?, &order)?, expected)?;
    session.measure(&format!("get, {when}"), "get", |_| {
        check::<E>(get_all(&mut db.read()?, &order)?, expected)?;
        Ok(order.len() as u64)
    })?;
    session.measure(&format!("scan, {when}"), "record", |_| {
        let mut sum = 0;
        let look = |_: &[u8], value: &[u8]| sum += touched(value);
        let count = db.read()?.scan(None, Way::Up, u64::MAX, look)?;
        check::<E>(sum, data.sum(0..data.count, round))?;
        Ok(count)
    })?;
    let count = session.scaled(APART).min(data.count);
    let order = data.order(data.shuffled(3).numbers[..count as usize].to_vec());
    session.measure(&format!("put, {when}"), "transaction", |_| {
        put_all(db, data, &order, round + 1, 1)
    })?;
    put_all(db, data, &order, round, BATCH).map(drop)
}
