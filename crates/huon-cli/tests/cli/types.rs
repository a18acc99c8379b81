//! Keys and values as people and programs have them.

use huon::{Env, NativeU64, Str, TableDef, U64};

use crate::common::{Place, Run};

#[test]
fn utf8_is_shown_as_it_is() {
    let place = Place::new();
    place.good(&["put", "a.huon", "gr\u{fc}n", "\u{65e5}\u{672c}\t\u{202e}"]);
    let line = "gr\u{fc}n\t\u{65e5}\u{672c}\\09\\e2\\80\\ae\n";
    assert_eq!(place.good(&["ls", "a.huon"]), line);
    place.feed(&["put", "b.huon", "-"], line.as_bytes());
    assert_eq!(place.good(&["ls", "b.huon"]), line);
    assert_eq!(
        place.good(&["get", "a.huon", "gr\\c3\\bcn", "--raw"]),
        "\u{65e5}\u{672c}\t\u{202e}"
    );
}

#[test]
fn typed_tables_are_shown_by_their_types() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    env.update(|txn| {
        let visits = txn.create_table(&TableDef::<U64, Str>::new("visits"))?;
        [1, 7, 300].iter().try_for_each(|n| visits.put(txn, *n, "x").map(drop))?;
        let ids = txn.create_table(&TableDef::<NativeU64, NativeU64>::new("ids"))?;
        ids.put(txn, 5, 6).map(drop)
    })
    .unwrap();
    let visits = ["--table", "visits", "--key", "u64"];
    let run = |args: &[&str]| place.good(&[args, &visits].concat());
    assert_eq!(run(&["ls", "a.huon"]), "1\tx\n7\tx\n300\tx\n");
    assert_eq!(run(&["ls", "a.huon", "--from", "2", "--to", "300"]), "7\tx\n");
    assert_eq!(run(&["count", "a.huon", "--from", "2"]), "2\n");
    assert_eq!(run(&["get", "a.huon", "300"]), "x\n");
    assert_eq!(run(&["ls", "a.huon", "--json"]).lines().nth(1), Some(r#"{"key":7,"value":"x"}"#));
    run(&["put", "a.huon", "8", "y"]);
    run(&["del", "a.huon", "7"]);
    assert_eq!(run(&["ls", "a.huon", "--keys"]), "1\n8\n300\n");
    // The order of native integers says what they are.
    assert_eq!(place.good(&["ls", "a.huon", "-t", "ids", "--value", "native-u64"]), "5\t6\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "ids", "5"]), "1\n");
    assert_eq!(
        place.good(&["ls", "a.huon", "-t", "ids", "--key", "hex", "--keys"]),
        "0500000000000000\n"
    );
    // A value that is no number of that length is an error, with a way to see it.
    let text = ["ls", "a.huon", "-t", "visits", "--value", "u64"];
    place.run(&text).fails(2, &["value", "u64", "--value text"]);
    place.run(&["get", "a.huon", "-t", "visits", "--key", "u64", "seven"]).fails(2, &["integer"]);
    let unknown = place.run(&["get", "a.huon", "--key", "u7", "1"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(unknown.err.contains("native-u64"), "{unknown:?}");
}

#[test]
fn a_table_says_what_its_types_are() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    env.update(|txn| {
        let visits = txn.create_table(&TableDef::<U64, Str>::new("visits"))?;
        visits.put(txn, 7, "x")?;
        let marks = txn.create_table(&TableDef::<(Str, U64), U64>::new("marks"))?;
        marks.put(txn, ("ann", 7), 9).map(drop)
    })
    .unwrap();
    assert_eq!(
        place.good(&["tables", "a.huon"]),
        "(main)\t0\nmarks\t1\t(str, u64) -> u64\nvisits\t1\tu64 -> str\n"
    );
    let told: serde_json::Value =
        serde_json::from_str(&place.good(&["tables", "a.huon", "--json"])).unwrap();
    assert_eq!(told["tables"][2]["key_type"], "u64");
    assert_eq!(told["tables"][2]["value_type"], "str");
    assert_eq!(told["tables"][0]["key_type"], serde_json::Value::Null);
    assert!(place.good(&["stat", "a.huon"]).contains("its types: u64 -> str"));
    assert_eq!(place.good(&["ls", "a.huon", "-t", "visits"]), "7\tx\n");
    assert_eq!(place.good(&["get", "a.huon", "7", "-t", "visits"]), "x\n");
    let mark = place.good(&["ls", "a.huon", "-t", "marks", "--json"]);
    assert_eq!(mark, "{\"key\":[\"ann\",7],\"value\":9}\n");
    assert_eq!(place.good(&["get", "a.huon", r#"["ann",7]"#, "-t", "marks"]), "9\n");
    place.good(&["put", "a.huon", r#"["bob",1]"#, "5", "-t", "marks"]);
    assert_eq!(place.good(&["ls", "a.huon", "-t", "marks"]), "[\"ann\",7]\t9\n[\"bob\",1]\t5\n");
    place.run(&["get", "a.huon", "ann", "-t", "marks"]).fails(2, &["array of 2 parts"]);
    // A table that names no types: the main one never does.
    place.good(&["put", "b.huon", "[1,2]", "x", "--key", "u8,u8"]);
    assert_eq!(place.good(&["ls", "b.huon", "--hex"]), "0102\t78\n");
}

#[test]
fn numbers_below_zero_are_arguments() {
    let place = Place::new();
    for n in ["5", "-5", "0", "-300"] {
        place.good(&["put", "a.huon", n, n, "--key", "i64", "--value", "f64"]);
    }
    let listed = place.good(&["ls", "a.huon", "--key", "i64", "--value", "f64", "--from", "-5"]);
    assert_eq!(listed, "-5\t-5\n0\t0\n5\t5\n");
}

/// Keys and values that no format may lose.
const RECORDS: &[(&[u8], &[u8])] = &[
    (b"", b""),
    (b"a,b", b"\"quoted\"\r\n"),
    (b"back\\slash", b"tab\there"),
    (b"bytes\xff\x00", b"\xfe"),
    ("gr\u{fc}n".as_bytes(), b"null"),
    (b"key", b" value "),
];

fn filled(place: &Place, name: &str) {
    let env = Env::options().open(place.path(name)).unwrap();
    env.update(|txn| {
        let main = txn.create_table(&TableDef::<huon::Bytes, huon::Bytes>::main())?;
        RECORDS.iter().try_for_each(|(key, value)| main.put(txn, key, value).map(drop))
    })
    .unwrap();
}

#[test]
fn every_byte_travels_in_every_format() {
    let place = Place::new();
    filled(&place, "a.huon");
    for (at, format) in
        [&[][..], &["--json"], &["--csv"], &["--hex"], &["--csv", "--hex"]].iter().enumerate()
    {
        let text = place.run(&[&["ls", "a.huon"], *format].concat());
        let copy = format!("{at}.huon");
        let put = place.feed(&[&["put", &copy, "-"], *format].concat(), &text.bytes);
        assert_eq!(put.code, 0, "{format:?}: {put:?}");
        assert_eq!(place.good(&["diff", "a.huon", &copy]), "", "{format:?}");
        // Keys alone, to delete by.
        let keys = place.run(&[&["ls", "a.huon", "--keys"], *format].concat());
        let del = place.feed(&[&["del", &copy, "-"], *format].concat(), &keys.bytes);
        assert_eq!(del.code, 0, "{format:?}: {del:?}");
        assert_eq!(place.good(&["count", &copy]), "0\n", "{format:?}");
        let got = place.feed(&[&["get", "a.huon", "-"], *format].concat(), &keys.bytes);
        assert_eq!(got.bytes, text.bytes, "{format:?}");
    }
    let json = place.good(&["ls", "a.huon", "--json", "--from", "bytes", "--to", "c"]);
    assert_eq!(json, "{\"key_hex\":\"6279746573ff00\",\"value_hex\":\"fe\"}\n");
}

#[test]
fn json_values_stay_json() {
    let place = Place::new();
    let args = ["--value", "json"];
    let put =
        |key: &str, value: &str| place.run(&[&["put", "a.huon", key, value], &args[..]].concat());
    assert_eq!(put("a", r#"{"z": 1, "a": [true, null]}"#).code, 0);
    assert_eq!(put("b", "17").code, 0);
    put("c", "{z}").fails(2, &["JSON"]);
    let listed = place.good(&["ls", "a.huon", "--value", "json", "--json"]);
    let first = r#"{"key":"a","value":{"z":1,"a":[true,null]}}"#;
    assert_eq!(listed, format!("{first}\n{}\n", r#"{"key":"b","value":17}"#));
    // As jq prints it: over several lines.
    let pretty = "{\n  \"key\": \"a\",\n  \"value\": {\n    \"z\": 2\n  }\n}\n";
    let put = place.feed(&["put", "a.huon", "-", "--json", "--value", "json"], pretty.as_bytes());
    assert_eq!(put.code, 0, "{put:?}");
    assert_eq!(place.good(&["get", "a.huon", "a"]), "{\"z\":2}\n");
}

#[test]
fn wrong_records_are_told_with_their_place() {
    let place = Place::new();
    let cases: [(&str, &[&str], &[&str]); 8] = [
        (
            "{\"key\":\"a\",\"value\":\"b\"}\n{\"value\":\"c\"}",
            &["--json"],
            &["record 2", "key_hex"],
        ),
        ("{\"key\":\"a\"}", &["--json"], &["record 1", "without a value"]),
        ("{\"key\":7,\"value\":\"b\"}", &["--json"], &["record 1", "string"]),
        ("{\"key\":\"a\",", &["--json"], &["standard input", "line 1"]),
        ("a,b\n1,2\n", &["--csv"], &["first row", "columns"]),
        ("key,value,more\n1,2,3\n", &["--csv"], &["other columns"]),
        ("key,value\na,b\nc\n", &["--csv"], &["standard input", "line: 3"]),
        ("key,value\n1,2\nx,3\n", &["--csv", "--key", "u64"], &["line 3", "integer"]),
    ];
    for (text, args, words) in cases {
        let put = place.feed(&[&["put", "a.huon", "-"], args].concat(), text.as_bytes());
        put.fails(2, words);
        assert!(!place.path("a.huon").exists(), "{text}: nothing was stored, so no file is left");
    }
}

#[test]
fn parts_are_counted() {
    let place = Place::new();
    let lines: String = (0..500).map(|n| format!("{n:03}\tx\n")).collect();
    place.feed(&["put", "a.huon", "-"], lines.as_bytes());
    place.feed(&["put", "a.huon", "-t", "m", "--multi"], b"");
    place.feed(&["put", "a.huon", "-t", "m", "--multi", "-"], b"a\t1\na\t2\nb\t1\n");
    let count = |args: &[&str]| place.good(&[&["count", "a.huon"], args].concat());
    assert_eq!(count(&["--prefix", "01"]), "10\n");
    assert_eq!(count(&["--from", "100", "--to", "250"]), "150\n");
    assert_eq!(count(&["--to", "007", "--json"]), "{\"count\":7}\n");
    assert_eq!(count(&["-t", "m", "--to", "b"]), "2\n");
    assert_eq!(count(&["-t", "m", "--prefix", "a"]), "2\n");
    assert_eq!(count(&["-t", "m", "--prefix", ""]), "3\n");
    let keys = |args: &[&str]| place.good(&[&["ls", "a.huon", "-t", "m", "--keys"], args].concat());
    assert_eq!(keys(&["--from", "a"]), "a\nb\n");
    assert_eq!(keys(&["--prefix", "a", "--json"]), "{\"key\":\"a\"}\n");
    assert_eq!(keys(&["--from", "a", "--reverse"]), "b\na\n");
    assert_eq!(keys(&["--to", "c", "--limit", "1"]), "a\n");
    place.good(&["put", "a.huon", "-t", "back", "--order", "reversed", "k", "v"]);
    place.run(&["count", "a.huon", "-t", "back", "--prefix", "k"]).fails(2, &["--prefix"]);
    assert_eq!(count(&["--from", "9"]), "0\n");
    assert_eq!(place.run(&["count", "a.huon", "001", "--from", "0"]).code, 2);
}

fn colours(run: &Run) -> bool {
    run.out.contains('\u{1b}') || run.err.contains('\u{1b}')
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    place.good(&["put", "b.huon", "apple", "green"]);
    for args in [
        &["ls", "a.huon"][..],
        &["diff", "a.huon", "b.huon"],
        &["check", "a.huon"],
        &["get", "none", "x"],
    ] {
        assert!(!colours(&place.run(args)), "{args:?}");
        let mut forced = place.command(args);
        forced.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        assert!(colours(&Run::of(forced.output().unwrap())), "{args:?}");
        let refused = place.command(args).env("NO_COLOR", "1").output().unwrap();
        assert!(!colours(&Run::of(refused)), "{args:?}");
    }
}
