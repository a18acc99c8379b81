//! The bodies of the fuzz targets on bytes from seeds.

use std::collections::BTreeMap;

use huon_testkit::figures;
use huon_testkit::fuzz;
use huon_testkit::history::panic_text;
use huon_testkit::random::Random;
use huon_testkit::scale;

/// Runs `body` on bytes of several lengths, mostly small ones, and shows one input for each way in
/// which it failed.
fn run(name: &str, full: u64, body: fn(&[u8])) {
    let mut failures: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for n in 0..scale::share(full) {
        let mut random = Random::new(scale::seed(name, n));
        let most = 1 << (3 + random.below(6));
        let length = random.index(most);
        let data: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if let Err(panic) = std::panic::catch_unwind(|| body(&data)) {
            let smallest = failures.entry(panic_text(&*panic)).or_insert_with(|| data.clone());
            if data.len() < smallest.len() {
                *smallest = data;
            }
        }
    }
    assert!(failures.is_empty(), "{name}: {failures:#?}");
    figures::add("fuzz", scale::share(full));
}

#[test]
fn lock_files() {
    run("lock_file", 20_000, fuzz::lock_file);
}
