//! The C interface of LMDB, called from Rust. What forks is in `misuse`.

mod common;
mod cursors;
mod found;
mod handles;
mod records;
mod rows;
mod texts;
mod transactions;
