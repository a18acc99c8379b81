//! Snapshots with names, which the file keeps until they are dropped.

use huon::{Capture, Env, SnapshotName};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::failure::{Failure, Result as Res};
use crate::jobs::Answer;
use crate::rare::{Result, with, write_later};
use crate::state::{Held, Seat, State};

/// Which snapshot it is. A number of JavaScript cannot hold the checksum.
pub(crate) fn shown(name: SnapshotName) -> Value {
    json!({ "id": name.id, "checksum": format!("{:016x}", name.checksum) })
}

/// Pins the snapshot of a name; the newest without one.
pub(crate) fn capture(env: &Env, name: Option<&str>) -> Res<Capture> {
    match name {
        Some(name) => env.named_snapshot(name)?.ok_or_else(|| Failure::no_snapshot(name)),
        None => Ok(env.capture()?),
    }
}

/// The named snapshots, the oldest first, as JSON.
#[napi(catch_unwind)]
pub fn named_snapshots(env: f64) -> Result<String> {
    with(|state| {
        let all = state.env(env)?.env.named_snapshots()?;
        let named = all.iter().map(|one| {
            let mut row = shown(one.snapshot);
            row["name"] = Value::from(one.name.as_str());
            row
        });
        Ok(Value::from_iter(named).to_string())
    })
}

/// Begins a read transaction of the snapshot of a name.
#[napi(catch_unwind)]
pub fn begin_read_named(env: f64, name: String) -> Result<f64> {
    with(|state| {
        let txn = capture(&state.env(env)?.env, Some(&name))?.into_txn();
        state.seats.add(Seat { env, is_newest: false, held: Held::Read(Box::new(txn)) })
    })
}

/// Has the writer thread name the newest snapshot: the job answers which one it is, as JSON.
#[napi(catch_unwind)]
pub fn name_snapshot(env: f64, job: f64, name: String, can_stop: bool) -> Result<()> {
    write_later(env, job, can_stop, move |env, mut txn, _| {
        let capture = env.capture()?;
        txn.name_snapshot(&name, &capture)?;
        txn.commit()?;
        Ok(Answer::Text(shown(capture.image().name()).to_string()))
    })
}

/// Has it take a name away from its snapshot: the job answers 1 if there was one, and else 0.
#[napi(catch_unwind)]
pub fn drop_snapshot(env: f64, job: f64, name: String, can_stop: bool) -> Result<()> {
    write_later(env, job, can_stop, move |_, mut txn, _| {
        let had_it = txn.drop_snapshot(&name)?;
        txn.commit()?;
        Ok(Answer::Number(f64::from(u8::from(had_it))))
    })
}

/// Names the snapshot from which a write transaction goes on: which one it is, as JSON.
#[napi(catch_unwind)]
pub fn name_snapshot_in(seat: f64, name: String) -> Result<String> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        let env = &envs.get(seat.env)?.env;
        let writing = seat.writing()?;
        // While it has the writer lock, no newer one becomes visible.
        let capture = env.capture()?;
        writing.txn.name_snapshot(&name, &capture)?;
        Ok(shown(capture.image().name()).to_string())
    })
}

/// Takes a name away from its snapshot in a write transaction: whether there was one.
#[napi(catch_unwind)]
pub fn drop_snapshot_in(seat: f64, name: String) -> Result<bool> {
    with(|state| Ok(state.seats.get(seat)?.writing()?.txn.drop_snapshot(&name)?))
}
