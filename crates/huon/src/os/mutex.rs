//! Mutexes, whatever became of the thread that held one last.
//!
//! A thread that panics while it holds a mutex poisons it, and the standard library then makes
//! every caller decide. For the engine the answer is always the same: go on. What stands behind its
//! mutexes changes in single steps (a number, an entry of a list, a buffer), so no thread leaves it
//! half changed. An edit of a tree that was cut short is known by the write transaction, which
//! counts as broken until the edit is through.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex.
#[inline]
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    even_if_poisoned(mutex.lock())
}

/// The same for other ways to what a mutex guards: a wait that has ended, a mutex of a model.
#[inline]
pub(crate) fn even_if_poisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_poisoned_mutex_is_locked_all_the_same() {
        let mutex = Mutex::new(1);
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let mut value = locked(&mutex);
                *value = 2;
                panic!("with the mutex");
            });
            assert!(panics.join().is_err());
        });
        assert!(mutex.is_poisoned());
        assert_eq!(*locked(&mutex), 2);
        assert_eq!(even_if_poisoned(mutex.into_inner()), 2);
    }
}
