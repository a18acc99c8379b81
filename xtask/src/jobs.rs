//! Programs that run tests, a few at a time. What each of them prints is kept apart, and shown when
//! it has ended.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::summary::Summary;
use crate::test;

/// A program that runs tests.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) command: Command,
    /// It measures the machine: nothing runs beside it.
    pub(crate) is_alone: bool,
}

/// A job that has ended.
pub(crate) struct Done {
    pub(crate) name: String,
    pub(crate) summary: Summary,
    pub(crate) took: Duration,
}

/// Runs all jobs, the first ones first, `at_once` of them at a time; then those that run alone.
pub(crate) fn run(jobs: Vec<Job>, at_once: usize) -> Result<Vec<Done>, String> {
    let (alone, together): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.is_alone);
    let mut done = run_all(together, at_once)?;
    done.extend(run_all(alone, 1)?);
    Ok(done)
}

fn run_all(jobs: Vec<Job>, at_once: usize) -> Result<Vec<Done>, String> {
    let (jobs, done) = (Mutex::new(VecDeque::from(jobs)), Mutex::new(Vec::new()));
    let next = || jobs.lock().expect("no thread panics with it").pop_front();
    let work = || -> Result<(), String> {
        while let Some(job) = next() {
            let ended = run_one(job)?;
            done.lock().expect("no thread panics with it").push(ended);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no panic"));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    Ok(done.into_inner().expect("no thread panics with it"))
}

fn run_one(Job { name, mut command, .. }: Job) -> Result<Done, String> {
    let started = Instant::now();
    let (mut text, mut summary) = (String::new(), Summary::default());
    let mut show = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let status =
        test::listen(&mut command, &mut summary, &mut show).map_err(|e| format!("{name}: {e}"))?;
    summary.end(&name, status.success());
    let took = started.elapsed();
    println!("{text}\n{name}: {}, {:.1} s\n", summary.verdict(), took.as_secs_f64());
    Ok(Done { name, summary, took })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, script: &str, is_alone: bool) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job { name: name.to_owned(), command, is_alone }
    }

    const RESULT: &str = "echo 'running 1 test'; echo 'test a ... ok'; \
                          echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'";

    #[test]
    fn all_run_and_each_is_counted() {
        let jobs = vec![
            job("first", RESULT, false),
            job("alone", RESULT, true),
            job("dies", "echo 'running 1 test'; kill -SEGV $$", false),
            job("fails", "exit 3", false),
        ];
        let done = run(jobs, 2).unwrap();
        let passed = |name: &str| {
            let found = done.iter().find(|done| done.name == name).unwrap();
            (found.summary.passed(), found.summary.failed())
        };
        assert_eq!(["first", "alone"].map(passed), [(1, 0); 2]);
        assert_eq!(["dies", "fails"].map(passed), [(0, 1); 2]);
        assert_eq!(done.last().unwrap().name, "alone", "nothing is left to run beside it");
    }

    #[test]
    fn two_run_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let meet = |own: &str, other: &str| {
            let [own, other] = [own, other].map(|name| dir.path().join(name).display().to_string());
            let wait = format!("until [ -e {other} ]; do sleep 0.01; done; {RESULT}");
            job(&own, &format!("touch {own}; {wait}"), false)
        };
        let done = run(vec![meet("a", "b"), meet("b", "a")], 2).unwrap();
        assert!(done.iter().all(|done| done.summary.passed() == 1));
    }
}
