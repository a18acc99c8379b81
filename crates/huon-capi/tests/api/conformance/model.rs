//! What each step must answer: maps that a transaction copies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::step::{Answer, Kind, Op, Step, blob};

/// The longest key, and the longest value of a multimap, with pages of 4096 bytes.
pub(super) const KEY_BYTES_MAX: usize = 2022;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

#[derive(Clone)]
pub(super) enum Table {
    Bytes(Records, u64),
    Multi(Pairs),
}

pub(super) type Tables = BTreeMap<String, Table>;

enum Txn {
    Reads(Tables),
    /// Of the write transaction; 0 is itself, others are nested in it.
    Level(usize),
    Ended,
}

#[derive(Default)]
pub(super) struct Model {
    newest: Tables,
    /// The write transaction and those that are nested in it.
    levels: Vec<Tables>,
    txns: BTreeMap<String, Txn>,
    is_read_only: bool,
}

const MISUSE: Answer = Err("Misuse");

impl Model {
    pub(super) fn run(&mut self, step: &Step) -> Answer {
        match step.op {
            Op::Read => self.begin(step, Txn::Reads(self.newest.clone())),
            Op::Write | Op::TryWrite if self.is_read_only => Err("ReadOnly"),
            Op::TryWrite if !self.levels.is_empty() => Err("Busy"),
            Op::Write | Op::TryWrite => {
                assert!(self.levels.is_empty(), "it would wait: {step:?}");
                self.levels.push(self.newest.clone());
                self.begin(step, Txn::Level(0))
            }
            Op::BeginNested => self.begin_nested(step),
            Op::Commit | Op::Abort => self.end(step),
            Op::Reopen => {
                assert!(self.txns.values().all(|txn| matches!(txn, Txn::Ended)), "{step:?}");
                self.is_read_only = step.read_only;
                Ok(Value::Null)
            }
            _ => self.in_txn(step),
        }
    }

    /// The tables that a transaction sees.
    pub(super) fn view(&self, txn: &str) -> Option<&Tables> {
        match self.txns.get(txn).expect("a transaction that was begun") {
            Txn::Reads(tables) => Some(tables),
            Txn::Level(level) => {
                assert_eq!(level + 1, self.levels.len(), "{txn} has one nested in it");
                Some(&self.levels[*level])
            }
            Txn::Ended => None,
        }
    }

    fn begin(&mut self, step: &Step, txn: Txn) -> Answer {
        let before = self.txns.insert(step.txn.clone(), txn);
        assert!(matches!(before, None | Some(Txn::Ended)), "there is one of that name: {step:?}");
        Ok(Value::Null)
    }

    fn begin_nested(&mut self, step: &Step) -> Answer {
        let Some(Txn::Level(level)) = self.txns.get(&step.parent) else { return MISUSE };
        assert_eq!(level + 1, self.levels.len(), "{step:?}");
        let level = level + 1;
        self.levels.push(self.levels[level - 1].clone());
        self.begin(step, Txn::Level(level))
    }

    fn end(&mut self, step: &Step) -> Answer {
        match self.txns.insert(step.txn.clone(), Txn::Ended).expect("one that was begun") {
            Txn::Reads(_) => {}
            Txn::Level(level) => {
                let tables = self.levels.pop().expect("a level");
                assert_eq!(level, self.levels.len(), "{step:?}");
                if step.op == Op::Commit {
                    *self.levels.last_mut().unwrap_or(&mut self.newest) = tables;
                }
            }
            Txn::Ended => return MISUSE,
        }
        Ok(Value::Null)
    }

    fn in_txn(&mut self, step: &Step) -> Answer {
        let Some(tables) = self.view(&step.txn) else { return MISUSE };
        if let Some(answer) = look(tables, step) {
            return answer;
        }
        match self.txns[&step.txn] {
            Txn::Level(level) => change(&mut self.levels[level], step),
            _ => MISUSE,
        }
    }
}

fn records(table: Option<&Table>) -> Result<&Records, &'static str> {
    match table.ok_or("TableNotFound")? {
        Table::Bytes(records, _) => Ok(records),
        Table::Multi(_) => Err("TableKind"),
    }
}

fn pairs(table: Option<&Table>) -> Result<&Pairs, &'static str> {
    match table.ok_or("TableNotFound")? {
        Table::Bytes(..) => Err("TableKind"),
        Table::Multi(pairs) => Ok(pairs),
    }
}

pub(super) fn maybe(value: Option<&[u8]>) -> Value {
    value.map_or(Value::Null, blob)
}

fn record(record: Option<(&Vec<u8>, &Vec<u8>)>) -> Value {
    record.map_or(Value::Null, |(key, value)| json!([blob(key), blob(value)]))
}

/// What a scan shows.
fn shown<'t>(
    step: &Step,
    all: impl DoubleEndedIterator<Item = (&'t Vec<u8>, &'t Vec<u8>)>,
) -> Vec<(&'t Vec<u8>, &'t Vec<u8>)> {
    let mut all: Vec<_> = all.filter(|(key, _)| step.has(key)).collect();
    if step.reverse {
        all.reverse();
    }
    all.truncate(step.limit());
    all
}

fn list(records: Vec<(&Vec<u8>, &Vec<u8>)>) -> Value {
    records.into_iter().map(|found| record(Some(found))).collect()
}

/// What a step answers that changes nothing; `None` of others.
fn look(tables: &Tables, step: &Step) -> Option<Answer> {
    let table = tables.get(&step.table);
    let of_records = |answer: &dyn Fn(&Records) -> Value| records(table).map(answer);
    let of_pairs = |answer: &dyn Fn(&Pairs) -> Value| pairs(table).map(answer);
    Some(match step.op {
        Op::HasTable => Ok(json!(table.is_some())),
        Op::Tables => Ok(tables.keys().map(|name| json!(name)).collect()),
        Op::Get => of_records(&|all| maybe(all.get(step.key()).map(|value| &value[..]))),
        Op::Has => of_records(&|all| json!(all.contains_key(step.key()))),
        Op::GetMany => of_records(&|all| {
            let keys = step.keys.iter().flatten();
            keys.map(|key| maybe(all.get(&key.0).map(|value| &value[..]))).collect()
        }),
        Op::Scan => of_records(&|all| list(shown(step, all.iter()))),
        Op::First => of_records(&|all| record(all.first_key_value())),
        Op::Last => of_records(&|all| record(all.last_key_value())),
        Op::Count => match table {
            None => Err("TableNotFound"),
            Some(Table::Bytes(records, _)) => Ok(json!(records.len())),
            Some(Table::Multi(pairs)) => {
                Ok(json!(pairs.values().map(BTreeSet::len).sum::<usize>()))
            }
        },
        Op::MultiValues => of_pairs(&|all| {
            let values = all.get(step.key()).into_iter().flatten().map(|value| blob(value));
            if step.reverse { values.rev().collect() } else { values.collect() }
        }),
        Op::MultiScan => of_pairs(&|all| {
            let each = all.iter().map(|(key, values)| values.iter().map(move |value| (key, value)));
            list(shown(step, each.flatten().collect::<Vec<_>>().into_iter()))
        }),
        _ => return None,
    })
}

fn change(tables: &mut Tables, step: &Step) -> Answer {
    match step.op {
        Op::Create => {
            let kind = step.kind.unwrap_or(Kind::Bytes);
            let new = || match kind {
                Kind::Bytes => Table::Bytes(Records::new(), 0),
                Kind::Multi => Table::Multi(Pairs::new()),
            };
            let table = tables.entry(step.table.clone()).or_insert_with(new);
            let is_right = matches!(table, Table::Multi(_)) == (kind == Kind::Multi);
            return if is_right { Ok(Value::Null) } else { Err("TableKind") };
        }
        Op::Drop => {
            return tables.remove(&step.table).map(|_| Value::Null).ok_or("TableNotFound");
        }
        _ => {}
    }
    match (tables.get_mut(&step.table).ok_or("TableNotFound")?, step.op) {
        (Table::Bytes(records, _), Op::Clear) => records.clear(),
        (Table::Multi(pairs), Op::Clear) => pairs.clear(),
        (Table::Bytes(_, sequence), Op::Sequence) => {
            let before = *sequence;
            *sequence += step.by.expect("a number");
            return Ok(json!(before));
        }
        (Table::Bytes(records, _), _) => return change_records(records, step),
        (Table::Multi(pairs), _) => return change_pairs(pairs, step),
    }
    Ok(Value::Null)
}

fn check(key: &[u8]) -> Result<(), &'static str> {
    if key.len() > KEY_BYTES_MAX { Err("KeyTooLong") } else { Ok(()) }
}

fn change_records(records: &mut Records, step: &Step) -> Answer {
    let touched = |records: &Records| -> Vec<Vec<u8>> {
        shown(step, records.iter()).into_iter().map(|(key, _)| key.clone()).collect()
    };
    Ok(match step.op {
        Op::Put => {
            check(step.key())?;
            records.insert(step.key().to_vec(), step.value().to_vec());
            Value::Null
        }
        Op::Insert => {
            check(step.key())?;
            let is_new = !records.contains_key(step.key());
            if is_new {
                records.insert(step.key().to_vec(), step.value().to_vec());
            }
            json!(is_new)
        }
        Op::PutMany => {
            for (key, value) in step.pairs.iter().flatten() {
                check(&key.0)?;
                records.insert(key.0.clone(), value.0.clone());
            }
            Value::Null
        }
        Op::Delete => json!(records.remove(step.key()).is_some()),
        Op::ScanPut => {
            let touched = touched(records);
            for key in &touched {
                records.insert(key.clone(), step.value().to_vec());
            }
            json!(touched.len())
        }
        Op::ScanDelete | Op::DeleteRange => {
            let touched = touched(records);
            touched.iter().for_each(|key| drop(records.remove(key)));
            json!(touched.len())
        }
        _ => return Err("TableKind"),
    })
}

fn change_pairs(pairs: &mut Pairs, step: &Step) -> Answer {
    Ok(match step.op {
        Op::MultiPut => {
            check(step.key())?;
            if step.value().len() > KEY_BYTES_MAX {
                return Err("SortedValueTooLong");
            }
            json!(pairs.entry(step.key().to_vec()).or_default().insert(step.value().to_vec()))
        }
        Op::MultiDelete => {
            let Some(values) = pairs.get_mut(step.key()) else { return Ok(json!(false)) };
            let was_there = values.remove(step.value());
            if values.is_empty() {
                pairs.remove(step.key());
            }
            json!(was_there)
        }
        Op::MultiDeleteAll => json!(pairs.remove(step.key()).map_or(0, |values| values.len())),
        _ => return Err("TableKind"),
    })
}
