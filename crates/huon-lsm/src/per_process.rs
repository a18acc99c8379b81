//! What a process keeps for itself, and a forked child begins anew.
//!
//! A child has a copy of what its parent's threads were at: queues in which they wait, merges that
//! they make. None of that is the child's, and any of it may be locked or half changed. So it finds
//! another one in its place, as it is at first, and leaves alone what was there (C2 in
//! `docs/INVARIANTS.md`; what a child goes on with is behind `ForkLock`s).

use std::ops::Deref;
use std::sync::OnceLock;

use huon::{fork_generation, hold_off, is_inherited};

/// A value of each process.
pub(crate) struct PerProcess<T: Default> {
    generation: u32,
    value: T,
    /// That of a child.
    next: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> PerProcess<T> {
        PerProcess { generation: fork_generation(), value: T::default(), next: OnceLock::new() }
    }
}

impl<T: Default> PerProcess<T> {
    #[cold]
    fn of_child(&self) -> &PerProcess<T> {
        // A child that is forked meanwhile would wait for a thread that it does not have.
        let _held_off = hold_off();
        self.next.get_or_init(Box::default)
    }
}

impl<T: Default> Deref for PerProcess<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        let mut of = self;
        while is_inherited(of.generation) {
            of = of.of_child();
        }
        &of.value
    }
}

impl<T: Default> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if is_inherited(self.generation) {
            std::mem::forget(std::mem::take(&mut self.value));
        }
    }
}
