//! Environments with a journal, on real files: what is written, what is told, and what becomes of
//! the file beside.

use std::fs;
use std::path::{Path, PathBuf};

use huon::{CopyOptions, Env, Error, FileKind, JournalState, Recovery, TableDef, U64, limits};

const T: TableDef<U64, U64> = TableDef::new("t");
const BYTES: u64 = limits::JOURNAL_BYTES_MIN;

fn open(path: &Path) -> Env {
    Env::options().journal(BYTES).open(path).unwrap()
}

fn put(env: &Env, key: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, key)).unwrap();
}

fn count(env: &Env) -> u64 {
    env.view(|txn| txn.open_table(&T)?.map_or(Ok(0), |t| t.len(txn))).unwrap()
}

/// What a power loss would leave if all that was written had reached the disk: the data file and
/// the journal, in a directory of their own.
fn after_power_loss(path: &Path, to: &Path) -> PathBuf {
    fs::create_dir(to).unwrap();
    let copy = to.join("a.huon");
    fs::copy(path, &copy).unwrap();
    fs::copy(Env::journal_path(path), Env::journal_path(&copy)).unwrap();
    copy
}

#[test]
fn a_durable_commit_costs_one_flush_of_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    put(&env, 0);
    let before = env.info().unwrap();
    assert_eq!(before.journal.unwrap().state, JournalState::Running);
    (1..6).for_each(|key| put(&env, key));
    let after = env.info().unwrap();
    assert_eq!(after.io.journal_flushes - before.io.journal_flushes, 5);
    assert_eq!(after.io.journal_written_bytes - before.io.journal_written_bytes, 5 * 4096);
    assert_eq!(after.io.flushes, before.io.flushes, "the data file is not flushed");
    assert_eq!((after.durable, after.visible), (after.newest, after.newest));
    let journal = after.journal.unwrap();
    assert_eq!((journal.bytes, journal.batches, journal.used_bytes), (BYTES, 5, 5 * 4096));
    assert_eq!((journal.next_at, journal.checkpoint), (6 * 4096, before.durable));
}

/// Commits that wait together share a batch.
#[test]
fn one_flush_of_the_journal_serves_all_that_wait() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"));
    put(&env, 0);
    let before = env.info().unwrap().io;
    let tickets: Vec<_> = (1..20)
        .map(|key| {
            let mut txn = env.write().unwrap();
            txn.create_table(&T).unwrap().put(&mut txn, key, key).unwrap();
            txn.commit_ticket().unwrap()
        })
        .collect();
    tickets.last().unwrap().wait().unwrap();
    assert!(tickets.iter().all(huon::Ticket::is_durable));
    let after = env.info().unwrap();
    assert_eq!(after.io.journal_flushes - before.journal_flushes, 1);
    assert_eq!(after.io.flushes, before.flushes);
    assert_eq!(after.journal.unwrap().batches, 1);
}

#[test]
fn all_that_open_the_file_use_its_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let first = open(&path);
    put(&first, 0);
    let second = Env::open(&path).unwrap();
    put(&second, 1);
    assert_eq!(second.info().unwrap().io.journal_flushes, 1);
    let third = Env::options().journal(4 * BYTES).open(&path).unwrap();
    assert_eq!(third.info().unwrap().journal.unwrap().bytes, BYTES, "that of the first");
    drop((first, second, third));
    // It was closed: nothing needs the journal, and the next one to ask says how long it is.
    let env = Env::open(&path).unwrap();
    assert_eq!((env.recovery(), env.info().unwrap().journal), (Recovery::Clean, None));
    drop(env);
    let env = Env::options().journal(2 * BYTES + 1).open(&path).unwrap();
    let found = env.info().unwrap().journal.unwrap();
    assert_eq!((found.state, found.bytes), (JournalState::Waiting, 2 * BYTES + 4096));
    assert_eq!(fs::metadata(Env::journal_path(&path)).unwrap().len(), 2 * BYTES + 4096);
}

#[test]
fn sizes_that_no_journal_has_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    for bytes in [1, BYTES - 1, limits::JOURNAL_BYTES_MAX + 1, u64::MAX] {
        match Env::options().journal(bytes).open(&path) {
            Err(Error::Invalid(text)) => assert!(text.contains("64 KiB"), "{text}"),
            other => panic!("{bytes}: {other:?}"),
        }
    }
    assert!(!path.exists(), "nothing was made");
}

#[test]
fn the_journal_goes_with_its_environment_and_no_other_file_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let journal = Env::journal_path(&path);
    let env = open(&path);
    put(&env, 1);
    put(&env, 2);
    let copy = dir.path().join("copy.huon");
    env.copy_to(&copy, CopyOptions::new()).unwrap();
    assert!(!Env::journal_path(&copy).exists());
    assert_eq!(count(&Env::open(&copy).unwrap()), 2);
    assert!(Env::open(&journal).is_err() && Env::open(Env::journal_path(&copy)).is_err());
    drop(env);
    assert!(Env::delete(&path).unwrap());
    assert!(!path.exists() && !journal.exists());
    // What only has the name is neither used nor deleted.
    fs::write(&journal, "a diary").unwrap();
    match Env::options().journal(BYTES).open(&path) {
        Err(Error::NotADatabase(text)) => assert!(text.contains("a.huon-journal"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(Env::delete(&path), Err(Error::NotADatabase(_))));
    assert_eq!(fs::read_to_string(&journal).unwrap(), "a diary");
    assert!(Env::open(&path).is_ok(), "without a journal it is in no way");
}

/// A journal whose first blocks are the rest of a batch that went around its end, or that was never
/// written to, is known by its name and by any batch.
#[test]
fn files_are_known_as_journals() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let journal = Env::journal_path(&path);
    let kind = || Env::kind_of(&journal).unwrap();
    let env = open(&path);
    assert_eq!(kind(), FileKind::Journal);
    put(&env, 1);
    let mut bytes = fs::read(&journal).unwrap();
    drop(env);
    bytes.rotate_right(4096);
    bytes[..4096].fill(7);
    fs::write(&journal, &bytes).unwrap();
    assert_eq!(kind(), FileKind::Journal);
    fs::write(&journal, "a diary").unwrap();
    assert_eq!(kind(), FileKind::Other);
}

#[test]
fn metas_name_a_place_in_the_journal_until_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    put(&env, 1);
    let newest = |path: &Path| {
        let metas = Env::metas_of(path).unwrap();
        metas.iter().filter_map(|meta| meta.snapshot()).find(|s| s.is_newest).copied().unwrap()
    };
    assert_eq!(newest(&path).journal_block, Some(1));
    put(&env, 2);
    assert_eq!(env.check().unwrap().journal_batches, 1);
    drop(env);
    assert_eq!(newest(&path).journal_block, None);
}

#[test]
fn a_check_finds_a_batch_that_is_not_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    (0..6).for_each(|key| put(&env, key));
    let report = env.check().unwrap();
    assert_eq!((report.problem_count, report.journal_batches), (0, 5));
    let journal = fs::OpenOptions::new().write(true).open(Env::journal_path(&path)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&journal, b"X", 3 * 4096 + 100).unwrap();
    let report = env.check().unwrap();
    assert_eq!(report.problem_count, 1, "{:?}", report.problems);
    assert!(report.problems[0].text.contains("behind 2 batches"), "{}", report.problems[0]);
}

#[test]
fn without_its_journal_a_file_opens_when_that_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    (0..6).for_each(|key| put(&env, key));
    let lost = after_power_loss(&path, &dir.path().join("lost"));
    let whole = after_power_loss(&path, &dir.path().join("whole"));
    let journal = Env::journal_path(&lost);
    fs::rename(&journal, dir.path().join("elsewhere")).unwrap();
    match Env::open(&lost) {
        Err(Error::Journal(text)) => assert!(text.contains("-journal"), "{text}"),
        other => panic!("{other:?}"),
    }
    // To look at it changes nothing.
    let look = Env::options().read_only(true).give_up_journal(true).open(&lost).unwrap();
    assert_eq!((look.recovery(), count(&look)), (Recovery::JournalGivenUp, 1));
    drop(look);
    fs::copy(dir.path().join("elsewhere"), &journal).unwrap();
    fs::remove_file(&journal).unwrap();
    let env = Env::options().give_up_journal(true).open(&lost).unwrap();
    assert_eq!((env.recovery(), count(&env)), (Recovery::JournalGivenUp, 1));
    put(&env, 7);
    assert!(env.check().unwrap().is_clean());
    drop(env);
    assert_eq!(count(&Env::open(&lost).unwrap()), 2, "it is a file like any other");
    // With the right journal nothing is given up.
    let env = Env::options().give_up_journal(true).open(&whole).unwrap();
    assert_eq!((env.recovery(), count(&env)), (Recovery::Replayed, 6));
}

#[test]
fn an_opening_to_read_replays_where_it_may_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    (0..6).for_each(|key| put(&env, key));
    let copy = after_power_loss(&path, &dir.path().join("copy"));
    let look = Env::options().read_only(true).open(&copy).unwrap();
    assert_eq!((look.recovery(), count(&look)), (Recovery::Replayed, 6));
    drop(look);
    fs::remove_file(Env::journal_path(&copy)).unwrap();
    assert_eq!(count(&Env::open(&copy).unwrap()), 6, "all of it is in the data file");
}

#[test]
fn a_journal_that_cannot_be_written_is_done_without() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let first = open(&path);
    put(&first, 0);
    fs::remove_file(Env::journal_path(&path)).unwrap();
    let second = Env::open(&path).unwrap();
    put(&second, 1);
    let info = second.info().unwrap();
    assert_eq!(info.journal.unwrap().state, JournalState::Failed);
    assert!(!info.poisoned && info.durable == info.newest);
    let flushes = first.info().unwrap().io.journal_flushes;
    put(&first, 2);
    assert_eq!(first.info().unwrap().io.journal_flushes, flushes, "no client uses it");
    drop((first, second));
    let env = open(&path);
    assert_eq!((env.recovery(), count(&env)), (Recovery::Clean, 3));
    assert_eq!(env.info().unwrap().journal.unwrap().state, JournalState::Waiting);
}
