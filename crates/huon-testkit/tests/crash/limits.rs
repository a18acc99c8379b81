//! Scripts that change the limits of the file's length.

use huon_testkit::crash::{Edit, Play, Setup, Stage};

use crate::scripts;

/// Changes the limits within a transaction, in pages: lower and upper.
fn limit(edit: &mut Edit<'_>, lower: u64, upper: u64) {
    let page_bytes = edit.page_bytes() as u64;
    let mut geometry = edit.txn.geometry();
    (geometry.lower_bytes, geometry.upper_bytes) = (lower * page_bytes, upper * page_bytes);
    edit.txn.set_geometry(geometry).expect("limits that are allowed");
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
