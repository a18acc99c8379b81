//! The bell of the board: how clients that wait for durability hear of it.

use std::time::Duration;

use super::Board;
use crate::lock::layout::BELL;
use crate::os::word::Ordering;
use crate::os::{ANY_MARK, Wake};

impl Board {
    /// A number that changes with each event of flushing: end, failure, change of the flusher.
    pub(crate) fn bell(&self) -> u64 {
        self.fixed()[BELL].load(Ordering::Acquire)
    }

    /// Sleeps until the bell is no longer `seen`, at most `timeout`; may return early, or hear
    /// nothing of what is not about `snapshot`. Ask for the number first, then look whether there
    /// is anything to wait for: so nothing is missed.
    pub(crate) fn wait_bell(&self, seen: u64, timeout: Duration, snapshot: Option<u64>) {
        self.shared().wait(BELL, seen, timeout, snapshot.map_or(ANY_MARK, mark_of));
    }

    /// The flusher's role is free: wakes one of those who still wait, to flush for all of them.
    pub(in crate::lock) fn ring_next(&self) {
        let (durable, sealed) = (self.durable().txnid(), self.sealed().txnid());
        let marks = if durable < sealed { marks_of(durable + 1, sealed) } else { ANY_MARK };
        self.ring(Wake::First(marks));
    }

    pub(in crate::lock) fn ring(&self, who: Wake) {
        self.fixed()[BELL].fetch_add(1, Ordering::AcqRel);
        self.shared().wake(BELL, who);
    }
}

/// The marks of all who wait for one of these snapshots; every mark if a damaged lock file has them
/// the wrong way round.
pub(in crate::lock) fn marks_of(first: u64, last: u64) -> u32 {
    match last.wrapping_sub(first) {
        0..32 => (first..=last).fold(0, |marks, txnid| marks | mark_of(txnid)),
        _ => ANY_MARK,
    }
}

/// The mark of who waits for this snapshot.
fn mark_of(txnid: u64) -> u32 {
    1 << (txnid % 32)
}
