//! What transactions, tables and cursors need of an environment. What else an interface keeps of
//! one (how it was set up, names of files) is its own.
//!
//! In a forked child it goes on: what is counted of transactions begins anew, and what was open at
//! the fork is dead (`Txn::check_alive`). No lock of another thread of the parent is in the way:
//! locks are `ForkLock`s, and what takes more than one store to change is changed while forks are
//! held off.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use huon::{Compare, ForkGuard, ForkLock, fork_generation, hold_off, is_inherited};

use crate::dbis::Dbis;
use crate::fault::{Fault, Res};
use crate::objects;

/// Address space that an environment reserves at least, if the kernel allows it: its maximum size
/// can be raised so far while it is open, since the mapping stays.
const RESERVE_BYTES_MIN: u64 = 256 << 30;
/// So many environments of a process reserve that, the next ones half of it, and so on: a process
/// has 128 TiB of addresses, and needs some for other things.
const RESERVES_COUNT: usize = 64;

/// Those that are open in this process.
static OPEN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Address space to reserve for a file that may become so long, in bytes.
pub fn reserve_bytes(max_bytes: u64) -> u64 {
    let halvings = OPEN_COUNT.load(Ordering::Relaxed) / RESERVES_COUNT;
    let least = RESERVE_BYTES_MIN.checked_shr(halvings as u32).unwrap_or(0);
    max_bytes.saturating_mul(2).max(least)
}

/// Bytes of the journal that the environment variable `HUON_JOURNAL` asks for, 0 for none: the
/// interfaces have no option of that kind, and a program need not be changed for it.
pub fn journal_bytes() -> Res<u64> {
    match std::env::var("HUON_JOURNAL") {
        Err(std::env::VarError::NotPresent) => Ok(0),
        Ok(text) => text.parse().map_err(|_| Fault::Invalid),
        Err(_) => Err(Fault::Invalid),
    }
}

/// How the kernel reads the file, with a `NORDAHEAD` flag or without.
pub fn read_ahead(never: bool) -> huon::ReadAhead {
    if never { huon::ReadAhead::Never } else { huon::ReadAhead::IfItFits }
}

/// An environment, from its creation on.
pub struct Env {
    opened: ForkLock<Option<huon::Env>>,
    rules: OnceLock<Rules>,
    pub(crate) dbis: ForkLock<Arc<Dbis>>,
    /// Goes up before the tables change.
    pub(crate) dbis_version: AtomicU64,
    /// The thread that has begun the write transaction, which another may go on with; 0: none.
    writer: AtomicUsize,
    /// The handle of that transaction, or of the innermost one in it; 0: none.
    write_txn: AtomicUsize,
    /// Transactions that are not over yet.
    pub(crate) live: AtomicUsize,
    pub(crate) readers: Readers,
    pub(crate) readers_high: AtomicU32,
    readers_max: AtomicU32,
    closed: AtomicBool,
    /// The fork generation of the process that counts its transactions here.
    generation: AtomicU32,
    /// Held by the thread that sets it.
    beginning: ForkLock<()>,
    /// Held by the thread that opens tables, or changes what handles stand for.
    opening: ForkLock<()>,
    /// How long the file may become; the next write transaction that writes takes it over.
    max_bytes: AtomicU64,
    /// One for each comparator of a program that a handle uses, so that handles of the same one are
    /// the same.
    comparators: ForkLock<HashMap<usize, Weak<Compare>>>,
}

/// What an interface allows, as it is opened.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Nothing is changed.
    pub read_only: bool,
    /// A thread may have one read transaction only.
    pub one_reader: bool,
    /// A read transaction is for the thread that began it.
    pub binds_readers: bool,
    /// So is a write transaction.
    pub binds_writers: bool,
    /// Write transactions may be nested.
    pub nests: bool,
    /// Cursors of a write transaction stay when it ends.
    pub keeps_cursors: bool,
    /// Lengths of keys, in bytes.
    pub keys: RangeInclusive<usize>,
    /// Lengths of values, in bytes, where a key has one.
    pub values: RangeInclusive<usize>,
    /// Lengths of values, in bytes, where a key may have many.
    pub set_values: RangeInclusive<usize>,
    /// A key that is looked for must have a length that could be stored, too.
    pub checks_wanted: bool,
    /// What may be asked of a put, as [`flags::put`](crate::flags::put) has it.
    pub puts: u32,
    /// Appending to the last key's values is no appending of a key.
    pub appends_to_last: bool,
    /// Where a key has one value, a value that is to be deleted is compared, too.
    pub compares_only: bool,
    /// A cursor's record is overwritten only where its key is given.
    pub names_current: bool,
    /// For a read, the handle of free pages is that of a table without records.
    pub shows_free: bool,
    /// A table that was found is shared at once, and one that is opened again must be of the wanted
    /// kind.
    pub strict_tables: bool,
}

/// How many read transactions show a snapshot, and in the upper half how many rest: those were
/// reset, and may have another one later.
#[derive(Default)]
pub(crate) struct Readers(AtomicU64);

const RESTING: u64 = 1 << 32;

impl Readers {
    /// One more shows a snapshot, which has rested until now, or is new; how many did so far.
    pub(crate) fn enter(&self, has_rested: bool) -> u32 {
        let change = 1_u64.wrapping_sub(if has_rested { RESTING } else { 0 });
        self.0.fetch_add(change, Ordering::AcqRel) as u32
    }

    /// One of them rests from now on, or has ended.
    pub(crate) fn leave(&self, rests: bool) {
        let change = 1_u64.wrapping_sub(if rests { RESTING } else { 0 });
        self.0.fetch_sub(change, Ordering::AcqRel);
    }

    /// There is one that rests.
    pub(crate) fn begin_rest(&self) {
        self.0.fetch_add(RESTING, Ordering::AcqRel);
    }

    /// One that has rested has ended.
    pub(crate) fn end_rest(&self) {
        self.0.fetch_sub(RESTING, Ordering::AcqRel);
    }

    fn resting_count(&self) -> u32 {
        (self.0.load(Ordering::Acquire) / RESTING) as u32
    }
}

impl Env {
    /// An environment that is not open yet.
    pub fn new(readers_max: u32) -> Env {
        Env {
            opened: ForkLock::new(None),
            rules: OnceLock::new(),
            dbis: ForkLock::default(),
            dbis_version: AtomicU64::new(0),
            writer: AtomicUsize::new(0),
            write_txn: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            readers: Readers::default(),
            readers_high: AtomicU32::new(0),
            readers_max: AtomicU32::new(readers_max),
            closed: AtomicBool::new(false),
            generation: AtomicU32::new(fork_generation()),
            beginning: ForkLock::new(()),
            opening: ForkLock::new(()),
            max_bytes: AtomicU64::new(u64::MAX),
            comparators: ForkLock::default(),
        }
    }

    /// It is open now.
    pub fn set_opened(&self, env: huon::Env, rules: Rules) -> Res<()> {
        let _held_off = hold_off();
        self.rules.set(rules).map_err(|_| Fault::Invalid)?;
        *self.opened.lock() = Some(env);
        OPEN_COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// In a forked child at its first use of the environment: no transaction is open, and tables
    /// that one of the parent's had opened for itself are closed.
    #[inline]
    fn settle(&self) {
        if is_inherited(self.generation.load(Ordering::Acquire)) {
            self.begin_anew();
        }
    }

    #[cold]
    fn begin_anew(&self) {
        let _alone = self.beginning.lock();
        let now = fork_generation();
        if self.generation.load(Ordering::Acquire) == now {
            return;
        }
        for count in [&self.writer, &self.write_txn, &self.live] {
            count.store(0, Ordering::Relaxed);
        }
        self.readers_high.store(0, Ordering::Relaxed);
        self.readers.0.store(0, Ordering::Relaxed);
        self.dbis_mut().orphan();
        self.generation.store(now, Ordering::Release);
    }

    /// The engine's environment.
    pub fn huon(&self) -> Res<huon::Env> {
        self.settle();
        let open = self.opened.copied();
        open.filter(|_| !self.is_closed()).ok_or(Fault::Invalid)
    }

    /// Whether it was opened.
    pub fn is_open(&self) -> bool {
        self.rules.get().is_some()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Serialises the opening of tables.
    pub(crate) fn opening(&self) -> ForkGuard<'_, ()> {
        self.opening.lock()
    }

    /// Closes it, and hands over the engine's environment, for the end that it is to come to.
    /// Transactions that are left open hold nothing from now on, and are of no use.
    pub fn close(&self) -> Option<huon::Env> {
        self.closed.store(true, Ordering::Release);
        objects::let_go(|txn| std::ptr::eq(&*txn.env, self));
        let open = self.opened.lock().take();
        OPEN_COUNT.fetch_sub(usize::from(open.is_some()), Ordering::Relaxed);
        open
    }

    /// Gives back the engine's environment while `work` opens it in another way, or the same again.
    /// Without one, it is closed.
    pub fn reopen(&self, work: impl FnOnce(huon::Env) -> Option<huon::Env>) {
        let mut opened = self.opened.lock();
        *opened = opened.take().and_then(work);
        // What they stood for was of the one that is gone.
        self.dbis_mut().close_all();
    }

    pub(crate) fn keeps_cursors(&self) -> bool {
        self.rules.get().is_some_and(|rules| rules.keeps_cursors)
    }

    pub(crate) fn rules(&self) -> Res<&Rules> {
        self.settle();
        self.rules.get().ok_or(Fault::Invalid)
    }

    /// The thread ([`me`](crate::me)) that has the write transaction; 0: none.
    pub fn writer(&self) -> usize {
        self.settle();
        self.writer.load(Ordering::Acquire)
    }

    pub(crate) fn set_writer(&self, thread: usize) {
        self.writer.store(thread, Ordering::Release);
    }

    /// The handle of the write transaction that may be used now; 0: there is none.
    pub fn write_txn(&self) -> usize {
        self.settle();
        self.write_txn.load(Ordering::Acquire)
    }

    pub(crate) fn set_write_txn(&self, handle: usize) {
        self.write_txn.store(handle, Ordering::Release);
    }

    /// How many transactions are not over yet.
    pub fn live_count(&self) -> usize {
        self.settle();
        self.live.load(Ordering::Acquire)
    }

    /// How many read transactions were reset, and not renewed or ended.
    pub fn resting_count(&self) -> u32 {
        self.settle();
        self.readers.resting_count()
    }

    /// The most readers that there were at once, also counting `seen` of them now.
    pub fn readers_high(&self, seen: u32) -> u32 {
        // Seldom is there anything to store.
        match self.readers_high.load(Ordering::Relaxed) {
            high if high >= seen => high,
            _ => self.readers_high.fetch_max(seen, Ordering::Relaxed).max(seen),
        }
    }

    /// How many readers there may be at once.
    pub fn readers_max(&self) -> u32 {
        self.readers_max.load(Ordering::Relaxed)
    }

    /// Sets [`Env::readers_max`].
    pub fn set_readers_max(&self, readers_max: u32) {
        self.readers_max.store(readers_max, Ordering::Relaxed);
    }

    /// How long the file may become, in bytes, as the next write transaction has it; `None`: as it
    /// says itself.
    pub fn max_bytes(&self) -> Option<u64> {
        let bytes = self.max_bytes.load(Ordering::Acquire);
        (bytes != u64::MAX).then_some(bytes)
    }

    /// Sets [`Env::max_bytes`].
    pub fn set_max_bytes(&self, bytes: Option<u64>) {
        self.max_bytes.store(bytes.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// The comparator for a function of the program's.
    pub fn comparator(&self, address: usize, make: impl FnOnce() -> Arc<Compare>) -> Arc<Compare> {
        let mut known = self.comparators.lock();
        if let Some(compare) = known.get(&address).and_then(Weak::upgrade) {
            return compare;
        }
        let compare = make();
        let _held_off = hold_off();
        if known.len() == known.capacity() {
            known.retain(|_, compare| compare.strong_count() > 0);
        }
        known.insert(address, Arc::downgrade(&compare));
        compare
    }
}
