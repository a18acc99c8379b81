//! `cargo xtask planted`: do the tests notice the bugs that are planted for them?
//!
//! 1. The tests are built once with the feature that holds the bugs, and once more for loom's
//!    models; with no bug planted they pass.
//! 2. Each test binary is a *kind* and runs against each bug, small first. A kind has caught a bug
//!    when it fails, or does not end. The tests do not know what is planted.
//! 3. A bug that no kind catches at a small size is tried again at the usual one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::Shell;

/// Where the bugs are listed.
const LIST: &str = "crates/huon/src/planted.rs";
/// A binary that runs longer than this against a bug is taken for one that hangs.
const PATIENCE: Duration = Duration::from_secs(240);
/// Binaries that run at once.
const AT_ONCE: usize = 2;
/// The part of the full figures that the first try runs.
const SMALL: &str = "100";

struct Bug {
    number: u32,
    what: String,
}

/// A test binary: its kind, and where it lies.
struct Binary {
    kind: String,
    path: PathBuf,
    args: Vec<String>,
}

/// What a binary said to a bug.
enum Verdict {
    Passed,
    Caught(Duration),
}

/// Prints the matrix; false if a bug was not caught, or something is caught where nothing is.
/// `only`: the numbers to try, or all.
pub(crate) fn run(shell: &Shell, only: &[u32]) -> Result<bool, String> {
    let bugs = bugs(shell)?;
    if let Some(unknown) = only.iter().find(|number| bugs.iter().all(|bug| bug.number != **number))
    {
        return Err(format!("{LIST} has no bug {unknown}"));
    }
    let mut binaries = build(shell, "planted", &[], "")?;
    binaries.extend(build(shell, "planted-loom", &["loom"], "--cfg loom")?);
    let healthy = caught(shell, &binaries, 0, SMALL)?;
    if let Some(kind) = healthy.keys().next() {
        return Err(format!("{kind} fails with no bug planted"));
    }
    let kinds: Vec<&String> = binaries.iter().map(|binary| &binary.kind).collect();
    let heads: String = kinds.iter().map(|kind| format!(" {kind} |")).collect();
    println!("| bug |{heads} what is left out |");
    println!("|---|{}---|", "---|".repeat(kinds.len()));
    let mut all = true;
    for bug in bugs.iter().filter(|bug| only.is_empty() || only.contains(&bug.number)) {
        let mut found = caught(shell, &binaries, bug.number, SMALL)?;
        if found.is_empty() {
            found = caught(shell, &binaries, bug.number, "10")?;
        }
        let cells = kinds.iter().map(|kind| match found.get(*kind) {
            Some(after) => format!(" {:.1} s |", after.as_secs_f64()),
            None => " |".to_owned(),
        });
        let cells: String = cells.collect();
        let miss = if found.is_empty() { " **not caught**" } else { "" };
        println!("| {} |{cells} {}{miss} |", bug.number, bug.what);
        all &= !found.is_empty();
    }
    Ok(all)
}

/// Reads the table at the head of the list.
fn bugs(shell: &Shell) -> Result<Vec<Bug>, String> {
    let text =
        std::fs::read_to_string(shell.root.join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let bugs: Vec<Bug> = text.lines().filter_map(row).collect();
    match bugs.is_empty() {
        true => Err(format!("{LIST} lists no bugs")),
        false => Ok(bugs),
    }
}

/// Reads `//! | 7 | what |`.
fn row(line: &str) -> Option<Bug> {
    let (number, what) = line.strip_prefix("//! | ")?.strip_suffix(" |")?.split_once(" | ")?;
    Some(Bug { number: number.parse().ok()?, what: what.to_owned() })
}

/// Builds the tests with the bugs in them.
fn build(shell: &Shell, at: &str, filter: &[&str], flags: &str) -> Result<Vec<Binary>, String> {
    let target = shell.target.join(at);
    let mut cargo = shell.cargo(["test", "--no-run", "-p", "huon", "--lib"]);
    if flags.is_empty() {
        cargo.args(["-p", "huon-testkit", "--tests", "--features", "huon/planted,huon/simulation"]);
    } else {
        cargo.args(["--release", "--features", "planted"]).env("RUSTFLAGS", flags);
    }
    let output = cargo
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the tests do not build with the bugs:\n{text}"));
    }
    let named = |line| binary(shell, line, filter);
    let binaries: Vec<Binary> = text.lines().filter_map(named).collect();
    match binaries.is_empty() {
        true => Err("cargo named no test binary".into()),
        false => Ok(binaries),
    }
}

/// Reads `  Executable tests/crash.rs (/path/to/it)`.
fn binary(shell: &Shell, line: &str, filter: &[&str]) -> Option<Binary> {
    let rest = line.trim().strip_prefix("Executable ")?;
    let (name, path) = rest.trim_end_matches(')').rsplit_once(" (")?;
    let name = name.trim_start_matches("unittests ");
    let of_kit = path.contains("huon_testkit");
    let kind = match (filter, name) {
        ([filter, ..], _) => (*filter).to_owned(),
        (_, "src/lib.rs") if of_kit => return None,
        (_, "src/lib.rs") => "unit".to_owned(),
        (_, name) => name.trim_start_matches("tests/").trim_end_matches(".rs").to_owned(),
    };
    let args = filter.iter().map(|filter| (*filter).to_owned()).collect();
    Some(Binary { kind, path: shell.root.join(path), args })
}

/// Which kinds catch bug `number`, and after how long.
fn caught(
    shell: &Shell,
    binaries: &[Binary],
    number: u32,
    part: &str,
) -> Result<BTreeMap<String, Duration>, String> {
    let mut waiting = binaries.iter();
    let mut running: Vec<(&Binary, Instant, Child)> = Vec::new();
    let mut found = BTreeMap::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(binary) = waiting.next()
        {
            running.push((binary, Instant::now(), start(shell, binary, number, part)?));
        }
        if running.is_empty() {
            return Ok(found);
        }
        let mut still = Vec::new();
        for (binary, since, mut child) in running {
            match ended(&mut child, since)? {
                None => still.push((binary, since, child)),
                Some(Verdict::Passed) => {}
                Some(Verdict::Caught(after)) => {
                    found.insert(binary.kind.clone(), after);
                }
            }
        }
        running = still;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(shell: &Shell, binary: &Binary, number: u32, part: &str) -> Result<Child, String> {
    Command::new(&binary.path)
        .args(&binary.args)
        .current_dir(&shell.root)
        .env("HUON_PLANTED", number.to_string())
        .env("HUON_SHARE", part)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", binary.path.display()))
}

fn ended(child: &mut Child, since: Instant) -> Result<Option<Verdict>, String> {
    if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
        return Ok(Some(match status.success() {
            true => Verdict::Passed,
            false => Verdict::Caught(since.elapsed()),
        }));
    }
    if since.elapsed() < PATIENCE {
        return Ok(None);
    }
    child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
    Ok(Some(Verdict::Caught(since.elapsed())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let bug = row("//! | 101 | P1: the new generation |").unwrap();
        assert_eq!((bug.number, &*bug.what), (101, "P1: the new generation"));
        assert!(row("//! | no. | what is left out |").is_none());
        assert!(row("//! |---|---|").is_none());
    }

    #[test]
    fn every_bug_in_the_list_is_planted_somewhere() {
        let shell = Shell::new().unwrap();
        let sources = crate::source::files(&shell.root).unwrap();
        for bug in bugs(&shell).unwrap() {
            let call = format!("planted::is({})", bug.number);
            assert!(sources.iter().any(|file| file.text.contains(&call)), "{call} is nowhere");
        }
    }
}
