//! Random histories against a `BTreeMap`, with the checker after each commit.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, SystemTime};

use huon::{Bytes, Durability, Env, Error, Extension, ReadTxn, Result, TableDef, Txn, WriteTxn};
use huon_lsm::{Lsm, LsmDef, LsmOptions, RawLsmTable};

use crate::{Random, small_options};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A merge operator's name, and what it makes of a value and an operand.
type Operator = (&'static str, fn(&[u8], &[u8]) -> Vec<u8>);

/// Those of the two LSM tables.
const OPERATORS: [Operator; 2] = [("tail", tail), ("sum", sum)];

/// The last bytes of both, which show their order.
fn tail(older: &[u8], newer: &[u8]) -> Vec<u8> {
    let both = [older, newer].concat();
    both[both.len().saturating_sub(50)..].to_vec()
}

/// Both as numbers, of which the lowest bytes count.
fn sum(older: &[u8], newer: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        let mut low = [0; 8];
        low.iter_mut().zip(bytes).for_each(|(low, byte)| *low = *byte);
        u64::from_le_bytes(low)
    };
    number(older).wrapping_add(number(newer)).to_le_bytes().to_vec()
}

fn merged(which: usize, older: Option<&Vec<u8>>, operand: Vec<u8>) -> Vec<u8> {
    older.map_or(operand.clone(), |older| OPERATORS[which].1(older, &operand))
}

/// Two LSM tables, and an ordinary one.
#[derive(Clone, Default, PartialEq, Debug)]
struct Models([Model; 3]);

const ORDINARY: TableDef<Bytes, Bytes> = TableDef::new("ordinary");

struct Tables {
    lsm: Lsm,
    tables: [RawLsmTable; 2],
    ordinary: huon::RawTable,
}

impl Tables {
    fn open(env: &Env, options: LsmOptions) -> Tables {
        let lsm = Lsm::with_options(env, options).unwrap();
        let table = |which: usize| {
            let ((operator, act), def) =
                (OPERATORS[which], LsmDef::<Bytes, Bytes>::named(["a", "b/r/001"][which]));
            let def =
                def.merged_by(operator, move |older, newer, both| both.set(&act(older, newer)));
            lsm.table(&def).unwrap()
        };
        let ordinary = env.update(|txn| txn.create_table(&ORDINARY)).unwrap();
        Tables { tables: [table(0), table(1)], ordinary, lsm: lsm.clone() }
    }
}

struct World {
    random: Random,
    env: Env,
    tables: Tables,
    models: Models,
    snapshots: Vec<(ReadTxn, Models)>,
    /// The records of each run that was ever seen frozen, as it was first seen: a hash of each.
    runs: HashMap<(usize, u64), Vec<u64>>,
    /// Keys above all others that were made.
    highest: u64,
}

/// A layer that has the commit fail.
struct Fail;

impl Extension for Fail {
    fn before_commit(&mut self, _: &mut WriteTxn) -> Result<()> {
        Err(Error::Invalid("it fails"))
    }
}

fn key_of(n: u64) -> Vec<u8> {
    match n % 5 {
        0 => n.to_be_bytes()[6..].to_vec(),
        1 => format!("{}{n:04}", "long-".repeat(16)).into_bytes(),
        _ => format!("key-{n:04}").into_bytes(),
    }
}

const KEYS: u64 = 300;

impl World {
    fn key(&mut self) -> Vec<u8> {
        match self.random.below(150) {
            0 => Vec::new(),
            _ => key_of(self.random.below(KEYS)),
        }
    }

    fn bounds(&mut self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let mut bound = || match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key_of(self.random.below(KEYS))),
            _ => Bound::Excluded(key_of(self.random.below(KEYS))),
        };
        (bound(), bound())
    }

    fn value(&mut self) -> Vec<u8> {
        let bytes = if self.random.below(40) == 0 { 700 } else { self.random.below(30) };
        vec![self.random.below(256) as u8; bytes as usize]
    }

    /// One change in a transaction, and in the model.
    fn change(&mut self, txn: &mut WriteTxn) -> Result<()> {
        let (which, key) = (self.random.below(2) as usize, self.key());
        let value = self.value();
        let table = self.tables.tables[which].clone();
        let known = self.models.0[which].get(&key).cloned();
        match self.random.below(75) {
            60.. => {
                table.merge(txn, &key, &value)?;
                self.models.0[which].insert(key, merged(which, known.as_ref(), value));
            }
            0..=27 => {
                table.put(txn, &key, &value)?;
                self.models.0[which].insert(key, value);
            }
            28..=37 => {
                table.delete(txn, &key)?;
                self.models.0[which].remove(&key);
            }
            38 | 39 => {
                let is_put = table.put_if_absent(txn, &key, &value)?;
                assert_eq!(is_put, known.is_none());
                self.models.0[which].entry(key).or_insert(value);
            }
            40 => {
                assert_eq!(table.update(txn, &key, &value)?, known.is_some());
                self.models.0[which].entry(key).and_modify(|old| *old = value);
            }
            41 | 42 => {
                let old = table.replace(txn, &key, &value)?.map(huon::Owned::into_bytes);
                assert_eq!(old, known);
                self.models.0[which].insert(key, value);
            }
            43 => {
                let old = table.take(txn, &key)?.map(huon::Owned::into_bytes);
                assert_eq!(old, known);
                self.models.0[which].remove(&key);
            }
            44 | 45 => self.delete_range(txn, which)?,
            46 => self.bulk_load(txn, which)?,
            47 if self.random.below(6) == 0 => {
                if self.random.below(2) == 0 {
                    table.clear(txn)?
                } else {
                    table.drop_table(txn)?
                }
                self.models.0[which].clear();
            }
            48 => self.verify(txn)?,
            54 => {
                // In an hour, or since an hour.
                let hour = Duration::from_secs(3600);
                if self.random.below(2) == 0 {
                    table.put_until(txn, &key, &value, SystemTime::now() + hour)?;
                    self.models.0[which].insert(key, value);
                } else {
                    table.put_until(txn, &key, &value, SystemTime::now() - hour)?;
                    self.models.0[which].remove(&key);
                }
            }
            49 | 50 => self.ascending(txn, which)?,
            51..=53 => {
                self.tables.ordinary.put(txn, &key, &value)?;
                self.models.0[2].insert(key, value);
            }
            _ => self.look(txn)?,
        }
        Ok(())
    }

    fn delete_range(&mut self, txn: &mut WriteTxn, which: usize) -> Result<()> {
        let (from, to) = self.bounds();
        let bounds = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        self.tables.tables[which].delete_range(txn, bounds)?;
        self.models.0[which].retain(|key, _| !contains(bounds, key));
        Ok(())
    }

    /// Records in order, which become a run at once where that is possible.
    fn bulk_load(&mut self, txn: &mut WriteTxn, which: usize) -> Result<()> {
        let count = self.random.below(40);
        let mut records = Model::new();
        for _ in 0..count {
            records.insert(self.key(), self.value());
        }
        let fails = self.random.below(4) == 0;
        let table = &self.tables.tables[which];
        let loaded = table.bulk_load(txn, |append| {
            records.iter().try_for_each(|(key, value)| append(key, value))?;
            if fails { Err(Error::Invalid("enough")) } else { Ok(()) }
        });
        match loaded {
            Ok(()) => self.models.0[which].extend(records),
            Err(Error::Invalid("enough")) => assert!(fails),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Keys above all that are there.
    fn ascending(&mut self, txn: &mut WriteTxn, which: usize) -> Result<()> {
        let above =
            self.models.0[which].last_key_value().map_or(Vec::new(), |(key, _)| key.clone());
        let is_highest = self.random.below(2) == 0;
        for n in 0..self.random.below(20) {
            self.highest += 1;
            let key = if is_highest {
                format!("zzz-{:08}", self.highest).into_bytes()
            } else {
                [&above[..above.len().min(20)], b"~", &n.to_be_bytes()].concat()
            };
            let value = self.value();
            self.tables.tables[which].put(txn, &key, &value)?;
            self.models.0[which].insert(key, value);
        }
        Ok(())
    }

    /// Some changes, some of them in nested levels.
    fn changes(&mut self, txn: &mut WriteTxn, count: u64, depth: u32) -> Result<()> {
        let mut savepoints: Vec<(String, Models)> = Vec::new();
        for n in 0..count {
            match self.random.below(40) {
                0 | 1 if depth < 3 => {
                    let before = self.models.clone();
                    let (inner, is_kept) = (self.random.below(30), self.random.below(2) == 0);
                    let ended = txn.nested(|txn| {
                        self.changes(txn, inner, depth + 1)?;
                        if is_kept { Ok(()) } else { Err(Error::Invalid("undone")) }
                    });
                    match ended {
                        Ok(()) => {}
                        Err(Error::Invalid("undone")) => self.models = before,
                        Err(error) => return Err(error),
                    }
                    self.look(txn)?;
                }
                2 => {
                    let name = format!("{depth}-{n}");
                    txn.savepoint(&name)?;
                    savepoints.push((name, self.models.clone()));
                }
                3 if !savepoints.is_empty() => {
                    let at = self.random.below(savepoints.len() as u64) as usize;
                    savepoints.truncate(at + 1);
                    if self.random.below(2) == 0 {
                        txn.roll_back_to(&savepoints[at].0)?;
                        self.models = savepoints[at].1.clone();
                        self.look(txn)?;
                    } else {
                        txn.release(&savepoints[at].0)?;
                        savepoints.pop();
                    }
                }
                _ => self.change(txn)?,
            }
        }
        Ok(())
    }

    fn transaction(&mut self) {
        let before = self.models.clone();
        let count = match self.random.below(6) {
            0 => 400,
            1 | 2 => 60,
            _ => 1 + self.random.below(12),
        };
        let mut txn = self.env.write().unwrap();
        if self.random.below(6) == 0 {
            // Nothing else, so that they can be appended to the oldest run.
            let which = self.random.below(2) as usize;
            self.ascending(&mut txn, which).unwrap();
        } else {
            self.changes(&mut txn, count, 0).unwrap();
        }
        if self.random.below(5) == 0 {
            txn.abort();
            self.models = before;
        } else if self.random.below(6) == 0 {
            txn.extend(|| Fail);
            assert!(matches!(txn.commit(), Err(Error::Invalid("it fails"))));
            self.models = before;
        } else if self.random.below(2) == 0 {
            txn.commit().unwrap();
        } else {
            txn.commit_with(Durability::Lazy).unwrap();
        }
    }

    /// A table is written anew, its end is deleted, and comes again: what was there lies in several
    /// runs, of which merges take some.
    fn renew(&mut self) {
        let which = self.random.below(2) as usize;
        let table = self.tables.tables[which].clone();
        self.env.update(|txn| table.clear(txn)).unwrap();
        self.models.0[which].clear();
        let lows = |count: u64| (0..count).map(|n| n * KEYS / count / 2).collect::<Vec<u64>>();
        for count in [10, 11, 12, 13, 120].map(lows) {
            self.put_all(which, count.into_iter().map(key_of).collect());
        }
        self.highest += 20;
        let key_at = |at: u64| format!("zzz-{at:08}").into_bytes();
        let end = self.highest;
        // Not only keys above all others, which would be appended.
        self.put_all(which, (end - 20..end).map(key_at).chain([key_of(2)]).collect());
        let from = key_at(end - 1 - self.random.below(18));
        self.env.update(|txn| table.delete_range(txn, &from[..]..)).unwrap();
        self.models.0[which].retain(|key, _| *key < from);
        if self.random.below(4) > 0 {
            self.tables.lsm.compactor().run_until_idle().unwrap();
        }
        self.put_all(which, (end..end + 9).map(key_at).collect());
        self.highest += 9;
    }

    /// Records of one transaction that has no others.
    fn put_all(&mut self, which: usize, keys: Vec<Vec<u8>>) {
        let records: Vec<_> = keys.into_iter().map(|key| (key, self.value())).collect();
        let table = self.tables.tables[which].clone();
        let put = |txn: &mut WriteTxn| {
            records.iter().try_for_each(|(key, value)| table.put(txn, key, value))
        };
        self.env.update(put).unwrap();
        self.models.0[which].extend(records);
    }

    fn batch(&mut self) {
        let mut batch = self.tables.lsm.batch();
        for _ in 0..self.random.below(50) {
            let (which, key, value) = (self.random.below(2) as usize, self.key(), self.value());
            let table = &self.tables.tables[which].clone();
            match self.random.below(10) {
                0 => {
                    let (from, to) = self.bounds();
                    let bounds = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
                    batch.delete_range(table, bounds).unwrap();
                    self.models.0[which].retain(|key, _| !contains(bounds, key));
                }
                1 | 2 => {
                    batch.delete(table, &key).unwrap();
                    self.models.0[which].remove(&key);
                }
                3..=5 => {
                    batch.merge(table, &key, &value).unwrap();
                    let value = merged(which, self.models.0[which].get(&key), value);
                    self.models.0[which].insert(key, value);
                }
                _ => {
                    batch.put(table, &key, &value).unwrap();
                    self.models.0[which].insert(key, value);
                }
            }
        }
        self.tables.lsm.write(batch).unwrap();
    }

    /// A few lookups.
    fn look(&mut self, txn: &impl Txn) -> Result<()> {
        for _ in 0..3 {
            let (which, key) = (self.random.below(2) as usize, self.key());
            let table = &self.tables.tables[which];
            let wanted = self.models.0[which].get(&key).map(Vec::as_slice);
            assert_eq!(table.get(txn, &key)?, wanted, "{}", key.escape_ascii());
            assert_eq!(table.contains(txn, &key)?, wanted.is_some());
        }
        let (which, key) = (self.random.below(2) as usize, self.key());
        let (table, model) = (&self.tables.tables[which], &self.models.0[which]);
        let record = |(key, value)| (Vec::as_slice(key), Vec::as_slice(value));
        let above = model.range(key.clone()..).next().map(record);
        assert_eq!(table.at_or_above(txn, &key)?, above);
        let below = model.range(..=key.clone()).next_back().map(record);
        assert_eq!(table.at_or_below(txn, &key)?, below);
        assert_eq!(table.is_empty(txn)?, model.is_empty());
        assert_eq!(table.count(txn, &key[..]..)?, model.range(key.clone()..).count() as u64);
        let bounds = self.bounds();
        self.range(txn, which, bounds)
    }

    fn range(
        &mut self,
        txn: &impl Txn,
        which: usize,
        (from, to): (Bound<Vec<u8>>, Bound<Vec<u8>>),
    ) -> Result<()> {
        let bounds = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let records = self.models.0[which].iter();
        let mut wanted: std::collections::VecDeque<_> =
            records.filter(|(key, _)| contains(bounds, key)).collect();
        let mut range = self.tables.tables[which].range(txn, bounds)?;
        let way = self.random.below(3);
        loop {
            let back = way == 2 || way == 1 && self.random.below(2) == 0;
            let found = if back { range.next_back() } else { range.next() };
            let model = if back { wanted.pop_back() } else { wanted.pop_front() };
            let model = model.map(|(key, value)| (&key[..], &value[..]));
            assert_eq!(found.transpose()?, model);
            if model.is_none() {
                assert!(range.next().is_none() && range.next_back().is_none());
                return Ok(());
            }
        }
    }

    /// Everything.
    fn verify(&mut self, txn: &impl Txn) -> Result<()> {
        for which in 0..2 {
            let (table, model) = (self.tables.tables[which].clone(), self.models.0[which].clone());
            let wanted = || model.iter().map(|(key, value)| (&key[..], &value[..]));
            assert!(table.iter(txn)?.map(|record| record.unwrap()).eq(wanted()));
            assert!(table.iter(txn)?.rev().map(|record| record.unwrap()).eq(wanted().rev()));
            let keys: Vec<Vec<u8>> = (0..KEYS).map(key_of).collect();
            let keys: Vec<&[u8]> = keys.iter().chain(model.keys()).map(Vec::as_slice).collect();
            let mut next = 0;
            table.get_many(txn, &keys, |i, value| {
                assert_eq!(i, next);
                next += 1;
                assert_eq!(value, model.get(keys[i]).map(Vec::as_slice));
            })?;
            assert_eq!(next, keys.len());
            let prefix = self.key();
            let prefix = &prefix[..prefix.len().min(5)];
            let found = table.prefix(txn, prefix)?.map(|record| record.unwrap());
            assert!(found.eq(wanted().filter(|(key, _)| key.starts_with(prefix))));
            self.walk(txn, which)?;
        }
        let found = self.tables.ordinary.iter(txn)?.map(|record| record.unwrap());
        assert!(found.eq(self.models.0[2].iter().map(|(key, value)| (&key[..], &value[..]))));
        Ok(())
    }

    /// A cursor that goes about.
    fn walk(&mut self, txn: &impl Txn, which: usize) -> Result<()> {
        let model: Vec<_> = self.models.0[which].clone().into_iter().collect();
        let mut cursor = self.tables.tables[which].cursor();
        let key = self.key();
        cursor.seek(&key)?;
        let mut gap = model.partition_point(|(known, _)| *known < key);
        for _ in 0..8 {
            let record = |at: usize| model.get(at).map(|(key, value)| (&key[..], &value[..]));
            if self.random.below(2) == 0 {
                assert_eq!(cursor.next(txn)?, record(gap));
                gap = (gap + 1).min(model.len());
            } else {
                assert_eq!(cursor.prev(txn)?, gap.checked_sub(1).and_then(record));
                gap = gap.saturating_sub(1);
            }
        }
        Ok(())
    }

    fn check(&mut self) {
        let txn = self.env.read().unwrap();
        for which in 0..2 {
            let check = self.tables.tables[which].check(&txn).unwrap();
            assert_eq!(check.problems, Vec::<String>::new());
            for run in check.runs.iter().filter(|run| !run.is_open) {
                let def = TableDef::<Bytes, Bytes>::named(&run.table);
                let table = txn.open_table(&def).unwrap().expect("a run has a table");
                let hash = |record: Result<(&[u8], &[u8])>| {
                    BuildHasherDefault::<DefaultHasher>::new().hash_one(record.unwrap())
                };
                let records: Vec<u64> = table.iter(&txn).unwrap().map(hash).collect();
                let known = self.runs.entry((which, run.id)).or_insert_with(|| records.clone());
                // A merge takes them from the lowest on.
                let is_same =
                    if run.is_input { known.ends_with(&records) } else { *known == records };
                assert!(is_same, "L1: run {} has changed", run.id);
            }
        }
    }

    fn compact(&mut self) {
        let compactor = self.tables.lsm.compactor();
        match self.random.below(8) {
            0 => drop(compactor.merge_all().unwrap()),
            1 | 2 => drop(compactor.run_until_idle().unwrap()),
            _ => drop(compactor.run_once().unwrap()),
        }
    }

    fn snapshot(&mut self) {
        let txn = self.env.read().unwrap();
        self.snapshots.push((txn, self.models.clone()));
        if self.snapshots.len() > 3 {
            let at = self.random.below(3) as usize;
            let (txn, models) = self.snapshots.remove(at);
            let now = std::mem::replace(&mut self.models, models);
            self.verify(&txn).unwrap();
            self.models = now;
        }
    }

    fn reopen(&mut self, path: &Path, options: LsmOptions) {
        self.snapshots.clear();
        let in_memory = Env::in_memory().unwrap();
        self.tables = Tables::open(&in_memory, options.clone());
        self.env = in_memory;
        self.env = open(path);
        self.tables = Tables::open(&self.env, options);
    }
}

fn contains(bounds: (Bound<&[u8]>, Bound<&[u8]>), key: &[u8]) -> bool {
    let above = match bounds.0 {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    };
    above
        && match bounds.1 {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        }
}

fn open(path: &Path) -> Env {
    Env::options().durability(Durability::Lazy).open(path).unwrap()
}

fn play(seed: u64, steps: usize, options: &LsmOptions) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    let tables = Tables::open(&env, options.clone());
    let mut world = World {
        random: Random(seed),
        env,
        tables,
        models: Models::default(),
        snapshots: Vec::new(),
        runs: HashMap::new(),
        highest: 0,
    };
    for _ in 0..steps {
        match world.random.below(20) {
            0..=11 => world.transaction(),
            12 | 13 => world.batch(),
            14..=16 => world.compact(),
            17 | 18 => world.snapshot(),
            _ => match world.random.below(4) {
                0 => world.reopen(&path, options.clone()),
                1 => world.renew(),
                _ => continue,
            },
        }
        world.check();
        let txn = world.env.read().unwrap();
        world.verify(&txn).unwrap();
        drop(txn);
    }
    assert!(world.env.check().unwrap().is_clean());
}

#[test]
fn tables_do_what_the_model_does() {
    for seed in 0..6 {
        play(seed, 120, &small_options());
    }
}

#[test]
fn tables_without_filters_do_what_the_model_does() {
    let options = LsmOptions { filter_bits: 0, fan: 2, runs_max: 8, ..small_options() };
    for seed in 100..103 {
        play(seed, 120, &options);
    }
}

#[test]
fn tables_that_commits_do_not_merge_do_what_the_model_does() {
    let options = LsmOptions { slack: 1000, runs_max: 1000, filter_memory: 0, ..small_options() };
    for seed in 200..203 {
        play(seed, 120, &options);
    }
}
