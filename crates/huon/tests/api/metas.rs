//! The three metas: what they show, checking against one, and switching to one.

use std::path::{Path, PathBuf};

use huon::{
    CheckOptions, Durability, Env, Error, MetaInfo, MetaState, Recovery, Str, TableDef, U64,
};

const T: TableDef<Str, U64> = TableDef::new("t");

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
    lock: PathBuf,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.huon");
        let lock = dir.path().join("a.huon-lock");
        Place { _dir: dir, path, lock }
    }

    fn open(&self) -> Env {
        Env::options().open(&self.path).unwrap()
    }
}

fn put(env: &Env, key: &str, value: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value)).unwrap();
}

fn get(env: &Env, key: &str) -> Option<u64> {
    env.view(|txn| txn.open_table(&T)?.expect("the table is there").get(txn, key)).unwrap()
}

fn ids(metas: &[MetaInfo]) -> Vec<u64> {
    metas.iter().map(|meta| meta.snapshot().map_or(0, |snapshot| snapshot.txnid)).collect()
}

/// The slot whose snapshot has this many newer ones.
fn slot(path: &Path, newer: usize) -> u8 {
    let mut metas = Env::metas_of(path).unwrap();
    metas.sort_by_key(|meta| std::cmp::Reverse(meta.snapshot().map(|s| s.txnid)));
    metas[newer].slot
}

fn switch(path: &Path, slot: u8) -> Result<huon::SwitchReport, Error> {
    Env::switch_to_meta(path, slot, CheckOptions::new())
}

#[test]
fn metas_are_listed_open_or_not() {
    let place = Place::new();
    let env = place.open();
    let states: Vec<_> = env.metas().unwrap().into_iter().map(|meta| meta.state).collect();
    assert!(matches!(states[0], MetaState::Whole(s) if s.is_newest && s.flushes == 2));
    assert!(matches!(states[0], MetaState::Whole(s) if s.root_page.is_none()));
    assert_eq!(states[1..], [MetaState::Unused, MetaState::Unused]);
    for n in 0..4 {
        put(&env, "a", n);
    }
    let metas = env.metas().unwrap();
    assert_eq!(metas, Env::metas_of(&place.path).unwrap());
    let newest: Vec<_> =
        metas.iter().filter_map(MetaInfo::snapshot).filter(|s| s.is_newest).collect();
    assert_eq!(newest.len(), 1);
    assert_eq!(newest[0].txnid, env.durable_id());
    assert!(ids(&metas).contains(&newest[0].before));
    let root = newest[0].root_page.expect("the main table has the record of a named one");
    let mut of_main = Vec::new();
    env.visit_pages(&mut |page| {
        of_main.extend((page.table == Some(b"")).then_some(page.pgno));
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((of_main, newest[0].page_bytes), (vec![root], 4096));
    drop(env);
    let bytes = std::fs::read(&place.path).unwrap();
    assert_eq!(metas, Env::metas_of(&place.path).unwrap());
    assert_eq!(bytes, std::fs::read(&place.path).unwrap());
}

#[test]
fn what_is_no_file_of_ours_has_no_metas() {
    let place = Place::new();
    assert!(matches!(Env::metas_of(&place.path), Err(Error::Io(_))));
    for text in [&b""[..], b"x", &[0; 20_000]] {
        std::fs::write(&place.path, text).unwrap();
        assert!(matches!(Env::metas_of(&place.path), Err(Error::NotADatabase(_))));
        assert!(matches!(switch(&place.path, 0), Err(Error::NotADatabase(_))));
        assert_eq!(std::fs::read(&place.path).unwrap(), text);
        assert!(!place.lock.exists());
    }
    assert!(matches!(Env::metas_of(place.path.parent().unwrap()), Err(Error::NotADatabase(_))));
}

#[test]
fn any_byte_of_a_meta_may_be_damaged() {
    let place = Place::new();
    let env = place.open();
    (0..4).for_each(|n| put(&env, "a", n));
    env.close().unwrap();
    let whole = std::fs::read(&place.path).unwrap();
    let damaged = slot(&place.path, 0);
    for at in (0..4096).step_by(13) {
        let mut bytes = whole.clone();
        bytes[usize::from(damaged) * 4096 + at] ^= 0x40;
        std::fs::write(&place.path, bytes).unwrap();
        let metas = Env::metas_of(&place.path).unwrap();
        // Version and features are outside the checksum: the block is whole, of another version.
        let right = match &metas[usize::from(damaged)].state {
            MetaState::Unknown(_) => (4..16).contains(&at),
            state => matches!(state, MetaState::Damaged(_)),
        };
        assert!(right, "byte {at}");
        assert_eq!(metas.iter().filter(|meta| meta.snapshot().is_some()).count(), 2);
        assert!(switch(&place.path, damaged).is_err());
    }
    assert!(matches!(switch(&place.path, 3), Err(Error::Invalid(_))));
}

#[test]
fn a_check_goes_against_any_meta_of_an_environment_in_use() {
    let place = Place::new();
    let (env, other) = (place.open(), place.open());
    put(&env, "a", 0);
    put(&env, "a", 1);
    let check = |env: &Env, newer| {
        let slot = slot(&place.path, newer);
        env.check_with(CheckOptions::new().meta_slot(slot)).unwrap()
    };
    for newer in 0..2 {
        let report = check(&other, newer);
        assert!(report.is_clean(), "{newer}: {:?}", report.problems);
        assert_eq!(report.reused_pages, 0);
    }
    assert_eq!(check(&env, 0).txnid, env.durable_id());
    // Lazy commits use the pages of all but the durable snapshot again.
    for n in 0..50 {
        let mut txn = other.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        for key in 0..50 {
            t.put(&mut txn, &format!("{key}"), n).unwrap();
        }
        txn.commit_with(Durability::Lazy).unwrap();
    }
    assert!(check(&env, 0).is_clean());
    let report = check(&env, 1);
    assert!(report.reused_pages > 0 && !report.is_clean());
    assert!(report.problems.iter().any(|problem| problem.text.contains("used again")));
    let busy = env.write().unwrap();
    let mut options = Env::options();
    let third = options.lock_timeout(std::time::Duration::from_millis(20)).open(&place.path);
    let refused = third.unwrap().check_with(CheckOptions::new().meta_slot(0));
    assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
    drop(busy);
    let none = env.check_with(CheckOptions::new().meta_slot(3));
    assert!(matches!(none, Err(Error::Invalid(_))));
}

#[test]
fn the_snapshot_before_the_newest_becomes_the_newest() {
    let place = Place::new();
    let env = place.open();
    (0..4).for_each(|n| put(&env, "a", n));
    let ceiling =
        env.metas().unwrap().iter().filter_map(|meta| meta.snapshot()?.ceiling.into()).max();
    let chosen = slot(&place.path, 1);
    let before = ids(&env.metas().unwrap())[usize::from(chosen)];
    assert!(matches!(switch(&place.path, chosen), Err(Error::Busy(_))), "it is open");
    env.close().unwrap();

    let lock = std::fs::read(&place.lock).unwrap();
    let report = switch(&place.path, chosen).unwrap();
    assert!(lock == std::fs::read(&place.lock).unwrap(), "the lock file is left alone");
    assert_eq!(report.chosen, before);
    assert!(Some(report.txnid) > ceiling, "above every id that may have been used");
    let metas = Env::metas_of(&place.path).unwrap();
    let newest = metas.iter().find_map(|meta| meta.snapshot().filter(|s| s.is_newest)).unwrap();
    assert_eq!((newest.txnid, newest.before, newest.flushes), (report.txnid, before, 2));

    let env = place.open();
    assert_eq!(env.recovery(), Recovery::Flushed);
    assert_eq!(get(&env, "a"), Some(2));
    assert!(env.check().unwrap().is_clean());
    put(&env, "b", 7);
    assert!(env.check().unwrap().is_clean());
    env.close().unwrap();
    let env = place.open();
    assert_eq!(
        (env.recovery(), get(&env, "a"), get(&env, "b")),
        (Recovery::Clean, Some(2), Some(7))
    );
}

#[test]
fn a_damaged_newest_snapshot_is_left_behind() {
    let place = Place::new();
    let env = place.open();
    put(&env, "a", 1);
    put(&env, "torn", 2);
    env.close().unwrap();
    let mut bytes = std::fs::read(&place.path).unwrap();
    let at = bytes.windows(4).position(|window| window == b"torn").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&place.path, &bytes).unwrap();
    let (newest, before) = (slot(&place.path, 0), slot(&place.path, 1));
    let error = switch(&place.path, newest).unwrap_err();
    assert!(matches!(&error, Error::Corrupt(c) if c.pgno == Some((at / 4096) as u32)), "{error}");
    assert!(bytes == std::fs::read(&place.path).unwrap(), "a refused switch writes nothing");
    switch(&place.path, before).unwrap();
    assert_eq!(get(&place.open(), "a"), Some(1));
}

#[test]
fn a_refused_switch_loses_nothing_that_the_lock_file_alone_knows() {
    let place = Place::new();
    let env = place.open();
    put(&env, "a", 0);
    put(&env, "a", 1);
    for n in 2..50 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        t.put(&mut txn, "a", n).unwrap();
        txn.commit_with(Durability::Lazy).unwrap();
    }
    env.close_without_flush();
    let error = switch(&place.path, slot(&place.path, 1)).unwrap_err();
    assert!(error.to_string().contains("used again"), "{error}");
    let env = place.open();
    assert_eq!((env.recovery(), get(&env, "a")), (Recovery::Newest, Some(49)));
    env.close_without_flush();

    // One that is not refused gives them up.
    switch(&place.path, slot(&place.path, 0)).unwrap();
    let env = place.open();
    assert_eq!((env.recovery(), get(&env, "a")), (Recovery::Flushed, Some(1)));
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn a_switch_can_be_stopped_while_it_checks() {
    let place = Place::new();
    let env = place.open();
    (0..3).for_each(|n| put(&env, "a", n));
    env.close().unwrap();
    let bytes = std::fs::read(&place.path).unwrap();
    let mut stop = |_: &huon::Progress| std::ops::ControlFlow::Break(());
    let options = CheckOptions::new().progress(&mut stop);
    let chosen = slot(&place.path, 1);
    assert!(matches!(Env::switch_to_meta(&place.path, chosen, options), Err(Error::Io(_))));
    assert!(bytes == std::fs::read(&place.path).unwrap());
}
