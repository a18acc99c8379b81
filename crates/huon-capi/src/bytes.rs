//! What C points to.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::border::{Fault, Res, wanted};

/// Bytes: where they are, and how many. Keys and values may be empty; `data` may be NULL then.
///
/// Those that you give are read before the call returns. Those that you are given lie in the
/// snapshot of a transaction. They stay as they are until a read transaction ends, is reset,
/// renewed or parked. In a write transaction they stay until it ends or the next call that changes
/// something in it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_bytes<'a> {
    /// The first of them.
    data: *const c_void,
    /// How many they are.
    len: usize,
    /// C promises that they stay so long (A2).
    stay: PhantomData<&'a [u8]>,
}

/// A key and a value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_pair<'a> {
    /// The key.
    pub key: huon_bytes<'a>,
    /// The value.
    pub value: huon_bytes<'a>,
}

impl<'a> huon_bytes<'a> {
    /// These.
    pub fn of(bytes: &'a [u8]) -> huon_bytes<'a> {
        huon_bytes { data: bytes.as_ptr().cast(), len: bytes.len(), stay: PhantomData }
    }

    #[inline]
    pub(crate) fn get(self) -> Res<&'a [u8]> {
        // SAFETY: A2; who makes one in Rust has such bytes.
        unsafe { huon_c::pointers::slice(self.data, self.len) }
            .map_err(|_| Fault::argument("the bytes lie nowhere, or are more than memory has"))
    }
}

impl<'a> huon_pair<'a> {
    /// These.
    pub fn of(key: &'a [u8], value: &'a [u8]) -> huon_pair<'a> {
        huon_pair { key: huon_bytes::of(key), value: huon_bytes::of(value) }
    }

    pub(crate) fn get(self) -> Res<(&'a [u8], &'a [u8])> {
        Ok((self.key.get()?, self.value.get()?))
    }
}

/// The bytes of a text, without the zero that it ends with; none for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_str(text: *const c_char) -> huon_bytes<'static> {
    // SAFETY: A2.
    let text = unsafe { text.as_ref() }.map(|first| unsafe { CStr::from_ptr(first) });
    huon_bytes::of(text.map_or(&[], CStr::to_bytes))
}

/// What a pointer for an answer leads to.
pub(crate) type Out<'o, T> = Option<&'o mut MaybeUninit<T>>;

/// Bytes for C, which knows how long they stay. Rust reads no more of it.
#[inline]
pub(crate) fn shown(bytes: &[u8]) -> MaybeUninit<huon_bytes<'static>> {
    MaybeUninit::new(huon_bytes {
        data: bytes.as_ptr().cast(),
        len: bytes.len(),
        stay: PhantomData,
    })
}

/// No bytes: what is looked for is not there.
pub(crate) fn nothing() -> MaybeUninit<huon_bytes<'static>> {
    MaybeUninit::new(huon_bytes { data: std::ptr::null(), len: 0, stay: PhantomData })
}

/// As [`shown`].
#[inline]
pub(crate) fn shown_pair((key, value): (&[u8], &[u8])) -> MaybeUninit<huon_pair<'static>> {
    let bytes = |bytes: &[u8]| huon_bytes {
        data: bytes.as_ptr().cast(),
        len: bytes.len(),
        stay: PhantomData,
    };
    MaybeUninit::new(huon_pair { key: bytes(key), value: bytes(value) })
}

/// Copies bytes into room of their length.
pub(crate) fn copy(room: &mut [MaybeUninit<u8>], bytes: &[u8]) {
    room.iter_mut().zip(bytes).for_each(|(to, &byte)| {
        to.write(byte);
    });
}

/// The items of an array.
///
/// # Safety
/// `first` is null, or the first of so many.
pub(crate) unsafe fn items<'a, T>(first: *const T, count: usize) -> Res<&'a [T]> {
    check_count::<T>(first, count)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's promise, and the count is one that a slice may have.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Room for the items of an array.
///
/// # Safety
/// `first` is null, or the first of so many that nothing else uses.
pub(crate) unsafe fn room<'a, T>(first: *mut T, count: usize) -> Res<&'a mut [MaybeUninit<T>]> {
    check_count::<T>(first, count)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as above; that nothing was written there is allowed.
    Ok(unsafe { std::slice::from_raw_parts_mut(first.cast(), count) })
}

fn check_count<T>(first: *const T, count: usize) -> Res<()> {
    let is_sound = count.checked_mul(size_of::<T>()).is_some_and(|n| n <= isize::MAX as usize);
    match (first.is_null(), count) {
        (_, 0) => Ok(()),
        (true, _) => Err(Fault::NULL),
        (false, _) if !is_sound => Err(Fault::argument("no array has so many items")),
        (false, _) => Ok(()),
    }
}

/// A path.
///
/// # Safety
/// `path` is null, or a text that ends with a zero byte.
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Res<&'a Path> {
    // SAFETY: the caller's promise.
    let text = unsafe { path.as_ref() }.map(|first| unsafe { CStr::from_ptr(first) });
    Ok(Path::new(OsStr::from_bytes(wanted(text)?.to_bytes())))
}

/// Copies a report to a caller that may have been built when it had fewer fields, or more, which
/// are zero then: `bytes` is how long its own is.
///
/// # Safety
/// `to` is null, or good for writing so many bytes.
pub(crate) unsafe fn report<T: Copy>(to: *mut T, bytes: usize, value: T) -> Res<()> {
    if to.is_null() {
        return Err(Fault::NULL);
    }
    let (to, known) = (to.cast::<u8>(), bytes.min(size_of::<T>()));
    // SAFETY: the caller's promise; the value has at least as many as are known.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to, known);
        to.add(known).write_bytes(0, bytes - known);
    }
    Ok(())
}

/// Options that a caller gives, which may have been built when there were fewer: the others are
/// zero. `None`: it gives none.
///
/// # Safety
/// `from` is null, or begins with a `size_t` that says how many bytes of options lie there, and all
/// zero is a value of `T`.
pub(crate) unsafe fn options<T: Copy>(from: *const T) -> Res<Option<T>> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { from.cast::<usize>().read() };
    if bytes < size_of::<usize>() || bytes > 4096 {
        return Err(Fault::argument("the options do not say how long they are: set `bytes`"));
    }
    let mut options = MaybeUninit::<T>::zeroed();
    let bytes = bytes.min(size_of::<T>());
    // SAFETY: the caller's promise, and there is room for so many; the rest is zero.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), options.as_mut_ptr().cast(), bytes);
        Ok(Some(options.assume_init()))
    }
}
