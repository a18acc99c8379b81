//! Histories of calls of a C interface, and a model that says what each call must answer.
//!
//! 1. A history is a list of calls in which handles are numbers of slots, so that any part of it is
//!    a history, too, and can be made shorter when it fails.
//! 2. The model is plain lists, and knows nothing of pages. It answers as the documents say: what
//!    it says and a library does not is a bug of one of them.
//! 3. Where another library is known to answer otherwise, the model names the rule, and the call is
//!    left out when that library is compared ([`model::Answer::Left`]).
//!
//! Numbers of flags and codes are those of LMDB, which others of its kind have kept.

mod bound;
mod cursor_writes;
mod cursors;
mod data;
pub mod generate;
mod interface;
mod library;
pub mod model;
pub mod names;
pub mod op;
mod place;
mod records;
mod rows;
pub mod run;
pub mod slots;
pub mod suite;
mod tables;
mod txns;

pub use data::NAME_RECORD;
pub use interface::Interface;
pub use rows::shorter_first;
