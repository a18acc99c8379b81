//! `snapshots`, `name-snapshot` and `drop-snapshot`, and reading a named snapshot.

use crate::common::Place;

#[test]
fn a_named_snapshot_is_listed_read_compared_and_dropped() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "old"]);
    place.good(&["name-snapshot", "a.huon", "before"]);
    place.good(&["put", "a.huon", "key", "new"]);
    place.good(&["put", "a.huon", "more", "new"]);
    assert_eq!(place.good(&["get", "a.huon", "key"]), "new\n");
    let at = ["--snapshot", "before"];
    let good = |args: &[&str]| place.good(&[args, &at].concat());
    assert_eq!(good(&["get", "a.huon", "key"]), "old\n");
    assert_eq!(good(&["count", "a.huon"]), "1\n");
    assert_eq!(good(&["ls", "a.huon", "--keys"]), "key\n");
    place.good(&["put", "a.huon", "--table", "t", "1", "one"]);
    let diff = place.run(&["diff", "a.huon", "--since", "before"]);
    assert_eq!(diff.code, 1);
    let shown = "main table\n- key\told\n+ key\tnew\n+ more\tnew\ntable t\n  only since then\n\
                 + 1\tone\n";
    assert_eq!(diff.out, shown);
    let since = ["diff", "a.huon", "--since", "before"];
    let only = place.run(&[&since[..], &["--table", "t", "--json"]].concat());
    assert_eq!((only.code, only.out.lines().count()), (1, 2), "{}", only.out);
    assert_eq!(place.run(&[&since[..], &["--table", "other"]].concat()).code, 0);
    let quiet = place.run(&[&since[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, quiet.out.as_str()), (1, ""));
    place.run(&["diff", "a.huon"]).fails(2, &["--since"]);

    let listed = place.json(&["snapshots", "a.huon"]);
    assert_eq!(listed["name"], "before");
    assert!(listed["retained_bytes"].as_u64() > Some(0), "{listed}");
    assert!(place.good(&["snapshots", "a.huon"]).starts_with("before: snapshot "));
    assert!(place.good(&["stat", "a.huon"]).contains("the named snapshot "));
    place.good(&["check", "a.huon"]);

    place.good(&["drop-snapshot", "a.huon", "before"]);
    assert_eq!(place.good(&["snapshots", "a.huon"]), "");
    let gone = "no snapshot is named \"before\"";
    place.run(&["drop-snapshot", "a.huon", "before"]).fails(1, &[gone]);
    place.run(&["get", "a.huon", "key", "--snapshot", "before"]).fails(1, &[gone]);
    place.run(&["name-snapshot", "a.huon", ""]).fails(2, &["1 to 255 bytes"]);
}
