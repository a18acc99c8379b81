//! Durability modes: what each costs in flushes, what each keeps, tickets, automatic checkpoints
//! and the ways to close. The crash images of the test kit show what a power loss may take away.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Duration;

use huon::{Bytes, Durability, Env, Recovery, TableDef, U64};
use tempfile::TempDir;

const T: TableDef<U64, Bytes> = TableDef::new("t");
const ONE_FLUSH_BYTES_MAX: usize = 1 << 20;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

fn open(path: &Path, durability: Durability) -> Env {
    Env::options().durability(durability).open(path).unwrap()
}

/// Puts one record with the environment's own durability.
fn put(env: &Env, key: u64, value: &[u8]) -> u64 {
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap().put(&mut txn, key, value).unwrap();
    txn.commit().unwrap()
}

fn value(env: &Env, key: u64) -> Option<Vec<u8>> {
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap()?;
    t.get(&txn, key).unwrap().map(<[u8]>::to_vec)
}

fn flushes(env: &Env) -> u64 {
    env.info().unwrap().io.flushes
}

#[test]
fn a_large_commit_without_meta_sync_costs_one_flush() {
    let (_dir, path) = place();
    let env = open(&path, Durability::NoMetaSync);
    let durable = Env::options().open(&path).unwrap();
    let large = vec![7; 2 * ONE_FLUSH_BYTES_MAX];
    put(&env, 0, &large);
    for round in 1..10 {
        let before = flushes(&env);
        let id = put(&env, round % 3, &large);
        assert_eq!(flushes(&env) - before, 1, "round {round}");
        assert!(env.durable_id() < id, "its meta is not flushed yet");
        assert_eq!(env.read().unwrap().id(), id, "visible at once");
    }
    let before = flushes(&durable);
    let id = put(&durable, 9, &large);
    assert_eq!(flushes(&durable) - before, 2, "the one that is owed carries these pages, too");
    assert_eq!(env.durable_id(), id);
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_small_commit_without_meta_sync_is_durable() {
    let (_dir, path) = place();
    let env = open(&path, Durability::NoMetaSync);
    put(&env, 0, b"first");
    let before = flushes(&env);
    let id = put(&env, 1, b"small");
    assert_eq!(flushes(&env) - before, 1);
    assert_eq!(env.durable_id(), id);
}

#[test]
fn what_no_meta_sync_left_is_finished_by_another_client() {
    let (_dir, path) = place();
    let env = open(&path, Durability::NoMetaSync);
    let other = Env::options().open(&path).unwrap();
    let id = put(&env, 1, &vec![1; 2 * ONE_FLUSH_BYTES_MAX]);
    assert!(other.durable_id() < id);
    let before = flushes(&other);
    assert_eq!(other.sync().unwrap(), id);
    assert_eq!(flushes(&other) - before, 1, "only the meta's flush is owed");
    assert_eq!(env.durable_id(), id);
}

#[test]
fn lazy_commits_flush_at_the_threshold_and_the_file_stays_small() {
    let (_dir, path) = place();
    let threshold = 8 << 20;
    let env = Env::options()
        .durability(Durability::Lazy)
        .flush_after_bytes(threshold)
        .open(&path)
        .unwrap();
    for key in 0..1000 {
        put(&env, key, &[0; 100]);
    }
    env.sync().unwrap();
    let size = env.info().unwrap().used_bytes;
    let (mut checkpoints, mut last) = (0, flushes(&env));
    for round in 0u64..10_000 {
        let before = env.info().unwrap().unflushed_bytes;
        put(&env, round * 7919 % 1000, &round.to_le_bytes().repeat(12));
        let now = flushes(&env);
        if now != last {
            checkpoints += 1;
            assert!(before + 64 * 4096 >= threshold, "flushed early: {before} bytes");
            last = now;
        }
        assert!(env.info().unwrap().unflushed_bytes < threshold, "round {round}");
    }
    assert!(checkpoints >= 5, "only {checkpoints} checkpoints");
    // One copy for the checkpoint, one for the newest, and what commits are in the middle of.
    let now = env.info().unwrap().used_bytes;
    assert!(now <= 2 * size + 64 * 4096, "{size} bytes grew to {now}");
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn lazy_commits_cost_no_flush_without_a_threshold_and_reuse_pages() {
    let (_dir, path) = place();
    let env = open(&path, Durability::Lazy);
    for key in 0..100 {
        put(&env, key, &[0; 100]);
    }
    env.sync().unwrap();
    let (before, size) = (flushes(&env), env.info().unwrap().used_bytes);
    for round in 0u64..20_000 {
        put(&env, round % 100, &round.to_le_bytes().repeat(12));
    }
    assert_eq!(flushes(&env), before);
    let now = env.info().unwrap().used_bytes;
    assert!(now <= 2 * size + 32 * 4096, "{size} bytes grew to {now}");
    env.close().unwrap();
    let env = open(&path, Durability::Lazy);
    assert_eq!(env.recovery(), Recovery::Clean);
    assert_eq!(value(&env, 99), Some(19_999u64.to_le_bytes().repeat(12)));
}

#[test]
fn a_period_makes_checkpoints_when_a_call_asks() {
    let (_dir, path) = place();
    let mut options = Env::options();
    options.durability(Durability::Lazy);
    let hourly = options.flush_after(Duration::from_secs(3600)).open(&path).unwrap();
    let quick = options.flush_after(Duration::from_millis(20)).open(&path).unwrap();
    let id = put(&hourly, 1, b"one");
    assert!(!hourly.flush_if_due().unwrap());
    assert!(hourly.durable_id() < id);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!hourly.flush_if_due().unwrap());
    assert!(quick.flush_if_due().unwrap());
    assert_eq!(hourly.durable_id(), id);
    assert!(!quick.flush_if_due().unwrap(), "nothing is owed any more");
    // A commit asks by itself.
    let id = put(&hourly, 2, b"two");
    std::thread::sleep(Duration::from_millis(50));
    let newer = put(&quick, 3, b"three");
    assert!(newer > id);
    assert_eq!(hourly.durable_id(), newer);
}

#[test]
fn tickets_are_waited_for_by_any_thread_at_any_time() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    put(&env, 0, b"the first write transaction flushes for itself");
    let ticket_for = |key: u64| {
        let mut txn = env.write().unwrap();
        txn.create_table(&T).unwrap().put(&mut txn, key, b"v").unwrap();
        txn.commit_ticket().unwrap()
    };
    let before = flushes(&env);
    let tickets: Vec<_> = (0..20).map(ticket_for).collect();
    assert_eq!(flushes(&env), before, "no ticket waits for the disk");
    assert_eq!(value(&env, 19).as_deref(), Some(&b"v"[..]), "visible at once");
    assert!(tickets.iter().all(|ticket| !ticket.is_durable()));
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for part in tickets.chunks(5) {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                part.iter().for_each(|ticket| ticket.wait().unwrap());
            });
        }
    });
    assert!(tickets.iter().all(|ticket| ticket.is_durable()));
    assert_eq!(flushes(&env) - before, 1, "one flush serves them all");
    assert!(tickets[0].wait_within(Duration::ZERO).unwrap());

    // A ticket outlives its environment's handle, and an unused one harms nothing.
    drop(ticket_for(20));
    let last = ticket_for(21);
    drop((env, tickets));
    last.wait().unwrap();
    drop(last);
    let env = Env::options().open(&path).unwrap();
    assert_eq!(env.recovery(), Recovery::Clean);
    assert!(value(&env, 20).is_some() && value(&env, 21).is_some());
}

#[test]
fn a_ticket_of_nothing_is_the_snapshot_it_began_with() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    let id = put(&env, 1, b"v");
    let ticket = env.write().unwrap().commit_ticket().unwrap();
    assert_eq!(ticket.id(), id);
    assert!(ticket.is_durable());
}

#[test]
fn an_unsynced_environment_never_flushes_and_closes_whole() {
    let (_dir, path) = place();
    // The first write transaction of a new file flushes, as after an unclean end.
    put(&Env::options().open(&path).unwrap(), 1000, b"durable");
    for round in 0u64..5 {
        let env = open(&path, Durability::Unsynced);
        assert_eq!(env.recovery(), Recovery::Clean, "round {round}: closed in order");
        for key in 0..500 {
            put(&env, key, &round.to_le_bytes());
        }
        assert_eq!(flushes(&env), 0, "round {round}");
        assert!(env.check().unwrap().is_clean());
        env.close().unwrap();
    }
    // A copy of the data file alone, without its lock file, has all of it.
    let copy = path.with_file_name("copy.huon");
    std::fs::copy(&path, &copy).unwrap();
    for path in [&path, &copy] {
        let env = Env::options().open(path).unwrap();
        assert!((0..500).all(|key| value(&env, key) == Some(4u64.to_le_bytes().to_vec())));
        let id = put(&env, 1001, b"durable");
        assert_eq!(env.durable_id(), id);
        assert!(env.check().unwrap().is_clean());
    }
}

#[test]
fn an_unsynced_environment_that_is_killed_loses_nothing() {
    let (_dir, path) = place();
    let env = open(&path, Durability::Unsynced);
    (0..100).for_each(|key| {
        let _ = put(&env, key, b"v");
    });
    env.close_without_flush();
    let env = open(&path, Durability::Unsynced);
    assert_eq!(env.recovery(), Recovery::Newest);
    assert!((0..100).all(|key| value(&env, key).is_some()));
}

#[test]
fn closing_dirty_leaves_the_newest_commit_to_the_next() {
    let (_dir, path) = place();
    let env = open(&path, Durability::Lazy);
    let clone = env.clone();
    put(&env, 1, b"v");
    let before = flushes(&env);
    env.close_without_flush();
    assert_eq!(flushes(&clone), before);
    drop(clone);
    let env = open(&path, Durability::Lazy);
    assert_eq!(env.recovery(), Recovery::Newest);
    assert!(value(&env, 1).is_some());
    put(&env, 2, b"v");
    env.close().unwrap();
    assert_eq!(open(&path, Durability::Lazy).recovery(), Recovery::Clean);
}

#[test]
fn the_mode_is_chosen_for_each_commit() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    let commit = |key: u64, durability| {
        let mut txn = env.write().unwrap();
        txn.create_table(&T).unwrap().put(&mut txn, key, b"v").unwrap();
        txn.commit_with(durability).unwrap()
    };
    let first = commit(1, Durability::Durable);
    let lazy = commit(2, Durability::Lazy);
    let unsynced = commit(3, Durability::Unsynced);
    assert_eq!(env.durable_id(), first);
    assert!(lazy < unsynced);
    let durable = commit(4, Durability::Durable);
    assert_eq!(env.durable_id(), durable, "and with it everything before");
}

#[cfg(feature = "simulation")]
mod simulated {
    use super::*;
    use huon::sim::{Event, SimDisk};
    use huon::{Error, Options};

    fn small() -> Options {
        let mut options = Env::options();
        options.page_bytes(256).max_bytes(4 << 20);
        options
    }

    #[test]
    fn a_failed_flush_is_told_to_every_ticket() {
        let disk = SimDisk::new(4 << 20).unwrap().lossy();
        let env = small().open_simulated(&disk).unwrap();
        let other = small().open_simulated(&disk).unwrap();
        let mut txn = env.write().unwrap();
        txn.create_table(&T).unwrap().put(&mut txn, 1, b"v").unwrap();
        let ticket = txn.commit_ticket().unwrap();
        disk.fail_syncs(1);
        assert!(matches!(other.sync(), Err(Error::Io { .. })));
        assert!(matches!(ticket.wait(), Err(Error::Poisoned)));
        assert!(!ticket.is_durable());
        assert!(matches!(env.write().map(drop), Err(Error::Poisoned)));
        assert!(value(&env, 1).is_some(), "readers go on");
    }

    /// Power loss after an unsynced close: the checkpoint before it, or all of it.
    #[test]
    fn a_power_loss_after_an_unsynced_close_is_survived() {
        let disk = SimDisk::new(4 << 20).unwrap();
        let env = small().open_simulated(&disk).unwrap();
        put(&env, 1, b"durable");
        drop(env);
        let durable = disk.image();
        let env = small().durability(Durability::Unsynced).open_simulated(&disk).unwrap();
        (2..20).for_each(|key| {
            let _ = put(&env, key, b"unsynced");
        });
        disk.clear_events();
        env.close().unwrap();
        let events = disk.events();
        assert!(events.iter().any(|event| matches!(event, Event::Write { .. })), "a meta");
        assert!(!events.iter().any(|event| matches!(event, Event::Sync)));

        let all = disk.after_crash(&disk.image(), false).unwrap();
        let env = small().open_simulated(&all).unwrap();
        assert!((1..20).all(|key| value(&env, key).is_some()), "the system had written it all");
        // Of all that was written, the meta alone reached the disk.
        let mut image = disk.image();
        image[3 * 4096..durable.len()].copy_from_slice(&durable[3 * 4096..]);
        image[durable.len()..].fill(0);
        let torn = disk.after_crash(&image, false).unwrap();
        let env = small().open_simulated(&torn).unwrap();
        assert_eq!(env.recovery(), Recovery::SteppedBack);
        assert!(value(&env, 1).is_some() && value(&env, 2).is_none());
        put(&env, 3, b"goes on");
        assert!(env.check().unwrap().is_clean());
    }
}
