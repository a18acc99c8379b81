//! The first words of a lock file, at hand without a call to the back end.

use std::ptr::NonNull;
use std::sync::Arc;

use super::Shared;
use super::word::Word;

/// A lock file of at least `N` words.
pub(crate) struct FirstWords<const N: usize> {
    shared: Arc<dyn Shared>,
    first: NonNull<[Word; N]>,
}

// SAFETY: `first` points into the words of `shared`, which is kept alive beside it; words are
// atomics.
unsafe impl<const N: usize> Send for FirstWords<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for FirstWords<N> {}

impl<const N: usize> FirstWords<N> {
    /// `None`: it is shorter.
    pub(crate) fn of(shared: Arc<dyn Shared>) -> Option<FirstWords<N>> {
        let first = NonNull::from(shared.words().first_chunk::<N>()?);
        Some(FirstWords { shared, first })
    }

    pub(crate) fn shared(&self) -> &Arc<dyn Shared> {
        &self.shared
    }

    #[inline]
    pub(crate) fn get(&self) -> &[Word; N] {
        // SAFETY: the words never move (`Shared::words`) and live as long as `shared`, which `self`
        // keeps.
        unsafe { self.first.as_ref() }
    }
}
