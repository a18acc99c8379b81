//! A library with the C interface of LMDB, loaded while the program runs: each call goes through a
//! pointer, as those of a program that is linked to it do.
//!
//! 1. A function has the type that `lmdb.h` gives it, and lives as long as the process: a library
//!    is never unloaded.
//! 2. `env` is open and `dbi` belongs to it until the store is dropped. What is begun in a function
//!    ends in it.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Instant;

use super::{Calls, Part, Timed, last_key};
use crate::data::{Data, Order, touched};
use crate::engine::Result;

const MAP_BYTES: usize = 16 << 30;
/// Puts of a transaction while loading.
const BATCH: usize = 1000;

const NOSYNC: c_uint = 0x1_0000;
const NOTLS: c_uint = 0x20_0000;
const RDONLY: c_uint = 0x2_0000;
const APPEND: c_uint = 0x2_0000;
const FIRST: c_uint = 0;
const LAST: c_uint = 6;
const NEXT: c_uint = 8;
const PREV: c_uint = 12;
const NOTFOUND: c_int = -30798;

/// `MDB_val`.
#[repr(C)]
struct Val {
    size: usize,
    data: *mut c_void,
}

impl Val {
    const NONE: Val = Val { size: 0, data: ptr::null_mut() };

    #[inline]
    fn of(bytes: &[u8]) -> Val {
        Val { size: bytes.len(), data: bytes.as_ptr() as *mut c_void }
    }

    /// # Safety
    /// A successful call has filled it, and nothing has changed since.
    #[inline]
    unsafe fn bytes<'t>(&self) -> &'t [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}

/// Handles, which are opaque.
type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that are measured, and those that it takes.
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// `library` is a handle of `dlopen` that stays open.
            unsafe fn of(library: Handle) -> Result<Functions> {
                let find = |name: &str| {
                    let text = CString::new(name)?;
                    // SAFETY: the caller's promise, and a text that ends with a zero byte.
                    let found = unsafe { libc::dlsym(library, text.as_ptr()) };
                    if found.is_null() { Err(format!("no {name}").into()) } else { Ok(found) }
                };
                let find: &dyn Fn(&str) -> Result<*mut c_void> = &find;
                // SAFETY: a function's pointer and the type of that function (1).
                Ok(Functions { $($name: unsafe { transmute_copy(&find(stringify!($name))?) },)* })
            }
        }
    };
}

functions! {
    mdb_strerror(c_int) -> *const c_char;
    mdb_version(*mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    mdb_env_create(*mut Handle) -> c_int;
    mdb_env_set_mapsize(Handle, usize) -> c_int;
    mdb_env_open(Handle, *const c_char, c_uint, c_uint) -> c_int;
    mdb_env_close(Handle);
    mdb_txn_begin(Handle, Handle, c_uint, *mut Handle) -> c_int;
    mdb_txn_commit(Handle) -> c_int;
    mdb_txn_abort(Handle);
    mdb_txn_reset(Handle);
    mdb_txn_renew(Handle) -> c_int;
    mdb_dbi_open(Handle, *const c_char, c_uint, *mut c_uint) -> c_int;
    mdb_get(Handle, c_uint, *const Val, *mut Val) -> c_int;
    mdb_put(Handle, c_uint, *const Val, *mut Val, c_uint) -> c_int;
    mdb_cursor_open(Handle, c_uint, *mut Handle) -> c_int;
    mdb_cursor_close(Handle);
    mdb_cursor_get(Handle, *mut Val, *mut Val, c_uint) -> c_int;
}

/// An environment of a library, with its main database.
pub(super) struct Store {
    functions: Functions,
    env: Handle,
    dbi: c_uint,
}

impl Store {
    /// Loads the library and opens an environment in the directory.
    pub(super) fn open(library: &Path, dir: &Path) -> Result<Store> {
        let name = CString::new(library.as_os_str().as_bytes())?;
        // SAFETY: a text that ends with a zero byte. What a library does when it is loaded is its
        // matter; it stays.
        let functions = unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                let why = CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned();
                return Err(why.into());
            }
            Functions::of(handle)?
        };
        let mut env = ptr::null_mut();
        // SAFETY: `env` is good for writing.
        functions.check(unsafe { (functions.mdb_env_create)(&mut env) })?;
        let mut store = Store { functions, env, dbi: 0 };
        let dir = CString::new(dir.as_os_str().as_bytes())?;
        // SAFETY: made above and not open yet; `dir` ends with a zero byte.
        let opened = unsafe {
            store.check((store.functions.mdb_env_set_mapsize)(env, MAP_BYTES))?;
            (store.functions.mdb_env_open)(env, dir.as_ptr(), NOSYNC | NOTLS, 0o600)
        };
        store.check(opened)?;
        let txn = store.begin(RDONLY)?;
        let mut dbi = 0;
        // SAFETY: the transaction is live; no name is the main database.
        store.check(unsafe { (store.functions.mdb_dbi_open)(txn.0, ptr::null(), 0, &mut dbi) })?;
        txn.commit()?;
        store.dbi = dbi;
        Ok(store)
    }

    pub(super) fn version(&self) -> String {
        let none = ptr::null_mut();
        // SAFETY: null pointers for what is not wanted; the answer is a static text.
        let text = unsafe { CStr::from_ptr((self.functions.mdb_version)(none, none, none)) };
        text.to_string_lossy().into_owned()
    }

    /// Puts all records in this order.
    pub(super) fn load(&self, data: &Data, order: &Order) -> Result<()> {
        for batch in order.batches(BATCH) {
            let mut txn = self.begin(0)?;
            for (number, key) in batch {
                txn.put(key, data.value(number, 0), 0)?;
            }
            txn.commit()?;
        }
        Ok(())
    }

    fn walks(&self, passes: u64, edge: c_uint, step: c_uint) -> Result<Timed> {
        let txn = self.begin(RDONLY)?;
        let (started, mut sum, mut count) = (Instant::now(), 0, 0);
        for _ in 0..passes {
            let pass = txn.walk(edge, step)?;
            (sum, count) = (sum + pass.0, count + pass.1);
        }
        Ok(Timed::since(started, count, sum))
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        self.functions.check(code)
    }

    fn begin(&self, flags: c_uint) -> Result<Txn<'_>> {
        let mut txn = ptr::null_mut();
        let begin = self.functions.mdb_txn_begin;
        // SAFETY: the environment is open (2).
        self.check(unsafe { begin(self.env, ptr::null_mut(), flags, &mut txn) })?;
        Ok(Txn(txn, self))
    }
}

impl Functions {
    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the answer is a static text.
        let text = unsafe { CStr::from_ptr((self.mdb_strerror)(code)) };
        Err(text.to_string_lossy().into_owned().into())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: made in `open`, closed only here, and transactions borrow it.
        unsafe { (self.functions.mdb_env_close)(self.env) }
    }
}

/// A transaction; aborted when dropped.
struct Txn<'s>(Handle, &'s Store);

impl Txn<'_> {
    #[inline]
    fn get(&self, key: &[u8]) -> Result<&[u8]> {
        let (key, mut value) = (Val::of(key), Val::NONE);
        let get = self.1.functions.mdb_get;
        // SAFETY: the transaction is live; the library only reads what `key` points to.
        self.1.check(unsafe { get(self.0, self.1.dbi, &key, &mut value) })?;
        // SAFETY: filled just now; what would change it needs the borrow's end.
        Ok(unsafe { value.bytes() })
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8], flags: c_uint) -> Result<()> {
        let (key, mut value) = (Val::of(key), Val::of(value));
        let put = self.1.functions.mdb_put;
        // SAFETY: the transaction is live; the library only reads what both point to.
        self.1.check(unsafe { put(self.0, self.1.dbi, &key, &mut value, flags) })
    }

    fn commit(self) -> Result<()> {
        let (handle, store) = (self.0, self.1);
        std::mem::forget(self);
        // SAFETY: the transaction is live, and forgotten.
        store.check(unsafe { (store.functions.mdb_txn_commit)(handle) })
    }

    /// What the values of all records add up to, and how many they are, step by step from an end.
    fn walk(&self, edge: c_uint, step: c_uint) -> Result<(u64, u64)> {
        let functions = &self.1.functions;
        let mut cursor = ptr::null_mut();
        // SAFETY: the transaction is live.
        self.1.check(unsafe { (functions.mdb_cursor_open)(self.0, self.1.dbi, &mut cursor) })?;
        let (mut sum, mut count, mut op) = (0, 0, edge);
        let end = loop {
            let (mut key, mut value) = (Val::NONE, Val::NONE);
            // SAFETY: the cursor is open.
            let code = unsafe { (functions.mdb_cursor_get)(cursor, &mut key, &mut value, op) };
            if code != 0 {
                break code;
            }
            // SAFETY: filled just now.
            sum += touched(unsafe { value.bytes() });
            count += 1;
            op = step;
        };
        // SAFETY: the cursor is open, and not used again.
        unsafe { (functions.mdb_cursor_close)(cursor) };
        if end == NOTFOUND { Ok((sum, count)) } else { self.1.check(end).map(|()| (sum, count)) }
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is live: `commit` forgets it.
        unsafe { (self.1.functions.mdb_txn_abort)(self.0) }
    }
}

impl Calls for Store {
    fn get(&self, part: &Part<'_>) -> Result<Timed> {
        let txn = self.begin(RDONLY)?;
        let (started, mut sum) = (Instant::now(), 0);
        for key in part.keys() {
            sum += touched(txn.get(key)?);
        }
        Ok(Timed::since(started, part.count(), sum))
    }

    fn put(&self, part: &Part<'_>) -> Result<Timed> {
        let mut txn = self.begin(0)?;
        let started = Instant::now();
        for (key, value) in part.records() {
            txn.put(key, value, 0)?;
        }
        Ok(Timed::since(started, part.count(), 0))
    }

    fn next(&self, passes: u64) -> Result<Timed> {
        self.walks(passes, FIRST, NEXT)
    }

    /// A cursor in C is what it is: it stands on its own, and the transaction may change.
    fn next_detached(&self, passes: u64) -> Result<Timed> {
        self.next(passes)
    }

    fn prev(&self, passes: u64) -> Result<Timed> {
        self.walks(passes, LAST, PREV)
    }

    fn open(&self, count: u64) -> Result<Timed> {
        let (txn, functions) = (self.begin(RDONLY)?, &self.functions);
        let started = Instant::now();
        for _ in 0..count {
            let mut cursor = ptr::null_mut();
            // SAFETY: the transaction is live.
            self.check(unsafe { (functions.mdb_cursor_open)(txn.0, self.dbi, &mut cursor) })?;
            // SAFETY: the cursor is open, and not used again.
            unsafe { (functions.mdb_cursor_close)(cursor) };
        }
        Ok(Timed::since(started, count, 0))
    }

    fn renew(&self, count: u64) -> Result<Timed> {
        let txn = self.begin(RDONLY)?;
        let started = Instant::now();
        for _ in 0..count {
            // SAFETY: the transaction is live, and reads.
            unsafe { (self.functions.mdb_txn_reset)(txn.0) };
            // SAFETY: it was reset.
            self.check(unsafe { (self.functions.mdb_txn_renew)(txn.0) })?;
        }
        Ok(Timed::since(started, count, 0))
    }

    fn append(&self, count: u64, value_bytes: usize) -> Result<Timed> {
        let (mut txn, value) = (self.begin(0)?, vec![7; value_bytes]);
        let started = Instant::now();
        for number in 0..count {
            txn.put(&last_key(number), &value, APPEND)?;
        }
        Ok(Timed::since(started, count, 0))
    }
}
