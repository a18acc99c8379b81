//! A job queue that any number of processes share, with leases and retries.
//!
//! ```text
//! queue jobs.huon add "resize cat.png" "resize dog.png"
//! queue jobs.huon work        # as many of these as you like
//! queue jobs.huon list
//! ```
//!
//! A worker leases a job, so that no other takes it, and commits. When the job is done it removes
//! it. A worker that dies leaves a lease that runs out: the job is then ready again, and after
//! three tries it is put aside. Idle workers sleep until somebody commits: nothing polls.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use huon::{Env, Result, Str, Table, TableDef, U32, U64, Unit, WriteTxn};

/// What is to be done, by number.
const JOBS: TableDef<U64, Str> = TableDef::new("jobs");
/// How often a job was begun.
const TRIES: TableDef<U64, U32> = TableDef::new("tries");
/// Jobs that nobody works on, in the order in which they came.
const READY: TableDef<U64, Unit> = TableDef::new("ready");
/// When leases run out, in milliseconds since 1970, and of which jobs.
const LEASES: TableDef<(U64, U64), Unit> = TableDef::new("leases");
/// Jobs that were begun too often.
const FAILED: TableDef<U64, Str> = TableDef::new("failed");

const TRIES_MAX: u32 = 3;

#[derive(Clone, Copy)]
struct Queue {
    jobs: Table<U64, Str>,
    tries: Table<U64, U32>,
    ready: Table<U64, Unit>,
    leases: Table<(U64, U64), Unit>,
    failed: Table<U64, Str>,
}

/// A job that this process may work on until its lease runs out.
struct Leased {
    number: u64,
    until: u64,
    what: String,
}

impl Queue {
    fn open(env: &Env) -> Result<Queue> {
        env.update(|txn| {
            Ok(Queue {
                jobs: txn.create_table(&JOBS)?,
                tries: txn.create_table(&TRIES)?,
                ready: txn.create_table(&READY)?,
                leases: txn.create_table(&LEASES)?,
                failed: txn.create_table(&FAILED)?,
            })
        })
    }

    fn add(&self, txn: &mut WriteTxn, what: &str) -> Result<u64> {
        let number = self.jobs.take_sequence(txn, 1)?;
        self.jobs.append(txn, number, what)?;
        self.ready.put(txn, number, ())?;
        Ok(number)
    }

    /// Makes jobs ready again whose leases have run out.
    fn expire(&self, txn: &mut WriteTxn, now: u64) -> Result<()> {
        while let Some(((until, number), ())) = self.leases.first(txn)? {
            if until > now {
                break;
            }
            self.leases.remove(txn, (until, number))?;
            if self.tries.get(txn, number)?.unwrap_or(0) < TRIES_MAX {
                self.ready.put(txn, number, ())?;
                continue;
            }
            self.tries.remove(txn, number)?;
            if let Some(what) = self.jobs.take(txn, number)? {
                self.failed.put(txn, number, what.get()?)?;
            }
        }
        Ok(())
    }

    /// Leases the oldest job that is ready.
    fn lease(&self, txn: &mut WriteTxn, now: u64, time: Duration) -> Result<Option<Leased>> {
        self.expire(txn, now)?;
        let Some((number, ())) = self.ready.first(txn)? else { return Ok(None) };
        self.ready.remove(txn, number)?;
        let until = now + time.as_millis() as u64;
        self.leases.put(txn, (until, number), ())?;
        let tries = self.tries.get(txn, number)?.unwrap_or(0);
        self.tries.put(txn, number, tries + 1)?;
        let what = self.jobs.get(txn, number)?.expect("a ready job is a job").to_owned();
        Ok(Some(Leased { number, until, what }))
    }

    /// The job is done. `false`: the lease had run out, and somebody else may have it by now.
    fn finish(&self, txn: &mut WriteTxn, job: &Leased) -> Result<bool> {
        if !self.leases.remove(txn, (job.until, job.number))? {
            return Ok(false);
        }
        self.tries.remove(txn, job.number)?;
        self.jobs.remove(txn, job.number)
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// Works until the queue is empty, or for ever.
fn work(env: &Env, queue: Queue, lease: Duration, until_empty: bool) -> Result<()> {
    loop {
        // Read before the look: a commit after it ends the sleep.
        let seen = env.read()?.id();
        if let Some(job) = env.update(|txn| queue.lease(txn, now_ms(), lease))? {
            println!("{} begun: {}", job.number, job.what);
            run(&job.what);
            let in_time = env.update(|txn| queue.finish(txn, &job))?;
            println!("{} {}", job.number, if in_time { "done" } else { "done too late" });
            continue;
        }
        let next = env.view(|txn| queue.leases.first(txn).map(|first| first.map(|((t, _), ())| t)))?;
        match next {
            None if until_empty => return Ok(()),
            next => {
                let nap = next.map_or(u64::MAX, |until| until.saturating_sub(now_ms()).max(1));
                env.wait_for_commit(seen.max(env.read()?.id()), Duration::from_millis(nap))?;
            }
        }
    }
}

/// The work itself: `sleep N` takes so many milliseconds, anything else none.
fn run(what: &str) {
    if let Some(time) = what.strip_prefix("sleep ").and_then(|time| time.parse().ok()) {
        std::thread::sleep(Duration::from_millis(time));
    }
}

fn list(env: &Env, queue: Queue) -> Result<()> {
    env.view(|txn| {
        for job in queue.jobs.iter(txn)? {
            let (number, what) = job?;
            let ready = queue.ready.contains(txn, number)?;
            let tries = queue.tries.get(txn, number)?.unwrap_or(0);
            println!("{number} {} tries {tries}: {what}", if ready { "ready" } else { "leased" });
        }
        for job in queue.failed.iter(txn)? {
            let (number, what) = job?;
            println!("{number} failed: {what}");
        }
        Ok(())
    })
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (path, order) = words.split_first().ok_or("usage: queue FILE add TEXT.. | work | drain | list")?;
    let env = Env::open(path)?;
    let queue = Queue::open(&env)?;
    match order {
        ["add", texts @ ..] => env.update(|txn| {
            texts.iter().try_for_each(|text| queue.add(txn, text).map(drop))
        })?,
        ["work"] => work(&env, queue, Duration::from_secs(30), false)?,
        ["drain", lease_ms] => {
            work(&env, queue, Duration::from_millis(lease_ms.parse()?), true)?;
        }
        ["list"] => list(&env, queue)?,
        _ => return Err("usage: queue FILE add TEXT.. | work | drain LEASE_MS | list".into()),
    }
    Ok(())
}
