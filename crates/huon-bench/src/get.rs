//! The quick comparison: random lookups in LMDB and in Huon, in one process.
//!
//! Both hold the same records; repeats alternate between them, so that what the machine does
//! meanwhile meets both. A figure is the median of the repeats, with the fastest and slowest.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::data::{Data, Keys, Order};
use crate::engine::{Engine, Mode, Result, Setup, Visit, visit};
use crate::workload::{get_all, put_all};

const VALUE_BYTES: usize = 100;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Numbers of records
    #[arg(long, value_delimiter = ',', default_value = "1000000,10000000")]
    records: Vec<u32>,
    /// Lookups per repeat
    #[arg(long, default_value_t = 1_000_000)]
    reads: u32,
    /// Repeats per engine
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Records per transaction while loading
    #[arg(long, default_value_t = 1000)]
    batch: usize,
    /// Seed of the lookups
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the files are made, and removed at the end; some 4 GiB for 10 M records
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    println!(
        "random get: 16-byte keys, {VALUE_BYTES}-byte values, one read transaction, {} lookups a \
         repeat",
        args.reads
    );
    println!("ns per lookup: median of {} [fastest-slowest]; ratio: LMDB's time / its time\n", {
        args.repeats
    });
    println!("{:<22} {:>6} {:>7} {:>7}  {:<18} {:>5}", "", "", "load s", "MiB", "get ns", "ratio");
    for &records in &args.records {
        let data = Data::new(Keys::Random16, records, VALUE_BYTES);
        compare(args, "random load", &data, &data.shuffled(args.seed))?;
        compare(args, "sequential load", &data, &data.sorted())?;
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

/// An open database of whichever engine.
trait Store {
    fn name(&self) -> &'static str;
    fn load(&self, data: &Data, order: &Order, batch: usize) -> Result<()>;
    fn get_all(&self, order: &Order) -> Result<u64>;
}

impl<E: Engine> Store for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn load(&self, data: &Data, order: &Order, batch: usize) -> Result<()> {
        put_all(self, data, order, 0, batch).map(drop)
    }

    fn get_all(&self, order: &Order) -> Result<u64> {
        get_all(&mut self.read()?, order)
    }
}

/// Opens an engine in a directory.
struct Open<'d>(&'d Path);

impl Visit for Open<'_> {
    type Out = Result<Box<dyn Store>>;

    fn visit<E: Engine>(self) -> Self::Out {
        let setup = Setup { mode: Mode::Lazy, cache_bytes: 0, page_bytes: None, background: true };
        Ok(Box::new(E::open(self.0, &setup)?))
    }
}

/// Loads the records in this order into each engine, measures, and prints a row for each.
fn compare(args: &Args, shape: &str, data: &Data, load: &Order) -> Result<()> {
    let dir = tempfile::tempdir_in(&args.dir)?;
    let mut entries = Vec::new();
    for name in ["lmdb", "huon"] {
        let path = dir.path().join(name);
        std::fs::create_dir(&path)?;
        let store = visit(name, Open(&path))??;
        let started = Instant::now();
        store.load(data, load, args.batch.max(1))?;
        let load_seconds = started.elapsed().as_secs_f64();
        entries.push(Entry { store, path, load_seconds, lookup_ns: Vec::new() });
    }
    let wanted = data.picks(args.seed ^ 0x5eed, args.reads);
    let expected = data.sum(wanted.numbers.iter().copied(), 0);
    // The first round warms up and is not counted.
    for round in 0..=args.repeats {
        for entry in &mut entries {
            let started = Instant::now();
            let sum = entry.store.get_all(&wanted)?;
            let ns = started.elapsed().as_secs_f64() * 1e9 / f64::from(args.reads);
            if sum != expected {
                return Err(format!("{} gave wrong values", entry.store.name()).into());
            }
            if round > 0 {
                entry.lookup_ns.push(ns);
            }
        }
    }
    print_rows(shape, data.count, &mut entries)
}

fn print_rows(shape: &str, records: u32, entries: &mut [Entry]) -> Result<()> {
    let mut lmdb_ns = None;
    for entry in entries {
        entry.lookup_ns.sort_by(f64::total_cmp);
        let (times, name) = (&entry.lookup_ns, entry.store.name());
        let median = times[times.len() / 2];
        let ratio = *lmdb_ns.get_or_insert(median) / median;
        let spread = format!("{median:.0} [{:.0}-{:.0}]", times[0], times[times.len() - 1]);
        let mib = crate::measure::disk_bytes(&entry.path)? >> 20;
        println!(
            "{:<22} {name:>6} {:>7.1} {mib:>7}  {spread:<18} {ratio:>5.2}",
            format!("{} {shape}", count(records)),
            entry.load_seconds,
        );
    }
    Ok(())
}

/// `10 M` for ten million.
fn count(records: u32) -> String {
    match records {
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{} M", n / 1_000_000),
        n if n >= 1000 && n.is_multiple_of(1000) => format!("{} k", n / 1000),
        n => n.to_string(),
    }
}
