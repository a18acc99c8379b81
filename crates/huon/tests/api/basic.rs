//! The first walk through the public face.

use huon::{Bytes, Durability, Env, Order, Str, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");

fn env(dir: &tempfile::TempDir, page_bytes: usize) -> Env {
    Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap()
}

#[test]
fn many_records_survive_reopening() {
    for page_bytes in [256, 512, 4096, 65536] {
        let dir = tempfile::tempdir().unwrap();
        {
            let env = env(&dir, page_bytes);
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&T).unwrap();
            for n in 0..3000u64 {
                let value = vec![n as u8; (n % 50) as usize * if n % 100 == 0 { 200 } else { 1 }];
                t.put(&mut txn, n * 7919 % 3001, &value).unwrap();
            }
            txn.commit().unwrap();
            for round in 0..20u64 {
                env.update(|txn| {
                    for n in 0..100u64 {
                        t.put(txn, (n * 31 + round * 7) % 3001, &round.to_le_bytes())?;
                        t.remove(txn, (n * 17 + round) % 3001)?;
                    }
                    Ok(())
                })
                .unwrap();
            }
        }
        let env = env(&dir, page_bytes);
        let snap = env.read().unwrap();
        let t = snap.open_table(&T).unwrap().unwrap();
        let keys: Vec<u64> = t.iter(&snap).unwrap().map(|r| r.unwrap().0).collect();
        assert!(keys.is_sorted());
        assert_eq!(keys.len() as u64, t.len(&snap).unwrap());
        let mut back: Vec<u64> = t.iter(&snap).unwrap().rev().map(|r| r.unwrap().0).collect();
        back.reverse();
        assert_eq!(keys, back);
    }
}

#[test]
fn a_renewed_reader_lets_go_of_what_it_saw() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir, 4096);
    let write =
        |n: u64| env.update(|txn| txn.create_table(&T)?.put(txn, n, b"v").map(drop)).unwrap();
    write(0);
    let mut snap = env.read().unwrap();
    let t = snap.open_table(&T).unwrap().unwrap();
    for n in 1..10 {
        let before = snap.id();
        assert!(!snap.renew().unwrap());
        write(n);
        assert_eq!((snap.id(), t.get(&snap, n).unwrap()), (before, None));
        assert!(snap.renew().unwrap());
        assert!(snap.id() > before);
        assert_eq!(t.get(&snap, n).unwrap(), Some(&b"v"[..]));
        let readers = env.info().unwrap().readers;
        assert_eq!(readers.iter().map(|r| r.txnid).collect::<Vec<_>>(), [snap.id()]);
    }
}

#[test]
fn lazy_commits_and_orders() {
    let dir = tempfile::tempdir().unwrap();
    let env = env(&dir, 4096);
    let reversed = TableDef::<Str, Str>::new("r").ordered(Order::Reversed);
    let mut txn = env.write().unwrap();
    let r = txn.create_table(&reversed).unwrap();
    for name in ["abc", "xbc", "aaa", "bba", "c", ""] {
        r.put(&mut txn, name, name).unwrap();
    }
    txn.commit_with(Durability::Lazy).unwrap();
    let snap = env.read().unwrap();
    let names: Vec<_> = r.iter(&snap).unwrap().map(|x| x.unwrap().0).collect();
    assert_eq!(names, ["", "aaa", "bba", "c", "abc", "xbc"].map(|s| s).to_vec().tap_sort());
}

trait TapSort {
    fn tap_sort(self) -> Self;
}
impl TapSort for Vec<&str> {
    fn tap_sort(mut self) -> Self {
        self.sort_by_key(|s| s.bytes().rev().collect::<Vec<u8>>());
        self
    }
}
