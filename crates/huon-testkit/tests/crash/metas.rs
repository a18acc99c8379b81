//! Scripts in which a meta is chosen by hand and made the newest. Nothing but that meta may decide:
//! until it is there all is as it was, and then what was given up never comes back.

use huon::Durability::{Durable, Lazy};
use huon_testkit::crash::{Play, Stage};

use crate::multi::{EIGHTS, KEY};

/// Back by one flushed commit, again and again, with work between.
pub(crate) fn the_one_before(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..20, 30))?;
    for round in 0..3 {
        stage.durable(|edit| edit.pour(EIGHTS, KEY, 0..40 + round))?;
        stage.durable(|edit| {
            edit.fill(2, round..round + 6, 31);
            edit.clear(EIGHTS);
        })?;
        stage.switch(true, 1)?;
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.put(2, 30 + round, 700);
        })?;
    }
    stage.durable(|edit| edit.drop_table(EIGHTS))
}

/// The newest flushed commit, so that lazy ones are given up that the lock file alone knows of.
pub(crate) fn the_last_flushed(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.durable(|edit| edit.fill(2, round..round + 12, 30))?;
        stage.lazy(|edit| edit.fill(2, 0..8, 31))?;
        stage.lazy(|edit| edit.put(12, round, 600))?;
        stage.switch(false, 0)?;
        stage.lazy(|edit| edit.put(2, round, 32))?;
    }
    stage.durable(|edit| edit.delete(2, 1))
}

/// Several times in a row, also back to what a switch has left behind, and with the end of all
/// processes right after.
pub(crate) fn again_and_killed(stage: &mut Stage) -> Play {
    // With another number of commits the metas lie in other slots.
    for round in 0..3 {
        (0..round).try_for_each(|n| stage.durable(|edit| edit.put(4, n as u64, 8)))?;
        stage.durable(|edit| edit.fill(2, 0..10, 30 + round))?;
        stage.durable(|edit| edit.fill(2, 5..15, 31 + round))?;
        // The newest, and then the one before it; ids of both times are left behind.
        stage.switch(true, 0)?;
        stage.switch(true, 2)?;
        stage.switch(true, 1)?;
        stage.kill();
        stage.lazy(|edit| edit.put(2, 3, 40))?;
        stage.kill();
    }
    stage.durable(|edit| edit.put(2, 0, 33))
}
