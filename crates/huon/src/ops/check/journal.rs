//! The part of a check that looks at the journal.

use super::Check;
use crate::error::Result;
use crate::lock::Place;
use crate::os::JournalFile;
use crate::txn::recovery::JournalReader;

/// How often it is looked at anew, since a checkpoint came between.
const LOOKS: usize = 8;

impl Check<'_, '_> {
    /// From the place that the durable meta names to where the journal has come, each batch is
    /// whole, bound to the one before it, and of records that make sense (J2.5). While that meta is
    /// the durable one, none of them is written over (J4.2).
    pub(super) fn journal(&mut self) -> Result<()> {
        let Some(journal) = self.core.journal.as_deref() else { return Ok(()) };
        for _ in 0..LOOKS {
            let from = self.core.durable_info()?.place;
            let Some(journaled) = self.core.store.board.journaled() else { return Ok(()) };
            if from.is_none() {
                return Ok(());
            }
            let (batches, is_whole) = self.follow(journal, from, journaled.place.next)?;
            if is_whole {
                self.report.journal_batches = batches;
                return Ok(());
            }
            if self.core.durable_info()?.place == from {
                self.report.add(None, None, || {
                    format!(
                        "the journal is not whole behind {batches} batches since the last \
                         checkpoint: after a power loss the commits from there on would be missing"
                    )
                });
                return Ok(());
            }
        }
        let note = "the journal was not checked: checkpoints came faster than it was read";
        self.report.notes.push(note.into());
        Ok(())
    }

    /// How many batches there are behind a place, up to `end`; whether that is all.
    fn follow(&self, journal: &dyn JournalFile, from: Place, end: u64) -> Result<(u64, bool)> {
        let mut reader = JournalReader::of(&self.core.store, journal)?;
        let mut batches = 0;
        if !reader.has_anchor(from)? {
            return Ok((batches, false));
        }
        let mut place = from;
        while place.next < end {
            let Some(batch) = reader.next(place)? else { return Ok((batches, false)) };
            if !batch.records().all(|record| record.is_some_and(|it| it.parts().is_some())) {
                return Ok((batches, false));
            }
            (place, batches) = (batch.behind(), batches + 1);
        }
        Ok((batches, true))
    }
}
