//! The handles of databases that an environment has given out.
//!
//! Each is found by its number and by its name, those that a transaction has opened by the
//! transaction, and the lowest free number at once: none of it looks at all that are open. All of
//! it is kept by `Dbis::put`, the one place that changes what a handle stands for.

use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use huon::{ForkGuard, HeldOff};

use crate::fault::{Fault, Res};
use crate::table::Dbi;
use crate::txn::Txn;

/// The first handle of a named database.
pub(crate) const NAMED: usize = 2;

/// The databases of an environment by handle.
#[derive(Clone, Default)]
pub struct Dbis {
    list: Vec<Option<Dbi>>,
    /// The handles of named ones by name; the lowest counts.
    by_name: HashMap<Arc<[u8]>, BTreeSet<usize>>,
    /// Handles below the end of the list that are free.
    vacant: BTreeSet<usize>,
    /// The handles that are a transaction's own, by transaction.
    owned: HashMap<usize, BTreeSet<usize>>,
    /// How many named ones may be open at once.
    pub max: u32,
}

/// The databases of an environment while one thread changes them.
pub struct DbisMut<'e> {
    pub(crate) dbis: ForkGuard<'e, Arc<Dbis>>,
    /// A child that is forked meanwhile finds them before or after the change.
    pub(crate) _held_off: HeldOff,
}

impl Deref for DbisMut<'_> {
    type Target = Dbis;

    fn deref(&self) -> &Dbis {
        &self.dbis
    }
}

impl DerefMut for DbisMut<'_> {
    fn deref_mut(&mut self) -> &mut Dbis {
        Arc::make_mut(&mut self.dbis)
    }
}

impl Dbis {
    /// A database that the transaction may use: what another one has opened is its own until it
    /// commits.
    pub fn get(&self, dbi: u32, txn: &Txn) -> Res<&Dbi> {
        let mut found = self.list.get(dbi as usize).and_then(Option::as_ref);
        while let Some(dbi) = found {
            if dbi.owner == 0 || txn.is_within(dbi.owner) {
                return Ok(dbi);
            }
            found = dbi.was.as_deref();
        }
        Err(Fault::Closed)
    }

    /// A database that the transaction has just opened. Where another one has opened it, too, it is
    /// that one's alone until it commits.
    pub fn opened(&self, dbi: u32, txn: &Txn) -> Res<&Dbi> {
        let newest = || self.list.get(dbi as usize).and_then(Option::as_ref).ok_or(Fault::Closed);
        self.get(dbi, txn).or_else(|_| newest())
    }

    /// The named one of this name that is open.
    pub(crate) fn named(&self, name: &[u8]) -> Option<(u32, &Dbi)> {
        let index = *self.by_name.get(name)?.first()?;
        Some((index as u32, self.list[index].as_ref()?))
    }

    /// The handle of a named one, if it is open.
    pub fn handle_of(&self, name: &[u8]) -> Option<u32> {
        self.named(name).map(|(dbi, _)| dbi)
    }

    /// A handle that is free.
    pub(crate) fn vacant(&self) -> Res<usize> {
        let index = self.vacant.first().copied().unwrap_or(self.list.len().max(NAMED));
        if index < NAMED + self.max as usize { Ok(index) } else { Err(Fault::TablesFull) }
    }

    /// Sets what a handle stands for: to a transaction alone, if that has changed it.
    pub(crate) fn set(&mut self, index: usize, mut dbi: Dbi) {
        if let Some(old) = self.put(index, None)
            && dbi.owner != 0
        {
            dbi.was = if old.owner == dbi.owner { old.was } else { Some(Arc::new(old)) };
        }
        self.put(index, Some(dbi));
    }

    /// Changes what a handle stands for, and says what that was.
    fn put(&mut self, index: usize, dbi: Option<Dbi>) -> Option<Dbi> {
        while self.list.len() <= index {
            if self.list.len() >= NAMED {
                self.vacant.insert(self.list.len());
            }
            self.list.push(None);
        }
        let old = std::mem::replace(&mut self.list[index], dbi);
        if let Some(old) = &old {
            leave(&mut self.by_name, &old.name, index);
            leave(&mut self.owned, &old.owner, index);
        }
        let new = self.list[index].as_ref();
        if index >= NAMED {
            match new {
                Some(dbi) => {
                    self.vacant.remove(&index);
                    self.by_name.entry(dbi.name.clone()).or_default().insert(index);
                }
                None => drop(self.vacant.insert(index)),
            }
        }
        if let Some(dbi) = new.filter(|dbi| dbi.owner != 0) {
            self.owned.entry(dbi.owner).or_default().insert(index);
        }
        old
    }

    /// Whether it has opened something that is still its own.
    pub(crate) fn is_owner(&self, txn: usize) -> bool {
        self.owned.contains_key(&txn)
    }

    /// Transactions are over, one within the other: what they have opened is the owner's then, or
    /// closed. A handle that several of them have changed is gone through once.
    pub(crate) fn end_of(&mut self, txns: &[usize], owner: Option<usize>) {
        let has_ended = |dbi: &Dbi| dbi.owner != 0 && txns.contains(&dbi.owner);
        let owned = txns.iter().filter_map(|txn| self.owned.remove(txn));
        for index in owned.collect::<Vec<_>>().into_iter().flatten() {
            let Some(mut dbi) = self.put(index, None) else { continue };
            let mut before = dbi.was.take();
            while let Some(was) = before.take_if(|was| has_ended(was)) {
                before = was.was.clone();
            }
            let after = match owner {
                Some(owner) => {
                    dbi.owner = owner;
                    // The owner undoes its own changes together, and without an owner none are
                    // undone.
                    dbi.was = match before {
                        Some(was) if owner == was.owner => was.was.clone(),
                        was => was.filter(|_| owner != 0),
                    };
                    Some(dbi)
                }
                None => before.map(Arc::unwrap_or_clone),
            };
            self.put(index, after);
        }
    }

    /// The handle is shared, whatever becomes of the transaction that opened it.
    pub(crate) fn share(&mut self, dbi: u32) {
        if let Some(found) = self.put(dbi as usize, None) {
            self.put(dbi as usize, Some(Dbi { owner: 0, ..found }));
        }
    }

    /// Whether a handle is open, of a named table, and shared.
    pub fn is_shared(&self, dbi: u32) -> bool {
        let found = self.list.get(dbi as usize).and_then(Option::as_ref);
        dbi as usize >= NAMED && found.is_some_and(|dbi| dbi.owner == 0)
    }

    /// Undoes what transactions have opened or changed that do not exist any more.
    pub(crate) fn orphan(&mut self) {
        for index in std::mem::take(&mut self.owned).into_values().flatten() {
            while let Some(dbi) = self.put(index, None) {
                let shared = dbi.owner == 0;
                let after = if shared { Some(dbi) } else { dbi.was.map(Arc::unwrap_or_clone) };
                self.put(index, after);
                if shared {
                    break;
                }
            }
        }
    }

    /// Closes all of them.
    pub(crate) fn close_all(&mut self) {
        *self = Dbis { max: self.max, ..Dbis::default() };
    }

    /// Closes a handle, if it is one of a named table.
    pub fn close(&mut self, dbi: u32) {
        let index = dbi as usize;
        if index >= NAMED && index < self.list.len() {
            self.put(index, None);
        }
    }
}

/// Takes a handle out of those that lie under a key.
fn leave<K: std::hash::Hash + Eq>(map: &mut HashMap<K, BTreeSet<usize>>, key: &K, index: usize) {
    if let Some(all) = map.get_mut(key) {
        all.remove(&index);
        if all.is_empty() {
            map.remove(key);
        }
    }
}
