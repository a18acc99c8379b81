//! Makes the calls of a history on a library. Handles of transactions and cursors that are over are
//! kept, so that they can be misused.

use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use huon_testkit::c_calls::generate::Program;
use huon_testkit::c_calls::names::{env, go, kind, put};
use huon_testkit::c_calls::op::{CURSORS, Op, Outcome, Slot};
use huon_testkit::c_calls::run::Library;
use huon_testkit::c_calls::slots::Slots;
use lmdb::abi::*;
use tempfile::TempDir;

use crate::api::{Api, backwards, by_length, bytes, val};

const MAP_BYTES: usize = 64 << 20;
struct Cursor {
    cursor: *mut MDB_cursor,
    txn: Option<Slot>,
    is_over: bool,
}

pub(crate) struct Driver {
    api: &'static Api,
    /// Huon's files are checked at the end.
    is_ours: bool,
    dir: TempDir,
    env: *mut MDB_env,
    nosubdir: u32,
    tables_max: u32,
    readers_max: u32,
    slots: Slots<*mut MDB_txn>,
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
            assert_eq!((self.api.mdb_env_create)(&mut self.env), 0);
            assert_eq!((self.api.mdb_env_set_mapsize)(self.env, MAP_BYTES), 0);
            assert_eq!((self.api.mdb_env_set_maxdbs)(self.env, self.tables_max), 0);
            assert_eq!((self.api.mdb_env_set_maxreaders)(self.env, self.readers_max), 0);
            (self.api.mdb_env_open)(self.env, path.as_ptr(), flags, 0o644)
        }
    }

    /// Ends everything that was begun, and closes the environment.
    fn close(&mut self) {
        let txns = self.slots.outermost();
        self.slots.clear();
        for cursor in self.cursors.iter_mut().flatten().filter(|cursor| !cursor.is_over) {
            // SAFETY: it is open.
            unsafe { (self.api.mdb_cursor_close)(cursor.cursor) };
        }
        for txn in txns {
            // SAFETY: it is not over; those within it end with it.
            unsafe { (self.api.mdb_txn_abort)(txn) };
        }
        self.cursors = Default::default();
        // SAFETY: nothing is open in it any more.
        unsafe { (self.api.mdb_env_close)(self.env) };
        self.env = ptr::null_mut();
    }

    fn txn(&self, slot: Slot) -> *mut MDB_txn {
        self.slots.get(slot).unwrap_or(ptr::null_mut())
    }

    fn cursor(&self, slot: Slot) -> *mut MDB_cursor {
        self.cursors[slot].as_ref().map_or(ptr::null_mut(), |cursor| cursor.cursor)
    }

    fn begin(&mut self, slot: Slot, parent: Option<Slot>, flags: u32) -> c_int {
        let mut txn = ptr::null_mut();
        let outer = parent.map_or(ptr::null_mut(), |parent| self.txn(parent));
        // SAFETY: the pointer is good for writing.
        let code = unsafe { (self.api.mdb_txn_begin)(self.env, outer, flags, &mut txn) };
        if code == 0 {
            let writes = flags & env::RDONLY == 0;
            self.slots.begun(slot, txn, parent, writes);
            // Cursors of what was here before belong to nothing now.
            for cursor in self.cursors.iter_mut().flatten().filter(|c| c.txn == Some(slot)) {
                cursor.txn = None;
            }
        }
        code
    }

    fn end_txn(&mut self, slot: Slot, commit: bool) -> Outcome {
        let txn = self.txn(slot);
        self.slots.ends(slot);
        // SAFETY: handles of Huon's may be over; others are not used then.
        let code = unsafe {
            if commit {
                (self.api.mdb_txn_commit)(txn)
            } else {
                (self.api.mdb_txn_abort)(txn);
                0
            }
        };
        for slot in self.slots.over(slot).into_iter().filter(|slot| self.slots.writes(*slot)) {
            for cursor in self.cursors.iter_mut().flatten().filter(|c| c.txn == Some(slot)) {
                cursor.is_over = true;
            }
        }
        Outcome::code(code)
    }

    fn open_table(&mut self, slot: Slot, name: Option<&[u8]>, flags: u32, custom: bool) -> Outcome {
        let txn = self.txn(slot);
        let name = name.map(|name| CString::new(name).expect("no zero byte"));
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let (mut dbi, mut found) = (0, 0);
        self.slots.changes(slot);
        // SAFETY: a text or null; the pointers are good for writing.
        let code = unsafe {
            let mut code = (self.api.mdb_dbi_open)(txn, name, flags, &mut dbi);
            if code == 0 && custom {
                code = (self.api.mdb_set_compare)(txn, dbi, Some(by_length));
                let known = (self.api.mdb_dbi_flags)(txn, dbi, &mut found);
                if code == 0 && known == 0 && found & kind::DUPSORT != 0 {
                    code = (self.api.mdb_set_dupsort)(txn, dbi, Some(backwards));
                }
            }
            code
        };
        Outcome::with_number(code, dbi.into())
    }

    fn get(&mut self, slot: Slot, dbi: u32, key: &[u8]) -> Outcome {
        let mut found = val(b"");
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdb_get)(self.txn(slot), dbi, &mut val(key), &mut found) };
        match code {
            0 => Outcome { value: Some(self.shown(Some(slot), dbi, found)), ..Outcome::default() },
            code => Outcome::code(code),
        }
    }

    fn shown(&mut self, slot: Option<Slot>, dbi: u32, found: MDB_val) -> Vec<u8> {
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
        data: MDB_val,
    ) -> Outcome {
        if code == 0 && flags & put::RESERVE != 0 && !value.is_empty() {
            // SAFETY: the library gave a place of this size.
            unsafe {
                ptr::copy_nonoverlapping(value.as_ptr(), data.mv_data.cast::<u8>(), value.len());
            }
        }
        let exists = code == huon_testkit::c_calls::names::code::KEYEXIST
            && data.mv_data.cast_const() != value.as_ptr().cast()
            && !data.mv_data.is_null();
        let value = exists.then(|| self.shown(None, dbi, data));
        Outcome { code, value, ..Outcome::default() }
    }

    fn put(&mut self, slot: Slot, dbi: u32, key: &[u8], value: &[u8], flags: u32) -> Outcome {
        self.slots.changes(slot);
        let mut data = to_store(value, flags);
        let txn = self.txn(slot);
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdb_put)(txn, dbi, &mut val(key), &mut data, flags) };
        self.stored(code, dbi, value, flags, data)
    }

    fn del(&mut self, slot: Slot, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Outcome {
        self.slots.changes(slot);
        let mut value = value.map(val);
        let value = value.as_mut().map_or(ptr::null_mut(), |value| value as *mut MDB_val);
        // SAFETY: the values live.
        Outcome::code(unsafe { (self.api.mdb_del)(self.txn(slot), dbi, &mut val(key), value) })
    }

    fn copy(&mut self, compact: bool) -> Outcome {
        self.copies += 1;
        let target = self.dir.path().join(format!("copy{}", self.copies));
        if self.nosubdir == 0 {
            std::fs::create_dir(&target).expect("a directory");
        }
        let path = text(&target);
        // SAFETY: a text that ends with a zero byte; the pointers are good for writing.
        unsafe {
            let code = (self.api.mdb_env_copy2)(self.env, path.as_ptr(), compact.into());
            if code != 0 {
                return Outcome::code(code);
            }
            let mut copy = ptr::null_mut();
            let mut stat = MDB_stat::default();
            assert_eq!((self.api.mdb_env_create)(&mut copy), 0);
            let flags = env::RDONLY | self.nosubdir;
            assert_eq!((self.api.mdb_env_open)(copy, path.as_ptr(), flags, 0o644), 0);
            assert_eq!((self.api.mdb_env_stat)(copy, &mut stat), 0);
            (self.api.mdb_env_close)(copy);
            Outcome::number(stat.ms_entries as i64)
        }
    }

    fn env_call(&mut self, op: &Op) -> Outcome {
        let mut number = 0;
        let mut stat = MDB_stat::default();
        // SAFETY: the pointers are good for writing.
        unsafe {
            match op {
                Op::SetFlags { flags, on } => {
                    Outcome::code((self.api.mdb_env_set_flags)(self.env, *flags, (*on).into()))
                }
                Op::GetFlags => {
                    assert_eq!((self.api.mdb_env_get_flags)(self.env, &mut number), 0);
                    Outcome::number(number.into())
                }
                Op::Sync { force } => match (self.api.mdb_env_sync)(self.env, (*force).into()) {
                    0 => Outcome::number(0),
                    code => Outcome::code(code),
                },
                Op::TooLate => {
                    let first = (self.api.mdb_env_set_maxdbs)(self.env, 4);
                    let second = (self.api.mdb_env_set_maxreaders)(self.env, 4);
                    assert_eq!(first, second);
                    Outcome::code(first)
                }
                Op::EnvCount => {
                    assert_eq!((self.api.mdb_env_stat)(self.env, &mut stat), 0);
                    Outcome::number(stat.ms_entries as i64)
                }
                _ => {
                    let mut dead = 0;
                    assert_eq!((self.api.mdb_reader_check)(self.env, &mut dead), 0);
                    Outcome::number(dead.into())
                }
            }
        }
    }

    fn table_call(&mut self, op: &Op) -> Outcome {
        // SAFETY: the pointers are good for writing, the values live.
        unsafe {
            match op {
                Op::Close { dbi } => {
                    (self.api.mdb_dbi_close)(self.env, *dbi);
                    Outcome::code(0)
                }
                Op::Drop { txn, dbi, delete } => {
                    self.slots.changes(*txn);
                    Outcome::code((self.api.mdb_drop)(self.txn(*txn), *dbi, *delete))
                }
                Op::Count { txn, dbi } => {
                    let mut stat = MDB_stat::default();
                    let code = (self.api.mdb_stat)(self.txn(*txn), *dbi, &mut stat);
                    Outcome::with_number(code, stat.ms_entries as i64)
                }
                Op::Flags { txn, dbi } => {
                    let mut flags = 0;
                    let code = (self.api.mdb_dbi_flags)(self.txn(*txn), *dbi, &mut flags);
                    Outcome::with_number(code, flags.into())
                }
                Op::Compare { txn, dbi, a, b, of_values } => {
                    let compare = if *of_values { self.api.mdb_dcmp } else { self.api.mdb_cmp };
                    let order = compare(self.txn(*txn), *dbi, &val(a), &val(b));
                    Outcome::number(order.signum().into())
                }
                _ => unreachable!("{op}"),
            }
        }
    }

    // ---- cursors

    fn cursor_open(&mut self, slot: Slot, dbi: u32, at: Slot) -> Outcome {
        let mut cursor = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        let code = unsafe { (self.api.mdb_cursor_open)(self.txn(slot), dbi, &mut cursor) };
        if code == 0 {
            self.cursors[at] = Some(Cursor { cursor, txn: Some(slot), is_over: false });
        }
        Outcome::code(code)
    }

    fn cursor_call(&mut self, op: &Op) -> Outcome {
        // SAFETY: the pointers are good for writing.
        unsafe {
            match op {
                Op::CursorClose { cursor } => {
                    (self.api.mdb_cursor_close)(self.cursor(*cursor));
                    if let Some(cursor) = &mut self.cursors[*cursor] {
                        cursor.is_over = true;
                    }
                    Outcome::code(0)
                }
                Op::CursorRenew { txn, cursor } => {
                    let slot = *txn;
                    let code = (self.api.mdb_cursor_renew)(self.txn(slot), self.cursor(*cursor));
                    if let (0, Some(cursor)) = (code, &mut self.cursors[*cursor]) {
                        cursor.txn = Some(slot);
                    }
                    Outcome::code(code)
                }
                Op::CursorOf { cursor } => {
                    let cursor = self.cursor(*cursor);
                    let txn = (self.api.mdb_cursor_txn)(cursor);
                    let slot = self.slots.slot_of(txn).map_or(0, |slot| slot as i64 + 1);
                    Outcome::number(slot * 1000 + i64::from((self.api.mdb_cursor_dbi)(cursor)))
                }
                Op::CursorDel { cursor, flags } => {
                    self.cursor_changes(*cursor);
                    Outcome::code((self.api.mdb_cursor_del)(self.cursor(*cursor), *flags))
                }
                Op::CursorCount { cursor } => {
                    let mut count = 0;
                    let code = (self.api.mdb_cursor_count)(self.cursor(*cursor), &mut count);
                    Outcome::with_number(code, count as i64)
                }
                _ => unreachable!("{op}"),
            }
        }
    }

    fn cursor_changes(&mut self, at: Slot) {
        if let Some(Cursor { txn: Some(txn), .. }) = self.cursors[at] {
            self.slots.changes(txn);
        }
    }

    /// The table of a cursor that may be over.
    fn dbi_of(&self, at: Slot) -> u32 {
        match &self.cursors[at] {
            // SAFETY: it is open.
            Some(cursor) if !cursor.is_over => unsafe { (self.api.mdb_cursor_dbi)(cursor.cursor) },
            _ => 0,
        }
    }

    fn cursor_get(&mut self, at: Slot, op: u32, key: &[u8], value: &[u8]) -> Outcome {
        let (mut key, mut value) = (val(key), val(value));
        let own = key.mv_data;
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdb_cursor_get)(self.cursor(at), &mut key, &mut value, op) };
        if code != 0 {
            return Outcome::code(code);
        }
        let dbi = self.dbi_of(at);
        let several = [go::GET_MULTIPLE, go::NEXT_MULTIPLE, go::PREV_MULTIPLE].contains(&op);
        let slot = self.cursors[at].as_ref().and_then(|cursor| cursor.txn);
        // A copy that the cursor keeps, which may be as long as a name's record.
        let (slot, dbi) = if several { (None, 0) } else { (slot, dbi) };
        let moved = key.mv_data != own;
        // A search among the values of a key knows the key.
        use go::*;
        let known = [GET_BOTH, GET_BOTH_RANGE, FIRST_DUP, LAST_DUP].contains(&op) || several;
        let key = (moved && !known).then(|| self.shown(slot, 0, key));
        Outcome { key, value: Some(self.shown(slot, dbi, value)), ..Outcome::default() }
    }

    fn cursor_put(&mut self, at: Slot, key: &[u8], value: &[u8], flags: u32) -> Outcome {
        self.cursor_changes(at);
        let mut data = to_store(value, flags);
        let cursor = self.cursor(at);
        // SAFETY: the values live.
        let code = unsafe { (self.api.mdb_cursor_put)(cursor, &mut val(key), &mut data, flags) };
        let dbi = self.dbi_of(at);
        self.stored(code, dbi, value, flags, data)
    }

    fn cursor_put_many(&mut self, at: Slot, key: &[u8], values: &[Vec<u8>], flags: u32) -> Outcome {
        self.cursor_changes(at);
        let all = values.concat();
        let one = values.first().map_or(0, Vec::len);
        let mut data = [MDB_val { mv_size: one, ..val(&all) }, val(b"")];
        data[1].mv_size = values.len();
        let (cursor, flags) = (self.cursor(at), flags | put::MULTIPLE);
        // SAFETY: two values, as the flag needs them.
        let code =
            unsafe { (self.api.mdb_cursor_put)(cursor, &mut val(key), data.as_mut_ptr(), flags) };
        Outcome { code, number: Some(data[1].mv_size as i64), ..Outcome::default() }
    }
}

impl Library for Driver {
    fn call(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Reopen { flags } => {
                self.close();
                Outcome::code(self.open(*flags | self.nosubdir))
            }
            Op::Copy { compact } => self.copy(*compact),
            Op::Begin { txn, parent, flags, .. } => {
                Outcome::code(self.begin(*txn, *parent, *flags))
            }
            Op::Commit { txn } => self.end_txn(*txn, true),
            Op::Abort { txn } => self.end_txn(*txn, false),
            Op::Reset { txn } => {
                self.slots.reader_ends(*txn);
                // SAFETY: handles of Huon's may be over; others are not used then.
                unsafe { (self.api.mdb_txn_reset)(self.txn(*txn)) };
                Outcome::code(0)
            }
            Op::Renew { txn, .. } => {
                // SAFETY: as above.
                Outcome::code(unsafe { (self.api.mdb_txn_renew)(self.txn(*txn)) })
            }
            Op::TxnId { txn } => {
                // SAFETY: as above.
                let id = unsafe { (self.api.mdb_txn_id)(self.txn(*txn)) };
                Outcome::number(id as i64)
            }
            Op::Open { txn, name, flags, custom } => {
                self.open_table(*txn, name.as_deref(), *flags, *custom)
            }
            Op::Close { .. }
            | Op::Drop { .. }
            | Op::Count { .. }
            | Op::Flags { .. }
            | Op::Compare { .. } => self.table_call(op),
            Op::Get { txn, dbi, key } => self.get(*txn, *dbi, key),
            Op::Put { txn, dbi, key, value, flags } => self.put(*txn, *dbi, key, value, *flags),
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
            Op::CursorOpen { txn, dbi, cursor } => self.cursor_open(*txn, *dbi, *cursor),
            Op::CursorGet { cursor, op, key, value } => self.cursor_get(*cursor, *op, key, value),
            Op::CursorPut { cursor, key, value, flags } => {
                self.cursor_put(*cursor, key, value, *flags)
            }
            Op::CursorPutMany { cursor, key, values, flags } => {
                self.cursor_put_many(*cursor, key, values, *flags)
            }
            Op::CursorClose { .. }
            | Op::CursorRenew { .. }
            | Op::CursorOf { .. }
            | Op::CursorDel { .. }
            | Op::CursorCount { .. } => self.cursor_call(op),
            _ => self.env_call(op),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.close();
        if !self.is_ours {
            return Ok(());
        }
        let file = if self.nosubdir != 0 { "data" } else { "data.mdb" };
        let mut options = huon::Env::options();
        let opened = options.read_only(true).open(self.dir.path().join(file));
        huon_testkit::audit::audit(&opened.map_err(|e| e.to_string())?).map(drop)
    }
}

/// A value to be stored, or the room for one.
fn to_store(value: &[u8], flags: u32) -> MDB_val {
    if flags & put::RESERVE != 0 {
        MDB_val { mv_size: value.len(), mv_data: ptr::null_mut() }
    } else {
        val(value)
    }
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no zero byte")
}
