//! Makes the calls of a history on a library. Handles of transactions and cursors that are over are
//! kept, so that they can be misused.

mod cursors;

use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use huon_mdbx::abi::*;
use huon_testkit::c_calls::generate::Program;
use huon_testkit::c_calls::names::code::{KEYEXIST, RESULT_TRUE};
use huon_testkit::c_calls::names::{env, go, put};
use huon_testkit::c_calls::op::{CURSORS, End, Op, Outcome, Slot};
use huon_testkit::c_calls::run::Library;
use huon_testkit::c_calls::slots::Slots;
use tempfile::TempDir;

use crate::api::{Api, backwards, by_length, bytes, val};

const MAP_BYTES: isize = 64 << 20;
const MAIN: u32 = 1;
/// Room for a value that is replaced.
const ROOM_BYTES: usize = 32 << 10;

struct Cursor {
    cursor: *mut MDBX_cursor,
    is_over: bool,
}

pub(crate) struct Driver {
    api: &'static Api,
    /// Huon's files are checked at the end.
    is_ours: bool,
    dir: TempDir,
    env: *mut MDBX_env,
    nosubdir: u32,
    tables_max: u32,
    readers_max: u32,
    slots: Slots<*mut MDBX_txn>,
    cursors: [Option<Cursor>; CURSORS],
    copies: usize,
}

impl Driver {
    pub(crate) fn new(api: &'static Api, is_ours: bool, program: &Program) -> Driver {
        let mut driver = Driver {
            api,
            is_ours,
            dir: tempfile::tempdir().expect("a directory"),
            env: ptr::null_mut(),
            nosubdir: program.flags & env::NOSUBDIR,
            tables_max: program.rules.tables_max,
            readers_max: program.rules.readers_max,
            slots: Slots::default(),
            cursors: Default::default(),
            copies: 0,
        };
        assert_eq!(driver.open(program.flags), 0, "the environment does not open");
        driver
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(if self.nosubdir != 0 { "data" } else { "" })
    }

    fn open(&mut self, flags: u32) -> c_int {
        let path = text(&self.path());
        // SAFETY: the pointers are good, the path ends with a zero byte.
        unsafe {
            assert_eq!((self.api.mdbx_env_create)(&mut self.env), 0);
            let upper = (self.api.mdbx_env_set_geometry)(self.env, -1, -1, MAP_BYTES, -1, -1, 4096);
            assert_eq!(upper, 0);
            assert_eq!((self.api.mdbx_env_set_maxdbs)(self.env, self.tables_max), 0);
            assert_eq!((self.api.mdbx_env_set_maxreaders)(self.env, self.readers_max), 0);
            (self.api.mdbx_env_open)(self.env, path.as_ptr(), flags, 0o644)
        }
    }

    /// Ends everything that was begun, and closes the environment.
    fn close(&mut self) {
        let txns = self.slots.outermost();
        self.slots.clear();
        for cursor in self.cursors.iter_mut().flatten().filter(|cursor| !cursor.is_over) {
            // SAFETY: it is open.
            unsafe { (self.api.mdbx_cursor_close)(cursor.cursor) };
        }
        for txn in txns {
            // SAFETY: it is not over; those within it end with it.
            assert_eq!(unsafe { (self.api.mdbx_txn_abort)(txn) }, 0);
        }
        self.cursors = Default::default();
        // SAFETY: nothing is open in it any more.
        assert_eq!(unsafe { (self.api.mdbx_env_close)(self.env) }, 0);
        self.env = ptr::null_mut();
    }

    fn txn(&self, slot: Slot) -> *mut MDBX_txn {
        self.slots.get(slot).unwrap_or(ptr::null_mut())
    }

    fn cursor(&self, slot: Slot) -> *mut MDBX_cursor {
        self.cursors[slot].as_ref().map_or(ptr::null_mut(), |cursor| cursor.cursor)
    }

    fn begin(&mut self, slot: Slot, parent: Option<Slot>, flags: u32, elsewhere: bool) -> c_int {
        let outer = parent.map_or(ptr::null_mut(), |parent| self.txn(parent));
        let (api, env, outer) = (self.api, self.env as usize, outer as usize);
        let (code, txn) = in_thread(elsewhere, move || {
            let mut txn = ptr::null_mut();
            // SAFETY: the pointer is good for writing.
            let code = unsafe {
                (api.mdbx_txn_begin)(env as *mut MDBX_env, outer as *mut MDBX_txn, flags, &mut txn)
            };
            (code, txn as usize)
        });
        if code == 0 {
            let (txn, writes) = (txn as *mut MDBX_txn, flags & env::RDONLY == 0);
            self.slots.begun(slot, txn, parent, writes);
        }
        code
    }

    fn end_txn(&mut self, slot: Slot, commit: bool) -> Outcome {
        let txn = self.txn(slot);
        self.slots.ends(slot);
        let end = if commit { self.api.mdbx_txn_commit } else { self.api.mdbx_txn_abort };
        // SAFETY: handles of Huon's may be over; others are not used then.
        let code = unsafe { end(txn) };
        self.slots.over(slot);
        Outcome::code(code)
    }

    fn txn_call(&mut self, op: &Op) -> Outcome {
        // SAFETY: handles of Huon's may be over; others are not used then.
        unsafe {
            match op {
                Op::Begin { txn, parent, flags, elsewhere } => {
                    Outcome::code(self.begin(*txn, *parent, *flags, *elsewhere))
                }
                Op::Commit { txn } => self.end_txn(*txn, true),
                Op::Abort { txn } => self.end_txn(*txn, false),
                Op::Reset { txn } => {
                    self.slots.reader_ends(*txn);
                    Outcome::code((self.api.mdbx_txn_reset)(self.txn(*txn)))
                }
                Op::Renew { txn, elsewhere } => {
                    self.slots.reader_ends(*txn);
                    let (api, txn) = (self.api, self.txn(*txn) as usize);
                    let renew = move || (api.mdbx_txn_renew)(txn as *mut MDBX_txn);
                    Outcome::code(in_thread(*elsewhere, renew))
                }
                Op::Break { txn } => Outcome::code((self.api.mdbx_txn_break)(self.txn(*txn))),
                Op::TxnFlags { txn } => {
                    // What has changed, and what is in the file already, is not compared.
                    let flags = (self.api.mdbx_txn_flags)(self.txn(*txn));
                    Outcome::number((flags & !0xC).into())
                }
                Op::TxnId { txn } => Outcome::number((self.api.mdbx_txn_id)(self.txn(*txn)) as i64),
                Op::PutCanary { txn, canary: [x, y, z] } => {
                    self.slots.changes(*txn);
                    let canary = MDBX_canary { x: *x, y: *y, z: *z, v: 0 };
                    Outcome::code((self.api.mdbx_canary_put)(self.txn(*txn), &canary))
                }
                Op::GetCanary { txn } => {
                    let mut canary = MDBX_canary { x: 0, y: 0, z: 0, v: 0 };
                    match (self.api.mdbx_canary_get)(self.txn(*txn), &mut canary) {
                        0 => {
                            let numbers = [canary.x, canary.y, canary.z].map(u64::to_le_bytes);
                            Outcome { value: Some(numbers.concat()), ..Outcome::default() }
                        }
                        code => Outcome::code(code),
                    }
                }
                _ => unreachable!("{op}"),
            }
        }
    }

    // ---- tables

    fn open_table(&mut self, slot: Slot, name: Option<&[u8]>, flags: u32, custom: bool) -> Outcome {
        let name = name.map(|name| CString::new(name).expect("no zero byte"));
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let mut dbi = 0;
        self.slots.changes(slot);
        let keys: MDBX_cmp_func = if custom { Some(by_length) } else { None };
        let values: MDBX_cmp_func = if custom { Some(backwards) } else { None };
        let open = self.api.mdbx_dbi_open_ex;
        // SAFETY: a text or null; the pointer is good for writing.
        let code = unsafe { open(self.txn(slot), name, flags, &mut dbi, keys, values) };
        Outcome::with_number(code, dbi.into())
    }

    fn table_call(&mut self, op: &Op) -> Outcome {
        let bytes = size_of::<MDBX_stat>();
        // SAFETY: the pointers are good for writing, the values live.
        unsafe {
            match op {
                Op::Open { txn, name, flags, custom } => {
                    self.open_table(*txn, name.as_deref(), *flags, *custom)
                }
                Op::Close { dbi } => Outcome::code((self.api.mdbx_dbi_close)(self.env, *dbi)),
                Op::Drop { txn, dbi, delete } => {
                    self.slots.changes(*txn);
                    Outcome::code((self.api.mdbx_drop)(self.txn(*txn), *dbi, *delete != 0))
                }
                Op::Rename { txn, dbi, name } => {
                    self.slots.changes(*txn);
                    let rename = self.api.mdbx_dbi_rename2;
                    Outcome::code(rename(self.txn(*txn), *dbi, &val(name)))
                }
                Op::Sequence { txn, dbi, add } => {
                    self.slots.changes(*txn);
                    let mut now = 0;
                    let sequence = self.api.mdbx_dbi_sequence;
                    let code = sequence(self.txn(*txn), *dbi, &mut now, *add);
                    Outcome::with_number(code, now as i64)
                }
                Op::Count { txn, dbi } => {
                    let mut stat = MDBX_stat::default();
                    let code = (self.api.mdbx_dbi_stat)(self.txn(*txn), *dbi, &mut stat, bytes);
                    Outcome::with_number(code, stat.ms_entries as i64)
                }
                Op::Flags { txn, dbi } => {
                    let mut flags = 0;
                    let code = (self.api.mdbx_dbi_flags)(self.txn(*txn), *dbi, &mut flags);
                    Outcome::with_number(code, flags.into())
                }
                Op::Compare { txn, dbi, a, b, of_values } => {
                    let compare = if *of_values { self.api.mdbx_dcmp } else { self.api.mdbx_cmp };
                    let order = compare(self.txn(*txn), *dbi, &val(a), &val(b));
                    Outcome::number(order.signum().into())
                }
                _ => unreachable!("{op}"),
            }
        }
    }

    // ---- records

    fn get(&mut self, slot: Slot, dbi: u32, key: &[u8]) -> Outcome {
        let mut found = val(b"");
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdbx_get)(self.txn(slot), dbi, &val(key), &mut found) };
        match code {
            0 => Outcome { value: Some(self.shown(Some(slot), dbi, found)), ..Outcome::default() },
            code => Outcome::code(code),
        }
    }

    fn get_counted(&mut self, slot: Slot, dbi: u32, key: &[u8]) -> Outcome {
        let (mut key, mut found, mut count) = (val(key), val(b""), 0);
        let (get, txn) = (self.api.mdbx_get_ex, self.txn(slot));
        // SAFETY: the values live.
        match unsafe { get(txn, dbi, &mut key, &mut found, &mut count) } {
            0 => {
                let slot = Some(slot);
                let (key, value) = (self.shown(slot, 0, key), self.shown(slot, dbi, found));
                Outcome { code: 0, key: Some(key), value: Some(value), number: Some(count as i64) }
            }
            code => Outcome::code(code),
        }
    }

    fn get_near(&mut self, slot: Slot, dbi: u32, key: &[u8], value: &[u8]) -> Outcome {
        let (mut key, mut value) = (val(key), val(value));
        let (get, txn) = (self.api.mdbx_get_equal_or_great, self.txn(slot));
        // SAFETY: the values live.
        match unsafe { get(txn, dbi, &mut key, &mut value) } {
            code @ (0 | RESULT_TRUE) => {
                let slot = Some(slot);
                let (key, value) = (self.shown(slot, 0, key), self.shown(slot, dbi, value));
                Outcome { code, key: Some(key), value: Some(value), number: None }
            }
            code => Outcome::code(code),
        }
    }

    fn shown(&mut self, slot: Option<Slot>, dbi: u32, found: MDBX_val) -> Vec<u8> {
        // SAFETY: what was shown is promised to be there until it is looked at again.
        self.slots.shown(slot, dbi, move || unsafe { bytes(&found) }.to_vec())
    }

    /// What a put answered, after the place that it may have given is filled.
    fn stored(
        &mut self,
        code: c_int,
        dbi: u32,
        value: &[u8],
        flags: u32,
        data: MDBX_val,
    ) -> Outcome {
        if code == 0 && flags & put::RESERVE != 0 && !value.is_empty() {
            // SAFETY: the library gave a place of this size.
            unsafe {
                ptr::copy_nonoverlapping(value.as_ptr(), data.iov_base.cast::<u8>(), value.len());
            }
        }
        let other = data.iov_base.cast_const() != value.as_ptr().cast();
        let exists = code == KEYEXIST && other && !data.iov_base.is_null();
        let value = exists.then(|| self.shown(None, dbi, data));
        Outcome { code, value, ..Outcome::default() }
    }

    fn put(&mut self, slot: Slot, dbi: u32, key: &[u8], value: &[u8], flags: u32) -> Outcome {
        self.slots.changes(slot);
        let mut data = to_store(value, flags);
        let txn = self.txn(slot);
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdbx_put)(txn, dbi, &val(key), &mut data, flags) };
        self.stored(code, dbi, value, flags, data)
    }

    fn del(&mut self, slot: Slot, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Outcome {
        self.slots.changes(slot);
        let value = value.map(val);
        let value = value.as_ref().map_or(ptr::null(), |value| value as *const MDBX_val);
        // SAFETY: the values live.
        Outcome::code(unsafe { (self.api.mdbx_del)(self.txn(slot), dbi, &val(key), value) })
    }

    fn replace(
        &mut self,
        (slot, dbi): (Slot, u32),
        key: &[u8],
        old: &[u8],
        new: Option<&[u8]>,
        flags: u32,
    ) -> Outcome {
        self.slots.changes(slot);
        let by_value = put::CURRENT | put::NOOVERWRITE;
        let mut room = vec![0; ROOM_BYTES];
        let mut old = if flags & by_value == by_value { val(old) } else { val(&room) };
        if flags & by_value != by_value {
            old.iov_base = room.as_mut_ptr().cast();
        }
        let mut new = new.map(val);
        let new = new.as_mut().map_or(ptr::null_mut(), |new| new as *mut MDBX_val);
        let (replace, txn) = (self.api.mdbx_replace, self.txn(slot));
        // SAFETY: the values live, and there is room for the old one.
        let code = unsafe { replace(txn, dbi, &val(key), new, &mut old, flags) };
        let value = [0, KEYEXIST].contains(&code).then(|| self.shown(None, dbi, old));
        Outcome { code, value, ..Outcome::default() }
    }

    fn record_call(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Get { txn, dbi, key } => self.get(*txn, *dbi, key),
            Op::GetCounted { txn, dbi, key } => self.get_counted(*txn, *dbi, key),
            Op::GetNear { txn, dbi, key, value } => self.get_near(*txn, *dbi, key, value),
            Op::Put { txn, dbi, key, value, flags } => self.put(*txn, *dbi, key, value, *flags),
            Op::PutMany { txn, dbi, key, values, flags } => {
                self.slots.changes(*txn);
                let (put, handle) = (self.api.mdbx_put, self.txn(*txn));
                several(values, |data| {
                    // SAFETY: two values, as the flag needs them.
                    unsafe { put(handle, *dbi, &val(key), data, flags | put::MULTIPLE) }
                })
            }
            Op::Replace { txn, dbi, key, old, new, flags } => {
                self.replace((*txn, *dbi), key, old, new.as_deref(), *flags)
            }
            Op::Del { txn, dbi, key, value } => self.del(*txn, *dbi, key, value.as_deref()),
            Op::Many { txn, dbi, pairs, delete } => {
                let one = |(key, value): &(Vec<u8>, Vec<u8>)| {
                    if *delete {
                        self.del(*txn, *dbi, key, Some(value))
                    } else {
                        self.put(*txn, *dbi, key, value, 0)
                    }
                };
                let done = pairs.iter().map(one).filter(|one| one.code == 0).count();
                Outcome::number(done as i64)
            }
            _ => unreachable!("{op}"),
        }
    }

    // ---- environments

    fn copy(&mut self, compact: bool) -> Outcome {
        self.copies += 1;
        let path = text(&self.dir.path().join(format!("copy{}", self.copies)));
        // SAFETY: a text that ends with a zero byte; the pointers are good for writing.
        unsafe {
            let code = (self.api.mdbx_env_copy)(self.env, path.as_ptr(), compact.into());
            if code != 0 {
                return Outcome::code(code);
            }
            let (mut copy, mut txn) = (ptr::null_mut(), ptr::null_mut());
            let mut stat = MDBX_stat::default();
            assert_eq!((self.api.mdbx_env_create)(&mut copy), 0);
            let flags = env::RDONLY | env::NOSUBDIR | env::NOTLS;
            assert_eq!((self.api.mdbx_env_open)(copy, path.as_ptr(), flags, 0), 0);
            let begin = self.api.mdbx_txn_begin;
            assert_eq!(begin(copy, ptr::null_mut(), env::RDONLY, &mut txn), 0);
            let bytes = size_of::<MDBX_stat>();
            assert_eq!((self.api.mdbx_dbi_stat)(txn, MAIN, &mut stat, bytes), 0);
            assert_eq!((self.api.mdbx_txn_abort)(txn), 0);
            assert_eq!((self.api.mdbx_env_close)(copy), 0);
            Outcome::number(stat.ms_entries as i64)
        }
    }

    fn env_call(&mut self, op: &Op) -> Outcome {
        let mut number = 0;
        let mut stat = MDBX_stat::default();
        // SAFETY: the pointers are good for writing.
        unsafe {
            match op {
                Op::Reopen { flags } => {
                    self.close();
                    Outcome::code(self.open(*flags | self.nosubdir))
                }
                Op::Copy { compact } => self.copy(*compact),
                Op::SetFlags { flags, on } => {
                    Outcome::code((self.api.mdbx_env_set_flags)(self.env, *flags, *on))
                }
                Op::GetFlags => {
                    assert_eq!((self.api.mdbx_env_get_flags)(self.env, &mut number), 0);
                    Outcome::number(number.into())
                }
                // Whether there was anything to flush is not compared.
                Op::Sync { force } => match (self.api.mdbx_env_sync_ex)(self.env, *force, false) {
                    0 | RESULT_TRUE => Outcome::number(0),
                    code => Outcome::code(code),
                },
                Op::TooLate => Outcome::code((self.api.mdbx_env_set_maxdbs)(self.env, 4)),
                Op::EnvCount => {
                    let (bytes, none) = (size_of::<MDBX_stat>(), ptr::null());
                    let code = (self.api.mdbx_env_stat_ex)(self.env, none, &mut stat, bytes);
                    Outcome::with_number(code, stat.ms_entries as i64)
                }
                Op::CheckReaders => {
                    let mut dead = 0;
                    let code = (self.api.mdbx_reader_check)(self.env, &mut dead);
                    assert!([0, RESULT_TRUE].contains(&code), "{code}");
                    Outcome::number(dead.into())
                }
                _ => unreachable!("{op}"),
            }
        }
    }
}

impl Library for Driver {
    fn call(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Begin { .. }
            | Op::Commit { .. }
            | Op::Abort { .. }
            | Op::Reset { .. }
            | Op::Renew { .. }
            | Op::Break { .. }
            | Op::TxnFlags { .. }
            | Op::TxnId { .. }
            | Op::PutCanary { .. }
            | Op::GetCanary { .. } => self.txn_call(op),
            Op::Open { .. }
            | Op::Close { .. }
            | Op::Drop { .. }
            | Op::Rename { .. }
            | Op::Sequence { .. }
            | Op::Count { .. }
            | Op::Flags { .. }
            | Op::Compare { .. } => self.table_call(op),
            Op::Get { .. }
            | Op::GetCounted { .. }
            | Op::GetNear { .. }
            | Op::Put { .. }
            | Op::PutMany { .. }
            | Op::Replace { .. }
            | Op::Del { .. }
            | Op::Many { .. } => self.record_call(op),
            Op::Reopen { .. }
            | Op::SetFlags { .. }
            | Op::GetFlags
            | Op::Sync { .. }
            | Op::TooLate
            | Op::EnvCount
            | Op::CheckReaders
            | Op::Copy { .. } => self.env_call(op),
            _ => self.cursor_call(op),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.close();
        if !self.is_ours {
            return Ok(());
        }
        let file = if self.nosubdir != 0 { "data" } else { "mdbx.dat" };
        let mut options = huon::Env::options();
        let opened = options.read_only(true).open(self.dir.path().join(file));
        huon_testkit::audit::audit(&opened.map_err(|e| e.to_string())?).map(drop)
    }
}

/// Does something, in a thread of its own if that is wanted.
fn in_thread<R: Send>(elsewhere: bool, work: impl FnOnce() -> R + Send) -> R {
    if elsewhere {
        std::thread::scope(|scope| scope.spawn(work).join()).expect("no panic in a call")
    } else {
        work()
    }
}

/// Puts several values of one length; how many were put.
fn several(values: &[Vec<u8>], put: impl FnOnce(*mut MDBX_val) -> c_int) -> Outcome {
    let all = values.concat();
    let one = values.first().map_or(0, Vec::len);
    let mut data = [MDBX_val { iov_len: one, ..val(&all) }, val(b"")];
    data[1].iov_len = values.len();
    let code = put(data.as_mut_ptr());
    Outcome { code, number: Some(data[1].iov_len as i64), ..Outcome::default() }
}

/// A value to be stored, or the room for one.
fn to_store(value: &[u8], flags: u32) -> MDBX_val {
    if flags & put::RESERVE != 0 {
        MDBX_val { iov_len: value.len(), iov_base: ptr::null_mut() }
    } else {
        val(value)
    }
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no zero byte")
}
