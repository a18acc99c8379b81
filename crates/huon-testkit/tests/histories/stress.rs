//! Threads and clients of one process on one real file, all at once: what sanitizers look at.
//!
//! Every value can be told by its key and its first bytes, and each commit moves an amount between
//! records and keeps their sum: a reader that sees another sum has seen a torn snapshot. A multimap
//! lists the records by their rough amounts, and is right in each snapshot.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use huon::{Bytes, Durability, Env, MultiDef, ReadTxn, TableDef, U64, WriteTxn};
use huon_testkit::audit::audit;
use huon_testkit::random::Random;
use huon_testkit::{figures, scale};

const ACCOUNTS: TableDef<U64, U64> = TableDef::new("accounts");
const BLOBS: TableDef<U64, Bytes> = TableDef::new("blobs");
/// Accounts by what they hold, in steps of [`STEP`]: most are in few steps, which need trees.
const HOLDERS: MultiDef<U64, U64> = MultiDef::new("holders");
const STEP: u64 = 1000;
const ACCOUNTS_COUNT: u64 = 200;
const BLOBS_COUNT: u64 = 300;
const SUM: u64 = 1000 * ACCOUNTS_COUNT;
const WRITERS: u64 = 2;
/// Transactions of each writer, in a proof.
const FULL: u64 = 20_000;

fn blob(key: u64, seed: u64) -> Vec<u8> {
    let mut random = Random::new(key ^ seed.rotate_left(32));
    let bytes = match random.below(8) {
        0 => 4 * 4096,
        1 => 2000,
        _ => random.index(120),
    };
    let mut value = seed.to_le_bytes().to_vec();
    value.extend((0..bytes).map(|_| random.next() as u8));
    value
}

fn assert_blob(key: u64, value: &[u8]) {
    let (seed, _) = value.split_first_chunk().expect("a seed");
    assert!(value == blob(key, u64::from_le_bytes(*seed)), "blob {key} is not what was put");
}

fn open(path: &Path, page_bytes: usize) -> Env {
    let mut options = Env::options();
    options.page_bytes(page_bytes).max_bytes(64 << 20).write_buffer_bytes(64 << 10);
    options.open(path).expect("an environment")
}

fn fill(env: &Env) {
    let mut txn = env.write().expect("a transaction");
    let accounts = txn.create_table(&ACCOUNTS).expect("a table");
    for key in 0..ACCOUNTS_COUNT {
        accounts.put(&mut txn, key, 1000).expect("a put");
    }
    let holders = txn.create_table(&HOLDERS).expect("a multimap");
    for key in 0..ACCOUNTS_COUNT {
        holders.put(&mut txn, 1000 / STEP, key).expect("a put");
    }
    txn.create_table(&BLOBS).expect("a table");
    txn.commit().expect("a commit");
}

/// Moves an amount from one account to another.
fn transfer(txn: &mut WriteTxn, random: &mut Random) -> huon::Result<()> {
    let accounts = txn.create_table(&ACCOUNTS)?;
    let (from, to) = (random.below(ACCOUNTS_COUNT), random.below(ACCOUNTS_COUNT));
    let held = accounts.get(txn, from)?.expect("an account");
    let amount = random.below(held + 1);
    hold(txn, from, held, held - amount)?;
    let held = accounts.get(txn, to)?.expect("an account");
    hold(txn, to, held, held + amount)
}

/// Notes in both tables what an account holds.
fn hold(txn: &mut WriteTxn, account: u64, before: u64, now: u64) -> huon::Result<()> {
    txn.create_table(&ACCOUNTS)?.put(txn, account, now)?;
    let holders = txn.create_table(&HOLDERS)?;
    assert!(holders.remove(txn, before / STEP, account)?, "account {account} was there");
    assert!(holders.put(txn, now / STEP, account)?, "account {account} is new there");
    Ok(())
}

fn change_blobs(txn: &mut WriteTxn, random: &mut Random) -> huon::Result<()> {
    let blobs = txn.create_table(&BLOBS)?;
    for _ in 0..random.below(12) {
        let key = random.below(BLOBS_COUNT);
        let value = blob(key, random.next());
        match random.below(8) {
            0 | 1 => drop(blobs.remove(txn, key)?),
            2 => blobs.reserve(txn, key, value.len(), |place| place.copy_from_slice(&value))?,
            3 if random.chance(10) => drop(blobs.remove_range(txn, key..key + 40)?),
            4 => drop(blobs.take(txn, key)?),
            _ => drop(blobs.put(txn, key, &value)?),
        }
    }
    // A scan beside changes of the very table.
    let mut scan = blobs.cursor();
    scan.seek(random.below(BLOBS_COUNT)).unwrap();
    while let Some((key, value)) = scan.next(txn)? {
        assert_blob(key, value);
        if random.chance(20) {
            break;
        }
        blobs.remove(txn, key + 1)?;
    }
    Ok(())
}

fn write(env: &Env, seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        let mut txn = env.write().expect("a transaction");
        transfer(&mut txn, &mut random).expect("a transfer");
        let nested = txn.nested(|level| {
            change_blobs(level, &mut random)?;
            if random.chance(20) { Err(huon::Error::Invalid("undo")) } else { Ok(()) }
        });
        assert!(matches!(nested, Ok(()) | Err(huon::Error::Invalid("undo"))), "{nested:?}");
        let committed = match random.below(100) {
            0 => txn.commit().map(drop),
            1 => txn.commit_ticket().and_then(|ticket| ticket.wait()),
            2..=9 => {
                txn.abort();
                Ok(())
            }
            _ => txn.commit_with(Durability::Lazy).map(drop),
        };
        committed.expect("a commit");
    }
}

/// Looks at all that a snapshot shows, with slices that live as long as it.
fn look(txn: &ReadTxn, random: &mut Random) -> huon::Result<u64> {
    let accounts = txn.open_table(&ACCOUNTS)?.expect("a table");
    let held: Vec<u64> =
        accounts.iter(txn)?.map(|item| Ok(item?.1)).collect::<huon::Result<_>>()?;
    assert_eq!(held.iter().sum::<u64>(), SUM, "a torn snapshot");
    let holders = txn.open_table(&HOLDERS)?.expect("a multimap");
    let mut count = 0;
    for pair in holders.iter(txn)? {
        let (step, account) = pair?;
        assert_eq!(held[account as usize] / STEP, step, "account {account} is elsewhere");
        count += 1;
    }
    // No pair comes twice, and each account fits in one step: so all of them are there.
    assert_eq!(count, ACCOUNTS_COUNT);
    let blobs = txn.open_table(&BLOBS)?.expect("a table");
    let first = random.below(BLOBS_COUNT);
    let held: Vec<(u64, &[u8])> = blobs.range(txn, first..first + 60)?.collect::<Result<_, _>>()?;
    for item in blobs.range(txn, first..first + 60)?.rev() {
        let (key, value) = item?;
        assert_blob(key, value);
    }
    // What was got first is still what it was.
    held.iter().for_each(|(key, value)| assert_blob(*key, value));
    for (key, value) in &held {
        assert_eq!(blobs.get(txn, *key)?, Some(*value));
    }
    Ok(2 * ACCOUNTS_COUNT + 3 * held.len() as u64)
}

/// Runs all at once until the writers are done; returns how many records were looked at.
fn run(path: &Path, page_bytes: usize, rounds: u64) -> u64 {
    let clients = [open(path, page_bytes), open(path, page_bytes)];
    fill(&clients[0]);
    let (writing, looked) = (AtomicU64::new(WRITERS), AtomicU64::new(0));
    // A snapshot that goes from reader to reader, and is ended by another than began it.
    let passed: Mutex<Option<ReadTxn>> = Mutex::new(None);
    let read = |env: &Env, seed: u64| {
        let mut random = Random::new(seed);
        loop {
            let last = writing.load(Ordering::Acquire) == 0;
            let mut txn = env.read().expect("a snapshot");
            for _ in 0..3 {
                looked.fetch_add(look(&txn, &mut random).expect("a look"), Ordering::Relaxed);
                if let Some(other) = passed.lock().expect("no panic").replace(txn) {
                    txn = other;
                } else {
                    txn = env.read().expect("a snapshot");
                }
            }
            if last {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for (n, env) in (0..WRITERS).zip(clients.iter().cycle()) {
            let writing = &writing;
            scope.spawn(move || {
                write(env, scale::seed("stress", n), rounds);
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        for (n, env) in (10..13).zip(clients.iter().cycle()) {
            let read = &read;
            scope.spawn(move || read(env, scale::seed("stress", n)));
        }
        scope.spawn(|| {
            while writing.load(Ordering::Acquire) > 0 {
                // Comes, flushes for all, and leaves again.
                open(path, page_bytes).sync().expect("a flush");
                clients[0].flush_if_due().expect("a flush");
            }
        });
    });
    drop(passed);
    audit(&clients[1]).expect("a clean file");
    looked.load(Ordering::Relaxed)
}

#[test]
fn everything_at_once() {
    let until = scale::until();
    let mut looked = 0;
    loop {
        for page_bytes in [256, 4096] {
            let dir = tempfile::tempdir().expect("a directory");
            looked += run(&dir.path().join("stress.huon"), page_bytes, scale::share(FULL) / 2);
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    assert!(looked > 0, "the readers saw nothing");
    figures::add("model", looked);
}
