//! Backups: whole ones and what changed since, and files and replicas that are made of them.

use std::ops::ControlFlow;
use std::path::Path;

use huon::{
    BackupOptions, Bytes, Capture, Env, Error, Replica, Restore, SnapshotName, TableDef, U64,
};

const T: TableDef<U64, Bytes> = TableDef::new("t");

/// Some records, with a large value among them.
fn change(env: &Env, round: u64) {
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        for n in 0..300 {
            let bytes = if n == 7 { 9000 } else { 40 + (n + round) as usize % 50 };
            t.put(txn, n * (round + 1), &vec![round as u8; bytes])?;
        }
        t.remove(txn, round).map(drop)
    })
    .unwrap();
}

fn backup(capture: &Capture, since: Option<SnapshotName>) -> Vec<u8> {
    let mut options = BackupOptions::new();
    if let Some(since) = since {
        options = options.since(since);
    }
    let mut bytes = Vec::new();
    let report = capture.backup_to(&mut bytes, options).unwrap();
    assert_eq!((report.snapshot, report.since), (capture.image().name(), since));
    assert_eq!(report.bytes, bytes.len() as u64);
    bytes
}

/// A whole backup, one that follows it, and the captures of both.
fn two() -> (Env, [Vec<u8>; 2], [Capture; 2]) {
    let env = Env::in_memory().unwrap();
    (0..5).for_each(|round| change(&env, round));
    let first = env.capture().unwrap();
    change(&env, 5);
    let second = env.capture().unwrap();
    let backups = [backup(&first, None), backup(&second, Some(first.image().name()))];
    (env, backups, [first, second])
}

fn same_records(one: &huon::ReadTxn, other: &huon::ReadTxn) {
    let all = |txn: &huon::ReadTxn| -> Vec<(u64, Vec<u8>)> {
        let t = txn.open_table(&T).unwrap().unwrap();
        let records = t.range(txn, ..).unwrap();
        records.map(|record| record.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
    };
    assert_eq!(all(one), all(other));
}

fn files_in(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_restored_file_shows_the_snapshot_of_the_last_backup() {
    let (_env, backups, captures) = two();
    assert!(backups[1].len() < backups[0].len(), "it has what changed alone");
    let dir = tempfile::tempdir().unwrap();
    for count in [1, 2] {
        let path = dir.path().join(format!("restored-{count}.huon"));
        let mut restore = Restore::begin(&path).unwrap();
        for backup in &backups[..count] {
            restore.add(&mut &backup[..]).unwrap();
        }
        assert!(!path.exists(), "it has its name when it is whole");
        let report = restore.finish().unwrap();
        let capture = &captures[count - 1];
        assert_eq!(report.snapshot, capture.image().name());
        assert_eq!(report.bytes, path.metadata().unwrap().len());
        let env = Env::open(&path).unwrap();
        assert!(env.check().unwrap().is_clean());
        same_records(&env.read().unwrap(), capture.txn());
        change(&env, 9);
        assert!(env.check().unwrap().is_clean());
    }
}

#[test]
fn a_replica_takes_over_backups_and_a_restored_file_can_become_one() {
    let (env, backups, captures) = two();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("replica.huon");
    let mut restore = Restore::begin(&path).unwrap();
    restore.add(&mut &backups[0][..]).unwrap();
    restore.finish().unwrap();
    let mut replica = Replica::open(&path, captures[0].image()).unwrap();
    assert_eq!(replica.add(&mut &backups[1][..]).unwrap(), captures[1].image().name());
    same_records(&replica.env().read().unwrap(), captures[1].txn());
    change(&env, 6);
    let third = backup(&env.capture().unwrap(), Some(captures[1].image().name()));
    replica.add(&mut &third[..]).unwrap();
    same_records(&replica.env().read().unwrap(), &env.read().unwrap());
    assert!(replica.env().check().unwrap().is_clean());
}

#[test]
fn a_backup_that_is_cut_or_damaged_is_refused_and_leaves_nothing() {
    let (_env, [whole, _], _captures) = two();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("restored.huon");
    let refused = |bytes: &[u8]| {
        let mut restore = Restore::begin(&path).unwrap();
        let added = restore.add(&mut &bytes[..]);
        let error = added.and_then(|_| restore.finish()).unwrap_err();
        assert!(!path.exists() && files_in(dir.path()) == 0, "{error}");
        error
    };
    for cut in [0, 7, 31, 32, 4127, 4128, 4140, whole.len() / 2, whole.len() - 1] {
        let error = refused(&whole[..cut]);
        assert!(error.to_string().contains("of the backup"), "{cut}: {error}");
    }
    let step = whole.len() / 97;
    for at in (0..whole.len()).step_by(step).chain([8, 12, 16, 24, 40, 4128, 4132, 4136]) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let error = refused(&damaged);
        let fits = matches!(
            error,
            Error::Io(_)
                | Error::NotADatabase(_)
                | Error::Version(_)
                | Error::Corrupt(_)
                | Error::Diverged(_)
        );
        assert!(fits, "byte {at}: {error}");
    }
    // A page that is missing with its whole frame is found when the file is verified.
    let page = 4096 + 16;
    let mut short = whole[..4128].to_vec();
    short.extend_from_slice(&whole[4128 + page..]);
    assert!(matches!(refused(&short), Error::Corrupt(_)));
}

#[test]
fn backups_that_do_not_follow_are_refused() {
    let (env, [whole, more], captures) = two();
    let dir = tempfile::tempdir().unwrap();
    let mut restore = Restore::begin(dir.path().join("a.huon")).unwrap();
    let Err(Error::Diverged(text)) = restore.add(&mut &more[..]) else { panic!() };
    assert!(text.contains("add the one before first"), "{text}");
    restore.add(&mut &whole[..]).unwrap();
    let Err(Error::Diverged(text)) = restore.add(&mut &whole[..]) else { panic!() };
    assert!(text.contains("a whole one"), "{text}");
    change(&env, 6);
    let third = backup(&env.capture().unwrap(), Some(captures[1].image().name()));
    let Err(Error::Diverged(text)) = restore.add(&mut &third[..]) else { panic!() };
    assert!(text.contains(&captures[1].image().name().to_string()), "{text}");
    let (_other, [other, _], _) = two();
    assert!(matches!(restore.add(&mut &other[..]), Err(Error::Diverged(_))));
    let nothing = Restore::begin(dir.path().join("b.huon")).unwrap().finish();
    assert!(matches!(nothing, Err(Error::Invalid(_))));
    let later = BackupOptions::new().since(captures[1].image().name());
    let refused = captures[0].backup_to(&mut Vec::new(), later);
    assert!(matches!(refused, Err(Error::Invalid(_))));
    assert!(matches!(Restore::begin(dir.path()), Err(Error::Io(_))), "it exists");
}

#[test]
fn a_backup_can_be_stopped() {
    let (_env, _, [capture, _]) = two();
    let mut reports = 0;
    let options = BackupOptions::new().progress(|now| {
        reports += 1;
        assert!(now.done_bytes > 0);
        ControlFlow::Break(())
    });
    let stopped = capture.backup_to(&mut Vec::new(), options);
    let Err(Error::Io(error)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(error.source.kind(), std::io::ErrorKind::Interrupted);
    assert_eq!(reports, 1);
}

#[test]
fn what_was_deleted_is_in_no_backup() {
    let env = Env::in_memory().unwrap();
    let secret = b"to be forgotten".repeat(600);
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    env.update(|txn| t.put(txn, 1, &secret)).unwrap();
    env.update(|txn| t.remove(txn, 1)).unwrap();
    // A shorter value may come to lie over it.
    for n in 0..40 {
        env.update(|txn| t.put(txn, n, &vec![b'x'; 5000])).unwrap();
    }
    let bytes = backup(&env.capture().unwrap(), None);
    let held = bytes.windows(15).filter(|window| window == b"to be forgotten").count();
    assert_eq!(held, 0, "the bytes of deleted values");
}
