//! A write transaction of a script, beside its model.

use huon::{Error, Geometry, WriteTxn};

use super::script::STATE;
use crate::history::program::{self, Value};
use crate::model::driver::Driver;
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

impl<'e> Edit<'e> {
    /// A transaction of no script, in a file of which no limit is known.
    pub(crate) fn of(
        txn: &'e mut WriteTxn,
        model: &'e mut Model,
        geometry: &'e mut Option<Geometry>,
        page_bytes: usize,
    ) -> Edit<'e> {
        Edit { txn, model, geometry, page_bytes }
    }
}

impl Edit<'_> {
    fn driver(&mut self) -> Driver<'_> {
        Driver { txn: self.txn, model: self.model, faults: None }
    }

    fn key_of(&self, id: u8, n: u64) -> (TableId, Vec<u8>) {
        let id = TableId(id);
        (id, program::key(id.order(), self.page_bytes, n))
    }

    /// Size of the environment's pages.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Puts record `n` with a value of `bytes` bytes; creates the table if need be.
    pub fn put(&mut self, id: u8, n: u64, bytes: usize) {
        let (id, key) = self.key_of(id, n);
        let value = Value { bytes, seed: n ^ self.txn.id() }.make();
        self.put_record(id, &key, &value);
    }

    pub(super) fn put_record(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        self.driver().put(id, key, value).expect("put");
    }

    /// Puts many records.
    pub fn fill(&mut self, id: u8, numbers: impl IntoIterator<Item = u64>, bytes: usize) {
        numbers.into_iter().for_each(|n| self.put(id, n, bytes));
    }

    /// Deletes record `n`.
    pub fn delete(&mut self, id: u8, n: u64) {
        let (id, key) = self.key_of(id, n);
        self.delete_record(id, &key);
    }

    pub(super) fn delete_record(&mut self, id: TableId, key: &[u8]) {
        self.driver().delete(id, key).expect("delete");
    }

    /// Adds values to those of key `n`; creates the multimap if need be.
    pub fn pour(&mut self, id: u8, n: u64, values: impl IntoIterator<Item = u64>) {
        let (id, key) = self.key_of(id, n);
        values.into_iter().for_each(|value| {
            let value = self.value_of(id, value);
            self.insert_pair(id, &key, &value);
        });
    }

    /// Takes values from those of key `n`.
    pub fn take(&mut self, id: u8, n: u64, values: impl IntoIterator<Item = u64>) {
        let (id, key) = self.key_of(id, n);
        values.into_iter().for_each(|value| {
            let value = self.value_of(id, value);
            self.remove_pair(id, &key, &value);
        });
    }

    /// Gives key `n` one value and no other.
    pub fn set(&mut self, id: u8, n: u64, value: u64) {
        let (id, key) = self.key_of(id, n);
        let value = self.value_of(id, value);
        self.set_pair(id, &key, &value);
    }

    /// Takes key `n` with all its values.
    pub fn take_all(&mut self, id: u8, n: u64) {
        let (id, key) = self.key_of(id, n);
        self.remove_key(id, &key);
    }

    fn value_of(&self, id: TableId, n: u64) -> Vec<u8> {
        program::value(id.values().expect("a multimap"), self.page_bytes, n)
    }

    pub(super) fn insert_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        self.driver().insert_pair(id, key, value).expect("insert");
    }

    pub(super) fn set_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        self.driver().set_pair(id, key, value).expect("set");
    }

    pub(super) fn remove_pair(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        self.driver().remove_pair(id, key, value).expect("remove");
    }

    pub(super) fn remove_key(&mut self, id: TableId, key: &[u8]) {
        self.driver().remove_key(id, key).expect("remove all");
    }

    /// Deletes the table.
    pub fn drop_table(&mut self, id: u8) {
        self.driver().drop_table(TableId(id)).expect("drop");
    }

    /// Deletes all records of the table.
    pub fn clear(&mut self, id: u8) {
        self.driver().clear(TableId(id)).expect("clear");
    }

    /// Gives the table its other name.
    pub fn rename(&mut self, id: u8) {
        self.driver().rename(TableId(id)).expect("rename");
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

    /// Changes the limits of the file's length, in pages: minimum and maximum. Whether they were
    /// allowed: a maximum below what is in use or kept is not.
    pub fn limit(&mut self, min_pages: u64, max_pages: u64) -> bool {
        let page_bytes = self.page_bytes as u64;
        let mut wanted = self.txn.geometry();
        assert!(self.geometry.is_none_or(|known| known == wanted), "other limits than were set");
        (wanted.min_bytes, wanted.max_bytes) = (min_pages * page_bytes, max_pages * page_bytes);
        match self.txn.set_geometry(wanted) {
            Err(Error::MapFull(_)) => false,
            done => {
                done.expect("limits that are allowed");
                *self.geometry = Some(self.txn.geometry());
                true
            }
        }
    }

    /// Notes in the snapshot which state it is.
    pub(super) fn note_state(&mut self, number: u32) {
        self.put_record(TableId::MAIN, STATE, &number.to_le_bytes());
    }
}
