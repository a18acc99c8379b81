//! Finding free pages that are listed in chunks.
//!
//! Free pages that lie side by side are one run only where one transaction has opened the chunks of
//! both; what it opens, it joins. A search that gives up early finds no run in a list that is in
//! pieces, the file grows, and the list is in more pieces next time: with four chunks for any
//! request, readers that came and went beside large values made a file grow without end. A deeper
//! search reads no more chunks in all, since the list stays short.

use super::runs::{FreeRun, Pool, merge};
use super::{Backend, Space};
use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::page::{Item, Ptr, Reason, Txnid};
use crate::store::source::OnPage;

/// Chunks that any request may open in vain before the file grows instead (P15).
pub(super) const CHUNKS_IN_VAIN: u32 = 4;
/// Chunks that a request for a run may open beyond these, for each page of it.
const CHUNKS_PER_PAGE: u32 = 4;
/// Chunks that a request for a run may open in vain at most.
const CHUNKS_IN_VAIN_MAX: u32 = 64;

/// Chunks that a request for a run of so many pages may open in vain (F5).
pub(super) fn chunks_for_run(pages: u32) -> u32 {
    let chunks = pages.saturating_mul(CHUNKS_PER_PAGE).saturating_add(CHUNKS_IN_VAIN);
    chunks.min(CHUNKS_IN_VAIN_MAX)
}

impl Space {
    /// Judges the items once, then opens chunks until `enough`, or until so many were in vain.
    pub(super) fn refill(
        &mut self,
        backend: &impl Backend,
        chunks: u32,
        enough: impl Fn(&Pool) -> bool,
    ) -> Result<()> {
        self.judge_once(backend)?;
        for _ in 0..chunks {
            if enough(&self.pool) || !self.open_chain(backend)? {
                break;
            }
        }
        Ok(())
    }

    /// Opens the newest chain whose owner is gone. `false`: there is none.
    pub(super) fn open_chain(&mut self, backend: &impl Backend) -> Result<bool> {
        let protected = self.protected();
        let newest = (0..self.items.len())
            .filter(|&i| self.items[i].is_chain() && protected.owner(&self.items[i]) == 0)
            .max_by_key(|&i| (self.items[i].birth, i));
        match newest {
            Some(at) => self.open(backend, at).map(|_| true),
            None => Ok(false),
        }
    }

    /// Opens the first chunk of the chain that is this item; returns how many items it lists.
    pub(super) fn open(&mut self, backend: &impl Backend, at: usize) -> Result<usize> {
        let chain = self.items[at];
        let ptr = chain.ptr();
        let chunk = backend.chunk(ptr, self.used)?;
        let mut items = Vec::new();
        items.try_reserve_exact(chunk.items().size_hint().0 + 1)?;
        for item in chunk.items() {
            let item = item.on(ptr)?;
            self.check_listed(&item, ptr)?;
            items.push(item);
        }
        self.lasting.try_reserve(1)?;
        // From here on the chunk is open.
        self.items.remove(at);
        self.counts.chunks_opened += 1;
        self.lasting.push(Item::run(ptr.pgno, 1, ptr.birth, self.txnid, true));
        if !chunk.next().is_none() {
            let rest = Item::chain(chunk.next(), Txnid(chain.freed));
            self.check_listed(&rest, ptr)?;
            items.push(rest);
        }
        let count = items.len();
        let taken_in = self.take_in(items);
        self.lost |= taken_in.is_err();
        taken_in.map(|()| count)
    }

    /// Judges what a chunk has listed. An error leaves it open where they are.
    fn take_in(&mut self, listed: Vec<Item>) -> Result<()> {
        let (mut retained, mut freed) = (Vec::new(), Vec::new());
        for item in listed {
            if self.is_retained(&item)? {
                retained.try_push(item)?;
            } else {
                freed.try_push(FreeRun::of(&item))?;
            }
        }
        self.pool.add(freed)?;
        self.items = merge(std::mem::take(&mut self.items), retained)?;
        Ok(())
    }

    /// Freed pages, and other chunks, lie inside the file, not before the first data page, and are
    /// not the chunk that lists them (a hostile file may say otherwise). Items of a meta were
    /// checked with it.
    fn check_listed(&self, item: &Item, chunk: Ptr) -> Result<()> {
        let end = u64::from(item.pgno) + u64::from(item.page_count());
        let outside = item.pgno < self.first_page || end > u64::from(self.used);
        let itself = item.pgno <= chunk.pgno.0 && u64::from(chunk.pgno.0) < end;
        if outside || itself || !item.is_chain() && item.birth > item.freed {
            Err(Error::corrupt(item.pgno, Reason::Space.text()))
        } else {
            Ok(())
        }
    }
}
