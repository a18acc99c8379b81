//! `lsm` and its commands; and what the ordinary ones say of the tables that are parts of LSM
//! tables.

use huon::{Bytes, Env, Str, TableDef, U64};
use huon_lsm::{Lsm, LsmDef, LsmOptions};

use crate::common::{Place, Run, interrupt};

const EVENTS: LsmDef<Str, U64> = LsmDef::new("events");
const LOG: TableDef<Str, Str> = TableDef::new("log");

/// A file with an LSM table of so many runs of 200 records, which commits do not merge, an open
/// run of three records and a tombstone, and an ordinary table.
fn filled(place: &Place, runs: u64) -> Env {
    let env = Env::open(place.path("a.huon")).unwrap();
    let options = LsmOptions { slack: 1000, runs_max: 2000, ..LsmOptions::default() };
    let lsm = Lsm::with_options(&env, options).unwrap();
    let events = lsm.table(&EVENTS).unwrap();
    for run in 0..runs {
        env.update(|txn| {
            (0..200).try_for_each(|n| events.put(txn, &format!("{:04}", n * 7 % 300 + run), run))
        })
        .unwrap();
    }
    env.update(|txn| {
        events.put(txn, "x", 1)?;
        events.put(txn, "y", 2)?;
        events.delete(txn, "0000")?;
        txn.create_table(&LOG)?.put(txn, "a", "b").map(drop)
    })
    .unwrap();
    env
}

/// The definition of a table of bytes.
fn bytes(name: &str) -> TableDef<Bytes, Bytes> {
    TableDef::named(name)
}

/// What a dump of it has to have.
fn merged(env: &Env) -> Vec<(String, u64)> {
    let events = Lsm::open(env).unwrap().table(&EVENTS).unwrap();
    let txn = env.read().unwrap();
    let records = events.iter(&txn).unwrap();
    records.map(|record| record.map(|(key, value)| (key.to_owned(), value)).unwrap()).collect()
}

#[test]
fn stat_says_what_a_table_consists_of() {
    let place = Place::new();
    let env = filled(&place, 20);
    let said = place.good(&["lsm", "stat", "a.huon"]);
    for words in ["LSM table \"events\": 21 runs", "open run", "class 0", "12 bits a key"] {
        assert!(said.contains(words), "no {words} in {said}");
    }
    assert!(said.contains("to merge") && said.contains("str -> u64"), "{said}");
    let json = place.json(&["lsm", "stat", "a.huon", "-t", "events"]);
    let table = &json["tables"][0];
    assert_eq!((&table["name"], &table["runs"]), (&"events".into(), &21.into()));
    assert_eq!((&table["records"], &table["open_run_records"]), (&4003.into(), &3.into()));
    assert_eq!(table["classes"][0]["runs"], 20);
    assert!(table["debt_bytes"].as_u64() > Some(0) && table["filter_bytes"].as_u64() > Some(0));
    assert_eq!((&table["key_type"], &table["value_type"]), (&"str".into(), &"u64".into()));
    drop(env);
    let none = place.path("none.huon");
    drop(Env::open(&none).unwrap());
    assert_eq!(place.good(&["lsm", "stat", "none.huon"]), "no LSM tables\n");
    place.run(&["lsm", "stat", "no.huon"]).fails(5, &["no.huon"]);
}

#[test]
fn stat_says_what_was_written() {
    let place = Place::new();
    drop(filled(&place, 20));
    let table = || place.json(&["lsm", "stat", "a.huon"])["tables"][0].clone();
    // 20 runs of 200 records, and an open run of three: keys of 4 bytes or 1, values of 8, a tag.
    let put = 4000 * (4 + 8 + 1 + 12) + 2 * (1 + 8 + 1 + 12) + (4 + 1 + 12);
    let found = table();
    assert_eq!((&found["put_bytes"], &found["merged_bytes"]), (&put.into(), &0.into()));
    assert_eq!(found["write_amplification"], 1.0);
    place.good(&["lsm", "compact", "a.huon", "--idle"]);
    let found = table();
    let merged = found["merged_bytes"].as_u64().unwrap();
    assert!(found["put_bytes"] == put && merged > 0, "{found}");
    let times = (put + merged) as f64 / put as f64;
    assert!((found["write_amplification"].as_f64().unwrap() - times).abs() < 1e-9);
    let said = place.good(&["lsm", "stat", "a.huon"]);
    assert!(said.contains(&format!("by merges: each byte {times:.1} times")), "{said}");
}

#[test]
fn tables_with_a_merge_operator_are_left_to_their_programs() {
    let place = Place::new();
    drop(filled(&place, 20));
    let env = Env::open(place.path("a.huon")).unwrap();
    let options = LsmOptions { slack: 1000, runs_max: 2000, ..LsmOptions::default() };
    let lsm = Lsm::with_options(&env, options).unwrap();
    let sums = LsmDef::<Str, U64>::new("sums").merged_by("sum", |a, b, sum| sum.set(a + b));
    let sums = lsm.table(&sums).unwrap();
    for _ in 0..10 {
        env.update(|txn| (0..200).try_for_each(|n| sums.merge(txn, &format!("{n:03}"), 1)))
            .unwrap();
    }
    let said = place.good(&["lsm", "stat", "a.huon", "-t", "sums"]);
    assert!(said.contains("merged by") && said.contains("sum"), "{said}");
    let json = place.json(&["lsm", "stat", "a.huon"]);
    assert_eq!(json["tables"][1]["merge_operator"], "sum");
    assert!(json["tables"][0]["merge_operator"].is_null());
    place.good(&["lsm", "check", "a.huon"]);
    // All others are merged.
    let said = place.good(&["lsm", "compact", "a.huon", "--idle"]);
    assert!(said.starts_with("events: 21 runs became 1;"), "{said}");
    assert!(said.contains("\nsums: only programs that have its merge operator \"sum\""), "{said}");
    let json = place.json(&["lsm", "compact", "a.huon"]);
    let of = |table: usize| (json["tables"][table]["left"].clone(), &json["tables"][table]["runs"]);
    assert_eq!((of(0), of(1)), ((false.into(), &1.into()), (true.into(), &10.into())));
    for command in ["compact", "dump"] {
        let run = place.run(&["lsm", command, "a.huon", "-t", "sums"]);
        run.fails(2, &["sums", "its merge operator \"sum\""]);
    }
    place.run(&["lsm", "dump", "a.huon", "-t", "sums", "--json"]).fails(2, &["sums", "operator"]);
    // Once its program has merged it, it can be read.
    lsm.compactor().merge_all().unwrap();
    let json = place.good(&["lsm", "dump", "a.huon", "-t", "sums", "--json"]);
    assert!(json.starts_with("{\"key\":\"000\",\"value\":10}\n"), "{json}");
    assert_eq!(json.lines().count(), 200);
}

#[test]
fn runs_are_merged_until_the_policy_is_content_or_one_is_left() {
    let place = Place::new();
    let env = filled(&place, 40);
    let expected = merged(&env);
    let said = place.good(&["lsm", "compact", "a.huon"]);
    assert!(said.starts_with("events: 41 runs became ") && said.contains("written in"), "{said}");
    let json = place.json(&["lsm", "stat", "a.huon"]);
    let left = json["tables"][0]["runs"].as_u64().unwrap();
    assert!(left < 20 && json["tables"][0]["debt_bytes"] == 0, "{json}");
    let report = place.json(&["lsm", "compact", "a.huon", "--idle", "-t", "events"]);
    let table = &report["tables"][0];
    assert_eq!((&table["runs_before"], &table["runs"]), (&left.into(), &1.into()));
    assert!(table["merged_bytes"].as_u64() > Some(0), "{report}");
    assert_eq!((&report["interrupted"], &table["merges"]), (&false.into(), &1.into()));
    assert_eq!(merged(&env), expected);
    let said = place.good(&["lsm", "compact", "a.huon", "--idle"]);
    assert_eq!(said, "events: 1 run, nothing to merge.\n");
    place.good(&["lsm", "check", "a.huon"]);
    place.good(&["check", "a.huon"]);
}

#[test]
fn a_merge_ends_in_order() {
    let place = Place::new();
    let env = filled(&place, 40);
    let expected = merged(&env);
    // While another process writes it waits, and a signal that comes then is noted.
    let txn = env.write().unwrap();
    let args = ["lsm", "compact", "a.huon", "--wait", "60"];
    let child = place.command(&args).spawn().unwrap();
    while env.info().unwrap().clients < 2 {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt(&child);
    drop(txn);
    let run = Run::of(child.wait_with_output().unwrap());
    assert!(matches!(run.code, 130 | 0), "{run:?}");
    place.good(&["lsm", "check", "a.huon"]);
    place.good(&["lsm", "compact", "a.huon"]);
    assert_eq!(merged(&env), expected);
    // A writer that does not end is told.
    let txn = env.write().unwrap();
    let args = ["lsm", "compact", "a.huon", "--idle", "--wait", "0"];
    place.run(&args).fails(3, &["a.huon"]);
    drop(txn);
}

#[test]
fn a_check_finds_what_is_wrong_with_runs() {
    let place = Place::new();
    let env = filled(&place, 3);
    let said = place.good(&["lsm", "check", "a.huon", "--verbose"]);
    assert!(said.contains("1 LSM table, 4 runs, 603 records\nno problems"), "{said}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("LSM table \"events\": run")).count(),
        4
    );
    let json = place.json(&["lsm", "check", "a.huon"]);
    assert_eq!(
        (&json["clean"], &json["tables"][0]["runs"][0]["open"]),
        (&true.into(), &true.into())
    );
    // A key is lost, a run of no table lies about, and a manifest is none.
    let run = bytes("\0lsm/events/r/000");
    let stray = bytes("\0lsm/gone/r/000");
    env.update(|txn| {
        let run = txn.open_table(&run)?.unwrap();
        let first = run.first(txn)?.unwrap().0.to_vec();
        run.remove(txn, &first)?;
        txn.create_table(&stray)?.put(txn, b"a", b"b\0").map(drop)?;
        let other = txn.create_table(&bytes("\0lsm/odd/m"))?;
        other.take_sequence(txn, 1 << 20)?;
        other.put(txn, &[0xFF], b"\x01").map(drop)
    })
    .unwrap();
    let run = place.run(&["lsm", "check", "a.huon"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("LSM table \"events\": run "), "{run:?}");
    assert!(run.out.contains("a run of the LSM table \"gone\", which is not there"), "{run:?}");
    assert!(run.out.contains("LSM table \"odd\": ") && run.out.ends_with("problems\n"), "{run:?}");
    let run = place.run(&["lsm", "check", "a.huon", "--quiet"]);
    assert_eq!((run.code, &run.out[..]), (1, ""));
    let run = place.run(&["lsm", "check", "a.huon", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &json["clean"]), (1, &false.into()));
    // Every page is whole, all the same.
    place.good(&["check", "a.huon"]);
}

#[test]
fn merged_records_are_dumped_and_loaded() {
    let place = Place::new();
    let env = filled(&place, 5);
    let expected = merged(&env);
    place.good(&["lsm", "dump", "a.huon", "a.txt"]);
    place.run(&["lsm", "dump", "a.huon", "a.txt"]).fails(2, &["a.txt", "-f"]);
    place.good(&["lsm", "dump", "a.huon", "a.txt", "--force"]);
    place.good(&["lsm", "load", "b.huon", "a.txt"]);
    place.good(&["lsm", "load", "b.huon", "a.txt"]);
    let copy = Env::open(place.path("b.huon")).unwrap();
    assert_eq!(merged(&copy), expected);
    drop(copy);
    place.good(&["lsm", "check", "b.huon"]);
    // To an ordinary table and back, as text for people.
    let text = place.good(&["lsm", "dump", "a.huon", "-t", "events", "--print"]);
    assert!(text.starts_with("VERSION=3\nformat=print\ndatabase=events\n"), "{text}");
    assert_eq!(place.feed(&["load", "c.huon"], text.as_bytes()).code, 0);
    assert_eq!(place.good(&["count", "c.huon", "-t", "events"]), format!("{}\n", expected.len()));
    let text = place.good(&["dump", "c.huon", "-t", "events"]);
    let run = place.feed(&["lsm", "load", "c.huon", "-t", "back"], text.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    let json = place.good(&["lsm", "dump", "c.huon", "--json", "--value", "u64"]);
    assert_eq!(json.lines().count(), expected.len());
    // As JSON, with the types of the table.
    let json = place.good(&["lsm", "dump", "a.huon", "--json"]);
    let first = format!("{{\"key\":\"{}\",\"value\":{}}}", expected[0].0, expected[0].1);
    assert_eq!(json.lines().next(), Some(&first[..]));
    let args = ["lsm", "load", "d.huon", "-t", "events", "--json", "--value", "u64"];
    assert_eq!(place.feed(&args, json.as_bytes()).code, 0);
    assert_eq!(merged(&Env::open(place.path("d.huon")).unwrap()), expected);
}

#[test]
fn whole_files_are_dumped_and_loaded_with_their_lsm_tables() {
    let place = Place::new();
    let env = filled(&place, 5);
    let expected = merged(&env);
    drop(env);
    let text = place.good(&["dump", "a.huon"]);
    assert_eq!(place.feed(&["load", "b.huon"], text.as_bytes()).code, 0);
    place.good(&["lsm", "check", "b.huon"]);
    let copy = Env::open(place.path("b.huon")).unwrap();
    assert_eq!(merged(&copy), expected);
    // It goes on where the first one was.
    let events = Lsm::open(&copy).unwrap().table(&EVENTS).unwrap();
    copy.update(|txn| (0..500).try_for_each(|n| events.put(txn, &format!("z{n}"), n))).unwrap();
    drop(copy);
    place.good(&["lsm", "compact", "b.huon", "--idle"]);
    place.good(&["lsm", "check", "b.huon"]);
    let copy = Env::open(place.path("b.huon")).unwrap();
    assert_eq!(merged(&copy).len(), expected.len() + 500);
}

#[test]
fn wrong_text_is_refused_by_line() {
    let place = Place::new();
    let load = |args: &[&str], text: &str| {
        place.feed(&[&["lsm", "load", "a.huon"], args].concat(), text.as_bytes())
    };
    let head = "VERSION=3\nformat=print\ntype=btree\n";
    load(&[], &format!("{head}HEADER=END\n")).fails(2, &["line 4", "--table"]);
    let multi = format!("{head}dupsort=1\nHEADER=END\n a\n b\nDATA=END\n");
    load(&["-t", "t"], &multi).fails(2, &["multimap"]);
    let native = format!("{head}integerkey=1\nHEADER=END\n");
    load(&["-t", "t"], &native).fails(2, &["the order of bytes"]);
    load(&["-t", "t"], "").fails(2, &["standard input", "empty"]);
    assert!(!place.path("a.huon").exists());
    // What comes before the line is committed.
    let half = format!("{head}HEADER=END\n a\n b\n c\n \\zz\nDATA=END\n");
    load(&["-t", "t"], &half).fails(2, &["line 8", "what comes before it is committed"]);
    let json = ["lsm", "dump", "a.huon", "-t", "t", "--json"];
    assert_eq!(place.good(&json), "{\"key\":\"a\",\"value\":\"b\"}\n");
    let objects = "{\"key\":\"c\",\"value\":\"d\"}\n\n{\"key\":\"e\"}\n";
    load(&["-t", "t", "--json"], objects).fails(2, &["line 3", "value"]);
    assert_eq!(place.good(&json).lines().count(), 2);
    load(&["-t", "t", "--json"], "[1]\n").fails(2, &["line 1", "JSON object"]);
    let long = format!("{{\"key\":\"{}\",\"value\":\"\"}}\n", "k".repeat(10_000));
    load(&["-t", "t", "--json"], &long).fails(2, &["line 1"]);
    assert_eq!(load(&["--json"], "").code, 2);
    load(&["--hex"], &half).fails(2, &["--json"]);
    place.run(&["lsm", "dump", "a.huon", "--key", "u64"]).fails(2, &["--json"]);
}

#[test]
fn tables_of_the_other_kind_are_told_apart() {
    let place = Place::new();
    drop(filled(&place, 2));
    for command in ["stat", "compact", "check", "dump", "drop"] {
        let run = |table: &str| place.run(&["lsm", command, "a.huon", "-t", table]);
        run("log").fails(2, &["log", "an ordinary one and no LSM table", "huon"]);
        run("none").fails(1, &["none", "huon lsm stat a.huon"]);
        run("\\00lsm/events/m").fails(2, &["the manifest of the LSM table \"events\"", "--table"]);
    }
    for command in [&["ls"][..], &["get", "x"], &["count"], &["put", "x", "1"], &["drop"]] {
        let args = [&[command[0], "a.huon", "-t", "events"][..], &command[1..]].concat();
        match command[0] {
            // An ordinary table may have the name of an LSM table.
            "put" => place.good(&args).clear(),
            _ => place.run(&args).fails(1, &["LSM table", "huon lsm dump a.huon --table events"]),
        }
        if command[0] == "put" {
            place.good(&["drop", "a.huon", "-t", "events"]);
        }
    }
    // Parts can be looked at, and are changed as a whole.
    let part = "\\00lsm/events/r/000";
    assert_eq!(place.good(&["count", "a.huon", "-t", part]), "200\n");
    for args in [
        &["put", "a.huon", "-t", part, "x", "1"][..],
        &["del", "a.huon", "-t", part, "0001"],
        &["drop", "a.huon", "-t", part],
        &["rename", "a.huon", part, "mine"],
        &["rename", "a.huon", "log", "\\00lsm/log/m"],
    ] {
        place.run(args).fails(2, &["of the LSM table", "huon lsm"]);
    }
    place.good(&["lsm", "check", "a.huon"]);
}

#[test]
fn lists_of_tables_say_which_are_parts() {
    let place = Place::new();
    drop(filled(&place, 2));
    let said = place.good(&["tables", "a.huon"]);
    assert!(said.contains("\\00lsm/events/m\t"), "{said}");
    assert_eq!(said.matches("\tthe manifest of the LSM table \"events\"\n").count(), 1, "{said}");
    assert_eq!(said.matches("\ta run of the LSM table \"events\"\n").count(), 3, "{said}");
    let note = "note: 4 tables are parts of LSM tables: \"events\"";
    assert!(place.good(&["stat", "a.huon"]).ends_with(&format!("{note}\n")));
    assert!(place.good(&["check", "a.huon"]).contains(&format!("{note}; `huon lsm check`")));
    let said = place.good(&["check", "a.huon", "--verbose"]);
    assert!(said.contains("(a run of the LSM table \"events\"): records 200"), "{said}");
    for command in ["tables", "stat"] {
        let json = place.json(&[command, "a.huon"]);
        let tables = json["tables"].as_array().unwrap();
        let runs = tables.iter().filter(|t| t["lsm_table"] == "events" && t["lsm_part"] == "run");
        assert_eq!(runs.count(), 3, "{json}");
        let log = tables.iter().find(|table| table["name"] == "log").unwrap();
        assert!(log.get("lsm_table").is_none());
    }
    place.good(&["lsm", "drop", "a.huon", "-t", "events"]);
    assert_eq!(place.good(&["tables", "a.huon"]).lines().count(), 2);
    assert!(!place.good(&["stat", "a.huon"]).contains("note"));
}
