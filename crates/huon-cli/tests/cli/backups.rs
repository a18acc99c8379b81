//! `backup` and `restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::Place;

/// An environment with a whole backup and one that follows it.
fn made() -> Place {
    let place = Place::new();
    for n in 0..200 {
        place.good(&["put", "a.huon", "--table", "t", &format!("key {n}"), "old"]);
    }
    place.good(&["backup", "a.huon", "one"]);
    place.good(&["put", "a.huon", "--table", "t", "key 7", "new"]);
    place.good(&["backup", "a.huon", "two", "--after", "one"]);
    place
}

#[test]
fn backups_are_restored_to_each_snapshot() {
    let place = made();
    let made = place.path("two").metadata().unwrap();
    assert!(made.len() < 60_000, "it has what changed alone");
    assert_eq!(made.permissions().mode() & 0o777, 0o600, "it is as private as the file");
    let whole = place.json(&["restore", "b.huon", "one"]);
    assert_eq!(place.good(&["get", "b.huon", "--table", "t", "key 7"]), "old\n");
    let both = place.json(&["restore", "c.huon", "one", "two"]);
    assert_eq!(place.good(&["get", "c.huon", "--table", "t", "key 7"]), "new\n");
    assert!(whole["snapshot"]["id"].as_u64() < both["snapshot"]["id"].as_u64());
    place.good(&["check", "c.huon"]);
    assert_eq!(place.run(&["diff", "a.huon", "c.huon"]).code, 0, "no difference");
    let again = place.json(&["backup", "a.huon", "three", "--after", "two"]);
    assert_eq!(again["pages"], 0);
    assert_eq!(again["since"], both["snapshot"]);
}

#[test]
fn a_backup_goes_down_a_pipe() {
    let place = made();
    let run = place.run(&["backup", "a.huon", "-"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let restored = place.feed(&["restore", "b.huon", "-"], &run.bytes);
    assert_eq!(restored.code, 0, "{}", restored.err);
    place.good(&["check", "b.huon"]);
    let half = &run.bytes[..run.bytes.len() / 2];
    place.feed(&["restore", "c.huon", "-"], half).fails(4, &["of the backup"]);
    assert!(!place.path("c.huon").exists());
}

#[test]
fn what_does_not_follow_or_is_in_the_way_is_refused() {
    let place = made();
    place.run(&["restore", "b.huon", "two"]).fails(4, &["two", "add the one before first"]);
    place.run(&["restore", "b.huon", "two", "one"]).fails(4, &["two"]);
    place.run(&["restore", "b.huon", "a.huon"]).fails(4, &["a.huon", "backup"]);
    place.run(&["restore", "a.huon", "one"]).fails(2, &["exists already"]);
    place.run(&["restore", "b.huon", "missing"]).fails(5, &["missing"]);
    place.run(&["backup", "a.huon", "one"]).fails(2, &["exists already"]);
    place.run(&["backup", "a.huon", "a.huon", "--force"]).fails(2, &["a.huon"]);
    place.run(&["backup", "a.huon", "a.huon-lock", "--force"]).fails(2, &["a.huon-lock"]);
    place.run(&["backup", "a.huon", "x", "--after", "a.huon"]).fails(5, &["a.huon"]);
    place.run(&["backup", "missing.huon", "x"]).fails(5, &["missing.huon"]);
    assert!(!place.path("b.huon").exists() && !place.path("x").exists());
    place.good(&["backup", "a.huon", "one", "--force"]);
    let drafts = fs::read_dir(place.dir()).unwrap();
    let drafts = drafts.filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().contains("draft"))
    });
    assert_eq!(drafts.count(), 0, "nothing was left behind");
}
