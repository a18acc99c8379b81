//! Makes programs from seeds, or from choices made elsewhere.

mod multimap;

use std::ops::Bound;

use crate::history::machine::GUEST;
use crate::history::program::{
    Answer, By, Config, Goal, How, Limit, Op, PairHow, Program, Reopening, SAVEPOINTS, SCANS,
    SNAPSHOTS, Value, key, value,
};
use crate::model::{TableId, Values};
use crate::support::random::Random;

struct Maker {
    random: Random,
    config: Config,
    ops: Vec<Op>,
    /// How many tables the program concentrates on, from here.
    favourites: Vec<TableId>,
    /// More deletes than inserts.
    shrinking: bool,
    /// The maximum size of the file is set now and then.
    limited: bool,
    /// Names of the savepoints that should be there, for each level.
    savepoints: Vec<Vec<u8>>,
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
        .map(|_| if random.chance(35) { random.pick(&multis) } else { random.pick(&plain) })
        .collect();
    let limited = random.chance(40);
    let mut maker = Maker {
        random,
        config,
        ops: Vec::new(),
        favourites,
        shrinking: false,
        limited,
        savepoints: Vec::new(),
    };
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
        self.savepoints = vec![Vec::new()];
        for _ in 0..length {
            match self.random.below(100) {
                0..=4 if depth < 3 => {
                    depth += 1;
                    self.savepoints.push(Vec::new());
                    self.ops.push(Op::NestBegin);
                }
                5..=12 if depth > 0 => {
                    depth -= 1;
                    self.savepoints.pop();
                    let commit = self.random.chance(60);
                    self.ops.push(Op::NestEnd { commit });
                }
                13..=14 => self.reader(),
                15..=18 => self.savepoint(),
                19..=20 => self.note(),
                21..=23 => self.scan(),
                24 if self.random.chance(40) => self.scans_beside_changes(),
                _ => self.inside(),
            }
        }
        for _ in 0..depth {
            let commit = self.random.chance(70);
            self.ops.push(Op::NestEnd { commit });
        }
        match self.random.below(10) {
            0 => self.ops.push(Op::Abort),
            n => {
                let by = self.random.pick(&[By::Name, By::Name, By::Opening, By::Ticket]);
                self.ops.push(Op::Commit { lazy: n < 6, by });
            }
        }
    }

    /// Mostly of a savepoint that is there.
    fn savepoint(&mut self) {
        let level = self.savepoints.last_mut().expect("a level is open");
        let any = self.random.below(u64::from(SAVEPOINTS)) as u8;
        let name = if self.random.chance(10) || level.is_empty() {
            any
        } else {
            level[self.random.index(level.len())]
        };
        let at = level.iter().rposition(|other| *other == name);
        self.ops.push(match (self.random.below(10), at) {
            (0..=3, _) | (4..=8, None) => {
                level.push(any);
                Op::Savepoint { name: any }
            }
            (4..=7, Some(at)) => {
                level.truncate(at + 1);
                Op::RollBack { name }
            }
            (_, at) => {
                level.truncate(at.unwrap_or(level.len()));
                Op::Release { name }
            }
        });
    }

    /// What is kept beside the records.
    fn note(&mut self) {
        let table = self.table();
        let op = match self.random.below(10) {
            0..=4 => {
                let count = if self.random.chance(5) { u64::MAX } else { self.random.below(50) };
                Op::Sequence { table, count }
            }
            5..=7 => {
                let values = [0; 3].map(|_: u64| self.random.below(3));
                Op::Markers { values, touch: self.random.chance(40) }
            }
            _ => return self.limit(),
        };
        self.ops.push(op);
    }

    fn limit(&mut self) {
        if !self.limited {
            return;
        }
        let limit = match self.random.below(20) {
            0..=3 => Limit::Room,
            4..=10 => Limit::Tight(self.random.below(30)),
            11 => Limit::Short(1 + self.random.below(8)),
            12 => Limit::TooLong,
            13 => Limit::Reversed,
            14 | 15 => Limit::Minimum(self.random.below(80)),
            16 | 17 => Limit::Grow(self.random.below(40)),
            _ => Limit::Shrink(self.random.below(30)),
        };
        self.ops.push(Op::Limit { limit });
    }

    fn between(&mut self) {
        for _ in 0..self.random.below(4) {
            self.reader();
        }
        let client = u8::from(self.random.chance(30));
        match self.random.below(100) {
            0..=5 => self.ops.push(Op::Sync { client }),
            6..=8 => {
                let how = match self.random.below(10) {
                    0..=2 => Reopening::Same,
                    3 => Reopening::NoMetaSync,
                    4 | 5 => Reopening::Lazy,
                    6 => Reopening::Unsynced,
                    7 => Reopening::Dirty,
                    8 => Reopening::ReadOnly,
                    _ => Reopening::Exclusive,
                };
                self.ops.push(Op::Reopen { client, how });
            }
            9..=11 => self.ops.push(Op::Second),
            12..=13 => self.ops.push(Op::Kill),
            14..=15 => {
                let seed = self.random.next();
                self.ops.push(Op::PowerLoss { seed });
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
            57 | 58 => self.limit(),
            63..=67 => self.snapshot(client),
            59 | 60 if self.limited => self.squeeze(),
            61 | 62 => {
                let answer = self.random.pick(&[Answer::None, Answer::Evict, Answer::GiveUp]);
                self.ops.push(Op::SlowReaders { client, answer, early: self.random.chance(50) });
            }
            _ => {}
        }
    }

    /// Something with a named snapshot.
    fn snapshot(&mut self, client: u8) {
        let (name, lazy) = (self.random.below(SNAPSHOTS.into()) as u8, self.random.chance(60));
        self.ops.push(match self.random.below(10) {
            0..=4 => Op::NameSnapshot { client, name, lazy },
            5..=7 => Op::DropSnapshot { client, name, lazy },
            _ => Op::ReadSnapshot { client, name },
        });
    }

    /// Parked readers keep old pages, and the file may hardly grow, while transaction after
    /// transaction writes the same anew.
    fn squeeze(&mut self) {
        let client = u8::from(self.random.chance(20));
        if self.random.chance(60) {
            let answer = self.random.pick(&[Answer::None, Answer::Evict, Answer::GiveUp]);
            self.ops.push(Op::SlowReaders { client, answer, early: self.random.chance(50) });
        }
        let table = self.plain();
        let Op::Fill { first, count, bytes, .. } = self.fill(table) else { return };
        for round in 0..4 + self.random.below(4) {
            self.ops.push(Op::Begin { client });
            self.ops.push(Op::Create { table });
            let bytes = bytes + round as usize;
            self.ops.push(Op::Fill { table, first, count: count.min(60), step: 1, bytes });
            let by = if self.random.chance(60) { By::Ticket } else { By::Name };
            self.ops.push(Op::Commit { lazy: true, by });
            if round < 2 {
                let client = self.reading_client();
                self.ops.push(Op::Pin { client });
                self.ops.push(Op::Park { reader: self.random.below(6) as u8 });
            }
            if round == 1 {
                let limit = Limit::Tight(self.random.below(30));
                self.ops.push(Op::Limit { limit });
            }
        }
        for reader in 0..4 {
            self.ops.push(Op::Unpark { reader, or_newest: self.random.chance(40) });
        }
        if self.random.chance(70) {
            self.ops.push(Op::Limit { limit: Limit::Room });
        }
    }

    fn reader(&mut self) {
        let reader = self.random.below(6) as u8;
        let op = match self.random.below(14) {
            0..=3 => Op::Pin { client: self.reading_client() },
            4 | 5 => Op::Unpin { reader },
            6..=8 => Op::Verify { reader },
            9 => Op::Renew { reader },
            10 | 11 => Op::Park { reader },
            _ => Op::Unpark { reader, or_newest: self.random.chance(30) },
        };
        self.ops.push(op);
    }

    /// The client that pins a snapshot; some may not write.
    fn reading_client(&mut self) -> u8 {
        match self.random.below(10) {
            0..=4 => 0,
            5..=7 => 1,
            _ => GUEST as u8,
        }
    }

    fn table(&mut self) -> TableId {
        if self.random.chance(85) {
            self.favourites[self.random.index(self.favourites.len())]
        } else {
            TableId(self.random.below(u64::from(TableId::END)) as u8)
        }
    }

    /// A table with one value a key.
    fn plain(&mut self) -> TableId {
        let table = self.table();
        if table.values().is_none() { table } else { TableId(table.0 % TableId::MULTI) }
    }

    fn key(&mut self, table: TableId) -> Vec<u8> {
        let n = if self.random.chance(70) {
            self.random.below(self.config.keys)
        } else {
            // Neighbours of each other.
            self.random.below(self.config.keys / 8 + 1)
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
        self.inside_of(table);
    }

    fn inside_of(&mut self, table: TableId) {
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
            72..=74 => Op::Create { table },
            75 => {
                let new = self.random.chance(60).then(|| self.value(&key));
                Op::IfValue { table, key, right: self.random.chance(70), new }
            }
            76..=79 => Op::Get { table, key },
            80..=83 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::Range { table, from, to, ends: self.random.next() }
            }
            84 => {
                let length = self.random.index(key.len().min(6) + 1);
                Op::Prefix { table, key: key[..length].to_vec(), back: self.random.chance(50) }
            }
            85 => {
                if self.random.chance(50) {
                    Op::Whole { table }
                } else {
                    self.estimate(table)
                }
            }
            86 | 87 => self.many(),
            88..=90 => self.leaves(),
            _ => return self.scan(),
        };
        self.ops.push(op);
    }

    fn estimate(&mut self, table: TableId) -> Op {
        let (from, to) = if self.random.chance(20) {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            (self.bound(table), self.bound(table))
        };
        Op::Estimate { table, from, to }
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
        let (from, to) = if self.random.chance(30) {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            (self.bound(table), self.bound(table))
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
        let op = self.scan_op();
        self.ops.push(op);
    }

    fn scan_op(&mut self) -> Op {
        let scan = self.random.below(u64::from(SCANS)) as u8;
        match self.random.below(24) {
            0..=3 => Op::ScanOpen { scan, table: self.table() },
            4 => Op::ScanMove { scan, goal: Goal::Start },
            5 => Op::ScanMove { scan, goal: Goal::End },
            6..=10 => Op::ScanMove { scan, goal: self.goal() },
            _ => self.scan_step(scan),
        }
    }

    /// Several scans of a table, at places of their own, that go on while it changes.
    fn scans_beside_changes(&mut self) {
        let table = self.table();
        let scans = 3 + self.random.below(u64::from(SCANS) - 2) as u8;
        for scan in 0..scans {
            self.ops.push(Op::ScanOpen { scan, table });
            let goal = self.goal_in(table);
            self.ops.push(Op::ScanMove { scan, goal });
        }
        for _ in 0..5 + self.random.below(25) {
            if self.random.chance(50) {
                self.inside_of(table);
            } else {
                let scan = self.random.below(u64::from(scans)) as u8;
                let op = self.scan_step(scan);
                self.ops.push(op);
            }
        }
    }

    fn scan_step(&mut self, scan: u8) -> Op {
        Op::ScanStep {
            scan,
            back: self.random.chance(45),
            steps: 1 + self.random.below(5) as u8,
            reader: self.random.chance(15),
        }
    }

    /// What the scan is of is not known here; mostly it is of a favourite, too.
    fn goal(&mut self) -> Goal {
        let table = self.table();
        self.goal_in(table)
    }

    fn goal_in(&mut self, table: TableId) -> Goal {
        let before = self.random.chance(50);
        let Some(values) = table.values() else {
            let key = self.key(table);
            return if before { Goal::Before(key) } else { Goal::After(key) };
        };
        let key = self.multi_key(table);
        match (self.random.below(8), before) {
            (0, true) => Goal::SkipKeyBack,
            (0, false) => Goal::SkipKey,
            (1 | 2, true) => Goal::Before(key),
            (1 | 2, false) => Goal::After(key),
            (_, true) => Goal::BeforePair(key, self.pair_value(values)),
            (_, false) => Goal::AfterPair(key, self.pair_value(values)),
        }
    }
}
