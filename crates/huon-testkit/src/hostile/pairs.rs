//! The multimaps of the fixture, and what they should hold.

use std::collections::BTreeMap;

use huon::{Bytes, Error, MultiDef, Order, RawMulti, ReadTxn, WriteTxn};

/// Names of the multimaps: values of any length, and integers.
pub const MULTIS: [&str; 2] = ["pairs", "pairs-of-integers"];

/// Their definitions.
pub fn def(multi: usize) -> MultiDef<Bytes, Bytes> {
    match multi {
        0 => MultiDef::new(MULTIS[0]),
        _ => MultiDef::new(MULTIS[1]).values_ordered(Order::NativeU32).values_of_bytes(4),
    }
}

/// The key that has a tree of values, and one that has a few. Others have one.
pub const KEYS: [&[u8]; 3] = [b"all", b"few", b"one"];

/// Value `n` of a multimap.
pub fn value(multi: usize, n: u64, page_bytes: usize) -> Vec<u8> {
    match multi {
        0 => format!("{}{n:03}", "v".repeat(n as usize * 7 % (page_bytes / 24))).into_bytes(),
        _ => (n as u32).wrapping_mul(2_654_435_761).to_le_bytes().to_vec(),
    }
}

/// How a value sorts: as bytes, or as an integer.
fn rank(multi: usize, value: &[u8]) -> Vec<u8> {
    match multi {
        0 => value.to_vec(),
        _ => value.iter().rev().copied().collect(),
    }
}

/// What a multimap holds: by key and rank of the value.
type Content = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// What the multimaps should hold.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Pairs {
    multis: [Content; 2],
}

impl Pairs {
    /// What a fixture's multimaps hold at first, in both.
    pub fn fill(&mut self, txn: &mut WriteTxn, page_bytes: usize) -> Result<(), Error> {
        for multi in 0..MULTIS.len() {
            // So many that they need a tree, with more than a leaf where pages are small.
            let many = if multi == 0 { 48 } else { 240.max(page_bytes as u64 / 7) };
            for n in 0..many {
                self.insert(txn, multi, KEYS[0], &value(multi, n, page_bytes))?;
            }
            for n in 0..5 {
                self.insert(txn, multi, KEYS[1], &value(multi, n, page_bytes))?;
            }
            self.insert(txn, multi, KEYS[2], &value(multi, 0, page_bytes))?;
        }
        Ok(())
    }

    /// Changes some of them, in both.
    pub fn change(&mut self, txn: &mut WriteTxn, n: u64, page_bytes: usize) -> Result<(), Error> {
        for multi in 0..MULTIS.len() {
            for key in [KEYS[0], KEYS[1], &n.to_be_bytes()] {
                self.insert(txn, multi, key, &value(multi, 1000 + n, page_bytes))?;
            }
            let gone = value(multi, n % 5, page_bytes);
            for key in [KEYS[0], KEYS[1]] {
                let table = txn.create_table(&def(multi))?;
                table.remove(txn, key, &gone)?;
                self.multis[multi].remove(&(key.to_vec(), rank(multi, &gone)));
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        txn: &mut WriteTxn,
        multi: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        let table = txn.create_table(&def(multi))?;
        table.put(txn, key, value)?;
        self.multis[multi].insert((key.to_vec(), rank(multi, value)), value.to_vec());
        Ok(())
    }

    /// Names of the multimaps that are there.
    pub fn names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let there = (0..MULTIS.len()).filter(|&multi| !self.multis[multi].is_empty());
        there.map(|multi| MULTIS[multi].as_bytes().to_vec())
    }

    /// Compares what a snapshot shows. What is read is right, or told as an error.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self, txn: &ReadTxn, tell: &mut dyn FnMut(&Error)) -> Result<(), String> {
        for (multi, content) in self.multis.iter().enumerate() {
            match txn.open_table(&def(multi)) {
                Err(error) => tell(&error),
                Ok(None) if content.is_empty() => {}
                Ok(None) => return Err(format!("{} is gone", MULTIS[multi])),
                Ok(Some(table)) => compare(txn, table, content, multi, tell)
                    .map_err(|difference| format!("{}: {difference}", MULTIS[multi]))?,
            }
        }
        Ok(())
    }
}

type Found<'t> = Result<(&'t [u8], &'t [u8]), Error>;

/// Whether the pair is the expected one, or an error that ends the walk.
fn same(
    found: Option<Found<'_>>,
    expected: Option<(&[u8], &[u8])>,
    tell: &mut dyn FnMut(&Error),
) -> Result<bool, String> {
    match found {
        Some(Err(error)) => {
            tell(&error);
            Ok(false)
        }
        found => {
            let found = found.transpose().ok().flatten();
            if found == expected {
                Ok(found.is_some())
            } else {
                Err(format!("{found:?} for {expected:?}"))
            }
        }
    }
}

fn compare(
    txn: &ReadTxn,
    table: RawMulti,
    content: &Content,
    multi: usize,
    tell: &mut dyn FnMut(&Error),
) -> Result<(), String> {
    let pairs = || content.iter().map(|((key, _), value)| (&key[..], &value[..]));
    match table.iter(txn) {
        Err(error) => tell(&error),
        Ok(mut found) => {
            let mut expected = pairs();
            while same(found.next(), expected.next(), tell)? {}
        }
    }
    match table.iter(txn) {
        Err(error) => tell(&error),
        Ok(mut found) => {
            let mut expected = pairs().rev();
            while same(found.next_back(), expected.next(), tell)? {}
        }
    }
    for (key, value) in pairs() {
        match table.contains(txn, key, value) {
            Ok(true) => {}
            Ok(false) => return Err(format!("{key:?} has not {value:?}")),
            Err(error) => tell(&error),
        }
    }
    for key in KEYS {
        let all = pairs().filter(|pair| pair.0 == key);
        match table.values(txn, key) {
            Err(error) => tell(&error),
            Ok(values) => {
                let mut found = values.map(|value| value.map(|value| (key, value)));
                let mut expected = all.clone();
                while same(found.next(), expected.next(), tell)? {}
            }
        }
        match table.count_values(txn, key) {
            Ok(count) if count == all.count() as u64 => {}
            Ok(count) => return Err(format!("{count} values of {key:?}")),
            Err(error) => tell(&error),
        }
    }
    let absent = value(multi, 9999, 512);
    match table.contains(txn, KEYS[0], &absent) {
        Ok(true) => Err("a value that was never there".into()),
        Ok(false) => Ok(()),
        Err(error) => {
            tell(&error);
            Ok(())
        }
    }
}
