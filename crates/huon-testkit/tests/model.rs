//! Random histories against a model.

use std::time::{Duration, Instant};

use huon_testkit::history::{self, Counts};
use huon_testkit::program::{self, Config};
use huon_testkit::{figures, shrink};

fn config(seed: u64) -> Config {
    let pages = [256, 512, 4096, 256, 512, 4096, 256, 65536];
    let page_bytes = pages[(seed % 8) as usize];
    Config {
        page_bytes,
        spill_bytes: if seed % 3 == 0 { 8 * page_bytes } else { 200 * page_bytes },
        real: seed % 16 == 3 || seed % 16 == 9 || seed % 16 == 10,
        keys: [40, 300, 1200][(seed / 8 % 3) as usize],
        shrink_bytes: [0, 4, 24][(seed / 2 % 3) as usize] * page_bytes as u64,
        ops_count: if page_bytes > 4096 { 150 } else { 500 },
    }
}

fn run(seed: u64) -> Counts {
    let program = program::make(seed, config(seed));
    let failure = match history::run(&program) {
        Ok(counts) => return counts,
        Err(failure) => failure,
    };
    let (small, how) = shrink::shrink(&program, failure.clone(), Duration::from_secs(20));
    for (i, op) in small.ops.iter().enumerate() {
        println!("{i:4} {op:?}");
    }
    println!("{:?}\nshrunk: operation {}: {}", small.config, how.at, how.what);
    panic!(
        "operation {}: {}\nreplay: HUON_SEED={seed} cargo test -p huon-testkit --test model -- \
         replay --nocapture",
        failure.at, failure.what
    );
}

#[test]
fn replay() {
    if let Ok(seed) = std::env::var("HUON_SEED") {
        run(seed.parse().expect("HUON_SEED is a number"));
    }
}

#[test]
fn histories() {
    let start = Instant::now();
    let mut counts = Counts::default();
    let first: u64 = std::env::var("HUON_FIRST_SEED").map_or(1, |s| s.parse().unwrap());
    let last: u64 = std::env::var("HUON_LAST_SEED").map_or(64, |s| s.parse().unwrap());
    for seed in first..=last {
        counts.merge(&run(seed));
    }
    for (what, count) in &counts.0 {
        println!("{what:20} {count:9}");
    }
    println!("{:?}", start.elapsed());
    figures::add("model", counts.0.values().sum());
    figures::add("audit", counts.of("audit"));
}
