//! A write transaction of a script, beside its model.

use huon::{Error, Geometry, WriteTxn};

use super::script::STATE;
use crate::history::program::{self, Value};
use crate::model::handle::Handle;
use crate::model::{Model, TableId};

/// A write transaction of a script, beside its model.
pub struct Edit<'e> {
    /// The transaction.
    pub txn: &'e mut WriteTxn,
    /// Its model.
    pub model: &'e mut Model,
    /// The limits of the file's length, where they are known.
    pub(super) geometry: &'e mut Option<Geometry>,
    pub(super) page_bytes: usize,
}

impl Edit<'_> {
    /// Size of the environment's pages.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Puts record `n` with a value of `bytes` bytes; creates the table if need be.
    pub fn put(&mut self, id: u8, n: u64, bytes: usize) {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        let value = Value { bytes, seed: n ^ self.txn.id() }.make();
        self.put_record(id, &key, &value);
    }

    pub(super) fn put_record(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        let table = self.txn.create_table(&id.def()).expect("create");
        table.put(self.txn, key, value).expect("put");
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was created");
        records.put(id.order().sort_key(key), key, value);
    }

    /// Puts many records.
    pub fn fill(&mut self, id: u8, numbers: impl IntoIterator<Item = u64>, bytes: usize) {
        numbers.into_iter().for_each(|n| self.put(id, n, bytes));
    }

    /// Deletes record `n`.
    pub fn delete(&mut self, id: u8, n: u64) {
        let id = TableId(id);
        self.delete_record(id, &program::key(id.order(), self.page_bytes, n));
    }

    pub(super) fn delete_record(&mut self, id: TableId, key: &[u8]) {
        let Some(table) = self.txn.open_table(&id.def()).expect("open") else { return };
        table.remove(self.txn, key).expect("delete");
        if let Some(records) = self.model.table_mut(id) {
            records.delete(&id.order().sort_key(key));
        }
    }

    /// Adds values to those of key `n`; creates the multimap if need be.
    pub fn pour(&mut self, id: u8, n: u64, values: impl IntoIterator<Item = u64>) {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        values.into_iter().for_each(|value| {
            let value = self.value_of(id, value);
            self.insert_pair(id, &key, &value);
        });
    }

    /// Takes values from those of key `n`.
    pub fn take(&mut self, id: u8, n: u64, values: impl IntoIterator<Item = u64>) {
        let id = TableId(id);
        let key = program::key(id.order(), self.page_bytes, n);
        values.into_iter().for_each(|value| {
            let value = self.value_of(id, value);
            self.remove_pair(id, &key, &value);
        });
    }

    /// Gives key `n` one value and no other.
    pub fn set(&mut self, id: u8, n: u64, value: u64) {
        let id = TableId(id);
        let (key, value) = (program::key(id.order(), self.page_bytes, n), self.value_of(id, value));
        self.set_pair(id, &key, &value);
    }

    /// Takes key `n` with all its values.
    pub fn take_all(&mut self, id: u8, n: u64) {
        let id = TableId(id);
        self.remove_key(id, &program::key(id.order(), self.page_bytes, n));
    }

    fn value_of(&self, id: TableId, n: u64) -> Vec<u8> {
        program::value(id.values().expect("a multimap"), self.page_bytes, n)
    }

    pub(super) fn insert_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        let multi = self.txn.create_table(&id.multi_def()).expect("create");
        multi.put(self.txn, key, value).expect("insert");
        self.model.create(id);
        self.model.multi_mut(id).expect("it was created").insert(key, value);
    }

    pub(super) fn set_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        let multi = self.txn.create_table(&id.multi_def()).expect("create");
        multi.set(self.txn, key, value).expect("set");
        self.model.create(id);
        let pairs = self.model.multi_mut(id).expect("it was created");
        pairs.remove_all(key);
        pairs.insert(key, value);
    }

    pub(super) fn remove_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        let Some(multi) = self.txn.open_table(&id.multi_def()).expect("open") else { return };
        multi.remove(self.txn, key, value).expect("remove");
        self.model.multi_mut(id).expect("it exists").remove(key, value);
    }

    pub(super) fn remove_key(&mut self, id: TableId, key: &[u8]) {
        let Some(multi) = self.txn.open_table(&id.multi_def()).expect("open") else { return };
        multi.remove_key(self.txn, key).expect("remove all");
        self.model.multi_mut(id).expect("it exists").remove_all(key);
    }

    /// Deletes the table.
    pub fn drop_table(&mut self, id: u8) {
        let id = TableId(id);
        let Some(table) = Handle::open(self.txn, id).expect("open") else { return };
        table.drop_table(self.txn).expect("drop");
        self.model.drop_table(id);
    }

    /// Deletes all records of the table.
    pub fn clear(&mut self, id: u8) {
        let id = TableId(id);
        let Some(table) = Handle::open(self.txn, id).expect("open") else { return };
        table.clear(self.txn).expect("clear");
        assert!(self.model.clear(id), "it exists");
    }

    /// Gives the table its other name.
    pub fn rename(&mut self, id: u8) {
        let id = TableId(id);
        let Some(table) = Handle::open(self.txn, id).expect("open") else { return };
        table.rename(self.txn, &id.renamed().name()).expect("rename");
        self.model.rename(id, id.renamed());
    }

    /// Builds the table, which must be empty or missing, from `count` records.
    pub fn build(&mut self, id: u8, count: u64, bytes: usize) {
        let id = TableId(id);
        let order = id.order();
        let table = self.txn.create_table(&id.def()).expect("create");
        self.model.create(id);
        let mut keys: Vec<Vec<u8>> =
            (0..count).map(|n| program::key(order, self.page_bytes, n)).collect();
        keys.sort_by_key(|key| order.sort_key(key));
        keys.dedup();
        let seed = self.txn.id();
        let value = |n: usize| Value { bytes, seed: seed ^ n as u64 }.make();
        let add = |append: &mut huon::Append<'_, huon::Bytes, huon::Bytes>| {
            keys.iter().enumerate().try_for_each(|(n, key)| append(key, &value(n)))
        };
        table.bulk_load(self.txn, add).expect("build");
        let records = self.model.table_mut(id).expect("it was created");
        for (n, key) in keys.iter().enumerate() {
            records.put(order.sort_key(key), key, &value(n));
        }
    }

    /// A nested level, kept or undone.
    pub fn nested(&mut self, keep: bool, work: impl FnOnce(&mut Edit<'_>)) {
        let before = self.before();
        let (model, geometry, page_bytes) =
            (&mut *self.model, &mut *self.geometry, self.page_bytes);
        let done = self.txn.nested(|txn| {
            work(&mut Edit { txn, model, geometry, page_bytes });
            if keep { Ok(()) } else { Err(Error::Invalid("undone")) }
        });
        if done.is_err() {
            (*self.model, *self.geometry) = before;
        }
    }

    /// Work behind a savepoint that is rolled back, and other work in its place.
    pub fn rolled_back(
        &mut self,
        undone: impl FnOnce(&mut Edit<'_>),
        instead: impl FnOnce(&mut Edit<'_>),
    ) {
        let before = self.before();
        self.txn.savepoint("here").expect("a savepoint");
        undone(self);
        self.txn.roll_back_to("here").expect("back to it");
        (*self.model, *self.geometry) = before;
        instead(self);
        self.txn.release("here").expect("it is still there");
    }

    fn before(&self) -> (Model, Option<Geometry>) {
        (self.model.clone(), *self.geometry)
    }

    /// Changes the limits of the file's length, in pages: lower and upper. Whether they were
    /// allowed: an upper one below what is in use or kept is not.
    pub fn limit(&mut self, lower: u64, upper: u64) -> bool {
        let page_bytes = self.page_bytes as u64;
        let mut wanted = self.txn.geometry();
        assert!(self.geometry.is_none_or(|known| known == wanted), "other limits than were set");
        (wanted.min_bytes, wanted.max_bytes) = (lower * page_bytes, upper * page_bytes);
        match self.txn.set_geometry(wanted) {
            Err(Error::MapFull(_)) => false,
            done => {
                done.expect("limits that are allowed");
                *self.geometry = Some(self.txn.geometry());
                true
            }
        }
    }

    /// Has the snapshot say which state it is.
    pub(super) fn note_state(&mut self, number: u32) {
        let bytes = number.to_le_bytes();
        let main = self.txn.create_table(&TableId::MAIN.def()).expect("the main table");
        main.put(self.txn, STATE, &bytes).expect("put");
        let records = self.model.table_mut(TableId::MAIN).expect("the main table");
        records.put(STATE.to_vec(), STATE, &bytes);
    }
}
