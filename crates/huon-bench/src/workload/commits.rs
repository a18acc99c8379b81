//! One put in a transaction: what a commit costs, and what concurrent committers share.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{BATCH, VALUE_BYTES, check_all, put_all};
use crate::data::{Data, Keys, Order};
use crate::engine::{Engine, Mode, Result};
use crate::measure::{Session, Timed};

/// Records that the puts go to.
const RECORDS: u32 = 100_000;
/// More than are put where threads overtake each other, so that none of them meets another's record
/// of an earlier round.
const RECORDS_MIN: u32 = 1000;
/// Commits of a cell, where each waits for the disk and where none does.
const DURABLE: u32 = 2000;
/// Of these, two are longer than 99.99 of 100.
const DURABLE_TIMED: u32 = 20_000;
const LAZY: u32 = 200_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    let data = Data::new(Keys::Random16, session.scaled(RECORDS).max(RECORDS_MIN), VALUE_BYTES);
    session.describe(&data);
    let db = session.open::<E>("commits")?;
    let order = data.shuffled(1);
    put_all(&db, &data, &order, 0, BATCH)?;
    db.sync()?;
    let puts = Puts { data: &data, order, done: AtomicU32::new(0) };
    if session.mode() == Mode::Durable {
        let count = session.scaled_gently(DURABLE);
        // Eight do more, since they may share flushes.
        for (threads, each) in [(1, count), (2, count / 2), (8, count / 2)] {
            in_threads(session, &db, &puts, threads, each.max(1))?;
        }
        timed(session, &db, &puts, session.scaled_gently(DURABLE_TIMED).max(1))?;
    } else {
        let count = session.scaled(LAZY);
        session.measure("put, 1 thread", "transaction", |_| {
            (0..count).try_for_each(|_| puts.next(&db))?;
            Ok(count.into())
        })?;
        // No record twice, since a thread may be overtaken by any number of others.
        in_threads(session, &db, &puts, 4, (count.min(data.count) / 4).max(1))?;
        timed(session, &db, &puts, count.div_ceil(10))?;
    }
    puts.check(&db)?;
    db.close()
}

fn in_threads<E: Engine>(
    session: &mut Session,
    db: &E,
    puts: &Puts,
    threads: u32,
    each: u32,
) -> Result<()> {
    let plural = if threads == 1 { "" } else { "s" };
    let cell = format!("put, {threads} thread{plural}");
    session.measure(&cell, "transaction", |probe| {
        let all = probe.in_threads(threads as usize, |_| {
            let mut timed = Timed::new()?;
            (0..each).try_for_each(|_| timed.time(|| puts.next(db)))?;
            Ok(timed)
        })?;
        all.iter().try_for_each(|timed| probe.add(timed))?;
        Ok(u64::from(threads * each))
    })
}

fn timed<E: Engine>(session: &mut Session, db: &E, puts: &Puts, count: u32) -> Result<()> {
    session.measure("put, each timed", "transaction", |probe| {
        let mut timed = Timed::new()?;
        (0..count).try_for_each(|_| timed.time(|| puts.next(db)))?;
        probe.add(&timed)?;
        Ok(count.into())
    })
}

/// Puts one record after another, in rounds.
struct Puts<'d> {
    data: &'d Data,
    order: Order,
    done: AtomicU32,
}

impl Puts<'_> {
    /// Commits the next put.
    fn next<E: Engine>(&self, db: &E) -> Result<()> {
        let at = self.done.fetch_add(1, Ordering::Relaxed);
        let (round, place) = self.place(at);
        db.put_alone(self.order.key(place), self.data.value(self.order.numbers[place], round))
    }

    /// The round of put number `at`, and where in the order it is.
    fn place(&self, at: u32) -> (u32, usize) {
        (at / self.data.count + 1, (at % self.data.count) as usize)
    }

    /// Checks that the database has each record as it was put last.
    fn check<E: Engine>(&self, db: &E) -> Result<()> {
        let (round, place) = self.place(self.done.load(Ordering::Relaxed));
        let (new, old) = self.order.numbers.split_at(place);
        let sum = self.data.sum(new.iter().copied(), round)
            + self.data.sum(old.iter().copied(), round - 1);
        check_all(db, self.data.count.into(), sum)
    }
}
