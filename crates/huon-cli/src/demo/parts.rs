//! The other two processes, as the directing one sees them.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use super::Scene;
use crate::fail::{Code, Failure};

fn start(scene: &Scene, role: &str) -> Result<Child, Failure> {
    let failed = |e| Failure::io("cannot start another process", &e);
    Command::new(std::env::current_exe().map_err(failed)?)
        .args(["--role", role, "--batch", &scene.batch.to_string()])
        .args(["--max-entries", &scene.limit.to_string()])
        .arg("--dir")
        .arg(&scene.dir)
        .arg("--keep")
        .arg(&scene.file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)
}

fn lines(child: &mut Child) -> Result<Lines<BufReader<ChildStdout>>, Failure> {
    Ok(BufReader::new(child.stdout.take().ok_or_else(lost)?).lines())
}

fn lost() -> Failure {
    Failure::Told(Code::Io, "another process of the demo ended too early.".into())
}

/// Waits for an end that should be a good one.
fn wait(child: &mut Child) -> Result<(), Failure> {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(lost()),
    }
}

/// A writing process.
pub(super) struct Writer {
    child: Child,
    answers: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    passed_over: u64,
}

impl Writer {
    /// Starts one, and waits until it has opened the file: a reader that comes first would have it
    /// to itself.
    pub(super) fn start(scene: &Scene) -> Result<Writer, Failure> {
        let mut child = start(scene, "writer")?;
        let lines = lines(&mut child)?;
        let answers = child.stdin.take().ok_or_else(lost)?;
        let mut writer = Writer { child, answers, lines, passed_over: 0 };
        writer.next()?.ok_or_else(lost)?;
        writer.answer();
        Ok(writer)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many entries it has committed; `None` once it is through.
    pub(super) fn next(&mut self) -> Result<Option<u64>, Failure> {
        let line = self.lines.next().and_then(Result::ok).ok_or_else(lost)?;
        let (word, count) = line.split_once(' ').ok_or_else(lost)?;
        let count = count.parse().map_err(|_| lost())?;
        if word == "end" {
            self.passed_over = count;
            return Ok(None);
        }
        Ok(Some(count))
    }

    /// Lets it commit once more.
    pub(super) fn answer(&mut self) {
        // If it has ended, the next line tells.
        let _ = self.answers.write_all(b"\n");
    }

    pub(super) fn kill(mut self) -> Result<(), Failure> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(drop).map_err(|e| Failure::io("cannot kill the writer", &e))
    }

    /// Waits for its end; returns how many entries it could not store.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        wait(&mut self.child)?;
        Ok(self.passed_over)
    }
}

/// A recomputing process, and a thread that adds up what it says.
pub(super) struct Verifier {
    child: Child,
    sums: JoinHandle<(u64, u64)>,
}

impl Verifier {
    pub(super) fn start(scene: &Scene) -> Result<Verifier, Failure> {
        let mut child = start(scene, "verifier")?;
        let lines = lines(&mut child)?;
        let sums = thread::spawn(move || {
            let (mut snapshots, mut mismatches) = (0, 0);
            for line in lines.map_while(Result::ok) {
                snapshots += 1;
                let wrong = line.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
                mismatches += wrong.unwrap_or(1);
            }
            (snapshots, mismatches)
        });
        Ok(Verifier { child, sums })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it check the newest snapshot and end; returns the numbers of snapshots and mismatches.
    pub(super) fn finish(mut self) -> Result<(u64, u64), Failure> {
        drop(self.child.stdin.take());
        wait(&mut self.child)?;
        self.sums.join().map_err(|_| lost())
    }
}
