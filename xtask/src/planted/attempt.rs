//! One kind of tests against one bug.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::kinds::Kind;
use crate::shell::Shell;

/// What is longer than this between two looks is not the tests' time.
const LONGEST_STEP: Duration = Duration::from_millis(200);

/// How long a kind may run.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit {
    limit: Duration,
    /// A test that reaches the limit counts as one that hangs.
    is_hang: bool,
}

impl TimeLimit {
    /// Enough for any kind.
    pub(crate) const ALL: TimeLimit = TimeLimit { limit: Duration::from_secs(900), is_hang: true };

    /// For a kind that takes `seconds` when nothing is wrong.
    pub(crate) fn of(seconds: f64) -> TimeLimit {
        if seconds < 40.0 {
            TimeLimit { limit: Duration::from_secs(75), is_hang: true }
        } else {
            TimeLimit { limit: super::CUT, is_hang: false }
        }
    }
}

/// How it went.
pub(crate) struct Attempt {
    /// Until the first failure, or the end.
    pub(crate) seconds: f64,
    /// The test that failed first, as far as it is known.
    pub(crate) caught_by: Option<String>,
    /// It was cut short.
    pub(crate) is_cut: bool,
}

/// How a binary ended.
enum End {
    Good,
    Failed(String),
    LimitReached,
}

impl Attempt {
    /// Runs a kind's binaries, one after another, up to the first failure.
    pub(crate) fn new(
        shell: &Shell,
        kind: &Kind,
        bug: u32,
        share: u32,
        time_limit: TimeLimit,
    ) -> Result<Attempt, String> {
        let start = Instant::now();
        let mut left = time_limit.limit;
        // Tests that are killed leave their files.
        let scratch = shell.target.join("planted/scratch");
        std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        let (mut caught_by, mut is_cut) = (None, false);
        for path in &kind.binaries {
            let mut command = Command::new(path);
            command.args(kind.filter).current_dir(&shell.root).env("TMPDIR", &scratch);
            // Loom's threads have small stacks, which a backtrace overflows.
            command.env("RUST_BACKTRACE", "0");
            command.env("HUON_PLANTED", bug.to_string()).env("HUON_SHARE", share.to_string());
            match first_failure(&mut command, path, &mut left)? {
                End::Good => continue,
                End::Failed(test) => caught_by = Some(test),
                End::LimitReached if time_limit.is_hang => {
                    caught_by = Some(format!("{}, which hangs", name(path)));
                }
                End::LimitReached => is_cut = true,
            }
            break;
        }
        let seconds = start.elapsed().as_secs_f64();
        let _ = std::fs::remove_dir_all(&scratch);
        Ok(Attempt { seconds, caught_by, is_cut })
    }

    pub(crate) fn in_words(&self) -> String {
        match &self.caught_by {
            Some(test) => format!("{:6.1} s, caught by {test}", self.seconds),
            None if self.is_cut => format!("{:6.1} s, cut short", self.seconds),
            None => format!("{:6.1} s", self.seconds),
        }
    }
}

/// A binary without the hash that cargo adds.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('-').map_or(&*name, |(name, _)| name).to_owned()
}

/// Runs a test binary until a test of it fails, or no time is `left`. Time in which the machine
/// sleeps does not count.
fn first_failure(command: &mut Command, path: &Path, left: &mut Duration) -> Result<End, String> {
    let words = |e| format!("{}: {e}", path.display());
    // A group of its own: tests start processes.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(words)?;
    let failures = failures(child.stdout.take().ok_or("no pipe")?);
    let mut before = Instant::now();
    let how = loop {
        match failures.recv_timeout(Duration::from_millis(20)) {
            Ok(test) => break End::Failed(test),
            // It may have closed its output without having ended.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(20)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(status) = child.try_wait().map_err(words)? {
            // What it said last is still to be read.
            let said = failures.recv_timeout(Duration::from_secs(1)).ok();
            let test = || said.unwrap_or_else(|| format!("{}, which dies", name(path)));
            break if status.success() { End::Good } else { End::Failed(test()) };
        }
        *left = left.saturating_sub(before.elapsed().min(LONGEST_STEP));
        before = Instant::now();
        if left.is_zero() {
            break End::LimitReached;
        }
    };
    end(&mut child)?;
    Ok(how)
}

/// The names of the tests that fail, as they fail.
fn failures(stdout: ChildStdout) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if let Some(test) = failed(&line)
                && tell.send(test.to_owned()).is_err()
            {
                return;
            }
        }
    });
    told
}

/// Reads `test its::name ... FAILED`.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Kills what is left of a binary and of the processes it started.
fn end(child: &mut Child) -> Result<(), String> {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    child.wait().map(drop).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, seconds: u64) -> End {
        let mut left = Duration::from_secs(seconds);
        let mut command = Command::new("sh");
        first_failure(command.args(["-c", script]), Path::new("bin-0"), &mut left).unwrap()
    }

    fn failed_in(script: &str) -> String {
        match run(script, 100) {
            End::Failed(test) => test,
            _ => panic!("no failure"),
        }
    }

    #[test]
    fn the_first_failure_ends_it() {
        let script = "echo 'test a ... ok'; echo 'test b::c ... FAILED'; sleep 1000";
        assert_eq!(failed_in(script), "b::c");
        assert_eq!(failed_in("echo 'test d ... FAILED'; exit 101"), "d");
    }

    #[test]
    fn death_is_a_failure_and_a_limit_and_success_are_none() {
        assert_eq!(failed_in("kill -SEGV $$"), "bin, which dies");
        assert!(matches!(run("sleep 1000", 0), End::LimitReached));
        assert!(matches!(run("exec >&-; sleep 1000", 0), End::LimitReached));
        assert!(matches!(run("echo 'test a ... ok'", 100), End::Good));
    }
}
