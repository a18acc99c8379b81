//! Environments with a journal: what a durable commit writes, and what is there after a power loss.

use super::tests::{T, has, put};
use crate::sim::{Event, SimDisk};
use crate::{Durability, Env, Recovery};

const JOURNAL_BYTES: u64 = 256 << 10;

fn options() -> crate::Options {
    let mut options = super::tests::options();
    options.journal(JOURNAL_BYTES);
    options
}

/// After a power loss that took all that was not flushed; the journal as given.
fn after_power_loss(disk: &SimDisk, journal: &[u8]) -> SimDisk {
    disk.after_crash(&disk.flushed_image(), false).unwrap().with_journal_image(journal)
}

/// A machine with so many durable commits, of which only the first has been a checkpoint.
fn with_commits(commits: u64) -> (SimDisk, Env) {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options().open_simulated(&disk).unwrap();
    (0..commits).for_each(|key| drop(put(&env, key, Durability::Durable)));
    (disk, env)
}

#[test]
fn a_durable_commit_is_one_write_and_one_flush_of_the_journal() {
    let (disk, env) = with_commits(2);
    let before = disk.event_count();
    put(&env, 7, Durability::Durable);
    let events = disk.events().split_off(before);
    let journal: Vec<&Event> = events
        .iter()
        .filter(|event| matches!(event, Event::JournalWrite { .. } | Event::JournalSync))
        .collect();
    assert!(
        matches!(journal[..], [Event::JournalWrite { bytes, .. }, Event::JournalSync]
        if bytes.len() == 4096),
        "{journal:?}"
    );
    assert!(!events.contains(&Event::Sync), "the data file is not flushed");
}

#[test]
fn what_was_durable_is_there_after_a_power_loss() {
    let (disk, env) = with_commits(40);
    let crashed = after_power_loss(&disk, &disk.journal_image());
    std::mem::forget(env);
    let env = options().open_simulated(&crashed).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    (0..40).for_each(|key| assert!(has(&env, key), "key {key}"));
    assert!(env.check().unwrap().is_clean());
    // And again, from a file that was repaired.
    put(&env, 40, Durability::Durable);
    put(&env, 41, Durability::Durable);
    let again = after_power_loss(&crashed, &crashed.journal_image());
    std::mem::forget(env);
    let env = options().open_simulated(&again).unwrap();
    (0..42).for_each(|key| assert!(has(&env, key), "key {key}"));
}

#[test]
fn a_journal_that_does_not_go_with_the_file_is_refused_by_name() {
    let (disk, env) = with_commits(1);
    let older = disk.journal_image();
    // More than half of the journal: there was a checkpoint, whose meta names a later batch.
    (1..40).for_each(|key| drop(put(&env, key, Durability::Durable)));
    std::mem::forget(env);
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
