//! Makes up histories, with the model at hand to know what there is.

mod cursors;

use std::collections::VecDeque;

use super::interface::Interface;
use super::model::{Model, Rules, State};
use super::names::{env, go, kind, put};
use super::op::{CURSORS, End, Op, Slot, TXNS};
use super::rows::Kind;
use super::tables::MAIN;
use crate::support::random::Random;
use crate::support::shrink;

/// A history, and what holds for all of it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The seed it came from.
    pub seed: u64,
    /// What holds for it.
    pub rules: Rules,
    /// The flags that the environment is opened with.
    pub flags: u32,
    /// The calls.
    pub ops: Vec<Op>,
}

impl shrink::Program for Program {
    type Op = Op;

    fn ops(&mut self) -> &mut Vec<Op> {
        &mut self.ops
    }
}

/// A table that the history knows.
#[derive(Clone, Debug)]
struct Known {
    name: Option<Vec<u8>>,
    kind: Kind,
    /// The length of integers as keys, and of values that all have one.
    key_bytes: usize,
    value_bytes: usize,
}

struct Maker {
    random: Random,
    model: Model,
    flags: u32,
    tables: Vec<Known>,
    /// So many different keys there are.
    keys: u64,
    /// So many different values of a key.
    values: u64,
    large: bool,
    interface: Interface,
    compared: bool,
    /// What comes next.
    queue: VecDeque<Op>,
}

use kind::{DUPFIXED, DUPSORT, INTEGERDUP, INTEGERKEY, REVERSEDUP, REVERSEKEY};

/// All kinds of tables that are more than combinations.
const KINDS: [(u32, bool); 16] = [
    (0, false),
    (DUPSORT, false),
    (DUPSORT | DUPFIXED, false),
    (REVERSEKEY, false),
    (INTEGERKEY, false),
    (DUPSORT | DUPFIXED | INTEGERDUP, false),
    (DUPSORT | REVERSEDUP, false),
    (DUPSORT | REVERSEKEY, false),
    (DUPSORT | INTEGERKEY, false),
    (DUPSORT | DUPFIXED | REVERSEDUP, false),
    (DUPSORT | DUPFIXED | INTEGERDUP | INTEGERKEY, false),
    (0, true),
    (DUPSORT, true),
    (DUPSORT | DUPFIXED, true),
    (DUPSORT, false),
    (0, false),
];

/// A history of this seed.
pub fn make(seed: u64, ops_count: usize, interface: Interface, compared: Option<u32>) -> Program {
    let (patch, compared) = (compared.unwrap_or(0), compared.is_some());
    let mut random = Random::new(seed);
    let kept = if random.chance(30) { env::NOSUBDIR } else { 0 };
    let flags = env_flags(&mut random, kept, interface);
    let rules = Rules {
        interface,
        compared,
        patch,
        tables_max: if random.chance(20) { 2 } else { 5 },
        readers_max: if random.chance(20) { 2 } else { 126 },
    };
    let tables = tables(&mut random);
    let model = Model::new(rules.clone(), flags);
    let (keys, values) = random.pick(&[(6, 4), (12, 30), (60, 6), (400, 3), (5, 600)]);
    let large = random.chance(25);
    let queue = VecDeque::new();
    let mut maker =
        Maker { random, model, flags, tables, keys, values, large, interface, compared, queue };
    let mut ops = maker.begin();
    while ops.len() < ops_count {
        let op = maker.next();
        // What the model has nothing to say about is not worth a line.
        if maker.model.step(&op) != super::model::Answer::Void {
            ops.push(op);
        }
    }
    Program { seed, rules, flags, ops }
}

fn env_flags(random: &mut Random, kept: u32, interface: Interface) -> u32 {
    let mut flags = kept;
    if interface.is_mdbx() {
        flags |= random.pick(&[0, env::NOSYNC, env::UTTERLY_NOSYNC, env::UTTERLY_NOSYNC]);
    }
    let of_both = interface.either(0, env::NOSYNC | env::MAPASYNC | env::NOLOCK);
    let mut add = |percent, flag| {
        let wanted = random.chance(percent) && flag & of_both == 0;
        flags |= if wanted { flag } else { 0 };
    };
    add(75, env::NOTLS);
    add(70, env::NOSYNC);
    add(10, env::NOMETASYNC);
    add(12, env::WRITEMAP);
    add(10, env::MAPASYNC);
    add(10, env::NORDAHEAD);
    add(10, env::NOMEMINIT);
    add(4, env::NOLOCK);
    if interface.is_mdbx() {
        add(10, env::LIFORECLAIM);
        add(10, env::COALESCE);
    }
    flags
}

fn tables(random: &mut Random) -> Vec<Known> {
    let mut tables = Vec::new();
    let main = if random.chance(20) { random.index(11) } else { 0 };
    let names: [Option<&[u8]>; 4] = [None, Some(b"k1"), Some(b"t"), Some(b"zz")];
    for (i, name) in names.into_iter().enumerate() {
        let (flags, custom) = KINDS[if i == 0 { main } else { random.index(KINDS.len()) }];
        let value_bytes = if flags & INTEGERDUP != 0 {
            random.pick(&[4, 8])
        } else {
            random.pick(&[1, 3, 8, 100])
        };
        tables.push(Known {
            name: name.map(<[u8]>::to_vec),
            kind: Kind { flags, custom },
            key_bytes: random.pick(&[4, 8]),
            value_bytes,
        });
    }
    tables
}

impl Maker {
    /// Tables are there from the beginning.
    fn begin(&mut self) -> Vec<Op> {
        let mut ops = vec![Op::Begin { txn: 0, parent: None, flags: 0, elsewhere: false }];
        let main = self.tables[0].clone();
        for known in &self.tables {
            if known.name.is_none() || main.kind == Kind::default() {
                ops.push(open(0, known));
            }
        }
        ops.push(Op::Commit { txn: 0 });
        ops.iter().for_each(|op| drop(self.model.step(op)));
        ops
    }

    fn next(&mut self) -> Op {
        if let Some(op) = self.queue.pop_front() {
            return op;
        }
        let Some(txn) = self.some_txn() else { return self.begin_one() };
        match self.random.below(1000) {
            0..5 => self.reopen(),
            5..18 => self.env_op(),
            18..110 => self.txn_op(txn),
            110..150 => self.table_op(txn),
            150..400 => self.record_op(txn),
            _ => self.cursor_op(txn),
        }
    }

    // ---- environments and transactions

    /// Opens the environment anew, and then most tables.
    fn reopen(&mut self) -> Op {
        let reads = self.random.chance(15);
        let flags = if reads { env::RDONLY } else { 0 };
        let kept = self.flags & env::NOSUBDIR;
        let env = env_flags(&mut self.random, kept, self.interface);
        let reopened = Op::Reopen { flags: env | flags };
        self.queue.push_back(Op::Begin { txn: 0, parent: None, flags, elsewhere: false });
        for known in self.tables.clone() {
            if self.random.chance(70) {
                self.queue.push_back(open(0, &known));
            }
        }
        self.queue.push_back(Op::Commit { txn: 0 });
        reopened
    }

    fn env_op(&mut self) -> Op {
        match self.random.below(8) {
            0 => {
                let other = self.interface.either(env::MAPASYNC, env::UTTERLY_NOSYNC);
                let flag = self.random.pick(&[env::NOSYNC, env::NOMETASYNC, other, env::NOTLS]);
                Op::SetFlags { flags: flag, on: self.random.chance(50) }
            }
            1 => Op::GetFlags,
            2 => Op::Sync { force: self.random.chance(50) },
            3 => Op::TooLate,
            4 => Op::EnvCount,
            5 => Op::CheckReaders,
            _ => Op::Copy { compact: self.random.chance(50) },
        }
    }

    fn live(&self, wanted: impl Fn(&super::model::Txn) -> bool) -> Vec<Slot> {
        let is = |slot: &Slot| self.model.txns[*slot].as_ref().is_some_and(&wanted);
        (0..TXNS).filter(is).collect()
    }

    /// A transaction to work in: mostly the innermost writer.
    fn some_txn(&mut self) -> Option<Slot> {
        let writer = self.model.innermost();
        if writer.is_some() && self.random.chance(80) {
            return writer;
        }
        if self.random.chance(4) {
            let any = self.live(|_| true);
            return (!any.is_empty()).then(|| self.random.pick(&any));
        }
        let live = self.live(|txn| txn.state == State::Live && txn.child.is_none());
        // Without a writer nothing happens for long.
        let idle = live.is_empty() || writer.is_none() && self.random.chance(25);
        (!idle).then(|| self.random.pick(&live))
    }

    fn free_txn(&mut self) -> Slot {
        let free: Vec<Slot> = (0..TXNS)
            .filter(|slot| {
                let txn = self.model.txns[*slot].as_ref();
                txn.is_none_or(|txn| txn.state == State::Ended)
            })
            .collect();
        if free.is_empty() { 0 } else { self.random.pick(&free) }
    }

    fn begin_one(&mut self) -> Op {
        let txn = self.free_txn();
        let reads = self.random.chance(35) || self.model.innermost().is_some();
        let elsewhere = reads && self.elsewhere();
        Op::Begin { txn, parent: None, flags: if reads { env::RDONLY } else { 0 }, elsewhere }
    }

    /// Whether a reader is to begin in another thread, since this one writes.
    fn elsewhere(&mut self) -> bool {
        let loose = self.interface.is_mdbx() && self.model.flags & env::NOTLS != 0;
        loose && self.model.innermost().is_some() && self.random.chance(92)
    }

    /// What only libmdbx does with transactions.
    fn other_txn_op(&mut self, txn: Slot) -> Op {
        match self.random.below(100) {
            0..40 => Op::TxnFlags { txn },
            40..48 => Op::Break { txn },
            48..70 => Op::GetCanary { txn },
            _ => {
                let canary = [0; 3].map(|_: u64| self.random.below(1000));
                Op::PutCanary { txn, canary }
            }
        }
    }

    fn txn_op(&mut self, txn: Slot) -> Op {
        if self.interface.is_mdbx() && self.random.chance(12) {
            return self.other_txn_op(txn);
        }
        let (writes, nested) = match &self.model.txns[txn] {
            Some(found) => (found.writes, found.parent.is_some()),
            None => (false, false),
        };
        let to_renew = self.live(|txn| txn.state == State::Reset);
        match self.random.below(100) {
            0..22 if writes => {
                let slot = self.free_txn();
                Op::Begin { txn: slot, parent: Some(txn), flags: 0, elsewhere: false }
            }
            22..24 => Op::Begin {
                txn: self.free_txn(),
                parent: Some(txn),
                flags: self.random.pick(&[env::RDONLY, 0]),
                elsewhere: false,
            },
            24..25 => Op::Begin { txn: self.free_txn(), parent: None, flags: 0, elsewhere: false },
            25..37 => {
                let (txn, elsewhere) = (self.free_txn(), self.elsewhere());
                Op::Begin { txn, parent: None, flags: env::RDONLY, elsewhere }
            }
            37..42 => Op::TxnId { txn },
            42..50 if !writes => Op::Reset { txn },
            50..60 if !to_renew.is_empty() => {
                let txn = self.random.pick(&to_renew);
                Op::Renew { txn, elsewhere: self.elsewhere() }
            }
            60..62 => Op::Renew { txn, elsewhere: self.elsewhere() },
            62..64 => {
                // One that may have children.
                let any = self.live(|txn| txn.state != State::Ended);
                if any.is_empty() {
                    return self.begin_one();
                };
                let txn = self.random.pick(&any);
                if self.random.chance(60) { Op::Commit { txn } } else { Op::Abort { txn } }
            }
            64..85 if nested || self.random.chance(70) => Op::Commit { txn },
            85..100 if nested || self.random.chance(50) => Op::Abort { txn },
            _ => Op::TxnId { txn },
        }
    }

    // ---- tables

    fn known(&self, txn: Slot, dbi: u32) -> Known {
        let name = self.model.name_of(txn, dbi);
        let named = self.tables.iter().find(|known| known.name.as_ref() == Some(&name));
        named.unwrap_or(&self.tables[0]).clone()
    }

    fn some_dbi(&mut self) -> u32 {
        if self.random.chance(2) {
            return self.random.pick(&[0, 2, 3, 4, 9]);
        }
        let open = |dbi: &usize| self.model.handles[*dbi].is_some();
        let open: Vec<usize> = (0..self.model.handles.len()).filter(open).collect();
        if open.is_empty() || self.random.chance(15) {
            MAIN
        } else {
            self.random.pick(&open) as u32
        }
    }

    fn table_op(&mut self, txn: Slot) -> Op {
        let dbi = self.some_dbi();
        if self.interface.is_mdbx() && self.random.chance(30) {
            return self.other_table_op(txn, dbi);
        }
        match self.random.below(100) {
            0..45 => {
                let at = self.random.index(self.tables.len());
                let known = self.tables[at].clone();
                match (open(txn, &known), self.random.below(30)) {
                    (Op::Open { txn, name, custom, .. }, 0) => {
                        Op::Open { txn, name, flags: 0, custom }
                    }
                    (Op::Open { txn, name, flags, custom }, 1) => {
                        Op::Open { txn, name, flags: flags | 0x100, custom }
                    }
                    (Op::Open { txn, flags, .. }, 2) => {
                        let long = vec![b'n'; 600];
                        let name = self.random.pick(&[&b""[..], b"6", b"other", &long]).to_vec();
                        Op::Open { txn, name: Some(name), flags, custom: false }
                    }
                    (op, _) => op,
                }
            }
            45..55 => Op::Count { txn, dbi },
            55..62 => Op::Flags { txn, dbi },
            62..72 => {
                let known = self.known(txn, dbi);
                let of_values = known.kind.has_many() && self.random.chance(50);
                let (a, b) = if of_values {
                    (self.value(&known), self.value(&known))
                } else {
                    (self.key(&known, dbi, txn), self.key(&known, dbi, txn))
                };
                Op::Compare { txn, dbi, a, b, of_values }
            }
            72..80 => Op::Close { dbi },
            80..90 => Op::Drop { txn, dbi, delete: 0 },
            90..97 => Op::Drop { txn, dbi, delete: 1 },
            97..98 => Op::Drop { txn, dbi, delete: 2 },
            _ => Op::Count { txn, dbi },
        }
    }

    /// What only libmdbx does with tables.
    fn other_table_op(&mut self, txn: Slot, dbi: u32) -> Op {
        match self.random.below(100) {
            0..70 => {
                let add = self.random.pick(&[0, 0, 1, 1, 7, 100, u64::MAX - 50]);
                Op::Sequence { txn, dbi, add }
            }
            70..85 => {
                let long = vec![b'n'; 2023];
                let names = [&b"k1"[..], b"t", b"zz", b"other", b"6", b"", &long];
                Op::Rename { txn, dbi, name: self.random.pick(&names).to_vec() }
            }
            _ => {
                // Of another kind than it was.
                let at = self.random.index(self.tables.len());
                let name = self.tables[at].name.clone();
                let (flags, _) = self.random.pick(&KINDS[..11]);
                Op::Open { txn, name, flags: flags | kind::CREATE, custom: false }
            }
        }
    }

    // ---- records

    fn key(&mut self, known: &Known, dbi: u32, txn: Slot) -> Vec<u8> {
        match self.random.below(200) {
            0 => return Vec::new(),
            1 => return vec![b'l'; self.interface.key_bytes().end() + 1],
            2 if known.kind.has_integer_keys() => return vec![1; 5],
            // Names of tables are keys of the main one.
            3 if dbi == MAIN => return b"k1".to_vec(),
            4..50 => {
                if let Ok(Ok(rows)) = self.model.rows(txn, dbi) {
                    let keys: Vec<&Vec<u8>> = rows.keys().collect();
                    if !keys.is_empty() {
                        return keys[self.random.index(keys.len())].clone();
                    }
                }
            }
            _ => {}
        }
        let number = self.random.below(self.keys);
        key_of(known, number, self.longest())
    }

    fn longest(&self) -> usize {
        *self.interface.key_bytes().end()
    }

    fn value(&mut self, known: &Known) -> Vec<u8> {
        let kind = known.kind;
        let number = self.random.below(self.values);
        if !kind.has_many() {
            let bytes = if self.large {
                self.random.pick(&[0, 1, 50, 1000, 2030, 4050, 4096, 9000, 20000])
            } else {
                self.random.pick(&[0, 1, 5, 8, 40, 100])
            };
            return vec![b'a' + (number % 26) as u8; bytes];
        }
        match self.random.below(300) {
            0 => return Vec::new(),
            1 => return vec![b'v'; self.interface.key_bytes().end() + 1],
            2 => return vec![b'w'; 17],
            _ => {}
        }
        if kind.is_fixed() {
            let mut value = (number * 37).to_le_bytes().to_vec();
            value.resize(known.value_bytes, b'f');
            return value;
        }
        let text = format!("{}", number * 7 % 101 + number / 101 * 1000);
        let long = number.is_multiple_of(9) && self.large;
        let bytes = if long { self.longest() } else { text.len() };
        let mut value = text.into_bytes();
        value.resize(bytes, b'.');
        value
    }

    fn record_op(&mut self, txn: Slot) -> Op {
        let dbi = self.some_dbi();
        let known = self.known(txn, dbi);
        let key = self.key(&known, dbi, txn);
        if self.interface.is_mdbx() && self.random.chance(25) {
            return self.other_record_op(txn, dbi, &known, key);
        }
        let value = self.value(&known);
        match self.random.below(100) {
            0..15 => Op::Get { txn, dbi, key },
            15..60 => Op::Put { txn, dbi, key, value, flags: self.put_flags(false) },
            60..75 => Op::Del { txn, dbi, key, value: None },
            75..90 => {
                let value = self.stored_value(txn, dbi, &key, 70).unwrap_or(value);
                Op::Del { txn, dbi, key, value: Some(value) }
            }
            _ => self.many(txn, dbi, &known),
        }
    }

    /// A value that a key has, if it has one, in so many of a hundred cases.
    fn stored_value(&mut self, txn: Slot, dbi: u32, key: &[u8], percent: u64) -> Option<Vec<u8>> {
        let stored = self.model.rows(txn, dbi).ok().and_then(Result::ok);
        let values = stored.and_then(|rows| rows.values(key)).map(<[_]>::to_vec)?;
        let wanted = self.random.chance(percent);
        wanted.then(|| values[self.random.index(values.len())].clone())
    }

    /// What only libmdbx does with records.
    fn other_record_op(&mut self, txn: Slot, dbi: u32, known: &Known, key: Vec<u8>) -> Op {
        let mut value = self.value(known);
        match self.random.below(100) {
            0..15 => Op::GetCounted { txn, dbi, key },
            15..35 => {
                value = self.stored_value(txn, dbi, &key, 50).unwrap_or(value);
                Op::GetNear { txn, dbi, key, value }
            }
            35..50 => {
                let (values, flags) = self.several(known);
                Op::PutMany { txn, dbi, key, values, flags }
            }
            _ => {
                use put::*;
                let old = self.stored_value(txn, dbi, &key, 80).unwrap_or(value);
                let new = self.random.chance(70).then(|| self.value(known));
                let how = [0, CURRENT, CURRENT, CURRENT | NOOVERWRITE, NOOVERWRITE, NODUPDATA];
                let more = if self.random.chance(15) { ALLDUPS } else { 0 };
                let flags = self.random.pick(&how) | more;
                Op::Replace { txn, dbi, key, old, new, flags }
            }
        }
    }

    fn many(&mut self, txn: Slot, dbi: u32, known: &Known) -> Op {
        let count = self.random.pick(&[10, 40, 150]);
        let (first, step) = (self.random.below(self.keys), self.random.pick(&[1, 1, 2, 7]));
        let spread = self.values > 100 && known.kind.has_many();
        let mut pairs = Vec::new();
        for i in 0..count {
            let number = (first + if spread { i / 100 } else { i * step }) % self.keys;
            let mut value = self.value(known);
            if value.is_empty() || value.len() > 511 && known.kind.has_many() || value.len() == 17 {
                value = vec![b'x'; known.value_bytes];
            }
            pairs.push((key_of(known, number, self.longest()), value));
        }
        Op::Many { txn, dbi, pairs, delete: self.random.chance(35) }
    }

    fn put_flags(&mut self, of_cursor: bool) -> u32 {
        use put::*;
        if self.random.chance(60) {
            return 0;
        }
        let one = |random: &mut Random| {
            random.pick(&[NOOVERWRITE, NODUPDATA, RESERVE, APPEND, APPENDDUP])
        };
        let mut flags = one(&mut self.random);
        if self.random.chance(15) {
            flags |= one(&mut self.random);
        }
        match self.random.below(100) {
            0..2 => flags |= if of_cursor { 0x100 } else { CURRENT },
            2 if !of_cursor && !self.interface.is_mdbx() => flags |= MULTIPLE,
            _ => {}
        }
        if self.interface.is_mdbx() && self.random.chance(40) {
            return self.random.pick(&[ALLDUPS, CURRENT, CURRENT | ALLDUPS, flags | ALLDUPS]);
        }
        flags
    }

    // ---- cursors
}

fn open(txn: Slot, known: &Known) -> Op {
    let (name, custom) = (known.name.clone(), known.kind.custom);
    let create = if name.is_some() { kind::CREATE } else { 0 };
    Op::Open { txn, name, flags: known.kind.flags | create, custom }
}

/// A key: short ones, long ones, some that begin alike.
fn key_of(known: &Known, number: u64, longest: usize) -> Vec<u8> {
    if known.kind.has_integer_keys() {
        let number = number * 37 % 1009 + number;
        return number.to_le_bytes()[..known.key_bytes].to_vec();
    }
    let mut key = number.to_string().into_bytes();
    let bytes = match number % 16 {
        3 => 60,
        7 => longest,
        11 => 5,
        _ => key.len(),
    };
    key.resize(bytes, b'-');
    key
}
