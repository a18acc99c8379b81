//! The command `huon` on tables in which a key may have many values.

use huon::{Bytes, Env, MultiDef, Order, TableDef};
use serde_json::Value;

use crate::common::Place;

/// One multimap of tags, one of numbers, a plain table, and a record in the main table.
fn shop() -> Place {
    let place = Place::new();
    place.good(&["put", "a.huon", "owner", "ann"]);
    place.good(&["put", "a.huon", "-t", "users", "ann", "1"]);
    let tags = b"sweet\tcherry\nsweet\tapple\nsour\tlemon\nsweet\tapple\nsweet\tpear\n";
    let run = place.feed(&["put", "a.huon", "-t", "tags", "--multi", "-"], tags);
    assert_eq!((run.code, &*run.err), (0, ""));
    let numbers = ["put", "a.huon", "-t", "numbers", "--value-order", "native-u64", "--hex"];
    place.good(&[&numbers[..], &["61", "0001000000000000"]].concat());
    place.good(&[&numbers[..], &["61", "0200000000000000"]].concat());
    place
}

#[test]
fn a_key_has_many_values_in_order() {
    let place = shop();
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sweet"]), "apple\ncherry\npear\n");
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sweet", "--first"]), "apple\n");
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sweet", "--last", "--raw"]), "pear");
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sour", "--raw"]), "lemon");
    let raw = place.run(&["get", "a.huon", "-t", "tags", "sweet", "--raw"]);
    raw.fails(2, &["sweet", "3 values", "--first"]);
    place.run(&["get", "a.huon", "-t", "tags", "bitter"]).fails(1, &["bitter"]);
    let run = place.feed(&["get", "a.huon", "-t", "tags", "-"], b"sour\nsweet\n");
    assert_eq!(run.out, "sour\tlemon\nsweet\tapple\nsweet\tcherry\nsweet\tpear\n");
    let json = place.good(&["get", "a.huon", "-t", "tags", "sweet", "--json", "--last"]);
    assert_eq!(json.trim_end(), r#"{"key":"sweet","value":"pear"}"#);
    // 2 is below 256, as integers.
    let numbers = place.good(&["get", "a.huon", "-t", "numbers", "--hex", "61"]);
    assert_eq!(numbers, "0200000000000000\n0001000000000000\n");
    // On a plain table the choice is no choice.
    assert_eq!(place.good(&["get", "a.huon", "owner", "--first"]), "ann\n");
    assert_eq!(place.good(&["get", "a.huon", "owner", "--last"]), "ann\n");
}

#[test]
fn lists_have_a_line_for_each_value() {
    let place = shop();
    let ls = |args: &[&str]| place.good(&[&["ls", "a.huon", "-t", "tags"], args].concat());
    assert_eq!(ls(&[]), "sour\tlemon\nsweet\tapple\nsweet\tcherry\nsweet\tpear\n");
    assert_eq!(ls(&["--reverse", "-n", "2"]), "sweet\tpear\nsweet\tcherry\n");
    assert_eq!(ls(&["--from", "sp", "-n", "1"]), "sweet\tapple\n");
    assert_eq!(ls(&["--to", "sp"]), "sour\tlemon\n");
    for reverse in [false, true] {
        let extra = if reverse { &["--reverse"][..] } else { &[] };
        let keys = if reverse { "sweet\nsour\n" } else { "sour\nsweet\n" };
        assert_eq!(ls(&[&["--keys"], extra].concat()), keys);
        assert_eq!(ls(&[&["--keys", "--prefix", "s"], extra].concat()), keys);
    }
    assert_eq!(ls(&["--keys", "--prefix", "sw"]), "sweet\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "tags"]), "4\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "tags", "sweet"]), "3\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "tags", "bitter"]), "0\n");
    assert_eq!(place.good(&["count", "a.huon", "owner"]), "1\n");
}

#[test]
fn values_come_and_go() {
    let place = shop();
    let all = || place.good(&["ls", "a.huon", "-t", "tags"]);
    place.run(&["put", "a.huon", "-t", "tags", "sour", "lime", "--new"]).fails(1, &["sour"]);
    place.good(&["put", "a.huon", "-t", "tags", "sour", "lime"]);
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sour"]), "lemon\nlime\n");
    place.good(&["put", "a.huon", "-t", "tags", "sour", "lime", "--replace"]);
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sour"]), "lime\n");
    place.good(&["del", "a.huon", "-t", "tags", "sweet", "cherry"]);
    let again = place.run(&["del", "a.huon", "-t", "tags", "sweet", "cherry"]);
    again.fails(1, &["sweet", "cherry"]);
    assert_eq!(all(), "sour\tlime\nsweet\tapple\nsweet\tpear\n");
    let run = place.feed(&["del", "a.huon", "-t", "tags", "-"], b"sweet\tpear\nsour\n");
    assert_eq!((run.code, &*all()), (0, "sweet\tapple\n"));
    place.good(&["del", "a.huon", "-t", "tags", "sweet"]);
    assert_eq!(all(), "");
    // A value on a plain table is a condition.
    place.run(&["del", "a.huon", "owner", "bob"]).fails(1, &["owner", "bob"]);
    place.good(&["del", "a.huon", "owner", "ann"]);
    assert_eq!(place.good(&["count", "a.huon"]), "0\n");
    place.run(&["del", "a.huon", "-", "x"]).fails(2, &["takes no value"]);
}

#[test]
fn everything_that_looks_tells_the_kind() {
    let place = shop();
    let tables = place.good(&["tables", "a.huon"]);
    assert_eq!(
        tables,
        "(main)\t1\n\
         numbers\t2\tmultimap, values: native-u64, 8 bytes each\n\
         tags\t4\tmultimap, values: bytes\n\
         users\t1\n"
    );
    let json: Value = serde_json::from_str(&place.good(&["tables", "a.huon", "--json"])).unwrap();
    assert_eq!(json["tables"][1]["values"], "native-u64");
    assert_eq!(json["tables"][1]["value_bytes"], 8);
    assert_eq!(json["tables"][3]["values"], Value::Null);
    let stat = place.good(&["stat", "a.huon"]);
    assert!(
        stat.contains("a multimap, its values in the order native-u64, 8 bytes each"),
        "{stat}"
    );
    assert!(stat.lines().all(|line| line.chars().count() <= 80), "{stat}");
    assert!(place.good(&["info", "a.huon"]).contains("3 and the main one; 2 are multimaps"));
    let check = place.good(&["check", "a.huon", "--verbose"]);
    assert!(check.contains("table \"tags\" (multimap, values: bytes): records 4"), "{check}");
    assert!(check.contains("main table: records 1,") && check.contains("(2 multimaps)"), "{check}");
    let json: Value = serde_json::from_str(&place.good(&["check", "a.huon", "--json"])).unwrap();
    assert_eq!(json["tables"][2]["values"], "bytes");
    let json: Value = serde_json::from_str(&place.good(&["info", "a.huon", "--json"])).unwrap();
    assert_eq!((&json["multimaps"], &json["tables"]), (&2.into(), &3.into()));
}

#[test]
fn the_other_kind_is_refused_with_the_reason() {
    let place = shop();
    let put = |args: &[&str]| place.run(&[&["put", "a.huon"], args].concat());
    put(&["--multi", "k", "v"]).fails(2, &["main table", "--table"]);
    put(&["--order", "reversed", "k", "v"]).fails(2, &["main table", "--table"]);
    put(&["-t", "users", "--multi", "k", "v"]).fails(2, &["users", "one value for each key"]);
    put(&["-t", "tags", "--order", "reversed", "k", "v"]).fails(2, &["tags", "another order"]);
    put(&["-t", "tags", "--value-bytes", "4", "k", "vvvv"]).fails(2, &["tags", "lengths"]);
    put(&["-t", "numbers", "k", "v"]).fails(2, &["integer of at most 64 bits"]);
    put(&["-t", "numbers", "--value", "text", "k", "v"]).fails(2, &["one length", "--hex"]);
    put(&["-t", "tags", "k", &"v".repeat(3000)]).fails(2, &["3000", "2022"]);
    put(&["-t", "owner", "k", "v"]).fails(2, &["owner", "a record of the main table"]);
    place.run(&["ls", "a.huon", "-t", "owner"]).fails(2, &["owner", "record"]);
    let four = ["-t", "new", "--value-order", "native-u64", "--value-bytes", "4", "k", "vvvv"];
    put(&four).fails(2, &["8 bytes", "--value-bytes"]);
    put(&["-t", "new", "--value-bytes", "4", "k", "v"]).fails(2, &["one length"]);
    place.run(&["count", "a.huon", "-t", "new"]).fails(1, &["no table"]);
    // What is right about the kind is taken.
    place.good(&["put", "a.huon", "-t", "tags", "--multi", "sweet", "fig"]);
    // A section with one value a key does not go into a multimap, nor the other way about.
    let dump = |table: &str| place.good(&["dump", "a.huon", "-t", table, "--print"]);
    place.feed(&["load", "a.huon", "-t", "tags"], dump("users").as_bytes()).fails(2, &["kind"]);
    place.feed(&["load", "a.huon", "-t", "users"], dump("tags").as_bytes()).fails(2, &["kind"]);
    place.feed(&["load", "a.huon", "-t", ""], dump("tags").as_bytes()).fails(2, &["main table"]);
    assert_eq!(place.feed(&["load", "b.huon"], dump("numbers").as_bytes()).code, 0);
    let tables = place.good(&["tables", "b.huon"]);
    assert!(tables.contains("numbers\t2\tmultimap, values: native-u64, 8 bytes each"), "{tables}");
}

#[test]
fn orders_that_a_shell_does_not_know_are_said_so() {
    let place = Place::new();
    {
        let env = Env::options().open(place.path("a.huon")).unwrap();
        let mut txn = env.write().unwrap();
        let own = || Order::custom("backwards", |a, b| b.cmp(a));
        let plain =
            txn.create_table(&TableDef::<Bytes, Bytes>::new("plain").ordered(own())).unwrap();
        let many = MultiDef::<Bytes, Bytes>::new("many").values_ordered(own());
        let many = txn.create_table(&many).unwrap();
        for n in [b"1", b"2", b"3"] {
            plain.put(&mut txn, n, b"x").unwrap();
            many.put(&mut txn, b"key", n).unwrap();
        }
        txn.commit().unwrap();
    }
    let run = |args: &[&str]| place.run(&[&args[..1], &["a.huon", "-t"], &args[1..]].concat());
    assert_eq!(run(&["ls", "plain"]).out, "3\tx\n2\tx\n1\tx\n");
    assert_eq!(run(&["ls", "many"]).out, "key\t3\nkey\t2\nkey\t1\n");
    assert_eq!(run(&["get", "many", "key"]).out, "3\n2\n1\n");
    assert_eq!(run(&["count", "many", "key"]).out, "3\n");
    run(&["get", "plain", "1"]).fails(2, &["program's own", "huon ls"]);
    run(&["put", "plain", "1", "y"]).fails(2, &["program's own"]);
    run(&["put", "many", "key", "4"]).fails(2, &["program's own"]);
    run(&["ls", "plain", "--from", "2"]).fails(2, &["program's own"]);
    run(&["ls", "plain", "--prefix", "2"]).fails(2, &["--prefix"]);
    assert_eq!(run(&["ls", "many", "--prefix", "k", "--keys"]).out, "key\n");
    // A key with all its values needs no order of values.
    assert_eq!(run(&["del", "many", "key"]).code, 0);
    let tables = place.good(&["tables", "a.huon"]);
    assert!(tables.contains("many\t0\tmultimap, values: custom \"backwards\""), "{tables}");
    assert!(tables.contains("plain\t3\tkeys: custom \"backwards\""), "{tables}");
    let stat = place.good(&["stat", "a.huon"]);
    assert!(stat.contains("its keys in the order of the comparator \"backwards\""), "{stat}");
    assert!(stat.contains("its values in the order custom \"backwards\""), "{stat}");
    for command in ["tables", "stat"] {
        let json: Value =
            serde_json::from_str(&place.good(&[command, "a.huon", "--json"])).unwrap();
        let named = |n: usize, field: &str| json["tables"][n][field].clone();
        assert_eq!(named(0, "comparator"), Value::Null);
        assert_eq!(
            (named(1, "name"), named(1, "value_comparator")),
            ("many".into(), "backwards".into())
        );
        assert_eq!(
            (named(2, "name"), named(2, "comparator")),
            ("plain".into(), "backwards".into())
        );
        assert_eq!(named(2, "value_comparator"), Value::Null);
    }
    place.good(&["drop", "a.huon", "-t", "plain"]);
}
