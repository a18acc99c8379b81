//! Copies: equal content, clean, and nothing but what is in use.

use huon::{Bytes, CopyOptions, Durability, Env, Error, Order, RawTable, TableDef};
use std::ops::ControlFlow;
use std::path::Path;

type Def = TableDef<Bytes, Bytes>;

fn open(path: &Path, page_bytes: usize) -> Env {
    Env::options().page_bytes(page_bytes).open(path).unwrap()
}

fn custom() -> Order {
    Order::custom("backwards", |a, b| b.cmp(a))
}

fn defs() -> Vec<Def> {
    vec![
        Def::main(),
        Def::new("plain"),
        Def::new("reversed").ordered(Order::Reversed),
        Def::new("integers").ordered(Order::NativeU32),
        Def::new("own order").ordered(custom()),
        Def::new("empty"),
    ]
}

/// Tables of every order, with free space between their pages.
fn fill(env: &Env) {
    for round in 0..4u32 {
        let mut txn = env.write().unwrap();
        for def in defs() {
            let table = txn.create_table(&def).unwrap();
            if def.name() == b"empty" {
                continue;
            }
            for n in 0..400u32 {
                let key = n.wrapping_mul(2_654_435_761).to_le_bytes();
                let bytes = if n % 40 == round { 5000 } else { n as usize % 30 };
                table.put(&mut txn, &key, &vec![round as u8; bytes]).unwrap();
                if n % 3 == round % 3 {
                    table.remove(&mut txn, &key).unwrap();
                }
            }
        }
        txn.commit_with(Durability::Lazy).unwrap();
    }
}

type Content = Vec<(Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>)>;

fn content(env: &Env) -> Content {
    let txn = env.read().unwrap();
    let of = |def: Def| {
        let table: RawTable = txn.open_table(&def).unwrap().unwrap();
        let records = table.iter(&txn).unwrap().map(|record| {
            let (key, value) = record.unwrap();
            (key.to_vec(), value.to_vec())
        });
        (def.name().to_vec(), records.collect())
    };
    defs().into_iter().map(of).collect()
}

/// The copy opens, is clean, holds the same, and can be written to.
fn assert_same(copy: &Path, page_bytes: usize, expected: &Content) {
    let env = open(copy, page_bytes);
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.problems);
    assert_eq!(report.retained_pages, 0);
    assert_eq!(&content(&env), expected);
    for _ in 0..3 {
        fill(&env);
        let report = env.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.problems);
    }
}

#[test]
fn a_copy_is_equal_and_alive() {
    for page_bytes in [256, 512, 4096, 65536] {
        let dir = tempfile::tempdir().unwrap();
        let env = open(&dir.path().join("a.huon"), page_bytes);
        fill(&env);
        let expected = content(&env);
        let used = env.info().unwrap().used_bytes;

        let plain = dir.path().join("plain.huon");
        let report = env.copy_to(&plain, CopyOptions::new()).unwrap();
        assert_eq!(report.bytes, std::fs::metadata(&plain).unwrap().len());
        let mut streamed = Vec::new();
        env.copy_to_writer(&mut streamed, CopyOptions::new()).unwrap();
        assert_eq!(streamed, std::fs::read(&plain).unwrap());
        assert_same(&plain, page_bytes, &expected);

        let compact = dir.path().join("compact.huon");
        env.copy_to(&compact, CopyOptions::new().compact(true)).unwrap();
        let small = open(&compact, page_bytes).info().unwrap().used_bytes;
        assert!(small < used, "{small} of {used}");
        assert_same(&compact, page_bytes, &expected);

        let mut streamed = Vec::new();
        let options = CopyOptions::new().compact(true);
        let report = env.copy_to_writer(&mut streamed, options).unwrap();
        assert_eq!((report.bytes, report.txnid), (streamed.len() as u64, env.read().unwrap().id()));
        let received = dir.path().join("received.huon");
        std::fs::write(&received, streamed).unwrap();
        assert_same(&received, page_bytes, &expected);

        let mut names: Vec<_> =
            std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| !name.to_string_lossy().ends_with("-lock"));
        assert_eq!(names.len(), 4, "only the source and the copies stay: {names:?}");
    }
}

#[test]
fn what_was_deleted_does_not_travel() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"), 4096);
    let table = Def::new("t");
    let secret = b"a secret that was deleted";
    for value in [&secret[..], b"harmless"] {
        env.update(|txn| {
            let t = txn.create_table(&table)?;
            (0..2000u32).try_for_each(|n| t.put(txn, &n.to_be_bytes(), value).map(drop))
        })
        .unwrap();
    }
    env.update(|txn| {
        let t = txn.create_table(&table)?;
        (0..1000u32).try_for_each(|n| t.remove(txn, &n.to_be_bytes()).map(drop))
    })
    .unwrap();
    let holds = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret)
    };
    assert!(holds(&dir.path().join("a.huon")));
    for compact in [false, true] {
        let copy = dir.path().join(format!("{compact}.huon"));
        env.copy_to(&copy, CopyOptions::new().compact(compact)).unwrap();
        assert!(!holds(&copy));
    }
}

#[test]
fn nothing_is_replaced_and_nothing_half_done_stays() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"), 512);
    fill(&env);
    let target = dir.path().join("target");
    std::fs::write(&target, "precious").unwrap();
    for compact in [false, true] {
        let error = env.copy_to(&target, CopyOptions::new().compact(compact)).unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        let mut calls = 0;
        let mut stop = |progress: &huon::Progress| {
            calls += 1;
            assert!(progress.done_bytes <= progress.total_bytes);
            ControlFlow::Break(())
        };
        let options = CopyOptions::new().compact(compact).progress(&mut stop);
        let error = env.copy_to(dir.path().join("stopped"), options).unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        assert!(calls > 0);
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 3, "source, its lock file, target");
}

#[test]
fn an_old_snapshot_is_copied_as_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a"), 4096);
    fill(&env);
    env.update(|txn| txn.set_markers([1, 2, 3])).unwrap();
    let (reader, old) = (env.read().unwrap(), content(&env));
    // Its pages lie among free ones and those of what comes after.
    fill(&env);
    env.update(|txn| {
        txn.set_markers([4, 5, 6])?;
        txn.open_table(&Def::new("plain"))?.unwrap().put(txn, b"later", b"").map(drop)
    })
    .unwrap();
    assert_ne!(content(&env), old);
    for compact in [false, true] {
        let path = dir.path().join(format!("copy {compact}"));
        let options = CopyOptions::new().compact(compact).snapshot(&reader);
        let report = env.copy_to(&path, options).unwrap();
        assert_eq!(report.txnid, reader.id());
        let copy = open(&path, 4096);
        assert!(copy.check().unwrap().is_clean());
        assert_eq!(content(&copy), old);
        assert_eq!(copy.read().unwrap().markers().values, [1, 2, 3]);
        fill(&copy);
        assert!(copy.check().unwrap().is_clean());
    }
    let other = open(&dir.path().join("b"), 4096);
    let options = CopyOptions::new().snapshot(&reader);
    let refused = other.copy_to(dir.path().join("c"), options);
    assert!(matches!(refused, Err(Error::Invalid(_))));
}
