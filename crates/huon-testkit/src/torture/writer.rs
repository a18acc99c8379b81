//! A writer: commits until it is killed, and says in the ledger what it begins and what it was told
//! is done.

use std::sync::Mutex;
use std::time::Duration;

use huon::sim::Point;
use huon::{Durability, Env, Ticket, WriteTxn};

use super::child::Child;
use super::content::{Amount, Outcome, Work, told};
use super::ledger::SeatWord;
use super::orders::Place;
use super::orphan;
use super::phase::Context;
use crate::support::random::Random;

/// Commits of one thread before the environment is closed and opened again.
const COMMITS_MAX: u64 = 120;

pub(crate) fn run(child: &'static Child) -> Outcome<()> {
    let mut random = Random::new(child.orders.seed);
    let wants_end = [Point::CloseFlushed, Point::CloseLeft].map(Place::Point);
    loop {
        child.enter(Context::Opening);
        let env = open(child, &mut random)?;
        let soon = wants_end.iter().any(|place| child.orders.stops_at(*place));
        let commits = if soon { 1 + random.below(3) } else { 1 + random.below(COMMITS_MAX) };
        let trouble = Mutex::new(Ok(()));
        std::thread::scope(|scope| {
            for thread in 1..child.orders.threads {
                let (env, trouble, seed) = (&env, &trouble, random.next());
                scope.spawn(move || {
                    child.be_thread(thread);
                    let done = write(child, env, commits, Random::new(seed));
                    *trouble.lock().expect("no thread panics with it") = done;
                });
            }
            write(child, &env, commits, Random::new(random.next()))
        })?;
        trouble.into_inner().expect("no thread panics with it")?;
        child.enter(Context::Closing);
        if random.chance(20) {
            env.close_without_flush();
        } else {
            env.close().map_err(told)?;
        }
    }
}

/// With thresholds for automatic flushes, or none; now and then to be closed without a flush.
fn open(child: &Child, random: &mut Random) -> Outcome<Env> {
    let mut options = child.orders.options();
    if random.chance(40) {
        options.flush_after_bytes(16 << random.below(14));
    }
    if random.chance(40) {
        options.flush_after(Duration::from_millis(1 + random.below(30)));
    }
    if random.chance(15) {
        options.durability(Durability::Unsynced);
    }
    options.open(&child.path).map_err(told)
}

fn write(child: &Child, env: &Env, commits: u64, mut random: Random) -> Outcome<()> {
    let mut last_id = 0;
    let mut tickets: Vec<(u64, Ticket)> = Vec::new();
    for _ in 0..commits {
        if random.chance(2) {
            child.enter(Context::Syncing);
            env.sync().map_err(told)?;
        }
        if tickets.len() > random.index(20) {
            child.enter(Context::Syncing);
            for (seq, ticket) in tickets.drain(..).rev() {
                ticket.wait().map_err(told)?;
                child.ack(seq, true);
            }
        }
        child.outside(&mut random);
        child.enter(Context::Beginning);
        let txn = env.write().map_err(told)?;
        child.enter(Context::Changing);
        if txn.id() <= last_id {
            return Err(format!("transaction {} begins after {last_id} was committed", txn.id()));
        }
        last_id = change(child, env, txn, &mut random, &mut tickets)?.unwrap_or(last_id);
        child.enter(Context::Outside);
    }
    Ok(())
}

/// One transaction; its id if it was committed, as most are.
fn change(
    child: &Child,
    env: &Env,
    mut txn: WriteTxn,
    random: &mut Random,
    tickets: &mut Vec<(u64, Ticket)>,
) -> Outcome<Option<u64>> {
    let (how, amount) = kind(child, random);
    let gives_up = random.chance(4);
    let mut work = Work::begin(&mut txn, random)?;
    // No other process commits now, so every acknowledged commit is below this.
    let acked = child.ledger.acked();
    if work.base.seq < acked.any {
        return Err(format!("{:?} is the newest, and {acked:?} was acknowledged", work.base));
    }
    child.compare(&work.base)?;
    work.change(amount).map_err(told)?;
    let canary = work.end().map_err(told)?;
    child.stop_at(Place::InTransaction, || orphan::in_transaction(child, env, &mut txn));
    if gives_up {
        drop(txn);
        return Ok(None);
    }
    child.ledger.begin(canary.seq, canary.txnid, canary.chain)?;
    child.enter(Context::Committing);
    let id = match how {
        Some(durability) => txn.commit_with(durability).map_err(told)?,
        None => {
            let ticket = txn.commit_ticket().map_err(told)?;
            let id = ticket.id();
            tickets.push((canary.seq, ticket));
            id
        }
    };
    child.ack(canary.seq, how == Some(Durability::Durable));
    if id != canary.txnid {
        return Err(format!("{canary:?} was committed as {id}"));
    }
    child.count(SeatWord::Commits);
    Ok(Some(id))
}

/// How the next transaction is to be, so that it comes where it was told to stop; without a
/// durability it gets a ticket.
fn kind(child: &Child, random: &mut Random) -> (Option<Durability>, Amount) {
    let place = child.orders.stop.map(|stop| stop.place);
    let stops_in = |points: std::ops::RangeInclusive<Point>| match place {
        Some(Place::Point(point)) => points.contains(&point),
        _ => false,
    };
    let one = |point| stops_in(point..=point);
    let how = if one(Point::FlushPostponed) {
        Some(Durability::NoMetaSync)
    } else if one(Point::Published) {
        Some(Durability::Lazy)
    } else if stops_in(Point::FlushAwaited..=Point::FlightEnded) {
        Some(Durability::Durable)
    } else if random.chance(child.orders.lazy) {
        random.pick(&[
            Some(Durability::Lazy),
            Some(Durability::Lazy),
            Some(Durability::Unsynced),
            None,
        ])
    } else {
        Some(random.pick(&[Durability::Durable, Durability::Durable, Durability::NoMetaSync]))
    };
    let amount = if one(Point::FirstFlushed) || one(Point::FlushPostponed) {
        Amount::Huge
    } else if one(Point::Spilled) || random.chance(8) {
        Amount::Much
    } else if random.below(300) == 0 {
        Amount::Huge
    } else {
        Amount::Little
    };
    (how, amount)
}
