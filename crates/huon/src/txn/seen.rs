//! The tables that a read transaction has found, so that each is looked up in the catalog once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::os::locked;
use crate::page::Tree;
use crate::txn::names::TableNo;

/// Tables found in the transaction itself.
const FIRST: usize = 4;

/// Tables found in an allocation of its own, made for the first of them.
const NEXT: usize = 32;

/// A table's place among those is one of so many, from the one that its number says.
const WINDOW: usize = 4;

/// A table as the snapshot has it; `None`: it does not exist there.
type FoundTable = OnceLock<(TableNo, Option<Tree>)>;

/// What a snapshot shows never changes, so a table that was found stays so. All but the last are
/// found without a lock.
#[derive(Default)]
pub(super) struct Seen {
    first: [FoundTable; FIRST],
    more: OnceLock<Box<MoreSeen>>,
}

/// Few transactions need it: they begin and end without.
struct MoreSeen {
    next: [FoundTable; NEXT],
    rest: Mutex<BTreeMap<TableNo, Option<Tree>>>,
}

impl Seen {
    /// The table, if it is at hand.
    #[inline]
    pub(super) fn at_hand(&self, no: TableNo) -> Option<Option<&Tree>> {
        let mut first = self.first.iter().map_while(OnceLock::get);
        match first.find(|(known, _)| *known == no) {
            Some((_, tree)) => Some(tree.as_ref()),
            None => self.among_next(no),
        }
    }

    fn among_next(&self, no: TableNo) -> Option<Option<&Tree>> {
        let more = self.more.get()?;
        let mut window = places(no).map_while(|place| more.next[place].get());
        window.find(|(known, _)| *known == no).map(|(_, tree)| tree.as_ref())
    }

    /// The table, if it is among those for which there was no place at hand.
    pub(super) fn among_rest(&self, no: TableNo) -> Option<Option<Tree>> {
        self.more.get()?.rest().get(&no).copied()
    }

    /// Notes a table that was found.
    pub(super) fn note(&self, no: TableNo, tree: Option<Tree>) {
        let is_noted = |place: &FoundTable| match place.get() {
            Some((known, _)) => *known == no,
            None => place.set((no, tree)).is_ok(),
        };
        if self.first.iter().any(is_noted) {
            return;
        }
        let more = self.more.get_or_init(|| Box::new(MoreSeen::new()));
        if !places(no).any(|place| is_noted(&more.next[place])) {
            more.rest().insert(no, tree);
        }
    }

    /// In a forked child: another thread of the parent may have been adding to the map.
    pub(super) fn forget_more(&mut self) {
        std::mem::forget(self.more.take());
    }
}

impl MoreSeen {
    fn new() -> MoreSeen {
        let next = std::array::from_fn(|_| FoundTable::new());
        MoreSeen { next, rest: Mutex::default() }
    }

    fn rest(&self) -> MutexGuard<'_, BTreeMap<TableNo, Option<Tree>>> {
        locked(&self.rest)
    }
}

/// Where a table's place among the next ones may be.
fn places(no: TableNo) -> impl Iterator<Item = usize> {
    (0..WINDOW).map(move |step| (no.place() as usize + step) % NEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::OrderKind;

    /// More tables than there are places at hand, some of which want the same place: each is found
    /// as it was noted.
    #[test]
    fn every_table_that_was_noted_is_found() {
        let seen = Seen::default();
        let numbers: Vec<TableNo> = (0..200).map(|n| TableNo::test(n * 7 % 256, n % 3)).collect();
        let tree = |n: usize| {
            (!n.is_multiple_of(5))
                .then(|| Tree { entries: n as u64, ..Tree::new(OrderKind::Bytes) })
        };
        for (n, no) in numbers.iter().enumerate() {
            assert_eq!((seen.at_hand(*no), seen.among_rest(*no)), (None, None));
            seen.note(*no, tree(n));
            // What was noted is not noted twice.
            seen.note(*no, tree(n));
        }
        let mut at_hand = 0;
        for (n, no) in numbers.iter().enumerate() {
            let found = seen.at_hand(*no);
            at_hand += usize::from(found.is_some());
            let found = found.map(Option::<&Tree>::copied).or_else(|| seen.among_rest(*no));
            assert_eq!(found, Some(tree(n)));
        }
        assert_eq!(at_hand, FIRST + NEXT, "all places are taken");
        let more = seen.more.get().unwrap();
        assert_eq!(more.rest().len(), numbers.len() - FIRST - NEXT);
    }
}
