//! The system calls of each durability mode, as the kernel sees them: a process commits under
//! `strace`, and the trace says which calls reached the data file, in which order.
//!
//! The engine's own counts could be wrong together with the engine; the trace cannot.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use huon::{Bytes, Durability, Env, TableDef, U64};
use huon_testkit::figures;

const COMMITS: usize = 20;
const DIR: &str = "HUON_FLUSHES_DIR";
/// Asking for a file below this directory, which does not exist, leaves a mark in the trace.
const MARK: &str = "/huon-mark/";

fn mark(name: &str) {
    assert!(std::fs::metadata(format!("{MARK}{name}")).is_err());
}

/// Ends a transaction in some way.
type Finish<'f> = &'f dyn Fn(huon::WriteTxn);

/// The traced process: does nothing unless it is started as one.
#[test]
fn traced_process() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let _alone = crate::alone();
    // Allocated beforehand, so that no commit has to grow it.
    let mut options = Env::options();
    options.min_bytes(32 << 20).flush_after_bytes(u64::MAX).flush_after(Duration::MAX);
    let env = options.open(Path::new(&dir).join("flushes.huon")).unwrap();
    let put = |bytes: usize, finish: Finish<'_>| {
        let mut txn = env.write().unwrap();
        let table = txn.create_table(&TableDef::<U64, Bytes>::main()).unwrap();
        let value = vec![txn.id() as u8; bytes];
        table.put(&mut txn, 1, &value).unwrap();
        finish(txn);
    };
    let with = |durability| {
        move |txn: huon::WriteTxn| {
            txn.commit_with(durability).unwrap();
        }
    };
    let small = |finish: Finish<'_>| (0..COMMITS).for_each(|_| put(100, finish));
    let large = |finish: Finish<'_>| (0..3).for_each(|_| put(2 << 20, finish));

    put(100, &with(Durability::Durable));
    let before = env.info().unwrap().io;
    mark("durable");
    small(&with(Durability::Durable));
    mark("durable-large");
    large(&with(Durability::Durable));
    mark("no-meta-sync");
    small(&with(Durability::NoMetaSync));
    mark("no-meta-sync-large");
    large(&with(Durability::NoMetaSync));
    mark("settle");
    env.sync().unwrap();
    let stores = || env.info().unwrap().io.stores;
    let mut stored = stores();
    mark("lazy");
    small(&with(Durability::Lazy));
    mark("sync");
    env.sync().unwrap();
    mark("unsynced");
    small(&with(Durability::Unsynced));
    stored = stores() - stored;
    mark("sync-again");
    env.sync().unwrap();
    mark("aborted");
    small(&|txn| txn.abort());
    let undone = stores();
    mark("tickets");
    small(&|txn| drop(txn.commit_ticket().unwrap()));
    mark("one-waits");
    put(100, &|txn| txn.commit_ticket().unwrap().wait().unwrap());
    stored += stores() - undone;
    mark("end");
    let after = env.info().unwrap().io;
    let (writes, flushes) = (after.writes - before.writes, after.flushes - before.flushes);
    println!("counted {writes} {flushes} {stored}");
}

/// The letters of the calls that reached the data file behind each mark: `W` for a write, `S` for
/// an `fdatasync`, `?` for anything else that flushes, changes the length, or writes otherwise.
fn letters_by_mark(trace: &str, file: &str) -> BTreeMap<String, String> {
    let mut letters: BTreeMap<String, String> = BTreeMap::new();
    let mut now = String::new();
    for line in trace.lines() {
        // "PID name(arguments ...": a call that was interrupted is shown twice, but begins once.
        let Some((_, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        if let Some((_, mark)) = arguments.split_once(MARK) {
            now = mark.split('"').next().unwrap_or_default().to_string();
            letters.entry(now.clone()).or_default();
            continue;
        }
        let first = arguments.split([',', ')']).next().unwrap_or_default();
        let on_file = first.contains(&format!("<{file}>"));
        let letter = match name {
            "pwritev" if on_file => 'W',
            "fdatasync" if on_file => 'S',
            "write" | "writev" | "pwrite64" | "pwritev2" if on_file => '?',
            "fallocate" | "ftruncate" if on_file => '?',
            "fdatasync" | "fsync" | "msync" | "sync" | "syncfs" | "sync_file_range" => '?',
            _ => continue,
        };
        if let Some(letters) = letters.get_mut(&now) {
            letters.push(letter);
        }
    }
    letters
}

/// Why there is no tracing here, if so.
fn cannot_trace() -> Option<String> {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    match tried {
        Err(error) => Some(format!("strace cannot be started: {error}")),
        Ok(run) if run.status.success() => None,
        Ok(run) => {
            let said = String::from_utf8_lossy(&run.stderr).trim().replace('\n', "; ");
            Some(format!("strace cannot trace here: {said}"))
        }
    }
}

/// Traces the process above: the trace, and what the process itself counted.
fn trace(dir: &Path) -> (String, String) {
    let out = dir.join("trace");
    let run = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-o"])
        .arg(&out)
        .arg(std::env::current_exe().unwrap())
        .args(["flushes::traced_process", "--exact", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    (String::from_utf8_lossy(&std::fs::read(out).unwrap()).into_owned(), said)
}

#[test]
fn the_system_sees_as_many_flushes_as_promised() {
    let _alone = crate::alone();
    if let Some(reason) = cannot_trace() {
        return figures::skip("the_system_sees_as_many_flushes_as_promised", &reason);
    }
    let dir = tempfile::tempdir().unwrap();
    let (trace, said) = trace(dir.path());
    let file = dir.path().canonicalize().unwrap().join("flushes.huon");
    let found = letters_by_mark(&trace, file.to_str().unwrap());

    // A small commit writes one page and the meta, a large one the value, a page, and the meta.
    let small = |letters: &str| letters.repeat(COMMITS);
    for (mark, expected, why) in [
        ("durable", small("WWS"), "one flush, after the page and the meta"),
        ("durable-large", "WWSWS".repeat(3), "the pages are flushed before the meta"),
        ("no-meta-sync", small("WWS"), "small commits are durable"),
        ("no-meta-sync-large", "WWSW".repeat(3), "the meta's flush is left to the next"),
        ("settle", "S".into(), "only the last meta is left"),
        ("sync", "WS".into(), "one flush for all"),
        ("sync-again", "WS".into(), "one flush for all"),
        ("aborted", String::new(), "nothing"),
    ] {
        assert_eq!(found.get(mark), Some(&expected), "{mark}: {why}");
    }
    // Nothing is waited for: without a call where the file system allows it and the page was in
    // memory before; the first time the file's blocks are looked after.
    let waited = found["one-waits"].strip_suffix("WS").expect("one-waits: one flush for all");
    let unawaited = ["lazy", "unsynced", "tickets"].map(|mark| (mark, found[mark].as_str()));
    let stored_or_written: Vec<usize> = unawaited
        .into_iter()
        .chain([("one-waits", waited)])
        .map(|(mark, letters)| {
            let letters = letters.replacen('?', "", 1);
            assert!(letters.chars().all(|letter| letter == 'W'), "{mark}: pages only: {letters}");
            letters.len()
        })
        .collect();
    let all: String = found.into_iter().filter(|(mark, _)| mark != "end").map(|(_, l)| l).collect();
    let of = |letter| all.matches(letter).count();
    let stored = 3 * COMMITS + 1 - stored_or_written.iter().sum::<usize>();
    let counted = format!("counted {} {} {stored}\n", of('W'), of('S'));
    assert!(said.contains(&counted), "the trace says {counted}, the engine {said}");
    let opened: Vec<&str> = trace
        .lines()
        .filter(|line| line.contains("flushes.huon") && line.contains("open"))
        .collect();
    assert!(!opened.is_empty() && opened.iter().all(|line| !line.contains("SYNC")), "{opened:?}");
    figures::named("flushes.traced", of('S') as u64);
}
