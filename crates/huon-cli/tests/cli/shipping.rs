//! `ship`, `follow`, `remote`, and `restore` from a directory that is shipped to.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Place, Run, interrupt};

#[test]
fn a_file_is_shipped_restored_and_followed() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "old"]);
    let first = place.json(&["ship", "a.huon", "there", "--once"]);
    assert_eq!(first["segments"], 0, "the whole file was the beginning");
    place.good(&["put", "a.huon", "key", "new"]);
    let second = place.json(&["ship", "a.huon", "there", "--once"]);
    assert_eq!(second["segments"], 1);
    assert!(second["bytes"].as_u64() < Some(10_000), "{second}");
    let again = place.good(&["ship", "a.huon", "there", "--once"]);
    assert!(again.contains("0 segments"), "{again}");

    let restored = place.json(&["restore", "b.huon", "there"]);
    assert_eq!(restored["snapshot"]["id"], second["snapshot"]);
    assert_eq!(place.good(&["get", "b.huon", "key"]), "new\n");
    let id = first["snapshot"].to_string();
    place.good(&["restore", "c.huon", "there", "--at", &id]);
    assert_eq!(place.good(&["get", "c.huon", "key"]), "old\n");
    let listed = place.good(&["remote", "list", "there", "--json"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(place.good(&["remote", "list", "there"]).contains(&format!("snapshot {id} ")));

    let followed = place.json(&["follow", "there", "r.huon", "--once"]);
    assert_eq!(followed["snapshot"], second["snapshot"]);
    place.good(&["put", "a.huon", "more", "1"]);
    place.good(&["ship", "a.huon", "there", "--once"]);
    assert!(place.good(&["follow", "there", "r.huon", "--once"]).contains(": 1 segments"));
    assert_eq!(place.run(&["diff", "a.huon", "r.huon"]).code, 0);
    place.good(&["check", "r.huon"]);
}

#[test]
fn what_runs_until_ctrl_c_ends_in_order() {
    let place = Place::new();
    place.good(&["put", "a.huon", "n", "0"]);
    let shipper = place.command(&["ship", "a.huon", "there", "--every", "20ms", "--json"]).spawn();
    let shipper = shipper.unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !place.path("there/log/0000000000000002").exists() {
        assert!(Instant::now() < end, "it ships nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    let follower = place.command(&["follow", "there", "r.huon", "--every", "20ms"]).spawn();
    let follower = follower.unwrap();
    for n in 1..5 {
        place.good(&["put", "a.huon", "n", &n.to_string()]);
    }
    let shown = || place.path("r.huon").exists() && place.run(&["get", "r.huon", "n"]).out == "4\n";
    while !shown() {
        assert!(Instant::now() < end, "it follows nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    place.good(&["put", "a.huon", "n", "last"]);
    interrupt(&shipper);
    let run = Run::of(shipper.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.err), (130, ""));
    assert!(run.out.lines().all(|line| line.starts_with('{')), "{}", run.out);
    interrupt(&follower);
    let run = Run::of(follower.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.err), (130, ""));
    place.good(&["follow", "there", "r.huon", "--once"]);
    assert_eq!(place.good(&["get", "r.huon", "n"]), "last\n", "what was committed is shipped");
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "old"]);
    place.run(&["ship", "missing.huon", "there", "--once"]).fails(5, &["missing.huon"]);
    place.run(&["restore", "b.huon", "nowhere", "--at", "7"]).fails(2, &["--at"]);
    place.run(&["remote", "list", "nowhere"]).fails(1, &["nowhere"]);
    fs::create_dir(place.path("empty")).unwrap();
    place.run(&["remote", "list", "empty"]).fails(1, &["nothing was shipped"]);
    place.run(&["restore", "b.huon", "empty"]).fails(1, &["nothing was shipped"]);
    fs::write(place.path("key"), "0f".repeat(32)).unwrap();
    fs::write(place.path("short"), "0f").unwrap();
    let with = |key: &str| place.run(&["ship", "a.huon", "there", "--once", "--key-file", key]);
    with("short").fails(2, &["64 hexadecimal digits"]);
    with("none").fails(5, &["none"]);
    assert_eq!(with("key").code, 0);
    place.run(&["restore", "b.huon", "there"]).fails(2, &["its key is needed"]);
    place.good(&["restore", "b.huon", "there", "--key-file", "key"]);
    place.good(&["put", "other.huon", "key", "old"]);
    place
        .run(&["ship", "other.huon", "there", "--once", "--key-file", "key"])
        .fails(4, &["another file"]);
    let copied = fs::read(place.path("a.huon")).unwrap();
    place.good(&["put", "a.huon", "key", "new"]);
    assert_eq!(with("key").code, 0);
    fs::write(place.path("old.huon"), copied).unwrap();
    place
        .run(&["ship", "old.huon", "there", "--once", "--key-file", "key"])
        .fails(4, &["does not know"]);
    assert_eq!(with("key").code, 0, "no shipper has taken over");
    place.run(&["remote", "release", "there", "x", "--key-file", "key"]).fails(1, &["x"]);
    let at = ["remote", "hold", "there", "x", "--key-file", "key", "--at", "yesterday"];
    assert_eq!(place.run(&at).code, 2);
}

#[test]
fn what_is_kept_is_told_and_damage_is_named() {
    let place = Place::new();
    for n in 0..4 {
        place.good(&["put", "a.huon", "n", &n.to_string()]);
        place.good(&["ship", "a.huon", "there", "--once"]);
    }
    place.good(&["remote", "hold", "there", "now", "--until", "2999-01-01T00:00:00Z"]);
    let held = place.json(&["remote", "holds", "there"]);
    assert_eq!(
        (&held["name"], &held["until"]),
        (&"now".into(), &"2999-01-01T00:00:00.000Z".into())
    );
    std::thread::sleep(Duration::from_millis(20));
    let gc = ["remote", "gc", "there", "--keep", "0s", "--grace", "0s"];
    assert_eq!(place.json(&gc)["deleted"], 0);
    assert!(place.json(&gc)["deleted"].as_u64() >= Some(4));
    let found = place.json(&["remote", "check", "there"]);
    assert_eq!(found["problems"], serde_json::json!([]));
    place.good(&["restore", "b.huon", "there"]);
    assert_eq!(place.good(&["get", "b.huon", "n"]), "3\n");
    place.good(&["remote", "release", "there", "now"]);

    place.good(&["put", "a.huon", "n", "4"]);
    place.good(&["ship", "a.huon", "there", "--once"]);
    let mut records: Vec<_> = fs::read_dir(place.path("there/log")).unwrap().collect();
    records.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
    let last = records.pop().unwrap().unwrap();
    let mut bytes = fs::read(last.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(last.path(), bytes).unwrap();
    let checked = place.run(&["remote", "check", "there"]);
    assert_eq!(checked.code, 1);
    assert!(checked.out.contains(&*last.file_name().to_string_lossy()), "{}", checked.out);
    place.run(&["restore", "c.huon", "there"]).fails(4, &["damaged"]);
    assert!(!place.path("c.huon").exists());
}

/// The commands of docs/REMOTE.md, in their order.
#[test]
fn the_run_book_runs() {
    let place = Place::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/REMOTE.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script: Vec<&str> = blocks.collect();
    assert!(script.len() > 6, "the page has commands");
    let tools = Path::new(env!("CARGO_BIN_EXE_huon")).parent().unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script.concat()]).current_dir(place.dir()).env("PATH", path);
    let run = Run::of(shell.stdin(Stdio::null()).output().unwrap());
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    for line in ["7\n", "12\n"] {
        assert!(run.out.contains(line), "no {line:?} in {}", run.out);
    }
}
