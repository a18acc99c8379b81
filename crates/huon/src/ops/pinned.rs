//! A pinned snapshot with everything that its image holds.

use std::sync::Arc;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::page::Meta;
use crate::txn::read::ReadTxn;

/// How often a pin is tried while commits come in between.
const PINS_MAX: usize = 10_000;

/// Pins the newest visible snapshot, and returns its whole image with it.
///
/// The image of a snapshot is kept only while the snapshot is the published one, so it is copied
/// right after the pin, and both are taken again if a commit came in between.
pub(crate) fn pin(env: &Env) -> Result<(ReadTxn, Meta)> {
    let core = env.core()?;
    for _ in 0..PINS_MAX {
        let txn = env.read()?;
        let mark = core.store.board.published();
        if mark.txnid() != txn.id() {
            continue;
        }
        match core.image(mark) {
            Ok(meta) => return Ok((txn, meta)),
            // Given away meanwhile, or damaged.
            Err(error) if core.store.board.published() == mark => return Err(error),
            Err(_) => {}
        }
    }
    Err(Error::Busy("commits follow each other too fast to read the image of one".into()))
}

/// The same for the snapshot of a read transaction, which outlives the use of it: what its image
/// held of tables and notes, in the newest image. No free-space list goes with it.
pub(crate) fn pin_of(env: &Env, txn: Option<&ReadTxn>) -> Result<(ReadTxn, Meta)> {
    let (pin, newest) = pin(env)?;
    match txn {
        None => Ok((pin, newest)),
        Some(txn) if txn.core().check_forked().is_err() => Err(Error::Forked),
        Some(txn) if !Arc::ptr_eq(txn.core(), env.core()?) => {
            Err(Error::Invalid("the transaction is one of another environment"))
        }
        Some(txn) => Ok((pin, txn.shown_in(newest))),
    }
}
