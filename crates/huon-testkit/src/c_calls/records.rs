//! Records of the model.

use std::cmp::Ordering;

use super::model::{Model, Res, State, Stop};
use super::names::code::*;
use super::names::put::*;
use super::op::{Outcome, Slot};
use super::place::{Place, Went};
use super::rows::Rows;
use super::tables::{MAIN, NoTable};

/// What a put without a cursor may ask for.
pub(super) const PLAIN: u32 = NOOVERWRITE | NODUPDATA | RESERVE | APPEND | APPENDDUP;
/// What says something of all values of a key.
pub(super) const OF_ALL: u32 = CURRENT | ALLDUPS;

/// LMDB marks cursors that are at the end, or whose record is gone, and not all that makes such a
/// mark wrong takes it away.
pub(super) const END: &str = "a mark that LMDB leaves on a cursor";

/// What came of storing something.
pub(super) struct Stored {
    pub(super) code: i32,
    /// The value that is there already.
    pub(super) shown: Option<Vec<u8>>,
}

impl Stored {
    fn code(code: i32) -> Stored {
        Stored { code, shown: None }
    }
}

impl Model {
    pub(super) fn get(&mut self, slot: Slot, dbi: u32, key: &[u8]) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let [rests, reset] = self.unreadable(txn);
        let rows = self.rows(slot, dbi)?;
        let none = self.no_table(rows.as_ref().err().copied());
        if rows.is_err() {
            self.or(&[BAD_VALSIZE]);
        }
        let wrong = rows.as_ref().is_ok_and(|rows| !self.may_seek(rows, key));
        let refused = self.refusal(&[(wrong, BAD_VALSIZE), rests, reset, none])?;
        let (None, Ok(rows)) = (refused, rows) else {
            return Ok(Outcome::code(refused.unwrap_or(EINVAL)));
        };
        if !self.integer(rows, key)? {
            return Ok(Outcome::code(NOTFOUND));
        }
        Ok(match rows.values(key) {
            Some(values) => Outcome { value: Some(values[0].clone()), ..Outcome::default() },
            None => Outcome::code(NOTFOUND),
        })
    }

    /// Whether a key has a length that may be looked for: LMDB only refuses those of no bytes, and
    /// libmdbx all that could not be stored.
    pub(super) fn may_seek(&self, rows: &Rows, key: &[u8]) -> bool {
        match (self.rules.interface.is_mdbx(), rows.kind.has_integer_keys()) {
            (false, _) => !key.is_empty(),
            (true, true) => (4..=8).contains(&key.len()),
            (true, false) => self.rules.interface.key_bytes().contains(&key.len()),
        }
    }

    pub(super) fn get_counted(&mut self, slot: Slot, dbi: u32, key: &[u8]) -> Res<Outcome> {
        let outcome = self.get(slot, dbi, key)?;
        if outcome.code != 0 {
            return Ok(outcome);
        }
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let number = rows.values(key).map(|values| values.len() as i64);
        let found = rows.seek(key, None).map(|spot| spot.key);
        Ok(Outcome { key: found, number, ..outcome })
    }

    pub(super) fn get_near(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: &[u8],
    ) -> Res<Outcome> {
        let outcome = self.get(slot, dbi, key)?;
        if !matches!(outcome.code, 0 | NOTFOUND) {
            return Ok(outcome);
        }
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        if !self.integer(rows, key)? || !rows.value_fits(value.len()) {
            return Err(Stop::Void);
        }
        let many = rows.kind.has_many();
        let Some(found) = rows.seek(key, many.then_some(value)) else {
            return Ok(Outcome::code(NOTFOUND));
        };
        let is_same = rows.is_same(&found, key, many.then_some(value));
        let code = if is_same { 0 } else { RESULT_TRUE };
        let value = Some(rows.value_at(&found));
        Ok(Outcome { code, key: Some(found.key), value, number: None })
    }

    /// Integers of other lengths than the table's are misuse, which LMDB does not notice. True: it
    /// is none.
    pub(super) fn integer(&self, rows: &Rows, key: &[u8]) -> Res<bool> {
        let fits = rows.kind.integer_fits(rows.keys().next().map(Vec::len), key.len());
        self.differs_if(!fits, "integers of other lengths")?;
        Ok(fits)
    }

    pub(super) fn put(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Outcome> {
        let wrong = (self.is_no_put(flags), EINVAL);
        let refused = self.no_change(slot, dbi, wrong)?;
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        let stored = self.store(slot, dbi, key, value, flags)?;
        Ok(Outcome { code: stored.code, value: stored.shown, ..Outcome::default() })
    }

    /// Whether flags of a put are none, or say different things.
    pub(super) fn is_no_put(&self, flags: u32) -> bool {
        let both = flags & CURRENT != 0 && flags & (NOOVERWRITE | APPEND) != 0;
        if self.rules.interface.is_mdbx() {
            flags & !(PLAIN | OF_ALL) != 0 || both
        } else {
            flags & !PLAIN != 0
        }
    }

    /// Why nothing can be changed in a table.
    pub(super) fn no_change(&self, slot: Slot, dbi: u32, other: (bool, i32)) -> Res<Option<i32>> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Some(code)),
        };
        let [reads, rests] = Model::unwritable(txn);
        let reset = (txn.state == State::Reset, self.rules.interface.either(EINVAL, EACCES));
        let none = self.rows(slot, dbi)?.err();
        if none == Some(NoTable::Missing) {
            self.or(&[INCOMPATIBLE, BAD_VALSIZE]);
        }
        self.refusal(&[other, reads, rests, reset, self.no_table(none)])
    }

    /// Stores a record that may be refused for what it is.
    pub(super) fn store(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Stored> {
        let stored = self.try_store(slot, dbi, key, value, flags)?;
        if stored.code != 0 {
            // Something may have been made ready for it.
            self.id = None;
        }
        Ok(stored)
    }

    fn try_store(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Stored> {
        if let Some(code) = self.misfit(slot, dbi, key, value, flags)? {
            return Ok(Stored::code(code));
        }
        let txn = self.txn(slot)?;
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let there = rows.values(key);
        let name = dbi == MAIN && txn.data.is_name(key);
        let unwanted = name && flags & NOOVERWRITE != 0;
        self.differs_if(unwanted, "the name of a table, not to be put over")?;
        let both = flags & NOOVERWRITE != 0 && flags & APPEND != 0 && there.is_some();
        self.differs_if(both, "MDB_NOOVERWRITE with MDB_APPEND")?;
        if let (true, Some(there)) = (flags & NOOVERWRITE != 0 && !name, there) {
            return Ok(Stored { code: KEYEXIST, shown: Some(there[0].clone()) });
        }
        let kind = rows.kind;
        let order = self.rules.interface.order();
        if let (true, None) = (flags & CURRENT != 0, there) {
            return Ok(Stored::code(NOTFOUND));
        }
        let several = there.is_some_and(|there| there.len() > 1);
        if several && flags & OF_ALL == CURRENT {
            return Ok(Stored::code(EMULTIVAL));
        }
        let last = rows.edge(true);
        let against = last.map_or(Ordering::Greater, |last| kind.compare_keys(key, &last.key));
        // libmdbx takes the last key again, to append to its values.
        let again = self.rules.interface.is_mdbx() && flags & APPENDDUP != 0 && against.is_eq();
        if flags & APPEND != 0 && !against.is_gt() && !again {
            return Ok(Stored::code(order));
        }
        if name {
            return Ok(Stored::code(INCOMPATIBLE));
        }
        let last = there.and_then(|there| there.last());
        let behind = last.is_none_or(|last| kind.compare_values(value, last).is_gt());
        if kind.has_many() && flags & APPENDDUP != 0 && !behind {
            return Ok(Stored::code(order));
        }
        if kind.has_many() && flags & OF_ALL != 0 {
            self.store_only(slot, dbi, key, value)?;
            return Ok(Stored::code(0));
        }
        let is_new = self.rows_mut(slot, dbi)?.put(key, value);
        if self.rules.compared && !is_new {
            // LMDB writes it again.
            self.id = None;
        }
        self.recount(slot, dbi, key);
        self.txn_mut(slot)?.changed |= is_new || flags & RESERVE != 0;
        let refused = kind.has_many() && flags & NODUPDATA != 0 && !is_new;
        Ok(Stored::code(if refused { KEYEXIST } else { 0 }))
    }

    /// Stores a value in the place of all that a key has.
    pub(super) fn store_only(&mut self, slot: Slot, dbi: u32, key: &[u8], value: &[u8]) -> Res<()> {
        let rows = self.rows_mut(slot, dbi)?;
        let others = rows.values(key).is_some_and(|all| all.iter().any(|other| other != value));
        rows.remove(key, None);
        rows.put(key, value);
        self.txn_mut(slot)?.changed = true;
        if others { self.pass_on(slot, dbi, &Went::Key(key)) } else { Ok(()) }
    }

    /// Why a record does not fit into a table.
    pub(super) fn misfit(
        &self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: &[u8],
        flags: u32,
    ) -> Res<Option<i32>> {
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        let kind = rows.kind;
        let many = kind.has_many();
        self.differs_if(many && value.is_empty(), "an empty value among many")?;
        self.differs_if(many && flags & RESERVE != 0, "a place reserved among many")?;
        let lengths = self.rules.interface.key_bytes();
        let key_fits = lengths.contains(&key.len());
        let none = value.is_empty() && kind.is_fixed();
        let value_fits = !many || lengths.contains(&value.len()) && !none;
        let refused = self.refusal(&[(!key_fits || !value_fits, BAD_VALSIZE)])?;
        if many && flags & RESERVE != 0 {
            self.or(&[INCOMPATIBLE]);
        }
        if refused.is_some() {
            return Ok(refused);
        }
        self.integer(rows, key)?;
        if many && flags & RESERVE != 0 {
            return Ok(Some(INCOMPATIBLE));
        }
        let value_fits = rows.value_fits(value.len());
        self.differs_if(!value_fits, "values of other lengths")?;
        if !value_fits && flags & (APPEND | APPENDDUP | NOOVERWRITE | CURRENT) != 0 {
            // Which of the reasons counts is not said.
            return Err(Stop::Void);
        }
        let key_fits = kind.integer_fits(rows.keys().next().map(Vec::len), key.len());
        Ok((!key_fits || !value_fits).then_some(BAD_VALSIZE))
    }

    pub(super) fn del(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Res<Outcome> {
        let wrong = self.rows(slot, dbi)?.is_ok_and(|rows| !self.may_seek(rows, key));
        let empty = (wrong, BAD_VALSIZE);
        if let Some(code) = self.no_change(slot, dbi, empty)? {
            return Ok(Outcome::code(code));
        }
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        if !self.integer(rows, key)? {
            return Ok(Outcome::code(NOTFOUND));
        }
        let compares = self.rules.interface.is_mdbx() || rows.kind.has_many();
        let value = value.filter(|_| compares);
        let empty = value.is_some_and(<[u8]>::is_empty);
        self.differs_if(empty, "an empty value among many")?;
        let fits = value.is_none_or(|value| rows.value_fits(value.len()));
        self.differs_if(!fits, "values of other lengths")?;
        Ok(Outcome::code(self.remove(slot, dbi, key, value)?))
    }

    /// Removes what may not be there.
    pub(super) fn remove(
        &mut self,
        slot: Slot,
        dbi: u32,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Res<i32> {
        if dbi == MAIN && self.txn(slot)?.data.is_name(key) {
            if self.rules.interface.is_mdbx() {
                return Ok(if value.is_some() { NOTFOUND } else { INCOMPATIBLE });
            }
            self.txn_mut(slot)?.failed = true;
            return Ok(INCOMPATIBLE);
        }
        let rows = self.rows_mut(slot, dbi)?;
        if !rows.remove(key, value) {
            return Ok(NOTFOUND);
        }
        let went = match (value, rows.values(key)) {
            (Some(value), Some(_)) => Went::Value(key, value),
            _ => Went::Key(key),
        };
        self.txn_mut(slot)?.changed = true;
        self.recount(slot, dbi, key);
        self.pass_on(slot, dbi, &went)?;
        Ok(0)
    }

    pub(super) fn many(
        &mut self,
        slot: Slot,
        dbi: u32,
        pairs: &[(Vec<u8>, Vec<u8>)],
        delete: bool,
    ) -> Res<Outcome> {
        let mut done = 0;
        for (key, value) in pairs {
            let one = if delete {
                self.del(slot, dbi, key, Some(value))?
            } else {
                self.put(slot, dbi, key, value, 0)?
            };
            done += i64::from(one.code == 0);
        }
        Ok(Outcome::number(done))
    }

    /// The number of a key's values changes, which LMDB's cursors do not learn.
    fn recount(&mut self, slot: Slot, dbi: u32, key: &[u8]) {
        let family = self.family(slot);
        let rows = self.rows(slot, dbi).ok().and_then(Result::ok);
        let kind = rows.map(|rows| rows.kind).unwrap_or_default();
        let compared = self.rules.compared;
        let many = kind.has_many() && compared;
        for cursor in self.cursors.iter_mut().flatten() {
            let there = cursor.place.near().is_some_and(|spot| spot.key == key);
            if cursor.dbi == dbi && family.contains(&cursor.txn_uid) && there {
                cursor.counted = true;
            }
            if many && cursor.dbi == dbi && family.contains(&cursor.txn_uid) {
                cursor.doubt = Some("another's change in a table with many values");
            }
            let near = cursor.place.near().map(|spot| kind.compare_keys(key, &spot.key));
            let behind = compared && cursor.at_end && near.is_none_or(|order| order.is_gt());
            if behind && cursor.dbi == dbi && family.contains(&cursor.txn_uid) {
                cursor.doubt = Some(END);
            }
        }
    }

    /// Tells the cursors of a table what was deleted.
    pub(super) fn pass_on(&mut self, slot: Slot, dbi: u32, went: &Went<'_>) -> Res<()> {
        let family = self.family(slot);
        let name = self.name_of(slot, dbi);
        let txn = self.txns[slot].as_ref().ok_or(Stop::Void)?;
        let rows = txn.data.rows(&name).ok_or(Stop::Void)?;
        for cursor in self.cursors.iter_mut().flatten() {
            if cursor.dbi == dbi && !cursor.closed && family.contains(&cursor.txn_uid) {
                if rows.is_empty() && self.rules.compared && cursor.place != Place::Unset {
                    (cursor.doubt, cursor.at_end) = (Some(END), true);
                }
                let before = cursor.place.clone();
                cursor.place.leave(rows, went);
                if cursor.place != before {
                    let is_out = matches!(cursor.place, Place::Unset | Place::Emptied(_));
                    cursor.eof = is_out.then_some(true);
                    cursor.is_given = false;
                }
                cursor.at_end |= matches!(cursor.place, Place::Marked { next: None, .. });
                let marked = matches!(cursor.place, Place::Marked { .. });
                if self.rules.compared && cursor.at_end && marked {
                    cursor.doubt = Some(END);
                }
            }
        }
        Ok(())
    }

    /// The cursors of a table, or all (0), stand nowhere.
    pub(super) fn unset_cursors(&mut self, slot: Slot, dbi: u32) {
        let family = self.family(slot);
        for cursor in self.cursors.iter_mut().flatten() {
            if (cursor.dbi == dbi || dbi == 0) && family.contains(&cursor.txn_uid) {
                if self.rules.compared && cursor.place != Place::Unset {
                    cursor.doubt = Some(END);
                }
                (cursor.place, cursor.eof) = (Place::Unset, Some(true));
            }
        }
    }
}
