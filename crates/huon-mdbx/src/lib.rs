//! Huon behind the C interface of libmdbx 0.11: `libhuon_mdbx.so.0`.
//!
//! A program that was written for libmdbx runs with it unchanged; what it stores is Huon's format.
//!
//! The layers, highest first: `abi` has the functions that C calls, and nothing in them but checks
//! and conversions; `keys`, `limits` and `orders` need no environment; `codes` and `flags` are
//! libmdbx's numbers. Only `abi` has `unsafe` code.

#![deny(unsafe_code)]

// The names are libmdbx's.
#[allow(unsafe_code, non_camel_case_types)]
pub mod abi;

#[allow(dead_code)]
mod codes;
mod flags;
mod keys;
#[allow(dead_code)]
mod limits;
#[cfg(test)]
mod numbers;
mod orders;
