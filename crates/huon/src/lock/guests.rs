//! Guests: readers that may read the data file and the lock file, and write neither.
//!
//! A guest is no client. It pins a snapshot by a lock to read on one byte of the lock file, for
//! which the kernel wants no permission to write; a writer that scans asks for such locks.
//!
//! R1. The byte of snapshot `s` is `2 s` behind a base above all other bytes that are locked: the
//!     system makes one lock of neighbours. Readers of one snapshot are counted in the guest; the
//!     last one gives the byte up.
//! R2. A guest takes no number, role or slot, and stores no word: the board refuses it. It has a
//!     lock to read on the byte that shows that guests are there, and the data file as every
//!     client. It opens under the gate, taken to read: the board is ready, of this boot and this
//!     data file.
//! R3. It begins with the published mark, takes its byte, fences, copies the image, and looks again
//!     whether the mark is still published, else starts anew. It gives the byte up after it has
//!     read for the last time.
//! R4. The writer reads marks and slots, fences, and asks; and asks on both sides of each answer,
//!     since the kernel answers with any lock of the range. A lock on several bytes pins all in it.
//! R5. It asks at each scan: the permissions of a file do not tell whether a guest reads it.
//! R6. The first client is alone with the data file, guests counted. Where all clients are gone and
//!     guests are left, the next client joins what the lock file says, as where a writer has died.
//! R7. Where no client uses the lock file, and its contents cannot be relied on, a reader goes by a
//!     private image as ever, and keeps writers out.
//! R8. A guest cannot be parked or evicted, as no word is its own; the kernel does not tell which
//!     process it is. It begins also while the environment is poisoned, or a repair is due.
//! R9. To ask for a client's byte is to ask for a lock that only processes with write permission
//!     can hold.
//! R10. The kernel's list of locks takes the place of the slot in P14. A system call is no fence.
//! R11. Where locks on bytes of open files are not there, or not seen, there are no guests.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

use super::board::{Board, Mark};
use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::os::word::{Ordering, fence};
use crate::os::{Shared, fork, locked};
use crate::planted::{self, Bug};

/// Snapshots that a scan finds one at a time; snapshots that it has not asked about by then count
/// as pinned.
const FOUND_MAX: usize = 64;

/// This process as a guest.
pub(crate) struct Guest {
    board: Arc<Board>,
    /// Pinned snapshots, and how many read each (R1).
    pins: Mutex<Vec<(u64, u32)>>,
    fork_generation: u32,
}

impl Guest {
    /// Shows that a guest is there, from now on until it is dropped. Under the gate.
    pub(crate) fn enter(board: Arc<Board>) -> Result<Guest> {
        board.shared().attend()?;
        Ok(Guest { board, pins: Mutex::default(), fork_generation: fork::generation() })
    }

    /// Pins the published snapshot and copies the first words of its image (R3). Two system calls,
    /// with the one that gives it up, if no reader of this guest has it.
    pub(crate) fn pin_published(&self, wanted: &mut [u64]) -> Result<Mark> {
        loop {
            let mark = self.board.published();
            reach(Point::SnapshotSeen);
            self.take(mark.txnid())?;
            // R10: either the writer's question, after its own fence, finds the byte, or the second
            // look sees a mark that the writer protects anyway.
            if !planted::is(Bug::GuestFence) {
                fence(Ordering::SeqCst);
            }
            self.board.copy_first_words(mark, wanted);
            // Keeps the copy above the second look.
            fence(Ordering::Acquire);
            if self.board.is_still_published(mark) || planted::is(Bug::GuestPublishedOnce) {
                reach(Point::Pinned);
                return Ok(mark);
            }
            self.unpin(mark.txnid());
        }
    }

    /// Pins a snapshot that the caller knows to be protected, or looks for afterwards.
    pub(crate) fn pin(&self, txnid: u64) -> Result<()> {
        self.take(txnid)?;
        // R10, as in `pin_published`.
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// A reader of the snapshot has read for the last time.
    pub(crate) fn unpin(&self, txnid: u64) {
        if fork::is_inherited(self.fork_generation) {
            return;
        }
        let mut pins = self.pins();
        let Some(at) = pins.iter().position(|(pinned, _)| *pinned == txnid) else { return };
        pins[at].1 -= 1;
        if pins[at].1 == 0 || planted::is(Bug::GuestCount) {
            // All reads come before the end of the lock, also where the kernel orders nothing.
            fence(Ordering::Release);
            self.board.shared().unpin(txnid);
        }
        if pins[at].1 == 0 {
            pins.swap_remove(at);
        }
    }

    /// The snapshots that this guest pins.
    pub(crate) fn pinned(&self) -> Vec<u64> {
        self.pins().iter().map(|(txnid, _)| *txnid).collect()
    }

    fn take(&self, txnid: u64) -> Result<()> {
        if fork::is_inherited(self.fork_generation) {
            return Err(Error::Forked);
        }
        let mut pins = self.pins();
        if let Some((_, count)) = pins.iter_mut().find(|(pinned, _)| *pinned == txnid) {
            *count += 1;
            return Ok(());
        }
        pins.try_reserve(1)?;
        self.board.shared().pin(txnid)?;
        pins.push((txnid, 1));
        Ok(())
    }

    fn pins(&self) -> MutexGuard<'_, Vec<(u64, u32)>> {
        locked(&self.pins)
    }
}

/// Adds the snapshots up to `newest` that guests pin to `pins`, unordered, and to `spans` those
/// that count as pinned from end to end. After the marks and the slots (R4).
pub(crate) fn scan(
    shared: &dyn Shared,
    newest: u64,
    pins: &mut Vec<u64>,
    spans: &mut Vec<RangeInclusive<u64>>,
) -> Result<()> {
    // R10. Pins that are found below are not older than the marks.
    fence(Ordering::SeqCst);
    // Mostly there is no guest, and one question is enough.
    let (mut whole, mut unasked) = (Some(1..=newest), vec![]);
    let mut found = 0;
    while let Some(range) = whole.take().or_else(|| unasked.pop()) {
        if found == FOUND_MAX {
            spans.try_push(range)?;
            continue;
        }
        let Some(answer) = shared.pinned(&range)? else { continue };
        found += 1;
        let (first, last) = (*answer.start(), *answer.end());
        debug_assert!(
            range.start() <= &first && &last <= range.end(),
            "R4: an answer not asked for"
        );
        if first == last {
            pins.try_push(first)?;
        } else {
            spans.try_push(answer)?;
        }
        if last < *range.end() {
            unasked.try_push(last + 1..=*range.end())?;
        }
        if *range.start() < first && !planted::is(Bug::GuestAskedAbove) {
            unasked.try_push(*range.start()..=first - 1)?;
        }
    }
    // A snapshot whose pin is not found was read for the last time before.
    fence(Ordering::Acquire);
    spans.sort_unstable_by_key(|span| *span.start());
    Ok(())
}
