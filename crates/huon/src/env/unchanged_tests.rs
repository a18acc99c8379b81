//! Write transactions that change nothing: no snapshot, no page, and every promise of a commit.

use std::time::Duration;

use super::tests::options;
use crate::page::{META_BYTES, META_SLOTS, Meta};
use crate::sim::SimDisk;
use crate::{Bytes, CopyOptions, Durability, Env, Error, Recovery, Table, TableDef, U64, WriteTxn};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const MODES: [Durability; 4] =
    [Durability::Durable, Durability::NoMetaSync, Durability::Lazy, Durability::Unsynced];

fn machine() -> SimDisk {
    SimDisk::new(8 << 20).unwrap().lossy()
}

/// Ten records, in pages of several levels.
fn filled(disk: &SimDisk) -> Env {
    let env = options().open_simulated(disk).unwrap();
    write(&env, Durability::Durable, |t, txn| {
        (0..10).try_for_each(|key| t.put(txn, key, &[key as u8; 60]).map(drop)).unwrap();
    });
    env
}

/// One transaction; the id that it had, and the id that its commit returned.
fn write(
    env: &Env,
    durability: Durability,
    work: impl FnOnce(Table<U64, Bytes>, &mut WriteTxn),
) -> (u64, u64) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    work(t, &mut txn);
    let id = txn.id();
    (id, txn.commit_with(durability).unwrap())
}

fn value(env: &Env, key: u64) -> Option<Vec<u8>> {
    let txn = env.read().unwrap();
    txn.open_table(&T).unwrap().unwrap().get(&txn, key).unwrap().map(<[u8]>::to_vec)
}

type Work = fn(Table<U64, Bytes>, &mut WriteTxn);

/// Everything that looks like a change and is none.
fn idle_works() -> Vec<(&'static str, Work)> {
    vec![
        ("nothing", |_, _| ()),
        ("the same value", |t, txn| assert!(!t.put(txn, 3, &[3; 60]).unwrap())),
        ("all the same values", |t, txn| {
            (0..10).try_for_each(|key| t.put(txn, key, &[key as u8; 60]).map(drop)).unwrap();
        }),
        ("a delete of nothing", |t, txn| assert!(!t.remove(txn, 33).unwrap())),
        ("a delete of an empty range", |t, txn| {
            assert_eq!(t.remove_range(txn, 33..40).unwrap(), 0);
        }),
        ("a refused insert", |t, txn| assert!(!t.put_if_absent(txn, 3, b"other").unwrap())),
        ("an update of nothing", |t, txn| assert!(!t.update(txn, 33, b"other").unwrap())),
        ("a refusal", |t, txn| {
            assert!(matches!(t.append(txn, 3, b"other"), Err(Error::KeyOutOfOrder)));
        }),
        ("an aborted level", |t, txn| {
            let aborted = txn.nested(|child| {
                t.put(child, 44, b"other")?;
                child.create_table(&TableDef::<U64, Bytes>::new("other"))?;
                Err::<(), _>(Error::Invalid("given up"))
            });
            assert!(aborted.is_err());
        }),
    ]
}

#[test]
fn a_transaction_that_changes_nothing_makes_no_snapshot() {
    let disk = machine();
    let env = filled(&disk);
    let base = env.durable_id();
    let before = env.info().unwrap();
    let (events, image) = (disk.event_count(), disk.image());
    let mut ids = Vec::new();
    for durability in MODES {
        for (what, work) in idle_works() {
            let (id, committed) = write(&env, durability, work);
            assert_eq!(committed, base, "{what}, {durability:?}: its base stands for it");
            ids.push(id);
        }
    }
    let after = env.info().unwrap();
    assert_eq!(env.read().unwrap().id(), base);
    assert_eq!(after.io.commits, before.io.commits);
    assert_eq!(after.io.flushes, before.io.flushes);
    assert_eq!(disk.image(), image, "nothing was written");
    assert_eq!(disk.event_count(), events, "no system call was made");
    // An id that nothing was written under is not used up, and none comes twice otherwise.
    assert!(ids.is_sorted() && ids[0] > base, "{ids:?}");
    let (id, committed) = write(&env, Durability::Durable, |t, txn| {
        t.put(txn, 3, b"another").unwrap();
    });
    assert_eq!(id, committed, "what changes something makes a snapshot");
    assert!(id >= *ids.last().unwrap() && env.durable_id() == id);
    assert!(env.check().unwrap().is_clean());
}

/// A change that is undone counts as one if pages were written or other records moved for it;
/// otherwise it counts as none. Either way the records are what they were.
#[test]
fn what_is_taken_back_leaves_the_records_as_they_were() {
    let disk = machine();
    let env = filled(&disk);
    let (_, id) = write(&env, Durability::Durable, |t, txn| {
        assert!(t.put(txn, 77, b"there").unwrap());
        assert!(t.remove(txn, 77).unwrap());
    });
    assert_eq!(env.durable_id(), id);
    assert_eq!(value(&env, 77), None);
    // Pages of the aborted level are in the file: its numbers are used up under this id.
    let mut options = options();
    options.write_buffer_bytes(8 * 256);
    let spilling = options.open_simulated(&disk).unwrap();
    let (told, id) = write(&spilling, Durability::Lazy, |t, txn| {
        let aborted = txn.nested(|child| {
            (100..200).try_for_each(|key| t.put(child, key, &[1; 100]).map(drop))?;
            Err::<(), _>(Error::Invalid("given up"))
        });
        assert!(aborted.is_err());
    });
    assert_eq!(told, id, "an id that was written under is the snapshot's");
    let (next, _) = write(&spilling, Durability::Lazy, |_, _| ());
    assert!(next > id, "and never another's");
    assert_eq!(value(&env, 3), Some(vec![3; 60]));
    assert!(env.check().unwrap().is_clean());
}

/// A durable commit that finds its value there already makes that value survive a power loss.
#[test]
fn what_was_there_already_is_as_durable_as_was_asked() {
    for (what, work) in idle_works() {
        for durability in MODES {
            let disk = machine();
            let env = filled(&disk);
            let lazy = write(&env, Durability::Lazy, |t, txn| {
                t.put(txn, 50, b"lazy").unwrap();
            });
            assert!(env.durable_id() < lazy.1);
            let (_, id) = write(&env, durability, work);
            assert_eq!(id, lazy.1, "{what}: no snapshot of its own");
            let owed = matches!(durability, Durability::Durable | Durability::NoMetaSync);
            assert_eq!(env.durable_id() == id, owed, "{what}, {durability:?}");
            let after = disk.after_crash(&disk.flushed_image(), false).unwrap();
            let env = options().open_simulated(&after).unwrap();
            assert_ne!(env.recovery(), Recovery::SteppedBack);
            let expected = owed.then(|| b"lazy".to_vec());
            assert_eq!(value(&env, 50), expected, "{what}, {durability:?}");
            assert!(env.check().unwrap().is_clean());
        }
    }
}

#[test]
fn a_ticket_of_nothing_waits_for_what_was_there() {
    let disk = machine();
    let env = filled(&disk);
    let (_, lazy) =
        write(&env, Durability::Lazy, |t, txn| t.put(txn, 50, b"lazy").map(drop).unwrap());
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    assert!(!t.put(&mut txn, 50, b"lazy").unwrap());
    let ticket = txn.commit_ticket().unwrap();
    assert!(ticket.id() == lazy && !ticket.is_durable());
    ticket.wait().unwrap();
    assert_eq!(env.durable_id(), lazy);
}

/// A failed flush is an error here as anywhere: nothing is promised that may be gone.
#[test]
fn a_failed_flush_fails_a_commit_that_changed_nothing() {
    let disk = machine();
    let env = filled(&disk);
    write(&env, Durability::Lazy, |t, txn| t.put(txn, 50, b"lazy").map(drop).unwrap());
    disk.fail_syncs(1);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    assert!(!t.put(&mut txn, 50, b"lazy").unwrap());
    assert!(matches!(txn.commit_with(Durability::Durable), Err(Error::Io(_))));
    assert!(env.write().is_err(), "poisoned");
}

/// A durable commit is not seen before it is flushed. A lazy writer that finds its value there
/// already makes it visible, as if it had made a snapshot on top of it.
#[test]
fn a_lazy_commit_of_nothing_shows_the_snapshot_it_found() {
    let disk = machine();
    let env = filled(&disk);
    for durability in [Durability::NoMetaSync, Durability::Lazy, Durability::Unsynced] {
        let core = env.core().unwrap();
        let key = 60 + durability as u64;
        std::thread::scope(|scope| {
            let flusher = core.try_flusher().unwrap().expect("no other flusher");
            let before = core.store.board.sealed();
            let put = |durability| {
                write(&env, durability, |t, txn| t.put(txn, key, b"there").map(drop).unwrap()).1
            };
            let durable = scope.spawn(move || put(Durability::Durable));
            while core.store.board.sealed() == before {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(value(&env, key), None, "it is not flushed yet");
            let found = match durability {
                // It waits for the flush.
                Durability::NoMetaSync => scope.spawn(move || put(durability)),
                _ => {
                    let found = put(durability);
                    assert_eq!(value(&env, key).as_deref(), Some(&b"there"[..]));
                    scope.spawn(move || found)
                }
            };
            drop(flusher);
            assert_eq!(durable.join().unwrap(), found.join().unwrap());
        });
        assert_eq!(value(&env, key).as_deref(), Some(&b"there"[..]));
    }
}

/// A change of the application's markers alone is a change.
#[test]
fn a_compact_copy_of_nothing_has_the_notes() {
    let metas = |image: &[u8]| -> Vec<Meta> {
        let blocks = &image.as_chunks::<META_BYTES>().0[..META_SLOTS];
        blocks.iter().filter_map(|block| Meta::decode(block).ok()).collect()
    };
    let disk = machine();
    drop(options().open_simulated(&disk).unwrap());
    let mut image = disk.image();
    for block in &mut image.as_chunks_mut::<META_BYTES>().0[..META_SLOTS] {
        if let Ok(meta) = Meta::decode(block) {
            *block = Meta { markers: [1, 2, 3], app_flags: 4, ..meta }.encode();
        }
    }
    let env = options().open_simulated(&SimDisk::from_image(&image, 8 << 20).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy");
    env.copy_to(&path, CopyOptions::new().compact(true)).unwrap();
    let newest = metas(&std::fs::read(path).unwrap()).into_iter().max_by_key(|meta| meta.txnid);
    let newest = newest.expect("a copy has a meta");
    assert_eq!((newest.markers, newest.app_flags), ([1, 2, 3], 4));
}
