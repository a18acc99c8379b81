//! Reports about write-optimised tables, as dictionaries.

use huon_lsm::{LsmCheck, LsmStat};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bytes::shown;
use crate::fault::Res;

/// `dict! { py, {name: value, ..} }`
macro_rules! dict {
    ($py:expr, {$($name:ident: $value:expr),* $(,)?}) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($name), $value)?;)*
        dict
    }};
}

pub(crate) fn stat<'py>(py: Python<'py>, stat: &LsmStat) -> Res<Bound<'py, PyDict>> {
    let mut classes = Vec::new();
    for class in &stat.classes {
        classes.push(dict!(py, {
            class: class.class,
            runs: class.runs,
            records: class.records,
            bytes: class.bytes,
        }));
    }
    Ok(dict!(py, {
        key_type: &stat.types.0,
        value_type: &stat.types.1,
        operator: &stat.operator,
        fan: stat.fan,
        filter_bits: stat.filter_bits,
        classes: classes,
        runs: stat.runs(),
        has_open_run: stat.has_open_run,
        open_records: stat.open_records,
        records: stat.records,
        tombstones: stat.tombstones,
        bytes: stat.bytes,
        filter_bytes: stat.filter_bytes,
        filter_bytes_in_memory: stat.filter_bytes_in_memory,
        range_deletes: stat.range_deletes,
        debt_bytes: stat.debt_bytes,
        merging_bytes: stat.merging_bytes,
        total_put_bytes: stat.total_put_bytes,
        total_merged_bytes: stat.total_merged_bytes,
        total_write_amplification: stat.total_write_amplification(),
        put_bytes: stat.put_bytes,
        merged_bytes: stat.merged_bytes,
        merges: stat.merges,
        steps: stat.steps,
        lost_steps: stat.lost_steps,
        failures: stat.failures,
        stalls: stat.stalls,
        stall_time: stat.stall_time.as_secs_f64(),
    }))
}

pub(crate) fn check<'py>(py: Python<'py>, check: &LsmCheck) -> Res<Bound<'py, PyDict>> {
    let mut runs = Vec::new();
    for run in &check.runs {
        runs.push(dict!(py, {
            id: run.id,
            number: run.number,
            table: shown(py, &run.table),
            is_open: run.is_open,
            is_input: run.is_input,
            records: run.records,
            tombstones: run.tombstones,
            digest: run.digest,
        }));
    }
    Ok(dict!(py, { runs: runs, problems: &check.problems }))
}
