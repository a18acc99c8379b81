//! The high-water mark and the maximum size of the file, which a transaction may change.
//!
//! 1. No snapshot uses pages behind its maximum size. So a lower one is refused unless the pages
//!    behind it are free to be used; these are then given up by moving the high-water mark.
//! 2. A level that set a higher maximum size may have used pages behind the old one when it is
//!    aborted. No snapshot sees them. They count as dead pages that are not reused, until the
//!    high-water mark moves back at the seal.

use super::{Backend, CUT_CHUNKS_MAX, Space};
use crate::error::{Error, Result};
use crate::page::{Item, Reason};

impl Space {
    /// Moves the high-water mark back to `max_pages` if all pages behind are free; whether it does
    /// not lie behind it now.
    pub(crate) fn cut_to(&mut self, backend: &impl Backend, max_pages: u32) -> Result<bool> {
        if self.used <= max_pages {
            return Ok(true);
        }
        let frugal = std::mem::replace(&mut self.frugal, true);
        let judged = self.judge_once(backend);
        self.frugal = frugal;
        judged?;
        for _ in 0..CUT_CHUNKS_MAX {
            if self.is_free_from(max_pages) || !self.open_chain(backend)? {
                break;
            }
        }
        if !self.is_free_from(max_pages) {
            return Ok(false);
        }
        self.pool.cut_tail(self.used - max_pages);
        self.used = max_pages;
        Ok(true)
    }

    /// Whether all pages from `max_pages` to the high-water mark may be taken now.
    fn is_free_from(&self, max_pages: u32) -> bool {
        self.pool.tail(self.used).is_some_and(|tail| tail.pgno <= max_pages)
    }

    /// An aborted level leaves a maximum size behind which pages have been taken: they are not
    /// taken again.
    pub(crate) fn confine(&mut self, max_pages: u32) {
        if self.used <= max_pages {
            return;
        }
        while let Some(run) = self.pool.pop_behind(max_pages) {
            self.shut_away(run);
        }
        self.close_behind(max_pages);
    }

    /// Moves the high-water mark back over the pages that [`Space::confine`] left behind
    /// `max_pages`.
    pub(super) fn clip(&mut self, max_pages: u32) -> Result<()> {
        if self.used <= max_pages {
            return Ok(());
        }
        let behind = |item: &&Item| item.pgno + item.page_count() > max_pages;
        assert!(
            !self.lasting.iter().any(|item| behind(&item)),
            "F1: a page behind the maximum size that a snapshot may see"
        );
        // A damaged tree may have named one.
        if let Some(item) = self.retired.iter().find(behind) {
            return Err(Error::corrupt(item.pgno, Reason::Space.text()));
        }
        self.clip_dead(max_pages);
        self.used = max_pages;
        Ok(())
    }
}
