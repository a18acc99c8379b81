//! Random histories of calls: with every flag, several cursors, nested transactions, and all kinds
//! of tables. Huon answers each call as the model in `huon_testkit::calls` says, misuse among them,
//! and what a history leaves passes the full check.
//!
//! A history that fails is made short and printed; `HUON_SEED` runs one again.

mod api;
mod driver;

use std::fmt::Write;
use std::time::Duration;

use api::Api;
use driver::Driver;
use huon_testkit::calls::Interface;
use huon_testkit::calls::maker::{self, Program};
use huon_testkit::calls::run::{self, Counts, Failure, Library};
use huon_testkit::{figures, scale};

/// How many calls a history has, and how many histories there are in a proof.
const CALLS: usize = 300;
const HISTORIES: u64 = 1500;

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
    let (small, how) = run::shrink(program, failure, Duration::from_secs(5), again);
    let mut text = String::new();
    for op in &small.ops {
        let _ = writeln!(text, "  {op}");
    }
    if let Ok(name) = std::env::var("HUON_MDBX_LIBRARY") {
        let library = unsafe { libloading::Library::new(&name) }.expect("library");
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        let api: &'static Api = Box::leak(Box::new(Api::of(library).expect("api")));
        unsafe { api_setup(library) };
        let limits = [small.rules.tables_max, small.rules.readers_max];
        let mut driver = Driver::new(api, false, small.flags, limits);
        for op in &small.ops {
            eprintln!("libmdbx: {op} -> {}", driver.call(op));
        }
        std::mem::forget(driver);
    }
    format!("environment {:#x}, {:?}\n{text}{}", small.flags, small.rules, how.what)
}

unsafe fn api_setup(library: &'static libloading::Library) {
    type Setup = unsafe extern "C" fn(i32, i32, *const u8) -> i32;
    let setup = unsafe { *library.get::<Setup>(b"mdbx_setup_debug").unwrap() };
    unsafe { setup(0, 0, std::ptr::null()) };
}

/// The seeds of a run; one alone is for looking at it again.
fn seeds() -> Vec<u64> {
    match std::env::var("HUON_SEED") {
        Ok(seed) => vec![seed.parse().expect("HUON_SEED is a number")],
        Err(_) => {
            (0..scale::share(HISTORIES)).map(|n| scale::seed("histories of libmdbx", n)).collect()
        }
    }
}

#[test]
fn histories_are_as_the_model_says() {
    let api: &'static Api = Box::leak(Box::new(Api::huon()));
    let mut all = Counts::default();
    let seeds = seeds();
    for &seed in &seeds {
        let program = maker::make(seed, CALLS, Interface::Mdbx, None);
        let counts = run_on(api, true, &program).unwrap_or_else(|failure| {
            let text = shortened(api, true, &program, failure);
            if std::env::var("HUON_MANY").is_ok() {
                eprintln!("----- seed {seed}\n{text}");
                return Counts::default();
            }
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
}
