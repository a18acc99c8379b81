//! Merge operators: what is merged onto values, where it is folded, and programs that cannot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use huon::{Bytes, Env, Error, RawTable, Str, TableDef, U64, WriteTxn};
use huon_lsm::{Lsm, LsmDef, LsmOptions, LsmTable, RawLsmTable};

use crate::small_options;

const SUMS: LsmDef<U64, U64> = LsmDef::new("sums");

/// Nothing is merged but by compactors.
fn passive(env: &Env) -> Lsm {
    Lsm::with_options(env, LsmOptions { slack: 1000, runs_max: 2000, ..small_options() }).unwrap()
}

fn sums(lsm: &Lsm) -> LsmTable<U64, U64> {
    lsm.table(&SUMS.merged_by("sum", |a, b, sum| sum.set(a + b))).unwrap()
}

fn append(name: &str) -> LsmDef<Str, Bytes> {
    LsmDef::<Str, Bytes>::named(name).merged_by("append", |a, b, both| both.set(&[a, b].concat()))
}

/// Adds `n` to each of some keys in a run of its own.
fn add(env: &Env, t: &LsmTable<U64, U64>, keys: impl Iterator<Item = u64>, n: u64) {
    let mut keys = keys;
    env.update(|txn| keys.try_for_each(|key| t.merge(txn, key, n))).unwrap();
}

fn is_invalid<R>(result: &huon::Result<R>) -> bool {
    matches!(result, Err(Error::Invalid(_)))
}

fn is_decode<R>(result: &huon::Result<R>) -> bool {
    matches!(result, Err(Error::Decode(_)))
}

/// The tags of the records of all runs.
fn tags(env: &Env, name: &str) -> Vec<u8> {
    let txn = env.read().unwrap();
    let (mut tags, prefix) = (Vec::new(), format!("\0lsm/{name}/r/"));
    for run in txn.table_names().unwrap() {
        if run.starts_with(prefix.as_bytes()) {
            let run = txn.open_table(&TableDef::<Bytes, Bytes>::named(run)).unwrap().unwrap();
            let last = |record: huon::Result<(&[u8], &[u8])>| *record.unwrap().1.last().unwrap();
            tags.extend(run.iter(&txn).unwrap().map(last));
        }
    }
    tags.sort_unstable();
    tags.dedup();
    tags
}

#[test]
fn what_is_merged_is_folded_where_records_of_a_key_meet() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    // The first run: nothing lies below, so operands are values.
    add(&env, &t, 0..100, 1);
    assert_eq!(tags(&env, "sums"), [0]);
    for n in 2..6 {
        add(&env, &t, (0..120).filter(|key| key % n == 0), n);
    }
    env.update(|txn| t.delete_range(txn, 30..40)).unwrap();
    env.update(|txn| (0..10).try_for_each(|key| t.delete(txn, key * 10))).unwrap();
    // The open run has one record of a key, of one transaction and another.
    for key in [60, 61, 62, 60] {
        add(&env, &t, [key, key].into_iter(), 100);
    }
    let wanted = |key: u64| {
        let sum: u64 = (2..6).filter(|n| key < 120 && key.is_multiple_of(*n)).sum();
        let sum = if key < 100 { sum + 1 } else { sum };
        let kept =
            if (30..40).contains(&key) || key.is_multiple_of(10) && key < 100 { 0 } else { sum };
        kept + [0, 400, 200, 200][if (60..63).contains(&key) { key as usize - 59 } else { 0 }]
    };
    for merged in [false, true] {
        if merged {
            lsm.compactor().merge_all().unwrap();
            // Nothing is left to be folded, also for one that could not.
            assert_eq!(tags(&env, "sums"), [0]);
        }
        let txn = env.read().unwrap();
        for key in 0..130 {
            let value = Some(wanted(key)).filter(|sum| *sum > 0);
            assert_eq!(t.get(&txn, key).unwrap(), value, "{key}");
            assert_eq!(t.contains(&txn, key).unwrap(), value.is_some());
        }
        let there = (0..130).map(|key| (key, wanted(key))).filter(|(_, sum)| *sum > 0);
        let there: Vec<_> = there.collect();
        assert!(t.iter(&txn).unwrap().map(|it| it.unwrap()).eq(there.iter().copied()));
        assert!(t.iter(&txn).unwrap().rev().map(|it| it.unwrap()).eq(there.iter().rev().copied()));
        assert_eq!(t.count(&txn, ..).unwrap(), there.len() as u64);
        assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
        let stat = t.stat(&txn).unwrap();
        assert_eq!(&stat.operator, "sum");
        assert_eq!(stat.runs() > 1, !merged);
    }
}

#[test]
fn input_in_order_is_appended_as_values() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    for round in 0..20u64 {
        // Batches large and small.
        let count = if round % 3 == 0 { 3 } else { 70 };
        add(&env, &t, (100 * round..100 * round + count).flat_map(|key| [key, key]), 5);
    }
    lsm.compactor().run_until_idle().unwrap();
    let txn = env.read().unwrap();
    let stat = t.stat(&txn).unwrap();
    assert!(stat.runs() <= 2 && stat.total_merged_bytes == 0, "{stat:?}");
    assert_eq!(tags(&env, "sums"), [0]);
    assert!(t.iter(&txn).unwrap().all(|record| record.unwrap().1 == 10));
}

#[test]
fn a_table_opens_by_its_operator() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    assert!(is_decode(&lsm.table(&SUMS.merged_by("max", |a, b, max| max.set(a.max(b))))));
    add(&env, &t, 0..50, 1);
    // The same name again, whatever the function is; and no name, where another has given it.
    lsm.table(&SUMS.merged_by("sum", |_, _, _| unreachable!("it is another one"))).unwrap();
    assert_eq!(lsm.table(&SUMS).unwrap().get(&env.read().unwrap(), 7).unwrap(), Some(1));
    let other = passive(&env);
    let refused = other.table(&SUMS.merged_by("max", |a, b, max| max.set(a.max(b))));
    assert!(is_decode(&refused));
    assert!(refused.unwrap_err().to_string().contains("\"sum\""));
    assert!(is_decode(&other.table(&SUMS)), "it would fail later");
    assert!(is_invalid(&other.table(&SUMS.merged_by("", |a, b, sum| sum.set(a + b)))));
    // One without stays without.
    let plain = other.table(&LsmDef::<U64, U64>::new("plain")).unwrap();
    assert!(is_invalid(&env.update(|txn| plain.merge(txn, 1, 1))));
    env.update(|txn| plain.put(txn, 1, 1)).unwrap();
    let late = LsmDef::<U64, U64>::new("plain").merged_by("sum", |a, b, sum| sum.set(a + b));
    assert!(is_decode(&other.table(&late)) && is_decode(&passive(&env).table(&late)));
    // A table that is dropped may come again with another.
    env.update(|txn| t.drop_table(txn)).unwrap();
    let most = SUMS.merged_by("max", |a, b, max| max.set(a.max(b)));
    let most = passive(&env).table(&most).unwrap();
    (1..4).for_each(|n| add(&env, &most, 0..50, n));
    assert_eq!(most.get(&env.read().unwrap(), 7).unwrap(), Some(3));
    assert!(is_decode(&t.get(&env.read().unwrap(), 7)));
}

#[test]
fn programs_without_the_operator_leave_operands_alone() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    add(&env, &t, 0..100, 1);
    add(&env, &t, 50..150, 2);
    // This one has only bytes, as the tools do.
    let other = Lsm::with_options(&env, LsmOptions { runs_max: 6, ..small_options() }).unwrap();
    let raw = other.raw_table("sums").unwrap();
    let bytes = |n: u64| n.to_be_bytes();
    let txn = env.read().unwrap();
    assert_eq!(raw.get(&txn, &bytes(10)).unwrap(), Some(&bytes(1)[..]));
    assert_eq!(raw.get(&txn, &bytes(140)).unwrap(), Some(&bytes(2)[..]), "nothing to fold");
    assert!(is_invalid(&raw.get(&txn, &bytes(70))));
    assert!(is_invalid(&raw.iter(&txn).unwrap().find(Result::is_err).unwrap()));
    assert!(is_invalid(&raw.get_many(&txn, &[&bytes(70)[..]], |_, _| ())));
    assert!(is_invalid(&raw.cursor().next(&txn).and_then(|_| raw.last(&txn)).and_then(|_| {
        let mut cursor = raw.cursor();
        cursor.seek(&bytes(70))?;
        cursor.next(&txn).map(drop)
    })));
    assert!(raw.contains(&txn, &bytes(70)).unwrap() && !raw.is_empty(&txn).unwrap());
    assert_eq!(raw.count(&txn, ..).unwrap(), 150);
    assert!(raw.check(&txn).unwrap().is_clean());
    drop(txn);
    // It may put and delete, and many runs make it neither merge nor wait.
    for key in 0..10u64 {
        let put = |txn: &mut WriteTxn, n: u64| raw.put(txn, &bytes(70 + n), &bytes(1000));
        env.update(|txn| (0..=key).try_for_each(|n| put(txn, n))).unwrap();
        env.update(|txn| raw.delete(txn, &bytes(10 * key))).unwrap();
        assert!(is_invalid(&env.update(|txn| raw.merge(txn, &bytes(1), &bytes(1)))));
        add(&env, &t, 0..150, 10);
    }
    let runs = t.stat(&env.read().unwrap()).unwrap().runs();
    assert!(runs > 10, "{runs}");
    assert!(!other.compactor().run_once().unwrap());
    assert_eq!(other.compactor().merge_all().unwrap(), 0);
    assert!(is_invalid(&other.compactor().for_table("sums").merge_all()));
    let stat = raw.stat(&env.read().unwrap()).unwrap();
    assert_eq!((stat.runs(), stat.merges, stat.stalls, stat.failures), (runs, 0, 0, 0));
    // One that has it finds all that was merged.
    let wanted = |key: u64| match key {
        70..80 => 1010,
        _ if key.is_multiple_of(10) && key < 100 => 10 * (10 - key / 10),
        0..50 => 101,
        50..100 => 103,
        _ => 102,
    };
    let check = || {
        let txn = env.read().unwrap();
        (0..150).for_each(|key| assert_eq!(t.get(&txn, key).unwrap(), Some(wanted(key)), "{key}"));
    };
    check();
    lsm.compactor().merge_all().unwrap();
    check();
    let txn = env.read().unwrap();
    assert_eq!(raw.iter(&txn).unwrap().filter(|record| record.is_ok()).count(), 150);
}

#[test]
fn handles_with_and_without_the_operator_share_a_transaction() {
    for first_has_it in [true, false] {
        let env = Env::in_memory().unwrap();
        let (lsm, other) = (passive(&env), passive(&env));
        let (t, raw) = (sums(&lsm), other.raw_table("sums").unwrap());
        let put = |txn: &mut WriteTxn| raw.put(txn, &3u64.to_be_bytes(), &7u64.to_be_bytes());
        env.update(|txn| {
            if first_has_it {
                t.merge(txn, 3, 1)?;
                put(txn)?;
            } else {
                put(txn)?;
            }
            t.merge(txn, 3, 5)?;
            assert_eq!(t.get(txn, 3)?, Some(12));
            assert!(is_invalid(&raw.get(txn, &3u64.to_be_bytes())));
            Ok(())
        })
        .unwrap();
        assert_eq!(t.get(&env.read().unwrap(), 3).unwrap(), Some(12));
        assert_eq!(&t.stat(&env.read().unwrap()).unwrap().operator, "sum");
    }
}

#[test]
fn what_is_merged_onto_a_value_with_a_time_outlives_it() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = lsm.table(&append("t")).unwrap();
    let key = |n: u64| format!("{n:03}");
    let each = |txn: &mut WriteTxn, act: &dyn Fn(&mut WriteTxn, &str) -> huon::Result<()>| {
        (0..40).try_for_each(|n| act(txn, &key(n)))
    };
    let until = SystemTime::now() + Duration::from_millis(700);
    env.update(|txn| each(txn, &|txn, key| t.put(txn, key, b"below"))).unwrap();
    env.update(|txn| each(txn, &|txn, key| t.put_until(txn, key, b"v", until))).unwrap();
    env.update(|txn| each(txn, &|txn, key| t.merge(txn, key, b"a"))).unwrap();
    env.update(|txn| each(txn, &|txn, key| t.merge(txn, key, b"b"))).unwrap();
    // The same in one transaction, and in the open run.
    env.update(|txn| {
        t.put_until(txn, "one", b"v", until)?;
        t.merge(txn, "one", b"a")?;
        t.merge(txn, "one", b"b")
    })
    .unwrap();
    env.update(|txn| t.put_until(txn, "open", b"v", until)).unwrap();
    env.update(|txn| t.merge(txn, "open", b"a")).unwrap();
    env.update(|txn| t.merge(txn, "open", b"b")).unwrap();
    let shown = || {
        let txn = env.read().unwrap();
        assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
        let got = (0..40).map(|n| t.get(&txn, &key(n)).unwrap().unwrap().to_vec());
        let got: Vec<Vec<u8>> = got.collect();
        let all = t.iter(&txn).unwrap().map(|record| record.unwrap().1.to_vec());
        got.into_iter().chain(all).collect::<Vec<_>>()
    };
    let is_over = || SystemTime::now() >= until;
    let is = |wanted: &[u8]| assert_eq!(shown(), vec![wanted.to_vec(); 40 + 42]);
    let before = shown();
    lsm.compactor().merge_all().unwrap();
    let (after, tags_after) = (shown(), tags(&env, "t"));
    if !is_over() {
        assert!(before.iter().chain(&after).all(|value| value == b"vab"));
        assert_eq!(tags_after, [4]);
    }
    while !is_over() {
        std::thread::sleep(Duration::from_millis(20));
    }
    is(b"ab");
    env.update(|txn| each(txn, &|txn, key| t.merge(txn, key, b"c"))).unwrap();
    assert_eq!(t.get(&env.read().unwrap(), "007").unwrap(), Some(&b"abc"[..]));
    env.update(|txn| ["one", "open"].iter().try_for_each(|key| t.merge(txn, key, b"c"))).unwrap();
    is(b"abc");
    lsm.compactor().merge_all().unwrap();
    is(b"abc");
    assert_eq!(tags(&env, "t"), [0]);
}

#[test]
fn what_is_loaded_hides_operands_and_takes_them() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    add(&env, &t, 0..60, 1);
    let load = |txn: &mut WriteTxn| {
        t.bulk_load(txn, |append| (0..30).try_for_each(|key| append(key, 100)))
    };
    env.update(|txn| {
        t.merge(txn, 7, 5)?;
        load(txn)?;
        t.merge(txn, 8, 5)?;
        assert_eq!((t.get(txn, 7)?, t.get(txn, 8)?), (Some(100), Some(105)));
        // In a level above something that was collected they are collected, too.
        t.merge(txn, 40, 1)?;
        txn.nested(load)?;
        assert!(!t.put_if_absent(txn, 40, 9)? && t.put_if_absent(txn, 70, 9)?);
        t.merge(txn, 71, 4)?;
        assert!(t.update(txn, 71, 5)?);
        assert_eq!(t.replace(txn, 40, 3)?.expect("it is there").get()?, 2);
        t.merge(txn, 40, 1)?;
        assert_eq!(t.take(txn, 40)?.expect("it is there").get()?, 4);
        t.merge(txn, 40, 6)
    })
    .unwrap();
    for merged in [false, true] {
        if merged {
            lsm.compactor().merge_all().unwrap();
        }
        let txn = env.read().unwrap();
        let of = [7, 8, 40, 50, 70, 71].map(|key| t.get(&txn, key).unwrap().unwrap_or(0));
        assert_eq!(of, [100, 100, 6, 1, 9, 5]);
    }
}

#[test]
fn an_operator_that_fails_or_panics_changes_nothing() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, LsmOptions { slack: 1, ..small_options() }).unwrap();
    let (fails, panics) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let def = {
        let (fails, panics) = (fails.clone(), panics.clone());
        SUMS.merged_by("sum", move |a, b, sum| {
            assert!(!panics.load(Ordering::Relaxed), "the operator panics");
            if fails.load(Ordering::Relaxed) {
                return Err(Error::Invalid("the operator fails"));
            }
            sum.set(a + b)
        })
    };
    let t = lsm.table(&def).unwrap();
    (0..3).for_each(|_| add(&env, &t, 0..40, 1));
    let sum = |n: u64| (0..40).map(|key| (key, n)).collect::<Vec<_>>();
    let shown = || {
        let txn = env.read().unwrap();
        assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
        t.iter(&txn).unwrap().map(|record| record.unwrap()).collect::<Vec<_>>()
    };
    let mut wanted = 3;
    for switch in [&fails, &panics] {
        let attempt = |act: &dyn Fn() -> huon::Result<()>| {
            switch.store(true, Ordering::Relaxed);
            let ended = catch_unwind(AssertUnwindSafe(act));
            switch.store(false, Ordering::Relaxed);
            matches!(ended, Ok(Ok(())))
        };
        assert!(!attempt(&|| t.get(&env.read()?, 3).map(drop)));
        assert!(!attempt(&|| t.iter(&env.read()?)?.try_for_each(|record| record.map(drop))));
        assert!(
            !attempt(&|| env.update(|txn| [5, 5].iter().try_for_each(|n| t.merge(txn, *n, 1))))
        );
        assert!(!attempt(&|| {
            let mut batch = lsm.batch();
            batch.merge(&t, 5, 1)?;
            batch.merge(&t, 5, 1)?;
            lsm.write(batch).map(drop)
        }));
        assert_eq!(shown(), sum(wanted));
        assert!(!attempt(&|| lsm.compactor().merge_all().map(drop)));
        // Merges after commits come upon it, too; the commits have succeeded.
        let before = t.stat(&env.read().unwrap()).unwrap().failures;
        for _ in 0..6 {
            wanted += 1;
            assert!(attempt(&|| env.update(|txn| (0..40).try_for_each(|n| t.merge(txn, n, 1)))));
        }
        assert!(t.stat(&env.read().unwrap()).unwrap().failures > before);
        assert_eq!(shown(), sum(wanted));
    }
    lsm.compactor().merge_all().unwrap();
    assert_eq!(shown(), sum(wanted));
}

/// A handle without the operator may make the table, in the very transaction that merges. The table
/// would then name none, and no handle could open it.
#[test]
fn operands_come_into_no_table_that_does_not_name_their_operator() {
    type Make = fn(&RawLsmTable, &mut WriteTxn) -> huon::Result<()>;
    type Merge<'t> = &'t dyn Fn(&mut WriteTxn) -> huon::Result<()>;
    let key = |n: u64| n.to_be_bytes();
    let makes: [Make; 2] = [
        |raw, txn| raw.bulk_load(txn, |append| append(&[0; 8], &[1; 8])),
        // So many that some become a run ahead of the commit.
        |raw, txn| (0..2000u64).try_for_each(|n| raw.put(txn, &n.to_be_bytes(), &[1; 8])),
    ];
    for make in makes {
        let env = Env::in_memory().unwrap();
        let (t, plain) = (sums(&passive(&env)), passive(&env).raw_table("sums").unwrap());
        let merges: [Merge<'_>; 3] = [
            &|txn| t.merge(txn, 3000, 5),
            &|txn| [5, 5].iter().try_for_each(|n| t.merge(txn, 3000, *n)),
            &|txn| t.bulk_load(txn, |append| append(3000, 5)),
        ];
        for merge in merges {
            let made = env.update(|txn| {
                make(&plain, txn)?;
                merge(txn)
            });
            assert!(is_decode(&made), "{made:?}");
            let txn = env.read().unwrap();
            assert_eq!((t.is_empty(&txn).unwrap(), plain.is_empty(&txn).unwrap()), (true, true));
        }
        // In the other order the table is made with the operator.
        env.update(|txn| {
            t.merge(txn, 3000, 5)?;
            make(&plain, txn)
        })
        .unwrap();
        let txn = env.read().unwrap();
        assert_eq!(sums(&passive(&env)).get(&txn, 3000).unwrap(), Some(5));
        assert_eq!(plain.get(&txn, &key(0)).unwrap(), Some(&[1; 8][..]));
        assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
    }
}

/// Two handles may each have another operator as long as there is no table.
#[test]
fn operands_of_two_operators_do_not_get_into_one_transaction() {
    let env = Env::in_memory().unwrap();
    let (lsm, other) = (passive(&env), passive(&env));
    let highest = SUMS.merged_by("highest", |a, b, highest| highest.set(a.max(b)));
    let (sums, highest) = (sums(&lsm), other.table(&highest).unwrap());
    let txn_of_both = |txn: &mut WriteTxn| {
        sums.merge(txn, 1, 5)?;
        assert!(is_decode(&highest.merge(txn, 1, 3)));
        sums.merge(txn, 1, 6)
    };
    env.update(txn_of_both).unwrap();
    assert_eq!(sums.get(&env.read().unwrap(), 1).unwrap(), Some(11));
    env.update(|txn| sums.drop_table(txn)).unwrap();
    let mut batch = lsm.batch();
    batch.merge(&sums, 1, 7).unwrap();
    assert!(is_decode(&batch.merge(&highest, 1, 3)));
    lsm.write(batch).unwrap();
    assert_eq!(sums.get(&env.read().unwrap(), 1).unwrap(), Some(7));
}

/// Once they are merged, a value that ends at a time and what was merged onto it are one record.
#[test]
fn a_value_with_a_time_and_an_operand_are_no_longer_than_fit_together() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = lsm.table(&append("logs")).unwrap();
    // The kernel gives memory for what is read or written, and nothing of it is.
    let (long, hour) = (vec![0; huon::limits::VALUE_BYTES_MAX / 2], Duration::from_secs(3600));
    let until = SystemTime::now() + hour;
    let mut txn = env.write().unwrap();
    assert!(matches!(t.put_until(&mut txn, "k", &long, until), Err(Error::ValueTooLong)));
    assert!(matches!(t.merge(&mut txn, "k", &long), Err(Error::ValueTooLong)));
    txn.commit().unwrap();
    let mut batch = lsm.batch();
    assert!(matches!(batch.put_until(&t, "k", &long, until), Err(Error::ValueTooLong)));
    assert!(matches!(batch.merge(&t, "k", &long), Err(Error::ValueTooLong)));
    assert!(batch.is_empty());
}

/// The ordinary table of the manifest, and what it counts.
fn written(env: &Env) -> Option<Vec<u8>> {
    let manifest: RawTable = env.table(&TableDef::new("\0lsm/sums/m")).unwrap();
    let txn = env.read().unwrap();
    manifest.get(&txn, &[0xFE]).unwrap().map(<[u8]>::to_vec)
}

#[test]
fn what_was_written_is_counted_for_all_processes() {
    let env = Env::in_memory().unwrap();
    let lsm = passive(&env);
    let t = sums(&lsm);
    let record = 8 + 8 + 1 + 12;
    add(&env, &t, 0..100, 1);
    let stat = |t: &LsmTable<U64, U64>| t.stat(&env.read().unwrap()).unwrap();
    assert_eq!((stat(&t).total_put_bytes, stat(&t).total_merged_bytes), (100 * record, 0));
    // Single puts cost no record of the manifest: the open run counts them.
    let before = written(&env);
    (0..10).for_each(|key| env.update(|txn| t.put(txn, key, 7)).unwrap());
    assert_eq!(written(&env), before);
    assert_eq!(stat(&t).total_put_bytes, 110 * record);
    assert_eq!(stat(&t).total_write_amplification(), Some(1.0));
    // Each step of a merge is counted with it.
    (0..8).for_each(|n| add(&env, &t, 0..90 + n, 1));
    let put = (110 + 8 * 90 + 28) * record;
    assert_eq!(stat(&t).total_put_bytes, put);
    let other = passive(&env);
    let also = sums(&other);
    let mut merged = 0;
    while other.compactor().run_once().unwrap() {
        assert!(stat(&also).total_merged_bytes >= merged);
        merged = stat(&also).total_merged_bytes;
    }
    assert!(merged >= 100 * record, "{merged}");
    assert_eq!((stat(&t).total_merged_bytes, stat(&t).merged_bytes), (merged, 0));
    assert_eq!(stat(&t).total_put_bytes, put);
    let times = stat(&t).total_write_amplification().unwrap();
    assert!((times - (put + merged) as f64 / put as f64).abs() < 1e-9);
    env.update(|txn| t.drop_table(txn)).unwrap();
    assert_eq!(stat(&t).total_write_amplification(), None);
}
