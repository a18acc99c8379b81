//! What a forked child does: its parent's environment serves it as its own, its parent's
//! transactions do not, and it keeps nothing of its parent alive.
//!
//! It is there when its parent is killed, and for as long as the supervisor needs to see that all
//! goes on without the parent. Then it is told to end.

use std::time::Duration;

use huon::{Env, Error, ReadTxn, WriteTxn};
use rustix::process::getppid;

use super::child::Child;
use super::content::{told, verify};
use super::ledger::SeatWord;

/// The value of [`SeatWord::ForkOrder`] that ends it.
pub(crate) const END: u64 = 1;

/// Forked in the middle of a step of the engine: it only lives.
pub(crate) fn at_a_point(child: &Child) {
    live(child);
}

/// Forked in the middle of a write transaction.
pub(crate) fn in_transaction(child: &Child, env: &Env, txn: &mut WriteTxn) {
    let refuses = |txn: &mut WriteTxn| {
        let table = txn.create_table(&huon::TableDef::<huon::U64, huon::U64>::new("orphan"));
        matches!(table, Err(Error::Forked))
    };
    check(child, refuses(txn), "a forked child changes its parent's transaction");
    live(child);
    check(child, refuses(txn), "an orphan changes its parent's transaction");
    inherited(child, env);
    anew(child);
}

/// Forked while a snapshot is pinned.
pub(crate) fn in_snapshot(child: &Child, env: &Env, txn: &ReadTxn) {
    live(child);
    // The snapshot is the parent's, and gone with it; only the handle must be harmless.
    let dead = matches!(txn.table_names(), Err(Error::Forked));
    check(child, dead, "an orphan reads in its parent's transaction");
    inherited(child, env);
    anew(child);
}

fn check(child: &Child, good: bool, text: &str) {
    if !good {
        child.fail(text);
    }
}

/// The environment of the parent is its own.
fn inherited(child: &Child, env: &Env) {
    if let Err(text) = seen(child, env) {
        child.fail(&format!("an orphan with its parent's environment: {text}"));
    }
}

/// It may open the file itself.
fn anew(child: &Child) {
    let opened = child.orders.options().open(&child.path).map_err(told);
    if let Err(text) = opened.and_then(|env| seen(child, &env)) {
        child.fail(&format!("an orphan that opens the file anew: {text}"));
    }
}

fn seen(child: &Child, env: &Env) -> Result<(), String> {
    let txn = env.read().map_err(told)?;
    let canary = verify(&txn, false)?;
    child.compare(&canary)
}

/// Waits to be told to end, by a process that is still there.
fn live(child: &Child) {
    let parent = getppid();
    let supervisor = child.orders.supervisor;
    loop {
        let now = getppid();
        let adopted = now.is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == supervisor);
        if now != parent && !adopted {
            return;
        }
        if child.ledger.get(child.orders.seat, SeatWord::ForkOrder) == END {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
