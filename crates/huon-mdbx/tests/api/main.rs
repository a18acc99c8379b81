//! The C interface of libmdbx, called from Rust. What forks is in `misuse`.

mod common;
mod cursors;
mod environment;
mod found;
mod records;
mod tables;
mod transactions;
