//! Pages that a transaction wrote and dropped are reused by it: pages and write calls are counted,
//! and whether a file gets full.

use huon::{Bytes, Durability, Env, MultiDef, Table, TableDef, U64, WriteTxn};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const PAGE: u64 = 4096;

/// In memory where there is such a place: flushes are counted here, not waited for.
fn place() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A file of at most so many pages, and of these the ones that a transaction buffers.
fn open(dir: &tempfile::TempDir, pages: u64, buffered: usize) -> Env {
    open_as(dir, pages, buffered, Durability::Durable)
}

fn open_as(dir: &tempfile::TempDir, pages: u64, buffered: usize, durability: Durability) -> Env {
    Env::options()
        .durability(durability)
        .max_bytes(pages * PAGE)
        .write_buffer_bytes(buffered * PAGE as usize)
        .open(dir.path().join("a.huon"))
        .unwrap()
}

/// A number that repeats with the seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % n
    }
}

/// Pages of all tables, and pages in use; the file checks clean.
#[track_caller]
fn sizes(env: &Env) -> (u64, u64) {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let pages = |table: &huon::TableReport| {
        u64::from(table.branch_pages)
            + u64::from(table.leaf_pages)
            + u64::from(table.overflow_pages)
    };
    (report.tables.iter().map(pages).sum(), env.info().unwrap().used_bytes / PAGE)
}

fn put_any(t: Table<U64, Bytes>, txn: &mut WriteTxn, key: u64, bytes: u64) {
    t.put(txn, key, &vec![key as u8; bytes as usize]).unwrap();
}

#[test]
fn values_that_are_replaced_take_the_room_of_those_that_live() {
    let dir = place();
    let env = open(&dir, 1 << 20, 16 << 10);
    let mut numbers = Numbers(1);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for _ in 0..10_000 {
        let (key, bytes) = (numbers.below(64), 1 + numbers.below(4096));
        put_any(t, &mut txn, key, bytes);
    }
    txn.commit().unwrap();
    let (living, used) = sizes(&env);
    assert!(living <= 150 && used <= 2 * living, "{living} live, {used} are in use");
    // Replaced values are never written, and the written ones lie together.
    let io = env.info().unwrap().io;
    assert!(io.pages_written <= 2 * living, "{living} live, {} were written", io.pages_written);
    assert!(io.pages_written >= 8 * io.writes, "{} in {}", io.pages_written, io.writes);
}

/// Values of a few pages each, more than a transaction buffers, in random order.
#[test]
fn values_of_few_pages_are_written_together() {
    let dir = place();
    for durability in [Durability::Durable, Durability::Lazy] {
        let env = open_as(&dir, 1 << 20, 2048, durability);
        let before = env.info().unwrap().io;
        let mut numbers = Numbers(6);
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        for _ in 0..20_000 {
            let (key, bytes) = (numbers.below(1 << 40), 2000 + numbers.below(8000));
            put_any(t, &mut txn, key, bytes);
        }
        txn.commit().unwrap();
        sizes(&env);
        let io = env.info().unwrap().io;
        let (pages, writes) = (io.pages_written - before.pages_written, io.writes - before.writes);
        assert!(pages > 20_000 && pages >= 8 * writes, "{pages} in {writes}, {durability:?}");
    }
}

/// What a nested level leaves behind, aborted or not, with values in buffers and in the file.
#[test]
fn levels_keep_and_undo_values_that_are_buffered() {
    for buffered in [16, 16 << 10] {
        let dir = place();
        let env = open(&dir, 1 << 20, buffered);
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        (0..20).for_each(|key| put_any(t, &mut txn, key, 5000 + key));
        for kept in [false, true] {
            let ended = txn.nested(|txn| {
                (0..10).for_each(|key| put_any(t, txn, key, 9000 + key));
                (10..15).for_each(|key| assert!(t.remove(txn, key).unwrap()));
                (20..30).for_each(|key| put_any(t, txn, key, 7000));
                if kept { Ok(()) } else { Err(huon::Error::Invalid("undone")) }
            });
            assert_eq!(ended.is_ok(), kept);
            for key in 0..30u64 {
                let bytes = t.get(&txn, key).unwrap().map(|value| {
                    assert!(value.iter().all(|byte| *byte == key as u8), "key {key}");
                    value.len() as u64
                });
                let expected = match (kept, key) {
                    (true, 0..10) => Some(9000 + key),
                    (true, 10..15) => None,
                    (true, 20..) => Some(7000),
                    (_, 0..20) => Some(5000 + key),
                    _ => None,
                };
                assert_eq!(bytes, expected, "key {key}, {buffered} buffered, kept: {kept}");
            }
        }
        txn.commit().unwrap();
        let (living, used) = sizes(&env);
        assert!(used <= 3 * living + 20, "{living} live, {used} are in use");
    }
}

#[test]
fn a_file_is_not_full_while_what_lives_is_a_third_of_it() {
    let dir = place();
    for (pages, keys, bytes_max) in [(2048, 256, 4096), (1200, 40, 30_000), (1000, 4, 400_000)] {
        for durability in [Durability::Durable, Durability::Lazy] {
            let env = open_as(&dir, pages, 16 << 10, durability);
            let mut numbers = Numbers(2);
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&T).unwrap();
            for _ in 0..3000 {
                let (key, bytes) = (numbers.below(keys), 1 + numbers.below(bytes_max));
                put_any(t, &mut txn, key, bytes);
            }
            txn.commit().unwrap();
            sizes(&env);
            drop(env);
            std::fs::remove_file(dir.path().join("a.huon")).unwrap();
            std::fs::remove_file(dir.path().join("a.huon-lock")).unwrap();
        }
    }
}

/// A transaction that writes forty times what it buffers.
#[test]
fn records_in_random_order_spill_in_long_writes_and_take_twice_their_room() {
    let dir = place();
    let env = open(&dir, 1 << 20, 1024);
    let mut numbers = Numbers(3);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    let first = txn.id();
    for _ in 0..120_000 {
        let key = numbers.below(1 << 40);
        put_any(t, &mut txn, key, 250 + key % 100);
    }
    let last = txn.commit().unwrap();
    let (living, used) = sizes(&env);
    let io = env.info().unwrap().io;
    assert!(io.pages_written > 2 * living, "{living} live, {} were written", io.pages_written);
    assert!(used <= 5 * living / 2, "{living} live, {used} are in use");
    assert!(io.pages_written >= 8 * io.writes, "{} in {}", io.pages_written, io.writes);
    assert!(last > first && last - first <= io.spills, "{first} to {last}, {} spills", io.spills);
}

/// The same where only a little more fits than lives.
#[test]
fn records_in_random_order_fill_no_file_that_holds_them() {
    let dir = place();
    let env = open(&dir, 2800, 128);
    let mut numbers = Numbers(4);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for _ in 0..20_000 {
        let key = numbers.below(1 << 40);
        put_any(t, &mut txn, key, 300);
    }
    txn.commit().unwrap();
    let (living, _) = sizes(&env);
    assert!(living > 1800, "{living} pages are two thirds of the file");
}

/// Something to do in a transaction, in a round of that number.
type Work<'w> = &'w dyn Fn(&mut WriteTxn, u64);

/// What each does leaves little behind, however often it is done, in the transaction itself and in
/// a level of it.
#[test]
fn what_a_transaction_makes_and_undoes_again_and_again_costs_it_once() {
    const M: MultiDef<U64, U64> = MultiDef::new("m");
    let big = |txn: &mut WriteTxn, t: Table<U64, Bytes>, round: u64| {
        (0..40).for_each(|key| put_any(t, txn, key, 4097 + 500 * (key + round)));
    };
    let works: [(&str, Work<'_>); 7] = [
        ("large values deleted and put again", &|txn, round| {
            let t = txn.create_table(&T).unwrap();
            big(txn, t, round % 3);
            (0..40).for_each(|key| assert!(t.remove(txn, key).unwrap()));
        }),
        ("a range of them", &|txn, round| {
            let t = txn.create_table(&T).unwrap();
            big(txn, t, round % 3);
            t.remove_range(txn, 0..40).unwrap();
        }),
        ("a table made and dropped", &|txn, round| {
            let t = txn.create_table(&T).unwrap();
            big(txn, t, round % 3);
            (100..1000).for_each(|key| put_any(t, txn, key, 300));
            t.drop_table(txn).unwrap();
        }),
        ("a multimap poured out", &|txn, _| {
            let m = txn.create_table(&M).unwrap();
            (0..6).for_each(|key| {
                (0..3000).for_each(|value| drop(m.put(txn, key, value * 7919 % 3000)));
            });
            m.clear(txn).unwrap();
        }),
        ("a level undone", &|txn, round| {
            let undone = txn.nested(|txn| {
                let t = txn.create_table(&T)?;
                big(txn, t, round % 3);
                txn.nested(|txn| {
                    big(txn, t, round % 5);
                    Ok(())
                })?;
                Err::<(), _>(huon::Error::Invalid("undone"))
            });
            assert!(undone.is_err());
        }),
        ("a savepoint gone back to", &|txn, round| {
            txn.savepoint("s").unwrap();
            let t = txn.create_table(&T).unwrap();
            big(txn, t, round % 3);
            big(txn, t, round % 5);
            txn.roll_back_to("s").unwrap();
            txn.release("s").unwrap();
        }),
        ("a table built", &|txn, _| {
            let t = txn.create_table(&T).unwrap();
            let value = vec![7; 3000];
            t.bulk_load(txn, |append| (0..600).try_for_each(|key| append(key, &value))).unwrap();
            t.clear(txn).unwrap();
        }),
    ];
    for (what, work) in works {
        for (buffered, in_level) in [(64, false), (4096, false), (64, true), (4096, true)] {
            let mut used = [0, 0];
            for (at, rounds) in [4, 40].into_iter().enumerate() {
                let dir = place();
                let env = open(&dir, 1 << 20, buffered);
                let mut txn = env.write().unwrap();
                let all = |txn: &mut WriteTxn| {
                    (0..rounds).for_each(|round| work(txn, round));
                    Ok(())
                };
                if in_level { txn.nested(all) } else { all(&mut txn) }.unwrap();
                let t = txn.create_table(&TableDef::<U64, Bytes>::new("last")).unwrap();
                put_any(t, &mut txn, 1, 1);
                txn.commit().unwrap();
                used[at] = sizes(&env).1;
            }
            let [few, many] = used;
            let place = format!("{what}, {buffered} buffered, in a level: {in_level}");
            assert!(many <= 2 * few + 300, "{place}: {few}, then {many} pages");
        }
    }
}

/// A level that writes more than its transaction buffers, in a file that what it writes would fill
/// many times over: whatever the sizes of values, and under whatever it began.
#[test]
fn a_level_fills_no_file_that_holds_what_it_leaves() {
    for (buffered, bytes, begun) in [(8, 300, 0), (8, 300, 500), (64, 20_000, 0), (64, 90_000, 3)] {
        let dir = place();
        let env = open(&dir, 2500, buffered);
        let mut numbers = Numbers(3);
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        let keys = 2_000_000 / bytes;
        (0..begun).for_each(|key| put_any(t, &mut txn, key, bytes));
        txn.nested(|txn| {
            for _ in 0..30 * keys {
                let bytes = 1 + numbers.below(bytes);
                t.put(txn, numbers.below(keys), &vec![5; bytes as usize])?;
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{buffered} buffered, {bytes} bytes, {begun}: {error}"));
        txn.commit().unwrap();
        sizes(&env);
    }
}

/// Rooms that are reserved and filled, in a file that they would fill many times over.
#[test]
fn reserved_rooms_serve_again() {
    let dir = place();
    let env = open(&dir, 1500, 16 << 10);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for round in 0..2000u64 {
        let bytes = 3000 + round as usize % 40_000;
        t.reserve(&mut txn, round % 20, bytes, |room| room.fill(round as u8)).unwrap();
    }
    for key in 0..20u64 {
        let value = t.get(&txn, key).unwrap().unwrap();
        assert!(value.iter().all(|byte| *byte == (1980 + key) as u8), "key {key}");
    }
    txn.commit().unwrap();
    sizes(&env);
}

/// A transaction that takes many ids makes no page of the base older for the next one, and leaves
/// what it did not use to it.
#[test]
fn the_next_transaction_goes_on_with_what_is_free() {
    let dir = place();
    let env = open(&dir, 1 << 20, 256);
    let mut numbers = Numbers(5);
    let mut used = Vec::new();
    for _ in 0..6 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        for _ in 0..12_000 {
            let key = numbers.below(12_000);
            put_any(t, &mut txn, key, 300);
        }
        txn.commit().unwrap();
        used.push(sizes(&env).1);
    }
    let (living, _) = sizes(&env);
    // The base, what is written over it, and as much once more.
    assert!(used[5] <= used[2] + living / 4 && used[5] <= 4 * living, "{living} live: {used:?}");
}

/// I11: bytes of a page that was written, also of a large value, may change from then on; others
/// stay.
#[test]
fn what_was_written_may_change() {
    let dir = place();
    let env = open(&dir, 1 << 20, 64);
    let t = env.update(|txn| {
        let t = txn.create_table(&T)?;
        put_any(t, txn, 1, 20_000);
        put_any(t, txn, 2, 20);
        Ok(t)
    });
    let t = t.unwrap();
    let mut txn = env.write().unwrap();
    let first = txn.id();
    let dirty = |txn: &WriteTxn, key: u64| txn.is_dirty(t.get(txn, key).unwrap().unwrap());
    assert!(!dirty(&txn, 1) && !dirty(&txn, 2));
    put_any(t, &mut txn, 3, 20_000);
    assert!(dirty(&txn, 3), "a large value of the transaction's own");
    assert!(!dirty(&txn, 1), "and one of the base");
    (100..2000).for_each(|key| put_any(t, &mut txn, key * 7919 % 1999 + 100, 300));
    assert!(txn.id() > first, "it goes on under another id");
    assert!(dirty(&txn, 3) && !dirty(&txn, 1));
    assert!((100..2000).all(|key| dirty(&txn, key * 7919 % 1999 + 100)));
}

/// I12: markers name the snapshot that they are committed with, and the commit the last id that was
/// told.
#[test]
fn markers_and_commits_tell_the_last_id() {
    let dir = place();
    let env = open(&dir, 1 << 20, 64);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    txn.set_markers([1, 2, 3]).unwrap();
    let first = txn.id();
    (0..5000).for_each(|key| put_any(t, &mut txn, key * 7919 % 5003, 300));
    assert!(txn.id() > first);
    assert_eq!(txn.markers().txnid, txn.id());
    let told = txn.id();
    let id = txn.commit().unwrap();
    assert_eq!(id, told);
    let read = env.read().unwrap();
    assert_eq!((read.id(), read.markers().txnid), (id, id));
    let next = env.write().unwrap();
    assert!(next.id() > id && next.markers().txnid == id);
}

/// I12: a transaction that has told its id for good keeps it, and works on as far as the file goes.
#[test]
fn a_fixed_id_is_the_snapshots() {
    let dir = place();
    let env = open(&dir, 3000, 64);
    let mut numbers = Numbers(7);
    let mut ids = Vec::new();
    for rises_first in [false, true] {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        let mut put = |txn: &mut WriteTxn| put_any(t, txn, numbers.below(2000), 300);
        let first = txn.first_id();
        if rises_first {
            (0..5000).for_each(|_| put(&mut txn));
            assert!(txn.id() > first);
        }
        let id = txn.fix_id();
        assert_eq!(id, txn.id());
        let done = txn.nested(|txn| {
            (0..1000).for_each(|_| put(txn));
            assert_eq!(txn.fix_id(), id);
            Ok(())
        });
        done.unwrap();
        (0..1000).for_each(|_| put(&mut txn));
        assert_eq!((txn.id(), txn.first_id()), (id, first));
        assert_eq!(txn.commit().unwrap(), id);
        assert_eq!(env.read().unwrap().id(), id);
        ids.push(id);
    }
    assert!(ids[1] > ids[0]);
    sizes(&env);
}

/// Readers that come and go beside large values leave a free list in many pieces: pages that lie
/// side by side are listed apart. The file must not grow for runs that are there.
#[test]
fn readers_that_come_and_go_do_not_make_a_file_grow_without_end() {
    for (keys, pages, commits) in [(3000, 2..=3, 100), (300, 7..=11, 10)] {
        let env = Env::options()
            .durability(Durability::Unsynced)
            .page_bytes(512)
            .write_buffer_bytes(48 * 512)
            .open_in_memory()
            .unwrap();
        let t = env.update(|txn| txn.create_table(&T)).unwrap();
        let mut numbers = Numbers(1);
        let spread = pages.end() - pages.start() + 1;
        let mut commit = || {
            let put = |txn: &mut WriteTxn| {
                for _ in 0..40 {
                    let large = numbers.below(10) == 0;
                    let key = numbers.below(keys);
                    let few = numbers.below(60);
                    let many = 512 * (pages.start() + numbers.below(spread));
                    put_any(t, txn, key, if large { many } else { few });
                }
                Ok(())
            };
            env.update(put).unwrap();
        };
        for _ in 0..12 {
            let reader = env.read().unwrap();
            (0..commits).for_each(|_| commit());
            drop(reader);
            (0..commits).for_each(|_| commit());
        }
        let stat = env.stat().unwrap();
        let used = env.info().unwrap().used_bytes / 512;
        assert!(used < 4 * stat.live_pages, "{used} pages in use, {} live", stat.live_pages);
        assert!(env.check().unwrap().is_clean());
    }
}
