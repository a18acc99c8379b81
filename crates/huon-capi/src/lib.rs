//! Huon's own interface in C: what the engine has, for programs in C and for bindings of other
//! languages. `include/huon.h` is made from what is written here, comments included.
//!
//! A1. A handle is looked up, never followed: a closed one, one of another kind or a stray number
//!     is an error.
//! A2. The caller answers for pointers to its memory: each is null, or good for what it is for
//!     until the call returns. A null one where something is needed is an error.
//! A3. Nothing unwinds into C (`border`).
//! A4. What is given is copied or read before the call returns. What is shown lies in the snapshot
//!     of a transaction, or in that transaction's own room, and says for how long.
//! A5. What is written in Rust's types is checked by them: an address that is null or good is an
//!     `Option` of a reference. Only `bytes` turns addresses into slices.
//!
//! Functions that look at arrays or texts are unsafe to call from Rust, for A2.

#![deny(unsafe_code)]
#![warn(missing_docs)]
#![allow(non_camel_case_types, reason = "the names are those that C sees")]
#![allow(clippy::missing_safety_doc, reason = "A2 is what all callers promise")]

#[allow(unsafe_code)]
mod abi;
mod border;
#[allow(unsafe_code)]
mod bytes;
mod callback;

pub use abi::*;
pub use bytes::{huon_bytes, huon_pair, huon_str};
pub use callback::{
    HUON_CHANGE_NONE, HUON_CHANGE_REMOVE, HUON_CHANGE_SET, huon_change_fn, huon_compare_fn,
    huon_fill_fn, huon_keep_fn, huon_merge_fn, huon_next_fn, huon_problem_fn, huon_progress,
    huon_progress_fn, huon_slow_reader, huon_slow_reader_fn, huon_step_fn, huon_value_fn,
    huon_write_fn,
};
