//! What commits write, and what sleeping readers cost: counted, never timed.

use huon::{Bytes, Durability, Env, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("records");

/// In memory where there is such a place: flushes are counted here, not waited for.
fn place() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn open(dir: &tempfile::TempDir) -> Env {
    Env::options().shrink_bytes(0).open(dir.path().join("a.huon")).unwrap()
}

fn fill(env: &Env, records: u64) -> huon::Table<U64, Bytes> {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..records {
        t.put(&mut txn, n, &[n as u8; 100]).unwrap();
    }
    txn.commit().unwrap();
    t
}

fn used_bytes(env: &Env) -> u64 {
    env.info().unwrap().used_bytes
}

/// Bound 1, X1: a thousand rewrites of a whole table with a reader asleep cost one copy of it.
#[test]
fn a_sleeping_reader_costs_at_most_one_copy() {
    let mut sizes = Vec::new();
    let mut copy_bytes = 0;
    for parked in [false, true] {
        let dir = place();
        let env = open(&dir);
        let t = fill(&env, 500);
        copy_bytes = used_bytes(&env);
        let reader = parked.then(|| env.read().unwrap());
        for round in 0..1000u64 {
            let mut txn = env.write().unwrap();
            for n in 0..500 {
                t.put(&mut txn, n, &[round as u8 ^ n as u8; 100]).unwrap();
            }
            txn.commit_with(Durability::Lazy).unwrap();
            if round % 10 == 0 {
                env.sync().unwrap();
            }
        }
        if let Some(reader) = &reader {
            for n in 0..500 {
                assert_eq!(t.get(reader, n).unwrap(), Some(&[n as u8; 100][..]));
            }
        }
        sizes.push(used_bytes(&env));
    }
    println!("without a reader {} bytes, with one {}, one copy {copy_bytes}", sizes[0], sizes[1]);
    let step = 1 << 20;
    assert!(sizes[1] <= sizes[0] + copy_bytes + step, "{sizes:?}");
}

/// A held page is free again as soon as its reader is gone, also for another process's first
/// transaction.
#[test]
fn what_a_reader_held_is_found_again() {
    let dir = place();
    let env = open(&dir);
    let t = fill(&env, 5000);
    let reader = env.read().unwrap();
    let rewrite = |env: &Env, byte: u8| {
        let mut txn = env.write().unwrap();
        for n in 0..5000 {
            t.put(&mut txn, n, &[byte; 100]).unwrap();
        }
        txn.commit().unwrap();
    };
    (1..4).for_each(|byte| rewrite(&env, byte));
    let with_reader = used_bytes(&env);
    drop(reader);
    let other = open(&dir);
    let t2 = fill(&other, 1);
    for round in 0..20 {
        let mut txn = other.write().unwrap();
        for n in 0..5000 {
            t2.put(&mut txn, n, &[round; 100]).unwrap();
        }
        txn.commit().unwrap();
    }
    assert!(used_bytes(&other) <= with_reader + (64 << 12), "{with_reader} {}", used_bytes(&other));
}

/// Bound 3: a one-key durable commit writes the table's path, the catalog's path and one meta, in
/// one flush.
#[test]
fn a_small_durable_commit_writes_its_path_and_flushes_once() {
    let dir = place();
    let env = open(&dir);
    let t = fill(&env, 20_000);
    let depth = depth_of(&env, &t);
    let catalog = 1;
    let mut turn = 0u64;
    let mut rewrite = |n: u64| {
        // The value must change: an identical one is not written.
        turn += 1;
        let mut value = [0; 100];
        value[..8].copy_from_slice(&turn.to_le_bytes());
        env.update(|txn| t.put(txn, n * 7919 % 20_000, &value).map(drop))
    };
    rewrite(1).unwrap();
    let before = env.info().unwrap().io;
    rewrite(2).unwrap();
    let after = env.info().unwrap().io;
    assert_eq!(after.flushes - before.flushes, 1, "one flush");
    assert_eq!(after.pages_written - before.pages_written, depth + catalog, "the two paths");
    let metas = 1;
    let bytes = (depth + catalog + metas) * 4096;
    assert_eq!(after.written_bytes - before.written_bytes, bytes, "and one meta");

    let mut average = |label: &str| {
        let before = env.info().unwrap().io;
        let rounds = 10_000;
        (0..rounds).for_each(|n| rewrite(n + 3).unwrap());
        let after = env.info().unwrap().io;
        let pages = (after.pages_written - before.pages_written) as f64 / rounds as f64;
        let chunks = after.free_list_pages_written - before.free_list_pages_written;
        println!("{label}: {pages:.3} pages a commit at depth {depth}, {chunks} chunk pages");
        assert_eq!(after.flushes - before.flushes, rounds);
        assert!(pages <= (depth + catalog) as f64 + 0.2, "{label}: {pages} pages a commit");
    };
    average("no reader");
    let reader = env.read().unwrap();
    average("a parked reader");
    drop(reader);
    average("after the reader");
}

fn depth_of(env: &Env, _: &huon::Table<U64, Bytes>) -> u64 {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let table = report.tables.iter().find(|t| t.name == b"records").unwrap();
    u64::from(table.depth)
}
