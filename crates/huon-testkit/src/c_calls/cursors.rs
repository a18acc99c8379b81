//! Cursors of the model.

use super::model::{Cursor, Model, Res, State, Stop};
use super::names::code::*;
use super::names::go::*;
use super::op::{CURSORS, Outcome, Slot};
use super::place::Place;
use super::records::END;
use super::rows::{Kind, Rows, Spot};
use super::tables::NoTable;

/// A table with less in it has a single page.
pub(super) const PAGE_BYTES_MIN: usize = 1500;

impl Model {
    pub(super) fn cursor_open(&mut self, slot: Slot, dbi: u32, at: Slot) -> Res<Outcome> {
        if self.cursors[at].as_ref().is_some_and(|cursor| !cursor.closed) {
            return Err(Stop::Void);
        }
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let [rests, reset] = self.unreadable(txn);
        let txn_uid = txn.uid;
        let none = self.rows(slot, dbi)?.err().filter(|&why| why != NoTable::Missing);
        if let Some(code) = self.refusal(&[rests, reset, self.no_table(none)])? {
            return Ok(Outcome::code(code));
        }
        let uid = self.uid();
        self.cursors[at] = Some(self.new_cursor(uid, (slot, txn_uid), dbi));
        Ok(Outcome::code(0))
    }

    pub(super) fn new_cursor(&self, uid: u64, (txn, txn_uid): (Slot, u64), dbi: u32) -> Cursor {
        Cursor {
            uid,
            txn,
            txn_uid,
            writes: self.txns[txn].as_ref().is_some_and(|txn| txn.writes),
            dbi,
            handle: self.handle_uid(txn, dbi),
            place: Place::Unset,
            closed: false,
            doubt: None,
            counted: false,
            is_given: false,
            at_end: false,
            eof: Some(true),
            stale: false,
        }
    }

    pub(super) fn cursor_close(&mut self, at: Slot) -> Res<Outcome> {
        let cursor = self.cursors[at % CURSORS].as_mut().ok_or(Stop::Void)?;
        if std::mem::replace(&mut cursor.closed, true) {
            self.differs("a handle that is over")?;
        }
        Ok(Outcome::code(0))
    }

    /// A cursor whose transaction may be over; the code says why there is none.
    pub(super) fn cursor(&self, at: Slot) -> Res<Result<&Cursor, i32>> {
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        if cursor.closed {
            let over = self.rules.interface.over();
            return self.differs("a handle that is over").map(|()| Err(over));
        }
        Ok(Ok(cursor))
    }

    pub(super) fn cursor_mut(&mut self, at: Slot) -> Res<&mut Cursor> {
        self.cursors[at].as_mut().ok_or(Stop::Void)
    }

    pub(super) fn cursor_renew(&mut self, slot: Slot, at: Slot) -> Res<Outcome> {
        if self.rules.interface.is_mdbx() {
            return self.cursor_bind_again(slot, at);
        }
        let cursor = match self.cursor(at)? {
            Ok(cursor) => cursor,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let old = self.txns[cursor.txn].as_ref();
        let of_writer = old.is_some_and(|old| old.uid == cursor.txn_uid && old.writes);
        let other = cursor.handle != self.handle_uid(cursor.txn, cursor.dbi);
        self.differs_if(other, "a cursor of a table that was closed")?;
        let reset = txn.state == State::Reset;
        let txn_uid = txn.uid;
        let refused = self.refusal(&[(txn.writes || of_writer || reset || other, EINVAL)])?;
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        if let Err(NoTable::Closed) = self.rows(slot, cursor.dbi)? {
            return Ok(Outcome::code(self.rules.interface.closed()));
        }
        let cursor = self.cursor_mut(at)?;
        (cursor.txn, cursor.txn_uid, cursor.place) = (slot, txn_uid, Place::Unset);
        (cursor.doubt, cursor.stale, cursor.at_end) = (None, false, false);
        Ok(Outcome::code(0))
    }

    pub(super) fn cursor_of(&mut self, at: Slot) -> Res<Outcome> {
        let is_mdbx = self.rules.interface.is_mdbx();
        // libmdbx has a number for no table.
        let none = Ok(Outcome::number(if is_mdbx { u32::MAX.into() } else { 0 }));
        let Ok(cursor) = self.cursor(at)? else { return none };
        if is_mdbx && self.is_left(cursor) {
            return none;
        }
        let txn = self.txn(cursor.txn)?;
        if txn.uid != cursor.txn_uid || txn.state == State::Ended || txn.child.is_some() {
            return Err(Stop::Void);
        }
        Ok(Outcome::number((cursor.txn as i64 + 1) * 1000 + i64::from(cursor.dbi)))
    }

    /// Why a cursor cannot be used; else the slot of its transaction, and its table.
    pub(super) fn usable(&self, at: Slot, changes: bool) -> Res<Result<(Slot, u32), i32>> {
        let cursor = match self.cursor(at)? {
            Ok(cursor) => cursor,
            Err(code) => return Ok(Err(code)),
        };
        if cursor.txn_uid == 0 {
            return Ok(Err(EINVAL));
        }
        let txn = self.txns[cursor.txn].as_ref().ok_or(Stop::Void)?;
        if self.rules.interface.is_mdbx() && self.is_left(cursor) {
            // A reader's may be told that it cannot write, first.
            self.or(&[EACCES, BAD_DBI, BAD_TXN]);
            return Ok(Err(EINVAL));
        }
        if txn.uid != cursor.txn_uid || txn.state == State::Ended {
            // Of a read transaction: it waits to be renewed.
            self.differs("a cursor whose transaction is over")?;
            if cursor.handle != self.handle_uid(cursor.txn, cursor.dbi) {
                return Err(Stop::Void);
            }
            return Ok(Err(if changes { EACCES } else { BAD_TXN }));
        }
        self.differs_if(txn.child.is_some(), "a cursor of a transaction that has a child")?;
        self.differs_if(cursor.stale, "a cursor of a transaction that was renewed")?;
        let reset = txn.state == State::Reset;
        let [rests, _] = self.unreadable(txn);
        let none = if cursor.handle == self.handle_uid(cursor.txn, cursor.dbi) {
            self.rows(cursor.txn, cursor.dbi)?.err()
        } else {
            Some(NoTable::Closed)
        };
        self.differs_if(none.is_some(), "a cursor of a table that was closed")?;
        if none == Some(NoTable::Missing) {
            // Which of the reasons counts is not said.
            return Err(Stop::Void);
        }
        let reads = (changes && !txn.writes, EACCES);
        let reset = (reset, self.rules.interface.either(BAD_TXN, EINVAL));
        let reasons = [reads, rests, reset, self.no_table(none)];
        Ok(self.refusal(&reasons)?.map_or(Ok((cursor.txn, cursor.dbi)), Err))
    }

    /// Where a cursor stands whose transaction shows something else now is not said.
    fn fresh(&self, at: Slot) -> Res<()> {
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        if cursor.stale { Err(Stop::Void) } else { Ok(()) }
    }

    /// The same for a call that relies on the cursor's place.
    pub(super) fn doubted(&self, at: Slot) -> Res<()> {
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        cursor.doubt.map_or(Ok(()), |rule| self.differs(rule))
    }

    pub(super) fn cursor_get(
        &mut self,
        at: Slot,
        op: u32,
        key: &[u8],
        value: &[u8],
    ) -> Res<Outcome> {
        let usable = self.usable(at, false)?;
        let interface = self.rules.interface;
        if op > interface.either(PREV_MULTIPLE, SET_UPPERBOUND) {
            self.differs_if(usable.is_err(), "more than one thing is wrong")?;
            self.doubted(at)?;
            let marked = matches!(self.cursor_mut(at)?.place, Place::Marked { .. });
            self.differs_if(marked, "a mark that a refused look takes away")?;
            return Ok(Outcome::code(EINVAL));
        }
        if usable.is_err() {
            self.or(&[INCOMPATIBLE]);
        }
        let (slot, dbi) = match usable {
            Ok(found) => found,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        if !(is_anew(op) || matches!(op, GET_BOTH | GET_BOTH_RANGE) && rows.kind.has_many()) {
            self.doubted(at)?;
            self.fresh(at)?;
        }
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        let (before, was_given) = (cursor.place.clone(), cursor.is_given);
        let nowhere = op == PREV_DUP && matches!(before, Place::Unset | Place::Marked { .. });
        self.differs_if(nowhere, "MDB_PREV_DUP of a cursor without a record")?;
        let back = matches!(op, PREV | PREV_NODUP) && !matches!(before, Place::On(_));
        let many = rows.kind.has_many();
        self.differs_before(36, back && many, "a step back from nowhere among many values")?;
        if let Some(code) = self.no_way(rows.kind, op, &before)? {
            return Ok(Outcome::code(code));
        }
        let mut place = before.clone();
        // From nowhere libmdbx takes any step back to the last record.
        let back = op == PREV_DUP && before == Place::Unset && interface.is_mdbx();
        let op = if back { PREV } else { op };
        let went = self.look(rows, op, (key, value), (&mut place, was_given))?;
        let other = op == SET_LOWERBOUND
            && went.as_ref().is_ok_and(|(_, spot)| {
                !rows.is_same(spot, key, rows.kind.has_many().then_some(value))
            });
        let error = went.as_ref().err().copied();
        let doubt = self.doubt_after(rows, op, error.is_some(), &before);
        self.arrive(at, op, error, [&before, &place], doubt)?;
        self.note_place(&before);
        Ok(match went {
            Ok((value, Spot { key, .. })) => {
                let key = shows_key(op).then_some(key);
                let code = if other { RESULT_TRUE } else { 0 };
                Outcome { code, key, value: Some(value), number: None }
            }
            Err(code) => Outcome::code(interface.either(code, code_of_mdbx(op, code))),
        })
    }

    /// What a look has made of a cursor, and of what is known about it.
    fn arrive(
        &mut self,
        at: Slot,
        op: u32,
        error: Option<i32>,
        [before, place]: [&Place; 2],
        doubt: Option<&'static str>,
    ) -> Res<()> {
        let several = matches!(op, GET_MULTIPLE | NEXT_MULTIPLE | PREV_MULTIPLE);
        let anew = is_anew(op);
        // A search begins anew, even one that fails and ends where the cursor was.
        let searched =
            (anew || matches!(op, GET_BOTH | GET_BOTH_RANGE)) && error != Some(BAD_VALSIZE);
        let stays = place == before && (error.is_some() || op == GET_CURRENT) && !searched;
        let eof = end_after(op, error.as_ref(), before, place);
        let cursor = self.cursor_mut(at)?;
        cursor.is_given = several && error.is_none() || cursor.is_given && stays;
        cursor.place = place.clone();
        cursor.eof = eof.or(cursor.eof.filter(|_| op == GET_CURRENT));
        cursor.stale &= error.is_some();
        cursor.counted &= !(anew && error.is_none());
        cursor.at_end = op == LAST || error.is_some() && (cursor.at_end || !back_or_at(op));
        if error.is_none() || anew && error != Some(BAD_VALSIZE) || doubt.is_some() {
            cursor.doubt = doubt;
        }
        Ok(())
    }

    fn note_place(&mut self, place: &Place) {
        match place {
            Place::Marked { .. } => self.note("a mark"),
            Place::ValuesEnd(_) => self.note("behind the last value of a key"),
            Place::Between(_) => self.note("where a key would be"),
            Place::Emptied(_) => self.note("in a table that was emptied"),
            _ => {}
        }
    }

    /// Moves a cursor, and says what it shows there.
    fn look(
        &self,
        rows: &Rows,
        op: u32,
        (key, value): (&[u8], &[u8]),
        (place, is_given): (&mut Place, bool),
    ) -> Res<Result<(Vec<u8>, Spot), i32>> {
        Ok(match op {
            SET_UPPERBOUND | SET_LOWERBOUND | SET | SET_KEY | SET_RANGE | GET_BOTH
            | GET_BOTH_RANGE => {
                if !self.may_seek(rows, key) {
                    place.unmark();
                    return Ok(Err(BAD_VALSIZE));
                }
                if !self.integer(rows, key)? {
                    return Err(Stop::Void);
                }
                let bound = matches!(op, SET_LOWERBOUND | SET_UPPERBOUND);
                let pair = bound && rows.kind.has_many() || matches!(op, GET_BOTH | GET_BOTH_RANGE);
                if pair && bound && !rows.value_fits(value.len()) {
                    return Err(Stop::Void);
                }
                self.differs_if(pair && value.is_empty(), "an empty value among many")?;
                let fits = !pair || rows.value_fits(value.len());
                self.differs_if(!fits, "values of other lengths")?;
                place.seek(rows, op, key, value).map(|spot| (rows.value_at(&spot), spot))
            }
            GET_MULTIPLE | NEXT_MULTIPLE | PREV_MULTIPLE => {
                self.pages_count(rows, op, place, is_given)?;
                place.several(rows, op, is_given).map(|(spot, values)| (values, spot))
            }
            _ => place.go(rows, op).map(|spot| (rows.value_at(&spot), spot)),
        })
    }

    /// Why a table has no answer to an operation.
    fn no_way(&self, kind: Kind, op: u32, place: &Place) -> Res<Option<i32>> {
        let dup = matches!(op, FIRST_DUP | LAST_DUP | GET_BOTH | GET_BOTH_RANGE);
        let several = matches!(op, GET_MULTIPLE | NEXT_MULTIPLE | PREV_MULTIPLE);
        let unset = *place == Place::Unset && matches!(op, FIRST_DUP | LAST_DUP | GET_MULTIPLE);
        let unfit = dup && !kind.has_many() || several && !kind.is_fixed();
        let marked = unfit && matches!(place, Place::Marked { .. });
        self.differs_if(marked, "a mark that a refused look takes away")?;
        self.refusal(&[(unfit, INCOMPATIBLE), (unfit && unset, EINVAL)])
    }

    /// LMDB gives whole pages of values.
    fn pages_count(&self, rows: &Rows, op: u32, place: &Place, is_given: bool) -> Res<()> {
        let whole = match place {
            Place::On(spot) => {
                let values = rows.values(&spot.key).unwrap_or_default();
                let bytes: usize = values.iter().map(Vec::len).sum();
                let at_first = values.first().is_some_and(|first| *first == spot.value);
                let at_last = values.last().is_some_and(|last| *last == spot.value);
                values.len() > 1
                    && bytes < 400
                    && match op {
                        GET_MULTIPLE => at_first,
                        NEXT_MULTIPLE => at_last || at_first && !is_given,
                        _ => false,
                    }
            }
            _ => false,
        };
        self.differs_if(!whole, "several values at once, not from the first to the last")
    }

    /// What LMDB may have made of a look at a cursor.
    fn doubt_after(
        &self,
        rows: &Rows,
        op: u32,
        failed: bool,
        before: &Place,
    ) -> Option<&'static str> {
        if !self.rules.compared {
            return None;
        }
        let many = rows.kind.has_many();
        let anew = matches!(op, FIRST | LAST | SET | SET_KEY | SET_RANGE);
        let marked = matches!(before, Place::Marked { .. } | Place::ValuesEnd(_));
        let clears = matches!(op, NEXT | PREV | GET_CURRENT) && !failed;
        match op {
            LAST if !failed && many && self.rules.patch < 36 => Some(END),
            GET_BOTH | GET_BOTH_RANGE | SET | SET_KEY | SET_RANGE if failed && many => {
                Some("a search that failed among many values")
            }
            NEXT | NEXT_NODUP if failed && many => Some(END),
            SET | SET_KEY | SET_RANGE if failed && rows.bytes() > PAGE_BYTES_MIN => {
                Some("a search that failed at the end of a page")
            }
            _ if many && marked && !clears && !anew => Some(END),
            _ => None,
        }
    }

    pub(super) fn cursor_count(&mut self, at: Slot) -> Res<Outcome> {
        let (slot, dbi) = match self.usable(at, false)? {
            Ok(found) => found,
            Err(code) => {
                self.differs("more than one thing is wrong")?;
                self.or(&[INCOMPATIBLE]);
                return Ok(Outcome::code(code));
            }
        };
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        if !rows.kind.has_many() && !self.rules.interface.is_mdbx() {
            return Ok(Outcome::code(INCOMPATIBLE));
        }
        self.doubted(at)?;
        self.fresh(at)?;
        let cursor = self.cursors[at].as_ref().ok_or(Stop::Void)?;
        self.differs_if(cursor.counted, "a count that another's change has left behind")?;
        let place = &cursor.place;
        Ok(match place.near() {
            _ if place.is_nowhere() => Outcome::code(EINVAL),
            Some(_) if !rows.kind.has_many() => Outcome::number(1),
            None => Outcome::code(NOTFOUND),
            Some(spot) => Outcome::number(rows.values(&spot.key).map_or(0, <[_]>::len) as i64),
        })
    }
}

/// Whether an operation shows the key; others were given it.
fn shows_key(op: u32) -> bool {
    matches!(op, FIRST | LAST | GET_CURRENT | SET_KEY | SET_RANGE)
        || matches!(op, SET_LOWERBOUND | SET_UPPERBOUND)
        || matches!(op, NEXT | NEXT_DUP | NEXT_NODUP | PREV | PREV_DUP | PREV_NODUP)
}

/// What libmdbx says of a cursor that stands on no record.
fn code_of_mdbx(op: u32, code: i32) -> i32 {
    match (op, code) {
        (GET_CURRENT, NOTFOUND | EINVAL) => ENODATA,
        (NEXT_DUP | PREV_DUP | NEXT_MULTIPLE | PREV_MULTIPLE, EINVAL) => ENODATA,
        _ => code,
    }
}

/// Whether a cursor says that it is at the end, after a step; `None`: as the step found it.
fn end_after(op: u32, error: Option<&i32>, before: &Place, place: &Place) -> Option<bool> {
    let is_last = matches!(place, Place::Marked { next: None, .. });
    match (op, error) {
        _ if matches!(place, Place::Unset | Place::Emptied(_)) => Some(true),
        (LAST, None) => Some(true),
        (FIRST | NEXT | PREV | SET | SET_KEY | SET_RANGE | SET_LOWERBOUND, None) => Some(false),
        (NEXT, Some(_)) if matches!(before, Place::On(_)) => Some(true),
        (SET | SET_KEY | SET_RANGE, Some(&NOTFOUND)) if is_last => Some(true),
        _ => None,
    }
}

/// Whether an operation does not go from where the cursor stands.
fn is_anew(op: u32) -> bool {
    matches!(op, SET | SET_KEY | SET_RANGE | SET_LOWERBOUND | SET_UPPERBOUND | FIRST | LAST)
}

/// Whether an operation that fails leaves no mark of the end.
fn back_or_at(op: u32) -> bool {
    matches!(op, PREV | PREV_DUP | PREV_NODUP | GET_CURRENT | FIRST | FIRST_DUP | LAST_DUP)
}
