//! A write transaction of a workload: what is done in it is done to a model, too.

use std::ops::{Bound, Range};

use huon::{Bytes, Error, TableDef, WriteTxn};

use super::run::{Run, is_explained, put_state, state_value};
use super::{Ground, Switch};
use crate::history::program::{self, Value};
use crate::model::driver::Driver;
use crate::model::{Model, TableId};

/// A write transaction with its model.
pub struct Edit<'e> {
    pub(super) txn: &'e mut WriteTxn,
    pub(super) model: &'e mut Model,
    pub(super) page_bytes: usize,
    pub(super) ground: Option<&'e dyn Ground>,
}

impl Edit<'_> {
    fn driver(&mut self) -> Driver<'_> {
        let faults = self.ground.map(|ground| ground as &dyn Switch);
        Driver { txn: self.txn, model: self.model, faults }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut WriteTxn) -> T) -> T {
        self.driver().call(call)
    }

    /// Notes the number of the state.
    pub(super) fn mark(&mut self, number: usize) -> Result<(), Error> {
        self.call(|txn| Run::write_state(txn, number, 0))?;
        put_state(self.model, &state_value(number, 0));
        Ok(())
    }

    /// Puts key number `n` into a table.
    pub fn put(&mut self, id: u8, n: u64, bytes: usize) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        self.driver().put(id, &key, &Value { bytes, seed: n ^ bytes as u64 }.make())
    }

    /// Puts a value that fills so many pages of its own.
    pub fn put_pages(&mut self, id: u8, n: u64, pages: usize) -> Result<(), Error> {
        self.put(id, n, pages * self.page_bytes)
    }

    /// Deletes key number `n` of a table.
    pub fn delete(&mut self, id: u8, n: u64) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        self.driver().delete(id, &key)
    }

    /// Puts key number `n` in the place of what was there, and compares that.
    pub fn replace(&mut self, id: u8, n: u64, bytes: usize) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        self.driver().replace(id, &key, &Value { bytes, seed: !n }.make())
    }

    /// Goes through a table by a scan and a prefix, and counts.
    pub fn scan(&mut self, id: u8) -> Result<(), Error> {
        let id = TableId(id);
        let count = self.model.table(id).map_or(0, |records| records.count());
        let key = vec![b'm'; self.page_bytes / 3];
        self.call(|txn| {
            let Some(table) = txn.open_table(&id.def())? else { return Ok(()) };
            let mut scan = table.cursor();
            scan.seek(&key)?;
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
        self.driver().clear(TableId(id))
    }

    /// Drops a table or a multimap.
    pub fn drop_table(&mut self, id: u8) -> Result<(), Error> {
        self.driver().drop_table(TableId(id))
    }

    /// Adds values to those of key `n` of a multimap.
    pub fn pour(&mut self, id: u8, n: u64, mut values: Range<u64>) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        values.try_for_each(|value| {
            let value = self.value_of(id, value);
            self.driver().insert_pair(id, &key, &value)
        })
    }

    /// Takes values from those of key `n` of a multimap, the last one first.
    pub fn take(&mut self, id: u8, n: u64, values: Range<u64>) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        values.rev().try_for_each(|value| {
            let value = self.value_of(id, value);
            self.driver().remove_pair(id, &key, &value)
        })
    }

    /// Gives key `n` of a multimap one value and no other.
    pub fn set(&mut self, id: u8, n: u64, value: u64) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        let value = self.value_of(id, value);
        self.driver().set_pair(id, &key, &value)
    }

    /// Takes every key of a multimap but the lowest ones, up to key `n`.
    pub fn take_above(&mut self, id: u8, n: u64) -> Result<(), Error> {
        let (id, key) = self.key_of(id, n);
        self.driver().delete_range(id, &Bound::Excluded(key), &Bound::Unbounded)
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
