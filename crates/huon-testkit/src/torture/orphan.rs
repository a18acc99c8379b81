//! What a forked child does: nothing of its parent's handles serves it, and it keeps nothing of its
//! parent alive.
//!
//! It is there when its parent is killed, and for as long as the supervisor needs to see that all
//! goes on without the parent. Then it is told to end.

use std::time::Duration;

use huon::{Env, Error, ReadTxn, WriteTxn};
use rustix::process::getppid;

use super::child::Child;
use super::content::{told, verify};
use super::ledger::SeatWord;
use super::options;

/// The value of [`SeatWord::ForkOrder`] that ends it.
pub(crate) const END: u64 = 1;

/// Forked in the middle of a step of the engine: whatever was locked stays locked, so it only
/// lives.
pub(crate) fn at_a_point(child: &Child) {
    live(child);
}

/// Forked in the middle of a write transaction.
pub(crate) fn in_transaction(child: &Child, env: &Env, txn: &mut WriteTxn) {
    let refuses = |txn: &mut WriteTxn| {
        let table = txn.create(&huon::TableDef::<huon::U64, huon::U64>::new("orphan"));
        matches!(table, Err(Error::Forked))
    };
    check(child, refuses(txn), "a forked child changes its parent's transaction");
    refused(child, env);
    live(child);
    check(child, refuses(txn), "an orphan changes its parent's transaction");
    refused(child, env);
    anew(child);
}

/// Forked while a snapshot is pinned.
pub(crate) fn in_snapshot(child: &Child, env: &Env, txn: &ReadTxn) {
    refused(child, env);
    live(child);
    refused(child, env);
    // The snapshot is the parent's, and gone with it; only the handle must be harmless.
    let _ = txn.id();
    anew(child);
}

fn check(child: &Child, good: bool, text: &str) {
    if !good {
        child.fail(text);
    }
}

fn refused(child: &Child, env: &Env) {
    let all = matches!(env.read(), Err(Error::Forked))
        && matches!(env.write(), Err(Error::Forked))
        && matches!(env.sync(), Err(Error::Forked))
        && matches!(env.info(), Err(Error::Forked));
    check(child, all, "a forked child uses its parent's environment");
}

/// It may open the file itself.
fn anew(child: &Child) {
    let seen = options(child.orders.page_bytes).open(&child.path).map_err(told).and_then(|env| {
        let txn = env.read().map_err(told)?;
        let canary = verify(&txn, false)?;
        child.compare(&canary)
    });
    if let Err(text) = seen {
        child.fail(&format!("an orphan that opens the file anew: {text}"));
    }
}

/// Waits to be told to end, by somebody who is still there.
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
