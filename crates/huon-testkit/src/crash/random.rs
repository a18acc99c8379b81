//! Random scripts: the programs of the model histories, as far as they make sense on a stage. What
//! an environment would refuse is left out.

use std::ops::Bound;

use huon::Durability;

use super::edit::Edit;
use super::script::{Play, Stage};
use crate::history::program::{self, Config, Op, PairHow, Value};
use crate::model::TableId;
use crate::model::handle::Handle;
use crate::model::pairs::Pairs;
use crate::support::random::Random;

/// Transactions of a script.
const TRANSACTIONS_MAX: usize = 12;

/// Plays the program of the stage's seed.
///
/// # Errors
/// As any script.
pub fn random(stage: &mut Stage) -> Play {
    let mut random = Random::new(stage.seed());
    let config = Config {
        page_bytes: stage.setup().page_bytes,
        write_buffer_bytes: 0,
        real: false,
        keys: random.pick(&[12, 40, 90]),
        shrink_bytes: 0,
        journal: false,
        ops_count: 150,
    };
    let program = program::make(random.next(), config);
    let mut readers = Vec::new();
    let mut transactions = 0;
    let mut rest = &program.ops[..];
    while let Some((op, after)) = rest.split_first() {
        rest = after;
        match op {
            Op::Begin { .. } => {
                let end = |op: &Op| matches!(op, Op::Commit { .. } | Op::Abort);
                let length = rest.iter().position(end).unwrap_or(rest.len());
                let (work, end) = (&rest[..length], rest.get(length));
                rest = rest.get(length + 1..).unwrap_or_default();
                transactions += 1;
                let limits = limits(stage, &mut random);
                let whole = |edit: &mut Edit<'_>| {
                    edit.play(work);
                    limits.into_iter().for_each(|limits| edit.change_limits(limits));
                };
                match end {
                    Some(Op::Commit { lazy, .. }) => {
                        let durability = durability(*lazy, &mut random);
                        stage.commit(0, durability, whole)?;
                    }
                    _ => stage.aborted(whole)?,
                }
            }
            Op::Pin { .. } => readers.push(stage.reader(0)),
            Op::Unpin { .. } => drop(readers.pop()),
            Op::Sync { .. } => stage.sync()?,
            Op::Reopen { .. } => {
                readers.clear();
                stage.reopen()?;
            }
            Op::Kill => {
                readers.clear();
                stage.kill();
            }
            _ => {}
        }
        if transactions == TRANSACTIONS_MAX {
            break;
        }
    }
    Ok(())
}

/// Other limits of the file's length, and how they are set.
#[derive(Clone, Copy)]
struct Limits {
    min_pages: u64,
    max_pages: u64,
    /// In a nested level, and whether that is kept.
    nested: Option<bool>,
}

/// Limits that leave room for what a script does; most transactions change none.
fn limits(stage: &Stage, random: &mut Random) -> Option<Limits> {
    let most = stage.setup().reserve_bytes / stage.setup().page_bytes as u64;
    let (min_pages, max_pages) = (random.below(60), most - random.below(most / 8));
    let nested = random.chance(50).then(|| random.chance(50));
    random.chance(15).then_some(Limits { min_pages, max_pages, nested })
}

fn durability(lazy: bool, random: &mut Random) -> Durability {
    match (lazy, random.below(4)) {
        (true, 0) => Durability::Unsynced,
        (true, _) => Durability::Lazy,
        (false, 0) => Durability::NoMetaSync,
        (false, _) => Durability::Durable,
    }
}

impl Edit<'_> {
    /// Plays the operations of a transaction.
    pub(crate) fn play(&mut self, ops: &[Op]) {
        let mut rest = ops;
        while let Some((op, after)) = rest.split_first() {
            rest = after;
            if !matches!(op, Op::NestBegin) {
                self.play_one(op);
                continue;
            }
            let length = level(rest);
            let keep = matches!(rest.get(length), Some(Op::NestEnd { commit: true }));
            let work = &rest[..length];
            rest = rest.get(length + 1..).unwrap_or_default();
            self.nested(keep, |edit| edit.play(work));
        }
    }

    fn change_limits(&mut self, Limits { min_pages, max_pages, nested }: Limits) {
        let set = |edit: &mut Edit<'_>| assert!(edit.limit(min_pages, max_pages), "there is room");
        match nested {
            Some(keep) => self.nested(keep, set),
            None => set(self),
        }
    }

    fn play_one(&mut self, op: &Op) {
        match op {
            Op::Write { table, key, value, .. } => self.write(*table, key, *value),
            Op::Fill { table, first, count, step, bytes } => {
                for i in 0..(*count).min(40) {
                    let key = program::key(table.order(), self.page_bytes(), first + i * step);
                    self.write(*table, &key, Value { bytes: *bytes, seed: first + i });
                }
            }
            Op::Pair { how, table, key, value } => self.pair(*how, *table, key, value),
            Op::Pour { table, key, first, count, step, take } => {
                let Some(values) = table.values() else { return };
                let how = if *take { PairHow::Remove } else { PairHow::Insert };
                for i in 0..(*count).min(60) {
                    let value = program::value(values, self.page_bytes(), first + i * step);
                    self.pair(how, *table, key, &value);
                }
            }
            Op::RemoveAll { table, key } => self.remove_key(*table, key),
            Op::Take { table, key } | Op::Delete { table, key } => self.remove(*table, key),
            Op::DeleteRange { table, from, to } => self.remove_range(*table, from, to),
            Op::Clear { table } if !self.has_names(*table) => self.clear(table.0),
            Op::Drop { table } if !table.is_main() => self.drop_table(table.0),
            Op::Rename { table } => {
                let to = table.renamed();
                let is_free = !self.model.exists(to) && !self.model.hides(to);
                if !table.is_main() && is_free {
                    self.rename(table.0);
                }
            }
            Op::Build { table, count, bytes } if self.is_vacant(*table) => {
                self.build(table.0, *count, *bytes);
            }
            _ => {}
        }
    }

    /// Whether the table is there, or could be made.
    fn may_exist(&self, id: TableId) -> bool {
        !self.model.hides(id)
    }

    /// Whether it may exist, and has nothing in it.
    fn is_vacant(&self, id: TableId) -> bool {
        self.may_exist(id) && self.model.count_in(id) == 0 && !self.has_names(id)
    }

    /// Whether it is the main table, with names of others in it.
    fn has_names(&self, id: TableId) -> bool {
        id.is_main() && self.model.named().next().is_some()
    }

    fn write(&mut self, id: TableId, key: &[u8], value: Value) {
        let max = (self.page_bytes() - 32) / 2 - 10;
        let length = id.order().key_bytes();
        let fits = key.len() <= max && length.is_none_or(|bytes| bytes == key.len());
        // A record of the main table must not stand where a table's name may come to stand.
        let is_name = id.is_main() && (is_table_name(key) || key == super::script::STATE);
        if fits && !is_name && self.may_exist(id) {
            self.put_record(id, key, &value.make());
        }
    }

    fn pair(&mut self, how: PairHow, id: TableId, key: &[u8], value: &[u8]) {
        let max = (self.page_bytes() - 32) / 2 - 10;
        let length = id.order().key_bytes();
        let fits =
            length.is_none_or(|bytes| bytes == key.len()) && key.len().max(value.len()) <= max;
        let Some(values) = id.values().filter(|_| fits && self.may_exist(id)) else { return };
        let (held, takes) = match self.model.multi(id) {
            Some(pairs) => (pairs.count_values(key), pairs.takes(value)),
            None => (0, Pairs::new(id.order(), values).takes(value)),
        };
        match how {
            PairHow::Remove => self.remove_pair(id, key, value),
            _ if !takes => {}
            PairHow::InsertNew if held > 0 => {}
            PairHow::Set => self.set_pair(id, key, value),
            _ => self.insert_pair(id, key, value),
        }
    }

    fn remove(&mut self, id: TableId, key: &[u8]) {
        let is_name = id.is_main() && is_table_name(key);
        if !is_name && key != super::script::STATE {
            self.delete_record(id, key);
        }
    }

    fn remove_range(&mut self, id: TableId, from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) {
        if id.is_main() {
            return;
        }
        let Some(table) = Handle::open(self.txn, id).expect("open") else { return };
        table.remove_range(self.txn, from, to).expect("delete range");
        self.model.delete_range(id, from, to);
    }
}

fn is_table_name(key: &[u8]) -> bool {
    TableId::all().any(|id| !id.is_main() && id.name() == key)
}

/// How many operations come before the end of the level that begins here.
fn level(ops: &[Op]) -> usize {
    let mut depth = 0;
    let ends = |op: &Op| {
        match op {
            Op::NestBegin => depth += 1,
            Op::NestEnd { .. } if depth == 0 => return true,
            Op::NestEnd { .. } => depth -= 1,
            _ => {}
        }
        false
    };
    ops.iter().position(ends).unwrap_or(ops.len())
}
