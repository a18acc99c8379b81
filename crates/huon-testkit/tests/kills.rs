//! Processes that are killed while they work on one file.
//!
//! The test binary starts itself again in a role: a writer commits and says so on its output, a
//! reader recomputes the digest of each snapshot and compares it with the one stored in it. Nothing
//! that was acknowledged may be missing after a kill, durable or not: the system goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use huon::{Bytes, Durability, NativeU64, Options, ReadTxn, TableDef, U64};
use huon_testkit::audit::audit;
use huon_testkit::figures;
use huon_testkit::random::{Random, digest};

const DATA: TableDef<U64, Bytes> = TableDef::new("data");
const MARKS: TableDef<NativeU64, U64> = TableDef::new("marks");
/// Keys of the marks: how many commits there were, and the sum of the digests of all records.
const COMMITS: u64 = 0;
const SUM: u64 = 1;
const KEYS: u64 = 400;

fn options() -> Options {
    let mut options = Options::default();
    options
        .page_bytes(512)
        .upper_bytes(64 << 20)
        .grow_bytes(16 << 10)
        .shrink_bytes(32 << 10)
        .spill_bytes(64 * 512)
        .lock_timeout(Duration::from_secs(20));
    options
}

fn record_digest(key: u64, value: &[u8]) -> u64 {
    digest(&[&key.to_le_bytes()[..], value].concat())
}

/// The number of commits of the snapshot, if its digest is right.
fn verify(txn: &ReadTxn) -> Result<u64, String> {
    let text = |error: huon::Error| error.to_string();
    let Some(marks) = txn.open(&MARKS).map_err(text)? else { return Ok(0) };
    let data = txn.open(&DATA).map_err(text)?.ok_or("no data")?;
    let mut sum = 0u64;
    for record in data.iter(txn).map_err(text)? {
        let (key, value) = record.map_err(text)?;
        sum = sum.wrapping_add(record_digest(key, value));
    }
    let stored = marks.get(txn, &SUM).map_err(text)?;
    let commits = marks.get(txn, &COMMITS).map_err(text)?.ok_or("no number")?;
    match stored == Some(sum) {
        true => Ok(commits),
        false => Err(format!("commit {commits}: digest {sum:x}, stored {stored:x?}")),
    }
}

/// Commits for ever; a line for each commit once it is acknowledged.
fn write(path: &Path, seed: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(seed);
    let env = options().open(path)?;
    let mut out = std::io::stdout();
    loop {
        let mut txn = env.write()?;
        let data = txn.create(&DATA)?;
        let marks = txn.create(&MARKS)?;
        let commits = marks.get(&txn, &COMMITS)?.unwrap_or(0);
        let mut sum = marks.get(&txn, &SUM)?.unwrap_or(0);
        let changes = if random.chance(10) { 200 } else { 1 + random.below(12) };
        for _ in 0..changes {
            let key = random.below(KEYS);
            let old = data.take(&mut txn, &key)?;
            sum = sum.wrapping_sub(old.map_or(0, |old| record_digest(key, &old)));
            if random.chance(80) {
                let bytes = if random.chance(5) { 1500 } else { random.index(90) };
                let value = vec![random.next() as u8; bytes];
                data.put(&mut txn, &key, &value)?;
                sum = sum.wrapping_add(record_digest(key, &value));
            }
        }
        marks.put(&mut txn, &SUM, &sum)?;
        marks.put(&mut txn, &COMMITS, &(commits + 1))?;
        let durability = if random.chance(50) { Durability::Lazy } else { Durability::Durable };
        txn.commit_with(durability)?;
        writeln!(out, "committed {}", commits + 1)?;
        out.flush()?;
    }
}

/// Verifies snapshots for ever, some of them late.
fn read(path: &Path, seed: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(seed);
    let env = options().open(path)?;
    let (mut last_id, mut last_commits) = (0, 0);
    loop {
        let txn = env.read()?;
        if random.chance(30) {
            std::thread::sleep(Duration::from_millis(random.below(8)));
        }
        match verify(&txn) {
            Ok(commits) if txn.id() >= last_id && commits >= last_commits => {
                (last_id, last_commits) = (txn.id(), commits);
                println!("verified {commits}");
            }
            Ok(commits) => println!("wrong: {commits} after {last_commits}"),
            Err(what) => println!("wrong: {what}"),
        }
    }
}

/// What a child process does; nothing in the run itself.
#[test]
fn child() {
    let Ok(role) = std::env::var("HUON_KILL_ROLE") else { return };
    let path = std::env::var_os("HUON_KILL_PATH").expect("a path");
    let seed = std::env::var("HUON_KILL_SEED").expect("a seed").parse().expect("a number");
    let done = match role.as_str() {
        "writer" => write(Path::new(&path), seed),
        _ => read(Path::new(&path), seed),
    };
    if let Err(error) = done {
        println!("wrong: the {role} failed: {error}");
    }
}

struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(role: &str, path: &Path, seed: u64) -> Process {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env("HUON_KILL_ROLE", role)
            .env("HUON_KILL_PATH", path)
            .env("HUON_KILL_SEED", seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child process");
        let lines = BufReader::new(child.stdout.take().expect("its output"));
        Process { child, lines }
    }

    /// The number of the next line that says `word`; `None` at the end.
    fn next(&mut self, word: &str) -> Option<u64> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            assert!(!line.contains("wrong: "), "{line}");
            if !line.ends_with('\n') {
                return None;
            }
            if let Some((_, number)) = line.split_once(word) {
                return Some(number.trim().parse().expect("a number"));
            }
        }
    }

    /// Kills it; the last number it said.
    fn kill(mut self, word: &str) -> Option<u64> {
        self.child.kill().expect("SIGKILL");
        let mut last = None;
        while let Some(number) = self.next(word) {
            last = Some(number);
        }
        self.child.wait().expect("its end");
        last
    }
}

fn seconds() -> u64 {
    std::env::var("HUON_KILL_SECONDS").map_or(12, |s| s.parse().expect("seconds"))
}

#[test]
fn killed_writers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kills.huon");
    let mut random = Random::new(11);
    let mut kills = 0u64;
    let (mut acknowledged, mut slowest, mut verified) = (0, Duration::ZERO, 0);
    let start = Instant::now();
    let mut readers: Vec<Process> = Vec::new();
    while start.elapsed() < Duration::from_secs(seconds()) {
        // With readers around, the lock file goes on; without, the next one recovers.
        if readers.len() < 2 && random.chance(30) {
            readers.push(Process::start("reader", &path, random.next()));
        }
        let begun = Instant::now();
        let mut writer = Process::start("writer", &path, random.next());
        let mut last = writer.next("committed ").expect("the next writer commits");
        slowest = slowest.max(begun.elapsed());
        assert!(last > acknowledged, "commit {last} comes after {acknowledged} was acknowledged");
        for _ in 0..random.below(6) {
            last = writer.next("committed ").expect("it goes on");
        }
        std::thread::sleep(Duration::from_micros(random.below(3000)));
        acknowledged = writer.kill("committed ").unwrap_or(last);
        kills += 1;
        if random.chance(25) && !readers.is_empty() {
            let reader = readers.swap_remove(random.index(readers.len()));
            verified += u64::from(reader.kill("verified ").is_some());
            kills += 1;
        }
        if random.chance(20) {
            let env = options().open(&path).expect("opens");
            let txn = env.read().expect("a snapshot");
            let commits = verify(&txn).expect("a whole snapshot");
            assert!(commits >= acknowledged, "{commits} commits, {acknowledged} acknowledged");
            drop(txn);
            audit(&env).expect("clean");
        }
    }
    for reader in readers {
        verified += u64::from(reader.kill("verified ").is_some());
        kills += 1;
    }
    println!("{kills} kills, {acknowledged} commits, the next writer took at most {slowest:?}");
    assert!(verified > 0, "readers verified snapshots");
    assert!(slowest < Duration::from_secs(1), "the next writer took {slowest:?}");
    figures::add("kill", kills);
}

#[test]
fn dead_readers_hold_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("readers.huon");
    let env = options().open(&path).unwrap();
    let rewrite = |round: u64| {
        env.update(|txn| {
            let (data, marks) = (txn.create(&DATA)?, txn.create(&MARKS)?);
            let mut sum = 0u64;
            for key in 0..KEYS {
                let value = [round as u8; 60];
                data.put(txn, &key, &value)?;
                sum = sum.wrapping_add(record_digest(key, &value));
            }
            marks.put(txn, &SUM, &sum)?;
            marks.put(txn, &COMMITS, &round)?;
            Ok::<_, huon::Error>(())
        })
        .unwrap();
    };
    (1..10).for_each(rewrite);
    let alone = env.info().unwrap().used_bytes;
    for round in 0..12 {
        let mut readers: Vec<Process> =
            (0..2).map(|i| Process::start("reader", &path, round * 2 + i)).collect();
        for reader in &mut readers {
            reader.next("verified ").expect("a reader verifies");
        }
        rewrite(10 + round * 4);
        for reader in readers {
            reader.kill("verified ");
        }
        (1..4).for_each(|i| rewrite(10 + round * 4 + i));
        let readers = env.info().unwrap().readers;
        assert!(readers.is_empty(), "dead readers are listed: {readers:?}");
    }
    let used = env.info().unwrap().used_bytes;
    assert!(used < alone * 3, "{used} bytes in use, {alone} without readers");
    audit(&env).unwrap();
    figures::add("kill", 24);
}
