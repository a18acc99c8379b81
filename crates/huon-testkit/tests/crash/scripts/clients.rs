//! Readers, several clients, and clients that die.

use super::*;

pub(super) fn parked_readers(stage: &mut Stage) -> Play {
    let mut parked = Vec::new();
    for round in 0..9 {
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| {
            edit.fill(2, (0..6).map(|n| n * 7 + round), 35);
        })?;
        match round % 3 {
            0 => parked.push(stage.reader(0)),
            1 => parked.truncate(1),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn a_reader_of_another_client(stage: &mut Stage) -> Play {
    stage.join();
    stage.durable(|edit| edit.fill(2, 0..20, 30))?;
    let reader = stage.reader(1);
    for round in 0..4 {
        stage.commit(0, if round == 2 { Durable } else { Lazy }, |edit| {
            edit.fill(2, (0..5).map(|n| n * 4 + round), 31);
        })?;
    }
    drop(reader);
    stage.commit(1, Durable, |edit| edit.fill(2, 0..10, 33))?;
    stage.commit(0, Durable, |edit| edit.fill(2, 10..20, 33))
}

pub(super) fn reopened(stage: &mut Stage) -> Play {
    for round in 0..5 {
        stage.lazy(|edit| edit.put(2, round, 30))?;
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| {
            edit.put(4, round, 30);
        })?;
        stage.reopen()?;
    }
    Ok(())
}

pub(super) fn reopened_after_lazy_commits(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..10, 30))?;
    for round in 0..3 {
        stage.lazy(|edit| edit.put(2, round, 31))?;
        stage.reopen()?;
        stage.reopen()?;
        stage.durable(|edit| edit.put(2, 9 - round, 32))?;
    }
    Ok(())
}

pub(super) fn two_clients(stage: &mut Stage) -> Play {
    stage.join();
    for round in 0..10 {
        let durability = if round % 3 == 0 { Durable } else { Lazy };
        stage.commit(round % 2, durability, |edit| edit.put(2, round as u64, 45))?;
    }
    Ok(())
}

/// Both seal before either flushes.
pub(super) fn one_flush_for_two(stage: &mut Stage) -> Play {
    stage.join();
    for round in 0..5 {
        stage.commit(1, Lazy, |edit| edit.put(4, round, 30))?;
        stage.commit(0, Durable, |edit| edit.put(2, round, 30))?;
    }
    Ok(())
}

pub(super) fn a_commit_in_flight(stage: &mut Stage) -> Play {
    stage.join();
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for round in 0..3 {
        stage.ambushed(
            Durable,
            |edit| edit.fill(2, round..round + 4, 31),
            Point::MetaWritten,
            move |edit| edit.fill(2, round + 2..round + 6, 32),
        )?;
        stage.lazy(|edit| edit.fill(2, 0..3, 33))?;
    }
    Ok(())
}

pub(super) fn a_spill_in_flight(stage: &mut Stage) -> Play {
    stage.join();
    stage.durable(|edit| edit.fill(2, 0..30, 30))?;
    for round in 0..2 {
        stage.ambushed(
            Durable,
            |edit| edit.fill(2, (0..10).map(|n| n * 3 + round), 31),
            Point::MetaWritten,
            move |edit| edit.fill(2, (0..40).map(|n| n + round), 32),
        )?;
        stage.ambushed(
            Durable,
            |edit| edit.fill(2, (0..10).map(|n| n * 2 + round), 33),
            Point::PlanStored,
            move |edit| edit.fill(2, (0..40).map(|n| n + round), 34),
        )?;
    }
    Ok(())
}

pub(super) fn a_commit_between_two_flushes(stage: &mut Stage) -> Play {
    stage.join();
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    stage.ambushed(
        Durable,
        |edit| edit.put(2, 1, (1 << 20) + 9000),
        Point::FirstFlushed,
        |edit| edit.fill(2, 3..9, 32),
    )?;
    stage.lazy(|edit| edit.put(2, 2, 31))?;
    stage.durable(|edit| edit.delete(2, 1))
}

pub(super) fn killed_repaired_killed(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for round in 0..3 {
        stage.lazy(|edit| edit.fill(2, round..round + 5, 31))?;
        stage.kill();
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| edit.put(2, 9, 32))?;
        stage.kill();
    }
    stage.durable(|edit| edit.put(2, 0, 33))
}

pub(super) fn killed_with_pages_written(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for (round, point) in [Point::Spilled, Point::PagesWritten].into_iter().enumerate() {
        stage.killed_at(point, Durable, |edit| edit.fill(2, 0..60, 31 + round))?;
        stage.lazy(|edit| edit.fill(2, 0..50, 31 + round))?;
        stage.durable(|edit| edit.put(2, 3, 32))?;
    }
    Ok(())
}

pub(super) fn killed_right_after_the_seal(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for (n, point) in [Point::ImageFilled, Point::Sealed, Point::WriterLeft].iter().enumerate() {
        let n = n as u64;
        stage.killed_at(*point, Durable, |edit| edit.fill(2, n..n + 4, 31))?;
        stage.commit(0, if n == 1 { Lazy } else { Durable }, |edit| edit.put(2, 3, 32))?;
    }
    Ok(())
}

pub(super) fn killed_with_a_meta_in_flight(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..12, 30))?;
    for (n, point) in [Point::PlanStored, Point::MetaWritten, Point::Flushed].iter().enumerate() {
        let n = n as u64;
        stage.killed_at(*point, Durable, |edit| edit.fill(2, n..n + 4, 31))?;
        stage.commit(0, if n == 1 { Lazy } else { Durable }, |edit| edit.put(2, 3, 32))?;
    }
    Ok(())
}

/// A client that closes flushes also what others have left.
pub(super) fn killed_opened_closed(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.lazy(|edit| edit.fill(2, round..round + 8, 30))?;
        stage.kill();
        stage.reopen()?;
    }
    stage.lazy(|edit| edit.put(12, 1, 800))?;
    stage.kill();
    Ok(())
}

pub(super) fn killed_with_lazy_commits(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.lazy(|edit| edit.fill(2, round..round + 8, 30))?;
        stage.lazy(|edit| edit.put(12, round, 800))?;
        stage.kill();
        stage.lazy(|edit| edit.delete(2, round))?;
    }
    stage.sync()
}
