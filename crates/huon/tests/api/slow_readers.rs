//! Readers that keep a writer from the pages it needs, where the file may not grow.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use huon::{
    Bytes, Durability, Env, Error, Options, ReadTxn, SlowReader, SlowReaderAnswer, Table, TableDef,
    U64,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const RECORDS: u64 = 300;

/// Room for two copies of the table, not for three.
fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(512).max_bytes(220 << 10).durability(Durability::Lazy);
    options.grow_bytes(8 << 10);
    options
}

fn open(options: &Options) -> (tempfile::TempDir, Env, Table<U64, Bytes>) {
    let dir = tempfile::tempdir().unwrap();
    let env = options.open(dir.path().join("a.huon")).unwrap();
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    write(&env, t, 0).unwrap();
    (dir, env, t)
}

/// Every record anew, durably: so only readers keep what was before.
fn write(env: &Env, t: Table<U64, Bytes>, byte: u8) -> huon::Result<()> {
    env.update(|txn| (0..RECORDS).try_for_each(|n| t.put(txn, n, &[byte; 150]).map(drop)))?;
    env.sync().map(drop)
}

fn holds(txn: &ReadTxn, t: Table<U64, Bytes>, byte: u8) {
    for n in 0..RECORDS {
        assert_eq!(t.get(txn, n).unwrap(), Some(&[byte; 150][..]), "{n}");
    }
}

fn clean(env: &Env) {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Writes until it does not fit, at most a few times.
fn write_until_full(env: &Env, t: Table<U64, Bytes>) -> Option<Error> {
    (1..6).find_map(|byte| write(env, t, byte).err())
}

#[test]
fn a_full_file_names_the_readers_and_what_they_retain() {
    let (_dir, env, t) = open(&options());
    let reader = env.read().unwrap();
    let error = write_until_full(&env, t).expect("there is no room for three");
    let Error::MapFull(full) = &error else { panic!("{error}") };
    assert_eq!(full.limit_bytes, 220 << 10);
    let [retaining] = full.readers[..] else { panic!("{full:?}") };
    assert_eq!((retaining.pid, retaining.txnid), (std::process::id(), reader.id()));
    assert!(retaining.ids_behind > 0 && !retaining.parked && retaining.thread != 0);
    assert!(
        retaining.freed_bytes > 40_000 && retaining.retained_bytes >= retaining.freed_bytes,
        "{retaining:?}"
    );
    assert!(error.to_string().contains(&format!("process {}", retaining.pid)), "{error}");
    holds(&reader, t, 0);
    drop(reader);
    write(&env, t, 9).unwrap();
    clean(&env);
}

#[test]
fn a_live_reader_is_waited_for_and_never_broken() {
    let asked: Arc<Mutex<Vec<SlowReader>>> = Arc::default();
    let reader: Arc<Mutex<Option<ReadTxn>>> = Arc::default();
    let mut options = options();
    let (calls, held) = (asked.clone(), reader.clone());
    options.on_slow_reader(move |slow| {
        calls.lock().unwrap().push(*slow);
        match slow.retries {
            0 => SlowReaderAnswer::Retry,
            1..4 => SlowReaderAnswer::Evict,
            _ if held.lock().unwrap().take().is_some() => SlowReaderAnswer::Retry,
            _ => SlowReaderAnswer::GiveUp,
        }
    });
    let (_dir, env, t) = open(&options);
    *reader.lock().unwrap() = Some(env.read().unwrap());
    let id = reader.lock().unwrap().as_ref().unwrap().id();
    assert!(write_until_full(&env, t).is_none(), "it had room in the end");
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(asked.iter().map(|slow| slow.retries).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for slow in &asked {
        assert!(slow.own && slow.full && !slow.reader.parked);
        assert_eq!((slow.reader.txnid, slow.reader.pid), (id, std::process::id()));
        assert!(slow.reader.freed_bytes > 40_000);
    }
    clean(&env);
    // It gives up, and the reader has lost nothing.
    write(&env, t, 20).unwrap();
    let reader = env.read().unwrap();
    assert!(matches!(write_until_full(&env, t), Some(Error::MapFull(_))));
    holds(&reader, t, 20);
}

#[test]
fn parked_readers_give_way() {
    let (_dir, env, t) = open(&options());
    // One that blocks no writer, and two that retain the same pages.
    let parked = [env.read().unwrap().park().unwrap(), env.read().unwrap().park().unwrap()];
    let id = parked[0].id();
    assert!(write_until_full(&env, t).is_none());
    let [first, second] = parked;
    assert!(first.is_evicted() && second.is_evicted());
    assert!(env.info().unwrap().readers.is_empty());
    assert!(matches!(first.unpark(), Err(Error::Evicted)));
    assert!(matches!(second.unpark(), Err(Error::Evicted)));
    let newest = env.read().unwrap();
    assert!(newest.id() > id);
    holds(&newest, t, 5);
    let spared = newest.park().unwrap();
    write(&env, t, 6).unwrap();
    assert!(!spared.is_evicted(), "there was room");
    holds(&spared.unpark().unwrap(), t, 5);
    clean(&env);
}

#[test]
fn the_callback_decides_about_parked_ones() {
    let breaks = Arc::new(AtomicBool::new(false));
    let mut options = options();
    let may = breaks.clone();
    options.on_slow_reader(move |slow| {
        if slow.reader.parked && may.load(Ordering::Relaxed) {
            SlowReaderAnswer::Evict
        } else {
            SlowReaderAnswer::GiveUp
        }
    });
    let (_dir, env, t) = open(&options);
    let parked = env.read().unwrap().park().unwrap();
    assert!(matches!(write_until_full(&env, t), Some(Error::MapFull(_))));
    assert!(!parked.is_evicted());
    breaks.store(true, Ordering::Relaxed);
    assert!(write_until_full(&env, t).is_none());
    assert!(parked.is_evicted());
    clean(&env);
}

#[test]
fn it_may_be_asked_before_the_file_grows() {
    let calls = Arc::new(AtomicU32::new(0));
    let mut options = options();
    let counted = calls.clone();
    options.max_bytes(8 << 20).on_slow_reader(move |slow| {
        assert!(!slow.full);
        counted.fetch_add(1, Ordering::Relaxed);
        if slow.reader.parked { SlowReaderAnswer::Evict } else { SlowReaderAnswer::GiveUp }
    });
    let (_dir, env, t) = open(&options);
    let mut settings = env.settings();
    settings.slow_readers_before_growing = true;
    env.set_settings(settings);
    (1..4).for_each(|byte| write(&env, t, byte).unwrap());
    assert_eq!(calls.load(Ordering::Relaxed), 0, "there is no reader");
    let before = env.info().unwrap().file_bytes;
    let parked = env.read().unwrap().park().unwrap();
    (4..9).for_each(|byte| write(&env, t, byte).unwrap());
    assert!(parked.is_evicted() && calls.load(Ordering::Relaxed) > 0);
    assert!(env.info().unwrap().file_bytes <= before + (16 << 10), "it did not grow for it");
    let live = env.read().unwrap();
    (9..12).for_each(|byte| write(&env, t, byte).unwrap());
    assert!(env.info().unwrap().file_bytes > before + (16 << 10), "for this one it did");
    holds(&live, t, 8);
    clean(&env);
}

/// Readers that park and come back all the time, beside a writer without room: each that comes back
/// reads one snapshot, whole.
#[test]
fn parking_and_breaking_at_the_same_time() {
    let (_dir, env, t) = open(&options());
    let done = Arc::new(AtomicBool::new(false));
    // Readers that kept their snapshot, and readers that were broken.
    let seen = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (env, done, seen) = (env.clone(), done.clone(), seen.clone());
            std::thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let txn = env.read().unwrap();
                    let byte = t.get(&txn, 0).unwrap().unwrap()[0];
                    let parked = txn.park().unwrap();
                    std::thread::sleep(Duration::from_micros(300));
                    match parked.unpark() {
                        Ok(txn) => {
                            holds(&txn, t, byte);
                            seen[0].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert!(matches!(error, Error::Evicted), "{error}");
                            seen[1].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            })
        })
        .collect();
    // Until both have happened: which of them is first depends on the scheduler.
    let both = || seen.iter().all(|count| count.load(Ordering::Relaxed) > 0);
    let rounds = (0..40_000).take_while(|round| *round < 400 || !both());
    for round in rounds {
        match write(&env, t, round as u8) {
            // Readers that are just reading are not broken.
            Ok(()) | Err(Error::MapFull(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    done.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(both(), "kept and broken: {seen:?}");
    clean(&env);
}
