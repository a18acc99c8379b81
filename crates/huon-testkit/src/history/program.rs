//! Random programs: lists of operations made from a seed before anything runs, so that parts of
//! them can be left out.
//!
//! Every operation means something in every state: what cannot work is expected to be refused.

use std::ops::Bound;

pub use crate::history::generate::{make, make_with};
use crate::model::{KeyOrder, TableId, Values};
use crate::support::random::Random;
use crate::support::shrink;

/// How a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `put`.
    Put,
    /// `insert_new`.
    InsertNew,
    /// `update`.
    Update,
    /// `append`.
    Append,
    /// `replace`.
    Replace,
    /// `reserve`.
    Reserve,
}

/// A value: so many bytes, made from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Length in bytes.
    pub bytes: usize,
    /// What they are made from.
    pub seed: u64,
}

impl Value {
    /// The bytes.
    pub fn make(self) -> Vec<u8> {
        let mut random = Random::new(self.seed);
        let mut out = Vec::with_capacity(self.bytes + 8);
        while out.len() < self.bytes {
            out.extend_from_slice(&random.next().to_le_bytes());
        }
        out.truncate(self.bytes);
        out
    }
}

/// What is done with a pair of a multimap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairHow {
    /// `insert`.
    Insert,
    /// `insert_new`.
    InsertNew,
    /// `append`.
    Append,
    /// `set`.
    Set,
    /// `remove`.
    Remove,
}

/// Where a scan is moved.
#[derive(Clone, Debug)]
pub enum Goal {
    /// Before the first record.
    Start,
    /// Behind the last record.
    End,
    /// Before a key.
    Before(Vec<u8>),
    /// Behind a key.
    After(Vec<u8>),
    /// In a multimap: before a pair.
    BeforePair(Vec<u8>, Vec<u8>),
    /// In a multimap: behind a pair.
    AfterPair(Vec<u8>, Vec<u8>),
    /// In a multimap: behind the values of the key at hand.
    SkipKey,
    /// In a multimap: before the values of the key at hand.
    SkipKeyBack,
}

/// How a transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// With what it is to wait for.
    Name,
    /// As the environment was opened.
    Opening,
    /// With a ticket, which waits.
    Ticket,
}

/// How an environment is closed and opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopening {
    /// As it was at first.
    Same,
    /// With commits that leave the last step to the next flush, unless they say otherwise.
    NoMetaSync,
    /// Lazy, likewise; with checkpoints now and then.
    Lazy,
    /// The same, and never flushed, not even by closing.
    Unsynced,
    /// Closed without a flush.
    Dirty,
    /// For reading only, and once more then.
    ReadOnly,
    /// Alone, if it is.
    Exclusive,
}

/// A change of the limits of the file's length, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// As long as the address space.
    Room,
    /// So much longer than what is in use.
    Tight(u64),
    /// So much shorter than what is in use.
    Short(u64),
    /// The minimum size, and bytes that are no page.
    Minimum(u64),
    /// The growth step.
    Grow(u64),
    /// The shrink threshold.
    Shrink(u64),
    /// Longer than the address space: refused.
    TooLong,
    /// A maximum size below the minimum one: refused.
    Reversed,
}

/// What a client says of slow readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It is not asked.
    #[default]
    None,
    /// Evicts what is parked, and waits a little for the others.
    Evict,
    /// Looks again once, then gives up.
    GiveUp,
}

/// One operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Op {
    // What a write transaction is made of.
    Begin {
        client: u8,
    },
    Commit {
        lazy: bool,
        by: By,
    },
    Abort,
    NestBegin,
    NestEnd {
        commit: bool,
    },
    Savepoint {
        name: u8,
    },
    RollBack {
        name: u8,
    },
    Release {
        name: u8,
    },
    // Changes.
    Write {
        how: How,
        table: TableId,
        key: Vec<u8>,
        value: Value,
    },
    Fill {
        table: TableId,
        first: u64,
        count: u64,
        step: u64,
        bytes: usize,
    },
    Take {
        table: TableId,
        key: Vec<u8>,
    },
    Delete {
        table: TableId,
        key: Vec<u8>,
    },
    DeleteRange {
        table: TableId,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    },
    Clear {
        table: TableId,
    },
    Create {
        table: TableId,
    },
    Drop {
        table: TableId,
    },
    Rename {
        table: TableId,
    },
    Build {
        table: TableId,
        count: u64,
        bytes: usize,
    },
    /// `update_if` or, without a new value, `delete_if`; `right`: of the value that is there.
    IfValue {
        table: TableId,
        key: Vec<u8>,
        right: bool,
        new: Option<Value>,
    },
    Sequence {
        table: TableId,
        count: u64,
    },
    Markers {
        values: [u64; 3],
        touch: bool,
    },
    /// Between transactions: in one of its own.
    Limit {
        limit: Limit,
    },
    // Changes of multimaps only.
    Pair {
        how: PairHow,
        table: TableId,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Pour {
        table: TableId,
        key: Vec<u8>,
        first: u64,
        count: u64,
        step: u64,
        take: bool,
    },
    RemoveAll {
        table: TableId,
        key: Vec<u8>,
    },
    InsertMany {
        table: TableId,
        key: Vec<u8>,
        values: Vec<Vec<u8>>,
    },
    /// `update` or, of whatever value is the only one, `update_with`.
    Exchange {
        table: TableId,
        key: Vec<u8>,
        old: Option<Vec<u8>>,
        new: Vec<u8>,
    },
    // Looking.
    Get {
        table: TableId,
        key: Vec<u8>,
    },
    GetMany {
        table: TableId,
        keys: Vec<Vec<u8>>,
    },
    Leaves {
        table: TableId,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        ends: u64,
    },
    Range {
        table: TableId,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        ends: u64,
    },
    Prefix {
        table: TableId,
        key: Vec<u8>,
        back: bool,
    },
    Whole {
        table: TableId,
    },
    Held {
        table: TableId,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Values {
        table: TableId,
        key: Vec<u8>,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        ends: u64,
    },
    Batches {
        table: TableId,
        key: Vec<u8>,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        ends: u64,
    },
    Estimate {
        table: TableId,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    },
    // Detached scans.
    ScanOpen {
        scan: u8,
        table: TableId,
    },
    ScanMove {
        scan: u8,
        goal: Goal,
    },
    ScanStep {
        scan: u8,
        back: bool,
        steps: u8,
        reader: bool,
    },
    // Readers and clients. A third client, the guest, may not write and only pins.
    Pin {
        client: u8,
    },
    Unpin {
        reader: u8,
    },
    Verify {
        reader: u8,
    },
    Renew {
        reader: u8,
    },
    Park {
        reader: u8,
    },
    Unpark {
        reader: u8,
        or_newest: bool,
    },
    /// `early`: also where the file could grow.
    SlowReaders {
        client: u8,
        answer: Answer,
        early: bool,
    },
    // Named snapshots; between transactions, each in one of its own.
    NameSnapshot {
        client: u8,
        name: u8,
        lazy: bool,
    },
    DropSnapshot {
        client: u8,
        name: u8,
        lazy: bool,
    },
    ReadSnapshot {
        client: u8,
        name: u8,
    },
    Sync {
        client: u8,
    },
    Reopen {
        client: u8,
        how: Reopening,
    },
    Second,
    Kill,
    PowerLoss {
        seed: u64,
    },
}

impl Op {
    /// Whether it means the same in any transaction.
    pub(crate) fn only_looks(&self) -> bool {
        use Op::{Batches, Estimate, Get, GetMany, Held, Leaves, Prefix, Range, Values, Whole};
        use Op::{ScanMove, ScanOpen, ScanStep};
        let records = matches!(self, Get { .. } | GetMany { .. } | Leaves { .. });
        let pairs = matches!(self, Held { .. } | Values { .. } | Batches { .. });
        let both = matches!(self, Range { .. } | Prefix { .. } | Whole { .. } | Estimate { .. });
        let scans = matches!(self, ScanOpen { .. } | ScanMove { .. } | ScanStep { .. });
        records || pairs || both || scans
    }
}

/// What a program runs on.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Page size.
    pub page_bytes: usize,
    /// Limit of buffered pages before a transaction spills, in bytes.
    pub write_buffer_bytes: usize,
    /// Real files instead of a simulated machine.
    pub real: bool,
    /// How many different keys a table may get.
    pub keys: u64,
    /// Free tails of this size are given back; 0: never.
    pub shrink_bytes: u64,
    /// Durable commits by a journal.
    pub journal: bool,
    /// Operations of the program.
    pub ops_count: usize,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it runs on.
    pub config: Config,
    /// What it does.
    pub ops: Vec<Op>,
}

impl shrink::Program for Program {
    type Op = Op;

    fn ops(&mut self) -> &mut Vec<Op> {
        &mut self.ops
    }
}

/// How many scans a program has.
pub const SCANS: u8 = 8;

/// How many names of snapshots a program has.
pub const SNAPSHOTS: u8 = 3;

/// How many names of savepoints a program has.
pub const SAVEPOINTS: u8 = 3;

/// Key number `n` of a table: every shape that has ever been trouble.
pub fn key(order: KeyOrder, page_bytes: usize, n: u64) -> Vec<u8> {
    let mixed = Random::new(n).next();
    match order {
        KeyOrder::NativeU32 => return ((mixed as u32) >> (n % 3 * 8)).to_le_bytes().to_vec(),
        KeyOrder::NativeU64 => return (mixed >> (n % 5 * 12)).to_le_bytes().to_vec(),
        _ => {}
    }
    let max = (page_bytes - 32) / 2 - 10;
    let long = |fill: u8, bytes: usize| {
        let mut key = vec![fill; bytes];
        let number = (n as u32).to_be_bytes();
        let at = bytes - 4 - (mixed as usize % 3).min(bytes - 4);
        key[at..at + 4].copy_from_slice(&number);
        key
    };
    match n % 16 {
        0 => vec![0; (n / 16 % 9) as usize],
        1 => vec![0xFF; (n / 16 % 9) as usize + 1],
        2 => long(b'm', max),
        3 => long(b'h', max / 2),
        4 => [&[0xFF; 7][..], &[mixed as u8, n as u8]].concat(),
        5 => [&[0; 5][..], &[mixed as u8]].concat(),
        6 | 7 => (mixed as u32).to_be_bytes()[..1 + n as usize / 16 % 4].to_vec(),
        8 => long(0, max - 1),
        9 => long(0xFF, (max / 3).max(5)),
        10 | 11 => format!("user/{:06}", mixed % 100_000).into_bytes(),
        12 => n.to_be_bytes().to_vec(),
        13 => mixed.to_be_bytes()[..(n / 16 % 9) as usize].to_vec(),
        _ => format!("shared/prefix/of/some/length/{n}").into_bytes(),
    }
}

/// Value number `n` of a multimap: keys of their own tree have the same shapes.
pub fn value(values: Values, page_bytes: usize, n: u64) -> Vec<u8> {
    match values.equal_bytes {
        Some(bytes) if values.order.key_bytes().is_none() => {
            let bytes = if bytes == 0 { 7 } else { bytes as usize };
            // Neighbours differ at either end, and some in between.
            let mut value = Random::new(n).next().to_be_bytes().repeat(3);
            value[..2].copy_from_slice(&(n as u16 / 4).to_be_bytes());
            value[bytes - 1] = n as u8;
            value.truncate(bytes);
            value
        }
        // With the largest pages many long values would fill the file.
        _ => key(values.order, page_bytes.min(8192), n),
    }
}
