//! Tables that are made, renamed, emptied, dropped and built.

use super::*;

pub(super) fn tables_come_and_go(stage: &mut Stage) -> Play {
    for round in 0..6u8 {
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| {
            edit.fill(2 + 2 * (round % 3), 0..12, 40);
            edit.drop_table(2 + 2 * ((round + 2) % 3));
        })?;
    }
    stage.durable(|edit| edit.clear(2))
}

pub(super) fn many_tables(stage: &mut Stage) -> Play {
    for round in 0..4u64 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            (2..14).for_each(|id| edit.put(id, round, 10 + usize::from(id)));
        })?;
    }
    stage.durable(|edit| (2..14).step_by(2).for_each(|id| edit.drop_table(id)))
}

pub(super) fn renamed_and_dropped(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..10, 30))?;
    stage.durable(|edit| edit.rename(2))?;
    stage.lazy(|edit| edit.fill(2, 3..9, 31))?;
    stage.durable(|edit| {
        edit.nested(false, |edit| {
            edit.drop_table(3);
            edit.put(4, 1, 9);
        });
        edit.drop_table(2);
    })?;
    stage.lazy(|edit| edit.rename(3))?;
    stage.durable(|edit| {
        edit.nested(true, |edit| edit.clear(2));
        edit.put(2, 1, 700);
    })
}

pub(super) fn cleared_and_filled(stage: &mut Stage) -> Play {
    for round in 0..4 {
        stage.durable(|edit| edit.fill(2, 0..15, 40 + round))?;
        stage.commit(0, if round % 2 == 0 { Lazy } else { Durable }, |edit| edit.clear(2))?;
    }
    Ok(())
}

pub(super) fn bulk_build(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.build(2, 40, 30))?;
    stage.lazy(|edit| {
        edit.drop_table(2);
        edit.build(2, 30, 50);
    })?;
    stage.durable(|edit| edit.build(8, 20, 700))?;
    stage.durable(|edit| {
        edit.clear(8);
        edit.put(2, 3, 9);
    })
}

pub(super) fn bulk_build_spilled(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.build(12, 120, 30))?;
    stage.aborted(|edit| edit.build(2, 90, 30))?;
    stage.durable(|edit| edit.build(2, 80, 31))?;
    stage.lazy(|edit| edit.clear(12))
}
