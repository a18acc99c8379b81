//! Waiting: for commits; for the writer, where a thread that would wait for itself is refused, and
//! no other. Nothing here waits an hour.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use huon::{Bytes, CheckOptions, Durability, Env, Error, Options, SlowReaderAnswer, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
/// Longer than an unused transaction counts as one that is on its way to another thread.
const LONG: Duration = Duration::from_millis(800);

fn options() -> Options {
    let mut options = Env::options();
    options.lock_timeout(Duration::from_secs(3600));
    options
}

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

fn is_refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::ThreadWrites))
}

#[test]
fn a_second_write_in_one_thread_is_refused() {
    let (_dir, path) = place();
    let env = options().open(&path).unwrap();
    let mut txn = env.write().unwrap();
    let error = env.write().unwrap_err();
    assert!(matches!(error, Error::ThreadWrites), "{error}");
    assert!(error.to_string().contains("this thread"), "{error}");
    let now = env.write_within(Duration::ZERO);
    assert!(matches!(now, Err(Error::Busy(_))), "a try gets the same answer");
    txn.create_table(&T).unwrap().put(&mut txn, 1, b"").unwrap();
    txn.commit().unwrap();
    env.write().unwrap().commit().unwrap();
}

#[test]
fn whatever_would_wait_for_its_own_thread_is_refused() {
    let (_dir, path) = place();
    let env = options().open(&path).unwrap();
    let twin = options().open(&path).unwrap();
    env.update(|txn| {
        assert!(is_refused(env.write()));
        assert!(is_refused(env.update(|_| Ok(()))));
        assert!(is_refused(env.set_geometry(env.info()?.geometry)));
        let checked = env.check_with(CheckOptions::default().meta_slot(0));
        assert!(is_refused(checked));
        assert!(is_refused(twin.write()), "another environment of the same file");
        txn.nested(|_| {
            assert!(is_refused(env.write()));
            Ok(())
        })?;
        // These wait for no writer.
        env.sync()?;
        env.read()?.renew()?;
        txn.create_table(&T)?.put(txn, 1, b"").map(drop)
    })
    .unwrap();
    let mut txn = env.write().unwrap();
    txn.nested(|_| {
        assert!(is_refused(env.write()));
        Ok(())
    })
    .unwrap();
    drop(txn);
    assert!(env.write().is_ok() && twin.write().is_ok());
}

#[test]
fn a_transaction_that_was_moved_is_waited_for() {
    let (_dir, path) = place();
    let env = options().open(&path).unwrap();
    let mut txn = env.write().unwrap();
    let (used, when_used) = mpsc::channel();
    let other = thread::spawn(move || {
        let t = txn.create_table(&T).unwrap();
        t.put(&mut txn, 1, b"").unwrap();
        used.send(()).unwrap();
        thread::sleep(LONG);
        txn.commit().unwrap();
    });
    when_used.recv().unwrap();
    let twin = options().open(&path).unwrap();
    let waiting = thread::spawn(move || twin.write().map(drop).unwrap());
    drop(env.write().unwrap());
    waiting.join().unwrap();
    other.join().unwrap();
    // One that is on its way is used soon.
    let txn = env.write().unwrap();
    let other = thread::spawn(move || {
        thread::sleep(LONG / 8);
        drop(txn);
    });
    drop(env.write().unwrap());
    other.join().unwrap();
}

/// The thread that ends up with a transaction is the one that would wait for itself.
#[test]
fn a_thread_that_was_given_a_transaction_is_refused() {
    let (_dir, path) = place();
    let env = options().open(&path).unwrap();
    let txn = env.write().unwrap();
    let second = env.clone();
    let given = thread::spawn(move || {
        assert!(txn.open_table(&T).unwrap().is_none());
        assert!(is_refused(second.write()));
        txn
    });
    let txn = given.join().unwrap();
    assert!(txn.open_table(&T).unwrap().is_none());
    assert!(is_refused(env.write()));
}

#[test]
fn a_callback_of_the_writer_cannot_write() {
    let (_dir, path) = place();
    let (seen, refused) = mpsc::channel();
    let env = options().max_bytes(1 << 20).open(&path).unwrap();
    let inner = std::sync::Mutex::new((env.clone(), seen));
    env.set_on_slow_reader(move |_| {
        let (env, seen) = &*inner.lock().unwrap();
        seen.send(is_refused(env.write())).unwrap();
        SlowReaderAnswer::GiveUp
    });
    let fill = |byte| {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            (0..200).try_for_each(|n| t.put(txn, n, &[byte; 2000]).map(drop))
        })
    };
    fill(1).unwrap();
    let _reader = env.read().unwrap();
    fill(2).unwrap();
    assert!(matches!(fill(3), Err(Error::MapFull(_))));
    env.clear_on_slow_reader();
    let answers: Vec<bool> = refused.iter().collect();
    assert!(!answers.is_empty() && answers.iter().all(|refused| *refused));
}

/// Longer than any machine takes to run a thread: a thread that waits so long has missed a wake.
const EVER: Duration = Duration::from_secs(60);

fn put(env: &Env, key: u64) -> u64 {
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap().put(&mut txn, key, b"").unwrap();
    txn.commit_with(Durability::Lazy).unwrap()
}

#[test]
fn a_commit_is_heard_of_by_all_waiting_threads() {
    let (_dir, path) = place();
    let env = Env::open(&path).unwrap();
    let seen = put(&env, 0);
    assert_eq!(env.wait_for_commit(seen - 1, Duration::ZERO).unwrap(), Some(seen), "there already");
    assert_eq!(env.wait_for_commit(seen, Duration::from_millis(1)).unwrap(), None);
    // A clone, and a client of its own, each with two threads, of which each wants them all.
    let clients = [env.clone(), env.clone(), Env::open(&path).unwrap(), Env::open(&path).unwrap()];
    let last = seen + 50;
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(move || {
                let mut known = seen;
                while known < last {
                    let newest = client.wait_for_commit(known, EVER).unwrap().expect("in time");
                    assert!(newest > known && client.read().unwrap().id() >= newest);
                    known = newest;
                }
            });
        }
        for key in 1..=50 {
            put(&env, key);
        }
    });
}

#[test]
fn what_changes_nothing_is_no_news() {
    let (_dir, path) = place();
    let env = Env::open(&path).unwrap();
    let seen = put(&env, 0);
    env.update(|_| Ok(())).unwrap();
    let undone = env.update(|txn| {
        txn.create_table(&T)?.put(txn, 1, b"")?;
        txn.create_table(&T)?.append(txn, 0, b"")
    });
    assert!(undone.is_err());
    assert_eq!(env.wait_for_commit(seen, Duration::from_millis(1)).unwrap(), None);
    // A durable commit is news once it is durable, for a reader too.
    let reader = Env::options().read_only(true).open(&path).unwrap();
    let id = env.update(|txn| txn.create_table(&T)?.put(txn, 2, b"").map(|_| txn.id())).unwrap();
    let heard = reader.wait_for_commit(seen, EVER).unwrap();
    assert!(heard == Some(id) && env.durable_id() >= id);
}
