//! `watch-readers`: the readers, again and again.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use huon::{Bytes, Env, TableDef};
use serde_json::Value;

use crate::common::{Place, Run, interrupt};

#[test]
fn readers_are_watched_until_ctrl_c() {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    let mut command = place.command(&["watch-readers", "a.huon", "--interval", "0.1"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("time UTC client "));
    assert!(next().ends_with(" no readers"));

    let env = Env::options().open(place.path("a.huon")).unwrap();
    let reader = env.read().unwrap();
    let pid = std::process::id().to_string();
    let row = std::iter::repeat_with(&mut next).find(|line| !line.ends_with("no readers"));
    let row = row.unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((words[2], words[3], words[4]), (&*pid, &*reader.id().to_string(), "0"), "{row}");

    // It retains the pages that are overwritten, and the watch blocks no writer.
    let mut txn = env.write_within(Duration::from_secs(60)).unwrap();
    let main = txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap();
    main.put(&mut txn, b"apple", b"green").unwrap();
    txn.commit().unwrap();
    let row = std::iter::repeat_with(&mut next).find(|line| line.ends_with("KiB")).unwrap();
    assert_ne!(row.split_whitespace().nth(4), Some("0"), "{row}");
    drop(reader);
    while !next().ends_with("no readers") {}
    interrupt(&child);
    drop(lines);
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.err), (0, ""));
}

#[test]
fn one_round_is_enough() {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    let text = place.good(&["watch-readers", "a.huon", "--once"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let _reader = env.read().unwrap();
    let json = place.good(&["watch-readers", "a.huon", "--once", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["readers"][0]["pid"], std::process::id());
    assert_eq!(json["readers"][0]["retained_bytes"], 0);
    for wrong in ["0", "-1", "nan", "a", "1e9"] {
        let run = place.run(&["watch-readers", "a.huon", &format!("--interval={wrong}")]);
        assert_eq!(run.code, 2, "{run:?}");
    }
    place.run(&["watch-readers", "none.huon"]).fails(5, &["none.huon"]);
}
