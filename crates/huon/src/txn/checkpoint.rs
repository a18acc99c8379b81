//! When the data file is flushed for the sake of the journal: before that is full, and at its end
//! (J4.5, J4.6).

use crate::error::{Error, Result};
use crate::journal::BLOCK_BYTES;
use crate::lock::{GATE_TIMEOUT, JournalFlag, Journaled};
use crate::page::Meta;
use crate::planted::{self, Bug};
use crate::txn::commit::taken_over;
use crate::txn::flush::MetaFlush;
use crate::txn::{Core, Release};

/// A checkpoint is due once this part of the journal holds records that are not in the durable
/// snapshot (J4.6).
const CHECKPOINT_PART: u64 = 2;
/// The write-out of pages is begun with each so many blocks of the journal: a batch waits on the
/// disk behind the pages of one part, so a part is small.
const WRITING_BLOCKS: u64 = (128 << 10) / BLOCK_BYTES as u64;

impl Core {
    /// J4.5: ends the journal: a checkpoint whose meta names no place. The caller is alone, under
    /// the gate.
    pub(super) fn end_journal(&self) -> Result<()> {
        let board = &self.store.board;
        if self.durable_info()?.place.is_none() {
            return Ok(());
        }
        board.set_journal_flag(JournalFlag::Ended, !planted::is(Bug::JournalNotEnded));
        self.store.writer.acquire(GATE_TIMEOUT)?;
        let _writer = Release(&self.store.writer);
        let (base, newest) = self.newest_sealed()?;
        let id = self.next_id(&newest)?;
        if !board.raise_issued(id.issued, id.txnid.0) {
            return Err(taken_over());
        }
        let meta = Meta { txnid: id.txnid, ..newest }.as_image();
        let sealed = board.seal(base, meta.txnid.0, &meta.try_encode()?);
        let mark = sealed.ok_or_else(taken_over)?;
        let Some(_flusher) = self.try_flusher()? else {
            return Err(Error::Busy("another client flushes while the last one closes".into()));
        };
        self.flush_newest(MetaFlush::Now)?;
        board.set_journaled(None);
        board.set_journal_flag(JournalFlag::Ended, false);
        debug_assert!(board.durable() == mark, "J4.5: alone");
        Ok(())
    }

    /// J4.6: after snapshot `txnid` is acknowledged. The client that crosses half of the journal
    /// makes the checkpoint, if no other does.
    pub(super) fn checkpoint_if_due(&self, txnid: u64) -> Result<()> {
        let board = &self.store.board;
        let Some(Journaled { txnid: newest, place, .. }) = board.journaled() else { return Ok(()) };
        let used = place.next.saturating_sub(self.durable_info()?.place.anchor);
        let begins_part = place.next / WRITING_BLOCKS != place.anchor / WRITING_BLOCKS;
        let is_due = used * CHECKPOINT_PART > board.journal_blocks();
        if is_due && !planted::is(Bug::CheckpointNotDue) {
            if let Some(_role) = self.try_flusher()? {
                self.flush_newest(MetaFlush::Now)?;
            }
        } else if begins_part && newest == txnid {
            // One of all clients whose commits were in the batch.
            self.count(&self.counts.write_outs, 1);
            self.store.storage.start_writing();
        }
        Ok(())
    }
}
