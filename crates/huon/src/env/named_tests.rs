//! Named snapshots and power losses: Y1 and Y3 of `txn/named`, on simulated disks.

use super::tests::options;
use crate::sim::SimDisk;
use crate::{Bytes, Durability, Env, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const RECORDS: u64 = 200;

/// Writes all records anew; a large value among them.
fn change(env: &Env, round: u64, durability: Durability) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..RECORDS {
        let bytes = if n == 7 { 9000 } else { 60 };
        t.put(&mut txn, n, &vec![round as u8; bytes]).unwrap();
    }
    txn.commit_with(durability).unwrap();
}

fn name(env: &Env, durability: Durability) {
    let capture = env.capture().unwrap();
    let mut txn = env.write().unwrap();
    txn.name_snapshot("n", &capture).unwrap();
    txn.commit_with(durability).unwrap();
}

fn machine(journal: bool) -> (SimDisk, Env) {
    let disk = SimDisk::new(16 << 20).unwrap().lossy();
    let mut options = options();
    if journal {
        options.journal(256 << 10);
    }
    let env = options.open_simulated(&disk).unwrap();
    (disk, env)
}

/// After a power loss that took the blocks that `keeps` refuses.
fn cut(disk: &SimDisk, keeps: impl FnMut(u64) -> bool) -> Env {
    let crashed = disk.after_crash(&disk.disk_image(keeps), false).unwrap();
    let crashed = crashed.with_journal_image(&disk.flushed_journal_image());
    options().open_simulated(&crashed).unwrap()
}

/// The round of the named snapshot, if there is one; all of it is there.
fn named_round(env: &Env) -> Option<u64> {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let capture = env.named_snapshot("n").unwrap()?;
    let t = capture.txn().open_table(&T).unwrap().unwrap();
    let records = t.iter(capture.txn()).unwrap().map(|record| record.unwrap().1);
    let rounds: Vec<u8> = records.flat_map(|value| value.iter().copied()).collect();
    assert!(rounds.iter().all(|round| *round == rounds[0]), "of one snapshot");
    Some(u64::from(rounds[0]))
}

/// Most of the blocks that were not flushed, by chance.
fn most(seed: u64) -> impl FnMut(u64) -> bool + Send + 'static {
    move |block| {
        (block + 1).wrapping_mul((2 * seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 61 != 0
    }
}

/// Y1: the name is believed after a power loss, so all that the snapshot sees is on the disk, also
/// what the commit of the name does not see any more.
#[test]
fn a_name_that_survives_a_power_loss_has_its_snapshot() {
    for seed in 0..60 {
        let (disk, env) = machine(seed >= 40);
        change(&env, 1, Durability::Durable);
        change(&env, 2, Durability::Lazy);
        let capture = env.capture().unwrap();
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        txn.name_snapshot("n", &capture).unwrap();
        t.clear(&mut txn).unwrap();
        txn.commit_with(Durability::Lazy).unwrap();
        // The flush of the name ends in the power loss.
        let mut kept = most(seed);
        disk.fail_sync(0, move |block| !kept(block));
        assert!(env.sync().is_err());
        let named = named_round(&cut(&disk, |_| false));
        assert!(matches!(named, None | Some(2)), "seed {seed}: {named:?}");
    }
}

/// Y3: while the drop may be undone by a power loss, nothing of the snapshot is used again.
#[test]
fn a_drop_that_a_power_loss_undoes_has_cost_nothing() {
    for journal in [false, true] {
        let (disk, env) = machine(journal);
        change(&env, 1, Durability::Durable);
        name(&env, Durability::Durable);
        change(&env, 2, Durability::Durable);
        env.sync().unwrap();
        assert!(env.update(|txn| txn.drop_snapshot("n")).unwrap());
        (3..9).for_each(|round| change(&env, round, Durability::Lazy));
        for keeps in [false, true] {
            let crashed = cut(&disk, |_| keeps);
            let there = named_round(&crashed);
            assert!(matches!(there, None | Some(1)), "{there:?}");
        }
    }
}

/// The same where the drop itself is lazy: it is gone after the power loss.
#[test]
fn a_lazy_drop_is_undone_by_a_power_loss() {
    let (disk, env) = machine(false);
    change(&env, 1, Durability::Durable);
    name(&env, Durability::Durable);
    change(&env, 2, Durability::Durable);
    let mut txn = env.write().unwrap();
    assert!(txn.drop_snapshot("n").unwrap());
    txn.commit_with(Durability::Lazy).unwrap();
    (3..9).for_each(|round| change(&env, round, Durability::Lazy));
    assert_eq!(named_round(&env), None);
    // Some of what was written since is on the disk, but no meta of it.
    for seed in 0..20 {
        let mut most = most(seed);
        let crashed = cut(&disk, move |block| block >= 3 && most(block));
        assert_eq!(named_round(&crashed), Some(1), "seed {seed}");
    }
    env.sync().unwrap();
    let used = env.info().unwrap().used_bytes;
    (9..12).for_each(|round| change(&env, round, Durability::Lazy));
    assert_eq!(env.info().unwrap().used_bytes, used, "its pages are used again");
    assert_eq!(named_round(&cut(&disk, |_| false)), None);
}

/// Y1: the checkpoint is made by the naming, and only if it is needed.
#[test]
fn naming_makes_a_snapshot_durable_once() {
    for journal in [false, true] {
        let (_disk, env) = machine(journal);
        change(&env, 1, Durability::Durable);
        change(&env, 2, Durability::Lazy);
        let flushes = |env: &Env| env.info().unwrap().io.flushes;
        let before = flushes(&env);
        name(&env, Durability::Lazy);
        assert_eq!(flushes(&env), before + 1, "journal: {journal}");
        // The first one goes by pages, since the commit of the name has left no record.
        for value in 0..2 {
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&T).unwrap();
            t.put(&mut txn, 1, &[value]).unwrap();
            txn.commit_with(Durability::Durable).unwrap();
        }
        let before = flushes(&env);
        name(&env, Durability::Lazy);
        // What is in the journal alone is not in the data file.
        assert_eq!(flushes(&env), before + u64::from(journal));
    }
}

/// Y4: between the look at the name and the pin, others may drop it and use the pages again.
#[test]
fn a_snapshot_that_was_dropped_before_the_pin_is_not_read() {
    let (_disk, env) = machine(false);
    change(&env, 1, Durability::Durable);
    name(&env, Durability::Durable);
    let image = env.image_named("n").unwrap().expect("it was named");
    assert!(env.pin_if_named("n", image.clone()).unwrap().is_some());
    change(&env, 2, Durability::Durable);
    name(&env, Durability::Durable);
    (3..6).for_each(|round| change(&env, round, Durability::Durable));
    assert!(env.pin_if_named("n", image).unwrap().is_none(), "the name is another one's");
    assert_eq!(named_round(&env), Some(2));
}
