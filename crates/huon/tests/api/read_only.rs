//! Opening for reading only: at once, without touching the data, and never in a writer's way.

use std::time::{Duration, Instant};

use huon::{Env, Error, Recovery, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");

fn made(path: &std::path::Path) {
    let env = Env::options().open(path).unwrap();
    env.update(|txn| txn.create_table(&T)?.put(txn, "a", 1)).unwrap();
}

fn read_only(path: &std::path::Path) -> Env {
    let start = Instant::now();
    let env = Env::options().read_only(true).open(path).unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "it did not wait");
    let snap = env.read().unwrap();
    assert_eq!(snap.open_table(&T).unwrap().unwrap().get(&snap, "a").unwrap(), Some(1));
    assert!(matches!(env.write(), Err(Error::ReadOnly)));
    env
}

#[test]
fn the_data_file_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    made(&path);
    let before = std::fs::read(&path).unwrap();
    drop(read_only(&path));
    std::fs::remove_file(dir.path().join("a.huon-lock")).unwrap();
    drop(read_only(&path));
    assert!(before == std::fs::read(&path).unwrap());
    assert!(Env::options().read_only(true).open(dir.path().join("none.huon")).is_err());
    assert!(!dir.path().join("none.huon").exists());
}

#[test]
fn looking_at_a_closed_file_leaves_it_cleanly_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    made(&path);
    let env = read_only(&path);
    assert_eq!(env.recovery(), Recovery::Clean);
    drop(env);
    assert_eq!(Env::options().open(&path).unwrap().recovery(), Recovery::Clean);
}

#[test]
fn a_writer_opens_and_commits_beside_a_reader_that_came_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    made(&path);
    let reader = read_only(&path);
    let writer = Env::options().open(&path).unwrap();
    writer.update(|txn| txn.create_table(&T)?.put(txn, "b", 2)).unwrap();
    let snap = reader.read().unwrap();
    assert_eq!(snap.open_table(&T).unwrap().unwrap().get(&snap, "b").unwrap(), Some(2));
}

#[test]
fn looking_from_a_chosen_meta_changes_nothing_for_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    for key in ["a", "b", "c"] {
        let env = Env::options().open(&path).unwrap();
        env.update(|txn| txn.create_table(&T)?.put(txn, key, 1)).unwrap();
    }
    let newest = read_only(&path).read().unwrap().id();
    let mut older = 0;
    for slot in 0..3 {
        let env = Env::options().read_only(true).meta_slot(slot).open(&path).unwrap();
        older += u32::from(env.read().unwrap().id() < newest);
        let other = Env::options().read_only(true).meta_slot(slot).open(&path);
        assert!(matches!(other, Err(huon::Error::Busy(_))));
        drop(env);
        assert_eq!(read_only(&path).read().unwrap().id(), newest, "slot {slot} is remembered");
    }
    assert_eq!(older, 2);
}

#[test]
fn a_step_back_is_reported_until_the_next_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    made(&path);
    Env::options()
        .open(&path)
        .unwrap()
        .update(|txn| txn.create_table(&T)?.put(txn, "torn", 2))
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|window| window == b"torn").unwrap();
    bytes[at] ^= 1;
    // A file that came from elsewhere, so that no lock file knows better.
    std::fs::remove_file(dir.path().join("a.huon-lock")).unwrap();
    std::fs::write(&path, bytes).unwrap();
    for _ in 0..3 {
        assert_eq!(read_only(&path).recovery(), Recovery::SteppedBack);
    }
    let env = Env::options().open(&path).unwrap();
    assert_eq!(env.recovery(), Recovery::SteppedBack);
    env.update(|txn| txn.create_table(&T)?.put(txn, "b", 3)).unwrap();
    drop(env);
    assert_eq!(read_only(&path).recovery(), Recovery::Clean);
}
