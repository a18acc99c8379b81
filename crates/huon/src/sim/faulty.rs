//! A data file, a lock file and a journal that fail on demand: call number N of those that can
//! fail, with a chosen error.
//!
//! 1. Counted is every call of [`Storage`], [`Shared`] and `JournalFile` that may fail, of all
//!    files that share a plan, from 0, in the order of calls. [`FaultCall`] lists them.
//! 2. A call that fails does nothing to the file below, but for the first bytes of a torn write.
//!
//! 3. A flush that fails on a lossy machine (`SimDisk::lossy`) loses what it should have written.

use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::disk::SimDisk;
use crate::error::{Error, Result};
use crate::os::word::Word;
use crate::os::{Identity, IoCounts, Map, Shared, Storage, ViewPage, Wake, Way, locked};

mod journal;

pub(crate) use journal::FaultyJournal;

/// A call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultCall {
    /// Asking for the length of the data file.
    Length,
    /// Reading past the map.
    Read,
    /// Writing.
    Write,
    /// Flushing.
    Sync,
    /// Making the file longer.
    Grow,
    /// Making the file shorter.
    Shrink,
    /// Asking which file it is, or when it was written last.
    Identity,
    /// Taking the data file for oneself alone.
    Alone,
    /// Taking the data file together with others.
    Join,
    /// Giving the data file up.
    Leave,
    /// Asking whether others have the data file.
    Others,
    /// Making the lock file longer.
    LockGrow,
    /// Looking how long the lock file has become.
    LockRefresh,
    /// Taking the gate of the lock file.
    LockGate,
    /// Taking a client's byte of the lock file.
    LockClaim,
    /// Asking whether a client's byte is held.
    LockHeld,
    /// Flushing the lock file.
    LockSync,
    /// Asking whether the lock file's descriptor is still there; failing is a "no".
    LockIntact,
    /// Taking the byte that shows that a guest is there.
    LockAttend,
    /// Asking whether a guest is there.
    LockAttended,
    /// Taking the byte of a snapshot.
    LockPin,
    /// Asking for the bytes of snapshots.
    LockPinned,
    /// Asking for the length of the journal.
    JournalLength,
    /// Making the journal.
    JournalMake,
    /// Reading the journal.
    JournalRead,
    /// Writing to the journal.
    JournalWrite,
    /// Flushing the journal.
    JournalSync,
}

impl FaultCall {
    /// All of them.
    pub const ALL: [FaultCall; 27] = [
        FaultCall::Length,
        FaultCall::Read,
        FaultCall::Write,
        FaultCall::Sync,
        FaultCall::Grow,
        FaultCall::Shrink,
        FaultCall::Identity,
        FaultCall::Alone,
        FaultCall::Join,
        FaultCall::Leave,
        FaultCall::Others,
        FaultCall::LockGrow,
        FaultCall::LockRefresh,
        FaultCall::LockGate,
        FaultCall::LockClaim,
        FaultCall::LockHeld,
        FaultCall::LockSync,
        FaultCall::LockIntact,
        FaultCall::LockAttend,
        FaultCall::LockAttended,
        FaultCall::LockPin,
        FaultCall::LockPinned,
        FaultCall::JournalLength,
        FaultCall::JournalMake,
        FaultCall::JournalRead,
        FaultCall::JournalWrite,
        FaultCall::JournalSync,
    ];

    /// The operation, as errors name it.
    pub fn operation(self) -> &'static str {
        match self {
            FaultCall::Length => "stat",
            FaultCall::Read => "read",
            FaultCall::Write => "write",
            FaultCall::Sync => "flush",
            FaultCall::Grow => "grow",
            FaultCall::Shrink => "shrink",
            FaultCall::Identity => "identify",
            FaultCall::Alone => "lock alone",
            FaultCall::Join => "lock",
            FaultCall::Leave => "unlock",
            FaultCall::Others => "ask for locks",
            FaultCall::LockGrow => "grow the lock file",
            FaultCall::LockRefresh => "stat the lock file",
            FaultCall::LockGate => "take the open lock",
            FaultCall::LockClaim => "lock a client's byte",
            FaultCall::LockHeld => "ask for a client's byte",
            FaultCall::LockSync => "flush the lock file",
            FaultCall::LockIntact => "use the lock file",
            FaultCall::LockAttend => "lock the guests' byte",
            FaultCall::LockAttended => "ask for the guests' byte",
            FaultCall::LockPin => "lock a snapshot's byte",
            FaultCall::LockPinned => "ask for snapshots' bytes",
            FaultCall::JournalLength => "stat the journal",
            FaultCall::JournalMake => "make the journal",
            FaultCall::JournalRead => "read the journal",
            FaultCall::JournalWrite => "write to the journal",
            FaultCall::JournalSync => "flush the journal",
        }
    }

    /// Whether it is a call of the lock file.
    pub fn is_lock(self) -> bool {
        (FaultCall::LockGrow..=FaultCall::LockPinned).contains(&self)
    }
}

/// Which calls fail, and a count of them. A clone is the same plan.
///
/// A fresh plan fails nothing: run once to learn [`FaultPlan::calls`], then once for each number
/// below it.
///
/// ```
/// use huon::sim::FaultPlan;
///
/// let plan = FaultPlan::new();
/// plan.fail_once(3, 28); // ENOSPC
/// assert_eq!((plan.calls(), plan.fired()), (0, 0));
/// ```
#[derive(Clone, Default)]
pub struct FaultPlan {
    state: Arc<Mutex<PlanState>>,
}

#[derive(Default)]
struct PlanState {
    calls: u64,
    fired: u64,
    first_fired: Option<FaultCall>,
    fault: Option<Fault>,
    torn: Torn,
    paused: bool,
    made: Vec<FaultCall>,
}

/// The part that a failing write has written all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Torn {
    /// Its first bytes, so many.
    First(u64),
    /// All but its last bytes, so many.
    AllBut(u64),
}

impl Default for Torn {
    fn default() -> Torn {
        Torn::First(0)
    }
}

impl Torn {
    fn of(self, bytes: usize) -> usize {
        match self {
            Torn::First(first) => bytes.min(first as usize),
            Torn::AllBut(last) => bytes.saturating_sub(last as usize),
        }
    }
}

#[derive(Clone, Copy)]
struct Fault {
    call: u64,
    errno: i32,
    for_good: bool,
}

impl FaultPlan {
    /// A plan that fails nothing.
    pub fn new() -> FaultPlan {
        FaultPlan::default()
    }

    /// Makes call number `call` (the first is 0) fail with `errno`. Replaces an earlier order.
    pub fn fail_once(&self, call: u64, errno: i32) {
        self.state().fault = Some(Fault { call, errno, for_good: false });
    }

    /// Makes call number `call` and all after it fail with `errno`. Replaces an earlier order.
    pub fn fail_from(&self, call: u64, errno: i32) {
        self.state().fault = Some(Fault { call, errno, for_good: true });
    }

    /// Makes a failing write write a part all the same; by default nothing.
    pub fn tear_writes(&self, torn: Torn) {
        self.state().torn = torn;
    }

    /// Neither counts calls nor fails them, until it is ended by `false`.
    pub fn pause(&self, on: bool) {
        self.state().paused = on;
    }

    /// Fails nothing from now on. The counts stay.
    pub fn heal(&self) {
        self.state().fault = None;
    }

    /// How many calls were made, failed ones too.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// The calls that were made, failed ones too.
    pub fn calls_made(&self) -> Vec<FaultCall> {
        self.state().made.clone()
    }

    /// How many calls were made to fail.
    pub fn fired(&self) -> u64 {
        self.state().fired
    }

    /// The first call that was made to fail.
    pub fn first_fired(&self) -> Option<FaultCall> {
        self.state().first_fired
    }

    fn state(&self) -> MutexGuard<'_, PlanState> {
        locked(&self.state)
    }

    /// Counts a call; its error number, and what a write has written, if it is to fail.
    fn count_call(&self, call: FaultCall) -> Option<(i32, Torn)> {
        let mut state = self.state();
        if state.paused {
            return None;
        }
        state.made.push(call);
        let number = state.calls;
        state.calls += 1;
        let fault = state.fault?;
        let due = number == fault.call || (fault.for_good && number > fault.call);
        due.then(|| {
            state.fired += 1;
            state.first_fired.get_or_insert(call);
            (fault.errno, state.torn)
        })
    }
}

impl FaultPlan {
    /// Counts `call`, and fails it if it is due.
    fn pass(&self, call: FaultCall, place: impl FnOnce() -> String) -> Result<()> {
        match self.count_call(call) {
            Some((errno, _)) => Err(fault(call, place(), errno)),
            None => Ok(()),
        }
    }
}

/// A data file whose calls fail as a [`FaultPlan`] says.
pub(crate) struct Faulty {
    disk: SimDisk,
    inner: Box<dyn Storage>,
    plan: FaultPlan,
}

impl Faulty {
    /// The file of `disk` that `inner` is, failing as `plan` says.
    pub(crate) fn new(disk: &SimDisk, inner: Box<dyn Storage>, plan: FaultPlan) -> Faulty {
        Faulty { disk: disk.clone(), inner, plan }
    }
}

fn fault(call: FaultCall, place: String, errno: i32) -> Error {
    Error::io(call.operation(), place, io::Error::from_raw_os_error(errno))
}

fn at(offset: u64) -> String {
    format!("offset {offset}")
}

impl Storage for Faulty {
    fn file_bytes(&self) -> Result<u64> {
        self.plan.pass(FaultCall::Length, String::new)?;
        self.inner.file_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.plan.pass(FaultCall::Read, || at(offset))?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> Result<()> {
        let Some((errno, torn)) = self.plan.count_call(FaultCall::Write) else {
            return self.inner.write_at(parts, offset);
        };
        let mut whole = parts.concat();
        whole.truncate(torn.of(whole.len()));
        if !whole.is_empty() {
            self.inner.write_at(&[&whole], offset)?;
        }
        Err(fault(FaultCall::Write, at(offset), errno))
    }

    fn view(&self, offset: u64, bytes: usize) -> Option<ViewPage> {
        self.inner.view(offset, bytes)
    }

    fn sync(&self) -> Result<()> {
        self.plan.pass(FaultCall::Sync, String::new).inspect_err(|_| self.disk.lose())?;
        self.inner.sync()
    }

    fn flushes_at_once(&self) -> bool {
        self.inner.flushes_at_once()
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        self.plan.pass(FaultCall::Grow, String::new)?;
        self.inner.grow(bytes)
    }

    fn shrink(&self, bytes: u64) -> Result<()> {
        self.plan.pass(FaultCall::Shrink, String::new)?;
        self.inner.shrink(bytes)
    }

    fn map(&self) -> &Arc<Map> {
        self.inner.map()
    }

    fn writable(&self) -> bool {
        self.inner.writable()
    }

    fn identity(&self) -> Result<Identity> {
        self.plan.pass(FaultCall::Identity, String::new)?;
        self.inner.identity()
    }

    fn try_alone(&self) -> Result<bool> {
        self.plan.pass(FaultCall::Alone, String::new)?;
        self.inner.try_alone()
    }

    fn try_join(&self) -> Result<bool> {
        self.plan.pass(FaultCall::Join, String::new)?;
        self.inner.try_join()
    }

    fn try_private(&self) -> Result<bool> {
        self.plan.pass(FaultCall::Join, String::new)?;
        self.inner.try_private()
    }

    fn leave(&self) -> Result<()> {
        self.plan.pass(FaultCall::Leave, String::new)?;
        self.inner.leave()
    }

    fn has_others(&self) -> Result<bool> {
        self.plan.pass(FaultCall::Others, String::new)?;
        self.inner.has_others()
    }

    fn modified(&self) -> Result<u64> {
        self.plan.pass(FaultCall::Identity, String::new)?;
        self.inner.modified()
    }

    fn forget_cache(&self) {
        self.inner.forget_cache();
    }

    fn counts(&self) -> IoCounts {
        self.inner.counts()
    }
}

/// A lock file whose calls fail as a [`FaultPlan`] says.
pub(crate) struct FaultyShared {
    inner: Arc<dyn Shared>,
    plan: FaultPlan,
}

impl FaultyShared {
    /// `inner`, failing as `plan` says.
    pub(crate) fn new(inner: Arc<dyn Shared>, plan: FaultPlan) -> FaultyShared {
        FaultyShared { inner, plan }
    }
}

impl Shared for FaultyShared {
    fn words(&self) -> &[Word] {
        self.inner.words()
    }

    fn first_word(&self) -> Result<u64> {
        self.inner.first_word()
    }

    fn grow(&self, words: usize) -> Result<()> {
        self.plan.pass(FaultCall::LockGrow, String::new)?;
        self.inner.grow(words)
    }

    fn refresh(&self) -> Result<()> {
        self.plan.pass(FaultCall::LockRefresh, String::new)?;
        self.inner.refresh()
    }

    fn lock_gate(&self, timeout: Duration) -> Result<bool> {
        self.plan.pass(FaultCall::LockGate, String::new)?;
        self.inner.lock_gate(timeout)
    }

    fn unlock_gate(&self) {
        self.inner.unlock_gate();
    }

    fn claim(&self, number: u32) -> Result<bool> {
        self.plan.pass(FaultCall::LockClaim, String::new)?;
        self.inner.claim(number)
    }

    fn release(&self, number: u32) {
        self.inner.release(number);
    }

    fn held(&self, number: u32) -> Result<bool> {
        self.plan.pass(FaultCall::LockHeld, String::new)?;
        self.inner.held(number)
    }

    fn way(&self) -> Way {
        self.inner.way()
    }

    fn writable(&self) -> bool {
        self.inner.writable()
    }

    fn attend(&self) -> Result<()> {
        self.plan.pass(FaultCall::LockAttend, String::new)?;
        self.inner.attend()
    }

    fn attended(&self) -> Result<bool> {
        self.plan.pass(FaultCall::LockAttended, String::new)?;
        self.inner.attended()
    }

    fn pin(&self, txnid: u64) -> Result<()> {
        self.plan.pass(FaultCall::LockPin, String::new)?;
        self.inner.pin(txnid)
    }

    fn unpin(&self, txnid: u64) {
        self.inner.unpin(txnid);
    }

    fn pinned(&self, range: &RangeInclusive<u64>) -> Result<Option<RangeInclusive<u64>>> {
        self.plan.pass(FaultCall::LockPinned, String::new)?;
        self.inner.pinned(range)
    }

    fn wait(&self, word: usize, expected: u64, timeout: Duration, marks: u32) {
        self.inner.wait(word, expected, timeout, marks);
    }

    fn wake(&self, word: usize, which: Wake) -> bool {
        self.inner.wake(word, which)
    }

    fn intact(&self) -> bool {
        self.plan.count_call(FaultCall::LockIntact).is_none() && self.inner.intact()
    }

    fn lasts(&self) -> bool {
        self.inner.lasts()
    }

    fn boot(&self) -> [u8; 16] {
        self.inner.boot()
    }

    fn sync(&self) -> Result<()> {
        self.plan.pass(FaultCall::LockSync, String::new)?;
        self.inner.sync()
    }
}

#[cfg(test)]
mod tests;
