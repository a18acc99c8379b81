//! Random histories against a model.

use std::time::{Duration, Instant};

use huon_testkit::history::program::{self, Config};
use huon_testkit::history::{self, Counts};
use huon_testkit::{figures, scale, shrink};

fn config(seed: u64) -> Config {
    let pages = [256, 512, 4096, 256, 512, 4096, 256, 65536];
    let page_bytes = pages[(seed % 8) as usize];
    Config {
        page_bytes,
        write_buffer_bytes: if seed.is_multiple_of(3) { 8 * page_bytes } else { 200 * page_bytes },
        real: seed % 16 == 3 || seed % 16 == 9 || seed % 16 == 10,
        keys: [40, 300, 1200][(seed / 8 % 3) as usize],
        shrink_bytes: [0, 4, 24][(seed / 2 % 3) as usize] * page_bytes as u64,
        journal: seed % 5 < 2,
        ops_count: if page_bytes > 4096 { 150 } else { 500 },
    }
}

/// A run in which one of these never happens has tested less than it says.
const MUST_HAPPEN: [&str; 135] = [
    "begin",
    "begin second",
    "commit durable",
    "commit lazy",
    "abort",
    "nested commit",
    "nested abort",
    "depth 3",
    "put",
    "insert new",
    "update",
    "append",
    "replace",
    "reserve",
    "take",
    "delete",
    "delete range",
    "clear",
    "create",
    "drop",
    "rename",
    "build",
    "fill",
    "get",
    "get many",
    "many keys",
    "range",
    "leaves",
    "several leaves",
    "prefix",
    "whole table",
    "scan open",
    "scan move",
    "scan forward",
    "scan back",
    "scan by reader",
    "pin",
    "unpin",
    "verify",
    "sync",
    "reopen",
    "second client",
    "kill",
    "power loss",
    "refusal",
    "spill",
    "several ids",
    "leaf split",
    "branch split",
    "leaf merge",
    "branch merge",
    "root raised",
    "root lowered",
    "branch pages",
    "leaf pages",
    "run pages",
    "chunk pages",
    "chunks written",
    "chunks opened",
    "grow",
    "shrink",
    "deep",
    "audit",
    "whole comparison",
    "multi create",
    "insert",
    "insert new key",
    "append pair",
    "set",
    "remove",
    "remove all",
    "remove range",
    "pour",
    "multi clear",
    "multi drop",
    "multi rename",
    "held",
    "values",
    "pair range",
    "whole multimap",
    "value trees",
    "deep value trees",
    "values back in a cell",
    "savepoint",
    "savepoint in nested",
    "roll back",
    "release",
    "no savepoint",
    "remove if",
    "update if",
    "sequence",
    "markers",
    "estimate",
    "insert many",
    "insert many in part",
    "update pair",
    "update with",
    "exchanged",
    "batches",
    "pair prefix",
    "pair scan forward",
    "pair scan back",
    "three scans of a table",
    "renew",
    "park",
    "unpark",
    "unpark newest",
    "evicted",
    "slow readers",
    "evictions asked for",
    "limit",
    "limit tight",
    "limit refused",
    "limit refused, in use",
    "full, rolled back",
    "full, room made",
    "full, nested abort",
    "full, abort",
    "full, commit",
    "room again",
    "commit as opened",
    "commit by ticket",
    "reopen lazy",
    "reopen without meta syncs",
    "reopen unsynced",
    "reopen read-only",
    "reopen beside a guest",
    "guest",
    "pin as a guest",
    "reopen exclusive",
    "exclusive refused",
    "close dirty",
    "name a snapshot",
    "drop a snapshot",
    "read a snapshot",
];

fn run(seed: u64) -> Counts {
    let program = program::make(seed, config(seed));
    let failure = match history::run(&program) {
        Ok(counts) => return counts,
        Err(failure) => failure,
    };
    let (small, how) =
        shrink::shrink(&program, failure.clone(), Duration::from_secs(20), history::run);
    for (i, op) in small.ops.iter().enumerate() {
        println!("{i:4} {op:?}");
    }
    println!("{:?}\nshrunk: operation {}: {}", small.config, how.at, how.what);
    panic!(
        "operation {}: {}\nreplay: HUON_SEED={seed} cargo test -p huon-testkit --test histories -- \
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
    let all = if scale::is_full() { 11_000 } else { 1100 };
    let last: u64 = std::env::var("HUON_LAST_SEED").map_or(all, |s| s.parse().unwrap());
    for n in first..=last {
        // The page size follows from the last bits.
        let seed = if scale::is_full() { scale::seed("histories", n) & !15 | n & 15 } else { n };
        counts.merge(&run(seed));
    }
    for (what, count) in &counts.0 {
        println!("{what:20} {count:9}");
    }
    println!("{:?}", start.elapsed());
    // What was found at checks is no operation, nor what it says of one that it was counted as.
    let seen = [
        "pages",
        "chunks",
        "deep",
        "split",
        "merge",
        "root",
        "grow",
        "shrink",
        "spill",
        "audit",
        "trees",
        "back in",
        "refusal",
        "several",
        "three",
        "in part",
        "in nested",
        "exchanged",
        "full,",
        "breaks",
        "by reader",
        "reopen ",
    ];
    let done = counts.0.iter().filter(|(what, _)| !seen.iter().any(|word| what.contains(word)));
    let done = done.map(|(_, count)| count).sum();
    println!("{done} operations");
    figures::add("model", done);
    figures::add("audit", counts.of("audit"));
    if last < all {
        // A part of the seeds need not meet with everything.
        return;
    }
    let never: Vec<&str> = MUST_HAPPEN.into_iter().filter(|what| counts.of(what) == 0).collect();
    assert!(never.is_empty(), "these never happened: {never:?}");
}
