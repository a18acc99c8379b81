//! The functions that C calls: each checks what it was given, converts it, calls, and turns the
//! answer into a code.
//!
//! A1. A handle is looked up, never followed. A null one is `EINVAL`, a closed one, or one of
//!     another kind, is `EBADSIGN`.
//! A2. The caller answers for pointers to its memory, as with libmdbx; a null one where something
//!     is needed is `EINVAL`.
//! A3. Nothing unwinds into C.
//! A4. Bytes are read before the call that was given them returns, and written in two cases: what a
//!     pointer for an answer points to, and nothing else.

mod cursor;
mod data;
mod dbi;
mod env;
mod estimate;
mod info;
mod keys;
mod library;
mod limits;
mod old;
mod orders;
mod pages;
mod readers;
mod txn;
mod types;

use std::sync::Arc;

use huon_c::pointers::{Val, bytes_of, show};
use huon_c::{Handles, Res, guarded, objects};
use libc::{c_int, c_void};

use crate::codes;
use crate::env::Env;

pub use cursor::*;
pub use data::*;
pub use dbi::*;
pub use env::*;
pub use estimate::*;
pub use info::*;
pub use keys::*;
pub use library::*;
pub use limits::*;
pub use old::*;
pub use orders::*;
pub use pages::*;
pub use readers::*;
pub use txn::*;
pub use types::*;

static ENVS: Handles<Env> = Handles::new(1);

/// The environment of a handle.
fn env_of(env: *const MDBX_env) -> Res<Arc<Env>> {
    ENVS.get(env as usize).ok_or_else(|| objects::missing(env as usize))
}

/// The transaction of a handle.
fn txn_of(txn: *const MDBX_txn) -> Res<Arc<huon_c::Txn>> {
    objects::txn(txn as usize)
}

/// Does the work of a function that answers with a code.
fn code(work: impl FnOnce() -> Res<()>) -> c_int {
    guarded(codes::PANIC, || work().map_or_else(codes::number, |()| 0))
}

/// Does the work of a function that answers yes (`RESULT_TRUE`), no, or with a code.
fn verdict(work: impl FnOnce() -> Res<bool>) -> c_int {
    let number = |yes| if yes { codes::RESULT_TRUE } else { 0 };
    guarded(codes::PANIC, || work().map_or_else(codes::number, number))
}

impl Val for MDBX_val {
    #[inline]
    fn of(first: *mut c_void, bytes: usize) -> MDBX_val {
        MDBX_val { iov_len: bytes, iov_base: first }
    }

    #[inline]
    fn parts(&self) -> (*mut c_void, usize) {
        (self.iov_base, self.iov_len)
    }
}

/// The same, where no value is no error.
///
/// # Safety
/// As [`bytes_of`].
unsafe fn bytes_or_none<'v>(val: *const MDBX_val) -> &'v [u8] {
    // SAFETY: the caller's promise.
    unsafe { bytes_of(val) }.ok().flatten().unwrap_or_default()
}
