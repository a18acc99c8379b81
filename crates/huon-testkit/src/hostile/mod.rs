//! Hostile data files: a file taken apart by the format's description, damaged on purpose, and
//! everything that can be done with such a file.
//!
//! 1. Nothing here knows the engine: [`file::File`] reads FORMAT.md's bytes itself.
//! 2. Checksums are recomputed after an edit, so that the hostile bytes are read, and not refused
//!    for their checksum.

pub mod attempt;
pub mod crowds;
pub mod damage;
pub mod file;
pub mod fixture;
pub mod lsm;
mod multi;
pub mod pairs;
