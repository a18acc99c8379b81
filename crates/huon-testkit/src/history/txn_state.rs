//! What a transaction changes beside records: sequences, markers, savepoints, and the limits of the
//! file's length, with what comes of a file that is full.

use huon::{FullMap, Geometry, WriteTxn, limits};

use crate::history::machine::RESERVE_BYTES;
use crate::history::program::{Limit, Op};
use crate::history::writes::{Got, MISSING};
use crate::history::{History, Step, Stop};
use crate::model::TableId;

/// The id in markers that a transaction has changed, which the commit tells.
pub(crate) const UNSEALED: u64 = u64::MAX;

impl History {
    /// Performs a change of what is kept beside records. Other operations are passed over.
    pub(crate) fn change_notes(&mut self, op: &Op, txn: &mut WriteTxn) -> Step {
        match op {
            Op::Sequence { table, count } => self.sequence(txn, *table, *count),
            Op::Markers { values, touch } => {
                let before = self.work.markers;
                if *touch || before.values != *values {
                    (self.work.markers.values, self.work.markers.txnid) = (*values, UNSEALED);
                }
                if *touch {
                    txn.touch_markers(*values)?;
                } else {
                    txn.set_markers(*values)?;
                }
                let mut expected = self.work.markers;
                if expected.txnid == UNSEALED {
                    expected.txnid = txn.id();
                }
                if txn.markers() != expected {
                    return Err(Stop::Fail(format!("markers are {:?}", txn.markers())));
                }
                self.counts.add("markers", 1);
                Ok(())
            }
            Op::Limit { limit } => self.limit_in(txn, *limit),
            _ => Ok(()),
        }
    }

    fn sequence(&mut self, txn: &mut WriteTxn, id: TableId, count: u64) -> Step {
        let Some(table) = self.handle(txn, id, count.is_multiple_of(9))? else { return Ok(()) };
        let found = Got::of(table.take_sequence(txn, count), Got::Count)?;
        let first = self.work.sequence(id);
        let expected = match (self.work.exists(id), first.checked_add(count)) {
            (false, _) => Got::Refused(MISSING),
            (true, None) => Got::Refused(10),
            (true, Some(next)) => {
                self.work.set_sequence(id, next);
                Got::Count(first)
            }
        };
        if self.work.exists(id) && table.sequence(txn)? != self.work.sequence(id) {
            return Err(Stop::Fail(format!("the sequence of {id:?} is another one")));
        }
        self.expect("sequence", id, found, expected)
    }

    /// Savepoints; whether it was one.
    pub(crate) fn savepoint_op(&mut self, op: &Op, txn: &mut WriteTxn) -> Result<bool, Stop> {
        let level = self.savepoints.last_mut().expect("a level is open");
        let (what, name, done) = match op {
            Op::Savepoint { name } => {
                level.push((*name, self.work.clone()));
                ("savepoint", name, txn.savepoint([*name]))
            }
            Op::RollBack { name } => ("roll back", name, txn.roll_back_to([*name])),
            Op::Release { name } => ("release", name, txn.release([*name])),
            _ => return Ok(false),
        };
        let at = level.iter().rposition(|(other, _)| other == name);
        match (Got::of(done, |()| Got::Nothing)?, at) {
            (Got::Nothing, Some(at)) => {
                if matches!(op, Op::RollBack { .. }) {
                    self.work = level[at].1.clone();
                    level.truncate(at + 1);
                } else if matches!(op, Op::Release { .. }) {
                    level.truncate(at);
                }
                self.counts.add(what, 1);
                let inner = self.savepoints.len() > 1;
                self.counts.add("savepoint in nested", u64::from(inner));
            }
            (Got::Refused(10), None) => self.counts.add("no savepoint", 1),
            (found, at) => return Err(Stop::Fail(format!("{what}: {found:?}, it is at {at:?}"))),
        }
        Ok(true)
    }

    /// What a new environment has.
    pub(crate) fn first_geometry(&mut self) -> Geometry {
        let page = self.page_bytes() as u64;
        let mut geometry = self.env(0).info().expect("info").geometry;
        geometry.min_bytes = limits::file_bytes_min(self.page_bytes()).expect("a page size");
        geometry.max_bytes = RESERVE_BYTES;
        geometry.grow_bytes = 16 * page;
        geometry.shrink_bytes = self.config.shrink_bytes;
        geometry
    }

    /// The limits are those of the newest commit, and are kept.
    pub(crate) fn check_limits(&mut self) -> Result<(), String> {
        let info = self.env(self.client as u8).info().map_err(|error| error.to_string())?;
        let expected = self.committed.geometry.expect("known from the beginning");
        if info.geometry != expected {
            return Err(format!("limits are {:?}, expected {expected:?}", info.geometry));
        }
        if info.used_bytes <= expected.max_bytes && info.file_bytes >= expected.min_bytes {
            Ok(())
        } else {
            Err(format!("{} of {} bytes: {expected:?}", info.used_bytes, info.file_bytes))
        }
    }

    /// Whether the file may not grow as it likes.
    pub(crate) fn is_limited(&self) -> bool {
        self.work.geometry.is_some_and(|geometry| geometry.max_bytes < RESERVE_BYTES)
    }

    /// The limits that an operation asks for.
    fn wanted(&mut self, limit: Limit) -> Result<Geometry, Stop> {
        let page = self.page_bytes() as u64;
        let info = self.env(self.client as u8).info()?;
        let mut geometry = self.work.geometry.expect("known from the beginning");
        match limit {
            Limit::Room => geometry.max_bytes = RESERVE_BYTES,
            Limit::Tight(pages) => geometry.max_bytes = info.used_bytes + pages * page,
            Limit::Short(pages) => {
                geometry.max_bytes = info.used_bytes.saturating_sub(pages * page);
            }
            // What is no page is rounded.
            Limit::Minimum(pages) => geometry.min_bytes = pages * page + pages % 3,
            Limit::Grow(pages) => geometry.grow_bytes = pages * page + pages % 2,
            Limit::Shrink(pages) => geometry.shrink_bytes = pages * page,
            Limit::TooLong => geometry.max_bytes = 2 * info.map_bytes.max(RESERVE_BYTES),
            Limit::Reversed => geometry.max_bytes = geometry.min_bytes - page,
        }
        Ok(geometry)
    }

    /// Whole pages, as they are kept.
    fn rounded(&self, mut geometry: Geometry) -> Geometry {
        let page = self.page_bytes() as u64;
        let least = limits::file_bytes_min(self.page_bytes()).expect("a page size");
        geometry.min_bytes = geometry.min_bytes.next_multiple_of(page).max(least);
        geometry.max_bytes = (geometry.max_bytes / page * page).max(geometry.min_bytes);
        geometry.grow_bytes = geometry.grow_bytes.next_multiple_of(page);
        geometry.shrink_bytes = geometry.shrink_bytes.next_multiple_of(page);
        geometry
    }

    fn limit_in(&mut self, txn: &mut WriteTxn, limit: Limit) -> Step {
        let wanted = self.wanted(limit)?;
        let done = txn.set_geometry(wanted);
        self.limited(limit, wanted, done)?;
        if Some(txn.geometry()) == self.work.geometry {
            Ok(())
        } else {
            Err(Stop::Fail(format!("limits are {:?}", txn.geometry())))
        }
    }

    /// Judges what was said to new limits; `work` follows.
    fn limited(&mut self, limit: Limit, wanted: Geometry, done: huon::Result<()>) -> Step {
        let had = self.work.geometry.expect("known from the beginning");
        let new = self.rounded(wanted);
        let is_lower = new.max_bytes < had.max_bytes;
        let found = match done {
            // What is in use decides, and what readers keep.
            Err(huon::Error::MapFull(full)) if is_lower => {
                let needed = full.needed_bytes > full.limit_bytes;
                if needed && full.limit_bytes == new.max_bytes {
                    Got::Refused(11)
                } else {
                    return Err(Stop::Fail(format!("{limit:?}: {full:?}")));
                }
            }
            done => Got::of(done, |()| Got::Nothing)?,
        };
        let expected = match limit {
            _ if wanted.max_bytes < wanted.min_bytes => Got::Refused(10),
            Limit::TooLong => Got::Refused(26),
            _ if found == Got::Refused(11) => Got::Refused(11),
            _ => Got::Nothing,
        };
        let what = match (&found, limit) {
            (Got::Refused(11), _) => "limit refused, in use",
            (Got::Refused(_), _) => "limit refused",
            (_, Limit::Tight(_) | Limit::Short(_)) => "limit tight",
            _ => "limit",
        };
        if found == Got::Nothing {
            self.work.geometry = Some(new);
            self.was_limited |= self.is_limited();
        }
        self.expect(what, TableId::MAIN, found, expected)
    }

    /// New limits in a transaction of their own.
    pub(crate) fn limit(&mut self, limit: Limit) -> Step {
        let env = self.env((self.pc % 2) as u8);
        // A repair comes first, and gives the newest state another id.
        drop(env.write()?);
        self.unclean = false;
        self.note_state()?;
        self.work = self.committed.clone();
        let wanted = self.wanted(limit)?;
        let done = env.set_geometry(wanted);
        self.was_limited = self.is_limited();
        self.limited(limit, wanted, done)?;
        self.committed = self.work.clone();
        self.note_evictable();
        self.note_state()?;
        self.settled(false)
    }

    /// A change found the file full: back to the newest savepoint of this level, if there is one,
    /// and at times there is more room from there on.
    pub(crate) fn fall_back(&mut self, stop: Stop, txn: &mut WriteTxn) -> Step {
        let Stop::Full(full) = stop else { return Err(stop) };
        self.check_full(&full)?;
        if !matches!(txn.set_markers([7, 7, 7]), Err(huon::Error::TxnBroken)) {
            return Err(Stop::Fail("a transaction goes on although a change failed".into()));
        }
        match self.savepoints.last().and_then(|level| level.last()) {
            Some((name, model)) => {
                txn.roll_back_to([*name])?;
                self.work = model.clone();
                self.counts.add("full, rolled back", 1);
                if !self.pc.is_multiple_of(3) {
                    self.limit_in(txn, Limit::Room)?;
                    self.counts.add("full, room made", 1);
                }
                Ok(())
            }
            None => Err(Stop::Full(full)),
        }
    }

    /// Whether there can have been no room.
    fn check_full(&mut self, full: &FullMap) -> Step {
        let max_bytes = self.work.geometry.expect("known from the beginning").max_bytes;
        if self.is_limited() && full.limit_bytes == max_bytes {
            Ok(())
        } else {
            Err(Stop::Fail(format!("no room: {full:?}, of {max_bytes} bytes")))
        }
    }

    /// The file is full, and the transaction is given up; at times there is more room from now on.
    pub(crate) fn filled(&mut self, ops: &[Op], txn: Option<WriteTxn>, full: &FullMap) -> Step {
        match txn {
            None => {
                self.check_full(full)?;
                self.counts.add("full, commit", 1);
            }
            Some(txn) => {
                if self.pc.is_multiple_of(2) && !matches!(txn.commit(), Err(huon::Error::TxnBroken))
                {
                    return Err(Stop::Fail("what is broken was committed".into()));
                }
                self.counts.add("full, abort", 1);
                let ends = |op: &Op| matches!(op, Op::Commit { .. } | Op::Abort | Op::Begin { .. });
                let rest = &ops[self.pc.min(ops.len())..];
                self.pc += rest.iter().position(ends).unwrap_or(rest.len());
                let is_end = |op: &Op| matches!(op, Op::Commit { .. } | Op::Abort);
                self.pc += usize::from(ops.get(self.pc).is_some_and(is_end));
            }
        }
        self.note_evictable();
        self.settled(false)?;
        if !self.pc.is_multiple_of(3) {
            self.limit(Limit::Room)?;
            self.counts.add("room again", 1);
        }
        Ok(())
    }
}
