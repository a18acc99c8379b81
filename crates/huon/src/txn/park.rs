//! Parking: a read transaction that a writer may evict while it is not used.
//!
//! The rule of it, and why it holds, is in `lock/slots.rs`: a parked reader reads nothing, and of
//! its return and its eviction by a writer only one happens. That nothing is read meanwhile is the
//! compiler's to see: parking takes the transaction, so no slice of it is left.

use crate::error::{Error, Result};
use crate::lock::Slot;
use crate::txn::Pin;
use crate::txn::read::ReadTxn;

/// A read transaction that is parked: see [`ReadTxn::park`]. Dropping it ends the transaction.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// let parked = env.read()?.park()?;
/// assert!(env.info()?.readers[0].parked);
/// let txn = parked.unpark()?;
/// assert!(!env.info()?.readers[0].parked);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a parked transaction that is dropped has ended"]
#[derive(Debug)]
pub struct Parked {
    txn: ReadTxn,
}

impl ReadTxn {
    /// Its slot; a guest has none.
    fn slot(&self) -> Option<&Slot> {
        match self.pin.as_ref().expect("a running transaction has a pin") {
            Pin::Slot(slot) => Some(slot),
            Pin::Byte(_) => None,
        }
    }

    /// Puts the transaction aside. It keeps its snapshot until a writer, in any process, would
    /// otherwise fail for want of room: that writer may evict it, and [`Parked::unpark`] then says
    /// so. For transactions that wait for a peer or a timer: parked, they do not make the file grow
    /// without limit.
    ///
    /// Costs one change of a word that processes share. Where this process may not write the lock
    /// file it changes nothing, and no writer evicts the transaction (R8).
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// # let t = env.update(|txn| txn.create_table(&T))?;
    /// # env.update(|txn| t.put(txn, "n", 1).map(drop))?;
    /// let txn = env.read()?;
    /// let parked = txn.park()?;
    /// env.update(|txn| t.put(txn, "n", 2).map(drop))?;
    /// let txn = parked.unpark()?;
    /// assert_eq!(t.get(&txn, "n")?, Some(1), "the same snapshot");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// No slice that was read from it can be held meanwhile; the compiler refuses it:
    ///
    /// ```compile_fail,E0505
    /// # let env = huon::Env::in_memory()?;
    /// # let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
    /// # let t = env.update(|txn| txn.create_table(&def))?;
    /// let txn = env.read()?;
    /// let name = t.get(&txn, "name")?;
    /// let parked = txn.park()?;
    /// println!("{name:?}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Forked`] after a fork; [`Error::Evicted`] if other processes took this one for dead
    /// because its descriptors were closed. The transaction has ended then.
    pub fn park(self) -> Result<Parked> {
        self.core().check_usable()?;
        if self.slot().is_none_or(|slot| self.core().store.slots.park(slot)) {
            Ok(Parked { txn: self })
        } else {
            Err(Error::Evicted)
        }
    }
}

impl Parked {
    /// The id of the snapshot.
    pub fn id(&self) -> u64 {
        self.txn.id()
    }

    /// Whether the transaction was evicted. It stays so; `false` may change at any moment.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// assert!(!env.read()?.park()?.is_evicted(), "no writer needs its pages");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_evicted(&self) -> bool {
        self.txn.slot().is_some_and(|slot| !self.txn.core().store.slots.is_parked(slot))
    }

    /// The transaction again, on the same snapshot.
    ///
    /// # Errors
    /// [`Error::Evicted`] if it was evicted; it has ended then. [`Error::Forked`] after a fork.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let id = env.read()?.id();
    /// assert_eq!(env.read()?.park()?.unpark()?.id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unpark(self) -> Result<ReadTxn> {
        self.txn.core().check_usable()?;
        let unpark = |slot| self.txn.core().store.slots.unpark(slot);
        if self.txn.slot().is_none_or(unpark) { Ok(self.txn) } else { Err(Error::Evicted) }
    }
}
