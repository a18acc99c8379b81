//! The ids of write transactions, and where they end.

use super::tests::{T, options, put};
use crate::sim::SimDisk;
use crate::{Durability, Error, WriteTxn};

#[test]
fn the_ceiling_of_ids_forces_a_checkpoint() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let lazy = put(&env, 2, Durability::Lazy);
    let board = &env.core().unwrap().store.board;
    let ceiling = board.durable_info().unwrap().ceiling;
    assert!(board.raise_issued(board.issued(), ceiling - 1));
    assert!(env.durable_id() < lazy);
    let next = put(&env, 3, Durability::Lazy);
    assert!(next >= ceiling && env.durable_id() == lazy, "{next} {ceiling}");
    assert!(board.durable_info().unwrap().ceiling > next);
}

/// I3: a transaction that could have several ids goes on under the last below the ceiling.
#[test]
fn ids_in_the_middle_of_a_transaction_stay_below_the_ceiling() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().write_buffer_bytes(8 * 256).open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let board = &env.core().unwrap().store.board;
    let ceiling = board.durable_info().unwrap().ceiling;
    assert!(board.raise_issued(board.issued(), ceiling - 4));
    let mut txn = env.write().unwrap();
    assert_eq!(txn.id(), ceiling - 3);
    let t = txn.create_table(&T).unwrap();
    for key in 0..300 {
        t.put(&mut txn, key * 7919 % 307, &[key as u8; 100]).unwrap();
        assert!(txn.id() < ceiling, "I3");
    }
    assert_eq!((txn.id(), env.durable_id()), (ceiling - 1, env.read().unwrap().id()));
    assert_eq!(txn.commit_with(Durability::Lazy).unwrap(), ceiling - 1);
    assert!(env.check().unwrap().is_clean());
}

/// I2: a writer whose id another one has raised has lost the lock, and writes nothing more.
#[test]
fn a_writer_whose_id_was_raised_by_another_gives_up() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().write_buffer_bytes(8 * 256).open_simulated(&disk).unwrap();
    put(&env, 1, Durability::Durable);
    let board = &env.core().unwrap().store.board;
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    let first = txn.id();
    let put = |txn: &mut WriteTxn, key: u64| t.put(txn, key * 7919 % 307, &[1; 100]);
    let mut keys = 0..;
    while txn.id() == first {
        put(&mut txn, keys.next().unwrap()).unwrap();
    }
    assert!(board.raise_issued(board.issued(), txn.id() + 5));
    let written = env.info().unwrap().io.writes;
    let refused = keys.find_map(|key| put(&mut txn, key).err()).unwrap();
    assert!(matches!(refused, Error::Busy(_)), "{refused}");
    assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
    assert_eq!(env.info().unwrap().io.writes, written);
}
