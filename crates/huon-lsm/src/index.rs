//! Where the entries of a batch are, by the hash of their keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Entries by the hash of their keys: the newest one, and for each the one before of that hash.
#[derive(Default)]
pub(crate) struct Index {
    newest: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    before: Vec<u32>,
}

/// No entry is before.
pub(crate) const NONE: u32 = u32::MAX;

/// Hashes are not hashed again.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only hashes are keys");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Index {
    pub(crate) fn add(&mut self, hash: u64, number: u32) {
        debug_assert_eq!(self.before.len(), number as usize);
        self.before.push(self.newest.insert(hash, number).unwrap_or(NONE));
    }

    pub(crate) fn remove_newest(&mut self, hash: u64) {
        match self.before.pop() {
            Some(NONE) | None => self.newest.remove(&hash),
            Some(before) => self.newest.insert(hash, before),
        };
    }

    /// Entries of a hash, from the newest on.
    pub(crate) fn of(&self, hash: u64) -> impl Iterator<Item = u32> {
        let known = |number: u32| (number != NONE).then_some(number);
        let newest = self.newest.get(&hash).copied();
        std::iter::successors(newest, move |number| known(self.before[*number as usize]))
    }
}
