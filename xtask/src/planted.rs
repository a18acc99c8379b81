//! `cargo xtask planted`: does the suite notice the bugs that are planted for it?
//!
//! Builds the tests once with the feature that holds the bugs, shows that they pass with none of
//! them, and
//! runs each test binary against each bug until one fails. The tests do not know what is planted.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::Shell;

/// The bugs of `crates/huon/src/planted.rs`.
const BUGS: u32 = 10;
/// A binary that runs longer than this against a bug has not caught it; a hang counts as one too.
const PATIENCE: Duration = Duration::from_secs(300);

/// A test binary: the name of its source, and where it lies.
struct Binary {
    name: String,
    path: PathBuf,
}

/// Prints the matrix; false if a bug was not caught, or something is caught where nothing is.
pub(crate) fn run(shell: &Shell) -> Result<bool, String> {
    let binaries = build(shell)?;
    println!("bug  caught by                 after");
    let mut all = true;
    for bug in 0..=BUGS {
        let start = Instant::now();
        let mut caught = None;
        for binary in &binaries {
            if !passes(shell, binary, bug)? {
                caught = Some(&binary.name);
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        match (bug, caught) {
            (0, None) => println!("none nothing, as it should be  {seconds:.1} s"),
            (0, Some(name)) => return Err(format!("{name} fails with no bug planted")),
            (_, Some(name)) => println!("{bug:<4} {name:<25} {seconds:.1} s"),
            (_, None) => println!("{bug:<4} NOT CAUGHT                {seconds:.1} s"),
        }
        all &= bug == 0 || caught.is_some();
    }
    Ok(all)
}

/// Builds the tests with the bugs in them.
fn build(shell: &Shell) -> Result<Vec<Binary>, String> {
    let target = shell.target.join("planted");
    let features = "huon/planted,huon/simulation";
    let mut cargo = shell.cargo(["test", "--no-run", "-p", "huon", "-p", "huon-testkit"]);
    cargo.args(["--lib", "--tests", "--features", features]).env("CARGO_TARGET_DIR", target);
    let output = cargo.stderr(Stdio::piped()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the tests do not build with the bugs:\n{text}"));
    }
    let binaries: Vec<Binary> = text.lines().filter_map(|line| binary(shell, line)).collect();
    match binaries.is_empty() {
        true => Err("cargo named no test binary".into()),
        false => Ok(binaries),
    }
}

/// Reads `  Executable tests/crash.rs (/path/to/it)`.
fn binary(shell: &Shell, line: &str) -> Option<Binary> {
    let rest = line.trim().strip_prefix("Executable ")?;
    let (name, path) = rest.trim_end_matches(')').rsplit_once(" (")?;
    let name = name.trim_start_matches("unittests ").to_owned();
    Some(Binary { name, path: shell.root.join(path) })
}

fn passes(shell: &Shell, binary: &Binary, bug: u32) -> Result<bool, String> {
    let mut child = Command::new(&binary.path)
        .current_dir(&shell.root)
        .env("HUON_PLANTED", bug.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", binary.path.display()))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.success());
        }
        if start.elapsed() > PATIENCE {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
