//! Calls that change records where a cursor stands.

use super::cursors::PAGE_BYTES_MIN;
use super::model::{Cursor, Model, Res, Stop};
use super::names::code::*;
use super::names::put::*;
use super::op::{Outcome, Slot};
use super::place::Place;
use super::records::{END, OF_ALL, PLAIN, Stored};
use super::rows::Spot;
use super::tables::MAIN;

impl Model {
    pub(super) fn cursor_del(&mut self, at: Slot, flags: u32) -> Res<Outcome> {
        let is_mdbx = self.rules.interface.is_mdbx();
        let wrong = flags & !(NODUPDATA | if is_mdbx { OF_ALL } else { 0 }) != 0;
        let all = flags & (NODUPDATA | ALLDUPS) != 0;
        self.differs_if(wrong, "flags of a delete that are none")?;
        if let Some(code) = self.cursor(at)?.err().filter(|_| is_mdbx) {
            return Ok(Outcome::code(code));
        }
        let (slot, dbi) = match self.usable(at, true)? {
            _ if wrong => return Ok(Outcome::code(EINVAL)),
            Ok(found) => found,
            Err(code) => return Ok(Outcome::code(code)),
        };
        self.doubted(at)?;
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let many = rows.kind.has_many();
        let one = many && !all;
        let again = matches!(self.cursors[at], Some(Cursor { place: Place::Marked { .. }, .. }));
        let again = again && rows.kind.has_many();
        self.differs_if(again, "a second delete in a row in a table with many values")?;
        let behind = matches!(self.cursors[at], Some(Cursor { place: Place::ValuesEnd(_), .. }));
        let whole = behind && all;
        self.differs_if(whole, "a delete of all values from behind them")?;
        let spot = match self.cursors[at].as_ref().ok_or(Stop::Void)?.place.clone().current() {
            Ok(spot) => spot,
            Err(EINVAL) => return Ok(Outcome::code(self.rules.interface.nowhere())),
            Err(code) => return Ok(Outcome::code(code)),
        };
        if let Place::Marked { .. } = self.cursors[at].as_ref().ok_or(Stop::Void)?.place {
            self.cursor_mut(at)?.place.unmark();
        }
        let value = one.then_some(&spot.value[..]);
        let code = self.remove(slot, dbi, &spot.key, value)?;
        self.cursor_mut(at)?.eof = None;
        let compared = self.rules.compared;
        let cursor = self.cursor_mut(at)?;
        if code == 0 && cursor.place != Place::Unset {
            // Its own changes it knows of.
            cursor.doubt = (compared && cursor.at_end).then_some(END);
            let key_went = matches!(cursor.place, Place::Marked { of_key: false, .. });
            if compared && many && key_went {
                cursor.doubt = Some("a key of many values that went under its cursor");
            }
        }
        Ok(Outcome::code(code))
    }

    pub(super) fn cursor_put(
        &mut self,
        at: Slot,
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Outcome> {
        let wrong = if self.rules.interface.is_mdbx() {
            self.is_no_put(flags)
        } else {
            flags & !(PLAIN | CURRENT | MULTIPLE) != 0
        };
        self.differs_if(wrong, "flags of a put that are none")?;
        if let Some(code) = self.cursor(at)?.err().filter(|_| self.rules.interface.is_mdbx()) {
            return Ok(Outcome::code(code));
        }
        let (slot, dbi) = match self.usable(at, true)? {
            _ if wrong => return Ok(Outcome::code(EINVAL)),
            Ok(found) => found,
            Err(code) => return Ok(Outcome::code(code)),
        };
        if flags & CURRENT != 0 {
            return self.overwrite(at, (slot, dbi), key, value, flags);
        }
        let stored = self.store(slot, dbi, key, value, flags)?;
        self.stand_after(at, (slot, dbi), key, value, (flags, &stored))?;
        Ok(Outcome { code: stored.code, value: stored.shown, ..Outcome::default() })
    }

    /// Where a cursor stands that has put something.
    fn stand_after(
        &mut self,
        at: Slot,
        (slot, dbi): (Slot, u32),
        key: &[u8],
        value: &[u8],
        (flags, stored): (u32, &Stored),
    ) -> Res<()> {
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let many = rows.kind.has_many();
        let wide = many || rows.bytes() > PAGE_BYTES_MIN;
        let there = rows.values(key).is_some_and(|values| {
            !many || values.iter().any(|other| rows.kind.compare_values(other, value).is_eq())
        });
        let value = if many { value.to_vec() } else { Vec::new() };
        let order = self.rules.interface.order();
        let place = match stored.code {
            0 => Some(Place::On(Spot { key: key.to_vec(), value })),
            KEYEXIST if stored.shown.is_some() => rows.edge_of(key, false).map(Place::On),
            code if flags & APPEND != 0 && code == order => rows.edge(true).map(Place::On),
            code if flags & APPENDDUP != 0 && code == order => {
                rows.edge_of(key, true).map(Place::On)
            }
            KEYEXIST if there => Some(Place::On(Spot { key: key.to_vec(), value })),
            _ => None,
        };
        let compared = self.rules.compared;
        let cursor = self.cursor_mut(at)?;
        let marked = matches!(cursor.place, Place::Marked { .. } | Place::ValuesEnd(_));
        if let Some(place) = place {
            (cursor.place, cursor.is_given) = (place, false);
            cursor.eof = (stored.code == 0).then_some(false);
            if cursor.doubt != Some(END) {
                cursor.doubt = (compared && wide && cursor.at_end).then_some(END);
            }
        }
        cursor.at_end |= flags & APPEND != 0;
        if stored.code != 0 && marked && compared {
            cursor.doubt = Some("a put that was refused to a cursor with a mark");
        }
        if flags & APPEND != 0 && many && compared {
            cursor.doubt = Some(END);
        }
        if stored.code == INCOMPATIBLE && compared {
            cursor.doubt = Some("a cursor that was to put over a table's name");
        }
        Ok(())
    }

    /// Another value for the cursor's record.
    fn overwrite(
        &mut self,
        at: Slot,
        (slot, dbi): (Slot, u32),
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Outcome> {
        self.differs_if(flags & !CURRENT != 0, "MDB_CURRENT with another flag")?;
        self.doubted(at)?;
        let mut place = self.cursors[at].as_ref().ok_or(Stop::Void)?.place.clone();
        let unclear = matches!(place, Place::Marked { next: None, .. } | Place::ValuesEnd(_));
        self.differs_if(unclear, "MDB_CURRENT where there is no record")?;
        let spot = match place.current() {
            Ok(spot) => spot,
            Err(code) => {
                let misfit = !self.rules.interface.key_bytes().contains(&value.len());
                self.differs_if(misfit, "more than one thing is wrong")?;
                return Ok(Outcome::code(self.rules.interface.either(code, ENODATA)));
            }
        };
        self.differs_if(spot.key != key, "MDB_CURRENT with another key")?;
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let kind = rows.kind;
        let other = self.rules.interface.is_mdbx() && kind.compare_keys(&spot.key, key).is_ne();
        let name = dbi == MAIN && self.txn(slot)?.data.is_name(&spot.key);
        if other {
            // Which of the reasons counts is not said.
            return if name { Err(Stop::Void) } else { Ok(Outcome::code(EKEYMISMATCH)) };
        }
        if !kind.has_many() {
            let code = if name {
                INCOMPATIBLE
            } else {
                let flags = flags & RESERVE;
                self.store(slot, dbi, &spot.key, value, flags)?.code
            };
            let compared = self.rules.compared;
            if code != 0 {
                // Something may have been made ready for it.
                self.id = None;
            }
            let cursor = self.cursor_mut(at)?;
            match code {
                0 => (cursor.place, cursor.eof) = (place, None),
                _ if compared => {
                    cursor.doubt = Some("a cursor that was to put over a table's name")
                }
                _ => {}
            }
            return Ok(Outcome::code(code));
        }
        if let Some(code) = self.misfit(slot, dbi, &spot.key, value, flags & RESERVE)? {
            return Ok(Outcome::code(code));
        }
        if flags & ALLDUPS != 0 {
            self.store_only(slot, dbi, &spot.key, value)?;
        } else {
            self.differs_if(spot.value != value, "MDB_CURRENT among many values")?;
            self.replace(slot, dbi, &spot, value)?;
        }
        let cursor = self.cursor_mut(at)?;
        cursor.place = Place::On(Spot { key: spot.key, value: value.to_vec() });
        cursor.is_given = false;
        cursor.eof = Some(false);
        Ok(Outcome::code(0))
    }

    /// Another value among many: it has its own place in their order.
    pub(super) fn replace(&mut self, slot: Slot, dbi: u32, spot: &Spot, value: &[u8]) -> Res<()> {
        if self.rules.compared {
            // LMDB writes it again.
            self.id = None;
        }
        let family = self.family(slot);
        let rows = self.rows_mut(slot, dbi)?;
        if spot.value != value {
            rows.remove(&spot.key, Some(&spot.value));
            rows.put(&spot.key, value);
            self.txn_mut(slot)?.changed = true;
        }
        for cursor in self.cursors.iter_mut().flatten() {
            if cursor.dbi == dbi && !cursor.closed && family.contains(&cursor.txn_uid) {
                let before = cursor.place.clone();
                cursor.place.replaced(&spot.key, &spot.value, value);
                cursor.is_given &= cursor.place == before;
            }
        }
        Ok(())
    }

    pub(super) fn cursor_put_many(
        &mut self,
        at: Slot,
        key: &[u8],
        values: &[Vec<u8>],
        flags: u32,
    ) -> Res<Outcome> {
        let none = values.iter().all(Vec::is_empty);
        self.differs_if(none, "none of several values")?;
        if none {
            return Err(Stop::Void);
        }
        let incompatible = Outcome { number: Some(0), ..Outcome::code(INCOMPATIBLE) };
        let (slot, dbi) = match self.usable(at, true)? {
            Ok(found) => found,
            Err(code) => {
                let over = self.cursors[at].as_ref().is_some_and(|cursor| cursor.closed);
                let number = Some(if over { values.len() as i64 } else { 0 });
                self.or(&[INCOMPATIBLE]);
                return Ok(Outcome { number, ..Outcome::code(code) });
            }
        };
        if !self.has_fixed(at) {
            return Ok(incompatible);
        }
        if flags & CURRENT != 0 {
            return Err(Stop::Void);
        }
        let rows = self.rows(slot, dbi)?.ok().ok_or(Stop::Void)?;
        let there = |value: &Vec<u8>| rows.values(key).is_some_and(|all| all.contains(value));
        let twice = |at: usize| values[..at].contains(&values[at]);
        let known = (0..values.len()).any(|at| there(&values[at]) || twice(at));
        self.differs_if(known, "several values, one of them there already")?;
        let (mut flags, mut doubt) = (flags, None);
        for (done, value) in values.iter().enumerate() {
            let stored = self.store(slot, dbi, key, value, flags)?;
            self.stand_after(at, (slot, dbi), key, value, (flags, &stored))?;
            if stored.code != 0 {
                let number = Some(done as i64);
                return Ok(Outcome { code: stored.code, number, ..Outcome::default() });
            }
            doubt = doubt.or(self.cursor_mut(at)?.doubt);
            // Whether the key may be there, or is the last, is asked once.
            flags &= !(NOOVERWRITE | APPEND | OF_ALL);
        }
        self.cursor_mut(at)?.doubt = doubt;
        Ok(Outcome::number(values.len() as i64))
    }

    /// Whether a cursor's table has many values of one length.
    fn has_fixed(&self, at: Slot) -> bool {
        let Some(cursor) = &self.cursors[at] else { return false };
        self.rows(cursor.txn, cursor.dbi).is_ok_and(|rows| rows.is_ok_and(|r| r.kind.is_fixed()))
    }
}
