//! `cargo xtask test`: every test, then the summary.
//!
//! Tests append to the file named by `HUON_FIGURES` (see `huon_testkit::figures`); `summary` reads
//! it together with cargo's own output.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::outcome::Outcome;
use crate::shell::{Shell, shown};
use crate::summary::Summary;

/// What `make test` may take on two cores, the build included.
const SECONDS_MAX: u64 = 600;

/// How long a process may keep the output open after cargo has ended (and once more as long).
const OUTLIVE_MAX: Duration = Duration::from_secs(2);

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
    let summary = suite(shell, args, Size::Tenth)?;
    let seconds = started.elapsed().as_secs();
    println!("\n{seconds} s, build included (at most {SECONDS_MAX} s on two cores)");
    print!("{}", summary.report());
    Ok(summary.good())
}

/// Runs the tests and takes in what they say.
pub(crate) fn suite(shell: &Shell, args: &[String], size: Size) -> Result<Summary, String> {
    let mut cargo = shell.cargo(["test", "--no-fail-fast"]);
    if args.is_empty() {
        cargo.arg("--workspace");
    }
    cargo.args(args);
    if let Size::Full(rotate) = size {
        cargo.env("HUON_PROOF", "1").env("HUON_ROTATE", rotate.to_string());
    }
    let mut summary = with_figures(shell, &mut cargo)?;
    if args.is_empty() {
        minimum_version(shell, &mut summary)?;
        summary.judge_kinds();
        summary.judge_minimums(if size == Size::Tenth { 10 } else { 1 });
    }
    Ok(summary)
}

/// Runs `cargo` and takes in what it prints and the figures of its tests.
fn with_figures(shell: &Shell, cargo: &mut Command) -> Result<Summary, String> {
    let dir = shell.target.join("huon-figures");
    let figures = dir.join(format!("{}.txt", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    File::create(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;

    let mut summary = Summary::default();
    let show = &mut |line: &str| println!("{line}");
    let status = listen(cargo.env("HUON_FIGURES", &figures), &mut summary, show);
    summary.end(status.map_err(|e| format!("cargo test: {e}"))?.success());

    let text = std::fs::read_to_string(&figures);
    summary.figures(&text.map_err(|e| format!("{}: {e}", figures.display()))?);
    let _ = std::fs::remove_file(&figures);
    Ok(summary)
}

/// Runs a part of the tests that is built in a way of its own, called `name` in the figures; it has
/// failed if there is none.
pub(crate) fn part(shell: &Shell, name: &str, cargo: &mut Command) -> Result<Outcome, String> {
    let mut summary = with_figures(shell, cargo)?;
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
    let mut summary = Summary::default();
    let show = &mut |line: &str| println!("{line}");
    let status = listen(&mut cargo, &mut summary, show).map_err(|e| format!("cargo test: {e}"))?;
    summary.end(status.success());
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

/// Checks what users build with the oldest compiler we promise, if rustup has it.
fn minimum_version(shell: &Shell, summary: &mut Summary) -> Result<(), String> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let name = "minimum Rust version";
    let listed = shell.command("rustup", ["toolchain", "list"]).stdin(Stdio::null()).output();
    let installed = listed.ok().and_then(|listed| {
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        // It may be there as `1.90` or with its last number, as `1.90.0`.
        let is_it = |name: &str| {
            name.strip_prefix(version).is_some_and(|rest| rest.starts_with(['-', '.']))
        };
        text.lines()
            .filter_map(|line| line.split(' ').next())
            .find(|name| is_it(name))
            .map(str::to_owned)
    });
    let Some(installed) = installed else {
        let how = format!("Rust {version} is not here; `rustup toolchain install {version}`");
        summary.skip(name, &how);
        return Ok(());
    };
    let mut check = shell.command("rustup", ["run", &installed, "cargo", "check"]);
    check.args(["-p", "huon", "-p", "huon-cli", "-p", "huon-lmdb", "-p", "huon-mdbx"]);
    check.arg("--target-dir").arg(shell.target.join("oldest"));
    if shell.run(&mut check)? {
        summary.pass();
    } else {
        summary.problem(format!("{name}: does not build with Rust {version}"));
    }
    Ok(())
}
