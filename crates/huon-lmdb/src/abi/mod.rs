//! The functions that C calls: each checks what it was given, converts it, calls, and turns the
//! answer into a code.
//!
//! A1. A handle is looked up, never followed. A closed one, or one of another kind, is `EINVAL`.
//! A2. The caller answers for pointers to its memory, as with LMDB; a null one where something is
//!     needed is `EINVAL`.
//! A3. Nothing unwinds into C.
//! A4. Bytes are read before the call that was given them returns, and written in two cases: what a
//!     pointer for an answer points to, and nothing else.

mod cursor;
mod data;
mod dbi;
mod env;
mod library;
mod txn;

use std::marker::PhantomData;
use std::sync::Arc;

use huon_c::pointers::{Val, bytes_of, show};
use huon_c::{Fault, Handles, Res, guarded, objects};
use libc::{c_int, c_void};

use crate::codes;

pub use cursor::*;
pub use data::*;
pub use dbi::*;
pub use env::*;
pub use library::*;
pub use txn::*;

/// What C has pointers to and never looks into.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[repr(C)] pub struct $name { _inside: [u8; 0], _pin: PhantomData<*mut u8> })*
    };
}

opaque! {
    /// An environment.
    MDB_env;
    /// A transaction.
    MDB_txn;
    /// A cursor.
    MDB_cursor;
}

/// Bytes that are passed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDB_val {
    /// How many.
    pub mv_size: usize,
    /// Where.
    pub mv_data: *mut c_void,
}

/// Numbers about a database.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MDB_stat {
    /// Bytes of a page.
    pub ms_psize: u32,
    /// Levels of the tree.
    pub ms_depth: u32,
    /// Pages of the upper levels.
    pub ms_branch_pages: usize,
    /// Pages with records.
    pub ms_leaf_pages: usize,
    /// Pages with long values.
    pub ms_overflow_pages: usize,
    /// Records.
    pub ms_entries: usize,
}

/// Numbers about an environment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDB_envinfo {
    /// Where the map was to lie; null.
    pub me_mapaddr: *mut c_void,
    /// The map size that was set.
    pub me_mapsize: usize,
    /// The last page that is used.
    pub me_last_pgno: usize,
    /// The last transaction that was committed.
    pub me_last_txnid: usize,
    /// How many readers there may be.
    pub me_maxreaders: u32,
    /// How many there were at most.
    pub me_numreaders: u32,
}

static ENVS: Handles<crate::env::Env> = Handles::new(1);

fn env_of(env: *mut MDB_env) -> Res<Arc<crate::env::Env>> {
    ENVS.get(env as usize).ok_or_else(|| objects::missing(env as usize))
}

fn txn_of(txn: *mut MDB_txn) -> Res<Arc<huon_c::Txn>> {
    objects::txn(txn as usize)
}

/// For a cursor, and for opening a table, a transaction that was reset is none.
fn in_reset(fault: Fault) -> Fault {
    if fault == Fault::Reset { Fault::BadTxn } else { fault }
}

/// Does the work of a function that answers with a code.
fn code(work: impl FnOnce() -> Res<()>) -> c_int {
    guarded(codes::PANIC, || work().map_or_else(codes::number, |()| 0))
}

impl Val for MDB_val {
    #[inline]
    fn of(first: *mut c_void, bytes: usize) -> MDB_val {
        MDB_val { mv_size: bytes, mv_data: first }
    }

    #[inline]
    fn parts(&self) -> (*mut c_void, usize) {
        (self.mv_data, self.mv_size)
    }
}
