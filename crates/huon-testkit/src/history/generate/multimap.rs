//! Operations on multimaps.

use super::*;

impl Maker {
    pub(super) fn inside_multi(&mut self, table: TableId, values: Values) -> Op {
        let key = self.multi_key(table);
        let value = self.pair_value(values);
        match self.random.below(100) {
            0..=29 if !(self.shrinking && self.random.chance(70)) => {
                let how = match self.random.below(16) {
                    0 | 1 => PairHow::InsertNew,
                    2 => PairHow::Append,
                    3 => PairHow::Set,
                    _ => PairHow::Insert,
                };
                Op::Pair { how, table, key, value }
            }
            0..=37 => Op::Pair { how: PairHow::Remove, table, key, value },
            38..=40 => self.insert_many(table, key, values),
            41..=43 => {
                let old = self.random.chance(70).then(|| self.pair_value(values));
                Op::Exchange { table, key, old, new: value }
            }
            44..=57 => self.pour(table, key),
            58 => Op::RemoveAll { table, key },
            59..=60 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::DeleteRange { table, from, to }
            }
            61 if self.random.chance(40) => Op::Clear { table },
            62 if self.random.chance(60) => Op::Drop { table },
            63 if self.random.chance(60) => Op::Rename { table },
            64..=68 => Op::Create { table },
            _ => self.look_at_pairs(table, values),
        }
    }

    fn look_at_pairs(&mut self, table: TableId, values: Values) -> Op {
        let key = self.multi_key(table);
        match self.random.below(32) {
            0..=3 => Op::Held { table, key, value: self.pair_value(values) },
            4..=6 => {
                let (from, to) = (self.bound(table), self.bound(table));
                Op::Range { table, from, to, ends: self.random.next() }
            }
            7 => Op::Whole { table },
            8 => self.estimate(table),
            9 => {
                let length = self.random.index(key.len().min(6) + 1);
                Op::Prefix { table, key: key[..length].to_vec(), back: self.random.chance(50) }
            }
            10..=19 => self.scan_op(),
            n => {
                let (from, to) = (self.value_bound(values), self.value_bound(values));
                let ends = self.random.next();
                if n < 25 {
                    Op::Batches { table, key, from, to, ends }
                } else {
                    Op::Values { table, key, from, to, ends }
                }
            }
        }
    }

    /// A few values, and one that is refused among them at times.
    fn insert_many(&mut self, table: TableId, key: Vec<u8>, values: Values) -> Op {
        let count = self.random.index(30);
        let values = (0..count).map(|_| self.pair_value(values)).collect();
        Op::InsertMany { table, key, values }
    }

    /// Mostly one of a few keys, so that they have many values.
    pub(super) fn multi_key(&mut self, table: TableId) -> Vec<u8> {
        if self.random.chance(70) {
            key(table.order(), self.config.page_bytes, self.random.below(5))
        } else {
            self.key(table)
        }
    }

    pub(super) fn pair_value(&mut self, values: Values) -> Vec<u8> {
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
        let (first, count, step) = if self.random.chance(20) {
            // A transaction that spills takes new space for each page that it changes again.
            (self.random.below(6), if take { keys } else { keys.min(300) }, 1)
        } else {
            let count = 5 + self.random.below(keys / 8 + 20);
            (self.random.below(keys), count, 1 + self.random.below(3))
        };
        Op::Pour { table, key, first, count, step, take }
    }
}
