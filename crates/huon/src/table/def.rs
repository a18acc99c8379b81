//! Table definitions and handles.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::table::codec::{Bytes, KeyCodec};
use crate::txn::names::{Order, TableId};

/// The name of a table, and the types of its keys and values.
///
/// ```
/// use huon::{Order, Str, TableDef, U64};
/// const USERS: TableDef<Str, U64> = TableDef::new("users");
/// let by_name: TableDef<Str, U64> = TableDef::named(format!("index-{}", 7));
/// let by_end = TableDef::<Str, U64>::new("domains").ordered(Order::Reversed);
/// # let _ = (USERS, by_name, by_end);
/// ```
pub struct TableDef<K, V> {
    pub(crate) name: Cow<'static, [u8]>,
    pub(crate) order: Order,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V> TableDef<K, V> {
    /// The table called `name`.
    pub const fn new(name: &'static str) -> TableDef<K, V> {
        TableDef { name: Cow::Borrowed(name.as_bytes()), order: K::ORDER, types: PhantomData }
    }

    /// The same, with a name made at run time; any bytes but none at all.
    pub fn named(name: impl Into<Vec<u8>>) -> TableDef<K, V> {
        TableDef { name: Cow::Owned(name.into()), order: K::ORDER, types: PhantomData }
    }

    /// The unnamed main table. It always exists, and holds the records of the named ones, which stay hidden:
    /// its own keys and their names must differ.
    pub const fn main() -> TableDef<K, V> {
        TableDef { name: Cow::Borrowed(b""), order: Order::Bytes, types: PhantomData }
    }

    /// With another order of keys than the key type has.
    pub fn ordered(mut self, order: Order) -> TableDef<K, V> {
        self.order = order;
        self
    }

    /// The table's name; empty for the main table.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

impl<K, V> fmt::Debug for TableDef<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableDef")
            .field("name", &self.name.escape_ascii().to_string())
            .field("order", &self.order)
            .finish()
    }
}

/// A handle of a table; see [`ReadTxn::open`](crate::ReadTxn::open) and
/// [`WriteTxn::create`](crate::WriteTxn::create).
///
/// It is a small `Copy` value, good for every transaction of its environment, for as long as that is open.
/// In a snapshot where the table does not exist its methods fail with
/// [`Error::TableMissing`](crate::Error::TableMissing).
pub struct Table<K, V> {
    pub(crate) id: TableId,
    types: PhantomData<fn(K) -> V>,
}

/// A table of plain bytes.
pub type RawTable = Table<Bytes, Bytes>;

impl<K, V> Table<K, V> {
    pub(crate) fn of(id: TableId) -> Table<K, V> {
        Table { id, types: PhantomData }
    }

    pub(crate) fn is_main(self) -> bool {
        self.id.is_main()
    }

    /// The same table seen as bytes.
    pub fn raw(self) -> RawTable {
        Table::of(self.id)
    }
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Table<K, V> {}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}
