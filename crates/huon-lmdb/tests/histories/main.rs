//! Random histories of calls: with every flag, several cursors, nested transactions, and all kinds
//! of databases.
//!
//! 1. Huon answers each call as the model in `huon_testkit::c_calls` says, misuse among them, and
//!    what a history leaves passes the full check.
//! 2. LMDB's own library, where it is installed, answers the same, and so does Huon in the same
//!    history: their traces are equal. Calls by which LMDB is known to differ, or to be wrong, are
//!    left out of such a history by named rules, and counted.
//! 3. LMDB runs in a process of its own ([`theirs`]), since some histories end it.
//!
//! A history that fails is made short and printed; `HUON_SEED` runs one again.

mod api;
mod driver;
mod theirs;

use std::fmt::Write;
use std::time::Duration;

use api::Api;
use driver::Driver;
use huon_testkit::c_calls::Interface;
use huon_testkit::c_calls::generate::{self, Program};
use huon_testkit::c_calls::run::{self, Counts, Library};
use huon_testkit::history::Failure;
use huon_testkit::random::digest_words;
use huon_testkit::shrink::shrink;
use huon_testkit::{figures, scale};

/// How many calls a history has, and how many histories there are in a proof.
const CALLS: usize = 300;
const HISTORIES: u64 = 1500;

/// What must have happened in a run: how each call can end that does not always end so.
const MUST_HAPPEN: &str = include_str!("must_happen.txt");

/// Runs a history on a library.
fn run_on(api: &'static Api, is_ours: bool, program: &Program) -> Result<Counts, Failure> {
    run::run(program, |program| {
        let limits = [program.rules.tables_max, program.rules.readers_max];
        Box::new(Driver::new(api, is_ours, program.flags, limits)) as Box<dyn Library>
    })
}

/// A history that failed, made short, as text.
fn shortened(api: &'static Api, is_ours: bool, program: &Program, failure: Failure) -> String {
    let again = |program: &Program| run_on(api, is_ours, program);
    let (small, how) = shrink(program, failure, Duration::from_secs(20), again);
    let mut text = String::new();
    for op in &small.ops {
        let _ = writeln!(text, "  {op}");
    }
    format!("environment {:#x}, {:?}\n{text}{}", small.flags, small.rules, how.what)
}

fn huon() -> &'static Api {
    Box::leak(Box::new(Api::huon()))
}

/// The seeds of a run; one alone is for looking at it again.
fn seeds(of: impl Fn(u64) -> u64) -> Vec<u64> {
    match std::env::var("HUON_SEED") {
        Ok(seed) => vec![seed.parse().expect("HUON_SEED is a number")],
        Err(_) => (0..scale::share(HISTORIES)).map(of).collect(),
    }
}

/// Runs a history on Huon; panics with a short one if it fails.
fn ours(seed: u64, compared: Option<u32>) -> Counts {
    let program = generate::make(seed, CALLS, Interface::Lmdb, compared);
    let api = huon();
    run_on(api, true, &program).unwrap_or_else(|failure| {
        let text = shortened(api, true, &program, failure);
        panic!(
            "{text}\nreplay: HUON_SEED={seed} cargo test -p huon-lmdb --test histories -- \
             --nocapture"
        )
    })
}

#[test]
fn histories_are_as_the_model_says() {
    let mut all = Counts::default();
    let seeds = seeds(|n| scale::seed("histories of calls", n));
    for &seed in &seeds {
        all.merge(&ours(seed, None));
    }
    println!("{} histories, {} calls", seeds.len(), all.calls);
    figures::add("model", all.calls);
    figures::add("audit", seeds.len() as u64);
    if seeds.len() == 1 || !scale::has_minimums() {
        return;
    }
    let never: Vec<&str> = MUST_HAPPEN.lines().filter(|what| all.of(what) == 0).collect();
    assert!(never.is_empty(), "these never happened: {never:?}");
}

#[test]
fn histories_are_those_of_lmdb() {
    const NAME: &str = "histories_are_those_of_lmdb";
    if theirs::is_child() {
        return theirs::play();
    }
    let version = match theirs::version() {
        Ok(version) => version,
        Err(why) => return figures::skip(NAME, &why),
    };
    // The same ones for each commit, unless others are asked for: not all of LMDB's differences are
    // known, and one history in thousands shows another.
    let first = std::env::var("HUON_FIRST_SEED").map_or(0, |n| n.parse().expect("a number"));
    let seeds = seeds(|n| digest_words(&[first + n, CALLS as u64]));
    let theirs = theirs::traces(NAME, &seeds);
    let mut all = Counts::default();
    let mut ended = 0;
    for (&seed, theirs) in seeds.iter().zip(&theirs) {
        let counts = ours(seed, Some(version));
        match theirs {
            Some(trace) => assert_eq!(*trace, counts.trace, "seed {seed}: traces differ"),
            None => ended += 1,
        }
        all.merge(&counts);
    }
    println!("LMDB 0.9.{version}: {} histories, {} calls", seeds.len(), all.calls);
    println!("{ended} ended its process");
    let mut table = String::from("| left out because of | calls |\n|---|--:|\n");
    for (rule, count) in &all.left {
        let _ = writeln!(table, "| {rule} | {count} |");
    }
    figures::table("calls that were not compared with LMDB's", &table);
    figures::add("model", all.calls);
    let left: u64 = all.left.values().sum();
    assert!(seeds.len() == 1 || all.calls > 4 * left, "most calls are left out: {left}");
    assert!(ended * 50 <= seeds.len(), "{ended} of {} histories end LMDB", seeds.len());
}
