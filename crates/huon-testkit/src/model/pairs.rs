//! What a multimap should hold: the values of each key, in their order.

use std::collections::BTreeMap;
use std::ops::Bound;

use huon::{RawMulti, Txn};

use crate::model::{self, KeyOrder, Mismatch, Record, Values, is_reversed};

/// The values of a key, each with it, under their sort keys. There is at least one.
pub type Held = BTreeMap<Vec<u8>, Record>;

/// A range of sort keys.
type Side = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A place among the values of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Among {
    /// Before all of them.
    Start,
    /// Behind all of them.
    End,
    /// Before a value, by its sort key.
    Before(Vec<u8>),
    /// Behind one.
    After(Vec<u8>),
}

impl Among {
    /// What lies behind the place, or before it.
    fn side(&self, back: bool) -> Option<Side> {
        use Bound::{Excluded, Included, Unbounded};
        match (self, back) {
            (Among::Start, true) | (Among::End, false) => None,
            (Among::Start, false) | (Among::End, true) => Some((Unbounded, Unbounded)),
            (Among::Before(value), false) => Some((Included(value.clone()), Unbounded)),
            (Among::Before(value), true) => Some((Unbounded, Excluded(value.clone()))),
            (Among::After(value), false) => Some((Excluded(value.clone()), Unbounded)),
            (Among::After(value), true) => Some((Unbounded, Included(value.clone()))),
        }
    }
}

/// What a multimap should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    order: KeyOrder,
    values: Values,
    keys: BTreeMap<Vec<u8>, Held>,
    /// Where all values have the length of the first one: what it is, once there was one.
    first_bytes: Option<usize>,
}

impl Pairs {
    /// No pairs.
    pub fn new(order: KeyOrder, values: Values) -> Pairs {
        Pairs { order, values, keys: BTreeMap::new(), first_bytes: None }
    }

    /// How many pairs there are.
    pub fn count(&self) -> usize {
        self.keys.values().map(BTreeMap::len).sum()
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.keys.values().flat_map(BTreeMap::values)
    }

    /// All keys in order, each with the first of its values, and how many it has.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = (&Record, u64)> {
        let first = |held: &Held| held.values().next().is_some();
        debug_assert!(self.keys.values().all(first), "no key is without values");
        self.keys.values().filter_map(|held| Some((held.values().next()?, held.len() as u64)))
    }

    /// The pairs of a range of keys.
    pub fn between(
        &self,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> Box<dyn DoubleEndedIterator<Item = &Record> + '_> {
        let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| self.order.sort_key(&key));
        let (from, to) = (sorted(from), sorted(to));
        if is_reversed(&from, &to) {
            return Box::new(std::iter::empty());
        }
        Box::new(self.keys.range((from, to)).flat_map(|(_, held)| held.values()))
    }

    /// The pair behind a place of a key, or before it, with the sort keys of both; keys that have
    /// no values are places, too.
    pub fn beside(
        &self,
        sort_key: &[u8],
        among: &Among,
        back: bool,
    ) -> Option<(&Vec<u8>, &Vec<u8>, &Record)> {
        let own = self.keys.get_key_value(sort_key).and_then(|(key, held)| {
            let mut side = held.range(among.side(back)?);
            let (value, pair) = if back { side.next_back() } else { side.next() }?;
            Some((key, value, pair))
        });
        own.or_else(|| {
            let at = Bound::Excluded(sort_key.to_vec());
            let (key, held) = if back {
                self.keys.range((Bound::Unbounded, at)).next_back()
            } else {
                self.keys.range((at, Bound::Unbounded)).next()
            }?;
            let (value, pair) = if back { held.last_key_value() } else { held.first_key_value() }?;
            Some((key, value, pair))
        })
    }

    /// The first pair or the last one, with the sort keys of both.
    pub fn extreme(&self, back: bool) -> Option<(&Vec<u8>, &Vec<u8>, &Record)> {
        let (key, held) =
            if back { self.keys.last_key_value() } else { self.keys.first_key_value() }?;
        let (value, pair) = if back { held.last_key_value() } else { held.first_key_value() }?;
        Some((key, value, pair))
    }

    /// The pairs of one key, with a range of values.
    pub fn values_between(
        &self,
        key: &[u8],
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> Box<dyn DoubleEndedIterator<Item = &Record> + '_> {
        let order = self.values.order;
        let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|value| order.sort_key(&value));
        let (from, to) = (sorted(from), sorted(to));
        match self.held(key) {
            Some(held) if !is_reversed(&from, &to) => {
                Box::new(held.range((from, to)).map(|(_, pair)| pair))
            }
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The values of a key, if it has any.
    pub fn held(&self, key: &[u8]) -> Option<&Held> {
        self.keys.get(&self.order.sort_key(key))
    }

    /// How many values a key has.
    pub fn count_values(&self, key: &[u8]) -> usize {
        self.held(key).map_or(0, BTreeMap::len)
    }

    /// Bytes of a key's values.
    pub fn bytes_of(&self, key: &[u8]) -> usize {
        self.held(key).map_or(0, |held| held.values().map(|pair| pair.1.len()).sum())
    }

    /// Whether there is such a pair.
    pub fn contains(&self, key: &[u8], value: &[u8]) -> bool {
        let sort_value = self.values.order.sort_key(value);
        self.held(key).is_some_and(|held| held.contains_key(&sort_value))
    }

    /// The one length of all values, as far as it is known.
    pub fn value_bytes(&self) -> Option<usize> {
        match self.values.equal_bytes {
            Some(0) => self.first_bytes,
            equal => self.values.order.key_bytes().or(equal.map(|bytes| bytes as usize)),
        }
    }

    /// Whether a value has a length that this multimap takes.
    pub fn takes(&self, value: &[u8]) -> bool {
        let is_first = self.values.equal_bytes == Some(0) && self.first_bytes.is_none();
        match self.value_bytes() {
            Some(bytes) => bytes == value.len(),
            None => !(is_first && value.is_empty()),
        }
    }

    /// Whether a pair would be above all others.
    pub fn is_above(&self, key: &[u8], value: &[u8]) -> bool {
        let ranks = (self.order.sort_key(key), self.values.order.sort_key(value));
        self.keys.last_key_value().is_none_or(|(last, held)| {
            let last_value = held.last_key_value().expect("a key has values").0;
            (last, last_value) < (&ranks.0, &ranks.1)
        })
    }

    /// Adds a pair; whether it was not there.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.first_bytes.get_or_insert(value.len());
        let sort_value = self.values.order.sort_key(value);
        let held = self.keys.entry(self.order.sort_key(key)).or_default();
        held.insert(sort_value, (key.into(), value.into())).is_none()
    }

    /// Takes a pair; whether it was there.
    pub fn remove(&mut self, key: &[u8], value: &[u8]) -> bool {
        let sort_key = self.order.sort_key(key);
        let Some(held) = self.keys.get_mut(&sort_key) else { return false };
        let there = held.remove(&self.values.order.sort_key(value)).is_some();
        if held.is_empty() {
            self.keys.remove(&sort_key);
        }
        there
    }

    /// Takes a key; how many values it had.
    pub fn remove_all(&mut self, key: &[u8]) -> u64 {
        self.keys.remove(&self.order.sort_key(key)).map_or(0, |held| held.len() as u64)
    }

    /// Takes the keys between two bounds of sort keys; how many pairs there were.
    pub fn delete_range(&mut self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> u64 {
        if is_reversed(&from, &to) {
            return 0;
        }
        let gone: Vec<Vec<u8>> = self.keys.range((from, to)).map(|(key, _)| key.clone()).collect();
        gone.iter().filter_map(|key| self.keys.remove(key)).map(|held| held.len() as u64).sum()
    }

    /// Takes everything; what the first value said of lengths stays.
    pub fn clear(&mut self) {
        self.keys.clear();
    }
}

/// Compares a multimap with its model: every pair both ways, the keys, and the values of each.
pub fn compare<T: Txn>(txn: &T, multi: RawMulti, pairs: &Pairs) -> Result<(), Mismatch> {
    let mut expected = pairs.iter();
    for found in multi.iter(txn)? {
        model::same(Some(found?), expected.next(), "forward")?;
    }
    model::same(None, expected.next(), "forward")?;
    let mut expected = pairs.iter().rev();
    for found in multi.iter(txn)?.rev() {
        model::same(Some(found?), expected.next(), "backward")?;
    }
    model::same(None, expected.next(), "backward")?;
    let mut keys = multi.keys(txn)?;
    for ((key, value), count) in pairs.keys() {
        if keys.next().transpose()? != Some((key, count)) {
            return Err(format!("keys do not show {} with {count}", model::short(key)).into());
        }
        if multi.get(txn, key)? != Some(value) {
            return Err(format!("get {}", model::short(key)).into());
        }
        let found = (multi.count_values(txn, key)?, multi.values(txn, key)?.count() as u64);
        if found != (count, count) {
            let key = model::short(key);
            return Err(format!("{key} has {found:?} values, expected {count}").into());
        }
    }
    if keys.next().is_some() {
        return Err("there are more keys than there should be".to_owned().into());
    }
    let count = multi.len(txn)?;
    if count != pairs.count() as u64 {
        return Err(format!("count is {count}, expected {}", pairs.count()).into());
    }
    Ok(())
}
