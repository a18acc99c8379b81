//! Getting, putting and deleting by key.

use huon::WriteTxn;

use crate::dbi;
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::flags::dbi::DUPSORT;
use crate::flags::put::*;
use crate::in_txn;
use crate::inside::{Access, Writer};
use crate::place::Went;
use crate::table::{self, Dbi, Table};
use crate::txn::Txn;

/// Bytes that C may look at: they outlive the call, but no Rust reference says for how long.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Where they are.
    pub first: *const u8,
    /// How many.
    pub bytes: usize,
}

impl Shown {
    /// These.
    pub fn of(bytes: &[u8]) -> Shown {
        Shown { first: bytes.as_ptr(), bytes: bytes.len() }
    }
}

/// A value that the caller writes after the call that stored it.
pub struct Reserved {
    table: Table,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Reserved {
    /// Stores what was written into the place.
    pub fn store(self, txn: &mut WriteTxn) -> Res<()> {
        if let Table::Main(table) | Table::Plain(table) = self.table {
            table.update(txn, &self.key, &self.value)?;
        }
        Ok(())
    }
}

/// What came of a put.
pub enum Outcome {
    /// It is there.
    Stored,
    /// The place for the value.
    Room(*mut u8),
    /// The key is there, with this value.
    Exists(Shown),
}

/// Refuses keys and values of lengths that the interface does not have.
pub(crate) fn check_lengths(env: &Env, dbi: &Dbi, key: &[u8], value: usize) -> Res<()> {
    let rules = env.rules()?;
    let values = if dbi.flags & DUPSORT == 0 { &rules.values } else { &rules.set_values };
    match rules.keys.contains(&key.len()) && values.contains(&value) {
        true => Ok(()),
        false => Err(Fault::Size),
    }
}

/// Refuses a key that is too short to be looked for. One that is too long is not there.
pub(crate) fn check_wanted(env: &Env, key: &[u8]) -> Res<()> {
    if key.len() < *env.rules()?.keys.start() { Err(Fault::Size) } else { Ok(()) }
}

/// The value of a key; the first one, where there are many.
pub fn get(txn: &Txn, dbi: u32, key: &[u8]) -> Res<Shown> {
    let mut access = txn.access()?;
    check_wanted(&txn.env, key)?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    let found = match known.table {
        Table::Main(table) | Table::Plain(table) => {
            in_txn!(view, txn => table.get(txn, key)?.map(Shown::of))
        }
        Table::Multi(table) => in_txn!(view, txn => table.get(txn, key)?.map(Shown::of)),
    };
    match (found, known.table) {
        (Some(found), _) => Ok(found),
        (None, Table::Main(_)) => record(&mut access, key)?.ok_or(Fault::NotFound),
        (None, _) => Err(Fault::NotFound),
    }
}

/// The record of a named database.
pub(crate) fn record(access: &mut Access<'_>, name: &[u8]) -> Res<Option<Shown>> {
    let Some(stat) = dbi::stat(access, name)? else { return Ok(None) };
    let first = access.keep_record(name, table::record_of(&stat));
    Ok(Some(Shown { first, bytes: 48 }))
}

/// Stores a record.
pub fn put(txn: &Txn, dbi: u32, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
    if flags & !PLAIN != 0 {
        return Err(Fault::Invalid);
    }
    let mut writer = txn.writer()?;
    let known = writer.dbi(txn, dbi)?;
    store(txn, &mut writer, &known, key, value, flags)
}

/// A value to be stored: its bytes, or with `RESERVE` how many there will be.
#[derive(Clone, Copy)]
pub enum Value<'v> {
    /// These bytes.
    Bytes(&'v [u8]),
    /// So many, which the caller writes.
    Room(usize),
}

impl Value<'_> {
    fn len(self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len(),
            Value::Room(bytes) => bytes,
        }
    }
}

/// A copy of what may lie on a page that the change moves.
fn own<'v>(txn: &WriteTxn, bytes: &'v [u8], room: &'v mut Vec<u8>) -> &'v [u8] {
    if txn.is_dirty(bytes) {
        room.extend_from_slice(bytes);
        return room;
    }
    bytes
}

pub(crate) fn store(
    txn: &Txn,
    writer: &mut Writer,
    dbi: &Dbi,
    key: &[u8],
    value: Value<'_>,
    flags: u32,
) -> Res<Outcome> {
    check_lengths(&txn.env, dbi, key, value.len())?;
    let engine = writer.changing(&txn.env)?;
    let mut room = Vec::new();
    let key = own(engine, key, &mut room);
    if dbi.is_fitted() {
        dbi.fit(engine, [key.len(), value.len()])?;
    }
    match (dbi.table, value) {
        (Table::Main(_) | Table::Plain(_), value) => store_plain(writer, dbi, key, value, flags),
        (Table::Multi(_), Value::Room(_)) => Err(Fault::Incompatible),
        (Table::Multi(_), Value::Bytes(value)) => store_dup(writer, dbi, key, value, flags),
    }
}

fn store_plain(
    writer: &mut Writer,
    dbi: &Dbi,
    key: &[u8],
    value: Value<'_>,
    flags: u32,
) -> Res<Outcome> {
    let (Table::Main(table) | Table::Plain(table)) = dbi.table else { return Err(Fault::Invalid) };
    let engine = writer.txn_mut()?;
    if flags & NOOVERWRITE != 0
        && let Some(found) = table.get(engine, key)?
    {
        return Ok(Outcome::Exists(Shown::of(found)));
    }
    let mut room = Vec::new();
    let bytes = match value {
        Value::Bytes(bytes) => own(engine, bytes, &mut room),
        Value::Room(bytes) => {
            room.try_reserve_exact(bytes).map_err(|_| Fault::NoMemory)?;
            room.resize(bytes, 0);
            &room
        }
    };
    match flags & APPEND != 0 {
        true => table.append(engine, key, bytes)?,
        false => drop(table.put(engine, key, bytes)?),
    }
    if let Value::Bytes(_) = value {
        return Ok(Outcome::Stored);
    }
    let reserved = Reserved { table: dbi.table, key: key.to_vec(), value: room };
    let reserved = writer.reserved.insert(reserved);
    Ok(Outcome::Room(reserved.value.as_mut_ptr()))
}

fn store_dup(writer: &mut Writer, dbi: &Dbi, key: &[u8], value: &[u8], flags: u32) -> Res<Outcome> {
    let Table::Multi(table) = dbi.table else { return Err(Fault::Invalid) };
    let engine = writer.txn_mut()?;
    let mut room = Vec::new();
    let value = own(engine, value, &mut room);
    if flags & NOOVERWRITE != 0
        && let Some(found) = table.get(engine, key)?
    {
        return Ok(Outcome::Exists(Shown::of(found)));
    }
    if flags & APPEND != 0
        && let Some((last, _)) = table.last(engine)?
        && dbi.compare_keys(key, last).is_le()
    {
        return Err(Fault::Order);
    }
    if flags & APPENDDUP != 0
        && let Some(last) = table.values(engine, key)?.next_back().transpose()?
        && dbi.compare_values(value, last).is_le()
    {
        return Err(Fault::Order);
    }
    let new = table.insert(engine, key, value)?;
    match !new && flags & NODUPDATA != 0 {
        true => Err(Fault::Exists),
        false => Ok(Outcome::Stored),
    }
}

/// Deletes a key, or one of its values, where there may be many and one is given.
pub fn delete(txn: &Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Res<()> {
    check_wanted(&txn.env, key)?;
    let mut writer = txn.writer()?;
    let known = writer.dbi(txn, dbi)?;
    let removed = remove(txn, &mut writer, dbi, &known, key, value);
    if removed == Err(Fault::Incompatible) {
        // A database's name: LMDB ends the transaction for that.
        writer.fail();
    }
    removed
}

pub(crate) fn remove(
    txn: &Txn,
    writer: &mut Writer,
    number: u32,
    dbi: &Dbi,
    key: &[u8],
    value: Option<&[u8]>,
) -> Res<()> {
    let engine = writer.changing(&txn.env)?;
    // Where it lies now, something else will.
    let key = key.to_vec();
    let value = value.map(<[u8]>::to_vec);
    let (removed, went) = match (dbi.table, &value) {
        (Table::Main(table) | Table::Plain(table), _) => {
            (table.delete(engine, &key)?, Went::Key(&key))
        }
        (Table::Multi(table), None) => (table.remove_all(engine, &key)? > 0, Went::Key(&key)),
        (Table::Multi(table), Some(value)) => {
            let removed = table.remove(engine, &key, value)?;
            let left = removed && table.get(engine, &key)?.is_some();
            (removed, if left { Went::Value(&key, value) } else { Went::Key(&key) })
        }
    };
    if !removed {
        return Err(Fault::NotFound);
    }
    writer.pass_on(number, dbi, went)
}
