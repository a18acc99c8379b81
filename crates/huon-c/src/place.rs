//! Where a cursor stands.
//!
//! LMDB's cursor stands on a record, and one whose record was deleted stands on the next one, with
//! a mark that spares the next step. Huon's scans stand between records. A [`Place`] is a scan and
//! what it means:
//!
//! C1. `Before`, `Behind`: the record on that side of the gap is the cursor's.
//! C2. `Gone`: the cursor's record was deleted, and the one behind the gap is its next one. The gap
//!     was put before that one when it happened, so what comes in between later is not met. The
//!     first of anything that is asked of the cursor takes the mark away.
//! C3. `DupsEnd`: the last value of a key that has others went. The gap is behind the last one
//!     that is left.
//! C4. A delete updates every cursor of the transaction ([`Place::leave`]), so no cursor stands on
//!     a record that is not there.
//! C5. `Between`: a search has not found its key, and the next one has several values. The gap is
//!     where the key would be. No value is the cursor's: what asks for one, or for the next one of
//!     its key, is refused, and a step goes to the record on its side of the gap. (A next key with
//!     one value is the cursor's, as in tables that have one for each.)
//! C6. `Emptied`: the cursor's record was the last of its table, and was deleted. The next step
//!     ends at what lies on its side of the record that went, so a walk that puts it again ends.
//!     It is a mark as in C2: behind the first thing that is asked the cursor stands nowhere.

use huon::{Bytes, InLeaf, MultiCursor, Passed, ReadTxn, Txn};

use crate::fault::{Fault, Res};
use crate::steps::{BACK, FORWARD, HERE, Stride};
use crate::table::Table;

/// A record: key, and value. `None` is the value of a name of a database.
pub(crate) type Item<'t> = (&'t [u8], Option<&'t [u8]>);

#[derive(Clone)]
pub(crate) struct Place {
    table: Table,
    /// From the first thing on that is asked of the cursor: it is large.
    scan: Option<Box<Gap>>,
    pub(crate) stand: Stand,
    /// The last thing asked for was the end of the table, or lay behind it.
    pub(crate) at_end: bool,
    /// The cursor's value was given last, with others.
    pub(crate) is_given: bool,
}

#[derive(Clone)]
enum Gap {
    Plain(huon::Cursor<Bytes, Bytes>),
    Multi(MultiCursor<Bytes, Bytes>),
}

/// Does something with a gap, whichever it is.
macro_rules! in_gap {
    ($gap:expr, $scan:ident => $work:expr) => {
        match $gap {
            Gap::Plain($scan) => $work,
            Gap::Multi($scan) => $work,
        }
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stand {
    /// Nowhere yet.
    Unset,
    /// On the record before the gap.
    Before,
    /// On the record behind the gap.
    Behind,
    /// `of_key`: the key of the next record is the one whose value went.
    Gone {
        of_key: bool,
    },
    DupsEnd,
    Between,
    Emptied,
}

/// What was deleted.
#[derive(Clone, Copy)]
pub(crate) enum Went<'k> {
    /// A key with all it had.
    Key(&'k [u8]),
    /// A value of a key that has others.
    Value(&'k [u8], &'k [u8]),
    /// A value of a key, in whose place there is another.
    Replaced(&'k [u8], &'k [u8], &'k [u8]),
}

impl Place {
    pub(crate) fn new(table: Table) -> Place {
        Place { table, scan: None, stand: Stand::Unset, at_end: false, is_given: false }
    }

    pub(crate) fn is_multi(&self) -> bool {
        matches!(self.table, Table::Multi(_))
    }

    // ---- the gap

    fn scan(&mut self) -> &mut Gap {
        let table = self.table;
        self.scan.get_or_insert_with(|| {
            Box::new(match table {
                Table::Main(table) | Table::Plain(table) => Gap::Plain(table.cursor()),
                Table::Multi(table) => Gap::Multi(table.cursor()),
            })
        })
    }

    fn step<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Res<Option<Item<'t>>> {
        Ok(in_gap!(self.scan(), scan => scan.glide(txn, forward)?))
    }

    /// Has the gap know what lies beside it: steps in a read transaction leave that open.
    fn remember(&mut self, txn: &impl Txn) -> huon::Result<()> {
        in_gap!(self.scan(), scan => scan.remember(txn))
    }

    /// Moves the gap over the next record that way, which is the cursor's then.
    fn go<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Res<Option<Item<'t>>> {
        let found = self.step(txn, forward)?;
        if found.is_some() {
            self.stand = if forward { Stand::Before } else { Stand::Behind };
            self.is_given = false;
        }
        self.at_end = found.is_none() && forward;
        Ok(found)
    }

    fn move_to_edge(&mut self, forward: bool) {
        in_gap!(self.scan(), scan => if forward { scan.to_end() } else { scan.to_start() })
    }

    /// The gap before all of a key, or behind.
    fn seek(&mut self, key: &[u8], behind: bool) -> huon::Result<()> {
        in_gap!(self.scan(), scan => if behind { scan.seek_after(key) } else { scan.seek(key) })
    }

    fn seek_pair(&mut self, key: &[u8], value: &[u8], behind: bool) -> huon::Result<()> {
        match (self.scan(), behind) {
            (Gap::Plain(_), _) => self.seek(key, behind),
            (Gap::Multi(scan), false) => scan.seek_pair(key, value),
            (Gap::Multi(scan), true) => scan.seek_after_pair(key, value),
        }
    }

    /// The record beside the gap, if that knows it: the cursor's, unless it has none.
    fn near(&self) -> Option<(&[u8], &[u8])> {
        match self.scan.as_deref()? {
            Gap::Plain(scan) => scan.position().map(|key| (key, &b""[..])),
            Gap::Multi(scan) => scan.position(),
        }
    }

    // ---- positions

    pub(crate) fn unset(&mut self) {
        self.stand = Stand::Unset;
    }

    /// On a record that was just stored.
    pub(crate) fn set_on(&mut self, key: &[u8], value: &[u8]) -> huon::Result<()> {
        self.seek_pair(key, value, true)?;
        (self.stand, self.at_end, self.is_given) = (Stand::Before, false, false);
        Ok(())
    }

    /// The first record or the last.
    pub(crate) fn edge<'t>(&mut self, txn: &'t impl Txn, last: bool) -> Res<Item<'t>> {
        self.move_to_edge(last);
        self.stand = Stand::Unset;
        let found = self.go(txn, !last)?;
        self.at_end = last;
        found.ok_or(Fault::NotFound)
    }

    /// The cursor's record. Takes the mark away.
    pub(crate) fn current<'t>(&mut self, txn: &'t impl Txn) -> Res<Item<'t>> {
        let (at_end, is_given) = (self.at_end, self.is_given);
        let found = match self.stand {
            Stand::Unset | Stand::Between | Stand::Emptied => return Err(Fault::Unpositioned),
            Stand::Before => self.go(txn, false)?,
            Stand::Behind | Stand::Gone { .. } => self.go(txn, true)?,
            Stand::DupsEnd => None,
        };
        (self.at_end, self.is_given) = (at_end, is_given);
        found.ok_or(Fault::NotFound)
    }

    /// Whether there is nothing behind the cursor, as far as it was asked for.
    pub(crate) fn is_at_end(&self, txn: &impl Txn) -> Res<bool> {
        match self.stand {
            Stand::Unset | Stand::Emptied => Ok(true),
            Stand::Gone { .. } if !self.at_end => Ok(self.clone().step(txn, true)?.is_none()),
            _ => Ok(self.at_end),
        }
    }

    /// The record after the cursor's, or before it. At the end of the table it stays.
    pub(crate) fn beside<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Res<Item<'t>> {
        let is_given = self.is_given;
        match (self.stand, forward) {
            (Stand::Unset, _) => {
                let found = self.edge(txn, !forward);
                self.at_end = found.is_err();
                return found;
            }
            // The gap is on the other side of the cursor's record.
            (Stand::Before, false) | (Stand::Behind, true) => drop(self.go(txn, forward)?),
            (Stand::Emptied, _) => self.pass(forward)?,
            _ => {}
        }
        let found = self.go(txn, forward)?;
        if found.is_none() {
            self.is_given = is_given;
        }
        found.ok_or(Fault::NotFound)
    }

    /// The gap on the other side of the key of the record that it lies beside.
    fn pass(&mut self, forward: bool) -> huon::Result<()> {
        if let Some(key) = self.near().map(|(key, _)| key.to_vec()) {
            self.seek(&key, forward)?;
        }
        Ok(())
    }

    /// The same, and [`Place::beside_value`], where a step is one of the gap's; `None`, and nothing
    /// has moved, where it is not.
    #[inline(always)]
    pub(crate) fn straight_on<'t>(
        &mut self,
        txn: &'t impl Txn,
        forward: bool,
        stride: Stride,
    ) -> Res<Option<Item<'t>>> {
        let stand = if forward { Stand::Before } else { Stand::Behind };
        let Some(scan) = self.scan.as_deref_mut().filter(|_| self.stand == stand) else {
            return Ok(None);
        };
        let found = match scan {
            Gap::Plain(scan) => scan.glide(txn, forward)?,
            Gap::Multi(scan) => match stride {
                Stride::All => scan.glide(txn, forward)?,
                Stride::Keys => scan.glide_key(txn, forward)?,
                Stride::Values => match scan.glide_value(txn, forward)? {
                    Some(None) => return Err(Fault::NotFound),
                    found => found.flatten(),
                },
            },
        };
        if found.is_some() {
            (self.at_end, self.is_given) = (false, false);
        }
        Ok(found)
    }

    /// The steps that go straight on, or nowhere, each by its bit. None: there is more to think of.
    #[inline]
    pub(crate) fn straight(&self) -> u16 {
        match self.stand {
            _ if self.at_end || self.is_given => 0,
            Stand::Before => FORWARD.all | HERE,
            Stand::Behind => BACK.all | HERE,
            _ => 0,
        }
    }

    /// Passes the next records in a leaf that way, `most` of them at most, where a step goes
    /// [straight on](Place::straight) in a read transaction; where in the leaf that began, and how
    /// many there were. At the end of a leaf those of the next one, if it `leaves` this one.
    #[inline(always)]
    pub(crate) fn pass_in_leaf<'t>(
        &mut self,
        txn: &'t ReadTxn,
        (forward, leaves): (bool, bool),
        most: usize,
        each: impl FnMut(&'t [u8], &'t [u8], Passed),
    ) -> Res<Option<(InLeaf, usize)>> {
        let Some(gap) = self.scan.as_deref_mut() else { return Ok(None) };
        Ok(in_gap!(gap, scan => scan.glide_in_row(txn, forward, leaves, most, each))?)
    }

    /// Looks at the record that was passed last, that way, as it was; where the place is.
    pub(crate) fn look_back<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        each: impl FnMut(&'t [u8], &'t [u8], Passed),
    ) -> Option<InLeaf> {
        in_gap!(self.scan.as_deref_mut()?, scan => scan.look_back(txn, forward, each))
    }

    /// Goes to another place in its leaf.
    pub(crate) fn go_in_leaf(&mut self, place: InLeaf) {
        if let Some(gap) = self.scan.as_deref_mut() {
            in_gap!(gap, scan => scan.go_in_leaf(place));
        }
    }

    /// As [`Place::beside`], to another key.
    pub(crate) fn beside_key<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Res<Item<'t>> {
        let has_none = matches!(self.stand, Stand::Unset | Stand::Between | Stand::Emptied);
        if !self.is_multi() || has_none {
            return self.beside(txn, forward);
        }
        let before = self.clone();
        match (self.stand, forward) {
            (Stand::Gone { of_key: false }, _) => {}
            (Stand::DupsEnd, true) => {}
            _ => {
                self.current_near(txn)?;
                self.remember(txn)?;
                if let Gap::Multi(scan) = self.scan() {
                    if forward { scan.skip_key() } else { scan.skip_key_back() }
                }
            }
        }
        let found = self.go(txn, forward)?;
        if found.is_none() {
            *self = before;
        }
        found.ok_or(Fault::NotFound)
    }

    /// Sees to it that what lies beside the gap is a record of the cursor's key.
    fn current_near(&mut self, txn: &impl Txn) -> Res<()> {
        match self.stand {
            Stand::DupsEnd => drop(self.step(txn, false)?),
            Stand::Gone { .. } => drop(self.step(txn, true)?),
            _ => {}
        }
        Ok(())
    }

    /// As [`Place::beside`], within the cursor's key.
    pub(crate) fn beside_value<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Res<Item<'t>> {
        let gone = matches!(self.stand, Stand::Gone { .. } | Stand::Emptied);
        if !(self.is_multi() || gone && forward) {
            // With one value for each key the next value is the next key's.
            return self.beside(txn, forward);
        }
        match (self.stand, forward) {
            (Stand::Unset, true) => return self.edge(txn, false),
            (Stand::Between, _) => return Err(Fault::Unpositioned),
            (Stand::Unset, false)
            | (Stand::Gone { of_key: false } | Stand::Emptied, _)
            | (Stand::DupsEnd, true) => return Err(Fault::NotFound),
            _ => {}
        }
        let (at_end, is_given) = (self.at_end, self.is_given);
        let marked = !matches!(self.stand, Stand::Before | Stand::Behind);
        let before = marked.then(|| self.clone());
        let key = self.key(txn)?;
        let found = self.beside(txn, forward);
        match (found, before) {
            (Ok((other, value)), _) if other == key => return Ok((other, value)),
            (Err(code), _) if code != Fault::NotFound => return Err(code),
            (_, Some(before)) => *self = before,
            // Back from another key's value; at the end of the table it has not moved.
            (Ok(_), None) => drop(self.beside(txn, !forward)?),
            (Err(_), None) => {}
        }
        (self.at_end, self.is_given) = (at_end, is_given);
        Err(Fault::NotFound)
    }

    /// Where the next values of the cursor's key begin, of which there must be one: with the
    /// cursor's own, unless that was given with others.
    pub(crate) fn next_values<'t>(&mut self, txn: &'t impl Txn) -> Res<Item<'t>> {
        let owns = matches!(self.stand, Stand::Before | Stand::Behind) && !self.is_given;
        let own = owns.then(|| self.clone());
        let next = self.beside_value(txn, true)?;
        match own {
            Some(own) => {
                *self = own;
                self.current(txn)
            }
            None => Ok(next),
        }
    }

    /// The cursor's key.
    pub(crate) fn key(&mut self, txn: &impl Txn) -> Res<Vec<u8>> {
        let stand = self.stand;
        match stand {
            Stand::Unset | Stand::Between | Stand::Emptied => Err(Fault::Unpositioned),
            Stand::Gone { .. } | Stand::DupsEnd => {
                let mut looking = self.clone();
                let found = looking.step(txn, stand != Stand::DupsEnd)?;
                Ok(found.ok_or(Fault::NotFound)?.0.to_vec())
            }
            _ => {
                self.remember(txn)?;
                Ok(self.near().ok_or(Fault::NotFound)?.0.to_vec())
            }
        }
    }

    /// The first value of the cursor's key, or the last.
    pub(crate) fn edge_value<'t>(&mut self, txn: &'t impl Txn, last: bool) -> Res<Item<'t>> {
        let key = self.key(txn)?;
        self.seek(&key, last)?;
        self.go(txn, !last)?.ok_or(Fault::NotFound)
    }

    /// The first record whose key is not below `key`.
    pub(crate) fn at_or_above<'t>(&mut self, txn: &'t impl Txn, key: &[u8]) -> Res<Item<'t>> {
        self.seek(key, false)?;
        self.find(txn)
    }

    /// The first value of `key` that is not below `value`, or what comes behind all of its values.
    pub(crate) fn pair_at_or_above<'t>(
        &mut self,
        txn: &'t impl Txn,
        key: &[u8],
        value: &[u8],
    ) -> Res<Item<'t>> {
        self.seek_pair(key, value, false)?;
        self.find(txn)
    }

    /// The first record whose key is above `key`, or with a value the first that is above the pair.
    /// If the last key is the one itself, the cursor stays on that.
    pub(crate) fn above<'t>(
        &mut self,
        txn: &'t impl Txn,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Res<Item<'t>> {
        match value {
            Some(value) => self.seek_pair(key, value, true)?,
            None => self.seek(key, true)?,
        }
        let mut before = self.clone();
        if let Err(fault) = self.find(txn).map(drop) {
            let same = before.go(txn, false)?.is_some_and(|last| last.0 == key);
            if fault == Fault::NotFound && same {
                before.at_end = true;
                *self = before;
            }
            return Err(fault);
        }
        self.current(txn)
    }

    /// Where a key would be that was found not to be there, on none of the several values that the
    /// next one has.
    pub(crate) fn miss(&mut self, txn: &impl Txn, key: &[u8]) -> Res<()> {
        if !self.is_multi() || self.stand != Stand::Before {
            return Ok(());
        }
        self.remember(txn)?;
        let mut looking = self.clone();
        let second = looking.step(txn, true)?;
        if second.is_some_and(|(next, _)| self.near().is_some_and(|(first, _)| first == next)) {
            self.seek(key, false)?;
            self.stand = Stand::Between;
        }
        Ok(())
    }

    /// Behind the last value of `key`, if it has any: all are below what was looked for. If it has
    /// none, that is a [miss](Place::miss).
    pub(crate) fn behind_values(
        &mut self,
        txn: &impl Txn,
        key: &[u8],
        same: impl Fn(&[u8]) -> bool,
    ) -> Res<()> {
        let mut looking = self.clone();
        looking.seek(key, true)?;
        if !looking.step(txn, false)?.is_some_and(|(found, _)| same(found)) {
            return self.miss(txn, key);
        }
        let mut before = looking.clone();
        let is_only = !before.step(txn, false)?.is_some_and(|(found, _)| same(found));
        looking.step(txn, true)?;
        looking.stand = if is_only { Stand::Before } else { Stand::DupsEnd };
        (looking.at_end, looking.is_given) = (false, false);
        *self = looking;
        Ok(())
    }

    /// Whether the cursor's key is the first one or the last; so is one that is not there.
    pub(crate) fn at_edge(&self, txn: &impl Txn, last: bool) -> Res<bool> {
        let mut looking = self.clone();
        looking.unmark(txn)?;
        let beside = match looking.stand {
            Stand::Unset => looking.edge(txn, last),
            _ => looking.beside_key(txn, last),
        };
        match beside {
            Ok(_) => Ok(false),
            Err(Fault::NotFound) => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Whether the cursor's value is the first of its key or the last.
    pub(crate) fn at_edge_value(&self, txn: &impl Txn, last: bool) -> Res<bool> {
        let mut looking = self.clone();
        looking.current(txn)?;
        if !self.is_multi() {
            return Ok(true);
        }
        match looking.beside_value(txn, last) {
            Ok(_) => Ok(false),
            Err(Fault::NotFound) => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// The record behind a gap that was sought; behind the last record the cursor stands as if that
    /// had a next one, which is gone.
    fn find<'t>(&mut self, txn: &'t impl Txn) -> Res<Item<'t>> {
        match self.go(txn, true)? {
            Some(found) => Ok(found),
            None => {
                self.move_to_edge(true);
                let is_empty = self.step(txn, false)?.is_none();
                self.move_to_edge(true);
                self.stand = if is_empty { Stand::Unset } else { Stand::Gone { of_key: false } };
                Err(Fault::NotFound)
            }
        }
    }

    /// Takes away the mark, if there is one: the next record is the cursor's from now on.
    pub(crate) fn unmark(&mut self, txn: &impl Txn) -> Res<()> {
        if self.stand == Stand::Emptied {
            self.stand = Stand::Unset;
        } else if matches!(self.stand, Stand::Gone { .. }) && self.step(txn, true)?.is_some() {
            self.stand = Stand::Before;
        }
        Ok(())
    }

    // ---- what others do

    /// Leaves the last record that its table had.
    pub(crate) fn leave_last(&mut self) {
        let stood = !matches!(self.stand, Stand::Unset | Stand::Between) && self.near().is_some();
        self.stand = if stood { Stand::Emptied } else { Stand::Unset };
    }

    /// Leaves what was deleted, if the cursor stands on it.
    pub(crate) fn leave(&mut self, txn: &impl Txn, went: Went<'_>) -> Res<()> {
        let standing = match (self.near(), went) {
            _ if matches!(self.stand, Stand::Unset | Stand::Between | Stand::Emptied) => false,
            (Some((key, _)), Went::Key(gone)) => key == gone,
            (Some((key, value)), Went::Value(gone, of) | Went::Replaced(gone, of, _)) => {
                key == gone && value == of
            }
            (None, _) => false,
        };
        if !standing {
            return Ok(());
        }
        self.is_given = false;
        match went {
            Went::Key(key) => {
                self.seek(key, false)?;
                self.nail(txn, None)
            }
            Went::Value(key, value) => {
                self.seek_pair(key, value, false)?;
                self.nail(txn, Some(key))
            }
            Went::Replaced(key, _, value) => {
                // On the other side of what it stood beside, as before.
                let behind = matches!(self.stand, Stand::Before | Stand::DupsEnd);
                self.seek_pair(key, value, !behind)?;
                self.step(txn, behind)?;
                Ok(())
            }
        }
    }

    /// Puts the gap right before the record that is behind it.
    fn nail(&mut self, txn: &impl Txn, key: Option<&[u8]>) -> Res<()> {
        let next = self.step(txn, true)?.map(|(next, _)| Some(next) == key);
        self.stand = Stand::Gone { of_key: next == Some(true) };
        match (next, key) {
            // Values are left, all of them before the one that went.
            (None | Some(false), Some(key)) => {
                self.seek(key, true)?;
                if self.step(txn, false)?.is_some() {
                    self.step(txn, true)?;
                }
                self.stand = Stand::DupsEnd;
            }
            (Some(_), _) => drop(self.step(txn, false)?),
            (None, _) => self.move_to_edge(true),
        }
        Ok(())
    }
}
