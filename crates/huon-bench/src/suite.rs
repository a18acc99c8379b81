//! The suite: each workload of each engine as a process of its own, in a directory of its own.
//!
//! Engines take turns, and repeats are outermost, so that what the machine does meanwhile meets
//! all. What is not measured is written down with the reason.

use std::collections::HashSet;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::engine::{Mode, Result};
use crate::machine::machine;
use crate::programs::{Program, programs};
use crate::record::{LeftOut, Machine, Measurement};
use crate::workload::{Listed, WORKLOADS};

/// Share of the full numbers that `make bench` runs, and the minutes after which it begins no more.
const QUICK_SCALE: f64 = 0.1;
const QUICK_MINUTES: f64 = 13.0;
/// Seconds that any run may take, however small its scale.
const LIMIT_SECONDS_MIN: u64 = 60;
/// Why a run failed that was ended by its limit.
const LATE: &str = "it did not end in time";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workloads to run, by name; see `list`
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Engines to run, by name
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Share of the full numbers of records and operations [default: 0.1, or 1 with --full]
    #[arg(long)]
    scale: Option<f64>,
    /// Repeats of each run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// All workloads at full scale, however long it takes
    #[arg(long)]
    full: bool,
    /// Go on with a run that was cut short, if there is one: what its file has is not run again
    #[arg(long)]
    resume: bool,
    /// Bytes of a page, for engines that have a choice
    #[arg(long)]
    page_bytes: Option<usize>,
    /// Where the lines and the report go, and the databases while they are measured
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

/// One process to be started.
struct Run<'p> {
    workload: &'static Listed,
    engine: &'static str,
    program: &'p Path,
    mode: Mode,
    repeat: u32,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let scale = args.scale.unwrap_or(if args.full { 1.0 } else { QUICK_SCALE });
    let until = (!args.full && args.scale.is_none())
        .then(|| Instant::now() + Duration::from_secs_f64(QUICK_MINUTES * 60.0));
    let mut deadlines = Deadlines { until, late: HashSet::new() };
    std::fs::create_dir_all(&args.out)?;
    let programs = programs(&args.out)?;
    let mut runs = plan(args, &programs)?;
    let path = args.out.join("results.jsonl");
    let machine = machine(&args.out, scale, args.repeats)?;
    let resumes = args.resume && path.exists();
    let mut lines = lines_of(&path, resumes)?;
    if resumes {
        let done = done_before(&path, &machine)?;
        runs.retain(|run| !done.contains(&run.name()));
    }
    let mut write = |line: &str| writeln!(lines, "{line}");
    let left_out = announce(args, scale, &programs, &runs);
    if !resumes {
        write(&serde_json::to_string(&machine)?)?;
        left_out.iter().try_for_each(|line| write(&serde_json::to_string(line)?))?;
    }
    let dir = Databases::in_dir(&args.out)?;
    for (at, run) in runs.iter().enumerate() {
        print!("[{:>4}/{}] {:<32}", at + 1, runs.len(), run.kind());
        std::io::stdout().flush()?;
        if let Some(reason) = deadlines.ends_before(run) {
            println!("left out: {reason}");
            if run.repeat == 0 {
                write(&serde_json::to_string(&run.left_out(reason))?)?;
            }
            continue;
        }
        let started = Instant::now();
        let (output, failure) = in_child(args, run, scale, &dir.0)?;
        // All at once: a run that is cut short has all its lines or none.
        if !output.is_empty() {
            write(output.trim_end())?;
        }
        let seconds = started.elapsed().as_secs_f64();
        match failure {
            None => println!(" {seconds:7.1} s"),
            Some(reason) => {
                println!(" {seconds:7.1} s, failed: {reason}");
                deadlines.note(run, &reason);
                write(&serde_json::to_string(&run.left_out(&reason))?)?;
            }
        }
    }
    println!("{}", path.display());
    println!("{}", crate::report::write(&path, &args.out)?.display());
    Ok(())
}

/// What is not waited for.
struct Deadlines {
    /// When no run begins any more.
    until: Option<Instant>,
    /// Runs of which a repeat did not end in time, as [`Run::kind`] names them. The next would
    /// not either.
    late: HashSet<String>,
}

impl Deadlines {
    /// Why a run is not begun, if it is not.
    fn ends_before(&self, run: &Run) -> Option<&'static str> {
        if self.until.is_some_and(|until| Instant::now() > until) {
            return Some("no time: `make bench-full` runs it");
        }
        self.late.contains(&run.kind()).then_some("an earlier repeat did not end in time")
    }

    fn note(&mut self, run: &Run, failure: &str) {
        if failure == LATE {
            self.late.insert(run.kind());
        }
    }
}

/// A name that no other program uses: a directory of that name is removed.
const DATABASES: &str = "huon-bench-databases";

/// Where the databases lie while they are measured; gone when it goes. What a run that was killed
/// left there goes before, which may be gigabytes.
struct Databases(PathBuf);

impl Databases {
    fn in_dir(out: &Path) -> Result<Databases> {
        let dir = out.join(DATABASES);
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        std::fs::create_dir(&dir)?;
        Ok(Databases(dir))
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        // What stays is taken away by the next run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The file of the lines, kept from other runs while it is open.
fn lines_of(path: &Path, resumes: bool) -> Result<File> {
    let lines = File::options().create(true).append(true).open(path)?;
    lines.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => format!("{}: another run writes to it", path.display()),
        TryLockError::Error(error) => format!("{}: {error}", path.display()),
    })?;
    if !resumes {
        lines.set_len(0)?;
    }
    Ok(lines)
}

/// The runs that a file has the lines of, on the same machine and from the same sources.
fn done_before(path: &Path, machine: &Machine) -> Result<HashSet<String>> {
    let at = |error: &dyn Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
    let mut lines = text.lines();
    let before: Machine = serde_json::from_str(lines.next().unwrap_or_default())
        .map_err(|error| at(&format!("the first line names no machine: {error}")))?;
    let same = Machine { date: before.date.clone(), ..machine.clone() };
    if before != same {
        return Err(at(&format!("this run cannot go on: it is of {before:?}, now {same:?}")).into());
    }
    // What was left out is tried again.
    let measured = lines.filter_map(|line| serde_json::from_str::<Measurement>(line).ok());
    Ok(measured.map(|m| run_name(&m.workload, &m.engine, &m.mode, m.repeat)).collect())
}

fn run_name(workload: &str, engine: &str, mode: &str, repeat: u32) -> String {
    format!("{} {repeat}", kind_name(workload, engine, mode))
}

fn kind_name(workload: &str, engine: &str, mode: &str) -> String {
    format!("{workload} {engine} {mode}")
}

/// What is run, in order.
fn plan<'p>(args: &Args, programs: &'p [Program]) -> Result<Vec<Run<'p>>> {
    let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    refuse_unknown("workload", &args.only, &names)?;
    let names: Vec<&str> = programs.iter().map(|program| program.engine).collect();
    refuse_unknown("engine", &args.engines, &names)?;
    let wanted = |name: &str, list: &[String]| list.is_empty() || list.iter().any(|n| n == name);
    let mut runs = Vec::new();
    for repeat in 0..args.repeats {
        for workload in WORKLOADS.iter().filter(|workload| {
            if args.only.is_empty() {
                args.full || !workload.full_only
            } else {
                wanted(workload.name, &args.only)
            }
        }) {
            for &mode in workload.modes {
                for &Program { engine, ref path } in programs {
                    if let Ok(program) = path
                        && wanted(engine, &args.engines)
                    {
                        runs.push(Run { workload, engine, program, mode, repeat });
                    }
                }
            }
        }
    }
    Ok(runs)
}

fn refuse_unknown(what: &str, given: &[String], known: &[&str]) -> Result<()> {
    match given.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("no {what} is called {name}; there are {known:?}").into()),
        None => Ok(()),
    }
}

/// Says what is run and what is not; answers the latter.
fn announce(args: &Args, scale: f64, programs: &[Program], runs: &[Run]) -> Vec<LeftOut> {
    println!("{} runs at scale {scale}, {} repeats", runs.len(), args.repeats);
    let mut left_out = Vec::new();
    let mut leave = |engine: &str, workload: &str, reason: &str| {
        println!("left out: {engine}{workload}: {reason}");
        left_out.push(LeftOut {
            engine: engine.to_owned(),
            workload: workload.to_owned(),
            cell: String::new(),
            mode: String::new(),
            left_out: reason.to_owned(),
        });
    };
    for program in programs {
        if let Err(reason) = &program.path {
            leave(program.engine, "", reason);
        }
    }
    for workload in WORKLOADS {
        if !runs.iter().any(|run| run.workload.name == workload.name) {
            leave("", workload.name, "not asked for; `make bench-full` runs all");
        }
    }
    left_out
}

impl Run<'_> {
    fn name(&self) -> String {
        run_name(self.workload.name, self.engine, self.mode.name(), self.repeat)
    }

    /// Its name without the repeat.
    fn kind(&self) -> String {
        kind_name(self.workload.name, self.engine, self.mode.name())
    }

    fn left_out(&self, reason: &str) -> LeftOut {
        LeftOut {
            engine: self.engine.to_owned(),
            workload: self.workload.name.to_owned(),
            cell: String::new(),
            mode: self.mode.name().to_owned(),
            left_out: reason.to_owned(),
        }
    }
}

/// Runs it, in a directory that is empty before and gone after; its lines, and why it failed if it
/// did.
fn in_child(args: &Args, run: &Run, scale: f64, dir: &Path) -> Result<(String, Option<String>)> {
    let home = tempfile::tempdir_in(dir)?;
    let (out, err) = (home.path().join("out"), home.path().join("err"));
    let data = home.path().join("data");
    std::fs::create_dir(&data)?;
    let mut child = Command::new(run.program)
        .args(["run", "--engine", run.engine, "--workload", run.workload.name])
        .args(["--mode", run.mode.name(), "--scale", &scale.to_string()])
        .args(["--repeat", &run.repeat.to_string(), "--dir"])
        .arg(&data)
        .args(args.page_bytes.map(|bytes| format!("--page-bytes={bytes}")))
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()?;
    let limit = (run.workload.limit_seconds as f64 * scale) as u64;
    let status = wait(&mut child, Duration::from_secs(limit.max(LIMIT_SECONDS_MIN)))?;
    let said = String::from_utf8_lossy(&std::fs::read(&err)?).trim().to_owned();
    let failure = match status {
        Some(status) if status.success() => None,
        Some(status) if said.is_empty() => Some(status.to_string()),
        Some(_) => Some(said.lines().last().unwrap_or_default().to_owned()),
        None => Some(LATE.to_owned()),
    };
    Ok((std::fs::read_to_string(&out)?, failure))
}

/// Waits for a child to end; ends it itself if that takes longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Prints workloads and engines.
pub(crate) fn list() -> Result<()> {
    let out = tempfile::tempdir()?;
    println!("workloads:");
    for workload in WORKLOADS {
        let modes: Vec<&str> = workload.modes.iter().map(|mode| mode.name()).collect();
        let full = if workload.full_only { " (full runs only)" } else { "" };
        println!("  {:<12} {}; {}{full}", workload.name, workload.about, modes.join(", "));
    }
    println!("engines:");
    for Program { engine, path } in programs(out.path())? {
        println!("  {engine:<12} {}", path.err().unwrap_or_else(|| "here".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_taken_away() {
        let out = tempfile::tempdir().unwrap();
        let left = out.path().join(DATABASES).join("1/data");
        std::fs::create_dir_all(&left).unwrap();
        let databases = Databases::in_dir(out.path()).unwrap();
        assert!(databases.0.exists() && !left.exists());
        drop(databases);
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_runs_do_not_share_their_lines() {
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("results.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let mut first = lines_of(&path, true).unwrap();
        writeln!(first, "{{}}").unwrap();
        let refused = lines_of(&path, false).unwrap_err().to_string();
        assert!(refused.contains("results.jsonl") && refused.contains("another run"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{}\n", "nothing is lost");
        drop(first);
        lines_of(&path, false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn what_did_not_end_in_time_is_not_tried_again() {
        let run = |engine, repeat| Run {
            workload: &WORKLOADS[0],
            engine,
            program: Path::new("none"),
            mode: Mode::Lazy,
            repeat,
        };
        let mut deadlines = Deadlines { until: None, late: HashSet::new() };
        deadlines.note(&run("bdb", 0), LATE);
        deadlines.note(&run("lmdb", 0), "no space left on the disk");
        assert!(deadlines.ends_before(&run("bdb", 1)).unwrap().contains("did not end"));
        assert_eq!(deadlines.ends_before(&run("lmdb", 1)), None);
        deadlines.until = Some(Instant::now() - Duration::from_secs(1));
        assert!(deadlines.ends_before(&run("lmdb", 1)).unwrap().contains("no time"));
    }

    #[test]
    fn a_run_goes_on_where_it_was_cut() {
        let machine = |commit: &str, date: &str| Machine {
            cores: 2,
            cpu_model: "a processor".to_owned(),
            memory_bytes: 1 << 30,
            kernel: "6".to_owned(),
            file_system: "ext4".to_owned(),
            date: date.to_owned(),
            commit: commit.to_owned(),
            scale: 1.0,
            repeats: 3,
        };
        let measured = |engine: &str, repeat: u32| Measurement {
            engine: engine.to_owned(),
            workload: "reads".to_owned(),
            mode: "lazy".to_owned(),
            repeat,
            ..Measurement::default()
        };
        let left_out = LeftOut {
            engine: "bdb".to_owned(),
            workload: "reads".to_owned(),
            cell: String::new(),
            mode: "lazy".to_owned(),
            left_out: "it did not end in time".to_owned(),
        };
        let lines = [
            serde_json::to_string(&machine("abc", "2026-01-31")).unwrap(),
            serde_json::to_string(&measured("huon", 0)).unwrap(),
            serde_json::to_string(&measured("huon", 1)).unwrap(),
            serde_json::to_string(&left_out).unwrap(),
            serde_json::to_string(&measured("lmdb", 0)).unwrap(),
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let done = done_before(&path, &machine("abc", "2026-02-01")).unwrap();
        let expected = ["reads huon lazy 0", "reads huon lazy 1", "reads lmdb lazy 0"];
        assert_eq!(done, expected.map(str::to_owned).into());
        let refused = done_before(&path, &machine("def", "2026-02-01")).unwrap_err().to_string();
        assert!(refused.contains("cannot go on") && refused.contains("def"), "{refused}");
        let missing = done_before(&dir.path().join("none"), &machine("abc", "")).unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }
}
