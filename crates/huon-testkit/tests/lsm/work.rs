//! What writers put into an LSM table, and how any process can tell whether a snapshot of it is
//! right.
//!
//! 1. What transaction `n` of writer `w` changes follows from the two numbers.
//! 2. Each transaction notes itself in an ordinary table, `log`, in the same commit. So what the
//!    LSM table must hold follows from the log of the same snapshot.

use std::collections::BTreeMap;

use huon::{Bytes, Durability, Env, Error, Options, ReadTxn, Result, TableDef, Txn, U64, WriteTxn};
use huon_lsm::{Lsm, LsmDef, LsmOptions, RawLsmTable};
use huon_testkit::random::Random;

/// Numbers of commits, and the writer and number of each.
const LOG: TableDef<U64, Bytes> = TableDef::new("log");
/// How many transactions each writer has made.
const COUNTS: TableDef<U64, U64> = TableDef::new("counts");
const KEYS: u64 = 500;

pub(crate) fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(1024).max_bytes(64 << 20).durability(Durability::Lazy);
    options
}

/// `slack`: so many runs more than the fan are left to compactors.
pub(crate) fn lsm_options(slack: usize, lease: std::time::Duration) -> LsmOptions {
    LsmOptions {
        fan: 3,
        filter_bits: 10,
        small: 8,
        open_bytes: 1500,
        base_bytes: 1500,
        step_bytes: 2500,
        batch_bytes: 6000,
        filter_memory: 1000,
        slack,
        runs_max: 2000,
        lease,
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:04}").into_bytes()
}

enum Change {
    Put(u64, Vec<u8>),
    Merge(u64, Vec<u8>),
    Delete(u64),
    DeleteRange(u64, u64),
}

/// What a transaction does.
fn changes(writer: u64, number: u64) -> impl Iterator<Item = Change> {
    let mut random = Random::new(writer << 40 | number);
    let count = random.pick(&[1, 3, 12, 40, 150]);
    (0..count).map(move |_| {
        let key = random.below(KEYS);
        match random.below(60) {
            0 => Change::DeleteRange(key, key + random.below(40)),
            1..12 => Change::Delete(key),
            12..24 => Change::Merge(key, vec![random.next() as u8; random.below(4) as usize]),
            _ => Change::Put(key, vec![random.next() as u8; random.below(40) as usize]),
        }
    })
}

/// Makes the next transaction of a writer, up to its commit; its number.
pub(crate) fn prepare(txn: &mut WriteTxn, table: &RawLsmTable, writer: u64) -> Result<u64> {
    let (log, counts) = (txn.create_table(&LOG)?, txn.create_table(&COUNTS)?);
    let number = counts.get(txn, writer)?.unwrap_or(0) + 1;
    for change in changes(writer, number) {
        match change {
            Change::Put(number, value) => table.put(txn, &key(number), &value)?,
            Change::Merge(number, operand) => table.merge(txn, &key(number), &operand)?,
            Change::Delete(number) => table.delete(txn, &key(number))?,
            Change::DeleteRange(from, to) => {
                table.delete_range(txn, &key(from)[..]..&key(to)[..])?;
            }
        }
    }
    counts.put(txn, writer, number)?;
    let place = log.last(txn)?.map_or(0, |(place, _)| place + 1);
    let entry = [writer.to_le_bytes(), number.to_le_bytes()].concat();
    log.put(txn, place, &entry)?;
    Ok(number)
}

/// How many transactions of a writer a snapshot has.
pub(crate) fn count(txn: &ReadTxn, writer: u64) -> Result<u64> {
    let counts = txn.open_table(&COUNTS)?;
    counts.map_or(Ok(0), |counts| Ok(counts.get(txn, writer)?.unwrap_or(0)))
}

/// What the table must hold, by the log.
#[derive(Default)]
pub(crate) struct Replay {
    next: u64,
    model: BTreeMap<u64, Vec<u8>>,
}

impl Replay {
    /// Compares the table with what the log of the same snapshot says, which is not older than
    /// those before.
    pub(crate) fn verify(&mut self, txn: &ReadTxn, table: &RawLsmTable) -> Result<()> {
        self.follow(txn)?;
        self.compare(txn, table)
    }

    fn follow(&mut self, txn: &ReadTxn) -> Result<()> {
        let Some(log) = txn.open_table(&LOG)? else { return Ok(()) };
        for entry in log.range(txn, self.next..)? {
            let (place, entry) = entry?;
            assert_eq!(place, self.next, "a commit is missing in the log");
            let (words, _) = entry.as_chunks::<8>();
            let [writer, number] = [0, 1].map(|n| u64::from_le_bytes(words[n]));
            for change in changes(writer, number) {
                match change {
                    Change::Put(key, value) => drop(self.model.insert(key, value)),
                    Change::Merge(key, operand) => {
                        let older = self.model.entry(key).or_default();
                        *older = tail(older, &operand);
                    }
                    Change::Delete(key) => drop(self.model.remove(&key)),
                    Change::DeleteRange(from, to) => {
                        self.model.retain(|key, _| !(from..to).contains(key));
                    }
                }
            }
            self.next = place + 1;
        }
        Ok(())
    }

    /// The same snapshot again, or another of the same commits.
    pub(crate) fn compare(&self, txn: &ReadTxn, table: &RawLsmTable) -> Result<()> {
        let mut known = self.model.iter();
        for record in table.iter(txn)? {
            let (found, value) = record?;
            let (number, known) = known.next().expect("no more records than there should be");
            let name = found.escape_ascii();
            assert!(
                found == key(*number) && value == known,
                "{name} is wrong, or {number} missing"
            );
        }
        assert_eq!(known.next(), None, "a record is missing");
        for number in (self.next % 13..KEYS).step_by(13) {
            let found = table.get(txn, &key(number))?;
            assert_eq!(found, self.model.get(&number).map(|value| &value[..]), "a get of {number}");
        }
        Ok(())
    }
}

/// Both checks, of the newest snapshot.
pub(crate) fn check(env: &Env, table: &RawLsmTable) {
    let txn = env.read().expect("a snapshot");
    let check = table.check(&txn).expect("a check");
    assert!(check.is_clean(), "{:?}", check.problems);
    drop(txn);
    huon_testkit::audit::audit(env).unwrap_or_else(|what| panic!("{what}"));
}

pub(crate) fn open(env: &Env, options: LsmOptions) -> (Lsm, RawLsmTable) {
    let lsm = Lsm::with_options(env, options).expect("options");
    let def = LsmDef::<Bytes, Bytes>::new("t")
        .merged_by("tail", |older, newer, both| both.set(&tail(older, newer)));
    let table = lsm.table(&def).expect("a table");
    (lsm, table)
}

/// What the merge operator makes of a value and an operand: the last bytes of both, which show
/// their order.
pub(crate) fn tail(older: &[u8], newer: &[u8]) -> Vec<u8> {
    let both = [older, newer].concat();
    both[both.len().saturating_sub(40)..].to_vec()
}

/// Whether a merge has begun.
pub(crate) fn is_merging(txn: &impl Txn, table: &RawLsmTable) -> bool {
    table.stat(txn).expect("figures").merging_bytes > 0
}

/// An error other than that a parked reader was evicted.
pub(crate) fn unless_evicted<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Evicted) => Ok(None),
        Err(error) => Err(error),
    }
}
