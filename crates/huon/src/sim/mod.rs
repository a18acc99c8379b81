//! Simulated machines: files in memory that record what happened to them, and fail on demand.
//!
//! A [`SimDisk`] is a machine with one data file and one lock file. A [`FaultPlan`] makes one of
//! the calls fail that the engine makes. Opened are they by `Options::open_simulated` and
//! `Options::open_faulty`.

mod disk;
mod faulty;
mod loss;
#[cfg(test)]
mod tests;

pub use disk::{Event, SimDisk, sealed_image};
pub use faulty::{FaultCall, FaultPlan, Torn};
pub(crate) use faulty::{Faulty, FaultyJournal, FaultyShared};

#[cfg(feature = "simulation")]
pub use crate::failpoint::{Point, on_points};
pub use crate::page::Sealer;
