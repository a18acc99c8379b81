//! The typed handle of an LSM table.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use huon::Bytes;

use crate::manifest::Shared;

/// A handle of an LSM table; see [`Lsm::table`](crate::Lsm::table).
///
/// It reads and changes the table, given a transaction of Huon's: any [`huon::ReadTxn`] or
/// [`huon::WriteTxn`] of its environment. What a write transaction puts is collected in memory, and
/// becomes part of the table when that commits. It follows nested transactions and savepoints, and
/// the transaction itself sees it at once.
///
/// The table is made by the first record that is put into it. Until then, and after
/// [`LsmTable::drop_table`], it is empty.
///
/// A handle can be cloned, which costs a counter, and be used by any thread.
///
/// # Errors
/// Beside their own, methods fail as those of [`huon::Table`] do; with [`huon::Error::Invalid`] if
/// the handle is of another environment than the transaction; and with [`huon::Error::Decode`] if
/// the table was made with other types since the handle was, or if its manifest or a value is none.
pub struct LsmTable<K, V> {
    shared: Arc<Shared>,
    types: PhantomData<fn(K) -> V>,
}

/// An LSM table of plain bytes.
pub type RawLsmTable = LsmTable<Bytes, Bytes>;

impl<K, V> LsmTable<K, V> {
    pub(crate) fn of(shared: Arc<Shared>) -> LsmTable<K, V> {
        LsmTable { shared, types: PhantomData }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The table's name.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// assert_eq!(ages.name(), b"ages");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &[u8] {
        &self.shared.name
    }

    /// The same table seen as bytes.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "ann", 31))?;
    /// assert_eq!(ages.raw().get(&env.read()?, b"ann")?, Some(&31u64.to_be_bytes()[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw(&self) -> RawLsmTable {
        LsmTable::of(self.shared.clone())
    }
}

impl<K, V> Clone for LsmTable<K, V> {
    fn clone(&self) -> Self {
        LsmTable::of(self.shared.clone())
    }
}

impl<K, V> fmt::Debug for LsmTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LsmTable({})", self.shared.name.escape_ascii())
    }
}
