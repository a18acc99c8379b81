//! `pages`: a walk over all pages, summed up or one by one.

use std::io::Read;

use huon::Env;
use serde_json::Value;

use crate::common::{Place, Run};

/// Records in two levels, a multimap whose key has a tree of values, a large value, free pages.
fn full() -> Place {
    let place = Place::new();
    let fill = |args: &[&str], records: String| {
        let run = place.feed(&[&["put", "a.huon"], args, &["-"]].concat(), records.as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
    };
    fill(&[], (0..2000).map(|n| format!("key{n:05}\tvalue {n}\n")).collect());
    fill(&["-t", "tags", "--multi"], (0..2000).map(|n| format!("k\tvalue {n}\n")).collect());
    fill(&["-t", "large"], format!("x\t{}\n", "y".repeat(50_000)));
    place.good(&["del", "a.huon", "key00001"]);
    place
}

#[test]
fn pages_are_summed_up() {
    let place = full();
    let text = place.good(&["pages", "a.huon"]);
    for words in
        ["metas  ", "free  ", "(main): 2 levels\n  branches ", " 2,001 records and tables\n"]
    {
        assert!(text.contains(words), "no \"{words}\" in {text}");
    }
    for words in ["\nlarge: 1 level\n", "  1 value\n", "\ntags: 1 level\n", "  2,000 values\n"] {
        assert!(text.contains(words), "no \"{words}\" in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = place.json(&["pages", "a.huon"]);
    let parts = json["tables"].as_array().unwrap().iter().map(|table| &table["kinds"]);
    let sums: Vec<&Value> =
        parts.chain([&json["space"]]).flat_map(|kinds| kinds.as_array().unwrap()).collect();
    let total = |name: &str| sums.iter().map(|sum| sum[name].as_u64().unwrap()).sum::<u64>();
    let info = place.json(&["info", "a.huon"]);
    assert_eq!(json["total_pages"], total("total_pages"));
    assert_eq!(info["used_bytes"], total("total_pages") * 4096);
    assert_eq!(info["used_bytes"], total("used_bytes") + total("unused_bytes"));
    assert_eq!(json["snapshot"], info["newest"]);
    // It says the same as `stat`.
    let stat = place.json(&["stat", "a.huon"]);
    for (table, counted) in json["tables"].as_array().unwrap().iter().zip(0..) {
        let known = &stat["tables"][counted as usize];
        assert_eq!((&table["name"], &table["levels"]), (&known["name"], &known["depth"]));
    }
    let hex = place.json(&["pages", "a.huon", "--hex"]);
    assert_eq!(hex["tables"][1]["name_hex"], "6c61726765");
}

#[test]
fn each_page_is_shown_once() {
    let place = full();
    let json = place.good(&["pages", "a.huon", "--each", "--json"]);
    let pages: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut spans: Vec<(u64, u64)> = pages
        .iter()
        .map(|page| (page["page"].as_u64().unwrap(), page["total_pages"].as_u64().unwrap()))
        .collect();
    spans.sort();
    let mut next = 0;
    for (page, count) in spans {
        assert_eq!(page, next);
        next += count;
    }
    let total = place.json(&["pages", "a.huon"])["total_pages"].clone();
    assert_eq!(total, next);
    let text = place.good(&["pages", "a.huon", "--each"]);
    assert_eq!(text.lines().count(), pages.len() + 1);
    for words in [" kind ", " large value ", " value leaf ", " branch ", " free ", "  (main)\n"] {
        assert!(text.contains(words), "no \"{words}\" in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn held_pages_and_empty_files_are_shown() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let text = place.good(&["pages", "a.huon"]);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert_eq!(place.good(&["pages", "a.huon", "--each"]).lines().count(), 2);
    place.good(&["put", "a.huon", "apple", "red"]);
    let reader = env.read().unwrap();
    place.good(&["put", "a.huon", "apple", "green"]);
    assert!(place.good(&["pages", "a.huon"]).contains("for older snapshots\n"));
    drop(reader);
}

#[test]
fn damage_ends_the_walk_and_is_named() {
    let place = full();
    let mut bytes = std::fs::read(place.path("a.huon")).unwrap();
    let at = bytes.windows(10).position(|window| window == b"value 1999").unwrap();
    bytes[at] ^= 1;
    std::fs::write(place.path("b.huon"), bytes).unwrap();
    for each in [&[][..], &["--each"], &["--json"]] {
        let run = place.run(&[&["pages", "b.huon"], each].concat());
        assert_eq!(run.code, 4, "{run:?}");
        let page = format!("page {}", at / 4096);
        assert!(run.err.contains(&page) && run.err.contains("huon check"), "{run:?}");
    }
    let alone = Env::options().exclusive(true).open(place.path("a.huon")).unwrap();
    place.run(&["pages", "a.huon"]).fails(3, &["a.huon"]);
    drop(alone);
    std::fs::write(place.path("text"), "hello ".repeat(5000)).unwrap();
    place.run(&["pages", "text"]).fails(4, &["text", "HUON"]);
    assert_eq!(place.run(&["pages"]).code, 2);
}

#[test]
fn a_closed_pipe_ends_the_list() {
    let place = Place::new();
    let records: String = (0..40_000).map(|n| format!("key{n:05}\t{}\n", "v".repeat(99))).collect();
    assert_eq!(place.feed(&["put", "a.huon", "-"], records.as_bytes()).code, 0);
    for form in [&[][..], &["--json"]] {
        let mut child = place.command(&[&["pages", "a.huon", "--each"], form].concat());
        let mut child = child.spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.code, &*run.err), (0, ""), "{form:?}");
    }
}
