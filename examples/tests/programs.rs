//! The example programs, run as their users run them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use heed::types::Bytes as Any;
use huon::{Bytes, Env, Json, MultiDef, TableDef};
use serde_json::{Value, json};
use tempfile::TempDir;

const CACHE: &str = env!("CARGO_BIN_EXE_cache");
const FROM_LMDB: &str = env!("CARGO_BIN_EXE_from_lmdb");
const QUEUE: &str = env!("CARGO_BIN_EXE_queue");
const SEARCH: &str = env!("CARGO_BIN_EXE_search");
const SERIES: &str = env!("CARGO_BIN_EXE_series");
const SESSIONS: &str = env!("CARGO_BIN_EXE_sessions");
const SHARED: &str = env!("CARGO_BIN_EXE_shared");

/// What a program prints that must succeed.
fn run(program: &str, file: &Path, args: &[&str]) -> String {
    let ran = Command::new(program).arg(file).args(args).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn is_refused(program: &str, file: &Path, args: &[&str]) -> bool {
    !Command::new(program).arg(file).args(args).output().unwrap().status.success()
}

fn assert_clean(file: &Path) {
    assert!(Env::open(file).unwrap().check().unwrap().is_clean(), "{}", file.display());
}

/// A program that runs beside the test, and is killed with it.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn new(program: &str, file: &Path, args: &[&str]) -> Running {
        let mut command = Command::new(program);
        let mut child = command.arg(file).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("the program prints a line").unwrap()
    }

    /// What it prints to its end, and whether it succeeds.
    fn end(mut self) -> (Vec<String>, bool) {
        let lines = self.lines.by_ref().map(Result::unwrap).collect();
        (lines, self.child.wait().unwrap().success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn jobs_outlive_their_workers() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("jobs.huon");
    // The first time it kills its worker, the second time it is done.
    let mark = dir.path().join("mark");
    let deadly = format!("test -e {0} || {{ touch {0}; kill -9 $PPID; }}", mark.display());
    run(QUEUE, &file, &["add", &deadly, "false", "true"]);
    let (lines, good) = Running::new(QUEUE, &file, &["drain", "50"]).end();
    assert_eq!((lines, good), (vec![format!("0 begun: {deadly}")], false));
    let listed = run(QUEUE, &file, &["list"]);
    assert!(listed.contains("1 ready: false\n2 ready: true\n"), "{listed}");
    assert!(listed.contains(&format!("0 leased: {deadly}\n")), "{listed}");

    let said = run(QUEUE, &file, &["drain", "60000"]);
    assert_eq!(said.matches("0 done\n").count(), 1, "{said}");
    assert_eq!(said.matches("1 failed\n").count(), 3, "{said}");
    assert_eq!(said.matches("2 done\n").count(), 1, "{said}");
    assert_eq!(run(QUEUE, &file, &["list"]), "1 failed: false\n");
    assert_clean(&file);
}

#[test]
fn each_job_is_done_by_one_worker() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("jobs.huon");
    run(QUEUE, &file, &[&["add"][..], &["true"; 20]].concat());
    let workers = [0; 3].map(|_| Running::new(QUEUE, &file, &["drain", "600000"]));
    let all = workers.map(|worker| worker.end().0.join("\n")).join("\n");
    for n in 0..20 {
        let begun = format!("{n} begun: true");
        assert_eq!(all.lines().filter(|line| *line == begun).count(), 1, "{all}");
    }
    assert_eq!(run(QUEUE, &file, &["list"]), "");
}

#[test]
fn documents_are_found_by_their_words() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("index.huon");
    let [a, b] = ["a.txt", "b.txt"].map(|name| dir.path().join(name).display().to_string());
    std::fs::write(&a, "The free list, and a list of lists.").unwrap();
    std::fs::write(&b, "A list that is free.").unwrap();
    assert_eq!(run(SEARCH, &file, &["index", &a, &b]), format!("{a}: 7 words\n{b}: 5 words\n"));
    assert_eq!(run(SEARCH, &file, &["find", "LIST", "free"]), format!("3 {a}\n2 {b}\n"));
    assert_eq!(run(SEARCH, &file, &["find", "free", "lunch"]), "");
    assert_clean(&file);
}

#[test]
fn points_are_kept_as_long_as_they_are_wanted() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("points.huon");
    for (metric, time, value) in [("cpu", "10", "1"), ("cpu", "19", "2"), ("disk", "20", "0.5")] {
        run(SERIES, &file, &["put", metric, time, value]);
    }
    assert_eq!(run(SERIES, &file, &["last"]), "cpu 19 2\ndisk 20 0.5\n");
    assert_eq!(run(SERIES, &file, &["mean", "cpu", "0", "30", "10"]), "10 1.5\n");
    assert_eq!(run(SERIES, &file, &["forget", "20"]), "2\n");
    assert_eq!(run(SERIES, &file, &["last"]), "disk 20 0.5\n");
    assert_clean(&file);
}

#[test]
fn entries_are_watched_from_another_process() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("cache.huon");
    run(CACHE, &file, &["set", "greeting", "hello", "3600"]);
    assert_eq!(run(CACHE, &file, &["get", "greeting"]), "hello\n");
    let mut watch = Running::new(CACHE, &file, &["watch", "greeting"]);
    assert_eq!(watch.line(), "hello");
    run(CACHE, &file, &["set", "greeting", "good day", "3600"]);
    assert_eq!(watch.line(), "good day");
    assert_eq!(run(CACHE, &file, &["delete", "greeting"]), "true\n");
    assert_eq!(watch.end(), (vec![], true));
    run(CACHE, &file, &["set", "short", "gone", "0"]);
    assert!(is_refused(CACHE, &file, &["get", "short"]));
    assert_clean(&file);
}

#[test]
fn processes_count_together() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("counts.huon");
    let said = run(SHARED, &file, &["3", "200"]);
    assert!(said.starts_with("600 counted;"), "{said}");
    let said = run(SHARED, &file, &["2", "50"]);
    assert!(said.starts_with("700 counted;"), "{said}");
    assert_clean(&file);
}

#[test]
fn databases_of_lmdb_move_in() {
    let dir = TempDir::new().unwrap();
    let (from, to) = (dir.path().join("lmdb"), dir.path().join("new.huon"));
    std::fs::create_dir(&from).unwrap();
    // SAFETY: no other process knows of this directory, and this one opens it once.
    let lmdb =
        unsafe { heed::EnvOpenOptions::new().map_size(64 << 20).max_dbs(3).open(&from).unwrap() };
    let mut txn = lmdb.write_txn().unwrap();
    let people = lmdb.create_database::<Any, Any>(&mut txn, Some("people")).unwrap();
    let mut options = lmdb.database_options().types::<Any, Any>();
    let cities = options.name("by-city").flags(heed::DatabaseFlags::DUP_SORT);
    let cities = cities.create(&mut txn).unwrap();
    let mut options = lmdb.database_options().types::<Any, Any>();
    let options = options.name("numbers");
    let numbers = options.key_comparator::<heed::IntegerComparator>().create(&mut txn).unwrap();
    for n in 0..1000_u32 {
        people.put(&mut txn, &n.to_be_bytes(), &vec![n as u8; n as usize * 5]).unwrap();
        cities.put(&mut txn, &(n % 7).to_be_bytes(), &n.to_be_bytes()).unwrap();
        numbers.put(&mut txn, &n.to_ne_bytes(), b"").unwrap();
    }
    txn.commit().unwrap();
    drop(lmdb);

    let target = to.to_str().unwrap();
    assert!(is_refused(FROM_LMDB, &from, &[target, "people", "stranger"]));
    #[cfg(target_endian = "little")]
    assert!(is_refused(FROM_LMDB, &from, &[target, "people", "numbers"]));
    let said = run(FROM_LMDB, &from, &[target, "people", "by-city:multi"]);
    assert_eq!(said, "people: 1000 records\nby-city: 1000 records\n");
    let env = Env::open(&to).unwrap();
    let people = env.table(&TableDef::<Bytes, Bytes>::new("people")).unwrap();
    let cities = env.table(&MultiDef::<Bytes, Bytes>::new("by-city")).unwrap();
    let txn = env.read().unwrap();
    assert_eq!(people.get(&txn, &[0, 0, 0, 9]).unwrap(), Some(&[9; 45][..]));
    assert_eq!(cities.count_values(&txn, &[0, 0, 0, 6]).unwrap(), 142);
    assert_clean(&to);
}

/// A service that runs beside the test, at a port that the system has chosen.
struct Service {
    _running: Running,
    address: String,
}

impl Service {
    fn new(file: &Path, args: &[&str]) -> Service {
        let args = [&["127.0.0.1:0"], args].concat();
        let mut running = Running::new(SESSIONS, file, &args);
        let address = running.line().replace("listening on ", "");
        Service { _running: running, address }
    }

    /// The status and the body of an answer.
    fn ask(&self, request: &str, header: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{header}\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn log_in(&self, user: &str) -> String {
        let body = json!({ "user": user }).to_string();
        let (status, token) = self.ask("POST /login", "content-type: application/json", &body);
        assert_eq!(status, 200);
        token.as_str().unwrap().to_owned()
    }

    fn who_am_i(&self, token: &str) -> (u16, Value) {
        let (status, session) =
            self.ask("GET /whoami", &format!("authorization: Bearer {token}"), "");
        (status, session["user"].clone())
    }

    fn back_up(&self) -> PathBuf {
        let (status, path) = self.ask("POST /backup", "accept: */*", "");
        assert_eq!(status, 200);
        path.as_str().unwrap().into()
    }
}

#[test]
fn sessions_are_backed_up_under_load_and_end() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("sessions.huon");
    let service = Service::new(&file, &[]);
    let token = service.log_in("ada");
    assert_eq!(service.who_am_i(&token), (200, json!("ada")));
    assert_eq!(service.who_am_i("0123").0, 401);
    assert_eq!(service.who_am_i("00000000-0000-0000-0000-000000000000").0, 401);
    let backups = std::thread::scope(|scope| {
        for thread in 0..3 {
            let service = &service;
            scope.spawn(move || {
                for n in 0..30 {
                    service.log_in(&format!("user {thread}.{n}"));
                }
            });
        }
        [0; 3].map(|_| service.back_up())
    });
    backups.iter().for_each(|backup| assert_clean(backup));
    // Another one serves the copy, while the first one is killed in the middle.
    let other = Service::new(&backups[2], &[]);
    assert_eq!(other.who_am_i(&token), (200, json!("ada")));
    drop(service);

    // Sessions outlive their process. A new one that has no time ends at once and is swept.
    let service = Service::new(&file, &["0"]);
    assert_eq!(service.who_am_i(&token).0, 200);
    let env = Env::open(&file).unwrap();
    let sessions = env.table(&TableDef::<uuid::Uuid, Json<Value>>::new("sessions")).unwrap();
    let ended = service.log_in("bob");
    assert_eq!(service.who_am_i(&ended).0, 401);
    let ended = ended.parse().unwrap();
    loop {
        let txn = env.read().unwrap();
        let seen = txn.id();
        if !sessions.contains(&txn, ended).unwrap() {
            break;
        }
        drop(txn);
        env.wait_for_commit(seen, Duration::MAX).unwrap();
    }
    assert_eq!(sessions.len(&env.read().unwrap()).unwrap(), 91);
    drop(service);
    assert_clean(&file);
}
