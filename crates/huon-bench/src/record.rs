//! What a run writes and the report reads: a file of JSON, one object a line. The first line is the
//! [`Machine`]; the others are [`Measurement`]s and what was [`LeftOut`], in any order. Such files
//! one after another are a run in parts. Other programs (the one for bbolt) write the same lines.

use serde::{Deserialize, Serialize};

/// Where and how a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Processors that the run may use.
    pub(crate) cores: u64,
    pub(crate) cpu_model: String,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    /// Of the directory that the databases lie in, as `ext4`.
    pub(crate) file_system: String,
    /// Day the run began, as `2026-11-22`.
    pub(crate) date: String,
    /// The commit Huon was built from; with `, changed` if the sources were not clean.
    pub(crate) commit: String,
    /// What share of the full numbers of records and operations was run.
    pub(crate) scale: f64,
    pub(crate) repeats: u32,
}

/// An engine, or one of its cells, that was not measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) engine: String,
    /// Empty if the engine is left out of everything.
    #[serde(default)]
    pub(crate) workload: String,
    /// Empty if all cells of the workload are left out.
    #[serde(default)]
    pub(crate) cell: String,
    #[serde(default)]
    pub(crate) mode: String,
    /// Why, as `no library libleveldb`.
    pub(crate) left_out: String,
}

/// What one cell of one run measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) engine: String,
    pub(crate) version: String,
    /// The options the engine was opened with.
    pub(crate) options: String,
    /// The run that this cell is part of, as `reads`.
    pub(crate) workload: String,
    /// What is measured, as `get, 2 threads`.
    pub(crate) cell: String,
    /// `durable`, `lazy` or `unsynced`.
    pub(crate) mode: String,
    pub(crate) records: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    pub(crate) threads: u64,
    /// Counts from 0; cells of one repeat ran before those of the next.
    pub(crate) repeat: u32,
    /// Operations, and what one of them is, as `put`, `transaction`, `record`.
    pub(crate) operations: u64,
    pub(crate) unit: String,
    pub(crate) seconds: f64,
    /// Latencies of single operations, where they were taken one by one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) latency_ns: Option<Latency>,
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// Bytes given to write calls (`wchar`), and bytes that memory and calls made dirty on the
    /// way to the disk (`write_bytes`), both of /proc/self/io.
    pub(crate) written_bytes: u64,
    pub(crate) dirtied_bytes: u64,
    /// Flushes that the disk did meanwhile, for all processes; `None` where the kernel does not
    /// count them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) disk_flushes: Option<u64>,
    /// Bytes of blocks that the database has on the disk after the cell.
    pub(crate) file_bytes: u64,
    pub(crate) peak_rss_bytes: u64,
    /// Further figures that only this cell has, as the size of the file over time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) series: Vec<(f64, f64)>,
    /// What the engine tells about itself at the end of the cell, as `12 runs`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub(crate) remarks: String,
}

/// Quantiles of the latencies of a cell, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    /// `None` in lines of runs that did not record it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) p9999: Option<u64>,
    pub(crate) max: u64,
}
