//! Random lookups in Huon and in LMDB, in one process and one run; and one-put commits of Huon.
//!
//! Both engines hold the same records; repeats alternate between them, so that what the machine
//! does meanwhile meets both. A figure is the median of the repeats, with the fastest and slowest.

#[cfg(feature = "huon")]
mod commits;
#[cfg(feature = "huon")]
mod huon_store;
mod lmdb;
mod store;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Parser, Subcommand};
use store::{Key, Result, Store};

#[derive(Parser)]
#[command(name = "huon-bench", about = "Compare random lookups with LMDB, or measure commits")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    get: Args,
}

#[derive(Subcommand)]
enum Command {
    /// One-put commits by threads and by processes
    #[cfg(feature = "huon")]
    Commits(commits::Commits),
    #[cfg(feature = "huon")]
    #[command(hide = true)]
    CommitWorker(commits::Worker),
}

#[derive(clap::Args)]
struct Args {
    /// Numbers of records
    #[arg(long, value_delimiter = ',', default_value = "1000000,10000000")]
    records: Vec<usize>,
    /// Lookups per repeat
    #[arg(long, default_value_t = 1_000_000)]
    reads: usize,
    /// Repeats per engine
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Records per transaction while loading
    #[arg(long, default_value_t = 1000)]
    batch: usize,
    /// Seed of keys and lookups
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the files are made, and removed at the end; some 4 GiB for 10 M records
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    match cli.command {
        #[cfg(feature = "huon")]
        Some(Command::Commits(args)) => commits::run(&args),
        #[cfg(feature = "huon")]
        Some(Command::CommitWorker(worker)) => commits::work(&worker),
        None => get(&cli.get),
    }
}

fn get(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    println!(
        "random get: {}-byte keys, {}-byte values, one read transaction, {} lookups a repeat",
        store::KEY_BYTES,
        store::VALUE_BYTES,
        args.reads
    );
    println!("ns per lookup: median of {} [fastest-slowest]; ratio: LMDB's time / its time\n", {
        args.repeats
    });
    println!("{:<22} {:>6} {:>7} {:>7}  {:<18} {:>5}", "", "", "load s", "MiB", "get ns", "ratio");
    for &records in &args.records {
        let mut keys = store::keys(records, args.seed);
        compare(args, "random load", &keys)?;
        keys.sort_unstable();
        compare(args, "sequential load", &keys)?;
    }
    Ok(())
}

/// One engine in one comparison.
struct Entry {
    store: Box<dyn Store>,
    path: PathBuf,
    load_seconds: f64,
    lookup_ns: Vec<f64>,
}

/// Loads `keys` in their order into each engine, measures, and prints a row for each.
fn compare(args: &Args, shape: &str, keys: &[Key]) -> Result<()> {
    let dir = tempfile::tempdir_in(&args.dir)?;
    let mut entries = Vec::new();
    for (store, path) in stores(dir.path())? {
        entries.push(load(store, path, keys, args.batch)?);
    }
    let mut rng = fastrand::Rng::with_seed(args.seed ^ 0x5eed);
    let wanted: Vec<Key> = (0..args.reads).map(|_| keys[rng.usize(..keys.len())]).collect();
    let expected = store::expected(&wanted);
    // The first round warms up and is not counted.
    for round in 0..=args.repeats {
        for entry in &mut entries {
            let started = Instant::now();
            let sum = entry.store.get_all(&wanted)?;
            let ns = started.elapsed().as_secs_f64() * 1e9 / args.reads as f64;
            if sum != expected {
                return Err(format!("{} gave wrong values", entry.store.name()).into());
            }
            if round > 0 {
                entry.lookup_ns.push(ns);
            }
        }
    }
    print_rows(shape, keys.len(), &mut entries)
}

/// Every engine, each with a new file in `dir`; LMDB first.
fn stores(dir: &Path) -> Result<Vec<(Box<dyn Store>, PathBuf)>> {
    let path = dir.join("bench.lmdb");
    let lmdb: Box<dyn Store> = Box::new(lmdb::Lmdb::create(&path)?);
    #[cfg_attr(not(feature = "huon"), allow(unused_mut))]
    let mut stores = vec![(lmdb, path)];
    #[cfg(feature = "huon")]
    {
        let path = dir.join("bench.huon");
        stores.push((Box::new(huon_store::Huon::create(&path)?), path));
    }
    Ok(stores)
}

fn load(mut store: Box<dyn Store>, path: PathBuf, keys: &[Key], batch: usize) -> Result<Entry> {
    let started = Instant::now();
    for keys in keys.chunks(batch.max(1)) {
        store.put_all(keys)?;
    }
    let load_seconds = started.elapsed().as_secs_f64();
    Ok(Entry { store, path, load_seconds, lookup_ns: Vec::new() })
}

fn print_rows(shape: &str, records: usize, entries: &mut [Entry]) -> Result<()> {
    let mut lmdb_ns = None;
    for entry in entries {
        entry.lookup_ns.sort_by(f64::total_cmp);
        let (times, name) = (&entry.lookup_ns, entry.store.name());
        let median = times[times.len() / 2];
        let ratio = *lmdb_ns.get_or_insert(median) / median;
        let spread = format!("{median:.0} [{:.0}-{:.0}]", times[0], times[times.len() - 1]);
        let mib = std::fs::metadata(&entry.path)?.len() >> 20;
        println!(
            "{:<22} {name:>6} {:>7.1} {mib:>7}  {spread:<18} {ratio:>5.2}",
            format!("{} {shape}", count(records)),
            entry.load_seconds,
        );
    }
    Ok(())
}

/// `10 M` for ten million.
fn count(records: usize) -> String {
    match records {
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{} M", n / 1_000_000),
        n if n >= 1000 && n.is_multiple_of(1000) => format!("{} k", n / 1000),
        n => n.to_string(),
    }
}
