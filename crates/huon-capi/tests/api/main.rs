//! The interface, called from Rust as C calls it, and its header.

mod asking;
mod common;
mod conformance;
mod copies;
mod costs;
mod forks;
mod header;
mod misuse;
mod records;
mod sharing;
