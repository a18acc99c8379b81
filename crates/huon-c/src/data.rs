//! Getting, putting and deleting by key.

use huon::{Error, RawMulti, RawTable, WriteTxn};

use crate::dbi;
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::flags::dbi::{DUPFIXED, DUPSORT};
use crate::flags::put::*;
use crate::in_txn;
use crate::inside::{Access, Writer};
use crate::place::{Place, Went};
use crate::steps::{self, Op};
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

/// A value that the caller writes after the call that stored it, and before the next change.
pub struct Reserved {
    table: Table,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Reserved {
    /// Stores what was written into the place so far.
    pub fn store(&self, txn: &mut WriteTxn) -> Res<()> {
        if let Table::Main(table) | Table::Plain(table) = self.table
            && table.get(txn, &self.key)? != Some(&self.value)
        {
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
#[inline]
pub(crate) fn check_lengths(env: &Env, dbi: &Dbi, key: &[u8], value: usize) -> Res<()> {
    let rules = env.rules()?;
    let values = if dbi.flags & DUPSORT == 0 { &rules.values } else { &rules.set_values };
    let none = value == 0 && dbi.flags & DUPFIXED != 0;
    if rules.keys.contains(&key.len()) && values.contains(&value) && !none {
        Ok(())
    } else {
        Err(Fault::Size)
    }
}

/// Refuses a key, and a value among many, of lengths that the interface does not look for.
pub fn check_pair(txn: &Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Res<()> {
    let known = txn.env.dbis().get(dbi, txn)?.clone();
    known.check_wanted(key)?;
    let longest = *txn.env.rules()?.set_values.end();
    match value {
        Some(value) if known.is_multi() && value.len() > longest => Err(Fault::Size),
        _ => Ok(()),
    }
}

/// The value of a key; the first one, where there are many.
#[inline]
pub fn get(txn: &Txn, dbi: u32, key: &[u8]) -> Res<Shown> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    known.check_wanted(key)?;
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

/// A record as it is stored.
pub struct Found {
    /// Its key.
    pub key: Shown,
    /// Its value.
    pub value: Shown,
    /// How many values its key has.
    pub count: u64,
    /// It is not what was looked for, but what comes next.
    pub is_other: bool,
}

/// The first record that is not below a key, or among the values of keys, a key and a value.
pub fn first_from(txn: &Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Res<Found> {
    let mut access = txn.access()?;
    let (known, view) = access.dbi_in(txn, dbi)?;
    known.check_wanted(key)?;
    let mut place = Place::new(known.table);
    let wanted = (Some(key), value);
    let (found, count, is_other) = in_txn!(view, engine => {
        let found = match value {
            Some(_) => steps::look(&mut place, engine, known, Op::SetLowerbound, wanted)?,
            None => steps::look(&mut place, engine, known, Op::SetRange, wanted)?,
        };
        let count = match known.table {
            Table::Multi(table) => table.count_values(engine, found.0)?,
            _ => 1,
        };
        (found, count, steps::is_other(Op::SetLowerbound, known, found, wanted))
    });
    let (key, value) = (Shown::of(found.0), found.1.map(Shown::of));
    let value = match value {
        Some(value) => value,
        None => {
            let name = found.0.to_vec();
            record(&mut access, &name)?.ok_or(Fault::NotFound)?
        }
    };
    Ok(Found { key, value, count, is_other })
}

/// The record of a named database.
pub(crate) fn record(access: &mut Access<'_>, name: &[u8]) -> Res<Option<Shown>> {
    let found = if name.is_empty() { None } else { dbi::stat(access, name)? };
    let Some(stat) = found else { return Ok(None) };
    let first = access.keep_record(name, table::record_of(&stat));
    Ok(Some(Shown { first, bytes: 48 }))
}

/// Stores a record.
pub fn put(txn: &Txn, dbi: u32, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
    if flags & !txn.env.rules()?.puts != 0 {
        return Err(Fault::Invalid);
    }
    let mut writer = txn.writer()?;
    writer.with_dbi(txn, dbi, |writer, known| store(txn, writer, (dbi, known), key, value, flags))
}

/// Stores several values of one length; how many were stored before one was refused.
pub fn put_many(
    txn: &Txn,
    dbi: u32,
    key: &[u8],
    values: &[u8],
    bytes: usize,
    flags: u32,
) -> (usize, Res<()>) {
    let known = txn.writer().and_then(|mut writer| writer.dbi(txn, dbi));
    match known.and_then(|known| check_many(&known, bytes)) {
        Ok(()) => each(
            (values, bytes),
            flags,
            |value, flags| put(txn, dbi, key, Value::Bytes(value), flags),
            |rest| {
                let mut writer = txn.writer()?;
                writer.with_dbi(txn, dbi, |writer, known| {
                    store_rest(txn, writer, known, key, (rest, bytes))
                })
            },
        ),
        Err(fault) => (0, Err(fault)),
    }
}

/// Stores more values of a key that has one, all of one length.
pub(crate) fn store_rest(
    txn: &Txn,
    writer: &mut Writer,
    dbi: &Dbi,
    key: &[u8],
    (values, bytes): (&[u8], usize),
) -> Res<()> {
    let Table::Multi(table) = dbi.table else { return Err(Fault::Incompatible) };
    let engine = writer.changing(&txn.env)?;
    // It may lie on a page that moves; the values are copied anyway.
    let key = key.to_vec();
    table.put_many(engine, &key, values.chunks_exact(bytes))?;
    Ok(())
}

/// Refuses several values at once where they do not have one length.
pub(crate) fn check_many(dbi: &Dbi, bytes: usize) -> Res<()> {
    match (dbi.flags & DUPFIXED != 0, bytes) {
        (false, _) => Err(Fault::Incompatible),
        (true, 0) => Err(Fault::Size),
        (true, _) => Ok(()),
    }
}

/// Puts one value after another, up to the first that is refused. What a flag says of the key,
/// or of the values that it had, is for the first one alone; where no flag says anything of each
/// value, all behind the first are put at once.
pub(crate) fn each<'v>(
    (values, bytes): (&'v [u8], usize),
    flags: u32,
    mut put: impl FnMut(&'v [u8], u32) -> Res<Outcome>,
    put_rest: impl FnOnce(&'v [u8]) -> Res<()>,
) -> (usize, Res<()>) {
    let (mut flags, mut done) = (flags & !MULTIPLE, 0);
    let count = values.len() / bytes;
    while done < count {
        let rest = &values[done * bytes..];
        if done > 0 && flags & (NODUPDATA | APPENDDUP) == 0 {
            return match put_rest(rest) {
                Ok(()) => (count, Ok(())),
                Err(fault) => (done, Err(fault)),
            };
        }
        match put(&rest[..bytes], flags) {
            Ok(Outcome::Stored) => done += 1,
            Ok(_) => return (done, Err(Fault::Exists)),
            Err(fault) => return (done, Err(fault)),
        }
        flags &= !(NOOVERWRITE | CURRENT | ALLDUPS | APPEND);
    }
    (done, Ok(()))
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
    pub(crate) fn len(self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len(),
            Value::Room(bytes) => bytes,
        }
    }
}

/// More bytes than this are copied only if they have to be: to find that out takes a look at each
/// page that the transaction has written.
const COPIED_BYTES_MAX: usize = 64 << 10;

#[inline]
pub(crate) fn store(
    txn: &Txn,
    writer: &mut Writer,
    (number, dbi): (u32, &Dbi),
    key: &[u8],
    value: Value<'_>,
    flags: u32,
) -> Res<Outcome> {
    let mut room = std::mem::take(&mut writer.room);
    let stored = store_by(txn, writer, (number, dbi), (key, value), flags, &mut room);
    writer.keep_room(room);
    stored
}

/// The same by way of `room`, which has the key then, and the value behind it unless that is long.
#[inline]
pub(crate) fn store_by(
    txn: &Txn,
    writer: &mut Writer,
    (number, dbi): (u32, &Dbi),
    (key, value): (&[u8], Value<'_>),
    flags: u32,
    room: &mut Vec<u8>,
) -> Res<Outcome> {
    room.clear();
    check_lengths(&txn.env, dbi, key, value.len())?;
    let stored = store_own(txn, writer, (number, dbi), (key, value), flags, room);
    if let Err(Fault::NotFound | Fault::Order) = stored {
        // That comes before where it would belong.
        dbi.check_integer(writer.txn()?, key)?;
    }
    stored
}

impl Writer {
    /// Keeps room for what is copied next, unless it is much.
    #[inline]
    pub(crate) fn keep_room(&mut self, room: Vec<u8>) {
        if room.capacity() <= 2 * COPIED_BYTES_MAX {
            self.room = room;
        }
    }
}

/// Copies key and value into `room`, if they may lie on a page that moves, and stores them.
fn store_own(
    txn: &Txn,
    writer: &mut Writer,
    (number, dbi): (u32, &Dbi),
    (key, value): (&[u8], Value<'_>),
    flags: u32,
    room: &mut Vec<u8>,
) -> Res<Outcome> {
    let engine = writer.changing(&txn.env)?;
    room.extend_from_slice(key);
    let copied = match value {
        Value::Bytes(bytes) if bytes.len() <= COPIED_BYTES_MAX || engine.is_dirty(bytes) => {
            room.extend_from_slice(bytes);
            true
        }
        _ => false,
    };
    let (key, own) = room.split_at(key.len());
    let value = if copied { Value::Bytes(own) } else { value };
    if dbi.is_fitted() {
        dbi.fit(engine, [key.len(), value.len()])?;
    }
    let flags = append_flags(txn, engine, dbi, key, flags)?;
    match (dbi.table, value) {
        (Table::Main(table) | Table::Plain(table), value) => {
            store_plain(writer, table, dbi.table, key, value, flags)
        }
        (Table::Multi(_), Value::Room(_)) => Err(Fault::Incompatible),
        (Table::Multi(table), Value::Bytes(value)) => {
            let stored = store_dup(writer, table, (number, dbi), key, value, flags);
            match stored {
                Err(Fault::Size) if dbi.refit(writer.txn_mut()?, [key.len(), value.len()])? => {
                    store_dup(writer, table, (number, dbi), key, value, flags)
                }
                stored => stored,
            }
        }
    }
}

/// Where the interface takes the last key again to append to its values, that is no key to be
/// appended.
#[inline]
fn append_flags(txn: &Txn, engine: &WriteTxn, dbi: &Dbi, key: &[u8], flags: u32) -> Res<u32> {
    const BOTH: u32 = APPEND | APPENDDUP;
    if flags & BOTH != BOTH || !txn.env.rules()?.appends_to_last {
        return Ok(flags);
    }
    let mut place = Place::new(dbi.table);
    let last = place.edge(engine, true);
    let again = last.is_ok_and(|(last, _)| dbi.compare_keys(key, last).is_eq());
    Ok(if again { flags & !APPEND } else { flags })
}

fn store_plain(
    writer: &mut Writer,
    table: RawTable,
    behind: Table,
    key: &[u8],
    value: Value<'_>,
    flags: u32,
) -> Res<Outcome> {
    let engine = writer.txn_mut()?;
    if flags & (NOOVERWRITE | CURRENT) != 0 {
        match table.get(engine, key)? {
            Some(found) if flags & CURRENT == 0 => return Ok(Outcome::Exists(Shown::of(found))),
            None if flags & CURRENT != 0 => {
                let main = matches!(behind, Table::Main(_)) && !key.is_empty();
                let is_name = main && engine.table_stat(key)?.is_some();
                return Err(if is_name { Fault::Incompatible } else { Fault::NotFound });
            }
            _ => {}
        }
    }
    match value {
        Value::Bytes(bytes) => {
            put_plain(engine, table, key, bytes, flags).map(|()| Outcome::Stored)
        }
        Value::Room(bytes) => {
            let mut room = Vec::new();
            room.try_reserve_exact(bytes).map_err(|_| Fault::NoMemory)?;
            room.resize(bytes, 0);
            put_plain(engine, table, key, &room, flags)?;
            let reserved = Reserved { table: behind, key: key.to_vec(), value: room };
            let reserved = writer.reserved.insert(reserved);
            Ok(Outcome::Room(reserved.value.as_mut_ptr()))
        }
    }
}

fn put_plain(
    engine: &mut WriteTxn,
    table: RawTable,
    key: &[u8],
    value: &[u8],
    flags: u32,
) -> Res<()> {
    if flags & APPEND != 0 {
        table.append(engine, key, value)?;
    } else {
        table.put(engine, key, value)?;
    }
    Ok(())
}

fn store_dup(
    writer: &mut Writer,
    table: RawMulti,
    (number, dbi): (u32, &Dbi),
    key: &[u8],
    value: &[u8],
    flags: u32,
) -> Res<Outcome> {
    let engine = writer.txn_mut()?;
    if flags & (NOOVERWRITE | CURRENT) != 0 {
        match table.get(engine, key)? {
            Some(found) if flags & NOOVERWRITE != 0 => {
                return Ok(Outcome::Exists(Shown::of(found)));
            }
            None if flags & CURRENT != 0 => return Err(Fault::NotFound),
            _ => {}
        }
    }
    if flags & (CURRENT | ALLDUPS) == CURRENT && table.count_values(engine, key)? > 1 {
        return Err(Fault::ManyValues);
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
    if flags & (CURRENT | ALLDUPS) != 0 {
        if table.set(engine, key, value)? > 0 {
            writer.pass_on(number, dbi, Went::Key(key))?;
        }
        return Ok(Outcome::Stored);
    }
    let new = table.put(engine, key, value)?;
    if !new && flags & NODUPDATA != 0 { Err(Fault::Exists) } else { Ok(Outcome::Stored) }
}

/// Deletes a key, or one of its values, where there may be many and one is given; where there is
/// only one, it must be that, if the interface has it so.
pub fn delete(txn: &Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Res<()> {
    let mut writer = txn.writer()?;
    let known = writer.dbi(txn, dbi)?;
    known.check_wanted(key)?;
    let rules = txn.env.rules()?;
    let many = known.flags & DUPSORT != 0;
    let is_too_long = key.len() > *rules.keys.end()
        || many && value.is_some_and(|value| value.len() > *rules.set_values.end());
    if is_too_long {
        // No table has it; the one that is named must be there all the same.
        let stat = writer.txn()?.table_stat(&known.name)?;
        return Err(if stat.is_some() { Fault::NotFound } else { Fault::TableMissing });
    }
    if let (Table::Main(table) | Table::Plain(table), true, Some(value)) =
        (known.table, rules.compares_only, value)
        && table.get(writer.txn()?, key)? != Some(value)
    {
        return Err(Fault::NotFound);
    }
    remove(txn, &mut writer, dbi, &known, key, value.filter(|_| many))
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
        Ok(None) | Err(Error::KeyLength | Error::ValueLength) => return Err(Fault::NotFound),
        Err(error) => return Err(error.into()),
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
        (Table::Main(table) | Table::Plain(table), _) => table.remove(engine, key)?,
        (Table::Multi(table), None) => table.remove_key(engine, key)? > 0,
        (Table::Multi(table), Some(value)) => {
            let is_removed = table.remove(engine, key, value)?;
            let left = is_removed && table.get(engine, key)?.is_some();
            return Ok(is_removed.then_some(left));
        }
    };
    Ok(is_removed.then_some(false))
}
