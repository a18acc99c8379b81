//! Handles of tables of either kind, for what can be done to both.

use std::ops::Bound;

use huon::{MultiDef, Order, RawMulti, RawTable, Result, TableDef, WriteTxn};

use crate::model::{KeyOrder, TableId};

/// A handle of a table or of a multimap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handle {
    Plain(RawTable),
    Multi(RawMulti),
}

impl Handle {
    /// A handle of the table, if it exists.
    pub(crate) fn open(txn: &WriteTxn, id: TableId) -> Result<Option<Handle>> {
        match id.values() {
            None => Ok(txn.open_table(&id.def())?.map(Handle::Plain)),
            Some(_) => Ok(txn.open_table(&id.multi_def())?.map(Handle::Multi)),
        }
    }

    /// Another handle of it, whose orders are those in the file.
    pub(crate) fn open_stored(txn: &WriteTxn, id: TableId) -> Result<Option<Handle>> {
        match id.values() {
            None => {
                let def = TableDef::named(id.name()).ordered(Order::Stored);
                Ok(txn.open_table(&def)?.map(Handle::Plain))
            }
            Some(_) => {
                let def = MultiDef::named(id.name()).ordered(Order::Stored);
                let opened = txn.open_table(&def.values_ordered(Order::Stored))?;
                Ok(opened.map(Handle::Multi))
            }
        }
    }

    /// Whether the file alone says how keys and values compare.
    pub(crate) fn has_stored_order(id: TableId) -> bool {
        let is_stored = |order: KeyOrder| order != KeyOrder::ByLength;
        let values = id.values().is_none_or(|values| is_stored(values.order));
        !id.is_main() && is_stored(id.order()) && values
    }

    /// A handle of the table, which is created if it does not exist.
    pub(crate) fn create(txn: &mut WriteTxn, id: TableId) -> Result<Handle> {
        match id.values() {
            None => txn.create_table(&id.def()).map(Handle::Plain),
            Some(_) => txn.create_table(&id.multi_def()).map(Handle::Multi),
        }
    }

    /// The table; `None` if this is a multimap.
    pub(crate) fn plain(self) -> Option<RawTable> {
        match self {
            Handle::Plain(table) => Some(table),
            Handle::Multi(_) => None,
        }
    }

    /// The multimap; `None` if this is none.
    pub(crate) fn multi(self) -> Option<RawMulti> {
        match self {
            Handle::Plain(_) => None,
            Handle::Multi(multi) => Some(multi),
        }
    }

    pub(crate) fn remove_range(
        self,
        txn: &mut WriteTxn,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> Result<u64> {
        let range = slices(from, to);
        match self {
            Handle::Plain(table) => table.remove_range(txn, range),
            Handle::Multi(multi) => multi.remove_range(txn, range),
        }
    }

    pub(crate) fn clear(self, txn: &mut WriteTxn) -> Result<()> {
        match self {
            Handle::Plain(table) => table.clear(txn),
            Handle::Multi(multi) => multi.clear(txn),
        }
    }

    pub(crate) fn drop_table(self, txn: &mut WriteTxn) -> Result<bool> {
        match self {
            Handle::Plain(table) => table.drop_table(txn),
            Handle::Multi(multi) => multi.drop_table(txn),
        }
    }

    pub(crate) fn sequence(self, txn: &WriteTxn) -> Result<u64> {
        match self {
            Handle::Plain(table) => table.sequence(txn),
            Handle::Multi(multi) => multi.sequence(txn),
        }
    }

    pub(crate) fn take_sequence(self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        match self {
            Handle::Plain(table) => table.take_sequence(txn, count),
            Handle::Multi(multi) => multi.take_sequence(txn, count),
        }
    }

    pub(crate) fn rename(self, txn: &mut WriteTxn, name: &[u8]) -> Result<()> {
        match self {
            Handle::Plain(table) => table.rename(txn, name),
            Handle::Multi(multi) => multi.rename(txn, name),
        }
    }
}

/// Both ends of a range, borrowed.
pub(crate) fn slices<'k>(
    from: &'k Bound<Vec<u8>>,
    to: &'k Bound<Vec<u8>>,
) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice))
}
