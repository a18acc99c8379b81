//! Limits of the file's length, changed while it is open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use huon::{Bytes, Durability, Env, Error, Geometry, Options, TableDef, U64, WriteTxn};

const T: TableDef<U64, Bytes> = TableDef::new("records");
const PAGE: u64 = 256;

fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let dir = dir.unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

/// Small pages, a map of 4 MiB, and a maximum size of a quarter of it.
fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(PAGE as usize).max_bytes(4 << 20).durability(Durability::Lazy);
    options.grow_bytes(8 << 10).shrink_bytes(4 << 10);
    options
}

fn open(path: &Path) -> Env {
    let env = options().open(path).unwrap();
    env.set_geometry(with(&env, |geometry| geometry.max_bytes = 1 << 20)).unwrap();
    env
}

fn with(env: &Env, change: impl FnOnce(&mut Geometry)) -> Geometry {
    let mut geometry = env.info().unwrap().geometry;
    change(&mut geometry);
    geometry
}

/// Puts records of 1000 bytes until it does not fit; how many did.
fn fill(txn: &mut WriteTxn, first: u64, most: u64) -> (u64, Option<Error>) {
    let t = txn.create_table(&T).unwrap();
    for n in 0..most {
        if let Err(error) = t.put(txn, first + n, &[n as u8; 1000]) {
            return (n, Some(error));
        }
    }
    (most, None)
}

/// A file is no more than a twentieth longer than its pages need, or a mebibyte and what it keeps
/// for deletes when it is full.
#[test]
fn growth_that_follows_the_size_leaves_little_unused() {
    let (_dir, path) = place();
    let mut options = options();
    options.page_bytes(4096).max_bytes(1 << 30).grow_bytes(0).shrink_bytes(0);
    let env = options.open(&path).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for round in 0..64 {
        let mut txn = env.write().unwrap();
        assert!(fill(&mut txn, round * 1000, 1000).1.is_none());
        txn.commit().unwrap();
        let file = std::fs::metadata(&path).unwrap().len();
        let used = env.read().unwrap().used_bytes();
        assert!(file >= used);
        let most = (file / 20).max((1 << 20) + 64 * 4096);
        assert!(file - used <= most, "{file} bytes for {used}");
        lengths.insert(file);
    }
    assert!((16..60).contains(&lengths.len()), "in steps, yet not in each commit: {lengths:?}");
}

/// What a file grew by for one commit is there for the next ones, however short a free tail is that
/// is cut off: a growth and a cut for each commit would cost more than the commits.
#[test]
fn what_a_file_grew_by_is_not_cut_before_it_is_used() {
    let (_dir, path) = place();
    let mut options = options();
    options.grow_bytes(64 << 10).shrink_bytes(PAGE);
    let env = options.open(&path).unwrap();
    let mut lengths = Vec::new();
    for round in 0..300 {
        let mut txn = env.write().unwrap();
        assert!(fill(&mut txn, round, 1).1.is_none());
        txn.commit().unwrap();
        lengths.push(std::fs::metadata(&path).unwrap().len());
    }
    assert!(lengths.is_sorted(), "{lengths:?}");
    lengths.dedup();
    assert!((4..=8).contains(&lengths.len()), "{lengths:?}");
}

fn clean(env: &Env) {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn a_higher_maximum_size_holds_at_once_and_an_abort_undoes_it() {
    let (_dir, path) = place();
    let env = open(&path);
    let mut txn = env.write().unwrap();
    let raised = with(&env, |geometry| geometry.max_bytes = 3 << 20);
    txn.set_geometry(raised).unwrap();
    assert_eq!(fill(&mut txn, 0, 1500).0, 1500, "more than fits a mebibyte");
    txn.abort();
    assert_eq!(env.info().unwrap().max_bytes, 1 << 20);
    // The file is longer than it may be: it is cut, and nothing is put there.
    let mut txn = env.write().unwrap();
    let (fitted, error) = fill(&mut txn, 0, 1500);
    assert!(fitted < 1000 && matches!(error, Some(Error::MapFull(_))), "{fitted}: {error:?}");
    drop(txn);
    assert!(env.info().unwrap().file_bytes <= 1 << 20);
    env.update(|txn| {
        txn.set_geometry(raised)?;
        assert_eq!(txn.geometry(), raised);
        assert_eq!(fill(txn, 0, 1500).0, 1500);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(env.info().unwrap().geometry, raised);
    clean(&env);
}

#[test]
fn a_nested_abort_gives_up_what_lies_behind_the_old_limit() {
    const BETWEEN: u64 = (1 << 20) + (64 << 10);
    const HIGH: u64 = 3 << 20;
    let again = [None, Some(BETWEEN), Some(HIGH)];
    let cases = again.into_iter().flat_map(|again| [(64 << 10, again), (1 << 30, again)]);
    for (write_buffer_bytes, again) in cases {
        let (_dir, path) = place();
        let env = options().write_buffer_bytes(write_buffer_bytes).open(&path).unwrap();
        env.set_geometry(with(&env, |geometry| geometry.max_bytes = 1 << 20)).unwrap();
        let raised = with(&env, |geometry| geometry.max_bytes = HIGH);
        let mut txn = env.write().unwrap();
        assert!(fill(&mut txn, 0, 600).1.is_none());
        let undone = txn.nested(|child| {
            child.set_geometry(raised)?;
            assert!(fill(child, 600, 900).1.is_none());
            Err::<(), _>(Error::Invalid("changed my mind"))
        });
        assert!(matches!(undone, Err(Error::Invalid(_))), "{undone:?}");
        assert_eq!(txn.geometry().max_bytes, 1 << 20);
        let t = txn.create_table(&T).unwrap();
        if let Some(bytes) = again {
            // Also if it is less than the level had taken.
            txn.set_geometry(with(&env, |geometry| geometry.max_bytes = bytes)).unwrap();
        }
        match again {
            Some(HIGH) => assert!(fill(&mut txn, 600, 300).1.is_none()),
            _ => (0..100).for_each(|n| assert!(t.remove(&mut txn, n).unwrap())),
        }
        // The pages that the level wrote below the old limit are lost to this transaction: it may
        // not fit.
        match txn.commit() {
            Err(Error::MapFull(_)) if again != Some(HIGH) => {}
            committed => drop(committed.unwrap()),
        }
        let info = env.info().unwrap();
        assert!(info.used_bytes <= info.max_bytes);
        clean(&env);
        env.update(|txn| txn.create_table(&T)?.put(txn, 7, b"after").map(drop)).unwrap();
        clean(&env);
        drop(env);
        clean(&options().open(&path).unwrap());
    }
}

#[test]
fn what_is_in_use_stays_below_the_maximum_size() {
    let (_dir, path) = place();
    let env = open(&path);
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    env.update(|txn| fill(txn, 0, 500).1.map_or(Ok(()), Err)).unwrap();
    let low = with(&env, |geometry| geometry.max_bytes = 300 << 10);
    let mut txn = env.write().unwrap();
    let refused = txn.set_geometry(low).unwrap_err();
    let Error::MapFull(full) = &refused else { panic!("{refused}") };
    assert_eq!(full.limit_bytes, 300 << 10);
    assert!(full.needed_bytes > 500_000, "{refused}");
    t.put(&mut txn, 0, b"it goes on").unwrap();
    txn.commit().unwrap();
    // A reader keeps what it sees, and with it the limit.
    let reader = env.read().unwrap();
    env.update(|txn| t.clear(txn).map(drop)).unwrap();
    assert!(matches!(env.set_geometry(low), Err(Error::MapFull(_))));
    drop(reader);
    // The pages that are left may lie far behind; they move to the front in a few commits.
    let moved = (0..100).any(|n| {
        env.update(|txn| t.put(txn, n, &[1; 10]).map(drop)).unwrap();
        env.sync().unwrap();
        env.set_geometry(low).is_ok()
    });
    assert!(moved);
    clean(&env);
    let info = env.info().unwrap();
    assert!(info.used_bytes <= 300 << 10 && info.geometry == low);
    drop(env.write().unwrap());
    assert!(env.info().unwrap().file_bytes <= 300 << 10);
    let absurd = with(&env, |geometry| geometry.min_bytes = 301 << 10);
    assert!(matches!(env.set_geometry(absurd), Err(Error::Invalid(_))));
}

#[test]
fn the_minimum_size_is_had_at_once_and_given_back() {
    let (_dir, path) = place();
    let env = open(&path);
    let before = env.info().unwrap();
    let mut txn = env.write().unwrap();
    let high = with(&env, |geometry| geometry.min_bytes = 700 << 10);
    txn.set_geometry(high).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 700 << 10);
    drop(txn);
    drop(env.write().unwrap());
    assert!(std::fs::metadata(&path).unwrap().len() < 100 << 10, "the abort was noticed");
    env.set_geometry(high).unwrap();
    drop(env.write().unwrap());
    assert_eq!(env.info().unwrap().file_bytes, 700 << 10);
    env.set_geometry(before.geometry).unwrap();
    drop(env.write().unwrap());
    assert!(env.info().unwrap().file_bytes < 100 << 10);
    // Steps are kept as they are said, in whole pages.
    let steps = with(&env, |geometry| {
        geometry.grow_bytes = 100;
        geometry.shrink_bytes = 0;
    });
    env.set_geometry(steps).unwrap();
    let geometry = env.info().unwrap().geometry;
    assert_eq!((geometry.grow_bytes, geometry.shrink_bytes), (PAGE, 0));
    clean(&env);
}

#[test]
fn a_process_that_has_reserved_less_is_told_to_open_again() {
    let (_dir, path) = place();
    let env = open(&path);
    let small = options().max_bytes(1 << 20).open(&path).unwrap();
    let raised = with(&env, |geometry| geometry.max_bytes = 2 << 20);
    let refused = small.set_geometry(raised).unwrap_err();
    let expected = (2 << 20, 1 << 20);
    assert!(
        matches!(refused, Error::MapTooSmall { needed_bytes, map_bytes }
            if (needed_bytes, map_bytes) == expected),
        "{refused}"
    );
    env.set_geometry(raised).unwrap();
    assert_eq!(small.info().unwrap().geometry, raised, "it is told at once");
    // It goes on while the file is short, and keeps to what it has.
    let (fitted, error) = fill(&mut small.write().unwrap(), 0, 1500);
    assert!(fitted > 0 && matches!(error, Some(Error::MapTooSmall { .. })), "{error:?}");
    small.update(|txn| fill(txn, 0, 10).1.map_or(Ok(()), Err)).unwrap();
    let reader = small.read().unwrap();
    env.update(|txn| fill(txn, 10, 1490).1.map_or(Ok(()), Err)).unwrap();
    assert!(matches!(small.read(), Err(Error::MapTooSmall { .. })));
    assert!(matches!(small.write(), Err(Error::MapTooSmall { .. })));
    let t = reader.open_table(&T).unwrap().unwrap();
    assert_eq!(t.len(&reader).unwrap(), 10, "what runs goes on");
    drop(reader);
    drop(small);
    let small = options().max_bytes(2 << 20).open(&path).unwrap();
    assert_eq!(t_count(&small), 1500);
    // Limits that it does not raise it may change, though they lie above its map.
    env.set_geometry(with(&env, |geometry| geometry.max_bytes = 4 << 20)).unwrap();
    small.set_geometry(with(&env, |geometry| geometry.grow_bytes = 4 << 10)).unwrap();
    small.set_geometry(with(&env, |geometry| geometry.max_bytes = 3 << 20)).unwrap();
    clean(&env);
}

fn t_count(env: &Env) -> u64 {
    env.view(|txn| txn.open_table(&T)?.expect("the table").len(txn)).unwrap()
}

fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *seed >> 33
}

/// Limits drawn at random among puts, deletes, nested levels and aborts, against a model; checked
/// after every commit.
#[test]
fn random_limits() {
    let (mut refused, mut set) = (0, 0);
    for first in 0..6 {
        let (_dir, path) = place();
        let mut seed = first;
        let mut env = options().write_buffer_bytes(8 << 10).open(&path).unwrap();
        let mut t = env.update(|txn| txn.create_table(&T)).unwrap();
        let mut model = BTreeMap::new();
        for round in 0..150u64 {
            let mut now = model.clone();
            let mut txn = env.write().unwrap();
            let before = txn.geometry();
            let work = |txn: &mut WriteTxn, now: &mut BTreeMap<u64, Vec<u8>>, seed: &mut u64| {
                let mut counts = (0, 0);
                for _ in 0..1 + draw(seed) % 6 {
                    if draw(seed).is_multiple_of(3) {
                        let geometry = draw_geometry(txn, seed);
                        match txn.set_geometry(geometry) {
                            Ok(()) => counts.0 += 1,
                            Err(Error::MapFull(_)) => counts.1 += 1,
                            Err(error) => return Err(error),
                        }
                    }
                    for _ in 0..draw(seed) % 20 {
                        let key = draw(seed) % 300;
                        if draw(seed).is_multiple_of(3) {
                            assert_eq!(t.remove(txn, key)?, now.remove(&key).is_some());
                        } else {
                            let value = vec![round as u8; draw(seed) as usize % 1500];
                            t.put(txn, key, &value)?;
                            now.insert(key, value);
                        }
                    }
                }
                Ok(counts)
            };
            let mut kept = now.clone();
            let nested = txn.nested(|child| {
                let mut inside = now.clone();
                let counts = work(child, &mut inside, &mut seed)?;
                (set, refused) = (set + counts.0, refused + counts.1);
                match draw(&mut seed) % 3 {
                    0 => Err(Error::Invalid("undone")),
                    _ => {
                        kept = inside;
                        Ok(())
                    }
                }
            });
            if nested.is_err() {
                assert_eq!(txn.geometry(), before, "seed {first}, round {round}");
            }
            now = kept;
            let limits = txn.geometry();
            let done = work(&mut txn, &mut now, &mut seed);
            match done {
                Ok(_) if !draw(&mut seed).is_multiple_of(4) => {
                    let geometry = txn.geometry();
                    match txn.commit() {
                        Ok(_) => {
                            model = now;
                            assert_eq!(env.info().unwrap().geometry, geometry);
                        }
                        Err(error) => assert!(matches!(error, Error::MapFull(_)), "{error}"),
                    }
                }
                Ok(_) => drop(txn),
                Err(error) => assert!(matches!(error, Error::MapFull(_)), "{limits:?}: {error}"),
            }
            clean(&env);
            let info = env.info().unwrap();
            assert!(info.used_bytes <= info.max_bytes, "seed {first}, round {round}");
            if draw(&mut seed).is_multiple_of(16) {
                drop(env);
                env = options().write_buffer_bytes(8 << 10).open(&path).unwrap();
                t = t_of(&env.read().unwrap());
            }
            let txn = env.read().unwrap();
            let found: Result<BTreeMap<_, _>, _> = t_of(&txn)
                .iter(&txn)
                .unwrap()
                .map(|record| record.map(|(key, value)| (key, value.to_vec())))
                .collect();
            assert_eq!(found.unwrap(), model, "seed {first}, round {round}");
        }
    }
    assert!(set > 400 && refused > 80, "{set} set, {refused} refused");
}

fn t_of(txn: &huon::ReadTxn) -> huon::Table<U64, Bytes> {
    txn.open_table(&T).unwrap().unwrap()
}

fn draw_geometry(txn: &WriteTxn, seed: &mut u64) -> Geometry {
    let mut geometry = txn.geometry();
    match draw(seed) % 4 {
        0 => geometry.min_bytes = (draw(seed) % 300) << 10,
        1 => geometry.grow_bytes = draw(seed) % 20_000,
        2 => geometry.shrink_bytes = draw(seed) % 9_000,
        _ => geometry.max_bytes = (50 + draw(seed) % 400) << 10,
    }
    geometry.max_bytes = geometry.max_bytes.max(geometry.min_bytes);
    geometry
}
