//! What Huon is to reach, and whether it did. A target compares medians of one run. Those of its
//! LSM tables are in [`lsm`], those of durable commits by a journal in [`journal`].

mod journal;
mod lsm;

use super::figures::{Spread, bytes, nanoseconds, quantity, ratio};
use super::run::{Entry, Run};
use crate::record::Measurement;

/// How a target is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Met,
    Missed,
    NotMeasured,
}

/// A target, judged.
pub(crate) struct Judged {
    pub(crate) what: String,
    /// Huon's figure and the reference's as the page shows them, or a dash.
    pub(crate) huon: String,
    pub(crate) reference: String,
    pub(crate) ratio: String,
    pub(crate) wanted: String,
    pub(crate) stretch: bool,
    pub(crate) verdict: Verdict,
}

/// Workload and cell.
#[derive(Clone, Copy, PartialEq)]
struct Cell(&'static str, &'static str);

/// Modes, of which the first that was measured counts.
type Modes = &'static [&'static str];

/// An engine, in the modes in which it is compared.
type Peer = (&'static str, Modes);

/// What Huon's figure is compared with.
#[derive(Clone, Copy)]
enum Rule {
    /// Its rate is at least so many times that of the best of these in a cell.
    Peers(Cell, &'static [Peer]),
    /// The same of the processor's time for each operation, of which it takes less.
    Processor(&'static [Peer]),
    /// Its rate is at least so many times its own in another cell.
    Itself(Cell),
    /// Its file is at most so many times that of the first of these that was measured.
    File(Peer),
    /// The file is at the end at most so many times what it was at the first look.
    Growth,
    /// The file is at most so many times all keys and values.
    Space,
}

/// One line of the table of targets.
struct Target {
    /// Which of Huon's engines.
    engine: &'static str,
    cell: Cell,
    modes: Modes,
    rule: Rule,
    factor: f64,
    stretch: bool,
}

const fn target(cell: Cell, modes: Modes, rule: Rule, factor: f64) -> Target {
    Target { engine: "huon", cell, modes, rule, factor, stretch: false }
}

/// Huon beside peers in the same cell.
const fn peers(cell: Cell, modes: Modes, peers: &'static [Peer], factor: f64) -> Target {
    target(cell, modes, Rule::Peers(cell, peers), factor)
}

const fn stretch(target: Target) -> Target {
    Target { stretch: true, ..target }
}

/// Where durability does not matter.
const ANY: Modes = &["lazy", "unsynced", "durable"];
const DURABLE: Modes = &["durable"];
const LAZY: Modes = &["lazy"];

const LMDB: Peer = ("lmdb", ANY);
const LMDB_WM: Peer = ("lmdb-wm", ANY);
const LMDB_DURABLE: Peer = ("lmdb", DURABLE);
const LMDB_LAZY: Peer = ("lmdb", LAZY);
const MDBX_LAZY: Peer = ("mdbx", LAZY);
const LEVELDB: Peer = ("leveldb", ANY);
const LEVELDB_DURABLE: Peer = ("leveldb", DURABLE);
const BBOLT: Peer = ("bbolt", ANY);
const RAW_DURABLE: Peer = ("raw", DURABLE);

/// Every engine but the floors.
const ALL: &[Peer] = &[
    LMDB,
    LMDB_WM,
    ("mdbx", ANY),
    ("mdbx-wm", ANY),
    ("redb", ANY),
    ("canopydb", ANY),
    ("fjall", ANY),
    ("rocksdb", ANY),
    LEVELDB,
    ("sqlite", ANY),
    ("bdb", ANY),
    BBOLT,
];

/// All targets. Each names the cell, the modes it is judged in, what it is compared with, and how
/// many times that it is to be.
const TARGETS: &[Target] = &[
    peers(Cell("reads", "get, 1 thread"), ANY, &[LMDB], 1.9),
    peers(Cell("reads", "get, 2 threads"), ANY, &[LMDB], 1.9),
    peers(Cell("reads-10m", "get, 1 thread"), ANY, &[LMDB], 1.7),
    peers(Cell("reads-10m", "get, 2 threads"), ANY, &[LMDB], 1.7),
    peers(Cell("reads-text", "get, 1 thread"), ANY, &[LMDB], 1.2),
    against("reads", "get_many, 64 keys", "get, 1 thread", 4.0),
    against("reads-10m", "get_many, 64 keys", "get, 1 thread", 4.0),
    peers(Cell("reads", "get, a transaction each"), ANY, &[LMDB], 1.3),
    peers(Cell("reads", "scan"), ANY, &[LMDB, BBOLT], 1.3),
    peers(Cell("reads", "scan reverse"), ANY, &[LMDB, BBOLT], 1.3),
    against("reads", "scan by pages", "scan", 2.5),
    against("load", "scan by pages, packed", "scan, packed", 1.6),
    peers(Cell("reads", "ranges of 100"), ANY, &[LMDB], 1.3),
    peers(Cell("places", "first"), ANY, &[LMDB], 1.0),
    peers(Cell("places", "last"), ANY, &[LMDB], 1.0),
    peers(Cell("places", "at or above"), ANY, &[LMDB], 1.3),
    peers(Cell("places", "at or below"), ANY, &[LMDB], 1.3),
    peers(Cell("fixed", "begin and end a read transaction"), ANY, &[LMDB], 1.0),
    peers(Cell("fixed", "renew a read transaction"), ANY, &[LMDB], 0.5),
    peers(Cell("load", "load sequential"), ANY, &[LMDB_WM], 1.0),
    peers_of("load", "load in bulk", "load sequential", &[LMDB_WM], 1.5),
    peers(Cell("load", "load random"), LAZY, &[LMDB], 1.8),
    peers(Cell("load", "overwrite random"), LAZY, &[LMDB], 1.8),
    peers(Cell("load", "delete random"), LAZY, &[LMDB], 1.8),
    stretch(peers(Cell("load", "load random"), LAZY, &[LMDB_WM, LEVELDB], 1.0)),
    stretch(peers(Cell("load", "overwrite random"), LAZY, &[LMDB_WM, LEVELDB], 1.0)),
    stretch(peers(Cell("load", "delete random"), LAZY, &[LMDB_WM, LEVELDB], 1.0)),
    peers(Cell("commits", "put, 1 thread"), DURABLE, &[RAW_DURABLE], 0.85),
    peers(Cell("commits", "put, 1 thread"), DURABLE, &[LMDB_DURABLE], 1.9),
    stretch(peers(Cell("commits", "put, 1 thread"), DURABLE, &[LMDB_DURABLE], 2.0)),
    peers(Cell("commits", "put, 8 threads"), DURABLE, &[LEVELDB_DURABLE], 1.0),
    peers(Cell("commits", "put, 1 thread"), LAZY, &[LMDB_LAZY], 2.0),
    peers(Cell("commits", "put, 1 thread"), LAZY, &[MDBX_LAZY], 15.0),
    stretch(peers(Cell("commits", "put, 1 thread"), LAZY, &[LMDB_WM], 1.0)),
    peers(Cell("crud", "crud"), DURABLE, &[LMDB_DURABLE], 2.0),
    peers(Cell("crud", "crud"), LAZY, &[LMDB_LAZY], 1.5),
    peers(Cell("voiddb-256k", "put, a transaction each"), DURABLE, ALL, 1.5),
    peers(Cell("voiddb-256k", "get, second pass"), ANY, ALL, 1.0),
    peers(Cell("voiddb-256k", "next"), ANY, ALL, 1.0),
    peers(Cell("voiddb-16k", "get, second pass"), ANY, ALL, 1.0),
    peers(Cell("voiddb-16k", "next"), ANY, ALL, 1.0),
    peers(Cell("voiddb-1k", "get, second pass"), ANY, ALL, 1.0),
    peers(Cell("voiddb-1k", "next"), ANY, ALL, 1.0),
    peers(Cell("mixed", "gets beside a writer"), ANY, &[LMDB_WM], 1.2),
    peers(Cell("mixed", "puts beside a reader"), ANY, &[LMDB_WM], 1.0),
    flat(Cell("parked", "overwrite, a reader parked")),
    itself("parked", "overwrite, a reader parked", "overwrite, nobody parked", 0.9),
    itself("ageing", "get, aged", "get, fresh", 0.7),
    itself("ageing", "scan, aged", "scan, fresh", 0.7),
    itself("ageing", "put, aged", "put, fresh", 0.7),
    itself("ageing", "overwrite, aged", "overwrite, fresh", 0.7),
    size(Cell("load", "load random"), LMDB, 1.05),
    peers(Cell("fixed", "begin and abort a write transaction"), ANY, &[LMDB], 0.17),
    peers(Cell("series", "put side by side"), LAZY, &[LMDB], 1.2),
    size(Cell("series", "put side by side"), LMDB, 0.9),
];

/// The file does not grow by more than a tenth between the first and the last look.
const fn flat(cell: Cell) -> Target {
    target(cell, ANY, Rule::Growth, 1.1)
}

/// The file is at most so many times as large as that of a peer.
const fn size(cell: Cell, peer: Peer, factor: f64) -> Target {
    target(cell, ANY, Rule::File(peer), factor)
}

/// Huon beside itself in another cell.
const fn itself(
    workload: &'static str,
    cell: &'static str,
    other: &'static str,
    factor: f64,
) -> Target {
    target(Cell(workload, cell), ANY, Rule::Itself(Cell(workload, other)), factor)
}

/// Huon beside peers that do the same in a cell of another name.
const fn peers_of(
    workload: &'static str,
    cell: &'static str,
    other: &'static str,
    peers: &'static [Peer],
    factor: f64,
) -> Target {
    target(Cell(workload, cell), ANY, Rule::Peers(Cell(workload, other), peers), factor)
}

/// As `peers_of`, with LMDB.
const fn against(
    workload: &'static str,
    cell: &'static str,
    other: &'static str,
    factor: f64,
) -> Target {
    peers_of(workload, cell, other, &[LMDB], factor)
}

/// Judges every target.
pub(crate) fn judge(run: &Run) -> Vec<Judged> {
    let all = TARGETS.iter().chain(lsm::TARGETS).chain(journal::TARGETS);
    all.map(|target| target.judge(run)).collect()
}

/// Two figures that are compared, as numbers and as the page shows them.
struct Compared {
    huon: (f64, String),
    reference: (f64, String),
}

impl Target {
    fn judge(&self, run: &Run) -> Judged {
        let at_most = matches!(self.rule, Rule::File(_) | Rule::Growth | Rule::Space);
        let sign = if at_most { "<=" } else { ">=" };
        let mut judged = Judged {
            what: format!("{}{}: {}{}", self.of(), self.cell.0, self.cell.1, self.about()),
            huon: "-".to_string(),
            reference: "-".to_string(),
            ratio: "-".to_string(),
            wanted: format!("{sign} {}", ratio(self.factor)),
            stretch: self.stretch,
            verdict: Verdict::NotMeasured,
        };
        if let Some(compared) = self.compare(run) {
            let found = compared.huon.0 / compared.reference.0;
            let met = if at_most { found <= self.factor } else { found >= self.factor };
            judged.verdict = if met { Verdict::Met } else { Verdict::Missed };
            judged.ratio = ratio(found);
            (judged.huon, judged.reference) = (compared.huon.1, compared.reference.1);
        }
        judged
    }

    /// Which engine, if it is not the one that all others are of.
    fn of(&self) -> String {
        if self.engine == "huon" { String::new() } else { format!("{}, ", self.engine) }
    }

    /// What is not said by the cell.
    fn about(&self) -> String {
        let mode =
            if self.modes.len() == 1 { format!(", {}", self.modes[0]) } else { String::new() };
        match self.rule {
            Rule::File(_) => format!("{mode}, size of the file"),
            Rule::Growth => format!("{mode}, growth of the file"),
            Rule::Space => format!("{mode}, size of the file by that of the records"),
            Rule::Processor(_) => format!("{mode}, processor time"),
            Rule::Peers(_, [("huon", _)]) => format!("{mode}, beside huon"),
            Rule::Peers(..) | Rule::Itself(_) => mode,
        }
    }

    fn compare(&self, run: &Run) -> Option<Compared> {
        let huon = run.entry(self.cell.0, self.cell.1, self.modes, self.engine)?;
        match self.rule {
            Rule::Peers(cell, peers) => {
                let rates = peers.iter().filter_map(|(engine, modes)| {
                    let rate = run.entry(cell.0, cell.1, modes, engine)?.rate()?;
                    Some((rate.median, format!("{engine} {}", quantity(rate.median))))
                });
                let reference = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
                Some(Compared { huon: rate(huon)?, reference })
            }
            Rule::Processor(peers) => {
                let times = peers.iter().filter_map(|(engine, modes)| {
                    let time = seconds(run.entry(self.cell.0, self.cell.1, modes, engine)?)?;
                    Some((time, format!("{engine} {}", nanoseconds(time * 1e9))))
                });
                let least = times.min_by(|a, b| a.0.total_cmp(&b.0))?;
                let own = seconds(huon)?;
                // As rates: less is more.
                let reference = (1.0 / least.0, least.1);
                Some(Compared { huon: (1.0 / own, nanoseconds(own * 1e9)), reference })
            }
            Rule::Itself(cell) => {
                let other = run.entry(cell.0, cell.1, self.modes, self.engine)?.rate()?.median;
                let reference = (other, format!("{}: {}", cell.1, quantity(other)));
                Some(Compared { huon: rate(huon)?, reference })
            }
            Rule::File((engine, modes)) => {
                let own = file_bytes(huon)?;
                let other = file_bytes(run.entry(self.cell.0, self.cell.1, modes, engine)?)?;
                let reference = (other, format!("{engine} {}", bytes(other)));
                Some(Compared { huon: (own, bytes(own)), reference })
            }
            Rule::Space => {
                let all = |m: &Measurement| m.records as f64 * (m.key_bytes + m.value_bytes) as f64;
                let (own, all) = (file_bytes(huon)?, huon.figure(all)?.median);
                let reference = (all, format!("records {}", bytes(all)));
                Some(Compared { huon: (own, bytes(own)), reference })
            }
            Rule::Growth => {
                let (_, first) = *huon.middle().series.first()?;
                let (_, last) = *huon.middle().series.last()?;
                let reference = (first, format!("at first {}", bytes(first)));
                Some(Compared { huon: (last, bytes(last)), reference })
            }
        }
    }
}

fn file_bytes(entry: &Entry) -> Option<f64> {
    Some(entry.figure(|m| m.file_bytes as f64)?.median)
}

/// The processor's time for an operation.
fn seconds(entry: &Entry) -> Option<f64> {
    let each = entry.each(|m| m.user_seconds + m.system_seconds)?;
    (each.median > 0.0).then_some(each.median)
}

fn rate(entry: &Entry) -> Option<(f64, String)> {
    let rate: Spread = entry.rate()?;
    Some((rate.median, quantity(rate.median)))
}
