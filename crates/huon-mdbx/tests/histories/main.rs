//! Random histories of calls: with every flag, several cursors, nested transactions, and all kinds
//! of tables. Huon answers each call as the model in `huon_testkit::c_calls` says, misuse among
//! them, and what a history leaves passes the full check.
//!
//! A history that fails is made short and printed; `HUON_SEED` runs one again, and
//! `HUON_MDBX_LIBRARY` names a libmdbx that says beside each call what it would have answered.

mod api;
mod driver;

use std::sync::LazyLock;

use api::Api;
use driver::Driver;
use huon_testkit::c_calls::Interface;
use huon_testkit::c_calls::generate::{self, Program};
use huon_testkit::c_calls::run::Library;
use huon_testkit::c_calls::suite::{self, CALLS};
use huon_testkit::scale;

/// Names another library, whose answers stand beside a history that failed.
const OTHER_LIBRARY: &str = "HUON_MDBX_LIBRARY";

static HUON: LazyLock<Api> = LazyLock::new(Api::huon);

fn library(api: &'static Api, is_ours: bool, program: &Program) -> Box<dyn Library> {
    Box::new(Driver::new(api, is_ours, program))
}

/// The library of [`OTHER_LIBRARY`].
fn other(program: &Program) -> Option<Box<dyn Library>> {
    let name = std::env::var(OTHER_LIBRARY).ok()?;
    // SAFETY: what libmdbx does when it is loaded is to set itself up.
    let loaded = unsafe { libloading::Library::new(&name) };
    let loaded = Box::leak(Box::new(loaded.unwrap_or_else(|e| panic!("{name}: {e}"))));
    Some(library(Box::leak(Box::new(Api::of(loaded))), false, program))
}

#[test]
fn histories_are_as_the_model_says() {
    let seeds = suite::seeds(|n| scale::seed("histories of libmdbx", n));
    suite::each_is_as_the_model_says(&seeds, include_str!("must_happen.txt"), |seed| {
        let program = generate::make(seed, CALLS, Interface::Mdbx, None);
        let open = |program: &Program| library(&HUON, true, program);
        suite::run_or_panic("huon-mdbx", &program, open, || other(&program))
    });
}
