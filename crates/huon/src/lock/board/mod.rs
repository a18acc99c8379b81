//! The board: what all clients of an environment know at this moment, written into the lock file.
//!
//! It names the snapshots that matter by *marks*, keeps the last eight snapshot images, the plan of
//! the flush under way and the ids that were issued. `layout` has the picture.
//!
//! Invariants:
//! 1. `sealed`, `published` and `durable` only move forward, and the issued id is never lowered
//!    (P7, P9).
//! 2. An image is written only while no mark names it; naming it as newest is the seal.
//! 3. A candidate is in flight before its flush begins and until `durable` names it (P4, P9).
//! 4. A single store moves `durable`: where its meta lies is written beforehand, for another meta
//!    slot.
//! 5. The board is ready only when everything in it is; the ready word is stored last.
//! 6. Any process with permission can write to the lock file. Words that break a rule are an error
//!    for the client that reads them, as damage in the data file is; an assertion is about this
//!    client's own doing.
//!
//! Orders of memory: each mark is stored with release and loaded with acquire, which carries the
//! image and the pages below it. Three pairs need a full fence on both sides, since each party
//! stores one word and then loads the other's: pin and published (P14), candidate and sealed
//! (Flush), seal and everything the writer protects (P10).
//!
//! The holder of the writer lock calls `seal` and `publish`, the holder of the flusher lock
//! everything about flushes (`role`). The rows, which grow, hold reader slots (`slots`) and clients
//! (`clients`).

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::gate::Gate;
use super::layout::*;
use crate::error::{Error, Result};
use crate::os::word::{Ordering, Word, fence};
use crate::os::{FirstWords, Identity, Shared, Way};
use crate::planted::{self, Bug};

mod events;
mod flush;
mod images;
mod journal;
mod open;

pub(crate) use journal::{JournalFlag, Journaled, Place, RecordMark};

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) use events::marks_of;

/// Names a sealed snapshot and the image that holds it, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Mark(u64);

impl Mark {
    #[cfg(test)]
    pub(crate) const NONE: Mark = Mark(0);

    fn new(txnid: u64, index: usize) -> Mark {
        assert!(txnid > 0 && txnid < 1 << 61 && index < IMAGES_COUNT);
        Mark(txnid << 3 | index as u64)
    }

    /// The snapshot's id; 0 for none.
    #[inline]
    pub(crate) fn txnid(self) -> u64 {
        self.0 >> 3
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize % IMAGES_COUNT
    }
}

/// The data file that a lock file says it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoardIdentity {
    /// The data file.
    pub(crate) data: Identity,
    pub(crate) uuid: [u8; 16],
    /// Zeros where the kernel cannot tell one boot from another.
    pub(crate) boot: [u8; 16],
    pub(crate) page_bytes: u32,
}

/// The snapshot that a first client chose; it is sealed, published and durable from then on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) txnid: u64,
    pub(crate) image: &'a [u8; IMAGE_BYTES],
    /// The board names this very snapshot as newest sealed already, and the durable one below it.
    /// Both stay named throughout: a client that dies on the way loses neither.
    pub(crate) keep: bool,
    /// The last id that may have been used; at least `txnid`.
    pub(crate) issued: u64,
    /// Where the durable meta lies (0, 1, 2), its checksum and its ceiling.
    pub(crate) meta_slot: u8,
    pub(crate) checksum: u64,
    pub(crate) ceiling: u64,
    /// The place in the journal that it names.
    pub(crate) place: Place,
    /// Whether the environment was closed in order; else the repair of P16 is due.
    pub(crate) sound: Sound,
}

/// Whether ids and pages of the time before an opening can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sound {
    /// No id was ever given out.
    New,
    /// The lock file notes a clean close.
    Closed,
    /// The end was unclean: the repair of P16 is due.
    Not,
}

/// Whether the data file was written after the clean close that the lock file notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenAfterClose(pub(crate) bool);

/// The durable snapshot and the meta that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Durable {
    pub(crate) mark: Mark,
    pub(crate) meta_slot: u8,
    pub(crate) checksum: u64,
    /// Ids up to here may be used before the next checkpoint (P16).
    pub(crate) ceiling: u64,
    /// From where in the journal a recovery goes on; none without a journal (J4.1).
    pub(crate) place: Place,
}

/// How the candidate in flight is being flushed (P4): enough to write the same meta again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlushPlan {
    pub(crate) mark: Mark,
    pub(crate) meta_slot: u8,
    pub(crate) two_flush: bool,
    /// A two-flush meta is in its slot, and only the flush after it is missing.
    pub(crate) meta_written: bool,
    /// Txnid of the durable snapshot before it.
    pub(crate) predecessor: u64,
    pub(crate) ceiling: u64,
    /// J4.1: the place in the journal that the meta will name.
    pub(crate) place: Place,
}

impl FlushPlan {
    /// Slot, kind and stage in one word, so that they change together.
    fn how(&self) -> u64 {
        u64::from(self.meta_slot) << 2
            | u64::from(self.meta_written) << 1
            | u64::from(self.two_flush)
    }
}

/// The snapshots that the writer must not harm, apart from those that readers pin (P11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProtectedMarks {
    pub(crate) in_flight: Mark,
    pub(crate) in_journal_flight: Mark,
    pub(crate) durable: Mark,
    pub(crate) published: Mark,
    pub(crate) sealed: Mark,
}

impl ProtectedMarks {
    /// All of them.
    pub(crate) fn all(self) -> [Mark; 5] {
        [self.in_flight, self.in_journal_flight, self.durable, self.published, self.sealed]
    }
}

/// What the board notes besides marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Flag {
    /// The first write transaction has to repair (P16).
    RepairDue = 1,
    /// A flush failed: no commits until a client is alone and opens anew.
    Poisoned = 2,
    /// The last client left in order, and what was sealed then is there as long as the kernel runs.
    CleanClose = 4,
    /// It is on the disk, too: the close counts after the next boot as well.
    FlushedClose = 8,
    /// The opening found a clean close, which the lock file may still note on the disk.
    NotedOnDisk = 16,
}

/// The typed face of a lock file.
pub(crate) struct Board {
    /// The lock file, and the words that every one has.
    words: FirstWords<WORDS_FIRST>,
    /// A guest's is not.
    writable: bool,
    /// How much of each image may not be zero, as far as this client knows.
    used_words: [AtomicUsize; IMAGES_COUNT],
}

impl Board {
    /// The board on `shared`, which grows to hold one. Its contents are not checked, but a file
    /// that was never a lock file of ours is refused rather than overwritten.
    pub(crate) fn attach(shared: Arc<dyn Shared>, gate: &Gate) -> Result<Board> {
        gate.assert_of(&shared);
        if !matches!(shared.first_word()?, 0 | MAGIC_VALUE) {
            return Err(Error::NotADatabase(
                "the file with -lock appended to the name is no lock file; move it away".into(),
            ));
        }
        shared.grow(WORDS_FIRST)?;
        let writable = shared.writable();
        let words = FirstWords::of(shared).ok_or(Error::Invalid("the lock file did not grow"))?;
        let board = Board::on(words, writable);
        board.check_way()?;
        Ok(board)
    }

    /// The board on `shared` for a guest, which changes nothing. `None`: it is not ready, or not of
    /// this boot, or clients lock in another way (R2, R11).
    pub(crate) fn visit(shared: Arc<dyn Shared>, gate: &Gate) -> Result<Option<Board>> {
        gate.assert_of(&shared);
        let writable = shared.writable();
        let Some(words) = FirstWords::of(shared) else { return Ok(None) };
        let board = Board::on(words, writable);
        Ok(board.same_boot().then_some(board))
    }

    fn on(words: FirstWords<WORDS_FIRST>, writable: bool) -> Board {
        Board { words, writable, used_words: std::array::from_fn(|_| IMAGE_WORDS.into()) }
    }

    /// Whether this process may change what the board says (R2).
    pub(crate) fn writable(&self) -> bool {
        self.writable
    }

    /// P6: a client that locks in another way than the users of the lock file would see none of
    /// them.
    fn check_way(&self) -> Result<()> {
        let other = match self.shared().way() {
            Way::Bytes => Way::Files,
            Way::Files => Way::Bytes,
        };
        let boot = self.shared().boot();
        let in_use = |found: BoardIdentity| boot == [0; 16] || found.boot == boot;
        let theirs = self.identity_in(other).is_some_and(in_use) && !self.flag(Flag::CleanClose);
        if theirs && !planted::is(Bug::LockKind) {
            Err(Error::NotADatabase(
                "the lock file is of clients that lock in another way (P6); move it away when \
             no process has the environment open"
                    .into(),
            ))
        } else {
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<dyn Shared> {
        self.words.shared()
    }

    /// The words that every lock file has.
    #[inline]
    pub(in crate::lock) fn fixed(&self) -> &[Word; WORDS_FIRST] {
        self.words.get()
    }

    fn load(&self, word: usize) -> u64 {
        self.fixed()[word].load(Ordering::Acquire)
    }

    fn store(&self, word: usize, value: u64) {
        assert!(self.writable, "R2: a guest stores no word");
        self.fixed()[word].store(value, Ordering::Release);
    }

    // ---- ids

    /// The last id that may have been written anywhere.
    pub(crate) fn issued(&self) -> u64 {
        self.load(ISSUED)
    }

    /// The id of the next write transaction: above all that were `issued` or sealed (P7).
    pub(crate) fn next_id(&self, issued: u64) -> u64 {
        let issued = if planted::is(Bug::IssuedIds) { 0 } else { issued };
        issued.max(self.sealed().txnid()).saturating_add(1)
    }

    /// Burns all ids up to `id`: before the first page is written under it (P7, I2). `before`: the
    /// last id that was raised, as the holder of the writer lock knows it. `false`: it is not,
    /// since another client has taken the lock.
    pub(crate) fn raise_issued(&self, before: u64, id: u64) -> bool {
        if before >= id && planted::is(Bug::IssuedIds) {
            return true;
        }
        assert!(before < id, "I2: ids only rise");
        let issued = &self.fixed()[ISSUED];
        issued.compare_exchange(before, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// A row that is known to be there.
    #[inline]
    pub(in crate::lock) fn row(&self, index: u32) -> &[Word] {
        let at = words_of_rows(index);
        if index < ROWS_FIRST {
            &self.fixed()[at..at + ROW_WORDS]
        } else {
            // Its caller has seen through `rows_there` that the file reaches so far.
            &self.shared().words()[at..at + ROW_WORDS]
        }
    }

    /// The row, if the file reaches so far.
    pub(in crate::lock) fn row_if_there(&self, index: u32) -> Result<Option<&[Word]>> {
        let is_there = index < ROWS_FIRST || self.rows_there(u64::from(index) + 1)? > index;
        Ok(is_there.then(|| self.row(index)))
    }

    /// How many rows the file has room for. Looks again, since other clients grow it, if these are
    /// fewer than `wanted`: the file's own words about it are not trusted.
    pub(in crate::lock) fn rows_there(&self, wanted: u64) -> Result<u32> {
        let count = || ((self.shared().words().len() - ROWS) / ROW_WORDS) as u32;
        if u64::from(count()) < wanted && !planted::is(Bug::LockFileLength) {
            self.shared().refresh()?;
        }
        Ok(count())
    }

    /// Makes room for so many rows. Under the gate.
    pub(in crate::lock) fn grow_rows(&self, gate: &Gate, rows: u32) -> Result<()> {
        gate.assert_of(self.shared());
        self.shared().grow(words_of_rows(rows))
    }

    /// The snapshots that the writer must not harm besides those of readers, in the order of P10.
    pub(crate) fn protected_marks(&self) -> ProtectedMarks {
        // Pairs with the fence of `nominate`: a flusher that took an older candidate is seen here.
        fence(Ordering::SeqCst);
        let early = if planted::is(Bug::MarksUnordered) { self.durable() } else { Mark::default() };
        // J2.4: as the flusher's.
        let in_journal_flight = self.in_journal_flight();
        let in_flight = self.in_flight();
        let durable = if planted::is(Bug::MarksUnordered) { early } else { self.durable() };
        let published = self.published();
        let sealed = self.sealed();
        ProtectedMarks { in_flight, in_journal_flight, durable, published, sealed }
    }
}

/// The error for words that break a rule.
#[cold]
fn damaged(what: &'static str) -> Error {
    Error::corrupt_file(what)
}
