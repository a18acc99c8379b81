//! Random programs: lists of operations made from a seed before anything runs, so that parts of
//! them can be left out.
//!
//! Every operation means something in every state: what cannot work is expected to be refused.

use std::ops::Bound;

use crate::model::{KeyOrder, TableId, Values};
use crate::random::Random;

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
}

/// One operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Op {
    // What a write transaction is made of.
    Begin { client: u8 },
    Commit { lazy: bool },
    Abort,
    NestBegin,
    NestEnd { commit: bool },
    // Changes.
    Write { how: How, table: TableId, key: Vec<u8>, value: Value },
    Fill { table: TableId, first: u64, count: u64, step: u64, bytes: usize },
    Take { table: TableId, key: Vec<u8> },
    Delete { table: TableId, key: Vec<u8> },
    DeleteRange { table: TableId, from: Bound<Vec<u8>>, to: Bound<Vec<u8>> },
    Clear { table: TableId },
    Create { table: TableId },
    Drop { table: TableId },
    Rename { table: TableId },
    Build { table: TableId, count: u64, bytes: usize },
    // Changes of multimaps only.
    Pair { how: PairHow, table: TableId, key: Vec<u8>, value: Vec<u8> },
    Pour { table: TableId, key: Vec<u8>, first: u64, count: u64, step: u64, take: bool },
    RemoveAll { table: TableId, key: Vec<u8> },
    // Looking.
    Get { table: TableId, key: Vec<u8> },
    GetMany { table: TableId, keys: Vec<Vec<u8>> },
    Leaves { table: TableId, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>, ends: u64 },
    Range { table: TableId, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>, ends: u64 },
    Prefix { table: TableId, key: Vec<u8>, back: bool },
    Whole { table: TableId },
    Held { table: TableId, key: Vec<u8>, value: Vec<u8> },
    Values { table: TableId, key: Vec<u8>, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>, ends: u64 },
    // Detached scans.
    ScanOpen { scan: u8, table: TableId },
    ScanMove { scan: u8, goal: Goal },
    ScanStep { scan: u8, back: bool, steps: u8, reader: bool },
    // Readers and clients.
    Pin { client: u8 },
    Unpin { reader: u8 },
    Verify { reader: u8 },
    Sync { client: u8 },
    Reopen { client: u8 },
    Second,
    Kill,
    PowerCut { seed: u64 },
}

/// What a program runs on.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Page size.
    pub page_bytes: usize,
    /// Limit of buffered pages before a transaction spills, in bytes.
    pub spill_bytes: usize,
    /// Real files instead of a simulated machine.
    pub real: bool,
    /// How many different keys a table may get.
    pub keys: u64,
    /// Free tails of this size are given back; 0: never.
    pub shrink_bytes: u64,
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

/// How many scans a program has.
pub const SCANS: u8 = 6;

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

struct Maker {
    random: Random,
    config: Config,
    ops: Vec<Op>,
    /// How many tables the program concentrates on, from here.
    favourites: Vec<TableId>,
    /// More deletes than inserts.
    shrinking: bool,
}

/// The program of a seed.
pub fn make(seed: u64, config: Config) -> Program {
    make_with(Random::new(seed), config)
}

/// The program that comes of these choices.
pub fn make_with(mut random: Random, config: Config) -> Program {
    let (plain, multis): (Vec<TableId>, Vec<TableId>) =
        TableId::all().partition(|id| id.values().is_none());
    let favourites = (0..3)
        .map(|_| if random.chance(25) { random.pick(&multis) } else { random.pick(&plain) })
        .collect();
    let mut maker = Maker { random, config, ops: Vec::new(), favourites, shrinking: false };
    while maker.ops.len() < config.ops_count {
        maker.transaction();
        maker.between();
    }
    Program { config, ops: maker.ops }
}

impl Maker {
    fn transaction(&mut self) {
        if self.random.chance(15) {
            self.shrinking = !self.shrinking;
        }
        let client = u8::from(self.random.chance(20));
        self.ops.push(Op::Begin { client });
        let length = match self.random.below(10) {
            0 => 0,
            1..=5 => 1 + self.random.below(8),
            6..=8 => 5 + self.random.below(30),
            _ => 30 + self.random.below(100),
        };
        let mut depth = 0;
        for _ in 0..length {
            match self.random.below(100) {
                0..=4 if depth < 3 => {
                    depth += 1;
                    self.ops.push(Op::NestBegin);
                }
                5..=12 if depth > 0 => {
                    depth -= 1;
                    let commit = self.random.chance(60);
                    self.ops.push(Op::NestEnd { commit });
                }
                13..=14 => self.reader(),
                _ => self.inside(),
            }
        }
        for _ in 0..depth {
            let commit = self.random.chance(70);
            self.ops.push(Op::NestEnd { commit });
        }
        match self.random.below(10) {
            0 => self.ops.push(Op::Abort),
            n => self.ops.push(Op::Commit { lazy: n < 6 }),
        }
    }

    fn between(&mut self) {
        for _ in 0..self.random.below(4) {
            self.reader();
        }
        let client = u8::from(self.random.chance(30));
        match self.random.below(100) {
            0..=5 => self.ops.push(Op::Sync { client }),
            6..=8 => self.ops.push(Op::Reopen { client }),
            9..=11 => self.ops.push(Op::Second),
            12..=13 => self.ops.push(Op::Kill),
            14..=15 => {
                let seed = self.random.next();
                self.ops.push(Op::PowerCut { seed });
            }
            16..=40 => self.scan(),
            41..=48 => {
                let op = self.many();
                self.ops.push(op);
            }
            49..=56 => {
                let op = self.leaves();
                self.ops.push(op);
            }
            _ => {}
        }
    }

    fn reader(&mut self) {
        let reader = self.random.below(4) as u8;
        let client = u8::from(self.random.chance(30));
        let op = match self.random.below(10) {
            0..=3 => Op::Pin { client },
            4..=6 => Op::Unpin { reader },
            _ => Op::Verify { reader },
        };
        self.ops.push(op);
    }

    fn table(&mut self) -> TableId {
        match self.random.chance(85) {
            true => self.favourites[self.random.index(self.favourites.len())],
            false => TableId(self.random.below(u64::from(TableId::END)) as u8),
        }
    }

    /// A table with one value a key.
    fn plain(&mut self) -> TableId {
        let table = self.table();
        if table.values().is_none() { table } else { TableId(table.0 % TableId::MULTI) }
    }

    fn key(&mut self, table: TableId) -> Vec<u8> {
        let n = match self.random.chance(70) {
            true => self.random.below(self.config.keys),
            // Neighbours of each other.
            false => self.random.below(self.config.keys / 8 + 1),
        };
        let odd = self.random.below(400);
        match odd {
            0 => vec![7; (self.config.page_bytes - 32) / 2 - 9],
            1 if table.is_main() => {
                TableId(2 + self.random.below(u64::from(TableId::END) - 2) as u8).name()
            }
            2 => vec![9; self.random.index(12)],
            _ => key(table.order(), self.config.page_bytes, n),
        }
    }

    fn value(&mut self, key: &[u8]) -> Value {
        let page = self.config.page_bytes;
        let inline = ((page - 32) / 2).saturating_sub(12 + key.len());
        let bytes = match self.random.below(40) {
            0..=3 => 0,
            4..=5 => 1,
            6..=8 => (inline + self.random.index(3)).saturating_sub(1),
            9 => page / 2 + self.random.index(3) - 1,
            10 => page + self.random.index(3) - 1,
            11 => 3 * page - self.random.index(3),
            12 => 24 + self.random.index(3) - 1,
            _ => self.random.index(page.min(4096) / 8 + 2),
        };
        Value { bytes, seed: self.random.next() }
    }

    fn bound(&mut self, table: TableId) -> Bound<Vec<u8>> {
        let key = self.key(table);
        match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    fn inside(&mut self) {
        let table = self.table();
        if let Some(values) = table.values() {
            let op = self.inside_multi(table, values);
            return self.ops.push(op);
        }
        let key = self.key(table);
        let kind = self.random.below(100);
        let op = match kind {
            0..=47 if !(self.shrinking && self.random.chance(60)) => {
                let value = self.value(&key);
                let how = match self.random.below(16) {
                    0 | 1 => How::InsertNew,
                    2 | 3 => How::Update,
                    4 => How::Append,
                    5 | 6 => How::Replace,
                    7 | 8 => How::Reserve,
                    _ => How::Put,
                };
                Op::Write { how, table, key, value }
            }
            0..=56 => Op::Delete { table, key },
            57..=59 => Op::Take { table, key },
            60..=63 => self.fill(table),
            64..=67 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::DeleteRange { table, from, to }
            }
            68 if self.random.chance(40) => Op::Clear { table },
            69 if self.random.chance(40) => Op::Drop { table },
            70 if self.random.chance(60) => Op::Rename { table },
            71 => Op::Build {
                table,
                count: self.random.below(60),
                bytes: self.random.index(self.config.page_bytes / 4),
            },
            72..=75 => Op::Create { table },
            76..=79 => Op::Get { table, key },
            80..=83 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::Range { table, from, to, ends: self.random.next() }
            }
            84 => {
                let length = self.random.index(key.len().min(6) + 1);
                Op::Prefix { table, key: key[..length].to_vec(), back: self.random.chance(50) }
            }
            85 => Op::Whole { table },
            86 | 87 => self.many(),
            88..=90 => self.leaves(),
            _ => return self.scan(),
        };
        self.ops.push(op);
    }

    fn inside_multi(&mut self, table: TableId, values: Values) -> Op {
        let key = self.multi_key(table);
        let value = self.pair_value(values);
        match self.random.below(100) {
            0..=33 if !(self.shrinking && self.random.chance(70)) => {
                let how = match self.random.below(16) {
                    0 | 1 => PairHow::InsertNew,
                    2 => PairHow::Append,
                    3 => PairHow::Set,
                    _ => PairHow::Insert,
                };
                Op::Pair { how, table, key, value }
            }
            0..=42 => Op::Pair { how: PairHow::Remove, table, key, value },
            43..=56 => self.pour(table, key),
            57..=58 => Op::RemoveAll { table, key },
            59..=60 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::DeleteRange { table, from, to }
            }
            61 if self.random.chance(40) => Op::Clear { table },
            62 if self.random.chance(60) => Op::Drop { table },
            63 if self.random.chance(60) => Op::Rename { table },
            64..=69 => Op::Create { table },
            70..=75 => Op::Held { table, key, value },
            76..=81 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::Range { table, from, to, ends: self.random.next() }
            }
            82 | 83 => Op::Whole { table },
            _ => {
                let (from, to) = (self.value_bound(values), self.value_bound(values));
                Op::Values { table, key, from, to, ends: self.random.next() }
            }
        }
    }

    /// Mostly one of a few keys, so that they have many values.
    fn multi_key(&mut self, table: TableId) -> Vec<u8> {
        match self.random.chance(70) {
            true => key(table.order(), self.config.page_bytes, self.random.below(5)),
            false => self.key(table),
        }
    }

    fn pair_value(&mut self, values: Values) -> Vec<u8> {
        let page_bytes = self.config.page_bytes;
        match self.random.below(200) {
            0 => vec![7; (page_bytes - 32) / 2 - 9],
            1 => vec![9; self.random.index(12)],
            _ => value(values, page_bytes, self.random.below(self.config.keys)),
        }
    }

    fn value_bound(&mut self, values: Values) -> Bound<Vec<u8>> {
        let value = self.pair_value(values);
        match self.random.below(5) {
            0 | 1 => Bound::Unbounded,
            2 => Bound::Included(value),
            _ => Bound::Excluded(value),
        }
    }

    /// Adds or takes many values of a key: as many as need a tree of their own, at times, and all
    /// but a few.
    fn pour(&mut self, table: TableId, key: Vec<u8>) -> Op {
        let keys = self.config.keys;
        let take = self.random.chance(if self.shrinking { 70 } else { 35 });
        let (first, count, step) = match self.random.chance(20) {
            // A transaction that spills takes new space for each page that it changes again.
            true => (self.random.below(6), if take { keys } else { keys.min(300) }, 1),
            false => {
                let count = 5 + self.random.below(keys / 8 + 20);
                (self.random.below(keys), count, 1 + self.random.below(3))
            }
        };
        Op::Pour { table, key, first, count, step, take }
    }

    /// Keys in any order, some of them more than once, in up to four groups of the engine's.
    fn many(&mut self) -> Op {
        let table = self.plain();
        let count = self.random.index(50);
        let mut keys: Vec<Vec<u8>> = (0..count).map(|_| self.key(table)).collect();
        if self.random.chance(30) {
            keys.sort_by_key(|key| table.order().sort_key(key));
        }
        if self.random.chance(30) {
            keys.extend_from_within(count / 2..);
        }
        Op::GetMany { table, keys }
    }

    fn leaves(&mut self) -> Op {
        let table = self.plain();
        let (from, to) = match self.random.chance(30) {
            true => (Bound::Unbounded, Bound::Unbounded),
            false => (self.bound(table), self.bound(table)),
        };
        Op::Leaves { table, from, to, ends: self.random.next() }
    }

    fn fill(&mut self, table: TableId) -> Op {
        let keys = self.config.keys;
        Op::Fill {
            table,
            first: self.random.below(keys),
            count: 10 + self.random.below(keys / 4),
            step: 1 + self.random.below(3),
            bytes: self.random.index(40),
        }
    }

    fn scan(&mut self) {
        let scan = self.random.below(u64::from(SCANS)) as u8;
        let op = match self.random.below(20) {
            0..=2 => Op::ScanOpen { scan, table: self.plain() },
            3 => Op::ScanMove { scan, goal: Goal::Start },
            4 => Op::ScanMove { scan, goal: Goal::End },
            5..=8 => {
                let table = self.plain();
                let key = self.key(table);
                let goal =
                    if self.random.chance(50) { Goal::Before(key) } else { Goal::After(key) };
                Op::ScanMove { scan, goal }
            }
            _ => Op::ScanStep {
                scan,
                back: self.random.chance(45),
                steps: 1 + self.random.below(5) as u8,
                reader: self.random.chance(15),
            },
        };
        self.ops.push(op);
    }
}
