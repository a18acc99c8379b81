//! Commits whose durability is waited for later.

use std::time::Duration;

use pyo3::prelude::*;

use crate::env::{Wait, seconds};
use crate::fault::Res;

/// A commit that is visible, and durable later: see `WriteTxn.commit_ticket`.
#[pyclass(frozen, module = "huon")]
pub(crate) struct Ticket {
    ticket: huon::Ticket,
}

impl Ticket {
    pub(crate) fn new(ticket: huon::Ticket) -> Ticket {
        Ticket { ticket }
    }
}

#[pymethods]
impl Ticket {
    /// The number of the snapshot.
    #[getter]
    fn id(&self) -> u64 {
        self.ticket.id()
    }

    /// Whether no power loss can take the commit away any more.
    #[getter]
    fn durable(&self) -> bool {
        self.ticket.is_durable()
    }

    /// Waits until the commit is durable; `False` if it is not within `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> Res<bool> {
        let within = timeout.map(seconds).transpose()?;
        let waited = Wait::new(within.unwrap_or(Duration::MAX))
            .slices(py, |slice| Ok(self.ticket.wait_within(slice)?.then_some(())))?;
        Ok(waited.is_some())
    }

    fn __repr__(&self) -> String {
        let state = if self.ticket.is_durable() { "durable" } else { "not durable yet" };
        format!("<huon.Ticket of {}, {state}>", self.ticket.id())
    }
}
