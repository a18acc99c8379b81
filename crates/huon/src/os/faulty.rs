//! A data file that fails on demand: call number N of those that can fail, with a chosen error.
//!
//! 1. Counted are `read_at`, `write_at`, `sync`, `grow` and `shrink`, of all files that share a
//!    plan, from 0, in the order of calls.
//! 2. A call that fails does nothing to the file below, but for the first bytes of a torn write.
//!
//! Flushes that fail and lose data are `SimDisk::lossy`: only who holds the data can lose it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::counts::IoCounts;
use super::map::Map;
use super::{Identity, Storage};
use crate::error::{Error, Result};

/// A call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultCall {
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
}

impl FaultCall {
    fn operation(self) -> &'static str {
        match self {
            FaultCall::Read => "read",
            FaultCall::Write => "write",
            FaultCall::Sync => "flush",
            FaultCall::Grow => "grow",
            FaultCall::Shrink => "shrink",
        }
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
    torn_bytes: u64,
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

    /// Makes a failing write write its first `bytes` all the same. 0, the default: nothing.
    pub fn tear_writes(&self, bytes: u64) {
        self.state().torn_bytes = bytes;
    }

    /// Fails nothing from now on. The counts stay.
    pub fn heal(&self) {
        self.state().fault = None;
    }

    /// How many calls were made, failed ones too.
    pub fn calls(&self) -> u64 {
        self.state().calls
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call; its error number, and the bytes of a torn write, if it is to fail.
    fn meet(&self, call: FaultCall) -> Option<(i32, u64)> {
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        let fault = state.fault?;
        let due = number == fault.call || (fault.for_good && number > fault.call);
        due.then(|| {
            state.fired += 1;
            state.first_fired.get_or_insert(call);
            (fault.errno, state.torn_bytes)
        })
    }
}

/// A data file whose calls fail as a [`FaultPlan`] says.
pub(crate) struct Faulty {
    inner: Box<dyn Storage>,
    plan: FaultPlan,
}

impl Faulty {
    /// `inner`, failing as `plan` says.
    pub(crate) fn new(inner: Box<dyn Storage>, plan: FaultPlan) -> Faulty {
        Faulty { inner, plan }
    }

    /// Counts `call`, and fails it if it is due.
    fn meet(&self, call: FaultCall, place: impl FnOnce() -> String) -> Result<()> {
        match self.plan.meet(call) {
            Some((errno, _)) => Err(fault(call, place(), errno)),
            None => Ok(()),
        }
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
        self.inner.file_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.meet(FaultCall::Read, || at(offset))?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> Result<()> {
        let Some((errno, torn_bytes)) = self.plan.meet(FaultCall::Write) else {
            return self.inner.write_at(parts, offset);
        };
        let mut whole = parts.concat();
        whole.truncate(usize::try_from(torn_bytes).unwrap_or(usize::MAX));
        if !whole.is_empty() {
            self.inner.write_at(&[&whole], offset)?;
        }
        Err(fault(FaultCall::Write, at(offset), errno))
    }

    fn sync(&self) -> Result<()> {
        self.meet(FaultCall::Sync, String::new)?;
        self.inner.sync()
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        self.meet(FaultCall::Grow, String::new)?;
        self.inner.grow(bytes)
    }

    fn shrink(&self, bytes: u64) -> Result<()> {
        self.meet(FaultCall::Shrink, String::new)?;
        self.inner.shrink(bytes)
    }

    fn map(&self) -> &Map {
        self.inner.map()
    }

    fn writable(&self) -> bool {
        self.inner.writable()
    }

    fn identity(&self) -> Result<Identity> {
        self.inner.identity()
    }

    fn try_alone(&self) -> Result<bool> {
        self.inner.try_alone()
    }

    fn try_join(&self) -> Result<bool> {
        self.inner.try_join()
    }

    fn forget_cache(&self) {
        self.inner.forget_cache();
    }

    fn counts(&self) -> IoCounts {
        self.inner.counts()
    }
}
