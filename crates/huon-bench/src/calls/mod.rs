//! What a call through the C interface of LMDB costs over the same call in Rust.
//!
//! Both work on one file in one process, in turns: a round is the same number of calls by each, and
//! they take turns to begin. Keys differ between the two within a round, so that neither finds in
//! the processor's caches what the other has just read. The report has the median of the rounds,
//! with the least and the greatest, and that of the differences within a round.

mod library;

use std::path::{Path, PathBuf};
use std::time::Instant;

use huon::{Bytes, Durability, Env, RawTable, TableDef};

use crate::data::{Data, Keys, Order, touched};
use crate::engine::Result;
use library::Store;

const TABLE: TableDef<Bytes, Bytes> = TableDef::main();

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The library, Huon's liblmdb.so; xtask builds it and names it here
    #[arg(long)]
    library: PathBuf,
    /// Another library of this interface, as LMDB's own, on a file of its own
    #[arg(long)]
    beside: Option<PathBuf>,
    /// Numbers of records
    #[arg(long, value_delimiter = ',', default_value = "1000,1000000")]
    records: Vec<u32>,
    /// Bytes of a value
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,
    /// Calls of each in a round
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// Rounds
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Only cells whose name has this in it
    #[arg(long, default_value = "")]
    only: String,
    /// Seed of the keys
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the files are made, and removed at the end
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

/// Calls that are measured, of either library. Each makes the given number of them in a transaction
/// of its own, which is not timed.
trait Calls {
    fn get(&self, part: &Part<'_>) -> Result<Timed>;
    /// Puts another value for each key, and leaves no trace.
    fn put(&self, part: &Part<'_>) -> Result<Timed>;
    /// Steps from the first record to the last, so often.
    fn next(&self, passes: u64) -> Result<Timed>;
    /// The same by a cursor that borrows nothing.
    fn next_detached(&self, passes: u64) -> Result<Timed>;
    /// Steps from the last record to the first, so often.
    fn prev(&self, passes: u64) -> Result<Timed>;
    /// Opens a cursor and closes it, so often.
    fn open(&self, count: u64) -> Result<Timed>;
    /// Lets go of a snapshot and takes the newest one, so often.
    fn renew(&self, count: u64) -> Result<Timed>;
    /// Puts records of such a length behind all others, in one transaction, and leaves no trace.
    fn append(&self, count: u64, value_bytes: usize) -> Result<Timed>;
}

/// A key above all that are there, and above those of lower numbers.
fn last_key(number: u64) -> [u8; 16] {
    (u128::from(u64::MAX) << 64 | u128::from(number)).to_be_bytes()
}

/// Keys for a round of one of the libraries.
struct Part<'d> {
    data: &'d Data,
    order: &'d Order,
    first: usize,
    count: usize,
}

impl<'d> Part<'d> {
    fn count(&self) -> u64 {
        self.count as u64
    }

    #[inline]
    fn keys(&self) -> impl Iterator<Item = &'d [u8]> {
        let order = self.order;
        (self.first..self.first + self.count).map(|at| order.key(at))
    }

    /// Keys with values that no record has had before.
    #[inline]
    fn records(&self) -> impl Iterator<Item = (&'d [u8], &'d [u8])> {
        let (data, order) = (self.data, self.order);
        (self.first..self.first + self.count)
            .map(|at| (order.key(at), data.value(order.numbers[at], 1 + at as u32)))
    }

    fn sum(&self) -> u64 {
        let numbers = &self.order.numbers[self.first..self.first + self.count];
        self.data.sum(numbers.iter().copied(), 0)
    }
}

/// What a round took.
struct Timed {
    ns_per_call: f64,
    calls: u64,
    sum: u64,
}

impl Timed {
    fn since(started: Instant, calls: u64, sum: u64) -> Timed {
        let ns = started.elapsed().as_secs_f64() * 1e9;
        Timed { ns_per_call: ns / calls as f64, calls, sum }
    }
}

/// Huon as a program in Rust has it.
struct Rust {
    env: Env,
    table: RawTable,
}

impl Rust {
    fn open(path: &Path) -> Result<Rust> {
        let env = Env::options().durability(Durability::Lazy).open(path)?;
        let table = env.read()?.open_table(&TABLE)?.ok_or("no main table")?;
        Ok(Rust { env, table })
    }
}

impl Calls for Rust {
    fn get(&self, part: &Part<'_>) -> Result<Timed> {
        let txn = self.env.read()?;
        let (started, mut sum) = (Instant::now(), 0);
        for key in part.keys() {
            sum += touched(self.table.get(&txn, key)?.ok_or("a key is missing")?);
        }
        Ok(Timed::since(started, part.count(), sum))
    }

    fn put(&self, part: &Part<'_>) -> Result<Timed> {
        let mut txn = self.env.write()?;
        let started = Instant::now();
        for (key, value) in part.records() {
            self.table.put(&mut txn, key, value)?;
        }
        let timed = Timed::since(started, part.count(), 0);
        txn.abort();
        Ok(timed)
    }

    fn next(&self, passes: u64) -> Result<Timed> {
        let txn = self.env.read()?;
        let (started, mut sum, mut count) = (Instant::now(), 0, 0);
        for _ in 0..passes {
            for record in self.table.iter(&txn)? {
                sum += touched(record?.1);
                count += 1;
            }
        }
        Ok(Timed::since(started, count, sum))
    }

    fn next_detached(&self, passes: u64) -> Result<Timed> {
        let txn = self.env.read()?;
        let (started, mut sum, mut count) = (Instant::now(), 0, 0);
        for _ in 0..passes {
            let mut cursor = self.table.cursor();
            while let Some((_, value)) = cursor.next(&txn)? {
                sum += touched(value);
                count += 1;
            }
        }
        Ok(Timed::since(started, count, sum))
    }

    fn prev(&self, passes: u64) -> Result<Timed> {
        let txn = self.env.read()?;
        let (started, mut sum, mut count) = (Instant::now(), 0, 0);
        for _ in 0..passes {
            for record in self.table.iter(&txn)?.rev() {
                sum += touched(record?.1);
                count += 1;
            }
        }
        Ok(Timed::since(started, count, sum))
    }

    fn open(&self, count: u64) -> Result<Timed> {
        let started = Instant::now();
        for _ in 0..count {
            let _ = std::hint::black_box(self.table.cursor());
        }
        Ok(Timed::since(started, count, 0))
    }

    fn renew(&self, count: u64) -> Result<Timed> {
        let started = Instant::now();
        for _ in 0..count {
            let _ = std::hint::black_box(self.env.read()?);
        }
        Ok(Timed::since(started, count, 0))
    }

    fn append(&self, count: u64, value_bytes: usize) -> Result<Timed> {
        let (mut txn, value) = (self.env.write()?, vec![7; value_bytes]);
        let started = Instant::now();
        for number in 0..count {
            self.table.append(&mut txn, &last_key(number), &value)?;
        }
        let timed = Timed::since(started, count, 0);
        txn.abort();
        Ok(timed)
    }
}

#[derive(Clone, Copy)]
enum Cell {
    Get,
    Put,
    Next,
    NextDetached,
    Prev,
    Open,
    Renew,
    Append,
}

impl Cell {
    const ALL: [(Cell, &str); 8] = [
        (Cell::Get, "get"),
        (Cell::Put, "put"),
        (Cell::Next, "next / iter"),
        (Cell::NextDetached, "next / cursor"),
        (Cell::Prev, "prev / iter"),
        (Cell::Open, "open + close"),
        (Cell::Renew, "reset + renew"),
        (Cell::Append, "append"),
    ];

    /// A round of one of them, whose answers are right.
    fn round(self, side: &dyn Calls, part: &Part<'_>, whole: (u64, u64)) -> Result<f64> {
        let passes = (part.count() / whole.0).max(1);
        let value_bytes = part.data.value(0, 0).len();
        let (timed, expected) = match self {
            Cell::Get => (side.get(part)?, (part.count(), part.sum())),
            Cell::Put => (side.put(part)?, (part.count(), 0)),
            Cell::Next => (side.next(passes)?, (passes * whole.0, passes * whole.1)),
            Cell::NextDetached => {
                (side.next_detached(passes)?, (passes * whole.0, passes * whole.1))
            }
            Cell::Prev => (side.prev(passes)?, (passes * whole.0, passes * whole.1)),
            Cell::Open => (side.open(part.count())?, (part.count(), 0)),
            Cell::Renew => (side.renew(part.count())?, (part.count(), 0)),
            Cell::Append => (side.append(part.count(), value_bytes)?, (part.count(), 0)),
        };
        if (timed.calls, timed.sum) == expected {
            Ok(timed.ns_per_call)
        } else {
            Err("wrong answers".into())
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    println!(
        "calls in C beside calls in Rust: 16-byte keys, {}-byte values, the main table, \
         one transaction\na round, {} calls a round; ns a call: median of {} rounds \
         [least - greatest]; C - Rust: of the\ndifferences in a round\n",
        args.value_bytes, args.calls, args.repeats
    );
    for &records in &args.records {
        compare(args, records)?;
    }
    Ok(())
}

/// Measures all cells with so many records, and prints a row for each.
fn compare(args: &Args, records: u32) -> Result<()> {
    let dir = tempfile::tempdir_in(&args.dir)?;
    let data = Data::new(Keys::Random16, records, args.value_bytes);
    let open = |library: &Path, name: &str| -> Result<Store> {
        let dir = dir.path().join(name);
        std::fs::create_dir(&dir)?;
        let store = Store::open(library, &dir)?;
        store.load(&data, &data.shuffled(args.seed))?;
        Ok(store)
    };
    let ours = open(&args.library, "huon")?;
    let other = args.beside.as_deref().map(|library| open(library, "beside")).transpose()?;
    let rust = Rust::open(&dir.path().join("huon/data.mdb"))?;
    println!("{records} records, {}", ours.version());
    if let Some(other) = &other {
        println!("beside: {}", other.version());
    }
    println!("{:<13} {:>22} {:>22} {:>22} {:>22}", "", "Rust", "C", "C - Rust", "beside");
    let sides: Vec<&dyn Calls> = [&rust as &dyn Calls, &ours]
        .into_iter()
        .chain(other.as_ref().map(|other| other as &dyn Calls))
        .collect();
    for (cell, name) in Cell::ALL.into_iter().filter(|(_, name)| name.contains(&args.only)) {
        let rounds = measure(args, cell, &data, &sides)?;
        let column = |value: fn(&[f64]) -> f64| shown(rounds.iter().map(|round| value(round)));
        let beside = other.as_ref().map(|_| column(|round| round[2])).unwrap_or_default();
        let difference = column(|round| round[1] - round[0]);
        let (rust, ours) = (column(|round| round[0]), column(|round| round[1]));
        println!("{name:<13} {rust:>22} {ours:>22} {difference:>22} {beside:>22}");
    }
    println!();
    Ok(())
}

/// Each side's time in each round. A first one, which warms up, is left out.
fn measure(args: &Args, cell: Cell, data: &Data, sides: &[&dyn Calls]) -> Result<Vec<Vec<f64>>> {
    let count = args.calls as usize;
    let order = data.picks(args.seed ^ 0x5eed, args.calls * sides.len() as u32);
    let whole = (u64::from(data.count), data.sum(0..data.count, 0));
    let mut rounds = Vec::new();
    for round in 0..=args.repeats as usize {
        let mut times = vec![0.0; sides.len()];
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            // The parts go round more slowly than the sides, so that all of them meet.
            let part = (side + round / sides.len()) % sides.len();
            let part = Part { data, order: &order, first: part * count, count };
            times[side] = cell.round(sides[side], &part, whole)?;
        }
        rounds.push(times);
    }
    rounds.remove(0);
    Ok(rounds)
}

/// The median with the least and the greatest.
fn shown(times: impl Iterator<Item = f64>) -> String {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let (median, last) = (times[times.len() / 2], times[times.len() - 1]);
    format!("{median:.1} [{:.1} - {last:.1}]", times[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!(shown([3.0, 1.0, 20.0].into_iter()), "3.0 [1.0 - 20.0]");
    }

    #[test]
    fn what_is_no_library_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let Err(e) = Store::open(&dir.path().join("liblmdb.so"), dir.path()) else { panic!() };
        assert!(e.to_string().contains("liblmdb.so"), "{e}");
    }
}
