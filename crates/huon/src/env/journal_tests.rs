//! Environments with a journal: what a durable commit writes, and what is there after a power loss.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::limits::JOURNAL_BYTES_MIN;
use super::tests::{T, has, put};
use crate::journal::{self, BATCH_HEADER_BYTES, BLOCK_BYTES, Batch};
use crate::lock::{Journaled, Place};
use crate::os::JOURNAL_MAGIC;
use crate::os::testing::EIO;
use crate::sim::{Event, FaultCall, FaultPlan, SimDisk};
use crate::txn::flush::MetaFlush;
use crate::{Durability, Env, Error, Recovery, Ticket, WriteTxn};

const JOURNAL_BYTES: u64 = 256 << 10;

pub(super) fn options() -> crate::Options {
    let mut options = super::tests::options();
    options.journal(JOURNAL_BYTES);
    options
}

/// After a power loss that took all that was not flushed; the journal as given.
fn after_power_loss(disk: &SimDisk, journal: &[u8]) -> SimDisk {
    disk.after_crash(&disk.flushed_image(), false).unwrap().with_journal_image(journal)
}

/// A machine with so many durable commits, of which only the first has been a checkpoint.
pub(super) fn with_commits(commits: u64) -> (SimDisk, Env) {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options().open_simulated(&disk).unwrap();
    put_all(&env, 0..commits);
    (disk, env)
}

/// Durable commits, each of one key.
fn put_all(env: &Env, keys: std::ops::Range<u64>) {
    for key in keys {
        put(env, key, Durability::Durable);
    }
}

/// A ticket for a durable commit of one key.
fn ticket(env: &Env, key: u64) -> Ticket {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    t.put(&mut txn, key, &[key as u8; 20]).unwrap();
    txn.commit_ticket().unwrap()
}

/// What a power loss leaves that took all that was not flushed, of both files.
fn cut(disk: &SimDisk) -> SimDisk {
    after_power_loss(disk, &disk.flushed_journal_image())
}

/// Flushes of the data file and of the journal since event number `before`.
fn flushes(disk: &SimDisk, before: usize) -> (usize, usize) {
    let events = disk.events().split_off(before);
    let count = |wanted: Event| events.iter().filter(|event| **event == wanted).count();
    (count(Event::Sync), count(Event::JournalSync))
}

#[test]
fn a_durable_commit_is_one_write_and_one_flush_of_the_journal() {
    let (disk, env) = with_commits(2);
    let before = disk.event_count();
    put(&env, 7, Durability::Durable);
    let bytes = |event: &Event| match event {
        Event::JournalWrite { bytes, .. } => Some(bytes.len()),
        _ => None,
    };
    let events = disk.events().split_off(before);
    assert_eq!(events.iter().filter_map(bytes).collect::<Vec<_>>(), [4096]);
    assert_eq!(flushes(&disk, before), (0, 1));
    assert_eq!(events.last(), Some(&Event::JournalSync));
}

/// The file grew before the commit, and the journal's flush says nothing of its length.
#[test]
fn a_replay_makes_the_file_as_long_as_was_promised() {
    let (disk, env) = with_commits(2);
    let (mut geometry, file_bytes) = env.info().map(|i| (i.geometry, i.file_bytes)).unwrap();
    geometry.min_bytes = file_bytes * 3;
    env.set_geometry(geometry).unwrap();
    let data = &disk.flushed_image()[..file_bytes as usize];
    let crashed = disk.after_crash(data, false).unwrap();
    let crashed = crashed.with_journal_image(&disk.flushed_journal_image());
    crate::testing::kill(env);
    let env = options().open_simulated(&crashed).unwrap();
    let info = env.info().unwrap();
    assert_eq!((env.recovery(), info.geometry), (Recovery::Replayed, geometry));
    assert!(info.file_bytes >= geometry.min_bytes, "{} bytes", info.file_bytes);
}

#[test]
fn what_was_durable_is_there_after_a_power_loss() {
    let (disk, env) = with_commits(40);
    let crashed = after_power_loss(&disk, &disk.journal_image());
    crate::testing::kill(env);
    let env = options().open_simulated(&crashed).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    (0..40).for_each(|key| assert!(has(&env, key), "key {key}"));
    assert!(env.check().unwrap().is_clean());
    // And again, from a file that was repaired.
    put(&env, 40, Durability::Durable);
    put(&env, 41, Durability::Durable);
    let again = after_power_loss(&crashed, &crashed.journal_image());
    crate::testing::kill(env);
    let env = options().open_simulated(&again).unwrap();
    (0..42).for_each(|key| assert!(has(&env, key), "key {key}"));
}

#[test]
fn a_journal_that_does_not_go_with_the_file_is_refused_by_name() {
    let (disk, env) = with_commits(1);
    let older = disk.journal_image();
    // More than half of the journal: there was a checkpoint, whose meta names a later batch.
    put_all(&env, 1..40);
    crate::testing::kill(env);
    for journal in [vec![], vec![0; JOURNAL_BYTES as usize], older] {
        let opened = options().open_simulated(&after_power_loss(&disk, &journal));
        let text = opened.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("-journal"), "{text}");
    }
}

#[test]
fn a_file_that_was_closed_in_order_needs_no_journal() {
    let (disk, env) = with_commits(5);
    drop(env);
    let env = super::tests::options().open_simulated(&after_power_loss(&disk, &[])).unwrap();
    (0..5).for_each(|key| assert!(has(&env, key), "key {key}"));
    let txn = env.read().unwrap();
    assert!(txn.open_table(&T).unwrap().is_some());
}

/// J5.3: what was replayed is in the data file, and nothing is asked of the journal any more.
#[test]
fn a_file_that_was_replayed_needs_no_journal() {
    let (disk, env) = with_commits(5);
    crate::testing::kill(env);
    let crashed = cut(&disk);
    let env = options().open_simulated(&crashed).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    crate::testing::kill(env);
    let env = super::tests::options().open_simulated(&after_power_loss(&crashed, &[])).unwrap();
    (0..5).for_each(|key| assert!(has(&env, key), "key {key}"));
}

/// What one client commits lazily makes another one go by pages once, and no more.
#[test]
fn a_lazy_commit_of_another_client_costs_one_checkpoint() {
    let (disk, env) = with_commits(3);
    let other = options().open_simulated(&disk).unwrap();
    for round in 0..3 {
        let before = disk.event_count();
        (0..4).for_each(|key| assert!(put(&other, 10 + key + round, Durability::Lazy) > 0));
        put(&env, 20 + round, Durability::Durable);
        assert_eq!(flushes(&disk, before), (1, 0), "round {round}");
        put(&env, 30 + round, Durability::Durable);
        put(&other, 40 + round, Durability::Durable);
        assert_eq!(flushes(&disk, before), (1, 2), "round {round}");
    }
}

/// J4.6: pages go to the disk a few at a time, begun by one client for all that share a batch.
#[test]
fn the_write_out_of_pages_is_begun_once_for_each_part_of_the_journal() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let open = || options().journal(1 << 20).open_simulated(&disk).unwrap();
    let (env, other) = (open(), open());
    let write_outs = || {
        let of = |env: &Env| env.last_core().counts.write_outs.load(Ordering::Relaxed);
        of(&env) + of(&other)
    };
    put_all(&env, 0..31);
    assert_eq!(write_outs(), 0);
    // The batch of all these begins the second part of 32 blocks.
    let tickets: Vec<_> = (31..38).map(|key| ticket(&env, key)).collect();
    put(&other, 38, Durability::Durable);
    assert!(tickets.iter().all(Ticket::is_durable));
    put(&env, 39, Durability::Durable);
    assert_eq!(write_outs(), 1);
    put_all(&env, 40..80);
    assert_eq!(write_outs(), 2);
}

/// J4.6: commits that are only waited for by their tickets make checkpoints, too.
#[test]
fn tickets_bring_about_checkpoints() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().journal(JOURNAL_BYTES_MIN).open_simulated(&disk).unwrap();
    put_all(&env, 0..2);
    let before = disk.event_count();
    for key in 2..30 {
        let ticket = ticket(&env, key);
        assert!(ticket.wait_within(Duration::from_secs(60)).unwrap());
        ticket.wait().unwrap();
    }
    // Each crosses half of a journal of 16 blocks, so every commit is made durable by the journal.
    assert_eq!(flushes(&disk, before), (3, 28));
}

/// J2.2: records that no client wrote to the journal, as many as fill the ring, do not keep the
/// next ones from it once a meta covers them.
#[test]
fn a_full_ring_is_emptied_by_a_checkpoint() {
    let (disk, env) = with_commits(2);
    let tickets: Vec<_> = (2..150).map(|key| ticket(&env, key)).collect();
    let before = disk.event_count();
    tickets.last().unwrap().wait().unwrap();
    assert_eq!(flushes(&disk, before), (1, 0), "they are too many for the ring");
    let before = disk.event_count();
    put_all(&env, 150..153);
    assert_eq!(flushes(&disk, before), (0, 3));
}

/// J4.2: while no checkpoint can be made, the journal acknowledges what it has room for, and writes
/// over nothing that a recovery needs.
#[test]
fn a_journal_without_room_acknowledges_nothing() {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options().journal(JOURNAL_BYTES_MIN).open_simulated(&disk).unwrap();
    put_all(&env, 0..3);
    let core = env.last_core().clone();
    let flusher = core.try_flusher().unwrap().unwrap();
    let acknowledges = |key: &u64| ticket(&env, *key).wait_within(Duration::ZERO).unwrap();
    let end = 3 + (3..40).take_while(acknowledges).count() as u64;
    assert_eq!(end, 16, "a block of the anchor's, and one for each commit but the first");
    let crashed = options().open_simulated(&cut(&disk)).unwrap();
    (0..end).for_each(|key| assert!(has(&crashed, key), "key {key}"));
    assert!(!has(&crashed, end));
    drop(flusher);
    let before = disk.event_count();
    put(&env, end + 1, Durability::Durable);
    assert_eq!(flushes(&disk, before).0, 1, "there is room again");
    put_all(&env, end + 2..end + 4);
    let crashed = options().open_simulated(&cut(&disk)).unwrap();
    (0..end + 4).for_each(|key| assert!(has(&crashed, key), "key {key}"));
}

/// Three durable commits, and a fourth in which calls fail as planned.
fn with_faults(plan: &FaultPlan) -> (SimDisk, Env) {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    plan.pause(true);
    let env = options().open_faulty(&disk, plan).unwrap();
    put_all(&env, 0..3);
    plan.pause(false);
    put_all(&env, 3..4);
    plan.pause(true);
    (disk, env)
}

/// J4.7: whichever call of the journal fails, commits go by pages from then on; nothing that was
/// acknowledged is in doubt.
#[test]
fn a_failed_flush_of_the_journal_ends_journaling() {
    let healthy = FaultPlan::new();
    with_faults(&healthy);
    for wanted in [FaultCall::JournalWrite, FaultCall::JournalSync] {
        let plan = FaultPlan::new();
        let call = healthy.calls_made().iter().position(|call| *call == wanted).unwrap();
        plan.fail_once(call as u64, EIO);
        let (disk, env) = with_faults(&plan);
        assert_eq!(plan.first_fired(), Some(wanted));
        let crashed = options().open_simulated(&cut(&disk)).unwrap();
        (0..4).for_each(|key| assert!(has(&crashed, key), "{wanted:?}: key {key}"));
        let before = disk.event_count();
        put_all(&env, 4..9);
        assert_eq!(flushes(&disk, before), (5, 0), "{wanted:?}");
        drop(env);
        let env = options().open_simulated(&disk).unwrap();
        put_all(&env, 9..12);
        let crashed = options().open_simulated(&cut(&disk)).unwrap();
        (0..12).for_each(|key| assert!(has(&crashed, key), "{wanted:?}: key {key}"));
    }
}

/// An opening leaves under the gate that it holds, whichever call of its last steps fails: of a
/// repair after a replay, or of making a journal. The next one goes on.
#[test]
fn an_opening_that_fails_waits_for_no_gate() {
    let replays = || {
        let (disk, env) = with_commits(3);
        crate::testing::kill(env);
        cut(&disk)
    };
    let makes = || SimDisk::new(8 << 20).unwrap();
    let last_steps =
        [FaultCall::Write, FaultCall::Sync, FaultCall::JournalLength, FaultCall::JournalMake];
    for machine in [&replays as &dyn Fn() -> SimDisk, &makes] {
        let healthy = FaultPlan::new();
        let _env = options().open_faulty(&machine(), &healthy).unwrap();
        let calls = (0..).zip(healthy.calls_made());
        for (number, call) in calls.filter(|(_, call)| last_steps.contains(call)) {
            let (disk, plan) = (machine(), FaultPlan::new());
            plan.fail_once(number, EIO);
            let failed = options().open_faulty(&disk, &plan).is_err();
            let calls = plan.calls_made();
            let gates = calls.iter().filter(|call| **call == FaultCall::LockGate).count();
            assert!(!failed || gates <= 1, "{call:?} waits for the gate");
            options().open_simulated(&disk).unwrap();
        }
    }
}

/// One flipped bit in what a recovery needs of the journal is found and named, or harmless.
#[test]
fn every_flip_in_the_journal_is_found() {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options().journal(JOURNAL_BYTES_MIN).open_simulated(&disk).unwrap();
    put_all(&env, 0..5);
    crate::testing::kill(env);
    let (data, journal) = (disk.flushed_image(), disk.journal_image());
    let bytes_of = |block: usize| {
        let header = &journal[block * 4096..][..80];
        assert!(header.starts_with(b"JRNLHUON"), "each batch is one block");
        80 + u32::from_le_bytes(header[64..68].try_into().unwrap()) as usize
    };
    let machine = disk.after_crash(&data, false).unwrap();
    let mut flips = 0;
    for block in 0..5 {
        for byte in (0..bytes_of(block)).step_by(crate::testing::sized(1, 29)) {
            let mut flipped = journal.clone();
            flipped[block * 4096 + byte] ^= 1 << (byte % 8);
            machine.restart(&data, None, None);
            let opened = options().open_simulated(&machine.clone().with_journal_image(&flipped));
            flips += 1;
            match opened {
                Err(Error::Journal(_)) if block == 0 => {}
                Err(Error::Corrupt(_)) if (1..4).contains(&block) => {}
                Err(Error::Version(_)) if (16..20).contains(&byte) => {}
                // The last batch may be one whose flush had not ended, which is said.
                Ok(env) if block == 4 => {
                    assert_eq!(env.recovery(), Recovery::SteppedBack, "byte {byte}");
                    (0..4).for_each(|key| assert!(has(&env, key), "byte {byte}: key {key}"));
                }
                other => {
                    let other = other.map(|env| env.recovery());
                    panic!("block {block}, byte {byte}: {other:?}")
                }
            }
        }
    }
    crate::figure("flip", flips);
}

/// J2.5: a batch that is whole is believed behind the one that it was made behind, and no other.
#[test]
fn a_batch_is_believed_only_behind_its_own() {
    let (disk, env) = with_commits(5);
    crate::testing::kill(env);
    let mut journal = disk.journal_image();
    let second = &mut journal[2 * BLOCK_BYTES..3 * BLOCK_BYTES];
    let bytes = Batch::bytes_at(second).unwrap();
    // Nothing is told by the zeros of its header.
    second[BATCH_HEADER_BYTES - 1] = 1;
    let checksum = journal::checksum(&second[..bytes]);
    second[8..16].copy_from_slice(&checksum.to_le_bytes());
    let env = options().open_simulated(&after_power_loss(&disk, &journal)).unwrap();
    assert_eq!((0..5).filter(|key| has(&env, *key)).collect::<Vec<_>>(), [0, 1, 2]);
}

/// J5.5: a batch of a later version is refused by name, and what only looks like one, as the bytes
/// of a value may, keeps no file from opening.
#[test]
fn a_batch_of_another_version_is_refused_where_it_is_meant() {
    let (disk, env) = with_commits(5);
    crate::testing::kill(env);
    let mut journal = disk.journal_image();
    let next = &mut journal[5 * BLOCK_BYTES..6 * BLOCK_BYTES];
    assert!(next.iter().all(|byte| *byte == 0), "the fifth commit has the last batch");
    next.as_chunks_mut().0.fill(JOURNAL_MAGIC);
    let opened = options().open_simulated(&after_power_loss(&disk, &journal)).unwrap();
    (0..5).for_each(|key| assert!(has(&opened, key), "key {key}"));
    let (before, next) = journal[4 * BLOCK_BYTES..6 * BLOCK_BYTES].split_at_mut(BLOCK_BYTES);
    // The uuid; the place; the checksum of the batch before.
    next[24..40].copy_from_slice(&before[24..40]);
    next[40..48].copy_from_slice(&5_u64.to_le_bytes());
    next[48..56].copy_from_slice(&before[8..16]);
    match options().open_simulated(&after_power_loss(&disk, &journal)) {
        Err(Error::Version(text)) => assert!(text.contains("journal has version"), "{text}"),
        other => panic!("{:?}", other.map(|env| env.recovery())),
    }
}

/// J1.1: what a page was copied from may have been written and dropped in the same transaction,
/// which has no record then.
#[test]
fn a_transaction_that_spilled_and_dropped_pages_commits() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let mut options = options();
    options.page_bytes(256).write_buffer_bytes(2048).grow_bytes(1024).shrink_bytes(1024);
    let env = options.open_simulated(&disk).unwrap();
    for count in (5..200_u64).step_by(5) {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        let put_all = |txn: &mut WriteTxn, count: u64, step: u64| {
            (0..count).try_for_each(|key| t.put(txn, key * step, &[1; 40]).map(drop))
        };
        put_all(&mut txn, count, 7).unwrap();
        (9..count * 7).try_for_each(|key| t.remove(&mut txn, key).map(drop)).unwrap();
        let undone = txn.nested(|nested| {
            put_all(nested, 400, 3)?;
            Err::<(), _>(Error::Invalid("to be undone"))
        });
        assert!(undone.is_err());
        put_all(&mut txn, 3, 14).unwrap();
        txn.commit().unwrap();
        assert!(env.check().unwrap().is_clean());
    }
}

/// J4.2: a lock file that was put back, and knows of no meta but one whose journal was written
/// over, says nothing.
#[test]
fn a_lock_file_older_than_the_journal_is_not_gone_by() {
    let (disk, env) = with_commits(4);
    put(&env, 4, Durability::Lazy);
    let lock = disk.lock_image();
    env.sync().unwrap();
    let (data, mut journal) = (disk.flushed_image(), disk.journal_image());
    drop(env);
    // The batch before the first place.
    journal[..BLOCK_BYTES].fill(7);
    let machine = disk.after_crash(&data, true).unwrap();
    let machine = machine.with_journal_image(&journal).with_lock_image(&lock);
    let env = options().open_simulated(&machine).unwrap();
    (0..5).for_each(|key| assert!(has(&env, key), "key {key}"));
    assert!(env.check().unwrap().is_clean());
}

/// J2.3: a place that such a lock file has in a journal which was begun anew is not gone on from.
#[test]
fn a_place_in_a_journal_of_another_time_is_forgotten() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    let place = Place { next: 1, anchor: 0, chain: 12_345 };
    env.last_core().store.board.set_journaled(Some(&Journaled { txnid: 0, tail: 0, place }));
    crate::testing::kill(env);
    let machine = disk.after_kill(None).unwrap();
    let env = options().open_simulated(&machine).unwrap();
    put_all(&env, 0..4);
    assert!(env.check().unwrap().is_clean());
    crate::testing::kill(env);
    let lost = machine.after_crash(&machine.flushed_image(), false).unwrap();
    let lost = lost.with_journal_image(&machine.flushed_journal_image());
    let env = options().open_simulated(&lost).unwrap();
    (0..4).for_each(|key| assert!(has(&env, key), "key {key}"));
}

/// A snapshot that the lock file does not know any more is damage, and no flush of the journal
/// after another.
#[test]
fn a_snapshot_that_is_not_sealed_is_not_waited_for() {
    let (_disk, env) = with_commits(3);
    let core = env.last_core().clone();
    let lost = core.flush_up_to(core.store.board.sealed().txnid() + 1, MetaFlush::Now);
    assert!(matches!(lost, Err(Error::Corrupt(_))), "{lost:?}");
}
