//! Tables as libmdbx opens and drops them.

use std::sync::Arc;

use huon::{Compare, TableStat};
use huon_c::dbi::{self, FREE, MAIN};
use huon_c::table::{Dbi, Table, flags_of};
use huon_c::{Fault, Res, Txn, in_txn};

use crate::flags::dbi::*;

/// A named table that was found.
pub(crate) struct Named {
    pub(crate) stat: TableStat,
    pub(crate) flags: u32,
    /// Its handle, if it is open; else 0.
    pub(crate) dbi: u32,
}

/// Opens a table.
pub(crate) fn open(txn: &Txn, name: Option<&[u8]>, flags: u32) -> Res<u32> {
    // No flags, or `MDBX_DB_ACCEDE`, take a table of any kind.
    let flags = if flags == DB_ACCEDE { 0 } else { flags };
    check_kind(flags)?;
    match dbi::open(txn, name, flags) {
        // A name is no key.
        Err(Fault::Size) => Err(Fault::Invalid),
        opened => opened,
    }
}

/// Sets the program's comparator for the keys of a table, or the values of a key, or leaves the
/// order to the flags (`None`): always the same.
pub(crate) fn set_order(
    txn: &Txn,
    (dbi, known): (u32, Dbi),
    order: Option<Arc<Compare>>,
    of_values: bool,
) -> Res<()> {
    match (known.comparator(of_values), order) {
        (None, None) => Ok(()),
        (None, Some(order)) => dbi::set_comparator(txn, (dbi, known), order, of_values),
        (Some(known), Some(order)) if Arc::ptr_eq(known, &order) => Ok(()),
        (Some(_), _) => Err(Fault::Invalid),
    }
}

/// Refuses a cursor of what has none.
pub(crate) fn check_cursor(txn: &Txn, dbi: u32) -> Res<()> {
    if dbi == FREE && txn.is_write() { Err(Fault::ReadOnly) } else { Ok(()) }
}

/// Refuses flags that no table has together.
fn check_kind(flags: u32) -> Res<()> {
    let of_many = flags & (DUPFIXED | INTEGERDUP | REVERSEDUP) != 0;
    let wrong = of_many && flags & DUPSORT == 0 || flags & (INTEGERDUP | DUPFIXED) == INTEGERDUP;
    if wrong { Err(Fault::Invalid) } else { Ok(()) }
}

/// Empties a table, or deletes it. The main table is emptied only, and not while it has names of
/// tables.
pub(crate) fn drop(txn: &Txn, dbi: u32, delete: bool) -> Res<()> {
    if dbi == FREE {
        return Err(Fault::ReadOnly);
    }
    if dbi == MAIN {
        let known = txn.env.dbis().get(dbi, txn)?.clone();
        let has_names = in_txn!(txn.access()?.view()?, engine => !engine.table_names()?.is_empty());
        if matches!(known.table, Table::Main(_)) && has_names {
            return Err(Fault::Incompatible);
        }
    }
    dbi::drop_dbi(txn, dbi, delete)
}

/// Every named table.
pub(crate) fn all(txn: &Txn) -> Res<Vec<Named>> {
    let access = txn.access()?;
    let names = in_txn!(access.view()?, engine => engine.table_names())?;
    let mut tables = Vec::new();
    for name in names.into_iter().filter(|name| !dbi::is_hidden(name)) {
        let Some(stat) = dbi::stat(&access, &name)? else { continue };
        let dbi = txn.env.dbis().handle_of(&name).unwrap_or(0);
        tables.push(Named { flags: flags_of(&stat), stat, dbi });
    }
    Ok(tables)
}

/// How the values of keys lie, a bit for each way; `None`: a key has only one.
pub(crate) fn depths(txn: &Txn, dbi: u32) -> Res<Option<u32>> {
    let known = txn.env.dbis().get(dbi, txn)?.clone();
    let Table::Multi(table) = known.table else { return Ok(None) };
    let access = txn.access()?;
    let depths = in_txn!(access.view()?, engine => table.value_depths(engine))?;
    Ok(Some(depths))
}
