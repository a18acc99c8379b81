//! Open tables of the model.

use super::model::{Cursor, Handle, Model, Res, State, Stop, Txn};
use super::names::code::*;
use super::names::kind::*;
use super::op::{Outcome, Slot};
use super::place::Went;
use super::rows::{Kind, Rows};

/// The handle of the main table.
pub(super) const MAIN: u32 = 1;
/// The first one of others.
const NAMED: usize = 2;
/// The longest key.
pub(super) const KEY_BYTES_MAX: usize = 511;

/// The flags that mean something.
fn meaning(flags: u32) -> u32 {
    let ignored = if flags & DUPSORT == 0 { DUPFIXED | INTEGERDUP | REVERSEDUP } else { 0 };
    let implied = if flags & DUPSORT != 0 && flags & INTEGERDUP != 0 { DUPFIXED } else { 0 };
    flags & ALL & !ignored | implied
}

impl Model {
    /// The name of a table that a transaction may use; `None`: the handle is none.
    pub(super) fn named(&self, slot: Slot, dbi: u32) -> Res<Option<&Handle>> {
        let found = self.handles.get(dbi as usize).and_then(Option::as_ref);
        let family = self.family(slot);
        let Some(handle) = found else { return Ok(None) };
        let began = self.txn(slot)?.began;
        let late = handle.since > began && !family.contains(&handle.owner);
        let known = handle.owner == 0 || family.contains(&handle.owner);
        self.differs_if(late, "a table opened after the transaction began")?;
        Ok(known.then_some(handle))
    }

    /// Its records, as the transaction shows them; the code says why there are none.
    pub(super) fn rows(&self, slot: Slot, dbi: u32) -> Res<Result<&Rows, i32>> {
        self.differs_if(dbi == 0, "the handle of LMDB's free pages")?;
        if dbi == MAIN {
            self.differs_if(!self.main_is_known, "the main table before a table was opened")?;
            return Ok(Ok(self.txn(slot)?.data.rows(b"").ok_or(Stop::Void)?));
        }
        let Some(handle) = self.named(slot, dbi)? else { return Ok(Err(EINVAL)) };
        let rows = self.txn(slot)?.data.rows(&handle.name);
        self.differs_if(rows.is_none(), "a table that is not in the snapshot")?;
        if rows.is_none() {
            // Its name may be a record now.
            self.or(&[INCOMPATIBLE]);
        }
        Ok(rows.ok_or(BAD_DBI))
    }

    pub(super) fn name_of(&self, dbi: u32) -> Vec<u8> {
        let handle = self.handles.get(dbi as usize).and_then(Option::as_ref);
        handle.map(|handle| handle.name.clone()).unwrap_or_default()
    }

    pub(super) fn rows_mut(&mut self, slot: Slot, dbi: u32) -> Res<&mut Rows> {
        let name = self.name_of(dbi);
        self.txn_mut(slot)?.data.rows_mut(&name).ok_or(Stop::Void)
    }

    /// What a cursor's handle is known by.
    pub(super) fn handle_uid(&self, dbi: u32) -> u64 {
        match (dbi, self.handles.get(dbi as usize)) {
            (_, Some(Some(handle))) => handle.uid,
            _ => 0,
        }
    }

    pub(super) fn open(
        &mut self,
        slot: Slot,
        name: Option<&[u8]>,
        flags: u32,
        custom: bool,
    ) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        self.differs_if(txn.state == State::Reset, "a table opened in a reset transaction")?;
        if txn.state == State::Reset {
            return Err(Stop::Void);
        }
        let wrong = (flags & !(ALL | CREATE) != 0, EINVAL);
        let [rests, _] = Model::unreadable(txn);
        if let Some(code) = self.refusal(&[wrong, rests])? {
            return Ok(Outcome::code(code));
        }
        let integers = flags & INTEGERDUP != 0 && flags & DUPFIXED == 0;
        self.differs_if(integers, "integers as values have one length")?;
        let opened = match name {
            None => self.open_main(slot, flags, custom),
            Some(name) => self.open_named(slot, name, flags, custom),
        };
        self.main_is_known |= opened.is_ok();
        opened
    }

    fn open_main(&mut self, slot: Slot, flags: u32, custom: bool) -> Res<Outcome> {
        let wanted = meaning(flags);
        let txn = self.txn(slot)?;
        let rows = txn.data.rows(b"").ok_or(Stop::Void)?;
        let has = rows.kind.flags;
        if wanted & !has == 0 && custom == rows.kind.custom {
            return Ok(Outcome::number(MAIN.into()));
        }
        self.differs_if(!rows.is_empty() || !txn.writes, "another kind for the main table")?;
        if !rows.is_empty() || !txn.writes || has != 0 || rows.kind.custom || custom {
            // How a main table becomes another kind is for tests of its own.
            return Err(Stop::Void);
        }
        let txn = self.txn_mut(slot)?;
        txn.data.set_main(Kind { flags: wanted, custom });
        txn.changed = true;
        Ok(Outcome::number(MAIN.into()))
    }

    fn open_named(&mut self, slot: Slot, name: &[u8], flags: u32, custom: bool) -> Res<Outcome> {
        let (began, family) = (self.txn(slot)?.began, self.family(slot));
        let others = self.handles.iter().flatten().any(|handle| {
            (handle.owner != 0 || handle.since > began) && !family.contains(&handle.owner)
        });
        self.differs_if(others, "two transactions that open tables")?;
        let known = self
            .handles
            .iter()
            .position(|handle| handle.as_ref().is_some_and(|handle| *handle.name == *name));
        if let Some(dbi) = known {
            return self.open_known(slot, dbi as u32, custom);
        }
        let index = self.handles.iter().skip(NAMED).position(Option::is_none);
        let index = index.map_or(self.handles.len().max(NAMED), |index| index + NAMED);
        let old = |cursor: &Cursor| cursor.dbi as usize == index && !cursor.closed;
        let taken = self.cursors.iter().flatten().any(old);
        self.differs_if(taken, "the number of a table whose cursors are left open")?;
        let full = index >= NAMED + self.rules.tables_max as usize;
        let length = name.is_empty() || name.len() > KEY_BYTES_MAX;
        let txn = self.txn(slot)?;
        let main = txn.data.rows(b"").ok_or(Stop::Void)?;
        let other_main = main.kind != Kind::default();
        self.differs_if(other_main, "named tables beside a main one of a kind")?;
        let there = txn.data.rows(name).is_some();
        let record = !there && main.values(name).is_some();
        let create = flags & CREATE != 0;
        self.differs_if(name.len() > KEY_BYTES_MAX && !create, "a name that is too long")?;
        let missing = !there && !record && !length;
        let refused = self.refusal(&[
            (full, DBS_FULL),
            (length, BAD_VALSIZE),
            (other_main || record, INCOMPATIBLE),
            (missing && !create, NOTFOUND),
            (!there && !record && create && !txn.writes, EACCES),
        ])?;
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        let (uid, owner) = (self.uid(), self.txn(slot)?.uid);
        if missing {
            let txn = self.txn_mut(slot)?;
            txn.data.create(name, Kind { flags: meaning(flags), custom });
            txn.changed = true;
        }
        if self.handles.len() <= index {
            self.handles.resize(index + 1, None);
        }
        self.handles[index] = Some(Handle { uid, since: uid, name: name.to_vec(), owner });
        Ok(Outcome::number(index as i64))
    }

    fn open_known(&mut self, slot: Slot, dbi: u32, custom: bool) -> Res<Outcome> {
        let Some(handle) = self.handles[dbi as usize].clone() else { return Err(Stop::Void) };
        let txn = self.txn(slot)?;
        let late = handle.since > txn.began && !self.family(slot).contains(&handle.owner);
        self.differs_if(late, "a table opened after the transaction began")?;
        let there = self.txn(slot)?.data.rows(&handle.name).is_some();
        if handle.owner != 0 && !self.family(slot).contains(&handle.owner) {
            if !there {
                return Ok(Outcome::code(NOTFOUND));
            }
            if let Some(handle) = &mut self.handles[dbi as usize] {
                handle.owner = 0;
            }
        }
        Ok(match custom && !there {
            // To say its order it must be there.
            true => Outcome::code(BAD_DBI),
            false => Outcome::number(dbi.into()),
        })
    }

    pub(super) fn close(&mut self, dbi: u32) -> Res<Outcome> {
        let live = self.txns.iter().flatten().any(|txn| txn.state == State::Live);
        self.differs_if(live, "a table closed within a transaction")?;
        if dbi as usize >= NAMED
            && let Some(handle) = self.handles.get_mut(dbi as usize)
        {
            *handle = None;
        }
        Ok(Outcome::code(0))
    }

    pub(super) fn drop_table(&mut self, slot: Slot, dbi: u32, delete: i32) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let wrong = (!(0..=1).contains(&delete), EINVAL);
        let unwritable = Model::unwritable(txn);
        let reset = (txn.state == State::Reset, EINVAL);
        let rows = self.rows(slot, dbi)?;
        let none = rows.as_ref().err().copied();
        let none = (none.is_some(), none.unwrap_or(0));
        let refused = [wrong, unwritable[0], unwritable[1], reset, none];
        if let Some(code) = self.refusal(&refused)? {
            return Ok(Outcome::code(code));
        }
        let whole = dbi == MAIN && self.txn(slot)?.data.has_named();
        self.differs_if(whole, "the main table dropped with all others")?;
        let name = self.name_of(dbi);
        let gone = delete == 1 && dbi != MAIN;
        let alive = |txn: &&Txn| txn.state != State::Ended && !txn.writes;
        let read = gone && self.txns.iter().flatten().any(|txn| alive(&txn));
        self.differs_if(read, "a table closed within a transaction")?;
        let nested = gone && self.txn(slot)?.parent.is_some();
        self.differs_if(nested, "a table deleted in a nested transaction")?;
        let txn = self.txn_mut(slot)?;
        let was_empty = txn.data.rows(&name).is_none_or(Rows::is_empty);
        txn.changed |= gone || !was_empty;
        match gone {
            _ if dbi == MAIN => txn.data.clear(),
            true => txn.data.remove(&name),
            false => txn.data.rows_mut(&name).ok_or(Stop::Void)?.clear(),
        }
        if was_empty {
            // Whether that counts as a change is not said.
            self.id = None;
        }
        self.unset_cursors(slot, if whole { 0 } else { dbi });
        if gone {
            self.handles[dbi as usize] = None;
            self.pass_on(slot, MAIN, &Went::Key(&name))?;
        }
        Ok(Outcome::code(0))
    }

    pub(super) fn count(&mut self, slot: Slot, dbi: u32) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let [rests, reset] = Model::unreadable(txn);
        let rows = self.rows(slot, dbi)?;
        let none = rows.as_ref().err().copied();
        let count = rows.map_or(0, Rows::count);
        Ok(match self.refusal(&[rests, reset, (none.is_some(), none.unwrap_or(0))])? {
            Some(code) => Outcome::code(code),
            None => Outcome::number(count as i64),
        })
    }

    pub(super) fn flags_of(&mut self, slot: Slot, dbi: u32) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        if txn.state == State::Reset {
            return self.differs("flags of a table in a reset transaction").and(Err(Stop::Void));
        }
        Ok(match self.rows(slot, dbi)? {
            Ok(rows) => Outcome::number(rows.kind.flags.into()),
            // The handle knows its flags, wherever the table is.
            Err(BAD_DBI) => return Err(Stop::Void),
            Err(code) => Outcome::code(code),
        })
    }

    pub(super) fn compare(
        &mut self,
        slot: Slot,
        dbi: u32,
        [a, b]: [&[u8]; 2],
        of_values: bool,
    ) -> Res<Outcome> {
        let Ok(txn) = self.not_ended(slot)? else { return Err(Stop::Void) };
        if txn.state == State::Reset {
            return Err(Stop::Void);
        }
        let Ok(rows) = self.rows(slot, dbi)? else { return Err(Stop::Void) };
        if of_values && !rows.kind.has_many() {
            // There is nothing to compare.
            return Err(Stop::Void);
        }
        let integers = match of_values {
            true => rows.kind.has_integer_values(),
            false => rows.kind.has_integer_keys(),
        };
        if integers && !(a.len() == b.len() && [4, 8].contains(&a.len())) {
            return Err(Stop::Void);
        }
        let order = match of_values {
            true => rows.kind.compare_values(a, b),
            false => rows.kind.compare_keys(a, b),
        };
        Ok(Outcome::number(order as i64))
    }
}
