//! Tables and multimaps as C holds them, and what they are opened with.
//!
//! T1. A table is a value, not an object: it is nothing to be closed, good in all threads, and in
//!     each transaction of its environment. The engine tells whether it is still a table there
//!     (N1); a mark tells one kind from the other, and both from memory that nothing was written
//!     to.

use std::ffi::{c_int, c_void};

use huon::{MultiDef, Order, RawMulti, RawTable, TableDef};

use crate::border::{Fault, Res};
use crate::bytes::huon_bytes;
use crate::callback::{compare, huon_compare_fn};

/// A table: a value that may be copied, kept as long as its environment is open, and used in every
/// thread and transaction of that. There is nothing to close. One whose table was dropped is
/// HUON_TABLE_NOT_FOUND, or finds the table that was made under its name since; never another one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_table {
    /// Not to be looked into.
    words: [u64; 2],
}

/// A multimap, a table in which a key may have many values, in order and none twice: a value, as
/// huon_table is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_multi {
    /// Not to be looked into.
    words: [u64; 2],
}

/// In bits that the engine leaves free.
const MARKED: u64 = 0xffff_fffe;
const TABLE: u64 = 0x7461_626c;
const MULTI: u64 = 0x6d75_6c74;

const NO_TABLE: Fault = Fault::Misuse(
    super::codes::HUON_BAD_HANDLE,
    "that is no table: it was not opened, or it is one of the other kind",
);

impl huon_table {
    /// No table: nothing was opened.
    pub(super) const NONE: huon_table = huon_table { words: [0; 2] };

    pub(super) fn of(table: RawTable) -> huon_table {
        let [first, second] = table.words();
        huon_table { words: [first, second | TABLE] }
    }

    #[inline]
    pub(super) fn get(self) -> Res<RawTable> {
        let [first, second] = self.words;
        let is_one = second & MARKED == TABLE;
        if is_one { Ok(RawTable::of_words([first, second & !MARKED])) } else { Err(NO_TABLE) }
    }
}

impl huon_multi {
    /// No table: nothing was opened.
    pub(super) const NONE: huon_multi = huon_multi { words: [0; 2] };

    pub(super) fn of(multi: RawMulti) -> huon_multi {
        let [first, second] = multi.words();
        huon_multi { words: [first, second | MULTI] }
    }

    #[inline]
    pub(super) fn get(self) -> Res<RawMulti> {
        let [first, second] = self.words;
        let is_one = second & MARKED == MULTI;
        if is_one { Ok(RawMulti::of_words([first, second & !MARKED])) } else { Err(NO_TABLE) }
    }
}

/// Keys, or values, are in the order of bytes.
pub const HUON_ORDER_BYTES: c_int = 0;
/// From the last byte to the first.
pub const HUON_ORDER_REVERSED: c_int = 1;
/// They are unsigned numbers of 32 bits, little-endian.
pub const HUON_ORDER_U32: c_int = 2;
/// They are unsigned numbers of 64 bits, little-endian.
pub const HUON_ORDER_U64: c_int = 3;
/// As a function says: see huon_order.
pub const HUON_ORDER_CUSTOM: c_int = 4;
/// As the table was created. One with a function can then only be read from end to end.
pub const HUON_ORDER_STORED: c_int = 5;

/// How keys, or values, compare. All zero: as bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_order<'a> {
    /// One of HUON_ORDER_*.
    pub kind: c_int,
    /// Of HUON_ORDER_CUSTOM: a name of 1 to 255 bytes of UTF-8, which the table keeps.
    pub name: huon_bytes<'a>,
    /// Of HUON_ORDER_CUSTOM: the function, good as long as the environment is open.
    pub compare: huon_compare_fn,
    /// What the function is handed; good in every thread that uses the table.
    pub context: *mut c_void,
}

/// What a table is opened or created with; NULL: all zero. Set `bytes` to
/// sizeof(huon_table_options) and the rest to zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_table_options<'a> {
    /// sizeof(huon_table_options).
    pub bytes: usize,
    /// How keys compare.
    pub keys: huon_order<'a>,
    /// How the values of a key compare, in a multimap.
    pub values: huon_order<'a>,
    /// Bytes that each value of a multimap has; 0: any.
    pub value_bytes: u32,
    /// The names of the types of keys and values, which the table keeps and other programs check;
    /// both empty: none.
    pub key_type: huon_bytes<'a>,
    /// The name of the type of values.
    pub value_type: huon_bytes<'a>,
}

fn order(order: &huon_order<'_>) -> Res<Order> {
    Ok(match order.kind {
        HUON_ORDER_BYTES => Order::Bytes,
        HUON_ORDER_REVERSED => Order::Reversed,
        HUON_ORDER_U32 => Order::NativeU32,
        HUON_ORDER_U64 => Order::NativeU64,
        HUON_ORDER_STORED => Order::Stored,
        HUON_ORDER_CUSTOM => {
            let call = compare(order.compare, order.context)?;
            Order::custom(text(order.name)?, move |a: &[u8], b: &[u8]| call(a, b))
        }
        _ => return Err(Fault::argument("there is no such order")),
    })
}

pub(super) fn text(name: huon_bytes<'_>) -> Res<&str> {
    std::str::from_utf8(name.get()?).map_err(|_| Fault::argument("the name is not UTF-8"))
}

/// The names of types, if any.
fn types<'a>(options: &huon_table_options<'a>) -> Res<Option<(&'a str, &'a str)>> {
    let types = (text(options.key_type)?, text(options.value_type)?);
    Ok((types != ("", "")).then_some(types))
}

pub(super) fn table_def(
    name: &[u8],
    options: Option<huon_table_options<'_>>,
) -> Res<TableDef<huon::Bytes, huon::Bytes>> {
    let mut def = TableDef::named(name);
    if let Some(options) = options {
        def = def.ordered(order(&options.keys)?);
        if let Some((key, value)) = types(&options)? {
            def = def.type_names(key, value);
        }
    }
    Ok(def)
}

pub(super) fn multi_def(
    name: &[u8],
    options: Option<huon_table_options<'_>>,
) -> Res<MultiDef<huon::Bytes, huon::Bytes>> {
    let mut def = MultiDef::named(name);
    if let Some(options) = options {
        def = def.ordered(order(&options.keys)?).values_ordered(order(&options.values)?);
        if options.value_bytes > 0 {
            def = def.values_of_bytes(options.value_bytes);
        }
        if let Some((key, value)) = types(&options)? {
            def = def.type_names(key, value);
        }
    }
    Ok(def)
}
