//! What layers on top of Huon keep with a transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use huon::{Env, Error, Extension, Result, TableDef, Txn, U64, Unit, WriteTxn};

const T: TableDef<U64, Unit> = TableDef::new("t");

/// Numbers that are put at the commit.
#[derive(Default)]
struct Late {
    numbers: Vec<u64>,
    marks: Vec<usize>,
    then: Option<fn(&mut WriteTxn) -> Result<()>>,
    dropped: Arc<AtomicUsize>,
}

impl Extension for Late {
    fn begin_level(&mut self) {
        self.marks.push(self.numbers.len());
    }

    fn end_level(&mut self, kept: bool) {
        let mark = self.marks.pop().unwrap();
        if !kept {
            self.numbers.truncate(mark);
        }
    }

    fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
        assert!(self.marks.is_empty() && txn.extension::<Late>().is_none());
        let t = txn.create_table(&T)?;
        self.numbers.iter().try_for_each(|n| t.put(txn, *n, ()).map(drop))?;
        self.then.map_or(Ok(()), |then| then(txn))
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

fn put_late(txn: &mut WriteTxn, number: u64) {
    txn.extend(Late::default).numbers.push(number);
}

#[track_caller]
fn numbers(env: &Env) -> Vec<u64> {
    let txn = env.read().unwrap();
    let t = env.table(&T).unwrap();
    t.iter(&txn).unwrap().map(|record| record.unwrap().0).collect()
}

fn undo(txn: &mut WriteTxn, work: impl FnOnce(&mut WriteTxn)) {
    let undone: Result<()> = txn.nested(|child| {
        work(child);
        Err(Error::Invalid("undone"))
    });
    assert!(matches!(undone, Err(Error::Invalid("undone"))));
}

#[test]
fn an_extension_changes_what_the_commit_commits() {
    let env = Env::in_memory().unwrap();
    let id = env.write().unwrap().id();
    env.update(|txn| {
        put_late(txn, 2);
        assert!(txn.open_table(&T)?.is_none(), "not before the commit");
        put_late(txn, 1);
        Ok(())
    })
    .unwrap();
    assert_eq!(numbers(&env), [1, 2]);
    assert_eq!(env.read().unwrap().id(), id, "it is one transaction, and has changed something");
    let mut txn = env.write().unwrap();
    put_late(&mut txn, 3);
    let dropped = txn.extension::<Late>().unwrap().dropped.clone();
    txn.abort();
    assert_eq!((numbers(&env), dropped.load(Relaxed)), (vec![1, 2], 1));
}

#[test]
fn an_extension_follows_levels() {
    let env = Env::in_memory().unwrap();
    let mut txn = env.write().unwrap();
    // Added in a level that is undone, and in one inside one that is: gone.
    undo(&mut txn, |child| put_late(child, 1));
    undo(&mut txn, |child| {
        let put = |inner: &mut WriteTxn| {
            put_late(inner, 2);
            Ok(())
        };
        child.nested(put).unwrap();
    });
    assert!(txn.extension::<Late>().is_none());
    // Added in a level that is kept: it follows those that come.
    let kept = |child: &mut WriteTxn| {
        put_late(child, 3);
        Ok(())
    };
    txn.nested(kept).unwrap();
    txn.savepoint("a").unwrap();
    put_late(&mut txn, 4);
    undo(&mut txn, |child| put_late(child, 5));
    txn.savepoint("b").unwrap();
    put_late(&mut txn, 6);
    txn.roll_back_to("a").unwrap();
    put_late(&mut txn, 7);
    txn.roll_back_to("a").unwrap();
    put_late(&mut txn, 8);
    // A savepoint that is open at the commit ends before it.
    txn.savepoint("c").unwrap();
    put_late(&mut txn, 9);
    txn.commit().unwrap();
    assert_eq!(numbers(&env), [3, 8, 9]);
}

#[test]
fn an_extension_that_fails_fails_the_commit() {
    let env = Env::in_memory().unwrap();
    let mut txn = env.write().unwrap();
    put_late(&mut txn, 1);
    txn.extend(Late::default).then = Some(|_| Err(Error::Invalid("no")));
    assert!(matches!(txn.commit(), Err(Error::Invalid("no"))));
    assert!(env.read().unwrap().open_table(&T).unwrap().is_none());
    // One that leaves a savepoint open, and one that breaks the transaction and says nothing.
    let mut txn = env.write().unwrap();
    put_late(&mut txn, 2);
    txn.extend(Late::default).then = Some(|txn| txn.savepoint("left"));
    txn.commit().unwrap();
    assert_eq!(numbers(&env), [2]);
    let mut txn = env.write().unwrap();
    put_late(&mut txn, 3);
    txn.extend(Late::default).then = Some(|txn| {
        let t = txn.create_table(&TableDef::<U64, Unit>::new("other"))?;
        let failed = t.bulk_load(txn, |append| append(2, ()).and_then(|()| append(1, ())));
        assert!(matches!(failed, Err(Error::KeyOutOfOrder)));
        Ok(())
    });
    assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
    assert_eq!(numbers(&env), [2]);
}

#[test]
fn extensions_of_several_types_are_called_in_their_order() {
    struct First;
    struct Second;
    impl Extension for First {
        fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
            assert!(txn.open_table(&T)?.is_none());
            txn.create_table(&T).map(drop)
        }
    }
    impl Extension for Second {
        fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
            let t = txn.open_table(&T)?.expect("the first has made it");
            t.put(txn, 1, ()).map(drop)
        }
    }
    let env = Env::in_memory().unwrap();
    env.update(|txn| {
        txn.extend(|| First);
        txn.extend(|| Second);
        txn.extend::<First>(|| panic!("it is there"));
        Ok(())
    })
    .unwrap();
    assert_eq!(numbers(&env), [1]);
}

#[test]
fn what_is_attached_to_a_snapshot_lasts_as_long() {
    let env = Env::in_memory().unwrap();
    let t = env.update(|txn| txn.create_table(&T)).unwrap();
    let count = |txn: &huon::ReadTxn| txn.attach(|| t.len(txn)).copied();
    let mut txn = env.read().unwrap();
    assert!(txn.attach::<String>(|| Err(Error::Invalid("no"))).is_err());
    assert_eq!(txn.attach(|| Ok(String::from("kept"))).unwrap(), "kept");
    assert_eq!(count(&txn).unwrap(), 0);
    env.update(|txn| t.put(txn, 1, ()).map(drop)).unwrap();
    assert_eq!(count(&txn).unwrap(), 0, "it is the snapshot's");
    assert_eq!(txn.attach::<String>(|| panic!("it is there")).unwrap(), "kept");
    assert!(txn.renew().unwrap());
    assert_eq!(count(&txn).unwrap(), 1);
    assert!(matches!(Txn::any(&txn), huon::AnyTxn::Read(_)));
}

/// More tables than a transaction has places for, read in turns and by several threads.
#[test]
fn a_snapshot_finds_many_tables() {
    let env = Env::in_memory().unwrap();
    let defs: Vec<_> = (0..150).map(|n| TableDef::<U64, U64>::named(format!("t{n}"))).collect();
    let tables = env
        .update(|txn| {
            let tables: Result<Vec<_>> = defs.iter().map(|def| txn.create_table(def)).collect();
            let tables = tables?;
            (0..).zip(&tables).try_for_each(|(n, t)| t.put(txn, 0, n).map(drop))?;
            Ok(tables)
        })
        .unwrap();
    let txn = env.read().unwrap();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (tables, txn) = (&tables, &txn);
            scope.spawn(move || {
                for n in (0..1000).map(|n| (n * 7 + start * 31) % tables.len()) {
                    assert_eq!(tables[n].get(txn, 0).unwrap(), Some(n as u64));
                }
            });
        }
    });
}

#[test]
fn an_extension_hears_of_a_commit_once_it_has_happened() {
    struct Heard(Env, Arc<AtomicUsize>);
    impl Extension for Heard {
        fn after_commit(&mut self, id: u64) {
            assert_eq!(self.0.read().unwrap().id(), id, "it is visible");
            // The writer lock is free again.
            let t = self.0.update(|txn| txn.create_table(&T)).unwrap();
            self.0.update(|txn| t.put(txn, id, ()).map(drop)).unwrap();
            self.1.store(id as usize, Relaxed);
        }
    }
    let env = Env::in_memory().unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let mut txn = env.write().unwrap();
    txn.extend(|| Heard(env.clone(), heard.clone()));
    drop(txn);
    assert_eq!(heard.load(Relaxed), 0, "nothing was committed");
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap();
    txn.extend(|| Heard(env.clone(), heard.clone()));
    let id = txn.commit().unwrap();
    assert_eq!((heard.load(Relaxed) as u64, numbers(&env)), (id, vec![id]));
}
