//! The crud benchmark of ioarena: a transaction puts b, puts a, deletes b and gets a.

use super::{VALUE_BYTES, check, check_all};
use crate::data::{Data, Keys, Order, touched};
use crate::engine::{Engine, Mode, Result, Write};
use crate::measure::{Session, Timed};

/// Transactions of a cell, where each waits for the disk and where none does.
const DURABLE: u32 = 2000;
const LAZY: u32 = 200_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", super::NO_READS);
    }
    if !E::TRANSACTS {
        return session.left_out("", super::NO_TRANSACTIONS);
    }
    let durable = session.mode() == Mode::Durable;
    let count = if durable { session.scaled_gently(DURABLE) } else { session.scaled(LAZY) };
    let data = Data::new(Keys::Random16, 2 * count, VALUE_BYTES);
    session.describe(&data);
    let db = session.open::<E>("crud")?;
    let records = data.all();
    let expected = data.sum((0..count).map(|at| 2 * at), 0);
    session.measure("crud", "transaction", |probe| {
        let mut sum = 0;
        if durable {
            let mut timed = Timed::new()?;
            for at in 0..count {
                sum += timed.time(|| transact(&db, &data, &records, at))?;
            }
            probe.add(&timed)?;
        } else {
            for at in 0..count {
                sum += transact(&db, &data, &records, at)?;
            }
        }
        let seen = if <E::Write<'_> as Write>::SEES_ITSELF { expected } else { 0 };
        check::<E>(sum, seen)?;
        Ok(count.into())
    })?;
    check_all(&db, count.into(), expected)?;
    db.close()
}

/// One transaction with its own two records; what [`touched`] says of the one it leaves.
fn transact<E: Engine>(db: &E, data: &Data, records: &Order, at: u32) -> Result<u64> {
    let (a, b) = (2 * at, 2 * at + 1);
    let (key_a, key_b) = (records.key(a as usize), records.key(b as usize));
    let mut txn = db.write()?;
    txn.put(key_b, data.value(b, 0))?;
    txn.put(key_a, data.value(a, 0))?;
    txn.delete(key_b)?;
    let seen = txn.get(key_a, touched)?;
    txn.commit()?;
    Ok(seen.unwrap_or(0))
}
