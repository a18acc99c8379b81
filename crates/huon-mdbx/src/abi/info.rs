//! What environments and transactions say about themselves.

use std::mem::{offset_of, size_of};
use std::ptr;
use std::sync::Arc;

use huon_c::pointers::{answer, tell, text};
use huon_c::{Fault, Res, Txn, guarded};
use libc::{c_char, c_int, c_uint};

use super::{MDBX_env, MDBX_envinfo, MDBX_stat, MDBX_txn, MDBX_txn_info, code, env_of, txn_of};
use crate::env::Env;
use crate::flags::dbi::DUPSORT;
use crate::{codes, info, limits};

/// The sizes of `MDBX_stat` that programs may have been built with.
pub(super) const STAT_BYTES: [usize; 2] =
    [size_of::<MDBX_stat>(), offset_of!(MDBX_stat, ms_mod_txnid)];
/// Those of `MDBX_envinfo`: the header's, of older ones, and of libmdbx 0.12, 0.13 and 0.14.
const INFO_BYTES: [usize; 6] = [
    size_of::<MDBX_envinfo>(),
    offset_of!(MDBX_envinfo, mi_pgop_stat),
    offset_of!(MDBX_envinfo, mi_bootid),
    INFO_BYTES_12,
    INFO_BYTES_13,
    INFO_BYTES_14,
];
/// With four more counts of what was done with pages.
const INFO_BYTES_12: usize = size_of::<MDBX_envinfo>() + 32;
/// With the numbers of the metas before their signs, and an id of the file.
const INFO_BYTES_13: usize = INFO_BYTES_12 + 16;
/// With the file's length and blocks behind the map's and the kernel's page size.
const INFO_BYTES_14: usize = INFO_BYTES_13 + 24;

/// # Safety
/// `stat` is null, or good for writing so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_stat_ex(
    env: *const MDBX_env,
    txn: *const MDBX_txn,
    stat: *mut MDBX_stat,
    bytes: usize,
) -> c_int {
    code(|| {
        check_size(stat, bytes, &STAT_BYTES)?;
        let (env, txn) = asked(env, txn)?;
        let found = env.stat(txn.as_deref())?;
        // SAFETY: the caller's promise, and the size is one of those.
        unsafe { give(&found, stat, bytes) };
        Ok(())
    })
}

/// # Safety
/// As [`mdbx_env_stat_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_stat(
    env: *const MDBX_env,
    stat: *mut MDBX_stat,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_env_stat_ex(env, ptr::null(), stat, bytes) }
}

/// # Safety
/// `info` is null, or good for writing so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_info_ex(
    env: *const MDBX_env,
    txn: *const MDBX_txn,
    info: *mut MDBX_envinfo,
    bytes: usize,
) -> c_int {
    code(|| {
        check_size(info, bytes, &INFO_BYTES)?;
        let (env, txn) = asked(env, txn)?;
        let found = env.info(txn.as_deref())?;
        // SAFETY: the caller's promise, and the size is one of those.
        unsafe { give_info(&found, info, bytes) };
        Ok(())
    })
}

/// # Safety
/// As [`mdbx_env_info_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_info(
    env: *const MDBX_env,
    info: *mut MDBX_envinfo,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdbx_env_info_ex(env, ptr::null(), info, bytes) }
}

/// # Safety
/// `path` is null, or a text that ends with a zero byte; `info` as [`mdbx_env_info_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_preopen_snapinfo(
    path: *const c_char,
    info: *mut MDBX_envinfo,
    bytes: usize,
) -> c_int {
    code(|| {
        check_size(info, bytes, &INFO_BYTES)?;
        // SAFETY: the caller's promise.
        let found = info::of_file(unsafe { text(path) }?)?;
        // SAFETY: the caller's promise, and the size is one of those.
        unsafe { give_info(&found, info, bytes) };
        Ok(())
    })
}

/// # Safety
/// `info` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_info(
    txn: *const MDBX_txn,
    info: *mut MDBX_txn_info,
    scan: bool,
) -> c_int {
    code(|| {
        let txn = txn_of(txn)?;
        let found = env_of(txn.env_handle as *const MDBX_env)?.txn_info(&txn, scan)?;
        // SAFETY: the caller's promise.
        unsafe { answer(info, found) }
    })
}

/// # Safety
/// `percent` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_txn_straggler(txn: *const MDBX_txn, percent: *mut c_int) -> c_int {
    let lag = guarded(Err(Fault::Panic), || {
        let txn = txn_of(txn)?;
        let info = env_of(txn.env_handle as *const MDBX_env)?.txn_info(&txn, false)?;
        let full = info.txn_space_used.saturating_mul(100) / info.txn_space_limit_hard.max(1);
        // SAFETY: the caller's promise.
        unsafe { tell(percent, full as c_int) };
        Ok(c_int::try_from(info.txn_reader_lag).unwrap_or(c_int::MAX))
    });
    lag.unwrap_or_else(|fault| -codes::number(fault).abs())
}

/// What a call is about: an environment, a transaction, or both.
fn asked(env: *const MDBX_env, txn: *const MDBX_txn) -> Res<(Arc<Env>, Option<Arc<Txn>>)> {
    if txn.is_null() {
        return Ok((env_of(env)?, None));
    }
    let txn = txn_of(txn)?;
    if env.is_null() || env as usize == txn.env_handle {
        Ok((env_of(txn.env_handle as *const MDBX_env)?, Some(txn)))
    } else {
        Err(Fault::Invalid)
    }
}

pub(super) fn check_size<T>(to: *const T, bytes: usize, known: &[usize]) -> Res<()> {
    if !to.is_null() && known.contains(&bytes) { Ok(()) } else { Err(Fault::Invalid) }
}

/// Gives as much of an answer as the caller has room for.
///
/// # Safety
/// `to` is good for writing so many bytes, which are not more than a `T` has.
pub(super) unsafe fn give<T>(from: &T, to: *mut T, bytes: usize) {
    // SAFETY: the caller's promise; the structures have no gaps.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(from).cast::<u8>(), to.cast::<u8>(), bytes) };
}

/// Gives what is known of an environment to a caller that has room for so many bytes of it.
///
/// # Safety
/// `to` is good for writing so many bytes, which are one of [`INFO_BYTES`].
unsafe fn give_info(found: &MDBX_envinfo, to: *mut MDBX_envinfo, bytes: usize) {
    if bytes <= size_of::<MDBX_envinfo>() {
        // SAFETY: the caller's promise.
        return unsafe { give(found, to, bytes) };
    }
    let laid_out = info_of_later(found, bytes);
    debug_assert_eq!(laid_out.len(), bytes);
    // SAFETY: the caller's promise, and so many bytes were laid out.
    unsafe { ptr::copy_nonoverlapping(laid_out.as_ptr(), to.cast::<u8>(), bytes) };
}

/// What is known of an environment, as the version of libmdbx has it whose structure is so long.
/// Numbers that Huon does not have are 0.
fn info_of_later(found: &MDBX_envinfo, bytes: usize) -> Vec<u8> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let halves = |halves: &[u32]| halves.iter().flat_map(|half| half.to_ne_bytes()).collect();
    let (geo, ops, is_14) = (&found.mi_geo, &found.mi_pgop_stat, bytes == INFO_BYTES_14);
    let metas = &found.mi_meta_txnid_sign;
    let of_metas = |part: usize| metas.map(|meta| meta[part]);
    let boots = found.mi_bootid.map(|boot| [boot.x, boot.y]);
    let (lengths, blocks) = ([geo.current; 2], [found.mi_sys_pagesize; 2]);
    let parts: [Vec<u8>; 13] = [
        words(&[geo.lower, geo.upper, geo.current, geo.shrink, geo.grow, found.mi_mapsize]),
        words(if is_14 { &lengths } else { &[] }),
        words(&[found.mi_last_pgno, found.mi_recent_txnid]),
        words(&[found.mi_latter_reader_txnid, found.mi_self_latter_reader_txnid]),
        if bytes == INFO_BYTES_12 {
            words(metas.as_flattened())
        } else {
            words([of_metas(0), of_metas(1)].as_flattened())
        },
        halves(&[found.mi_maxreaders, found.mi_numreaders]),
        halves(&[found.mi_dxb_pagesize, found.mi_sys_pagesize]),
        halves(if is_14 { &blocks } else { &[] }),
        words(boots.as_flattened()),
        words(&[found.mi_unsync_volume, found.mi_autosync_threshold]),
        halves(&[
            found.mi_since_sync_seconds16dot16,
            found.mi_autosync_period_seconds16dot16,
            found.mi_since_reader_check_seconds16dot16,
            found.mi_mode,
        ]),
        words(&[ops.newly, ops.cow, ops.clone, ops.split, ops.merge, ops.spill, ops.unspill]),
        words(&[ops.wops, 0, 0, 0, 0]),
    ];
    let mut laid_out = parts.concat();
    // The id of the file, which Huon's have none of.
    laid_out.resize(bytes, 0);
    laid_out
}

/// What a limit is for the pages of an environment; -1 if there is no answer.
fn of_env(env: *const MDBX_env, answer: impl FnOnce(usize) -> usize) -> c_int {
    guarded(-1, || {
        let page_bytes = env_of(env).and_then(|env| env.page_bytes());
        page_bytes.map_or(-1, |bytes| c_int::try_from(answer(bytes)).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_maxkeysize_ex(env: *const MDBX_env, flags: c_uint) -> c_int {
    of_env(env, |bytes| limits::key_bytes_max(bytes, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_maxkeysize(env: *const MDBX_env) -> c_int {
    mdbx_env_get_maxkeysize_ex(env, DUPSORT)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_maxvalsize_ex(env: *const MDBX_env, flags: c_uint) -> c_int {
    of_env(env, |bytes| limits::value_bytes_max(bytes, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_pairsize4page_max(env: *const MDBX_env, flags: c_uint) -> c_int {
    of_env(env, |bytes| limits::pair_in_page_bytes_max(bytes, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_env_get_valsize4page_max(env: *const MDBX_env, flags: c_uint) -> c_int {
    of_env(env, |bytes| limits::value_in_page_bytes_max(bytes, flags))
}
