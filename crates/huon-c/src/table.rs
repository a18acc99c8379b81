//! Tables as their handles mean them: of which kind they are, and how they are ordered.
//!
//! LMDB and libmdbx learn some things late that Huon has to know when a table is made: a
//! comparator, and whether integers have 4 or 8 bytes. A table that is still empty is made anew
//! then ([`Dbi::fit`]).

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use huon::{Bytes, Compare, MultiDef, Order, RawMulti, RawTable, TableDef, TableStat, WriteTxn};

use crate::dbi::{self, STAND_IN};
use crate::env::Rules;
use crate::fault::{Fault, Res};
use crate::flags::dbi::*;
use crate::in_txn;
use crate::inside::View;
use crate::txn::Txn;

/// What programs see as the value of a named table's name.
pub type TableRecord = [u8; 48];

/// The table behind a handle.
#[derive(Clone, Copy)]
pub enum Table {
    /// The main table, in which names of tables are records, too.
    Main(RawTable),
    /// A named one, with one value for a key.
    Plain(RawTable),
    /// A named one, with many values for a key.
    Multi(RawMulti),
}

impl Table {
    /// The number that is kept with it.
    pub fn sequence(self, txn: &impl huon::Txn) -> Res<u64> {
        Ok(match self {
            Table::Main(table) | Table::Plain(table) => table.sequence(txn)?,
            Table::Multi(table) => table.sequence(txn)?,
        })
    }

    /// Adds to it.
    pub fn take_sequence(self, txn: &mut WriteTxn, count: u64) -> Res<()> {
        if count == 0 {
            return Ok(());
        }
        match self {
            Table::Main(table) | Table::Plain(table) => table.take_sequence(txn, count)?,
            Table::Multi(table) => table.take_sequence(txn, count)?,
        };
        Ok(())
    }
}

/// An open database.
#[derive(Clone)]
pub struct Dbi {
    /// The table's name; empty for the main table.
    pub name: Arc<[u8]>,
    /// A number of this opening, to tell it from others of the handle.
    pub(crate) opening: u64,
    /// The table itself.
    pub table: Table,
    /// Of which kind it is, as [`flags::dbi`](crate::flags::dbi) has it.
    pub flags: u32,
    /// Comparators of the program.
    pub(crate) keys: Option<Arc<Compare>>,
    pub(crate) values: Option<Arc<Compare>>,
    /// The lengths of keys that may be looked for, in bytes.
    pub(crate) wanted: RangeInclusive<usize>,
    /// The transaction that opened it and is not over yet; 0: none.
    pub(crate) owner: usize,
    /// What the handle stood for before that transaction changed it, as it does for others.
    pub(crate) was: Option<Arc<Dbi>>,
    /// Its kind and its comparators are what a read transaction has said of an empty table, which
    /// is stored as another. That holds in this process, and the first one that writes to the table
    /// makes it so.
    pub(crate) is_told: bool,
}

/// The flags that say something, of those that say of which kind a database is to be.
pub(crate) fn kind(flags: u32) -> u32 {
    let ignored = if flags & DUPSORT == 0 { DUPFIXED | INTEGERDUP | REVERSEDUP } else { 0 };
    flags & KIND & !ignored
}

/// The flags that a table of this kind has when it is found again.
pub(crate) fn stored(kind: u32) -> u32 {
    let keys = if kind & INTEGERKEY != 0 { REVERSEKEY } else { 0 };
    let values = if kind & INTEGERDUP != 0 { REVERSEDUP } else { 0 };
    kind & !(keys | values)
}

/// The flags of a table that exists.
pub fn flags_of(stat: &TableStat) -> u32 {
    let keys = match stat.order {
        "reversed" => REVERSEKEY,
        "native-u32" | "native-u64" => INTEGERKEY,
        _ => 0,
    };
    let values = match stat.values {
        Some("reversed") => DUPSORT | REVERSEDUP,
        Some("native-u32" | "native-u64") => DUPSORT | INTEGERDUP,
        Some(_) => DUPSORT,
        None => 0,
    };
    let fixed = if stat.value_bytes.is_some() { DUPFIXED } else { 0 };
    keys | values | fixed
}

/// The lengths of keys that may be looked for. One that is too long is not there, and is refused
/// only where the interface does that.
fn wanted(rules: &Rules, flags: u32) -> RangeInclusive<usize> {
    match (rules.checks_wanted, flags & INTEGERKEY != 0) {
        // Between these the engine refuses it.
        (true, true) => 4..=8,
        (true, false) => rules.keys.clone(),
        (false, _) => *rules.keys.start()..=usize::MAX,
    }
}

/// The order of integers, of as many bytes as a new one has.
fn integers(bytes: usize) -> Order {
    if bytes == 4 { Order::NativeU32 } else { Order::NativeU64 }
}

impl Dbi {
    pub(crate) fn main(txn: &Txn) -> Res<Dbi> {
        let access = txn.access()?;
        let table =
            in_txn!(access.view()?, txn => txn.open_table(&TableDef::<Bytes, Bytes>::main()))?;
        Ok(Dbi {
            name: Arc::from(&b""[..]),
            opening: next_opening(),
            table: Table::Main(table.ok_or(Fault::TableMissing)?),
            flags: 0,
            keys: None,
            values: None,
            wanted: wanted(txn.env.rules()?, 0),
            owner: 0,
            was: None,
            is_told: false,
        })
    }

    /// A table that exists.
    pub(crate) fn found(txn: &Txn, name: &[u8], stat: &TableStat) -> Res<Dbi> {
        Dbi::of_kind(txn, name, flags_of(stat), [None, None])
    }

    pub(crate) fn of_kind(
        txn: &Txn,
        name: &[u8],
        flags: u32,
        [keys, values]: [Option<Arc<Compare>>; 2],
    ) -> Res<Dbi> {
        Dbi::shown(txn, txn.access()?.view()?, name, flags, [keys, values])
    }

    /// A table as a transaction in use shows it.
    fn shown(
        txn: &Txn,
        view: View<'_>,
        name: &[u8],
        flags: u32,
        [keys, values]: [Option<Arc<Compare>>; 2],
    ) -> Res<Dbi> {
        let order = |custom: &Option<Arc<Compare>>| match custom {
            Some(compare) => Order::unnamed(compare.clone()),
            None => Order::Stored,
        };
        let table = if flags & DUPSORT == 0 {
            let def = TableDef::<Bytes, Bytes>::named(name).ordered(order(&keys));
            in_txn!(view, txn => txn.open_table(&def))?.map(Table::Plain)
        } else {
            let mut def = MultiDef::<Bytes, Bytes>::named(name).ordered(order(&keys));
            if values.is_some() && flags & DUPFIXED != 0 {
                def = def.values_of_bytes(0);
            }
            def = def.values_ordered(order(&values));
            in_txn!(view, txn => txn.open_table(&def))?.map(Table::Multi)
        };
        Ok(Dbi {
            name: Arc::from(name),
            opening: next_opening(),
            table: table.ok_or(Fault::TableMissing)?,
            flags,
            keys,
            values,
            wanted: wanted(txn.env.rules()?, flags),
            owner: txn.handle(),
            was: None,
            is_told: false,
        })
    }

    /// The comparators of the program.
    fn custom(&self) -> [Option<Arc<Compare>>; 2] {
        [self.keys.clone(), self.values.clone()]
    }

    /// What is there of a table that a read transaction has said something of: this handle still
    /// while the table is empty, and one of the table as it is stored once that is as was said.
    pub(crate) fn met(&self, txn: &Txn, view: View<'_>) -> Res<Dbi> {
        let is_main = matches!(self.table, Table::Main(_));
        let name = if is_main { STAND_IN } else { &*self.name };
        let found = in_txn!(view, txn => txn.table_stat(name))?;
        let is_as_told = |found: &TableStat| {
            is_ordered(found, &orders(self.flags, &self.custom(), [8, 8])) || found.entries > 0
        };
        if !found.is_some_and(|found| is_as_told(&found)) {
            return Ok(self.clone());
        }
        let fresh = Dbi::shown(txn, view, name, self.flags, self.custom())?;
        // It is the same opening, to cursors.
        let opening = if is_main { fresh.opening } else { self.opening };
        Ok(Dbi { owner: self.owner, opening, ..fresh })
    }

    /// Makes the table what a read transaction has said of it.
    pub(crate) fn make_so(&self, txn: &Txn, engine: &mut WriteTxn) -> Res<Dbi> {
        let custom = self.custom();
        let stat = engine.table_stat(&self.name)?.ok_or(Fault::TableMissing)?;
        match self.table {
            _ if stat.entries != 0 => return Err(Fault::Incompatible),
            Table::Main(_) => dbi::make_stand_in(engine, self.flags, &custom)?,
            _ => remake(engine, &stat, self.flags, &custom, [8, 8])?,
        }
        Ok(Dbi { owner: txn.handle(), ..self.met(txn, View::Write(engine))? })
    }

    /// A table that is made now.
    pub(crate) fn made(
        txn: &Txn,
        name: &[u8],
        flags: u32,
        custom: [Option<Arc<Compare>>; 2],
    ) -> Res<Dbi> {
        let mut writer = txn.writer()?;
        let engine = writer.changing(&txn.env)?;
        make(engine, name, flags, &custom, [8, 8])?;
        drop(writer);
        Dbi::of_kind(txn, name, flags, custom)
    }

    /// Refuses a key of a length that the interface does not look for.
    #[inline]
    pub(crate) fn check_wanted(&self, key: &[u8]) -> Res<()> {
        if self.wanted.contains(&key.len()) { Ok(()) } else { Err(Fault::Size) }
    }

    /// Refuses an integer as a key that is longer or shorter than the table's.
    pub(crate) fn check_integer(&self, txn: &WriteTxn, key: &[u8]) -> Res<()> {
        let stat = if self.flags & INTEGERKEY == 0 { None } else { txn.table_stat(&self.name)? };
        match stat {
            Some(stat) if key.len() != if stat.order == "native-u32" { 4 } else { 8 } => {
                Err(Fault::Size)
            }
            _ => Ok(()),
        }
    }

    /// Whether the table may have to be made anew while it is empty.
    pub fn is_fitted(&self) -> bool {
        self.flags & (INTEGERKEY | INTEGERDUP) != 0 || self.keys.is_some() || self.values.is_some()
    }

    /// Makes an empty table such as the first record needs it, unless it is.
    pub fn fit(&self, txn: &mut WriteTxn, bytes: [usize; 2]) -> Res<()> {
        let Some(stat) = txn.table_stat(&self.name)? else { return Ok(()) };
        if stat.entries != 0 {
            return Ok(());
        }
        let custom = [self.keys.clone(), self.values.clone()];
        if is_ordered(&stat, &orders(self.flags, &custom, bytes)) {
            return Ok(());
        }
        remake(txn, &stat, self.flags, &custom, bytes)
    }

    /// Makes an empty table of values of one length anew, which had another one while it had some;
    /// false: it is none, or not empty.
    pub(crate) fn refit(&self, txn: &mut WriteTxn, bytes: [usize; 2]) -> Res<bool> {
        let stat = if self.flags & DUPFIXED == 0 { None } else { txn.table_stat(&self.name)? };
        let Some(stat) = stat.filter(|stat| stat.entries == 0) else { return Ok(false) };
        remake(txn, &stat, self.flags, &[self.keys.clone(), self.values.clone()], bytes)?;
        Ok(true)
    }

    /// Whether a key may have many values.
    pub fn is_multi(&self) -> bool {
        matches!(self.table, Table::Multi(_))
    }

    /// The function of the program's that orders its keys, or the values of a key.
    pub fn comparator(&self, of_values: bool) -> Option<&Arc<Compare>> {
        if of_values { self.values.as_ref() } else { self.keys.as_ref() }
    }

    /// Compares two keys, as the table orders them.
    pub fn compare_keys(&self, a: &[u8], b: &[u8]) -> Ordering {
        let reversed = self.flags & (REVERSEKEY | INTEGERKEY) != 0;
        compare(self.keys.as_ref(), reversed, a, b)
    }

    /// Compares two values of a key, as the table orders them.
    pub fn compare_values(&self, a: &[u8], b: &[u8]) -> Ordering {
        let reversed = self.flags & (REVERSEDUP | INTEGERDUP) != 0;
        compare(self.values.as_ref(), reversed, a, b)
    }
}

fn next_opening() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Atomic::Relaxed)
}

fn compare(custom: Option<&Arc<Compare>>, reversed: bool, a: &[u8], b: &[u8]) -> Ordering {
    match custom {
        Some(custom) => custom(a, b),
        None if reversed => a.iter().rev().cmp(b.iter().rev()),
        None => a.cmp(b),
    }
}

fn order_name(order: &Order) -> &'static str {
    match order {
        Order::Reversed => "reversed",
        Order::NativeU32 => "native-u32",
        Order::NativeU64 => "native-u64",
        Order::Custom(_) => "custom",
        _ => "bytes",
    }
}

/// How keys and values of a table are ordered whose first record has these lengths.
pub(crate) fn orders(
    flags: u32,
    custom: &[Option<Arc<Compare>>; 2],
    bytes: [usize; 2],
) -> [Order; 2] {
    let order = |at: usize, integer: u32, reverse: u32| match &custom[at] {
        Some(compare) => Order::unnamed(compare.clone()),
        None if flags & integer != 0 => integers(bytes[at]),
        None if flags & reverse != 0 => Order::Reversed,
        None => Order::Bytes,
    };
    [order(0, INTEGERKEY, REVERSEKEY), order(1, INTEGERDUP, REVERSEDUP)]
}

/// Whether keys and values of a table are stored in these orders.
pub(crate) fn is_ordered(stat: &TableStat, [keys, values]: &[Order; 2]) -> bool {
    let same_values = stat.values.is_none_or(|stored| stored == order_name(values));
    stat.order == order_name(keys) && same_values
}

/// Makes an empty table anew, of another kind; the number that is kept with it stays.
pub(crate) fn remake(
    txn: &mut WriteTxn,
    old: &TableStat,
    flags: u32,
    custom: &[Option<Arc<Compare>>; 2],
    bytes: [usize; 2],
) -> Res<()> {
    let sequence = drop_named(txn, &old.name, old.values.is_some())?;
    make(txn, &old.name, flags, custom, bytes)?.take_sequence(txn, sequence)
}

pub(crate) fn make(
    txn: &mut WriteTxn,
    name: &[u8],
    flags: u32,
    custom: &[Option<Arc<Compare>>; 2],
    bytes: [usize; 2],
) -> Res<Table> {
    let [keys, values] = orders(flags, custom, bytes);
    if flags & DUPSORT == 0 {
        let def = TableDef::<Bytes, Bytes>::named(name).ordered(keys);
        return Ok(Table::Plain(txn.create_table(&def)?));
    }
    let mut def = MultiDef::<Bytes, Bytes>::named(name).ordered(keys).values_ordered(values);
    if flags & DUPFIXED != 0 {
        def = def.values_of_bytes(0);
    }
    Ok(Table::Multi(txn.create_table(&def)?))
}

/// Deletes a table, whatever its orders, and says the number that was kept with it.
pub(crate) fn drop_named(txn: &mut WriteTxn, name: &[u8], is_multi: bool) -> Res<u64> {
    let stored = Order::Stored;
    let mut sequence = 0;
    if is_multi {
        let def = MultiDef::<Bytes, Bytes>::named(name).ordered(stored.clone());
        if let Some(table) = txn.open_table(&def.values_ordered(stored))? {
            sequence = table.sequence(txn)?;
            table.drop_table(txn)?;
        }
    } else if let Some(table) =
        txn.open_table(&TableDef::<Bytes, Bytes>::named(name).ordered(stored))?
    {
        sequence = table.sequence(txn)?;
        table.drop_table(txn)?;
    }
    Ok(sequence)
}

/// The record that stands for a named database in the main one.
pub fn record_of(stat: &TableStat) -> TableRecord {
    let mut record = [0; 48];
    record[4..6].copy_from_slice(&(flags_of(stat) as u16).to_le_bytes());
    record[6..8].copy_from_slice(&u16::from(stat.depth).to_le_bytes());
    let pages = [stat.branch_pages, stat.leaf_pages, stat.overflow_pages].map(u64::from);
    for (i, count) in pages.into_iter().chain([stat.entries, u64::MAX]).enumerate() {
        record[8 + 8 * i..16 + 8 * i].copy_from_slice(&count.to_le_bytes());
    }
    record
}
