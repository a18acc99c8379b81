//! Transactions.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::time::Instant;

use huon_c::objects::with_txn;
use huon_c::pointers::{answer, tell};
use huon_c::{Begin, Fault, Res, State, View, guarded, in_txn, objects};
use libc::{c_int, c_uint, c_void};

use super::{
    MDBX_canary, MDBX_commit_latency, MDBX_env, MDBX_txn, code, debug_flags, env_of, txn_of,
    verdict,
};
use crate::env::durability_of;
use crate::flags::debug::DBG_LEGACY_OVERLAP;
use crate::flags::txn::*;

/// What a transaction may begin with.
const BEGIN: u32 = TXN_RDONLY_PREPARE | TXN_TRY | TXN_NOMETASYNC | TXN_NOSYNC;
/// What says how the commit waits.
const SYNC: u32 = TXN_NOMETASYNC | TXN_NOSYNC;

/// # Safety
/// `txn` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_begin_ex(
    env: *mut MDBX_env,
    parent: *mut MDBX_txn,
    flags: c_uint,
    txn: *mut *mut MDBX_txn,
    context: *mut c_void,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(txn, ptr::null_mut()) }?;
        let begun = begin(env, parent, flags)?;
        txn_of(begun)?.context.store(context as usize, Ordering::Release);
        // SAFETY: as before.
        unsafe { answer(txn, begun) }
    })
}

/// # Safety
/// As [`mdbx_txn_begin_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_begin(
    env: *mut MDBX_env,
    parent: *mut MDBX_txn,
    flags: c_uint,
    txn: *mut *mut MDBX_txn,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_txn_begin_ex(env, parent, flags, txn, ptr::null_mut()) }
}

fn begin(env: *mut MDBX_env, parent: *mut MDBX_txn, flags: u32) -> Res<*mut MDBX_txn> {
    if flags & !BEGIN != 0 {
        return Err(Fault::Invalid);
    }
    let inside = env_of(env)?;
    inside.check_opened()?;
    let read_only = flags & TXN_RDONLY != 0;
    let is_prepared = flags & TXN_RDONLY_PREPARE == TXN_RDONLY_PREPARE;
    let of_writers = TXN_TRY | SYNC;
    let of_readers = TXN_RDONLY_PREPARE;
    if flags & (if read_only { of_writers } else { of_readers }) != 0 {
        return Err(Fault::Invalid);
    }
    if !parent.is_null() {
        let parent = txn_of(parent)?;
        if parent.env_handle != env as usize || read_only && parent.is_write() {
            return Err(Fault::Invalid);
        }
    }
    // A commit may wait for less than the environment says, and not for more.
    let weaker = flags & SYNC;
    let durability = (weaker != 0).then(|| durability_of(inside.flags() | weaker));
    let overlaps = debug_flags() & DBG_LEGACY_OVERLAP != 0;
    let how = Begin { read_only, wait: flags & TXN_TRY == 0, overlaps, durability };
    let begun = objects::begin(&inside.shared, env as usize, parent as usize, how)?;
    let txn = objects::txn(begun)?;
    txn.begun_with.store(weaker, Ordering::Relaxed);
    if is_prepared {
        txn.reset()?;
    }
    Ok(begun as *mut MDBX_txn)
}

fn end(txn: *mut MDBX_txn, commit: bool) -> Res<()> {
    let ending = txn_of(txn)?;
    let is_useless = |state: State| state.is_reset || state.has_failed;
    if !ending.is_write() {
        let was_useless = commit && ending.state().is_ok_and(is_useless);
        let ended = objects::end(txn as usize, commit);
        // There was nothing to commit.
        return if was_useless { ended.and(Err(Fault::Failed)) } else { ended };
    }
    ending.check_thread()?;
    let asked = env_of(ending.env_handle as *const _).ok().and_then(|env| env.slow_reader());
    let goes_on = || asked.iter().for_each(|asked| asked.end());
    goes_on();
    let ended = objects::end(txn as usize, commit);
    // A commit may have asked, too.
    goes_on();
    ended
}

/// # Safety
/// `latency` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_commit_ex(
    txn: *mut MDBX_txn,
    latency: *mut MDBX_commit_latency,
) -> c_int {
    let began = Instant::now();
    let result = code(|| end(txn, true));
    let whole = (began.elapsed().as_micros() << 16) / 1_000_000;
    let whole = u32::try_from(whole).unwrap_or(u32::MAX);
    // SAFETY: the caller's promise.
    unsafe { tell(latency, MDBX_commit_latency { whole, ..MDBX_commit_latency::default() }) };
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_commit(txn: *mut MDBX_txn) -> c_int {
    code(|| end(txn, true))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_abort(txn: *mut MDBX_txn) -> c_int {
    code(|| end(txn, false))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_break(txn: *mut MDBX_txn) -> c_int {
    code(|| txn_of(txn)?.fail())
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_reset(txn: *mut MDBX_txn) -> c_int {
    code(|| with_txn(txn as usize, |txn| txn.reset()))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_renew(txn: *mut MDBX_txn) -> c_int {
    code(|| {
        with_txn(txn as usize, |txn| {
            txn.reset()?;
            txn.renew()
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_park(txn: *mut MDBX_txn, autounpark: bool) -> c_int {
    code(|| txn_of(txn)?.park(autounpark))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_unpark(txn: *mut MDBX_txn, restart_if_ousted: bool) -> c_int {
    verdict(|| txn_of(txn)?.unpark(restart_if_ousted))
}

/// # Safety
/// `count` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_release_all_cursors_ex(
    txn: *const MDBX_txn,
    unbind: bool,
    count: *mut usize,
) -> c_int {
    code(|| {
        let released_count = objects::release_cursors(&*txn_of(txn)?, unbind)?;
        // SAFETY: the caller's promise.
        unsafe { tell(count, released_count) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_release_all_cursors(txn: *const MDBX_txn, unbind: bool) -> c_int {
    code(|| objects::release_cursors(&*txn_of(txn)?, unbind).map(drop))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_env(txn: *const MDBX_txn) -> *mut MDBX_env {
    let env = guarded(0, || txn_of(txn).map_or(0, |txn| txn.env_handle));
    env as *mut MDBX_env
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_id(txn: *const MDBX_txn) -> u64 {
    guarded(0, || txn_of(txn).and_then(|txn| txn.id()).unwrap_or(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_flags(txn: *const MDBX_txn) -> c_int {
    let flags = guarded(Err(Fault::Panic), || {
        let txn = txn_of(txn)?;
        let state = txn.state()?;
        let begun_with = txn.begun_with.load(Ordering::Relaxed);
        let bits = [
            (!txn.is_write(), TXN_RDONLY),
            (state.is_reset, TXN_FINISHED),
            (state.has_failed, TXN_ERROR),
            (state.is_dirty, TXN_DIRTY),
            (state.has_spilled, TXN_SPILLS),
            (state.has_child, TXN_HAS_CHILD),
        ];
        Ok(bits.into_iter().filter(|(is, _)| *is).fold(begun_with, |all, (_, bit)| all | bit))
    });
    flags.unwrap_or(TXN_INVALID) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_set_userctx(txn: *mut MDBX_txn, context: *mut c_void) -> c_int {
    code(|| {
        txn_of(txn)?.context.store(context as usize, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_get_userctx(txn: *const MDBX_txn) -> *mut c_void {
    let context = guarded(0, || txn_of(txn).map_or(0, |txn| txn.context.load(Ordering::Acquire)));
    context as *mut c_void
}

/// # Safety
/// `canary` is null, or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_canary_put(txn: *mut MDBX_txn, canary: *const MDBX_canary) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let numbers = unsafe { canary.as_ref() }.map(|canary| [canary.x, canary.y, canary.z]);
        let txn = txn_of(txn)?;
        let mut writer = txn.writer()?;
        let engine = writer.changing(&txn.env)?;
        match numbers {
            Some(numbers) => engine.set_markers(numbers)?,
            None => engine.touch_markers(engine.markers().values)?,
        }
        Ok(())
    })
}

/// # Safety
/// `canary` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_canary_get(txn: *const MDBX_txn, canary: *mut MDBX_canary) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        let markers = in_txn!(txn.access()?.view()?, engine => engine.markers());
        let [x, y, z] = markers.values;
        // SAFETY: the caller's promise.
        unsafe { answer(canary, MDBX_canary { x, y, z, v: markers.txnid }) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_is_dirty(txn: *const MDBX_txn, at: *const c_void) -> c_int {
    verdict(|| {
        let at = NonNull::new(at.cast_mut().cast::<u8>()).ok_or(Fault::Invalid)?;
        // SAFETY: nothing is read of what has no bytes.
        let place = unsafe { std::slice::from_raw_parts(at.as_ptr(), 0) };
        let txn = txn_of(txn)?;
        match txn.access()?.view()? {
            View::Read(engine) if !engine.is_mapped(place) => Err(Fault::Invalid),
            View::Read(_) => Ok(false),
            View::Write(engine) => Ok(engine.is_dirty(place) || !engine.is_mapped(place)),
        }
    })
}
