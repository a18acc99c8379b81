//! Words of this process alone, of which only those that are touched cost memory.

use std::ops::Deref;

#[cfg(not(any(loom, shuttle)))]
use super::anon::Anon;
use super::word::Word;
use crate::error::Result;

/// Zero words; those that are never touched cost nothing.
pub(crate) struct ZeroedWords {
    #[cfg(not(any(loom, shuttle)))]
    memory: Anon,
    #[cfg(not(any(loom, shuttle)))]
    count: usize,
    #[cfg(any(loom, shuttle))]
    words: Box<[Word]>,
}

#[cfg(not(any(loom, shuttle)))]
impl ZeroedWords {
    pub(crate) fn new(count: usize) -> Result<ZeroedWords> {
        let bytes = (count as u64).saturating_mul(size_of::<Word>() as u64);
        Ok(ZeroedWords { memory: Anon::reserve(bytes)?, count })
    }
}

#[cfg(not(any(loom, shuttle)))]
impl Deref for ZeroedWords {
    type Target = [Word];

    #[inline]
    fn deref(&self) -> &[Word] {
        let first = self.memory.base().as_ptr().cast::<Word>();
        // SAFETY: the reservation holds `count` words, zeroed (a valid AtomicU64), aligned to a
        // system page, and lives as long as `self`; it is accessed as atomics only.
        unsafe { std::slice::from_raw_parts(first, self.count) }
    }
}

#[cfg(any(loom, shuttle))]
impl ZeroedWords {
    pub(crate) fn new(count: usize) -> Result<ZeroedWords> {
        Ok(ZeroedWords { words: (0..count).map(|_| Word::new(0)).collect() })
    }
}

#[cfg(any(loom, shuttle))]
impl Deref for ZeroedWords {
    type Target = [Word];

    fn deref(&self) -> &[Word] {
        &self.words
    }
}
