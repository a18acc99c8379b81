//! Records by key.

use huon_c::data::{self, Shown};
use huon_c::flags::put::{APPEND, CURRENT, MULTIPLE, NOOVERWRITE, RESERVE};
use huon_c::objects::with_txn;
use huon_c::pointers::{slice, tell, told, value_of};
use huon_c::{Fault, Res, View};
use libc::{c_int, c_uint, c_void};

use super::{
    MDBX_dbi, MDBX_preserve_func, MDBX_txn, MDBX_val, bytes_of, code, show, txn_of, verdict,
};
use crate::codes;
use crate::replace::{self, Old};

/// # Safety
/// `key` is null, or as [`bytes_of`] needs it; `data` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_get(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *const MDBX_val,
    data: *mut MDBX_val,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        if data.is_null() {
            return Err(Fault::Invalid);
        }
        let found = with_txn(txn as usize, |txn| data::get(txn, dbi, key))?;
        // SAFETY: the caller's promise.
        unsafe { show(data, found) };
        Ok(())
    })
}

/// # Safety
/// As [`mdbx_get`], and `key` is good for writing; `count` is null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_get_ex(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
    count: *mut usize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let wanted = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        if data.is_null() {
            return Err(Fault::Invalid);
        }
        let found = data::first_from(&*txn_of(txn)?, dbi, wanted, None);
        let found =
            found.and_then(|found| if found.is_other { Err(Fault::NotFound) } else { Ok(found) });
        let count_of = found.as_ref().map_or(0, |found| found.count as usize);
        if matches!(found, Ok(_) | Err(Fault::NotFound)) {
            // SAFETY: the caller's promise.
            unsafe { tell(count, count_of) };
        }
        let found = found?;
        // SAFETY: the caller's promise.
        unsafe { show(key, found.key) };
        // SAFETY: the caller's promise.
        unsafe { show(data, found.value) };
        Ok(())
    })
}

/// # Safety
/// `key` and `data` are null, or as [`bytes_of`] needs them and good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_get_equal_or_great(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *mut MDBX_val,
    data: *mut MDBX_val,
) -> c_int {
    verdict(|| {
        // SAFETY: the caller's promise.
        let wanted = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        // SAFETY: the caller's promise.
        let txn = txn_of(txn)?;
        let many = txn.env.dbis().get(dbi, &txn)?.is_multi();
        let value = if data.is_null() {
            return Err(Fault::Invalid);
        } else if !many {
            None
        } else {
            // SAFETY: the caller's promise.
            unsafe { bytes_of(data) }?
        };
        let found = data::first_from(&txn, dbi, wanted, value)?;
        // SAFETY: the caller's promise.
        unsafe { show(key, found.key) };
        // SAFETY: the caller's promise.
        unsafe { show(data, found.value) };
        Ok(found.is_other)
    })
}

/// # Safety
/// As [`mdbx_get`], and `data` is as [`bytes_of`] needs it, unless its bytes are to come; with
/// several values at once it points to two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_put(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *const MDBX_val,
    data: *mut MDBX_val,
    flags: c_uint,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        if flags & MULTIPLE != 0 {
            let put = |values: &[u8], bytes| {
                with_txn(txn as usize, |txn| {
                    check_put(flags)?;
                    Ok(data::put_many(txn, dbi, key, values, bytes, flags))
                })
            };
            // SAFETY: the caller's promise.
            return unsafe { many(data, put) };
        }
        // SAFETY: the caller's promise.
        let value = unsafe { value_of(data, flags) }?;
        let outcome = with_txn(txn as usize, |txn| {
            check_put(flags)?;
            data::put(txn, dbi, key, value, flags)
        })?;
        // SAFETY: the caller's promise.
        unsafe { told(data, outcome) }
    })
}

/// Refuses flags that say different things. Without a cursor, that the transaction has ended comes
/// before it.
pub(super) fn check_put(flags: c_uint) -> Res<()> {
    let wrong = flags & CURRENT != 0 && flags & (NOOVERWRITE | APPEND) != 0
        || flags & MULTIPLE != 0 && flags & RESERVE != 0;
    if wrong { Err(Fault::Invalid) } else { Ok(()) }
}

/// Puts several values at once, and tells how many were put.
///
/// # Safety
/// `data` is null, or points to two values: the first says how long each one is and where they
/// begin, the second how many there are.
pub(super) unsafe fn many<'v>(
    data: *mut MDBX_val,
    put: impl FnOnce(&'v [u8], usize) -> Res<(usize, Res<()>)>,
) -> Res<()> {
    if data.is_null() {
        return Err(Fault::Invalid);
    }
    // SAFETY: the caller's promise.
    let (first, count) = unsafe { (*data, (*data.add(1)).iov_len) };
    let bytes = first.iov_len.checked_mul(count).filter(|bytes| *bytes <= isize::MAX as usize);
    // SAFETY: the caller's promise.
    let values = unsafe { slice(first.iov_base, bytes.ok_or(Fault::TooLarge)?) }?;
    let (done, result) = put(values, first.iov_len)?;
    // SAFETY: the caller's promise.
    unsafe { (*data.add(1)).iov_len = done };
    result
}

/// # Safety
/// Both are null, or as [`bytes_of`] needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_del(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *const MDBX_val,
    data: *const MDBX_val,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let (key, value) = unsafe { (bytes_of(key)?, bytes_of(data)?) };
        let key = key.ok_or(Fault::Invalid)?;
        with_txn(txn as usize, |txn| data::delete(txn, dbi, key, value))
    })
}

/// # Safety
/// As [`mdbx_put`] for `new`, which may be null; `old` is null, or a place for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_replace(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *const MDBX_val,
    new: *mut MDBX_val,
    old: *mut MDBX_val,
    flags: c_uint,
) -> c_int {
    let keep = Some(copied as unsafe extern "C" fn(_, _, _, _) -> _);
    // SAFETY: the caller's promise; the function does what it is for.
    unsafe { mdbx_replace_ex(txn, dbi, key, new, old, flags, keep, std::ptr::null_mut()) }
}

/// Refuses room for an old value that is none, or is that of the new one.
///
/// # Safety
/// As [`mdbx_replace`].
unsafe fn check_room(new: *const MDBX_val, old: *const MDBX_val, flags: c_uint) -> Res<()> {
    // SAFETY: the caller's promise.
    let (Some(room), source) = (unsafe { (old.as_ref(), new.as_ref()) }) else {
        return Err(Fault::Invalid);
    };
    let is_both = source.is_some_and(|new| new.iov_base == room.iov_base);
    let is_shared = std::ptr::eq(old, new) || is_both && !replace::is_by_value(flags);
    let is_nowhere = room.iov_base.is_null() && room.iov_len != 0;
    if is_shared || is_nowhere || new.is_null() && flags & RESERVE != 0 {
        Err(Fault::Invalid)
    } else {
        Ok(())
    }
}

/// Copies a value to where the caller wants it, if there is room.
///
/// # Safety
/// `target` is a place for a value, and `from` good for reading so many bytes.
unsafe extern "C" fn copied(
    _: *mut c_void,
    target: *mut MDBX_val,
    from: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let to = unsafe { &mut *target };
    let room = std::mem::replace(&mut to.iov_len, bytes);
    if room < bytes {
        to.iov_base = std::ptr::null_mut();
        return codes::RESULT_TRUE;
    }
    if bytes != 0 {
        // SAFETY: the caller's promise; they may be the same.
        unsafe { std::ptr::copy(from.cast::<u8>(), to.iov_base.cast::<u8>(), bytes) };
    }
    0
}

/// # Safety
/// As [`mdbx_replace`]; `preserver` may be called with `context`, with `old`, and bytes.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mdbx_replace_ex(
    txn: *mut MDBX_txn,
    dbi: MDBX_dbi,
    key: *const MDBX_val,
    new: *mut MDBX_val,
    old: *mut MDBX_val,
    flags: c_uint,
    preserver: MDBX_preserve_func,
    context: *mut c_void,
) -> c_int {
    let mut kept = 0;
    let result = code(|| {
        // SAFETY: the caller's promise.
        let wanted = unsafe { bytes_of(key) }?.ok_or(Fault::Invalid)?;
        let by_value = replace::is_by_value(flags);
        // SAFETY: the caller's promise.
        unsafe { check_room(new, old, flags) }?;
        // SAFETY: the caller's promise.
        let of = if by_value { unsafe { bytes_of(old) }? } else { None };
        let value = if new.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(unsafe { value_of(new, flags) }?)
        };
        let txn = txn_of(txn)?;
        let found = replace::find(&txn, dbi, wanted, of, value.is_some(), flags)?;
        match found.old() {
            Old::None => {
                let none = Shown { first: std::ptr::null(), bytes: 0 };
                // SAFETY: the caller's promise.
                unsafe { show(old, none) };
            }
            // It is the one that the caller has.
            Old::Known => {}
            Old::Kept(shown) => {
                // SAFETY: it was shown in this call, and nothing has changed since.
                let bytes = unsafe { slice(shown.first.cast(), shown.bytes) }?;
                let moves = match txn.access()?.view()? {
                    View::Write(engine) => engine.is_dirty(bytes),
                    View::Read(_) => return Err(Fault::ReadOnly),
                };
                if moves {
                    kept = match preserver {
                        // SAFETY: the caller's promise.
                        Some(keep) => unsafe {
                            keep(context, old, shown.first.cast(), shown.bytes)
                        },
                        None => 0,
                    };
                } else {
                    // SAFETY: the caller's promise.
                    unsafe { show(old, shown) }
                }
            }
            Old::Exists(shown) => {
                // SAFETY: the caller's promise.
                unsafe { show(old, shown) };
                return Err(Fault::Exists);
            }
        }
        if kept != 0 {
            return Ok(());
        }
        let outcome = found.finish(&txn, dbi, wanted, value, flags)?;
        // SAFETY: the caller's promise.
        if new.is_null() { Ok(()) } else { unsafe { told(new, outcome) } }
    });
    if kept != 0 { kept } else { result }
}
