//! Cursors as C holds them.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use libc::c_uint;

use crate::codes::{Code, Res};
use crate::data::{self, Outcome, Shown, Value};
use crate::dbi::{Dbi, Table};
use crate::flags::dbi::{DUPFIXED, DUPSORT};
use crate::flags::put::*;
use crate::place::{Item, Place, Stand};
use crate::txn::{Txn, Writer, in_txn};

pub(crate) use crate::place::Went;

/// So many bytes of values a call gives at once.
const BATCH_BYTES: usize = 4096;

pub(crate) struct Cursor {
    pub(crate) dbi: u32,
    /// The table's name, of the opening of the table that it is a cursor of.
    name: Arc<[u8]>,
    /// Its own handle, once it has one.
    handle: OnceLock<usize>,
    txn: Mutex<Arc<Txn>>,
    inside: Mutex<Inside>,
}

struct Inside {
    place: Place,
    /// The values that were given at once last.
    batch: Vec<u8>,
}

/// What is asked of a cursor; the numbers are LMDB's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    First,
    FirstDup,
    GetBoth,
    GetBothRange,
    GetCurrent,
    GetMultiple,
    Last,
    LastDup,
    Next,
    NextDup,
    NextMultiple,
    NextNodup,
    Prev,
    PrevDup,
    PrevNodup,
    Set,
    SetKey,
    SetRange,
    PrevMultiple,
}

impl Op {
    pub(crate) fn of(number: c_uint) -> Res<Op> {
        use Op::*;
        let all = [
            First,
            FirstDup,
            GetBoth,
            GetBothRange,
            GetCurrent,
            GetMultiple,
            Last,
            LastDup,
            Next,
            NextDup,
            NextMultiple,
            NextNodup,
            Prev,
            PrevDup,
            PrevNodup,
            Set,
            SetKey,
            SetRange,
            PrevMultiple,
        ];
        all.get(number as usize).copied().ok_or(Code::EINVAL)
    }
}

/// What a look at a cursor gives to the caller; `None` leaves the caller's own as it is.
pub(crate) struct Given {
    pub(crate) key: Option<Shown>,
    pub(crate) value: Option<Shown>,
}

impl Cursor {
    pub(crate) fn open(txn: &Arc<Txn>, dbi: u32) -> Res<Cursor> {
        let known = {
            let access = txn.access()?;
            in_txn!(&access, txn => _ = txn.id());
            txn.dbi(dbi)?
        };
        let place = Place::new(known.table);
        let inside = Inside { place, batch: Vec::new() };
        Ok(Cursor {
            dbi,
            name: known.name.clone(),
            handle: OnceLock::new(),
            txn: Mutex::new(txn.clone()),
            inside: Mutex::new(inside),
        })
    }

    pub(crate) fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// Tells it its handle, and has the transaction tell the cursor what is deleted.
    pub(crate) fn enlist(cursor: &Arc<Cursor>, handle: usize) -> Res<()> {
        let _ = cursor.handle.set(handle);
        let txn = cursor.txn();
        if txn.is_write() {
            let mut writer = txn.writer()?;
            writer.cursors.retain(|cursor| cursor.strong_count() > 0);
            writer.cursors.push(Arc::downgrade(cursor));
        }
        Ok(())
    }

    pub(crate) fn txn(&self) -> Arc<Txn> {
        self.txn.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its database, unless that was closed, also where the number is of another one now.
    fn known(&self, txn: &Txn) -> Res<Rc<Dbi>> {
        let known = txn.dbi(self.dbi)?;
        if Arc::ptr_eq(&known.name, &self.name) { Ok(known) } else { Err(Code::EINVAL) }
    }

    /// Goes on in another read transaction.
    pub(crate) fn renew(&self, txn: &Arc<Txn>) -> Res<()> {
        if txn.is_write() || self.txn().is_write() {
            return Err(Code::EINVAL);
        }
        let access = txn.access()?;
        in_txn!(&access, txn => _ = txn.id());
        self.known(txn)?;
        self.inside()?.place.unset();
        *self.txn.lock().unwrap_or_else(PoisonError::into_inner) = txn.clone();
        Ok(())
    }

    fn inside(&self) -> Res<MutexGuard<'_, Inside>> {
        match self.inside.try_lock() {
            Ok(inside) => Ok(inside),
            Err(TryLockError::Poisoned(inside)) => Ok(inside.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Code::BAD_TXN),
        }
    }

    pub(crate) fn place_now(&self) -> Place {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).place.clone()
    }

    pub(crate) fn put_place(&self, place: Place) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).place = place;
    }

    pub(crate) fn get(&self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let txn = self.txn();
        let access = txn.access()?;
        if access.is_reset() {
            // For a cursor that is none.
            return Err(Code::BAD_TXN);
        }
        let dbi = self.known(&txn)?;
        let mut inside = self.inside()?;
        check_op(op, &dbi)?;
        match op {
            Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => {
                in_txn!(&access, txn => {
                    let given = inside.multiple(txn, op);
                    if given.is_err() {
                        inside.place.unmark(txn)?;
                    }
                    given
                })
            }
            _ => {
                let place = &mut inside.place;
                let item = in_txn!(&access, txn => {
                    let found = look(place, txn, &dbi, op, key, value);
                    if found.is_err() {
                        place.unmark(txn)?;
                    }
                    let item = found?;
                    (Shown::of(item.0), item.1.map(Shown::of), item.0)
                });
                let value = match item.1 {
                    Some(value) => Some(value),
                    None => data::record(&access, item.2)?,
                };
                Ok(Given { key: (op != Op::Set).then_some(item.0), value })
            }
        }
    }

    pub(crate) fn count(&self) -> Res<u64> {
        let txn = self.txn();
        let access = txn.access()?;
        if access.is_reset() {
            return Err(Code::BAD_TXN);
        }
        let Table::Multi(table) = self.known(&txn)?.table else {
            return Err(Code::INCOMPATIBLE);
        };
        let mut inside = self.inside()?;
        in_txn!(&access, txn => {
            let key = inside.place.key(txn)?;
            Ok(table.count_of(txn, &key)?)
        })
    }

    pub(crate) fn put(&self, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
        if flags & !(PLAIN | CURRENT | MULTIPLE) != 0 {
            return Err(Code::EINVAL);
        }
        let txn = self.txn();
        let mut writer = txn.writer()?;
        let dbi = self.known(&txn)?;
        if flags & CURRENT != 0 {
            return self.overwrite(&txn, &mut writer, &dbi, value, flags);
        }
        // It may lie on a page that changes.
        let bytes = match value {
            Value::Bytes(bytes) if dbi.flags & DUPSORT != 0 => bytes.to_vec(),
            _ => Vec::new(),
        };
        let own = key.to_vec();
        let stored = data::store(&txn, &mut writer, &dbi, key, value, flags);
        let place = &mut self.inside()?.place;
        match &stored {
            Ok(Outcome::Stored | Outcome::Room(_)) => place.set_on(&own, &bytes),
            Ok(Outcome::Exists(_)) => {
                place.at_or_above(writer.txn()?, &own)?;
            }
            Err(Code::KEYEXIST) if flags & APPEND != 0 => drop(place.edge(writer.txn()?, true)?),
            Err(Code::KEYEXIST) if flags & APPENDDUP != 0 => {
                place.at_or_above(writer.txn()?, &own)?;
                place.edge_value(writer.txn()?, true)?;
            }
            Err(Code::KEYEXIST) => place.set_on(&own, &bytes),
            Err(_) => {}
        }
        stored
    }

    /// Puts several values of one length; how many were put before one was refused.
    pub(crate) fn put_many(
        &self,
        key: &[u8],
        values: &[u8],
        bytes: usize,
        flags: u32,
    ) -> (usize, Res<()>) {
        let txn = self.txn();
        let fixed = self.known(&txn).map(|dbi| dbi.flags & DUPFIXED != 0);
        match fixed {
            Ok(true) => {}
            Ok(false) => return (0, Err(Code::INCOMPATIBLE)),
            Err(code) => return (0, Err(code)),
        }
        if bytes == 0 {
            return (0, Err(Code::BAD_VALSIZE));
        }
        let mut done = 0;
        let mut flags = flags & !MULTIPLE;
        for value in values.chunks_exact(bytes) {
            match self.put(key, Value::Bytes(value), flags) {
                Ok(Outcome::Stored) => {
                    done += 1;
                    // Whether the key may be there, or is the last, is asked once.
                    flags &= !(NOOVERWRITE | APPEND);
                }
                Ok(_) => return (done, Err(Code::KEYEXIST)),
                Err(code) => return (done, Err(code)),
            }
        }
        (done, Ok(()))
    }

    /// Another value for the record that the cursor stands on.
    fn overwrite(
        &self,
        txn: &Txn,
        writer: &mut Writer,
        dbi: &Dbi,
        value: Value<'_>,
        flags: u32,
    ) -> Res<Outcome> {
        let mut place = self.place_now();
        let (key, old) = {
            let (key, old) = place.current(writer.txn()?)?;
            (key.to_vec(), old.ok_or(Code::INCOMPATIBLE)?.to_vec())
        };
        let Table::Multi(table) = dbi.table else {
            let stored =
                data::store(txn, writer, dbi, &key, value, flags & !(CURRENT | NOOVERWRITE))?;
            self.put_place(place);
            return Ok(stored);
        };
        let Value::Bytes(new) = value else { return Err(Code::INCOMPATIBLE) };
        let new = new.to_vec();
        if new.is_empty() || new.len() > crate::dbi::KEY_BYTES_MAX {
            return Err(Code::BAD_VALSIZE);
        }
        table.replace(writer.changing(&txn.env)?, &key, &old, &new)?;
        if new != old {
            writer.pass_on(self.dbi, dbi, Went::Replaced(&key, &old, &new))?;
        }
        self.inside()?.place.set_on(&key, &new);
        Ok(Outcome::Stored)
    }

    pub(crate) fn delete(&self, flags: u32) -> Res<()> {
        if flags & !NODUPDATA != 0 {
            return Err(Code::EINVAL);
        }
        let txn = self.txn();
        let mut writer = txn.writer()?;
        let dbi = self.known(&txn)?;
        let mut place = self.place_now();
        let (key, value) = {
            let engine = writer.txn()?;
            let (key, value) = place.current(engine)?;
            (key.to_vec(), value.map(<[u8]>::to_vec))
        };
        // It stands on what it deletes, and is told of it like any other.
        self.put_place(place);
        let one = value.as_deref().filter(|_| dbi.flags & DUPSORT != 0 && flags & NODUPDATA == 0);
        data::remove(&txn, &mut writer, self.dbi, &dbi, &key, one)
    }
}

impl Writer {
    /// Tells the cursors of a database what was deleted.
    pub(crate) fn pass_on(&mut self, number: u32, dbi: &Dbi, went: Went<'_>) -> Res<()> {
        if self.cursors.is_empty() {
            return Ok(());
        }
        let engine = self.txn()?;
        let is_empty = match dbi.table {
            Table::Main(table) | Table::Plain(table) => table.count(engine)? == 0,
            Table::Multi(table) => table.count(engine)? == 0,
        };
        for cursor in self.cursors.iter().filter_map(std::sync::Weak::upgrade) {
            if cursor.dbi == number {
                let place = &mut cursor.inside()?.place;
                match is_empty {
                    true => place.unset(),
                    false => place.leave(engine, went)?,
                }
            }
        }
        Ok(())
    }

    /// All cursors of a database, or with 0 of all of them, stand nowhere.
    pub(crate) fn unset_cursors(&mut self, number: u32) {
        for cursor in self.cursors.iter().filter_map(std::sync::Weak::upgrade) {
            if cursor.dbi == number || number == 0 {
                let mut place = cursor.place_now();
                place.unset();
                cursor.put_place(place);
            }
        }
    }
}

/// Refuses what the kind of the database has no answer to.
fn check_op(op: Op, dbi: &Dbi) -> Res<()> {
    use Op::*;
    let dup = matches!(op, FirstDup | LastDup | GetBoth | GetBothRange);
    let fixed = matches!(op, GetMultiple | NextMultiple | PrevMultiple);
    match dup && dbi.flags & DUPSORT == 0 || fixed && dbi.flags & DUPFIXED == 0 {
        true => Err(Code::INCOMPATIBLE),
        false => Ok(()),
    }
}

fn look<'t>(
    place: &mut Place,
    txn: &'t impl huon::Txn,
    dbi: &Dbi,
    op: Op,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Res<Item<'t>> {
    match op {
        Op::First | Op::Last => place.edge(txn, op == Op::Last),
        Op::GetCurrent => place.current(txn),
        Op::Next | Op::Prev => place.beside(txn, op == Op::Next),
        Op::NextNodup | Op::PrevNodup => place.beside_key(txn, op == Op::NextNodup),
        Op::NextDup | Op::PrevDup => place.beside_value(txn, op == Op::NextDup),
        Op::FirstDup | Op::LastDup => place.edge_value(txn, op == Op::LastDup),
        Op::Set | Op::SetKey => {
            let key = key_of(key)?;
            let found = place.at_or_above(txn, key)?;
            exact(dbi, key, found)
        }
        Op::SetRange => place.at_or_above(txn, key_of(key)?),
        Op::GetBoth | Op::GetBothRange => {
            let (key, value) = (key_of(key)?, value.ok_or(Code::EINVAL)?);
            let found = exact(dbi, key, place.pair_at_or_above(txn, key, value)?)?;
            let same = |found: &[u8]| dbi.compare_values(value, found).is_eq();
            match op == Op::GetBothRange || found.1.is_some_and(same) {
                true => Ok(found),
                false => Err(Code::NOTFOUND),
            }
        }
        Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => Err(Code::EINVAL),
    }
}

fn key_of(key: Option<&[u8]>) -> Res<&[u8]> {
    let key = key.ok_or(Code::EINVAL)?;
    if key.is_empty() { Err(Code::BAD_VALSIZE) } else { Ok(key) }
}

fn exact<'t>(dbi: &Dbi, key: &[u8], found: Item<'t>) -> Res<Item<'t>> {
    match dbi.compare_keys(key, found.0).is_eq() {
        true => Ok(found),
        false => Err(Code::NOTFOUND),
    }
}

impl Inside {
    /// Values of the cursor's key, as many as fit, one behind the other.
    fn multiple(&mut self, txn: &impl huon::Txn, op: Op) -> Res<Given> {
        let first = match op {
            Op::NextMultiple => self.place.beside_value(txn, true)?,
            Op::PrevMultiple => self.place.beside_value(txn, false)?,
            _ if self.place.stand == Stand::Unset => return Err(Code::EINVAL),
            _ => self.place.current(txn)?,
        };
        let (key, value) = (Shown::of(first.0), first.1.ok_or(Code::EINVAL)?);
        self.batch.clear();
        self.batch.extend_from_slice(value);
        let forward = op != Op::PrevMultiple;
        while self.batch.len() + value.len() <= BATCH_BYTES {
            match self.place.beside_value(txn, forward) {
                Ok((_, Some(value))) => self.batch.extend_from_slice(value),
                Ok(_) | Err(Code::NOTFOUND) => break,
                Err(code) => return Err(code),
            }
        }
        if !forward {
            // They came last first.
            let mut ordered = Vec::with_capacity(self.batch.len());
            self.batch.chunks_exact(value.len()).rev().for_each(|v| ordered.extend_from_slice(v));
            self.batch = ordered;
        }
        Ok(Given { key: Some(key), value: Some(Shown::of(&self.batch)) })
    }
}
