//! Functions of the caller's that are called back.

use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use huon::{Append, Bytes, Change, Progress, SlowReader, SlowReaderAnswer};
use huon_lsm::Combined;

use crate::abi::codes;
use crate::border::{Fault, Res, wanted};
use crate::bytes::{huon_bytes, huon_pair};

/// How far something is that takes long.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_progress {
    /// Bytes dealt with so far.
    pub done_bytes: u64,
    /// Bytes there are to deal with; 0 where that is not known beforehand.
    pub total_bytes: u64,
}

/// Is told how far something is, about once a megabyte, in the thread that called. Ends it with
/// HUON_STOPPED unless it returns 0.
pub type huon_progress_fn =
    Option<extern "C" fn(context: *mut c_void, progress: *const huon_progress) -> c_int>;

/// Takes the next bytes of a copy, in the thread that called. Returns 0, or a number of errno.h,
/// which ends the copy with HUON_IO.
pub type huon_write_fn =
    Option<extern "C" fn(context: *mut c_void, data: *const c_void, len: usize) -> c_int>;

/// Hears what is wrong: a sentence, which stays until it returns.
pub type huon_problem_fn = Option<extern "C" fn(context: *mut c_void, text: *const c_char)>;

/// Gives the next record: returns 0 once it has set `*pair`, whose bytes stay until it is called
/// again, and are none that this transaction has shown; HUON_NOT_FOUND when there are no more;
/// anything else ends the call with HUON_STOPPED, and leaves the transaction to be aborted.
pub type huon_next_fn =
    Option<extern "C" fn(context: *mut c_void, pair: *mut huon_pair<'static>) -> c_int>;

/// Compares two keys, or two values: below 0, 0 or above 0, as the first is below, the same or
/// above. It must be a total order. It is called in any thread that uses the table, in the middle
/// of a call, and must not use the transaction.
pub type huon_compare_fn =
    Option<extern "C" fn(context: *mut c_void, a: huon_bytes<'_>, b: huon_bytes<'_>) -> c_int>;

/// Makes one value of what a key has and of what is merged onto it: returns 0 once it has set
/// `*value`, whose bytes stay until it is called again in this thread. It is called in any thread,
/// by reads, merges and commits, and must not use the transaction.
pub type huon_merge_fn = Option<
    extern "C" fn(
        context: *mut c_void,
        older: huon_bytes<'_>,
        newer: huon_bytes<'_>,
        value: *mut huon_bytes<'static>,
    ) -> c_int,
>;

/// Writes a value to the place where it is to lie, which has so many bytes.
pub type huon_fill_fn = Option<extern "C" fn(context: *mut c_void, place: *mut c_void, len: usize)>;

/// Says whether a record stays: 1, or 0 to have it removed. Anything else ends the call with
/// HUON_STOPPED, and all that is left stays. It sees records in order, and must not use the
/// transaction.
pub type huon_keep_fn = Option<
    extern "C" fn(context: *mut c_void, key: huon_bytes<'_>, value: huon_bytes<'_>) -> c_int,
>;

/// The value stays as it is.
pub const HUON_CHANGE_NONE: c_int = 0;
/// The key has the value that was set.
pub const HUON_CHANGE_SET: c_int = 1;
/// The key has no value any more.
pub const HUON_CHANGE_REMOVE: c_int = 2;

/// Says what becomes of the value of a key, which is `old`, or NULL if there is none: returns
/// HUON_CHANGE_NONE, HUON_CHANGE_REMOVE, or HUON_CHANGE_SET once it has set `*value`, whose bytes
/// stay until the call around it returns, and may be those of `old`. Anything else ends the call
/// with HUON_STOPPED, and changes nothing. It must not use the transaction: HUON_IN_USE.
pub type huon_change_fn = Option<
    extern "C" fn(
        context: *mut c_void,
        old: *const huon_bytes<'_>,
        value: *mut huon_bytes<'static>,
    ) -> c_int,
>;

/// Sees a value of the key of that index, among those that were asked for. Returns 0, or anything
/// else to end the call with HUON_STOPPED. It must not use the transaction: HUON_IN_USE. To look
/// for each value elsewhere, keep what is shown, which stays as ever, and look after the call.
pub type huon_value_fn =
    Option<extern "C" fn(context: *mut c_void, index: usize, value: huon_bytes<'_>) -> c_int>;

/// Is told, after each step of something that takes long, how many it has made, in the thread that
/// called. Ends it with HUON_STOPPED unless it returns 0.
pub type huon_step_fn = Option<extern "C" fn(context: *mut c_void, steps: u64) -> c_int>;

/// A reader that keeps pages from a writer that has no others left.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_slow_reader {
    /// Its process, for people only: containers count on their own.
    pub pid: u32,
    /// Its thread, for people only.
    pub thread: u32,
    /// The snapshot that it reads.
    pub txnid: u64,
    /// How many ids were used since.
    pub ids_behind: u64,
    /// Bytes that would be free without it.
    pub freed_bytes: u64,
    /// How often this was asked before, for the same want of pages.
    pub retries: u32,
    /// It is parked, and can be evicted.
    pub is_parked: bool,
    /// It is of this very environment in this process: to wait for it may be in vain.
    pub is_own: bool,
    /// The file can grow no more.
    pub is_full: bool,
}

/// Says what to do about a slow reader: one of HUON_SLOW_*. It is called in the thread that writes,
/// in the middle of a change. It may read, sleep and end transactions, and not write to the
/// environment.
pub type huon_slow_reader_fn =
    Option<extern "C" fn(context: *mut c_void, reader: *const huon_slow_reader) -> c_int>;

/// Something of the caller's that a callback gets, in whatever thread: an address, never followed.
#[derive(Clone, Copy)]
pub(crate) struct Context(usize);

impl Context {
    pub(crate) fn of(context: *mut c_void) -> Context {
        Context(context as usize)
    }

    pub(crate) fn get(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// A callback for progress.
pub(crate) fn progress(
    call: huon_progress_fn,
    context: Context,
) -> impl FnMut(&Progress) -> ControlFlow<()> {
    move |progress| {
        let Some(call) = call else { return ControlFlow::Continue(()) };
        let now =
            huon_progress { done_bytes: progress.done_bytes, total_bytes: progress.total_bytes };
        if call(context.get(), &now) == 0 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// A function that compares.
pub(crate) fn compare(call: huon_compare_fn, context: *mut c_void) -> Res<Arc<huon::Compare>> {
    let (call, context) = (wanted(call)?, Context::of(context));
    Ok(Arc::new(move |a: &[u8], b: &[u8]| -> Ordering {
        let compared =
            huon_c::comparing(|| call(context.get(), huon_bytes::of(a), huon_bytes::of(b)));
        compared.cmp(&0)
    }))
}

/// What a definition of a write-optimised table wants of a function that merges.
pub(crate) trait Merge:
    Fn(&[u8], &[u8], &mut Combined<Bytes>) -> huon::Result<()> + Send + Sync + 'static
{
}

impl<F> Merge for F where
    F: Fn(&[u8], &[u8], &mut Combined<Bytes>) -> huon::Result<()> + Send + Sync + 'static
{
}

/// A function that merges.
pub(crate) fn merge(call: huon_merge_fn, context: *mut c_void) -> Res<impl Merge> {
    let (call, context) = (wanted(call)?, Context::of(context));
    Ok(move |older: &[u8], newer: &[u8], into: &mut Combined<Bytes>| {
        let mut value = huon_bytes::of(&[]);
        let (older, newer) = (huon_bytes::of(older), huon_bytes::of(newer));
        match (call(context.get(), older, newer, &mut value), value.get()) {
            (0, Ok(value)) => into.set(value),
            _ => Err(huon::Error::Invalid("the function that merges has refused")),
        }
    })
}

/// A callback about slow readers.
pub(crate) fn slow_reader(
    call: extern "C" fn(*mut c_void, *const huon_slow_reader) -> c_int,
    context: Context,
) -> impl Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync + 'static {
    move |slow| {
        let shown = huon_slow_reader {
            pid: slow.reader.pid,
            thread: slow.reader.thread,
            txnid: slow.reader.txnid,
            ids_behind: slow.reader.ids_behind,
            freed_bytes: slow.reader.freed_bytes,
            retries: slow.retries,
            is_parked: slow.reader.parked,
            is_own: slow.own,
            is_full: slow.full,
        };
        match call(context.get(), &shown) {
            codes::HUON_SLOW_RETRY => SlowReaderAnswer::Retry,
            codes::HUON_SLOW_EVICT => SlowReaderAnswer::Evict,
            _ => SlowReaderAnswer::GiveUp,
        }
    }
}

/// A writer whose bytes the caller takes.
pub(crate) struct Writer {
    pub(crate) call: extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    pub(crate) context: Context,
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (self.call)(self.context.get(), bytes.as_ptr().cast(), bytes.len()) {
            0 => Ok(bytes.len()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A function that gives records, and why they could not all be had.
pub(crate) struct Feed {
    call: extern "C" fn(*mut c_void, *mut huon_pair<'static>) -> c_int,
    context: *mut c_void,
    pub(crate) fed: Res<()>,
}

impl Feed {
    pub(crate) fn new(call: huon_next_fn, context: *mut c_void) -> Res<Feed> {
        Ok(Feed { call: wanted(call)?, context, fed: Ok(()) })
    }

    /// Hands all of them on, one after another.
    pub(crate) fn all(&mut self, append: &mut Append<'_, Bytes, Bytes>) -> huon::Result<()> {
        self.fed = self.each(append);
        if self.fed.is_ok() { Ok(()) } else { Err(huon::Error::Invalid("stopped")) }
    }

    fn each(&self, append: &mut Append<'_, Bytes, Bytes>) -> Res<()> {
        loop {
            let mut pair = huon_pair::of(&[], &[]);
            match (self.call)(self.context, &mut pair) {
                codes::HUON_OK => {
                    let (key, value) = pair.get()?;
                    append(key, value)?;
                }
                codes::HUON_NOT_FOUND => return Ok(()),
                _ => return Err(STOPPED),
            }
        }
    }
}

/// A function that says what stays.
pub(crate) struct Keep {
    call: extern "C" fn(*mut c_void, huon_bytes<'_>, huon_bytes<'_>) -> c_int,
    context: *mut c_void,
    pub(crate) has_stopped: bool,
}

impl Keep {
    pub(crate) fn new(
        call: extern "C" fn(*mut c_void, huon_bytes<'_>, huon_bytes<'_>) -> c_int,
        context: *mut c_void,
    ) -> Keep {
        Keep { call, context, has_stopped: false }
    }

    /// Whether a record stays; after a stop all do.
    pub(crate) fn asks(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.has_stopped {
            return true;
        }
        let answer = (self.call)(self.context, huon_bytes::of(key), huon_bytes::of(value));
        self.has_stopped = !matches!(answer, 0 | 1);
        answer != 0
    }
}

/// A function that says what becomes of a value, and why that could not be done.
pub(crate) struct Changes {
    call: extern "C" fn(*mut c_void, *const huon_bytes<'_>, *mut huon_bytes<'static>) -> c_int,
    context: *mut c_void,
    pub(crate) refused: Res<()>,
}

impl Changes {
    pub(crate) fn new(call: huon_change_fn, context: *mut c_void) -> Res<Changes> {
        Ok(Changes { call: wanted(call)?, context, refused: Ok(()) })
    }

    /// Asks what becomes of a value; an error leaves it as it is.
    pub(crate) fn ask(&mut self, old: Option<&[u8]>, to: &mut Change<Bytes>) -> huon::Result<()> {
        let old = old.map(huon_bytes::of);
        let shown = old.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut value = huon_bytes::of(&[]);
        let fault = match ((self.call)(self.context, shown, &mut value), value.get()) {
            (HUON_CHANGE_NONE, _) => return Ok(()),
            (HUON_CHANGE_SET, Ok(value)) => return to.set(value),
            (HUON_CHANGE_REMOVE, _) => return to.remove(),
            (HUON_CHANGE_SET, Err(fault)) => fault,
            _ => STOPPED,
        };
        self.refused = Err(fault);
        Err(huon::Error::Invalid("stopped"))
    }
}

/// A function that is told of steps, and whether it has asked to stop.
pub(crate) struct Steps {
    call: huon_step_fn,
    context: *mut c_void,
    pub(crate) count: u64,
    pub(crate) has_stopped: bool,
}

impl Steps {
    pub(crate) fn new(call: huon_step_fn, context: *mut c_void) -> Steps {
        Steps { call, context, count: 0, has_stopped: false }
    }

    /// So many steps were made.
    pub(crate) fn tell(&mut self, count: u64) -> ControlFlow<()> {
        self.count = count;
        self.has_stopped = self.call.is_some_and(|call| call(self.context, count) != 0);
        if self.has_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

pub(crate) const STOPPED: Fault =
    Fault::Misuse(codes::HUON_STOPPED, "a callback of the caller's asked to stop");
