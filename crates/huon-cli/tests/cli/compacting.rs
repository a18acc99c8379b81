//! `compact`: the file becomes shorter where it is.

use std::fs;

use huon::{Bytes, Env, TableDef, U64};

use crate::common::{Place, Run, interrupt};

const T: TableDef<U64, Bytes> = TableDef::new("t");

/// A file of which a tenth lives, at its end.
fn retained(place: &Place) {
    let env = Env::options().open(place.path("a.huon")).unwrap();
    for part in 0..10 {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            (part * 2000..(part + 1) * 2000).try_for_each(|n| t.put(txn, n, &[7; 300]).map(drop))
        })
        .unwrap();
    }
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..18_000).try_for_each(|n| t.remove(txn, n).map(drop))
    })
    .unwrap();
}

fn length(place: &Place) -> u64 {
    fs::metadata(place.path("a.huon")).unwrap().len()
}

#[test]
fn a_file_becomes_as_short_as_was_asked() {
    let place = Place::new();
    retained(&place);
    let before = length(&place);
    let said = place.good(&["compact", "a.huon"]);
    assert!(said.contains("became") && said.contains("moved in"), "{said}");
    assert!(length(&place) < before / 4, "{before} bytes became {}", length(&place));
    place.good(&["check", "a.huon"]);
    assert_eq!(place.good(&["count", "a.huon", "-t", "t"]), "2000\n");
    let again = place.json(&["compact", "a.huon"]);
    assert_eq!((&again["end"], &again["moved_bytes"]), (&"target".into(), &0.into()));
    assert_eq!(again["after_bytes"], length(&place));
}

#[test]
fn what_keeps_it_is_said() {
    let place = Place::new();
    retained(&place);
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let reader = env.read().unwrap();
    let run = place.run(&["compact", "a.huon"]);
    let pid = std::process::id();
    assert_eq!(run.code, 1, "{}", run.out);
    let names_it = run.out.contains(&format!("a reader in process {pid} of snapshot"));
    assert!(names_it && run.out.contains("older snapshots retain the rest"), "{}", run.out);
    let run = place.run(&["compact", "a.huon", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["end"], "retained");
    assert!(
        report["retained_snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .any(|snapshot| snapshot["pid"] == pid)
    );
    drop(reader);
    place.good(&["compact", "a.huon"]);
}

#[test]
fn it_ends_in_order() {
    let place = Place::new();
    retained(&place);
    let run = place.run(&["compact", "a.huon", "--time", "0"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("the time is over"), "{}", run.out);
    place.run(&["compact", "a.huon", "--target", "0.5"]).fails(2, &["target"]);
    place.run(&["compact", "no.huon"]).fails(5, &["no.huon"]);
    assert!(!place.path("no.huon").exists());
    // While another process writes it waits, and a signal that comes then is noted.
    let env = Env::options().open(place.path("a.huon")).unwrap();
    let txn = env.write().unwrap();
    let child = place.command(&["compact", "a.huon", "--wait", "60"]).spawn().unwrap();
    while env.info().unwrap().clients < 2 {
        std::thread::yield_now();
    }
    interrupt(&child);
    drop(txn);
    let run = Run::of(child.wait_with_output().unwrap());
    assert!(run.code == 130 || run.code == 0, "{} {}", run.code, run.err);
    drop(env);
    place.good(&["check", "a.huon"]);
    assert_eq!(place.good(&["count", "a.huon", "-t", "t"]), "2000\n");
}
