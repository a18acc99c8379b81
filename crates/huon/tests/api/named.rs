//! Named snapshots: retained by the file, over restarts, until they are dropped.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use huon::{
    Bytes, Capture, Durability, Env, Error, ReadTxn, Restore, RetainedBy, SlowReaderAnswer, Str,
    TableDef, U64,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const RECORDS: u64 = 3000;

/// Writes every record anew, large values among them.
fn change(env: &Env, round: u64) {
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        for n in 0..RECORDS {
            let bytes = if n % 500 == 7 { 9000 } else { 60 };
            t.put(txn, n, &vec![round as u8; bytes])?;
        }
        Ok(())
    })
    .unwrap();
}

fn name(env: &Env, name: &str) -> Capture {
    let capture = env.capture().unwrap();
    env.update(|txn| txn.name_snapshot(name, &capture)).unwrap();
    capture
}

fn drop_name(env: &Env, name: &str) -> bool {
    env.update(|txn| txn.drop_snapshot(name)).unwrap()
}

fn names(env: &Env) -> Vec<String> {
    env.named_snapshots().unwrap().into_iter().map(|named| named.name).collect()
}

/// Every record is of one round.
fn assert_round(txn: &ReadTxn, round: u64) {
    let t = txn.open_table(&T).unwrap().unwrap();
    assert_eq!(t.len(txn).unwrap(), RECORDS);
    for record in t.iter(txn).unwrap() {
        let (key, value) = record.unwrap();
        assert!(value.iter().all(|byte| *byte == round as u8), "record {key} of round {round}");
    }
}

fn assert_named(env: &Env, name: &str, round: u64) {
    assert_round(env.named_snapshot(name).unwrap().expect("it has its name").txn(), round);
}

fn assert_clean(env: &Env, named: u64) {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!(report.named_snapshots, named);
}

fn open(path: &Path) -> Env {
    Env::options().durability(Durability::Lazy).open(path).unwrap()
}

#[test]
fn a_named_snapshot_outlives_restarts_and_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    change(&env, 1);
    let snapshot = name(&env, "first").image().name();
    for round in 2..8 {
        change(&env, round);
        assert_named(&env, "first", 1);
        env.sync().unwrap();
    }
    env.close().unwrap();
    let env = open(&path);
    (8..12).for_each(|round| change(&env, round));
    assert_eq!(env.named_snapshots().unwrap()[0].snapshot, snapshot);
    assert_named(&env, "first", 1);
    assert_round(&env.read().unwrap(), 11);
    assert_clean(&env, 1);
    let of_name = |env: &Env| {
        let retained = env.retained_snapshots().unwrap();
        retained.into_iter().find(|one| one.by == RetainedBy::Name)
    };
    let retained = of_name(&env).expect("the name retains it");
    assert!(retained.txnid == snapshot.id && retained.alone_pages > 60, "{retained:?}");
    // It is held once, however often all is written anew.
    let before = env.info().unwrap().used_bytes;
    (12..20).for_each(|round| change(&env, round));
    assert!(env.info().unwrap().used_bytes <= before + before / 4);

    assert!(drop_name(&env, "first"));
    assert!(env.named_snapshot("first").unwrap().is_none());
    assert!(of_name(&env).is_some(), "a power loss would take the drop back");
    env.sync().unwrap();
    assert_eq!(of_name(&env), None);
    let reusable = env.stat().unwrap().reusable_pages;
    assert!(reusable > retained.alone_pages, "{reusable}");
    assert_clean(&env, 0);
}

#[test]
fn names_are_given_moved_and_taken_away() {
    let env = Env::in_memory().unwrap();
    change(&env, 1);
    let first = name(&env, "b");
    change(&env, 2);
    let second = name(&env, "a");
    env.update(|txn| txn.name_snapshot("twice", &first)).unwrap();
    assert_eq!(names(&env), ["b", "twice", "a"], "the oldest first");
    let id = env.read().unwrap().id();
    env.update(|txn| txn.name_snapshot("a", &second)).unwrap();
    assert_eq!(env.read().unwrap().id(), id, "it is the name of that snapshot already");
    drop((first, second));

    change(&env, 3);
    drop(name(&env, "b"));
    assert_eq!(names(&env), ["twice", "a", "b"], "the name moves");
    change(&env, 4);
    for (name, round) in [("twice", 1), ("a", 2), ("b", 3)] {
        assert_named(&env, name, round);
    }
    assert!(drop_name(&env, "twice") && !drop_name(&env, "twice") && !drop_name(&env, "no"));
    let again = env.named_snapshot("a").unwrap().unwrap();
    assert!(drop_name(&env, "a"));
    (5..8).for_each(|round| change(&env, round));
    assert_round(again.txn(), 2);
    env.update(|txn| txn.name_snapshot("anew", &again)).unwrap();
    drop(again);
    (8..11).for_each(|round| change(&env, round));
    assert_named(&env, "anew", 2);
    assert_clean(&env, 2);
}

#[test]
fn a_transaction_that_is_undone_has_named_nothing() {
    let env = Env::in_memory().unwrap();
    change(&env, 1);
    let capture = env.capture().unwrap();
    let mut txn = env.write().unwrap();
    txn.name_snapshot("undone", &capture).unwrap();
    drop(txn);
    assert!(names(&env).is_empty());
    let refused = env.update(|txn| {
        let undone: huon::Result<()> = txn.nested(|txn| {
            txn.name_snapshot("undone", &capture)?;
            Err(Error::Invalid("undo it"))
        });
        assert!(undone.is_err());
        txn.name_snapshot("kept", &capture)
    });
    refused.unwrap();
    assert_eq!(names(&env), ["kept"]);
    env.update(|txn| {
        let _: huon::Result<()> = txn.nested(|txn| {
            assert!(txn.drop_snapshot("kept")?);
            Err(Error::Invalid("undo it"))
        });
        Ok(())
    })
    .unwrap();
    drop(capture);
    (2..6).for_each(|round| change(&env, round));
    assert_named(&env, "kept", 1);
}

#[test]
fn what_cannot_be_named_is_refused() {
    let (env, other) = (Env::in_memory().unwrap(), Env::in_memory().unwrap());
    let capture = env.capture().unwrap();
    let mut txn = env.write().unwrap();
    let long = "n".repeat(256);
    for wrong in ["", long.as_str()] {
        assert!(matches!(txn.name_snapshot(wrong, &capture), Err(Error::Invalid(_))));
    }
    let strange = other.capture().unwrap();
    assert!(matches!(txn.name_snapshot("n", &strange), Err(Error::Invalid(_))));
    txn.name_snapshot(&long[1..], &capture).unwrap();
    txn.commit().unwrap();
    assert_eq!(names(&env), [&long[1..]]);
    env.update(|txn| {
        (1..1000).try_for_each(|n| txn.name_snapshot(&format!("{n}"), &capture))?;
        assert!(matches!(txn.name_snapshot("one more", &capture), Err(Error::Invalid(_))));
        assert!(txn.drop_snapshot("7")?);
        txn.name_snapshot("one more", &capture)
    })
    .unwrap();
    assert_eq!(names(&env).len(), 1000);
}

/// Also where the transaction looks again at what it may use, since it has waited for a reader.
#[test]
fn a_snapshot_is_protected_by_the_transaction_that_names_it() {
    let env = Env::in_memory().unwrap();
    change(&env, 1);
    let capture = env.capture().unwrap();
    change(&env, 2);
    let reader = env.read().unwrap();
    (3..6).for_each(|round| change(&env, round));
    env.sync().unwrap();
    let mut settings = env.settings();
    settings.slow_readers_before_growing = true;
    env.set_settings(settings);
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    env.set_on_slow_reader(move |slow| {
        count.fetch_add(1, Ordering::Relaxed);
        if slow.retries == 0 { SlowReaderAnswer::Retry } else { SlowReaderAnswer::GiveUp }
    });
    env.update(|txn| {
        txn.name_snapshot("n", &capture)?;
        drop(capture);
        let t = txn.create_table(&T)?;
        (0..3 * RECORDS).try_for_each(|n| t.put(txn, n, &[6; 200]).map(drop))
    })
    .unwrap();
    assert!(asked.load(Ordering::Relaxed) > 0);
    env.clear_on_slow_reader();
    assert_named(&env, "n", 1);
    assert_round(&reader, 2);
    assert_clean(&env, 1);
}

/// A reader that opens a named snapshot has it whole, or is told that it is gone, whatever others
/// do meanwhile.
#[test]
fn names_are_read_while_others_move_and_drop_them() {
    let env = Env::in_memory().unwrap();
    change(&env, 0);
    drop(name(&env, "n"));
    let done = AtomicBool::new(false);
    let relaxed = Ordering::Relaxed;
    let opened = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut opened = 0;
            while !done.load(relaxed) {
                let Some(capture) = env.named_snapshot("n").unwrap() else { continue };
                let t = capture.txn().open_table(&T).unwrap().unwrap();
                let mut rounds = t.iter(capture.txn()).unwrap().map(|record| record.unwrap().1[0]);
                let round = rounds.next().unwrap();
                assert!(rounds.all(|other| other == round), "records of one snapshot");
                opened += 1;
            }
            opened
        });
        for round in 1..200 {
            if round % 3 == 0 {
                drop_name(&env, "n");
            } else {
                drop(name(&env, "n"));
            }
            env.sync().unwrap();
            change(&env, round);
        }
        done.store(true, relaxed);
        reader.join().unwrap()
    });
    assert!(opened > 0);
    assert_clean(&env, 1);
}

const OWN: TableDef<Bytes, Bytes> = TableDef::new("huon.snapshots");

#[test]
fn the_table_of_names_is_read_by_all_and_changed_by_none() {
    let env = Env::in_memory().unwrap();
    let early = env.update(|txn| txn.create_table(&TableDef::<Str, Str>::new("other"))).unwrap();
    let capture = name(&env, "n");
    let txn = env.read().unwrap();
    assert_eq!(txn.table_names().unwrap(), [&b"huon.snapshots"[..], b"other"]);
    let table = txn.open_table(&OWN).unwrap().unwrap();
    let (key, value) = table.first(&txn).unwrap().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 1);
    // As FORMAT.md has it.
    assert_eq!(key, [&capture.id().to_be_bytes()[..], b"n"].concat());
    let (dropped, image) = value.split_at(8);
    assert_eq!(dropped, [0; 8]);
    assert!(image.last() != Some(&0) && capture.image().as_bytes().starts_with(image));
    assert!(capture.image().as_bytes()[image.len()..].iter().all(|byte| *byte == 0));
    let mut txn = env.write().unwrap();
    let refused = |result: huon::Result<()>| assert!(matches!(result, Err(Error::Invalid(_))));
    refused(txn.open_table(&OWN).map(drop));
    refused(txn.create_table(&OWN).map(drop));
    refused(table.clear(&mut txn).map(drop));
    refused(table.put(&mut txn, b"k", b"v").map(drop));
    refused(table.drop_table(&mut txn).map(drop));
    refused(early.rename(&mut txn, "huon.snapshots").map(drop));
    txn.commit().unwrap();
    assert_eq!(names(&env), ["n"]);
}

#[test]
fn a_table_of_the_programs_own_is_left_alone() {
    let env = Env::in_memory().unwrap();
    let own = env.update(|txn| {
        let own = txn.create_table(&OWN)?;
        own.put(txn, b"k", b"v").map(|_| own)
    });
    let own = own.unwrap();
    let capture = env.capture().unwrap();
    let refused = env.update(|txn| txn.name_snapshot("n", &capture));
    assert!(matches!(refused, Err(Error::TableExists)), "{refused:?}");
    let txn = env.read().unwrap();
    assert_eq!(own.get(&txn, b"k").unwrap(), Some(&b"v"[..]));
    assert!(names(&env).is_empty());
    let used = env.update(|txn| {
        own.get(txn, b"k")?;
        txn.name_snapshot("n", &capture)
    });
    assert!(matches!(used, Err(Error::Invalid(_))), "{used:?}");
}

/// A copy is of one snapshot: it has the rows of the table, and none of what they name.
#[test]
fn copies_and_backups_have_no_names() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let env = open(&at("a.huon"));
    change(&env, 1);
    drop(name(&env, "n"));
    change(&env, 2);
    env.copy_to(at("plain.huon"), huon::CopyOptions::new()).unwrap();
    env.copy_to(at("packed.huon"), huon::CopyOptions::new().compact(true)).unwrap();
    let mut backup = Vec::new();
    env.capture().unwrap().backup_to(&mut backup, huon::BackupOptions::new()).unwrap();
    let mut restore = Restore::begin(at("restored.huon")).unwrap();
    restore.add(&mut &backup[..]).unwrap();
    restore.finish().unwrap();
    for copy in ["plain.huon", "packed.huon", "restored.huon"] {
        let copy = open(&at(copy));
        assert!(names(&copy).is_empty());
        assert_clean(&copy, 0);
        (3..6).for_each(|round| change(&copy, round));
        drop(name(&copy, "its own"));
        change(&copy, 6);
        assert_eq!(names(&copy), ["its own"]);
        assert_named(&copy, "its own", 5);
        assert_clean(&copy, 1);
    }
    assert_named(&env, "n", 1);
}

/// Where the pages of a snapshot lie.
fn pages(capture: &Capture) -> BTreeMap<u32, u64> {
    let mut pages = BTreeMap::new();
    let all = capture.changes(0, &mut |changed| {
        pages.insert(changed.pgno, changed.birth);
        ControlFlow::Continue(())
    });
    assert!(all.unwrap());
    pages
}

#[test]
fn damage_of_a_named_snapshot_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    change(&env, 1);
    let named = pages(&name(&env, "one"));
    (2..5).for_each(|round| change(&env, round));
    env.sync().unwrap();
    let now = pages(&env.capture().unwrap());
    let bytes = env.info().unwrap().page_bytes as u64;
    env.close().unwrap();
    let (pgno, _) = named.iter().find(|(pgno, _)| !now.contains_key(pgno)).expect("its own page");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    use std::os::unix::fs::FileExt;
    file.write_all_at(&[0xA5; 64], u64::from(*pgno) * bytes + 100).unwrap();
    drop(file);
    let env = open(&path);
    assert_round(&env.read().unwrap(), 4);
    let report = env.check().unwrap();
    let [problem] = &report.problems[..] else { panic!("{:?}", report.problems) };
    assert_eq!(problem.pgno, Some(*pgno));
    assert!(problem.to_string().contains("the snapshot \"one\""), "{problem}");
    assert!(env.update(|txn| txn.drop_snapshot("one")).unwrap());
    assert_clean(&env, 0);
}

#[test]
fn a_full_file_says_what_the_names_retain() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().max_bytes(4 << 20).open(dir.path().join("a.huon")).unwrap();
    change(&env, 1);
    drop(name(&env, "one"));
    let filled = (2..200).try_for_each(|round| {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            t.put(txn, 1_000_000 + round, &[0; 60_000])?;
            (0..RECORDS).step_by(9).try_for_each(|n| t.put(txn, n, b"other").map(drop))
        })
    });
    let Err(Error::MapFull(full)) = filled else { panic!("{filled:?}") };
    assert!(full.named_bytes > 100_000, "{full:?}");
    assert!(full.to_string().contains("named snapshots retain"), "{full}");
}

/// A reader that cannot write, too, reads named snapshots.
#[test]
fn a_read_only_environment_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path);
    change(&env, 1);
    drop(name(&env, "one"));
    change(&env, 2);
    env.close().unwrap();
    let env = Env::options().read_only(true).open(&path).unwrap();
    assert_named(&env, "one", 1);
    assert_eq!(names(&env), ["one"]);
}
