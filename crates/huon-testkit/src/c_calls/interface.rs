//! By what the interfaces differ, where it is a number.

use std::ops::RangeInclusive;

use super::names::code::*;

/// Whose calls a history makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interface {
    /// LMDB's.
    #[default]
    Lmdb,
    /// libmdbx's.
    Mdbx,
}

impl Interface {
    pub(super) fn is_mdbx(self) -> bool {
        self == Interface::Mdbx
    }

    /// What is LMDB's, or libmdbx's.
    pub(super) fn either<T>(self, lmdb: T, mdbx: T) -> T {
        if self.is_mdbx() { mdbx } else { lmdb }
    }

    /// A handle that is over.
    pub(super) fn over(self) -> i32 {
        self.either(EINVAL, EBADSIGN)
    }

    /// A read transaction that was reset.
    pub(super) fn reset(self) -> i32 {
        self.either(EINVAL, BAD_TXN)
    }

    /// The thread writes already.
    pub(super) fn writes_already(self) -> i32 {
        self.either(EDEADLK, BUSY)
    }

    /// What is for an environment that is not open yet.
    pub(super) fn too_late(self) -> i32 {
        self.either(EINVAL, EPERM)
    }

    /// A commit of what had failed.
    pub(super) fn failed(self) -> i32 {
        self.either(BAD_TXN, RESULT_TRUE)
    }

    /// What was to be appended belongs elsewhere.
    pub(super) fn order(self) -> i32 {
        self.either(KEYEXIST, EKEYMISMATCH)
    }

    /// A cursor stands nowhere.
    pub(super) fn nowhere(self) -> i32 {
        self.either(EINVAL, ENODATA)
    }

    /// A table of no open handle.
    pub(super) fn closed(self) -> i32 {
        self.either(EINVAL, BAD_DBI)
    }

    /// Lengths of keys, and of values where a key may have many, in pages of 4 KiB.
    pub(super) fn key_bytes(self) -> RangeInclusive<usize> {
        self.either(1..=511, 0..=2022)
    }
}
