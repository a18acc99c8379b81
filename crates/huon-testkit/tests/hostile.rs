//! Files made to mislead: an error or right data, whatever is tried, and a check that notices.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::hostile::attempt::{Depth, attempt};
use huon_testkit::hostile::damage::{self, Verdict};
use huon_testkit::hostile::file::File;
use huon_testkit::hostile::fixture::Fixture;
use huon_testkit::scale;

/// What went wrong, by kind of damage, with one file that shows it.
type Failures = BTreeMap<String, String>;

/// Tries the damages whose numbers are `wanted`; how many were tried, and how many opened not.
fn try_damages(
    fixture: &Fixture,
    wanted: impl Fn(u64) -> bool,
    failures: &Mutex<Failures>,
) -> [u64; 3] {
    let page_bytes = fixture.file.page_bytes;
    let older = File::new(fixture.older.clone());
    let mut sound = fixture.file.clone();
    sound.single_meta();
    let [mut number, mut tried, mut refused] = [0; 3];
    damage::each(&sound, &older, |name, file, verdict| {
        number += 1;
        if !wanted(number) {
            return;
        }
        tried += 1;
        let depth = if number % 4 == 0 { Depth::All } else { Depth::Each };
        let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&file.bytes, depth)));
        let what = match outcome {
            Ok(outcome) => {
                refused += u64::from(!outcome.opened);
                if verdict == Verdict::Anything || !outcome.clean {
                    return;
                }
                "not found by a check".to_string()
            }
            Err(panic) => panic_text(&*panic),
        };
        let first = || differences(&sound.bytes, &file.bytes);
        let mut failures = failures.lock().unwrap();
        failures.entry(format!("{page_bytes} {name}: {what}")).or_insert_with(first);
    });
    [number, tried, refused]
}

#[test]
fn structural_damage() {
    let failures = Mutex::new(Failures::new());
    let step = scale::step();
    let mut sums = [0; 3];
    for (page_bytes, keys) in [(512, 60), (4096, 30)] {
        let fixture = Fixture::new(page_bytes, keys, false);
        let start = scale::seed("hostile", page_bytes as u64) % step;
        let share = |half: u64| {
            let wanted = |n: u64| n % step == start && n / step % 2 == half;
            try_damages(&fixture, wanted, &failures)
        };
        let halves = std::thread::scope(|scope| {
            let threads = [0, 1].map(|half| scope.spawn(move || share(half)));
            threads.map(|thread| thread.join().unwrap())
        });
        let [[number, tried, refused], [_, more_tried, more_refused]] = halves;
        sums[0] += number;
        sums[1] += tried + more_tried;
        sums[2] += refused + more_refused;
    }
    let [number, tried, refused] = sums;
    println!("{tried} damages tried of {number}, {refused} refused at opening");
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{failures:#?}");
    let enough = tried >= scale::share(14_000) || !scale::has_minimums();
    assert!(enough, "{tried} damages tried");
    figures::add("flip", tried);
    figures::named("hostile.damages", tried);
}

/// Every walk through them ends, with an error where it would go the same way again.
#[test]
fn pyramids() {
    for page_bytes in [512, 4096] {
        let mut sound = Fixture::new(page_bytes, 60, false).file;
        sound.single_meta();
        for (number, file) in damage::pyramids(&sound).iter().enumerate() {
            let outcome = attempt(&file.bytes, Depth::All);
            assert!(outcome.opened && !outcome.clean, "{number}: {outcome:?}");
        }
    }
}

/// Where two files differ.
fn differences(a: &[u8], b: &[u8]) -> String {
    let mut text = format!("{} and {} bytes", a.len(), b.len());
    for (at, (x, y)) in a.iter().zip(b).enumerate().filter(|(_, (x, y))| x != y).take(12) {
        text += &format!(", {at}: {x:#x} -> {y:#x}");
    }
    text
}
