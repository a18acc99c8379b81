//! `cargo xtask test`: every test, then the summary.
//!
//! Tests append to the file named by `HUON_FIGURES` (see `huon_testkit::figures`); `summary` reads
//! it together with cargo's own output.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::bindings;
use crate::built;
use crate::jobs::{self, Job};
use crate::outcome::Outcome;
use crate::shell::{Shell, shown};
use crate::summary::Summary;

/// What `make test` may take on two cores, the build included.
const SECONDS_MAX: u64 = 600;

/// How long a process may keep the output open after cargo has ended (and once more as long).
const OUTLIVE_MAX: Duration = Duration::from_secs(2);

/// Test binaries that run at the same time: while one waits, another one works. Each has as many
/// threads as there are cores.
const AT_ONCE: usize = 2;

/// What takes long, the longest first: so nothing long is left for the end.
const LONGEST: [&str; 11] = [
    "huon-testkit crash",
    "huon-lmdb programs",
    "huon-testkit flips",
    "huon-testkit faults",
    "huon-mdbx programs",
    "doctests",
    "huon lib",
    // Python and Node wait for one build, Go and Java for another.
    "bindings python",
    "bindings go",
    "bindings node",
    "bindings java",
];

/// Binaries that measure memory, or system calls.
const ALONE: [&str; 1] = ["huon-testkit costs"];

/// How many jobs are shown with their seconds.
const SHOWN: usize = 10;

const OLDEST: &str = "minimum Rust version";

/// How much the tests do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What every change is tested with.
    Tenth,
    /// All of the promised figures, with seeds of this number.
    Full(u64),
}

/// Runs the tests; `args` go to `cargo test` and make the run a partial one.
pub(crate) fn run(shell: &Shell, args: &[String]) -> Result<bool, String> {
    let started = Instant::now();
    let summary = if args.is_empty() {
        suite(shell, Size::Tenth)?
    } else {
        let mut cargo = shell.cargo(["test", "--no-fail-fast"]);
        with_figures(shell, |figures| listen_to(cargo.args(args).env("HUON_FIGURES", figures)))?
    };
    let seconds = started.elapsed().as_secs();
    println!("\n{seconds} s, build included (at most {SECONDS_MAX} s on two idle cores)");
    print!("{}", summary.report());
    if let Some(complaint) = too_long(seconds).filter(|_| args.is_empty()) {
        // Beside the totals, which are the last line of the output proper.
        eprintln!("{complaint}");
    }
    Ok(summary.good())
}

/// What is said of a whole run that took longer than it is to. No failure: machines differ, and
/// others may use this one.
fn too_long(seconds: u64) -> Option<String> {
    let over = seconds.checked_sub(SECONDS_MAX).filter(|over| *over > 0)?;
    Some(format!(
        "This run took {over} s longer than the {SECONDS_MAX} s that `make test` is to take on two \
         idle cores. The table of seconds above says where the time went."
    ))
}

/// Builds and runs all tests, and takes in what they say.
pub(crate) fn suite(shell: &Shell, size: Size) -> Result<Summary, String> {
    let started = Instant::now();
    let binaries = match built::build(&mut shell.cargo(["test", "--workspace"])) {
        Ok(binaries) => binaries,
        Err(why) => {
            let mut summary = Summary::default();
            summary.problem(why);
            return Ok(summary);
        }
    };
    let mut seconds = vec![("build".to_owned(), started.elapsed().as_secs_f64())];
    let mut summary = with_figures(shell, |figures| {
        let mut jobs: Vec<(String, Command)> =
            binaries.iter().map(|binary| (binary.name(), binary.command())).collect();
        let doctests = shell.cargo(["test", "--workspace", "--doc", "--no-fail-fast"]);
        jobs.push(("doctests".to_owned(), doctests));
        let oldest = oldest(shell);
        let skipped = oldest.as_ref().err().cloned();
        jobs.extend(oldest.ok().map(|check| (OLDEST.to_owned(), check)));
        let mut all = Summary::default();
        if let Some(why) = skipped {
            all.skip(OLDEST, &why);
        }
        let languages = bindings::Suite::new(shell, &binaries, &mut all);
        jobs.extend(languages.jobs()?);
        let done = jobs::run(in_order(jobs, size, figures), AT_ONCE)?;

        for ended in done {
            // These have no tests of libtest's: each counts as one.
            if (ended.name == OLDEST || languages.has(&ended.name)) && ended.summary.good() {
                all.pass();
            }
            all.absorb(ended.summary);
            seconds.push((ended.name, ended.took.as_secs_f64()));
        }
        languages.exchange(&mut all)?;
        Ok(all)
    })?;
    show(seconds);
    summary.judge_kinds();
    summary.judge_minimums(match size {
        Size::Tenth => asked_share(std::env::var("HUON_SHARE").ok().as_deref()),
        Size::Full(_) => 1,
    });
    Ok(summary)
}

/// Which part of the promised figures tests are to reach: a tenth, or as `HUON_SHARE` asks.
fn asked_share(asked: Option<&str>) -> u64 {
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(10).max(1)
}

/// The jobs, the longest first, each told how much it is to do and where its figures go.
fn in_order(jobs: Vec<(String, Command)>, size: Size, figures: &Path) -> Vec<Job> {
    let place = |name: &str| LONGEST.iter().position(|long| *long == name);
    let mut jobs: Vec<Job> = jobs
        .into_iter()
        .map(|(name, mut command)| {
            command.env("HUON_FIGURES", figures);
            if let Size::Full(rotate) = size {
                command.env("HUON_PROOF", "1").env("HUON_ROTATE", rotate.to_string());
            }
            Job { is_alone: ALONE.contains(&name.as_str()), name, command }
        })
        .collect();
    jobs.sort_by_key(|job| place(&job.name).unwrap_or(usize::MAX));
    jobs
}

/// Prints where the time went: the build, which comes first, and the longest of the rest.
fn show(mut seconds: Vec<(String, f64)>) {
    let rest = &mut seconds[1..];
    rest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    println!("\nseconds, {AT_ONCE} at a time after the build:");
    for (name, seconds) in seconds.iter().take(1 + SHOWN) {
        println!("{name:<24} {seconds:>7.1}");
    }
    if let Some(rest) = seconds.get(1 + SHOWN..).filter(|rest| !rest.is_empty()) {
        let sum: f64 = rest.iter().map(|(_, seconds)| seconds).sum();
        println!("{:<24} {sum:>7.1}", format!("{} others", rest.len()));
    }
}

/// Lets `work` run tests that write their figures to a file, and reads that file.
fn with_figures(
    shell: &Shell,
    work: impl FnOnce(&Path) -> Result<Summary, String>,
) -> Result<Summary, String> {
    let dir = shell.target.join("huon-figures");
    let figures = dir.join(format!("{}.txt", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    File::create(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
    let mut summary = work(&figures)?;
    let text = std::fs::read_to_string(&figures);
    summary.figures(&text.map_err(|e| format!("{}: {e}", figures.display()))?);
    let _ = std::fs::remove_file(&figures);
    Ok(summary)
}

/// Runs `cargo`, shows what it prints, and takes it in.
fn listen_to(cargo: &mut Command) -> Result<Summary, String> {
    let mut summary = Summary::default();
    let show = &mut |line: &str| println!("{line}");
    let status = listen(cargo, &mut summary, show).map_err(|e| format!("cargo test: {e}"))?;
    summary.end("cargo test", status.success());
    Ok(summary)
}

/// Runs a part of the tests that is built in a way of its own, called `name` in the figures; it has
/// failed if there is none.
pub(crate) fn part(shell: &Shell, name: &str, cargo: &mut Command) -> Result<Outcome, String> {
    let mut summary = with_figures(shell, |figures| listen_to(cargo.env("HUON_FIGURES", figures)))?;
    summary.judge_passed();
    println!("\n{}", summary.verdict());
    if !summary.good() {
        return Ok(Outcome::Failed);
    }
    let tests = (format!("{name}.tests"), summary.passed());
    Ok(Outcome::Passed(summary.details.named.into_iter().chain([tests]).collect()))
}

/// Runs the tests that `args` name with seeds of their own until `seconds` have passed.
pub(crate) fn go_on(shell: &Shell, args: &[&str], seconds: u64) -> Result<bool, String> {
    let mut cargo = shell.cargo(["test", "--no-fail-fast"]);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let rotate = clock.map_or(0, |since| since.as_secs());
    println!("seeds of {rotate}: HUON_ROTATE={rotate} replays them");
    cargo.args(args).env("HUON_SECONDS", seconds.to_string());
    cargo.env("HUON_PROOF", "1").env("HUON_ROTATE", rotate.to_string());
    let mut summary = listen_to(&mut cargo)?;
    summary.judge_passed();
    println!("\n{}", summary.verdict());
    Ok(summary.good())
}

/// Runs `cargo`, shows what it prints line by line and tells `summary`.
pub(crate) fn listen(
    cargo: &mut Command,
    summary: &mut Summary,
    show: &mut dyn FnMut(&str),
) -> std::io::Result<ExitStatus> {
    eprintln!("+ {}", shown(cargo));
    // One pipe for both outputs keeps the order in which things happened.
    let (reader, writer) = std::io::pipe()?;
    cargo.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = cargo.spawn()?;
    // The command still holds our ends for writing; without them the pipe ends with its users.
    cargo.stdout(Stdio::null()).stderr(Stdio::null());
    let lines = lines(reader);
    let mut ended = None;
    loop {
        match lines.recv_timeout(OUTLIVE_MAX) {
            Ok(line) => {
                show(&line);
                summary.line(line.trim_end());
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
            Err(RecvTimeoutError::Timeout) => match ended {
                // Waiting for the end of the pipe could take for ever.
                Some(status) => {
                    summary.problem("a process that a test started outlived the run");
                    return Ok(status);
                }
                None => ended = child.try_wait()?,
            },
        }
    }
}

/// The lines that come out of a pipe, read by a thread of their own.
fn lines(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The check of what users build with the oldest compiler we promise; without rustup's having that,
/// why there is none.
fn oldest(shell: &Shell) -> Result<Command, String> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let listed = shell.command("rustup", ["toolchain", "list"]).stdin(Stdio::null()).output();
    let text = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned());
    // It may be there as `1.90` or with its last number, as `1.90.0`.
    let is_it =
        |name: &&str| name.strip_prefix(version).is_some_and(|rest| rest.starts_with(['-', '.']));
    let text = text.unwrap_or_default();
    let mut names = text.lines().filter_map(|line| line.split(' ').next());
    let installed = names.find(is_it).ok_or_else(|| {
        format!("Rust {version} is not here; `rustup toolchain install {version}`")
    })?;
    let mut check = shell.command("rustup", ["run", installed, "cargo", "check"]);
    check.args(["-p", "huon", "-p", "huon-cli", "-p", "huon-lmdb", "-p", "huon-mdbx"]);
    check.args(["-p", "huon-lsm", "-p", "huon-capi"]);
    check.arg("--target-dir").arg(shell.target.join("oldest"));
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_judged_by_the_share_that_was_asked_for() {
        assert_eq!([None, Some("20"), Some("0"), Some("x")].map(asked_share), [10, 20, 1, 10]);
    }

    #[test]
    fn a_run_that_takes_too_long_is_complained_of() {
        assert_eq!(too_long(0), None);
        assert_eq!(too_long(SECONDS_MAX), None);
        let complaint = too_long(SECONDS_MAX + 7).unwrap();
        assert!(complaint.starts_with("This run took 7 s longer than the 600 s "), "{complaint}");
    }
}
