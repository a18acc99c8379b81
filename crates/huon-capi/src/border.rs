//! The border: each function of the interface does its work behind [`border`], and each object that
//! one thread uses at a time is an [`Own`].

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use huon::{BiasedGuard, BiasedLock, Error, fork_generation, is_inherited};
use huon_c::Handles;

use crate::abi::codes;
use crate::abi::error;

/// Why a call did not do what was asked.
pub(crate) enum Fault {
    /// An answer that is no error: it has a code, and no message.
    Answer(c_int),
    /// A wrong call.
    Misuse(c_int, &'static str),
    /// An error of the engine's.
    Engine(Error),
}

pub(crate) type Res<T> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Engine(error)
    }
}

impl Fault {
    pub(crate) const NOT_FOUND: Fault = Fault::Answer(codes::HUON_NOT_FOUND);
    pub(crate) const EXISTS: Fault = Fault::Answer(codes::HUON_EXISTS);
    pub(crate) const NULL: Fault =
        Fault::Misuse(codes::HUON_BAD_ARGUMENT, "a pointer is null that must not be");
    pub(crate) const HANDLE: Fault = Fault::Misuse(
        codes::HUON_BAD_HANDLE,
        "the handle was closed, or never was one of its kind: keep none that was given back",
    );
    pub(crate) const IN_USE: Fault = Fault::Misuse(
        codes::HUON_IN_USE,
        "another call uses the handle at this moment, of another thread or around a callback: \
         let that one end first",
    );
    pub(crate) const TOO_MANY: Fault =
        Fault::Misuse(codes::HUON_TOO_MANY, "there are too many handles open: close some");
    pub(crate) const PANIC: Fault = Fault::Misuse(
        codes::HUON_PANIC,
        "a bug in Huon was stopped at its border; its text is on the standard error",
    );

    /// An argument that makes no sense.
    pub(crate) const fn argument(what: &'static str) -> Fault {
        Fault::Misuse(codes::HUON_BAD_ARGUMENT, what)
    }
}

/// Does the work of a function of that name, and answers with a code. What else there is to say is
/// kept for the calling thread.
#[inline]
pub(crate) fn border(name: &'static str, work: impl FnOnce() -> Res<()>) -> c_int {
    match huon_c::guarded(Err(Fault::PANIC), work) {
        Ok(()) => codes::HUON_OK,
        Err(Fault::Answer(code)) => code,
        Err(fault) => error::keep(name, fault),
    }
}

/// The answer where something may not be there.
#[inline]
pub(crate) fn found<T>(found: Option<T>) -> Res<T> {
    found.ok_or(Fault::NOT_FOUND)
}

/// The answer where something was, or was not, done.
pub(crate) fn done(is_done: bool, else_: Fault) -> Res<()> {
    if is_done { Ok(()) } else { Err(else_) }
}

/// What must be there.
#[inline]
pub(crate) fn wanted<T>(pointer: Option<T>) -> Res<T> {
    pointer.ok_or(Fault::NULL)
}

/// Gives an answer to a caller that may not want it.
pub(crate) fn give<T>(to: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(to) = to {
        to.write(value);
    }
}

/// Gives an answer that must be wanted; until there is one, it is `blank`.
pub(crate) fn fill<T: Copy>(
    to: Option<&mut MaybeUninit<T>>,
    blank: T,
    make: impl FnOnce() -> Res<T>,
) -> Res<()> {
    let to = wanted(to)?;
    to.write(blank);
    to.write(make()?);
    Ok(())
}

/// Enters an object that is made now, and gives out its handle; null if nothing comes of that.
pub(crate) fn enter<T, H>(
    all: &'static Handles<T>,
    to: Option<&mut MaybeUninit<*mut H>>,
    make: impl FnOnce() -> Res<T>,
) -> Res<()> {
    fill(to, std::ptr::null_mut(), || Ok(insert(all, make()?)? as *mut H))
}

/// Enters an object, and returns its handle.
pub(crate) fn insert<T>(all: &'static Handles<T>, object: T) -> Res<usize> {
    all.insert(Arc::new(object)).ok_or(Fault::TOO_MANY)
}

/// The object of a handle.
pub(crate) fn object<T, H>(all: &'static Handles<T>, handle: *mut H) -> Res<Arc<T>> {
    all.get(handle as usize).ok_or(Fault::HANDLE)
}

/// Takes a handle back; null is none, and fine.
pub(crate) fn close<T, H>(all: &'static Handles<T>, handle: *mut H) -> Res<Option<Arc<T>>> {
    if handle.is_null() {
        Ok(None)
    } else {
        all.remove(handle as usize).map(Some).ok_or(Fault::HANDLE)
    }
}

/// An object that one thread at a time uses, and one process: a forked child may find that of its
/// parent half changed, and leaves it alone.
pub(crate) struct Own<T> {
    generation: AtomicU32,
    /// A call waits for the end of another one's.
    waits: bool,
    value: BiasedLock<T>,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Own<T> {
        let generation = AtomicU32::new(fork_generation());
        Own { generation, waits: false, value: BiasedLock::new(value) }
    }

    /// One whose calls wait for each other.
    pub(crate) fn waiting(value: T) -> Own<T> {
        Own { waits: true, ..Own::new(value) }
    }

    /// The object, if no other call uses it.
    #[inline]
    pub(crate) fn get(&self) -> Res<BiasedGuard<'_, T>> {
        if self.is_inherited() {
            return Err(Fault::Engine(Error::Forked));
        }
        match self.value.try_lock() {
            Some(locked) => Ok(locked),
            None => self.wait(),
        }
    }

    #[cold]
    fn wait(&self) -> Res<BiasedGuard<'_, T>> {
        if !self.waits {
            return Err(Fault::IN_USE);
        }
        huon_c::lock(&self.value).map_err(|_| Fault::IN_USE)
    }

    /// Whether its calls wait for each other.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Whether it is of the process that this one was forked from.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        is_inherited(self.generation.load(Ordering::Relaxed))
    }

    /// Drops one whose handle is gone; one of the parent's is left where it lies.
    pub(crate) fn end(closed: Option<Arc<Own<T>>>) {
        if let Some(own) = closed
            && own.is_inherited()
        {
            std::mem::forget(own);
        }
    }
}
