//! Processes that are killed while they work on one file.
//!
//! A supervisor starts writers and readers: executions of the test binary itself, told by their
//! environment what to be (`orders`). They are killed with SIGKILL, at random times and at the
//! engine's own points between its steps. A file that outlives them holds what was begun and what
//! was acknowledged (`ledger`), with how far each of them was (`phase`). Each snapshot says in
//! itself which commit it is, and can be recomputed (`content`). So every reader can tell whether
//! it is one that was committed, and whether an acknowledged commit is missing.
//!
//! The tests that use this lie in `tests/kills.rs`; `fork` comes from there, as it is unsafe.

mod child;
mod content;
mod crew;
mod ledger;
mod orders;
mod orphan;
mod phase;
mod reader;
mod scenes;
mod session;
mod tally;
mod writer;

use std::ops::Deref;
use std::path::{Path, PathBuf};

use huon::{Env, Options, limits};

pub use child::child;
pub use crew::strangers_can_be_started;
pub use scenes::{kill_readers_that_hold, stop_processes};
pub use session::Session;
pub use tally::Tally;

/// The unsafe system calls that the torture needs.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// Forks this process; whether this is the child.
    pub fork: fn() -> bool,
    /// Ends this process without running what the parent had set up for its end.
    pub exit: fn(i32) -> !,
}

/// The options of every process of a file.
fn options(page_bytes: usize, journal: bool) -> Options {
    let mut options = Options::default();
    options
        .page_bytes(page_bytes)
        // Guests may read it.
        .mode(0o644)
        .max_bytes(96 << 20)
        .grow_bytes(16 << 10)
        .shrink_bytes(32 << 10)
        .write_buffer_bytes(48 * page_bytes)
        .lock_timeout(crew::HANG * 2);
    if journal {
        options.journal(limits::JOURNAL_BYTES_MIN);
    }
    options
}

/// An environment of the supervisor's own process. After a failure it is left open: closing waits
/// for other processes, which may be what has failed.
struct OpenEnv(Env);

impl Deref for OpenEnv {
    type Target = Env;

    fn deref(&self) -> &Env {
        &self.0
    }
}

impl Drop for OpenEnv {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.clone());
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    PathBuf::from(name)
}
