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
/// The flags that mean something.
fn meaning(flags: u32) -> u32 {
    let ignored = if flags & DUPSORT == 0 { DUPFIXED | INTEGERDUP | REVERSEDUP } else { 0 };
    let implied = if flags & DUPSORT != 0 && flags & INTEGERDUP != 0 { DUPFIXED } else { 0 };
    flags & ALL & !ignored | implied
}

/// Why a transaction has no table of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoTable {
    /// The handle is not open.
    Closed,
    /// The table is not in its snapshot.
    Missing,
}

/// Whether a kind is the wanted one; without flags any is.
fn is_wanted(flags: u32, has: u32) -> bool {
    // Integers have one order, whatever else is said of it.
    let stored = |kind: u32| {
        let keys = if kind & INTEGERKEY != 0 { REVERSEKEY } else { 0 };
        kind & !(keys | if kind & INTEGERDUP != 0 { REVERSEDUP } else { 0 })
    };
    flags == 0 || stored(meaning(flags)) == stored(has)
}

impl Model {
    /// The code for having no table.
    pub(super) fn no_table(&self, why: Option<NoTable>) -> (bool, i32) {
        match why {
            None => (false, 0),
            Some(NoTable::Closed) => (true, self.rules.interface.closed()),
            Some(NoTable::Missing) => (true, BAD_DBI),
        }
    }

    /// The name of a table that a transaction may use; `None`: the handle is none.
    pub(super) fn named(&self, slot: Slot, dbi: u32) -> Res<Option<&Handle>> {
        let family = self.family(slot);
        let Some(handle) = self.handle_in(slot, dbi) else { return Ok(None) };
        let began = self.txn(slot)?.began;
        let late = handle.since > began && !family.contains(&handle.owner);
        let known = handle.owner == 0 || family.contains(&handle.owner);
        self.differs_if(late, "a table opened after the transaction began")?;
        Ok(known.then_some(handle))
    }

    /// Its records, as the transaction shows them, or why there are none.
    pub(super) fn rows(&self, slot: Slot, dbi: u32) -> Res<Result<&Rows, NoTable>> {
        self.differs_if(dbi == 0, "the handle of LMDB's free pages")?;
        if dbi == 0 && self.rules.interface.is_mdbx() {
            // What it shows is for tests of its own.
            return Err(Stop::Void);
        }
        if dbi == MAIN {
            let unknown = !self.main_is_known && !self.rules.interface.is_mdbx();
            self.differs_if(unknown, "the main table before a table was opened")?;
            return Ok(Ok(self.txn(slot)?.data.rows(b"").ok_or(Stop::Void)?));
        }
        let Some(handle) = self.named(slot, dbi)? else { return Ok(Err(NoTable::Closed)) };
        let rows = self.txn(slot)?.data.rows(&handle.name);
        if rows.is_some_and(|rows| rows.kind != handle.kind) {
            // An old snapshot of a table that was made anew.
            return Err(Stop::Void);
        }
        self.differs_if(rows.is_none(), "a table that is not in the snapshot")?;
        if rows.is_none() {
            // Its name may be a record now.
            self.or(&[INCOMPATIBLE]);
        }
        Ok(rows.ok_or(NoTable::Missing))
    }

    /// What an open handle is to a transaction, or to all but that which has changed it.
    pub(super) fn handle_in(&self, slot: Slot, dbi: u32) -> Option<&Handle> {
        let mut found = self.handles.get(dbi as usize)?.as_ref()?;
        let family = self.family(slot);
        while let Some(was) = &found.was
            && !family.contains(&found.owner)
        {
            found = was;
        }
        Some(found)
    }

    pub(super) fn name_of(&self, slot: Slot, dbi: u32) -> Vec<u8> {
        self.handle_in(slot, dbi).map(|handle| handle.name.clone()).unwrap_or_default()
    }

    pub(super) fn rows_mut(&mut self, slot: Slot, dbi: u32) -> Res<&mut Rows> {
        let name = self.name_of(slot, dbi);
        self.txn_mut(slot)?.data.rows_mut(&name).ok_or(Stop::Void)
    }

    /// What a cursor's handle is known by.
    pub(super) fn handle_uid(&self, slot: Slot, dbi: u32) -> u64 {
        self.handle_in(slot, dbi).map_or(0, |handle| handle.uid)
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
        let is_mdbx = self.rules.interface.is_mdbx();
        let unfit = is_mdbx && meaning(flags) != flags & ALL;
        let wrong = (flags & !(ALL | CREATE) != 0 || unfit, EINVAL);
        let [rests, _] = self.unreadable(txn);
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
        let is_mdbx = self.rules.interface.is_mdbx();
        let fits = if is_mdbx { is_wanted(flags, has) } else { wanted & !has == 0 };
        if fits && custom == rows.kind.custom {
            return Ok(Outcome::number(MAIN.into()));
        }
        let made = rows.is_empty() && txn.writes && flags & CREATE != 0 && has == 0;
        let used = self.cursors.iter().flatten().any(|c| c.dbi == MAIN && !c.closed);
        if is_mdbx && made && used {
            return Err(Stop::Void);
        }
        if is_mdbx && !custom && !made {
            return Ok(Outcome::code(INCOMPATIBLE));
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
            return if self.rules.interface.is_mdbx() {
                self.open_again(slot, dbi as u32, flags, custom)
            } else {
                self.open_known(slot, dbi as u32, custom)
            };
        }
        let index = self.handles.iter().skip(NAMED).position(Option::is_none);
        let index = index.map_or(self.handles.len().max(NAMED), |index| index + NAMED);
        let old = |cursor: &Cursor| cursor.dbi as usize == index && !cursor.closed;
        let taken = self.cursors.iter().flatten().any(old);
        self.differs_if(taken, "the number of a table whose cursors are left open")?;
        let full = index >= NAMED + self.rules.tables_max as usize;
        let interface = self.rules.interface;
        let longest = *interface.key_bytes().end();
        let length = name.is_empty() || name.len() > longest;
        let txn = self.txn(slot)?;
        let main = txn.data.rows(b"").ok_or(Stop::Void)?;
        let other_main = main.kind != Kind::default();
        self.differs_if(other_main, "named tables beside a main one of a kind")?;
        let there = txn.data.rows(name).is_some();
        let record = !there && main.values(name).is_some();
        let create = flags & CREATE != 0;
        self.differs_if(name.len() > longest && !create, "a name that is too long")?;
        let missing = !there && !record && !length;
        let refused = self.refusal(&[
            (full, DBS_FULL),
            (length, interface.either(BAD_VALSIZE, EINVAL)),
            (other_main || record, INCOMPATIBLE),
            (missing && !create, NOTFOUND),
            (!there && !record && create && !txn.writes, EACCES),
        ])?;
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        let (uid, mut owner) = (self.uid(), self.txn(slot)?.uid);
        if missing {
            let txn = self.txn_mut(slot)?;
            txn.data.create(name, Kind { flags: meaning(flags), custom });
            txn.changed = true;
        } else if interface.is_mdbx() {
            match self.of_wanted_kind(slot, name, flags, custom)? {
                Err(code) => return Ok(Outcome::code(code)),
                // A table that was there is shared by all transactions.
                Ok(false) => owner = 0,
                Ok(true) => {}
            }
        }
        if self.handles.len() <= index {
            self.handles.resize(index + 1, None);
        }
        let (name, kind) = (name.to_vec(), self.kind_of(slot, name)?);
        self.handles[index] = Some(Handle { uid, since: uid, name, kind, owner, was: None });
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
                self.or(&[INCOMPATIBLE]);
                return Ok(Outcome::code(NOTFOUND));
            }
            if let Some(handle) = &mut self.handles[dbi as usize] {
                handle.owner = 0;
            }
        }
        Ok(if custom && !there {
            // To say its order it must be there. Its name may be a record now.
            self.or(&[INCOMPATIBLE]);
            Outcome::code(BAD_DBI)
        } else {
            Outcome::number(dbi.into())
        })
    }

    fn kind_of(&self, slot: Slot, name: &[u8]) -> Res<Kind> {
        Ok(self.txn(slot)?.data.rows(name).ok_or(Stop::Void)?.kind)
    }

    /// libmdbx's way to open what is open already.
    fn open_again(&mut self, slot: Slot, dbi: u32, flags: u32, custom: bool) -> Res<Outcome> {
        let Some(handle) = self.handles[dbi as usize].clone() else { return Err(Stop::Void) };
        let visible = self.named(slot, dbi)?.is_some();
        let txn = self.txn(slot)?;
        let has = txn.data.rows(&handle.name).map(|rows| rows.kind);
        let (uid, own) = (self.uid(), self.txn(slot)?.uid);
        let (owner, is_new) = match has {
            None => {
                let create = flags & CREATE != 0;
                let writes = self.txn(slot)?.writes;
                let main = self.txn(slot)?.data.rows(b"").ok_or(Stop::Void)?;
                let record = main.values(&handle.name).is_some();
                let reasons = [
                    (!create, NOTFOUND),
                    (create && !writes, EACCES),
                    (create && record, INCOMPATIBLE),
                ];
                if let Some(code) = self.refusal(&reasons)? {
                    return Ok(Outcome::code(code));
                }
                let txn = self.txn_mut(slot)?;
                txn.data.create(&handle.name, Kind { flags: meaning(flags), custom });
                txn.changed = true;
                (own, true)
            }
            // To have an order changed is for tests of its own.
            Some(kind) if visible && custom && !kind.custom => return Err(Stop::Void),
            Some(kind) if visible && is_wanted(flags, kind.flags) => (handle.owner, false),
            Some(_) => match self.of_wanted_kind(slot, &handle.name, flags, custom)? {
                Err(code) => return Ok(Outcome::code(code)),
                Ok(made) => (if made { own } else { handle.owner }, true),
            },
        };
        if is_new {
            let kind = self.kind_of(slot, &handle.name)?;
            let fresh = Handle { uid, since: uid, name: handle.name, kind, owner, was: None };
            let place = &mut self.handles[dbi as usize];
            *place = Some(fresh.instead_of(place.take()));
        }
        Ok(Outcome::number(dbi.into()))
    }

    /// A table of another kind than the wanted one is made anew, if it is empty; whether it was, or
    /// why not.
    fn of_wanted_kind(
        &mut self,
        slot: Slot,
        name: &[u8],
        flags: u32,
        custom: bool,
    ) -> Res<Result<bool, i32>> {
        let txn = self.txn(slot)?;
        let rows = txn.data.rows(name).ok_or(Stop::Void)?;
        if is_wanted(flags, rows.kind.flags) {
            return if custom == rows.kind.custom {
                Ok(Ok(false))
            } else {
                // To have an order changed is for tests of its own.
                Err(Stop::Void)
            };
        }
        let full = flags & CREATE == 0 || !rows.is_empty();
        let reasons = [(full, INCOMPATIBLE), (!full && !txn.writes, EACCES)];
        if let Some(code) = self.refusal(&reasons)? {
            return Ok(Err(code));
        }
        let txn = self.txn_mut(slot)?;
        txn.changed = true;
        let rows = txn.data.rows_mut(name).ok_or(Stop::Void)?;
        rows.kind = Kind { flags: meaning(flags), custom };
        self.note("a table that became one of another kind");
        Ok(Ok(true))
    }

    pub(super) fn close(&mut self, dbi: u32) -> Res<Outcome> {
        if self.rules.interface.is_mdbx() {
            let found = self.handles.get_mut(dbi as usize);
            let shared = found.filter(|h| h.as_ref().is_some_and(|handle| handle.owner == 0));
            let closed = shared.map(|handle| *handle = None);
            return Ok(Outcome::code(if closed.is_some() { 0 } else { BAD_DBI }));
        }
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
        let is_mdbx = self.rules.interface.is_mdbx();
        let wrong = (!is_mdbx && !(0..=1).contains(&delete), EINVAL);
        let delete = delete != 0;
        let unwritable = Model::unwritable(txn);
        let reset = (txn.state == State::Reset, self.rules.interface.reset());
        let rows = self.rows(slot, dbi)?;
        let none = self.no_table(rows.as_ref().err().copied());
        let names = (is_mdbx && dbi == MAIN && txn.data.has_named(), INCOMPATIBLE);
        let refused = [wrong, unwritable[0], unwritable[1], reset, none, names];
        if let Some(code) = self.refusal(&refused)? {
            return Ok(Outcome::code(code));
        }
        let whole = dbi == MAIN && self.txn(slot)?.data.has_named();
        self.differs_if(whole, "the main table dropped with all others")?;
        let name = self.name_of(slot, dbi);
        let gone = delete && dbi != MAIN;
        let alive = |txn: &&Txn| txn.state != State::Ended && !txn.writes;
        let read = gone && self.txns.iter().flatten().any(|txn| alive(&txn));
        self.differs_if(read, "a table closed within a transaction")?;
        let nested = gone && self.txn(slot)?.parent.is_some();
        self.differs_if(nested, "a table deleted in a nested transaction")?;
        let txn = self.txn_mut(slot)?;
        let was_empty = txn.data.rows(&name).is_none_or(Rows::is_empty);
        txn.changed |= gone || !was_empty;
        if dbi == MAIN {
            txn.data.clear();
        } else if gone {
            txn.data.remove(&name);
        } else {
            txn.data.rows_mut(&name).ok_or(Stop::Void)?.clear();
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
        let [rests, reset] = self.unreadable(txn);
        let rows = self.rows(slot, dbi)?;
        let none = self.no_table(rows.as_ref().err().copied());
        let count = rows.map_or(0, Rows::count);
        Ok(match self.refusal(&[rests, reset, none])? {
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
        let rests = self.unreadable(txn)[0];
        if self.rules.interface.is_mdbx()
            && let Some(code) = self.refusal(&[rests])?
        {
            self.or(&[BAD_DBI]);
            return Ok(Outcome::code(code));
        }
        Ok(match self.rows(slot, dbi)? {
            Ok(rows) => Outcome::number(rows.kind.flags.into()),
            // The handle knows its flags, wherever the table is.
            Err(NoTable::Missing) => return Err(Stop::Void),
            Err(why) => Outcome::code(self.no_table(Some(why)).1),
        })
    }

    /// Gives a table another name.
    pub(super) fn rename(&mut self, slot: Slot, dbi: u32, name: &[u8]) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let old = self.name_of(slot, dbi);
        let length = name.is_empty() || name.len() > *self.rules.interface.key_bytes().end();
        let none = self.no_table(self.rows(slot, dbi)?.err());
        let main = txn.data.rows(b"").ok_or(Stop::Void)?;
        let other = *old != *name;
        let exists = other && txn.data.rows(name).is_some();
        let record = other && !exists && main.values(name).is_some();
        let [reads, rests] = Model::unwritable(txn);
        let uid = txn.uid;
        let refused = self.refusal(&[
            (length, BAD_VALSIZE),
            reads,
            rests,
            none,
            (exists, KEYEXIST),
            (dbi == MAIN && other, EINVAL),
            (record, INCOMPATIBLE),
        ])?;
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        if !other || dbi == MAIN {
            return Ok(Outcome::code(0));
        }
        let since = self.uid();
        let txn = self.txn_mut(slot)?;
        txn.data.rename(&old, name);
        txn.changed = true;
        // It is the transaction's until that commits.
        let (name, kind) = (name.to_vec(), self.kind_of(slot, name)?);
        let fresh = Handle { uid: since, since, name, kind, owner: uid, was: None };
        let place = &mut self.handles[dbi as usize];
        *place = Some(fresh.instead_of(place.take()));
        self.pass_on(slot, MAIN, &Went::Key(&old))?;
        Ok(Outcome::code(0))
    }

    /// The number that is kept with a table, and how much is added to it.
    pub(super) fn sequence(&mut self, slot: Slot, dbi: u32, add: u64) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let [rests, reset] = self.unreadable(txn);
        let rows = self.rows(slot, dbi)?;
        let none = self.no_table(rows.as_ref().err().copied());
        let now = rows.map_or(0, |rows| rows.sequence);
        let reads = (!txn.writes && add != 0, EACCES);
        if let Some(code) = self.refusal(&[rests, reset, none, reads])? {
            return Ok(Outcome::code(code));
        }
        let Some(next) = now.checked_add(add) else { return Ok(Outcome::code(RESULT_TRUE)) };
        if add != 0 {
            self.rows_mut(slot, dbi)?.sequence = next;
            self.txn_mut(slot)?.changed = true;
        }
        Ok(Outcome::number(now as i64))
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
        let integers =
            if of_values { rows.kind.has_integer_values() } else { rows.kind.has_integer_keys() };
        if integers && !(a.len() == b.len() && [4, 8].contains(&a.len())) {
            return Err(Stop::Void);
        }
        let order =
            if of_values { rows.kind.compare_values(a, b) } else { rows.kind.compare_keys(a, b) };
        Ok(Outcome::number(order as i64))
    }
}
