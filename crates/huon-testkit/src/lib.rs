//! Models, random histories and crash images for testing Huon.

pub mod audit;
mod changes;
pub mod crash;
pub mod faults;
pub mod figures;
pub mod fuzz;
mod handle;
pub mod history;
pub mod hostile;
mod looks;
pub mod model;
mod multi;
pub mod pairs;
pub mod program;
pub mod random;
pub mod scale;
pub mod shrink;
pub mod torture;
pub mod trail;
