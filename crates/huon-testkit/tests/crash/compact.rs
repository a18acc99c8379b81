//! A file that is compacted in place.

use huon_testkit::crash::{Play, Stage};

/// Moves what is left of tables, multimaps and large values, beside a reader, and then without it.
pub(crate) fn compacted(stage: &mut Stage) -> Play {
    stage.durable(|edit| {
        edit.fill(2, 0..60, 40);
        edit.fill(4, 0..10, 900);
    })?;
    stage.durable(|edit| {
        edit.fill(2, 60..90, 40);
        edit.fill(4, 10..13, 1500);
        edit.pour(26, 12, 0..150);
        edit.fill(6, 0..12, 30);
    })?;
    let reader = stage.reader(0);
    stage.durable(|edit| {
        (0..60).for_each(|n| edit.delete(2, n));
        (0..10).for_each(|n| edit.delete(4, n));
    })?;
    stage.compact()?;
    drop(reader);
    stage.lazy(|edit| edit.put(2, 91, 41))?;
    stage.compact()?;
    stage.durable(|edit| edit.put(2, 92, 42))
}
