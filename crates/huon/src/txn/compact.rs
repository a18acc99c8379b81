//! The transactions of a compaction in place.

use crate::error::Result;
use crate::tree::compact::{self, Step};
use crate::txn::write::{How, WriteTxn};

impl WriteTxn {
    /// One step of moving pages to the front. Before anything else in the transaction: it deals
    /// with the records of tables where they lie.
    pub(crate) fn compact(&mut self, step: &mut Step) -> Result<()> {
        debug_assert!(!self.is_changed(), "tables that were opened would be written back");
        // More pages are freed than taken, if not at once.
        self.edit_catalog(How::Shrink, |main| compact::step(main.pages, main.tree, step))
    }

    /// The commit gives back what is free at the end of the file, whatever the geometry's threshold
    /// is, but for slack up to `target` pages.
    pub(crate) fn give_back_all(&mut self, target: u32) -> Result<()> {
        self.guarded(How::Shrink, |txn| {
            // The commit relies on what is known of free pages: so they are judged now.
            txn.pages_mut().has_room_below(1, target)?;
            txn.give_back_to = Some(target);
            Ok(())
        })
    }

    /// Cuts off what lies behind the pages in use, as the beginning of a transaction does from the
    /// threshold on.
    pub(crate) fn cut_file(&self) -> Result<()> {
        debug_assert!(!self.is_changed(), "nothing was taken from behind them");
        self.core.cut_file(&self.base().meta)
    }
}
