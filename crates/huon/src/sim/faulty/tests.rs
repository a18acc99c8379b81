//! A plan fails the call that it names, and no other.

use super::*;
use crate::lock::MemoryFile;
use crate::os::testing::{EIO, ENOSPC};

/// What was tried, and the error number.
type Failed = (&'static str, Option<i32>);

/// A call of each kind, but for [`FaultCall::LockIntact`], which only says no.
fn one_of_each(file: &dyn Storage, lock: &dyn Shared) -> Vec<Failed> {
    let results = [
        file.grow(8192),
        file.file_bytes().map(drop),
        file.read_at(&mut [0; 4], 0).map(drop),
        file.write_at(&[b"abc", b"def"], 10),
        file.sync(),
        file.shrink(4096),
        file.identity().map(drop),
        file.try_alone().map(drop),
        file.try_join().map(drop),
        file.leave(),
        file.has_others().map(drop),
        lock.grow(10),
        lock.refresh(),
        lock.lock_gate(Duration::ZERO).map(|_| lock.unlock_gate()),
        lock.claim(3).map(|_| lock.release(3)),
        lock.held(3).map(drop),
        lock.sync(),
    ];
    let failed = results.into_iter().filter_map(|result| match result {
        Err(Error::Io(e)) => Some((e.operation, e.source.raw_os_error())),
        Err(other) => panic!("another error: {other}"),
        Ok(()) => None,
    });
    failed.collect()
}

const CALLS: u64 = 17;

fn faulty(plan: &FaultPlan) -> (SimDisk, Faulty, FaultyShared) {
    let disk = SimDisk::new(1 << 16).unwrap();
    disk.storage().grow(4096).unwrap();
    disk.clear_events();
    let lock = Arc::new(MemoryFile::new([1; 16]).open());
    let file = Faulty::new(&disk, disk.storage(), plan.clone());
    (disk, file, FaultyShared::new(lock, plan.clone()))
}

#[test]
fn each_call_in_turn_fails_and_does_nothing() {
    let counting = FaultPlan::new();
    let (disk, file, lock) = faulty(&counting);
    assert!(one_of_each(&file, &lock).is_empty());
    assert_eq!((counting.calls(), counting.fired()), (CALLS, 0));
    let whole = disk.event_count();
    let mut met = Vec::new();
    for call in 0..CALLS {
        let plan = FaultPlan::new();
        plan.fail_once(call, EIO);
        let (disk, file, lock) = faulty(&plan);
        let failed = one_of_each(&file, &lock);
        let kind = plan.first_fired().unwrap();
        assert_eq!(failed, [(kind.operation(), Some(EIO))]);
        assert_eq!((plan.calls(), plan.fired()), (CALLS, 1));
        // Without the growth there is nothing to cut either.
        let missing = match kind {
            FaultCall::Grow => 2,
            FaultCall::Write | FaultCall::Sync | FaultCall::Shrink => 1,
            _ => 0,
        };
        assert_eq!(disk.event_count(), whole - missing, "{kind:?}");
        assert_eq!(lock.words().len(), if kind == FaultCall::LockGrow { 0 } else { 10 });
        met.push(kind);
    }
    met.sort();
    assert_eq!(met, FaultCall::ALL[..met.len()], "all but `intact`");
    assert_eq!(met.iter().filter(|call| call.is_lock()).count(), 6);
}

#[test]
fn from_then_on_everything_fails_until_healed() {
    let plan = FaultPlan::new();
    plan.fail_from(4, ENOSPC);
    let (_disk, file, lock) = faulty(&plan);
    assert_eq!(one_of_each(&file, &lock).len() as u64, CALLS - 4);
    assert_eq!(one_of_each(&file, &lock).len() as u64, CALLS);
    assert!(!lock.intact());
    assert_eq!(plan.fired(), 2 * CALLS - 4 + 1);
    assert_eq!(plan.first_fired(), Some(FaultCall::Sync));
    plan.heal();
    assert!(one_of_each(&file, &lock).is_empty() && lock.intact());
    assert_eq!((plan.calls(), plan.fired()), (3 * CALLS + 2, 2 * CALLS - 3));
}

#[test]
fn a_failing_write_may_be_torn() {
    let cases = [
        (Torn::First(0), &b"......"[..]),
        (Torn::First(4), b"abcd.."),
        (Torn::First(9), b"abcdef"),
        (Torn::AllBut(1), b"abcde."),
        (Torn::AllBut(9), b"......"),
    ];
    for (torn, wanted) in cases {
        let plan = FaultPlan::new();
        plan.fail_once(1, EIO);
        plan.tear_writes(torn);
        let (disk, file, _) = faulty(&plan);
        file.write_at(&[b"......"], 10).unwrap();
        assert!(file.write_at(&[b"abc", b"def"], 10).is_err());
        assert_eq!(&disk.image()[10..16], wanted);
    }
}

#[test]
fn the_rest_is_passed_through() {
    let plan = FaultPlan::new();
    plan.fail_from(0, EIO);
    let (disk, file, lock) = faulty(&plan);
    assert_eq!(file.map().base(), disk.storage().map().base());
    assert!(file.writable() && lock.boot() == [1; 16]);
    file.forget_cache();
    lock.unlock_gate();
    lock.release(0);
    lock.wake(0, Wake::All);
    assert_eq!((plan.calls(), file.counts().syncs), (0, 0));
    plan.pause(true);
    assert!(one_of_each(&file, &lock).is_empty() && plan.calls_made().is_empty());
    plan.pause(false);
    assert!(file.sync().is_err());
    assert_eq!(plan.calls_made(), [FaultCall::Sync]);
}

#[test]
fn a_failed_flush_loses_data_on_a_lossy_machine() {
    let plan = FaultPlan::new();
    plan.fail_once(1, ENOSPC);
    let disk = SimDisk::new(1 << 16).unwrap().lossy();
    disk.storage().grow(4096).unwrap();
    let file = Faulty::new(&disk, disk.storage(), plan);
    file.write_at(&[b"lost"], 0).unwrap();
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(&disk.image()[..4], b"lost");
    assert_eq!(&disk.flushed_image()[..4], [0; 4]);
    file.forget_cache();
    assert_eq!(&disk.image()[..4], [0; 4]);
}
