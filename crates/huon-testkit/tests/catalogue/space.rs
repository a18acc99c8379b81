//! Pages: free, held, lost, taken twice, and numbers near the end of what they can be.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use huon::sim::Sealer;
use huon::{Bytes, CopyOptions, Env, Error, Order, RawTable, TableDef, WriteTxn};
use huon_testkit::figures;
use huon_testkit::random::Random;

use super::{Model, Place, assert_clean, assert_holds, assert_same, def, put, small};

fn key(n: u64) -> Vec<u8> {
    format!("key {n:06}").into_bytes()
}

/// A table of `count` records, every tenth of them a large value.
fn fill(env: &Env, count: u64, byte: u8) -> (RawTable, Model) {
    let (mut txn, mut model) = (env.write().unwrap(), Model::new());
    let t = txn.create_table(&def()).unwrap();
    for n in 0..count {
        let bytes = if n % 10 == 0 { 1000 } else { 40 };
        put(&mut txn, t, &mut model, &key(n), &vec![byte; bytes]);
    }
    txn.commit().unwrap();
    (t, model)
}

type Wipe = fn(RawTable, &mut WriteTxn, u64) -> huon::Result<()>;

/// LMDB lost track of pages that a transaction had taken and freed again (2016 to 2021), and ended
/// with an error when the last record was deleted under an open reader.
#[test]
fn everything_is_deleted_while_a_reader_looks() {
    const RECORDS: u64 = 300;
    let ways: [Wipe; 5] = [
        |t, txn, count| (0..count).try_for_each(|n| t.remove(txn, &key(n)).map(drop)),
        |t, txn, count| (0..count).rev().try_for_each(|n| t.remove(txn, &key(n)).map(drop)),
        |t, txn, _| t.remove_range(txn, ..&key(9_999_999)[..]).map(drop),
        |t, txn, _| t.clear(txn),
        |t, txn, _| t.drop_table(txn).map(drop),
    ];
    for (number, wipe) in ways.iter().enumerate() {
        for depth in 0..3 {
            let what = format!("way {number} at depth {depth}");
            let place = Place::new();
            let env = small().open(&place.path).unwrap();
            let mut sizes = Vec::new();
            for round in 0..6 {
                let (t, model) = fill(&env, RECORDS, round);
                let reader = env.read().unwrap();
                env.update(|txn| wipe_nested(txn, depth, t, *wipe, RECORDS)).unwrap();
                assert_clean(&env, &what);
                assert_same(&reader, t, &model, &what);
                let gone = env.view(|txn| Ok(txn.open_table(&def())?.is_none())).unwrap();
                assert_eq!(gone, number == 4, "{what}");
                sizes.push(env.info().unwrap().used_bytes);
            }
            assert!(sizes[5] <= sizes[2], "{what}: pages are lost: {sizes:?}");
        }
    }
}

fn wipe_nested(
    txn: &mut WriteTxn,
    depth: u64,
    t: RawTable,
    wipe: Wipe,
    count: u64,
) -> huon::Result<()> {
    match depth {
        0 => wipe(t, txn, count),
        _ => txn.nested(|child| wipe_nested(child, depth - 1, t, wipe, count)),
    }
}

/// libmdbx (2020, 2021) lost pages, and looped for ever, when the list of freed pages changed while
/// that list itself was being stored.
#[test]
fn commits_that_free_any_number_of_pages() {
    const STEPS: u64 = 330;
    let place = Place::new();
    let env = small().shrink_bytes(0).open(&place.path).unwrap();
    let value = |byte: u64| vec![byte as u8; 240];
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    for n in 0..2 * STEPS {
        t.put(&mut txn, &key(n), &value(n)).unwrap();
    }
    txn.commit().unwrap();
    for step in 0..STEPS {
        let reader = (step % 3 == 0).then(|| env.read().unwrap());
        let before = env.info().unwrap().io;
        // Every other value: each page of its own, so that no two of them are listed together.
        let mut txn = env.write().unwrap();
        (0..step).for_each(|n| assert!(t.remove(&mut txn, &key(2 * n)).unwrap()));
        txn.commit().unwrap();
        let after = env.info().unwrap().io;
        let chunks = after.free_list_pages_written - before.free_list_pages_written;
        assert!(chunks <= step / 4 + 48, "{chunks} chunks for {step} pages");
        assert_clean(&env, &format!("{step} pages freed"));
        drop(reader);
        let mut txn = env.write().unwrap();
        (0..step).for_each(|n| t.put(&mut txn, &key(2 * n), &value(2 * n)).map(drop).unwrap());
        txn.commit().unwrap();
    }
    let txn = env.read().unwrap();
    assert!((0..2 * STEPS).all(|n| t.get(&txn, &key(n)).unwrap() == Some(&value(n)[..])));
    figures::add("exhaustive", STEPS);
}

/// bolt and bbolt (2014 to 2024) freed pages twice, or kept what a rolled back transaction had
/// taken.
#[test]
fn an_abort_at_any_point_leaves_nothing() {
    const STEPS: u64 = 40;
    type End = fn(WriteTxn);
    let ends: [End; 4] = [
        |txn| txn.abort(),
        |mut txn| {
            let failed = txn.nested(|child| {
                let t = child.create_table(&def())?;
                t.put(child, b"in vain", &[1; 700])?;
                Err::<(), _>(Error::Invalid("never mind"))
            });
            assert!(failed.is_err());
        },
        |mut txn| {
            let t = txn.open_table(&def()).unwrap().unwrap();
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                t.reserve(&mut txn, b"in vain", 20, |_| resume_unwind(Box::new(())))
            }));
            assert!(panicked.is_err());
            assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
        },
        |txn| drop(std::thread::spawn(move || drop(txn)).join()),
    ];
    let place = Place::new();
    // Eight buffered pages: most of what is aborted has been written by then.
    let env = small().write_buffer_bytes(8 * 256).open(&place.path).unwrap();
    let (t, mut model) = fill(&env, 120, 1);
    for end in ends {
        for cut in 0..=STEPS {
            let mut random = Random::new(cut % 7);
            let mut txn = env.write().unwrap();
            for step in 0..cut {
                random_change(&mut txn, t, &mut random, step);
            }
            end(txn);
            assert_holds(&env, &model, &format!("cut at {cut}"));
            let mut txn = env.write().unwrap();
            put(&mut txn, t, &mut model, &key(cut), &cut.to_le_bytes());
            put(&mut txn, t, &mut model, &key(cut + 50), &[cut as u8; 900]);
            txn.commit().unwrap();
            assert_clean(&env, &format!("after a cut at {cut}"));
        }
    }
    figures::add("exhaustive", 4 * (STEPS + 1));
}

fn random_change(txn: &mut WriteTxn, t: RawTable, random: &mut Random, step: u64) {
    let n = random.below(200);
    match step % 5 {
        0 => t.put(txn, &key(n), &[3; 60]).map(drop).unwrap(),
        1 => t.remove(txn, &key(n)).map(drop).unwrap(),
        2 => t.put(txn, &key(n), &[4; 2000]).map(drop).unwrap(),
        3 => t.remove_range(txn, &key(n)[..]..&key(n + 9)[..]).map(drop).unwrap(),
        _ => {
            let def = TableDef::<Bytes, Bytes>::named(key(n));
            let made = txn.create_table(&def).unwrap();
            made.put(txn, b"k", b"v").unwrap();
            if random.chance(50) {
                made.drop_table(txn).unwrap();
            }
        }
    }
}

/// redb (2025) lost pages for good when a write transaction panicked and the program went on.
#[test]
fn a_panic_in_any_comparison_leaves_nothing() {
    let calls_left = Arc::new(AtomicU64::new(u64::MAX));
    let counter = calls_left.clone();
    let order = Order::custom("counting", move |a, b| -> Ordering {
        if counter.fetch_sub(1, Relaxed) == 0 {
            resume_unwind(Box::new("compared"));
        }
        a.cmp(b)
    });
    let ordered = TableDef::<Bytes, Bytes>::new("ordered").ordered(order);
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut model = Model::new();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&ordered).unwrap();
    (0..100).for_each(|n| put(&mut txn, t, &mut model, &key(n), &[1; 50]));
    txn.commit().unwrap();
    type Act = fn(RawTable, &mut WriteTxn) -> huon::Result<()>;
    let acts: [Act; 8] = [
        |t, txn| t.put(txn, &key(33), &[2; 20]).map(drop),
        |t, txn| t.put(txn, &key(1000), &[2; 500]).map(drop),
        |t, txn| t.remove(txn, &key(50)).map(drop),
        |t, txn| t.remove_range(txn, &key(20)[..]..&key(80)[..]).map(drop),
        |t, txn| t.append(txn, &key(2000), &[2; 20]),
        |t, txn| t.reserve(txn, &key(34), 30, |place| place.fill(7)),
        |t, txn| {
            t.clear(txn)?;
            t.bulk_load(txn, |append| (0..50).try_for_each(|n| append(&key(n), &[3; 30])))
        },
        |t, txn| txn.nested(|child| t.take(child, &key(51)).map(drop)),
    ];
    let panics = Cell::new(0);
    for (number, act) in acts.iter().enumerate() {
        for calls in 0.. {
            let mut txn = env.write().unwrap();
            calls_left.store(calls, Relaxed);
            let ran = catch_unwind(AssertUnwindSafe(|| act(t, &mut txn)));
            calls_left.store(u64::MAX, Relaxed);
            if ran.is_ok() {
                assert!(calls > 0, "act {number} compares");
                break;
            }
            panics.set(panics.get() + 1);
            // A change that broke off is all that cannot be committed; a look harms nothing.
            match catch_unwind(AssertUnwindSafe(|| t.put(&mut txn, &key(0), &[1; 50]))) {
                Ok(Ok(_)) => txn.abort(),
                other => {
                    assert!(matches!(other, Ok(Err(Error::TxnBroken))), "act {number}");
                    assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
                }
            }
            assert_clean(&env, &format!("act {number}, comparison {calls}"));
            let txn = env.read().unwrap();
            assert_same(&txn, t, &model, &format!("act {number}, comparison {calls}"));
        }
    }
    drop(env);
    let env = small().open(&place.path).unwrap();
    assert_clean(&env, "opened again");
    assert!(panics.get() > 60, "only {} panics", panics.get());
    figures::add("exhaustive", panics.get());
}

/// bbolt (2023) could not open a file at all when a power loss had damaged its list of free pages.
#[test]
fn damaged_free_space_costs_no_record() {
    let place = Place::new();
    let env = small().shrink_bytes(0).open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
    (0..1500).for_each(|n| put(&mut txn, t, &mut model, &key(n), &[n as u8; 240]));
    txn.commit().unwrap();
    let mut txn = env.write().unwrap();
    for n in (0..1500).step_by(2) {
        model.remove(&key(n));
        t.remove(&mut txn, &key(n)).unwrap();
    }
    txn.commit().unwrap();
    env.close().unwrap();

    let mut image = fs::read(&place.path).unwrap();
    let chunks = image[3 * 4096..].chunks_exact_mut(256).filter(|page| page[12] == 4);
    let damaged = chunks.map(|page| page[40..].fill(0xEE)).count();
    assert!(damaged > 10, "{damaged} chunk pages");
    fs::write(&place.path, &image).unwrap();

    let env = small().open(&place.path).unwrap();
    assert_holds(&env, &model, "every record is there");
    let report = env.check().unwrap();
    assert!(!report.is_clean(), "and the damage is reported");
    let refused = (0..20).find_map(|_| env.update(|txn| t_put(txn, &[5; 100])).err());
    assert!(matches!(refused, Some(Error::Corrupt(_))), "{refused:?}");
    assert_holds(&env, &model, "a commit that needs space from there has not happened");
    // What the walk of the tables finds is all that counts: a compact copy has new free space.
    let whole = place.dir().join("whole.huon");
    env.copy_to(&whole, CopyOptions::new().compact(true)).unwrap();
    let env = small().open(&whole).unwrap();
    assert_holds(&env, &model, "the copy");
    env.update(|txn| t_put(txn, &[6; 100])).unwrap();
    assert_clean(&env, "the copy");
}

/// Changes that need a new page each; nothing of it stays.
fn t_put(txn: &mut WriteTxn, value: &[u8]) -> huon::Result<()> {
    let t = txn.open_table(&def())?.expect("it is there");
    (0..400).try_for_each(|n| t.put(txn, &key(n), value).map(drop))
}

const USED: usize = 88;

/// Makes a closed file say that `used` of its pages are in use, and be that long. `false`: the
/// file system has no such long files.
fn stretch(path: &std::path::Path, page_bytes: u64, used: u32) -> bool {
    let mut image = fs::read(path).unwrap();
    for meta in image[..3 * 4096].chunks_mut(4096) {
        if meta.starts_with(b"HUON") {
            meta[USED..USED + 4].copy_from_slice(&used.to_le_bytes());
            Sealer::meta(meta.try_into().unwrap());
        }
    }
    fs::write(path, &image).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len((u64::from(used) + 64) * page_bytes).is_ok()
}

/// redb (2021, 2023) and libmdbx (several times) counted pages or bytes in too few bits: files past
/// 4 GiB, 4 TiB or 128 TiB were damaged or refused.
#[test]
fn page_numbers_near_their_limits() {
    // Page size, and how many pages are in use: from 2^16 to 2^32, in files of 256 MiB to 8 TiB.
    let cases: [(usize, u64); 9] = [
        (256, 1 << 20),
        (256, 1 << 24),
        (256, 1 << 31),
        (256, (1 << 32) - 1),
        (4096, 1 << 19),
        (4096, 1 << 20),
        (4096, 1 << 31),
        (65536, 1 << 16),
        (65536, 1 << 26),
    ];
    let mut done = 0;
    for (page_bytes, limit) in cases {
        // Pages are taken on both sides of the limit.
        let used = (limit - if page_bytes == 256 { 100 } else { 40 }) as u32;
        let place = Place::on_disk();
        let mut options = small();
        options.page_bytes(page_bytes).max_bytes((1 << 32) * page_bytes as u64);
        options.grow_bytes(64 * page_bytes as u64).shrink_bytes(0);
        drop(options.open(&place.path).unwrap());
        if !stretch(&place.path, page_bytes as u64, used) {
            continue;
        }
        done += 1;
        at_the_limit(&options, &place, limit as u32, u64::from(used));
    }
    match done {
        0 => figures::skip("page_numbers_near_their_limits", "no files with large holes here"),
        _ => figures::add("exhaustive", done),
    }
}

fn at_the_limit(options: &huon::Options, place: &Place, limit: u32, used: u64) {
    let env = options.open(&place.path).unwrap();
    let page_bytes = u64::from(env.info().unwrap().page_bytes);
    let what = format!("{limit} pages of {page_bytes}");
    let (mut model, mut full) = (Model::new(), false);
    for round in 0u64..12 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&def()).unwrap();
        let mut now = model.clone();
        let done = (0..12).try_for_each(|n| {
            let bytes = if n == 5 { 9 * page_bytes } else { page_bytes / 3 } as usize;
            let (key, value) = (key(round * 12 + n), vec![(round * n) as u8; bytes]);
            t.put(&mut txn, &key, &value)?;
            now.insert(key, value);
            Ok::<(), Error>(())
        });
        match done.and_then(|()| txn.commit()) {
            Ok(_) => model = now,
            Err(Error::MapFull(_)) => full = true,
            Err(error) => panic!("{what}: {error}"),
        }
    }
    assert_eq!(full, limit == u32::MAX, "{what}");
    let info = env.info().unwrap();
    let pages = info.used_bytes / page_bytes;
    let reached = if full { u64::from(limit) - 70 } else { u64::from(limit) };
    assert!(pages > reached, "{what}: pages up to {pages}");
    // Deleting and rewriting work there, and nothing outside of it is touched.
    for n in (0..100).step_by(3) {
        let t = env.update(|txn| {
            let t = txn.create_table(&def())?;
            t.remove(txn, &key(n)).map(|_| t)
        });
        t.unwrap_or_else(|error| panic!("{what}: {error}"));
        model.remove(&key(n));
    }
    env.sync().unwrap();
    drop(env);
    let env = options.open(&place.path).unwrap();
    assert_holds(&env, &model, &what);
    // All that is wrong with it is the hole that was made for it.
    let report = env.check().unwrap();
    assert_eq!(report.problem_count, 1, "{what}: {:?}", report.problems);
    let text = report.problems[0].to_string();
    let hole = used - u64::from(3 * 4096 / page_bytes as u32).max(1);
    assert!(text.contains("from here on are neither"), "{what}: {text}");
    assert!(text.contains(&hole.to_string()), "{what}: {hole} pages, {text}");
    let copy = place.dir().join("copy.huon");
    env.copy_to(&copy, CopyOptions::new().compact(true)).unwrap();
    let env = Env::options().open(&copy).unwrap();
    assert_holds(&env, &model, &what);
    assert!(env.info().unwrap().used_bytes < 400 * page_bytes.max(4096), "{what}: no hole");
}
