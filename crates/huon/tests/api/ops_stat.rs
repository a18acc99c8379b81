//! Stat: the numbers add up, and the snapshots are the right ones.

use huon::{Bytes, Durability, Env, RetainedBy, RetainedSnapshot, Stat, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn assert_adds_up(stat: &Stat) {
    let pages = stat.meta_pages
        + stat.live_pages
        + stat.free_list_pages
        + stat.reusable_pages
        + stat.retained_pages;
    assert_eq!(pages * u64::from(stat.page_bytes) + stat.tail_bytes, stat.file_bytes, "{stat:?}");
}

fn rewrite(env: &Env, round: u64, durability: Durability) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..300 {
        let bytes = if n % 50 == 0 { 3000 } else { 50 };
        t.put(&mut txn, n, &vec![round as u8; bytes]).unwrap();
    }
    txn.commit_with(durability).unwrap();
}

#[test]
fn all_space_is_accounted_for() {
    for page_bytes in [256, 4096] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
        assert_adds_up(&env.stat().unwrap());
        let mut pins = Vec::new();
        for round in 0..20 {
            let lazy = round % 2 == 0;
            rewrite(&env, round, if lazy { Durability::Lazy } else { Durability::Durable });
            if round % 5 == 0 {
                pins.push(env.read().unwrap());
            }
            assert_adds_up(&env.stat().unwrap());
        }
    }
}

/// The same snapshots, whenever they are looked at.
fn ageless(mut snapshots: Vec<RetainedSnapshot>) -> Vec<RetainedSnapshot> {
    for snapshot in &mut snapshots {
        if let RetainedBy::Reader(reader) = &mut snapshot.by {
            reader.age_ms = 0;
        }
    }
    snapshots
}

#[test]
fn a_reader_holds_what_it_sees_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    rewrite(&env, 1, Durability::Durable);
    let seen = env.stat().unwrap().live_pages;
    let reader = env.read().unwrap();
    for round in 2..6 {
        rewrite(&env, round, Durability::Durable);
    }
    let stat = env.stat().unwrap();
    assert_adds_up(&stat);
    let snapshot =
        stat.retained_snapshots.iter().find(|h| matches!(h.by, RetainedBy::Reader(_))).unwrap();
    assert_eq!((snapshot.txnid, snapshot.pages), (reader.id(), seen));
    assert_eq!((snapshot.alone_pages, stat.retained_pages), (seen, seen));
    assert_eq!(ageless(env.retained_snapshots().unwrap()), ageless(stat.retained_snapshots));
    drop(reader);
    let stat = env.stat().unwrap();
    assert_eq!(stat.retained_pages, 0);
    assert!(stat.retained_snapshots.iter().all(|snapshot| snapshot.pages == 0));
}

#[test]
fn what_trees_did_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Env::options();
    let env = options
        .page_bytes(256)
        .write_buffer_bytes(8 * 256)
        .open(dir.path().join("a.huon"))
        .unwrap();
    let table = TableDef::<U64, Bytes>::main();
    let shuffled = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    env.update(|txn| {
        let table = txn.create_table(&table)?;
        (0..1000).try_for_each(|n| table.put(txn, shuffled(n), b"value").map(drop))
    })
    .unwrap();
    let (io, stat) = (env.info().unwrap().io, env.stat().unwrap());
    let tree = &stat.tables[0];
    assert!(tree.depth >= 3 && io.spills > 0, "{tree:?}, {io:?}");
    assert_eq!(io.roots_raised, u64::from(tree.depth) - 1);
    assert_eq!(io.leaf_splits, u64::from(tree.leaf_pages) - 1);
    assert_eq!(io.branch_splits + io.roots_raised, u64::from(tree.branch_pages));
    assert_eq!((io.leaf_merges, io.branch_merges, io.roots_lowered), (0, 0, 0));

    let mut txn = env.write().unwrap();
    let handle = txn.create_table(&table).unwrap();
    for n in 0..990 {
        assert!(handle.remove(&mut txn, shuffled(n)).unwrap());
    }
    txn.commit().unwrap();
    let (after, stat) = (env.info().unwrap().io, env.stat().unwrap());
    assert!(after.leaf_merges > 0 && after.branch_merges > 0 && after.spills > io.spills);
    let levels = u64::from(stat.tables[0].depth) - 1;
    assert_eq!(after.roots_raised - after.roots_lowered, levels, "{after:?}");

    let mut txn = env.write().unwrap();
    let handle = txn.create_table(&table).unwrap();
    for n in 0..100 {
        handle.put(&mut txn, shuffled(n), b"value").unwrap();
    }
    txn.abort();
    assert!(env.info().unwrap().io.leaf_splits > after.leaf_splits, "aborts count too");
}
