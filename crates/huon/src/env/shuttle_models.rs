//! Shuttle models of whole environments on a simulated machine: several clients and threads that
//! commit, flush, read and die, under very many random schedules. They run the engine's own source.
//!
//! Loom tries every interleaving of a few steps, and every order that the memory model allows.
//! Here everything happens in one order, and interleavings are drawn at random, but of hundreds of
//! steps. Waits have no time-outs: a wake-up that gets lost is a deadlock, which Shuttle reports.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::mpsc;
use shuttle::thread;

use super::*;
use crate::lock::RealShared;
use crate::sim::{Event, SimDisk};
use crate::sim::{Point, on_points};
use crate::{Bytes, Durability, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const RESERVE_BYTES: u64 = 128 << 10;
/// Schedules of each model.
const SCHEDULES: usize = 50_000;

/// Runs `body` under its schedules: half of them drawn step by step, half with few changes of the
/// thread that runs. `HUON_ROTATE` is the seed, `HUON_SHARE` asks for a part of them only, and
/// `HUON_SCHEDULE` is a failed schedule to run again.
fn model(body: fn()) {
    install();
    if let Ok(schedule) = std::env::var("HUON_SCHEDULE") {
        return shuttle::replay(body, &schedule);
    }
    let (seed, part) = (number("HUON_ROTATE").unwrap_or(0), number("HUON_SHARE").unwrap_or(1));
    let count = SCHEDULES / 2 / part as usize;
    let ran = Arc::new(AtomicU64::new(0));
    for scheduler in [
        Box::new(RandomScheduler::new_from_seed(seed, count)) as Box<dyn Scheduler + Send>,
        Box::new(PctScheduler::new_from_seed(seed, 3, count)),
    ] {
        let ran = ran.clone();
        let mut config = shuttle::Config::new();
        config.stack_size = 256 << 10;
        config.silence_warnings = true;
        shuttle::Runner::new(scheduler, config).run(move || {
            body();
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
    crate::figure("named shuttle.schedules", ran.load(Ordering::Relaxed));
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn open(disk: &SimDisk) -> Env {
    options().open_simulated(disk).expect("an environment")
}

fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(256).max_bytes(RESERVE_BYTES).grow_bytes(8192);
    options
}

/// A machine with one commit that is durable, and the environment that made it.
fn machine() -> (SimDisk, Env) {
    let disk = SimDisk::new(RESERVE_BYTES).expect("memory");
    let env = open(&disk);
    put(&env, 0, 0, Durability::Durable);
    (disk, env)
}

fn put(env: &Env, key: u64, value: u64, durability: Durability) -> u64 {
    let mut txn = env.write().expect("a transaction");
    let t = txn.create_table(&T).expect("a table");
    t.put(&mut txn, key, &value.to_le_bytes()).expect("a put");
    txn.commit_with(durability).expect("a commit")
}

/// Puts a record and has it on the disk when it returns, in one way or another.
fn put_durably(env: &Env, key: u64) {
    match thread_rng().gen_range(0..4) {
        0 | 1 => {
            let id = put(env, key, key, Durability::Durable);
            assert!(env.durable_id() >= id, "a durable commit is not durable");
        }
        2 => {
            let id = put(env, key, key, Durability::NoMetaSync);
            let flushed = env.core().unwrap().is_flushed(id, MetaFlush::Later);
            assert!(flushed, "its pages are not flushed");
            if env.durable_id() < id {
                // A power loss may take it away until the next flush.
                env.sync().expect("a flush");
            }
        }
        _ => {
            let mut txn = env.write().expect("a transaction");
            let t = txn.create_table(&T).expect("a table");
            t.put(&mut txn, key, &key.to_le_bytes()).expect("a put");
            let ticket = txn.commit_ticket().expect("a commit");
            ticket.wait().expect("a flush");
            assert!(ticket.is_durable() && env.durable_id() >= ticket.id());
        }
    }
}

fn keys(env: &Env) -> Vec<u64> {
    let txn = env.read().expect("a snapshot");
    let t = txn.open_table(&T).expect("no error").expect("the table");
    t.iter(&txn).expect("no error").map(|record| record.expect("a record").0).collect()
}

/// Opens what the disk may hold if the power is cut now: all that was written before the last flush
/// ended, and any of the later writes.
fn after_power_loss(disk: &SimDisk) -> Env {
    let events = disk.events();
    let flushed = events.iter().rposition(|event| *event == Event::Sync).unwrap_or(0);
    let all = thread_rng().gen_bool(0.5);
    let mut image = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Write { offset, bytes } => {
                if at < flushed || all || thread_rng().gen_bool(0.5) {
                    image[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
                }
            }
            Event::Grow { to, .. } | Event::Shrink { to, .. } => image.resize(*to as usize, 0),
            Event::Sync | Event::SyncLost => {}
            Event::JournalMade { .. } | Event::JournalWrite { .. } | Event::JournalSync => {
                panic!("the models have no journal")
            }
        }
    }
    let env = open(&disk.after_crash(&image, false).expect("memory"));
    assert!(env.check().expect("a check").is_clean(), "damage after a power loss");
    env
}

/// P3, P4, P9: threads of one client and another client commit, each in its way; one flush serves
/// all that wait, and every acknowledged commit is on the disk.
#[test]
fn shuttle_group_commit() {
    model(|| {
        let (disk, first) = machine();
        let second = open(&disk);
        let clients = [first.clone(), first, second];
        let threads = [1, 2, 3].map(|n: u64| {
            let (env, disk) = (clients[n as usize - 1].clone(), disk.clone());
            thread::spawn(move || {
                put_durably(&env, 10 * n);
                put_durably(&env, 10 * n + 1);
                let kept = keys(&after_power_loss(&disk));
                let acknowledged = [10 * n, 10 * n + 1].iter().all(|key| kept.contains(key));
                assert!(acknowledged, "{n}: only {kept:?} after a power loss");
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
        assert_eq!(keys(&clients[2]), [0, 10, 11, 20, 21, 30, 31]);
        assert_eq!(clients[0].sync().expect("a flush"), clients[2].durable_id());
        assert!(clients[2].check().expect("a check").is_clean());
    });
}

/// Puts the value under three keys.
fn write(env: &Env, value: u64) {
    let mut txn = env.write().expect("a transaction");
    let t = txn.create_table(&T).expect("a table");
    for key in 0..3 {
        t.put(&mut txn, key, &value.to_le_bytes()).expect("a put");
    }
    txn.commit_with(Durability::Lazy).expect("a commit");
}

/// Reads what [`write`] has written, twice.
fn read_whole_snapshots(env: &Env) {
    let mut last = 0;
    for _ in 0..2 {
        let txn = env.read().expect("a snapshot");
        let t = txn.open_table(&T).expect("no error").expect("the table");
        let value = |key| t.get(&txn, key).expect("a page").expect("a record");
        let values = [value(0), value(1), value(2)];
        assert_eq!([values[0]; 3], values, "a torn snapshot");
        let value = u64::from_le_bytes(values[0].try_into().expect("8 bytes"));
        assert!(value >= last, "time went back");
        last = value;
    }
}

/// P10 to P14: readers of several clients pin snapshots while a writer reuses pages and a flusher
/// moves the durable one. There are more readers than slots at first.
#[test]
fn shuttle_readers_and_reuse() {
    model(|| {
        let (disk, writer) = machine();
        write(&writer, 1);
        let flusher = open(&disk);
        let clients = [open(&disk), open(&disk), writer.clone()];
        let readers = clients.map(|env| thread::spawn(move || read_whole_snapshots(&env)));
        let flushing = thread::spawn(move || flusher.sync().expect("a flush"));
        for value in 2..6 {
            write(&writer, value);
            if thread_rng().gen_ratio(1, 8) {
                after_power_loss(&disk);
            }
        }
        readers.into_iter().for_each(|reader| reader.join().expect("a reader ends"));
        flushing.join().expect("the flusher ends");
        assert!(writer.check().expect("a check").is_clean());
    });
}

/// R1 to R6: guests come and read while a writer reuses pages; the last client leaves or dies, and
/// the next one goes on beside those that are left.
#[test]
fn shuttle_guests_and_reuse() {
    model(|| {
        let (disk, writer) = machine();
        write(&writer, 1);
        let guests = [(); 2].map(|()| {
            let disk = disk.clone();
            thread::spawn(move || {
                let guest = options().open_simulated_to_read(&disk).expect("a guest");
                read_whole_snapshots(&guest);
            })
        });
        (2..5).for_each(|value| write(&writer, value));
        if thread_rng().gen_bool(0.5) {
            writer.close().expect("a flush");
        } else {
            writer.close_without_flush();
        }
        let heir = open(&disk);
        (5..7).for_each(|value| write(&heir, value));
        guests.into_iter().for_each(|guest| guest.join().expect("a guest ends"));
        assert!(heir.check().expect("a check").is_clean());
        assert_eq!(heir.info().expect("readers").readers.len(), 0);
    });
}

/// P7, P8: the writer of one client writes pages and aborts while that of another commits and
/// flushes.
#[test]
fn shuttle_aborts_and_commits() {
    model(|| {
        let (disk, second) = machine();
        let first =
            options().write_buffer_bytes(1024).open_simulated(&disk).expect("an environment");
        let aborting = thread::spawn(move || {
            for round in 0..3 {
                let mut txn = first.write().expect("a transaction");
                let t = txn.create_table(&T).expect("a table");
                (100..125).for_each(|key| {
                    t.put(&mut txn, key, &[round; 40]).expect("a put");
                });
                drop(txn);
                after_power_loss(&disk);
            }
            first
        });
        (1..4).for_each(|key| put_durably(&second, key));
        let first = aborting.join().expect("a thread ends");
        assert_eq!(keys(&first), [0, 1, 2, 3]);
        assert!(first.check().expect("a check").is_clean());
    });
}

/// V1, V2: clients that wait for a commit hear of it, whichever way it became visible and however
/// many others wait or commit. A lost wake is a deadlock.
#[test]
fn shuttle_waiting_threads_hear_of_a_commit() {
    model(|| {
        let (disk, env) = machine();
        let start = env.read().expect("a snapshot").id();
        let waiting = [env.clone(), open(&disk)].map(|env| {
            thread::spawn(move || {
                let mut seen = start;
                // There are three commits, and each may be the last that is heard of.
                while seen < start + 3 {
                    let newest = env.wait_for_commit(seen, Duration::MAX).expect("no error");
                    let newest = newest.expect("there is no end to the wait");
                    assert!(newest > seen, "{newest} is no news after {seen}");
                    let found = env.read().expect("a snapshot").id();
                    assert!(found >= newest, "{newest} was told, and {found} is what is seen");
                    seen = newest;
                }
                env
            })
        });
        let second = open(&disk);
        let other = thread::spawn(move || {
            put(&second, 1, 1, Durability::Lazy);
            second
        });
        put_durably(&env, 2);
        // Nothing is closed before the end: the flush of a close would wake a client that slept on.
        let _second = other.join().expect("a thread ends");
        put(&env, 3, 3, Durability::Unsynced);
        let _waited = waiting.map(|thread| thread.join().expect("a thread ends"));
    });
}

/// A thread that is to be killed: its handle of the lock file, at how many points from now, and how
/// it learns that it is buried. Not by parking: Shuttle wakes parked threads now and then, and the
/// dead must not rise.
struct Doom {
    shared: Arc<RealShared>,
    points: u32,
    burial: mpsc::Receiver<()>,
}

shuttle::thread_local! {
    static DOOM: RefCell<Option<Doom>> = RefCell::new(None);
}

/// Makes threads with a doom die at points: they hold nothing that the kernel frees any more, and
/// do not run again before another thread buries them.
fn install() {
    on_points(|_: Point| {
        let dead = DOOM.with(|doom| {
            let mut doom = doom.borrow_mut();
            doom.as_mut()?.points -= 1;
            doom.take_if(|doom| doom.points == 0)
        });
        if let Some(Doom { shared, burial, .. }) = dead {
            shared.kill();
            burial.recv().expect("another thread buries it");
            resume_unwind(Box::new("buried"));
        }
    });
}

/// P1, P2, P4: a client is killed somewhere in its commits; two others take over what it had and
/// finish what it began.
#[test]
fn shuttle_the_dead_are_succeeded() {
    model(|| {
        let (disk, _first) = machine();
        let shared = Arc::new(disk.shared());
        let files = open::OpenFiles {
            storage: disk.storage(),
            shared: shared.clone(),
            private: false,
            journal: None,
        };
        let opened = open::open(files, &options()).expect("an environment");
        let nowhere = std::path::Path::new("");
        let doomed = Env::from_opened(opened, nowhere, nowhere, &options()).unwrap();
        let clients = [open(&disk), open(&disk)];
        let (bury, burial) = mpsc::channel();
        let doomed = thread::spawn(move || {
            let points = thread_rng().gen_range(1..60);
            DOOM.with(|doom| *doom.borrow_mut() = Some(Doom { shared, points, burial }));
            let life = catch_unwind(AssertUnwindSafe(|| {
                let _pin = doomed.read().expect("a snapshot");
                (100..).for_each(|key| put_durably(&doomed, key));
            }));
            assert!(life.is_err_and(|end| end.is::<&str>()), "it died of something else");
        });
        let threads = [1, 2].map(|n: u64| {
            let (mut env, disk) = (clients[n as usize - 1].clone(), disk.clone());
            thread::spawn(move || {
                put_durably(&env, n);
                if n == 1 {
                    // As a new client, with the number of a dead one if there is any.
                    env = open(&disk);
                }
                put_durably(&env, n + 10);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("a living client ends"));
        let found = if thread_rng().gen_bool(0.5) {
            keys(&after_power_loss(&disk))
        } else {
            keys(&clients[0])
        };
        assert!([0, 1, 2, 11, 12].iter().all(|key| found.contains(key)), "{found:?}");
        assert!(clients[1].check().expect("a check").is_clean());
        bury.send(()).expect("it waits, or will");
        doomed.join().expect("the dead are buried");
    });
}
