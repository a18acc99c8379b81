//! A write transaction of a workload: what is done in it is done to a model, too.

use std::ops::{Bound, Range};

use huon::{Bytes, Error, TableDef, WriteTxn};

use super::run::{Run, is_explained, put_state, state_value};
use super::{Armed, Ground};
use crate::handle::Handle;
use crate::model::{Model, TableId};
use crate::program::{self, Value};

/// A write transaction with its model.
pub struct Edit<'e> {
    pub(super) txn: &'e mut WriteTxn,
    pub(super) model: &'e mut Model,
    pub(super) page_bytes: usize,
    pub(super) ground: Option<&'e dyn Ground>,
}

impl Edit<'_> {
    fn call<T>(&mut self, call: impl FnOnce(&mut WriteTxn) -> T) -> T {
        let _armed = self.ground.map(Armed::new);
        call(self.txn)
    }

    /// Notes the number of the state.
    pub(super) fn mark(&mut self, number: usize) -> Result<(), Error> {
        self.call(|txn| Run::write_state(txn, number, 0))?;
        put_state(self.model, &state_value(number, 0));
        Ok(())
    }

    /// Puts key number `n` into a table.
    pub fn put(&mut self, id: u8, n: u64, bytes: usize) -> Result<(), Error> {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        let value = Value { bytes, seed: n ^ bytes as u64 }.make();
        self.call(|txn| txn.create_table(&id.def())?.put(txn, &key, &value).map(drop))?;
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was just created");
        records.put(id.order().sort_key(&key), &key, &value);
        Ok(())
    }

    /// Puts a value that fills so many pages of its own.
    pub fn put_pages(&mut self, id: u8, n: u64, pages: usize) -> Result<(), Error> {
        self.put(id, n, pages * self.page_bytes)
    }

    /// Deletes key number `n` of a table.
    pub fn delete(&mut self, id: u8, n: u64) -> Result<(), Error> {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        self.call(|txn| match txn.open_table(&id.def())? {
            Some(table) => table.delete(txn, &key).map(drop),
            None => Ok(()),
        })?;
        if let Some(records) = self.model.table_mut(id) {
            records.delete(&id.order().sort_key(&key));
        }
        Ok(())
    }

    /// Puts key number `n` in the place of what was there, and compares that.
    pub fn replace(&mut self, id: u8, n: u64, bytes: usize) -> Result<(), Error> {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        let value = Value { bytes, seed: !n }.make();
        let old = self.call(|txn| txn.create_table(&id.def())?.replace(txn, &key, &value))?;
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was just created");
        let sort_key = id.order().sort_key(&key);
        assert_eq!(old.as_deref(), records.get(&sort_key).map(|value| &value[..]));
        records.put(sort_key, &key, &value);
        Ok(())
    }

    /// Goes through a table by a scan and a prefix, and counts.
    pub fn scan(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        let count = self.model.table(id).map_or(0, |records| records.count());
        let key = vec![b'm'; self.page_bytes / 3];
        self.call(|txn| {
            let Some(table) = txn.open_table(&id.def())? else { return Ok(()) };
            let mut scan = table.scan();
            scan.seek(&key);
            while scan.prev(txn)?.is_some() {}
            let mut found = 0;
            while scan.next(txn)?.is_some() {
                found += 1;
            }
            assert_eq!(found, count, "a scan shows every record once");
            table.prefix(txn, &key)?.try_for_each(|record| record.map(drop))
        })
    }

    /// Creates so many tables with long names, to be undone.
    pub fn many_tables(&mut self, count: usize) -> Result<(), Error> {
        let ended = self.call(|txn| {
            txn.nested(|txn| {
                for n in 0..count {
                    let name = format!("{n:04}-{}", "long name ".repeat(4));
                    let table = txn.create_table(&TableDef::<Bytes, Bytes>::named(name))?;
                    table.put(txn, b"key", b"value")?;
                }
                assert!(txn.table_names()?.len() >= count);
                Err::<(), _>(Error::Invalid("undone"))
            })
        });
        match ended {
            Err(Error::Invalid(_)) => Ok(()),
            other => other,
        }
    }

    /// Empties a table or a multimap.
    pub fn clear(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.clear(txn),
            None => Ok(()),
        })?;
        self.model.clear(id);
        Ok(())
    }

    /// Drops a table or a multimap.
    pub fn drop_table(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.drop_table(txn).map(drop),
            None => Ok(()),
        })?;
        self.model.drop_table(id);
        Ok(())
    }

    /// Adds values to those of key `n` of a multimap.
    pub fn pour(&mut self, id: u8, n: u64, values: Range<u64>) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        for value in values {
            let value = self.value_of(id, value);
            let new = self.call(|txn| {
                let multi = txn.create_table(&id.multi_def())?;
                multi.insert(txn, &key, &value)
            })?;
            self.model.create(id);
            let pairs = self.model.multi_mut(id).expect("it was just created");
            assert_eq!(new, pairs.insert(&key, &value), "whether the value is new");
        }
        Ok(())
    }

    /// Takes values from those of key `n` of a multimap, the last one first.
    pub fn take(&mut self, id: u8, n: u64, values: Range<u64>) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        for value in values.rev() {
            let value = self.value_of(id, value);
            let there = self.call(|txn| match txn.open_table(&id.multi_def())? {
                Some(multi) => multi.remove(txn, &key, &value),
                None => Ok(false),
            })?;
            let expected = self.model.multi_mut(id).is_some_and(|pairs| pairs.remove(&key, &value));
            assert_eq!(there, expected, "whether the value was there");
        }
        Ok(())
    }

    /// Gives key `n` of a multimap one value and no other.
    pub fn set(&mut self, id: u8, n: u64, value: u64) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        let value = self.value_of(id, value);
        self.call(|txn| {
            let multi = txn.create_table(&id.multi_def())?;
            multi.set(txn, &key, &value).map(drop)
        })?;
        self.model.create(id);
        let pairs = self.model.multi_mut(id).expect("it was just created");
        pairs.remove_all(&key);
        pairs.insert(&key, &value);
        Ok(())
    }

    /// Takes every key of a multimap but the lowest ones, up to key `n`.
    pub fn take_above(&mut self, id: u8, n: u64) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        let (from, to) = (Bound::Excluded(key), Bound::Unbounded);
        let gone = self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.delete_range(txn, &from, &to),
            None => Ok(0),
        })?;
        assert_eq!(gone, self.model.delete_range(id, &from, &to).unwrap_or(0));
        Ok(())
    }

    /// Goes through a multimap by pairs and by values from both ends, and counts.
    pub fn walk(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        let count = self.model.count_in(id);
        let keys: Vec<_> = match self.model.multi(id) {
            Some(pairs) => pairs.keys().map(|((key, _), count)| (key.clone(), count)).collect(),
            None => Vec::new(),
        };
        self.call(|txn| {
            let Some(multi) = txn.open_table(&id.multi_def())? else { return Ok(()) };
            let (mut pairs, mut found) = (multi.iter(txn)?, 0);
            while let Some(pair) = if found % 3 == 0 { pairs.next_back() } else { pairs.next() } {
                pair?;
                found += 1;
            }
            assert_eq!(found, count, "a walk shows every pair once");
            keys.iter().try_for_each(|(key, count)| {
                let mut values = multi.values(txn, key)?.rev();
                let found = values.try_fold(0, |n, value| value.map(|_| n + 1))?;
                assert_eq!(found, *count, "every value of a key is shown once");
                Ok(())
            })
        })
    }

    fn key_of(&self, id: u8, n: u64) -> (TableId, Vec<u8>) {
        let id = TableId(id);
        (id, program::key(id.order(), self.page_bytes, n))
    }

    fn value_of(&self, id: TableId, n: u64) -> Vec<u8> {
        program::value(id.values().expect("a multimap"), self.page_bytes, n)
    }

    /// A nested level that does `work`, and is undone unless `keep`. An error in it undoes it too,
    /// and the transaction goes on.
    pub fn nested(
        &mut self,
        keep: bool,
        work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        const UNDONE: &str = "undone";
        let mut model = self.model.clone();
        let (page_bytes, ground) = (self.page_bytes, self.ground);
        let arm = |on| ground.iter().for_each(|ground| ground.arm(on));
        arm(true);
        let ended = self.txn.nested(|txn| {
            arm(false);
            let done = work(&mut Edit { txn, model: &mut model, page_bytes, ground });
            arm(true);
            done.and_then(|()| if keep { Ok(()) } else { Err(Error::Invalid(UNDONE)) })
        });
        arm(false);
        match ended {
            Ok(()) => *self.model = model,
            Err(Error::Invalid(UNDONE)) => {}
            Err(error) => assert!(is_explained(&error), "nested: no fault explains this: {error}"),
        }
        Ok(())
    }
}
