//! Transactions of the model.

use super::model::{Cursor, Model, Res, State, Stop, Txn};
use super::names::code::*;
use super::names::env;
use super::op::{Op, Outcome, Slot, TXNS};

impl Model {
    /// A transaction that there is, or was.
    pub(super) fn txn(&self, slot: Slot) -> Res<&Txn> {
        self.txns[slot % TXNS].as_ref().ok_or(Stop::Void)
    }

    pub(super) fn txn_mut(&mut self, slot: Slot) -> Res<&mut Txn> {
        self.txns[slot % TXNS].as_mut().ok_or(Stop::Void)
    }

    /// The same; one that is over is refused.
    pub(super) fn not_ended(&self, slot: Slot) -> Res<Result<&Txn, i32>> {
        let txn = self.txn(slot)?;
        match txn.state {
            State::Ended => {
                self.differs("a handle that is over").map(|()| Err(self.rules.interface.over()))
            }
            _ => Ok(Ok(txn)),
        }
    }

    /// Why a transaction cannot be looked at.
    pub(super) fn unreadable(&self, txn: &Txn) -> [(bool, i32); 2] {
        let rests = txn.failed || txn.child.is_some();
        [(rests, BAD_TXN), (txn.state == State::Reset, self.rules.interface.reset())]
    }

    /// Why it cannot change anything.
    pub(super) fn unwritable(txn: &Txn) -> [(bool, i32); 2] {
        [(!txn.writes, EACCES), (txn.failed || txn.child.is_some(), BAD_TXN)]
    }

    /// A transaction and those that it is nested in.
    pub(super) fn family(&self, slot: Slot) -> Vec<u64> {
        let mut uids = Vec::new();
        let mut next = Some(slot);
        while let Some(Some(txn)) = next.map(|slot| &self.txns[slot]) {
            uids.push(txn.uid);
            next = txn.parent;
        }
        uids
    }

    /// The innermost of the write transaction.
    pub(super) fn innermost(&self) -> Option<Slot> {
        let writes = |txn: &Txn| txn.writes && txn.state != State::Ended && txn.child.is_none();
        self.txns.iter().position(|txn| txn.as_ref().is_some_and(writes))
    }

    fn readers(&self) -> (u32, u32) {
        let of = |state| {
            let is = |txn: &&Txn| !txn.writes && txn.state == state;
            self.txns.iter().flatten().filter(is).count() as u32
        };
        (of(State::Live), of(State::Reset))
    }

    pub(super) fn begin(
        &mut self,
        slot: Slot,
        parent: Option<Slot>,
        flags: u32,
        elsewhere: bool,
    ) -> Res<Outcome> {
        let taken = |txn: &Txn| txn.state != State::Ended;
        let bound = elsewhere && self.flags & env::NOTLS == 0;
        if self.txns[slot].as_ref().is_some_and(taken) || parent == Some(slot) || bound {
            return Err(Stop::Void);
        }
        let reads = flags & env::RDONLY != 0;
        if reads && parent.is_some() && !self.rules.interface.is_mdbx() {
            // One within a writer is for tests of its own.
            return Err(Stop::Void);
        }
        let refused = (self.flags & env::RDONLY != 0 && !reads, EACCES);
        let refused = match parent {
            Some(parent) => {
                let txn = match self.not_ended(parent)? {
                    Ok(txn) => txn,
                    Err(code) => return Ok(Outcome::code(code)),
                };
                let writemap = self.flags & env::WRITEMAP != 0;
                let rests = txn.failed || txn.child.is_some();
                // Of two reasons the first counts.
                let other = match (self.rules.interface.is_mdbx(), txn.writes) {
                    (false, false) => EINVAL,
                    (true, true) if reads => EINVAL,
                    _ => BAD_TXN,
                };
                let no_parent = !txn.writes || reads || writemap || rests;
                self.refusal(&[refused, (no_parent, other)])?
            }
            None if reads && self.overlaps(elsewhere) => Some(TXN_OVERLAPPING),
            None if reads => self.no_reader()?,
            None => {
                let waits = self.innermost().is_some();
                self.differs_if(waits, "a second write transaction of a thread")?;
                let (live, _) = self.readers();
                let bound = self.rules.interface.is_mdbx() && self.flags & env::NOTLS == 0;
                let overlaps = (bound && live > 0, TXN_OVERLAPPING);
                let waits = (waits, self.rules.interface.writes_already());
                self.refusal(&[refused, waits, overlaps])?
            }
        };
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        self.begun(slot, parent, !reads);
        Ok(Outcome::code(0))
    }

    /// Whether a reader would begin in the thread that writes, which libmdbx does not have.
    fn overlaps(&self, elsewhere: bool) -> bool {
        self.rules.interface.is_mdbx() && !elsewhere && self.innermost().is_some()
    }

    /// Why no reader can begin.
    pub(super) fn no_reader(&self) -> Res<Option<i32>> {
        let (live, resting) = self.readers();
        let loose = self.flags & env::NOLOCK != 0;
        self.differs_if(loose, "a reader without a lock, which no writer heeds")?;
        if self.flags & env::NOTLS == 0 {
            return Ok((live > 0).then_some(BAD_RSLOT));
        }
        let max = self.rules.readers_max;
        self.differs_if(live < max && live + resting >= max, "a reset reader keeps its place")?;
        Ok((live >= max).then_some(READERS_FULL))
    }

    fn begun(&mut self, slot: Slot, parent: Option<Slot>, writes: bool) {
        let uid = self.uid();
        let outer = parent.and_then(|parent| self.txns[parent].as_ref());
        let data = outer.map_or(&self.committed, |outer| &outer.data).clone();
        let last = self.id.unwrap_or(0);
        let family = parent.map(|parent| self.family(parent)).unwrap_or_default();
        let inside = |cursor: &&Cursor| family.contains(&cursor.txn_uid);
        let places = self.cursors.iter().flatten().filter(inside);
        let saved = places.cloned().collect();
        self.txns[slot] = Some(Txn {
            uid,
            state: State::Live,
            writes,
            parent,
            child: None,
            failed: false,
            data,
            saved,
            began: outer.map_or(uid, |outer| outer.began),
            id: if writes { last + 1 } else { last },
            changed: false,
        });
        if let Some(outer) = parent.and_then(|parent| self.txns[parent].as_mut()) {
            outer.child = Some(slot);
        }
    }

    pub(super) fn commit(&mut self, slot: Slot) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        if !txn.writes {
            let useless = txn.failed || txn.state == State::Reset;
            let code = if useless { self.rules.interface.either(0, RESULT_TRUE) } else { 0 };
            self.over(slot, true);
            return Ok(Outcome::code(code));
        }
        if let Some(child) = txn.child {
            // It is committed first.
            let inner = self.commit(child)?;
            if inner.code != 0 {
                self.id = None;
                self.over(slot, false);
                return Ok(inner);
            }
        }
        let txn = self.txn(slot)?;
        let (failed, parent) = (txn.failed, txn.parent);
        let nested_and_failed = failed && parent.is_some();
        self.differs_if(nested_and_failed, "a child that failed spoils its parent")?;
        if failed {
            self.id = None;
            self.over(slot, false);
            return Ok(Outcome::code(self.rules.interface.failed()));
        }
        let (data, changed) = (txn.data.clone(), txn.changed);
        match parent.and_then(|parent| self.txns[parent].as_mut()) {
            Some(outer) => (outer.data, outer.changed) = (data, outer.changed || changed),
            None => {
                self.committed = data;
                self.id = self.id.map(|id| id + u64::from(changed));
            }
        }
        self.over(slot, true);
        Ok(Outcome::code(0))
    }

    pub(super) fn abort(&mut self, slot: Slot) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(self.rules.interface.either(0, code))),
        };
        if let Some(child) = txn.child {
            self.abort(child)?;
        }
        if self.txn(slot)?.changed {
            // Pages may have been written, and then the id is not used again.
            self.id = None;
        }
        self.over(slot, false);
        Ok(Outcome::code(0))
    }

    /// A transaction ends: what it opened, and where cursors are.
    fn over(&mut self, slot: Slot, committed: bool) {
        let keeps_cursors = self.rules.interface.is_mdbx();
        let Some(txn) = self.txns[slot].as_mut() else { return };
        txn.state = State::Ended;
        let (uid, writes, parent, saved) =
            (txn.uid, txn.writes, txn.parent, std::mem::take(&mut txn.saved));
        let since = self.uid();
        let outer = parent.and_then(|parent| self.txns[parent].as_mut());
        let heir = outer.map_or(0, |outer| {
            outer.child = None;
            outer.uid
        });
        for place in &mut self.handles {
            if let Some(handle) = place.as_mut().filter(|handle| handle.owner == uid) {
                let was = handle.was.take();
                if !committed {
                    *place = was.map(|was| *was);
                    continue;
                }
                (handle.owner, handle.since) = (heir, since);
                handle.was = match was {
                    Some(was) if was.owner == heir => was.was,
                    was => was.filter(|_| heir != 0),
                };
            }
        }
        for cursor in self.cursors.iter_mut().flatten() {
            // One that was taken elsewhere stays there.
            let inside = cursor.txn_uid != 0 && cursor.writes;
            if writes && cursor.txn_uid == uid && !keeps_cursors {
                cursor.closed = true;
            }
            if let (false, true, Some(before)) =
                (committed, inside, saved.iter().find(|saved| saved.uid == cursor.uid))
            {
                let closed = cursor.closed;
                *cursor = Cursor { closed, eof: None, ..before.clone() };
            }
        }
    }

    pub(super) fn reset(&mut self, slot: Slot) -> Res<Outcome> {
        if let Ok(txn) = self.not_ended(slot)?
            && !txn.writes
        {
            let uid = txn.uid;
            let opened = self.handles.iter().flatten().any(|handle| handle.owner == uid);
            self.differs_if(opened, "a transaction that has opened a table and is reset")?;
            self.txn_mut(slot)?.state = State::Reset;
            return Ok(Outcome::code(0));
        }
        Ok(Outcome::code(match (self.rules.interface.is_mdbx(), self.not_ended(slot)?) {
            (false, _) => 0,
            (true, Ok(_)) => EINVAL,
            (true, Err(code)) => code,
        }))
    }

    pub(super) fn state_call(&mut self, op: &Op, slot: Slot) -> Res<Outcome> {
        if let Op::Break { .. } = op { self.break_txn(slot) } else { self.txn_flags(slot) }
    }

    /// Lets it, and all nested in it, end in an abort only.
    fn break_txn(&mut self, slot: Slot) -> Res<Outcome> {
        if let Err(code) = self.not_ended(slot)? {
            return Ok(Outcome::code(code));
        }
        let mut next = Some(slot);
        while let Some(slot) = next {
            let txn = self.txn_mut(slot)?;
            txn.failed = true;
            next = txn.child;
        }
        self.note("a transaction that was broken");
        Ok(Outcome::code(0))
    }

    fn txn_flags(&mut self, slot: Slot) -> Res<Outcome> {
        const FINISHED: i64 = 1;
        const ERROR: i64 = 2;
        const HAS_CHILD: i64 = 16;
        let Ok(txn) = self.not_ended(slot)? else { return Ok(Outcome::number(i32::MIN.into())) };
        let bits = [
            (!txn.writes, i64::from(env::RDONLY)),
            (txn.state == State::Reset, FINISHED),
            (txn.failed, ERROR),
            (txn.child.is_some(), HAS_CHILD),
        ];
        let bits = bits.iter().filter(|(is, _)| *is);
        Ok(Outcome::number(bits.fold(0, |all, (_, bit)| all | bit)))
    }

    /// Why the numbers beside the tables cannot be read, or changed.
    fn no_canary(&self, slot: Slot, changes: bool) -> Res<Option<i32>> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Some(code)),
        };
        let [rests, reset] = self.unreadable(txn);
        self.refusal(&[(changes && !txn.writes, EACCES), rests, reset])
    }

    /// Changes the numbers beside the tables, or shows them.
    pub(super) fn canary(&mut self, slot: Slot, new: Option<[u64; 3]>) -> Res<Outcome> {
        if let Some(code) = self.no_canary(slot, new.is_some())? {
            return Ok(Outcome::code(code));
        }
        let txn = self.txn_mut(slot)?;
        let Some(new) = new else {
            let numbers = txn.data.canary.map(u64::to_le_bytes).concat();
            return Ok(Outcome { value: Some(numbers), ..Outcome::default() });
        };
        (txn.data.canary, txn.changed) = (new, true);
        Ok(Outcome::code(0))
    }

    pub(super) fn renew(&mut self, slot: Slot, elsewhere: bool) -> Res<Outcome> {
        let txn = match self.not_ended(slot)? {
            Ok(txn) => txn,
            Err(code) => return Ok(Outcome::code(code)),
        };
        let is_mdbx = self.rules.interface.is_mdbx();
        if elsewhere && self.flags & env::NOTLS == 0 {
            return Err(Stop::Void);
        }
        if txn.writes || txn.state != State::Reset && !is_mdbx {
            return Ok(Outcome::code(EINVAL));
        }
        if is_mdbx {
            self.txn_mut(slot)?.state = State::Reset;
            if self.overlaps(elsewhere) {
                return Ok(Outcome::code(TXN_OVERLAPPING));
            }
        }
        let (live, _) = self.readers();
        let refused = if self.flags & env::NOTLS == 0 {
            (live > 0).then_some(BAD_RSLOT)
        } else {
            let full = live >= self.rules.readers_max;
            self.differs_if(full, "a reset reader keeps its place")?;
            full.then_some(READERS_FULL)
        };
        if let Some(code) = refused {
            return Ok(Outcome::code(code));
        }
        let (began, data, id) = (self.uid(), self.committed.clone(), self.id.unwrap_or(0));
        let txn = self.txn_mut(slot)?;
        (txn.state, txn.data, txn.began, txn.id) = (State::Live, data, began, id);
        txn.failed = false;
        let uid = txn.uid;
        for cursor in self.cursors.iter_mut().flatten().filter(|c| c.txn_uid == uid) {
            cursor.stale = true;
        }
        Ok(Outcome::code(0))
    }

    pub(super) fn txn_id(&mut self, slot: Slot) -> Res<Outcome> {
        let known = self.id.is_some() && self.flags & (env::NOSYNC | env::MAPASYNC) == 0;
        let txn = self.txn(slot)?;
        if txn.state == State::Live && known {
            Ok(Outcome::number(txn.id as i64))
        } else {
            Err(Stop::Void)
        }
    }
}
