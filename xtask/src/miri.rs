//! `cargo xtask miri`: chosen tests under Miri, which interprets them and stops at undefined
//! behaviour and leaks; as if on three machines.
//!
//! The tests know that Miri runs them (`cfg!(miri)`) and do less. They see no files and no clock
//! but Miri's own, so each run is like the one before. Where references may point (Stacked Borrows)
//! is checked on the first machine only: it is the same on all, and takes two thirds of the time.

use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use crate::nightly::Nightly;
use crate::outcome::Outcome;
use crate::shell::Shell;
use crate::summary::Summary;
use crate::test;

/// Targets, and what Miri is asked for or spared: on the last, alignment by what was promised
/// instead of by the address that it happens to be.
const MACHINES: [(&str, &str); 3] = [
    ("x86_64-unknown-linux-gnu", "-Zmiri-strict-provenance"),
    ("s390x-unknown-linux-gnu", "-Zmiri-strict-provenance -Zmiri-disable-stacked-borrows"),
    ("i686-unknown-linux-gnu", "-Zmiri-symbolic-alignment-check -Zmiri-disable-stacked-borrows"),
];

/// The test binaries, with the tests of each by the beginnings of their paths.
const BINARIES: [(&[&str], &[&str]); 2] = [
    (&["-p", "huon-testkit", "--test", "histories"], &["small::tables", "small::kills"]),
    (
        &["-p", "huon", "--lib"],
        &[
            "os::map_pages::",
            "page::tests::branch::every_insertion_order",
            "page::tests::divide::every_pair",
            "page::tests::hostile::false_sums",
            "page::tests::leaf::every_",
            "page::tests::records::",
        ],
    ),
];

/// Interpreters that run at once.
const AT_ONCE: usize = 2;

struct Job {
    machine: &'static str,
    command: Command,
}

/// Runs the tests on all machines, or on those whose name begins with `only`.
pub(crate) fn run(shell: &Shell, only: &str) -> Result<Outcome, String> {
    let nightly = match Nightly::find(shell, &["miri", "rust-src"]) {
        Ok(nightly) => nightly,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let machines: Vec<_> = MACHINES.iter().filter(|(name, _)| name.starts_with(only)).collect();
    for (machine, _) in &machines {
        let mut setup = nightly.cargo(shell, &["miri", "setup", "--target", machine]);
        if !shell.run(&mut setup)? {
            return Err(format!("no standard library for {machine}"));
        }
    }
    let mut jobs = Vec::new();
    for (machine, flags) in machines.into_iter().rev() {
        for (binary, tests) in BINARIES.iter().rev() {
            let mut command = nightly.cargo(shell, &["miri", "test", "--target", machine]);
            command.args(*binary).arg("--").args(*tests).env("MIRIFLAGS", flags);
            jobs.push(Job { machine, command });
        }
    }
    let summaries = run_all(jobs)?;
    let mut figures: Vec<(String, u64)> = Vec::new();
    let mut good = !summaries.is_empty();
    for (machine, summary) in &summaries {
        good &= summary.good();
        let name = machine.split('-').next().unwrap_or(machine);
        let name = format!("miri.{name}.tests");
        match figures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += summary.passed(),
            None => figures.push((name, summary.passed())),
        }
    }
    figures.iter().for_each(|(name, count)| println!("{name} {count}"));
    Ok(if good { Outcome::Passed(figures) } else { Outcome::Failed })
}

/// Runs all jobs, the last one first, a few at once; prints what each said when it has ended.
fn run_all(jobs: Vec<Job>) -> Result<Vec<(&'static str, Summary)>, String> {
    let (jobs, done) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let next = || jobs.lock().expect("nobody panics with it").pop();
    let work = || -> Result<(), String> {
        while let Some(Job { machine, mut command }) = next() {
            let started = Instant::now();
            let (mut text, mut summary) = (String::new(), Summary::default());
            let mut show = |line: &str| {
                text.push_str(line);
                text.push('\n');
            };
            let status = test::listen(&mut command, &mut summary, &mut show)
                .map_err(|e| format!("cargo miri: {e}"))?;
            summary.end(status.success());
            summary.judge_passed();
            let seconds = started.elapsed().as_secs();
            println!("{text}\n{machine}: {}, {seconds} s\n", summary.verdict());
            done.lock().expect("nobody panics with it").push((machine, summary));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no panic"));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    Ok(done.into_inner().expect("nobody panics with it"))
}
