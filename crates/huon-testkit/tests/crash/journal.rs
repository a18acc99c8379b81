//! Commits that are durable by a journal, and all that may come between two of them.
//!
//! The journal is as small as it can be: half of it is eight blocks, so a few commits cross it.

use huon::Durability::{Durable, NoMetaSync, Unsynced};
use huon::sim::Point;
use huon_testkit::crash::{Play, Setup, Stage};

pub(crate) fn small(setup: &mut Setup) {
    setup.journal_bytes = Some(16 * 4096);
}

pub(crate) fn spills(setup: &mut Setup) {
    small(setup);
    setup.spill_pages = 8;
}

pub(crate) fn shrinks(setup: &mut Setup) {
    small(setup);
    crate::scripts::shrinks(setup);
}

pub(crate) fn never_synced(setup: &mut Setup) {
    small(setup);
    setup.unsynced = true;
}

/// So many small durable commits: each is a batch of one block.
fn fill_blocks(stage: &mut Stage, count: u64) -> Play {
    (0..count).try_for_each(|n| stage.durable(|edit| edit.put(2, n % 7, 20)))
}

pub(crate) fn begun(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.durable(|edit| edit.put(6, 3 - round, 30))?;
    }
    stage.durable(|edit| edit.delete(2, 2))
}

/// Batches of several blocks around the end of the file, and a checkpoint among them.
pub(crate) fn in_laps(stage: &mut Stage) -> Play {
    fill_blocks(stage, 26)?;
    stage.images_from_here();
    for round in 0..4 {
        stage.durable(|edit| edit.fill(12, (0..14).map(|n| n * 3 + round), 400))?;
        stage.durable(|edit| edit.put(2, round, 20))?;
    }
    Ok(())
}

pub(crate) fn beside_others(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.lazy(|edit| edit.put(4, round, 30))?;
        stage.durable(|edit| edit.put(2, 4, 20 + round as usize))?;
        stage.durable(|edit| edit.put(2, 5, 20 + round as usize))?;
        stage.commit(0, if round == 1 { Unsynced } else { NoMetaSync }, |edit| {
            edit.fill(2, round..round + 6, 25);
        })?;
        let ticket = stage.ticket(|edit| edit.put(6, round, 9))?;
        stage.durable(|edit| edit.put(6, 7, 9))?;
        stage.wait(&ticket)?;
    }
    stage.sync()
}

/// More than a record holds, and what none holds.
pub(crate) fn beside_large_ones(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.durable(|edit| edit.put(2, 9, 5000 + round as usize))?;
        stage.durable(|edit| edit.fill(12, (0..60).map(|n| n * 2 + round), 33))?;
        stage.durable(|edit| edit.put(2, 8, 30))?;
        stage.durable(|edit| edit.delete(2, 9))?;
    }
    Ok(())
}

/// A chain of differences to one page, whose first ones are used again meanwhile.
pub(crate) fn with_pages_used_again(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..40, 30))?;
    stage.durable(|edit| edit.put(2, 1, 20))?;
    stage.images_from_here();
    for round in 0..5 {
        stage.durable(|edit| edit.put(2, 7, 20 + round))?;
        stage.durable(|edit| edit.put(2, 30, 20 + round))?;
    }
    for round in 0..4 {
        stage.lazy(|edit| edit.fill(2, 0..40, 35 + round))?;
    }
    Ok(())
}

pub(crate) fn shrunk(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..60, 60))?;
    stage.durable(|edit| edit.clear(2))?;
    (0..4).try_for_each(|round| stage.durable(|edit| edit.put(4, round, 5)))?;
    stage.durable(|edit| edit.fill(12, 0..12, 61))?;
    stage.durable(|edit| edit.fill(12, 12..24, 62))
}

pub(crate) fn closed(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.durable(|edit| edit.put(2, round + 1, 31))?;
        stage.reopen()?;
        stage.durable(|edit| edit.put(4, round, 9))?;
        stage.durable(|edit| edit.put(4, round, 10))?;
        stage.reopen_dirty()?;
    }
    stage.durable(|edit| edit.put(2, 9, 30))
}

pub(crate) fn left_unsynced(stage: &mut Stage) -> Play {
    for round in 0..2 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.durable(|edit| edit.put(2, round + 1, 31))?;
        stage.commit(0, Unsynced, |edit| edit.put(4, round, 30))?;
        stage.reopen()?;
        stage.durable(|edit| edit.put(6, round, 9))?;
    }
    Ok(())
}

/// At every step of a flush of the journal.
const STEPS: [Point; 8] = [
    Point::RecordPut,
    Point::JournalCandidateRead,
    Point::JournalCandidateStored,
    Point::JournalWritten,
    Point::JournalFlushed,
    Point::JournalPlaceMoved,
    Point::JournalPublished,
    Point::JournalFlightEnded,
];

pub(crate) fn killed(stage: &mut Stage) -> Play {
    for (round, point) in (0..).zip(STEPS) {
        stage.durable(|edit| edit.put(2, 1, 30))?;
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.killed_at(point, Durable, |edit| edit.put(2, round, 31))?;
    }
    stage.durable(|edit| edit.put(2, 9, 30))?;
    stage.durable(|edit| edit.put(2, 9, 31))
}
