//! What durable commits by a journal are to reach, beside stores that have a log, the disk itself,
//! and the same commits without one.

use super::{Cell, DURABLE, LEVELDB_DURABLE, Peer, RAW_DURABLE, Rule, Target, target};

const FJALL: Peer = ("fjall", DURABLE);
const HUON: Peer = ("huon", DURABLE);

const ONE: Cell = Cell("commits", "put, 1 thread");
const TWO: Cell = Cell("commits", "put, 2 threads");
const EIGHT: Cell = Cell("commits", "put, 8 threads");
const CRUD: Cell = Cell("crud", "crud");
const INSERT: Cell = Cell("lsmdb", "insert");

pub(super) const TARGETS: &[Target] = &[
    beside(ONE, &[RAW_DURABLE], 0.92),
    beside(ONE, &[FJALL], 0.9),
    beside(EIGHT, &[LEVELDB_DURABLE], 1.4),
    beside(CRUD, &[FJALL], 0.9),
    beside(INSERT, &[HUON], 2.0),
    // No slower than without one.
    beside(ONE, &[HUON], 1.0),
    beside(TWO, &[HUON], 1.0),
    beside(EIGHT, &[HUON], 1.0),
    beside(CRUD, &[HUON], 1.0),
    beside(Cell("dbbench", "fillseqsync"), &[HUON], 1.0),
    beside(Cell("dbbench", "fillrandsync"), &[HUON], 1.0),
    beside(Cell("voiddb-16k", "put, a transaction each"), &[HUON], 1.0),
    beside(Cell("voiddb-1k", "put, a transaction each"), &[HUON], 1.0),
];

/// Durable commits by a journal, beside peers in the same cell.
const fn beside(cell: Cell, peers: &'static [Peer], factor: f64) -> Target {
    Target { engine: "huon-journal", ..target(cell, DURABLE, Rule::Peers(cell, peers), factor) }
}
