//! Changes by cursors, and how other cursors follow them.

use crate::cursor::Cursor;
use crate::data::{self, Outcome, Value};
use crate::fault::{Fault, Res};
use crate::flags::dbi::DUPSORT;
use crate::flags::put::*;
use crate::inside::Writer;
use crate::place::{Place, Went};
use crate::table::{Dbi, Table};
use crate::txn::Txn;

impl Cursor {
    /// Stores a record, and stands on it.
    pub fn put(&self, key: &[u8], value: Value<'_>, flags: u32) -> Res<Outcome> {
        let (txn, number) = self.bound()?;
        if flags & !(txn.env.rules()?.puts | CURRENT) != 0 {
            return Err(Fault::Invalid);
        }
        txn.writer()?.with_dbi(&txn, number, |writer, dbi| {
            self.check_known(dbi)?;
            let dbi = (number, dbi);
            if flags & CURRENT != 0 {
                return self.overwrite(&txn, writer, dbi, key, value, flags);
            }
            let mut room = std::mem::take(&mut writer.room);
            let stored = data::store_by(&txn, writer, dbi, (key, value), flags, &mut room);
            let placed =
                self.follow(writer, room.split_at(key.len().min(room.len())), &stored, flags);
            writer.keep_room(room);
            placed.and(stored)
        })
    }

    /// Goes where a put has led to.
    fn follow(
        &self,
        writer: &Writer,
        (key, value): (&[u8], &[u8]),
        stored: &Res<Outcome>,
        flags: u32,
    ) -> Res<()> {
        let engine = writer.txn()?;
        self.with_place(|place| match stored {
            Ok(Outcome::Stored | Outcome::Room(_)) | Err(Fault::Exists) => {
                Ok(place.set_on(key, value)?)
            }
            Ok(Outcome::Exists(_)) => place.at_or_above(engine, key).map(drop),
            // On what it was not to come before.
            Err(Fault::Order) if flags & APPEND != 0 => place.edge(engine, true).map(drop),
            Err(Fault::Order) => {
                place.at_or_above(engine, key)?;
                place.edge_value(engine, true).map(drop)
            }
            Err(_) => Ok(()),
        })?
    }

    /// Puts several values of one length; how many were put before one was refused.
    pub fn put_many(
        &self,
        key: &[u8],
        values: &[u8],
        bytes: usize,
        flags: u32,
    ) -> (usize, Res<()>) {
        // Of which kind the table is comes before all else that may be wrong.
        let fits = self.bound().and_then(|(txn, number)| {
            let dbis = txn.env.dbis();
            data::check_many(dbis.get(number, &txn)?, bytes)
        });
        match fits {
            Ok(()) => data::each(
                (values, bytes),
                flags,
                |value, flags| self.put(key, Value::Bytes(value), flags),
                |rest| self.put_rest(key, (rest, bytes)),
            ),
            Err(fault) => (0, Err(fault)),
        }
    }

    /// Stores more values of a key that has one, and stands on the last.
    fn put_rest(&self, key: &[u8], (values, bytes): (&[u8], usize)) -> Res<()> {
        let (txn, number) = self.bound()?;
        // Where it lies now, something else may.
        let last = [key, &values[values.len() - bytes..]].concat();
        txn.writer()?.with_dbi(&txn, number, |writer, dbi| {
            self.check_known(dbi)?;
            data::store_rest(&txn, writer, dbi, key, (values, bytes))?;
            let (key, value) = last.split_at(key.len());
            Ok(self.with_place(|place| place.set_on(key, value))??)
        })
    }

    /// Another value for the record that the cursor stands on, or for all of its key's.
    fn overwrite(
        &self,
        txn: &Txn,
        writer: &mut Writer,
        (number, dbi): (u32, &Dbi),
        named: &[u8],
        value: Value<'_>,
        flags: u32,
    ) -> Res<Outcome> {
        let mut place = self.place_now()?;
        let (key, old) = {
            let (key, old) = place.current(writer.txn()?)?;
            (key.to_vec(), old.ok_or(Fault::Incompatible)?.to_vec())
        };
        if txn.env.rules()?.names_current && dbi.compare_keys(named, &key).is_ne() {
            return Err(Fault::Order);
        }
        let Table::Multi(table) = dbi.table else {
            let flags = flags & !(CURRENT | NOOVERWRITE);
            let stored = data::store(txn, writer, (number, dbi), &key, value, flags)?;
            self.put_place(place)?;
            return Ok(stored);
        };
        let Value::Bytes(new) = value else { return Err(Fault::Incompatible) };
        data::check_lengths(&txn.env, dbi, &key, new.len())?;
        let new = new.to_vec();
        let engine = writer.changing(&txn.env)?;
        let went = if flags & ALLDUPS != 0 {
            (table.set(engine, &key, &new)? > 0).then_some(Went::Key(&key))
        } else {
            table.update(engine, &key, &old, &new)?;
            (new != old).then_some(Went::Replaced(&key, &old, &new))
        };
        if let Some(went) = went {
            writer.pass_on(number, dbi, went)?;
        }
        self.with_place(|place| place.set_on(&key, &new))??;
        Ok(Outcome::Stored)
    }

    /// Deletes the cursor's record, or all values of its key.
    pub fn delete(&self, all: bool) -> Res<()> {
        let (txn, number) = self.bound()?;
        let mut writer = txn.writer()?;
        let dbi = self.known(&mut writer, &txn, number)?;
        let mut place = self.place_now()?;
        let (key, value) = {
            let engine = writer.txn()?;
            let (key, value) = place.current(engine)?;
            (key.to_vec(), value.map(<[u8]>::to_vec))
        };
        // It stands on the record that it deletes, and follows the change like any other.
        self.put_place(place)?;
        let one = value.as_deref().filter(|_| dbi.flags & DUPSORT != 0 && !all);
        data::remove(&txn, &mut writer, number, &dbi, &key, one)
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
            Table::Main(table) | Table::Plain(table) => table.len(engine)? == 0,
            Table::Multi(table) => table.len(engine)? == 0,
        };
        for cursor in self.cursors.iter() {
            if cursor.is_of(number, dbi) {
                cursor.with_place(|place| {
                    if is_empty {
                        place.leave_last();
                        Ok(())
                    } else {
                        place.leave(engine, went)
                    }
                })??;
            }
        }
        Ok(())
    }

    /// All cursors of a database, or with 0 of all of them, stand nowhere.
    pub(crate) fn unset_cursors(&mut self, number: u32) {
        for cursor in self.cursors.iter() {
            if number == 0 || cursor.dbi() == Some(number) {
                let _ = cursor.with_place(Place::unset);
            }
        }
    }
}
