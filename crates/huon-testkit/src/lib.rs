//! Models, random histories and crash images for testing Huon.

pub mod audit;
pub mod c_programs;
pub mod calls;
mod changes;
mod clients;
pub mod crash;
pub mod faults;
pub mod figures;
pub mod fuzz;
mod handle;
pub mod history;
pub mod hostile;
pub mod install;
mod looks;
mod maker;
pub mod model;
mod multi;
mod notes;
pub mod pairs;
pub mod program;
pub mod random;
mod readers;
pub mod scale;
mod scans;
pub mod shrink;
pub mod torture;
pub mod trail;
