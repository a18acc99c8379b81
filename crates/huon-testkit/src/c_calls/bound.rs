//! What cursors of libmdbx's interface belong to, and other calls that LMDB does not have.

use super::model::{Cursor, Model, Res, State, Stop};
use super::names::code::*;
use super::names::put::*;
use super::op::{End, Op, Outcome, Slot};
use super::place::Place;
use super::records::OF_ALL;
use super::rows::Spot;
use super::tables::{MAIN, NoTable};

/// What a replacement may ask for.
const REPLACES: u32 = NOOVERWRITE | NODUPDATA | OF_ALL | RESERVE | APPEND | APPENDDUP;
/// The caller names one of many values.
const BY_VALUE: u32 = CURRENT | NOOVERWRITE;

impl Model {
    /// Whether a cursor belongs to no transaction, or to one that is over.
    pub(super) fn is_left(&self, cursor: &Cursor) -> bool {
        let txn = self.txns[cursor.txn].as_ref();
        let lives = |uid, state| uid == cursor.txn_uid && state != State::Ended;
        cursor.txn_uid == 0 || !txn.is_some_and(|txn| lives(txn.uid, txn.state))
    }

    /// A call that only libmdbx has for cursors.
    pub(super) fn bound_call(&mut self, op: &Op) -> Res<Outcome> {
        match op {
            Op::CursorBind { txn, dbi, cursor } => self.cursor_bind(*txn, *dbi, *cursor),
            Op::CursorUnbind { cursor } => self.cursor_unbind(*cursor),
            Op::CursorReset { cursor } => self.cursor_reset(*cursor),
            Op::CursorCopy { from, to } => self.cursor_copy(*from, *to),
            Op::CursorIs { cursor, at } => self.cursor_is(*cursor, *at),
            _ => Err(Stop::Void),
        }
    }

    /// Makes a cursor one of a table and a transaction; it is made first, if there is none.
    fn cursor_bind(&mut self, slot: Slot, dbi: u32, at: Slot) -> Res<Outcome> {
        self.txn(slot)?;
        if dbi == 0 {
            return Err(Stop::Void);
        }
        if self.cursors[at].as_ref().is_none_or(|cursor| cursor.closed) {
            let uid = self.uid();
            self.cursors[at] = Some(Cursor { handle: 0, ..self.new_cursor(uid, (0, 0), dbi) });
        }
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let [rests, reset] = self.unreadable(txn);
        let uid = txn.uid;
        let none = self.rows(slot, dbi)?.err().filter(|&why| why != NoTable::Missing);
        if let Some(code) = self.refusal(&[rests, reset, self.no_table(none)])? {
            return Ok(Outcome::code(code));
        }
        let known = self.cursors[at].as_ref().ok_or(Stop::Void)?.uid;
        self.cursors[at] = Some(self.new_cursor(known, (slot, uid), dbi));
        Ok(Outcome::code(0))
    }

    pub(super) fn cursor_bind_again(&mut self, slot: Slot, at: Slot) -> Res<Outcome> {
        self.txn(slot)?;
        let cursor = match self.cursor(at)? {
            Ok(cursor) => cursor,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let (dbi, unbound) = (cursor.dbi, cursor.txn_uid == 0);
        match self.not_ended(slot)? {
            Ok(_) if unbound => Ok(Outcome::code(BAD_DBI)),
            Ok(_) => self.cursor_bind(slot, dbi, at),
            Err(code) => Ok(Outcome::code(code)),
        }
    }

    fn cursor_unbind(&mut self, at: Slot) -> Res<Outcome> {
        if let Err(code) = self.cursor(at)? {
            return Ok(Outcome::code(code));
        }
        self.cursor_mut(at)?.txn_uid = 0;
        Ok(Outcome::code(0))
    }

    fn cursor_reset(&mut self, at: Slot) -> Res<Outcome> {
        match self.cursor(at)? {
            Ok(cursor) if cursor.txn_uid == 0 => return Ok(Outcome::code(EINVAL)),
            Ok(_) => {}
            Err(code) => return Ok(Outcome::code(code)),
        }
        let cursor = self.cursor_mut(at)?;
        (cursor.place, cursor.eof) = (Place::Unset, Some(true));
        Ok(Outcome::code(0))
    }

    fn cursor_copy(&mut self, from: Slot, to: Slot) -> Res<Outcome> {
        self.cursors[from].as_ref().ok_or(Stop::Void)?;
        let own = match self.cursor(to)? {
            Ok(own) => own.uid,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let source = match self.cursor(from)? {
            Ok(source) if self.is_left(source) => return Ok(Outcome::code(EINVAL)),
            Ok(source) => source.clone(),
            Err(code) => return Ok(Outcome::code(code)),
        };
        let txn = self.txn(source.txn)?;
        let reset = (txn.state == State::Reset, EINVAL);
        let rests = (txn.failed || txn.child.is_some(), BAD_TXN);
        if let Some(code) = self.refusal(&[rests, reset])? {
            return Ok(Outcome::code(code));
        }
        self.cursors[to] = Some(Cursor { uid: own, ..source });
        Ok(Outcome::code(0))
    }

    /// Whether a cursor stands at an end of its table, or of its key.
    fn cursor_is(&mut self, at: Slot, end: End) -> Res<Outcome> {
        let (slot, dbi) = match self.usable(at, false)? {
            Ok(found) => found,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        if cursor.stale {
            return Err(Stop::Void);
        }
        let is = match (end, &cursor.place) {
            (End::Eof, _) => cursor.eof.ok_or(Stop::Void)?,
            (End::First | End::Last, Place::On(spot)) => {
                rows.beside_key(&spot.key, end == End::Last).is_none()
            }
            (End::FirstDup | End::LastDup, Place::On(spot)) => {
                let edge = rows.edge_of(&spot.key, end == End::LastDup);
                !rows.kind.has_many() || edge.as_ref() == Some(spot)
            }
            // What is said of a cursor that stands on no record is for tests of its own.
            _ => return Err(Stop::Void),
        };
        Ok(Outcome::code(if is { RESULT_TRUE } else { 0 }))
    }

    /// Puts several values of one length.
    pub(super) fn put_many(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        values: &[Vec<u8>],
        flags: u32,
    ) -> Res<Outcome> {
        if values.iter().all(Vec::is_empty) || flags & CURRENT != 0 {
            return Err(Stop::Void);
        }
        let all = values.len() as i64;
        if let Err(code) = self.not_ended(slot)? {
            return Ok(Outcome { number: Some(all), ..Outcome::code(code) });
        }
        let fixed = self.rows(slot, dbi)?.is_ok_and(|rows| rows.kind.is_fixed());
        let other = (!fixed, INCOMPATIBLE);
        if let Some(code) = self.no_change(slot, dbi, other)? {
            return Ok(Outcome { number: Some(0), ..Outcome::code(code) });
        }
        let mut flags = flags;
        for (done, value) in values.iter().enumerate() {
            let stored = self.store(slot, dbi, key, value, flags)?;
            if stored.code != 0 {
                return Ok(Outcome { number: Some(done as i64), ..Outcome::code(stored.code) });
            }
            flags &= !(NOOVERWRITE | APPEND | OF_ALL);
        }
        Ok(Outcome::number(all))
    }

    /// Another value, or none, for one that is there.
    pub(super) fn replace_record(
        &mut self,
        (slot, dbi): (Slot, u32),
        key: &[u8],
        old: &[u8],
        new: Option<&[u8]>,
        flags: u32,
    ) -> Res<Outcome> {
        let wrong = flags & !REPLACES != 0 || new.is_none() && flags & CURRENT == 0;
        if self.rows(slot, dbi)?.is_err() {
            // The record to be replaced is looked up first.
            self.or(&[EINVAL, NOTFOUND, BAD_VALSIZE]);
        }
        if let Some(code) = self.no_change(slot, dbi, (wrong, EINVAL))? {
            return Ok(Outcome::code(code));
        }
        let by_value = flags & BY_VALUE == BY_VALUE;
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let many = rows.kind.has_many();
        let unfit = by_value && !rows.value_fits(old.len()) || !self.integer(rows, key)?;
        let is_name = dbi == MAIN && self.txn(slot)?.data.is_name(key);
        let spill = new.is_some_and(|new| !many && new.len() > 2 * 4096 && flags & RESERVE != 0);
        if unfit && self.may_seek(rows, key) || is_name || spill {
            // Which of the reasons counts is not said.
            return Err(Stop::Void);
        }
        let there = rows.values(key).map(<[_]>::to_vec);
        let has = by_value && there.as_ref().is_some_and(|all| all.iter().any(|v| v == old));
        let code = match &there {
            _ if !many && by_value => EINVAL,
            _ if !self.may_seek(rows, key) => BAD_VALSIZE,
            _ if by_value && !has => NOTFOUND,
            None if flags & CURRENT != 0 => NOTFOUND,
            Some(all) if flags & BY_VALUE == CURRENT && all.len() > 1 => EMULTIVAL,
            Some(_) if flags & BY_VALUE == NOOVERWRITE => KEYEXIST,
            _ => 0,
        };
        let shown = match &there {
            Some(_) if by_value => Some(old.to_vec()),
            Some(all) => Some(all[0].clone()),
            None => Some(Vec::new()),
        };
        if code != 0 {
            let value = shown.filter(|_| code == KEYEXIST);
            return Ok(Outcome { code, value, ..Outcome::default() });
        }
        let spot = there.map(|all| {
            let value = if by_value { old.to_vec() } else { all[0].clone() };
            Spot { key: key.to_vec(), value: if many { value } else { Vec::new() } }
        });
        let code = self.put_in_place((slot, dbi), key, spot, new, flags)?;
        self.note("a record replaced");
        Ok(Outcome { code, value: shown.filter(|_| code == 0), ..Outcome::default() })
    }

    /// What comes of a replacement, as a code.
    fn put_in_place(
        &mut self,
        (slot, dbi): (Slot, u32),
        key: &[u8],
        spot: Option<Spot>,
        new: Option<&[u8]>,
        flags: u32,
    ) -> Res<i32> {
        let many = self.rows(slot, dbi)?.is_ok_and(|rows| rows.kind.has_many());
        let of_all = flags & ALLDUPS != 0;
        match (spot, new) {
            (None, None) => Err(Stop::Void),
            (None, Some(new)) => Ok(self.store(slot, dbi, key, new, flags)?.code),
            (Some(spot), None) => {
                let value = (many && !of_all).then_some(&spot.value[..]);
                self.remove(slot, dbi, &spot.key, value)
            }
            (Some(spot), Some(new)) if many => {
                if let Some(code) = self.misfit(slot, dbi, &spot.key, new, flags & RESERVE)? {
                    return Ok(code);
                }
                if of_all {
                    self.store_only(slot, dbi, &spot.key, new)?;
                } else {
                    self.replace(slot, dbi, &spot, new)?;
                }
                Ok(0)
            }
            (Some(_), Some(new)) => Ok(self.store(slot, dbi, key, new, flags & RESERVE)?.code),
        }
    }
}
