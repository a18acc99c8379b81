//! Tickets: a commit that returned at once can be waited for later.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::txn::Core;
use crate::txn::flush::MetaFlush;

/// A commit whose durability can be waited for, from any thread and any number of times; see
/// [`WriteTxn::commit_ticket`](crate::WriteTxn::commit_ticket).
///
/// It keeps the environment open. Dropping it leaves the commit as it is: visible, and durable with
/// the next flush.
#[derive(Clone)]
#[must_use = "a commit is durable once its ticket was waited for"]
pub struct Ticket {
    pub(crate) core: Arc<Core>,
    pub(crate) txnid: u64,
}

impl Ticket {
    /// The snapshot that the commit made.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
    /// let mut txn = env.write()?;
    /// txn.create_table(&T)?;
    /// let id = txn.id();
    /// assert_eq!(txn.commit_ticket()?.id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> u64 {
        self.txnid
    }

    /// Whether the commit survives a power loss by now. Costs a load, never waits. `false` in a
    /// forked child, where tickets of the parent mean nothing.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
    /// let mut txn = env.write()?;
    /// txn.create_table(&T)?;
    /// let ticket = txn.commit_ticket()?;
    /// assert!(!ticket.is_durable());
    /// env.sync()?;
    /// assert!(ticket.is_durable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_durable(&self) -> bool {
        self.core.check_forked().is_ok() && self.core.is_flushed(self.txnid, MetaFlush::Now)
    }

    /// Waits until the commit is durable; flushes it, with all commits so far, if no other client
    /// does.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
    /// let mut txn = env.write()?;
    /// txn.create_table(&T)?;
    /// let ticket = txn.commit_ticket()?;
    /// ticket.wait()?;
    /// assert_eq!(env.durable_id(), ticket.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Poisoned`](crate::Error::Poisoned) if a flush failed, here or in another process:
    /// whether the commit survives a power loss is unknown then.
    pub fn wait(&self) -> Result<()> {
        self.core.check_forked()?;
        self.core.flush_up_to(self.txnid, MetaFlush::Now)
    }

    /// The same, waiting for the flush of others at most `timeout`; `false` if it took longer. A
    /// flush that this call does itself is not cut short.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
    /// let mut txn = env.write()?;
    /// txn.create_table(&T)?;
    /// let ticket = txn.commit_ticket()?;
    /// assert!(ticket.wait_within(std::time::Duration::from_secs(1))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_within(&self, timeout: Duration) -> Result<bool> {
        self.core.check_forked()?;
        let deadline = Instant::now().checked_add(timeout);
        self.core.flush_within(self.txnid, MetaFlush::Now, deadline)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.txnid).finish_non_exhaustive()
    }
}
