//! Places near the front of the file, for pages that are moved there.

use super::{Backend, Space};
use crate::error::Result;
use crate::page::Pgno;

/// Chunks that a transaction opens at most to find places near the front.
const LOW_CHUNKS_MAX: u64 = 128;

impl Space {
    /// Whether so many pages before `line` may be taken, one by one; opens chunks to find them.
    pub(crate) fn has_below(
        &mut self,
        backend: &impl Backend,
        pages: u32,
        line: u32,
    ) -> Result<bool> {
        self.judge_once(backend)?;
        loop {
            if self.pool.has_below(pages, line) {
                return Ok(true);
            }
            if self.counts.chunks_opened >= LOW_CHUNKS_MAX || !self.open_chain(backend)? {
                return Ok(false);
            }
        }
    }

    /// Consecutive pages before `line`: of the shortest run there that is long enough.
    pub(crate) fn take_run_below(
        &mut self,
        backend: &impl Backend,
        pages: u32,
        line: u32,
    ) -> Result<Option<Pgno>> {
        self.judge_once(backend)?;
        loop {
            if let Some(pgno) = self.pool.take_run_below(pages, line) {
                return self.check_unwritten(pgno, pages).map(Some);
            }
            if self.counts.chunks_opened >= LOW_CHUNKS_MAX || !self.open_chain(backend)? {
                return Ok(None);
            }
        }
    }
}
