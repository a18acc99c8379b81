//! The file itself: how it grows and shrinks, and what becomes of its lock file.

use std::path::PathBuf;

use huon::{Bytes, CopyOptions, Env, Error, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const RECORDS: u64 = 3000;

fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let dir = dir.unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

fn fill(env: &Env, byte: u8) -> huon::Table<U64, Bytes> {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..RECORDS {
        t.put(&mut txn, n, &vec![byte; if n % 10 == 0 { 20_000 } else { 300 }]).unwrap();
    }
    txn.commit().unwrap();
    t
}

fn tiny_commits(env: &Env, count: u64) {
    for n in 0..count {
        let def = TableDef::<U64, U64>::new("tiny");
        env.update(|txn| txn.create_table(&def)?.put(txn, 0, n).map(drop)).unwrap();
    }
}

#[test]
fn a_free_tail_is_given_back() {
    let (_dir, path) = place();
    let env = Env::options().shrink_bytes(1 << 20).open(&path).unwrap();
    let t = fill(&env, 1);
    let full = env.info().unwrap().file_bytes;
    assert!(full > 6 << 20, "{full}");
    let reader = env.read().unwrap();
    env.update(|txn| t.clear(txn)).unwrap();
    tiny_commits(&env, 5);
    assert!(env.info().unwrap().file_bytes >= reader.used_bytes(), "the reader sees every page");
    for n in 0..RECORDS {
        assert_eq!(t.get(&reader, n).unwrap().unwrap()[0], 1);
    }
    drop(reader);
    tiny_commits(&env, 400);
    let small = env.info().unwrap().file_bytes;
    assert!(small < full / 4, "{full} bytes became {small}");
    assert!(env.check().unwrap().is_clean());
    // It grows again, in this process and in the next one.
    fill(&env, 2);
    drop(env);
    let env = Env::options().open(&path).unwrap();
    fill(&env, 3);
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn the_maximum_size_is_kept_and_deleting_works_there() {
    let (_dir, path) = place();
    let max_bytes = 4 << 20;
    let env = Env::options().max_bytes(max_bytes).open(&path).unwrap();
    let mut kept = 0u64;
    let error = loop {
        match env.update(|txn| txn.create_table(&T)?.put(txn, kept, &[7; 1000]).map(drop)) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::MapFull(_)), "{error}");
    assert!(env.info().unwrap().file_bytes <= max_bytes);
    let t = env.view(|txn| Ok(txn.open_table(&T)?.unwrap())).unwrap();
    for n in 0..kept / 2 {
        env.update(|txn| t.remove(txn, n).map(drop)).unwrap();
    }
    env.update(|txn| t.put(txn, 0, &[8; 1000]).map(drop)).unwrap();
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_lock_file_that_was_replaced_is_refused() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 1);
    let lock = PathBuf::from(format!("{}-lock", path.display()));
    std::fs::remove_file(&lock).unwrap();
    let error = Env::options().open(&path).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert!(error.to_string().contains("lock file"), "{error}");
    // The client that had it open goes on, and once it has closed the file opens as ever.
    fill(&env, 2);
    drop(env);
    let env = Env::options().open(&path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    assert_eq!(t.get(&txn, 5).unwrap().unwrap()[0], 2);
}

#[test]
fn a_lost_lock_file_costs_nothing_that_was_durable() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 1);
    drop(env);
    let lock = PathBuf::from(format!("{}-lock", path.display()));
    for garbage in [None, Some(vec![]), Some(vec![0u8; 100]), Some(vec![0; 300_000])] {
        match garbage {
            None => std::fs::remove_file(&lock).unwrap(),
            Some(bytes) => std::fs::write(&lock, bytes).unwrap(),
        }
        let env = Env::options().open(&path).unwrap();
        let txn = env.read().unwrap();
        let t = txn.open_table(&T).unwrap().unwrap();
        assert_eq!(t.get(&txn, 5).unwrap().unwrap()[0], 1);
        drop(txn);
        tiny_commits(&env, 2);
        assert!(env.check().unwrap().is_clean());
    }
}

#[test]
fn a_file_in_the_lock_files_place_is_not_overwritten() {
    let (_dir, path) = place();
    drop(Env::options().open(&path).unwrap());
    let lock = PathBuf::from(format!("{}-lock", path.display()));
    let letter = b"a letter that is kept under this name".repeat(1000);
    std::fs::write(&lock, &letter).unwrap();
    let error = Env::options().open(&path).unwrap_err();
    assert!(matches!(error, Error::NotADatabase(_)), "{error}");
    assert!(error.to_string().contains("move it away"), "{error}");
    assert_eq!(std::fs::read(&lock).unwrap(), letter);
}

#[test]
fn what_is_no_environment_gets_no_lock_file() {
    let (_dir, path) = place();
    let lock = PathBuf::from(format!("{}-lock", path.display()));
    let letter = b"a letter that is kept under this name".repeat(1000);
    for content in [&letter[..], b"x", &[0; 20_000]] {
        std::fs::write(&path, content).unwrap();
        for read_only in [true, false] {
            let error = Env::options().read_only(read_only).open(&path).unwrap_err();
            assert!(matches!(error, Error::NotADatabase(_)), "{error}");
            assert!(!lock.exists());
        }
        assert!(std::fs::read(&path).unwrap() == content);
    }
    // An empty file becomes one, if that is wanted.
    std::fs::write(&path, b"").unwrap();
    for options in [Env::options().read_only(true), Env::options().create(false)] {
        assert!(matches!(options.open(&path), Err(Error::NotADatabase(_))));
        assert!(!lock.exists());
    }
    fill(&Env::options().open(&path).unwrap(), 1);
    assert!(lock.exists());
}

#[test]
fn many_tables_and_many_readers() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    let def = |n: u64| TableDef::<U64, U64>::named(format!("table {n:05}"));
    let tables = 3000u64;
    let mut txn = env.write().unwrap();
    for n in 0..tables {
        let t = txn.create_table(&def(n)).unwrap();
        t.put(&mut txn, n, n * 2).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    assert_eq!(txn.table_names().unwrap().len() as u64, tables);
    for n in 0..tables {
        let t = txn.open_table(&def(n)).unwrap().unwrap();
        assert_eq!(t.get(&txn, n).unwrap(), Some(n * 2));
    }
    // More readers than the first table of slots holds: the table grows.
    let readers: Vec<_> = (0..2000).map(|_| env.read().unwrap()).collect();
    assert_eq!(env.info().unwrap().readers.len(), readers.len() + 1);
    drop(readers);
    tiny_commits(&env, 1);
    assert_eq!(env.info().unwrap().readers.len(), 1);
}

/// Ids go on by one after a clean close. They jump where it cannot be known which were given out:
/// the lock file is lost, or the file is a copy.
#[test]
fn ids_jump_only_after_unclean_ends() {
    let (dir, path) = place();
    let lock = |path: &PathBuf| PathBuf::from(format!("{}-lock", path.display()));
    let commit = |path: &PathBuf| {
        let env = Env::options().open(path).unwrap();
        let due = env.info().unwrap().repair_due;
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        t.put(&mut txn, env.read().unwrap().id(), &[0]).unwrap();
        let id = txn.commit().unwrap();
        assert!(!env.info().unwrap().repair_due);
        env.close().unwrap();
        (id, due)
    };
    assert_eq!([2, 3, 4].map(|_| commit(&path)), [(2, false), (3, false), (4, false)]);
    drop(Env::options().read_only(true).open(&path).unwrap());
    assert_eq!(commit(&path), (5, false));

    let copy = dir.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(lock(&path), lock(&copy)).unwrap();
    let (id, due) = commit(&copy);
    assert!(id > 1 << 32 && due, "{id}");
    assert_eq!(commit(&copy), (id + 1, false));

    std::fs::remove_file(lock(&path)).unwrap();
    let (id, due) = commit(&path);
    assert!(id > 1 << 32 && due, "{id}");
    assert_eq!(commit(&path), (id + 1, false));
}

/// Two records take 64 KiB at most, whether they came together or one by one, and 16 readers a lock
/// file of 40 KiB.
#[test]
fn small_files_are_small() {
    let (_dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    for key in [1, 2] {
        env.update(|txn| txn.create_table(&T)?.put(txn, key, &[7; 100]).map(drop)).unwrap();
    }
    assert!(env.info().unwrap().file_bytes <= 64 << 10, "{:?}", env.info());
    let lock_bytes = || {
        use std::os::unix::fs::MetadataExt;
        let lock = std::fs::metadata(format!("{}-lock", path.display())).unwrap();
        assert!(lock.blocks() * 512 >= lock.len(), "allocated, not sparse");
        lock.len()
    };
    let readers: Vec<_> = (0..16).map(|_| env.read().unwrap()).collect();
    assert!(lock_bytes() <= 40 << 10, "{}", lock_bytes());
    let more: Vec<_> = (0..100).map(|_| env.read().unwrap()).collect();
    assert!(lock_bytes() <= 60 << 10, "{}", lock_bytes());
    assert_eq!(env.info().unwrap().readers.len(), 116);
    drop((readers, more));
    // Deleting and clearing work there, and what was large becomes as small again.
    let t = env.view(|txn| Ok(txn.open_table(&T)?.unwrap())).unwrap();
    let mut geometry = env.info().unwrap().geometry;
    geometry.shrink_bytes = 32 << 10;
    env.set_geometry(geometry).unwrap();
    fill(&env, 1);
    env.update(|txn| t.clear(txn)).unwrap();
    tiny_commits(&env, 400);
    let small = env.info().unwrap();
    assert!(small.file_bytes <= small.used_bytes + (64 << 10), "{small:?}");
    assert!(env.check().unwrap().is_clean());
}

/// No copy has a tail that nothing uses, wherever it goes.
#[test]
fn copies_end_where_their_data_ends() {
    let (dir, path) = place();
    let env = Env::options().open(&path).unwrap();
    fill(&env, 1);
    env.update(|txn| {
        let t = txn.open_table(&T)?.unwrap();
        (0..RECORDS).step_by(3).try_for_each(|n| t.remove(txn, n).map(drop))
    })
    .unwrap();
    for compact in [false, true] {
        let copies = ["path", "fd", "pipe"].map(|kind| dir.path().join(format!("{kind}{compact}")));
        let options = || CopyOptions::new().compact(compact);
        env.copy_to(&copies[0], options()).unwrap();
        env.copy_to_fd(std::fs::File::create(&copies[1]).unwrap(), options()).unwrap();
        let mut piped = Vec::new();
        env.copy_to_writer(&mut piped, options()).unwrap();
        std::fs::write(&copies[2], piped).unwrap();
        for copy in copies {
            let bytes = std::fs::metadata(&copy).unwrap().len();
            let env = Env::options().open(&copy).unwrap();
            let used = env.info().unwrap().used_bytes;
            assert!(bytes <= used, "{} has {bytes} bytes and uses {used}", copy.display());
            assert!(env.check().unwrap().is_clean());
            env.update(|txn| txn.open_table(&T)?.unwrap().put(txn, 1, &[2; 300]).map(drop))
                .unwrap();
        }
    }
}
