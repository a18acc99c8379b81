//! Random histories of calls: with every flag, several cursors, nested transactions, and all kinds
//! of tables. Huon answers each call as the model in `huon_testkit::c_calls` says, misuse among
//! them, and what a history leaves passes the full check.
//!
//! A history that fails is made short and printed; `HUON_SEED` runs one again, and
//! `HUON_MDBX_LIBRARY` names a libmdbx that says beside each call what it would have answered.

mod api;
mod driver;

use std::fmt::Write;
use std::mem::ManuallyDrop;
use std::time::Duration;

use api::Api;
use driver::Driver;
use huon_testkit::c_calls::Interface;
use huon_testkit::c_calls::generate::{self, Program};
use huon_testkit::c_calls::run::{self, Counts, Library};
use huon_testkit::history::Failure;
use huon_testkit::shrink::shrink;
use huon_testkit::{figures, scale};

/// How many calls a history has, and how many histories there are in a proof.
const CALLS: usize = 300;
const HISTORIES: u64 = 1500;
/// Names another library, whose answers stand beside a history that failed.
const OTHER_LIBRARY: &str = "HUON_MDBX_LIBRARY";

/// What must have happened in a run: how each call can end that does not always end so.
const MUST_HAPPEN: &str = include_str!("must_happen.txt");

/// A history that failed, made short, as text; and what the library of [`OTHER_LIBRARY`] answers.
fn shortened(api: &'static Api, program: &Program, failure: Failure) -> String {
    let again = |program: &Program| run_on(api, program);
    let (small, how) = shrink(program, failure, Duration::from_secs(20), again);
    let mut text = format!("environment {:#x}, {:?}\n", small.flags, small.rules);
    let mut other = std::env::var(OTHER_LIBRARY).ok().map(|name| {
        let library = Box::leak(Box::new(load(&name)));
        ManuallyDrop::new(driver(Box::leak(Box::new(Api::of(library))), false, &small))
    });
    for op in &small.ops {
        let _ = match &mut other {
            Some(other) => writeln!(text, "  {op}: {}", other.call(op)),
            None => writeln!(text, "  {op}"),
        };
    }
    format!("{text}{}", how.what)
}

fn load(name: &str) -> libloading::Library {
    // SAFETY: what libmdbx does when it is loaded is to set itself up.
    unsafe { libloading::Library::new(name) }.unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn driver(api: &'static Api, is_ours: bool, program: &Program) -> Driver {
    let limits = [program.rules.tables_max, program.rules.readers_max];
    Driver::new(api, is_ours, program.flags, limits)
}

/// Runs a history on Huon.
fn run_on(api: &'static Api, program: &Program) -> Result<Counts, Failure> {
    run::run(program, |program| Box::new(driver(api, true, program)) as Box<dyn Library>)
}

/// The seeds of a run; one alone is for looking at it again.
fn seeds() -> Vec<u64> {
    let of = |n| scale::seed("histories of libmdbx", n);
    match std::env::var("HUON_SEED") {
        Ok(seed) => vec![seed.parse().expect("HUON_SEED is a number")],
        Err(_) => (0..scale::share(HISTORIES)).map(of).collect(),
    }
}

#[test]
fn histories_are_as_the_model_says() {
    let api: &'static Api = Box::leak(Box::new(Api::huon()));
    let mut all = Counts::default();
    let seeds = seeds();
    for &seed in &seeds {
        let program = generate::make(seed, CALLS, Interface::Mdbx, None);
        let counts = run_on(api, &program).unwrap_or_else(|failure| {
            let text = shortened(api, &program, failure);
            panic!(
                "{text}\nreplay: HUON_SEED={seed} cargo test -p huon-mdbx --test histories -- \
                 --nocapture"
            )
        });
        all.merge(&counts);
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
