//! Environments.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use libc::{c_char, c_int, c_uint, c_void};

use super::{ENVS, MDB_env, MDB_envinfo, MDB_stat, code, env_of};
use crate::env::{Env, KEY_BYTES_MAX};
use huon_c::pointers::{answer, tell, text};
use huon_c::{Fault, Res, dbi, objects};

/// # Safety
/// `env` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_create(env: *mut *mut MDB_env) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe { answer(env, ptr::null_mut()) }?;
        let handle = ENVS.insert(Arc::new(Env::new())).ok_or(Fault::NoMemory)?;
        // SAFETY: as before.
        unsafe { answer(env, handle as *mut MDB_env) }
    })
}

/// # Safety
/// `path` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_open(
    env: *mut MDB_env,
    path: *const c_char,
    flags: c_uint,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| env_of(env)?.open(unsafe { text(path) }?, flags, mode))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_close(env: *mut MDB_env) {
    code(|| {
        let closing = ENVS.remove(env as usize).ok_or_else(|| objects::missing(env as usize))?;
        drop(closing.shared.close());
        Ok(())
    });
}

/// # Safety
/// As [`mdb_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copy(env: *mut MDB_env, path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdb_env_copy2(env, path, 0) }
}

/// # Safety
/// As [`mdb_env_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copy2(
    env: *mut MDB_env,
    path: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| env_of(env)?.copy(unsafe { text(path) }?, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_copyfd(env: *mut MDB_env, fd: c_int) -> c_int {
    mdb_env_copyfd2(env, fd, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_copyfd2(env: *mut MDB_env, fd: c_int, flags: c_uint) -> c_int {
    code(|| {
        // SAFETY: any number may be asked about.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            return Err(Fault::System(libc::EBADF));
        }
        // SAFETY: it is open, and stays so as long as the caller keeps to the interface.
        env_of(env)?.copy_to(unsafe { BorrowedFd::borrow_raw(fd) }, flags)
    })
}

/// # Safety
/// `stat` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_stat(env: *mut MDB_env, stat: *mut MDB_stat) -> c_int {
    code(|| {
        let env = env_of(env)?;
        let found = dbi::stat_of_main(&env.shared)?;
        // SAFETY: the caller's promise.
        unsafe { answer(stat, numbers(&env.shared, &found)?) }
    })
}

/// What is known of a table, as C has it.
pub(super) fn numbers(env: &huon_c::Env, stat: &huon::TableStat) -> Res<MDB_stat> {
    Ok(MDB_stat {
        ms_psize: env.huon()?.info()?.page_bytes,
        ms_depth: stat.depth.into(),
        ms_branch_pages: stat.branch_pages as usize,
        ms_leaf_pages: stat.leaf_pages as usize,
        ms_overflow_pages: stat.overflow_pages as usize,
        ms_entries: stat.entries as usize,
    })
}

/// # Safety
/// `info` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_info(env: *mut MDB_env, info: *mut MDB_envinfo) -> c_int {
    code(|| {
        let found = env_of(env)?.info()?;
        let told = MDB_envinfo {
            me_mapaddr: ptr::null_mut(),
            me_mapsize: found.map_bytes as usize,
            me_last_pgno: found.last_page as usize,
            me_last_txnid: found.last_txn as usize,
            me_maxreaders: found.readers_max,
            me_numreaders: found.readers,
        };
        // SAFETY: the caller's promise.
        unsafe { answer(info, told) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_sync(env: *mut MDB_env, force: c_int) -> c_int {
    code(|| env_of(env)?.sync(force != 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_flags(env: *mut MDB_env, flags: c_uint, on: c_int) -> c_int {
    code(|| env_of(env)?.set_flags(flags, on != 0))
}

/// # Safety
/// `flags` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_flags(env: *mut MDB_env, flags: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { answer(flags, env_of(env)?.flags()) })
}

/// # Safety
/// `path` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_path(env: *mut MDB_env, path: *mut *const c_char) -> c_int {
    code(|| {
        // The environment keeps the text until it is closed.
        let text = env_of(env)?.opened().map_or(ptr::null(), |opened| opened.path.as_ptr());
        // SAFETY: the caller's promise.
        unsafe { answer(path, text) }
    })
}

/// # Safety
/// `fd` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_fd(env: *mut MDB_env, fd: *mut c_int) -> c_int {
    code(|| {
        let data = env_of(env)?.opened().map_or(-1, |opened| opened.data.as_raw_fd());
        // SAFETY: the caller's promise.
        unsafe { answer(fd, data) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_mapsize(env: *mut MDB_env, bytes: usize) -> c_int {
    code(|| env_of(env)?.set_map_bytes(bytes as u64))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_maxreaders(env: *mut MDB_env, readers: c_uint) -> c_int {
    code(|| {
        let env = env_of(env)?;
        if env.opened().is_ok() || readers < 1 {
            return Err(Fault::Invalid);
        }
        env.shared.set_readers_max(readers);
        Ok(())
    })
}

/// # Safety
/// `readers` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_maxreaders(env: *mut MDB_env, readers: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { answer(readers, env_of(env)?.shared.readers_max()) })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_maxdbs(env: *mut MDB_env, dbs: c_uint) -> c_int {
    code(|| {
        let env = env_of(env)?;
        if env.opened().is_ok() {
            return Err(Fault::Invalid);
        }
        env.shared.dbis_mut().max = dbs;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_get_maxkeysize(_: *mut MDB_env) -> c_int {
    KEY_BYTES_MAX as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_userctx(env: *mut MDB_env, context: *mut c_void) -> c_int {
    code(|| {
        env_of(env)?.context.store(context, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_get_userctx(env: *mut MDB_env) -> *mut c_void {
    env_of(env).map_or(ptr::null_mut(), |env| env.context.load(Ordering::Acquire))
}

/// What a program has called when LMDB finds itself to be wrong.
pub type MDB_assert_func = extern "C" fn(env: *mut MDB_env, text: *const c_char);

/// Nothing here calls it: what is wrong is an error code.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_set_assert(env: *mut MDB_env, _: Option<MDB_assert_func>) -> c_int {
    code(|| env_of(env).map(drop))
}

/// What a program has called with each line about a reader.
pub type MDB_msg_func = unsafe extern "C" fn(line: *const c_char, context: *mut c_void) -> c_int;

/// # Safety
/// `each` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_list(
    env: *mut MDB_env,
    each: Option<MDB_msg_func>,
    context: *mut c_void,
) -> c_int {
    let Some(each) = each else { return -1 };
    let Ok(env) = env_of(env) else { return -1 };
    let mut last = 0;
    let failed = code(|| {
        for line in env.reader_lines()? {
            // SAFETY: the caller's promise; the text ends with a zero byte.
            last = unsafe { each(line.as_ptr(), context) };
            if last < 0 {
                break;
            }
        }
        Ok(())
    });
    // Less than 0 is a failure here, more is none.
    if failed != 0 { -failed.abs() } else { last }
}

/// # Safety
/// `dead` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_check(env: *mut MDB_env, dead: *mut c_int) -> c_int {
    code(|| {
        let env = env_of(env)?;
        // SAFETY: the caller's promise.
        unsafe { tell(dead, 0) };
        let freed = if env.opened().is_ok() { env.check_readers()? } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { tell(dead, freed as c_int) };
        Ok(())
    })
}
