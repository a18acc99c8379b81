//! Short words for calls.

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;
use std::ptr;

pub(crate) use huon_capi::*;
use tempfile::TempDir;

pub(crate) type Txn = *mut huon_txn;

/// What a call gives through a pointer, or its code.
pub(crate) fn get<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> c_int) -> Result<T, c_int> {
    let mut room = MaybeUninit::uninit();
    match call(Some(&mut room)) {
        // SAFETY: a call that succeeds has written it.
        HUON_OK => Ok(unsafe { room.assume_init() }),
        code => Err(code),
    }
}

pub(crate) fn ok(code: c_int) {
    assert_eq!(code, HUON_OK, "{}", message());
}

/// The message of this thread's last error.
pub(crate) fn message() -> String {
    // SAFETY: it ends with a zero byte.
    unsafe { CStr::from_ptr(huon_error_message()) }.to_str().unwrap().to_owned()
}

pub(crate) fn of(bytes: &(impl AsRef<[u8]> + ?Sized)) -> huon_bytes<'_> {
    huon_bytes::of(bytes.as_ref())
}

/// What C would read.
pub(crate) fn seen(bytes: huon_bytes<'_>) -> Option<Vec<u8>> {
    #[repr(C)]
    struct Raw(*const u8, usize);
    // SAFETY: the layouts are the same, and what is shown is still there.
    unsafe {
        let Raw(data, len) = std::mem::transmute::<huon_bytes<'_>, Raw>(bytes);
        (!data.is_null()).then(|| std::slice::from_raw_parts(data, len).to_vec())
    }
}

pub(crate) fn seen_pair(pair: huon_pair<'_>) -> (String, String) {
    let text = |bytes| String::from_utf8(seen(bytes).unwrap()).unwrap();
    (text(pair.key), text(pair.value))
}

pub(crate) struct Env {
    pub(crate) env: *mut huon_env,
    pub(crate) dir: TempDir,
}

impl Env {
    pub(crate) fn new() -> Env {
        let dir = tempfile::tempdir().unwrap();
        let env = open(&dir, ptr::null_mut()).unwrap();
        ok(huon_set(env, HUON_DURABILITY, HUON_LAZY as u64));
        Env { env, dir }
    }

    pub(crate) fn read(&self) -> Txn {
        get(|txn| huon_begin_read(self.env, txn)).unwrap()
    }

    pub(crate) fn write(&self) -> Txn {
        get(|txn| huon_begin_write(self.env, 1000, txn)).unwrap()
    }

    /// A table with these records.
    pub(crate) fn table(&self, records: &[(&str, &str)]) -> huon_table {
        let txn = self.write();
        let table = create(txn, "t").unwrap();
        records.iter().for_each(|(key, value)| ok(put(txn, table, key, value)));
        ok(huon_commit(txn));
        table
    }
}

pub(crate) fn path(dir: &TempDir) -> CString {
    CString::new(dir.path().join("a.huon").to_str().unwrap()).unwrap()
}

pub(crate) fn open(dir: &TempDir, options: *mut huon_options) -> Result<*mut huon_env, c_int> {
    // SAFETY: the path ends with a zero byte.
    get(|env| unsafe { huon_open(path(dir).as_ptr(), options, env) })
}

pub(crate) fn create(txn: Txn, name: &str) -> Result<huon_table, c_int> {
    // SAFETY: there are no options.
    get(|table| unsafe { huon_table_create(txn, of(name), ptr::null(), table) })
}

pub(crate) fn multi(txn: Txn, name: &str) -> Result<huon_multi, c_int> {
    // SAFETY: there are no options.
    get(|multi| unsafe { huon_multi_create(txn, of(name), ptr::null(), multi) })
}

pub(crate) fn put(txn: Txn, table: huon_table, key: &str, value: &str) -> c_int {
    huon_put(txn, table, of(key), of(value), None)
}

pub(crate) fn value(txn: Txn, table: huon_table, key: &str) -> Result<String, c_int> {
    get(|value| huon_get(txn, table, of(key), value))
        .map(|value| String::from_utf8(seen(value).unwrap()).unwrap())
}

/// What a cursor shows from here on, some records a call.
pub(crate) fn rest(cursor: *mut huon_cursor, txn: Txn, back: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    loop {
        let mut pairs = [huon_pair::of(b"", b""); 3];
        let all = if back { huon_cursor_prev_many } else { huon_cursor_next_many };
        // SAFETY: there is room for so many.
        match get(|count| unsafe { all(cursor, txn, pairs.as_mut_ptr(), pairs.len(), count) }) {
            Ok(count) => found.extend(pairs[..count].iter().map(|pair| seen_pair(*pair))),
            Err(code) => {
                assert_eq!(code, HUON_NOT_FOUND, "{}", message());
                return found;
            }
        }
    }
}

pub(crate) fn range<'a>(flags: u32, from: &'a str, to: &'a str) -> huon_range<'a> {
    huon_range { flags, from: of(from), to: of(to) }
}
