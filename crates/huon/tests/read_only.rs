//! Opening for reading only: at once, and without a trace.

use std::time::{Duration, Instant};

use huon::{Env, Error, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");

#[test]
fn a_closed_file_is_read_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    Env::options().open(&path).unwrap().update(|txn| txn.create(&T)?.put(txn, "a", &1)).unwrap();
    let lock = dir.path().join("a.huon-lock");
    let before = (std::fs::read(&path).unwrap(), std::fs::read(&lock).unwrap());
    let read = || {
        let start = Instant::now();
        let env = Env::options().read_only(true).open(&path).unwrap();
        let snap = env.read().unwrap();
        assert_eq!(snap.open(&T).unwrap().unwrap().get(&snap, "a").unwrap(), Some(1));
        assert!(matches!(env.write(), Err(Error::ReadOnly)));
        drop(snap);
        assert!(start.elapsed() < Duration::from_secs(1), "it waited for nobody");
    };
    read();
    assert!(before == (std::fs::read(&path).unwrap(), std::fs::read(&lock).unwrap()));
    std::fs::remove_file(&lock).unwrap();
    read();
    assert!(!lock.exists());
}
