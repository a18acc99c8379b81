//! What takes the place of something else, and only if that is wanted: `copy --force`,
//! `dump --force`, `load --empty`; and loads of plain lines.

use huon::Env;

use crate::common::Place;

fn two() -> Place {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    place.good(&["put", "b.huon", "plum", "blue"]);
    place
}

/// The names of all files.
fn files(place: &Place) -> Vec<String> {
    let names = std::fs::read_dir(place.dir()).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_copy_replaces_a_file_that_no_process_uses() {
    let place = two();
    place.run(&["copy", "a.huon", "b.huon"]).fails(2, &["b.huon", "exists", "-f"]);
    let open = Env::options().open(place.path("b.huon")).unwrap();
    place.run(&["copy", "a.huon", "b.huon", "--force"]).fails(3, &["b.huon", "open elsewhere"]);
    assert_eq!(place.good(&["ls", "b.huon"]), "plum\tblue\n");
    drop(open);
    place.good(&["copy", "a.huon", "b.huon", "--force"]);
    assert_eq!(place.good(&["ls", "b.huon"]), "apple\tred\n");
    // Once more, over a copy of the same environment whose lock file is still there.
    place.good(&["put", "b.huon", "only", "here"]);
    place.good(&["put", "a.huon", "apple", "green"]);
    place.good(&["copy", "a.huon", "b.huon", "--force", "--compact"]);
    assert_eq!(place.good(&["ls", "b.huon"]), "apple\tgreen\n");
    place.good(&["put", "b.huon", "more", "x"]);
    place.good(&["check", "b.huon", "--quiet"]);
    // What is no environment is replaced, too, and what is new is made.
    std::fs::write(place.path("text"), "hello").unwrap();
    place.good(&["copy", "a.huon", "text", "--force"]);
    place.good(&["copy", "a.huon", "c.huon", "--force"]);
    assert_eq!(place.good(&["ls", "text"]), place.good(&["ls", "c.huon"]));
    std::os::unix::fs::symlink("c.huon", place.path("link")).unwrap();
    place.good(&["put", "a.huon", "fig", "blue"]);
    place.good(&["copy", "a.huon", "link", "--force"]);
    assert_eq!(place.good(&["get", "c.huon", "fig"]), "blue\n");
    // A directory is not, itself as an environment neither, and no draft stays.
    std::fs::create_dir(place.path("dir")).unwrap();
    assert_eq!(place.run(&["copy", "a.huon", "dir", "--force"]).code, 5);
    place.run(&["copy", "a.huon", "a.huon", "--force"]).fails(2, &["a.huon", "itself"]);
    assert!(files(&place).iter().all(|name| !name.contains("draft")), "{:?}", files(&place));
}

#[test]
fn a_dump_replaces_a_file() {
    let place = two();
    place.good(&["dump", "a.huon", "text"]);
    let first = std::fs::read(place.path("text")).unwrap();
    place.run(&["dump", "b.huon", "text"]).fails(2, &["text", "exists", "-f"]);
    assert_eq!(std::fs::read(place.path("text")).unwrap(), first);
    place.run(&["dump", "b.huon", "text", "--force", "-t", "none"]).fails(1, &["no table"]);
    assert_eq!(std::fs::read(place.path("text")).unwrap(), first);
    place.good(&["dump", "b.huon", "text", "--force"]);
    assert_ne!(std::fs::read(place.path("text")).unwrap(), first);
    // A link stays one.
    std::os::unix::fs::symlink("text", place.path("link")).unwrap();
    place.good(&["dump", "a.huon", "link", "--force"]);
    assert_eq!(std::fs::read(place.path("text")).unwrap(), first);
    place.good(&["dump", "b.huon", "text", "--force"]);
    let direct = place.good(&["dump", "b.huon", "/dev/stdout", "--force"]);
    assert_eq!(direct.as_bytes(), std::fs::read(place.path("text")).unwrap());
    assert!(files(&place).iter().all(|name| !name.contains("draft")), "{:?}", files(&place));
}

#[test]
fn plain_lines_are_loaded() {
    let place = two();
    let load = |args: &[&str], text: &[u8]| {
        place.feed(&[&["load", "a.huon", "--pairs"], args].concat(), text)
    };
    assert_eq!(load(&[], b"pear\ngreen\n odd \\0a\n\nlast\nvalue").code, 0);
    let list = place.good(&["ls", "a.huon"]);
    assert_eq!(list, " odd \\0a\t\napple\tred\nlast\tvalue\npear\tgreen\n");
    load(&[], b"a\n1\nb\n").fails(2, &["key without its value"]);
    load(&[], b"a\n1\nb\\\n2\n").fails(2, &["line 3", "backslash"]);
    assert_eq!(load(&["-t", "new"], b"").code, 0);
    assert_eq!(place.good(&["count", "a.huon", "-t", "new"]), "0\n");
    assert_eq!(load(&["-t", "new", "--keep"], b"k\n1\nk\n2\n").code, 0);
    assert_eq!(place.good(&["ls", "a.huon", "-t", "new"]), "k\t1\n");
    place.good(&["put", "a.huon", "-t", "tags", "--multi", "sweet", "pear"]);
    assert_eq!(load(&["-t", "tags"], b"sweet\nfig\n").code, 0);
    assert_eq!(place.good(&["get", "a.huon", "-t", "tags", "sweet"]), "fig\npear\n");
    // The table is emptied first, of either kind, or there is nothing to empty.
    assert_eq!(load(&["-t", "tags", "--empty"], b"sweet\nplum\n").code, 0);
    assert_eq!(place.good(&["ls", "a.huon", "-t", "tags"]), "sweet\tplum\n");
    assert_eq!(load(&["-t", "", "--empty"], b"x\ny\n").code, 0);
    assert_eq!(place.good(&["ls", "a.huon"]), "x\ty\n");
    assert_eq!(load(&["-t", "fresh", "--empty"], b"x\ny\n").code, 0);
    assert_eq!(load(&["--empty"], b"x\ny\n").code, 2);
}

/// A command that fails before it has committed anything leaves no file of its own.
#[test]
fn what_a_refused_command_has_made_goes_again() {
    let place = two();
    let head = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n";
    let inputs = [
        ("none", String::new()),
        ("noise", "garbage".into()),
        ("queue", head.replace("btree", "queue")),
        ("odd", head.replace("print", "bytevalue") + " 6\n 62\nDATA=END\n"),
        ("long", format!("{head} {}\n v\nDATA=END\n", "k".repeat(3000))),
    ];
    let before = files(&place);
    for (what, text) in &inputs {
        for args in [&["load", "new"][..], &["load", "new", "--table", "t", "--empty"]] {
            let refused = place.feed(args, text.as_bytes());
            assert_eq!(refused.code, 2, "{what}: {refused:?}");
            assert_eq!(files(&place), before, "{what}");
        }
        let refused = place.feed_tool("load", &["new"], text.as_bytes());
        assert_eq!((refused.code, files(&place)), (1, before.clone()), "{what}");
    }
    assert_eq!(place.run(&["load", "new", "."]).code, 5);
    let long = "k".repeat(3000);
    let puts: [&[&str]; 4] = [
        &["put", "new", &long, "v"],
        &["put", "new", "k", "v", "--order", "native-u32"],
        &["put", "new", "k", "v", "--multi", "--value-bytes", "9"],
        &["put", "new", "-t", &long, "k", "v"],
    ];
    for args in puts {
        assert_eq!(place.run(args).code, 2, "{args:?}");
        assert_eq!(files(&place), before, "{args:?}");
    }
    assert_eq!(place.feed(&["put", "new", "-"], b"k\tv\nno tab\n").code, 2);
    assert_eq!(files(&place), before);
    // What was committed stays, and so does a file that was there before, be it empty.
    let half = format!("{head} k\n v\nDATA=END\ngarbage\n");
    assert_eq!(place.feed(&["load", "half"], half.as_bytes()).code, 2);
    assert_eq!(place.good(&["get", "half", "k"]), "v\n");
    place.feed(&["put", "there", "-"], b"");
    assert_eq!(place.feed(&["load", "there"], b"garbage").code, 2);
    assert_eq!(place.good(&["count", "there"]), "0\n");
}
