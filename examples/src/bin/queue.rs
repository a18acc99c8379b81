//! A job queue that any number of processes share, with leases and retries.
//!
//! ```text
//! cargo run -p huon-examples --bin queue -- jobs.huon add 'echo hello' 'sleep 1'
//! cargo run -p huon-examples --bin queue -- jobs.huon work    # as many of these as you like
//! cargo run -p huon-examples --bin queue -- jobs.huon list
//! ```
//!
//! A job is a command of the shell. A worker leases it for half a minute, runs it, and removes it.
//! A command that fails is ready again, and so is a job whose worker was killed, once its lease
//! has run out. After three tries a job is put aside. An idle worker sleeps until another process
//! commits: nothing polls.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use huon::{Env, ReadTxn, Str, Table, TableDef, U32, U64, Unit, WriteTxn};

/// The commands, by number.
const JOBS: TableDef<U64, Str> = TableDef::new("jobs");
/// Jobs that no worker has, and how often each was tried.
const READY: TableDef<U64, U32> = TableDef::new("ready");
/// Jobs that workers have, as (end of the lease, number): those that run out first at the front.
/// Times are milliseconds since 1970.
const LEASED: TableDef<(U64, U64), U32> = TableDef::new("leased");
/// Jobs that were tried too often.
const FAILED: TableDef<U64, Unit> = TableDef::new("failed");

const TRIES_MAX: u32 = 3;

#[derive(Clone, Copy)]
struct Queue {
    jobs: Table<U64, Str>,
    ready: Table<U64, U32>,
    leased: Table<(U64, U64), U32>,
    failed: Table<U64, Unit>,
}

/// A job that this process may work on until its lease runs out.
struct Lease {
    end: u64,
    number: u64,
    tries: u32,
    command: String,
}

impl Queue {
    fn create(txn: &mut WriteTxn) -> huon::Result<Queue> {
        Ok(Queue {
            jobs: txn.create_table(&JOBS)?,
            ready: txn.create_table(&READY)?,
            leased: txn.create_table(&LEASED)?,
            failed: txn.create_table(&FAILED)?,
        })
    }

    fn add(self, txn: &mut WriteTxn, command: &str) -> huon::Result<u64> {
        let number = self.jobs.take_sequence(txn, 1)?;
        self.jobs.append(txn, number, command)?;
        self.ready.put(txn, number, 0)?;
        Ok(number)
    }

    /// Leases the oldest job that is ready.
    fn lease(self, txn: &mut WriteTxn, now: u64, time: Duration) -> huon::Result<Option<Lease>> {
        self.expire(txn, now)?;
        let Some((number, tries)) = self.ready.pop_first(txn)? else { return Ok(None) };
        let (number, tries) = (number.get()?, tries.get()? + 1);
        let end = now + time.as_millis() as u64;
        self.leased.put(txn, (end, number), tries)?;
        let command = self.jobs.get(txn, number)?.unwrap_or_default().to_owned();
        Ok(Some(Lease { end, number, tries, command }))
    }

    /// Takes back the jobs whose leases have run out.
    fn expire(self, txn: &mut WriteTxn, now: u64) -> huon::Result<()> {
        while let Some(((end, number), tries)) = self.leased.first(txn)?
            && end <= now
        {
            self.leased.remove(txn, (end, number))?;
            self.put_back(txn, number, tries)?;
        }
        Ok(())
    }

    fn put_back(self, txn: &mut WriteTxn, number: u64, tries: u32) -> huon::Result<()> {
        if tries < TRIES_MAX {
            self.ready.put(txn, number, tries)?;
        } else {
            self.failed.put(txn, number, ())?;
        }
        Ok(())
    }

    /// Ends a lease. `false` if it had run out before: another worker may have the job by now.
    fn finish(self, txn: &mut WriteTxn, lease: &Lease, done: bool) -> huon::Result<bool> {
        if !self.leased.remove(txn, (lease.end, lease.number))? {
            return Ok(false);
        }
        if done {
            self.jobs.remove(txn, lease.number)?;
        } else {
            self.put_back(txn, lease.number, lease.tries)?;
        }
        Ok(true)
    }

    fn list(self, txn: &ReadTxn) -> huon::Result<()> {
        let show = |number, state| {
            let command = self.jobs.get(txn, number)?.unwrap_or_default();
            println!("{number} {state}: {command}");
            Ok(())
        };
        for job in self.ready.iter(txn)? {
            show(job?.0, "ready")?;
        }
        for job in self.leased.iter(txn)? {
            show(job?.0.1, "leased")?;
        }
        self.failed.iter(txn)?.try_for_each(|job| show(job?.0, "failed"))
    }
}

/// Does jobs as they come; to the last one only if `drain` says so.
fn work(env: &Env, queue: Queue, time: Duration, drain: bool) -> Result<(), Box<dyn Error>> {
    loop {
        // Taken before the look, so that no commit falls between the look and the sleep.
        let seen = env.read()?.id();
        if let Some(lease) = env.update(|txn| queue.lease(txn, now_ms(), time))? {
            println!("{} begun: {}", lease.number, lease.command);
            let done = Command::new("sh").args(["-c", &lease.command]).status()?.success();
            let in_time = env.update(|txn| queue.finish(txn, &lease, done))?;
            let end = match (in_time, done) {
                (true, true) => "done",
                (true, false) => "failed",
                (false, _) => "too late",
            };
            println!("{} {end}", lease.number);
            continue;
        }
        let next = env.view(|txn| Ok(queue.leased.first(txn)?.map(|((end, _), _)| end)))?;
        let sleep = match next {
            Some(end) => Duration::from_millis(end.saturating_sub(now_ms())),
            None if drain => return Ok(()),
            None => Duration::MAX,
        };
        env.wait_for_commit(seen, sleep)?;
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [path, command @ ..] = &args[..] else { return Err("queue FILE COMMAND ..".into()) };
    let env = Env::open(path)?;
    let queue = env.update(Queue::create)?;
    match command {
        ["add", jobs @ ..] => {
            env.update(|txn| jobs.iter().try_for_each(|job| queue.add(txn, job).map(drop)))?;
        }
        ["work"] => work(&env, queue, Duration::from_secs(30), false)?,
        ["drain", ms] => work(&env, queue, Duration::from_millis(ms.parse()?), true)?,
        ["list"] => env.view(|txn| queue.list(txn))?,
        _ => return Err("queue FILE add JOB.. | work | drain LEASE_MS | list".into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_runs_out_is_another_try() -> huon::Result<()> {
        let env = Env::in_memory()?;
        let mut txn = env.write()?;
        let queue = Queue::create(&mut txn)?;
        queue.add(&mut txn, "first")?;
        let second = Duration::from_secs(1);
        for now in [0, 1000, 2000] {
            let lease = queue.lease(&mut txn, now, second)?.expect("a job is ready");
            assert_eq!((lease.command.as_str(), lease.tries), ("first", 1 + now as u32 / 1000));
            assert!(queue.lease(&mut txn, now + 999, second)?.is_none(), "one worker has it");
            queue.expire(&mut txn, now + 1000)?;
            assert!(!queue.finish(&mut txn, &lease, true)?, "too late");
        }
        assert!(queue.lease(&mut txn, 3000, second)?.is_none());
        assert!(queue.failed.contains(&txn, 0)?);
        queue.add(&mut txn, "second")?;
        let lease = queue.lease(&mut txn, 3000, second)?.expect("a job is ready");
        assert!(queue.finish(&mut txn, &lease, true)?);
        assert_eq!(queue.jobs.len(&txn)?, 1, "the failed one");
        Ok(())
    }
}
