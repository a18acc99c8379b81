//! What the engine calls fails: on a simulated machine, and on disks and files that are full.

mod full;
mod simulated;
