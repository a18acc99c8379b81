//! The event words of the board: how clients hear of flushes, and of commits.
//!
//! Waiting for a commit (V):
//!
//! 1. V1. A client that waits notes that (`WATCHERS`), and then looks at what is published. It
//!    sleeps only if that is no news, and on the number (`NEWS`) that it read before the note.
//! 2. V2. A client that publishes looks for the note afterwards. If it is there, it takes the note
//!    away, raises the number and wakes all. Between the store and the load of each lies a full
//!    fence, so one of the two sees the other. A note that is taken away with an older one is
//!    followed by the raise: that client does not fall asleep, or is woken.
//! 3. V3. A note outlives its client, and costs one wake. A client that is killed between
//!    publishing and waking leaves sleepers: no client sleeps longer than [`SLEEP_MAX`] at once.
//! 4. V4. A guest stores no note (R2): it looks every [`GUEST_PAUSE`].

use std::time::Duration;

use super::Board;
use crate::lock::layout::{EVENTS, NEWS, WATCHERS};
use crate::os::word::{Ordering, fence, pause};
use crate::os::{ANY_MARK, Wake};
use crate::planted::{self, Bug};

/// A client that waits for a commit looks at least so often.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// A guest that waits for a commit looks so often.
const GUEST_PAUSE: Duration = Duration::from_millis(5);

impl Board {
    /// Sleeps until something younger than `after` is published, at most `timeout`; may return
    /// early. The caller looks again.
    pub(crate) fn wait_published(&self, after: u64, timeout: Duration) {
        if !self.shared().writable() {
            return pause(timeout.min(GUEST_PAUSE));
        }
        let seen = self.fixed()[NEWS].load(Ordering::Acquire);
        self.fixed()[WATCHERS].store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.published().txnid() <= after || planted::is(Bug::WaitNoted) {
            self.shared().wait(NEWS, seen, timeout.min(SLEEP_MAX), ANY_MARK);
        }
    }

    /// Wakes the clients that wait for a commit, once one is published.
    pub(super) fn tell_news(&self) {
        fence(Ordering::SeqCst);
        let watchers = &self.fixed()[WATCHERS];
        if watchers.load(Ordering::Relaxed) != 0 {
            watchers.store(0, Ordering::Relaxed);
            if !planted::is(Bug::CommitNumber) {
                self.fixed()[NEWS].fetch_add(1, Ordering::AcqRel);
            }
            self.shared().wake(NEWS, Wake::All);
        }
    }

    /// A number that changes with each event of flushing: end, failure, change of the flusher.
    pub(crate) fn events(&self) -> u64 {
        self.fixed()[EVENTS].load(Ordering::Acquire)
    }

    /// Sleeps until the number is no longer `seen`, at most `timeout`; may return early, or miss
    /// events that are not about `snapshot`. Read the number first, then check whether there is
    /// anything to wait for: so no event is missed.
    pub(crate) fn wait_events(&self, seen: u64, timeout: Duration, snapshot: Option<u64>) {
        self.shared().wait(EVENTS, seen, timeout, snapshot.map_or(ANY_MARK, mark_of));
    }

    /// The flusher lock is free: wakes one of the committers that still wait, to flush for all of
    /// them.
    pub(in crate::lock) fn notify_next(&self) {
        let (durable, sealed) = (self.durable_id(), self.sealed().txnid());
        let marks = if durable < sealed { marks_of(durable + 1, sealed) } else { ANY_MARK };
        self.notify(Wake::First(marks));
    }

    pub(in crate::lock) fn notify(&self, which: Wake) {
        self.fixed()[EVENTS].fetch_add(1, Ordering::AcqRel);
        self.shared().wake(EVENTS, which);
    }
}

/// The marks of all that wait for one of these snapshots; every mark if a damaged lock file has
/// them the wrong way round.
pub(in crate::lock) fn marks_of(first: u64, last: u64) -> u32 {
    match last.wrapping_sub(first) {
        0..32 => (first..=last).fold(0, |marks, txnid| marks | mark_of(txnid)),
        _ => ANY_MARK,
    }
}

/// The mark of a committer that waits for this snapshot.
fn mark_of(txnid: u64) -> u32 {
    1 << (txnid % 32)
}
