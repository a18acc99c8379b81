//! `huon diff`.

use huon::{Env, MultiDef, Order, TableDef};

use crate::common::Place;

fn put(place: &Place, file: &str, table: &str, lines: &str) {
    let run = place.feed(&["put", file, "-t", table, "-"], lines.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn differences_are_shown_and_counted_in_the_code() {
    let place = Place::new();
    put(&place, "a.huon", "fruit", "apple\tred\nbanana\tyellow\ncherry\tred\n");
    put(&place, "b.huon", "fruit", "apple\tgreen\ncherry\tred\ndate\tbrown\n");
    put(&place, "a.huon", "same", "k\tv\n");
    put(&place, "b.huon", "same", "k\tv\n");
    put(&place, "a.huon", "gone", "k\tv\n");
    let diff = |args: &[&str]| place.run(&[&["diff", "a.huon"], args].concat());
    let all = diff(&["b.huon"]);
    assert_eq!(all.code, 1, "{all:?}");
    let fruit = "table fruit\n- apple\tred\n+ apple\tgreen\n- banana\tyellow\n+ date\tbrown\n";
    assert_eq!(all.out, format!("{fruit}table gone\n  only in the first file\n- k\tv\n"));
    assert_eq!(diff(&["b.huon", "-t", "fruit"]).out, fruit);
    assert_eq!((diff(&["a.huon"]).code, diff(&["a.huon"]).out.as_str()), (0, ""));
    assert_eq!(diff(&["b.huon", "-t", "same"]).code, 0);
    let quiet = diff(&["b.huon", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (1, "", ""));
    let json = diff(&["b.huon", "-t", "fruit", "--json"]);
    let lines: Vec<_> = json.out.lines().collect();
    assert_eq!(lines[0], r#"{"table":"fruit","key":"apple","old":"red","new":"green"}"#);
    assert_eq!(lines[2], r#"{"table":"fruit","key":"date","new":"brown"}"#);
    // Two tables of one file.
    let tables = diff(&["a.huon", "-t", "same", "--with", "gone"]);
    assert_eq!((tables.code, tables.out.as_str()), (0, ""));
    assert_eq!(diff(&["a.huon", "-t", "same", "--with", "fruit"]).code, 1);
    diff(&["b.huon", "-t", "gone"]).fails(1, &["b.huon", "gone", "huon tables"]);
    diff(&["none.huon"]).fails(5, &["none.huon"]);
}

#[test]
fn every_order_and_kind_is_compared() {
    let place = Place::new();
    for (file, skipped) in [("a.huon", 3), ("b.huon", 4)] {
        let env = Env::options().open(place.path(file)).unwrap();
        env.update(|txn| {
            let def = |name| TableDef::<huon::Bytes, huon::Bytes>::new(name);
            let reversed = txn.create_table(&def("reversed").ordered(Order::Reversed))?;
            let native = txn.create_table(&def("native").ordered(Order::NativeU32))?;
            let multi = MultiDef::<huon::Str, huon::NativeU64>::new("multi");
            let multi = txn.create_table(&multi)?;
            for n in (0..600u32).filter(|n| *n != skipped) {
                reversed.put(txn, &n.to_be_bytes(), b"x")?;
                native.put(txn, &n.to_le_bytes(), b"x")?;
                multi.put(txn, "key", u64::from(n))?;
            }
            Ok(())
        })
        .unwrap();
    }
    let diff = place.run(&["diff", "a.huon", "b.huon"]);
    let native = "table native\n+ 3\tx\n- 4\tx\n";
    let multi = "table multi\n+ key\t3\n- key\t4\n";
    assert_eq!(diff.code, 1, "{diff:?}");
    assert!(diff.out.starts_with(multi), "{diff:?}");
    assert!(diff.out.contains(native), "{diff:?}");
    assert!(
        diff.out.ends_with("table reversed\n+ \\00\\00\\00\\03\tx\n- \\00\\00\\00\\04\tx\n"),
        "{diff:?}"
    );

    let own = |order| TableDef::<huon::Bytes, huon::Bytes>::new("own").ordered(order);
    for file in ["a.huon", "b.huon"] {
        let env = Env::options().open(place.path(file)).unwrap();
        let order = Order::custom("backwards", |a, b| b.cmp(a));
        env.update(|txn| txn.create_table(&own(order))?.put(txn, b"k", b"v")).unwrap();
    }
    place.run(&["diff", "a.huon", "b.huon"]).fails(2, &["own", "order"]);
    put(&place, "c.huon", "native", "a\tb\n");
    let kinds = place.run(&["diff", "a.huon", "c.huon", "-t", "native"]);
    assert_eq!(
        kinds.out,
        "table native\n  a table of another kind: keys: native-u32; one value a key\n"
    );
}

#[test]
fn tables_of_different_types_are_told_apart() {
    let place = Place::new();
    let put = |file: &str, args: &[&str]| {
        place.good(&[&["put", file, "-t", "t"], args].concat());
    };
    put("a.huon", &["--key", "u64", "--value", "text", "7", "x"]);
    put("b.huon", &["--key", "f64", "--value", "text", "7", "x"]);
    // This one names no types.
    put("c.huon", &["--hex", "0000000000000007", "78"]);
    let diff = |args: &[&str]| place.run(&[&["diff"], args].concat());
    let told = diff(&["a.huon", "b.huon"]);
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert_eq!(told.out, "table t\n  a table of other types: u64 -> str; f64 -> str\n");
    assert_eq!(diff(&["a.huon", "c.huon"]).code, 0);
    put("c.huon", &["short", "y"]);
    let line = "table t\n+ \\73hort\ty\n";
    assert_eq!(diff(&["a.huon", "c.huon"]).out, line);
    assert_eq!(diff(&["c.huon", "a.huon"]).out, line.replace('+', "-"));
    // The user says what the keys are; if they are not, that is no difference.
    let hex = diff(&["a.huon", "b.huon", "--hex"]);
    assert_eq!(hex.out, "table t\n- 0000000000000007\t78\n+ c01c000000000000\t78\n");
    diff(&["a.huon", "c.huon", "--key", "u64"]).fails(2, &["short", "not of type u64"]);
}

#[test]
fn tables_in_the_orders_of_different_comparators_are_told_apart() {
    let place = Place::new();
    for (file, name) in [("a.huon", "backwards"), ("b.huon", "sideways")] {
        let env = Env::options().open(place.path(file)).unwrap();
        let order = Order::custom(name, |a, b| b.cmp(a));
        let def = TableDef::<huon::Bytes, huon::Bytes>::new("own").ordered(order);
        env.update(|txn| txn.create_table(&def)?.put(txn, b"k", b"v")).unwrap();
    }
    let told = place.run(&["diff", "a.huon", "b.huon"]);
    let kinds = "keys: custom \"backwards\"; keys: custom \"sideways\"";
    assert_eq!(told.out, format!("table own\n  a table of another kind: {kinds}\n"));
    assert_eq!(told.code, 1);
}
