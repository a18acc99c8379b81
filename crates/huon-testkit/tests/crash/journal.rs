//! Commits that are durable by a journal, and all that may come between two of them.
//!
//! The journal is as small as it can be: half of it is eight blocks, so a few commits cross it.

use huon::Durability::{Durable, NoMetaSync, Unsynced};
use huon::sim::Point;
use huon_testkit::crash::{self, Edit, Play, Setup, Stage};

const BLOCK_BYTES: u64 = 4096;
const JOURNAL_BYTES: u64 = 16 * BLOCK_BYTES;

pub(crate) fn small(setup: &mut Setup) {
    setup.journal_bytes = Some(JOURNAL_BYTES);
}

pub(crate) fn spills(setup: &mut Setup) {
    small(setup);
    setup.spill_pages = 8;
}

pub(crate) fn grows(setup: &mut Setup) {
    small(setup);
    setup.grow_pages = 1;
}

pub(crate) fn shrinks(setup: &mut Setup) {
    small(setup);
    crate::scripts::shrinks(setup);
}

pub(crate) fn never_synced(setup: &mut Setup) {
    small(setup);
    setup.unsynced = true;
}

/// The number of a key of eight bytes. (Beside the longest keys a value of any length is a large
/// one, which no record holds.)
fn short(n: u64) -> u64 {
    16 * n + 12
}

/// So many small durable commits: each is a batch of one block.
fn fill_blocks(stage: &mut Stage, count: u64) -> Play {
    (0..count).try_for_each(|n| stage.durable(|edit| edit.put(2, short(n % 7), 20)))
}

/// Commits that share a batch of several blocks, of which a power loss may leave any.
fn fill_several_blocks(stage: &mut Stage) -> Play {
    fill_blocks(stage, 2)?;
    for part in 0..4 {
        let keys = part * 20..part * 20 + 20;
        drop(stage.ticket(|edit| edit.fill(12, keys.map(short), 60))?);
    }
    fill_blocks(stage, 2)
}

pub(crate) fn begun(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.durable(|edit| edit.put(2, round, 30))?;
        stage.durable(|edit| edit.put(6, 3 - round, 30))?;
    }
    stage.durable(|edit| edit.delete(2, 2))
}

/// Whether the next batch begins with the last block of the file.
fn is_at_the_last_block(stage: &Stage) -> bool {
    let journal = stage.envs[0].info().expect("the state of the environment").journal;
    journal.is_some_and(|journal| journal.next_at % JOURNAL_BYTES == JOURNAL_BYTES - BLOCK_BYTES)
}

/// Batches of several blocks, the first one around the end of the file, and a checkpoint among
/// them.
pub(crate) fn in_laps(stage: &mut Stage) -> Play {
    fill_blocks(stage, 18)?;
    while !is_at_the_last_block(stage) {
        fill_blocks(stage, 1)?;
    }
    stage.images_from_here();
    for round in 0..4 {
        stage.durable(|edit| edit.fill(12, (0..40 + round).map(|n| short(n * 3 + round)), 150))?;
        stage.durable(|edit| edit.put(2, short(round), 20))?;
    }
    Ok(())
}

/// Several records in a batch, and a batch of several blocks.
pub(crate) fn with_tickets(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.put(2, 0, 30))?;
    for round in 0..3 {
        let first =
            stage.ticket(|edit| edit.fill(12, (0..12).map(|n| short(n * 3 + round)), 150))?;
        let second = stage.ticket(|edit| edit.fill(2, (0..6 + round).map(short), 40))?;
        stage.wait(if round == 1 { &first } else { &second })?;
        let third = stage.ticket(|edit| edit.put(4, short(round), 9))?;
        stage.durable(|edit| edit.put(6, short(round), 9))?;
        stage.wait(&third)?;
    }
    Ok(())
}

/// Commits that write some of their pages before they are sealed, between others.
pub(crate) fn spilled(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.durable(|edit| edit.put(2, short(round), 30))?;
        stage.durable(|edit| edit.fill(12, (0..30).map(|n| short(n * 3 + round)), 33))?;
        stage.durable(|edit| edit.put(2, short(8), 30 + round as usize))?;
    }
    Ok(())
}

pub(crate) fn grown(stage: &mut Stage) -> Play {
    (0..7).try_for_each(|round| {
        stage.durable(|edit| edit.fill(2, (round * 6..round * 6 + 6).map(short), 60))
    })
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
    fill_several_blocks(stage)?;
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
    stage.sync()?;
    fill_several_blocks(stage)
}

pub(crate) fn shrunk(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..60, 60))?;
    stage.durable(|edit| edit.clear(2))?;
    (0..4).try_for_each(|round| stage.durable(|edit| edit.put(4, round, 5)))?;
    stage.durable(|edit| edit.fill(12, 0..12, 61))?;
    stage.durable(|edit| edit.fill(12, 12..24, 62))?;
    fill_several_blocks(stage)
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

/// Another client commits, often, while one flushes the journal.
pub(crate) fn overtaken(stage: &mut Stage) -> Play {
    stage.join();
    stage.durable(|edit| edit.fill(2, (0..12).map(short), 30))?;
    for (round, point) in (0..).zip(&STEPS[1..]) {
        stage.durable(|edit| edit.put(2, short(1), 30))?;
        let rival = |edit: &mut Edit<'_>, n| edit.fill(2, (n..n + 3).map(short), 32);
        stage.overtaken(*point, |edit| edit.put(2, short(round), 31), 9, rival)?;
    }
    stage.durable(|edit| edit.put(2, short(2), 33))?;
    fill_several_blocks(stage)
}

/// Another client commits at the steps of checkpoints; the first one is that which begins the
/// journal.
pub(crate) fn beside_checkpoints(stage: &mut Stage) -> Play {
    const POINTS: [Point; 6] = [
        Point::MetaWritten,
        Point::CandidateStored,
        Point::PlanStored,
        Point::MetaWritten,
        Point::Flushed,
        Point::DurableMoved,
    ];
    stage.join();
    for (round, point) in (0..).zip(POINTS) {
        let rival = move |edit: &mut Edit<'_>| edit.put(4, short(round), 32);
        stage.rivalled(point, |edit| edit.put(2, short(8), 31), rival)?;
        fill_blocks(stage, 2)?;
    }
    stage.durable(|edit| edit.put(2, short(9), 30))
}

pub(crate) fn random(stage: &mut Stage) -> Play {
    crash::random(stage)?;
    fill_several_blocks(stage)
}
