//! The board's part in journaling: the ring of records, how far they are in the journal, and the
//! place there that metas name (J1.3, J2, J3.2, J4.1).
//!
//! The holder of the writer lock puts a record into the ring before it seals, the holder of the
//! journaller's role takes the records of what is sealed from there, and moves the tail. Records
//! lie between the tail and the end of the newest sealed one; both are counted in bytes through all
//! laps. What a dead writer left behind the end is written over.

use super::{Board, Mark, damaged};
use crate::error::Result;
use crate::failpoint::{Point, reach};
use crate::lock::gate::Gate;
use crate::lock::layout::*;
use crate::os::Wake;
use crate::os::word::{Ordering, Word, fence};
use crate::planted::{self, Bug};

/// A place in a journal, and the batch before it: what the next batch there is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// Where the next batch begins, in blocks counted through all laps; 0: nowhere.
    pub(crate) next: u64,
    /// Where the batch before it begins.
    pub(crate) anchor: u64,
    /// The checksum of that batch.
    pub(crate) chain: u64,
}

impl Place {
    pub(crate) fn is_none(self) -> bool {
        self.next == 0
    }

    fn words(self) -> [u64; PLACE_WORDS] {
        [self.next, self.anchor, self.chain]
    }

    fn of_words([next, anchor, chain]: [u64; PLACE_WORDS]) -> Place {
        Place { next, anchor, chain }
    }
}

/// What the lock file keeps beside an image (J1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RecordMark {
    /// Where its record ends in the ring; if it has none, where that of its base does.
    pub(crate) end: u64,
    /// All snapshots above this one, up to it, have records; itself if it has none.
    pub(crate) floor: u64,
}

/// How far the journal is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Journaled {
    /// The newest snapshot whose record is flushed; 0: none yet.
    pub(crate) txnid: u64,
    /// The ring's tail: what lies before it is not needed any more.
    pub(crate) tail: u64,
    pub(crate) place: Place,
}

/// Bits of the journal's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum JournalFlag {
    /// J4.7: a flush of the journal failed; commits go by pages until a client is alone.
    Off = 1,
    /// J4.5: a client that is alone ends the journal: no more flushes of it.
    Ended = 2,
}

/// In the version of what is journaled: there is something.
const JOURNALED_THERE: u64 = 1;

/// Where that version lies.
fn journaled_at(version: u64) -> usize {
    JOURNALED + (version >> 1) as usize % 2 * LINE
}

impl Board {
    /// Blocks of the journal that clients use; 0: none.
    pub(crate) fn journal_blocks(&self) -> u64 {
        self.load(JOURNAL_BLOCKS)
    }

    /// From now on clients make records for a journal of so many blocks. Makes room for the ring,
    /// under the gate; a full disk is an error, and nothing has happened.
    pub(crate) fn use_journal(&self, gate: &Gate, blocks: u64) -> Result<()> {
        gate.assert_of(self.shared());
        self.shared().grow(RING + RING_WORDS)?;
        self.store(JOURNAL_BLOCKS, blocks);
        Ok(())
    }

    /// No journal is used, until [`Board::use_journal`].
    pub(crate) fn forget_journal(&self, gate: &Gate) {
        gate.assert_of(self.shared());
        self.store(JOURNAL_BLOCKS, 0);
        self.set_journaled(None);
    }

    pub(crate) fn journal_flag(&self, flag: JournalFlag) -> bool {
        self.load(JOURNAL_FLAGS) & flag as u64 != 0
    }

    pub(crate) fn set_journal_flag(&self, flag: JournalFlag, on: bool) {
        let flags = &self.fixed()[JOURNAL_FLAGS];
        if on {
            flags.fetch_or(flag as u64, Ordering::AcqRel);
        } else {
            flags.fetch_and(!(flag as u64), Ordering::AcqRel);
        }
        self.notify(Wake::All);
    }

    // ---- the ring

    /// The ring, once the lock file has one.
    fn ring(&self) -> Result<&[Word]> {
        if self.shared().words().len() < RING + RING_WORDS {
            self.shared().refresh()?;
        }
        let ring = self.shared().words().get(RING..RING + RING_WORDS);
        ring.ok_or_else(|| damaged("the lock file has a journal and no room for its records"))
    }

    /// J2.1, J2.2: puts a record of whole words behind that of its base, which ends at `from`;
    /// where it ends. `None`: there is no room. The caller holds the writer lock, and has not
    /// sealed.
    pub(crate) fn put_record(&self, from: u64, record: &[u8]) -> Result<Option<u64>> {
        let Some(journaled) = self.journaled() else { return Ok(None) };
        let from = if planted::is(Bug::RecordAtTail) { journaled.tail } else { from };
        let end = from.wrapping_add(record.len() as u64);
        let room = (RING_WORDS * 8) as u64;
        if (end.wrapping_sub(journaled.tail) > room || from < journaled.tail)
            && !planted::is(Bug::RingRoom)
        {
            return Ok(None);
        }
        let ring = self.ring()?;
        for (at, word) in (from / 8..).zip(record.as_chunks::<8>().0) {
            let value = u64::from_le_bytes(*word);
            ring[at as usize % RING_WORDS].store(value, Ordering::Relaxed);
        }
        reach(Point::RecordPut);
        Ok(Some(end))
    }

    /// The bytes of the ring from the tail to where a sealed record ends, behind `bytes`.
    pub(crate) fn take_records(&self, tail: u64, end: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let count = end.wrapping_sub(tail);
        if count > (RING_WORDS * 8) as u64 || !count.is_multiple_of(8) {
            return Err(damaged("the lock file's records for the journal make no sense (J2)"));
        }
        bytes.try_reserve(count as usize)?;
        let ring = self.ring()?;
        for at in tail / 8..end / 8 {
            let word = ring[at as usize % RING_WORDS].load(Ordering::Relaxed);
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    /// What is kept beside the image of `mark`; `None`: that was given away.
    pub(crate) fn record_of(&self, mark: Mark) -> Option<RecordMark> {
        let found = RecordMark {
            end: self.load(RECORD_ENDS + mark.index()),
            floor: self.load(FLOORS + mark.index()),
        };
        fence(Ordering::Acquire);
        (self.fixed()[IMAGE_MARKS + mark.index()].load(Ordering::Relaxed) == mark.0)
            .then_some(found)
    }

    /// Stores that; before the image has its name.
    pub(super) fn set_record_of(&self, mark: Mark, record: RecordMark) {
        self.fixed()[RECORD_ENDS + mark.index()].store(record.end, Ordering::Relaxed);
        self.fixed()[FLOORS + mark.index()].store(record.floor, Ordering::Relaxed);
    }

    // ---- how far it is

    /// `None`: no commit is acknowledged by the journal now (J4.4).
    pub(crate) fn journaled(&self) -> Option<Journaled> {
        loop {
            let version = self.load(JOURNALED_AT);
            if version & JOURNALED_THERE == 0 {
                return None;
            }
            let at = journaled_at(version);
            let found = Journaled {
                txnid: self.load(at + JOURNALED_TXNID),
                tail: self.load(at + JOURNALED_END),
                place: self.place_at(at + JOURNALED_PLACE),
            };
            fence(Ordering::Acquire);
            if self.load(JOURNALED_AT) == version {
                return Some(found);
            }
        }
    }

    /// J3.3: the newest snapshot that no power loss takes away.
    pub(crate) fn durable_id(&self) -> u64 {
        let journaled = self.journaled().filter(|_| !planted::is(Bug::JournaledUncounted));
        let journaled = journaled.map_or(0, |journaled| journaled.txnid);
        self.durable().txnid().max(journaled)
    }

    /// J2.3: one store moves all. The caller holds the journaller's role.
    pub(crate) fn set_journaled(&self, journaled: Option<&Journaled>) {
        let version = (self.load(JOURNALED_AT) | JOURNALED_THERE) + 1;
        let Some(journaled) = journaled else { return self.store(JOURNALED_AT, version) };
        let version = if planted::is(Bug::JournaledOnce) { version - 1 } else { version };
        let version = version | JOURNALED_THERE;
        let at = journaled_at(version);
        self.store(at + JOURNALED_TXNID, journaled.txnid);
        self.store(at + JOURNALED_END, journaled.tail);
        self.set_place_at(at + JOURNALED_PLACE, journaled.place);
        self.store(JOURNALED_AT, version);
    }

    /// J2.4: the newest sealed snapshot, protected as the candidate of a flush of the journal.
    pub(crate) fn nominate_for_journal(&self) -> Mark {
        loop {
            let candidate = self.sealed();
            reach(Point::JournalCandidateRead);
            self.store(JOURNAL_FLIGHT, candidate.0);
            // Pairs with the fence of `protected_marks`.
            fence(Ordering::SeqCst);
            reach(Point::JournalCandidateStored);
            if self.sealed() == candidate || planted::is(Bug::JournalCandidate) {
                return candidate;
            }
        }
    }

    /// The candidate of the running flush of the journal, or of one that a dead journaller left.
    pub(crate) fn in_journal_flight(&self) -> Mark {
        Mark(self.load(JOURNAL_FLIGHT))
    }

    /// J3.2: the journal's flush has ended well: hands over, and wakes the committers.
    pub(crate) fn finish_journal_flush(&self, done: Mark, journaled: &Journaled) {
        let before = self.journaled().map_or(0, |journaled| journaled.txnid);
        let durable_before = self.durable_id();
        // The place first: a successor of a journaller that dies here must not write over what
        // others have seen.
        let publishes_first = planted::is(Bug::JournalPublishedFirst);
        if publishes_first {
            self.publish(done);
            reach(Point::JournalPublished);
        }
        self.set_journaled(Some(&Journaled { txnid: before, ..*journaled }));
        self.store(BATCHES, self.load(BATCHES) + 1);
        reach(Point::JournalPlaceMoved);
        if !publishes_first {
            self.publish(done);
            reach(Point::JournalPublished);
        }
        self.set_journaled(Some(journaled));
        self.store(JOURNAL_FLIGHT, 0);
        reach(Point::JournalFlightEnded);
        self.note_committed_together(durable_before);
        self.notify(Wake::Marked(super::events::marks_of(before + 1, journaled.txnid)));
    }

    /// Batches since the place that the durable meta names: about, where a client has died.
    pub(crate) fn batches_since_checkpoint(&self) -> u64 {
        self.load(BATCHES).saturating_sub(self.load(DURABLE_BATCHES))
    }

    /// Nothing is in flight for the journal.
    pub(crate) fn end_journal_flight(&self) {
        self.store(JOURNAL_FLIGHT, 0);
    }

    // ---- places

    pub(super) fn place_at(&self, at: usize) -> Place {
        Place::of_words(std::array::from_fn(|i| self.load(at + i)))
    }

    pub(super) fn set_place_at(&self, at: usize, place: Place) {
        for (i, word) in place.words().into_iter().enumerate() {
            self.store(at + i, word);
        }
    }
}
