//! Puts in key order, and what they look at.

use crate::{Bytes, Env, Result, TableDef, U64, WriteTxn};

const T: TableDef<U64, Bytes> = TableDef::new("t");

type Put = fn(crate::Table<U64, Bytes>, &mut WriteTxn, u64) -> Result<()>;

/// The ways to put a record behind all others.
const PUTS: [Put; 3] = [
    |t, txn, n| t.put(txn, n, b"a value").map(drop),
    |t, txn, n| t.put_if_absent(txn, n, b"a value").map(drop),
    |t, txn, n| t.append(txn, n, b"a value"),
];

/// A put behind the one before looks at their leaf, once.
#[test]
fn a_put_in_order_looks_at_one_page() {
    for put in PUTS {
        let env = Env::in_memory().unwrap();
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        let mut looks = |from: u64, to: u64| {
            let before = txn.pages().looks();
            (from..to).try_for_each(|n| put(t, &mut txn, n)).unwrap();
            txn.pages().looks() - before
        };
        // The first ones find the leaf.
        looks(0, 4);
        assert_eq!(looks(4, 50), 46);
        // Full leaves are left, and others begun.
        let (all, leaves) = (looks(50, 5000), 5000 / 100);
        assert!((4950..4950 + leaves * 25).contains(&all), "{all}");
        txn.commit().unwrap();
        assert!(env.check().unwrap().is_clean());
    }
}
