//! The command `huon`: every command, and what its exit codes say.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Place, Run, interrupt, terminate};
use huon::{Bytes, Durability, Env, TableDef};
use serde_json::Value;

const HEADER: &str = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n";

/// Commands that only look, and need no more than a file.
const LOOKING: [&str; 10] =
    ["info", "stat", "tables", "readers", "check", "ls", "count", "dump", "metas", "pages"];

/// One environment with three fruits in the main table and two users in a named one.
fn fruits() -> Place {
    let place = Place::new();
    for (key, value) in [("apple", "red"), ("banana", "yellow"), ("cherry", "dark red")] {
        place.good(&["put", "a.huon", key, value]);
    }
    let run = place.feed(&["put", "a.huon", "-", "--table", "users"], b"ann\t1\nbob\t2\n");
    assert_eq!(run.code, 0, "{run:?}");
    place
}

#[test]
fn records_come_and_go() {
    let place = fruits();
    assert_eq!(place.good(&["get", "a.huon", "apple"]), "red\n");
    assert_eq!(place.good(&["get", "a.huon", "apple", "--raw"]), "red");
    assert_eq!(
        place.good(&["get", "a.huon", "ann", "-t", "users", "--json"]).trim_end(),
        r#"{"key":"ann","value":"1"}"#
    );
    assert_eq!(place.good(&["count", "a.huon"]), "3\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "users"]), "2\n");
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t3\nusers\t2\n");
    assert_eq!(place.good(&["del", "a.huon", "apple"]), "");
    place.run(&["del", "a.huon", "apple"]).fails(1, &["a.huon", "apple"]);
    place.run(&["get", "a.huon", "apple"]).fails(1, &["a.huon", "apple"]);
    place.run(&["put", "a.huon", "banana", "x", "--new"]).fails(1, &["banana"]);
    assert_eq!(place.good(&["get", "a.huon", "banana"]), "yellow\n");
    let run = place.feed(&["get", "a.huon", "-"], b"cherry\nbanana\nnone\n");
    assert_eq!((run.code, &*run.out), (1, "cherry\tdark red\nbanana\tyellow\n"));
    assert_eq!(place.feed(&["del", "a.huon", "-"], b"cherry\nbanana\n").code, 0);
    assert_eq!(place.good(&["count", "a.huon"]), "0\n");
}

#[test]
fn lists_have_bounds() {
    let place = fruits();
    let ls = |args: &[&str]| place.good(&[&["ls", "a.huon", "--keys"], args].concat());
    assert_eq!(ls(&[]), "apple\nbanana\ncherry\n");
    assert_eq!(ls(&["--reverse", "--limit", "2"]), "cherry\nbanana\n");
    assert_eq!(ls(&["--from", "b", "--to", "cherry"]), "banana\n");
    assert_eq!(ls(&["--from", "banana"]), "banana\ncherry\n");
    assert_eq!(ls(&["--from", "c", "--to", "a"]), "");
    assert_eq!(ls(&["--prefix", "b"]), "banana\n");
    assert_eq!(ls(&["--prefix", "62", "--hex"]), "62616e616e61\n");
}

#[test]
fn every_byte_travels() {
    let place = Place::new();
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(place.feed(&["put", "a.huon", "all", "-"], &all).code, 0);
    assert_eq!(place.run(&["get", "a.huon", "all", "--raw"]).bytes, all);
    let text = place.good(&["get", "a.huon", "all"]);
    place.good(&["put", "a.huon", text.trim_end_matches('\n'), "x"]);
    let hex = place.good(&["get", "a.huon", "--hex", "616c6c"]);
    assert_eq!(place.good(&["get", "a.huon", "--hex", hex.trim_end()]), "78\n");
    // What `ls` prints `put` reads, in both forms.
    for form in [&[][..], &["--hex"]] {
        let list = place.good(&[&["ls", "a.huon"], form].concat());
        let name = if form.is_empty() { "b.huon" } else { "c.huon" };
        let put = place.feed(&[&["put", name, "-"], form].concat(), list.as_bytes());
        assert_eq!(put.code, 0, "{put:?}");
        assert_eq!(place.good(&["ls", name]), place.good(&["ls", "a.huon"]));
    }
}

#[test]
fn dump_and_load_are_inverse() {
    let place = Place::new();
    {
        let env = Env::options().open(place.path("a.huon")).unwrap();
        let mut txn = env.write().unwrap();
        for name in [&b""[..], b"t", b"\x01odd\n"] {
            let def = match name {
                b"" => TableDef::<Bytes, Bytes>::main(),
                name => TableDef::named(name),
            };
            let table = txn.create_table(&def).unwrap();
            for byte in 0..=255u8 {
                table.put(&mut txn, &[b'k', byte], &[byte; 3]).unwrap();
            }
            table.put(&mut txn, b"", &[7; 100_000]).unwrap();
        }
        txn.commit().unwrap();
    }
    for form in [&[][..], &["--print"]] {
        let name = if form.is_empty() { "b.huon" } else { "c.huon" };
        let text = place.run(&[&["dump", "a.huon"], form].concat());
        assert_eq!(text.code, 0, "{}", text.err);
        // A load can be repeated.
        for _ in 0..2 {
            let load = place.feed(&["load", name], &text.bytes);
            assert_eq!(load.code, 0, "{load:?}");
        }
        assert_eq!(place.run(&[&["dump", name], form].concat()).bytes, text.bytes);
        assert_eq!(place.run(&["check", name, "--quiet"]).code, 0);
    }
    place.good(&["dump", "a.huon", "t.txt", "-t", "t"]);
    place.run(&["dump", "a.huon", "t.txt"]).fails(2, &["t.txt", "exists"]);
    place.good(&["load", "d.huon", "t.txt", "-t", "other"]);
    assert_eq!(place.good(&["count", "d.huon", "-t", "other"]), "257\n");
}

#[test]
fn bad_text_is_refused_by_line() {
    let place = Place::new();
    let text = format!("{HEADER} a\n 1\n b\n \\zz\nDATA=END\n");
    place.feed(&["load", "a.huon"], text.as_bytes()).fails(2, &["standard input", "line 8"]);
    assert_eq!(place.good(&["ls", "a.huon"]), "a\t1\n");
    place.feed(&["load", "a.huon"], b"").fails(2, &["input: the input is empty; nothing was"]);
    place.run(&["load", "a.huon", "none.txt"]).fails(5, &["none.txt"]);
    place.feed(&["put", "a.huon", "-"], b"x\ty\nno tab\n").fails(2, &["line 2"]);
    place.feed(&["put", "a.huon", "-"], b"x\t\\q\n").fails(2, &["line 1"]);
    assert_eq!(place.good(&["ls", "a.huon"]), "a\t1\n");
}

#[test]
fn json_is_json() {
    let place = fruits();
    for command in ["info", "stat", "tables", "readers", "check", "count", "metas", "pages"] {
        let text = place.good(&[command, "a.huon", "--json"]);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object(), "{command}: {text}");
    }
    let lines = place.good(&["ls", "a.huon", "--json"]);
    let keys: Vec<Value> =
        lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["key"].clone()).collect();
    assert_eq!(keys, ["apple", "banana", "cherry"]);
    let check: Value = serde_json::from_str(&place.good(&["check", "a.huon", "--json"])).unwrap();
    assert_eq!((&check["clean"], &check["problem_count"]), (&true.into(), &0.into()));
}

#[test]
fn copies_are_whole_and_never_overwrite() {
    let place = fruits();
    place.good(&["copy", "a.huon", "b.huon"]);
    place.good(&["copy", "a.huon", "c.huon", "--compact"]);
    place.run(&["copy", "a.huon", "b.huon"]).fails(2, &["b.huon", "exists"]);
    let piped = place.run(&["copy", "a.huon", "-"]);
    std::fs::write(place.path("d.huon"), piped.bytes).unwrap();
    for name in ["b.huon", "c.huon", "d.huon"] {
        assert!(place.good(&["check", name]).ends_with("no problems\n"));
        assert_eq!(place.good(&["ls", name]), place.good(&["ls", "a.huon"]));
        assert_eq!(place.good(&["count", name, "-t", "users"]), "2\n");
    }
}

#[test]
fn stat_names_what_there_is() {
    let place = fruits();
    let text = place.good(&["stat", "a.huon"]);
    for word in ["live", "reusable", "retained", "users", "(main)"] {
        assert!(text.contains(word), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let info = place.good(&["info", "a.huon"]);
    for words in ["4096 bytes", "maximum size       1.00 TiB", "free ends of 8.00 MiB", "flushed"] {
        assert!(info.contains(words), "no \"{words}\" in {info}");
    }
    assert!(info.ends_with("state              closed in order\n"), "{info}");
    let info: Value = serde_json::from_str(&place.good(&["info", "a.huon", "--json"])).unwrap();
    assert_eq!((&info["min_bytes"], &info["shrink_bytes"]), (&16384.into(), &(8 << 20).into()));
    assert_eq!((&info["max_bytes"], &info["grow_bytes"]), (&(1u64 << 40).into(), &0.into()));
}

#[test]
fn readers_are_listed() {
    let place = fruits();
    assert_eq!(place.good(&["readers", "a.huon"]), "no readers\n");
    assert!(place.good(&["info", "a.huon"]).contains("readers            0\n"));
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let _reader = env.read().unwrap();
    let text = place.good(&["readers", "a.huon"]);
    let pid = std::process::id().to_string();
    assert!(text.contains(&pid), "{text}");
    assert!(!text.contains("parked"), "{text}");
    let info = place.good(&["info", "a.huon"]);
    let words = format!("readers            1; the oldest, in process {pid}, is at the newest");
    assert!(info.contains(&words), "{info}");
}

#[test]
fn slow_and_parked_readers_are_told_apart() {
    let place = fruits();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let parked = env.read().unwrap().park().unwrap();
    let put = |value: &str| place.good(&["put", "a.huon", "apple", value]);
    put("green");
    let live = env.read().unwrap();
    put("yellow");
    let text = place.good(&["readers", "a.huon"]);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].ends_with(" behind     age     retains       alone"), "{text}");
    assert!(rows[1].ends_with("KiB  parked") && rows[2].ends_with("KiB"), "{text}");
    assert!(rows.iter().all(|row| row.len() <= 80) && rows.len() == 3, "{text}");
    let json = |command: &str| -> Value {
        serde_json::from_str(&place.good(&[command, "a.huon", "--json"])).unwrap()
    };
    let readers = json("readers");
    let [slow, fast] = [&readers["readers"][0], &readers["readers"][1]];
    assert_eq!((&slow["parked"], &fast["parked"]), (&true.into(), &false.into()));
    assert_eq!(fast["snapshot"], live.id());
    assert!(
        slow["ids_behind"].as_u64() > fast["ids_behind"].as_u64() && slow["thread"].is_u64(),
        "{readers}"
    );
    // What it keeps alone is what comes free when it goes.
    let alone = slow["alone_bytes"].as_u64().unwrap();
    assert!(0 < alone && alone <= slow["retained_bytes"].as_u64().unwrap(), "{readers}");
    let info = place.good(&["info", "a.huon"]);
    assert!(info.contains("readers            2 (1 parked); the oldest, in process"), "{info}");
    assert!(info.contains(" behind, "), "{info}");
    let info = json("info");
    assert_eq!((&info["parked_readers"], &info["readers"]), (&1.into(), &2.into()));
    assert_eq!(info["oldest_reader"]["parked"], true);
    assert!(info["map_bytes"].as_u64() >= info["max_bytes"].as_u64(), "{info}");
    let stat = place.good(&["stat", "a.huon"]);
    assert!(stat.contains("  parked reader in process"), "{stat}");
    let stat = json("stat");
    let snapshots = stat["retained_snapshots"].as_array().unwrap();
    assert_eq!(snapshots.iter().filter(|snapshot| snapshot["parked"] == true).count(), 1, "{stat}");
    drop(parked);
    assert!(!place.good(&["readers", "a.huon"]).contains("parked"));
}

#[test]
fn looking_disturbs_no_writer() {
    let place = fruits();
    let before = std::fs::read(place.path("a.huon")).unwrap();
    let look = || {
        for command in LOOKING {
            place.good(&[command, "a.huon"]);
        }
        place.good(&["get", "a.huon", "apple"]);
        place.good(&["check", "a.huon", "--quiet"]);
    };
    look();
    assert!(std::fs::read(place.path("a.huon")).unwrap() == before, "looking has written");
    // Every one of them runs while a write transaction is open, and sees nothing of it.
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let main = txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap();
    main.put(&mut txn, b"dill", b"green").unwrap();
    look();
    assert_eq!(place.good(&["count", "a.huon"]), "3\n");
    txn.commit_with(Durability::Durable).unwrap();
    assert_eq!(place.good(&["count", "a.huon"]), "4\n");
    // Nothing is created where nothing is.
    for command in LOOKING {
        place.run(&[command, "none.huon"]).fails(5, &["none.huon"]);
    }
    place.run(&["del", "none.huon", "x"]).fails(5, &["none.huon"]);
    assert!(!place.path("none.huon").exists() && !place.path("none.huon-lock").exists());
}

#[test]
fn a_chosen_meta_is_only_looked_at() {
    let place = fruits();
    let newest = place.good(&["ls", "a.huon"]);
    for slot in ["0", "1", "2"] {
        place.run(&["check", "a.huon", "--meta-slot", slot]);
        assert_eq!(place.good(&["ls", "a.huon"]), newest, "slot {slot}");
    }
    let _env = Env::options().open(place.path("a.huon")).unwrap();
    place.run(&["check", "a.huon", "--meta-slot", "0"]).fails(3, &["a.huon", "open elsewhere"]);
}

#[test]
fn usage_errors_are_2() {
    let place = fruits();
    for args in [&["nonsense"][..], &[], &["get"], &["get", "a.huon"], &["ls", "a.huon", "--what"]]
    {
        assert_eq!(place.run(args).code, 2, "{args:?}");
    }
    place.run(&["put", "a.huon", "key"]).fails(2, &["value"]);
    place.run(&["get", "a.huon", "a\\g"]).fails(2, &["backslash"]);
    place.run(&["get", "a.huon", "abc", "--hex"]).fails(2, &["hex"]);
    place.run(&["put", "a.huon", "k", "v", "--page-size", "8192"]).fails(2, &["4096"]);
    place.run(&["put", "b.huon", "k", "v", "--page-size", "1000"]).fails(2, &["power of two"]);
    place.run(&["put", "a.huon", &"k".repeat(3000), "v"]).fails(2, &["3000", "2022"]);
    place.run(&["count", "a.huon", "-t", "none"]).fails(1, &["none", "huon tables"]);
    for help in ["--help", "--version"] {
        let text = place.good(&[help]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    for command in ["info", "stat", "tables", "get", "put", "del", "ls", "count", "readers"]
        .iter()
        .chain(&["check", "dump", "load", "copy", "drop", "rename", "watch-readers"])
        .chain(&["pages", "metas", "switch-meta", "delete-env"])
    {
        let text = place.good(&[command, "--help"]);
        assert!(text.contains("Examples:"), "{command}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn what_is_no_environment() {
    let place = fruits();
    std::fs::write(place.path("text"), "hello ".repeat(5000)).unwrap();
    std::fs::create_dir(place.path("dir")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    std::fs::write(place.path("empty"), "").unwrap();
    place.run(&["info", "text"]).fails(4, &["text", "HUON"]);
    place.run(&["put", "text", "k", "v"]).fails(4, &["text", "HUON"]);
    assert!(!place.path("text-lock").exists());
    place.run(&["info", "dir"]).fails(4, &["dir", "a directory"]);
    place.run(&["info", "fifo"]).fails(4, &["fifo", "a FIFO"]);
    assert_eq!(place.run(&["info", "empty"]).code, 4);

    let whole = std::fs::read(place.path("a.huon")).unwrap();
    std::fs::write(place.path("short"), &whole[..12288]).unwrap();
    let short = place.run(&["check", "short"]);
    assert!([1, 4].contains(&short.code), "{short:?}");
    std::fs::write(place.path("stub"), &whole[..100]).unwrap();
    assert_eq!(place.run(&["check", "stub"]).code, 4);

    // The version lies behind the magic word, in all three metas.
    let mut newer = whole.clone();
    for slot in 0..3 {
        newer[slot * 4096 + 4] = 99;
    }
    std::fs::write(place.path("newer"), &newer).unwrap();
    place.run(&["info", "newer"]).fails(4, &["newer", "99"]);
}

#[test]
fn damage_is_found_and_the_rest_rescued() {
    let place = Place::new();
    let records: String = (0..5000).map(|n| format!("key{n:05}\tvalue {n}\n")).collect();
    assert_eq!(place.feed(&["put", "a.huon", "-"], records.as_bytes()).code, 0);
    // Damage to what the newest commit wrote would make the opening step back from it.
    let newest_only = std::fs::read(place.path("a.huon")).unwrap();
    place.good(&["put", "a.huon", "last", "one"]);
    place.good(&["put", "a.huon", "last", "two"]);
    let damage = |mut bytes: Vec<u8>, name: &str| {
        let at = bytes.windows(8).position(|window| window == b"key02500").unwrap();
        bytes[at + 3] ^= 1;
        std::fs::write(place.path(name), bytes).unwrap();
    };
    damage(newest_only, "s.huon");
    // Every command says it, not only the first.
    for _ in 0..2 {
        let check = place.run(&["check", "s.huon"]);
        assert_eq!((check.code, check.err.lines().count()), (1, 1), "{check:?}");
        assert!(check.err.contains("the newest snapshot is damaged"), "{check:?}");
    }
    damage(std::fs::read(place.path("a.huon")).unwrap(), "b.huon");
    let check = place.run(&["check", "b.huon"]);
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.out.contains("page "), "{check:?}");
    let report = place.run(&["check", "b.huon", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&report.out).unwrap()["clean"], false);
    place.run(&["dump", "b.huon"]).fails(4, &["b.huon", "page"]);
    let rescued = place.run(&["dump", "b.huon", "--rescue"]);
    assert_eq!(rescued.code, 1, "{}", rescued.err);
    assert_eq!(place.feed(&["load", "c.huon"], &rescued.bytes).code, 0);
    let kept: u64 = place.good(&["count", "c.huon"]).trim_end().parse().unwrap();
    assert!((4000..5000).contains(&kept), "{kept}");
}

#[test]
fn busy_is_3() {
    let place = fruits();
    let alone = Env::options().exclusive(true).open(place.path("a.huon")).unwrap();
    place.run(&["info", "a.huon"]).fails(3, &["a.huon"]);
    drop(alone);
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let _txn = env.write().unwrap();
    place.run(&["put", "a.huon", "k", "v", "--wait", "0"]).fails(3, &["a.huon", "try again"]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let place = Place::new();
    let records: String = (0..50_000).map(|n| format!("key{n:05}\tvalue {n}\n")).collect();
    assert_eq!(place.feed(&["put", "a.huon", "-"], records.as_bytes()).code, 0);
    for args in [&["ls", "a.huon"][..], &["dump", "a.huon"], &["copy", "a.huon", "-"]] {
        let mut child = place.command(args).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.code, &*run.err), (0, ""), "{args:?}");
    }
}

#[test]
fn ctrl_c_commits_what_was_loaded() {
    let place = Place::new();
    let mut child = place.command(&["load", "a.huon"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{HEADER} a\n 1\n b\n 2\n").as_bytes()).unwrap();
    stdin.flush().unwrap();
    // The file is there once signals are caught, and the records are read soon after.
    let start = Instant::now();
    while !place.path("a.huon").exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    // Its input stays open and silent: only the signal ends it.
    Run::of(child.wait_with_output().unwrap()).fails(130, &["interrupted", "committed"]);
    drop(stdin);
    assert_eq!(place.good(&["ls", "a.huon"]), "a\t1\nb\t2\n");
}

#[test]
fn a_load_whose_input_stalls_commits_and_lets_others_write() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let mut child = place.command(&["load", "a.huon"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It stalls in the middle of a value.
    stdin.write_all(format!("{HEADER} a\n 1\n b\n 2\n c\n begun").as_bytes()).unwrap();
    stdin.flush().unwrap();
    let main = TableDef::<Bytes, Bytes>::main();
    let count = || {
        let txn = env.read().unwrap();
        txn.open_table(&main).unwrap().map_or(0, |table| table.len(&txn).unwrap())
    };
    let start = Instant::now();
    while count() < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is committed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(count(), 2);
    let mut txn = env.write_within(Duration::from_secs(60)).unwrap();
    let table = txn.create_table(&main).unwrap();
    table.put(&mut txn, b"between", b"x").unwrap();
    txn.commit().unwrap();
    stdin.write_all(b" and ended\n d\n 4\nDATA=END\n").unwrap();
    drop(stdin);
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.err), (0, ""));
    let list = place.good(&["ls", "a.huon"]);
    assert_eq!(list, "a\t1\nb\t2\nbetween\tx\nc\tbegun and ended\nd\t4\n");
}

#[test]
fn one_signal_ends_the_wait_for_the_other_end_of_a_pipe() {
    let place = fruits();
    assert!(Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    for args in [["dump", "a.huon", "fifo"], ["load", "a.huon", "fifo"]] {
        let mut child = place.command(&args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "{args:?} does not wait");
        terminate(&child);
        let start = Instant::now();
        let ended = loop {
            match child.try_wait().unwrap() {
                None if start.elapsed() < Duration::from_secs(20) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                ended => break ended,
            }
        };
        if ended.is_none() {
            child.kill().unwrap();
        }
        assert!(ended.is_some_and(|status| !status.success()), "{args:?}: {ended:?}");
    }
    // A pipe with a reader is written to, and no file takes its place.
    let reader =
        Command::new("cat").arg(place.path("fifo")).stdout(Stdio::piped()).spawn().unwrap();
    place.good(&["dump", "a.huon", "fifo", "--print", "--force"]);
    let text = Run::of(reader.wait_with_output().unwrap()).out;
    assert!(text.contains(" apple\n red\n"), "{text}");
}

#[test]
fn ctrl_c_leaves_no_copy() {
    let place = Place::new();
    {
        let env = Env::options().open(place.path("a.huon")).unwrap();
        let mut txn = env.write().unwrap();
        let main = txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap();
        for n in 0..64u32 {
            main.put(&mut txn, &n.to_be_bytes(), &vec![n as u8; 4 << 20]).unwrap();
        }
        txn.commit().unwrap();
    }
    let child = place.command(&["copy", "a.huon", "b.huon"]).spawn().unwrap();
    let drafts = || {
        let names = std::fs::read_dir(place.dir()).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("b.huon")).count()
    };
    let start = Instant::now();
    while drafts() == 0 && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    interrupt(&child);
    let run = Run::of(child.wait_with_output().unwrap());
    // A fast machine may have finished first; there is no third way.
    match run.code {
        130 => assert_eq!(drafts(), 0, "{run:?}"),
        code => assert_eq!((code, place.good(&["check", "b.huon", "-q"])), (0, String::new())),
    }
}

#[test]
fn the_demo_runs_on_a_small_tree() {
    let place = Place::new();
    let tree = place.path("tree");
    for d in 0..20 {
        let dir = tree.join(format!("d{d}/sub"));
        std::fs::create_dir_all(&dir).unwrap();
        for f in 0..20 {
            std::fs::write(dir.join(format!("file{f}.e{}", f % 5)), vec![b'x'; d * 10 + f])
                .unwrap();
        }
    }
    use std::os::unix::ffi::OsStrExt;
    std::fs::write(tree.join(std::ffi::OsStr::from_bytes(b"odd\xff\n.bin")), "x").unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_huon-demo"));
    demo.arg("--dir").arg(&tree).arg("--keep").arg(place.path("demo.huon"));
    let run = Run::of(demo.output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    for words in ["441 entries", "mismatches: 0", "SIGKILL", "0 problems", "the kill cost", ".e4"] {
        assert!(run.out.contains(words), "no \"{words}\" in {}", run.out);
    }
    assert!(!run.out.contains('\u{1b}'), "colour without a terminal");
    assert!(run.out.lines().all(|l| l.chars().count() <= 80 || l.contains("/tmp")), "{}", run.out);
    assert_eq!(place.good(&["count", "demo.huon", "-t", "entries"]), "441\n");
    assert_eq!(place.good(&["check", "demo.huon", "-q"]), "");
    let odd = place.good(&["ls", "demo.huon", "-t", "entries", "--keys"]);
    assert!(odd.contains("odd\\ff\\0a.bin"), "{odd}");
}

/// What a command prints, and nothing hears, ends in no file.
#[test]
fn commands_run_without_standard_streams() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "value"]);
    let huon = env!("CARGO_BIN_EXE_huon");
    for closed in ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"] {
        for command in [
            "put a.huon other value",
            "get a.huon key",
            "check a.huon",
            "dump a.huon text -f",
            "copy a.huon copy -f",
            "put a.huon",
        ] {
            let line = format!("{huon} {command} {closed}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(place.dir());
            shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            shell.output().unwrap();
        }
        assert_eq!(place.good(&["get", "a.huon", "key"]), "value\n", "{closed}");
        for file in ["a.huon", "copy"] {
            assert_eq!(place.good(&["check", file, "-q"]), "", "{closed}");
        }
    }
}
