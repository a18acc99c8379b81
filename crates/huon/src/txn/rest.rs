//! Rest: a read transaction that shows nothing, and keeps what it takes to begin again. For the C
//! interfaces, whose transactions are reset and renewed.
//!
//! It has let go of its snapshot, as one that has ended, and keeps its slot, with no pin in it. To
//! go on it pins the newest snapshot under P14, as any reader. Where that is the one that it had,
//! all that it knows of it holds still.

use crate::error::Result;
use crate::txn::Pin;
use crate::txn::read::ReadTxn;

/// A read transaction that rests: see [`ReadTxn::rest`]. Dropping it ends the transaction.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// let resting = Box::new(env.read()?).rest();
/// assert!(env.info()?.readers.is_empty());
/// let txn = resting.wake()?;
/// assert_eq!(env.info()?.readers.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(hidden)]
#[must_use = "a resting transaction that is dropped has ended"]
#[derive(Debug)]
pub struct Resting {
    txn: Box<ReadTxn>,
}

impl ReadTxn {
    /// Lets go of the snapshot, until another one is wanted. Costs a store.
    #[doc(hidden)]
    pub fn rest(mut self: Box<Self>) -> Resting {
        if self.core().check_forked().is_ok() {
            match self.pin.take() {
                Some(Pin::Slot(slot)) => {
                    self.core().store.slots.rest(&slot);
                    self.pin = Some(Pin::Slot(slot));
                }
                Some(byte) => self.core().unpin(byte),
                None => {}
            }
        }
        Resting { txn: self }
    }

    /// Pins the snapshot that it had, if its slot is still its own, and that the newest one.
    fn pin_again(&self) -> bool {
        let store = &self.core().store;
        match &self.pin {
            Some(Pin::Slot(slot)) if store.slots.is_own(slot) => {
                let is_newest = store.board.published().txnid() == self.id();
                is_newest && store.board.read_published(slot, &mut []).txnid() == self.id()
            }
            _ => false,
        }
    }
}

impl Resting {
    /// The transaction again, on the newest snapshot. Costs a fence if that is the one that it had,
    /// and otherwise as much as beginning a new one.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// # let t = env.update(|txn| txn.create_table(&T))?;
    /// let (txn, one) = (env.read()?, env.read()?.id());
    /// let txn = Box::new(txn).rest().wake()?;
    /// assert_eq!(txn.id(), one, "there is no newer one");
    /// let resting = txn.rest();
    /// env.update(|txn| t.put(txn, "n", 1).map(drop))?;
    /// let txn = resting.wake()?;
    /// assert_eq!(t.get(&*txn, "n")?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Env::read`](crate::Env::read); the transaction has ended then.
    pub fn wake(mut self) -> Result<Box<ReadTxn>> {
        self.txn.core().check_usable()?;
        if !self.txn.pin_again() {
            *self.txn = ReadTxn::begin(self.txn.core())?;
        }
        Ok(self.txn)
    }
}
