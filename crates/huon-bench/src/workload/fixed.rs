//! What it costs to begin and to end: read and write transactions, and the database itself.

use std::time::{Duration, Instant};

use super::{NO_READS, RECORDS, VALUE_BYTES, loaded};
use crate::data::{Data, Keys};
use crate::engine::{Engine, Read, Result, Write};
use crate::measure::Session;

const READ_TXNS: u32 = 1_000_000;
const WRITE_TXNS: u32 = 100_000;
/// Times that the database is opened and closed.
const OPENS: u32 = 20;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    let db = loaded::<E>(session, &data)?;
    let count = session.scaled(READ_TXNS);
    session.measure("begin and end a read transaction", "transaction", |_| {
        (0..count).try_for_each(|_| db.read().map(drop))?;
        Ok(count.into())
    })?;
    let cell = "renew a read transaction";
    if <E::Read<'_> as Read>::RENEWS {
        session.measure(cell, "transaction", |_| {
            let mut read = db.read()?;
            (0..count).try_for_each(|_| read.renew())?;
            Ok(count.into())
        })?;
    } else {
        session.left_out(cell, "a read transaction cannot be renewed")?;
    }
    let count = session.scaled(WRITE_TXNS);
    let cell = "begin and abort a write transaction";
    if E::TRANSACTS {
        session.measure(cell, "transaction", |_| {
            (0..count).try_for_each(|_| db.write()?.abort())?;
            Ok(count.into())
        })?;
    } else {
        session.left_out(cell, super::NO_TRANSACTIONS)?;
    }
    db.close()?;
    open_and_close::<E>(session)
}

/// Opens and closes what is loaded, again and again; each has a cell.
fn open_and_close<E: Engine>(session: &mut Session) -> Result<()> {
    let (mut opening, mut closing) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..OPENS {
        let started = Instant::now();
        let db = session.open::<E>("loaded")?;
        opening += started.elapsed();
        let started = Instant::now();
        db.close()?;
        closing += started.elapsed();
    }
    for (cell, spent) in [("open", opening), ("close", closing)] {
        session.measure(cell, cell, |probe| {
            probe.spent = Some(spent);
            Ok(OPENS.into())
        })?;
    }
    Ok(())
}
