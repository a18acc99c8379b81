//! Random histories: steps that make sense at their moment, from a seed.

use huon_testkit::random::Random;

use super::model::Model;
use super::step::{Op, Step};
use super::text;

const TABLES: [&str; 2] = ["t", "u"];
const MULTIS: [&str; 1] = ["m"];
const READERS: [&str; 3] = ["r1", "r2", "r3"];
const LEVELS: [&str; 4] = ["w", "n1", "n2", "n3"];

struct History {
    random: Random,
    model: Model,
    readers: Vec<&'static str>,
    /// How many levels the write transaction has; 0: there is none.
    levels: usize,
    steps: Vec<Step>,
}

/// So many steps and some to end with.
pub(super) fn history(seed: u64, count: usize) -> Vec<Step> {
    let mut history = History {
        random: Random::new(seed),
        model: Model::default(),
        readers: Vec::new(),
        levels: 0,
        steps: Vec::new(),
    };
    history.do_("write w");
    TABLES.iter().for_each(|name| history.do_(&format!("create w {name}")));
    MULTIS.iter().for_each(|name| history.do_(&format!("create w {name} multi")));
    history.do_("commit w");
    while history.steps.len() < count {
        history.step();
    }
    history.finish();
    history.steps
}

impl History {
    fn do_(&mut self, line: &str) {
        let step = text::step(line);
        let answer = self.model.run(&step);
        match (step.op, answer.is_ok()) {
            (Op::Write | Op::BeginNested, true) => self.levels += 1,
            (Op::Commit, true) => self.levels -= 1,
            (Op::Abort, true) if LEVELS.contains(&&*step.txn) => self.levels -= 1,
            (Op::Abort, true) => self.readers.retain(|name| *name != step.txn),
            _ => {}
        }
        self.steps.push(step.expecting(answer));
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..5 if self.readers.len() < READERS.len() => {
                let is_free = |name: &&&str| !self.readers.contains(*name);
                let name = *READERS.iter().find(is_free).expect("a free one");
                self.do_(&format!("read {name}"));
                self.readers.push(name);
            }
            5..8 if !self.readers.is_empty() => {
                let name = self.random.pick(&self.readers);
                self.do_(&format!("abort {name}"));
            }
            8..20 if !self.readers.is_empty() => {
                let name = self.random.pick(&self.readers);
                self.look(name);
            }
            _ if self.levels == 0 && self.random.chance(10) && self.readers.is_empty() => {
                self.do_("reopen");
            }
            _ if self.levels == 0 => self.do_("write w"),
            20..28 => self.end_level(),
            28..31 if self.levels < LEVELS.len() => {
                let (parent, name) = (LEVELS[self.levels - 1], LEVELS[self.levels]);
                self.do_(&format!("begin_nested {name} {parent}"));
            }
            31..50 => self.look(LEVELS[self.levels - 1]),
            50..65 => self.change_pairs(LEVELS[self.levels - 1]),
            65..67 => self.change_tables(LEVELS[self.levels - 1]),
            _ => self.change_records(LEVELS[self.levels - 1]),
        }
    }

    fn end_level(&mut self) {
        let how = if self.random.chance(70) { "commit" } else { "abort" };
        self.do_(&format!("{how} {}", LEVELS[self.levels - 1]));
    }

    /// Ends all, and looks at everything before and after the environment is opened again.
    fn finish(&mut self) {
        while self.levels > 0 {
            self.end_level();
        }
        while let Some(name) = self.readers.first().copied() {
            self.look(name);
            self.do_(&format!("abort {name}"));
        }
        self.do_("reopen");
        self.do_("read r1");
        self.readers.push("r1");
        self.do_("tables r1");
        TABLES.iter().for_each(|name| self.do_(&format!("scan r1 {name}")));
        MULTIS.iter().for_each(|name| self.do_(&format!("multi_scan r1 {name}")));
        self.do_("abort r1");
    }

    /// A key: few of them, so that most are found again, short and long, some with others' bytes.
    fn key(&mut self) -> String {
        let n = self.random.below(20);
        match self.random.below(12) {
            0 => "''".to_owned(),
            1 => format!("k*{}", 1 + 100 * n),
            2 => format!("0xff{}", "ff".repeat(n as usize % 3)),
            3 => format!("0x{n:02x}00"),
            _ => format!("k{n:02}"),
        }
    }

    fn value(&mut self) -> String {
        let n = self.random.below(100);
        match self.random.below(10) {
            0 => "''".to_owned(),
            1 => format!("v{}*{}", n % 10, 100 * n),
            2 => format!("0x{n:02x}*{}", 20 + 2 * n),
            _ => format!("v{n}"),
        }
    }

    /// Words that name a range, or some of it.
    fn range(&mut self) -> String {
        let mut words = String::new();
        match self.random.below(5) {
            0 => words += &format!(" prefix={}", self.key()),
            1 => words += &format!(" from={}", self.key()),
            2 => words += &format!(" to={}", self.key()),
            3 => words += &format!(" from={} to={}", self.key(), self.key()),
            _ => {}
        }
        words
    }

    fn scan(&mut self) -> String {
        let mut words = self.range();
        if self.random.chance(40) {
            words += " reverse";
        }
        if self.random.chance(60) {
            words += &format!(" limit={}", 1 + self.random.below(8));
        }
        words
    }

    fn look(&mut self, txn: &str) {
        let (table, multi) = (self.random.pick(&TABLES), self.random.pick(&MULTIS));
        let key = self.key();
        let line = match self.random.below(12) {
            0..3 => format!("get {txn} {table} {key}"),
            3 => format!("has {txn} {table} {key}"),
            4 => {
                let keys: Vec<String> = (0..self.random.below(6)).map(|_| self.key()).collect();
                format!("get_many {txn} {table} {}", keys.join(" "))
            }
            5 => format!("count {txn} {}", self.random.pick(&[table, multi])),
            6 => format!("{} {txn} {table}", self.random.pick(&["first", "last"])),
            7 => format!("multi_values {txn} {multi} {key}"),
            8 => format!("multi_scan {txn} {multi}{}", self.scan()),
            9 if self.random.chance(20) => format!("tables {txn}"),
            _ => format!("scan {txn} {table}{}", self.scan()),
        };
        self.do_(&line);
    }

    fn change_records(&mut self, txn: &str) {
        let table = self.random.pick(&TABLES);
        let (key, value) = (self.key(), self.value());
        let line = match self.random.below(24) {
            0..10 => format!("put {txn} {table} {key} {value}"),
            10..12 => format!("insert {txn} {table} {key} {value}"),
            12..16 => format!("delete {txn} {table} {key}"),
            16..19 => {
                let pair = |_| format!("{}={}", self.key(), self.value());
                let pairs: Vec<String> = (0..8).map(pair).collect();
                format!("put_many {txn} {table} {}", pairs.join(" "))
            }
            19 => format!("delete_range {txn} {table} from={key} to={}", self.key()),
            20 => format!("sequence {txn} {table} {}", self.random.below(10)),
            21 => format!("scan_put {txn} {table} {value}{}", self.scan()),
            22 => format!("scan_delete {txn} {table}{} limit=4", self.range()),
            _ => format!("put {txn} {table} k*2023 {value}"),
        };
        self.do_(&line);
    }

    fn change_pairs(&mut self, txn: &str) {
        let multi = self.random.pick(&MULTIS);
        let (key, value) = (format!("k{}", self.random.below(6)), self.random.below(12));
        let line = match self.random.below(10) {
            0..7 => format!("multi_put {txn} {multi} {key} {value}"),
            7..9 => format!("multi_delete {txn} {multi} {key} {value}"),
            _ => format!("multi_delete_all {txn} {multi} {key}"),
        };
        self.do_(&line);
    }

    fn change_tables(&mut self, txn: &str) {
        let (name, multi) = (self.random.pick(&TABLES), self.random.pick(&MULTIS));
        match self.random.below(4) {
            0 => {
                let either = self.random.pick(&[name, multi]);
                self.do_(&format!("clear {txn} {either}"));
            }
            1 => {
                self.do_(&format!("drop {txn} {name}"));
                self.do_(&format!("get {txn} {name} k01"));
                self.do_(&format!("create {txn} {name}"));
            }
            2 => {
                self.do_(&format!("drop {txn} {multi}"));
                self.do_(&format!("create {txn} {multi} multi"));
            }
            _ => self.do_(&format!("create {txn} {name}")),
        }
    }
}
