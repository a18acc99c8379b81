//! Random histories: programs of every operation, run on an environment and on its model.
//!
//! [`program`] says what operations there are, and `generate` makes programs from seeds. `run` goes
//! through one, transaction by transaction, and leaves each operation to the file of its subject:
//! `clients` (opening, closing, kills, power losses), `readers` (pinned and parked snapshots),
//! `named` (named snapshots), `txn_state` (savepoints, sequences, markers, limits), `writes` and
//! `reads` of tables, `multimap` for both on multimaps, `cursors`. What a program does to is a
//! `History`: a `Machine` with its clients, their `Readers` and their `Scans`, beside the models.

mod clients;
mod cursors;
mod generate;
mod machine;
mod multimap;
mod named;
pub mod program;
mod readers;
mod reads;
mod run;
mod txn_state;
mod writes;

pub use run::{Counts, Failure, panic_text, run};
pub(crate) use run::{History, Step, Stop, fail};
