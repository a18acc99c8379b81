//! The twelve of `db_bench`, as its LMDB edition has them: 16 digits as keys, no key twice. What is
//! called sync runs where the database is durable, the rest where it is lazy.

use super::{BATCH, NO_READS, VALUE_BYTES, check, check_all, get_all, put_all};
use crate::data::{Data, Keys, Order, touched};
use crate::engine::{Engine, Mode, Read, Result, Way, Write};
use crate::measure::Session;

const RECORDS: u32 = 1_000_000;
const LARGE_RECORDS: u32 = 1000;
const LARGE_BYTES: usize = 100_000;
const LARGE_CELLS: [&str; 4] = ["fillseq100K", "fillrand100K", "readseq100K", "readrand100K"];
const SYNC_PUTS: u32 = 1000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if session.mode() == Mode::Durable {
        let count = session.scaled_gently(SYNC_PUTS);
        let data = Data::new(Keys::Decimal16, count, VALUE_BYTES);
        session.describe(&data);
        fill::<E>(session, &data, "fillseqsync", &data.all(), 1)?.close()?;
        return fill::<E>(session, &data, "fillrandsync", &data.shuffled(1), 1)?.close();
    }
    let data = Data::new(Keys::Decimal16, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    let (in_order, at_random) = (data.all(), data.shuffled(1));
    fill::<E>(session, &data, "fillseq", &in_order, 1)?.close()?;
    fill::<E>(session, &data, "fillseqbatch", &in_order, BATCH)?.close()?;
    fill::<E>(session, &data, "fillrandom", &at_random, 1)?.close()?;
    let db = fill::<E>(session, &data, "fillrandbatch", &at_random, BATCH)?;
    read(session, &db, &data, ["readseq", "readrandom"])?;
    db.close()?;
    let data = Data::new(Keys::Decimal16, session.scaled(LARGE_RECORDS), LARGE_BYTES);
    session.describe(&data);
    if let Some(reason) = E::LIMITS.refuse(data.key_bytes(), LARGE_BYTES) {
        return LARGE_CELLS.into_iter().try_for_each(|cell| session.left_out(cell, &reason));
    }
    fill::<E>(session, &data, "fillseq100K", &data.all(), 1)?.close()?;
    let db = fill::<E>(session, &data, "fillrand100K", &data.shuffled(1), 1)?;
    read(session, &db, &data, ["readseq100K", "readrand100K"])?;
    db.close()
}

/// A new database, filled under the clock.
fn fill<E: Engine>(
    session: &mut Session,
    data: &Data,
    cell: &str,
    order: &Order,
    batch: usize,
) -> Result<E> {
    let db = session.open::<E>(cell)?;
    session.measure(cell, "put", |_| {
        if cell.contains("seq") {
            append_all(&db, data, order, batch)
        } else {
            put_all(&db, data, order, 0, batch)
        }
    })?;
    if E::READS {
        check_all(&db, data.count.into(), data.sum(0..data.count, 0))?;
    }
    Ok(db)
}

fn append_all<E: Engine>(db: &E, data: &Data, order: &Order, batch: usize) -> Result<u64> {
    for records in order.batches(batch) {
        let mut txn = db.write()?;
        for (number, key) in records {
            txn.append(key, data.value(number, 0))?;
        }
        txn.commit()?;
    }
    Ok(order.len() as u64)
}

/// Everything in order, then at random.
fn read<E: Engine>(session: &mut Session, db: &E, data: &Data, cells: [&str; 2]) -> Result<()> {
    if !E::READS {
        return cells.into_iter().try_for_each(|cell| session.left_out(cell, NO_READS));
    }
    db.settle()?;
    let expected = data.sum(0..data.count, 0);
    session.measure(cells[0], "record", |_| {
        let mut sum = 0;
        let look = |_: &[u8], value: &[u8]| sum += touched(value);
        let count = db.read()?.scan(None, Way::Up, u64::MAX, look)?;
        check::<E>(sum, expected)?;
        Ok(count)
    })?;
    let order = data.shuffled(2);
    session.measure(cells[1], "get", |_| {
        check::<E>(get_all(&mut db.read()?, &order)?, expected)?;
        Ok(order.len() as u64)
    })
}
