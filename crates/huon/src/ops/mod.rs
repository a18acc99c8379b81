//! Looking after an environment: check, stat, copy, its metas, its pages,
//! all its records.
//!
//! Each of them works on a snapshot that it pins like any reader: writers go on, and nothing here
//! waits for a writer or blocks one.
//!
//! 1. Whatever a file holds, these functions end: every page is entered at most once, and what is
//!    remembered of problems is bounded.
//! 2. Check and copy verify the checksum of everything they read, whatever was verified before.

pub(crate) mod backup;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod copy;
pub(crate) mod difference;
pub(crate) mod metas;
pub(crate) mod named;
pub(crate) mod records;
pub(crate) mod replica;
pub(crate) mod stat;
pub(crate) mod visit;

mod bitmap;
mod free;
mod pinned;
mod progress;
mod salvage;
mod tables;

pub use progress::Progress;
