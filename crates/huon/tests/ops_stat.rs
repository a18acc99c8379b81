//! Stat: the numbers add up, and the holders are the right ones.

use huon::{Bytes, Durability, Env, HeldBy, Stat, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn assert_adds_up(stat: &Stat) {
    let pages = stat.meta_pages
        + stat.live_pages
        + stat.chunk_pages
        + stat.reusable_pages
        + stat.held_pages;
    assert_eq!(pages * u64::from(stat.page_bytes) + stat.tail_bytes, stat.file_bytes, "{stat:?}");
}

fn rewrite(env: &Env, round: u64, durability: Durability) {
    let mut txn = env.write().unwrap();
    let t = txn.create(&T).unwrap();
    for n in 0..300 {
        let bytes = if n % 50 == 0 { 3000 } else { 50 };
        t.put(&mut txn, &n, &vec![round as u8; bytes]).unwrap();
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
    let holder = stat.holders.iter().find(|h| matches!(h.by, HeldBy::Reader(_))).unwrap();
    assert_eq!((holder.txnid, holder.pages), (reader.id(), seen));
    assert_eq!((holder.alone_pages, stat.held_pages), (seen, seen));
    assert_eq!(env.holders().unwrap(), stat.holders);
    drop(reader);
    let stat = env.stat().unwrap();
    assert_eq!(stat.held_pages, 0);
    assert!(stat.holders.iter().all(|holder| holder.pages == 0));
}
