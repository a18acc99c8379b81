//! Cursors as C holds them.

use std::sync::{Arc, OnceLock};

use try_lock::{Locked, TryLock};

use crate::data::{self, Outcome, Shown, Value};
use crate::fault::{Fault, Res};
use crate::flags::dbi::{DUPFIXED, DUPSORT};
use crate::flags::put::*;
use crate::in_txn;
use crate::inside::Writer;
use crate::place::{Item, Place, Stand, Went};
use crate::table::{Dbi, Table};
use crate::threads::{lock, lock_now};
use crate::txn::Txn;

/// So many bytes of values a call gives at once.
const BATCH_BYTES: usize = 4096;

/// A cursor. It is used by one thread at a time, like its transaction.
pub struct Cursor {
    /// Its own handle, once it has one.
    handle: OnceLock<usize>,
    inside: TryLock<Inside>,
}

struct Inside {
    bound: Option<Bound>,
    /// The values that were given at once last.
    batch: Vec<u8>,
}

/// What a cursor belongs to, and where it stands in it.
struct Bound {
    txn: Arc<Txn>,
    dbi: u32,
    place: Place,
}

/// An operation for each line: what a cursor is asked for, and its number in C.
macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What is asked of a cursor; the numbers are those of LMDB and libmdbx.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Op { $($(#[$doc])* $name,)* }

        impl Op {
            /// The operation of a number.
            pub fn of(number: u32) -> Option<Op> {
                match number {
                    $($number => Some(Op::$name),)*
                    _ => None,
                }
            }
        }
    };
}

ops! {
    /// The first record.
    First = 0,
    /// The first value of the cursor's key.
    FirstDup = 1,
    /// A key and value.
    GetBoth = 2,
    /// A key, and its first value that is not below the given one.
    GetBothRange = 3,
    /// The cursor's record.
    GetCurrent = 4,
    /// Many values of the cursor's key.
    GetMultiple = 5,
    /// The last record.
    Last = 6,
    /// The last value of the cursor's key.
    LastDup = 7,
    /// The next record.
    Next = 8,
    /// The next value of the cursor's key.
    NextDup = 9,
    /// Many values after the cursor's.
    NextMultiple = 10,
    /// The first record of the next key.
    NextNodup = 11,
    /// The record before the cursor's.
    Prev = 12,
    /// The value before the cursor's.
    PrevDup = 13,
    /// The last record of the key before the cursor's.
    PrevNodup = 14,
    /// A key, whose bytes the caller has.
    Set = 15,
    /// A key.
    SetKey = 16,
    /// The first key that is not below the given one.
    SetRange = 17,
    /// Many values before the cursor's.
    PrevMultiple = 18,
}

/// What a look at a cursor gives to the caller; `None` leaves the caller's own as it is.
pub struct Given {
    /// The record's key.
    pub key: Option<Shown>,
    /// Its value, or many.
    pub value: Option<Shown>,
}

impl Cursor {
    /// A cursor of a table that the transaction may use, nowhere yet.
    pub fn open(txn: &Arc<Txn>, dbi: u32) -> Res<Cursor> {
        let inside = Inside { bound: Some(Bound::new(txn, dbi)?), batch: Vec::new() };
        Ok(Cursor { handle: OnceLock::new(), inside: TryLock::new(inside) })
    }

    /// Its handle, or 0.
    pub fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// Tells it its handle, and has the transaction tell the cursor what is deleted.
    pub fn enlist(cursor: &Arc<Cursor>, handle: usize) -> Res<()> {
        let _ = cursor.handle.set(handle);
        let (txn, _) = cursor.bound()?;
        if txn.is_write() {
            let mut writer = txn.writer()?;
            writer.cursors.retain(|cursor| cursor.strong_count() > 0);
            writer.cursors.push(Arc::downgrade(cursor));
        }
        Ok(())
    }

    /// Its transaction and its table.
    fn bound(&self) -> Res<(Arc<Txn>, u32)> {
        let inside = self.inside()?;
        let bound = inside.bound.as_ref().ok_or(Fault::Invalid)?;
        Ok((bound.txn.clone(), bound.dbi))
    }

    /// Its transaction.
    pub fn txn(&self) -> Option<Arc<Txn>> {
        Some(lock(&self.inside).ok()?.bound.as_ref()?.txn.clone())
    }

    /// Its table.
    pub fn dbi(&self) -> Option<u32> {
        Some(lock(&self.inside).ok()?.bound.as_ref()?.dbi)
    }

    /// Goes on in another read transaction.
    pub fn renew(&self, txn: &Arc<Txn>) -> Res<()> {
        let (old, dbi) = self.bound()?;
        if txn.is_write() || old.is_write() {
            return Err(Fault::Invalid);
        }
        let fresh = Bound::new(txn, dbi)?;
        self.inside()?.bound = Some(fresh);
        Ok(())
    }

    fn inside(&self) -> Res<Locked<'_, Inside>> {
        lock_now(&self.inside)
    }

    /// Does something with its place, for a transaction that tells it of a change.
    fn with_place<R>(&self, work: impl FnOnce(&mut Place) -> R) -> Res<R> {
        let mut inside = lock(&self.inside)?;
        Ok(work(&mut inside.bound.as_mut().ok_or(Fault::Invalid)?.place))
    }

    pub(crate) fn place_now(&self) -> Res<Place> {
        self.with_place(|place| place.clone())
    }

    pub(crate) fn put_place(&self, place: Place) -> Res<()> {
        self.with_place(|own| *own = place)
    }

    /// Moves it, and shows the record that it stands on then.
    pub fn get(&self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let mut inside = self.inside()?;
        let Inside { bound, batch } = &mut *inside;
        let Bound { txn, dbi, place } = bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        let (known, view) = access.dbi_in(txn, *dbi)?;
        check_op(op, known)?;
        if matches!(op, Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple) {
            return in_txn!(view, engine => multiple(place, batch, engine, op));
        }
        if let Some(key) = key {
            data::check_wanted(&txn.env, key)?;
        }
        let (key, value) = in_txn!(view, engine => {
            let found = look(place, engine, known, op, key, value);
            if found.is_err() {
                place.unmark(engine)?;
            }
            found?
        });
        let shown = (op != Op::Set).then(|| Shown::of(key));
        let value = match value {
            Some(value) => Some(Shown::of(value)),
            None => {
                let name = key.to_vec();
                data::record(&mut access, &name)?
            }
        };
        Ok(Given { key: shown, value })
    }

    /// How many values the cursor's key has.
    pub fn count(&self) -> Res<u64> {
        let mut inside = self.inside()?;
        let Bound { txn, dbi, place } = inside.bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        let (known, view) = access.dbi_in(txn, *dbi)?;
        let Table::Multi(table) = known.table else { return Err(Fault::Incompatible) };
        in_txn!(view, txn => {
            let key = place.key(txn)?;
            Ok(table.count_of(txn, &key)?)
        })
    }

    /// Stores a record, and stands on it.
    pub fn put(&self, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
        if flags & !(PLAIN | CURRENT | MULTIPLE) != 0 {
            return Err(Fault::Invalid);
        }
        let (txn, number) = self.bound()?;
        let mut writer = txn.writer()?;
        let dbi = writer.dbi(&txn, number)?;
        if flags & CURRENT != 0 {
            return self.overwrite(&txn, &mut writer, (number, &dbi), value, flags);
        }
        // It may lie on a page that changes.
        let bytes = match value {
            Value::Bytes(bytes) if dbi.flags & DUPSORT != 0 => bytes.to_vec(),
            _ => Vec::new(),
        };
        let own = key.to_vec();
        let stored = data::store(&txn, &mut writer, &dbi, key, value, flags);
        let stands = match &stored {
            Ok(Outcome::Stored | Outcome::Room(_)) => true,
            Err(Fault::Exists) => flags & NODUPDATA != 0,
            _ => false,
        };
        if stands {
            self.with_place(|place| place.set_on(&own, &bytes))?;
        } else if let Ok(Outcome::Exists(_)) = stored {
            let engine = writer.txn()?;
            self.with_place(|place| place.at_or_above(engine, &own).map(drop))??;
        }
        stored
    }

    /// Puts several values of one length; how many were put before one was refused.
    pub fn put_many(
        &self,
        key: &[u8],
        values: &[u8],
        bytes: usize,
        flags: u32,
    ) -> (usize, Res<()>) {
        match self.has_fixed_values() {
            Ok(true) if bytes == 0 => return (0, Err(Fault::Size)),
            Ok(true) => {}
            Ok(false) => return (0, Err(Fault::Incompatible)),
            Err(fault) => return (0, Err(fault)),
        }
        let mut done = 0;
        for value in values.chunks_exact(bytes) {
            match self.put(key, Value::Bytes(value), flags & !MULTIPLE) {
                Ok(Outcome::Stored) => done += 1,
                Ok(_) => return (done, Err(Fault::Exists)),
                Err(fault) => return (done, Err(fault)),
            }
        }
        (done, Ok(()))
    }

    fn has_fixed_values(&self) -> Res<bool> {
        let (txn, number) = self.bound()?;
        let mut writer = txn.writer()?;
        Ok(writer.dbi(&txn, number)?.flags & DUPFIXED != 0)
    }

    /// Another value for the record that the cursor stands on.
    fn overwrite(
        &self,
        txn: &Txn,
        writer: &mut Writer,
        (number, dbi): (u32, &Dbi),
        value: Value<'_>,
        flags: u32,
    ) -> Res<Outcome> {
        let mut place = self.place_now()?;
        let (key, old) = {
            let (key, old) = place.current(writer.txn()?)?;
            (key.to_vec(), old.ok_or(Fault::Incompatible)?.to_vec())
        };
        let Table::Multi(table) = dbi.table else {
            let flags = flags & !(CURRENT | NOOVERWRITE);
            let stored = data::store(txn, writer, dbi, &key, value, flags)?;
            self.put_place(place)?;
            return Ok(stored);
        };
        let Value::Bytes(new) = value else { return Err(Fault::Incompatible) };
        let new = new.to_vec();
        data::check_lengths(&txn.env, dbi, &key, new.len())?;
        table.replace(writer.changing(&txn.env)?, &key, &old, &new)?;
        if new != old {
            writer.pass_on(number, dbi, Went::Value(&key, &old))?;
        }
        self.with_place(|place| place.set_on(&key, &new))?;
        Ok(Outcome::Stored)
    }

    /// Deletes the cursor's record, or with `NODUPDATA` all values of its key.
    pub fn delete(&self, flags: u32) -> Res<()> {
        if flags & !NODUPDATA != 0 {
            return Err(Fault::Invalid);
        }
        let (txn, number) = self.bound()?;
        let mut writer = txn.writer()?;
        let dbi = writer.dbi(&txn, number)?;
        if flags & NODUPDATA != 0 && dbi.flags & DUPSORT == 0 {
            return Err(Fault::Incompatible);
        }
        let mut place = self.place_now()?;
        let (key, value) = {
            let engine = writer.txn()?;
            let (key, value) = place.current(engine)?;
            (key.to_vec(), value.map(<[u8]>::to_vec))
        };
        // It stands on what it deletes, and is told of it like any other.
        self.put_place(place)?;
        let one = value.as_deref().filter(|_| dbi.flags & DUPSORT != 0 && flags & NODUPDATA == 0);
        data::remove(&txn, &mut writer, number, &dbi, &key, one)
    }
}

impl Bound {
    fn new(txn: &Arc<Txn>, dbi: u32) -> Res<Bound> {
        let mut access = txn.access()?;
        let (known, _) = access.dbi_in(txn, dbi)?;
        let place = Place::new(known.table);
        drop(access);
        Ok(Bound { txn: txn.clone(), dbi, place })
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
            if cursor.dbi() == Some(number) {
                cursor.with_place(|place| match is_empty {
                    true => {
                        place.unset();
                        Ok(())
                    }
                    false => place.leave(engine, went),
                })??;
            }
        }
        Ok(())
    }

    /// All cursors of a database, or with 0 of all of them, stand nowhere.
    pub(crate) fn unset_cursors(&mut self, number: u32) {
        for cursor in self.cursors.iter().filter_map(std::sync::Weak::upgrade) {
            if number == 0 || cursor.dbi() == Some(number) {
                let _ = cursor.with_place(Place::unset);
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
        true => Err(Fault::Incompatible),
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
            let (key, value) = (key_of(key)?, value.ok_or(Fault::Invalid)?);
            let found = exact(dbi, key, place.pair_at_or_above(txn, key, value)?)?;
            let same = |found: &[u8]| dbi.compare_values(value, found).is_eq();
            match op == Op::GetBothRange || found.1.is_some_and(same) {
                true => Ok(found),
                false => Err(Fault::NotFound),
            }
        }
        Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => Err(Fault::Invalid),
    }
}

fn key_of(key: Option<&[u8]>) -> Res<&[u8]> {
    key.ok_or(Fault::Invalid)
}

fn exact<'t>(dbi: &Dbi, key: &[u8], found: Item<'t>) -> Res<Item<'t>> {
    match dbi.compare_keys(key, found.0).is_eq() {
        true => Ok(found),
        false => Err(Fault::NotFound),
    }
}

/// Values of the cursor's key, as many as fit, one behind the other.
fn multiple(place: &mut Place, batch: &mut Vec<u8>, txn: &impl huon::Txn, op: Op) -> Res<Given> {
    let first = match op {
        Op::NextMultiple => place.beside_value(txn, true)?,
        Op::PrevMultiple => place.beside_value(txn, false)?,
        _ if place.stand == Stand::Unset => return Err(Fault::Unpositioned),
        _ => place.current(txn)?,
    };
    let (key, value) = (Shown::of(first.0), first.1.ok_or(Fault::Invalid)?);
    batch.clear();
    batch.extend_from_slice(value);
    let forward = op != Op::PrevMultiple;
    while batch.len() + value.len() <= BATCH_BYTES {
        match place.beside_value(txn, forward) {
            Ok((_, Some(value))) => batch.extend_from_slice(value),
            Ok(_) | Err(Fault::NotFound) => break,
            Err(fault) => return Err(fault),
        }
    }
    if !forward {
        // They came last first.
        let mut ordered = Vec::with_capacity(batch.len());
        batch.chunks_exact(value.len()).rev().for_each(|v| ordered.extend_from_slice(v));
        *batch = ordered;
    }
    Ok(Given { key: Some(key), value: Some(Shown::of(batch)) })
}
