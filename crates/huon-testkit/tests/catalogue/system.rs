//! What the kernel may do to a process: interrupt it, limit it.

use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use huon::{CopyOptions, Durability, Error};
use huon_testkit::figures;
use huon_text::{DumpOptions, LoadOptions};

use super::child::{self, Child, say};
use super::{Model, Place, assert_clean, assert_holds, def, small};

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, Relaxed);
}

/// LMDB (2015) gave up, or went on without a lock, when a signal interrupted it in a system call.
/// Here every thread is interrupted all the time while it opens, waits, writes, flushes, copies,
/// dumps, loads and closes.
#[test]
fn signals_interrupt_everything_and_nothing_fails() {
    let name = "system::signals_interrupt_everything_and_nothing_fails";
    if child::part().is_some() {
        return work_under_signals(&child::path());
    }
    // In a process of its own: the signals hit no other test.
    let place = Place::on_disk();
    let mut child = Child::start(name, "work", &place.path);
    let signals: u64 = child.hear().parse().unwrap();
    child.finish();
    assert!(signals > 200, "only {signals} signals");
    figures::add("fault", signals);
}

fn work_under_signals(path: &std::path::Path) {
    // SAFETY: a handler that only counts; without SA_RESTART, so that calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
    }
    let workers: Vec<JoinHandle<()>> = (0..3u8)
        .map(|me| {
            let path = path.to_owned();
            std::thread::spawn(move || work(&path, me))
        })
        .collect();
    while workers.iter().any(|worker| !worker.is_finished()) {
        for worker in &workers {
            // SAFETY: the threads are joined only below, so their names are good.
            unsafe { libc::pthread_kill(worker.as_pthread_t(), libc::SIGALRM) };
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let env = small().open(path).unwrap();
    assert_clean(&env, "after the signals");
    let txn = env.read().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    for me in 0..3u8 {
        let mine = t.prefix(&txn, &[me]).unwrap().count();
        assert_eq!(mine, 12 * 5, "the records of thread {me}");
    }
    say(&SIGNALS.load(Relaxed).to_string());
}

/// Opens, writes in every mode, waits for others, copies, dumps and loads.
fn work(path: &std::path::Path, me: u8) {
    let modes = [Durability::Durable, Durability::Lazy, Durability::NoMetaSync];
    for round in 0..12u8 {
        let env = small().open(path).unwrap();
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&def()).unwrap();
        for n in 0..5 {
            let bytes = if n == 3 { 300_000 } else { 90 };
            t.put(&mut txn, &[me, round, n], &vec![n; bytes]).unwrap();
        }
        match round % 4 {
            3 => txn.commit_ticket().unwrap().wait().unwrap(),
            n => drop(txn.commit_with(modes[usize::from(n)]).unwrap()),
        }
        if round % 4 == 0 {
            let aside = |what: &str| path.with_extension(format!("{what} {me} {round}"));
            env.copy_to(aside("copy"), CopyOptions::new().compact(true)).unwrap();
            let mut text = Vec::new();
            huon_text::dump(&env, &mut text, DumpOptions::new()).unwrap();
            let loaded = small().open(aside("load")).unwrap();
            huon_text::load(&loaded, &mut &text[..], LoadOptions::new()).unwrap();
            assert_clean(&loaded, "loaded");
            assert!(env.check().unwrap().is_clean());
        }
        env.sync().unwrap();
        env.close().unwrap();
    }
}

/// A limit of the size of files, which a system may set for a process: a transaction fails, the
/// rest stays, and without the limit all goes on. Stores that map a longer file than there is were
/// killed by a signal here (py-lmdb, lmdb-go, Erigon).
#[test]
fn a_limit_of_file_sizes_fails_the_transaction_only() {
    let name = "system::a_limit_of_file_sizes_fails_the_transaction_only";
    if child::part().is_some() {
        return work_within_a_limit(&child::path());
    }
    let place = Place::new();
    let mut child = Child::start(name, "work", &place.path);
    let kept: u8 = child.hear().parse().unwrap();
    child.finish();
    let env = small().open(&place.path).unwrap();
    assert_clean(&env, "without the limit");
    let there = (0..kept).filter(|n| ![3, 4].contains(n));
    let model: Model = there.map(|n| (vec![n], vec![n; 20_000])).collect();
    assert_holds(&env, &model, "all that was committed");
    env.update(|txn| txn.create_table(&def())?.put(txn, b"more", &vec![1; 4 << 20]).map(drop))
        .unwrap();
    assert_clean(&env, "more than the limit");
}

fn work_within_a_limit(path: &std::path::Path) {
    let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    // SAFETY: changes this process only. The signal would end it before the error is seen.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    let env = small().open(path).unwrap();
    let put = |n: u8| {
        env.update(|txn| txn.create_table(&def())?.put(txn, &[n], &vec![n; 20_000]).map(drop))
    };
    let mut model = Model::new();
    let mut kept = 0;
    let error = loop {
        match put(kept) {
            Ok(()) => {
                model.insert(vec![kept], vec![kept; 20_000]);
                kept += 1;
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Io(_)), "{error}");
    assert!(kept > 20, "{kept} values fitted: {error}");
    assert_clean(&env, "at the limit");
    assert_holds(&env, &model, "at the limit");
    assert!(!env.info().unwrap().poisoned);
    // Deleting works, and what it frees can be used.
    for n in 0..5 {
        env.update(|txn| txn.create_table(&def())?.remove(txn, &[n]).map(drop)).unwrap();
    }
    (0..3).for_each(|n| put(n).unwrap());
    assert!((0..kept).any(|n| put(250 - n).is_err()), "and not much more than that");
    (0..kept)
        .for_each(|n| drop(env.update(|txn| txn.create_table(&def())?.remove(txn, &[250 - n]))));
    assert_clean(&env, "at the limit again");
    env.close().unwrap();
    say(&kept.to_string());
}
