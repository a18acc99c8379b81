//! Opening, making and dropping tables of either kind.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use huon::{Bytes, Error, MultiDef, Order, RawMulti, RawTable, TableDef};
use pyo3::PyClass;
use pyo3::prelude::*;

use crate::fault::Res;
use crate::multi::MultiTable;
use crate::order;
use crate::seat::{Seat, look};
use crate::table::Table;
use crate::write::Level;

/// Which kind of table is to be opened.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    Any,
    Table,
    Multi,
}

impl Wanted {
    pub(crate) fn of(multi: Option<bool>) -> Wanted {
        match multi {
            None => Wanted::Any,
            Some(false) => Wanted::Table,
            Some(true) => Wanted::Multi,
        }
    }

    /// Whether it is to be a multimap: where nothing is said, if it is one already.
    pub(crate) fn is_multi(self, seat: &Seat, name: &[u8]) -> Res<bool> {
        Ok(match self {
            Wanted::Any => matches!(found(seat, name, self, ANY)?, Some(Found::Multi(_))),
            wanted => wanted == Wanted::Multi,
        })
    }
}

/// A table that is there, of either kind.
enum Found {
    Table(RawTable),
    Multi(RawMulti),
}

/// What keys and values are.
#[derive(Clone, Copy)]
pub(crate) struct Types<'a> {
    /// The names of their types; both empty: any.
    pub(crate) names: (&'a str, &'a str),
    /// How many bytes each value of a multimap has, which is to be made.
    pub(crate) value_bytes: Option<u32>,
    /// How keys compare, and values; where nothing is said, as the table was made.
    pub(crate) orders: (Option<&'a Order>, Option<&'a Order>),
}

pub(crate) const ANY: Types<'_> =
    Types { names: ("", ""), value_bytes: None, orders: (None, None) };

/// `usual`: the order where none is named.
fn plain_def(name: &[u8], usual: Order, types: Types<'_>) -> TableDef<Bytes, Bytes> {
    let def = TableDef::named(name).ordered(types.orders.0.cloned().unwrap_or(usual));
    if types.names == ANY.names { def } else { def.type_names(types.names.0, types.names.1) }
}

fn multi_def(name: &[u8], usual: Order, types: Types<'_>) -> MultiDef<Bytes, Bytes> {
    let is_made = matches!(usual, Order::Bytes);
    let keys = types.orders.0.unwrap_or(&usual).clone();
    let values = types.orders.1.unwrap_or(&usual).clone();
    let mut def = MultiDef::named(name).ordered(keys).values_ordered(values);
    if let Some(bytes) = types.value_bytes.filter(|_| is_made) {
        def = def.values_of_bytes(bytes);
    }
    if types.names == ANY.names { def } else { def.type_names(types.names.0, types.names.1) }
}

fn found(seat: &Seat, name: &[u8], wanted: Wanted, types: Types<'_>) -> Res<Option<Found>> {
    look!(seat, |txn| {
        if wanted != Wanted::Multi {
            match txn.open_table(&plain_def(name, Order::Stored, types)) {
                Err(Error::TableKind) if wanted == Wanted::Any => {}
                opened => return Ok(opened?.map(Found::Table)),
            }
        }
        Ok(txn.open_table(&multi_def(name, Order::Stored, types))?.map(Found::Multi))
    })
}

pub(crate) fn exists(seat: &Seat, name: &[u8]) -> Res<bool> {
    Ok(found(seat, name, Wanted::Any, ANY)?.is_some())
}

impl Found {
    fn object<'py>(
        self,
        py: Python<'py>,
        seat: Seat,
        name: &[u8],
        (keys, values): (Option<&Order>, Option<&Order>),
    ) -> Res<Bound<'py, PyAny>> {
        let (name, prefixes) = (name.into(), AtomicBool::new(false));
        let is_compared = order::is_function(keys) || order::is_function(values);
        Ok(match self {
            Found::Table(raw) => {
                Bound::new(py, Table { seat, raw, name, prefixes, is_compared })?.into_any()
            }
            Found::Multi(raw) => {
                Bound::new(py, MultiTable { seat, raw, name, prefixes, is_compared })?.into_any()
            }
        })
    }
}

/// Opens a table that is there.
pub(crate) fn opened<'py>(
    py: Python<'py>,
    seat: Seat,
    name: &[u8],
    wanted: Wanted,
    types: Types<'_>,
) -> Res<Bound<'py, PyAny>> {
    match found(&seat, name, wanted, types)? {
        Some(found) => found.object(py, seat, name, types.orders),
        None => Err(Error::TableNotFound.into()),
    }
}

/// A table, if it is there.
pub(crate) fn found_table<'py>(
    py: Python<'py>,
    seat: Seat,
    name: &[u8],
) -> Res<Option<Bound<'py, PyAny>>> {
    let found = found(&seat, name, Wanted::Any, ANY)?;
    found.map(|found| found.object(py, seat, name, (None, None))).transpose()
}

/// A view of a transaction as of any mapping: a class of `collections.abc`.
pub(crate) fn view<'py>(txn: &Bound<'py, impl PyClass>, kind: &str) -> Res<Bound<'py, PyAny>> {
    Ok(txn.py().import("collections.abc")?.getattr(kind)?.call1((txn,))?)
}

/// Opens a table, and makes it if it is missing. `types` are checked, where the caller names them.
pub(crate) fn created<'py>(
    py: Python<'py>,
    level: &Arc<Level>,
    name: &[u8],
    multi: bool,
    types: Types<'_>,
) -> Res<Bound<'py, PyAny>> {
    let seat = Seat::Write(level.clone());
    let wanted = Wanted::of(Some(multi));
    let is_there = found(&seat, name, wanted, types)?.is_some();
    let usual = if is_there { Order::Stored } else { Order::Bytes };
    let mut txn = level.changing()?;
    let made = if multi {
        Found::Multi(txn.create_table(&multi_def(name, usual, types))?)
    } else {
        Found::Table(txn.create_table(&plain_def(name, usual, types))?)
    };
    drop(txn);
    made.object(py, seat, name, types.orders)
}

/// Deletes a table with all that is in it.
pub(crate) fn dropped(py: Python<'_>, level: &Arc<Level>, name: &[u8]) -> Res<()> {
    let found = found(&Seat::Write(level.clone()), name, Wanted::Any, ANY)?;
    let mut opened = level.changing()?;
    let txn: &mut huon::WriteTxn = &mut opened;
    let dropped = py.detach(move || match found {
        Some(Found::Table(table)) => table.drop_table(txn),
        Some(Found::Multi(multi)) => multi.drop_table(txn),
        None => Ok(false),
    })?;
    if dropped { Ok(()) } else { Err(Error::TableNotFound.into()) }
}
