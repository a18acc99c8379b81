//! Ctrl-C and its relatives, for commands that have something to finish first.
//!
//! 1. The first signal only raises a flag; a second one ends the process at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::fail::Failure;

/// A write past `ulimit -f` is an error from now on, and no longer the end of the process.
pub(crate) fn survive_size_limits() {
    // Should it fail, the signal ends the process as it does others.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Whether this process was asked to end.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on signals are noted instead of ending the process.
    pub(crate) fn on_signals() -> Result<Stop, Failure> {
        let stop = Stop(Arc::default());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and raises it.
            flag::register_conditional_shutdown(signal, 128 + signal, stop.0.clone())
                .and_then(|_| flag::register(signal, stop.0.clone()))
                .map_err(|e| Failure::io("cannot catch signals", &e))?;
        }
        Ok(stop)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same, for what asks after each step whether to go on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
