//! Models, random histories and crash images for testing Huon.

pub mod audit;
mod changes;
pub mod crash;
pub mod faults;
pub mod figures;
pub mod fuzz;
pub mod history;
pub mod hostile;
mod looks;
pub mod model;
pub mod program;
pub mod random;
pub mod scale;
pub mod shrink;
pub mod torture;
pub mod trail;
