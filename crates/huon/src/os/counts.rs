//! How much a data file was written and flushed through one handle.

use std::sync::atomic::{AtomicU64, Ordering};

/// What one open data file has done so far. Only what succeeded is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IoCounts {
    /// Flushes.
    pub(crate) syncs: u64,
    /// Calls of `Storage::write_at`; each writes one stretch of the file.
    pub(crate) writes: u64,
    /// Pages that were edited in the file (`Storage::view`).
    pub(crate) stores: u64,
    /// Bytes of those writes and pages. The zeros that a growth writes are not in it.
    pub(crate) written_bytes: u64,
    /// Growths that made the file longer.
    pub(crate) grows: u64,
}

/// The counters behind [`IoCounts`]. They order nothing, so relaxed operations do.
#[derive(Default)]
pub(crate) struct Counters {
    syncs: AtomicU64,
    writes: AtomicU64,
    stores: AtomicU64,
    written_bytes: AtomicU64,
    grows: AtomicU64,
}

impl Counters {
    pub(crate) fn synced(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn wrote(&self, bytes: u64) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn stored(&self, bytes: u64) {
        self.stores.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn grew(&self) {
        self.grows.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> IoCounts {
        IoCounts {
            syncs: self.syncs.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            stores: self.stores.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            grows: self.grows.load(Ordering::Relaxed),
        }
    }
}
