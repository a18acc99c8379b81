//! What the peers did when they were measured first, each with the options of its driver: 1 M
//! records of 16 and 100 bytes on a virtual machine of 2 cores. A peer that falls far behind its
//! ratio of then is likely to be driven badly, and is flagged.

use super::run::Run;

/// Below this share of its known ratio to LMDB a peer is flagged.
const SHARE: f64 = 0.8;

/// Engines and modes of the columns below; LMDB first, whose rates the others are compared with.
/// SQLite ran without any flush, LMDB and bbolt as well.
const COLUMNS: [(&str, &str); 13] = [
    ("lmdb", "lazy"),
    ("lmdb-wm", "lazy"),
    ("mdbx", "lazy"),
    ("mdbx-wm", "lazy"),
    ("mdbx", "unsynced"),
    ("mdbx-wm", "unsynced"),
    ("redb", "lazy"),
    ("canopydb", "lazy"),
    ("sqlite", "lazy"),
    ("bbolt", "lazy"),
    ("rocksdb", "lazy"),
    ("leveldb", "lazy"),
    ("fjall", "lazy"),
];

/// As `COLUMNS`, where every commit is durable.
const DURABLE_COLUMNS: [(&str, &str); 11] = [
    ("lmdb", "durable"),
    ("lmdb-wm", "durable"),
    ("mdbx", "durable"),
    ("mdbx-wm", "durable"),
    ("redb", "durable"),
    ("canopydb", "durable"),
    ("sqlite", "durable"),
    ("bbolt", "durable"),
    ("rocksdb", "durable"),
    ("leveldb", "durable"),
    ("fjall", "durable"),
];

/// A cell and its thousands of operations per second in the order of the columns; 0: not measured.
struct Known<const N: usize> {
    workload: &'static str,
    cell: &'static str,
    rates: [f64; N],
}

const fn known<const N: usize>(
    workload: &'static str,
    cell: &'static str,
    rates: [f64; N],
) -> Known<N> {
    Known { workload, cell, rates }
}

#[rustfmt::skip]
const KNOWN: [Known<13>; 16] = [
    known("load", "load sequential",
        [4800., 5310., 3210., 4330., 2530., 5370., 1400., 1120., 785., 1310., 1280., 2160., 1420.]),
    known("load", "load random",
        [335., 688., 66., 84., 267., 515., 194., 250., 111., 120., 296., 652., 616.]),
    known("load", "overwrite random",
        [260., 613., 58., 85., 250., 453., 160., 176., 119., 109., 285., 644., 558.]),
    known("load", "delete random",
        [250., 621., 51., 75., 199., 434., 156., 171., 132., 128., 296., 599., 557.]),
    known("reads", "get, 1 thread",
        [1070., 1060., 898., 754., 824., 788., 914., 980., 608., 916., 371., 568., 346.]),
    known("reads", "get, 2 threads",
        [1900., 2240., 923., 1550., 1720., 1590., 1580., 1630., 799., 1920., 726., 969., 679.]),
    known("reads", "get absent",
        [1010., 1040., 824., 735., 798., 759., 1190., 1600., 698., 0., 2100., 1590., 2250.]),
    known("reads", "get, a transaction each",
        [1040., 1000., 699., 663., 692., 663., 598., 686., 299., 619., 354., 557., 339.]),
    known("reads", "scan",
        [26000., 23100., 19500., 15300., 17600., 15700., 10900., 10300., 5430., 30800., 5040.,
         11500., 4900.]),
    known("reads", "scan reverse",
        [29600., 27100., 22900., 17800., 21000., 18400., 10600., 11100., 5410., 22000., 3530.,
         4730., 4150.]),
    known("reads", "ranges of 100",
        [264., 248., 175., 142., 171., 147., 102., 86., 50., 273., 44., 84., 39.]),
    known("commits", "put, 1 thread",
        [260., 793., 27., 22., 205., 398., 65., 294., 65., 56., 210., 468., 498.]),
    known("crud", "crud",
        [94., 263., 16., 13., 96., 102., 31., 139., 30., 24., 54., 118., 107.]),
    known("fixed", "begin and end a read transaction",
        [10638., 10753., 5882., 5102., 5348., 5155., 1961., 3322., 5000., 2625., 8403., 16129.,
         10204.]),
    known("reads-10m", "get, 1 thread",
        [697., 659., 0., 0., 0., 533., 0., 491., 0., 0., 241., 336., 0.]),
    known("reads-10m", "scan",
        [19700., 18900., 0., 0., 0., 11400., 0., 9740., 0., 0., 4890., 10300., 0.]),
];

#[rustfmt::skip]
const KNOWN_DURABLE: [Known<11>; 4] = [
    known("commits", "put, 1 thread",
        [3.82, 3.86, 3.95, 3.00, 5.47, 8.50, 7.01, 4.22, 5.86, 6.02, 9.03]),
    known("commits", "put, 2 threads",
        [3.85, 3.61, 3.78, 2.72, 4.89, 7.24, 5.46, 3.37, 5.77, 6.46, 8.32]),
    known("commits", "put, 8 threads",
        [3.91, 3.79, 3.70, 2.89, 5.16, 8.09, 3.50, 3.56, 20.0, 22.0, 8.48]),
    known("crud", "crud",
        [3.78, 3.59, 3.77, 2.83, 4.74, 7.88, 6.75, 3.75, 5.03, 5.74, 8.34]),
];

/// A peer that is slower than it is known to be.
pub(crate) struct Flag {
    pub(crate) engine: String,
    pub(crate) cell: String,
    /// Ratio to LMDB in this run.
    pub(crate) now: f64,
    pub(crate) known: f64,
}

/// Every peer that falls below its known ratio to LMDB by more than it may.
pub(crate) fn slow(run: &Run) -> Vec<Flag> {
    let mut flags = Vec::new();
    for known in &KNOWN {
        compare(run, known, &COLUMNS, &mut flags);
    }
    for known in &KNOWN_DURABLE {
        compare(run, known, &DURABLE_COLUMNS, &mut flags);
    }
    flags
}

fn compare<const N: usize>(
    run: &Run,
    known: &Known<N>,
    columns: &[(&str, &str); N],
    flags: &mut Vec<Flag>,
) {
    let rate = |engine: &str, mode: &str| {
        let entry = run.entry(known.workload, known.cell, &[mode], engine)?;
        entry.rate().map(|rate| rate.median)
    };
    let Some(lmdb) = rate(columns[0].0, columns[0].1) else { return };
    for ((engine, mode), known_rate) in columns.iter().zip(known.rates).skip(1) {
        let Some(now) = rate(engine, mode).map(|rate| rate / lmdb) else { continue };
        let known_ratio = known_rate / known.rates[0];
        if now < SHARE * known_ratio {
            let cell = format!("{}: {}, {mode}", known.workload, known.cell);
            flags.push(Flag { engine: engine.to_string(), cell, now, known: known_ratio });
        }
    }
}
