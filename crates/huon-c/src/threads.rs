//! What is known of the threads that call: which one it is, what it reads, whether it compares.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use huon::{BiasedGuard, BiasedLock, ThisThread, fork_generation};

use crate::fault::{Fault, Res};
use crate::objects;

/// So many environments a thread remembers to have read.
const READING_MAX: usize = 64;
/// So often a thread looks whether another one is done, before it lets others work.
const SPINS: u32 = 100;
/// Longer than any reading call lasts. The holder of a lock that is held for longer is dead.
const READ_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

thread_local! {
    /// For each environment that this thread has read: whether it does at this moment.
    static READING: Readings =
        const { Readings { all: RefCell::new(Vec::new()), generation: Cell::new(0) } };
    /// Whether this thread is in a comparator of the program's.
    static COMPARING: Cell<bool> = const { Cell::new(false) };
}

/// What a thread reads, by the handles of environments.
struct Readings {
    all: RefCell<Vec<Reading>>,
    /// The fork generation that these are of.
    generation: Cell<u32>,
}

type Reading = (usize, Arc<AtomicBool>);

impl Readings {
    /// Those of this process: what the thread read when it was forked is its parent's.
    fn own(&self) -> RefMut<'_, Vec<Reading>> {
        let mut all = self.all.borrow_mut();
        if self.generation.replace(fork_generation()) != fork_generation() {
            all.clear();
        }
        all
    }
}

impl Drop for Readings {
    /// The thread is over. No other thread may end its read transactions.
    fn drop(&mut self) {
        for (_, flag) in self.all.get_mut().iter().filter(|(_, flag)| flag.load(Ordering::Acquire))
        {
            objects::let_go(|txn| txn.is_reader_of(flag));
        }
    }
}

/// Does something with what this thread reads, of which one that is about to end keeps nothing.
fn with_own<R>(work: impl FnOnce(&mut Vec<Reading>) -> R) -> R {
    if READING.try_with(|_| ()).is_ok() {
        READING.with(|own| work(&mut own.own()))
    } else {
        work(&mut Vec::new())
    }
}

/// A number for this thread, never 0 and never another thread's.
#[inline]
pub fn me() -> usize {
    ThisThread::get().number()
}

/// The flag of this thread for an environment: whether it reads that. If `kept` is that, it need
/// not be shared once more, which would cost as much as all else.
pub(crate) fn reading(env_handle: usize, kept: Option<Arc<AtomicBool>>) -> Arc<AtomicBool> {
    with_own(|all| {
        if let Some((_, flag)) = all.iter().find(|(handle, _)| *handle == env_handle) {
            let own = kept.filter(|kept| Arc::ptr_eq(kept, flag));
            return own.unwrap_or_else(|| flag.clone());
        }
        if all.len() >= READING_MAX {
            // No transaction uses these any more: most are of environments that are closed.
            all.retain(|(_, flag)| Arc::strong_count(flag) > 1);
        }
        let flag = Arc::new(AtomicBool::new(false));
        all.push((env_handle, flag.clone()));
        flag
    })
}

/// Registers this thread as a reader of an environment; whether it was not one before.
pub fn register(env_handle: usize) -> bool {
    let known = with_own(|all| all.iter().any(|(handle, _)| *handle == env_handle));
    if !known {
        reading(env_handle, None);
    }
    !known
}

/// Forgets that this thread is a reader of an environment; whether it was one.
pub fn unregister(env_handle: usize) -> Res<bool> {
    if reads(env_handle) {
        return Err(Fault::Busy);
    }
    with_own(|all| {
        let before_count = all.len();
        all.retain(|(handle, _)| *handle != env_handle);
        Ok(all.len() < before_count)
    })
}

/// Whether this thread reads an environment at this moment, where that is kept.
pub(crate) fn reads(env_handle: usize) -> bool {
    with_own(|all| all.iter().any(|(env, flag)| *env == env_handle && flag.load(Ordering::Acquire)))
}

/// Calls the program's comparator; calls that it makes meanwhile do not wait for a lock.
pub fn comparing<R>(compare: impl FnOnce() -> R) -> R {
    let before = COMPARING.replace(true);
    let result = compare();
    COMPARING.set(before);
    result
}

/// A lock that no other thread has at this moment.
#[inline]
pub(crate) fn lock_now<T>(lock: &BiasedLock<T>) -> Res<BiasedGuard<'_, T>> {
    lock.try_lock().ok_or(Fault::BadTxn)
}

/// A lock that others have for the time of a call.
#[inline]
pub fn lock<T>(lock: &BiasedLock<T>) -> Res<BiasedGuard<'_, T>> {
    match lock.try_lock() {
        Some(locked) => Ok(locked),
        None => wait(lock),
    }
}

#[cold]
fn wait<T>(lock: &BiasedLock<T>) -> Res<BiasedGuard<'_, T>> {
    let began = Instant::now();
    for spin in 0_u32.. {
        // What this thread holds around a callback never comes free meanwhile; nor may what
        // another one does, that is in a comparator, too.
        if COMPARING.get() || lock.is_held_here() {
            break;
        }
        if let Some(locked) = lock.try_lock() {
            return Ok(locked);
        }
        if spin < SPINS {
            std::hint::spin_loop();
        } else if began.elapsed() > READ_LOCK_TIMEOUT {
            break;
        } else {
            std::thread::yield_now();
        }
    }
    Err(Fault::BadTxn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_is_kept_is_not_shared_again() {
        const ENV: usize = 7;
        let flag = reading(ENV, None);
        assert_eq!(Arc::strong_count(&flag), 2);
        let flag = reading(ENV, Some(flag));
        assert_eq!(Arc::strong_count(&flag), 2);
        assert_eq!(unregister(ENV), Ok(true));
        let other = reading(ENV, Some(flag.clone()));
        assert!(!Arc::ptr_eq(&flag, &other), "the thread has another one since");
    }
}
