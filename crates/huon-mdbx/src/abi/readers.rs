//! Readers of all processes, and the callback for slow ones.

use std::ptr;
use std::sync::Arc;

use huon::SlowReader;
use huon_c::pointers::tell;
use huon_c::{Fault, guarded};
use libc::{c_int, c_uint, c_void};

use super::{MDBX_env, MDBX_hsr_func, MDBX_reader_list_func, MDBX_txn, code, env_of, verdict};
use crate::codes;
use crate::flags::env::NOTLS;
use crate::slow::Asked;

/// # Safety
/// `each` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_reader_list(
    env: *const MDBX_env,
    each: MDBX_reader_list_func,
    context: *mut c_void,
) -> c_int {
    let mut last = codes::RESULT_TRUE;
    let failed = code(|| {
        let env = env_of(env)?;
        let each = each.ok_or(Fault::Invalid)?;
        let used_bytes = env.huon()?.info()?.used_bytes;
        for (at, (reader, kept_bytes)) in (0..).zip(env.readers()?) {
            let (pid, thread) = (reader.pid as libc::pid_t, reader.thread.into());
            let [used, kept] = [used_bytes, kept_bytes].map(|bytes| bytes as usize);
            // SAFETY: the caller's promise.
            last = unsafe {
                each(context, at + 1, at, pid, thread, reader.txnid, reader.ids_behind, used, kept)
            };
            if last != 0 {
                break;
            }
        }
        Ok(())
    });
    if failed != 0 { failed } else { last }
}

/// # Safety
/// `dead` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_reader_check(env: *mut MDBX_env, dead: *mut c_int) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { tell(dead, 0) };
        let freed = env_of(env)?.huon()?.clear_dead_readers()?;
        // SAFETY: the caller's promise.
        unsafe { tell(dead, freed as c_int) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_thread_register(env: *const MDBX_env) -> c_int {
    verdict(|| {
        let inside = env_of(env)?;
        inside.check_opened()?;
        if inside.flags() & NOTLS != 0 {
            return Err(Fault::Invalid);
        }
        if inside.shared.writer() == huon_c::me() {
            return Err(Fault::Overlap);
        }
        Ok(!huon_c::register(env as usize))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_thread_unregister(env: *const MDBX_env) -> c_int {
    verdict(|| {
        env_of(env)?.check_opened()?;
        Ok(!huon_c::unregister(env as usize)?)
    })
}

/// # Safety
/// `callback` may be called from any thread that writes, until the environment is closed or has
/// another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_set_hsr(env: *mut MDBX_env, callback: MDBX_hsr_func) -> c_int {
    code(|| {
        let inside = env_of(env)?;
        let Some(function) = callback else { return inside.set_slow_reader(None) };
        let handle = env as usize;
        let ask = move |slow: Option<&SlowReader>| {
            let env = handle as *const MDBX_env;
            let txn = env_of(env).map_or(0, |env| env.shared.write_txn()) as *const MDBX_txn;
            let Some(slow) = slow else {
                // SAFETY: the caller's promise.
                return unsafe { function(env, txn, 0, 0, 0, 0, 0, -1) };
            };
            let (reader, retry) = (&slow.reader, slow.retries as c_int);
            let (pid, thread) = (reader.pid as libc::pid_t, reader.thread.into());
            let gap = c_uint::try_from(reader.ids_behind).unwrap_or(c_uint::MAX);
            let space = reader.freed_bytes as usize;
            // SAFETY: the caller's promise.
            unsafe { function(env, txn, pid, thread, reader.txnid, gap, space, retry) }
        };
        let asked = Asked::new(function as usize, Box::new(ask));
        inside.set_slow_reader(Some(Arc::new(asked)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_hsr(env: *const MDBX_env) -> MDBX_hsr_func {
    let address = guarded(0, || {
        env_of(env).ok().and_then(|env| env.slow_reader()).map_or(0, |asked| asked.address)
    });
    let address = ptr::without_provenance::<c_void>(address);
    // SAFETY: it is null, or was made of such a function.
    unsafe { std::mem::transmute::<*const c_void, MDBX_hsr_func>(address) }
}
