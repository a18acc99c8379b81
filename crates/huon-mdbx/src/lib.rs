//! Huon behind the C interface of libmdbx 0.11: `libhuon_mdbx.so.0`.
//!
//! A program that was written for libmdbx runs with it unchanged; what it stores is Huon's format.
//!
//! The layers, highest first: `abi` has the functions that C calls, and nothing in them but checks
//! and conversions; `env` is an environment as libmdbx sets it up, with its `files`, `options` and
//! `geometry`, the `info` about it, `copies`, a walk over its `pages`, and the callback for `slow`
//! readers; `tables` and `replace` are what libmdbx does with tables and records beyond LMDB;
//! `keys`, `limits` and `orders` need no environment; `codes` and `flags` are libmdbx's numbers.
//! Transactions, tables and cursors are those of `huon-c`. Only `abi` has `unsafe` code: what it
//! hands down are slices and handles that were looked up.

#![deny(unsafe_code)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "libmdbx's structures are laid out as on 64-bit machines: huon-mdbx is for those only"
);

// The names are libmdbx's.
#[allow(unsafe_code, non_camel_case_types)]
pub mod abi;

mod codes;
mod copies;
mod env;
mod files;
mod flags;
mod geometry;
mod info;
mod keys;
mod limits;
#[cfg(test)]
mod numbers;
mod options;
mod orders;
mod pages;
mod replace;
mod slow;
mod tables;
