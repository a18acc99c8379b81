//! The functions that C calls: each checks what it was given, converts it, calls, and turns the
//! answer into a code.
//!
//! A1. A handle is looked up, never followed. A null one is `EINVAL`, a closed one, or one of
//!     another kind, is `EBADSIGN`.
//! A2. A pointer to memory of the caller's is his to get right, as with libmdbx; a null one where
//!     something is needed is `EINVAL`.
//! A3. Nothing unwinds into C.
//! A4. Bytes are read before the call that was given them returns, and written in two cases: what a
//!     pointer for an answer points to, and nothing else.

mod types;

pub use types::*;
