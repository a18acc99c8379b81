//! Scripts that change the limits of the file's length.

use huon::Durability::{Durable, Lazy};
use huon_testkit::crash::{Edit, Play, Setup, Stage};

use crate::multi::{EIGHTS, KEY};
use crate::scripts;

/// Changes the limits within a transaction, in pages: minimum and maximum.
fn limit(edit: &mut Edit<'_>, min_pages: u64, max_pages: u64) {
    assert!(edit.limit(min_pages, max_pages), "limits that are allowed");
}

pub(crate) fn other(stage: &mut Stage) -> Play {
    stage.durable(|edit| edit.fill(2, 0..20, 60))?;
    stage.durable(|edit| limit(edit, 90, 200))?;
    stage.lazy(|edit| edit.put(2, 1, 70))?;
    stage.aborted(|edit| limit(edit, 150, 300))?;
    stage.lazy(|edit| {
        limit(edit, 60, 300);
        edit.put(2, 2, 80);
    })?;
    stage.sync()?;
    stage.durable(|edit| edit.clear(2))?;
    stage.durable(|edit| limit(edit, 0, 120))?;
    stage.durable(|edit| edit.put(2, 3, 5))?;
    stage.lazy(|edit| limit(edit, 70, 1000))?;
    stage.durable(|edit| edit.fill(2, 0..30, 60))
}

pub(crate) fn spills(setup: &mut Setup) {
    scripts::shrinks(setup);
    scripts::spills(setup);
}

pub(crate) fn other_spilled(stage: &mut Stage) -> Play {
    stage.durable(|edit| limit(edit, 60, 150))?;
    stage.durable(|edit| edit.fill(2, 0..20, 60))?;
    stage.aborted(|edit| {
        limit(edit, 60, 2000);
        edit.fill(2, 20..200, 200);
    })?;
    stage.lazy(|edit| {
        limit(edit, 60, 1000);
        edit.fill(2, 20..60, 100);
    })?;
    stage.durable(|edit| edit.put(2, 3, 5))
}

/// Levels and savepoints that change the limits beside values, some after a spill, and are undone
/// or kept.
pub(crate) fn nested(stage: &mut Stage) -> Play {
    let many = stage.setup().page_bytes as u64 / 8 + 20;
    stage.durable(|edit| edit.pour(EIGHTS, KEY, 0..many))?;
    for round in 0..3 {
        stage.commit(0, if round == 1 { Lazy } else { Durable }, |edit| {
            edit.nested(false, |edit| {
                limit(edit, 200, 2000);
                edit.fill(2, 0..60, 100);
            });
            edit.nested(round != 1, |edit| {
                limit(edit, 90 + 20 * round, 1800 + round);
                edit.nested(round == 0, |edit| limit(edit, 40, 1900));
                edit.take(EIGHTS, KEY, 2..many);
            });
            edit.rolled_back(
                |edit| {
                    edit.clear(EIGHTS);
                    limit(edit, 0, 1900);
                    edit.fill(12, 0..80, 60);
                },
                |edit| edit.pour(EIGHTS, KEY, round..many),
            );
        })?;
        stage.aborted(|edit| {
            edit.nested(true, |edit| limit(edit, 150, 1650));
            edit.drop_table(EIGHTS);
        })?;
    }
    let io = stage.envs[0].info().expect("the state of the environment").io;
    assert!(io.spills > 0, "nothing was spilled");
    stage.durable(|edit| {
        edit.nested(true, |edit| edit.drop_table(EIGHTS));
        edit.nested(true, |edit| limit(edit, 0, 1700));
    })
}
