//! Transactions as C holds them.
//!
//! X1. A nested transaction is a level of the one write transaction, which all of its family share;
//!     only the innermost may be used.
//! X2. A transaction is used by one thread at a time. A call that comes while another thread reads
//!     by it waits for the end of that call; one that comes during a change, or from within a
//!     comparator, is refused.
//! X3. A reader that is nested in a writer reads what that has written, in any thread. There may be
//!     many in the innermost transaction, which rests meanwhile as if it had a child; they end with
//!     it at the latest.
//! X4. What was open when this process was forked is its parent's: each use is a fault, nothing of
//!     it is read, and it is forgotten when it ends. A read transaction that was reset can only be
//!     renewed.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use huon::{BiasedGuard, BiasedLock, Durability, ThisThread, fork_generation, is_inherited};

use crate::cursor::Cursor;
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::inside::{Access, Level, Reader, Stamp, Writer};
use crate::threads::{lock, lock_now, me};

/// A transaction.
pub struct Txn {
    /// Its environment.
    pub env: Arc<Env>,
    /// The handle of that.
    pub env_handle: usize,
    /// Its own handle, once it has one.
    handle: OnceLock<usize>,
    /// The thread that may use it; 0: all may.
    pub(crate) thread: AtomicUsize,
    /// The transactions it is nested in, outermost first.
    parents: Vec<usize>,
    /// A pointer of the program's.
    pub context: AtomicUsize,
    /// What the interface keeps of the flags that it began with.
    pub begun_with: AtomicU32,
    pub(crate) overlaps: bool,
    /// The fork generation of the process that began it, or renewed it.
    generation: AtomicU32,
    /// Another one after each change of what cursors find in it, if it is one that reads, but for
    /// handles of tables.
    stamp: AtomicU64,
    body: Body,
}

enum Body {
    Read(Box<BiasedLock<Reader>>),
    Write(Arc<BiasedLock<Writer>>),
    /// It reads within a writer, which knows it by its handle.
    Within(Arc<BiasedLock<Writer>>),
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// It changes nothing.
    pub read_only: bool,
    /// Waits until others have ended their write transactions.
    pub wait: bool,
    /// A thread may read beside its own write transaction.
    pub overlaps: bool,
    /// What the commit waits for; `None`: as the environment has it.
    pub durability: Option<Durability>,
}

/// What has become of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// It reads nothing, until it is renewed.
    pub is_reset: bool,
    /// It can only be aborted.
    pub has_failed: bool,
    /// Another is nested in it.
    pub has_child: bool,
    /// It has changed something.
    pub is_dirty: bool,
    /// Some of the changes are in the file already.
    pub has_spilled: bool,
}

impl Txn {
    /// Begins one, in the transaction whose handle is given with it.
    pub fn begin(
        env: &Arc<Env>,
        env_handle: usize,
        parent: Option<(usize, Arc<Txn>)>,
        how: Begin,
    ) -> Res<Txn> {
        let rules = env.rules()?;
        if rules.read_only && !how.read_only {
            return Err(Fault::ReadOnly);
        }
        let (parents, body) = match parent {
            Some((handle, parent)) => {
                let parents = parent.parents.iter().copied().chain([handle]).collect();
                if how.read_only {
                    (parents, Body::Within(parent.let_read()?))
                } else {
                    (parents, Body::Write(parent.nest()?))
                }
            }
            None if how.read_only => {
                check_overlap(env, how.overlaps)?;
                let reader = BiasedLock::new(Reader::begin(env, env_handle)?);
                (Vec::new(), Body::Read(Box::new(reader)))
            }
            None => {
                let writer = BiasedLock::new(Writer::begin(env, env_handle, how)?);
                (Vec::new(), Body::Write(Arc::new(writer)))
            }
        };
        if parents.is_empty() {
            env.live.fetch_add(1, Ordering::AcqRel);
        }
        let binds = if how.read_only { rules.binds_readers } else { rules.binds_writers };
        let thread = AtomicUsize::new(if binds { me() } else { 0 });
        Ok(Txn {
            env: env.clone(),
            env_handle,
            handle: OnceLock::new(),
            thread,
            parents,
            context: AtomicUsize::new(0),
            begun_with: AtomicU32::new(0),
            overlaps: how.overlaps,
            generation: AtomicU32::new(fork_generation()),
            stamp: AtomicU64::new(1),
            body,
        })
    }

    /// Lets a reader read what it has written, which has no handle yet.
    fn let_read(&self) -> Res<Arc<BiasedLock<Writer>>> {
        let Body::Write(shared) = &self.body else { return Err(Fault::BadTxn) };
        self.check()?;
        let mut writer = lock_writer(shared)?;
        self.check_innermost(&writer)?;
        writer.settle_all()?;
        writer.readers.push(0);
        Ok(shared.clone())
    }

    fn nest(&self) -> Res<Arc<BiasedLock<Writer>>> {
        let Body::Write(shared) = &self.body else { return Err(Fault::BadTxn) };
        if !self.env.rules()?.nests {
            return Err(Fault::BadTxn);
        }
        let mut writer = self.writer()?;
        writer.settle_all()?;
        let depth = self.depth() + 1;
        writer.txn_mut()?.savepoint(depth.to_le_bytes())?;
        let places = writer.places();
        writer.levels.push(Level { handle: 0, places });
        Ok(shared.clone())
    }

    /// Tells it its handle.
    pub fn set_handle(&self, handle: usize) {
        let _ = self.handle.set(handle);
        if self.is_write() {
            self.env.set_write_txn(handle);
        }
        if let Body::Within(writer) = &self.body
            && let Ok(mut writer) = lock_writer(writer)
            && let Some(own) = writer.readers.iter_mut().find(|own| **own == 0)
        {
            *own = handle;
        }
        if let (Body::Write(writer), true) = (&self.body, self.depth() > 0)
            && let Ok(mut writer) = lock_writer(writer)
            && let Some(level) = writer.levels.get_mut(self.depth() - 1)
        {
            level.handle = handle;
        }
    }

    /// Its handle, or 0.
    #[inline]
    pub fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// How many transactions it is nested in.
    pub fn depth(&self) -> usize {
        self.parents.len()
    }

    /// Whether it is the transaction of that handle, or nested in it.
    pub(crate) fn is_within(&self, handle: usize) -> bool {
        handle == self.handle() || self.parents.contains(&handle)
    }

    /// Whether it can change something.
    pub fn is_write(&self) -> bool {
        matches!(self.body, Body::Write(_))
    }

    /// The id of the snapshot that it shows, or showed before it was reset, or will make: that of a
    /// writer rises no more from now on, as programs expect of it.
    pub fn id(&self) -> Res<u64> {
        match &self.body {
            Body::Read(_) => Ok(self.reader()?.id),
            Body::Within(writer) => {
                self.check_alive()?;
                Ok(lock_writer(writer)?.txn_mut()?.fix_id())
            }
            // Also while another is nested in it.
            Body::Write(writer) => {
                self.check_alive()?;
                Ok(lock_writer_now(writer)?.txn_mut()?.fix_id())
            }
        }
    }

    /// Whether it was open when this process was forked (X4).
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        is_inherited(self.generation.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn check_alive(&self) -> Res<()> {
        if self.is_dead() { Err(Fault::Panic) } else { Ok(()) }
    }

    /// It is this process's now: it was at rest when that was forked.
    pub(crate) fn adopt(&self) {
        self.generation.store(fork_generation(), Ordering::Relaxed);
    }

    /// Refuses a thread that may not use it.
    #[inline]
    pub(crate) fn check(&self) -> Res<()> {
        self.check_as(ThisThread::get())
    }

    #[inline]
    fn check_as(&self, me: ThisThread) -> Res<()> {
        self.check_alive()?;
        if self.env.is_closed() { Err(Fault::BadTxn) } else { self.check_thread_as(me) }
    }

    /// Refuses a thread that it does not belong to.
    #[inline]
    pub fn check_thread(&self) -> Res<()> {
        self.check_thread_as(ThisThread::get())
    }

    #[inline]
    fn check_thread_as(&self, me: ThisThread) -> Res<()> {
        match self.thread.load(Ordering::Relaxed) {
            0 => Ok(()),
            thread if thread == me.number() => Ok(()),
            _ => Err(Fault::WrongThread),
        }
    }

    /// The transaction for a look at something.
    #[inline(always)]
    pub fn access(&self) -> Res<Access<'_>> {
        match &self.body {
            Body::Read(reader) => {
                self.check()?;
                let mut reader = lock(reader)?;
                self.wake(&mut reader)?;
                Ok(Access::Read(reader))
            }
            Body::Write(_) => self.writer().map(Access::Write),
            Body::Within(writer) => {
                self.check()?;
                let writer = lock_writer(writer)?;
                let is_live = writer.readers.contains(&self.handle());
                if is_live { Ok(Access::Write(writer)) } else { Err(Fault::BadTxn) }
            }
        }
    }

    /// In which state it is, if it is one that reads.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// Cursors may find something else from now on.
    pub(crate) fn note_change(&self, reader: &mut Reader) {
        reader.lose_row();
        self.stamp.store(self.stamp() + 1, Ordering::Release);
    }

    /// The transaction for a look at something, if it is as this thread has seen it once, and could
    /// be used: one comparison instead of many checks.
    #[inline]
    pub(crate) fn again(&self, me: ThisThread, seen: Stamp) -> Option<Access<'_>> {
        let (access, stamp) = match &self.body {
            Body::Read(reader) => (Access::Read(reader.try_lock_as(me)?), self.stamp()),
            Body::Write(writer) => {
                let writer = writer.try_lock_as(me)?;
                let stamp = writer.stamp;
                (Access::Write(writer), stamp)
            }
            Body::Within(_) => return None,
        };
        (stamp == seen.txn).then_some(access)
    }

    /// The transaction for a change.
    #[inline]
    pub fn writer(&self) -> Res<BiasedGuard<'_, Writer>> {
        let Body::Write(writer) = &self.body else { return Err(Fault::ReadOnly) };
        let me = ThisThread::get();
        self.check_as(me)?;
        let mut writer = writer.try_lock_as(me).map(used).ok_or(Fault::BadTxn)?;
        self.check_innermost(&writer)?;
        if !writer.readers.is_empty() {
            return Err(Fault::BadTxn);
        }
        writer.settle()?;
        Ok(writer)
    }

    /// Refuses one that has failed, or has another that writes nested in it.
    #[inline]
    fn check_innermost(&self, writer: &Writer) -> Res<()> {
        let own = writer.levels.len() == self.depth()
            && writer.levels.last().is_none_or(|level| level.handle == self.handle());
        if own && !writer.has_failed(self.depth()) { Ok(()) } else { Err(Fault::BadTxn) }
    }

    /// The inside of a read transaction, also of one that was reset.
    pub(crate) fn reader(&self) -> Res<BiasedGuard<'_, Reader>> {
        self.check_alive()?;
        self.resting_reader()
    }

    /// The same, also of one that was reset before this process was forked.
    pub(crate) fn resting_reader(&self) -> Res<BiasedGuard<'_, Reader>> {
        match &self.body {
            Body::Read(reader) => lock(reader),
            Body::Write(_) | Body::Within(_) => Err(Fault::Invalid),
        }
    }

    /// Has it, and all nested in it, end in an abort only.
    pub fn fail(&self) -> Res<()> {
        self.check()?;
        match &self.body {
            Body::Read(reader) => {
                let mut reader = lock(reader)?;
                reader.has_failed = true;
                self.note_change(&mut reader);
            }
            Body::Write(writer) => lock_writer_now(writer)?.fail_from(self.depth()),
            Body::Within(_) => {}
        }
        Ok(())
    }

    /// Tells a cursor no more of what is deleted.
    pub(crate) fn forget(&self, cursor: &Arc<Cursor>) {
        if let Body::Write(writer) = &self.body
            && !self.is_dead()
            && let Ok(mut writer) = lock_writer_now(writer)
        {
            writer.cursors.remove(Arc::as_ptr(cursor));
        }
    }

    /// What has become of it.
    pub fn state(&self) -> Res<State> {
        self.check_alive()?;
        let writer = match &self.body {
            Body::Read(reader) => {
                let reader = lock(reader)?;
                let (is_reset, has_failed) = (reader.is_reset, reader.has_failed);
                return Ok(State { is_reset, has_failed, ..State::default() });
            }
            Body::Within(_) => return Ok(State::default()),
            Body::Write(writer) => lock_writer_now(writer)?,
        };
        let engine = writer.txn()?;
        let costs = engine.costs();
        let has_noted = engine.markers().txnid == costs.id;
        Ok(State {
            is_reset: false,
            has_failed: writer.has_failed(self.depth()),
            has_child: writer.levels.len() > self.depth() || !writer.readers.is_empty(),
            is_dirty: costs.dirty_bytes > 0 || costs.written_bytes > 0 || has_noted,
            has_spilled: costs.written_bytes > 0,
        })
    }

    /// Releases all that it holds, for one that no thread will end. Its handle stays.
    pub(crate) fn let_go(&self) {
        if self.is_dead() {
            return;
        }
        match &self.body {
            Body::Read(reader) => {
                let Ok(mut reader) = lock(reader) else { return };
                self.note_change(&mut reader);
                if reader.let_go() {
                    reader.end(&self.env, false);
                }
            }
            Body::Write(writer) => {
                let txn = lock_writer_now(writer).ok().and_then(|mut writer| writer.txn.take());
                if let Some(txn) = txn {
                    txn.abort();
                    self.env.set_write_txn(0);
                    self.env.set_writer(0);
                }
            }
            Body::Within(_) => {}
        }
    }

    /// Whether it is what a thread reads, where that is kept.
    pub(crate) fn is_reader_of(&self, flag: &Arc<AtomicBool>) -> bool {
        let Body::Read(reader) = &self.body else { return false };
        if self.is_dead() {
            return false;
        }
        let is = |reader: &Reader| reader.thread.as_ref().is_some_and(|own| Arc::ptr_eq(own, flag));
        lock(reader).is_ok_and(|reader| reader.is_live() && is(&reader))
    }

    /// Ends it.
    pub fn end(&self, commit: bool) -> Ended {
        if self.is_dead() {
            return Ended::alone(if commit { Err(Fault::Panic) } else { Ok(()) });
        }
        match &self.body {
            Body::Read(_) => Ended::alone(self.end_read(commit)),
            Body::Within(writer) => Ended::alone(self.end_within(writer, commit)),
            Body::Write(writer) => match lock_writer_now(writer) {
                Ok(mut writer) if self.depth() == 0 => self.end_root(&mut writer, commit),
                Ok(mut writer) => self.end_level(&mut writer, commit),
                Err(fault) => Ended::alone(Err(fault)),
            },
        }
    }

    fn end_read(&self, commit: bool) -> Res<()> {
        let mut reader = self.reader()?;
        self.note_change(&mut reader);
        if reader.let_go() {
            reader.end(&self.env, false);
        } else if std::mem::take(&mut reader.is_reset) {
            self.env.readers.end_rest();
        }
        self.env.end_of(&[self.handle()], commit.then_some(0));
        self.env.live.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }

    fn end_within(&self, writer: &BiasedLock<Writer>, commit: bool) -> Res<()> {
        let mut writer = lock_writer(writer)?;
        if let Some(own) = writer.readers.iter().position(|own| *own == self.handle()) {
            writer.readers.swap_remove(own);
        }
        let owner = self.parents.last().copied().unwrap_or(0);
        self.env.end_of(&[self.handle()], commit.then_some(owner));
        Ok(())
    }

    fn end_root(&self, writer: &mut Writer, commit: bool) -> Ended {
        let settled = if commit { writer.ready() } else { Ok(()) };
        let ended: Vec<Level> = writer.levels.drain(..).collect();
        let levels: Vec<usize> = ended.iter().map(|level| level.handle).collect();
        let txns = [levels, std::mem::take(&mut writer.readers)].concat();
        if !commit {
            writer.restore(ended);
        }
        let cursors = std::mem::take(&mut writer.cursors);
        let cursors = cursors.iter().map(|cursor| cursor.handle()).collect();
        writer.take_back();
        let Some(txn) = writer.txn.take() else {
            let refused = if commit { Err(Fault::BadTxn) } else { Ok(()) };
            return Ended { result: refused, txns, cursors };
        };
        let result = if commit {
            settled.and_then(|()| match writer.durability {
                Some(durability) => committed(txn.commit_with(durability)),
                None => committed(txn.commit()),
            })
        } else {
            txn.abort();
            Ok(())
        };
        let done = commit && result.is_ok();
        self.env.end_of(&[&txns[..], &[self.handle()]].concat(), done.then_some(0));
        self.env.set_write_txn(0);
        self.env.set_writer(0);
        self.env.live.fetch_sub(1, Ordering::AcqRel);
        Ended { result, txns, cursors }
    }

    fn end_level(&self, writer: &mut Writer, commit: bool) -> Ended {
        let at = self.depth() - 1;
        if writer.levels.get(at).is_none_or(|level| level.handle != self.handle()) {
            return Ended::alone(Err(Fault::BadTxn));
        }
        let settled = if commit { writer.ready() } else { Ok(()) };
        writer.take_back();
        writer.failed_from = writer.failed_from.filter(|&depth| depth < self.depth());
        let ended: Vec<Level> = writer.levels.drain(at..).collect();
        let result = writer.end_level(self.depth(), commit, settled);
        let done = commit && result.is_ok();
        let levels: Vec<usize> = ended.iter().map(|level| level.handle).collect();
        let txns = [levels, std::mem::take(&mut writer.readers)].concat();
        self.env.set_write_txn(self.parents.last().copied().unwrap_or(0));
        if !done {
            writer.restore(ended);
        }
        let owner = done.then(|| self.parents.last().copied().unwrap_or(0));
        self.env.end_of(&txns, owner);
        let cursors = writer.cursors_of(&txns);
        let txns = txns.into_iter().filter(|&handle| handle != self.handle()).collect();
        Ended { result, txns, cursors }
    }
}

/// The inside of a write transaction, of which nothing that was seen before holds good.
#[inline]
fn used(mut writer: BiasedGuard<'_, Writer>) -> BiasedGuard<'_, Writer> {
    writer.stamp += 1;
    writer
}

/// As [`lock`].
fn lock_writer(writer: &BiasedLock<Writer>) -> Res<BiasedGuard<'_, Writer>> {
    lock(writer).map(used)
}

/// As [`lock_now`].
#[inline]
fn lock_writer_now(writer: &BiasedLock<Writer>) -> Res<BiasedGuard<'_, Writer>> {
    lock_now(writer).map(used)
}

/// Refuses to read in the thread that writes, where that is not allowed.
pub(crate) fn check_overlap(env: &Env, overlaps: bool) -> Res<()> {
    if !overlaps && env.writer() == me() { Err(Fault::Overlap) } else { Ok(()) }
}

/// What is to be said of a commit. One that the engine refuses had failed before.
fn committed(result: huon::Result<u64>) -> Res<()> {
    match result {
        Err(huon::Error::TxnBroken) => Err(Fault::Failed),
        result => Ok(result.map(drop)?),
    }
}

/// What came of ending a transaction.
pub struct Ended {
    /// The result for the caller.
    pub result: Res<()>,
    /// Handles of transactions that were nested in it and have ended with it.
    pub txns: Vec<usize>,
    /// Handles of cursors that have ended with it.
    pub cursors: Vec<usize>,
}

impl Ended {
    fn alone(result: Res<()>) -> Ended {
        Ended { result, txns: Vec::new(), cursors: Vec::new() }
    }
}

impl Drop for Txn {
    /// Only for one that never got a handle, or that closing the environment left behind.
    fn drop(&mut self) {
        let left = match &self.body {
            _ if self.is_dead() => false,
            Body::Read(reader) => lock(reader).is_ok_and(|reader| reader.is_live()),
            Body::Write(_) | Body::Within(_) => false,
        };
        if left {
            let _ = self.end(false);
        }
    }
}
