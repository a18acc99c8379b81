//! The cursors that a write transaction tells of its changes.
//!
//! 1. A cursor is there once. It lies under its address, which no other cursor has as long as it is
//!    there, be it closed or not.
//! 2. Closed cursors are swept out when there are twice as many as the last sweep left, so each
//!    cursor that comes or goes costs the same, however many there are.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::cursor::Cursor;

/// With so many the first sweep is due.
const FIRST_SWEEP: usize = 16;

/// A set of cursors, which does not keep them open.
#[derive(Default)]
pub(crate) struct Enlisted {
    cursors: HashMap<usize, Weak<Cursor>>,
    /// What the last sweep left.
    left: usize,
    /// How many cursors all sweeps have looked at.
    #[cfg(test)]
    looks: usize,
}

impl Enlisted {
    pub(crate) fn add(&mut self, cursor: &Arc<Cursor>) {
        if self.cursors.len() >= FIRST_SWEEP.max(2 * self.left) {
            self.sweep();
        }
        self.cursors.insert(address(Arc::as_ptr(cursor)), Arc::downgrade(cursor));
    }

    pub(crate) fn remove(&mut self, cursor: *const Cursor) {
        self.cursors.remove(&address(cursor));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cursors.is_empty()
    }

    /// Those that are open.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Arc<Cursor>> {
        self.cursors.values().filter_map(Weak::upgrade)
    }

    fn sweep(&mut self) {
        #[cfg(test)]
        {
            self.looks += self.cursors.len();
        }
        self.cursors.retain(|_, cursor| cursor.strong_count() > 0);
        self.left = self.cursors.len();
    }
}

fn address(cursor: *const Cursor) -> usize {
    cursor.addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 20_000;

    fn opened(list: &mut Enlisted) -> Arc<Cursor> {
        let cursor = Arc::new(Cursor::new());
        list.add(&cursor);
        cursor
    }

    #[test]
    fn many_cursors_cost_as_much_each_as_few() {
        let mut list = Enlisted::default();
        let open: Vec<_> = (0..COUNT).map(|_| opened(&mut list)).collect();
        assert!(list.looks < 2 * COUNT, "opened: {} looks", list.looks);
        assert_eq!(list.iter().count(), COUNT);
        list.add(&open[7]);
        assert_eq!(list.cursors.len(), COUNT, "once each");
        open.iter().take(COUNT / 2).for_each(|cursor| list.remove(Arc::as_ptr(cursor)));
        assert_eq!(list.iter().count(), COUNT / 2);
    }

    #[test]
    fn closed_cursors_do_not_pile_up() {
        let mut list = Enlisted::default();
        let stays = opened(&mut list);
        for _ in 0..COUNT {
            drop(opened(&mut list));
            assert!(list.cursors.len() <= FIRST_SWEEP);
        }
        assert!(list.looks < 2 * COUNT, "{} looks", list.looks);
        assert!(list.iter().all(|cursor| Arc::ptr_eq(&cursor, &stays)));
        assert_eq!(list.iter().count(), 1);
    }
}
