//! The C interface in the hands of Rust tests.

#![allow(dead_code, unused_imports)]

pub(crate) mod records;

use std::ffi::CString;
use std::path::Path;
use std::ptr;

pub(crate) use huon_mdbx::abi::*;
pub(crate) use huon_testkit::c_calls::names::{code::*, env::*, txn::*};

pub(crate) type Txn = *mut MDBX_txn;

/// An environment in a directory of its own, or in one that is there.
pub(crate) struct Env {
    pub(crate) env: *mut MDBX_env,
    pub(crate) dir: Option<tempfile::TempDir>,
}

pub(crate) fn create() -> *mut MDBX_env {
    let mut env = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_env_create(&mut env) }, 0);
    env
}

/// A text of C's.
pub(crate) fn text(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

pub(crate) fn open_at(env: *mut MDBX_env, path: &Path, flags: u32, mode: u32) -> i32 {
    // SAFETY: a text that ends with a zero byte.
    unsafe { mdbx_env_open(env, text(path).as_ptr(), flags, mode) }
}

impl Env {
    pub(crate) fn new() -> Env {
        Env::with(NOTLS)
    }

    pub(crate) fn with(flags: u32) -> Env {
        let dir = tempfile::tempdir().unwrap();
        let mut env = Env::at(dir.path(), flags);
        env.dir = Some(dir);
        env
    }

    pub(crate) fn at(path: &Path, flags: u32) -> Env {
        let env = create();
        assert_eq!(mdbx_env_set_maxdbs(env, 8), 0);
        assert_eq!(mdbx_env_set_geometry(env, -1, -1, 16 << 20, -1, -1, -1), 0);
        assert_eq!(open_at(env, path, flags, 0o644), 0);
        Env { env, dir: None }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    pub(crate) fn write(&self) -> Txn {
        self.begin(ptr::null_mut(), 0).unwrap()
    }

    pub(crate) fn read(&self) -> Txn {
        self.begin(ptr::null_mut(), RDONLY).unwrap()
    }

    pub(crate) fn begin(&self, parent: Txn, flags: u32) -> Result<Txn, i32> {
        let mut txn = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        match unsafe { mdbx_txn_begin(self.env, parent, flags, &mut txn) } {
            0 => Ok(txn),
            code => Err(code),
        }
    }

    /// A commit that changes something; what it noted.
    pub(crate) fn commit(&self, x: u64) -> u64 {
        let txn = self.write();
        assert_eq!(note(txn, x), 0);
        let id = mdbx_txn_id(txn);
        assert_eq!(mdbx_txn_commit(txn), 0);
        id
    }

    /// The same by a thread that has no other transaction.
    pub(crate) fn in_other_thread(&self, x: u64) {
        let env = Sent(self.env as usize);
        in_thread(|| {
            let env = std::mem::ManuallyDrop::new(Env { env: env.0 as *mut MDBX_env, dir: None });
            env.commit(x);
        });
    }

    pub(crate) fn info(&self) -> MDBX_envinfo {
        info(self.env)
    }

    pub(crate) fn flags(&self) -> u32 {
        let mut flags = 0;
        // SAFETY: the pointer is good for writing.
        assert_eq!(unsafe { mdbx_env_get_flags(self.env, &mut flags) }, 0);
        flags
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        mdbx_env_close(self.env);
    }
}

pub(crate) fn info(env: *const MDBX_env) -> MDBX_envinfo {
    let mut info = MDBX_envinfo::default();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_env_info(env, &mut info, size_of::<MDBX_envinfo>()) }, 0);
    info
}

/// Changes one of the three numbers.
pub(crate) fn note(txn: Txn, x: u64) -> i32 {
    let canary = MDBX_canary { x, y: 2, z: 3, v: 0 };
    // SAFETY: the pointer leads to the numbers.
    unsafe { mdbx_canary_put(txn, &canary) }
}

pub(crate) fn noted(txn: Txn) -> Result<MDBX_canary, i32> {
    let mut canary = MDBX_canary::default();
    // SAFETY: the pointer is good for writing.
    match unsafe { mdbx_canary_get(txn, &mut canary) } {
        0 => Ok(canary),
        code => Err(code),
    }
}

pub(crate) fn option(env: *const MDBX_env, option: u32) -> Result<u64, i32> {
    let mut value = 0;
    // SAFETY: the pointer is good for writing.
    match unsafe { mdbx_env_get_option(env, option, &mut value) } {
        0 => Ok(value),
        code => Err(code),
    }
}

pub(crate) fn in_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| threads.spawn(work).join().unwrap())
}

/// A handle that may go to another thread.
#[derive(Clone, Copy)]
pub(crate) struct Sent(pub(crate) usize);

impl Sent {
    pub(crate) fn txn(self) -> Txn {
        self.0 as Txn
    }
}
