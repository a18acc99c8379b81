//! Write-optimised tables for [Huon](huon): an LSM tree in the same file and in the same
//! transactions as ordinary tables.
//!
//! A put into an ordinary table copies the leaf that the key lies in. Where keys come in random
//! order and many at a time, that is most of the cost. An [`LsmTable`] collects what a transaction
//! puts, and stores it at the commit as a sorted *run*: an ordinary table that is built from full
//! pages. Runs are merged later, outside the writer lock. A lookup asks the runs from the newest to
//! the oldest, each behind a filter that says which runs need not be asked.
//!
//! - [`Lsm`] opens LSM tables of an environment. [`LsmDef`] names one and its types, and
//!   [`LsmTable`] is the handle that reads and changes it, given a transaction of Huon's.
//! - [`LsmTable::put`] and [`LsmTable::delete`] are blind: they look for nothing.
//!   [`LsmTable::put_if_absent`], [`LsmTable::replace`] and [`LsmTable::take`] do a get first.
//! - [`LsmTable::merge`] is blind, too: a function that the definition names, a *merge operator*,
//!   makes one value of what is there and of what is merged onto it, when it is read, or a
//!   merge of runs comes by. So counters, sets and the like need no get before each put.
//! - [`LsmRange`] iterates from both ends, [`LsmCursor`] lives beside writes.
//! - [`WriteBatch`] is collected and sorted before the writer lock is taken; [`Lsm::write`] joins
//!   the batches of threads that wait into one commit.
//! - [`Compactor`] merges runs, in this process or any other. Where there is none, programs that
//!   commit merge a little after each commit.
//! - [`LsmTable::stat`] tells how much there is to merge, [`LsmTable::check`] verifies every run.
//!
//! ```
//! use huon::{Env, Str, TableDef, U64};
//! use huon_lsm::{Lsm, LsmDef};
//!
//! const EVENTS: LsmDef<Str, U64> = LsmDef::new("events");
//! const TOTALS: TableDef<Str, U64> = TableDef::new("totals");
//!
//! # let dir = tempfile::tempdir()?;
//! let env = Env::open(dir.path().join("shop.huon"))?;
//! let lsm = Lsm::open(&env)?;
//! let events = lsm.table(&EVENTS)?;
//!
//! // LSM tables and ordinary ones, in one commit.
//! env.update(|txn| {
//!     events.put(txn, "2026-11-26T10:00", 7)?;
//!     events.put(txn, "2026-11-26T10:01", 9)?;
//!     txn.create_table(&TOTALS)?.put(txn, "2026-11-26", 16).map(drop)
//! })?;
//!
//! let txn = env.read()?;
//! assert_eq!(events.get(&txn, "2026-11-26T10:01")?, Some(9));
//! let day: Result<Vec<_>, _> = events.prefix(&txn, "2026-11-26")?.rev().collect();
//! assert_eq!(day?, [("2026-11-26T10:01", 9), ("2026-11-26T10:00", 7)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use which table
//!
//! An LSM table takes random puts in batches several times faster than an ordinary one, and answers
//! lookups of absent keys faster. It finds a key that is there a little slower, and ranges much
//! slower as long as there are several runs. It cannot say how many records it has without reading
//! them all, nor whether a key was there before a put. Ordinary tables are better for few puts, for
//! puts in order, for ranges, for counters whose new value is wanted at once, and for values of
//! many kilobytes, which merges copy.
//!
//! # Invariants
//!
//! - L1. A run that is not open never changes, and its id is never given to another.
//! - L2. Runs with ascending numbers hold ascending ages of any key; a merge replaces adjacent
//!   runs, in one transaction, by one with the highest of their numbers.
//! - L3. At most one run is open, and it has the highest number.
//! - L4. A tombstone is dropped only into a run below which there is none.
//! - L5. Every run is whole in the snapshot that names it: it was made by that transaction or an
//!   earlier one.
//! - L6. The version changes with every change of runs, filters and deletes; equal versions of
//!   committed snapshots mean equal manifests. A process keeps a view only after the commit that
//!   made it.
//! - L7. A view is used only with a transaction of its own version.
//! - L8. The output of a merge that is under way is named by its claim only, and no reader looks at
//!   it.
//! - L9. An operand hides nothing. What a key has is its newest record that is no operand, and onto
//!   it all operands above, from the oldest to the newest. Wherever two records of a key become
//!   one, an operand is so folded onto the older one; it becomes a value only onto one, onto a
//!   tombstone, or where nothing older is left.
//! - L10. A run has no key of a range whose delete it has made. So where a delete hides a run, all
//!   older runs have no key of the range that counts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod batch;
mod check;
mod combine;
#[cfg(test)]
mod combine_tests;
mod compact;
#[cfg(test)]
mod compact_tests;
mod compactor;
mod cursor;
mod def;
mod edit;
mod filter;
mod format;
mod hand_over;
mod index;
mod lsm;
mod manifest;
mod merge;
mod operator;
mod options;
mod pending;
mod per_process;
mod planted;
mod policy;
mod range;
mod read;
mod record;
mod scan;
mod stat;
mod table;
mod verbs;

pub use check::{LsmCheck, RunCheck};
pub use compactor::{Compactor, CompactorThread};
pub use cursor::LsmCursor;
pub use def::LsmDef;
pub use lsm::{Lsm, WriteBatch};
pub use operator::Combined;
pub use options::LsmOptions;
pub use range::LsmRange;
pub use stat::{ClassStat, LsmStat};
pub use table::{LsmTable, RawLsmTable};

/// The recipes of the page about LSM tables, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/LSM.md")]
struct Recipes;
