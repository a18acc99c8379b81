//! Tables that name their types: made by programs, and by the command.

use huon::{Bytes, Env, Error, F32, MultiDef, NativeU64, Str, TableDef, U8, U64};

use crate::common::Place;

/// Records that are none of `u64 -> u64`.
const MISFITS: &[(&[u8], &[u8])] =
    &[(b"", b"12"), (b"12", b""), (b"a\\\xff", b"\"quoted\""), (b"\\30", b"x,y")];

/// A table of `u64 -> u64` that has them, too.
fn misfits(place: &Place, name: &str) {
    let env = Env::options().open(place.path(name)).unwrap();
    env.update(|txn| {
        let table = txn.create_table(&TableDef::<U64, U64>::new("t"))?;
        table.put(txn, 7, 8)?;
        MISFITS.iter().try_for_each(|(key, value)| table.raw().put(txn, key, value).map(drop))
    })
    .unwrap();
}

#[test]
fn what_does_not_fit_the_types_of_its_table_is_shown_nonetheless() {
    let place = Place::new();
    misfits(&place, "a.huon");
    let table = ["-t", "t"];
    let run = |args: &[&str]| place.good(&[args, &table].concat());
    assert_eq!(
        run(&["ls", "a.huon"]),
        "\t\\312\n7\t8\n\\312\t\n\\5c30\t\\78,y\n\\61\\\\\\ff\t\\22quoted\"\n"
    );
    let json = run(&["ls", "a.huon", "--json"]);
    assert_eq!(json.lines().nth(1), Some(r#"{"key":7,"value":8}"#));
    assert_eq!(json.lines().nth(2), Some(r#"{"key_hex":"3132","value_hex":""}"#));
    assert_eq!(run(&["get", "a.huon", "\\61\\\\\\ff"]), "\\22quoted\"\n");
    // All of it comes back as it was.
    for (at, format) in [&[][..], &["--json"], &["--csv"]].iter().enumerate() {
        let copy = format!("{at}.huon");
        let env = Env::options().open(place.path(&copy)).unwrap();
        env.update(|txn| txn.create_table(&TableDef::<U64, U64>::new("t")).map(drop)).unwrap();
        drop(env);
        let text = place.run(&[&["ls", "a.huon"], &table[..], format].concat());
        let put = place.feed(&[&["put", &copy, "-"], &table[..], format].concat(), &text.bytes);
        assert_eq!(put.code, 0, "{format:?}: {put:?}");
        assert_eq!(place.good(&["diff", "a.huon", &copy]), "", "{format:?}");
    }
    // What the user asks for is another thing; and so is what is typed by mistake.
    let asked = place.run(&["ls", "a.huon", "-t", "t", "--value", "u64"]);
    asked.fails(2, &["the value", "not of type u64"]);
    place.run(&["get", "a.huon", "-t", "t", "seven"]).fails(2, &["integer"]);
    place.run(&["put", "a.huon", "-t", "t", "9", ""]).fails(2, &["integer"]);
}

#[test]
fn types_within_types_are_shown() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    type Key = ((Str, U64), Option<U8>);
    env.update(|txn| {
        let table = txn.create_table(&TableDef::<Key, Option<F32>>::new("t"))?;
        table.put(txn, (("ann", 1), None), Some(0.1))?;
        table.put(txn, (("ann", 2), Some(3)), None)
    })
    .unwrap();
    let lines = "[[\"ann\",1],null]\t0.1\n[[\"ann\",2],3]\tnull\n";
    assert_eq!(place.good(&["ls", "a.huon", "-t", "t"]), lines);
    assert_eq!(
        place.good(&["ls", "a.huon", "-t", "t", "--json"]),
        "{\"key\":[[\"ann\",1],null],\"value\":0.1}\n{\"key\":[[\"ann\",2],3],\"value\":null}\n"
    );
    assert_eq!(place.good(&["get", "a.huon", "-t", "t", "[[\"ann\",2],3]"]), "null\n");
    assert_eq!(place.good(&["count", "a.huon", "-t", "t", "--prefix", "[[\"ann\",2]]"]), "1\n");
}

#[test]
fn uuids_have_dashes() {
    let place = Place::new();
    let (dashed, plain) =
        ("01234567-89ab-cdef-0123-456789abcdef", "0123456789abcdef0123456789abcdef");
    place.good(&["put", "a.huon", "-t", "t", "--key", "uuid", dashed, "x"]);
    assert_eq!(place.good(&["ls", "a.huon", "-t", "t"]), format!("{dashed}\tx\n"));
    let json = format!("{{\"key\":\"{dashed}\",\"value\":\"x\"}}\n");
    assert_eq!(place.good(&["ls", "a.huon", "-t", "t", "--json"]), json);
    for text in [dashed, plain] {
        assert_eq!(place.good(&["get", "a.huon", "-t", "t", text]), "x\n");
    }
    place.run(&["get", "a.huon", "-t", "t", "0123"]).fails(2, &["UUID"]);
}

#[test]
fn leading_parts_choose_keys() {
    let place = Place::new();
    let table = ["-t", "t", "--key", "text,u8,text"];
    for key in [
        r#"["ann",1,"a"]"#,
        r#"["ann",1,"b"]"#,
        r#"["ann",2,""]"#,
        r#"["anna",1,""]"#,
        r#"["",1,""]"#,
    ] {
        place.good(&[&["put", "a.huon", key, "x"], &table[..]].concat());
    }
    let keys = |args: &[&str]| {
        let all = place.good(&[&["ls", "a.huon", "-t", "t", "--keys"], args].concat());
        all.lines().map(String::from).collect::<Vec<_>>()
    };
    let (one, two) = ([r#"["ann",1,"a"]"#, r#"["ann",1,"b"]"#], [r#"["ann",2,""]"#]);
    assert_eq!(keys(&["--prefix", r#"["ann"]"#]), [&one[..], &two[..]].concat());
    assert_eq!(keys(&["--prefix", r#"["ann",1]"#]), one);
    assert_eq!(keys(&["--prefix", r#"["ann",1,"b"]"#]), one[1..]);
    assert_eq!(keys(&["--prefix", r#"[""]"#]), [r#"["",1,""]"#]);
    assert_eq!(keys(&["--from", r#"["ann",2]"#, "--to", r#"["anna"]"#]), two);
    assert_eq!(keys(&["--to", r#"["ann"]"#]), [r#"["",1,""]"#]);
    assert_eq!(place.good(&["count", "a.huon", "-t", "t", "--from", r#"["ann",1,"b"]"#]), "3\n");
    for text in ["ann", "[]", r#"["ann",1,"b",2]"#, r#"["ann",-1]"#] {
        place.run(&["ls", "a.huon", "-t", "t", "--prefix", text]).fails(2, &["is expected"]);
    }
}

#[test]
fn no_program_between_changes_a_number() {
    let place = Place::new();
    let table = ["-t", "t", "--key", "u64", "--value", "f64"];
    for (key, value) in [
        ("9007199254740992", "0.1"),
        ("9007199254740993", "2.2250738585072014e-308"),
        ("18446744073709551615", "NaN"),
        ("1", "8.41e21"),
        ("2", "123456.78901234568"),
    ] {
        place.good(&[&["put", "a.huon", key, value], &table[..]].concat());
    }
    let json = place.good(&["ls", "a.huon", "-t", "t", "--json"]);
    assert!(
        json.contains("{\"key\":9007199254740992,")
            && json.contains("\"key\":\"9007199254740993\"")
    );
    // As jq and JavaScript do it.
    let through: String = serde_json::Deserializer::from_str(&json)
        .into_iter::<serde_json::Value>()
        .map(|record| {
            let mut record = record.unwrap();
            for field in ["key", "value"] {
                if let Some(number) = record[field].as_f64() {
                    record[field] = number.into();
                }
            }
            record["key"] = match record["key"].as_f64() {
                Some(number) => (number as u64).into(),
                None => record["key"].take(),
            };
            format!("{record}\n")
        })
        .collect();
    let put = [&["put", "b.huon", "-", "--json"], &table[..]].concat();
    assert_eq!(place.feed(&put, through.as_bytes()).code, 0);
    assert_eq!(place.good(&["diff", "a.huon", "b.huon"]), "");
}

#[test]
fn a_new_table_keeps_the_types_that_are_named() {
    let place = Place::new();
    let put = |args: &[&str]| place.good(&[&["put", "a.huon"], args].concat());
    put(&["-t", "json", "--key", "u64", "--value", "json", "17", "{\"ok\": true}"]);
    assert_eq!(place.good(&["ls", "a.huon", "-t", "json"]), "17\t{\"ok\":true}\n");
    put(&["-t", "json", "18", "[]"]);
    put(&["-t", "parts", "--key", "text,hex", "[\"a\",\"00\"]", "x"]);
    put(&["-t", "ids", "--key", "native-u64", "--value", "text", "5", "x"]);
    put(&["-t", "many", "--multi", "--key", "text", "--value", "native-u64", "a", "300"]);
    put(&["-t", "many", "a", "5"]);
    put(&["-t", "pairs", "--multi", "--value", "u8,u8", "a", "[1,2]"]);
    put(&["-t", "plain", "--hex", "00", "01"]);
    let told = place.good(&["tables", "a.huon"]);
    assert_eq!(
        told,
        "(main)\t0\n\
         ids\t1\tkeys: native-u64; native-u64 -> str\n\
         json\t2\tu64 -> json\n\
         many\t2\tmultimap, values: native-u64, 8 bytes each; str -> native-u64\n\
         pairs\t1\tmultimap, values: bytes, 2 bytes each; bytes -> (u8, u8)\n\
         parts\t1\t(str, bytes) -> bytes\n\
         plain\t1\n"
    );
    // A table that is there keeps what it has, whatever is asked for.
    put(&["-t", "json", "--key", "hex", "0000000000000013", "1"]);
    put(&["-t", "plain", "--key", "u8", "7", "x"]);
    assert_eq!(
        place.good(&["tables", "a.huon"]),
        told.replace("json\t2", "json\t3").replace("plain\t1", "plain\t2")
    );

    let env = Env::options().open(place.path("a.huon")).unwrap();
    let txn = env.read().unwrap();
    let parts = txn.open_table(&TableDef::<(Str, Bytes), Bytes>::new("parts")).unwrap().unwrap();
    assert_eq!(parts.get(&txn, ("a", &[0])).unwrap(), Some(&b"x"[..]));
    let ids = txn.open_table(&TableDef::<NativeU64, Str>::new("ids")).unwrap().unwrap();
    assert_eq!(ids.get(&txn, 5).unwrap(), Some("x"));
    let many = txn.open_table(&MultiDef::<Str, NativeU64>::new("many")).unwrap().unwrap();
    let values: huon::Result<Vec<_>> = many.values(&txn, "a").unwrap().collect();
    assert_eq!(values.unwrap(), [5, 300]);
    let pairs = txn.open_table(&MultiDef::<Bytes, (U8, U8)>::new("pairs")).unwrap().unwrap();
    assert_eq!(pairs.count_values(&txn, b"a").unwrap(), 1);
    let other = txn.open_table(&TableDef::<Str, Str>::new("json"));
    assert!(matches!(other, Err(Error::TableType(_))), "{other:?}");
}

#[test]
fn dumps_and_loads_keep_types() {
    let place = Place::new();
    place.good(&["put", "a.huon", "-t", "one", "--key", "u64", "--value", "f32", "7", "0.5"]);
    place.good(&["put", "a.huon", "-t", "many", "--multi", "--key", "u64", "7", "x"]);
    let text = place.run(&["dump", "a.huon"]).bytes;
    assert_eq!(place.feed(&["load", "b.huon"], &text).code, 0);
    assert_eq!(place.good(&["tables", "b.huon"]), place.good(&["tables", "a.huon"]));
    assert_eq!(place.good(&["ls", "b.huon", "-t", "one"]), "7\t0.5\n");
}

#[test]
fn names_of_tables_in_json_are_strings_or_hex() {
    let place = Place::new();
    place.good(&["put", "a.huon", "-t", "gr\u{fc}n \\\\", "k", "v"]);
    place.good(&["put", "a.huon", "-t", "\\ff\\00", "k", "v"]);
    let named = |json: &serde_json::Value, field: &str| {
        let tables = json["tables"].as_array().unwrap();
        assert!(tables.iter().any(|table| table["name"] == "gr\u{fc}n \\"), "{json}");
        assert!(tables.iter().any(|table| table[field] == "ff00"), "{json}");
    };
    for command in ["tables", "stat", "check", "pages"] {
        named(&place.json(&[command, "a.huon"]), "name_hex");
    }
    let pages = place.good(&["pages", "a.huon", "--each", "--json"]);
    assert!(
        pages.contains("\"table\":\"gr\u{fc}n \\\\\"") && pages.contains("\"table_hex\":\"ff00\"")
    );
    assert!(pages.contains("\"table\":null"));
    place.good(&["put", "b.huon", "k", "v"]);
    let diff = place.run(&["diff", "a.huon", "b.huon", "--json"]).out;
    assert!(diff.contains("{\"table\":\"gr\u{fc}n \\\\\",\"difference\""), "{diff}");
    assert!(diff.contains("{\"table_hex\":\"ff00\",\"key\":\"k\",\"old\":\"v\"}"), "{diff}");
}
