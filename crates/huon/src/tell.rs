//! The engine's events for a program's log where the feature `tracing` is on; without it, none.
//!
//! Events have the target `huon` and fields rather than sentences. Events that need a person are
//! `WARN`, those that happen once in an opening `INFO`, commits and flushes `DEBUG`.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables))]

use std::fmt::Debug;
use std::path::Path;

use crate::error::Error;

/// An environment was opened, and from what.
pub(crate) fn opened(path: &Path, recovery: &dyn Debug) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "huon", path = %path.display(), ?recovery, "opened");
}

/// The first write transaction after an unclean end has repaired the file.
pub(crate) fn repaired(snapshot: u64) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "huon", snapshot, "repaired");
}

/// A transaction has changed something, and is committed as far as it waits for.
#[inline]
pub(crate) fn committed(snapshot: u64, durability: &dyn Debug) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "huon", snapshot, ?durability, "committed");
}

/// Everything up to a snapshot survives a loss of power.
#[inline]
pub(crate) fn flushed(snapshot: u64) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "huon", snapshot, "flushed");
}

/// A journal's write or flush has failed: commits flush the data file from now on.
pub(crate) fn journal_given_up(error: &Error) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "huon", %error, "journal failed; commits flush the data file now");
}

/// A flush has failed, and no commit is accepted any more.
pub(crate) fn flush_failed(error: &Error) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "huon", %error, "flush failed; commits are refused from now on");
}

/// A reader retains pages that a writer needs.
pub(crate) fn slow_reader(pid: u32, snapshot: u64, retained_bytes: u64) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "huon", pid, snapshot, retained_bytes, "slow reader");
}
