//! Options that are changed while the environment is open.

use std::time::Duration;

use huon::{Bytes, Durability, Env, Error, TableDef, U64, Verify, limits};

const T: TableDef<U64, Bytes> = TableDef::new("t");

/// Other values each time.
fn put(env: &Env, count: u64) {
    let byte = env.info().unwrap().newest as u8;
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..count).try_for_each(|n| t.put(txn, n, &[byte; 1000]).map(drop))
    })
    .unwrap();
}

#[test]
fn settings_hold_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let other = env.clone();
    let mut settings = env.settings();
    assert_eq!(settings.durability, Durability::Durable);
    let flushes = |env: &Env| env.info().unwrap().io.flushes;
    put(&env, 1);
    let before = flushes(&env);
    settings.durability = Durability::Lazy;
    env.set_settings(settings);
    put(&other, 1);
    assert_eq!(flushes(&env), before, "lazy now, for clones too");
    settings.flush_after_bytes = 1;
    env.set_settings(settings);
    put(&env, 1);
    assert_eq!(flushes(&env), before + 1);
    settings.flush_after_bytes = u64::MAX;
    settings.flush_after = Duration::ZERO;
    env.set_settings(settings);
    put(&env, 1);
    assert_eq!(flushes(&env), before + 2);
    assert_eq!(env.info().unwrap().io.spills, 0);
    settings.write_buffer_bytes = 64 << 10;
    settings.verify = Verify::Never;
    settings.durability = Durability::NoMetaSync;
    env.set_settings(settings);
    put(&env, 500);
    assert!(env.info().unwrap().io.spills > 0);
    assert_eq!(env.settings(), settings);
}

/// Puts in key order leave full pages behind, which are written in passing: memory does not grow
/// with the records put, and each page is written once.
#[test]
fn records_in_order_need_little_memory() {
    const RECORDS: u64 = 100_000;
    let value = [7; 100];
    for durability in [Durability::Durable, Durability::Lazy] {
        for in_bulk in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut options = Env::options();
            let env = options.durability(durability).open(dir.path().join("a.huon")).unwrap();
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&T).unwrap();
            let mut dirty_bytes_max = 0;
            if in_bulk {
                t.bulk_load(&mut txn, |append| (0..RECORDS).try_for_each(|n| append(n, &value)))
                    .unwrap();
                dirty_bytes_max = txn.costs().dirty_bytes;
            } else {
                for n in 0..RECORDS {
                    t.put(&mut txn, n, &value).unwrap();
                    dirty_bytes_max = dirty_bytes_max.max(txn.costs().dirty_bytes);
                }
            }
            let costs = txn.costs();
            assert!(dirty_bytes_max < 2 << 20, "{dirty_bytes_max} bytes buffered");
            assert!(costs.written_bytes > 10 << 20, "{costs:?}");
            assert_eq!(costs.retired_bytes, 0, "no page was written too early");
            txn.commit().unwrap();
            let io = env.info().unwrap().io;
            assert_eq!(io.spills, 0, "there was memory enough");
            let used_pages = costs.used_bytes / 4096;
            assert!(io.pages_written <= used_pages, "{} of {used_pages}", io.pages_written);
            assert!(env.check().unwrap().is_clean());
        }
    }
}

#[test]
fn transactions_tell_what_they_cost() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    put(&env, 100);
    let reader = env.read().unwrap();
    assert_eq!(reader.ids_behind(), 0);
    put(&env, 100);
    put(&env, 100);
    assert_eq!(reader.ids_behind(), 2);
    let mut txn = env.write().unwrap();
    let before = txn.costs();
    assert_eq!((before.dirty_bytes, before.written_bytes, before.retired_bytes), (0, 0, 0));
    assert_eq!(before.id, txn.id());
    let t = txn.create_table(&T).unwrap();
    (0..50).for_each(|n| assert!(!t.put(&mut txn, n, &[0; 1000]).unwrap()));
    let info = txn.costs();
    assert!(info.dirty_bytes >= 50_000 && info.retired_bytes >= 50_000, "{info:?}");
    let usual = if usize::BITS < 64 { 512 << 20 } else { 1 << 40 };
    assert!(info.used_bytes >= before.used_bytes && info.max_bytes == usual);
    t.put(&mut txn, 1000, &[3; 100_000]).unwrap();
    assert!(txn.costs().written_bytes >= 100_000, "a large value is written at once");
}

#[test]
fn limits_are_those_that_hold() {
    for page_bytes in [256, 4096, 65536] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Env::options();
        let env = options.page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
        let max = limits::key_bytes_max(page_bytes).unwrap();
        assert_eq!(env.info().unwrap().key_bytes_max as usize, max);
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&TableDef::<Bytes, Bytes>::new("t")).unwrap();
        t.put(&mut txn, &vec![1; max], b"").unwrap();
        let refused = t.put(&mut txn, &vec![1; max + 1], b"").unwrap_err();
        assert!(matches!(refused, Error::KeyTooLong { .. }), "{refused}");
    }
    assert!(matches!(limits::key_bytes_max(1000), Err(Error::Invalid(_))));
}
