//! Write-optimised tables: LSM trees of the crate `huon-lsm`. They are read and changed as other
//! tables are (`reading`, `change`).

use std::mem::ManuallyDrop;

use huon::{Env, Txn};
use huon_lsm::{CompactorThread, Lsm, LsmOptions, LsmStat, RawLsmTable};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::care::apart;
use crate::failure::{Failure, Result as Res};
use crate::jobs::Answer;
use crate::rare::{Result, with};
use crate::state::{Handle, Source, State, in_txn};

/// Those of an environment.
pub(crate) struct LsmTables(Lsm);

impl LsmTables {
    pub(crate) fn new(env: &Env, options: LsmOptions) -> Res<LsmTables> {
        Ok(LsmTables(Lsm::with_options(env, options)?))
    }

    /// The handle; `None` if the transaction shows no such table.
    pub(crate) fn table(&self, name: &str, source: &Source<'_>) -> Res<Option<RawLsmTable>> {
        let is_there = match source {
            Source::Env(_) => true,
            Source::Read(txn) => self.has(*txn, name)?,
            Source::Write(txn) => self.has(*txn, name)?,
        };
        Ok(if is_there { Some(self.0.raw_table(name)?) } else { None })
    }

    fn has(&self, txn: &impl Txn, name: &str) -> Res<bool> {
        Ok(self.0.table_names(txn)?.iter().any(|there| there == name.as_bytes()))
    }
}

/// Threads that merge runs. A program that exits must not wait for them, since they may wait for a
/// writer in another process: they are stopped by `threads()` alone.
pub(crate) struct Merging {
    pub(crate) env: f64,
    threads: ManuallyDrop<CompactorThread>,
}

impl Merging {
    /// To be stopped where waiting for them is fine.
    pub(crate) fn threads(self) -> CompactorThread {
        ManuallyDrop::into_inner(self.threads)
    }
}

/// Names of the LSM tables in a snapshot.
#[napi(catch_unwind)]
pub fn lsm_tables(seat: f64) -> Result<Vec<String>> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        let open = envs.get(seat.env)?;
        seat.wake(&open.env)?;
        let names = in_txn!(&seat.held, txn => Ok(open.lsm.0.table_names(txn)?));
        seat.rest();
        Ok(names?.into_iter().map(|name| String::from_utf8_lossy(&name).into_owned()).collect())
    })
}

/// What a thread needs of an LSM table.
fn lsm_table(env: f64, table: f64) -> Result<RawLsmTable> {
    with(|state| match &state.env(env)?.slot(table)?.handle {
        Handle::Lsm(table) => Ok(table.clone()),
        _ => Err(Failure::from(huon::Error::TableKind)),
    })
}

/// What an LSM table consists of, and what it has cost: the job answers as JSON.
#[napi(catch_unwind)]
pub fn lsm_stat(env: f64, job: f64, table: f64) -> Result<()> {
    let table = lsm_table(env, table)?;
    apart(env, job, move |env, _| Ok(Answer::Text(shown(&table.stat(&env.read()?)?).to_string())))
}

fn shown(stat: &LsmStat) -> Value {
    let class = |class: &huon_lsm::ClassStat| {
        json!({
            "class": class.class, "runs": class.runs, "records": class.records,
            "bytes": class.bytes,
        })
    };
    json!({
        "runs": stat.runs(),
        "records": stat.records,
        "tombstones": stat.tombstones,
        "bytes": stat.bytes,
        "filter_bytes": stat.filter_bytes,
        "debt_bytes": stat.debt_bytes,
        "total_put_bytes": stat.total_put_bytes,
        "total_merged_bytes": stat.total_merged_bytes,
        "stalls": stat.stalls,
        "stall_ms": stat.stall_time.as_secs_f64() * 1000.0,
        "failures": stat.failures,
        "range_deletes": stat.range_deletes,
        "open_records": stat.open_records,
        "operator": stat.operator,
        "fan": stat.fan,
        "filter_bits": stat.filter_bits,
        "classes": stat.classes.iter().map(class).collect::<Vec<_>>(),
    })
}

/// Reads every run of an LSM table: the job answers as JSON.
#[napi(catch_unwind)]
pub fn lsm_check(env: f64, job: f64, table: f64) -> Result<()> {
    let table = lsm_table(env, table)?;
    apart(env, job, move |env, _| {
        let check = table.check(&env.read()?)?;
        Ok(Answer::Text(json!({ "problems": check.problems }).to_string()))
    })
}

/// Merges runs of one table or of all: the job answers how many steps that took, and tells of each.
/// `how` is 0 for those that are due, 1 for all runs, 2 to make the file shorter.
#[napi(catch_unwind)]
pub fn lsm_compact(env: f64, job: f64, table: Option<String>, how: u32) -> Result<()> {
    let mut compactor = with(|state| Ok(state.env(env)?.lsm.0.compactor()))?;
    if let Some(name) = table {
        compactor = compactor.for_table(name);
    }
    apart(env, job, move |_, link| {
        let mut moves = 0;
        let steps = match how {
            0 => compactor.run_until_idle_with(&mut |steps| link.tell(steps, 0))?,
            1 => compactor.merge_all_with(&mut |steps| link.tell(steps, 0))?,
            2 => {
                compactor.shorten_with(&mut || {
                    moves += 1;
                    link.tell(moves, 0)
                })?;
                moves
            }
            _ => return Err(Failure::misuse("there is no such way to compact")),
        };
        if link.is_stopped() { Err(Failure::stopped()) } else { Ok(Answer::Number(steps as f64)) }
    })
}

/// Starts threads that merge what is due.
#[napi(catch_unwind)]
pub fn start_compactor(env: f64) -> Result<f64> {
    with(|state| {
        let threads = ManuallyDrop::new(state.env(env)?.lsm.0.compactor().spawn()?);
        state.compactors.add(Merging { env, threads })
    })
}

/// Ends them. An error is that of their work.
#[napi(catch_unwind)]
pub fn stop_compactor(env: f64, job: f64, compactor: f64) -> Result<()> {
    let merging = with(|state| state.compactors.take(compactor))?;
    apart(env, job, move |_, _| {
        merging.threads().stop()?;
        Ok(Answer::Nothing)
    })
}
