//! Merging the runs of write-optimised tables.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use ::huon_lsm::CompactorThread;
use huon_c::Handles;

use super::lsm::{LSMS, huon_lsm};
use crate::border::{Fault, Own, Res, border, close, enter, give, object};
use crate::bytes::huon_bytes;
use crate::callback::{STOPPED, Steps, huon_step_fn};

/// Threads that merge runs.
pub struct huon_compactor(());

static COMPACTORS: Handles<Own<Option<CompactorThread>>> = Handles::new(9);

/// Merges what is due.
pub const HUON_LSM_DUE: c_int = 0;
/// Merges all runs of each table into one.
pub const HUON_LSM_ALL: c_int = 1;
/// Makes the file shorter.
pub const HUON_LSM_SHORTEN: c_int = 2;

/// Merges runs in this thread: of the table of that name, or of all if it is empty. `how` is one of
/// HUON_LSM_DUE, HUON_LSM_ALL and HUON_LSM_SHORTEN. Others read and write meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_compact(lsm: *mut huon_lsm, name: huon_bytes<'_>, how: c_int) -> c_int {
    border("huon_lsm_compact", || {
        compact(lsm, name, how, &mut Steps::new(None, std::ptr::null_mut()))
    })
}

/// The same, and tells `step` after each step, and while it waits for the merges of others, how
/// many there were: a stop ends it in order. `steps`, which may be NULL, tells how many it made.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_compact_with(
    lsm: *mut huon_lsm,
    name: huon_bytes<'_>,
    how: c_int,
    step: huon_step_fn,
    context: *mut c_void,
    steps: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_lsm_compact_with", || {
        let mut made = Steps::new(step, context);
        let ended = compact(lsm, name, how, &mut made);
        give(steps, made.count);
        ended
    })
}

fn compact(lsm: *mut huon_lsm, name: huon_bytes<'_>, how: c_int, steps: &mut Steps) -> Res<()> {
    let (lsm, name) = (object(&LSMS, lsm)?, name.get()?);
    let mut compactor = lsm.compactor();
    if !name.is_empty() {
        compactor = compactor.for_table(name);
    }
    match how {
        HUON_LSM_DUE => compactor.run_until_idle_with(&mut |n| steps.tell(n)).map(drop)?,
        HUON_LSM_ALL => compactor.merge_all_with(&mut |n| steps.tell(n)).map(drop)?,
        HUON_LSM_SHORTEN => compactor.shorten_with(&mut || steps.tell(steps.count + 1))?,
        _ => return Err(Fault::argument("there is no such way to compact")),
    }
    if steps.has_stopped { Err(STOPPED) } else { Ok(()) }
}

/// Starts threads that merge what is due, until huon_compactor_stop. A forked child has none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_compactor_start(
    lsm: *mut huon_lsm,
    compactor: Option<&mut MaybeUninit<*mut huon_compactor>>,
) -> c_int {
    border("huon_compactor_start", || {
        enter(&COMPACTORS, compactor, || {
            Ok(Own::new(Some(object(&LSMS, lsm)?.compactor().spawn()?)))
        })
    })
}

/// Ends the threads, and waits for them; NULL is none, and fine. An error is that of their work.
#[unsafe(no_mangle)]
pub extern "C" fn huon_compactor_stop(compactor: *mut huon_compactor) -> c_int {
    border("huon_compactor_stop", || {
        let Some(own) = close(&COMPACTORS, compactor)? else { return Ok(()) };
        if own.is_inherited() {
            std::mem::forget(own);
            return Ok(());
        }
        let thread = own.get()?.take();
        Ok(thread.map_or(Ok(()), CompactorThread::stop)?)
    })
}
