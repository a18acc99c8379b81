//! Huon: an embedded, transactional, ordered key-value store in one memory-mapped file.

#![deny(unsafe_code)]
#![warn(missing_docs)]

#[allow(unsafe_code)]
mod os;

mod env;
mod error;
mod ops;
mod page;
mod planted;
mod store;
mod table;
mod tree;
mod txn;

pub use env::{Env, EnvInfo, IoInfo, Options, ReaderInfo, Recovery};
pub use error::{Corruption, Error, IoError, Result};
pub use ops::Progress;
pub use ops::check::{CheckOptions, CheckReport, Problem, TableReport};
pub use ops::copy::{CopyOptions, CopyReport};
pub use ops::stat::{HeldBy, Holder, Stat, TableStat};
pub use store::Verify;
pub use table::codec::{
    Bytes, Codec, KeyCodec, NativeU32, NativeU64, Scratch, Str, U32, U64, U128, Unit,
};
pub use table::def::{RawTable, Table, TableDef};
pub use table::iter::{Cursor, Range, Scan};
pub use table::plain::Append;
pub use table::txn::Txn;
pub use txn::commit::Durability;
pub use txn::names::{Compare, Order};
pub use txn::read::ReadTxn;
pub use txn::write::WriteTxn;

/// Simulated machines: files in memory that record what happened to them, and fail on demand.
#[cfg(any(test, feature = "simulation"))]
pub mod sim {
    pub use crate::os::{Event, FaultCall, FaultPlan, SimDisk};
}

#[cfg(test)]
mod testing;
#[cfg(test)]
pub(crate) use testing::figure;
