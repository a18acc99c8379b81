//! A lock that a forked child finds free (C2).
//!
//! A child has one thread, and a copy of its parent's memory: what another thread of the parent had
//! locked at that moment would be locked for ever. So the lock is one word that holds the fork
//! generation of its holder, and a lock of another generation is free.
//!
//! 1. The state that the lock guards changes in one store, or while forks are held off
//!    (`fork::hold_off`): a child finds it as it was before or after.
//! 2. A thread that waits sleeps between its looks: the lock is for what is held for moments, or
//!    seldom.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::sys::fork;
use crate::planted::{self, Bug};

const FREE: u32 = 0;
/// Looks before it lets others work, and after which it sleeps.
const SPINS: u32 = 100;
const YIELDS: u32 = 200;
const PAUSE: Duration = Duration::from_micros(50);

/// A value behind such a lock.
#[derive(Default)]
pub struct ForkLock<T> {
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one guard at a time gives access to the value, in whatever thread.
unsafe impl<T: Send> Send for ForkLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ForkLock<T> {}

impl<T> ForkLock<T> {
    /// It is free.
    pub const fn new(value: T) -> ForkLock<T> {
        ForkLock { holder: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits until it is free, and takes it. Not to be taken twice by one thread.
    pub fn lock(&self) -> ForkGuard<'_, T> {
        let generation = fork::generation();
        let mut looks = 0_u32;
        loop {
            let now = self.holder.load(Ordering::Relaxed);
            let free = now == FREE || now != generation && !planted::is(Bug::OtherGeneration);
            let taken = free
                && self
                    .holder
                    .compare_exchange(now, generation, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok();
            if taken {
                return ForkGuard { lock: self };
            }
            looks = looks.saturating_add(1);
            match looks {
                looks if looks < SPINS => std::hint::spin_loop(),
                looks if looks < YIELDS => std::thread::yield_now(),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// A copy of the value.
    pub fn copied(&self) -> T
    where
        T: Clone,
    {
        self.lock().clone()
    }

    /// Puts another value in its place, whole for a child that is forked meanwhile; returns the one
    /// before.
    pub fn replace(&self, value: T) -> T {
        let mut held = self.lock();
        let _held_off = fork::hold_off();
        std::mem::replace(&mut *held, value)
    }
}

/// The value, as long as it is locked.
pub struct ForkGuard<'l, T> {
    lock: &'l ForkLock<T>,
}

impl<T> Deref for ForkGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, so no other thread has access.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for ForkGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for ForkGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.holder.store(FREE, Ordering::Release);
    }
}
