//! Guests, the readers that may not write the lock file, on a simulated machine: see
//! `lock/guests.rs`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::os::testing::EIO;
use crate::sim::{FaultCall, FaultPlan, SimDisk};
use crate::{Bytes, Durability, Env, Error, ReadTxn, Recovery, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const KEYS: u64 = 40;

fn options() -> crate::Options {
    let mut options = Env::options();
    options.page_bytes(256).max_bytes(4 << 20);
    options
}

fn disk() -> SimDisk {
    SimDisk::new(8 << 20).unwrap().quiet()
}

/// Puts the number under all keys.
fn write(env: &Env, number: u64) -> u64 {
    write_as(env, number, Durability::Lazy)
}

fn write_as(env: &Env, number: u64, durability: Durability) -> u64 {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for key in 0..KEYS {
        t.put(&mut txn, key, &[number as u8; 30]).unwrap();
    }
    txn.commit_with(durability).unwrap()
}

/// The number under all keys.
fn seen(txn: &ReadTxn) -> u64 {
    let t = txn.open_table(&T).unwrap().unwrap();
    let first = t.get(txn, 0).unwrap().unwrap()[0];
    (0..KEYS).for_each(|key| assert_eq!(t.get(txn, key).unwrap().unwrap(), [first; 30]));
    first.into()
}

fn guest(disk: &SimDisk) -> Env {
    options().open_simulated_to_read(disk).unwrap()
}

#[test]
fn what_guests_see_stays_while_they_read_it() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    let guests = [(); 5].map(|()| guest(&disk));
    let mut readers: Vec<(u64, ReadTxn)> = Vec::new();
    for round in 2..120 {
        // Two of one snapshot, and in no order of the snapshots.
        let guest = &guests[round as usize * 3 % 5];
        readers.push((round - 1, guest.read().unwrap()));
        readers.push((round - 1, guest.read().unwrap()));
        write(&env, round);
        for at in [3, 7, 1] {
            if readers.len() > 8 {
                let (number, txn) = readers.swap_remove(at);
                assert_eq!(seen(&txn), number);
            }
        }
        readers.iter().for_each(|(number, txn)| assert_eq!(seen(txn), *number));
        if round % 20 == 0 {
            assert!(env.check().unwrap().is_clean());
        }
    }
    let ids = |env: &Env| -> Vec<u64> {
        env.info().unwrap().readers.iter().filter(|r| r.guest).map(|r| r.txnid).collect()
    };
    let mut pinned: Vec<u64> = readers.iter().map(|(_, txn)| txn.id()).collect();
    pinned.sort_unstable();
    pinned.dedup();
    assert_eq!(ids(&env), pinned);
    drop(readers);
    assert!(ids(&env).is_empty());
    // The pages that they retained are reused.
    let used = env.info().unwrap().used_bytes;
    for round in 120..160 {
        write(&env, round);
    }
    assert!(env.info().unwrap().used_bytes <= used);
}

#[test]
fn more_snapshots_than_are_asked_for_stay_all_the_same() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    let guests = [(); 3].map(|()| guest(&disk));
    let mut readers = Vec::new();
    for round in 2..102 {
        readers.push((round - 1, guests[round as usize % 3].read().unwrap()));
        write(&env, round);
    }
    let check = |readers: &[(u64, ReadTxn)]| {
        readers.iter().for_each(|(number, txn)| assert_eq!(seen(txn), *number));
    };
    check(&readers);
    // From both ends and the middle, while others go on.
    for round in 102..150 {
        drop(readers.remove(if round % 3 == 0 { 0 } else { readers.len() / 2 }));
        write(&env, round);
        check(&readers);
    }
    assert!(env.check().unwrap().is_clean());
    readers.clear();
    for round in 150..200 {
        write(&env, round);
    }
    let used = env.info().unwrap().used_bytes;
    for round in 200..240 {
        write(&env, round);
    }
    assert!(env.info().unwrap().used_bytes <= used, "nothing is kept for ever");
}

/// R6: once every client that could write is gone, the next one continues from the snapshot that
/// guests read.
#[test]
fn a_client_beside_guests_goes_on_where_others_stopped() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    let guest = guest(&disk);
    let reader = guest.read().unwrap();
    let id = write(&env, 2);
    env.close().unwrap();
    assert_eq!((seen(&reader), seen(&guest.read().unwrap())), (1, 2));
    let env = options().open_simulated(&disk).unwrap();
    assert!(write(&env, 3) > id);
    assert_eq!((seen(&reader), seen(&guest.read().unwrap())), (1, 3));
    // It dies: the note of the clean close before does not count any more.
    env.close_without_flush();
    drop((reader, guest));
    let env = options().open_simulated(&disk).unwrap();
    assert_eq!((env.recovery(), seen(&env.read().unwrap())), (Recovery::Newest, 3));
    assert!(env.check().unwrap().is_clean());
}

/// R6: a writer that joined beside guests, wrote pages and died has not closed.
#[test]
fn a_death_beside_guests_is_no_clean_close() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    let guest = guest(&disk);
    env.close().unwrap();
    let env = options().write_buffer_bytes(1024).open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for key in 0..500 {
        t.put(&mut txn, key, &[9; 30]).unwrap();
    }
    let killed = disk.after_kill(None).unwrap();
    drop((txn, guest));
    let env = options().open_simulated(&killed).unwrap();
    assert_ne!(env.recovery(), Recovery::Clean);
    assert_eq!(seen(&env.read().unwrap()), 1);
}

/// A guest that comes first does not keep the owner from opening: it starts from what the lock file
/// says.
#[test]
fn a_guest_that_comes_first_is_joined() {
    for dies in [false, true] {
        let disk = disk();
        let env = options().open_simulated(&disk).unwrap();
        write(&env, 1);
        if dies {
            env.close_without_flush();
        } else {
            env.close().unwrap();
        }
        let first = guest(&disk);
        let expected = if dies { Recovery::Newest } else { Recovery::Clean };
        assert_eq!(first.recovery(), expected);
        let (second, reader) = (guest(&disk), first.read().unwrap());
        let env = options().open_simulated(&disk).unwrap();
        write(&env, 2);
        assert_eq!((seen(&reader), seen(&second.read().unwrap())), (1, 2), "dies: {dies}");
        assert!(env.check().unwrap().is_clean());
    }
}

/// R6: also where the last client died between sealing a snapshot and publishing it.
#[test]
fn a_guest_keeps_no_client_out_wherever_the_last_one_died() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().write_buffer_bytes(1024).open_simulated(&disk).unwrap();
    write(&env, 1);
    env.sync().unwrap();
    let deaths = Arc::new(Mutex::new(Vec::new()));
    let noted = deaths.clone();
    disk.watch(move |disk| noted.lock().unwrap().push((disk.image(), disk.lock_image())));
    for (number, durability) in [(2, Durability::Lazy), (3, Durability::Durable)] {
        write_as(&env, number, durability);
    }
    write_as(&env, 4, Durability::NoMetaSync);
    env.close().unwrap();
    let deaths = std::mem::take(&mut *deaths.lock().unwrap());
    assert!(deaths.len() > 12);
    for (at, (image, lock)) in deaths.iter().enumerate() {
        let disk = disk.after_crash(image, true).unwrap().with_lock_image(lock).quiet();
        let guest = guest(&disk);
        let reader = guest.read().unwrap();
        let before = seen(&reader);
        let opened = options().open_simulated(&disk);
        let env = opened.unwrap_or_else(|error| panic!("death {at}: {error}"));
        for number in 10..15 {
            write(&env, number);
        }
        assert_eq!((seen(&reader), seen(&guest.read().unwrap())), (before, 14), "death {at}");
        assert!(env.check().unwrap().is_clean(), "death {at}");
    }
}

/// R2, R7: the lock file is of another boot, or damaged, or there is none.
#[test]
fn a_guest_relies_on_no_other_lock_file() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    env.close().unwrap();
    let (image, lock) = (disk.image(), disk.lock_image());
    for (same_boot, lock) in [(false, &lock[..]), (true, &lock[..99]), (true, &[])] {
        let disk = disk.after_crash(&image, same_boot).unwrap();
        let disk = if lock.is_empty() { disk } else { disk.with_lock_image(lock) };
        let alone = guest(&disk);
        assert_eq!(seen(&alone.read().unwrap()), 1);
        let refused = options().open_simulated(&disk);
        assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
        drop(alone);
        write(&options().open_simulated(&disk).unwrap(), 2);
    }
}

/// R8: where there is no room, the error names the snapshot, and says that its reader is not known.
#[test]
fn a_guest_that_keeps_room_is_named() {
    let disk = disk();
    let env = options().max_bytes(256 << 10).open_simulated(&disk).unwrap();
    write(&env, 1);
    let guest = guest(&disk);
    let parked = guest.read().unwrap().park().unwrap();
    let full = (2..200).find_map(|number| {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        let mut put = |key: u64| t.put(&mut txn, number * 1000 + key, &[1; 60]).err();
        (0..100).find_map(&mut put).or_else(|| txn.commit_with(Durability::Lazy).err())
    });
    let Some(Error::MapFull(full)) = full else { panic!("{full:?}") };
    let reader = full.readers.iter().find(|reader| reader.guest).expect("the guest is named");
    assert_eq!((reader.txnid, reader.pid, reader.parked), (parked.id(), 0, false));
    let text = Error::MapFull(full).to_string();
    assert!(text.contains("may not write") && !text.contains("process 0"), "{text}");
    assert!(!parked.is_evicted());
    assert_eq!(seen(&parked.unpark().unwrap()), 1);
}

/// R8: a guest begins also where no commit is possible any more.
#[test]
fn a_guest_reads_after_a_failed_flush() {
    let disk = disk().lossy();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    env.sync().unwrap();
    let guest = guest(&disk);
    write(&env, 2);
    disk.fail_syncs(1);
    assert!(env.sync().is_err());
    assert!(matches!(env.write(), Err(Error::Poisoned)));
    assert_eq!(seen(&guest.read().unwrap()), 2);
    drop(env);
    // The next client must be alone.
    let refused = options().open_simulated(&disk);
    assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
    drop(guest);
    assert_eq!(seen(&options().open_simulated(&disk).unwrap().read().unwrap()), 1);
}

/// R2: nothing of what a guest may call stores a word.
#[test]
fn a_guest_writes_nothing() {
    let disk = disk();
    let env = options().open_simulated(&disk).unwrap();
    write(&env, 1);
    let _pin = env.read().unwrap();
    let before = disk.lock_image();
    let guest = guest(&disk);
    let mut reader = guest.read().unwrap();
    assert!(!reader.renew().unwrap() && reader.ids_behind() == 0);
    let reader = reader.park().unwrap().unpark().unwrap();
    assert!(matches!(guest.write(), Err(Error::ReadOnly)));
    assert!(matches!(guest.sync(), Err(Error::ReadOnly)));
    assert!(!guest.flush_if_due().unwrap());
    assert_eq!(guest.clear_dead_readers().unwrap(), 0);
    let wait = |after| guest.wait_for_commit(after, Duration::from_millis(6)).unwrap();
    assert_eq!((wait(reader.id()), wait(reader.id() - 1)), (None, Some(reader.id())));
    assert!(guest.check().unwrap().is_clean());
    assert!(guest.check_with(crate::CheckOptions::new().meta_slot(0)).is_err());
    assert!(guest.retained_snapshots().unwrap().len() > 1);
    assert_eq!(guest.info().unwrap().readers.len(), 2);
    let dir = tempfile::tempdir().unwrap();
    guest.copy_to(dir.path().join("copy.huon"), crate::CopyOptions::new()).unwrap();
    drop(reader);
    guest.close().unwrap();
    assert!(disk.lock_image() == before);
}

/// Each call that a guest makes fails in turn; the writer beside it is right whatever happens.
#[test]
fn every_call_of_a_guest_may_fail() {
    for number in 0.. {
        let disk = disk();
        let env = options().open_simulated(&disk).unwrap();
        write(&env, 1);
        let plan = FaultPlan::new();
        plan.fail_once(number, EIO);
        let guest = options().open_faulty_to_read(&disk, &plan);
        let reader = guest.as_ref().ok().and_then(|guest| guest.read().ok());
        write(&env, 2);
        write(&env, 3);
        assert!(reader.is_none_or(|reader| seen(&reader) == 1));
        drop(guest);
        assert_eq!(env.info().unwrap().readers.len(), 0, "call {number}");
        if plan.fired() == 0 {
            assert!(plan.calls_made().contains(&FaultCall::LockPin));
            break;
        }
    }
}
