//! M10: whatever the history, small commits give the free tail of the file back.

use std::ops::ControlFlow;
use std::path::PathBuf;

use huon::{Bytes, Durability, Env, PageKind, Table, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const TINY: TableDef<U64, U64> = TableDef::new("tiny");

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let dir = dir.unwrap();
    let path = dir.path().join("a.huon");
    (dir, path)
}

/// Each changes something. Lazy ones keep the last flushed snapshot, hence the flushes.
fn tiny_commits(env: &Env, count: u64) {
    for n in 0..count {
        env.update(|txn| {
            let tiny = txn.create_table(&TINY)?;
            let last = tiny.get(txn, 0)?.unwrap_or(0);
            tiny.put(txn, 0, last + 1)
        })
        .unwrap();
        if n % 8 == 0 {
            env.sync().unwrap();
        }
    }
}

/// The free pages at the end of the file, and how many may be there: the threshold, or what a file
/// keeps for deletes when it is full and grows by at least, and the slack.
#[track_caller]
fn assert_short_tail(env: &Env, commits: u64, what: &str) {
    tiny_commits(env, commits);
    let info = env.info().unwrap();
    let page_bytes = u64::from(info.page_bytes);
    let mut end = 0;
    env.visit_pages(&mut |page| {
        if !matches!(page.kind, PageKind::Free | PageKind::FreeList) {
            end = end.max(u64::from(page.pgno + page.page_count) * page_bytes);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let slack = (info.used_bytes / page_bytes / 16).min(256) * page_bytes;
    let (tail, threshold) = (info.file_bytes - end, info.geometry.shrink_bytes);
    assert!(
        tail < threshold.max(81 * page_bytes) + slack + 4096,
        "{what}: {tail} of {} bytes lie free behind the last page (threshold {threshold})",
        info.file_bytes
    );
    assert!(env.check().unwrap().is_clean(), "{what}");
}

/// Appends at the end and deletes at the front in rounds, clears, and goes on with small commits.
fn ring(env: &Env, rounds: u64, each: u64) -> Table<U64, Bytes> {
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    let mut next = 0;
    for round in 0..rounds {
        env.update(|txn| {
            for _ in 0..each {
                t.put(txn, next, &vec![7; 200 + (next % 900) as usize])?;
                next += 1;
            }
            for key in (round.saturating_sub(10) * each)..(round.saturating_sub(9) * each) {
                t.remove(txn, key)?;
            }
            Ok(())
        })
        .unwrap();
    }
    t
}

#[test]
fn a_ring_that_is_cleared_gives_its_pages_back() {
    let mut longest = 0;
    for (threshold, rounds) in [(8 << 20, 45), (8 << 20, 60), (8 << 20, 80), (1 << 20, 25)] {
        for each in [300, 1500] {
            let (_dir, path) = place();
            let env = Env::options().shrink_bytes(threshold).open(&path).unwrap();
            let t = ring(&env, rounds, each);
            let full = env.info().unwrap().file_bytes;
            env.update(|txn| t.clear(txn)).unwrap();
            let what = format!("{rounds} rounds of {each}, {threshold}");
            assert_short_tail(&env, 20, &what);
            let left = env.info().unwrap().file_bytes;
            assert!(left < threshold, "{what}: {full} bytes became {left}");
            longest = longest.max(full);
        }
    }
    assert!(longest > 12 << 20, "{longest}");
}

/// Most of the file is free, in very many pieces, before the rest is freed too.
#[test]
fn a_file_in_very_many_pieces_gives_its_tail_back() {
    let (_dir, path) = place();
    let mut options = Env::options();
    options.page_bytes(256).shrink_bytes(1 << 20).durability(Durability::Lazy);
    let env = options.open(&path).unwrap();
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    let records = 120_000u64;
    env.update(|txn| (0..records).try_for_each(|n| t.put(txn, n, &[1; 90]).map(drop))).unwrap();
    env.sync().unwrap();
    let full = env.info().unwrap().file_bytes;
    let mut random = Random(1);
    let mut keys: Vec<u64> = (0..records).collect();
    for i in (1..keys.len()).rev() {
        keys.swap(i, random.below(i as u64 + 1) as usize);
    }
    for part in keys.chunks(3000) {
        env.update(|txn| part.iter().try_for_each(|key| t.remove(txn, *key).map(drop))).unwrap();
    }
    env.sync().unwrap();
    assert_short_tail(&env, 100, "random deletes");
    let left = env.info().unwrap().file_bytes;
    assert!(left < full / 4, "{full} bytes became {left}");
}

/// What a history does next.
struct History<'e> {
    env: &'e Env,
    random: Random,
    next: u64,
    readers: Vec<huon::ReadTxn>,
}

impl History<'_> {
    fn step(&mut self) {
        let size = [3, 40, 400][self.random.below(3) as usize];
        let def = TableDef::<U64, Bytes>::named(format!("t{}", self.random.below(3)));
        let (random, next) = (&mut self.random, &mut self.next);
        self.env
            .update(|txn| {
                let t = txn.create_table(&def)?;
                let keys = |t: &Table<U64, Bytes>, txn: &huon::WriteTxn| {
                    let keys = t.iter(txn)?.map(|record| record.map(|(key, _)| key));
                    keys.collect::<Result<Vec<u64>, huon::Error>>()
                };
                match random.below(9) {
                    0..=3 => {
                        for _ in 0..size {
                            let long = [20, 300, 3000, 40_000][random.below(4) as usize];
                            let len = random.below(if size > 40 { 600 } else { long });
                            t.put(txn, *next, &vec![3; len as usize])?;
                            *next += 1;
                        }
                    }
                    4 => {
                        for key in keys(&t, txn)?.into_iter().take(size) {
                            t.remove(txn, key)?;
                        }
                    }
                    5 => {
                        for key in keys(&t, txn)?.into_iter().rev().take(size) {
                            t.remove(txn, key)?;
                        }
                    }
                    6 => {
                        for key in keys(&t, txn)? {
                            if random.below(3) == 0 {
                                t.put(txn, key, &vec![4; random.below(500) as usize])?;
                            } else if random.below(3) == 0 {
                                t.remove(txn, key)?;
                            }
                        }
                    }
                    7 if random.below(4) == 0 => t.clear(txn)?,
                    8 if random.below(4) == 0 => {
                        t.drop_table(txn)?;
                    }
                    _ => {}
                }
                Ok(())
            })
            .unwrap();
        match self.random.below(8) {
            0 | 1 if self.readers.len() < 6 => self.readers.push(self.env.read().unwrap()),
            2 if !self.readers.is_empty() => {
                let at = self.random.below(self.readers.len() as u64) as usize;
                drop(self.readers.remove(at));
            }
            _ => {}
        }
    }
}

#[test]
fn after_any_history_the_tail_is_short() {
    for seed in 0..18 {
        let (_dir, path) = place();
        let mut options = Env::options();
        options
            .page_bytes([4096, 512, 16384][seed as usize % 3])
            .shrink_bytes([64 << 10, 1 << 20, 256 << 10][seed as usize / 3 % 3])
            .durability([Durability::Durable, Durability::Lazy][seed as usize % 2]);
        let mut env = options.open(&path).unwrap();
        let random = Random(seed);
        let mut history = History { env: &env, random, next: 0, readers: Vec::new() };
        for _ in 0..150 {
            history.step();
        }
        let History { random, next, readers, .. } = history;
        drop(readers);
        if seed % 3 == 1 {
            // Another process goes on.
            env.close().unwrap();
            env = options.open(&path).unwrap();
        }
        env.sync().unwrap();
        assert_short_tail(&env, 40, &format!("seed {seed}"));
        let mut history = History { env: &env, random, next, readers: Vec::new() };
        for _ in 0..20 {
            history.step();
        }
        drop(history);
        env.update(|txn| {
            for n in 0..3 {
                txn.create_table(&TableDef::<U64, Bytes>::named(format!("t{n}")))?.clear(txn)?;
            }
            Ok(())
        })
        .unwrap();
        env.sync().unwrap();
        assert_short_tail(&env, 40, &format!("seed {seed}, cleared"));
        let info = env.info().unwrap();
        assert!(
            info.file_bytes < info.geometry.shrink_bytes + (512 << 10),
            "seed {seed}: nothing is in {} bytes",
            info.file_bytes
        );
    }
}
