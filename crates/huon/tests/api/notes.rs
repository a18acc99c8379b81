//! What goes with a transaction: savepoints, sequences, markers, and what it may write over.

use huon::{Env, Error, MultiDef, Result, WriteTxn};

#[test]
fn savepoints_and_sequences_end_with_what_they_belong_to() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(512).open(dir.path().join("a.huon")).unwrap();
    let def = MultiDef::<huon::U64, huon::U64>::new("m");
    let mut txn = env.write().unwrap();
    let table = txn.create_table(&def).unwrap();
    (0..200).for_each(|n| {
        table.put(&mut txn, 1, n).unwrap();
    });
    txn.savepoint("a").unwrap();
    assert_eq!(table.take_sequence(&mut txn, 5).unwrap(), 0);
    table.remove_key(&mut txn, 1).unwrap();
    txn.savepoint("b").unwrap();
    txn.set_markers([1, 2, 3]).unwrap();
    table.put(&mut txn, 2, 2).unwrap();
    // Named twice: the newest counts.
    txn.savepoint("a").unwrap();
    table.drop_table(&mut txn).unwrap();
    txn.roll_back_to("a").unwrap();
    assert_eq!(table.len(&txn).unwrap(), 1);
    txn.release("a").unwrap();
    txn.roll_back_to("b").unwrap();
    assert_eq!((table.len(&txn).unwrap(), txn.markers().values), (0, [0; 3]));
    assert_eq!(table.sequence(&txn).unwrap(), 5);
    let inner: Result<()> = txn.nested(|txn| {
        assert!(matches!(txn.roll_back_to("b"), Err(Error::Invalid(_))), "it is the outer one's");
        txn.savepoint("inner")?;
        table.put(txn, 7, 7).map(drop)
    });
    inner.unwrap();
    assert!(matches!(txn.release("inner"), Err(Error::Invalid(_))));
    assert_eq!(table.len(&txn).unwrap(), 1);
    txn.roll_back_to("a").unwrap();
    assert_eq!((table.len(&txn).unwrap(), table.sequence(&txn).unwrap()), (200, 0));
    // Open savepoints end with the transaction, and their changes are its own.
    table.put(&mut txn, 3, 3).unwrap();
    txn.set_markers([4, 5, 6]).unwrap();
    let id = txn.commit().unwrap();
    let txn = env.read().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 201);
    assert_eq!((txn.markers().values, txn.markers().txnid), ([4, 5, 6], id));
    drop(txn);
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    // The last number of a sequence.
    let mut txn = env.write().unwrap();
    table.take_sequence(&mut txn, u64::MAX).unwrap();
    assert!(matches!(table.take_sequence(&mut txn, 1), Err(Error::Invalid(_))));
    assert_eq!(table.sequence(&txn).unwrap(), u64::MAX);
}

#[test]
fn markers_belong_to_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = Env::options().open(&path).unwrap();
    let first = env.read().unwrap();
    let mut txn = env.write().unwrap();
    txn.set_markers([1, 2, 3]).unwrap();
    let undone: Result<()> = txn.nested(|txn| {
        txn.set_markers([4, 5, 6])?;
        Err(Error::Invalid("undone"))
    });
    assert!(undone.is_err());
    assert_eq!(txn.markers().values, [1, 2, 3]);
    let id = txn.commit().unwrap();
    // The same again is no change, and makes no snapshot; saying so again does.
    let mut txn = env.write().unwrap();
    txn.set_markers([1, 2, 3]).unwrap();
    assert_eq!(txn.commit().unwrap(), id);
    let mut txn = env.write().unwrap();
    txn.touch_markers([1, 2, 3]).unwrap();
    let touched = txn.commit().unwrap();
    let aborted = env.write().unwrap().set_markers([7; 3]);
    aborted.unwrap();
    assert_eq!((first.markers().values, first.markers().txnid), ([0; 3], 0));
    let markers = env.read().unwrap().markers();
    assert_eq!((markers.values, markers.txnid), ([1, 2, 3], touched));
    drop(first);
    drop(env);
    // After another opening, in a plain copy and in a compact one.
    let env = Env::options().open(&path).unwrap();
    assert_eq!(env.read().unwrap().markers(), markers);
    for compact in [false, true] {
        let path = dir.path().join(format!("copy-{compact}.huon"));
        env.copy_to(&path, huon::CopyOptions::new().compact(compact)).unwrap();
        let copy = Env::options().open(&path).unwrap();
        assert_eq!(copy.read().unwrap().markers().values, [1, 2, 3]);
    }
}

#[test]
fn what_may_be_written_over_is_dirty() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(512).open(dir.path().join("a.huon")).unwrap();
    let def = huon::TableDef::<huon::U64, huon::Bytes>::new("t");
    let t = env.update(|txn| {
        let t = txn.create_table(&def)?;
        (0..100).try_for_each(|n| t.put(txn, n, &[n as u8; 20]).map(drop))?;
        t.put(txn, 1000, &[7; 5000]).map(|_| t)
    });
    let t = t.unwrap();
    for durability in [huon::Durability::Durable, huon::Durability::Lazy] {
        let mut txn = env.write().unwrap();
        let dirty = |txn: &WriteTxn, n: u64| txn.is_dirty(t.get(txn, n).unwrap().unwrap());
        assert!((0..100).all(|n| !dirty(&txn, n)));
        t.put(&mut txn, 50, &[durability as u8; 21]).unwrap();
        assert!(dirty(&txn, 50) && !dirty(&txn, 0) && !dirty(&txn, 99));
        // A large value lies in pages of its own, which are written once.
        assert!(!dirty(&txn, 1000));
        assert!(!txn.is_dirty(b"bytes from elsewhere"));
        txn.commit_with(durability).unwrap();
    }
}
