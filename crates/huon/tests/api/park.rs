//! Read transactions that are put aside, and those that rest.

use huon::{Bytes, Env, Error, RetainedBy, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn env() -> (tempfile::TempDir, Env, huon::Table<U64, Bytes>) {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    write(&env, t, 1);
    (dir, env, t)
}

fn write(env: &Env, t: huon::Table<U64, Bytes>, byte: u8) {
    let put =
        |txn: &mut huon::WriteTxn| (0..300).try_for_each(|n| t.put(txn, n, &[byte; 100]).map(drop));
    env.update(put).unwrap();
}

#[test]
fn a_parked_reader_keeps_its_snapshot() {
    let (_dir, env, t) = env();
    let parked = env.read().unwrap().park().unwrap();
    let before = parked.id();
    (2..20).for_each(|byte| write(&env, t, byte));
    let readers = env.info().unwrap().readers;
    assert_eq!(readers.len(), 1);
    assert!(readers[0].parked && readers[0].txnid == before && readers[0].ids_behind > 0);
    assert_ne!(readers[0].thread, 0);
    // From another thread, which is as good as any.
    let seen = std::thread::spawn(move || {
        let txn = parked.unpark().unwrap();
        assert_eq!(txn.id(), before);
        let all = (0..300).all(|n| t.get(&txn, n).unwrap() == Some(&[1; 100][..]));
        (all, txn.park().unwrap().unpark().unwrap().id())
    });
    assert_eq!(seen.join().unwrap(), (true, before));
    assert!(env.info().unwrap().readers.is_empty(), "it has ended");
}

#[test]
fn dropped_ones_give_their_slots_back() {
    let (_dir, env, t) = env();
    let held: Vec<_> = (0..700).map(|_| env.read().unwrap().park().unwrap()).collect();
    assert_eq!(env.info().unwrap().readers.len(), 700);
    drop(held);
    assert!(env.info().unwrap().readers.is_empty());
    let held: Vec<_> = (0..700).map(|_| env.read().unwrap()).collect();
    assert_eq!(t.len(&held[699]).unwrap(), 300);
    assert_eq!(env.info().unwrap().readers.len(), 700);
}

/// The transaction's cached state is of its own snapshot.
#[test]
fn a_parked_transaction_can_be_renewed_later() {
    let (_dir, env, t) = env();
    let mut txn = env.read().unwrap();
    assert_eq!(t.get(&txn, 1).unwrap(), Some(&[1; 100][..]));
    let parked = txn.park().unwrap();
    write(&env, t, 2);
    txn = parked.unpark().unwrap();
    assert_eq!(t.get(&txn, 1).unwrap(), Some(&[1; 100][..]));
    assert!(txn.renew().unwrap());
    assert_eq!(t.get(&txn, 1).unwrap(), Some(&[2; 100][..]));
    assert_eq!(Error::Evicted.code(), 27);
}

#[test]
fn one_that_rests_retains_nothing() {
    let (_dir, env, t) = env();
    let (first, txn) = (env.read().unwrap().id(), Box::new(env.read().unwrap()));
    assert_eq!(t.get(&*txn, 1).unwrap(), Some(&[1; 100][..]));
    let txn = txn.rest().wake().unwrap();
    assert_eq!(txn.id(), first, "it is the newest still");
    assert_eq!(t.get(&*txn, 1).unwrap(), Some(&[1; 100][..]));
    let resting = txn.rest();
    assert!(env.info().unwrap().readers.is_empty());
    (2..20).for_each(|byte| write(&env, t, byte));
    let by_a_reader = |one: &huon::RetainedSnapshot| matches!(one.by, RetainedBy::Reader(_));
    assert!(!env.retained_snapshots().unwrap().iter().any(by_a_reader));
    let txn = resting.wake().unwrap();
    assert_eq!(txn.id(), env.read().unwrap().id());
    assert_eq!(t.get(&*txn, 1).unwrap(), Some(&[19; 100][..]));
    assert_eq!(env.info().unwrap().readers.len(), 1);
    // Each has a slot of its own, whether it rests or not.
    let resting: Vec<_> = (0..100).map(|_| Box::new(env.read().unwrap()).rest()).collect();
    let awake: Vec<_> = resting.into_iter().map(|resting| resting.wake().unwrap()).collect();
    assert_eq!(env.info().unwrap().readers.len(), 101);
    drop((awake, txn));
    assert!(env.info().unwrap().readers.is_empty());
}
