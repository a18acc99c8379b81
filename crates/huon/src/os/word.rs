//! The word that slots, ring and locks are made of: an atomic `u64`, loom's under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64 as Word, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64 as Word, Ordering, fence};
