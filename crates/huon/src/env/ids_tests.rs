//! Which id comes next after each kind of end (P7, P16).

use crate::env::tests::options;
use crate::sim::{FaultCall, FaultPlan, SimDisk};
use crate::{Bytes, Durability, Env, Error, Recovery, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
/// A jump goes past a ceiling, which lies so far ahead.
const FAR: u64 = 1 << 32;

fn open(disk: &SimDisk) -> Env {
    options().open_simulated(disk).unwrap()
}

fn reader(disk: &SimDisk) -> Env {
    options().read_only(true).open_simulated(disk).unwrap()
}

fn put(env: &Env, durability: Durability) -> u64 {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    t.put(&mut txn, env.read().unwrap().id(), &[7; 20]).unwrap();
    txn.commit_with(durability).unwrap()
}

/// Aborts after pages were written under several ids: these are burnt, up to the one before the
/// last, which is returned.
fn burn(disk: &SimDisk) -> u64 {
    let env = options().write_buffer_bytes(1).open_simulated(disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for key in 0..400 {
        t.put(&mut txn, key, &[1; 20]).unwrap();
    }
    txn.id() - 1
}

/// The same machine with the same files, after a boot or without one.
fn again(disk: &SimDisk, same_boot: bool) -> SimDisk {
    let next = disk.after_crash(&disk.image(), same_boot).unwrap();
    next.with_lock_image(&disk.lock_image())
}

/// A machine with a file that was closed in order, and its newest id.
fn closed() -> (SimDisk, u64) {
    let disk = SimDisk::new(8 << 20).unwrap();
    let id = put(&open(&disk), Durability::Durable);
    assert_eq!(id, 2);
    (disk, id)
}

#[test]
fn after_a_clean_close_the_next_id_is_one_more() {
    let (disk, id) = closed();
    for step in 1..5 {
        let env = open(&disk);
        assert_eq!((env.recovery(), put(&env, Durability::Durable)), (Recovery::Clean, id + step));
    }
    let env = open(&disk);
    assert_eq!(put(&env, Durability::Lazy), id + 5);
    env.close().unwrap();
    assert_eq!(put(&open(&disk), Durability::Lazy), id + 6, "the close flushes what is lazy");
    let booted = again(&disk, false);
    assert_eq!(put(&open(&booted), Durability::Durable), id + 7, "after a boot");
}

#[test]
fn readers_and_empty_transactions_use_no_id() {
    let (disk, id) = closed();
    for _ in 0..3 {
        let env = open(&disk);
        env.write().unwrap().abort();
        env.write().unwrap().commit().unwrap();
        drop(env);
        drop(reader(&disk));
    }
    let (writer, last) = (open(&disk), reader(&disk));
    assert_eq!(put(&writer, Durability::Durable), id + 1);
    drop(writer);
    drop(last);
    assert_eq!(put(&open(&disk), Durability::Durable), id + 2, "a reader closed last");
}

#[test]
fn ids_that_were_burnt_stay_burnt() {
    let (disk, id) = closed();
    let burnt = burn(&disk);
    assert!(burnt > id);
    let last = burn(&disk);
    assert!(last > burnt);
    drop(reader(&disk));
    let next = put(&open(&again(&disk, false)), Durability::Durable);
    assert!((last + 1..=last + 2).contains(&next), "{next} after {last}");
}

#[test]
fn an_unsynced_close_counts_until_the_next_boot() {
    let unsynced = |disk: &SimDisk| {
        let mut options = options();
        options.durability(Durability::Unsynced).open_simulated(disk).unwrap()
    };
    let (disk, id) = closed();
    assert_eq!(put(&unsynced(&disk), Durability::Unsynced), id + 1);
    drop(reader(&disk));
    let env = unsynced(&again(&disk, true));
    assert_eq!((env.recovery(), put(&env, Durability::Unsynced)), (Recovery::Clean, id + 2));
    let env = open(&again(&disk, false));
    assert_ne!(env.recovery(), Recovery::Clean);
    assert!(put(&env, Durability::Durable) > FAR);
}

#[test]
fn ids_jump_after_each_unclean_end() {
    type End = fn(&SimDisk) -> SimDisk;
    let ends: [(&str, End); 7] = [
        ("killed", |disk| {
            let env = open(disk);
            put(&env, Durability::Durable);
            again(disk, true)
        }),
        ("power loss", |disk| {
            let env = open(disk);
            put(&env, Durability::Lazy);
            again(disk, false)
        }),
        ("a reader was killed after a clean close", |disk| {
            let _env = reader(disk);
            again(disk, true)
        }),
        ("lock file deleted after a clean close", |disk| {
            disk.after_crash(&disk.image(), true).unwrap()
        }),
        ("both files copied", |disk| {
            let copy = SimDisk::from_image(&disk.image(), 8 << 20).unwrap();
            copy.set_boot(disk.boot());
            copy.set_modified(disk.modified());
            copy.with_lock_image(&disk.lock_image())
        }),
        ("closed dirty", |disk| {
            let env = open(disk);
            put(&env, Durability::Lazy);
            env.close_without_flush();
            again(disk, true)
        }),
        ("a reader closed an unclean file in order", |disk| {
            let lost = disk.after_crash(&disk.image(), true).unwrap();
            drop(reader(&lost));
            again(&lost, true)
        }),
    ];
    for (what, end) in ends {
        let (disk, _) = closed();
        let env = open(&end(&disk));
        assert_ne!(env.recovery(), Recovery::Clean, "{what}");
        assert!(put(&env, Durability::Durable) > FAR, "{what}");
    }
}

/// A lock file restored from a copy notes a clean close, and knows nothing of an id under which
/// pages were written since. No writer may give such a page's pair of number and birth to other
/// contents.
#[test]
fn an_old_lock_file_brings_no_id_back() {
    let (disk, _) = closed();
    let old = disk.lock_image();
    let env = open(&disk);
    let given_up = put(&env, Durability::Lazy);
    let disk = disk.after_crash(&disk.image(), true).unwrap().with_lock_image(&old);
    let env = open(&disk);
    assert_eq!(env.recovery(), Recovery::Clean);
    let next = put(&env, Durability::Durable);
    assert!(next != given_up && next < FAR, "a jump below the ceiling: {next}");
}

/// A disk is lost while the kernel runs on, and mounted again. Pages of a lazy commit have reached
/// it; the time of the last write has not, nor has the lock file beyond what was flushed of it.
#[test]
fn a_disk_that_is_mounted_anew_brings_no_id_back() {
    for same_boot in [true, false] {
        let (disk, id) = closed();
        let (noted, modified) = (disk.lock_image(), disk.modified());
        let env = open(&disk);
        assert_eq!(put(&env, Durability::Lazy), id + 1);
        let next = disk.after_crash(&disk.image(), same_boot).unwrap();
        next.set_modified(modified);
        let lock = disk.flushed_lock_image().unwrap_or(noted);
        let env = open(&next.with_lock_image(&lock));
        assert!(put(&env, Durability::Durable) > FAR);
    }
}

/// Nothing is written under an id while the disk may still note the close before it.
#[test]
fn a_lock_file_that_cannot_be_flushed_refuses_writers() {
    let (disk, id) = closed();
    let plan = FaultPlan::new();
    let env = options().open_faulty(&disk, &plan).unwrap();
    let before = plan.calls();
    env.write().unwrap().abort();
    let met = plan.calls_made();
    let sync = met.iter().position(|&call| call == FaultCall::LockSync).unwrap() as u64;
    assert!(sync >= before && env.close().is_ok());
    let plan = FaultPlan::new();
    let env = options().open_faulty(&disk, &plan).unwrap();
    plan.fail_once(sync, 5);
    assert!(matches!(env.write(), Err(Error::Io(_))));
    assert_eq!(plan.first_fired(), Some(FaultCall::LockSync));
    let flushes = || plan.calls_made().iter().filter(|&&call| call == FaultCall::LockSync).count();
    assert_eq!((put(&env, Durability::Durable), flushes()), (id + 1, 2), "tried again");
    assert_eq!((put(&env, Durability::Durable), flushes()), (id + 2, 2), "and then no more");
}
