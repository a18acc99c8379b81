//! Numbers that are given back: which names are gone, and whose turn it is (N4, N6).

use super::{FIRST_SWEEP, NameState, Names, RESTING};
use crate::alloc::copied;
use crate::error::Result;

impl Names {
    /// A write transaction is over that has made or dropped the table of this name: whether it is
    /// there now, or was gone in a snapshot.
    pub(in crate::txn) fn settle(&self, name: &[u8], state: NameState) {
        let mut book = self.book();
        let Some(group) = book.groups.get_mut(name) else { return };
        if group.pinned {
            return group.state = NameState::There;
        }
        group.state = state;
        if let NameState::Gone(at) = state
            && let Ok(name) = copied(name)
        {
            book.gone.push_back((name.into_boxed_slice(), at));
        }
    }

    /// Whether it is time to give numbers back.
    pub(in crate::txn) fn is_crowded(&self) -> bool {
        let book = self.book();
        book.gone.len() >= book.next_giving || book.groups.len() >= book.next_sweep
    }

    /// The names that have rested for long enough, the first that went first. They are on the list
    /// no more: each is to be given back or put off.
    pub(in crate::txn) fn take_gone(&self) -> Vec<(Box<[u8]>, u64)> {
        let mut book = self.book();
        if book.gone.len() < book.next_giving {
            return Vec::new();
        }
        let count = book.gone.len().saturating_sub(RESTING);
        book.gone.drain(..count).collect()
    }

    /// Gives the number of a name back that has been gone since `at`; what happened to the name
    /// since goes before. `seen`: in a newer snapshot it is there.
    pub(in crate::txn) fn give_back(&self, name: &[u8], at: u64, seen: bool) {
        let mut book = self.book();
        let book = &mut *book;
        let Some(group) = book.groups.get_mut(name) else { return };
        if group.pinned || group.state != NameState::Gone(at) {
            return;
        }
        if seen {
            group.state = NameState::There;
            return;
        }
        let Some(group) = book.groups.remove(name) else { return };
        group.places.into_iter().for_each(|number| self.vacate(number, &mut book.vacant));
    }

    /// It cannot be given back yet.
    pub(in crate::txn) fn put_off(&self, name: Box<[u8]>, at: u64) {
        self.book().gone.push_back((name, at));
    }

    /// The first transaction that may have shown the table; `None`: the name was given back.
    pub(in crate::txn) fn born(&self, name: &[u8]) -> Option<u64> {
        Some(self.book().groups.get(name)?.born)
    }

    /// The names of all tables that are there as far as is known, if it is time to look whether
    /// they are.
    pub(in crate::txn) fn names_to_sweep(&self) -> Result<Vec<Box<[u8]>>> {
        let book = self.book();
        if book.groups.len() < book.next_sweep {
            return Ok(Vec::new());
        }
        let there = book.groups.iter().filter(|(_, group)| group.state == NameState::There);
        let mut names = Vec::new();
        names.try_reserve(book.groups.len())?;
        for (name, _) in there {
            names.push(copied(name)?.into_boxed_slice());
        }
        Ok(names)
    }

    /// The next look is due when there are twice as many names, so that all looks together cost a
    /// constant for each name that is entered.
    pub(in crate::txn) fn looked(&self) {
        let mut book = self.book();
        book.next_giving = 2 * RESTING.max(book.gone.len());
        let there = book.groups.len() - book.gone.len().min(book.groups.len());
        book.next_sweep = FIRST_SWEEP.max(2 * there);
    }

    /// Others have dropped the table, unless this client has made it again since.
    pub(in crate::txn) fn note_gone(&self, name: &[u8], at: u64) {
        let is_there =
            self.book().groups.get(name).is_some_and(|group| group.state == NameState::There);
        if is_there {
            self.settle(name, NameState::Gone(at));
        }
    }
}
