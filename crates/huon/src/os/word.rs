//! The word that slots, ring and locks are made of: an atomic `u64`, a modelled one under
//! `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64 as Word, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};
#[cfg(loom)]
pub(crate) use modelled::Word;

#[cfg(loom)]
mod modelled {
    use super::Ordering;
    use loom::sync::atomic::AtomicU64;

    /// Loom's atomic, with every interleaving explored.
    ///
    /// Loom (0.7.2) decides where to switch threads by the last access to an atomic alone. A thread
    /// that loads a word before it stores to it thereby hides the other threads' loads, and whole
    /// families of interleavings are never tried. So each access is announced by a relaxed store to
    /// a twin: all announcements depend on each other, and since nobody loads the twin it orders
    /// nothing in the memory model.
    pub(crate) struct Word {
        value: AtomicU64,
        twin: AtomicU64,
    }

    impl Word {
        pub(crate) fn new(value: u64) -> Word {
            Word { value: AtomicU64::new(value), twin: AtomicU64::new(0) }
        }

        fn announced(&self) -> &AtomicU64 {
            self.twin.store(0, Ordering::Relaxed);
            &self.value
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.announced().load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.announced().store(value, order);
        }

        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            self.announced().fetch_add(value, order)
        }

        pub(crate) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
            self.announced().fetch_or(value, order)
        }

        pub(crate) fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
            self.announced().fetch_and(value, order)
        }

        pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
            self.announced().fetch_max(value, order)
        }

        pub(crate) fn compare_exchange(
            &self,
            current: u64,
            new: u64,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u64, u64> {
            self.announced().compare_exchange(current, new, success, failure)
        }
    }
}
