//! `metas` and `switch-meta`: what the three metas show, and going back to one of them.

use huon::{Bytes, Durability, Env, MetaInfo, TableDef};

use crate::common::Place;

/// Three commits, each of which writes over a value, so that the one before the last is whole.
fn three() -> Place {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    for value in ["first", "second", "third"] {
        env.update(|txn| {
            txn.create_table(&TableDef::<Bytes, Bytes>::main())?.put(txn, b"key", value.as_bytes())
        })
        .unwrap();
    }
    let users = TableDef::<Bytes, Bytes>::new("users");
    env.update(|txn| txn.create_table(&users)?.put(txn, b"ann", b"1")).unwrap();
    env.close().unwrap();
    place
}

/// Slots, those with the newest snapshot first.
fn newest_first(place: &Place, name: &str) -> Vec<String> {
    let mut metas = Env::metas_of(place.path(name)).unwrap();
    metas.sort_by_key(|meta| std::cmp::Reverse(meta.snapshot().map(|s| s.txnid)));
    metas.iter().map(|meta| meta.slot.to_string()).collect()
}

fn newest_id(place: &Place, name: &str) -> u64 {
    let metas = Env::metas_of(place.path(name)).unwrap();
    metas.iter().filter_map(MetaInfo::snapshot).map(|s| s.txnid).max().unwrap()
}

/// Damages a file in one place.
fn damage(place: &Place, from: &str, to: &str, at: usize) {
    let mut bytes = std::fs::read(place.path(from)).unwrap();
    bytes[at] ^= 0x40;
    std::fs::write(place.path(to), bytes).unwrap();
}

#[test]
fn metas_are_listed() {
    let place = three();
    let text = place.good(&["metas", "a.huon"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows.len(), &rows[0][..3]), (4, &["slot", "state", "snapshot"][..]), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let newest = &rows[1 + newest_first(&place, "a.huon")[0].parse::<usize>().unwrap()];
    assert_eq!(newest[1..3], ["whole", &newest_id(&place, "a.huon").to_string()], "{text}");
    assert!(newest.ends_with(&["newest,", "durable"]), "{text}");
    assert_eq!(text.matches("newest").count(), 1, "{text}");

    let json = place.json(&["metas", "a.huon"]);
    let metas = json["metas"].as_array().unwrap();
    assert_eq!(metas.len(), 3);
    for (slot, meta) in metas.iter().enumerate() {
        assert_eq!((&meta["slot"], &meta["state"]), (&slot.into(), &"whole".into()), "{json}");
        assert_eq!(meta["newest"], meta["snapshot"] == json["newest"]);
        assert_eq!(meta["durable"], meta["newest"]);
        assert!(meta["used_bytes"].as_u64() >= Some(4 * 4096) && meta["root_page"].is_u64());
    }
    assert_eq!(
        (&json["newest"], &json["refused"]),
        (&newest_id(&place, "a.huon").into(), &json["none"])
    );
}

#[test]
fn metas_tell_of_what_they_do_not_hold() {
    let place = Place::new();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let fresh = place.good(&["metas", "a.huon"]);
    assert!(fresh.contains("1 unused\n") && fresh.contains(" none "), "{fresh}");
    // A lazy commit is in no meta.
    let mut txn = env.write().unwrap();
    txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap().put(&mut txn, b"k", b"v").unwrap();
    let id = txn.commit_with(Durability::Lazy).unwrap();
    let text = place.good(&["metas", "a.huon"]);
    assert!(text.ends_with("it is in no meta until the next flush\n"), "{text}");
    assert!(text.contains(&format!("snapshot {id} is newer")), "{text}");
    drop(env);
    // A client that is alone with it does not block the command.
    let alone = Env::options().exclusive(true).open(place.path("a.huon")).unwrap();
    let text = place.good(&["metas", "a.huon"]);
    assert!(text.contains("it does not open: "), "{text}");
    assert!(place.json(&["metas", "a.huon"])["refused"].is_string());
    drop(alone);
}

#[test]
fn damaged_metas_are_named() {
    let place = three();
    let slots = newest_first(&place, "a.huon");
    let newest: usize = slots[0].parse().unwrap();
    damage(&place, "a.huon", "b.huon", newest * 4096 + 50);
    let run = place.run(&["metas", "b.huon"]);
    assert_eq!((run.code, run.out.matches("damaged: ").count()), (1, 1), "{run:?}");
    place.run(&["switch-meta", "b.huon", &slots[0], "--yes"]).fails(4, &["slot", "damaged"]);
    assert_eq!(place.run(&["metas", "b.huon", "--json"]).code, 1);
    // All three of them: nothing opens, and they are still shown.
    let mut bytes = std::fs::read(place.path("a.huon")).unwrap();
    (0..3).for_each(|slot| bytes[slot * 4096 + 50] ^= 1);
    std::fs::write(place.path("c.huon"), bytes).unwrap();
    let run = place.run(&["metas", "c.huon"]);
    assert_eq!((run.code, run.out.matches("damaged: ").count()), (1, 3), "{run:?}");
    assert!(run.out.contains("it does not open: "), "{run:?}");
    // What is no environment has none.
    std::fs::write(place.path("text"), "hello ".repeat(5000)).unwrap();
    std::fs::create_dir(place.path("dir")).unwrap();
    place.run(&["metas", "text"]).fails(4, &["text", "HUON"]);
    place.run(&["metas", "dir"]).fails(4, &["dir", "a directory"]);
    place.run(&["switch-meta", "text", "0", "--yes"]).fails(4, &["text", "HUON"]);
}

#[test]
fn the_snapshot_before_comes_back_when_it_is_confirmed() {
    let place = three();
    let slots = newest_first(&place, "a.huon");
    let before = std::fs::read(place.path("a.huon")).unwrap();
    let asked = place.run(&["switch-meta", "a.huon", &slots[1]]);
    assert_eq!(asked.code, 2, "{asked:?}");
    assert!(asked.err.contains("--yes") && asked.err.lines().count() == 1, "{asked:?}");
    for words in ["would be lost for good", "users                                       1"] {
        assert!(asked.out.contains(words), "no \"{words}\" in {asked:?}");
    }
    assert!(asked.out.contains("not there\n"), "{asked:?}");
    assert!(std::fs::read(place.path("a.huon")).unwrap() == before, "asking has written");

    let chosen =
        place.json(&["metas", "a.huon"])["metas"][slots[1].parse::<usize>().unwrap()].clone();
    let done = place.good(&["switch-meta", "a.huon", &slots[1], "--yes"]);
    let id = newest_id(&place, "a.huon");
    let words = format!("\nsnapshot {} is the newest now, as snapshot {id}\n", chosen["snapshot"]);
    assert!(done.ends_with(&words), "{done}");
    assert_eq!(place.good(&["ls", "a.huon"]), "key\tthird\n");
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t1\n");
    assert_eq!(place.run(&["check", "a.huon", "-q"]).code, 0);
    // Once more there is nothing to do.
    let again = newest_first(&place, "a.huon");
    let text = place.good(&["switch-meta", "a.huon", &again[0], "--yes"]);
    assert!(text.contains("the newest already"), "{text}");
    assert_eq!(newest_id(&place, "a.huon"), id);
}

#[test]
fn a_switch_is_refused_for_reasons() {
    let place = three();
    let slots = newest_first(&place, "a.huon");
    let env = Env::options().open(place.path("a.huon")).unwrap();
    for confirm in [&[][..], &["--yes"]] {
        let busy = place.run(&[&["switch-meta", "a.huon", &slots[1]], confirm].concat());
        busy.fails(3, &["a.huon", "open elsewhere"]);
    }
    drop(env);
    for wrong in [&["switch-meta", "a.huon"][..], &["switch-meta", "a.huon", "3", "--yes"]] {
        assert_eq!(place.run(wrong).code, 2, "{wrong:?}");
    }
    place.run(&["switch-meta", "none.huon", "1", "--yes"]).fails(5, &["none.huon"]);
    assert!(!place.path("none.huon").exists());
    Env::options().open(place.path("new.huon")).unwrap().close().unwrap();
    place.run(&["switch-meta", "new.huon", "1", "--yes"]).fails(1, &["slot 1", "huon metas"]);
    // Of what is not whole nothing is written, confirmed or not.
    let value = std::fs::read(place.path("a.huon")).unwrap();
    let places = value.windows(5).enumerate().filter(|(_, window)| window == b"third");
    let mut bytes = value.clone();
    places.for_each(|(at, _)| bytes[at] ^= 1);
    std::fs::write(place.path("b.huon"), &bytes).unwrap();
    let run = place.run(&["switch-meta", "b.huon", &slots[1], "--yes"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("not whole") && run.err.contains("--rescue"), "{run:?}");
    assert!(std::fs::read(place.path("b.huon")).unwrap() == bytes, "it has written");
}

#[test]
fn chk_turns_to_a_meta() {
    let place = three();
    let slots = newest_first(&place, "a.huon");
    let flag = format!("-{}", slots[1]);
    place.tool("chk", &["-t", &flag, "a.huon"]).fails(5, &["-t", "-w"]);
    place.tool("chk", &["-t", "-w", "a.huon"]).fails(5, &["-t", "-0, -1 or -2"]);
    place.tool("chk", &["-T", "-w", &flag, "a.huon"]).fails(5, &["-T", "use -t"]);
    let env = Env::options().open(place.path("a.huon")).unwrap();
    place.tool("chk", &["-t", "-w", &flag, "a.huon"]).fails(3, &["open elsewhere"]);
    drop(env);
    let before = newest_id(&place, "a.huon");
    let done = place.tool("chk", &["-t", "-w", &flag, "a.huon"]);
    assert_eq!((done.code, &*done.err), (0, ""));
    assert!(
        done.out.contains("no problems\n") && done.out.contains("is the newest now"),
        "{done:?}"
    );
    assert!(newest_id(&place, "a.huon") > before);
    assert_eq!(place.good(&["tables", "a.huon"]), "(main)\t1\n");
    // The newest is there already.
    let newest = format!("-{}", newest_first(&place, "a.huon")[0]);
    let id = newest_id(&place, "a.huon");
    let quiet = place.tool("chk", &["-q", "-t", "-w", &newest, "a.huon"]);
    assert_eq!((quiet.code, &*quiet.out, &*quiet.err), (0, "", ""));
    assert_eq!(newest_id(&place, "a.huon"), id);
}
