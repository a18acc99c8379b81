//! Where a cursor stands.
//!
//! 1. A cursor whose record was deleted stands on the next one, marked: the next step forward ends
//!    there. Whatever is asked of the cursor takes the mark away.
//! 2. What is put before the marked record later is not met by a step forward.
//! 3. Where the last value of a key went that has others, the cursor is behind those that are left;
//!    also where a value was looked for above all of a key's.
//! 4. At an end it stays where it is.
//! 5. Where a key was looked for that is not there, and the next one has several values, the
//!    cursor is before that and on no value: what is asked of values is refused.
//! 6. Where the last record of a table went, the next step ends at what has come in on its side
//!    of that one; whatever is asked of the cursor takes the mark away, and leaves it nowhere.

use super::names::code::*;
use super::names::go::*;
use super::rows::{Rows, Spot};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Nowhere.
    Unset,
    On(Spot),
    /// The record that was here is gone; `next` is the one after it, if there is one, `of_key` says
    /// whether it has the same key.
    Marked {
        next: Option<Spot>,
        of_key: bool,
    },
    /// Behind this one, which is the last value of its key.
    ValuesEnd(Spot),
    /// Where this key would be, which is not there.
    Between(Vec<u8>),
    /// The record of this key was the last of the table, and is gone.
    Emptied(Vec<u8>),
}

/// What was deleted.
pub(super) enum Went<'w> {
    /// A key with all of its values.
    Key(&'w [u8]),
    /// A value of a key that has others.
    Value(&'w [u8], &'w [u8]),
}

/// Bytes that are given at once at most, where there are many values of one length.
const BATCH_BYTES: usize = 4096;

type Went2 = Result<Spot, i32>;

impl Place {
    /// The record that is the cursor's, or is next.
    pub(super) fn near(&self) -> Option<&Spot> {
        match self {
            Place::Unset | Place::Between(_) | Place::Emptied(_) => None,
            Place::On(spot) | Place::ValuesEnd(spot) => Some(spot),
            Place::Marked { next, .. } => next.as_ref(),
        }
    }

    /// Whether no record is the cursor's, and none is where it stands.
    pub(super) fn is_nowhere(&self) -> bool {
        matches!(self, Place::Unset | Place::Between(_) | Place::Emptied(_))
    }

    /// Takes the mark away.
    pub(super) fn unmark(&mut self) {
        match self {
            Place::Marked { next: Some(next), .. } => *self = Place::On(next.clone()),
            Place::Emptied(_) => *self = Place::Unset,
            _ => {}
        }
    }

    fn to(&mut self, found: Option<Spot>) -> Went2 {
        let spot = found.ok_or(NOTFOUND)?;
        *self = Place::On(spot.clone());
        Ok(spot)
    }

    /// One of the operations that only need a place; not those for several values at once.
    pub(super) fn go(&mut self, rows: &Rows, op: u32) -> Went2 {
        let went = match op {
            FIRST | LAST => self.edge(rows, op == LAST),
            GET_CURRENT => self.current(),
            NEXT | PREV => self.beside(rows, op == NEXT),
            NEXT_NODUP | PREV_NODUP => self.beside_key(rows, op == NEXT_NODUP),
            NEXT_DUP | PREV_DUP => self.beside_value(rows, op == NEXT_DUP),
            FIRST_DUP | LAST_DUP => self.edge_of(rows, op == LAST_DUP),
            _ => Err(EINVAL),
        };
        if went.is_err() {
            self.unmark();
        }
        went
    }

    fn edge(&mut self, rows: &Rows, last: bool) -> Went2 {
        *self = Place::Unset;
        self.to(rows.edge(last))
    }

    pub(super) fn current(&mut self) -> Went2 {
        match self.clone() {
            Place::Unset | Place::Between(_) | Place::Emptied(_) => Err(EINVAL),
            Place::On(spot) => Ok(spot),
            Place::Marked { next, .. } => self.to(next),
            Place::ValuesEnd(_) => Err(NOTFOUND),
        }
    }

    fn beside(&mut self, rows: &Rows, forward: bool) -> Went2 {
        let next = match (&*self, forward) {
            (Place::Unset, _) => rows.edge(!forward),
            (Place::On(spot), _) => rows.beside(spot, forward),
            (Place::Marked { next, .. }, true) => next.clone(),
            (Place::Marked { next: Some(next), .. }, false) => rows.beside(next, false),
            (Place::Marked { next: None, .. }, false) => rows.edge(true),
            (Place::ValuesEnd(last), true) => rows.beside(last, true),
            (Place::ValuesEnd(last), false) => Some(last.clone()),
            (Place::Between(key), true) => rows.seek(key, None),
            (Place::Between(key), false) => rows.beside_key(key, false),
            (Place::Emptied(key), _) => rows.beside_key(key, forward),
        };
        self.to(next)
    }

    fn beside_key(&mut self, rows: &Rows, forward: bool) -> Went2 {
        let next = match (&*self, forward) {
            _ if !rows.kind.has_many() => return self.beside(rows, forward),
            (Place::Marked { of_key: false, .. }, _) => return self.beside(rows, forward),
            (place, _) if place.is_nowhere() => return self.beside(rows, forward),
            (Place::ValuesEnd(last), true) => rows.beside(last, true),
            (place, _) => {
                let key = place.near().ok_or(NOTFOUND)?.key.clone();
                rows.beside_key(&key, forward)
            }
        };
        self.to(next)
    }

    fn beside_value(&mut self, rows: &Rows, forward: bool) -> Went2 {
        let marked = matches!(self, Place::Marked { .. } | Place::Emptied(_));
        if !(rows.kind.has_many() || marked && forward) {
            return self.beside(rows, forward);
        }
        let next = match (&*self, forward) {
            (Place::Unset, true) => return self.edge(rows, false),
            (Place::Between(_), _) => return Err(EINVAL),
            (Place::Unset, false) | (Place::Emptied(_), _) => None,
            (Place::Marked { of_key: false, .. }, _) | (Place::ValuesEnd(_), true) => None,
            (Place::ValuesEnd(last), false) => Some(last.clone()),
            (Place::On(spot), _) => {
                rows.beside(spot, forward).filter(|other| other.key == spot.key)
            }
            (Place::Marked { next, .. }, true) => next.clone(),
            (Place::Marked { next, .. }, false) => next
                .as_ref()
                .and_then(|next| rows.beside(next, false).filter(|other| other.key == next.key)),
        };
        self.to(next)
    }

    fn edge_of(&mut self, rows: &Rows, last: bool) -> Went2 {
        if self.is_nowhere() {
            return Err(EINVAL);
        }
        let key = self.near().ok_or(NOTFOUND)?.key.clone();
        self.to(rows.edge_of(&key, last))
    }

    /// A search; where nothing is found, the cursor is before what would come next.
    pub(super) fn seek(&mut self, rows: &Rows, op: u32, key: &[u8], value: &[u8]) -> Went2 {
        let bound = matches!(op, SET_LOWERBOUND | SET_UPPERBOUND) && rows.kind.has_many();
        let in_pair = bound || matches!(op, GET_BOTH | GET_BOTH_RANGE);
        let mut found = rows.seek(key, in_pair.then_some(value));
        if op == SET_UPPERBOUND {
            // As long as it is what was asked for, the next one is wanted.
            found = match found {
                Some(spot) if !in_pair && rows.is_same(&spot, key, None) => {
                    rows.beside_key(&spot.key, true)
                }
                Some(spot) if rows.is_same(&spot, key, in_pair.then_some(value)) => {
                    rows.beside(&spot, true)
                }
                found => found,
            };
            // Above the last key there is nothing, and the cursor stays on that.
            if let (None, Some(last)) = (&found, rows.edge(true))
                && rows.is_same(&last, key, None)
            {
                *self = Place::On(last);
                return Err(NOTFOUND);
            }
        } else if in_pair
            && !(op == SET_LOWERBOUND && found.is_some())
            && found.as_ref().is_none_or(|found| found.key != key)
            && let Some(last) = rows.edge_of(key, true)
        {
            // All values of the key are below the one that was looked for.
            let is_only = rows.edge_of(key, false).as_ref() == Some(&last);
            *self = if is_only { Place::On(last) } else { Place::ValuesEnd(last) };
            return Err(NOTFOUND);
        }
        let Some(found) = found else {
            *self = if rows.is_empty() {
                Place::Unset
            } else {
                Place::Marked { next: None, of_key: false }
            };
            return Err(NOTFOUND);
        };
        *self = Place::On(found.clone());
        let fits = match op {
            SET_RANGE | SET_LOWERBOUND | SET_UPPERBOUND => true,
            GET_BOTH => found.key == key && found.value == value,
            _ => found.key == key,
        };
        let has_several = rows.values(&found.key).is_some_and(|values| values.len() > 1);
        if !fits && has_several && found.key != key {
            *self = Place::Between(key.to_vec());
        }
        if fits { Ok(found) } else { Err(NOTFOUND) }
    }

    /// Several values at once: where they begin, and what they are. The next ones begin with the
    /// cursor's own, unless that was given with others.
    pub(super) fn several(
        &mut self,
        rows: &Rows,
        op: u32,
        is_given: bool,
    ) -> Result<(Spot, Vec<u8>), i32> {
        let own = self.clone();
        let first = match (op, &own) {
            (NEXT_MULTIPLE, Place::On(spot)) if !is_given => {
                self.go(rows, NEXT_DUP)?;
                self.to(Some(spot.clone()))?
            }
            (NEXT_MULTIPLE, _) => self.go(rows, NEXT_DUP)?,
            (PREV_MULTIPLE, _) => self.go(rows, PREV_DUP)?,
            _ => self.go(rows, GET_CURRENT)?,
        };
        let mut values = vec![first.value.clone()];
        let step = if op == PREV_MULTIPLE { PREV_DUP } else { NEXT_DUP };
        while (values.len() + 1) * first.value.len() <= BATCH_BYTES {
            match self.beside_value(rows, step == NEXT_DUP) {
                Ok(spot) => values.push(spot.value),
                Err(_) => break,
            }
        }
        if op == PREV_MULTIPLE {
            values.reverse();
        }
        Ok((first, values.concat()))
    }

    /// Another cursor, or this one, has deleted something.
    pub(super) fn leave(&mut self, rows: &Rows, went: &Went<'_>) {
        if rows.is_empty() {
            *self = match self.near() {
                Some(near) => Place::Emptied(near.key.clone()),
                None if matches!(self, Place::Emptied(_)) => return,
                None => Place::Unset,
            };
            return;
        }
        let Some(near) = self.near() else { return };
        match went {
            Went::Key(key) if near.key == **key => {
                *self = Place::Marked { next: rows.seek(key, None), of_key: false };
            }
            Went::Value(key, value) if near.key == **key && near.value == **value => {
                let next = rows.seek(key, Some(value)).filter(|next| next.key == **key);
                *self = match (next, rows.edge_of(key, true)) {
                    (None, Some(last)) => Place::ValuesEnd(last),
                    (next, _) => Place::Marked { next, of_key: true },
                };
            }
            _ => {}
        }
    }

    /// A record's value was replaced by another, which has its place in the order.
    pub(super) fn replaced(&mut self, key: &[u8], old: &[u8], new: &[u8]) {
        let there = |spot: &Spot| spot.key == key && spot.value == old;
        let spot = Spot { key: key.to_vec(), value: new.to_vec() };
        match self {
            Place::On(on) if there(on) => *on = spot,
            Place::ValuesEnd(on) if there(on) => *on = spot,
            Place::Marked { next: Some(on), .. } if there(on) => *on = spot,
            _ => {}
        }
    }
}
