//! The tools with the names and flags of libmdbx's: what they print, and their exit codes.

use huon::Env;

use crate::common::Place;

/// A main table with two records, and a multimap.
fn shop() -> Place {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    place.good(&["put", "a.huon", "pear", "green"]);
    let run = place.feed(
        &["put", "a.huon", "-t", "tags\\5c", "--multi", "-"],
        b"sweet\tpear\nsweet\tapple\nsour\tlime\n",
    );
    assert_eq!(run.code, 0, "{run:?}");
    place
}

/// A table's name is taken as it is, backslash and all.
const TAGS: &str = "tags\\";

#[test]
fn chk_checks() {
    let place = shop();
    let fine = place.tool("chk", &["a.huon"]);
    assert_eq!((fine.code, &*fine.err), (0, ""));
    assert!(fine.out.ends_with("no problems\n"), "{fine:?}");
    let all = place.tool("chk", &["-vv", "-v", "a.huon"]);
    assert!(all.out.contains("main table: records 2,") && all.out.contains("(multimap"), "{all:?}");
    let quiet = place.tool("chk", &["-q", "-v", "-c", "-w", "-i", "-u", "-U", "-n", "a.huon"]);
    assert_eq!((quiet.code, &*quiet.out, &*quiet.err), (0, "", ""));
    let noted = place.tool("chk", &["-cw", "a.huon"]);
    assert_eq!((noted.code, noted.err.lines().count()), (0, 2), "{noted:?}");
    assert!(noted.err.starts_with("huon_chk: -c: the file is shared"), "{noted:?}");
    for (flag, words) in
        [("-d", "huon_stat"), ("-t", "huon metas"), ("-T", "huon dump"), ("-stags", "leave it out")]
    {
        place.tool("chk", &[flag, "a.huon"]).fails(5, &["huon_chk: ", &flag[..2], words]);
    }
    place.tool("chk", &["-0", "-c", "a.huon"]).fails(5, &["-c", "no other process"]);
    for wrong in [&[][..], &["-x", "a.huon"], &["-0", "-1", "a.huon"], &["a.huon", "b"]] {
        assert_eq!(place.tool("chk", wrong).code, 5, "{wrong:?}");
    }
    place.tool("chk", &["none"]).fails(4, &["huon_chk: ", "none"]);
    std::fs::write(place.path("text"), "hello ".repeat(5000)).unwrap();
    place.tool("chk", &["text"]).fails(3, &["text", "not a Huon environment"]);
    place.tool("chk", &["."]).fails(3, &["a directory"]);
}

#[test]
fn chk_finds_damage_and_takes_metas() {
    let place = Place::new();
    let records: String = (0..5000).map(|n| format!("key{n:05}\tvalue {n}\n")).collect();
    assert_eq!(place.feed(&["put", "a.huon", "-"], records.as_bytes()).code, 0);
    place.good(&["put", "a.huon", "last", "one"]);
    place.good(&["put", "a.huon", "last", "two"]);
    let codes = ["-0", "-1", "-2"].map(|slot| place.tool("chk", &["-q", slot, "a.huon"]).code);
    assert!(codes.contains(&0) && codes.iter().all(|code| [0, 2, 3].contains(code)), "{codes:?}");
    let open = Env::options().open(place.path("a.huon")).unwrap();
    assert_eq!(place.tool("chk", &["a.huon"]).code, 0);
    place.tool("chk", &["-0", "a.huon"]).fails(3, &["a.huon", "open elsewhere"]);
    drop(open);
    let mut bytes = std::fs::read(place.path("a.huon")).unwrap();
    let at = bytes.windows(8).position(|window| window == b"key02500").unwrap();
    bytes[at + 3] ^= 1;
    std::fs::write(place.path("b.huon"), bytes).unwrap();
    let check = place.tool("chk", &["b.huon"]);
    assert_eq!(check.code, 2, "{check:?}");
    assert!(check.out.contains("page "), "{check:?}");
    // Every other tool has one code for whatever goes wrong.
    place.tool("dump", &["b.huon"]).fails(1, &["huon_dump: ", "page"]);
    let rescued = place.tool("dump", &["-r", "b.huon"]);
    assert_eq!(rescued.code, 1, "{}", rescued.err);
    assert_eq!(place.feed_tool("load", &["c.huon"], &rescued.bytes).code, 0);
}

#[test]
fn stat_counts() {
    let place = shop();
    let main = "Status of Main DB\n  Pagesize: 4096\n  Tree depth: 1\n  Branch pages: 0\n  \
                Leaf pages: 1\n  Overflow pages: 0\n  Entries: 3\n";
    assert_eq!(place.tool("stat", &["a.huon"]).out, main);
    let tags = main.replace("Main DB", "tags\\\\");
    assert_eq!(place.tool("stat", &["-s", TAGS, "a.huon"]).out, tags);
    assert_eq!(place.tool("stat", &["-a", "a.huon"]).out, format!("{main}{tags}"));
    let all = place.tool("stat", &["-e", "-fff", "-rr", "a.huon"]);
    assert_eq!((all.code, &*all.err), (0, ""));
    for words in ["maximum size", "no readers", "reusable", "retained", "Entries: 3"] {
        assert!(all.out.contains(words), "no \"{words}\" in {}", all.out);
    }
    place.tool("stat", &["-s", "none", "a.huon"]).fails(1, &["huon_stat: ", "none"]);
    place.tool("stat", &["-p", "a.huon"]).fails(1, &["-p", "leave it out"]);
    place.tool("stat", &["none"]).fails(1, &["none"]);
    assert_eq!(place.tool("stat", &["-a", "-s", "x", "a.huon"]).code, 1);
    assert!(place.tool("stat", &["-n", "a.huon"]).err.starts_with("huon_stat: -n: "));
}

#[test]
fn copy_copies() {
    let place = shop();
    assert_eq!(place.tool("copy", &["a.huon", "b.huon"]).code, 0);
    place.tool("copy", &["a.huon", "b.huon"]).fails(1, &["huon_copy: ", "exists", "-f"]);
    place.good(&["put", "a.huon", "plum", "blue"]);
    let forced = place.tool("copy", &["-f", "-c", "a.huon", "b.huon"]);
    assert_eq!((forced.code, &*forced.err), (0, ""));
    let piped = place.tool("copy", &["-q", "-d", "-p", "-u", "-U", "-n", "a.huon"]);
    assert_eq!((piped.code, &*piped.err), (0, ""));
    std::fs::write(place.path("c.huon"), piped.bytes).unwrap();
    for name in ["b.huon", "c.huon"] {
        assert_eq!(place.tool("chk", &["-q", name]).code, 0);
        assert_eq!(place.good(&["count", name]), "3\n");
    }
    let noted = place.tool("copy", &["-d", "a.huon", "d.huon"]);
    assert_eq!((noted.code, noted.err.lines().count()), (0, 1), "{noted:?}");
    place.tool("copy", &["none", "e.huon"]).fails(1, &["none"]);
    assert!(!place.path("e.huon").exists());
    assert_eq!(place.tool("copy", &[]).code, 1);
}

#[test]
fn dump_and_load_are_inverse() {
    let place = shop();
    let main = place.tool("dump", &["-p", "a.huon"]);
    assert!(main.out.ends_with(" apple\n red\n pear\n green\nDATA=END\n"), "{main:?}");
    assert_eq!(main.out.matches("HEADER=END").count(), 1);
    let tags = place.tool("dump", &["-p", "-s", TAGS, "a.huon"]);
    assert!(tags.out.contains("dupsort=1") && tags.out.contains(" sour\n lime\n"), "{tags:?}");
    let all = place.tool("dump", &["-a", "-q", "-u", "a.huon"]);
    assert_eq!(all.out.matches("HEADER=END").count(), 2);
    assert_eq!(place.tool("dump", &["-l", "a.huon"]).out, "tags\\\\\n");
    // A file is replaced, as those tools do.
    std::fs::write(place.path("text"), "old").unwrap();
    assert_eq!(place.tool("dump", &["-a", "-f", "text", "a.huon"]).code, 0);
    assert_eq!(std::fs::read(place.path("text")).unwrap(), all.bytes);
    assert_eq!(place.tool("load", &["-f", "text", "b.huon"]).code, 0);
    assert_eq!(place.tool("dump", &["-a", "b.huon"]).out, all.out);
    place.tool("dump", &["-c", "a.huon"]).fails(1, &["-c", "leave it out"]);
    place.tool("dump", &["-s", "none", "a.huon"]).fails(1, &["no table"]);
    assert_eq!(place.tool("dump", &["-a", "-s", "x", "a.huon"]).code, 1);
}

#[test]
fn load_loads() {
    let place = shop();
    let load = |args: &[&str], text: &str| place.feed_tool("load", args, text.as_bytes());
    assert_eq!(load(&["-T", "a.huon"], "apple\nyellow\n").code, 0);
    assert_eq!(load(&["-N", "-T", "a.huon"], "apple\nbrown\nfig\nblue\n").code, 0);
    assert_eq!(place.good(&["ls", "a.huon"]), "apple\tyellow\nfig\tblue\npear\tgreen\n");
    let noted = load(&["-a", "-T", "-s", TAGS, "a.huon"], "sweet\nfig\n");
    assert_eq!((noted.code, noted.err.lines().count()), (0, 1), "{noted:?}");
    assert_eq!(place.good(&["count", "a.huon", "-t", "tags\\5c"]), "4\n");
    let purged = load(&["-p", "-q", "-a", "-n", "-T", "-s", TAGS, "a.huon"], "sweet\nfig\n");
    assert_eq!((purged.code, &*purged.err), (0, ""));
    assert_eq!(place.good(&["ls", "a.huon", "-t", "tags\\5c"]), "sweet\tfig\n");
    load(&["-p", "a.huon"], "").fails(1, &["-p", "-s"]);
    load(&["-r", "a.huon"], "").fails(1, &["-r", "mend the line"]);
    load(&["a.huon"], "nonsense\n").fails(1, &["huon_load: ", "line 1"]);
    load(&["-f", "none", "a.huon"], "").fails(1, &["none"]);
}

#[test]
fn drop_empties_or_deletes() {
    let place = shop();
    place.tool("drop", &["-d", "a.huon"]).fails(1, &["huon_drop: ", "-d", "-s"]);
    place.tool("drop", &["-s", "none", "a.huon"]).fails(1, &["none"]);
    assert_eq!(place.good(&["count", "a.huon"]), "2\n");
    assert_eq!(place.tool("drop", &["a.huon"]).code, 0);
    assert_eq!(place.good(&["tables", "a.huon"]).lines().next(), Some("(main)\t0"));
    assert_eq!(place.tool("drop", &["-s", TAGS, "a.huon"]).code, 0);
    assert_eq!(place.good(&["count", "a.huon", "-t", "tags\\5c"]), "0\n");
    assert_eq!(place.tool("drop", &["-d", "-s", TAGS, "-q", "-n", "a.huon"]).code, 0);
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t0\n");
    place.tool("drop", &["none"]).fails(1, &["none"]);
    assert!(!place.path("none").exists());
}

#[test]
fn help_and_version_are_fine() {
    let place = Place::new();
    for name in ["chk", "stat", "copy", "dump", "load", "drop"] {
        let version = place.tool(name, &["-V"]);
        assert_eq!(version.code, 0);
        assert!(version.out.starts_with(&format!("huon_{name} ")), "{version:?}");
        let help = place.tool(name, &["--help"]);
        assert_eq!(help.code, 0);
        assert!(help.out.lines().all(|line| line.chars().count() <= 80), "{}", help.out);
        let wrong = place.tool(name, &["--nonsense"]);
        assert_eq!(wrong.code, if name == "chk" { 5 } else { 1 });
        assert!(wrong.err.contains("--help"), "{wrong:?}");
    }
}
