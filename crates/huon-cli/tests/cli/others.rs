//! Files of other stores are named, and the way in works.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use huon_testkit::figures;

use crate::common::{Place, Run};

/// The head of a file of each store that is known, what it is called, and the tool that reads it.
fn heads() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let behind = |at: usize, magic: &[u8]| [&vec![0; at], magic].concat();
    let mdbx = |version: u8| [&[version], &0x59_659D_BDEF_4C11_u64.to_le_bytes()[..7]].concat();
    vec![
        ("lmdb", behind(16, &0xBEEF_C0DE_u32.to_le_bytes()), "an LMDB file", "mdb_dump -n -a"),
        ("lmdb32", behind(12, &0xBEEF_C0DE_u32.to_le_bytes()), "an LMDB file", "mdb_dump"),
        ("lmdb1", behind(24, &0xBEEF_C0DE_u32.to_le_bytes()), "an LMDB file", "mdb_dump"),
        ("lmdb-lock", behind(0, &0xBEEF_C0DE_u32.to_le_bytes()), "a lock file of LMDB's", "data"),
        ("mdbx", behind(20, &mdbx(3)), "a libmdbx file", "mdbx_dump -a"),
        ("mdbx-lock", behind(0, &mdbx(5)), "a lock file of libmdbx's", "data file"),
        ("sqlite", b"SQLite format 3\0".to_vec(), "an SQLite file", "sqlite3"),
        ("redb", b"redb\x1A\x0A\xA9\x0D\x0A".to_vec(), "a redb file", "--pairs"),
        ("btree", behind(12, &0x05_3162_u32.to_le_bytes()), "a Berkeley DB file", "db_dump"),
        ("hash", behind(12, &0x06_1561_u32.to_be_bytes()), "a Berkeley DB file", "db_dump"),
        ("bolt", behind(16, &0xED0C_DAED_u32.to_le_bytes()), "a bbolt file", "--pairs"),
        ("text", b"VERSION=3\nformat=print\n".to_vec(), "the text of a dump", "huon load"),
    ]
}

/// Commands that open, look, or delete.
const COMMANDS: [&[&str]; 8] = [
    &["get", "FILE", "k"],
    &["put", "FILE", "k", "v"],
    &["info", "FILE"],
    &["check", "FILE"],
    &["metas", "FILE"],
    &["copy", "FILE", "copy"],
    &["load", "FILE", "/dev/null"],
    &["delete-env", "FILE", "--yes"],
];

/// Every command refuses the file, says what it is, and leaves it and its directory alone.
fn refused(place: &Place, file: &str, words: &[&str]) {
    let before = names(place.dir());
    for args in COMMANDS {
        let args: Vec<_> = args.iter().map(|arg| if *arg == "FILE" { file } else { arg }).collect();
        place.run(&args).fails(4, words);
        assert_eq!(names(place.dir()), before, "{args:?}");
    }
}

fn names(dir: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    names.sort();
    names
}

#[test]
fn files_of_other_stores_are_named() {
    let place = Place::new();
    for (name, mut head, what, tool) in heads() {
        head.resize(20_000, 0);
        fs::write(place.path(name), &head).unwrap();
        refused(&place, name, &[name, what, tool]);
    }
    for (name, files, what) in [
        ("of lmdb", &["data.mdb", "lock.mdb"][..], "a directory of LMDB's"),
        ("of mdbx", &["mdbx.dat", "mdbx.lck"], "a directory of libmdbx's"),
        ("of leveldb", &["CURRENT", "LOG"], "a directory of LevelDB's"),
        ("of rocksdb", &["CURRENT", "IDENTITY"], "a directory of RocksDB's"),
    ] {
        fs::create_dir(place.path(name)).unwrap();
        for file in files {
            fs::write(place.path(name).join(file), "something").unwrap();
        }
        refused(&place, name, &[name, what]);
    }
    fs::create_dir(place.path("ours")).unwrap();
    place.good(&["put", "ours/data.mdb", "k", "v"]);
    refused(&place, "ours", &["ours/data.mdb"]);
}

/// Whether a program is there; says so where it is not.
fn is_there(test: &str, program: &str) -> bool {
    let is_there = Command::new(program).arg("-V").output().is_ok();
    if !is_there {
        figures::skip(test, &format!("{program} is not installed"));
    }
    is_there
}

/// Runs the command that a refusal gives, `NEW` being `new.huon`.
fn follow(place: &Place, file: &str, change: impl Fn(&str) -> String) {
    let run = place.run(&["info", file]);
    let advised = run.err.split('`').nth(1).unwrap_or_else(|| panic!("no command in {run:?}"));
    let huon = env!("CARGO_BIN_EXE_huon");
    let line = advised.replace("huon load NEW", &format!("'{huon}' load new.huon"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &change(&line)]).current_dir(place.dir()).stdin(Stdio::null());
    let run = Run::of(shell.output().unwrap());
    assert_eq!(run.code, 0, "{line}: {run:?}");
}

#[test]
fn the_way_in_from_lmdb_works() {
    const NAME: &str = "the_way_in_from_lmdb_works";
    if !is_there(NAME, "mdb_load") {
        return;
    }
    let place = Place::new();
    let text = "VERSION=3\nformat=print\ndatabase=people\ntype=btree\nHEADER=END\n ada\n 36\n\
                DATA=END\n";
    fs::write(place.path("text"), text).unwrap();
    fs::create_dir(place.path("dir")).unwrap();
    for args in [&["-f", "text", "-n", "it's.mdb"][..], &["-f", "text", "dir"]] {
        let mut load = Command::new("mdb_load");
        assert!(load.args(args).current_dir(place.dir()).status().unwrap().success());
    }
    for (file, what) in [
        ("it's.mdb", "an LMDB file"),
        ("dir", "a directory of LMDB's"),
        ("dir/data.mdb", "an LMDB file"),
        ("dir/lock.mdb", "a lock file of LMDB's"),
    ] {
        if place.path(file).exists() {
            refused(&place, file, &[what]);
        }
    }
    for file in ["it's.mdb", "dir"] {
        follow(&place, file, str::to_owned);
        assert_eq!(place.good(&["get", "new.huon", "ada", "-t", "people"]), "36\n");
        place.good(&["delete-env", "new.huon", "--yes"]);
    }
}

#[test]
fn the_way_in_from_sqlite_works() {
    const NAME: &str = "the_way_in_from_sqlite_works";
    if !is_there(NAME, "sqlite3") {
        return;
    }
    let place = Place::new();
    let mut sqlite = Command::new("sqlite3");
    let sql = "CREATE TABLE a_table (key, value); INSERT INTO a_table VALUES ('ada', 36);";
    assert!(sqlite.args(["s.db", sql]).current_dir(place.dir()).status().unwrap().success());
    refused(&place, "s.db", &["an SQLite file"]);
    follow(&place, "s.db", str::to_owned);
    assert_eq!(place.good(&["get", "new.huon", "ada"]), "36\n");
}

#[test]
fn the_way_in_from_berkeley_db_works() {
    const NAME: &str = "the_way_in_from_berkeley_db_works";
    // Debian has its version in the name.
    let there = |name: &&&str| Command::new(name).arg("-V").output().is_ok();
    let Some(dump) = ["db_dump", "db5.3_dump"].iter().find(there) else {
        return figures::skip(NAME, "db_dump of Berkeley DB is not installed");
    };
    let place = Place::new();
    for (kind, flags) in [("btree", "duplicates=1\ndupsort=1\n"), ("hash", "")] {
        let text = format!(
            "VERSION=3\nformat=print\ntype={kind}\n{flags}HEADER=END\n ada\n 36\n bob\n 41\n\
             DATA=END\n"
        );
        fs::write(place.path("text"), text).unwrap();
        let mut load = Command::new(dump.replace("dump", "load"));
        let args = ["-f", "text", kind];
        assert!(load.args(args).current_dir(place.dir()).status().unwrap().success());
        refused(&place, kind, &["a Berkeley DB file"]);
        // The main table has one value a key: a table that may have more needs a name.
        follow(&place, kind, |line| line.replace("db_dump", dump) + " -t people");
        assert_eq!(place.good(&["get", "new.huon", "bob", "-t", "people"]), "41\n");
        place.good(&["delete-env", "new.huon", "--yes"]);
    }
}
