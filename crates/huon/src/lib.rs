//! Huon: an embedded, transactional, ordered key-value store in one memory-mapped file.
//!
//! Any number of threads and processes share a file. One of them writes at a time, all others read;
//! readers and writer never wait for each other.
//!
//! - [`Env`] is an open file. [`Options`] say how to open or create it.
//! - [`ReadTxn`] is a snapshot of all tables. It costs no lock and no copy, and keys and values
//!   read from it lie in the file's map.
//! - [`WriteTxn`] is the one transaction that may change things. All of it happens at
//!   [`WriteTxn::commit`], or nothing. [`WriteTxn::nested`] makes a part of it undoable.
//! - [`TableDef`] names a table and the types of its keys and values; [`Table`] is the handle that
//!   reads and changes it, given a transaction. [`RawTable`] is the same for plain bytes.
//! - [`Codec`] and [`KeyCodec`] make types of your own keys and values. [`Order`] says how keys
//!   compare.
//! - [`Range`] iterates from both ends, [`OwnedRange`] (of a multimap: [`OwnedPairs`],
//!   [`OwnedValues`]) keeps its transaction, [`Cursor`] moves about and lives beside writes.
//!   [`Range::leaves`] is the fastest way through many records.
//! - [`Table::get_many`] gets many keys, several times faster than one after another.
//! - [`MultiDef`] and [`Multi`] are the same for tables in which a key may have many values.
//! - [`Durability`] says what a commit waits for, [`Env::sync`] waits for all of them.
//! - [`Error`] is the one error type. "Not found" is `None`, and never an error.
//! - [`Env::check`] verifies every page, [`Env::info`] names the readers and their snapshots.
//! - [`Env::copy_to`] makes a backup while writers go on, [`Env::delete`] removes the files.
//! - [`Env::in_memory`] is an environment without files, for tests and caches.
//! - [`Env::metas`] and [`Env::switch_to_meta`] are for a file whose newest snapshot is damaged,
//!   [`Env::visit_pages`] shows every page.
//!
//! ```
//! use huon::{Env, Str, TableDef, U64};
//!
//! const STOCK: TableDef<Str, U64> = TableDef::new("stock");
//!
//! # let dir = tempfile::tempdir()?;
//! let env = Env::open(dir.path().join("shop.huon"))?;
//! env.update(|txn| {
//!     let stock = txn.create_table(&STOCK)?;
//!     stock.put(txn, "apple", 12)?;
//!     stock.put(txn, "pear", 7)
//! })?;
//!
//! let txn = env.read()?;
//! let stock = txn.open_table(&STOCK)?.expect("it was created above");
//! assert_eq!(stock.get(&txn, "pear")?, Some(7));
//! assert_eq!(stock.get(&txn, "plum")?, None);
//! let from_b: Result<Vec<_>, _> = stock.range(&txn, "b"..)?.collect();
//! assert_eq!(from_b?, [("pear", 7)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What things cost
//!
//! A lookup is one descent: it reads a page on each level, three or four for a million records, and
//! makes no allocation and no system call. So is a step of an iterator, mostly within one page. A
//! change copies the pages on the way to its record once in a transaction. A small durable commit
//! writes these pages, those of the catalog and one block of 4096 bytes, and flushes once.
//!
//! A read transaction keeps the pages that it can see, and only these. One that is never ended
//! costs at most one copy of its snapshot in the file.
//!
//! # Sharing
//!
//! Beside the file `data.huon` lies `data.huon-lock`, memory that all processes share. It may be
//! deleted while no process has the file open, but then commits that were never flushed are gone.
//! With [`Options::journal`] there is also `data.huon-journal`, in which the newest commits may be
//! until the file is closed everywhere: then it belongs to the file, and must not be deleted.
//! Opening a file twice in one process is fine. A child of `fork` goes on with its parent's
//! environment, but not with transactions that were open: [`Error::Forked`].
//!
//! # Soundness
//!
//! The file is mapped into memory: sound as long as no process modifies or truncates it except
//! through Huon. If you cannot promise that (a directory that others write to), the result is
//! undefined behaviour or `SIGBUS` ([`Options::open`]).
//!
//! # Features
//!
//! - `serde`: reports ([`EnvInfo`], [`Stat`], [`CheckReport`], ..) serialise; the codecs `Json` and
//!   `Postcard` keep values of any type that `serde` knows.
//! - `tracing`: openings, recoveries, commits, flushes and slow readers are events of the crate
//!   `tracing`, with the target `huon`. A subscriber may read; what it writes to the same
//!   environment is refused while the engine is in the middle of a change.
//! - `uuid`: `uuid::Uuid` is a codec.

#![deny(unsafe_code)]
#![warn(missing_docs)]

#[allow(unsafe_code)]
#[cfg_attr(any(loom, shuttle), allow(dead_code, reason = "a model uses a part of it"))]
mod os;

mod alloc;
mod env;
mod error;
mod failpoint;
mod journal;
#[cfg_attr(any(loom, shuttle), allow(dead_code, reason = "a model uses a part of it"))]
mod lock;
mod ops;
mod page;
mod planted;
#[cfg(feature = "serde")]
mod serial;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod sim;
mod store;
mod table;
mod tell;
mod tree;
mod txn;

pub use env::limits;
pub use env::{
    Closed, Env, EnvInfo, FileKind, IoInfo, JournalInfo, JournalState, Options, ReaderInfo,
    Settings,
};
pub use error::{
    Corruption, Error, FullMap, IoError, Result, RetainingReader, TableTypes, WrongOrder,
};
pub use ops::Progress;
pub use ops::backup::{BackupOptions, BackupReport, Restore, RestoreReport};
pub use ops::changes::{Capture, Changed};
pub use ops::check::{CheckOptions, CheckReport, Problem, TableReport};
pub use ops::compact::{CompactEnd, CompactOptions, CompactReport};
pub use ops::copy::{CopyOptions, CopyReport};
pub use ops::difference::{Difference, Feed};
pub use ops::metas::{MetaInfo, MetaSnapshot, MetaState, SwitchReport};
pub use ops::named::NamedSnapshot;
pub use ops::records::{Contents, RecordVisitor};
pub use ops::replica::{Applying, Replica};
pub use ops::stat::{RetainedBy, RetainedSnapshot, Stat, TableStat};
pub use ops::visit::{PageInfo, PageKind};
pub use os::ReadAhead;
/// For the C interfaces and LSM tables: locks and values of one thread, what outlives a fork, and
/// descriptors that programs see.
#[doc(hidden)]
pub use os::{
    BiasedGuard, BiasedLock, ByThread, ForkGuard, ForkLock, HeldOff, OfThread, ThisThread,
    fork_generation, hold_off, is_generation, is_inherited, open_kept,
};
pub use store::Verify;
pub use store::slow::{SlowReader, SlowReaderAnswer};
pub use table::bulk::{Append, BulkChunk};
pub use table::codec::{
    Bool, Bytes, Codec, F32, F64, I8, I16, I32, I64, I128, KeyCodec, KeyPrefix, NativeU32,
    NativeU64, Scratch, Str, TuplePart, U8, U16, U32, U64, U128, Unit,
};
#[cfg(feature = "serde")]
pub use table::codec::{Json, Postcard};
pub use table::cursor::{Cursor, Entry, Many, MultiCursor, Shape, Single};
pub use table::def::{Definition, RawTable, Table, TableDef};
pub use table::iter::Range;
pub use table::leaves::{Leaf, LeafIter, Leaves};
pub use table::multi::{Multi, MultiDef, RawMulti};
pub use table::owned::OwnedRange;
pub use table::owned_pairs::{OwnedPairs, OwnedValues};
pub use table::pairs::{Batches, Keys, Pairs, Values};
pub use table::txn::{AnyTxn, Txn};
pub use table::value::Owned;
pub use table::verbs::Change;
#[doc(hidden)]
pub use tree::path::{InLeaf, Passed};
pub use txn::commit::Durability;
pub use txn::costs::WriteCosts;
pub use txn::geometry::Geometry;

pub use txn::image::{Image, SnapshotName};
pub use txn::notes::Markers;
pub use txn::order::{Comparator, Compare, Order};
pub use txn::park::Parked;
pub use txn::read::ReadTxn;
pub use txn::recovery::Recovery;
pub use txn::rest::Resting;
pub use txn::ticket::Ticket;
pub use txn::write::WriteTxn;
pub use txn::write::extension::Extension;

#[cfg(test)]
mod testing;
#[cfg(test)]
pub(crate) use testing::figure;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The recipes of the cookbook, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/COOKBOOK.md")]
struct Cookbook;
