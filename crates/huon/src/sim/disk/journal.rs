//! The journal of a simulated machine.

use std::ops::Range;
use std::sync::Arc;

use super::{Event, Machine};
use crate::error::Result;
use crate::os::{Counters, IoCounts, JournalFile, locked, past_end};

/// The file; empty if there is none.
#[derive(Default)]
pub(super) struct Blocks {
    /// As programs see it.
    pub(super) seen: Vec<u8>,
    /// As it is on the disk.
    pub(super) flushed: Vec<u8>,
    /// What the next flush writes.
    due: Vec<Range<usize>>,
}

impl Blocks {
    /// A journal that holds `image`, all of it flushed.
    pub(super) fn of(image: Vec<u8>) -> Blocks {
        Blocks { flushed: image.clone(), seen: image, due: Vec::new() }
    }

    fn sync(&mut self) {
        for range in self.due.drain(..) {
            self.flushed[range.clone()].copy_from_slice(&self.seen[range]);
        }
    }

    /// A flush failed, and lost what it should have written: no later one writes that.
    pub(super) fn lose(&mut self) {
        self.due.clear();
    }
}

/// A handle of the journal.
pub(super) struct SimJournal {
    machine: Arc<Machine>,
    counters: Counters,
}

impl SimJournal {
    pub(super) fn new(machine: Arc<Machine>) -> SimJournal {
        SimJournal { machine, counters: Counters::default() }
    }

    fn note(&self, event: impl FnOnce() -> Event) {
        let mut state = self.machine.state();
        state.note(event);
        super::file::seen(&self.machine, state);
    }
}

impl JournalFile for SimJournal {
    fn bytes(&self) -> Result<u64> {
        Ok(locked(&self.machine.journal).seen.len() as u64)
    }

    fn make(&self, bytes: u64) -> Result<()> {
        *locked(&self.machine.journal) = Blocks::of(vec![0; bytes as usize]);
        self.note(|| Event::JournalMade { bytes });
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let journal = &locked(&self.machine.journal).seen;
        let end = offset as usize + buffer.len();
        let Some(found) = journal.get(offset as usize..end) else {
            return Err(past_end(offset, buffer.len() as u64, journal.len() as u64));
        };
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, blocks: &[u8], offset: u64) -> Result<()> {
        let mut journal = locked(&self.machine.journal);
        let (count, bytes) = (blocks.len() as u64, journal.seen.len() as u64);
        let range = offset as usize..offset as usize + blocks.len();
        let Some(place) = journal.seen.get_mut(range.clone()) else {
            return Err(past_end(offset, count, bytes));
        };
        place.copy_from_slice(blocks);
        journal.due.push(range);
        drop(journal);
        self.counters.wrote(count);
        self.note(|| Event::JournalWrite { offset, bytes: blocks.into() });
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        locked(&self.machine.journal).sync();
        self.counters.synced();
        self.note(|| Event::JournalSync);
        Ok(())
    }

    fn delete(&self) -> Result<()> {
        *locked(&self.machine.journal) = Blocks::default();
        Ok(())
    }

    fn counts(&self) -> IoCounts {
        self.counters.get()
    }
}
