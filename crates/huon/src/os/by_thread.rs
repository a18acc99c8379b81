//! A value for each thread, found by the address of the thread's control block.
//!
//! In a library that is loaded while a program runs, a thread-local value costs a call of the
//! loader's `__tls_get_addr`. The address of the control block lies in a register, and no two
//! running threads have the same.
//!
//! 1. A value is the thread's whose address stands beside it. No other thread looks at it.
//! 2. A thread takes a place that is free, and none but the two that its address leads to. At the
//!    thread's end the place is free again: what comes before that end has no reference any more.
//! 3. Of threads that lead to two places the first two have them, and the others have no value
//!    here. So there is one beside it that is thread-local, for callers that need one in any case.
//! 4. A forked child has the places of all threads of its parent, and none of those threads but
//!    its own. A new thread that leads to the place of one may find it taken, or its own: what
//!    lies there must say itself whether it is the child's.

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::LocalKey;

use super::sys::thread;

const PLACES: usize = 64;
const FREE: usize = 0;
/// Stacks, with a control block each, often lie one behind the other: multiples of this, the golden
/// ratio's share of all numbers, lie far apart whatever the stacks' length is (Knuth, The Art of
/// Computer Programming, 6.4, "Fibonacci hashing").
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A value for each of many threads.
pub struct ByThread<T>([OfThread<T>; PLACES]);

/// Its length is a power of two, so that a place is found without a product.
#[repr(align(4096))]
pub struct OfThread<T> {
    thread: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has a place, and looks at its value (invariants 1 and 2).
unsafe impl<T: Send> Sync for OfThread<T> {}

thread_local! {
    static TAKEN: Taken = const { Taken(Cell::new(None)) };
}

/// The place that this thread has.
struct Taken(Cell<Option<&'static AtomicUsize>>);

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.store(FREE, Ordering::Release);
        }
    }
}

impl<T> OfThread<T> {
    /// No thread's yet.
    pub const fn new(value: T) -> OfThread<T> {
        const { assert!(size_of::<OfThread<T>>().is_power_of_two()) };
        OfThread { thread: AtomicUsize::new(FREE), value: UnsafeCell::new(value) }
    }
}

/// The places that an address leads to.
#[inline(always)]
fn numbers(thread: usize) -> [usize; 2] {
    let first = ((thread as u64).wrapping_mul(SPREAD) >> (u64::BITS - PLACES.ilog2())) as usize;
    [first, first ^ 1]
}

impl<T: Send> ByThread<T> {
    /// For a `static`, of which a process has one.
    pub const fn new(places: [OfThread<T>; PLACES]) -> ByThread<T> {
        ByThread(places)
    }

    /// Does something with the value of the calling thread; `None`: it has none here.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&T) -> R) -> Option<R> {
        let me = thread::pointer();
        let is_mine = |place: &&OfThread<T>| place.thread.load(Ordering::Relaxed) == me;
        let [first, second] = numbers(me).map(|number| &self.0[number]);
        let place = Some(first).filter(is_mine).or_else(|| Some(second).filter(is_mine))?;
        // SAFETY: the place is this thread's (invariant 1), and that before the thread's end.
        Some(work(unsafe { &*place.value.get() }))
    }

    /// The same with the thread-local one of a thread that has none here. Such a thread takes a
    /// place as soon as it can, and `renew` is told the value there, which another thread may have
    /// had.
    pub fn with_either<R>(
        &'static self,
        other: &'static LocalKey<T>,
        renew: impl FnOnce(&T),
        work: impl FnOnce(&T) -> R,
    ) -> R {
        if TAKEN.try_with(|taken| self.take(taken)) == Ok(true) {
            self.with(renew);
        }
        let mut work = Some(work);
        let done = self.with(|value| work.take().map(|work| work(value))).flatten();
        match (done, work) {
            (None, Some(work)) => other.with(work),
            (done, _) => done.expect("the work, done once"),
        }
    }

    /// Whether the calling thread has a place now that it did not have.
    fn take(&'static self, taken: &Taken) -> bool {
        if taken.0.get().is_some() {
            return false;
        }
        let me = thread::pointer();
        let places = numbers(me).map(|number| &self.0[number].thread);
        taken.0.set(places.into_iter().find(|thread| {
            let was = thread.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed);
            // Its own already: of a thread that the parent of this process has (invariant 4).
            was.is_ok() || was == Err(me)
        }));
        taken.0.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;
    use crate::os::locked;

    static COUNTS: ByThread<Cell<u64>> =
        ByThread::new([const { OfThread::new(Cell::new(0)) }; PLACES]);

    thread_local! {
        static OTHER: Cell<u64> = const { Cell::new(0) };
    }

    fn next() -> u64 {
        let next = |count: &Cell<u64>| {
            count.set(count.get() + 1);
            count.get()
        };
        COUNTS.with_either(&OTHER, |count| count.set(0), next)
    }

    /// One test at a time has the places.
    static TEST: Mutex<()> = Mutex::new(());

    #[test]
    fn each_thread_has_its_own_value_which_ends_with_it() {
        let _alone = locked(&TEST);
        for count in [1, PLACES, 3 * PLACES] {
            let together = Barrier::new(count);
            let step = || {
                assert!(COUNTS.with(|_| ()).is_none(), "it has not asked for one");
                for n in 1..100 {
                    assert_eq!(next(), n);
                    together.wait();
                }
            };
            std::thread::scope(|threads| {
                let all: Vec<_> = (0..count).map(|_| threads.spawn(step)).collect();
                // Joined, each has given back its place.
                all.into_iter().for_each(|one| one.join().unwrap());
            });
        }
    }

    #[test]
    fn one_of_some_threads_has_a_place() {
        let _alone = locked(&TEST);
        let together = Barrier::new(8);
        let has = || {
            next();
            together.wait();
            let has = COUNTS.with(Cell::get) == Some(1);
            together.wait();
            has
        };
        let have = std::thread::scope(|threads| {
            let all = [(); 8].map(|()| threads.spawn(has));
            all.map(|one| one.join().unwrap())
        });
        assert!(have.contains(&true));
    }

    /// However long stacks are, with and without a page that guards them.
    #[test]
    fn threads_side_by_side_lead_to_places_of_their_own() {
        for stack_bytes in [128 << 10, 1 << 20, 2 << 20, 8 << 20, 64 << 20] {
            for apart in [stack_bytes, stack_bytes + 4096] {
                let firsts = (0..16).map(|n| numbers(0x7f3a_5c00_0740 + n * apart)[0]);
                let places = firsts.collect::<std::collections::BTreeSet<_>>();
                assert!(places.len() >= 12, "{apart}: {places:?}");
            }
        }
    }
}
