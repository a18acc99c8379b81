//! SQLite through its C interface: one table of blobs, without row numbers.
//!
//! A connection is used by one thread at a time, so each read transaction borrows one of its own
//! from a pool. One connection writes; writers wait for it. The snapshot of a read transaction is
//! that of its first read.
//!
//! 1. A connection is open, and its statements belong to it, until both are dropped, the statements
//!    first.
//! 2. Between transactions no statement is under way: the code that stepped one resets it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Engine, Mode, Read, Result, Setup, Way, Write};

const MAP_BYTES: usize = 2 << 30;

/// Bytes of the file that are mapped. None where memory is short: the kernel would read ahead in
/// the map, and SQLite cannot turn that off.
fn map_bytes(setup: &Setup) -> usize {
    if setup.cache_bytes < MAP_BYTES { 0 } else { MAP_BYTES }
}

mod ffi {
    use super::{c_char, c_int, c_void};

    #[repr(C)]
    pub(super) struct Db {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub(super) struct Statement {
        _private: [u8; 0],
    }

    pub(super) const ROW: c_int = 100;
    pub(super) const DONE: c_int = 101;
    pub(super) const OPEN_READWRITE: c_int = 0x2;
    pub(super) const OPEN_CREATE: c_int = 0x4;
    /// Nothing locks the connection: it is used by one thread at a time.
    pub(super) const OPEN_NOMUTEX: c_int = 0x8000;
    pub(super) const PREPARE_PERSISTENT: u32 = 0x1;

    unsafe extern "C" {
        pub(super) fn sqlite3_libversion() -> *const c_char;
        pub(super) fn sqlite3_open_v2(
            name: *const c_char,
            db: *mut *mut Db,
            flags: c_int,
            vfs: *const c_char,
        ) -> c_int;
        pub(super) fn sqlite3_close(db: *mut Db) -> c_int;
        pub(super) fn sqlite3_errmsg(db: *mut Db) -> *const c_char;
        pub(super) fn sqlite3_busy_timeout(db: *mut Db, milliseconds: c_int) -> c_int;
        pub(super) fn sqlite3_changes(db: *mut Db) -> c_int;
        pub(super) fn sqlite3_exec(
            db: *mut Db,
            sql: *const c_char,
            callback: *const c_void,
            argument: *mut c_void,
            error: *mut *mut c_char,
        ) -> c_int;
        pub(super) fn sqlite3_prepare_v3(
            db: *mut Db,
            sql: *const c_char,
            bytes: c_int,
            flags: u32,
            statement: *mut *mut Statement,
            tail: *mut *const c_char,
        ) -> c_int;
        pub(super) fn sqlite3_finalize(statement: *mut Statement) -> c_int;
        /// With no function to free the bytes they stay the caller's.
        pub(super) fn sqlite3_bind_blob(
            statement: *mut Statement,
            at: c_int,
            bytes: *const c_void,
            count: c_int,
            free: *const c_void,
        ) -> c_int;
        pub(super) fn sqlite3_step(statement: *mut Statement) -> c_int;
        pub(super) fn sqlite3_reset(statement: *mut Statement) -> c_int;
        pub(super) fn sqlite3_column_blob(statement: *mut Statement, at: c_int) -> *const c_void;
        pub(super) fn sqlite3_column_bytes(statement: *mut Statement, at: c_int) -> c_int;
    }
}

/// One SQLite file.
pub(crate) struct Sqlite {
    path: PathBuf,
    setup: Setup,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

impl Engine for Sqlite {
    const NAME: &'static str = "sqlite";
    type Read<'e> = Reader<'e>;
    type Write<'e> = Writer<'e>;

    fn version() -> String {
        // SAFETY: a static string.
        unsafe { CStr::from_ptr(ffi::sqlite3_libversion()) }.to_string_lossy().into_owned()
    }

    fn options(setup: &Setup) -> String {
        let broken = match setup.mode {
            Mode::Durable => "",
            Mode::Lazy | Mode::Unsynced => " (a crash of the system may break the file)",
        };
        format!(
            "WITHOUT ROWID, WAL, {} GiB mmap, {} MiB cache, prepared statements; synchronous = \
             {}{broken}",
            map_bytes(setup) >> 30,
            setup.cache_bytes >> 20,
            synchronous(setup.mode)
        )
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Sqlite> {
        let path = dir.join("bench.sqlite");
        let writer = Mutex::new(Connection::open(&path, setup)?);
        Ok(Sqlite { path, setup: setup.clone(), writer, readers: Mutex::new(Vec::new()) })
    }

    fn read(&self) -> Result<Reader<'_>> {
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => Connection::open(&self.path, &self.setup)?,
        };
        connection.statements.begin.run(&connection)?;
        Ok(Reader { engine: self, connection: Some(connection) })
    }

    fn write(&self) -> Result<Writer<'_>> {
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        connection.statements.begin_immediate.run(&connection)?;
        Ok(Writer { connection, under_way: true })
    }

    /// Commits a page with a flush of the log (the header, which is written even if nothing in it
    /// changes), and checkpoints with a flush of the file, which makes earlier ones durable too.
    fn sync(&self) -> Result<()> {
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        connection.run(&format!(
            "PRAGMA synchronous = FULL; PRAGMA user_version = 1; \
             PRAGMA wal_checkpoint(FULL); PRAGMA synchronous = {}",
            synchronous(self.setup.mode)
        ))
    }

    fn close(self) -> Result<()> {
        let readers = self.readers.into_inner().unwrap_or_else(PoisonError::into_inner);
        readers.into_iter().try_for_each(Connection::close)?;
        self.writer.into_inner().unwrap_or_else(PoisonError::into_inner).close()
    }
}

fn synchronous(mode: Mode) -> &'static str {
    match mode {
        Mode::Durable => "FULL",
        Mode::Lazy | Mode::Unsynced => "OFF",
    }
}

/// A connection with its prepared statements.
struct Connection {
    // Dropped first (1).
    statements: Statements,
    raw: Raw,
}

struct Statements {
    begin: Statement,
    begin_immediate: Statement,
    commit: Statement,
    rollback: Statement,
    get: Statement,
    put: Statement,
    delete: Statement,
    up: Statement,
    up_from: Statement,
    down: Statement,
    down_from: Statement,
}

// SAFETY: SQLite allows that a connection and its statements move to another thread, if one thread
// uses them at a time; nothing else points to them.
unsafe impl Send for Connection {}

impl Connection {
    /// Opens the file, or creates it with its table.
    fn open(path: &Path, setup: &Setup) -> Result<Connection> {
        let raw = Raw::open(path)?;
        raw.run(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {}; PRAGMA mmap_size = {}; \
             PRAGMA cache_size = -{}; \
             CREATE TABLE IF NOT EXISTS t (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID",
            synchronous(setup.mode),
            map_bytes(setup),
            setup.cache_bytes >> 10
        ))?;
        let statements = Statements {
            begin: raw.prepare(c"BEGIN")?,
            begin_immediate: raw.prepare(c"BEGIN IMMEDIATE")?,
            commit: raw.prepare(c"COMMIT")?,
            rollback: raw.prepare(c"ROLLBACK")?,
            get: raw.prepare(c"SELECT v FROM t WHERE k = ?1")?,
            put: raw.prepare(c"REPLACE INTO t VALUES (?1, ?2)")?,
            delete: raw.prepare(c"DELETE FROM t WHERE k = ?1")?,
            up: raw.prepare(c"SELECT k, v FROM t ORDER BY k")?,
            up_from: raw.prepare(c"SELECT k, v FROM t WHERE k >= ?1 ORDER BY k")?,
            down: raw.prepare(c"SELECT k, v FROM t ORDER BY k DESC")?,
            down_from: raw.prepare(c"SELECT k, v FROM t WHERE k <= ?1 ORDER BY k DESC")?,
        };
        Ok(Connection { statements, raw })
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let statement = self.statements.get.start(&self.raw);
        statement.bind(1, key)?;
        Ok(if statement.step()? { Some(look(statement.blob(0))) } else { None })
    }

    fn close(self) -> Result<()> {
        let Connection { statements, raw } = self;
        drop(statements);
        // SAFETY: its statements are gone, and no other code has the connection.
        let code = unsafe { ffi::sqlite3_close(raw.0) };
        if code == 0 {
            std::mem::forget(raw);
            return Ok(());
        }
        Err(raw.error())
    }
}

impl Deref for Connection {
    type Target = Raw;

    fn deref(&self) -> &Raw {
        &self.raw
    }
}

/// An open connection.
struct Raw(*mut ffi::Db);

impl Raw {
    fn open(path: &Path) -> Result<Raw> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        let flags = ffi::OPEN_READWRITE | ffi::OPEN_CREATE | ffi::OPEN_NOMUTEX;
        let mut db = ptr::null_mut();
        // SAFETY: the name ends with a zero byte; a null VFS is the usual one.
        let code = unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &mut db, flags, ptr::null()) };
        // A connection that could not be opened is closed like any other.
        let raw = Raw(db);
        raw.check(code)?;
        // SAFETY: the connection is open (1).
        raw.check(unsafe { ffi::sqlite3_busy_timeout(raw.0, 10_000) })?;
        Ok(raw)
    }

    /// Runs SQL whose answers do not matter.
    fn run(&self, sql: &str) -> Result<()> {
        let sql = CString::new(sql)?;
        let none = (ptr::null(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the connection is open (1), and the text ends with a zero byte.
        let code = unsafe { ffi::sqlite3_exec(self.0, sql.as_ptr(), none.0, none.1, none.2) };
        self.check(code)
    }

    fn prepare(&self, sql: &CStr) -> Result<Statement> {
        let (flags, mut statement) = (ffi::PREPARE_PERSISTENT, ptr::null_mut());
        // SAFETY: the connection is open (1); a length of -1 says that the text ends with a zero
        // byte.
        let code = unsafe {
            let sql = sql.as_ptr();
            ffi::sqlite3_prepare_v3(self.0, sql, -1, flags, &mut statement, ptr::null_mut())
        };
        self.check(code)?;
        Ok(Statement(statement))
    }

    fn check(&self, code: c_int) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.error()) }
    }

    /// What SQLite says of the last call.
    fn error(&self) -> Box<dyn std::error::Error + Send + Sync> {
        // SAFETY: SQLite has a text for a failed open, too, and it stays until the next call.
        let text = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.0)) };
        format!("SQLite: {}", text.to_string_lossy()).into()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, closed only here or in `close`, which forgets it.
        unsafe { ffi::sqlite3_close(self.0) };
    }
}

/// A prepared statement.
struct Statement(*mut ffi::Statement);

impl Statement {
    /// The statement, for as long as it is under way.
    fn start<'s>(&'s self, raw: &'s Raw) -> Started<'s> {
        Started { statement: self.0, raw }
    }

    /// Runs it to its end; it has no parameters.
    fn run(&self, raw: &Raw) -> Result<()> {
        self.start(raw).step().map(drop)
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: prepared in `prepare`, finalized only here, before its connection is closed (1).
        unsafe { ffi::sqlite3_finalize(self.0) };
    }
}

/// A statement that is under way; reset when dropped (2).
struct Started<'s> {
    statement: *mut ffi::Statement,
    raw: &'s Raw,
}

impl Started<'_> {
    /// Gives a parameter its value, which must live until this is dropped.
    fn bind(&self, at: c_int, bytes: &[u8]) -> Result<()> {
        let count = c_int::try_from(bytes.len())?;
        // SAFETY: the statement is live and at its begin. The bytes are as many as said and live
        // as long as it runs, as the callers in this file see to; before it runs again they are
        // bound anew.
        let code = unsafe {
            let bytes = bytes.as_ptr().cast();
            ffi::sqlite3_bind_blob(self.statement, at, bytes, count, ptr::null())
        };
        self.raw.check(code)
    }

    /// One row on; whether there is one.
    fn step(&self) -> Result<bool> {
        // SAFETY: the statement is live, and what is bound lives.
        match unsafe { ffi::sqlite3_step(self.statement) } {
            ffi::ROW => Ok(true),
            ffi::DONE => Ok(false),
            _ => Err(self.raw.error()),
        }
    }

    /// A column of the row that the statement is at.
    fn blob(&self, at: c_int) -> &[u8] {
        // SAFETY: the bytes stay until the next step; the callers in this file have let go of them
        // by then. An empty blob is null.
        unsafe {
            let bytes = ffi::sqlite3_column_blob(self.statement, at);
            let count = ffi::sqlite3_column_bytes(self.statement, at);
            if bytes.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(bytes.cast(), count as usize)
        }
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement is live. What a reset answers is what the last step said already.
        unsafe { ffi::sqlite3_reset(self.statement) };
    }
}

/// A read transaction on a connection from the pool.
pub(crate) struct Reader<'e> {
    engine: &'e Sqlite,
    /// There until it goes back to the pool.
    connection: Option<Connection>,
}

impl Reader<'_> {
    fn connection(&mut self) -> Result<&mut Connection> {
        self.connection.as_mut().ok_or_else(|| "SQLite: the connection is gone".into())
    }
}

impl Read for Reader<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.connection()?.get(key, look)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let connection = self.connection()?;
        let statement = match (way, from) {
            (Way::Up, None) => &connection.statements.up,
            (Way::Up, Some(_)) => &connection.statements.up_from,
            (Way::Down, None) => &connection.statements.down,
            (Way::Down, Some(_)) => &connection.statements.down_from,
        };
        let statement = statement.start(&connection.raw);
        if let Some(from) = from {
            statement.bind(1, from)?;
        }
        let mut count = 0;
        while count < limit && statement.step()? {
            look(statement.blob(0), statement.blob(1));
            count += 1;
        }
        Ok(count)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // A connection that cannot end its transaction is of no further use.
        if let Some(connection) = self.connection.take()
            && connection.statements.commit.run(&connection).is_ok()
        {
            let mut readers = self.engine.readers.lock().unwrap_or_else(PoisonError::into_inner);
            readers.push(connection);
        }
    }
}

/// A write transaction on the one connection that writes.
pub(crate) struct Writer<'e> {
    connection: MutexGuard<'e, Connection>,
    under_way: bool,
}

impl Write for Writer<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let statement = self.connection.statements.put.start(&self.connection);
        statement.bind(1, key)?;
        statement.bind(2, value)?;
        statement.step().map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let statement = self.connection.statements.delete.start(&self.connection);
        statement.bind(1, key)?;
        statement.step()?;
        // SAFETY: the connection is open (1).
        Ok(unsafe { ffi::sqlite3_changes(self.connection.raw.0) } > 0)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.connection.deref_mut().get(key, look)
    }

    fn commit(mut self) -> Result<()> {
        self.connection.statements.commit.run(&self.connection)?;
        self.under_way = false;
        Ok(())
    }

    fn abort(mut self) -> Result<()> {
        self.under_way = false;
        self.connection.statements.rollback.run(&self.connection)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.under_way {
            // A drop cannot return the error, and the next transaction would fail to begin.
            let _ = self.connection.statements.rollback.run(&self.connection);
        }
    }
}
