//! Groups of batches, and what each of them gets where another one fails.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use huon::sim::{Point, on_points};
use huon::{Env, Error, Result, U64, WriteTxn};

use crate::combine::{Answer, Queue, locked};
use crate::{Lsm, LsmDef, LsmTable, WriteBatch};

/// Operands with which the operator fails, and panics.
const FAILS: u64 = 666;
const PANICS: u64 = 667;

struct World {
    env: Env,
    lsm: Lsm,
    table: LsmTable<U64, U64>,
    queue: Queue,
}

impl World {
    fn new() -> World {
        World::of(Env::in_memory().unwrap())
    }

    fn of(env: Env) -> World {
        let lsm = Lsm::open(&env).unwrap();
        let def = LsmDef::new("t").merged_by("sum", |a: u64, b, sum| match b {
            FAILS => Err(Error::Invalid("the operator fails")),
            PANICS => panic!("the operator panics"),
            _ => sum.set(a + b),
        });
        let table = lsm.table(&def).unwrap();
        World { env, lsm, table, queue: Queue::default() }
    }

    /// A batch that merges something onto a key, which has it folded if there is more than one.
    fn batch(&self, key: u64, operands: &[u64]) -> WriteBatch {
        let mut batch = self.lsm.batch();
        operands.iter().for_each(|operand| batch.merge(&self.table, key, *operand).unwrap());
        batch
    }

    /// A batch of another thread, which waits.
    fn wait(&self, key: u64, operands: &[u64]) -> Arc<Answer> {
        self.queue.push(self.batch(key, operands))
    }

    /// Writes a batch of this thread, which leads.
    fn write(&self, key: u64, operands: &[u64]) -> Result<u64> {
        self.queue.write(&self.env, self.batch(key, operands))
    }

    /// What the keys from 1 on have.
    fn values(&self) -> Vec<Option<u64>> {
        let txn = self.env.read().unwrap();
        (1..5).map(|key| self.table.get(&txn, key).unwrap()).collect()
    }
}

#[test]
fn a_batch_that_fails_or_panics_does_so_for_its_own_thread() {
    let world = World::new();
    let (good, panics) = (world.wait(1, &[1]), world.wait(2, &[1, PANICS]));
    let fails = world.wait(3, &[1, FAILS]);
    world.write(4, &[1, 1]).unwrap();
    assert!(matches!(locked(&good).take(), Some(Ok(Ok(_)))));
    assert!(matches!(locked(&panics).take(), Some(Err(_))));
    assert!(matches!(locked(&fails).take(), Some(Ok(Err(Error::Invalid(_))))));
    assert_eq!(world.values(), [Some(1), None, None, Some(2)]);
    // The leader's own.
    let good = world.wait(1, &[1]);
    assert!(catch_unwind(AssertUnwindSafe(|| world.write(2, &[1, PANICS]))).is_err());
    assert!(matches!(locked(&good).take(), Some(Ok(Ok(_)))));
    // In the open run, where it comes upon what is there: then it is only found at the commit.
    let good = world.wait(1, &[1]);
    assert!(catch_unwind(AssertUnwindSafe(|| world.write(4, &[PANICS]))).is_err());
    assert!(matches!(locked(&good).take(), Some(Ok(Ok(_)))));
    assert_eq!(world.values(), [Some(3), None, None, Some(2)]);
}

#[test]
fn nothing_is_written_again_that_was_sealed() {
    let world = World::new();
    let other = world.wait(1, &[1]);
    // There is no memory for the flush, say.
    let commit = |txn: WriteTxn| txn.commit().and(Err(Error::OutOfMemory));
    let own = world.queue.write_by(&world.env, world.batch(2, &[1]), commit);
    assert!(matches!(own, Err(Error::OutOfMemory)));
    assert!(matches!(locked(&other).take(), Some(Ok(Err(Error::OutOfMemory)))));
    assert_eq!(world.values(), [Some(1), Some(1), None, None]);
}

#[test]
fn a_thread_that_writes_already_is_refused_alone() {
    let world = World::new();
    let other = world.wait(1, &[1]);
    let txn = world.env.write().unwrap();
    assert!(matches!(world.write(2, &[1]), Err(Error::ThreadWrites)));
    assert!(locked(&other).is_none(), "it waits for another leader");
    txn.abort();
    world.write(3, &[1]).unwrap();
    assert!(matches!(locked(&other).take(), Some(Ok(Ok(_)))));
    assert_eq!(world.values(), [Some(1), None, Some(1), None]);
    // So many bytes are before its own that its group is of others.
    let other = world.wait(1, &[1]);
    let mut large = world.lsm.batch();
    (10..100_000).for_each(|key| large.put(&world.table, key, 1).unwrap());
    let large = world.queue.push(large);
    let last = world.wait(2, &[1]);
    let txn = world.env.write().unwrap();
    assert!(matches!(world.write(3, &[1]), Err(Error::ThreadWrites)));
    assert!([&other, &large, &last].iter().all(|answer| locked(answer).is_none()));
    txn.abort();
    world.write(4, &[1]).unwrap();
    for answer in [other, large, last] {
        assert!(matches!(locked(&answer).take(), Some(Ok(Ok(_)))));
    }
    assert_eq!(world.values(), [Some(2), Some(1), Some(1), Some(1)]);
}

thread_local! {
    /// How often this thread has asked for the writer lock.
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn a_group_waits_for_the_writer_lock_once() {
    on_points(|point| {
        if point == Point::WriterWanted {
            ASKED.set(ASKED.get() + 1);
        }
    });
    let options = Env::options().lock_timeout(Duration::from_millis(1)).clone();
    let world = World::of(options.open_in_memory().unwrap());
    let other = world.wait(1, &[1]);
    let asked = ASKED.get();
    let txn =
        std::thread::scope(|scope| scope.spawn(|| world.env.write().unwrap()).join().unwrap());
    assert!(matches!(world.write(2, &[1]), Err(Error::Busy(_))));
    assert!(matches!(locked(&other).take(), Some(Ok(Err(Error::Busy(_))))));
    assert_eq!(ASKED.get() - asked, 1);
    drop(txn);
    assert_eq!(world.values(), [None; 4]);
}
