//! What the tests of both interfaces do with histories.

use std::fmt::Write;
use std::time::Duration;

use super::generate::Program;
use super::run::{Counts, Library, run};
use crate::history::Failure;
use crate::support::shrink::shrink;
use crate::support::{figures, scale};

/// How many calls a history has.
pub const CALLS: usize = 300;
/// How many histories there are in a proof.
const HISTORIES: u64 = 1500;

/// The seeds of a run, by their numbers; `HUON_SEED` names one alone, to look at it again.
pub fn seeds(of: impl Fn(u64) -> u64) -> Vec<u64> {
    match std::env::var("HUON_SEED") {
        Ok(seed) => vec![seed.parse().expect("HUON_SEED is a number")],
        Err(_) => (0..scale::share(HISTORIES)).map(of).collect(),
    }
}

/// Runs a history of each seed, as `one` does it. What `must_happen` names, a line each, must have
/// happened in them.
pub fn each_is_as_the_model_says(seeds: &[u64], must_happen: &str, one: impl Fn(u64) -> Counts) {
    let mut all = Counts::default();
    seeds.iter().for_each(|seed| all.merge(&one(*seed)));
    println!("{} histories, {} calls", seeds.len(), all.calls);
    figures::add("model", all.calls);
    figures::add("audit", seeds.len() as u64);
    if seeds.len() == 1 || !scale::has_minimums() {
        return;
    }
    let never: Vec<&str> = must_happen.lines().filter(|what| all.of(what) == 0).collect();
    assert!(never.is_empty(), "these never happened: {never:?}");
}

/// Runs a history of the tests of `package`; panics with a short one if it fails, with the answers
/// of another library beside its calls if there is one.
pub fn run_or_panic(
    package: &str,
    program: &Program,
    open: impl Fn(&Program) -> Box<dyn Library>,
    other: impl FnOnce() -> Option<Box<dyn Library>>,
) -> Counts {
    run(program, &open).unwrap_or_else(|failure| {
        let text = shortened(program, failure, open, other());
        panic!(
            "{text}\nreplay: HUON_SEED={} cargo test -p {package} --test histories -- --nocapture",
            program.seed
        )
    })
}

/// A history that failed, made short, as text.
pub fn shortened(
    program: &Program,
    failure: Failure,
    open: impl Fn(&Program) -> Box<dyn Library>,
    mut other: Option<Box<dyn Library>>,
) -> String {
    let again = |program: &Program| run(program, &open);
    let (small, how) = shrink(program, failure, Duration::from_secs(20), again);
    let mut text = format!("environment {:#x}, {:?}\n", small.flags, small.rules);
    for op in &small.ops {
        let _ = match &mut other {
            Some(other) => writeln!(text, "  {op}: {}", other.call(op)),
            None => writeln!(text, "  {op}"),
        };
    }
    // What the calls have done to it may make it fail when it is put away.
    std::mem::forget(other);
    text + &how.what
}
