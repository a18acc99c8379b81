//! The frontier and the upper size of the file, which a transaction may change.
//!
//! 1. No snapshot uses pages behind its upper size. So a lower one is refused unless what lies
//!    behind it is free to be used, and is then given up by moving the frontier.
//! 2. A level that set a higher upper size may have used pages behind the old one when it is
//!    aborted. Nobody sees them. They count as written (P8), so that nothing takes them again under
//!    this id, until the frontier moves back at the seal. (What the level wrote below the old upper
//!    size, and with it maybe the reserve for deletes, is not to be had before the next id.)

use super::{CUT_CHUNKS_MAX, Ground, Space};
use crate::error::Result;
use crate::page::Pgno;

impl Space {
    /// Moves the frontier back to `upper` if what lies behind is free; whether it does not lie
    /// behind it now.
    pub(crate) fn cut_to(&mut self, ground: &impl Ground, upper: u32) -> Result<bool> {
        if self.used <= upper {
            return Ok(true);
        }
        let frugal = std::mem::replace(&mut self.frugal, true);
        let judged = self.judge_once(ground);
        self.frugal = frugal;
        judged?;
        for _ in 0..CUT_CHUNKS_MAX {
            if self.is_free_from(upper) || !self.open_chain(ground)? {
                break;
            }
        }
        if !self.is_free_from(upper) {
            return Ok(false);
        }
        self.pool.cut_tail(self.used - upper);
        self.used = upper;
        Ok(true)
    }

    /// Whether all pages from `upper` to the frontier may be taken now.
    fn is_free_from(&self, upper: u32) -> bool {
        self.pool.tail(self.used).is_some_and(|tail| tail.pgno <= upper)
    }

    /// An aborted level leaves an upper size behind which pages have been taken: nobody takes them
    /// any more.
    pub(crate) fn confine(&mut self, upper: u32) {
        while let Some(run) = self.pool.pop_behind(upper) {
            self.burn(Pgno(run.pgno), run.pages, false);
        }
    }

    /// Moves the frontier back over what [`Space::confine`] left behind `upper`.
    pub(super) fn clip(&mut self, upper: u32) {
        if self.used <= upper {
            return;
        }
        let txnid = self.txnid.0;
        self.lasting.retain_mut(|item| {
            if item.pgno + item.page_count() <= upper {
                return true;
            }
            assert!(
                (item.birth, item.freed) == (txnid, txnid),
                "F1: a page behind the upper size that somebody else may see"
            );
            let kept = upper.saturating_sub(item.pgno);
            item.cut_to(kept);
            kept > 0
        });
        self.used = upper;
    }
}
