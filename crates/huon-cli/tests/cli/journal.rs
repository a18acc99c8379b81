//! What the commands tell of an environment with a journal.

use huon::{Bytes, Env, TableDef, limits};

use crate::common::Place;

/// Opens an environment with a journal, and makes so many commits.
fn with_commits(place: &Place, commits: u8) -> Env {
    let mut options = Env::options();
    let env = options.journal(limits::JOURNAL_BYTES_MIN).open(place.path("a.huon")).unwrap();
    for n in 0..commits {
        env.update(|txn| {
            txn.create_table(&TableDef::<Bytes, Bytes>::main())?.put(txn, &[b'a' + n], b"value")
        })
        .unwrap();
    }
    env
}

#[test]
fn a_journal_is_told_of_and_checked() {
    let place = Place::new();
    let env = with_commits(&place, 4);
    let text = place.good(&["info", "a.huon"]);
    let line = text.lines().find(|line| line.starts_with("journal")).expect("it is told of");
    assert!(line.contains("64.00 KiB") && line.ends_with(": 3, of 12.00 KiB"), "{line}");
    let json = place.good(&["info", "a.huon", "--json"]);
    assert!(json.contains("\"state\":\"running\""), "{json}");
    assert!(place.good(&["stat", "a.huon"]).contains("a journal of 64.00 KiB"));
    assert!(place.good(&["metas", "a.huon"]).contains("from its block 1 on"));
    assert!(place.good(&["check", "a.huon", "--json"]).contains("\"journal_batches\":3"));
    // No output takes its place.
    place.run(&["dump", "a.huon", "a.huon-journal", "--force"]).fails(2, &["a.huon-journal"]);
    place.run(&["copy", "a.huon", "a.huon-journal", "--force"]).fails(2, &["a.huon-journal"]);
    drop(env);
    assert!(!place.good(&["info", "a.huon"]).contains("journal"), "it was closed");
    place.good(&["delete-env", "a.huon", "--yes"]);
    assert!(!place.path("a.huon-journal").exists());
}

#[test]
fn a_lost_journal_is_an_error_that_says_what_to_do() {
    let place = Place::new();
    let env = with_commits(&place, 4);
    std::fs::copy(place.path("a.huon"), place.path("b.huon")).unwrap();
    drop(env);
    place.run(&["get", "b.huon", "a"]).fails(4, &["-journal", "switch-meta"]);
    let metas = Env::metas_of(place.path("b.huon")).unwrap();
    let newest = metas.iter().find(|meta| meta.snapshot().is_some_and(|s| s.is_newest)).unwrap();
    place.good(&["switch-meta", "b.huon", &newest.slot.to_string(), "--yes"]);
    assert_eq!(place.good(&["count", "b.huon"]).trim(), "1");
}
