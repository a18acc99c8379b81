//! Transactions as C holds them.
//!
//! X1. A nested transaction is a level of the one write transaction, which all of its family share;
//!     only the innermost may be used.
//! X2. Nobody waits here: who comes while another thread is at work in the same transaction, or
//!     from within a comparator, is refused.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError, Weak,
};

use huon::{ReadTxn, WriteTxn};

use crate::codes::{Code, Res};
use crate::cursor::Cursor;
use crate::data::Reserved;
use crate::dbi::TableRecord;
use crate::env::{Env, id_of};
use crate::flags::env::{NOTLS, RDONLY, WRITEMAP};
use crate::place::Place;

/// Below this nothing can be stored.
const UPPER_BYTES_MIN: u64 = 16 << 10;

pub(crate) struct Txn {
    pub(crate) env: Arc<Env>,
    pub(crate) env_handle: usize,
    /// Its own handle, once it has one.
    handle: OnceLock<usize>,
    /// The transactions it is nested in, outermost first.
    parents: Vec<usize>,
    body: Body,
}

enum Body {
    Read(Box<RwLock<Reader>>),
    Write(Arc<Mutex<Writer>>),
}

/// The inside of a read transaction.
pub(crate) struct Reader {
    txn: Option<ReadTxn>,
    is_reset: bool,
    /// Set while its thread reads, where a thread may have one read transaction only.
    thread: Option<Arc<AtomicBool>>,
    records: Mutex<Records>,
}

/// The inside of a write transaction and all nested in it.
pub(crate) struct Writer {
    txn: Option<WriteTxn>,
    levels: Vec<Level>,
    pub(crate) reserved: Option<Reserved>,
    pub(crate) cursors: Vec<Weak<Cursor>>,
    records: Mutex<Records>,
    /// Whether the innermost transaction can only be aborted.
    has_failed: bool,
}

struct Level {
    handle: usize,
    /// Where the cursors stood when it began.
    places: Vec<(Weak<Cursor>, Place)>,
}

/// What a transaction has shown as the records of named databases.
type Records = BTreeMap<Vec<u8>, Box<TableRecord>>;

/// A transaction in use.
pub(crate) enum Access<'a> {
    Read(RwLockReadGuard<'a, Reader>),
    Write(MutexGuard<'a, Writer>),
}

/// Does something with the engine's transaction, whichever it is.
macro_rules! in_txn {
    ($access:expr, $txn:ident => $work:expr) => {
        match $access {
            $crate::txn::Access::Read(reader) => {
                let $txn = reader.txn()?;
                $work
            }
            $crate::txn::Access::Write(writer) => {
                let $txn = writer.txn()?;
                $work
            }
        }
    };
}
pub(crate) use in_txn;

impl Access<'_> {
    /// Whether it has let go of its snapshot, and may have another one.
    pub(crate) fn is_reset(&self) -> bool {
        matches!(self, Access::Read(reader) if reader.is_reset)
    }

    /// Keeps the record that stands for a named database, as long as the transaction lives.
    pub(crate) fn keep_record(&self, name: &[u8], record: TableRecord) -> *const u8 {
        let records = match self {
            Access::Read(reader) => &reader.records,
            Access::Write(writer) => &writer.records,
        };
        let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = records.entry(name.to_vec()).or_insert_with(|| Box::new([0; 48]));
        **kept = record;
        kept.as_ptr()
    }
}

impl Txn {
    pub(crate) fn begin(
        env: &Arc<Env>,
        env_handle: usize,
        parent: Option<(usize, Arc<Txn>)>,
        flags: u32,
    ) -> Res<Txn> {
        let read_only = env.flags() & RDONLY != 0;
        if read_only && flags & RDONLY == 0 {
            return Err(Code::EACCES);
        }
        let made = |parents, body| Txn {
            env: env.clone(),
            env_handle,
            handle: OnceLock::new(),
            parents,
            body,
        };
        if let Some((handle, parent)) = parent {
            let writer = parent.nest(flags)?;
            let parents = parent.parents.iter().copied().chain([handle]).collect();
            return Ok(made(parents, Body::Write(writer)));
        }
        let body = match flags & RDONLY != 0 {
            true => Body::Read(Box::new(RwLock::new(Reader::begin(env, env_handle)?))),
            false => Body::Write(Arc::new(Mutex::new(Writer::begin(env)?))),
        };
        env.live.fetch_add(1, Ordering::AcqRel);
        Ok(made(Vec::new(), body))
    }

    fn nest(&self, flags: u32) -> Res<Arc<Mutex<Writer>>> {
        let Body::Write(shared) = &self.body else { return Err(Code::EINVAL) };
        if flags & RDONLY != 0 || self.env.flags() & WRITEMAP != 0 {
            return Err(Code::BAD_TXN);
        }
        let mut writer = self.writer()?;
        let depth = self.depth() + 1;
        writer.txn_mut()?.savepoint(depth.to_le_bytes())?;
        let places = writer.places();
        writer.levels.push(Level { handle: 0, places });
        Ok(shared.clone())
    }

    /// Tells it its handle.
    pub(crate) fn set_handle(&self, handle: usize) {
        let _ = self.handle.set(handle);
        if let (Body::Write(writer), true) = (&self.body, self.depth() > 0) {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(level) = writer.levels.get_mut(self.depth() - 1) {
                level.handle = handle;
            }
        }
    }

    pub(crate) fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// How many transactions it is nested in.
    fn depth(&self) -> usize {
        self.parents.len()
    }

    /// Whether it is the transaction of that handle, or nested in it.
    pub(crate) fn is_within(&self, handle: usize) -> bool {
        handle == self.handle() || self.parents.contains(&handle)
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self.body, Body::Write(_))
    }

    pub(crate) fn id(&self) -> Res<u64> {
        match &self.body {
            Body::Read(reader) => {
                let reader = reader.try_read().map_err(|_| Code::BAD_TXN)?;
                Ok(id_of(reader.txn()?.id()))
            }
            // Also while another is nested in it.
            Body::Write(writer) => Ok(id_of(try_lock(writer)?.txn()?.id())),
        }
    }

    /// The transaction for a look at something.
    pub(crate) fn access(&self) -> Res<Access<'_>> {
        if self.env.closed.load(Ordering::Acquire) {
            return Err(Code::BAD_TXN);
        }
        match &self.body {
            Body::Read(reader) => match reader.try_read() {
                Ok(reader) => Ok(Access::Read(reader)),
                Err(_) => Err(Code::BAD_TXN),
            },
            Body::Write(_) => self.writer().map(Access::Write),
        }
    }

    /// The transaction for a change.
    pub(crate) fn writer(&self) -> Res<MutexGuard<'_, Writer>> {
        let Body::Write(writer) = &self.body else { return Err(Code::EACCES) };
        if self.env.closed.load(Ordering::Acquire) {
            return Err(Code::BAD_TXN);
        }
        let mut writer = try_lock(writer)?;
        let own = writer.levels.len() == self.depth()
            && writer.levels.last().is_none_or(|level| level.handle == self.handle());
        if !own || writer.has_failed {
            return Err(Code::BAD_TXN);
        }
        writer.settle()?;
        Ok(writer)
    }

    fn reader(&self) -> Res<RwLockWriteGuard<'_, Reader>> {
        let Body::Read(reader) = &self.body else { return Err(Code::EINVAL) };
        match reader.try_write() {
            Ok(reader) => Ok(reader),
            Err(TryLockError::Poisoned(reader)) => Ok(reader.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Code::BAD_TXN),
        }
    }

    /// Lets go of the snapshot, and may have another one later.
    pub(crate) fn reset(&self) -> Res<()> {
        let mut reader = self.reader()?;
        if reader.txn.take().is_some() {
            reader.is_reset = true;
            reader.end(&self.env);
            self.env.resting.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    pub(crate) fn renew(&self) -> Res<()> {
        let mut reader = self.reader()?;
        if reader.txn.is_some() || !reader.is_reset {
            return Err(Code::EINVAL);
        }
        let fresh = Reader::begin(&self.env, self.env_handle)?;
        self.env.resting.fetch_sub(1, Ordering::AcqRel);
        let records = std::mem::take(&mut reader.records);
        *reader = Reader { records, ..fresh };
        Ok(())
    }

    /// Ends it.
    pub(crate) fn end(&self, commit: bool) -> Ended {
        match &self.body {
            Body::Read(_) => Ended::alone(self.end_read(commit)),
            Body::Write(writer) => match try_lock(writer) {
                Ok(mut writer) if self.depth() == 0 => self.end_root(&mut writer, commit),
                Ok(mut writer) => self.end_level(&mut writer, commit),
                Err(code) => Ended::alone(Err(code)),
            },
        }
    }

    fn end_read(&self, commit: bool) -> Res<()> {
        let mut reader = self.reader()?;
        if reader.txn.take().is_some() {
            reader.end(&self.env);
        } else if std::mem::take(&mut reader.is_reset) {
            self.env.resting.fetch_sub(1, Ordering::AcqRel);
        }
        self.env.dbis_mut().end_of(self.handle(), commit.then_some(0));
        self.env.live.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }

    fn end_root(&self, writer: &mut Writer, commit: bool) -> Ended {
        let txns: Vec<usize> = writer.levels.drain(..).map(|level| level.handle).collect();
        let cursors = writer.cursors.drain(..).filter_map(|cursor| cursor.upgrade());
        let cursors = cursors.map(|cursor| cursor.handle()).collect();
        let settled = if commit { writer.ready() } else { Ok(()) };
        writer.reserved = None;
        let Some(txn) = writer.txn.take() else { return Ended::alone(Err(Code::BAD_TXN)) };
        let result = match commit {
            true => settled.and_then(|()| Ok(txn.commit().map(drop)?)),
            false => {
                txn.abort();
                Ok(())
            }
        };
        let done = commit && result.is_ok();
        let mut dbis = self.env.dbis_mut();
        for &handle in txns.iter().chain([&self.handle()]) {
            dbis.end_of(handle, done.then_some(0));
        }
        drop(dbis);
        *self.env.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.env.live.fetch_sub(1, Ordering::AcqRel);
        Ended { result, txns, cursors }
    }

    fn end_level(&self, writer: &mut Writer, commit: bool) -> Ended {
        let at = self.depth() - 1;
        if writer.levels.get(at).is_none_or(|level| level.handle != self.handle()) {
            return Ended::alone(Err(Code::BAD_TXN));
        }
        let name = self.depth().to_le_bytes();
        let settled = if commit { writer.ready() } else { Ok(()) };
        writer.reserved = None;
        writer.has_failed = false;
        let mut ended: Vec<Level> = writer.levels.drain(at..).collect();
        let result = writer.end_level(name, commit, settled);
        let done = commit && result.is_ok();
        let txns: Vec<usize> = ended.iter().map(|level| level.handle).collect();
        if !done {
            writer.restore(ended.swap_remove(0).places);
        }
        let owner = done.then(|| self.parents.last().copied().unwrap_or(0));
        let mut dbis = self.env.dbis_mut();
        txns.iter().for_each(|&handle| dbis.end_of(handle, owner));
        drop(dbis);
        let cursors = writer.cursors_of(&txns);
        let txns = txns.into_iter().filter(|&handle| handle != self.handle()).collect();
        Ended { result, txns, cursors }
    }
}

/// What came of ending a transaction.
pub(crate) struct Ended {
    pub(crate) result: Res<()>,
    /// Handles of transactions that were nested in it, and of cursors, which have ended with it.
    pub(crate) txns: Vec<usize>,
    pub(crate) cursors: Vec<usize>,
}

impl Ended {
    fn alone(result: Res<()>) -> Ended {
        Ended { result, txns: Vec::new(), cursors: Vec::new() }
    }
}

impl Drop for Txn {
    /// Only for one that never got a handle, or that closing the environment left behind.
    fn drop(&mut self) {
        let ended = match &self.body {
            Body::Read(reader) => {
                let reader = reader.read().unwrap_or_else(PoisonError::into_inner);
                reader.txn.is_none()
            }
            Body::Write(_) => true,
        };
        if !ended {
            let _ = self.end(false);
        }
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Res<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Code::BAD_TXN),
    }
}

/// So many environments a thread remembers to have read.
const READING_MAX: usize = 64;

thread_local! {
    /// For each environment that this thread has read: whether it does at this moment.
    static READING: RefCell<Vec<(usize, Arc<AtomicBool>)>> = const { RefCell::new(Vec::new()) };
}

/// The flag of this thread for an environment.
fn reading(env_handle: usize) -> Arc<AtomicBool> {
    READING.with_borrow_mut(|all| {
        if let Some((_, flag)) = all.iter().find(|(handle, _)| *handle == env_handle) {
            return flag.clone();
        }
        if all.len() >= READING_MAX {
            // Nobody reads these, or ever will: most are of environments that are closed.
            all.retain(|(_, flag)| Arc::strong_count(flag) > 1);
        }
        let flag = Arc::new(AtomicBool::new(false));
        all.push((env_handle, flag.clone()));
        flag
    })
}

impl Reader {
    fn begin(env: &Arc<Env>, env_handle: usize) -> Res<Reader> {
        let thread = (env.flags() & NOTLS == 0).then(|| reading(env_handle));
        if thread.as_ref().is_some_and(|flag| flag.swap(true, Ordering::AcqRel)) {
            return Err(Code::BAD_RSLOT);
        }
        let counted = env.readers.fetch_add(1, Ordering::AcqRel);
        let begun = match counted < env.readers_max.load(Ordering::Relaxed) {
            true => env.huon().and_then(|huon| Ok(huon.read()?)).and_then(|txn| {
                let fits = txn.used_bytes() <= env.upper_bytes();
                if fits { Ok(txn) } else { Err(Code::MAP_RESIZED) }
            }),
            false => Err(Code::READERS_FULL),
        };
        let mut reader = Reader { txn: None, is_reset: false, thread, records: Mutex::default() };
        match begun {
            Ok(txn) => {
                reader.txn = Some(txn);
                env.readers_high.fetch_max(counted + 1, Ordering::Relaxed);
            }
            Err(code) => {
                reader.end(env);
                return Err(code);
            }
        }
        Ok(reader)
    }

    /// The place of a reader is free again.
    fn end(&mut self, env: &Env) {
        env.readers.fetch_sub(1, Ordering::AcqRel);
        if let Some(flag) = self.thread.take() {
            flag.store(false, Ordering::Release);
        }
    }

    pub(crate) fn txn(&self) -> Res<&ReadTxn> {
        match &self.txn {
            Some(txn) => Ok(txn),
            None if self.is_reset => Err(Code::EINVAL),
            None => Err(Code::BAD_TXN),
        }
    }
}

impl Writer {
    fn begin(env: &Arc<Env>) -> Res<Writer> {
        let me = std::thread::current().id();
        if *env.writer.lock().unwrap_or_else(PoisonError::into_inner) == Some(me) {
            // It would wait for itself.
            return Err(Code::EDEADLK);
        }
        let txn = env.huon()?.write()?;
        *env.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(me);
        Ok(Writer {
            txn: Some(txn),
            levels: Vec::new(),
            reserved: None,
            cursors: Vec::new(),
            records: Mutex::default(),
            has_failed: false,
        })
    }

    pub(crate) fn txn(&self) -> Res<&WriteTxn> {
        self.txn.as_ref().ok_or(Code::BAD_TXN)
    }

    /// Lets the innermost transaction end in an abort only.
    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }

    pub(crate) fn txn_mut(&mut self) -> Res<&mut WriteTxn> {
        self.txn.as_mut().ok_or(Code::BAD_TXN)
    }

    /// The same for who changes something: the limits are then as they were set for this process.
    pub(crate) fn changing(&mut self, env: &Env) -> Res<&mut WriteTxn> {
        let upper = env.upper_bytes();
        if upper < UPPER_BYTES_MIN {
            return Err(Code::MAP_FULL);
        }
        let txn = self.txn_mut()?;
        let mut geometry = txn.geometry();
        let wanted = upper.max(geometry.lower_bytes);
        if geometry.upper_bytes != wanted {
            geometry.upper_bytes = wanted;
            match txn.set_geometry(geometry) {
                // More is in use; then that is the limit.
                Ok(()) | Err(huon::Error::MapFull(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(txn)
    }

    /// Stores what the caller has written into the place that it was given.
    fn settle(&mut self) -> Res<()> {
        match self.reserved.take() {
            Some(reserved) => reserved.store(self.txn_mut()?),
            None => Ok(()),
        }
    }

    /// The same before a commit, which is not for one that has failed.
    fn ready(&mut self) -> Res<()> {
        if self.has_failed { Err(Code::BAD_TXN) } else { self.settle() }
    }

    /// Ends a level and all above it.
    fn end_level(&mut self, name: [u8; 8], commit: bool, settled: Res<()>) -> Res<()> {
        let txn = self.txn_mut()?;
        let released = match commit {
            true => settled.and_then(|()| Ok(txn.release(name)?)),
            false => Err(Code::BAD_TXN),
        };
        if released.is_err() {
            // What goes wrong here shows in the next thing that the parent does.
            let _ = txn.roll_back_to(name).and_then(|()| txn.release(name));
        }
        if commit { released } else { Ok(()) }
    }

    /// The cursors of some transactions, which are forgotten.
    fn cursors_of(&mut self, txns: &[usize]) -> Vec<usize> {
        let mut theirs = Vec::new();
        self.cursors.retain(|cursor| {
            let Some(cursor) = cursor.upgrade() else { return false };
            let ended = txns.contains(&cursor.txn().handle());
            if ended {
                theirs.push(cursor.handle());
            }
            !ended
        });
        theirs
    }

    /// Where all cursors stand.
    fn places(&mut self) -> Vec<(Weak<Cursor>, Place)> {
        self.cursors.retain(|cursor| cursor.strong_count() > 0);
        let place = |cursor: &Weak<Cursor>| Some((cursor.clone(), cursor.upgrade()?.place_now()));
        self.cursors.iter().filter_map(place).collect()
    }

    fn restore(&mut self, places: Vec<(Weak<Cursor>, Place)>) {
        for (cursor, place) in places {
            if let Some(cursor) = cursor.upgrade() {
                cursor.put_place(place);
            }
        }
    }
}
