//! Operations that change a table, with what the model expects of them.

use huon::{Error, RawTable, WriteTxn};

use crate::history::program::{self, How, Op, Value};
use crate::history::{History, Step, Stop};
use crate::model::handle::Handle;
use crate::model::{Model, SNAPSHOTS_TABLE, TableId};
use crate::support::random::digest;

/// What a change answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Nothing,
    Flag(bool),
    Old(Option<Vec<u8>>),
    Count(u64),
    Refused(i32),
}

/// Stands for every way to say that there is no such table.
pub(crate) const MISSING: i32 = 5;
/// An ordinary record has the name, or a table.
const NAME_TAKEN: i32 = 30;
/// The main table holds named tables.
const TABLES_INSIDE: i32 = 33;

impl Got {
    /// The value that was there before.
    pub(crate) fn old(old: Option<huon::Owned>) -> Got {
        Got::Old(old.map(huon::Owned::into_bytes))
    }

    pub(crate) fn of<T>(result: huon::Result<T>, got: impl FnOnce(T) -> Got) -> Result<Got, Stop> {
        match result {
            Ok(value) => Ok(got(value)),
            Err(Error::Io(_) | Error::Corrupt(_) | Error::MapFull(_) | Error::TxnBroken) => {
                result.map(|_| Got::Nothing).map_err(Stop::from)
            }
            Err(error) => Ok(Got::Refused(error.code())),
        }
    }
}

/// What a change is called, of a table and of a multimap.
fn word(id: TableId, plain: &'static str, multi: &'static str) -> &'static str {
    if id.values().is_none() { plain } else { multi }
}

impl History {
    /// Performs a change on both sides. Other operations are passed over.
    pub(crate) fn change(&mut self, op: &Op, txn: &mut WriteTxn) -> Step {
        match op {
            Op::Write { how, table, key, value } => self.write(txn, *how, *table, key, *value),
            Op::Fill { table, first, count, step, bytes } => {
                for i in 0..*count {
                    let key = program::key(table.order(), self.page_bytes(), first + i * step);
                    let value = Value { bytes: *bytes, seed: first + i };
                    self.write(txn, How::Put, *table, &key, value)?;
                }
                self.counts.add("fill", 1);
                Ok(())
            }
            Op::Take { table, key } => self.take(txn, *table, key),
            Op::Delete { table, key } => self.delete(txn, *table, key),
            Op::DeleteRange { .. } => self.delete_range(txn, op),
            Op::Clear { table } => self.clear(txn, *table),
            Op::Create { table } => self.create(txn, *table),
            Op::Drop { table } => self.drop_table(txn, *table),
            Op::Rename { table } => self.rename(txn, *table),
            Op::Build { .. } => self.build(txn, op),
            Op::IfValue { .. } => self.if_value(txn, op),
            Op::Sequence { .. } | Op::Markers { .. } | Op::Limit { .. } => {
                self.change_notes(op, txn)
            }
            _ => self.change_pairs(op, txn),
        }
    }

    /// A handle of the table; `None` if this client never had one. Some keys go through a second
    /// handle of the same table.
    pub(crate) fn handle(
        &mut self,
        txn: &WriteTxn,
        id: TableId,
        alias: bool,
    ) -> Result<Option<Handle>, Stop> {
        let alias = alias && Handle::has_stored_order(id);
        let opened = if alias { Handle::open_stored(txn, id) } else { Handle::open(txn, id) };
        let slot = (self.client, id, alias);
        match opened {
            Ok(Some(table)) if self.work.exists(id) => {
                self.handles.insert(slot, table);
            }
            Ok(None) if !self.work.exists(id) => {}
            Err(Error::NameTaken) if self.work.hides(id) => {}
            other => {
                let there = self.work.exists(id);
                return Err(Stop::Fail(format!("open {id:?} gave {other:?}, it exists: {there}")));
            }
        }
        Ok(self.handles.get(&slot).copied())
    }

    /// The same of a table that is no multimap.
    fn plain(
        &mut self,
        txn: &WriteTxn,
        id: TableId,
        alias: bool,
    ) -> Result<Option<RawTable>, Stop> {
        Ok(self.handle(txn, id, alias)?.and_then(Handle::plain))
    }

    pub(crate) fn expect(
        &mut self,
        what: &'static str,
        id: TableId,
        found: Got,
        expected: Got,
    ) -> Step {
        let missing = |got: &Got| matches!(got, Got::Refused(5..=7 | NAME_TAKEN));
        let same = found == expected
            || (expected == Got::Refused(MISSING) && missing(&found))
            || (self.work.hides(id) && missing(&found) && missing(&expected));
        if !same {
            return Err(Stop::Fail(format!("{what} {id:?}: {found:?}, expected {expected:?}")));
        }
        self.counts.add(what, 1);
        if matches!(found, Got::Refused(_)) {
            self.counts.add("refusal", 1);
        }
        Ok(())
    }

    fn write(
        &mut self,
        txn: &mut WriteTxn,
        how: How,
        id: TableId,
        key: &[u8],
        value: Value,
    ) -> Step {
        let Some(table) = self.plain(txn, id, digest(key).is_multiple_of(9))? else {
            return Ok(());
        };
        let bytes = value.make();
        let (what, found) = match how {
            How::Put => ("put", Got::of(table.put(txn, key, &bytes), Got::Flag)),
            How::InsertNew => {
                ("insert new", Got::of(table.put_if_absent(txn, key, &bytes), Got::Flag))
            }
            How::Update => ("update", Got::of(table.update(txn, key, &bytes), Got::Flag)),
            How::Append => ("append", Got::of(table.append(txn, key, &bytes), |()| Got::Nothing)),
            How::Replace => ("replace", Got::of(table.replace(txn, key, &bytes), Got::old)),
            How::Reserve => {
                let fill = |place: &mut [u8]| {
                    assert!(place.iter().all(|&b| b == 0), "a reserved place is not zero");
                    place.copy_from_slice(&bytes);
                };
                ("reserve", Got::of(table.reserve(txn, key, bytes.len(), fill), |()| Got::Nothing))
            }
        };
        let max = (self.page_bytes() - 32) / 2 - 10;
        let (expected, stores) = expect_write(&self.work, max, how, id, key);
        self.expect(what, id, found?, expected)?;
        if stores && let Some(records) = self.work.table_mut(id) {
            records.put(id.order().sort_key(key), key, &bytes);
        }
        Ok(())
    }

    fn take(&mut self, txn: &mut WriteTxn, id: TableId, key: &[u8]) -> Step {
        let Some(table) = self.plain(txn, id, key.len() % 9 == 1)? else { return Ok(()) };
        let found = Got::of(table.take(txn, key), Got::old)?;
        let sort_key = id.order().sort_key(key);
        let expected = match self.work.table_mut(id) {
            None => Got::Refused(MISSING),
            Some(records) => {
                let old = records.get(&sort_key).map(|value| value.to_vec());
                records.delete(&sort_key);
                Got::Old(old)
            }
        };
        self.expect("take", id, found, expected)
    }

    fn delete(&mut self, txn: &mut WriteTxn, id: TableId, key: &[u8]) -> Step {
        let Some(table) = self.plain(txn, id, key.len() % 9 == 2)? else { return Ok(()) };
        let found = Got::of(table.remove(txn, key), Got::Flag)?;
        let is_name = id.is_main() && self.work.is_name(key);
        let expected = match self.work.table_mut(id) {
            None => Got::Refused(MISSING),
            Some(_) if is_name => Got::Refused(NAME_TAKEN),
            Some(records) => Got::Flag(records.delete(&id.order().sort_key(key))),
        };
        self.expect("delete", id, found, expected)
    }

    /// A change of a record whose value is known, or is not.
    fn if_value(&mut self, txn: &mut WriteTxn, op: &Op) -> Step {
        let Op::IfValue { table: id, key, right, new } = op else { return Ok(()) };
        let Some(table) = self.plain(txn, *id, key.len() % 9 == 3)? else { return Ok(()) };
        let sort_key = id.order().sort_key(key);
        let had = self.work.table(*id).and_then(|records| records.get(&sort_key));
        let old = match had {
            Some(value) if *right => value.to_vec(),
            _ => b"another one".to_vec(),
        };
        let there = had.is_some_and(|value| **value == *old);
        let new = new.map(Value::make);
        let mut is_right = false;
        let changed = table.update_with(txn, key, |was, change| {
            is_right = was == Some(&old[..]);
            match &new {
                Some(new) if is_right => change.set(new),
                None if is_right => change.remove(),
                _ => Ok(()),
            }
        });
        let found = Got::of(changed.map(|_| is_right), Got::Flag)?;
        let max = (self.page_bytes() - 32) / 2 - 10;
        let would = expect_write(&self.work, max, How::Put, *id, key).0;
        let expected = match self.work.table_mut(*id) {
            None => Got::Refused(MISSING),
            Some(_) if matches!(would, Got::Refused(_)) => would,
            Some(records) => {
                match &new {
                    Some(new) if there => records.put(sort_key, key, new),
                    None if there => assert!(records.delete(&sort_key)),
                    _ => {}
                }
                Got::Flag(there)
            }
        };
        self.expect(if new.is_some() { "update if" } else { "remove if" }, *id, found, expected)
    }

    fn delete_range(&mut self, txn: &mut WriteTxn, op: &Op) -> Step {
        let Op::DeleteRange { table: id, from, to } = op else { return Ok(()) };
        let Some(table) = self.handle(txn, *id, false)? else { return Ok(()) };
        let found = Got::of(table.remove_range(txn, from, to), Got::Count)?;
        let has_names = id.is_main() && self.work.hidden() > 0;
        let expected = if has_names {
            Got::Refused(TABLES_INSIDE)
        } else {
            self.work.delete_range(*id, from, to).map_or(Got::Refused(MISSING), Got::Count)
        };
        self.expect(word(*id, "delete range", "remove range"), *id, found, expected)
    }

    fn clear(&mut self, txn: &mut WriteTxn, id: TableId) -> Step {
        let Some(table) = self.handle(txn, id, false)? else { return Ok(()) };
        let found = Got::of(table.clear(txn), |()| Got::Nothing)?;
        let has_names = id.is_main() && self.work.hidden() > 0;
        let expected = if has_names {
            Got::Refused(TABLES_INSIDE)
        } else if self.work.clear(id) {
            Got::Nothing
        } else {
            Got::Refused(MISSING)
        };
        self.expect(word(id, "clear", "multi clear"), id, found, expected)
    }

    fn create(&mut self, txn: &mut WriteTxn, id: TableId) -> Step {
        let created = Handle::create(txn, id);
        if let Ok(table) = &created {
            self.handles.insert((self.client, id, false), *table);
        }
        let found = Got::of(created, |_| Got::Nothing)?;
        if self.work.hides(id) {
            return self.expect("create", id, found, Got::Refused(MISSING));
        }
        self.work.create(id);
        let what = word(id, "create", "multi create");
        self.expect(what, id, found, Got::Nothing)
    }

    fn drop_table(&mut self, txn: &mut WriteTxn, id: TableId) -> Step {
        let Some(table) = self.handle(txn, id, false)? else { return Ok(()) };
        let found = Got::of(table.drop_table(txn), Got::Flag)?;
        if id.is_main() {
            return self.expect("drop", id, found, Got::Refused(10));
        }
        if self.work.hides(id) {
            // Whether the handle was looked up before decides how it says no.
            let refused = matches!(found, Got::Refused(_) | Got::Flag(false));
            return if refused { Ok(()) } else { Err(Stop::Fail(format!("drop gave {found:?}"))) };
        }
        let expected = Got::Flag(self.work.drop_table(id));
        self.expect(word(id, "drop", "multi drop"), id, found, expected)
    }

    fn rename(&mut self, txn: &mut WriteTxn, id: TableId) -> Step {
        let Some(table) = self.handle(txn, id, false)? else { return Ok(()) };
        let to = id.renamed();
        let found = Got::of(table.rename(txn, &to.name()), |()| Got::Nothing)?;
        let expected = if id.is_main() {
            Got::Refused(10)
        } else if !self.work.exists(id) {
            Got::Refused(MISSING)
        } else if self.work.exists(to) || self.work.hides(to) {
            Got::Refused(7)
        } else {
            self.work.rename(id, to);
            Got::Nothing
        };
        let what = word(id, "rename", "multi rename");
        self.expect(what, id, found, expected)
    }

    fn build(&mut self, txn: &mut WriteTxn, op: &Op) -> Step {
        let Op::Build { table: id, count, bytes } = op else { return Ok(()) };
        let order = id.order();
        let may = |model: &Model| match model.table(*id) {
            Some(records) => records.count() == 0 && !(id.is_main() && model.hidden() > 0),
            None => false,
        };
        if !may(&self.work) {
            return Ok(());
        }
        let Some(table) = self.plain(txn, *id, false)? else { return Ok(()) };
        let mut keys: Vec<Vec<u8>> =
            (0..*count).map(|n| program::key(order, self.page_bytes(), n * 3)).collect();
        keys.sort_by_key(|key| order.sort_key(key));
        keys.dedup();
        let values: Vec<Vec<u8>> =
            (0..keys.len() as u64).map(|seed| Value { bytes: *bytes, seed }.make()).collect();
        let built = table.bulk_load(txn, |append| {
            keys.iter().zip(&values).try_for_each(|(key, value)| append(key, value))
        });
        let found = Got::of(built, |()| Got::Nothing)?;
        if let Some(records) = self.work.table_mut(*id) {
            for (key, value) in keys.iter().zip(&values) {
                records.put(order.sort_key(key), key, value);
            }
        }
        self.expect("build", *id, found, Got::Nothing)
    }
}

/// What a write should answer, and whether it stores the record.
fn expect_write(model: &Model, max: usize, how: How, id: TableId, key: &[u8]) -> (Got, bool) {
    let Some(records) = model.table(id) else { return (Got::Refused(MISSING), false) };
    if id.order().key_bytes().is_some_and(|bytes| bytes != key.len()) {
        return (Got::Refused(3), false);
    }
    if key.len() > max {
        return (Got::Refused(1), false);
    }
    if id.is_main() && model.is_name(key) {
        return match how {
            How::InsertNew => (Got::Flag(false), false),
            How::Append => (Got::Refused(4), false),
            _ => (Got::Refused(NAME_TAKEN), false),
        };
    }
    let sort_key = id.order().sort_key(key);
    let old = records.get(&sort_key);
    match how {
        How::Put => (Got::Flag(old.is_none()), true),
        How::InsertNew => (Got::Flag(old.is_none()), old.is_none()),
        How::Update => (Got::Flag(old.is_some()), old.is_some()),
        How::Replace => (Got::Old(old.map(|value| value.to_vec())), true),
        How::Reserve => (Got::Nothing, true),
        How::Append => {
            let mut above = records.last().is_none_or(|last| *last < sort_key);
            if id.is_main() {
                above &= model.named().all(|name| name.name() < sort_key);
                above &= !model.names_table || *SNAPSHOTS_TABLE < *sort_key;
            }
            if above { (Got::Nothing, true) } else { (Got::Refused(4), false) }
        }
    }
}
