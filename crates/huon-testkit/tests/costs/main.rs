//! What the engine costs in system calls and memory.
//!
//! Memory is counted for the whole process, so the tests run one at a time: see [`alone`].

use std::sync::{Mutex, MutexGuard, PoisonError};

mod flushes;
mod memory;
mod read_ahead;

/// Keeps other tests of this process from running, until it is dropped.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
