//! A reader: verifies snapshots until it is killed, and keeps some of them for a while.

use std::time::Duration;

use super::child::Child;
use super::content::{Outcome, is_of, told, verify};
use super::ledger::SeatWord;
use super::orders::Place;
use super::orphan;
use super::phase::Context;
use crate::support::audit::audit;
use crate::support::random::Random;

pub(crate) fn run(child: &Child) -> Outcome<()> {
    let mut random = Random::new(child.orders.seed);
    let (mut last_id, mut last_seq) = (0, 0);
    loop {
        child.enter(Context::Opening);
        let env = child.orders.options().open(&child.path).map_err(told)?;
        for _ in 0..1 + random.below(200) {
            child.outside(&mut random);
            let acked = child.ledger.acked();
            child.enter(Context::Pinning);
            let txn = env.read().map_err(told)?;
            child.enter(Context::Reading);
            let canary = verify(&txn, random.chance(30))?;
            child.compare(&canary)?;
            child.ledger.see(canary.seq);
            // The last client to close ends the journal, with a snapshot like the newest.
            let is_end = child.orders.journal && txn.id() > canary.txnid;
            if !is_end && !is_of(&canary, txn.id(), child.ledger.has_repairs()) {
                return Err(format!("snapshot {} holds {canary:x?}", txn.id()));
            }
            if canary.seq < acked.any.max(last_seq) || txn.id() < last_id {
                let id = txn.id();
                return Err(format!(
                    "{canary:x?} in {id} after {last_seq} in {last_id}, {acked:?}"
                ));
            }
            (last_id, last_seq) = (txn.id(), canary.seq);
            child.count(SeatWord::Snapshots);
            let stopped =
                child.stop_at(Place::InTransaction, || orphan::in_snapshot(child, &env, &txn));
            if random.chance(1) {
                audit(&env)?;
                child.count(SeatWord::Audits);
            }
            match random.below(100) {
                0..4 => std::thread::sleep(Duration::from_micros(random.below(60_000))),
                4..30 => std::thread::sleep(Duration::from_micros(random.below(6_000))),
                _ if stopped => {}
                _ => continue,
            }
            // Whatever was committed meanwhile.
            let again = verify(&txn, random.chance(30))?;
            if again != canary {
                return Err(format!("{canary:x?} became {again:x?}"));
            }
        }
        child.enter(Context::Closing);
        drop(env);
    }
}
