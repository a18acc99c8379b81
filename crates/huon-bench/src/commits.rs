//! One-put commits: how much group commit gives, in threads and in processes.
//!
//! Each cell runs for a second or so in a file of its own; rounds alternate between the cells, so
//! that what the disk does meanwhile meets all. Values always change.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use huon::{Bytes, Durability, Env, TableDef, U64};

use crate::engine::Result;

const T: TableDef<U64, Bytes> = TableDef::new("t");
/// Length of a value.
const VALUE_BYTES: usize = 100;
/// Records that the puts go to.
const RECORDS: u64 = 100_000;

#[derive(Args)]
pub(crate) struct Commits {
    /// Seconds per cell and round
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Rounds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Only cells whose name has this in it
    #[arg(long, default_value = "")]
    only: String,
    /// Where the files are made, and removed at the end
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

#[derive(Args)]
pub(crate) struct Worker {
    path: PathBuf,
    seconds: f64,
    mode: Mode,
    /// The number of the first commit.
    first: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Durable,
    /// Durable by a journal.
    Journal,
    NoMetaSync,
    Lazy,
    Unsynced,
    /// Lazy, with a checkpoint each 4 MiB.
    LazyFlushed,
}

impl Mode {
    fn open(self, path: &Path) -> Result<Env> {
        let durability = match self {
            Mode::Durable | Mode::Journal => Durability::Durable,
            Mode::NoMetaSync => Durability::NoMetaSync,
            Mode::Lazy | Mode::LazyFlushed => Durability::Lazy,
            Mode::Unsynced => Durability::Unsynced,
        };
        let mut options = Env::options();
        if self == Mode::LazyFlushed {
            options.flush_after_bytes(4 << 20);
        }
        if self == Mode::Journal {
            options.journal(huon::limits::JOURNAL_BYTES_USUAL);
        }
        Ok(options.durability(durability).open(path)?)
    }
}

/// What is measured: so many processes with so many threads each.
struct Cell {
    name: &'static str,
    mode: Mode,
    processes: usize,
    threads: usize,
    per_second: Vec<f64>,
    flushes_per_commit: Vec<f64>,
}

fn cells() -> Vec<Cell> {
    let cell = |name, mode, processes, threads| Cell {
        name,
        mode,
        processes,
        threads,
        per_second: Vec::new(),
        flushes_per_commit: Vec::new(),
    };
    vec![
        cell("durable, 1 thread", Mode::Durable, 1, 1),
        cell("durable, 2 threads", Mode::Durable, 1, 2),
        cell("durable, 4 threads", Mode::Durable, 1, 4),
        cell("durable, 8 threads", Mode::Durable, 1, 8),
        cell("durable, 2 processes", Mode::Durable, 2, 1),
        cell("durable, 4 processes", Mode::Durable, 4, 1),
        cell("journal, 1 thread", Mode::Journal, 1, 1),
        cell("journal, 2 threads", Mode::Journal, 1, 2),
        cell("journal, 4 threads", Mode::Journal, 1, 4),
        cell("journal, 8 threads", Mode::Journal, 1, 8),
        cell("journal, 2 processes", Mode::Journal, 2, 1),
        cell("journal, 4 processes", Mode::Journal, 4, 1),
        cell("no-meta-sync, 1 thread", Mode::NoMetaSync, 1, 1),
        cell("lazy, 1 thread", Mode::Lazy, 1, 1),
        cell("lazy, 8 threads", Mode::Lazy, 1, 8),
        cell("lazy, 4 processes", Mode::Lazy, 4, 1),
        cell("lazy, checkpoint each 4 MiB", Mode::LazyFlushed, 1, 1),
        cell("unsynced, 1 thread", Mode::Unsynced, 1, 1),
    ]
}

/// Commits and flushes of a run.
#[derive(Clone, Copy, Default)]
struct Done {
    commits: u64,
    flushes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Commits) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    let dir = tempfile::tempdir_in(&args.dir)?;
    let mut cells = cells();
    cells.retain(|cell| cell.name.contains(&args.only));
    for (at, cell) in cells.iter().enumerate() {
        prepare(&file(dir.path(), at), cell.mode)?;
    }
    // The first round warms up and is not counted.
    for round in 0..=args.repeats {
        for (at, cell) in cells.iter_mut().enumerate() {
            let done = measure(cell, round, &file(dir.path(), at), args.seconds)?;
            if round > 0 {
                cell.per_second.push(done.commits as f64 / done.seconds);
                cell.flushes_per_commit.push(done.flushes as f64 / done.commits.max(1) as f64);
            }
        }
    }
    print(args, &mut cells);
    Ok(())
}

/// Flushes of both files.
fn flushes(env: &Env) -> Result<u64> {
    let io = env.info()?.io;
    Ok(io.flushes + io.journal_flushes)
}

fn file(dir: &Path, at: usize) -> PathBuf {
    dir.join(format!("{at}.huon"))
}

fn prepare(path: &Path, mode: Mode) -> Result<()> {
    let env = mode.open(path)?;
    let mut txn = env.write()?;
    let t = txn.create_table(&T)?;
    for key in 0..RECORDS {
        t.put(&mut txn, key, &[0; VALUE_BYTES])?;
    }
    txn.commit()?;
    env.sync()?;
    Ok(())
}

fn measure(cell: &Cell, round: u32, path: &Path, seconds: f64) -> Result<Done> {
    if cell.processes == 1 {
        return in_threads(cell.mode, round, path, cell.threads, seconds);
    }
    let mut children = Vec::new();
    for number in 0..cell.processes {
        children.push(spawn(cell.mode, path, seconds, first_number(round, number as u64))?);
    }
    // All have opened: now they start together.
    for child in &mut children {
        child.stdin.take().ok_or("no pipe")?.write_all(b"go\n")?;
    }
    let mut sum = Done::default();
    for child in children {
        let output = child.wait_with_output()?;
        let text = String::from_utf8(output.stdout)?;
        let numbers: Vec<f64> =
            text.lines().skip(1).flat_map(str::split_whitespace).flat_map(str::parse).collect();
        let [commits, flushes, seconds] = numbers[..] else {
            return Err(format!("a worker said {text:?}").into());
        };
        sum.commits += commits as u64;
        sum.flushes += flushes as u64;
        sum.seconds = sum.seconds.max(seconds);
    }
    Ok(sum)
}

fn spawn(mode: Mode, path: &Path, seconds: f64, first: u64) -> Result<Child> {
    let name = mode.to_possible_value().ok_or("no name")?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg("commit-worker")
        .arg(path)
        .args([seconds.to_string(), name.get_name().to_owned(), first.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // The line that says that it is ready is read byte by byte, so that no more of it is taken.
    let mut ready = String::new();
    let stdout = child.stdout.take().ok_or("no pipe")?;
    let mut reader = BufReader::with_capacity(1, stdout);
    reader.read_line(&mut ready)?;
    child.stdout = Some(reader.into_inner());
    Ok(child)
}

/// The body of a worker process.
pub(crate) fn work(worker: &Worker) -> Result<()> {
    let env = worker.mode.open(&worker.path)?;
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    let before = flushes(&env)?;
    let started = Instant::now();
    let deadline = started + Duration::from_secs_f64(worker.seconds);
    let mut commits = 0;
    while Instant::now() < deadline {
        put(&env, worker.first + commits)?;
        commits += 1;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("\n{commits} {} {seconds}", flushes(&env)? - before);
    Ok(())
}

fn in_threads(mode: Mode, round: u32, path: &Path, threads: usize, seconds: f64) -> Result<Done> {
    let env = mode.open(path)?;
    let before = flushes(&env)?;
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let (commits, seconds) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|number| {
                let (env, stop, start) = (&env, &stop, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut commits = 0;
                    while !stop.load(Ordering::Relaxed) {
                        put(env, first_number(round, number) + commits)
                            .map_err(|e| e.to_string())?;
                        commits += 1;
                    }
                    Ok::<u64, String>(commits)
                })
            })
            .collect();
        start.wait();
        let started = Instant::now();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        let mut commits = 0;
        for worker in workers {
            commits += worker.join().map_err(|_| "a worker panicked")??;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((
            commits,
            started.elapsed().as_secs_f64(),
        ))
    })?;
    Ok(Done { commits, flushes: flushes(&env)? - before, seconds })
}

/// Commits are numbered apart by rounds and workers: a value that is there already is no work.
fn first_number(round: u32, worker: u64) -> u64 {
    (u64::from(round) << 8 | worker) << 32
}

/// One commit of one put; the value is another each time.
fn put(env: &Env, number: u64) -> Result<()> {
    let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % RECORDS;
    let mut value = [0; VALUE_BYTES];
    value[..8].copy_from_slice(&number.to_le_bytes());
    let mut txn = env.write()?;
    let t = txn.open_table(&T)?.ok_or("the table is gone")?;
    t.put(&mut txn, key, &value)?;
    txn.commit()?;
    Ok(())
}

fn print(args: &Commits, cells: &mut [Cell]) {
    println!(
        "one-put commits, {VALUE_BYTES}-byte values, {RECORDS} records; {} s a cell, median of {} \
         [slowest-fastest]\n",
        args.seconds, args.repeats
    );
    println!("{:<30} {:>26} {:>7} {:>15}", "", "commits/s", "ratio", "flushes/commit");
    let mut first = None;
    for cell in cells {
        cell.per_second.sort_by(f64::total_cmp);
        cell.flushes_per_commit.sort_by(f64::total_cmp);
        let (rates, middle) = (&cell.per_second, cell.per_second.len() / 2);
        let median = rates[middle];
        let ratio = median / *first.get_or_insert(median);
        let spread = format!("{median:.0} [{:.0}-{:.0}]", rates[0], rates[rates.len() - 1]);
        let flushes = cell.flushes_per_commit[middle];
        println!("{:<30} {spread:>26} {ratio:>7.2} {flushes:>15.3}", cell.name);
    }
}
