//! Counters: something is added to numbers in random order, a thousand times a transaction, and
//! nobody asks what they are meanwhile. Where there is no merge operator, each is read and put;
//! where a batch does not see itself, the program adds up first what it has for one number.

use std::collections::HashMap;

use super::debt::pay;
use super::{BATCH, NO_READS, NO_TRANSACTIONS, check};
use crate::data::{Data, Keys};
use crate::engine::{Engine, Read, Result, Write};
use crate::measure::Session;

const COUNTERS: u32 = 500_000;
const ADDED: u32 = 1_000_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::TRANSACTS {
        return session.left_out("", NO_TRANSACTIONS);
    }
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(COUNTERS), 8);
    session.describe(&data);
    let order = data.picks(1, session.scaled(ADDED));
    let db = session.open::<E>("counters")?;
    let stretch = session.begin()?;
    session.measure("add", "add", |probe| {
        for counters in order.batches(BATCH) {
            let mut txn = db.write()?;
            let added = counters.map(|(number, key)| (key, u64::from(number % 7)));
            add_all(&mut txn, added)?;
            txn.commit()?;
        }
        probe.remarks = db.remarks()?;
        Ok(order.len() as u64)
    })?;
    pay(session, &stretch, &db, "add, with all debt", order.len() as u64)?;
    let shuffled = data.shuffled(2);
    session.measure("get", "lookup", |_| {
        let (mut read, mut sum) = (db.read()?, 0);
        for (_, key) in shuffled.iter() {
            sum += read.sum(key)?;
        }
        check::<E>(sum, order.iter().map(|(number, _)| u64::from(number % 7)).sum())?;
        Ok(shuffled.len() as u64)
    })?;
    db.close()
}

fn add_all<'k, W: Write>(
    txn: &mut W,
    mut added: impl Iterator<Item = (&'k [u8], u64)>,
) -> Result<()> {
    if W::SEES_ITSELF {
        return added.try_for_each(|(key, more)| txn.add(key, more));
    }
    let mut sums = HashMap::new();
    added.for_each(|(key, more)| *sums.entry(key).or_insert(0) += more);
    sums.into_iter().try_for_each(|(key, more)| txn.add(key, more))
}
