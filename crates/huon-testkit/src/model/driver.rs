//! A write transaction and its model: what is done to one is done to the other, and what the engine
//! says of it is compared.

use std::ops::Bound;

use huon::{Result, WriteTxn};

use super::handle::Handle;
use super::{Model, TableId};

/// Makes calls of the engine fail, or not, on this thread.
pub trait Switch {
    /// Lets faults happen, or not.
    fn arm(&self, on: bool);
}

/// Lets faults happen as long as it lives.
pub(crate) struct Armed<'s>(&'s dyn Switch);

impl Armed<'_> {
    pub(crate) fn new(switch: &dyn Switch) -> Armed<'_> {
        switch.arm(true);
        Armed(switch)
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.arm(false);
    }
}

/// A write transaction beside its model. A call that fails changes neither.
pub(crate) struct Driver<'e> {
    pub(crate) txn: &'e mut WriteTxn,
    pub(crate) model: &'e mut Model,
    /// What makes the engine's calls fail, if anything does. The model's never do.
    pub(crate) faults: Option<&'e dyn Switch>,
}

impl Driver<'_> {
    /// Calls the engine.
    pub(crate) fn call<T>(&mut self, call: impl FnOnce(&mut WriteTxn) -> T) -> T {
        let _armed = self.faults.map(Armed::new);
        call(self.txn)
    }

    /// Puts a record; creates the table if need be.
    pub(crate) fn put(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let new = self.call(|txn| txn.create_table(&id.def())?.put(txn, key, value))?;
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was created");
        let sort_key = id.order().sort_key(key);
        assert_eq!(new, records.get(&sort_key).is_none(), "whether the key is new");
        records.put(sort_key, key, value);
        Ok(())
    }

    /// Puts a record in the place of another, if there is one, and compares that.
    pub(crate) fn replace(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let old = self.call(|txn| txn.create_table(&id.def())?.replace(txn, key, value))?;
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was created");
        let sort_key = id.order().sort_key(key);
        assert_eq!(
            old.as_ref().map(|old| old.bytes()),
            records.get(&sort_key).map(|value| &value[..])
        );
        records.put(sort_key, key, value);
        Ok(())
    }

    /// Deletes a record, if table and record are there.
    pub(crate) fn delete(&mut self, id: TableId, key: &[u8]) -> Result<()> {
        let gone = self.call(|txn| match txn.open_table(&id.def())? {
            Some(table) => table.remove(txn, key),
            None => Ok(false),
        })?;
        let sort_key = id.order().sort_key(key);
        let expected = self.model.table_mut(id).is_some_and(|records| records.delete(&sort_key));
        assert_eq!(gone, expected, "whether the record was there");
        Ok(())
    }

    /// Adds a value to those of a key; creates the multimap if need be.
    pub(crate) fn insert_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let new = self.call(|txn| txn.create_table(&id.multi_def())?.put(txn, key, value))?;
        self.model.create(id);
        let pairs = self.model.multi_mut(id).expect("it was created");
        assert_eq!(new, pairs.insert(key, value), "whether the value is new");
        Ok(())
    }

    /// Gives a key one value and no other; creates the multimap if need be.
    pub(crate) fn set_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.call(|txn| txn.create_table(&id.multi_def())?.set(txn, key, value).map(drop))?;
        self.model.create(id);
        let pairs = self.model.multi_mut(id).expect("it was created");
        pairs.remove_all(key);
        pairs.insert(key, value);
        Ok(())
    }

    /// Takes a value from those of a key, if it is there.
    pub(crate) fn remove_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let gone = self.call(|txn| match txn.open_table(&id.multi_def())? {
            Some(multi) => multi.remove(txn, key, value),
            None => Ok(false),
        })?;
        let expected = self.model.multi_mut(id).is_some_and(|pairs| pairs.remove(key, value));
        assert_eq!(gone, expected, "whether the value was there");
        Ok(())
    }

    /// Takes a key with all its values, if it is there.
    pub(crate) fn remove_key(&mut self, id: TableId, key: &[u8]) -> Result<()> {
        let gone = self.call(|txn| match txn.open_table(&id.multi_def())? {
            Some(multi) => multi.remove_key(txn, key),
            None => Ok(0),
        })?;
        let expected = self.model.multi_mut(id).map_or(0, |pairs| pairs.remove_all(key));
        assert_eq!(gone, expected, "how many values the key had");
        Ok(())
    }

    /// Takes a range of keys from a table or a multimap, if it is there.
    pub(crate) fn delete_range(
        &mut self,
        id: TableId,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> Result<()> {
        let gone = self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.remove_range(txn, from, to),
            None => Ok(0),
        })?;
        assert_eq!(gone, self.model.delete_range(id, from, to).unwrap_or(0));
        Ok(())
    }

    /// Empties a table or a multimap, if it is there.
    pub(crate) fn clear(&mut self, id: TableId) -> Result<()> {
        let there = self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.clear(txn).map(|()| true),
            None => Ok(false),
        })?;
        assert_eq!(there, self.model.clear(id), "whether the table was there");
        Ok(())
    }

    /// Drops a table or a multimap, if it is there.
    pub(crate) fn drop_table(&mut self, id: TableId) -> Result<()> {
        let there = self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.drop_table(txn),
            None => Ok(false),
        })?;
        assert_eq!(there, self.model.drop_table(id), "whether the table was there");
        Ok(())
    }

    /// Gives a table or a multimap its other name, if it is there.
    pub(crate) fn rename(&mut self, id: TableId) -> Result<()> {
        let to = id.renamed();
        let there = self.call(|txn| match Handle::open(txn, id)? {
            Some(table) => table.rename(txn, &to.name()).map(|()| true),
            None => Ok(false),
        })?;
        if there {
            self.model.rename(id, to);
        }
        Ok(())
    }
}
