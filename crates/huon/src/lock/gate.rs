//! The gate of a lock file: joining, leaving, growing and clearing up after the dead happen one at
//! a time.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::os::Shared;

/// How long operations wait for the gate that have no time-out of their own. It is held for
/// microseconds; only a first open, which may verify much, holds it longer.
pub(crate) const GATE_TIMEOUT: Duration = Duration::from_secs(30);

/// Possession of the gate; dropping it leaves. It is tied to a client, not to a thread.
pub(crate) struct Gate {
    shared: Arc<dyn Shared>,
}

impl Gate {
    /// Waits at most `timeout` for the gate.
    pub(crate) fn lock(shared: &Arc<dyn Shared>, timeout: Duration) -> Result<Gate> {
        Gate::try_lock(shared, timeout)?.ok_or_else(|| {
            let text = format!(
                "the environment's open lock was not free within {} ms: \
                 another client is opening or closing it",
                timeout.as_millis()
            );
            Error::Busy(text.into())
        })
    }

    /// As [`Gate::lock`], with `None` for a gate that was not free in time.
    pub(crate) fn try_lock(shared: &Arc<dyn Shared>, timeout: Duration) -> Result<Option<Gate>> {
        let locked = shared.lock_gate(timeout)?;
        Ok(locked.then(|| Gate { shared: shared.clone() }))
    }

    /// Asserts that this is the gate of `shared` (P1).
    #[track_caller]
    pub(super) fn assert_of(&self, shared: &Arc<dyn Shared>) {
        assert!(Arc::ptr_eq(&self.shared, shared), "P1: the gate of another lock file");
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.unlock_gate();
    }
}
