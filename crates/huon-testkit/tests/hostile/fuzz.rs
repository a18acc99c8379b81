//! The bodies of the fuzz targets on bytes from seeds: a fixed number of them, or as many as fit
//! `HUON_SECONDS`.

use std::collections::BTreeMap;

use huon_testkit::figures;
use huon_testkit::fuzz::TARGETS;
use huon_testkit::history::panic_text;
use huon_testkit::random::Random;
use huon_testkit::scale;

/// Pieces of text that a line of bytes may be made of.
const WORDS: [&[u8]; 12] = [
    b"VERSION=3\n",
    b"format=print\n",
    b"format=bytevalue\n",
    b"type=btree\n",
    b"database=t\n",
    b"HEADER=END\n",
    b"DATA=END\n",
    b" 00\n 0102\n",
    b"duplicates=1\n",
    b" \\00k\n v\\\\\n",
    b"mapsize=99999999999999999999\n",
    b"huon_order=custom\n",
];

/// Bytes of a seed: any, small numbers, or with pieces of text among them.
fn bytes(random: &mut Random) -> Vec<u8> {
    let most = 1 << (3 + random.below(7));
    let length = random.index(most);
    let style = random.below(4);
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        match style {
            0 if random.chance(30) => bytes.extend_from_slice(random.pick(&WORDS)),
            1 => bytes.push(random.below(8) as u8),
            2 if random.chance(60) => bytes.push(0),
            _ => bytes.push(random.next() as u8),
        }
    }
    bytes
}

/// Runs the body of a target, and shows the shortest input for each way in which it failed.
fn run(name: &str, full: u64) {
    let (_, body) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    let until = scale::until();
    let mut failures: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut done = 0;
    let goes_on = |done| match until {
        Some(end) => std::time::Instant::now() < end,
        None => done < scale::share(full),
    };
    while goes_on(done) {
        let data = bytes(&mut Random::new(scale::seed(name, done)));
        if let Err(panic) = std::panic::catch_unwind(|| body(&data)) {
            let smallest = failures.entry(panic_text(&*panic)).or_insert_with(|| data.clone());
            if data.len() < smallest.len() {
                *smallest = data;
            }
        }
        done += 1;
    }
    println!("{name}: {done} inputs");
    assert!(failures.is_empty(), "{name}: {failures:#?}");
    figures::add("fuzz", done);
    figures::named(&format!("fuzz.{name}"), done);
}

#[test]
fn open_bytes() {
    run("open_bytes", 50_000);
}

#[test]
fn mutate_valid() {
    run("mutate_valid", 20_000);
}

#[test]
fn ops() {
    run("ops", 10_000);
}

#[test]
fn crash() {
    run("crash", 20_000);
}

#[test]
fn journal() {
    run("journal", 20_000);
}

#[test]
fn load_text() {
    run("load_text", 20_000);
}

#[test]
fn lock_file() {
    run("lock_file", 20_000);
}

#[test]
fn lsm() {
    run("lsm", 20_000);
}
