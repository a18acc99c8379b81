//! Environments: how they are opened, closed and set.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use huon_c::pointers::{answer, text};
use huon_c::{Fault, Res, guarded, objects};
use libc::{c_char, c_int, c_uint, c_void, intptr_t};

use super::{ENVS, MDBX_assert_func, MDBX_dbi, MDBX_env, MDBX_txn, code, env_of, txn_of, verdict};
use crate::env::Env;
use crate::files;
use crate::flags::option::*;
use crate::geometry::Wanted;

/// # Safety
/// `env` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_create(env: *mut *mut MDBX_env) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(env, ptr::null_mut()) }?;
        let handle = ENVS.insert(Arc::new(Env::new())).ok_or(Fault::NoMemory)?;
        // SAFETY: as before.
        unsafe { answer(env, handle as *mut MDBX_env) }
    })
}

/// # Safety
/// `path` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_open(
    env: *mut MDBX_env,
    path: *const c_char,
    flags: c_uint,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| env_of(env)?.open(unsafe { text(path) }?, flags, mode))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_close_ex(env: *mut MDBX_env, dont_sync: bool) -> c_int {
    code(|| {
        env_of(env)?.check_closable()?;
        let closing = ENVS.remove(env as usize).ok_or_else(|| objects::missing(env as usize))?;
        closing.close(dont_sync)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_close(env: *mut MDBX_env) -> c_int {
    mdbx_env_close_ex(env, false)
}

/// # Safety
/// As [`mdbx_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_delete(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    verdict(|| files::delete(unsafe { text(path) }?, mode))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_set_option(env: *mut MDBX_env, option: c_uint, value: u64) -> c_int {
    code(|| env_of(env)?.set_option(option, value))
}

/// # Safety
/// `value` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_get_option(
    env: *const MDBX_env,
    option: c_uint,
    value: *mut u64,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { answer(value, env_of(env)?.option(option)?) })
}

/// Functions of old for single options, with the type that each has there.
macro_rules! options {
    ($($set:ident, $get:ident: $option:ident as $type:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $set(env: *mut MDBX_env, value: $type) -> c_int {
            code(|| env_of(env)?.set_option($option, value as u64))
        }

        /// # Safety
        /// `value` is null, or good for writing.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(env: *const MDBX_env, value: *mut $type) -> c_int {
            // SAFETY: the caller's promise.
            code(|| unsafe { answer(value, env_of(env)?.option($option)? as $type) })
        }
    )*};
}

options! {
    mdbx_env_set_maxdbs, mdbx_env_get_maxdbs: OPT_MAX_DB as MDBX_dbi;
    mdbx_env_set_maxreaders, mdbx_env_get_maxreaders: OPT_MAX_READERS as c_uint;
    mdbx_env_set_syncbytes, mdbx_env_get_syncbytes: OPT_SYNC_BYTES as usize;
    mdbx_env_set_syncperiod, mdbx_env_get_syncperiod: OPT_SYNC_PERIOD as c_uint;
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_set_flags(env: *mut MDBX_env, flags: c_uint, on: bool) -> c_int {
    code(|| env_of(env)?.set_flags(flags, on))
}

/// # Safety
/// `flags` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_get_flags(env: *const MDBX_env, flags: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { answer(flags, env_of(env)?.flags()) })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_sync_ex(env: *mut MDBX_env, force: bool, _nonblock: bool) -> c_int {
    // No writer is waited for.
    verdict(|| env_of(env)?.sync(force))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_sync(env: *mut MDBX_env) -> c_int {
    mdbx_env_sync_ex(env, true, false)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_sync_poll(env: *mut MDBX_env) -> c_int {
    mdbx_env_sync_ex(env, false, true)
}

/// # Safety
/// As [`mdbx_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_copy(
    env: *mut MDBX_env,
    path: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| env_of(env)?.copy(unsafe { text(path) }?, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_copy2fd(env: *mut MDBX_env, fd: c_int, flags: c_uint) -> c_int {
    code(|| env_of(env)?.copy_to(descriptor(fd)?, flags))
}

/// # Safety
/// As [`mdbx_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_copy2pathname(
    txn: *mut MDBX_txn,
    path: *const c_char,
    flags: c_uint,
) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        // SAFETY: the caller's promise.
        env_of(txn.env_handle as *const _)?.copy_of(&txn, unsafe { text(path) }?, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_txn_copy2fd(txn: *mut MDBX_txn, fd: c_int, flags: c_uint) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        env_of(txn.env_handle as *const _)?.copy_of_to(&txn, descriptor(fd)?, flags)
    })
}

/// A descriptor of the caller's, which must be open.
fn descriptor<'f>(fd: c_int) -> Res<BorrowedFd<'f>> {
    // SAFETY: any number may be asked about.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(Fault::System(libc::EBADF));
    }
    // SAFETY: it is open, and stays so as long as the caller keeps to the interface.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// # Safety
/// As [`mdbx_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_open_for_recovery(
    env: *mut MDBX_env,
    path: *const c_char,
    meta: c_uint,
    writable: bool,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| env_of(env)?.open_for_recovery(unsafe { text(path) }?, meta, writable))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_turn_for_recovery(env: *mut MDBX_env, meta: c_uint) -> c_int {
    code(|| env_of(env)?.turn_for_recovery(meta))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_set_geometry(
    env: *mut MDBX_env,
    lower: intptr_t,
    now: intptr_t,
    upper: intptr_t,
    grow: intptr_t,
    shrink: intptr_t,
    page: intptr_t,
) -> c_int {
    code(|| env_of(env)?.set_geometry(Wanted { lower, now, upper, grow, shrink, page }))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_set_mapsize(env: *mut MDBX_env, size: usize) -> c_int {
    let size = size as intptr_t;
    mdbx_env_set_geometry(env, size, size, size, -1, -1, -1)
}

/// # Safety
/// `path` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_get_path(
    env: *const MDBX_env,
    path: *mut *const c_char,
) -> c_int {
    code(|| {
        // The environment keeps the text until it is closed.
        let text = env_of(env)?.opened()?.path.as_ptr();
        // SAFETY: the caller's promise.
        unsafe { answer(path, text) }
    })
}

/// # Safety
/// `fd` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_get_fd(env: *const MDBX_env, fd: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { answer(fd, env_of(env)?.opened()?.data.as_raw_fd()) })
}

/// # Safety
/// `function` may be called with this environment and texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_set_assert(
    env: *mut MDBX_env,
    function: MDBX_assert_func,
) -> c_int {
    code(|| {
        *env_of(env)?.assert.lock() = function;
        Ok(())
    })
}

/// What [`mdbx_env_set_assert`] was given.
pub(super) fn assert_function(env: *const MDBX_env) -> MDBX_assert_func {
    env_of(env).ok().and_then(|env| env.assert.copied())
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_set_userctx(env: *mut MDBX_env, context: *mut c_void) -> c_int {
    code(|| {
        env_of(env)?.context.store(context, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_userctx(env: *const MDBX_env) -> *mut c_void {
    let context = || env_of(env).map_or(0, |env| env.context.load(Ordering::Acquire) as usize);
    guarded(0, context) as *mut c_void
}
