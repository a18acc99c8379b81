//! Check, on files that are whole and on files that are not.

use huon::{Bytes, CheckReport, Durability, Env, Order, RawTable, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn open(dir: &tempfile::TempDir, page_bytes: usize) -> Env {
    Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap()
}

fn assert_clean(report: &CheckReport) {
    assert!(report.is_clean(), "{:#?}", report.problems);
    let free = report.free_pages + report.retained_pages;
    assert_eq!(report.reachable_pages + report.free_list_pages + free, report.pages_total);
}

#[test]
fn every_commit_of_a_history_is_clean() {
    for page_bytes in [256, 512, 4096] {
        let dir = tempfile::tempdir().unwrap();
        let env = open(&dir, page_bytes);
        assert_clean(&env.check().unwrap());
        let mut pins = Vec::new();
        let mut free_list_pages = 0;
        for round in 0..60u64 {
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&T).unwrap();
            let other = TableDef::<Bytes, Bytes>::named(format!("other-{}", round % 5));
            let other: RawTable = txn.create_table(&other).unwrap();
            for n in 0..200u64 {
                let key = (n * 7919 + round * 31) % 1500;
                match key % 5 {
                    0 => drop(t.remove(&mut txn, key).unwrap()),
                    1 => drop(t.put(&mut txn, key, &vec![7; 1000]).unwrap()),
                    _ => drop(t.put(&mut txn, key, &round.to_le_bytes()).unwrap()),
                }
                other.put(&mut txn, &vec![b'k'; (n % 80) as usize], &[round as u8; 40]).unwrap();
            }
            if round % 17 == 16 {
                other.drop_table(&mut txn).unwrap();
            }
            let lazy = round % 3 == 0;
            txn.commit_with(if lazy { Durability::Lazy } else { Durability::Durable }).unwrap();
            if round % 7 == 0 {
                pins.push(env.read().unwrap());
            }
            let report = env.check().unwrap();
            assert_clean(&report);
            free_list_pages += report.free_list_pages;
            assert_eq!(report.tables[0].name, b"");
        }
        assert!(free_list_pages > 0 || page_bytes == 4096);
        drop((pins, env));
        assert_clean(&open(&dir, page_bytes).check().unwrap());
    }
}

#[test]
fn orders_are_checked_where_they_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let backwards = TableDef::<Bytes, Bytes>::new("backwards")
        .ordered(Order::custom("backwards", |a, b| b.cmp(a)));
    let ends = TableDef::<Bytes, Bytes>::new("ends").ordered(Order::Reversed);
    {
        let env = open(&dir, 512);
        env.update(|txn| {
            let (a, b) = (txn.create_table(&backwards)?, txn.create_table(&ends)?);
            for n in 0..500u32 {
                let key = n.wrapping_mul(2_654_435_761).to_le_bytes();
                a.put(txn, &key, b"value")?;
                b.put(txn, &key, b"value")?;
            }
            Ok(())
        })
        .unwrap();
        let report = env.check().unwrap();
        assert_clean(&report);
        assert!(report.tables_unordered.is_empty());
        assert!(report.tables.iter().all(|table| table.ordered));
    }
    let report = open(&dir, 512).check().unwrap();
    assert_clean(&report);
    assert_eq!(report.tables_unordered, [b"backwards".to_vec()]);
}
