//! Whole tables: `drop` and `rename`.

use crate::common::Place;

fn tables() -> Place {
    let place = Place::new();
    let records: String = (0..2500).map(|n| format!("key{n}\tvalue\n")).collect();
    assert_eq!(place.feed(&["put", "a.huon", "-"], records.as_bytes()).code, 0);
    place.good(&["put", "a.huon", "-t", "users", "ann", "1"]);
    place.good(&["put", "a.huon", "-t", "tags", "--multi", "sweet", "pear"]);
    place
}

#[test]
fn a_table_is_dropped_or_emptied() {
    let place = tables();
    let drop = |args: &[&str]| place.run(&[&["drop", "a.huon"], args].concat());
    drop(&[]).fails(2, &["--table", "--empty"]);
    drop(&["-t", "none"]).fails(1, &["none", "huon tables"]);
    drop(&["-t", "key7"]).fails(2, &["key7", "a record"]);
    place.run(&["drop", "none.huon", "-t", "x"]).fails(5, &["none.huon"]);
    assert!(!place.path("none.huon").exists());

    place.good(&["drop", "a.huon", "-t", "tags", "--empty"]);
    assert!(place.good(&["tables", "a.huon"]).contains("tags\t0\tmultimap"));
    place.good(&["drop", "a.huon", "-t", "tags"]);
    place.good(&["drop", "a.huon", "-t", "users", "--empty"]);
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t2500\nusers\t0\n");
    place.good(&["put", "a.huon", "-t", "users", "ann", "1"]);
    // The main table is emptied, and the named one stays; without any it goes at once.
    place.good(&["drop", "a.huon", "--empty"]);
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t0\nusers\t1\n");
    place.good(&["drop", "a.huon", "-t", "users"]);
    place.good(&["put", "a.huon", "k", "v"]);
    place.good(&["drop", "a.huon", "--empty"]);
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t0\n");
    place.good(&["check", "a.huon", "--quiet"]);
}

#[test]
fn a_table_gets_another_name() {
    let place = tables();
    place.good(&["rename", "a.huon", "users", "people"]);
    place.good(&["rename", "a.huon", "tags", "odd\\0aname"]);
    assert_eq!(place.good(&["get", "a.huon", "-t", "people", "ann"]), "1\n");
    assert_eq!(place.good(&["get", "a.huon", "-t", "odd\\0aname", "sweet"]), "pear\n");
    let rename = |old: &str, new: &str| place.run(&["rename", "a.huon", old, new]);
    rename("users", "x").fails(1, &["no table \"users\""]);
    rename("people", "odd\\0aname").fails(2, &["has a table", "another name"]);
    rename("people", "key7").fails(2, &["has a record \"key7\"", "another name"]);
    rename("people", "").fails(2, &["no name"]);
    rename("people", &"n".repeat(3000)).fails(2, &["3000"]);
    rename("key7", "x").fails(2, &["a record"]);
    assert_eq!(place.good(&["count", "a.huon", "-t", "people"]), "1\n");
}
