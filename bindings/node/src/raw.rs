//! Bare N-API: functions that take and return numbers, over memory that JavaScript shares; and the
//! bell by which other threads wake Node's loop. All that is unsafe is here.
//!
//! R1. A `Span` is the memory of an array that a reference keeps. JavaScript does not run while a
//!     function of ours does, and no other thread sees that memory: so a slice of it is ours alone
//!     until the function returns. Programs get views of the output. A message of theirs cannot
//!     take its memory away (it is marked so), but `ArrayBuffer.prototype.transfer` can: JavaScript
//!     looks before each call that fills the output, and shares another one. No program gets a view
//!     of the rest.
//! R2. Input and output are two arrays, so their slices do not overlap.
//! R3. `env` and `info` are those of the callback that runs, and values are of its scope.
//! R4. A bell is rung under the lock of its mailbox, which is closed before Node frees the bell:
//!     our cleanup hook is added after that of the bell, and hooks run the other way round.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::Arc;

use napi::bindgen_prelude::Object;
use napi::sys::{self, napi_env, napi_value};
use napi::{Env, JsValue};
use napi_derive::napi;

use crate::change::{self, Change, Lengths};
use crate::failure::{Failure, Result};
use crate::jobs::{Answer, Mailbox};
use crate::reading::{Bounds, Span as Range, Tray};
use crate::state::{self, State, in_txn};

/// What a bare function returns where there is nothing.
pub(crate) const NOTHING: f64 = -1.0;
/// Where it failed: `failure` says why.
const FAILED: f64 = -2.0;
/// A length where there is no value.
const ABSENT: u32 = u32::MAX;
/// What is below stands for so many bytes that had no room.
const NO_ROOM: f64 = -16.0;

/// The memory of an array (R1).
struct Span {
    start: *mut u8,
    bytes: usize,
    reference: sys::napi_ref,
}

impl Span {
    const fn new() -> Span {
        Span { start: ptr::dangling_mut::<u64>().cast(), bytes: 0, reference: ptr::null_mut() }
    }
}

/// What JavaScript shares: where it puts keys and values, where it finds what was read, and the
/// lengths of both.
pub(crate) struct Memory {
    input: Span,
    output: Span,
    sizes: Span,
}

impl Memory {
    pub(crate) const fn new() -> Memory {
        Memory { input: Span::new(), output: Span::new(), sizes: Span::new() }
    }

    /// Input alone.
    #[inline]
    fn input(&self) -> &[u8] {
        // SAFETY: R1.
        unsafe { slice::from_raw_parts(self.input.start, self.input.bytes) }
    }

    /// Input, output and lengths, for functions that fill the output (R1).
    #[inline]
    fn parts(&mut self) -> (&[u8], &mut [u8], &mut [u32]) {
        // SAFETY: R1, R2. The third is an array of 32-bit numbers, aligned for them.
        unsafe {
            (
                slice::from_raw_parts(self.input.start, self.input.bytes),
                slice::from_raw_parts_mut(self.output.start, self.output.bytes),
                slice::from_raw_parts_mut(self.sizes.start.cast(), self.sizes.bytes / 4),
            )
        }
    }
}

fn short() -> Failure {
    Failure::misuse("the shared memory is too short")
}

/// A call from JavaScript (R3).
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    env: napi_env,
}

impl Caller {
    #[inline]
    pub(crate) fn number(self, number: f64) -> napi_value {
        let mut value = ptr::null_mut();
        let whole = number as i32;
        // SAFETY: R3.
        unsafe {
            if f64::from(whole) == number {
                sys::napi_create_int32(self.env, whole, &mut value);
            } else {
                sys::napi_create_double(self.env, number, &mut value);
            }
        }
        value
    }

    /// A `Buffer` of its own with these bytes.
    pub(crate) fn buffer(self, bytes: &[u8]) -> Result<napi_value> {
        let mut value = ptr::null_mut();
        // SAFETY: R3; the bytes are copied.
        let status = unsafe {
            let from = bytes.as_ptr().cast();
            sys::napi_create_buffer_copy(self.env, bytes.len(), from, ptr::null_mut(), &mut value)
        };
        if status == sys::Status::napi_ok {
            Ok(value)
        } else {
            Err(Failure::from(huon::Error::OutOfMemory))
        }
    }

    /// An argument, which is there.
    fn argument(self, info: sys::napi_callback_info, at: usize) -> napi_value {
        let mut values = [ptr::null_mut(); 8];
        let mut count = values.len();
        // SAFETY: R3. Node fills what was not given with undefined.
        unsafe {
            let (this, data) = (ptr::null_mut(), ptr::null_mut());
            sys::napi_get_cb_info(self.env, info, &mut count, values.as_mut_ptr(), this, data);
        }
        values[at]
    }

    /// Start and length of an argument that is an array.
    fn extent(self, info: sys::napi_callback_info, at: usize) -> Result<(*mut u8, usize)> {
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        let value = self.argument(info, at);
        // SAFETY: R3; what is no array is refused.
        let status = unsafe { sys::napi_get_buffer_info(self.env, value, &mut start, &mut bytes) };
        if status == sys::Status::napi_ok && !start.is_null() {
            Ok((start.cast(), bytes))
        } else {
            Err(Failure::misuse("no array of bytes"))
        }
    }

    /// Its bytes, until the callback returns.
    fn array<'a>(self, info: sys::napi_callback_info, at: usize) -> Result<&'a [u8]> {
        let (start, bytes) = self.extent(info, at)?;
        // SAFETY: JavaScript does not run meanwhile, and keeps its arguments.
        Ok(unsafe { slice::from_raw_parts(start, bytes) })
    }

    pub(crate) fn text(self, text: &str) -> napi_value {
        let mut value = ptr::null_mut();
        // SAFETY: R3; the text is copied.
        unsafe {
            let length = text.len() as isize;
            sys::napi_create_string_utf8(self.env, text.as_ptr().cast(), length, &mut value);
        }
        value
    }

    pub(crate) fn array_of(self, items: impl ExactSizeIterator<Item = napi_value>) -> napi_value {
        let mut array = ptr::null_mut();
        // SAFETY: R3.
        unsafe {
            sys::napi_create_array_with_length(self.env, items.len(), &mut array);
            for (at, item) in items.enumerate() {
                sys::napi_set_element(self.env, array, at as u32, item);
            }
        }
        array
    }

    pub(crate) fn undefined(self) -> napi_value {
        let mut value = ptr::null_mut();
        // SAFETY: R3.
        unsafe { sys::napi_get_undefined(self.env, &mut value) };
        value
    }
}

/// Runs a bare function of `N` numbers. A failure is kept, and FAILED returned; a panic is one.
#[inline]
fn call<const N: usize>(
    env: napi_env,
    info: sys::napi_callback_info,
    work: impl FnOnce(Caller, &mut State, [f64; N]) -> Result<napi_value>,
) -> napi_value {
    let mut values = [ptr::null_mut(); N];
    let mut numbers = [0.0; N];
    let mut count = N;
    // SAFETY: R3. Node fills what was not given with undefined, which is no number and stays zero.
    unsafe {
        let (this, data) = (ptr::null_mut(), ptr::null_mut());
        sys::napi_get_cb_info(env, info, &mut count, values.as_mut_ptr(), this, data);
        for (value, number) in values.into_iter().zip(&mut numbers) {
            sys::napi_get_value_double(env, value, number);
        }
    }
    guarded(env, |caller, state| work(caller, state, numbers))
}

/// Runs a bare function: see `call`.
#[inline]
fn guarded(
    env: napi_env,
    work: impl FnOnce(Caller, &mut State) -> Result<napi_value>,
) -> napi_value {
    let caller = Caller { env };
    let done = catch_unwind(AssertUnwindSafe(|| {
        state::with(|state| {
            work(caller, state).unwrap_or_else(|failure| {
                state.failure = Some(failure);
                caller.number(FAILED)
            })
        })
    }));
    done.unwrap_or_else(|panic| {
        state::with(|state| state.failure = Some(Failure::of_panic(&*panic)));
        caller.number(FAILED)
    })
}

/// The lengths of the input's parts, of which the sum must lie in it.
fn parts<const N: usize>(mut input: &[u8], lengths: [f64; N]) -> Result<[&[u8]; N]> {
    let mut parts = [&[][..]; N];
    for (part, length) in parts.iter_mut().zip(lengths) {
        *part = input.split_off(..length as usize).ok_or_else(short)?;
    }
    Ok(parts)
}

/// get(): its arguments are the first sizes, since each that is passed costs a call of N-API: the
/// halves of the seat's number, the table, bytes of the key, where in the output. The length of the
/// value there is the first size then, or ABSENT; a `Buffer` with it that had no room is returned.
extern "C" fn get(env: napi_env, _: sys::napi_callback_info) -> napi_value {
    guarded(env, |caller, state| {
        let State { memory, envs, seats, .. } = state;
        let (input, output, sizes) = memory.parts();
        let (&mut [low, high, table, key, at], _) =
            sizes.split_first_chunk_mut().ok_or_else(short)?;
        let key = input.get(..key as usize).ok_or_else(short)?;
        let seat = seats.get((u64::from(high) << 32 | u64::from(low)) as f64)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(f64::from(table))?.handle;
        seat.wake(&open.env)?;
        let found = in_txn!(&seat.held, txn => {
            let value = match handle {
                state::Handle::Table(table) => table.get(txn, key)?,
                state::Handle::Multi(multi) => multi.values(txn, key)?.next().transpose()?,
                state::Handle::Lsm(table) => table.get(txn, key)?,
            };
            sizes[0] = ABSENT;
            let Some(value) = value else { return Ok(ptr::null_mut()) };
            let Some(room) = output.get_mut(at as usize..at as usize + value.len()) else {
                return caller.buffer(value);
            };
            room.copy_from_slice(value);
            sizes[0] = value.len() as u32;
            Ok(ptr::null_mut())
        });
        seat.rest();
        found
    })
}

/// has(seat, table, bytes of the key, of the value or -1): 1 or 0.
extern "C" fn has(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [seat, table, key, value]| {
        let State { memory, envs, seats, .. } = state;
        let [key_bytes, value_bytes] = parts(memory.input(), [key, value.max(0.0)])?;
        let seat = seats.get(seat)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(table)?.handle;
        seat.wake(&open.env)?;
        let found = in_txn!(&seat.held, txn => Ok(match handle {
            state::Handle::Table(table) => table.contains(txn, key_bytes)?,
            state::Handle::Multi(multi) if value < 0.0 => multi.count_values(txn, key_bytes)? > 0,
            state::Handle::Multi(multi) => multi.contains(txn, key_bytes, value_bytes)?,
            state::Handle::Lsm(table) => table.contains(txn, key_bytes)?,
        }));
        seat.rest();
        Ok(caller.number(f64::from(u8::from(found?))))
    })
}

/// getMany(seat, table, how many keys, where in the output, whether there are more): the lengths of
/// the keys are in the sizes, and those of the values after that, two for each: whether there is
/// one, and its length. How many were looked up before the output was full. The last two sizes are
/// the number of the seat with the snapshot to go on with, if there is anything left.
extern "C" fn get_many(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [seat_no, table, count, at, more]| {
        let State { memory, envs, seats, .. } = state;
        let (mut input, output, sizes) = memory.parts();
        let (sizes, tail) = sizes.split_last_chunk_mut::<2>().ok_or_else(short)?;
        let lengths = sizes.get(..count as usize).ok_or_else(short)?;
        let mut keys = Vec::with_capacity(lengths.len());
        for length in lengths {
            keys.push(input.split_off(..*length as usize).ok_or_else(short)?);
        }
        let output = output.get_mut(at as usize..).ok_or_else(short)?;
        let seat = seats.get(seat_no)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(table)?.handle;
        seat.wake(&open.env)?;
        let mut tray = Tray::new(output, sizes, keys.len());
        let looked = in_txn!(&seat.held, txn => tray.look_up(txn, handle, &keys));
        let is_left = more != 0.0 || tray.count() < keys.len();
        let kept = (is_left && looked.is_ok() && seat.is_newest).then(|| seat.split());
        seat.rest();
        looked?;
        let count = tray.count();
        *tail = seats.halves_of(kept)?;
        Ok(caller.number(count as f64))
    })
}

/// nextBatch(seat, table, bounds, bytes of from, of the value after that, of to, how many at most,
/// where in the output, how many were shown): how many records there are now; their lengths are in
/// the sizes. The last three sizes say whether there are more, and, if it was asked for, the number
/// of the seat with the snapshot to go on with. Below NO_ROOM: how many bytes the first record
/// wants.
extern "C" fn next_batch(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, args: [f64; 9]| {
        let [seat_no, table, bounds, from, from_value, to, max, at, shown] = args;
        let State { memory, envs, seats, .. } = state;
        let (input, output, sizes) = memory.parts();
        let [from, from_value, to] = parts(input, [from, from_value, to])?;
        let output = output.get_mut(at as usize..).ok_or_else(short)?;
        let (sizes, tail) = sizes.split_last_chunk_mut::<3>().ok_or_else(short)?;
        let seat = seats.get(seat_no)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(table)?.handle;
        let bounds = Bounds(bounds as u32);
        seat.wake(&open.env)?;
        let mut tray = Tray::new(output, sizes, max as usize);
        let span = Range::new(bounds, from, to, shown as usize);
        let more = in_txn!(&seat.held, txn => tray.fill(txn, handle, span, from_value));
        let (count, wanted) = (tray.count(), tray.wanted);
        let kept = match more {
            Ok(true) if bounds.is_kept() && seat.is_newest && count > 0 => Some(seat.split()),
            _ => None,
        };
        seat.rest();
        let [low, high] = seats.halves_of(kept)?;
        *tail = [u32::from(more?), low, high];
        Ok(caller.number(if wanted > 0 { NO_ROOM - wanted as f64 } else { count as f64 }))
    })
}

/// count(seat, table, bounds, bytes of from, of to): how many records.
extern "C" fn count(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [seat, table, bounds, from, to]| {
        let State { memory, envs, seats, .. } = state;
        let [from, to] = parts(memory.input(), [from, to])?;
        let seat = seats.get(seat)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(table)?.handle;
        seat.wake(&open.env)?;
        let span = Range::new(Bounds(bounds as u32), from, to, 0);
        let counted = in_txn!(&seat.held, txn => span.count(txn, handle));
        seat.rest();
        Ok(caller.number(counted? as f64))
    })
}

/// write(seat, table, what, flags, bytes of key, of value or -1, of the expected one or -1): what
/// the change answers.
extern "C" fn write(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, args: [f64; 7]| {
        let [seat, table, what, flags, key, value, expected] = args;
        let State { memory, envs, seats, .. } = state;
        let length = |bytes: f64| if bytes < 0.0 { change::NONE } else { bytes as u32 };
        let lengths =
            Lengths { key: length(key), value: length(value), expected: length(expected) };
        let bytes = memory.input().get(..lengths.total()).ok_or_else(short)?;
        let seat = seats.get(seat)?;
        let slot = envs.get(seat.env)?.slot(table)?;
        let change = Change::of(what as u32, flags as u32, lengths, bytes);
        let answer = change.apply(seat.writing()?, table as usize, slot)?;
        Ok(caller.number(answer))
    })
}

/// load(seat, table, bytes, array): puts the packed records at the start of an array, so many bytes
/// of them, behind those of the table.
extern "C" fn load(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [seat, table, bytes]| {
        let packed = caller.array(info, 3)?.get(..bytes as usize).ok_or_else(short)?;
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        let slot = envs.get(seat.env)?.slot(table)?;
        Ok(caller.number(change::load(seat.writing()?, table as usize, slot, packed)?))
    })
}

/// submit(environment, job, bytes, array, whether answers are wanted): has the packed changes at
/// the start of an array, so many bytes of them, done in a transaction of its own. The job answers
/// with the answers of all; with nothing if none was refused, and none is wanted.
extern "C" fn submit(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [env, job, bytes, _, wanted]| {
        let packed = caller.array(info, 3)?.get(..bytes as usize).ok_or_else(short)?.to_vec();
        let mailbox = state.mailbox()?;
        let open = state.env(env)?;
        let (env, tables) = (open.env.clone(), open.tables.clone());
        open.worker.run(&mailbox, job, move || {
            let answers = change::commit_all(&env, &tables, &packed)?;
            let is_wanted = wanted != 0.0 || answers.iter().any(std::result::Result::is_err);
            Ok(if is_wanted { Answer::Changes(answers) } else { Answer::Nothing })
        })?;
        Ok(caller.undefined())
    })
}

/// share(which, array): shares the memory of an array: 0 input, 1 output, 2 sizes.
extern "C" fn share(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [which]| {
        let (start, bytes) = caller.extent(info, 1)?;
        if !start.cast::<u32>().is_aligned() {
            return Err(short());
        }
        let memory = &mut state.memory;
        let spans = [&mut memory.input, &mut memory.output, &mut memory.sizes];
        let span = spans.into_iter().nth(which as usize).ok_or_else(short)?;
        let mut reference = ptr::null_mut();
        // SAFETY: R3; nothing refers to the old memory any more.
        unsafe {
            sys::napi_create_reference(env, caller.argument(info, 1), 1, &mut reference);
            if !span.reference.is_null() {
                sys::napi_delete_reference(env, span.reference);
            }
        }
        *span = Span { start, bytes, reference };
        Ok(caller.undefined())
    })
}

/// Rings in Node's loop (R4).
#[derive(Clone, Copy)]
pub(crate) struct Bell(sys::napi_threadsafe_function);

// SAFETY: it is what other threads are to call; R4.
unsafe impl Send for Bell {}

impl Bell {
    pub(crate) fn ring(self) {
        let how = sys::ThreadsafeFunctionCallMode::nonblocking;
        // SAFETY: R4. If Node refuses, it ends.
        unsafe { sys::napi_call_threadsafe_function(self.0, ptr::null_mut(), how) };
    }
}

/// What an answer that others follow has instead of whether it failed.
const GOES_ON: f64 = 2.0;

/// listen(f): has f(job, whether it failed, what it answers) called with each answer.
extern "C" fn listen(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    let caller = Caller { env };
    let (mut function, mut count, mut bell) = (ptr::null_mut(), 1, ptr::null_mut());
    // SAFETY: R3. The loop does not stay for the bell's sake, unless `stay` says so.
    let status = unsafe {
        let (this, data) = (ptr::null_mut(), ptr::null_mut());
        sys::napi_get_cb_info(env, info, &mut count, &mut function, this, data);
        let status = sys::napi_create_threadsafe_function(
            env,
            function,
            ptr::null_mut(),
            caller.text("huon"),
            0,
            1,
            ptr::null_mut(),
            None,
            ptr::null_mut(),
            Some(deliver),
            &mut bell,
        );
        if status == sys::Status::napi_ok {
            sys::napi_unref_threadsafe_function(env, bell);
            sys::napi_add_env_cleanup_hook(env, Some(end), ptr::null_mut());
        }
        status
    };
    state::with(|state| match status {
        sys::Status::napi_ok => {
            state.mailbox = Some(Arc::new(Mailbox::new(Bell(bell))));
            caller.undefined()
        }
        _ => {
            state.failure = Some(Failure::misuse("listen wants a function"));
            caller.number(FAILED)
        }
    })
}

/// stay(yes): whether Node's loop stays for answers that are due.
extern "C" fn stay(env: napi_env, info: sys::napi_callback_info) -> napi_value {
    call(env, info, |caller, state, [yes]| {
        if let Some(Bell(bell)) = state.mailbox()?.bell() {
            // SAFETY: R3, R4.
            unsafe {
                if yes == 0.0 {
                    sys::napi_unref_threadsafe_function(caller.env, bell);
                } else {
                    sys::napi_ref_threadsafe_function(caller.env, bell);
                }
            }
        }
        Ok(caller.undefined())
    })
}

/// Hands all answers to JavaScript, in Node's loop.
unsafe extern "C" fn deliver(
    env: napi_env,
    function: napi_value,
    _context: *mut c_void,
    _data: *mut c_void,
) {
    if env.is_null() {
        return;
    }
    let caller = Caller { env };
    let answers = state::with(|state| state.mailbox.clone()).map(|mailbox| mailbox.fetch());
    for (job, answer) in answers.unwrap_or_default() {
        let is_last = !matches!(answer, Ok(Answer::Progress(..)));
        if is_last {
            state::with(|state| state.running.end(job));
        }
        let (failed, value) = match answer.and_then(|answer| answer.value(caller)) {
            Ok(value) => (if is_last { 0.0 } else { GOES_ON }, value),
            Err(failure) => {
                state::with(|state| state.failure = Some(failure));
                (1.0, caller.undefined())
            }
        };
        let args = [caller.number(job), caller.number(failed), value];
        // SAFETY: R3. What it throws Node reports; the other answers come all the same.
        unsafe {
            let (this, mut result) = (caller.undefined(), ptr::null_mut());
            sys::napi_call_function(env, this, function, 3, args.as_ptr(), &mut result);
        }
    }
}

/// Node's environment of this thread ends.
unsafe extern "C" fn end(_: *mut c_void) {
    // A panic must not cross into Node, and no program is there to be told.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        state::with(|state| {
            if let Some(mailbox) = &state.mailbox {
                mailbox.close();
            }
            state.end();
        });
    }));
}

/// Adds the bare functions to the module.
#[napi(module_exports)]
pub fn add_bare_functions(exports: Object<'_>, env: Env) -> napi::Result<()> {
    let functions: [(&str, sys::napi_callback); 11] = [
        ("get", Some(get)),
        ("has", Some(has)),
        ("getMany", Some(get_many)),
        ("nextBatch", Some(next_batch)),
        ("count", Some(count)),
        ("write", Some(write)),
        ("load", Some(load)),
        ("submit", Some(submit)),
        ("share", Some(share)),
        ("listen", Some(listen)),
        ("stay", Some(stay)),
    ];
    for (name, function) in functions {
        let mut value = ptr::null_mut();
        let (start, length) = (name.as_ptr().cast(), name.len());
        let c_name = std::ffi::CString::new(name)?;
        // SAFETY: R3; the name outlives the call.
        unsafe {
            let (env, data) = (env.raw(), ptr::null_mut());
            sys::napi_create_function(env, start, length as isize, function, data, &mut value);
            sys::napi_set_named_property(env, exports.raw(), c_name.as_ptr(), value);
        }
    }
    Ok(())
}
