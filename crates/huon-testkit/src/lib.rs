//! Models, random histories, crash images, faults and hostile files for testing Huon.
//!
//! - [`history`]: random programs of every operation, from a seed. They run on an environment and
//!   on its model beside each other, and one that fails is made shorter.
//! - [`model`]: what an environment should hold, as plain maps.
//! - [`c_calls`]: random histories of calls of the interfaces in C, and the model that says what
//!   each call must answer. [`c_library`]: programs in C, built with our headers and libraries.
//! - [`crash`]: scripts of transactions, the images of the file that a crash at any point of them
//!   may leave, and what each image must show once it is opened.
//! - [`faults`]: workloads in which one call after another fails.
//! - [`follow`]: a file with random transactions, and what a file that follows it is given.
//! - [`torture`]: processes that are killed while they work on one file.
//! - [`hostile`]: files made to mislead, with right checksums. [`fuzz`]: what the fuzz targets do
//!   with their bytes.
//! - [`support`]: what all of them use: random numbers, how much to do, figures of what was done,
//!   what a power loss leaves, the check of an environment.

pub mod c_calls;
pub mod c_library;
pub mod crash;
pub mod faults;
pub mod follow;
pub mod fuzz;
pub mod history;
pub mod hostile;
pub mod model;
pub mod support;
pub mod torture;

pub use support::{audit, figures, maps, of_the_store, random, scale, shrink, trail};
