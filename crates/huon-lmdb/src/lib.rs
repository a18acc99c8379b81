//! Huon behind the C interface of LMDB 0.9: `liblmdb.so.0`.
//!
//! A program that was linked to LMDB runs with it unchanged; what it stores is Huon's format. Where
//! it answers otherwise than LMDB is in `docs/COMPATIBILITY.md`.
//!
//! The layers, highest first: `abi` has the functions that C calls, and nothing in them but checks
//! and conversions; `cursor`, `data` and `dbi` do what they say by the public interface of Huon;
//! `place` is a cursor's position; `txn` and `env` are what handles stand for; `codes` and `flags`
//! are LMDB's numbers. Only `abi` has `unsafe` code: what it hands down are slices and handles that
//! were looked up.

#![deny(unsafe_code)]

// The names are LMDB's.
#[allow(unsafe_code, non_camel_case_types)]
pub mod abi;

mod codes;
mod cursor;
mod data;
mod dbi;
mod env;
mod flags;
mod place;
mod txn;
