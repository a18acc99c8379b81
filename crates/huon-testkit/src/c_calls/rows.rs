//! The records of a table, in its order.

use std::cmp::Ordering;

use super::names::kind::*;

/// What a table is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Kind {
    /// Its flags.
    pub(super) flags: u32,
    /// Whether the program orders its keys (shorter ones first) and, with many values for a key,
    /// the values (backwards).
    pub(super) custom: bool,
}

impl Kind {
    pub(super) fn has_many(self) -> bool {
        self.flags & DUPSORT != 0
    }

    pub(super) fn is_fixed(self) -> bool {
        self.flags & DUPFIXED != 0
    }

    pub(super) fn has_integer_keys(self) -> bool {
        self.flags & INTEGERKEY != 0
    }

    pub(super) fn has_integer_values(self) -> bool {
        self.flags & INTEGERDUP != 0
    }

    /// Whether a key has a length that integers may have here: that of those that are there.
    pub(super) fn integer_fits(self, others: Option<usize>, bytes: usize) -> bool {
        let fits = |length: usize| bytes == length;
        !self.has_integer_keys() || others.map_or(bytes == 4 || bytes == 8, fits)
    }

    pub(super) fn compare_keys(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.custom {
            shorter_first(a, b)
        } else {
            compare(self.flags & (REVERSEKEY | INTEGERKEY) != 0, a, b)
        }
    }

    pub(super) fn compare_values(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.custom {
            b.cmp(a)
        } else {
            compare(self.flags & (REVERSEDUP | INTEGERDUP) != 0, a, b)
        }
    }
}

/// The order of keys that histories give as a program's own.
pub fn shorter_first(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn compare(from_behind: bool, a: &[u8], b: &[u8]) -> Ordering {
    if from_behind { a.iter().rev().cmp(b.iter().rev()) } else { a.cmp(b) }
}

/// A record's place: its key, and among many its value (else nothing).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rows {
    pub(super) kind: Kind,
    /// The number that is kept with the table.
    pub(super) sequence: u64,
    /// Each key with its values; one only, where a key cannot have many.
    list: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

/// Where something is, or would be: key and value by number.
type At = (usize, usize);

impl Rows {
    pub(super) fn new(kind: Kind) -> Rows {
        Rows { kind, ..Rows::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.list.iter().map(|(_, values)| values.len()).sum()
    }

    /// Bytes of all keys and values.
    pub(super) fn bytes(&self) -> usize {
        let of = |values: &Vec<Vec<u8>>| values.iter().map(|value| value.len() + 8).sum::<usize>();
        self.list.iter().map(|(key, values)| key.len() + 16 + of(values)).sum()
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    fn find(&self, key: &[u8]) -> Result<usize, usize> {
        self.list.binary_search_by(|(other, _)| self.kind.compare_keys(other, key))
    }

    pub(super) fn values(&self, key: &[u8]) -> Option<&[Vec<u8>]> {
        Some(&self.list[self.find(key).ok()?].1)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.list.iter().map(|(key, _)| key)
    }

    /// Puts over what is there, or among many beside it. False: it was there already.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> bool {
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.list.insert(at, (key.to_vec(), vec![value.to_vec()]));
                return true;
            }
        };
        let kind = self.kind;
        let values = &mut self.list[at].1;
        if !kind.has_many() {
            let is_new = values[0] != value;
            values[0] = value.to_vec();
            return is_new;
        }
        match values.binary_search_by(|other| kind.compare_values(other, value)) {
            Ok(_) => false,
            Err(place) => {
                values.insert(place, value.to_vec());
                true
            }
        }
    }

    /// Removes a key, or one of its values.
    pub(super) fn remove(&mut self, key: &[u8], value: Option<&[u8]>) -> bool {
        let Ok(at) = self.find(key) else { return false };
        if let Some(value) = value {
            let kind = self.kind;
            let values = &mut self.list[at].1;
            if !kind.has_many() && values[0] != value {
                return false;
            }
            let found = values.binary_search_by(|other| kind.compare_values(other, value));
            let Ok(place) = found else { return false };
            values.remove(place);
            if !values.is_empty() {
                return true;
            }
        }
        self.list.remove(at);
        true
    }

    /// Whether a value has a length that values may have here.
    pub(super) fn value_fits(&self, bytes: usize) -> bool {
        let others = self.list.first().and_then(|(_, values)| values.first()).map(Vec::len);
        match (self.kind.is_fixed(), others) {
            (true, Some(length)) => bytes == length,
            (true, None) => !self.kind.has_integer_values() || bytes == 4 || bytes == 8,
            (false, _) => true,
        }
    }

    /// The first record that is not below a key, or not below a value of it.
    pub(super) fn seek(&self, key: &[u8], value: Option<&[u8]>) -> Option<Spot> {
        self.spot(self.seek_at(key, value))
    }

    fn seek_at(&self, key: &[u8], value: Option<&[u8]>) -> At {
        match (self.find(key), value) {
            (Ok(at), Some(value)) if self.kind.has_many() => {
                let values = &self.list[at].1;
                let below = |other: &Vec<u8>| self.kind.compare_values(other, value).is_lt();
                (at, values.partition_point(below))
            }
            (Ok(at) | Err(at), _) => (at, 0),
        }
    }

    fn spot(&self, at: At) -> Option<Spot> {
        let (mut key_at, mut value_at) = at;
        if self.list.get(key_at)?.1.len() == value_at {
            (key_at, value_at) = (key_at + 1, 0);
        }
        let (key, values) = self.list.get(key_at)?;
        let value = if self.kind.has_many() { values[value_at].clone() } else { Vec::new() };
        Some(Spot { key: key.clone(), value })
    }

    /// The record after a place, or before it, whether something is there or not.
    pub(super) fn beside(&self, spot: &Spot, forward: bool) -> Option<Spot> {
        let at = self.seek_at(&spot.key, Some(&spot.value));
        if !forward {
            return match at {
                (0, 0) => None,
                (key_at, 0) => self.spot((key_at - 1, self.list[key_at - 1].1.len() - 1)),
                (key_at, value_at) => self.spot((key_at, value_at - 1)),
            };
        }
        match self.spot(at) {
            Some(found) if found == *spot => self.spot((at.0, at.1 + 1)),
            found => found,
        }
    }

    /// The first record, or the last.
    pub(super) fn edge(&self, last: bool) -> Option<Spot> {
        if !last {
            self.spot((0, 0))
        } else {
            let values = &self.list.last()?.1;
            self.spot((self.list.len() - 1, values.len() - 1))
        }
    }

    /// The first value of a key, or the last.
    pub(super) fn edge_of(&self, key: &[u8], last: bool) -> Option<Spot> {
        let at = self.find(key).ok()?;
        self.spot((at, if last { self.list[at].1.len() - 1 } else { 0 }))
    }

    /// The first record of the next key, or the last of the one before.
    pub(super) fn beside_key(&self, key: &[u8], forward: bool) -> Option<Spot> {
        let at = self.find(key);
        if forward {
            self.spot((at.map_or_else(|at| at, |at| at + 1), 0))
        } else {
            let before = at.unwrap_or_else(|at| at).checked_sub(1)?;
            self.spot((before, self.list[before].1.len() - 1))
        }
    }

    /// Whether a record is that of a key, and of a value if that is given.
    pub(super) fn is_same(&self, spot: &Spot, key: &[u8], value: Option<&[u8]>) -> bool {
        let same = |value: &[u8]| self.kind.compare_values(&spot.value, value).is_eq();
        self.kind.compare_keys(&spot.key, key).is_eq() && value.is_none_or(same)
    }

    /// The value that lies at a place.
    pub(super) fn value_at(&self, spot: &Spot) -> Vec<u8> {
        if self.kind.has_many() {
            spot.value.clone()
        } else {
            self.values(&spot.key).map(|values| values[0].clone()).unwrap_or_default()
        }
    }
}
