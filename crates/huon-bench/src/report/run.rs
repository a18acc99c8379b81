//! A run as its file tells it: the machine, and for each cell the repeats of every engine.
//!
//! A run that takes long may be made in parts, of other workloads each: their files, one after
//! another, are the file of the whole. What is compared is of one workload, and so of one part.

use std::io::BufRead;

use serde_json::Value;

use super::figures::Spread;
use crate::engine::Result;
use crate::record::{LeftOut, Machine, Measurement};

/// Engines in the order that tables and charts have them; others follow in the order of the file.
const ORDER: [&str; 21] = [
    "huon",
    "huon-journal",
    "huon-lsm",
    "huon-lsm-inline",
    "lmdb",
    "lmdb-wm",
    "mdbx",
    "mdbx-wm",
    "mdbx-un",
    "mdbx-wmun",
    "redb",
    "canopydb",
    "fjall",
    "rocksdb",
    "leveldb",
    "bf-tree",
    "sqlite",
    "bdb",
    "bbolt",
    "raw",
    "null",
];

/// Whether an engine is no engine: what the harness costs, and what the disk can do.
pub(crate) fn is_floor(engine: &str) -> bool {
    matches!(engine, "raw" | "null")
}

/// Whether an engine is one of Huon's, which are not compared with each other.
pub(crate) fn is_ours(engine: &str) -> bool {
    engine == "huon" || engine.starts_with("huon-")
}

/// Everything a file says.
pub(crate) struct Run {
    /// At least one.
    pub(crate) parts: Vec<Part>,
    /// In the order in which cells first appear.
    pub(crate) rows: Vec<Row>,
    /// In the order of the columns.
    pub(crate) engines: Vec<String>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// What was measured on one machine in one go.
pub(crate) struct Part {
    pub(crate) machine: Machine,
    /// In the order in which they first appear; no other part has them.
    pub(crate) workloads: Vec<String>,
}

/// One cell in one mode.
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) cell: String,
    pub(crate) mode: String,
    /// In the order of the columns.
    pub(crate) entries: Vec<Entry>,
}

/// All repeats of one engine in one row.
pub(crate) struct Entry {
    pub(crate) engine: String,
    /// At least one.
    pub(crate) repeats: Vec<Measurement>,
}

impl Run {
    /// Reads the lines of a run, each part of which begins with its machine.
    ///
    /// # Errors
    /// If a line is none of the known ones, if there is no machine, or if two parts have measured
    /// the same workload.
    pub(crate) fn read(lines: impl BufRead) -> Result<Run> {
        let (mut parts, mut left_out, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (i, line) in lines.lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let at = |error: serde_json::Error| format!("line {}: {error}", i + 1);
            let value: Value = serde_json::from_str(&line).map_err(at)?;
            if value.get("cpu_model").is_some() {
                let machine = serde_json::from_value(value).map_err(at)?;
                parts.push(Part { machine, workloads: Vec::new() });
            } else if value.get("left_out").is_some() {
                left_out.push(serde_json::from_value(value).map_err(at)?);
            } else {
                let measurement: Measurement = serde_json::from_value(value).map_err(at)?;
                note(&mut parts, &measurement.workload)
                    .map_err(|error| format!("line {}: {error}", i + 1))?;
                add(&mut rows, measurement);
            }
        }
        if parts.is_empty() {
            return Err(NO_MACHINE.into());
        }
        // A run that went on may have measured a whole workload that was not asked for at first.
        left_out.retain(|left: &LeftOut| {
            !left.engine.is_empty() || rows.iter().all(|row: &Row| row.workload != left.workload)
        });
        let engines = columns(&rows);
        for row in &mut rows {
            let place = |entry: &Entry| engines.iter().position(|name| *name == entry.engine);
            row.entries.sort_by_key(place);
        }
        Ok(Run { parts, rows, engines, left_out })
    }

    /// Names of the workloads, in their order.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.workloads).map(String::as_str)
    }

    pub(crate) fn rows_of<'r>(&'r self, workload: &'r str) -> impl Iterator<Item = &'r Row> {
        self.rows.iter().filter(move |row| row.workload == workload)
    }

    /// What an engine did in a cell; in the first of `modes` in which it was measured.
    pub(crate) fn entry(
        &self,
        workload: &str,
        cell: &str,
        modes: &[&str],
        engine: &str,
    ) -> Option<&Entry> {
        modes.iter().find_map(|mode| {
            let mut rows = self
                .rows
                .iter()
                .filter(|row| row.workload == workload && row.cell == cell && row.mode == *mode);
            rows.find_map(|row| row.entry(engine))
        })
    }

    /// The rate of LMDB that a row is compared with, and in which mode it was: the row's own, or,
    /// for rows that need not be durable, the mode that promises less.
    pub(crate) fn lmdb<'r>(&'r self, row: &'r Row) -> Option<(Spread, &'r str)> {
        let modes: &[&str] = match row.mode.as_str() {
            "durable" => &["durable"],
            _ => &[&row.mode, "lazy", "unsynced"],
        };
        modes.iter().find_map(|mode| {
            let entry = self.entry(&row.workload, &row.cell, &[mode], "lmdb")?;
            Some((entry.rate()?, *mode))
        })
    }
}

impl Row {
    pub(crate) fn entry(&self, engine: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.engine == engine)
    }

    /// The highest median of a real engine.
    pub(crate) fn best(&self) -> Option<Spread> {
        let rates = self.entries.iter().filter(|entry| !is_floor(&entry.engine));
        rates.filter_map(Entry::rate).max_by(|a, b| a.median.total_cmp(&b.median))
    }
}

impl Entry {
    pub(crate) fn figure(&self, of: impl Fn(&Measurement) -> f64) -> Option<Spread> {
        Spread::of(self.repeats.iter().map(of))
    }

    /// Operations per second.
    pub(crate) fn rate(&self) -> Option<Spread> {
        self.figure(|m| m.operations as f64 / m.seconds)
    }

    /// A figure of all of the cell, for each operation.
    pub(crate) fn each(&self, of: impl Fn(&Measurement) -> f64) -> Option<Spread> {
        self.figure(|m| of(m) / m.operations as f64)
    }

    /// The repeat in the middle by rate.
    pub(crate) fn middle(&self) -> &Measurement {
        let mut repeats: Vec<&Measurement> = self.repeats.iter().collect();
        let rate = |m: &Measurement| m.operations as f64 / m.seconds;
        repeats.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        repeats[repeats.len() / 2]
    }
}

const NO_MACHINE: &str = "no line says on which machine this ran";

/// Notes that the last part has a workload.
fn note(parts: &mut [Part], workload: &str) -> Result<()> {
    let (last, before) = parts.split_last_mut().ok_or(NO_MACHINE)?;
    let has = |part: &Part| part.workloads.iter().any(|name| name == workload);
    if before.iter().any(has) {
        return Err(format!(
            "{workload} was measured in an earlier part too; what is compared must be of one"
        )
        .into());
    }
    if !has(last) {
        last.workloads.push(workload.to_owned());
    }
    Ok(())
}

fn add(rows: &mut Vec<Row>, measurement: Measurement) {
    let m = &measurement;
    let place = rows
        .iter()
        .position(|row| row.workload == m.workload && row.cell == m.cell && row.mode == m.mode);
    let place = place.unwrap_or_else(|| {
        let (workload, cell, mode) = (m.workload.clone(), m.cell.clone(), m.mode.clone());
        rows.push(Row { workload, cell, mode, entries: Vec::new() });
        rows.len() - 1
    });
    let entries = &mut rows[place].entries;
    match entries.iter_mut().find(|entry| entry.engine == measurement.engine) {
        Some(entry) => entry.repeats.push(measurement),
        None => {
            let engine = measurement.engine.clone();
            entries.push(Entry { engine, repeats: vec![measurement] });
        }
    }
}

fn columns(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in rows.iter().flat_map(|row| &row.entries) {
        if !names.contains(&entry.engine) {
            names.push(entry.engine.clone());
        }
    }
    let place = |name: &String| ORDER.iter().position(|known| known == name);
    // A stable sort: names that are not known keep their order, behind the known ones.
    names.sort_by_key(|name| place(name).unwrap_or(ORDER.len()));
    names
}
