//! Memory that grows with the data: where there is none, that is an error.
//!
//! 1. Memory of 4096 bytes or more is reserved through here, or by a `try_reserve` of the
//!    standard library: [`Error::OutOfMemory`] where it is refused.
//! 2. Smaller allocations end the process where they are refused, as anywhere in Rust.
//!
//! The caller must know which work must not be left half done; the writer's free space notes a
//! refusal and goes on, since it is asked in the middle of undoing.

use std::collections::{HashSet, TryReserveError};
use std::hash::Hash;

use crate::error::Error;

impl From<TryReserveError> for Error {
    #[cold]
    fn from(_: TryReserveError) -> Error {
        Error::OutOfMemory
    }
}

/// What memory was reserved for.
pub(crate) type Reserved<T> = std::result::Result<T, TryReserveError>;

/// `count` times `item`.
pub(crate) fn filled<T: Clone>(item: T, count: usize) -> Reserved<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)?;
    all.resize(count, item);
    Ok(all)
}

/// The same items again.
pub(crate) fn copied<T: Clone>(items: &[T]) -> Reserved<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len())?;
    all.extend_from_slice(items);
    Ok(all)
}

/// All items of an iterator.
pub(crate) fn collected<T>(items: impl Iterator<Item = T>) -> Reserved<Vec<T>> {
    let mut all = Vec::new();
    all.try_extend(items)?;
    Ok(all)
}

/// Adds an item to a set; whether it was not there before.
pub(crate) fn inserted<T: Eq + Hash>(set: &mut HashSet<T>, item: T) -> Reserved<bool> {
    set.try_reserve(1)?;
    Ok(set.insert(item))
}

/// Adding to a vector, if there is memory for it.
pub(crate) trait TryGrow<T> {
    /// Adds one item.
    fn try_push(&mut self, item: T) -> Reserved<()>;
    /// Adds all items; some of them where there is no memory for the others.
    fn try_extend(&mut self, items: impl Iterator<Item = T>) -> Reserved<()>;
    /// Adds copies of all items.
    fn try_append(&mut self, items: &[T]) -> Reserved<()>
    where
        T: Clone;
    /// Makes it hold these items and no others.
    fn try_set(&mut self, items: &[T]) -> Reserved<()>
    where
        T: Clone;
}

impl<T> TryGrow<T> for Vec<T> {
    #[inline]
    fn try_push(&mut self, item: T) -> Reserved<()> {
        self.try_reserve(1)?;
        self.push(item);
        Ok(())
    }

    fn try_extend(&mut self, items: impl Iterator<Item = T>) -> Reserved<()> {
        self.try_reserve(items.size_hint().0)?;
        for item in items {
            self.try_push(item)?;
        }
        Ok(())
    }

    #[inline]
    fn try_append(&mut self, items: &[T]) -> Reserved<()>
    where
        T: Clone,
    {
        self.try_reserve(items.len())?;
        self.extend_from_slice(items);
        Ok(())
    }

    fn try_set(&mut self, items: &[T]) -> Reserved<()>
    where
        T: Clone,
    {
        self.clear();
        self.try_append(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_what_was_asked_for() {
        assert_eq!(filled(7, 3), Ok(vec![7; 3]));
        assert_eq!(copied(&[1, 2]), Ok(vec![1, 2]));
        let mut all = collected((0..10).filter(|n| n % 3 == 0)).unwrap();
        all.try_push(12).unwrap();
        all.try_extend([15, 18].into_iter()).unwrap();
        assert_eq!(all, [0, 3, 6, 9, 12, 15, 18]);
        all.try_set(&[5]).unwrap();
        assert_eq!(all, [5]);
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let refused: Error = filled(0u64, usize::MAX).unwrap_err().into();
        assert!(matches!(refused, Error::OutOfMemory));
    }
}
