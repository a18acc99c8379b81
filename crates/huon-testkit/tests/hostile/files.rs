//! Files made to mislead: an error or right data, whatever is tried, and a check that notices.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use huon::sim::SimDisk;
use huon::{Bytes, Env, Error, MultiDef, Str, WriteTxn};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::hostile::attempt::{Depth, attempt};
use huon_testkit::hostile::damage::{self, Verdict};
use huon_testkit::hostile::file::{File, Kind, header, tree};
use huon_testkit::hostile::fixture::{Fixture, RESERVE_BYTES};
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

/// The record of a tree of values leads to the leaf that the next transaction writes, where the
/// record itself is by then: a change there moves the record while it is being changed.
#[test]
fn values_in_the_leaf_of_their_key() {
    const KEYS: u64 = 20;
    let disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
    let def = MultiDef::<Str, Bytes>::new("t");
    let mut options = Env::options();
    options.page_bytes(512).max_bytes(RESERVE_BYTES);
    let key = |n: u64| format!("key-{n:03}");
    {
        let env = options.open_simulated(&disk).unwrap();
        env.update(|txn| {
            let table = txn.create_table(&def)?;
            for n in 0..KEYS {
                // Trees of values at either end of the first leaf, and in its middle.
                let most = if n < 3 { 40 } else { 1 };
                (0..most).try_for_each(|i: u64| {
                    table.put(txn, &key(n), format!("{i:010}").as_bytes()).map(drop)
                })?;
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    }
    let mut sound = File::new(disk.image());
    sound.single_meta();
    let begin = |image: &[u8]| {
        let disk = SimDisk::from_image(image, RESERVE_BYTES).unwrap().quiet();
        let env = options.open_simulated(&disk).unwrap();
        (disk, env)
    };
    // What the next transaction calls its pages, as it always does the same.
    let (next, env) = begin(&sound.bytes);
    let insert = |txn: &mut WriteTxn, n: u64, value: &[u8]| {
        let table = txn.open_table(&def)?.expect("it is there");
        table.put(txn, &key(n), value)
    };
    env.update(|txn| insert(txn, 3, b"first")).unwrap();
    drop(env);
    let next = File::new(next.image());
    let mut tried = 0;
    for page in next.pages().iter().filter(|page| page.kind != Kind::Run) {
        let level = page.level;
        let pair = (page.pgno, next.u64(next.at(page.pgno) + header::BIRTH));
        for record in sound.trees().into_iter().skip(2) {
            for entries in [2u64, 1 << 40] {
                let mut file = sound.clone();
                file.put(record + tree::ROOT, &pair.0.to_le_bytes());
                file.put(record + tree::DEPTH, &[level + 1]);
                file.put(record + tree::BIRTH, &pair.1.to_le_bytes());
                file.set(record + tree::ENTRIES, &entries.to_le_bytes());
                for act in 0..6 {
                    tried += 1;
                    self_named(&begin(&file.bytes).1, &def, &key, act);
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
    figures::add("flip", tried);
}

/// Changes the leaf, then values of the keys that lead to it.
fn self_named(env: &Env, def: &MultiDef<Str, Bytes>, key: &dyn Fn(u64) -> String, act: usize) {
    let Ok(mut txn) = env.write() else { return };
    let Ok(Some(table)) = txn.open_table(def) else { return };
    if table.put(&mut txn, &key(3), b"first").is_err() {
        return;
    }
    for round in 0..40 {
        for n in [0, 1, 2] {
            let key = key(n);
            let values: Vec<Vec<u8>> = match table.values(&txn, &key) {
                Ok(values) => values.filter_map(|v| v.ok()).map(|v| v.to_vec()).take(50).collect(),
                Err(_) => return,
            };
            let new = format!("key-{}{round:02}", if act.is_multiple_of(2) { "" } else { "9" });
            let done = match act / 2 {
                0 => table.put(&mut txn, &key, new.as_bytes()).map(drop),
                1 => match values.get(round % values.len().max(1)) {
                    Some(value) => table.remove(&mut txn, &key, value).map(drop),
                    None => return,
                },
                _ => match values.last() {
                    Some(value) if act.is_multiple_of(2) => {
                        table.remove(&mut txn, &key, value).map(drop)
                    }
                    _ => table.set(&mut txn, &key, b"only").map(drop),
                },
            };
            if done.is_err() {
                return;
            }
        }
    }
    drop(txn.commit());
}
