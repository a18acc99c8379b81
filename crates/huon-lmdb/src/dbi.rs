//! Databases: the handles that an environment gives out, and the tables that they stand for.
//!
//! The main database is Huon's main table, and named ones are named tables. What the main table
//! cannot be (sorted by another order than bytes, or with many values for a key) is a hidden named
//! table instead, [`STAND_IN`], as long as the main table is empty when that is asked for.
//!
//! Some of what LMDB is told late, Huon has to know when a table is made: a comparator, and whether
//! integers have 4 or 8 bytes. A table that is still empty is made anew then ([`Dbi::fit`]).

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::atomic::Ordering as Atomic;
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use huon::{Bytes, Compare, MultiDef, Order, RawMulti, RawTable, TableDef, TableStat, WriteTxn};

use crate::codes::{Code, Res};
use crate::cursor::Went;
use crate::env::Env;
use crate::flags::dbi::*;
use crate::txn::{Access, Txn, in_txn};

/// The handle of the main database.
pub(crate) const MAIN: u32 = 1;
/// The first handle of a named one.
const NAMED: usize = 2;
/// The table that stands for a main database of another kind than the main table can be.
const STAND_IN: &[u8] = b"\0huon:main";
/// The longest key, and the longest value among many.
pub(crate) const KEY_BYTES_MAX: usize = 511;

/// What LMDB's programs see as the value of a named database's name.
pub(crate) type TableRecord = [u8; 48];

#[derive(Clone, Copy)]
pub(crate) enum Table {
    /// The main table, in which names of tables are records, too.
    Main(RawTable),
    Plain(RawTable),
    Multi(RawMulti),
}

/// An open database.
#[derive(Clone)]
pub(crate) struct Dbi {
    /// The table's name; empty for the main table.
    pub(crate) name: Arc<[u8]>,
    pub(crate) table: Table,
    pub(crate) flags: u32,
    /// Comparators of the program.
    keys: Option<Arc<Compare>>,
    values: Option<Arc<Compare>>,
    /// The transaction that opened it and is not over yet; 0: none.
    owner: usize,
}

/// The databases of an environment by handle.
#[derive(Default)]
pub(crate) struct Dbis {
    list: Vec<Option<Dbi>>,
    pub(crate) max: u32,
}

impl Env {
    pub(crate) fn dbis(&self) -> RwLockReadGuard<'_, Dbis> {
        self.dbis.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn dbis_mut(&self) -> RwLockWriteGuard<'_, Dbis> {
        let dbis = self.dbis.write().unwrap_or_else(PoisonError::into_inner);
        self.dbis_version.fetch_add(1, Atomic::Release);
        dbis
    }
}

/// What a thread has looked up last: which database, of which transaction, at which version.
type Recent = Option<([u64; 3], Rc<Dbi>)>;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(None) };
}

impl Txn {
    /// An open database that the transaction may use.
    pub(crate) fn dbi(&self, dbi: u32) -> Res<Rc<Dbi>> {
        self.with_dbi(dbi, Rc::clone)
    }

    /// Its table.
    #[inline]
    pub(crate) fn table(&self, dbi: u32) -> Res<Table> {
        self.with_dbi(dbi, |dbi| dbi.table)
    }

    #[inline]
    fn with_dbi<R>(&self, dbi: u32, work: impl FnOnce(&Rc<Dbi>) -> R) -> Res<R> {
        let version = self.env.dbis_version.load(Atomic::Acquire);
        let at = [u64::from(dbi), self.handle() as u64, version];
        RECENT.with_borrow_mut(|recent| match recent {
            Some((last, dbi)) if *last == at => Ok(work(dbi)),
            _ => {
                let found = Rc::new(self.env.dbis().get(dbi, self)?.clone());
                let result = work(&found);
                // Before it has a handle nothing tells it from others.
                *recent = (self.handle() != 0).then_some((at, found));
                Ok(result)
            }
        })
    }
}

impl Dbis {
    /// A database that the transaction may use: what another one has opened is its own until it
    /// commits.
    pub(crate) fn get(&self, dbi: u32, txn: &Txn) -> Res<&Dbi> {
        let found = self.list.get(dbi as usize).and_then(Option::as_ref);
        found.filter(|dbi| dbi.owner == 0 || txn.is_within(dbi.owner)).ok_or(Code::EINVAL)
    }

    fn named(&self, name: &[u8]) -> Option<(u32, &Dbi)> {
        let at = |dbi: &Option<Dbi>| dbi.as_ref().is_some_and(|dbi| *dbi.name == *name);
        let index = NAMED + self.list.get(NAMED..)?.iter().position(at)?;
        Some((index as u32, self.list[index].as_ref()?))
    }

    /// A handle that is free.
    fn vacant(&self) -> Res<usize> {
        let named = self.list.get(NAMED..).unwrap_or_default();
        let index = named.iter().position(Option::is_none).unwrap_or(named.len());
        if index < self.max as usize { Ok(NAMED + index) } else { Err(Code::DBS_FULL) }
    }

    fn set(&mut self, index: usize, dbi: Dbi) {
        if self.list.len() <= index {
            self.list.resize_with(index + 1, || None);
        }
        self.list[index] = Some(dbi);
    }

    /// A transaction is over. What it opened is its parent's then, or everybody's (0), or closed.
    pub(crate) fn end_of(&mut self, txn: usize, owner: Option<usize>) {
        for place in self.list.iter_mut().skip(MAIN as usize) {
            if let Some(dbi) = place
                && dbi.owner == txn
            {
                match owner {
                    Some(owner) => dbi.owner = owner,
                    None => *place = None,
                }
            }
        }
    }

    fn share(&mut self, dbi: u32) {
        if let Some(Some(dbi)) = self.list.get_mut(dbi as usize) {
            dbi.owner = 0;
        }
    }

    pub(crate) fn close(&mut self, dbi: u32) {
        if dbi as usize >= NAMED
            && let Some(place) = self.list.get_mut(dbi as usize)
        {
            *place = None;
        }
    }
}

/// Opens the main database (no name) or a named one, and says its handle.
pub(crate) fn open(txn: &Txn, name: Option<&[u8]>, flags: u32) -> Res<u32> {
    if flags & !(KIND | CREATE) != 0 {
        return Err(Code::EINVAL);
    }
    let Some(name) = name else { return open_main(txn, flags) };
    let access = txn.access()?;
    let known = txn.env.dbis().named(name).map(|(dbi, known)| (dbi, known.owner));
    if let Some((dbi, owner)) = known {
        if owner != 0 && !txn.is_within(owner) {
            // Where two have opened it, neither can close it by ending.
            stat(&access, name)?.ok_or(Code::NOTFOUND)?;
            txn.env.dbis_mut().share(dbi);
        }
        return Ok(dbi);
    }
    let index = txn.env.dbis().vacant()?;
    if name.is_empty() || name.len() > KEY_BYTES_MAX {
        return Err(Code::BAD_VALSIZE);
    }
    if stat(&access, STAND_IN)?.is_some() {
        return Err(Code::INCOMPATIBLE);
    }
    let found = stat(&access, name)?;
    drop(access);
    let dbi = match found {
        Some(stat) => Dbi::found(txn, name, &stat)?,
        None if flags & CREATE == 0 => return Err(Code::NOTFOUND),
        None => Dbi::made(txn, name, kind(flags), [None, None])?,
    };
    txn.env.dbis_mut().set(index, dbi);
    Ok(index as u32)
}

/// Sees to it that the handle of the main database is open, as it always is.
pub(crate) fn main_is_open(txn: &Txn) -> Res<()> {
    if txn.env.dbis().get(MAIN, txn).is_err() {
        open_main(txn, 0)?;
    }
    Ok(())
}

fn open_main(txn: &Txn, flags: u32) -> Res<u32> {
    let wanted = kind(flags);
    let access = txn.access()?;
    if txn.env.dbis().get(MAIN, txn).is_ok_and(|dbi| wanted & !dbi.flags == 0) {
        return Ok(MAIN);
    }
    let stand_in = stat(&access, STAND_IN)?;
    let is_empty = stat(&access, b"")?.is_some_and(|stat| stat.entries == 0);
    drop(access);
    let dbi = match stand_in {
        // It is everybody's, whoever has looked first.
        Some(stat) => Dbi { owner: 0, ..Dbi::found(txn, STAND_IN, &stat)? },
        None if wanted == 0 => Dbi::main(txn)?,
        None if is_empty && txn.is_write() => Dbi::made(txn, STAND_IN, wanted, [None, None])?,
        None => return Err(Code::INCOMPATIBLE),
    };
    if wanted & !dbi.flags != 0 {
        return Err(Code::INCOMPATIBLE);
    }
    txn.env.dbis_mut().set(MAIN as usize, dbi);
    Ok(MAIN)
}

/// The flags that say something, of those that say of which kind a database is to be.
fn kind(flags: u32) -> u32 {
    let ignored = if flags & DUPSORT == 0 { DUPFIXED | INTEGERDUP | REVERSEDUP } else { 0 };
    flags & KIND & !ignored
}

/// What the transaction shows of a table.
pub(crate) fn stat(access: &Access<'_>, name: &[u8]) -> Res<Option<TableStat>> {
    Ok(in_txn!(access, txn => txn.table_stat(name))?)
}

/// The flags of a table that exists.
fn flags_of(stat: &TableStat) -> u32 {
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

/// The order of integers, of as many bytes as a new one has.
fn integers(bytes: usize) -> Order {
    if bytes == 4 { Order::NativeU32 } else { Order::NativeU64 }
}

impl Dbi {
    fn main(txn: &Txn) -> Res<Dbi> {
        let access = txn.access()?;
        let table = in_txn!(&access, txn => txn.open(&TableDef::<Bytes, Bytes>::main()))?;
        Ok(Dbi {
            name: Arc::from(&b""[..]),
            table: Table::Main(table.ok_or(Code::BAD_DBI)?),
            flags: 0,
            keys: None,
            values: None,
            owner: 0,
        })
    }

    /// A table that exists.
    fn found(txn: &Txn, name: &[u8], stat: &TableStat) -> Res<Dbi> {
        Dbi::of_kind(txn, name, flags_of(stat), [None, None])
    }

    fn of_kind(
        txn: &Txn,
        name: &[u8],
        flags: u32,
        [keys, values]: [Option<Arc<Compare>>; 2],
    ) -> Res<Dbi> {
        let access = txn.access()?;
        let order = |custom: &Option<Arc<Compare>>| match custom {
            Some(compare) => Order::Custom(compare.clone()),
            None => Order::Stored,
        };
        let table = match flags & DUPSORT != 0 {
            false => {
                let def = TableDef::<Bytes, Bytes>::named(name).ordered(order(&keys));
                in_txn!(&access, txn => txn.open(&def))?.map(Table::Plain)
            }
            true => {
                let mut def = MultiDef::<Bytes, Bytes>::named(name).ordered(order(&keys));
                if values.is_some() && flags & DUPFIXED != 0 {
                    def = def.values_of_bytes(0);
                }
                def = def.values_ordered(order(&values));
                in_txn!(&access, txn => txn.open_multi(&def))?.map(Table::Multi)
            }
        };
        Ok(Dbi {
            name: Arc::from(name),
            table: table.ok_or(Code::BAD_DBI)?,
            flags,
            keys,
            values,
            owner: txn.handle(),
        })
    }

    /// A table that is made now.
    fn made(txn: &Txn, name: &[u8], flags: u32, custom: [Option<Arc<Compare>>; 2]) -> Res<Dbi> {
        let mut writer = txn.writer()?;
        let engine = writer.changing(&txn.env)?;
        make(engine, name, flags, &custom, [8, 8])?;
        drop(writer);
        Dbi::of_kind(txn, name, flags, custom)
    }

    /// Whether the table may have to be made anew while it is empty.
    pub(crate) fn is_fitted(&self) -> bool {
        self.flags & (INTEGERKEY | INTEGERDUP) != 0 || self.keys.is_some() || self.values.is_some()
    }

    /// Makes an empty table such as the first record needs it, unless it is.
    pub(crate) fn fit(&self, txn: &mut WriteTxn, bytes: [usize; 2]) -> Res<()> {
        let Some(stat) = txn.table_stat(&self.name)? else { return Ok(()) };
        if stat.entries != 0 {
            return Ok(());
        }
        let custom = [self.keys.clone(), self.values.clone()];
        if is_ordered(&stat, &orders(self.flags, &custom, bytes)) {
            return Ok(());
        }
        drop_named(txn, &self.name, stat.values.is_some())?;
        make(txn, &self.name, self.flags, &custom, bytes)
    }

    /// Makes an empty table anew, whose values had another length while it had some; false: it is
    /// not empty.
    pub(crate) fn refit(&self, txn: &mut WriteTxn, bytes: [usize; 2]) -> Res<bool> {
        let is_empty = txn.table_stat(&self.name)?.is_some_and(|stat| stat.entries == 0);
        if is_empty {
            drop_named(txn, &self.name, true)?;
            make(txn, &self.name, self.flags, &[self.keys.clone(), self.values.clone()], bytes)?;
        }
        Ok(is_empty)
    }

    pub(crate) fn compare_keys(&self, a: &[u8], b: &[u8]) -> Ordering {
        let reversed = self.flags & (REVERSEKEY | INTEGERKEY) != 0;
        compare(self.keys.as_ref(), reversed, a, b)
    }

    pub(crate) fn compare_values(&self, a: &[u8], b: &[u8]) -> Ordering {
        let reversed = self.flags & (REVERSEDUP | INTEGERDUP) != 0;
        compare(self.values.as_ref(), reversed, a, b)
    }
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
fn orders(flags: u32, custom: &[Option<Arc<Compare>>; 2], bytes: [usize; 2]) -> [Order; 2] {
    let order = |at: usize, integer: u32, reverse: u32| match &custom[at] {
        Some(compare) => Order::Custom(compare.clone()),
        None if flags & integer != 0 => integers(bytes[at]),
        None if flags & reverse != 0 => Order::Reversed,
        None => Order::Bytes,
    };
    [order(0, INTEGERKEY, REVERSEKEY), order(1, INTEGERDUP, REVERSEDUP)]
}

/// Whether keys and values of a table are stored in these orders.
fn is_ordered(stat: &TableStat, [keys, values]: &[Order; 2]) -> bool {
    let same_values = stat.values.is_none_or(|stored| stored == order_name(values));
    stat.order == order_name(keys) && same_values
}

fn make(
    txn: &mut WriteTxn,
    name: &[u8],
    flags: u32,
    custom: &[Option<Arc<Compare>>; 2],
    bytes: [usize; 2],
) -> Res<()> {
    let [keys, values] = orders(flags, custom, bytes);
    if flags & DUPSORT == 0 {
        txn.create(&TableDef::<Bytes, Bytes>::named(name).ordered(keys))?;
        return Ok(());
    }
    let mut def = MultiDef::<Bytes, Bytes>::named(name).ordered(keys).values_ordered(values);
    if flags & DUPFIXED != 0 {
        def = def.values_of_bytes(0);
    }
    txn.create_multi(&def)?;
    Ok(())
}

/// Deletes a table, whatever its orders.
fn drop_named(txn: &mut WriteTxn, name: &[u8], is_multi: bool) -> Res<()> {
    let stored = Order::Stored;
    if is_multi {
        let def = MultiDef::<Bytes, Bytes>::named(name).ordered(stored.clone());
        if let Some(table) = txn.open_multi(&def.values_ordered(stored))? {
            table.drop_table(txn)?;
        }
    } else if let Some(table) = txn.open(&TableDef::<Bytes, Bytes>::named(name).ordered(stored))? {
        table.drop_table(txn)?;
    }
    Ok(())
}

/// Has the program compare keys, or values, of a database.
pub(crate) fn set_comparator(
    txn: &Txn,
    dbi: u32,
    compare: Arc<Compare>,
    of_values: bool,
) -> Res<()> {
    let old = txn.env.dbis().get(dbi, txn)?.clone();
    if of_values && old.flags & DUPSORT == 0 {
        // There is nothing to compare.
        return Ok(());
    }
    let mut custom = [old.keys.clone(), old.values.clone()];
    custom[usize::from(of_values)] = Some(compare);
    let access = txn.access()?;
    let main = matches!(old.table, Table::Main(_));
    let name = if main { STAND_IN } else { &old.name };
    let found = stat(&access, &old.name)?.ok_or(Code::BAD_DBI)?;
    drop(access);
    let is_as_told = is_ordered(&found, &orders(old.flags, &custom, [8, 8]));
    if found.entries == 0 && !is_as_told && txn.is_write() {
        let mut writer = txn.writer()?;
        let engine = writer.changing(&txn.env)?;
        if !main {
            drop_named(engine, name, old.flags & DUPSORT != 0)?;
        }
        make(engine, name, old.flags, &custom, [8, 8])?;
    }
    let mut fresh = Dbi { owner: old.owner, ..Dbi::of_kind(txn, name, old.flags, custom)? };
    if !main {
        // It is the same opening, to cursors.
        fresh.name = old.name;
    }
    txn.env.dbis_mut().set(dbi as usize, fresh);
    Ok(())
}

/// Empties a database, or deletes it.
pub(crate) fn drop_dbi(txn: &Txn, dbi: u32, delete: bool) -> Res<()> {
    let mut writer = txn.writer()?;
    let gone = txn.env.dbis().get(dbi, txn)?.clone();
    let engine = writer.changing(&txn.env)?;
    if engine.table_stat(&gone.name)?.is_none() {
        return Err(Code::BAD_DBI);
    }
    let delete = delete && dbi as usize >= NAMED;
    match gone.table {
        Table::Main(table) => {
            for name in engine.table_names()? {
                let is_multi = engine.table_stat(&name)?.is_some_and(|stat| stat.values.is_some());
                drop_named(engine, &name, is_multi)?;
            }
            table.clear(engine)?;
        }
        Table::Plain(table) if delete => drop(table.drop_table(engine)?),
        Table::Multi(table) if delete => drop(table.drop_table(engine)?),
        Table::Plain(table) => table.clear(engine)?,
        Table::Multi(table) => table.clear(engine)?,
    }
    writer.unset_cursors(matches!(gone.table, Table::Main(_)).then_some(0).unwrap_or(dbi));
    if delete {
        let main = txn.dbi(MAIN)?;
        writer.pass_on(MAIN, &main, Went::Key(&gone.name))?;
        txn.env.dbis_mut().close(dbi);
    }
    Ok(())
}

/// What a transaction shows of a database.
pub(crate) fn stat_of(txn: &Txn, dbi: u32) -> Res<TableStat> {
    let access = txn.access()?;
    let name = txn.env.dbis().get(dbi, txn)?.name.clone();
    stat(&access, &name)?.ok_or(Code::BAD_DBI)
}

/// What there is of the main database, for whoever looks at an environment.
pub(crate) fn stat_of_main(env: &Env) -> Res<TableStat> {
    let txn = env.huon()?.read()?;
    match txn.table_stat(STAND_IN)? {
        Some(stat) => Ok(stat),
        None => txn.table_stat(b"")?.ok_or(Code::BAD_DBI),
    }
}

/// The record that stands for a named database in the main one.
pub(crate) fn record_of(stat: &TableStat) -> TableRecord {
    let mut record = [0; 48];
    record[4..6].copy_from_slice(&(flags_of(stat) as u16).to_le_bytes());
    record[6..8].copy_from_slice(&u16::from(stat.depth).to_le_bytes());
    let pages = [stat.branch_pages, stat.leaf_pages, stat.run_pages].map(u64::from);
    for (i, count) in pages.into_iter().chain([stat.entries, u64::MAX]).enumerate() {
        record[8 + 8 * i..16 + 8 * i].copy_from_slice(&count.to_le_bytes());
    }
    record
}
