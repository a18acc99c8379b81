//! Levels: nested transactions and savepoints, as the pages see them.
//!
//! I6. Own to a level, beyond doubt, are pages that were born after it began: under an id above the
//!     one of that moment. Only those die when the level drops them. What else it drops may be an
//!     outer level's; it is retired, and comes back if the level is aborted. When a level commits,
//!     its parent judges what it has retired by its own bound. (So what a level writes before its
//!     first rise is in doubt, and waits for its end; see [`Pages::settle`].)
//! I7. What an aborted level wrote dies with its births. A number is in one place: the list of what
//!     a level has written loses it when it dies, so that no abort frees it again.

use std::collections::HashMap;

use super::{Body, Pages};
use crate::alloc::Reserved;
use crate::error::{Error, Result};
use crate::page::{Pgno, Ptr, Reason, Txnid};
use crate::planted::{self, Bug};
use crate::store::by_pgno::ByPgno;

/// What was written at a page number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Written {
    birth: Txnid,
    pages: u32,
    what: Body,
}

/// Pages that have left their tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gone {
    pub(super) first: Ptr,
    pub(super) pages: u32,
    pub(super) what: Body,
}

pub(super) struct Level {
    /// I6: pages with this birth or a later one are its own.
    bound: Txnid,
    /// Where the level's retired items begin.
    retired_mark: usize,
    /// Buffered pages of outer levels that this level has replaced.
    pub(super) shadowed: Vec<Gone>,
    /// What this level, if it is a nested one, has written and not dropped; or dropped, as long as
    /// it is in doubt whose it is.
    written: ByPgno<Written>,
    /// Of these, pages in doubt: they were born before the bound.
    doubtful_pages: u64,
}

impl Level {
    pub(super) fn new(bound: Txnid, retired_mark: usize) -> Level {
        let (shadowed, written) = (Vec::new(), HashMap::default());
        Level { bound, retired_mark, shadowed, written, doubtful_pages: 0 }
    }

    fn note(&mut self, pgno: u32, written: Written) -> Reserved<()> {
        self.written.try_reserve(1)?;
        self.written.insert(pgno, written);
        let in_doubt = written.birth < self.bound;
        self.doubtful_pages += if in_doubt { u64::from(written.pages) } else { 0 };
        Ok(())
    }

    /// I6: pages that the level has written and cannot reuse; `None` if what it writes now is its
    /// own beyond doubt.
    pub(super) fn doubtful_pages(&self, txnid: Txnid) -> Option<u64> {
        (txnid < self.bound).then_some(self.doubtful_pages)
    }
}

impl Pages {
    /// Pages are written before the transaction ends, by a level that may still be aborted; see
    /// [`Pages::is_lost`].
    pub(super) fn note_written(&mut self, first: Ptr, pages: u32, level: usize, what: Body) {
        self.outgoing.note_written();
        self.space.note_written(first.pgno, pages);
        if level > 0 {
            let written = Written { birth: first.birth, pages, what };
            self.lost |= self.buffers.level_mut(level).note(first.pgno.0, written).is_err();
        }
    }

    /// I6: pages that were written, by this transaction or another, have left the tree.
    pub(super) fn drop_written(&mut self, gone: Gone) -> Result<()> {
        let Gone { first, pages, what } = gone;
        let node = what == Body::Node;
        let is_nested = self.buffers.level() > 0;
        let current = self.buffers.current();
        let bound =
            if planted::is(Bug::LevelBound) { self.outgoing.first() } else { current.bound };
        if first.birth < bound {
            self.space.retire(first.pgno, pages, first.birth, node);
            return Ok(());
        }
        if is_nested && !planted::is(Bug::LevelKept) {
            // I7. A damaged tree may name as own what is not.
            let gone = current.written.remove(&first.pgno.0);
            if gone != Some(Written { birth: first.birth, pages, what })
                && !planted::is(Bug::LevelBound)
            {
                return Err(Error::corrupt(first.pgno.0, Reason::Header.text()));
            }
        }
        self.space.bury(first.pgno, pages, first.birth, node)
    }

    /// Starts a nested level.
    pub(crate) fn push_level(&mut self) -> Result<()> {
        let retired_mark = self.space.mark();
        self.shape += 1;
        let bound = Txnid(self.txnid().0 + 1);
        Ok(self.buffers.push_level(Level::new(bound, retired_mark))?)
    }

    /// The level's work becomes its parent's; see [`Pages::is_lost`].
    pub(crate) fn commit_level(&mut self) {
        self.shape += 1;
        let level = self.buffers.commit_level();
        if self.buffers.level() > 0 {
            let parent = self.buffers.current();
            let mut written = level.written.into_iter();
            let noted = written.try_for_each(|(pgno, written)| parent.note(pgno, written));
            self.lost |= noted.is_err();
        }
        // They may have been spilled meanwhile, then they are no buffers any more (W2).
        for gone in level.shadowed {
            self.lost |= self.drop_pages(gone).is_err();
        }
        let bound = self.buffers.current().bound;
        for item in self.space.take_retired(level.retired_mark, bound) {
            let first = Ptr { pgno: Pgno(item.pgno), birth: Txnid(item.birth) };
            let what = if item.has_headers() { Body::Node } else { Body::Value };
            let dropped = self.drop_written(Gone { first, pages: item.page_count(), what });
            self.lost |= dropped.is_err();
        }
    }

    /// W3: the level's work has not happened; see [`Pages::is_lost`]. The file's maximum size is
    /// `max_pages` again.
    pub(crate) fn abort_level(&mut self, max_pages: u32) {
        self.shape += 1;
        let (level, undone) = self.buffers.abort_level();
        if !planted::is(Bug::RetiredAfterAbort) {
            self.space.cut_back(level.retired_mark);
        }
        for (pgno, dirty) in undone {
            let pages = dirty.pages(self.store.page_bytes);
            self.store.recycle(dirty.buffer);
            if !planted::is(Bug::UndoneTakeLost) {
                self.space.give_back(Pgno(pgno), pages);
            }
        }
        for (pgno, Written { birth, pages, what }) in level.written {
            let (pgno, node) = (Pgno(pgno), what == Body::Node);
            if planted::is(Bug::UndoneWriteFree) {
                self.space.give_back(pgno, pages);
            } else {
                self.lost |= self.space.bury(pgno, pages, birth, node).is_err();
            }
        }
        self.space.confine(max_pages);
    }
}
