//! Table definitions and handles.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::error::Result;
use crate::table::codec::{Bytes, Codec, KeyCodec};
use crate::txn::meaning::{TableSpec, TypeNames};
use crate::txn::names::{TableId, TableNo};
use crate::txn::order::Order;
use crate::txn::write::WriteTxn;

mod sealed {
    use super::{Result, TableId, TableSpec};

    /// A table as its definition asks for it.
    pub struct Asked<'d>(pub(crate) TableSpec<'d>);

    /// What a handle holds.
    pub struct Id(pub(crate) TableId);

    pub trait Sealed {
        /// The handle that the definition opens.
        type Opened: Copy;

        fn asked(&self) -> Result<Asked<'_>>;

        fn opened(id: Id) -> Self::Opened;
    }
}

pub(crate) use sealed::{Asked, Id, Sealed};

/// A definition of a table: a [`TableDef`], or a [`MultiDef`](crate::MultiDef).
///
/// What it opens is a [`Table`] or a [`Multi`](crate::Multi), with the same types.
///
/// ```
/// use huon::{Definition, Env, MultiDef, Str, TableDef, U64};
/// const AGES: TableDef<Str, U64> = TableDef::new("ages");
/// const BY_AGE: MultiDef<U64, Str> = MultiDef::new("by-age");
///
/// /// Whether the table was made.
/// fn is_there<H>(env: &Env, def: &impl Definition<Handle = H>) -> huon::Result<bool> {
///     Ok(env.read()?.open_table(def)?.is_some())
/// }
/// # let env = Env::in_memory()?;
/// env.update(|txn| txn.create_table(&BY_AGE).map(drop))?;
/// assert!(is_there(&env, &BY_AGE)? && !is_there(&env, &AGES)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Definition: Sealed<Opened = Self::Handle> {
    /// The handle that it opens.
    type Handle: Copy;
}

impl<K: KeyCodec, V: Codec> Sealed for TableDef<K, V> {
    type Opened = Table<K, V>;

    fn asked(&self) -> Result<Asked<'_>> {
        let TableDef { name, order, names, .. } = self;
        Ok(Asked(TableSpec { name, order, many: None, types: names }))
    }

    fn opened(id: Id) -> Table<K, V> {
        Table::of(id.0)
    }
}

impl<K: KeyCodec, V: Codec> Definition for TableDef<K, V> {
    type Handle = Table<K, V>;
}

/// The name of a table, and the types of its keys and values. The names of the types
/// ([`Codec::NAME`]) are stored with the table when it is created, and it opens as no other:
/// [`Error::TableType`](crate::Error::TableType). [`Bytes`] open as any type, and any as bytes.
///
/// ```
/// use huon::{Order, Str, TableDef, U64};
/// const USERS: TableDef<Str, U64> = TableDef::new("users");
/// let by_name: TableDef<Str, U64> = TableDef::named(format!("index-{}", 7));
/// let by_end = TableDef::<Str, U64>::new("domains").ordered(Order::Reversed);
/// # let _ = (USERS, by_name, by_end);
/// ```
#[must_use = "a definition opens nothing until it is passed to `open_table` or `create_table`"]
pub struct TableDef<K, V> {
    pub(crate) name: Cow<'static, [u8]>,
    pub(crate) order: Order,
    names: TypeNames,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: Codec> TableDef<K, V> {
    const NAMES: TypeNames =
        TypeNames { key: Cow::Borrowed(K::NAME), value: Cow::Borrowed(V::NAME) };

    /// Whether the order of keys is that of bytes.
    const KEYS_ARE_BYTES: bool = {
        let order = K::ORDER;
        let is_bytes = matches!(order, Order::Bytes);
        // A value with a destructor cannot be dropped where nothing runs.
        std::mem::forget(order);
        is_bytes
    };

    /// The table called `name`.
    pub const fn new(name: &'static str) -> TableDef<K, V> {
        let name = Cow::Borrowed(name.as_bytes());
        TableDef { name, order: K::ORDER, names: Self::NAMES, types: PhantomData }
    }

    /// The same, with a name made at run time; any bytes but none at all.
    ///
    /// ```
    /// let year = huon::TableDef::<huon::U64, huon::Str>::named(format!("events-{}", 2024));
    /// assert_eq!(year.name(), b"events-2024");
    /// ```
    pub fn named(name: impl AsRef<[u8]>) -> TableDef<K, V> {
        let name = Cow::Owned(name.as_ref().to_vec());
        TableDef { name, order: K::ORDER, names: Self::NAMES, types: PhantomData }
    }

    /// The unnamed main table. It always exists, and holds the records of the named ones, which
    /// stay hidden: its own keys and their names must differ.
    ///
    /// It has no types: it opens as any, and what is in it is not checked. Its keys are in the
    /// order of bytes, and types of keys of another order are refused when a program is compiled:
    ///
    /// ```compile_fail
    /// let main = huon::TableDef::<huon::NativeU64, huon::Str>::main();
    /// ```
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let main = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::main())?;
    /// main.put(&mut txn, "version", "3")?;
    /// txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("users"))?;
    /// assert_eq!(main.iter(&txn)?.count(), 1, "the record of `users` is hidden");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn main() -> TableDef<K, V> {
        const { assert!(Self::KEYS_ARE_BYTES, "the main table's keys are in the order of bytes") };
        let (order, names) = (Order::Bytes, TypeNames::BYTES);
        TableDef { name: Cow::Borrowed(b""), order, names, types: PhantomData }
    }

    /// With another order of keys than the key type has.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use huon::{Order, Str, TableDef, Unit};
    /// let hosts = TableDef::<Str, Unit>::new("hosts").ordered(Order::Reversed);
    /// let hosts = txn.create_table(&hosts)?;
    /// for host in ["a.org", "b.com", "c.org"] {
    ///     hosts.put(&mut txn, host, ())?;
    /// }
    /// let by_end: Result<Vec<_>, _> = hosts.iter(&txn)?.map(|r| r.map(|r| r.0)).collect();
    /// assert_eq!(by_end?, ["a.org", "c.org", "b.com"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ordered(mut self, order: Order) -> TableDef<K, V> {
        self.order = order;
        self
    }

    /// With these names of types in place of those of the codecs: for tools that see bytes, and
    /// make tables for programs that see more.
    #[doc(hidden)]
    pub fn type_names(mut self, key: &str, value: &str) -> TableDef<K, V> {
        let (key, value) = (key.to_owned().into(), value.to_owned().into());
        self.names = TypeNames { key, value };
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

/// A handle of a table; see [`ReadTxn::open_table`](crate::ReadTxn::open_table) and
/// [`WriteTxn::create_table`](crate::WriteTxn::create_table).
///
/// It is a small `Copy` value, good for every transaction of its environment that shows the table,
/// in any thread. In a snapshot where the table does not exist its methods fail with
/// [`Error::TableNotFound`](crate::Error::TableNotFound); those of a handle from
/// [`Env::table`](crate::Env::table) find an empty table there, and fail so only when they change
/// it. Where a table was dropped and made again
/// under its name, an old handle finds the new one or fails so: open it anew. It never finds
/// another table.
///
/// # Errors
/// Beside their own, all methods of a table that take a transaction can fail with
/// [`Error::TableNotFound`](crate::Error::TableNotFound); with
/// [`Error::Corrupt`](crate::Error::Corrupt) if a page that they need is damaged; with
/// [`Error::Decode`](crate::Error::Decode) from the codec; and in a write transaction with
/// [`Error::TxnBroken`](crate::Error::TxnBroken) after an earlier failure. A change can fail with
/// [`Error::MapFull`](crate::Error::MapFull) or [`Error::Io`](crate::Error::Io), which break the
/// transaction: nothing of it can be committed then, and everything before it stays as it was.
///
/// # Cost
/// A method that looks for a key makes one descent, over as many pages as the tree is deep. A
/// change copies these pages once in a transaction.
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

    /// The table's number in the environment of the transaction.
    pub(crate) fn number_in(self, txn: &WriteTxn) -> Result<TableNo> {
        txn.core.names.number(self.id)
    }

    /// The same table seen as bytes.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// assert_eq!(t.raw().get(&txn, b"ann")?, Some(&1u64.to_be_bytes()[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw(self) -> RawTable {
        Table::of(self.id)
    }
}

impl RawTable {
    /// The handle as numbers, for callers in other languages; bits 1 to 31 of the second are zero.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let def = huon::TableDef::<huon::Bytes, huon::Bytes>::new("t");
    /// let mut txn = env.write()?;
    /// let words = txn.create_table(&def)?.words();
    /// huon::RawTable::of_words(words).put(&mut txn, b"ann", b"1")?;
    /// assert!(huon::RawTable::of_words([0, 0]).get(&txn, b"ann").is_err());
    /// # Ok::<(), huon::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn words(self) -> [u64; 2] {
        self.id.words()
    }

    /// The handle of which these are the words: of a table, not of a multimap.
    #[doc(hidden)]
    pub fn of_words(words: [u64; 2]) -> RawTable {
        Table::of(TableId::of_words(words))
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
