//! A lock that one thread takes with plain stores.
//!
//! What one thread uses again and again, and others hardly ever, needs a lock all the same. But an
//! atomic exchange takes as long as all else that a step of a cursor does. So the lock is biased
//! (Kawachiya, Koseki and Onodera, 2002): it has an owner, the thread that made it.
//!
//! 1. The owner has the lock from its store to `held` on, if it is the owner still behind that. It
//!    needs no fence in between: the thread that ends the ownership sends one to all threads.
//!    Both words have the number of the thread that set them.
//! 2. Any other thread has it from its exchange of `taken` on, if there is no owner then and `held`
//!    is not set. Before it looks at that, it ends the ownership, and has every thread of the
//!    process pass a barrier: the owner has seen that it is none any more, or its store to `held`
//!    is seen.
//! 3. Ownership never comes back. From then on no thread sets `held`, but for a moment in which the
//!    former owner was about to look.
//! 4. Where the system has no such barrier, no lock has an owner.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use super::sys::barrier;

thread_local! {
    /// The number of the thread, once it was asked for.
    static ME: Cell<usize> = const { Cell::new(NO_THREAD) };
}

const NO_THREAD: usize = 0;

/// The thread that has it, and keeps it: so it need not ask who it is again.
#[derive(Clone, Copy)]
pub struct ThisThread {
    number: usize,
    of_thread: PhantomData<*const ()>,
}

impl ThisThread {
    /// The calling one.
    #[inline]
    pub fn get() -> ThisThread {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        if ME.get() == NO_THREAD {
            ME.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        ThisThread { number: ME.get(), of_thread: PhantomData }
    }

    /// A number, never 0 and never another thread's.
    #[inline]
    pub fn number(self) -> usize {
        self.number
    }
}

/// A value behind such a lock.
pub struct BiasedLock<T> {
    owner: AtomicUsize,
    /// The owner has the lock, or is about to look whether it may.
    held: AtomicUsize,
    /// Another thread has it, or looks whether it may.
    taken: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: one guard at a time gives access to the value, in whatever thread.
unsafe impl<T: Send> Send for BiasedLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// A lock of this thread's, which is free.
    pub fn new(value: T) -> BiasedLock<T> {
        let owner = if barrier::is_there() { ThisThread::get().number } else { NO_THREAD };
        BiasedLock {
            owner: AtomicUsize::new(owner),
            held: AtomicUsize::new(NO_THREAD),
            taken: AtomicUsize::new(NO_THREAD),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Whether the calling thread takes it without an exchange.
    #[cfg(test)]
    pub(crate) fn is_owned_here(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == ThisThread::get().number
    }

    /// Takes it, if it is free. Costs the owner two stores, the first other thread a call of the
    /// kernel, and all after that an exchange.
    #[inline]
    pub fn try_lock(&self) -> Option<BiasedGuard<'_, T>> {
        self.try_lock_as(ThisThread::get())
    }

    /// The same for a thread that knows who it is.
    #[inline(always)]
    pub fn try_lock_as(&self, me: ThisThread) -> Option<BiasedGuard<'_, T>> {
        if self.owner.load(Ordering::Relaxed) != me.number {
            return self.try_lock_shared(me);
        }
        if self.held.load(Ordering::Relaxed) != NO_THREAD {
            // By this thread.
            return None;
        }
        self.held.store(me.number, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if self.owner.load(Ordering::Relaxed) == me.number {
            return Some(self.guard(&self.held));
        }
        self.held.store(NO_THREAD, Ordering::Release);
        self.try_lock_shared(me)
    }

    /// Whether the calling thread has it.
    pub fn is_held_here(&self) -> bool {
        let me = ThisThread::get().number;
        [&self.held, &self.taken].into_iter().any(|word| word.load(Ordering::Relaxed) == me)
    }

    #[cold]
    #[inline(never)]
    fn try_lock_shared(&self, me: ThisThread) -> Option<BiasedGuard<'_, T>> {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.taken.compare_exchange(NO_THREAD, me.number, acquire, relaxed).ok()?;
        if self.end_ownership() && self.held.load(Ordering::Acquire) == NO_THREAD {
            return Some(self.guard(&self.taken));
        }
        self.taken.store(NO_THREAD, Ordering::Release);
        None
    }

    /// There is no owner any more. `false`: the system refused the barrier, and all stays as it is.
    /// For the thread that has set `taken`.
    fn end_ownership(&self) -> bool {
        let owner = self.owner.swap(NO_THREAD, Ordering::Relaxed);
        if owner == NO_THREAD || barrier::pass_everywhere() {
            return true;
        }
        self.owner.store(owner, Ordering::Relaxed);
        false
    }

    #[inline(always)]
    fn guard<'l>(&'l self, word: &'l AtomicUsize) -> BiasedGuard<'l, T> {
        BiasedGuard { word, value: &self.value, of_thread: PhantomData }
    }
}

/// The value, as long as it is locked.
pub struct BiasedGuard<'l, T> {
    /// What says that it is.
    word: &'l AtomicUsize,
    value: &'l UnsafeCell<T>,
    /// It stays in its thread.
    of_thread: PhantomData<*const ()>,
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held, so no other thread has access.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed alone.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.word.store(NO_THREAD, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_at_a_time() {
        let lock = BiasedLock::new(1);
        let mut guard = lock.try_lock().expect("it is free");
        *guard += 1;
        assert!(lock.try_lock().is_none(), "this thread has it");
        assert!(lock.is_held_here());
        drop(guard);
        assert!(!lock.is_held_here());
        assert_eq!(*lock.try_lock().expect("it is free again"), 2);
    }

    #[test]
    fn ownership_ends_when_another_thread_comes() {
        let lock = BiasedLock::new(0);
        let owned = barrier::is_there();
        assert_eq!(lock.owner.load(Ordering::Relaxed) == ThisThread::get().number, owned);
        let guard = lock.try_lock();
        std::thread::scope(|threads| {
            threads.spawn(|| assert!(lock.try_lock().is_none(), "the owner has it"));
            threads.spawn(|| assert!(!lock.is_held_here()));
        });
        assert_eq!(lock.owner.load(Ordering::Relaxed), NO_THREAD);
        assert!(lock.try_lock().is_none(), "the former owner has it");
        assert!(lock.is_held_here());
        drop(guard);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let taken = lock.try_lock().expect("it is free");
                assert!(lock.is_held_here());
                std::thread::scope(|threads| {
                    threads.spawn(|| assert!(lock.try_lock().is_none()));
                });
                drop(taken);
            });
        });
        assert!(lock.try_lock().is_some());
    }

    /// The owner counts without a pause while others come for the first time.
    #[test]
    fn nothing_is_counted_twice() {
        for _ in 0..crate::testing::sized(300, 3) {
            let lock = BiasedLock::new(0_u64);
            let count = |times: u64| {
                let mut done = 0;
                while done < times {
                    match lock.try_lock() {
                        Some(mut guard) => {
                            let before = *guard;
                            *guard = std::hint::black_box(before) + 1;
                            done += 1;
                        }
                        None => std::thread::yield_now(),
                    }
                }
            };
            std::thread::scope(|threads| {
                threads.spawn(|| count(200));
                threads.spawn(|| count(200));
                count(2000);
            });
            assert_eq!(*lock.try_lock().expect("all are done"), 2400);
        }
    }
}
