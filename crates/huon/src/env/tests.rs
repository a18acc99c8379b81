//! Opening after an unclean end that another one follows, and what commits and growth cost.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::os::testing::{EDQUOT, EIO, ENOSPC, EROFS};
use crate::os::{Create, FileOptions, RealFile, Storage};
use crate::page::{META_BYTES, META_SLOTS, Meta};
use crate::sim::{Event, SimDisk};
use crate::txn::flush::MetaFlush;
use crate::{Bytes, Durability, Env, Error, Recovery, TableDef, U64};

pub(super) const T: TableDef<U64, Bytes> = TableDef::new("t");

pub(super) fn options() -> crate::Options {
    let mut options = Env::options();
    options.page_bytes(256).max_bytes(4 << 20);
    options
}

pub(super) fn put(env: &Env, key: u64, durability: Durability) -> u64 {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    t.put(&mut txn, key, &[key as u8; 20]).unwrap();
    txn.commit_with(durability).unwrap()
}

pub(super) fn has(env: &Env, key: u64) -> bool {
    let txn = env.read().unwrap();
    txn.open_table(&T).unwrap().is_some_and(|t| t.get(&txn, key).unwrap().is_some())
}

#[test]
fn a_new_file_begins_with_its_first_ids_and_without_a_flush() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    assert_eq!(env.recovery(), Recovery::New);
    assert_eq!(put(&env, 1, Durability::Lazy), env.read().unwrap().id());
    assert_eq!((env.read().unwrap().id(), env.durable_id()), (2, 1));
}

/// Pages written under an id that no meta names are left behind, as ever.
#[test]
fn a_file_in_which_something_was_written_is_repaired_before_its_first_commit() {
    let disk = SimDisk::new(8 << 20).unwrap();
    drop(options().open_simulated(&disk).unwrap());
    let blank = disk.image();
    for at in [META_BYTES, META_SLOTS * META_BYTES, blank.len() - 1] {
        let mut image = blank.clone();
        image[at] = 1;
        let env = options().open_simulated(&SimDisk::from_image(&image, 8 << 20).unwrap()).unwrap();
        assert_eq!(env.recovery(), Recovery::New);
        assert!(put(&env, 1, Durability::Lazy) > 1 << 32, "byte {at}");
    }
}

/// A client checks whether the environment is poisoned before it waits for the flusher lock, and
/// may get the lock right after another client's flush failed. The next flush on the same machine
/// would succeed, without what the failed one lost.
#[test]
fn no_client_flushes_after_a_failed_flush_though_it_asked_before() {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options().open_simulated(&disk).unwrap();
    let kept = put(&env, 1, Durability::Durable);
    put(&env, 2, Durability::Lazy);
    let core = env.core().unwrap();
    disk.fail_syncs(1);
    assert!(matches!(env.sync(), Err(Error::Io(_))));
    // A client that had looked before the failure takes this step next.
    assert!(matches!(core.try_flusher(), Err(Error::Poisoned)));
    assert!(matches!(core.note_newest(), Err(Error::Poisoned)));
    assert_eq!(env.durable_id(), kept);
    assert!(core.flusher.holder().is_none(), "the role is free again");
}

/// The machine after all processes died: the same boot, the same lock file.
fn after_kill(disk: &SimDisk) -> SimDisk {
    disk.after_crash(&disk.image(), true).unwrap().with_lock_image(&disk.lock_image())
}

/// A file with one durable commit and one that was never flushed; its clients died.
pub(super) fn killed() -> SimDisk {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    put(&env, 2, Durability::Lazy);
    after_kill(&disk)
}

/// P4, P16: a client is killed at each step of the repair, and another one writes on.
#[test]
fn a_repair_that_was_killed_is_finished_by_another() {
    for step in 0.. {
        let disk = killed();
        let first = options().open_simulated(&disk).unwrap();
        let second = options().open_simulated(&disk).unwrap();
        assert_eq!(first.recovery(), Recovery::Newest);
        let events = Arc::new(AtomicU64::new(0));
        let seen = events.clone();
        disk.watch(move |_| {
            if seen.fetch_add(1, Ordering::Relaxed) == step {
                std::panic::resume_unwind(Box::new("killed"));
            }
        });
        let killed = catch_unwind(AssertUnwindSafe(|| first.write().map(drop))).is_err();
        disk.watch(|_| ());
        drop(first);
        put(&second, 3, Durability::Durable);
        assert!(has(&second, 1) && has(&second, 2) && has(&second, 3), "step {step}");
        assert!(second.check().unwrap().is_clean(), "step {step}");
        if !killed {
            assert!(step >= 4, "writing again, two flushes, a meta: {step}");
            break;
        }
    }
}

/// Both roles go back when the work under them ends in a panic, whatever step it was at: the same
/// client, which lives on, gets them again, and another one too.
#[test]
fn a_panic_gives_the_roles_back() {
    const SOON: Duration = Duration::from_secs(10);
    let panic_at = |disk: &SimDisk, step: u64, act: &dyn Fn()| {
        let events = AtomicU64::new(0);
        disk.watch(move |_| {
            if events.fetch_add(1, Ordering::Relaxed) == step {
                std::panic::resume_unwind(Box::new("a bug"));
            }
        });
        let panicked = catch_unwind(AssertUnwindSafe(act)).is_err();
        disk.watch(|_| ());
        panicked
    };
    let mut panics = 0;
    for step in 0.. {
        let disk = killed();
        // Closed at the end of the step only: a client that lost its lock would wait for ever.
        let env = ManuallyDrop::new(options().open_simulated(&disk).unwrap());
        let other = ManuallyDrop::new(options().open_simulated(&disk).unwrap());
        // The repair, under the writer lock.
        let in_writer = panic_at(&disk, step, &|| drop(env.write().unwrap()));
        for env in [&*env, &*other, &*env] {
            env.write_within(SOON).unwrap().abort();
        }
        let lazy = put(&env, 3, Durability::Lazy);
        let flush = || env.core().unwrap().flush_up_to(lazy, MetaFlush::Now).unwrap();
        let in_flusher = panic_at(&disk, step, &flush);
        for env in [&*env, &*other] {
            let lazy = put(env, 4 + step, Durability::Lazy);
            let deadline = Some(Instant::now() + SOON);
            let flushed = env.core().unwrap().flush_within(lazy, MetaFlush::Now, deadline);
            assert!(flushed.unwrap(), "step {step}: the flusher lock is gone");
        }
        assert!(has(&env, 1) && has(&env, 2) && has(&env, 3), "step {step}");
        assert!(env.check().unwrap().is_clean(), "step {step}");
        drop((ManuallyDrop::into_inner(env), ManuallyDrop::into_inner(other)));
        panics += u64::from(in_writer) + u64::from(in_flusher);
        if !in_writer && !in_flusher {
            assert!(
                panics >= 6,
                "writing again, two flushes, a meta; a meta and a flush: {panics}"
            );
            break;
        }
    }
}

/// P16: pages that are trusted because of the lock file are written again as far back as they were
/// verified, not only as far back as some meta that never became durable.
#[test]
fn the_whole_tail_is_written_again() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let lazy = put(&env, 2, Durability::Lazy);
    // A flusher is killed when it has written its meta.
    let metas = 3 * META_BYTES as u64;
    let flusher = options().open_simulated(&disk).unwrap();
    disk.watch(move |disk| {
        if matches!(disk.events().last(), Some(Event::Write { offset, .. }) if *offset < metas) {
            std::panic::resume_unwind(Box::new("killed"));
        }
    });
    let flushed = catch_unwind(AssertUnwindSafe(|| {
        flusher.core().unwrap().flush_up_to(lazy, MetaFlush::Now)
    }));
    assert!(flushed.is_err());
    disk.watch(|_| ());
    put(&env, 3, Durability::Lazy);
    // Both are dead here; when they close, at the end, it is the machine that they were on.
    let disk = after_kill(&disk);
    let _dead = (env, flusher);
    let env = options().open_simulated(&disk).unwrap();
    assert_eq!(env.recovery(), Recovery::Newest);
    disk.clear_events();
    drop(env.write().unwrap());
    let again: Vec<u64> = offsets(&disk.events());
    let pages = again.iter().filter(|&&offset| offset >= metas).count();
    assert!(pages >= 2, "pages born since the durable snapshot: {again:?}");
}

/// A lock file from before a checkpoint is put back. It names the commit that was flushed then,
/// but an older meta below it; the repair that it causes must not write over the only durable one.
#[test]
fn an_old_lock_file_costs_no_checkpoint() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let flushed = put(&env, 2, Durability::Lazy);
    let old = disk.lock_image();
    env.sync().unwrap();
    drop(env);
    let disk = disk.after_crash(&disk.image(), true).unwrap().with_lock_image(&old);
    let slot_of_flushed = || {
        let image = disk.image();
        let metas = image.as_chunks().0.iter().take(META_SLOTS).map(Meta::decode);
        metas.map(|meta| meta.is_ok_and(|meta| meta.txnid.0 == flushed)).position(|is| is)
    };
    let slot = slot_of_flushed();
    let env = options().open_simulated(&disk).unwrap();
    assert!(env.recovery() == Recovery::Newest && has(&env, 2) && slot.is_some());
    env.write().unwrap().abort();
    assert_eq!(slot_of_flushed(), slot);
}

/// An unflushed snapshot is trusted only if all of it is there, closed in order or not: the same
/// kernel may have mounted the disk anew.
#[test]
fn what_a_clean_close_left_unflushed_is_verified() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let open =
        |disk: &SimDisk| options().durability(Durability::Unsynced).open_simulated(disk).unwrap();
    let env = open(&disk);
    put(&env, 1, Durability::Durable);
    disk.clear_events();
    put(&env, 2, Durability::Unsynced);
    drop(env);
    let all = disk.image();
    let env = open(&after_kill(&disk));
    assert!(env.recovery() == Recovery::Clean && has(&env, 2));
    for event in disk.events() {
        let Event::Write { offset, bytes } = event else { continue };
        let mut image = all.clone();
        image[offset as usize..][..bytes.len()].fill(0);
        let remounted = disk.after_crash(&image, true).unwrap();
        let env = open(&remounted.with_lock_image(&disk.lock_image()));
        assert!(has(&env, 1), "the checkpoint stays");
        let is_meta = offset < 3 * META_BYTES as u64;
        assert_eq!(env.recovery() == Recovery::Clean || has(&env, 2), is_meta, "{offset}");
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn offsets(events: &[Event]) -> Vec<u64> {
    let offset = |event: &Event| match event {
        Event::Write { offset, .. } => Some(*offset),
        _ => None,
    };
    events.iter().filter_map(offset).collect()
}

/// A meta that was chosen by hand and never written on binds no later opening.
#[test]
fn a_choice_by_hand_ends_with_the_client_that_made_it() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    put(&env, 2, Durability::Durable);
    drop(env);
    let newest = (0..3).max_by_key(|slot| word(&disk.image(), slot * META_BYTES + 48)).unwrap();
    let older = (0..3u8).find(|&slot| {
        slot as usize != newest && word(&disk.image(), slot as usize * META_BYTES + 48) > 1
    });
    let env = options().meta_slot(older.unwrap()).open_simulated(&disk).unwrap();
    assert_eq!(env.recovery(), Recovery::ByHand);
    assert!(has(&env, 1) && !has(&env, 2));
    drop(env);
    let env = options().open_simulated(&disk).unwrap();
    assert!(has(&env, 1) && has(&env, 2));
}

/// Clients that come while the last one is leaving do not keep each other from being first.
#[test]
fn several_that_come_while_the_last_one_leaves_all_get_in() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    drop(Env::open(&path).unwrap());
    let file = FileOptions {
        read_only: false,
        create: Create::Never,
        mode: 0,
        reserve_bytes: 0,
        inherited: None,
    };
    // Its byte in the lock file is gone, its lock on the data file not yet.
    let leaving = RealFile::open(&path, &file).unwrap();
    assert!(leaving.try_join().unwrap());
    let opened = std::thread::scope(|scope| {
        let come = || Env::open(&path).map(drop);
        let others: Vec<_> = (0..3).map(|_| scope.spawn(come)).collect();
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(leaving);
        others.into_iter().map(|other| other.join().unwrap()).collect::<Result<Vec<()>, _>>()
    });
    opened.unwrap();
}

/// Pages that are written again and again lie together, apart from those that stay: after thousands
/// of random commits, one is its leaf, the pages above it, and the meta.
#[test]
fn a_small_commit_is_three_writes() {
    const RECORDS: u64 = 30_000;
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().page_bytes(1024).open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for key in 0..RECORDS {
        t.put(&mut txn, key, &[0; 20]).unwrap();
    }
    txn.commit().unwrap();
    let mut random = crate::testing::Random::new(1);
    let mut commits = |count: u64| {
        let before = disk.event_count();
        for number in 0..count {
            let mut txn = env.write().unwrap();
            let key = random.below(RECORDS);
            t.put(&mut txn, key, &[number.to_le_bytes(), [1; 8]].concat()).unwrap();
            txn.commit().unwrap();
        }
        let events = disk.events();
        let writes = |event: &&Event| matches!(event, Event::Write { .. });
        events[before..].iter().filter(writes).count() as f64 / count as f64
    };
    commits(3000);
    let (pages, writes) = (env.info().unwrap().io.pages_written, commits(1000));
    let pages = (env.info().unwrap().io.pages_written - pages) as f64 / 1000.0;
    assert!(pages > 3.5, "{pages} pages a commit: the tree is not deep enough to tell");
    assert!(writes < 3.5, "{writes} separate writes a commit, of {pages} pages and a meta");
}

/// As on a disk that is full, over a quota, or not to be written.
#[test]
fn a_reader_needs_no_room_for_a_lock_file() {
    use crate::sim::{FaultCall, FaultPlan};
    for (errno, is_room) in [(ENOSPC, true), (EDQUOT, true), (EROFS, true), (EIO, false)] {
        let disk = SimDisk::new(8 << 20).unwrap();
        put(&options().open_simulated(&disk).unwrap(), 1, Durability::Durable);
        disk.lose_lock_file();
        for looks in [true, false] {
            let mut options = options();
            options.read_only(looks);
            let plan = FaultPlan::new();
            drop(options.open_faulty(&disk, &plan).unwrap());
            let grow =
                plan.calls_made().iter().position(|call| *call == FaultCall::LockGrow).unwrap();
            disk.lose_lock_file();
            let plan = FaultPlan::new();
            plan.fail_once(grow as u64, errno);
            let opened = options.open_faulty(&disk, &plan).map(|env| has(&env, 1));
            if looks && is_room {
                assert!(opened.unwrap(), "{errno}");
            } else {
                assert!(matches!(opened, Err(Error::Io(_))), "{opened:?}");
            }
        }
    }
}

/// A file doubles until it grows by a mebibyte: a load allocates a few times more often than if it
/// began with that.
#[test]
fn a_load_grows_the_file_in_few_steps() {
    let disk = SimDisk::new(64 << 20).unwrap().quiet();
    let mut options = Env::options();
    let env = options.max_bytes(64 << 20).open_simulated(&disk).unwrap();
    let grown = || {
        let bytes = env.info().unwrap().file_bytes;
        (env.core().unwrap().store.storage.counts().grows, bytes)
    };
    let fill = |records: u64| {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            (0..records).try_for_each(|n| t.put(txn, n, &[1; 1000]).map(drop))
        })
        .unwrap();
    };
    fill(1);
    assert!(grown().1 <= 64 << 10, "{:?}", grown());
    fill(500);
    assert!(grown().0 <= 8 && grown().1 <= 2 << 20, "{:?}", grown());
    fill(20_000);
    let (grows, bytes) = grown();
    assert!(bytes > 20 << 20 && grows <= 8 + bytes / (1 << 20), "{grows} steps to {bytes} bytes");
}

/// Steps are bounded by the tail that is cut off, yet not down to single pages.
#[test]
fn a_file_of_which_short_tails_are_cut_off_grows_by_many_pages() {
    let disk = SimDisk::new(16 << 20).unwrap().quiet();
    let mut options = Env::options();
    let env = options.max_bytes(16 << 20).shrink_bytes(4096).open_simulated(&disk).unwrap();
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..5000).try_for_each(|n| t.put(txn, n, &[1; 1000]).map(drop))
    })
    .unwrap();
    let pages = env.info().unwrap().file_bytes / 4096;
    let grows = env.core().unwrap().store.storage.counts().grows;
    assert!(pages > 1200 && grows <= 8 + pages / 16, "{grows} steps to {pages} pages");
}

#[test]
fn a_write_transaction_begins_while_settings_are_changed() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().lock_timeout(Duration::ZERO).open_simulated(&disk).unwrap();
    let _changing = env.inner.lives.settings.lock();
    let _first = env.write().unwrap();
    assert!(matches!(env.write(), Err(Error::Busy(_))), "the timeout is that of the options");
}
