//! The modes that clients of an environment may take over from each other.
//!
//! They are a note and nothing rests on them: every client commits as it likes, and a commit of any
//! mode is safe beside those of others. A client that may write and finds no note makes one, under
//! the gate; it lasts until a first client makes the board anew.

use super::board::Board;
use super::layout::MODES;
use crate::os::word::Ordering;

/// The modes that a client with write access was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modes {
    /// A number for the durability, not 0.
    pub(crate) durability: u64,
    pub(crate) flush_bytes: u64,
    pub(crate) flush_ms: u64,
}

impl Board {
    /// The modes that the first client with write access noted, if one has.
    pub(crate) fn modes(&self) -> Option<Modes> {
        let [durability, flush_bytes, flush_ms] =
            [0, 1, 2].map(|at| self.fixed()[MODES + at].load(Ordering::Acquire));
        let [flush_bytes, flush_ms] = [flush_bytes, flush_ms].map(|limit| limit.wrapping_sub(1));
        (durability != 0).then_some(Modes { durability, flush_bytes, flush_ms })
    }

    /// Notes them; the word that says that there are any is stored last.
    pub(crate) fn set_modes(&self, modes: &Modes) {
        let [flush_bytes, flush_ms] =
            [modes.flush_bytes, modes.flush_ms].map(|limit| limit.wrapping_add(1));
        let words = [modes.durability, flush_bytes, flush_ms];
        for at in [2, 1, 0] {
            self.fixed()[MODES + at].store(words[at], Ordering::Release);
        }
    }
}
