//! Faults: workloads whose calls, allocations or system calls fail, and what must be true then.
//!
//! 1. Whatever fails, the engine returns an error that the fault explains, or succeeds all the
//!    same.
//! 2. The environment is intact, or poisoned and says so to every client; readers go on.
//! 3. The state afterwards, for clients that go on, after closing, after a kill and after a power
//!    loss, is that of one commit over all tables: no acknowledged commit is missing, and none that
//!    is known to have failed is there. It checks clean, and goes on working.
//! 4. Closing writes nothing once the environment is poisoned, and notes no clean close.
//!
//! What fails, and where the environment lies, is said by a [`Ground`]; what is done by a
//! [`workloads::Workload`].

mod edit;
pub mod real;
mod run;
pub mod workloads;

use std::path::Path;

use huon::{Env, Error, Options};

use crate::model::driver::Armed;
pub use crate::model::driver::Switch;
pub use edit::Edit;
pub use run::{Run, SystemErrors, Tried};

/// How a workload is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manner {
    /// No other client opens the environment before it is closed.
    pub alone: bool,
    /// Kills and power losses come after closing, not before it.
    pub cut_late: bool,
}

impl Manner {
    /// All of them.
    pub const ALL: [Manner; 4] = [
        Manner { alone: false, cut_late: false },
        Manner { alone: true, cut_late: true },
        Manner { alone: false, cut_late: true },
        Manner { alone: true, cut_late: false },
    ];

    /// Manners take turns.
    pub fn of(number: u64) -> Manner {
        Manner::ALL[(number % 4) as usize]
    }
}

impl std::fmt::Display for Manner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.alone { "alone" } else { "with another" })?;
        f.write_str(if self.cut_late { ", cut late" } else { "" })
    }
}

/// A machine on which calls of one client fail: as planned, while it is armed.
pub trait Ground: Switch {
    /// Opens the client under test. What it does fails as planned while armed.
    fn open(&self, options: &Options) -> Result<Env, Error>;
    /// Opens a client to which nothing happens.
    fn open_healthy(&self, options: &Options) -> Result<Env, Error>;
    /// Opens a guest, a reader that may write neither file. What it does fails as planned, too.
    /// `None` where there is no such reader.
    fn open_guest(&self, options: &Options) -> Option<Result<Env, Error>>;
    /// Whether they may happen while a snapshot is compared with its model, too: comparing does
    /// more than calling the engine.
    fn reads_fail(&self) -> bool;
    /// How often something was made to fail.
    fn fired(&self) -> u64;
    /// The data file as programs see it.
    fn image(&self) -> Vec<u8>;
    /// Opens what a kill of all clients would leave behind now; `None` where that cannot be tried.
    fn after_kill(&self, options: &Options) -> Option<Result<Env, Error>>;
    /// Opens what a power loss would leave behind now, if it took everything that is not flushed.
    fn after_power_loss(&self, options: &Options) -> Option<Result<Env, Error>>;
    /// Ends all clients as SIGKILL does, or the whole machine; what is open is open in vain.
    /// `false`: that cannot be done here.
    fn crash(&self, how: Crash) -> bool;
    /// A directory for files beside the environment, where there is one.
    fn directory(&self) -> Option<&Path>;
}

/// How everything ends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The processes die; the page cache and the lock file stay.
    Kill,
    /// The machine dies: what was not flushed is gone, and it is another boot.
    PowerLoss,
}
