//! How much a test does: a tenth of the promised figures in every test run, all of them in
//! `make proof`, or as much as fits a given time.
//!
//! `HUON_PROOF=1` asks for all, `HUON_SHARE=n` for an n-th instead of a tenth. `HUON_ROTATE` is a
//! number that a proof derives from the commit, so that each commit is tried with seeds of its own.
//! `HUON_SECONDS` asks to go on for so long.

use std::time::{Duration, Instant};

use crate::support::random::Random;

/// Whether all of the promised figures are wanted.
pub fn is_full() -> bool {
    std::env::var("HUON_PROOF").is_ok_and(|value| value == "1")
}

/// `full` in a proof, a tenth of it (rounded up) otherwise, or as small a part as was asked for.
pub fn share(full: u64) -> u64 {
    if is_full() { full } else { full.div_ceil(number("HUON_SHARE").unwrap_or(10).max(1)) }
}

/// Of a row of cases that are all tried in a proof, each so many'th one is to be tried.
pub fn step() -> u64 {
    1000 / share(1000).clamp(1, 1000)
}

/// Whether figures have minimums: not in a run that was asked to be smaller than usual.
pub fn has_minimums() -> bool {
    is_full() || number("HUON_SHARE").is_none_or(|part| part <= 10)
}

/// Whether a run of racing processes, which has done so much of what is `wanted`, goes on. What it
/// hits is a matter of time, so it goes on for up to eight times as long while it `lacks` a case
/// that each run has to hit.
pub fn goes_on(done: u64, wanted: u64, lacks: impl FnOnce() -> bool) -> bool {
    done < wanted || (done < 8 * wanted && has_minimums() && lacks())
}

/// The seed numbered `n` of the test `name`: the same in every test run, another for each commit in
/// a proof.
pub fn seed(name: &str, n: u64) -> u64 {
    let rotate = number("HUON_ROTATE").unwrap_or(0);
    Random::new(crate::support::random::digest(name.as_bytes()) ^ rotate.rotate_left(32) ^ n).next()
}

/// When to stop, for a run that was told how long to go on.
pub fn until() -> Option<Instant> {
    number("HUON_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds))
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_of_different_tests_and_numbers_differ() {
        let seeds = [super::seed("a", 0), super::seed("a", 1), super::seed("b", 0)];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
        assert_eq!(super::seed("a", 0), seeds[0]);
    }
}
