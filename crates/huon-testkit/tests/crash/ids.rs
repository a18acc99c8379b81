//! Scripts of transactions that take several ids.

use huon::Durability::{Durable, Lazy};
use huon::sim::Point;
use huon_testkit::crash::{Edit, Play, Stage};

/// Transactions that spill many times: what they wrote and dropped serves them again under later
/// ids; in levels that are kept and undone, and with large values that are replaced.
pub(crate) fn several_ids(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.commit(0, if round % 2 == 1 { Lazy } else { Durable }, |edit| {
            let first = edit.txn.id();
            for part in 0..3 {
                edit.fill(2, (0..24).map(|n| n * 5 % 24 + round), 33);
                edit.put(4, part % 2, 700 + 100 * part as usize);
                edit.nested(part % 2 == round % 2, |edit| {
                    edit.put(4, part % 2, 900);
                    edit.fill(2, (0..24).map(|n| n * 7 % 24), 34);
                    edit.put(4, 3, 1200 - 100 * part as usize);
                });
                edit.delete(4, part);
            }
            assert!(edit.txn.id() > first + 2, "it goes on under other ids");
        })?;
    }
    Ok(())
}

/// The same, and writers that die or give up in the middle: all their ids are used up.
pub(crate) fn several_ids_killed(stage: &mut Stage) -> Play {
    let work = |edit: &mut Edit<'_>, seed: u64| {
        for part in 0..3 {
            edit.fill(2, (0..24).map(|n| n * 5 % 24 + seed), 33);
            edit.put(4, part % 2, 700 + 100 * part as usize);
        }
    };
    stage.durable(|edit| work(edit, 0))?;
    for round in 1..4 {
        stage.aborted(|edit| work(edit, round))?;
        stage.lazy(|edit| work(edit, round + 1))?;
        stage.killed_at(Point::PagesWritten, Durable, |edit| work(edit, round))?;
        stage.durable(|edit| edit.fill(2, 0..20, 20))?;
    }
    Ok(())
}
