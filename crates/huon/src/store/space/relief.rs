//! Where pages are wanted and readers retain them: which reader retains how much, and looking again
//! when one has ended.
//!
//! 1. A second scan in a transaction may decide what the first one decided: P10, P13 and P14 say
//!    the same of it, as the published, the durable and the in-flight snapshot are read anew with
//!    it, and pages that were found free before stay free.
//! 2. All free pages are found before any reader is asked to end because the file is full.

use super::{Backend, Pool, Protected, Space};
use crate::alloc::{Reserved, TryGrow, collected, filled};
use crate::error::{Error, Result};
use crate::page::{Item, Pgno, Ptr, Reason};
use crate::planted::{self, Bug};
use crate::store::source::{OnPage, damaged};

/// What a snapshot retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retained {
    pub(crate) txnid: u64,
    /// Free pages that it sees.
    pub(crate) pages: u64,
    /// Those that no other protected snapshot sees.
    pub(crate) alone_pages: u64,
}

/// A want of pages.
pub(crate) struct Need<'h> {
    /// What all protected snapshots retain, ascending by id.
    pub(crate) retained: &'h [Retained],
    /// How often it was looked again.
    pub(crate) retries: u32,
    /// The file cannot grow any more; else it is only not wanted to.
    pub(crate) full: bool,
}

impl Space {
    /// Pages past the high-water mark; `None` if enough came free while readers were waited for.
    pub(super) fn advance_or_wait(
        &mut self,
        backend: &impl Backend,
        pages: u32,
        enough: impl Fn(&Pool) -> bool,
    ) -> Result<Option<Pgno>> {
        let used = u64::from(self.used()) + u64::from(pages);
        if backend.asks_before(used)
            && (self.use_aside(&enough)? || self.wait(backend, &enough, false)?)
        {
            return Ok(None);
        }
        match self.advance(backend, pages) {
            Err(error @ (Error::MapFull(_) | Error::MapTooSmall { .. })) => {
                if self.use_aside(&enough)?
                    || self.open_until(backend, &enough)?
                    || self.wait(backend, &enough, true)?
                {
                    return Ok(None);
                }
                let retained = self.retained(backend)?;
                Err(backend.name_readers(error, &retained, &self.named))
            }
            advanced => advanced.map(Some),
        }
    }

    /// Asks for readers to be ended until there is enough, or no reader is left to ask about.
    fn wait(
        &mut self,
        backend: &impl Backend,
        enough: &impl Fn(&Pool) -> bool,
        full: bool,
    ) -> Result<bool> {
        for retries in 0.. {
            let retained = self.retained(backend)?;
            if !backend.relieve(&Need { retained: &retained, retries, full })? {
                break;
            }
            if !planted::is(Bug::SecondReaderScan) {
                let read = backend.read_protected(&self.named, &mut self.protected);
                // Half a set protects too little.
                self.lost |= read.is_err();
                read?;
            }
            self.judge_items()?;
            if self.open_until(backend, enough)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens all chains whose owner is gone, until there is enough.
    fn open_until(
        &mut self,
        backend: &impl Backend,
        enough: &impl Fn(&Pool) -> bool,
    ) -> Result<bool> {
        loop {
            if enough(&self.pool) {
                return Ok(true);
            }
            if !self.open_chain(backend)? {
                return Ok(false);
            }
        }
    }

    /// What each protected snapshot retains of the free pages. Reads all of the list, and opens
    /// nothing.
    fn retained(&self, backend: &impl Backend) -> Result<Vec<Retained>> {
        if !self.judged {
            return Ok(Vec::new());
        }
        let mut tally = Tally::new(&self.protected)?;
        let mut chains: Vec<Ptr> = Vec::new();
        let mut take = |item: &Item, chains: &mut Vec<Ptr>| {
            if item.is_chain() {
                chains.try_push(item.ptr())
            } else {
                tally.add(item);
                Ok(())
            }
        };
        self.items.iter().try_for_each(|item| take(item, &mut chains))?;
        let mut chunk_count = 0;
        while let Some(ptr) = chains.pop() {
            chunk_count += 1;
            if chunk_count > self.used() {
                return Err(damaged(ptr, Reason::Cycle));
            }
            let chunk = backend.chunk(ptr, self.used())?;
            if !chunk.next().is_none() {
                chains.try_push(chunk.next())?;
            }
            for item in chunk.items() {
                take(&item.on(ptr)?, &mut chains)?;
            }
        }
        Ok(tally.retained()?)
    }
}

/// Adds up pages by snapshot, at the same cost for each run however many snapshots see it.
struct Tally<'p> {
    ids: &'p [u64],
    /// Pages that snapshots see from here on, less those that they see no more.
    steps: Vec<i64>,
    alone: Vec<u64>,
}

impl Tally<'_> {
    fn new(protected: &Protected) -> Reserved<Tally<'_>> {
        let ids = &protected.all[..];
        Ok(Tally { ids, steps: filled(0, ids.len() + 1)?, alone: filled(0, ids.len())? })
    }

    fn add(&mut self, item: &Item) {
        let from = self.ids.partition_point(|&id| id < item.birth);
        let to = self.ids.partition_point(|&id| id < item.freed);
        let pages = item.page_count();
        if from < to {
            self.steps[from] += i64::from(pages);
            self.steps[to] -= i64::from(pages);
        }
        if from + 1 == to {
            self.alone[from] += u64::from(pages);
        }
    }

    fn retained(&self) -> Reserved<Vec<Retained>> {
        let mut pages = 0;
        collected(self.ids.iter().enumerate().map(|(i, &txnid)| {
            pages += self.steps[i];
            Retained { txnid, pages: pages as u64, alone_pages: self.alone[i] }
        }))
    }
}
