//! Scripts of multimaps: values go from a cell to a tree of their own and back, and trees of values
//! go with what holds them.

use huon::Durability::{Durable, Lazy};
use huon::sim::Point;
use huon_testkit::crash::{Play, Stage};
use huon_testkit::model::TableId;

/// Values of any length, and of a native integer: those that more work is done to after a crash.
const MANY: u8 = 14;
pub(crate) const EIGHTS: u8 = 26;
/// A key that is short.
pub(crate) const KEY: u64 = 12;

/// Integers that no leaf holds alone.
fn two_leaves(stage: &Stage) -> u64 {
    stage.setup().page_bytes as u64 / 8 + 2
}

/// Leaves of a multimap, those of its trees of values too.
fn leaf_pages(stage: &Stage, id: u8) -> u32 {
    let stat = stage.envs[0].stat().expect("the state of the environment");
    let name = TableId(id).name();
    let table = stat.tables.iter().find(|table| table.name == name);
    table.map_or(0, |table| table.leaf_pages)
}

pub(crate) fn values_come_and_go(stage: &mut Stage) -> Play {
    let (half, all) = (two_leaves(stage) / 2 + 2, two_leaves(stage));
    for round in 0..2 {
        let some = if round == 0 { Durable } else { Lazy };
        stage.commit(0, some, |edit| edit.pour(EIGHTS, KEY, 0..2))?;
        assert_eq!(leaf_pages(stage, EIGHTS), 1, "in the cell");
        stage.durable(|edit| edit.pour(EIGHTS, KEY, 2..half))?;
        assert!(leaf_pages(stage, EIGHTS) > 1, "in a tree");
        stage.commit(0, some, |edit| edit.pour(EIGHTS, KEY, half..all))?;
        assert!(leaf_pages(stage, EIGHTS) > 2, "in several leaves");
        stage.durable(|edit| edit.take(EIGHTS, KEY, (4..all).rev()))?;
        stage.commit(0, some, |edit| edit.take(EIGHTS, KEY, 1..4))?;
        assert_eq!(leaf_pages(stage, EIGHTS), 1, "in the cell again");
    }
    stage.durable(|edit| edit.take_all(EIGHTS, KEY))
}

pub(crate) fn values_split_and_merge(stage: &mut Stage) -> Play {
    for round in 0..3 {
        stage.durable(|edit| edit.pour(MANY, KEY, (0..24).map(|n| n * 4 + round)))?;
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.take(MANY, KEY, (0..24).filter(|n| n % 5 != 0).map(|n| n * 4 + round));
            edit.pour(MANY, round, [1, 2, 3]);
        })?;
    }
    Ok(())
}

pub(crate) fn multimaps_dropped(stage: &mut Stage) -> Play {
    let all = two_leaves(stage);
    for round in 0..2 {
        stage.durable(|edit| {
            edit.pour(EIGHTS, KEY, 0..all);
            edit.pour(MANY, KEY, 0..18);
            edit.pour(MANY, 28, 0..3);
        })?;
        stage.lazy(|edit| {
            edit.set(EIGHTS, KEY, round);
            edit.pour(EIGHTS, 28, 0..all);
            edit.rename(MANY);
        })?;
        stage.durable(|edit| {
            edit.nested(false, |edit| edit.drop_table(MANY + 1));
            edit.nested(round == 0, |edit| edit.take_all(EIGHTS, 28));
        })?;
        stage.commit(0, if round == 0 { Lazy } else { Durable }, |edit| {
            edit.drop_table(MANY + 1);
            if round == 0 { edit.drop_table(EIGHTS) } else { edit.clear(EIGHTS) }
        })?;
    }
    stage.durable(|edit| edit.pour(MANY, KEY, 0..2))
}

/// Levels that are undone have planted trees of values, split, emptied and dropped them.
pub(crate) fn nested_among_values(stage: &mut Stage) -> Play {
    let all = two_leaves(stage);
    stage.durable(|edit| edit.pour(EIGHTS, KEY, 0..3))?;
    for round in 0..3 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.nested(false, |edit| edit.pour(EIGHTS, KEY, 0..all));
            edit.pour(EIGHTS, KEY, 0..all / 2 + 3 * round);
            edit.nested(false, |edit| {
                edit.take(EIGHTS, KEY, 2..all);
                edit.nested(true, |edit| edit.pour(MANY, KEY, 0..20));
            });
            edit.nested(round != 1, |edit| {
                edit.pour(MANY, KEY, 0..16);
                edit.nested(round == 0, |edit| edit.take_all(EIGHTS, KEY));
            });
        })?;
    }
    stage.aborted(|edit| edit.drop_table(EIGHTS))?;
    stage.durable(|edit| edit.clear(MANY))
}

pub(crate) fn killed_among_values(stage: &mut Stage) -> Play {
    let all = 2 * two_leaves(stage);
    stage.durable(|edit| edit.pour(EIGHTS, KEY, 0..6))?;
    let points = [Point::Spilled, Point::PagesWritten, Point::Sealed];
    for (round, point) in (1..).zip(points) {
        stage.killed_at(point, Durable, |edit| {
            edit.pour(EIGHTS, KEY, 0..all * round);
            edit.pour(MANY, KEY, 0..20);
        })?;
        stage.lazy(|edit| edit.pour(EIGHTS, KEY, 3..all / 2))?;
        stage.kill();
        stage.durable(|edit| edit.take(EIGHTS, KEY, (5..all * round).rev()))?;
    }
    Ok(())
}

/// Whole multimaps with trees of values go, in levels and behind savepoints that are undone after
/// their pages were spilled.
pub(crate) fn spilled_and_undone(stage: &mut Stage) -> Play {
    let all = 3 * two_leaves(stage);
    stage.durable(|edit| {
        edit.pour(EIGHTS, KEY, 0..all);
        edit.pour(MANY, KEY, 0..24);
    })?;
    for round in 0..3 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.nested(false, |edit| {
                edit.drop_table(EIGHTS);
                edit.pour(EIGHTS, 28, 0..2 * all);
                edit.clear(MANY);
            });
            edit.rolled_back(
                |edit| {
                    edit.pour(EIGHTS, KEY, all..3 * all);
                    edit.take_all(MANY, KEY);
                    edit.nested(true, |edit| edit.drop_table(EIGHTS));
                },
                |edit| edit.take(EIGHTS, KEY, (round..all).step_by(3)),
            );
            edit.nested(round != 1, |edit| {
                edit.rolled_back(|edit| edit.clear(EIGHTS), |edit| edit.pour(MANY, 28, 0..20));
                edit.rename(MANY);
            });
        })?;
        stage.durable(|edit| {
            edit.drop_table(MANY + 1);
            edit.pour(EIGHTS, KEY, 0..all);
            edit.pour(MANY, KEY, 0..24);
        })?;
    }
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.spills > 3, "only {} spills", io.spills);
    stage.killed_at(Point::Spilled, Durable, |edit| {
        edit.rolled_back(|edit| edit.pour(EIGHTS, 28, 0..2 * all), |edit| edit.clear(EIGHTS));
    })?;
    stage.durable(|edit| edit.drop_table(EIGHTS))
}
