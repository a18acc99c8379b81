//! The journal of a simulated machine.

use std::sync::Arc;

use super::{Event, Machine};
use crate::error::Result;
use crate::os::{Counters, IoCounts, JournalFile, locked, past_end};

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
        Ok(locked(&self.machine.journal).len() as u64)
    }

    fn make(&self, bytes: u64) -> Result<()> {
        *locked(&self.machine.journal) = vec![0; bytes as usize];
        self.note(|| Event::JournalMade { bytes });
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let journal = locked(&self.machine.journal);
        let end = offset as usize + buffer.len();
        let Some(found) = journal.get(offset as usize..end) else {
            return Err(past_end(offset, buffer.len() as u64, journal.len() as u64));
        };
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, blocks: &[u8], offset: u64) -> Result<()> {
        let mut journal = locked(&self.machine.journal);
        let (count, bytes) = (blocks.len() as u64, journal.len() as u64);
        let Some(place) = journal.get_mut(offset as usize..offset as usize + blocks.len()) else {
            return Err(past_end(offset, count, bytes));
        };
        place.copy_from_slice(blocks);
        drop(journal);
        self.counters.wrote(count);
        self.note(|| Event::JournalWrite { offset, bytes: blocks.into() });
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.counters.synced();
        self.note(|| Event::JournalSync);
        Ok(())
    }

    fn delete(&self) -> Result<()> {
        locked(&self.machine.journal).clear();
        Ok(())
    }

    fn counts(&self) -> IoCounts {
        self.counters.get()
    }
}
