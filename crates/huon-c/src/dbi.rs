//! Databases: the handles that an environment gives out, and the tables that they stand for.
//!
//! The main database is Huon's main table, and named ones are named tables. What the main table
//! cannot be (sorted by another order than bytes, or with many values for a key) is a hidden named
//! table instead, `STAND_IN`, as long as the main table is empty at that time.

use std::sync::Arc;
use std::sync::atomic::Ordering as Atomic;

use huon::{Bytes, Compare, TableDef, TableStat, WriteTxn, hold_off};

use crate::dbis::{Dbis, DbisMut, NAMED};
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::flags::dbi::*;
use crate::in_txn;
use crate::inside::{Access, View};
use crate::place::Went;
use crate::row;
use crate::table::{self, Dbi, Table, kind};
use crate::txn::Txn;

/// The handle of the list of free pages, which Huon keeps elsewhere.
pub const FREE: u32 = 0;
/// The handle of the main database.
pub const MAIN: u32 = 1;
/// The table that stands for a main database of another kind than the main table can be.
pub(crate) const STAND_IN: &[u8] = b"\0huon:main";

impl Env {
    /// Its tables.
    pub fn dbis(&self) -> Arc<Dbis> {
        self.dbis.copied()
    }

    /// Its tables, for a change.
    pub fn dbis_mut(&self) -> DbisMut<'_> {
        let dbis = self.dbis.lock();
        let held_off = hold_off();
        self.dbis_version.fetch_add(1, Atomic::Release);
        row::dbis_change();
        DbisMut { dbis, _held_off: held_off }
    }

    /// Transactions are over. What they opened is their parent's then, or shared (0), or closed.
    pub(crate) fn end_of(&self, txns: &[usize], owner: Option<usize>) {
        let has_opened = |txn: &usize| *txn != 0 && self.dbis().is_owner(*txn);
        if txns.iter().any(has_opened) {
            self.dbis_mut().end_of(txns, owner);
        }
    }
}

/// Whether a named table is none of the program's.
pub fn is_hidden(name: &[u8]) -> bool {
    name == STAND_IN
}

/// Opens the main database (no name) or a named one, and says its handle.
pub fn open(txn: &Txn, name: Option<&[u8]>, flags: u32) -> Res<u32> {
    if flags & !(KIND | CREATE) != 0 {
        return Err(Fault::Invalid);
    }
    let _alone = txn.env.opening();
    // A transaction that cannot be used is refused before anything else.
    txn.access()?.view()?;
    let Some(name) = name else { return open_main(txn, flags) };
    let known = txn.env.dbis().named(name).map(|(dbi, known)| (dbi, known.owner));
    if let Some((dbi, owner)) = known {
        return open_again(txn, name, flags, dbi, owner);
    }
    let index = txn.env.dbis().vacant()?;
    let rules = txn.env.rules()?;
    if name.is_empty() || name.len() > *rules.keys.end() {
        return Err(Fault::Size);
    }
    let access = txn.access()?;
    if stat(&access, STAND_IN)?.is_some() {
        return Err(Fault::Incompatible);
    }
    let found = stat(&access, name)?;
    drop(access);
    let dbi = match found {
        Some(stat) if rules.strict_tables => of_wanted_kind(txn, name, flags, &stat, 0)?,
        Some(stat) => Dbi::found(txn, name, &stat)?,
        None if flags & CREATE == 0 => return Err(Fault::NotFound),
        None => Dbi::made(txn, name, kind(flags), [None, None])?,
    };
    txn.env.dbis_mut().set(index, dbi);
    Ok(index as u32)
}

/// Opens a named database whose handle is open already.
fn open_again(txn: &Txn, name: &[u8], flags: u32, dbi: u32, owner: usize) -> Res<u32> {
    let access = txn.access()?;
    if !txn.env.rules()?.strict_tables {
        if owner != 0 && !txn.is_within(owner) {
            // Where two have opened it, neither can close it by ending.
            stat(&access, name)?.ok_or(Fault::NotFound)?;
            txn.env.dbis_mut().share(dbi);
        }
        return Ok(dbi);
    }
    let found = stat(&access, name)?;
    drop(access);
    let fresh = match found {
        None if flags & CREATE == 0 => return Err(Fault::NotFound),
        None => Dbi::made(txn, name, kind(flags), [None, None])?,
        Some(stat) => {
            // The table that the transaction sees counts. A handle that means a later snapshot's
            // table by now is shared, and stays so.
            let is_known = txn.env.dbis().get(dbi, txn).is_ok();
            if is_known && is_wanted(flags, table::flags_of(&stat)) {
                return Ok(dbi);
            }
            of_wanted_kind(txn, name, flags, &stat, owner)?
        }
    };
    txn.env.dbis_mut().set(dbi as usize, fresh);
    Ok(dbi)
}

/// Whether a kind is the wanted one; without flags any is.
fn is_wanted(flags: u32, found: u32) -> bool {
    flags == 0 || table::stored(kind(flags)) == table::stored(found)
}

/// A table that exists, which must be of the wanted kind, or become that: then it is the
/// transaction's, else the owner's.
fn of_wanted_kind(txn: &Txn, name: &[u8], flags: u32, stat: &TableStat, owner: usize) -> Res<Dbi> {
    let found = Dbi::found(txn, name, stat)?;
    if is_wanted(flags, found.flags) {
        return Ok(Dbi { owner, ..found });
    }
    if flags & CREATE == 0 || stat.entries != 0 {
        return Err(Fault::Incompatible);
    }
    let mut writer = txn.writer()?;
    let engine = writer.changing(&txn.env)?;
    table::remake(engine, stat, kind(flags), &[None, None], [8, 8])?;
    drop(writer);
    Dbi::of_kind(txn, name, kind(flags), [None, None])
}

/// Sees to it that the handle of the main database is open, as it always is.
pub fn main_is_open(txn: &Txn) -> Res<()> {
    if txn.env.dbis().get(MAIN, txn).is_err() {
        let _alone = txn.env.opening();
        open_main(txn, 0)?;
    }
    Ok(())
}

fn open_main(txn: &Txn, flags: u32) -> Res<u32> {
    let wanted = kind(flags);
    let strict = txn.env.rules()?.strict_tables;
    let fits = |found: u32| if strict { is_wanted(flags, found) } else { wanted & !found == 0 };
    let access = txn.access()?;
    if txn.env.dbis().get(MAIN, txn).is_ok_and(|dbi| fits(dbi.flags)) {
        return Ok(MAIN);
    }
    let stand_in = stat(&access, STAND_IN)?;
    let is_empty = stat(&access, b"")?.is_some_and(|stat| stat.entries == 0);
    drop(access);
    let dbi = match stand_in {
        // It is shared, whichever transaction opened it first.
        Some(stat) => Dbi { owner: 0, ..Dbi::found(txn, STAND_IN, &stat)? },
        None if wanted == 0 => Dbi::main(txn)?,
        None if is_empty && txn.is_write() && (flags & CREATE != 0 || !strict) => {
            make_stand_in(txn.writer()?.changing(&txn.env)?, wanted, &[None, None])?;
            Dbi::of_kind(txn, STAND_IN, wanted, [None, None])?
        }
        None if is_empty && !strict => Dbi { flags: wanted, is_told: true, ..Dbi::main(txn)? },
        None => return Err(Fault::Incompatible),
    };
    if !fits(dbi.flags) {
        return Err(Fault::Incompatible);
    }
    txn.env.dbis_mut().set(MAIN as usize, dbi);
    Ok(MAIN)
}

/// Makes what stands for the main table, which is empty. The number that is kept with it stays.
pub(crate) fn make_stand_in(
    engine: &mut WriteTxn,
    flags: u32,
    custom: &[Option<Arc<Compare>>; 2],
) -> Res<()> {
    let main = engine.open_table(&TableDef::<Bytes, Bytes>::main())?.ok_or(Fault::TableMissing)?;
    let sequence = main.sequence(engine)?;
    table::make(engine, STAND_IN, flags, custom, [8, 8])?.take_sequence(engine, sequence)
}

/// What the transaction shows of a table.
pub fn stat(access: &Access<'_>, name: &[u8]) -> Res<Option<TableStat>> {
    Ok(in_txn!(access.view()?, txn => txn.table_stat(name))?)
}

/// Sets the program's comparator for keys, or values, of a database, which is `old` so far.
pub fn set_comparator(
    txn: &Txn,
    (dbi, old): (u32, Dbi),
    compare: Arc<Compare>,
    of_values: bool,
) -> Res<()> {
    let _alone = txn.env.opening();
    if of_values && old.flags & DUPSORT == 0 {
        // There is nothing to compare.
        return Ok(());
    }
    let mut custom = [old.keys.clone(), old.values.clone()];
    custom[usize::from(of_values)] = Some(compare);
    let access = txn.access()?;
    let main = matches!(old.table, Table::Main(_));
    let name = if main { STAND_IN } else { &old.name };
    let found = stat(&access, &old.name)?.ok_or(Fault::TableMissing)?;
    drop(access);
    let is_same = table::stored(old.flags) == table::stored(table::flags_of(&found));
    if !(is_same || old.is_told || txn.is_write()) {
        // The handle means the table of a later snapshot by now, for all transactions.
        return Ok(());
    }
    let is_as_told = table::is_ordered(&found, &table::orders(old.flags, &custom, [8, 8]));
    let is_to_be_made = found.entries == 0 && !is_as_told;
    if is_to_be_made && !txn.is_write() {
        let [keys, values] = custom;
        let told = Dbi { keys, values, is_told: true, ..old };
        txn.env.dbis_mut().set(dbi as usize, told);
        return Ok(());
    }
    if is_to_be_made {
        let mut writer = txn.writer()?;
        let engine = writer.changing(&txn.env)?;
        if main {
            make_stand_in(engine, old.flags, &custom)?;
        } else {
            table::remake(engine, &found, old.flags, &custom, [8, 8])?;
        }
    }
    let mut fresh = Dbi { owner: old.owner, ..Dbi::of_kind(txn, name, old.flags, custom)? };
    if !main {
        // It is the same opening, to cursors.
        fresh.opening = old.opening;
    }
    txn.env.dbis_mut().set(dbi as usize, fresh);
    Ok(())
}

/// Empties a database, or deletes it.
pub fn drop_dbi(txn: &Txn, dbi: u32, delete: bool) -> Res<()> {
    let mut writer = txn.writer()?;
    let gone = txn.env.dbis().get(dbi, txn)?.clone();
    let engine = writer.changing(&txn.env)?;
    if engine.table_stat(&gone.name)?.is_none() {
        return Err(Fault::TableMissing);
    }
    let delete = delete && dbi as usize >= NAMED;
    match gone.table {
        Table::Main(table) => {
            for name in engine.table_names()? {
                let is_multi = engine.table_stat(&name)?.is_some_and(|stat| stat.values.is_some());
                table::drop_named(engine, &name, is_multi)?;
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
        // Its name is a record of the main table, on which others may stand.
        let main = writer.dbi_as_is(txn, MAIN)?;
        writer.pass_on(MAIN, &main, Went::Key(&gone.name))?;
        txn.env.dbis_mut().close(dbi);
    }
    Ok(())
}

/// Adds to the number that is stored with a database; the one that it had before. `None` if there
/// are no more: nothing has changed then.
pub fn take_sequence(txn: &Txn, dbi: u32, count: u64) -> Res<Option<u64>> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    let table = known.table;
    let now = in_txn!(view, engine => table.sequence(engine))?;
    drop(access);
    if count == 0 {
        return Ok(Some(now));
    }
    let mut writer = txn.writer()?;
    if now.checked_add(count).is_none() {
        return Ok(None);
    }
    table.take_sequence(writer.changing(&txn.env)?, count)?;
    Ok(Some(now))
}

/// Gives a named database another name.
pub fn rename(txn: &Txn, dbi: u32, name: &[u8]) -> Res<()> {
    if name.is_empty() || name.len() > *txn.env.rules()?.keys.end() {
        return Err(Fault::Size);
    }
    let _alone = txn.env.opening();
    let mut writer = txn.writer()?;
    let old = writer.dbi(txn, dbi)?;
    let engine = writer.changing(&txn.env)?;
    if engine.table_stat(&old.name)?.is_none() {
        return Err(Fault::TableMissing);
    }
    if *old.name == *name {
        return Ok(());
    }
    if engine.table_stat(name)?.is_some() {
        return Err(Fault::Exists);
    }
    match old.table {
        Table::Plain(table) if dbi as usize >= NAMED => table.rename(engine, name)?,
        Table::Multi(table) if dbi as usize >= NAMED => table.rename(engine, name)?,
        _ => return Err(Fault::Invalid),
    }
    // Its name is a record of the main table, on which others may stand.
    let main = writer.dbi_as_is(txn, MAIN)?;
    writer.pass_on(MAIN, &main, Went::Key(&old.name))?;
    drop(writer);
    let fresh = Dbi::of_kind(txn, name, old.flags, [old.keys.clone(), old.values.clone()])?;
    txn.env.dbis_mut().set(dbi as usize, fresh);
    Ok(())
}

/// What a database is to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The flags of its kind.
    pub flags: u32,
    /// The transaction has made it, or one that it is nested in.
    pub is_new: bool,
    /// The transaction has changed it.
    pub is_dirty: bool,
}

/// What a database is to a transaction.
pub fn state_of(txn: &Txn, dbi: u32) -> Res<State> {
    let known = txn.env.dbis().get(dbi, txn)?.clone();
    let access = txn.access()?;
    let found = stat(&access, &known.name)?.ok_or(Fault::TableMissing)?;
    let is_dirty = match access.view()? {
        View::Read(_) => false,
        View::Write(engine) => found.changed >= engine.first_id(),
    };
    Ok(State { flags: known.flags, is_new: known.owner != 0, is_dirty })
}

/// What a transaction shows of a database.
pub fn stat_of(txn: &Txn, dbi: u32) -> Res<TableStat> {
    let access = txn.access()?;
    let name = txn.env.dbis().get(dbi, txn)?.name.clone();
    stat(&access, &name)?.ok_or(Fault::TableMissing)
}

/// The statistics of the main database.
pub fn stat_of_main(env: &Env) -> Res<TableStat> {
    let txn = env.huon()?.read()?;
    match txn.table_stat(STAND_IN)? {
        Some(stat) => Ok(stat),
        None => txn.table_stat(b"")?.ok_or(Fault::TableMissing),
    }
}
