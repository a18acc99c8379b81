//! The demo: a database of a directory tree, its writer killed half-way.
//!
//! Three processes: this one, which only directs; a writer; and one that recomputes all totals of
//! each snapshot it can catch. The last two are this program again, with other arguments.

/// A line on standard output; when its reader has closed it the demo ends.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout().lock(), $($text)*).map_err($crate::fail::Failure::from)?
    }};
}

mod parts;
mod report;
mod tables;
mod verifier;
mod writer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use huon::Env;
use tempfile::TempDir;

use crate::fail::{self, Code, Failure, Outcome};
use crate::progress::Bar;
use crate::stop;
use crate::text::number;
use parts::{Verifier, Writer};

/// Builds a database of a directory tree while another process checks every snapshot it catches;
/// kills the writer half-way, opens the file again, finishes, and reports.
#[derive(Parser, Debug, Clone)]
#[command(name = "huon-demo", version, max_term_width = 80)]
struct Args {
    /// The tree to read; other file systems in it are left out
    #[arg(long, default_value = "/usr")]
    dir: PathBuf,
    /// Keep the database under this name instead of removing it
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Read at most so many entries, so that the demo ends within a minute
    #[arg(long, value_name = "COUNT", default_value_t = 500_000)]
    max_entries: usize,
    /// What this process is
    #[arg(long, hide = true)]
    role: Option<Role>,
    #[arg(long, hide = true, default_value_t = 1000)]
    batch: usize,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum Role {
    Writer,
    Verifier,
}

/// Runs `huon-demo` with the arguments of this process.
pub fn main() -> ExitCode {
    stop::survive_size_limits();
    let args = match fail::parsed::<Args>("huon-demo") {
        Ok(args) => args,
        Err(code) => return code.into(),
    };
    let file = args.keep.clone().unwrap_or_default();
    let outcome = match args.role {
        None => direct(&args),
        Some(Role::Verifier) => verifier::run(&args.dir, &file),
        Some(Role::Writer) => writer::run(&writer::Task {
            dir: &args.dir,
            file: &file,
            batch: args.batch,
            limit: args.max_entries,
        }),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => failure.report("huon-demo", &file).into(),
    }
}

/// What the demo works on.
struct Scene {
    dir: PathBuf,
    file: PathBuf,
    /// Removes itself.
    temporary: Option<TempDir>,
    total: u64,
    batch: u64,
    limit: usize,
}

/// What came out of it.
#[derive(Default)]
struct Results {
    writing: Duration,
    snapshots: u64,
    mismatches: u64,
    /// Entries of commits that had been acknowledged and were not there after the kill.
    lost: u64,
    open: Duration,
    check: Duration,
    problems: u64,
    passed_over: u64,
}

fn direct(args: &Args) -> Outcome {
    let scene = prepare(args)?;
    let mut results = Results::default();
    let acknowledged = write_and_kill(&scene, &mut results)?;
    look_after_kill(&scene, acknowledged, &mut results)?;
    finish(&scene, &mut results)?;
    report::print(&scene, &results)?;
    if scene.temporary.is_none() {
        say!("The database stays in {}.", scene.file.display());
    }
    let good = results.mismatches == 0 && results.lost == 0 && results.problems == 0;
    Ok(if good { Code::Fine } else { Code::Problems })
}

/// Step 1: where the database goes, and how large it gets.
fn prepare(args: &Args) -> Result<Scene, Failure> {
    let dir = args
        .dir
        .canonicalize()
        .map_err(|e| Failure::io(&format!("cannot read the tree {}", args.dir.display()), &e))?;
    if !dir.is_dir() {
        return Err(Failure::usage(format!("{} is not a directory.", dir.display())));
    }
    let temporary = match args.keep {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("huon-demo-")
                .tempdir()
                .map_err(|e| Failure::io("cannot make a temporary directory", &e))?,
        ),
    };
    let file = match (&args.keep, &temporary) {
        (Some(file), _) if file.exists() => {
            let text = format!("{} exists already; choose another name.", file.display());
            return Err(Failure::usage(text));
        }
        (Some(file), _) => file.clone(),
        (None, Some(dir)) => dir.path().join("demo.huon"),
        (None, None) => PathBuf::from("demo.huon"),
    };
    if let Some(temporary) = &temporary {
        clean_up_on_signals(temporary.path())?;
    }
    say!("A database of {}, its writer killed half-way", dir.display());
    say!();
    let total = count(&dir, args.max_entries);
    let more = if total == args.max_entries as u64 {
        " (the first of them; --max-entries says how many)"
    } else {
        ""
    };
    say!("1  Counted what is there: {} entries{more}.", number(total));
    if total < 2 {
        return Err(Failure::usage("there is too little in that tree to write half of it."));
    }
    Env::open(&file)?;
    let batch = (total / 100).clamp(1, 1000);
    Ok(Scene { dir, file, temporary, total, batch, limit: args.max_entries })
}

/// How many entries there are, counted where the user sees it: a large tree takes many seconds.
fn count(dir: &Path, limit: usize) -> u64 {
    let bar = Bar::found("1  Counting what is there");
    writer::walk(dir, limit).fold(0, |count, _| {
        bar.at(count + 1, 0);
        count + 1
    })
}

/// A signal must not leave the temporary directory behind. The other processes notice our end.
fn clean_up_on_signals(dir: &Path) -> Result<(), Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::io("cannot catch signals", &e))?;
    let dir = dir.to_owned();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Nothing else can be done about a directory that does not go away.
            let _ = std::fs::remove_dir_all(&dir);
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// Steps 2 and 3; returns how many entries were acknowledged.
fn write_and_kill(scene: &Scene, results: &mut Results) -> Result<u64, Failure> {
    let start = Instant::now();
    let mut writer = Writer::start(scene)?;
    let verifier = Verifier::start(scene)?;
    let batch = number(scene.batch);
    say!("2  Process {} writes them, {batch} a durable commit, with totals for", writer.id());
    say!("   each directory and extension; process {} recomputes all", verifier.id());
    say!("   totals from the entries of each snapshot it catches, and compares.");
    let half = scene.total / 2;
    let acknowledged = follow(&mut writer, scene.total, |done| done >= half)?;
    writer.kill()?;
    results.writing += start.elapsed();
    let entries = number(acknowledged);
    say!("3  Killed the writer (SIGKILL) in an open transaction, after {entries} entries.");
    tell(verifier.finish()?, results)?;
    Ok(acknowledged)
}

/// Follows a writer until it ends or `stop` says so of the entries done; returns their number.
fn follow(writer: &mut Writer, total: u64, stop: impl Fn(u64) -> bool) -> Result<u64, Failure> {
    let bar = Bar::count("  ", total);
    let mut last = 0;
    while let Some(done) = writer.next()? {
        bar.at(done, total);
        last = done;
        if stop(done) {
            break;
        }
        writer.answer();
    }
    Ok(last)
}

fn tell((snapshots, mismatches): (u64, u64), results: &mut Results) -> Result<(), Failure> {
    results.snapshots += snapshots;
    results.mismatches += mismatches;
    let (snapshots, mismatches) = (number(snapshots), number(mismatches));
    say!("   Snapshots recomputed: {snapshots}; mismatches: {mismatches}.");
    Ok(())
}

/// Step 4: what the kill has cost.
fn look_after_kill(scene: &Scene, acknowledged: u64, results: &mut Results) -> Result<(), Failure> {
    let start = Instant::now();
    let env = Env::options().create(false).open(&scene.file)?;
    results.open = start.elapsed();
    let txn = env.read()?;
    let (entries, mismatches) = verifier::recompute(&txn, tables::root_key(&scene.dir))?;
    results.mismatches += mismatches;
    results.lost = acknowledged.saturating_sub(entries);
    drop(txn);
    say!(
        "4  Opened the file again: {} entries, {} of {} acknowledged ones lost.",
        number(entries),
        number(results.lost),
        number(acknowledged)
    );
    check(&env, results)
}

/// Checks the whole file and says so.
fn check(env: &Env, results: &mut Results) -> Result<(), Failure> {
    let start = Instant::now();
    let report = env.check()?;
    results.check = results.check.max(start.elapsed());
    results.problems += report.problem_count;
    let (pages, problems) = (number(report.pages_total), number(report.problem_count));
    say!("   Checked all of its {pages} pages: {problems} problems.");
    for problem in report.problems.iter().take(10) {
        say!("   {problem}");
    }
    Ok(())
}

/// Step 5: the rest.
fn finish(scene: &Scene, results: &mut Results) -> Result<(), Failure> {
    let start = Instant::now();
    let mut writer = Writer::start(scene)?;
    let verifier = Verifier::start(scene)?;
    say!("5  Process {} finishes the loading, process {} recomputes.", writer.id(), verifier.id());
    follow(&mut writer, scene.total, |_| false)?;
    results.passed_over = writer.finish()?;
    results.writing += start.elapsed();
    tell(verifier.finish()?, results)?;
    let env = Env::options().create(false).open(&scene.file)?;
    check(&env, results)?;
    Ok(())
}
