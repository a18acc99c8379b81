//! The example programs, run as a user would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use huon::Env;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// What a program says that ends well.
fn run(program: &str, file: &Path, args: &[&str]) -> String {
    let ran = Command::new(program).arg(file).args(args).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn start(program: &str, file: &Path, args: &[&str]) -> Child {
    Command::new(program).arg(file).args(args).stdout(Stdio::piped()).spawn().unwrap()
}

fn is_clean(file: &Path) -> bool {
    Env::open(file).unwrap().check().unwrap().is_clean()
}

#[test]
fn jobs_are_done_also_those_of_a_worker_that_was_killed() {
    let place = Place::new();
    let file = place.path("jobs.huon");
    let queue = |args: &[&str]| run(env!("CARGO_BIN_EXE_queue"), &file, args);
    queue(&["add", "sleep 60000"]);
    let mut doomed = start(env!("CARGO_BIN_EXE_queue"), &file, &["drain", "50"]);
    let mut said = String::new();
    BufReader::new(doomed.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "0 begun: sleep 60000\n");
    doomed.kill().unwrap();
    doomed.wait().unwrap();
    assert_eq!(queue(&["list"]), "0 leased tries 1: sleep 60000\n");
    // The lease runs out, and the next worker takes the job: shorter ones now.
    let texts: Vec<String> = (0..20).map(|n| format!("job {n}")).collect();
    let mut add = vec!["add"];
    add.extend(texts.iter().map(String::as_str));
    queue(&add);
    let workers = [1, 2, 3].map(|_| start(env!("CARGO_BIN_EXE_queue"), &file, &["drain", "2000"]));
    std::thread::sleep(Duration::from_millis(300));
    let mut all = String::new();
    for (n, mut worker) in workers.into_iter().enumerate() {
        if n == 0 {
            // One of them is asleep in the long job, or waits for whoever is.
            continue_until_idle(&file);
        }
        let _ = worker.kill();
        worker.stdout.take().unwrap().read_to_string(&mut all).unwrap();
        worker.wait().unwrap();
    }
    for n in 0..20 {
        assert_eq!(all.matches(&format!(" begun: job {n}\n")).count(), 1, "{all}");
    }
    assert!(is_clean(&file));
}

/// Waits until only the job that sleeps is left.
fn continue_until_idle(file: &Path) {
    while run(env!("CARGO_BIN_EXE_queue"), file, &["list"]).lines().count() > 1 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_job_that_fails_three_times_is_put_aside() {
    let place = Place::new();
    let file = place.path("jobs.huon");
    let queue = |args: &[&str]| run(env!("CARGO_BIN_EXE_queue"), &file, args);
    queue(&["add", "sleep 100"]);
    // Each lease runs out before the job is done.
    let said = queue(&["drain", "10"]);
    assert_eq!(said.matches("done too late").count(), 3, "{said}");
    assert_eq!(queue(&["list"]), "0 failed: sleep 100\n");
}

#[test]
fn documents_are_found_by_their_words() {
    let place = Place::new();
    let file = place.path("index.huon");
    let search = |args: &[&str]| run(env!("CARGO_BIN_EXE_search"), &file, args);
    let [a, b] = ["a.txt", "b.txt"].map(|name| place.path(name).display().to_string());
    std::fs::write(&a, "The free list, and the list of lists.").unwrap();
    std::fs::write(&b, "A list that is free. Straße! Free.").unwrap();
    assert_eq!(search(&["index", &a, &b]), format!("{a}: 6 words\n{b}: 6 words\n"));
    assert_eq!(search(&["find", "LIST", "free"]), format!("    3 {a}\n    3 {b}\n"));
    assert_eq!(search(&["find", "straße"]), format!("    1 {b}\n"));
    assert_eq!(search(&["find", "free", "lunch"]), "");
    std::fs::write(&a, "Nothing of the kind.").unwrap();
    search(&["index", &a]);
    assert_eq!(search(&["find", "list"]), format!("    1 {b}\n"), "old words are gone");
    assert!(is_clean(&file));
}

#[test]
fn points_are_kept_as_long_as_they_are_wanted() {
    let place = Place::new();
    let file = place.path("points.huon");
    let series = |args: &[&str]| run(env!("CARGO_BIN_EXE_series"), &file, args);
    for time in 0..20 {
        series(&["put", "cpu", &(1000 + time).to_string(), &time.to_string()]);
    }
    series(&["put", "cpu0", "1000", "-1"]);
    series(&["put", "disk", "1015", "0.5"]);
    assert_eq!(series(&["metrics"]), "cpu\ncpu0\ndisk\n");
    assert_eq!(series(&["last", "cpu"]), "1019 19\n");
    assert_eq!(series(&["mean", "cpu", "1000", "1020", "10"]), "1000 4.500\n1010 14.500\n");
    assert_eq!(series(&["forget", "1015"]), "16 points forgotten\n");
    assert_eq!(series(&["metrics"]), "cpu\ndisk\n");
    assert_eq!(series(&["mean", "cpu", "1000", "1020", "10"]), "1010 17.000\n");
}

#[test]
fn entries_end_and_are_watched_over_processes() {
    let place = Place::new();
    let file = place.path("cache.huon");
    let cache = |args: &[&str]| run(env!("CARGO_BIN_EXE_cache"), &file, args);
    cache(&["set", "greeting", "hello", "60"]);
    assert_eq!(cache(&["get", "greeting"]), "hello\n");
    let mut watch = start(env!("CARGO_BIN_EXE_cache"), &file, &["watch", "greeting"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "hello");
    cache(&["set", "greeting", "good day", "60"]);
    assert_eq!(next(), "good day");
    cache(&["del", "greeting"]);
    assert!(watch.wait().unwrap().success(), "it ends when the entry is gone");
    cache(&["set", "short", "gone soon", "0"]);
    let gone = Command::new(env!("CARGO_BIN_EXE_cache")).arg(&file).args(["get", "short"]).output();
    assert!(!gone.unwrap().status.success());
    cache(&["set", "other", "x", "60"]);
    let env = Env::open(&file).unwrap();
    let stat = env.stat().unwrap();
    assert_eq!(stat.tables[1..].iter().map(|t| t.entries).collect::<Vec<_>>(), [1, 1], "swept");
}

#[test]
fn processes_count_together() {
    let place = Place::new();
    let file = place.path("counts.huon");
    let said = run(env!("CARGO_BIN_EXE_shared"), &file, &["3", "200"]);
    assert!(said.starts_with("600 counted"), "{said}");
    let said = run(env!("CARGO_BIN_EXE_shared"), &file, &["2", "50"]);
    assert!(said.starts_with("700 counted"), "{said}");
    assert!(is_clean(&file));
}

#[test]
fn databases_of_lmdb_move_in() {
    use heed::types::Bytes;
    let place = Place::new();
    let source = place.path("lmdb");
    std::fs::create_dir(&source).unwrap();
    // SAFETY: nobody else has this directory.
    let lmdb = unsafe { heed::EnvOpenOptions::new().max_dbs(3).open(&source).unwrap() };
    let mut txn = lmdb.write_txn().unwrap();
    let plain = lmdb.create_database::<Bytes, Bytes>(&mut txn, Some("people")).unwrap();
    let many = lmdb
        .database_options()
        .types::<Bytes, Bytes>()
        .flags(heed::DatabaseFlags::DUP_SORT)
        .name("by-city")
        .create(&mut txn)
        .unwrap();
    for n in 0..1000u32 {
        plain.put(&mut txn, &n.to_be_bytes(), &vec![n as u8; n as usize * 3]).unwrap();
        many.put(&mut txn, &(n % 7).to_be_bytes(), &n.to_be_bytes()).unwrap();
    }
    txn.commit().unwrap();
    drop(lmdb);
    let target = place.path("new.huon");
    let target_text = target.display().to_string();
    let said =
        run(env!("CARGO_BIN_EXE_from_lmdb"), &source, &[&target_text, "people", "by-city:multi"]);
    assert_eq!(said, "people: 1000 records\nby-city: 1000 records\n");
    assert!(is_clean(&target));
}

/// One request to the service; status and body.
fn ask(address: &str, request: &str, headers: &str, body: &str) -> (u16, serde_json::Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn sessions_begin_and_end_and_are_backed_up_under_load() {
    const JSON: &str = "content-type: application/json\r\n";
    let place = Place::new();
    let file = place.path("sessions.huon");
    let mut server = start(env!("CARGO_BIN_EXE_sessions"), &file, &["127.0.0.1:0", "3600"]);
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("listening on ").unwrap().to_owned();
    let log_in = |user: &str| {
        let (status, answer) =
            ask(&address, "POST /login", JSON, &format!("{{\"user\":\"{user}\"}}"));
        assert_eq!(status, 200);
        answer["token"].as_str().unwrap().to_owned()
    };
    let who = |token: &str| ask(&address, "GET /whoami", &format!("authorization: {token}\r\n"), "");
    let token = log_in("ada");
    assert_eq!(who(&token), (200, serde_json::json!({ "user": "ada" })));
    assert_eq!(who("0123").0, 401);
    assert_eq!(ask(&address, "POST /login", JSON, "{}").0, 400);
    let backups: Vec<PathBuf> = std::thread::scope(|scope| {
        let load = [0, 1, 2].map(|thread| {
            scope.spawn(move || (0..30).for_each(|n| drop(log_in(&format!("user {thread}.{n}")))))
        });
        let backups = (0..3).map(|_| {
            let (status, answer) = ask(&address, "POST /backup", "", "");
            assert_eq!(status, 200, "{answer}");
            answer["backup"].as_str().unwrap().into()
        });
        let backups = backups.collect();
        load.into_iter().for_each(|thread| thread.join().unwrap());
        backups
    });
    for backup in backups {
        assert!(is_clean(&backup), "{}", backup.display());
    }
    assert_eq!(who(&token).0, 200);
    server.kill().unwrap();
    server.wait().unwrap();
    // Sessions outlive the process, and end when it is opened with none to come.
    let mut server = start(env!("CARGO_BIN_EXE_sessions"), &file, &["127.0.0.1:0", "0"]);
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("listening on ").unwrap().to_owned();
    let who = |token: &str| ask(&address, "GET /whoami", &format!("authorization: {token}\r\n"), "");
    assert_eq!(who(&token).0, 200);
    let (_, answer) = ask(&address, "POST /login", JSON, "{\"user\":\"bob\"}");
    assert_eq!(who(answer["token"].as_str().unwrap()).0, 401, "a session without a life");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(is_clean(&file));
}
