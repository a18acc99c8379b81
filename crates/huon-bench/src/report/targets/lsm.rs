//! What Huon's LSM tables are to reach beside LSM trees, and beside its ordinary tables.
//!
//! What the others still owe is in none of their figures, since not all can be waited for: that
//! flatters them.

use super::{ANY, Cell, DURABLE, LAZY, Modes, Peer, Rule, Target, peers, target};

const LEVELDB_FJALL: &[Peer] = &[("leveldb", ANY), ("fjall", ANY)];
const FJALL: &[Peer] = &[("fjall", LAZY)];
const HUON: &[Peer] = &[("huon", ANY)];
const TREES: &[Peer] = &[("leveldb", LAZY), ("fjall", LAZY), ("rocksdb", LAZY)];
const TREES_DURABLE: &[Peer] = &[("leveldb", DURABLE), ("fjall", DURABLE), ("rocksdb", DURABLE)];
const TREES_AND_LMDB: &[Peer] =
    &[("leveldb", LAZY), ("fjall", LAZY), ("rocksdb", LAZY), ("lmdb-wm", LAZY)];

const INSERT: Cell = Cell("lsmdb", "insert");
const LOADED: Cell = Cell("load-10m", "load, with all debt");
const OVERWRITTEN: Cell = Cell("overwrite", "overwrite, with all debt");
const ONE: Cell = Cell("commits", "put, 1 thread");
const FOUR: Cell = Cell("commits", "put, 4 threads");

pub(super) const TARGETS: &[Target] = &[
    lsm(peers(INSERT, DURABLE, TREES_DURABLE, 2.0)),
    lsm(target(INSERT, DURABLE, Rule::Processor(TREES_DURABLE), 3.0)),
    beside(LOADED, LAZY, "load, synced", TREES_AND_LMDB, 2.0),
    beside(OVERWRITTEN, LAZY, "overwrite, synced", TREES, 1.0),
    beside(OVERWRITTEN, LAZY, "overwrite, synced", HUON, 10.0),
    lsm(peers(ONE, LAZY, FJALL, 0.7)),
    lsm(peers(FOUR, LAZY, FJALL, 1.0)),
    loaded("get, 1 thread", "get, 1 thread", 2.0),
    loaded("get absent", "get absent", 2.0),
    // Neither of the two has it.
    loaded("get_many, 64 keys", "get, 1 thread", 2.0),
    loaded("ranges of 100", "ranges of 100", 1.0),
    loaded("scan", "scan", 2.0),
    compacted("get, 1 thread"),
    compacted("get absent"),
    compacted("get_many, 64 keys"),
    compacted("ranges of 100"),
    compacted("scan"),
    lsm(target(LOADED, LAZY, Rule::Space, 1.6)),
    lsm(target(Cell("load-10m", "load, with all debt, then idle"), LAZY, Rule::Space, 1.6)),
    lsm(target(OVERWRITTEN, LAZY, Rule::Space, 1.6)),
    lsm(target(Cell("overwrite", "overwrite, with all debt, then idle"), LAZY, Rule::Space, 1.6)),
];

/// The same of LSM tables, with threads that merge.
const fn lsm(target: Target) -> Target {
    Target { engine: "huon-lsm", ..target }
}

/// Beside peers in another cell of the same workload.
const fn beside(
    cell: Cell,
    modes: Modes,
    other: &'static str,
    peers: &'static [Peer],
    factor: f64,
) -> Target {
    lsm(target(cell, modes, Rule::Peers(Cell(cell.0, other), peers), factor))
}

/// Reads of what lies as it was loaded, beside the same of others.
const fn loaded(cell: &'static str, other: &'static str, factor: f64) -> Target {
    beside(Cell("reads-loaded", cell), ANY, other, LEVELDB_FJALL, factor)
}

/// Reads of one run, beside those of an ordinary table.
const fn compacted(cell: &'static str) -> Target {
    lsm(peers(Cell("reads", cell), ANY, HUON, 0.9))
}
