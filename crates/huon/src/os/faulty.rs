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

    fn leave(&self) -> Result<()> {
        self.inner.leave()
    }

    fn has_others(&self) -> Result<bool> {
        self.inner.has_others()
    }

    fn forget_cache(&self) {
        self.inner.forget_cache();
    }

    fn counts(&self) -> IoCounts {
        self.inner.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::SimDisk;

    /// One call of each kind; the kinds of those that failed.
    fn one_of_each(file: &dyn Storage) -> Vec<(&'static str, Option<i32>)> {
        let results = [
            file.grow(8192),
            file.write_at(&[b"abc", b"def"], 10),
            file.sync(),
            file.read_at(&mut [0; 4], 0).map(drop),
            file.shrink(4096),
        ];
        let failed = results.into_iter().filter_map(|result| match result {
            Err(Error::Io(e)) => Some((e.operation, e.source.raw_os_error())),
            Err(other) => panic!("another error: {other}"),
            Ok(()) => None,
        });
        failed.collect()
    }

    fn faulty(plan: &FaultPlan) -> (SimDisk, Faulty) {
        let disk = SimDisk::new(1 << 16).unwrap();
        let file = disk.storage();
        file.grow(4096).unwrap();
        disk.clear_events();
        (disk, Faulty::new(file, plan.clone()))
    }

    #[test]
    fn each_call_in_turn_fails_and_does_nothing() {
        let operations = ["grow", "write", "flush", "read", "shrink"];
        let counting = FaultPlan::new();
        assert!(one_of_each(&faulty(&counting).1).is_empty());
        assert_eq!((counting.calls(), counting.fired()), (5, 0));
        for (call, operation) in operations.into_iter().enumerate() {
            let plan = FaultPlan::new();
            plan.fail_once(call as u64, libc::EIO);
            let (disk, file) = faulty(&plan);
            assert_eq!(one_of_each(&file), [(operation, Some(libc::EIO))]);
            assert_eq!((plan.calls(), plan.fired()), (5, 1));
            assert_eq!(plan.first_fired().unwrap().operation(), operation);
            // A read is no event; without the growth there is nothing to cut either.
            let events = [2, 3, 3, 4, 3][call];
            assert_eq!(disk.event_count(), events, "{operation}");
        }
    }

    #[test]
    fn from_then_on_everything_fails_until_healed() {
        let plan = FaultPlan::new();
        plan.fail_from(2, libc::ENOSPC);
        let (_disk, file) = faulty(&plan);
        assert_eq!(one_of_each(&file).len(), 3);
        assert_eq!(one_of_each(&file).len(), 5);
        assert_eq!((plan.fired(), plan.first_fired()), (8, Some(FaultCall::Sync)));
        plan.heal();
        assert!(one_of_each(&file).is_empty());
        assert_eq!((plan.calls(), plan.fired()), (15, 8));
    }

    #[test]
    fn a_failing_write_may_be_torn() {
        for (torn, wanted) in [(0, &b"......"[..]), (4, b"abcd.."), (9, b"abcdef")] {
            let plan = FaultPlan::new();
            plan.fail_once(1, libc::EIO);
            plan.tear_writes(torn);
            let (disk, file) = faulty(&plan);
            file.write_at(&[b"......"], 10).unwrap();
            assert!(file.write_at(&[b"abc", b"def"], 10).is_err());
            assert_eq!(&disk.image()[10..16], wanted);
        }
    }

    #[test]
    fn the_rest_is_passed_through() {
        let plan = FaultPlan::new();
        plan.fail_from(0, libc::EIO);
        let (disk, file) = faulty(&plan);
        assert_eq!(file.file_bytes().unwrap(), 4096);
        assert_eq!(file.identity().unwrap(), disk.identity());
        assert_eq!(file.map().base(), disk.storage().map().base());
        assert!(file.writable() && file.try_alone().unwrap() && file.try_join().unwrap());
        file.forget_cache();
        assert_eq!((plan.calls(), file.counts().syncs), (0, 0));
    }
}
