//! The costs of a write transaction so far.

use crate::txn::write::WriteTxn;

/// What a write transaction has cost so far, and how much it may still use: see
/// [`WriteTxn::costs`]. All sizes are in bytes.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteCosts {
    /// The transaction's id at the moment.
    pub id: u64,
    /// Changed pages that are still in memory.
    pub dirty_bytes: u64,
    /// The same at most, before they are written early; see
    /// [`Settings::write_buffer_bytes`](crate::Settings::write_buffer_bytes).
    pub write_buffer_bytes: u64,
    /// Pages that were written already: large values, pages that did not fit in the write buffer,
    /// and full ones behind records put in order.
    pub written_bytes: u64,
    /// Pages of the snapshot before that it has replaced or deleted. They are free for later
    /// transactions, when no reader sees them any more. Pages that the transaction wrote and
    /// replaced itself are reused by it, and do not count.
    pub retired_bytes: u64,
    /// Part of the file in use, with the pages that this transaction took.
    pub used_bytes: u64,
    /// How much that may become.
    pub max_bytes: u64,
}

impl WriteTxn {
    /// What the transaction has cost so far. Walks the list of pages that it has retired.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let mut txn = env.write()?;
    /// assert_eq!(txn.costs().dirty_bytes, 0);
    /// txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// assert!(txn.costs().dirty_bytes > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn costs(&self) -> WriteCosts {
        let pages = self.pages();
        let size = pages.page_bytes() as u64;
        WriteCosts {
            id: self.id(),
            dirty_bytes: pages.dirty_count() as u64 * size,
            write_buffer_bytes: pages.spill_limit() as u64 * size,
            written_bytes: pages.counts().written_bytes,
            retired_bytes: pages.retired_pages() * size,
            used_bytes: u64::from(pages.used()) * size,
            max_bytes: self.geometry().max_bytes,
        }
    }
}
