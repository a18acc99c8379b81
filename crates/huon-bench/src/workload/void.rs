//! voidDB's benchmark: large values under long random keys, all of them in one durable transaction,
//! or a few with a transaction each.

use super::{NO_READS, check, check_all, get_all, put_all};
use crate::data::{Data, Keys, Order, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

/// Puts with a transaction each.
const APART: u32 = 1000;

/// With so many values of this length.
pub(super) fn run<E: Engine>(session: &mut Session, value_bytes: usize, full: u32) -> Result<()> {
    let data = Data::new(Keys::Random511, session.scaled(full), value_bytes);
    session.describe(&data);
    if let Some(reason) = E::LIMITS.refuse(data.key_bytes(), value_bytes) {
        return session.left_out("", &reason);
    }
    together::<E>(session, &data)?;
    apart::<E>(session, &data)
}

fn together<E: Engine>(session: &mut Session, data: &Data) -> Result<()> {
    let order = data.all();
    let db = session.open::<E>("together")?;
    session
        .measure("put, one transaction", "put", |_| put_all(&db, data, &order, 0, order.len()))?;
    if E::READS {
        gets(session, &db, data, &order)?;
    } else {
        session.left_out("get and next", NO_READS)?;
    }
    db.close()?;
    Ok(std::fs::remove_dir_all(session.order.dir.join("together"))?)
}

fn gets<E: Engine>(session: &mut Session, db: &E, data: &Data, order: &Order) -> Result<()> {
    let expected = data.sum(0..data.count, 0);
    for cell in ["get, first pass", "get, second pass"] {
        session.measure(cell, "get", |_| {
            check::<E>(get_all(&mut db.read()?, order)?, expected)?;
            Ok(order.len() as u64)
        })?;
    }
    session.measure("next", "record", |_| {
        let mut sum = 0;
        let look = |_: &[u8], value: &[u8]| sum += touched(value);
        let count = db.read()?.scan(None, Way::Up, u64::MAX, look)?;
        check::<E>(sum, expected)?;
        Ok(count)
    })
}

fn apart<E: Engine>(session: &mut Session, data: &Data) -> Result<()> {
    let count = session.scaled_gently(APART).min(data.count);
    let order = data.order((0..count).collect());
    let expected = data.sum(0..count, 0);
    let db = session.open::<E>("apart")?;
    session.measure("put, a transaction each", "put", |_| put_all(&db, data, &order, 0, 1))?;
    if !E::READS {
        return db.close();
    }
    check_all(&db, count.into(), expected)?;
    session.measure("get, a transaction each", "get", |_| {
        let mut sum = 0;
        for (_, key) in order.iter() {
            sum += db.read()?.get(key, touched)?.ok_or("a key is missing")?;
        }
        check::<E>(sum, expected)?;
        Ok(count.into())
    })?;
    db.close()
}
