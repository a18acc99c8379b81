//! Looking through the chunks for a free tail of the file (M10).
//!
//! The inline items show whether the end of the file is free. Items in chunks are in no order, so
//! that all chunks have to be opened to know. A *sweep* does that once, over as many commits as it
//! takes, and only where it may find something:
//!
//! 1. The *roof* bounds from above where chunks lie and what they list. If the free tail does not
//!    reach down to it, chunks add nothing to the tail, and there is nothing to sweep.
//! 2. A sweep opens each chunk that was there when it began (it is known by its birth), and puts
//!    the free pages behind the *line* into a chain of their own, the rest into another one. So at
//!    its end one commit can open the whole chain behind the line, and the tail is known as far as
//!    there. If it reaches further it is cut there, and the next sweep goes on.
//! 3. The chunk pages that a sweep writes go to the first gaps, so that they do not lie in the tail
//!    themselves.
//! 4. A chain whose snapshot is gone is opened in any case: nothing is known of its items.
//! 5. A commit opens as many chunks as commits have earned (two for each but the first that a
//!    commit writes, 64 for the beginning of a sweep, one in sixteen commits for nothing), and not
//!    more than some 16384 items. So large deletes pay for what they leave behind, and small
//!    commits stay small.
//!
//! So a file with C chunks is swept by one commit if they are few (64 and 16384 items); by C / 210
//! commits, with pages of 4 KiB, if they were written since the last sweep; and by 16 C commits
//! whatever was before. Where the tail is free as far as the line, another sweep follows for each
//! 16384 pages of it.

use super::{Backend, Shrink, Space, slack};
use crate::error::Result;
use crate::page::{Item, Ptr, Sweep, Txnid};
use crate::planted::{self, Bug};
use crate::store::source::OnPage;

/// Items that a commit takes from chunks for a sweep, but for those of the last chunk.
const SWEEP_ITEMS_MAX: usize = 1 << 14;
/// Pages from the line to the end of the file. So the items of all of them fit one commit.
const ZONE_PAGES: u32 = SWEEP_ITEMS_MAX as u32;
/// Chunks that the beginning of a sweep earns.
const START_CHUNKS: u32 = 64;
/// Chunks that each earns that a commit writes, but for the first one: a commit that frees a few
/// pages writes one now and then.
const CHUNKS_PER_WRITTEN: u32 = 2;
/// Chunks that a commit may open that gives back all it can.
const ALL_CHUNKS: u32 = 256;
/// Work that is not used up is kept up to here, so that the transactions that pay it back later are
/// not slowed for long.
const OWED_CHUNKS_MAX: u32 = 1 << 20;
/// One in so many commits earns a chunk for nothing.
const COMMITS_PER_CHUNK: u64 = 16;

/// The work that a commit has done for a sweep.
pub(super) struct Swept {
    /// How far the sweep is.
    pub(super) now: Sweep,
    /// Chunks that were opened for it.
    pub(super) opened: usize,
}

impl Sweep {
    pub(super) fn is_running(&self) -> bool {
        self.since.0 != 0
    }

    fn begin(&mut self, txnid: Txnid, used: u32) {
        let owed = self.owed.saturating_add(START_CHUNKS);
        *self = Sweep { owed, since: txnid, line: used.saturating_sub(ZONE_PAGES), roof: 0 };
    }

    /// Whether the chain waits for no snapshot, and what it lists has been looked through.
    pub(super) fn has_seen(&self, chain: &Item) -> bool {
        chain.freed == 0 && chain.birth >= self.since.0
    }

    /// Whether the item ends behind the line.
    pub(super) fn is_behind(&self, item: &Item) -> bool {
        item.pgno + item.page_count() > self.line
    }

    /// A chunk of a chain that waits for no snapshot is written there, and lists these.
    pub(super) fn raise_roof(&mut self, chunk: Ptr, items: &[Item]) {
        let end = |item: &Item| {
            if item.is_chain() {
                // Nothing is known of what it lists.
                u32::MAX
            } else {
                item.pgno + item.page_count()
            }
        };
        let highest = items.iter().map(end).max().unwrap_or(0);
        self.roof = self.roof.max(highest).max(chunk.pgno.0 + 1);
    }

    /// A commit has written so many chunks more than it has opened for a sweep.
    pub(super) fn earn(&mut self, written: usize) {
        let written = u32::try_from(written.saturating_sub(1)).unwrap_or(u32::MAX);
        let owed = self.owed.saturating_add(written.saturating_mul(CHUNKS_PER_WRITTEN));
        self.owed = owed.min(OWED_CHUNKS_MAX);
    }
}

impl Space {
    /// A commit's part of a sweep.
    pub(super) fn sweep(&mut self, backend: &impl Backend, shrink: Shrink) -> Result<Swept> {
        let mut sweep = shrink.sweep;
        if sweep.since > self.txnid {
            // Hints may be wrong.
            sweep = Sweep { roof: u32::MAX, ..Sweep::default() };
        }
        if shrink.all_to.is_some() {
            sweep.owed = sweep.owed.max(ALL_CHUNKS);
        }
        let mut opened = 0;
        if self.sweeps(shrink.pages) {
            if !sweep.is_running() && self.reaches(sweep.roof) && self.has_seen_chains(&sweep) {
                sweep.begin(self.txnid, self.used);
            }
            opened = self.open_unseen(backend, &mut sweep)?;
        }
        Ok(Swept { now: sweep, opened })
    }

    /// Opens the chunks that were not looked through, and then those of pages behind the line.
    fn open_unseen(&mut self, backend: &impl Backend, sweep: &mut Sweep) -> Result<usize> {
        let (mut items, mut opened) = (0, 0);
        while items < SWEEP_ITEMS_MAX
            && let Some(at) = self.unseen(sweep)
        {
            if opened == 0 && self.txnid.0.is_multiple_of(COMMITS_PER_CHUNK) {
                sweep.owed = sweep.owed.saturating_add(1);
            }
            if sweep.owed == 0 {
                return Ok(opened);
            }
            sweep.owed -= 1;
            opened += 1;
            items += self.open(backend, at)?;
        }
        if sweep.is_running() && items < SWEEP_ITEMS_MAX {
            opened += self.open_zone(backend, sweep)?;
            sweep.since = Txnid::default();
        }
        Ok(opened)
    }

    /// Whether a tail may be found that is long enough to be cut.
    fn sweeps(&self, shrink_pages: u32) -> bool {
        let least =
            u64::from(self.first_page) + u64::from(shrink_pages) + u64::from(slack(self.used));
        let may_find = shrink_pages != 0 && u64::from(self.used) >= least;
        may_find && self.judged && !planted::is(Bug::TailListPages)
    }

    /// Whether the free tail reaches down to this page, as far as it is known.
    fn reaches(&self, roof: u32) -> bool {
        self.pool.tail(self.used).map_or(self.used, |tail| tail.pgno) <= roof
    }

    fn is_open_to(&self, item: &Item) -> bool {
        item.is_chain() && self.protected().owner(item) == 0
    }

    fn has_seen_chains(&self, sweep: &Sweep) -> bool {
        self.items.iter().any(|item| item.is_chain() && sweep.has_seen(item))
    }

    /// A chain that has not been looked through and may be.
    fn unseen(&self, sweep: &Sweep) -> Option<usize> {
        let unseen = |item: &Item| self.is_open_to(item) && !sweep.has_seen(item);
        self.items.iter().position(unseen)
    }

    /// Collects the items behind the line, which show how much of it is free.
    fn open_zone(&mut self, backend: &impl Backend, sweep: &Sweep) -> Result<usize> {
        let (mut items, mut opened) = (0, 0);
        let mut at = 0;
        while let Some(item) = self.items.get(at).copied() {
            let seen = self.is_open_to(&item) && sweep.has_seen(&item);
            if items < 2 * SWEEP_ITEMS_MAX && seen && self.is_zone(backend, &item, sweep)? {
                items += self.open(backend, at)?;
                opened += 1;
                at = 0;
            } else {
                at += 1;
            }
        }
        Ok(opened)
    }

    /// Whether the item lies behind the line; a chain, if what it lists does.
    pub(super) fn is_zone(
        &self,
        backend: &impl Backend,
        item: &Item,
        sweep: &Sweep,
    ) -> Result<bool> {
        if !item.is_chain() {
            return Ok(sweep.is_behind(item));
        }
        if !sweep.has_seen(item) {
            return Ok(false);
        }
        let ptr = item.ptr();
        for listed in backend.chunk(ptr, self.used)?.items() {
            let listed = listed.on(ptr)?;
            if !listed.is_chain() {
                return Ok(sweep.is_behind(&listed));
            }
        }
        Ok(false)
    }
}
