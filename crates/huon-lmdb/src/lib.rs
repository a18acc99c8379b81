//! Huon behind the C interface of LMDB 0.9: `liblmdb.so.0`.
//!
//! A program that was linked to LMDB runs with it unchanged; what it stores is Huon's format. Where
//! it answers otherwise than LMDB is in `docs/COMPATIBILITY.md`.
//!
//! The layers, highest first: `abi` has the functions that C calls, and nothing in them but checks
//! and conversions; `env` is an environment as LMDB sets it up; `codes` and `flags` are LMDB's
//! numbers. Transactions, tables and cursors are those of `huon-c`. Only `abi` has `unsafe` code:
//! what it hands down are slices and handles that were looked up.

#![deny(unsafe_code)]

// The names are LMDB's.
#[allow(unsafe_code, non_camel_case_types)]
pub mod abi;

mod codes;
mod env;
mod flags;
