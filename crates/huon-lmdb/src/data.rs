//! Getting, putting and deleting by key.

use huon::{Error, WriteTxn};

use crate::codes::{Code, Res};
use crate::cursor::Went;
use crate::dbi::{self, Dbi, KEY_BYTES_MAX, Table};
use crate::flags::dbi::{DUPFIXED, DUPSORT};
use crate::flags::put::*;
use crate::txn::{Access, Txn, Writer, in_txn};

/// The longest value; LMDB's lengths have 32 bits.
const VALUE_BYTES_MAX: usize = u32::MAX as usize;

/// Bytes that C may look at: they outlive the call, but no Rust reference says for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) first: *const u8,
    pub(crate) bytes: usize,
}

impl Shown {
    pub(crate) fn of(bytes: &[u8]) -> Shown {
        Shown { first: bytes.as_ptr(), bytes: bytes.len() }
    }
}

/// A value that the caller writes after the call that stored it.
pub(crate) struct Reserved {
    table: Table,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Reserved {
    /// Stores what was written into the place.
    pub(crate) fn store(self, txn: &mut WriteTxn) -> Res<()> {
        if let Table::Main(table) | Table::Plain(table) = self.table {
            table.update(txn, &self.key, &self.value)?;
        }
        Ok(())
    }
}

/// What came of a put.
pub(crate) enum Outcome {
    Stored,
    /// The place for the value.
    Room(*mut u8),
    /// The key is there, with this value.
    Exists(Shown),
}

fn check_key(key: &[u8]) -> Res<()> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(()),
        _ => Err(Code::BAD_VALSIZE),
    }
}

/// The value of a key; the first one, where there are many.
pub(crate) fn get(txn: &Txn, dbi: u32, key: &[u8]) -> Res<Shown> {
    if key.is_empty() {
        return Err(Code::BAD_VALSIZE);
    }
    let access = txn.access()?;
    let table = txn.table(dbi)?;
    look(&access, table, key)?.ok_or(Code::NOTFOUND)
}

fn look(access: &Access<'_>, table: Table, key: &[u8]) -> Res<Option<Shown>> {
    let found = match table {
        Table::Main(table) | Table::Plain(table) => {
            in_txn!(access, txn => table.get(txn, key)?.map(Shown::of))
        }
        Table::Multi(table) => in_txn!(access, txn => table.get(txn, key)?.map(Shown::of)),
    };
    match (found, table) {
        (None, Table::Main(_)) => record(access, key),
        (found, _) => Ok(found),
    }
}

/// The record of a named database.
pub(crate) fn record(access: &Access<'_>, name: &[u8]) -> Res<Option<Shown>> {
    let Some(stat) = dbi::stat(access, name)? else { return Ok(None) };
    let first = access.keep_record(name, dbi::record_of(&stat));
    Ok(Some(Shown { first, bytes: 48 }))
}

pub(crate) fn put(txn: &Txn, dbi: u32, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
    if flags & !PLAIN != 0 {
        return Err(Code::EINVAL);
    }
    let mut writer = txn.writer()?;
    let known = txn.dbi(dbi)?;
    store(txn, &mut writer, &known, key, value, flags)
}

/// A value to be stored: its bytes, or with `RESERVE` how many there will be.
#[derive(Clone, Copy)]
pub(crate) enum Value<'v> {
    Bytes(&'v [u8]),
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
    check_key(key)?;
    let dup = dbi.flags & DUPSORT != 0;
    let max = if dup { KEY_BYTES_MAX } else { VALUE_BYTES_MAX };
    if value.len() > max || dup && value.len() == 0 {
        return Err(Code::BAD_VALSIZE);
    }
    let engine = writer.changing(&txn.env)?;
    let mut room = Vec::new();
    let key = own(engine, key, &mut room);
    if dbi.is_fitted() {
        dbi.fit(engine, [key.len(), value.len()])?;
    }
    match (dbi.table, value) {
        (Table::Main(_) | Table::Plain(_), value) => store_plain(writer, dbi, key, value, flags),
        (Table::Multi(_), Value::Room(_)) => Err(Code::INCOMPATIBLE),
        (Table::Multi(_), Value::Bytes(value)) => {
            let stored = store_dup(writer, dbi, key, value, flags);
            let fixed = dbi.flags & DUPFIXED != 0;
            match stored {
                Err(Code::BAD_VALSIZE)
                    if fixed && dbi.refit(writer.txn_mut()?, [key.len(), value.len()])? =>
                {
                    store_dup(writer, dbi, key, value, flags)
                }
                stored => stored,
            }
        }
    }
}

fn store_plain(
    writer: &mut Writer,
    dbi: &Dbi,
    key: &[u8],
    value: Value<'_>,
    flags: u32,
) -> Res<Outcome> {
    let (Table::Main(table) | Table::Plain(table)) = dbi.table else { return Err(Code::EINVAL) };
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
            room.try_reserve_exact(bytes).map_err(|_| Code::ENOMEM)?;
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
    let Table::Multi(table) = dbi.table else { return Err(Code::EINVAL) };
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
        return Err(Code::KEYEXIST);
    }
    if flags & APPENDDUP != 0
        && let Some(last) = table.values(engine, key)?.next_back().transpose()?
        && dbi.compare_values(value, last).is_le()
    {
        return Err(Code::KEYEXIST);
    }
    let new = table.insert(engine, key, value)?;
    match !new && flags & NODUPDATA != 0 {
        true => Err(Code::KEYEXIST),
        false => Ok(Outcome::Stored),
    }
}

/// Deletes a key, or one of its values, where there may be many and one is given.
pub(crate) fn delete(txn: &Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Res<()> {
    if key.is_empty() {
        return Err(Code::BAD_VALSIZE);
    }
    let mut writer = txn.writer()?;
    let known = txn.dbi(dbi)?;
    remove(txn, &mut writer, dbi, &known, key, value)
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
    let left = match removed(engine, dbi.table, &key, value.as_deref()) {
        Ok(Some(left)) => left,
        // Nothing has another length than what is there.
        Ok(None) | Err(Error::KeyLength | Error::ValueLength) => return Err(Code::NOTFOUND),
        Err(error) => {
            let code = Code::from(error);
            if code == Code::INCOMPATIBLE && matches!(dbi.table, Table::Main(_)) {
                // A database's name: LMDB ends the transaction for that.
                writer.fail();
            }
            return Err(code);
        }
    };
    let went = match &value {
        Some(value) if left => Went::Value(&key, value),
        _ => Went::Key(&key),
    };
    writer.pass_on(number, dbi, went)
}

/// Removes something; whether values of the key are left, or `None` if it was not there.
fn removed(
    engine: &mut WriteTxn,
    table: Table,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<Option<bool>, Error> {
    let is_removed = match (table, value) {
        (Table::Main(table) | Table::Plain(table), _) => table.delete(engine, key)?,
        (Table::Multi(table), None) => table.remove_all(engine, key)? > 0,
        (Table::Multi(table), Some(value)) => {
            let is_removed = table.remove(engine, key, value)?;
            return Ok(match is_removed {
                true => Some(table.get(engine, key)?.is_some()),
                false => None,
            });
        }
    };
    Ok(is_removed.then_some(false))
}
