//! `cargo xtask asan`: unit tests, histories, and threads and clients on real files under the
//! address sanitizer, which also looks for leaks at the end of each process.
//!
//! The thread sanitizer knows nothing of fences, which readers rest on (P14), and would complain of
//! what is right. Races are looked for by the models and by Miri.

use crate::nightly::Nightly;
use crate::outcome::Outcome;
use crate::shell::Shell;
use crate::test;

/// With a target, programs that only build (and the standard library's own) stay as they are.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What runs: a sanitized test takes a few times as long, so not everything.
const TESTS: [&str; 7] =
    ["test", "-p=huon", "-p=huon-testkit", "--lib", "--test=histories", "--target", TARGET];

/// Histories of the first seeds will do.
const LAST_SEED: &str = "150";

/// The sanitizer reserves more addresses than this test allows.
const SKIPPED: &str = "--skip=a_small_address_space_is_enough";

/// Runs the tests, with seeds that follow from `rotate`.
pub(crate) fn run(shell: &Shell, rotate: u64) -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped(format!("set up for {TARGET} only")));
    }
    let nightly = match Nightly::find(shell, &[]) {
        Ok(nightly) => nightly,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let mut cargo = nightly.cargo(shell, &TESTS);
    cargo.arg("--target-dir").arg(shell.target.join("address")).args(["--", SKIPPED]);
    cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    cargo.env("HUON_LAST_SEED", LAST_SEED).env("HUON_ROTATE", rotate.to_string());
    test::part(shell, "asan", &mut cargo)
}
