//! The word that slots, ring and locks are made of: an atomic `u64`, a modelled one under
//! `cfg(loom)` and `cfg(shuttle)`. Under the latter the locks between the threads of a client are
//! modelled, too.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::atomic::AtomicU64 as Word;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::Ordering;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::atomic::fence;
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};
#[cfg(shuttle)]
pub(crate) use modelled::fence;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};

#[cfg(any(loom, shuttle))]
pub(crate) use modelled::Word;

/// Looks at a word behind an exchange of this thread's that was sequentially consistent, as if a
/// fence lay between them: both are in the one order of all such operations, and a thread that has
/// stored to the word before a fence of its own either finds what was exchanged, or is seen here.
/// Spares a fence where an exchange is one by itself.
#[inline]
pub(crate) fn load_behind_exchange(word: &Word) -> u64 {
    // Loom takes such loads for weaker ones.
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    word.load(Ordering::SeqCst)
}

/// Lets others run for a while.
pub(crate) fn pause(time: std::time::Duration) {
    #[cfg(not(any(loom, shuttle)))]
    std::thread::sleep(time);
    #[cfg(any(loom, shuttle))]
    let _ = time;
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}

/// Looks until it is `ready`, but only for a moment, and lets others run between two looks. Whether
/// it was ready. A short wait is over before a sleeper would be awake.
pub(crate) fn spin(moment: std::time::Duration, ready: impl Fn() -> bool) -> bool {
    #[cfg(not(any(loom, shuttle)))]
    if !ready() {
        let start = std::time::Instant::now();
        while !ready() && start.elapsed() < moment {
            std::thread::yield_now();
        }
    }
    #[cfg(any(loom, shuttle))]
    if !ready() {
        pause(moment);
    }
    ready()
}

#[cfg(any(loom, shuttle))]
mod modelled {
    use super::Ordering;
    #[cfg(loom)]
    use loom::sync::atomic::AtomicU64;
    #[cfg(shuttle)]
    use std::sync::atomic::AtomicU64;

    /// An atomic whose accesses the model checker orders.
    pub(crate) struct Word {
        value: AtomicU64,
        #[cfg(loom)]
        twin: AtomicU64,
    }

    // Each model runs in a thread of its own, and all threads of the model within that one.
    #[cfg(shuttle)]
    std::thread_local! {
        /// Whether the access before was a relaxed one.
        static IN_RUN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        /// What is loaded where Shuttle may switch threads.
        static SWITCH: shuttle::sync::atomic::AtomicBool =
            const { shuttle::sync::atomic::AtomicBool::new(false) };
    }

    /// Ends a run of relaxed accesses; all is in order already.
    #[cfg(shuttle)]
    pub(crate) fn fence(_: Ordering) {
        IN_RUN.set(false);
    }

    impl Word {
        pub(crate) fn new(value: u64) -> Word {
            Word {
                value: AtomicU64::new(value),
                #[cfg(loom)]
                twin: AtomicU64::new(0),
            }
        }

        /// Loom (0.7.2) decides where to switch threads by the last access to an atomic alone. A
        /// thread that loads a word before it stores to it thereby hides the other threads' loads,
        /// and whole families of interleavings are never tried. So each access is announced by a
        /// relaxed store to a twin: all announcements depend on each other, and since no thread
        /// loads the twin it orders nothing in the memory model.
        #[cfg(loom)]
        fn at(&self, _: Ordering) -> &AtomicU64 {
            self.twin.store(0, Ordering::Relaxed);
            &self.value
        }

        /// Shuttle may switch threads before any access, but not within a run of relaxed ones: they
        /// are the many words of an image, and figures.
        #[cfg(shuttle)]
        fn at(&self, order: Ordering) -> &AtomicU64 {
            let relaxed = order == Ordering::Relaxed;
            if !(relaxed && IN_RUN.get()) {
                SWITCH.with(|switch| switch.load(Ordering::SeqCst));
            }
            IN_RUN.set(relaxed);
            &self.value
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.at(order).load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.at(order).store(value, order);
        }

        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            self.at(order).fetch_add(value, order)
        }

        pub(crate) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
            self.at(order).fetch_or(value, order)
        }

        pub(crate) fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
            self.at(order).fetch_and(value, order)
        }

        pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
            self.at(order).fetch_max(value, order)
        }

        pub(crate) fn compare_exchange(
            &self,
            current: u64,
            new: u64,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u64, u64> {
            self.at(success).compare_exchange(current, new, success, failure)
        }
    }
}
