//! What becomes of a journal that processes open in other ways.

use super::tests::{has, put};
use crate::sim::SimDisk;
use crate::{Durability, Env, Error, Options, Recovery, limits};

fn options(bytes: u64) -> Options {
    let mut options = super::tests::options();
    options.journal(bytes);
    options
}

/// A machine with so many durable commits, of which the first was a checkpoint; all its processes
/// were killed.
fn killed(commits: u64) -> SimDisk {
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let env = options(limits::JOURNAL_BYTES_MIN).open_simulated(&disk).unwrap();
    for key in 0..commits {
        put(&env, key, Durability::Durable);
    }
    crate::testing::kill(env);
    disk
}

fn after_power_loss(disk: &SimDisk) -> SimDisk {
    let crashed = disk.after_crash(&disk.flushed_image(), false).unwrap();
    crashed.with_journal_image(&disk.journal_image())
}

#[test]
fn a_process_that_may_not_write_does_not_replay() {
    let crashed = after_power_loss(&killed(6));
    match super::tests::options().open_simulated_to_read(&crashed) {
        Err(Error::Journal(text)) => assert!(text.contains("may not"), "{text}"),
        other => panic!("{other:?}"),
    }
    let mut look = super::tests::options();
    look.read_only(true).give_up_journal(true);
    let env = look.open_simulated_to_read(&crashed).unwrap();
    assert_eq!(env.recovery(), Recovery::JournalGivenUp);
    assert_eq!((0..6).filter(|key| has(&env, *key)).count(), 1, "the checkpoint");
    drop(env);
    let env = super::tests::options().open_simulated(&crashed).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    (0..6).for_each(|key| assert!(has(&env, key), "{key}"));
}

/// The kernel goes on: nothing is replayed, and batches that hold what is in no flushed page stay.
#[test]
fn a_journal_that_is_needed_keeps_its_length() {
    for bytes in [0, 4 * limits::JOURNAL_BYTES_MIN] {
        let before = killed(6);
        let disk = before.after_kill(None).unwrap().with_journal_image(&before.journal_image());
        let env: Env = options(bytes).open_simulated(&disk).unwrap();
        assert_eq!(env.recovery(), Recovery::Newest);
        assert_eq!(env.info().unwrap().journal.unwrap().bytes, limits::JOURNAL_BYTES_MIN);
        crate::testing::kill(env);
        let env = super::tests::options().open_simulated(&after_power_loss(&disk)).unwrap();
        (0..6).for_each(|key| assert!(has(&env, key), "{bytes} bytes: {key}"));
    }
}
