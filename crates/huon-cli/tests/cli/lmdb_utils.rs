//! To LMDB and back: with Debian's lmdb-utils, where they are installed.

use std::path::Path;
use std::process::Command;

use huon::{Bytes, Env, MultiDef, Order, RawTable, TableDef, WriteTxn};
use huon_testkit::figures;

use crate::common::{Place, Run};

const COUNT: u32 = 700;

/// Whether the tools are there; says so where they are not.
fn are_there(test: &str) -> bool {
    let missing = |tool: &&&str| Command::new(tool).arg("-V").output().is_err();
    match ["mdb_load", "mdb_dump", "mdb_stat"].iter().find(missing) {
        None => true,
        Some(tool) => {
            figures::skip(test, &format!("{tool} of lmdb-utils is not installed"));
            false
        }
    }
}

fn lmdb(place: &Place, tool: &str, args: &[&str]) -> Run {
    let mut command = Command::new(tool);
    Run::of(command.args(args).current_dir(place.dir()).output().unwrap())
}

/// Runs one of LMDB's tools, which must end well.
#[track_caller]
fn good(place: &Place, tool: &str, args: &[&str]) -> String {
    let run = lmdb(place, tool, args);
    assert_eq!(run.code, 0, "{tool} {args:?}: {run:?}");
    run.out
}

/// Keys that are no good text, in an order of their own.
fn scrambled(n: u32) -> [u8; 8] {
    u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn plain(txn: &mut WriteTxn, name: &str, order: Order, key_bytes: usize) {
    let def: TableDef<Bytes, Bytes> = TableDef::named(name.as_bytes()).ordered(order);
    let table: RawTable = txn.create_table(&def).unwrap();
    for n in 0..COUNT {
        let long = scrambled(n);
        let key = if key_bytes == 0 { &long[..1 + (n % 8) as usize] } else { &long[..key_bytes] };
        // Empty ones, short ones, and some that fill pages of their own.
        let value = vec![n as u8; (n % 50) as usize * if n % 97 == 0 { 400 } else { 1 }];
        table.put(txn, key, &value).unwrap();
    }
}

fn many(txn: &mut WriteTxn, name: &str, orders: [Order; 2], value_bytes: usize) {
    let [keys, values] = orders;
    let is_native = matches!(keys, Order::NativeU32);
    let mut def: MultiDef<Bytes, Bytes> =
        MultiDef::named(name.as_bytes()).ordered(keys).values_ordered(values);
    if value_bytes != 0 {
        def = def.values_of_bytes(value_bytes as u32);
    }
    let table = txn.create_table(&def).unwrap();
    for n in 0..COUNT {
        let long = scrambled(n);
        let key: &[u8] = if is_native { &(n % 9).to_le_bytes() } else { &[n as u8 % 9 + 1] };
        let bytes = if value_bytes == 0 { 1 + (n % 8) as usize } else { value_bytes };
        table.put(txn, key, &long[..bytes]).unwrap();
    }
}

/// A table of every kind that LMDB has, too.
fn fill(path: &Path) {
    use Order::{Bytes, NativeU32, NativeU64, Reversed};
    let env = Env::options().open(path).unwrap();
    let mut txn = env.write().unwrap();
    plain(&mut txn, "plain", Bytes, 0);
    plain(&mut txn, "of a name with spaces", Bytes, 8);
    plain(&mut txn, "reversed", Reversed, 0);
    plain(&mut txn, "u32", NativeU32, 4);
    plain(&mut txn, "u64", NativeU64, 8);
    many(&mut txn, "many", [Bytes, Bytes], 0);
    many(&mut txn, "many equal", [Bytes, Bytes], 5);
    many(&mut txn, "many reversed", [Reversed, Reversed], 0);
    many(&mut txn, "many equal reversed", [Bytes, Reversed], 6);
    many(&mut txn, "many u32", [Bytes, NativeU32], 4);
    many(&mut txn, "many u64", [Bytes, NativeU64], 8);
    many(&mut txn, "numbers of numbers", [NativeU32, NativeU64], 8);
    many(&mut txn, "many of numbers", [NativeU32, Bytes], 0);
    txn.create_table(&TableDef::<huon::Bytes, huon::Bytes>::new("empty")).unwrap();
    txn.create_table(&MultiDef::<huon::Bytes, huon::Bytes>::new("empty many")).unwrap();
    txn.commit().unwrap();
    env.close().unwrap();
}

/// A table's kind as both sides say it, and its records.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    name: String,
    flags: Vec<String>,
    records: Vec<String>,
}

/// The sections of a dump, by name: what is of one side only is left out.
fn sections(dump: &str) -> Vec<Section> {
    const FLAGS: [&str; 6] =
        ["reversekey", "dupsort", "integerkey", "dupfixed", "integerdup", "reversedup"];
    let mut sections = Vec::new();
    for text in dump.split_inclusive("DATA=END\n") {
        let (header, records) = text.split_once("HEADER=END\n").unwrap();
        let value = |word: &str| header.lines().find_map(|line| line.strip_prefix(word));
        sections.push(Section {
            name: value("database=").unwrap_or_default().to_owned(),
            flags: FLAGS
                .iter()
                .filter_map(|flag| value(flag).map(|on| format!("{flag}{on}")))
                .collect(),
            records: records.lines().map(str::to_owned).collect(),
        });
    }
    sections.sort_by(|a, b| a.name.cmp(&b.name));
    sections
}

#[track_caller]
fn same(what: &str, left: &[Section], right: &[Section]) {
    let names = |side: &[Section]| side.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(left), names(right), "{what}");
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left.flags, right.flags, "{what}: {}", left.name);
        let (ours, theirs) = (&left.records, &right.records);
        let at = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
        let differ = at.map(|at| (at, &ours[at], &theirs[at]));
        assert!(
            ours == theirs,
            "{what}: {}: {differ:?}, {} {}",
            left.name,
            ours.len(),
            theirs.len()
        );
    }
}

#[test]
fn every_kind_of_table_goes_to_lmdb_and_back() {
    const NAME: &str = "every_kind_of_table_goes_to_lmdb_and_back";
    if !are_there(NAME) {
        return;
    }
    let place = Place::new();
    fill(&place.path("a.huon"));
    let wanted = sections(&place.good(&["dump", "a.huon"]));
    assert_eq!(wanted.len(), 15);
    for print in [false, true] {
        let form = if print { &["-p"][..] } else { &[] };
        let [text, file, back] = ["txt", "mdb", "huon"].map(|end| format!("{print}.{end}"));
        let ours = place.good(&[&["dump", "a.huon", "--all"], form].concat());
        std::fs::write(place.path(&text), &ours).unwrap();
        good(&place, "mdb_load", &["-n", "-f", &text, &file]);
        // Never with -p: mdb_dump 0.9.24 writes a backslash as if it began a number (ITS#9068).
        let theirs = good(&place, "mdb_dump", &["-n", "-a", &file]);
        same("in LMDB", &wanted, &sections(&theirs));
        // What mdb_stat counts is what was there, values of a key one by one.
        let stat = good(&place, "mdb_stat", &["-n", "-s", "many equal", &file]);
        assert!(stat.contains(&format!("Entries: {COUNT}\n")), "{stat}");
        let loaded = place.feed(&["load", &back], theirs.as_bytes());
        assert_eq!(loaded.code, 0, "{loaded:?}");
        assert_eq!(loaded.err, "", "every line of LMDB's is known");
        let again = place.good(&["dump", &back, "--all"]);
        same("back", &wanted, &sections(&again));
        place.good(&["check", &back]);
    }
}

/// The unnamed table, with records beside the names of others; a directory as LMDB has it.
#[test]
fn the_main_table_goes_to_lmdb_and_back() {
    const NAME: &str = "the_main_table_goes_to_lmdb_and_back";
    if !are_there(NAME) {
        return;
    }
    let place = Place::new();
    for n in 0..50 {
        place.good(&["put", "a.huon", &format!("key {n}"), &format!("value {n}")]);
    }
    let text = place.good(&["dump", "a.huon"]);
    std::fs::write(place.path("text"), &text).unwrap();
    std::fs::create_dir(place.path("lmdb")).unwrap();
    good(&place, "mdb_load", &["-f", "text", "lmdb"]);
    let theirs = good(&place, "mdb_dump", &["lmdb"]);
    same("in LMDB", &sections(&text), &sections(&theirs));
    assert_eq!(place.feed(&["load", "b.huon"], theirs.as_bytes()).code, 0);
    same("back", &sections(&text), &sections(&place.good(&["dump", "b.huon"])));
}

/// What LMDB cannot hold it refuses aloud, and loses nothing in silence.
#[test]
fn lmdb_refuses_what_it_cannot_hold() {
    const NAME: &str = "lmdb_refuses_what_it_cannot_hold";
    if !are_there(NAME) {
        return;
    }
    let place = Place::new();
    place.good(&["put", "a.huon", &"k".repeat(600), "too long a key for LMDB"]);
    std::fs::write(place.path("text"), place.good(&["dump", "a.huon"])).unwrap();
    assert_ne!(lmdb(&place, "mdb_load", &["-n", "-f", "text", "a.mdb"]).code, 0);
}
