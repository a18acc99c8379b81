//! A place where one value is left for the next user of it.
//!
//! A user that takes it has it alone, so an exchange is all that either side needs: half of what a
//! lock costs, and nothing that a forked child could find locked.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Holds a value, or none. (It is in a box, or it could not change hands in one step.)
pub(crate) struct Handover<T>(AtomicPtr<T>);

// SAFETY: a value is dropped or handed out by whatever thread, and by one alone.
unsafe impl<T: Send> Send for Handover<T> {}
// SAFETY: as above; no thread sees the value while it is here.
unsafe impl<T: Send> Sync for Handover<T> {}

impl<T> Default for Handover<T> {
    fn default() -> Self {
        Handover(AtomicPtr::new(ptr::null_mut()))
    }
}

impl<T> Handover<T> {
    /// Takes what is here.
    pub(crate) fn take(&self) -> Option<Box<T>> {
        self.exchange(ptr::null_mut())
    }

    /// Leaves a value here; what was here is dropped.
    pub(crate) fn leave(&self, value: Box<T>) {
        drop(self.exchange(Box::into_raw(value)));
    }

    fn exchange(&self, new: *mut T) -> Option<Box<T>> {
        let old = self.0.swap(new, Ordering::AcqRel);
        // SAFETY: not null, it was made from a box in `leave`, and the exchange has given it to
        // this call alone.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl<T> Drop for Handover<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_value_is_taken_once() {
        let place = Handover::default();
        assert!(place.take().is_none());
        place.leave(Box::new(1));
        assert_eq!(place.take().as_deref(), Some(&1));
        assert!(place.take().is_none());
    }

    #[test]
    fn what_is_left_behind_is_dropped() {
        let value = Arc::new(());
        let place = Handover::default();
        place.leave(Box::new(value.clone()));
        place.leave(Box::new(value.clone()));
        assert_eq!(Arc::strong_count(&value), 2);
        drop(place);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    #[cfg(not(any(loom, shuttle)))]
    fn threads_that_take_it_have_it_alone() {
        let rounds = crate::testing::sized(20_000, 100);
        let place = Handover::default();
        place.leave(Box::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut done = 0;
                    while done < rounds {
                        let Some(mut value) = place.take() else {
                            std::thread::yield_now();
                            continue;
                        };
                        *value += 1;
                        place.leave(value);
                        done += 1;
                    }
                });
            }
        });
        assert_eq!(place.take().as_deref(), Some(&(2 * rounds)));
    }
}
