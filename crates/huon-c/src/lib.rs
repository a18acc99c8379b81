//! What C interfaces to Huon share.
//!
//! C hands in what it likes: handles that were closed, that never were, that another thread is
//! closing at this moment. [`Handles`] tells the right ones from all others without looking at the
//! memory that they seem to point to. And nothing that goes wrong in Rust may unwind into C:
//! [`guarded`] is the wall.
//!
//! LMDB's interface and libmdbx's are cousins, and so is what they need behind them: [`Txn`] with
//! its levels and the readers and writers inside, the handles of tables ([`dbi`]) and what they
//! mean ([`table`]), records by key ([`data`]) and [`cursor`]s. [`objects`] has their handles, and
//! [`pointers`] is what may look at memory of the program's. Where the two differ, an interface
//! says so in its [`Rules`], or does it itself. What goes wrong is a [`Fault`], which each
//! interface has a number for.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod changes;
pub mod cursor;
pub mod data;
pub mod dbi;
pub mod dbis;
mod enlisted;
mod env;
pub mod estimate;
mod fault;
pub mod flags;
mod handles;
mod inside;
pub mod objects;
mod place;
#[allow(unsafe_code)]
pub mod pointers;
mod rest;
mod row;
pub mod steps;
pub mod table;
mod threads;
mod txn;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use env::{Env, Rules, journal_bytes, read_ahead, reserve_bytes};
pub use fault::{Fault, Res, system_number};
#[doc(hidden)]
pub use handles::{AtHand, ThreadEnd};
pub use handles::{Handles, Recent};
pub use inside::{Access, Reader, View, Writer};
pub use threads::{comparing, lock, me, register, unregister};
pub use txn::{Begin, Ended, State, Txn};

/// What `work` returns, or `fallback` if it panics. The owners of state that a panic left half-done
/// must mark it as such, as the engine's transactions do.
pub fn guarded<R>(fallback: R, work: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(fallback)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_stops_at_the_wall() {
        std::panic::set_hook(Box::new(|_| {}));
        let answer = super::guarded(7, || if std::hint::black_box(true) { panic!() } else { 1 });
        let _ = std::panic::take_hook();
        assert_eq!(answer, 7);
        assert_eq!(super::guarded(7, || 1), 1);
    }
}
