//! `cargo xtask miri`: chosen tests under Miri, which interprets them and stops at undefined
//! behaviour and leaks; as if on three machines.
//!
//! The tests know that Miri runs them (`cfg!(miri)`) and do less. They see no files and no clock
//! but Miri's own, so each run is like the one before. Where references may point (Stacked Borrows)
//! is checked on the first machine only: it is the same on all, and takes two thirds of the time.

use crate::jobs::{self, Job};
use crate::nightly::Nightly;
use crate::outcome::Outcome;
use crate::shell::Shell;

/// Targets, and Miri's flags for each: on the last, alignment by what was promised instead of by
/// the address that it happens to be.
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
    for (machine, flags) in machines {
        for (binary, tests) in BINARIES.iter() {
            let mut command = nightly.cargo(shell, &["miri", "test", "--target", machine]);
            command.args(*binary).arg("--").args(*tests).env("MIRIFLAGS", flags);
            jobs.push(Job { name: (*machine).to_owned(), command, is_alone: false });
        }
    }
    let ended = jobs::run(jobs, AT_ONCE)?;
    let mut figures: Vec<(String, u64)> = Vec::new();
    let mut good = !ended.is_empty();
    for jobs::Done { name: machine, mut summary, .. } in ended {
        summary.judge_passed();
        good &= summary.good();
        let name = machine.split('-').next().unwrap_or_default();
        let name = format!("miri.{name}.tests");
        match figures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += summary.passed(),
            None => figures.push((name, summary.passed())),
        }
    }
    figures.iter().for_each(|(name, count)| println!("{name} {count}"));
    Ok(if good { Outcome::Passed(figures) } else { Outcome::Failed })
}
