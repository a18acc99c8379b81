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
use std::sync::LazyLock;

use api::Api;
use driver::Driver;
use huon_testkit::c_calls::Interface;
use huon_testkit::c_calls::generate::{self, Program};
use huon_testkit::c_calls::run::{Counts, Library};
use huon_testkit::c_calls::suite::{self, CALLS, seeds};
use huon_testkit::random::digest_words;
use huon_testkit::{figures, scale};

static HUON: LazyLock<Api> = LazyLock::new(Api::huon);

fn library(api: &'static Api, is_ours: bool, program: &Program) -> Box<dyn Library> {
    Box::new(Driver::new(api, is_ours, program))
}

/// Runs a history on Huon; panics with a short one if it fails.
fn ours(seed: u64, compared: Option<u32>) -> Counts {
    let program = generate::make(seed, CALLS, Interface::Lmdb, compared);
    suite::run_or_panic("huon-lmdb", &program, |program| library(&HUON, true, program), || None)
}

#[test]
fn histories_are_as_the_model_says() {
    let seeds = seeds(|n| scale::seed("histories of calls", n));
    suite::each_is_as_the_model_says(&seeds, include_str!("must_happen.txt"), |seed| {
        ours(seed, None)
    });
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
