//! The insides of transactions: what a call works with once it has the transaction for itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use huon::{BiasedGuard, Durability, Parked, ReadTxn, Resting, WriteTxn};

use crate::cursor::{Bound, Cursor};
use crate::data::Reserved;
use crate::enlisted::Enlisted;
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::handles::Words;
use crate::table::{Dbi, TableRecord};
use crate::threads;
use crate::txn::{Begin, Txn};

/// Below this nothing can be stored.
const LEAST_MAX_BYTES: u64 = 16 << 10;

/// The inside of a read transaction.
pub struct Reader {
    pub(crate) txn: Option<Box<ReadTxn>>,
    /// In its place, after a reset.
    pub(crate) resting: Option<Resting>,
    /// In its place, while it is parked; and whether it comes back by itself.
    pub(crate) parked: Option<(Parked, bool)>,
    pub(crate) is_reset: bool,
    /// The id of the snapshot that it has, or had last.
    pub(crate) id: u64,
    /// It is to be ended only.
    pub(crate) has_failed: bool,
    /// Set while its thread reads, where a thread may have one read transaction only. A transaction
    /// that rests keeps it, whatever the thread does then.
    pub(crate) thread: Option<Arc<AtomicBool>>,
    pub(crate) seen: Seen,
    /// Those of the cursor that made a row last: no other one's row holds good.
    row: Option<&'static Words>,
}

/// The inside of a write transaction and all nested in it.
pub struct Writer {
    pub(crate) txn: Option<WriteTxn>,
    /// Another one after each use but for steps of cursors, which change nothing.
    pub(crate) stamp: u64,
    pub(crate) levels: Vec<Level>,
    /// Handles of those that read within the innermost level; 0: of one that has none yet.
    pub(crate) readers: Vec<usize>,
    /// The place that was given out last, which the caller may still write to.
    pub(crate) reserved: Option<Reserved>,
    /// The one before: what is stored next may be copied from it.
    spent: Option<Reserved>,
    /// For what is copied before it is stored.
    pub(crate) room: Vec<u8>,
    pub(crate) cursors: Enlisted,
    seen: Seen,
    /// The depth from which on transactions can only be aborted.
    pub(crate) failed_from: Option<usize>,
    /// What the commit waits for; `None`: as the environment has it.
    pub(crate) durability: Option<Durability>,
    /// The [limit](Env::max_bytes) that its geometry has already; 0: none.
    fitted_bytes: u64,
}

pub(crate) struct Level {
    pub(crate) handle: usize,
    /// Where the cursors stood when it began.
    pub(crate) places: Vec<(Weak<Cursor>, Bound)>,
}

/// So many tables are found at once.
const NEAR: usize = 8;

/// What a transaction has looked up or shown.
#[derive(Default)]
pub(crate) struct Seen {
    /// That of the environment's tables when they were looked up.
    version: u64,
    /// Those that were used last, each where its number says.
    near: [Option<(u32, Arc<Dbi>)>; NEAR],
    /// All that were used: what it costs to look them up follows those, not all that are open.
    dbis: BTreeMap<u32, Arc<Dbi>>,
    /// The records of named tables. Boxed, since C has their addresses.
    records: BTreeMap<Vec<u8>, Box<TableRecord>>,
}

impl Seen {
    /// An open table that the transaction may use.
    #[inline(always)]
    fn dbi(&mut self, txn: &Txn, view: View<'_>, number: u32) -> Res<&Arc<Dbi>> {
        let version = txn.env.dbis_version.load(Ordering::Acquire);
        let near = number as usize % NEAR;
        let is_near = matches!(&self.near[near], Some((known, _)) if *known == number);
        if self.version != version || !is_near {
            self.find(txn, view, number, version)?;
        }
        self.near[near].as_ref().map(|(_, dbi)| dbi).ok_or(Fault::Closed)
    }

    #[cold]
    fn find(&mut self, txn: &Txn, view: View<'_>, number: u32, version: u64) -> Res<()> {
        if self.version != version {
            self.dbis.clear();
            self.near = Default::default();
            self.version = version;
        }
        let found = match self.dbis.get(&number) {
            Some(dbi) => dbi.clone(),
            None => {
                let mut found = txn.env.dbis().get(number, txn)?.clone();
                if found.is_told {
                    found = found.met(txn, view)?;
                }
                self.dbis.entry(number).or_insert(Arc::new(found)).clone()
            }
        };
        self.near[number as usize % NEAR] = Some((number, found));
        Ok(())
    }
}

/// In which state a transaction was, and the environment's tables.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    /// 0: in none that lasts.
    pub(crate) txn: u64,
    pub(crate) dbis: u64,
}

/// A transaction in use.
pub enum Access<'a> {
    /// One that reads.
    Read(BiasedGuard<'a, Reader>),
    /// One that writes.
    Write(BiasedGuard<'a, Writer>),
}

/// The engine's transaction in one that is in use.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// One that reads.
    Read(&'a ReadTxn),
    /// One that writes.
    Write(&'a WriteTxn),
}

/// Does something with the engine's transaction, whichever it is.
#[macro_export]
macro_rules! in_txn {
    ($view:expr, $txn:ident => $work:expr) => {
        match $view {
            $crate::View::Read($txn) => $work,
            $crate::View::Write($txn) => $work,
        }
    };
}

impl Access<'_> {
    /// The engine's transaction.
    #[inline]
    pub fn view(&self) -> Res<View<'_>> {
        match self {
            Access::Read(reader) => reader.txn().map(View::Read),
            Access::Write(writer) => writer.txn().map(View::Write),
        }
    }

    /// What a table that was found in a transaction holds good for: see [`Txn::again`]. While
    /// the caller may still write to a place that it was given, that is nothing.
    pub(crate) fn stamp(&self, txn: &Txn) -> Stamp {
        match self {
            Access::Read(reader) => Stamp { txn: txn.stamp(), dbis: reader.seen.version },
            Access::Write(writer) if writer.reserved.is_some() => Stamp::default(),
            Access::Write(writer) => Stamp { txn: writer.stamp, dbis: writer.seen.version },
        }
    }

    fn seen(&mut self) -> &mut Seen {
        match self {
            Access::Read(reader) => &mut reader.seen,
            Access::Write(writer) => &mut writer.seen,
        }
    }

    /// An open table that the transaction may use, and the engine's transaction beside it.
    #[inline(always)]
    pub fn dbi_in(&mut self, txn: &Txn, number: u32) -> Res<(&Dbi, View<'_>)> {
        match self {
            Access::Read(reader) => {
                let Reader { txn: engine, seen, is_reset, .. } = &mut **reader;
                let engine = engine.as_deref().ok_or(Reader::fault(*is_reset))?;
                let view = View::Read(engine);
                Ok((seen.dbi(txn, view, number)?, view))
            }
            Access::Write(writer) => {
                let Writer { txn: engine, seen, .. } = &mut **writer;
                let engine = engine.as_ref().ok_or(Fault::BadTxn)?;
                let view = View::Write(engine);
                Ok((seen.dbi(txn, view, number)?, view))
            }
        }
    }

    /// Keeps the record that stands for a named table, as long as the transaction lives.
    pub(crate) fn keep_record(&mut self, name: &[u8], record: TableRecord) -> *const u8 {
        let records = &mut self.seen().records;
        let kept = records.entry(name.to_vec()).or_insert_with(|| Box::new([0; 48]));
        **kept = record;
        kept.as_ptr()
    }
}

impl Reader {
    pub(crate) fn begin(env: &Env, env_handle: usize) -> Res<Reader> {
        let mut reader = Reader {
            txn: None,
            resting: None,
            parked: None,
            is_reset: false,
            id: 0,
            has_failed: false,
            thread: None,
            seen: Seen::default(),
            row: None,
        };
        reader.start(env, env_handle)?;
        Ok(reader)
    }

    /// Takes the newest snapshot. Where that fails, all stays as it was.
    pub(crate) fn start(&mut self, env: &Env, env_handle: usize) -> Res<()> {
        if env.rules()?.one_reader {
            let flag = threads::reading(env_handle, self.thread.take());
            // No other thread sets it.
            if flag.load(Ordering::Acquire) {
                return Err(Fault::ThreadReads);
            }
            flag.store(true, Ordering::Release);
            self.thread = Some(flag);
        }
        let counted = env.readers.enter(self.is_reset);
        match self.newest(env, counted) {
            Ok(txn) => {
                self.id = txn.id();
                self.txn = Some(txn);
                self.is_reset = false;
                env.readers_high(counted + 1);
                Ok(())
            }
            Err(fault) => {
                self.end(env, self.is_reset);
                Err(fault)
            }
        }
    }

    /// The engine's transaction on the newest snapshot, where there are so many already.
    fn newest(&mut self, env: &Env, counted: u32) -> Res<Box<ReadTxn>> {
        if counted >= env.readers_max() {
            return Err(Fault::ReadersFull);
        }
        let txn = match self.resting.take() {
            Some(resting) => resting.wake()?,
            None => Box::new(env.huon()?.read()?),
        };
        match env.max_bytes() {
            Some(max_bytes) if txn.used_bytes() > max_bytes => Err(Fault::MapTooSmall),
            _ => Ok(txn),
        }
    }

    /// The place of a reader is free again; it rests, or has ended.
    pub(crate) fn end(&mut self, env: &Env, rests: bool) {
        env.readers.leave(rests);
        if let Some(flag) = &self.thread {
            flag.store(false, Ordering::Release);
        }
        if !rests {
            self.thread = None;
        }
    }

    /// A cursor makes a row.
    pub(crate) fn make_row(&mut self, words: &'static Words) {
        if !self.row.is_some_and(|own| std::ptr::eq(own, words)) {
            self.lose_row();
            self.row = Some(words);
        }
    }

    /// No row of a cursor holds good any more.
    pub(crate) fn lose_row(&mut self) {
        if let Some(words) = self.row.take() {
            words.lose();
        }
    }

    /// Why there is no transaction.
    fn fault(is_reset: bool) -> Fault {
        if is_reset { Fault::Reset } else { Fault::BadTxn }
    }

    /// The engine's transaction.
    #[inline]
    pub fn txn(&self) -> Res<&ReadTxn> {
        self.txn.as_deref().ok_or(Reader::fault(self.is_reset))
    }
}

impl Writer {
    pub(crate) fn begin(env: &Arc<Env>, env_handle: usize, how: Begin) -> Res<Writer> {
        let me = threads::me();
        if env.writer() == me {
            return Err(Fault::ThreadWrites);
        }
        if !how.overlaps && threads::reads(env_handle) {
            return Err(Fault::Overlap);
        }
        let huon = env.huon()?;
        let begun = if how.wait { huon.write()? } else { huon.write_within(Duration::ZERO)? };
        env.set_writer(me);
        Ok(Writer {
            txn: Some(begun),
            stamp: 0,
            levels: Vec::new(),
            readers: Vec::new(),
            reserved: None,
            spent: None,
            room: Vec::new(),
            cursors: Enlisted::default(),
            seen: Seen::default(),
            failed_from: None,
            durability: how.durability,
            fitted_bytes: 0,
        })
    }

    /// The engine's transaction.
    #[inline]
    pub fn txn(&self) -> Res<&WriteTxn> {
        self.txn.as_ref().ok_or(Fault::BadTxn)
    }

    /// Lets a transaction, and all nested in it, end in an abort only.
    pub(crate) fn fail_from(&mut self, depth: usize) {
        self.failed_from = Some(self.failed_from.map_or(depth, |failed| failed.min(depth)));
    }

    /// Whether a transaction can only be aborted.
    pub(crate) fn has_failed(&self, depth: usize) -> bool {
        self.failed_from.is_some_and(|failed| failed <= depth)
    }

    /// The engine's transaction.
    #[inline]
    pub fn txn_mut(&mut self) -> Res<&mut WriteTxn> {
        self.txn.as_mut().ok_or(Fault::BadTxn)
    }

    /// An open table that the transaction may use, for a change.
    #[inline]
    pub fn dbi(&mut self, txn: &Txn, number: u32) -> Res<Arc<Dbi>> {
        let known = self.dbi_as_is(txn, number)?;
        if known.is_told { self.make_so(txn, number, &known) } else { Ok(known) }
    }

    /// Does something with a table as [`Writer::dbi`] finds it, which lies outside of the books
    /// meanwhile: that spares a count that all threads share.
    #[inline]
    pub(crate) fn with_dbi<R>(
        &mut self,
        txn: &Txn,
        number: u32,
        work: impl FnOnce(&mut Writer, &Dbi) -> Res<R>,
    ) -> Res<R> {
        let view = View::Write(self.txn.as_ref().ok_or(Fault::BadTxn)?);
        let known = self.seen.dbi(txn, view, number)?;
        if known.is_told {
            let told = known.clone();
            self.make_so(txn, number, &told)?;
        }
        let (near, version) = (number as usize % NEAR, self.seen.version);
        let (_, dbi) = self.seen.near[near].take().ok_or(Fault::Closed)?;
        let done = work(self, &dbi);
        if self.seen.version == version {
            self.seen.near[near] = Some((number, dbi));
        }
        done
    }

    /// The same, as it is, for code that only updates its cursors.
    pub(crate) fn dbi_as_is(&mut self, txn: &Txn, number: u32) -> Res<Arc<Dbi>> {
        let view = View::Write(self.txn.as_ref().ok_or(Fault::BadTxn)?);
        self.seen.dbi(txn, view, number).cloned()
    }

    #[cold]
    fn make_so(&mut self, txn: &Txn, number: u32, told: &Dbi) -> Res<Arc<Dbi>> {
        let made = told.make_so(txn, self.changing(&txn.env)?)?;
        txn.env.dbis_mut().set(number as usize, made);
        self.dbi_as_is(txn, number)
    }

    /// The engine's transaction for a change: its limits are then as they were set for this
    /// process.
    #[inline]
    pub fn changing(&mut self, env: &Env) -> Res<&mut WriteTxn> {
        self.settle_all()?;
        if let Some(max_bytes) = env.max_bytes()
            && max_bytes != self.fitted_bytes
        {
            self.limit_to(max_bytes)?;
        }
        self.txn_mut()
    }

    #[cold]
    fn limit_to(&mut self, max_bytes: u64) -> Res<()> {
        if max_bytes < LEAST_MAX_BYTES {
            return Err(Fault::MapFull);
        }
        let txn = self.txn_mut()?;
        let mut geometry = txn.geometry();
        let wanted = max_bytes.max(geometry.min_bytes);
        let mut fits = geometry.max_bytes == wanted;
        if !fits {
            geometry.max_bytes = wanted;
            fits = match txn.set_geometry(geometry) {
                Ok(()) => true,
                // More is in use; then that is the limit.
                Err(huon::Error::MapFull(_)) => false,
                Err(error) => return Err(error.into()),
            };
        }
        self.fitted_bytes = if fits { max_bytes } else { 0 };
        Ok(())
    }

    /// Stores what the caller has written so far into the place that it was given.
    #[inline]
    pub(crate) fn settle(&mut self) -> Res<()> {
        match &self.reserved {
            Some(reserved) => reserved.store(self.txn.as_mut().ok_or(Fault::BadTxn)?),
            None => Ok(()),
        }
    }

    /// The same before a change, after which the place is no longer the caller's.
    #[inline]
    pub(crate) fn settle_all(&mut self) -> Res<()> {
        if self.reserved.is_some() {
            self.settle()?;
            self.spent = self.reserved.take();
        }
        Ok(())
    }

    /// Takes the places back that were given out.
    pub(crate) fn take_back(&mut self) {
        (self.reserved, self.spent) = (None, None);
    }

    /// The same before a commit, which is not for one that has failed.
    pub(crate) fn ready(&mut self) -> Res<()> {
        if self.has_failed(self.levels.len()) { Err(Fault::Failed) } else { self.settle() }
    }

    /// Ends the level of that depth, and all above it.
    pub(crate) fn end_level(&mut self, depth: usize, commit: bool, settled: Res<()>) -> Res<()> {
        let name = depth.to_le_bytes();
        self.fitted_bytes = 0;
        let txn = self.txn_mut()?;
        let released =
            if commit { settled.and_then(|()| Ok(txn.release(name)?)) } else { Err(Fault::BadTxn) };
        if released.is_err() {
            // What goes wrong here shows in the next thing that the parent does.
            let _ = txn.roll_back_to(name).and_then(|()| txn.release(name));
        }
        if commit { released } else { Ok(()) }
    }

    /// The cursors of some transactions, which are forgotten.
    pub(crate) fn cursors_of(&mut self, txns: &[usize]) -> Vec<usize> {
        let has_ended =
            |cursor: &Arc<Cursor>| cursor.txn().is_some_and(|txn| txns.contains(&txn.handle()));
        let theirs: Vec<_> = self.cursors.iter().filter(has_ended).collect();
        theirs.iter().for_each(|cursor| self.cursors.remove(Arc::as_ptr(cursor)));
        theirs.iter().map(|cursor| cursor.handle()).collect()
    }

    /// Where all cursors stand.
    pub(crate) fn places(&self) -> Vec<(Weak<Cursor>, Bound)> {
        let place = |cursor: Arc<Cursor>| Some((Arc::downgrade(&cursor), cursor.bound_now().ok()?));
        self.cursors.iter().filter_map(place).collect()
    }

    /// Puts cursors back to where they were when these levels began, the innermost of them first,
    /// but for those that were taken elsewhere: one that an inner level was opened with may not
    /// have been there when an outer one began.
    pub(crate) fn restore(&mut self, ended: Vec<Level>) {
        for (cursor, bound) in ended.into_iter().rev().flat_map(|level| level.places) {
            let Some(cursor) = cursor.upgrade() else { continue };
            let stays = |txn: Arc<Txn>| txn.is_write() && Arc::ptr_eq(&txn.env, &bound.txn.env);
            if cursor.txn().is_some_and(stays) {
                let _ = cursor.put_bound(bound);
                self.cursors.add(&cursor);
            }
        }
    }
}
