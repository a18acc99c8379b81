//! What the caller of a history remembers.
//!
//! 1. Handles of transactions that are over are kept, so that they can be misused.
//! 2. What a reader was shown is the same until it ends or is reset, and what a writer was shown
//!    until its next change.

use super::data::NAME_RECORD;
use super::op::{Slot, TXNS};

/// So many values that were shown are kept in mind.
const HELD_MAX: usize = 64;
/// The handle of the main table.
const MAIN: u32 = 1;

struct Txn<T> {
    txn: T,
    writes: bool,
    parent: Option<Slot>,
    is_over: bool,
}

/// A value that was shown, and a look at where it lies.
struct Held {
    txn: Slot,
    was: Vec<u8>,
    now: Box<dyn Fn() -> Vec<u8>>,
}

/// Transactions by slot, and what they were shown.
pub struct Slots<T> {
    txns: [Option<Txn<T>>; TXNS],
    held: Vec<Held>,
}

impl<T: Copy + PartialEq> Slots<T> {
    /// The handle of a transaction that there is, or was.
    pub fn get(&self, slot: Slot) -> Option<T> {
        self.txns[slot].as_ref().map(|txn| txn.txn)
    }

    /// The slot of a transaction that is not over.
    pub fn slot_of(&self, txn: T) -> Option<Slot> {
        let is =
            |known: &Option<Txn<T>>| known.as_ref().is_some_and(|t| t.txn == txn && !t.is_over);
        self.txns.iter().position(is)
    }

    /// Transactions that are not over, but for those that are nested in others.
    pub fn outermost(&self) -> Vec<T> {
        let txns = self.txns.iter().flatten();
        txns.filter(|txn| !txn.is_over && txn.parent.is_none()).map(|txn| txn.txn).collect()
    }

    /// A transaction has begun.
    pub fn begun(&mut self, slot: Slot, txn: T, parent: Option<Slot>, writes: bool) {
        self.txns[slot] = Some(Txn { txn, writes, parent, is_over: false });
    }

    /// A transaction is about to be committed or aborted.
    pub fn ends(&mut self, slot: Slot) {
        self.changes(slot);
        self.look_again(|held| held.txn == slot);
    }

    /// A transaction is over, and those within it; their slots.
    pub fn over(&mut self, slot: Slot) -> Vec<Slot> {
        let is_inner = |txn: &Txn<T>| txn.parent == Some(slot) && !txn.is_over;
        let inner = self.txns.iter().position(|txn| txn.as_ref().is_some_and(is_inner));
        let mut ended = inner.map_or(Vec::new(), |inner| self.over(inner));
        if let Some(txn) = &mut self.txns[slot] {
            txn.is_over = true;
            ended.push(slot);
        }
        ended
    }

    /// Whether a transaction can change something.
    pub fn writes(&self, slot: Slot) -> bool {
        self.txns[slot].as_ref().is_some_and(|txn| txn.writes)
    }

    /// A transaction is about to change something, if it can.
    pub fn changes(&mut self, slot: Slot) {
        if self.writes(slot) {
            let writes: Vec<bool> = (0..TXNS).map(|slot| self.writes(slot)).collect();
            self.look_again(|held| writes[held.txn]);
        }
    }

    /// A transaction is about to be reset, if it reads.
    pub fn reader_ends(&mut self, slot: Slot) {
        if !self.writes(slot) {
            self.look_again(|held| held.txn == slot);
        }
    }

    /// Everything ends.
    pub fn clear(&mut self) {
        self.look_again(|_| true);
        self.txns = Default::default();
    }

    fn look_again(&mut self, ends: impl Fn(&Held) -> bool) {
        for held in self.held.extract_if(.., |held| ends(held)) {
            assert!((held.now)() == held.was, "what was shown has changed");
        }
    }

    /// A value was shown in a transaction (`None`: it is a copy), of a table or as a key (0); what
    /// of it can be compared.
    pub fn shown(
        &mut self,
        slot: Option<Slot>,
        dbi: u32,
        now: impl Fn() -> Vec<u8> + 'static,
    ) -> Vec<u8> {
        let was = now();
        let is_name = was.len() == NAME_RECORD.len();
        if let (Some(txn), false, true) = (slot, is_name, self.held.len() < HELD_MAX) {
            self.held.push(Held { txn, was: was.clone(), now: Box::new(now) });
        }
        if dbi == MAIN && is_name { NAME_RECORD.to_vec() } else { was }
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { txns: Default::default(), held: Vec::new() }
    }
}
